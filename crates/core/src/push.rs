//! Push notification configs: where and how a client wants to be told.

use serde::{Deserialize, Serialize};

use crate::{
    caller::TraceContext,
    id::{PushConfigId, TaskId},
    json::{self, Object},
    origin::Origin,
    secret::Secret,
};

/// A webhook registered for a task; v1.0 calls it `TaskPushNotificationConfig`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[non_exhaustive]
pub struct PushConfig {
    /// Routing value; empty when the interface has none.
    #[serde(deserialize_with = "json::or_default", skip_serializing_if = "String::is_empty")]
    pub tenant: String,
    /// Chosen by the client, or by the server when empty.
    #[serde(deserialize_with = "json::or_default", skip_serializing_if = "PushConfigId::is_empty")]
    pub id: PushConfigId,
    /// The task; empty inside a send request, where the task is the one that results.
    #[serde(alias = "task_id", deserialize_with = "json::or_default", skip_serializing_if = "TaskId::is_empty")]
    pub task_id: TaskId,
    /// Where to send notifications.
    #[serde(deserialize_with = "json::or_default")]
    pub url: String,
    /// A value the server repeats to the webhook, so that it can check the origin.
    #[serde(deserialize_with = "json::or_default", skip_serializing_if = "Secret::is_empty")]
    pub token: Secret,
    /// How the server authenticates itself to the webhook.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub authentication: Option<Authentication>,
    /// What the server keeps about the config that v1.0 JSON has no member for.
    #[serde(skip)]
    pub record: PushRecord,
}

/// HTTP authentication towards a webhook.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[non_exhaustive]
pub struct Authentication {
    /// The HTTP authentication scheme, such as `Bearer`; compared without case.
    #[serde(deserialize_with = "json::or_default")]
    pub scheme: String,
    /// What the scheme wants: for `Bearer`, the token.
    #[serde(deserialize_with = "json::or_default", skip_serializing_if = "Secret::is_empty")]
    pub credentials: Secret,
}

/// What older versions say about a config beyond v1.0: kept beside it, shown to them again.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[non_exhaustive]
pub struct PushRecord {
    /// The way the config was registered; its notifications go out in that version.
    pub origin: Origin,
    /// All schemes that were offered, when there were several.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub schemes: Vec<String>,
    /// The header that carries the credential, when it is not `Authorization`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub header_name: String,
    /// Free members of a v0.1 authentication object.
    #[serde(skip_serializing_if = "Object::is_empty")]
    pub extra: Object,
    /// The name that whoever registered the config gave to the task, if it was they who gave it one: notifications go
    /// out under it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task_name: Option<TaskId>,
    /// The trace of the request that registered the config: notifications belong to it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trace: Option<TraceContext>,
    /// Whether whoever registered the config knows of handoffs: notifications show what that one would see.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub aware: bool,
}

impl PushConfig {
    /// A config for this webhook.
    pub fn new(url: impl Into<String>) -> Self {
        Self { url: url.into(), ..Self::default() }
    }

    /// Sets the config's id.
    #[must_use]
    pub fn id(mut self, id: impl Into<PushConfigId>) -> Self {
        self.id = id.into();
        self
    }

    /// Sets the task.
    #[must_use]
    pub fn for_task(mut self, task: impl Into<TaskId>) -> Self {
        self.task_id = task.into();
        self
    }

    /// Sets the token that the webhook will see again.
    #[must_use]
    pub fn token(mut self, token: impl Into<Secret>) -> Self {
        self.token = token.into();
        self
    }

    /// Sets how the server authenticates itself.
    #[must_use]
    pub fn authentication(mut self, scheme: impl Into<String>, credentials: impl Into<Secret>) -> Self {
        self.authentication = Some(Authentication::new(scheme, credentials));
        self
    }
}

impl Authentication {
    /// A scheme with its credentials.
    pub fn new(scheme: impl Into<String>, credentials: impl Into<Secret>) -> Self {
        Self { scheme: scheme.into(), credentials: credentials.into() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debug_output_shows_no_secret() {
        let config = PushConfig::new("https://client.example").token("tok-5d1f").authentication("Bearer", "s3cr3t");
        let text = format!("{config:?}");
        assert!(!text.contains("tok-5d1f") && !text.contains("s3cr3t"), "{text}");
    }
}
