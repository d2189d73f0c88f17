//! The JSON form of v1.0: what is accepted besides what is written, and what is never accepted.
//!
//! The golden messages are bent in one place at a time, in every place where that is possible.

use chancery_core::{ErrorKind, Limits, Operation, Request, TaskState};
use chancery_wire::Dialect;
use serde_json::{Map, Value, json};

use crate::{v1_0::subjects, vector::bytes};

const BOTH: [Dialect; 2] = [Dialect::V1_0, Dialect::V1_0Strict];

/// Members whose content belongs to agents and extensions.
const FREE: [&str; 4] = ["metadata", "data", "params", "header"];
/// Members that are maps: their keys are names of the agent's own.
const MAPS: [&str; 3] = ["securitySchemes", "schemes", "scopes"];

/// What stands at a place.
#[derive(Clone, Copy, PartialEq)]
enum Place {
    Object,
    Member,
    Element,
}

/// JSON pointers to all places that the protocol names.
fn places(value: &Value) -> Vec<(Place, String)> {
    fn walk(value: &Value, at: &str, map: bool, found: &mut Vec<(Place, String)>) {
        match value {
            Value::Object(members) => {
                if !map {
                    found.push((Place::Object, at.to_owned()));
                }
                for (name, value) in members {
                    let at = format!("{at}/{name}");
                    if !map {
                        found.push((Place::Member, at.clone()));
                    }
                    if map || !FREE.contains(&name.as_str()) {
                        walk(value, &at, !map && MAPS.contains(&name.as_str()), found);
                    }
                }
            }
            Value::Array(items) => {
                for (index, item) in items.iter().enumerate() {
                    let at = format!("{at}/{index}");
                    found.push((Place::Element, at.clone()));
                    walk(item, &at, false, found);
                }
            }
            _ => {}
        }
    }
    let mut found = Vec::new();
    walk(value, "", false, &mut found);
    found
}

fn of(place: Place, value: &Value) -> impl Iterator<Item = String> {
    places(value).into_iter().filter(move |(found, _)| *found == place).map(|(_, at)| at)
}

fn set(json: &Value, at: &str, value: Value) -> Value {
    let mut bent = json.clone();
    *bent.pointer_mut(at).unwrap() = value;
    bent
}

fn without(json: &Value, at: &str) -> Value {
    let (parent, name) = at.rsplit_once('/').unwrap();
    let mut bent = json.clone();
    bent.pointer_mut(parent).unwrap().as_object_mut().unwrap().remove(name);
    bent
}

fn renamed(value: &Value, rename: &dyn Fn(&str) -> String, map: bool) -> Value {
    match value {
        Value::Object(members) => {
            let member = |(name, value): (&String, &Value)| {
                let free = !map && FREE.contains(&name.as_str());
                let inner = if free { value.clone() } else { renamed(value, rename, !map && MAPS.contains(&name.as_str())) };
                (if map { name.clone() } else { rename(name) }, inner)
            };
            Value::Object(members.iter().map(member).collect::<Map<_, _>>())
        }
        Value::Array(items) => items.iter().map(|item| renamed(item, rename, false)).collect(),
        other => other.clone(),
    }
}

fn snake(name: &str) -> String {
    name.chars().flat_map(|letter| letter.is_ascii_uppercase().then_some('_').into_iter().chain([letter.to_ascii_lowercase()])).collect()
}

/// V10-JSON-001, DIA-ALIAS-002, v1.0 data model 5.2: the original field names are read by everyone.
#[test]
fn snake_case_is_read_everywhere_and_written_nowhere() {
    for subject in BOTH.into_iter().flat_map(subjects) {
        let bent = renamed(&subject.json, &snake, false);
        let read = subject.read(&bent).unwrap_or_else(|error| panic!("{}: {error:?}", subject.name));
        assert_eq!(read, subject.read(&subject.json).unwrap(), "{}", subject.name);
        let names: Vec<_> = of(Place::Member, &read).map(|at| at.rsplit_once('/').unwrap().1.to_owned()).collect();
        assert!(!names.iter().any(|name| name.contains('_')), "{}: {names:?}", subject.name);
    }
}

/// V10-DM-007: members that v1.0 does not define are ignored, wherever they stand.
#[test]
fn unknown_members_are_ignored_in_every_object() {
    for subject in BOTH.into_iter().flat_map(subjects) {
        let expected = subject.read(&subject.json).unwrap();
        for at in of(Place::Object, &subject.json) {
            let mut bent = subject.json.clone();
            let object = bent.pointer_mut(&at).unwrap().as_object_mut().unwrap();
            object.insert("futureMember".to_owned(), json!({"id": 1, "parts": [null]}));
            object.insert("final".to_owned(), json!(true));
            let read = subject.read(&bent).unwrap_or_else(|error| panic!("{} at {at}: {error:?}", subject.name));
            assert_eq!(read, expected, "{} at {at}", subject.name);
        }
    }
}

