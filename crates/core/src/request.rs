//! What a client can ask: the eleven operations and their requests.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{
    id::{ContextId, PushConfigId, TaskId},
    json::{self, Object},
    message::Message,
    origin::Origin,
    push::PushConfig,
    task::TaskState,
    time::Timestamp,
};

/// The eleven operations of the protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Operation {
    /// Send a message and wait for the answer.
    SendMessage,
    /// Send a message and watch what happens.
    StreamMessage,
    /// Read one task.
    GetTask,
    /// List tasks.
    ListTasks,
    /// Cancel a task.
    CancelTask,
    /// Watch a task.
    Subscribe,
    /// Register a webhook.
    CreatePushConfig,
    /// Read one webhook config.
    GetPushConfig,
    /// List a task's webhook configs.
    ListPushConfigs,
    /// Remove a webhook config.
    DeletePushConfig,
    /// Read the card for authenticated callers.
    GetExtendedCard,
}

impl Operation {
    /// All eleven, in the order of the specification.
    pub const ALL: [Self; 11] = [
        Self::SendMessage,
        Self::StreamMessage,
        Self::GetTask,
        Self::ListTasks,
        Self::CancelTask,
        Self::Subscribe,
        Self::CreatePushConfig,
        Self::GetPushConfig,
        Self::ListPushConfigs,
        Self::DeletePushConfig,
        Self::GetExtendedCard,
    ];

    /// The name in v1.0: the JSON-RPC method and the gRPC call.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::SendMessage => "SendMessage",
            Self::StreamMessage => "SendStreamingMessage",
            Self::GetTask => "GetTask",
            Self::ListTasks => "ListTasks",
            Self::CancelTask => "CancelTask",
            Self::Subscribe => "SubscribeToTask",
            Self::CreatePushConfig => "CreateTaskPushNotificationConfig",
            Self::GetPushConfig => "GetTaskPushNotificationConfig",
            Self::ListPushConfigs => "ListTaskPushNotificationConfigs",
            Self::DeletePushConfig => "DeleteTaskPushNotificationConfig",
            Self::GetExtendedCard => "GetExtendedAgentCard",
        }
    }

    /// Whether the answer is a stream.
    #[must_use]
    pub const fn is_streaming(self) -> bool {
        matches!(self, Self::StreamMessage | Self::Subscribe)
    }
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A request of any operation.
#[derive(Debug, Clone, PartialEq)]
pub enum Request {
    /// Send a message and wait.
    SendMessage(Box<SendMessage>),
    /// Send a message and watch.
    StreamMessage(Box<SendMessage>),
    /// Read one task.
    GetTask(GetTask),
    /// List tasks.
    ListTasks(ListTasks),
    /// Cancel a task.
    CancelTask(CancelTask),
    /// Watch a task.
    Subscribe(Subscribe),
    /// Register a webhook.
    CreatePushConfig(Box<PushConfig>),
    /// Read one webhook config.
    GetPushConfig(GetPushConfig),
    /// List a task's webhook configs.
    ListPushConfigs(ListPushConfigs),
    /// Remove a webhook config.
    DeletePushConfig(DeletePushConfig),
    /// Read the extended card.
    GetExtendedCard(GetExtendedCard),
}

impl Request {
    /// Which operation this asks for.
    #[must_use]
    pub const fn operation(&self) -> Operation {
        match self {
            Self::SendMessage(_) => Operation::SendMessage,
            Self::StreamMessage(_) => Operation::StreamMessage,
            Self::GetTask(_) => Operation::GetTask,
            Self::ListTasks(_) => Operation::ListTasks,
            Self::CancelTask(_) => Operation::CancelTask,
            Self::Subscribe(_) => Operation::Subscribe,
            Self::CreatePushConfig(_) => Operation::CreatePushConfig,
            Self::GetPushConfig(_) => Operation::GetPushConfig,
            Self::ListPushConfigs(_) => Operation::ListPushConfigs,
            Self::DeletePushConfig(_) => Operation::DeletePushConfig,
            Self::GetExtendedCard(_) => Operation::GetExtendedCard,
        }
    }

