//! The compact dialect over JSON-RPC and HTTP+JSON.

use chancery_core::{
    Artifact, Binding, Event, Limits, Message, Object, Operation, Origin, Part, PushConfig, Record, Reply, Request, SendMessage, SendReply,
    StatusUpdate, Task, TaskState, TaskStatus, Timestamp, Version,
};
use chancery_wire::{
    Dialect, StreamMemory, methods, push_headers,
    rest::{self, Route},
    version,
};
use serde_json::{Value, json};

use crate::{
    spoiled::spoiled,
    vector::{self, Vector, assert_exact, assert_same, bytes, canonical_reply, canonical_request, folder, one, parse, read_request},
};

const COMPACT: Dialect = Dialect::Compact;

fn plain(mut vector: Vector) -> Vector {
    vector.json.as_object_mut().unwrap().remove("v1");
    vector
}

/// The value without what the dialect cannot carry: ids of status messages, which are strings
/// here, and the difference between submitted and working.
fn told(value: &Value) -> Value {
    match value {
        Value::Object(members) => {
            let mut told: Object = members.iter().map(|(name, value)| (name.clone(), told(value))).collect();
            if let Some(Value::Object(message)) = told.get_mut("status").and_then(|status| status.get_mut("message")) {
                message.remove("messageId");
            }
            Value::from(told)
        }
        Value::Array(items) => items.iter().map(told).collect(),
        Value::String(text) if text == "TASK_STATE_SUBMITTED" => json!("TASK_STATE_WORKING"),
        other => other.clone(),
    }
}

#[track_caller]
fn request(operation: Operation, params: Value) -> Request {
    COMPACT.request(operation, &bytes(&params), &Limits::default()).unwrap_or_else(|error| panic!("{params}: {error}"))
}

#[track_caller]
fn send(params: Value) -> Box<SendMessage> {
    match request(Operation::SendMessage, params) {
        Request::SendMessage(send) => send,
        other => panic!("{other:?}"),
    }
}

#[track_caller]
fn config(params: Value) -> Box<PushConfig> {
    match request(Operation::CreatePushConfig, params) {
        Request::CreatePushConfig(mut config) => {
            config.record.origin = Origin::new(Version::Compact, Binding::JsonRpc);
            config
        }
        other => panic!("{other:?}"),
    }
}

#[track_caller]
fn refused(operation: Operation, params: Value) {
    let answer = COMPACT.request(operation, &bytes(&params), &Limits::default());
    assert_eq!(answer.map_err(|error| error.kind()), Err(chancery_core::ErrorKind::InvalidParams), "{params}");
}

#[track_caller]
fn task(result: &Value) -> Task {
    match COMPACT.decode_reply(Operation::GetTask, &bytes(result)).unwrap() {
        Reply::Task(task) => task.into_task().unwrap(),
        other => panic!("{other:?}"),
    }
}

fn written(task: &Task) -> Value {
    parse(&COMPACT.encode_reply(&Reply::Task(task.clone().into())).unwrap())
}

fn core<T: serde::de::DeserializeOwned>(value: &Value) -> T {
    serde_json::from_value(value.clone()).unwrap()
}

/// The times that the golden object shows, which v1.0 keeps beside the task.
fn record(golden: &Value) -> Record {
    let time = |name: &str| Timestamp::parse(golden[name].as_str().unwrap()).unwrap();
    Record::default().times(time("createdTime"), time("updatedTime"))
}

/// Every exchange, from the compact dialect to the canonical model and back.
///
/// DIA-003-RPC-001, DIA-003-RPC-002, DIA-003-RPC-003, DIA-003-RPC-004, DIA-003-TASK-001, DIA-003-LIST-001, DIA-003-STREAM-001,
/// DIA-003-ERR-001, DIA-003-ERR-002, DIA-003-REST-001, DIA-003-REST-002, DIA-003-REST-003, DIA-003-REST-004, DIA-003-REST-005,
/// DIA-003-REST-006, DIA-003-REST-007, DIA-003-REST-010.
#[test]
fn every_exchange_comes_back_as_it_was() {
    for vector in folder("dialect-003") {
        let name = vector.name.clone();
        match name.strip_prefix("dialect-003/").unwrap() {
            // Cards and webhooks are no exchanges; they have tests of their own.
            "card" | "rest-card" | "push-delivery" => {}
            // The dialect writes the form of JSON-RPC; the body of HTTP+JSON is rest::HttpRequest's, below.
            "rest-push-create" => vector::exchange(&plain(vector), false),
            _ => vector::exchange(&plain(vector), true),
        }
    }
}

