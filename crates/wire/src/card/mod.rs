//! The agent card in the form of each version.
//!
//! ```text
//!  v1.0   v0.3   merged   wrapped   snake_case   compact   v0.2   v0.1
//!    `------`------`---------`---- read ----`--------`-------`------'
//!                                   |
//!                            chancery_core::Card
//!                                   |
//!    .-------.--------.---------.---`-----.---------.--------.
//!  merged   v0_3   v0_3_rest   v0_2   agent_json  compact  snake
//! ```
//!
//! One reader takes every form. Each writer gives one document, ready to be serialized; the pure
//! v1.0 form is that of [`Card`] itself.
//!
//! What the older forms cannot say is left out: the device code flow (written as an OAuth scheme
//! without flows) and the PKCE flag before v1.0; mutual TLS, the OAuth metadata address, the
//! requirements of single skills and signatures in v0.2; everything about security but the first
//! alternative in v0.1; all interfaces but one in the compact form.

mod authentication;
mod compact;
mod flat;
mod merged;
mod older;
mod places;
mod read;
mod scheme;
mod security;
mod snake;
mod unions;

use chancery_core::{Card, Result};
use serde::Serialize;

pub use places::FoundAt;
pub(crate) use places::{Form, Places, major_minor};

/// Reads a card in any form: v1.0, v0.3, merged, wrapped, snake_case, compact, v0.2, v0.1. Members
/// of v1.0 win over older ones, and unknown members are ignored.
///
/// ```
/// let card = chancery_wire::card::read(br#"{"name":"Echo","url":"https://echo.example","protocolVersion":"0.3.0"}"#)?;
/// assert_eq!(card.supported_interfaces[0].protocol_binding, "JSONRPC");
/// assert_eq!(card.supported_interfaces[0].protocol_version, "0.3");
/// # Ok::<(), chancery_core::Error>(())
/// ```
///
/// # Errors
/// When the text is no JSON object, or naming the member that has the wrong type.
pub fn read(json: &[u8]) -> Result<Card> {
    read_from(json, FoundAt::Elsewhere)
}

/// Reads a card in any form that was found at a known place. The place tells what a card without
/// `protocolVersion` means, and where the agent is when the card does not say it.
///
/// # Errors
/// As [`read`].
pub fn read_from(json: &[u8], found_at: FoundAt<'_>) -> Result<Card> {
    read::read(&unions::undone(json), found_at)
}

/// A card in the form of one version, ready to be serialized.
///
/// ```
/// use chancery_core::{Binding, Card, Version};
/// use chancery_wire::card;
///
/// let echo = Card::new("Echo", "Repeats what it hears").interface("https://echo.example/rpc", Binding::JsonRpc, Version::V0_3);
/// let json = serde_json::to_value(card::v0_3(&echo))?;
/// assert_eq!(json["url"], "https://echo.example/rpc");
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Serialize)]
#[serde(transparent)]
pub struct Document<'a>(Content<'a>);

#[derive(Debug, Serialize)]
#[serde(untagged)]
enum Content<'a> {
    V1_0(&'a Card),
    Merged(Box<merged::Merged<'a>>),
    Older(Box<older::Older<'a>>),
    Compact(Box<compact::Compact<'a>>),
    Snake(Box<snake::Snake<'a>>),
}

/// The pure v0.3 form, with flat security.
///
/// The endpoints are the card's v0.3 interfaces, JSON-RPC as the main one where there is one. A
/// card without v0.3 interfaces names its first JSON-RPC interface, else its first: an extended
/// card asked for over v0.3 needs a `url`, whatever the card lists.
#[must_use]
pub fn v0_3(card: &Card) -> Document<'_> {
    Document(Content::Older(Box::new(older::v0_3(card))))
}

/// The v0.3 form for HTTP+JSON: every security scheme both flat and wrapped.
#[must_use]
pub fn v0_3_rest(card: &Card) -> Document<'_> {
    Document(Content::Older(Box::new(older::v0_3_rest(card))))
}

/// The v0.2 form, for the extended card. The file at `agent.json` is [`agent_json`].
#[must_use]
pub fn v0_2(card: &Card) -> Document<'_> {
    Document(Content::Older(Box::new(older::v0_2(card))))
}

/// The document at `agent.json`: v0.2, with what v0.1 needs beside it.
#[must_use]
pub fn agent_json(card: &Card) -> Document<'_> {
    Document(Content::Older(Box::new(older::agent_json(card))))
}

/// One document for readers of v1.0 and v0.3, to be served at `agent-card.json`.
///
/// A card without v0.3 interfaces is written as pure v1.0.
#[must_use]
pub fn merged(card: &Card) -> Document<'_> {
    Document(merged::merged(card).map_or(Content::V1_0(card), |merged| Content::Merged(Box::new(merged))))
}

/// The card of the compact dialect; `id` is the agent's key on its server. Its one interface is
/// the card's first v1.0 JSON-RPC interface, else the first of v1.0, else the first.
#[must_use]
pub fn compact<'a>(card: &'a Card, id: &'a str) -> Document<'a> {
    Document(Content::Compact(Box::new(compact::compact(card, id))))
}

/// v1.0 with snake_case names and flat security, for those who ask for it.
#[must_use]
pub fn snake(card: &Card) -> Document<'_> {
    Document(Content::Snake(Box::new(snake::snake(card))))
}
