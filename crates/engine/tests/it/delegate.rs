//! Work that an agent lets another one do.

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use chancery_core::{
    Artifact, Caller, CancelTask, Card, Error, ErrorKind, Event, EventStream, GetTask, ListTasks, Message, Object, Operations, Passage,
    Peer, Peers, Result, SendMessage, SendReply, Seq, Subscribe, Task, TaskId, TaskState, Transfer, extension,
};
use chancery_engine::{
    Builder, Engine, Failure, OnRestart, Outcome, Turn,
    clock::ManualClock,
    delegation::{DelegationError, Handoff, Passing, ReachPolicy, Step},
    store::{Memory, Store},
};
use serde_json::json;
use tokio::sync::Semaphore;

const TRIAGE: &str = "https://triage.example";
const LEDGER: &str = "https://ledger.example";
const LEASE: Duration = Duration::from_secs(15);

/// Agents by their base URLs.
#[derive(Default)]
struct Town(Mutex<HashMap<String, Peer>>);

impl Town {
    fn settle(&self, url: &str, card: Card, engine: &Engine) {
        self.0.lock().unwrap().insert(url.to_owned(), Peer::new(card, Arc::new(engine.clone())));
    }
}

#[async_trait]
impl Peers for Town {
    async fn peer(&self, agent: &str) -> Result<Peer> {
        self.0.lock().unwrap().get(agent).cloned().ok_or_else(|| Error::new(ErrorKind::Unavailable, "nobody lives there"))
    }
}

/// What the tests and the agents share.
#[derive(Clone, Default)]
struct World {
    town: Arc<Town>,
    /// Agents that wait go on when they get a permit.
    go: Arc<Lock>,
    /// How many turns the ledger had.
    turns: Arc<AtomicUsize>,
}

struct Lock(Semaphore);

impl Default for Lock {
    fn default() -> Self {
        Self(Semaphore::new(0))
    }
}

fn card(name: &str, streams: bool) -> Card {
    Card::new(name, "Does what it is told").skill("obey", "Does what the first word says").streaming(streams)
}

impl World {
    fn ledger(&self, streams: bool) -> Engine {
        self.obedient(LEDGER, card("Ledger", streams))
    }

    /// An agent that does what the first word says.
    fn obedient(&self, url: &str, card: Card) -> Engine {
        let world = self.clone();
        let agent = move |turn: Turn| {
            let world = world.clone();
            async move {
                world.turns.fetch_add(1, Ordering::SeqCst);
                let (verb, rest) = turn.text().split_once(' ').unwrap_or((turn.text(), ""));
                match verb {
                    "message" => Ok(Outcome::message(rest)),
                    "work" => {
                        turn.status("Working on it").await?;
                        let mut result = turn.artifact("result");
                        for word in rest.split(' ') {
                            result.push(word).await?;
                        }
                        result.finish().await?;
                        Ok(Outcome::Completed)
                    }
                    "wait" => {
                        turn.status("Waiting").await?;
                        world.go.0.acquire().await?.forget();
                        Ok(Outcome::complete_with(Artifact::new("waited")))
                    }
                    "ask" => Ok(Outcome::ask(rest)),
                    "login" => {
                        let answer = turn.require_auth("Sign in first").await?;
                        Ok(Outcome::complete_with(Artifact::new(format!("signed in by {}", answer.text()))))
                    }
                    "reject" => Ok(Outcome::reject(rest)),
                    "fail" => Ok(Outcome::failed(rest)),
                    "about" => {
                        let about = turn.message().metadata.get(extension::DELEGATION).cloned().unwrap_or_default();
                        Ok(Outcome::complete_with(Artifact::new(about.to_string())))
                    }
                    "pass" => {
                        let (agent, rest) = rest.split_once(' ').ok_or("no target")?;
                        turn.status("Handing over").await?;
                        Ok(Outcome::transfer(Handoff::to(agent).part(rest)))
                    }
                    _ => Ok::<_, Failure>(Outcome::complete_with(Artifact::new(format!("heard {}", turn.text())))),
                }
            }
        };
        let engine = Engine::new(card.clone(), agent).passing(Passing::new(self.town.clone()).at(url)).start();
        self.town.settle(url, card, &engine);
        engine
    }

    fn passing(&self) -> Passing {
        Passing::new(self.town.clone()).at(TRIAGE)
    }