/// DIA-003-RPC-001, DIA-003-TASK-001, DIA-003-MSG-001, DIA-003-SEND-001, DIA-003-SEND-002, DIA-003-STATUS-001, DIA-003-STATE-001,
/// CONV-MSG-003.
#[test]
fn every_exchange_means_what_v1_0_says() {
    let mut compared = 0;
    for vector in folder("dialect-003").into_iter().filter(|vector| vector.at("/v1/card").is_none()) {
        let name = &vector.name;
        if let Some(golden) = vector.at("/v1/request") {
            assert_same(name, &canonical_request(&read_request(&vector).2), golden);
            compared += 1;
        }
        if let Some(golden) = vector.at("/v1/response") {
            let result = vector.at("/response/body/result").unwrap();
            let reply = COMPACT.decode_reply(Operation::SendMessage, &bytes(result)).unwrap();
            assert_same(name, &told(&canonical_reply(&reply)), &told(golden));
            let SendReply::Task(mut task) = core(golden) else { panic!("{name}") };
            task.record = record(result);
            assert_exact(name, &written(&task), result);
            compared += 1;
        }
        if let Some(golden) = vector.at("/v1/events") {
            let elements = vector.at("/response/events").unwrap().as_array().unwrap();
            let (mut reading, mut writing) = (StreamMemory::default(), StreamMemory::default());
            for (element, golden) in elements.iter().zip(golden.as_array().unwrap()) {
                let events = COMPACT.decode_event(&bytes(&element["result"]), &mut reading).unwrap();
                assert_same(name, &told(&serde_json::to_value(&events).unwrap()), &told(&json!([golden])));
                let again = COMPACT.encode_event(&with_record(core(golden), &element["result"]), &mut writing).unwrap();
                assert_exact(name, &Value::Array(again.iter().map(|json| parse(json)).collect()), &json!([element["result"]]));
                compared += 1;
            }
        }
    }
    assert_eq!(compared, 9);
}

fn with_record(mut event: Event, golden: &Value) -> Event {
    if let Event::Task(task) = &mut event {
        task.record = record(&golden["task"]);
    }
    event
}

/// DIA-GEN-002, DIA-GEN-003, DIA-003-REST-001, DIA-003-REST-007, DIA-003-REST-008, DIA-003-REST-010: what a client sends is what the server reads.
#[test]
fn a_client_calls_the_paths_that_the_server_knows() {
    let mut called = 0;
    for vector in folder("dialect-003").into_iter().filter(|vector| vector.binding() == "HTTP+JSON") {
        let name = &vector.name;
        let (_, operation, request) = read_request(&vector);
        let call = rest::HttpRequest::new(COMPACT, &request).unwrap();
        assert_eq!(call.method, vector.text("/request/method"), "{name}");
        let (path, query) = call.target.split_once('?').unwrap_or((&call.target, ""));
        let golden = vector.text("/request/target");
        assert_eq!(format!("/compact{path}"), golden.split_once('?').map_or(golden, |(path, _)| path), "{name}");
        if let Some(body) = vector.at("/request/body") {
            assert_exact(name, &parse(call.body.as_ref().unwrap()), body);
        }
        let route = Route::find(call.method, &format!("/compact{path}"), None, false).unwrap().unwrap();
        let again = route.request(COMPACT, query, call.body.as_deref().unwrap_or_default(), &Limits::default()).unwrap();
        assert_eq!((route.operation, &again), (operation, &request), "{name}");
        called += 1;
    }
    assert_eq!(called, 12);
}

/// DIA-GEN-001, DIA-GEN-003: the path decides; at the root only those that v1.0 does not have.
#[test]
fn the_path_decides_which_form_is_spoken() {
    let spoken = |method: &str, path: &str| Route::find(method, path, Some("1.0"), false).unwrap().map(|route| route.version);
    for (method, path) in [
        ("POST", "/messages"),
        ("POST", "/messages/stream"),
        ("DELETE", "/tasks/t"),
        ("GET", "/tasks/t/stream"),
        ("POST", "/tasks/t/notifications"),
        ("GET", "/tasks/t/notifications/n"),
        ("GET", "/agent-card"),
    ] {
        assert_eq!(spoken(method, path), Some(Version::Compact), "{path}");
        assert_eq!(spoken(method, &format!("/compact{path}")), Some(Version::Compact), "{path}");
    }
    for path in ["/tasks", "/tasks/t", "/tasks?context_id=c", "/tasks/t?history_length=1"] {
        let path = path.split_once('?').map_or(path, |(path, _)| path);
        assert_eq!(spoken("GET", path), Some(Version::V1_0), "{path}");
        assert_eq!(spoken("GET", &format!("/compact{path}")), Some(Version::Compact), "{path}");
    }
}

