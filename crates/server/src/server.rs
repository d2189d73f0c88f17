//! A server: agents, a store, a port.

use std::{
    io,
    net::{IpAddr, SocketAddr},
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock},
    time::{Duration, SystemTime},
};

use chancery_core::{Binding, Card, Error, Extension, Interface, Operations, Peers, Result, ScopeTokens, Version, extension};
use chancery_engine::{
    Agent, Builder, Engine,
    clock::{Clock as _, SystemClock},
    push::Schedule,
    store::{Sqlite, Store},
};
use http::HeaderValue;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::{
    about::About,
    auth::{Auth, CertificateName, Scheme},
    cors::Cors,
    doors::{Doors, Hosted},
    grant::Grants,
    guard::{self, Guard},
    limit::Limits,
    listen,
    route::Route,
    signing::{Seal, Signing},
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
    routes: Vec<Route>,
    tls: Option<Tls>,
    auth: Option<Auth>,
    scope_tokens: Option<Arc<dyn ScopeTokens>>,
    signing: Option<Signing>,
    catalog: Option<String>,
    lenient_version: bool,
    guard: Guard,
    schedule: Option<Schedule>,
    grace: Duration,
    peers: Option<Arc<dyn Peers>>,
}

/// An agent and where it is to be, with what is different there from the rest of the server.
#[must_use = "a place is nothing until a server has it"]
pub struct Place {
    path: String,
    what: What,
    key: Option<String>,
    tenant: String,
    versions: Option<Vec<Version>>,
    bindings: Option<Vec<Binding>>,
    /// What is said about who may come in; nothing, nobody in particular, or these.
    auth: Option<Option<Auth>>,
    /// What is said about signatures; nothing, none, or these.
    signing: Option<Option<Signing>>,
    listed: Option<String>,
}

enum What {
    Agent(Box<Builder>, Wrap),
    Operations(Box<Card>, Arc<dyn Operations>),
}

/// What stands between the doors and an engine.
type Wrap = Box<dyn FnOnce(Engine) -> Arc<dyn Operations> + Send>;

impl Place {
    /// An agent at a path such as `/writer`.
    pub fn agent(path: impl Into<String>, agent: Builder) -> Self {
        Self::new(path, What::Agent(Box::new(agent), Box::new(|engine| Arc::new(engine))))
    }

    /// Anything else that can do the operations, under a card of its own.
    pub fn operations(path: impl Into<String>, card: Card, operations: Arc<dyn Operations>) -> Self {
        Self::new(path, What::Operations(Box::new(card), operations))
    }

    fn new(path: impl Into<String>, what: What) -> Self {
        Self {
            path: path.into(),
            what,
            key: None,
            tenant: String::new(),
            versions: None,
            bindings: None,
            auth: None,
            signing: None,
            listed: None,
        }
    }

    /// Puts something between the doors and the agent's engine.
    pub fn through(mut self, wrap: impl FnOnce(Engine) -> Arc<dyn Operations> + Send + 'static) -> Self {
        if let What::Agent(_, known) = &mut self.what {
            *known = Box::new(wrap);
        }
        self
    }

    /// The agent's key on the server, under which its tasks are kept; made from the path when not said.
    pub fn key(mut self, key: impl Into<String>) -> Self {
        self.key = Some(key.into());
        self
    }

    /// The agent's name in the server's catalog, instead of its key.
    pub fn listed(mut self, name: impl Into<String>) -> Self {
        self.listed = Some(name.into());
        self
    }

    /// The value that clients of this agent repeat in every request, as its card tells them.
    pub fn tenant(mut self, tenant: impl Into<String>) -> Self {
        self.tenant = tenant.into();
        self
    }

    /// Who may call this agent, instead of those who may call the others.
    pub fn auth(mut self, auth: Auth) -> Self {
        self.auth = Some(Some(auth));
        self
    }

    /// Lets everybody call this agent, whatever the server says of the others.
    pub fn open(mut self) -> Self {
        self.auth = Some(None);
        self
    }

    /// What the cards of this agent are signed with, instead of what those of the others are signed with.
    pub fn signing(mut self, signing: Signing) -> Self {
        self.signing = Some(Some(signing));
        self
    }

