//! HTTP+JSON: paths and queries of every version that has it.
//!
//! ```text
//! v1.0      [/{tenant}]/message:send   [/{tenant}]/tasks/{id}:cancel   …   /extendedAgentCard
//! v0.3      /v1/message:send           /v1/tasks/{id}:cancel           …   /v1/card
//! v0.2      /agent/authenticatedExtendedCard
//! compact   [/compact]/messages        [/compact]/tasks/{id}/stream    …   [/compact]/agent-card
//! ```

use chancery_core::{
    Binding, Error, ErrorKind, GetExtendedCard, Limits, ListTasks, Object, Operation, Origin, PushConfigId, Request, Result, TaskId,
    TaskState, Version,
};
use percent_encoding::{AsciiSet, CONTROLS, percent_decode_str, utf8_percent_encode};
use serde_json::Value;

use crate::{Dialect, json, states, transfer, version::RequestedVersion};

/// Where compact paths are served in full; at the root only those that v1.0 does not use.
pub const COMPACT_BASE: &str = "/compact";

/// What a method and a path mean.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Route {
    /// The version that has this path.
    pub version: Version,
    /// The operation.
    pub operation: Operation,
    /// The tenant in the path.
    pub tenant: Option<String>,
    /// The task in the path.
    pub task: Option<TaskId>,
    /// The push config in the path.
    pub config: Option<PushConfigId>,
}

impl Route {
    /// Finds out what a request means, from its method, its path below the agent's base and its
    /// version header. `None` when the path is none of A2A's.
    ///
    /// `v1_base` says that v1.0 is also served below `/v1`, where the header then decides.
    ///
    /// # Errors
    /// [`ErrorKind::VersionNotSupported`] when the header asks for another version than the path.
    pub fn find(method: &str, path: &str, header: Option<&str>, v1_base: bool) -> Result<Option<Self>> {
        let Some(segments) = segments(path) else { return Ok(None) };
        let segments: Vec<&str> = segments.iter().map(String::as_str).collect();
        let asked = RequestedVersion::parse(header);
        if let ["v1", rest @ ..] = segments.as_slice() {
            return below_v1(method, rest, asked, v1_base);
        }
        if let ["compact", rest @ ..] = segments.as_slice() {
            return compact(method, rest).map(|route| route.unless(asked)).transpose();
        }
        if (method, segments.as_slice()) == ("GET", &["agent", "authenticatedExtendedCard"]) {
            return Ok(Some(Self::new(Version::V0_2, Operation::GetExtendedCard)));
        }
        if let Some(route) = compact(method, &segments).filter(|_| v1_0(method, &segments).is_none()) {
            return route.unless(asked).map(Some);
        }
        let Some(route) = v1_0(method, &segments).or_else(|| with_tenant(method, &segments)) else { return Ok(None) };
        match asked {
            RequestedVersion::For(Version::V1_0) => Ok(Some(route)),
            _ => Err(asked.refusal("1.0")),
        }
    }

    fn new(version: Version, operation: Operation) -> Self {
        Self { version, operation, tenant: None, task: None, config: None }
    }

    fn v1_0(operation: Operation) -> Self {
        Self::new(Version::V1_0, operation)
    }

    fn compact(operation: Operation) -> Self {
        Self::new(Version::Compact, operation)
    }

    fn task(mut self, id: &str) -> Self {
        self.task = Some(id.into());
        self
    }

    fn config(mut self, id: &str) -> Self {
        self.config = Some(id.into());
        self
    }

    /// The compact dialect wants v1.0 or no header at all.
    fn unless(self, asked: RequestedVersion<'_>) -> Result<Self> {
        match asked {
            RequestedVersion::Nothing | RequestedVersion::For(Version::V1_0) => Ok(self),
            _ => Err(asked.refusal("1.0")),
        }
    }

