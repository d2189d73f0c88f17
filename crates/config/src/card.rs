//! JSON Merge Patch (RFC 7396) of an agent card with the object in a file.

use std::path::Path;

use chancery_core::Card;
use serde_json::Value;

use super::{error::Error, reason};

/// Lays the JSON object of a file over a card: objects are merged, everything else is replaced, and
/// `null` removes (RFC 7396).
pub(super) fn merged(card: &Card, file: &Path) -> Result<Card, Error> {
    let shown = file.display().to_string();
    let text =
        std::fs::read_to_string(file).map_err(|error| Error::of_file(&shown, format!("the card cannot be read: {}", reason(&error))))?;
    let patch: Value = serde_json::from_str(&text).map_err(|error| misread(&shown, &text, &error))?;
    if !patch.is_object() {
        return Err(Error::of_file(shown, "the card must be a JSON object"));
    }
    let wrong = |error: serde_json::Error| Error::of_file(&shown, format!("the card cannot be used: {error}"));
    let mut whole = serde_json::to_value(card).map_err(wrong)?;
    merge_patch(&mut whole, patch);
    serde_json::from_value(whole).map_err(wrong)
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
