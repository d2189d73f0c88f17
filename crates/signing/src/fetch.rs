//! Remote key sets (JWKS): where a key may be read for a card, and the seam to whoever reads it.

use async_trait::async_trait;
use url::{Host, Url};

use crate::Jwk;

/// Finds keys in key sets on the network. The verifier decides which address is asked; how it is asked, and how long an answer is kept, is
/// the implementation's business.
#[async_trait]
pub trait Fetch: Send + Sync {
    /// The key of this name in the set at this address; `None` when the set has no such key.
    ///
    /// No credentials go along, redirects stay on the host, and size and time are bounded. A `guarded` request goes to public addresses only
    /// (SSRF), also after resolving.
    ///
    /// # Errors
    /// When the address may not be asked, or there is no set of keys.
    async fn key(&self, request: &KeyRequest) -> Result<Option<Jwk>, FetchError>;
}

/// What a [`Fetch`] is asked for.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct KeyRequest {
    /// The address of the set: `https`, or `http` on the very place of this machine that the card came from.
    pub url: Url,
    /// The name of the key.
    pub kid: String,
    /// The host is not the one that the card came from: only addresses that are called on a stranger's word may be connected to.
    pub guarded: bool,
}

/// Why keys were not read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct FetchError(String);

impl FetchError {
    /// An error that says this.
    pub fn new(reason: impl Into<String>) -> Self {
        Self(reason.into())
    }
}

impl KeyRequest {
    /// The request for a key of a card, if its address may be asked: HTTPS but on this machine, the card's own host or one that the policy
    /// names.
    ///
    /// # Errors
    /// When keys from there do not count for this card.
    pub fn new(url: &Url, kid: &str, card: Option<&Url>, allowed_hosts: &[String]) -> Result<Self, FetchError> {
        // Nobody stands between a card and its keys at the same place of this machine, so that they may do without TLS.
        let here = url.scheme() == "http" && is_local(url) && card.is_some_and(|card| card.origin() == url.origin());
        if (url.scheme() != "https" && !here) || !url.username().is_empty() || url.password().is_some() {
            return Err(FetchError::new("keys are read over https only, and without a password in the address"));
        }
        let host = url.host_str().unwrap_or_default();
        let own = card.and_then(Url::host_str) == Some(host);
        if !own && !allowed_hosts.iter().any(|allowed| allowed.eq_ignore_ascii_case(host)) {
            return Err(FetchError::new(format!("keys on {host} do not count for this card")));
        }
        Ok(Self { url: url.clone(), kid: kid.to_owned(), guarded: !own })
    }
}

/// Whether a URL names this machine.
pub(crate) fn is_local(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => name == "localhost" || name.ends_with(".localhost"),
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    }
}
