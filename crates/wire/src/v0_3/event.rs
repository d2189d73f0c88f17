//! Events: what a send answers and what a stream shows.
//!
//! In JSON-RPC an event is the object itself; in HTTP+JSON it stands in a member that names it.

use chancery_core::{ArtifactUpdate, ContextId, Error, Event, Object, Result, SendReply, StatusUpdate, TaskId};
use serde::{Deserialize, Deserializer, Serialize, de};

use super::{
    artifact::{ReadArtifact, WriteArtifact},
    context_or_task,
    kind::{Kind, Shape},
    message::{ReadMessage, WriteMessage},
    spelling::read,
    task::{self, ReadStatus, ReadTask, WriteStatus, WriteTask},
};
use crate::json;

/// Reads an object that says itself what it is, and whether it says that it is the last one.
pub(super) fn decode_bare(json: &[u8]) -> Result<(Event, bool)> {
    // Looking for the kind first costs a second run over the text, but no copy of it: the members
    // are then read straight into the type they belong to.
    Ok(match read::<Shape>(json)?.0 {
        Kind::Task => (Event::from(task::decode(json)?), false),
        Kind::Message => (Event::from(read::<ReadMessage>(json)?.0), false),
        Kind::StatusUpdate => read::<ReadStatusUpdate>(json)?.into(),
        Kind::ArtifactUpdate => (Event::from(read::<ReadArtifactUpdate>(json)?.0), false),
    })
}

/// Reads an object inside a member that says what it is.
pub(super) fn decode_wrapped(json: &[u8]) -> Result<(Event, bool)> {
    read::<ReadWrapped>(json).map(|wrapped| wrapped.0)
}

