//! From the canonical model to protobuf. Every value can be written, so nothing here fails.

use chancery_core::{
    Artifact, ArtifactUpdate, CancelTask, Content, ContextId, DeletePushConfig, Event, FileBytes, GetExtendedCard, GetPushConfig, GetTask,
    ListPushConfigs, ListTasks, Message, Part, PushConfig, PushConfigPage, Role, SendConfiguration, SendMessage, SendReply, StatusUpdate,
    Subscribe, Task, TaskId, TaskPage, TaskStatus,
};

use crate::{
    legacy,
    pb_json::{filled_struct, object_to_struct, timestamp_to_proto},
    proto::a2a_v1 as pb,
    v0_3::{
        file_bytes,
        name::{ConfigName, TaskName},
    },
};

/// Writes a request to send a message, waiting or streaming. Its origin says how inline bytes are
/// written.
#[must_use]
pub fn send_message_to_proto(request: &SendMessage) -> pb::SendMessageRequest {
    pb::SendMessageRequest {
        request: Some(message_to_proto(&request.message, request.origin.file_bytes)),
        // Always there, so that it says whether to wait (V03-REST-009, CONV-SEND-002).
        configuration: Some(configuration(&request.configuration)),
        metadata: filled_struct(&request.metadata),
    }
}

fn configuration(configuration: &SendConfiguration) -> pb::SendMessageConfiguration {
    pb::SendMessageConfiguration {
        accepted_output_modes: configuration.accepted_output_modes.clone(),
        push_notification: configuration.push_config.as_deref().map(push_config),
        // None asks for everything; the caller strips the history (CONV-SEND-003).
        history_length: configuration.history_length.unwrap_or_default(),
        blocking: !configuration.return_immediately,
    }
}

/// Writes a request to read a task.
#[must_use]
pub fn get_task_to_proto(request: &GetTask) -> pb::GetTaskRequest {
    pb::GetTaskRequest { name: TaskName(&request.id).to_string(), history_length: request.history_length.unwrap_or_default() }
}

/// Writes a request to list tasks.
#[must_use]
pub fn list_tasks_to_proto(request: &ListTasks) -> pb::ListTasksRequest {
    pb::ListTasksRequest {
        context_id: request.context_id.as_ref().map(text).unwrap_or_default(),
        status: request.status.number(),
        page_size: request.page_size.unwrap_or_default(),
        page_token: request.page_token.clone(),
        history_length: request.history_length.unwrap_or_default(),
        last_updated_time: request.status_timestamp_after.map(timestamp_to_proto),
        include_artifacts: request.with_artifacts(),
    }
}

/// Writes a request to cancel a task.
#[must_use]
pub fn cancel_task_to_proto(request: &CancelTask) -> pb::CancelTaskRequest {
    pb::CancelTaskRequest { name: TaskName(&request.id).to_string() }
}

/// Writes a request to watch a task.
#[must_use]
pub fn subscribe_to_proto(request: &Subscribe) -> pb::TaskSubscriptionRequest {
    pb::TaskSubscriptionRequest { name: TaskName(&request.id).to_string() }
}

/// Writes a request to register a webhook.
#[must_use]
pub fn create_push_config_to_proto(config: &PushConfig) -> pb::CreateTaskPushNotificationConfigRequest {
    pb::CreateTaskPushNotificationConfigRequest {
        parent: TaskName(&config.task_id).to_string(),
        config_id: ConfigName::of(config).id().to_owned(),
        config: Some(push_config_to_proto(config)),
    }
}

/// Writes a webhook config.
#[must_use]
pub fn push_config_to_proto(config: &PushConfig) -> pb::TaskPushNotificationConfig {
    pb::TaskPushNotificationConfig { name: ConfigName::of(config).to_string(), push_notification_config: Some(push_config(config)) }
}

