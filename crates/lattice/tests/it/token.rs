//! Tokens: what one says, who believes it, and what hostile hands can do with it.

use std::collections::BTreeSet;

use biscuit_auth::{Biscuit, BlockBuilder, KeyPair, builder::BiscuitBuilder};
use chancery_core::{Caller, Card, ErrorKind, ScopeTokens, Secret, SecurityRequirement, Timestamp};
use chancery_lattice::{Grant, Hop, Issuer, Needs, Roots, Scope, Seen, TokenError, Vocabulary};
use serde_json::{Value, json};

const TRIAGE: &str = "https://triage.example.com";
const BILLING: &str = "https://billing.example.com";
const LEDGER: &str = "https://ledger.example.com";

fn scope(json: Value) -> Scope {
    serde_json::from_value(json).unwrap()
}

fn at(text: &str) -> Timestamp {
    Timestamp::parse(text).unwrap()
}

fn now() -> Timestamp {
    at("2026-11-16T12:00:00Z")
}

/// The authority block of the specification.
fn grant() -> Grant {
    let mut grant = Grant::new(scope(json!({
        "skills": ["triage", "refund", "invoice.*"], "scopes": ["order:read", "refund:write"],
        "inputModes": ["text/plain", "application/json"], "outputModes": ["text/plain", "application/json"],
        "hops": 3, "notAfter": "2026-12-31T00:00:00Z",
    })));
    (grant.subject, grant.workflow) = (Some("user:alice".to_owned()), Some("refunds".to_owned()));
    grant.vocabulary.skills = ["invoice.create", "close_account"].map(str::to_owned).into();
    grant
}

fn roots(issuer: &Issuer) -> Roots {
    Roots::new().root(7, &issuer.public_key()).unwrap()
}

/// One hop, as the gate would have it.
fn to_billing() -> Hop<'static> {
    let scope = scope(json!({"skills": ["refund"], "scopes": ["refund:write"], "hops": 2}));
    Hop::new(TRIAGE, BILLING, scope).audiences(Some([BILLING, LEDGER].map(str::to_owned).into()))
}

fn to_ledger() -> Hop<'static> {
    Hop::new(BILLING, LEDGER, scope(json!({"hops": 1}))).audiences(Some(BTreeSet::from([LEDGER.to_owned()])))
}

fn ask(roots: &Roots, token: &Secret, audience: &str, skills: &[&str]) -> Result<Seen, TokenError> {
    roots.verify(token, audience, now(), &Needs::skills(skills.iter().copied()))
}

/// LA-31, LA-33: what goes in comes out, with patterns written out and one hop less at each step.
#[test]
fn a_token_says_what_was_granted_and_less_at_each_hop() {
    let issuer = Issuer::generate(7);
    let roots = roots(&issuer);
    let token = issuer.mint(&grant()).unwrap();
    let seen = ask(&roots, &token, TRIAGE, &["triage", "refund", "invoice.create"]).unwrap();
    let modes = json!(["application/json", "text/plain"]);
    let granted = scope(json!({
        "skills": ["invoice.create", "refund", "triage"], "scopes": ["order:read", "refund:write"],
        "inputModes": modes, "outputModes": modes, "hops": 3, "notAfter": "2026-12-31T00:00:00Z",
    }));
    assert_eq!((&seen.scope, seen.hops), (&granted, 0));
    assert_eq!((seen.subject.as_deref(), seen.workflow.as_deref()), (Some("user:alice"), Some("refunds")));

    let token = to_billing().narrow(&token).unwrap();
    let seen = ask(&roots, &token, BILLING, &["refund"]).unwrap();
    let narrowed = scope(json!({
        "skills": ["refund"], "scopes": ["refund:write"], "audiences": [BILLING, LEDGER],
        "inputModes": modes, "outputModes": modes, "hops": 2, "notAfter": "2026-12-31T00:00:00Z",
    }));
    assert_eq!((&seen.scope, seen.hops), (&narrowed, 1));
    assert!(seen.scope.is_within(&granted));

    let token = to_ledger().narrow(&token).unwrap();
    let seen = ask(&roots, &token, LEDGER, &["refund"]).unwrap();
    assert_eq!((seen.scope.hops, seen.hops), (Some(1), 2));
}

