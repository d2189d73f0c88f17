//! Webhook signatures (Standard Webhooks), and the keys to verify them with.

use std::{
    fmt,
    sync::{Arc, OnceLock},
    time::Duration,
};

use async_trait::async_trait;
use aws_lc_rs::{
    hmac,
    signature::{ED25519, UnparsedPublicKey},
};
use base64::{
    Engine as _,
    prelude::{BASE64_STANDARD, BASE64_URL_SAFE_NO_PAD},
};
use chancery_core::{BoxError, Error, ErrorKind, Result};
use chancery_net::{CachePolicy, KeyCache, KeySource, KeysUnavailable, Stale};
use http::HeaderMap;
use serde::Deserialize;

use super::{Rejection, fetch, text};
use crate::builder::Settings;

/// How long keys are kept.
const KEPT: Duration = Duration::from_secs(3_600);
/// How soon keys may be asked for again because a signature was of none of them: anyone can send such.
const SOONEST: Duration = Duration::from_secs(60);

/// Where keys come from.
#[derive(Clone, Default)]
pub(super) enum Keys {
    /// Signatures are not looked at.
    #[default]
    None,
    Fixed(Arc<Vec<Key>>),
    Shared(Arc<hmac::Key>),
    At {
        url: String,
        /// Made when it is needed first.
        cache: Arc<OnceLock<KeyCache<Published>>>,
    },
}

/// The key set that a sender publishes.
#[derive(Debug)]
pub(super) struct Published {
    url: String,
    settings: Settings,
}

#[async_trait]
impl KeySource for Published {
    type Keys = Vec<Key>;

    async fn fetch(&self) -> Result<(Vec<Key>, Option<String>), BoxError> {
        Ok((read(&fetch(&self.settings, &self.url).await?)?, None))
    }
}

pub(super) struct Key {
    id: String,
    public: Vec<u8>,
}

/// What is signed, and how.
pub(super) struct Signed<'a> {
    parts: Result<(String, &'a str), &'static str>,
    body: &'a [u8],
}

impl<'a> Signed<'a> {
    /// `now` is in seconds since 1970.
    pub(super) fn new(headers: &'a HeaderMap, body: &'a [u8], now: u64, tolerance: Duration) -> Self {
        let header = |name| text(headers, name).ok_or("is missing");
        let parts = header("webhook-id").and_then(|id| Ok((id, header("webhook-timestamp")?, header("webhook-signature")?)));
        let parts = parts.and_then(|(id, timestamp, signature)| {
            let at: u64 = timestamp.parse().map_err(|_| "has no time")?;
            if at.abs_diff(now) > tolerance.as_secs() {
                return Err("is too old, or from a clock that is wrong");
            }
            Ok((format!("{id}.{timestamp}."), signature))
        });
        Self { parts, body }
    }

    /// What was signed.
    fn content(&self, head: &str) -> Vec<u8> {
        [head.as_bytes(), self.body].concat()
    }
}

/// The signatures of one scheme in a header, which may hold several.
fn signatures(header: &str, scheme: &str) -> Vec<Vec<u8>> {
    let entries = header.split_whitespace().filter_map(|entry| entry.split_once(','));
    entries.filter(|(name, _)| *name == scheme).filter_map(|(_, base64)| BASE64_STANDARD.decode(base64).ok()).collect()
}

impl Keys {
    pub(super) fn fixed(jwks: &[u8]) -> Result<Self> {
        Ok(Self::Fixed(Arc::new(read(jwks)?)))
    }

    pub(super) fn at(server: &str) -> Result<Self> {
        let url = crate::discover::parse(server)?;
        let url = format!("{}/.well-known/jwks.json", url.origin().ascii_serialization());
        Ok(Self::At { url, cache: Arc::default() })
    }

    /// Forgets what was read, because it is to be read in another way from now on.
    pub(super) fn forget(&mut self) {
        if let Self::At { cache, .. } = self {
            *cache = Arc::default();
        }
    }

    pub(super) fn shared(secret: &str) -> Result<Self> {
        let bytes = match secret.strip_prefix("whsec_") {
            Some(base64) => BASE64_STANDARD.decode(base64).map_err(|_| Error::invalid_param("secret", "must be base64 after whsec_"))?,
            None => secret.as_bytes().to_vec(),
        };
        Ok(Self::Shared(Arc::new(hmac::Key::new(hmac::HMAC_SHA256, &bytes))))
    }

