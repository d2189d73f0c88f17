//! What is to be served, and how a server is made of it.

use std::{path::PathBuf, sync::Arc, time::Duration};

use anyhow::{Context as _, Result};
use chancery::{Auth, Limits, Memory, Mount, Running, Server, Sqlite, Tls, store::Store};
use chancery_config::{self as config, Config, VERSIONS};
use chancery_core::{Card, Version};
use chancery_engine::{
    push::Schedule,
    store::sqlite::{Durability, Options},
};
use chancery_net::Guard;

use super::{Serve, demo::Seals};
use crate::{
    agents::{self, Children, Here, Made, demo, settings},
    trouble::Trouble,
};

/// The tasks in the data folder.
pub(crate) const TASKS: &str = "tasks.db";

/// What is to be served, from flags, environment and file together.
pub(super) struct Plan {
    /// Where it comes from, in words.
    pub(super) source: String,
    /// What the file says; the demo and the quick agents have none.
    pub(super) config: Option<Config>,
    pub(super) agents: Vec<Made>,
    /// Told where the server is when that is known.
    pub(super) here: Here,
    /// Who may call; made once, so that all agents share the keys that were fetched.
    pub(super) rules: Option<Auth>,
    pub(super) demo: bool,
    pub(super) listen: String,
    pub(super) public_url: Option<String>,
    /// `None` for tasks that are kept in memory.
    pub(super) data: Option<PathBuf>,
    pub(super) durability: Durability,
    pub(super) versions: Vec<Version>,
    pub(super) lenient_version: bool,
    pub(super) drain: Duration,
    pub(super) reload: bool,
}

impl Plan {
    pub(super) fn of(config: Config, children: &Children) -> Self {
        let here = Here::default();
        Self {
            source: config.file.display().to_string(),
            agents: agents::build(&config, children, &here),
            here,
            rules: config.auth.as_ref().map(settings::auth),
            demo: false,
            listen: config.server.listen.clone(),
            public_url: config.server.public_url.clone(),
            data: (!config.store.ephemeral).then(|| config.server.data.clone()),
            durability: match config.store.durability {
                config::Durability::Power => Durability::Power,
                config::Durability::Process => Durability::Process,
            },
            versions: config.server.versions.clone(),
            lenient_version: config.server.lenient_version,
            drain: config.server.drain,
            reload: config.server.reload,
            config: Some(config),
        }
    }

    pub(super) fn demo() -> Result<Self> {
        Ok(Self {
            source: "none, demo agents".to_owned(),
            config: None,
            agents: demo::agents(),
            here: Here::default(),
            rules: None,
            demo: true,
            listen: "127.0.0.1:8080".to_owned(),
            public_url: None,
            data: Some(state_folder()?.join("a2a").join("demo")),
            durability: Durability::Power,
            versions: VERSIONS.iter().map(|(_, version)| *version).collect(),
            lenient_version: false,
            drain: Duration::from_secs(30),
            reload: false,
        })
    }

    pub(super) async fn bind(&self, arguments: &Serve) -> Result<Running> {
        let store: Arc<dyn Store> = match &self.data {
            None => Arc::new(Memory::new()),
            Some(data) => {
                std::fs::create_dir_all(data).with_context(|| format!("the folder {} cannot be made", data.display()))?;
                let mut options = Options::default();
                options.durability = self.durability;
                let file = data.join(TASKS);
                Arc::new(Sqlite::open_with(&file, options).await.with_context(|| format!("{} cannot be opened", file.display()))?)
            }
        };
        let mut server = Server::several().shared_store(store).versions(self.versions.iter().copied());
        server = server.lenient_version(self.lenient_version).grace(self.drain).limits(self.limits()).guard(self.guard()?);
        if let Some(pauses) = self.config.as_ref().and_then(|config| config.push.schedule.as_ref()) {
            server = server.schedule(Schedule::new(pauses.iter().copied()));
        }
        if let Some(data) = &self.data {
            server = server.data(data);
        }
        if let Some(url) = &self.public_url {
            server = server.public_url(url);
        }
        if let Some(tls) = self.tls(arguments)? {
            server = server.tls(tls);
        }
        if let Some(auth) = &self.rules {
            server = server.auth(auth.clone());
        }
        if let Some(tokens) = self.config.as_ref().and_then(|config| settings::token_roots(&config.lattice)) {
            server = server.scope_tokens(tokens);
        }
        let issuer = if self.demo { Some(demo::Issuer::new()?) } else { None };
        if let Some(issuer) = issuer.clone() {
            server = server.route(demo::ISSUER, move |request| std::future::ready(issuer.answer(&request)));
        }
        if let Some(signing) = self.config.as_ref().and_then(|config| settings::signing(config.signing.as_ref()?)) {
            server = server.signing(signing);
        }
        let seals = if self.demo { Some(Seals::open(self.data.as_deref())?) } else { None };
        if self.demo {
            server = server.catalog(demo::LISTED.0);
        }
        let retention = self.config.as_ref().map_or(Some(Duration::from_secs(30 * 24 * 3_600)), |config| config.retention.tasks);
        for agent in &self.agents {
            let rules = Rules { all: self.rules.as_ref(), config: self.config.as_ref() };
            let place = rules.over(&agent.name, agent.place(self.demo.then_some(()), retention));
            server = server.mount(match &seals {
                Some(seals) => seals.over(&agent.name, place),
                None => place,
            });
        }
        let bound = server.bind(self.listen.as_str()).await;
        let running = bound.map_err(|error| {
            Trouble::own("PORT", format!("cannot serve on {}: {}", self.listen, told(error))).hint("--port 0 takes a free port")
        })?;
        self.here.is(running.url());
        if let Some(issuer) = issuer {
            // What the issuer is called, and so what the card says of it, is known only now.
            issuer.settle(running.url());
            for agent in self.agents.iter().filter(|agent| agent.name == demo::SECURE) {
                let place = agent.place(Some(()), retention).auth(issuer.rules(demo::rules())?);
                let place = match &seals {
                    Some(seals) => seals.over(&agent.name, place),
                    None => place,
                };
                running.replace(place).map_err(told)?;
            }
        }
        Ok(running)
    }

