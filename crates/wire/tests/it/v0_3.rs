//! v0.3 with `kind`: JSON-RPC, and HTTP+JSON as the prose shows it.

mod objects;
mod peers;
mod requests;

use chancery_core::{Binding, Error, ErrorKind, Event, Limits, Message, Operation, Part, Reply, Request, Role, Task, TaskState};
use chancery_wire::{
    Dialect, StreamMemory, card, errors,
    jsonrpc::{Call, Response},
    version,
};
use serde_json::{Value, json};

use crate::{
    generate::Generator,
    vector::{Vector, assert_exact, assert_same, bytes, canonical_reply, canonical_request, exchange, folder, one, parse, read_request},
};

/// The dialects whose objects say their kind.
pub const KINDS: [Dialect; 3] = [Dialect::V0_3, Dialect::V0_3RestKind, Dialect::V0_2];

/// Reads params and checks them, as a server does.
#[track_caller]
pub fn request(dialect: Dialect, operation: Operation, params: &Value) -> Request {
    dialect.request(operation, &bytes(params), &Limits::default()).unwrap_or_else(|error| panic!("{error:?}: {params}"))
}

/// Why params are refused: the field and the reason.
#[track_caller]
pub fn refusal(operation: Operation, params: &Value) -> (String, String) {
    let error = Dialect::V0_3.request(operation, &bytes(params), &Limits::default()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidParams);
    (error.violations()[0].field.clone(), error.violations()[0].description.clone())
}

/// The message that a send request holds.
#[track_caller]
pub fn sent(params: &Value) -> Message {
    match request(Dialect::V0_3, Operation::SendMessage, params) {
        Request::SendMessage(send) => send.message,
        other => panic!("{other:?}"),
    }
}

/// The one part of a message that a v0.3 client sends.
#[track_caller]
pub fn part(part: &Value) -> Part {
    sent(&json!({"message": {"messageId": "m", "role": "user", "parts": [part]}})).parts.remove(0)
}

/// The event of a stream element.
#[track_caller]
pub fn event(element: &Value) -> Event {
    Dialect::V0_3
        .decode_event(&bytes(element), &mut StreamMemory::default())
        .unwrap_or_else(|error| panic!("{error:?}: {element}"))
        .remove(0)
}

pub fn written(dialect: Dialect, event: &Event) -> Value {
    parse(&dialect.encode_event(event, &mut StreamMemory::default()).unwrap()[0])
}

/// The params of a vector as our client writes them: `blocking` is always said; the accepted modes
/// are always said in v0.2, and in v0.3 when there are any.
pub fn explicit(dialect: Dialect, operation: Operation, params: &Value) -> Value {
    let mut params = params.clone();
    if matches!(operation, Operation::SendMessage | Operation::StreamMessage) {
        let configuration = &mut params["configuration"];
        if configuration["blocking"].is_null() {
            configuration["blocking"] = json!(true);
        }
        let modes = configuration["acceptedOutputModes"].as_array().is_some_and(|modes| !modes.is_empty());
        match configuration.as_object_mut() {
            Some(members) if !modes && dialect == Dialect::V0_2 => drop(members.insert("acceptedOutputModes".to_owned(), json!([]))),
            Some(members) if !modes => drop(members.remove("acceptedOutputModes")),
            _ => {}
        }
    }
    params
}

/// Runs an exchange both ways, and compares the request with what our client writes for it.
pub fn whole_exchange(vector: &Vector) {
    exchange(vector, false);
    let (dialect, operation, request) = read_request(vector);
    let body = if vector.binding() == "JSONRPC" { "/request/body/params" } else { "/request/body" };
    let golden = explicit(dialect, operation, vector.at(body).unwrap_or(&json!({})));
    assert_exact(&vector.name, &parse(&dialect.encode_request(&request).unwrap()), &golden);
}

/// Bodies that are no calls; `refused_calls_are_answered_with_the_right_code` reads them.
const REFUSED: [&str; 4] =
    ["v0.3/jsonrpc-error-invalid-request", "v0.3/jsonrpc-error-method", "v0.3/jsonrpc-error-params", "v0.3/jsonrpc-error-parse"];

/// Answers that are cards; `an_extended_card_is_asked_for_with_or_without_params` reads them.
const CARDS: [&str; 2] = ["v0.3/jsonrpc-extended-card", "v0.3/jsonrpc-extended-card-empty-params"];

