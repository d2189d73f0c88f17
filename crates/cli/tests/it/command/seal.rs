//! `a2a keys`, and `a2a card sign|verify|diff`.

use serde_json::Value;

use super::{Sandbox, field};

/// A sandbox with the demo's card in `work/card.json`, and a key.
fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    std::fs::write(sandbox.home.path("work/card.json"), sandbox.ok(&["card", "get", "-q", "-o", "json"])).unwrap();
    let made = sandbox.ok(&["keys", "generate", "--kid", "2026-11"]);
    assert_eq!(field(&made, "Key"), "2026-11 (ES256)");
    sandbox
}

#[test]
fn a_key_is_made_once_and_never_shown() {
    let sandbox = sandbox();
    let again = sandbox.run(&["keys", "generate", "--kid", "2026-11"]);
    assert!(again.code == 1 && again.err.contains("A2AX_ERR_KEY"), "{again:?}");
    let path = sandbox.home.path(".config/a2a-cli/keys/2026-11.jwk");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    }
    let stored: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    let secret = stored["d"].as_str().expect("a private part");
    for shown in [&["keys", "list"][..], &["keys", "show", "2026-11"], &["keys", "jwks"], &["keys", "list", "-o", "json"]] {
        assert!(!sandbox.ok(shown).contains(secret), "{shown:?}");
    }
    sandbox.ok(&["keys", "rotate", "--kid", "2026-12", "--alg", "EdDSA"]);
    sandbox.ok(&["keys", "rotate", "--kid", "2027-01"]);
    let names: Vec<_> = sandbox.json(&["keys", "list"])["keys"].as_array().unwrap().iter().map(|key| key["kid"].clone()).collect();
    assert_eq!(names.len(), 2, "{names:?}");
    sandbox.ok(&["keys", "remove", "2027-01"]);
    assert_eq!(sandbox.run(&["keys", "show", "2027-01"]).code, 1);
}

/// A2ACLI_CARD_GET_004: verified, unverifiable or absent, and what is not verified is never shown as if it were.
#[test]
fn a_card_that_was_signed_is_verified_and_a_changed_one_is_not() {
    let sandbox = sandbox();
    sandbox.ok(&["card", "sign", "card.json", "--key", "2026-11", "-O", "signed.json"]);
    sandbox.ok(&["keys", "jwks", "-O", "keys.json"]);
    let verified = sandbox.ok(&["card", "verify", "signed.json", "--jwks", "keys.json"]);
    assert_eq!(field(&verified, "Signature"), "verified");
    assert_eq!(field(&verified, "Key"), "kid 2026-11, ES256, from pinned");
    let signed = std::fs::read_to_string(sandbox.home.path("work/signed.json")).unwrap();
    std::fs::write(sandbox.home.path("work/changed.json"), signed.replace("Does what", "Does not what")).unwrap();
    let changed = sandbox.run(&["card", "verify", "changed.json", "--jwks", "keys.json"]);
    assert!(changed.code == 1 && field(&changed.out, "Signature").starts_with("unverifiable ("), "{changed:?}");
    assert!(changed.err.contains("A2AX_ERR_SIGNATURE"), "{changed:?}");
    let absent = sandbox.run(&["card", "verify", "card.json"]);
    assert!(absent.code == 1 && field(&absent.out, "Signature") == "absent", "{absent:?}");
    sandbox.ok(&["card", "verify", "card.json", "--allow-absent"]);
    // Nobody vouches for the key here.
    assert!(field(&sandbox.ok(&["card", "get", "signed.json"]), "Signature").starts_with("unverifiable ("));
    assert_eq!(field(&sandbox.ok(&["card", "get", "card.json"]), "Signature"), "absent");
    assert_eq!(sandbox.run(&["card", "get", "--require-signature", "signed.json"]).code, 1);
    let report = sandbox.json(&["card", "verify", "signed.json", "--jwks", "keys.json"]);
    assert_eq!(report["kid"], "2026-11");
}

