//! A site: everything that one configuration serves, on one port.

use std::{path::PathBuf, sync::Arc};

use chancery::{Auth, Limits, Memory, Mount, Running, Server, Sqlite, Tls, store::Store};
use chancery_config::{self as config, Backend, Config};
use chancery_engine::{
    push::Schedule,
    store::sqlite::{Durability, Options},
};
use chancery_net::Guard;

use crate::{
    Agent, Error, Result,
    demo::{Demo, TlsListener},
    peers::{Handoffs, ServerUrl},
    process::Children,
    settings,
};

/// The tasks in the data folder.
pub const TASKS: &str = "tasks.db";

/// Everything that one configuration serves.
pub struct Site {
    pub(crate) config: Config,
    pub(crate) agents: Vec<Agent>,
    /// Who may call; made once, so that all agents share the keys that were fetched.
    pub(crate) auth: Option<Auth>,
    /// Told where the server is when that is known.
    pub(crate) url: ServerUrl,
    pub(crate) children: Children,
}

/// A site at work. What is not [shut down](Self::shutdown) ends with the runtime.
pub struct Served {
    pub(crate) site: Site,
    pub(crate) running: Running,
    listeners: Vec<TlsListener>,
}

impl Site {
    /// Makes the agents of a configuration. Nothing is opened or started yet.
    #[must_use]
    pub fn new(config: Config) -> Self {
        let (children, url) = (Children::default(), ServerUrl::default());
        let agents = build(&config, &children, &url);
        Self { agents, auth: config.auth.as_ref().map(settings::auth), url, children, config }
    }

    /// What is served.
    #[must_use]
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// The agents, in the order of the file.
    #[must_use]
    pub fn agents(&self) -> &[Agent] {
        &self.agents
    }

    /// Whether it is the demo.
    #[must_use]
    pub fn is_demo(&self) -> bool {
        self.config.agents.iter().any(|agent| agent.backend == Backend::Demo)
    }

    /// The agents with their rules, for a server of one's own. [`served_at`](Self::served_at) then says where that is.
    pub fn mounts(&self) -> impl Iterator<Item = Mount> {
        self.agents.iter().map(|agent| self.mount(agent))
    }

    /// Tells the agents where the server is, so that they find each other.
    pub fn served_at(&self, url: &str) {
        self.url.set(url);
    }

    /// Opens the store, and serves.
    ///
    /// # Errors
    /// A folder, a file, a key or a port that is not to be had.
    pub async fn bind(self) -> Result<Served> {
        let store = self.store().await?;
        let demo = if self.is_demo() { Some(Demo::open(self.data())?) } else { None };
        let mut server = self.server(store)?;
        if let Some(demo) = &demo {
            server = demo.extend(server);
        }
        for (agent, mount) in self.agents.iter().zip(self.mounts()) {
            server = server.mount(match &demo {
                Some(demo) => demo.mount(agent, mount),
                None => mount,
            });
        }
        let listen = &self.config.server.listen;
        let running = server.bind(listen.as_str()).await.map_err(|error| Error::Bind { listen: listen.clone(), error })?;
        self.served_at(running.url());
        let listeners = match &demo {
            Some(demo) => demo.bound(&self, &running).await?,
            None => Vec::new(),
        };
        Ok(Served { site: self, running, listeners })
    }

    /// The folder of what is kept; `None` for what is kept in memory.
    #[must_use]
    pub fn data(&self) -> Option<&PathBuf> {
        (!self.config.store.ephemeral).then_some(&self.config.server.data)
    }

    async fn store(&self) -> Result<Arc<dyn Store>> {
        let Some(folder) = self.data() else { return Ok(Arc::new(Memory::new())) };
        std::fs::create_dir_all(folder).map_err(|source| Error::Folder { folder: folder.clone(), source })?;
        let mut options = Options::default();
        options.durability = match self.config.store.durability {
            config::Durability::Power => Durability::Power,
            config::Durability::Process => Durability::Process,
        };
        let file = folder.join(TASKS);
        let opened = Sqlite::open_with(&file, options).await;
        Ok(Arc::new(opened.map_err(|source| Error::Store { file, source })?))
    }

