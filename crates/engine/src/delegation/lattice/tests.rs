//! The lattice between agents that run.

use async_trait::async_trait;
use chancery_core::{Carried, ChainEntry, ListTasks, Operations as _, Peer, Peers, SendMessage, SendReply, Task, TaskState};
use chancery_lattice::{Strictness, Workflow};
use serde_json::json;

use super::*;
use crate::{
    Engine,
    delegation::{Handoff, Passing},
    store::Memory,
};

const TRIAGE: &str = "https://triage.example.com";
const BILLING: &str = "https://billing.example.com";

fn gate() -> chancery_lattice::Gate {
    gate_that("escalate")
}

fn gate_that(on_violation: &str) -> chancery_lattice::Gate {
    let file = r#"
        [workflow]
        name = "refunds"
        scope = { skills = ["triage", "refund"], hops = 2 }
        [[agent]]
        id = "triage"
        url = "https://triage.example.com"
        [[agent]]
        id = "billing"
        url = "https://billing.example.com"
        [[edge]]
        from = "triage"
        to = "billing"
        kind = "handoff"
        requires = ["refund"]
        on_violation = "escalate"
    "#;
    let file = file.replace("escalate", on_violation);
    chancery_lattice::Gate::new("triage").workflow(Workflow::parse(&file).unwrap()).approvers(["alice"])
}

fn billing() -> Card {
    let card = Card::new("Billing", "Pays back").takes(["text/plain"]).gives(["text/plain"]);
    card.skill("refund", "Pays back").skill("close", "Closes an account")
}

fn trail(hops: usize) -> Trail {
    let entry = ChainEntry::new(TRIAGE, "t-1", Timestamp::EPOCH, Passage::Handoff);
    (0..hops).fold(Trail::default(), |trail, _| trail.extended(entry.clone(), 8))
}

/// Work that is about to go from triage to billing.
fn asked(lattice: &Lattice, caller: &Caller, requires: &[&str], hops: usize) -> Result<Option<Object>, Object> {
    let (card, requires, trail): (_, Vec<_>, _) = (billing(), requires.iter().map(|&skill| skill.to_owned()).collect(), trail(hops));
    lattice.check(&step(&card, &requires, caller, &trail))
}

fn step<'a>(card: &'a Card, requires: &'a [String], caller: &'a Caller, trail: &'a Trail) -> Step<'a> {
    Step {
        kind: Passage::Handoff,
        from: TRIAGE,
        to: BILLING,
        card,
        requires,
        workflow: "",
        caller,
        received: None,
        trail,
        now: Timestamp::EPOCH,
    }
}

fn carried(scope: Value) -> Carried {
    let Value::Object(scope) = scope else { panic!("a scope is an object") };
    Carried::new("token", scope.into(), 0)
}

/// LA-11, LA-22, LA-23: what the engine asks is what the gate decides, with what the caller carries.
#[test]
fn a_step_is_asked_with_all_that_limits_it() {
    let lattice = Lattice::new(gate());
    let caller = Caller::new("ada");
    let Ok(Some(scope)) = asked(&lattice, &caller, &[], 1) else { panic!("it is allowed, and limited") };
    assert_eq!(Value::from(scope), json!({"skills": ["refund"], "hops": 1}));
    let violation = asked(&lattice, &caller, &["close"], 1).unwrap_err();
    assert_eq!(violation["missing"], json!([{"skill": "close", "why": "skill_out_of_scope"}]));
    assert!(lattice.escalates(&violation));
    assert_eq!(asked(&lattice, &caller, &[], 3).unwrap_err()["missing"][0]["why"], "hops_exhausted");
    let narrow = caller.clone().carried(carried(json!({"skills": ["triage"]})));
    assert_eq!(asked(&lattice, &narrow, &[], 1).unwrap_err()["missing"][0]["why"], "skill_out_of_scope");
    let unreadable = caller.carried(carried(json!({"skills": 3})));
    assert!(asked(&lattice, &unreadable, &[], 1).is_err(), "what cannot be read allows nothing");
    let alone = Lattice::new(chancery_lattice::Gate::new("stranger").strictness(Strictness::Off));
    assert_eq!(asked(&alone, &Caller::anonymous(), &["close"], 1), Ok(None), "no limit is not written");
}

fn approval(by: Option<&str>) -> Message {
    let mut message = Message::user("Go on");
    message.metadata.insert(extension::SCOPE.to_owned(), json!({"approve": {"handoffId": "h", "by": by}}));
    message
}

