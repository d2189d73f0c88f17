//! The requests of the compact dialect. Their members are those of v1.0 under other names, so they
//! are read by v1.0's tolerant reader; only sending and webhooks have rules of their own.

use chancery_core::{
    ListPushConfigs, ListTasks, Object, Operation, Request, Result, SendConfiguration, SendMessage, TaskId, TaskState, json as proto_json,
};
use serde::{Deserialize, Deserializer, Serialize, Serializer, ser::SerializeMap};

use super::{
    push::{ReadConfig, WriteConfig},
    write::WriteMessage,
};
use crate::{
    Dialect,
    json::{self, Filled},
    states, transfer,
    v1_0::alias::{PushCall, ReadList, ReadMessage, TaskCall, agree},
};

pub(super) fn decode(operation: Operation, json: &[u8]) -> Result<Request> {
    Ok(match operation {
        Operation::SendMessage => {
            let ReadSend { mut send, blocking } = json::read(json)?;
            // Here the answer comes at once unless the client asks to wait (DIA-003-SEND-002).
            send.configuration.return_immediately = !blocking.unwrap_or_default();
            Request::SendMessage(Box::new(send))
        }
        Operation::StreamMessage => Request::StreamMessage(Box::new(json::read::<ReadSend>(json)?.send)),
        Operation::GetTask => Request::GetTask(json::read::<TaskCall>(json)?.get()),
        Operation::CancelTask => Request::CancelTask(json::read::<TaskCall>(json)?.cancel()),
        Operation::Subscribe => Request::Subscribe(json::read::<TaskCall>(json)?.subscribe()),
        Operation::ListTasks => {
            let mut list = json::read::<ReadList>(json)?.0;
            if list.status == TaskState::Completed {
                // The dialect has a state of its own for what was handed over.
                list.handed_over.get_or_insert(false);
            }
            Request::ListTasks(list)
        }
        Operation::CreatePushConfig => Request::CreatePushConfig(Box::new(json::read::<ReadConfig>(json)?.0)),
        Operation::GetPushConfig => Request::GetPushConfig(json::read::<PushCall>(json)?.get()),
        Operation::ListPushConfigs => Request::ListPushConfigs(list_configs(json::read(json)?)),
        Operation::DeletePushConfig => Request::DeletePushConfig(json::read::<PushCall>(json)?.delete()),
        Operation::GetExtendedCard => Request::GetExtendedCard(json::read(json)?),
    })
}

/// No config is meant here, so a bare `id` is the task's (DIA-003-RPC-002).
fn list_configs(mut call: PushCall) -> ListPushConfigs {
    if call.task_id.is_empty() {
        call.task_id = TaskId::from(std::mem::take(&mut call.id).into_string());
    }
    call.list()
}

struct ReadSend {
    send: SendMessage,
    blocking: Option<bool>,
}

impl<'de> Deserialize<'de> for ReadSend {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        struct Members {
            tenant: Option<String>,
            message: Option<ReadMessage>,
            configuration: Option<Configuration>,
            metadata: Option<Object>,
        }
        #[derive(Deserialize, Default)]
        #[serde(rename_all = "camelCase")]
        struct Configuration {
            #[serde(alias = "accepted_output_modes")]
            accepted_output_modes: Option<Vec<String>>,
            #[serde(alias = "push_notification_config", alias = "taskPushNotificationConfig")]
            push_notification_config: Option<ReadConfig>,
            #[serde(default, alias = "history_length", deserialize_with = "proto_json::int32")]
            history_length: Option<i32>,
            blocking: Option<bool>,
            #[serde(alias = "return_immediately")]
            return_immediately: Option<bool>,
        }
        let members = Members::deserialize(deserializer)?;
        let configuration = members.configuration.unwrap_or_default();
        let mut send = SendMessage::default();
        send.tenant = members.tenant.unwrap_or_default();
        send.message = members.message.map(ReadMessage::identified).unwrap_or_default();
        send.configuration.accepted_output_modes = configuration.accepted_output_modes.unwrap_or_default();
        send.configuration.push_config = configuration.push_notification_config.map(|config| Box::new(config.0));
        send.configuration.history_length = configuration.history_length;
        send.metadata = members.metadata.unwrap_or_default();
        let blocking = agree("blocking", [configuration.blocking, configuration.return_immediately.map(|at_once| !at_once)])?;
        Ok(Self { send, blocking })
    }
}

