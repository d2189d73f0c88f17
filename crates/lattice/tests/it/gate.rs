//! The gate: what the check of a workflow promises, kept while agents run.

use std::collections::{BTreeMap, BTreeSet};

use chancery_core::{Card, SecurityRequirement, Timestamp};
use chancery_lattice::{
    Arrival, Capabilities, Gate, Kind, Known, OnViolation, Passage, Passed, Required, Scope, Strictness, Trust, Why, Workflow,
};
use serde_json::{Value, json};

const TRIAGE: &str = "https://triage.example.com";
const BILLING: &str = "https://billing.example.com";
const LEDGER: &str = "https://ledger.example.com/agents/ledger";

const REFUNDS: &str = r#"
[workflow]
name  = "refunds"
start = ["triage"]
scope = { skills = ["triage", "refund", "invoice.*", "book"], scopes = ["order:read", "refund:write"], hops = 3 }

[[agent]]
id  = "triage"
url = "https://triage.example.com"

[[agent]]
id  = "billing"
url = "https://billing.example.com/"

[[agent]]
id   = "ledger"
card = "cards/ledger.json"

[[edge]]
from = "triage"
to   = "billing"
kind = "handoff"
requires = ["refund"]
grant = { skills = ["refund", "book"], scopes = ["refund:write"] }

[[edge]]
from = "billing"
to   = "ledger"
kind = "delegate"
requires = ["book"]
on_violation = "escalate"
"#;

fn refunds() -> Workflow {
    Workflow::parse(REFUNDS).unwrap()
}

fn gate(agent: &str) -> Gate {
    Gate::new(agent).workflow(refunds()).known("ledger", LEDGER)
}

fn billing() -> Card {
    Card::new("Billing", "Pays back").skill("refund", "Pays back").skill("close_account", "Closes").skill("invoice.create", "Bills")
}

fn ledger() -> Card {
    Card::new("Ledger", "Keeps books").skill("book", "Books").skill("audit", "Looks")
}

fn scope(json: Value) -> Scope {
    serde_json::from_value(json).unwrap()
}

fn handoff(card: &Card) -> Passage<'_> {
    Passage::new(BILLING, Kind::Handoff, card, Timestamp::EPOCH)
}

fn whys(gate: &Gate, passage: &Passage<'_>) -> Vec<Why> {
    match gate.check(passage) {
        Ok(_) => Vec::new(),
        Err(denied) => denied.violation.missing.iter().map(|missing| missing.why).collect(),
    }
}

/// LA-22, LA-25: the violation is the object of the specification, member by member.
#[test]
fn what_is_not_allowed_is_told_as_a_violation() {
    let card = billing();
    let passage = handoff(&card).requires(Required::skills(["close_account"]));
    let denied = gate(TRIAGE).check(&passage).unwrap_err();
    let expected = json!({
        "from": TRIAGE, "to": BILLING, "kind": "handoff", "workflow": "refunds", "edge": "triage->billing",
        "required": ["close_account", "refund"], "allowed": ["refund"],
        "missing": [{"skill": "close_account", "why": "skill_out_of_scope"}],
    });
    assert_eq!(serde_json::to_value(&denied.violation).unwrap(), expected);
    assert!(!denied.escalate);
    let words = "https://triage.example.com may not pass work on to https://billing.example.com: close_account is not in its scope";
    assert_eq!(denied.to_string(), words);
}

/// LA-23, LA-32
#[test]
fn what_is_passed_on_is_the_grant_and_one_hop_less() {
    let card = billing();
    let passed = gate(TRIAGE).check(&handoff(&card)).unwrap();
    assert_eq!(passed.scope, scope(json!({"skills": ["book", "refund"], "scopes": ["refund:write"], "hops": 2})));
    assert_eq!(passed.workflow.as_deref(), Some("refunds"));
    let audiences = BTreeSet::from([BILLING.to_owned(), "https://ledger.example.com".to_owned()]);
    assert_eq!((passed.audiences, passed.warning), (Some(audiences), None));
    let effective: Vec<_> = passed.effective.iter().map(|capability| capability.id.as_str()).collect();
    assert_eq!(effective, ["refund"]);
}

/// LA-23: an edge without a grant passes on what it requires, or with `least_privilege` off all that is held.
#[test]
fn the_least_privilege_is_the_default() {
    let file = REFUNDS.replace("grant = { skills = [\"refund\", \"book\"], scopes = [\"refund:write\"] }", "");
    let gate = Gate::new(TRIAGE).workflow(Workflow::parse(&file).unwrap());
    let card = billing();
    let least = gate.check(&handoff(&card)).unwrap();
    assert_eq!(least.scope.skills, scope(json!({"skills": ["refund"]})).skills);
    let more = handoff(&card).requires(Required::skills(["invoice.create"]));
    assert_eq!(whys(&gate, &more), [Why::SkillOutOfScope], "the edge is for refunds");
    let gate = gate.least_privilege(false);
    let all = gate.check(&more).unwrap();
    assert_eq!(all.scope.skills, refunds().scope.skills);
}

