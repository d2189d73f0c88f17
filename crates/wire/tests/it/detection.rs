//! Which version a request is in.

use chancery_core::{Error, ErrorKind, Operation, Result, Version};
use chancery_wire::{
    Dialect, errors,
    jsonrpc::Call,
    methods,
    rest::{self, Route},
    version::{self, CardForm, Spoken},
};
use serde_json::Value;

use crate::vector::{self, bytes};

/// What a server finds out about a request.
#[derive(Debug, Default, PartialEq)]
struct Decision {
    version: Option<&'static str>,
    binding: Option<&'static str>,
    operation: Option<&'static str>,
    shape: Option<&'static str>,
    card: Option<&'static str>,
    error: Option<i32>,
}

fn name(version: Version) -> &'static str {
    if version == Version::Compact { "dialect-003" } else { version.as_str() }
}

fn decide(request: &Value) -> Decision {
    if let Some(path) = request["grpc"].as_str() {
        let (version, operation) = methods::grpc_method(path).unwrap();
        return Decision { version: Some(name(version)), binding: Some("GRPC"), operation: Some(operation.name()), ..Decision::default() };
    }
    let target = request["target"].as_str().unwrap();
    let (path, _) = target.split_once('?').unwrap_or((target, ""));
    let header = request["headers"]["a2a-version"].as_str();
    let body = request.get("body").map(bytes).unwrap_or_default();
    match version::card_form(path) {
        Some(CardForm::AgentJson) => return Decision { card: Some("agent.json"), ..Decision::default() },
        Some(CardForm::Merged) => return Decision { card: Some("hybrid"), ..Decision::default() },
        _ => {}
    }
    if path == "/a2a" {
        let call = Call::parse(&body).unwrap();
        return match version::of_rpc(&call.method, header) {
            Ok((spoken, operation)) => {
                let version = spoken.resolve(creator(call.params()));
                let (version, operation) = (Some(name(version)), Some(operation.name()));
                Decision { version, binding: Some("JSONRPC"), operation, ..Decision::default() }
            }
            Err(error) => {
                let code = errors::rpc_code(error.kind(), version::of_rpc_error(Some(&call.method), header));
                Decision { error: Some(code), ..Decision::default() }
            }
        };
    }
    let route = Route::find(request["method"].as_str().unwrap(), path, header, true).unwrap().unwrap();
    let shape = (route.version == Version::V0_3).then(|| match rest::v0_3_shape(&body) {
        Dialect::V0_3Rest => "proto",
        _ => "jsonrpc",
    });
    let (version, operation) = (Some(name(route.version)), Some(route.operation.name()));
    Decision { version, binding: Some("HTTP+JSON"), operation, shape, ..Decision::default() }
}

/// The version that created the task of a call; the vectors put it into the id.
fn creator(params: &[u8]) -> Option<Version> {
    let params: Value = serde_json::from_slice(params).unwrap();
    match params["id"].as_str()? {
        "created-by-tasks-send" => Some(Version::V0_1),
        "created-by-message-send" => Some(Version::V0_3),
        "created-by-SendMessage" => Some(Version::V1_0),
        _ => None,
    }
}

/// CONV-DET-001, CONV-DET-002, CONV-DET-003, CONV-DET-004, CONV-DET-005, CONV-DET-006, CONV-DET-010,
/// CONV-DET-011, CONV-DET-012, CONV-DET-013, CONV-DET-014, CONV-DET-015, CONV-DET-016, CONV-CARD-001,
/// CONV-CARD-003.
#[test]
fn every_request_of_the_vector_is_recognized() {
    let vector = vector::one("detection/requests");
    let cases = vector.at("/cases").and_then(Value::as_array).unwrap();
    assert!(cases.len() >= 44, "only {} cases", cases.len());
    for case in cases {
        let decision = decide(&case["request"]);
        let found = |key: &str| match key {
            "version" => decision.version.map(Value::from),
            "binding" => decision.binding.map(Value::from),
            "operation" => decision.operation.map(Value::from),
            "shape" => decision.shape.map(Value::from),
            "card" => decision.card.map(Value::from),
            "error" => decision.error.map(Value::from),
            other => panic!("nobody checks {other}"),
        };
        for (key, expected) in case["expect"].as_object().unwrap() {
            if !matches!(key.as_str(), "rule" | "note") {
                assert_eq!(found(key).as_ref(), Some(expected), "{key} of {}", case["request"]);
            }
        }
    }
}

