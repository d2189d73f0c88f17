//! Requests: the `params` of each method.

use chancery_core::{
    CancelTask, DeletePushConfig, Error, ErrorKind, GetExtendedCard, GetPushConfig, GetTask, ListPushConfigs, MessageId, Object, Operation,
    PushConfigId, Request, Result, SendConfiguration, SendMessage, Subscribe, TaskId, Version, json as proto_json,
};
use serde::{Deserialize, Deserializer, Serialize};

use super::{
    list,
    message::{ReadMessage, WriteMessage},
    push_config::{self, ReadConfig, WriteConfig},
    spelling::read,
};
use crate::json;

/// Reads the params of a method. Their `metadata` is kept where v1.0 has a place for it: in a send
/// and a cancel.
pub(super) fn decode(operation: Operation, json: &[u8]) -> Result<Request> {
    Ok(match operation {
        Operation::SendMessage => Request::SendMessage(Box::new(read::<ReadSend>(json)?.0)),
        Operation::StreamMessage => Request::StreamMessage(Box::new(read::<ReadSend>(json)?.0)),
        Operation::GetTask => Request::GetTask(read::<TaskCall>(json)?.get()),
        Operation::CancelTask => Request::CancelTask(read::<TaskCall>(json)?.cancel()),
        Operation::Subscribe => Request::Subscribe(read::<TaskCall>(json)?.subscribe()),
        Operation::ListTasks => Request::ListTasks(list::decode(json)?),
        Operation::CreatePushConfig => Request::CreatePushConfig(Box::new(push_config::decode(json)?)),
        Operation::GetPushConfig => Request::GetPushConfig(read::<PushCall>(json)?.get()),
        Operation::ListPushConfigs => Request::ListPushConfigs(read::<PushCall>(json)?.list()),
        Operation::DeletePushConfig => Request::DeletePushConfig(read::<PushCall>(json)?.delete()),
        Operation::GetExtendedCard => Request::GetExtendedCard(read::<Option<GetExtendedCard>>(json)?.unwrap_or_default()),
    })
}

/// Writes the params of a method.
pub(super) fn encode(request: &Request, version: Version) -> Result<Vec<u8>> {
    match request {
        Request::SendMessage(send) | Request::StreamMessage(send) => json::write(&WriteSend::of(send, version)),
        Request::GetTask(get) => json::write(&WriteTaskCall::new(&get.tenant, &get.id).history_length(get.history_length)),
        Request::CancelTask(cancel) => json::write(&WriteTaskCall::new(&cancel.tenant, &cancel.id).metadata(&cancel.metadata)),
        Request::Subscribe(subscribe) => json::write(&WriteTaskCall::new(&subscribe.tenant, &subscribe.id)),
        Request::ListTasks(list) => list::encode(list),
        Request::CreatePushConfig(config) => push_config::encode(config),
        Request::GetPushConfig(get) => json::write(&WriteTaskCall::new(&get.tenant, &get.task_id).config(get.id.as_ref())),
        Request::ListPushConfigs(list) => json::write(&WriteTaskCall::new(&list.tenant, &list.task_id)),
        Request::DeletePushConfig(delete) => json::write(&WriteTaskCall::new(&delete.tenant, &delete.task_id).config(Some(&delete.id))),
        Request::GetExtendedCard(_) if version == Version::V0_2 => {
            Err(Error::new(ErrorKind::UnsupportedOperation, "A2A 0.2 has the extended card at a path of its own"))
        }
        Request::GetExtendedCard(card) => json::write(card),
    }
}

/// 0 asks for all messages here and for none in v1.0, so it is not passed on (CONV-SEND-001,
/// CONV-SEND-003); the client then strips what it did not want.
fn history_length(length: Option<i32>) -> Option<i32> {
    length.filter(|length| *length != 0)
}

struct ReadSend(SendMessage);

impl<'de> Deserialize<'de> for ReadSend {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Members {
            tenant: Option<String>,
            message: Option<ReadMessage>,
            // Where some write the id that belongs into the message.
            #[serde(alias = "message_id")]
            message_id: Option<MessageId>,
            configuration: Option<ReadConfiguration>,
            metadata: Option<Object>,
        }
        let members = Members::deserialize(deserializer)?;
        let mut send = SendMessage::default();
        send.tenant = members.tenant.unwrap_or_default();
        if let Some(message) = members.message {
            send.message = message.0;
            if send.message.message_id.is_empty() {
                send.message.message_id = members.message_id.unwrap_or_default();
            }
        }
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
            #[serde(default, alias = "history_length", deserialize_with = "proto_json::int32")]
            history_length: Option<i32>,
            #[serde(alias = "push_notification_config")]
            push_notification_config: Option<ReadConfig>,
            blocking: Option<bool>,
        }
        let members = Members::deserialize(deserializer)?;
        let mut configuration = SendConfiguration::default();
        configuration.accepted_output_modes = members.accepted_output_modes.unwrap_or_default();
        configuration.history_length = history_length(members.history_length);
        configuration.push_config = members.push_notification_config.map(|config| Box::new(config.0));
        configuration.return_immediately = members.blocking == Some(false);
        Ok(Self(configuration))
    }
}

