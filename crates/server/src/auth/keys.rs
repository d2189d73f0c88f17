//! Key sets (JWKS) that tokens are verified with: read from a file or an issuer, and kept by `chancery_net::KeyCache`.

use std::{
    fmt,
    path::PathBuf,
    sync::{Arc, OnceLock},
    time::Duration,
};

use async_trait::async_trait;
use chancery_core::{BoxError, Error, ErrorKind, Result};
use chancery_net::{CachePolicy, Client, FetchError, KeyCache, KeySource, Stale};
use jsonwebtoken::{
    Algorithm as Alg, DecodingKey,
    jwk::{AlgorithmParameters, EllipticCurve, Jwk, PublicKeyUse},
};
use serde::Deserialize;
use url::Url;

/// Bytes of a key set or a discovery document.
const MOST: usize = 512 * 1_024;
/// Keys of a set that are looked at.
const KEYS: usize = 64;
/// How old a set may become before it is fetched again: a key that was taken out is refused after that.
const REFRESH: Duration = Duration::from_secs(600);
/// How long to wait after an unknown key, or a set that could not be fetched.
const PAUSE: Duration = Duration::from_secs(60);
/// How long to wait while there is no set at all: nobody can be let in until there is.
const FIRST_PAUSE: Duration = Duration::from_secs(5);

/// Where a key set is.
#[derive(Debug, Clone)]
pub(super) enum Place {
    File(PathBuf),
    Url(String),
    /// The `jwks_uri` of an issuer's discovery document.
    Issuer(String),
}

/// A set of keys and where it comes from.
#[derive(Debug)]
pub(super) enum Keys {
    /// Keys that never change.
    Fixed(Arc<[Key]>),
    Kept(KeyCache<Source>),
}

/// Where keys come from, and who fetches them.
#[derive(Debug)]
pub(super) struct Source {
    pub(super) place: Place,
    client: OnceLock<Client>,
}

/// A key and what it is good for.
pub(super) struct Key {
    id: Option<String>,
    algorithms: Vec<Alg>,
    pub(super) key: DecodingKey,
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Key").field("id", &self.id).field("algorithms", &self.algorithms).finish_non_exhaustive()
    }
}

impl Key {
    /// The key of a JWK; `None` when it is not one that verifies signatures. Secrets are never taken.
    fn new(jwk: &Jwk) -> Option<Self> {
        if matches!(&jwk.common.public_key_use, Some(purpose) if *purpose != PublicKeyUse::Signature) {
            return None;
        }
        let family: &[Alg] = match &jwk.algorithm {
            AlgorithmParameters::RSA(_) => &[Alg::RS256, Alg::RS384, Alg::RS512, Alg::PS256, Alg::PS384, Alg::PS512],
            AlgorithmParameters::EllipticCurve(key) => match key.curve {
                EllipticCurve::P256 => &[Alg::ES256],
                EllipticCurve::P384 => &[Alg::ES384],
                _ => return None,
            },
            AlgorithmParameters::OctetKeyPair(key) if key.curve == EllipticCurve::Ed25519 => &[Alg::EdDSA],
            _ => return None,
        };
        // What the key is said to be for, if it is said, and nothing else.
        let said = jwk.common.key_algorithm;
        let fits = |algorithm: &&Alg| said.is_none_or(|said| said == (**algorithm).into());
        let algorithms: Vec<_> = family.iter().filter(fits).copied().collect();
        let key = DecodingKey::from_jwk(jwk).ok()?;
        (!algorithms.is_empty()).then(|| Self { id: jwk.common.key_id.clone(), algorithms, key })
    }

    fn is(&self, id: Option<&str>, algorithm: Alg) -> bool {
        self.algorithms.contains(&algorithm) && id.is_none_or(|id| self.id.as_deref() == Some(id))
    }
}

/// The keys in the text of a JWK set. What is no key of ours is passed over.
///
/// # Errors
/// When the text is no JWK set.
pub(super) fn read(text: &[u8]) -> Result<Arc<[Key]>, BoxError> {
    #[derive(Deserialize)]
    struct Set {
        keys: Vec<serde_json::Value>,
    }
    let set: Set = serde_json::from_slice(text)?;
    let jwks = set.keys.into_iter().take(KEYS).filter_map(|key| serde_json::from_value::<Jwk>(key).ok());
    Ok(jwks.filter_map(|jwk| Key::new(&jwk)).collect())
}