    /// The routing value of the request; empty when it has none.
    #[must_use]
    pub fn tenant(&self) -> &str {
        match self {
            Self::SendMessage(request) | Self::StreamMessage(request) => &request.tenant,
            Self::GetTask(request) => &request.tenant,
            Self::ListTasks(request) => &request.tenant,
            Self::CancelTask(request) => &request.tenant,
            Self::Subscribe(request) => &request.tenant,
            Self::CreatePushConfig(config) => &config.tenant,
            Self::GetPushConfig(request) => &request.tenant,
            Self::ListPushConfigs(request) => &request.tenant,
            Self::DeletePushConfig(request) => &request.tenant,
            Self::GetExtendedCard(request) => &request.tenant,
        }
    }

    /// Notes the way the request came in, where that is kept: in a message and in a webhook's config.
    pub fn set_origin(&mut self, origin: Origin) {
        match self {
            Self::SendMessage(request) | Self::StreamMessage(request) => {
                request.origin = origin;
                if let Some(config) = &mut request.configuration.push_config {
                    config.record.origin = origin;
                }
            }
            Self::CreatePushConfig(config) => config.record.origin = origin,
            _ => {}
        }
    }

    /// The way the request came in, where that is kept.
    #[must_use]
    pub fn origin(&self) -> Option<Origin> {
        match self {
            Self::SendMessage(request) | Self::StreamMessage(request) => Some(request.origin),
            Self::CreatePushConfig(config) => Some(config.record.origin),
            _ => None,
        }
    }

    /// Sets the routing value, as a tenant in the path does.
    pub fn set_tenant(&mut self, tenant: impl Into<String>) {
        let slot = match self {
            Self::SendMessage(request) | Self::StreamMessage(request) => &mut request.tenant,
            Self::GetTask(request) => &mut request.tenant,
            Self::ListTasks(request) => &mut request.tenant,
            Self::CancelTask(request) => &mut request.tenant,
            Self::Subscribe(request) => &mut request.tenant,
            Self::CreatePushConfig(config) => &mut config.tenant,
            Self::GetPushConfig(request) => &mut request.tenant,
            Self::ListPushConfigs(request) => &mut request.tenant,
            Self::DeletePushConfig(request) => &mut request.tenant,
            Self::GetExtendedCard(request) => &mut request.tenant,
        };
        *slot = tenant.into();
    }
}

/// Send a message: to a new task, to an existing one, or for a direct answer.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[non_exhaustive]
pub struct SendMessage {
    /// Routing value; empty when the interface has none.
    #[serde(deserialize_with = "json::or_default", skip_serializing_if = "String::is_empty")]
    pub tenant: String,
    /// The message.
    #[serde(deserialize_with = "json::or_default")]
    pub message: Message,
    /// Options.
    #[serde(deserialize_with = "json::or_default", skip_serializing_if = "SendConfiguration::is_default")]
    pub configuration: SendConfiguration,
    /// Facts about the request, and extension values.
    #[serde(deserialize_with = "json::or_default", skip_serializing_if = "Object::is_empty")]
    pub metadata: Object,
    /// The way the request came in.
    #[serde(skip)]
    pub origin: Origin,
    /// Whether a task id that names no task makes a task of that id: v0.1 clients choose their
    /// ids. Everyone else gets "task not found".
    #[serde(skip)]
    pub create_missing: bool,
}

/// Options of a send request.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[non_exhaustive]
pub struct SendConfiguration {
    /// MIME types that the client can take; empty means anything.
    #[serde(alias = "accepted_output_modes", deserialize_with = "json::or_default", skip_serializing_if = "Vec::is_empty")]
    pub accepted_output_modes: Vec<String>,
    /// A webhook to register for the task before work starts.
    #[serde(alias = "task_push_notification_config", rename = "taskPushNotificationConfig", skip_serializing_if = "Option::is_none")]
    pub push_config: Option<Box<PushConfig>>,
    /// How many messages of history the answer may hold; `None` leaves it to the server.
    #[serde(alias = "history_length", deserialize_with = "json::int32", skip_serializing_if = "Option::is_none")]
    pub history_length: Option<i32>,
    /// Answer as soon as the task exists, instead of when it is finished or waits.
    #[serde(alias = "return_immediately", deserialize_with = "json::or_default", skip_serializing_if = "json::is_false")]
    pub return_immediately: bool,
}

