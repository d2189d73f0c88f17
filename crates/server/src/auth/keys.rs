//! The keys that tokens are verified with: read from a file or fetched, kept, and looked for again when a token names one
//! that is not among them.
//!
//! ```text
//!  a token names key K
//!    K is known and fresh -------------------------------> use it
//!    K is known, the set is older than REFRESH ----------> use it, and fetch beside
//!    K is not known, nothing was fetched for a minute ---> fetch once for all who wait, look again
//!    K is not known, something was -----------------------> there is no such key
//! ```

use std::{
    fmt,
    path::PathBuf,
    sync::{Arc, MutexGuard, OnceLock},
    time::{Duration, Instant},
};

use chancery_core::{BoxError, Error, ErrorKind, Result, sync::Mutex};
use http::{Method, StatusCode};
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

/// Where keys come from.
#[derive(Debug, Clone)]
pub(super) enum Source {
    Fixed,
    File(PathBuf),
    Url(String),
    /// The `jwks_uri` of an issuer's discovery document.
    Issuer(String),
}

/// A set of keys and where it comes from.
pub(super) struct Keys {
    pub(super) source: Source,
    client: OnceLock<chancery_net::Client>,
    state: Mutex<State>,
    /// Held while a set is fetched.
    fetching: tokio::sync::Mutex<()>,
}

struct State {
    /// How long nothing is fetched after it was tried.
    pause: Duration,
    set: Option<Arc<[Key]>>,
    /// When the set was fetched.
    since: Option<Instant>,
    /// When it was last tried.
    tried: Option<Instant>,
}

/// A key and what it is good for.
pub(super) struct Key {
    id: Option<String>,
    algorithms: Vec<Alg>,
    pub(super) key: DecodingKey,
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
    pub(super) fn new(source: Source) -> Self {
        let state = State { pause: PAUSE, set: None, since: None, tried: None };
        Self { source, client: OnceLock::new(), state: Mutex::new(state), fetching: tokio::sync::Mutex::default() }
    }

    /// Keys that never change.
    pub(super) fn fixed(set: Arc<[Key]>) -> Self {
        let keys = Self::new(Source::Fixed);
        keys.keep(set);
        keys
    }

    pub(super) fn pause(&self, pause: Duration) {
        self.lock().pause = pause;
    }

    /// Who fetches. The first one stays: a scheme may belong to several agents of one server.
    pub(super) fn connect(&self, client: &chancery_net::Client) {
        drop(self.client.set(client.clone()));
    }

    /// The keys that a token may be signed with: that of its id, or all of its algorithm when it names none.
    ///
    /// # Errors
    /// When there is no set, and none can be had.
    pub(super) async fn find(self: &Arc<Self>, id: Option<&str>, algorithm: Alg) -> Result<(Arc<[Key]>, Vec<usize>)> {
        let known = |set: &Arc<[Key]>| -> Vec<usize> {
            // A token without an id may try a few keys, and no more.
            set.iter().enumerate().filter(|(_, key)| key.is(id, algorithm)).map(|(at, _)| at).take(4).collect()
        };
        if let Some((set, age)) = self.kept() {
            let found = known(&set);
            if !found.is_empty() {
                if age > REFRESH && self.is_time() {
                    let keys = self.clone();
                    tokio::spawn(async move { keys.refetch().await });
                }
                return Ok((set, found));
            }
        }
        self.refetch().await;
        let (set, _) = self.kept().ok_or_else(|| Error::new(ErrorKind::Unavailable, "Credentials cannot be checked now; try again"))?;
        let found = known(&set);
        Ok((set, found))
    }

    /// The set, and how old it is.
    fn kept(&self) -> Option<(Arc<[Key]>, Duration)> {
        let state = self.lock();
        let age = state.since.map(|since| since.elapsed()).unwrap_or_default();
        state.set.clone().map(|set| (set, age))
    }

    fn keep(&self, set: Arc<[Key]>) {
        let mut state = self.lock();
        (state.set, state.since) = (Some(set), Some(Instant::now()));
    }

    /// Whether the set may be fetched: nothing was tried for a while.
    fn is_time(&self) -> bool {
        let state = self.lock();
        let pause = if state.set.is_some() { state.pause } else { state.pause.min(FIRST_PAUSE) };
        !matches!(self.source, Source::Fixed) && state.tried.is_none_or(|tried| tried.elapsed() >= pause)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // Nothing in here panics half way through a change.
        self.state.lock()
    }

    /// Fetches the set, unless that was tried a moment ago. All who come meanwhile wait for the same answer.
    async fn refetch(&self) {
        let _one = self.fetching.lock().await;
        if !self.is_time() {
            return;
        }
        self.lock().tried = Some(Instant::now());
        match self.fetch().await {
            Ok(set) if set.is_empty() => tracing::warn!(source = ?self.source, "the key set holds no key that verifies tokens"),
            Ok(set) => self.keep(set),
            Err(error) => tracing::warn!(source = ?self.source, error, "the key set cannot be read; the last one stays"),
        }
    }

    async fn fetch(&self) -> Result<Arc<[Key]>, BoxError> {
        match &self.source {
            Source::Fixed => Err("the keys are fixed".into()),
            Source::File(file) => read(&tokio::fs::read(file).await?),
            Source::Url(url) => read(&self.load(url).await?),
            Source::Issuer(issuer) => {
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
                read(&self.load(&found.jwks_uri).await?)
            }
        }
    }

    async fn load(&self, url: &str) -> Result<Vec<u8>, BoxError> {
        let client = self.client.get().ok_or("no server fetches keys for this scheme yet")?;
        let response = client.request(Method::GET, url)?.send().await.map_err(reqwest::Error::without_url)?;
        if response.status() != StatusCode::OK {
            return Err(format!("the answer is {}", response.status()).into());
        }
        Ok(chancery_net::read_body(response, MOST).await?)
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

impl fmt::Debug for Keys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Keys").field("source", &self.source).finish_non_exhaustive()
    }
}
