//! From the canonical model to the JSON of v0.3 over HTTP+JSON: requests, answers, events.

use std::borrow::Cow;

use chancery_core::{
    ContextId, Error, ErrorKind, Event, FileBytes, ListTasks, Object, PushConfig, PushConfigPage, Reply, Request, Result, Secret,
    SendMessage, SendReply, Task, TaskPage, TaskState, Timestamp,
};
use serde::Serialize;

use super::write::{ArtifactUpdateWire, Each, MessageWire, Payload, StatusUpdateWire, TaskWire, filled, list, state, text};
use crate::{
    card, json, legacy,
    v0_3::name::{ConfigName, TaskName},
};

pub(super) fn request(request: &Request) -> Result<Vec<u8>> {
    match request {
        Request::SendMessage(send) | Request::StreamMessage(send) => json::write(&SendWire::new(send)),
        Request::GetTask(get) => json::write(&NamedRequest {
            history_length: get.history_length.filter(|length| *length != 0),
            ..NamedRequest::of(TaskName(&get.id), &get.tenant)
        }),
        Request::ListTasks(list) => json::write(&ListTasksWire::new(list)),
        Request::CancelTask(cancel) => {
            json::write(&NamedRequest { metadata: filled(&cancel.metadata), ..NamedRequest::of(TaskName(&cancel.id), &cancel.tenant) })
        }
        Request::Subscribe(subscribe) => json::write(&NamedRequest::of(TaskName(&subscribe.id), &subscribe.tenant)),
        Request::CreatePushConfig(config) => json::write(&CreateWire::new(config)),
        Request::GetPushConfig(get) => json::write(&NamedRequest::of(ConfigName::new(&get.task_id, get.id.as_ref()), &get.tenant)),
        Request::ListPushConfigs(list) => json::write(&ListConfigs {
            parent: TaskName(&list.task_id),
            page_size: Some(list.page_size).filter(|size| *size != 0),
            page_token: text(&list.page_token),
            tenant: text(&list.tenant),
        }),
        Request::DeletePushConfig(delete) => {
            json::write(&NamedRequest::of(ConfigName::new(&delete.task_id, Some(&delete.id)), &delete.tenant))
        }
        Request::GetExtendedCard(get) => json::write(&Tenant { tenant: text(&get.tenant) }),
    }
}

pub(super) fn reply(reply: &Reply) -> Result<Vec<u8>> {
    match reply {
        Reply::Sent(SendReply::Task(task)) => json::write(&Payload::Task(TaskWire::answer(task))),
        // A message has no record of how its peer writes bytes.
        Reply::Sent(SendReply::Message(message)) => json::write(&Payload::Message(MessageWire::new(message, FileBytes::default()))),
        Reply::Task(task) => json::write(&TaskWire::answer(&*task.task()?)),
        Reply::Tasks(page) => json::write(&TaskPageWire::new(&page.clone().decode()?)),
        Reply::PushConfig(config) => json::write(&TaskConfig::new(config)),
        Reply::PushConfigs(page) => json::write(&ConfigPageWire::new(page)),
        // The answer is 204 without a body (V03-REST-017).
        Reply::Deleted => Ok(Vec::new()),
        Reply::Card(card) => json::write(&card::v0_3_rest(card)),
    }
}

pub(super) fn event(event: &Event, form: FileBytes) -> Result<Vec<u8>> {
    json::write(&match event {
        Event::Task(task) => Payload::Task(TaskWire::new(task, form)),
        Event::Message(message) => Payload::Message(MessageWire::new(message, form)),
        Event::Status(update) => Payload::StatusUpdate(StatusUpdateWire::new(update, form)),
        Event::Artifact(update) => Payload::ArtifactUpdate(ArtifactUpdateWire::new(update, form)),
        _ => return Err(Error::new(ErrorKind::UnsupportedOperation, "A2A 0.3 has no such event")),
    })
}

#[derive(Serialize)]
struct SendWire<'a> {
    message: MessageWire<'a>,
    configuration: ConfigurationWire<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    metadata: Option<&'a Object>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tenant: Option<&'a str>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ConfigurationWire<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    accepted_output_modes: Option<&'a [String]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    push_notification: Option<ConfigWire<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    history_length: Option<i32>,
    /// Always written: absent would mean that nobody waits (V03-REST-009, CONV-SEND-002).
    blocking: bool,
}