/// DIA-003-RPC-001, DIA-003-REST-009, DIA-GEN-002: the prefix is enough; a version header may say 1.0 and nothing else.
#[test]
fn the_prefix_of_the_method_selects_the_dialect() {
    for operation in Operation::ALL {
        let method = methods::rpc_name(Version::Compact, operation).unwrap();
        assert!(method.starts_with("A2A."), "{method}");
        for header in [None, Some(""), Some("1.0"), Some("1.0.1")] {
            let (spoken, meant) = version::of_rpc(method, header).unwrap();
            assert_eq!((spoken.resolve(None), meant), (Version::Compact, operation), "{method}");
        }
        assert!(version::of_rpc(method, Some("0.3")).is_err());
    }
    assert_eq!(methods::rpc_name(Version::Compact, Operation::ListPushConfigs), Some("A2A.ListTaskPushNotificationConfig"));
    assert!(version::of_rpc("A2A.ListTaskPushNotificationConfigs", None).is_ok());
    assert!(Route::find("POST", "/compact/messages", None, false).is_ok());
    assert!(Route::find("POST", "/compact/messages", Some("0.3"), false).is_err());
}

/// DIA-003-REST-008: what the card holds is the card's business.
#[test]
fn the_extended_card_has_its_path() {
    let (_, operation, _) = read_request(&one("dialect-003/rest-card"));
    assert_eq!(operation, Operation::GetExtendedCard);
}

/// DIA-003-SEND-002.
#[test]
fn an_answer_comes_at_once_unless_the_client_asks_to_wait() {
    let message = json!({"messageId": "m", "role": "user", "parts": [{"text": "hi"}]});
    for (configuration, at_once) in [
        (Value::Null, true),
        (json!({}), true),
        (json!({"blocking": null}), true),
        (json!({"blocking": false}), true),
        (json!({"blocking": true}), false),
        (json!({"returnImmediately": false}), false),
    ] {
        let read = send(json!({"message": message, "configuration": configuration}));
        assert_eq!(read.configuration.return_immediately, at_once, "{configuration}");
        let again = parse(&COMPACT.encode_request(&Request::SendMessage(read)).unwrap());
        assert_eq!(again.pointer("/configuration/blocking"), (!at_once).then_some(&json!(true)), "{configuration}");
    }
    refused(Operation::SendMessage, json!({"message": message, "configuration": {"blocking": true, "returnImmediately": true}}));
}

/// DIA-003-MSG-001, DIA-003-PART-001, CONV-MSG-004: also the members of v1.0, and an id where there is none.
#[test]
fn messages_are_read_in_both_forms() {
    let read = send(json!({"message": {
        "role": "user", "taskId": "t", "contextId": "c",
        "parts": [
            {"file": {"bytes": "aGk=", "name": "h.txt"}, "mimeType": "text/plain"},
            {"raw": "aGk=", "mediaType": "text/plain", "filename": "h.txt"},
            {"structuredData": {"a": 1}},
            {"data": {"a": 1}},
            {"file": {"uri": "https://f.example/x"}},
            {"url": "https://f.example/x"},
        ],
    }}));
    let message = read.message;
    assert!(!message.message_id.is_empty());
    assert_eq!((message.task_id, message.context_id), (Some("t".into()), Some("c".into())));
    let file = Part::raw("hi").media_type("text/plain").filename("h.txt");
    let (data, url) = (Part::data(json!({"a": 1})), Part::url("https://f.example/x"));
    assert_eq!(message.parts, [file.clone(), file, data.clone(), data, url.clone(), url]);
    refused(Operation::SendMessage, json!({"message": {"role": "user", "parts": [{"text": "a", "structuredData": {}}]}}));
}