    /// Leaves the cards of this agent as they are, whatever the server says of the others.
    pub fn unsigned(mut self) -> Self {
        self.signing = Some(None);
        self
    }

    /// Which versions this agent is served in, instead of all that the server has.
    pub fn versions(mut self, versions: impl IntoIterator<Item = Version>) -> Self {
        self.versions = Some(versions.into_iter().collect());
        self
    }

    /// Which bindings this agent is served over, the preferred one first.
    pub fn bindings(mut self, bindings: impl IntoIterator<Item = Binding>) -> Self {
        self.bindings = Some(bindings.into_iter().collect());
        self
    }
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
            routes: Vec::new(),
            tls: None,
            auth: None,
            scope_tokens: None,
            signing: None,
            catalog: None,
            lenient_version: false,
            guard: Guard::new(),
            schedule: None,
            grace: Duration::from_secs(30),
            peers: peers(),
        }
    }

    /// Adds an agent at a path such as `/writer`.
    pub fn agent(self, path: impl Into<String>, agent: Builder) -> Self {
        self.place(Place::agent(path, agent))
    }

    /// Adds a place with an agent.
    pub fn place(mut self, place: Place) -> Self {
        self.agents.push(place);
        self
    }

    /// Where tasks are kept, instead of a file in the data folder.
    pub fn store(self, store: impl Store) -> Self {
        self.shared_store(Arc::new(store))
    }

    /// Where tasks are kept, shared with others.
    pub fn shared_store(mut self, store: Arc<dyn Store>) -> Self {
        self.store = Some(store);
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

    /// Takes a call of v1.0 for what it is although it does not name its version. The protocol says that
    /// it is v0.3 then, and not understood.
    pub fn lenient_version(mut self, lenient: bool) -> Self {
        self.lenient_version = lenient;
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

    /// Has everything at a path such as `/login`, and below it, answered by this instead of by an agent. Bodies are read whole,
    /// within the limits; who may come is for the answer to decide.
    ///
    /// ```
    /// # use chancery_core::{Bytes, Card};
    /// # use chancery_engine::{Failure, Outcome, Turn};
    /// use chancery_server::Server;
    ///
    /// # async fn echo(turn: Turn) -> Result<Outcome, Failure> { Ok(Outcome::reply(turn.text())) }
    /// let server = Server::new(Card::new("Echo", "Repeats"), echo);
    /// let server = server.route("/about", |_| async { http::Response::new(Bytes::from("Served by Chancery\n")) });
    /// ```
    pub fn route<F, A>(mut self, path: impl Into<String>, answer: F) -> Self
    where
        F: Fn(http::Request<chancery_core::Bytes>) -> A + Send + Sync + 'static,
        A: Future<Output = http::Response<chancery_core::Bytes>> + Send + 'static,
    {
        self.routes.push(Route::new(tidy(&path.into()), answer));
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

    /// Who may call the agents; everybody when not said. The cards tell callers what they need. Cards, health, metrics and
    /// the keys of webhook signatures stay open.
    ///
    /// ```no_run
    /// # use chancery_core::Card;
    /// # use chancery_engine::{Failure, Outcome, Turn};
    /// # async fn run(card: Card) -> chancery_core::Result<()> {
    /// use chancery_server::{Server, auth::{Auth, Jwt, Scheme}};
    ///
    /// async fn greet(turn: Turn) -> Result<Outcome, Failure> {
    ///     Ok(Outcome::reply(format!("Hello {}", turn.caller().subject.as_deref().unwrap_or("stranger"))))
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
        self.scope_tokens = Some(tokens);
        self
    }

    /// Signs the cards of the agents, public and extended ones, and serves the public keys. It is done when a card or a key changes, not for
    /// each request.
    pub fn signing(mut self, signing: Signing) -> Self {
        self.signing = Some(signing);
        self
    }

    /// Lists the agents in a catalog at `/.well-known/ai-catalog.json`, under identifiers that begin with this and end with the key of each,
    /// such as `urn:air:example.com:agents`. When not said, several agents are listed under the name of the server's host.
    pub fn catalog(mut self, prefix: impl Into<String>) -> Self {
        self.catalog = Some(prefix.into());
        self
    }

    /// Who finds the agents that those here pass work on to, unless they say so themselves. With the feature `peers`, a client without
    /// credentials when nothing is said.
    pub fn peers(mut self, peers: impl Peers + 'static) -> Self {
        self.peers = Some(Arc::new(peers));
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
        let webhooks = Webhooks::new(post.clone(), signer.clone());
        let certificates = self.tls.as_ref().is_some_and(Tls::asks_for_certificates);
        if certificates && self.auth.is_none() {
            // Who asks for certificates and says nothing else means that they are needed.
            self.auth = Some(Auth::new().scheme("mtls", Scheme::mutual_tls(CertificateName::default())));
        }
        if let Some(auth) = &self.auth {
            auth.prepare(&post, certificates)?;
        }
        let works = Works {
            base: base.clone(),
            several: self.agents.len() > 1,
            store,
            webhooks,
            schedule: self.schedule,
            versions: self.versions,
            bindings: self.bindings,
            auth: self.auth.map(Arc::new),
            scope_tokens: self.scope_tokens,
            post,
            certificates,
            seal: RwLock::new(self.signing.map(|signing| Arc::new(Seal::new(signing, &base)))),
            peers: self.peers,
        };
        let (mut engines, mut hosted) = (Vec::new(), Vec::new());
        for place in self.agents {
            let (agent, engine) = works.host(place, None)?;
            engines.extend(engine);
            hosted.push(Arc::new(agent));
        }
        if let Some(auth) = &works.auth {
            let shared = hosted.iter().filter(|agent| agent.auth.as_ref().is_some_and(|own| Arc::ptr_eq(own, auth)));
            auth.find_skills(shared.map(|agent| &agent.card))?;
        }
        let keys = serde_json::from_str(&signer.jwks()).map_err(Error::internal)?;
        let catalog = self.catalog.or_else(|| works.several.then(|| format!("urn:air:{}:agents", name_of(&base))));
        let about = About { keys: Some(keys), base: base.clone(), catalog };
        let closing = CancellationToken::new();
        let doors = Doors::new(hosted, self.limits, self.lenient_version, Cors(self.origins), self.routes, about, closing.clone());
        if let Some(tls) = &self.tls {
            tokio::spawn(tls.clone().watch(closing.clone()));
        }
        let serving = tokio::spawn(Box::pin(listen::serve(listener, self.tls, doors.clone(), closing.clone(), self.grace)));
        Ok(Running { local, works, doors, engines: Mutex::new(engines), closing, serving, grace: self.grace })
    }
}

/// What agents are started with.
struct Works {
    base: String,
    /// Whether gRPC needs a name to find an agent.
    several: bool,
    store: Arc<dyn Store>,
    webhooks: Webhooks,
    schedule: Option<Schedule>,
    versions: Vec<Version>,
    bindings: Vec<Binding>,
    auth: Option<Arc<Auth>>,
    scope_tokens: Option<Arc<dyn ScopeTokens>>,
    /// Fetches keys.
    post: guard::Client,
    /// Whether clients can show certificates.
    certificates: bool,
    /// Signs the cards of agents that have nothing of their own for that.
    seal: RwLock<Option<Arc<Seal>>>,
    /// Who finds other agents.
    peers: Option<Arc<dyn Peers>>,
}

impl Works {
    /// Makes an agent ready for the doors. One that runs already goes on, as the place says now.
    fn host(&self, place: Place, running: Option<Engine>) -> Result<(Hosted, Option<Engine>)> {
        let path = tidy(&place.path);
        let made = || if path.is_empty() { "agent".to_owned() } else { path[1..].to_owned() };
        let key = place.key.unwrap_or_else(made);
        let versions = place.versions.unwrap_or_else(|| self.versions.clone());
        let bindings = place.bindings.unwrap_or_else(|| self.bindings.clone());
        let gate = Where { base: &self.base, path: &path, key: &key, tenant: &place.tenant, several: self.several };
        let auth = match place.auth {
            None => self.auth.clone(),
            Some(None) => None,
            Some(Some(auth)) => {
                auth.prepare(&self.post, self.certificates)?;
                Some(Arc::new(auth))
            }
        };
        let describe = |card: &mut Card| {
            describe(card, &gate, &versions, &bindings);
            match &auth {
                Some(auth) => auth.describe(card),
                None if !card.security_requirements.is_empty() => {
                    tracing::warn!(agent = key, "the card demands credentials that are not checked here");
                }
                None => {}
            }
        };
        let (card, operations, engine): (Card, Arc<dyn Operations>, _) = match place.what {
            What::Agent(builder, wrap) => {
                let here = format!("{}{path}", self.base);
                let builder = builder.with_cards(describe).name(key.clone()).base_url(here.clone()).tokens(Grants);
                let builder = match &self.peers {
                    Some(peers) => builder.reach(peers.clone(), here),
                    None => builder,
                };
                let card = builder.card().clone();
                let engine = match running {
                    Some(engine) => {
                        engine.change(builder);
                        engine
                    }
                    None => self.start(builder),
                };
                (card, wrap(engine.clone()), Some(engine))
            }
            What::Operations(mut card, operations) => {
                describe(&mut card);
                (*card, operations, None)
            }
        };
        let own_seal = place.signing.is_some();
        let seal = match place.signing {
            None => self.seal.read().unwrap_or_else(PoisonError::into_inner).clone(),
            Some(own) => own.map(|signing| Arc::new(Seal::new(signing, &self.base))),
        };
        if let Some(auth) = &auth {
            auth.check_skills(&card)?;
            if !self.auth.as_ref().is_some_and(|shared| Arc::ptr_eq(shared, auth)) {
                auth.find_skills(std::iter::once(&card))?;
            }
        }
        let mut agent = Hosted::new(&key, &path, &card, operations, seal, now()?)?;
        (agent.own_seal, agent.tenant, agent.listed) = (own_seal, place.tenant, place.listed.unwrap_or(key));
        (agent.versions, agent.bindings, agent.auth) = (versions, bindings, auth);
        agent.scope_tokens.clone_from(&self.scope_tokens);
        agent.engine.clone_from(&engine);
        Ok((agent, engine))
    }

    fn start(&self, builder: Builder) -> Engine {
        let builder = builder.shared_store(self.store.clone()).sender(self.webhooks.clone());
        match &self.schedule {
            Some(schedule) => builder.schedule(schedule.clone()).start(),
            None => builder.start(),
        }
    }
}

/// Now, as an HTTP date.
fn now() -> Result<HeaderValue> {
    let seconds = u64::try_from(SystemClock.now().unix().0).unwrap_or_default();
    let now = httpdate::fmt_http_date(SystemTime::UNIX_EPOCH + Duration::from_secs(seconds));
    HeaderValue::from_str(&now).map_err(Error::internal)
}

/// Where an agent is, for its card.
struct Where<'a> {
    base: &'a str,
    path: &'a str,
    key: &'a str,
    tenant: &'a str,
    several: bool,
}

