//! Webhooks hear of every event: at least once, in order, however often their receivers fail (G7).

use std::{
    collections::{BTreeMap, HashSet},
    sync::{Arc, Mutex},
    time::Duration,
};

use async_trait::async_trait;
use chancery_core::{
    Caller, DeletePushConfig, ErrorKind, Event, GetTask, ListPushConfigs, Message, Operations, PushConfig, SendMessage, SendReply, Seq,
    Subscribe, Task, TaskId, TaskState, Timestamp,
};
use chancery_engine::{
    Engine, Failure, Outcome, Turn,
    clock::{Clock, ManualClock},
    push::{Notification, Schedule, Sender, Sent},
    store::{Memory, Store},
};
use tokio::sync::{Barrier, Notify};

use crate::operations::{card, obedient, whole_log};

type Script = dyn Fn(&Notification) -> Sent + Send + Sync;

/// A receiver that notes what comes and answers by its script.
#[derive(Clone)]
struct Receiver {
    clock: ManualClock,
    seen: Arc<Mutex<Vec<(Timestamp, Notification)>>>,
    script: Arc<Script>,
}

#[async_trait]
impl Sender for Receiver {
    async fn send(&self, notification: &Notification) -> Sent {
        self.seen.lock().unwrap().push((self.clock.now(), notification.clone()));
        (self.script)(notification)
    }
}

impl Receiver {
    fn new(clock: &ManualClock, script: impl Fn(&Notification) -> Sent + Send + Sync + 'static) -> Self {
        Self { clock: clock.clone(), seen: Arc::default(), script: Arc::new(script) }
    }

    fn seen(&self) -> Vec<Notification> {
        self.seen.lock().unwrap().iter().map(|(_, notification)| notification.clone()).collect()
    }

    fn places(&self) -> Vec<u64> {
        self.seen().iter().map(place).collect()
    }
}

/// The place of the event, which the id of its notification tells.
fn place(notification: &Notification) -> u64 {
    let mut fields = notification.id.rsplitn(3, '.');
    fields.nth(1).unwrap().parse().unwrap()
}

fn failed() -> Sent {
    Sent::Failed { error: "out of order".into(), after: None }
}

fn clock() -> ManualClock {
    ManualClock::new(1_772_442_907_000)
}

fn anyone() -> Caller {
    Caller::anonymous()
}

/// An engine with a receiver, and nothing that happens by itself.
fn engine(clock: &ManualClock, store: Arc<dyn Store>, sender: impl Sender) -> Engine {
    Engine::new(card(), obedient).shared_store(store).clock(clock.clone()).sender(sender).by_hand().start()
}

fn hooked(text: &str) -> SendMessage {
    let mut request = SendMessage::new(text);
    let mut config = PushConfig::new("https://hook.example");
    config.id = "hook".into();
    request.configuration.push_config = Some(Box::new(config));
    request
}

async fn send(engine: &Engine, request: SendMessage) -> Task {
    match engine.send_message(&anyone(), request).await.unwrap() {
        SendReply::Task(task) => *task,
        SendReply::Message(message) => panic!("a message: {}", message.text()),
    }
}

/// Sends until nothing is due at this moment.
async fn settle(engine: &Engine) {
    while engine.deliver_due().await.unwrap() > 0 {}
}

/// Guarantee G7: each event of the task, from the first.
#[tokio::test]
async fn every_event_is_sent_in_order_with_the_task_as_it_stood_then() {
    let clock = clock();
    let receiver = Receiver::new(&clock, |_| Sent::Accepted);
    let engine = engine(&clock, Arc::new(Memory::new()), receiver.clone());
    let task = send(&engine, hooked("chunks 4")).await;
    settle(&engine).await;
    let seen = receiver.seen();
    let events = whole_log(&engine, &task.id).await;
    assert_eq!(receiver.places(), events.iter().map(|(seq, _)| seq.get()).collect::<Vec<_>>());
    assert_eq!(
        seen.iter().map(|seen| seen.event.clone()).collect::<Vec<_>>(),
        events.into_iter().map(|(_, event)| event).collect::<Vec<_>>()
    );
    assert!(matches!(&seen[0].event, Event::Task(first) if first.status.state == TaskState::Submitted));
    let mut parts = 0;
    for notification in &seen {
        parts += usize::from(matches!(&notification.event, Event::Artifact(update) if update.artifact.parts[0].as_text() != Some("")));
        assert_eq!(notification.task.artifacts.first().map_or(0, |artifact| artifact.parts.len()), parts);
        assert_eq!((notification.attempt, notification.config.task_id.clone()), (1, task.id.clone()));
        if let Some(state) = notification.event.state() {
            assert_eq!(notification.task.status.state, state);
        }
    }
    assert_eq!((parts, &seen.last().unwrap().task), (4, &task));
    let ids: HashSet<_> = seen.iter().map(|notification| notification.id.clone()).collect();
    assert_eq!(ids.len(), seen.len(), "one id per event");
}

