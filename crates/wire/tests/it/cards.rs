//! Cards of every version: the golden ones, what is read, what is written.

mod round_trip;
mod sdk;
mod security;
mod writing;

use std::collections::BTreeSet;

use chancery_core::{
    Binding, Card, ErrorKind, Interface, Operation, SecurityRequirement, SecurityScheme, Skill, Version, security::HttpAuthScheme,
};
use chancery_wire::{
    card::{self, FoundAt},
    pick,
    rest::Route,
};
use serde::Serialize;
use serde_json::{Value, json};

use crate::vector::{Vector, assert_exact, assert_same, bytes, folder, one};

/// Writes a card in one form.
type Writer = fn(&Card) -> Value;

fn value(document: impl Serialize) -> Value {
    serde_json::to_value(document).unwrap()
}

const MERGED: Writer = |card| value(card::merged(card));
const V0_3: Writer = |card| value(card::v0_3(card));
const V0_3_REST: Writer = |card| value(card::v0_3_rest(card));
const V0_2: Writer = |card| value(card::v0_2(card));
const AGENT_JSON: Writer = |card| value(card::agent_json(card));
const SNAKE: Writer = |card| value(card::snake(card));
const COMPACT: Writer = |card| value(card::compact(card, "tide-desk"));

fn read(json: &Value) -> Card {
    card::read(&bytes(json)).unwrap_or_else(|error| panic!("{error}: {json}"))
}

/// The card that all golden cards describe, with its interfaces of all versions.
fn tide_desk() -> Card {
    serde_json::from_value(one("conversion/card").json["v1.0"].clone()).unwrap()
}

/// The same with the v0.3 interfaces only.
fn tide_desk_v0_3() -> Card {
    let mut card = tide_desk();
    card.supported_interfaces.retain(|interface| interface.protocol_version == "0.3");
    card
}

/// What v0.2 can say of it.
fn tide_desk_v0_2() -> Card {
    let mut card = tide_desk();
    card.supported_interfaces = vec![Interface::new("https://tide.example/a2a", "JSONRPC", "0.2")];
    card.security_schemes.remove("mtls");
    card.security_requirements.retain(|requirement| !requirement.schemes.contains_key("mtls"));
    if let Some(SecurityScheme::OAuth2(oauth)) = card.security_schemes.get_mut("oauth") {
        oauth.metadata_url.clear();
    }
    card.skills[0].security_requirements.clear();
    card
}

/// What v0.1 can say of it.
fn tide_desk_v0_1() -> Card {
    let mut card = tide_desk_v0_2();
    card.supported_interfaces[0].protocol_version = "0.1".to_owned();
    card.icon_url = None;
    card.capabilities.extensions.clear();
    card.capabilities.extended_agent_card = None;
    let discovery = card.security_schemes.remove("oidc").unwrap();
    card.security_schemes.clear();
    card.security_schemes.insert("bearer".to_owned(), SecurityScheme::HttpAuth(HttpAuthScheme::new("Bearer", "")));
    card.security_schemes.insert("openIdConnect".to_owned(), discovery);
    card.security_requirements = vec![SecurityRequirement::new().and("bearer", [""; 0])];
    card
}