/// Makes a card true: where the agent is, in which versions, and what it can do.
fn describe(card: &mut Card, place: &Where<'_>, versions: &[Version], bindings: &[Binding]) {
    card.capabilities.streaming.get_or_insert(true);
    card.capabilities.push_notifications.get_or_insert(true);
    let Where { base, path, .. } = place;
    let host = base.split_once("://").map_or(*base, |(_, rest)| rest);
    let host = host.split('/').next().unwrap_or(host);
    card.supported_interfaces.clear();
    for version in versions {
        for binding in bindings {
            let url = match (version, binding) {
                // The clients of both versions hand this to their gRPC library, which knows no `http://`.
                (Version::V1_0, Binding::Grpc) => host.to_owned(),
                (Version::V0_3, Binding::Grpc) if !place.several => host.to_owned(),
                (Version::V1_0 | Version::V0_3, Binding::JsonRpc | Binding::HttpJson) => format!("{base}{path}"),
                (Version::V0_2 | Version::V0_1, Binding::JsonRpc) if !versions.contains(&Version::V0_3) => format!("{base}{path}"),
                // Older readers find what they need beside the list; v0.3 over gRPC cannot name an agent.
                _ => continue,
            };
            let mut interface = Interface::new(url, binding.as_str(), version.as_str());
            interface.tenant = match binding {
                // A name is all by which gRPC can tell agents apart.
                Binding::Grpc if place.several => if path.is_empty() { "" } else { place.key }.to_owned(),
                _ if *version == Version::V1_0 => place.tenant.to_owned(),
                _ => String::new(),
            };
            card.supported_interfaces.push(interface);
        }
    }
    let known = card.capabilities.extensions.iter().any(|known| known.uri == extension::SEQUENCE);
    if bindings.contains(&Binding::Grpc) && !known {
        let words = "Shows the place of every event in its task's log, to resume a stream after it";
        card.capabilities.extensions.push(Extension::new(extension::SEQUENCE).described(words));
    }
}