/// Guarantee G7: the schedule, the order, and the id that stays.
#[tokio::test]
async fn a_failing_receiver_is_tried_ten_times_over_three_days_while_later_events_wait() {
    let clock = clock();
    let receiver = Receiver::new(&clock, |_| failed());
    let engine = engine(&clock, Arc::new(Memory::new()), receiver.clone());
    let task = send(&engine, hooked("work hard")).await;
    assert_eq!(engine.deliver_due().await.unwrap(), 1);
    for seconds in [5_u64, 300, 1_800, 7_200, 18_000, 36_000, 50_400, 72_000, 86_400] {
        let shortest = Duration::from_millis(seconds * 800);
        clock.advance(shortest - Duration::from_millis(1));
        assert_eq!(engine.deliver_due().await.unwrap(), 0, "too early after a pause of {seconds} s");
        clock.advance(Duration::from_millis(seconds * 400 + 1));
        assert_eq!(engine.deliver_due().await.unwrap(), 1, "too late after a pause of {seconds} s");
    }
    let seen = receiver.seen();
    assert_eq!(seen.iter().map(|seen| seen.attempt).collect::<Vec<_>>(), (1..=10).collect::<Vec<_>>());
    assert!(seen.iter().all(|seen| place(seen) == 1 && seen.id == receiver.seen()[0].id));
    let dead = engine.dead_letters(&anyone(), 10).await.unwrap();
    assert_eq!(dead.iter().map(|dead| (dead.delivery.seq.get(), dead.attempts)).collect::<Vec<_>>(), [(1, 10)]);
    assert_eq!((&dead[0].task, engine.dead_letters(&Caller::new("eve"), 10).await.unwrap().len()), (&task.id, 0));
    // What is dead does not stand in the way.
    assert_eq!(engine.deliver_due().await.unwrap(), 1);
    assert_eq!(receiver.places().last(), Some(&2));
}

/// Pauses differ, so that a receiver that comes back is not met by everybody at once.
#[tokio::test]
async fn pauses_of_different_deliveries_are_spread() {
    let clock = clock();
    let receiver = Receiver::new(&clock, |_| failed());
    let engine = engine(&clock, Arc::new(Memory::new()), receiver.clone());
    for _ in 0..50 {
        send(&engine, hooked("work hard")).await;
    }
    settle(&engine).await;
    let mut waves = 0;
    for _ in 0..25 {
        clock.advance(Duration::from_millis(100));
        waves += usize::from(engine.deliver_due().await.unwrap() > 0);
    }
    assert_eq!(waves, 0, "before 4 s");
    clock.advance(Duration::from_millis(1_499));
    for _ in 0..22 {
        waves += usize::from(engine.deliver_due().await.unwrap() > 0);
        clock.advance(Duration::from_millis(100));
    }
    assert!(waves > 10, "{waves}");
    assert_eq!(receiver.seen().len(), 100);
}

#[tokio::test]
async fn a_receiver_that_asks_for_time_gets_it_but_not_for_ever() {
    let clock = clock();
    let script = |notification: &Notification| match notification.attempt {
        _ if place(notification) > 1 => Sent::Accepted,
        1 => Sent::Failed { error: "busy".into(), after: Some(Duration::from_secs(60)) },
        2 => Sent::Failed { error: "busy".into(), after: Some(Duration::from_secs(1)) },
        3 => Sent::Failed { error: "busy".into(), after: Some(Duration::MAX) },
        _ => Sent::Accepted,
    };
    let receiver = Receiver::new(&clock, script);
    let engine = engine(&clock, Arc::new(Memory::new()), receiver.clone());
    send(&engine, hooked("work hard")).await;
    // Longer than the schedule, shorter than the schedule, beyond all measure.
    for (early, late) in [(59_999, 1), (239_000, 121_000), (86_399_999, 1)] {
        assert_eq!(engine.deliver_due().await.unwrap(), 1);
        clock.advance(Duration::from_millis(early));
        assert_eq!(engine.deliver_due().await.unwrap(), 0);
        clock.advance(Duration::from_millis(late));
    }
    settle(&engine).await;
    assert_eq!(receiver.places(), [1, 1, 1, 1, 2, 3, 4]);
}