pub(super) fn encode(request: &Request) -> Result<Vec<u8>> {
    match request {
        Request::SendMessage(send) => json::write(&WriteSend { send, blocking: !send.configuration.return_immediately }),
        // A stream never keeps its client waiting.
        Request::StreamMessage(send) => json::write(&WriteSend { send, blocking: false }),
        Request::GetTask(get) => {
            json::write(&Call { task_id: get.id.as_str(), history_length: get.history_length, ..Call::new(&get.tenant) })
        }
        Request::ListTasks(list) => json::write(&WriteList(list)),
        Request::CancelTask(cancel) => {
            let metadata = Some(&cancel.metadata).filter(|metadata| !metadata.is_empty());
            json::write(&Call { task_id: cancel.id.as_str(), metadata, ..Call::new(&cancel.tenant) })
        }
        Request::Subscribe(subscribe) => json::write(&Call { task_id: subscribe.id.as_str(), ..Call::new(&subscribe.tenant) }),
        Request::CreatePushConfig(config) => json::write(&Call {
            task_id: config.task_id.as_str(),
            config_id: config.id.as_str(),
            push_notification_config: Some(WriteConfig::unnamed(config)),
            ..Call::new(&config.tenant)
        }),
        Request::GetPushConfig(get) => {
            let config_id = get.id.as_ref().map_or("", |id| id.as_str());
            json::write(&Call { task_id: get.task_id.as_str(), config_id, ..Call::new(&get.tenant) })
        }
        Request::ListPushConfigs(list) => json::write(&Call {
            task_id: list.task_id.as_str(),
            page_size: Some(list.page_size).filter(|size| *size != 0),
            page_token: &list.page_token,
            ..Call::new(&list.tenant)
        }),
        Request::DeletePushConfig(delete) => {
            json::write(&Call { task_id: delete.task_id.as_str(), config_id: delete.id.as_str(), ..Call::new(&delete.tenant) })
        }
        Request::GetExtendedCard(get) => json::write(&Call::new(&get.tenant)),
    }
}

struct WriteSend<'a> {
    send: &'a SendMessage,
    blocking: bool,
}

impl Serialize for WriteSend<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let send = self.send;
        let mut map = serializer.serialize_map(None)?;
        map.text("tenant", &send.tenant)?;
        map.serialize_entry("message", &WriteMessage::alone(&send.message))?;
        let configuration = WriteConfiguration { configuration: &send.configuration, blocking: self.blocking };
        map.some("configuration", Some(configuration).filter(|configuration| !configuration.is_empty()))?;
        map.object("metadata", &send.metadata)?;
        map.end()
    }
}

struct WriteConfiguration<'a> {
    configuration: &'a SendConfiguration,
    blocking: bool,
}

impl WriteConfiguration<'_> {
    fn is_empty(&self) -> bool {
        let SendConfiguration { accepted_output_modes, push_config, history_length, .. } = self.configuration;
        accepted_output_modes.is_empty() && push_config.is_none() && history_length.is_none() && !self.blocking
    }
}

impl Serialize for WriteConfiguration<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let configuration = self.configuration;
        let mut map = serializer.serialize_map(None)?;
        map.list("acceptedOutputModes", &configuration.accepted_output_modes)?;
        map.some("pushNotificationConfig", configuration.push_config.as_deref().map(WriteConfig::new))?;
        map.some("historyLength", configuration.history_length)?;
        map.some("blocking", Some(true).filter(|_| self.blocking))?;
        map.end()
    }
}

/// The parameters of every call but sending and listing tasks (DIA-003-RPC-002).
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Call<'a> {
    #[serde(skip_serializing_if = "str::is_empty")]
    tenant: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    task_id: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    config_id: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    push_notification_config: Option<WriteConfig<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    history_length: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    page_size: Option<i32>,
    #[serde(skip_serializing_if = "str::is_empty")]
    page_token: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    metadata: Option<&'a Object>,
}

impl<'a> Call<'a> {
    fn new(tenant: &'a str) -> Self {
        Self {
            tenant,
            task_id: "",
            config_id: "",
            push_notification_config: None,
            history_length: None,
            page_size: None,
            page_token: "",
            metadata: None,
        }
    }
}

struct WriteList<'a>(&'a ListTasks);

impl Serialize for WriteList<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let list = self.0;
        let mut map = serializer.serialize_map(None)?;
        map.text("tenant", &list.tenant)?;
        map.some("contextId", list.context_id.as_ref())?;
        if list.handed_over == Some(true) {
            map.serialize_entry("status", transfer::STATE)?;
        } else if list.status != TaskState::Unspecified {
            map.serialize_entry("status", states::write(Dialect::Compact, list.status))?;
        }
        map.some("pageSize", list.page_size)?;
        map.text("pageToken", &list.page_token)?;
        map.some("historyLength", list.history_length)?;
        map.some("statusTimestampAfter", list.status_timestamp_after)?;
        map.some("includeArtifacts", list.include_artifacts)?;
        map.end()
    }
}