    /// Reads the request that came this way: the path wins over the body, the body over nothing.
    /// An empty body counts as `{}`.
    ///
    /// # Errors
    /// As [`Dialect::request`].
    pub fn request(&self, dialect: Dialect, query: &str, body: &[u8], limits: &Limits) -> Result<Request> {
        let mut request = if has_body(self.operation) {
            let body = if body.iter().all(u8::is_ascii_whitespace) { b"{}" } else { body };
            // V03-REST-012: what comes with a cancel of v0.3 is nobody's business.
            if (self.version, self.operation) != (Version::V0_3, Operation::CancelTask) {
                demand_object(body)?;
            }
            dialect.decode_request(self.operation, body)?
        } else {
            dialect.decode_request(self.operation, &json::write(&query_members(query))?)?
        };
        if let Some(origin) = request.origin() {
            request.set_origin(Origin::new(self.version, Binding::HttpJson).file_bytes(origin.file_bytes));
        }
        self.apply(&mut request, query);
        dialect.check(&request, limits)?;
        Ok(request)
    }

    fn apply(&self, request: &mut Request, query: &str) {
        let task = self.task.clone();
        let config = self.config.clone();
        match request {
            Request::GetTask(get) => get.id = task.unwrap_or_default(),
            Request::CancelTask(cancel) => cancel.id = task.unwrap_or_default(),
            Request::Subscribe(subscribe) => subscribe.id = task.unwrap_or_default(),
            Request::CreatePushConfig(create) => {
                create.task_id = task.unwrap_or_default();
                if self.version == Version::V0_3 && create.id.is_empty() {
                    // V03-PUSHCFG-002: known only now that the path has said the task.
                    create.id = create.task_id.as_str().into();
                }
            }
            Request::GetPushConfig(get) => (get.task_id, get.id) = (task.unwrap_or_default(), config),
            Request::ListPushConfigs(list) => list.task_id = task.unwrap_or_default(),
            Request::DeletePushConfig(delete) => (delete.task_id, delete.id) = (task.unwrap_or_default(), config.unwrap_or_default()),
            _ => {}
        }
        let in_query = || form_urlencoded::parse(query.as_bytes()).find(|(name, _)| name == "tenant").map(|(_, value)| value.into_owned());
        if let Some(tenant) = self.tenant.clone().or_else(in_query) {
            request.set_tenant(tenant);
        }
    }
}

/// Whether an operation's members travel in the body; otherwise they are in the path and query.
fn has_body(operation: Operation) -> bool {
    matches!(operation, Operation::SendMessage | Operation::StreamMessage | Operation::CancelTask | Operation::CreatePushConfig)
}

/// Refuses a list, which the readers of objects would take for the values of the members, in order.
fn demand_object(body: &[u8]) -> Result<()> {
    if body.trim_ascii_start().first() == Some(&b'[') {
        json::read::<Vec<serde::de::IgnoredAny>>(body)?;
        return Err(Error::invalid_param("params", "must be an object"));
    }
    Ok(())
}

/// The decoded segments of a path; `None` when it is not UTF-8. One slash at the end is ignored.
fn segments(path: &str) -> Option<Vec<String>> {
    let path = path.strip_prefix('/').unwrap_or(path);
    let path = path.strip_suffix('/').unwrap_or(path);
    path.split('/').map(|segment| percent_decode_str(segment).decode_utf8().ok().map(std::borrow::Cow::into_owned)).collect()
}

fn v1_0(method: &str, segments: &[&str]) -> Option<Route> {
    use Operation as O;
    let filled = |id: &str| !id.is_empty();
    Some(match (method, segments) {
        ("POST", ["message:send"]) => Route::v1_0(O::SendMessage),
        ("POST", ["message:stream"]) => Route::v1_0(O::StreamMessage),
        ("GET", ["tasks"]) => Route::v1_0(O::ListTasks),
        ("GET", ["extendedAgentCard"]) => Route::v1_0(O::GetExtendedCard),
        (_, ["tasks", id]) => match (method, id.rsplit_once(':')) {
            ("POST", Some((id, "cancel"))) if filled(id) => Route::v1_0(O::CancelTask).task(id),
            ("GET" | "POST", Some((id, "subscribe"))) if filled(id) => Route::v1_0(O::Subscribe).task(id),
            ("GET", _) if filled(id) => Route::v1_0(O::GetTask).task(id),
            _ => return None,
        },
        ("POST", ["tasks", id, "pushNotificationConfigs"]) if filled(id) => Route::v1_0(O::CreatePushConfig).task(id),
        ("GET", ["tasks", id, "pushNotificationConfigs"]) if filled(id) => Route::v1_0(O::ListPushConfigs).task(id),
        ("GET", ["tasks", id, "pushNotificationConfigs", config]) if filled(id) && filled(config) => {
            Route::v1_0(O::GetPushConfig).task(id).config(config)
        }
        ("DELETE", ["tasks", id, "pushNotificationConfigs", config]) if filled(id) && filled(config) => {
            Route::v1_0(O::DeletePushConfig).task(id).config(config)
        }
        _ => return None,
    })
}

