//! Reading v0.1. `null` means absent everywhere: the first client writes every optional member
//! (V01-NULL-001).

use std::{borrow::Cow, collections::HashMap};

use chancery_core::{
    Artifact, ArtifactId, ArtifactUpdate, CancelTask, Content, ContextId, GetPushConfig, GetTask, Message, MessageId, Object, Part, Result,
    SendMessage, Subscribe, Task, TaskId, TaskState, TaskStatus, json as proto_json,
};
use serde::{Deserialize, Deserializer, de};
use serde_json::Value;

use super::push::ReadConfig;
use crate::{json::LenientTime, legacy, v1_0::alias::ReadRole};

/// The parameters of `tasks/send` and `tasks/sendSubscribe`.
pub(super) struct ReadSend(pub(super) SendMessage);

impl<'de> Deserialize<'de> for ReadSend {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Members {
            id: Option<TaskId>,
            #[serde(default, alias = "session_id", deserialize_with = "proto_json::non_empty")]
            session_id: Option<ContextId>,
            message: Option<ReadMessage>,
            #[serde(alias = "accepted_output_modes")]
            accepted_output_modes: Option<Vec<String>>,
            #[serde(alias = "push_notification")]
            push_notification: Option<ReadConfig>,
            #[serde(default, alias = "history_length", deserialize_with = "proto_json::int32")]
            history_length: Option<i32>,
            metadata: Option<Object>,
        }
        let members = Members::deserialize(deserializer)?;
        let id = members.id.and_then(TaskId::present);
        let mut send = SendMessage::default();
        send.create_missing = true;
        send.configuration.accepted_output_modes = members.accepted_output_modes.unwrap_or_default().into_iter().map(read_mode).collect();
        send.configuration.push_config =
            members.push_notification.map(|config| Box::new(config.named(id.as_ref().map_or("", TaskId::as_str))));
        send.configuration.history_length = Some(history_length(members.history_length));
        send.message = members.message.map(|message| message.0).unwrap_or_default();
        (send.message.task_id, send.message.context_id) = (id, members.session_id);
        send.metadata = members.metadata.unwrap_or_default();
        Ok(Self(send))
    }
}

/// Only who asks for a positive number gets history (V01-HIST-001).
fn history_length(asked: Option<i32>) -> i32 {
    asked.unwrap_or_default().max(0)
}

/// The short words of the first clients, which the agent's media types would never match.
fn read_mode(mode: String) -> String {
    match mode.as_str() {
        "text" => "text/*".to_owned(),
        "data" => "application/json".to_owned(),
        "file" => "*/*".to_owned(),
        _ => mode,
    }
}

/// The parameters of the calls that name a task.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct TaskCall {
    id: Option<TaskId>,
    #[serde(default, alias = "history_length", deserialize_with = "proto_json::int32")]
    history_length: Option<i32>,
    metadata: Option<Object>,
}

impl TaskCall {
    pub(super) fn get(self) -> GetTask {
        let mut get = GetTask::new(self.id.unwrap_or_default());
        get.history_length = Some(history_length(self.history_length));
        get
    }

    pub(super) fn cancel(self) -> CancelTask {
        let mut cancel = CancelTask::new(self.id.unwrap_or_default());
        cancel.metadata = self.metadata.unwrap_or_default();
        cancel
    }

    pub(super) fn subscribe(self) -> Subscribe {
        Subscribe::new(self.id.unwrap_or_default())
    }

    /// Without a config id: the one that this version made, else the first that there is.
    pub(super) fn get_config(self) -> GetPushConfig {
        GetPushConfig::new(self.id.unwrap_or_default(), "")
    }
}

/// A message. Its ids are those of the task it is found in (V01-MSG-001).
pub(super) struct ReadMessage(pub(super) Message);

impl ReadMessage {
    /// The message as one of a task, from a peer's answer.
    fn of_task(self, task: &TaskId, context: &ContextId) -> Message {
        let mut message = self.0;
        message.task_id = task.clone().present();
        message.context_id = context.clone().present();
        message.parts.iter_mut().for_each(name_missing_file);
        message
    }
}