/// Method, path, header; then version and operation, tenant, task, config.
type RouteCase = (&'static str, &'static str, Option<&'static str>, Version, Operation, [Option<&'static str>; 3]);

#[rustfmt::skip]
const ROUTES: [RouteCase; 36] = {
    use Operation as O;
    use Version::{Compact, V0_2, V0_3, V1_0};
    const H: Option<&str> = Some("1.0");
    [
        ("POST", "/message:send", H, V1_0, O::SendMessage, [None, None, None]),
        ("POST", "/message%3Asend", H, V1_0, O::SendMessage, [None, None, None]),
        ("POST", "/acme/message:send", H, V1_0, O::SendMessage, [Some("acme"), None, None]),
        ("POST", "/message:stream", H, V1_0, O::StreamMessage, [None, None, None]),
        ("GET", "/tasks/t-1", Some("1.0.3"), V1_0, O::GetTask, [None, Some("t-1"), None]),
        ("GET", "/tasks/t-1/", H, V1_0, O::GetTask, [None, Some("t-1"), None]),
        ("GET", "/tasks/a%2Fb%20c", H, V1_0, O::GetTask, [None, Some("a/b c"), None]),
        ("GET", "/tasks/urn:x:1", H, V1_0, O::GetTask, [None, Some("urn:x:1"), None]),
        ("GET", "/tasks", H, V1_0, O::ListTasks, [None, None, None]),
        ("GET", "/acme/tasks", H, V1_0, O::ListTasks, [Some("acme"), None, None]),
        // Literal paths come before tenants (AMB-28).
        ("GET", "/tasks/tasks", H, V1_0, O::GetTask, [None, Some("tasks"), None]),
        ("POST", "/tasks/t-1:cancel", H, V1_0, O::CancelTask, [None, Some("t-1"), None]),
        ("POST", "/tasks/urn:x:1:cancel", H, V1_0, O::CancelTask, [None, Some("urn:x:1"), None]),
        ("POST", "/acme/tasks/t-1%3Acancel", H, V1_0, O::CancelTask, [Some("acme"), Some("t-1"), None]),
        ("GET", "/tasks/t-1:subscribe", H, V1_0, O::Subscribe, [None, Some("t-1"), None]),
        ("POST", "/acme/tasks/t-1:subscribe", H, V1_0, O::Subscribe, [Some("acme"), Some("t-1"), None]),
        ("POST", "/tasks/t-1/pushNotificationConfigs", H, V1_0, O::CreatePushConfig, [None, Some("t-1"), None]),
        ("GET", "/tasks/t-1/pushNotificationConfigs", H, V1_0, O::ListPushConfigs, [None, Some("t-1"), None]),
        ("GET", "/tasks/t-1/pushNotificationConfigs/p-1", H, V1_0, O::GetPushConfig, [None, Some("t-1"), Some("p-1")]),
        ("DELETE", "/acme/tasks/t-1/pushNotificationConfigs/p-1", H, V1_0, O::DeletePushConfig, [Some("acme"), Some("t-1"), Some("p-1")]),
        ("GET", "/extendedAgentCard", H, V1_0, O::GetExtendedCard, [None, None, None]),
        ("GET", "/acme/extendedAgentCard", H, V1_0, O::GetExtendedCard, [Some("acme"), None, None]),
        ("POST", "/v1/message:send", None, V0_3, O::SendMessage, [None, None, None]),
        ("POST", "/v1/tasks/t-1:cancel", Some("0.3"), V0_3, O::CancelTask, [None, Some("t-1"), None]),
        ("GET", "/v1/tasks/t-1:subscribe", Some("0.2"), V0_3, O::Subscribe, [None, Some("t-1"), None]),
        ("GET", "/v1/card", None, V0_3, O::GetExtendedCard, [None, None, None]),
        ("GET", "/agent/authenticatedExtendedCard", None, V0_2, O::GetExtendedCard, [None, None, None]),
        ("POST", "/messages", None, Compact, O::SendMessage, [None, None, None]),
        ("POST", "/messages/stream", H, Compact, O::StreamMessage, [None, None, None]),
        ("GET", "/compact/tasks", None, Compact, O::ListTasks, [None, None, None]),
        ("GET", "/compact/tasks/t-1", None, Compact, O::GetTask, [None, Some("t-1"), None]),
        ("DELETE", "/tasks/t-1", None, Compact, O::CancelTask, [None, Some("t-1"), None]),
        ("GET", "/tasks/t-1/stream", None, Compact, O::Subscribe, [None, Some("t-1"), None]),
        ("POST", "/tasks/t-1/notifications", None, Compact, O::CreatePushConfig, [None, Some("t-1"), None]),
        ("GET", "/tasks/t-1/notifications/p-1", None, Compact, O::GetPushConfig, [None, Some("t-1"), Some("p-1")]),
        ("GET", "/agent-card", None, Compact, O::GetExtendedCard, [None, None, None]),
    ]
};

