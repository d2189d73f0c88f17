//! `[handoff]`: whom agents may pass work on to, and how they take work from others.

use std::time::Duration;

use chancery_core::Secret;
use chancery_lattice::{Audience, Patterns};

use super::{
    auth::{Nested, tables},
    or,
    section::{Document, Keys, Result, Section},
};

pub(crate) const HANDOFF: Keys =
    Keys::new(&["allow", "relay", "max_hops", "max_visits", "grants", "trusted_delegators", "on_ambiguous", "on_message_reply"], &[]);
pub(crate) const PEER: Keys = Keys::new(&["name", "url", "bearer", "api_key"], &[]);

/// How agents pass work on, and take it.
#[derive(Debug, Clone, PartialEq)]
pub struct Handoff {
    /// The origins of other agents that work may go to, beside those that have a name.
    pub allow: Patterns<Audience>,
    /// Other agents that have a name here.
    pub peers: Vec<Peer>,
    /// Whether tasks of callers that do not know of handoffs go on here.
    pub relay: bool,
    /// How many hops work may make.
    pub max_hops: Option<u32>,
    /// How often one agent may have a task in one chain of handoffs.
    pub max_visits: Option<usize>,
    /// How long a grant opens a task; `None` gives none.
    pub grants: Option<Duration>,
    /// Who is believed about the users that it hands tasks over for.
    pub trusted_delegators: Vec<String>,
    /// What happens when a crash left it open whether the other agent has the task.
    pub on_ambiguous: OnAmbiguous,
    /// What happens when the other agent answers without a task.
    pub on_message_reply: OnMessageReply,
}

/// What becomes of a handed-over task when a crash left it open whether the other agent has it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum OnAmbiguous {
    /// It fails.
    #[default]
    Fail,
    /// It is sent again.
    Retry,
}

/// What becomes of a handed-over task when the other agent answers with a message instead of a task.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum OnMessageReply {
    /// The message is the result.
    #[default]
    Complete,
    /// It fails.
    Fail,
}

/// Another agent, with the credentials that it is shown.
#[derive(Debug, Clone, PartialEq)]
pub struct Peer {
    /// What the agents of the file call it.
    pub name: String,
    /// Its base URL.
    pub url: String,
    /// A bearer token.
    pub bearer: Option<Secret>,
    /// An API key.
    pub api_key: Option<Secret>,
}

pub(crate) fn handoff(document: &Document<'_>, mut section: Section<'_, '_>, peers: Option<Nested<'_>>) -> Result<Handoff> {
    let mut allow = Vec::new();
    for origin in or(section.texts("allow")?, Vec::new) {
        let pattern = origin.value.parse::<Audience>();
        allow.push(pattern.map_err(|error| {
            section
                .error(&origin, error.to_string())
                .with_hint("write an origin like \"https://billing.example.com\" or \"https://*.example.com\"")
        })?);
    }
    let max_hops = match section.count("max_hops")? {
        Some(hops) => Some(u32::try_from(hops.value).map_err(|_| section.error(&hops, "max_hops is too large"))?),
        None => None,
    };
    let grants = match section.text("grants")? {
        None => Some(Duration::from_secs(24 * 3_600)),
        Some(text) if text.value == "off" => None,
        Some(text) => Some(super::duration(&text.value).ok_or_else(|| {
            section.error(&text, format!("grants must be a duration or \"off\", not {:?}", text.value)).with_hint("write it like 12h or 2d")
        })?),
    };
    let ambiguous = [("fail", OnAmbiguous::Fail), ("retry", OnAmbiguous::Retry)];
    let replies = [("complete", OnMessageReply::Complete), ("fail", OnMessageReply::Fail)];
    Ok(Handoff {
        allow: allow.into_iter().collect(),
        peers: self::peers(document, peers)?,
        relay: or(section.flag("relay")?, || true),
        max_hops,
        max_visits: section.count("max_visits")?.map(|visits| visits.value),
        grants,
        trusted_delegators: or(section.texts("trusted_delegators")?, Vec::new).into_iter().map(|name| name.value).collect(),
        on_ambiguous: or(section.choice("on_ambiguous", &ambiguous)?, OnAmbiguous::default),
        on_message_reply: or(section.choice("on_message_reply", &replies)?, OnMessageReply::default),
    })
}

fn peers(document: &Document<'_>, nested: Option<Nested<'_>>) -> Result<Vec<Peer>> {
    let mut peers: Vec<Peer> = Vec::new();
    for (span, table) in tables(document, nested, "[[handoff.peers]]")? {
        let mut section = Section::open(document, "[[handoff.peers]]", table, span, &PEER, false)?;
        let missing = |section: &Section<'_, '_>, key| {
            section.table_error(format!("the peer has no {key}")).with_hint(format!("add {key} = \"...\""))
        };
        let Some(name) = section.text("name")? else { return Err(missing(&section, "name")) };
        if name.value.is_empty() || name.value.contains("://") || peers.iter().any(|known| known.name == name.value) {
            return Err(section.error(&name, format!("{:?} is no name of its own", name.value)));
        }
        let Some(url) = section.text("url")? else { return Err(missing(&section, "url")) };
        if !url::Url::parse(&url.value).is_ok_and(|url| matches!(url.scheme(), "http" | "https")) {
            return Err(section
                .error(&url, format!("{:?} is no URL of an agent", url.value))
                .with_hint("write it like \"https://billing.example.com\""));
        }
        let secret = |text: Option<super::section::Value<String>>| text.map(|text| Secret::from(text.value));
        let (bearer, api_key) = (secret(section.text("bearer")?), secret(section.text("api_key")?));
        peers.push(Peer { name: name.value, url: url.value.trim_end_matches('/').to_owned(), bearer, api_key });
    }
    Ok(peers)
}
