//! Which interface of a card a client uses.

use chancery_core::{Binding, Card, ErrorKind, Interface, Version};
use chancery_wire::{
    card::{self, FoundAt},
    pick::{Choice, Speaks, candidates, candidates_of, choose},
};
use serde_json::{Value, json};

use crate::vector::{bytes, one};

const RPC: Binding = Binding::JsonRpc;
const REST: Binding = Binding::HttpJson;
const GRPC: Binding = Binding::Grpc;
const AT_CARD: FoundAt<'static> = FoundAt::AgentCardJson("https://a");
const AT_AGENT: FoundAt<'static> = FoundAt::AgentJson("https://a");

fn all() -> Speaks {
    Speaks::new([RPC, REST, GRPC])
}

/// The candidates as version, binding and url.
fn found(card: &Value, found_at: FoundAt<'_>, speaks: &Speaks) -> Vec<(Version, Binding, String)> {
    candidates(&bytes(card), found_at, speaks).unwrap().into_iter().map(|found| (found.version, found.binding, found.url)).collect()
}

fn interface(url: &str, binding: &str, version: &str) -> Value {
    json!({"url": url, "protocolBinding": binding, "protocolVersion": version})
}

#[track_caller]
fn check(card: Value, found_at: FoundAt<'_>, speaks: &Speaks, expected: &[(Version, Binding, &str)]) {
    let expected: Vec<_> = expected.iter().map(|(version, binding, url)| (*version, *binding, (*url).to_owned())).collect();
    assert_eq!(found(&card, found_at, speaks), expected, "{card}");
}

/// CONV-PICK-001, DIA-003-CARD-005, V10-SEL-003: every card of `detection/cards`.
#[test]
fn the_golden_cards_are_chosen_from_as_they_say() {
    let vector = one("detection/cards");
    let cases = vector.at("/cases").and_then(Value::as_array).unwrap();
    assert_eq!(cases.len(), 9);
    for case in cases {
        let expect = &case["expect"];
        let bindings = expect["clientBindings"]
            .as_array()
            .map(|names| names.iter().map(|name| Binding::from_name(name.as_str().unwrap()).unwrap()).collect());
        let speaks = Speaks::new(bindings.unwrap_or(vec![RPC, REST, GRPC]));
        let choice = choose(&bytes(&case["card"]), FoundAt::Elsewhere, &speaks).unwrap().unwrap();
        let version = if choice.version == Version::Compact { "dialect-003" } else { choice.version.as_str() };
        assert_eq!(version, expect["version"], "{case}");
        assert_eq!(choice.url, expect["url"].as_str().unwrap(), "{case}");
        if let Some(binding) = expect["binding"].as_str() {
            assert_eq!(choice.binding.as_str(), binding, "{case}");
        }
    }
}

/// V10-SEL-001, V10-SEL-002, V10-CARD-006: the first entry whose binding is spoken; one URL may be
/// there for several. The rest stays in order, for when the first cannot be reached.
#[test]
fn earlier_entries_come_first() {
    let card = json!({"supportedInterfaces": [
        interface("wss://a/ws", "https://a/bindings/ws", "1.0"),
        interface("a:443", "GRPC", "1.0"),
        interface("https://a", "HTTP+JSON", "1.0.1"),
        interface("https://a", "JSONRPC", "1.0"),
    ]});
    let (grpc, rest, rpc) = ((Version::V1_0, GRPC, "a:443"), (Version::V1_0, REST, "https://a"), (Version::V1_0, RPC, "https://a"));
    check(card.clone(), AT_CARD, &all(), &[grpc, rest, rpc]);
    check(card.clone(), AT_CARD, &Speaks::new([RPC, REST]), &[rest, rpc]);
    check(card.clone(), AT_CARD, &Speaks::new([RPC, REST]).in_own_order(), &[rpc, rest]);
    check(card, AT_CARD, &Speaks::new([]), &[]);
}

/// CONV-PICK-001 step 2: v1.0 before the highest other version; versions that we do not speak are
/// skipped.
#[test]
fn the_newest_version_comes_first_whatever_the_order() {
    let card = json!({"supportedInterfaces": [
        interface("https://a/2", "JSONRPC", "0.2.6"),
        interface("https://a/9", "JSONRPC", "2.0"),
        interface("https://a/3", "JSONRPC", "0.3"),
        interface("https://a/rest", "HTTP+JSON", "0.3.0"),
        interface("https://a/1", "JSONRPC", "1.0"),
    ]});
    let newest = (Version::V1_0, RPC, "https://a/1");
    let older = [(Version::V0_3, RPC, "https://a/3"), (Version::V0_3, REST, "https://a/rest"), (Version::V0_2, RPC, "https://a/2")];
    check(card, AT_CARD, &all(), &[newest, older[0], older[1], older[2]]);
}

