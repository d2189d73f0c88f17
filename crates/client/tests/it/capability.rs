//! What the card does not offer: refused before it is sent, or done another way.

use std::{sync::Arc, time::Duration};

use chancery::Server;
use chancery_client::{Client, Trouble, TroubleKind};
use chancery_core::{
    Binding, Card, DeletePushConfig, Error, ErrorKind, Event, GetExtendedCard, GetPushConfig, ListPushConfigs, Operations as _, PushConfig,
    SendMessage, Subscribe, TaskState, Version,
};
use chancery_engine::store::Memory;
use tokio::sync::Semaphore;

use crate::{
    agent::{LONG, caller, obedient, paced},
    peer::Peer,
};

fn hooked() -> SendMessage {
    let mut send = SendMessage::new("hi");
    send.configuration.push_config = Some(Box::new(PushConfig::new("https://me.example/hook")));
    send
}

/// What each optional operation ends with.
async fn refusals(agent: &Client) -> Vec<(&'static str, Error)> {
    let (caller, config) = (caller(), PushConfig::new("https://me.example/hook").for_task("t"));
    vec![
        ("streaming", agent.stream_message(&caller, SendMessage::new("hi")).await.map(drop).unwrap_err()),
        ("streaming", agent.stream_message(&caller, hooked()).await.map(drop).unwrap_err()),
        ("streaming", agent.subscribe(&caller, Subscribe::new("t")).await.map(drop).unwrap_err()),
        ("pushNotifications", agent.send_message(&caller, hooked()).await.map(drop).unwrap_err()),
        ("pushNotifications", agent.create_push_config(&caller, config).await.map(drop).unwrap_err()),
        ("pushNotifications", agent.get_push_config(&caller, GetPushConfig::new("t", "p")).await.map(drop).unwrap_err()),
        ("pushNotifications", agent.list_push_configs(&caller, ListPushConfigs::new("t")).await.map(drop).unwrap_err()),
        ("pushNotifications", agent.delete_push_config(&caller, DeletePushConfig::new("t", "p")).await.unwrap_err()),
        ("extendedAgentCard", agent.get_extended_card(&caller, GetExtendedCard::default()).await.map(drop).unwrap_err()),
    ]
}

/// V10-CAP-002.
#[tokio::test]
async fn what_the_card_does_not_offer_is_refused_before_it_is_sent() {
    for said in [Some(false), None] {
        let peer = Peer::agent(|mut card| {
            card.capabilities.streaming = said;
            card.capabilities.push_notifications = said;
            card.capabilities.extended_agent_card = said;
            card
        })
        .await;
        let agent = Client::connect(&peer.url).await.unwrap();
        for (member, error) in refusals(&agent).await {
            let kind = match member {
                "pushNotifications" => ErrorKind::PushNotificationNotSupported,
                _ => ErrorKind::UnsupportedOperation,
            };
            assert_eq!((error.kind(), Trouble::of(&error).map(Trouble::kind)), (kind, Some(TroubleKind::NotOffered)), "{error:?}");
            assert!(error.to_string().contains(&format!("{member}: false")), "{error}");
        }
        assert!(peer.calls().is_empty(), "{said:?}");
        assert_eq!(agent.send("hi").await.unwrap().text(), "hello");
    }
}

#[tokio::test]
async fn a_push_config_without_an_address_is_not_sent() {
    let peer = Peer::agent(|card| card.push_notifications(true).streaming(true)).await;
    let mut send = hooked();
    send.configuration.push_config = Some(Box::new(PushConfig::new(" ")));
    for agent in [Client::connect(&peer.url).await.unwrap(), Client::over(Binding::JsonRpc, Version::V1_0, &peer.url).unwrap()] {
        for error in [
            agent.create_push_config(&caller(), PushConfig::default().for_task("t")).await.map(drop).unwrap_err(),
            agent.send_message(&caller(), send.clone()).await.map(drop).unwrap_err(),
            agent.stream_message(&caller(), send.clone()).await.map(drop).unwrap_err(),
        ] {
            assert_eq!(error.kind(), ErrorKind::InvalidParams, "{error:?}");
            assert!(error.to_string().contains("has no url"), "{error}");
        }
    }
    assert!(peer.calls().is_empty());
}

#[tokio::test]
async fn without_a_card_everything_is_sent_as_asked() {
    let peer = Peer::agent(|card| card.streaming(false)).await;
    let agent = Client::over(Binding::JsonRpc, Version::V1_0, &peer.url).unwrap();
    let mut events = agent.stream("hi").await.unwrap();
    while events.try_next().await.unwrap().is_some() {}
    agent.send_message(&caller(), hooked()).await.unwrap();
    let methods: Vec<_> = peer.calls().iter().map(|call| call.json()["method"].as_str().unwrap().to_owned()).collect();
    assert_eq!(methods, ["SendStreamingMessage", "SendMessage"]);
}

/// A stream where there is none: the message is sent, and its task read until it ends.
#[tokio::test]
async fn an_agent_without_streams_is_polled_for_a_stream() {
    let gate = Arc::new(Semaphore::new(0));
    let card = || Card::new("Plain", "Has no streams").skill("work", "Works").streaming(false);
    let server = Server::new(card(), paced(&gate)).store(Memory::new()).bind("127.0.0.1:0").await.unwrap();
    for (binding, version) in [
        (Binding::JsonRpc, Version::V1_0),
        (Binding::HttpJson, Version::V1_0),
        (Binding::Grpc, Version::V1_0),
        (Binding::JsonRpc, Version::V0_3),
    ] {
        let builder = Client::builder().bindings([binding]).versions([version]).poll_interval(Duration::from_millis(100));
        let agent = builder.connect(server.url()).await.unwrap();
        let mut events = agent.stream("3").await.unwrap();
        let first = tokio::time::timeout(LONG, events.try_next()).await.unwrap().unwrap().unwrap();
        assert_eq!(first.event.state(), Some(TaskState::Working), "{binding} {version}: {first}");
        gate.add_permits(3);
        let (mut written, mut last) = (String::new(), None);
        while let Some(update) = tokio::time::timeout(LONG, events.try_next()).await.unwrap().unwrap() {
            last = update.event.state().or(last);
            if let Event::Artifact(_) = &*update.event {
                written.push_str(&update.to_string());
            }
        }
        assert_eq!((written.as_str(), last), ("0;1;2;", Some(TaskState::Completed)), "{binding} {version}");
        let task = events.head().unwrap().task_id().clone();
        let mut watched = agent.watch(task).await.unwrap();
        let whole = watched.try_next().await.unwrap().unwrap();
        assert!(whole.to_string().ends_with("completed\n0;1;2;"), "{whole}");
        assert!(watched.try_next().await.unwrap().is_none());
    }
    server.shutdown().await;

    let server = Server::new(card(), obedient).store(Memory::new()).bind("127.0.0.1:0").await.unwrap();
    let agent = Client::connect(server.url()).await.unwrap();
    let mut events = agent.stream("reply yes").await.unwrap();
    assert!(events.try_next().await.unwrap().unwrap().to_string().ends_with("completed: yes"));
    assert!(events.try_next().await.unwrap().is_none());
    server.shutdown().await;
}
