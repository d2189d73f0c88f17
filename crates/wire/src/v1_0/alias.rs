//! Requests in v1.0 with the names that other versions give to the same things.
//!
//! | where | read as |
//! |---|---|
//! | part `kind`, `type` | nothing, when it agrees with the other members |
//! | part `structuredData`, `mimeType`, `file {uri, bytes, name, …}` | `data`, `mediaType`, `url` or `raw` with `filename` |
//! | role `user`, `agent`; any spelling of a state | the v1.0 names |
//! | message `transfer_context` | extension data ([`transfer`](crate::transfer)) |
//! | `blocking`, `pushNotificationConfig`, `pushNotification` | `returnImmediately` inverted, `taskPushNotificationConfig` |
//! | `taskId` or `name: "tasks/{id}"` for the `id` of a task | `id` |
//! | `configId`, `pushNotificationConfigId`, a nested `pushNotificationConfig` | `id`, the members themselves |
//! | `authentication` `schemes`, `value` | `scheme`, `credentials` |
//!
//! An alias beside the real member is fine when both say the same, and an error otherwise.

use std::fmt;

use chancery_core::{
    Authentication, CancelTask, Content, ContextId, DeletePushConfig, GetPushConfig, GetTask, ListPushConfigs, ListTasks, Message,
    MessageId, Object, Operation, Part, PushConfig, PushConfigId, Request, Result, Role, Secret, SendConfiguration, SendMessage, Subscribe,
    TaskId, TaskState, Timestamp, json as proto_json,
};
use serde::{Deserialize, Deserializer, de};
use serde_json::Value;

use crate::{json, states, transfer};

pub(super) fn decode_request(operation: Operation, json: &[u8]) -> Result<Request> {
    Ok(match operation {
        Operation::SendMessage => Request::SendMessage(json::read::<ReadSend>(json)?.0),
        Operation::StreamMessage => Request::StreamMessage(json::read::<ReadSend>(json)?.0),
        Operation::GetTask => Request::GetTask(json::read::<TaskCall>(json)?.get()),
        Operation::CancelTask => Request::CancelTask(json::read::<TaskCall>(json)?.cancel()),
        Operation::Subscribe => Request::Subscribe(json::read::<TaskCall>(json)?.subscribe()),
        Operation::ListTasks => Request::ListTasks(json::read::<ReadList>(json)?.0),
        Operation::CreatePushConfig => Request::CreatePushConfig(json::read::<ReadPushConfig>(json)?.0),
        Operation::GetPushConfig => Request::GetPushConfig(json::read::<PushCall>(json)?.get()),
        Operation::ListPushConfigs => Request::ListPushConfigs(json::read::<PushCall>(json)?.list()),
        Operation::DeletePushConfig => Request::DeletePushConfig(json::read::<PushCall>(json)?.delete()),
        Operation::GetExtendedCard => Request::GetExtendedCard(json::read(json)?),
    })
}

/// The one value of several spellings of a member; two different values are an error.
pub(crate) fn agree<T: PartialEq, E: de::Error, const N: usize>(name: &str, spellings: [Option<T>; N]) -> Result<Option<T>, E> {
    spellings.into_iter().try_fold(None, |found, value| match (found, value) {
        (found, None) => Ok(found),
        (None, value) => Ok(value),
        (Some(found), Some(value)) if found == value => Ok(Some(found)),
        _ => Err(E::custom(format_args!("{name} is given twice with different values"))),
    })
}

// In a box from the beginning, as the request has it: a result is handed on several times while it is read.
struct ReadSend(Box<SendMessage>);

impl<'de> Deserialize<'de> for ReadSend {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        struct Members {
            tenant: Option<String>,
            message: Option<ReadMessage>,
            configuration: Option<ReadConfiguration>,
            metadata: Option<Object>,
        }
        let members = Members::deserialize(deserializer)?;
        let mut send = Box::<SendMessage>::default();
        send.tenant = members.tenant.unwrap_or_default();
        send.message = members.message.map(|message| message.0).unwrap_or_default();
        send.configuration = members.configuration.map(|configuration| configuration.0).unwrap_or_default();
        send.metadata = members.metadata.unwrap_or_default();
        Ok(Self(send))
    }
}

