//! Tasks and their status.

use std::fmt;

use chancery_core::{Artifact, ContextId, Message, Object, Result, Task, TaskId, TaskState, TaskStatus, Timestamp};
use serde::{Deserialize, Deserializer, Serialize, de};

use super::{
    artifact::{ReadArtifact, WriteArtifact},
    context_or_task,
    each::Each,
    kind::Kind,
    message::{ReadMessage, WriteMessage},
    spelling::read,
};
use crate::{Dialect, json, json::LenientTime, legacy, states};

/// Reads a task.
pub(super) fn decode(json: &[u8]) -> Result<Task> {
    read::<ReadTask>(json).map(|task| task.0)
}

/// Writes a task.
pub(super) fn encode(task: &Task) -> Result<Vec<u8>> {
    json::write(&WriteTask::of(task))
}

/// A state that we know, or the word of one that we do not.
enum ReadState {
    Known(TaskState),
    Unknown(String),
}

impl<'de> Deserialize<'de> for ReadState {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Word;
        impl de::Visitor<'_> for Word {
            type Value = ReadState;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a task state such as working")
            }
            fn visit_str<E: de::Error>(self, word: &str) -> Result<ReadState, E> {
                Ok(states::read(word).map_or_else(|| ReadState::Unknown(word.to_owned()), ReadState::Known))
            }
        }
        deserializer.deserialize_str(Word)
    }
}

#[derive(Deserialize)]
pub(super) struct ReadStatus {
    state: Option<ReadState>,
    message: Option<ReadMessage>,
    timestamp: Option<LenientTime>,
}

impl ReadStatus {
    /// The status; `metadata` is that of its task or update and takes a word that we do not know.
    pub(super) fn build(self, metadata: &mut Object) -> TaskStatus {
        let mut status = TaskStatus::new(match self.state {
            Some(ReadState::Known(state)) => state,
            Some(ReadState::Unknown(word)) => legacy::read_state(&word, metadata),
            None => TaskState::Unspecified,
        });
        status.message = self.message.map(|message| message.0);
        status.timestamp = self.timestamp.map(|at| at.0);
        status
    }
}

pub(super) struct ReadTask(pub(super) Task);

impl<'de> Deserialize<'de> for ReadTask {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Members {
            kind: Option<Kind>,
            id: Option<TaskId>,
            #[serde(alias = "context_id")]
            context_id: Option<ContextId>,
            status: Option<ReadStatus>,
            artifacts: Option<Vec<ReadArtifact>>,
            history: Option<Vec<ReadMessage>>,
            metadata: Option<Object>,
        }
        let members = Members::deserialize(deserializer)?;
        Kind::Task.expect(members.kind)?;
        let mut metadata = members.metadata.unwrap_or_default();
        let status = members.status.map(|status| status.build(&mut metadata)).unwrap_or_default();
        let mut task = Task::new(members.id.unwrap_or_default(), members.context_id.unwrap_or_default(), status);
        task.artifacts = members.artifacts.unwrap_or_default().into_iter().map(|artifact| artifact.0).collect();
        task.history = members.history.unwrap_or_default().into_iter().map(|message| message.0).collect();
        task.metadata = metadata;
        Ok(Self(task))
    }
}

#[derive(Serialize)]
pub(super) struct WriteStatus<'a> {
    state: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<WriteMessage<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    timestamp: Option<Timestamp>,
}

impl<'a> WriteStatus<'a> {
    pub(super) fn of(status: &'a TaskStatus) -> Self {
        Self {
            state: states::write(Dialect::V0_3, status.state),
            message: status.message.as_ref().map(WriteMessage::of),
            timestamp: status.timestamp,
        }
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct WriteTask<'a> {
    kind: &'static str,
    id: &'a TaskId,
    context_id: &'a str,
    status: WriteStatus<'a>,
    #[serde(skip_serializing_if = "Each::is_empty")]
    artifacts: Each<'a, Artifact, WriteArtifact<'a>>,
    #[serde(skip_serializing_if = "Each::is_empty")]
    history: Each<'a, Message, WriteMessage<'a>>,
    #[serde(skip_serializing_if = "Object::is_empty")]
    metadata: &'a Object,
}

impl<'a> WriteTask<'a> {
    pub(super) fn of(task: &'a Task) -> Self {
        Self {
            kind: Kind::Task.as_str(),
            id: &task.id,
            context_id: context_or_task(task.context_id.as_str(), &task.id),
            status: WriteStatus::of(&task.status),
            artifacts: Each(&task.artifacts, WriteArtifact::of),
            history: Each(&task.history, WriteMessage::of),
            metadata: &task.metadata,
        }
    }
}
