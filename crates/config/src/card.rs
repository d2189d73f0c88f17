//! JSON Merge Patch (RFC 7396) of an agent card with the object in a file. What the server would not keep of it is refused.

use std::{borrow::Cow, collections::BTreeMap, ops::Range, path::Path};

use chancery_core::Card;
use serde_json::{Value, value::RawValue};

use super::{error::Error, reason};

/// Members that the server writes, in each version's words; and what says the same.
const WRITTEN: [(&[&str], &str); 3] = [
    (
        &["supportedInterfaces", "url", "preferredTransport", "additionalInterfaces", "protocolVersion"],
        "where the agent is follows from path, versions and bindings of [[agent]], and from public_url of [server]",
    ),
    (
        &["securitySchemes", "securityRequirements", "security", "authentication"],
        "who may call is said in [auth], and by auth of [[agent]]",
    ),
    (&["signatures"], "cards are signed by the server as they are served; see [signing]"),
];
/// The same of a skill.
const WRITTEN_OF_SKILLS: [(&[&str], &str); 1] =
    [(&["securityRequirements", "security"], "scopes that a skill needs are said by scopes of the skill, in skills of [[agent]]")];
/// Members that the server adds when they are missing.
const ADDED: [&str; 2] = ["streaming", "pushNotifications"];
/// The members that a file may say.
const MEMBERS: [&str; 10] = [
    "name",
    "description",
    "version",
    "provider",
    "documentationUrl",
    "iconUrl",
    "capabilities",
    "defaultInputModes",
    "defaultOutputModes",
    "skills",
];

/// Lays the JSON object of a file over a card: objects are merged, everything else is replaced, and
/// `null` removes (RFC 7396). `scoped` says whether the agent has an extended card, because its skills need scopes.
pub(super) fn merged(card: &Card, file: &Path, scoped: bool) -> Result<Card, Error> {
    let shown = file.display().to_string();
    let text =
        std::fs::read_to_string(file).map_err(|error| Error::of_file(&shown, format!("the card cannot be read: {}", reason(&error))))?;
    let patch: Value = serde_json::from_str(&text).map_err(|error| misread(&shown, &text, &error))?;
    if !patch.is_object() {
        return Err(Error::of_file(shown, "the card must be a JSON object"));
    }
    let overlay = Overlay { file: &shown, text: &text };
    overlay.check(&patch, scoped)?;
    let wrong = |error: serde_json::Error| Error::of_file(&shown, format!("the card cannot be used: {error}"));
    let mut whole = serde_json::to_value(card).map_err(wrong)?;
    merge_patch(&mut whole, patch.clone());
    let merged: Card = serde_json::from_value(whole).map_err(wrong)?;
    overlay.check_kept(&patch, &serde_json::to_value(&merged).map_err(wrong)?, &mut Vec::new())?;
    Ok(merged)
}

/// The file that is laid over a card.
struct Overlay<'t> {
    file: &'t str,
    text: &'t str,
}

/// One step from a value to one inside of it.
#[derive(Clone, Copy)]
enum Step<'p> {
    Member(&'p str),
    Item(usize),
}