/// LA-11: every limit counts, whoever set it. LA-20: each reason has its name.
#[test]
fn the_scope_of_a_task_is_the_meet_of_all_that_limits_it() {
    let card = billing();
    let mut guarded = billing();
    guarded.skills[0].security_requirements = vec![SecurityRequirement::new().and("oauth", ["refund:write"])];
    let with = |change: &dyn Fn(&mut Passage<'_>)| {
        let mut passage = handoff(&card);
        change(&mut passage);
        whys(&gate(TRIAGE), &passage)
    };
    let none: [Why; 0] = [];
    assert_eq!(with(&|_| {}), none);
    assert_eq!(with(&|p| p.carried = Some(scope(json!({"skills": ["triage"]})))), [Why::SkillOutOfScope]);
    assert_eq!(with(&|p| p.transferred = Some(scope(json!({"skills": []})))), [Why::SkillOutOfScope]);
    assert_eq!(
        with(&|p| p.carried = Some(scope(json!({"audiences": [LEDGER.strip_suffix("/agents/ledger")]})))),
        [Why::AudienceOutOfScope]
    );
    assert_eq!(with(&|p| p.transferred = Some(scope(json!({"hops": 0})))), [Why::HopsExhausted]);
    assert_eq!(with(&|p| p.hops = 2), none);
    assert_eq!(with(&|p| p.hops = 3), [Why::HopsExhausted]);
    assert_eq!(with(&|p| p.transferred = Some(scope(json!({"notAfter": "1970-01-01T00:00:00Z"})))), [Why::Expired]);
    assert_eq!(with(&|p| p.required.amount = Some(("USD".to_owned(), 1))), none);
    let poor = |p: &mut Passage<'_>| {
        p.required.amount = Some(("USD".to_owned(), 2));
        p.carried = Some(scope(json!({"budget": {"USD": 1}})));
    };
    assert_eq!(with(&poor), [Why::BudgetExceeded]);
    let configured = gate(TRIAGE).scope(scope(json!({"skills": ["invoice.*"]})));
    assert_eq!(whys(&configured, &handoff(&card)), [Why::SkillOutOfScope]);

    // Scopes of OAuth are the limit of a caller without a token, and a token is it instead of them.
    let granted = |scopes: &[&str], carried: Option<Value>| {
        let mut passage = handoff(&guarded);
        passage.scopes = scopes.iter().map(|&scope| scope.to_owned()).collect();
        passage.carried = carried.map(scope);
        whys(&gate(TRIAGE), &passage)
    };
    assert_eq!(granted(&[], None), none);
    assert_eq!(granted(&["refund:write"], None), none);
    assert_eq!(granted(&["order:read"], None), [Why::ScopeMissing]);
    assert_eq!(granted(&["*"], None), [Why::ScopeMissing], "a name with a star is a name");
    assert_eq!(granted(&["order:read"], Some(json!({"scopes": ["refund:write"]}))), none);
}

/// LA-24: strict in a workflow, off elsewhere, and as it is told otherwise.
#[test]
fn a_gate_is_as_strict_as_it_is_told() {
    let card = billing();
    let wrong = handoff(&card).requires(Required::skills(["close_account"]));
    assert_eq!(gate(TRIAGE).strict(), Strictness::Enforce);
    assert_eq!(gate("https://stranger.example.com").strict(), Strictness::Off);
    let warned: Passed = gate(TRIAGE).strictness(Strictness::Warn).check(&wrong).unwrap();
    assert_eq!(warned.warning.unwrap().missing[0].why, Why::SkillOutOfScope);
    assert_eq!(gate(TRIAGE).strictness(Strictness::Off).check(&wrong).unwrap().warning, None);

    // Without a workflow a configured scope can be enforced, and what was carried is carried on in any case.
    let alone = Gate::new("https://stranger.example.com");
    let mut passage = handoff(&card);
    passage.carried = Some(scope(json!({"skills": ["triage"], "hops": 4})));
    assert_eq!(alone.check(&passage).unwrap().scope, scope(json!({"skills": ["triage"], "hops": 3})));
    assert_eq!(whys(&alone.clone().strictness(Strictness::Enforce), &passage), [Why::Empty]);
    assert_eq!(whys(&alone.strictness(Strictness::Enforce).scope(scope(json!({"skills": ["refund"]}))), &handoff(&card)), []);
}

