//! A request that is sent again leads to the same answer, and the agent hears of it once (G4).

use std::{
    collections::BTreeSet,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use chancery_core::{Artifact, Caller, ErrorKind, GetTask, ListTasks, Message, Operations, SendMessage, SendReply, Task, TaskState};
use chancery_engine::{
    Builder, Engine, Failure, Outcome, Turn,
    clock::ManualClock,
    store::{Memory, Store},
};

use crate::{counting::Counting, operations::card};

/// An engine whose agent counts its turns: one that asks, works, replies or waits for more.
fn counting(turns: &Arc<AtomicUsize>) -> Builder {
    let turns = turns.clone();
    Engine::new(card(), move |turn: Turn| {
        turns.fetch_add(1, Ordering::SeqCst);
        async move {
            match turn.text().split(' ').next() {
                Some("reply") => {
                    tokio::task::yield_now().await;
                    Ok(Outcome::message("a reply"))
                }
                Some("ask") => Ok(Outcome::ask("Which quay?")),
                Some("listen") => {
                    turn.status("Listening").await?;
                    let mut heard = Vec::new();
                    while let Some(message) = turn.next_message().await {
                        heard.push(message.text());
                        if message.text() == "end" {
                            break;
                        }
                    }
                    Ok(Outcome::complete_with(Artifact::new(heard.join(","))))
                }
                _ => {
                    turn.status("Working on it").await?;
                    Ok::<_, Failure>(Outcome::complete_with(Artifact::new("done")))
                }
            }
        }
    })
}

fn keyed(key: impl Into<String>) -> Caller {
    Caller::new("ada").idempotency_key(key)
}

fn request(text: &str, id: &str) -> SendMessage {
    SendMessage::new(Message::user(text).id(id))
}

fn task(reply: SendReply) -> Task {
    match reply {
        SendReply::Task(task) => *task,
        SendReply::Message(message) => panic!("a message: {}", message.text()),
    }
}

fn clock() -> ManualClock {
    ManualClock::new(1_772_442_907_000)
}

/// Guarantee G4.
#[cfg(feature = "sqlite")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_identical_requests_at_once_make_one_task_and_one_turn() {
    const KEYS: usize = 200;
    const TIMES: usize = 64;
    let folder = crate::folder::Folder::new();
    let turns = Arc::new(AtomicUsize::new(0));
    let engine = counting(&turns).store(chancery_engine::store::Sqlite::open(folder.file("tasks.db")).await.unwrap()).start();
    let mut sending = tokio::task::JoinSet::new();
    for number in 0..KEYS * TIMES {
        let (engine, key) = (engine.clone(), number % KEYS);
        sending.spawn(async move {
            let answer = engine.send_message(&keyed(format!("key {key}")), request("work hard", &format!("m-{key}"))).await;
            (key, task(answer.unwrap()))
        });
    }
    let mut answers = BTreeSet::new();
    while let Some(answer) = sending.join_next().await {
        let (key, task) = answer.unwrap();
        assert_eq!(task.status.state, TaskState::Completed);
        answers.insert((key, task.id.to_string()));
    }
    assert_eq!(answers.len(), KEYS);
    let listed = engine.list_tasks(&Caller::new("ada"), ListTasks::default()).await.unwrap().decode().unwrap();
    assert_eq!((listed.total_size, turns.load(Ordering::SeqCst)), (200, KEYS));
}

/// Guarantee G4 between processes: the store lets one through, and all answer alike.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn identical_requests_to_several_engines_make_one_task() {
    several(Arc::new(Memory::new())).await;
}

/// The same on SQLite.
#[cfg(feature = "sqlite")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn identical_requests_to_several_engines_on_one_file_make_one_task() {
    let folder = crate::folder::Folder::new();
    several(Arc::new(chancery_engine::store::Sqlite::open(folder.file("tasks.db")).await.unwrap())).await;
}

async fn several(store: Arc<dyn Store>) {
    let turns = Arc::new(AtomicUsize::new(0));
    let engines: Vec<_> = (0..4).map(|_| counting(&turns).shared_store(store.clone()).start()).collect();
    let mut sending = tokio::task::JoinSet::new();
    for number in 0..400 {
        let (engine, key) = (engines[number % 4].clone(), number / 8);
        sending.spawn(async move {
            let answer = engine.send_message(&keyed(format!("key {key}")), request("work hard", "m")).await;
            (key, task(answer.unwrap()).id.to_string())
        });
    }
    let mut answers = BTreeSet::new();
    while let Some(answer) = sending.join_next().await {
        answers.insert(answer.unwrap());
    }
    assert_eq!(answers.len(), 50);
    assert_eq!(engines[0].list_tasks(&Caller::new("ada"), ListTasks::default()).await.unwrap().decode().unwrap().total_size, 50);
}

#[tokio::test]
async fn a_key_is_kept_for_a_day_and_then_free_again() {
    let (clock, turns) = (clock(), Arc::default());
    let engine = counting(&turns).clock(clock.clone()).by_hand().start();
    let first = task(engine.send_message(&keyed("k"), request("work hard", "m")).await.unwrap());
    clock.advance(Duration::from_secs(24 * 3_600) - Duration::from_millis(1));
    engine.look_after().await.unwrap();
    assert_eq!(task(engine.send_message(&keyed("k"), request("work hard", "m")).await.unwrap()), first);
    clock.advance(Duration::from_millis(1));
    let second = task(engine.send_message(&keyed("k"), request("work hard", "m")).await.unwrap());
    assert_ne!(second.id, first.id);
    assert_eq!(turns.load(Ordering::SeqCst), 2);
}

