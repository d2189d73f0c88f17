//! Whole engines that are killed while callers watch: what anybody has seen is in the log afterwards, at
//! the same place, and no task is left behind (guarantees G1, G3, G5).

use std::{
    collections::BTreeMap,
    fmt::Write as _,
    hash::{DefaultHasher, Hash, Hasher},
    io::{BufRead, BufReader, Write},
    path::Path,
    process::{Command, Stdio},
    sync::mpsc,
    time::{Duration, Instant},
};

use chancery_core::{Caller, Event, EventStream, Operations, SendMessage, Seq, Subscribe, TaskId, TaskState};
use chancery_engine::{
    Builder, Engine, Failure, OnRestart, Outcome, Turn,
    clock::ManualClock,
    store::{Filter, Owner, Sqlite, Store},
};

use crate::{folder::Folder, operations::card};

const FILE: &str = "CHANCERY_KILL_FILE";
const CURSORS: &str = "CHANCERY_KILL_CURSORS";
const POLICY: &str = "CHANCERY_KILL_POLICY";
const KILLS: u64 = 26;
const CALLERS: usize = 64;
const CHUNKS: usize = 6;
const LEASE: Duration = Duration::from_millis(300);

/// Every event that a caller has seen, by task, as a digest; the first has the number 1.
type Seen = BTreeMap<String, Vec<String>>;

async fn agent(turn: Turn) -> Result<Outcome, Failure> {
    turn.status(format!("attempt {}", turn.attempt())).await?;
    let mut artifact = turn.artifact("numbers");
    for number in 0..CHUNKS {
        artifact.push(number.to_string()).await?;
        tokio::time::sleep(Duration::from_millis(3)).await;
    }
    artifact.finish().await?;
    Ok(Outcome::Completed)
}

fn ada() -> Caller {
    Caller::new("ada")
}

fn process(store: Sqlite, policy: OnRestart) -> Builder {
    Engine::new(card(), agent).store(store).lease(LEASE).on_restart(policy)
}

/// One word for the kind, one for everything else.
fn digest(event: &Event) -> String {
    let kind = match event {
        Event::Task(_) => "task",
        Event::Status(_) => "status",
        Event::Artifact(_) => "artifact",
        _ => "other",
    };
    let mut hasher = DefaultHasher::new();
    format!("{event:?}").hash(&mut hasher);
    let state = event.state().map_or("", TaskState::as_str);
    format!("{kind}:{state}:{:x}", hasher.finish())
}

async fn next(stream: &mut EventStream) -> Option<(Seq, Event)> {
    let next = std::future::poll_fn(|cx| stream.as_mut().poll_next(cx));
    tokio::time::timeout(Duration::from_secs(30), next)
        .await
        .expect("the stream stands still")
        .map(Result::unwrap)
        .map(|(seq, event)| (seq, event.into_event()))
}

/// The child: an engine and its callers, who say what they see. Does nothing as a test.
#[test]
fn child() {
    let Some(file) = std::env::var_os(FILE) else { return };
    let policy = if std::env::var(POLICY).unwrap() == "rerun" { OnRestart::Rerun } else { OnRestart::Fail };
    let cursors = std::fs::read_to_string(std::env::var_os(CURSORS).unwrap()).unwrap();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(async {
        let engine = process(Sqlite::open(file).await.unwrap(), policy).start();
        say("\nready\n");
        let mut callers = tokio::task::JoinSet::new();
        // Callers of former processes come back with the last event they saw.
        for (id, seq) in cursors.lines().filter_map(|line| line.split_once(' ')) {
            let caller = ada().resume_after(Seq::new(seq.parse().unwrap()));
            let stream = engine.subscribe(&caller, Subscribe::new(TaskId::from(id))).await.unwrap();
            callers.spawn(watch(stream));
        }
        for _ in 0..CALLERS {
            let engine = engine.clone();
            callers.spawn(async move {
                loop {
                    watch(engine.stream_message(&ada(), SendMessage::new("count")).await.unwrap()).await;
                }
            });
        }
        // A caller that fails ends the child, which the parent notices.
        while let Some(done) = callers.join_next().await {
            done.unwrap();
        }
    });
}

async fn watch(mut stream: EventStream) {
    while let Some((seq, event)) = next(&mut stream).await {
        say(&format!("saw {} {} {}\n", event.task_id().unwrap(), seq.get(), digest(&event)));
    }
}