/// DIA-003-RPC-004: what v1.0 says of a message beyond the dialect goes beside it.
#[test]
fn a_message_as_the_answer_is_bare() {
    let mut message = Message::agent("hi").id("m").in_context("c").extension("urn:x").referring_to("t-0");
    message.metadata.insert("k".to_owned(), json!(1));
    let reply = Reply::Sent(message.into());
    let json = COMPACT.encode_reply(&reply).unwrap();
    let golden = json!({
        "messageId": "m", "role": "agent", "parts": [{"text": "hi"}], "contextId": "c",
        "referenceTaskIds": ["t-0"], "extensions": ["urn:x"], "metadata": {"k": 1},
    });
    assert_exact("message", &parse(&json), &golden);
    assert_eq!(COMPACT.decode_reply(Operation::SendMessage, &json).unwrap(), reply);
}

/// DIA-003-STATUS-001: the text parts in lines; a message without text shows nothing here.
#[test]
fn the_message_of_a_status_is_its_text() {
    for (parts, golden) in [
        (vec![Part::text("a"), Part::data(json!(1)), Part::text("b")], Some("a\nb")),
        (vec![Part::text("a")], Some("a")),
        (vec![Part::data(json!({}))], None),
    ] {
        let status = TaskStatus::new(TaskState::Working).message(Message::new(chancery_core::Role::Agent, parts));
        assert_eq!(written(&Task::new("t", "c", status))["status"].get("message"), golden.map(Value::from).as_ref());
    }
}

/// DIA-003-STATE-001, CONV-STATE-001, CONV-STATE-002.
#[test]
fn states_are_short_and_read_in_every_spelling() {
    for case in one("conversion/states").at("/cases").unwrap().as_array().unwrap() {
        let state = TaskState::from_name(case["v1.0"].as_str().unwrap()).unwrap();
        let status = &written(&Task::new("t", "c", state))["status"];
        assert_eq!(status["state"], case["dialect-003"], "{state}");
        let lossy = matches!(state, TaskState::Unspecified | TaskState::Submitted);
        assert_eq!(task(&json!({"taskId": "t", "status": status})).state() == state, !lossy, "{state}");
        for word in [case["v1.0"].as_str().unwrap(), case["v1.0"].as_str().unwrap().trim_start_matches("TASK_STATE_")] {
            let Request::ListTasks(list) = request(Operation::ListTasks, json!({"status": word})) else { panic!() };
            assert_eq!(list.status, state, "{word}");
        }
    }
    let unknown = task(&json!({"taskId": "t", "status": {"state": "PAUSED"}}));
    assert_eq!((unknown.state(), &unknown.metadata["a2a.compat.state"]), (TaskState::Unspecified, &json!("PAUSED")));
}

/// CONV-PART-001, DIA-003-PART-001: metadata of parts and names of text are lost here, and so is that data was no object.
#[test]
fn every_kind_of_part_has_its_compact_form() {
    for case in one("conversion/parts").at("/cases").unwrap().as_array().unwrap() {
        let part: Part = core(&case["v1.0"]);
        let mut send = SendMessage::new(Message::new(chancery_core::Role::User, vec![part.clone()]).id("m"));
        send.configuration.return_immediately = true;
        let golden = json!({"message": {"messageId": "m", "role": "user", "parts": [case["dialect-003"]]}});
        assert_exact("written", &parse(&COMPACT.encode_request(&Request::SendMessage(Box::new(send))).unwrap()), &golden);

        let read = self::send(golden).message.parts.remove(0);
        let mut carried = part;
        carried.metadata.clear();
        if matches!(carried.content, chancery_core::Content::Text(_)) {
            carried.filename.clear();
        }
        if let chancery_core::Content::Data(value) = &mut carried.content
            && !value.is_object()
        {
            *value = json!({"value": value});
        }
        assert_eq!(read, carried, "{case}");
    }
}

/// DIA-003-ART-001.
#[test]
fn an_artifact_has_the_media_type_of_its_first_part() {
    for (part, golden) in [
        (Part::text("a"), "text/plain"),
        (Part::text("a").media_type("text/markdown"), "text/markdown"),
        (Part::data(json!({})), "application/json"),
        (Part::raw("a"), "application/octet-stream"),
        (Part::url("https://f.example/x").media_type("image/png"), "image/png"),
    ] {
        let mut made = Task::new("t", "c", TaskState::Completed);
        made.artifacts.push(Artifact::new(part).id("a").named("n").metadata("description", json!([1])));
        made.artifacts[0].extensions.push("urn:x".to_owned());
        let json = written(&made);
        let artifact = &json["artifacts"][0];
        assert_eq!(artifact["mimeType"], golden);
        assert_eq!(artifact["metadata"], json!({"name": "n", "description": [1]}));
        assert_eq!(task(&json), made);
    }
    let typed = json!({"artifactId": "a", "parts": [{"text": "a"}], "mimeType": "text/csv"});
    let read = task(&json!({"taskId": "t", "status": {"state": "WORKING"}, "artifacts": [typed]}));
    assert_eq!(read.artifacts[0].parts, [Part::text("a").media_type("text/csv")]);
}

