//! Webhooks that fail, go away and come back, and servers that are killed meanwhile.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
    time::Duration,
};

use chancery::{
    Artifact, Caller, Card, Engine, Failure, Memory, Mount, Operations, Outcome, Server, Turn,
    core::{Binding, Origin, PushConfig, SendMessage, SendReply, Version},
    engine::push::Schedule,
};
use serde_json::{Value, json};

use crate::{
    process::{Folder, Process, http, until},
    receiver::{Mailbox, Received, Receiver},
    voice::Voice,
};

/// Says twenty things. Its notifications are repeated soon, and often enough for every trial.
fn talker() -> String {
    let pauses = vec!["\"200ms\""; 300].join(", ");
    format!(
        r#"
[push]
schedule = [{pauses}]
[[agent]]
name = "talker"
description = "Says twenty things"
command = ["seq", "1", "20"]
chunk = "\n"
"#
    )
}

/// Sends a message whose task has a webhook; the task's id.
async fn begin(server: &Process, url: &str) -> String {
    let message = json!({"messageId": "m-1", "role": "ROLE_USER", "parts": [{"text": "talk"}]});
    let configuration = json!({"taskPushNotificationConfig": {"id": "hook", "url": url, "token": "t-1"}});
    let body = json!({"message": message, "configuration": configuration});
    let request = http().post(server.url("/message:send")).header("a2a-version", "1.0");
    let answer = request.header("content-type", "application/a2a+json").body(body.to_string()).send().await.unwrap();
    let answer: Value = serde_json::from_str(&answer.text().await.unwrap()).unwrap();
    answer["task"]["id"].as_str().unwrap_or_else(|| panic!("{answer}")).to_owned()
}

async fn jwks(server: &Process) -> Value {
    let text = http().get(server.url("/.well-known/jwks.json")).send().await.unwrap().text().await.unwrap();
    serde_json::from_str(&text).unwrap()
}

/// What was accepted, each notification once, in the order of the first time.
fn accepted(mailbox: &Mailbox) -> Vec<Received> {
    let mut first: Vec<Received> = Vec::new();
    for received in mailbox.received().into_iter().filter(Received::accepted) {
        if !first.iter().any(|known| known.id() == received.id()) {
            first.push(received);
        }
    }
    first
}

/// Every event of the log, in order, signed, and under one name however often it was sent.
async fn assert_told(server: &Process, task: &str, mailbox: &Mailbox) {
    let log = Voice::Rest.log(server.address(), task).await;
    let told = accepted(mailbox);
    assert_eq!(told.iter().map(Received::place).collect::<Vec<_>>(), (1..=log.len() as u64).collect::<Vec<_>>());
    for (received, heard) in told.iter().zip(&log) {
        assert_eq!(received.event(), heard.event);
    }
    let keys = jwks(server).await;
    let mut names = BTreeMap::new();
    for received in mailbox.received() {
        assert!(received.is_signed(&keys), "{received:?}");
        assert_eq!(received.header("x-a2a-notification-token"), "t-1");
        let name = names.entry(received.place()).or_insert_with(|| (received.id().to_owned(), received.body.clone()));
        assert_eq!((received.id(), &received.body), (name.0.as_str(), &name.1), "a notification changed between attempts");
    }
}

#[tokio::test]
async fn a_webhook_that_fails_and_goes_away_hears_everything_in_order() {
    let (folder, mailbox) = (Folder::new(), Mailbox::default());
    let mut server = Process::file(&folder, &talker()).await;
    let keys = jwks(&server).await;
    let failing = Receiver::open("127.0.0.1:0".parse().unwrap(), &mailbox, |_| Some(500));
    let address = failing.address;
    let task = begin(&server, &failing.url()).await;
    until(Duration::from_secs(30), "five attempts", async || (mailbox.received().len() >= 5).then_some(())).await;
    let firsts = mailbox.received();
    assert!(firsts.iter().all(|received| received.place() == 1), "a later event overtook the first");

    // The port is closed, and the server dies meanwhile.
    failing.close().await;
    server.strike().await;
    let before = mailbox.received().len();
    let taking = Receiver::open(address, &mailbox, |_| Some(200));
    // A delivery that was under way in the killed process is free again a minute after it began.
    until(Duration::from_secs(90), "the first five", async || (accepted(&mailbox).len() >= 5).then_some(())).await;
    assert!(mailbox.received()[..before].iter().all(|received| !received.accepted()));

    taking.close().await;
    server.strike().await;
    let _taking = Receiver::open(address, &mailbox, |_| Some(200));
    let log = Voice::Rest.log(server.address(), &task).await.len();
    assert!(log >= 22, "{log}");
    until(Duration::from_secs(90), "the rest", async || (accepted(&mailbox).len() >= log).then_some(())).await;
    assert_told(&server, &task, &mailbox).await;
    assert_eq!(jwks(&server).await, keys, "the key changed with the process");
}

