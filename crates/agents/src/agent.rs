//! An agent made from configuration, ready to be mounted on a server.

use std::{sync::Arc, time::Duration};

use chancery::Mount;
use chancery_config as config;
use chancery_core::{Binding, Card, Version};
use chancery_engine::{
    Builder, Engine, Failure, OnRestart, Outcome, Turn,
    delegation::{Guarded, Lattice},
};
use tokio::sync::Semaphore;

use crate::{
    demo,
    executor::{Executor, Shared, executor},
    peers::Handoffs,
    process::Children,
    settings,
};

/// An agent that is ready to be served.
#[derive(Clone)]
pub struct Agent {
    config: config::Agent,
    versions: Vec<Version>,
    bindings: Vec<Binding>,
    /// The card for callers who are known, if it is another one.
    extended: Option<Card>,
    /// What it may pass on, if that is said.
    lattice: Option<Lattice>,
    /// How it passes work on, if that is said.
    handoffs: Option<Handoffs>,
    run: Run,
}

/// The executor, with a limit of turns at a time.
#[derive(Clone)]
struct Run {
    executor: Arc<dyn Executor>,
    limit: Option<Arc<Semaphore>>,
}

impl Agent {
    pub(crate) fn new(
        agent: &config::Agent,
        server: &config::Server,
        lattice: &config::Lattice,
        children: &Children,
        handoffs: Option<Handoffs>,
    ) -> Self {
        let shared = Shared { children, directory: handoffs.as_ref().map(|handoffs| &handoffs.directory) };
        let extended = match agent.backend {
            config::Backend::Demo => demo::extended_card(agent),
            // The server shows each caller its own skills of it.
            _ => (!agent.skill_scopes.is_empty()).then(|| agent.card.clone()),
        };
        Self {
            versions: agent.versions.clone().unwrap_or_else(|| server.versions.clone()),
            bindings: agent.bindings.clone().unwrap_or_else(|| server.bindings.clone()),
            extended,
            lattice: settings::lattice(lattice, &agent.name),
            run: Run { executor: executor(agent, &shared), limit: agent.concurrency.map(|turns| Arc::new(Semaphore::new(turns))) },
            handoffs,
            config: agent.clone(),
        }
    }

    /// What the configuration says of it.
    #[must_use]
    pub fn config(&self) -> &config::Agent {
        &self.config
    }

    /// The versions it is served in.
    #[must_use]
    pub fn versions(&self) -> &[Version] {
        &self.versions
    }

    /// Its engine, not started. The store, the sender of notifications and the retention are left to the caller.
    #[must_use]
    pub fn engine(&self) -> Builder {
        let card = unplaced(self.config.card.clone());
        let engine = match &self.lattice {
            Some(lattice) => Engine::new(card, Guarded::new(self.run.clone(), lattice.clone())),
            None => Engine::new(card, self.run.clone()),
        };
        let mut engine = engine.name(&self.config.name).on_restart(match self.config.on_restart {
            config::OnRestart::Fail => OnRestart::Fail,
            config::OnRestart::Rerun => OnRestart::Rerun,
        });
        if let Some(handoffs) = &self.handoffs {
            let passing = handoffs.passing.clone();
            engine = engine.passing(match &self.lattice {
                Some(lattice) => passing.policy(lattice.clone()),
                None => passing,
            });
        }
        match &self.extended {
            Some(card) => engine.extended_card(unplaced(card.clone())),
            None => engine,
        }
    }

    /// The agent at its path, with the tasks that it finished kept for so long, or for ever.
    pub fn mount(&self, retention: Option<Duration>) -> Mount {
        self.placed(Mount::agent(&self.config.path, self.engine().retention(retention)))
    }

    /// The mount with the name, the tenant, the versions and the bindings of the agent.
    pub(crate) fn placed(&self, mount: Mount) -> Mount {
        let mount = mount.key(&self.config.name).tenant(&self.config.tenant);
        mount.versions(self.versions.iter().copied()).bindings(self.bindings.iter().copied())
    }
}

/// A card without the interfaces that its file may name: where it is served, the server says.
fn unplaced(mut card: Card) -> Card {
    if !card.supported_interfaces.is_empty() {
        tracing::warn!(card = card.name, "the interfaces of the card are those of this server, not those of its file");
        card.supported_interfaces.clear();
    }
    card
}

impl chancery_engine::Agent for Run {
    async fn run(&self, turn: Turn) -> Result<Outcome, Failure> {
        let _turn = match &self.limit {
            Some(limit) => Some(limit.acquire().await?),
            None => None,
        };
        self.executor.run(turn).await
    }
}
