//! The store in a file: the contract, and what only a file can do: be reopened, be full, be of
//! somebody else.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use chancery_core::{Bytes, Seq, TaskId, TaskState, Timestamp};
use chancery_engine::store::{
    Commit, Delivery, Error, Filter, KeyAnswer, KeyRecord, Lease, Owner, Row, Settled, Sqlite, Store, TaskFacts,
    sqlite::{Durability, Options},
    suite,
};
use tokio::task::JoinSet;

use crate::folder::Folder;

fn owner() -> Owner {
    Owner::new("clerk", "ada")
}

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_unix(1_772_442_907 + seconds, 0).unwrap()
}

fn made(id: &str, state: TaskState, bytes: usize) -> Commit {
    let seq = Seq::new(1);
    Commit::new(TaskFacts::new(id, "c", state, at(0), seq), Seq::START, Row::new(seq, seq, Bytes::from(vec![b'x'; bytes])))
}

fn first(limit: usize) -> Filter {
    let mut filter = Filter::default();
    filter.limit = limit;
    filter
}

async fn keeps_the_contract_with(durability: Durability) {
    let (folder, number) = (Folder::new(), AtomicUsize::new(0));
    let make = async || {
        let file = folder.file(&format!("{}.db", number.fetch_add(1, Ordering::Relaxed)));
        let store = Sqlite::open_with(file, Options::new().durability(durability)).await.unwrap();
        Arc::new(store) as Arc<dyn Store>
    };
    suite::run(make).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn keeps_the_contract() {
    keeps_the_contract_with(Durability::Power).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn keeps_the_contract_without_fsync() {
    keeps_the_contract_with(Durability::Process).await;
}

#[tokio::test]
async fn everything_is_there_after_closing_and_opening() {
    let folder = Folder::new();
    let file = folder.file("tasks.db");
    let mut commit = made("t", TaskState::Working, 10);
    commit.snapshot = Some(Bytes::from("snapshot"));
    commit.lease = Some(Lease::new("host-1", at(15), 2));
    commit.configs = vec![("p".into(), Bytes::from("config"))];
    commit.deliveries = vec![Delivery::new("p".into(), Seq::new(1)), Delivery::new("q".into(), Seq::new(1))];
    commit.key = Some(KeyRecord::new("k", u64::MAX, KeyAnswer::Task("t".into()), at(100)));
    let task = TaskId::from("t");

    let store = Sqlite::open(&file).await.unwrap();
    store.commit(&owner(), &commit).await.unwrap();
    store.settle(store.due("clerk", at(1), at(2), 1).await.unwrap()[0].id, Settled::Dead).await.unwrap();
    let read = async |store: &Sqlite| {
        (
            store.task(&owner(), &task).await.unwrap(),
            store.rows(&owner(), &task, Seq::START, 9).await.unwrap(),
            store.list(&owner(), first(9)).await.unwrap(),
            store.key(&owner(), "k", at(1)).await.unwrap(),
            store.configs(&owner(), &task).await.unwrap(),
            store.expired("clerk", at(16), 9).await.unwrap(),
            (store.dead(&owner(), 9).await.unwrap(), store.next_due("clerk").await.unwrap()),
        )
    };
    let before = read(&store).await;
    store.close().await;
    assert!(matches!(store.task(&owner(), &task).await, Err(Error::Unavailable(_))));
    assert!(matches!(store.renew("host-1", at(1)).await, Err(Error::Unavailable(_))));
    drop(store);
    assert!(!folder.file("tasks.db-wal").exists(), "a closed store is one file");

    let store = Sqlite::open(&file).await.unwrap();
    let after = read(&store).await;
    assert_eq!(format!("{after:?}"), format!("{before:?}"));
}

#[tokio::test]
async fn dropping_a_store_finishes_what_was_asked_for() {
    let folder = Folder::new();
    let file = folder.file("tasks.db");
    let store = Sqlite::open(&file).await.unwrap();
    for number in 0..100 {
        // Polled once: queued, and then nobody waits.
        let (owner, id) = (owner(), format!("t-{number}"));
        let made = made(&id, TaskState::Working, 10);
        let mut commit = store.commit(&owner, &made);
        let polled = std::future::poll_fn(|cx| std::task::Poll::Ready(commit.as_mut().poll(cx))).await;
        drop(polled);
    }
    drop(store);
    let store = Sqlite::open(&file).await.unwrap();
    assert_eq!(store.list(&owner(), first(0)).await.unwrap().total, 100);
}

#[tokio::test]
async fn a_full_file_refuses_writes_and_takes_them_again_when_there_is_room() {
    let folder = Folder::new();
    let options = Options::new().durability(Durability::Process).max_bytes(1024 * 1024);
    let store = Sqlite::open_with(folder.file("tasks.db"), options).await.unwrap();
    let mut stored = 0;
    let error = loop {
        match store.commit(&owner(), &made(&format!("t-{stored}"), TaskState::Completed, 10_000)).await {
            Ok(()) => stored += 1,
            Err(error) => break error,
        }
    };
    assert!(matches!(error, Error::Unavailable(_)), "{error:?}");
    assert!(std::error::Error::source(&error).unwrap().to_string().contains("full"), "{error:?}");
    assert!((20..200).contains(&stored), "{stored}");
    // Nothing of the refused one is there, all of the others is, and it can be read.
    assert_eq!(store.task(&owner(), &TaskId::from(format!("t-{stored}"))).await.unwrap(), None);
    let listing = store.list(&owner(), first(1_000)).await.unwrap();
    assert_eq!((listing.total, listing.tasks.len()), (stored, stored));

    assert_eq!(store.purge("clerk", at(1), at(0), 10).await.unwrap(), 10);
    for number in 0..5 {
        store.commit(&owner(), &made(&format!("new-{number}"), TaskState::Completed, 10_000)).await.unwrap();
    }
    assert_eq!(store.list(&owner(), first(0)).await.unwrap().total, stored - 5);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn when_a_batch_finds_the_disk_full_nobody_in_it_is_told_otherwise() {
    let folder = Folder::new();
    let options = Options::new().durability(Durability::Process).max_bytes(1024 * 1024);
    let store = Arc::new(Sqlite::open_with(folder.file("tasks.db"), options).await.unwrap());
    let mut writers = JoinSet::new();
    for number in 0..400 {
        let store = store.clone();
        writers.spawn(async move {
            let id = format!("t-{number}");
            let result = store.commit(&owner(), &made(&id, TaskState::Working, 10_000)).await;
            assert!(matches!(result, Ok(()) | Err(Error::Unavailable(_))), "{result:?}");
            (id, result.is_ok())
        });
    }
    for (id, acknowledged) in writers.join_all().await {
        assert_eq!(store.task(&owner(), &TaskId::from(id)).await.unwrap().is_some(), acknowledged);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_write_that_the_database_refuses_does_not_harm_its_neighbors() {
    let folder = Folder::new();
    let file = folder.file("tasks.db");
    let store = Arc::new(Sqlite::open(&file).await.unwrap());
    let other = rusqlite::Connection::open(&file).unwrap();
    other
        .execute_batch(
            "CREATE TRIGGER poison AFTER INSERT ON log WHEN NEW.payload = x'78' BEGIN SELECT RAISE(ABORT, 'poison'); END;
             BEGIN IMMEDIATE",
        )
        .unwrap();
    // While another holds the lock, they gather in the queue.
    let mut writers = JoinSet::new();
    for number in 0..100 {
        let store = store.clone();
        let bytes = if number % 10 == 5 { 1 } else { 20 };
        writers.spawn(async move { (bytes, store.commit(&owner(), &made(&format!("t-{number}"), TaskState::Working, bytes)).await) });
    }
    other.execute_batch("COMMIT").unwrap();
    for (bytes, result) in writers.join_all().await {
        assert_eq!(result.is_ok(), bytes > 1, "{result:?}");
    }
    assert_eq!(store.list(&owner(), first(0)).await.unwrap().total, 90);
}

#[tokio::test]
async fn a_full_queue_is_refused_at_once() {
    let folder = Folder::new();
    let file = folder.file("tasks.db");
    let store = Arc::new(Sqlite::open_with(&file, Options::new().durability(Durability::Process)).await.unwrap());
    let other = rusqlite::Connection::open(&file).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    // The writer holds at most 256 of them; 4,096 wait; the rest must not.
    let mut writers = JoinSet::new();
    for number in 0..5_000 {
        let store = store.clone();
        writers.spawn(async move { store.commit(&owner(), &made(&format!("t-{number}"), TaskState::Working, 1)).await });
    }
    let refused = async {
        for _ in 0..5_000 - 4_096 - 256 {
            let result = writers.join_next().await.unwrap().unwrap();
            assert!(matches!(result, Err(Error::Unavailable(_))), "{result:?}");
        }
    };
    tokio::time::timeout(Duration::from_secs(8), refused).await.unwrap();
    other.execute_batch("COMMIT").unwrap();
    let answered = writers.join_all().await.iter().filter(|result| result.is_ok()).count();
    assert!(answered >= 4_096, "{answered}");
    assert_eq!(store.list(&owner(), first(0)).await.unwrap().total, answered);
}

#[tokio::test]
async fn totals_are_counted_again_after_another_process_wrote() {
    let folder = Folder::new();
    let file = folder.file("tasks.db");
    let (ours, theirs) = (Sqlite::open(&file).await.unwrap(), Sqlite::open(&file).await.unwrap());
    ours.commit(&owner(), &made("a", TaskState::Working, 1)).await.unwrap();
    assert_eq!(ours.list(&owner(), first(0)).await.unwrap().total, 1);
    theirs.commit(&owner(), &made("b", TaskState::Working, 1)).await.unwrap();
    ours.commit(&owner(), &made("c", TaskState::Working, 1)).await.unwrap();
    assert_eq!(ours.list(&owner(), first(0)).await.unwrap().total, 3);
}

#[tokio::test]
async fn a_list_that_was_asked_for_before_has_what_anybody_wrote_since() {
    let folder = Folder::new();
    let file = folder.file("tasks.db");
    let (own, other) = (Sqlite::open_with(&file, Options::new().readers(1)).await.unwrap(), Sqlite::open(&file).await.unwrap());
    let mut filter = first(3);
    filter.context = Some("c".into());
    for number in 1..=8 {
        let store = if number % 2 == 0 { &own } else { &other };
        store.commit(&owner(), &made(&number.to_string(), TaskState::Completed, 10)).await.unwrap();
        for _ in 0..2 {
            let page = own.list(&owner(), filter.clone()).await.unwrap();
            assert_eq!((page.tasks.len(), page.total), (number.min(3), number));
            assert_eq!(page.tasks[0].head.id, TaskId::from(number.to_string()));
        }
        assert!(own.list(&Owner::new("clerk", "bob"), filter.clone()).await.unwrap().tasks.is_empty());
    }
}

async fn refused(file: &std::path::Path, reason: &str) {
    let error = Sqlite::open(file).await.unwrap_err();
    assert!(matches!(error, Error::Corrupt(_)), "{error:?}");
    let source = std::error::Error::source(&error).unwrap().to_string();
    assert!(source.contains(reason), "{source}");
}

#[tokio::test]
async fn a_newer_schema_is_refused_and_left_alone() {
    let folder = Folder::new();
    let file = folder.file("tasks.db");
    drop(Sqlite::open(&file).await.unwrap());
    let set = |version: i64| rusqlite::Connection::open(&file).unwrap().pragma_update(None, "user_version", version).unwrap();
    set(99);
    let bytes = std::fs::read(&file).unwrap();
    refused(&file, "the schema has version 99, this program knows versions up to 1").await;
    assert!(std::fs::read(&file).unwrap() == bytes);
    set(1);
    drop(Sqlite::open(&file).await.unwrap());
}

/// Guarantee G23: a file of an earlier release is read, and brought up to date if need be, with what is in it.
#[tokio::test]
async fn a_file_of_the_first_schema_is_read() {
    let folder = Folder::new();
    let file = folder.file("tasks.db");
    let old = rusqlite::Connection::open(&file).unwrap();
    old.execute_batch(include_str!("../../src/store/sqlite/migrations/1.sql")).unwrap();
    old.execute_batch(
        "PRAGMA application_id = 1128812099; PRAGMA user_version = 1;
         INSERT INTO owner VALUES (1, '', 'clerk', 'ada');
         INSERT INTO task VALUES (1, 'c', 0, 't', 1, 2, 1, NULL);
         INSERT INTO log VALUES (16777217, 1, x'00');
         INSERT INTO lease VALUES (1, 'somebody', 9000000000000000000, 1);
         INSERT INTO push_config VALUES (1, 'hook', x'00');
         INSERT INTO outbox VALUES (1, 1, 'hook', 1, 0, 0, 0, NULL);",
    )
    .unwrap();
    drop(old);
    let store = Sqlite::open(&file).await.unwrap();
    let owner = Owner::new("clerk", "ada");
    assert_eq!(store.task(&owner, &"t".into()).await.unwrap().unwrap().lease.unwrap().holder, "somebody".into());
    store.put_alias(&owner, &"n".into(), &"t".into(), Timestamp::MIN).await.unwrap();
    assert_eq!(store.alias(&owner, &"n".into()).await.unwrap(), Some("t".into()));
    let late = Timestamp::from_unix_millis(1_772_442_907_000).unwrap();
    assert_eq!(store.due("clerk", late, late, 10).await.unwrap().len(), 1);
}

#[tokio::test]
async fn a_file_of_another_kind_is_refused() {
    let folder = Folder::new();
    let file = folder.file("other.db");
    rusqlite::Connection::open(&file).unwrap().execute_batch("CREATE TABLE task (id)").unwrap();
    refused(&file, "another program").await;
    let file = folder.file("letter.txt");
    std::fs::write(&file, "Dear Sir, ".repeat(1_000)).unwrap();
    refused(&file, "not a database").await;
    for nowhere in [folder.file("missing/tasks.db"), folder.file(""), ":memory:".into(), "".into()] {
        let error = Sqlite::open(&nowhere).await.unwrap_err();
        assert!(matches!(error, Error::Unavailable(_)), "{nowhere:?}: {error:?}");
    }
}

#[cfg(unix)]
#[tokio::test]
async fn a_new_file_is_readable_by_its_owner_only() {
    use std::os::unix::fs::PermissionsExt;
    let folder = Folder::new();
    let store = Sqlite::open(folder.file("tasks.db")).await.unwrap();
    store.commit(&owner(), &made("t", TaskState::Working, 1)).await.unwrap();
    for name in ["tasks.db", "tasks.db-wal", "tasks.db-shm"] {
        let mode = std::fs::metadata(folder.file(name)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{name}");
    }
}
