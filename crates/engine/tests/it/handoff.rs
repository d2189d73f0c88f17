//! Tasks that are handed over from agent to agent. Several engines in one process stand in for several agents; a register
//! of them stands in for the network, and can be told to fail.

mod processes;
mod sight;

use std::{
    collections::{BTreeMap, VecDeque},
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use chancery_core::{
    Artifact, Caller, CancelTask, Card, DeletePushConfig, Error, ErrorKind, Event, EventStream, GetExtendedCard, GetPushConfig, GetTask,
    LazyTask, ListPushConfigs, ListTasks, Message, Operations, Peer, Peers, PushConfig, PushConfigPage, Result, Secret, SendMessage,
    SendReply, Seq, Subscribe, Task, TaskId, TaskPage, TaskState, Transfer, TransferContext, extension::HANDOFF,
};
use chancery_engine::{
    Builder, Engine, Failure, Outcome, Turn,
    clock::ManualClock,
    delegation::{Handoff, OnAmbiguous, OnMessageReply, Passing, ReachPolicy, Step, Tokens},
    store::{Memory, Store},
};
use serde_json::{Value, json};
use tokio::sync::Semaphore;

/// Agents by their base URL.
#[derive(Clone, Default)]
struct Net(Arc<Wires>);

#[derive(Default)]
struct Wires {
    agents: Mutex<BTreeMap<String, Engine>>,
    /// What goes wrong with the next messages, by agent; `after` means that the message arrives and its answer is lost.
    faults: Mutex<VecDeque<Fault>>,
    /// How many messages were sent.
    sent: AtomicUsize,
    /// Messages wait here, when the test says so.
    hold: Mutex<Option<Arc<Semaphore>>>,
    /// Cards that say nothing of handoffs.
    old: Mutex<Vec<String>>,
    /// Agents that cannot be reached.
    down: Mutex<Vec<String>>,
    /// Agents that answer without a task.
    chatty: Mutex<Vec<String>>,
}

enum Fault {
    Before(ErrorKind),
    After(ErrorKind),
    /// The message arrives, and no answer ever comes.
    Never,
}

impl Net {
    fn add(&self, name: &str, engine: Engine) {
        self.0.agents.lock().unwrap().insert(url(name), engine);
    }

    fn fail(&self, fault: Fault) {
        self.0.faults.lock().unwrap().push_back(fault);
    }

    fn hold(&self) -> Arc<Semaphore> {
        let gate = Arc::new(Semaphore::new(0));
        *self.0.hold.lock().unwrap() = Some(gate.clone());
        gate
    }

    fn sent(&self) -> usize {
        self.0.sent.load(Ordering::SeqCst)
    }

    fn passing(&self, name: &str) -> Passing {
        Passing::new(Arc::new(self.clone())).at(url(name)).tokens(Numbers::default())
    }
}

fn url(name: &str) -> String {
    format!("https://{name}.example")
}

#[async_trait]
impl Peers for Net {
    async fn peer(&self, agent: &str) -> Result<Peer> {
        let down = self.0.down.lock().unwrap().iter().any(|down| down == agent);
        let engine = self.0.agents.lock().unwrap().get(agent).cloned().filter(|_| !down);
        let engine = engine.ok_or_else(|| Error::new(ErrorKind::Unavailable, "nobody listens"))?;
        let mut card = (*engine.card()).clone();
        if self.0.old.lock().unwrap().iter().any(|old| old == agent) {
            card.capabilities.extensions.clear();
        }
        Ok(Peer::new(card, Arc::new(Wire { net: self.clone(), agent: agent.to_owned(), engine })))
    }
}

/// The way to one agent.
struct Wire {
    net: Net,
    agent: String,
    engine: Engine,
}

impl Wire {
    fn demand_up(&self) -> Result<()> {
        let down = self.net.0.down.lock().unwrap().contains(&self.agent);
        if down { Err(Error::new(ErrorKind::Unavailable, "nobody listens")) } else { Ok(()) }
    }
}

#[async_trait]
impl Operations for Wire {
    async fn send_message(&self, caller: &Caller, request: SendMessage) -> Result<SendReply> {
        self.demand_up()?;
        self.net.0.sent.fetch_add(1, Ordering::SeqCst);
        let hold = self.net.0.hold.lock().unwrap().clone();
        if let Some(hold) = hold {
            hold.acquire().await.unwrap().forget();
        }
        if self.net.0.chatty.lock().unwrap().contains(&self.agent) {
            return Ok(SendReply::from(Message::agent("I know: 42.")));
        }
        let fault = self.net.0.faults.lock().unwrap().pop_front();
        match fault {
            Some(Fault::Before(kind)) => Err(kind.into()),
            Some(Fault::After(kind)) => {
                self.engine.send_message(caller, request).await?;
                Err(kind.into())
            }
            Some(Fault::Never) => {
                self.engine.send_message(caller, request).await?;
                std::future::pending().await
            }
            None => self.engine.send_message(caller, request).await,
        }
    }

    async fn stream_message(&self, caller: &Caller, request: SendMessage) -> Result<EventStream> {
        self.demand_up()?;
        self.engine.stream_message(caller, request).await
    }

    async fn get_task(&self, caller: &Caller, request: GetTask) -> Result<LazyTask> {
        self.demand_up()?;
        self.engine.get_task(caller, request).await
    }

    async fn list_tasks(&self, caller: &Caller, request: ListTasks) -> Result<TaskPage<LazyTask>> {
        self.demand_up()?;
        self.engine.list_tasks(caller, request).await
    }

    async fn cancel_task(&self, caller: &Caller, request: CancelTask) -> Result<Task> {
        self.demand_up()?;
        self.engine.cancel_task(caller, request).await
    }

    async fn subscribe(&self, caller: &Caller, request: Subscribe) -> Result<EventStream> {
        self.demand_up()?;
        self.engine.subscribe(caller, request).await
    }

    async fn create_push_config(&self, caller: &Caller, request: PushConfig) -> Result<PushConfig> {
        self.demand_up()?;
        self.engine.create_push_config(caller, request).await
    }

    async fn get_push_config(&self, caller: &Caller, request: GetPushConfig) -> Result<PushConfig> {
        self.demand_up()?;
        self.engine.get_push_config(caller, request).await
    }

    async fn list_push_configs(&self, caller: &Caller, request: ListPushConfigs) -> Result<PushConfigPage> {
        self.demand_up()?;
        self.engine.list_push_configs(caller, request).await
    }

    async fn delete_push_config(&self, caller: &Caller, request: DeletePushConfig) -> Result<()> {
        self.demand_up()?;
        self.engine.delete_push_config(caller, request).await
    }

    async fn get_extended_card(&self, caller: &Caller, request: GetExtendedCard) -> Result<Card> {
        self.demand_up()?;
        self.engine.get_extended_card(caller, request).await
    }
}

/// Grants that a test can foresee.
#[derive(Default)]
struct Numbers(AtomicUsize);

impl Tokens for Numbers {
    fn issue(&self) -> Option<Secret> {
        Some(format!("grant-{}", self.0.fetch_add(1, Ordering::SeqCst)).into())
    }

    fn digest(&self, token: &Secret) -> String {
        format!("digest of {}", token.expose().len()) + &token.expose().chars().rev().collect::<String>()
    }
}

/// Hands over what begins with `to`, and does the rest itself.
async fn agent(turn: Turn) -> Result<Outcome, Failure> {
    let words: Vec<_> = turn.text().split(' ').collect();
    match words.as_slice() {
        ["to", target, rest @ ..] => {
            turn.publish(Artifact::new("mine").id("result")).await?;
            let handoff = Handoff::to(url(target)).reason("not my trade").state("order", "A-17").output("found", 3);
            Ok(Outcome::transfer(handoff.part(rest.join(" "))))
        }
        ["work"] => {
            turn.status("Working on it").await?;
            Ok(Outcome::complete_with(Artifact::new("done").id("result")))
        }
        ["converse"] => {
            let answer = turn.require_input("Which quay?").await?;
            Ok(Outcome::complete_with(Artifact::new(answer.text()).id("answer")))
        }
        ["wait"] => {
            turn.status("Waiting").await?;
            std::future::pending().await
        }
        ["context"] => {
            let context = turn.handoff().ok_or("no context")?;
            Ok(Outcome::complete_with(Artifact::new(serde_json::to_string(&context)?).id("context")))
        }
        ["reject"] => Ok(Outcome::reject("Not on Mondays.")),
        ["auth"] => Ok(Outcome::require_auth("Show your card.")),
        ["auth", ..] | ["auth\nhere"] => Ok(Outcome::complete_with(Artifact::new("let in").id("result"))),
        other => Ok(Outcome::complete_with(Artifact::new(other.join(" ")).id("echo"))),
    }
}

fn card(name: &str) -> Card {
    Card::new(name, "Hands over or does").skill("do", "Does what it is told").streaming(true).push_notifications(true)
}

fn builder(net: &Net, name: &str) -> Builder {
    Engine::new(card(name), agent).passing(net.passing(name))
}

fn start(net: &Net, name: &str) -> Engine {
    let engine = builder(net, name).start();
    net.add(name, engine.clone());
    engine
}

fn aware() -> Caller {
    Caller::anonymous().extension(HANDOFF)
}

fn unaware() -> Caller {
    Caller::anonymous()
}

async fn send(engine: &Engine, caller: &Caller, text: &str) -> Task {
    let sent = engine.send_message(caller, SendMessage::new(text));
    match tokio::time::timeout(Duration::from_secs(60), sent).await.expect("no answer").unwrap() {
        SendReply::Task(task) => *task,
        SendReply::Message(message) => panic!("a message: {}", message.text()),
    }
}

async fn begin(engine: &Engine, caller: &Caller, text: &str) -> Task {
    let mut request = SendMessage::new(text);
    request.configuration.return_immediately = true;
    match engine.send_message(caller, request).await.unwrap() {
        SendReply::Task(task) => *task,
        SendReply::Message(message) => panic!("a message: {}", message.text()),
    }
}

async fn task(engine: &Engine, caller: &Caller, id: &TaskId) -> Task {
    engine.get_task(caller, GetTask::new(id.clone())).await.unwrap().into_task().unwrap()
}

/// Waits until something is true of a task.
async fn until(engine: &Engine, caller: &Caller, id: &TaskId, is: impl Fn(&Task) -> bool) -> Task {
    let wait = async {
        loop {
            let task = task(engine, caller, id).await;
            if is(&task) {
                return task;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), wait).await.expect("it does not come true")
}

/// All tasks of an agent.
async fn tasks(engine: &Engine) -> Vec<Task> {
    engine.list_tasks(&aware(), ListTasks::default()).await.unwrap().decode().unwrap().tasks
}

fn transfer(task: &Task) -> Transfer {
    Transfer::of(&task.metadata).unwrap().unwrap_or_else(|| panic!("not handed over: {task:?}"))
}

/// The code of a handoff that came to nothing.
fn code(task: &Task) -> String {
    let message = task.status.message.as_ref().unwrap_or_else(|| panic!("no words: {task:?}"));
    message.metadata[HANDOFF]["error"]["code"].as_str().unwrap().to_owned()
}

async fn all(mut stream: EventStream) -> Vec<(Seq, Event)> {
    let collect = async {
        let mut events = Vec::new();
        while let Some(event) = std::future::poll_fn(|cx| stream.as_mut().poll_next(cx)).await {
            let (seq, event) = event.unwrap();
            events.push((seq, event.into_event()));
        }
        events
    };
    tokio::time::timeout(Duration::from_secs(60), collect).await.expect("the stream does not end")
}

/// HO-11 to HO-14, HO-29, DIA-002-XFER-003: the other agent has a task with everything that goes along before the task is
/// handed over; aware callers see where it is.
#[tokio::test]
async fn a_task_is_handed_over_with_what_goes_along() {
    let net = Net::default();
    let (a, b) = (start(&net, "a"), start(&net, "b"));
    let handed = send(&a, &aware(), "to b context").await;
    assert_eq!(handed.status.state, TaskState::Completed);
    let transfer = transfer(&handed);
    assert_eq!((transfer.agent_endpoint.as_str(), transfer.reason.as_str(), transfer.hop), ("https://b.example", "not my trade", Some(1)));
    assert_eq!(handed.status.message.as_ref().unwrap().metadata[HANDOFF], handed.metadata[HANDOFF]);
    assert_eq!(handed.status.message.as_ref().unwrap().extensions, [HANDOFF]);
    let theirs = until(&b, &aware(), &transfer.task_id, |task| task.status.state.is_terminal()).await;
    let context: TransferContext = serde_json::from_str(theirs.artifacts[0].parts[0].as_text().unwrap()).unwrap();
    assert_eq!((context.originating_task_id.as_str(), context.originating_agent.as_str()), (handed.id.as_str(), "https://a.example"));
    assert_eq!((&context.state["order"], &context.output_keys["found"]), (&json!("A-17"), &json!(3)));
    assert_eq!((context.handoff_id.as_str(), context.trail.hop, context.trail.max_hops), (transfer.handoff_id.as_str(), 1, Some(8)));
    assert_eq!((context.trail.chain.len(), context.trail.chain[0].agent.as_str()), (1, "https://a.example"));
    assert_eq!(theirs.history[0].message_id.as_str(), transfer.handoff_id);
    assert_ne!(theirs.context_id, handed.context_id);
    assert_eq!(tasks(&b).await.len(), 1);
}

/// HO-1: the card says what the agent does with handoffs.
#[tokio::test]
async fn the_card_declares_handoffs() {
    let net = Net::default();
    let a = start(&net, "a");
    let card = a.card();
    let declared = card.capabilities.extensions.iter().find(|known| known.uri == HANDOFF).unwrap();
    let params = Value::from(declared.params.clone().unwrap());
    assert_eq!(params, json!({"accept": true, "initiate": true, "maxHops": 8, "relay": true}));
    assert!(!declared.required);
}

/// HO-4: a task that was handed over takes nothing any more, and says where it is.
#[tokio::test]
async fn a_task_that_was_handed_over_takes_nothing_more() {
    let net = Net::default();
    let (a, _b) = (start(&net, "a"), start(&net, "b"));
    for creator in [aware(), unaware()] {
        let begun = begin(&a, &creator, "to b wait").await;
        let handed = until(&a, &aware(), &begun.id, |task| task.status.state.is_terminal()).await;
        let to_task = SendMessage::new(Message::user("more").to_task(handed.id.clone()));
        let errors = [
            a.send_message(&aware(), to_task).await.err(),
            a.cancel_task(&aware(), CancelTask::new(handed.id.clone())).await.err(),
            a.subscribe(&aware(), Subscribe::new(handed.id.clone())).await.err(),
        ];
        for error in errors {
            let error = error.expect("it was taken");
            assert_eq!(error.kind(), ErrorKind::UnsupportedOperation, "{error}");
            let said: Transfer = serde_json::from_str(&error.metadata()["transfer"]).unwrap();
            assert_eq!(said, transfer(&handed));
        }
    }
}

/// HO-20 to HO-22, HO-25: who does not know of handoffs sees one uninterrupted task, in the end and in a stream.
#[tokio::test]
async fn an_unaware_caller_sees_one_uninterrupted_task() {
    let net = Net::default();
    let (a, _b) = (start(&net, "a"), start(&net, "b"));
    let done = send(&a, &unaware(), "to b work").await;
    assert_eq!(done.status.state, TaskState::Completed);
    assert!(done.metadata.is_empty(), "{:?}", done.metadata);
    let ids: Vec<_> = done.artifacts.iter().map(|artifact| artifact.artifact_id.as_str().to_owned()).collect();
    assert_eq!(ids[0], "result");
    assert!(ids[1].ends_with("/result") && ids[1].len() > 30, "{ids:?}");
    assert_eq!(done.artifacts[1].parts[0].as_text(), Some("done"));

    let events = all(a.stream_message(&unaware(), SendMessage::new("to b work")).await.unwrap()).await;
    let id = events[0].1.task_id().unwrap().clone();
    assert!(events.iter().all(|(_, event)| event.task_id() == Some(&id)), "{events:?}");
    assert!(events.iter().zip(1..).all(|((seq, _), place)| seq.get() == place), "{events:?}");
    let states: Vec<_> = events.iter().filter_map(|(_, event)| event.state()).collect();
    assert_eq!((states[0], states[states.len() - 1]), (TaskState::Submitted, TaskState::Completed));
    assert!(states[1..states.len() - 1].iter().all(|state| *state == TaskState::Working), "{states:?}");
    let words = |event: &Event| matches!(event, Event::Status(update) if update.status.message.as_ref().is_some_and(|message| message.text() == "Working on it"));
    assert!(events.iter().any(|(_, event)| words(event)), "{events:?}");
}

/// GX-9, HO-20: aware callers of a relayed task see it as it was handed over, and nothing after.
#[tokio::test]
async fn an_aware_caller_sees_the_handoff_of_a_relayed_task() {
    let net = Net::default();
    let (a, b) = (start(&net, "a"), start(&net, "b"));
    let begun = begin(&a, &unaware(), "to b converse").await;
    until(&a, &unaware(), &begun.id, |task| task.status.state == TaskState::InputRequired).await;
    let seen = task(&a, &aware(), &begun.id).await;
    assert_eq!(seen.status.state, TaskState::Completed);
    assert_eq!(seen.artifacts.len(), 1);
    let theirs = task(&b, &aware(), &transfer(&seen).task_id).await;
    assert_eq!(theirs.status.state, TaskState::InputRequired);
    // The stream ends with the handoff.
    let events = all(a.subscribe(&aware().resume_after(Seq::START), Subscribe::new(begun.id.clone())).await.unwrap()).await;
    let (_, Event::Status(last)) = events.last().unwrap() else { panic!("{events:?}") };
    assert_eq!(last.status.state, TaskState::Completed);
    assert_eq!(last.metadata[HANDOFF], seen.metadata[HANDOFF]);
    assert_eq!(last.status, seen.status);

    // A message to the task here is one to the task there.
    let answer = SendMessage::new(Message::user("North").to_task(begun.id.clone()));
    let SendReply::Task(done) = a.send_message(&unaware(), answer).await.unwrap() else { panic!("no task") };
    assert_eq!(done.status.state, TaskState::Completed);
    assert_eq!(done.artifacts[1].parts[0].as_text(), Some("North"));
    // What aware callers see did not change.
    assert_eq!(task(&a, &aware(), &begun.id).await, seen);
    let listed = a.list_tasks(&aware(), ListTasks::default()).await.unwrap().decode().unwrap().tasks;
    assert_eq!(listed[0].status, seen.status);
}

/// DIA-002-XFER-009: with the relay off, an unaware caller hears that the agent declined, and who has the task.
#[tokio::test]
async fn without_a_relay_an_unaware_caller_is_sent_away() {
    let net = Net::default();
    let a = Engine::new(card("a"), agent).passing(net.passing("a").relay(false)).start();
    start(&net, "b");
    let seen = send(&a, &unaware(), "to b work").await;
    assert_eq!(seen.status.state, TaskState::Rejected);
    assert!(seen.status.message.as_ref().unwrap().text().contains("https://b.example"));
    assert!(seen.metadata.is_empty() && seen.status.message.as_ref().unwrap().metadata.is_empty());
    let events = all(a.subscribe(&unaware().resume_after(Seq::START), Subscribe::new(seen.id.clone())).await.unwrap()).await;
    assert_eq!(events.last().unwrap().1.state(), Some(TaskState::Rejected));
    assert_eq!(transfer(&task(&a, &aware(), &seen.id).await).agent_endpoint, "https://b.example");
}

/// HO-24: a task that is handed over twice is still one task for who does not know of it.
#[tokio::test]
async fn a_relay_follows_a_second_handoff() {
    let net = Net::default();
    let (a, _b, c) = (start(&net, "a"), start(&net, "b"), start(&net, "c"));
    let done = send(&a, &unaware(), "to b to c work").await;
    assert_eq!(done.status.state, TaskState::Completed);
    assert_eq!(done.artifacts.len(), 3, "{:?}", done.artifacts);
    assert_eq!(done.artifacts[2].parts[0].as_text(), Some("done"));
    let ids: std::collections::BTreeSet<_> = done.artifacts.iter().map(|artifact| artifact.artifact_id.clone()).collect();
    assert_eq!(ids.len(), 3);
    assert_eq!(tasks(&c).await.len(), 1);
}

/// HO-23: while the other agent is away, what was seen last is still there and is marked; the relay goes on by itself.
#[tokio::test(start_paused = true)]
async fn a_relay_outlives_an_agent_that_is_away() {
    let net = Net::default();
    let store: Arc<dyn Store> = Arc::new(Memory::new());
    let (a, b) = (start(&net, "a"), builder(&net, "b").shared_store(store.clone()).start());
    net.add("b", b.clone());
    let begun = begin(&a, &unaware(), "to b wait").await;
    until(&a, &unaware(), &begun.id, |task| task.status.message.as_ref().is_some_and(|message| message.text() == "Waiting")).await;
    net.0.down.lock().unwrap().push(url("b"));
    b.shutdown(Duration::ZERO).await;
    let is_stale = |task: &Task| {
        let message = task.status.message.as_ref();
        message.is_some_and(|message| message.metadata.get(HANDOFF).is_some_and(|handoff| handoff["stale"] == true))
    };
    let seen = until(&a, &unaware(), &begun.id, is_stale).await;
    assert_eq!((seen.status.state, seen.status.message.unwrap().text().as_str()), (TaskState::Working, "Waiting"));
    // Another process of that agent comes, and fails what was under way.
    net.add("b", builder(&net, "b").shared_store(store).start());
    net.0.down.lock().unwrap().clear();
    let failed = until(&a, &unaware(), &begun.id, |task| task.status.state.is_terminal()).await;
    assert!(!is_stale(&failed) && failed.status.message.unwrap().text().contains("restarted"));
}

/// HO-16: connection errors are tried again, and the other agent has one task nevertheless.
#[tokio::test(start_paused = true)]
async fn a_lost_answer_is_asked_for_again() {
    let net = Net::default();
    let (a, b) = (start(&net, "a"), start(&net, "b"));
    net.fail(Fault::Before(ErrorKind::Unavailable));
    net.fail(Fault::After(ErrorKind::Unavailable));
    net.fail(Fault::Before(ErrorKind::RateLimited));
    let handed = send(&a, &aware(), "to b work").await;
    assert_eq!((net.sent(), tasks(&b).await.len()), (4, 1));
    assert_eq!(transfer(&handed).task_id, tasks(&b).await[0].id);
}

/// HO-16, HO-40: five attempts, then the task fails with a code; what is final is not tried again.
#[tokio::test(start_paused = true)]
async fn a_handoff_that_comes_to_nothing_says_why() {
    let net = Net::default();
    let (a, _b) = (start(&net, "a"), start(&net, "b"));
    for _ in 0..5 {
        net.fail(Fault::Before(ErrorKind::Unavailable));
    }
    let failed = send(&a, &aware(), "to b work").await;
    assert_eq!((failed.status.state, code(&failed).as_str(), net.sent()), (TaskState::Failed, "target_unreachable", 5));
    let error = &failed.status.message.as_ref().unwrap().metadata[HANDOFF]["error"];
    assert_eq!((&error["retryable"], &error["target"]), (&json!(true), &json!("https://b.example")));

    net.fail(Fault::Before(ErrorKind::InvalidParams));
    let failed = send(&a, &aware(), "to b work").await;
    assert_eq!((failed.status.state, code(&failed).as_str(), net.sent()), (TaskState::Failed, "target_rejected", 6));

    let failed = send(&a, &aware(), "to nobody work").await;
    assert_eq!((code(&failed).as_str(), net.sent()), ("target_unreachable", 6));
    let failed = send(&a, &aware(), "to b reject").await;
    assert_eq!(code(&failed), "target_rejected");
    assert_eq!(failed.status.message.as_ref().unwrap().metadata[HANDOFF]["error"]["said"], "Not on Mondays.");
}

/// HO-19, HO-40: the agent hears of the refusal and may go another way, or let its client decide.
#[tokio::test]
async fn a_refused_handoff_can_go_another_way() {
    let net = Net::default();
    let other = |turn: Turn| async move {
        let to_c = Handoff::to(url("c")).part("work");
        let to_b = Handoff::to(url("b")).part("reject");
        Ok(match turn.text() {
            "other" => Outcome::transfer(to_b.otherwise(move |refusal| {
                assert_eq!(refusal.said.as_ref().unwrap().text(), "Not on Mondays.");
                Outcome::transfer(to_c.clone())
            })),
            "self" => Outcome::transfer(to_b.otherwise(|_| Outcome::reply("then I do it"))),
            _ => Outcome::transfer(to_b.escalate()),
        })
    };
    let a = Engine::new(card("a"), other).passing(net.passing("a")).start();
    let (_b, c) = (start(&net, "b"), start(&net, "c"));
    let handed = send(&a, &aware(), "other").await;
    assert_eq!(transfer(&handed).agent_endpoint, "https://c.example");
    assert_eq!(tasks(&c).await.len(), 1);
    let done = send(&a, &aware(), "self").await;
    assert_eq!((done.status.state, done.status.message.unwrap().text().as_str()), (TaskState::Completed, "then I do it"));
    let waits = send(&a, &aware(), "escalate").await;
    assert_eq!((waits.status.state, code(&waits).as_str()), (TaskState::InputRequired, "target_rejected"));
}

/// HO-19: an agent that demands an authorization is asked again when the client has answered.
#[tokio::test]
async fn an_authorization_is_asked_of_the_client() {
    let net = Net::default();
    let (a, b) = (start(&net, "a"), start(&net, "b"));
    let waits = send(&a, &aware(), "to b auth").await;
    assert_eq!((waits.status.state, waits.status.message.as_ref().unwrap().text().as_str()), (TaskState::AuthRequired, "Show your card."));
    let SendReply::Task(handed) =
        a.send_message(&aware(), SendMessage::new(Message::user("here").to_task(waits.id.clone()))).await.unwrap()
    else {
        panic!("no task")
    };
    let theirs = transfer(&handed).task_id;
    until(&b, &aware(), &theirs, |task| task.status.state == TaskState::Completed).await;
    let states: Vec<_> = tasks(&b).await.iter().map(|task| task.status.state).collect();
    assert!(states.contains(&TaskState::Canceled) && states.len() == 2, "{states:?}");
}

/// HO-18: an agent that answers without a task.
#[tokio::test]
async fn an_answer_without_a_task_completes_the_task_or_fails_it() {
    let net = Net::default();
    net.0.chatty.lock().unwrap().push(url("b"));
    start(&net, "b");
    let passing = net.passing("a");
    let a = Engine::new(card("a"), agent).passing(passing.clone()).start();
    let done = send(&a, &aware(), "to b work").await;
    assert_eq!((done.status.state, done.status.message.unwrap().text().as_str()), (TaskState::Completed, "I know: 42."));
    assert!(done.metadata.is_empty());
    let a = Engine::new(card("a"), agent).passing(passing.on_message_reply(OnMessageReply::Fail)).start();
    assert_eq!(code(&send(&a, &aware(), "to b work").await), "target_no_task");
}

/// HO-10, HO-40: whoever decides how far work may reach is asked before anything is sent.
#[tokio::test]
async fn a_violation_stops_a_handoff_before_anything_is_sent() {
    struct Closed;
    impl ReachPolicy for Closed {
        fn check(&self, step: &Step<'_>) -> Result<Option<chancery_core::Object>, chancery_core::Object> {
            assert_eq!((step.from, step.to, step.trail.hop), ("https://a.example", "https://b.example", 1));
            Err(json!({"missing": [{"skill": "do", "why": "skill_out_of_scope"}]}).as_object().unwrap().clone().into())
        }
    }
    let net = Net::default();
    let a = Engine::new(card("a"), agent).passing(net.passing("a").policy(Closed)).start();
    start(&net, "b");
    let failed = send(&a, &aware(), "to b work").await;
    assert_eq!((code(&failed).as_str(), net.sent()), ("scope_violation", 0));
    let error = &failed.status.message.as_ref().unwrap().metadata[HANDOFF]["error"];
    assert_eq!(error["violation"]["missing"][0]["why"], "skill_out_of_scope");
}

/// HO-31, HO-32, HO-33, HO-T3: a loop is refused by whoever would close it, and by whoever is asked to take part.
#[tokio::test]
async fn a_loop_is_refused_on_both_sides() {
    let net = Net::default();
    let (a, b) = (start(&net, "a"), start(&net, "b"));
    // B refuses to send it back.
    let done = send(&a, &unaware(), "to b to a work").await;
    assert_eq!(done.status.state, TaskState::Failed);
    assert_eq!((tasks(&a).await.len(), tasks(&b).await.len()), (1, 1));
    assert_eq!(code(&tasks(&b).await[0]), "loop_detected");
    // The agent itself is part of the chain.
    assert_eq!(code(&send(&a, &aware(), "to a work").await), "loop_detected");

    // A refuses what names it under another name, whoever sends it.
    let forged = json!({"transferContext": {
        "originatingTaskId": "t", "originatingAgent": "https://x.example", "handoffId": "h-1", "hop": 2,
        "chain": [
            {"agent": "HTTPS://A.example:443/", "taskId": "t-0", "kind": "handoff"},
            {"agent": "https://x.example", "taskId": "t", "kind": "handoff"},
        ],
    }});
    let message = Message::user("work").metadata(HANDOFF, forged).extension(HANDOFF);
    let SendReply::Task(refused) = a.send_message(&aware(), SendMessage::new(message)).await.unwrap() else { panic!("no task") };
    assert_eq!((refused.status.state, code(&refused).as_str()), (TaskState::Rejected, "loop_detected"));
    assert!(refused.artifacts.is_empty());
}

/// HO-30, HO-31, HO-T4: nine agents in a row stop at eight.
#[tokio::test]
async fn a_row_of_agents_ends_at_the_hop_limit() {
    let net = Net::default();
    let engines: Vec<_> = (1..=9).map(|n| start(&net, &format!("n{n}"))).collect();
    let all: Vec<_> = (2..=9).map(|n| format!("to n{n}")).collect();
    let done = send(&engines[0], &unaware(), &format!("{} work", all.join(" "))).await;
    assert_eq!(done.status.state, TaskState::Failed);
    assert_eq!(code(&tasks(&engines[7]).await[0]), "hop_limit");
    let mut counts = Vec::new();
    for engine in &engines {
        counts.push(tasks(engine).await.len());
    }
    assert_eq!(counts, [1, 1, 1, 1, 1, 1, 1, 1, 0]);
}

/// HO-28: the same handoff makes one task; another body under its name is refused.
#[tokio::test]
async fn the_same_handoff_makes_one_task() {
    let net = Net::default();
    let b = start(&net, "b");
    let message = |text: &str, state: Value| {
        let context = json!({"originatingTaskId": "t", "originatingAgent": "https://a.example", "handoffId": "h-1", "hop": 1, "state": state,
            "chain": [{"agent": "https://a.example", "taskId": "t", "kind": "handoff"}]});
        SendMessage::new(Message::user(text).id("h-1").metadata(HANDOFF, json!({"transferContext": context})).extension(HANDOFF))
    };
    let mut made = Vec::new();
    for state in [json!({"x": 1, "y": 2}), json!({"y": 2, "x": 1})] {
        for key in ["one", "two"] {
            // The key of the request is another one every time.
            let SendReply::Task(task) = b.send_message(&aware().idempotency_key(key), message("work", state.clone())).await.unwrap() else {
                panic!("no task")
            };
            made.push(task.id);
        }
    }
    made.dedup();
    assert_eq!((made.len(), tasks(&b).await.len()), (1, 1));
    let error = b.send_message(&aware(), message("other work", json!({}))).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidParams);
    let somebody = Caller::new("somebody").extension(HANDOFF);
    assert!(matches!(b.send_message(&somebody, message("other work", json!({}))).await, Ok(SendReply::Task(_))));
}

/// GX-10: what another agent says of a handoff is within limits, or refused.
#[tokio::test]
async fn a_context_that_is_too_large_or_broken_is_refused() {
    let net = Net::default();
    let b = start(&net, "b");
    let many: chancery_core::Object = (0..257).map(|n| (n.to_string(), json!(n))).collect();
    let chain: Vec<_> = (0..33).map(|n| json!({"agent": format!("https://{n}.example"), "taskId": "t", "kind": "handoff"})).collect();
    let mut deep = json!(1);
    for _ in 0..40 {
        deep = json!([deep]);
    }
    let base = json!({"originatingTaskId": "t", "originatingAgent": "https://a.example"});
    for (member, value) in [
        ("state", json!({"x": "y".repeat(65 * 1024)})),
        ("state", Value::from(many)),
        ("state", json!({"x": deep})),
        ("state", json!("text")),
        ("chain", Value::Array(chain)),
        ("chain", json!([{"agent": "https://x.example", "kind": "gift"}])),
        ("hop", json!(-1)),
        ("originatingAgent", json!("")),
    ] {
        let mut context = base.clone();
        context[member] = value;
        let message = Message::user("work").metadata(HANDOFF, json!({"transferContext": context}));
        let error = b.send_message(&aware(), SendMessage::new(message)).await.expect_err(member);
        assert_eq!(error.kind(), ErrorKind::InvalidParams, "{member}: {error}");
    }
    assert!(tasks(&b).await.is_empty());
}

/// HO-54: a grant opens exactly one task, for reading, watching, messages and canceling.
#[tokio::test]
async fn a_grant_opens_one_task_and_no_other() {
    let net = Net::default();
    let (a, b) = (start(&net, "a"), start(&net, "b"));
    let handed = send(&a, &aware(), "to b wait").await;
    let Transfer { task_id, grant, .. } = transfer(&handed);
    let grant = grant.expect("no grant");
    assert_eq!(grant.kind, "bearer");
    assert!(grant.expires_at.is_some());
    let other = begin(&b, &aware(), "wait").await;

    let stranger = Caller::new("stranger");
    let holder = stranger.clone().grant(grant.token.clone());
    let get = async |caller: &Caller, id: &TaskId| b.get_task(caller, GetTask::new(id.clone())).await;
    assert_eq!(get(&stranger, &task_id).await.unwrap_err().kind(), ErrorKind::TaskNotFound);
    assert_eq!(get(&holder, &task_id).await.unwrap().task().unwrap().id, task_id);
    assert_eq!(get(&holder, &other.id).await.unwrap_err().kind(), ErrorKind::TaskNotFound);
    let wrong = stranger.clone().grant("grant-99");
    assert_eq!(get(&wrong, &task_id).await.unwrap_err().kind(), ErrorKind::TaskNotFound);
    assert!(b.list_tasks(&holder, ListTasks::default()).await.unwrap().decode().unwrap().tasks.is_empty());
    assert!(b.subscribe(&holder, Subscribe::new(task_id.clone())).await.is_ok());
    let mut more = SendMessage::new(Message::user("more").to_task(task_id.clone()));
    more.configuration.return_immediately = true;
    assert!(b.send_message(&holder, more).await.is_ok());
    assert_eq!(b.cancel_task(&holder, CancelTask::new(other.id.clone())).await.unwrap_err().kind(), ErrorKind::TaskNotFound);
    assert_eq!(b.cancel_task(&holder, CancelTask::new(task_id.clone())).await.unwrap().status.state, TaskState::Canceled);
    // Nobody sees it but whoever handed the task over.
    let stored = serde_json::to_string(&task(&b, &aware(), &task_id).await).unwrap();
    assert!(!stored.contains(grant.token.expose()), "{stored}");
}

/// HO-17, HO-T7: canceled before the message is sent, while it is under way, and after the handoff.
#[tokio::test]
async fn a_handoff_is_canceled_at_every_point() {
    // While the message is under way: the other agent's task is canceled as well.
    let net = Net::default();
    let (a, b) = (start(&net, "a"), start(&net, "b"));
    let hold = net.hold();
    let begun = begin(&a, &aware(), "to b wait").await;
    while net.sent() == 0 {
        tokio::task::yield_now().await;
    }
    assert!(task(&a, &aware(), &begun.id).await.status.message.unwrap().text().contains("Handing over"));
    let (engine, id) = (a.clone(), begun.id.clone());
    let canceling = tokio::spawn(async move { engine.cancel_task(&aware(), CancelTask::new(id)).await });
    tokio::task::yield_now().await;
    assert!(!canceling.is_finished());
    hold.add_permits(100);
    assert_eq!(canceling.await.unwrap().unwrap().status.state, TaskState::Canceled);
    assert_eq!(tasks(&b).await.iter().map(|task| task.status.state).collect::<Vec<_>>(), [TaskState::Canceled]);
    assert_eq!(task(&a, &aware(), &begun.id).await.status.state, TaskState::Canceled);

    // After the handoff, by who does not know of it: it is canceled there.
    let begun = begin(&a, &unaware(), "to b wait").await;
    until(&a, &aware(), &begun.id, |task| task.status.state == TaskState::Completed).await;
    let canceled = a.cancel_task(&unaware(), CancelTask::new(begun.id.clone())).await.unwrap();
    assert_eq!(canceled.status.state, TaskState::Canceled);
    assert!(tasks(&b).await.iter().all(|task| task.status.state == TaskState::Canceled));
    // Aware callers still see that it was handed over.
    assert_eq!(task(&a, &aware(), &begun.id).await.status.state, TaskState::Completed);
}

/// HO-17, HO-T7: canceled between two attempts, before the other agent has anything.
#[tokio::test(start_paused = true)]
async fn a_handoff_is_canceled_between_attempts() {
    let net = Net::default();
    let (a, b) = (start(&net, "a"), start(&net, "b"));
    for _ in 0..4 {
        net.fail(Fault::Before(ErrorKind::Unavailable));
    }
    let begun = begin(&a, &aware(), "to b work").await;
    until(&a, &aware(), &begun.id, |task| task.status.message.is_some()).await;
    let canceled = a.cancel_task(&aware(), CancelTask::new(begun.id.clone())).await.unwrap();
    assert_eq!(canceled.status.state, TaskState::Canceled);
    assert!(net.sent() < 5 && tasks(&b).await.is_empty());
}

/// HO-2: an agent that knows nothing of handoffs finds what goes along among the parts.
#[tokio::test]
async fn an_agent_that_knows_no_handoffs_is_told_in_a_part() {
    let net = Net::default();
    let (a, _) = (start(&net, "a"), ());
    let b = Engine::new(card("b"), agent).start();
    net.add("b", b.clone());
    let handed = send(&a, &aware(), "to b work").await;
    let theirs = task(&b, &aware(), &transfer(&handed).task_id).await;
    let chancery_core::Content::Data(data) = &theirs.history[0].parts[1].content else { panic!("{:?}", theirs.history) };
    assert_eq!((&data["handoff"]["from"], &data["handoff"]["state"]["order"]), (&json!("https://a.example"), &json!("A-17")));
    assert!(TransferContext::of(&theirs.history[0]).unwrap().is_some());
}
