//! A server: agents, a store, a port.

use std::{
    io,
    net::{IpAddr, SocketAddr},
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use chancery_core::{Binding, Bytes, Card, Error, Peers, Result, ScopeTokens, Version, clock::Clock, sync::Mutex};
use chancery_engine::{Agent, Builder, Engine, Options as EngineOptions, store::Store};
use chancery_net::{Client, Guard, Options, Reach};
use chancery_server::{
    Auth, Limits, Router,
    auth::{CertificateName, Scheme},
};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::{
    address::Address,
    announce,
    host::Host,
    listen,
    mount::Mount,
    running::Running,
    signing::{CardKeys, Signing},
    startup,
    tls::Tls,
    webhook::{Key, Webhooks},
};

/// Where data is kept unless something else is said.
const DATA: &str = ".a2a";
/// The tasks in the data folder.
#[cfg(feature = "sqlite")]
const TASKS: &str = "tasks.db";

/// What is wrong with cards that name this machine as it calls itself.
const UNREACHABLE: &str = "the cards name localhost, which other machines cannot reach; say how they reach this server: \
                           Server::public_url, public_url of [server] in a2a.toml, or a2a serve --public-url";

/// Serves agents: every version and binding of A2A on one port, tasks kept in a file.
///
/// ```no_run
/// use chancery::{Card, Failure, Outcome, Server, Turn};
///
/// async fn echo(turn: Turn) -> Result<Outcome, Failure> {
///     Ok(Outcome::reply(turn.text()))
/// }
///
/// # async fn run() -> chancery::Result<()> {
/// let card = Card::new("Echo", "Repeats what it hears").skill("echo", "Says your words back");
/// Server::new(card, echo).serve("127.0.0.1:7420").await
/// # }
/// ```
#[must_use = "a server does nothing until it is bound"]
pub struct Server {
    pub(crate) agents: Vec<Mount>,
    /// What holds for agents that say nothing else.
    pub(crate) options: EngineOptions,
    pub(crate) extended: Option<Card>,
    pub(crate) clock: Option<Arc<dyn Clock>>,
    pub(crate) data: Option<PathBuf>,
    public_url: Option<String>,
    hosts: Vec<String>,
    router: chancery_server::Builder,
    tls: Option<Tls>,
    auth: Option<Auth>,
    signing: Option<Signing>,
    catalog: Option<String>,
    guard: Guard,
    grace: Duration,
    peers: Option<Arc<dyn Peers>>,
    sequence: bool,
    quiet: bool,
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
            options: EngineOptions::new(),
            extended: None,
            clock: None,
            data: None,
            public_url: None,
            hosts: Vec::new(),
            router: Router::builder(),
            tls: None,
            auth: None,
            signing: None,
            catalog: None,
            guard: Guard::new(),
            grace: Duration::from_secs(30),
            peers: peers(),
            sequence: true,
            quiet: false,
        }
    }

    /// Adds an agent at a path such as `/writer`.
    pub fn agent(self, path: impl Into<String>, agent: Builder) -> Self {
        self.mount(Mount::agent(path, agent))
    }

    /// Mounts an agent, or anything else that can do the operations.
    pub fn mount(mut self, mount: Mount) -> Self {
        self.agents.push(mount);
        self
    }

    /// The folder for tasks and keys; `.a2a` in the working folder when neither this nor a store is said, and an agent needs one.
    /// Tasks are in a file there with the feature `sqlite`, which is on unless it is turned off; without it a store must be said.
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

    /// Other names by which clients reach this server, such as `agents.internal`, `10.0.0.7:8080` or `https://agents.example.com`. A card that
    /// is asked for under one of them, by the `Host` header, names that one in its URLs; a host without a port is meant with the port
    /// of the server and without. Every other `Host` gets the card with [`public_url`](Self::public_url). A server on loopback
    /// that has no public URL is reached as `localhost`, `127.0.0.1` and `[::1]` in any case.
    pub fn hosts(mut self, hosts: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.hosts.extend(hosts.into_iter().map(Into::into));
        self
    }

    /// Which versions are served; all when not said. The compact dialect comes with v1.0.
    pub fn versions(mut self, versions: impl IntoIterator<Item = Version>) -> Self {
        self.router = self.router.versions(versions);
        self
    }

    /// Which bindings are served; all when not said.
    pub fn bindings(mut self, bindings: impl IntoIterator<Item = Binding>) -> Self {
        self.router = self.router.bindings(bindings);
        self
    }

    /// Takes a call of v1.0 for what it is although it does not name its version. The protocol says that
    /// it is v0.3 then, and not understood.
    pub fn lenient_version(mut self, lenient: bool) -> Self {
        self.router = self.router.lenient_version(lenient);
        self
    }

    /// How much of everything is allowed.
    pub fn limits(mut self, limits: Limits) -> Self {
        self.router = self.router.limits(limits);
        self
    }

    /// Lets web pages of this origin call the agents; `*` for all.
    pub fn origin(mut self, origin: impl Into<String>) -> Self {
        self.router = self.router.origin(origin);
        self
    }

    /// Has everything at a path such as `/login`, and below it, answered by this instead of by an agent. Bodies are read whole,
    /// within the limits; who may come is for the answer to decide.
    ///
    /// ```
    /// # use chancery::{Card, Failure, Outcome, Turn, core::Bytes};
    /// use chancery::Server;
    ///
    /// # async fn echo(turn: Turn) -> Result<Outcome, Failure> { Ok(Outcome::reply(turn.text())) }
    /// let server = Server::new(Card::new("Echo", "Repeats"), echo);
    /// let server = server.route("/about", |_| async { http::Response::new(Bytes::from("Served by Chancery\n")) });
    /// ```
    pub fn route<F, A>(mut self, path: impl Into<String>, answer: F) -> Self
    where
        F: Fn(http::Request<Bytes>) -> A + Send + Sync + 'static,
        A: Future<Output = http::Response<Bytes>> + Send + 'static,
    {
        self.router = self.router.route(path, answer);
        self
    }

    /// Which addresses webhooks may be at, instead of public ones only. A server that listens on loopback
    /// only lets webhooks there through in any case.
    pub fn guard(mut self, guard: Guard) -> Self {
        self.guard = guard;
        self
    }

    /// Serves over TLS.
    pub fn tls(mut self, tls: Tls) -> Self {
        self.tls = Some(tls);
        self
    }

    /// Who may call the agents; everybody when not said. The cards tell callers what they need. Cards, health, metrics and
    /// the keys of webhook signatures stay open.
    ///
    /// ```no_run
    /// # use chancery::{Card, Failure, Outcome, Turn};
    /// # async fn run(card: Card) -> chancery::Result<()> {
    /// use chancery::{Server, auth::{Auth, Jwt, Scheme}};
    ///
    /// async fn greet(turn: Turn) -> Result<Outcome, Failure> {
    ///     Ok(Outcome::reply(format!("Hello {}", turn.caller().identity().subject.as_deref().unwrap_or("stranger"))))
    /// }
    /// let auth = Auth::new().scheme("oidc", Scheme::jwt(Jwt::issuer("https://id.example", ["agents"])));
    /// Server::new(card, greet).auth(auth).serve("127.0.0.1:7420").await
    /// # }
    /// ```
    pub fn auth(mut self, auth: Auth) -> Self {
        self.auth = Some(auth);
        self
    }

    /// Who verifies the scope tokens that come with calls, in the header `A2A-Scope-Token`. A call whose token does not
    /// verify is refused. Without this the header says nothing.
    pub fn scope_tokens(mut self, tokens: Arc<dyn ScopeTokens>) -> Self {
        self.router = self.router.scope_tokens(tokens);
        self
    }

    /// Signs the cards of the agents, public and extended ones, and serves the public keys. It is done when a card or a key changes, not for
    /// each request.
    pub fn signing(mut self, signing: Signing) -> Self {
        self.signing = Some(signing);
        self
    }

    /// Lists the agents in a catalog at `/.well-known/ai-catalog.json`, under identifiers that begin with this and end with the key of each,
    /// such as `urn:air:example.com:agents`. When not said, agents are listed under the name of the server's host, but for one alone at the root.
    pub fn catalog(mut self, prefix: impl Into<String>) -> Self {
        self.catalog = Some(prefix.into());
        self
    }

    /// Who finds the agents that those here pass work on to, unless they say so themselves. With the feature `client`, a client without
    /// credentials when nothing is said.
    pub fn peers(mut self, peers: impl Peers + 'static) -> Self {
        self.peers = Some(Arc::new(peers));
        self
    }

    /// Whether the place of an event in its task's log can be seen over gRPC, where there is no event id: the extension
    /// `urn:chancery:ext/sequence/v1`, by which a cut stream goes on. It can unless this says otherwise, and the cards say so.
    pub fn sequence(mut self, sequence: bool) -> Self {
        self.sequence = sequence;
        self
    }

    /// Lets [`serve`](Self::serve) begin without a word.
    pub fn quiet(mut self) -> Self {
        self.quiet = true;
        self
    }

    /// How long answers and turns may take to finish when the server stops.
    pub fn grace(mut self, grace: Duration) -> Self {
        self.grace = grace;
        self
    }

    /// Serves until the process is asked to stop (SIGINT or SIGTERM), and then stops in an orderly way. It says on stderr which agents are
    /// where, for it is the whole program of whoever calls it; [`quiet`](Self::quiet) keeps it silent, and [`bind`](Self::bind) says nothing.
    ///
    /// # Errors
    /// When the address cannot be listened on, the data folder cannot be used, or something was said that means nothing for what is
    /// mounted. The words say what to do about it; returned from `main`, they are what the program ends with.
    pub async fn serve(self, address: impl Into<Address>) -> Result<()> {
        let (quiet, agents) = (self.quiet, announce::agents(&self.agents));
        let running = self.bind(address).await?;
        tracing::info!(url = running.url(), "serving");
        if !quiet {
            announce::print(&agents, running.url());
        }
        stop_signal().await.map_err(Error::internal)?;
        running.shutdown().await;
        Ok(())
    }

    /// Begins to serve, and gives a handle to do more with.
    ///
    /// # Errors
    /// As [`serve`](Self::serve).
    pub async fn bind(self, address: impl Into<Address>) -> Result<Running> {
        self.bind_to(address.into()).await
    }

    async fn bind_to(mut self, address: Address) -> Result<Running> {
        self.settle()?;
        let listener = listen_on(&address).await?;
        let local = listener.local_addr().map_err(Error::internal)?;
        let base = self.public_url.clone().unwrap_or_else(|| base_url(local, self.tls.is_some()));
        if local.ip().is_unspecified() && self.public_url.is_none() && self.hosts.is_empty() {
            tracing::warn!(listen = %local, url = base, "{UNREACHABLE}");
        }
        let names = names(local, self.public_url.is_none(), &self.hosts);
        self.router = std::mem::replace(&mut self.router, Router::builder()).hosts(names);
        if self.needs_store() {
            let folder = self.data.get_or_insert_with(|| DATA.into());
            self.options = self.options.shared_store(open(folder).await?);
        }
        let key = webhook_key(self.data.take()).await?;
        let guard = if local.ip().is_loopback() { self.guard.clone().loopback(true) } else { self.guard.clone() };
        let client = Client::new(Reach::Guarded(guard), &Options::new())?;
        let mut webhooks = Webhooks::new(client.clone(), key.clone());
        if let Some(clock) = self.clock.take() {
            webhooks = webhooks.clock(clock);
        }
        let router = self.router(&base, client, &key)?;
        let options = self.options.sender(webhooks);
        let host = Host { router: router.clone(), options, peers: self.peers, sequence: self.sequence };
        let mut engines = Vec::new();
        for mount in self.agents {
            engines.extend(host.mount(mount, &[])?);
        }
        router.check_skills()?;
        let shutdown = CancellationToken::new();
        if let Some(tls) = &self.tls {
            tokio::spawn(tls.clone().watch(shutdown.clone()));
        }
        let serving = tokio::spawn(Box::pin(listen::serve(listener, self.tls, router, shutdown.clone(), self.grace)));
        Ok(Running { local, host, engines: Mutex::new(engines), shutdown, serving, grace: self.grace })
    }

    /// The router, without its agents.
    fn router(&mut self, base: &str, client: Client, key: &Key) -> Result<Router> {
        let several = self.agents.len() > 1;
        let certificates = self.tls.as_ref().is_some_and(Tls::asks_for_certificates);
        let mut router = std::mem::replace(&mut self.router, Router::builder());
        router = router
            .base_url(base)
            .several(several)
            .unnamed(self.unnamed())
            .demand_host(true)
            .key_client(client)
            .client_certificates(certificates)
            .published_keys([key.jwk()]);
        // Who asks for certificates and says nothing else means that they are needed.
        let mutual = || Auth::new().scheme("mtls", Scheme::mutual_tls(CertificateName::default()));
        if let Some(auth) = self.auth.take().or_else(|| certificates.then(mutual)) {
            router = router.auth(auth);
        }
        if let Some(signing) = self.signing.take() {
            router = router.signer(Arc::new(CardKeys::new(signing)));
        }
        if let Some(catalog) = self.catalog.take() {
            router = router.catalog(catalog);
        }
        router.build()
    }

    /// The path of the agent that calls are for which cannot name one: the one at the root, or else the first.
    fn unnamed(&self) -> String {
        let paths = self.agents.iter().map(|mount| mount.path.as_str());
        paths.min_by_key(|path| !path.trim_matches('/').is_empty()).unwrap_or("/").to_owned()
    }
}

