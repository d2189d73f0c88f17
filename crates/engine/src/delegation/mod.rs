//! Passing work on to other agents: a whole task (handoff), or a part of it (delegation).
//!
//! ```text
//! Outcome::transfer ---> perform.rs   checks, PREPARED, sends, CREATED and COMMITTED; again after a crash
//!                           |
//!                           `-------> relay.rs    what happens to the task there becomes events of the task here
//! Turn::delegate ------> delegate.rs  asks another agent (request.rs), shows here how it goes, and gives the result; calls.rs is who is asked
//! a message with a TransferContext -> receive.rs  the same handoff makes one task; loops are refused
//! others who may see such a task -> access.rs  the user that it is for, and whoever holds its grant
//! reads of a task that was handed over -> view.rs what aware and unaware callers see of it
//! ```
//!
//! What must survive a crash is noted beside the events of the task ([`Notes`](chancery_core::Notes)), in the same commits. The lease
//! of the task is the lease of the handoff, and recovery takes both over.

pub(crate) mod access;
pub(crate) mod active;
mod backoff;
pub(crate) mod calls;
mod delegate;
mod delegated;
mod handoff;
#[cfg(feature = "scope")]
mod lattice;
pub(crate) mod perform;
pub(crate) mod receive;
pub(crate) mod record;
mod refusal;
mod relay;
mod request;
pub(crate) mod view;

use std::{collections::BTreeSet, fmt, sync::Arc, time::Duration};

use chancery_core::{
    Caller, Card, Extension, Message, Object, Passage, Peers, Secret, Timestamp, Trail, TransferContext, extension, handoff::same_agent,
};
use serde_json::json;

pub use access::Tokens;
pub use delegate::{Delegating, Delegation};
pub use delegated::{Delegated, DelegationError};
pub use handoff::Handoff;
#[cfg(feature = "scope")]
pub use lattice::{Guarded, Lattice};
pub use refusal::{Refusal, RefusalCode};

/// How an engine passes work on to other agents, and takes work from them.
///
/// ```
/// use std::sync::Arc;
/// use chancery_core::Peers;
/// use chancery_engine::delegation::Passing;
///
/// fn passing(peers: Arc<dyn Peers>) -> Passing {
///     Passing::new(peers).at("https://triage.example.com").max_hops(4)
/// }
/// ```
#[derive(Clone)]
#[non_exhaustive]
pub struct Passing {
    /// Who finds other agents.
    pub peers: Arc<dyn Peers>,
    /// The base URLs of this agent; the first is the one it uses of itself.
    pub base_urls: Vec<String>,
    /// How many hops work may make, this agent's included.
    pub max_hops: u32,
    /// How often one agent may have a task in one chain of handoffs.
    pub max_visits: usize,
    /// Whether tasks of callers that do not know of handoffs go on here.
    pub relay: bool,
    /// What happens when a crash left it open whether the other agent has the task.
    pub on_ambiguous: OnAmbiguous,
    /// What happens when the other agent answers without a task.
    pub on_message_reply: OnMessageReply,
    /// How long a grant opens the task of whoever handed it over; `None` gives none.
    pub grant_life: Option<Duration>,
    /// Who makes and recognizes grants; the server does, unless something else is said.
    pub tokens: Option<Arc<dyn Tokens>>,
    /// Who is believed about the users that it hands tasks over for: the names of callers.
    pub trusted_delegators: BTreeSet<String>,
    /// Who decides how far work may reach.
    pub policy: Option<Arc<dyn ReachPolicy>>,
}

/// What happens when a crash left it open whether the other agent has the task, and that agent cannot tell.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum OnAmbiguous {
    /// The task fails.
    #[default]
    Fail,
    /// The task is sent again; the other agent may have it twice then.
    Retry,
}

/// What happens when the other agent answers a handoff with a message, so that there is no task to point to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum OnMessageReply {
    /// The task completes with that message.
    #[default]
    Complete,
    /// The task fails.
    Fail,
}

/// Policy decision point: decides whether work may be passed on, and how far it may reach there.
pub trait ReachPolicy: Send + Sync {
    /// Gives the scope that the other agent may use, or nothing when there is no limit.
    ///
    /// # Errors
    /// The object that says what would be violated.
    fn check(&self, step: &Step<'_>) -> Result<Option<Object>, Object>;

    /// What is violated by work that is passed on all the same: the status of the task says so.
    fn warning(&self, _step: &Step<'_>) -> Option<Object> {
        None
    }

    /// Whether a person is to be asked about what would be violated, instead of failing.
    fn escalates(&self, _violation: &Object) -> bool {
        false
    }

    /// The token that goes along with work that may be passed on, narrowed for the other agent.
    fn token(&self, _step: &Step<'_>) -> Option<Secret> {
        None
    }
}

/// LA-24: says in the status of a task that a part of it goes further than it may.
async fn warn(turn: &crate::Turn, to: &str, violation: Object) {
    let mut words = Message::agent(format!("{to} is out of reach of this task, and is asked all the same."));
    words.metadata.insert(extension::SCOPE.to_owned(), json!({"violation": violation}));
    words.extensions.push(extension::SCOPE.to_owned());
    if turn.say(words).await.is_err() {
        tracing::debug!("the turn is over, and nobody hears what it violates");
    }
}

/// Work that is about to be passed on.
#[non_exhaustive]
pub struct Step<'a> {
    /// In which way.
    pub kind: Passage,
    /// The base URL of this agent.
    pub from: &'a str,
    /// The base URL of the other agent.
    pub to: &'a str,
    /// The other agent's card.
    pub card: &'a Card,
    /// The skills that are needed there; empty when none is named.
    pub requires: &'a [String],
    /// The workflow that this is a step of; empty when there is none.
    pub workflow: &'a str,
    /// Who asked this agent.
    pub caller: &'a Caller,
    /// What came with the task, when it was handed over to this agent.
    pub received: Option<&'a TransferContext>,
    /// Who passed the work on before, this agent included.
    pub trail: &'a Trail,
    /// Now.
    pub now: Timestamp,
}

