//! v0.1 over JSON-RPC.

use chancery_core::{
    Artifact, ArtifactUpdate, Binding, Error, ErrorKind, Event, Limits, Message, Operation, Origin, Part, PushConfig, Reply, Request,
    SendMessage, StatusUpdate, Task, TaskState, TaskStatus, Version,
};
use chancery_wire::{Dialect, StreamMemory, errors, methods, push_headers};
use serde_json::{Value, json};

use crate::{
    spoiled::spoiled,
    vector::{self, Vector, assert_exact, assert_same, bytes, canonical_reply, canonical_request, folder, one, parse},
};

const V0_1: Dialect = Dialect::V0_1;
const TASK: &str = "2b6f0c52-8d7e-4f0a-9c31-5a0e7d9b4c11";
const SESSION: &str = "7f3d2a9e-41c6-4f7b-8a55-0d1e2c3b4a59";

/// The vector without its v1.0 side, for runs from v0.1 to v0.1.
fn plain(mut vector: Vector) -> Vector {
    vector.json.as_object_mut().unwrap().remove("v1");
    vector
}

/// The value without what v0.1 cannot carry or makes anew: message ids, and history nobody asked for.
fn told(value: &Value) -> Value {
    match value {
        Value::Object(members) => {
            let kept = members.iter().filter(|(name, _)| !matches!(name.as_str(), "messageId" | "history"));
            kept.map(|(name, value)| (name.clone(), told(value))).collect()
        }
        Value::Array(items) => items.iter().map(told).collect(),
        other => other.clone(),
    }
}

#[track_caller]
fn request(operation: Operation, params: Value) -> chancery_core::Result<Request> {
    V0_1.request(operation, &bytes(&params), &Limits::default())
}

#[track_caller]
fn send(params: Value) -> Box<SendMessage> {
    match request(Operation::SendMessage, params).unwrap() {
        Request::SendMessage(send) => send,
        other => panic!("{other:?}"),
    }
}

#[track_caller]
fn refused(operation: Operation, params: Value) -> String {
    let error = request(operation, params.clone()).expect_err(&params.to_string());
    assert_eq!(error.kind(), ErrorKind::InvalidParams, "{params}");
    error.to_string()
}

#[track_caller]
fn task(result: Value) -> Task {
    match V0_1.decode_reply(Operation::GetTask, &bytes(&result)).unwrap() {
        Reply::Task(task) => task.into_task().unwrap(),
        other => panic!("{other:?}"),
    }
}

fn written(task: Task) -> Value {
    parse(&V0_1.encode_reply(&Reply::Task(task.into())).unwrap())
}

fn core<T: serde::de::DeserializeOwned>(value: &Value) -> T {
    serde_json::from_value(value.clone()).unwrap()
}

/// Every exchange, from v0.1 to the canonical model and back.
///
/// V01-SEND-003, V01-SEND-004, V01-GET-001, V01-CANCEL-001, V01-RESUB-001, V01-STREAM-001, V01-STREAM-003, V01-ERR-001,
/// V01-ERR-002, V01-ERR-003, V01-ERR-004, V01-ERR-005, V01-STATE-001, V01-PUSHCFG-001.
#[test]
fn every_exchange_comes_back_as_it_was() {
    for vector in folder("v0.1") {
        let name = vector.name.clone();
        match name.strip_prefix("v0.1/").unwrap() {
            // Cards and webhooks are no exchanges; they have tests of their own.
            "card" | "card-seed004" | "push-body" | "push-challenge" => {}
            // Nulls and empty objects are read and never written.
            "tasks-send-nulls" | "tasks-get" => vector::exchange(&plain(vector), false),
            // A stream of snapshots is read and never written; its request is an ordinary one.
            "tasks-sendSubscribe-seed004" => {
                let mut vector = plain(vector);
                vector.json.as_object_mut().unwrap().remove("response");
                vector::exchange(&vector, true);
            }
            _ => vector::exchange(&plain(vector), true),
        }
    }
}

/// CONV-TASK-002, V01-PART-001, V01-SEND-002.
#[test]
fn a_task_has_the_shape_of_the_first_protocol() {
    let vector = one("v0.1/tasks-send");
    let result = vector.at("/response/body/result").unwrap();
    let reply = V0_1.decode_reply(Operation::SendMessage, &bytes(result)).unwrap();
    let golden = told(vector.at("/v1/response").unwrap());
    assert_same(&vector.name, &canonical_reply(&reply), &golden);
    // The server has cut the history that the client did not ask for.
    assert_exact(&vector.name, &parse(&V0_1.encode_reply(&Reply::Sent(core(&golden))).unwrap()), result);
}