async fn listen_on(address: &Address) -> Result<TcpListener> {
    let mut last = None;
    for socket in address.resolve().await? {
        match listen::bind(socket) {
            Ok(listener) => return Ok(listener),
            Err(error) => last = Some(startup::cannot_listen(socket, error)),
        }
    }
    Err(last.unwrap_or_else(|| startup::bad_address(&address.to_string(), io::ErrorKind::NotFound.into())))
}

/// The file of tasks in the data folder.
#[cfg(feature = "sqlite")]
async fn open(folder: &Path) -> Result<Arc<dyn Store>> {
    tokio::fs::create_dir_all(folder).await.map_err(|error| startup::bad_folder(folder, error))?;
    let store = chancery_engine::store::Sqlite::open(folder.join(TASKS)).await.map_err(|error| startup::bad_store(folder, error))?;
    Ok(Arc::new(store))
}

/// Without SQLite nobody but the caller knows where tasks are kept.
#[cfg(not(feature = "sqlite"))]
async fn open(_: &Path) -> Result<Arc<dyn Store>> {
    Err(startup::no_store())
}

/// The key that signs notifications: kept in the data folder, or made anew when there is none.
async fn webhook_key(data: Option<PathBuf>) -> Result<Key> {
    let Some(folder) = data else { return Key::ephemeral().map_err(Error::internal) };
    let opened = tokio::task::spawn_blocking(move || Key::open(&folder).map_err(|error| startup::bad_key(&folder, error)));
    opened.await.map_err(Error::internal)?
}