    /// Lets the ledger do what the message says; each line is a call, and all are made at once.
    fn triage(&self) -> Builder {
        let agent = |turn: Turn| async move {
            let calls: Vec<_> = turn.text().lines().map(|line| turn.delegate(LEDGER, line).into_future()).collect();
            let mut all = tokio::task::JoinSet::new();
            for (at, call) in calls.into_iter().enumerate() {
                all.spawn(async move { (at, call.await) });
            }
            let mut results: Vec<_> = all.join_all().await;
            results.sort_by_key(|(at, _)| *at);
            let words = results.into_iter().map(|(_, result)| match result {
                Ok(done) => done.text(),
                Err(error) => format!("not done: {error}"),
            });
            Ok::<_, Failure>(Outcome::reply(words.collect::<Vec<_>>().join("|")))
        };
        Engine::new(card("Triage", true), agent).passing(self.passing())
    }

    async fn tasks(&self) -> Vec<Task> {
        let ledger = self.town.peer(LEDGER).await.unwrap().operations;
        let mut list = ListTasks::default();
        list.history_length = Some(100);
        ledger.list_tasks(&Caller::anonymous(), list).await.unwrap().decode().unwrap().tasks
    }
}

fn ada() -> Caller {
    Caller::new("ada")
}

fn said(task: &Task) -> String {
    task.status.message.as_ref().map(Message::text).unwrap_or_default()
}

async fn send(engine: &Engine, message: impl Into<Message>) -> Task {
    match engine.send_message(&ada(), SendMessage::new(message)).await.unwrap() {
        SendReply::Task(task) => *task,
        SendReply::Message(message) => panic!("a message: {}", message.text()),
    }
}

async fn begin(engine: &Engine, text: &str) -> TaskId {
    let mut request = SendMessage::new(text);
    request.configuration.return_immediately = true;
    engine.send_message(&ada(), request).await.unwrap().task().unwrap().id.clone()
}

async fn next(stream: &mut EventStream) -> Option<Event> {
    let next = std::future::poll_fn(|cx| stream.as_mut().poll_next(cx));
    let next = tokio::time::timeout(Duration::from_secs(60), next).await.expect("the stream stands still");
    next.map(|item| item.unwrap().1.into_event())
}

/// Waits until a task has come so far.
async fn until(engine: &dyn Operations, caller: &Caller, id: &TaskId, so: impl Fn(&Task) -> bool) -> Task {
    let wait = async {
        loop {
            let task = engine.get_task(caller, GetTask::new(id.clone())).await.unwrap().into_task().unwrap();
            if so(&task) {
                return task;
            }
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), wait).await.expect("it does not come to be")
}

/// Everything that the task's status messages say of its calls: the state here, the state there.
fn mirrored(events: &[Event]) -> Vec<(TaskState, String)> {
    let about = |event: &Event| {
        let Event::Status(update) = event else { return None };
        let about = update.status.message.as_ref()?.metadata.get(extension::DELEGATION)?;
        Some((update.status.state, about["state"].as_str()?.to_owned()))
    };
    events.iter().filter_map(about).collect()
}

/// DE-1, DE-3: the result is the agent's, and each of its states is shown here.
#[tokio::test]
async fn the_result_of_another_agent_is_used_and_its_states_are_shown() {
    let world = World::default();
    let ledger = world.ledger(true);
    let triage = world.triage().start();
    let mut stream = triage.stream_message(&ada(), SendMessage::new("work hard and long")).await.unwrap();
    let mut events = Vec::new();
    while let Some(event) = next(&mut stream).await {
        events.push(event);
    }
    let states = mirrored(&events);
    assert_eq!(states.first().unwrap().1, "TASK_STATE_SUBMITTED");
    assert_eq!(states.last().unwrap(), &(TaskState::Working, "TASK_STATE_COMPLETED".to_owned()));
    assert!(states.iter().all(|(here, _)| *here == TaskState::Working), "{states:?}");
    let id = events[0].task_id().unwrap().clone();
    let task = triage.get_task(&ada(), GetTask::new(id)).await.unwrap().into_task().unwrap();
    assert_eq!((task.state(), said(&task).as_str()), (TaskState::Completed, "hardandlong"));
    assert!(task.artifacts.is_empty(), "no artifact is copied");
    assert_eq!(world.tasks().await.len(), 1);
    drop(ledger);
}

