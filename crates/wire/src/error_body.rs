//! Errors as JSON: inside JSON-RPC, and as the body of an HTTP answer.

use std::collections::BTreeMap;

use chancery_core::{Error, ErrorKind, FieldViolation, Object, Result, Version};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::{Dialect, errors, json};

const ERROR_INFO: &str = "type.googleapis.com/google.rpc.ErrorInfo";
const BAD_REQUEST: &str = "type.googleapis.com/google.rpc.BadRequest";
/// Where the free data of an older peer's error is kept, as JSON text.
const LEGACY_DATA: &str = "legacyData";

impl Dialect {
    /// Writes the `error` member of a JSON-RPC response.
    ///
    /// # Errors
    /// Does not happen; errors are always writable.
    pub fn encode_rpc_error(self, error: &Error) -> Result<Vec<u8>> {
        let mut body = json::with(Object::new(), "code", errors::rpc_code(error.kind(), self.version()));
        body.insert("message".to_owned(), error.message().into());
        let data = match self.version() {
            Version::V1_0 => Some(Value::Array(details(error))),
            Version::Compact => compact_data(error),
            _ => legacy_data(error),
        };
        if let Some(data) = data {
            body.insert("data".to_owned(), data);
        }
        json::write(&body)
    }

    /// Reads the `error` member of a JSON-RPC response. Any text gives an error of some kind.
    #[must_use]
    pub fn decode_rpc_error(self, json: &[u8]) -> Error {
        #[derive(Deserialize)]
        struct Body {
            #[serde(default)]
            code: i64,
            #[serde(default)]
            message: Option<String>,
            #[serde(default)]
            data: Option<Value>,
        }
        let Ok(body) = json::parse::<Body>(json) else {
            return Error::new(ErrorKind::InvalidAgentResponse, "the peer's error is not a JSON-RPC error");
        };
        let kind = errors::kind_of_rpc_code(i32::try_from(body.code).unwrap_or(-32603), self.version());
        self.assemble(kind, body.message, body.data)
    }

    /// Writes the body of an HTTP+JSON error answer, and gives its status.
    ///
    /// # Errors
    /// Does not happen; errors are always writable.
    pub fn encode_http_error(self, error: &Error) -> Result<(u16, Vec<u8>)> {
        let status = errors::http_status(error.kind(), self.version());
        Ok((status, self.encode_http_error_as(error, status)?))
    }

    /// Writes the body of an HTTP+JSON error answer that has another status than the error by itself, because
    /// the request was refused before it was looked at.
    ///
    /// # Errors
    /// Does not happen; errors are always writable.
    pub fn encode_http_error_as(self, error: &Error, status: u16) -> Result<Vec<u8>> {
        let version = self.version();
        let body = match version {
            Version::Compact => {
                json!({"code": error.kind().reason(), "message": error.message(), "details": compact_data(error).unwrap_or_else(|| json!({}))})
            }
            Version::V1_0 => json!({"error": google_status(error, status, version)}),
            // JS reads the numeric code at the top, newer clients read the status below.
            _ => {
                let mut body = json!({"code": errors::rpc_code(error.kind(), version), "message": error.message()});
                if let Some(data) = legacy_data(error) {
                    body["data"] = data;
                }
                body["error"] = google_status(error, status, version);
                body
            }
        };
        json::write(&body)
    }

    /// Reads an HTTP+JSON error answer in any of the forms that peers write.
    #[must_use]
    pub fn decode_http_error(self, status: u16, json: &[u8]) -> Error {
        let by_status = match (status, self.version()) {
            // In v0.3 a bare 404 is nearly always a task: Python says no more than that.
            (404, Version::V0_3) => ErrorKind::TaskNotFound,
            _ => errors::kind_of_http_status(status),
        };
        let Ok(Value::Object(mut body)) = serde_json::from_slice(json) else {
            return Error::new(by_status, format!("HTTP status {status}"));
        };
        // A v0.3 body has the numeric code at the top, beside the status that newer clients read.
        let message = take_text(&mut body, "message");
        let kind = match body.get("code") {
            Some(Value::Number(code)) => {
                let code = code.as_i64().and_then(|code| i32::try_from(code).ok()).unwrap_or(-32603);
                errors::kind_of_rpc_code(code, self.version())
            }
            Some(Value::String(reason)) => ErrorKind::from_reason(reason).unwrap_or(by_status),
            _ => by_status,
        };
        match body.remove("error") {
            Some(Value::Object(mut status)) => {
                let message = message.or_else(|| take_text(&mut status, "message"));
                self.assemble(kind, message, body.remove("data").or_else(|| status.remove("details")))
            }
            Some(Value::String(text)) => Error::new(kind, message.unwrap_or(text)),
            _ => self.assemble(kind, message, body.remove("data").or_else(|| body.remove("details"))),
        }
    }

    fn assemble(self, kind: ErrorKind, message: Option<String>, data: Option<Value>) -> Error {
        let facts = Facts::read(data, self.version());
        let kind = facts.reason.as_deref().and_then(ErrorKind::from_reason).unwrap_or(kind);
        let message = message.filter(|text| !text.is_empty()).unwrap_or_else(|| kind.default_message().to_owned());
        let error = Error::new(kind, message).violations_from(facts.violations);
        facts.metadata.into_iter().fold(error, |error, (key, value)| error.with(key, value))
    }
}

