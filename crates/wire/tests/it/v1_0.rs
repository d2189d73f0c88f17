//! v1.0 over JSON-RPC and HTTP+JSON, by its golden messages.

use chancery_core::{Card, Error, ErrorKind, Limits, Operation, Task, Validate};
use chancery_wire::{
    Dialect, StreamMemory,
    jsonrpc::{self, Call, Id},
    methods, rest, version,
};
use serde_json::Value;

use crate::vector::{self, Vector, assert_exact, bytes, exchange_as, folder, parse};

/// Requests in forms that are read and never written, each with its reason.
const READ_ONLY: [(&str, &str); 1] = [("v1.0/rest-push-create-bare", "we repeat the task of the path in the body")];

/// Requests that a client of ours words otherwise, each with its reason.
const CALLED_OTHERWISE: [(&str, &str); 4] = [
    ("v1.0/rest-push-create-bare", "we repeat the task of the path in the body"),
    ("v1.0/rest-cancel-nobody", "we repeat the task of the path in the body"),
    ("v1.0/rest-subscribe-get", "we subscribe by POST, which every known server takes"),
    ("v1.0/rest-subscribe-post-body", "we leave the body of a subscription out"),
];

/// The files of the JSON bindings, by what they hold. A file that is none of these fails the test.
struct Files {
    exchanges: Vec<Vector>,
    refusals: Vec<Vector>,
    cards: Vec<Vector>,
    webhooks: Vec<Vector>,
}

fn files() -> Files {
    let mut files = Files { exchanges: Vec::new(), refusals: Vec::new(), cards: Vec::new(), webhooks: Vec::new() };
    for vector in folder("v1.0") {
        match (vector.binding(), vector.at("/refused").is_some()) {
            ("GRPC", _) => continue, // In v1_0_grpc.rs.
            ("JSONRPC" | "HTTP+JSON", false) => files.exchanges.push(vector),
            ("JSONRPC" | "HTTP+JSON", true) => files.refusals.push(vector),
            ("CARD", _) => files.cards.push(vector),
            ("WEBHOOK", _) => files.webhooks.push(vector),
            (other, _) => panic!("{}: nobody reads the binding {other}", vector.name),
        }
    }
    files
}

fn exempt(list: &[(&str, &str)], vector: &Vector) -> bool {
    list.iter().any(|(name, _)| *name == vector.name)
}

/// All requests, answers and stream elements of the vectors, for tests that bend them.
pub fn subjects(dialect: Dialect) -> Vec<Subject> {
    let files = files();
    let mut subjects = Vec::new();
    for vector in &files.exchanges {
        let (_, operation, _) = vector::read_request(vector);
        let rpc = vector.binding() == "JSONRPC";
        let read_request = move |json: &[u8]| dialect.decode_request(operation, json).map(|request| vector::canonical_request(&request));
        let params = vector.at(if rpc { "/request/body/params" } else { "/request/body" });
        subjects.extend(params.map(|json| Subject::new(vector, "request", json, read_request)));
        let read_event = move |json: &[u8]| {
            let events = dialect.decode_event(json, &mut StreamMemory::default())?;
            Ok(serde_json::to_value(&events[0]).unwrap())
        };
        for event in vector.at("/response/events").and_then(Value::as_array).into_iter().flatten() {
            let element = if rpc { event.get("result") } else { Some(event).filter(|event| event.get("error").is_none()) };
            subjects.extend(element.map(|json| Subject::new(vector, "event", json, read_event)));
        }
        let read_reply = move |json: &[u8]| dialect.decode_reply(operation, json).map(|reply| vector::canonical_reply(&reply));
        let reply = vector.at(if rpc { "/response/body/result" } else { "/response/body" });
        let reply = reply.filter(|body| body.get("error").is_none() && operation != Operation::DeletePushConfig);
        subjects.extend(reply.map(|json| Subject::new(vector, "reply", json, read_reply)));
    }
    for vector in &files.cards {
        let read_card =
            move |json: &[u8]| dialect.decode_reply(Operation::GetExtendedCard, json).map(|reply| vector::canonical_reply(&reply));
        subjects.push(Subject::new(vector, "card", vector.at("/response/body").unwrap(), read_card));
    }
    subjects
}

/// A golden JSON object and how it is read: to its canonical form.
pub struct Subject {
    pub name: String,
    pub json: Value,
    read: Box<Reader>,
}

type Reader = dyn Fn(&[u8]) -> chancery_core::Result<Value>;

impl Subject {
    fn new(vector: &Vector, what: &str, json: &Value, read: impl Fn(&[u8]) -> chancery_core::Result<Value> + 'static) -> Self {
        Self { name: format!("{} {what}", vector.name), json: json.clone(), read: Box::new(read) }
    }

    pub fn read(&self, json: &Value) -> chancery_core::Result<Value> {
        (self.read)(&bytes(json))
    }
}

/// V10-DM-001, V10-DM-002, V10-JSON-001, V10-JSON-002, V10-JSON-008, V10-RPC-007, V10-REST-010,
/// V10-LIST-004, V10-LIST-005, V10-LIST-006: every operation over both bindings, read and written.
#[test]
fn every_exchange_is_read_and_written_as_its_vector_says() {
    let exchanges = files().exchanges;
    assert!(exchanges.len() >= 79, "only {} exchanges", exchanges.len());
    for vector in &exchanges {
        for dialect in [Dialect::V1_0, Dialect::V1_0Strict] {
            exchange_as(vector, Some(dialect), !exempt(&READ_ONLY, vector));
        }
    }
}