/// DE-2: what the other agent is told.
#[tokio::test]
async fn the_message_says_who_asks_and_how_far_the_work_has_come() {
    let world = World::default();
    let _ledger = world.ledger(true);
    let triage = world.triage().start();
    let task = send(&triage, "about").await;
    let about: serde_json::Value = serde_json::from_str(&said(&task)).unwrap();
    assert_eq!((about["originatingTaskId"].as_str(), about["originatingAgent"].as_str()), (Some(task.id.as_str()), Some(TRIAGE)));
    assert_eq!((about["hop"].as_u64(), about["maxHops"].as_u64()), (Some(1), Some(8)));
    assert_eq!(about["chain"], json!([{"agent": TRIAGE, "taskId": task.id, "kind": "delegation"}]));
    let sent = &world.tasks().await[0].history[0];
    assert_eq!(about["call"].as_str(), Some(sent.message_id.as_str()));
    assert_eq!(sent.extensions, [extension::DELEGATION]);
}

/// An answer without a task is a result too, and costs the asking agent no task.
#[tokio::test]
async fn an_answer_without_a_task_makes_no_task_here() {
    let world = World::default();
    let _ledger = world.ledger(true);
    let agent = |turn: Turn| async move { Ok::<_, Failure>(Outcome::message(turn.delegate(LEDGER, turn.text()).await?.text())) };
    let triage = Engine::new(card("Triage", true), agent).passing(world.passing()).start();
    let reply = triage.send_message(&ada(), SendMessage::new("message at once")).await.unwrap();
    let SendReply::Message(message) = reply else { panic!("{reply:?}") };
    assert_eq!(message.text(), "at once");
}

/// DE-1: an agent without streams is read until it is done.
#[tokio::test(start_paused = true)]
async fn an_agent_without_streams_is_read_until_it_is_done() {
    let world = World::default();
    let _ledger = world.ledger(false);
    let triage = world.triage().start();
    let id = begin(&triage, "wait").await;
    until(&triage, &ada(), &id, |task| said(task).contains("working")).await;
    world.go.0.add_permits(1);
    let task = until(&triage, &ada(), &id, |task| task.state().is_terminal()).await;
    assert_eq!(said(&task), "waited");
}

/// DE-4: a question comes through, and the answer goes back.
#[tokio::test]
async fn a_question_of_the_other_agent_is_asked_here_and_the_answer_goes_on() {
    let world = World::default();
    let _ledger = world.ledger(true);
    let triage = world.triage().start();
    let task = send(&triage, "ask Which account?").await;
    assert_eq!((task.state(), said(&task).as_str()), (TaskState::InputRequired, "Which account?"));
    let about = &task.status.message.as_ref().unwrap().metadata[extension::DELEGATION];
    assert_eq!(about["state"], "TASK_STATE_INPUT_REQUIRED");
    let task = send(&triage, Message::user("number 31").to_task(task.id)).await;
    assert_eq!((task.state(), said(&task).as_str()), (TaskState::Completed, "heard number 31"));
    let theirs = world.tasks().await;
    assert_eq!(theirs.len(), 1);
    let ours: Vec<_> = task.history.iter().map(|message| &message.message_id).collect();
    assert!(theirs[0].history.iter().all(|message| !ours.contains(&&message.message_id)), "every message has a new id");
}

/// DE-4
#[tokio::test]
async fn an_authorization_is_demanded_here_too() {
    let world = World::default();
    let _ledger = world.ledger(true);
    let triage = world.triage().start();
    let task = send(&triage, "login").await;
    assert_eq!((task.state(), said(&task).as_str()), (TaskState::AuthRequired, "Sign in first"));
    let task = send(&triage, Message::user("ada").to_task(task.id)).await;
    assert_eq!(said(&task), "signed in by ada");
}

