//! Keys from the network, and the limits of asking for them.

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use chancery_signing::{
    Algorithm, Document, Fetch, FetchError, Jwk, JwkSet, KeyCache, KeyOrigin, KeyRequest, KeyResponse, KeySource, Outcome, Policy, Report,
    Signer, SigningKey, Verdict, Verifier,
};
use tokio::time::advance;
use url::Url;

use crate::vectors::now;

/// A host with keys that can be changed, and that counts who asks.
#[derive(Clone, Default)]
struct Host {
    answer: Arc<Mutex<Answer>>,
    asked: Arc<AtomicUsize>,
}

#[derive(Clone, Default)]
struct Answer {
    body: Vec<u8>,
    cache_control: Option<String>,
    moved_to: Option<Url>,
    delay: Duration,
    guarded: Option<bool>,
}

impl Host {
    fn with(keys: &[&SigningKey]) -> Self {
        let host = Self::default();
        host.serve(keys);
        host
    }

    fn serve(&self, keys: &[&SigningKey]) {
        let set: JwkSet = keys.iter().map(|key| key.public()).collect();
        self.change(|answer| answer.body = set.to_value().to_string().into_bytes());
    }

    fn change(&self, change: impl FnOnce(&mut Answer)) {
        change(&mut self.answer.lock().unwrap());
    }

    fn asked(&self) -> usize {
        self.asked.load(Ordering::SeqCst)
    }
}

#[async_trait]
impl Fetch for Host {
    async fn fetch(&self, request: &KeyRequest) -> Result<KeyResponse, FetchError> {
        self.asked.fetch_add(1, Ordering::SeqCst);
        let answer = self.answer.lock().unwrap().clone();
        self.change(|answer| answer.guarded = Some(request.guarded));
        tokio::time::sleep(answer.delay).await;
        Ok(KeyResponse::new(answer.moved_to.unwrap_or_else(|| request.url.clone()), answer.body, answer.cache_control))
    }
}

fn card_address() -> Url {
    Url::parse("https://agent.example.com/.well-known/agent-card.json").unwrap()
}

fn key(kid: &str) -> SigningKey {
    SigningKey::generate(Algorithm::EdDsa, kid).unwrap()
}

