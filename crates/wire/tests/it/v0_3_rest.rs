//! v0.3 over HTTP+JSON: the JSON of its protobuf messages.

use chancery_core::{
    Artifact, ArtifactUpdate, Binding, Content, ErrorKind, Event, FileBytes, Limits, Message, Operation, Origin, Part, PushConfig, Record,
    Reply, Request, SendMessage, SendReply, StatusUpdate, Task, TaskState, TaskStatus, Version,
};
use chancery_wire::{
    Dialect, StreamMemory, errors,
    rest::{self, HttpRequest, Route},
};
use serde_json::{Value, json};

use crate::vector::{
    Vector, assert_exact, assert_same, bytes, canonical_reply, canonical_request, exchange, folder, one, parse, read_request,
};

const REST: Dialect = Dialect::V0_3Rest;

/// Requests in forms that are read and never written, and why.
const ONLY_READ: &[(&str, &str)] = &[
    ("v0.3/rest-message-send-snake", "protobuf's own names are for reading"),
    ("v0.3/rest-message-stream", "no configuration; ours always says whether to wait (CONV-SEND-002)"),
    ("v0.3/rest-push-create-bare", "ours is the whole request, the only form that every server accepts (V03-REST-014)"),
    ("v0.3/rest-push-create-config", "as above"),
];

/// Vectors whose bodies belong to other tests: the card, and the shape with `kind`.
const ELSEWHERE: [&str; 2] = ["v0.3/rest-card", "v0.3/rest-message-send-doc-shape"];

fn vectors() -> Vec<Vector> {
    let mut vectors = folder("v0.3");
    vectors.retain(|vector| vector.name.starts_with("v0.3/rest-"));
    assert_eq!(vectors.len(), 18);
    for name in ONLY_READ.iter().map(|(name, _)| name).chain(&ELSEWHERE) {
        assert!(vectors.iter().any(|vector| vector.name == *name), "no vector {name}");
    }
    vectors
}

/// V03-SHAPE-002, V03-REST-001, V03-REST-002, V03-REST-003, V03-REST-004, V03-REST-005, V03-REST-007, V03-REST-010,
/// V03-REST-011, V03-REST-012, V03-REST-013, V03-REST-014, V03-REST-015, V03-REST-016, V03-REST-020, CONV-DET-010.
#[test]
fn every_golden_exchange_is_read_and_written() {
    for vector in vectors().iter().filter(|vector| !ELSEWHERE.contains(&vector.name.as_str())) {
        exchange(vector, !ONLY_READ.iter().any(|(name, _)| *name == vector.name));
    }
}

/// What is only read is still understood completely: written our way, it is the same request.
#[test]
fn a_form_that_is_only_read_means_the_same_as_the_one_we_write() {
    for vector in vectors().iter().filter(|vector| ONLY_READ.iter().any(|(name, _)| *name == vector.name)) {
        let (dialect, operation, request) = read_request(vector);
        assert_eq!(dialect, REST, "{}", vector.name);
        assert_eq!(REST.decode_request(operation, &REST.encode_request(&request).unwrap()).unwrap(), request, "{}", vector.name);
    }
    let [bare, config, full] = ["bare", "config", "full"].map(|form| read_request(&one(&format!("v0.3/rest-push-create-{form}"))).2);
    assert_eq!(bare, full);
    assert_eq!(config, full);
}

/// V03-REST-012, V03-REST-013, V03-REST-017, V03-REST-018, V03-CARD-015.
#[test]
fn our_calls_go_where_the_golden_ones_go() {
    for vector in vectors().iter().filter(|vector| vector.name != "v0.3/rest-message-send-doc-shape") {
        let (dialect, _, request) = read_request(vector);
        let call = HttpRequest::new(dialect, &request).unwrap();
        assert_eq!(call.target, vector.text("/request/target"), "{}", vector.name);
        // All known servers take GET for a subscription; only some clients send POST.
        let method = if vector.name == "v0.3/rest-subscribe-post" { "GET" } else { vector.text("/request/method") };
        assert_eq!(call.method, method, "{}", vector.name);
    }
}

/// V03-REST-008, CONV-DET-011.
#[test]
fn the_shape_of_the_prose_is_told_from_the_shape_of_protobuf() {
    assert_eq!(rest::v0_3_shape(&one("v0.3/rest-message-send-doc-shape").request_body()), Dialect::V0_3RestKind);
    for body in [r#"{"message":{"content":[]}}"#, r#"{"request":{"content":[]}}"#, r#"{"message":{"parts":[],"content":[]}}"#, "{}", ""] {
        assert_eq!(rest::v0_3_shape(body.as_bytes()), REST, "{body}");
    }
}

/// V03-REST-017.
#[test]
fn the_answer_to_a_delete_is_empty_and_any_answer_is_taken() {
    assert_eq!(REST.encode_reply(&Reply::Deleted).unwrap(), b"");
    for body in ["", "{}", "null", "gone"] {
        assert_eq!(REST.decode_reply(Operation::DeletePushConfig, body.as_bytes()).unwrap(), Reply::Deleted, "{body}");
    }
}

fn column(vector: &Vector) -> Vec<(Value, Value)> {
    let cases: Vec<_> = match vector.at("/cases") {
        Some(Value::Array(cases)) => cases.iter().map(|case| (case["v1.0"].clone(), case["v0.3-rest"].clone())).collect(),
        _ => vec![(vector.json["v1.0"].clone(), vector.json["v0.3-rest"].clone())],
    };
    assert!(!cases.is_empty() && cases.iter().all(|(_, rest)| !rest.is_null()), "{}", vector.name);
    cases
}

