//! From protobuf to the canonical model.
//!
//! What is missing stays empty, as in JSON; whether that is allowed is a question for
//! [`Dialect::check`](crate::Dialect::check). What can never be right is refused here, with the name
//! of the field as JSON spells it: a name that is none, a oneof with nothing in it, a time outside
//! of all years.

use chancery_core::{
    Artifact, ArtifactUpdate, Binding, CancelTask, Content, ContextId, DeletePushConfig, Error, Event, FileBytes, GetExtendedCard,
    GetPushConfig, GetTask, ListPushConfigs, ListTasks, Message, Object, Origin, Part, PushConfig, PushConfigId, PushConfigPage, Result,
    Role, SendConfiguration, SendMessage, SendReply, StatusUpdate, Subscribe, Task, TaskId, TaskPage, TaskState, TaskStatus, Timestamp,
    Version,
};

use crate::{
    legacy,
    pb_json::{struct_to_object, timestamp_from_proto},
    proto::a2a_v1 as pb,
    v0_3::{file_bytes, is_nothing, name},
    v1_0::proto::path::{each, within},
};

/// Where requests of this form come from.
fn origin(form: Option<FileBytes>) -> Origin {
    Origin::new(Version::V0_3, Binding::Grpc).file_bytes(form.unwrap_or_default())
}

/// Reads a request to send a message, waiting or streaming. Its origin says how the peer writes
/// inline bytes.
///
/// # Errors
/// [`ErrorKind::InvalidParams`](chancery_core::ErrorKind::InvalidParams) naming the field that is
/// wrong.
pub fn send_message_from_proto(request: pb::SendMessageRequest) -> Result<SendMessage> {
    let (message, form) = within("message", request.request.map(message).transpose())?.unwrap_or_default();
    let mut send = SendMessage::new(message);
    send.configuration = request.configuration.map(configuration).unwrap_or_default();
    send.metadata = metadata(request.metadata);
    send.origin = origin(form);
    Ok(send)
}

fn configuration(wire: pb::SendMessageConfiguration) -> SendConfiguration {
    let mut configuration = SendConfiguration::default();
    configuration.accepted_output_modes = wire.accepted_output_modes;
    configuration.push_config = wire.push_notification.map(|wire| {
        let mut config = push_config(wire);
        config.record.origin = origin(None);
        Box::new(config)
    });
    configuration.history_length = unless_zero(wire.history_length);
    // No configuration means waiting, one that does not say so means not (V03-REST-009).
    configuration.return_immediately = !wire.blocking;
    configuration
}

/// Zero is protobuf's way to say nothing (V03-GRPC-008).
fn unless_zero(number: i32) -> Option<i32> {
    Some(number).filter(|number| *number != 0)
}

fn task_name(field: &str, text: &str) -> Result<TaskId> {
    name::read_task(text).ok_or_else(|| Error::invalid_param(field, "must be of the form tasks/{id}"))
}

fn config_name(text: &str) -> Result<(TaskId, Option<PushConfigId>)> {
    name::read_config(text).ok_or_else(|| Error::invalid_param("name", "must be of the form tasks/{id}/pushNotificationConfigs/{id}"))
}

/// Reads a request to read a task.
///
/// # Errors
/// As [`send_message_from_proto`].
pub fn get_task_from_proto(request: pb::GetTaskRequest) -> Result<GetTask> {
    let mut get = GetTask::new(task_name("name", &request.name)?);
    get.history_length = unless_zero(request.history_length);
    Ok(get)
}

/// Reads a request to list tasks. Unlike elsewhere in v0.3, a list shows no history unless it is
/// asked for.
///
/// # Errors
/// As [`send_message_from_proto`].
pub fn list_tasks_from_proto(request: pb::ListTasksRequest) -> Result<ListTasks> {
    let mut list = ListTasks::default();
    let unknown = || Error::invalid_param("status", format!("unknown task state {}", request.status));
    list.status = TaskState::from_number(request.status.into()).ok_or_else(unknown)?;
    list.context_id = ContextId::from(request.context_id).present();
    list.page_size = unless_zero(request.page_size);
    list.page_token = request.page_token;
    list.history_length = Some(request.history_length);
    list.status_timestamp_after = timestamp("lastUpdatedTime", request.last_updated_time)?;
    list.include_artifacts = Some(request.include_artifacts);
    Ok(list)
}

