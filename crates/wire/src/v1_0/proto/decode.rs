//! From protobuf to the canonical model.
//!
//! What is missing stays empty, as in JSON; whether that is allowed is a question for
//! [`Dialect::check`](crate::Dialect::check). What can never be right is refused here, with the name
//! of the field as JSON spells it: an enum number that nobody knows, a oneof with nothing in it, a
//! time outside of all years.

use chancery_core::{
    Artifact, ArtifactUpdate, Authentication, CancelTask, Content, ContextId, DeletePushConfig, Error, Event, GetExtendedCard,
    GetPushConfig, GetTask, ListPushConfigs, ListTasks, Message, Object, Part, PushConfig, PushConfigPage, Result, Role, SendConfiguration,
    SendMessage, SendReply, StatusUpdate, Subscribe, Task, TaskId, TaskPage, TaskState, TaskStatus, Timestamp,
};

use super::path::{each, within};
use crate::{
    pb_json::{struct_to_object, timestamp_from_proto, value_from_proto},
    proto::lf_a2a_v1 as pb,
};

/// Reads a request to send a message, waiting or streaming.
///
/// # Errors
/// [`ErrorKind::InvalidParams`](chancery_core::ErrorKind::InvalidParams) naming the field that is
/// wrong.
pub fn send_message_from_proto(request: pb::SendMessageRequest) -> Result<SendMessage> {
    let mut send = SendMessage::default();
    send.tenant = request.tenant;
    send.message = within("message", request.message.map(message_from_proto).transpose())?.unwrap_or_default();
    send.configuration = within("configuration", request.configuration.map(configuration).transpose())?.unwrap_or_default();
    send.metadata = metadata(request.metadata);
    Ok(send)
}

fn configuration(wire: pb::SendMessageConfiguration) -> Result<SendConfiguration> {
    let mut configuration = SendConfiguration::default();
    configuration.accepted_output_modes = wire.accepted_output_modes;
    let config = wire.task_push_notification_config.map(push_config_from_proto).transpose();
    configuration.push_config = within("taskPushNotificationConfig", config)?.map(Box::new);
    configuration.history_length = wire.history_length;
    configuration.return_immediately = wire.return_immediately;
    Ok(configuration)
}

/// Reads a request to read a task.
///
/// # Errors
/// None today; all readers have the same form.
pub fn get_task_from_proto(request: pb::GetTaskRequest) -> Result<GetTask> {
    let mut get = GetTask::new(request.id);
    (get.tenant, get.history_length) = (request.tenant, request.history_length);
    Ok(get)
}

/// Reads a request to list tasks.
///
/// # Errors
/// As [`send_message_from_proto`].
pub fn list_tasks_from_proto(request: pb::ListTasksRequest) -> Result<ListTasks> {
    let mut list = ListTasks::default();
    list.tenant = request.tenant;
    list.context_id = ContextId::from(request.context_id).present();
    list.status = state("status", request.status)?;
    list.page_size = request.page_size;
    list.page_token = request.page_token;
    list.history_length = request.history_length;
    list.status_timestamp_after = timestamp("statusTimestampAfter", request.status_timestamp_after)?;
    list.include_artifacts = request.include_artifacts;
    Ok(list)
}

/// Reads a request to cancel a task.
///
/// # Errors
/// As [`send_message_from_proto`].
pub fn cancel_task_from_proto(request: pb::CancelTaskRequest) -> Result<CancelTask> {
    let mut cancel = CancelTask::new(request.id);
    cancel.tenant = request.tenant;
    cancel.metadata = metadata(request.metadata);
    Ok(cancel)
}

/// Reads a request to watch a task.
///
/// # Errors
/// None today; all readers have the same form.
pub fn subscribe_from_proto(request: pb::SubscribeToTaskRequest) -> Result<Subscribe> {
    let mut subscribe = Subscribe::new(request.id);
    subscribe.tenant = request.tenant;
    Ok(subscribe)
}

