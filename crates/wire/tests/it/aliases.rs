//! What v1.0 endpoints read besides v1.0: the names that other versions give to the same things.

use chancery_core::{ErrorKind, Limits, Operation, Request, TaskState};
use chancery_wire::Dialect;
use serde_json::{Value, json};

use crate::vector::{bytes, canonical_request};

fn read(dialect: Dialect, operation: Operation, params: &Value) -> chancery_core::Result<Request> {
    dialect.request(operation, &bytes(params), &Limits::default())
}

/// The alias is read as the v1.0 form is, and written as v1.0; by the letter it is no member at all:
/// the request is incomplete, or says less.
#[track_caller]
fn alias(operation: Operation, alias: Value, v1: Value) {
    let read_as = read(Dialect::V1_0, operation, &alias).unwrap_or_else(|error| panic!("{alias}: {error}"));
    assert_eq!(read_as, read(Dialect::V1_0Strict, operation, &v1).unwrap(), "{alias}");
    assert_eq!(canonical_request(&read_as), v1, "{alias}");
    let strict = read(Dialect::V1_0Strict, operation, &alias);
    assert!(strict.is_err() || strict.is_ok_and(|strict| strict != read_as), "{alias} is read by the letter");
}

/// Aliases beside the real members: fine when they agree, refused when they do not.
#[track_caller]
fn contradiction(operation: Operation, params: Value) {
    let error = read(Dialect::V1_0, operation, &params).err().unwrap_or_else(|| panic!("{params} is read"));
    assert_eq!(error.kind(), ErrorKind::InvalidParams, "{params}");
    assert!(!error.violations().is_empty(), "{params}");
}

fn with_part(part: Value) -> Value {
    json!({"message": {"messageId": "m", "role": "ROLE_USER", "parts": [part]}})
}

