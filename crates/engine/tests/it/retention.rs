//! Finished tasks are forgotten when their time is over, and only they.

use std::{sync::Arc, time::Duration};

use chancery_core::{Caller, ErrorKind, GetTask, ListPushConfigs, ListTasks, Operations, SendMessage, SendReply, Subscribe, TaskId};
use chancery_engine::{
    Engine,
    clock::ManualClock,
    store::{Memory, Store},
};

use crate::operations::{card, obedient};

const AGE: Duration = Duration::from_secs(3_600);

fn anyone() -> Caller {
    Caller::anonymous()
}

async fn send(engine: &Engine, text: &str) -> TaskId {
    let mut request = SendMessage::new(text);
    request.configuration.return_immediately = text.starts_with("wait");
    match engine.send_message(&anyone(), request).await.unwrap() {
        SendReply::Task(task) => task.id.clone(),
        SendReply::Message(message) => panic!("a message: {}", message.text()),
    }
}

async fn known(engine: &Engine, id: &TaskId) -> bool {
    match engine.get_task(&anyone(), GetTask::new(id.clone())).await {
        Ok(_) => true,
        Err(error) => {
            assert_eq!(error.kind(), ErrorKind::TaskNotFound);
            false
        }
    }
}

async fn check(store: Arc<dyn Store>) {
    let clock = ManualClock::new(1_772_442_907_000);
    let engine = Engine::new(card(), obedient).shared_store(store).clock(clock.clone()).retention(Some(AGE)).by_hand().start();
    let mut old = Vec::new();
    for text in ["work hard", "fail badly", "reject politely"] {
        old.push(send(&engine, text).await);
    }
    let kept = [send(&engine, "ask Which quay?").await, send(&engine, "auth a key").await, send(&engine, "wait").await];
    clock.advance(AGE);
    let young = send(&engine, "work hard").await;
    engine.look_after().await.unwrap();
    for id in &old {
        assert!(known(&engine, id).await, "forgotten too early");
    }
    clock.advance(Duration::from_millis(1));
    engine.look_after().await.unwrap();
    for id in &old {
        assert!(!known(&engine, id).await, "not forgotten");
        let subscribed = engine.subscribe(&anyone(), Subscribe::new(id.clone())).await;
        assert_eq!(subscribed.err().unwrap().kind(), ErrorKind::TaskNotFound);
        let configs = engine.list_push_configs(&anyone(), ListPushConfigs::new(id.clone())).await;
        assert_eq!(configs.unwrap_err().kind(), ErrorKind::TaskNotFound);
    }
    for id in kept.iter().chain([&young]) {
        assert!(known(&engine, id).await);
    }
    clock.advance(AGE * 1_000);
    engine.look_after().await.unwrap();
    assert!(!known(&engine, &young).await);
    for id in &kept {
        assert!(known(&engine, id).await, "a task that is not finished was forgotten");
    }
    assert_eq!(engine.list_tasks(&anyone(), ListTasks::default()).await.unwrap().decode().unwrap().total_size, 3);
}

#[tokio::test]
async fn finished_tasks_are_forgotten_after_their_time_and_others_never() {
    check(Arc::new(Memory::new())).await;
}

#[cfg(feature = "sqlite")]
#[tokio::test]
async fn finished_tasks_are_forgotten_by_sqlite_too() {
    let folder = crate::folder::Folder::new();
    check(Arc::new(chancery_engine::store::Sqlite::open(folder.file("tasks.db")).await.unwrap())).await;
}

/// More than one batch goes in one look, so that a busy server does not grow for ever.
#[tokio::test]
async fn many_old_tasks_are_forgotten_in_one_look() {
    let clock = ManualClock::new(1_772_442_907_000);
    let engine = Engine::new(card(), obedient).clock(clock.clone()).retention(Some(AGE)).by_hand().start();
    for _ in 0..450 {
        send(&engine, "work hard").await;
    }
    clock.advance(AGE * 2);
    engine.look_after().await.unwrap();
    assert_eq!(engine.list_tasks(&anyone(), ListTasks::default()).await.unwrap().decode().unwrap().total_size, 0);
}

#[tokio::test]
async fn without_an_age_nothing_is_forgotten() {
    let clock = ManualClock::new(1_772_442_907_000);
    let engine = Engine::new(card(), obedient).clock(clock.clone()).retention(None).by_hand().start();
    let id = send(&engine, "work hard").await;
    clock.advance(AGE * 100_000);
    engine.look_after().await.unwrap();
    assert!(known(&engine, &id).await);
}