/// CONV-MSG-005: the golden time is the server's own; a message has none.
#[test]
fn a_message_answers_as_a_completed_task() {
    let vector = one("v0.1/tasks-send-message-reply");
    let mut message: Message = core(vector.at("/v1/response/message").unwrap());
    message.task_id = Some("client-77".into());
    let mut golden = vector.at("/response/body/result").unwrap().clone();
    golden["status"].as_object_mut().unwrap().remove("timestamp");
    assert_exact(&vector.name, &parse(&V0_1.encode_reply(&Reply::Sent(message.clone().into())).unwrap()), &golden);

    let mut memory = StreamMemory::default();
    let elements = V0_1.encode_event(&message.into(), &mut memory).unwrap();
    let golden = json!({"id": "client-77", "status": golden["status"], "final": true});
    assert_exact("as a stream", &Value::Array(elements.iter().map(|json| parse(json)).collect()), &json!([golden]));
    assert_eq!(V0_1.encode_end(&memory).unwrap(), None);
}

/// V01-NULL-001, V01-SEND-007: the words of the first clients are media types here.
#[test]
fn nulls_are_absent_and_short_words_are_media_types() {
    let vector = one("v0.1/tasks-send-nulls");
    let read = send(vector.at("/request/body/params").unwrap().clone());
    let golden = json!({
        "message": {
            "role": "ROLE_USER", "taskId": TASK, "contextId": SESSION,
            "parts": [
                {"text": "When can a 2.4 m draught boat leave Port Elin on Friday?"},
                {"raw": "Y2hhcnQ=", "filename": "chart.png", "mediaType": "image/png"},
            ],
        },
        "configuration": {
            "acceptedOutputModes": ["text/*"],
            "taskPushNotificationConfig": {"id": TASK, "url": "https://client.example/hooks/a2a", "authentication": {"scheme": "bearer"}},
            "historyLength": 0,
        },
    });
    assert_same(&vector.name, &told(&canonical_request(&Request::SendMessage(read))), &golden);

    let params = json!({"id": "t", "message": {"role": "user", "parts": [{"text": "x"}]}, "acceptedOutputModes": ["data", "file", "a/b"]});
    assert_eq!(send(params).configuration.accepted_output_modes, ["application/json", "*/*", "a/b"]);
}

/// V01-SEND-007: to a v0.1 agent, which compares word by word, a range is its word, and anything is no list.
#[test]
fn media_ranges_are_written_as_what_a_v0_1_agent_compares() {
    for (modes, golden) in [
        (vec!["text/*", "image/png"], json!(["text", "image/png"])),
        (vec!["application/json"], json!(["application/json"])),
        (vec!["text/plain", "*/*"], Value::Null),
        (vec![], Value::Null),
    ] {
        let mut send = SendMessage::new(Message::user("x").to_task("t"));
        send.configuration.accepted_output_modes = modes.into_iter().map(str::to_owned).collect();
        let params = parse(&V0_1.encode_request(&Request::SendMessage(Box::new(send))).unwrap());
        assert_eq!(params["acceptedOutputModes"], golden);
    }
}

/// V01-SEND-001, V01-SEND-002, V01-MSG-001, CONV-MSG-002, CONV-MSG-004: the client names the task, the message gets an id.
#[test]
fn a_send_makes_the_task_that_it_names() {
    let read = send(json!({"id": "t-1", "sessionId": null, "message": {"role": "user", "parts": [{"type": "text", "text": "hi"}]}}));
    assert!(read.create_missing && !read.message.message_id.is_empty());
    assert_eq!(read.message.task_id, Some("t-1".into()));
    assert_eq!(read.message.context_id, None);
    assert!(!read.configuration.return_immediately);
}

/// CONV-TASK-005.
#[test]
fn task_ids_of_clients_are_held_to_limits() {
    let params = |id: Value| json!({"id": id, "message": {"role": "user", "parts": [{"type": "text", "text": "hi"}]}});
    for id in ["a", "ä b.c:d", &"x".repeat(256)] {
        assert!(request(Operation::SendMessage, params(id.into())).is_ok(), "{id}");
    }
    for id in [Value::Null, "".into(), "a/b".into(), "a\nb".into(), "\u{7f}".into(), "x".repeat(257).into()] {
        refused(Operation::SendMessage, params(id.clone()));
        refused(Operation::StreamMessage, params(id));
    }
    refused(Operation::GetTask, json!({"id": null}));
}

/// V01-HIST-001, CONV-SEND-003.
#[test]
fn history_is_asked_for_with_a_positive_number() {
    for (asked, length) in
        [(json!({}), 0), (json!({"historyLength": null}), 0), (json!({"historyLength": -1}), 0), (json!({"historyLength": 4}), 4)]
    {
        let mut params = json!({"id": "t", "message": {"role": "user", "parts": [{"type": "text", "text": "hi"}]}});
        params.as_object_mut().unwrap().extend(asked.as_object().unwrap().clone());
        let read = send(params.clone());
        assert_eq!(read.configuration.history_length, Some(length), "{asked}");
        let again = parse(&V0_1.encode_request(&Request::SendMessage(read)).unwrap());
        assert_eq!(again.get("historyLength"), (length > 0).then(|| json!(length)).as_ref(), "{asked}");
        let Request::GetTask(get) = request(Operation::GetTask, params).unwrap() else { panic!() };
        assert_eq!(get.history_length, Some(length), "{asked}");
    }
    let mut asked = Task::new("t", "c", TaskState::Completed);
    assert_eq!(written(asked.clone()).get("history"), None);
    asked.history.push(Message::user("hi"));
    assert_eq!(written(asked)["history"], json!([{"role": "user", "parts": [{"type": "text", "text": "hi"}]}]));
}

