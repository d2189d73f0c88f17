//! What an agent answers.

use std::borrow::Cow;

use serde::{Deserialize, Serialize, Serializer, ser::SerializeStruct};

use crate::{
    artifact::Artifact,
    card::Card,
    error::{Error, Result},
    json::{self, Object},
    lazy::LazyTask,
    message::Message,
    oneof::oneof,
    push::PushConfig,
    task::Task,
};

/// An answer of any operation that is not a stream.
#[derive(Debug, Clone, PartialEq)]
pub enum Reply {
    /// Of a send.
    Sent(SendReply),
    /// Of reading or canceling a task.
    Task(LazyTask),
    /// Of listing tasks.
    Tasks(TaskPage<LazyTask>),
    /// Of registering or reading a webhook config.
    PushConfig(Box<PushConfig>),
    /// Of listing webhook configs.
    PushConfigs(PushConfigPage),
    /// Of removing a webhook config.
    Deleted,
    /// Of reading the extended card.
    Card(Box<Card>),
}

/// The answer to a message: a task, or a message when no task was needed.
#[derive(Debug, Clone, PartialEq)]
pub enum SendReply {
    /// The task that was made or continued.
    Task(Box<Task>),
    /// A direct answer.
    Message(Box<Message>),
}

oneof! {
    SendReply, "a send response" {
        Task(Box<Task>) = "task";
        Message(Box<Message>) = "message";
    }
}

/// One page of tasks: decoded, or as an answer has them.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default, bound(deserialize = "T: Deserialize<'de>"))]
#[non_exhaustive]
pub struct TaskPage<T = Task> {
    /// The tasks, newest status first.
    #[serde(deserialize_with = "json::or_default")]
    pub tasks: Vec<T>,
    /// Where the next page begins; empty on the last page.
    #[serde(alias = "next_page_token", deserialize_with = "json::or_default")]
    pub next_page_token: String,
    /// The page size that was applied.
    #[serde(alias = "page_size", deserialize_with = "json::int32_or_zero")]
    pub page_size: i32,
    /// How many tasks match, over all pages.
    #[serde(alias = "total_size", deserialize_with = "json::int32_or_zero")]
    pub total_size: i32,
    /// Whether artifacts were asked for: then every task shows the member, even when it is empty.
    #[serde(skip)]
    pub with_artifacts: bool,
}

impl<T> Default for TaskPage<T> {
    fn default() -> Self {
        Self { tasks: Vec::new(), next_page_token: String::new(), page_size: 0, total_size: 0, with_artifacts: false }
    }
}

impl Serialize for TaskPage {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        // All four members are always written, whatever their value (v1.0 §3.1.4).
        let mut page = serializer.serialize_struct("ListTasksResponse", 4)?;
        if self.with_artifacts {
            let tasks: Vec<_> = self.tasks.iter().map(Listed).collect();
            page.serialize_field("tasks", &tasks)?;
        } else {
            page.serialize_field("tasks", &self.tasks)?;
        }
        page.serialize_field("nextPageToken", &self.next_page_token)?;
        page.serialize_field("pageSize", &self.page_size)?;
        page.serialize_field("totalSize", &self.total_size)?;
        page.end()
    }
}

/// A task whose `artifacts` member is written even when it is empty.
struct Listed<'a>(&'a Task);

impl Serialize for Listed<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if !self.0.artifacts.is_empty() {
            return self.0.serialize(serializer);
        }
        let task = self.0;
        let mut object = serializer.serialize_struct("Task", 6)?;
        object.serialize_field("id", &task.id)?;
        object.serialize_field("contextId", &task.context_id)?;
        object.serialize_field("status", &task.status)?;
        object.serialize_field::<[Artifact]>("artifacts", &[])?;
        if !task.history.is_empty() {
            object.serialize_field("history", &task.history)?;
        }
        if !task.metadata.is_empty() {
            object.serialize_field::<Object>("metadata", &task.metadata)?;
        }
        object.end()
    }
}

impl Task {
    /// Appends its v1.0 JSON; with `empty_artifacts` the member `artifacts` is there even when it is empty.
    ///
    /// # Errors
    /// Does not happen for tasks that the protocol allows.
    pub fn append_json(&self, empty_artifacts: bool, out: &mut Vec<u8>) -> Result<()> {
        let done = if empty_artifacts { json::append(&Listed(self), out) } else { json::append(self, out) };
        done.map_err(Error::internal)
    }
}

