//! Keys from the network: what may be asked, how often, and how long an answer counts.

use std::{
    collections::HashMap,
    fmt,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use async_trait::async_trait;
use tokio::time::{Instant, timeout};
use url::{Host, Url};

use crate::{Jwk, JwkSet};

/// A longer answer is refused.
const MAX_BYTES: usize = 64 << 10;
/// A slower answer is refused.
const PATIENCE: Duration = Duration::from_secs(5);
/// No answer counts for less.
const MIN_AGE: Duration = Duration::from_secs(60);
/// No answer counts for more.
const MAX_AGE: Duration = Duration::from_secs(3600);
/// An address that gave no such key is asked again after this time.
const PAUSE: Duration = Duration::from_secs(60);
/// Addresses that are remembered.
const MAX_ADDRESSES: usize = 256;

/// Reads key sets over HTTP. [`KeyCache`] decides what it is asked.
#[async_trait]
pub trait Fetch: Send + Sync {
    /// Gets the body at an address. No credentials go along. Redirects, if followed at all, stay on the host; the body is cut off with an
    /// error when it passes `max_bytes`; and when the request is `guarded`, it goes to public addresses only (SSRF), also after resolving.
    async fn fetch(&self, request: &KeyRequest) -> Result<KeyResponse, FetchError>;
}

/// What a [`Fetch`] is asked for.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct KeyRequest {
    /// The address: `https`, or `http` on the very place of this machine that the card came from.
    pub url: Url,
    /// How long the body may be.
    pub max_bytes: usize,
    /// The host is not the one that the card came from: only addresses that are called on a stranger's word may be connected to.
    pub guarded: bool,
}

/// What a [`Fetch`] answers.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct KeyResponse {
    /// The body.
    pub body: Vec<u8>,
    /// The header `Cache-Control`.
    pub cache_control: Option<String>,
    /// The address that answered, after redirects.
    pub url: Url,
}

impl KeyResponse {
    /// An answer from the address that was asked.
    pub fn new(url: Url, body: Vec<u8>, cache_control: Option<String>) -> Self {
        Self { body, cache_control, url }
    }
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

/// Keys from the network, within limits: HTTPS only but on this machine, from the card's own host or one that the policy names, 64 KiB, 5 seconds, 100 keys.
/// Answers count for as long as their `Cache-Control` says, between a minute and an hour; an address is asked for the same keys at most
/// once a minute.
pub struct KeyCache {
    fetch: Arc<dyn Fetch>,
    addresses: Mutex<HashMap<Url, Arc<tokio::sync::Mutex<Option<Entry>>>>>,
}

struct Entry {
    asked: Instant,
    until: Instant,
    keys: Result<Arc<JwkSet>, FetchError>,
}

impl KeyCache {
    /// Keys that are read by this.
    pub fn new(fetch: impl Fetch + 'static) -> Self {
        Self { fetch: Arc::new(fetch), addresses: Mutex::new(HashMap::new()) }
    }

    /// The key of this name at this address; `None` when the set there has no such key.
    ///
    /// # Errors
    /// When the address may not be asked, or there is no set of keys.
    pub async fn key(&self, url: &Url, kid: &str, card: Option<&Url>, allowed_hosts: &[String]) -> Result<Option<Jwk>, FetchError> {
        let request = permitted(url, card, allowed_hosts)?;
        let place = self.place(url);
        // One request at a time for one address: whoever waits finds the answer, and nobody else is held up.
        let mut place = place.lock().await;
        let now = Instant::now();
        let again = match &*place {
            None => true,
            Some(entry) => now >= entry.asked + PAUSE && (now >= entry.until || entry.find(kid).is_none()),
        };
        if again {
            *place = Some(self.ask(&request).await);
        }
        match &*place {
            Some(Entry { keys: Err(error), .. }) => Err(error.clone()),
            Some(entry) => Ok(entry.find(kid).cloned()),
            None => Ok(None),
        }
    }

    async fn ask(&self, request: &KeyRequest) -> Entry {
        let asked = Instant::now();
        let answer = match timeout(PATIENCE, self.fetch.fetch(request)).await {
            Err(_) => Err(FetchError::new("the keys did not come in time")),
            Ok(answer) => answer.and_then(|answer| read(request, &answer).map(|keys| (keys, age(answer.cache_control.as_deref())))),
        };
        match answer {
            Ok((keys, age)) => Entry { asked, until: asked + age, keys: Ok(Arc::new(keys)) },
            Err(error) => Entry { asked, until: asked, keys: Err(error) },
        }
    }

    fn place(&self, url: &Url) -> Arc<tokio::sync::Mutex<Option<Entry>>> {
        let mut addresses = self.addresses.lock().unwrap_or_else(PoisonError::into_inner);
        if addresses.len() >= MAX_ADDRESSES && !addresses.contains_key(url) {
            // Whoever names this many addresses is not served by a memory of them.
            addresses.clear();
        }
        Arc::clone(addresses.entry(url.clone()).or_default())
    }
}

impl fmt::Debug for KeyCache {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("KeyCache").finish_non_exhaustive()
    }
}

impl Entry {
    fn find(&self, kid: &str) -> Option<&Jwk> {
        self.keys.as_ref().ok().and_then(|keys| keys.key(kid))
    }
}

/// The request for an address, if it may be asked.
fn permitted(url: &Url, card: Option<&Url>, allowed_hosts: &[String]) -> Result<KeyRequest, FetchError> {
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
    Ok(KeyRequest { url: url.clone(), max_bytes: MAX_BYTES, guarded: !own })
}

fn read(request: &KeyRequest, answer: &KeyResponse) -> Result<JwkSet, FetchError> {
    if answer.url.scheme() != request.url.scheme() || answer.url.host() != request.url.host() {
        return Err(FetchError::new("the keys were moved to another host"));
    }
    if answer.body.len() > MAX_BYTES {
        return Err(FetchError::new("the answer is too long"));
    }
    JwkSet::parse(&answer.body).map_err(|error| FetchError::new(error.to_string()))
}

fn age(cache_control: Option<&str>) -> Duration {
    let directives = cache_control.unwrap_or_default().split(',').map(|directive| directive.trim().to_ascii_lowercase());
    let mut age = MIN_AGE;
    for directive in directives {
        if directive == "no-store" || directive == "no-cache" {
            return MIN_AGE;
        }
        if let Some(seconds) = directive.strip_prefix("max-age=").and_then(|seconds| seconds.trim_matches('"').parse().ok()) {
            age = Duration::from_secs(seconds);
        }
    }
    age.clamp(MIN_AGE, MAX_AGE)
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