/// V01-PART-001, CONV-PART-003, CONV-PART-005, CONV-PART-006.
#[test]
fn parts_are_read_by_type_or_by_members() {
    let read = |part: Value| {
        let message = json!({"role": "agent", "parts": [part]});
        let mut task = task(json!({"id": "t", "status": {"state": "working", "message": message}}));
        task.status.message.as_mut().unwrap().parts.remove(0)
    };
    for (part, golden) in [
        (json!({"type": "text", "text": "a", "data": null, "file": null}), Part::text("a")),
        (json!({"text": "a", "metadata": {"k": 1}}), Part::text("a").metadata("k", 1)),
        (json!({"kind": "data", "data": {"n": 9_007_199_254_740_993_i64}}), Part::data(json!({"n": 9_007_199_254_740_993_i64}))),
        (json!({"file": {"data": "aGk", "mime_type": "text/plain"}}), Part::raw("hi").media_type("text/plain")),
        (json!({"type": "file", "file": {"uri": "https://f.example/x", "bytes": null}}), Part::url("https://f.example/x")),
        (json!({"type": "file", "file": {"name": "a.png", "mimeType": "image/png"}}), Part::text("File a.png (image/png) without content")),
        (json!({"type": "file", "file": {"name": "a.png"}}), Part::text("File a.png without content")),
    ] {
        assert_eq!(read(part.clone()), golden, "{part}");
    }
    for part in [
        json!({"type": "file", "file": {"name": "a.png"}}),
        json!({"type": "text", "data": {}}),
        json!({"type": "video", "text": "a"}),
        json!({"text": "a", "data": {}}),
        json!({}),
        json!({"type": "file", "file": {"bytes": "*"}}),
        json!({"type": "file", "file": {"bytes": "aGk=", "uri": "https://f.example/x"}}),
    ] {
        let why = refused(Operation::SendMessage, json!({"id": "t", "message": {"role": "user", "parts": [part]}}));
        assert!(why.contains("message.parts[0]"), "{why}");
    }
}

/// V01-TIME-001, CONV-TASK-004.
#[test]
fn times_are_utc_whatever_the_peer_writes() {
    for (text, golden) in [
        ("2026-11-15T18:24:29.808110", "2026-11-15T18:24:29.808Z"),
        ("2026-11-15T18:24:29+02:00", "2026-11-15T16:24:29.000Z"),
        ("2026-11-15T18:24:29Z", "2026-11-15T18:24:29.000Z"),
    ] {
        let again = written(task(json!({"id": "t", "status": {"state": "working", "timestamp": text}})));
        assert_eq!(again["status"]["timestamp"], golden);
    }
    assert_eq!(written(Task::new("t", "", TaskState::Working)), json!({"id": "t", "status": {"state": "working"}}));
}

/// CONV-STATE-001, CONV-STATE-002, CONV-STATE-003, V01-STATE-001.
#[test]
fn states_without_a_word_say_it_in_a_message() {
    for case in one("conversion/states").at("/cases").unwrap().as_array().unwrap() {
        let state = TaskState::from_name(case["v1.0"].as_str().unwrap()).unwrap();
        let status = &written(Task::new("t", "c", state))["status"];
        assert_eq!(status["state"], case["v0.1"], "{state}");
        let said = match state {
            TaskState::Rejected => Some("Rejected by the agent."),
            TaskState::AuthRequired => Some("Authentication required."),
            _ => None,
        };
        assert_eq!(status.pointer("/message/parts/0/text").and_then(Value::as_str), said, "{state}");
        if said.is_none() {
            assert_eq!(task(json!({"id": "t", "status": {"state": case["v0.1"]}})).state(), state);
        }
    }
    let own = Task::new("t", "c", TaskStatus::new(TaskState::Rejected).message(Message::agent("No boats today.")));
    assert_eq!(written(own)["status"]["message"]["parts"], json!([{"type": "text", "text": "No boats today."}]));

    let unknown = task(json!({"id": "t", "status": {"state": "paused"}}));
    assert_eq!((unknown.state(), &unknown.metadata["a2a.compat.state"]), (TaskState::Unspecified, &json!("paused")));
}