/// The id that the request leaves out is filled in when it is read, so the same request is never
/// written; `a_config_without_id_is_named_like_its_task` reads it.
const WITHOUT_ID: &str = "v0.3/jsonrpc-push-set-no-id";

/// V03-SHAPE-001, V03-OBJ-001, V03-SEND-002, V03-PUSHCFG-005, V03-STREAM-003, V03-STREAM-005,
/// V03-ERR-022, CONV-DET-003, CONV-ERR-004, CONV-EVENT-005, CONV-MSG-001, CONV-TASK-001,
/// CONV-ART-001.
#[test]
fn every_exchange_over_json_rpc_is_read_and_written() {
    let mut ran = 0;
    for vector in folder("v0.3") {
        let name = vector.name.as_str();
        match vector.binding() {
            "JSONRPC" if REFUSED.contains(&name) || CARDS.contains(&name) || name == WITHOUT_ID => {}
            "JSONRPC" => {
                whole_exchange(&vector);
                ran += 1;
            }
            "WEBHOOK" => assert_eq!(name, "v0.3/push-body", "the tests of webhooks read no other body"),
            // Other shapes of v0.3, with tests of their own.
            "HTTP+JSON" | "GRPC" | "CARD" => {}
            other => panic!("{name}: nobody reads {other}"),
        }
    }
    assert!(ran >= 22, "only {ran} exchanges");
}

/// V03-REST-008, CONV-DET-011.
#[test]
fn an_exchange_over_http_in_the_shape_of_the_prose_is_read_and_written() {
    let vector = one("v0.3/rest-message-send-doc-shape");
    assert_eq!(read_request(&vector).0, Dialect::V0_3RestKind);
    whole_exchange(&vector);
}

/// V03-ERR-010, V03-ERR-011, V03-ERR-012, V03-ERR-013, V03-RPC-005.
#[test]
fn refused_calls_are_answered_with_the_right_code() {
    for name in REFUSED {
        let vector = one(name);
        let body = vector.request_body();
        let (id, error) = match Call::parse(&body) {
            Err(refused) => (refused.id, refused.error),
            Ok(call) => {
                let read = |(spoken, operation): (version::Spoken, Operation)| {
                    let dialect = Dialect::of(spoken.resolve(None), Binding::JsonRpc).unwrap();
                    dialect.request(operation, call.params(), &Limits::default())
                };
                (call.answer_id(), version::of_rpc(&call.method, None).and_then(read).unwrap_err())
            }
        };
        let mut ours = parse(&Dialect::V0_3.encode_rpc_error(&error).unwrap());
        // What is wrong in particular is ours to say.
        ours.as_object_mut().unwrap().remove("data");
        assert_exact(
            name,
            &json!({"jsonrpc": "2.0", "id": parse(id.as_json().as_bytes()), "error": ours}),
            vector.at("/response/body").unwrap(),
        );
    }
}

/// V03-EXTCARD-001, V03-EXTCARD-003, CONV-CARD-006.
#[test]
fn an_extended_card_is_asked_for_with_or_without_params() {
    for name in CARDS {
        let vector = one(name);
        let (dialect, operation, request) = read_request(&vector);
        assert_eq!((dialect, operation), (Dialect::V0_3, Operation::GetExtendedCard));
        assert_eq!(dialect.encode_request(&request).unwrap(), b"{}");
        let result = bytes(vector.at("/response/body/result").unwrap());
        let read = dialect.decode_reply(operation, &result).map(|reply| canonical_reply(&reply));
        assert_eq!(read.ok(), card::read(&result).map(|card| serde_json::to_value(card).unwrap()).ok());
    }
    assert!(Dialect::V0_3.request(Operation::GetExtendedCard, b"null", &Limits::default()).is_ok());
    let card = Generator::new(1).card();
    let reply = Reply::Card(Box::new(card.clone()));
    assert_eq!(parse(&Dialect::V0_3.encode_reply(&reply).unwrap()), serde_json::to_value(card::v0_3(&card)).unwrap());
    assert_eq!(parse(&Dialect::V0_3RestKind.encode_reply(&reply).unwrap()), serde_json::to_value(card::v0_3_rest(&card)).unwrap());
}