struct ReadConfiguration(SendConfiguration);

impl<'de> Deserialize<'de> for ReadConfiguration {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Members {
            #[serde(alias = "accepted_output_modes")]
            accepted_output_modes: Option<Vec<String>>,
            #[serde(alias = "task_push_notification_config")]
            task_push_notification_config: Option<ReadPushConfig>,
            #[serde(alias = "push_notification_config")]
            push_notification_config: Option<ReadPushConfig>,
            #[serde(alias = "push_notification")]
            push_notification: Option<ReadPushConfig>,
            #[serde(default, alias = "history_length", deserialize_with = "proto_json::int32")]
            history_length: Option<i32>,
            #[serde(alias = "return_immediately")]
            return_immediately: Option<bool>,
            blocking: Option<bool>,
        }
        let members = Members::deserialize(deserializer)?;
        let configs = [members.task_push_notification_config, members.push_notification_config, members.push_notification];
        let mut configuration = SendConfiguration::default();
        configuration.accepted_output_modes = members.accepted_output_modes.unwrap_or_default();
        configuration.push_config = agree("taskPushNotificationConfig", configs.map(|config| config.map(|config| config.0)))?;
        configuration.history_length = members.history_length;
        configuration.return_immediately =
            agree("returnImmediately", [members.return_immediately, members.blocking.map(|wait| !wait)])?.unwrap_or_default();
        Ok(Self(configuration))
    }
}

pub(crate) struct ReadMessage(pub(crate) Message);

impl ReadMessage {
    /// The message, with an id made for it where the sender may leave it out.
    pub(crate) fn identified(self) -> Message {
        let mut message = self.0;
        if message.message_id.is_empty() {
            message.message_id = MessageId::generate();
        }
        message
    }
}

impl<'de> Deserialize<'de> for ReadMessage {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Members {
            #[serde(alias = "message_id")]
            message_id: Option<MessageId>,
            #[serde(default, alias = "context_id", deserialize_with = "proto_json::non_empty")]
            context_id: Option<ContextId>,
            #[serde(default, alias = "task_id", deserialize_with = "proto_json::non_empty")]
            task_id: Option<TaskId>,
            role: Option<ReadRole>,
            parts: Option<Vec<ReadPart>>,
            metadata: Option<Object>,
            extensions: Option<Vec<String>>,
            #[serde(alias = "reference_task_ids")]
            reference_task_ids: Option<Vec<TaskId>>,
            #[serde(alias = "transfer_context")]
            transfer_context: Option<Object>,
        }
        let members = Members::deserialize(deserializer)?;
        let mut message = Message::default();
        message.message_id = members.message_id.unwrap_or_default();
        message.context_id = members.context_id;
        message.task_id = members.task_id;
        message.role = members.role.map(|role| role.0).unwrap_or_default();
        message.parts = members.parts.unwrap_or_default().into_iter().map(|part| part.0).collect();
        message.metadata = members.metadata.unwrap_or_default();
        message.extensions = members.extensions.unwrap_or_default();
        message.reference_task_ids = members.reference_task_ids.unwrap_or_default();
        if let Some(context) = members.transfer_context {
            transfer::set_context(&mut message, context);
        }
        Ok(Self(message))
    }
}

pub(crate) struct ReadRole(pub(crate) Role);