/// Guarantee G7: "gone" is the end of the webhook, not of the others.
#[tokio::test]
async fn a_webhook_that_is_gone_is_forgotten_with_all_it_is_owed() {
    let clock = clock();
    let receiver = Receiver::new(&clock, |notification| if notification.config.id == "hook" { Sent::Gone } else { Sent::Accepted });
    let engine = engine(&clock, Arc::new(Memory::new()), receiver.clone());
    let task = send(&engine, hooked("ask Which quay?")).await;
    let mut other = PushConfig::new("https://other.example").for_task(task.id.clone());
    other.id = "other".into();
    engine.create_push_config(&anyone(), other).await.unwrap();
    settle(&engine).await;
    assert_eq!(receiver.seen().len(), 1);
    let configs = engine.list_push_configs(&anyone(), ListPushConfigs::new(task.id.clone())).await.unwrap().configs;
    assert_eq!(configs.iter().map(|config| config.id.as_str()).collect::<Vec<_>>(), ["other"]);
    send(&engine, SendMessage::new(Message::user("reply North").to_task(task.id.clone()))).await;
    settle(&engine).await;
    assert!(receiver.seen()[1..].iter().all(|seen| seen.config.id == "other"));
    assert!(receiver.seen().len() > 1);
    assert!(engine.dead_letters(&anyone(), 10).await.unwrap().is_empty());
}

#[tokio::test]
async fn dead_letters_are_sent_again_on_demand_and_in_order() {
    let clock = clock();
    let open = Arc::new(Mutex::new(false));
    let door = open.clone();
    let receiver = Receiver::new(&clock, move |_| if *door.lock().unwrap() { Sent::Accepted } else { failed() });
    let engine = Engine::new(card(), obedient).clock(clock.clone()).sender(receiver.clone()).schedule(Schedule::new([])).by_hand().start();
    let task = send(&engine, hooked("work hard")).await;
    settle(&engine).await;
    assert_eq!(engine.dead_letters(&anyone(), 10).await.unwrap().len(), 4);
    assert_eq!(engine.dead_letters(&anyone(), 3).await.unwrap().len(), 3);
    *open.lock().unwrap() = true;
    let stranger = engine.redeliver(&Caller::new("eve"), &task.id).await;
    assert_eq!(stranger.unwrap_err().kind(), ErrorKind::TaskNotFound);
    assert_eq!(engine.redeliver(&anyone(), &task.id).await.unwrap(), 4);
    assert_eq!(engine.redeliver(&anyone(), &task.id).await.unwrap(), 0);
    settle(&engine).await;
    assert_eq!(receiver.places(), [1, 2, 3, 4, 1, 2, 3, 4]);
    let (first, again) = (receiver.seen()[0].clone(), receiver.seen()[4].clone());
    assert_eq!((first.id, first.task), (again.id, again.task));
    assert!(engine.dead_letters(&anyone(), 10).await.unwrap().is_empty());
}

/// V10-PUSH-008.
#[tokio::test]
async fn a_deleted_config_hears_nothing_more() {
    let clock = clock();
    let receiver = Receiver::new(&clock, |_| failed());
    let engine = engine(&clock, Arc::new(Memory::new()), receiver.clone());
    let task = send(&engine, hooked("ask Which quay?")).await;
    settle(&engine).await;
    assert_eq!(receiver.places(), [1]);
    engine.delete_push_config(&anyone(), DeletePushConfig::new(task.id.clone(), "hook")).await.unwrap();
    send(&engine, SendMessage::new(Message::user("work North").to_task(task.id.clone()))).await;
    for _ in 0..10 {
        clock.advance(Duration::from_secs(24 * 3_600));
        settle(&engine).await;
    }
    assert_eq!(receiver.places(), [1]);
}