/// DIA-003-PUSH-001, DIA-003-PUSH-002, DIA-003-RPC-002.
#[test]
fn the_header_of_a_webhook_is_kept_beside_its_config() {
    let golden = one("dialect-003/jsonrpc-push-create").at("/request/body/params").unwrap().clone();
    let nested = config(golden);
    assert_eq!(nested.record.header_name, "X-Hook-Key");
    let authentication = json!({"scheme": "api_key", "headerName": "X-Hook-Key", "value": "k-998"});
    let flat = json!({"task_id": nested.task_id, "configId": "hook-1", "url": "https://client.example/hooks/a2a", "authentication": authentication});
    assert_eq!(config(flat), nested);
    assert!(!serde_json::to_string(&nested).unwrap().contains("X-Hook-Key"), "only the dialect itself shows it");

    for (word, name) in [("bearer", "Bearer"), ("basic", "Basic"), ("api_key", "ApiKey"), ("Digest", "Digest")] {
        let read = config(json!({"taskId": "t", "url": "https://c.example", "authentication": {"scheme": word, "value": "v"}}));
        assert_eq!(read.authentication.as_ref().unwrap().scheme, name);
        let again = parse(&COMPACT.encode_reply(&Reply::PushConfig(read)).unwrap());
        assert_eq!(again["authentication"], json!({"scheme": word, "value": "v"}));
    }
    for name in ["Content-Length", "X Key", "X-Key\r\nHost", "host", "ä"] {
        let authentication = json!({"scheme": "bearer", "value": "v", "headerName": name});
        refused(Operation::CreatePushConfig, json!({"taskId": "t", "url": "https://c.example", "authentication": authentication}));
    }
}

/// DIA-003-PUSH-003, CONV-PUSH-003.
#[test]
fn the_credential_goes_into_the_header_that_was_named() {
    for (scheme, header, golden) in [
        ("bearer", "", ("authorization", "Bearer v")),
        ("bearer", "Authorization", ("authorization", "Bearer v")),
        ("bearer", "X-Hook", ("x-hook", "v")),
        ("basic", "", ("authorization", "Basic v")),
        ("basic", "X-Hook", ("x-hook", "Basic v")),
        ("api_key", "", ("x-api-key", "v")),
        ("api_key", "X-Hook-Key", ("x-hook-key", "v")),
        ("Digest", "", ("authorization", "Digest v")),
    ] {
        let authentication = json!({"scheme": scheme, "headerName": header, "value": "v"});
        let config = config(json!({"taskId": "t", "url": "https://c.example", "token": "tok", "authentication": authentication}));
        let golden = [("content-type", "application/json"), ("x-a2a-notification-token", "tok"), ("a2a-notification-token", "tok"), golden];
        assert_eq!(push_headers(&config), golden.map(|(name, value)| (name.to_owned(), value.to_owned())), "{scheme} {header}");
    }
}

/// CONV-PUSH-003: the content type is that of the version that registered the config.
#[test]
fn a_delivery_has_the_content_type_of_its_version() {
    for (version, golden) in [
        (Version::V1_0, "application/a2a+json"),
        (Version::V0_3, "application/json"),
        (Version::V0_2, "application/json"),
        (Version::V0_1, "application/json"),
        (Version::Compact, "application/json"),
    ] {
        let mut config = PushConfig::new("https://c.example").authentication("bearer", "");
        config.record.origin = Origin::new(version, Binding::JsonRpc);
        assert_eq!(push_headers(&config), [("content-type".to_owned(), golden.to_owned())], "{version}");
    }
    let key = PushConfig::new("https://c.example").authentication("ApiKey", "k");
    assert!(push_headers(&key).contains(&("authorization".to_owned(), "ApiKey k".to_owned())));
}