impl<'de> Deserialize<'de> for ReadMessage {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Members {
            // Written by servers that answer v0.1 and v0.3 with one document (CONV-DET-006).
            message_id: Option<MessageId>,
            role: Option<ReadRole>,
            parts: Option<Vec<ReadPart>>,
            metadata: Option<Object>,
        }
        let members = Members::deserialize(deserializer)?;
        let mut message = Message::default();
        message.message_id = members.message_id.and_then(MessageId::present).unwrap_or_else(MessageId::generate);
        message.role = members.role.map(|role| role.0).unwrap_or_default();
        message.parts = members.parts.unwrap_or_default().into_iter().map(|part| part.0).collect();
        message.metadata = members.metadata.unwrap_or_default();
        Ok(Self(message))
    }
}

/// A part: what its `type` says, and without one what its members say (V01-PART-001).
///
/// A file without content is read as a URL part without a URL, which validation refuses in
/// requests and [`name_missing_file`] replaces in answers (CONV-PART-005).
struct ReadPart(Part);

impl<'de> Deserialize<'de> for ReadPart {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        struct Members {
            r#type: Option<Kind>,
            text: Option<String>,
            file: Option<ReadFile>,
            data: Option<Value>,
            metadata: Option<Object>,
        }
        #[derive(Deserialize)]
        #[serde(rename_all = "lowercase")]
        enum Kind {
            Text,
            File,
            Data,
        }
        let members = Members::deserialize(deserializer)?;
        let mut part = match (members.r#type, members.text, members.file, members.data) {
            (Some(Kind::Text), Some(text), _, _) | (None, Some(text), None, None) => Part::text(text),
            (Some(Kind::File), _, Some(file), _) | (None, None, Some(file), None) => file.part()?,
            (Some(Kind::Data), _, _, Some(data)) | (None, None, None, Some(data)) => Part::data(data),
            (None, ..) => return Err(de::Error::custom("a part without type holds exactly one of text, file, data")),
            (Some(_), ..) => return Err(de::Error::custom("the member that the type of the part names is missing")),
        };
        part.metadata = members.metadata.unwrap_or_default();
        legacy::restore_part(&mut part);
        Ok(Self(part))
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ReadFile {
    name: Option<String>,
    #[serde(alias = "mime_type")]
    mime_type: Option<String>,
    bytes: Option<String>,
    uri: Option<String>,
    /// A slip of the first prose for `bytes`.
    data: Option<String>,
}

impl ReadFile {
    fn part<E: de::Error>(self) -> Result<Part, E> {
        let content = match (self.bytes.or(self.data), self.uri) {
            (Some(_), Some(_)) => return Err(E::custom("a file holds bytes or uri, not both")),
            (Some(bytes), None) => Content::Raw(proto_json::from_base64(&bytes).ok_or_else(|| E::custom("bytes is not base64"))?),
            (None, uri) => Content::Url(uri.unwrap_or_default()),
        };
        let mut part = Part::new(content);
        part.filename = self.name.unwrap_or_default();
        part.media_type = self.mime_type.unwrap_or_default();
        Ok(part)
    }
}

/// A file whose content a peer left out becomes words that name it.
fn name_missing_file(part: &mut Part) {
    if !matches!(&part.content, Content::Url(url) if url.is_empty()) {
        return;
    }
    let name = std::mem::take(&mut part.filename);
    let text = match std::mem::take(&mut part.media_type) {
        kind if kind.is_empty() => format!("File {name} without content"),
        kind => format!("File {name} ({kind}) without content"),
    };
    part.content = Content::Text(text);
}

/// A task.
pub(super) struct ReadTask(pub(super) Task);

impl<'de> Deserialize<'de> for ReadTask {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut snapshot = Snapshot::deserialize(deserializer)?;
        let status = snapshot.status.take().ok_or_else(|| de::Error::missing_field("status"))?;
        let (id, context) = (snapshot.id.take().unwrap_or_default(), snapshot.session_id.take().unwrap_or_default());
        Ok(Self(snapshot.into_task(id, context, Some(status))))
    }
}

/// A task or an element of a stream: some peers put the artifacts beside a status event, so that
/// it looks like a task (V01-STREAM-006).
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Snapshot<'a> {
    // The prose once calls it taskId in webhook bodies (V01-PUSH-001).
    #[serde(alias = "taskId", alias = "task_id")]
    pub(super) id: Option<TaskId>,
    #[serde(default, alias = "session_id", deserialize_with = "proto_json::non_empty")]
    pub(super) session_id: Option<ContextId>,
    #[serde(borrow)]
    pub(super) status: Option<Status<'a>>,
    pub(super) artifact: Option<ReadArtifact>,
    pub(super) artifacts: Option<Vec<ReadArtifact>>,
    pub(super) history: Option<Vec<ReadMessage>>,
    pub(super) metadata: Option<Object>,
    pub(super) r#final: Option<bool>,
}

