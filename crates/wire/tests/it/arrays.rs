//! An array is no object: whatever object of a message is written as the array of its values, or as an empty one, the
//! message is refused.

use chancery_core::{Binding, ErrorKind, Operation};
use chancery_wire::{Dialect, StreamMemory, jsonrpc};
use serde_json::{Value, json};

use crate::{generate::Generator, vector::bytes};

/// Members that hold whatever their sender likes, and those that some SDKs write as arrays.
const FREE: [&str; 7] = ["metadata", "data", "structuredData", "params", "header", "securityRequirements", "security"];

/// The message with each of its objects turned into arrays, and which object that is.
fn spoiled(message: &Value) -> Vec<(String, Value)> {
    fn walk(here: &Value, at: &str, found: &mut Vec<String>) {
        match here {
            Value::Object(members) => {
                found.push(at.to_owned());
                for (name, value) in members.iter().filter(|(name, _)| !FREE.contains(&name.as_str())) {
                    walk(value, &format!("{at}/{}", name.replace('~', "~0").replace('/', "~1")), found);
                }
            }
            Value::Array(items) => items.iter().enumerate().for_each(|(index, item)| walk(item, &format!("{at}/{index}"), found)),
            _ => {}
        }
    }
    let mut found = Vec::new();
    walk(message, "", &mut found);
    let mut all = Vec::new();
    for at in found {
        let values: Vec<_> = message.pointer(&at).unwrap().as_object().unwrap().values().cloned().collect();
        for array in [values, Vec::new()] {
            let mut message = message.clone();
            *message.pointer_mut(&at).unwrap() = Value::from(array);
            all.push((at.clone(), message));
        }
    }
    all
}

/// Checks every spoiled form of a message that can be read, and counts them.
fn check(dialect: Dialect, what: &str, message: &[u8], read: impl Fn(&[u8]) -> Result<(), chancery_core::Error>) -> usize {
    let message: Value = serde_json::from_slice(message).unwrap();
    if read(&bytes(&message)).is_err() {
        return 0;
    }
    let mut spoiled = spoiled(&message);
    // Some versions answer a request for a list with the list alone, and where everything is said in the path nobody looks at
    // a body that is no object.
    let free = what.starts_with("List") || what == "GetExtendedAgentCard" || dialect == Dialect::V0_3Rest;
    spoiled.retain(|(at, _)| !(free && at.is_empty()));
    let taken: Vec<_> = spoiled.iter().filter(|(_, message)| read(&bytes(message)).is_ok()).map(|(at, _)| at).collect();
    assert!(taken.is_empty(), "{dialect:?} {what}: arrays at {taken:?} of {message}");
    spoiled.len()
}

/// In requests, answers and streams of every dialect.
#[test]
fn no_object_may_be_an_array() {
    for dialect in Dialect::JSON {
        let mut count = 0;
        for case in 0..20 {
            let mut make = Generator::new(case);
            for operation in Operation::ALL {
                if let Ok(request) = dialect.encode_request(&make.request(operation)) {
                    count += check(dialect, &format!("{operation}"), &request, |json| dialect.decode_request(operation, json).map(drop));
                }
                let reply = dialect.encode_reply(&make.reply(operation)).ok();
                // Nobody looks into the answer to a deletion, and cards of the compact dialect are read in many forms.
                let free =
                    operation == Operation::DeletePushConfig || (dialect == Dialect::Compact && operation == Operation::GetExtendedCard);
                if let Some(reply) = reply.filter(|_| !free) {
                    count += check(dialect, &format!("{operation} reply"), &reply, |json| dialect.decode_reply(operation, json).map(drop));
                }
            }
            for event in make.stream() {
                for element in dialect.encode_event(&event, &mut StreamMemory::default()).unwrap() {
                    let read = |json: &[u8]| dialect.decode_event(json, &mut StreamMemory::default()).map(drop);
                    count += check(dialect, "event", &element, read);
                }
            }
        }
        assert!(count > 500, "{dialect:?}: {count}");
        println!("{dialect:?}: {count} messages refused");
    }
}

/// V10-ERR-014, V10-ERR-016: by its path.
#[test]
fn the_error_names_the_array() {
    let message = json!({"message": ["m-1", "c-1", "t-1", "ROLE_USER", [{"text": "hi"}]]});
    let part = json!({"message": {"messageId": "m-1", "role": "ROLE_USER", "parts": [["hi"]]}});
    let configuration = json!({"message": {"messageId": "m-1", "role": "ROLE_USER", "parts": [{"text": "hi"}]}, "configuration": []});
    for (request, path) in [(message, "message"), (part, "message.parts[0]"), (configuration, "configuration")] {
        let error = Dialect::V1_0.decode_request(Operation::SendMessage, &bytes(&request)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidParams);
        let violation = &error.violations()[0];
        assert_eq!(violation.field, path);
        assert!(violation.description.contains("sequence"), "{}", violation.description);
    }
}

/// The envelope is none either: an array is a batch, and an array within one is nothing.
#[test]
fn an_envelope_is_no_array() {
    let refused = jsonrpc::Call::parse(br#"["2.0",1,"GetTask",{"id":"t"}]"#).unwrap_err();
    assert_eq!(refused.error.kind(), ErrorKind::InvalidRequest);
    jsonrpc::Response::parse(br#"[1,{}]"#).unwrap_err();
}

/// Whatever is asked over JSON-RPC is read to its end, also where nothing in it matters.
#[test]
fn no_parameters_are_read_in_part() {
    let spoken = |dialect: &Dialect| Dialect::of(dialect.version(), Binding::JsonRpc) == Some(*dialect);
    for dialect in Dialect::JSON.into_iter().filter(spoken) {
        for (operation, wrong) in Operation::ALL.iter().flat_map(|operation| WRONG.map(|wrong| (*operation, wrong))) {
            assert!(dialect.decode_request(operation, wrong.as_bytes()).is_err(), "{dialect:?} {operation:?} {wrong}");
        }
    }
    const WRONG: [&str; 5] = ["{", "{}}", "{},\"id\":1", "{\"a\":}", "{\"a\":\"\n\"}"];
}
