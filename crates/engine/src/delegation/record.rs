//! The durable record of a handoff: a note beside the events of the task that is handed over.

use chancery_core::{Message, MessageId, Notes, Remarks, Secret, Seq, Task, TaskId, Timestamp, Transfer};
use serde::{Deserialize, Serialize};

use super::RefusalCode;

/// The name of the note.
const NOTE: &str = "handoff";

/// How far a handoff is. There is one per task at a time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Record {
    pub(crate) handoff_id: String,
    /// The base URL of the other agent.
    pub(crate) target: String,
    pub(crate) state: State,
    /// How often it was begun.
    pub(crate) attempts: u32,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(crate) reason: String,
    pub(crate) hop: u32,
    /// Whether the task waits for its client when the handoff comes to nothing.
    #[serde(default)]
    pub(crate) escalate: bool,
    /// Whether the task goes on here for those who do not know of handoffs.
    #[serde(default)]
    pub(crate) relayed: bool,
    /// The whole message to the other agent, until it has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) message: Option<Box<Message>>,
    /// The last message of the client that the other agent is told of with it; later ones are passed on when it has the task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) after: Option<MessageId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) error: Option<RefusalCode>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) passed: Option<Box<Passed>>,
}

/// The states of a record. That the task was created there is stored in the same commit as that it is handed over, so there is
/// no state between the two.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub(crate) enum State {
    /// The message may have been sent.
    Prepared,
    /// The other agent demands an authorization; it is tried again when the client has answered.
    Waiting,
    /// The other agent has the task.
    Committed,
    /// It came to nothing.
    Aborted,
}

/// What is known of a task that was handed over.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Passed {
    pub(crate) transfer: Transfer,
    /// The event that tells of it.
    pub(crate) seq: Seq,
    pub(crate) at: Timestamp,
    /// How many messages and artifacts the task had then: those are this agent's.
    pub(crate) history: usize,
    pub(crate) artifacts: usize,
    /// Where the task is now.
    pub(crate) head: Whereabouts,
}

/// Where a relayed task is now.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Whereabouts {
    pub(crate) agent: String,
    pub(crate) task: TaskId,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) grant: Option<Secret>,
    /// Names the handoff that led there.
    pub(crate) handoff_id: String,
    /// How many artifacts are from agents before that one.
    pub(crate) artifacts: usize,
    /// How often the task was followed.
    pub(crate) followed: u32,
}

impl Whereabouts {
    /// Where a transfer leads to.
    pub(crate) fn of(transfer: &Transfer, artifacts: usize, followed: u32) -> Self {
        Self {
            agent: transfer.agent_endpoint.clone(),
            task: transfer.task_id.clone(),
            grant: transfer.grant.as_ref().map(|grant| grant.token.clone()),
            handoff_id: transfer.handoff_id.clone(),
            artifacts,
            followed,
        }
    }
}

impl Record {
    /// The record of a task, if it has one.
    pub(crate) fn of(task: &Task) -> Option<Self> {
        Self::read(&task.notes)
    }

    pub(crate) fn read(notes: &Notes) -> Option<Self> {
        notes.read(NOTE)
    }

    /// What is to be noted so that this is the record.
    pub(crate) fn remarks(&self) -> Remarks {
        Remarks::default().put(NOTE, self)
    }

    /// Whether a task is on its way to another agent, so that somebody has to go on with that.
    pub(crate) fn is_open(task: &Task) -> bool {
        let open = Self::of(task).is_some_and(|record| match record.state {
            State::Prepared | State::Waiting => true,
            State::Committed => record.relayed,
            State::Aborted => false,
        });
        open && !task.status.state.is_terminal()
    }

    pub(crate) fn aborted(mut self, code: Option<RefusalCode>) -> Self {
        (self.state, self.error, self.message) = (State::Aborted, code, None);
        self
    }
}
