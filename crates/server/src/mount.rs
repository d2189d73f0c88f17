//! A mount: an agent, the path it is served at, and what is different there from the rest of the server.

use std::sync::Arc;

use chancery_core::{Binding, Card, Operations, Version};
use chancery_engine::{Builder, Engine};

use crate::{auth::Auth, signing::Signing};

/// An agent and where it is to be, with what is different there from the rest of the server.
#[must_use = "a mount is nothing until a server has it"]
pub struct Mount {
    pub(crate) path: String,
    pub(crate) what: What,
    pub(crate) key: Option<String>,
    pub(crate) tenant: String,
    pub(crate) versions: Option<Vec<Version>>,
    pub(crate) bindings: Option<Vec<Binding>>,
    /// What is said about who may come in; nothing, nobody in particular, or these.
    pub(crate) auth: Option<Option<Auth>>,
    /// What is said about signatures; nothing, none, or these.
    pub(crate) signing: Option<Option<Signing>>,
    pub(crate) listed: Option<String>,
}

/// What is mounted.
pub(crate) enum What {
    Agent(Box<Builder>, Wrap),
    Operations(Box<Card>, Arc<dyn Operations>),
}

/// What stands between the bindings and an engine.
pub(crate) type Wrap = Box<dyn FnOnce(Engine) -> Arc<dyn Operations> + Send>;

impl Mount {
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

    /// Puts something between the bindings and the agent's engine.
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

/// A path without a slash at its end, and with one at its beginning unless it is the root.
pub(crate) fn tidy(path: &str) -> String {
    let path = path.trim_matches('/');
    if path.is_empty() { String::new() } else { format!("/{path}") }
}