/// DE-4: with several questions open, the answer is for the call that it names, else for the one that has waited longest.
#[tokio::test]
async fn each_of_several_questions_gets_its_own_answer() {
    let world = World::default();
    let _ledger = world.ledger(true);
    let triage = world.triage().start();
    let id = begin(&triage, "ask One?\nask Two?\nask Three?").await;
    let waiting = |task: &Task| {
        let all = task.history.iter().chain(&task.status.message).filter(|message| message.role == chancery_core::Role::Agent);
        let mut asked: Vec<_> =
            all.filter(|message| message.text().ends_with('?')).map(|message| (message.text(), call_of(message))).collect();
        let mut seen = std::collections::HashSet::new();
        asked.retain(|question| seen.insert(question.clone()));
        asked
    };
    let task = until(&triage, &ada(), &id, |task| waiting(task).len() == 3).await;
    let asked = waiting(&task);
    let (oldest, last) = (&asked[0], &asked[2]);
    let mut named = Message::user("to the last").to_task(id.clone());
    named.metadata.insert(extension::DELEGATION.to_owned(), json!({"call": last.1}));
    // The oldest question is asked again, because it is still open.
    let task = send(&triage, named).await;
    assert_eq!((task.state(), said(&task)), (TaskState::InputRequired, oldest.0.clone()));
    let task = send(&triage, Message::user("to the oldest").to_task(id.clone())).await;
    assert_eq!((task.state(), said(&task)), (TaskState::InputRequired, asked[1].0.clone()));
    let task = send(&triage, Message::user("to the middle").to_task(id)).await;
    let answer = |question: &str| {
        let at = asked.iter().position(|(text, _)| text == question).unwrap();
        format!("heard to the {}", ["oldest", "middle", "last"][at])
    };
    assert_eq!(said(&task), [answer("One?"), answer("Two?"), answer("Three?")].join("|"));
}

fn call_of(message: &Message) -> String {
    message.metadata[extension::DELEGATION]["call"].as_str().unwrap().to_owned()
}

/// DE-5: what does not work out is a value.
#[tokio::test]
async fn what_another_agent_does_not_do_is_a_value() {
    let world = World::default();
    let ledger = world.ledger(true);
    let triage = world.triage().start();
    for (text, expected) in [("fail badly", "TASK_STATE_FAILED"), ("reject it", "TASK_STATE_REJECTED")] {
        let task = send(&triage, text).await;
        assert_eq!((task.state(), said(&task)), (TaskState::Completed, format!("not done: {LEDGER} did not do it ({expected})")));
    }
    let id = begin(&triage, "wait").await;
    let task = until(&triage, &ada(), &id, |task| said(task).contains("working")).await;
    let about = &task.status.message.as_ref().unwrap().metadata[extension::DELEGATION];
    ledger.cancel_task(&Caller::anonymous(), CancelTask::new(about["taskId"].as_str().unwrap())).await.unwrap();
    let task = until(&triage, &ada(), &id, |task| task.state().is_terminal()).await;
    assert!(said(&task).contains("TASK_STATE_CANCELED"), "{task:?}");
    world.town.0.lock().unwrap().clear();
    assert_eq!(said(&send(&triage, "work").await), format!("not done: {LEDGER} cannot be asked"));
}

/// DE-6: what other agents do for a task ends before the task does.
#[tokio::test]
async fn canceling_a_task_cancels_what_others_do_for_it() {
    let world = World::default();
    let ledger = world.ledger(true);
    let triage = world.triage().start();
    let id = begin(&triage, "wait\nwait").await;
    let both = async {
        while world.turns.load(Ordering::SeqCst) < 2 || world.tasks().await.len() < 2 {
            tokio::task::yield_now().await
        }
    };
    tokio::time::timeout(Duration::from_secs(60), both).await.unwrap();
    let calls = |task: &Task| {
        let told = task.history.iter().chain(&task.status.message).filter(|message| message.text().contains("working"));
        told.count() == 2
    };
    until(&triage, &ada(), &id, calls).await;
    let task = triage.cancel_task(&ada(), CancelTask::new(id)).await.unwrap();
    assert_eq!(task.state(), TaskState::Canceled);
    assert!(world.tasks().await.iter().all(|task| task.state() == TaskState::Canceled));
    drop(ledger);
}

