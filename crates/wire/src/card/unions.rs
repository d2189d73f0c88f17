//! The card of the JavaScript SDK 1.3.0 shows how that program keeps a oneof in memory:
//! `{"scheme": {"$case": "httpAuthSecurityScheme", "value": {…}}}` for `{"httpAuthSecurityScheme": {…}}`.

use std::borrow::Cow;

use serde_json::Value;

/// The card with every such object in the form of the specification; the text itself when it has none.
pub(super) fn undone(json: &[u8]) -> Cow<'_, [u8]> {
    let shown = json.windows(7).any(|text| text == b"\"$case\"");
    match shown.then(|| serde_json::from_slice::<Value>(json)) {
        Some(Ok(mut card)) => {
            undo(&mut card);
            Cow::Owned(card.to_string().into_bytes())
        }
        _ => Cow::Borrowed(json),
    }
}

fn undo(value: &mut Value) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(undo),
        Value::Object(members) => {
            let union = members.values_mut().next().filter(|union| union.get("$case").is_some_and(Value::is_string));
            if let Some((case, inner)) = union.map(|union| (union["$case"].take(), union["value"].take()))
                && members.len() == 1
                && let Value::String(case) = case
            {
                members.clear();
                members.insert(case, inner);
            }
            members.values_mut().for_each(undo);
        }
        _ => {}
    }
}