    fn tls(&self, arguments: &Serve) -> Result<Option<Tls>> {
        let said = self.config.as_ref().and_then(|config| config.tls.as_ref());
        let (cert, key, client_ca) = match (&arguments.tls_cert, &arguments.tls_key, said) {
            (Some(cert), Some(key), said) => {
                (cert, key, arguments.tls_client_ca.as_ref().or(said.and_then(|said| said.client_ca.as_ref())))
            }
            (_, _, Some(said)) => (&said.cert, &said.key, said.client_ca.as_ref()),
            _ => return Ok(None),
        };
        let tls = Tls::open(cert, key).map_err(told)?;
        Ok(Some(match client_ca {
            Some(file) => tls.client_ca(file).map_err(told)?,
            None => tls,
        }))
    }

    fn limits(&self) -> Limits {
        let mut limits = Limits::default();
        if let Some(said) = self.config.as_ref().map(|config| config.limits) {
            limits.body = said.body.and_then(|body| usize::try_from(body).ok()).unwrap_or(limits.body);
            limits.message.parts = said.parts.unwrap_or(limits.message.parts);
            limits.message.json_depth = said.json_depth.unwrap_or(limits.message.json_depth);
            limits.requests = said.requests.unwrap_or(limits.requests);
            limits.streams_per_caller = said.streams.unwrap_or(limits.streams_per_caller);
        }
        limits
    }

    fn guard(&self) -> Result<Guard> {
        let Some(config) = &self.config else { return Ok(Guard::new()) };
        let allowed = config.guard.allow.iter().chain(&config.push.allow);
        allowed.into_iter().try_fold(Guard::new().loopback(config.guard.loopback), |guard, network| {
            Ok(guard.allow(network.parse().with_context(|| format!("allow: {network} is no network"))?))
        })
    }
}

/// Who may call which agent.
pub(super) struct Rules<'a> {
    pub(super) all: Option<&'a Auth>,
    pub(super) config: Option<&'a Config>,
}

impl Rules<'_> {
    /// The place with the rules of its agent, if it has rules of its own.
    pub(super) fn over(&self, agent: &str, place: Mount) -> Mount {
        if self.config.is_none() && agent == demo::SECURE {
            return place.auth(demo::rules());
        }
        let said = self.config.and_then(|config| config.agents.iter().find(|known| known.name == agent));
        if said.is_some_and(|agent| agent.auth.as_ref().is_some_and(Vec::is_empty)) {
            return place.open();
        }
        let (Some(agent), Some(all), Some(auth)) = (said, self.all, self.config.and_then(|config| config.auth.as_ref())) else {
            return place;
        };
        let rules = match &agent.auth {
            Some(alternatives) => all.clone().requiring(auth.requirements(alternatives)),
            None if agent.skill_scopes.is_empty() => return place,
            None => all.clone(),
        };
        place.auth(agent.skill_scopes.iter().fold(rules, |rules, (skill, scopes)| rules.scopes_for_skill(skill, scopes)))
    }
}

impl Made {
    /// The agent at its place; on the stage of the demo if it is one of its agents.
    pub(super) fn place(&self, stage: Option<()>, retention: Option<Duration>) -> Mount {
        let card: Card = self.card.clone();
        let place = Mount::agent(&self.path, self.builder(card).retention(retention)).key(&self.name).tenant(&self.tenant);
        let place = place.versions(self.versions.iter().copied()).bindings(self.bindings.iter().copied());
        match stage {
            Some(()) => place.through(|engine| Arc::new(demo::Stage::new(engine))),
            None => place,
        }
    }
}

/// What went wrong, with its cause: the user is the operator here.
pub(super) fn told(error: chancery::Error) -> anyhow::Error {
    let cause = std::error::Error::source(&error).map(ToString::to_string);
    anyhow::anyhow!(cause.unwrap_or_else(|| error.to_string()))
}

/// Where programs keep what should survive: `$XDG_STATE_HOME`, or `~/.local/state`.
fn state_folder() -> Result<PathBuf> {
    let said = std::env::var_os("XDG_STATE_HOME").filter(|folder| !folder.is_empty()).map(PathBuf::from);
    let home = || std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".local").join("state"));
    said.or_else(home).context("neither HOME nor XDG_STATE_HOME is set\nhint: --data DIR says where tasks are kept")
}
