//! From the JSON of v0.3 over HTTP+JSON to the canonical model: requests, answers, events.

use chancery_core::{
    Binding, CancelTask, ContextId, DeletePushConfig, Error, Event, FileBytes, GetExtendedCard, GetPushConfig, GetTask, ListPushConfigs,
    ListTasks, Operation, Origin, PushConfig, PushConfigId, PushConfigPage, Reply, Request, Result, SendConfiguration, SendMessage,
    Subscribe, Task, TaskId, TaskPage, Version,
};
use serde::{Deserialize, Deserializer};

use super::{
    read::{ReadEvent, ReadReply, ReadTask},
    types::{
        AuthenticationMembers, CallMembers, ConfigPageMembers, ConfigurationMembers, ListTasksMembers, PushMembers, SendMembers,
        TaskPageMembers,
    },
};
use crate::{StreamMemory, card, json, legacy, v0_3::name};

/// Where requests of this form come from.
fn origin(form: Option<FileBytes>) -> Origin {
    Origin::new(Version::V0_3, Binding::HttpJson).file_bytes(form.unwrap_or_default())
}

pub(super) fn request(operation: Operation, json: &[u8]) -> Result<Request> {
    Ok(match operation {
        Operation::SendMessage => Request::SendMessage(Box::new(json::read::<ReadSend>(json)?.0)),
        Operation::StreamMessage => Request::StreamMessage(Box::new(json::read::<ReadSend>(json)?.0)),
        Operation::GetTask => Request::GetTask(json::read::<CallMembers>(json)?.get_task()),
        Operation::ListTasks => Request::ListTasks(list_tasks(json::read(json)?)),
        // The path says everything; a body that makes no sense does no harm (V03-REST-012).
        Operation::CancelTask => Request::CancelTask(json::read::<CallMembers>(json).unwrap_or_default().cancel_task()),
        Operation::Subscribe => Request::Subscribe(json::read::<CallMembers>(json)?.subscribe()),
        Operation::CreatePushConfig => {
            let mut config = json::read::<PushMembers>(json)?.config();
            config.record.origin = origin(None);
            Request::CreatePushConfig(Box::new(config))
        }
        Operation::GetPushConfig => Request::GetPushConfig(json::read::<CallMembers>(json)?.get_push_config()),
        Operation::ListPushConfigs => Request::ListPushConfigs(json::read::<CallMembers>(json)?.list_push_configs()),
        Operation::DeletePushConfig => Request::DeletePushConfig(json::read::<CallMembers>(json)?.delete_push_config()),
        Operation::GetExtendedCard => {
            let mut get = GetExtendedCard::default();
            get.tenant = json::read::<CallMembers>(json)?.tenant.unwrap_or_default();
            Request::GetExtendedCard(get)
        }
    })
}

pub(super) fn reply(operation: Operation, json: &[u8]) -> Result<Reply> {
    Ok(match operation {
        Operation::SendMessage => Reply::Sent(json::read::<ReadReply>(json)?.0),
        Operation::GetTask | Operation::CancelTask => Reply::Task(json::read::<ReadTask>(json)?.0.into()),
        Operation::ListTasks => Reply::Tasks(task_page(json)?.into()),
        Operation::CreatePushConfig | Operation::GetPushConfig => Reply::PushConfig(Box::new(json::read::<PushMembers>(json)?.config())),
        Operation::ListPushConfigs => Reply::PushConfigs(config_page(json)?),
        // Peers answer with nothing, `{}` or `null` (V03-REST-017).
        Operation::DeletePushConfig => Reply::Deleted,
        Operation::GetExtendedCard => Reply::Card(Box::new(card::read(json)?)),
        Operation::StreamMessage | Operation::Subscribe => return Err(Error::internal(format!("{operation} answers with a stream"))),
    })
}

pub(super) fn event(json: &[u8], memory: &mut StreamMemory) -> Result<Event> {
    let read = json::read::<ReadEvent>(json)?;
    memory.note(&read.event);
    memory.closed |= read.last;
    Ok(read.event)
}

struct ReadSend(SendMessage);

impl<'de> Deserialize<'de> for ReadSend {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let members = SendMembers::deserialize(deserializer)?;
        let message = members.message.unwrap_or_default();
        let mut send = SendMessage::new(message.message);
        send.tenant = members.tenant.unwrap_or_default();
        send.configuration = members.configuration.map(|configuration| configuration.0).unwrap_or_default();
        send.metadata = members.metadata.unwrap_or_default();
        send.origin = origin(message.form);
        Ok(Self(send))
    }
}

pub(super) struct ReadConfiguration(SendConfiguration);

impl<'de> Deserialize<'de> for ReadConfiguration {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let members = ConfigurationMembers::deserialize(deserializer)?;
        let mut configuration = SendConfiguration::default();
        configuration.accepted_output_modes = members.accepted_output_modes.unwrap_or_default();
        configuration.push_config = members.push_notification.map(|push| {
            let mut config = push.config();
            config.record.origin = origin(None);
            Box::new(config)
        });
        // Zero is protobuf's way to say nothing (CONV-SEND-001).
        configuration.history_length = members.history_length.map(|length| length.0).filter(|length| *length != 0);
        // A configuration that does not say so does not wait; no configuration does (V03-REST-009).
        configuration.return_immediately = !members.blocking.unwrap_or(false);
        Ok(Self(configuration))
    }
}

impl PushMembers {
    /// The config; without an id it is the one named like its task (V03-PUSHCFG-002).
    fn config(self) -> PushConfig {
        let mut config = self.innermost();
        if config.id.is_empty() {
            config.id = config.task_id.as_str().into();
        }
        config
    }

