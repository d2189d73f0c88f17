//! Signature verification of cards: which keys count, where they are read, and what follows from the verdict.

use std::{
    collections::HashMap,
    fmt,
    sync::{Arc, OnceLock},
    time::Duration,
};

use async_trait::async_trait;
use bytes::Bytes;
use chancery_core::{BoxError, Error, ErrorKind, Result, sync::Mutex};
use chancery_net::{CachePolicy, Guard, KeyCache, KeySource, Reach, Stale};
use chancery_signing::{Document, Fetch, FetchError, Jwk, JwkSet, KeyRequest, Policy, Report, Verdict, Verified, Verifier};
use http::{HeaderMap, HeaderValue, header};
use jiff::Timestamp;
use serde_json::Value;
use url::Url;

use crate::{
    builder::Settings,
    clock, discover,
    failure::Failed,
    http::Http,
    trouble::{Trouble, TroubleKind},
};

/// Bytes of a key set.
const KEY_SET_BYTES: usize = 64 << 10;
/// Key sets that are remembered.
const KEY_SETS: usize = 256;
/// For as long as their `Cache-Control` says, between a minute and an hour; an address is asked for the same keys at most once a minute.
const KEPT: CachePolicy = CachePolicy {
    timeout: Duration::from_secs(5),
    min_age: Duration::from_secs(60),
    max_age: Duration::from_secs(3_600),
    pause: Duration::from_secs(60),
    first_pause: Duration::from_secs(60),
    stale: Stale::Drop,
};

/// What is done about the signatures of cards.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum SignedCards {
    /// They are not looked at.
    Off,
    /// They are checked, and [`Client::card_report`](crate::Client::card_report) says what was found. Of a card with a good signature only
    /// what the signature covers is used; a card without one is used as it is.
    #[default]
    Report,
    /// As `Report`, but a card without a good signature is refused.
    Require,
}

/// What was said about signatures.
#[derive(Clone, Default)]
pub(crate) struct Trust {
    pub(crate) mode: SignedCards,
    pub(crate) policy: Arc<Policy>,
    /// Made when it is needed first, and shared by all clients of a builder.
    keys: Arc<OnceLock<Arc<KeySets>>>,
}

/// A card of which nothing is left but what may be used.
pub(crate) struct Checked {
    pub(crate) body: Bytes,
    pub(crate) report: Option<Arc<Report>>,
}

impl Trust {
    /// Forgets the keys, because they are to be read in another way from now on.
    pub(crate) fn forget(&mut self) {
        self.keys = Arc::default();
    }

    /// Checks a card that came from this address.
    pub(crate) async fn check(&self, settings: &Settings, body: &Bytes, origin: Option<&Url>) -> Result<Checked> {
        if self.mode == SignedCards::Off {
            return Ok(Checked { body: body.clone(), report: None });
        }
        let Verified { report, covered, .. } = self.verify(settings, body, origin).await?;
        if !report.result.is_good() {
            if self.mode == SignedCards::Require {
                return Err(untrusted(&report));
            }
            if report.result != Verdict::Unsigned {
                tracing::warn!(result = report.result.as_str(), reason = reason(&report), "the signatures of a card are not good");
            }
        }
        let body = covered.map_or_else(|| body.clone(), |covered| with_signatures(covered, body));
        Ok(Checked { body, report: Some(Arc::new(report)) })
    }

    pub(crate) async fn verify(&self, settings: &Settings, body: &[u8], origin: Option<&Url>) -> Result<Verified> {
        let mut verifier = Verifier::new(Policy::clone(&self.policy));
        // Most cards are not signed, and nothing is to be fetched for them.
        if Document::parse(body).is_ok_and(|document| document.member("signatures").is_some()) {
            verifier = verifier.fetching(self.keys(settings)?);
        }
        let now = Timestamp::try_from(clock::now()).unwrap_or_default();
        Ok(verifier.verify_bytes(body, origin, now).await)
    }

    fn keys(&self, settings: &Settings) -> Result<Arc<KeySets>> {
        if let Some(keys) = self.keys.get() {
            return Ok(keys.clone());
        }
        // Whoever says nothing about addresses goes where its user says, and on a card's word to public ones only.
        let guard = settings.guard.clone().unwrap_or_default();
        let guarded = Http::reaching(settings, Reach::Guarded(guard.clone()))?;
        let keys = KeySets { trusted: Http::new(settings)?, guarded, guard, sets: Mutex::default() };
        Ok(self.keys.get_or_init(|| Arc::new(keys)).clone())
    }
}

impl fmt::Debug for Trust {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Trust").field("mode", &self.mode).field("policy", &self.policy).finish_non_exhaustive()
    }
}

/// The signatures stay with what they cover, for whoever wants to check them again.
fn with_signatures(mut covered: Value, body: &[u8]) -> Bytes {
    if let Some(signatures) = Document::parse(body).ok().and_then(|document| document.member("signatures").cloned()) {
        covered["signatures"] = signatures;
    }
    covered.to_string().into()
}

