//! Finished tasks go out as they are stored: the JSON of an answer is that of its decoded tasks, to the letter.

use std::{sync::Arc, time::Duration};

use chancery_core::{Caller, ErrorKind, GetTask, ListTasks, Operations, SendMessage, SendReply, Seq, Task, TaskId, TaskState};
use chancery_engine::{
    Engine,
    clock::ManualClock,
    store::{Commit, Memory, Owner, Store},
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

/// The JSON of a task, and the task itself.
async fn task(engine: &Engine, caller: &Caller, request: GetTask) -> Result<(String, Task), ErrorKind> {
    let task = engine.get_task(caller, request).await.map_err(|error| error.kind())?;
    let mut text = b"what was there ".to_vec();
    task.append_json(false, &mut text).unwrap();
    let finished = task.task().unwrap().state().is_terminal();
    assert_eq!(task.decoded().is_none(), finished, "a finished task is not decoded before somebody looks");
    Ok((String::from_utf8(text).unwrap().strip_prefix("what was there ").unwrap().to_owned(), task.into_task().unwrap()))
}

/// The task by its log alone, without what is stored of the whole.
async fn by_log(store: &dyn Store, caller: &Caller, id: &TaskId) -> Task {
    let owner = Owner::new("agent", caller.identity().subject.as_deref().unwrap());
    let stored = store.task(&owner, id).await.unwrap().unwrap();
    let whole = stored.snapshot.is_some_and(|(seq, _)| seq == stored.head.seq);
    assert_eq!(whole, stored.head.state.is_terminal(), "a finished task is stored whole");
    let copy = Memory::new();
    let mut expected = Seq::START;
    for row in store.rows(&owner, id, Seq::START, usize::MAX).await.unwrap() {
        let mut head = stored.head.clone();
        head.seq = row.last;
        let commit = Commit::new(head, std::mem::replace(&mut expected, row.last), row);
        copy.commit(&owner, &commit).await.unwrap();
    }
    let engine = Engine::new(card(), obedient).store(copy).by_hand().start();
    engine.get_task(caller, GetTask::new(id.clone())).await.unwrap().into_task().unwrap()
}

/// Every page of every list, as text and decoded.
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
            let mut text = Vec::new();
            page.append_json(&mut text).unwrap();
            let page = page.decode().unwrap();
            assert!(artifacts == Some(true) || page.tasks.iter().all(|task| task.artifacts.is_empty()));
            assert_eq!(String::from_utf8(text).unwrap(), serde_json::to_string(&page).unwrap());
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
    let engine = Engine::new(card(), obedient).shared_store(store.clone()).clock(clock.clone()).retention(Some(AGE)).by_hand().start();
    let (me, you) = (Caller::new("me"), Caller::new("you"));
    let mut mine = Vec::new();
    for words in ["work é \u{2028}", "chunks 70", "fail badly", "reject politely", "ask Which quay?", "wait", "work again"] {
        mine.push(send(&engine, &me, words).await);
        clock.advance(Duration::from_millis(3));
    }
    for id in &mine {
        let (text, whole) = task(&engine, &me, GetTask::new(id.clone())).await.unwrap();
        assert_eq!(text, serde_json::to_string(&whole).unwrap());
        assert_eq!(whole, by_log(&*store, &me, id).await);
        assert_eq!(task(&engine, &you, GetTask::new(id.clone())).await, Err(ErrorKind::TaskNotFound));
        let mut cut = GetTask::new(id.clone());
        cut.history_length = Some(1);
        let (text, cut) = task(&engine, &me, cut).await.unwrap();
        assert_eq!(text, serde_json::to_string(&cut).unwrap());
        assert!(cut.history.len() <= 1 && cut.artifacts == whole.artifacts);
    }
    lists_agree(&engine, &me).await;
    lists_agree(&engine, &you).await;
    let mut wrong = ListTasks::default();
    wrong.page_size = Some(0);
    assert_eq!(engine.list_tasks(&me, wrong).await.unwrap_err().kind(), ErrorKind::InvalidParams);
    clock.advance(AGE + Duration::from_millis(1));
    engine.look_after().await.unwrap();
    assert_eq!(task(&engine, &me, GetTask::new(mine[0].clone())).await, Err(ErrorKind::TaskNotFound));
    lists_agree(&engine, &me).await;
}

/// V10-GET-001, V10-LIST-001.
#[tokio::test]
async fn a_finished_task_goes_out_as_it_is_stored_in_memory() {
    check(Arc::new(Memory::new())).await;
}

/// V10-GET-001, V10-LIST-001.
#[cfg(feature = "sqlite")]
#[tokio::test]
async fn a_finished_task_goes_out_as_it_is_stored_in_sqlite() {
    let folder = crate::folder::Folder::new();
    check(Arc::new(chancery_engine::store::Sqlite::open(folder.file("tasks.db")).await.unwrap())).await;
}