/// Reads a request to cancel a task.
///
/// # Errors
/// As [`send_message_from_proto`].
pub fn cancel_task_from_proto(request: pb::CancelTaskRequest) -> Result<CancelTask> {
    task_name("name", &request.name).map(CancelTask::new)
}

/// Reads a request to watch a task.
///
/// # Errors
/// As [`send_message_from_proto`].
pub fn subscribe_from_proto(request: pb::TaskSubscriptionRequest) -> Result<Subscribe> {
    task_name("name", &request.name).map(Subscribe::new)
}

/// Reads a request to register a webhook.
///
/// # Errors
/// As [`send_message_from_proto`].
pub fn create_push_config_from_proto(request: pb::CreateTaskPushNotificationConfigRequest) -> Result<PushConfig> {
    let wire = request.config.unwrap_or_default();
    let (named_task, named_id) = name::read_config(&wire.name).unzip();
    let mut config = wire.push_notification_config.map(push_config).unwrap_or_default();
    config.task_id = match named_task {
        Some(task) if request.parent.is_empty() => task,
        _ => task_name("parent", &request.parent)?,
    };
    name_config(&mut config, named_id.flatten().or_else(|| PushConfigId::from(request.config_id).present()));
    config.record.origin = origin(None);
    Ok(config)
}

/// Reads a webhook config.
///
/// # Errors
/// As [`send_message_from_proto`].
pub fn push_config_from_proto(wire: pb::TaskPushNotificationConfig) -> Result<PushConfig> {
    let (task, id) = config_name(&wire.name)?;
    let mut config = wire.push_notification_config.map(push_config).unwrap_or_default();
    config.task_id = task;
    name_config(&mut config, id);
    Ok(config)
}

/// The config's own id comes first, then what is around it; without either it is the one named like
/// its task (V03-PUSHCFG-002).
fn name_config(config: &mut PushConfig, around: Option<PushConfigId>) {
    if config.id.is_empty() {
        config.id = around.unwrap_or_else(|| config.task_id.as_str().into());
    }
}

fn push_config(wire: pb::PushNotificationConfig) -> PushConfig {
    let mut config = PushConfig::new(wire.url).id(wire.id).token(wire.token);
    if let Some(found) = wire.authentication.filter(|found| !found.schemes.is_empty() || !found.credentials.is_empty()) {
        legacy::set_schemes(&mut config, found.schemes, found.credentials.into());
    }
    config
}

/// Reads a request to read a webhook config.
///
/// # Errors
/// As [`send_message_from_proto`].
pub fn get_push_config_from_proto(request: pb::GetTaskPushNotificationConfigRequest) -> Result<GetPushConfig> {
    let (task, id) = config_name(&request.name)?;
    Ok(GetPushConfig::new(task, id.unwrap_or_default()))
}

/// Reads a request to list a task's webhook configs.
///
/// # Errors
/// As [`send_message_from_proto`].
pub fn list_push_configs_from_proto(request: pb::ListTaskPushNotificationConfigRequest) -> Result<ListPushConfigs> {
    let mut list = ListPushConfigs::new(task_name("parent", &request.parent)?);
    (list.page_size, list.page_token) = (request.page_size, request.page_token);
    Ok(list)
}

/// Reads a request to remove a webhook config.
///
/// # Errors
/// As [`send_message_from_proto`].
pub fn delete_push_config_from_proto(request: pb::DeleteTaskPushNotificationConfigRequest) -> Result<DeletePushConfig> {
    let (task, id) = config_name(&request.name)?;
    Ok(DeletePushConfig::new(task, id.unwrap_or_default()))
}

/// Reads a request for the card.
///
/// # Errors
/// None today; all readers have the same form.
pub fn get_extended_card_from_proto(_: pb::GetAgentCardRequest) -> Result<GetExtendedCard> {
    Ok(GetExtendedCard::default())
}