/// V03-PUSHCFG-002.
#[test]
fn a_config_without_id_is_named_like_its_task() {
    let vector = one(WITHOUT_ID);
    let (dialect, operation, request) = read_request(&vector);
    let golden = vector.at("/response/body/result").unwrap();
    assert_exact(&vector.name, &parse(&dialect.encode_request(&request).unwrap()), golden);
    let reply = dialect.decode_reply(operation, &bytes(golden)).unwrap();
    assert_exact(&vector.name, &parse(&dialect.encode_reply(&reply).unwrap()), golden);
}

/// V03-PUSHCFG-006: Python's server leaves the result out.
#[test]
fn a_deletion_without_a_result_is_one() {
    let vector = one("v0.3/jsonrpc-push-delete");
    let body = bytes(vector.at("/alsoSeen/0/body").unwrap());
    let result = Response::parse(&body).unwrap().outcome.unwrap();
    assert_eq!(Dialect::V0_3.decode_reply(Operation::DeletePushConfig, result).unwrap(), Reply::Deleted);
    assert_eq!(Dialect::V0_3.encode_reply(&Reply::Deleted).unwrap(), b"null");
    assert_eq!(Dialect::V0_3RestKind.encode_reply(&Reply::Deleted).unwrap(), b"");
}

/// V03-ERR-020, CONV-ERR-004: what other servers answer to a message for
/// a finished task, or to watching one.
#[test]
fn errors_of_other_servers_are_read() {
    let vector = one("v0.3/jsonrpc-error-terminal");
    let seen = vector.at("/alsoSeen").unwrap().as_array().unwrap();
    let kinds: Vec<_> = seen.iter().map(|seen| Dialect::V0_3.decode_rpc_error(&bytes(&json!({"code": seen["code"]}))).kind()).collect();
    assert_eq!(kinds, [ErrorKind::InvalidParams, ErrorKind::InvalidRequest, ErrorKind::UnsupportedOperation]);

    let vector = one("v0.3/jsonrpc-resubscribe-terminal");
    let body = bytes(vector.at("/alsoSeen/0/events/0").unwrap());
    let error = Dialect::V0_3.decode_rpc_error(Response::parse(&body).unwrap().outcome.unwrap_err());
    assert_eq!((error.kind(), error.message()), (ErrorKind::InvalidParams, "Task … is in terminal state: completed"));
}