/// CONV-TASK-003, V01-ART-001, CONV-ART-001.
#[test]
fn artifacts_are_named_by_id_else_by_place() {
    let ids = |artifacts: Value| -> Vec<String> {
        let task = task(json!({"id": "t", "status": {"state": "completed"}, "artifacts": artifacts}));
        task.artifacts.into_iter().map(|artifact| artifact.artifact_id.into_string()).collect()
    };
    let text = json!([{"type": "text", "text": "x"}]);
    let artifact = |more: Value| {
        let mut artifact = json!({"parts": text});
        artifact.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        artifact
    };
    for (artifacts, golden) in [
        (json!([artifact(json!({})), artifact(json!({}))]), vec!["index-0", "index-1"]),
        (json!([artifact(json!({"id": "a", "index": 4})), artifact(json!({"index": 7}))]), vec!["a", "index-7"]),
        // Libraries that never set the index write 0 for all.
        (json!([artifact(json!({"index": 0})), artifact(json!({"index": 0}))]), vec!["index-0", "index-1"]),
        (json!([artifact(json!({"index": 0})), artifact(json!({"index": 0, "append": true}))]), vec!["index-0"]),
    ] {
        assert_eq!(ids(artifacts.clone()), golden, "{artifacts}");
    }
    let clash = ids(json!([artifact(json!({"index": 1})), artifact(json!({"index": 1}))]));
    assert!(clash[0] == "index-1" && clash[1] != "index-1", "{clash:?}");

    let mut made = Task::new("t", "c", TaskState::Completed);
    made.artifacts = vec![Artifact::new("x").id("b"), Artifact::new("y").id("a").described("why")];
    let again = &written(made)["artifacts"];
    assert_eq!(
        (&again[0]["id"], &again[0]["index"], &again[1]["id"], &again[1]["index"]),
        (&json!("b"), &json!(0), &json!("a"), &json!(1))
    );
}

/// CONV-EVENT-001, CONV-EVENT-002, CONV-EVENT-005: one canonical event may be several here.
#[test]
fn a_task_in_a_stream_is_its_status_and_then_its_artifacts() {
    let mut running = Task::new("t", "c", TaskState::Working);
    running.artifacts = vec![Artifact::new("x").id("a"), Artifact::new("y").id("b")];
    running.metadata.insert("k".to_owned(), json!(1));
    let events: [Event; 4] = [
        running.into(),
        ArtifactUpdate::new("t", "c", Artifact::new("z").id("b")).appended().into(),
        ArtifactUpdate::new("t", "c", Artifact::new("w").id("c")).last().into(),
        StatusUpdate::new("t", "c", TaskState::InputRequired).into(),
    ];
    let mut memory = StreamMemory::new(Origin::new(Version::V0_1, Binding::JsonRpc));
    let elements: Vec<_> =
        events.iter().flat_map(|event| V0_1.encode_event(event, &mut memory).unwrap()).map(|json| parse(&json)).collect();
    let artifact = |id: &str, text: &str, index: i32, append: bool, last: bool| {
        let parts = json!([{"type": "text", "text": text}]);
        json!({"id": "t", "artifact": {"id": id, "parts": parts, "index": index, "append": append, "lastChunk": last}})
    };
    let golden = json!([
        {"id": "t", "status": {"state": "working"}, "final": false, "metadata": {"k": 1}},
        artifact("a", "x", 0, false, false),
        artifact("b", "y", 1, false, false),
        artifact("b", "z", 1, true, false),
        artifact("c", "w", 2, false, true),
        {"id": "t", "status": {"state": "input-required"}, "final": true},
    ]);
    assert_exact("stream", &Value::Array(elements), &golden);
    assert_eq!(V0_1.encode_end(&memory).unwrap(), None);
}

/// CONV-EVENT-003, CONV-SEND-005.
#[test]
fn a_stream_that_ends_without_final_is_closed() {
    for (state, golden) in [
        (TaskState::Completed, Some(json!({"id": "t", "status": {"state": "completed"}, "final": true}))),
        (TaskState::InputRequired, Some(json!({"id": "t", "status": {"state": "input-required"}, "final": true}))),
        (TaskState::Working, None),
    ] {
        let mut memory = StreamMemory::default();
        let first = V0_1.encode_event(&Task::new("t", "c", state).into(), &mut memory).unwrap();
        assert_eq!(parse(&first[0])["final"], json!(false));
        assert_eq!(V0_1.encode_end(&memory).unwrap().map(|json| parse(&json)), golden, "{state}");
    }
    // The stream stays open while only a credential is missing; if it ends nevertheless, it says so.
    let mut memory = StreamMemory::default();
    let waits = V0_1.encode_event(&StatusUpdate::new("t", "c", TaskState::AuthRequired).into(), &mut memory).unwrap();
    assert_eq!(parse(&waits[0])["final"], json!(false));
    let end = parse(&V0_1.encode_end(&memory).unwrap().unwrap());
    assert_eq!((&end["final"], &end["status"]["state"]), (&json!(true), &json!("input-required")));
}