/// LA-30: all that is needed must be granted, not one of it.
#[test]
fn every_need_counts() {
    let issuer = Issuer::generate(7);
    let roots = roots(&issuer);
    let token = to_billing().narrow(&issuer.mint(&grant()).unwrap()).unwrap();
    let check = |change: &dyn Fn(&mut Needs)| {
        let mut needs = Needs::default();
        change(&mut needs);
        roots.verify(&token, BILLING, now(), &needs).is_ok()
    };
    let set = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect::<BTreeSet<_>>();
    assert!(check(&|_| {}));
    assert!(check(&|needs| needs.skills = set(&["refund"])));
    assert!(!check(&|needs| needs.skills = set(&["refund", "triage"])), "granted, and narrowed away");
    assert!(!check(&|needs| needs.skills = set(&["refund", "close_account"])), "never granted");
    assert!(check(&|needs| needs.scopes = set(&["refund:write"])));
    assert!(!check(&|needs| needs.scopes = set(&["refund:write", "order:read"])));
    assert!(check(&|needs| needs.modes = set(&["text/plain"])));
    assert!(!check(&|needs| needs.modes = set(&["text/plain", "image/png"])));
}

/// LA-32, LA-33, LA-37: the wrong place, the wrong time, one hop too many, and a root that nobody knows.
#[test]
fn a_token_is_refused_where_when_and_as_often_as_it_should_be() {
    let issuer = Issuer::generate(7);
    let roots = roots(&issuer);
    let token = issuer.mint(&grant()).unwrap();
    let first = to_billing().narrow(&token).unwrap();
    assert!(matches!(ask(&roots, &first, TRIAGE, &[]), Err(TokenError::Refused(_))), "the audience is another");
    assert!(ask(&roots, &first, "https://billing.example.com:443/agents/a", &[]).is_ok(), "an origin is what counts");
    assert!(matches!(ask(&roots, &first, "nowhere", &[]), Err(TokenError::Refused(_))));
    for (time, good) in [("2026-12-30T23:59:59Z", true), ("2026-12-31T00:00:00Z", false)] {
        assert_eq!(roots.verify(&token, TRIAGE, at(time), &Needs::default()).is_ok(), good, "{time}");
    }
    let second = to_ledger().narrow(&first).unwrap();
    let far = |token| Hop::new(LEDGER, LEDGER, Scope::top()).narrow(token).unwrap();
    let third = far(&second);
    assert_eq!(ask(&roots, &third, LEDGER, &[]).unwrap().scope.hops, Some(0));
    assert!(matches!(ask(&roots, &far(&third), LEDGER, &[]), Err(TokenError::Refused(_))), "the fourth of three hops");

    for stranger in [Roots::new(), Roots::new().root(8, &issuer.public_key()).unwrap()] {
        assert!(matches!(ask(&stranger, &token, TRIAGE, &[]), Err(TokenError::UnknownRoot)));
    }
    let other = Roots::new().root(7, &Issuer::generate(7).public_key()).unwrap();
    assert!(matches!(ask(&other, &token, TRIAGE, &[]), Err(TokenError::Invalid(_))), "the number of a root is not the root");
    let nameless = BiscuitBuilder::new().code(AUTHORITY).unwrap().build(&pair(&issuer)).unwrap();
    assert!(matches!(ask(&roots, &secret(&nameless), TRIAGE, &[]), Err(TokenError::UnknownRoot)));
}

const AUTHORITY: &str = r#"
    a2a("1"); skills({"triage", "refund"}); scopes({"order:read"}); modes({"text/plain"}); max_hops(3);
    check if time($t), $t < 2026-12-31T00:00:00Z;
"#;

fn pair(issuer: &Issuer) -> KeyPair {
    KeyPair::from(&issuer.private_key().expose().parse().unwrap())
}

fn secret(token: &Biscuit) -> Secret {
    Secret::new(token.to_base64().unwrap())
}

fn authority(issuer: &Issuer, code: &str) -> Biscuit {
    BiscuitBuilder::new().code(code).unwrap().root_key_id(7).build(&pair(issuer)).unwrap()
}

