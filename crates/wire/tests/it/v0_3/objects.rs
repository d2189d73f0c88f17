//! Objects: what is read beyond the letter, and what is always written.

use chancery_core::{
    Artifact, ArtifactUpdate, ErrorKind, Event, Limits, Message, Operation, Part, Reply, Request, Role, SendReply, StatusUpdate, Task,
    TaskState,
};
use chancery_wire::{Dialect, StreamMemory};
use serde_json::{Value, json};

use super::{event, part, refusal, request, sent, written};
use crate::vector::{assert_exact, bytes, parse};

/// V03-OBJ-002, V03-PART-004, V02-VER-003, V02-OBJ-003, CONV-PART-006.
#[test]
fn parts_of_sloppy_peers_are_read() {
    for (json, expected) in [
        (json!({"text": "hi"}), Part::text("hi")),
        (json!({"file": {"uri": "https://f.example/x"}}), Part::url("https://f.example/x")),
        (json!({"data": {"a": 1}}), Part::data(json!({"a": 1}))),
        (json!({"type": "text", "text": "hi"}), Part::text("hi")),
        (json!({"type": "file", "file": {"data": "aGk=", "mime_type": "text/plain"}}), Part::raw("hi").media_type("text/plain")),
        (json!({"kind": "text", "type": "text", "text": "hi", "file": null, "data": null, "metadata": null}), Part::text("hi")),
        // What is beside the member that `kind` names is unknown, whatever it holds.
        (json!({"kind": "text", "text": "hi", "type": 7, "data": [1]}), Part::text("hi")),
        (json!({"kind": "file", "file": {"bytes": "aGk=", "uri": "https://f.example/x", "data": {}}}), Part::raw("hi")),
        (json!({"kind": "data", "data": [1, 2.5]}), Part::data(json!([1, 2.5]))),
        (json!({"kind": "data", "data": {"value": 1}}), Part::data(json!({"value": 1}))),
    ] {
        assert_eq!(part(&json), expected, "{json}");
    }
    assert!(
        part(&json!({"kind": "data", "data": {"n": 9_007_199_254_740_993_i64}})) == Part::data(json!({"n": 9_007_199_254_740_993_i64}))
    );
}

/// V03-PART-005, CONV-PART-005.
#[test]
fn parts_that_hold_nothing_known_are_refused() {
    for (part, field) in [
        (json!({"kind": "image", "text": "hi"}), "message.parts[0].kind"),
        (json!({"kind": "text", "data": {}}), "message.parts[0]"),
        (json!({"kind": "data", "data": null}), "message.parts[0]"),
        (json!({"kind": "file"}), "message.parts[0]"),
        (json!({"kind": "file", "file": {"name": "x"}}), "message.parts[0].file"),
        (json!({}), "message.parts[0]"),
        (json!("hi"), "message.parts[0]"),
    ] {
        let params = json!({"message": {"messageId": "m", "role": "user", "parts": [part]}});
        assert_eq!(refusal(Operation::SendMessage, &params).0, field, "{part}");
    }
}

/// V03-PART-003, CONV-PART-003.
#[test]
fn base64_is_read_in_all_spellings_and_written_in_one() {
    for spelling in ["+/+/aGk=", "-_-_aGk=", "+/+/aGk", "-_-_aGk"] {
        let part = part(&json!({"kind": "file", "file": {"bytes": spelling}}));
        let message = written(Dialect::V0_3, &Message::agent(part).into());
        assert_eq!(message["parts"][0]["file"]["bytes"], "+/+/aGk=", "{spelling}");
    }
    let parts = json!([{"kind": "file", "file": {"bytes": "a*"}}]);
    let (field, why) = refusal(Operation::SendMessage, &json!({"message": {"messageId": "m", "role": "user", "parts": parts}}));
    assert_eq!((field.as_str(), why.as_str()), ("message.parts[0].file.bytes", "not base64"));
}

/// V03-OBJ-004, CONV-STATE-002.
#[test]
fn a_state_that_nobody_knows_is_kept_beside_the_task_and_never_written() {
    for element in [
        json!({"kind": "task", "id": "t", "contextId": "c", "status": {"state": "paused"}, "metadata": {"k": 1}}),
        json!({"kind": "status-update", "taskId": "t", "contextId": "c", "status": {"state": "paused"}, "metadata": {"k": 1}}),
    ] {
        let event = event(&element);
        assert_eq!(event.state(), Some(TaskState::Unspecified));
        let again = written(Dialect::V0_3, &event);
        assert_eq!(again["status"]["state"], "unknown");
        assert_eq!(again["metadata"], json!({"k": 1, "a2a.compat.state": "paused"}));
    }
    assert_eq!(refusal(Operation::ListTasks, &json!({"status": "paused"})).0, "status");
}