fn with_configuration(configuration: Value) -> Value {
    json!({"message": {"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "hi"}]}, "configuration": configuration})
}

/// DIA-GEN-004, DIA-ALIAS-002, DIA-002-PART-001: parts.
#[test]
fn parts_of_other_versions_are_read() {
    for (other, v1) in [
        (json!({"structuredData": {"n": 1}}), json!({"data": {"n": 1}})),
        (json!({"structured_data": [1]}), json!({"data": [1]})),
        (json!({"text": "hi", "mimeType": "text/markdown"}), json!({"text": "hi", "mediaType": "text/markdown"})),
        (json!({"text": "hi", "mime_type": "text/markdown"}), json!({"text": "hi", "mediaType": "text/markdown"})),
        (
            json!({"kind": "file", "file": {"uri": "https://x.example/a.png", "name": "a.png", "mimeType": "image/png"}}),
            json!({"url": "https://x.example/a.png", "filename": "a.png", "mediaType": "image/png"}),
        ),
        (json!({"file": {"fileWithUri": "https://x.example/a"}}), json!({"url": "https://x.example/a"})),
        (json!({"file": {"file_with_uri": "https://x.example/a"}}), json!({"url": "https://x.example/a"})),
        (json!({"type": "file", "file": {"bytes": "aGk=", "name": "h"}}), json!({"raw": "aGk=", "filename": "h"})),
        (json!({"file": {"fileWithBytes": "aGk"}, "mimeType": "text/plain"}), json!({"raw": "aGk=", "mediaType": "text/plain"})),
        (json!({"kind": "data", "data": {"a": 1}, "mimeType": "x/y"}), json!({"data": {"a": 1}, "mediaType": "x/y"})),
    ] {
        alias(Operation::SendMessage, with_part(other), with_part(v1));
    }
}

/// DIA-GEN-004, V10-JSON-008: `kind` and `type` say nothing new, and must not say something else.
#[test]
fn a_kind_is_ignored_when_it_agrees_with_the_members() {
    for part in [
        json!({"kind": "text", "text": "hi"}),
        json!({"type": "text", "text": "hi"}),
        json!({"kind": "data", "data": 1}),
        json!({"kind": "file", "raw": "aGk="}),
        json!({"type": "file", "url": "https://x.example"}),
    ] {
        let mut v1 = part.clone();
        v1.as_object_mut().unwrap().retain(|name, _| name != "kind" && name != "type");
        let plain = read(Dialect::V1_0Strict, Operation::SendMessage, &with_part(v1)).unwrap();
        for dialect in [Dialect::V1_0, Dialect::V1_0Strict] {
            assert_eq!(read(dialect, Operation::SendMessage, &with_part(part.clone())).unwrap(), plain, "{part}");
        }
    }
    let message = json!({"message": {"kind": "message", "messageId": "m", "role": "ROLE_USER", "parts": [{"text": "hi"}]}});
    assert!(read(Dialect::V1_0, Operation::SendMessage, &message).is_ok());
    contradiction(Operation::SendMessage, with_part(json!({"kind": "data", "text": "hi"})));
    contradiction(Operation::SendMessage, with_part(json!({"type": "text", "url": "https://x.example"})));
    contradiction(Operation::SendMessage, with_part(json!({"kind": "text", "file": {"bytes": "aGk="}})));
}

/// DIA-GEN-004, DIA-ALIAS-002, DIA-002-CTX-004: messages.
#[test]
fn messages_of_other_versions_are_read() {
    let message = |role: &str| json!({"message": {"messageId": "m", "role": role, "parts": [{"text": "hi"}]}});
    alias(Operation::SendMessage, message("user"), message("ROLE_USER"));
    alias(Operation::StreamMessage, message("agent"), message("ROLE_AGENT"));
    contradiction(Operation::SendMessage, message("USER"));

    let native = json!({"message": {"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "hi"}],
        "transfer_context": {"originating_task_id": "t-1", "originating_agent": "https://a.example", "output_keys": {"k": 1}}}});
    let uri = chancery_core::extension::HANDOFF;
    let extension = json!({"message": {"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "hi"}], "extensions": [uri],
        "metadata": {uri: {"transferContext": {"originatingTaskId": "t-1", "originatingAgent": "https://a.example", "outputKeys": {"k": 1}}}}}});
    alias(Operation::SendMessage, native, extension);
}

/// DIA-GEN-004, DIA-ALIAS-002, V10-DM-017: options of a send request; what v1.0 renamed is still read.
#[test]
fn options_of_other_versions_are_read() {
    let hook = json!({"url": "https://h.example", "token": "t"});
    let v1 = with_configuration(json!({"taskPushNotificationConfig": hook}));
    for name in ["pushNotificationConfig", "push_notification_config", "pushNotification", "push_notification"] {
        alias(Operation::SendMessage, with_configuration(json!({name: hook})), v1.clone());
    }
    alias(Operation::SendMessage, with_configuration(json!({"blocking": false})), with_configuration(json!({"returnImmediately": true})));
    // To wait is the default, so there is nothing to say in v1.0.
    let waits = read(Dialect::V1_0, Operation::SendMessage, &with_configuration(json!({"blocking": true}))).unwrap();
    assert_eq!(waits, read(Dialect::V1_0Strict, Operation::SendMessage, &with_configuration(json!({}))).unwrap());
}

/// DIA-GEN-004, DIA-ALIAS-002: the task of a call.
#[test]
fn a_task_is_named_in_three_ways() {
    for operation in [Operation::GetTask, Operation::CancelTask, Operation::Subscribe] {
        alias(operation, json!({"taskId": "t-1"}), json!({"id": "t-1"}));
        alias(operation, json!({"task_id": "t-1"}), json!({"id": "t-1"}));
        alias(operation, json!({"name": "tasks/t-1"}), json!({"id": "t-1"}));
        contradiction(operation, json!({"id": "t-1", "taskId": "t-2"}));
        contradiction(operation, json!({"id": "t-1", "name": "tasks/t-2"}));
        contradiction(operation, json!({"name": "t-1"}));
        assert!(read(Dialect::V1_0, operation, &json!({"id": "t-1", "taskId": "t-1", "name": "tasks/t-1"})).is_ok());
    }
}

/// DIA-GEN-004, DIA-ALIAS-002: push configs.
#[test]
fn push_configs_of_other_versions_are_read() {
    for operation in [Operation::GetPushConfig, Operation::DeletePushConfig] {
        let v1 = json!({"taskId": "t-1", "id": "p-1"});
        for name in ["configId", "config_id", "pushNotificationConfigId", "push_notification_config_id"] {
            alias(operation, json!({"taskId": "t-1", name: "p-1"}), v1.clone());
        }
        contradiction(operation, json!({"taskId": "t-1", "id": "p-1", "configId": "p-2"}));
    }
    let create = |config: Value| {
        alias(
            Operation::CreatePushConfig,
            config,
            json!({"id": "p-1", "taskId": "t-1", "url": "https://h.example",
        "token": "tok", "authentication": {"scheme": "Bearer", "credentials": "s"}}),
        )
    };
    create(json!({"taskId": "t-1", "configId": "p-1", "url": "https://h.example", "token": "tok",
        "authentication": {"schemes": ["Bearer", "Basic"], "credentials": "s"}}));
    create(json!({"taskId": "t-1", "pushNotificationConfigId": "p-1", "url": "https://h.example", "token": "tok",
        "authentication": {"scheme": "Bearer", "value": "s"}}));
    create(json!({"taskId": "t-1", "pushNotificationConfig": {"id": "p-1", "url": "https://h.example", "token": "tok",
        "authentication": {"schemes": ["Bearer"], "credentials": "s"}}}));
    create(json!({"taskId": "t-1", "configId": "p-1", "push_notification_config": {"url": "https://h.example", "token": "tok",
        "authentication": {"scheme": "Bearer", "value": "s"}}}));
}

/// DIA-GEN-004, DIA-ALIAS-002, DIA-002-TASK-001: the filter of a list.
#[test]
fn a_state_filter_is_read_in_every_spelling() {
    for (words, state) in [
        (["input-required", "INPUT_REQUIRED", "TASK_STATE_INPUT_REQUIRED"], TaskState::InputRequired),
        (["canceled", "CANCELED", "TASK_STATE_CANCELLED"], TaskState::Canceled),
        (["working", "WORKING", "TASK_STATE_WORKING"], TaskState::Working),
        (["auth-required", "AUTH_REQUIRED", "TASK_STATE_AUTH_REQUIRED"], TaskState::AuthRequired),
    ] {
        for word in words {
            let Request::ListTasks(list) = read(Dialect::V1_0, Operation::ListTasks, &json!({"status": word})).unwrap() else { panic!() };
            assert_eq!(list.status, state, "{word}");
            let strict = read(Dialect::V1_0Strict, Operation::ListTasks, &json!({"status": word}));
            assert_eq!(strict.is_ok(), word == state.as_str(), "{word}");
        }
    }
    contradiction(Operation::ListTasks, json!({"status": "paused"}));
    alias(
        Operation::ListTasks,
        json!({"lastUpdatedAfter": "2026-04-07T00:00:00Z"}),
        json!({"statusTimestampAfter": "2026-04-07T00:00:00.000Z"}),
    );
}

/// DIA-ALIAS-001: an alias beside the real member.
#[test]
fn an_alias_must_not_contradict_the_real_member() {
    let hook = |url: &str| json!({"url": url});
    for (agreeing, differing) in [
        (with_part(json!({"data": 1, "structuredData": 1})), with_part(json!({"data": 1, "structuredData": 2}))),
        (
            with_part(json!({"text": "hi", "mediaType": "a/b", "mimeType": "a/b"})),
            with_part(json!({"text": "hi", "mediaType": "a/b", "mimeType": "c/d"})),
        ),
        (with_part(json!({"url": "u:1", "file": {"uri": "u:1"}})), with_part(json!({"url": "u:1", "file": {"uri": "u:2"}}))),
        (
            with_part(json!({"raw": "aGk=", "filename": "f", "file": {"name": "f"}})),
            with_part(json!({"raw": "aGk=", "filename": "f", "file": {"name": "g"}})),
        ),
        (with_part(json!({"raw": "aGk=", "file": {"bytes": "aGk"}})), with_part(json!({"raw": "aGk=", "file": {"bytes": "aG8="}}))),
        (
            with_configuration(json!({"returnImmediately": true, "blocking": false})),
            with_configuration(json!({"returnImmediately": true, "blocking": true})),
        ),
        (
            with_configuration(json!({"taskPushNotificationConfig": hook("u:1"), "pushNotificationConfig": hook("u:1")})),
            with_configuration(json!({"taskPushNotificationConfig": hook("u:1"), "pushNotification": hook("u:2")})),
        ),
    ] {
        assert!(read(Dialect::V1_0, Operation::SendMessage, &agreeing).is_ok(), "{agreeing}");
        contradiction(Operation::SendMessage, differing);
    }
    let authentication = |authentication: Value| json!({"taskId": "t", "url": "u:1", "authentication": authentication});
    for differing in [
        authentication(json!({"scheme": "Bearer", "schemes": ["Basic"]})),
        authentication(json!({"scheme": "Bearer", "credentials": "a", "value": "b"})),
        json!({"taskId": "t", "url": "u:1", "pushNotificationConfig": {"url": "u:2"}}),
        json!({"taskId": "t", "url": "u:1", "id": "a", "pushNotificationConfig": {"id": "b"}}),
        json!({"taskId": "t", "url": "u:1", "token": "a", "pushNotificationConfig": {"token": "b"}}),
    ] {
        contradiction(Operation::CreatePushConfig, differing);
    }
}

/// DIA-GEN-005: each member is written once, in one spelling.
#[test]
fn what_came_in_by_an_alias_goes_out_once() {
    let params = json!({"message": {"message_id": "m", "context_id": "c", "role": "user", "parts": [
        {"kind": "file", "file": {"uri": "https://x.example", "name": "n"}, "mime_type": "a/b"}]}, "configuration": {"blocking": false}});
    let request = read(Dialect::V1_0, Operation::SendMessage, &params).unwrap();
    let text = String::from_utf8(Dialect::V1_0.encode_request(&request).unwrap()).unwrap();
    assert_eq!(
        text,
        r#"{"message":{"messageId":"m","contextId":"c","role":"ROLE_USER","parts":[{"url":"https://x.example","filename":"n","mediaType":"a/b"}]},"configuration":{"returnImmediately":true}}"#
    );
}