impl<'a> SendWire<'a> {
    fn new(send: &'a SendMessage) -> Self {
        let configuration = &send.configuration;
        Self {
            message: MessageWire::new(&send.message, send.origin.file_bytes),
            configuration: ConfigurationWire {
                accepted_output_modes: list(&configuration.accepted_output_modes),
                push_notification: configuration.push_config.as_deref().map(ConfigWire::new),
                // Zero would ask for everything; the caller strips the history (CONV-SEND-003).
                history_length: configuration.history_length.filter(|length| *length != 0),
                blocking: !configuration.return_immediately,
            },
            metadata: filled(&send.metadata),
            tenant: text(&send.tenant),
        }
    }
}

/// A request that names a task or a config and says little else.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct NamedRequest<'a, N> {
    name: N,
    #[serde(skip_serializing_if = "Option::is_none")]
    history_length: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    metadata: Option<&'a Object>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tenant: Option<&'a str>,
}

impl<'a, N> NamedRequest<'a, N> {
    fn of(name: N, tenant: &'a str) -> Self {
        Self { name, history_length: None, metadata: None, tenant: text(tenant) }
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ListConfigs<'a> {
    parent: TaskName<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    page_size: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    page_token: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tenant: Option<&'a str>,
}

#[derive(Serialize)]
struct Tenant<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    tenant: Option<&'a str>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ListTasksWire<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    context_id: Option<&'a ContextId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    page_size: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    page_token: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    history_length: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    last_updated_after: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    include_artifacts: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tenant: Option<&'a str>,
}

impl<'a> ListTasksWire<'a> {
    fn new(request: &'a ListTasks) -> Self {
        Self {
            context_id: request.context_id.as_ref(),
            status: (request.status != TaskState::Unspecified).then(|| state(request.status)),
            page_size: request.page_size,
            page_token: text(&request.page_token),
            history_length: request.history_length,
            last_updated_after: request.status_timestamp_after.map(Timestamp::unix_millis),
            include_artifacts: request.include_artifacts,
            tenant: text(&request.tenant),
        }
    }
}

/// PushNotificationConfig.
#[derive(Serialize)]
struct ConfigWire<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'a str>,
    url: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    token: Option<&'a Secret>,
    #[serde(skip_serializing_if = "Option::is_none")]
    authentication: Option<AuthenticationWire<'a>>,
}

#[derive(Serialize)]
struct AuthenticationWire<'a> {
    schemes: Vec<Cow<'a, str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    credentials: Option<&'a Secret>,
}

impl<'a> ConfigWire<'a> {
    fn new(config: &'a PushConfig) -> Self {
        let secret = |secret: &'a Secret| Some(secret).filter(|secret| !secret.is_empty());
        Self {
            id: text(config.id.as_str()),
            url: &config.url,
            token: secret(&config.token),
            authentication: config.authentication.as_ref().map(|authentication| AuthenticationWire {
                schemes: legacy::schemes(config),
                credentials: secret(&authentication.credentials),
            }),
        }
    }
}

/// TaskPushNotificationConfig.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct TaskConfig<'a> {
    name: ConfigName<'a>,
    push_notification_config: ConfigWire<'a>,
}

impl<'a> TaskConfig<'a> {
    fn new(config: &'a PushConfig) -> Self {
        Self { name: ConfigName::of(config), push_notification_config: ConfigWire::new(config) }
    }
}

/// CreateTaskPushNotificationConfigRequest, the only form that every known server accepts
/// (V03-REST-014).
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct CreateWire<'a> {
    parent: TaskName<'a>,
    config_id: &'a str,
    config: TaskConfig<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tenant: Option<&'a str>,
}

impl<'a> CreateWire<'a> {
    fn new(config: &'a PushConfig) -> Self {
        Self {
            parent: TaskName(&config.task_id),
            config_id: ConfigName::of(config).id(),
            config: TaskConfig::new(config),
            tenant: text(&config.tenant),
        }
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct TaskPageWire<'a> {
    tasks: Each<'a, Task, TaskWire<'a>>,
    next_page_token: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    total_size: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    page_size: Option<i32>,
}

impl<'a> TaskPageWire<'a> {
    fn new(page: &'a TaskPage) -> Self {
        let count = |count: i32| Some(count).filter(|count| *count != 0);
        Self {
            tasks: Each { items: &page.tasks, form: FileBytes::default(), wire: |task, _| TaskWire::answer(task) },
            next_page_token: &page.next_page_token,
            total_size: count(page.total_size),
            page_size: count(page.page_size),
        }
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ConfigPageWire<'a> {
    configs: Each<'a, PushConfig, TaskConfig<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    next_page_token: Option<&'a str>,
}

impl<'a> ConfigPageWire<'a> {
    fn new(page: &'a PushConfigPage) -> Self {
        Self {
            configs: Each { items: &page.configs, form: FileBytes::default(), wire: |config, _| TaskConfig::new(config) },
            next_page_token: text(&page.next_page_token),
        }
    }
}
