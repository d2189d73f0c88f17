//! The objects of v0.3 over HTTP+JSON as the parser meets them: each is read straight into the type
//! of the canonical model, so that an error names its member.

use chancery_core::{
    Artifact, ArtifactUpdate, Content, ContextId, Event, FileBytes, Message, Part, SendReply, StatusUpdate, Task, TaskId, TaskState,
    TaskStatus,
};
use serde::{Deserialize, Deserializer, de};

use super::types::{
    ArtifactMembers, ArtifactUpdateMembers, FileMembers, MessageMembers, PartMembers, PayloadMembers, State, StatusMembers,
    StatusUpdateMembers, TaskMembers,
};
use crate::{
    legacy,
    v0_3::{file_bytes, is_nothing},
};

#[derive(Default)]
pub(super) struct ReadMessage {
    pub(super) message: Message,
    /// The form of inline bytes that the peer was seen to use.
    pub(super) form: Option<FileBytes>,
}

impl<'de> Deserialize<'de> for ReadMessage {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let members = MessageMembers::deserialize(deserializer)?;
        let (parts, form) = parts(members.content);
        let mut message = Message::default();
        message.message_id = members.message_id.unwrap_or_default();
        message.context_id = members.context_id.and_then(ContextId::present);
        message.task_id = members.task_id.and_then(TaskId::present);
        message.role = members.role.unwrap_or_default();
        message.parts = parts;
        message.metadata = members.metadata.unwrap_or_default();
        message.extensions = members.extensions.unwrap_or_default();
        message.reference_task_ids = members.reference_task_ids.unwrap_or_default();
        Ok(Self { message, form })
    }
}

pub(super) struct ReadPart {
    part: Part,
    form: Option<FileBytes>,
}

/// The parts, and the form of inline bytes that they were seen to use.
fn parts(read: Option<Vec<ReadPart>>) -> (Vec<Part>, Option<FileBytes>) {
    let mut form = None;
    let keep = |read: ReadPart| {
        form = file_bytes::either(form, read.form);
        read.part
    };
    (read.unwrap_or_default().into_iter().map(keep).collect(), form)
}

impl<'de> Deserialize<'de> for ReadPart {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let members = PartMembers::deserialize(deserializer)?;
        let (mut part, form) = match (members.text, members.file, members.data) {
            (Some(text), None, None) => (Part::text(text), None),
            (None, Some(file), None) => file_part(file)?,
            (None, None, Some(data)) => (Part::data(data.data.unwrap_or_default()), None),
            _ => return Err(de::Error::custom("a part holds exactly one of text, file, data")),
        };
        part.metadata = members.metadata.unwrap_or_default();
        legacy::restore_part(&mut part);
        Ok(Self { part, form })
    }
}

fn file_part<E: de::Error>(file: FileMembers) -> Result<(Part, Option<FileBytes>), E> {
    // Bytes win over a link, as in the other form of v0.3 (V03-PART-004).
    let (content, form) = match (file.bytes, file.uri) {
        (Some(bytes), _) => {
            let (bytes, form) = file_bytes::unpack(bytes.0);
            (Content::Raw(bytes), form)
        }
        (None, Some(uri)) => (Content::Url(uri), None),
        (None, None) => return Err(E::custom("a file has fileWithBytes or fileWithUri")),
    };
    let mut part = Part::new(content);
    part.media_type = file.mime_type.unwrap_or_default();
    part.filename = file.name.unwrap_or_default();
    Ok((part, form))
}

pub(super) struct ReadArtifact(Artifact);

impl<'de> Deserialize<'de> for ReadArtifact {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let members = ArtifactMembers::deserialize(deserializer)?;
        let mut artifact = Artifact::default();
        artifact.artifact_id = members.artifact_id.unwrap_or_default();
        artifact.name = members.name.unwrap_or_default();
        artifact.description = members.description.unwrap_or_default();
        artifact.parts = parts(members.parts).0;
        artifact.metadata = members.metadata.unwrap_or_default();
        artifact.extensions = members.extensions.unwrap_or_default();
        Ok(Self(artifact))
    }
}

