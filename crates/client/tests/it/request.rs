//! A message with wishes: each is on the wire, and does what it says.

use std::time::Duration;

use chancery_client::{Client, webhook::Receiver};
use chancery_core::{ErrorKind, Message, PushConfig, TaskState};
use serde_json::json;

use crate::{
    agent::{GRPC_WAYS, JSON_WAYS, LONG, serve, text_of},
    peer::Peer,
};

/// V10-SEND-009: the webhook of a request names no task.
#[tokio::test]
async fn every_wish_is_on_the_wire() {
    let peer = Peer::agent(|card| card.push_notifications(true).streaming(true)).await;
    let agent = Client::connect(&peer.url).await.unwrap();
    let request = agent
        .request(Message::user("hi").metadata("of", "the message"))
        .to_task("t-1")
        .in_context("c-1")
        .referring_to("t-0")
        .history_length(3)
        .accepted_output_modes(["text/plain", "application/json"])
        .push(PushConfig::new("https://me.example/hook").token("s"))
        .return_immediately()
        .metadata("of", "the request")
        .extension("urn:x")
        .idempotency_key("k-1");
    request.clone().send().await.unwrap();
    drop(request.stream().await.unwrap());
    for call in peer.calls() {
        let params = &call.json()["params"];
        assert_eq!((&params["message"]["taskId"], &params["message"]["contextId"]), (&json!("t-1"), &json!("c-1")));
        assert_eq!((&params["message"]["metadata"], &params["metadata"]), (&json!({"of": "the message"}), &json!({"of": "the request"})));
        assert_eq!(params["message"]["referenceTaskIds"], json!(["t-0"]));
        assert_eq!(
            params["configuration"],
            json!({
                "historyLength": 3,
                "acceptedOutputModes": ["text/plain", "application/json"],
                "taskPushNotificationConfig": {"url": "https://me.example/hook", "token": "s"},
                "returnImmediately": true,
            })
        );
        assert!(call.header("a2a-extensions").unwrap().contains("urn:x"), "{call:?}");
        assert_eq!(call.header("idempotency-key"), Some("k-1"));
    }
}

#[tokio::test]
async fn wishes_are_granted_in_every_way() {
    let server = serve().await;
    for way in JSON_WAYS.into_iter().chain(GRPC_WAYS) {
        let agent = way.to(server.url());
        let bare = agent.request("work bare").history_length(0).send().await.unwrap();
        assert!(bare.task().unwrap().history.is_empty(), "{way:?}");
        let asked = agent.send("ask Which quay?").await.unwrap();
        let task = asked.task().unwrap();
        let reply = agent.request("the second").to_task(task.id.clone()).in_context(task.context_id.clone()).send().await.unwrap();
        assert_eq!((text_of(reply.task().unwrap()).as_str(), reply.state()), ("heard the second", TaskState::Completed), "{way:?}");
        // A head knows its task.
        let asked = agent.send("ask Which quay?").await.unwrap();
        let mut events = asked.head().unwrap().request("the third").history_length(0).stream().await.unwrap();
        let mut last = None;
        while let Some(update) = tokio::time::timeout(LONG, events.try_next()).await.unwrap().unwrap() {
            last = update.event.state().or(last);
        }
        assert_eq!(last, Some(TaskState::Completed), "{way:?}");
        let late = agent.request("wait").timeout(Duration::from_millis(300)).send().await.unwrap_err();
        assert_eq!(late.kind(), ErrorKind::Timeout, "{way:?}");
    }
    let agent = Client::connect(server.url()).await.unwrap();
    let working = agent.request("wait").return_immediately().send().await.unwrap();
    assert!(!working.state().is_terminal(), "{working:?}");
    agent.cancel(working.task().unwrap().id.clone()).await.unwrap();
    let mut hook = Receiver::new().token("s").listen("127.0.0.1:0").await.unwrap();
    agent.request("work told").push(PushConfig::new(hook.url()).token("s")).send().await.unwrap();
    let told = tokio::time::timeout(LONG, hook.next()).await.unwrap().unwrap();
    assert!(!told.task_id().is_empty());
    server.shutdown().await;
}
