//! Requests: defaults, refusals, and what is remembered about them.

use chancery_core::{Binding, GetTask, Operation, Origin, PushConfig, PushConfigPage, Reply, Request, TaskState, Version};
use chancery_wire::Dialect;
use serde_json::{Value, json};

use super::{refusal, request, sent};
use crate::vector::{assert_exact, bytes, canonical_request, parse};

/// V03-SEND-001, V03-OBJ-006, CONV-MSG-004.
#[test]
fn a_message_needs_an_id_a_role_and_parts() {
    let part = json!({"kind": "text", "text": "hi"});
    for (params, field) in [
        (json!({}), "message.messageId"),
        (json!({"message": {"role": "user", "parts": [part]}}), "message.messageId"),
        (json!({"message": {"messageId": "m", "parts": [part]}}), "message.role"),
        (json!({"message": {"messageId": "m", "role": "boss", "parts": [part]}}), "message.role"),
        (json!({"message": {"messageId": "m", "role": "user", "parts": []}}), "message.parts"),
        (json!({"message": {"messageId": "m", "role": "user"}}), "message.parts"),
        (json!({"message": []}), "message"),
    ] {
        assert_eq!(refusal(Operation::SendMessage, &params).0, field, "{params}");
    }
    let odd = "a/b c:é\u{0}";
    assert_eq!(sent(&json!({"message": {"messageId": odd, "role": "user", "parts": [part]}})).message_id, odd);
}

/// V02-SEED-001.
#[test]
fn an_id_beside_the_message_is_taken_when_the_message_has_none() {
    let parts = json!([{"type": "text", "text": "hi"}]);
    assert_eq!(sent(&json!({"messageId": "p", "message": {"role": "user", "parts": parts}})).message_id, "p");
    assert_eq!(sent(&json!({"messageId": "p", "message": {"messageId": "m", "role": "user", "parts": parts}})).message_id, "m");
}

fn send(configuration: Option<Value>) -> Request {
    let mut params = json!({"message": {"messageId": "m", "role": "user", "parts": [{"kind": "text", "text": "hi"}]}});
    if let Some(configuration) = configuration {
        params["configuration"] = configuration;
    }
    request(Dialect::V0_3, Operation::SendMessage, &params)
}

/// V03-SEND-004, V03-SEND-006, V02-SEND-004, CONV-SEND-001, CONV-SEND-002.
#[test]
fn a_send_waits_unless_it_says_not_to_and_our_client_always_says() {
    for (configuration, waits) in [
        (None, true),
        (Some(json!({})), true),
        (Some(json!({"blocking": null})), true),
        (Some(json!({"blocking": true})), true),
        (Some(json!({"blocking": false})), false),
    ] {
        let request = send(configuration);
        let Request::SendMessage(send) = &request else { panic!() };
        assert_eq!((send.configuration.return_immediately, send.configuration.accepted_output_modes.len()), (!waits, 0));
        let again = parse(&Dialect::V0_3.encode_request(&request).unwrap());
        assert_eq!(again["configuration"], json!({"blocking": waits}));
    }
}

