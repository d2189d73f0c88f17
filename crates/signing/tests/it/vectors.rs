//! The vectors of signed cards: made by the released SDKs, and changed afterwards.

use std::{collections::BTreeSet, fs, path::PathBuf};

use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};
use chancery_signing::{Document, Form, JwkSet, Policy, Report, Roots, Verified, Verifier};
use serde_json::Value;
use url::Url;

pub(crate) fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../vectors/signed-card")
}

pub(crate) fn read(name: &str) -> Vec<u8> {
    fs::read(folder().join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// The policy that `expected.json` is about.
pub(crate) fn policy() -> Policy {
    let mut policy = Policy::default();
    policy.keys = JwkSet::parse(&read("keys/jwks.json")).unwrap();
    policy.roots = Roots::from_pem(&read("x5c/root.pem")).unwrap();
    policy
}

pub(crate) fn now() -> jiff::Timestamp {
    "2026-11-15T12:00:00Z".parse().unwrap()
}

async fn verify(name: &str, policy: Policy) -> Verified {
    let host = if name.contains("seed002-") { "research" } else { "agent" };
    let origin = Url::parse(&format!("https://{host}.example.com/.well-known/agent-card.json")).unwrap();
    Verifier::new(policy).verify_bytes(&read(&format!("cards/{name}.json")), Some(&origin), now()).await
}

pub(crate) async fn report(name: &str) -> Report {
    let mut policy = policy();
    policy.dialect = name.contains("seed002-");
    verify(name, policy).await.report
}

fn expected() -> serde_json::Map<String, Value> {
    serde_json::from_slice(&read("expected.json")).unwrap()
}

/// SC-1, SC-2, SC-3, SC-4, SC-5, SC-6, SC-7, SC-11, SC-12, SC-23, V10-SIGN-010, V10-SIGN-011: every card of the vectors gets the
/// verdict that `expected.json` says.
#[tokio::test]
async fn every_card_gets_its_verdict() {
    let expected = expected();
    let cards = fs::read_dir(folder().join("cards")).unwrap().map(|entry| entry.unwrap().path());
    let cards: BTreeSet<String> = cards
        .filter(|path| path.extension().is_some_and(|ending| ending == "json"))
        .map(|path| path.file_stem().unwrap().to_string_lossy().into_owned())
        .collect();
    assert_eq!(cards, expected.keys().cloned().collect(), "the files and expected.json name different cards");
    assert_eq!(cards.len(), 52);

    let mut wrong = Vec::new();
    for (name, entry) in &expected {
        let report = report(name).await;
        if entry["expect"] != report.result.as_str() {
            wrong.push(format!("{name}: {} instead of {}: {report:?}", report.result.as_str(), entry["expect"]));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// SC-10a, SC-10b, SC-10c, SC-10d, SC-10e, SC-10f: the signature of every card is good under exactly the forms that `expected.json` lists.
#[test]
fn every_card_verifies_under_exactly_its_forms() {
    let keys = JwkSet::parse(&read("keys/jwks.json")).unwrap();
    let mut wrong = Vec::new();
    for (name, entry) in expected() {
        // The chains' keys are not in the set; the verdict test has them.
        let (Ok(document), false) = (Document::parse(&read(&format!("cards/{name}.json"))), name.contains("x5c")) else { continue };
        let found: Vec<&str> = Form::ALL.into_iter().filter(|form| verifies(&document, *form, &keys)).map(Form::as_str).collect();
        let listed: Vec<&str> = entry["formsThatVerify"].as_array().unwrap().iter().map(|form| form.as_str().unwrap()).collect();
        if found != listed {
            wrong.push(format!("{name}: {found:?} instead of {listed:?}"));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// Whether a signature is good for this form, by a verifier that knows no other.
fn verifies(document: &Document, form: Form, keys: &JwkSet) -> bool {
    let canonical = form.of(document).unwrap();
    let Some(Value::Array(signatures)) = document.member("signatures") else { return false };
    signatures.iter().any(|signature| {
        let Some(Ok(header)) = signature["protected"].as_str().map(|text| BASE64_URL_SAFE_NO_PAD.decode(text)) else { return false };
        let header: Value = serde_json::from_slice(&header).unwrap();
        let overlap = signature["header"].as_object().is_some_and(|open| open.keys().any(|name| header.get(name).is_some()));
        let key = header["kid"].as_str().and_then(|kid| keys.key(kid));
        !overlap
            && header.get("crit").is_none()
            && key.is_some_and(|key| {
                let payload = BASE64_URL_SAFE_NO_PAD.encode(&canonical.bytes);
                let input = format!("{}.{payload}", signature["protected"].as_str().unwrap());
                header["alg"] == key.algorithm().as_str()
                    && BASE64_URL_SAFE_NO_PAD
                        .decode(signature["signature"].as_str().unwrap())
                        .is_ok_and(|signature| key.verify(input.as_bytes(), &signature))
            })
    })
}

/// SC-10a, SC-10b, SC-10d, SC-10e, SC-10f, SC-16, V10-SIGN-002, V10-SIGN-003, V10-SIGN-004, V10-SIGN-005, V10-SIGN-006, V10-SIGN-007, DIA-002-SIGN-001: the bytes
/// that the SDKs signed are those that we make.
#[test]
fn canonical_bytes_are_those_that_were_signed() {
    let files = fs::read_dir(folder().join("cards")).unwrap().map(|entry| entry.unwrap().path());
    let names: Vec<String> = files
        .filter(|path| path.extension().is_some_and(|ending| ending == "canonical"))
        .map(|path| path.file_stem().unwrap().to_string_lossy().into_owned())
        .collect();
    assert_eq!(names.len(), 20);
    for name in names {
        let form = match name.split('-').next().unwrap() {
            "v03" => Form::Sdk03,
            "spec" => Form::Spec,
            "seed002" | "t" => Form::Raw,
            "js" if name.starts_with("js-memory") => Form::JsMemory,
            _ => Form::Sdk,
        };
        let document = Document::parse(&read(&format!("cards/{name}.json"))).unwrap();
        let bytes = form.of(&document).unwrap().bytes;
        assert_eq!(String::from_utf8(bytes).unwrap(), String::from_utf8(read(&format!("cards/{name}.canonical"))).unwrap(), "{name}");
    }
}

/// SC-12, SC-13: what a signature does not cover, and what the schema does not know, is in the report.
#[tokio::test]
async fn uncovered_and_ignored_members_are_named() {
    let cases: [(&str, &[&str], &[&str]); 7] = [
        ("py-apikey-noscope", &["/securityRequirements"], &[]),
        ("py-optional-empty", &["/documentationUrl"], &[]),
        ("py-empty-required", &["/capabilities"], &[]),
        (
            "py-empty-params",
            &[
                "/capabilities/extensions/0/params/emptyList",
                "/capabilities/extensions/0/params/null",
                "/capabilities/extensions/0/params/emptyString",
                "/capabilities/extensions/0/params/emptyObject",
                "/capabilities/extensions/0/params/list/0",
            ],
            &[],
        ),
        ("v03-py-schemes", &["/securitySchemes/k/type", "/security"], &[]),
        ("t-unknown-field", &[], &["/x_internal"]),
        ("t-legacy-url-evil", &[], &["/url", "/preferredTransport", "/protocolVersion"]),
    ];
    for (name, uncovered, ignored) in cases {
        let report = report(name).await;
        assert_eq!(report.uncovered, uncovered, "{name}");
        assert_eq!(report.ignored, ignored, "{name}");
    }
}

/// SC-13: what remains after the check is what was signed.
#[tokio::test]
async fn only_what_is_covered_remains() {
    let card = verify("t-legacy-url-evil", policy()).await.covered.unwrap();
    assert_eq!(card.get("url"), None);
    assert_eq!(card.get("signatures"), None);
    assert_eq!(card["supportedInterfaces"][0]["url"], "https://agent.example.com/a2a/v1");
    assert_eq!(verify("t-name", policy()).await.covered, None);
    // Defaults that the v0.3 form drops are as good as signed.
    let card = verify("v03-py-es256-1", policy()).await.covered.unwrap();
    assert_eq!(card["protocolVersion"], "0.3.0");
    // The type of a scheme is told by what is signed of it.
    let mut text: Value = serde_json::from_slice(&read("cards/v03-py-schemes.json")).unwrap();
    text["securitySchemes"]["k"]["type"] = "mutualTLS".into();
    let card = Verifier::new(policy()).verify_bytes(text.to_string().as_bytes(), None, now()).await.covered.unwrap();
    assert_eq!(card["securitySchemes"]["k"]["type"], "apiKey");
}

/// SC-11: the two forms that cover least are accepted only when somebody asked for them.
#[tokio::test]
async fn some_forms_count_only_when_the_policy_lists_them() {
    let mut policy = policy();
    policy.forms = vec![Form::JsMemory];
    let report = verify("js-memory-es256-1", policy.clone()).await.report;
    assert_eq!((report.result.as_str(), report.form), ("accept-reduced", Some(Form::JsMemory)));
    assert_eq!(report.uncovered, ["/securitySchemes"]);

    policy.forms = vec![];
    assert_eq!(verify("seed002-es256-1", policy.clone()).await.report.result.as_str(), "reject");
    policy.forms = vec![Form::Raw];
    assert_eq!(verify("seed002-es256-1", policy).await.report.form, Some(Form::Raw));
}

/// SC-12: a policy can name what must be covered.
#[tokio::test]
async fn a_policy_may_demand_that_members_are_covered() {
    let mut policy = policy();
    policy.require_covered = vec!["securityRequirements".to_owned(), "supportedInterfaces".to_owned()];
    let refused = verify("py-apikey-noscope", policy.clone()).await.report;
    assert_eq!(refused.result.as_str(), "reject");
    assert!(refused.reason.unwrap().contains("/securityRequirements"));
    assert_eq!(verify("py-es256-1", policy).await.report.result.as_str(), "accept");
}

/// SC-11: the first form that verifies is reported, and the object is the one that is documented.
#[tokio::test]
async fn the_report_is_the_documented_object() {
    let report = serde_json::to_value(report("py-apikey-noscope").await).unwrap();
    assert_eq!(
        report,
        serde_json::json!({
            "result": "accept-reduced",
            "form": "sdk-1.0",
            "kid": "es256-1",
            "alg": "ES256",
            "keySource": "pinned",
            "thumbprint": report["thumbprint"],
            "uncovered": ["/securityRequirements"],
            "ignored": [],
            "attempts": [{"index": 0, "outcome": "valid"}]
        })
    );
    assert!(report["thumbprint"].as_str().unwrap().starts_with("sha-256:"));
}
