//! Processes that are killed while they write: what was acknowledged is there afterwards (G1, G4).

use std::{
    collections::BTreeMap,
    io::{BufRead, BufReader, Write},
    path::Path,
    process::{Command, Stdio},
    sync::Arc,
    time::{Duration, Instant},
};

use chancery_core::{Seq, TaskId, TaskState, Timestamp};
use chancery_engine::store::{Commit, Delivery, Filter, KeyAnswer, KeyRecord, Owner, Row, Sqlite, Store, TaskFacts};

use crate::folder::Folder;

const FILE: &str = "CHANCERY_CRASH_FILE";
const ROUND: &str = "CHANCERY_CRASH_ROUND";
const ROUNDS: u64 = 10;
const WRITERS: u64 = 64;

fn owner() -> Owner {
    Owner::new("clerk", "ada")
}

fn now() -> Timestamp {
    Timestamp::from_unix(1_772_442_907, 0).unwrap()
}

fn payload(id: &str, seq: u64) -> String {
    format!("event {seq} of {id}").repeat(20)
}

fn commit(id: &str, seq: u64) -> Commit {
    let state = if seq == 3 { TaskState::Completed } else { TaskState::Working };
    let place = Seq::new(seq);
    let mut commit =
        Commit::new(TaskFacts::new(id, "c", state, now(), place), Seq::new(seq - 1), Row::new(place, place, payload(id, seq).into()));
    commit.deliveries = vec![Delivery::new("p".into(), place)];
    if seq == 1 {
        let until = Timestamp::from_unix(1_999_999_999, 0).unwrap();
        commit.key = Some(KeyRecord::new(format!("key of {id}"), 7, KeyAnswer::Task(id.into()), until));
    }
    commit
}

/// The child: writes until it is killed, and says what was acknowledged. Does nothing as a test.
#[test]
fn child() {
    let Some(file) = std::env::var_os(FILE) else { return };
    let round = std::env::var(ROUND).unwrap();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).build().unwrap();
    runtime.block_on(async {
        let store = Arc::new(Sqlite::open(file).await.unwrap());
        let writers = (0..WRITERS).map(|writer| tokio::spawn(write(store.clone(), format!("{round}-{writer}"))));
        for writer in writers.collect::<Vec<_>>() {
            writer.await.unwrap();
        }
    });
}

async fn write(store: Arc<Sqlite>, name: String) {
    for number in 0_u64.. {
        let id = format!("{name}-{number}");
        for seq in 1..=3 {
            store.commit(&owner(), &commit(&id, seq)).await.unwrap();
            // One write per line, so that a line is whole or missing.
            let said = std::io::stdout().write_all(format!("ack {id} {seq}\n").as_bytes());
            if said.is_err() {
                return;
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_acknowledged_survives_a_kill() {
    let folder = Folder::new();
    let file = folder.file("tasks.db");
    let mut acknowledged = BTreeMap::new();
    for round in 0..ROUNDS {
        let before = acknowledged.len();
        kill_while_writing(&file, round, &mut acknowledged);
        assert!(acknowledged.len() > before, "round {round} wrote nothing");
        let begun = Instant::now();
        let store = Sqlite::open(&file).await.unwrap();
        assert!(begun.elapsed() < Duration::from_secs(5), "opening took {:?}", begun.elapsed());
        everything_is_there(&store, &acknowledged).await;
    }
    let connection = rusqlite::Connection::open(&file).unwrap();
    let check: String = connection.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
    assert_eq!(check, "ok");
    let strays = "SELECT count(*) FROM log WHERE key >> 24 NOT IN (SELECT key FROM task)";
    assert_eq!(connection.query_row(strays, [], |row| row.get::<_, i64>(0)).unwrap(), 0);
}

/// Starts the child, kills it after some acknowledgements, and notes them all.
fn kill_while_writing(file: &Path, round: u64, acknowledged: &mut BTreeMap<String, u64>) {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["crash::child", "--exact", "--nocapture", "--test-threads", "1"])
        .env(FILE, file)
        .env(ROUND, round.to_string())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    // Another moment each round: the first acknowledgements, the middle of a batch, a checkpoint.
    let enough = 1 + round * 7_919 % 3_001;
    let mut lines = BufReader::new(child.stdout.take().unwrap());
    let (mut line, mut seen) = (String::new(), 0);
    while lines.read_line(&mut line).unwrap() > 0 {
        if let Some((id, seq)) = line.strip_prefix("ack ").and_then(|ack| ack.strip_suffix('\n')).and_then(|ack| ack.split_once(' ')) {
            acknowledged.insert(id.to_owned(), seq.parse().unwrap());
            seen += 1;
        }
        if seen == enough {
            child.kill().unwrap();
        }
        line.clear();
    }
    child.wait().unwrap();
}

async fn everything_is_there(store: &Sqlite, acknowledged: &BTreeMap<String, u64>) {
    for (id, seq) in acknowledged {
        let task = store.task(&owner(), &TaskId::from(id.as_str())).await.unwrap().unwrap_or_else(|| panic!("{id} is lost"));
        let stored = task.head.seq.get();
        assert!(stored >= *seq, "{id}: {stored} of {seq}");
        let rows: Vec<_> = (1..=stored).map(|seq| commit(id, seq).row).collect();
        assert_eq!((task.rows, task.head.state), (rows, commit(id, stored).head.state), "{id}");
        let key = store.key(&owner(), &format!("key of {id}"), now()).await.unwrap();
        assert_eq!(key.map(|key| key.answer), Some(KeyAnswer::Task(id.as_str().into())), "{id}");
    }
    // Each event has its delivery; of what was not acknowledged all is there or nothing.
    let mut filter = Filter::default();
    filter.limit = usize::MAX;
    let all = store.list(&owner(), filter).await.unwrap();
    assert!(all.tasks.len() >= acknowledged.len());
    assert_eq!(all.total, all.tasks.len());
    let due = store.due("clerk", now(), now(), usize::MAX).await.unwrap();
    assert_eq!(due.len(), all.tasks.len());
}
