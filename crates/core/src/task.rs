//! Tasks: the stateful unit of work.

use serde::{Deserialize, Serialize};

use crate::{
    artifact::Artifact,
    id::{ContextId, TaskId},
    json::{self, Object},
    message::Message,
    note::Notes,
    origin::Origin,
    proto_enum::proto_enum,
    time::Timestamp,
};

proto_enum! {
    /// Where a task stands.
    TaskState, "task state" {
        /// Unknown; never sent in v1.0, refused by validation.
        #[default]
        Unspecified = 0, "TASK_STATE_UNSPECIFIED";
        /// Accepted, not started.
        Submitted = 1, "TASK_STATE_SUBMITTED";
        /// Being worked on.
        Working = 2, "TASK_STATE_WORKING";
        /// Finished successfully.
        Completed = 3, "TASK_STATE_COMPLETED";
        /// Finished with an error.
        Failed = 4, "TASK_STATE_FAILED";
        /// Canceled before completion.
        Canceled = 5, "TASK_STATE_CANCELED";
        /// The agent waits for a message of the user.
        InputRequired = 6, "TASK_STATE_INPUT_REQUIRED";
        /// The agent declined.
        Rejected = 7, "TASK_STATE_REJECTED";
        /// The agent waits for authorization.
        AuthRequired = 8, "TASK_STATE_AUTH_REQUIRED";
    }
}

impl TaskState {
    /// Whether the task is over for good.
    #[must_use]
    pub const fn is_terminal(self) -> bool {
        matches!(self, Self::Completed | Self::Failed | Self::Canceled | Self::Rejected)
    }

    /// Whether the task waits for its client.
    #[must_use]
    pub const fn is_interrupted(self) -> bool {
        matches!(self, Self::InputRequired | Self::AuthRequired)
    }

    /// Whether a stream of the task ends with this state: at the end of the task, and when only a
    /// new message can continue it. Waiting for authorization keeps the stream open, because the
    /// credential may arrive another way (v1.0 §7.6.1).
    #[must_use]
    pub const fn ends_stream(self) -> bool {
        self.is_terminal() || matches!(self, Self::InputRequired)
    }
}

/// A unit of work with its state, its results and its conversation.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[non_exhaustive]
pub struct Task {
    /// Made by the server.
    #[serde(deserialize_with = "json::or_default")]
    pub id: TaskId,
    /// The conversation it belongs to.
    #[serde(alias = "context_id", deserialize_with = "json::or_default")]
    pub context_id: ContextId,
    /// Where it stands.
    #[serde(deserialize_with = "json::or_default")]
    pub status: TaskStatus,
    /// What it has produced, in the order of first appearance.
    #[serde(deserialize_with = "json::or_default", skip_serializing_if = "Vec::is_empty")]
    pub artifacts: Vec<Artifact>,
    /// The messages that were kept, oldest first.
    #[serde(deserialize_with = "json::or_default", skip_serializing_if = "Vec::is_empty")]
    pub history: Vec<Message>,
    /// Extension values, keyed by extension URI, and other facts.
    #[serde(deserialize_with = "json::or_default", skip_serializing_if = "Object::is_empty")]
    pub metadata: Object,
    /// What the server keeps about the task that v1.0 JSON has no member for.
    #[serde(skip)]
    pub record: Record,
    /// What whoever runs the task notes about it for itself.
    #[serde(skip)]
    pub notes: Notes,
}

/// Server bookkeeping that some versions show and others need: kept beside the task, never part
/// of its v1.0 JSON. Losing it loses fidelity, never correctness.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[non_exhaustive]
pub struct Record {
    /// The version and binding that created the task.
    pub origin: Origin,
    /// When the task was made.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub created: Option<Timestamp>,
    /// When its status or an artifact last changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub updated: Option<Timestamp>,
    /// Whether the request that made the task had the handoff extension active, so that the task is never relayed.
    #[serde(skip_serializing_if = "json::is_false")]
    pub aware: bool,
}

/// A task's state at one moment.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[non_exhaustive]
pub struct TaskStatus {
    /// The state.
    pub state: TaskState,
    /// What the agent says about it: a question, a progress note, a reason.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<Message>,
    /// When this status was recorded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timestamp: Option<Timestamp>,
}

impl Task {
    /// A task in a state, with nothing else.
    pub fn new(id: impl Into<TaskId>, context: impl Into<ContextId>, status: impl Into<TaskStatus>) -> Self {
        Self { id: id.into(), context_id: context.into(), status: status.into(), ..Self::default() }
    }

    /// The state it is in.
    #[must_use]
    pub fn state(&self) -> TaskState {
        self.status.state
    }

    /// Keeps at most the newest `length` messages of the history.
    pub fn trim_history(&mut self, length: usize) {
        let surplus = self.history.len().saturating_sub(length);
        self.history.drain(..surplus);
    }
}

impl TaskStatus {
    /// A status without a message or a time.
    #[must_use]
    pub fn new(state: TaskState) -> Self {
        Self { state, ..Self::default() }
    }

    /// Adds the agent's words.
    #[must_use]
    pub fn message(mut self, message: Message) -> Self {
        self.message = Some(message);
        self
    }

    /// Sets the time.
    #[must_use]
    pub fn at(mut self, timestamp: Timestamp) -> Self {
        self.timestamp = Some(timestamp);
        self
    }
}

impl From<TaskState> for TaskStatus {
    fn from(state: TaskState) -> Self {
        Self::new(state)
    }
}

impl Record {
    /// A record of a task that came in this way.
    #[must_use]
    pub fn new(origin: Origin) -> Self {
        Self { origin, ..Self::default() }
    }

    /// Sets when the task was made and last changed.
    #[must_use]
    pub fn times(mut self, created: Timestamp, updated: Timestamp) -> Self {
        (self.created, self.updated) = (Some(created), Some(updated));
        self
    }
}
