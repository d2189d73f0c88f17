//! The agents that `a2a serve` runs: those of a configuration file, and the demo.

mod command;
pub(crate) mod demo;
mod echo;
mod files;
mod jsonl;
mod peers;
mod process;
pub(crate) mod settings;

use std::sync::Arc;

use chancery_core::{Binding, Card, Version};
use chancery_engine::{
    Agent, Builder, Engine, Failure, OnRestart, Outcome, Turn,
    delegation::{Guarded, Lattice},
};
use tokio::sync::Semaphore;

use self::peers::Ways;

pub(crate) use self::{peers::Here, process::Children};
use chancery_config::{self as config, Config, backend::command::Mode};

/// An agent that is ready to be served.
#[derive(Clone)]
pub(crate) struct Made {
    /// Its key on the server.
    pub(crate) name: String,
    /// Where it is served.
    pub(crate) path: String,
    /// Its card without interfaces: the server adds them when it knows its address.
    pub(crate) card: Card,
    /// The card for callers who are known, if it is another one.
    pub(crate) extended: Option<Card>,
    /// The tenant that its interfaces declare; empty for none.
    pub(crate) tenant: String,
    /// The bindings it is served in, the preferred one first.
    pub(crate) bindings: Vec<Binding>,
    /// The versions it is served in.
    pub(crate) versions: Vec<Version>,
    on_restart: OnRestart,
    /// How far it reaches, if that is said.
    lattice: Option<Lattice>,
    /// How it passes work on, if that is said.
    ways: Option<Ways>,
    agent: Any,
}

/// One of our agents.
#[derive(Clone)]
struct Any {
    backend: Backend,
    /// One place for each task that may run at a time.
    places: Option<Arc<Semaphore>>,
}

#[derive(Clone)]
enum Backend {
    Echo,
    Text(Arc<command::Text>),
    Jsonl(Arc<jsonl::Jsonl>),
    Demo,
}

/// The agents of a file. Their processes belong to `children`, which is stopped after the server; `here` is told where that is.
#[must_use]
pub(crate) fn build(config: &Config, children: &Children, here: &Here) -> Vec<Made> {
    let ways = Ways::of(config, here);
    let made = |agent| Made::new(agent, &config.server.versions, children, ways.clone()).within(&config.lattice);
    config.agents.iter().map(made).collect()
}

impl Made {
    /// An agent of a file.
    #[must_use]
    pub(crate) fn new(agent: &config::Agent, versions: &[Version], children: &Children, ways: Option<Ways>) -> Self {
        let directory = || ways.as_ref().map(|ways| ways.directory.clone());
        let backend = match &agent.backend {
            config::Backend::Echo => Backend::Echo,
            config::Backend::Command(command) => match &command.mode {
                Mode::Text { chunk, expose_stderr } => {
                    let text = command::Text::new(agent, command.clone(), chunk.clone(), *expose_stderr, children.clone());
                    Backend::Text(Arc::new(text))
                }
                Mode::Jsonl { lifetime, lenient } => {
                    Backend::Jsonl(Arc::new(jsonl::Jsonl::new(agent, command.clone(), *lifetime, *lenient, children.clone(), directory())))
                }
            },
        };
        Self {
            name: agent.name.clone(),
            path: agent.path.clone(),
            card: agent.card.clone(),
            // The server shows each caller its own skills of it.
            extended: (!agent.skill_scopes.is_empty()).then(|| agent.card.clone()),
            tenant: String::new(),
            bindings: agent.bindings.clone(),
            versions: agent.versions.clone().unwrap_or_else(|| versions.to_vec()),
            on_restart: match agent.on_restart {
                config::OnRestart::Fail => OnRestart::Fail,
                config::OnRestart::Rerun => OnRestart::Rerun,
            },
            lattice: None,
            ways,
            agent: Any { backend, places: agent.concurrency.map(|places| Arc::new(Semaphore::new(places))) },
        }
    }

    /// The same agent, which reaches only so far.
    fn within(mut self, said: &config::Lattice) -> Self {
        self.lattice = settings::lattice(said, &self.name);
        self
    }

    /// The engine to be started, with the card as it is served. The store, the sender of notifications and
    /// the retention are left to the caller.
    #[must_use]
    pub(crate) fn builder(&self, card: Card) -> Builder {
        let engine = match &self.lattice {
            Some(lattice) => Engine::new(card, Guarded::new(self.agent.clone(), lattice.clone())),
            None => Engine::new(card, self.agent.clone()),
        };
        let mut engine = engine.name(&self.name).on_restart(self.on_restart);
        if let Some(ways) = &self.ways {
            let passing = ways.passing.clone();
            engine = engine.passing(match &self.lattice {
                Some(lattice) => passing.policy(lattice.clone()),
                None => passing,
            });
        }
        match &self.extended {
            Some(card) => engine.extended_card(card.clone()),
            None => engine,
        }
    }
}

impl Agent for Any {
    async fn run(&self, turn: Turn) -> Result<Outcome, Failure> {
        let _place = match &self.places {
            Some(places) => Some(places.acquire().await?),
            None => None,
        };
        // Boxed one by one: the largest of them need not be part of all.
        match &self.backend {
            Backend::Echo => echo::echo(turn).await,
            Backend::Text(text) => Box::pin(text.run(turn)).await,
            Backend::Jsonl(jsonl) => Box::pin(jsonl.run(turn)).await,
            Backend::Demo => Box::pin(demo::run(turn)).await,
        }
    }
}

#[cfg(test)]
mod tests;