/// V03-GET-002, CONV-SEND-001, CONV-SEND-003.
#[test]
fn a_history_length_of_zero_is_none_at_all_in_both_directions() {
    for (length, read) in [(json!(0), None), (json!(null), None), (json!(3), Some(3)), (json!("3"), Some(3))] {
        let Request::SendMessage(send) = send(Some(json!({"historyLength": length}))) else { panic!() };
        assert_eq!(send.configuration.history_length, read);
        let Request::GetTask(get) = request(Dialect::V0_3, Operation::GetTask, &json!({"id": "t", "historyLength": length})) else {
            panic!()
        };
        assert_eq!(get.history_length, read);
    }
    let mut get = GetTask::new("t");
    get.history_length = Some(0);
    assert_eq!(Dialect::V0_3.encode_request(&Request::GetTask(get)).unwrap(), br#"{"id":"t"}"#);
    assert_eq!(refusal(Operation::GetTask, &json!({"id": "t", "historyLength": -1})).0, "historyLength");
    assert_eq!(refusal(Operation::GetTask, &json!({"id": "t", "historyLength": 1.5})).0, "historyLength");
}

/// CONV-REC-001, CONV-PUSH-003.
#[test]
fn a_request_remembers_how_it_came_in() {
    for (dialect, origin) in [
        (Dialect::V0_3, Origin::new(Version::V0_3, Binding::JsonRpc)),
        (Dialect::V0_3RestKind, Origin::new(Version::V0_3, Binding::HttpJson)),
        (Dialect::V0_2, Origin::new(Version::V0_2, Binding::JsonRpc)),
    ] {
        let config = json!({"url": "https://c.example/hook"});
        let params = json!({
            "message": {"messageId": "m", "role": "user", "parts": [{"kind": "text", "text": "hi"}]},
            "configuration": {"pushNotificationConfig": config},
        });
        for operation in [Operation::SendMessage, Operation::StreamMessage] {
            let (Request::SendMessage(send) | Request::StreamMessage(send)) = request(dialect, operation, &params) else { panic!() };
            assert_eq!((send.origin, send.configuration.push_config.unwrap().record.origin), (origin, origin));
            assert!(!send.create_missing);
        }
        let Request::CreatePushConfig(config) =
            request(dialect, Operation::CreatePushConfig, &json!({"taskId": "t", "pushNotificationConfig": config}))
        else {
            panic!()
        };
        assert_eq!(config.record.origin, origin);
    }
}

/// CONV-SEND-001: the hosted variant has tenants.
#[test]
fn a_tenant_is_kept() {
    for (operation, mut params) in [
        (
            Operation::SendMessage,
            json!({
                "message": {"kind": "message", "messageId": "m", "role": "user", "parts": [{"kind": "text", "text": "hi"}]},
                "configuration": {"blocking": true},
            }),
        ),
        (Operation::GetTask, json!({"id": "t"})),
        (Operation::CancelTask, json!({"id": "t"})),
        (Operation::Subscribe, json!({"id": "t"})),
        (Operation::ListTasks, json!({"historyLength": 0})),
        (Operation::CreatePushConfig, json!({"taskId": "t", "pushNotificationConfig": {"id": "h", "url": "https://c.example"}})),
        (Operation::GetPushConfig, json!({"id": "t", "pushNotificationConfigId": "h"})),
        (Operation::ListPushConfigs, json!({"id": "t"})),
        (Operation::DeletePushConfig, json!({"id": "t", "pushNotificationConfigId": "h"})),
        (Operation::GetExtendedCard, json!({})),
    ] {
        params["tenant"] = json!("blue");
        let request = request(Dialect::V0_3, operation, &params);
        assert_eq!(request.tenant(), "blue", "{operation}");
        assert_exact(operation.name(), &parse(&Dialect::V0_3.encode_request(&request).unwrap()), &params);
    }
}

/// The form that v0.3 calls deprecated, and the only one before v0.2.5.
#[test]
fn a_config_can_be_asked_for_by_its_task_alone() {
    let Request::GetPushConfig(get) = request(Dialect::V0_3, Operation::GetPushConfig, &json!({"id": "t"})) else { panic!() };
    assert_eq!((get.task_id.as_str(), get.id), ("t", None));
    assert_eq!(refusal(Operation::DeletePushConfig, &json!({"id": "t"})).0, "id");
    assert_eq!(refusal(Operation::CreatePushConfig, &json!({"taskId": "t"})).0, "url");
    assert_eq!(refusal(Operation::CreatePushConfig, &json!({"pushNotificationConfig": {"url": "https://c.example"}})).0, "taskId");
}

/// CONV-PUSH-002, V02-PUSH-002.
#[test]
fn the_scheme_we_can_use_is_chosen_and_the_others_are_kept() {
    let config = |schemes: Value| {
        let authentication = json!({"schemes": schemes, "credentials": "x"});
        json!({"taskId": "t", "pushNotificationConfig": {"id": "h", "url": "https://c.example", "authentication": authentication}})
    };
    for (schemes, chosen) in [(json!(["Digest", "bearer"]), "bearer"), (json!(["Digest", "Custom"]), "Digest"), (json!(["Basic"]), "Basic")]
    {
        let golden = config(schemes);
        let Request::CreatePushConfig(read) = request(Dialect::V0_3, Operation::CreatePushConfig, &golden) else { panic!() };
        assert_eq!(read.authentication.as_ref().unwrap().scheme, chosen);
        assert_exact(chosen, &parse(&Dialect::V0_3.encode_reply(&Reply::PushConfig(read)).unwrap()), &golden);
    }
    let nothing =
        json!({"taskId": "t", "pushNotificationConfig": {"id": "h", "url": "https://c.example", "authentication": {"schemes": []}}});
    let Request::CreatePushConfig(read) = request(Dialect::V0_3, Operation::CreatePushConfig, &nothing) else { panic!() };
    assert_eq!(read.authentication, None);
    assert_eq!(refusal(Operation::CreatePushConfig, &config(json!([]))).0, "authentication.scheme");
}

/// V03-PUSHCFG-005, V03-REST-016.
#[test]
fn a_list_of_configs_is_an_array_or_an_object_by_binding_and_read_in_both_forms() {
    let config = PushConfig::new("https://c.example").id("h").for_task("t");
    let item = json!({"taskId": "t", "pushNotificationConfig": {"id": "h", "url": "https://c.example"}});
    let reply = Reply::PushConfigs(PushConfigPage::new(vec![config]));
    let empty = Reply::PushConfigs(PushConfigPage::default());
    for (dialect, full, none) in [
        (Dialect::V0_3, json!([item]), json!([])),
        (Dialect::V0_2, json!([item]), json!([])),
        (Dialect::V0_3RestKind, json!({"configs": [item]}), json!({"configs": []})),
    ] {
        assert_exact("full", &parse(&dialect.encode_reply(&reply).unwrap()), &full);
        assert_exact("none", &parse(&dialect.encode_reply(&empty).unwrap()), &none);
        for json in [json!([item]), json!({"configs": [item]})] {
            assert_eq!(dialect.decode_reply(Operation::ListPushConfigs, &bytes(&json)).unwrap(), reply);
        }
        for json in [json!([]), json!({}), json!(null)] {
            assert_eq!(dialect.decode_reply(Operation::ListPushConfigs, &bytes(&json)).unwrap(), empty);
        }
    }
}

/// V03-LIST-001.
#[test]
fn tasks_are_listed_as_the_drafts_do_it() {
    let params = json!({
        "contextId": "c", "status": "input-required", "pageSize": 10, "pageToken": "p", "historyLength": 2,
        "lastUpdatedAfter": 1_770_110_104_250_i64, "includeArtifacts": true,
    });
    let read = request(Dialect::V0_3, Operation::ListTasks, &params);
    let canonical = json!({
        "contextId": "c", "status": "TASK_STATE_INPUT_REQUIRED", "pageSize": 10, "pageToken": "p", "historyLength": 2,
        "statusTimestampAfter": "2026-02-03T09:15:04.250Z", "includeArtifacts": true,
    });
    assert_exact("params", &canonical_request(&read), &canonical);
    assert_exact("params", &parse(&Dialect::V0_3.encode_request(&read).unwrap()), &params);
    for same in [json!("1770110104250"), json!("2026-02-03T09:15:04.250Z"), json!("2026-02-03T09:15:04.250")] {
        let mut params = params.clone();
        params["lastUpdatedAfter"] = same;
        assert_eq!(request(Dialect::V0_3, Operation::ListTasks, &params), read);
    }
    let Request::ListTasks(nothing) = request(Dialect::V0_3, Operation::ListTasks, &json!({"metadata": {"a": 1}})) else { panic!() };
    assert_eq!((nothing.history_length, nothing.applied_page_size(), nothing.with_artifacts()), (Some(0), 50, false));
    for (params, field) in [
        (json!({"pageSize": 101}), "pageSize"),
        (json!({"pageSize": 0}), "pageSize"),
        (json!({"lastUpdatedAfter": "soon"}), "lastUpdatedAfter"),
        (json!({"lastUpdatedAfter": i64::MAX}), "lastUpdatedAfter"),
    ] {
        assert_eq!(refusal(Operation::ListTasks, &params).0, field);
    }

    let task = json!({"kind": "task", "id": "t", "contextId": "c", "status": {"state": "working"}});
    let page = json!({"tasks": [task], "totalSize": 7, "pageSize": 1, "nextPageToken": "p"});
    let reply = Dialect::V0_3.decode_reply(Operation::ListTasks, &bytes(&page)).unwrap();
    assert_exact("page", &parse(&Dialect::V0_3.encode_reply(&reply).unwrap()), &page);
    let Reply::Tasks(read) = reply else { panic!() };
    let read = read.decode().unwrap();
    assert_eq!((read.tasks[0].state(), read.total_size, read.next_page_token.as_str()), (TaskState::Working, 7, "p"));
}