enum Form {
    /// Written by us just so.
    Written(Writer),
    /// Read only, and why.
    Read(&'static str),
    /// An error, which other tests read.
    NoCard,
}

/// Every golden card: where it stands in its file, and how it is written.
const GOLDEN: [(&str, &str, Form); 18] = [
    ("v0.3/card-hybrid", "/response/body", Form::Written(MERGED)),
    ("v0.3/card-v03", "/response/body", Form::Written(V0_3)),
    ("v0.3/card-proto-wrapped", "/response/body", Form::Read("V03-SEC-004: wrapped schemes alone break real clients")),
    ("v0.3/card-seed000", "/response/body", Form::Read("V03-SEC-004: wrapped schemes alone break real clients")),
    ("v0.3/grpc-agent-card", "/json", Form::Read("written as protobuf only; this JSON explains the bytes")),
    ("v0.3/jsonrpc-extended-card", "/response/body/result", Form::Written(V0_3)),
    ("v0.3/jsonrpc-extended-card-empty-params", "/response/body/result", Form::Written(V0_3)),
    ("v0.3/jsonrpc-extended-card-not-configured", "", Form::NoCard),
    ("v0.3/rest-card", "/response/body", Form::Written(V0_3_REST)),
    ("v0.2/card-agent-json", "/response/body", Form::Written(AGENT_JSON)),
    ("v0.2/card-minimal-0.2.0", "/response/body", Form::Read("we also say what 0.2.0 had no member for: version and interfaces")),
    ("v0.2/extended-card-get", "/response/body", Form::Written(V0_2)),
    ("v0.2/extended-card-get-missing", "", Form::NoCard),
    (
        "v0.1/card",
        "/response/body",
        Form::Read("agent.json serves v0.1 and v0.2 at once; see the_file_for_old_clients_holds_the_v0_1_card"),
    ),
    ("v0.1/card-seed004", "/response/body", Form::Read("V01-CARD-004: we write media types, not short words")),
    ("dialect-003/card", "/response/body", Form::Written(COMPACT)),
    ("dialect-003/rest-card", "/response/body", Form::Written(COMPACT)),
    ("dialect-002/card-snake", "/response/body", Form::Written(SNAKE)),
];

fn golden(name: &str) -> Value {
    let (_, pointer, _) = GOLDEN.iter().find(|(known, ..)| *known == name).unwrap();
    one(name).at(pointer).unwrap().clone()
}

/// CONV-CARD-010: none of the golden cards is left out here.
#[test]
fn every_golden_card_is_listed() {
    let is_card = |vector: &Vector| vector.name.contains("card");
    let folders = ["v0.1", "v0.2", "v0.3", "dialect-002", "dialect-003"];
    let found: BTreeSet<_> = folders.into_iter().flat_map(folder).filter(is_card).map(|vector| vector.name).collect();
    let known: BTreeSet<_> = GOLDEN.iter().map(|(name, ..)| (*name).to_owned()).collect();
    assert_eq!(found, known);
}

/// V03-CARD-002, V03-CARD-011, V03-SEC-001, V03-REST-018, V02-CARD-002, CONV-CARD-001, CONV-CARD-003, CONV-CARD-006, CONV-CARD-010, DIA-003-CARD-001, DIA-003-CARD-002,
/// DIA-003-CARD-003, DIA-003-REST-008, DIA-002-CARD-001: what is read from a golden card and
/// written again is the same card; forms that we do not write are the same card in one that we do.
#[test]
fn golden_cards_survive_reading_and_writing() {
    for (name, _, form) in &GOLDEN {
        let (json, write) = match form {
            Form::Written(write) => (golden(name), write),
            Form::Read(why) => {
                let card = read(&golden(name));
                assert_eq!(read(&V0_3_REST(&older(&card))), older(&card), "{name}, which is read only: {why}");
                continue;
            }
            Form::NoCard => continue,
        };
        let mut expected = json.clone();
        // DIA-002-CARD-004: the card is not signed, so v1.0 has no place for the address of its keys.
        expected.as_object_mut().unwrap().remove("jwks_uri");
        assert_exact(name, &write(&read(&json)), &expected);
    }
}

/// The card as one of v0.3, whatever version it came from.
fn older(card: &Card) -> Card {
    let mut card = card.clone();
    card.supported_interfaces.iter_mut().for_each(|interface| interface.protocol_version = "0.3".to_owned());
    card
}

/// V03-CARD-002, V03-CARD-011, V03-SEC-002, V02-CARD-002, V01-CARD-002, CONV-CARD-004,
/// CONV-CARD-010: each golden card is the canonical one, as far as its version can tell.
#[test]
fn golden_cards_are_read_as_the_canonical_card() {
    let mut minimal = tide_desk_v0_2();
    (minimal.security_schemes, minimal.security_requirements) = Default::default();
    (minimal.icon_url, minimal.provider, minimal.documentation_url) = (None, None, None);
    minimal.capabilities.extended_agent_card = None;
    let mut extended = tide_desk_v0_3();
    extended.skills.push(Skill::new("pilot-roster", "Who is on duty").named("Pilot roster").tags(["staff"]));
    let mut hosted = tide_desk_v0_3();
    hosted.supported_interfaces = vec![
        Interface::new("https://tide.example/a2a", "JSONRPC", "0.3"),
        Interface::new("https://tide.example/t/north", "HTTP+JSON", "0.3").tenant("north-harbour"),
    ];
    hosted.signatures = serde_json::from_value(golden("v0.3/card-seed000")["signatures"].clone()).unwrap();
    for (name, expected) in [
        ("v0.3/card-hybrid", tide_desk()),
        ("v0.3/card-v03", tide_desk_v0_3()),
        ("v0.3/card-proto-wrapped", tide_desk_v0_3()),
        ("v0.3/card-seed000", hosted),
        ("v0.3/grpc-agent-card", tide_desk_v0_3()),
        ("v0.3/jsonrpc-extended-card", extended),
        ("v0.3/jsonrpc-extended-card-empty-params", tide_desk_v0_3()),
        ("v0.3/rest-card", tide_desk_v0_3()),
        ("v0.2/card-agent-json", tide_desk_v0_2()),
        ("v0.2/card-minimal-0.2.0", minimal),
        ("v0.2/extended-card-get", tide_desk_v0_2()),
        ("v0.1/card", tide_desk_v0_1()),
    ] {
        assert_eq!(read(&golden(name)), expected, "{name}");
    }
}

/// CONV-CARD-010, V10-CARD-007: every golden v1.0 card is read as a reader of v1.0 alone reads it, and
/// the merged form says the same.
#[test]
fn golden_v1_0_cards_are_read_as_they_are() {
    let mut cards = 0;
    for vector in folder("v1.0").iter().filter(|vector| vector.name.contains("card")) {
        let places = ["/response/body/result", "/response/body", "/json"];
        let Some(json) = places.iter().find_map(|at| vector.at(at)).filter(|json| json.get("name").is_some()) else {
            assert!(vector.name.contains("not-configured") || vector.name.contains("request"), "{}", vector.name);
            continue;
        };
        let card: Card = serde_json::from_value(json.clone()).unwrap();
        assert_eq!(read(json), card, "{}", vector.name);
        let mut merged = read(&MERGED(&card));
        // CONV-CARD-002: in the merged form interfaces of v1.0 come first.
        let urls = |card: &Card| card.supported_interfaces.iter().map(|interface| interface.url.clone()).collect::<BTreeSet<_>>();
        assert_eq!(urls(&merged), urls(&card), "{}", vector.name);
        merged.supported_interfaces.clone_from(&card.supported_interfaces);
        assert_eq!(merged, card, "{}", vector.name);
        cards += 1;
    }
    assert!(cards >= 11, "only {cards} cards");
}

/// DIA-003-CARD-001, DIA-003-CARD-003, DIA-002-CARD-001, DIA-002-CARD-002: the canonical card that
/// the vectors of the dialects give.
#[test]
fn golden_cards_of_the_dialects_are_read_as_they_say() {
    for name in ["dialect-003/card", "dialect-002/card-snake"] {
        assert_same(name, &value(read(&golden(name))), one(name).at("/v1/card").unwrap());
    }
    assert_eq!(read(&golden("dialect-003/rest-card")), read(&golden("dialect-003/card")));
}

/// CONV-CARD-001, CONV-CARD-002, CONV-CARD-003, CONV-CARD-004: one card in all versions.
#[test]
fn the_canonical_card_is_written_in_every_version() {
    let all = one("conversion/card");
    let card = tide_desk();
    let members: BTreeSet<_> = all.json.as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(members, BTreeSet::from(["agent.json", "facts", "hybrid", "id", "title", "v0.1", "v0.3", "v1.0"]));
    assert_same("v1.0", &value(&card), &all.json["v1.0"]);
    for (form, write) in [("v0.3", V0_3), ("hybrid", MERGED), ("agent.json", AGENT_JSON)] {
        assert_exact(form, &write(&card), &all.json[form]);
    }
    for (form, expected) in
        [("v1.0", &card), ("hybrid", &card), ("v0.3", &tide_desk_v0_3()), ("agent.json", &tide_desk_v0_2()), ("v0.1", &tide_desk_v0_1())]
    {
        assert_eq!(read(&all.json[form]), *expected, "{form}");
    }
}

/// CONV-CARD-005, V01-CARD-006, V02-CARD-005: readers of v0.1 ignore what they do not know of
/// `agent.json`, and what is left is the golden v0.1 card.
#[test]
fn the_file_for_old_clients_holds_the_v0_1_card() {
    let mut json = AGENT_JSON(&tide_desk());
    let members = json.as_object_mut().unwrap();
    let known = ["name", "description", "url", "provider", "version", "documentationUrl", "capabilities", "authentication", "skills"];
    members.retain(|name, _| known.contains(&name.as_str()) || name.starts_with("default"));
    members["capabilities"].as_object_mut().unwrap().remove("extensions");
    assert_exact("v0.1", &json, &one("conversion/card").json["v0.1"]);
}

/// V01-CARD-004, V01-CARD-005: short words, and a discovery address as the hint.
#[test]
fn the_words_of_v0_1_are_understood() {
    let card = read(&golden("v0.1/card-seed004"));
    assert_eq!(card.default_input_modes, ["text/*", "*/*"]);
    assert_eq!(card.default_output_modes, ["text/*", "*/*"]);
    let SecurityScheme::OpenIdConnect(scheme) = &card.security_schemes["oauth2"] else { panic!("{:?}", card.security_schemes) };
    assert_eq!(scheme.open_id_connect_url, "https://login.example/.well-known/openid-configuration");
    assert_eq!(AGENT_JSON(&card)["authentication"], golden("v0.1/card-seed004")["authentication"]);
    let data = read(&json!({"url": "https://a", "skills": [{"id": "s", "inputModes": ["data"], "outputModes": ["image/png"]}]}));
    assert_eq!((data.skills[0].input_modes[0].as_str(), data.skills[0].output_modes[0].as_str()), ("application/json", "image/png"));
}

/// V01-CARD-002, V01-CARD-003: what v0.1 demands is enough, and the rest may be `null`.
#[test]
fn a_v0_1_card_may_leave_out_almost_everything() {
    let bare = json!({"name": "n", "url": "https://a", "version": "1", "capabilities": {}, "skills": [{"id": "s", "name": "n"}]});
    let nulls = json!({
        "name": "n", "description": null, "url": "https://a", "provider": null, "version": "1", "documentationUrl": null,
        "capabilities": {"streaming": null, "pushNotifications": null, "stateTransitionHistory": null},
        "authentication": null, "defaultInputModes": null, "defaultOutputModes": null,
        "skills": [{"id": "s", "name": "n", "description": null, "tags": null, "examples": null, "inputModes": null, "outputModes": null}],
    });
    let card = read(&bare);
    assert_eq!(card, read(&nulls));
    assert_eq!(card.supported_interfaces, [Interface::new("https://a", "JSONRPC", "0.1")]);
    assert_eq!((card.default_input_modes[0].as_str(), card.default_output_modes[0].as_str()), ("text/plain", "text/plain"));
    let provider = read(&json!({"url": "https://a", "provider": {"organization": "o", "url": null}})).provider.unwrap();
    assert_eq!((provider.organization.as_str(), provider.url.as_str()), ("o", ""));
}

/// V03-CARD-010, CONV-CARD-010: members of other versions and of nobody are ignored,
/// whatever they hold.
#[test]
fn unknown_members_are_ignored() {
    let mut json = value(tide_desk());
    let odd = json!([{"a": [null, 1.5]}, "x"]);
    for name in [
        "x-vendor",
        "interface",
        "authentication",
        "extensions",
        "signature",
        "supportsAuthenticatedExtendedCard",
        "protocolVersion",
        "url",
        "id",
    ] {
        json[name] = odd.clone();
    }
    json["skills"][0]["inputSchema"] = odd.clone();
    json["skills"][0]["acceptedMimeTypes"] = odd.clone();
    json["capabilities"]["multiTurn"] = odd.clone();
    json["securitySchemes"]["key"]["x-vendor"] = odd;
    assert_eq!(read(&json), tide_desk());
}

/// CONV-CARD-010: where old and new members contradict each other, v1.0 is right.
#[test]
fn members_of_v1_0_win() {
    let mut json = MERGED(&tide_desk());
    json["url"] = json!("https://old.example");
    json["protocolVersion"] = json!("0.2.6");
    json["preferredTransport"] = json!("GRPC");
    json["supportsAuthenticatedExtendedCard"] = json!(false);
    json["security"] = json!([]);
    json["skills"][0]["security"] = json!([{"bearer": []}]);
    json["securitySchemes"]["key"]["name"] = json!("X-Old-Key");
    json["authentication"] = json!({"schemes": ["Basic"]});
    assert_eq!(read(&json), tide_desk());
}

/// CONV-CARD-010: a member of the wrong type is named.
#[test]
fn a_wrong_member_is_named() {
    for (json, field) in [
        (json!({"name": 5}), "name"),
        (json!({"skills": [{"id": "a"}, {"tags": "x"}]}), "skills[1].tags"),
        (json!({"supported_interfaces": [{"url": []}]}), "supported_interfaces[0].url"),
        (json!({"capabilities": {"streaming": "yes"}}), "capabilities.streaming"),
        (json!({"securitySchemes": {"k": {"type": "apiKey", "in": "body"}}}), "securitySchemes.k.in"),
        (json!({"securitySchemes": {"k": {"apiKeySecurityScheme": {"location": 1}}}}), "securitySchemes.k.apiKeySecurityScheme.location"),
        (json!({"securitySchemes": {"k": {"mtlsSecurityScheme": {}, "httpAuthSecurityScheme": {}}}}), "securitySchemes.k"),
        (json!({"security": [{"k": "scope"}]}), "security[0]"),
        (json!({"url": "https://a", "authentication": {"schemes": 5}}), "authentication.schemes"),
        (json!({"url": "https://a", "skills": [{"description": "d"}, 5]}), "skills[1]"),
        (json!({"interface": {"endpoint": "https://a"}, "extensions": {}}), "extensions"),
        (json!([]), "params"),
    ] {
        let error = card::read(&bytes(&json)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidParams, "{json}");
        assert_eq!(error.violations()[0].field, field, "{json}: {error}");
    }
    assert_eq!(card::read(b"not json").unwrap_err().kind(), ErrorKind::Parse);
}

/// DIA-002-CARD-001: every v1.0 member may be written in snake_case.
#[test]
fn snake_case_names_are_read_everywhere() {
    fn snake(json: &Value, keep: bool) -> Value {
        let name = |name: &str| {
            name.chars()
                .map(|c| if c.is_ascii_uppercase() { format!("_{}", c.to_ascii_lowercase()) } else { c.to_string() })
                .collect::<String>()
        };
        match json {
            // The keys of these are names, not members.
            Value::Object(members) => members
                .iter()
                .map(|(key, value)| {
                    let names = ["securitySchemes", "schemes", "scopes", "params"].contains(&key.as_str());
                    (if keep { key.clone() } else { name(key) }, snake(value, names))
                })
                .collect(),
            Value::Array(items) => items.iter().map(|item| snake(item, false)).collect(),
            other => other.clone(),
        }
    }
    for card in [tide_desk(), writing::every_feature()] {
        assert_eq!(read(&snake(&value(&card), false)), card);
    }
    assert_eq!(read(&snake(&V0_3(&tide_desk()), false)), tide_desk_v0_3());
}

/// DIA-002-CARD-002: without a word about places there is no interface, unless it is known where
/// the card came from.
#[test]
fn a_card_without_places_is_where_it_was_found() {
    let json = bytes(&json!({"name": "Tide Desk", "version": "3.2.0"}));
    assert_eq!(card::read(&json).unwrap().supported_interfaces, []);
    let card = card::read_from(&json, FoundAt::AgentCardJson("https://tide.example")).unwrap();
    assert_eq!(card.supported_interfaces, [Interface::new("https://tide.example", "JSONRPC", "1.0")]);
}

/// CONV-PICK-001: the place also tells what a card without a version means.
#[test]
fn the_place_tells_the_version_of_a_card_that_does_not() {
    let json = bytes(&json!({"url": "https://a", "defaultInputModes": ["text/plain"]}));
    for (found_at, version) in [(FoundAt::AgentCardJson("https://a"), Version::V0_3), (FoundAt::AgentJson("https://a"), Version::V0_2)] {
        let card = card::read_from(&json, found_at).unwrap();
        assert_eq!(card.supported_interfaces, [Interface::new("https://a", "JSONRPC", version.as_str())]);
    }
}

/// V03-CARD-012: a tenant stands beside the address, for the main interface in its second mention.
/// The same address with and without a tenant are two interfaces.
#[test]
fn tenants_of_v0_3_interfaces_are_kept() {
    let mut card = tide_desk_v0_3();
    card.supported_interfaces = vec![
        Interface::new("https://a", "JSONRPC", "0.3").tenant("north"),
        Interface::new("https://a", "JSONRPC", "0.3"),
        Interface::new("https://a", "HTTP+JSON", "0.3").tenant("south"),
    ];
    assert_eq!(read(&V0_3(&card)), card);
}

/// DIA-003-SIGN-001: only a JWS is a signature.
#[test]
fn a_bare_hash_is_no_signature() {
    let with = |signature: Value| read(&json!({"interface": {"endpoint": "https://a"}, "signature": signature})).signatures;
    for nothing in
        [json!("c2hh"), json!({"algorithm": "sha256", "hash": "c2hh"}), json!({"protected": "", "signature": "c2hh"}), Value::Null]
    {
        assert_eq!(with(nothing), []);
    }
    assert_eq!(with(json!({"protected": "eyJ9", "signature": "AAAA"})).len(), 1);
}

/// DIA-003-CARD-004, V03-CARD-015, V02-EXTCARD-001: each version asks for the extended card at a path
/// of its own, and the compact form is never taken for v1.0 where it is found.
#[test]
fn each_version_has_its_own_path_to_the_extended_card() {
    for (path, version) in
        [("/compact/agent-card", Version::Compact), ("/v1/card", Version::V0_3), ("/agent/authenticatedExtendedCard", Version::V0_2)]
    {
        let route = Route::find("GET", path, None, false).unwrap().unwrap();
        assert_eq!((route.version, route.operation), (version, Operation::GetExtendedCard), "{path}");
    }
    assert!(Route::find("GET", "/compact/.well-known/agent-card.json", None, false).unwrap().is_none());
    let json = bytes(&golden("dialect-003/card"));
    let found_at = FoundAt::AgentCardJson("https://tide.example/compact");
    let choice = pick::choose(&json, found_at, &pick::Speaks::new([Binding::JsonRpc])).unwrap().unwrap();
    assert_eq!((choice.version, choice.url.as_str()), (Version::Compact, "https://tide.example/compact/rpc"));
}