    /// The config, whatever is around it (V03-REST-014). What stands further inside wins; the task
    /// of the path wins over all of it.
    fn innermost(self) -> PushConfig {
        let mut config = match self.config.or(self.push_notification_config) {
            Some(inner) => inner.innermost(),
            None => {
                let mut config = PushConfig::new(self.url.unwrap_or_default()).id(self.id.unwrap_or_default());
                config.token = self.token.unwrap_or_default();
                authenticate(&mut config, self.authentication.unwrap_or_default());
                config
            }
        };
        let (task, id) = self.name.as_deref().and_then(name::read_config).unzip();
        if config.id.is_empty() {
            config.id = id.flatten().or(self.config_id).unwrap_or_default();
        }
        if config.task_id.is_empty() {
            config.task_id = task.or_else(|| self.parent.as_deref().and_then(name::read_task)).or(self.task_id).unwrap_or_default();
        }
        if config.tenant.is_empty() {
            config.tenant = self.tenant.unwrap_or_default();
        }
        config
    }
}

/// The authentication of a config; one that says nothing is none.
fn authenticate(config: &mut PushConfig, members: AuthenticationMembers) {
    let (schemes, credentials) = (members.schemes.unwrap_or_default(), members.credentials.unwrap_or_default());
    if !schemes.is_empty() || !credentials.is_empty() {
        legacy::set_schemes(config, schemes, credentials);
    }
}

impl CallMembers {
    /// The task, by its resource name or plainly.
    fn task(&mut self) -> TaskId {
        let named = |text: Option<String>| text.as_deref().and_then(name::read_task);
        named(self.name.take()).or_else(|| named(self.parent.take())).or_else(|| self.id.take()).unwrap_or_default()
    }

    fn get_task(mut self) -> GetTask {
        let mut get = GetTask::new(self.task());
        get.tenant = self.tenant.unwrap_or_default();
        // Zero asks for everything, as saying nothing does (V03-GET-002).
        get.history_length = self.history_length.map(|length| length.0).filter(|length| *length != 0);
        get
    }

    fn cancel_task(mut self) -> CancelTask {
        let mut cancel = CancelTask::new(self.task());
        cancel.tenant = self.tenant.unwrap_or_default();
        cancel.metadata = self.metadata.unwrap_or_default();
        cancel
    }

    fn subscribe(mut self) -> Subscribe {
        let mut subscribe = Subscribe::new(self.task());
        subscribe.tenant = self.tenant.unwrap_or_default();
        subscribe
    }

    /// The task and the config of a config's name.
    fn config(&self) -> (TaskId, PushConfigId) {
        let (task, id) = self.name.as_deref().and_then(name::read_config).unwrap_or_default();
        (task, id.unwrap_or_default())
    }

    fn get_push_config(self) -> GetPushConfig {
        let (task, id) = self.config();
        let mut get = GetPushConfig::new(task, id);
        get.tenant = self.tenant.unwrap_or_default();
        get
    }

    fn list_push_configs(mut self) -> ListPushConfigs {
        let mut list = ListPushConfigs::new(self.task());
        list.tenant = self.tenant.unwrap_or_default();
        list.page_size = self.page_size.map(|size| size.0).unwrap_or_default();
        list.page_token = self.page_token.unwrap_or_default();
        list
    }

    fn delete_push_config(self) -> DeletePushConfig {
        let (task, id) = self.config();
        let mut delete = DeletePushConfig::new(task, id);
        delete.tenant = self.tenant.unwrap_or_default();
        delete
    }
}

fn list_tasks(members: ListTasksMembers) -> ListTasks {
    let mut list = ListTasks::default();
    list.tenant = members.tenant.unwrap_or_default();
    list.context_id = members.context_id.and_then(ContextId::present);
    list.status = members.status.map(|state| state.0).unwrap_or_default();
    list.page_size = members.page_size.map(|size| size.0);
    list.page_token = members.page_token.unwrap_or_default();
    // Unlike elsewhere in v0.3, a list shows no history unless it is asked for (V03-LIST-001).
    list.history_length = Some(members.history_length.map_or(0, |length| length.0));
    list.status_timestamp_after = members.last_updated_after.map(|at| at.0);
    list.include_artifacts = members.include_artifacts;
    list
}

/// Peers answer with an object or with the bare list (V03-REST-016, V03-REST-019).
fn is_list(json: &[u8]) -> bool {
    json.iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&b'[')
}

fn task_page(json: &[u8]) -> Result<TaskPage> {
    let members = if is_list(json) { TaskPageMembers { tasks: json::read(json)?, ..Default::default() } } else { json::read(json)? };
    let tasks: Vec<Task> = members.tasks.unwrap_or_default().into_iter().map(|task| task.0).collect();
    let mut page = TaskPage::new(tasks, members.page_size.map_or(0, |size| size.0), members.total_size.map_or(0, |size| size.0));
    page.next_page_token = members.next_page_token.unwrap_or_default();
    page.with_artifacts = page.tasks.iter().any(|task| !task.artifacts.is_empty());
    Ok(page)
}

fn config_page(json: &[u8]) -> Result<PushConfigPage> {
    let members = if is_list(json) { ConfigPageMembers { configs: json::read(json)?, ..Default::default() } } else { json::read(json)? };
    let mut page = PushConfigPage::new(members.configs.unwrap_or_default().into_iter().map(PushMembers::config).collect());
    page.next_page_token = members.next_page_token.unwrap_or_default();
    Ok(page)
}
