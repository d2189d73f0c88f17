//! The errors of v1.0 in its three bindings.

use chancery_core::{Error, ErrorKind, Version};
use chancery_wire::{
    Dialect, errors,
    grpc::v1_0::{error_from_status, status_from_error},
};
use serde_json::{Value, json};

use crate::vector::{bytes, parse};

const INFO: &str = "type.googleapis.com/google.rpc.ErrorInfo";
const BAD_REQUEST: &str = "type.googleapis.com/google.rpc.BadRequest";

/// The tables of the specification (bindings 2.1, 2.2): kind, JSON-RPC code, HTTP status, gRPC code
/// and its name, reason.
#[rustfmt::skip]
const TABLE: [(ErrorKind, i32, u16, i32, &str, &str); 19] = {
    use ErrorKind as K;
    [
        (K::TaskNotFound, -32001, 404, 5, "NOT_FOUND", "TASK_NOT_FOUND"),
        (K::TaskNotCancelable, -32002, 400, 9, "FAILED_PRECONDITION", "TASK_NOT_CANCELABLE"),
        (K::PushNotificationNotSupported, -32003, 400, 9, "FAILED_PRECONDITION", "PUSH_NOTIFICATION_NOT_SUPPORTED"),
        (K::UnsupportedOperation, -32004, 400, 9, "FAILED_PRECONDITION", "UNSUPPORTED_OPERATION"),
        (K::ContentTypeNotSupported, -32005, 400, 3, "INVALID_ARGUMENT", "CONTENT_TYPE_NOT_SUPPORTED"),
        (K::InvalidAgentResponse, -32006, 500, 13, "INTERNAL", "INVALID_AGENT_RESPONSE"),
        (K::ExtendedAgentCardNotConfigured, -32007, 400, 9, "FAILED_PRECONDITION", "EXTENDED_AGENT_CARD_NOT_CONFIGURED"),
        (K::ExtensionSupportRequired, -32008, 400, 9, "FAILED_PRECONDITION", "EXTENSION_SUPPORT_REQUIRED"),
        (K::VersionNotSupported, -32009, 400, 9, "FAILED_PRECONDITION", "VERSION_NOT_SUPPORTED"),
        (K::Parse, -32700, 400, 3, "INVALID_ARGUMENT", "PARSE_ERROR"),
        (K::InvalidRequest, -32600, 400, 3, "INVALID_ARGUMENT", "INVALID_REQUEST"),
        (K::MethodNotFound, -32601, 404, 12, "UNIMPLEMENTED", "METHOD_NOT_FOUND"),
        (K::InvalidParams, -32602, 400, 3, "INVALID_ARGUMENT", "INVALID_PARAMS"),
        (K::Internal, -32603, 500, 13, "INTERNAL", "INTERNAL_ERROR"),
        (K::Unauthenticated, -31401, 401, 16, "UNAUTHENTICATED", "UNAUTHENTICATED"),
        (K::PermissionDenied, -31403, 403, 7, "PERMISSION_DENIED", "UNAUTHORIZED"),
        (K::RateLimited, -32603, 429, 8, "RESOURCE_EXHAUSTED", "RATE_LIMITED"),
        (K::Unavailable, -32603, 503, 14, "UNAVAILABLE", "UNAVAILABLE"),
        (K::Timeout, -32603, 504, 4, "DEADLINE_EXCEEDED", "TIMEOUT"),
    ]
};

/// What is the same about two errors: all that a peer sees.
fn facts(error: &Error) -> impl PartialEq + std::fmt::Debug {
    (error.kind(), error.message().to_owned(), error.metadata().clone(), error.violations().to_vec())
}

/// V10-ERR-014, V10-ERR-017, V10-RPC-011, V10-BIND-003, CONV-ERR-008.
#[test]
fn every_kind_has_the_codes_of_the_table() {
    assert!(TABLE.iter().map(|row| &row.0).eq(ErrorKind::ALL), "a kind is missing here");
    for (kind, rpc, http, grpc, name, reason) in TABLE {
        assert_eq!(errors::rpc_code(kind, Version::V1_0), rpc, "{kind:?}");
        assert_eq!(errors::http_status(kind, Version::V1_0), http, "{kind:?}");
        let code = errors::grpc_code(kind, Version::V1_0);
        assert_eq!((code.number(), code.name()), (grpc, name), "{kind:?}");
        assert_eq!(kind.reason(), reason);
        assert!(!kind.default_message().is_empty());
        if kind <= ErrorKind::VersionNotSupported {
            assert!((-32099..=-32001).contains(&rpc), "{kind:?}");
        }
    }
}