fn reason(report: &Report) -> String {
    let attempts = report.attempts.iter().filter_map(|attempt| attempt.reason.clone());
    report.reason.clone().into_iter().chain(attempts).collect::<Vec<_>>().join("; ")
}

fn untrusted(report: &Report) -> Error {
    let words = match report.result {
        Verdict::Unsigned => "the agent's card is not signed".to_owned(),
        _ => format!("the agent's card has no good signature: {}", reason(report)),
    };
    Error::new(ErrorKind::InvalidAgentResponse, words)
        .with("result", report.result.as_str())
        .caused_by(Trouble::new(TroubleKind::CardUntrusted))
}

/// Key sets of cards, by their addresses.
struct KeySets {
    /// For the host that a card came from.
    trusted: Http,
    /// For other hosts: these are asked on the card's word.
    guarded: Http,
    guard: Guard,
    /// What a guarded request has read must not be asked for again by one that is not, nor the other way round.
    sets: Mutex<HashMap<(Url, bool), KeyCache<KeySet>>>,
}

impl KeySets {
    fn set(&self, url: &Url, guarded: bool) -> KeyCache<KeySet> {
        let mut sets = self.sets.lock();
        let place = (url.clone(), guarded);
        if sets.len() >= KEY_SETS && !sets.contains_key(&place) {
            // Whoever names this many addresses is not served by a memory of them.
            sets.clear();
        }
        let http = if guarded { &self.guarded } else { &self.trusted };
        sets.entry(place).or_insert_with(|| KeyCache::new(KeySet { url: url.clone(), http: http.clone() }, KEPT)).clone()
    }
}

#[async_trait]
impl Fetch for KeySets {
    async fn key(&self, request: &KeyRequest) -> Result<Option<Jwk>, FetchError> {
        if request.guarded {
            let host = request.url.host_str().unwrap_or_default();
            self.guard.check_url(&request.url).map_err(|blocked| FetchError::new(format!("{host} is not asked: {blocked}")))?;
        }
        let set = self.set(&request.url, request.guarded);
        set.find(|keys| keys.key(&request.kid).cloned()).await.map_err(|error| FetchError::new(error.to_string()))
    }
}

/// The key set at one address.
#[derive(Debug)]
struct KeySet {
    url: Url,
    http: Http,
}

#[async_trait]
impl KeySource for KeySet {
    type Keys = JwkSet;

    async fn fetch(&self) -> Result<(JwkSet, Option<String>), BoxError> {
        let failed = |one: Failed| Trouble::of(&one.error).map_or_else(|| one.error.to_string(), Trouble::reason);
        let mut headers = HeaderMap::new();
        headers.insert(header::ACCEPT, HeaderValue::from_static("application/json"));
        let (url, exchange) = discover::follow(&self.http, self.url.as_str(), headers).await.map_err(failed)?;
        if !exchange.is_success() {
            exchange.show(&[]);
            return Err(format!("the answer is status {}", exchange.status()).into());
        }
        let url = Url::parse(&url)?;
        if url.scheme() != self.url.scheme() || url.host() != self.url.host() {
            return Err("the keys were moved to another host".into());
        }
        let control = exchange.header(header::CACHE_CONTROL.as_str()).map(str::to_owned);
        let body = exchange.read(KEY_SET_BYTES).await.map_err(failed)?;
        Ok((JwkSet::parse(&body)?, control))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Guarantee G12: a key set that a card points to on an allowed host is asked for at addresses that the guard lets through.
    #[tokio::test]
    async fn key_sets_inside_are_not_asked_for() {
        let asked = async |guard: Option<Guard>, url: &str| {
            let settings = Settings { guard, ..Settings::default() };
            let url = Url::parse(url).unwrap();
            let allowed = [url.host_str().unwrap().to_owned()];
            let card = Url::parse("https://agent.example.com/.well-known/agent-card.json").unwrap();
            let keys = Trust::default().keys(&settings).unwrap();
            let request = KeyRequest::new(&url, "k", Some(&card), &allowed).unwrap();
            keys.key(&request).await.unwrap_err().to_string()
        };
        for host in [
            "127.0.0.1",
            "[::1]",
            "10.0.0.1",
            "10.0.0.7",
            "169.254.169.254",
            "[::ffff:192.168.0.1]",
            "[64:ff9b::a00:1]",
            "localhost",
            "metadata.google.internal",
        ] {
            let error = asked(None, &format!("https://{host}/keys")).await;
            assert!(error.contains("is not asked"), "{host}: {error}");
        }
        // Nobody listens there, but it was tried.
        let open = Some(Guard::new().allow("127.0.0.0/8".parse().unwrap()));
        let error = asked(open, "https://127.0.0.1:1/keys").await;
        assert!(!error.contains("is not asked"), "{error}");
    }
}
