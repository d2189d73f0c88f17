//! Golden messages from `vectors/`, and how to compare with them.

use std::{fs, path::PathBuf};

use chancery_core::{Limits, Operation, Reply, Request};
use chancery_wire::{
    Dialect, StreamMemory,
    jsonrpc::{Call, Response},
    rest::{self, Route},
    version,
};
use serde_json::{Map, Value};

/// One file of `vectors/`.
pub struct Vector {
    /// Folder and file name without the ending, for messages.
    pub name: String,
    pub json: Value,
}

/// All files of a folder, in order of their names.
pub fn folder(name: &str) -> Vec<Vector> {
    let dir = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../vectors").join(name);
    let mut files: Vec<_> = fs::read_dir(&dir).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    assert!(!files.is_empty(), "no vectors in {name}");
    let load = |path: &PathBuf| {
        // The vectors write BASE for the one prefix of our extension names.
        let text = fs::read_to_string(path).unwrap().replace("BASE/", "urn:chancery:ext/");
        Vector { name: format!("{name}/{}", path.file_stem().unwrap().to_string_lossy()), json: serde_json::from_str(&text).unwrap() }
    };
    files.iter().map(load).collect()
}

/// One file, by `folder/name`.
pub fn one(name: &str) -> Vector {
    let (dir, _) = name.split_once('/').unwrap();
    folder(dir).into_iter().find(|vector| vector.name == name).unwrap_or_else(|| panic!("no vector {name}"))
}

impl Vector {
    /// The value at a JSON pointer.
    pub fn at(&self, pointer: &str) -> Option<&Value> {
        self.json.pointer(pointer)
    }

    pub fn text(&self, pointer: &str) -> &str {
        self.at(pointer).and_then(Value::as_str).unwrap_or_default()
    }

    pub fn binding(&self) -> &str {
        self.text("/binding")
    }

    /// The bytes of the request body: `rawBody`, or `body` as compact JSON.
    pub fn request_body(&self) -> Vec<u8> {
        match (self.at("/request/rawBody"), self.at("/request/body")) {
            (Some(Value::String(raw)), _) => raw.clone().into_bytes(),
            (_, Some(body)) => body.to_string().into_bytes(),
            _ => Vec::new(),
        }
    }

    pub fn version_header(&self) -> Option<&str> {
        self.at("/request/headers/a2a-version").and_then(Value::as_str)
    }
}

/// JSON text of a value.
pub fn bytes(value: &Value) -> Vec<u8> {
    value.to_string().into_bytes()
}

pub fn parse(json: &[u8]) -> Value {
    serde_json::from_slice(json).unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(json)))
}

/// The value without members at their default, which count as absent, and with numbers by value.
pub fn normal(value: &Value) -> Value {
    match value {
        Value::Object(members) => {
            let members: Map<_, _> =
                members.iter().map(|(key, value)| (key.clone(), normal(value))).filter(|(_, value)| !is_default(value)).collect();
            Value::Object(members)
        }
        Value::Array(items) => items.iter().map(normal).collect(),
        Value::Number(number) => number.as_f64().map_or(Value::Null, Value::from),
        other => other.clone(),
    }
}

fn is_default(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Bool(flag) => !flag,
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(members) => members.is_empty(),
        Value::Number(_) => false,
    }
}

/// Compares every member, numbers by value.
#[track_caller]
pub fn assert_exact(name: &str, ours: &Value, golden: &Value) {
    fn by_value(value: &Value) -> Value {
        match value {
            Value::Object(members) => members.iter().map(|(key, value)| (key.clone(), by_value(value))).collect(),
            Value::Array(items) => items.iter().map(by_value).collect(),
            Value::Number(number) => number.as_f64().map_or(Value::Null, Value::from),
            other => other.clone(),
        }
    }
    assert!(by_value(ours) == by_value(golden), "{name}\n  ours:   {ours}\n  golden: {golden}");
}

/// Compares with absent and default members taken as equal.
#[track_caller]
pub fn assert_same(name: &str, ours: &Value, golden: &Value) {
    assert!(normal(ours) == normal(golden), "{name}\n  ours:   {ours}\n  golden: {golden}");
}

/// The canonical form of a request, as v1.0 JSON.
pub fn canonical_request(request: &Request) -> Value {
    parse(&Dialect::V1_0Strict.encode_request(request).unwrap())
}

/// The canonical form of a reply, as v1.0 JSON.
pub fn canonical_reply(reply: &Reply) -> Value {
    parse(&Dialect::V1_0Strict.encode_reply(reply).unwrap())
}

/// The request of a vector: read as the server reads it, with the dialect that was detected.
pub fn read_request(vector: &Vector) -> (Dialect, Operation, Request) {
    read_request_as(vector, None)
}

