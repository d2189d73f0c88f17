//! A server: agents, a store, a port.

use std::{
    io,
    net::{IpAddr, SocketAddr},
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, SystemTime},
};

use chancery_core::{Binding, Card, Error, Extension, Interface, Operations, Result, Version, extension};
use chancery_engine::{
    Agent, Builder, Engine,
    push::Schedule,
    store::{Sqlite, Store},
};
use http::HeaderValue;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::{
    cors::Cors,
    doors::{Doors, Hosted},
    guard::{self, Guard},
    limit::Limits,
    listen,
    tls::Tls,
    webhook::{Key, Webhooks},
};

/// The versions that are served unless something else is said, newest first.
pub(crate) const VERSIONS: [Version; 4] = [Version::V1_0, Version::V0_3, Version::V0_2, Version::V0_1];
/// The bindings that are served unless something else is said.
pub(crate) const BINDINGS: [Binding; 3] = [Binding::JsonRpc, Binding::HttpJson, Binding::Grpc];
/// Where data is kept unless something else is said.
const DATA: &str = ".a2a";
/// The tasks in the data folder.
const TASKS: &str = "tasks.db";

/// Serves agents: every version and binding of A2A on one port, tasks kept in a file.
///
/// ```no_run
/// use chancery_core::Card;
/// use chancery_engine::{Failure, Outcome, Turn};
/// use chancery_server::Server;
///
/// async fn echo(turn: Turn) -> Result<Outcome, Failure> {
///     Ok(Outcome::reply(turn.text()))
/// }
///
/// # async fn run() -> chancery_core::Result<()> {
/// let card = Card::new("Echo", "Repeats what it hears").skill("echo", "Says your words back");
/// Server::new(card, echo).serve("127.0.0.1:7420").await
/// # }
/// ```
#[must_use = "a server does nothing until it is bound"]
pub struct Server {
    agents: Vec<Place>,
    store: Option<Arc<dyn Store>>,
    data: Option<PathBuf>,
    public_url: Option<String>,
    versions: Vec<Version>,
    bindings: Vec<Binding>,
    limits: Limits,
    origins: Vec<String>,
    tls: Option<Tls>,
    guard: Guard,
    schedule: Option<Schedule>,
    grace: Duration,
}

/// An agent and where it is to be.
struct Place {
    path: String,
    what: What,
}

enum What {
    Agent(Builder),
    Operations(Box<Card>, Arc<dyn Operations>),
}

impl Server {
    /// A server with one agent, at the root.
    pub fn new(card: Card, agent: impl Agent) -> Self {
        Self::several().agent("/", Engine::new(card, agent))
    }

    /// A server for several agents, each at a path of its own.
    pub fn several() -> Self {
        Self {
            agents: Vec::new(),
            store: None,
            data: None,
            public_url: None,
            versions: VERSIONS.to_vec(),
            bindings: BINDINGS.to_vec(),
            limits: Limits::default(),
            origins: Vec::new(),
            tls: None,
            guard: Guard::new(),
            schedule: None,
            grace: Duration::from_secs(30),
        }
    }

    /// Adds an agent at a path such as `/writer`.
    pub fn agent(mut self, path: impl Into<String>, agent: Builder) -> Self {
        self.agents.push(Place { path: path.into(), what: What::Agent(agent) });
        self
    }

    /// Adds anything else that can do the operations, under a card of its own.
    pub fn operations(mut self, path: impl Into<String>, card: Card, operations: Arc<dyn Operations>) -> Self {
        self.agents.push(Place { path: path.into(), what: What::Operations(Box::new(card), operations) });
        self
    }

    /// Where tasks are kept, instead of a file in the data folder.
    pub fn store(mut self, store: impl Store) -> Self {
        self.store = Some(Arc::new(store));
        self
    }

    /// The folder for tasks and keys; `.a2a` in the working folder when neither this nor a store is said.
    pub fn data(mut self, folder: impl Into<PathBuf>) -> Self {
        self.data = Some(folder.into());
        self
    }

    /// How the world reaches this server, when that is not the address it listens on: the base of every
    /// URL in the cards.
    pub fn public_url(mut self, url: impl Into<String>) -> Self {
        self.public_url = Some(url.into());
        self
    }

    /// Which versions are served; all when not said. The compact dialect comes with v1.0.
    pub fn versions(mut self, versions: impl IntoIterator<Item = Version>) -> Self {
        self.versions = versions.into_iter().collect();
        self
    }

    /// Which bindings are served; all when not said.
    pub fn bindings(mut self, bindings: impl IntoIterator<Item = Binding>) -> Self {
        self.bindings = bindings.into_iter().collect();
        self
    }