#[tokio::test]
async fn a_key_with_another_body_is_refused_and_another_owner_has_other_keys() {
    let turns = Arc::default();
    let engine = counting(&turns).start();
    let first = task(engine.send_message(&keyed("k"), request("work hard", "m")).await.unwrap());
    let refused = engine.send_message(&keyed("k"), request("work harder", "m")).await.unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::InvalidParams);
    let other = Caller::new("eve").idempotency_key("k");
    let theirs = task(engine.send_message(&other, request("work harder", "m")).await.unwrap());
    assert_ne!(theirs.id, first.id);
    // Also while the first is still under way.
    let (one, two) = (keyed("race"), keyed("race"));
    let (one, two) = tokio::join!(engine.send_message(&one, request("work a", "m")), engine.send_message(&two, request("work b", "m")));
    assert!(one.is_ok());
    assert_eq!(two.unwrap_err().kind(), ErrorKind::InvalidParams);
}

#[tokio::test]
async fn a_direct_answer_is_given_again_word_for_word() {
    let turns = Arc::default();
    let engine = counting(&turns).start();
    let mut sending = tokio::task::JoinSet::new();
    for _ in 0..64 {
        let engine = engine.clone();
        sending.spawn(async move { engine.send_message(&keyed("k"), request("reply", "m")).await.unwrap() });
    }
    let mut ids = BTreeSet::new();
    while let Some(reply) = sending.join_next().await {
        let SendReply::Message(message) = reply.unwrap() else { panic!("a task") };
        assert_eq!(message.text(), "a reply");
        ids.insert((message.message_id.to_string(), message.context_id.map(|id| id.to_string())));
    }
    assert_eq!((ids.len(), turns.load(Ordering::SeqCst)), (1, 1));
}

/// Answers to a waiting or running task count once each, whatever shares their commit.
#[tokio::test]
async fn a_repeated_message_to_a_task_is_heard_once() {
    let turns = Arc::default();
    let engine = counting(&turns).start();
    let asked = task(engine.send_message(&Caller::new("ada"), request("ask", "m-1")).await.unwrap());
    let answer = || SendMessage::new(Message::user("work North").id("m-2").to_task(asked.id.clone()));
    let (one, two) = (keyed("answer"), keyed("answer"));
    let (one, two) = tokio::join!(engine.send_message(&one, answer()), engine.send_message(&two, answer()));
    let (one, two) = (task(one.unwrap()), task(two.unwrap()));
    assert_eq!((one.status.state, &one), (TaskState::Completed, &two));
    assert_eq!(turns.load(Ordering::SeqCst), 2);

    let mut begin = request("listen", "m-3");
    begin.configuration.return_immediately = true;
    let running = task(engine.send_message(&Caller::new("ada"), begin).await.unwrap());
    let mut sending = tokio::task::JoinSet::new();
    for number in 0..60 {
        let (engine, id) = (engine.clone(), running.id.clone());
        sending.spawn(async move {
            let name = format!("word {}", number % 20);
            let mut request = SendMessage::new(Message::user(name.as_str()).id(name.as_str()).to_task(id));
            request.configuration.return_immediately = true;
            task(engine.send_message(&keyed(name), request).await.unwrap())
        });
    }
    while let Some(answer) = sending.join_next().await {
        answer.unwrap();
    }
    let end = SendMessage::new(Message::user("end").to_task(running.id.clone()));
    let done = task(engine.send_message(&Caller::new("ada"), end).await.unwrap());
    let heard = done.artifacts[0].parts[0].as_text().unwrap().split(',').map(str::to_owned).collect::<Vec<_>>();
    assert_eq!((heard.len(), heard.iter().collect::<BTreeSet<_>>().len()), (21, 21), "{heard:?}");
}

/// Nothing was stored, so nothing stands in the way.
#[tokio::test]
async fn a_request_that_failed_before_its_commit_may_be_sent_again() {
    let (turns, store) = (Arc::default(), Arc::new(Counting::new(Arc::new(Memory::new()))));
    let engine = counting(&turns).shared_store(store.clone()).clock(clock()).by_hand().start();
    let request = || SendMessage::new(Message::user("work hard").id("m"));
    store.set_away(true);
    assert_eq!(engine.send_message(&keyed("k"), request()).await.unwrap_err().kind(), ErrorKind::Unavailable);
    store.set_away(false);
    let made = task(engine.send_message(&keyed("k"), request()).await.unwrap());
    assert_eq!(task(engine.send_message(&keyed("k"), request()).await.unwrap()), made);
}

/// CONV-TASK-005, CONV-TASK-006: a repetition is known by its key, although by then the name stands for a finished task.
#[tokio::test]
async fn a_repetition_under_a_name_gives_the_same_task() {
    let turns = Arc::default();
    let engine = counting(&turns).shared_store(Arc::new(Memory::new())).clock(clock()).by_hand().start();
    let named = || {
        let mut request = SendMessage::new(Message::user("work hard").id("m").to_task("t-1"));
        request.create_missing = true;
        request
    };
    task(engine.send_message(&Caller::new("eve"), named()).await.unwrap());
    let made = task(engine.send_message(&keyed("k"), named()).await.unwrap());
    assert_eq!(made.id, "t-1");
    assert_eq!(task(engine.send_message(&keyed("k"), named()).await.unwrap()), made);
    let unaware = engine.get_task(&Caller::new("ada"), GetTask::new("t-1")).await;
    assert_eq!(unaware.unwrap_err().kind(), ErrorKind::TaskNotFound);
    assert_eq!(turns.load(Ordering::SeqCst), 2);
}