/// V10-ERR-014, V10-ERR-015, V10-ERR-016, V10-RPC-007, V10-RPC-008, V10-RPC-009, V10-RPC-010,
/// V10-REST-010, V10-REST-011, V10-REST-012, V10-REST-013, V10-GRPC-008.
#[test]
fn every_error_carries_its_code_its_words_and_typed_details() {
    for (kind, rpc, http, grpc, name, reason) in TABLE {
        let plain = Error::new(kind, "what went wrong");
        let info = json!({"@type": INFO, "reason": reason, "domain": "a2a-protocol.org"});
        check(&plain, (rpc, http, grpc, name), &json!([info]));
        let rich = plain.with("taskId", "t-1").with("hint", "try later").violation("message.parts", "at least one part is needed");
        let info =
            json!({"@type": INFO, "reason": reason, "domain": "a2a-protocol.org", "metadata": {"hint": "try later", "taskId": "t-1"}});
        let bad =
            json!({"@type": BAD_REQUEST, "fieldViolations": [{"field": "message.parts", "description": "at least one part is needed"}]});
        check(&rich, (rpc, http, grpc, name), &json!([info, bad]));
    }
}

#[track_caller]
fn check(error: &Error, (rpc, http, grpc, name): (i32, u16, i32, &str), details: &Value) {
    for dialect in [Dialect::V1_0, Dialect::V1_0Strict] {
        let body = dialect.encode_rpc_error(error).unwrap();
        assert_eq!(parse(&body), json!({"code": rpc, "message": "what went wrong", "data": details}));
        assert_eq!(facts(&dialect.decode_rpc_error(&body)), facts(error));
        let (status, body) = dialect.encode_http_error(error).unwrap();
        assert_eq!(status, http);
        assert_eq!(parse(&body), json!({"error": {"code": http, "status": name, "message": "what went wrong", "details": details}}));
        assert_eq!(facts(&dialect.decode_http_error(status, &body)), facts(error));
    }
    let status = status_from_error(error);
    assert_eq!((status.code, status.message.as_str(), status.details.len()), (grpc, "what went wrong", details.as_array().unwrap().len()));
    assert_eq!(status.details[0].type_url, INFO, "ErrorInfo comes first");
    assert_eq!(facts(&error_from_status(&status)), facts(error));
}

fn info(reason: &str, domain: &str) -> Value {
    json!({"@type": INFO, "reason": reason, "domain": domain})
}

/// V10-RPC-007, bindings 2.3 and 2.4: what other servers write is understood.
#[test]
fn json_rpc_errors_of_other_servers_are_understood() {
    let ours = "a2a-protocol.org";
    for (body, kind) in [
        (json!({"code": -32001, "message": "no"}), ErrorKind::TaskNotFound),
        (json!({"code": -32001, "message": "no", "data": null}), ErrorKind::TaskNotFound),
        (json!({"code": -32001, "message": "no", "data": []}), ErrorKind::TaskNotFound),
        (json!({"code": -32700, "message": "no"}), ErrorKind::Parse),
        (json!({"code": -31403, "message": "no"}), ErrorKind::PermissionDenied),
        (json!({"code": -32050, "message": "no"}), ErrorKind::Internal),
        (json!({"code": 17, "message": "no"}), ErrorKind::Internal),
        // The reason is finer than the code.
        (json!({"code": -32603, "message": "no", "data": [info("UNAVAILABLE", ours)]}), ErrorKind::Unavailable),
        // A reason that we do not know, or that belongs to somebody else.
        (json!({"code": -32002, "message": "no", "data": [info("QUOTA", ours)]}), ErrorKind::TaskNotCancelable),
        (json!({"code": -32002, "message": "no", "data": [info("TASK_NOT_FOUND", "bank.example")]}), ErrorKind::TaskNotCancelable),
        // Details in any order, of types that we do not know, without a type.
        (
            json!({"code": -32603, "message": "no", "data": [
                {"@type": "type.googleapis.com/google.protobuf.Struct", "cause": {"deep": true}}, {"reason": "TASK_NOT_FOUND"},
                info("UNAVAILABLE", ours)]}),
            ErrorKind::Unavailable,
        ),
    ] {
        let error = Dialect::V1_0.decode_rpc_error(&bytes(&body));
        assert_eq!((error.kind(), error.message()), (kind, "no"), "{body}");
    }
    let garbage = Dialect::V1_0.decode_rpc_error(b"\"broken\"");
    assert_eq!(garbage.kind(), ErrorKind::InvalidAgentResponse);
}

