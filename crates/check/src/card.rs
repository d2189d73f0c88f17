//! Everything that is wrong with a card: members of the wrong type, and what the rules of the protocol forbid.
//!
//! A parser stops at the first member that it cannot read. So that member is taken out, and the rest is read again, until all of it can be read.

use std::fmt;

use chancery_core::{Card, FieldViolation, Validate as _};
use serde_json::{Map, Value};

/// How many members of the wrong type are listed.
const MOST: usize = 100;

/// A card that was looked at.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct CardReport {
    /// What can be read of it; `None` when it is no JSON object.
    pub card: Option<Card>,
    /// Everything that is wrong with it.
    pub findings: Vec<CardFinding>,
}

/// Something that is wrong with a card.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct CardFinding {
    /// The member, as a JSON pointer: `/skills/0/id`.
    pub pointer: String,
    /// What is wrong with it.
    pub message: String,
}

impl fmt::Display for CardFinding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.pointer.as_str() {
            "" => write!(f, "the card {}", self.message),
            pointer => write!(f, "{pointer} {}", self.message),
        }
    }
}

/// Looks at a card in the form of any version.
///
/// ```
/// let report = chancery_check::card(br#"{"name": 5, "version": "1", "capabilities": {"streaming": "yes"}}"#);
/// let wrong: Vec<_> = report.findings.iter().map(|finding| finding.to_string()).collect();
/// assert!(wrong.contains(&"/name must be a string, not a number".to_owned()));
/// assert!(wrong.contains(&"/capabilities/streaming must be true or false, not a string".to_owned()));
/// assert!(wrong.iter().any(|finding| finding.starts_with("/supportedInterfaces ")));
/// ```
#[must_use]
pub fn card(json: &[u8]) -> CardReport {
    let whole = |message: String| CardReport { card: None, findings: vec![CardFinding { pointer: String::new(), message }] };
    let document: Value = match serde_json::from_slice(json) {
        Ok(document) => document,
        Err(error) => return whole(format!("is no JSON: {error}")),
    };
    let Value::Object(_) = document else { return whole(format!("must be an object, not {}", kind(&document))) };
    let (mut findings, card) = readable(document.clone());
    let Some(card) = card else { return CardReport { card, findings } };
    if !is_for_older(&document) {
        findings.extend(strange(&document, &findings));
    }
    let violations = card.validate().err();
    let known = |pointer: &str| findings.iter().any(|finding| is_within(pointer, &finding.pointer));
    let broken = violations.iter().flat_map(|error| error.violations()).map(found).filter(|finding| !known(&finding.pointer));
    let broken: Vec<_> = broken.collect();
    findings.extend(broken);
    CardReport { card: Some(card), findings }
}

/// Takes out what cannot be read, and reads the rest.
fn readable(mut document: Value) -> (Vec<CardFinding>, Option<Card>) {
    let mut findings: Vec<CardFinding> = Vec::new();
    for _ in 0..MOST {
        let error = match chancery_wire::card::read(document.to_string().as_bytes()) {
            Ok(card) => return (findings, Some(card)),
            Err(error) => error,
        };
        let first = error.violations().first().map(found);
        let pointer = first.as_ref().map_or("", |finding| finding.pointer.as_str());
        let Some(value) = document.pointer(pointer).filter(|_| !pointer.is_empty()) else {
            let message = first.map_or_else(|| format!("cannot be read: {error}"), |finding| finding.message);
            findings.push(CardFinding { pointer: String::new(), message });
            return (findings, None);
        };
        let message = first.as_ref().map_or_else(String::new, |finding| plain(&finding.message, value));
        if !findings.iter().any(|finding| finding.pointer == pointer) {
            findings.push(CardFinding { pointer: pointer.to_owned(), message });
        }
        let pointer = pointer.to_owned();
        take_out(&mut document, &pointer);
    }
    (findings, None)
}

/// Takes out a member. An item of a list is replaced by one that can be read, for the places of the others count.
fn take_out(document: &mut Value, pointer: &str) {
    let Some((parent, name)) = pointer.rsplit_once('/') else { return };
    let name = name.replace("~1", "/").replace("~0", "~");
    match document.pointer_mut(parent) {
        Some(Value::Object(members)) => drop(members.remove(&name)),
        Some(Value::Array(items)) => {
            let Some(item) = name.parse::<usize>().ok().and_then(|at| items.get_mut(at)) else { return };
            *item = match item {
                Value::String(text) if text.is_empty() => Value::Object(Map::new()),
                Value::Object(members) if members.is_empty() => Value::Null,
                _ => Value::String(String::new()),
            };
        }
        _ => {}
    }
}

