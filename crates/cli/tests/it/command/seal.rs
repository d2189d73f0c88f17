//! `a2a keys`, and `a2a card sign|verify|diff`.

use serde_json::Value;

use super::{Desk, field};

/// A desk with the demo's card in `work/card.json`, and a key.
fn desk() -> Desk {
    let desk = Desk::new();
    std::fs::write(desk.home.path("work/card.json"), desk.ok(&["card", "get", "-q", "-o", "json"])).unwrap();
    let made = desk.ok(&["keys", "generate", "--kid", "2026-11"]);
    assert_eq!(field(&made, "Key"), "2026-11 (ES256)");
    desk
}

#[test]
fn a_key_is_made_once_and_never_shown() {
    let desk = desk();
    let again = desk.run(&["keys", "generate", "--kid", "2026-11"]);
    assert!(again.code == 1 && again.err.contains("A2AX_ERR_KEY"), "{again:?}");
    let path = desk.home.path(".config/a2a-cli/keys/2026-11.jwk");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    }
    let stored: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    let secret = stored["d"].as_str().expect("a private part");
    for shown in [&["keys", "list"][..], &["keys", "show", "2026-11"], &["keys", "jwks"], &["keys", "list", "-o", "json"]] {
        assert!(!desk.ok(shown).contains(secret), "{shown:?}");
    }
    desk.ok(&["keys", "rotate", "--kid", "2026-12", "--alg", "EdDSA"]);
    desk.ok(&["keys", "rotate", "--kid", "2027-01"]);
    let names: Vec<_> = desk.json(&["keys", "list"])["keys"].as_array().unwrap().iter().map(|key| key["kid"].clone()).collect();
    assert_eq!(names.len(), 2, "{names:?}");
    desk.ok(&["keys", "remove", "2027-01"]);
    assert_eq!(desk.run(&["keys", "show", "2027-01"]).code, 1);
}

/// A2ACLI_CARD_GET_004: verified, unverifiable or absent, and what is not verified is never shown as if it were.
#[test]
fn a_card_that_was_signed_is_verified_and_a_changed_one_is_not() {
    let desk = desk();
    desk.ok(&["card", "sign", "card.json", "--key", "2026-11", "-O", "signed.json"]);
    desk.ok(&["keys", "jwks", "-O", "keys.json"]);
    let verified = desk.ok(&["card", "verify", "signed.json", "--jwks", "keys.json"]);
    assert_eq!(field(&verified, "Signature"), "verified");
    assert_eq!(field(&verified, "Key"), "kid 2026-11, ES256, from pinned");
    let signed = std::fs::read_to_string(desk.home.path("work/signed.json")).unwrap();
    std::fs::write(desk.home.path("work/changed.json"), signed.replace("Does what", "Does not what")).unwrap();
    let changed = desk.run(&["card", "verify", "changed.json", "--jwks", "keys.json"]);
    assert!(changed.code == 1 && field(&changed.out, "Signature").starts_with("unverifiable ("), "{changed:?}");
    assert!(changed.err.contains("A2AX_ERR_SIGNATURE"), "{changed:?}");
    let absent = desk.run(&["card", "verify", "card.json"]);
    assert!(absent.code == 1 && field(&absent.out, "Signature") == "absent", "{absent:?}");
    desk.ok(&["card", "verify", "card.json", "--allow-absent"]);
    // Nobody vouches for the key here.
    assert!(field(&desk.ok(&["card", "get", "signed.json"]), "Signature").starts_with("unverifiable ("));
    assert_eq!(field(&desk.ok(&["card", "get", "card.json"]), "Signature"), "absent");
    assert_eq!(desk.run(&["card", "get", "--require-signature", "signed.json"]).code, 1);
    let report = desk.json(&["card", "verify", "signed.json", "--jwks", "keys.json"]);
    assert_eq!(report["kid"], "2026-11");
}