impl Passing {
    /// Passes work on to agents that are found so.
    #[must_use]
    pub fn new(peers: Arc<dyn Peers>) -> Self {
        Self {
            peers,
            base_urls: Vec::new(),
            max_hops: 8,
            max_visits: 1,
            relay: true,
            on_ambiguous: OnAmbiguous::default(),
            on_message_reply: OnMessageReply::default(),
            grant_life: Some(Duration::from_secs(24 * 3_600)),
            tokens: None,
            trusted_delegators: BTreeSet::new(),
            policy: None,
        }
    }

    /// Adds a base URL of this agent. Without one, the server says where it is.
    #[must_use]
    pub fn at(mut self, url: impl Into<String>) -> Self {
        self.base_urls.push(url.into());
        self
    }

    /// How many hops work may make.
    #[must_use]
    pub fn max_hops(mut self, hops: u32) -> Self {
        self.max_hops = hops;
        self
    }

    /// How often one agent may have a task in one chain of handoffs.
    #[must_use]
    pub fn max_visits(mut self, visits: usize) -> Self {
        self.max_visits = visits;
        self
    }

    /// Whether tasks of callers that do not know of handoffs go on here.
    #[must_use]
    pub fn relay(mut self, relay: bool) -> Self {
        self.relay = relay;
        self
    }

    /// What happens when a crash left it open whether the other agent has the task.
    #[must_use]
    pub fn on_ambiguous(mut self, policy: OnAmbiguous) -> Self {
        self.on_ambiguous = policy;
        self
    }

    /// What happens when the other agent answers without a task.
    #[must_use]
    pub fn on_message_reply(mut self, policy: OnMessageReply) -> Self {
        self.on_message_reply = policy;
        self
    }

    /// How long a grant opens a task; `None` gives no grants.
    #[must_use]
    pub fn grant_life(mut self, life: Option<Duration>) -> Self {
        self.grant_life = life;
        self
    }

    /// Who makes and recognizes grants.
    #[must_use]
    pub fn tokens(mut self, tokens: impl Tokens + 'static) -> Self {
        self.tokens = Some(Arc::new(tokens));
        self
    }

    /// Believes a caller about the user that it hands a task over for: that user may then read the task by its id, go on with it and cancel
    /// it, as the caller may. Others who name a user are not believed. A caller with a token goes by the issuer, `#` and the subject.
    #[must_use]
    pub fn trusted_delegator(mut self, caller: impl Into<String>) -> Self {
        self.trusted_delegators.insert(caller.into());
        self
    }

    /// Who decides how far work may reach.
    #[must_use]
    pub fn policy(mut self, policy: impl ReachPolicy + 'static) -> Self {
        self.policy = Some(Arc::new(policy));
        self
    }

    /// The base URL that this agent uses of itself.
    #[must_use]
    pub fn base_url(&self) -> &str {
        self.base_urls.first().map_or("", String::as_str)
    }

    /// Whether a person is to be asked about a refusal (LA-25).
    pub(crate) fn escalates(&self, refusal: &Refusal) -> bool {
        let asks = |policy: &Arc<dyn ReachPolicy>| refusal.violation.as_ref().is_some_and(|violation| policy.escalates(violation));
        self.policy.as_ref().is_some_and(asks)
    }

    /// Whether a base URL is one of this agent's.
    #[must_use]
    pub fn is_own(&self, url: &str) -> bool {
        self.base_urls.iter().any(|own| same_agent(own, url))
    }

    /// Says in a card what this agent does with handoffs (HO-1).
    pub(crate) fn declare(&self, card: &mut Card) {
        let extensions = &mut card.capabilities.extensions;
        if extensions.iter().any(|known| known.uri == extension::HANDOFF) {
            return;
        }
        let params = json!({"accept": true, "initiate": true, "maxHops": self.max_hops, "relay": self.relay});
        let mut declared = Extension::new(extension::HANDOFF).described("Hands tasks over to other agents, and takes tasks from them");
        declared.params = params.as_object().cloned().map(Into::into);
        extensions.push(declared);
    }
}

impl fmt::Debug for Passing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Passing")
            .field("base_urls", &self.base_urls)
            .field("max_hops", &self.max_hops)
            .field("max_visits", &self.max_visits)
            .field("relay", &self.relay)
            .field("on_ambiguous", &self.on_ambiguous)
            .field("on_message_reply", &self.on_message_reply)
            .field("grant_life", &self.grant_life)
            .field("trusted_delegators", &self.trusted_delegators)
            .field("policy", &self.policy.is_some())
            .finish_non_exhaustive()
    }
}