/// What the data of an error says.
#[derive(Default)]
struct Facts {
    reason: Option<String>,
    metadata: BTreeMap<String, String>,
    violations: Vec<FieldViolation>,
}

impl Facts {
    fn read(data: Option<Value>, version: Version) -> Self {
        match data {
            None | Some(Value::Null) => Self::default(),
            Some(Value::Array(details)) if details.iter().any(|detail| detail.get("@type").is_some()) => Self::typed(&details),
            Some(Value::Object(members)) if version == Version::Compact => {
                Self { metadata: members.into_iter().map(|(key, value)| (key, text_of(value))).collect(), ..Self::default() }
            }
            Some(Value::Object(members)) => Self::legacy(members),
            Some(other) => Self { metadata: [(LEGACY_DATA.to_owned(), other.to_string())].into(), ..Self::default() },
        }
    }

    fn typed(details: &[Value]) -> Self {
        let mut facts = Self::default();
        for detail in details {
            match detail.get("@type").and_then(Value::as_str) {
                Some(ERROR_INFO) => {
                    // Another domain's reason may be spelled like ours and mean something else.
                    if detail.get("domain").and_then(Value::as_str).is_none_or(|domain| domain == Error::DOMAIN) {
                        facts.reason = detail.get("reason").and_then(Value::as_str).map(str::to_owned);
                    }
                    if let Some(Value::Object(metadata)) = detail.get("metadata") {
                        facts.metadata.extend(metadata.iter().map(|(key, value)| (key.clone(), text_of(value.clone()))));
                    }
                }
                Some(BAD_REQUEST) => {
                    let violations = detail.get("fieldViolations").or_else(|| detail.get("field_violations"));
                    facts.violations.extend(violations.and_then(Value::as_array).into_iter().flatten().map(violation));
                }
                _ => {}
            }
        }
        facts
    }

    fn legacy(mut members: Map<String, Value>) -> Self {
        if let (Some(Value::Array(list)), 1) = (members.get("errors"), members.len()) {
            return Self { violations: list.iter().map(violation).collect(), ..Self::default() };
        }
        let reason =
            members.get("reason").and_then(Value::as_str).filter(|reason| ErrorKind::from_reason(reason).is_some()).map(str::to_owned);
        if reason.is_some() && members.values().all(Value::is_string) {
            members.remove("reason");
            let metadata = members.into_iter().map(|(key, value)| (key, text_of(value))).collect();
            return Self { reason, metadata, violations: Vec::new() };
        }
        Self { reason, metadata: [(LEGACY_DATA.to_owned(), Value::Object(members).to_string())].into(), violations: Vec::new() }
    }
}

fn violation(value: &Value) -> FieldViolation {
    let text = |keys: [&str; 2]| keys.iter().find_map(|key| value.get(*key)).and_then(Value::as_str).unwrap_or_default().to_owned();
    FieldViolation::new(text(["field", "loc"]), text(["description", "message"]))
}

fn text_of(value: Value) -> String {
    match value {
        Value::String(text) => text,
        other => other.to_string(),
    }
}

fn take_text(object: &mut Map<String, Value>, key: &str) -> Option<String> {
    match object.remove(key) {
        Some(Value::String(text)) => Some(text),
        _ => None,
    }
}

/// v1.0: typed details, `ErrorInfo` first.
fn details(error: &Error) -> Vec<Value> {
    let mut info = json!({"@type": ERROR_INFO, "reason": error.kind().reason(), "domain": Error::DOMAIN});
    if !error.metadata().is_empty() {
        info["metadata"] = json!(error.metadata());
    }
    let mut details = vec![info];
    if !error.violations().is_empty() {
        let violations: Vec<_> =
            error.violations().iter().map(|violation| json!({"field": violation.field, "description": violation.description})).collect();
        details.push(json!({"@type": BAD_REQUEST, "fieldViolations": violations}));
    }
    details
}

fn google_status(error: &Error, status: u16, version: Version) -> Value {
    let mut details = details(error);
    if version != Version::V1_0 {
        // v0.3 readers that know the status want the member even when it is empty.
        details[0]["metadata"] = json!(error.metadata());
    }
    json!({"code": status, "status": errors::grpc_code(error.kind(), Version::V1_0).name(), "message": error.message(), "details": details})
}

/// Before v1.0 `data` is free: the reason and its facts, the violations, or what the peer had sent.
fn legacy_data(error: &Error) -> Option<Value> {
    if let Some(data) = error.metadata().get(LEGACY_DATA).and_then(|text| serde_json::from_str(text).ok()) {
        return Some(data);
    }
    if !error.violations().is_empty() {
        let errors: Vec<_> =
            error.violations().iter().map(|violation| json!({"field": violation.field, "message": violation.description})).collect();
        return Some(json!({"errors": errors}));
    }
    if error.metadata().is_empty() {
        return None;
    }
    let mut data = json!(error.metadata());
    data["reason"] = error.kind().reason().into();
    Some(data)
}

fn compact_data(error: &Error) -> Option<Value> {
    if !error.violations().is_empty() {
        return Some(
            error
                .violations()
                .iter()
                .map(|violation| (violation.field.clone(), violation.description.clone().into()))
                .collect::<Object>()
                .into(),
        );
    }
    (!error.metadata().is_empty()).then(|| json!(error.metadata()))
}
