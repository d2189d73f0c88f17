//! What is written where: addresses, members of several versions side by side, dialects.

use std::collections::BTreeSet;

use chancery_core::{Binding, Card, Extension, Interface, Signature, Version, extension, json::to_base64};
use serde_json::{Value, json};

use super::{AGENT_JSON, COMPACT, MERGED, SNAKE, V0_2, V0_3, V0_3_REST, golden, read, tide_desk, value};

/// The card of the v1.0 reference that uses every feature, its interfaces of v1.0 first.
pub(super) fn every_feature() -> Card {
    serde_json::from_value(json!({
        "name": "Invoice checker", "description": "Checks invoices for arithmetic and tax errors",
        "supportedInterfaces": [
            {"url": "agent.example:443", "protocolBinding": "GRPC", "tenant": "acme", "protocolVersion": "1.0"},
            {"url": "https://agent.example/rpc", "protocolBinding": "JSONRPC", "tenant": "acme", "protocolVersion": "1.0"},
            {"url": "wss://agent.example/ws", "protocolBinding": "https://agent.example/bindings/ws/v1", "protocolVersion": "1.0"},
            {"url": "https://agent.example/rpc", "protocolBinding": "JSONRPC", "protocolVersion": "0.3"},
        ],
        "provider": {"url": "https://acme.example", "organization": "Acme"}, "version": "4.2.0",
        "documentationUrl": "https://agent.example/docs", "iconUrl": "https://agent.example/icon.svg",
        "capabilities": {"streaming": true, "pushNotifications": true, "extendedAgentCard": true, "extensions": [
            {"uri": "https://agent.example/ext/units/v1", "description": "Unit handling", "params": {"units": ["EUR", "USD"]}},
            {"uri": "https://agent.example/ext/signing/v1", "description": "Signed messages", "required": true},
        ]},
        "securitySchemes": {
            "key": {"apiKeySecurityScheme": {"location": "header", "name": "X-API-Key"}},
            "bearer": {"httpAuthSecurityScheme": {"scheme": "Bearer", "bearerFormat": "JWT"}},
            "oauth": {"oauth2SecurityScheme": {"flows": {"authorizationCode": {
                "authorizationUrl": "https://id.example/authorize", "tokenUrl": "https://id.example/token",
                "scopes": {"invoices.read": "Read invoices"}, "pkceRequired": true,
            }}, "oauth2MetadataUrl": "https://id.example/.well-known/oauth-authorization-server"}},
            "device": {"oauth2SecurityScheme": {"flows": {"deviceCode": {
                "deviceAuthorizationUrl": "https://id.example/device", "tokenUrl": "https://id.example/token",
                "scopes": {"invoices.read": "Read invoices"},
            }}}},
            "oidc": {"openIdConnectSecurityScheme": {"openIdConnectUrl": "https://id.example/.well-known/openid-configuration"}},
            "mtls": {"mtlsSecurityScheme": {"description": "Client certificate of the Acme CA"}},
        },
        "securityRequirements": [
            {"schemes": {"oauth": {"list": ["invoices.read"]}}},
            {"schemes": {"key": {"list": []}, "mtls": {"list": []}}},
        ],
        "defaultInputModes": ["text/plain", "application/pdf"], "defaultOutputModes": ["text/plain", "application/json"],
        "skills": [{
            "id": "check", "name": "Check one invoice", "description": "Finds arithmetic errors", "tags": ["invoice"],
            "examples": ["Check invoice 42"], "inputModes": ["application/pdf"], "outputModes": ["application/json"],
            "securityRequirements": [{"schemes": {"oauth": {"list": ["invoices.read"]}}}],
        }],
    }))
    .unwrap()
}

/// CONV-CARD-001, V03-CARD-010: readers of v1.0 take their members from the merged card, and what
/// is left for readers of v0.3 is the v0.3 card.
#[test]
fn each_reader_finds_its_own_card_in_the_merged_one() {
    for card in [tide_desk(), every_feature()] {
        let merged = MERGED(&card);
        // A reader of v1.0 that ignores what it does not know.
        assert_eq!(serde_json::from_value::<Card>(merged.clone()).unwrap(), card);
        assert_eq!(read(&merged), card);
        assert_eq!(v0_3_view(merged), V0_3(&card));
    }
}

