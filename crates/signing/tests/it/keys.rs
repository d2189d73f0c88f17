//! Which keys count, and how keys are made, read and written.

use aws_lc_rs::{
    rand::SystemRandom,
    signature::{ECDSA_P384_SHA384_FIXED_SIGNING, EcdsaKeyPair, KeyPair},
};
use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};
use chancery_signing::{Algorithm, Document, Form, Jwk, JwkSet, Outcome, Policy, Report, Signer, SigningKey, Verdict, Verifier};
use serde_json::{Value, json};
use url::Url;

use crate::vectors::{now, read};

const ALGORITHMS: [Algorithm; 3] = [Algorithm::Es256, Algorithm::EdDsa, Algorithm::Rs256];

fn card() -> Document {
    Document::parse(&read("cards/t-unsigned.json")).unwrap()
}

fn signed(key: &SigningKey) -> Document {
    let mut card = card();
    Signer::new(key).sign(&mut card).unwrap();
    card
}

async fn check(policy: Policy, card: &Document) -> Report {
    let origin = Url::parse("https://agent.example.com/.well-known/agent-card.json").unwrap();
    Verifier::new(policy).verify(card, Some(&origin), now()).await.report
}

fn trusting(keys: impl Into<JwkSet>) -> Policy {
    let mut policy = Policy::default();
    policy.keys = keys.into();
    policy
}

/// A set with one key that has these members besides.
fn amended(key: &SigningKey, members: Value) -> JwkSet {
    let mut value = key.public().to_value();
    for (name, member) in members.as_object().unwrap() {
        value[name] = member.clone();
    }
    JwkSet::parse(json!({"keys": [value]}).to_string().as_bytes()).unwrap()
}

/// SC-1, V10-SIGN-001, V10-SIGN-013, DIA-002-SIGN-002
#[tokio::test]
async fn cards_are_signed_and_checked_with_every_algorithm() {
    for algorithm in ALGORITHMS {
        let key = SigningKey::generate(algorithm, "k").unwrap();
        let report = check(trusting(key.public()), &signed(&key)).await;
        assert_eq!((report.result, report.alg, report.form), (Verdict::Accept, Some(algorithm), Some(Form::Spec)));
        let other = SigningKey::generate(algorithm, "k").unwrap();
        assert_eq!(check(trusting(other.public()), &signed(&key)).await.attempts[0].outcome, Outcome::BadSignature);
    }
}