fn push_config(config: &PushConfig) -> pb::PushNotificationConfig {
    pb::PushNotificationConfig {
        id: text(&config.id),
        url: config.url.clone(),
        token: config.token.expose().to_owned(),
        authentication: config.authentication.as_ref().map(|authentication| pb::AuthenticationInfo {
            schemes: legacy::schemes(config).into_iter().map(Into::into).collect(),
            credentials: authentication.credentials.expose().to_owned(),
        }),
    }
}

/// Writes a request to read a webhook config.
#[must_use]
pub fn get_push_config_to_proto(request: &GetPushConfig) -> pb::GetTaskPushNotificationConfigRequest {
    pb::GetTaskPushNotificationConfigRequest { name: ConfigName::new(&request.task_id, request.id.as_ref()).to_string() }
}

/// Writes a request to list a task's webhook configs.
#[must_use]
pub fn list_push_configs_to_proto(request: &ListPushConfigs) -> pb::ListTaskPushNotificationConfigRequest {
    pb::ListTaskPushNotificationConfigRequest {
        parent: TaskName(&request.task_id).to_string(),
        page_size: request.page_size,
        page_token: request.page_token.clone(),
    }
}

/// Writes a request to remove a webhook config.
#[must_use]
pub fn delete_push_config_to_proto(request: &DeletePushConfig) -> pb::DeleteTaskPushNotificationConfigRequest {
    pb::DeleteTaskPushNotificationConfigRequest { name: ConfigName::new(&request.task_id, Some(&request.id)).to_string() }
}

/// Writes a request for the card.
#[must_use]
pub fn get_extended_card_to_proto(_: &GetExtendedCard) -> pb::GetAgentCardRequest {
    pb::GetAgentCardRequest {}
}

/// Writes the answer to a message.
#[must_use]
pub fn send_reply_to_proto(reply: &SendReply, form: FileBytes) -> pb::SendMessageResponse {
    use pb::send_message_response::Payload;
    let payload = match reply {
        SendReply::Task(task) => Payload::Task(task_to_proto(task, form)),
        SendReply::Message(message) => Payload::Msg(message_to_proto(message, form)),
    };
    pb::SendMessageResponse { payload: Some(payload) }
}

/// Writes a page of tasks, each with inline bytes as the client writes them that made it.
#[must_use]
pub fn task_page_to_proto(page: &TaskPage) -> pb::ListTasksResponse {
    pb::ListTasksResponse {
        tasks: page.tasks.iter().map(|task| task_to_proto(task, task.record.origin.file_bytes)).collect(),
        next_page_token: page.next_page_token.clone(),
        total_size: page.total_size,
    }
}

/// Writes a page of webhook configs.
#[must_use]
pub fn push_config_page_to_proto(page: &PushConfigPage) -> pb::ListTaskPushNotificationConfigResponse {
    pb::ListTaskPushNotificationConfigResponse {
        configs: page.configs.iter().map(push_config_to_proto).collect(),
        next_page_token: page.next_page_token.clone(),
    }
}

/// Writes one stream element.
#[must_use]
pub fn event_to_proto(event: &Event, form: FileBytes) -> pb::StreamResponse {
    use pb::stream_response::Payload;
    let payload = match event {
        Event::Task(task) => Some(Payload::Task(task_to_proto(task, form))),
        Event::Message(message) => Some(Payload::Msg(message_to_proto(message, form))),
        Event::Status(update) => Some(Payload::StatusUpdate(status_update(update, form))),
        Event::Artifact(update) => Some(Payload::ArtifactUpdate(artifact_update(update, form))),
        // The model has no other events; one that is added there needs its line here.
        _ => None,
    };
    pb::StreamResponse { payload }
}

fn status_update(update: &StatusUpdate, form: FileBytes) -> pb::TaskStatusUpdateEvent {
    pb::TaskStatusUpdateEvent {
        task_id: text(&update.task_id),
        context_id: context(&update.context_id, &update.task_id),
        status: Some(status(&update.status, form)),
        // The server closes the stream after it (CONV-EVENT-002).
        r#final: update.status.state.ends_stream(),
        metadata: filled_struct(&update.metadata),
    }
}