/// One write per line, so that a line is whole or missing.
fn say(line: &str) {
    let mut stdout = std::io::stdout().lock();
    if stdout.write_all(line.as_bytes()).and_then(|()| stdout.flush()).is_err() {
        std::process::exit(1);
    }
}

/// Starts the child, kills it this long after it is ready, and notes what its callers saw.
fn kill(file: &Path, cursors: &Path, policy: &str, after: Duration, seen: &mut Seen) -> usize {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["kill::child", "--exact", "--nocapture", "--test-threads", "1"])
        .env(FILE, file)
        .env(CURSORS, cursors)
        .env(POLICY, policy)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let (lines, said) = mpsc::channel::<String>();
    let stdout = child.stdout.take().unwrap();
    let reader = std::thread::spawn(move || {
        let mut stdout = BufReader::new(stdout);
        let mut line = String::new();
        while stdout.read_line(&mut line).unwrap() > 0 {
            lines.send(std::mem::take(&mut line)).unwrap();
        }
    });
    let (mut deadline, mut killed, mut count) = (None, false, 0);
    loop {
        let wait = deadline.map_or(Duration::from_secs(30), |end: Instant| end.saturating_duration_since(Instant::now()));
        match said.recv_timeout(if killed { Duration::from_secs(30) } else { wait }) {
            Ok(line) if line == "ready\n" => deadline = Some(Instant::now() + after),
            Ok(line) => count += usize::from(note(&line, seen)),
            Err(mpsc::RecvTimeoutError::Disconnected) => break,
            Err(mpsc::RecvTimeoutError::Timeout) => assert!(!killed && deadline.is_some(), "the child stands still"),
        }
        if !killed && deadline.is_some_and(|end| end <= Instant::now()) {
            child.kill().unwrap();
            killed = true;
        }
    }
    assert!(killed, "the child ended by itself");
    child.wait().unwrap();
    reader.join().unwrap();
    count
}

/// Each event once and in order, over all processes.
fn note(line: &str, seen: &mut Seen) -> bool {
    let Some(event) = line.strip_prefix("saw ").and_then(|line| line.strip_suffix('\n')) else { return false };
    let fields: Vec<_> = event.split(' ').collect();
    let [id, seq, digest] = fields[..] else { panic!("{line}") };
    let events = seen.entry(id.to_owned()).or_default();
    events.push(digest.to_owned());
    assert_eq!(seq, events.len().to_string(), "{id}: lost, doubled or out of order");
    true
}

fn is_over(events: &[String]) -> bool {
    events.last().is_some_and(|last| [TaskState::Completed, TaskState::Failed].iter().any(|state| last.contains(state.as_str())))
}

/// The first events of a task's log, as far as callers saw them.
async fn is_stored(reader: &Engine, id: &str, events: &[String]) {
    let mut stream = reader.subscribe(&ada().resume_after(Seq::START), Subscribe::new(TaskId::from(id))).await.unwrap();
    for (place, seen) in events.iter().enumerate() {
        let (seq, event) = next(&mut stream).await.expect("the event is lost");
        assert_eq!((seq.get(), &digest(&event)), (place as u64 + 1, seen), "{id}");
    }
}