/// CONV-PICK-002: nothing but the fixed version is offered.
#[test]
fn a_fixed_version_has_no_alternatives() {
    let card = json!({"supportedInterfaces": [interface("https://a/1", "JSONRPC", "1.0"), interface("https://a/3", "JSONRPC", "0.3")]});
    check(card.clone(), AT_CARD, &all().only(Version::V0_3), &[(Version::V0_3, RPC, "https://a/3")]);
    check(card, AT_CARD, &all().only(Version::V0_1), &[]);
}

/// CONV-PICK-001 step 2: an interface without a version.
#[test]
fn an_entry_without_a_version_is_v1_0_unless_the_card_is_older() {
    let entry = json!([{"url": "https://a/x", "protocolBinding": "JSONRPC"}]);
    for (card, version) in [
        (json!({"supportedInterfaces": entry}), Version::V1_0),
        (json!({"supportedInterfaces": entry, "protocolVersion": "0.3.0"}), Version::V1_0),
        (json!({"supportedInterfaces": entry, "url": "https://a/y"}), Version::V1_0),
        (json!({"supportedInterfaces": entry, "url": "https://a/y", "protocolVersion": "0.3.0"}), Version::V0_3),
    ] {
        check(card, AT_CARD, &all(), &[(version, RPC, "https://a/x")]);
    }
}

/// V10-SEL-004, V10-TEN-001, V03-CARD-012: exactly the tenant of the entry, or none.
#[test]
fn the_tenant_goes_with_the_entry() {
    let cards = [
        json!({"supportedInterfaces": [
            {"url": "https://a", "protocolBinding": "JSONRPC", "protocolVersion": "1.0", "tenant": "acme"},
            interface("https://a", "HTTP+JSON", "1.0"),
        ]}),
        json!({"url": "https://a", "protocolVersion": "0.3.0", "additionalInterfaces": [
            {"url": "https://a", "transport": "JSONRPC", "tenant": "acme"},
            {"url": "https://a/t", "transport": "HTTP+JSON"},
        ]}),
    ];
    for card in cards {
        let tenants: Vec<_> = candidates(&bytes(&card), AT_CARD, &all()).unwrap().into_iter().map(|choice| choice.tenant).collect();
        assert_eq!(tenants, ["acme", ""], "{card}");
    }
}

/// V03-CARD-014, V03-CARD-008: the preferred transport, else the others in order, each with its own
/// URL, which is left as it is written.
#[test]
fn a_v0_3_card_is_used_as_it_prefers() {
    let card = json!({"url": "https://a/base/", "protocolVersion": "0.3.0", "preferredTransport": "http+json", "additionalInterfaces": [
        {"url": "grpc.a:443", "transport": "GRPC"},
        {"url": "https://a/rpc", "transport": "jsonrpc"},
        {"url": "https://a/base/", "transport": "HTTP+JSON"},
    ]});
    let (rest, grpc, rpc) =
        ((Version::V0_3, REST, "https://a/base/"), (Version::V0_3, GRPC, "grpc.a:443"), (Version::V0_3, RPC, "https://a/rpc"));
    check(card.clone(), AT_CARD, &all(), &[rest, grpc, rpc]);
    check(card.clone(), AT_CARD, &Speaks::new([RPC]), &[rpc]);
    check(card.clone(), AT_CARD, &Speaks::new([RPC, GRPC]), &[grpc, rpc]);
    check(card, AT_CARD, &all().in_own_order(), &[rpc, rest, grpc]);
    check(json!({"url": "https://a", "protocolVersion": "0.3"}), AT_AGENT, &all(), &[(Version::V0_3, RPC, "https://a")]);
}

