//! Writing the objects of the compact dialect.

use std::borrow::Cow;

use chancery_core::{
    Artifact, ArtifactUpdate, Content, Event, Message, Object, Part, Result, Role, StatusUpdate, Task, TaskPage, TaskStatus, Timestamp,
    json as proto_json,
};
use serde::{
    Serialize, Serializer,
    ser::{Error as _, SerializeMap},
};

use super::read::usual_type;
use crate::{
    Dialect,
    json::{Each, Filled},
    legacy, states, transfer,
};

pub(super) struct WriteTask<'a>(pub(super) &'a Task);

impl Serialize for WriteTask<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let task = self.0;
        let shown = transfer::native_metadata(&task.metadata);
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("taskId", &task.id)?;
        map.serialize_entry("contextId", &task.context_id)?;
        map.serialize_entry("status", &WriteStatus { status: &task.status, transfer: shown.transfer.as_ref() })?;
        if !task.history.is_empty() {
            map.serialize_entry("history", &Each(&task.history, |message| WriteMessage { message, within: Some(task) }))?;
        }
        if !task.artifacts.is_empty() {
            map.serialize_entry("artifacts", &Each(&task.artifacts, WriteArtifact))?;
        }
        map.some("createdTime", task.record.created)?;
        map.some("updatedTime", task.record.updated)?;
        map.object("metadata", &shown.metadata)?;
        map.end()
    }
}

struct WriteStatus<'a> {
    status: &'a TaskStatus,
    /// Where the task went, if it was handed over.
    transfer: Option<&'a Object>,
}

impl Serialize for WriteStatus<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let state = match self.transfer {
            Some(_) => transfer::STATE,
            None => states::write(Dialect::Compact, self.status.state),
        };
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("state", state)?;
        map.text("message", &self.status.message.as_ref().map(text_of).unwrap_or_default())?;
        map.some("timestamp", self.status.timestamp)?;
        map.some("transfer", self.transfer)?;
        map.end()
    }
}

/// The text of a message, borrowed when it is in one part.
fn text_of(message: &Message) -> Cow<'_, str> {
    let mut texts = message.parts.iter().filter_map(Part::as_text);
    match (texts.next(), texts.next()) {
        (Some(text), None) => Cow::Borrowed(text),
        (None, _) => Cow::Borrowed(""),
        (Some(_), Some(_)) => Cow::Owned(message.text()),
    }
}

pub(super) struct WriteMessage<'a> {
    message: &'a Message,
    /// The task whose history holds the message: it has the message's time, and the ids that
    /// need not be repeated.
    within: Option<&'a Task>,
}

impl<'a> WriteMessage<'a> {
    /// A message outside of any task object.
    pub(super) fn alone(message: &'a Message) -> Self {
        Self { message, within: None }
    }

    fn timestamp(&self) -> Option<Timestamp> {
        self.within.and_then(|task| task.record.created)
    }
}

impl Serialize for WriteMessage<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let message = self.message;
        let shown = transfer::native_message(message);
        let other_task = message.task_id.as_ref().filter(|id| self.within.is_none_or(|task| task.id != **id));
        let other_context = message.context_id.as_ref().filter(|id| self.within.is_none_or(|task| task.context_id != **id));
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("messageId", &message.message_id)?;
        map.serialize_entry("role", if message.role == Role::User { "user" } else { "agent" })?;
        map.serialize_entry("parts", &Each(&message.parts, WritePart))?;
        map.some("timestamp", self.timestamp())?;
        map.some("taskId", other_task)?;
        map.some("contextId", other_context)?;
        map.list("referenceTaskIds", &message.reference_task_ids)?;
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
            Content::Raw(_) | Content::Url(_) => map.serialize_entry("file", &WriteFile(part))?,
            Content::Data(value) => map.serialize_entry("structuredData", legacy::data_object(value).as_ref())?,
        }
        map.text("mimeType", &part.media_type)?;
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
        map.text("name", &self.0.filename)?;
        map.end()
    }
}

struct WriteArtifact<'a>(&'a Artifact);

impl Serialize for WriteArtifact<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let artifact = self.0;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("artifactId", &artifact.artifact_id)?;
        map.serialize_entry("parts", &Each(&artifact.parts, WritePart))?;
        let media_type =
            artifact.parts.first().map(|part| if part.media_type.is_empty() { usual_type(part) } else { part.media_type.as_str() });
        map.some("mimeType", media_type)?;
        let metadata = ArtifactMetadata(artifact);
        map.some("metadata", Some(metadata).filter(|metadata| !metadata.is_empty()))?;
        map.list("extensions", &artifact.extensions)?;
        map.end()
    }
}

/// The metadata of an artifact, with its name and description (DIA-003-ART-001).
struct ArtifactMetadata<'a>(&'a Artifact);

impl ArtifactMetadata<'_> {
    fn is_empty(&self) -> bool {
        self.0.name.is_empty() && self.0.description.is_empty() && self.0.metadata.is_empty()
    }
}

impl Serialize for ArtifactMetadata<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Artifact { name, description, metadata, .. } = self.0;
        let taken = |key: &str| (key == "name" && !name.is_empty()) || (key == "description" && !description.is_empty());
        let mut map = serializer.serialize_map(None)?;
        map.text("name", name)?;
        map.text("description", description)?;
        for (key, value) in metadata.iter().filter(|(key, _)| !taken(key)) {
            map.serialize_entry(key, value)?;
        }
        map.end()
    }
}

pub(super) struct WritePage<'a>(pub(super) &'a TaskPage);

impl Serialize for WritePage<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(4))?;
        map.serialize_entry("tasks", &Each(&self.0.tasks, WriteTask))?;
        map.serialize_entry("nextPageToken", &self.0.next_page_token)?;
        map.serialize_entry("pageSize", &self.0.page_size)?;
        map.serialize_entry("totalSize", &self.0.total_size)?;
        map.end()
    }
}

pub(super) struct WriteEvent<'a>(pub(super) &'a Event);

impl Serialize for WriteEvent<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(1))?;
        match self.0 {
            Event::Task(task) => map.serialize_entry("task", &WriteTask(task))?,
            Event::Message(message) => map.serialize_entry("message", &WriteMessage::alone(message))?,
            Event::Status(update) => map.serialize_entry("statusUpdate", &WriteStatusUpdate(update))?,
            Event::Artifact(update) => map.serialize_entry("artifactUpdate", &WriteArtifactUpdate(update))?,
            _ => return Err(S::Error::custom("the compact dialect has no form for this event")),
        }
        map.end()
    }
}

struct WriteStatusUpdate<'a>(&'a StatusUpdate);

impl Serialize for WriteStatusUpdate<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let update = self.0;
        let shown = transfer::native_metadata(&update.metadata);
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("taskId", &update.task_id)?;
        map.serialize_entry("contextId", &update.context_id)?;
        map.serialize_entry("status", &WriteStatus { status: &update.status, transfer: shown.transfer.as_ref() })?;
        map.object("metadata", &shown.metadata)?;
        map.end()
    }
}

struct WriteArtifactUpdate<'a>(&'a ArtifactUpdate);

impl Serialize for WriteArtifactUpdate<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let update = self.0;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("taskId", &update.task_id)?;
        map.serialize_entry("contextId", &update.context_id)?;
        map.serialize_entry("artifact", &WriteArtifact(&update.artifact))?;
        map.serialize_entry("append", &update.append)?;
        map.serialize_entry("lastChunk", &update.last_chunk)?;
        map.object("metadata", &update.metadata)?;
        map.end()
    }
}