/// What only readers of other versions understand in a card of v1.0: each member, or each entry of it, that is no v1.0 by itself.
fn strange(document: &Value, known: &[CardFinding]) -> Vec<CardFinding> {
    let wrong = |name: &str, value: Value| serde_json::from_value::<Card>(Value::Object(Map::from_iter([(name.to_owned(), value)]))).err();
    let mut findings = Vec::new();
    for (name, value) in document.as_object().into_iter().flatten() {
        let pointer = format!("/{}", escaped(name));
        let Some(error) = wrong(name, value.clone()) else { continue };
        let inner: Vec<_> = match value {
            Value::Object(members) => members
                .iter()
                .filter_map(|(key, one)| {
                    let error = wrong(name, Value::Object(Map::from_iter([(key.clone(), one.clone())])))?;
                    Some((format!("{pointer}/{}", escaped(key)), error))
                })
                .collect(),
            Value::Array(items) => items
                .iter()
                .enumerate()
                .filter_map(|(at, one)| Some((format!("{pointer}/{at}"), wrong(name, Value::Array(vec![one.clone()]))?)))
                .collect(),
            _ => Vec::new(),
        };
        let each = if inner.is_empty() { vec![(pointer, error)] } else { inner };
        for (pointer, error) in each {
            if !known.iter().any(|finding| is_within(&finding.pointer, &pointer)) {
                let value = document.pointer(&pointer).unwrap_or(&Value::Null);
                findings.push(CardFinding { message: plain(&error.to_string(), value), pointer });
            }
        }
    }
    findings
}

/// Whether a card has members that v1.0 has not, for readers of older versions: what those need beside it, or instead, is not for us to judge.
fn is_for_older(document: &Value) -> bool {
    ["protocolVersion", "preferredTransport", "url"].iter().any(|member| document.get(member).is_some())
}

fn found(violation: &FieldViolation) -> CardFinding {
    let pointer = match violation.field.as_str() {
        "" | "params" => String::new(),
        field => format!("/{}", field.replace(['.', '['], "/").replace(']', "")),
    };
    CardFinding { pointer, message: violation.description.clone() }
}

fn is_within(pointer: &str, other: &str) -> bool {
    pointer.strip_prefix(other).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

fn escaped(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}

/// The words of a parser as people say them.
fn plain(message: &str, value: &Value) -> String {
    let message = message.rsplit_once(" at line ").map_or(message, |(words, _)| words);
    let Some((_, expected)) = message.strip_prefix("invalid type: ").and_then(|words| words.rsplit_once(", expected ")) else {
        return message.to_owned();
    };
    let expected = match expected {
        "a boolean" => "true or false",
        "a sequence" => "a list",
        "a map" => "an object",
        words if words.starts_with("struct ") => "an object",
        "i32" | "i64" | "u32" | "u64" => "a whole number",
        words => words,
    };
    format!("must be {expected}, not {}", kind(value))
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn findings(card: &Value) -> Vec<String> {
        super::card(card.to_string().as_bytes()).findings.iter().map(ToString::to_string).collect()
    }

    fn sound() -> Value {
        json!({
            "name": "n", "description": "d", "version": "1", "capabilities": {},
            "supportedInterfaces": [{"url": "http://localhost:1/", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}],
            "defaultInputModes": ["text/plain"], "defaultOutputModes": ["text/plain"],
            "skills": [{"id": "s", "name": "s", "description": "s", "tags": ["s"]}],
        })
    }

    #[test]
    fn a_sound_card_has_no_findings() {
        assert_eq!(findings(&sound()), [""; 0]);
    }

    #[test]
    fn every_wrong_type_and_every_broken_rule_is_found() {
        let mut card = sound();
        card["name"] = json!(5);
        card["version"] = json!("");
        card["capabilities"]["streaming"] = json!("yes");
        card["defaultInputModes"] = json!("text/plain");
        card["defaultOutputModes"] = json!(["text/plain", 7]);
        card["skills"][0]["tags"] = json!({});
        card["supportedInterfaces"][0]["url"] = json!([]);
        let found = findings(&card);
        for expected in [
            "/name must be a string, not a number",
            "/capabilities/streaming must be true or false, not a string",
            "/defaultInputModes must be a list, not a string",
            "/defaultOutputModes/1 must be a string, not a number",
            "/skills/0/tags must be a list, not an object",
            "/supportedInterfaces/0/url must be a string, not a list",
        ] {
            assert!(found.contains(&expected.to_owned()), "{expected} {found:#?}");
        }
        assert!(found.iter().any(|one| one.starts_with("/version ")), "{found:#?}");
        assert_eq!(found.len(), 7, "{found:#?}");
    }

    #[test]
    fn what_is_no_card_at_all_is_said() {
        assert_eq!(findings(&json!([])), ["the card must be an object, not a list"]);
        assert!(super::card(b"<html>").findings[0].to_string().starts_with("the card is no JSON: "));
    }

    #[test]
    fn what_only_older_readers_understand_is_found_beside_the_rest() {
        let mut card = sound();
        card["version"] = json!("");
        card["securitySchemes"] =
            json!({"old": {"type": "http", "scheme": "bearer"}, "new": {"httpAuthSecurityScheme": {"scheme": "Bearer"}}});
        let found = findings(&card);
        assert!(found.len() == 2 && found[0].starts_with("/securitySchemes/old ") && found[1].starts_with("/version "), "{found:#?}");
        card["protocolVersion"] = json!("0.3.0");
        assert_eq!(findings(&card).len(), 1);
    }
}