/// SC-1
#[tokio::test]
async fn es384_is_checked_and_not_made() {
    assert!(SigningKey::generate(Algorithm::Es384, "k").is_err());
    let pair = EcdsaKeyPair::generate(&ECDSA_P384_SHA384_FIXED_SIGNING).unwrap();
    let text = |bytes: &[u8]| BASE64_URL_SAFE_NO_PAD.encode(bytes);
    let (x, y) = pair.public_key().as_ref()[1..].split_at(48);
    let key = Jwk::parse(json!({"kty": "EC", "crv": "P-384", "kid": "k", "x": text(x), "y": text(y)}).to_string().as_bytes()).unwrap();
    let mut card = card().into_value();
    let payload = Form::Spec.of(&Document::of(&card).unwrap()).unwrap().bytes;
    let protected = text(br#"{"alg":"ES384","kid":"k"}"#);
    let input = format!("{protected}.{}", text(&payload));
    let signature = pair.sign(&SystemRandom::new(), input.as_bytes()).unwrap();
    card["signatures"] = json!([{"protected": protected, "signature": text(signature.as_ref())}]);
    let report = check(trusting(key), &Document::of(&card).unwrap()).await;
    assert_eq!((report.result, report.alg), (Verdict::Accept, Some(Algorithm::Es384)));
}

/// SC-1
#[test]
fn short_rsa_keys_verify_nothing() {
    let key =
        Jwk::parse(json!({"kty": "RSA", "kid": "k", "e": "AQAB", "n": BASE64_URL_SAFE_NO_PAD.encode([0xff; 128])}).to_string().as_bytes());
    assert!(!key.unwrap().verify(b"message", &[1; 128]));
}

/// SC-2: the algorithm is the key's.
#[tokio::test]
async fn a_header_with_another_algorithm_than_the_keys_is_refused() {
    let (ed, es) = (SigningKey::generate(Algorithm::EdDsa, "k").unwrap(), SigningKey::generate(Algorithm::Es256, "k").unwrap());
    assert_eq!(check(trusting(ed.public()), &signed(&es)).await.attempts[0].outcome, Outcome::BadAlg);
    // A key that claims an algorithm it cannot have is no key.
    assert_eq!(amended(&es, json!({"alg": "RS256"})).keys(), []);
    assert_eq!(amended(&es, json!({"alg": "none"})).keys(), []);
}

/// SC-21
#[tokio::test]
async fn keys_for_other_purposes_are_not_used() {
    let key = SigningKey::generate(Algorithm::Es256, "k").unwrap();
    let card = signed(&key);
    let cases = [
        (json!({}), Verdict::Accept),
        (json!({"key_ops": ["verify"]}), Verdict::Accept),
        (json!({"use": "enc"}), Verdict::NoKey),
        (json!({"key_ops": ["sign"]}), Verdict::NoKey),
        (json!({"kid": "K"}), Verdict::NoKey),
        (json!({"kid": null}), Verdict::NoKey),
    ];
    for (members, verdict) in cases {
        assert_eq!(check(trusting(amended(&key, members.clone())), &card).await.result, verdict, "{members}");
    }
}

/// SC-25, V10-SIGN-014
#[tokio::test]
async fn keys_that_are_not_valid_now_are_not_used() {
    let key = SigningKey::generate(Algorithm::Es256, "k").unwrap();
    let (card, second) = (signed(&key), now().as_second());
    for (members, good) in
        [(json!({"nbf": second, "exp": second + 1}), true), (json!({"exp": second}), false), (json!({"nbf": second + 1}), false)]
    {
        let report = check(trusting(amended(&key, members)), &card).await;
        assert_eq!(report.attempts[0].outcome, if good { Outcome::Valid } else { Outcome::KeyExpired });
    }
    let mut policy = trusting(key.public());
    policy.revoked_kids = vec!["k".to_owned()];
    let report = check(policy, &card).await;
    assert_eq!((report.result, report.attempts[0].outcome), (Verdict::Reject, Outcome::KeyExpired));
}

/// SC-24, DIA-002-SIGN-004
#[tokio::test]
async fn an_issuer_is_the_host_of_the_card_and_of_its_first_interface() {
    let key = SigningKey::generate(Algorithm::Es256, "k").unwrap();
    // issuer, suffix allowed, required, good
    let cases = [
        (Some("https://agent.example.com"), false, true, true),
        (Some("agent.example.com"), false, true, true),
        (Some("https://evil.example.com"), false, true, false),
        (Some("http://agent.example.com"), false, true, false),
        (Some("example.com"), false, true, false),
        (Some("example.com"), true, true, true),
        (Some("ample.com"), true, true, false),
        (Some("com"), true, true, false),
        (None, false, true, false),
        (None, false, false, true),
    ];
    for (issuer, suffix, required, good) in cases {
        let mut card = card();
        let signer = Signer::new(&key).forms([Form::Raw]);
        let signer = if let Some(issuer) = issuer { signer.issuer(issuer) } else { signer };
        signer.sign(&mut card).unwrap();
        let mut policy = trusting(key.public());
        (policy.dialect, policy.issuer_suffix, policy.require_issuer) = (true, suffix, required);
        let outcome = check(policy, &card).await.attempts[0].outcome;
        assert_eq!(outcome, if good { Outcome::Valid } else { Outcome::IssMismatch }, "{issuer:?}");
    }
    // The right host, but the work goes elsewhere.
    let mut moved = Document::parse(br#"{"name": "Echo", "supported_interfaces": [{"url": "https://evil.example.com/"}]}"#).unwrap();
    Signer::new(&key).forms([Form::Raw]).issuer("agent.example.com").sign(&mut moved).unwrap();
    let mut policy = trusting(key.public());
    policy.dialect = true;
    assert_eq!(check(policy, &moved).await.attempts[0].outcome, Outcome::IssMismatch);
}

/// SC-8, SC-14, V10-SIGN-008, V10-SIGN-015: signing adds, in both forms when they differ, and removes only what it is told to.
#[tokio::test]
async fn signing_adds_to_what_is_there() {
    let (first, second) =
        (SigningKey::generate(Algorithm::Es256, "first").unwrap(), SigningKey::generate(Algorithm::EdDsa, "second").unwrap());
    let kids = |card: &Document| -> Vec<String> {
        let signatures = card.member("signatures").unwrap().as_array().unwrap();
        let header = |signature: &Value| -> Value {
            serde_json::from_slice(&BASE64_URL_SAFE_NO_PAD.decode(signature["protected"].as_str().unwrap()).unwrap()).unwrap()
        };
        assert!(signatures.iter().all(|signature| header(signature)["typ"] == "JOSE"));
        signatures.iter().map(|signature| header(signature)["kid"].as_str().unwrap().to_owned()).collect()
    };
    let mut card = Document::parse(&read("cards/spec-apikey-noscope.json")).unwrap();
    let signed = Signer::new(&first).sign(&mut card).unwrap();
    assert_eq!((signed.forms, signed.uncovered), (vec![Form::Spec, Form::Sdk], vec!["/securityRequirements".to_owned()]));
    assert_eq!(kids(&card), ["es256-1", "first", "first"]);
    // The one that covers everything decides, wherever it stands.
    assert_eq!(check(trusting(first.public()), &card).await.result, Verdict::Accept);

    Signer::new(&second).forms([Form::Spec]).sign(&mut card).unwrap();
    assert_eq!(kids(&card), ["es256-1", "first", "first", "second"]);
    Signer::new(&first).forms([Form::Sdk]).replace().sign(&mut card).unwrap();
    assert_eq!(kids(&card), ["es256-1", "second", "first"]);
    assert_eq!(check(trusting(first.public()), &card).await.result, Verdict::AcceptReduced);

    let mut same = self::card();
    assert_eq!(Signer::new(&first).sign(&mut same).unwrap().forms, [Form::Spec], "one is enough where the forms are equal");
}

/// SC-7
#[tokio::test]
async fn one_good_signature_of_the_first_eight_is_enough() {
    let (good, bad) = (SigningKey::generate(Algorithm::EdDsa, "good").unwrap(), SigningKey::generate(Algorithm::EdDsa, "bad").unwrap());
    for (before, verdict) in [(7, Verdict::Accept), (8, Verdict::NoKey)] {
        let mut card = card();
        for _ in 0..before {
            Signer::new(&bad).sign(&mut card).unwrap();
        }
        Signer::new(&good).sign(&mut card).unwrap();
        let report = check(trusting(good.public()), &card).await;
        assert_eq!((report.result, report.attempts.len()), (verdict, 8));
        assert!(report.attempts[0].reason.is_some());
    }
}

/// A key that was seen once stays the origin's key until somebody confirms another.
#[tokio::test]
async fn another_key_than_before_is_refused() {
    use std::sync::Arc;

    struct Vouches(Jwk);

    #[async_trait::async_trait]
    impl chancery_signing::KeySource for Vouches {
        async fn key(&self, _kid: &str, _card: Option<&Url>) -> Option<Jwk> {
            Some(self.0.clone())
        }
    }

    let (old, new) = (SigningKey::generate(Algorithm::EdDsa, "k").unwrap(), SigningKey::generate(Algorithm::EdDsa, "k").unwrap());
    let verify = async |policy: Policy| {
        let verifier = Verifier::new(policy).registry(Arc::new(Vouches(new.public())));
        verifier.verify(&signed(&new), None, now()).await.report
    };
    let mut policy = Policy::default();
    let thumbprint = verify(policy.clone()).await.thumbprint.unwrap();
    policy.thumbprints = vec![format!("sha-256:{}", old.public().thumbprint())];
    assert_eq!(verify(policy.clone()).await.attempts[0].outcome, Outcome::KeyChanged);
    policy.thumbprints.push(thumbprint);
    assert_eq!(verify(policy).await.result, Verdict::Accept);
}

#[test]
fn private_keys_are_written_and_read() {
    for algorithm in ALGORITHMS {
        let key = SigningKey::generate(algorithm, "k").unwrap();
        let again = SigningKey::from_jwk(key.to_private_jwk().unwrap().as_bytes()).unwrap();
        assert_eq!((again.public(), again.kid(), again.algorithm()), (key.public(), "k", algorithm));
        assert_eq!(signed(&again).members().len(), signed(&key).members().len());
    }
    for name in ["eddsa-1", "es256-1", "es256-2", "rs256-1"] {
        let key = SigningKey::from_jwk(&read(&format!("keys/{name}.private.jwk.json"))).unwrap();
        let set = JwkSet::parse(&read("keys/jwks.json")).unwrap();
        assert_eq!(key.public(), *set.key(name).unwrap());
    }
}

#[test]
fn keys_whose_halves_do_not_fit_are_refused() {
    for algorithm in ALGORITHMS {
        let [one, other] = [(); 2].map(|()| SigningKey::generate(algorithm, "k").unwrap().to_private_jwk().unwrap());
        let (mut one, other): (Value, Value) = (serde_json::from_str(&one).unwrap(), serde_json::from_str(&other).unwrap());
        one["d"] = other["d"].clone();
        assert!(SigningKey::from_jwk(one.to_string().as_bytes()).is_err(), "{algorithm}");
        one.as_object_mut().unwrap().remove("d");
        assert!(SigningKey::from_jwk(one.to_string().as_bytes()).is_err(), "{algorithm}");
    }
}

/// Made with `openssl genpkey` and `openssl ecparam -genkey`, for this test only.
#[test]
fn keys_are_read_from_pem() {
    for (pem, algorithm) in [
        (rcgen::KeyPair::generate_for(&rcgen::PKCS_ECDSA_P256_SHA256).unwrap().serialize_pem(), Algorithm::Es256),
        (rcgen::KeyPair::generate_for(&rcgen::PKCS_ED25519).unwrap().serialize_pem(), Algorithm::EdDsa),
        (include_str!("ec-sec1.pem").to_owned(), Algorithm::Es256),
        (include_str!("rsa-pkcs8.pem").to_owned(), Algorithm::Rs256),
        (include_str!("rsa-pkcs1.pem").to_owned(), Algorithm::Rs256),
        (include_str!("ed25519-pkcs8.pem").to_owned(), Algorithm::EdDsa),
    ] {
        assert_eq!(SigningKey::from_pem(pem.as_bytes(), "k").unwrap().algorithm(), algorithm);
    }
    assert!(SigningKey::from_pem(&read("x5c/root.pem"), "k").is_err());
    let p384 = rcgen::KeyPair::generate_for(&rcgen::PKCS_ECDSA_P384_SHA384).unwrap().serialize_pem();
    assert!(SigningKey::from_pem(p384.as_bytes(), "k").is_err());
}

#[test]
fn secrets_are_not_shown() {
    let key = SigningKey::from_jwk(&read("keys/es256-1.private.jwk.json")).unwrap();
    assert_eq!(format!("{key:?}"), "SigningKey { kid: \"es256-1\", alg: Es256, .. }");
    let secret: Value = serde_json::from_slice(&read("keys/es256-1.private.jwk.json")).unwrap();
    let published = JwkSet::from(key.public()).to_value().to_string();
    assert!(!published.contains(secret["d"].as_str().unwrap()));
}

/// RFC 7638, section 3.1.
#[test]
fn thumbprints_are_those_of_the_rfc() {
    let key = br#"{"kty": "RSA", "n": "0vx7agoebGcQSuuPiLJXZptN9nndrQmbXEps2aiAFbWhM78LhWx4cbbfAAtVT86zwu1RK7aPFFxuhDR1L6tSoc_BJECPebWKRXjBZCiFV4n3oknjhMstn64tZ_2W-5JsGY4Hc5n9yBXArwl93lqt7_RN5w6Cf0h4QyQ5v-65YGjQR0_FDW2QvzqY368QQMicAtaSqzs8KJZgnYb9c7d0zgdAZHzu6qMQvRL5hajrn1n91CbOpbISD08qNLyrdkt-bFTWhAI4vMQFh6WeZu0fM4lFd2NcRwr3XPksINHaQ-G_xBniIqbw0Ls1jF44-csFCur-kEgU8awapJzKnqDKgw", "e": "AQAB", "alg": "RS256", "kid": "2011-04-29"}"#;
    assert_eq!(Jwk::parse(key).unwrap().thumbprint(), "NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs");
}

/// SC-15
#[test]
fn what_weakens_a_signature_is_warned_of() {
    let text = br#"{"name": "", "description": "d", "supportedInterfaces": [{"url": "u", "protocolBinding": "JSONRPC"}], "version": "1",
        "capabilities": {"extensions": [{"uri": "x", "params": {"a": [], "b": 9007199254740993, "c": 0.1, "d": {"e": null}}}]},
        "securityRequirements": [{"schemes": {"key": {"list": []}, "oauth": {"list": ["read"]}}}],
        "defaultInputModes": ["t"], "defaultOutputModes": ["t"], "skills": []}"#;
    let paths: Vec<String> = chancery_signing::lint(&Document::parse(text).unwrap()).into_iter().map(|lint| lint.path).collect();
    assert_eq!(
        paths,
        [
            "/name",
            "/supportedInterfaces/0/protocolVersion",
            "/capabilities/extensions/0/params/a",
            "/capabilities/extensions/0/params/d/e",
            "/securityRequirements/0/schemes/key",
            "/skills",
            "/capabilities/extensions/0/params/b",
        ]
    );
    assert_eq!(chancery_signing::lint(&card()), []);
    let deep = format!(r#"{{"x": {}1{}}}"#, "[".repeat(64), "]".repeat(64));
    assert!(chancery_signing::lint(&Document::parse(deep.as_bytes()).unwrap()).iter().any(|lint| lint.message.contains("deeper")));
}