/// Reads the answer to a message.
///
/// # Errors
/// As [`send_message_from_proto`].
pub fn send_reply_from_proto(reply: pb::SendMessageResponse) -> Result<SendReply> {
    use pb::send_message_response::Payload;
    Ok(match reply.payload {
        Some(Payload::Task(task)) => within("task", task_from_proto(task))?.into(),
        Some(Payload::Msg(message)) => within("message", message_from_proto(message))?.into(),
        None => return Err(Error::invalid_param("payload", "exactly one of task, message is needed")),
    })
}

/// Reads a page of tasks. The page size that was applied is not in it.
///
/// # Errors
/// As [`send_message_from_proto`].
pub fn task_page_from_proto(wire: pb::ListTasksResponse) -> Result<TaskPage> {
    let mut page = TaskPage::new(each("tasks", wire.tasks, task_from_proto)?, 0, wire.total_size).next(wire.next_page_token);
    page.with_artifacts = page.tasks.iter().any(|task| !task.artifacts.is_empty());
    Ok(page)
}

/// Reads a page of webhook configs.
///
/// # Errors
/// As [`send_message_from_proto`].
pub fn push_config_page_from_proto(wire: pb::ListTaskPushNotificationConfigResponse) -> Result<PushConfigPage> {
    let mut page = PushConfigPage::new(each("configs", wire.configs, push_config_from_proto)?);
    page.next_page_token = wire.next_page_token;
    Ok(page)
}

/// Reads one stream element. That it calls itself the last is not kept: the end of the call is the
/// end of the stream.
///
/// # Errors
/// As [`send_message_from_proto`].
pub fn event_from_proto(element: pb::StreamResponse) -> Result<Event> {
    use pb::stream_response::Payload;
    Ok(match element.payload {
        Some(Payload::Task(task)) => within("task", task_from_proto(task))?.into(),
        Some(Payload::Msg(message)) => within("message", message_from_proto(message))?.into(),
        Some(Payload::StatusUpdate(update)) => within("statusUpdate", status_update(update))?.into(),
        Some(Payload::ArtifactUpdate(update)) => within("artifactUpdate", artifact_update(update))?.into(),
        None => return Err(Error::invalid_param("payload", "exactly one of task, message, statusUpdate, artifactUpdate is needed")),
    })
}

fn status_update(wire: pb::TaskStatusUpdateEvent) -> Result<StatusUpdate> {
    let mut metadata = metadata(wire.metadata);
    let status = status(wire.status, &mut metadata)?;
    let mut update = StatusUpdate::new(wire.task_id, wire.context_id, status);
    update.metadata = metadata;
    Ok(update)
}

fn artifact_update(wire: pb::TaskArtifactUpdateEvent) -> Result<ArtifactUpdate> {
    let artifact = within("artifact", wire.artifact.map(artifact_from_proto).transpose())?.unwrap_or_default();
    let mut update = ArtifactUpdate::new(wire.task_id, wire.context_id, artifact);
    (update.append, update.last_chunk) = (wire.append, wire.last_chunk);
    update.metadata = metadata(wire.metadata);
    Ok(update)
}

/// Reads a task.
///
/// # Errors
/// As [`send_message_from_proto`].
pub fn task_from_proto(wire: pb::Task) -> Result<Task> {
    let mut metadata = metadata(wire.metadata);
    let mut task = Task::new(wire.id, wire.context_id, status(wire.status, &mut metadata)?);
    task.artifacts = each("artifacts", wire.artifacts, artifact_from_proto)?;
    task.history = each("history", wire.history, message_from_proto)?;
    task.metadata = metadata;
    Ok(task)
}

/// A status; a state that nobody knows is kept in the metadata of the task or event (CONV-STATE-002).
fn status(wire: Option<pb::TaskStatus>, metadata: &mut Object) -> Result<TaskStatus> {
    let Some(wire) = wire else { return Ok(TaskStatus::default()) };
    let state = TaskState::from_number(wire.state.into()).unwrap_or_else(|| legacy::read_state(&wire.state.to_string(), metadata));
    let mut status = TaskStatus::new(state);
    status.message = within("status.message", wire.update.map(message_from_proto).transpose())?.filter(|message| !is_nothing(message));
    status.timestamp = timestamp("status.timestamp", wire.timestamp)?;
    Ok(status)
}

