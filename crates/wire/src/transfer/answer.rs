//! Answers of a v1.0 peer that writes tasks in the native form (DIA-002-XFER-010).

use chancery_core::{ArtifactUpdate, ContextId, Error, ErrorKind, Event, Object, Operation, Reply, Result, StatusUpdate, TaskId, TaskPage};
use serde::{Deserialize, Deserializer, de};

use super::native::{ReadTask, Status};
use crate::{json, v1_0::alias::ReadMessage};

/// Reads an answer that holds tasks.
pub(crate) fn decode_reply(operation: Operation, json: &[u8]) -> Result<Reply> {
    match operation {
        Operation::SendMessage => match json::read::<ReadEvent>(json)?.0 {
            Event::Task(task) => Ok(Reply::Sent((*task).into())),
            Event::Message(message) => Ok(Reply::Sent((*message).into())),
            _ => Err(Error::from(ErrorKind::InvalidAgentResponse)),
        },
        Operation::GetTask | Operation::CancelTask => Ok(Reply::Task(json::read::<ReadTask>(json)?.0.into())),
        Operation::ListTasks => {
            #[derive(Deserialize)]
            #[serde(rename_all = "camelCase")]
            struct Page {
                tasks: Vec<ReadTask>,
                #[serde(default, alias = "next_page_token")]
                next_page_token: String,
                #[serde(default, alias = "page_size")]
                page_size: i32,
                #[serde(default, alias = "total_size")]
                total_size: i32,
            }
            let page: Page = json::read(json)?;
            let tasks: Vec<_> = page.tasks.into_iter().map(|task| task.0).collect();
            let shows_artifacts = tasks.iter().any(|task| !task.artifacts.is_empty());
            let page = TaskPage::new(tasks, page.page_size, page.total_size).next(page.next_page_token);
            Ok(Reply::Tasks(if shows_artifacts { page.showing_artifacts() } else { page }.into()))
        }
        _ => Err(Error::from(ErrorKind::InvalidAgentResponse)),
    }
}

/// Reads an event.
pub(crate) fn decode_event(json: &[u8]) -> Result<Event> {
    json::read::<ReadEvent>(json).map(|event| event.0)
}

struct ReadEvent(Event);

impl<'de> Deserialize<'de> for ReadEvent {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Members {
            task: Option<ReadTask>,
            message: Option<ReadMessage>,
            #[serde(alias = "status_update")]
            status_update: Option<ReadUpdate>,
            #[serde(alias = "artifact_update")]
            artifact_update: Option<ArtifactUpdate>,
        }
        let members = Members::deserialize(deserializer)?;
        match (members.task, members.message, members.status_update, members.artifact_update) {
            (Some(task), None, None, None) => Ok(Self(task.0.into())),
            (None, Some(message), None, None) => Ok(Self(message.identified().into())),
            (None, None, Some(update), None) => Ok(Self(update.0.into())),
            (None, None, None, Some(update)) => Ok(Self(update.into())),
            _ => Err(de::Error::custom("an answer holds exactly one of task, message, statusUpdate, artifactUpdate")),
        }
    }
}

struct ReadUpdate(StatusUpdate);

impl<'de> Deserialize<'de> for ReadUpdate {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Members<'a> {
            #[serde(alias = "task_id")]
            task_id: TaskId,
            #[serde(default, alias = "context_id")]
            context_id: ContextId,
            #[serde(borrow)]
            status: Status<'a>,
            metadata: Option<Object>,
        }
        let members = Members::deserialize(deserializer)?;
        let mut metadata = members.metadata.unwrap_or_default();
        let status = members.status.into_status(&mut metadata, &members.task_id, &members.context_id)?;
        let mut update = StatusUpdate::new(members.task_id, members.context_id, status);
        update.metadata = metadata;
        Ok(Self(update))
    }
}
