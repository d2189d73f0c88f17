//! Whether a card is its agent's: what its signatures say, and what follows from that.

use std::{
    fmt,
    sync::{Arc, OnceLock},
};

use async_trait::async_trait;
use bytes::Bytes;
use chancery_core::{Error, ErrorKind, Result};
use chancery_net::Guard;
use chancery_signing::{Document, Fetch, FetchError, KeyCache, KeyRequest, KeyResponse, Policy, Report, Verdict, Verified, Verifier};
use http::{HeaderMap, HeaderValue, header};
use jiff::Timestamp;
use serde_json::Value;
use url::Url;

use crate::{
    builder::Settings,
    clock, discover,
    http::Http,
    trouble::{Trouble, TroubleKind},
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
    keys: Arc<OnceLock<Arc<KeyCache>>>,
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

    fn keys(&self, settings: &Settings) -> Result<Arc<KeyCache>> {
        if let Some(keys) = self.keys.get() {
            return Ok(keys.clone());
        }
        // Whoever says nothing about addresses goes where its user says, and on a card's word to public ones only.
        let guard = settings.guard.clone().unwrap_or_default();
        let keys = KeyCache::new(Keys { open: Http::new(settings)?, guarded: Http::guarded(settings, &guard)?, guard });
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

/// Reads key sets.
struct Keys {
    open: Http,
    /// Connects to public addresses only.
    guarded: Http,
    guard: Guard,
}

#[async_trait]
impl Fetch for Keys {
    async fn fetch(&self, request: &KeyRequest) -> Result<KeyResponse, FetchError> {
        let failed = |error: Error| FetchError::new(Trouble::of(&error).map_or_else(|| error.to_string(), Trouble::reason));
        if request.guarded {
            let host = request.url.host_str().unwrap_or_default();
            self.guard.check_url(&request.url).map_err(|blocked| FetchError::new(format!("{host} is not asked: {blocked}")))?;
        }
        let http = if request.guarded { &self.guarded } else { &self.open };
        let mut headers = HeaderMap::new();
        headers.insert(header::ACCEPT, HeaderValue::from_static("application/json"));
        let (url, exchange) = discover::follow(http, request.url.as_str(), headers).await.map_err(|one| failed(one.error))?;
        if !exchange.is_success() {
            exchange.show(&[]);
            return Err(FetchError::new(format!("the answer is status {}", exchange.status())));
        }
        let control = exchange.header(header::CACHE_CONTROL.as_str()).map(str::to_owned);
        let body = exchange.read(request.max_bytes).await.map_err(|one| failed(one.error))?;
        let url = Url::parse(&url).map_err(|error| FetchError::new(error.to_string()))?;
        Ok(KeyResponse::new(url, body.to_vec(), control))
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
            keys.key(&url, "k", Some(&card), &allowed).await.unwrap_err().to_string()
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
