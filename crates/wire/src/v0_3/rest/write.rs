//! The objects of v0.3 over HTTP+JSON as they are written.
//!
//! They borrow from the model and are built while the JSON is written. Members at their default are
//! left out, as the JSON of protobuf does.

use std::borrow::Cow;

use chancery_core::{
    Artifact, ArtifactUpdate, Bytes, Content, ContextId, FileBytes, Message, Object, Part, Role, StatusUpdate, Task, TaskId, TaskState,
    TaskStatus, Timestamp, json::to_base64,
};
use serde::{Serialize, Serializer, ser::SerializeStruct};

use crate::{Dialect, legacy, states, v0_3::file_bytes};

/// SendMessageResponse and StreamResponse.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum Payload<'a> {
    Task(TaskWire<'a>),
    Message(MessageWire<'a>),
    StatusUpdate(StatusUpdateWire<'a>),
    ArtifactUpdate(ArtifactUpdateWire<'a>),
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct TaskWire<'a> {
    id: &'a TaskId,
    context_id: &'a str,
    status: StatusWire<'a>,
    #[serde(skip_serializing_if = "Each::is_empty")]
    artifacts: Each<'a, Artifact, ArtifactWire<'a>>,
    #[serde(skip_serializing_if = "Each::is_empty")]
    history: Each<'a, Message, MessageWire<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    metadata: Option<&'a Object>,
}

impl<'a> TaskWire<'a> {
    pub(super) fn new(task: &'a Task, form: FileBytes) -> Self {
        Self {
            id: &task.id,
            context_id: context(&task.context_id, &task.id),
            status: StatusWire::new(&task.status, form),
            artifacts: Each { items: &task.artifacts, form, wire: ArtifactWire::new },
            history: Each { items: &task.history, form, wire: MessageWire::new },
            metadata: filled(&task.metadata),
        }
    }

    /// The task as an answer: with inline bytes as its client writes them (V03-REST-005).
    pub(super) fn answer(task: &'a Task) -> Self {
        Self::new(task, task.record.origin.file_bytes)
    }
}

#[derive(Serialize)]
struct StatusWire<'a> {
    state: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<MessageWire<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    timestamp: Option<Timestamp>,
}

impl<'a> StatusWire<'a> {
    fn new(status: &'a TaskStatus, form: FileBytes) -> Self {
        Self {
            state: state(status.state),
            message: status.message.as_ref().map(|message| MessageWire::new(message, form)),
            timestamp: status.timestamp,
        }
    }
}

pub(super) fn state(state: TaskState) -> &'static str {
    states::write(Dialect::V0_3Rest, state)
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct MessageWire<'a> {
    message_id: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    context_id: Option<&'a ContextId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    task_id: Option<&'a TaskId>,
    role: &'static str,
    content: Each<'a, Part, PartWire<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    metadata: Option<&'a Object>,
    #[serde(skip_serializing_if = "Option::is_none")]
    extensions: Option<&'a [String]>,
    // No `referenceTaskIds`: only peers written in Go know it, and Python 0.3.26 refuses the whole
    // message. It is read, and gRPC carries it.
}

impl<'a> MessageWire<'a> {
    pub(super) fn new(message: &'a Message, form: FileBytes) -> Self {
        Self {
            message_id: message.message_id.as_str(),
            context_id: message.context_id.as_ref(),
            task_id: message.task_id.as_ref(),
            // Requests say who writes, or they are refused; in answers it is the agent.
            role: if message.role == Role::Unspecified { Role::Agent } else { message.role }.as_str(),
            content: Each { items: &message.parts, form, wire: PartWire::new },
            metadata: filled(&message.metadata),
            extensions: list(&message.extensions),
        }
    }
}

/// Written by hand: which member holds the content depends on it, and parts are most of what is
/// written.
struct PartWire<'a> {
    part: &'a Part,
    form: FileBytes,
}

impl<'a> PartWire<'a> {
    fn new(part: &'a Part, form: FileBytes) -> Self {
        Self { part, form }
    }

    fn file(&self, file_with_uri: Option<&'a str>, file_with_bytes: Option<Inline<'a>>) -> FileWire<'a> {
        FileWire { file_with_uri, file_with_bytes, mime_type: text(&self.part.media_type), name: text(&self.part.filename) }
    }
}