/// A document without what readers of v0.3 do not know.
fn v0_3_view(mut json: Value) -> Value {
    let members = json.as_object_mut().unwrap();
    members.retain(|name, _| !["supportedInterfaces", "securityRequirements"].contains(&name.as_str()));
    members["capabilities"].as_object_mut().unwrap().remove("extendedAgentCard");
    for skill in members["skills"].as_array_mut().unwrap() {
        skill.as_object_mut().unwrap().remove("securityRequirements");
    }
    for scheme in members["securitySchemes"].as_object_mut().unwrap().values_mut() {
        let members = scheme.as_object_mut().unwrap();
        members.retain(|name, _| !name.ends_with("SecurityScheme"));
        if let Some(flows) = members.get_mut("flows").and_then(Value::as_object_mut) {
            flows.remove("deviceCode");
            flows.values_mut().for_each(|flow| drop(flow.as_object_mut().unwrap().remove("pkceRequired")));
        }
    }
    json
}

/// V03-REST-018: the answer over HTTP+JSON holds the JSON-RPC answer, with wrapped schemes added.
#[test]
fn the_rest_card_is_the_v0_3_card_with_wrapped_schemes() {
    for card in [tide_desk(), every_feature()] {
        let rest = V0_3_REST(&card);
        for (name, scheme) in rest["securitySchemes"].as_object().unwrap() {
            assert_eq!(scheme.as_object().unwrap().keys().filter(|name| name.ends_with("SecurityScheme")).count(), 1, "{name}");
        }
        assert_eq!(v0_3_view(rest), V0_3(&card));
    }
}

/// DIA-GEN-005, CONV-CARD-001, DIA-002-CARD-003: no document says a member in two spellings, and
/// only the one that is asked for in snake_case has such names.
#[test]
fn no_member_is_spelled_twice() {
    fn check(json: &Value) {
        match json {
            Value::Object(members) => {
                let names: BTreeSet<_> = members.keys().map(|name| name.replace('_', "").to_ascii_lowercase()).collect();
                assert_eq!(names.len(), members.len(), "{json}");
                members.values().for_each(check);
            }
            Value::Array(items) => items.iter().for_each(check),
            _ => {}
        }
    }
    for card in [tide_desk(), every_feature()] {
        for write in [MERGED, V0_3, V0_3_REST, V0_2, AGENT_JSON, COMPACT, SNAKE] {
            check(&write(&card));
        }
        let members = |json: Value| json.as_object().unwrap().keys().any(|name| name.contains('_'));
        assert!(!members(MERGED(&card)) && members(SNAKE(&card)));
    }
}

/// CONV-CARD-001: no name is repeated either; a map would hide it, the text does not.
#[test]
fn no_name_is_repeated() {
    for card in [tide_desk(), every_feature()] {
        let text = serde_json::to_string(&chancery_wire::card::merged(&card)).unwrap();
        assert_eq!(serde_json::from_str::<Value>(&text).unwrap().to_string().len(), text.len());
    }
}