impl<'de> Deserialize<'de> for ReadRole {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl de::Visitor<'_> for Visitor {
            type Value = ReadRole;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("ROLE_USER or ROLE_AGENT")
            }
            fn visit_str<E: de::Error>(self, name: &str) -> Result<ReadRole, E> {
                match name {
                    "user" => Ok(ReadRole(Role::User)),
                    "agent" => Ok(ReadRole(Role::Agent)),
                    name => Role::from_name(name).map(ReadRole).ok_or_else(|| E::custom(format_args!("unknown role {name}"))),
                }
            }
            fn visit_i64<E: de::Error>(self, number: i64) -> Result<ReadRole, E> {
                Role::from_number(number).map(ReadRole).ok_or_else(|| E::custom(format_args!("unknown role {number}")))
            }
            fn visit_u64<E: de::Error>(self, number: u64) -> Result<ReadRole, E> {
                self.visit_i64(i64::try_from(number).unwrap_or(i64::MAX))
            }
        }
        deserializer.deserialize_any(Visitor)
    }
}

pub(crate) struct ReadPart(pub(crate) Part);

impl<'de> Deserialize<'de> for ReadPart {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Members {
            text: Option<String>,
            raw: Option<String>,
            url: Option<String>,
            #[serde(default, deserialize_with = "proto_json::present")]
            data: Option<Value>,
            metadata: Option<Object>,
            filename: Option<String>,
            #[serde(alias = "media_type")]
            media_type: Option<String>,
            kind: Option<String>,
            r#type: Option<String>,
            #[serde(default, alias = "structured_data", deserialize_with = "proto_json::present")]
            structured_data: Option<Value>,
            #[serde(alias = "mime_type")]
            mime_type: Option<String>,
            file: Option<ReadFile>,
        }
        let members = Members::deserialize(deserializer)?;
        let file = members.file.unwrap_or_default();
        let bytes = |text: Option<String>| {
            text.map(|text| proto_json::from_base64(&text).ok_or_else(|| de::Error::custom("raw is not base64"))).transpose()
        };
        let raw = agree("raw", [bytes(members.raw)?, bytes(file.bytes)?])?;
        let url = agree("url", [members.url, file.uri])?;
        let data = agree("data", [members.data, members.structured_data])?;
        let (content, kind) = match (members.text, raw, url, data) {
            (Some(text), None, None, None) => (Content::Text(text), "text"),
            (None, Some(raw), None, None) => (Content::Raw(raw), "file"),
            (None, None, Some(url), None) => (Content::Url(url), "file"),
            (None, None, None, Some(data)) => (Content::Data(data), "data"),
            _ => return Err(de::Error::custom("a part holds exactly one of text, raw, url, data")),
        };
        if [members.kind, members.r#type].iter().flatten().any(|said| said != kind) {
            return Err(de::Error::custom(format_args!("the kind of the part contradicts its content, which is {kind}")));
        }
        let mut part = Part::new(content);
        part.metadata = members.metadata.unwrap_or_default();
        part.filename = agree("filename", [members.filename, file.name])?.unwrap_or_default();
        part.media_type = agree("mediaType", [members.media_type, members.mime_type, file.mime_type])?.unwrap_or_default();
        Ok(Self(part))
    }
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase")]
struct ReadFile {
    #[serde(alias = "fileWithUri", alias = "file_with_uri")]
    uri: Option<String>,
    #[serde(alias = "fileWithBytes", alias = "file_with_bytes")]
    bytes: Option<String>,
    name: Option<String>,
    #[serde(alias = "mime_type", alias = "mediaType", alias = "media_type")]
    mime_type: Option<String>,
}

/// A state filter, in any spelling.
struct ReadState(TaskState);

impl<'de> Deserialize<'de> for ReadState {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl de::Visitor<'_> for Visitor {
            type Value = ReadState;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a task state such as TASK_STATE_WORKING")
            }
            fn visit_str<E: de::Error>(self, word: &str) -> Result<ReadState, E> {
                states::read(word).map(ReadState).ok_or_else(|| E::custom(format_args!("unknown task state {word}")))
            }
            fn visit_u64<E: de::Error>(self, number: u64) -> Result<ReadState, E> {
                let state = i64::try_from(number).ok().and_then(TaskState::from_number);
                state.map(ReadState).ok_or_else(|| E::custom(format_args!("unknown task state {number}")))
            }
        }
        deserializer.deserialize_any(Visitor)
    }
}