impl SendConfiguration {
    /// Whether nothing was asked for.
    #[must_use]
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// Read one task.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[non_exhaustive]
pub struct GetTask {
    /// Routing value; empty when the interface has none.
    #[serde(deserialize_with = "json::or_default", skip_serializing_if = "String::is_empty")]
    pub tenant: String,
    /// The task.
    #[serde(deserialize_with = "json::or_default")]
    pub id: TaskId,
    /// How many messages of history the answer may hold.
    #[serde(alias = "history_length", deserialize_with = "json::int32", skip_serializing_if = "Option::is_none")]
    pub history_length: Option<i32>,
}

/// List tasks, newest status first.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[non_exhaustive]
pub struct ListTasks {
    /// Routing value; empty when the interface has none.
    #[serde(deserialize_with = "json::or_default", skip_serializing_if = "String::is_empty")]
    pub tenant: String,
    /// Only tasks of this conversation.
    #[serde(alias = "context_id", deserialize_with = "json::non_empty", skip_serializing_if = "Option::is_none")]
    pub context_id: Option<ContextId>,
    /// Only tasks in this state; `Unspecified` means all.
    #[serde(skip_serializing_if = "is_unspecified")]
    pub status: TaskState,
    /// At most this many tasks, 1 to 100; 50 when not said.
    #[serde(alias = "page_size", deserialize_with = "json::int32", skip_serializing_if = "Option::is_none")]
    pub page_size: Option<i32>,
    /// Where the previous page ended; empty for the first page.
    #[serde(alias = "page_token", deserialize_with = "json::or_default", skip_serializing_if = "String::is_empty")]
    pub page_token: String,
    /// How many messages of history each task may hold.
    #[serde(alias = "history_length", deserialize_with = "json::int32", skip_serializing_if = "Option::is_none")]
    pub history_length: Option<i32>,
    /// Only tasks whose status is at least this new.
    #[serde(alias = "status_timestamp_after", skip_serializing_if = "Option::is_none")]
    pub status_timestamp_after: Option<Timestamp>,
    /// Whether the tasks carry their artifacts; no when not said.
    #[serde(alias = "include_artifacts", skip_serializing_if = "Option::is_none")]
    pub include_artifacts: Option<bool>,
    /// Only tasks that were handed over to another agent, or only others. v1.0 cannot say it: there they are completed.
    #[serde(skip)]
    pub handed_over: Option<bool>,
}

impl ListTasks {
    /// The page size when none is asked for.
    pub const DEFAULT_PAGE_SIZE: i32 = 50;
    /// The largest page.
    pub const MAX_PAGE_SIZE: i32 = 100;

    /// The page size that applies.
    #[must_use]
    pub fn applied_page_size(&self) -> i32 {
        self.page_size.unwrap_or(Self::DEFAULT_PAGE_SIZE)
    }