    /// The server with everything but its agents.
    fn server(&self, store: Arc<dyn Store>) -> Result<Server> {
        let said = &self.config.server;
        let mut server =
            Server::several().shared_store(store).versions(said.versions.iter().copied()).bindings(said.bindings.iter().copied());
        server = server.lenient_version(said.lenient_version).grace(said.drain).limits(self.limits()).guard(self.guard()?);
        if let Some(pauses) = &self.config.push.schedule {
            server = server.schedule(Schedule::new(pauses.iter().copied()));
        }
        if let Some(data) = self.data() {
            server = server.data(data);
        }
        if let Some(url) = &said.public_url {
            server = server.public_url(url);
        }
        server = server.hosts(&said.hosts);
        if let Some(tls) = self.tls()? {
            server = server.tls(tls);
        }
        if let Some(auth) = &self.auth {
            server = server.auth(auth.clone());
        }
        if let Some(tokens) = settings::token_roots(&self.config.lattice) {
            server = server.scope_tokens(tokens);
        }
        Ok(match self.config.signing.as_ref().and_then(settings::signing) {
            Some(signing) => server.signing(signing),
            None => server,
        })
    }

    fn tls(&self) -> Result<Option<Tls>> {
        let Some(said) = &self.config.tls else { return Ok(None) };
        let tls = Tls::open(&said.cert, &said.key).map_err(Error::Server)?;
        Ok(Some(match &said.client_ca {
            Some(file) => tls.client_ca(file).map_err(Error::Server)?,
            None => tls,
        }))
    }

    fn limits(&self) -> Limits {
        let (mut limits, said) = (Limits::default(), self.config.limits);
        limits.body = said.body.and_then(|body| usize::try_from(body).ok()).unwrap_or(limits.body);
        limits.message.parts = said.parts.unwrap_or(limits.message.parts);
        limits.message.json_depth = said.json_depth.unwrap_or(limits.message.json_depth);
        limits.requests = said.requests.unwrap_or(limits.requests);
        limits.streams_per_caller = said.streams.unwrap_or(limits.streams_per_caller);
        limits
    }

    fn guard(&self) -> Result<Guard> {
        let said = &self.config.guard;
        let allowed = said.allow.iter().chain(&self.config.push.allow);
        allowed.into_iter().try_fold(Guard::new().loopback(said.loopback), |guard, network| {
            let parsed = network.parse().map_err(|error| Error::Network { network: network.clone(), source: Box::new(error) })?;
            Ok(guard.allow(parsed))
        })
    }

    /// The agent at its path, with its rules.
    pub(crate) fn mount(&self, agent: &Agent) -> Mount {
        ruled(self.auth.as_ref(), &self.config, agent, agent.mount(self.config.retention.tasks))
    }
}

impl Served {
    /// The server.
    #[must_use]
    pub fn running(&self) -> &Running {
        &self.running
    }

    /// Where the server is.
    #[must_use]
    pub fn url(&self) -> &str {
        self.running.url()
    }

    /// What is served.
    #[must_use]
    pub fn site(&self) -> &Site {
        &self.site
    }

    /// Where the same agents are behind TLS, if this is the demo.
    #[must_use]
    pub fn tls_listeners(&self) -> &[TlsListener] {
        &self.listeners
    }

    /// Stops the server as it was configured to, and then every process that its agents started.
    pub async fn shutdown(self) {
        for listener in self.listeners {
            listener.running.shutdown().await;
        }
        self.running.shutdown().await;
        self.site.children.stop().await;
    }
}

/// The agents of a configuration. Their processes belong to `children`, which is stopped after the server; `url` is told where that is.
pub(crate) fn build(config: &Config, children: &Children, url: &ServerUrl) -> Vec<Agent> {
    let handoffs = Handoffs::new(config, url);
    config.agents.iter().map(|agent| Agent::new(agent, &config.server, &config.lattice, children, handoffs.clone())).collect()
}

/// The mount with the rules of its agent, if it has rules of its own.
pub(crate) fn ruled(all: Option<&Auth>, config: &Config, agent: &Agent, mount: Mount) -> Mount {
    let said = agent.config();
    if said.auth.as_ref().is_some_and(Vec::is_empty) {
        return mount.open();
    }
    let (Some(all), Some(auth)) = (all, &config.auth) else { return mount };
    let rules = match &said.auth {
        Some(alternatives) => all.clone().requiring(auth.requirements(alternatives)),
        None if said.skill_scopes.is_empty() => return mount,
        None => all.clone(),
    };
    mount.auth(said.skill_scopes.iter().fold(rules, |rules, (skill, scopes)| rules.scopes_for_skill(skill, scopes)))
}