/// Kills many times, lets a last process clear up, and gives the words and states of every task's log.
async fn survive(name: &str, policy: OnRestart) -> Vec<Vec<String>> {
    let folder = Folder::new();
    let (file, cursors) = (folder.file("tasks.db"), folder.file("cursors"));
    let (mut seen, mut random, mut count) = (Seen::new(), 0x9E37_79B9_7F4A_7C15_u64 ^ name.len() as u64, 0);
    for _ in 0..KILLS {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        let open = seen.iter().filter(|(_, events)| !is_over(events));
        let lines = open.fold(String::new(), |mut lines, (id, events)| {
            writeln!(lines, "{id} {}", events.len()).unwrap();
            lines
        });
        std::fs::write(&cursors, lines).unwrap();
        let before = seen.clone();
        let after = Duration::from_millis(5 + random % 300);
        count += tokio::task::block_in_place(|| kill(&file, &cursors, name, after, &mut seen));
        // A reader that lives in 1970 finds that no lease ever ran out, and changes nothing.
        let reader = process(Sqlite::open(&file).await.unwrap(), policy).clock(ManualClock::new(0)).start();
        for (id, events) in seen.iter().filter(|(id, events)| before.get(*id) != Some(*events)) {
            is_stored(&reader, id, events).await;
        }
    }
    let store = Sqlite::open(&file).await.unwrap();
    let mut filter = Filter::default();
    filter.limit = usize::MAX;
    let ids: Vec<_> =
        store.list(&Owner::new("agent", "ada"), filter.clone()).await.unwrap().tasks.into_iter().map(|task| task.head.id).collect();
    assert!(seen.keys().all(|id| ids.iter().any(|stored| stored.as_str() == id)));
    let engine = process(store, policy).start();
    let mut logs = Vec::new();
    for id in &ids {
        // The rest after what was seen, and then all of it: the same events at the same places.
        let mut events = seen.remove(id.as_str()).unwrap_or_default();
        let mut rest = engine.subscribe(&ada().resume_after(Seq::new(events.len() as u64)), Subscribe::new(id.clone())).await.unwrap();
        while !is_over(&events) {
            let (seq, event) = next(&mut rest).await.expect("the task does not end");
            events.push(digest(&event));
            assert_eq!(seq.get(), events.len() as u64, "{id}");
        }
        let mut whole = engine.subscribe(&ada().resume_after(Seq::START), Subscribe::new(id.clone())).await.unwrap();
        let (mut log, mut digests) = (Vec::new(), Vec::new());
        while let Some((_, event)) = next(&mut whole).await {
            digests.push(digest(&event));
            log.push(match &event {
                Event::Status(update) => {
                    let words = update.status.message.as_ref().map(|message| message.text()).unwrap_or_default();
                    format!("{} {words}", update.status.state.as_str())
                }
                Event::Artifact(update) => update.artifact.parts[0].as_text().unwrap_or_default().to_owned(),
                _ => "task".to_owned(),
            });
        }
        assert_eq!(digests, events, "{id}");
        logs.push(log);
    }
    engine.shutdown(Duration::from_secs(5)).await;
    drop(engine);
    let store = Sqlite::open(&file).await.unwrap();
    let tasks = store.list(&Owner::new("agent", "ada"), filter).await.unwrap().tasks;
    assert!(tasks.iter().all(|task| task.head.state.is_terminal() && task.lease.is_none()));
    println!("{name}: {KILLS} kills, {} tasks, {count} events seen", logs.len());
    logs
}

/// The chunks of the last attempt.
fn chunks(log: &[String]) -> Vec<&str> {
    let begun = log.iter().rposition(|words| words.contains(" attempt ")).map_or(log.len(), |at| at + 1);
    log[begun..].iter().map(String::as_str).take_while(|words| words.parse::<usize>().is_ok()).collect()
}

/// Guarantees G1, G3 and G5: nothing that was seen is lost, and what was running is failed with a reason.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_seen_survives_kills_and_running_tasks_fail() {
    let logs = survive("fail", OnRestart::Fail).await;
    let (failed, completed): (Vec<_>, Vec<_>) = logs.iter().partition(|log| log.last().unwrap().contains("restarted"));
    assert!(!failed.is_empty());
    let numbers: Vec<_> = (0..CHUNKS).map(|number| number.to_string()).collect();
    for log in completed {
        assert_eq!(chunks(log), numbers, "{log:?}");
    }
    for log in failed {
        let chunks = chunks(log);
        assert_eq!(chunks, numbers[..chunks.len()], "{log:?}");
    }
}

/// Guarantees G1, G3 and G5: nothing that was seen is lost, and what was running is run again to its end.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_seen_survives_kills_and_running_tasks_are_run_again() {
    let logs = survive("rerun", OnRestart::Rerun).await;
    let numbers: Vec<_> = (0..CHUNKS).map(|number| number.to_string()).collect();
    for log in &logs {
        assert_eq!(chunks(log), numbers, "{log:?}");
        let attempts = log.iter().filter_map(|words| words.split_once(" attempt ")).map(|(_, attempt)| attempt.parse::<u32>().unwrap());
        assert!(attempts.is_sorted_by(|one, next| one < next), "{log:?}");
    }
    assert!(logs.iter().flatten().any(|words| words.ends_with(" attempt 2")), "nothing was run again");
}
