//! What makes objects of the protocol valid (v1.0 data model, section 4).

use chancery_core::{Card, Event, Message, PushConfig, SecurityScheme, Task, Validate};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

/// The fields that are named as wrong; none when the object is valid.
#[track_caller]
fn wrong<T: DeserializeOwned + Validate>(json: Value, fields: &[&str]) {
    let value: T = serde_json::from_value(json.clone()).unwrap();
    let named = value.validate().err().map(|error| error.violations().iter().map(|violation| violation.field.clone()).collect::<Vec<_>>());
    assert_eq!(named.unwrap_or_default(), fields, "{json}");
}

fn part() -> Value {
    json!({"text": "x"})
}

/// V10-DM-003, V10-DM-004, V10-DM-005, V10-DM-010, V10-DM-011.
#[test]
fn a_message_has_an_id_a_role_and_parts() {
    wrong::<Message>(json!({"messageId": "m", "role": "ROLE_AGENT", "parts": [part()]}), &[]);
    wrong::<Message>(json!({}), &["messageId", "role", "parts"]);
    wrong::<Message>(json!({"messageId": "", "role": "ROLE_UNSPECIFIED", "parts": []}), &["messageId", "role", "parts"]);
    wrong::<Message>(json!({"messageId": "m", "role": "ROLE_USER", "parts": [part(), {"url": ""}]}), &["parts[1].url"]);
    // Free ids: no character is forbidden, but there is an end.
    wrong::<Message>(json!({"messageId": "ümlaut/: \u{1F600}", "role": "ROLE_USER", "parts": [part()]}), &[]);
    wrong::<Message>(
        json!({"messageId": "m".repeat(257), "contextId": "c".repeat(257), "role": "ROLE_USER", "parts": [part()]}),
        &["messageId", "contextId"],
    );
}

/// V10-DM-008, V10-DM-009, V10-DM-012.
#[test]
fn a_task_has_an_id_and_a_state_and_its_artifacts_differ() {
    wrong::<Task>(json!({"id": "t", "status": {"state": "TASK_STATE_WORKING"}}), &[]);
    wrong::<Task>(json!({}), &["id", "status.state"]);
    wrong::<Task>(json!({"id": "t", "status": {}}), &["status.state"]);
    wrong::<Task>(json!({"id": "t", "status": {"state": "TASK_STATE_UNSPECIFIED"}}), &["status.state"]);
    wrong::<Task>(
        json!({"id": "t", "status": {"state": "TASK_STATE_WORKING", "message": {"role": "ROLE_AGENT", "parts": [part()]}}}),
        &["status.message.messageId"],
    );
    let artifact = |id: &str| json!({"artifactId": id, "parts": [part()]});
    wrong::<Task>(json!({"id": "t", "status": {"state": "TASK_STATE_WORKING"}, "artifacts": [artifact("a"), artifact("b")]}), &[]);
    wrong::<Task>(
        json!({"id": "t", "status": {"state": "TASK_STATE_WORKING"}, "artifacts": [artifact("a"), artifact("a")]}),
        &["artifacts"],
    );
    wrong::<Task>(
        json!({"id": "t", "status": {"state": "TASK_STATE_WORKING"}, "artifacts": [{"parts": []}], "history": [{"messageId": "m"}]}),
        &["artifacts[0].artifactId", "artifacts[0].parts", "history[0].role", "history[0].parts"],
    );
}

/// V10-DM-012, V10-DM-015, V10-DM-016.
#[test]
fn updates_name_their_task_and_conversation() {
    let status = json!({"state": "TASK_STATE_WORKING"});
    wrong::<Event>(json!({"statusUpdate": {"taskId": "t", "contextId": "c", "status": status}}), &[]);
    wrong::<Event>(json!({"statusUpdate": {}}), &["statusUpdate.taskId", "statusUpdate.contextId", "statusUpdate.status.state"]);
    wrong::<Event>(json!({"artifactUpdate": {"taskId": "t", "contextId": "c", "artifact": {"artifactId": "a", "parts": [part()]}}}), &[]);
    wrong::<Event>(
        json!({"artifactUpdate": {}}),
        &["artifactUpdate.taskId", "artifactUpdate.contextId", "artifactUpdate.artifact.artifactId", "artifactUpdate.artifact.parts"],
    );
    wrong::<Event>(json!({"message": {"messageId": "m", "role": "ROLE_AGENT"}}), &["message.parts"]);
    wrong::<Event>(json!({"task": {"status": status}}), &["task.id"]);
}