impl Serialize for PartWire<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let metadata = legacy::part_metadata(self.part);
        let mut part = serializer.serialize_struct("Part", 1 + usize::from(!metadata.is_empty()))?;
        match &self.part.content {
            Content::Text(text) => part.serialize_field("text", text)?,
            Content::Raw(bytes) => part.serialize_field("file", &self.file(None, Some(Inline(bytes, self.form))))?,
            Content::Url(url) => part.serialize_field("file", &self.file(Some(url), None))?,
            Content::Data(value) => part.serialize_field("data", &DataWire { data: legacy::data_object(value) })?,
        }
        if !metadata.is_empty() {
            part.serialize_field("metadata", &metadata)?;
        }
        part.end()
    }
}

#[derive(Serialize)]
struct DataWire<'a> {
    data: Cow<'a, serde_json::Map<String, serde_json::Value>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct FileWire<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    file_with_uri: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    file_with_bytes: Option<Inline<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    mime_type: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<&'a str>,
}

/// Inline bytes, as base64 or as base64 of base64.
struct Inline<'a>(&'a Bytes, FileBytes);

impl Serialize for Inline<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&to_base64(&file_bytes::pack(self.0, self.1)))
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ArtifactWire<'a> {
    artifact_id: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<&'a str>,
    parts: Each<'a, Part, PartWire<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    metadata: Option<&'a Object>,
    #[serde(skip_serializing_if = "Option::is_none")]
    extensions: Option<&'a [String]>,
}

impl<'a> ArtifactWire<'a> {
    fn new(artifact: &'a Artifact, form: FileBytes) -> Self {
        Self {
            artifact_id: artifact.artifact_id.as_str(),
            name: text(&artifact.name),
            description: text(&artifact.description),
            parts: Each { items: &artifact.parts, form, wire: PartWire::new },
            metadata: filled(&artifact.metadata),
            extensions: list(&artifact.extensions),
        }
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct StatusUpdateWire<'a> {
    task_id: &'a TaskId,
    context_id: &'a str,
    status: StatusWire<'a>,
    #[serde(rename = "final", skip_serializing_if = "Option::is_none")]
    last: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    metadata: Option<&'a Object>,
}

impl<'a> StatusUpdateWire<'a> {
    pub(super) fn new(update: &'a StatusUpdate, form: FileBytes) -> Self {
        Self {
            task_id: &update.task_id,
            context_id: context(&update.context_id, &update.task_id),
            status: StatusWire::new(&update.status, form),
            // The server closes the stream after it (CONV-EVENT-002).
            last: if_true(update.status.state.ends_stream()),
            metadata: filled(&update.metadata),
        }
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ArtifactUpdateWire<'a> {
    task_id: &'a TaskId,
    context_id: &'a str,
    artifact: ArtifactWire<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    append: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    last_chunk: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    metadata: Option<&'a Object>,
}

impl<'a> ArtifactUpdateWire<'a> {
    pub(super) fn new(update: &'a ArtifactUpdate, form: FileBytes) -> Self {
        Self {
            task_id: &update.task_id,
            context_id: context(&update.context_id, &update.task_id),
            artifact: ArtifactWire::new(&update.artifact, form),
            append: if_true(update.append),
            last_chunk: if_true(update.last_chunk),
            metadata: filled(&update.metadata),
        }
    }
}

pub(super) fn filled(object: &Object) -> Option<&Object> {
    Some(object).filter(|object| !object.is_empty())
}

pub(super) fn text(text: &str) -> Option<&str> {
    Some(text).filter(|text| !text.is_empty())
}

pub(super) fn list<T>(list: &[T]) -> Option<&[T]> {
    Some(list).filter(|list| !list.is_empty())
}

fn if_true(flag: bool) -> Option<bool> {
    flag.then_some(true)
}

/// v0.3 demands a context; a task without one is a conversation of its own (CONV-TASK-001).
fn context<'a>(context: &'a ContextId, task: &'a TaskId) -> &'a str {
    if context.is_empty() { task.as_str() } else { context.as_str() }
}

/// A list whose elements take their wire form one at a time.
pub(super) struct Each<'a, T, W> {
    pub(super) items: &'a [T],
    pub(super) form: FileBytes,
    pub(super) wire: fn(&'a T, FileBytes) -> W,
}

impl<T, W> Each<'_, T, W> {
    fn is_empty(&self) -> bool {
        self.items.is_empty()
    }
}

impl<T, W: Serialize> Serialize for Each<'_, T, W> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.items.iter().map(|item| (self.wire)(item, self.form)))
    }
}