#[tokio::test]
async fn a_config_made_while_the_task_runs_hears_of_everything_after() {
    let clock = clock();
    let receiver = Receiver::new(&clock, |_| Sent::Accepted);
    let engine = engine(&clock, Arc::new(Memory::new()), receiver.clone());
    for round in 0..50 {
        let mut request = SendMessage::new("listen");
        request.configuration.return_immediately = true;
        let task = send(&engine, request).await;
        // The agent says that it listens; that is the second event.
        let mut stream = engine.subscribe(&anyone().resume_after(Seq::new(1)), Subscribe::new(task.id.clone())).await.unwrap();
        let second = std::future::poll_fn(|cx| stream.as_mut().poll_next(cx)).await.unwrap().unwrap().0;
        engine.create_push_config(&anyone(), PushConfig::new("https://hook.example").for_task(task.id.clone())).await.unwrap();
        let done = send(&engine, SendMessage::new(Message::user("North").to_task(task.id.clone()))).await;
        assert_eq!(done.status.state, TaskState::Completed);
        settle(&engine).await;
        let events = whole_log(&engine, &task.id).await;
        let expected: Vec<_> = events.iter().map(|(seq, _)| seq.get()).filter(|seq| *seq > second.get()).collect();
        let heard: Vec<_> = receiver.seen().iter().filter(|seen| seen.task.id == task.id).map(place).collect();
        assert_eq!(heard, expected, "round {round}");
    }
}

/// V10-PUSH-001: when the config is there, so are its notifications, whatever the agent does next.
#[tokio::test]
async fn what_an_agent_does_right_after_a_config_was_made_is_notified() {
    let clock = clock();
    let receiver = Receiver::new(&clock, |_| Sent::Accepted);
    let go = Arc::new(Notify::new());
    let gate = go.clone();
    let agent = move |turn: Turn| {
        let gate = gate.clone();
        async move {
            gate.notified().await;
            turn.status("Going on").await?;
            Ok::<_, Failure>(Outcome::Completed)
        }
    };
    let engine = Engine::new(card(), agent).clock(clock).sender(receiver.clone()).by_hand().start();
    let mut request = SendMessage::new("go");
    request.configuration.return_immediately = true;
    let task = send(&engine, request).await;
    engine.create_push_config(&anyone(), PushConfig::new("https://hook.example").for_task(task.id.clone())).await.unwrap();
    go.notify_one();
    let events = whole_log(&engine, &task.id).await;
    assert_eq!(events.len(), 3);
    settle(&engine).await;
    assert_eq!(receiver.places(), [2, 3]);
}

/// Guarantee G7: what is owed is in the store with the event, and the next process sends it.
#[cfg(feature = "sqlite")]
#[tokio::test]
async fn what_is_owed_survives_a_restart() {
    let folder = crate::folder::Folder::new();
    let clock = clock();
    let broken = Receiver::new(&clock, |_| failed());
    let file = folder.file("tasks.db");
    let first = engine(&clock, Arc::new(chancery_engine::store::Sqlite::open(&file).await.unwrap()), broken.clone());
    let task = send(&first, hooked("work hard")).await;
    assert_eq!(first.deliver_due().await.unwrap(), 1);
    first.shutdown(Duration::from_secs(1)).await;
    drop(first);
    clock.advance(Duration::from_secs(6));
    let whole = Receiver::new(&clock, |_| Sent::Accepted);
    let second = engine(&clock, Arc::new(chancery_engine::store::Sqlite::open(&file).await.unwrap()), whole.clone());
    settle(&second).await;
    assert_eq!(whole.places(), [1, 2, 3, 4]);
    let (tried, sent) = (broken.seen(), whole.seen());
    assert_eq!((&tried[0].id, tried[0].attempt, sent[0].attempt), (&sent[0].id, 1, 2));
    assert_eq!((&tried[0].task, &tried[0].event, &sent[3].task), (&sent[0].task, &sent[0].event, &task));
}

/// A receiver that fails 30 of 100 times, and takes it but never answers 10 of 100 times.
struct Unreliable {
    chance: Mutex<u64>,
    arrived: Arc<Mutex<Vec<Notification>>>,
}

#[async_trait]
impl Sender for Unreliable {
    async fn send(&self, notification: &Notification) -> Sent {
        let drawn = {
            let mut chance = self.chance.lock().unwrap();
            *chance = chance.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (*chance >> 33) % 100
        };
        if drawn < 30 {
            return failed();
        }
        self.arrived.lock().unwrap().push(notification.clone());
        if drawn < 40 { std::future::pending().await } else { Sent::Accepted }
    }
}

