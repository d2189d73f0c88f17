//! The v1.0 JSON of the canonical model: what is written, member by member.

use chancery_core::{
    Artifact, ArtifactUpdate, Card, Event, Extension, Interface, Message, Part, PushConfig, PushConfigPage, Role, SecurityRequirement,
    SecurityScheme, SendMessage, SendReply, Signature, StatusUpdate, Task, TaskPage, TaskState, TaskStatus, Timestamp,
    security::{
        ApiKeyLocation, ApiKeyScheme, AuthorizationCodeFlow, HttpAuthScheme, MutualTlsScheme, OAuth2Scheme, OAuthFlow, PasswordFlow,
    },
};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::json;

/// Written as exactly this text, and read back as the same value.
#[track_caller]
fn writes<T: Serialize + DeserializeOwned + PartialEq + std::fmt::Debug>(value: &T, text: &str) {
    assert_eq!(serde_json::to_string(value).unwrap(), text);
    assert_eq!(&serde_json::from_str::<T>(text).unwrap(), value);
}

fn noon() -> Timestamp {
    Timestamp::parse("2026-04-08T12:00:00Z").unwrap()
}

/// V10-JSON-001, V10-JSON-002, V10-JSON-008, V10-DM-011.
#[test]
fn parts_are_told_by_their_member() {
    writes(&Part::text(""), r#"{"text":""}"#);
    writes(&Part::text("Größe \"L\" – ☃\n"), "{\"text\":\"Größe \\\"L\\\" – ☃\\n\"}");
    writes(&Part::raw(vec![0xfb, 0xff, 0xbf, b'h']), r#"{"raw":"+/+/aA=="}"#);
    writes(&Part::raw(""), r#"{"raw":""}"#);
    writes(
        &Part::url("https://x.example/a").filename("a").media_type("x/y").metadata("k", 1),
        r#"{"url":"https://x.example/a","metadata":{"k":1},"filename":"a","mediaType":"x/y"}"#,
    );
    for value in
        [json!(null), json!(true), json!(false), json!(0), json!(1.5), json!(""), json!([]), json!([null]), json!({}), json!({"a": null})]
    {
        writes(&Part::data(value.clone()), &format!(r#"{{"data":{value}}}"#));
    }
}

/// CONV-PART-006: integers in structured data stay what they are in JSON.
#[test]
fn integers_are_not_turned_into_doubles() {
    writes(&Part::data(json!({"n": 9_007_199_254_740_993_u64, "m": -7})), r#"{"data":{"n":9007199254740993,"m":-7}}"#);
}

/// V10-JSON-001, V10-JSON-002, V10-JSON-003, V10-JSON-005, V10-JSON-006, V10-DM-008, V10-DM-009, V10-DM-010:
/// what must be there is there, what is at its default is not.
#[test]
fn defaults_are_left_out_and_required_members_are_not() {
    writes(&Message::user("hi").id("m"), r#"{"messageId":"m","role":"ROLE_USER","parts":[{"text":"hi"}]}"#);
    writes(
        &Message::agent("hi").id("m").in_context("c").to_task("t").metadata("k", json!({})).extension("e:1").referring_to("t0"),
        r#"{"messageId":"m","contextId":"c","taskId":"t","role":"ROLE_AGENT","parts":[{"text":"hi"}],"metadata":{"k":{}},"extensions":["e:1"],"referenceTaskIds":["t0"]}"#,
    );
    writes(&Task::new("t", "c", TaskState::Submitted), r#"{"id":"t","contextId":"c","status":{"state":"TASK_STATE_SUBMITTED"}}"#);
    // The conversation is always shown, even where a peer forgot it.
    writes(&Task::new("t", "", TaskState::Submitted), r#"{"id":"t","contextId":"","status":{"state":"TASK_STATE_SUBMITTED"}}"#);
    let status = TaskStatus::new(TaskState::InputRequired).message(Message::agent("?").id("m")).at(noon());
    writes(
        &status,
        r#"{"state":"TASK_STATE_INPUT_REQUIRED","message":{"messageId":"m","role":"ROLE_AGENT","parts":[{"text":"?"}]},"timestamp":"2026-04-08T12:00:00.000Z"}"#,
    );
    writes(&Artifact::new("x").id("a"), r#"{"artifactId":"a","parts":[{"text":"x"}]}"#);
    writes(
        &Artifact::new("x").id("a").named("n").described("d").metadata("k", 1),
        r#"{"artifactId":"a","name":"n","description":"d","parts":[{"text":"x"}],"metadata":{"k":1}}"#,
    );
    writes(&SendMessage::new(Message::user("hi").id("m")), r#"{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"hi"}]}}"#);
    writes(&PushConfig::new("https://h.example"), r#"{"url":"https://h.example"}"#);
    writes(
        &PushConfig::new("https://h.example").id("p").for_task("t").token("k").authentication("Bearer", "s"),
        r#"{"id":"p","taskId":"t","url":"https://h.example","token":"k","authentication":{"scheme":"Bearer","credentials":"s"}}"#,
    );
    // Of the lists, only those that the specification names are written when they are empty.
    writes(&PushConfigPage::default(), r#"{"configs":[]}"#);
    assert_eq!(names(Role::ALL), ["ROLE_UNSPECIFIED", "ROLE_USER", "ROLE_AGENT"]);
}

fn names<T: Serialize>(values: &[T]) -> Vec<String> {
    values.iter().map(|value| serde_json::to_value(value).unwrap().as_str().unwrap().to_owned()).collect()
}

/// V10-DM-009, V10-JSON-002: the names and numbers of the states.
#[test]
fn states_have_their_protocol_names_and_numbers() {
    let words = ["UNSPECIFIED", "SUBMITTED", "WORKING", "COMPLETED", "FAILED", "CANCELED", "INPUT_REQUIRED", "REJECTED", "AUTH_REQUIRED"];
    assert_eq!(names(TaskState::ALL), words.map(|name| format!("TASK_STATE_{name}")));
    assert!(TaskState::ALL.iter().map(|state| state.number()).eq(0..9));
    assert!(Role::ALL.iter().map(|role| role.number()).eq(0..3));
    let terminal = [TaskState::Completed, TaskState::Failed, TaskState::Canceled, TaskState::Rejected];
    let interrupted = [TaskState::InputRequired, TaskState::AuthRequired];
    for state in TaskState::ALL {
        assert_eq!(state.is_terminal(), terminal.contains(state));
        assert_eq!(state.is_interrupted(), interrupted.contains(state));
        assert_eq!(state.ends_stream(), state.is_terminal() || *state == TaskState::InputRequired, "AMB-03: {state}");
    }
}

/// V10-DM-015, V10-DM-016, V10-JSON-008.
#[test]
fn events_and_replies_hold_one_member() {
    let update = StatusUpdate::new("t", "c", TaskState::Working);
    writes(&Event::from(update), r#"{"statusUpdate":{"taskId":"t","contextId":"c","status":{"state":"TASK_STATE_WORKING"}}}"#);
    let chunk = ArtifactUpdate::new("t", "c", Artifact::new("x").id("a"));
    writes(
        &Event::from(chunk.clone()),
        r#"{"artifactUpdate":{"taskId":"t","contextId":"c","artifact":{"artifactId":"a","parts":[{"text":"x"}]}}}"#,
    );
    writes(
        &Event::from(chunk.appended().last()),
        r#"{"artifactUpdate":{"taskId":"t","contextId":"c","artifact":{"artifactId":"a","parts":[{"text":"x"}]},"append":true,"lastChunk":true}}"#,
    );
    let task = r#"{"task":{"id":"t","contextId":"c","status":{"state":"TASK_STATE_WORKING"}}}"#;
    writes(&Event::from(Task::new("t", "c", TaskState::Working)), task);
    writes(&SendReply::from(Task::new("t", "c", TaskState::Working)), task);
    let message = r#"{"message":{"messageId":"m","role":"ROLE_AGENT","parts":[{"text":"x"}]}}"#;
    writes(&Event::from(Message::agent("x").id("m")), message);
    writes(&SendReply::from(Message::agent("x").id("m")), message);
    for text in
        ["{}", r#"{"task":null}"#, r#"{"task":{"id":"t"},"message":{"messageId":"m"}}"#, r#"{"kind":"task","id":"t"}"#, "[]", "null"]
    {
        assert!(serde_json::from_str::<Event>(text).is_err(), "{text}");
        assert!(serde_json::from_str::<SendReply>(text).is_err(), "{text}");
    }
    assert!(serde_json::from_str::<SendReply>(r#"{"statusUpdate":{"taskId":"t"}}"#).is_err());
}

/// V10-DM-006, v1.0 data model 5.1: an optional member that is set to its default is written.
#[test]
fn explicit_presence_is_kept() {
    let mut send = SendMessage::new(Message::user("hi").id("m"));
    send.configuration.history_length = Some(0);
    let text = serde_json::to_string(&send).unwrap();
    assert!(text.ends_with(r#""configuration":{"historyLength":0}}"#), "{text}");
    for text in [r#"{"id":"t","historyLength":0}"#, r#"{"id":"t"}"#] {
        writes(&serde_json::from_str::<chancery_core::GetTask>(text).unwrap(), text);
    }
    for text in [r#"{"pageSize":1,"historyLength":0,"includeArtifacts":false}"#, "{}"] {
        writes(&serde_json::from_str::<chancery_core::ListTasks>(text).unwrap(), text);
    }
    for text in [r#"{"streaming":false,"pushNotifications":false,"extendedAgentCard":false}"#, "{}"] {
        writes(&serde_json::from_str::<chancery_core::Capabilities>(text).unwrap(), text);
    }
}

/// V10-LIST-004, V10-LIST-005, V10-LIST-006, v1.0 data model 5.1.
#[test]
fn a_page_of_tasks_always_shows_its_four_members() {
    writes(&TaskPage::new(vec![], 50, 0), r#"{"tasks":[],"nextPageToken":"","pageSize":50,"totalSize":0}"#);
    let tasks = || vec![Task::new("t", "c", TaskState::Working)];
    writes(
        &TaskPage::new(tasks(), 1, 2).next("n"),
        r#"{"tasks":[{"id":"t","contextId":"c","status":{"state":"TASK_STATE_WORKING"}}],"nextPageToken":"n","pageSize":1,"totalSize":2}"#,
    );
    let mut full = tasks().remove(0);
    full.history = vec![Message::user("hi").id("m")];
    full.metadata.insert("k".to_owned(), json!(1));
    let shown = serde_json::to_value(TaskPage::new(vec![full.clone()], 1, 1).showing_artifacts()).unwrap();
    assert_eq!(shown["tasks"][0]["artifacts"], json!([]));
    let mut plain = shown["tasks"][0].clone();
    plain.as_object_mut().unwrap().remove("artifacts");
    assert_eq!(plain, serde_json::to_value(&full).unwrap(), "the rest of the task is as ever");
    full.artifacts = vec![Artifact::new("x").id("a")];
    let shown = serde_json::to_value(TaskPage::new(vec![full.clone()], 1, 1).showing_artifacts()).unwrap();
    assert_eq!(shown["tasks"][0], serde_json::to_value(&full).unwrap());
}

/// V10-CARD-007, v1.0 data model 5.1: presence in the card.
#[test]
fn a_card_shows_what_is_required_and_what_was_set() {
    writes(
        &Card::default(),
        r#"{"name":"","description":"","supportedInterfaces":[],"version":"","capabilities":{},"defaultInputModes":[],"defaultOutputModes":[],"skills":[]}"#,
    );
    let mut card = Card::default();
    card.documentation_url = Some(String::new());
    card.icon_url = Some(String::new());
    let json = serde_json::to_value(&card).unwrap();
    assert_eq!((json["documentationUrl"].as_str(), json["iconUrl"].as_str()), (Some(""), Some("")));
    writes(&Interface::new("u", "JSONRPC", "1.0"), r#"{"url":"u","protocolBinding":"JSONRPC","protocolVersion":"1.0"}"#);
    writes(&Interface::new("u", "GRPC", "1.0").tenant("t"), r#"{"url":"u","protocolBinding":"GRPC","tenant":"t","protocolVersion":"1.0"}"#);
    writes(&Extension::new("e:1"), r#"{"uri":"e:1"}"#);
    writes(
        &Extension::new("e:1").described("d").required().param("k", json!([1])),
        r#"{"uri":"e:1","description":"d","required":true,"params":{"k":[1]}}"#,
    );
    writes(&Signature::new("p", "s"), r#"{"protected":"p","signature":"s"}"#);
}

/// V10-JSON-008, AMB-12: schemes, flows and requirements.
#[test]
fn security_is_told_by_its_members() {
    writes(
        &SecurityScheme::ApiKey(ApiKeyScheme::new(ApiKeyLocation::Cookie, "k")),
        r#"{"apiKeySecurityScheme":{"location":"cookie","name":"k"}}"#,
    );
    writes(&SecurityScheme::HttpAuth(HttpAuthScheme::new("Basic", "")), r#"{"httpAuthSecurityScheme":{"scheme":"Basic"}}"#);
    writes(&SecurityScheme::MutualTls(MutualTlsScheme::default()), r#"{"mtlsSecurityScheme":{}}"#);
    let code = OAuthFlow::AuthorizationCode(AuthorizationCodeFlow::default());
    writes(
        &SecurityScheme::OAuth2(OAuth2Scheme::new(code)),
        r#"{"oauth2SecurityScheme":{"flows":{"authorizationCode":{"authorizationUrl":"","tokenUrl":"","scopes":{}}}}}"#,
    );
    writes(&OAuthFlow::Password(PasswordFlow::default()), r#"{"password":{}}"#);
    let requirement = SecurityRequirement::new().and("a", ["s"]).and("b", [""; 0]);
    writes(&requirement, r#"{"schemes":{"a":{"list":["s"]},"b":{}}}"#);
    // One SDK writes the bare array.
    assert_eq!(serde_json::from_str::<SecurityRequirement>(r#"{"schemes":{"a":["s"],"b":[]}}"#).unwrap(), requirement);
    for text in [
        "{}",
        r#"{"mtlsSecurityScheme":{},"httpAuthSecurityScheme":{"scheme":"Basic"}}"#,
        r#"{"apiKeySecurityScheme":{"location":"body","name":"k"}}"#,
        r#"{"oauth2SecurityScheme":{}}"#,
        r#"{"oauth2SecurityScheme":{"flows":{}}}"#,
        r#"{"oauth2SecurityScheme":{"flows":{"implicit":{},"password":{}}}}"#,
        r#"{"type":"http","scheme":"Basic"}"#,
    ] {
        assert!(serde_json::from_str::<SecurityScheme>(text).is_err(), "{text}");
    }
}

/// V10-DM-003, AMB-13: real cards leave lists empty or out, and are read all the same.
#[test]
fn incomplete_cards_are_read() {
    let card: Card = serde_json::from_value(json!({"name": "x", "skills": null, "capabilities": null})).unwrap();
    assert_eq!((card.name.as_str(), card.skills.len(), card.supported_interfaces.len()), ("x", 0, 0));
}
