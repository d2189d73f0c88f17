//! What a call needs against what a scope allows.

use chancery_core::{Card, SecurityRequirement, Skill, Timestamp};
use chancery_lattice::{Capabilities, Required, Scope, Why};
use serde_json::{Value, json};

const URL: &str = "https://billing.example.com/agent";

fn scope(json: Value) -> Scope {
    serde_json::from_value(json).unwrap()
}

fn card(skills: &[&str]) -> Card {
    let card = Card::new("B", "An agent").takes(["text/plain"]).gives(["text/plain", "application/json"]);
    skills.iter().fold(card, |card, id| card.skill(*id, "Does it"))
}

fn why(card: &Card, held: &Scope, required: &Required) -> Vec<Why> {
    match required.within(&Capabilities::of(card), held, URL, Timestamp::EPOCH) {
        Ok(_) => Vec::new(),
        Err(refused) => refused.missing.into_iter().map(|missing| missing.why).collect(),
    }
}

/// DIA-002-LAT-001, DIA-002-LAT-002, DIA-002-LAT-003, LA-20, LA-22: the decisions that were handed down.
#[test]
fn decisions_are_those_of_the_vectors() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../vectors/dialect-002/lattice-cases.json");
    let vector: Value = serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap();
    let cases = vector["cases"].as_array().unwrap();
    assert_eq!(cases.len(), 5);
    for case in cases {
        let texts = |name: &str| -> Vec<String> { serde_json::from_value(case[name].clone()).unwrap() };
        let caps = texts("capsB");
        let card = card(&caps.iter().map(String::as_str).collect::<Vec<_>>());
        let (held, required) = (Scope::of_skills(texts("scopeA")), Required::skills(texts("required")));
        let result = required.within(&Capabilities::of(&card), &held, URL, Timestamp::EPOCH);
        assert_eq!(result.is_ok(), case["allowed"].as_bool().unwrap(), "{case}");
        let allowed = result.unwrap_or_else(|refused| refused.allowed);
        assert_eq!(allowed.iter().map(|capability| capability.id.clone()).collect::<Vec<_>>(), texts("effective"), "{case}");
    }
}

/// A card whose one skill has two ways in.
fn guarded() -> Card {
    let mut skill = Skill::new("refund", "Pays back");
    for scopes in [["refund:write", "order:read"].as_slice(), &["admin"]] {
        let mut requirement = SecurityRequirement::default();
        requirement.schemes.insert("oauth".to_owned(), scopes.iter().map(|scope| (*scope).to_owned()).collect());
        skill.security_requirements.push(requirement);
    }
    Card::new("B", "An agent").takes(["text/plain"]).gives(["text/plain"]).with_skill(skill)
}

/// LA-10, LA-20, LA-21, LA-22: every reason, each alone.
#[test]
fn every_refusal_says_why() {
    let (plain, guarded) = (card(&["refund"]), guarded());
    let refund = Required::skills(["refund"]);
    let any = Required::default();
    let mut paid = refund.clone();
    paid.amount = Some(("USD".to_owned(), 501));
    let mut sent = refund.clone();
    sent.input = ["image/png".parse().unwrap()].into_iter().collect();
    let unknown = Required::skills(["close"]);
    let cases: Vec<(&Card, Value, &Required, &[Why])> = vec![
        (&plain, json!({}), &refund, &[]),
        (&plain, json!({"skills": ["refund"], "audiences": ["https://*.example.com"], "hops": 1}), &refund, &[]),
        (&plain, json!({}), &unknown, &[Why::UnknownSkill]),
        (&plain, json!({"skills": ["triage"]}), &refund, &[Why::SkillOutOfScope]),
        (&plain, json!({"audiences": ["https://example.com"]}), &refund, &[Why::AudienceOutOfScope]),
        (&plain, json!({"hops": 0}), &refund, &[Why::HopsExhausted]),
        (&plain, json!({"notAfter": "1970-01-01T00:00:00Z"}), &refund, &[Why::Expired]),
        (&plain, json!({"notAfter": "1970-01-01T00:00:01Z"}), &refund, &[]),
        (&plain, json!({"inputModes": ["image/*"]}), &refund, &[Why::InputMode]),
        (&plain, json!({"outputModes": ["image/*"]}), &refund, &[Why::OutputMode]),
        (&plain, json!({}), &sent, &[Why::InputMode]),
        (&plain, json!({"budget": {"USD": 500}}), &paid, &[Why::BudgetExceeded]),
        (&plain, json!({"budget": {"EUR": 900}}), &paid, &[Why::BudgetExceeded]),
        (&plain, json!({"budget": {"USD": 501}}), &paid, &[]),
        (&guarded, json!({"scopes": ["order:*"]}), &refund, &[Why::ScopeMissing]),
        (&guarded, json!({"scopes": ["order:read", "refund:*"]}), &refund, &[]),
        (&guarded, json!({"scopes": ["admin"]}), &refund, &[]),
        (&plain, json!({"skills": ["triage"]}), &any, &[Why::Empty]),
        (&plain, json!({"hops": 0}), &any, &[Why::HopsExhausted]),
        (&plain, json!({"skills": ["re*"]}), &any, &[]),
    ];
    for (card, held, required, expected) in cases {
        assert_eq!(why(card, &scope(held.clone()), required), expected, "{held} {required:?}");
    }
}

/// LA-22
#[test]
fn of_two_ways_in_the_nearer_one_is_named() {
    let held = scope(json!({"scopes": ["order:read", "other"]}));
    let mut card = guarded();
    // The other way lacks two.
    let more = &mut card.skills[0].security_requirements[1];
    more.schemes.insert("second".to_owned(), vec!["root".to_owned()]);
    let refused = Required::skills(["refund"]).within(&Capabilities::of(&card), &held, URL, Timestamp::EPOCH).unwrap_err();
    let missing = serde_json::to_value(&refused.missing).unwrap();
    assert_eq!(missing, json!([{"skill": "refund", "why": "scope_missing", "scopes": ["refund:write"]}]));
}

/// LA-20: what is left of a skill is narrowed, too.
#[test]
fn modes_are_narrowed_by_the_scope() {
    let card = card(&["refund"]);
    let allowed = Capabilities::of(&card).within(&scope(json!({"outputModes": ["application/*"]})), URL, Timestamp::EPOCH);
    let left = serde_json::to_value(&allowed).unwrap();
    assert_eq!(left, json!([{"id": "refund", "in": ["text/plain"], "out": ["application/json"], "needs": [[]]}]));
}