/// Guarantee G7.
#[tokio::test(start_paused = true)]
async fn an_unreliable_receiver_gets_a_thousand_events_each_at_least_once_and_first_in_order() {
    let clock = clock();
    let arrived = Arc::new(Mutex::new(Vec::<Notification>::new()));
    let engine = engine(&clock, Arc::new(Memory::new()), Unreliable { chance: Mutex::new(7), arrived: arrived.clone() });
    let mut owed = 0;
    for _ in 0..4 {
        let task = send(&engine, hooked("chunks 250")).await;
        owed += whole_log(&engine, &task.id).await.len();
    }
    assert!(owed > 1_000);
    // Longer than the longest pause without an attempt: nothing waits any more.
    let mut quiet = Duration::ZERO;
    while quiet < Duration::from_secs(30 * 3_600) {
        let tried = engine.deliver_due().await.unwrap();
        let pause = Duration::from_secs(if tried > 0 { 0 } else { 600 });
        quiet = if tried > 0 { Duration::ZERO } else { quiet + pause };
        clock.advance(pause);
    }
    let mut firsts = BTreeMap::<TaskId, Vec<u64>>::new();
    let mut ids = HashSet::new();
    for seen in arrived.lock().unwrap().iter().filter(|seen| ids.insert(seen.id.clone())) {
        firsts.entry(seen.task.id.clone()).or_default().push(place(seen));
    }
    assert_eq!((firsts.len(), ids.len()), (4, owed));
    for places in firsts.values() {
        assert_eq!(*places, (1..=places.len() as u64).collect::<Vec<_>>());
    }
    let repeats = arrived.lock().unwrap().len() - ids.len();
    assert!((50..250).contains(&repeats), "{repeats} repeats");
    assert!(engine.dead_letters(&anyone(), 1).await.unwrap().is_empty());
}

struct Together(Barrier);

#[async_trait]
impl Sender for Together {
    async fn send(&self, _: &Notification) -> Sent {
        self.0.wait().await;
        Sent::Accepted
    }
}

/// A receiver that takes its time delays nobody else.
#[tokio::test]
async fn deliveries_of_different_tasks_are_sent_at_the_same_time() {
    let clock = clock();
    let engine = engine(&clock, Arc::new(Memory::new()), Together(Barrier::new(40)));
    for _ in 0..40 {
        send(&engine, hooked("reply once")).await;
    }
    let sent = tokio::time::timeout(Duration::from_secs(10), engine.deliver_due()).await.expect("one waits for another");
    assert_eq!(sent.unwrap(), 40);
}

struct Broken;

#[async_trait]
impl Sender for Broken {
    async fn send(&self, _: &Notification) -> Sent {
        panic!("the sender is broken")
    }
}

#[tokio::test]
async fn a_sender_that_panics_has_failed() {
    let clock = clock();
    let engine = Engine::new(card(), obedient).clock(clock).sender(Broken).schedule(Schedule::new([])).by_hand().start();
    send(&engine, hooked("work hard")).await;
    settle(&engine).await;
    assert_eq!(engine.dead_letters(&anyone(), 10).await.unwrap().len(), 4);
}

/// Notes who is being told what at this moment.
#[derive(Clone, Default)]
struct Watchful {
    now: Arc<Mutex<HashSet<String>>>,
    twice: Arc<Mutex<Vec<String>>>,
    places: Arc<Mutex<BTreeMap<TaskId, Vec<u64>>>>,
    arrived: Arc<Notify>,
}

#[async_trait]
impl Sender for Watchful {
    async fn send(&self, notification: &Notification) -> Sent {
        let line = format!("{} {}", notification.task.id, notification.config.id);
        if !self.now.lock().unwrap().insert(line.clone()) {
            self.twice.lock().unwrap().push(line.clone());
        }
        for _ in 0..20 {
            tokio::task::yield_now().await;
        }
        self.places.lock().unwrap().entry(notification.task.id.clone()).or_default().push(place(notification));
        self.now.lock().unwrap().remove(&line);
        self.arrived.notify_one();
        Sent::Accepted
    }
}

/// Guarantee G7 with several processes: whoever takes a delivery has it for itself.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn engines_that_share_a_store_never_send_the_same_at_the_same_time() {
    share(Arc::new(Memory::new())).await;
}

/// The same on SQLite.
#[cfg(feature = "sqlite")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn engines_that_share_a_file_never_send_the_same_at_the_same_time() {
    let folder = crate::folder::Folder::new();
    share(Arc::new(chancery_engine::store::Sqlite::open(folder.file("tasks.db")).await.unwrap())).await;
}

