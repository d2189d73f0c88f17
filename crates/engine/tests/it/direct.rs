//! Answers in words: a reply completes a task and a message makes none, whatever time it took (decision 0013).

use std::{sync::Arc, time::Duration};

use chancery_core::{
    Artifact, Caller, Event, GetTask, ListTasks, Message, Operations, PushConfig, SendMessage, SendReply, Seq, Task, TaskState,
};
use chancery_engine::{Builder, Engine, Failure, Outcome, Turn};
use tokio::sync::Notify;

use crate::operations::{all, card, states};

/// An agent that answers when it is let go on, if the message says so, with what the message says.
fn agent() -> (Builder, Arc<Notify>) {
    let go_on = Arc::new(Notify::new());
    let notified = go_on.clone();
    let agent = move |turn: Turn| {
        let go_on = notified.clone();
        async move {
            let words: Vec<_> = turn.text().split(' ').collect();
            if words.contains(&"say") {
                turn.status("Thinking").await?;
            }
            if words.contains(&"show") {
                turn.publish(Artifact::new("shown")).await?;
            }
            if words.contains(&"ask") {
                return Ok(Outcome::ask("Which quay?"));
            }
            if words.contains(&"late") {
                go_on.notified().await;
            }
            Ok::<_, Failure>(match words.contains(&"reply") {
                true => Outcome::reply("the words"),
                false => Outcome::message("the words"),
            })
        }
    };
    // The task is made at once, as if the agent had taken its time already.
    (Engine::new(card(), agent).task_after(Duration::ZERO), go_on)
}

async fn send(engine: &Engine, request: SendMessage) -> SendReply {
    let caller = Caller::anonymous();
    let sending = engine.send_message(&caller, request);
    tokio::time::timeout(Duration::from_secs(10), sending).await.expect("no answer").unwrap()
}