/// DE-7: a turn that is run again finds its call, and the other agent has one task.
#[tokio::test(start_paused = true)]
async fn a_turn_that_is_run_again_finds_its_call() {
    let world = World::default();
    let _ledger = world.ledger(true);
    let (store, clock): (Arc<dyn Store>, _) = (Arc::new(Memory::new()), ManualClock::new(1_772_442_907_000));
    let process = || world.triage().shared_store(store.clone()).clock(clock.clone()).lease(LEASE).on_restart(OnRestart::Rerun).start();
    let first = process();
    let id = begin(&first, "wait").await;
    until(&first, &ada(), &id, |task| said(task).contains("working")).await;
    drop(first);
    clock.advance(LEASE * 2);
    let second = process();
    let mut stream = second.subscribe(&ada().resume_after(Seq::START), Subscribe::new(id.clone())).await.unwrap();
    world.go.0.add_permits(1);
    while next(&mut stream).await.is_some() {}
    let task = second.get_task(&ada(), GetTask::new(id)).await.unwrap().into_task().unwrap();
    assert_eq!(said(&task), "waited");
    assert_eq!((world.tasks().await.len(), world.turns.load(Ordering::SeqCst)), (1, 1));
}

/// DE-7: an answer that comes after a restart goes to the call that asked.
#[tokio::test(start_paused = true)]
async fn a_question_that_outlives_its_process_is_still_answered() {
    let world = World::default();
    let _ledger = world.ledger(true);
    let (store, clock): (Arc<dyn Store>, _) = (Arc::new(Memory::new()), ManualClock::new(1_772_442_907_000));
    let process = || world.triage().shared_store(store.clone()).clock(clock.clone()).lease(LEASE).on_restart(OnRestart::Rerun).start();
    let first = process();
    let asked = send(&first, "ask Which account?").await;
    assert_eq!(asked.state(), TaskState::InputRequired);
    drop(first);
    clock.advance(LEASE * 2);
    let second = process();
    send(&second, Message::user("number 31").to_task(asked.id.clone())).await;
    let task = until(&second, &ada(), &asked.id, |task| task.state().is_terminal()).await;
    assert_eq!((task.state(), said(&task).as_str()), (TaskState::Completed, "heard number 31"));
    assert_eq!(world.tasks().await.len(), 1);
}

/// DE-7: a task that fails because its process died takes its calls along.
#[tokio::test(start_paused = true)]
async fn a_task_that_is_not_taken_up_again_cancels_its_calls() {
    let world = World::default();
    let ledger = world.ledger(true);
    let (store, clock): (Arc<dyn Store>, _) = (Arc::new(Memory::new()), ManualClock::new(1_772_442_907_000));
    let process = || world.triage().shared_store(store.clone()).clock(clock.clone()).lease(LEASE).start();
    let first = process();
    let id = begin(&first, "wait").await;
    until(&first, &ada(), &id, |task| said(task).contains("working")).await;
    drop(first);
    clock.advance(LEASE * 2);
    let second = process();
    until(&second, &ada(), &id, |task| task.state() == TaskState::Failed).await;
    let theirs = world.tasks().await[0].id.clone();
    until(&ledger, &Caller::anonymous(), &theirs, |task| task.state() == TaskState::Canceled).await;
}

/// DE-8: work that the other agent hands over is followed to its end.
#[tokio::test]
async fn work_that_is_handed_over_there_is_followed() {
    let world = World::default();
    let ledger = world.ledger(true);
    let vault = "https://vault.example";
    let there = world.obedient(vault, card("Vault", true));
    let triage = world.triage().start();
    let asked = send(&triage, "ask Where to?").await;
    let task = send(&triage, Message::user(format!("pass {vault} work well")).to_task(asked.id)).await;
    assert_eq!((task.state(), said(&task).as_str()), (TaskState::Completed, "well"));
    let anyone = Caller::anonymous();
    let handed =
        ledger.list_tasks(&anyone.clone().extension(extension::HANDOFF), ListTasks::default()).await.unwrap().decode().unwrap().tasks;
    assert!(Transfer::of(&handed[0].metadata).unwrap().is_some(), "{handed:?}");
    assert_eq!(there.list_tasks(&anyone, ListTasks::default()).await.unwrap().decode().unwrap().tasks.len(), 1);
    let told = task.history.iter().filter_map(|message| message.metadata.get(extension::DELEGATION));
    let told: Vec<_> = told.collect();
    let last = told.last().unwrap_or_else(|| panic!("{task:?}"));
    assert_eq!((last["agent"].as_str(), last["state"].as_str()), (Some(vault), Some("TASK_STATE_COMPLETED")), "{told:?}");
}

struct Narrow;