/// CONV-EVENT-004, V01-STREAM-004: the first element is the task, later ones are updates.
#[test]
fn a_stream_of_a_v0_1_agent_begins_with_the_task() {
    let vector = one("v0.1/tasks-sendSubscribe");
    let mut memory = StreamMemory::default();
    memory.context = Some(SESSION.into());
    let mut decoded = Vec::new();
    for element in vector.at("/response/events").unwrap().as_array().unwrap() {
        decoded.extend(V0_1.decode_event(&bytes(&element["result"]), &mut memory).unwrap());
    }
    assert!(memory.closed);
    let golden = vector.at("/v1/events").unwrap();
    assert_same(&vector.name, &told(&serde_json::to_value(&decoded).unwrap()), &told(golden));

    let mut memory = StreamMemory::default();
    let events: Vec<Event> = core(golden);
    for (event, element) in events.iter().zip(vector.at("/response/events").unwrap().as_array().unwrap()) {
        let again = V0_1.encode_event(event, &mut memory).unwrap();
        assert_eq!(again.len(), 1);
        assert_exact(&vector.name, &parse(&again[0]), &element["result"]);
    }
}

/// CONV-EVENT-004: what is not known of the task is left open, and `final` alone ends the stream.
#[test]
fn a_stream_may_begin_with_an_artifact_and_end_in_any_state() {
    let mut memory = StreamMemory::default();
    let chunk = json!({"id": "t", "artifact": {"parts": [{"type": "text", "text": "x"}], "lastChunk": true}, "metadata": {"k": 1}});
    let events = V0_1.decode_event(&bytes(&chunk), &mut memory).unwrap();
    let mut update = ArtifactUpdate::new("t", "", Artifact::new("x").id("index-0")).last();
    update.metadata.insert("k".to_owned(), json!(1));
    assert_eq!(events, [Task::new("t", "", TaskState::Working).into(), update.into()]);

    let last = json!({"status": {"state": "unknown"}, "final": true});
    let events = V0_1.decode_event(&bytes(&last), &mut memory).unwrap();
    assert_eq!(events, [StatusUpdate::new("t", "", TaskState::Unspecified).into()]);
    assert!(memory.closed);
    assert!(V0_1.decode_event(b"{\"id\":\"t\"}", &mut memory).is_err());
}

/// V01-STREAM-006.
#[test]
fn snapshots_beside_a_status_are_whole_artifacts() {
    let vector = one("v0.1/tasks-sendSubscribe-seed004");
    let mut memory = StreamMemory::default();
    memory.context = Some(SESSION.into());
    let decoded: Vec<Event> = (vector.at("/response/events").unwrap().as_array().unwrap().iter())
        .flat_map(|element| V0_1.decode_event(&bytes(&element["result"]), &mut memory).unwrap())
        .collect();
    let golden = json!([
        {"task": {"id": TASK, "contextId": SESSION, "status": {
            "state": "TASK_STATE_WORKING", "timestamp": "2026-02-03T09:15:01.500Z",
            "message": {"role": "ROLE_AGENT", "taskId": TASK, "contextId": SESSION, "parts": [{"text": "Reading the tide table."}]},
        }}},
        {"artifactUpdate": {"taskId": TASK, "contextId": SESSION, "lastChunk": true, "artifact": {
            "artifactId": "index-0", "name": "report", "parts": [{"text": "05:10-08:45"}],
        }}},
        {"statusUpdate": {"taskId": TASK, "contextId": SESSION, "status": {"state": "TASK_STATE_COMPLETED"}}},
    ]);
    assert_same(&vector.name, &told(&serde_json::to_value(&decoded).unwrap()), &golden);
}

/// V01-STREAM-002: an element is one line, whatever is in it, and stands alone in its block.
#[test]
fn an_element_is_one_line() {
    let mut memory = StreamMemory::default();
    let event = StatusUpdate::new("t", "c", TaskStatus::new(TaskState::Working).message(Message::agent("a\nb\r\n\u{2028}")));
    let elements = V0_1.encode_event(&event.into(), &mut memory).unwrap();
    assert!(!elements[0].contains(&b'\n') && !elements[0].contains(&b'\r'));
    for vector in folder("v0.1") {
        for block in vector.text("/response/sse").split_terminator("\n\n") {
            let data = block.strip_prefix("data: ").unwrap_or_else(|| panic!("{}: {block}", vector.name));
            assert!(!data.contains('\n'), "{}", vector.name);
        }
    }
}

/// V01-STREAM-005, V01-ERR-000: an error in a stream is the same object as outside.
#[test]
fn an_error_in_a_stream_is_an_ordinary_error() {
    let json = V0_1.encode_rpc_error(&Error::from(ErrorKind::TaskNotFound)).unwrap();
    assert_eq!(parse(&json), json!({"code": -32001, "message": "Task not found"}));
}