/// The only task there is, as soon as it is there.
async fn listed(engine: &Engine) -> Task {
    let look = async {
        loop {
            let page = engine.list_tasks(&Caller::anonymous(), ListTasks::default()).await.unwrap().decode().unwrap();
            if let [task] = &page.tasks[..] {
                return task.clone();
            }
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(10), look).await.expect("no task")
}

/// Sends, waits until the task is there, and lets the agent go on.
async fn send_late(engine: &Engine, go_on: &Notify, caller: &Caller, request: SendMessage) -> SendReply {
    let go_on = async {
        listed(engine).await;
        go_on.notify_one();
    };
    let both = async { tokio::join!(engine.send_message(caller, request), go_on).0 };
    tokio::time::timeout(Duration::from_secs(10), both).await.expect("no answer").unwrap()
}

#[track_caller]
fn words(reply: &SendReply) -> String {
    match reply {
        SendReply::Message(message) => message.text(),
        SendReply::Task(task) => panic!("a task: {task:?}"),
    }
}

#[track_caller]
fn completed(reply: &SendReply) -> String {
    let task = reply.task().expect("a task");
    assert_eq!(task.state(), TaskState::Completed);
    task.status.message.as_ref().expect("words").text()
}

#[tokio::test]
async fn a_reply_completes_a_task_whatever_time_it_took() {
    let (builder, _) = agent();
    assert_eq!(completed(&send(&builder.start(), SendMessage::new("reply")).await), "the words");
    let (builder, _) = agent();
    assert_eq!(completed(&send(&builder.task_after(None).start(), SendMessage::new("reply")).await), "the words");
    let (builder, late) = agent();
    let engine = builder.start();
    assert_eq!(completed(&send_late(&engine, &late, &Caller::anonymous(), SendMessage::new("reply late")).await), "the words");
}

/// V10-SEND-001, V10-SEND-002: the task is done for those who list tasks, and whoever waited never hears of it.
#[tokio::test]
async fn whoever_waits_for_a_message_gets_one_whatever_time_it_took() {
    for text in ["late", "say late", "say"] {
        let (builder, go_on) = agent();
        let engine = builder.start();
        let reply = send_late(&engine, &go_on, &Caller::anonymous(), SendMessage::new(text)).await;
        assert_eq!(words(&reply), "the words", "{text}");
        let SendReply::Message(message) = reply else { panic!("a task") };
        assert!(message.task_id.is_none() && message.context_id.is_some(), "{message:?}");
        let task = listed(&engine).await;
        assert_eq!((task.state(), task.status.message.unwrap().text()), (TaskState::Completed, "the words".to_owned()));
        assert_eq!(message.context_id, Some(task.context_id));
    }
}

/// Guarantee G4: a repetition is answered with the message too, not with the task that was made meanwhile.
#[tokio::test]
async fn a_late_message_is_given_again_word_for_word() {
    let (builder, go_on) = agent();
    let engine = builder.start();
    let (caller, request) = (Caller::anonymous().idempotency_key("k"), || SendMessage::new(Message::user("late").id("m")));
    let first = send_late(&engine, &go_on, &caller, request()).await;
    let again = engine.send_message(&caller, request()).await.unwrap();
    assert_eq!((words(&first), &first), ("the words".to_owned(), &again));
}

#[tokio::test]
async fn a_stream_that_showed_the_task_ends_with_it_completed_by_the_message() {
    let (builder, go_on) = agent();
    let engine = builder.start();
    let events = engine.stream_message(&Caller::anonymous(), SendMessage::new("late")).await.unwrap();
    go_on.notify_one();
    let events = all(events).await;
    assert_eq!(states(&events), [TaskState::Submitted, TaskState::Completed]);
    let Some((_, Event::Status(last))) = events.last() else { panic!("{events:?}") };
    assert_eq!(last.status.message.as_ref().unwrap().text(), "the words");
}

#[tokio::test]
async fn a_message_completes_a_task_that_was_asked_for_or_goes_on() {
    let (builder, _) = agent();
    let engine = builder.start();
    let asked = send(&engine, SendMessage::new("ask")).await.task().unwrap().clone();
    let answer = SendMessage::new(Message::user("north").to_task(asked.id.clone()));
    assert_eq!(completed(&send(&engine, answer).await), "the words");
    let mut hooked = SendMessage::new("x");
    hooked.configuration.push_config = Some(Box::new(PushConfig::new("https://hook.example")));
    assert_eq!(completed(&send(&engine, hooked).await), "the words");
}

#[tokio::test]
async fn a_message_after_an_artifact_does_not_hide_it() {
    let (builder, _) = agent();
    let reply = send(&builder.start(), SendMessage::new("show")).await;
    assert_eq!((completed(&reply).as_str(), reply.task().unwrap().artifacts.len()), ("the words", 1));
}

/// An agent of direct messages makes no task at all when it is not hurried.
#[tokio::test]
async fn no_task_is_made_for_a_message_when_there_is_no_limit_of_silence() {
    let (builder, go_on) = agent();
    let engine = builder.task_after(None).start();
    let events = async { all(engine.stream_message(&Caller::anonymous(), SendMessage::new("late")).await.unwrap()).await };
    let released = async {
        // The agent waits by now, for the stream was polled first.
        tokio::task::yield_now().await;
        go_on.notify_one();
    };
    let (events, ()) = tokio::join!(events, released);
    assert!(matches!(&events[..], [(Seq::START, Event::Message(message))] if message.text() == "the words"), "{events:?}");
    assert_eq!(engine.list_tasks(&Caller::anonymous(), ListTasks::default()).await.unwrap().decode().unwrap().total_size, 0);
}

/// A task that is found again is complete, though the caller was given its message only.
#[tokio::test]
async fn the_task_of_a_late_message_shows_nothing_of_our_notes() {
    let (builder, go_on) = agent();
    let engine = builder.start();
    send_late(&engine, &go_on, &Caller::anonymous(), SendMessage::new("late")).await;
    let id = listed(&engine).await.id;
    let task = engine.get_task(&Caller::anonymous(), GetTask::new(id)).await.unwrap().into_task().unwrap();
    assert!(task.notes.is_empty() && task.metadata.is_empty(), "{task:?}");
    assert_eq!(task.status.message.unwrap().task_id, Some(task.id));
}
