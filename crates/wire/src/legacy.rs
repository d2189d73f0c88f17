//! What the versions before v1.0 have in common: where they keep what they have no member for.
//!
//! | of v1.0 | kept as |
//! |---|---|
//! | `mediaType`, `filename` of a text or data part | part metadata `a2a.v1.part` |
//! | a data part that is no object | `{"value": …}`, marked by part metadata `data_part_compat` |
//! | a state that no version knows | task or event metadata `a2a.compat.state` |

use std::borrow::Cow;

use chancery_core::{Authentication, Content, Object, Part, PushConfig, Secret, TaskState};
use serde_json::{Map, Value};

use crate::states;

const PART: &str = "a2a.v1.part";
const WRAPPED: &str = "data_part_compat";
const STATE: &str = "a2a.compat.state";

/// The metadata of a part, with what the older version has no member for.
pub(crate) fn part_metadata(part: &Part) -> Cow<'_, Object> {
    let default_type = match &part.content {
        Content::Text(_) => "text/plain",
        Content::Data(_) => "application/json",
        Content::Raw(_) | Content::Url(_) => return Cow::Borrowed(&part.metadata),
    };
    let mut extra = Object::new();
    if !part.media_type.is_empty() && part.media_type != default_type {
        extra.insert("mediaType".to_owned(), part.media_type.clone().into());
    }
    if !part.filename.is_empty() {
        extra.insert("filename".to_owned(), part.filename.clone().into());
    }
    let wrapped = matches!(&part.content, Content::Data(value) if !value.is_object());
    if extra.is_empty() && !wrapped {
        return Cow::Borrowed(&part.metadata);
    }
    let mut metadata = part.metadata.clone();
    if wrapped {
        metadata.insert(WRAPPED.to_owned(), true.into());
    }
    if !extra.is_empty() {
        metadata.insert(PART.to_owned(), extra.into());
    }
    Cow::Owned(metadata)
}

/// Structured data as the object that older versions demand.
pub(crate) fn data_object(value: &Value) -> Cow<'_, Map<String, Value>> {
    match value {
        Value::Object(members) => Cow::Borrowed(members),
        other => Cow::Owned(Map::from_iter([("value".to_owned(), other.clone())])),
    }
}

/// Takes back out of the metadata of a part that was read what [`part_metadata`] put there.
pub(crate) fn restore_part(part: &mut Part) {
    if part.metadata.get(WRAPPED) == Some(&Value::Bool(true))
        && let Content::Data(Value::Object(members)) = &mut part.content
        && members.len() == 1
        && let Some(value) = members.remove("value")
    {
        part.content = Content::Data(value);
        part.metadata.remove(WRAPPED);
    }
    if let (Content::Text(_) | Content::Data(_), Some(Value::Object(extra))) = (&part.content, part.metadata.get(PART)) {
        let text = |key: &str| extra.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
        (part.media_type, part.filename) = (text("mediaType"), text("filename"));
        part.metadata.remove(PART);
    }
}

/// A state word of a peer. One that nobody knows is kept in the metadata of the task or event.
pub(crate) fn read_state(word: &str, metadata: &mut Object) -> TaskState {
    states::read(word).unwrap_or_else(|| {
        metadata.insert(STATE.to_owned(), word.into());
        TaskState::Unspecified
    })
}

/// The authentication of a webhook from a list of schemes: the first that we can use, else the
/// first. The whole list is kept for those who read it again in the old form.
pub(crate) fn set_schemes(config: &mut PushConfig, schemes: Vec<String>, credentials: Secret) {
    let usable = |scheme: &&String| scheme.eq_ignore_ascii_case("bearer") || scheme.eq_ignore_ascii_case("basic");
    let scheme = schemes.iter().find(usable).or(schemes.first()).cloned().unwrap_or_default();
    config.authentication = Some(Authentication::new(scheme, credentials));
    if schemes.len() > 1 {
        config.record.schemes = schemes;
    }
}

/// The schemes of a webhook as older versions list them.
pub(crate) fn schemes(config: &PushConfig) -> Vec<Cow<'_, str>> {
    match (&config.authentication, config.record.schemes.as_slice()) {
        (None, _) => Vec::new(),
        (Some(authentication), []) if authentication.scheme.is_empty() => Vec::new(),
        (Some(authentication), []) => vec![Cow::Borrowed(authentication.scheme.as_str())],
        (Some(_), schemes) => schemes.iter().map(|scheme| Cow::Borrowed(scheme.as_str())).collect(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// CONV-PART-002, CONV-PART-004.
    #[test]
    fn what_a_part_cannot_say_is_kept_in_its_metadata_and_found_again() {
        let parts = [
            Part::text("# md").media_type("text/markdown").filename("n.md").metadata("k", 1),
            Part::data(json!([1, 2])),
            Part::data(Value::Null).media_type("application/vnd.x+json"),
            Part::data(json!({"value": 1})),
            Part::raw("hi").media_type("text/plain").filename("h.txt"),
        ];
        for part in parts {
            let mut read = part.clone();
            read.metadata = part_metadata(&part).into_owned();
            if let Content::Data(value) = &part.content {
                read.content = Content::Data(Value::Object(data_object(value).into_owned()));
            }
            if matches!(part.content, Content::Text(_) | Content::Data(_)) {
                (read.media_type, read.filename) = (String::new(), String::new());
            }
            restore_part(&mut read);
            assert_eq!(read, part);
        }
    }
}
