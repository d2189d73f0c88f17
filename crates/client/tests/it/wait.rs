//! Waits for one task: by its stream, by a subscription, by polling.

use std::{
    sync::atomic::{AtomicUsize, Ordering},
    time::Duration,
};

use axum::response::Response;
use chancery_client::{Builder, Client, TaskWait};
use chancery_core::{Binding, Message, SendMessage, Task, TaskState, Version};

use crate::{
    agent::{LONG, caller, text_of},
    peer::{Peer, json_response},
    proxy,
};

fn quick() -> Builder {
    Client::builder().poll_interval(Duration::from_millis(100))
}

/// The task `t` as JSON.
fn stored(state: &str, result: &str) -> String {
    let artifacts = if result.is_empty() { String::new() } else { format!(r#"{{"artifactId":"a","parts":[{{"text":"{result}"}}]}}"#) };
    format!(r#"{{"id":"t","contextId":"c","status":{{"state":"TASK_STATE_{state}"}},"artifacts":[{artifacts}]}}"#)
}

/// A stream of these results.
fn frames(results: &[String]) -> Response {
    let frames: String = results.iter().map(|result| format!("data: {{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{result}}}\n\n")).collect();
    Response::builder().header("content-type", "text/event-stream").body(frames.into()).unwrap()
}

fn snapshot(state: &str, result: &str) -> String {
    format!(r#"{{"task":{}}}"#, stored(state, result))
}

fn status(state: &str) -> String {
    format!(r#"{{"statusUpdate":{{"taskId":"t","contextId":"c","status":{{"state":"TASK_STATE_{state}"}}}}}}"#)
}

fn chunk(text: &str) -> String {
    format!(r#"{{"artifactUpdate":{{"taskId":"t","contextId":"c","artifact":{{"artifactId":"a","parts":[{{"text":"{text}"}}]}}}}}}"#)
}

fn read(state: &str, result: &str) -> Response {
    json_response(200, format!(r#"{{"jsonrpc":"2.0","id":1,"result":{}}}"#, stored(state, result)).as_bytes())
}

fn over(url: &str) -> Client {
    quick().over(Binding::JsonRpc, Version::V1_0, url).unwrap()
}

fn answer() -> SendMessage {
    SendMessage::new(Message::user("Paris").to_task("t"))
}

/// The state after each event, and whether the event was a replay.
async fn states(wait: &mut TaskWait) -> Vec<(TaskState, bool)> {
    let mut states = Vec::new();
    let events = async {
        while wait.next().await.unwrap().is_some() {
            states.push((wait.task().state(), wait.is_replay()));
        }
    };
    tokio::time::timeout(LONG, events).await.expect("the wait hangs");
    states
}

/// Some servers begin the stream of a follow-up with the task as it is stored, still with its question.
#[tokio::test]
async fn a_replayed_question_does_not_end_the_wait_for_its_answer() {
    for (state, asked) in [("INPUT_REQUIRED", TaskState::InputRequired), ("AUTH_REQUIRED", TaskState::AuthRequired)] {
        let peer = Peer::start(move |_| frames(&[snapshot(state, ""), status("WORKING"), chunk("Booked"), status("COMPLETED")])).await;
        let mut wait = TaskWait::send(&over(&peer.url), caller(), answer()).await.unwrap();
        let seen = states(&mut wait).await;
        let [first, rest @ ..] = seen.as_slice() else { panic!("{seen:?}") };
        assert_eq!(*first, (asked, true));
        assert!(rest.iter().all(|(_, replay)| !replay), "{seen:?}");
        assert_eq!(rest.last(), Some(&(TaskState::Completed, false)));
        assert_eq!(text_of(wait.into_reply().task().unwrap()), "Booked");
    }
}

/// A question that comes as anything else than the first snapshot is a new one.
#[tokio::test]
async fn a_second_question_ends_the_wait() {
    let peer =
        Peer::start(|_| frames(&[snapshot("INPUT_REQUIRED", ""), status("WORKING"), status("INPUT_REQUIRED"), status("WORKING")])).await;
    let mut wait = TaskWait::send(&over(&peer.url), caller(), answer()).await.unwrap();
    assert_eq!(states(&mut wait).await.len(), 3);
    assert_eq!(wait.task().state(), TaskState::InputRequired);
}

/// An agent that asks again at once may have nothing else to show, and hangs up.
#[tokio::test]
async fn a_question_is_the_answer_if_the_stream_ends_with_it() {
    let peer = Peer::start(|_| frames(&[snapshot("INPUT_REQUIRED", "")])).await;
    let mut wait = TaskWait::send(&over(&peer.url), caller(), answer()).await.unwrap();
    assert_eq!(states(&mut wait).await, [(TaskState::InputRequired, true)]);
    assert_eq!(peer.calls().len(), 1, "nothing else is asked");
}

/// Who has heard only what was before has not heard everything.
#[tokio::test]
async fn a_stream_that_is_cut_after_a_replayed_question_is_taken_up_again() {
    let peer = Peer::start(|asked| match asked.json()["method"].as_str() {
        Some("SendStreamingMessage") => frames(&[snapshot("INPUT_REQUIRED", ""), status("WORKING")]),
        _ => frames(&[snapshot("COMPLETED", "Booked")]),
    })
    .await;
    let url = proxy::cutting(peer.url.trim_start_matches("http://").parse().unwrap(), 1, false).await;
    let mut events = over(&url).stream(Message::user("Paris").to_task("t")).await.unwrap();
    let mut seen = Vec::new();
    while let Some(update) = tokio::time::timeout(LONG, events.try_next()).await.expect("the stream hangs").unwrap() {
        seen.push(update.event.state());
    }
    assert_eq!(seen.last(), Some(&Some(TaskState::Completed)), "{seen:?}");
}

/// An agent whose task is working for the first two readings, and then done; it does not know streams.
async fn slow() -> Peer {
    let reads = AtomicUsize::new(0);
    Peer::start(move |asked| match asked.json()["method"].as_str() {
        Some("GetTask") if reads.fetch_add(1, Ordering::SeqCst) < 2 => read("WORKING", ""),
        Some("GetTask") => read("COMPLETED", "done"),
        Some("SendMessage") => {
            json_response(200, format!(r#"{{"jsonrpc":"2.0","id":1,"result":{}}}"#, snapshot("SUBMITTED", "")).as_bytes())
        }
        _ => json_response(200, br#"{"jsonrpc":"2.0","id":1,"error":{"code":-32004,"message":"no"}}"#),
    })
    .await
}

#[tokio::test]
async fn a_task_that_is_polled_comes_whole_whenever_it_has_changed() {
    let peer = slow().await;
    let mut wait = TaskWait::send_and_poll(&over(&peer.url), caller(), SendMessage::new("go")).await.unwrap();
    let expected = [(TaskState::Submitted, false), (TaskState::Working, false), (TaskState::Completed, false)];
    assert_eq!(states(&mut wait).await, expected);
    assert!(wait.is_polling());
    assert_eq!(text_of(wait.task()), "done");
}

#[tokio::test]
async fn a_task_that_cannot_be_subscribed_to_is_polled() {
    let peer = slow().await;
    let mut wait = TaskWait::resume(&over(&peer.url), caller(), Task::new("t", "c", TaskState::Working));
    // Its result, then its end.
    assert_eq!(states(&mut wait).await, [(TaskState::Working, false), (TaskState::Working, false), (TaskState::Completed, false)]);
    assert_eq!(text_of(wait.task()), "done");
}

#[tokio::test]
async fn only_who_says_so_waits_beyond_an_authorization() {
    let reads = AtomicUsize::new(0);
    let peer = Peer::start(move |_| match reads.fetch_add(1, Ordering::SeqCst) {
        0 => read("AUTH_REQUIRED", ""),
        _ => read("COMPLETED", "signed in"),
    })
    .await;
    let (client, task) = (over(&peer.url), Task::new("t", "c", TaskState::AuthRequired));
    let mut wait = TaskWait::resume(&client, caller(), task.clone());
    assert_eq!(states(&mut wait).await, [(TaskState::AuthRequired, false)]);
    assert_eq!(peer.calls().len(), 0);
    let mut wait = TaskWait::poll(&client, caller(), task).beyond_authorization(true);
    assert_eq!(states(&mut wait).await, [(TaskState::AuthRequired, false), (TaskState::Completed, false)]);
}