/// V03-ERR-001, V03-ERR-002, V03-ERR-003, V03-ERR-004, V03-ERR-005, V03-ERR-006, V03-ERR-007,
/// V03-ERR-014, V02-ERR-001, CONV-ERR-001, CONV-ERR-002, CONV-ERR-005, CONV-ERR-006.
#[test]
fn every_error_has_its_code_and_is_known_again() {
    let vector = one("conversion/errors");
    for case in vector.at("/cases").unwrap().as_array().unwrap() {
        let name = case["v1.0"].as_str().unwrap();
        let kind =
            case["reason"].as_str().map_or_else(|| errors::kind_of_class(name).unwrap(), |reason| ErrorKind::from_reason(reason).unwrap());
        for (dialect, column) in [(Dialect::V0_3, "v0.3"), (Dialect::V0_2, "v0.2")] {
            let Some(code) = case[column].as_i64() else {
                assert_eq!((case[column].as_str().unwrap(), errors::http_status(kind, dialect.version())), ("HTTP 404", 404));
                continue;
            };
            let bare = parse(&dialect.encode_rpc_error(&Error::from(kind)).unwrap());
            assert_exact(name, &bare, &json!({"code": code, "message": kind.default_message()}));
            let told = parse(&dialect.encode_rpc_error(&Error::from(kind).with("uri", "urn:example:ext:units")).unwrap());
            assert_exact(name, &told["data"], &json!({"reason": kind.reason(), "uri": "urn:example:ext:units"}));
            let again = dialect.decode_rpc_error(&bytes(&told));
            assert_eq!((again.kind(), again.metadata()["uri"].as_str()), (kind, "urn:example:ext:units"), "{name}");
        }
    }
    let error = Error::invalid_param("message.parts", "at least one part is needed");
    let json = parse(&Dialect::V0_3.encode_rpc_error(&error).unwrap());
    assert_exact("violations", &json["data"], &json!({"errors": [{"field": "message.parts", "message": "at least one part is needed"}]}));
    let seen = Dialect::V0_3.decode_rpc_error(br#"{"code":-32603,"message":"x","data":["trace",1]}"#);
    assert_eq!(seen.metadata()["legacyData"], r#"["trace",1]"#);
}

/// V03-PART-001, V03-PART-002, CONV-PART-001, CONV-PART-002, CONV-PART-003, CONV-PART-004.
#[test]
fn every_part_is_the_same_in_both_versions() {
    let vector = one("conversion/parts");
    for case in vector.at("/cases").unwrap().as_array().unwrap() {
        let ours = part(&case["v0.3"]);
        assert_exact("read", &serde_json::to_value(&ours).unwrap(), &case["v1.0"]);
        let canonical: Part = serde_json::from_value(case["v1.0"].clone()).unwrap();
        for dialect in [Dialect::V0_3, Dialect::V0_2] {
            let message = written(dialect, &Message::new(Role::Agent, vec![canonical.clone()]).into());
            assert_exact("write", &message["parts"][0], &case["v0.3"]);
        }
    }
}

/// V03-STATE-001, CONV-STATE-001.
#[test]
fn every_state_has_its_word() {
    for case in one("conversion/states").at("/cases").unwrap().as_array().unwrap() {
        let state = TaskState::from_name(case["v1.0"].as_str().unwrap()).unwrap();
        for (dialect, column) in [(Dialect::V0_3, "v0.3"), (Dialect::V0_3RestKind, "v0.3"), (Dialect::V0_2, "v0.2")] {
            let json = dialect.encode_reply(&Reply::Task(Task::new("t", "c", state).into())).unwrap();
            assert_eq!(parse(&json)["status"]["state"], case[column]);
            let Reply::Task(task) = dialect.decode_reply(Operation::GetTask, &json).unwrap() else { panic!() };
            let task = task.into_task().unwrap();
            assert_eq!((task.state(), task.metadata.is_empty()), (state, true));
        }
    }
}

/// CONV-TASK-001, CONV-MSG-001, CONV-ART-001, V02-OBJ-001.
#[test]
fn a_whole_task_is_the_same_in_both_versions() {
    let vector = one("conversion/task");
    for (dialect, column) in [(Dialect::V0_3, "/v0.3"), (Dialect::V0_3RestKind, "/v0.3"), (Dialect::V0_2, "/v0.2")] {
        let golden = vector.at(column).unwrap();
        let reply = dialect.decode_reply(Operation::GetTask, &bytes(golden)).unwrap();
        assert_exact(column, &canonical_reply(&reply), vector.at("/v1.0").unwrap());
        assert_exact(column, &parse(&dialect.encode_reply(&reply).unwrap()), golden);
    }
}

/// CONV-SEND-001, CONV-MSG-001.
#[test]
fn a_whole_send_request_is_the_same_in_both_versions() {
    let vector = one("conversion/send");
    for dialect in KINDS {
        let golden = vector.at("/v0.3").unwrap();
        let request = request(dialect, Operation::SendMessage, golden);
        assert_exact("send", &canonical_request(&request), vector.at("/v1.0").unwrap());
        assert_exact("send", &parse(&dialect.encode_request(&request).unwrap()), golden);
    }
}

/// CONV-PUSH-001.
#[test]
fn a_push_config_is_the_same_in_both_versions() {
    let vector = one("conversion/push-config");
    for dialect in KINDS {
        let golden = vector.at("/v0.3").unwrap();
        let request = request(dialect, Operation::CreatePushConfig, golden);
        assert_exact("push", &canonical_request(&request), vector.at("/v1.0").unwrap());
        assert_exact("push", &parse(&dialect.encode_request(&request).unwrap()), golden);
        let reply = dialect.decode_reply(Operation::GetPushConfig, &bytes(golden)).unwrap();
        assert_exact("push", &canonical_reply(&reply), vector.at("/v1.0").unwrap());
    }
}

/// CONV-EVENT-001, CONV-EVENT-002, CONV-EVENT-005, V03-STREAM-004.
#[test]
fn a_whole_stream_is_the_same_in_both_versions() {
    let vector = one("conversion/stream");
    let mut reading = StreamMemory::default();
    let cases = vector.at("/cases").unwrap().as_array().unwrap();
    for (at, case) in cases.iter().enumerate() {
        let events = Dialect::V0_3.decode_event(&bytes(&case["v0.3"]), &mut reading).unwrap();
        assert_eq!((events.len(), reading.closed), (1, at + 1 == cases.len()));
        assert_same("read", &serde_json::to_value(&events[0]).unwrap(), &case["v1.0"]);
        for dialect in [Dialect::V0_3, Dialect::V0_2] {
            assert_exact("write", &written(dialect, &events[0]), &case["v0.3"]);
        }
    }
}
