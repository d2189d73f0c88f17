//! Key set cache: single-flight fetch, bounded refetch, freshness by `Cache-Control`, negative caching, stale-while-revalidate.
//!
//! ```text
//!  a signature or a token names key K
//!    the set is fresh and has K ------------------------------> use it
//!    the set is stale and has K, Stale::Serve ----------------> use it, and fetch in the background
//!    otherwise, and nothing was fetched for a while ----------> fetch once for all who wait, look again
//!    otherwise -----------------------------------------------> there is no such key, or why there is no set
//! ```
//!
//! What a key is and how a set is read is its user's business: JWKs of cards, of issuers and of webhooks differ in what they admit.

use std::{error::Error, fmt, sync::Arc, time::Duration};

use async_trait::async_trait;
use chancery_core::{BoxError, sync::Mutex};
use tokio::time::{Instant, timeout};

/// Where one key set comes from.
#[async_trait]
pub trait KeySource: fmt::Debug + Send + Sync + 'static {
    /// The set.
    type Keys: Send + Sync + 'static;

    /// Reads the set, and the `Cache-Control` that came with it.
    async fn fetch(&self) -> Result<(Self::Keys, Option<String>), BoxError>;
}

/// How long a key set is kept, and how often it is fetched.
#[derive(Debug, Clone, Copy)]
pub struct CachePolicy {
    /// How long a fetch may take.
    pub timeout: Duration,
    /// No set is fresh for less, whatever its `Cache-Control` says.
    pub min_age: Duration,
    /// No set is fresh for more.
    pub max_age: Duration,
    /// How long nothing is fetched after a fetch: anyone can name a key that does not exist.
    pub pause: Duration,
    /// The same while there is no set at all.
    pub first_pause: Duration,
    /// What becomes of a set that is no longer fresh.
    pub stale: Stale,
}

/// What becomes of a set that is no longer fresh.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stale {
    /// It is used while a new one is fetched, and as long as none can be had.
    Serve,
    /// It is not used; when no new one can be had, there is none.
    Drop,
}

/// One key set, kept. Clones share it.
#[derive(Debug)]
pub struct KeyCache<S: KeySource>(Arc<Inner<S>>);

struct Inner<S: KeySource> {
    source: S,
    policy: Mutex<CachePolicy>,
    state: Mutex<State<S::Keys>>,
    /// Held while the set is fetched.
    fetching: tokio::sync::Mutex<()>,
}

struct State<K> {
    keys: Option<Arc<K>>,
    fresh_until: Option<Instant>,
    /// When the set was last asked for.
    tried: Option<Instant>,
    /// How often it was.
    fetches: u64,
    error: Option<KeysUnavailable>,
}

/// Why there is no key set.
#[derive(Debug, Clone)]
pub struct KeysUnavailable(Arc<dyn Error + Send + Sync>);

impl<S: KeySource> Clone for KeyCache<S> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<S: KeySource> KeyCache<S> {
    /// A cache of what comes from there.
    #[must_use]
    pub fn new(source: S, policy: CachePolicy) -> Self {
        let state = State { keys: None, fresh_until: None, tried: None, fetches: 0, error: None };
        Self(Arc::new(Inner { source, policy: Mutex::new(policy), state: Mutex::new(state), fetching: tokio::sync::Mutex::default() }))
    }

    /// Where the set comes from.
    #[must_use]
    pub fn source(&self) -> &S {
        &self.0.source
    }

    /// Changes how long the set is kept, and how often it is fetched.
    pub fn adjust(&self, change: impl FnOnce(&mut CachePolicy)) {
        change(&mut self.0.policy.lock());
    }