/// V10-DM-003: webhooks.
#[test]
fn a_webhook_has_a_url_and_its_authentication_a_scheme() {
    wrong::<PushConfig>(json!({"url": "https://h.example"}), &[]);
    wrong::<PushConfig>(json!({}), &["url"]);
    wrong::<PushConfig>(json!({"url": "u:1", "authentication": {"credentials": "s"}}), &["authentication.scheme"]);
}

/// V10-CARD-007, V10-DM-003, V10-DM-004.
#[test]
fn a_card_that_we_write_is_complete() {
    let interface = json!({"url": "https://a.example", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"});
    let skill = json!({"id": "s", "name": "S", "description": "d", "tags": ["t"]});
    let card = json!({"name": "n", "description": "d", "version": "1", "supportedInterfaces": [interface], "capabilities": {},
        "defaultInputModes": ["text/plain"], "defaultOutputModes": ["text/plain"], "skills": [skill]});
    wrong::<Card>(card.clone(), &[]);
    wrong::<Card>(
        json!({}),
        &["name", "description", "version", "supportedInterfaces", "defaultInputModes", "defaultOutputModes", "skills"],
    );
    let with = |name: &str, value: Value| {
        let mut card = card.clone();
        card[name] = value;
        card
    };
    wrong::<Card>(
        with("supportedInterfaces", json!([{}])),
        &["supportedInterfaces[0].url", "supportedInterfaces[0].protocolBinding", "supportedInterfaces[0].protocolVersion"],
    );
    wrong::<Card>(with("provider", json!({})), &["provider.url", "provider.organization"]);
    wrong::<Card>(with("skills", json!([{}])), &["skills[0].id", "skills[0].name", "skills[0].description", "skills[0].tags"]);
    wrong::<Card>(with("signatures", json!([{}])), &["signatures[0].protected", "signatures[0].signature"]);
    wrong::<Card>(with("securityRequirements", json!([{"schemes": {"nobody": {}}}])), &["securityRequirements[0].schemes"]);
}

/// V10-DM-003, V10-DM-005: required members of the security objects; scopes may be empty.
#[test]
fn security_schemes_are_complete() {
    let flow = |member: &str| format!("oauth2SecurityScheme.flows.{member}");
    let oauth = |flows: Value| json!({"oauth2SecurityScheme": {"flows": flows}});
    for (scheme, fields) in [
        (json!({"apiKeySecurityScheme": {"location": "query"}}), &["apiKeySecurityScheme.name"][..]),
        (json!({"httpAuthSecurityScheme": {}}), &["httpAuthSecurityScheme.scheme"]),
        (json!({"openIdConnectSecurityScheme": {}}), &["openIdConnectSecurityScheme.openIdConnectUrl"]),
        (json!({"mtlsSecurityScheme": {}}), &[]),
        (oauth(json!({"authorizationCode": {}})), &[&flow("authorizationCode.authorizationUrl"), &flow("authorizationCode.tokenUrl")]),
        (oauth(json!({"clientCredentials": {}})), &[&flow("clientCredentials.tokenUrl")]),
        (oauth(json!({"deviceCode": {}})), &[&flow("deviceCode.deviceAuthorizationUrl"), &flow("deviceCode.tokenUrl")]),
        (oauth(json!({"clientCredentials": {"tokenUrl": "u:1", "scopes": {}}})), &[]),
        (oauth(json!({"implicit": {}})), &[]),
        (oauth(json!({"password": {}})), &[]),
    ] {
        wrong::<SecurityScheme>(scheme, fields);
    }
}

/// A peer is not trusted: sizes are bounded, and the field is named.
#[test]
fn sizes_are_bounded() {
    let deep = (0..70).fold(json!(1), |inner, _| json!([inner]));
    wrong::<Message>(json!({"messageId": "m", "role": "ROLE_USER", "parts": [{"data": deep}]}), &["parts[0].data"]);
    wrong::<Message>(json!({"messageId": "m", "role": "ROLE_USER", "parts": [part()], "metadata": {"k": deep}}), &["metadata"]);
    let many = vec![part(); 257];
    wrong::<Message>(json!({"messageId": "m", "role": "ROLE_USER", "parts": many}), &["parts"]);
}