/// V10-RPC-001, V10-RPC-003, V10-REST-002, V10-REST-005, V10-REST-006, V10-REST-008, V10-REST-009.
#[test]
fn every_request_goes_out_with_the_method_path_and_query_of_its_vector() {
    for vector in &files().exchanges {
        let (dialect, operation, request) = vector::read_request(vector);
        if vector.binding() == "JSONRPC" {
            let golden = vector.at("/request/body").unwrap();
            let id: Id = golden["id"].as_i64().map_or_else(|| Id::text(golden["id"].as_str().unwrap()), Id::number);
            let method = methods::rpc_name(dialect.version(), operation).unwrap();
            let mut ours = parse(&jsonrpc::call(&id, method, &dialect.encode_request(&request).unwrap()));
            if golden.get("params").is_none() {
                assert_eq!(ours.as_object_mut().unwrap().remove("params"), Some(serde_json::json!({})));
            }
            assert_exact(&vector.name, &ours, golden);
        } else if !exempt(&CALLED_OTHERWISE, vector) {
            let call = rest::HttpRequest::new(dialect, &request).unwrap();
            assert_eq!(
                (call.method, call.target.as_str()),
                (vector.text("/request/method"), vector.text("/request/target")),
                "{}",
                vector.name
            );
            assert_eq!(call.body.map(|body| parse(&body)).as_ref(), vector.at("/request/body"), "{}", vector.name);
        }
    }
}

/// The frames of a vector and its list of elements say the same.
#[test]
fn stream_elements_stand_in_the_frames_as_they_are_listed() {
    let streams: Vec<_> = files().exchanges.into_iter().filter(|vector| vector.at("/response/events").is_some()).collect();
    assert!(streams.len() >= 13);
    for vector in streams {
        let frames = vector.text("/response/sse").split_terminator("\n\n");
        let data: Vec<_> = frames.map(|frame| parse(frame.rsplit_once("data: ").unwrap().1.as_bytes())).collect();
        assert_eq!(vector.at("/response/events"), Some(&Value::Array(data)), "{}", vector.name);
    }
}

/// What a server answers to a request that is wrong in itself.
fn refusal(vector: &Vector, dialect: Dialect) -> Value {
    let body = vector.request_body();
    let header = vector.version_header();
    if vector.binding() == "JSONRPC" {
        let (id, error) = match Call::parse(&body) {
            Err(refused) => (refused.id, refused.error),
            Ok(call) => {
                let read = version::of_rpc(&call.method, header)
                    .and_then(|(_, operation)| dialect.request(operation, call.params(), &Limits::default()));
                (call.answer_id(), read.expect_err(&vector.name))
            }
        };
        return parse(&jsonrpc::error(&id, &dialect.encode_rpc_error(&error).unwrap()));
    }
    let (path, query) = vector.text("/request/target").split_once('?').unwrap_or((vector.text("/request/target"), ""));
    let error = match rest::Route::find(vector.text("/request/method"), path, header, false) {
        Ok(Some(route)) => route.request(dialect, query, &body, &Limits::default()).expect_err(&vector.name),
        Ok(None) => Error::from(ErrorKind::MethodNotFound),
        Err(error) => error,
    };
    let (status, body) = dialect.encode_http_error(&error).unwrap();
    assert_eq!(Some(u64::from(status)), vector.at("/response/status").and_then(Value::as_u64), "{}", vector.name);
    parse(&body)
}

/// V10-RPC-001, V10-RPC-003, V10-RPC-007, V10-RPC-010, V10-REST-010, V10-REST-013, V10-ERR-008,
/// V10-ERR-009, V10-VER-007, V10-VER-008, V10-DM-004, V10-DM-005.
#[test]
fn a_request_that_is_wrong_in_itself_is_refused_as_its_vector_says() {
    let refusals = files().refusals;
    assert!(refusals.len() >= 12, "only {} refusals", refusals.len());
    for vector in &refusals {
        for dialect in [Dialect::V1_0, Dialect::V1_0Strict] {
            assert_exact(&vector.name, &refusal(vector, dialect), vector.at("/response/body").unwrap());
        }
    }
}

/// The body of a webhook call is one stream element.
#[test]
fn webhook_bodies_are_stream_elements() {
    let webhooks = files().webhooks;
    assert!(webhooks.len() >= 3);
    for vector in &webhooks {
        let golden = vector.at("/request/body").unwrap();
        for dialect in [Dialect::V1_0, Dialect::V1_0Strict] {
            let events = dialect.decode_event(&bytes(golden), &mut StreamMemory::default()).unwrap();
            let again = dialect.encode_push(&events[0], &Task::default()).unwrap();
            assert_exact(&vector.name, &parse(&again), golden);
        }
    }
}

/// V10-CARD-007, V10-DM-003: every scheme, every flow, members with
/// explicit presence.
#[test]
fn cards_are_read_and_written_as_their_vectors_say() {
    let cards = files().cards;
    assert!(cards.len() >= 4);
    for vector in &cards {
        let golden = vector.at("/response/body").unwrap();
        let card: Card = serde_json::from_value(golden.clone()).unwrap();
        card.validate().unwrap_or_else(|error| panic!("{}: {error}", vector.name));
        assert_exact(&vector.name, &serde_json::to_value(&card).unwrap(), golden);
    }
}