impl Snapshot<'_> {
    /// What the snapshot says about its task. An artifact without a status comes from an agent at
    /// work.
    pub(super) fn into_task(self, id: TaskId, context: ContextId, status: Option<Status<'_>>) -> Task {
        let mut metadata = self.metadata.unwrap_or_default();
        let status = status.map_or_else(|| TaskState::Working.into(), |status| status.into_status(&id, &context, &mut metadata));
        let mut task = Task::new(id, context, status);
        task.artifacts = assemble(self.artifacts.unwrap_or_default());
        task.history = self.history.unwrap_or_default().into_iter().map(|message| message.of_task(&task.id, &task.context_id)).collect();
        task.metadata = metadata;
        task
    }
}

#[derive(Deserialize)]
pub(super) struct Status<'a> {
    #[serde(borrow)]
    state: Cow<'a, str>,
    message: Option<ReadMessage>,
    timestamp: Option<LenientTime>,
}

impl Status<'_> {
    /// The status; a state that nobody knows is kept in the metadata (CONV-STATE-002).
    pub(super) fn into_status(self, task: &TaskId, context: &ContextId, metadata: &mut Object) -> TaskStatus {
        let mut status = TaskStatus::new(legacy::read_state(&self.state, metadata));
        status.message = self.message.map(|message| message.of_task(task, context));
        status.timestamp = self.timestamp.map(|at| at.0);
        status
    }
}

/// An artifact, or a chunk of one.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ReadArtifact {
    id: Option<ArtifactId>,
    index: Option<i32>,
    append: Option<bool>,
    #[serde(alias = "last_chunk")]
    last_chunk: Option<bool>,
    name: Option<String>,
    description: Option<String>,
    parts: Option<Vec<ReadPart>>,
    metadata: Option<Object>,
}

impl ReadArtifact {
    /// The artifact as an event of a stream, where an absent index is 0 (V01-ART-001).
    pub(super) fn into_update(self, task: &TaskId, context: &ContextId) -> ArtifactUpdate {
        let (append, last) = (self.append, self.last_chunk);
        let mut update = ArtifactUpdate::new(task.clone(), context.clone(), self.into_artifact(0));
        (update.append, update.last_chunk) = (append.unwrap_or_default(), last.unwrap_or_default());
        update
    }

    /// The artifact under its own id, else under its index, else under `place` (CONV-TASK-003).
    fn into_artifact(self, place: usize) -> Artifact {
        let mut artifact = Artifact::default();
        artifact.artifact_id =
            self.id.and_then(ArtifactId::present).unwrap_or_else(|| self.index.map_or_else(|| numbered(place), numbered));
        artifact.name = self.name.unwrap_or_default();
        artifact.description = self.description.unwrap_or_default();
        artifact.parts = self.parts.unwrap_or_default().into_iter().map(|part| part.0).collect();
        artifact.parts.iter_mut().for_each(name_missing_file);
        artifact.metadata = self.metadata.unwrap_or_default();
        artifact
    }
}

fn numbered(place: impl std::fmt::Display) -> ArtifactId {
    format!("index-{place}").into()
}

/// The artifacts of a snapshot: chunks are put together, and what would be two artifacts of one id
/// is told apart by position, because servers that never set an index give 0 to all of them.
pub(super) fn assemble(list: Vec<ReadArtifact>) -> Vec<Artifact> {
    let mut whole: Vec<Artifact> = Vec::with_capacity(list.len());
    let mut places: HashMap<ArtifactId, usize> = HashMap::new();
    for (place, read) in list.into_iter().enumerate() {
        let append = read.append == Some(true);
        let mut artifact = read.into_artifact(place);
        if let Some(earlier) = places.get(&artifact.artifact_id) {
            if append && let Some(earlier) = whole.get_mut(*earlier) {
                earlier.parts.append(&mut artifact.parts);
                continue;
            }
            artifact.artifact_id = Some(numbered(place)).filter(|id| !places.contains_key(id)).unwrap_or_else(ArtifactId::generate);
        }
        places.insert(artifact.artifact_id.clone(), whole.len());
        whole.push(artifact);
    }
    whole
}