#[test]
fn the_difference_of_two_cards_says_what_breaks() {
    let desk = desk();
    let card = std::fs::read_to_string(desk.home.path("work/card.json")).unwrap();
    let mut changed: Value = serde_json::from_str(&card).unwrap();
    changed["description"] = "Another".into();
    changed["supportedInterfaces"].as_array_mut().unwrap().pop();
    std::fs::write(desk.home.path("work/new.json"), changed.to_string()).unwrap();
    let same = desk.ok(&["card", "diff", "card.json", "card.json", "--exit-code"]);
    assert_eq!(field(&same, "Verdict"), "0 breaking, 0 compatible");
    let diff = desk.run(&["card", "diff", "card.json", "new.json"]);
    assert!(diff.code == 0 && diff.out.contains("(breaking)"), "{diff:?}");
    assert_eq!(desk.run(&["card", "diff", "card.json", "new.json", "--exit-code"]).code, 1);
}

/// A2ACLI_CARD_GET_004, SC-31: the demo signs a card, and shows one that somebody else signed in its name. All commands tell them apart.
#[test]
fn signatures_of_the_demo_are_verified_by_every_command() {
    let desk = Desk::new();
    let (signed, bad) = (desk.at("/signed"), desk.at("/signed-bad"));
    assert!(desk.ok(&["card", "get", "-a", &signed]).ends_with("Signature: verified\n"));
    assert!(desk.ok(&["card", "get", "-a", &bad]).contains("Signature: unverifiable (the signature is not of this card and this key"));
    let report = desk.json(&["card", "verify", "-a", &format!("127.0.0.1:{}/signed", desk.port)]);
    assert_eq!((report["kid"].as_str(), report["keySource"].as_str()), (Some("demo"), Some("jku")));

    let ran = desk.run(&["send", "-a", &signed, "--require-signature", "hi"]);
    assert!(ran.code == 0 && !ran.err.contains("warning"), "{ran:?}");
    let ran = desk.run(&["send", "-a", &bad, "hi"]);
    assert!(ran.code == 0 && ran.err.contains("warning: the signature of the card is unverifiable"), "{ran:?}");
    for agent in [bad.as_str(), &desk.at("")] {
        for command in [&["send", "hi"][..], &["task", "list"], &["task", "get", "x"], &["card", "get"]] {
            let ran = desk.run(&[command, &["-a", agent, "--require-signature"]].concat());
            assert!(ran.code == 1 && ran.err.contains("Error: A2AX_ERR_SIGNATURE"), "{agent} {ran:?}");
        }
    }
    let ran = desk.run(&["send", "-e", &format!("http://{}/", desk.at("")), "--transport", "jsonrpc", "--require-signature", "hi"]);
    assert!(ran.code == 1 && ran.err.contains("Error: A2AX_ERR_SIGNATURE"), "{ran:?}");
}

/// SC-20: keys that the user has put aside for a host come first, and a setting for one agent demands signatures of that one.
#[test]
fn the_users_own_keys_and_settings_count() {
    let desk = Desk::new();
    let settings = desk.home.path(".config/a2a-cli");
    for folder in ["trust", "agents"] {
        std::fs::create_dir_all(settings.join(folder)).unwrap();
    }
    let name = format!("localhost_{}", desk.port);
    std::fs::write(settings.join("agents").join(format!("{name}.env")), "A2ACLI_REQUIRE_SIGNATURE=1\n").unwrap();
    assert_eq!(desk.run(&["send", "hi"]).code, 1);
    desk.ok(&["send", "-a", &desk.at("/signed"), "hi"]);

    desk.ok(&["keys", "generate", "--kid", "demo"]);
    let other = desk.ok(&["keys", "jwks"]);
    std::fs::write(settings.join("trust").join(format!("{name}.json")), other).unwrap();
    let ran = desk.run(&["send", "-a", &desk.at("/signed"), "hi"]);
    assert!(ran.code == 1 && ran.err.contains("A2AX_ERR_SIGNATURE"), "{ran:?}");
}

