//! What an engine has at hand is what its operations say, to the letter.

use std::{sync::Arc, time::Duration};

use chancery_core::{Caller, ErrorKind, GetTask, ListTasks, Operations, Request, SendMessage, SendReply, TaskId, TaskState};
use chancery_engine::{
    Engine,
    clock::ManualClock,
    store::{Memory, Store},
};

use crate::operations::{card, obedient};

async fn send(engine: &Engine, caller: &Caller, text: &str) -> TaskId {
    let mut request = SendMessage::new(text);
    request.configuration.return_immediately = text.starts_with("wait");
    match engine.send_message(caller, request).await.unwrap() {
        SendReply::Task(task) => task.id.clone(),
        SendReply::Message(message) => panic!("a message: {}", message.text()),
    }
}

async fn text(engine: &Engine, caller: &Caller, request: Request) -> Result<String, ErrorKind> {
    let mut text = b"what was there ".to_vec();
    assert!(engine.at_hand(caller, &request, &mut text).await.map_err(|error| error.kind())?, "at hand");
    Ok(String::from_utf8(text).unwrap().strip_prefix("what was there ").unwrap().to_owned())
}

/// Every page of every list: as it is at hand, and as the operation says it.
async fn lists_agree(engine: &Engine, caller: &Caller) {
    for (page_size, artifacts, state) in [
        (None, None, TaskState::Unspecified),
        (Some(2), Some(true), TaskState::Unspecified),
        (Some(3), Some(false), TaskState::Completed),
        (Some(1), None, TaskState::Submitted),
    ] {
        let mut request = ListTasks::default();
        (request.page_size, request.include_artifacts, request.status) = (page_size, artifacts, state);
        loop {
            let page = engine.list_tasks(caller, request.clone()).await.unwrap();
            let expected = Ok(serde_json::to_string(&page).unwrap());
            assert_eq!(text(engine, caller, Request::ListTasks(request.clone())).await, expected);
            request.page_token = page.next_page_token;
            if request.page_token.is_empty() {
                break;
            }
        }
    }
}

async fn check(store: Arc<dyn Store>) {
    const AGE: Duration = Duration::from_secs(3_600);
    let clock = ManualClock::new(1_772_442_907_000);
    let engine = Engine::new(card(), obedient).shared_store(store).clock(clock.clone()).retention(Some(AGE)).by_hand().start();
    let (me, you) = (Caller::new("me"), Caller::new("you"));
    let mut mine = Vec::new();
    for words in ["work é \u{2028}", "chunks 70", "fail badly", "reject politely", "ask Which quay?", "wait", "work again"] {
        mine.push(send(&engine, &me, words).await);
        clock.advance(Duration::from_millis(3));
    }
    // The first round finds nothing kept, the second everything that is finished.
    for _ in 0..2 {
        for id in &mine {
            let task = engine.get_task(&me, GetTask::new(id.clone())).await.unwrap();
            let expected = Ok(serde_json::to_string(&task).unwrap());
            assert_eq!(text(&engine, &me, Request::GetTask(GetTask::new(id.clone()))).await, expected);
            let somebody_else = text(&engine, &you, Request::GetTask(GetTask::new(id.clone()))).await;
            assert_eq!(somebody_else, Err(ErrorKind::TaskNotFound));
            let mut cut = GetTask::new(id.clone());
            cut.history_length = Some(1);
            assert!(!engine.at_hand(&me, &Request::GetTask(cut), &mut Vec::new()).await.unwrap());
        }
        lists_agree(&engine, &me).await;
        lists_agree(&engine, &you).await;
    }
    let mut wrong = ListTasks::default();
    wrong.page_size = Some(0);
    assert_eq!(text(&engine, &me, Request::ListTasks(wrong)).await, Err(ErrorKind::InvalidParams));
    // What is forgotten is not at hand any more either.
    clock.advance(AGE + Duration::from_millis(1));
    engine.look_after().await.unwrap();
    assert_eq!(text(&engine, &me, Request::GetTask(GetTask::new(mine[0].clone()))).await, Err(ErrorKind::TaskNotFound));
    lists_agree(&engine, &me).await;
}

/// V10-GET-001, V10-LIST-001.
#[tokio::test]
async fn what_is_at_hand_is_what_the_operation_says_in_memory() {
    check(Arc::new(Memory::new())).await;
}

/// V10-GET-001, V10-LIST-001.
#[cfg(feature = "sqlite")]
#[tokio::test]
async fn what_is_at_hand_is_what_the_operation_says_in_sqlite() {
    let folder = crate::folder::Folder::new();
    check(Arc::new(chancery_engine::store::Sqlite::open(folder.file("tasks.db")).await.unwrap())).await;
}