/// V03-OBJ-002, V02-VER-004, V02-OBJ-002, V02-SEED-002.
#[test]
fn objects_without_a_kind_are_known_by_their_members() {
    for (json, kind) in [
        (json!({"id": "t", "contextId": "c", "status": {"state": "working"}}), "task"),
        (json!({"messageId": "m", "role": "agent", "parts": [{"text": "hi"}], "taskId": "t"}), "message"),
        (json!({"taskId": "t", "contextId": "c", "status": {"state": "working"}}), "status-update"),
        (json!({"taskId": "t", "contextId": "c", "status": {"state": "completed"}, "final": true}), "status-update"),
        (json!({"taskId": "t", "contextId": "c", "artifact": {"artifactId": "a", "parts": []}}), "artifact-update"),
    ] {
        assert_eq!(written(Dialect::V0_3, &event(&json))["kind"], kind, "{json}");
    }
    for json in [json!({}), json!([]), json!({"id": "t"}), json!({"kind": "paint"}), json!({"kind": "task", "id": 7})] {
        assert!(Dialect::V0_3.decode_event(&bytes(&json), &mut StreamMemory::default()).is_err(), "{json}");
    }
    let message = json!({"messageId": "m", "role": "user", "parts": [{"kind": "text", "text": "hi"}]});
    assert_eq!(sent(&json!({"message": message})), Message::user("hi").id("m"));
    let (field, why) = refusal(Operation::SendMessage, &json!({"message": {"kind": "task"}}));
    assert_eq!((field.as_str(), why.as_str()), ("message", "kind is task where message is expected"));
}

