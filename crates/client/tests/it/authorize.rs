//! Authorization within a task: the agent asks, the client is told what for and where, and the task goes on.

use std::{future::poll_fn, sync::Arc, time::Duration};

use chancery::{Running, Server};
use chancery_client::Client;
use chancery_core::{Artifact, Caller, Event, GetTask, Message, Operations as _, Part, SendMessage, Subscribe, TaskState};
use chancery_engine::{Failure, Outcome, Turn, store::Memory};
use tokio::sync::Notify;

use crate::agent::{GRPC_WAYS, JSON_WAYS, LONG, caller, card, next, text_of};

/// What has to be authorized, and where.
const PAGE: &str = "https://bank.example/authorize?for=booking-7";

/// An agent that needs a person's leave. It comes out of band, by the bell, or is declined by a message.
fn careful(bell: &Arc<Notify>) -> impl chancery_engine::Agent {
    let bell = bell.clone();
    move |turn: Turn| {
        let bell = bell.clone();
        async move {
            turn.status("Looking for a flight").await?;
            let asking = turn.require_auth(Part::text(format!("Paying 90 EUR needs your leave: {PAGE}")));
            tokio::select! {
                () = bell.notified() => {
                    // The leave is there; no message of the client was needed for it.
                    turn.status("Booking").await?;
                    Ok::<_, Failure>(Outcome::complete_with(Artifact::new("Booked.")))
                }
                answer = asking => Ok(Outcome::reject(format!("Not booked: {}", answer?.text()))),
            }
        }
    }
}

async fn serve(bell: &Arc<Notify>) -> Running {
    Server::new(card(), careful(bell)).store(Memory::new()).bind("127.0.0.1:0").await.unwrap()
}

/// V10-INTASK-001, V10-INTASK-002, V10-INTASK-003, V10-INTASK-004, V10-INTASK-005, V10-INTASK-006: the work is a task, it is in
/// AUTH_REQUIRED, its status message says what for and where, the open stream stays open meanwhile, and when the leave has come
/// out of band the agent goes on by itself, on the same stream.
#[tokio::test]
async fn a_task_waits_for_leave_and_goes_on_by_itself() {
    for way in [JSON_WAYS[0], JSON_WAYS[1], GRPC_WAYS[0]] {
        let bell = Arc::new(Notify::new());
        let server = serve(&bell).await;
        let agent = way.to(server.url());
        let mut events = agent.stream_message(&caller(), SendMessage::new("Book a flight")).await.unwrap();
        let (mut task, mut asked) = (None, None);
        while asked.is_none() {
            let (_, event) = next(&mut events).await.expect("the stream stays open").unwrap();
            task = task.or_else(|| event.task_id().cloned());
            asked = match event {
                Event::Status(update) if update.status.state == TaskState::AuthRequired => update.status.message,
                Event::Task(task) if task.state() == TaskState::AuthRequired => task.status.message,
                _ => None,
            };
        }
        assert!(asked.unwrap().text().contains(PAGE), "{way:?}");
        let id = task.unwrap();
        let read = agent.get_task(&caller(), GetTask::new(id.clone())).await.unwrap();
        assert_eq!(read.state(), TaskState::AuthRequired);
        assert!(read.status.message.unwrap().text().contains(PAGE));
        // Nothing comes, and nothing ends, until somebody has given leave.
        let quiet = tokio::time::timeout(Duration::from_millis(200), poll_fn(|cx| events.as_mut().poll_next(cx))).await;
        assert!(quiet.is_err(), "{way:?}: the stream said something or ended while leave was waited for");
        bell.notify_one();
        let mut last = TaskState::AuthRequired;
        while let Some(item) = next(&mut events).await {
            last = item.unwrap().1.state().unwrap_or(last);
        }
        assert_eq!(last, TaskState::Completed, "{way:?}");
        let done = agent.get_task(&caller(), GetTask::new(id)).await.unwrap();
        assert_eq!(text_of(&done), "Booked.");
        server.shutdown().await;
    }
}

/// V10-INTASK-007, V10-INTASK-009: who waits may subscribe, or ask again and again; a message for the task is taken meanwhile, and
/// may decline. V10-INTASK-012: being asked has authorized nothing.
#[tokio::test]
async fn a_task_that_waits_for_leave_takes_messages() {
    let bell = Arc::new(Notify::new());
    let server = serve(&bell).await;
    let agent = JSON_WAYS[0].to(server.url());
    let reply = agent.send("Book a flight").await.unwrap();
    let task = reply.task().expect("a task").clone();
    assert_eq!(task.state(), TaskState::AuthRequired);
    assert!(task.artifacts.is_empty(), "nothing was done yet");
    let mut events = agent.subscribe(&caller(), Subscribe::new(task.id.clone())).await.unwrap();
    let (_, first) = next(&mut events).await.unwrap().unwrap();
    assert_eq!(first.state(), Some(TaskState::AuthRequired));
    let answered = agent.send_message(&caller(), SendMessage::new(Message::user("too dear").to_task(task.id.clone()))).await.unwrap();
    assert_eq!(answered.task().map(|task| task.state()), Some(TaskState::Rejected));
    let mut last = None;
    while let Some(item) = next(&mut events).await {
        last = item.unwrap().1.state().or(last);
    }
    assert_eq!(last, Some(TaskState::Rejected));
    let anonymous = Caller::anonymous().deadline(std::time::Instant::now() + LONG);
    let read = agent.get_task(&anonymous, GetTask::new(task.id)).await.unwrap();
    assert!(read.artifacts.is_empty() && read.status.message.unwrap().text().contains("too dear"));
    server.shutdown().await;
}

/// The same task from the card on: a client that knows nothing but an address.
#[tokio::test]
async fn leave_is_asked_for_wherever_the_card_leads() {
    let bell = Arc::new(Notify::new());
    let server = serve(&bell).await;
    let agent = Client::connect(server.url()).await.unwrap();
    let mut events = agent.stream("Book a flight").await.unwrap();
    let mut seen = Vec::new();
    while let Some(event) = tokio::time::timeout(LONG, events.try_next()).await.unwrap().unwrap() {
        let text = event.to_string();
        if text.contains(PAGE) {
            bell.notify_one();
        }
        seen.push(text);
    }
    assert!(seen.iter().any(|text| text.contains(PAGE)), "{seen:?}");
    server.shutdown().await;
}