fn message_with(part: &Value, parts: &str) -> Vec<u8> {
    bytes(&json!({"message": {"messageId": "m", "role": "ROLE_USER", parts: [part]}}))
}

/// CONV-PART-001, CONV-PART-002, CONV-PART-003, CONV-PART-004, CONV-PART-006, V03-REST-005.
#[test]
fn every_part_is_converted_both_ways() {
    for (v1, rest) in column(&one("conversion/parts")) {
        let read = REST.decode_request(Operation::SendMessage, &message_with(&rest, "content")).unwrap();
        assert_exact("read", &canonical_request(&read)["message"]["parts"][0], &v1);
        let given = Dialect::V1_0Strict.decode_request(Operation::SendMessage, &message_with(&v1, "parts")).unwrap();
        assert_exact("written", &parse(&REST.encode_request(&given).unwrap())["message"]["content"][0], &rest);
    }
}

/// CONV-PUSH-001, CONV-PUSH-002, V03-REST-014.
#[test]
fn a_push_config_is_converted_both_ways() {
    for (v1, rest) in column(&one("conversion/push-config")) {
        let read = REST.decode_reply(Operation::GetPushConfig, &bytes(&rest)).unwrap();
        assert_same("read", &canonical_reply(&read), &v1);
        assert_exact("written", &parse(&REST.encode_reply(&read).unwrap()), &rest);
    }
}

/// CONV-SEND-001, CONV-MSG-001. References to other tasks are not written: only Go reads them, and
/// Python refuses a message that has them.
#[test]
fn a_send_request_is_converted_both_ways() {
    for (mut v1, rest) in column(&one("conversion/send")) {
        let given = Dialect::V1_0Strict.decode_request(Operation::SendMessage, &bytes(&v1)).unwrap();
        let read = REST.decode_request(Operation::SendMessage, &bytes(&rest)).unwrap();
        assert_exact("written", &parse(&REST.encode_request(&given).unwrap()), &rest);
        v1["message"].as_object_mut().unwrap().remove("referenceTaskIds");
        assert_same("read", &canonical_request(&read), &v1);
    }
}

/// CONV-STATE-001, V03-REST-003.
#[test]
fn every_state_is_converted_both_ways() {
    let cases = column(&one("conversion/states"));
    assert_eq!(cases.len(), TaskState::ALL.len());
    for (v1, rest) in cases {
        let read = task(&json!({"id": "t", "contextId": "c", "status": {"state": rest}}));
        assert_eq!(read.state().as_str(), v1.as_str().unwrap());
        assert_eq!(written(&read)["status"]["state"], rest);
    }
}

/// CONV-EVENT-001, CONV-EVENT-002, CONV-ART-001, V03-REST-010.
#[test]
fn every_event_is_converted_both_ways() {
    for (v1, rest) in column(&one("conversion/stream")) {
        let read = REST.decode_event(&bytes(&rest), &mut StreamMemory::default()).unwrap().remove(0);
        assert_same("read", &serde_json::to_value(&read).unwrap(), &v1);
        assert_exact("written", &event(&read), &rest);
    }
}

/// CONV-TASK-001, CONV-ART-001, CONV-MSG-001.
#[test]
fn a_task_is_converted_both_ways() {
    for (v1, rest) in column(&one("conversion/task")) {
        let read = REST.decode_reply(Operation::GetTask, &bytes(&rest)).unwrap();
        assert_same("read", &canonical_reply(&read), &v1);
        assert_exact("written", &parse(&REST.encode_reply(&read).unwrap()), &rest);
    }
}

/// CONV-ERR-001, V03-REST-020, V03-REST-021.
#[test]
fn every_error_has_its_status_and_its_code_at_the_top() {
    let table = one("conversion/errors");
    let cases = table.at("/cases").and_then(Value::as_array).unwrap();
    assert_eq!(cases.len(), 14);
    for case in cases {
        let code = i32::try_from(case["v1.0-code"].as_i64().unwrap()).unwrap();
        let kind = errors::kind_of_rpc_code(code, Version::V1_0);
        let (status, body) = REST.encode_http_error(&kind.into()).unwrap();
        let body = parse(&body);
        assert_eq!(Value::from(status), case["v0.3-rest-status"], "{kind:?}");
        assert_eq!(body["code"], case["v0.3"], "{kind:?}");
        assert_eq!(body["message"], kind.default_message());
        assert_eq!(body["error"]["code"], status);
        assert_eq!(REST.decode_http_error(status, &bytes(&body)).kind(), kind);
    }
}