/// LA-25: the word of an approver, proved to be theirs, allows the next step of that task, once.
#[test]
fn what_an_approver_allows_is_allowed_once() {
    let lattice = Lattice::new(gate());
    let (task, card) = (TaskId::from("t-1"), billing());
    let say = |task: &TaskId, who: &str, message: &Message| {
        assert!(lattice.arrive(task, &Caller::new(who), message, &card, Timestamp::EPOCH).is_none());
        asked(&lattice, &Caller::new("ada"), &["close"], 1).is_ok()
    };
    assert!(!say(&task, "mallory", &approval(Some("alice"))), "who it is was proved, not said");
    assert!(!say(&task, "alice", &approval(Some("bob"))), "both must agree");
    assert!(!say(&TaskId::from("t-2"), "alice", &approval(Some("alice"))), "it is for another task");
    assert!(!say(&task, "alice", &Message::user("Go on")));
    assert!(say(&task, "alice", &approval(Some("alice"))));
    assert!(asked(&lattice, &Caller::new("ada"), &["close"], 1).is_err(), "it was for once");
    assert!(say(&task, "alice", &approval(None)));
}

async fn sent(caller: Caller, message: Message) -> Task {
    async fn pays(turn: Turn) -> Result<Outcome, Failure> {
        turn.status("Paying").await?;
        Ok(Outcome::Completed)
    }
    let card = billing().interface(BILLING, chancery_core::Binding::JsonRpc, chancery_core::Version::V1_0);
    let engine = Engine::new(card, Guarded::new(pays, Lattice::new(gate()))).store(Memory::new()).start();
    match engine.send_message(&caller, SendMessage::new(message)).await.unwrap() {
        SendReply::Task(task) => *task,
        other => panic!("{other:?}"),
    }
}

/// LA-26, LA-33: a request that its token does not allow is rejected, with the violation, and the agent never hears of it.
#[tokio::test]
async fn what_a_token_does_not_allow_is_rejected_on_arrival() {
    let handed = |requires: &[&str], hops: usize| {
        let mut context = TransferContext::new("t-1", TRIAGE);
        (context.requires, context.trail) = (requires.iter().map(|&skill| skill.to_owned()).collect(), trail(hops));
        let mut message = Message::user("Pay it back");
        context.put(&mut message).unwrap();
        message
    };
    let caller = |hops| {
        let mut carried = carried(json!({"skills": ["refund"], "hops": 0}));
        carried.hops = hops;
        Caller::new("triage").carried(carried)
    };
    assert_eq!(sent(caller(1), handed(&["refund"], 1)).await.status.state, TaskState::Completed);
    assert_eq!(sent(Caller::new("triage"), handed(&["close"], 1)).await.status.state, TaskState::Completed, "there is no token");
    let task = sent(caller(1), handed(&["refund", "close"], 1)).await;
    assert_eq!(task.status.state, TaskState::Rejected);
    let violation = task.status.message.unwrap().metadata[extension::SCOPE]["violation"].clone();
    let expected = json!({
        "from": TRIAGE, "to": BILLING, "kind": "handoff", "required": ["close", "refund"], "allowed": ["refund"],
        "missing": [{"skill": "close", "why": "skill_out_of_scope"}],
    });
    assert_eq!(violation, expected);
    assert!(task.history.iter().all(|message| message.text() != "Paying"));

    let hidden = sent(caller(2), handed(&["refund"], 1)).await;
    assert_eq!(hidden.status.state, TaskState::Rejected, "the chain hides a hop");
    let mut delegated = Message::user("Close it");
    delegated.metadata.insert(extension::DELEGATION.to_owned(), json!({"call": "c", "skill": "close"}));
    assert_eq!(sent(caller(0), delegated).await.status.state, TaskState::Rejected);
}

/// LA-23, LA-32, LA-36: the token that goes along is narrowed for the next agent, which can check that.
#[cfg(feature = "biscuit")]
#[test]
fn the_token_that_goes_along_is_narrower() {
    use chancery_core::ScopeTokens;
    use chancery_lattice::{Grant, Issuer, Needs, Roots};
    let issuer = Issuer::generate(1);
    let roots = Roots::new().root(1, &issuer.public_key()).unwrap();
    let granted = json!({"skills": ["triage", "refund"], "inputModes": ["text/plain"], "outputModes": ["text/plain"]});
    let token = issuer.mint(&Grant::new(serde_json::from_value(granted).unwrap())).unwrap();
    let caller = Caller::new("ada").carried(ScopeTokens::verify(&roots, &token, TRIAGE, Timestamp::EPOCH).unwrap());
    let (card, trail) = (billing(), trail(1));
    let passed = Lattice::new(gate()).token(&step(&card, &[], &caller, &trail)).unwrap();
    let verify = |at: &str, skill: &str| roots.verify(&passed, at, Timestamp::EPOCH, &Needs::skills([skill]));
    let seen = verify(BILLING, "refund").unwrap();
    assert_eq!((seen.hops, seen.scope.hops), (1, Some(1)));
    assert!(verify(BILLING, "triage").is_err() && verify(TRIAGE, "refund").is_err());
    assert_eq!(Lattice::new(gate()).token(&step(&card, &[], &Caller::new("ada"), &trail)), None);
}