impl Keys {
    pub(super) fn new(place: Place) -> Self {
        let policy = CachePolicy {
            // The client that fetches has its own.
            timeout: Duration::from_secs(60),
            min_age: REFRESH,
            max_age: REFRESH,
            pause: PAUSE,
            first_pause: FIRST_PAUSE,
            stale: Stale::Serve,
        };
        Self::Kept(KeyCache::new(Source { place, client: OnceLock::new() }, policy))
    }

    pub(super) fn pause(&self, pause: Duration) {
        if let Self::Kept(cache) = self {
            cache.adjust(|policy| (policy.pause, policy.first_pause) = (pause, pause.min(FIRST_PAUSE)));
        }
    }

    /// Where the set is, if it is not fixed.
    pub(super) fn place(&self) -> Option<&Place> {
        match self {
            Self::Fixed(_) => None,
            Self::Kept(cache) => Some(&cache.source().place),
        }
    }

    /// Who fetches. The first one stays: a scheme may belong to several agents of one server.
    pub(super) fn connect(&self, client: &Client) {
        if let Self::Kept(cache) = self {
            drop(cache.source().client.set(client.clone()));
        }
    }

    /// The set, and the places in it of the keys that a token may be signed with: that of its id, or all of its algorithm when it names none.
    /// `None` when there is no such key.
    ///
    /// # Errors
    /// When there is no set, and none can be had.
    pub(super) async fn find(&self, id: Option<&str>, algorithm: Alg) -> Result<Option<(Arc<[Key]>, Vec<usize>)>> {
        let look = |set: &Arc<[Key]>| {
            // A token without an id may try a few keys, and no more.
            let found: Vec<usize> = set.iter().enumerate().filter(|(_, key)| key.is(id, algorithm)).map(|(at, _)| at).take(4).collect();
            (!found.is_empty()).then(|| (set.clone(), found))
        };
        match self {
            Self::Fixed(set) => Ok(look(set)),
            Self::Kept(cache) => cache
                .find(look)
                .await
                .map_err(|error| Error::new(ErrorKind::Unavailable, "Credentials cannot be checked now; try again").caused_by(error)),
        }
    }
}

#[async_trait]
impl KeySource for Source {
    type Keys = Arc<[Key]>;

    async fn fetch(&self) -> Result<(Arc<[Key]>, Option<String>), BoxError> {
        let set = match &self.place {
            Place::File(file) => read(&tokio::fs::read(file).await?)?,
            Place::Url(url) => read(&self.load(url).await?)?,
            Place::Issuer(issuer) => {
                #[derive(Deserialize)]
                struct Discovery {
                    issuer: String,
                    jwks_uri: String,
                }
                let found: Discovery = serde_json::from_slice(&self.load(&discovery(issuer)).await?)?;
                if found.issuer != *issuer {
                    return Err(format!("the discovery document is that of {}", found.issuer).into());
                }
                demand_secure(&found.jwks_uri)?;
                read(&self.load(&found.jwks_uri).await?)?
            }
        };
        if set.is_empty() {
            return Err("the key set holds no key that verifies tokens".into());
        }
        Ok((set, None))
    }
}

impl Source {
    async fn load(&self, url: &str) -> Result<Vec<u8>, BoxError> {
        let client = self.client.get().ok_or("no server fetches keys for this scheme yet")?;
        Ok(client.fetch(url, MOST).await.map_err(FetchError::without_url)?)
    }
}

/// Where an issuer describes itself.
pub(super) fn discovery(issuer: &str) -> String {
    format!("{}/.well-known/openid-configuration", issuer.trim_end_matches('/'))
}

/// Keys that come over an open line are anybody's, unless the line does not leave the machine.
pub(super) fn demand_secure(url: &str) -> Result<(), BoxError> {
    let url = Url::parse(url).map_err(|_| "the URL cannot be read")?;
    let own = match url.host() {
        Some(url::Host::Domain(name)) => name == "localhost",
        Some(url::Host::Ipv4(address)) => address.is_loopback(),
        Some(url::Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    };
    match url.scheme() {
        "https" => Ok(()),
        "http" if own => Ok(()),
        _ => Err("keys are fetched over https only".into()),
    }
}
