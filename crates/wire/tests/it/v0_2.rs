//! v0.2 over JSON-RPC: the code of v0.3 with its own origin, card and client defaults.

use chancery_core::{Binding, ErrorKind, Limits, Message, Operation, Reply, Request, SendMessage, Version};
use chancery_wire::{
    Dialect, card,
    jsonrpc::{Call, Response},
    methods, version,
};
use serde_json::{Value, json};

use crate::{
    generate::Generator,
    v0_3::{explicit, request, whole_exchange},
    vector::{Vector, assert_exact, bytes, folder, one, parse, read_request},
};

/// The bad params are no exchange that can be written; `bad_params_are_refused_in_words_of_our_own`
/// reads them.
const APART: &str = "v0.2/error-params";

/// The same call from a client that says its version, which is how v0.2 is told from v0.3.
fn saying_its_version(vector: &Vector) -> Vector {
    let mut json = vector.json.clone();
    json["request"]["headers"]["a2a-version"] = json!("0.2");
    Vector { name: vector.name.clone(), json }
}

/// V02-VER-001, V02-SEND-002, V02-PUSHCFG-003, V02-PUSHCFG-004, V02-ERR-001, CONV-DET-003.
#[test]
fn every_exchange_is_read_and_written_with_and_without_a_version_header() {
    let mut ran = 0;
    for vector in folder("v0.2") {
        match vector.binding() {
            "JSONRPC" if vector.name != APART => {
                assert_eq!(read_request(&vector).0, Dialect::V0_3, "{}", vector.name);
                whole_exchange(&vector);
                let vector = saying_its_version(&vector);
                assert_eq!(read_request(&vector).0, Dialect::V0_2, "{}", vector.name);
                whole_exchange(&vector);
                ran += 1;
            }
            // Cards and the GET for the extended card are read by the tests of cards, webhook bodies
            // by those of webhooks.
            "JSONRPC" | "CARD" | "HTTP" | "WEBHOOK" => {}
            other => panic!("{}: nobody reads {other}", vector.name),
        }
    }
    assert!(ran >= 13, "only {ran} exchanges");
}

/// V02-ERR-002: Python answers without an id, and with -32600 for everything.
#[test]
fn bad_params_are_refused_in_words_of_our_own() {
    let vector = one(APART);
    let body = vector.request_body();
    let call = Call::parse(&body).unwrap();
    let (_, operation) = version::of_rpc(&call.method, Some("0.2")).unwrap();
    let error = Dialect::V0_2.request(operation, call.params(), &Limits::default()).unwrap_err();
    let ours = parse(&Dialect::V0_2.encode_rpc_error(&error).unwrap());
    let golden = vector.at("/response/body/error").unwrap();
    assert_eq!((&ours["code"], &ours["message"]), (&golden["code"], &golden["message"]));

    let seen = vector.at("/alsoSeen/0").unwrap();
    assert_eq!(seen["id"], "absent");
    let body = bytes(&json!({"jsonrpc": "2.0", "error": {"code": seen["code"], "message": "no", "data": [{"loc": ["x"]}]}}));
    let response = Response::parse(&body).unwrap();
    assert!(response.id.is_none());
    let error = Dialect::V0_2.decode_rpc_error(response.outcome.unwrap_err());
    assert_eq!((error.kind(), error.metadata()["legacyData"].as_str()), (ErrorKind::InvalidRequest, r#"[{"loc":["x"]}]"#));
}

/// V02-VER-002.
#[test]
fn a_client_always_says_what_it_accepts() {
    let send = Request::SendMessage(Box::new(SendMessage::new(Message::user("hi").id("m"))));
    let params = parse(&Dialect::V0_2.encode_request(&send).unwrap());
    assert_eq!(params["configuration"], json!({"acceptedOutputModes": [], "blocking": true}));
    let params = json!({"message": params["message"]});
    let golden = explicit(Dialect::V0_2, Operation::StreamMessage, &params);
    let stream = request(Dialect::V0_2, Operation::StreamMessage, &params);
    assert_exact("stream", &parse(&Dialect::V0_2.encode_request(&stream).unwrap()), &golden);
}

/// V02-OBJ-001, V02-PUSHCFG-001: before v0.2.2 a config has no id, in requests and in answers.
#[test]
fn a_config_of_an_older_peer_is_named_like_its_task() {
    let config = json!({"taskId": "t", "pushNotificationConfig": {"url": "https://c.example"}});
    let Request::CreatePushConfig(read) = request(Dialect::V0_2, Operation::CreatePushConfig, &config) else { panic!() };
    assert_eq!(read.id, "t");
    let Reply::PushConfig(read) = Dialect::V0_2.decode_reply(Operation::GetPushConfig, &bytes(&config)).unwrap() else { panic!() };
    assert_eq!(read.id, "t");
}

/// V02-EXTCARD-004.
#[test]
fn the_extended_card_is_no_method() {
    assert_eq!(methods::rpc_name(Version::V0_2, Operation::GetExtendedCard), None);
    let error = Dialect::V0_2.encode_request(&Request::GetExtendedCard(Default::default())).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::UnsupportedOperation);
    // Over its own path it is read and answered all the same.
    assert!(Dialect::V0_2.request(Operation::GetExtendedCard, b"{}", &Limits::default()).is_ok());
    let card = Generator::new(1).card();
    let json: Value = parse(&Dialect::V0_2.encode_reply(&Reply::Card(Box::new(card.clone()))).unwrap());
    assert_eq!(json, serde_json::to_value(card::v0_2(&card)).unwrap());
}

/// V02-VER-001.
#[test]
fn v0_2_is_spoken_over_json_rpc_only() {
    assert_eq!(Dialect::of(Version::V0_2, Binding::JsonRpc), Some(Dialect::V0_2));
    assert_eq!(Dialect::of(Version::V0_2, Binding::Grpc), None);
}