/// V01-PUSHCFG-001, V01-PUSHCFG-002, V01-PUSHCFG-003, CONV-PUSH-001.
#[test]
fn the_webhook_of_a_task_is_named_like_the_task() {
    let vector = one("conversion/push-config");
    let golden = vector.at("/v0.1").unwrap();
    let Request::CreatePushConfig(read) = request(Operation::CreatePushConfig, golden.clone()).unwrap() else { panic!() };
    let mut canonical = vector.at("/v1.0").unwrap().clone();
    canonical["id"] = json!(TASK);
    assert_same(&vector.name, &serde_json::to_value(&read).unwrap(), &canonical);
    let config: PushConfig = core(vector.at("/v1.0").unwrap());
    assert_exact(&vector.name, &parse(&V0_1.encode_reply(&Reply::PushConfig(Box::new(config))).unwrap()), golden);

    let Request::GetPushConfig(get) = request(Operation::GetPushConfig, json!({"id": "t"})).unwrap() else { panic!() };
    assert_eq!((get.task_id.as_str(), get.id), ("t", None));
    refused(Operation::CreatePushConfig, json!({"id": "t"}));
    refused(Operation::CreatePushConfig, json!({"taskId": "t", "pushNotificationConfig": {"url": "https://client.example"}}));
}

/// CONV-PUSH-001: setting none removes the webhook, in both directions.
#[test]
fn setting_no_webhook_removes_it() {
    let params = json!({"id": "t", "pushNotificationConfig": null});
    let delete = request(Operation::CreatePushConfig, params.clone()).unwrap();
    assert!(matches!(&delete, Request::DeletePushConfig(delete) if delete.task_id == "t" && delete.id == "t"));
    assert_eq!(parse(&V0_1.encode_request(&delete).unwrap()), params);
    assert_eq!(methods::rpc_name(Version::V0_1, Operation::DeletePushConfig), Some("tasks/pushNotification/set"));
    assert_eq!(V0_1.encode_reply(&Reply::Deleted).unwrap(), b"null");
    for answer in [params, Value::Null, json!({"id": "t", "pushNotificationConfig": {"url": "https://client.example"}})] {
        assert_eq!(V0_1.decode_reply(Operation::DeletePushConfig, &bytes(&answer)).unwrap(), Reply::Deleted);
    }
}

/// CONV-PUSH-001: listing is reading the one webhook that there may be.
#[test]
fn listing_webhooks_gives_one_or_none() {
    let list = Request::ListPushConfigs(chancery_core::ListPushConfigs::new("t"));
    assert_eq!(parse(&V0_1.encode_request(&list).unwrap()), json!({"id": "t"}));
    assert_eq!(methods::rpc_name(Version::V0_1, Operation::ListPushConfigs), Some("tasks/pushNotification/get"));
    for (answer, count) in [
        (json!({"id": "t", "pushNotificationConfig": {"url": "https://client.example"}}), 1),
        (json!({"id": "t", "pushNotificationConfig": null}), 0),
        (Value::Null, 0),
    ] {
        let Reply::PushConfigs(page) = V0_1.decode_reply(Operation::ListPushConfigs, &bytes(&answer)).unwrap() else { panic!() };
        assert_eq!(page.configs.len(), count, "{answer}");
    }
}

/// CONV-PUSH-002: the whole list and free members come back to v0.1.
#[test]
fn schemes_and_free_members_of_a_webhook_are_kept() {
    let params = json!({"id": "t", "pushNotificationConfig": {
        "url": "https://client.example", "authentication": {"schemes": ["hmac", "Bearer"], "credentials": "s", "keyId": "k-1", "x": null},
    }});
    let Request::CreatePushConfig(config) = request(Operation::CreatePushConfig, params.clone()).unwrap() else { panic!() };
    assert_eq!(config.authentication.as_ref().map(|found| found.scheme.as_str()), Some("Bearer"));
    let mut golden = params;
    golden["pushNotificationConfig"]["authentication"].as_object_mut().unwrap().remove("x");
    assert_exact("webhook", &parse(&V0_1.encode_reply(&Reply::PushConfig(config)).unwrap()), &golden);
}

/// V01-PUSH-001, V01-PUSH-002, CONV-PUSH-003.
#[test]
fn a_webhook_gets_the_whole_task_without_history() {
    let vector = one("v0.1/push-body");
    let body = vector.at("/request/body").unwrap();
    let mut stored = task(body.clone());
    stored.history.push(Message::user("hi"));
    let event = StatusUpdate::new(TASK, SESSION, TaskState::Completed).into();
    assert_exact(&vector.name, &parse(&V0_1.encode_push(&event, &stored).unwrap()), body);
    // The prose once says taskId.
    assert_eq!(task(json!({"taskId": "t", "status": {"state": "working"}})).id, "t");

    let mut config = PushConfig::new("https://client.example").token("tok-5d1f");
    config.record.origin = Origin::new(Version::V0_1, Binding::JsonRpc);
    let headers: Vec<_> = push_headers(&config);
    for (name, value) in vector.at("/request/headers").unwrap().as_object().unwrap() {
        assert!(headers.contains(&(name.clone(), value.as_str().unwrap().to_owned())), "{name}");
    }
}