fn artifact_update(update: &ArtifactUpdate, form: FileBytes) -> pb::TaskArtifactUpdateEvent {
    pb::TaskArtifactUpdateEvent {
        task_id: text(&update.task_id),
        context_id: context(&update.context_id, &update.task_id),
        artifact: Some(artifact_to_proto(&update.artifact, form)),
        append: update.append,
        last_chunk: update.last_chunk,
        metadata: filled_struct(&update.metadata),
    }
}

/// Writes a task.
#[must_use]
pub fn task_to_proto(task: &Task, form: FileBytes) -> pb::Task {
    pb::Task {
        id: text(&task.id),
        context_id: context(&task.context_id, &task.id),
        status: Some(status(&task.status, form)),
        artifacts: task.artifacts.iter().map(|artifact| artifact_to_proto(artifact, form)).collect(),
        history: task.history.iter().map(|message| message_to_proto(message, form)).collect(),
        metadata: filled_struct(&task.metadata),
    }
}

/// v0.3 demands a context; a task without one is a conversation of its own (CONV-TASK-001).
fn context(context: &ContextId, task: &TaskId) -> String {
    if context.is_empty() { text(task) } else { text(context) }
}

fn status(status: &TaskStatus, form: FileBytes) -> pb::TaskStatus {
    pb::TaskStatus {
        state: status.state.number(),
        update: status.message.as_ref().map(|message| message_to_proto(message, form)),
        timestamp: status.timestamp.map(timestamp_to_proto),
    }
}

/// Writes a message.
#[must_use]
pub fn message_to_proto(message: &Message, form: FileBytes) -> pb::Message {
    pb::Message {
        message_id: text(&message.message_id),
        context_id: message.context_id.as_ref().map(text).unwrap_or_default(),
        task_id: message.task_id.as_ref().map(text).unwrap_or_default(),
        // Requests say who writes, or they are refused; in answers it is the agent.
        role: if message.role == Role::Unspecified { Role::Agent } else { message.role }.number(),
        content: message.parts.iter().map(|part| part_to_proto(part, form)).collect(),
        metadata: filled_struct(&message.metadata),
        extensions: message.extensions.clone(),
        reference_task_ids: message.reference_task_ids.iter().map(text).collect(),
    }
}

/// Writes an artifact.
#[must_use]
pub fn artifact_to_proto(artifact: &Artifact, form: FileBytes) -> pb::Artifact {
    pb::Artifact {
        artifact_id: text(&artifact.artifact_id),
        name: artifact.name.clone(),
        description: artifact.description.clone(),
        parts: artifact.parts.iter().map(|part| part_to_proto(part, form)).collect(),
        metadata: filled_struct(&artifact.metadata),
        extensions: artifact.extensions.clone(),
    }
}

/// Writes a part. Numbers in structured data become doubles (CONV-PART-006).
#[must_use]
pub fn part_to_proto(part: &Part, form: FileBytes) -> pb::Part {
    use pb::{file_part::File, part::Part as Wire};
    let file = |file| Wire::File(pb::FilePart { mime_type: part.media_type.clone(), name: part.filename.clone(), file: Some(file) });
    let content = match &part.content {
        Content::Text(text) => Wire::Text(text.clone()),
        Content::Raw(bytes) => file(File::FileWithBytes(file_bytes::pack(bytes, form))),
        Content::Url(url) => file(File::FileWithUri(url.clone())),
        Content::Data(value) => Wire::Data(pb::DataPart { data: Some(object_to_struct(&legacy::data_object(value))) }),
    };
    pb::Part { metadata: filled_struct(&legacy::part_metadata(part)), part: Some(content) }
}

fn text(id: &impl AsRef<str>) -> String {
    id.as_ref().to_owned()
}
