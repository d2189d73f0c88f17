//! Webhook configs of the compact dialect: the credential travels in a header of any name.

use chancery_core::{Authentication, Error, PushConfig, PushConfigId, PushConfigPage, Result, Secret, TaskId, json as proto_json};
use serde::{Deserialize, Deserializer, Serialize, Serializer, ser::SerializeMap};

use crate::{
    json::{Each, Filled},
    v1_0::alias::agree,
};

/// Schemes in this dialect and in v1.0 (DIA-003-PUSH-002). Others are spelled alike in both.
const SCHEMES: [(&str, &str); 3] = [("bearer", "Bearer"), ("basic", "Basic"), ("api_key", "ApiKey")];

/// A config, on its own or below `pushNotificationConfig`.
pub(super) struct ReadConfig(pub(super) PushConfig);

impl<'de> Deserialize<'de> for ReadConfig {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Members {
            tenant: Option<String>,
            #[serde(alias = "config_id", alias = "id")]
            config_id: Option<PushConfigId>,
            #[serde(alias = "task_id")]
            task_id: Option<TaskId>,
            url: Option<String>,
            token: Option<Secret>,
            authentication: Option<ReadAuthentication>,
            #[serde(alias = "push_notification_config")]
            push_notification_config: Option<Box<ReadConfig>>,
        }
        let members = Members::deserialize(deserializer)?;
        let nested = members.push_notification_config.map(|config| config.0).unwrap_or_default();
        let mut config = PushConfig::default();
        config.tenant = members.tenant.unwrap_or_default();
        config.id = agree("configId", [members.config_id, nested.id.present()])?.unwrap_or_default();
        config.task_id = agree("taskId", [members.task_id, nested.task_id.present()])?.unwrap_or_default();
        config.url = agree("url", [members.url, Some(nested.url).filter(|url| !url.is_empty())])?.unwrap_or_default();
        config.token = agree("token", [members.token, Some(nested.token).filter(|token| !token.is_empty())])?.unwrap_or_default();
        (config.authentication, config.record.header_name) = match members.authentication {
            Some(found) => (Some(found.authentication), found.header_name),
            None => (nested.authentication, nested.record.header_name),
        };
        Ok(Self(config))
    }
}

struct ReadAuthentication {
    authentication: Authentication,
    header_name: String,
}

impl<'de> Deserialize<'de> for ReadAuthentication {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Members {
            scheme: Option<String>,
            #[serde(alias = "header_name")]
            header_name: Option<String>,
            value: Option<Secret>,
            credentials: Option<Secret>,
        }
        let members = Members::deserialize(deserializer)?;
        let scheme = members.scheme.unwrap_or_default();
        let known = SCHEMES.iter().find(|(word, name)| scheme.eq_ignore_ascii_case(word) || scheme.eq_ignore_ascii_case(name));
        let scheme = known.map_or(scheme, |(_, name)| (*name).to_owned());
        let credentials = agree("value", [members.value, members.credentials])?.unwrap_or_default();
        Ok(Self { authentication: Authentication::new(scheme, credentials), header_name: members.header_name.unwrap_or_default() })
    }
}

/// A header that a client names for its credential must be one, and none that frames the message.
pub(super) fn check(config: &PushConfig) -> Result<()> {
    let name = config.record.header_name.as_str();
    let is_token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    let reserved = ["connection", "content-length", "content-type", "host", "te", "trailer", "transfer-encoding", "upgrade"];
    if !name.bytes().all(is_token) || reserved.iter().any(|header| name.eq_ignore_ascii_case(header)) {
        return Err(Error::invalid_param("authentication.headerName", "must be the name of a header that is free for credentials"));
    }
    Ok(())
}

/// A list of configs.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ReadConfigs {
    #[serde(default, deserialize_with = "proto_json::or_default")]
    configs: Vec<ReadConfig>,
    #[serde(default, alias = "next_page_token", deserialize_with = "proto_json::or_default")]
    next_page_token: String,
}

impl ReadConfigs {
    pub(super) fn into_page(self) -> PushConfigPage {
        let mut page = PushConfigPage::new(self.configs.into_iter().map(|config| config.0).collect());
        page.next_page_token = self.next_page_token;
        page
    }
}

pub(super) struct WriteConfigs<'a>(pub(super) &'a PushConfigPage);

impl Serialize for WriteConfigs<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(2))?;
        map.serialize_entry("configs", &Each(&self.0.configs, WriteConfig::new))?;
        map.serialize_entry("nextPageToken", &self.0.next_page_token)?;
        map.end()
    }
}

/// A config without its task: calls and paths name that.
pub(super) struct WriteConfig<'a> {
    config: &'a PushConfig,
    id: &'a str,
}

impl<'a> WriteConfig<'a> {
    pub(super) fn new(config: &'a PushConfig) -> Self {
        Self { config, id: config.id.as_str() }
    }

    /// A config inside a call that names it too.
    pub(super) fn unnamed(config: &'a PushConfig) -> Self {
        Self { config, id: "" }
    }
}

impl Serialize for WriteConfig<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let config = self.config;
        let mut map = serializer.serialize_map(None)?;
        map.text("configId", self.id)?;
        map.serialize_entry("url", &config.url)?;
        map.text("token", config.token.expose())?;
        map.some("authentication", config.authentication.as_ref().map(|found| WriteAuthentication(found, &config.record.header_name)))?;
        map.end()
    }
}

struct WriteAuthentication<'a>(&'a Authentication, &'a str);

impl Serialize for WriteAuthentication<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self(authentication, header_name) = self;
        let scheme = authentication.scheme.as_str();
        let word = SCHEMES.iter().find(|(_, name)| scheme.eq_ignore_ascii_case(name)).map_or(scheme, |(word, _)| word);
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("scheme", word)?;
        map.text("headerName", header_name)?;
        map.text("value", authentication.credentials.expose())?;
        map.end()
    }
}