/// Below `/v1` is v0.3, unless v1.0 is served there too and the header asks for it.
fn below_v1(method: &str, segments: &[&str], asked: RequestedVersion<'_>, v1_base: bool) -> Result<Option<Route>> {
    if v1_base && asked == RequestedVersion::For(Version::V1_0) {
        return Ok(v1_0(method, segments).or_else(|| with_tenant(method, segments)));
    }
    let Some(route) = v0_3(method, segments) else { return Ok(None) };
    match asked {
        RequestedVersion::Nothing | RequestedVersion::For(Version::V0_3 | Version::V0_2) => Ok(Some(route)),
        _ => Err(asked.refusal("0.3")),
    }
}

/// The paths of v0.3 are those of v1.0 but for the card.
fn v0_3(method: &str, segments: &[&str]) -> Option<Route> {
    if (method, segments) == ("GET", &["card"]) {
        return Some(Route::new(Version::V0_3, Operation::GetExtendedCard));
    }
    let route = v1_0(method, segments).filter(|route| route.operation != Operation::GetExtendedCard)?;
    Some(Route { version: Version::V0_3, ..route })
}

/// Literal paths come first, so a tenant must not be named like one of them.
fn with_tenant(method: &str, segments: &[&str]) -> Option<Route> {
    let (tenant, rest) = segments.split_first()?;
    let mut route = v1_0(method, rest).filter(|_| !tenant.is_empty())?;
    route.tenant = Some((*tenant).to_owned());
    Some(route)
}

fn compact(method: &str, segments: &[&str]) -> Option<Route> {
    use Operation as O;
    if segments.contains(&"") {
        return None;
    }
    Some(match (method, segments) {
        ("POST", ["messages"]) => Route::compact(O::SendMessage),
        ("POST", ["messages", "stream"]) => Route::compact(O::StreamMessage),
        ("GET", ["tasks"]) => Route::compact(O::ListTasks),
        ("GET", ["tasks", id]) => Route::compact(O::GetTask).task(id),
        ("DELETE", ["tasks", id]) => Route::compact(O::CancelTask).task(id),
        ("GET", ["tasks", id, "stream"]) => Route::compact(O::Subscribe).task(id),
        ("POST", ["tasks", id, "notifications"]) => Route::compact(O::CreatePushConfig).task(id),
        ("GET", ["tasks", id, "notifications"]) => Route::compact(O::ListPushConfigs).task(id),
        ("GET", ["tasks", id, "notifications", config]) => Route::compact(O::GetPushConfig).task(id).config(config),
        ("DELETE", ["tasks", id, "notifications", config]) => Route::compact(O::DeletePushConfig).task(id).config(config),
        ("GET", ["agent-card"]) => Route::compact(O::GetExtendedCard),
        _ => return None,
    })
}

/// The dialect of a version over HTTP+JSON; v0.2 has one path there, in the form of its JSON-RPC.
#[must_use]
pub fn dialect(version: Version) -> Dialect {
    Dialect::of(version, Binding::HttpJson).unwrap_or(Dialect::V0_2)
}

/// The dialect of a request, where the body decides between two.
#[must_use]
pub fn dialect_of_body(version: Version, body: &[u8]) -> Dialect {
    match dialect(version) {
        Dialect::V0_3Rest => v0_3_shape(body),
        other => other,
    }
}

/// The dialect in which errors at a path are told that belongs to no version: the path is below the agent's own.
#[must_use]
pub fn dialect_of_path(path: &str) -> Dialect {
    match path.split('/').nth(1) {
        Some("v1") => Dialect::V0_3Rest,
        Some("compact" | "messages" | "agent-card") => Dialect::Compact,
        _ => Dialect::V1_0,
    }
}

