//! The native form: v1.0 in snake_case, upper-case states, `TRANSFERRED` among them.

use std::borrow::Cow;

use chancery_core::{Artifact, Content, ContextId, Message, Object, Part, Result, Role, Task, TaskId, TaskStatus, json as proto_json};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de, ser::SerializeMap};

use super::{ReadTransfer, STATE, is_transferred, native_message, native_metadata, of, words};
use crate::{
    json::{self, Each, Filled, LenientTime},
    legacy, v1_0,
};

/// Writes a task in the native form.
///
/// # Errors
/// Does not happen; tasks are always writable.
pub fn encode_native(task: &Task) -> Result<Vec<u8>> {
    json::write(&WriteTask(task))
}

/// Reads a task in the native form, with members in either spelling.
///
/// # Errors
/// When a member has the wrong type or form, or a transferred task does not say to whom.
pub fn decode_native(json: &[u8]) -> Result<Task> {
    json::read::<ReadTask>(json).map(|task| task.0)
}

/// Writes a message in the native form, with its `transfer_context`.
///
/// # Errors
/// Does not happen; messages are always writable.
pub fn encode_native_message(message: &Message) -> Result<Vec<u8>> {
    json::write(&WriteMessage(message))
}

/// Reads a message in the native form; one without an id gets one.
///
/// # Errors
/// When a member has the wrong type or form.
pub fn decode_native_message(json: &[u8]) -> Result<Message> {
    json::read::<v1_0::alias::ReadMessage>(json).map(|message| message.identified())
}

pub(super) struct ReadTask(pub(super) Task);

impl<'de> Deserialize<'de> for ReadTask {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Members<'a> {
            #[serde(alias = "taskId", alias = "task_id")]
            id: Option<TaskId>,
            #[serde(alias = "context_id")]
            context_id: Option<ContextId>,
            #[serde(borrow)]
            status: Status<'a>,
            artifacts: Option<Vec<Artifact>>,
            history: Option<Vec<v1_0::alias::ReadMessage>>,
            metadata: Option<Object>,
        }
        let members = Members::deserialize(deserializer)?;
        let mut task = Task::new(members.id.unwrap_or_default(), members.context_id.unwrap_or_default(), TaskStatus::default());
        task.artifacts = members.artifacts.unwrap_or_default();
        task.history = members.history.unwrap_or_default().into_iter().map(|message| message.identified()).collect();
        task.metadata = members.metadata.unwrap_or_default();
        task.status = members.status.into_status(&mut task.metadata, &task.id, &task.context_id)?;
        Ok(Self(task))
    }
}

#[derive(Deserialize)]
pub(super) struct Status<'a> {
    #[serde(borrow)]
    state: Cow<'a, str>,
    message: Option<v1_0::alias::ReadMessage>,
    timestamp: Option<LenientTime>,
    transfer: Option<ReadTransfer>,
}

impl Status<'_> {
    pub(super) fn into_status<E: de::Error>(self, metadata: &mut Object, task: &TaskId, context: &ContextId) -> Result<TaskStatus, E> {
        let mut status = TaskStatus::default();
        status.message = self.message.map(v1_0::alias::ReadMessage::identified);
        status.timestamp = self.timestamp.map(|at| at.0);
        if is_transferred(&self.state) {
            let transfer = self.transfer.ok_or_else(|| E::custom("status.transfer is required in this state"))?;
            transfer.apply(&mut status, metadata, task, context);
        } else {
            status.state = legacy::read_state(&self.state, metadata);
        }
        Ok(status)
    }
}

struct WriteTask<'a>(&'a Task);

impl Serialize for WriteTask<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let task = self.0;
        let shown = native_metadata(&task.metadata);
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("id", &task.id)?;
        map.serialize_entry("context_id", &task.context_id)?;
        map.serialize_entry("status", &WriteStatus { task, transfer: shown.transfer })?;
        if !task.artifacts.is_empty() {
            map.serialize_entry("artifacts", &Each(&task.artifacts, WriteArtifact))?;
        }
        if !task.history.is_empty() {
            map.serialize_entry("history", &Each(&task.history, WriteMessage))?;
        }
        map.object("metadata", &shown.metadata)?;
        map.end()
    }
}

struct WriteStatus<'a> {
    task: &'a Task,
    transfer: Option<Object>,
}

impl Serialize for WriteStatus<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let status = &self.task.status;
        let mut map = serializer.serialize_map(None)?;
        match self.transfer {
            Some(_) => map.serialize_entry("state", STATE)?,
            None => map.serialize_entry("state", status.state.as_str().trim_start_matches("TASK_STATE_"))?,
        }
        if let Some(message) = &status.message
            && !self.only_repeats(message)
        {
            map.serialize_entry("message", &WriteMessage(message))?;
        }
        map.some("timestamp", status.timestamp)?;
        map.some("transfer", self.transfer.as_ref())?;
        map.end()
    }
}

impl WriteStatus<'_> {
    /// Whether a message says nothing beyond what `transfer` says natively.
    fn only_repeats(&self, message: &Message) -> bool {
        of(&self.task.metadata).is_some_and(|transfer| message.parts == [Part::text(words(transfer))] && message.metadata.len() <= 1)
    }
}

struct WriteArtifact<'a>(&'a Artifact);

impl Serialize for WriteArtifact<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let artifact = self.0;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("artifact_id", &artifact.artifact_id)?;
        map.text("name", &artifact.name)?;
        map.text("description", &artifact.description)?;
        map.serialize_entry("parts", &Each(&artifact.parts, WritePart))?;
        map.object("metadata", &artifact.metadata)?;
        map.list("extensions", &artifact.extensions)?;
        map.end()
    }
}

struct WriteMessage<'a>(&'a Message);

impl Serialize for WriteMessage<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let message = self.0;
        let shown = native_message(message);
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("message_id", &message.message_id)?;
        map.serialize_entry("role", if message.role == Role::User { "user" } else { "agent" })?;
        map.serialize_entry("parts", &Each(&message.parts, WritePart))?;
        map.some("task_id", message.task_id.as_ref())?;
        map.some("context_id", message.context_id.as_ref())?;
        map.list("reference_task_ids", &message.reference_task_ids)?;
        map.list("extensions", &shown.extensions)?;
        map.object("metadata", &shown.metadata)?;
        map.some("transfer_context", shown.transfer_context)?;
        map.end()
    }
}

struct WritePart<'a>(&'a Part);

impl Serialize for WritePart<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let part = self.0;
        let mut map = serializer.serialize_map(None)?;
        match &part.content {
            Content::Text(text) => map.serialize_entry("text", text)?,
            Content::Raw(bytes) => map.serialize_entry("raw", &proto_json::to_base64(bytes))?,
            Content::Url(url) => map.serialize_entry("url", url)?,
            Content::Data(value) => map.serialize_entry("data", value)?,
        }
        map.object("metadata", &part.metadata)?;
        map.text("filename", &part.filename)?;
        map.text("media_type", &part.media_type)?;
        map.end()
    }
}
