//! What changed between two cards.

use chancery_signing::{Document, diff};
use serde_json::{Value, json};

fn card() -> Value {
    json!({
        "name": "Clerk", "description": "Writes letters", "version": "1.0.0",
        "supportedInterfaces": [
            {"url": "https://clerk.example/rpc", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"},
            {"url": "clerk.example:443", "protocolBinding": "GRPC", "protocolVersion": "1.0"}
        ],
        "capabilities": {"streaming": true, "extensions": [{"uri": "urn:x", "params": {"n": 1}}]},
        "securitySchemes": {
            "key": {"apiKeySecurityScheme": {"location": "header", "name": "X-Key"}},
            "oauth": {"oauth2SecurityScheme": {"flows": {"clientCredentials": {"tokenUrl": "https://auth.example/token", "scopes": {"read": "Reads"}}}}}
        },
        "securityRequirements": [{"schemes": {"key": {}}}, {"schemes": {"oauth": {"list": ["read"]}}}],
        "defaultInputModes": ["text/plain"], "defaultOutputModes": ["text/plain", "application/json"],
        "skills": [
            {"id": "write", "name": "Write", "description": "Writes", "tags": ["a", "b"]},
            {"id": "read", "name": "Read", "description": "Reads", "tags": ["c"], "outputModes": ["text/plain"]}
        ]
    })
}

/// The changes that a change of the card leads to, as lines.
fn changes(change: impl FnOnce(&mut Value)) -> Vec<String> {
    let mut after = card();
    change(&mut after);
    let documents = [card(), after].map(|card| Document::of(&card).unwrap());
    diff(&documents[0], &documents[1]).unwrap().iter().map(ToString::to_string).collect()
}

#[track_caller]
fn check(change: impl FnOnce(&mut Value), expected: &[&str]) {
    assert_eq!(changes(change), expected);
}

#[test]
fn order_and_defaults_mean_nothing() {
    check(
        |card| {
            for list in ["supportedInterfaces", "skills", "securityRequirements", "defaultOutputModes"] {
                card[list].as_array_mut().unwrap().reverse();
            }
            card["skills"][1]["tags"] = json!(["b", "a"]);
            card["skills"][0]["examples"] = json!([]);
            card["documentationUrl"] = json!("");
            card["capabilities"]["pushNotifications"] = json!(false);
            card["capabilities"]["extensions"][0]["params"]["n"] = json!(1.0);
            card["securityRequirements"][1]["schemes"]["key"] = json!({"list": []});
            card["url"] = json!("https://old.example");
            card["signatures"] = json!([{"protected": "", "signature": ""}]);
        },
        &[],
    );
}

#[test]
fn words_for_people_may_change() {
    check(
        |card| {
            card["description"] = json!("Writes all letters");
            card["iconUrl"] = json!("https://clerk.example/icon.png");
            card["skills"][0]["tags"] = json!(["a"]);
        },
        &[
            "Changed: description Writes letters -> Writes all letters",
            "Changed: skills[write].tags a, b -> a",
            "Added: iconUrl https://clerk.example/icon.png",
        ],
    );
}

#[test]
fn what_is_gone_breaks_and_what_is_new_does_not() {
    check(
        |card| {
            card["supportedInterfaces"][1] =
                json!({"url": "https://clerk.example", "protocolBinding": "HTTP+JSON", "protocolVersion": "1.0"});
            card["skills"][1] = json!({"id": "burn", "name": "Burn", "description": "Burns", "tags": ["d"]});
            card["capabilities"]["streaming"] = json!(false);
            card["capabilities"]["pushNotifications"] = json!(true);
        },
        &[
            "Removed: supportedInterfaces[1] GRPC 1.0 clerk.example:443 (breaking)",
            "Added: supportedInterfaces[1] HTTP+JSON 1.0 https://clerk.example",
            "Removed: capabilities.streaming true (breaking)",
            "Added: capabilities.pushNotifications true",
            "Removed: skills[read] Read (breaking)",
            "Added: skills[burn] Burn",
        ],
    );
}

#[test]
fn modes_are_compared_as_they_work() {
    check(
        |card| card["skills"][1]["outputModes"] = json!(["text/plain", "text/html"]),
        &["Changed: skills[read].outputModes text/plain -> text/plain, text/html"],
    );
    check(
        |card| card["skills"][1]["outputModes"] = json!(["text/html"]),
        &["Changed: skills[read].outputModes text/plain -> text/html (breaking)"],
    );
    // The card's own modes hold where a skill names none.
    check(|card| card["skills"][0]["inputModes"] = json!(["text/plain"]), &["Added: skills[write].inputModes text/plain"]);
    check(|card| card["skills"][0]["outputModes"] = json!(["text/plain"]), &["Added: skills[write].outputModes text/plain (breaking)"]);
    check(|card| card["defaultInputModes"] = json!([]), &["Removed: defaultInputModes text/plain (breaking)"]);
}

#[test]
fn extensions_break_when_they_become_required_or_go() {
    check(
        |card| card["capabilities"]["extensions"][0]["required"] = json!(true),
        &["Added: capabilities.extensions[urn:x].required true (breaking)"],
    );
    check(
        |card| card["capabilities"]["extensions"][0]["params"] = json!({"n": 2}),
        &[r#"Changed: capabilities.extensions[urn:x].params {"n":1} -> {"n":2}"#],
    );
    check(
        |card| card["capabilities"]["extensions"] = json!([]),
        &[r#"Removed: capabilities.extensions[urn:x] {"uri":"urn:x","params":{"n":1}} (breaking)"#],
    );
    let add = |required: bool| {
        let extension = json!({"uri": "urn:y", "required": required});
        changes(|card| card["capabilities"]["extensions"].as_array_mut().unwrap().push(extension))
    };
    assert_eq!(add(false), [r#"Added: capabilities.extensions[urn:y] {"uri":"urn:y"}"#]);
    assert_eq!(add(true), [r#"Added: capabilities.extensions[urn:y] {"uri":"urn:y","required":true} (breaking)"#]);
}

#[test]
fn schemes_break_when_they_are_others() {
    check(
        |card| card["securitySchemes"]["key"]["apiKeySecurityScheme"]["name"] = json!("X-Other"),
        &["Changed: securitySchemes[key].apiKeySecurityScheme.name X-Key -> X-Other (breaking)"],
    );
    check(
        |card| card["securitySchemes"]["key"]["apiKeySecurityScheme"]["description"] = json!("Ask us"),
        &["Added: securitySchemes[key].apiKeySecurityScheme.description Ask us"],
    );
    check(
        |card| card["securitySchemes"]["key"] = json!({"mtlsSecurityScheme": {}}),
        &["Removed: securitySchemes[key].apiKeySecurityScheme X-Key (breaking)", "Added: securitySchemes[key].mtlsSecurityScheme {}"],
    );
}

#[test]
fn requirements_break_when_somebody_no_longer_meets_them() {
    // requirements after, breaking
    let cases = [
        (json!([]), false),
        (json!([{"schemes": {"key": {}}}]), true),
        (json!([{"schemes": {"key": {}}}, {"schemes": {"oauth": {}}}]), false),
        (json!([{"schemes": {"key": {}}}, {"schemes": {"oauth": {"list": ["read", "write"]}}}]), true),
        (json!([{"schemes": {"key": {}}}, {"schemes": {"oauth": {"list": ["read"]}}}, {"schemes": {"mtls": {}}}]), false),
        (json!([{}]), false),
    ];
    for (requirements, breaking) in cases {
        let lines = changes(|card| card["securityRequirements"] = requirements.clone());
        assert_eq!((lines.len(), lines[0].ends_with("(breaking)")), (1, breaking), "{lines:?}");
    }
    let open = json!({"name": "Open"});
    let closed = json!({"name": "Open", "securityRequirements": [{"schemes": {"key": {}}}]});
    let [open, closed] = [open, closed].map(|card| Document::of(&card).unwrap());
    assert!(diff(&open, &closed).unwrap()[0].breaking);
    assert!(!diff(&closed, &open).unwrap()[0].breaking);
}
