//! Other agents, for whoever passes work on: found by their cards, kept for a while.

use std::{
    collections::HashMap,
    sync::{Arc, MutexGuard},
    time::Duration,
};

use async_trait::async_trait;
use chancery_core::{Error, ErrorKind, Peer, Result, sync::Mutex};
use tokio::time::Instant;

use crate::{builder::Builder, client::Client, discover};

/// For how long an agent is taken for what its card said, whatever the card's host says about keeping it.
const FRESH: Duration = Duration::from_secs(300);
/// How many agents are remembered.
const REMEMBERED: usize = 256;

/// Finds other agents by their base URLs, as [`chancery_core::Peers`]: reads the card, checks its signatures as the
/// builder says, agrees on an interface, and shows the credentials that the builder has for that origin.
///
/// Made by [`Builder::peers`]. What is asked for again within five minutes is not read again. Clones share what they know.
///
/// ```no_run
/// use chancery_client::Client;
/// use chancery_core::{Caller, Peers as _, SendMessage};
///
/// # async fn run() -> chancery_core::Result<()> {
/// let peers = Client::builder().peers();
/// let billing = peers.peer("https://billing.example.com").await?;
/// let reply = billing.operations.send_message(&Caller::anonymous(), SendMessage::new("What do we owe?")).await?;
/// # Ok(()) }
/// ```
#[derive(Debug, Clone)]
pub struct Peers {
    builder: Builder,
    known: Arc<Mutex<HashMap<String, Known>>>,
}

#[derive(Debug, Clone)]
struct Known {
    client: Client,
    fresh_until: Instant,
}

impl Peers {
    pub(crate) fn new(builder: Builder) -> Self {
        Self { builder, known: Arc::default() }
    }

    /// A client for the agent with this base URL.
    ///
    /// # Errors
    /// As [`Builder::connect`].
    pub async fn client(&self, agent: &str) -> Result<Client> {
        let name = discover::parse(agent)?.as_str().trim_end_matches('/').to_owned();
        let known = self.known().get(&name).cloned();
        let client = match known {
            Some(known) if Instant::now() < known.fresh_until => return Ok(known.client),
            // Its connections are kept, unless the card has changed.
            Some(known) if !known.client.refresh().await? => known.client,
            _ => self.builder.connect(&name).await?,
        };
        self.keep(name, client.clone());
        Ok(client)
    }

    fn keep(&self, name: String, client: Client) {
        let mut known = self.known();
        if known.len() >= REMEMBERED && !known.contains_key(&name) {
            let oldest = known.iter().min_by_key(|(_, known)| known.fresh_until).map(|(name, _)| name.clone());
            oldest.map(|name| known.remove(&name));
        }
        known.insert(name, Known { client, fresh_until: Instant::now() + FRESH });
    }

    fn known(&self) -> MutexGuard<'_, HashMap<String, Known>> {
        // Nothing in here panics half-way.
        self.known.lock()
    }
}

#[async_trait]
impl chancery_core::Peers for Peers {
    async fn peer(&self, agent: &str) -> Result<Peer> {
        let client = self.client(agent).await?;
        let card = client.card().ok_or_else(|| Error::new(ErrorKind::InvalidAgentResponse, "the agent shows no card"))?;
        Ok(Peer::new(card, Arc::new(client)))
    }
}
