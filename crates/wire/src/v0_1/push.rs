//! Webhook configs of v0.1: one for a task, without a name of its own. In v1.0 it is named like
//! the task, so that setting it again replaces it (CONV-PUSH-001, V01-PUSHCFG-001).

use std::borrow::Cow;

use chancery_core::{DeletePushConfig, Error, Object, PushConfig, PushConfigId, PushConfigPage, Request, Result, Secret, TaskId};
use serde::{Deserialize, Deserializer, Serialize, Serializer, ser::SerializeMap};

use crate::{json::Filled, legacy};

/// A config with its task, or a task without one.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct TaskConfig {
    // The task, not the config (V01-PUSHCFG-003).
    id: Option<TaskId>,
    /// Nothing when the member is missing, nothing inside when it is null.
    #[serde(default, alias = "push_notification_config", deserialize_with = "present")]
    push_notification_config: Option<Option<ReadConfig>>,
}

fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Option<ReadConfig>>, D::Error> {
    Option::deserialize(deserializer).map(Some)
}

impl TaskConfig {
    /// What `tasks/pushNotification/set` asks for: an explicit null removes the config.
    pub(super) fn set(self) -> Request {
        let task = self.id.unwrap_or_default();
        match self.push_notification_config {
            Some(None) => {
                let config = PushConfigId::from(task.as_str());
                Request::DeletePushConfig(DeletePushConfig::new(task, config))
            }
            Some(Some(config)) => Request::CreatePushConfig(Box::new(config.named(task.as_str()).for_task(task))),
            None => Request::CreatePushConfig(Box::new(PushConfig::default().for_task(task))),
        }
    }

    /// The config of an answer that must have one.
    pub(super) fn required(self) -> Result<PushConfig> {
        self.into_config().ok_or_else(|| Error::invalid_param("pushNotificationConfig", "is required"))
    }

    /// The answer as a list of none or one.
    pub(super) fn page(answer: Option<Self>) -> PushConfigPage {
        PushConfigPage::new(answer.and_then(Self::into_config).into_iter().collect())
    }

    fn into_config(self) -> Option<PushConfig> {
        let task = self.id.unwrap_or_default();
        Some(self.push_notification_config.flatten()?.named(task.as_str()).for_task(task))
    }
}

pub(super) struct ReadConfig(PushConfig);

impl ReadConfig {
    /// The config under the name of its task.
    pub(super) fn named(self, task: &str) -> PushConfig {
        self.0.id(task)
    }
}

impl<'de> Deserialize<'de> for ReadConfig {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        struct Members {
            url: Option<String>,
            token: Option<Secret>,
            authentication: Option<Authentication>,
        }
        #[derive(Deserialize)]
        struct Authentication {
            schemes: Option<Vec<String>>,
            credentials: Option<Secret>,
            /// The version allows any further member; they are kept for its own readers.
            #[serde(flatten)]
            extra: Object,
        }
        let members = Members::deserialize(deserializer)?;
        let mut config = PushConfig::new(members.url.unwrap_or_default()).token(members.token.unwrap_or_default());
        if let Some(authentication) = members.authentication {
            let schemes = authentication.schemes.unwrap_or_default();
            legacy::set_schemes(&mut config, schemes, authentication.credentials.unwrap_or_default());
            config.record.extra = authentication.extra.into_iter().filter(|(_, value)| !value.is_null()).collect();
        }
        Ok(Self(config))
    }
}

/// Writes a config with its task.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct WriteTaskConfig<'a> {
    id: &'a str,
    push_notification_config: Option<WriteConfig<'a>>,
}

impl<'a> WriteTaskConfig<'a> {
    pub(super) fn new(config: &'a PushConfig) -> Self {
        Self { id: config.task_id.as_str(), push_notification_config: Some(WriteConfig(config)) }
    }

    /// A task without a config, which removes the one it has.
    pub(super) fn none(task: &'a TaskId) -> Self {
        Self { id: task.as_str(), push_notification_config: None }
    }
}

pub(super) struct WriteConfig<'a>(pub(super) &'a PushConfig);

impl Serialize for WriteConfig<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let config = self.0;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("url", &config.url)?;
        map.text("token", config.token.expose())?;
        if let Some(authentication) = &config.authentication {
            #[derive(Serialize)]
            struct Written<'a> {
                schemes: Vec<Cow<'a, str>>,
                #[serde(skip_serializing_if = "Secret::is_empty")]
                credentials: &'a Secret,
                #[serde(flatten)]
                extra: &'a Object,
            }
            let (schemes, extra) = (legacy::schemes(config), &config.record.extra);
            map.serialize_entry("authentication", &Written { schemes, credentials: &authentication.credentials, extra })?;
        }
        map.end()
    }
}