/// V03-REST-020.
#[test]
fn errors_of_other_peers_are_read() {
    let vector = one("v0.3/rest-error-not-found");
    let seen = vector.at("/alsoSeen").and_then(Value::as_array).unwrap();
    let kinds = seen.iter().map(|seen| {
        let error = REST.decode_http_error(404, &bytes(&seen["body"]));
        assert_eq!(error.message(), seen["body"]["message"].as_str().unwrap());
        error.kind()
    });
    // Python says nothing but the words, so the status has to do.
    assert!(kinds.eq([ErrorKind::TaskNotFound, ErrorKind::TaskNotFound]));
    let google = br#"{"error":{"code":404,"status":"NOT_FOUND","message":"no","details":[
        {"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"TASK_NOT_FOUND","domain":"a2a-protocol.org"}]}}"#;
    assert_eq!(REST.decode_http_error(404, google).kind(), ErrorKind::TaskNotFound);
    assert_eq!(REST.decode_http_error(501, b"<html>").kind(), ErrorKind::UnsupportedOperation);
}

fn send(body: &str) -> SendMessage {
    match REST.decode_request(Operation::SendMessage, body.as_bytes()).unwrap_or_else(|error| panic!("{body}: {error:?}")) {
        Request::SendMessage(send) => *send,
        other => panic!("{other:?}"),
    }
}

fn refused(operation: Operation, body: &str) -> Vec<String> {
    let error = REST.request(operation, body.as_bytes(), &Limits::default()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidParams, "{body}");
    error.violations().iter().map(|violation| violation.field.clone()).collect()
}

fn task(json: &Value) -> Task {
    match REST.decode_reply(Operation::GetTask, &bytes(json)).unwrap() {
        Reply::Task(task) => task.into_task().unwrap(),
        other => panic!("{other:?}"),
    }
}

fn written(task: &Task) -> Value {
    parse(&REST.encode_reply(&Reply::Task(task.clone().into())).unwrap())
}

fn event(event: &Event) -> Value {
    let elements = REST.encode_event(event, &mut StreamMemory::default()).unwrap();
    assert_eq!(elements.len(), 1);
    parse(&elements[0])
}

fn request_of(route: (&str, &str), query: &str, body: &str) -> Request {
    let route = Route::find(route.0, route.1, None, false).unwrap().unwrap();
    route.request(REST, query, body.as_bytes(), &Limits::default()).unwrap()
}

/// V03-SHAPE-003, V03-SHAPE-004.
#[test]
fn unknown_members_and_nulls_count_as_absent() {
    let plain = send(r#"{"message":{"messageId":"m","role":"ROLE_USER","content":[{"text":"hi"}]}}"#);
    let noisy = send(
        r#"{"tenant":null,"configuration":null,"metadata":null,"x":[{"y":{}}],"message":{"messageId":"m","contextId":null,"taskId":null,
            "role":"ROLE_USER","extensions":null,"referenceTaskIds":null,"metadata":null,"kind":"message",
            "content":[{"text":"hi","file":null,"data":null,"metadata":null,"kind":"text"}]}}"#,
    );
    assert_eq!(noisy, plain);
    let bare = json!({"id": "t", "contextId": "c", "status": {"state": "TASK_STATE_WORKING"}});
    let nulls = json!({"id": "t", "contextId": "c", "artifacts": null, "history": null, "metadata": null,
        "status": {"state": "TASK_STATE_WORKING", "message": null, "timestamp": null}});
    assert_eq!(task(&nulls), task(&bare));
}