/// CONV-CARD-002: a card for v1.0 alone says nothing to others; v1.0 comes first; a signed card is
/// left as it was signed.
#[test]
fn the_merged_card_speaks_to_those_who_can_come() {
    let mut card = Card::new("n", "d").interface("https://a", Binding::JsonRpc, Version::V1_0);
    assert_eq!(MERGED(&card), value(&card));
    card.supported_interfaces.insert(0, Interface::new("https://a/v1", "JSONRPC", "0.3"));
    let versions = |json: Value| {
        json["supportedInterfaces"]
            .as_array()
            .unwrap()
            .iter()
            .map(|found| found["protocolVersion"].as_str().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(versions(MERGED(&card)), ["1.0", "0.3"]);
    card.signatures.push(Signature::new("e30", "AA"));
    assert_eq!(versions(MERGED(&card)), ["0.3", "1.0"]);
    assert_eq!(MERGED(&card)["signatures"], json!([{"protected": "e30", "signature": "AA"}]));
}

/// CONV-CARD-002, V03-CARD-002, V03-CARD-008, V02-CARD-003: which interface is the `url`.
#[test]
fn the_url_is_json_rpc_where_there_is_one() {
    let list = |list: &[(&str, &str, &str)]| {
        let mut card = Card::new("n", "d");
        card.supported_interfaces = list.iter().map(|(url, binding, version)| Interface::new(*url, *binding, *version)).collect();
        card
    };
    let rest_first = list(&[("r3", "HTTP+JSON", "0.3"), ("j1", "JSONRPC", "1.0"), ("j3", "JSONRPC", "0.3.0"), ("k3", "JSONRPC", "0.3")]);
    let no_rpc = list(&[("g1", "GRPC", "1.0"), ("r3", "HTTP+JSON", "0.3"), ("g3", "GRPC", "0.3")]);
    let only_new = list(&[("r1", "HTTP+JSON", "1.0"), ("j1", "JSONRPC", "1.0")]);
    let only_new_rest = list(&[("r1", "HTTP+JSON", "1.0"), ("g1", "GRPC", "1.0")]);
    let with_v0_2 = list(&[("j3", "JSONRPC", "0.3"), ("j2", "JSONRPC", "0.2")]);
    for (card, v0_3, listed, v0_2) in [
        (&rest_first, ("j3", "JSONRPC"), vec!["r3", "j3", "k3"], ("j3", "JSONRPC")),
        (&no_rpc, ("r3", "HTTP+JSON"), vec!["r3", "g3"], ("g1", "GRPC")),
        (&only_new, ("j1", "JSONRPC"), vec!["j1"], ("j1", "JSONRPC")),
        (&only_new_rest, ("r1", "HTTP+JSON"), vec!["r1"], ("r1", "HTTP+JSON")),
        (&with_v0_2, ("j3", "JSONRPC"), vec!["j3"], ("j2", "JSONRPC")),
        (&Card::new("n", "d"), ("", "JSONRPC"), vec![], ("", "JSONRPC")),
    ] {
        let main = |json: &Value| (json["url"].as_str().unwrap().to_owned(), json["preferredTransport"].as_str().unwrap().to_owned());
        let urls = |json: &Value| {
            json["additionalInterfaces"]
                .as_array()
                .unwrap()
                .iter()
                .map(|found| found["url"].as_str().unwrap().to_owned())
                .collect::<Vec<_>>()
        };
        let written = V0_3(card);
        assert_eq!(main(&written), (v0_3.0.to_owned(), v0_3.1.to_owned()), "{card:?}");
        assert_eq!(urls(&written), listed, "{card:?}");
        assert_eq!(written["protocolVersion"], "0.3.0");
        let written = AGENT_JSON(card);
        assert_eq!(main(&written), (v0_2.0.to_owned(), v0_2.1.to_owned()), "{card:?}");
        assert_eq!(written["protocolVersion"], "0.2.6");
    }
}

/// V03-CARD-007, V02-CARD-002, V10-CARD-007, CONV-CARD-003: what clients refuse a card without is
/// there, however little the card says.
#[test]
fn required_members_are_always_written() {
    let mut card = Card::new("", "").skill("s", "").interface("https://a", Binding::JsonRpc, Version::V0_3);
    card.skills[0].tags.clear();
    for write in [MERGED, V0_3, V0_3_REST, V0_2, AGENT_JSON] {
        let json = write(&card);
        for name in [
            "name",
            "description",
            "url",
            "version",
            "capabilities",
            "defaultInputModes",
            "defaultOutputModes",
            "skills",
            "protocolVersion",
        ] {
            assert!(json.get(name).is_some(), "{name}: {json}");
        }
        for name in ["id", "name", "description", "tags"] {
            assert!(json["skills"][0].get(name).is_some(), "{name}: {json}");
        }
        for name in ["security", "securitySchemes", "signatures", "provider", "iconUrl", "supportsAuthenticatedExtendedCard"] {
            assert_eq!(json.get(name), None, "{name}: {json}");
        }
        assert_eq!(json["capabilities"]["stateTransitionHistory"], false);
    }
}

/// CONV-CARD-004, CONV-CARD-009: signatures go with v1.0 and v0.3, and v0.2 has none.
#[test]
fn signatures_are_not_for_v0_2() {
    let mut card = tide_desk();
    card.signatures = vec![Signature::new("e30", "AA"), Signature::new("e30", "BB")];
    for write in [MERGED, V0_3, V0_3_REST, SNAKE] {
        assert_eq!(write(&card)["signatures"].as_array().unwrap().len(), 2);
    }
    for write in [V0_2, AGENT_JSON] {
        assert_eq!(write(&card).get("signatures"), None);
    }
    // DIA-003-SIGN-001: the compact form has room for one.
    assert_eq!(COMPACT(&card)["signature"]["signature"], "AA");
}

/// DIA-002-CARD-001, DIA-002-CARD-004: snake_case but for capabilities, and the address of the keys
/// out of the signature's header.
#[test]
fn the_snake_case_card_names_its_keys() {
    let mut card = every_feature();
    let header = json!({"alg": "ES256", "kid": "k", "jku": "https://agent.example/jwks.json"});
    card.signatures = vec![Signature::new("%", "AA"), Signature::new(to_base64(header.to_string().as_bytes()), "AA")];
    let json = SNAKE(&card);
    assert_eq!(json["jwks_uri"], "https://agent.example/jwks.json");
    assert_eq!(json["capabilities"]["extendedAgentCard"], true);
    assert_eq!(
        json["supported_interfaces"][0],
        json!({"url": "agent.example:443", "protocol_binding": "GRPC", "tenant": "acme", "protocol_version": "1.0"})
    );
    assert_eq!(read(&json), card);
}

/// DIA-003-CARD-001, DIA-003-CARD-002: the one interface of the compact form.
#[test]
fn the_compact_card_names_one_interface() {
    let of = |list: &[(&str, &str)]| {
        let mut card = Card::new("n", "d");
        card.supported_interfaces = list.iter().map(|(binding, version)| Interface::new("https://a", *binding, *version)).collect();
        COMPACT(&card)["interface"].clone()
    };
    for (list, protocol, version) in [
        (&[("GRPC", "1.0"), ("JSONRPC", "0.3"), ("JSONRPC", "1.0")][..], "json-rpc", "1.0"),
        (&[("JSONRPC", "0.3"), ("HTTP+JSON", "1.0"), ("GRPC", "1.0")], "http", "1.0"),
        (&[("GRPC", "1.0.0")], "grpc", "1.0.0"),
        (&[("https://a/ws", "0.3")], "https://a/ws", "0.3"),
    ] {
        assert_eq!(of(list), json!({"protocol": protocol, "endpoint": "https://a", "version": version}));
    }
    assert_eq!(of(&[]), Value::Null);
}

/// DIA-003-CARD-003: schemas of skills are members of the skills; those of others stay where they
/// are. `multiTurn` is always said.
#[test]
fn schemas_are_told_with_the_skills() {
    let golden = golden("dialect-003/card");
    let card = read(&golden);
    let schemas = card.capabilities.extensions.iter().find(|found| found.uri == extension::SKILL_SCHEMA).unwrap();
    assert!(!schemas.required);
    assert_eq!(schemas.params.as_ref().unwrap()["skills"]["departure-windows"]["inputSchema"], golden["skills"][0]["inputSchema"]);

    let foreign =
        Extension::new(extension::SKILL_SCHEMA).param("skills", json!({"echo": {"inputSchema": true}, "gone": {"outputSchema": {}}}));
    let card = Card::new("n", "d").skill("echo", "Echo").interface("https://a", Binding::JsonRpc, Version::V1_0).extension(foreign);
    let written = COMPACT(&card);
    assert_eq!(written["skills"][0]["inputSchema"], true);
    assert_eq!(written["extensions"][0]["uri"], extension::SKILL_SCHEMA);
    assert_eq!(written["capabilities"], json!({"multiTurn": true}));
    assert_eq!(read(&written), card);
}

/// DIA-003-CARD-001: what the compact form has no member for keeps its name of v1.0.
#[test]
fn the_compact_card_loses_only_interfaces() {
    let mut card = every_feature();
    let written = COMPACT(&card);
    assert_eq!(written["version"], "4.2.0");
    assert_eq!(written["skills"][0]["acceptedMimeTypes"], json!(["application/pdf"]));
    card.supported_interfaces = vec![card.supported_interfaces.remove(1)];
    assert_eq!(read(&written), card);
}
