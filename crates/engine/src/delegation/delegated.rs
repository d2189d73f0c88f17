//! What becomes of work that another agent was asked to do.

use chancery_core::{Artifact, Error, Message, Object, Part, SendReply, Task, TaskState};

/// What another agent gave.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Delegated {
    /// The base URL of the agent that did it in the end.
    pub agent: String,
    /// The name of the call.
    pub call: String,
    /// Its answer: a completed task, or a message when it needed none.
    pub reply: SendReply,
}

impl Delegated {
    /// The result in words: the text of the artifacts, or else of the status or the message.
    #[must_use]
    pub fn text(&self) -> String {
        let text = |parts: &[Part]| parts.iter().filter_map(Part::as_text).collect::<String>();
        match &self.reply {
            SendReply::Message(message) => message.text(),
            SendReply::Task(task) => {
                let results: Vec<_> = task.artifacts.iter().map(|artifact| text(&artifact.parts)).filter(|text| !text.is_empty()).collect();
                let said = || task.status.message.as_ref().map(Message::text).unwrap_or_default();
                if results.is_empty() { said() } else { results.join("\n") }
            }
        }
    }

    /// What the agent produced.
    #[must_use]
    pub fn artifacts(&self) -> &[Artifact] {
        self.reply.task().map_or(&[], |task| &task.artifacts)
    }
}

/// Why another agent did not do what it was asked. To the agent that asked it is a value like any other: it may ask somebody else.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DelegationError {
    /// The agent failed, declined or was canceled; its task says why.
    #[error("{agent} did not do it ({state})")]
    Undone {
        /// The base URL of the agent.
        agent: String,
        /// Failed, rejected or canceled.
        state: TaskState,
        /// Its task.
        task: Box<Task>,
    },
    /// The agent cannot be reached, is not to be trusted, or does not keep to the protocol.
    #[error("{agent} cannot be asked")]
    Unreachable {
        /// The base URL of the agent.
        agent: String,
        /// What stood in the way.
        #[source]
        source: Error,
    },
    /// The work may not be passed on to this agent; nothing was sent to it.
    #[error("work is not passed on to {agent}: {reason}")]
    Refused {
        /// The base URL of the agent.
        agent: String,
        /// The reason for programs: `hop_limit`, `loop_detected`, `scope_violation`, `not_configured`.
        code: &'static str,
        /// The reason for people.
        reason: &'static str,
        /// What would be violated, in the words of the policy.
        violation: Object,
    },
    /// The task of this turn is over.
    #[error("the task is over")]
    Over,
}

pub(super) fn unreachable(agent: &str, source: Error) -> DelegationError {
    DelegationError::Unreachable { agent: agent.to_owned(), source }
}

pub(super) fn refused(code: &'static str, reason: &'static str, agent: &str) -> DelegationError {
    DelegationError::Refused { agent: agent.to_owned(), code, reason, violation: Object::new() }
}
