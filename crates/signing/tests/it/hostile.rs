//! Documents that were made to confuse.

use chancery_signing::{Algorithm, Document, DocumentError, Form, JwkSet, Policy, Signer, SigningKey, Verdict, Verifier};

use crate::vectors::{folder, now, policy, read};

/// SC-6
#[test]
fn a_member_that_occurs_twice_is_found_wherever_it_is() {
    for (text, path) in [
        (r#"{"a": 1, "b": 2, "a": 3}"#, "/a"),
        (r#"{"a": [{}, {"b/c": {"d": 1, "d": 1}}]}"#, "/a/1/b~1c/d"),
        (r#"{"a": 1, "\u0061": 1}"#, "/a"),
    ] {
        assert!(matches!(Document::parse(text.as_bytes()), Err(DocumentError::Duplicate(found)) if found == path), "{text}");
    }
}

/// SC-6: one member under its two names is the same trick.
#[tokio::test]
async fn a_member_under_both_of_its_names_is_refused() {
    for second in [r#"[{"url": "https://evil.example.com"}]"#, "[]", "null"] {
        let text = String::from_utf8(read("cards/py-es256-1.json")).unwrap();
        let text = text.replacen('{', &format!(r#"{{"supported_interfaces": {second},"#), 1);
        let report = Verifier::new(policy()).verify_bytes(text.as_bytes(), None, now()).await.report;
        // Null means that it is not there.
        assert_eq!(report.result, if second == "null" { Verdict::Accept } else { Verdict::Reject }, "{second}");
    }
    let text = br#"{"supportedInterfaces": [{"url": "a", "tenant": "", "protocolBinding": "", "protocol_binding": "x"}]}"#;
    assert_eq!(Form::Spec.of(&Document::parse(text).unwrap()), None);
}

/// SC-16: where the usual parser is one bit off, we are not.
#[test]
fn numbers_are_read_exactly() {
    let text = br#"{"capabilities": {"extensions": [{"uri": "x", "params": {"a": 122.416294033786585, "b": 5.9e-324, "c": 1.7976931348623157e308}}]}}"#;
    let bytes = Form::Raw.of(&Document::parse(text).unwrap()).unwrap().bytes;
    let text = String::from_utf8(bytes).unwrap();
    assert!(text.contains(&format!(r#""a":{}"#, "122.416294033786585".parse::<f64>().unwrap())), "{text}");
    assert!(text.contains(r#""b":5e-324,"c":1.7976931348623157e+308"#), "{text}");
    assert!(matches!(Document::parse(br#"{"a": [1e999]}"#), Err(DocumentError::Number(path)) if path == "/a/0"));
}

#[test]
fn documents_beyond_the_limits_are_refused() {
    let nested = |levels: usize| format!(r#"{{"a": {}{}}}"#, "[".repeat(levels - 1), "]".repeat(levels - 1));
    assert!(Document::parse(nested(128).as_bytes()).is_ok());
    assert!(matches!(Document::parse(nested(129).as_bytes()), Err(DocumentError::TooDeep)));
    assert!(matches!(Document::parse(nested(100_000).as_bytes()), Err(DocumentError::TooDeep)));
    assert!(matches!(Document::parse(&vec![b' '; (1 << 20) + 1]), Err(DocumentError::TooLong)));
    assert!(matches!(Document::parse(b"[]"), Err(DocumentError::NoObject)));
    assert!(matches!(Document::parse(br#"{"a": "\ud800"}"#), Err(DocumentError::Syntax(_))));
}

/// No signature is good after any one byte of the card was changed into one that changes its meaning, and nothing panics.
#[tokio::test]
async fn a_changed_byte_is_noticed_or_means_nothing() {
    let verifier = Verifier::new(policy());
    let original = read("cards/py-es256-1.json");
    let meaning = |text: &[u8]| Document::parse(text).ok().and_then(|document| Form::Spec.of(&document)).map(|form| form.bytes);
    let wanted = meaning(&original);
    let mut noticed = 0;
    for place in 0..original.len() {
        let mut text = original.clone();
        text[place] ^= 1;
        let report = verifier.verify_bytes(&text, None, now()).await.report;
        if report.result.is_good() {
            assert_eq!(meaning(&text), wanted, "byte {place}");
        } else {
            noticed += 1;
        }
    }
    assert!(noticed > original.len() / 2);
}

/// Signatures that are no signatures are refused without a panic.
#[tokio::test]
async fn broken_signatures_are_refused() {
    let verifier = Verifier::new(policy());
    for signatures in [
        r#"{}"#,
        r#""""#,
        r#"[null]"#,
        r#"[{}]"#,
        r#"[{"protected": "", "signature": ""}]"#,
        r#"[{"protected": "e30", "signature": 1}]"#,
        r#"[{"protected": "W10", "signature": ""}]"#,
        r#"[{"protected": "bnVsbA", "signature": ""}]"#,
        // {"alg":"ES256","alg":"none","kid":"es256-1"}
        r#"[{"protected": "eyJhbGciOiJFUzI1NiIsImFsZyI6Im5vbmUiLCJraWQiOiJlczI1Ni0xIn0", "signature": ""}]"#,
        r#"[{"protected": "e30", "signature": "", "header": []}]"#,
        r#"[{"protected": "e\n30", "signature": ""}]"#,
    ] {
        let text = format!(r#"{{"name": "Echo", "supportedInterfaces": [], "signatures": {signatures}}}"#);
        let report = verifier.verify_bytes(text.as_bytes(), None, now()).await.report;
        assert_eq!(report.result, Verdict::Reject, "{signatures}: {report:?}");
    }
}

/// Every card that comes from a stranger is signed and checked, whatever is in it.
#[tokio::test]
async fn whatever_is_signed_is_verified() {
    let key = SigningKey::generate(Algorithm::EdDsa, "ours").unwrap();
    let mut policy = Policy::default();
    policy.keys = JwkSet::from(key.public());
    let verifier = Verifier::new(policy);
    for entry in std::fs::read_dir(folder().join("cards")).unwrap() {
        let path = entry.unwrap().path();
        let Ok(mut card) = Document::parse(&std::fs::read(&path).unwrap()) else { continue };
        let signatures = card.member("signatures").and_then(|it| it.as_array()).map_or(0, Vec::len);
        let v0_3 = path.file_name().unwrap().to_string_lossy().starts_with("v03")
            || card.member("supportedInterfaces").is_none() && card.member("supported_interfaces").is_none();
        let signer = Signer::new(&key);
        let signer = if v0_3 { signer.forms([Form::Sdk03]) } else { signer };
        let signed = signer.sign(&mut card).unwrap();
        let report = verifier.verify(&card, None, now()).await.report;
        assert!(report.result.is_good(), "{}: {report:?}", path.display());
        assert_eq!(report.attempts.len(), signatures + signed.forms.len());
    }
}