/// `TaskQueryParams` and `TaskIdParams`.
#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct TaskCall {
    tenant: Option<String>,
    id: Option<TaskId>,
    #[serde(alias = "history_length", deserialize_with = "proto_json::int32")]
    history_length: Option<i32>,
    metadata: Option<Object>,
}

impl TaskCall {
    fn get(self) -> GetTask {
        let mut get = GetTask::new(self.id.unwrap_or_default());
        get.tenant = self.tenant.unwrap_or_default();
        get.history_length = history_length(self.history_length);
        get
    }

    fn cancel(self) -> CancelTask {
        let mut cancel = CancelTask::new(self.id.unwrap_or_default());
        cancel.tenant = self.tenant.unwrap_or_default();
        cancel.metadata = self.metadata.unwrap_or_default();
        cancel
    }

    fn subscribe(self) -> Subscribe {
        let mut subscribe = Subscribe::new(self.id.unwrap_or_default());
        subscribe.tenant = self.tenant.unwrap_or_default();
        subscribe
    }
}

/// Params of push config calls: `id` is the task.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct PushCall {
    tenant: Option<String>,
    id: Option<TaskId>,
    #[serde(alias = "push_notification_config_id")]
    push_notification_config_id: Option<PushConfigId>,
}

impl PushCall {
    fn get(self) -> GetPushConfig {
        let mut get = GetPushConfig::new(self.id.unwrap_or_default(), self.push_notification_config_id.unwrap_or_default());
        get.tenant = self.tenant.unwrap_or_default();
        get
    }

    fn list(self) -> ListPushConfigs {
        let mut list = ListPushConfigs::new(self.id.unwrap_or_default());
        list.tenant = self.tenant.unwrap_or_default();
        list
    }

    fn delete(self) -> DeletePushConfig {
        let mut delete = DeletePushConfig::new(self.id.unwrap_or_default(), self.push_notification_config_id.unwrap_or_default());
        delete.tenant = self.tenant.unwrap_or_default();
        delete
    }
}

#[derive(Serialize)]
struct WriteSend<'a> {
    #[serde(skip_serializing_if = "str::is_empty")]
    tenant: &'a str,
    message: WriteMessage<'a>,
    configuration: WriteConfiguration<'a>,
    #[serde(skip_serializing_if = "Object::is_empty")]
    metadata: &'a Object,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct WriteConfiguration<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    accepted_output_modes: Option<&'a [String]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    history_length: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    push_notification_config: Option<WriteConfig<'a>>,
    /// Peers differ in what they take its absence for, so it is always said (CONV-SEND-002).
    blocking: bool,
}

impl<'a> WriteSend<'a> {
    fn of(send: &'a SendMessage, version: Version) -> Self {
        let configuration = &send.configuration;
        let modes = configuration.accepted_output_modes.as_slice();
        Self {
            tenant: &send.tenant,
            message: WriteMessage::of(&send.message),
            configuration: WriteConfiguration {
                // Until v0.2.5 the member is required (V02-VER-002).
                accepted_output_modes: Some(modes).filter(|modes| version == Version::V0_2 || !modes.is_empty()),
                history_length: history_length(configuration.history_length),
                push_notification_config: configuration.push_config.as_deref().map(WriteConfig::of),
                blocking: !configuration.return_immediately,
            },
            metadata: &send.metadata,
        }
    }
}

/// Params of all calls that name one task.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct WriteTaskCall<'a> {
    #[serde(skip_serializing_if = "str::is_empty")]
    tenant: &'a str,
    id: &'a TaskId,
    #[serde(skip_serializing_if = "Option::is_none")]
    push_notification_config_id: Option<&'a PushConfigId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    history_length: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    metadata: Option<&'a Object>,
}

impl<'a> WriteTaskCall<'a> {
    fn new(tenant: &'a str, id: &'a TaskId) -> Self {
        Self { tenant, id, push_notification_config_id: None, history_length: None, metadata: None }
    }

    fn history_length(mut self, length: Option<i32>) -> Self {
        self.history_length = history_length(length);
        self
    }

    fn metadata(mut self, metadata: &'a Object) -> Self {
        self.metadata = Some(metadata).filter(|metadata| !metadata.is_empty());
        self
    }

    fn config(mut self, id: Option<&'a PushConfigId>) -> Self {
        self.push_notification_config_id = id;
        self
    }
}
