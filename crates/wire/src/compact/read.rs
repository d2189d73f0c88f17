//! Reading the answers and events of the compact dialect.

use std::borrow::Cow;

use chancery_core::{
    Artifact, ArtifactId, ArtifactUpdate, Content, ContextId, Event, Message, Object, Part, Result, SendReply, StatusUpdate, Task, TaskId,
    TaskPage, TaskStatus, json as proto_json,
};
use serde::{
    Deserialize, Deserializer,
    de::{self, IgnoredAny},
};
use serde_json::Value;

use crate::{
    json::{self, LenientTime},
    legacy,
    transfer::{ReadTransfer, is_transferred},
    v1_0::alias::{ReadMessage, ReadPart},
};

/// The answer to a send: a message has `parts`, a task has none.
pub(super) fn sent(json: &[u8]) -> Result<SendReply> {
    #[derive(Deserialize)]
    struct Members {
        parts: Option<IgnoredAny>,
    }
    let members: Members = json::read(json)?;
    if members.parts.is_some() {
        return Ok(json::read::<ReadMessage>(json)?.identified().into());
    }
    Ok(json::read::<ReadTask>(json)?.0.into())
}

pub(super) struct ReadTask(pub(super) Task);

impl<'de> Deserialize<'de> for ReadTask {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Members<'a> {
            #[serde(alias = "id", alias = "task_id")]
            task_id: Option<TaskId>,
            #[serde(alias = "context_id")]
            context_id: Option<ContextId>,
            #[serde(borrow)]
            status: Status<'a>,
            history: Option<Vec<ReadMessage>>,
            artifacts: Option<Vec<ReadArtifact>>,
            #[serde(alias = "created_time")]
            created_time: Option<LenientTime>,
            #[serde(alias = "updated_time")]
            updated_time: Option<LenientTime>,
            metadata: Option<Object>,
        }
        let members = Members::deserialize(deserializer)?;
        let mut task = Task::new(members.task_id.unwrap_or_default(), members.context_id.unwrap_or_default(), TaskStatus::default());
        task.metadata = members.metadata.unwrap_or_default();
        task.status = members.status.into_status(&mut task.metadata, &task.id, &task.context_id)?;
        let history = members.history.unwrap_or_default().into_iter();
        task.history = history.map(|message| within(message.identified(), &task.id, &task.context_id)).collect();
        task.artifacts = members.artifacts.unwrap_or_default().into_iter().map(|artifact| artifact.0).collect();
        task.record.created = members.created_time.map(|at| at.0);
        task.record.updated = members.updated_time.map(|at| at.0);
        Ok(Self(task))
    }
}

/// A message of a task: ids that it leaves out are the task's.
fn within(mut message: Message, task: &TaskId, context: &ContextId) -> Message {
    message.task_id = message.task_id.or_else(|| task.clone().present());
    message.context_id = message.context_id.or_else(|| context.clone().present());
    message
}

#[derive(Deserialize)]
struct Status<'a> {
    #[serde(borrow)]
    state: Cow<'a, str>,
    message: Option<String>,
    timestamp: Option<LenientTime>,
    transfer: Option<ReadTransfer>,
}

impl Status<'_> {
    fn into_status<E: de::Error>(self, metadata: &mut Object, task: &TaskId, context: &ContextId) -> Result<TaskStatus, E> {
        let mut status = TaskStatus::default();
        status.timestamp = self.timestamp.map(|at| at.0);
        status.message = self.message.map(|text| within(Message::agent(text), task, context));
        if is_transferred(&self.state) {
            let transfer = self.transfer.ok_or_else(|| E::custom("status.transfer is required in this state"))?;
            transfer.apply(&mut status, metadata, task, context);
        } else {
            status.state = legacy::read_state(&self.state, metadata);
        }
        Ok(status)
    }
}

struct ReadArtifact(Artifact);

impl<'de> Deserialize<'de> for ReadArtifact {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Members {
            #[serde(alias = "artifact_id")]
            artifact_id: Option<ArtifactId>,
            name: Option<String>,
            description: Option<String>,
            parts: Option<Vec<ReadPart>>,
            #[serde(alias = "mime_type")]
            mime_type: Option<String>,
            metadata: Option<Object>,
            extensions: Option<Vec<String>>,
        }
        let members = Members::deserialize(deserializer)?;
        let mut metadata = members.metadata.unwrap_or_default();
        let mut artifact = Artifact::default();
        artifact.artifact_id = members.artifact_id.unwrap_or_default();
        artifact.name = members.name.unwrap_or_else(|| take_text(&mut metadata, "name"));
        artifact.description = members.description.unwrap_or_else(|| take_text(&mut metadata, "description"));
        artifact.parts = members.parts.unwrap_or_default().into_iter().map(|part| part.0).collect();
        if let (Some(part), Some(media_type)) = (artifact.parts.first_mut(), members.mime_type)
            && part.media_type.is_empty()
            && media_type != usual_type(part)
        {
            part.media_type = media_type;
        }
        artifact.metadata = metadata;
        artifact.extensions = members.extensions.unwrap_or_default();
        Ok(Self(artifact))
    }
}

