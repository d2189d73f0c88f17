//! Processes that die, come back or stop, and tasks that are canceled. Several engines on one store stand
//! in for several processes; time moves when the test says so.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use chancery_core::{
    Caller, CancelTask, Error, ErrorKind, Event, EventStream, GetTask, Message, Operations, SendMessage, SendReply, Seq, Subscribe, Task,
    TaskId, TaskState,
};
use chancery_engine::{
    Builder, Engine, Failure, OnRestart, Outcome, Turn,
    clock::ManualClock,
    store::{Filter, Memory, Owner, Store},
};
use tokio::sync::Semaphore;

use crate::operations::card;

const LEASE: Duration = Duration::from_secs(15);

/// What the agents of a test share with it.
#[derive(Clone)]
struct Stage {
    store: Arc<dyn Store>,
    /// Agents that wait go on when they get a permit.
    go: Arc<Semaphore>,
    /// How many agents are running.
    running: Arc<AtomicUsize>,
}

/// Counts an agent as long as its future is there.
struct Running(Arc<AtomicUsize>);

impl Running {
    fn new(count: &Arc<AtomicUsize>) -> Self {
        count.fetch_add(1, Ordering::SeqCst);
        Self(count.clone())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Stage {
    fn new() -> Self {
        Self { store: Arc::new(Memory::new()), go: Arc::new(Semaphore::new(0)), running: Arc::default() }
    }

    /// One process.
    fn process(&self, clock: &ManualClock) -> Builder {
        let stage = self.clone();
        let agent = move |turn: Turn| {
            let stage = stage.clone();
            async move { stage.play(turn).await }
        };
        Engine::new(card(), agent).shared_store(self.store.clone()).clock(clock.clone()).lease(LEASE)
    }

    async fn play(&self, turn: Turn) -> Result<Outcome, Failure> {
        let _running = Running::new(&self.running);
        turn.status(format!("attempt {}", turn.attempt())).await?;
        match turn.text() {
            "wait" => self.go.acquire().await?.forget(),
            "talk" => loop {
                turn.status("talking").await?;
                tokio::time::sleep(Duration::from_millis(1)).await;
            },
            "busy" => loop {
                turn.status("talking without a pause").await?;
            },
            "deaf" => loop {
                // Whether anybody listens is all the same to this one.
                drop(turn.status("talking to nobody").await);
                tokio::task::yield_now().await;
            },
            "listen" => {
                turn.next_message().await;
            }
            "quick" => {}
            _ => {
                for _ in 0..4 {
                    turn.status("step").await?;
                    tokio::task::yield_now().await;
                }
            }
        }
        turn.status("done").await?;
        Ok(Outcome::Completed)
    }

    /// The words of every status of a task so far.
    async fn words(&self, id: &TaskId) -> Vec<String> {
        // An engine that lives in 1970 finds that no lease ever ran out.
        let reader = self.process(&ManualClock::new(0)).start();
        let stored = self.store.task(&Owner::new("agent", "ada"), id).await.unwrap().unwrap();
        let mut stream = reader.subscribe(&ada().resume_after(Seq::START), Subscribe::new(id.clone())).await.unwrap();
        let mut words = Vec::new();
        for _ in 0..stored.head.seq.get() {
            if let Event::Status(update) = next(&mut stream).await.unwrap().unwrap().1 {
                words.push(update.status.message.map(|message| message.text()).unwrap_or_default());
            }
        }
        words
    }

    async fn unfinished(&self) -> usize {
        let mut filter = Filter::default();
        filter.limit = usize::MAX;
        let tasks = self.store.list(&Owner::new("agent", "ada"), filter).await.unwrap().tasks;
        tasks.iter().filter(|task| !task.head.state.is_terminal()).count()
    }
}

fn ada() -> Caller {
    Caller::new("ada")
}

fn clock() -> ManualClock {
    ManualClock::new(1_772_442_907_000)
}

async fn begin(engine: &Engine, text: &str) -> TaskId {
    let mut request = SendMessage::new(text);
    request.configuration.return_immediately = true;
    match engine.send_message(&ada(), request).await.unwrap() {
        SendReply::Task(task) => task.id,
        SendReply::Message(message) => panic!("a message: {}", message.text()),
    }
}

/// A task whose agent is at work, and a stream of what comes next.
async fn working(engine: &Engine, text: &str) -> (TaskId, EventStream) {
    let mut stream = engine.stream_message(&ada(), SendMessage::new(text)).await.unwrap();
    let Some(Ok((_, Event::Task(task)))) = next(&mut stream).await else { panic!("no task") };
    assert!(matches!(next(&mut stream).await, Some(Ok((_, Event::Status(_))))));
    (task.id, stream)
}

async fn next(stream: &mut EventStream) -> Option<Result<(Seq, Event), Error>> {
    let next = std::future::poll_fn(|cx| stream.as_mut().poll_next(cx));
    tokio::time::timeout(Duration::from_secs(60), next)
        .await
        .expect("the stream stands still")
        .map(|item| item.map(|(seq, event)| (seq, event.into_event())))
}

/// How a task ends, as seen from an engine.
async fn end(engine: &Engine, id: &TaskId) -> Task {
    let mut stream = engine.subscribe(&ada().resume_after(Seq::START), Subscribe::new(id.clone())).await.unwrap();
    while let Some(event) = next(&mut stream).await {
        event.unwrap();
    }
    engine.get_task(&ada(), GetTask::new(id.clone())).await.unwrap().into_task().unwrap()
}

/// Waits for something that is about to be so.
async fn until(so: impl Fn() -> bool) {
    let wait = async {
        while !so() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), wait).await.expect("it does not come to be");
}

fn text(task: &Task) -> String {
    task.status.message.as_ref().map(|message| message.text()).unwrap_or_default()
}

/// Guarantee G5: not before the lease ran out, but then at once and with a reason.
#[tokio::test(start_paused = true)]
async fn a_task_whose_process_died_is_failed_with_a_reason() {
    let (stage, clock) = (Stage::new(), clock());
    let dead = stage.process(&clock).start();
    let (id, _) = working(&dead, "wait").await;
    drop(dead);
    let next = stage.process(&clock).start();
    tokio::time::sleep(LEASE * 2).await;
    assert_eq!(next.get_task(&ada(), GetTask::new(id.clone())).await.unwrap().into_task().unwrap().state(), TaskState::Working);
    clock.advance(LEASE + Duration::from_millis(1));
    let task = end(&next, &id).await;
    assert_eq!(task.state(), TaskState::Failed);
    assert_eq!(text(&task), "The server was restarted while the agent was working; the task was not finished.");
    assert_eq!(stage.store.task(&Owner::new("agent", "ada"), &id).await.unwrap().unwrap().lease, None);
}

/// Guarantee G5: the agent hears how often its turn was begun.
#[tokio::test(start_paused = true)]
async fn a_turn_is_run_again_and_knows_its_attempt() {
    let (stage, clock) = (Stage::new(), clock());
    let first = stage.process(&clock).start();
    let (id, _) = working(&first, "wait").await;
    drop(first);
    clock.advance(LEASE * 2);
    let second = stage.process(&clock).on_restart(OnRestart::Rerun).start();
    until(|| stage.running.load(Ordering::SeqCst) == 1).await;
    let mut stream = second.subscribe(&ada().resume_after(Seq::new(3)), Subscribe::new(id.clone())).await.unwrap();
    assert!(matches!(next(&mut stream).await, Some(Ok((seq, _))) if seq == Seq::new(4)));
    drop(second);
    clock.advance(LEASE * 2);
    stage.go.add_permits(1);
    let third = stage.process(&clock).on_restart(OnRestart::Rerun).start();
    assert_eq!(end(&third, &id).await.state(), TaskState::Completed);
    assert_eq!(stage.words(&id).await, ["attempt 1", "", "attempt 2", "", "attempt 3", "done", ""]);
}

/// Several agents may share a store: each takes up its own tasks, and leaves those of the others alone.
#[tokio::test(start_paused = true)]
async fn an_agent_takes_over_its_own_tasks_only() {
    let (stage, clock) = (Stage::new(), clock());
    let mut ids = Vec::new();
    for name in ["clerk", "porter"] {
        let dead = stage.process(&clock).name(name).start();
        ids.push(working(&dead, "wait").await.0);
    }
    until(|| stage.running.load(Ordering::SeqCst) == 0).await;
    clock.advance(LEASE * 2);
    let porter = stage.process(&clock).name("porter").by_hand().start();
    porter.look_after().await.unwrap();
    assert_eq!(end(&porter, &ids[1]).await.state(), TaskState::Failed);
    let state = async || stage.store.task(&Owner::new("clerk", "ada"), &ids[0]).await.unwrap().unwrap().head.state;
    assert_eq!(state().await, TaskState::Working);
    let clerk = stage.process(&clock).name("clerk").start();
    assert_eq!(end(&clerk, &ids[0]).await.state(), TaskState::Failed);
    assert_eq!(state().await, TaskState::Failed);
}

/// The message of a turn is not also in its history, in no attempt.
#[tokio::test(start_paused = true)]
async fn a_turn_that_is_run_again_does_not_find_its_message_in_the_history() {
    let (stage, clock) = (Stage::new(), clock());
    let heard: Arc<std::sync::Mutex<Vec<usize>>> = Arc::default();
    let agent = {
        let heard = heard.clone();
        move |turn: Turn| {
            heard.lock().unwrap().push(turn.history().len());
            async move {
                turn.status("here").await?;
                std::future::pending().await
            }
        }
    };
    let process = || Engine::new(card(), agent.clone()).shared_store(stage.store.clone()).clock(clock.clone());
    let first = process().start();
    let (_, _) = working(&first, "wait").await;
    drop(first);
    clock.advance(LEASE * 2);
    let _second = process().on_restart(OnRestart::Rerun).start();
    until(|| heard.lock().unwrap().len() == 2).await;
    assert_eq!(*heard.lock().unwrap(), [0, 0]);
}

/// Guarantee G5: a process that was only slow finds its writes refused, and its agent is stopped.
#[tokio::test(start_paused = true)]
async fn a_former_holder_that_comes_back_is_refused_and_stops() {
    let (stage, slow) = (Stage::new(), clock());
    let former = stage.process(&slow).start();
    let (id, mut stream) = working(&former, "wait").await;
    let ahead = clock();
    ahead.advance(LEASE * 4);
    let holder = stage.process(&ahead).on_restart(OnRestart::Rerun).start();
    until(|| stage.running.load(Ordering::SeqCst) == 2).await;
    // Both agents go on; only one is heard.
    stage.go.add_permits(2);
    assert_eq!(end(&holder, &id).await.state(), TaskState::Completed);
    let Some(Err(error)) = next(&mut stream).await else { panic!("the former holder is heard") };
    assert_eq!(error.kind(), ErrorKind::Unavailable);
    assert!(next(&mut stream).await.is_none());
    until(|| stage.running.load(Ordering::SeqCst) == 0).await;
    assert_eq!(stage.words(&id).await, ["attempt 1", "", "attempt 2", "done", ""]);
    // Who asks the former holder again gets the rest from the store.
    assert_eq!(end(&former, &id).await.state(), TaskState::Completed);
}

/// Guarantee G3, guarantee G5: a stream that watched another process's task goes on when the task is taken over.
#[tokio::test(start_paused = true)]
async fn a_watcher_sees_what_happened_before_its_process_took_the_task() {
    let (stage, clock) = (Stage::new(), clock());
    let first = stage.process(&clock).start();
    let (id, _) = working(&first, "wait").await;
    let second = stage.process(&clock).start();
    let mut watcher = second.subscribe(&ada().resume_after(Seq::START), Subscribe::new(id.clone())).await.unwrap();
    let mut seen = Vec::new();
    for _ in 0..2 {
        seen.push(next(&mut watcher).await.unwrap().unwrap().0.get());
    }
    // The watcher's process knows two events; a third happens elsewhere.
    let mut request = SendMessage::new(Message::user("more").to_task(id.clone()));
    request.configuration.return_immediately = true;
    first.send_message(&ada(), request).await.unwrap();
    drop(first);
    clock.advance(LEASE * 2);
    while let Some(event) = next(&mut watcher).await {
        seen.push(event.unwrap().0.get());
    }
    assert_eq!(seen, [1, 2, 3, 4]);
    assert_eq!(end(&second, &id).await.state(), TaskState::Failed);
}

/// Guarantee G5: a thousand tasks of a dead process are failed at the first look, each once, however many look.
#[tokio::test(start_paused = true)]
async fn a_thousand_tasks_are_taken_over_at_once_and_once() {
    let (stage, clock) = (Stage::new(), clock());
    let dead = stage.process(&clock).start();
    let mut ids = Vec::new();
    for _ in 0..1_000 {
        ids.push(begin(&dead, "wait").await);
    }
    drop(dead);
    clock.advance(LEASE * 2);
    let begun = tokio::time::Instant::now();
    let (one, two) = (stage.process(&clock).start(), stage.process(&clock).start());
    while stage.unfinished().await > 0 {
        assert!(begun.elapsed() < LEASE / 3, "it takes more than one look");
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    drop((one, two));
    for id in &ids {
        let told = stage.words(id).await.into_iter().filter(|words| words.starts_with("The server was restarted")).count();
        assert_eq!(told, 1, "{id}");
    }
}

/// Guarantee G19: what is running may end, and nothing new is begun.
#[tokio::test(start_paused = true)]
async fn shutdown_lets_running_turns_end_and_takes_nothing_new() {
    let (stage, clock) = (Stage::new(), clock());
    let engine = stage.process(&clock).start();
    let (id, mut stream) = working(&engine, "wait").await;
    let stopping = tokio::spawn({
        let engine = engine.clone();
        async move { engine.shutdown(Duration::from_secs(30)).await }
    });
    tokio::task::yield_now().await;
    let refused = engine.send_message(&ada(), SendMessage::new("quick")).await;
    assert_eq!(refused.unwrap_err().kind(), ErrorKind::Unavailable);
    stage.go.add_permits(1);
    while let Some(event) = next(&mut stream).await {
        event.unwrap();
    }
    stopping.await.unwrap();
    let stored = stage.store.task(&Owner::new("agent", "ada"), &id).await.unwrap().unwrap();
    assert_eq!((stored.head.state, stored.lease), (TaskState::Completed, None));
}

/// Guarantee G19: what did not end in time goes on elsewhere at once, though the agent never stopped talking.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn shutdown_hands_back_what_did_not_end() {
    for agent in ["wait", "talk", "busy", "deaf"] {
        let (stage, clock) = (Stage::new(), clock());
        let engine = stage.process(&clock).start();
        let (id, mut stream) = working(&engine, agent).await;
        engine.shutdown(Duration::from_millis(20)).await;
        assert_eq!(stage.running.load(Ordering::SeqCst), 0, "{agent} is still running");
        let error = loop {
            match next(&mut stream).await {
                Some(Ok(_)) => {}
                Some(Err(error)) => break error,
                None => panic!("{agent}: the stream ended as if the task had"),
            }
        };
        assert_eq!(error.kind(), ErrorKind::Unavailable);
        let successor = stage.process(&clock).start();
        assert_eq!(end(&successor, &id).await.state(), TaskState::Failed, "{agent}");
    }
}

/// Guarantee G6: canceled, or refused because it was over. The agent is gone either way.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn cancel_at_any_moment_ends_the_task_and_the_agent() {
    const AGENTS: [&str; 7] = ["wait", "talk", "busy", "deaf", "listen", "quick", "steps"];
    let stage = Stage::new();
    let engine = stage.process(&clock()).start();
    let mut random = 0x9E37_79B9_7F4A_7C15_u64;
    let (mut canceled, mut refused) = (0, 0);
    for number in 0..1_000 {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        let agent = AGENTS[number % AGENTS.len()];
        let mut stream = engine.stream_message(&ada(), SendMessage::new(agent)).await.unwrap();
        let Some(Ok((_, Event::Task(task)))) = next(&mut stream).await else { panic!("no task") };
        // The silent ones say one thing and no more.
        let most = if matches!(agent, "wait" | "listen") { 2 } else { 8 };
        for _ in 0..random % most {
            if next(&mut stream).await.is_none() {
                break;
            }
        }
        let caller = ada();
        let answer = engine.cancel_task(&caller, CancelTask::new(task.id.clone()));
        let answer = tokio::time::timeout(Duration::from_secs(10), answer).await;
        let wanted = match answer.unwrap_or_else(|_| panic!("{agent} cannot be canceled")) {
            Ok(task) => {
                canceled += 1;
                assert_eq!(task.state(), TaskState::Canceled, "{agent}");
                TaskState::Canceled
            }
            Err(error) => {
                refused += 1;
                assert_eq!(error.kind(), ErrorKind::TaskNotCancelable, "{agent}");
                TaskState::Completed
            }
        };
        let mut last = None;
        while let Some(event) = next(&mut stream).await {
            last = event.unwrap().1.state().or(last);
        }
        assert!(last.is_none_or(|last| last == wanted), "{agent}: {last:?}");
        assert_eq!(engine.get_task(&ada(), GetTask::new(task.id)).await.unwrap().into_task().unwrap().state(), wanted, "{agent}");
    }
    until(|| stage.running.load(Ordering::SeqCst) == 0).await;
    assert_eq!((canceled + refused, stage.unfinished().await), (1_000, 0));
    assert!(canceled >= 5 * 1_000 / 7, "{canceled} canceled, {refused} refused");
}