/// The one agent that can be found.
struct Town(Engine);

#[async_trait]
impl Peers for Town {
    async fn peer(&self, agent: &str) -> chancery_core::Result<Peer> {
        assert_eq!(agent, BILLING);
        Ok(Peer::new(billing(), Arc::new(self.0.clone())))
    }
}

/// LA-22, LA-25, HO-40: a handoff beyond its scope is not made. The task fails, or a person is asked and allows it once.
#[tokio::test]
async fn a_handoff_beyond_its_scope_is_made_when_somebody_allows_it() {
    async fn triage(turn: Turn) -> Result<Outcome, Failure> {
        Ok(Outcome::transfer(Handoff::to(BILLING).requires(if turn.text() == "refund" { "refund" } else { "close" })))
    }
    async fn pays(turn: Turn) -> Result<Outcome, Failure> {
        turn.status("Paying").await?;
        Ok(Outcome::Completed)
    }
    async fn send(engine: &Engine, message: Message) -> Task {
        match engine.send_message(&Caller::new("alice"), SendMessage::new(message)).await.unwrap() {
            SendReply::Task(task) => *task,
            other => panic!("{other:?}"),
        }
    }
    let billing_engine = Engine::new(billing(), pays).store(Memory::new()).start();
    let start = |on_violation| {
        let lattice = Lattice::new(gate_that(on_violation));
        let passing = Passing::new(Arc::new(Town(billing_engine.clone()))).at(TRIAGE).policy(lattice.clone());
        let card = Card::new("Triage", "Sorts").skill("triage", "Sorts");
        Engine::new(card, Guarded::new(triage, lattice)).passing(passing).store(Memory::new()).start()
    };
    let received = async || {
        let page = billing_engine.list_tasks(&Caller::anonymous(), ListTasks::default()).await.unwrap().decode().unwrap();
        page.tasks.len()
    };

    let failed = send(&start("fail"), Message::user("close")).await;
    let error = |task: &Task| task.status.message.as_ref().unwrap().metadata[extension::HANDOFF]["error"].clone();
    assert_eq!((failed.status.state, &error(&failed)["code"]), (TaskState::Failed, &json!("scope_violation")));
    assert_eq!(error(&failed)["violation"]["missing"], json!([{"skill": "close", "why": "skill_out_of_scope"}]));

    let engine = start("escalate");
    let asked = send(&engine, Message::user("close")).await;
    assert_eq!((asked.status.state, &error(&asked)["code"]), (TaskState::InputRequired, &json!("scope_violation")));
    let mut again = Message::user("please");
    again.task_id = Some(asked.id.clone());
    assert_eq!(send(&engine, again).await.status.state, TaskState::InputRequired, "nobody has allowed it");
    assert_eq!(received().await, 0);
    let mut allowed = approval(Some("alice"));
    allowed.task_id = Some(asked.id.clone());
    assert_eq!(send(&engine, allowed).await.status.state, TaskState::Completed);
    assert_eq!(received().await, 1);

    // What is in scope needs nobody's word, and the scope goes along.
    assert_eq!(send(&engine, Message::user("refund")).await.status.state, TaskState::Completed);
    let page = billing_engine.list_tasks(&Caller::anonymous(), ListTasks::default()).await.unwrap().decode().unwrap();
    let scopes = page.tasks.iter().filter_map(|task| TransferContext::of(task.history.first()?).ok()??.scope);
    assert_eq!(
        scopes.map(Value::from).collect::<Vec<_>>(),
        [json!({"skills": ["refund"], "hops": 1}), json!({"skills": ["refund"], "hops": 1})]
    );

    // LA-24: where it only warns, the handoff is made, and the history says what is violated.
    let lattice = Lattice::new(gate_that("fail").strictness(Strictness::Warn));
    let passing = Passing::new(Arc::new(Town(billing_engine.clone()))).at(TRIAGE).policy(lattice.clone());
    let warned = Engine::new(Card::new("Triage", "Sorts"), Guarded::new(triage, lattice)).passing(passing).store(Memory::new()).start();
    let done = send(&warned, Message::user("close")).await;
    let violations = |task: &Task| -> Vec<Value> {
        let said = task.history.iter().filter_map(|message| message.metadata.get(extension::SCOPE));
        said.map(|about| about["violation"]["missing"].clone()).collect()
    };
    assert_eq!((done.status.state, received().await), (TaskState::Completed, 3));
    assert_eq!(violations(&done), [json!([{"skill": "close", "why": "skill_out_of_scope"}])]);
    assert!(violations(&send(&warned, Message::user("refund")).await).is_empty());
}