impl ReachPolicy for Narrow {
    fn check(&self, step: &Step<'_>) -> Result<Option<Object>, Object> {
        assert_eq!((step.kind, step.from, step.to, step.card.name.as_str()), (Passage::Delegation, TRIAGE, LEDGER, "Ledger"));
        let violation = json!({"missing": step.requires});
        if step.requires.is_empty() {
            Ok(Some([("hops".to_owned(), json!(1))].into()))
        } else {
            Err(violation.as_object().cloned().unwrap().into())
        }
    }
}

/// DE-9: the policy is asked before anything is sent, and what it allows goes along.
#[tokio::test]
async fn what_is_out_of_reach_is_not_sent() {
    let world = World::default();
    let _ledger = world.ledger(true);
    let agent = |turn: Turn| async move {
        let allowed = turn.delegate(LEDGER, "about").await?.text();
        let refused = turn.delegate(LEDGER, "work").skill("close_account").await.unwrap_err();
        let DelegationError::Refused { code, violation, .. } = refused else { panic!("{refused:?}") };
        Ok::<_, Failure>(Outcome::reply(format!("{allowed}\n{code} {}", json!(violation))))
    };
    let triage = Engine::new(card("Triage", true), agent).passing(world.passing().policy(Narrow)).start();
    let task = send(&triage, "go").await;
    let said = said(&task);
    let (allowed, refused) = said.split_once('\n').unwrap();
    assert_eq!(serde_json::from_str::<serde_json::Value>(allowed).unwrap()["scope"], json!({"hops": 1}));
    assert_eq!(refused, r#"scope_violation {"missing":["close_account"]}"#);
    assert_eq!(world.tasks().await.len(), 1);
}

/// HO-31, HO-32: too many hops and circles are refused before anything is sent.
#[tokio::test]
async fn work_does_not_go_too_far_nor_round_in_a_circle() {
    let world = World::default();
    let _ledger = world.ledger(true);
    let triage = world.triage().start();
    let other = "https://other.example";
    let entry = |agent: &str| json!({"agent": agent, "taskId": "t", "kind": "delegation"});
    let cases = [
        (json!({"hop": 1, "chain": [entry(other)]}), ""),
        (json!({"hop": 1, "chain": [entry(LEDGER)]}), ""),
        (json!({"hop": 2, "chain": [entry(TRIAGE), entry(LEDGER)]}), "it would go round in a circle"),
        (json!({"hop": 2, "chain": [entry("HTTPS://Triage.example/"), entry(LEDGER)]}), "it would go round in a circle"),
        (json!({"hop": 2, "chain": [entry(TRIAGE), entry(other)]}), ""),
        (json!({"hop": 8, "chain": vec![entry(other); 8]}), "the task was passed on 8 times"),
        (json!({"hop": 2, "maxHops": 2, "chain": [entry(other), entry("https://third.example")]}), "the task was passed on 2 times"),
    ];
    for (about, reason) in cases {
        let before = world.tasks().await.len();
        let mut message = Message::user("work");
        message.metadata.insert(extension::DELEGATION.to_owned(), about.clone());
        let words = said(&send(&triage, message).await);
        let sent = world.tasks().await.len() > before;
        assert_eq!(sent, reason.is_empty(), "{about}: {words}");
        assert!(words.ends_with(reason), "{about}: {words}");
    }
}

/// The same words to the same agent twice are two calls.
#[tokio::test]
async fn asking_the_same_twice_is_two_calls() {
    let world = World::default();
    let _ledger = world.ledger(true);
    let task = send(&world.triage().start(), "work once\nwork once").await;
    assert_eq!(said(&task), "once|once");
    assert_eq!(world.tasks().await.len(), 2);
}

/// What happens on the way is seen as it happens.
#[tokio::test]
async fn a_call_can_be_watched() {
    let world = World::default();
    let _ledger = world.ledger(true);
    let agent = |turn: Turn| async move {
        let mut call = turn.delegate(LEDGER, "work a b c").stream().await?;
        let mut chunks = 0;
        while let Some(event) = call.next().await? {
            chunks += usize::from(matches!(event, Event::Artifact(_)));
        }
        Ok::<_, Failure>(Outcome::reply(format!("{chunks} {}", call.finish().await?.artifacts().len())))
    };
    let task = send(&Engine::new(card("Triage", true), agent).passing(world.passing()).start(), "go").await;
    assert_eq!(said(&task), "3 1");
}