#[test]
fn the_difference_of_two_cards_says_what_breaks() {
    let sandbox = sandbox();
    let card = std::fs::read_to_string(sandbox.home.path("work/card.json")).unwrap();
    let mut changed: Value = serde_json::from_str(&card).unwrap();
    changed["description"] = "Another".into();
    changed["supportedInterfaces"].as_array_mut().unwrap().pop();
    std::fs::write(sandbox.home.path("work/new.json"), changed.to_string()).unwrap();
    let same = sandbox.ok(&["card", "diff", "card.json", "card.json", "--exit-code"]);
    assert_eq!(field(&same, "Verdict"), "0 breaking, 0 compatible");
    let diff = sandbox.run(&["card", "diff", "card.json", "new.json"]);
    assert!(diff.code == 0 && diff.out.contains("(breaking)"), "{diff:?}");
    assert_eq!(sandbox.run(&["card", "diff", "card.json", "new.json", "--exit-code"]).code, 1);
}

/// A2ACLI_CARD_GET_004, SC-31: the demo signs a card, and shows one that somebody else signed in its name. All commands tell them apart.
#[test]
fn signatures_of_the_demo_are_verified_by_every_command() {
    let sandbox = Sandbox::new();
    let (signed, bad) = (sandbox.at("/signed"), sandbox.at("/signed-bad"));
    assert!(sandbox.ok(&["card", "get", "-a", &signed]).ends_with("Signature: verified\n"));
    assert!(sandbox.ok(&["card", "get", "-a", &bad]).contains("Signature: unverifiable (the signature is not of this card and this key"));
    let report = sandbox.json(&["card", "verify", "-a", &format!("127.0.0.1:{}/signed", sandbox.port)]);
    assert_eq!((report["kid"].as_str(), report["keySource"].as_str()), (Some("demo"), Some("jku")));

    let ran = sandbox.run(&["send", "-a", &signed, "--require-signature", "hi"]);
    assert!(ran.code == 0 && !ran.err.contains("warning"), "{ran:?}");
    let ran = sandbox.run(&["send", "-a", &bad, "hi"]);
    assert!(ran.code == 0 && ran.err.contains("warning: the signature of the card is unverifiable"), "{ran:?}");
    for agent in [bad.as_str(), &sandbox.at("")] {
        for command in [&["send", "hi"][..], &["task", "list"], &["task", "get", "x"], &["card", "get"]] {
            let ran = sandbox.run(&[command, &["-a", agent, "--require-signature"]].concat());
            assert!(ran.code == 1 && ran.err.contains("Error: A2AX_ERR_SIGNATURE"), "{agent} {ran:?}");
        }
    }
    let ran = sandbox.run(&["send", "-e", &format!("http://{}/", sandbox.at("")), "--transport", "jsonrpc", "--require-signature", "hi"]);
    assert!(ran.code == 1 && ran.err.contains("Error: A2AX_ERR_SIGNATURE"), "{ran:?}");
}

/// SC-20: keys that the user has put aside for a host come first, and a setting for one agent demands signatures of that one.
#[test]
fn the_users_own_keys_and_settings_count() {
    let sandbox = Sandbox::new();
    let settings = sandbox.home.path(".config/a2a-cli");
    for folder in ["trust", "agents"] {
        std::fs::create_dir_all(settings.join(folder)).unwrap();
    }
    let name = format!("localhost_{}", sandbox.port);
    std::fs::write(settings.join("agents").join(format!("{name}.env")), "A2ACLI_REQUIRE_SIGNATURE=1\n").unwrap();
    assert_eq!(sandbox.run(&["send", "hi"]).code, 1);
    sandbox.ok(&["send", "-a", &sandbox.at("/signed"), "hi"]);

    sandbox.ok(&["keys", "generate", "--kid", "demo"]);
    let other = sandbox.ok(&["keys", "jwks"]);
    std::fs::write(settings.join("trust").join(format!("{name}.json")), other).unwrap();
    let ran = sandbox.run(&["send", "-a", &sandbox.at("/signed"), "hi"]);
    assert!(ran.code == 1 && ran.err.contains("A2AX_ERR_SIGNATURE"), "{ran:?}");
}

