//! The agent card in the form of each version.
use chancery_core::{Card, Result};
use serde_json::Value;

/// Reads a card in any form: v1.0, v0.3, merged, wrapped, snake_case, compact, v0.2, v0.1. Members
/// of v1.0 win over older ones.
pub fn read(json: &[u8]) -> Result<Card> {
    crate::json::read(json)
}
/// The pure v0.3 form, with flat security.
pub fn v0_3(_card: &Card) -> Value {
    Value::Null
}
/// The v0.3 form for HTTP+JSON: every security scheme both flat and wrapped.
pub fn v0_3_rest(_card: &Card) -> Value {
    Value::Null
}
/// One document for readers of v1.0, v0.3, v0.2 and v0.1.
pub fn merged(_card: &Card) -> Value {
    Value::Null
}
/// The document at `agent.json`: v0.2, with what v0.1 needs beside it.
pub fn agent_json(_card: &Card) -> Value {
    Value::Null
}
/// The card of the compact dialect; `id` is the agent's key on its server.
pub fn compact(_card: &Card, _id: &str) -> Value {
    Value::Null
}
/// v1.0 with snake_case names.
pub fn snake(_card: &Card) -> Value {
    Value::Null
}