impl Overlay<'_> {
    /// Refuses what the server would overwrite.
    fn check(&self, patch: &Value, scoped: bool) -> Result<(), Error> {
        self.check_written(patch, &WRITTEN, &[])?;
        for (at, skill) in patch["skills"].as_array().into_iter().flatten().enumerate() {
            self.check_written(skill, &WRITTEN_OF_SKILLS, &[Step::Member("skills"), Step::Item(at)])?;
        }
        for (name, value) in patch["capabilities"].as_object().into_iter().flatten() {
            let path = [Step::Member("capabilities"), Step::Member(name)];
            if ADDED.contains(&&*camel(name)) && value.is_null() {
                let error = self.error(&path, format!("{name:?} cannot be removed: the server adds it"));
                return Err(error.with_hint("write false for an agent that shall not have it"));
            }
            if camel(name) == "extendedAgentCard" && *value != Value::Bool(scoped) {
                let error = self.error(&path, format!("{name:?} of the card is written by the server"));
                return Err(error.with_hint("an agent has an extended card when one of its skills needs scopes, in skills of [[agent]]"));
            }
        }
        Ok(())
    }

    fn check_written(&self, members: &Value, written: &[(&[&str], &str)], below: &[Step<'_>]) -> Result<(), Error> {
        for (name, _) in members.as_object().into_iter().flatten() {
            if let Some((_, hint)) = written.iter().find(|(names, _)| names.contains(&&*camel(name))) {
                let path = [below, &[Step::Member(name)]].concat();
                return Err(self.error(&path, format!("{name:?} of the card is written by the server")).with_hint(*hint));
            }
        }
        Ok(())
    }

    /// Refuses what is not in the card although the file says it: no version 1.0 of the protocol has it.
    fn check_kept<'p>(&self, said: &'p Value, kept: &Value, path: &mut Vec<Step<'p>>) -> Result<(), Error> {
        match (said, kept) {
            (Value::Object(said), Value::Object(kept)) => {
                for (name, value) in said {
                    path.push(Step::Member(name));
                    match kept.get(&*camel(name)).or_else(|| kept.get(name)) {
                        Some(kept) => self.check_kept(value, kept, path)?,
                        // What says nothing is not written.
                        None if says_nothing(value) => {}
                        None => {
                            let near = kept.keys().map(String::as_str).chain(MEMBERS.into_iter().filter(|_| path.len() == 1));
                            return Err(self.error(path, format!("a card has no member {name:?} here")).suggest(name, near));
                        }
                    }
                    path.pop();
                }
            }
            (Value::Array(said), Value::Array(kept)) => {
                for (at, (said, kept)) in said.iter().zip(kept).enumerate() {
                    path.push(Step::Item(at));
                    self.check_kept(said, kept, path)?;
                    path.pop();
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn error(&self, path: &[Step<'_>], what: String) -> Error {
        match self.place(path) {
            Some(span) => Error::at(self.file, self.text, &span, what),
            None => Error::of_file(self.file, what),
        }
    }

    /// Where the name of a member stands in the file.
    fn place(&self, path: &[Step<'_>]) -> Option<Range<usize>> {
        let (mut value, mut place) = (self.text, None);
        for step in path {
            let inside: &RawValue = match step {
                Step::Member(name) => serde_json::from_str::<BTreeMap<String, &RawValue>>(value).ok()?.remove(*name)?,
                Step::Item(at) => serde_json::from_str::<Vec<&RawValue>>(value).ok()?.get(*at)?,
            };
            value = inside.get();
            // It is a part of the text.
            let start = value.as_ptr() as usize - self.text.as_ptr() as usize;
            let before = self.text[..start].trim_end().trim_end_matches(':').trim_end();
            let name = match step {
                Step::Member(name) => serde_json::to_string(name).ok().filter(|name| before.ends_with(name.as_str())),
                Step::Item(_) => None,
            };
            place = Some(name.map_or(start..start + 1, |name| before.len() - name.len()..before.len()));
        }
        place
    }
}

/// Whether a value is left out of a card because it is as if it were not there.
fn says_nothing(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => true,
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(members) => members.is_empty(),
        _ => false,
    }
}

/// A name as v1.0 writes it: names in snake_case are read too.
fn camel(name: &str) -> Cow<'_, str> {
    let mut words = name.split('_');
    let first = words.next().unwrap_or_default();
    let rest: Vec<_> = words.collect();
    if rest.is_empty() || first.is_empty() {
        return Cow::Borrowed(name);
    }
    let upper = |word: &&str| word.chars().enumerate().map(|(at, c)| if at == 0 { c.to_ascii_uppercase() } else { c }).collect::<String>();
    Cow::Owned(std::iter::once(first.to_owned()).chain(rest.iter().map(upper)).collect())
}

fn merge_patch(below: &mut Value, above: Value) {
    match (below, above) {
        (Value::Object(below), Value::Object(above)) => {
            for (key, value) in above {
                if value.is_null() {
                    below.remove(&key);
                } else {
                    merge_patch(below.entry(key).or_insert(Value::Null), value);
                }
            }
        }
        (below, above) => *below = above,
    }
}

fn misread(file: &str, text: &str, error: &serde_json::Error) -> Error {
    let begin: usize = text.split_inclusive('\n').take(error.line().saturating_sub(1)).map(str::len).sum();
    let at = begin + error.column().saturating_sub(1);
    let said = error.to_string();
    let what = said.split(" at line ").next().unwrap_or(&said);
    Error::at(file, text, &(at..at + 1), format!("the card is not JSON: {what}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::folder::Folder;

    fn laid(json: &str) -> Result<Card, Error> {
        let folder = Folder::new();
        let card = Card::new("Echo", "Repeats").skill("echo", "Says your words back").streaming(true).push_notifications(true);
        merged(&card, &folder.write("card.json", json), false)
    }

    #[track_caller]
    fn check(json: &str, line: usize, message: &str, hint: Option<&str>) {
        let error = laid(json).unwrap_err();
        assert_eq!((error.line(), error.message()), (Some(line), message), "{json}");
        assert!(match (error.hint(), hint) {
            (Some(hint), Some(part)) => hint.contains(part),
            (hint, part) => hint == part,
        });
    }

    #[test]
    fn what_the_server_writes_is_refused_with_what_says_the_same() {
        for (name, value, hint) in [
            ("supportedInterfaces", "[]", "public_url of [server]"),
            ("supported_interfaces", r#"[{"url": "https://a.example"}]"#, "public_url of [server]"),
            ("url", r#""https://a.example""#, "bindings of [[agent]]"),
            ("preferredTransport", r#""GRPC""#, "bindings of [[agent]]"),
            ("additionalInterfaces", "[]", "bindings of [[agent]]"),
            ("protocolVersion", r#""0.3.0""#, "versions"),
            ("securitySchemes", "{}", "[auth]"),
            ("security_requirements", "[]", "[auth]"),
            ("security", "[]", "[auth]"),
            ("authentication", "{}", "[auth]"),
            ("signatures", "[]", "[signing]"),
        ] {
            let json = format!("{{\n  \"name\": \"Harbor\",\n  {name:?}: {value}\n}}\n");
            check(&json, 3, &format!("{name:?} of the card is written by the server"), Some(hint));
        }
        let skill = "{\"skills\": [\n{\"id\": \"a\"},\n{\"id\": \"b\", \"security\": []}\n]}";
        check(skill, 3, "\"security\" of the card is written by the server", Some("scopes of the skill"));
        let extended = "{\"capabilities\": {\n\"extendedAgentCard\": true}}";
        check(extended, 2, "\"extendedAgentCard\" of the card is written by the server", Some("needs scopes"));
        let removed = "{\"capabilities\": {\n\"streaming\": null}}";
        check(removed, 2, "\"streaming\" cannot be removed: the server adds it", Some("write false"));
    }

    #[test]
    fn what_no_card_has_is_refused_with_a_suggestion() {
        check("{\n\"names\": \"Harbor\"}", 2, "a card has no member \"names\" here", Some("did you mean \"name\"?"));
        check("{\n\"iconURL\": \"x\"}", 2, "a card has no member \"iconURL\" here", Some("did you mean \"iconUrl\"?"));
        let nested = "{\"capabilities\": {\n\"stateTransitionHistory\": true}}";
        check(nested, 2, "a card has no member \"stateTransitionHistory\" here", None);
        let skill = "{\"skills\": [{\"id\": \"a\", \"name\": \"A\", \"description\": \"a\",\n \"tag\": [\"x\"]}]}";
        check(skill, 2, "a card has no member \"tag\" here", Some("did you mean \"tags\"?"));
    }

    #[test]
    fn the_mark_stands_under_the_name() {
        let error = laid("{\n  \"name\": \"url\",\n  \"url\" : \"x\"\n}").unwrap_err().to_string();
        let (_, shown) = error.split_once(": ").unwrap();
        let lines: Vec<_> = shown.lines().collect();
        assert_eq!(&lines[2..4], ["3 |   \"url\" : \"x\"", "  |   ^^^^^"], "{error}");
    }

    #[test]
    fn what_is_kept_may_be_said() {
        let card = laid(
            r#"{"name":"Harbor","documentation_url":"https://a.example","capabilities":{"streaming":false,"extendedAgentCard":false,
            "extensions":[{"uri":"urn:a","params":{"any":{"thing":null,"else":""}}}]},"provider":{"organization":"Port","url":""},
            "skills":[{"id":"a","name":"A","description":"a","tags":[],"examples":["x"],"inputModes":["text/plain"]}],"iconUrl":null}"#,
        )
        .unwrap();
        assert_eq!((card.name.as_str(), card.capabilities.streaming), ("Harbor", Some(false)));
        assert_eq!(card.documentation_url.as_deref(), Some("https://a.example"));
    }
}