/// V10-REST-002, V10-VER-005, CONV-DET-010, CONV-DET-013, CONV-DET-015, DIA-GEN-001, DIA-GEN-002,
/// DIA-GEN-003.
#[test]
fn paths_name_the_version_and_the_operation() {
    for (method, path, header, version, operation, [tenant, task, config]) in ROUTES {
        let route = Route::find(method, path, header, false).unwrap_or_else(|error| panic!("{method} {path}: {error}"));
        let route = route.unwrap_or_else(|| panic!("{method} {path} is unknown"));
        assert_eq!((route.version, route.operation), (version, operation), "{method} {path}");
        assert_eq!(route.tenant.as_deref(), tenant, "{path}");
        assert_eq!(route.task.as_ref().map(AsRef::as_ref), task, "{path}");
        assert_eq!(route.config.as_ref().map(AsRef::as_ref), config, "{path}");
    }
}

/// V10-REST-002: what is no path of A2A.
#[test]
fn other_paths_are_nobodys() {
    for (method, path) in [
        ("GET", "/message:send"),
        ("PUT", "/tasks/t-1"),
        ("POST", "/tasks/t-1"),
        ("POST", "/tasks/:cancel"),
        ("GET", "/"),
        ("GET", "/a/b/c"),
        ("POST", "/tasks/t-1:restart"),
        ("GET", "/tasks/%ff"),
        ("GET", "/v1/extendedAgentCard"),
        ("GET", "/compact/extendedAgentCard"),
    ] {
        assert_eq!(Route::find(method, path, Some("1.0"), false).unwrap_or(None), None, "{method} {path}");
    }
}

#[track_caller]
fn refused<T>(found: Result<T>, kind: ErrorKind) -> Error {
    let error = found.err().unwrap();
    assert_eq!(error.kind(), kind);
    error
}

/// V10-VER-007, V10-VER-008, CONV-DET-005, CONV-DET-012: the header must agree with the path.
#[test]
fn a_header_that_contradicts_the_path_is_refused() {
    for (path, header, v1_base) in [
        ("/tasks", None, false),
        ("/tasks", Some(""), false),
        ("/tasks", Some("0.3"), false),
        ("/tasks", Some("1.1"), false),
        ("/tasks", Some("latest"), false),
        ("/v1/tasks", Some("1.0"), false),
        ("/v1/tasks", Some("2.0"), true),
        ("/compact/tasks", Some("0.3"), false),
        ("/agent-card", Some("1.1"), false),
    ] {
        let error = refused(Route::find("GET", path, header, v1_base), ErrorKind::VersionNotSupported);
        assert!(error.metadata().contains_key("supportedVersions"), "{path} {header:?}");
    }
    let below = |header| Route::find("GET", "/v1/tasks", header, true).unwrap().unwrap().version;
    assert_eq!([below(Some("1.0")), below(None), below(Some("0.3"))], [Version::V1_0, Version::V0_3, Version::V0_3]);
}