fn take_text(metadata: &mut Object, key: &str) -> String {
    match metadata.remove(key) {
        Some(Value::String(text)) => text,
        Some(other) => {
            metadata.insert(key.to_owned(), other);
            String::new()
        }
        None => String::new(),
    }
}

/// The media type of a part that names none (DIA-003-ART-001).
pub(super) fn usual_type(part: &Part) -> &'static str {
    match part.content {
        Content::Text(_) => "text/plain",
        Content::Data(_) => "application/json",
        Content::Raw(_) | Content::Url(_) => "application/octet-stream",
    }
}

pub(super) struct ReadPage(pub(super) TaskPage);

impl<'de> Deserialize<'de> for ReadPage {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Members {
            tasks: Option<Vec<ReadTask>>,
            #[serde(alias = "next_page_token")]
            next_page_token: Option<String>,
            #[serde(default, alias = "page_size", deserialize_with = "proto_json::int32_or_zero")]
            page_size: i32,
            #[serde(default, alias = "total_size", deserialize_with = "proto_json::int32_or_zero")]
            total_size: i32,
        }
        let members = Members::deserialize(deserializer)?;
        let tasks: Vec<_> = members.tasks.unwrap_or_default().into_iter().map(|task| task.0).collect();
        let mut page = TaskPage::new(tasks, members.page_size, members.total_size).next(members.next_page_token.unwrap_or_default());
        page.with_artifacts = page.tasks.iter().any(|task| !task.artifacts.is_empty());
        Ok(Self(page))
    }
}

/// An event: the wrapper of v1.0 around objects of this dialect (DIA-003-STREAM-001).
pub(super) struct ReadEvent(pub(super) Event);

impl<'de> Deserialize<'de> for ReadEvent {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Members {
            task: Option<ReadTask>,
            message: Option<ReadMessage>,
            #[serde(alias = "status_update")]
            status_update: Option<ReadStatusUpdate>,
            #[serde(alias = "artifact_update")]
            artifact_update: Option<ReadArtifactUpdate>,
        }
        let members = Members::deserialize(deserializer)?;
        match (members.task, members.message, members.status_update, members.artifact_update) {
            (Some(task), None, None, None) => Ok(Self(task.0.into())),
            (None, Some(message), None, None) => Ok(Self(message.identified().into())),
            (None, None, Some(update), None) => Ok(Self(update.0.into())),
            (None, None, None, Some(update)) => Ok(Self(update.0.into())),
            _ => Err(de::Error::custom("an event holds exactly one of task, message, statusUpdate, artifactUpdate")),
        }
    }
}

struct ReadStatusUpdate(StatusUpdate);

impl<'de> Deserialize<'de> for ReadStatusUpdate {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Members<'a> {
            #[serde(alias = "task_id")]
            task_id: Option<TaskId>,
            #[serde(alias = "context_id")]
            context_id: Option<ContextId>,
            #[serde(borrow)]
            status: Status<'a>,
            metadata: Option<Object>,
        }
        let members = Members::deserialize(deserializer)?;
        let (task, context) = (members.task_id.unwrap_or_default(), members.context_id.unwrap_or_default());
        let mut metadata = members.metadata.unwrap_or_default();
        let status = members.status.into_status(&mut metadata, &task, &context)?;
        let mut update = StatusUpdate::new(task, context, status);
        update.metadata = metadata;
        Ok(Self(update))
    }
}

struct ReadArtifactUpdate(ArtifactUpdate);

impl<'de> Deserialize<'de> for ReadArtifactUpdate {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Members {
            #[serde(alias = "task_id")]
            task_id: Option<TaskId>,
            #[serde(alias = "context_id")]
            context_id: Option<ContextId>,
            artifact: ReadArtifact,
            append: Option<bool>,
            #[serde(alias = "last_chunk")]
            last_chunk: Option<bool>,
            metadata: Option<Object>,
        }
        let members = Members::deserialize(deserializer)?;
        let (task, context) = (members.task_id.unwrap_or_default(), members.context_id.unwrap_or_default());
        let mut update = ArtifactUpdate::new(task, context, members.artifact.0);
        update.append = members.append.unwrap_or_default();
        update.last_chunk = members.last_chunk.unwrap_or_default();
        update.metadata = members.metadata.unwrap_or_default();
        Ok(Self(update))
    }
}