fn signed(key: &SigningKey, jku: Option<&str>) -> Document {
    let mut card =
        Document::parse(br#"{"name": "Echo", "version": "1", "supportedInterfaces": [{"url": "https://agent.example.com"}]}"#).unwrap();
    let signer = Signer::new(key);
    let signer = if let Some(url) = jku { signer.jku(url) } else { signer };
    signer.sign(&mut card).unwrap();
    card
}

const JKU: &str = "https://agent.example.com/keys.json";

async fn check(host: &Host, policy: Policy, card: &Document) -> Report {
    Verifier::new(policy).fetching(Arc::new(KeyCache::new(host.clone()))).verify(card, Some(&card_address()), now()).await.report
}

/// SC-20, V10-SIGN-009
#[tokio::test]
async fn a_key_is_found_where_the_header_points() {
    let key = key("k");
    let host = Host::with(&[&key]);
    let report = check(&host, Policy::default(), &signed(&key, Some(JKU))).await;
    assert_eq!((report.result, report.key_source), (Verdict::Accept, Some(KeyOrigin::Jku)));
    assert_eq!(host.answer.lock().unwrap().guarded, Some(false));
}

/// SC-20: the keys of the policy come before those of the network, and their word is final.
#[tokio::test]
async fn the_first_source_that_has_the_key_decides() {
    let (ours, theirs) = (key("k"), key("k"));
    let host = Host::with(&[&theirs]);
    let mut policy = Policy::default();
    policy.keys = JwkSet::from(ours.public());
    let report = check(&host, policy, &signed(&theirs, Some(JKU))).await;
    assert_eq!(report.attempts[0].outcome, Outcome::BadSignature);
    assert_eq!(host.asked(), 0);
}

/// SC-20
#[tokio::test]
async fn the_well_known_address_is_asked_when_the_policy_says_so() {
    let key = key("k");
    let host = Host::with(&[&key]);
    let card = signed(&key, None);
    assert_eq!(check(&host, Policy::default(), &card).await.result, Verdict::NoKey);
    let mut policy = Policy::default();
    policy.well_known = true;
    assert_eq!(check(&host, policy, &card).await.key_source, Some(KeyOrigin::WellKnown));
}

/// SC-20, DIA-002-SIGN-003: `jwks_uri` counts in the dialect only.
#[tokio::test]
async fn jwks_uri_counts_in_its_dialect() {
    let key = key("k");
    let host = Host::with(&[&key]);
    let text = br#"{"name": "Echo", "jwks_uri": "https://agent.example.com/jwks", "supported_interfaces": [{"url": "https://agent.example.com"}]}"#;
    let mut card = Document::parse(text).unwrap();
    Signer::new(&key).issuer("agent.example.com").forms([chancery_signing::Form::Raw]).sign(&mut card).unwrap();
    assert_eq!(check(&host, Policy::default(), &card).await.result, Verdict::NoKey);
    let mut policy = Policy::default();
    policy.dialect = true;
    assert_eq!(check(&host, policy, &card).await.key_source, Some(KeyOrigin::JwksUri));
}

/// SC-20
#[tokio::test]
async fn a_registry_is_asked_last() {
    struct Registry(Jwk);

    #[async_trait]
    impl KeySource for Registry {
        async fn key(&self, _kid: &str, _card: Option<&Url>) -> Option<Jwk> {
            Some(self.0.clone())
        }
    }

    let (right, other) = (key("k"), key("other"));
    let card = signed(&right, None);
    for (known, source) in [(right.public(), Some(KeyOrigin::Registry)), (other.public(), None)] {
        let verifier = Verifier::new(Policy::default()).registry(Arc::new(Registry(known)));
        assert_eq!(verifier.verify(&card, Some(&card_address()), now()).await.report.key_source, source);
    }
}

/// SC-22, V10-SIGN-012: nothing but https, nothing but the card's host and those that were allowed, and these at public addresses only.
#[tokio::test]
async fn keys_elsewhere_do_not_count() {
    let key = key("k");
    let addresses = [
        "http://agent.example.com/keys.json",
        "https://evil.example.com/keys.json",
        "https://agent.example.com.evil.example/keys.json",
        "https://user:secret@agent.example.com/keys.json",
        "file:///etc/passwd",
        "keys.json",
    ];
    for address in addresses {
        let host = Host::with(&[&key]);
        let mut policy = Policy::default();
        policy.allow_key_hosts = vec!["keys.example.com".to_owned()];
        assert_eq!(check(&host, policy, &signed(&key, Some(address))).await.result, Verdict::NoKey, "{address}");
        assert_eq!(host.asked(), 0, "{address}");
    }
    for allowed in ["keys.example.com", "10.0.0.7", "localhost", "[::1]"] {
        let host = Host::with(&[&key]);
        let mut policy = Policy::default();
        policy.allow_key_hosts = vec![allowed.to_owned()];
        assert_eq!(check(&host, policy, &signed(&key, Some(&format!("https://{allowed}/k")))).await.result, Verdict::Accept);
        assert_eq!(host.answer.lock().unwrap().guarded, Some(true), "another host is to be reached on public addresses only");
    }
}

/// SC-22
#[tokio::test]
async fn a_card_on_a_private_host_may_have_its_keys_there() {
    let key = key("k");
    let cache = Arc::new(KeyCache::new(Host::with(&[&key])));
    let origin = Url::parse("https://10.0.0.7/agent.json").unwrap();
    let card = signed(&key, Some("https://10.0.0.7:8443/keys.json"));
    let report = Verifier::new(Policy::default()).fetching(cache).verify(&card, Some(&origin), now()).await.report;
    assert_eq!(report.result, Verdict::Accept);
}

/// SC-22
#[tokio::test(start_paused = true)]
async fn answers_beyond_the_limits_are_refused() {
    let key = key("k");
    let card = signed(&key, Some(JKU));
    let many: JwkSet = (0..101).map(|_| key.public()).collect();
    let hundred: JwkSet = (0..100).map(|_| key.public()).collect();
    let pad = |length: usize| {
        let mut body = JwkSet::from(key.public()).to_value().to_string().into_bytes();
        body.resize(length, b' ');
        body
    };
    type Change<'a> = Box<dyn FnOnce(&mut Answer) + 'a>;
    let cases: [(&str, Verdict, Change<'_>); 8] = [
        ("100 keys", Verdict::Accept, Box::new(|answer| answer.body = hundred.to_value().to_string().into_bytes())),
        ("101 keys", Verdict::NoKey, Box::new(|answer| answer.body = many.to_value().to_string().into_bytes())),
        ("64 KiB", Verdict::Accept, Box::new(|answer| answer.body = pad(65536))),
        ("more than 64 KiB", Verdict::NoKey, Box::new(|answer| answer.body = pad(65537))),
        ("slow", Verdict::Accept, Box::new(|answer| answer.delay = Duration::from_millis(4900))),
        ("too slow", Verdict::NoKey, Box::new(|answer| answer.delay = Duration::from_millis(5100))),
        (
            "moved on the host",
            Verdict::Accept,
            Box::new(|answer| answer.moved_to = Some(Url::parse("https://agent.example.com/k").unwrap())),
        ),
        ("moved away", Verdict::NoKey, Box::new(|answer| answer.moved_to = Some(Url::parse("https://evil.example.com/k").unwrap()))),
    ];
    for (name, verdict, change) in cases {
        let host = Host::with(&[&key]);
        host.change(change);
        assert_eq!(check(&host, Policy::default(), &card).await.result, verdict, "{name}");
    }
}

/// SC-22: at least a minute, at most an hour, else as the host says.
#[tokio::test(start_paused = true)]
async fn answers_are_kept_as_long_as_they_say() {
    let cases =
        [(None, 60), (Some("max-age=0"), 60), (Some("no-store"), 60), (Some("public, max-age=600"), 600), (Some("max-age=999999"), 3600)];
    for (cache_control, seconds) in cases {
        let key = key("k");
        let host = Host::with(&[&key]);
        host.change(|answer| answer.cache_control = cache_control.map(str::to_owned));
        let cache = KeyCache::new(host.clone());
        let url = Url::parse(JKU).unwrap();
        let ask = async || cache.key(&url, "k", Some(&card_address()), &[]).await.unwrap().unwrap();
        ask().await;
        advance(Duration::from_secs(seconds - 1)).await;
        ask().await;
        assert_eq!(host.asked(), 1, "{cache_control:?}");
        advance(Duration::from_secs(1)).await;
        ask().await;
        assert_eq!(host.asked(), 2, "{cache_control:?}");
    }
}

/// SC-22: a key that is not in the set makes us ask again, once a minute at most.
#[tokio::test(start_paused = true)]
async fn an_unknown_key_is_asked_for_once_a_minute() {
    let (old, new) = (key("old"), key("new"));
    let host = Host::with(&[&old]);
    host.change(|answer| answer.cache_control = Some("max-age=3600".to_owned()));
    let cache = KeyCache::new(host.clone());
    let url = Url::parse(JKU).unwrap();
    let find = async |kid: &str| cache.key(&url, kid, Some(&card_address()), &[]).await.unwrap().is_some();
    assert!(find("old").await);
    host.serve(&[&old, &new]);
    for _ in 0..10 {
        assert!(!find("new").await);
    }
    assert_eq!(host.asked(), 1);
    advance(Duration::from_secs(60)).await;
    assert!(find("new").await);
    assert!(find("old").await);
    assert_eq!(host.asked(), 2);
}

/// SC-22: a host that fails is not asked without end either.
#[tokio::test(start_paused = true)]
async fn a_failure_is_remembered_for_a_minute() {
    let key = key("k");
    let host = Host::default();
    let cache = KeyCache::new(host.clone());
    let url = Url::parse(JKU).unwrap();
    for _ in 0..3 {
        cache.key(&url, "k", Some(&card_address()), &[]).await.unwrap_err();
    }
    assert_eq!(host.asked(), 1);
    host.serve(&[&key]);
    advance(Duration::from_secs(60)).await;
    assert!(cache.key(&url, "k", Some(&card_address()), &[]).await.unwrap().is_some());
}

/// SC-22: on this machine, and at the very place of the card, keys need no TLS; anywhere else they do, whatever the card says.
#[tokio::test]
async fn keys_beside_a_card_on_this_machine_need_no_tls() {
    let key = key("k");
    for (card, keys, asked) in [
        ("http://127.0.0.1:8080/card", "http://127.0.0.1:8080/keys", true),
        ("http://localhost:8080/card", "http://localhost:8080/keys", true),
        ("http://[::1]:8080/card", "http://[::1]:8080/keys", true),
        ("http://127.0.0.1:8080/card", "http://127.0.0.1:9090/keys", false),
        ("http://127.0.0.1:8080/card", "http://localhost:8080/keys", false),
        ("https://127.0.0.1:8080/card", "http://127.0.0.1:8080/keys", false),
        ("http://agent.example.com/card", "http://agent.example.com/keys", false),
        ("http://10.0.0.1/card", "http://10.0.0.1/keys", false),
    ] {
        let cache = KeyCache::new(Host::with(&[&key]));
        let found = cache.key(&Url::parse(keys).unwrap(), "k", Some(&Url::parse(card).unwrap()), &[]).await;
        assert_eq!(found.is_ok(), asked, "{card} {keys} {found:?}");
    }
}