/// As [`read_request`], but in the given dialect, whatever was detected.
pub fn read_request_as(vector: &Vector, dialect: Option<Dialect>) -> (Dialect, Operation, Request) {
    let forced = dialect;
    let body = vector.request_body();
    match vector.binding() {
        "JSONRPC" => {
            let call = Call::parse(&body).unwrap_or_else(|refused| panic!("{}: {:?}", vector.name, refused.error));
            let (spoken, operation) = version::of_rpc(&call.method, vector.version_header()).unwrap();
            let created_by = vector.text("/protocol").starts_with("0.1").then_some(chancery_core::Version::V0_1);
            let dialect = forced.or(Dialect::of(spoken.resolve(created_by), chancery_core::Binding::JsonRpc)).unwrap();
            let request = dialect.request(operation, call.params(), &Limits::default());
            (dialect, operation, request.unwrap_or_else(|error| panic!("{}: {error:?}", vector.name)))
        }
        "HTTP+JSON" => {
            let target = vector.text("/request/target");
            let (path, query) = target.split_once('?').unwrap_or((target, ""));
            let route = Route::find(vector.text("/request/method"), path, vector.version_header(), false).unwrap().unwrap();
            let dialect = match forced.or(Dialect::of(route.version, chancery_core::Binding::HttpJson)).unwrap() {
                Dialect::V0_3Rest => rest::v0_3_shape(&body),
                other => other,
            };
            let request = route.request(dialect, query, &body, &Limits::default());
            (dialect, route.operation, request.unwrap_or_else(|error| panic!("{}: {error:?}", vector.name)))
        }
        other => panic!("{}: no request in binding {other}", vector.name),
    }
}

/// Runs one exchange in all four directions and compares with what the vector says:
/// the request decoded (`v1.request`) and encoded again, the answer or the events decoded
/// (`v1.response`, `v1.events`) and encoded again, the error decoded and encoded again.
///
/// `request_again` is false where the golden request is a form that is read but never written.
pub fn exchange(vector: &Vector, request_again: bool) {
    exchange_as(vector, None, request_again);
}

/// As [`exchange`], but in the given dialect, whatever was detected.
pub fn exchange_as(vector: &Vector, dialect: Option<Dialect>, request_again: bool) {
    let name = &vector.name;
    let (dialect, operation, request) = read_request_as(vector, dialect);
    if let Some(golden) = vector.at("/v1/request") {
        assert_same(name, &canonical_request(&request), golden);
    }
    let rpc = vector.binding() == "JSONRPC";
    if request_again && let Some(golden) = vector.at(if rpc { "/request/body/params" } else { "/request/body" }) {
        assert_exact(name, &parse(&dialect.encode_request(&request).unwrap()), golden);
    }
    if let Some(Value::Array(events)) = vector.at("/response/events") {
        return events_both_ways(vector, dialect, events);
    }
    let Some(body) = vector.at("/response/body") else { return };
    let status = vector.at("/response/status").and_then(Value::as_u64).unwrap_or(200);
    if rpc {
        let body = bytes(body);
        match Response::parse(&body).unwrap().outcome {
            Ok(result) => reply_both_ways(vector, dialect, operation, result),
            Err(error) => assert_exact(name, &parse(&dialect.encode_rpc_error(&dialect.decode_rpc_error(error)).unwrap()), &parse(error)),
        }
    } else if status >= 400 {
        let status = u16::try_from(status).unwrap();
        let (again, json) = dialect.encode_http_error(&dialect.decode_http_error(status, &bytes(body))).unwrap();
        assert_exact(name, &parse(&json), body);
        assert_eq!(again, status, "{name}");
    } else {
        reply_both_ways(vector, dialect, operation, &bytes(body));
    }
}

fn reply_both_ways(vector: &Vector, dialect: Dialect, operation: Operation, result: &[u8]) {
    let reply = dialect.decode_reply(operation, result).unwrap_or_else(|error| panic!("{}: {error:?}", vector.name));
    if let Some(golden) = vector.at("/v1/response") {
        assert_same(&vector.name, &canonical_reply(&reply), golden);
    }
    assert_exact(&vector.name, &parse(&dialect.encode_reply(&reply).unwrap()), &parse(result));
}

fn events_both_ways(vector: &Vector, dialect: Dialect, events: &[Value]) {
    let mut reading = StreamMemory::default();
    let mut writing = StreamMemory::default();
    let mut decoded = Vec::new();
    for element in events {
        let text = bytes(element);
        let payload = match (vector.binding(), Response::parse(&text)) {
            ("JSONRPC", Ok(response)) => match response.outcome {
                Ok(result) => result.to_vec(),
                Err(error) => {
                    assert_exact(&vector.name, &parse(&dialect.encode_rpc_error(&dialect.decode_rpc_error(error)).unwrap()), &parse(error));
                    continue;
                }
            },
            ("HTTP+JSON", _) if element.get("error").is_some() => {
                let status = u16::try_from(element["error"]["code"].as_u64().unwrap()).unwrap();
                let again = dialect.encode_http_error(&dialect.decode_http_error(status, &text)).unwrap();
                assert_exact(&vector.name, &parse(&again.1), element);
                continue;
            }
            _ => text.clone(),
        };
        for event in dialect.decode_event(&payload, &mut reading).unwrap_or_else(|error| panic!("{}: {error:?}", vector.name)) {
            let again = dialect.encode_event(&event, &mut writing).unwrap();
            assert_eq!(again.len(), 1, "{}", vector.name);
            assert_exact(&vector.name, &parse(&again[0]), &parse(&payload));
            decoded.push(serde_json::to_value(&event).unwrap());
        }
    }
    if let Some(golden) = vector.at("/v1/events") {
        assert_same(&vector.name, &Value::Array(decoded), golden);
    }
}
