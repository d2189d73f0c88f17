//! What happens to a task, in the order it happened.

use std::{fmt, ops::Deref, sync::Arc};

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use crate::{
    artifact::Artifact,
    id::{ContextId, TaskId},
    json::{self, Object},
    message::Message,
    oneof::oneof,
    sync::Mutex,
    task::{Task, TaskState, TaskStatus},
};

/// The place of an event in its task's log: 1, 2, 3 … without gaps. Zero stands before the first.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Seq(u64);

impl Seq {
    /// Before the first event.
    pub const START: Self = Self(0);

    /// The sequence number `number`.
    #[must_use]
    pub const fn new(number: u64) -> Self {
        Self(number)
    }

    /// The number itself.
    #[must_use]
    pub const fn get(self) -> u64 {
        self.0
    }

    /// The number after this one.
    #[must_use]
    pub const fn next(self) -> Self {
        Self(self.0 + 1)
    }
}

impl fmt::Display for Seq {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// One element of a stream or one webhook body; v1.0 calls it `StreamResponse`.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Event {
    /// The task as it stands.
    Task(Box<Task>),
    /// A direct answer without a task.
    Message(Box<Message>),
    /// A new status.
    Status(Box<StatusUpdate>),
    /// A new artifact, or a further chunk of one.
    Artifact(Box<ArtifactUpdate>),
}

oneof! {
    Event, "a stream event" {
        Task(Box<Task>) = "task";
        Message(Box<Message>) = "message";
        Status(Box<StatusUpdate>) = "statusUpdate" | "status_update";
        Artifact(Box<ArtifactUpdate>) = "artifactUpdate" | "artifact_update";
    }
}

/// A task's status changed.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[non_exhaustive]
pub struct StatusUpdate {
    /// The task concerned.
    #[serde(alias = "task_id", deserialize_with = "json::or_default")]
    pub task_id: TaskId,
    /// The conversation of that task.
    #[serde(alias = "context_id", deserialize_with = "json::or_default")]
    pub context_id: ContextId,
    /// The new status.
    #[serde(deserialize_with = "json::or_default")]
    pub status: TaskStatus,
    /// Facts about the event; merged into the task's metadata.
    #[serde(deserialize_with = "json::or_default", skip_serializing_if = "Object::is_empty")]
    pub metadata: Object,
}

/// A task produced an artifact or a chunk of one.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[non_exhaustive]
pub struct ArtifactUpdate {
    /// The task concerned.
    #[serde(alias = "task_id", deserialize_with = "json::or_default")]
    pub task_id: TaskId,
    /// The conversation of that task.
    #[serde(alias = "context_id", deserialize_with = "json::or_default")]
    pub context_id: ContextId,
    /// The whole artifact, or the chunk when `append` is set.
    #[serde(deserialize_with = "json::or_default")]
    pub artifact: Artifact,
    /// Add the parts to the artifact with the same id, instead of creating or replacing it.
    #[serde(deserialize_with = "json::or_default", skip_serializing_if = "json::is_false")]
    pub append: bool,
    /// No further chunk follows for this artifact.
    #[serde(alias = "last_chunk", deserialize_with = "json::or_default", skip_serializing_if = "json::is_false")]
    pub last_chunk: bool,
    /// Facts about the event.
    #[serde(deserialize_with = "json::or_default", skip_serializing_if = "Object::is_empty")]
    pub metadata: Object,
}

impl Event {
    /// The task this is about; `None` for a direct message without one.
    #[must_use]
    pub fn task_id(&self) -> Option<&TaskId> {
        match self {
            Self::Task(task) => Some(&task.id),
            Self::Message(message) => message.task_id.as_ref(),
            Self::Status(update) => Some(&update.task_id),
            Self::Artifact(update) => Some(&update.task_id),
        }
    }

    /// The state this event puts its task in, if it says so.
    #[must_use]
    pub fn state(&self) -> Option<TaskState> {
        match self {
            Self::Task(task) => Some(task.status.state),
            Self::Status(update) => Some(update.status.state),
            Self::Message(_) | Self::Artifact(_) => None,
        }
    }