/// Reads a webhook config: the request that registers it, and the answer.
///
/// # Errors
/// None today; all readers have the same form.
pub fn push_config_from_proto(wire: pb::TaskPushNotificationConfig) -> Result<PushConfig> {
    let mut config = PushConfig::new(wire.url);
    config.tenant = wire.tenant;
    config.id = wire.id.into();
    config.task_id = wire.task_id.into();
    config.token = wire.token.into();
    config.authentication = wire.authentication.map(|found| Authentication::new(found.scheme, found.credentials));
    Ok(config)
}

/// Reads a request to read a webhook config.
///
/// # Errors
/// None today; all readers have the same form.
pub fn get_push_config_from_proto(request: pb::GetTaskPushNotificationConfigRequest) -> Result<GetPushConfig> {
    let mut get = GetPushConfig::new(request.task_id, request.id);
    get.tenant = request.tenant;
    Ok(get)
}

/// Reads a request to list a task's webhook configs.
///
/// # Errors
/// None today; all readers have the same form.
pub fn list_push_configs_from_proto(request: pb::ListTaskPushNotificationConfigsRequest) -> Result<ListPushConfigs> {
    let mut list = ListPushConfigs::new(request.task_id);
    (list.tenant, list.page_size, list.page_token) = (request.tenant, request.page_size, request.page_token);
    Ok(list)
}

/// Reads a request to remove a webhook config.
///
/// # Errors
/// None today; all readers have the same form.
pub fn delete_push_config_from_proto(request: pb::DeleteTaskPushNotificationConfigRequest) -> Result<DeletePushConfig> {
    let mut delete = DeletePushConfig::new(request.task_id, request.id);
    delete.tenant = request.tenant;
    Ok(delete)
}

/// Reads a request for the card that only known callers see.
///
/// # Errors
/// None today; all readers have the same form.
pub fn get_extended_card_from_proto(request: pb::GetExtendedAgentCardRequest) -> Result<GetExtendedCard> {
    let mut get = GetExtendedCard::default();
    get.tenant = request.tenant;
    Ok(get)
}

/// Reads the answer to a message.
///
/// # Errors
/// As [`send_message_from_proto`].
pub fn send_reply_from_proto(reply: pb::SendMessageResponse) -> Result<SendReply> {
    use pb::send_message_response::Payload;
    Ok(match reply.payload {
        Some(Payload::Task(task)) => within("task", task_from_proto(task))?.into(),
        Some(Payload::Message(message)) => within("message", message_from_proto(message))?.into(),
        None => return Err(Error::invalid_param("payload", "exactly one of task, message is needed")),
    })
}

/// Reads a page of tasks.
///
/// # Errors
/// As [`send_message_from_proto`].
pub fn task_page_from_proto(wire: pb::ListTasksResponse) -> Result<TaskPage> {
    let tasks = each("tasks", wire.tasks, task_from_proto)?;
    let mut page = TaskPage::new(tasks, wire.page_size, wire.total_size).next(wire.next_page_token);
    page.with_artifacts = page.tasks.iter().any(|task| !task.artifacts.is_empty());
    Ok(page)
}

/// Reads a page of webhook configs.
///
/// # Errors
/// As [`send_message_from_proto`].
pub fn push_config_page_from_proto(wire: pb::ListTaskPushNotificationConfigsResponse) -> Result<PushConfigPage> {
    let mut page = PushConfigPage::new(each("configs", wire.configs, push_config_from_proto)?);
    page.next_page_token = wire.next_page_token;
    Ok(page)
}

/// Reads one stream element.
///
/// # Errors
/// As [`send_message_from_proto`].
pub fn event_from_proto(element: pb::StreamResponse) -> Result<Event> {
    use pb::stream_response::Payload;
    Ok(match element.payload {
        Some(Payload::Task(task)) => within("task", task_from_proto(task))?.into(),
        Some(Payload::Message(message)) => within("message", message_from_proto(message))?.into(),
        Some(Payload::StatusUpdate(update)) => within("statusUpdate", status_update(update))?.into(),
        Some(Payload::ArtifactUpdate(update)) => within("artifactUpdate", artifact_update(update))?.into(),
        None => return Err(Error::invalid_param("payload", "exactly one of task, message, statusUpdate, artifactUpdate is needed")),
    })
}