/// Which form a v0.3 body has: real clients send the JSON of protobuf, the prose shows `kind`.
#[must_use]
pub fn v0_3_shape(body: &[u8]) -> Dialect {
    #[derive(serde::Deserialize)]
    struct Body {
        message: Option<Message>,
    }
    #[derive(serde::Deserialize)]
    struct Message {
        kind: Option<serde::de::IgnoredAny>,
        parts: Option<serde::de::IgnoredAny>,
        content: Option<serde::de::IgnoredAny>,
    }
    match serde_json::from_slice::<Body>(body) {
        Ok(Body { message: Some(message) }) if message.content.is_none() && (message.kind.is_some() || message.parts.is_some()) => {
            Dialect::V0_3RestKind
        }
        _ => Dialect::V0_3Rest,
    }
}

/// The query as the members of a request. The last value of a name wins; booleans become JSON.
fn query_members(query: &str) -> Object {
    let boolean = |name: &str| matches!(name, "includeArtifacts" | "include_artifacts");
    form_urlencoded::parse(query.as_bytes())
        .filter(|(name, value)| !value.is_empty() && name != "A2A-Version")
        .map(|(name, value)| match value.as_ref() {
            "1" if boolean(&name) => (name.into_owned(), Value::Bool(true)),
            "0" if boolean(&name) => (name.into_owned(), Value::Bool(false)),
            text if boolean(&name) && text.eq_ignore_ascii_case("true") => (name.into_owned(), Value::Bool(true)),
            text if boolean(&name) && text.eq_ignore_ascii_case("false") => (name.into_owned(), Value::Bool(false)),
            text => (name.into_owned(), Value::from(text)),
        })
        .collect()
}

/// What a client sends for a request.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct HttpRequest {
    /// The HTTP method.
    pub method: &'static str,
    /// The path and query, to be put after the interface's URL.
    pub target: String,
    /// The body, if the request has one.
    pub body: Option<Vec<u8>>,
}

/// Characters that would end or split a path segment.
const SEGMENT: &AsciiSet =
    &CONTROLS.add(b' ').add(b'"').add(b'#').add(b'%').add(b'/').add(b':').add(b'<').add(b'>').add(b'?').add(b'`').add(b'{').add(b'}');

impl HttpRequest {
    /// Writes a request as HTTP+JSON in a version that has it.
    ///
    /// # Errors
    /// [`ErrorKind::UnsupportedOperation`] when the version has no such path.
    pub fn new(dialect: Dialect, request: &Request) -> Result<Self> {
        let version = dialect.version();
        let (method, path) = method_and_path(version, request)?;
        let prefix = match version {
            Version::V0_3 => "/v1".to_owned(),
            Version::V1_0 if !request.tenant().is_empty() => format!("/{}", segment(request.tenant())),
            _ => String::new(),
        };
        let query = query(dialect, request);
        let target = if query.is_empty() { format!("{prefix}{path}") } else { format!("{prefix}{path}?{query}") };
        let body = (method == "POST" && has_body(request.operation())).then(|| match (version, request) {
            // In JSON-RPC the config is a member of the call; here it is the body.
            (Version::Compact, Request::CreatePushConfig(config)) => crate::compact::config_body(config),
            _ => dialect.encode_request(request),
        });
        let body = body.transpose()?;
        Ok(Self { method, target, body })
    }
}

fn segment(id: &str) -> String {
    utf8_percent_encode(id, SEGMENT).to_string()
}

