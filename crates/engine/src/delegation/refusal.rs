//! Why a handoff came to nothing, in words and in a form for machines (HO-40).

use chancery_core::{Message, Object, extension, handoff};
use serde::{Deserialize, Serialize};
use serde_json::json;

/// Why a handoff came to nothing.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Refusal {
    /// The kind of reason.
    pub code: RefusalCode,
    /// The reason in words.
    pub message: String,
    /// The base URL of the agent that was to have the task.
    pub target: String,
    /// Whether it may work another time.
    pub retryable: bool,
    /// What would be violated, when that is the reason.
    pub violation: Option<Object>,
    /// What the other agent said, when it refused.
    pub said: Option<Message>,
}

/// The kinds of reasons for which a handoff comes to nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum RefusalCode {
    /// The other agent would reach further than the task may.
    ScopeViolation,
    /// The other agent had the task already.
    LoopDetected,
    /// The task was passed on too often.
    HopLimit,
    /// The other agent cannot be reached.
    TargetUnreachable,
    /// The other agent's card is not to be trusted.
    TargetUntrusted,
    /// The other agent declined.
    TargetRejected,
    /// The other agent answered without a task.
    TargetNoTask,
    /// It is not known whether the other agent has the task.
    Ambiguous,
    /// The task was canceled meanwhile.
    Canceled,
    /// What goes along with the task is too large.
    TooLarge,
}

impl Refusal {
    pub(crate) fn new(code: RefusalCode, target: impl Into<String>, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), target: target.into(), retryable: false, violation: None, said: None }
    }

    pub(crate) fn retryable(mut self) -> Self {
        self.retryable = true;
        self
    }

    /// The status message that tells of it.
    pub(crate) fn to_message(&self) -> Message {
        let mut error = json!({"code": self.code, "message": self.message, "target": self.target, "retryable": self.retryable});
        if let Some(violation) = &self.violation {
            error["violation"] = violation.clone().into();
        }
        if let Some(said) = self.said.as_ref().map(Message::text).filter(|said| !said.is_empty()) {
            error["said"] = said.into();
        }
        let mut message = Message::agent(format!("The task could not be handed over to {}: {}", self.target, self.message));
        handoff::set(&mut message.metadata, "error", error);
        message.extensions.push(extension::HANDOFF.to_owned());
        message
    }
}