/// V03-SHAPE-005.
#[test]
fn nothing_absent_is_written() {
    let plain = Task::new("t", "c", TaskState::Working);
    assert_eq!(written(&plain), json!({"id": "t", "contextId": "c", "status": {"state": "TASK_STATE_WORKING"}}));
    assert_eq!(
        event(&ArtifactUpdate::new("t", "c", Artifact::new("x").id("a")).into()),
        json!({"artifactUpdate": {"taskId": "t", "contextId": "c", "artifact": {"artifactId": "a", "parts": [{"text": "x"}]}}})
    );
    let request = Request::GetPushConfig(chancery_core::GetPushConfig::new("t", "c"));
    assert_eq!(REST.encode_request(&request).unwrap(), br#"{"name":"tasks/t/pushNotificationConfigs/c"}"#);
}

/// Renames the members of a golden object as protobuf calls them; free objects stay as they are.
fn snake(value: &Value) -> Value {
    match value {
        Value::Object(members) => members
            .iter()
            .map(|(name, member)| {
                let free = name == "metadata" || (name == "data" && !member.get("data").is_some_and(Value::is_object));
                let member = if free { member.clone() } else { snake(member) };
                let spelled = name.chars().fold(String::new(), |mut name, letter| {
                    if letter.is_ascii_uppercase() {
                        name.push('_');
                    }
                    name.push(letter.to_ascii_lowercase());
                    name
                });
                (spelled, member)
            })
            .collect(),
        Value::Array(items) => items.iter().map(snake).collect(),
        other => other.clone(),
    }
}

/// V03-SHAPE-006, V03-REST-007, CONV-DET-014.
#[test]
fn the_names_of_protobuf_are_read_everywhere() {
    let mut seen = 0;
    for vector in vectors().iter().filter(|vector| !ELSEWHERE.contains(&vector.name.as_str())) {
        let (_, operation, request) = read_request(vector);
        if let Some(body) = vector.at("/request/body") {
            let mut again = REST.decode_request(operation, &bytes(&snake(body))).unwrap();
            if let (Request::CancelTask(again), Request::CancelTask(request)) = (&mut again, &request) {
                again.id = request.id.clone();
            }
            assert_eq!(again, request, "{}", vector.name);
            seen += 1;
        }
        if let Some(body) = vector.at("/response/body").filter(|_| vector.name != "v0.3/rest-error-not-found") {
            let [plain, again] = [body.clone(), snake(body)].map(|body| REST.decode_reply(operation, &bytes(&body)).unwrap());
            assert_eq!(again, plain, "{}", vector.name);
            seen += 1;
        }
        for element in vector.at("/response/events").and_then(Value::as_array).into_iter().flatten() {
            let [plain, again] =
                [element.clone(), snake(element)].map(|json| REST.decode_event(&bytes(&json), &mut StreamMemory::default()).unwrap());
            assert_eq!(again, plain, "{}", vector.name);
            seen += 1;
        }
    }
    assert!(seen > 20, "{seen}");
    let listed = request_of(("GET", "/v1/tasks"), "context_id=c&page_size=5&page_token=p&history_length=2&include_artifacts=1", "");
    assert_eq!(listed, request_of(("GET", "/v1/tasks"), "contextId=c&pageSize=5&pageToken=p&historyLength=2&includeArtifacts=true", ""));
}

/// V03-SHAPE-006.
#[test]
fn camel_case_wins_over_the_other_spelling_in_any_order() {
    let cases = [
        (r#""messageId":"m""#, r#""message_id":"x""#),
        (r#""contextId":"c""#, r#""context_id":"x""#),
        (r#""referenceTaskIds":["t"]"#, r#""reference_task_ids":["x"]"#),
    ];
    for (camel, other) in cases {
        let plain = send(&format!(r#"{{"message":{{{camel}}}}}"#));
        for both in [format!("{camel},{other}"), format!("{other},{camel}")] {
            assert_eq!(send(&format!(r#"{{"message":{{{both}}}}}"#)), plain, "{both}");
        }
        assert_ne!(send(&format!(r#"{{"message":{{{other}}}}}"#)), plain, "{other} is not read");
    }
    assert_eq!(send(r#"{"request":{"messageId":"x"},"message":{"messageId":"m"}}"#).message.message_id, "m");
    assert_eq!(send(r#"{"message":null,"request":{"messageId":"x"}}"#).message.message_id, "x");
    // Escapes in a name are only another way to write it.
    assert_eq!(send(r#"{"messag\u0065":{"messageId":"m"}}"#).message.message_id, "m");
}

/// V03-REST-001, V03-REST-007.
#[test]
fn fields_that_protobuf_calls_differently_are_read_by_both_names() {
    let message = json!({"messageId": "a", "role": "ROLE_AGENT", "content": [{"text": "x"}]});
    let status = |name: &str| json!({"id": "t", "contextId": "c", "status": {"state": 2, name: message}});
    assert_eq!(task(&status("update")), task(&status("message")));
    let reply = |name: &str| REST.decode_reply(Operation::SendMessage, &bytes(&json!({name: message}))).unwrap();
    assert_eq!(reply("msg"), reply("message"));
    let event = |name: &str| REST.decode_event(&bytes(&json!({name: message})), &mut StreamMemory::default()).unwrap();
    assert_eq!(event("msg"), event("message"));
}

/// V03-REST-003, CONV-STATE-002.
#[test]
fn states_and_roles_are_read_by_name_and_number_and_unknown_states_are_kept() {
    let status = |state: Value| task(&json!({"id": "t", "contextId": "c", "status": {"state": state}}));
    for (state, expected) in [
        (json!("TASK_STATE_CANCELLED"), TaskState::Canceled),
        (json!("TASK_STATE_CANCELED"), TaskState::Canceled),
        (json!(5), TaskState::Canceled),
        (json!(0), TaskState::Unspecified),
        (Value::Null, TaskState::Unspecified),
    ] {
        let read = status(state.clone());
        assert_eq!(read.state(), expected, "{state}");
        assert!(read.metadata.is_empty());
    }
    for (state, word) in [(json!("TASK_STATE_PAUSED"), "TASK_STATE_PAUSED"), (json!(42), "42"), (json!(-1), "-1")] {
        let read = status(state);
        assert_eq!((read.state(), read.metadata["a2a.compat.state"].as_str()), (TaskState::Unspecified, Some(word)));
    }
    let update = json!({"statusUpdate": {"taskId": "t", "contextId": "c", "status": {"state": "TASK_STATE_PAUSED"}}});
    match REST.decode_event(&bytes(&update), &mut StreamMemory::default()).unwrap().remove(0) {
        Event::Status(update) => assert_eq!(update.metadata["a2a.compat.state"], "TASK_STATE_PAUSED"),
        other => panic!("{other:?}"),
    }
    assert_eq!(send(r#"{"message":{"role":1}}"#).message.role, chancery_core::Role::User);
    let unspecified = Task::new("t", "c", TaskStatus::new(TaskState::Working).message(Message::default().id("m")));
    assert_eq!(written(&unspecified)["status"]["message"]["role"], "ROLE_AGENT");
}

/// V03-REST-005.
#[test]
fn the_form_of_inline_bytes_is_detected_and_used_again() {
    let cases: [(&str, &[u8], FileBytes); 5] = [
        ("YUdrPQ==", b"hi", FileBytes::Double),
        ("YUdrPQ", b"hi", FileBytes::Double),
        ("aGk=", b"hi", FileBytes::Single),
        ("_-8", b"\xff\xef", FileBytes::Single),
        ("", b"", FileBytes::Double),
    ];
    for (field, content, form) in cases {
        let read = send(&format!(r#"{{"message":{{"content":[{{"file":{{"fileWithBytes":"{field}"}}}}]}}}}"#));
        assert_eq!(read.message.parts[0].content, Content::Raw(content.into()), "{field}");
        assert_eq!(read.origin, Origin::new(Version::V0_3, Binding::HttpJson).file_bytes(form), "{field}");
        let again = REST.encode_request(&Request::SendMessage(Box::new(read.clone()))).unwrap();
        assert_eq!(send(str::from_utf8(&again).unwrap()).message.parts, read.message.parts, "{field}");
    }
    let mixed = send(r#"{"message":{"content":[{"file":{"fileWithBytes":"aGk="}},{"file":{"fileWithBytes":"YUdrPQ=="}},{"text":"x"}]}}"#);
    assert_eq!(mixed.origin.file_bytes, FileBytes::Single);
}

/// V03-REST-005, CONV-REC-001.
#[test]
fn answers_and_events_carry_inline_bytes_as_the_client_writes_them() {
    for (form, field) in [(FileBytes::Double, "YUdrPQ=="), (FileBytes::Single, "aGk=")] {
        let origin = Origin::new(Version::V0_3, Binding::HttpJson).file_bytes(form);
        let message = Message::agent(Part::raw("hi")).id("m");
        let mut task = Task::new("t", "c", TaskStatus::new(TaskState::Completed).message(message.clone()));
        task.artifacts.push(Artifact::new(Part::raw("hi")).id("a"));
        task.history.push(message.clone());
        task.record = Record::new(origin);
        let events: [Event; 4] = [
            task.clone().into(),
            message.clone().into(),
            StatusUpdate::new("t", "c", task.status.clone()).into(),
            ArtifactUpdate::new("t", "c", task.artifacts[0].clone()).into(),
        ];
        let mut texts: Vec<_> = events.iter().flat_map(|event| REST.encode_event(event, &mut StreamMemory::new(origin)).unwrap()).collect();
        texts.push(REST.encode_reply(&Reply::Task(task.clone().into())).unwrap());
        texts.push(REST.encode_reply(&Reply::Sent(task.clone().into())).unwrap());
        texts.push(REST.encode_reply(&Reply::Tasks(chancery_core::TaskPage::new(vec![task.into()], 1, 1))).unwrap());
        let mut request = SendMessage::new(message);
        request.origin = origin;
        texts.push(REST.encode_request(&Request::SendMessage(Box::new(request))).unwrap());
        for text in texts {
            let text = String::from_utf8(text).unwrap();
            let fields = text.matches("fileWithBytes").count();
            assert!(fields > 0 && text.matches(&format!(r#""fileWithBytes":"{field}""#)).count() == fields, "{text}");
        }
    }
}

/// V03-REST-009, CONV-SEND-002.
#[test]
fn who_waits_is_told_by_the_configuration_and_always_said() {
    for (configuration, wait) in [
        ("", true),
        (r#""configuration":null,"#, true),
        (r#""configuration":{},"#, false),
        (r#""configuration":{"historyLength":3},"#, false),
        (r#""configuration":{"blocking":false},"#, false),
        (r#""configuration":{"blocking":true},"#, true),
    ] {
        let read = send(&format!(r#"{{{configuration}"message":{{"messageId":"m"}}}}"#));
        assert_eq!(!read.configuration.return_immediately, wait, "{configuration}");
        for request in [Request::SendMessage(Box::new(read.clone())), Request::StreamMessage(Box::new(read))] {
            assert_eq!(parse(&REST.encode_request(&request).unwrap())["configuration"]["blocking"], wait, "{configuration}");
        }
    }
}

/// V03-REST-011, CONV-SEND-001, CONV-SEND-003.
#[test]
fn a_history_length_of_zero_says_nothing() {
    let get = |query: &str| match request_of(("GET", "/v1/tasks/t"), query, "") {
        Request::GetTask(get) => get.history_length,
        other => panic!("{other:?}"),
    };
    for (query, length) in [("", None), ("historyLength=0", None), ("history_length=2", Some(2)), ("historyLength=1", Some(1))] {
        assert_eq!(get(query), length, "{query}");
    }
    for (body, length) in [("0", None), ("\"0\"", None), ("2.0", Some(2)), ("null", None)] {
        let read = send(&format!(r#"{{"message":{{}},"configuration":{{"historyLength":{body}}}}}"#));
        assert_eq!(read.configuration.history_length, length, "{body}");
    }
    let mut get = chancery_core::GetTask::new("t");
    get.history_length = Some(0);
    let call = HttpRequest::new(REST, &Request::GetTask(get.clone())).unwrap();
    assert_eq!(call.target, "/v1/tasks/t");
    assert_eq!(REST.encode_request(&Request::GetTask(get)).unwrap(), br#"{"name":"tasks/t"}"#);
    let mut none = SendMessage::new("hi");
    none.configuration.history_length = Some(0);
    let body = parse(&REST.encode_request(&Request::SendMessage(Box::new(none))).unwrap());
    assert_eq!(body["configuration"], json!({"blocking": true}));
}

/// V03-REST-014.
#[test]
fn a_push_config_is_created_from_any_of_five_bodies_and_the_path_says_the_task() {
    let config = r#"{"id":"hook","url":"https://c.example","token":"tok","authentication":{"schemes":["Bearer"],"credentials":"s"}}"#;
    let name = r#""name":"tasks/t/pushNotificationConfigs/hook""#;
    let expected = {
        let mut config = PushConfig::new("https://c.example").id("hook").for_task("t").token("tok").authentication("Bearer", "s");
        config.record.origin = Origin::new(Version::V0_3, Binding::HttpJson);
        Request::CreatePushConfig(Box::new(config))
    };
    for body in [
        format!(r#"{{"parent":"tasks/t","configId":"hook","config":{{{name},"pushNotificationConfig":{config}}}}}"#),
        format!(r#"{{"config":{{{name},"pushNotificationConfig":{config}}}}}"#),
        format!(r#"{{{name},"pushNotificationConfig":{config}}}"#),
        format!(r#"{{"taskId":"t","pushNotificationConfig":{config}}}"#),
        config.to_owned(),
        format!(r#"{{"config":{config}}}"#),
        format!(r#"{{"parent":"tasks/other","config":{{"name":"nonsense","pushNotificationConfig":{config}}}}}"#),
    ] {
        assert_eq!(request_of(("POST", "/v1/tasks/t/pushNotificationConfigs"), "", &body), expected, "{body}");
    }
    let body = REST.encode_request(&expected).unwrap();
    assert_eq!(REST.decode_request(Operation::CreatePushConfig, &body).unwrap(), expected);
    assert_eq!(
        refused(Operation::CreatePushConfig, r#"{"taskId":"t","pushNotificationConfig":{"id":"hook"}}"#),
        ["url"],
        "a config without a webhook"
    );
}

/// V03-PUSHCFG-002.
#[test]
fn a_push_config_without_an_id_is_named_like_its_task() {
    let id = |body: &str| match request_of(("POST", "/v1/tasks/t/pushNotificationConfigs"), "", body) {
        Request::CreatePushConfig(config) => config.id.into_string(),
        other => panic!("{other:?}"),
    };
    assert_eq!(id(r#"{"url":"https://c.example"}"#), "t");
    assert_eq!(id(r#"{"configId":"k","config":{"pushNotificationConfig":{"url":"https://c.example"}}}"#), "k");
    let named = r#"{"name":"tasks/t/pushNotificationConfigs/n","pushNotificationConfig":{"url":"https://c.example"}}"#;
    assert_eq!(id(named), "n");
    let unnamed = r#"{"name":"tasks/t/pushNotificationConfigs/","pushNotificationConfig":{"url":"https://c.example"}}"#;
    assert_eq!(id(unnamed), "t");
    let ours = Request::CreatePushConfig(Box::new(PushConfig::new("https://c.example").for_task("t")));
    let body = parse(&REST.encode_request(&ours).unwrap());
    assert_eq!(body["config"]["name"], "tasks/t/pushNotificationConfigs/t");
    assert_eq!(body["config"]["pushNotificationConfig"], json!({"url": "https://c.example"}));
}

/// CONV-PUSH-002.
#[test]
fn several_schemes_are_kept_and_an_empty_authentication_is_none() {
    let config = |authentication: Value| {
        let body = json!({"name": "tasks/t/pushNotificationConfigs/k",
            "pushNotificationConfig": {"url": "https://c.example", "authentication": authentication}});
        match REST.decode_reply(Operation::GetPushConfig, &bytes(&body)).unwrap() {
            Reply::PushConfig(config) => *config,
            other => panic!("{other:?}"),
        }
    };
    let read = config(json!({"schemes": ["Negotiate", "Bearer"], "credentials": "s"}));
    assert_eq!(read.authentication.as_ref().unwrap().scheme, "Bearer");
    let again = parse(&REST.encode_reply(&Reply::PushConfig(Box::new(read))).unwrap());
    assert_eq!(again["pushNotificationConfig"]["authentication"]["schemes"], json!(["Negotiate", "Bearer"]));
    assert_eq!(config(json!({"schemes": []})).authentication, None);
    assert_eq!(config(json!({})).authentication, None);
}

/// V03-REST-016, V03-REST-019.
#[test]
fn lists_are_objects_when_written_and_may_be_bare_when_read() {
    let reply = |operation, json: &Value| REST.decode_reply(operation, &bytes(json)).unwrap();
    let config = json!({"name": "tasks/t/pushNotificationConfigs/k", "pushNotificationConfig": {"id": "k", "url": "https://c.example"}});
    let page = json!({"configs": [config]});
    let read = reply(Operation::ListPushConfigs, &page);
    assert_eq!(reply(Operation::ListPushConfigs, &page["configs"]), read);
    assert_exact("configs", &parse(&REST.encode_reply(&read).unwrap()), &page);
    assert_eq!(REST.decode_reply(Operation::ListPushConfigs, b" \n[]").unwrap(), reply(Operation::ListPushConfigs, &json!({})));
    let empty = Reply::PushConfigs(chancery_core::PushConfigPage::default());
    assert_eq!(REST.encode_reply(&empty).unwrap(), br#"{"configs":[]}"#);

    let task = json!({"id": "t", "contextId": "c", "status": {"state": "TASK_STATE_WORKING"}});
    let page = json!({"tasks": [task], "nextPageToken": "n", "totalSize": 7, "pageSize": 1});
    assert_exact("tasks", &parse(&REST.encode_reply(&reply(Operation::ListTasks, &page)).unwrap()), &page);
    let bare = json!({"tasks": [task], "nextPageToken": ""});
    assert_eq!(reply(Operation::ListTasks, &json!([task])), reply(Operation::ListTasks, &bare));
    assert_exact("bare", &parse(&REST.encode_reply(&reply(Operation::ListTasks, &json!([task]))).unwrap()), &bare);
}

/// V03-REST-019, V03-LIST-001, CONV-DET-014.
#[test]
fn tasks_are_listed_by_the_names_of_the_draft() {
    let query = "contextId=c&status=TASK_STATE_CANCELLED&pageSize=5&pageToken=p&historyLength=2&lastUpdatedAfter=1700000000123&includeArtifacts=true";
    let request = request_of(("GET", "/v1/tasks"), query, "");
    let expected = json!({"contextId": "c", "status": "TASK_STATE_CANCELED", "pageSize": 5, "pageToken": "p", "historyLength": 2,
        "statusTimestampAfter": "2023-11-14T22:13:20.123Z", "includeArtifacts": true});
    assert_exact("read", &canonical_request(&request), &expected);
    assert_eq!(HttpRequest::new(REST, &request).unwrap().target, format!("/v1/tasks?{query}"));
    assert_eq!(REST.decode_request(Operation::ListTasks, &REST.encode_request(&request).unwrap()).unwrap(), request);
    let nothing = request_of(("GET", "/v1/tasks"), "", "");
    assert_exact("no history unless asked for", &canonical_request(&nothing), &json!({"historyLength": 0}));
    let time = |query: &str| canonical_request(&request_of(("GET", "/v1/tasks"), query, ""))["statusTimestampAfter"].clone();
    for query in ["last_updated_after=0", "lastUpdatedTime=1970-01-01T00:00:00Z", "lastUpdatedAfter=1970-01-01T00:00:00"] {
        assert_eq!(time(query), "1970-01-01T00:00:00.000Z", "{query}");
    }
    assert_eq!(refused(Operation::ListTasks, r#"{"status":"TASK_STATE_PAUSED"}"#), ["status"]);
    assert_eq!(refused(Operation::ListTasks, r#"{"lastUpdatedAfter":"soon"}"#), ["lastUpdatedAfter"]);
    assert_eq!(refused(Operation::ListTasks, r#"{"lastUpdatedAfter":1e300}"#), ["lastUpdatedAfter"]);
    assert_eq!(refused(Operation::ListTasks, r#"{"pageSize":"0"}"#), ["pageSize"]);
}

/// CONV-EVENT-002, CONV-EVENT-003, CONV-EVENT-005.
#[test]
fn only_the_event_that_closes_the_stream_says_so() {
    for state in TaskState::ALL {
        let json = event(&StatusUpdate::new("t", "c", *state).into());
        let closes = state.is_terminal() || *state == TaskState::InputRequired;
        assert_eq!(json["statusUpdate"].get("final"), closes.then_some(&json!(true)), "{state}");
        let mut memory = StreamMemory::default();
        REST.decode_event(&bytes(&json), &mut memory).unwrap();
        assert_eq!((memory.closed, memory.state), (closes, Some(*state)));
        assert_eq!(REST.encode_end(&memory).unwrap(), None);
    }
}

/// V03-CARD-012, CONV-SEND-001.
#[test]
fn the_tenant_of_the_hosted_variant_is_in_the_body_or_in_the_query() {
    let read = send(r#"{"tenant":"north","message":{"messageId":"m","role":"ROLE_USER","content":[{"text":"x"}]}}"#);
    assert_eq!(read.tenant, "north");
    let request = Request::SendMessage(Box::new(read));
    let call = HttpRequest::new(REST, &request).unwrap();
    assert_eq!(call.target, "/v1/message:send");
    assert_eq!(parse(&call.body.unwrap())["tenant"], "north");
    for (method, path, query) in [
        ("GET", "/v1/tasks/t", "historyLength=1&tenant=north"),
        ("GET", "/v1/tasks", "historyLength=0&tenant=north"),
        ("GET", "/v1/tasks/t:subscribe", "tenant=north"),
        ("GET", "/v1/tasks/t/pushNotificationConfigs", "tenant=north"),
        ("GET", "/v1/tasks/t/pushNotificationConfigs/k", "tenant=north"),
        ("DELETE", "/v1/tasks/t/pushNotificationConfigs/k", "tenant=north"),
        ("GET", "/v1/card", "tenant=north"),
    ] {
        let request = request_of((method, path), query, "");
        assert_eq!(request.tenant(), "north", "{path}");
        assert_eq!(HttpRequest::new(REST, &request).unwrap().target, format!("{path}?{query}"));
    }
    for (path, body) in [("/v1/tasks/t:cancel", "{}"), ("/v1/tasks/t/pushNotificationConfigs", r#"{"url":"https://c.example"}"#)] {
        let mut request = request_of(("POST", path), "", body);
        request.set_tenant("north");
        let call = HttpRequest::new(REST, &request).unwrap();
        assert_eq!(request_of(("POST", &call.target), "", str::from_utf8(&call.body.unwrap()).unwrap()), request, "{path}");
    }
}

/// V03-REST-012.
#[test]
fn the_body_of_a_cancel_does_no_harm() {
    let plain = request_of(("POST", "/v1/tasks/t:cancel"), "", "");
    for body in ["{}", r#"{"name":"tasks/other"}"#, r#"{"name":7}"#, "[]", "nonsense", "null"] {
        assert_eq!(request_of(("POST", "/v1/tasks/t:cancel"), "", body), plain, "{body}");
    }
}

/// CONV-PART-005, CONV-MSG-004, V03-REST-001.
#[test]
fn what_can_never_be_right_is_refused_by_name() {
    let part = |part: &str| format!(r#"{{"message":{{"messageId":"m","role":"ROLE_USER","content":[{{"text":"x"}},{part}]}}}}"#);
    for (body, field) in [
        (part("{}"), "message.content[1]"),
        (part(r#"{"text":"x","data":{}}"#), "message.content[1]"),
        (part(r#"{"file":{}}"#), "message.content[1]"),
        (part(r#"{"file":{"fileWithBytes":"*"}}"#), "message.content[1].file.fileWithBytes"),
        (part(r#"{"file":{"fileWithUri":""}}"#), "message.parts[1].url"),
        (part(r#"{"data":{"data":[1]}}"#), "message.content[1].data.data"),
        (part(r#"{"text":7}"#), "message.content[1].text"),
        (r#"{"message":{"role":"ROLE_USER","content":[{"text":"x"}]}}"#.to_owned(), "message.messageId"),
        (r#"{"message":{"messageId":"m","role":"ROLE_USER"}}"#.to_owned(), "message.parts"),
        (r#"{"message":{"messageId":"m","role":"ROLE_KING","content":[{"text":"x"}]}}"#.to_owned(), "message.role"),
        (r#"{"message":[]}"#.to_owned(), "message"),
        (r#"{"configuration":{"historyLength":"many"}}"#.to_owned(), "configuration.historyLength"),
    ] {
        assert_eq!(refused(Operation::SendMessage, &body), [field], "{body}");
    }
    let status = |json: &[u8]| REST.decode_reply(Operation::GetTask, json).unwrap_err().violations()[0].field.clone();
    assert_eq!(status(br#"{"status":{"timestamp":"yesterday"}}"#), "status.timestamp");
    assert_eq!(REST.decode_request(Operation::SendMessage, b"{").unwrap_err().kind(), ErrorKind::Parse);
    for element in [r#"{}"#, r#"{"task":{},"message":{}}"#, r#"{"kind":"task"}"#] {
        assert!(REST.decode_event(element.as_bytes(), &mut StreamMemory::default()).is_err(), "{element}");
        assert!(REST.decode_reply(Operation::SendMessage, element.as_bytes()).is_err(), "{element}");
    }
}

/// V03-PART-004, V03-REST-001.
#[test]
fn sloppy_parts_are_read_as_well_as_they_can_be() {
    let part = |part: &str| send(&format!(r#"{{"message":{{"content":[{part}]}}}}"#)).message.parts.remove(0);
    assert_eq!(part(r#"{"file":{"fileWithUri":"https://f.example","fileWithBytes":"YUdrPQ=="}}"#), Part::raw("hi"));
    assert_eq!(part(r#"{"data":{}}"#), Part::data(json!({})));
    assert_eq!(part(r#"{"data":{"data":null}}"#), Part::data(json!({})));
    assert_eq!(part(r#"{"text":""}"#), Part::text(""));
}

/// CONV-PART-006, V03-REST-006.
#[test]
fn integers_stay_integers_and_are_equal_to_what_protobuf_makes_of_them() {
    let body = |number: &str| {
        format!(r#"{{"message":{{"messageId":"m","role":"ROLE_USER","content":[{{"data":{{"data":{{"n":{number}}}}}}}]}}}}"#)
    };
    for number in ["1", "9007199254740993", "-7", "2.5"] {
        let json = REST.encode_request(&Request::SendMessage(Box::new(send(&body(number))))).unwrap();
        let json = String::from_utf8(json).unwrap();
        assert!(json.contains(&format!(r#""n":{number}}}"#)), "{json}");
    }
    let canonical = |number| canonical_request(&Request::SendMessage(Box::new(send(&body(number)))));
    assert_same("by value", &canonical("1.0"), &canonical("1"));
}

/// CONV-TASK-001, CONV-TASK-004, V03-OBJ-005.
#[test]
fn a_task_without_a_context_is_its_own_and_times_are_read_in_any_zone() {
    let mut given = Task::new("t", "", TaskState::Working);
    assert_eq!(written(&given)["contextId"], "t");
    assert_eq!(event(&StatusUpdate::new("t", "", TaskState::Working).into())["statusUpdate"]["contextId"], "t");
    assert_eq!(event(&ArtifactUpdate::new("t", "", Artifact::new("x")).into())["artifactUpdate"]["contextId"], "t");
    for time in ["2026-11-15T18:18:42.830068+00:00", "2026-11-15T20:18:42.830+02:00", "2026-11-15T18:18:42.830"] {
        let read = task(&json!({"id": "t", "status": {"state": 2, "timestamp": time}}));
        given.status.timestamp = read.status.timestamp;
        assert_eq!(written(&given)["status"]["timestamp"], "2026-11-15T18:18:42.830Z", "{time}");
    }
}

/// CONV-REC-001.
#[test]
fn a_request_remembers_how_it_came() {
    let origin = Origin::new(Version::V0_3, Binding::HttpJson);
    let read = send(r#"{"message":{"messageId":"m"},"configuration":{"pushNotification":{"id":"k","url":"https://c.example"}}}"#);
    assert_eq!(read.origin, origin);
    assert_eq!(read.configuration.push_config.unwrap().record.origin, origin);
}

/// V03-SEND-003. An answer without a task has no record to say how its client writes bytes.
#[test]
fn a_direct_answer_is_wrapped_like_a_task() {
    let reply = Reply::Sent(SendReply::from(Message::agent("Harbour office opens at 07:30.").id("a-1").in_context("c")));
    let json = json!({"message": {"messageId": "a-1", "contextId": "c", "role": "ROLE_AGENT", "content": [{"text": "Harbour office opens at 07:30."}]}});
    assert_exact("written", &parse(&REST.encode_reply(&reply).unwrap()), &json);
    assert_eq!(REST.decode_reply(Operation::SendMessage, &bytes(&json)).unwrap(), reply);
}