/// V10-JSON-001, V10-DM-011, v1.0 data model 4 and 5.2: `null` is absence, but for `Part.data`.
#[test]
fn null_is_the_same_as_absent_for_every_member() {
    for subject in BOTH.into_iter().flat_map(subjects) {
        for at in of(Place::Member, &subject.json).filter(|at| !at.ends_with("/data")) {
            let null = subject.read(&set(&subject.json, &at, Value::Null));
            let absent = subject.read(&without(&subject.json, &at));
            match (null, absent) {
                (Ok(null), Ok(absent)) => assert_eq!(null, absent, "{} at {at}", subject.name),
                (Err(_), Err(_)) => {}
                (null, absent) => panic!("{} at {at}: null gives {null:?}, absent gives {absent:?}", subject.name),
            }
        }
    }
}

/// v1.0 data model 5.2: `null` as array element is an error.
#[test]
fn null_is_no_element_of_any_list() {
    for subject in BOTH.into_iter().flat_map(subjects) {
        for at in of(Place::Element, &subject.json) {
            assert!(subject.read(&set(&subject.json, &at, Value::Null)).is_err(), "{} at {at}", subject.name);
        }
    }
}

/// V10-ERR-009, v1.0 data model 5.2: the wrong JSON type is an error, a quoted boolean too, and the
/// place is named.
#[test]
fn the_wrong_json_type_is_refused_in_every_place() {
    for subject in BOTH.into_iter().flat_map(subjects) {
        let named = places(&subject.json).into_iter().filter(|(place, at)| *place != Place::Object && !at.ends_with("/data"));
        for (_, at) in named {
            let wrong = match subject.json.pointer(&at).unwrap() {
                Value::String(_) => json!([]),
                Value::Bool(flag) => json!(flag.to_string()),
                Value::Number(_) => json!("many"),
                Value::Array(_) => json!({}),
                Value::Object(_) => json!("object"),
                Value::Null => continue,
            };
            let error = subject.read(&set(&subject.json, &at, wrong)).expect_err(&at);
            assert_eq!(error.kind(), ErrorKind::InvalidParams, "{} at {at}", subject.name);
            let field = &error.violations()[0].field;
            assert!(dotted(&at).starts_with(field), "{} at {at}: {field} is named", subject.name);
        }
    }
}

/// A JSON pointer as violations write it: `message.parts[0].text`.
fn dotted(at: &str) -> String {
    at.split('/').skip(1).fold(String::new(), |path, step| match step.parse::<usize>() {
        Ok(index) => format!("{path}[{index}]"),
        Err(_) if path.is_empty() => step.to_owned(),
        Err(_) => format!("{path}.{step}"),
    })
}

/// v1.0 data model 5.2: duplicates of one member name are rejected, in either spelling (DIA-GEN-005).
#[test]
fn a_member_that_is_there_twice_is_refused() {
    for dialect in BOTH {
        for text in [
            r#"{"message":{"messageId":"m","messageId":"m","role":"ROLE_USER","parts":[{"text":"hi"}]}}"#,
            r#"{"message":{"messageId":"m","message_id":"n","role":"ROLE_USER","parts":[{"text":"hi"}]}}"#,
            r#"{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"hi","text":"ho"}]}}"#,
        ] {
            assert!(dialect.decode_request(Operation::SendMessage, text.as_bytes()).is_err(), "{text}");
        }
    }
}