    /// Whether the tasks of the answer carry their artifacts.
    #[must_use]
    pub fn with_artifacts(&self) -> bool {
        self.include_artifacts.unwrap_or(false)
    }
}

fn is_unspecified(state: &TaskState) -> bool {
    *state == TaskState::Unspecified
}

/// Cancel a task.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[non_exhaustive]
pub struct CancelTask {
    /// Routing value; empty when the interface has none.
    #[serde(deserialize_with = "json::or_default", skip_serializing_if = "String::is_empty")]
    pub tenant: String,
    /// The task.
    #[serde(deserialize_with = "json::or_default")]
    pub id: TaskId,
    /// Facts about the request, and extension values.
    #[serde(deserialize_with = "json::or_default", skip_serializing_if = "Object::is_empty")]
    pub metadata: Object,
}

/// Watch a task.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[non_exhaustive]
pub struct Subscribe {
    /// Routing value; empty when the interface has none.
    #[serde(deserialize_with = "json::or_default", skip_serializing_if = "String::is_empty")]
    pub tenant: String,
    /// The task.
    #[serde(deserialize_with = "json::or_default")]
    pub id: TaskId,
}

/// Read one webhook config.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[non_exhaustive]
pub struct GetPushConfig {
    /// Routing value; empty when the interface has none.
    #[serde(deserialize_with = "json::or_default", skip_serializing_if = "String::is_empty")]
    pub tenant: String,
    /// The task.
    #[serde(alias = "task_id", deserialize_with = "json::or_default")]
    pub task_id: TaskId,
    /// The config. `None`, which v1.0 refuses, asks for the one named like the task, else the first.
    #[serde(deserialize_with = "json::non_empty", skip_serializing_if = "Option::is_none")]
    pub id: Option<PushConfigId>,
}

/// List a task's webhook configs.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[non_exhaustive]
pub struct ListPushConfigs {
    /// Routing value; empty when the interface has none.
    #[serde(deserialize_with = "json::or_default", skip_serializing_if = "String::is_empty")]
    pub tenant: String,
    /// The task.
    #[serde(alias = "task_id", deserialize_with = "json::or_default")]
    pub task_id: TaskId,
    /// At most this many configs; 0 leaves it to the server.
    #[serde(alias = "page_size", deserialize_with = "json::int32_or_zero", skip_serializing_if = "json::is_zero")]
    pub page_size: i32,
    /// Where the previous page ended; empty for the first page.
    #[serde(alias = "page_token", deserialize_with = "json::or_default", skip_serializing_if = "String::is_empty")]
    pub page_token: String,
}

/// Remove a webhook config.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[non_exhaustive]
pub struct DeletePushConfig {
    /// Routing value; empty when the interface has none.
    #[serde(deserialize_with = "json::or_default", skip_serializing_if = "String::is_empty")]
    pub tenant: String,
    /// The task.
    #[serde(alias = "task_id", deserialize_with = "json::or_default")]
    pub task_id: TaskId,
    /// The config.
    #[serde(deserialize_with = "json::or_default")]
    pub id: PushConfigId,
}

/// Read the card for authenticated callers.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[non_exhaustive]
pub struct GetExtendedCard {
    /// Routing value; empty when the interface has none.
    #[serde(deserialize_with = "json::or_default", skip_serializing_if = "String::is_empty")]
    pub tenant: String,
}

impl SendMessage {
    /// A request to send this message, with no options.
    pub fn new(message: impl Into<Message>) -> Self {
        Self { message: message.into(), ..Self::default() }
    }
}

impl GetTask {
    /// A request for this task.
    pub fn new(id: impl Into<TaskId>) -> Self {
        Self { id: id.into(), ..Self::default() }
    }
}

impl CancelTask {
    /// A request to cancel this task.
    pub fn new(id: impl Into<TaskId>) -> Self {
        Self { id: id.into(), ..Self::default() }
    }
}

impl Subscribe {
    /// A request to watch this task.
    pub fn new(id: impl Into<TaskId>) -> Self {
        Self { id: id.into(), ..Self::default() }
    }
}

impl GetPushConfig {
    /// A request for this config of this task.
    pub fn new(task: impl Into<TaskId>, id: impl Into<PushConfigId>) -> Self {
        Self { task_id: task.into(), id: id.into().present(), ..Self::default() }
    }
}

impl ListPushConfigs {
    /// A request for the configs of this task.
    pub fn new(task: impl Into<TaskId>) -> Self {
        Self { task_id: task.into(), ..Self::default() }
    }
}

impl DeletePushConfig {
    /// A request to remove this config of this task.
    pub fn new(task: impl Into<TaskId>, id: impl Into<PushConfigId>) -> Self {
        Self { task_id: task.into(), id: id.into(), ..Self::default() }
    }
}
