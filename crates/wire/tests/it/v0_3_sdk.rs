//! The released SDKs of v0.3 read what we write in the protobuf shape, and we read what they write:
//! as JSON over HTTP+JSON, and as protobuf over gRPC.
//!
//! Messages with references to other tasks are left out for all of them: Python's HTTP+JSON refuses
//! the member, and neither SDK has the field.

use chancery_core::{Card, Event, Operation, Reply, Request, SecurityScheme, security::OAuthFlow};
use chancery_wire::{Dialect, grpc::v0_3, proto::a2a_v1::AgentCard};
use prost::Message as _;
use serde_json::{Value, json};

use crate::{
    generate::Generator,
    interop::{Trial, each_object},
    sdk::Peer,
    v0_3_grpc::{carried, read_event, read_reply, read_request, write_event, write_reply, write_request},
    vector::{bytes, canonical_reply, canonical_request, normal},
};

/// What v0.3 has no place for in this shape.
fn fit(value: &mut Value) {
    each_object(value, &|members| {
        members.remove("tenant");
        members.remove("referenceTaskIds");
        if members.get("historyLength") == Some(&json!(0)) {
            members.remove("historyLength");
        }
        if members.contains_key("id") && members.keys().all(|name| name == "id" || name == "metadata") {
            members.remove("metadata");
        }
    });
}

/// Python forgets the times of states.
fn python(value: &mut Value) {
    fit(value);
    each_object(value, &|members| {
        if members.contains_key("state") {
            members.remove("timestamp");
        }
    });
}

/// JavaScript forgets more: all of a part but its content and the type of a file, the length of the
/// history, pages, which chunks belong together, the extensions of artifacts. Before 1970 its protobuf
/// times have negative fractions, which are none.
fn javascript(value: &mut Value) {
    fit(value);
    each_object(value, &|members| {
        for name in ["historyLength", "pageSize", "pageToken", "append", "lastChunk"] {
            members.remove(name);
        }
        if members.contains_key("artifactId") {
            members.remove("extensions");
        }
        if members.get("timestamp").and_then(Value::as_str).is_some_and(|time| time < "1970") {
            members.remove("timestamp");
        }
        for part in members.get_mut("parts").and_then(Value::as_array_mut).into_iter().flatten().filter_map(Value::as_object_mut) {
            part.remove("metadata");
            part.remove("filename");
            if part.contains_key("text") || part.contains_key("data") {
                part.remove("mediaType");
            }
            if part.get("data").is_some_and(|data| !data.is_object()) {
                part.insert("data".to_owned(), json!({"not": "an object"}));
            }
        }
    });
}

fn no_nulls(value: &mut Value) {
    match value {
        Value::Null => *value = json!("null"),
        Value::Array(items) => items.iter_mut().for_each(no_nulls),
        Value::Object(members) => members.values_mut().for_each(no_nulls),
        _ => {}
    }
}

#[test]
fn python_0_3_26_and_we_read_each_other_over_http_json() {
    Trial { sdk: "py-0.3.26", prefix: "rest/", dialect: Dialect::V0_3Rest, fit: python }.run();
}

#[test]
fn javascript_0_3_14_and_we_read_each_other_over_http_json() {
    Trial { sdk: "js-0.3.14", prefix: "rest/", dialect: Dialect::V0_3Rest, fit: javascript }.run();
}

#[test]
fn python_0_3_26_and_we_read_each_other_over_grpc() {
    grpc("py-0.3.26", python);
}

#[test]
fn javascript_0_3_14_and_we_read_each_other_over_grpc() {
    // Its protobuf types take the null inside free objects for the number 0.
    grpc("js-0.3.14", |value| {
        javascript(value);
        no_nulls(value);
    });
}

#[test]
fn python_0_3_26_reads_our_cards_over_grpc() {
    cards("py-0.3.26", |card| {
        // The fields came late, and its converter does not know them.
        card.icon_url = None;
        card.skills.iter_mut().for_each(|skill| skill.security_requirements.clear());
        for scheme in card.security_schemes.values_mut() {
            if let SecurityScheme::OAuth2(scheme) = scheme {
                scheme.metadata_url.clear();
            }
        }
    });
}

#[test]
fn javascript_0_3_14_reads_our_cards_over_grpc() {
    cards("js-0.3.14", |card| card.icon_url = None);
}