#[test]
fn a_card_to_begin_with_is_valid_and_says_what_is_missing() {
    let sandbox = Sandbox::new();
    let ran = sandbox.run(&["card", "init"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    for placeholder in ["name (--name)", "description (--description)", "supportedInterfaces (--url)", "skills (--skill ID:NAME)"] {
        assert!(ran.err.contains(&format!("Placeholder: {placeholder}")), "{ran:?}");
    }
    let said =
        ["--name", "Weather", "--description", "Knows it", "--url", "https://weather.example.com/a2a", "--skill", "forecast:Forecast"];
    for auth in ["bearer", "api-key", "oauth2", "oidc", "mtls"] {
        for version in ["1.0", "0.3", "both"] {
            let file = format!("{auth}-{version}.json");
            let ran = sandbox.run(
                &[&["card", "init", "--auth", auth, "--for", version, "--binding", "rest", "--binding", "grpc", "-O", &file], &said[..]]
                    .concat(),
            );
            assert_eq!((ran.code, ran.out.as_str()), (0, ""), "{ran:?}");
            let placeholders = ran.err.matches("Placeholder: ").count();
            assert_eq!(placeholders, usize::from(matches!(auth, "oauth2" | "oidc")), "{ran:?}");
            sandbox.ok(&["card", "get", "-a", &format!("./{file}"), "--validate"]);
        }
    }
    assert_eq!(sandbox.run(&["card", "init", "-O", "bearer-1.0.json"]).code, 2, "a file is overwritten");
    let copy = sandbox.json(&["card", "init", "--from", &sandbox.at("/signed"), "--name", "Copy"]);
    assert_eq!((copy["name"].as_str(), copy.get("signatures")), (Some("Copy"), None));
    assert_eq!(copy["skills"][0]["id"], "demo");
}

/// A2ACLI_CARD_GET_005: an entry of a catalog is found by its identifier or its name, on a host, at an address or in a file.
#[test]
fn an_entry_of_a_catalog_names_an_agent() {
    let sandbox = Sandbox::new();
    let host = sandbox.at("");
    sandbox.ok(&["send", "-a", &format!("{host}@urn:air:localhost:demo:echo"), "hi"]);
    let at = format!("http://{host}/.well-known/ai-catalog.json@Demo /nostream");
    assert_eq!(sandbox.json(&["card", "get", "-a", &at])["name"], "Demo /nostream");
    let ran = sandbox.run(&["send", "-a", &format!("{host}@urn:air:localhost:demo:ecko"), "hi"]);
    assert!(ran.code == 3 && ran.err.contains("did you mean") && ran.err.contains("demo:echo"), "{ran:?}");
    let card = sandbox.json(&["card", "get"]);
    let catalog = serde_json::json!({"specVersion": "1.0", "entries": [
        {"identifier": "urn:air:x:inline", "displayName": "Inline", "type": "application/a2a-agent-card+json", "data": card},
        {"identifier": "urn:air:x:more", "mediaType": "application/ai-catalog+json", "url": format!("http://{host}/.well-known/ai-catalog.json")},
    ]});
    std::fs::write(sandbox.work("catalog.json"), catalog.to_string()).unwrap();
    sandbox.ok(&["send", "-a", "./catalog.json@Inline", "hi"]);
    sandbox.ok(&["send", "-a", "./catalog.json@urn:air:localhost:demo:echo", "hi"]);
}

/// A2ACLI_AUTH_009: the demo has ports for TLS and for mutual TLS, with certificates in its folder.
#[test]
fn the_demo_is_served_over_tls_and_mutual_tls() {
    let sandbox = Sandbox::new();
    let ran = sandbox.run(&["conformance", "--cli", "--only", "A2ACLI_AUTH_009", "--fail-on", "never", "-o", "json"]);
    let report: serde_json::Value = serde_json::from_str(&ran.out).unwrap_or_else(|error| panic!("{error} {ran:?}"));
    assert_eq!((report["passed"].as_u64(), report["failed"].as_u64()), (Some(1), Some(0)), "{report:#}");
}