/// What a list is narrowed to: tasks in a state, or tasks that were handed over (HO-5).
enum Narrowed {
    State(TaskState),
    HandedOver,
}

impl<'de> Deserialize<'de> for Narrowed {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let said = serde_json::Value::deserialize(deserializer)?;
        if said == crate::transfer::STATE {
            return Ok(Self::HandedOver);
        }
        ReadState::deserialize(said).map(|state| Self::State(state.0)).map_err(serde::de::Error::custom)
    }
}

pub(crate) struct ReadList(pub(crate) ListTasks);

impl<'de> Deserialize<'de> for ReadList {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Members {
            tenant: Option<String>,
            #[serde(default, alias = "context_id", deserialize_with = "proto_json::non_empty")]
            context_id: Option<ContextId>,
            status: Option<Narrowed>,
            #[serde(default, alias = "page_size", deserialize_with = "proto_json::int32")]
            page_size: Option<i32>,
            #[serde(alias = "page_token")]
            page_token: Option<String>,
            #[serde(default, alias = "history_length", deserialize_with = "proto_json::int32")]
            history_length: Option<i32>,
            // The pre-release name is still sent by one SDK.
            #[serde(alias = "status_timestamp_after", alias = "lastUpdatedAfter")]
            status_timestamp_after: Option<Timestamp>,
            #[serde(alias = "include_artifacts")]
            include_artifacts: Option<bool>,
        }
        let members = Members::deserialize(deserializer)?;
        let mut list = ListTasks::default();
        list.tenant = members.tenant.unwrap_or_default();
        list.context_id = members.context_id;
        match members.status {
            Some(Narrowed::State(state)) => list.status = state,
            Some(Narrowed::HandedOver) => (list.status, list.handed_over) = (TaskState::Completed, Some(true)),
            None => {}
        }
        list.page_size = members.page_size;
        list.page_token = members.page_token.unwrap_or_default();
        list.history_length = members.history_length;
        list.status_timestamp_after = members.status_timestamp_after;
        list.include_artifacts = members.include_artifacts;
        Ok(Self(list))
    }
}

/// Get, cancel and subscribe: one task id under several names.
pub(crate) struct TaskCall {
    tenant: String,
    id: TaskId,
    history_length: Option<i32>,
    metadata: Object,
}

impl<'de> Deserialize<'de> for TaskCall {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Members {
            tenant: Option<String>,
            id: Option<TaskId>,
            #[serde(alias = "task_id")]
            task_id: Option<TaskId>,
            name: Option<String>,
            #[serde(default, alias = "history_length", deserialize_with = "proto_json::int32")]
            history_length: Option<i32>,
            metadata: Option<Object>,
        }
        let members = Members::deserialize(deserializer)?;
        let named = members.name.and_then(|name| name.strip_prefix("tasks/").map(TaskId::from));
        Ok(Self {
            tenant: members.tenant.unwrap_or_default(),
            id: agree("id", [members.id, members.task_id, named])?.unwrap_or_default(),
            history_length: members.history_length,
            metadata: members.metadata.unwrap_or_default(),
        })
    }
}

impl TaskCall {
    pub(crate) fn get(self) -> GetTask {
        let mut get = GetTask::new(self.id);
        (get.tenant, get.history_length) = (self.tenant, self.history_length);
        get
    }

    pub(crate) fn cancel(self) -> CancelTask {
        let mut cancel = CancelTask::new(self.id);
        (cancel.tenant, cancel.metadata) = (self.tenant, self.metadata);
        cancel
    }

    pub(crate) fn subscribe(self) -> Subscribe {
        let mut subscribe = Subscribe::new(self.id);
        subscribe.tenant = self.tenant;
        subscribe
    }
}

/// Get, list and delete of push configs.
pub(crate) struct PushCall {
    tenant: String,
    pub(crate) task_id: TaskId,
    pub(crate) id: PushConfigId,
    page_size: i32,
    page_token: String,
}