/// V03-SEND-002: an update is no answer to a message, and a message is none to a question for a task.
#[test]
fn an_answer_of_the_wrong_kind_is_refused() {
    let update = br#"{"kind":"status-update","taskId":"t","contextId":"c","status":{"state":"working"},"final":false}"#;
    assert_eq!(Dialect::V0_3.decode_reply(Operation::SendMessage, update).unwrap_err().kind(), ErrorKind::InvalidAgentResponse);
    assert!(Dialect::V0_3.decode_reply(Operation::GetTask, br#"{"kind":"message","messageId":"m"}"#).is_err());
    assert!(Dialect::V0_3.decode_reply(Operation::StreamMessage, update).is_err());
}

/// V03-SHAPE-003, V03-SHAPE-004, V03-SHAPE-006, V02-VER-001.
#[test]
fn unknown_members_nulls_and_snake_case_are_read() {
    let plain = json!({
        "message": {
            "messageId": "m", "role": "user", "parts": [{"kind": "text", "text": "hi"}], "contextId": "c",
            "taskId": "t", "referenceTaskIds": ["r"],
        },
        "configuration": {
            "acceptedOutputModes": ["text/plain"], "historyLength": 2,
            "pushNotificationConfig": {"url": "https://c.example"},
        },
    });
    let expected = request(Dialect::V0_3, Operation::SendMessage, &plain);
    let snake = json!({
        "message": {
            "message_id": "m", "role": "user", "parts": [{"kind": "text", "text": "hi", "metadata": null}], "context_id": "c",
            "task_id": "t", "reference_task_ids": ["r"], "extensions": null, "metadata": null, "mood": "good",
        },
        "configuration": {
            "accepted_output_modes": ["text/plain"], "history_length": 2, "blocking": null,
            "push_notification_config": {"url": "https://c.example", "id": null, "token": null, "authentication": null},
        },
        "metadata": null,
        "tenant": null,
    });
    assert_eq!(request(Dialect::V0_3, Operation::SendMessage, &snake), expected);
    let mut both = plain.clone();
    both["message"]["message_id"] = json!("other");
    both["message"]["context_id"] = json!(7);
    both["configuration"]["history_length"] = json!(9);
    assert_eq!(request(Dialect::V0_3, Operation::SendMessage, &both), expected);
    // Inside free JSON both spellings are members like any other.
    both["message"]["metadata"] = json!({"a_b": 1, "aB": 2});
    let Request::SendMessage(send) = request(Dialect::V0_3, Operation::SendMessage, &both) else { panic!() };
    assert_eq!(*send.message.metadata, *json!({"a_b": 1, "aB": 2}).as_object().unwrap());
    let task = json!({
        "kind": "task", "id": "t", "context_id": "c", "contextId": "d", "status": {"state": "working"}, "artifacts": null, "history": null,
    });
    assert_eq!(event(&task), Task::new("t", "d", TaskState::Working).into());
    assert!(Dialect::V0_3.request(Operation::GetTask, br#"{"id":"a","id":"b"}"#, &Limits::default()).is_err(), "the same name twice");
}

/// V03-SHAPE-005, V03-OBJ-001.
#[test]
fn absent_members_are_left_out_and_kinds_are_written() {
    let message = Message::agent("hi").id("m");
    let mut task = Task::new("t", "c", TaskState::Working);
    task.history.push(message.clone());
    let message_text = r#"{"kind":"message","messageId":"m","role":"agent","parts":[{"kind":"text","text":"hi"}]}"#;
    let task_text = format!(r#"{{"kind":"task","id":"t","contextId":"c","status":{{"state":"working"}},"history":[{message_text}]}}"#);
    for (event, expected) in [(Event::from(message), message_text), (Event::from(task), &task_text)] {
        let json = Dialect::V0_3.encode_event(&event, &mut StreamMemory::default()).unwrap().remove(0);
        assert_eq!(String::from_utf8(json).unwrap(), expected);
    }
}

/// V03-OBJ-003, CONV-TASK-001.
#[test]
fn what_v0_3_demands_is_written_even_when_v1_0_left_it_out() {
    let task = written(Dialect::V0_3, &Task::new("t", "", TaskState::Working).into());
    assert_eq!(task["contextId"], "t");
    let update = written(Dialect::V0_3, &StatusUpdate::new("t", "", TaskState::Working).into());
    assert_exact(
        "status",
        &update,
        &json!({"kind": "status-update", "taskId": "t", "contextId": "t", "status": {"state": "working"}, "final": false}),
    );
    let artifact = Artifact::new("x").id("a");
    let update = written(Dialect::V0_3, &ArtifactUpdate::new("t", "", artifact).into());
    assert_eq!((&update["contextId"], &update["append"], &update["lastChunk"]), (&json!("t"), &json!(false), &json!(false)));
    let mut message = Message::agent("hi");
    message.role = Role::Unspecified;
    assert_eq!(written(Dialect::V0_3, &message.into())["role"], "agent");
}

/// V03-OBJ-005, CONV-TASK-004.
#[test]
fn times_are_read_in_every_form_and_written_in_one() {
    for (read, write) in [
        ("2026-11-15T18:18:42.830068+00:00", "2026-11-15T18:18:42.830Z"),
        ("2026-11-15T18:20:46.954Z", "2026-11-15T18:20:46.954Z"),
        ("2026-11-15T18:23:31.044757Z", "2026-11-15T18:23:31.044Z"),
        ("2026-11-15T18:23:31", "2026-11-15T18:23:31.000Z"),
        ("2026-11-15T18:23:31+02:00", "2026-11-15T16:23:31.000Z"),
    ] {
        let task = json!({"kind": "task", "id": "t", "contextId": "c", "status": {"state": "working", "timestamp": read}});
        assert_eq!(written(Dialect::V0_3, &event(&task))["status"]["timestamp"], write);
    }
    let task = json!({"kind": "task", "id": "t", "contextId": "c", "status": {"state": "working", "timestamp": null}});
    assert_eq!(written(Dialect::V0_3, &event(&task))["status"], json!({"state": "working"}));
}

/// V03-STREAM-004, V03-STREAM-005, CONV-EVENT-002: waiting for authorization keeps a stream open.
#[test]
fn final_says_that_the_stream_closes() {
    for state in TaskState::ALL {
        let update = StatusUpdate::new("t", "c", *state);
        let mut memory = StreamMemory::default();
        let json = parse(&Dialect::V0_3.encode_event(&update.into(), &mut memory).unwrap()[0]);
        let closes = state.is_terminal() || *state == TaskState::InputRequired;
        assert_eq!((&json["final"], memory.closed), (&Value::Bool(closes), closes), "{state}");
    }
}

/// CONV-EVENT-003: a stream that ends with a task gets no closing event.
#[test]
fn nothing_is_added_to_the_end_of_a_stream() {
    let mut memory = StreamMemory::default();
    Dialect::V0_3.encode_event(&Task::new("t", "c", TaskState::Completed).into(), &mut memory).unwrap();
    assert_eq!(Dialect::V0_3.encode_end(&memory).unwrap(), None);
}

/// V03-REST-008.
#[test]
fn over_http_answers_and_events_stand_in_the_member_that_names_them() {
    let message = Message::agent("hi").id("m");
    let events = [
        ("task", Event::from(Task::new("t", "c", TaskState::Working))),
        ("message", Event::from(message.clone())),
        ("statusUpdate", Event::from(StatusUpdate::new("t", "c", TaskState::Completed))),
        ("artifactUpdate", Event::from(ArtifactUpdate::new("t", "c", Artifact::new("x").id("a")))),
    ];
    for (name, event) in events {
        let json = written(Dialect::V0_3RestKind, &event);
        assert_exact(name, &json, &json!({ name: written(Dialect::V0_3, &event) }));
        let mut memory = StreamMemory::default();
        assert_eq!(Dialect::V0_3RestKind.decode_event(&bytes(&json), &mut memory).unwrap(), [event]);
        assert_eq!(memory.closed, name == "statusUpdate");
    }
    let reply = Reply::Sent(SendReply::from(message));
    let json = Dialect::V0_3RestKind.encode_reply(&reply).unwrap();
    assert_eq!(parse(&json)["message"]["kind"], "message");
    assert_eq!(Dialect::V0_3RestKind.decode_reply(Operation::SendMessage, &json).unwrap(), reply);
    for json in [r#"{}"#, r#"{"task":{},"message":{}}"#, r#"{"task":{"kind":"message"}}"#] {
        assert!(Dialect::V0_3RestKind.decode_reply(Operation::SendMessage, json.as_bytes()).is_err(), "{json}");
    }
}
