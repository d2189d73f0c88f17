//! What makes a message of the protocol valid, with the name of every field that is not.

use serde_json::Value;

use crate::{
    artifact::Artifact,
    card::Card,
    error::{Error, ErrorKind, FieldViolation, Result},
    event::{ArtifactUpdate, Event, StatusUpdate},
    json::{self, Object},
    message::{Message, Role},
    part::{Content, Part},
    push::PushConfig,
    request::{ListTasks, Request, SendMessage},
    security::{OAuthFlow, SecurityRequirement, SecurityScheme},
    task::{Task, TaskState, TaskStatus},
};

/// How large the pieces of a request may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// Parts per message or artifact.
    pub parts: usize,
    /// Nesting of free JSON: metadata, data parts, parameters.
    pub json_depth: usize,
    /// Bytes per id.
    pub id_bytes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { parts: 256, json_depth: 64, id_bytes: 256 }
    }
}

/// Something of the protocol that can be checked.
pub trait Validate {
    /// Adds a violation for each field that is wrong.
    fn check(&self, check: &mut Check);

    /// Whether everything is as the protocol demands, within the usual limits.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidParams`] with one violation per wrong field.
    fn validate(&self) -> Result<()> {
        self.validate_within(&Limits::default())
    }

    /// As [`validate`](Self::validate), within these limits.
    ///
    /// # Errors
    /// As there.
    fn validate_within(&self, limits: &Limits) -> Result<()> {
        // Most are right, and for those no path need be written.
        let mut check = Check { limits: *limits, path: None, violations: 0, named: Vec::new() };
        self.check(&mut check);
        if check.violations == 0 {
            return Ok(());
        }
        let mut check = Check { path: Some(String::new()), ..check };
        self.check(&mut check);
        Err(Error::from(ErrorKind::InvalidParams).violations_from(check.named))
    }
}

/// Finds violations: how many there are, and in a second run each with the path at which it was found.
#[derive(Debug)]
pub struct Check {
    limits: Limits,
    /// Nothing in the first run.
    path: Option<String>,
    violations: usize,
    named: Vec<FieldViolation>,
}

impl Check {
    /// Notes that `field`, below the current path, is wrong.
    #[cold]
    pub fn wrong(&mut self, field: &str, description: impl Into<String>) {
        self.violations += 1;
        if let Some(path) = &self.path {
            let path = if path.is_empty() { field.to_owned() } else { format!("{path}.{field}") };
            self.named.push(FieldViolation::new(path, description));
        }
    }

    /// Checks something below the current path.
    pub fn within(&mut self, field: &str, inner: impl FnOnce(&mut Self)) {
        let Some(path) = &mut self.path else { return inner(self) };
        let length = path.len();
        if !path.is_empty() {
            path.push('.');
        }
        path.push_str(field);
        inner(self);
        if let Some(path) = &mut self.path {
            path.truncate(length);
        }
    }

    fn each<T>(&mut self, field: &str, items: &[T], inner: impl Fn(&mut Self, &T)) {
        for (at, item) in items.iter().enumerate() {
            match self.path {
                Some(_) => self.within(&format!("{field}[{at}]"), |check| inner(check, item)),
                None => inner(self, item),
            }
        }
    }

    fn required(&mut self, field: &str, text: &str) {
        if text.is_empty() {
            self.wrong(field, "is required");
        }
    }

    fn id(&mut self, field: &str, id: &str) {
        self.required(field, id);
        self.optional_id(field, Some(id));
    }

    fn optional_id(&mut self, field: &str, id: Option<&str>) {
        let most = self.limits.id_bytes;
        if id.is_some_and(|id| id.len() > most) {
            self.wrong(field, format!("must not be longer than {most} bytes"));
        }
    }

    fn history_length(&mut self, length: Option<i32>) {
        if length.is_some_and(i32::is_negative) {
            self.wrong("historyLength", "must not be negative");
        }
    }

    fn parts(&mut self, parts: &[Part]) {
        let most = self.limits.parts;
        if parts.is_empty() {
            self.wrong("parts", "at least one part is needed");
        } else if parts.len() > most {
            self.wrong("parts", format!("must not be more than {most}"));
        }
        self.each("parts", parts, |check, part| part.check(check));
    }

    fn object(&mut self, field: &str, object: &Object) {
        let nested = object.values().map(json::depth).max().unwrap_or(0);
        self.nesting(field, nested + 1);
    }

    fn value(&mut self, field: &str, value: &Value) {
        self.nesting(field, json::depth(value));
    }

