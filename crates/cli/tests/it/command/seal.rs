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
