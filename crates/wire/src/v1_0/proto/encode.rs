//! From the canonical model to protobuf. Every value can be written, so nothing here fails.

use chancery_core::{
    Artifact, ArtifactUpdate, Authentication, CancelTask, Content, DeletePushConfig, Event, GetExtendedCard, GetPushConfig, GetTask,
    ListPushConfigs, ListTasks, Message, Part, PushConfig, PushConfigPage, SendConfiguration, SendMessage, SendReply, StatusUpdate,
    Subscribe, Task, TaskPage, TaskStatus,
};

use crate::{
    pb_json::{filled_struct, timestamp_to_proto, value_to_proto},
    proto::lf_a2a_v1 as pb,
};

/// Writes a request to send a message, waiting or streaming.
#[must_use]
pub fn send_message_to_proto(request: &SendMessage) -> pb::SendMessageRequest {
    pb::SendMessageRequest {
        tenant: request.tenant.clone(),
        message: Some(message_to_proto(&request.message)),
        configuration: (!request.configuration.is_default()).then(|| configuration(&request.configuration)),
        metadata: filled_struct(&request.metadata),
    }
}

fn configuration(configuration: &SendConfiguration) -> pb::SendMessageConfiguration {
    pb::SendMessageConfiguration {
        accepted_output_modes: configuration.accepted_output_modes.clone(),
        task_push_notification_config: configuration.push_config.as_deref().map(push_config_to_proto),
        history_length: configuration.history_length,
        return_immediately: configuration.return_immediately,
    }
}

/// Writes a request to read a task.
#[must_use]
pub fn get_task_to_proto(request: &GetTask) -> pb::GetTaskRequest {
    pb::GetTaskRequest { tenant: request.tenant.clone(), id: text(&request.id), history_length: request.history_length }
}

/// Writes a request to list tasks.
#[must_use]
pub fn list_tasks_to_proto(request: &ListTasks) -> pb::ListTasksRequest {
    pb::ListTasksRequest {
        tenant: request.tenant.clone(),
        context_id: request.context_id.as_ref().map(text).unwrap_or_default(),
        status: request.status.number(),
        page_size: request.page_size,
        page_token: request.page_token.clone(),
        history_length: request.history_length,
        status_timestamp_after: request.status_timestamp_after.map(timestamp_to_proto),
        include_artifacts: request.include_artifacts,
    }
}

/// Writes a request to cancel a task.
#[must_use]
pub fn cancel_task_to_proto(request: &CancelTask) -> pb::CancelTaskRequest {
    pb::CancelTaskRequest { tenant: request.tenant.clone(), id: text(&request.id), metadata: filled_struct(&request.metadata) }
}

/// Writes a request to watch a task.
#[must_use]
pub fn subscribe_to_proto(request: &Subscribe) -> pb::SubscribeToTaskRequest {
    pb::SubscribeToTaskRequest { tenant: request.tenant.clone(), id: text(&request.id) }
}

/// Writes a webhook config: the request that registers it, and the answer.
#[must_use]
pub fn push_config_to_proto(config: &PushConfig) -> pb::TaskPushNotificationConfig {
    pb::TaskPushNotificationConfig {
        tenant: config.tenant.clone(),
        id: text(&config.id),
        task_id: text(&config.task_id),
        url: config.url.clone(),
        token: config.token.expose().to_owned(),
        authentication: config.authentication.as_ref().map(authentication),
    }
}

fn authentication(authentication: &Authentication) -> pb::AuthenticationInfo {
    pb::AuthenticationInfo { scheme: authentication.scheme.clone(), credentials: authentication.credentials.expose().to_owned() }
}

/// Writes a request to read a webhook config.
#[must_use]
pub fn get_push_config_to_proto(request: &GetPushConfig) -> pb::GetTaskPushNotificationConfigRequest {
    pb::GetTaskPushNotificationConfigRequest {
        tenant: request.tenant.clone(),
        task_id: text(&request.task_id),
        id: request.id.as_ref().map(text).unwrap_or_default(),
    }
}

/// Writes a request to list a task's webhook configs.
#[must_use]
pub fn list_push_configs_to_proto(request: &ListPushConfigs) -> pb::ListTaskPushNotificationConfigsRequest {
    pb::ListTaskPushNotificationConfigsRequest {
        tenant: request.tenant.clone(),
        task_id: text(&request.task_id),
        page_size: request.page_size,
        page_token: request.page_token.clone(),
    }
}

/// Writes a request to remove a webhook config.
#[must_use]
pub fn delete_push_config_to_proto(request: &DeletePushConfig) -> pb::DeleteTaskPushNotificationConfigRequest {
    pb::DeleteTaskPushNotificationConfigRequest { tenant: request.tenant.clone(), task_id: text(&request.task_id), id: text(&request.id) }
}

/// Writes a request for the card that only known callers see.
#[must_use]
pub fn get_extended_card_to_proto(request: &GetExtendedCard) -> pb::GetExtendedAgentCardRequest {
    pb::GetExtendedAgentCardRequest { tenant: request.tenant.clone() }
}