#[derive(Default)]
pub(super) struct ReadStatus {
    status: TaskStatus,
    /// A state that nobody knows: the task or event around the status keeps it.
    unknown: Option<String>,
}

impl<'de> Deserialize<'de> for ReadStatus {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let members = StatusMembers::deserialize(deserializer)?;
        let (state, unknown) = match members.state {
            None => (TaskState::Unspecified, None),
            Some(State::Known(state)) => (state, None),
            Some(State::Unknown(word)) => (TaskState::Unspecified, Some(word)),
        };
        let mut status = TaskStatus::new(state);
        status.message = members.message.map(|read| read.message).filter(|message| !is_nothing(message));
        status.timestamp = members.timestamp.map(|at| at.0);
        Ok(Self { status, unknown })
    }
}

pub(super) struct ReadTask(pub(super) Task);

impl<'de> Deserialize<'de> for ReadTask {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let members = TaskMembers::deserialize(deserializer)?;
        let read = members.status.unwrap_or_default();
        let mut task = Task::new(members.id.unwrap_or_default(), members.context_id.unwrap_or_default(), read.status);
        task.artifacts = members.artifacts.unwrap_or_default().into_iter().map(|artifact| artifact.0).collect();
        task.history = members.history.unwrap_or_default().into_iter().map(|read| read.message).collect();
        task.metadata = members.metadata.unwrap_or_default();
        if let Some(word) = read.unknown {
            legacy::read_state(&word, &mut task.metadata);
        }
        Ok(Self(task))
    }
}

pub(super) struct ReadStatusUpdate {
    update: StatusUpdate,
    last: bool,
}

impl<'de> Deserialize<'de> for ReadStatusUpdate {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let members = StatusUpdateMembers::deserialize(deserializer)?;
        let read = members.status.unwrap_or_default();
        let mut update = StatusUpdate::new(members.task_id.unwrap_or_default(), members.context_id.unwrap_or_default(), read.status);
        update.metadata = members.metadata.unwrap_or_default();
        if let Some(word) = read.unknown {
            legacy::read_state(&word, &mut update.metadata);
        }
        Ok(Self { update, last: members.last.unwrap_or(false) })
    }
}

pub(super) struct ReadArtifactUpdate(ArtifactUpdate);

impl<'de> Deserialize<'de> for ReadArtifactUpdate {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let members = ArtifactUpdateMembers::deserialize(deserializer)?;
        let artifact = members.artifact.map(|artifact| artifact.0).unwrap_or_default();
        let mut update = ArtifactUpdate::new(members.task_id.unwrap_or_default(), members.context_id.unwrap_or_default(), artifact);
        update.append = members.append.unwrap_or(false);
        update.last_chunk = members.last_chunk.unwrap_or(false);
        update.metadata = members.metadata.unwrap_or_default();
        Ok(Self(update))
    }
}

pub(super) struct ReadReply(pub(super) SendReply);

impl<'de> Deserialize<'de> for ReadReply {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let members = PayloadMembers::deserialize(deserializer)?;
        match (members.task, members.message) {
            (Some(task), None) => Ok(Self(task.0.into())),
            (None, Some(read)) => Ok(Self(read.message.into())),
            _ => Err(de::Error::custom("a send response holds exactly one of task, message")),
        }
    }
}

pub(super) struct ReadEvent {
    pub(super) event: Event,
    /// The event says that the stream ends with it.
    pub(super) last: bool,
}

impl<'de> Deserialize<'de> for ReadEvent {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let members = PayloadMembers::deserialize(deserializer)?;
        let mut last = false;
        let event = match (members.task, members.message, members.status_update, members.artifact_update) {
            (Some(task), None, None, None) => task.0.into(),
            (None, Some(read), None, None) => read.message.into(),
            (None, None, Some(read), None) => {
                last = read.last;
                read.update.into()
            }
            (None, None, None, Some(update)) => update.0.into(),
            _ => return Err(de::Error::custom("a stream event holds exactly one of task, message, statusUpdate, artifactUpdate")),
        };
        Ok(Self { event, last })
    }
}
