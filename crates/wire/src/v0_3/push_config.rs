//! Push notification configs: `{taskId, pushNotificationConfig: {id, url, token, authentication}}`.

use std::borrow::Cow;

use chancery_core::{PushConfig, PushConfigId, PushConfigPage, Result, Secret, TaskId};
use serde::{Deserialize, Deserializer, Serialize};

use super::{each::Each, spelling::read};
use crate::{json, legacy};

/// Reads a config with its task.
pub(super) fn decode(json: &[u8]) -> Result<PushConfig> {
    read::<ReadTaskConfig>(json).map(|config| config.0)
}

/// Reads a list of configs: the bare array of JSON-RPC, or the object of HTTP+JSON.
pub(super) fn decode_all(json: &[u8]) -> Result<Vec<PushConfig>> {
    #[derive(Deserialize)]
    struct Page {
        configs: Option<Vec<ReadTaskConfig>>,
    }
    let configs = if json.trim_ascii_start().starts_with(b"{") { read::<Page>(json)?.configs } else { read(json)? };
    Ok(configs.unwrap_or_default().into_iter().map(|config| config.0).collect())
}

/// Writes a config with its task.
pub(super) fn encode(config: &PushConfig) -> Result<Vec<u8>> {
    json::write(&WriteTaskConfig::of(config))
}

/// Writes configs as the bare array of JSON-RPC, which has no pages.
pub(super) fn encode_all(configs: &[PushConfig]) -> Result<Vec<u8>> {
    json::write(&Each(configs, WriteTaskConfig::of))
}

/// Writes configs as the object of HTTP+JSON.
pub(super) fn encode_page(page: &PushConfigPage) -> Result<Vec<u8>> {
    #[derive(Serialize)]
    #[serde(rename_all = "camelCase")]
    struct Page<'a> {
        configs: Each<'a, PushConfig, WriteTaskConfig<'a>>,
        #[serde(skip_serializing_if = "str::is_empty")]
        next_page_token: &'a str,
    }
    json::write(&Page { configs: Each(&page.configs, WriteTaskConfig::of), next_page_token: &page.next_page_token })
}

struct ReadTaskConfig(PushConfig);

impl<'de> Deserialize<'de> for ReadTaskConfig {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Members {
            tenant: Option<String>,
            #[serde(alias = "task_id")]
            task_id: Option<TaskId>,
            #[serde(alias = "push_notification_config")]
            push_notification_config: Option<ReadConfig>,
        }
        let members = Members::deserialize(deserializer)?;
        let mut config = members.push_notification_config.map(|config| config.0).unwrap_or_default();
        config.tenant = members.tenant.unwrap_or_default();
        config.task_id = members.task_id.unwrap_or_default();
        if config.id.is_empty() {
            // V03-PUSHCFG-002. Before v0.2.2 configs have no id at all, in answers too.
            config.id = config.task_id.as_str().into();
        }
        Ok(Self(config))
    }
}

/// A config without its task, as it stands in a send request.
pub(super) struct ReadConfig(pub(super) PushConfig);

impl<'de> Deserialize<'de> for ReadConfig {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        struct Members {
            id: Option<PushConfigId>,
            url: Option<String>,
            token: Option<Secret>,
            authentication: Option<Authentication>,
        }
        #[derive(Deserialize)]
        struct Authentication {
            schemes: Option<Vec<String>>,
            credentials: Option<Secret>,
        }
        let members = Members::deserialize(deserializer)?;
        let mut config = PushConfig::new(members.url.unwrap_or_default());
        config.id = members.id.unwrap_or_default();
        config.token = members.token.unwrap_or_default();
        if let Some(Authentication { schemes, credentials }) = members.authentication {
            let (schemes, credentials) = (schemes.unwrap_or_default(), credentials.unwrap_or_default());
            // An empty list without credentials asks for nothing.
            if !schemes.is_empty() || !credentials.is_empty() {
                legacy::set_schemes(&mut config, schemes, credentials);
            }
        }
        Ok(Self(config))
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct WriteTaskConfig<'a> {
    #[serde(skip_serializing_if = "str::is_empty")]
    tenant: &'a str,
    task_id: &'a TaskId,
    push_notification_config: WriteConfig<'a>,
}

impl<'a> WriteTaskConfig<'a> {
    fn of(config: &'a PushConfig) -> Self {
        Self { tenant: &config.tenant, task_id: &config.task_id, push_notification_config: WriteConfig::of(config) }
    }
}

#[derive(Serialize)]
pub(super) struct WriteConfig<'a> {
    #[serde(skip_serializing_if = "PushConfigId::is_empty")]
    id: &'a PushConfigId,
    url: &'a str,
    #[serde(skip_serializing_if = "Secret::is_empty")]
    token: &'a Secret,
    #[serde(skip_serializing_if = "Option::is_none")]
    authentication: Option<WriteAuthentication<'a>>,
}

#[derive(Serialize)]
struct WriteAuthentication<'a> {
    schemes: Vec<Cow<'a, str>>,
    #[serde(skip_serializing_if = "Secret::is_empty")]
    credentials: &'a Secret,
}

impl<'a> WriteConfig<'a> {
    pub(super) fn of(config: &'a PushConfig) -> Self {
        Self {
            id: &config.id,
            url: &config.url,
            token: &config.token,
            authentication: config
                .authentication
                .as_ref()
                .map(|authentication| WriteAuthentication { schemes: legacy::schemes(config), credentials: &authentication.credentials }),
        }
    }
}