async fn share(store: Arc<dyn Store>) {
    let watchful = Watchful::default();
    let start = || Engine::new(card(), obedient).shared_store(store.clone()).sender(watchful.clone()).start();
    let engines: Vec<_> = (0..4).map(|_| start()).collect();
    for number in 0..40 {
        send(&engines[number % 4], hooked("work hard")).await;
    }
    let whole = async {
        while watchful.places.lock().unwrap().values().map(Vec::len).sum::<usize>() < 160 {
            watchful.arrived.notified().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), whole).await.expect("not everything arrives");
    assert_eq!(*watchful.twice.lock().unwrap(), [""; 0], "told two things at once");
    for places in watchful.places.lock().unwrap().values() {
        assert_eq!(*places, [1, 2, 3, 4]);
    }
    assert!(engines[0].dead_letters(&anyone(), 1).await.unwrap().is_empty());
}

#[tokio::test]
async fn nothing_is_sent_without_a_sender_and_nothing_is_lost() {
    let clock = clock();
    let store: Arc<dyn Store> = Arc::new(Memory::new());
    let silent = Engine::new(card(), obedient).shared_store(store.clone()).clock(clock.clone()).by_hand().start();
    let task = send(&silent, hooked("work hard")).await;
    assert_eq!(silent.deliver_due().await.unwrap(), 0);
    let receiver = Receiver::new(&clock, |_| Sent::Accepted);
    let speaking = engine(&clock, store, receiver.clone());
    settle(&speaking).await;
    assert_eq!(receiver.places(), [1, 2, 3, 4]);
    assert_eq!(speaking.get_task(&anyone(), GetTask::new(task.id.clone())).await.unwrap().into_task().unwrap(), task);
}

/// Says that it was reached, and never answers for one task.
#[derive(Clone)]
struct Stuck {
    task: Arc<Mutex<Option<TaskId>>>,
    reached: Arc<Notify>,
    others: Arc<Mutex<Vec<Notification>>>,
    arrived: Arc<Notify>,
}

#[async_trait]
impl Sender for Stuck {
    async fn send(&self, notification: &Notification) -> Sent {
        let stuck = self.task.lock().unwrap().get_or_insert_with(|| notification.task.id.clone()) == &notification.task.id;
        if stuck {
            self.reached.notify_one();
            std::future::pending::<()>().await;
        }
        self.others.lock().unwrap().push(notification.clone());
        self.arrived.notify_one();
        Sent::Accepted
    }
}

fn stuck() -> Stuck {
    Stuck { task: Arc::default(), reached: Arc::default(), others: Arc::default(), arrived: Arc::default() }
}

/// The engine's own worker: a receiver that does not answer holds up its own line and no other.
#[tokio::test]
async fn a_receiver_that_does_not_answer_delays_only_itself() {
    let stuck = stuck();
    let engine = Engine::new(card(), obedient).sender(stuck.clone()).start();
    send(&engine, hooked("work hard")).await;
    tokio::time::timeout(Duration::from_secs(10), stuck.reached.notified()).await.expect("nothing is sent");
    for _ in 0..20 {
        send(&engine, hooked("work hard")).await;
    }
    let others = async {
        while stuck.others.lock().unwrap().len() < 80 {
            stuck.arrived.notified().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(10), others).await.expect("the others wait");
}

/// Guarantee G7: whoever dies while it sends gives the delivery back when its lease ends, and not before.
#[tokio::test]
async fn a_delivery_of_a_process_that_died_is_sent_by_another_when_its_lease_ends() {
    let clock = clock();
    let store: Arc<dyn Store> = Arc::new(Memory::new());
    let stuck = stuck();
    let dying = engine(&clock, store.clone(), stuck.clone());
    send(&dying, hooked("work hard")).await;
    let sending = tokio::spawn({
        let dying = dying.clone();
        async move { dying.deliver_due().await }
    });
    tokio::time::timeout(Duration::from_secs(10), stuck.reached.notified()).await.expect("nothing is sent");
    sending.abort();
    let receiver = Receiver::new(&clock, |_| Sent::Accepted);
    let next = engine(&clock, store, receiver.clone());
    clock.advance(Duration::from_millis(59_999));
    assert_eq!(next.deliver_due().await.unwrap(), 0);
    clock.advance(Duration::from_millis(1));
    settle(&next).await;
    assert_eq!(receiver.places(), [1, 2, 3, 4]);
    assert_eq!(receiver.seen()[0].attempt, 1, "the attempt had no end");
}
