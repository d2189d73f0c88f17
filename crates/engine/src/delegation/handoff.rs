//! What an agent says when it hands its task over.

use std::{fmt, sync::Arc};

use chancery_core::{Object, Part, Timestamp};
use serde_json::Value;

use super::Refusal;
use crate::agent::Outcome;

/// To whom a task is handed over, and what goes along with it.
///
/// ```
/// use chancery_engine::{Failure, Outcome, Turn, delegation::Handoff};
///
/// async fn triage(turn: Turn) -> Result<Outcome, Failure> {
///     if turn.text().contains("refund") {
///         let billing = Handoff::to("https://billing.example.com").reason("refund request").state("order", "A-17");
///         return Ok(Outcome::transfer(billing.otherwise(|_| Outcome::ask("Billing is closed. Shall a person call you?"))));
///     }
///     Ok(Outcome::reply("Have you tried turning it off and on again?"))
/// }
/// ```
#[derive(Clone)]
#[non_exhaustive]
pub struct Handoff {
    /// The base URL of the other agent.
    pub target: String,
    /// Why, for people; empty when not said.
    pub reason: String,
    /// What the other agent is told; empty means what this agent was told.
    pub parts: Vec<Part>,
    /// Working memory, by key.
    pub state: Object,
    /// Results of steps that are done, by name.
    pub output_keys: Object,
    /// The skills that are needed.
    pub requires: Vec<String>,
    /// The workflow that this is a step of; empty when there is none.
    pub workflow: String,
    /// Until when the work is wanted.
    pub deadline: Option<Timestamp>,
    /// Whether the task waits for its client when the handoff comes to nothing, instead of failing.
    pub escalate: bool,
    pub(crate) otherwise: Option<Otherwise>,
}

pub(crate) type Otherwise = Arc<dyn Fn(&Refusal) -> Outcome + Send + Sync>;

impl Handoff {
    /// Hands the task over to the agent with this base URL.
    pub fn to(agent: impl Into<String>) -> Self {
        Self {
            target: agent.into(),
            reason: String::new(),
            parts: Vec::new(),
            state: Object::new(),
            output_keys: Object::new(),
            requires: Vec::new(),
            workflow: String::new(),
            deadline: None,
            escalate: false,
            otherwise: None,
        }
    }

    /// Says why.
    #[must_use]
    pub fn reason(mut self, reason: impl Into<String>) -> Self {
        self.reason = reason.into();
        self
    }

    /// Tells the other agent this, instead of what this agent was told.
    #[must_use]
    pub fn part(mut self, part: impl Into<Part>) -> Self {
        self.parts.push(part.into());
        self
    }

    /// Adds to the working memory.
    #[must_use]
    pub fn state(mut self, key: impl Into<String>, value: impl Into<Value>) -> Self {
        self.state.insert(key.into(), value.into());
        self
    }

    /// Adds a result of a step that is done.
    #[must_use]
    pub fn output(mut self, name: impl Into<String>, value: impl Into<Value>) -> Self {
        self.output_keys.insert(name.into(), value.into());
        self
    }

    /// Names a skill that is needed.
    #[must_use]
    pub fn requires(mut self, skill: impl Into<String>) -> Self {
        self.requires.push(skill.into());
        self
    }

    /// Names the workflow that this is a step of.
    #[must_use]
    pub fn workflow(mut self, workflow: impl Into<String>) -> Self {
        self.workflow = workflow.into();
        self
    }

    /// Says until when the work is wanted.
    #[must_use]
    pub fn deadline(mut self, deadline: Timestamp) -> Self {
        self.deadline = Some(deadline);
        self
    }

    /// Lets the task wait for its client when the handoff comes to nothing, instead of failing.
    #[must_use]
    pub fn escalate(mut self) -> Self {
        self.escalate = true;
        self
    }

    /// Says what happens when the handoff comes to nothing: another handoff, or anything else. What is said here is forgotten when the
    /// process dies; the task fails or waits then.
    #[must_use]
    pub fn otherwise(mut self, next: impl Fn(&Refusal) -> Outcome + Send + Sync + 'static) -> Self {
        self.otherwise = Some(Arc::new(next));
        self
    }
}

impl From<&str> for Handoff {
    fn from(agent: &str) -> Self {
        Self::to(agent)
    }
}

impl From<String> for Handoff {
    fn from(agent: String) -> Self {
        Self::to(agent)
    }
}

impl PartialEq for Handoff {
    fn eq(&self, other: &Self) -> bool {
        let next = match (&self.otherwise, &other.otherwise) {
            (Some(one), Some(other)) => Arc::ptr_eq(one, other),
            (one, other) => one.is_none() == other.is_none(),
        };
        next && self.target == other.target
            && self.reason == other.reason
            && self.parts == other.parts
            && self.state == other.state
            && self.output_keys == other.output_keys
            && self.requires == other.requires
            && self.workflow == other.workflow
            && self.deadline == other.deadline
            && self.escalate == other.escalate
    }
}

impl fmt::Debug for Handoff {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Handoff")
            .field("target", &self.target)
            .field("reason", &self.reason)
            .field("requires", &self.requires)
            .field("workflow", &self.workflow)
            .field("deadline", &self.deadline)
            .field("escalate", &self.escalate)
            .finish_non_exhaustive()
    }
}