/// CONV-PICK-001 step 4, V02-CARD-003, V02-GRPC-001: v0.2 is JSON-RPC at `url`; other bindings are
/// those of v0.3, for who speaks no JSON-RPC. v0.1 has nothing else.
#[test]
fn before_v0_3_the_url_is_json_rpc() {
    let card = |version| {
        let additional = json!([{"url": "grpc.a:443", "transport": "GRPC"}, {"url": "https://a/rest", "transport": "HTTP+JSON"}]);
        json!({"url": "https://a/x", "protocolVersion": version, "preferredTransport": "GRPC", "additionalInterfaces": additional})
    };
    let (rpc, grpc, rest) =
        ((Version::V0_2, RPC, "https://a/x"), (Version::V0_3, GRPC, "grpc.a:443"), (Version::V0_3, REST, "https://a/rest"));
    check(card("0.2.6"), AT_AGENT, &all(), &[rpc, grpc, rest]);
    check(card("0.2.6"), AT_AGENT, &Speaks::new([GRPC, REST, RPC]).in_own_order(), &[rpc, grpc, rest]);
    check(card("0.2.6"), AT_AGENT, &Speaks::new([GRPC]), &[grpc]);
    check(card("0.1.0"), AT_AGENT, &all(), &[(Version::V0_1, RPC, "https://a/x")]);
    check(card("0.1.0"), AT_AGENT, &Speaks::new([GRPC]), &[]);
}

