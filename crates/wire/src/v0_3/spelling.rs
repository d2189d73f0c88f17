//! Members in two spellings: camelCase, and the snake_case of the protobuf messages.

use chancery_core::Result;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::json;

/// Members whose content belongs to the agents; what looks like a spelling there is none.
const FREE: [&str; 2] = ["metadata", "data"];

/// Reads an object; where a member is there in both spellings, camelCase wins (V03-SHAPE-006).
///
/// The parser takes the second spelling for a duplicate. Nobody sends both on purpose, so only a
/// text that was refused is looked at again.
pub(super) fn read<T: DeserializeOwned>(json: &[u8]) -> Result<T> {
    json::read(json).or_else(|error| match without_second_spellings(json) {
        Some(json) => json::read(&json),
        None => Err(error),
    })
}

#[cold]
fn without_second_spellings(json: &[u8]) -> Option<Vec<u8>> {
    let mut value: Value = serde_json::from_slice(json).ok()?;
    drop_snake(&mut value).then(|| value.to_string().into_bytes())
}

/// Drops every snake_case member that is there in camelCase too, and says whether it found any.
fn drop_snake(value: &mut Value) -> bool {
    let mut found = false;
    match value {
        Value::Array(items) => {
            for item in items {
                found |= drop_snake(item);
            }
        }
        Value::Object(members) => {
            let second = |name: &&String| name.contains('_') && members.contains_key(&json::camel_case(name));
            let names: Vec<_> = members.keys().filter(second).cloned().collect();
            for name in names {
                found |= members.remove(&name).is_some();
            }
            for (_, member) in members.iter_mut().filter(|(name, _)| !FREE.contains(&name.as_str())) {
                found |= drop_snake(member);
            }
        }
        _ => {}
    }
    found
}
