//! Key set cache: how often a set is fetched, how long it is kept, and what a failure means.

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use chancery_core::BoxError;
use chancery_net::{CachePolicy, KeyCache, KeySource, Stale};
use tokio::time::advance;

const MINUTE: Duration = Duration::from_secs(60);

/// A host with keys that can be changed, and that counts who asks.
#[derive(Debug, Clone, Default)]
struct Host {
    answer: Arc<Mutex<Answer>>,
    asked: Arc<AtomicUsize>,
}

#[derive(Debug, Clone, Default)]
struct Answer {
    keys: Option<Vec<&'static str>>,
    cache_control: Option<&'static str>,
    delay: Duration,
}

impl Host {
    fn with(keys: &[&'static str]) -> Self {
        let host = Self::default();
        host.serve(keys);
        host
    }

    fn serve(&self, keys: &[&'static str]) {
        self.change(|answer| answer.keys = Some(keys.to_vec()));
    }

    fn change(&self, change: impl FnOnce(&mut Answer)) {
        change(&mut self.answer.lock().unwrap());
    }

    fn asked(&self) -> usize {
        self.asked.load(Ordering::SeqCst)
    }

    fn cache(&self, stale: Stale) -> KeyCache<Self> {
        let policy = CachePolicy {
            timeout: Duration::from_secs(5),
            min_age: MINUTE,
            max_age: 60 * MINUTE,
            pause: MINUTE,
            first_pause: MINUTE,
            stale,
        };
        KeyCache::new(self.clone(), policy)
    }
}

#[async_trait]
impl KeySource for Host {
    type Keys = Vec<&'static str>;

    async fn fetch(&self) -> Result<(Self::Keys, Option<String>), BoxError> {
        self.asked.fetch_add(1, Ordering::SeqCst);
        let answer = self.answer.lock().unwrap().clone();
        tokio::time::sleep(answer.delay).await;
        Ok((answer.keys.ok_or("nobody is there")?, answer.cache_control.map(str::to_owned)))
    }
}

/// Whether a key is found, or why there is no set.
async fn find(cache: &KeyCache<Host>, key: &str) -> Result<bool, String> {
    let found = cache.find(|keys| keys.contains(&key).then_some(())).await;
    found.map(|found| found.is_some()).map_err(|error| error.to_string())
}

/// SC-22: at least a minute, at most an hour, else as the host says.
#[tokio::test(start_paused = true)]
async fn a_set_is_fresh_as_long_as_its_host_says() {
    for (cache_control, seconds) in
        [(None, 60), (Some("max-age=0"), 60), (Some("no-store"), 60), (Some("public, max-age=600"), 600), (Some("max-age=999999"), 3600)]
    {
        let host = Host::with(&["k"]);
        host.change(|answer| answer.cache_control = cache_control);
        let cache = host.cache(Stale::Drop);
        assert_eq!(find(&cache, "k").await, Ok(true));
        advance(Duration::from_secs(seconds - 1)).await;
        assert_eq!(find(&cache, "k").await, Ok(true));
        assert_eq!(host.asked(), 1, "{cache_control:?}");
        advance(Duration::from_secs(1)).await;
        assert_eq!(find(&cache, "k").await, Ok(true));
        assert_eq!(host.asked(), 2, "{cache_control:?}");
    }
}

/// SC-22: a key that is not in the set makes us ask again, once a minute at most.
#[tokio::test(start_paused = true)]
async fn an_unknown_key_is_asked_for_once_a_minute() {
    for stale in [Stale::Drop, Stale::Serve] {
        let host = Host::with(&["old"]);
        host.change(|answer| answer.cache_control = Some("max-age=3600"));
        let cache = host.cache(stale);
        assert_eq!(find(&cache, "old").await, Ok(true));
        host.serve(&["old", "new"]);
        for _ in 0..10 {
            assert_eq!(find(&cache, "new").await, Ok(false));
        }
        assert_eq!(host.asked(), 1);
        advance(MINUTE).await;
        assert_eq!(find(&cache, "new").await, Ok(true));
        assert_eq!(find(&cache, "old").await, Ok(true));
        assert_eq!(host.asked(), 2);
    }
}

/// SC-22: a host that fails is not asked without end either.
#[tokio::test(start_paused = true)]
async fn a_failure_is_remembered_for_a_minute() {
    let host = Host::default();
    let cache = host.cache(Stale::Drop);
    for _ in 0..3 {
        assert_eq!(find(&cache, "k").await, Err("nobody is there".to_owned()));
    }
    assert_eq!(host.asked(), 1);
    host.serve(&["k"]);
    advance(MINUTE).await;
    assert_eq!(find(&cache, "k").await, Ok(true));
}

/// A failed search for a key that does not exist takes nothing from those that do.
#[tokio::test(start_paused = true)]
async fn a_failure_leaves_a_fresh_set_in_use() {
    let host = Host::with(&["k"]);
    host.change(|answer| answer.cache_control = Some("max-age=3600"));
    let cache = host.cache(Stale::Drop);
    assert_eq!(find(&cache, "k").await, Ok(true));
    advance(MINUTE).await;
    host.change(|answer| answer.keys = None);
    assert_eq!(find(&cache, "other").await, Err("nobody is there".to_owned()));
    assert_eq!(find(&cache, "k").await, Ok(true));
    advance(60 * MINUTE).await;
    assert_eq!(find(&cache, "k").await, Err("nobody is there".to_owned()));
}

/// SC-22
#[tokio::test(start_paused = true)]
async fn a_slow_host_is_not_waited_for() {
    for (delay, found) in [(4_900, Ok(true)), (5_100, Err("the keys did not come in time".to_owned()))] {
        let host = Host::with(&["k"]);
        host.change(|answer| answer.delay = Duration::from_millis(delay));
        assert_eq!(find(&host.cache(Stale::Drop), "k").await, found);
    }
}

#[tokio::test(start_paused = true)]
async fn all_who_wait_share_one_fetch() {
    let host = Host::with(&["k"]);
    host.change(|answer| answer.delay = Duration::from_secs(1));
    let cache = host.cache(Stale::Drop);
    cache.adjust(|policy| policy.first_pause = Duration::ZERO);
    let all: Vec<_> = (0..10)
        .map(|_| {
            tokio::spawn({
                let cache = cache.clone();
                async move { find(&cache, "k").await }
            })
        })
        .collect();
    for one in all {
        assert_eq!(one.await.unwrap(), Ok(true));
    }
    assert_eq!(host.asked(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_stale_set_is_served_while_a_new_one_is_fetched_and_while_none_can_be_had() {
    let host = Host::with(&["k"]);
    let cache = host.cache(Stale::Serve);
    assert_eq!(find(&cache, "k").await, Ok(true));
    host.change(|answer| (answer.keys, answer.delay) = (None, Duration::from_secs(1)));
    advance(MINUTE).await;
    assert_eq!(find(&cache, "k").await, Ok(true));
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert_eq!(host.asked(), 2, "it was fetched in the background");
    assert_eq!((find(&cache, "k").await, find(&cache, "other").await), (Ok(true), Ok(false)));
    host.serve(&["other"]);
    advance(MINUTE).await;
    assert_eq!(find(&cache, "other").await, Ok(true));
    assert_eq!(find(&cache, "k").await, Ok(false), "a key that was taken out is not known any more");
}