/// An event on its way out.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum WriteEvent<'a> {
    Task(WriteTask<'a>),
    Message(WriteMessage<'a>),
    StatusUpdate(WriteStatusUpdate<'a>),
    ArtifactUpdate(WriteArtifactUpdate<'a>),
}

impl<'a> WriteEvent<'a> {
    pub(super) fn of(event: &'a Event) -> Result<Self> {
        Ok(match event {
            Event::Task(task) => Self::Task(WriteTask::of(task)),
            Event::Message(message) => Self::Message(WriteMessage::of(message)),
            Event::Status(update) => Self::StatusUpdate(WriteStatusUpdate::of(update)),
            Event::Artifact(update) => Self::ArtifactUpdate(WriteArtifactUpdate::of(update)),
            _ => return Err(Error::internal("an event that has no form with a kind")),
        })
    }

    pub(super) fn of_reply(reply: &'a SendReply) -> Self {
        match reply {
            SendReply::Task(task) => Self::Task(WriteTask::of(task)),
            SendReply::Message(message) => Self::Message(WriteMessage::of(message)),
        }
    }

    /// The object itself.
    pub(super) fn bare(&self) -> Result<Vec<u8>> {
        match self {
            Self::Task(task) => json::write(task),
            Self::Message(message) => json::write(message),
            Self::StatusUpdate(update) => json::write(update),
            Self::ArtifactUpdate(update) => json::write(update),
        }
    }

    /// The object in the member that names it.
    pub(super) fn wrapped(&self) -> Result<Vec<u8>> {
        json::write(self)
    }
}

/// Exactly one object, inside the member that names it.
struct ReadWrapped((Event, bool));

impl<'de> Deserialize<'de> for ReadWrapped {
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
        Ok(Self(match (members.task, members.message, members.status_update, members.artifact_update) {
            (Some(task), None, None, None) => (Event::from(task.0), false),
            (None, Some(message), None, None) => (Event::from(message.0), false),
            (None, None, Some(update), None) => update.into(),
            (None, None, None, Some(update)) => (Event::from(update.0), false),
            _ => return Err(de::Error::custom("exactly one of task, message, statusUpdate, artifactUpdate is needed")),
        }))
    }
}

/// A status update, and whether it says that it is the last event of its stream.
struct ReadStatusUpdate {
    update: StatusUpdate,
    last: bool,
}

impl<'de> Deserialize<'de> for ReadStatusUpdate {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Members {
            kind: Option<Kind>,
            #[serde(alias = "task_id")]
            task_id: Option<TaskId>,
            #[serde(alias = "context_id")]
            context_id: Option<ContextId>,
            status: Option<ReadStatus>,
            r#final: Option<bool>,
            metadata: Option<Object>,
        }
        let members = Members::deserialize(deserializer)?;
        Kind::StatusUpdate.expect(members.kind)?;
        let mut metadata = members.metadata.unwrap_or_default();
        let status = members.status.map(|status| status.build(&mut metadata)).unwrap_or_default();
        let mut update = StatusUpdate::new(members.task_id.unwrap_or_default(), members.context_id.unwrap_or_default(), status);
        update.metadata = metadata;
        Ok(Self { update, last: members.r#final.unwrap_or(false) })
    }
}

impl From<ReadStatusUpdate> for (Event, bool) {
    fn from(read: ReadStatusUpdate) -> Self {
        (Event::from(read.update), read.last)
    }
}

struct ReadArtifactUpdate(ArtifactUpdate);

impl<'de> Deserialize<'de> for ReadArtifactUpdate {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Members {
            kind: Option<Kind>,
            #[serde(alias = "task_id")]
            task_id: Option<TaskId>,
            #[serde(alias = "context_id")]
            context_id: Option<ContextId>,
            artifact: Option<ReadArtifact>,
            append: Option<bool>,
            #[serde(alias = "last_chunk")]
            last_chunk: Option<bool>,
            metadata: Option<Object>,
        }
        let members = Members::deserialize(deserializer)?;
        Kind::ArtifactUpdate.expect(members.kind)?;
        let artifact = members.artifact.map(|artifact| artifact.0).unwrap_or_default();
        let mut update = ArtifactUpdate::new(members.task_id.unwrap_or_default(), members.context_id.unwrap_or_default(), artifact);
        update.append = members.append.unwrap_or(false);
        update.last_chunk = members.last_chunk.unwrap_or(false);
        update.metadata = members.metadata.unwrap_or_default();
        Ok(Self(update))
    }
}
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct WriteStatusUpdate<'a> {
    kind: &'static str,
    task_id: &'a TaskId,
    context_id: &'a str,
    status: WriteStatus<'a>,
    r#final: bool,
    #[serde(skip_serializing_if = "Object::is_empty")]
    metadata: &'a Object,
}

impl<'a> WriteStatusUpdate<'a> {
    fn of(update: &'a StatusUpdate) -> Self {
        Self {
            kind: Kind::StatusUpdate.as_str(),
            task_id: &update.task_id,
            context_id: context_or_task(update.context_id.as_str(), &update.task_id),
            status: WriteStatus::of(&update.status),
            // The server closes the stream after this event (CONV-EVENT-002).
            r#final: update.status.state.ends_stream(),
            metadata: &update.metadata,
        }
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct WriteArtifactUpdate<'a> {
    kind: &'static str,
    task_id: &'a TaskId,
    context_id: &'a str,
    artifact: WriteArtifact<'a>,
    append: bool,
    last_chunk: bool,
    #[serde(skip_serializing_if = "Object::is_empty")]
    metadata: &'a Object,
}

impl<'a> WriteArtifactUpdate<'a> {
    fn of(update: &'a ArtifactUpdate) -> Self {
        Self {
            kind: Kind::ArtifactUpdate.as_str(),
            task_id: &update.task_id,
            context_id: context_or_task(update.context_id.as_str(), &update.task_id),
            artifact: WriteArtifact::of(&update.artifact),
            append: update.append,
            last_chunk: update.last_chunk,
            metadata: &update.metadata,
        }
    }
}