impl<'de> Deserialize<'de> for PushCall {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Members {
            tenant: Option<String>,
            #[serde(alias = "task_id")]
            task_id: Option<TaskId>,
            id: Option<PushConfigId>,
            #[serde(alias = "config_id")]
            config_id: Option<PushConfigId>,
            #[serde(alias = "push_notification_config_id")]
            push_notification_config_id: Option<PushConfigId>,
            #[serde(default, alias = "page_size", deserialize_with = "proto_json::int32")]
            page_size: Option<i32>,
            #[serde(alias = "page_token")]
            page_token: Option<String>,
        }
        let members = Members::deserialize(deserializer)?;
        Ok(Self {
            tenant: members.tenant.unwrap_or_default(),
            task_id: members.task_id.unwrap_or_default(),
            id: agree("id", [members.id, members.config_id, members.push_notification_config_id])?.unwrap_or_default(),
            page_size: members.page_size.unwrap_or_default(),
            page_token: members.page_token.unwrap_or_default(),
        })
    }
}

impl PushCall {
    pub(crate) fn get(self) -> GetPushConfig {
        let mut get = GetPushConfig::new(self.task_id, self.id);
        get.tenant = self.tenant;
        get
    }

    pub(crate) fn list(self) -> ListPushConfigs {
        let mut list = ListPushConfigs::new(self.task_id);
        (list.tenant, list.page_size, list.page_token) = (self.tenant, self.page_size, self.page_token);
        list
    }

    pub(crate) fn delete(self) -> DeletePushConfig {
        let mut delete = DeletePushConfig::new(self.task_id, self.id);
        delete.tenant = self.tenant;
        delete
    }
}

// In a box, for most messages have none and three names for it.
struct ReadPushConfig(Box<PushConfig>);

impl<'de> Deserialize<'de> for ReadPushConfig {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Members {
            tenant: Option<String>,
            id: Option<PushConfigId>,
            #[serde(alias = "config_id")]
            config_id: Option<PushConfigId>,
            #[serde(alias = "push_notification_config_id")]
            push_notification_config_id: Option<PushConfigId>,
            #[serde(alias = "task_id")]
            task_id: Option<TaskId>,
            url: Option<String>,
            token: Option<Secret>,
            authentication: Option<ReadAuthentication>,
            #[serde(alias = "push_notification_config")]
            push_notification_config: Option<ReadPushConfig>,
        }
        let members = Members::deserialize(deserializer)?;
        let nested = members.push_notification_config.map(|config| *config.0).unwrap_or_default();
        let text = |text: String| Some(text).filter(|text| !text.is_empty());
        let mut config = Box::<PushConfig>::default();
        config.tenant = members.tenant.unwrap_or_default();
        config.id =
            agree("id", [members.id, members.config_id, members.push_notification_config_id, nested.id.present()])?.unwrap_or_default();
        config.task_id = agree("taskId", [members.task_id, nested.task_id.present()])?.unwrap_or_default();
        config.url = agree("url", [members.url, text(nested.url)])?.unwrap_or_default();
        config.token = agree("token", [members.token, Some(nested.token).filter(|token| !token.is_empty())])?.unwrap_or_default();
        config.authentication = agree("authentication", [members.authentication.map(|found| found.0), nested.authentication])?;
        Ok(Self(config))
    }
}

struct ReadAuthentication(Authentication);

impl<'de> Deserialize<'de> for ReadAuthentication {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        struct Members {
            scheme: Option<String>,
            schemes: Option<Vec<String>>,
            credentials: Option<Secret>,
            value: Option<Secret>,
        }
        let members = Members::deserialize(deserializer)?;
        let first = members.schemes.and_then(|schemes| schemes.into_iter().next());
        let scheme = agree("scheme", [members.scheme, first])?.unwrap_or_default();
        let credentials = agree("credentials", [members.credentials, members.value])?.unwrap_or_default();
        Ok(Self(Authentication::new(scheme, credentials)))
    }
}