/// One page of webhook configs.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[non_exhaustive]
pub struct PushConfigPage {
    /// The configs.
    #[serde(deserialize_with = "json::or_default")]
    pub configs: Vec<PushConfig>,
    /// Where the next page begins; empty on the last page.
    #[serde(alias = "next_page_token", deserialize_with = "json::or_default", skip_serializing_if = "String::is_empty")]
    pub next_page_token: String,
}

impl<T> TaskPage<T> {
    /// The last page, with these tasks.
    #[must_use]
    pub fn new(tasks: Vec<T>, page_size: i32, total_size: i32) -> Self {
        Self { tasks, page_size, total_size, ..Self::default() }
    }

    /// Says where the next page begins.
    #[must_use]
    pub fn next(mut self, token: impl Into<String>) -> Self {
        self.next_page_token = token.into();
        self
    }

    /// Says that artifacts were asked for.
    #[must_use]
    pub fn showing_artifacts(mut self) -> Self {
        self.with_artifacts = true;
        self
    }

    fn map<U, E>(self, make: impl FnMut(T) -> Result<U, E>) -> Result<TaskPage<U>, E> {
        let Self { tasks, next_page_token, page_size, total_size, with_artifacts } = self;
        let tasks = tasks.into_iter().map(make).collect::<Result<_, E>>()?;
        Ok(TaskPage { tasks, next_page_token, page_size, total_size, with_artifacts })
    }
}

impl TaskPage<LazyTask> {
    /// The page with its tasks decoded.
    ///
    /// # Errors
    /// One of them cannot be decoded.
    pub fn decode(self) -> Result<TaskPage> {
        self.map(LazyTask::into_task)
    }

    /// Appends its v1.0 JSON, for which no task is decoded: what the decoded page serializes to.
    ///
    /// # Errors
    /// One of the tasks cannot be read. What was appended before is of no use then.
    pub fn append_json(&self, out: &mut Vec<u8>) -> Result<()> {
        out.extend_from_slice(b"{\"tasks\":[");
        for (place, task) in self.tasks.iter().enumerate() {
            if place > 0 {
                out.push(b',');
            }
            task.append_json(self.with_artifacts, out)?;
        }
        out.extend_from_slice(b"],\"nextPageToken\":");
        json::append(&self.next_page_token, out).map_err(Error::internal)?;
        out.extend_from_slice(format!(",\"pageSize\":{},\"totalSize\":{}}}", self.page_size, self.total_size).as_bytes());
        Ok(())
    }
}

impl From<TaskPage> for TaskPage<LazyTask> {
    fn from(page: TaskPage) -> Self {
        let made = page.map(|task| Ok::<_, std::convert::Infallible>(LazyTask::from(task)));
        match made {
            Ok(page) => page,
            Err(never) => match never {},
        }
    }
}

impl PushConfigPage {
    /// The only page, with these configs.
    #[must_use]
    pub fn new(configs: Vec<PushConfig>) -> Self {
        Self { configs, next_page_token: String::new() }
    }
}

impl Reply {
    /// The task in the answer, if it is one; decoded now if it was not before.
    ///
    /// # Errors
    /// It cannot be decoded.
    pub fn task(&self) -> Result<Option<Cow<'_, Task>>> {
        match self {
            Self::Sent(reply) => Ok(reply.task().map(Cow::Borrowed)),
            Self::Task(task) => task.task().map(Some),
            _ => Ok(None),
        }
    }

    /// The task in the answer, if it is one and decoded.
    #[must_use]
    pub fn decoded_task(&self) -> Option<&Task> {
        match self {
            Self::Sent(reply) => reply.task(),
            Self::Task(task) => task.decoded(),
            _ => None,
        }
    }
}

impl SendReply {
    /// The task, if there is one.
    #[must_use]
    pub fn task(&self) -> Option<&Task> {
        match self {
            Self::Task(task) => Some(task),
            Self::Message(_) => None,
        }
    }
}

impl From<Task> for SendReply {
    fn from(task: Task) -> Self {
        Self::Task(Box::new(task))
    }
}

impl From<Message> for SendReply {
    fn from(message: Message) -> Self {
        Self::Message(Box::new(message))
    }
}