    /// Which key signed something; `None` when that does not matter.
    pub(super) async fn check(&self, settings: &Settings, signed: Signed<'_>) -> Result<Option<String>, Rejection> {
        if matches!(self, Self::None) {
            return Ok(None);
        }
        let wrong = |words: &str| Rejection::Signature(words.to_owned());
        let (head, header) = match &signed.parts {
            Ok(parts) => parts,
            Err(words) => return Err(wrong(words)),
        };
        let content = signed.content(head);
        match self {
            Self::None => Ok(None),
            Self::Fixed(keys) => find(keys, header, &content).ok_or_else(|| wrong("is of none of the known keys")).map(Some),
            Self::Shared(key) => {
                let signed = signatures(header, "v1").iter().any(|signature| hmac::verify(key, &content, signature).is_ok());
                if signed { Ok(Some("shared secret".to_owned())) } else { Err(wrong("is not of the shared secret")) }
            }
            Self::At { url, cache } => {
                let cache = cache.get_or_init(|| published(url, settings));
                let found = cache.find(|keys| find(keys, header, &content)).await;
                found
                    .map_err(|error| Rejection::Keys(unavailable(error)))?
                    .ok_or_else(|| wrong("is of none of the sender's keys"))
                    .map(Some)
            }
        }
    }
}

fn published(url: &str, settings: &Settings) -> KeyCache<Published> {
    let policy = CachePolicy {
        timeout: settings.connect_timeout,
        min_age: KEPT,
        max_age: KEPT,
        pause: SOONEST,
        // Nobody is believed without keys, so they are asked for with every notification.
        first_pause: Duration::ZERO,
        stale: Stale::Drop,
    };
    KeyCache::new(Published { url: url.to_owned(), settings: settings.clone() }, policy)
}

fn unavailable(error: KeysUnavailable) -> Error {
    let said = error.reason::<Error>().map(|reason| (reason.kind(), reason.message().to_owned()));
    let (kind, words) = said.unwrap_or_else(|| (ErrorKind::Unavailable, error.to_string()));
    Error::new(kind, words).caused_by(error)
}

/// The id of the key that made one of the signatures.
fn find(keys: &[Key], header: &str, content: &[u8]) -> Option<String> {
    let signatures = signatures(header, "v1a");
    let made =
        |key: &&Key| signatures.iter().any(|signature| UnparsedPublicKey::new(&ED25519, &key.public).verify(content, signature).is_ok());
    keys.iter().find(made).map(|key| key.id.clone())
}

/// The Ed25519 keys of a set.
fn read(jwks: &[u8]) -> Result<Vec<Key>> {
    #[derive(Deserialize)]
    struct Set {
        keys: Vec<Jwk>,
    }
    #[derive(Deserialize)]
    struct Jwk {
        #[serde(default)]
        crv: String,
        #[serde(default)]
        x: String,
        #[serde(default)]
        kid: String,
    }
    let broken = |what| Error::new(ErrorKind::InvalidAgentResponse, format!("the key set {what}"));
    let set: Set = serde_json::from_slice(jwks).map_err(|error| broken("cannot be read").caused_by(error))?;
    let ed25519 = set.keys.into_iter().filter(|key| key.crv == "Ed25519");
    let keys: Vec<Key> = ed25519
        .filter_map(|key| Some(Key { id: key.kid, public: BASE64_URL_SAFE_NO_PAD.decode(key.x.trim_end_matches('=')).ok()? }))
        .collect();
    if keys.is_empty() { Err(broken("has no Ed25519 key")) } else { Ok(keys) }
}

impl fmt::Debug for Keys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => f.write_str("none"),
            Self::Fixed(keys) => write!(f, "{} keys", keys.len()),
            Self::Shared(_) => f.write_str("***"),
            Self::At { url, .. } => f.write_str(url),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(id: &str, timestamp: &str, signature: &str) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in [("webhook-id", id), ("webhook-timestamp", timestamp), ("webhook-signature", signature)] {
            headers.insert(name, value.parse().unwrap());
        }
        headers
    }

    /// The example of the Standard Webhooks libraries.
    #[tokio::test]
    async fn a_shared_secret_is_checked_as_standard_webhooks_does() {
        let keys = Keys::shared("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw").unwrap();
        let body = br#"{"test": 2432232314}"#;
        let signature = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=";
        let check = async |signature: &str, now: u64| {
            let headers = headers("msg_p5jXN8AQM9LWM0D4loKWxJek", "1614265330", signature);
            keys.check(&Settings::default(), Signed::new(&headers, body, now, Duration::from_secs(300))).await
        };
        assert_eq!(check(signature, 1_614_265_330).await.unwrap().as_deref(), Some("shared secret"));
        assert!(check(&format!("v1,AAAA {signature}"), 1_614_265_629).await.is_ok(), "one of several is enough");
        for (signature, now) in
            [("v1,g0hM9SsE", 1_614_265_330), (signature, 1_614_265_631), (signature, 1_614_265_029), ("", 1_614_265_330)]
        {
            assert!(matches!(check(signature, now).await, Err(Rejection::Signature(_))), "{signature} {now}");
        }
    }
}
