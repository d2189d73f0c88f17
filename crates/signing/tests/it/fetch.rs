//! Keys from the network: which addresses are asked for a card.

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use chancery_signing::{
    Algorithm, Document, Fetch, FetchError, Jwk, JwkSet, KeyOrigin, KeyRequest, KeySource, Outcome, Policy, Report, Signer, SigningKey,
    Verdict, Verifier,
};
use url::Url;

use crate::vectors::now;

/// A host with keys, that counts who asks.
#[derive(Clone, Default)]
struct Host {
    keys: JwkSet,
    asked: Arc<Mutex<Vec<KeyRequest>>>,
}

impl Host {
    fn with(keys: &[&SigningKey]) -> Self {
        Self { keys: keys.iter().map(|key| key.public()).collect(), asked: Arc::default() }
    }

    fn asked(&self) -> usize {
        self.asked.lock().unwrap().len()
    }

    /// Whether the last one who asked was to be kept to public addresses.
    fn guarded(&self) -> Option<bool> {
        self.asked.lock().unwrap().last().map(|request| request.guarded)
    }
}

#[async_trait]
impl Fetch for Host {
    async fn key(&self, request: &KeyRequest) -> Result<Option<Jwk>, FetchError> {
        self.asked.lock().unwrap().push(request.clone());
        Ok(self.keys.key(&request.kid).cloned())
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
    Verifier::new(policy).fetching(Arc::new(host.clone())).verify(card, Some(&card_address()), now()).await.report
}

/// SC-20, V10-SIGN-009
#[tokio::test]
async fn a_key_is_found_where_the_header_points() {
    let key = key("k");
    let host = Host::with(&[&key]);
    let report = check(&host, Policy::default(), &signed(&key, Some(JKU))).await;
    assert_eq!((report.result, report.key_source), (Verdict::Accept, Some(KeyOrigin::Jku)));
    assert_eq!(host.guarded(), Some(false));
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
        assert_eq!(host.guarded(), Some(true), "another host is to be reached on public addresses only");
    }
}

/// SC-22
#[tokio::test]
async fn a_card_on_a_private_host_may_have_its_keys_there() {
    let key = key("k");
    let cache = Arc::new(Host::with(&[&key]));
    let origin = Url::parse("https://10.0.0.7/agent.json").unwrap();
    let card = signed(&key, Some("https://10.0.0.7:8443/keys.json"));
    let report = Verifier::new(Policy::default()).fetching(cache).verify(&card, Some(&origin), now()).await.report;
    assert_eq!(report.result, Verdict::Accept);
}

/// SC-22: on this machine, and at the very place of the card, keys need no TLS; anywhere else they do, whatever the card says.
#[test]
fn keys_beside_a_card_on_this_machine_need_no_tls() {
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
        let request = KeyRequest::new(&Url::parse(keys).unwrap(), "k", Some(&Url::parse(card).unwrap()), &[]);
        assert_eq!(request.is_ok(), asked, "{card} {keys} {request:?}");
    }
}