/// LA-45: what is not in the file is not done.
#[test]
fn a_way_that_is_not_in_the_file_is_refused() {
    let card = ledger();
    for (from, to, kind, allowed) in [
        (BILLING, LEDGER, Kind::Delegate, true),
        ("https://BILLING.example.com:443/", "https://ledger.example.com/agents/ledger/", Kind::Delegate, true),
        (BILLING, LEDGER, Kind::Handoff, false),
        (TRIAGE, LEDGER, Kind::Delegate, false),
        (BILLING, "https://ledger.example.com", Kind::Delegate, false),
        (BILLING, "https://elsewhere.example.com", Kind::Delegate, false),
        (BILLING, "no address", Kind::Delegate, false),
    ] {
        let result = gate(from).check(&Passage::new(to, kind, &card, Timestamp::EPOCH));
        assert_eq!(result.is_ok(), allowed, "{from} {to} {kind:?}");
        if let Err(denied) = result {
            assert_eq!((denied.violation.missing[0].why, &denied.violation.edge), (Why::AudienceOutOfScope, &None));
            assert_eq!(denied.violation.workflow.as_deref(), Some("refunds"));
        }
    }
}

/// LA-25: one who may allows it, for this once; others do not.
#[test]
fn the_word_of_an_approver_lets_one_passage_through() {
    let card = ledger();
    let gate = gate(BILLING).approvers(["alice"]);
    let mut passage = Passage::new(LEDGER, Kind::Delegate, &card, Timestamp::EPOCH).requires(Required::skills(["audit"]));
    let denied = gate.check(&passage).unwrap_err();
    assert!(denied.escalate);
    passage.approved_by = Some("mallory");
    assert_eq!(gate.check(&passage).unwrap_err(), denied);
    passage.approved_by = Some("alice");
    let passed = gate.check(&passage).unwrap();
    assert_eq!(passed.warning.as_deref(), Some(&*denied.violation));
    assert!(!passed.scope.skills.unwrap().allows("audit"), "it may be done there, and not be passed on");
    passage.approved_by = None;
    assert_eq!(gate.check(&passage).unwrap_err(), denied);

    // What no edge says is as the gate says.
    let stranger = Passage::new("https://elsewhere.example.com", Kind::Delegate, &card, Timestamp::EPOCH);
    assert!(!gate.check(&stranger).unwrap_err().escalate);
    assert!(gate.on_violation(OnViolation::Escalate).check(&stranger).unwrap_err().escalate);
}

/// LA-40, LA-45: over every path of the file the scope that arrives while it runs is one that the check foresaw.
#[test]
fn what_was_checked_is_what_is_enforced() {
    let cards = [
        ("triage", TRIAGE, Card::new("Triage", "Sorts").skill("triage", "Sorts")),
        ("billing", BILLING, billing()),
        ("ledger", LEDGER, ledger()),
    ];
    let known: BTreeMap<_, _> =
        cards.iter().map(|(id, url, card)| ((*id).to_owned(), Ok(Known::new(card.clone(), *url).trust(Trust::Verified)))).collect();
    let report = refunds().check(&known, Timestamp::EPOCH);
    assert!(report.is_good(), "{report:?}");

    let first = gate(TRIAGE).check(&handoff(&cards[1].2)).unwrap();
    let mut next = Passage::new(LEDGER, Kind::Delegate, &cards[2].2, Timestamp::EPOCH);
    (next.transferred, next.hops) = (Some(first.scope.clone()), 1);
    let second = gate(BILLING).check(&next).unwrap();
    let foreseen = |id: &str| report.agents.iter().find(|agent| agent.id == id).unwrap().reaches.clone();
    assert_eq!((vec![first.scope], vec![second.scope]), (foreseen("billing"), foreseen("ledger")));
}

/// LA-26, LA-33: what a token does not allow is refused where it arrives, and so is a chain that hides somebody.
#[test]
fn a_token_is_asked_where_it_arrives() {
    let card = billing();
    let check = |carried: Value, skills: &[&str], hops, claimed| {
        let carried = scope(carried);
        let mut arrival = Arrival::new(BILLING, &card, &carried, Timestamp::EPOCH);
        arrival.required = Required::skills(skills.iter().copied());
        (arrival.hops, arrival.claimed) = (hops, claimed);
        arrival.check().map(|allowed: Capabilities| allowed.iter().count()).map_err(|violation| violation.missing[0].why)
    };
    assert_eq!(check(json!({"skills": ["refund"], "hops": 0}), &["refund"], 2, 2), Ok(1));
    assert_eq!(check(json!({"skills": ["refund"]}), &["close_account"], 0, 0), Err(Why::SkillOutOfScope));
    assert_eq!(check(json!({"skills": ["other"]}), &[], 0, 0), Err(Why::Empty));
    assert_eq!(check(json!({"skills": ["refund"]}), &["unknown"], 0, 0), Err(Why::UnknownSkill));
    assert_eq!(check(json!({}), &["refund"], 2, 3), Ok(3));
    assert_eq!(check(json!({}), &["refund"], 2, 1), Err(Why::HopsExhausted));
}