/// DIA-003-PUSH-003: the members of v1.0 around objects of the dialect.
#[test]
fn a_webhook_gets_the_event_in_compact_form() {
    let vector = one("dialect-003/push-delivery");
    let body = vector.at("/request/body").unwrap();
    let stored = task(&body["task"]);
    let sent = COMPACT.encode_push(&Event::from(stored.clone()), &stored).unwrap();
    assert_exact(&vector.name, &parse(&sent), body);
    let config = config(one("dialect-003/jsonrpc-push-create").at("/request/body/params").unwrap().clone());
    let headers: Object = push_headers(&config).into_iter().map(|(name, value)| (name, value.into())).collect();
    assert_exact(&vector.name, &Value::from(headers), vector.at("/request/headers").unwrap());
}

/// DIA-003-RPC-002: a bare id is the task's wherever no config is meant; a config is asked for by its name.
#[test]
fn a_bare_id_is_the_tasks() {
    let by = |operation, name: &str| parse(&COMPACT.encode_request(&request(operation, json!({name: "t"}))).unwrap());
    for operation in [Operation::GetTask, Operation::CancelTask, Operation::Subscribe, Operation::ListPushConfigs] {
        assert_eq!(by(operation, "id"), json!({"taskId": "t"}));
        assert_eq!(by(operation, "taskId"), json!({"taskId": "t"}));
    }
    refused(Operation::GetPushConfig, json!({"taskId": "t"}));
    refused(Operation::DeletePushConfig, json!({"taskId": "t"}));
    assert_eq!(COMPACT.encode_request(&request(Operation::GetExtendedCard, json!({}))).unwrap(), b"{}");
}

/// DIA-003-LIST-001, DIA-003-RPC-003: every filter, in both spellings.
#[test]
fn lists_are_asked_for_and_answered_in_pages() {
    let params = json!({
        "contextId": "c", "status": "COMPLETED", "pageSize": 10, "pageToken": "p", "historyLength": 2,
        "statusTimestampAfter": "2026-02-01T00:00:00.000Z", "includeArtifacts": true,
    });
    let list = request(Operation::ListTasks, params.clone());
    assert_exact("list", &parse(&COMPACT.encode_request(&list).unwrap()), &params);
    let call = rest::HttpRequest::new(COMPACT, &list).unwrap();
    assert!(call.target.contains("status_timestamp_after=") && call.target.contains("include_artifacts=true"), "{}", call.target);

    let page = json!({"configs": [{"configId": "a", "url": "https://c.example"}], "nextPageToken": "n"});
    let reply = COMPACT.decode_reply(Operation::ListPushConfigs, &bytes(&page)).unwrap();
    assert_exact("configs", &parse(&COMPACT.encode_reply(&reply).unwrap()), &page);
    let none = COMPACT.decode_reply(Operation::ListPushConfigs, b"{\"configs\":null}").unwrap();
    assert_eq!(parse(&COMPACT.encode_reply(&none).unwrap()), json!({"configs": [], "nextPageToken": ""}));
}

/// DIA-003-TASK-001, CONV-TASK-004: times are the record's, and absent where there is none.
#[test]
fn the_times_of_a_task_are_those_of_its_record() {
    let vector = one("conversion/task");
    let golden = vector.at("/dialect-003").unwrap();
    let mut canonical: Task = core(vector.at("/v1.0").unwrap());
    canonical.record = record(golden);
    assert_exact(&vector.name, &written(&canonical), golden);
    assert_eq!(task(golden), canonical);

    canonical.record = Record::default();
    let bare = written(&canonical);
    assert!(bare.get("createdTime").is_none() && bare.pointer("/history/0/timestamp").is_none());
    let zoneless = task(&json!({"taskId": "t", "status": {"state": "WORKING"}, "createdTime": "2026-02-03T09:15:01"}));
    assert_eq!(zoneless.record.created.map(|at| at.to_string()).as_deref(), Some("2026-02-03T09:15:01.000Z"));
}

