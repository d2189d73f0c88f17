//! Writing v0.1.

use chancery_core::{
    Artifact, CancelTask, Content, GetTask, Message, Object, Part, Result, Role, SendMessage, Task, TaskId, TaskState, TaskStatus,
    Timestamp, json as proto_json,
};
use serde::{Serialize, Serializer, ser::SerializeMap};

use super::push::WriteConfig;
use crate::{
    Dialect,
    json::{Each, Filled},
    legacy, states,
};

/// The parameters of a send. A new task gets its id here, because in v0.1 clients choose it
/// (CONV-SEND-004).
pub(super) struct WriteSend<'a>(pub(super) &'a SendMessage);

impl Serialize for WriteSend<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let send = self.0;
        let mut map = serializer.serialize_map(None)?;
        match &send.message.task_id {
            Some(id) => map.serialize_entry("id", id)?,
            None => map.serialize_entry("id", &TaskId::generate())?,
        }
        map.some("sessionId", send.message.context_id.as_ref())?;
        map.serialize_entry("message", &WriteMessage(&send.message))?;
        let modes = &send.configuration.accepted_output_modes;
        // A peer that compares word by word would refuse who takes anything; an absent list says
        // the same and is understood by all (V01-SEND-007).
        if !modes.is_empty() && !modes.iter().any(|mode| mode == "*/*") {
            map.serialize_entry("acceptedOutputModes", &modes.iter().map(|mode| write_mode(mode)).collect::<Vec<_>>())?;
        }
        map.some("pushNotification", send.configuration.push_config.as_deref().map(WriteConfig))?;
        map.some("historyLength", positive(send.configuration.history_length))?;
        map.object("metadata", &send.metadata)?;
        map.end()
    }
}

/// All text has a word of its own in v0.1; other modes are media types there too.
fn write_mode(mode: &str) -> &str {
    if mode == "text/*" { "text" } else { mode }
}

/// To ask for no history is to say nothing (CONV-SEND-003).
fn positive(length: Option<i32>) -> Option<i32> {
    length.filter(|length| *length > 0)
}

/// The parameters of a call that names a task.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct TaskQuery<'a> {
    id: &'a TaskId,
    #[serde(skip_serializing_if = "Option::is_none")]
    history_length: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    metadata: Option<&'a Object>,
}

impl<'a> TaskQuery<'a> {
    pub(super) fn new(id: &'a TaskId) -> Self {
        Self { id, history_length: None, metadata: None }
    }

    pub(super) fn get(get: &'a GetTask) -> Self {
        Self { history_length: positive(get.history_length), ..Self::new(&get.id) }
    }

    pub(super) fn cancel(cancel: &'a CancelTask) -> Self {
        Self { metadata: Some(&cancel.metadata).filter(|metadata| !metadata.is_empty()), ..Self::new(&cancel.id) }
    }
}

pub(super) struct WriteTask<'a> {
    task: &'a Task,
    history: &'a [Message],
}

impl<'a> WriteTask<'a> {
    pub(super) fn new(task: &'a Task) -> Self {
        Self { task, history: &task.history }
    }

    pub(super) fn without_history(task: &'a Task) -> Self {
        Self { task, history: &[] }
    }
}

impl Serialize for WriteTask<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let task = self.task;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("id", &task.id)?;
        map.text("sessionId", task.context_id.as_str())?;
        map.serialize_entry("status", &WriteStatus::from(&task.status))?;
        if !task.artifacts.is_empty() {
            map.serialize_entry("artifacts", &Artifacts(&task.artifacts))?;
        }
        if !self.history.is_empty() {
            map.serialize_entry("history", &Each(self.history, WriteMessage))?;
        }
        map.object("metadata", &task.metadata)?;
        map.end()
    }
}

/// A message that answers a send, as the task that v0.1 demands: completed, with that message for
/// its status (CONV-MSG-005). The engine puts the client's task id into the message.
pub(super) struct Answer<'a>(pub(super) &'a Message);

impl Serialize for Answer<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let message = self.0;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("id", message.task_id.as_ref().map_or("", TaskId::as_str))?;
        map.some("sessionId", message.context_id.as_ref())?;
        map.serialize_entry("status", &WriteStatus::answered(message))?;
        map.end()
    }
}