/// LA-34, LA-37, LA-38: whoever holds a token can add to it whatever they like, and it is worth nothing.
#[test]
fn hostile_blocks_widen_nothing() {
    let issuer = Issuer::generate(7);
    let roots = roots(&issuer);
    let token = authority(&issuer, AUTHORITY);
    let narrow = token.append(BlockBuilder::new().code("check if need_skills($s), {\"triage\"}.contains($s)").unwrap()).unwrap();
    let add = |code: &str| ask(&roots, &secret(&narrow.append(BlockBuilder::new().code(code).unwrap()).unwrap()), TRIAGE, &["refund"]);
    assert!(ask(&roots, &secret(&token), TRIAGE, &["refund"]).is_ok());
    assert!(matches!(ask(&roots, &secret(&narrow), TRIAGE, &["refund"]), Err(TokenError::Refused(_))));
    for wide in [
        "skills({\"triage\", \"refund\", \"close_account\"})",
        "need_skills({\"triage\"})",
        "hops(0); max_hops(100)",
        "audience(\"https://triage.example.com\"); time(2020-01-01T00:00:00Z)",
        "check if need_skills($s), {\"triage\", \"refund\"}.contains($s)",
        "check if hops($n), $n <= 1000",
    ] {
        assert!(matches!(add(wide), Err(TokenError::Refused(_))), "{wide}");
    }
    for strange in [
        "skills($s) <- need_skills($s)",
        "check if true",
        "check all need_skills($s), {\"refund\"}.contains($s)",
        "reject if need_skills($s), {\"refund\"}.contains($s)",
        "check if need_skills($s), {\"refund\"}.contains($s) or hops($n), $n <= 5",
        "check if need_skills($s), {\"refund\"}.contains($s) trusting previous",
        "check if need_skills($s), $s.length() < 3",
        "check if hop($a), hop($b), hop($c), hop($d), $a.contains($d)",
        "check if time($t), $t > 2020-01-01T00:00:00Z",
        "check if need_skills($s), {1, 2}.contains($s)",
    ] {
        assert!(matches!(add(strange), Err(TokenError::Form(_))), "{strange}");
    }

    // A block that a third party has signed.
    let third = KeyPair::new();
    let request = token.third_party_request().unwrap();
    let block = request.create_block(&third.private(), BlockBuilder::new().code("skills({\"close_account\"})").unwrap()).unwrap();
    let token = token.append_third_party(third.public(), block).unwrap();
    assert!(matches!(ask(&roots, &secret(&token), TRIAGE, &[]), Err(TokenError::Form(_))));
}

/// LA-35 and the profile itself: what the authority must say, once each.
#[test]
fn an_authority_says_all_that_it_must_once() {
    let issuer = Issuer::generate(7);
    let roots = roots(&issuer);
    let check = |code: &str| ask(&roots, &secret(&authority(&issuer, code)), TRIAGE, &[]);
    assert!(check(AUTHORITY).is_ok());
    assert!(matches!(check(&AUTHORITY.replace("a2a(\"1\")", "a2a(\"2\")")), Err(TokenError::Refused(_))));
    for (part, instead) in [("max_hops(3);", ""), ("modes({\"text/plain\"});", ""), ("max_hops(3)", "max_hops(3); max_hops(9)")] {
        assert!(matches!(check(&AUTHORITY.replace(part, instead)), Err(TokenError::Form(_))), "{part}");
    }
    let twice = AUTHORITY.replace("max_hops", "skills({\"close_account\"}); max_hops");
    assert!(matches!(check(&twice), Err(TokenError::Form(_))));
}