/// CONV-PICK-001 step 4: a card that does not say its version.
#[test]
fn an_unsaid_version_is_guessed_from_the_place_and_the_members() {
    let modes = json!(["text/plain"]);
    let skill = json!([{"id": "s", "name": "n", "description": "d", "tags": []}]);
    for (card, at, version) in [
        (json!({"url": "https://a", "defaultInputModes": modes, "skills": skill}), AT_CARD, Version::V0_3),
        (json!({"url": "https://a", "defaultInputModes": modes, "skills": skill}), AT_AGENT, Version::V0_2),
        (json!({"url": "https://a", "defaultInputModes": modes, "protocolVersion": "latest"}), AT_AGENT, Version::V0_2),
        (json!({"url": "https://a", "defaultInputModes": modes, "authentication": {"schemes": []}}), AT_CARD, Version::V0_1),
        (json!({"url": "https://a", "defaultInputModes": modes, "authentication": null}), AT_AGENT, Version::V0_2),
        (json!({"url": "https://a", "defaultInputModes": modes, "skills": [{"id": "s", "tags": []}]}), AT_AGENT, Version::V0_1),
        (json!({"url": "https://a", "defaultInputModes": modes, "skills": [{"id": "s", "description": ""}]}), AT_AGENT, Version::V0_1),
        (json!({"url": "https://a", "defaultInputModes": null}), AT_CARD, Version::V0_1),
    ] {
        let choice = choose(&bytes(&card), at, &all()).unwrap().unwrap();
        assert_eq!((choice.version, choice.guessed), (version, true), "{card}");
    }
    let said = choose(br#"{"url":"https://a","protocolVersion":"0.2.5"}"#, AT_CARD, &all()).unwrap().unwrap();
    assert_eq!((said.version, said.guessed), (Version::V0_2, false));
}

/// CONV-PICK-001 step 5.
#[test]
fn an_older_card_that_says_v1_0_is_v1_0() {
    for version in ["1.0", "1.0.0", "1", "1.2"] {
        let card = json!({"url": "https://a/x", "protocolVersion": version, "preferredTransport": "HTTP+JSON"});
        check(card, AT_CARD, &all(), &[(Version::V1_0, REST, "https://a/x")]);
    }
}

/// CONV-PICK-001 step 3, DIA-003-CARD-002, DIA-003-CARD-005: an object `interface` with an
/// `endpoint` is the compact form; anything else of that name means nothing.
#[test]
fn the_compact_form_is_known_by_its_interface() {
    let card = |interface: Value| json!({"interface": interface, "url": "https://a/x", "protocolVersion": "0.3.0"});
    for (protocol, binding) in [(json!("json-rpc"), RPC), (json!("http"), REST), (Value::Null, RPC)] {
        let interface = json!({"protocol": protocol, "endpoint": "https://a/c", "version": "1.0"});
        check(card(interface), AT_CARD, &all(), &[(Version::Compact, binding, "https://a/c")]);
    }
    // Its gRPC service has no numbers, so nobody can speak it.
    check(card(json!({"protocol": "grpc", "endpoint": "a:443"})), AT_CARD, &all(), &[]);
    for nothing in [json!("https://a/c"), json!({"protocol": "json-rpc"}), json!([1]), Value::Null] {
        check(card(nothing), AT_CARD, &all(), &[(Version::V0_3, RPC, "https://a/x")]);
    }
}

/// DIA-002-CARD-002: an agent that does not say where it is, is where its card is.
#[test]
fn without_any_address_the_base_of_the_card_is_the_endpoint() {
    let card = json!({"name": "Tide Desk", "supportedInterfaces": []});
    check(card.clone(), FoundAt::AgentCardJson("https://tide.example"), &all(), &[(Version::V1_0, RPC, "https://tide.example")]);
    check(card, FoundAt::Elsewhere, &all(), &[]);
    check(json!({"url": "", "protocolVersion": "0.3.0"}), FoundAt::Elsewhere, &all(), &[]);
}

/// CONV-PICK-001 step 6: what is tried once after a refusal of the first call.
#[test]
fn a_refused_first_call_is_tried_once_in_an_older_version() {
    let of = |card: Value, at| choose(&bytes(&card), at, &all()).unwrap().unwrap();
    let guessed = of(json!({"url": "https://a/x", "defaultInputModes": []}), AT_AGENT);
    let said = of(json!({"url": "https://a/x", "protocolVersion": "0.2.6"}), AT_AGENT);
    let v0_3 = of(json!({"url": "https://a/x", "defaultInputModes": []}), AT_CARD);
    let v1_0 = of(json!({"supportedInterfaces": [interface("https://a/x", "JSONRPC", "1.0")]}), AT_CARD);
    let rest = of(json!({"supportedInterfaces": [interface("https://a/x", "HTTP+JSON", "1.0")]}), AT_CARD);
    let older = |choice: &Choice, kind| choice.after(kind).map(|next| (next.version, next.url));
    let at = |version| Some((version, "https://a/x".to_owned()));
    for (choice, kind, expected) in [
        (&guessed, ErrorKind::MethodNotFound, at(Version::V0_1)),
        (&guessed, ErrorKind::InvalidRequest, at(Version::V0_1)),
        (&guessed, ErrorKind::InvalidParams, at(Version::V0_1)),
        (&guessed, ErrorKind::TaskNotFound, None),
        (&said, ErrorKind::MethodNotFound, at(Version::V0_1)),
        (&said, ErrorKind::InvalidRequest, None),
        (&v0_3, ErrorKind::MethodNotFound, at(Version::V0_1)),
        (&v0_3, ErrorKind::InvalidParams, None),
        (&v1_0, ErrorKind::MethodNotFound, at(Version::V0_3)),
        (&v1_0, ErrorKind::VersionNotSupported, None),
        (&rest, ErrorKind::MethodNotFound, None),
    ] {
        assert_eq!(older(choice, kind), expected, "{choice:?} {kind:?}");
    }
    assert_eq!(guessed.after(ErrorKind::MethodNotFound).unwrap().after(ErrorKind::MethodNotFound), None);
}

/// CONV-PICK-003: what we serve offers v1.0 and v0.3, so that clients of either find theirs.
#[test]
fn the_merged_card_offers_v1_0_and_v0_3() {
    let card = Card::new("Echo", "Repeats").interface("https://a/rpc", RPC, Version::V0_3).interface("https://a/rpc", RPC, Version::V1_0);
    let merged = serde_json::to_value(card::merged(&card)).unwrap();
    check(merged.clone(), AT_CARD, &all(), &[(Version::V1_0, RPC, "https://a/rpc"), (Version::V0_3, RPC, "https://a/rpc")]);
    // A client that knows nothing of v1.0 looks at the older members.
    let mut older = merged;
    older.as_object_mut().unwrap().remove("supportedInterfaces");
    check(older, AT_CARD, &all(), &[(Version::V0_3, RPC, "https://a/rpc")]);
}

/// V10-SEL-001: a card in hand is chosen from in the same way.
#[test]
fn a_card_that_was_read_gives_the_same_candidates() {
    let mut card = Card::new("Echo", "Repeats");
    card.supported_interfaces =
        vec![Interface::new("https://a/3", "JSONRPC", "0.3"), Interface::new("https://a/1", "jsonrpc", "1.0.0").tenant("t")];
    let json = serde_json::to_vec(&card).unwrap();
    assert_eq!(candidates_of(&card, &all()), candidates(&json, AT_CARD, &all()).unwrap());
    assert_eq!(candidates_of(&card, &all())[0].tenant, "t");
}

/// CONV-PICK-001: what cannot be read is an error, not a card without interfaces.
#[test]
fn a_card_that_cannot_be_read_is_an_error() {
    assert_eq!(choose(b"<html>", AT_CARD, &all()).unwrap_err().kind(), ErrorKind::Parse);
    let error = choose(br#"{"supportedInterfaces":[{"url":5}]}"#, AT_CARD, &all()).unwrap_err();
    assert_eq!(error.violations()[0].field, "supportedInterfaces[0].url");
    let error = choose(br#"{"url":"https://a","additionalInterfaces":{}}"#, AT_CARD, &all()).unwrap_err();
    assert_eq!(error.violations()[0].field, "additionalInterfaces");
}