#[test]
fn a_card_to_begin_with_is_valid_and_says_what_is_missing() {
    let desk = Desk::new();
    let ran = desk.run(&["card", "init"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    for placeholder in ["name (--name)", "description (--description)", "supportedInterfaces (--url)", "skills (--skill ID:NAME)"] {
        assert!(ran.err.contains(&format!("Placeholder: {placeholder}")), "{ran:?}");
    }
    let said =
        ["--name", "Weather", "--description", "Knows it", "--url", "https://weather.example.com/a2a", "--skill", "forecast:Forecast"];
    for auth in ["bearer", "api-key", "oauth2", "oidc", "mtls"] {
        for version in ["1.0", "0.3", "both"] {
            let file = format!("{auth}-{version}.json");
            let ran = desk.run(
                &[&["card", "init", "--auth", auth, "--for", version, "--binding", "rest", "--binding", "grpc", "-O", &file], &said[..]]
                    .concat(),
            );
            assert_eq!((ran.code, ran.out.as_str()), (0, ""), "{ran:?}");
            let placeholders = ran.err.matches("Placeholder: ").count();
            assert_eq!(placeholders, usize::from(matches!(auth, "oauth2" | "oidc")), "{ran:?}");
            desk.ok(&["card", "get", "-a", &format!("./{file}"), "--validate"]);
        }
    }
    assert_eq!(desk.run(&["card", "init", "-O", "bearer-1.0.json"]).code, 2, "a file is overwritten");
    let copy = desk.json(&["card", "init", "--from", &desk.at("/signed"), "--name", "Copy"]);
    assert_eq!((copy["name"].as_str(), copy.get("signatures")), (Some("Copy"), None));
    assert_eq!(copy["skills"][0]["id"], "demo");
}

/// A2ACLI_CARD_GET_005: an entry of a catalog is found by its identifier or its name, on a host, at an address or in a file.
#[test]
fn an_entry_of_a_catalog_names_an_agent() {
    let desk = Desk::new();
    let host = desk.at("");
    desk.ok(&["send", "-a", &format!("{host}@urn:air:localhost:demo:echo"), "hi"]);
    let at = format!("http://{host}/.well-known/ai-catalog.json@Demo /nostream");
    assert_eq!(desk.json(&["card", "get", "-a", &at])["name"], "Demo /nostream");
    let ran = desk.run(&["send", "-a", &format!("{host}@urn:air:localhost:demo:ecko"), "hi"]);
    assert!(ran.code == 3 && ran.err.contains("did you mean") && ran.err.contains("demo:echo"), "{ran:?}");
    let card = desk.json(&["card", "get"]);
    let catalog = serde_json::json!({"specVersion": "1.0", "entries": [
        {"identifier": "urn:air:x:inline", "displayName": "Inline", "type": "application/a2a-agent-card+json", "data": card},
        {"identifier": "urn:air:x:more", "mediaType": "application/ai-catalog+json", "url": format!("http://{host}/.well-known/ai-catalog.json")},
    ]});
    std::fs::write(desk.work("catalog.json"), catalog.to_string()).unwrap();
    desk.ok(&["send", "-a", "./catalog.json@Inline", "hi"]);
    desk.ok(&["send", "-a", "./catalog.json@urn:air:localhost:demo:echo", "hi"]);
}

/// A2ACLI_AUTH_009: the demo has ports for TLS and for mutual TLS, with certificates in its folder.
#[test]
fn the_demo_is_served_over_tls_and_mutual_tls() {
    let desk = Desk::new();
    let ran = desk.run(&["conformance", "--cli", "--only", "A2ACLI_AUTH_009", "--fail-on", "never", "-o", "json"]);
    let report: serde_json::Value = serde_json::from_str(&ran.out).unwrap_or_else(|error| panic!("{error} {ran:?}"));
    assert_eq!((report["passed"].as_u64(), report["failed"].as_u64()), (Some(1), Some(0)), "{report:#}");
}