/// CONV-DET-004, CONV-DET-005, CONV-DET-006, CONV-ERR-002, V10-RPC-003.
#[test]
fn a_method_name_and_the_header_decide_together() {
    use Version::{Compact, V0_1, V0_2, V0_3, V1_0};
    for (method, header, spoken) in [
        ("GetTask", Some("1.0"), Spoken::Version(V1_0)),
        ("GetTask", Some("1.0.7"), Spoken::Version(V1_0)),
        ("message/send", None, Spoken::Version(V0_3)),
        ("message/send", Some("0.2"), Spoken::Version(V0_2)),
        ("message/send", Some("0.3"), Spoken::Version(V0_3)),
        ("tasks/send", None, Spoken::Version(V0_1)),
        ("tasks/cancel", None, Spoken::OfTask),
        ("tasks/cancel", Some("0.1"), Spoken::Version(V0_1)),
        ("tasks/resubscribe", Some("0.3"), Spoken::Version(V0_3)),
        ("A2A.CancelTask", None, Spoken::Version(Compact)),
        ("A2A.CancelTask", Some("1.0"), Spoken::Version(Compact)),
        ("A2A.ListTaskPushNotificationConfigs", None, Spoken::Version(Compact)),
    ] {
        assert_eq!(version::of_rpc(method, header).unwrap().0, spoken, "{method} {header:?}");
    }
    for (method, header, kind, code) in [
        ("GetTask", None, ErrorKind::VersionNotSupported, -32009),
        ("GetTask", Some("0.3"), ErrorKind::VersionNotSupported, -32009),
        ("GetTask", Some("1.1"), ErrorKind::VersionNotSupported, -32009),
        ("message/send", Some("1.0"), ErrorKind::InvalidRequest, -32600),
        ("message/send", Some("2.0"), ErrorKind::VersionNotSupported, -32600),
        ("A2A.GetTask", Some("0.3"), ErrorKind::VersionNotSupported, -32009),
        ("getTask", Some("1.0"), ErrorKind::MethodNotFound, -32601),
        ("SendMessage ", Some("1.0"), ErrorKind::MethodNotFound, -32601),
        ("ListTaskPushNotificationConfig", Some("1.0"), ErrorKind::MethodNotFound, -32601),
    ] {
        refused(version::of_rpc(method, header), kind);
        assert_eq!(errors::rpc_code(kind, version::of_rpc_error(Some(method), header)), code, "{method} {header:?}");
    }
}

/// CONV-DET-017: hints are not followed. Explicit `null` members come from v0.1 clients, a PascalCase
/// method without a header from a broken v1.0 client.
#[test]
fn the_style_of_a_body_does_not_change_the_version() {
    let body = br#"{"jsonrpc":"2.0","id":null,"method":"GetTask","params":{"id":"t","historyLength":null,"metadata":null}}"#;
    let call = Call::parse(body).unwrap();
    let (spoken, operation) = version::of_rpc(&call.method, Some("1.0")).unwrap();
    assert_eq!((spoken, operation), (Spoken::Version(Version::V1_0), Operation::GetTask));
    assert!(Dialect::V1_0.request(operation, call.params(), &chancery_core::Limits::default()).is_ok());
    refused(version::of_rpc("GetTask", None), ErrorKind::VersionNotSupported);
}

/// CONV-DET-006: what a task was created by decides where the name and the header do not.
#[test]
fn the_creator_of_a_task_decides_among_the_older_versions() {
    for (created_by, version) in [
        (Some(Version::V0_1), Version::V0_1),
        (Some(Version::V0_2), Version::V0_3),
        (Some(Version::V1_0), Version::V0_3),
        (None, Version::V0_3),
    ] {
        assert_eq!(Spoken::OfTask.resolve(created_by), version);
    }
}

/// CONV-CARD-001, CONV-CARD-003, DIA-003-CARD-004.
#[test]
fn well_known_paths_name_the_form_of_the_card() {
    for (path, form) in [
        ("/.well-known/agent-card.json", Some(CardForm::Merged)),
        ("/.well-known/agent.json", Some(CardForm::AgentJson)),
        ("/compact/.well-known/agent-card.json", Some(CardForm::Compact)),
        ("/.well-known/agent-card", None),
        ("/.well-known/other.json", None),
        ("/agent.json", None),
    ] {
        assert_eq!(version::card_form(path), form, "{path}");
    }
}

/// CONV-DET-016.
#[test]
fn grpc_paths_name_the_version_and_the_operation() {
    for operation in Operation::ALL {
        assert_eq!(methods::grpc_method(&format!("/lf.a2a.v1.A2AService/{}", operation.name())), Some((Version::V1_0, operation)));
    }
    for path in ["/lf.a2a.v1.A2AService/TaskSubscription", "/lf.a2a.v2.A2AService/GetTask", "lf.a2a.v1.A2AService/GetTask", "/GetTask"] {
        assert_eq!(methods::grpc_method(path), None, "{path}");
    }
}