    /// How much of everything is allowed.
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Lets web pages of this origin call the agents; `*` for all.
    pub fn origin(mut self, origin: impl Into<String>) -> Self {
        self.origins.push(origin.into());
        self
    }

    /// Which addresses webhooks may be at, instead of public ones only. A server that listens on loopback
    /// only lets webhooks there through in any case.
    pub fn guard(mut self, guard: Guard) -> Self {
        self.guard = guard;
        self
    }

    /// When failed notifications are tried again.
    pub fn schedule(mut self, schedule: Schedule) -> Self {
        self.schedule = Some(schedule);
        self
    }

    /// Serves over TLS.
    pub fn tls(mut self, tls: Tls) -> Self {
        self.tls = Some(tls);
        self
    }

    /// How long answers and turns may take to finish when the server stops.
    pub fn grace(mut self, grace: Duration) -> Self {
        self.grace = grace;
        self
    }

    /// Serves until the process is asked to stop (SIGINT or SIGTERM), and then stops in an orderly way.
    ///
    /// # Errors
    /// When the address cannot be listened on, or the data folder cannot be used.
    pub async fn serve(self, address: impl tokio::net::ToSocketAddrs) -> Result<()> {
        let running = self.bind(address).await?;
        tracing::info!(url = running.url(), "serving");
        stop_signal().await.map_err(Error::internal)?;
        running.shutdown().await;
        Ok(())
    }

    /// Begins to serve, and gives a handle to do more with.
    ///
    /// # Errors
    /// As [`serve`](Self::serve).
    pub async fn bind(mut self, address: impl tokio::net::ToSocketAddrs) -> Result<Running> {
        let listener = listen_on(address).await?;
        let local = listener.local_addr().map_err(Error::internal)?;
        let base = self.public_url.clone().unwrap_or_else(|| base_url(local, self.tls.is_some()));
        let base = base.trim_end_matches('/').to_owned();
        let (data, store) = match (self.data.take(), self.store.take()) {
            (data, Some(store)) => (data, store),
            (data, None) => {
                let folder = data.unwrap_or_else(|| DATA.into());
                let store = open(&folder).await?;
                (Some(folder), Arc::new(store) as Arc<dyn Store>)
            }
        };
        let signer = signer(data).await?;
        let guard = if local.ip().is_loopback() { self.guard.clone().loopback(true) } else { self.guard.clone() };
        let post = guard::Client::new(guard, guard::Timeouts::default()).map_err(Error::internal)?;
        let webhooks = Webhooks::new(post, signer.clone());
        let since = HeaderValue::from_str(&httpdate::fmt_http_date(SystemTime::now())).map_err(Error::internal)?;
        let several = self.agents.len() > 1;
        let (mut engines, mut hosted) = (Vec::new(), Vec::new());
        for place in std::mem::take(&mut self.agents) {
            let path = tidy(&place.path);
            let key = if path.is_empty() { "agent".to_owned() } else { path[1..].to_owned() };
            let (card, operations): (Card, Arc<dyn Operations>) = match place.what {
                What::Agent(builder) => {
                    let builder = builder.with_cards(|card| self.describe(card, &base, &path, several));
                    let builder = builder.name(key.clone()).shared_store(store.clone()).sender(webhooks.clone());
                    let engine = match &self.schedule {
                        Some(schedule) => builder.schedule(schedule.clone()).start(),
                        None => builder.start(),
                    };
                    engines.push(engine.clone());
                    (engine.card().clone(), Arc::new(engine))
                }
                What::Operations(mut card, operations) => {
                    self.describe(&mut card, &base, &path, several);
                    (*card, operations)
                }
            };
            let mut agent = Hosted::new(&key, &path, &card, operations, since.clone())?;
            agent.versions.clone_from(&self.versions);
            agent.bindings.clone_from(&self.bindings);
            hosted.push(agent);
        }
        let jwks = signer.jwks();
        let closing = CancellationToken::new();
        let doors = Doors::new(hosted, self.limits, Cors(self.origins), Some(jwks.into()), closing.clone());
        let acceptor = self.tls.map(Tls::acceptor);
        let serving = tokio::spawn(Box::pin(listen::serve(listener, acceptor, doors.clone(), closing.clone(), self.grace)));
        Ok(Running { local, base, doors, engines, closing, serving, grace: self.grace })
    }