    /// What `look` finds in the set; `None` when it finds nothing in one as new as may be had.
    ///
    /// # Errors
    /// When there is no set, and none can be had; with [`Stale::Drop`] also when nothing is found in the set and no newer one can be had.
    pub async fn find<R>(&self, look: impl Fn(&S::Keys) -> Option<R>) -> Result<Option<R>, KeysUnavailable> {
        let inner = &self.0;
        let (keys, fresh, fetches) = inner.kept();
        if let Some(found) = keys.as_deref().and_then(&look) {
            if fresh {
                return Ok(Some(found));
            }
            if inner.policy.lock().stale == Stale::Serve {
                if inner.may_fetch() {
                    let inner = inner.clone();
                    tokio::spawn(async move { inner.refresh(fetches).await });
                }
                return Ok(Some(found));
            }
        }
        inner.refresh(fetches).await;
        let (keys, error) = inner.outcome();
        let served = keys.is_some() && inner.policy.lock().stale == Stale::Serve;
        match (keys.as_deref().and_then(look), error) {
            (None, Some(error)) if !served => Err(error),
            (found, _) => Ok(found),
        }
    }
}

impl<S: KeySource> Inner<S> {
    /// The set, whether it is fresh, and how often it was fetched.
    fn kept(&self) -> (Option<Arc<S::Keys>>, bool, u64) {
        let state = self.state.lock();
        (state.keys.clone(), state.fresh_until.is_some_and(|until| Instant::now() < until), state.fetches)
    }

    /// The set, and why the last fetch failed if it did.
    fn outcome(&self) -> (Option<Arc<S::Keys>>, Option<KeysUnavailable>) {
        let state = self.state.lock();
        (state.keys.clone(), state.error.clone())
    }

    /// Whether nothing was fetched for a while.
    fn may_fetch(&self) -> bool {
        let policy = *self.policy.lock();
        let state = self.state.lock();
        let pause = if state.keys.is_some() { policy.pause } else { policy.first_pause };
        state.tried.is_none_or(|tried| tried.elapsed() >= pause)
    }

    /// Fetches the set, unless that was tried a moment ago, or by another since `fetches` were counted.
    async fn refresh(&self, fetches: u64) {
        let _one = self.fetching.lock().await;
        if self.kept().2 != fetches || !self.may_fetch() {
            return;
        }
        let (now, policy) = (Instant::now(), *self.policy.lock());
        self.state.lock().tried = Some(now);
        let fetched = match timeout(policy.timeout, self.source.fetch()).await {
            Ok(fetched) => fetched,
            Err(_) => Err("the keys did not come in time".into()),
        };
        let mut state = self.state.lock();
        state.fetches += 1;
        match fetched {
            Ok((keys, cache_control)) => {
                let age = max_age(cache_control.as_deref()).unwrap_or_default().clamp(policy.min_age, policy.max_age);
                (state.keys, state.fresh_until, state.error) = (Some(Arc::new(keys)), Some(now + age), None);
            }
            Err(error) => {
                let error = KeysUnavailable(error.into());
                tracing::warn!(source = ?self.source, %error, "a key set cannot be read");
                let fresh = state.fresh_until.is_some_and(|until| now < until);
                if policy.stale == Stale::Drop && !fresh {
                    state.keys = None;
                }
                state.error = Some(error);
            }
        }
    }
}

impl<S: KeySource> fmt::Debug for Inner<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Inner").field("source", &self.source).finish_non_exhaustive()
    }
}

impl KeysUnavailable {
    /// The reason, as what it was when the source gave it.
    #[must_use]
    pub fn reason<E: Error + 'static>(&self) -> Option<&E> {
        self.0.downcast_ref()
    }
}

impl fmt::Display for KeysUnavailable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Error for KeysUnavailable {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.0.source()
    }
}

/// For how long an answer is fresh by its `Cache-Control`; `None` when it does not say.
fn max_age(cache_control: Option<&str>) -> Option<Duration> {
    let mut age = None;
    for directive in cache_control?.split(',').map(|directive| directive.trim().to_ascii_lowercase()) {
        if directive == "no-store" || directive == "no-cache" {
            return Some(Duration::ZERO);
        }
        if let Some(seconds) = directive.strip_prefix("max-age=").and_then(|seconds| seconds.trim_matches('"').parse().ok()) {
            age = Some(Duration::from_secs(seconds));
        }
    }
    age
}