    fn nesting(&mut self, field: &str, depth: usize) {
        let most = self.limits.json_depth;
        if depth > most {
            self.wrong(field, format!("must not be nested deeper than {most}"));
        }
    }

    fn requirements(&mut self, field: &str, requirements: &[SecurityRequirement], card: &Card) {
        self.each(field, requirements, |check, requirement| {
            for name in requirement.schemes.keys().filter(|name| !card.security_schemes.contains_key(*name)) {
                check.wrong("schemes", format!("{name} is not among the security schemes"));
            }
        });
    }
}

impl Validate for Part {
    fn check(&self, check: &mut Check) {
        match &self.content {
            Content::Url(url) if url.is_empty() => check.wrong("url", "is required"),
            Content::Data(value) => check.value("data", value),
            _ => {}
        }
        check.object("metadata", &self.metadata);
    }
}

impl Validate for Message {
    fn check(&self, check: &mut Check) {
        check.id("messageId", self.message_id.as_str());
        check.optional_id("contextId", self.context_id.as_ref().map(AsRef::as_ref));
        check.optional_id("taskId", self.task_id.as_ref().map(AsRef::as_ref));
        if self.role == Role::Unspecified {
            check.wrong("role", "must be ROLE_USER or ROLE_AGENT");
        }
        check.parts(&self.parts);
        check.object("metadata", &self.metadata);
    }
}

impl Validate for Artifact {
    fn check(&self, check: &mut Check) {
        check.id("artifactId", self.artifact_id.as_str());
        check.parts(&self.parts);
        check.object("metadata", &self.metadata);
    }
}

impl Validate for TaskStatus {
    fn check(&self, check: &mut Check) {
        if self.state == TaskState::Unspecified {
            check.wrong("state", "is required");
        }
        if let Some(message) = &self.message {
            check.within("message", |check| message.check(check));
        }
    }
}

impl Validate for Task {
    fn check(&self, check: &mut Check) {
        check.id("id", self.id.as_str());
        check.within("status", |check| self.status.check(check));
        check.each("artifacts", &self.artifacts, |check, artifact| artifact.check(check));
        let mut seen = std::collections::HashSet::new();
        if !self.artifacts.iter().all(|artifact| seen.insert(&artifact.artifact_id)) {
            check.wrong("artifacts", "artifactId must be unique within the task");
        }
        check.each("history", &self.history, |check, message| message.check(check));
        check.object("metadata", &self.metadata);
    }
}

impl Validate for StatusUpdate {
    fn check(&self, check: &mut Check) {
        check.id("taskId", self.task_id.as_str());
        check.id("contextId", self.context_id.as_str());
        check.within("status", |check| self.status.check(check));
        check.object("metadata", &self.metadata);
    }
}

impl Validate for ArtifactUpdate {
    fn check(&self, check: &mut Check) {
        check.id("taskId", self.task_id.as_str());
        check.id("contextId", self.context_id.as_str());
        check.within("artifact", |check| self.artifact.check(check));
        check.object("metadata", &self.metadata);
    }
}

impl Validate for Event {
    fn check(&self, check: &mut Check) {
        match self {
            Self::Task(task) => check.within("task", |check| task.check(check)),
            Self::Message(message) => check.within("message", |check| message.check(check)),
            Self::Status(update) => check.within("statusUpdate", |check| update.check(check)),
            Self::Artifact(update) => check.within("artifactUpdate", |check| update.check(check)),
        }
    }
}

impl Validate for PushConfig {
    fn check(&self, check: &mut Check) {
        check.optional_id("id", Some(self.id.as_str()));
        check.optional_id("taskId", Some(self.task_id.as_str()));
        check.required("url", &self.url);
        if let Some(authentication) = &self.authentication {
            check.within("authentication", |check| check.required("scheme", &authentication.scheme));
        }
    }
}

impl Validate for SendMessage {
    fn check(&self, check: &mut Check) {
        check.within("message", |check| self.message.check(check));
        check.within("configuration", |check| {
            check.history_length(self.configuration.history_length);
            if let Some(config) = &self.configuration.push_config {
                check.within("taskPushNotificationConfig", |check| config.check(check));
            }
        });
        check.object("metadata", &self.metadata);
    }
}

impl Validate for ListTasks {
    fn check(&self, check: &mut Check) {
        check.optional_id("contextId", self.context_id.as_ref().map(AsRef::as_ref));
        if !(1..=Self::MAX_PAGE_SIZE).contains(&self.applied_page_size()) {
            check.wrong("pageSize", format!("must be between 1 and {}", Self::MAX_PAGE_SIZE));
        }
        check.history_length(self.history_length);
    }
}