    /// Makes a card true: where the agent is, in which versions, and what it can do.
    fn describe(&self, card: &mut Card, base: &str, path: &str, several: bool) {
        card.capabilities.streaming.get_or_insert(true);
        card.capabilities.push_notifications.get_or_insert(true);
        let host = base.split_once("://").map_or(base, |(_, rest)| rest);
        let host = host.split('/').next().unwrap_or(host);
        card.supported_interfaces.clear();
        for version in &self.versions {
            for binding in &self.bindings {
                let url = match (version, binding) {
                    // The clients of both versions hand this to their gRPC library, which knows no `http://`.
                    (Version::V1_0, Binding::Grpc) => host.to_owned(),
                    (Version::V0_3, Binding::Grpc) if !several => host.to_owned(),
                    (Version::V1_0 | Version::V0_3, Binding::JsonRpc | Binding::HttpJson) => format!("{base}{path}"),
                    (Version::V0_2 | Version::V0_1, Binding::JsonRpc) if !self.versions.contains(&Version::V0_3) => format!("{base}{path}"),
                    // Older readers find what they need beside the list; v0.3 over gRPC cannot name an agent.
                    _ => continue,
                };
                let mut interface = Interface::new(url, binding.as_str(), version.as_str());
                if *binding == Binding::Grpc && several {
                    interface.tenant = path.trim_start_matches('/').to_owned();
                }
                card.supported_interfaces.push(interface);
            }
        }
        let known = card.capabilities.extensions.iter().any(|known| known.uri == extension::SEQUENCE);
        if self.bindings.contains(&Binding::Grpc) && !known {
            let words = "Shows the place of every event in its task's log, to resume a stream after it";
            card.capabilities.extensions.push(Extension::new(extension::SEQUENCE).described(words));
        }
    }
}

/// A server at work. When it is dropped, it goes on; [`shutdown`](Self::shutdown) stops it.
pub struct Running {
    local: SocketAddr,
    base: String,
    doors: Doors,
    engines: Vec<Engine>,
    closing: CancellationToken,
    serving: tokio::task::JoinHandle<()>,
    grace: Duration,
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
        &self.base
    }

    /// The doors, to be put behind another HTTP server too.
    #[must_use]
    pub fn doors(&self) -> &Doors {
        &self.doors
    }

    /// The engines of the agents, in the order in which they were added.
    #[must_use]
    pub fn engines(&self) -> &[Engine] {
        &self.engines
    }

    /// Stops: takes nothing new, ends streams so that their readers come back elsewhere, lets answers and
    /// turns finish within the grace, and hands back what is left.
    pub async fn shutdown(self) {
        self.closing.cancel();
        let mut stopping = tokio::task::JoinSet::new();
        for engine in self.engines.clone() {
            stopping.spawn(async move { engine.shutdown(self.grace).await });
        }
        while stopping.join_next().await.is_some() {}
        if let Err(error) = self.serving.await {
            tracing::error!(%error, "the listener broke");
        }
    }
}

async fn listen_on(address: impl tokio::net::ToSocketAddrs) -> Result<TcpListener> {
    let mut last = io::Error::new(io::ErrorKind::InvalidInput, "the address names nothing");
    for address in tokio::net::lookup_host(address).await.map_err(Error::internal)? {
        match listen::bind(address) {
            Ok(listener) => return Ok(listener),
            Err(error) => last = io::Error::new(error.kind(), format!("cannot listen on {address}: {error}")),
        }
    }
    Err(Error::internal(last))
}

async fn open(folder: &Path) -> Result<Sqlite> {
    tokio::fs::create_dir_all(folder).await.map_err(Error::internal)?;
    Sqlite::open(folder.join(TASKS)).await.map_err(Error::internal)
}

/// The key that signs notifications: kept in the data folder, or made anew when there is none.
async fn signer(data: Option<PathBuf>) -> Result<Key> {
    let Some(folder) = data else { return Key::ephemeral().map_err(Error::internal) };
    let opened = tokio::task::spawn_blocking(move || Key::open(folder)).await;
    opened.map_err(Error::internal)?.map_err(Error::internal)
}

/// Waits until the process is asked to stop.
async fn stop_signal() -> io::Result<()> {
    #[cfg(unix)]
    {
        let mut terminate = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate())?;
        tokio::select! {
            signal = tokio::signal::ctrl_c() => signal,
            _ = terminate.recv() => Ok(()),
        }
    }
    #[cfg(not(unix))]
    tokio::signal::ctrl_c().await
}

/// A path without a slash at its end, and with one at its beginning unless it is the root.
fn tidy(path: &str) -> String {
    let path = path.trim_matches('/');
    if path.is_empty() { String::new() } else { format!("/{path}") }
}

/// The URL of an address that nobody gave a better name.
fn base_url(address: SocketAddr, tls: bool) -> String {
    let scheme = if tls { "https" } else { "http" };
    let port = address.port();
    match address.ip() {
        ip if ip.is_unspecified() => format!("{scheme}://localhost:{port}"),
        IpAddr::V4(ip) => format!("{scheme}://{ip}:{port}"),
        IpAddr::V6(ip) => format!("{scheme}://[{ip}]:{port}"),
    }
}