/// LA-35: too long, too often passed on, cut, changed in any of its characters, or no token at all.
#[test]
fn what_is_no_token_is_refused_whatever_it_is() {
    let issuer = Issuer::generate(7);
    let roots = roots(&issuer);
    let token = to_billing().narrow(&issuer.mint(&grant()).unwrap()).unwrap();
    let text = token.expose().trim_end_matches('=').to_owned();
    let no = |text: String| ask(&roots, &Secret::new(text), BILLING, &["refund"]);
    for at in (0..text.len()).step_by(41) {
        let other = if &text[at..=at] == "A" { "B" } else { "A" };
        assert!(no(format!("{}{other}{}", &text[..at], &text[at + 1..])).is_err(), "changed at {at}");
        assert!(no(text[..at].to_owned()).is_err(), "cut at {at}");
    }
    assert!(matches!(no("A".repeat(8 * 1024 + 1)), Err(TokenError::TooLong)));
    for wrong in ["", "Bearer", "%%%", "{}"] {
        assert!(matches!(no(wrong.to_owned()), Err(TokenError::Invalid(_))), "{wrong}");
    }
    let mut endless = grant();
    endless.scope.hops = None;
    let mut token = issuer.mint(&endless).unwrap();
    for hop in 1..16 {
        token = Hop::new(TRIAGE, TRIAGE, Scope::top()).narrow(&token).unwrap();
        assert_eq!(ask(&roots, &token, TRIAGE, &[]).unwrap().hops, hop);
    }
    assert!(matches!(Hop::new(TRIAGE, TRIAGE, Scope::top()).narrow(&token), Err(TokenError::TooManyBlocks)));
    let one_more = biscuit_auth::UnverifiedBiscuit::from_base64(token.expose()).unwrap().append(BlockBuilder::new()).unwrap();
    assert!(matches!(no(one_more.to_base64().unwrap()), Err(TokenError::TooManyBlocks)));
}

/// LA-31: a token that cannot say something is not made, and patterns become the names that cards know.
#[test]
fn what_a_token_cannot_say_is_told() {
    let issuer = Issuer::generate(7);
    let mint = |json: Value| issuer.mint(&Grant::new(scope(json)));
    assert!(matches!(mint(json!({"budget": {"USD": 1}})), Err(TokenError::Unsayable(_))));
    assert!(matches!(mint(json!({"inputModes": ["text/plain"]})), Err(TokenError::Unsayable(_))));
    let long: Vec<_> = (0..1_000).map(|number| format!("skill-{number}")).collect();
    assert!(matches!(mint(json!({"skills": long})), Err(TokenError::TooLong)));

    let mut card = Card::new("Billing", "Pays back").takes(["text/plain"]).gives(["text/*", "application/json"]).skill("refund", "Pays");
    card.skills[0].security_requirements = vec![SecurityRequirement::new().and("oauth", ["refund:write"])];
    let mut grant = Grant::new(scope(json!({"skills": ["r*"], "audiences": ["https://*.example.com", "https://ledger.test"]})));
    grant.vocabulary = Vocabulary::of([&card]);
    grant.vocabulary.audiences.insert(BILLING.to_owned());
    let seen = ask(&roots(&issuer), &issuer.mint(&grant).unwrap(), BILLING, &["refund"]).unwrap();
    let modes = json!(["application/json", "text/plain"]);
    let written = json!({
        "skills": ["refund"], "audiences": [BILLING, "https://ledger.test"], "scopes": ["refund:write"],
        "inputModes": modes, "outputModes": modes, "hops": 15,
    });
    assert_eq!(serde_json::to_value(&seen.scope).unwrap(), written);
}

/// LA-26, LA-36: what a server makes of a token; neither it nor a key is ever shown.
#[test]
fn a_verified_token_is_what_a_caller_carries() {
    let issuer = Issuer::generate(7);
    let token = issuer.mint(&grant()).unwrap();
    let verifier: &dyn ScopeTokens = &roots(&issuer);
    let carried = verifier.verify(&token, TRIAGE, now()).unwrap();
    assert_eq!((carried.hops, &carried.scope["hops"]), (0, &json!(3)));
    let shown = format!("{:?} {issuer:?} {:?}", Caller::new("alice").carried(carried), issuer.private_key());
    assert!(!shown.contains(token.expose()) && !shown.contains("private"), "{shown}");
    let again = Issuer::new(7, &issuer.private_key()).unwrap();
    assert_eq!(again.public_key(), issuer.public_key());
    let error = verifier.verify(&Secret::new("none"), TRIAGE, now()).unwrap_err();
    assert_eq!((error.kind(), error.message()), (ErrorKind::PermissionDenied, "The scope token is not valid here"));
    assert!(matches!(Issuer::new(1, &Secret::new("ed25519/00")), Err(TokenError::Key(_))));
    assert!(matches!(Roots::new().root(1, "ed25519/00"), Err(TokenError::Key(_))));
}
