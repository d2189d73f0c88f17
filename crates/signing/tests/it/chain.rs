//! Certificate chains.

use aws_lc_rs::digest::{SHA256, digest};
use chancery_signing::{Document, KeyOrigin, Outcome, Policy, Report, Roots, Signer, SigningKey};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair, KeyUsagePurpose, SanType, date_time_ymd};
use url::Url;

use crate::vectors::{now, read};

/// A root, and the certificate of a signer below it.
struct Authority {
    root: CertifiedIssuer<'static, KeyPair>,
}

impl Authority {
    fn new() -> Self {
        let mut params = CertificateParams::new(Vec::<String>::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign];
        Self { root: CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap() }
    }

    /// A card that is signed with a certificate made like this.
    fn card(&self, algorithm: &'static rcgen::SignatureAlgorithm, change: impl FnOnce(&mut CertificateParams)) -> (Document, Vec<u8>) {
        let mut params = CertificateParams::new(Vec::<String>::new()).unwrap();
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.subject_alt_names = vec![SanType::DnsName("agent.example.com".try_into().unwrap())];
        change(&mut params);
        let pair = KeyPair::generate_for(algorithm).unwrap();
        let leaf = params.signed_by(&pair, &self.root).unwrap().der().to_vec();
        let mut card = Document::parse(&read("cards/t-unsigned.json")).unwrap();
        let key = SigningKey::from_pem(pair.serialize_pem().as_bytes(), "leaf").unwrap();
        Signer::new(&key).chain([leaf.as_slice()]).sign(&mut card).unwrap();
        (card, leaf)
    }

    fn policy(&self) -> Policy {
        let mut policy = Policy::default();
        policy.roots = Roots::from_der([self.root.der().as_ref()]).unwrap();
        policy
    }

    async fn check(&self, card: &Document) -> Report {
        check(self.policy(), card).await
    }
}

async fn check(policy: Policy, card: &Document) -> Report {
    let origin = Url::parse("https://agent.example.com/.well-known/agent-card.json").unwrap();
    chancery_signing::Verifier::new(policy).verify(card, Some(&origin), now()).await.report
}

fn names(names: Vec<SanType>) -> impl FnOnce(&mut CertificateParams) {
    move |params| params.subject_alt_names = names
}

/// SC-20, SC-23
#[tokio::test]
async fn a_chain_to_a_known_root_is_as_good_as_a_key() {
    let authority = Authority::new();
    for algorithm in [&rcgen::PKCS_ECDSA_P256_SHA256, &rcgen::PKCS_ED25519] {
        let (card, _) = authority.card(algorithm, |_| {});
        let report = authority.check(&card).await;
        assert_eq!(report.key_source, Some(KeyOrigin::X5c), "{report:?}");
    }
    let (card, _) = authority.card(&rcgen::PKCS_ED25519, |_| {});
    assert_eq!(Authority::new().check(&card).await.attempts[0].outcome, Outcome::ChainUntrusted);
    // Without roots there is nothing that a chain could lead to.
    assert_eq!(check(Policy::default(), &card).await.attempts[0].outcome, Outcome::NoKey);
}

/// SC-23
#[tokio::test]
async fn a_certificate_speaks_for_the_hosts_that_it_names() {
    let authority = Authority::new();
    let dns = |name: &str| SanType::DnsName(name.try_into().unwrap());
    let uri = |name: &str| SanType::URI(name.try_into().unwrap());
    let cases = [
        (vec![dns("*.example.com")], true),
        (vec![dns("other.example.com"), dns("agent.example.com")], true),
        (vec![uri("https://agent.example.com/.well-known/agent-card.json")], true),
        (vec![uri("https://agent.example.com/")], false),
        (vec![dns("example.com")], false),
        (vec![dns("*.com")], false),
        (vec![], false),
    ];
    for (given, good) in cases {
        let (card, _) = authority.card(&rcgen::PKCS_ED25519, names(given.clone()));
        let outcome = authority.check(&card).await.attempts[0].outcome;
        assert_eq!(outcome, if good { Outcome::Valid } else { Outcome::NameMismatch }, "{given:?}");
    }
}

/// SC-23
#[tokio::test]
async fn certificates_for_something_else_are_refused() {
    let authority = Authority::new();
    let (other_use, _) = authority.card(&rcgen::PKCS_ED25519, |params| params.key_usages = vec![KeyUsagePurpose::KeyAgreement]);
    assert_eq!(authority.check(&other_use).await.attempts[0].outcome, Outcome::ChainUntrusted);
    let (no_use, _) = authority.card(&rcgen::PKCS_ED25519, |params| params.key_usages = vec![]);
    assert_eq!(authority.check(&no_use).await.attempts[0].outcome, Outcome::ChainUntrusted);
    let (future, _) = authority.card(&rcgen::PKCS_ED25519, |params| params.not_before = date_time_ymd(2040, 1, 1));
    assert_eq!(authority.check(&future).await.attempts[0].outcome, Outcome::ChainExpired);
    let (past, _) = authority.card(&rcgen::PKCS_ED25519, |params| params.not_after = date_time_ymd(2026, 1, 1));
    assert_eq!(authority.check(&past).await.attempts[0].outcome, Outcome::ChainExpired);
}

/// SC-23
#[tokio::test]
async fn revoked_certificates_are_refused() {
    let authority = Authority::new();
    let (card, leaf) = authority.card(&rcgen::PKCS_ED25519, |_| {});
    let mut policy = authority.policy();
    policy.revoked_certificates = vec![digest(&SHA256, &leaf).as_ref().iter().map(|byte| format!("{byte:02X}")).collect()];
    assert_eq!(check(policy, &card).await.attempts[0].outcome, Outcome::ChainUntrusted);
}
