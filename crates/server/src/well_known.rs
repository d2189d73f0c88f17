//! Well-known documents of a server: the key set of its signatures, and the catalog of its agents.

use std::sync::Arc;

use chancery_core::Bytes;
use serde_json::{Value, json};

use crate::{card::CardSigner, router::Hosted};

/// The path of the public keys on a server.
pub const KEYS_PATH: &str = "/.well-known/jwks.json";

/// The path of the catalog on a server.
pub(crate) const CATALOG: &str = "/.well-known/ai-catalog.json";
/// What the entries of a catalog are.
const CARD: &str = "application/a2a-agent-card+json";

/// What is known of the server itself.
#[derive(Default)]
pub(crate) struct WellKnown {
    /// Public keys that are published whoever signs the cards.
    pub(crate) keys: Vec<Value>,
    /// The base of every URL.
    pub(crate) base: String,
    /// What the identifiers of agents begin with, if there is a catalog: `urn:air:example.com:agents`.
    pub(crate) catalog: Option<String>,
}

/// The documents, written anew when an agent changes.
#[derive(Default, Clone)]
pub(crate) struct Documents {
    pub(crate) keys: Option<Bytes>,
    pub(crate) catalog: Option<Bytes>,
}

impl WellKnown {
    pub(crate) fn documents(&self, agents: &[Arc<Hosted>]) -> Documents {
        let text = |value: Value| Bytes::from(value.to_string());
        let catalog = self.catalog.as_ref().map(|prefix| text(self.catalog(prefix, agents)));
        Documents { keys: self.published(agents).map(text), catalog }
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

    fn catalog(&self, prefix: &str, agents: &[Arc<Hosted>]) -> Value {
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
                "url": format!("{}{}/.well-known/agent-card.json", self.base, agent.path),
                "description": card.description,
                "version": card.version,
                "tags": tags,
            })
        };
        // The shortest path first, as people would.
        let entries: Vec<_> = agents.iter().rev().map(entry).collect();
        let host = self.base.split_once("://").map_or(self.base.as_str(), |(_, rest)| rest);
        json!({"specVersion": "1.0", "host": {"displayName": host, "identifier": prefix}, "entries": entries})
    }
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