/// V01-PUSH-003: the webhook repeats as text what the query holds; our receiver does it, so only the vector is looked at.
#[test]
fn the_challenge_of_a_webhook_is_its_answer() {
    let vector = one("v0.1/push-challenge");
    assert_eq!(vector.text("/request/target").split_once("validationToken=").unwrap().1, vector.text("/response/rawBody"));
}

/// CONV-SEND-001, CONV-MSG-002, CONV-SEND-004.
#[test]
fn a_send_carries_what_v0_1_has_a_place_for() {
    let vector = one("conversion/send");
    let golden = vector.at("/v0.1").unwrap();
    let mut canonical: SendMessage = core(vector.at("/v1.0").unwrap());
    canonical.message.task_id = Some("<task id>".into());
    assert_exact(&vector.name, &parse(&V0_1.encode_request(&Request::SendMessage(Box::new(canonical.clone()))).unwrap()), golden);

    canonical.message.reference_task_ids.clear();
    canonical.message.extensions.clear();
    canonical.configuration.return_immediately = false;
    canonical.configuration.push_config.as_mut().unwrap().id = "<task id>".into();
    let read = Request::SendMessage(send(golden.clone()));
    let canonical = canonical_request(&Request::SendMessage(Box::new(canonical)));
    assert_same(&vector.name, &told(&canonical_request(&read)), &told(&canonical));

    let fresh = V0_1.encode_request(&Request::StreamMessage(Box::new(SendMessage::new("hi")))).unwrap();
    assert!(!parse(&fresh)["id"].as_str().unwrap().is_empty());
}

/// CONV-PART-001, CONV-PART-002, CONV-PART-004.
#[test]
fn every_kind_of_part_has_its_v0_1_form() {
    for case in one("conversion/parts").at("/cases").unwrap().as_array().unwrap() {
        let params = json!({"id": "t", "message": {"role": "user", "parts": [case["v0.1"]]}});
        let read = send(params.clone());
        assert_same("read", &serde_json::to_value(&read.message.parts[0]).unwrap(), &case["v1.0"]);
        assert_eq!(read.message.parts[0], core(&case["v1.0"]));
        assert_exact("written", &parse(&V0_1.encode_request(&Request::SendMessage(read)).unwrap()), &params);
    }
}

/// CONV-EVENT-001, CONV-ART-001.
#[test]
fn every_event_has_its_v0_1_form() {
    let (mut reading, mut writing) = (StreamMemory::default(), StreamMemory::default());
    reading.context = Some(SESSION.into());
    for case in one("conversion/stream").at("/cases").unwrap().as_array().unwrap() {
        let elements = V0_1.encode_event(&core(&case["v1.0"]), &mut writing).unwrap();
        assert_exact("written", &Value::Array(elements.iter().map(|json| parse(json)).collect()), &json!([case["v0.1"]]));
        let events = V0_1.decode_event(&bytes(&case["v0.1"]), &mut reading).unwrap();
        assert_same("read", &told(&serde_json::to_value(&events).unwrap()), &told(&json!([case["v1.0"]])));
    }
}

/// CONV-TASK-002, CONV-DET-006: also a task that v0.1, v0.2 and v0.3 can all read.
#[test]
fn a_full_task_has_its_v0_1_form() {
    let vector = one("conversion/task");
    for (column, length) in [("/v0.1", 0), ("/v0.1-history2", 2)] {
        let mut canonical: Task = core(vector.at("/v1.0").unwrap());
        canonical.trim_history(length);
        let golden = vector.at(column).unwrap();
        assert_exact(column, &written(canonical), golden);
        let read = serde_json::to_value(task(golden.clone())).unwrap();
        assert_same(column, &told(&read), &told(vector.at("/v1.0").unwrap()));
        assert_eq!(read["history"].as_array().map_or(0, Vec::len), length);
    }
    let shared = one("conversion/task-hybrid-01-03");
    assert_same(&shared.name, &serde_json::to_value(task(shared.at("/body").unwrap().clone())).unwrap(), shared.at("/v1.0").unwrap());
}