    /// Whether a stream closes after this event.
    #[must_use]
    pub fn ends_stream(&self) -> bool {
        matches!(self, Self::Message(_)) || self.state().is_some_and(TaskState::ends_stream)
    }
}

impl StatusUpdate {
    /// A new status of a task.
    pub fn new(task: impl Into<TaskId>, context: impl Into<ContextId>, status: impl Into<TaskStatus>) -> Self {
        Self { task_id: task.into(), context_id: context.into(), status: status.into(), metadata: Object::new() }
    }
}

impl ArtifactUpdate {
    /// A whole artifact of a task.
    pub fn new(task: impl Into<TaskId>, context: impl Into<ContextId>, artifact: Artifact) -> Self {
        Self { task_id: task.into(), context_id: context.into(), artifact, ..Self::default() }
    }

    /// Makes it a chunk that is added to what came before.
    #[must_use]
    pub fn appended(mut self) -> Self {
        self.append = true;
        self
    }

    /// Marks it as the last chunk.
    #[must_use]
    pub fn last(mut self) -> Self {
        self.last_chunk = true;
        self
    }
}

impl From<Task> for Event {
    fn from(task: Task) -> Self {
        Self::Task(Box::new(task))
    }
}

impl From<Message> for Event {
    fn from(message: Message) -> Self {
        Self::Message(Box::new(message))
    }
}

impl From<StatusUpdate> for Event {
    fn from(update: StatusUpdate) -> Self {
        Self::Status(Box::new(update))
    }
}

impl From<ArtifactUpdate> for Event {
    fn from(update: ArtifactUpdate) -> Self {
        Self::Artifact(Box::new(update))
    }
}

/// An event that many read: cheap to clone, and each encoded form of it is made once for all readers.
///
/// ```
/// use chancery_core::{Bytes, Error, Event, Message, SharedEvent};
///
/// let event = SharedEvent::from(Event::from(Message::agent("hello")));
/// let form = |event: &SharedEvent| event.encoded(7, |_| Ok::<_, Error>(Bytes::from_static(b"bytes")));
/// assert_eq!(form(&event)?, "bytes");
/// assert_eq!(event.clone().encoded(7, |_| Ok::<_, Error>(unreachable!("made already")))?, "bytes");
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone)]
pub struct SharedEvent(Arc<Encodings>);

struct Encodings {
    event: Event,
    forms: Mutex<Vec<(u8, Bytes)>>,
}

impl SharedEvent {
    /// The form that is the event's v1.0 JSON in one line.
    pub const V1_0: u8 = 0;

    /// An event with its v1.0 JSON, which whoever has written it down already need not have written again.
    /// The text must be one line for every reader, as that of ASCII always is.
    #[must_use]
    pub fn with_json(event: Event, json: Bytes) -> Self {
        Self(Arc::new(Encodings { event, forms: Mutex::new(vec![(Self::V1_0, json)]) }))
    }

    /// The bytes of a form, made by `make` when nobody has asked for them before. Whoever encodes chooses
    /// the numbers of the forms, and makes nothing here that depends on the reader.
    ///
    /// # Errors
    /// Whatever `make` gives.
    pub fn encoded<E>(&self, form: u8, make: impl FnOnce(&Event) -> Result<Bytes, E>) -> Result<Bytes, E> {
        // A panic in `make` leaves the forms that were there before.
        let mut forms = self.0.forms.lock();
        if let Some((_, bytes)) = forms.iter().find(|(known, _)| *known == form) {
            return Ok(bytes.clone());
        }
        let bytes = make(&self.0.event)?;
        forms.push((form, bytes.clone()));
        Ok(bytes)
    }

    /// The event itself, copied if others read it too.
    #[must_use]
    pub fn into_event(self) -> Event {
        Arc::try_unwrap(self.0).map_or_else(|shared| shared.event.clone(), |own| own.event)
    }
}

impl<E: Into<Event>> From<E> for SharedEvent {
    fn from(event: E) -> Self {
        Self(Arc::new(Encodings { event: event.into(), forms: Mutex::default() }))
    }
}

impl Deref for SharedEvent {
    type Target = Event;

    fn deref(&self) -> &Event {
        &self.0.event
    }
}

impl PartialEq for SharedEvent {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl fmt::Debug for SharedEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.event.fmt(f)
    }
}
