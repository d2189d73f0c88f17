//! Grants: keys to one task of an agent, for whoever it was handed over for (HO-54).

use std::sync::Arc;

use aws_lc_rs::digest::{SHA256, digest};
use chancery_core::{Secret, json};
use chancery_engine::delegation::{Opening, Tokens};
use http::HeaderMap;

use crate::{auth::Denial, call, router::Hosted};

/// Grants of 256 random bits, kept as SHA-256.
pub(crate) struct Grants;

impl Tokens for Grants {
    fn issue(&self) -> Option<Secret> {
        let mut bytes = [0; 32];
        getrandom::fill(&mut bytes).ok()?;
        Some(json::to_base64(&bytes).into())
    }

    fn digest(&self, token: &Secret) -> String {
        json::to_base64(digest(&SHA256, token.expose().as_bytes()).as_ref())
    }
}

/// A caller who would not be let in but for the grant that it shows. It is let in for one task, and for everything else it is whoever it
/// was without the grant.
pub(crate) struct GrantHolder {
    pub(crate) opening: Opening,
    /// What it is told when it asks for anything else.
    pub(crate) denial: Denial,
}

/// What the grant in the head of a request opens at an agent. One that opens nothing is as good as none: whoever shows it is told what
/// everybody is told who shows nothing.
pub(crate) async fn opening(agent: &Hosted, headers: &HeaderMap) -> Option<Opening> {
    let (engine, token) = (agent.engine.as_ref()?, call::grant(headers)?);
    let opened = engine.opened_by(&token).await;
    opened.unwrap_or_else(|error| {
        tracing::warn!(agent = agent.key, %error, cause = std::error::Error::source(&error), "a grant could not be looked up");
        None
    })
}

/// The agent whose task the grant in the head of a request opens.
pub(crate) async fn giver<'a>(agents: &'a [Arc<Hosted>], headers: &HeaderMap) -> Option<&'a Hosted> {
    for agent in agents {
        if opening(agent, headers).await.is_some() {
            return Some(agent);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    /// HO-54: 256 random bits that are kept hashed.
    #[test]
    fn no_two_grants_are_the_same_and_none_is_stored_as_it_is() {
        let (one, other) = (Grants.issue().unwrap(), Grants.issue().unwrap());
        assert_ne!(one.expose(), other.expose());
        assert_eq!(json::from_base64(one.expose()).unwrap().len(), 32);
        assert_ne!(Grants.digest(&one), Grants.digest(&other));
        assert_eq!(Grants.digest(&one), Grants.digest(&one.expose().into()));
        assert!(!Grants.digest(&one).contains(one.expose()));
    }
}