/// Passes generated cards through an SDK. What v0.3 cannot say is gone before.
fn cards(sdk: &str, fit: fn(&mut Card)) {
    let Some(mut peer) = Peer::start(sdk) else { return };
    for case in 0..40 {
        let mut card = serde_json::to_value(Generator::new(case).card()).unwrap();
        no_nulls(&mut card);
        let mut card: Card = serde_json::from_value(card).unwrap();
        // Without a flow, JavaScript refuses the card and Python takes it for the password flow.
        let device =
            |scheme: &SecurityScheme| matches!(scheme, SecurityScheme::OAuth2(scheme) if matches!(scheme.flows, OAuthFlow::DeviceCode(_)));
        card.security_schemes.retain(|_, scheme| !device(scheme));
        fit(&mut card);
        let ours = v0_3::card_to_proto(&card);
        let theirs = peer.pass_bytes("pb/AgentCard", &ours.encode_to_vec()).unwrap_or_else(|error| panic!("{sdk} case {case}: {error}"));
        let theirs = AgentCard::decode(theirs.as_slice()).unwrap();
        let [theirs, ours] = [theirs, ours].map(|wire| serde_json::to_value(v0_3::card_from_proto(wire).unwrap()).unwrap());
        assert!(normal(&theirs) == normal(&ours), "{sdk} case {case}\n  theirs: {theirs}\n  ours:   {ours}");
    }
}

/// Passes generated messages through an SDK's own client and server and compares what comes back.
fn grpc(sdk: &str, fit: fn(&mut Value)) {
    let Some(mut peer) = Peer::start(sdk) else { return };
    let mut passed = 0;
    let mut pass = |case: u64, message: &str, ours: &[u8]| -> Option<Vec<u8>> {
        let kind = format!("pb/{message}");
        passed += usize::from(peer.knows(&kind));
        let theirs = peer.knows(&kind).then(|| peer.pass_bytes(&kind, ours));
        theirs.map(|theirs| theirs.unwrap_or_else(|error| panic!("{sdk} case {case} refuses our {kind}: {error}")))
    };
    for case in 0..40 {
        let mut make = Generator::new(case);
        for operation in Operation::ALL {
            let request = fitting_request(operation, &make.request(operation), fit);
            let (message, ours) = write_request(&request);
            if let Some(theirs) = pass(case, message, &ours) {
                let read = read_request(operation, &theirs).unwrap();
                compare(&format!("{sdk} case {case} {message}"), canonical_request(&read), canonical_request(&request), fit);
            }
            if operation.is_streaming() || operation == Operation::GetExtendedCard {
                continue;
            }
            let reply = fitting_reply(operation, &make.reply(operation), fit);
            let (message, ours) = write_reply(&reply);
            if let Some(theirs) = pass(case, message, &ours) {
                let read = read_reply(operation, &theirs).unwrap();
                compare(&format!("{sdk} case {case} {message}"), canonical_reply(&read), canonical_reply(&reply), fit);
            }
        }
        for event in make.stream() {
            let mut canonical = serde_json::to_value(&event).unwrap();
            fit(&mut canonical);
            let event: Event = serde_json::from_value(canonical.clone()).unwrap();
            let theirs = pass(case, "StreamResponse", &write_event(&event)).unwrap();
            let read = serde_json::to_value(read_event(&theirs).unwrap()).unwrap();
            compare(&format!("{sdk} case {case} StreamResponse"), read, canonical, fit);
        }
    }
    assert!(passed > 300, "{sdk}: only {passed} messages passed through");
}

fn fitting_request(operation: Operation, request: &Request, fit: fn(&mut Value)) -> Request {
    let mut canonical = canonical_request(request);
    fit(&mut canonical);
    let mut request = Dialect::V1_0Strict.decode_request(operation, &bytes(&canonical)).unwrap();
    carried(&mut request);
    request
}

fn fitting_reply(operation: Operation, reply: &Reply, fit: fn(&mut Value)) -> Reply {
    let mut canonical = canonical_reply(reply);
    fit(&mut canonical);
    Dialect::V1_0Strict.decode_reply(operation, &bytes(&canonical)).unwrap()
}

#[track_caller]
fn compare(name: &str, mut theirs: Value, mut ours: Value, fit: fn(&mut Value)) {
    fit(&mut theirs);
    fit(&mut ours);
    assert!(normal(&theirs) == normal(&ours), "{name}\n  theirs: {theirs}\n  ours:   {ours}");
}
