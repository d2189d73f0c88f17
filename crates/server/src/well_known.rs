//! Well-known documents of a server: the key set of its signatures, and the catalog of its agents, which is also a page.

use std::sync::Arc;

use chancery_core::{Bytes, Error, ErrorKind};
use http::{
    HeaderMap, HeaderValue, Response,
    header::{ACCEPT, CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE},
};
use serde_json::{Value, json};
use url::Url;

use crate::{body::Body, card::CardSigner, hosted::Hosted, hosts::Hosts};

/// The path of the public keys on a server.
pub const KEYS_PATH: &str = "/.well-known/jwks.json";

/// The path of the catalog on a server.
pub(crate) const CATALOG: &str = "/.well-known/ai-catalog.json";
/// What the entries of a catalog are.
const CARD: &str = "application/a2a-agent-card+json";
/// How many agents an error names.
const NAMED: usize = 16;

/// What is known of the server itself.
#[derive(Default)]
pub(crate) struct WellKnown {
    /// Public keys that are published whoever signs the cards.
    pub(crate) keys: Vec<Value>,
    /// What the identifiers of agents begin with, if that was said: `urn:air:example.com:agents`.
    pub(crate) catalog: Option<String>,
}

/// The documents, written anew when an agent changes.
#[derive(Default, Clone)]
pub(crate) struct Documents {
    pub(crate) keys: Option<Bytes>,
    /// One for each base URL; none for an agent alone at the root, unless it was asked for.
    catalogs: Vec<Bytes>,
}

impl Documents {
    /// The catalog under the base URL at a place of the router's list.
    pub(crate) fn catalog(&self, at: usize) -> Option<Bytes> {
        self.catalogs.get(at).cloned()
    }
}

impl WellKnown {
    pub(crate) fn documents(&self, hosts: &Hosts, agents: &[Arc<Hosted>]) -> Documents {
        let text = |value: Value| Bytes::from(value.to_string());
        let alone = matches!(agents, [agent] if agent.path.is_empty());
        let prefix = self.catalog.clone().or_else(|| (!alone).then(|| format!("urn:air:{}:agents", host_name(hosts.url(0)))));
        let catalogs = prefix.map(|prefix| hosts.urls().map(|base| text(catalog(base, &prefix, agents))).collect());
        Documents { keys: self.published(agents).map(text), catalogs: catalogs.unwrap_or_default() }
    }

    fn published(&self, agents: &[Arc<Hosted>]) -> Option<Value> {
        let mut signers: Vec<&Arc<dyn CardSigner>> = Vec::new();
        // The order in which they were added is gone; that of their paths is as good.
        for signer in agents.iter().rev().filter_map(|agent| agent.signer.as_ref()) {
            if !signers.iter().any(|known| Arc::ptr_eq(known, signer)) {
                signers.push(signer);
            }
        }
        key_set(&self.keys, signers.into_iter().flat_map(|signer| signer.keys()))
    }
}

fn catalog(base: &str, prefix: &str, agents: &[Arc<Hosted>]) -> Value {
    let entry = |agent: &Arc<Hosted>| {
        let card = &agent.card;
        let mut tags: Vec<_> = card.skills.iter().flat_map(|skill| &skill.tags).collect();
        tags.sort();
        tags.dedup();
        json!({
            "identifier": format!("{prefix}:{}", agent.listed),
            "displayName": card.name,
            // The two specifications of this document call it differently.
            "mediaType": CARD,
            "type": CARD,
            "url": card_url(base, agent),
            "description": card.description,
            "version": card.version,
            "tags": tags,
        })
    };
    // The shortest path first, as people would.
    let entries: Vec<_> = agents.iter().rev().map(entry).collect();
    let host = base.split_once("://").map_or(base, |(_, rest)| rest);
    json!({"specVersion": "1.0", "host": {"displayName": host, "identifier": prefix}, "entries": entries})
}

fn card_url(base: &str, agent: &Hosted) -> String {
    format!("{base}{}/.well-known/agent-card.json", agent.path)
}

/// The name of the host in a URL.
fn host_name(base: &str) -> String {
    Url::parse(base).ok().and_then(|url| url.host_str().map(str::to_owned)).unwrap_or_else(|| "localhost".to_owned())
}

/// A document that may be kept for a while.
pub(crate) fn document(document: Bytes, content_type: &'static str) -> Response<Body> {
    let mut response = Response::new(Body::bytes(document));
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("public, max-age=300"));
    response
}

/// Whether whoever asks would read a page: a browser says so.
pub(crate) fn wants_page(headers: &HeaderMap) -> bool {
    let accepted = headers.get_all(ACCEPT).iter().filter_map(|accepted| accepted.to_str().ok());
    accepted.flat_map(|accepted| accepted.split(',')).any(|range| range.split(';').next().unwrap_or_default().trim() == "text/html")
}

/// The agents of the server as a page for people.
pub(crate) fn page(base: &str, agents: &[Arc<Hosted>]) -> Response<Body> {
    let item = |agent: &Arc<Hosted>| {
        let url = escaped(&card_url(base, agent));
        let (name, description) = (escaped(&agent.card.name), escaped(&agent.card.description));
        format!("<dt><a href=\"{url}\">{name}</a></dt><dd>{description}<br><code>{url}</code></dd>\n")
    };
    let items: String = agents.iter().rev().map(item).collect();
    let text = format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>Agents</title></head>\n<body><h1>Agents</h1>\n\
         <p>A2A agents of this server, each with its card. For programs: <a href=\"{CATALOG}\">{CATALOG}</a></p>\n<dl>\n{items}</dl></body></html>\n"
    );
    let mut response = document(text.into(), "text/html; charset=utf-8");
    response.headers_mut().insert(CONTENT_SECURITY_POLICY, HeaderValue::from_static("default-src 'none'"));
    response
}

/// Text in a page.
fn escaped(text: &str) -> String {
    text.chars().fold(String::with_capacity(text.len()), |mut out, c| {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            c => out.push(c),
        }
        out
    })
}

/// What is said where no agent is: where they are.
pub(crate) fn no_agent(base: &str, agents: &[Arc<Hosted>]) -> Error {
    let mut cards: Vec<_> = agents.iter().rev().take(NAMED).map(|agent| card_url(base, agent)).collect();
    if agents.len() > NAMED {
        cards.push("...".to_owned());
    }
    let words = match agents {
        [] => "There is no agent at this path, and none elsewhere on this server".to_owned(),
        _ => format!("There is no agent at this path; the cards of those on this server are at {}", cards.join(" ")),
    };
    let error = Error::new(ErrorKind::MethodNotFound, words);
    if agents.is_empty() { error } else { error.with("cards", cards.join(" ")).with("catalog", format!("{base}{CATALOG}")) }
}

/// A key set. Of two keys of one name the first counts.
fn key_set(own: &[Value], signers: impl Iterator<Item = Value>) -> Option<Value> {
    let mut keys = own.to_vec();
    for key in signers {
        match keys.iter().find(|known| known["kid"] == key["kid"]) {
            Some(known) if *known == key => {}
            Some(_) => tracing::debug!(kid = key["kid"].as_str(), "two keys have the same name, and one of them is not published"),
            None => keys.push(key),
        }
    }
    (!keys.is_empty()).then(|| json!({"keys": keys}))
}