fn status_update(wire: pb::TaskStatusUpdateEvent) -> Result<StatusUpdate> {
    let mut update = StatusUpdate::new(wire.task_id, wire.context_id, status(wire.status)?);
    update.metadata = metadata(wire.metadata);
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
    let mut task = Task::new(wire.id, wire.context_id, status(wire.status)?);
    task.artifacts = each("artifacts", wire.artifacts, artifact_from_proto)?;
    task.history = each("history", wire.history, message_from_proto)?;
    task.metadata = metadata(wire.metadata);
    Ok(task)
}

fn status(wire: Option<pb::TaskStatus>) -> Result<TaskStatus> {
    let Some(wire) = wire else { return Ok(TaskStatus::default()) };
    let mut status = TaskStatus::new(state("status.state", wire.state)?);
    status.message = within("status.message", wire.message.map(message_from_proto).transpose())?;
    status.timestamp = timestamp("status.timestamp", wire.timestamp)?;
    Ok(status)
}

/// Reads a message.
///
/// # Errors
/// As [`send_message_from_proto`].
pub fn message_from_proto(wire: pb::Message) -> Result<Message> {
    let mut message = Message::default();
    message.message_id = wire.message_id.into();
    message.context_id = ContextId::from(wire.context_id).present();
    message.task_id = TaskId::from(wire.task_id).present();
    message.role =
        Role::from_number(wire.role.into()).ok_or_else(|| Error::invalid_param("role", format!("unknown role {}", wire.role)))?;
    message.parts = each("parts", wire.parts, part)?;
    message.metadata = metadata(wire.metadata);
    message.extensions = wire.extensions;
    message.reference_task_ids = wire.reference_task_ids.into_iter().map(TaskId::from).collect();
    Ok(message)
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
    artifact.parts = each("parts", wire.parts, part)?;
    artifact.metadata = metadata(wire.metadata);
    artifact.extensions = wire.extensions;
    Ok(artifact)
}

/// Reads a part.
///
/// # Errors
/// As [`send_message_from_proto`].
pub fn part_from_proto(wire: pb::Part) -> Result<Part> {
    within("part", part(wire))
}

fn part(wire: pb::Part) -> Result<Part> {
    use pb::part::Content as Wire;
    let content = match wire.content {
        Some(Wire::Text(text)) => Content::Text(text),
        Some(Wire::Raw(bytes)) => Content::Raw(bytes),
        Some(Wire::Url(url)) => Content::Url(url),
        Some(Wire::Data(value)) => Content::Data(value_from_proto(value)),
        // The part itself is what is wrong, so its own path is the field.
        None => return Err(Error::invalid_param("", "a part holds exactly one of text, raw, url, data")),
    };
    let mut part = Part::new(content);
    part.metadata = metadata(wire.metadata);
    (part.filename, part.media_type) = (wire.filename, wire.media_type);
    Ok(part)
}

fn state(field: &str, number: i32) -> Result<TaskState> {
    TaskState::from_number(number.into()).ok_or_else(|| Error::invalid_param(field, format!("unknown task state {number}")))
}

fn timestamp(field: &str, wire: Option<prost_types::Timestamp>) -> Result<Option<Timestamp>> {
    let read = |at| timestamp_from_proto(at).ok_or_else(|| Error::invalid_param(field, "no such instant between the years 1 and 9999"));
    wire.map(read).transpose()
}

/// Free facts; an empty object is none.
fn metadata(wire: Option<prost_types::Struct>) -> Object {
    wire.map(struct_to_object).unwrap_or_default()
}