/// Bindings 2.3: Python writes empty metadata, and lists inside it.
#[test]
fn metadata_that_is_no_text_is_kept_as_text() {
    let body = json!({"code": -32602, "message": "Invalid params", "data": [
        {"@type": INFO, "reason": "INVALID_PARAMS", "domain": "a2a-protocol.org", "metadata": {"errors": [{"loc": "id"}], "taskId": "t"}}]});
    let error = Dialect::V1_0.decode_rpc_error(&bytes(&body));
    assert_eq!(error.metadata()["errors"], r#"[{"loc":"id"}]"#);
    assert_eq!(error.metadata()["taskId"], "t");
    let body = json!({"error": {"code": 404, "status": "NOT_FOUND", "message": "no", "details": [
        {"@type": INFO, "reason": "TASK_NOT_FOUND", "domain": "a2a-protocol.org", "metadata": {}}]}});
    assert!(Dialect::V1_0.decode_http_error(404, &bytes(&body)).metadata().is_empty());
}

/// V10-REST-010, AMB-04: the reason decides, then the status; v1.0.0 had other statuses.
#[test]
fn http_errors_of_other_servers_are_understood() {
    let body = |code: u16, details: Value| json!({"error": {"code": code, "status": "X", "message": "no", "details": details}}).to_string();
    let ours = |reason: &str| json!([info(reason, "a2a-protocol.org")]);
    for (status, text, kind) in [
        (409, body(409, ours("TASK_NOT_CANCELABLE")), ErrorKind::TaskNotCancelable),
        (415, body(415, ours("CONTENT_TYPE_NOT_SUPPORTED")), ErrorKind::ContentTypeNotSupported),
        (502, body(502, ours("INVALID_AGENT_RESPONSE")), ErrorKind::InvalidAgentResponse),
        (501, body(501, ours("UNSUPPORTED_OPERATION")), ErrorKind::UnsupportedOperation),
        (404, body(404, json!([])), ErrorKind::MethodNotFound),
        (404, body(404, json!([info("TASK_NOT_FOUND", "bank.example")])), ErrorKind::MethodNotFound),
        (401, r#"{"error":{"code":401,"status":"UNAUTHENTICATED","message":"no"}}"#.to_owned(), ErrorKind::Unauthenticated),
        (429, r#"{"error":{"code":429,"message":"no"}}"#.to_owned(), ErrorKind::RateLimited),
        (400, r#"{"message":"no"}"#.to_owned(), ErrorKind::InvalidRequest),
        (500, r#"{"error":"no"}"#.to_owned(), ErrorKind::Internal),
    ] {
        let error = Dialect::V1_0.decode_http_error(status, text.as_bytes());
        assert_eq!((error.kind(), error.message()), (kind, "no"), "{status} {text}");
    }
    for (status, text) in [(503, ""), (503, "<html>busy</html>"), (503, "[]")] {
        let error = Dialect::V1_0.decode_http_error(status, text.as_bytes());
        assert_eq!((error.kind(), error.message()), (ErrorKind::Unavailable, "HTTP status 503"), "{text}");
    }
}

/// Our own causes stay with us in every binding.
#[test]
fn the_cause_of_an_internal_error_is_not_written() {
    let error = Error::internal("table tasks is locked");
    let texts = [
        Dialect::V1_0.encode_rpc_error(&error).unwrap(),
        Dialect::V1_0.encode_http_error(&error).unwrap().1,
        format!("{:?}", status_from_error(&error)).into_bytes(),
    ];
    for text in texts {
        assert!(!String::from_utf8_lossy(&text).contains("locked"));
    }
}
