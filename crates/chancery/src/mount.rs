//! A mount: an agent, the path it is served at, and what is different there from the rest of the server.

use std::sync::Arc;

use chancery_core::{Binding, Card, Operations, Result, Version};
use chancery_engine::{Builder, Engine};
use chancery_server::{Auth, EndpointOptions};

use crate::{options::refused, signing::Signing};

/// An agent and the path it is served at, with what is different there from the rest of the server.
#[must_use = "a mount is nothing until a server has it"]
pub struct Mount {
    pub(crate) path: String,
    pub(crate) key: Option<String>,
    pub(crate) target: Target,
    pub(crate) options: EndpointOptions,
    /// The agent's card for authenticated callers, if the server was told.
    pub(crate) extended: Option<Card>,
    /// What is said about signatures; nothing, none, or these.
    pub(crate) signing: Option<Option<Signing>>,
    /// Whether something was to stand between the bindings and operations that have no engine here.
    wrapped: bool,
}

/// What is mounted.
pub(crate) enum Target {
    Agent(Box<Builder>, Wrap),
    Operations(Box<Card>, Arc<dyn Operations>),
}

/// What stands between the bindings and an engine.
pub(crate) type Wrap = Box<dyn FnOnce(Engine) -> Arc<dyn Operations> + Send>;

impl Mount {
    /// An agent at a path such as `/writer`.
    pub fn agent(path: impl Into<String>, agent: Builder) -> Self {
        Self::new(path, Target::Agent(Box::new(agent), Box::new(|engine| Arc::new(engine))))
    }

    /// Anything else that can do the operations, under a card of its own.
    pub fn operations(path: impl Into<String>, card: Card, operations: Arc<dyn Operations>) -> Self {
        Self::new(path, Target::Operations(Box::new(card), operations))
    }

    fn new(path: impl Into<String>, target: Target) -> Self {
        Self { path: path.into(), key: None, target, options: EndpointOptions::new(), extended: None, signing: None, wrapped: false }
    }

    /// Puts something between the bindings and the agent's engine.
    pub fn through(mut self, wrap: impl FnOnce(Engine) -> Arc<dyn Operations> + Send + 'static) -> Self {
        match &mut self.target {
            Target::Agent(_, known) => *known = Box::new(wrap),
            Target::Operations(..) => self.wrapped = true,
        }
        self
    }

    /// The agent's key on the server, under which its tasks are kept; made from the path when not said.
    pub fn key(mut self, key: impl Into<String>) -> Self {
        let key = key.into();
        self.key = Some(key.clone());
        self.with(|options| options.key(key))
    }

    /// The agent's name in the server's catalog, instead of its key.
    pub fn listed(self, name: impl Into<String>) -> Self {
        self.with(|options| options.listed(name))
    }

    /// The value that clients of this agent repeat in every request, as its card tells them.
    pub fn tenant(self, tenant: impl Into<String>) -> Self {
        self.with(|options| options.tenant(tenant))
    }

    /// Who may call this agent, instead of those who may call the others.
    pub fn auth(self, auth: Auth) -> Self {
        self.with(|options| options.auth(auth))
    }

    /// Lets everybody call this agent, whatever the server says of the others.
    pub fn open(self) -> Self {
        self.with(EndpointOptions::open)
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
    pub fn versions(self, versions: impl IntoIterator<Item = Version>) -> Self {
        self.with(|options| options.versions(versions))
    }

    /// Which bindings this agent is served over, the preferred one first.
    pub fn bindings(self, bindings: impl IntoIterator<Item = Binding>) -> Self {
        self.with(|options| options.bindings(bindings))
    }

    /// The card that was given.
    pub(crate) fn card(&self) -> &Card {
        match &self.target {
            Target::Agent(agent, _) => agent.card(),
            Target::Operations(card, _) => card,
        }
    }

    /// Whether it is an agent that needs a store of the server.
    pub(crate) fn needs_store(&self) -> bool {
        matches!(&self.target, Target::Agent(agent, _) if !agent.options().has_store())
    }

    /// What is said twice, or means nothing here, is an error.
    pub(crate) fn check(&self) -> Result<()> {
        match &self.target {
            Target::Operations(..) if self.wrapped => {
                Err(refused("Mount::through", "the operations have no engine here; wrap them before they are mounted"))
            }
            Target::Agent(agent, _) if self.extended.is_some() && agent.has_extended_card() => {
                Err(refused("extended_card", "the agent has one already; say it once, here or by Engine::new(…).extended_card(…)"))
            }
            Target::Agent(agent, _) => match (agent.key(), &self.key) {
                (Some(name), Some(key)) if name != key => {
                    let words = format!("the agent's own name is {name:?}; say one of the two, or both alike");
                    Err(refused(&format!("the key {key:?} of a mount"), &words))
                }
                _ => Ok(()),
            },
            Target::Operations(..) => Ok(()),
        }
    }

    fn with(mut self, change: impl FnOnce(EndpointOptions) -> EndpointOptions) -> Self {
        self.options = change(self.options);
        self
    }
}