/// DIA-003-STREAM-001, CONV-EVENT-001.
#[test]
fn every_event_has_its_compact_form() {
    let (mut reading, mut writing) = (StreamMemory::default(), StreamMemory::default());
    for case in one("conversion/stream").at("/cases").unwrap().as_array().unwrap() {
        let golden = &case["dialect-003"];
        let elements = COMPACT.encode_event(&with_record(core(&case["v1.0"]), golden), &mut writing).unwrap();
        assert_exact("written", &Value::Array(elements.iter().map(|json| parse(json)).collect()), &json!([golden]));
        let events = COMPACT.decode_event(&bytes(golden), &mut reading).unwrap();
        assert_same("read", &told(&serde_json::to_value(&events).unwrap()), &told(&json!([case["v1.0"]])));
    }
    assert_eq!(reading.state, Some(TaskState::Completed));

    let message: Event = Message::agent("hi").id("m").into();
    let json = COMPACT.encode_event(&message, &mut writing).unwrap().remove(0);
    assert_eq!(COMPACT.decode_event(&json, &mut reading).unwrap(), [message]);
    for wrong in ["{}", r#"{"task":null}"#, r#"{"message":{"parts":[]},"task":{"status":{"state":"WORKING"}}}"#] {
        assert!(COMPACT.decode_event(wrong.as_bytes(), &mut reading).is_err(), "{wrong}");
    }
}

/// DIA-GEN-004, DIA-GEN-005, DIA-ALIAS-001, DIA-ALIAS-002: the words of the dialect on a v1.0 endpoint.
#[test]
fn v1_0_reads_compact_words_where_they_cannot_be_confused() {
    let params = json!({
        "message": {"messageId": "m", "role": "user", "parts": [{"structuredData": {"a": 1}, "mimeType": "application/json"}]},
        "configuration": {"blocking": false, "pushNotificationConfig": {"configId": "h", "url": "https://c.example", "authentication": {"scheme": "bearer", "value": "v"}}},
    });
    let golden = json!({
        "message": {"messageId": "m", "role": "ROLE_USER", "parts": [{"data": {"a": 1}, "mediaType": "application/json"}]},
        "configuration": {
            "taskPushNotificationConfig": {"id": "h", "url": "https://c.example", "authentication": {"scheme": "bearer", "credentials": "v"}},
            "returnImmediately": true,
        },
    });
    let read = Dialect::V1_0.request(Operation::SendMessage, &bytes(&params), &Limits::default()).unwrap();
    assert_exact("pure v1.0", &canonical_request(&read), &golden);
    assert!(Dialect::V1_0Strict.request(Operation::SendMessage, &bytes(&params), &Limits::default()).is_err());

    let twice = |other: &str| json!({"id": "t", "taskId": other});
    assert!(Dialect::V1_0.request(Operation::GetTask, &bytes(&twice("t")), &Limits::default()).is_ok());
    assert!(Dialect::V1_0.request(Operation::GetTask, &bytes(&twice("u")), &Limits::default()).is_err());
}

/// Whatever a peer sends is read or refused, and what is read can be written.
#[test]
fn nothing_that_a_peer_sends_does_harm() {
    let mut tried = 0;
    for vector in folder("dialect-003").into_iter().filter(|vector| vector.binding() == "JSONRPC") {
        let (_, operation, _) = read_request(&vector);
        for params in spoiled(vector.at("/request/body/params").unwrap()) {
            if let Ok(request) = COMPACT.request(operation, &bytes(&params), &Limits::default()) {
                COMPACT.encode_request(&request).unwrap();
            }
            tried += 1;
        }
        for result in vector.at("/response/body/result").map(spoiled).unwrap_or_default() {
            if let Ok(reply) = COMPACT.decode_reply(operation, &bytes(&result)) {
                COMPACT.encode_reply(&reply).unwrap();
            }
            tried += 1;
        }
        let events = vector.at("/response/events").and_then(Value::as_array);
        for element in events.into_iter().flatten().flat_map(|element| spoiled(&element["result"])) {
            let mut memory = StreamMemory::default();
            for event in COMPACT.decode_event(&bytes(&element), &mut memory).unwrap_or_default() {
                COMPACT.encode_event(&event, &mut memory).unwrap();
            }
            tried += 1;
        }
    }
    assert!(tried > 2_000, "only {tried}");
}

/// A status update says what was added to it beyond the dialect.
#[test]
fn metadata_of_updates_travels() {
    let mut update = StatusUpdate::new("t", "c", TaskState::Working);
    update.metadata.insert("k".to_owned(), json!(1));
    let event = Event::from(update);
    let json = COMPACT.encode_event(&event, &mut StreamMemory::default()).unwrap().remove(0);
    assert_eq!(COMPACT.decode_event(&json, &mut StreamMemory::default()).unwrap(), [event]);
}