/// Reads a message.
///
/// # Errors
/// As [`send_message_from_proto`].
pub fn message_from_proto(wire: pb::Message) -> Result<Message> {
    message(wire).map(|(message, _)| message)
}

/// A message, and the form of inline bytes that its peer was seen to use.
fn message(wire: pb::Message) -> Result<(Message, Option<FileBytes>)> {
    let (parts, form) = parts("content", wire.content)?;
    let mut message = Message::default();
    message.message_id = wire.message_id.into();
    message.context_id = ContextId::from(wire.context_id).present();
    message.task_id = TaskId::from(wire.task_id).present();
    message.role =
        Role::from_number(wire.role.into()).ok_or_else(|| Error::invalid_param("role", format!("unknown role {}", wire.role)))?;
    message.parts = parts;
    message.metadata = metadata(wire.metadata);
    message.extensions = wire.extensions;
    message.reference_task_ids = wire.reference_task_ids.into_iter().map(TaskId::from).collect();
    Ok((message, form))
}

/// Reads an artifact.
///
/// # Errors
/// As [`send_message_from_proto`].
pub fn artifact_from_proto(wire: pb::Artifact) -> Result<Artifact> {
    let mut artifact = Artifact::default();
    artifact.artifact_id = wire.artifact_id.into();
    artifact.name = wire.name;
    artifact.description = wire.description;
    artifact.parts = parts("parts", wire.parts)?.0;
    artifact.metadata = metadata(wire.metadata);
    artifact.extensions = wire.extensions;
    Ok(artifact)
}

fn parts(field: &str, wire: Vec<pb::Part>) -> Result<(Vec<Part>, Option<FileBytes>)> {
    let mut form = None;
    let keep = |(part, seen)| {
        form = file_bytes::either(form, seen);
        part
    };
    Ok((each(field, wire, part)?.into_iter().map(keep).collect(), form))
}

/// Reads a part, and says in which form its inline bytes were.
///
/// # Errors
/// As [`send_message_from_proto`].
pub fn part_from_proto(wire: pb::Part) -> Result<(Part, Option<FileBytes>)> {
    within("part", part(wire))
}

fn part(wire: pb::Part) -> Result<(Part, Option<FileBytes>)> {
    use pb::part::Part as Wire;
    let (mut part, form) = match wire.part {
        Some(Wire::Text(text)) => (Part::text(text), None),
        Some(Wire::File(file)) => file_part(file)?,
        Some(Wire::Data(data)) => (Part::data(metadata(data.data)), None),
        // The part itself is what is wrong, so its own path is the field.
        None => return Err(Error::invalid_param("", "a part holds exactly one of text, file, data")),
    };
    part.metadata = metadata(wire.metadata);
    legacy::restore_part(&mut part);
    Ok((part, form))
}

fn file_part(wire: pb::FilePart) -> Result<(Part, Option<FileBytes>)> {
    use pb::file_part::File;
    let (content, form) = match wire.file {
        Some(File::FileWithUri(uri)) => (Content::Url(uri), None),
        Some(File::FileWithBytes(field)) => {
            let (bytes, form) = file_bytes::unpack(field);
            (Content::Raw(bytes), form)
        }
        None => return Err(Error::invalid_param("file", "a file has fileWithBytes or fileWithUri")),
    };
    Ok((Part::new(content).media_type(wire.mime_type).filename(wire.name), form))
}

fn timestamp(field: &str, wire: Option<prost_types::Timestamp>) -> Result<Option<Timestamp>> {
    let read = |at| timestamp_from_proto(at).ok_or_else(|| Error::invalid_param(field, "no such instant between the years 1 and 9999"));
    wire.map(read).transpose()
}

/// A free object; an empty one is none.
fn metadata(wire: Option<prost_types::Struct>) -> Object {
    wire.map(struct_to_object).unwrap_or_default()
}