fn send(dialect: Dialect, part: &str) -> chancery_core::Result<Value> {
    let text = format!(r#"{{"message":{{"messageId":"m","role":"ROLE_USER","parts":[{part}]}}}}"#);
    let request = dialect.request(Operation::SendMessage, text.as_bytes(), &Limits::default())?;
    let again: Value = serde_json::from_slice(&dialect.encode_request(&request)?).unwrap();
    Ok(again["message"]["parts"][0].clone())
}

/// V10-DM-011, V10-JSON-008, v1.0 data model 4: which parts there are, by presence alone.
#[test]
fn a_part_is_told_by_the_one_member_it_has() {
    for dialect in BOTH {
        for (part, read) in [
            (r#"{"text":""}"#, json!({"text": ""})),
            (r#"{"raw":""}"#, json!({"raw": ""})),
            (r#"{"data":null}"#, json!({"data": null})),
            (r#"{"data":false}"#, json!({"data": false})),
            (r#"{"data":{}}"#, json!({"data": {}})),
            (r#"{"text":"hi","raw":null,"url":null}"#, json!({"text": "hi"})),
            (r#"{"url":"https://x.example/a","filename":"","mediaType":"","metadata":{}}"#, json!({"url": "https://x.example/a"})),
            // All four spellings of base64 are read, one is written.
            (r#"{"raw":"+/+/aGk="}"#, json!({"raw": "+/+/aGk="})),
            (r#"{"raw":"-_-_aGk="}"#, json!({"raw": "+/+/aGk="})),
            (r#"{"raw":"+/+/aGk"}"#, json!({"raw": "+/+/aGk="})),
            (r#"{"raw":"-_-_aGk"}"#, json!({"raw": "+/+/aGk="})),
        ] {
            assert_eq!(send(dialect, part).unwrap_or_else(|error| panic!("{part}: {error:?}")), read, "{part}");
        }
        for part in [
            "{}",
            r#"{"metadata":{"k":1},"filename":"f","mediaType":"text/plain"}"#,
            r#"{"text":null}"#,
            r#"{"text":"hi","url":"https://x.example"}"#,
            r#"{"text":"","data":null}"#,
            r#"{"raw":"a*"}"#,
            r#"{"url":""}"#,
            r#"{"text":5}"#,
            "[]",
            "null",
        ] {
            let error = send(dialect, part).expect_err(part);
            assert_eq!(error.kind(), ErrorKind::InvalidParams, "{part}");
            assert!(error.violations()[0].field.starts_with("message.parts[0]"), "{part}: {error}");
        }
    }
}

/// V10-JSON-002, v1.0 data model 3 and 5.2: names are written, names and numbers are read, others
/// are refused.
#[test]
fn enums_are_names_and_numbers_are_understood() {
    let list = |dialect: Dialect, status: &str| {
        let text = format!(r#"{{"status":{status}}}"#);
        dialect.request(Operation::ListTasks, text.as_bytes(), &Limits::default()).map(|request| match request {
            Request::ListTasks(list) => list.status,
            other => panic!("{other:?}"),
        })
    };
    for dialect in BOTH {
        for state in TaskState::ALL {
            assert_eq!(list(dialect, &format!("\"{}\"", state.as_str())).ok(), Some(*state));
            assert_eq!(list(dialect, &state.number().to_string()).ok(), Some(*state));
        }
        for unknown in ["\"TASK_STATE_RUNNING\"", "\"\"", "9", "-1", "1.5", "true"] {
            let error = list(dialect, unknown).expect_err(unknown);
            assert_eq!(error.violations()[0].field, "status", "{unknown}");
        }
        for (role, legal) in [("\"ROLE_USER\"", true), ("1", true), ("2", true), ("0", false), ("3", false), ("\"ROLE_OWNER\"", false)] {
            let text = format!(r#"{{"message":{{"messageId":"m","role":{role},"parts":[{{"text":"hi"}}]}}}}"#);
            let read = dialect.request(Operation::SendMessage, text.as_bytes(), &Limits::default());
            assert_eq!(read.is_ok(), legal, "{role}");
            assert!(read.is_ok() || read.is_err_and(|error| error.violations()[0].field == "message.role"), "{role}");
        }
    }
    // Names of older versions are no names of v1.0.
    assert!(list(Dialect::V1_0Strict, "\"working\"").is_err());
    let legacy = br#"{"message":{"messageId":"m","role":"user","parts":[{"text":"hi"}]}}"#;
    assert!(Dialect::V1_0Strict.decode_request(Operation::SendMessage, legacy).is_err());
}

/// v1.0 data model 5.2: `int32` as number, integral float or string.
#[test]
fn whole_numbers_are_read_in_three_spellings() {
    for dialect in BOTH {
        for (operation, members) in [
            (Operation::GetTask, r#""id":"t","historyLength""#),
            (Operation::ListTasks, r#""historyLength""#),
            (Operation::ListTasks, r#""pageSize""#),
            (Operation::ListPushConfigs, r#""taskId":"t","pageSize""#),
        ] {
            let read = |number: &str| dialect.request(operation, format!("{{{members}:{number}}}").as_bytes(), &Limits::default());
            let five = read("5").unwrap();
            for number in ["5.0", "\"5\"", "\"5.0\""] {
                assert_eq!(read(number).unwrap(), five, "{members}:{number}");
            }
            for number in ["5.5", "\"5.5\"", "2147483648", "-2147483649", "\"five\"", "true", "[5]"] {
                let error = read(number).expect_err(number);
                assert_eq!(error.kind(), ErrorKind::InvalidParams, "{members}:{number}");
            }
        }
    }
}

/// V10-JSON-003, V10-JSON-004, V10-JSON-005, V10-JSON-006, V10-JSON-007.
#[test]
fn timestamps_come_with_any_offset_and_go_out_in_utc_with_milliseconds() {
    let after = |dialect: Dialect, text: &str| {
        let request = dialect.decode_request(Operation::ListTasks, &bytes(&json!({"statusTimestampAfter": text})))?;
        let again: Value = serde_json::from_slice(&dialect.encode_request(&request)?).unwrap();
        Ok::<_, chancery_core::Error>(again["statusTimestampAfter"].clone())
    };
    for dialect in BOTH {
        for (text, written) in [
            ("2026-04-07T00:00:00Z", "2026-04-07T00:00:00.000Z"),
            ("2026-04-07T00:00:00.1Z", "2026-04-07T00:00:00.100Z"),
            ("2026-04-07T02:00:00.123456789+02:00", "2026-04-07T00:00:00.123Z"),
            ("2026-04-06T19:30:00-04:30", "2026-04-07T00:00:00.000Z"),
        ] {
            assert_eq!(after(dialect, text).unwrap(), written, "{text}");
        }
        for text in ["2026-04-07T00:00:00", "2026-04-07", "2026-04-07t00:00:00Z", "2026-04-07T00:00:00z", "1775520000", ""] {
            let error = after(dialect, text).expect_err(text);
            assert_eq!(error.violations()[0].field, "statusTimestampAfter", "{text}");
        }
    }
}

/// V10-JSON-009: text that is not UTF-8 is no JSON.
#[test]
fn json_is_utf_8() {
    for (text, legal) in [
        (&b"{\"id\":\"t-\xc3\xa4\"}"[..], true),
        (b"{\"id\":\"t-\xe4\"}", false),
        (b"{\"id\":\"t-\\ud83d\"}", false),
        (b"{\"id\":\"t-\\ud83d\\ude00\"}", true),
    ] {
        for dialect in BOTH {
            let read = dialect.decode_request(Operation::GetTask, text);
            assert_eq!(read.is_ok(), legal, "{}", String::from_utf8_lossy(text));
        }
    }
}

/// V10-DM-003, V10-DM-004, V10-DM-005, V10-DM-010, V10-DM-011, V10-ERR-008, V10-ERR-009, v1.0 data
/// model 4: one line per rule, with the fields that are named.
#[test]
fn what_is_missing_or_out_of_range_is_named() {
    use Operation as O;
    let message = json!({"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "hi"}]});
    let part = json!({"text": "hi"});
    for (operation, params, fields) in [
        (O::SendMessage, json!({}), &["message.messageId", "message.role", "message.parts"][..]),
        (O::SendMessage, json!({"message": {}}), &["message.messageId", "message.role", "message.parts"]),
        (O::StreamMessage, json!({"message": null}), &["message.messageId", "message.role", "message.parts"]),
        (O::SendMessage, json!({"message": {"messageId": "", "role": "ROLE_USER", "parts": [part]}}), &["message.messageId"]),
        (O::SendMessage, json!({"message": {"messageId": "m", "role": "ROLE_UNSPECIFIED", "parts": [part]}}), &["message.role"]),
        (O::SendMessage, json!({"message": {"messageId": "m", "role": "ROLE_USER", "parts": []}}), &["message.parts"]),
        (O::SendMessage, json!({"message": message, "configuration": {"historyLength": -1}}), &["configuration.historyLength"]),
        (
            O::SendMessage,
            json!({"message": message, "configuration": {"taskPushNotificationConfig": {"authentication": {}}}}),
            &["configuration.taskPushNotificationConfig.url", "configuration.taskPushNotificationConfig.authentication.scheme"],
        ),
        (O::GetTask, json!({}), &["id"]),
        (O::GetTask, json!({"id": ""}), &["id"]),
        (O::GetTask, json!({"id": "t", "historyLength": -1}), &["historyLength"]),
        (O::CancelTask, json!({}), &["id"]),
        (O::Subscribe, json!({}), &["id"]),
        (O::ListTasks, json!({"pageSize": 0}), &["pageSize"]),
        (O::ListTasks, json!({"pageSize": 101}), &["pageSize"]),
        (O::ListTasks, json!({"pageSize": -1, "historyLength": -1}), &["pageSize", "historyLength"]),
        (O::CreatePushConfig, json!({}), &["taskId", "url"]),
        (O::GetPushConfig, json!({"taskId": "t"}), &["id"]),
        (O::GetPushConfig, json!({"id": "p"}), &["taskId"]),
        (O::ListPushConfigs, json!({"pageSize": -1}), &["taskId", "pageSize"]),
        (O::DeletePushConfig, json!({}), &["taskId", "id"]),
    ] {
        for dialect in BOTH {
            let error = dialect.request(operation, &bytes(&params), &Limits::default()).expect_err(&params.to_string());
            assert_eq!(error.kind(), ErrorKind::InvalidParams);
            let named: Vec<_> = error.violations().iter().map(|violation| violation.field.as_str()).collect();
            assert_eq!(named, fields, "{operation} {params}");
        }
    }
}

/// V10-DM-006: what an absent optional member means.
#[test]
fn absent_options_have_their_documented_defaults() {
    for dialect in BOTH {
        let Request::ListTasks(list) = dialect.request(Operation::ListTasks, b"{}", &Limits::default()).unwrap() else { panic!() };
        assert_eq!((list.applied_page_size(), list.with_artifacts(), list.history_length), (50, false, None));
        let text = br#"{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"hi"}]}}"#;
        let Request::SendMessage(send) = dialect.request(Operation::SendMessage, text, &Limits::default()).unwrap() else { panic!() };
        assert_eq!((send.configuration.return_immediately, send.configuration.history_length), (false, None));
        assert_eq!(send.configuration.accepted_output_modes, Vec::<String>::new());
    }
}

/// V10-DM-013: the one message that we write in an agent's name says where it belongs.
#[test]
fn words_of_our_own_carry_the_conversation_and_the_task() {
    let mut task = chancery_core::Task::new("t-1", "c-1", TaskState::Completed);
    let transfer = json!({"state": "transferred", "transfer": {"agentEndpoint": "https://b.example", "taskId": "t-2"}});
    task.metadata.insert(chancery_core::extension::HANDOFF.to_owned(), transfer);
    chancery_wire::transfer::unaware(&mut task);
    let message = task.status.message.unwrap();
    assert_eq!(message.role, chancery_core::Role::Agent);
    assert_eq!(message.context_id, Some("c-1".into()));
    assert_eq!(message.task_id, Some("t-1".into()));
}

/// V10-DM-014: both ids of a message arrive as they were sent, for the server to compare; its refusal
/// is the vector `error-context-mismatch`.
#[test]
fn a_message_keeps_both_of_its_ids() {
    for dialect in BOTH {
        for (context, task) in [(Some("c-1"), Some("t-1")), (Some("c-1"), None), (None, Some("t-1")), (None, None), (Some(""), Some(""))] {
            let text = json!({"message": {"messageId": "m", "contextId": context, "taskId": task, "role": "ROLE_USER", "parts": [{"text": "hi"}]}});
            let Request::SendMessage(send) = dialect.decode_request(Operation::SendMessage, &bytes(&text)).unwrap() else { panic!() };
            let filled = |id: Option<&str>| id.filter(|id| !id.is_empty()).map(str::to_owned);
            assert_eq!(send.message.context_id.map(|id| id.into_string()), filled(context));
            assert_eq!(send.message.task_id.map(|id| id.into_string()), filled(task));
        }
    }
}

/// V10-DM-007 for HTTP+JSON: unknown query parameters are ignored, the last of two wins.
#[test]
fn queries_are_read_leniently() {
    use chancery_wire::rest::Route;
    let route = Route::find("GET", "/tasks", Some("1.0"), false).unwrap().unwrap();
    let read = |query: &str| route.request(Dialect::V1_0, query, b"", &Limits::default());
    let golden = read("pageSize=5&includeArtifacts=true&status=TASK_STATE_WORKING").unwrap();
    for query in [
        "pageSize=5&includeArtifacts=true&status=TASK_STATE_WORKING&color=red&A2A-Version=1.0",
        "pageSize=9&pageSize=5&includeArtifacts=TRUE&status=TASK_STATE_WORKING",
        "page_size=5&include_artifacts=true&status=TASK_STATE_WORKING",
        "pageSize=5&includeArtifacts=1&status=TASK%5FSTATE%5FWORKING&pageToken=",
    ] {
        assert_eq!(read(query).unwrap(), golden, "{query}");
    }
    for query in ["pageSize=five", "pageSize=5.5", "statusTimestampAfter=yesterday", "includeArtifacts=maybe"] {
        assert_eq!(read(query).unwrap_err().kind(), ErrorKind::InvalidParams, "{query}");
    }
}