/// A server at work. When it is dropped, it goes on; [`shutdown`](Self::shutdown) stops it.
pub struct Running {
    local: SocketAddr,
    works: Works,
    doors: Doors,
    engines: Mutex<Vec<Engine>>,
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
        &self.works.base
    }

    /// The doors, to be put behind another HTTP server too.
    #[must_use]
    pub fn doors(&self) -> &Doors {
        &self.doors
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
    /// When the card cannot be written.
    pub fn replace(&self, place: Place) -> Result<()> {
        let mut engines = self.lock();
        let key = place.key.clone();
        let known = engines.iter().find(|engine| Some(engine.name()) == key.as_deref()).cloned();
        let fresh = known.is_none();
        let (agent, engine) = self.works.host(place, known)?;
        engines.extend(engine.filter(|_| fresh));
        self.doors.inner().change(|agents| {
            agents.retain(|known| known.key != agent.key);
            agents.push(Arc::new(agent));
        });
        Ok(())
    }

    /// Signs the cards with something else from now on, or not at all. Places with something of their own keep it.
    ///
    /// # Errors
    /// When a card cannot be signed. Nothing is changed then.
    pub fn sign(&self, signing: Option<Signing>) -> Result<()> {
        let seal = signing.map(|signing| Arc::new(Seal::new(signing, &self.works.base)));
        // Nobody is put into a place meanwhile.
        let engines = self.lock();
        let since = now()?;
        let sealed = |agent: &Arc<Hosted>| match agent.own_seal {
            true => Ok(agent.clone()),
            false => agent.sealed(seal.clone(), since.clone()).map(Arc::new),
        };
        let sealed: Vec<_> = self.doors.inner().agents().iter().map(sealed).collect::<Result<_>>()?;
        *self.works.seal.write().unwrap_or_else(PoisonError::into_inner) = seal;
        self.doors.inner().change(|agents| *agents = sealed);
        drop(engines);
        Ok(())
    }

    /// Takes an agent out. What it is working on is finished within the grace; its tasks are kept.
    pub fn remove(&self, key: &str) {
        let mut engines = self.lock();
        self.doors.inner().change(|agents| agents.retain(|agent| agent.key != key));
        if let Some(place) = engines.iter().position(|engine| engine.name() == key) {
            let (engine, grace) = (engines.remove(place), self.grace);
            tokio::spawn(async move { engine.shutdown(grace).await });
        }
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Engine>> {
        // A list of engines holds no invariant that a panic could break.
        self.engines.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Stops: takes nothing new, ends streams so that their readers come back elsewhere, lets answers and
    /// turns finish within the grace, and hands back what is left.
    pub async fn shutdown(self) {
        self.closing.cancel();
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

/// A path without a slash at its end, and with one at its beginning unless it is the root.
fn tidy(path: &str) -> String {
    let path = path.trim_matches('/');
    if path.is_empty() { String::new() } else { format!("/{path}") }
}

/// The name of the host in a URL.
fn name_of(base: &str) -> String {
    url::Url::parse(base).ok().and_then(|url| url.host_str().map(str::to_owned)).unwrap_or_else(|| "localhost".to_owned())
}

/// Whoever finds other agents when nothing is said.
#[cfg(feature = "peers")]
fn peers() -> Option<Arc<dyn Peers>> {
    Some(Arc::new(chancery_client::Client::builder().peers()))
}

/// Whoever finds other agents when nothing is said.
#[cfg(not(feature = "peers"))]
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
