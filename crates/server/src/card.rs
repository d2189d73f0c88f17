//! The agent's card at its well-known paths, in the forms that readers of each version want.

use chancery_core::{Bytes, Card, Error, Result, Version};
use chancery_wire::{
    facts,
    version::{CardForm, RequestedVersion},
};
use http::{
    HeaderMap, HeaderName, HeaderValue, StatusCode,
    header::{ACCESS_CONTROL_ALLOW_ORIGIN, CACHE_CONTROL, CONTENT_TYPE, ETAG, IF_MODIFIED_SINCE, IF_NONE_MATCH, LAST_MODIFIED, VARY},
};

use serde_json::Value;

use crate::body::Body;

/// How long a reader may keep a card without asking again.
const FRESH: HeaderValue = HeaderValue::from_static("public, max-age=300");

/// Signs cards. It is asked when a card or a signer changes, when a card is first read under another of the server's hosts, and for each
/// extended card.
pub trait CardSigner: Send + Sync {
    /// Signs a public card, as it is read under this base URL of the server.
    ///
    /// # Errors
    /// When it cannot be signed.
    fn sign(&self, card: &mut Card, base: &str) -> Result<()>;

    /// Signs the extended card of one caller, as it is read under this base URL of the server.
    ///
    /// # Errors
    /// When it cannot be signed.
    fn sign_extended(&self, card: &mut Card, base: &str) -> Result<()>;

    /// Signs the form of a public card with snake_case names, as it is (DIA-002-CARD-004).
    ///
    /// # Errors
    /// When it cannot be signed.
    fn sign_snake(&self, card: Value, base: &str) -> Result<Value>;

    /// The public keys, as JWKs.
    fn keys(&self) -> Vec<Value>;
}

/// All forms of one card, written once.
#[derive(Debug)]
pub(crate) struct CardFiles {
    /// One document for readers of every version.
    merged: File,
    /// For readers that refuse members they do not know.
    v1_0: File,
    agent_json: File,
    compact: File,
    /// With snake_case names, for those who ask for it.
    snake: File,
    since: HeaderValue,
}

#[derive(Debug)]
struct File {
    json: Bytes,
    tag: HeaderValue,
}

impl CardFiles {
    /// Writes the forms of a card; `key` names the agent in the compact form, `base` is where it is read, `since` is when the card
    /// came to be, as an HTTP date. A card that is to be signed is signed here: what is for readers of other versions is written from what
    /// is signed, so that it cannot say anything else.
    pub(crate) fn new(card: &Card, key: &str, signer: Option<&dyn CardSigner>, base: &str, since: HeaderValue) -> Result<Self> {
        let mut card = card.clone();
        let snake = match signer {
            Some(signer) => {
                // CONV-CARD-002: once it is signed, it is too late to sort them.
                card.supported_interfaces.sort_by_key(|interface| interface.protocol_version != Version::LATEST.as_str());
                signer.sign(&mut card, base)?;
                let mut snake = serde_json::to_value(chancery_wire::card::snake(&card)).map_err(Error::internal)?;
                if let Some(members) = snake.as_object_mut() {
                    // Those are over another document.
                    members.shift_remove("signatures");
                }
                File::new(&signer.sign_snake(snake, base)?)?
            }
            None => File::new(&chancery_wire::card::snake(&card))?,
        };
        Ok(Self {
            merged: File::new(&chancery_wire::card::merged(&card))?,
            v1_0: File::new(&card)?,
            agent_json: File::new(&chancery_wire::card::agent_json(&card))?,
            compact: File::new(&chancery_wire::card::compact(&card, key))?,
            snake,
            since,
        })
    }

    /// Answers a request for a card.
    pub(crate) fn answer(&self, form: CardForm, query: Option<&str>, headers: &HeaderMap) -> http::Response<Body> {
        let version = headers.get(HeaderName::from_static(chancery_wire::headers::VERSION)).and_then(|value| value.to_str().ok());
        let file = match form {
            CardForm::AgentJson => &self.agent_json,
            CardForm::Compact => &self.compact,
            _ if asks_for_snake(query) => &self.snake,
            _ if matches!(RequestedVersion::parse(version), RequestedVersion::For(version) if facts(version).is_canonical) => &self.v1_0,
            _ => &self.merged,
        };
        let unchanged = match headers.get(IF_NONE_MATCH) {
            Some(tags) => tags.to_str().is_ok_and(|tags| is_among(tags, &file.tag)),
            None => headers.get(IF_MODIFIED_SINCE).is_some_and(|known| date(known) >= date(&self.since)),
        };
        let mut response = http::Response::new(if unchanged { Body::bytes(Bytes::new()) } else { Body::bytes(file.json.clone()) });
        if unchanged {
            *response.status_mut() = StatusCode::NOT_MODIFIED;
        }
        let answer = response.headers_mut();
        answer.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        answer.insert(ETAG, file.tag.clone());
        answer.insert(LAST_MODIFIED, self.since.clone());
        answer.insert(CACHE_CONTROL, FRESH);
        answer.insert(VARY, HeaderValue::from_static("A2A-Version"));
        // A public card is for everybody, pages in browsers included.
        answer.insert(ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*"));
        response
    }
}

impl File {
    fn new(document: &impl serde::Serialize) -> Result<Self> {
        let json = serde_json::to_vec(document).map_err(Error::internal)?;
        let digest = aws_lc_rs::digest::digest(&aws_lc_rs::digest::SHA256, &json);
        let tag: String = digest.as_ref().iter().take(16).map(|byte| format!("{byte:02x}")).collect();
        Ok(Self { json: json.into(), tag: HeaderValue::from_str(&format!("\"{tag}\"")).map_err(Error::internal)? })
    }
}

/// DIA-002-CARD-003: names in snake_case are for those who ask for them.
fn asks_for_snake(query: Option<&str>) -> bool {
    let mut pairs = url::form_urlencoded::parse(query.unwrap_or_default().as_bytes());
    pairs.any(|(name, value)| name == "names" && value == "snake")
}

/// An HTTP date; `None` comes before all of them.
fn date(value: &HeaderValue) -> Option<std::time::SystemTime> {
    httpdate::parse_http_date(value.to_str().ok()?).ok()
}

/// Whether a list of tags names this one, weakly or strongly, or all.
fn is_among(tags: &str, own: &HeaderValue) -> bool {
    tags.split(',').map(str::trim).any(|tag| tag == "*" || tag.strip_prefix("W/").unwrap_or(tag).as_bytes() == own.as_bytes())
}