/// V01-ERR-006, CONV-ERR-001, CONV-ERR-002, CONV-ERR-005: and no code that meant something else in the first prose.
#[test]
fn errors_are_written_with_codes_that_v0_1_knows() {
    for case in one("conversion/errors").at("/cases").unwrap().as_array().unwrap() {
        let kind = errors::kind_of_rpc_code(i32::try_from(case["v1.0-code"].as_i64().unwrap()).unwrap(), Version::V1_0);
        let code = errors::rpc_code(kind, Version::V0_1);
        // A call that v0.1 does not have cannot fail in its own way.
        assert_eq!(json!(code), if case["v0.1"].is_null() { json!(-32004) } else { case["v0.1"].clone() }, "{kind:?}");
    }
    let known = [-32700, -32600, -32601, -32602, -32603, -32001, -32002, -32003, -32004, -32005];
    // Refusals before the protocol has been reached travel as HTTP 401 and 403.
    for kind in ErrorKind::ALL.iter().filter(|kind| !matches!(kind, ErrorKind::Unauthenticated | ErrorKind::PermissionDenied)) {
        assert!(known.contains(&errors::rpc_code(*kind, Version::V0_1)), "{kind:?}");
    }
}

/// CONV-ERR-003, V01-ERR-006, V01-ERR-007.
#[test]
fn errors_of_a_v0_1_agent_have_the_meaning_of_the_first_prose() {
    for (code, kind) in [
        (-32001, ErrorKind::TaskNotFound),
        (-32005, ErrorKind::ContentTypeNotSupported),
        (-32006, ErrorKind::UnsupportedOperation),
        (-32007, ErrorKind::Unauthenticated),
        (-32008, ErrorKind::PermissionDenied),
        (-32009, ErrorKind::UnsupportedOperation),
        (-32010, ErrorKind::RateLimited),
        (-32011, ErrorKind::Unavailable),
        (-32603, ErrorKind::Internal),
    ] {
        let error = V0_1.decode_rpc_error(&bytes(&json!({"code": code, "message": "m", "data": null})));
        assert_eq!((error.kind(), error.message()), (kind, "m"), "{code}");
    }
}

/// CONV-ERR-006: the data of a peer's error goes through unchanged; ours is an object of facts.
#[test]
fn data_of_errors_is_free() {
    for data in [json!({"taskId": "t"}), json!([1]), json!("why")] {
        let error = json!({"code": -32001, "message": "Task not found", "data": data});
        assert_exact("data", &parse(&V0_1.encode_rpc_error(&V0_1.decode_rpc_error(&bytes(&error))).unwrap()), &error);
    }
    let ours = parse(&V0_1.encode_rpc_error(&Error::task_not_found("t")).unwrap());
    assert_eq!(ours["data"], json!({"reason": "TASK_NOT_FOUND", "taskId": "t"}));
}

/// CONV-SEND-001: what v0.1 has no call for is refused before anything is sent.
#[test]
fn calls_that_v0_1_does_not_have_are_unsupported() {
    let requests = [Request::ListTasks(Default::default()), Request::GetExtendedCard(Default::default())];
    for request in requests {
        assert_eq!(V0_1.encode_request(&request).unwrap_err().kind(), ErrorKind::UnsupportedOperation);
        assert_eq!(methods::rpc_name(Version::V0_1, request.operation()), None);
        assert_eq!(V0_1.decode_reply(request.operation(), b"{}").unwrap_err().kind(), ErrorKind::UnsupportedOperation);
    }
    let page = Reply::Tasks(chancery_core::TaskPage::default());
    assert_eq!(V0_1.encode_reply(&page).unwrap_err().kind(), ErrorKind::UnsupportedOperation);
}

/// V01-CANCEL-001: metadata of a cancel travels; that of other calls has no place in v1.0.
#[test]
fn a_cancel_carries_its_metadata() {
    let params = json!({"id": "t", "metadata": {"why": "late"}});
    let cancel = request(Operation::CancelTask, params.clone()).unwrap();
    assert_eq!(parse(&V0_1.encode_request(&cancel).unwrap()), params);
}

/// Whatever a peer sends is read or refused, and what is read can be written.
#[test]
fn nothing_that_a_peer_sends_does_harm() {
    let mut tried = 0;
    for vector in folder("v0.1") {
        let Some(params) = vector.at("/request/body/params") else { continue };
        let (_, operation, _) = vector::read_request(&vector);
        for params in spoiled(params) {
            if let Ok(request) = V0_1.request(operation, &bytes(&params), &Limits::default()) {
                V0_1.encode_request(&request).unwrap();
            }
            tried += 1;
        }
        for result in vector.at("/response/body/result").map(spoiled).unwrap_or_default() {
            if let Ok(reply) = V0_1.decode_reply(operation, &bytes(&result)) {
                V0_1.encode_reply(&reply).unwrap();
            }
            tried += 1;
        }
        let events = vector.at("/response/events").and_then(Value::as_array);
        for element in events.into_iter().flatten().flat_map(|element| spoiled(&element["result"])) {
            let mut memory = StreamMemory::default();
            for event in V0_1.decode_event(&bytes(&element), &mut memory).unwrap_or_default() {
                V0_1.encode_event(&event, &mut memory).unwrap();
            }
            tried += 1;
        }
    }
    assert!(tried > 5_000, "only {tried}");
}