/// Waits until the process is asked to stop, by SIGINT or SIGTERM.
///
/// # Errors
/// When signals cannot be listened for.
pub async fn stop_signal() -> io::Result<()> {
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

/// The names by which a server is reached, beside its base URL.
fn names(local: SocketAddr, nameless: bool, said: &[String]) -> Vec<String> {
    let port = local.port();
    let here = nameless && (local.ip().is_loopback() || local.ip().is_unspecified());
    let loopback = ["localhost", "127.0.0.1", "[::1]"].iter().filter(|_| here).map(|name| format!("{name}:{port}"));
    let with_port = said.iter().filter(|host| has_no_port(host)).map(|host| format!("{host}:{port}"));
    loopback.chain(said.iter().cloned()).chain(with_port).collect()
}

/// Whether a host is neither a URL nor has a port.
fn has_no_port(host: &str) -> bool {
    !host.contains("://") && host.rsplit_once(']').map_or(host, |(_, rest)| rest).split_once(':').is_none()
}

/// Whoever finds other agents when nothing is said.
#[cfg(feature = "client")]
fn peers() -> Option<Arc<dyn Peers>> {
    Some(Arc::new(chancery_client::Client::builder().peers()))
}

/// Whoever finds other agents when nothing is said.
#[cfg(not(feature = "client"))]
fn peers() -> Option<Arc<dyn Peers>> {
    None
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