impl Validate for Request {
    fn check(&self, check: &mut Check) {
        match self {
            Self::SendMessage(request) | Self::StreamMessage(request) => request.check(check),
            Self::GetTask(request) => {
                check.id("id", request.id.as_str());
                check.history_length(request.history_length);
            }
            Self::ListTasks(request) => request.check(check),
            Self::CancelTask(request) => {
                check.id("id", request.id.as_str());
                check.object("metadata", &request.metadata);
            }
            Self::Subscribe(request) => check.id("id", request.id.as_str()),
            Self::CreatePushConfig(config) => {
                check.required("taskId", config.task_id.as_str());
                config.check(check);
            }
            Self::GetPushConfig(request) => {
                check.id("taskId", request.task_id.as_str());
                check.optional_id("id", request.id.as_ref().map(AsRef::as_ref));
            }
            Self::ListPushConfigs(request) => {
                check.id("taskId", request.task_id.as_str());
                if request.page_size.is_negative() {
                    check.wrong("pageSize", "must not be negative");
                }
            }
            Self::DeletePushConfig(request) => {
                check.id("taskId", request.task_id.as_str());
                check.id("id", request.id.as_str());
            }
            Self::GetExtendedCard(_) => {}
        }
    }
}

impl Validate for SecurityScheme {
    fn check(&self, check: &mut Check) {
        match self {
            Self::ApiKey(scheme) => check.within("apiKeySecurityScheme", |check| check.required("name", &scheme.name)),
            Self::HttpAuth(scheme) => check.within("httpAuthSecurityScheme", |check| check.required("scheme", &scheme.scheme)),
            Self::OAuth2(scheme) => check.within("oauth2SecurityScheme.flows", |check| scheme.flows.check(check)),
            Self::OpenIdConnect(scheme) => {
                check.within("openIdConnectSecurityScheme", |check| check.required("openIdConnectUrl", &scheme.open_id_connect_url));
            }
            Self::MutualTls(_) => {}
        }
    }
}

impl Validate for OAuthFlow {
    fn check(&self, check: &mut Check) {
        match self {
            Self::AuthorizationCode(flow) => check.within("authorizationCode", |check| {
                check.required("authorizationUrl", &flow.authorization_url);
                check.required("tokenUrl", &flow.token_url);
            }),
            Self::ClientCredentials(flow) => check.within("clientCredentials", |check| check.required("tokenUrl", &flow.token_url)),
            Self::DeviceCode(flow) => check.within("deviceCode", |check| {
                check.required("deviceAuthorizationUrl", &flow.device_authorization_url);
                check.required("tokenUrl", &flow.token_url);
            }),
            Self::Implicit(_) | Self::Password(_) => {}
        }
    }
}

/// Strict, for cards that we write. Reading is lenient: real cards leave lists empty.
impl Validate for Card {
    fn check(&self, check: &mut Check) {
        check.required("name", &self.name);
        check.required("description", &self.description);
        check.required("version", &self.version);
        let lists = [
            ("supportedInterfaces", self.supported_interfaces.is_empty()),
            ("defaultInputModes", self.default_input_modes.is_empty()),
            ("defaultOutputModes", self.default_output_modes.is_empty()),
            ("skills", self.skills.is_empty()),
        ];
        for (field, _) in lists.into_iter().filter(|(_, empty)| *empty) {
            check.wrong(field, "at least one is needed");
        }
        check.each("supportedInterfaces", &self.supported_interfaces, |check, interface| {
            check.required("url", &interface.url);
            check.required("protocolBinding", &interface.protocol_binding);
            check.required("protocolVersion", &interface.protocol_version);
        });
        if let Some(provider) = &self.provider {
            check.within("provider", |check| {
                check.required("url", &provider.url);
                check.required("organization", &provider.organization);
            });
        }
        check.each("skills", &self.skills, |check, skill| {
            check.required("id", &skill.id);
            check.required("name", &skill.name);
            check.required("description", &skill.description);
            if skill.tags.is_empty() {
                check.wrong("tags", "at least one is needed");
            }
            check.requirements("securityRequirements", &skill.security_requirements, self);
        });
        for (name, scheme) in &self.security_schemes {
            check.within(&format!("securitySchemes.{name}"), |check| scheme.check(check));
        }
        check.requirements("securityRequirements", &self.security_requirements, self);
        check.each("signatures", &self.signatures, |check, signature| {
            check.required("protected", &signature.protected);
            check.required("signature", &signature.signature);
        });
    }
}