#[derive(Serialize)]
pub(super) struct WriteStatus<'a> {
    state: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<Said<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    timestamp: Option<Timestamp>,
}

impl<'a> WriteStatus<'a> {
    fn new(state: TaskState, message: Option<&'a Message>, timestamp: Option<Timestamp>) -> Self {
        // v0.1 has no word for two states; then the message says what is meant (CONV-STATE-003).
        let instead = match state {
            TaskState::Rejected => Some(Said::Words("Rejected by the agent.")),
            TaskState::AuthRequired => Some(Said::Words("Authentication required.")),
            _ => None,
        };
        Self { state: states::write(Dialect::V0_1, state), message: message.map(Said::Message).or(instead), timestamp }
    }

    /// The status of a task that a message has answered.
    pub(super) fn answered(message: &'a Message) -> Self {
        Self::new(TaskState::Completed, Some(message), None)
    }
}

impl<'a> From<&'a TaskStatus> for WriteStatus<'a> {
    fn from(status: &'a TaskStatus) -> Self {
        Self::new(status.state, status.message.as_ref(), status.timestamp)
    }
}

impl From<TaskState> for WriteStatus<'_> {
    fn from(state: TaskState) -> Self {
        Self::new(state, None, None)
    }
}

/// What the agent says about a status, or what is said for it.
enum Said<'a> {
    Message(&'a Message),
    Words(&'static str),
}

impl Serialize for Said<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Message(message) => WriteMessage(message).serialize(serializer),
            Self::Words(words) => WriteMessage(&Message::agent(*words)).serialize(serializer),
        }
    }
}

struct WriteMessage<'a>(&'a Message);

impl Serialize for WriteMessage<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("role", if self.0.role == Role::User { "user" } else { "agent" })?;
        map.serialize_entry("parts", &Each(&self.0.parts, WritePart))?;
        map.object("metadata", &self.0.metadata)?;
        map.end()
    }
}

struct WritePart<'a>(&'a Part);

impl Serialize for WritePart<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        match &self.0.content {
            Content::Text(text) => {
                map.serialize_entry("type", "text")?;
                map.serialize_entry("text", text)?;
            }
            Content::Raw(_) | Content::Url(_) => {
                map.serialize_entry("type", "file")?;
                map.serialize_entry("file", &WriteFile(self.0))?;
            }
            Content::Data(value) => {
                map.serialize_entry("type", "data")?;
                map.serialize_entry("data", legacy::data_object(value).as_ref())?;
            }
        }
        map.object("metadata", &legacy::part_metadata(self.0))?;
        map.end()
    }
}

struct WriteFile<'a>(&'a Part);

impl Serialize for WriteFile<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        match &self.0.content {
            Content::Raw(bytes) => map.serialize_entry("bytes", &proto_json::to_base64(bytes))?,
            Content::Url(url) => map.serialize_entry("uri", url)?,
            Content::Text(_) | Content::Data(_) => {}
        }
        map.text("mimeType", &self.0.media_type)?;
        map.text("name", &self.0.filename)?;
        map.end()
    }
}

/// The artifacts of a task, each with its place (CONV-TASK-002).
struct Artifacts<'a>(&'a [Artifact]);

impl Serialize for Artifacts<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.iter().enumerate().map(|(index, artifact)| WriteArtifact { artifact, index, chunk: None }))
    }
}

/// An artifact. In a stream it also says how it joins what came before.
pub(super) struct WriteArtifact<'a> {
    pub(super) artifact: &'a Artifact,
    pub(super) index: usize,
    pub(super) chunk: Option<Chunk>,
}

pub(super) struct Chunk {
    pub(super) append: bool,
    pub(super) last: bool,
}

impl Serialize for WriteArtifact<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let artifact = self.artifact;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("id", &artifact.artifact_id)?;
        map.text("name", &artifact.name)?;
        map.text("description", &artifact.description)?;
        map.serialize_entry("parts", &Each(&artifact.parts, WritePart))?;
        map.serialize_entry("index", &self.index)?;
        if let Some(chunk) = &self.chunk {
            map.serialize_entry("append", &chunk.append)?;
            map.serialize_entry("lastChunk", &chunk.last)?;
        }
        map.object("metadata", &artifact.metadata)?;
        map.end()
    }
}