fn method_and_path(version: Version, request: &Request) -> Result<(&'static str, String)> {
    let task = |id: &TaskId| segment(id.as_str());
    let config = |id: &str| segment(id);
    let compact = match version {
        Version::V1_0 | Version::V0_3 => false,
        Version::Compact => true,
        Version::V0_2 if matches!(request, Request::GetExtendedCard(_)) => {
            return Ok(("GET", "/agent/authenticatedExtendedCard".to_owned()));
        }
        _ => return Err(Error::new(ErrorKind::UnsupportedOperation, format!("A2A {version} has no HTTP+JSON binding"))),
    };
    let configs = if compact { "notifications" } else { "pushNotificationConfigs" };
    Ok(match request {
        Request::SendMessage(_) => ("POST", if compact { "/messages" } else { "/message:send" }.to_owned()),
        Request::StreamMessage(_) => ("POST", if compact { "/messages/stream" } else { "/message:stream" }.to_owned()),
        Request::GetTask(get) => ("GET", format!("/tasks/{}", task(&get.id))),
        Request::ListTasks(_) => ("GET", "/tasks".to_owned()),
        Request::CancelTask(cancel) if compact => ("DELETE", format!("/tasks/{}", task(&cancel.id))),
        Request::CancelTask(cancel) => ("POST", format!("/tasks/{}:cancel", task(&cancel.id))),
        Request::Subscribe(subscribe) if compact => ("GET", format!("/tasks/{}/stream", task(&subscribe.id))),
        // All known v0.3 servers take GET; all known v1.0 servers take POST.
        Request::Subscribe(subscribe) => {
            (if version == Version::V1_0 { "POST" } else { "GET" }, format!("/tasks/{}:subscribe", task(&subscribe.id)))
        }
        Request::CreatePushConfig(create) => ("POST", format!("/tasks/{}/{configs}", task(&create.task_id))),
        Request::GetPushConfig(get) => {
            let id = get.id.as_ref().map_or_else(|| get.task_id.as_str(), |id| id.as_str());
            ("GET", format!("/tasks/{}/{configs}/{}", task(&get.task_id), config(id)))
        }
        Request::ListPushConfigs(list) => ("GET", format!("/tasks/{}/{configs}", task(&list.task_id))),
        Request::DeletePushConfig(delete) => {
            ("DELETE", format!("/tasks/{}/{configs}/{}", task(&delete.task_id), config(delete.id.as_str())))
        }
        Request::GetExtendedCard(GetExtendedCard { .. }) => (
            "GET",
            match version {
                Version::Compact => "/agent-card",
                Version::V0_3 => "/card",
                _ => "/extendedAgentCard",
            }
            .to_owned(),
        ),
    })
}

fn query(dialect: Dialect, request: &Request) -> String {
    let mut pairs: Vec<(&str, &str, String)> = Vec::new();
    match request {
        Request::GetTask(get) => {
            // Zero means "everything" to v0.3, so it stays unsaid and the caller strips the history.
            let length = get.history_length.filter(|length| *length != 0 || dialect.version() != Version::V0_3);
            pairs.extend(length.map(|length| ("historyLength", "history_length", length.to_string())));
        }
        Request::ListTasks(list) => list_query(dialect, list, &mut pairs),
        Request::ListPushConfigs(list) => {
            if list.page_size != 0 {
                pairs.push(("pageSize", "page_size", list.page_size.to_string()));
            }
            if !list.page_token.is_empty() {
                pairs.push(("pageToken", "page_token", list.page_token.clone()));
            }
        }
        _ => {}
    }
    // The hosted variant of v0.3 takes the tenant here; v1.0 has it in the path.
    if dialect.version() == Version::V0_3 && !request.tenant().is_empty() && !has_body(request.operation()) {
        pairs.push(("tenant", "tenant", request.tenant().to_owned()));
    }
    let mut query = form_urlencoded::Serializer::new(String::new());
    for (camel, snake, value) in pairs {
        query.append_pair(if dialect.version() == Version::Compact { snake } else { camel }, &value);
    }
    query.finish()
}

fn list_query(dialect: Dialect, list: &ListTasks, pairs: &mut Vec<(&str, &str, String)>) {
    pairs.extend(list.context_id.iter().map(|id| ("contextId", "context_id", id.to_string())));
    if list.handed_over == Some(true) && dialect == Dialect::Compact {
        pairs.push(("status", "status", transfer::STATE.to_owned()));
    } else if list.status != TaskState::Unspecified {
        pairs.push(("status", "status", states::write(dialect, list.status).to_owned()));
    }
    pairs.extend(list.page_size.map(|size| ("pageSize", "page_size", size.to_string())));
    if !list.page_token.is_empty() {
        pairs.push(("pageToken", "page_token", list.page_token.clone()));
    }
    pairs.extend(list.history_length.map(|length| ("historyLength", "history_length", length.to_string())));
    pairs.extend(list.status_timestamp_after.map(|at| match dialect.version() {
        Version::V0_3 => ("lastUpdatedAfter", "last_updated_after", at.unix_millis().to_string()),
        _ => ("statusTimestampAfter", "status_timestamp_after", at.to_string()),
    }));
    pairs.extend(list.include_artifacts.map(|yes| ("includeArtifacts", "include_artifacts", yes.to_string())));
}