/// Writes the answer to a message.
#[must_use]
pub fn send_reply_to_proto(reply: &SendReply) -> pb::SendMessageResponse {
    use pb::send_message_response::Payload;
    let payload = match reply {
        SendReply::Task(task) => Payload::Task(task_to_proto(task)),
        SendReply::Message(message) => Payload::Message(message_to_proto(message)),
    };
    pb::SendMessageResponse { payload: Some(payload) }
}

/// Writes a page of tasks.
#[must_use]
pub fn task_page_to_proto(page: &TaskPage) -> pb::ListTasksResponse {
    pb::ListTasksResponse {
        tasks: page.tasks.iter().map(task_to_proto).collect(),
        next_page_token: page.next_page_token.clone(),
        page_size: page.page_size,
        total_size: page.total_size,
    }
}

/// Writes a page of webhook configs.
#[must_use]
pub fn push_config_page_to_proto(page: &PushConfigPage) -> pb::ListTaskPushNotificationConfigsResponse {
    pb::ListTaskPushNotificationConfigsResponse {
        configs: page.configs.iter().map(push_config_to_proto).collect(),
        next_page_token: page.next_page_token.clone(),
    }
}

/// Writes one stream element.
#[must_use]
pub fn event_to_proto(event: &Event) -> pb::StreamResponse {
    use pb::stream_response::Payload;
    let payload = match event {
        Event::Task(task) => Some(Payload::Task(task_to_proto(task))),
        Event::Message(message) => Some(Payload::Message(message_to_proto(message))),
        Event::Status(update) => Some(Payload::StatusUpdate(status_update(update))),
        Event::Artifact(update) => Some(Payload::ArtifactUpdate(artifact_update(update))),
        // The model has no other events; one that is added there needs its line here.
        _ => None,
    };
    pb::StreamResponse { payload }
}

fn status_update(update: &StatusUpdate) -> pb::TaskStatusUpdateEvent {
    pb::TaskStatusUpdateEvent {
        task_id: text(&update.task_id),
        context_id: text(&update.context_id),
        status: Some(status(&update.status)),
        metadata: filled_struct(&update.metadata),
    }
}

fn artifact_update(update: &ArtifactUpdate) -> pb::TaskArtifactUpdateEvent {
    pb::TaskArtifactUpdateEvent {
        task_id: text(&update.task_id),
        context_id: text(&update.context_id),
        artifact: Some(artifact_to_proto(&update.artifact)),
        append: update.append,
        last_chunk: update.last_chunk,
        metadata: filled_struct(&update.metadata),
    }
}

/// Writes a task.
#[must_use]
pub fn task_to_proto(task: &Task) -> pb::Task {
    pb::Task {
        id: text(&task.id),
        context_id: text(&task.context_id),
        status: Some(status(&task.status)),
        artifacts: task.artifacts.iter().map(artifact_to_proto).collect(),
        history: task.history.iter().map(message_to_proto).collect(),
        metadata: filled_struct(&task.metadata),
    }
}

fn status(status: &TaskStatus) -> pb::TaskStatus {
    pb::TaskStatus {
        state: status.state.number(),
        message: status.message.as_ref().map(message_to_proto),
        timestamp: status.timestamp.map(timestamp_to_proto),
    }
}

/// Writes a message.
#[must_use]
pub fn message_to_proto(message: &Message) -> pb::Message {
    pb::Message {
        message_id: text(&message.message_id),
        context_id: message.context_id.as_ref().map(text).unwrap_or_default(),
        task_id: message.task_id.as_ref().map(text).unwrap_or_default(),
        role: message.role.number(),
        parts: message.parts.iter().map(part_to_proto).collect(),
        metadata: filled_struct(&message.metadata),
        extensions: message.extensions.clone(),
        reference_task_ids: message.reference_task_ids.iter().map(text).collect(),
    }
}

/// Writes an artifact.
#[must_use]
pub fn artifact_to_proto(artifact: &Artifact) -> pb::Artifact {
    pb::Artifact {
        artifact_id: text(&artifact.artifact_id),
        name: artifact.name.clone(),
        description: artifact.description.clone(),
        parts: artifact.parts.iter().map(part_to_proto).collect(),
        metadata: filled_struct(&artifact.metadata),
        extensions: artifact.extensions.clone(),
    }
}

/// Writes a part. Numbers in structured data become doubles (v1.0 §5.5).
#[must_use]
pub fn part_to_proto(part: &Part) -> pb::Part {
    use pb::part::Content as Wire;
    let content = match &part.content {
        Content::Text(text) => Wire::Text(text.clone()),
        Content::Raw(bytes) => Wire::Raw(bytes.clone()),
        Content::Url(url) => Wire::Url(url.clone()),
        Content::Data(value) => Wire::Data(value_to_proto(value)),
    };
    pb::Part {
        content: Some(content),
        metadata: filled_struct(&part.metadata),
        filename: part.filename.clone(),
        media_type: part.media_type.clone(),
    }
}

fn text(id: &impl AsRef<str>) -> String {
    id.as_ref().to_owned()
}
