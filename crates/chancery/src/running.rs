//! A server at work.

use std::{
    net::SocketAddr,
    sync::{Arc, MutexGuard},
    time::Duration,
};

use chancery_core::{Result, sync::Mutex};
use chancery_engine::Engine;
use chancery_server::{CardSigner, Router};
use tokio_util::sync::CancellationToken;

use crate::{
    host::Host,
    mount::Mount,
    signing::{CardKeys, Signing},
};

/// A server at work. When it is dropped, it goes on; [`shutdown`](Self::shutdown) stops it.
pub struct Running {
    pub(crate) local: SocketAddr,
    pub(crate) host: Host,
    pub(crate) engines: Mutex<Vec<Engine>>,
    pub(crate) shutdown: CancellationToken,
    pub(crate) serving: tokio::task::JoinHandle<()>,
    pub(crate) grace: Duration,
}

impl Running {
    /// The address it listens on.
    #[must_use]
    pub fn local_addr(&self) -> SocketAddr {
        self.local
    }

    /// The base of every URL in the cards.
    #[must_use]
    pub fn url(&self) -> &str {
        self.host.router.base_url()
    }

    /// The router, to be put behind another HTTP server too.
    #[must_use]
    pub fn router(&self) -> &Router {
        &self.host.router
    }

    /// The engines of the agents, in the order in which they were added.
    #[must_use]
    pub fn engines(&self) -> Vec<Engine> {
        self.lock().clone()
    }

    /// Adds an agent, or puts it in the place of the one with the same key: turns that are running end as
    /// they began, later ones are the new agent's. No task is lost, and no stream is cut.
    ///
    /// # Errors
    /// When the card cannot be written, or the mount says something that cannot be, as a store for an agent that runs with another one.
    pub fn replace(&self, mount: Mount) -> Result<()> {
        let mut engines = self.lock();
        let engine = self.host.mount(mount, &engines)?;
        let is_known = |engine: &Engine| engines.iter().any(|known| known.name() == engine.name());
        if let Some(fresh) = engine.filter(|engine| !is_known(engine)) {
            engines.push(fresh);
        }
        Ok(())
    }

    /// Signs the cards with something else from now on, or not at all. Mounts with something of their own keep it.
    ///
    /// # Errors
    /// When a card cannot be signed. Nothing is changed then.
    pub fn sign(&self, signing: Option<Signing>) -> Result<()> {
        let keys = |signing| Arc::new(CardKeys::new(signing)) as Arc<dyn CardSigner>;
        self.host.router.sign(signing.map(keys))
    }

    /// Takes an agent out. What it is working on is finished within the grace; its tasks are kept.
    pub fn remove(&self, key: &str) {
        let mut engines = self.lock();
        self.host.router.unmount(key);
        if let Some(at) = engines.iter().position(|engine| engine.name() == key) {
            let (engine, grace) = (engines.remove(at), self.grace);
            tokio::spawn(async move { engine.shutdown(grace).await });
        }
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Engine>> {
        // A list of engines holds no invariant that a panic could break.
        self.engines.lock()
    }

    /// Stops: takes nothing new, ends streams so that their readers come back elsewhere, lets answers and
    /// turns finish within the grace, and hands back what is left.
    pub async fn shutdown(self) {
        self.shutdown.cancel();
        self.host.router.close();
        let mut stopping = tokio::task::JoinSet::new();
        for engine in self.engines() {
            stopping.spawn(async move { engine.shutdown(self.grace).await });
        }
        while stopping.join_next().await.is_some() {}
        if let Err(error) = self.serving.await {
            tracing::error!(%error, "the listener broke");
        }
    }
}