/// What a process had under way when it was killed is sent again by the next one, when its lease ends.
#[tokio::test]
async fn a_notification_that_was_under_way_when_the_server_died_comes_again() {
    let (folder, mailbox) = (Folder::new(), Mailbox::default());
    let mut server = Process::file(&folder, &talker()).await;
    let silent = Receiver::open("127.0.0.1:0".parse().unwrap(), &mailbox, |_| None);
    let address = silent.address;
    let task = begin(&server, &silent.url()).await;
    until(Duration::from_secs(30), "an attempt", async || (mailbox.received().len() == 1).then_some(())).await;
    server.kill().await;
    silent.close().await;
    let _taking = Receiver::open(address, &mailbox, |_| Some(200));
    server.restart().await;
    let log = Voice::Rest.log(server.address(), &task).await.len();
    until(Duration::from_secs(80), "everything", async || (accepted(&mailbox).len() >= log).then_some(())).await;
    assert_told(&server, &task, &mailbox).await;
}

#[tokio::test]
async fn what_nobody_took_is_kept_and_sent_again_on_demand() {
    async fn worker(turn: Turn) -> Result<Outcome, Failure> {
        turn.status("Working on it").await?;
        Ok(Outcome::complete_with(Artifact::new(turn.text())))
    }
    let mailbox = Mailbox::default();
    let failing = Receiver::open("127.0.0.1:0".parse().unwrap(), &mailbox, |_| Some(503));
    let held = Arc::new(Mutex::new(None::<Engine>));
    let hold = held.clone();
    let card = Card::new("Worker", "Works").skill("work", "Works").push_notifications(true);
    let mount = Mount::agent("/", Engine::new(card, worker)).through(move |engine| {
        *hold.lock().unwrap() = Some(engine.clone());
        Arc::new(engine)
    });
    let schedule = Schedule::new([Duration::from_millis(20), Duration::from_millis(20)]);
    let server = Server::several().mount(mount).store(Memory::new()).schedule(schedule).grace(Duration::ZERO);
    let running = server.bind("127.0.0.1:0").await.unwrap();
    let engine = held.lock().unwrap().clone().unwrap();
    let caller = Caller::anonymous();

    let mut config = PushConfig::new(failing.url());
    config.id = "hook".into();
    config.record.origin = Origin::new(Version::V1_0, Binding::HttpJson);
    let mut request = SendMessage::new("a chart");
    request.configuration.push_config = Some(Box::new(config));
    let SendReply::Task(task) = engine.send_message(&caller, request).await.unwrap() else { panic!("no task") };
    let dead = until(Duration::from_secs(30), "dead letters", async || {
        let dead = engine.dead_letters(&caller, 10).await.unwrap();
        (dead.len() == 4).then_some(dead)
    })
    .await;
    let tried = mailbox.received();
    assert_eq!(tried.iter().map(Received::place).collect::<Vec<_>>(), [1, 1, 1, 2, 2, 2, 3, 3, 3, 4, 4, 4]);
    assert!(dead.iter().all(|letter| letter.task == task.id));

    let address = failing.address;
    failing.close().await;
    let _taking = Receiver::open(address, &mailbox, |_| Some(200));
    assert_eq!(engine.redeliver(&caller, &task.id).await.unwrap(), 4);
    until(Duration::from_secs(30), "what was dead", async || (accepted(&mailbox).len() == 4).then_some(())).await;
    let names = |received: &[Received]| received.iter().map(|received| received.id().to_owned()).collect::<Vec<_>>();
    let mut known = names(&tried);
    known.dedup();
    assert_eq!(names(&accepted(&mailbox)), known);
    assert!(engine.dead_letters(&caller, 10).await.unwrap().is_empty());
    drop(engine);
    held.lock().unwrap().take();
    running.shutdown().await;
}
