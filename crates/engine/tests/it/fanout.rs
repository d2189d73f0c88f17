//! Many readers of one task: each sees each event once and in order, and none of them slows another.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use chancery_core::{Caller, Event, EventStream, Operations, SendMessage, SendReply, Seq, Subscribe, TaskId, TaskState};
use chancery_engine::{
    Engine, Failure, Outcome, Turn,
    store::{Memory, Store},
};
use tokio::{sync::watch, task::JoinSet};

use crate::counting::Counting;
#[cfg(feature = "sqlite")]
use crate::folder::Folder;

const READERS: u64 = 1_000;
const EVENTS: u64 = 1_000;
/// How many events the agent is ahead.
const AHEAD: u64 = 50;
const DEADLINE: Duration = Duration::from_secs(60);
/// More than all readers need with their cursors and what they have read ahead.
const MEMORY: u64 = 256 * 1_024 * 1_024;

/// Numbers that look random and are the same in every run (SplitMix64).
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % end
    }
}

/// The memory that this process has in use, in bytes; 0 where the system does not say.
fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap_or_default();
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap_or_default() * 1_024
}

/// Writes numbered chunks, as far as the gate is open, so that the whole task is [`EVENTS`] events:
/// it is made, works, is given its chunks and is completed.
fn counter(
    gate: watch::Receiver<u64>,
) -> impl Fn(Turn) -> std::pin::Pin<Box<dyn Future<Output = Result<Outcome, Failure>> + Send>> + Send + Sync {
    move |turn| {
        let mut gate = gate.clone();
        Box::pin(async move {
            turn.status("Counting").await?;
            let mut chunks = turn.artifact("numbers");
            for number in 0..EVENTS - 3 {
                gate.wait_for(|limit| *limit > number).await?;
                chunks.push(number.to_string()).await?;
            }
            Ok(Outcome::Completed)
        })
    }
}

fn engine(store: Arc<dyn Store>, gate: watch::Receiver<u64>) -> Engine {
    Engine::new(crate::operations::card(), counter(gate)).shared_store(store).start()
}

async fn begin(engine: &Engine) -> TaskId {
    let mut request = SendMessage::new("count");
    request.configuration.return_immediately = true;
    match engine.send_message(&Caller::anonymous(), request).await.unwrap() {
        SendReply::Task(task) => task.id,
        SendReply::Message(message) => panic!("a message: {}", message.text()),
    }
}

async fn next(stream: &mut EventStream) -> Option<(Seq, Event)> {
    std::future::poll_fn(|cx| stream.as_mut().poll_next(cx)).await.map(Result::unwrap).map(|(seq, event)| (seq, event.into_event()))
}

async fn subscribe(engine: &Engine, task: &TaskId, after: Option<Seq>) -> EventStream {
    let mut caller = Caller::anonymous();
    caller.call_mut().resume_after = after;
    engine.subscribe(&caller, Subscribe::new(task.clone())).await.unwrap()
}

/// The number in a chunk.
fn number(event: &Event) -> Option<u64> {
    match event {
        Event::Artifact(update) => update.artifact.parts[0].as_text()?.parse().ok(),
        _ => None,
    }
}

/// Reads a task to its end, leaving and coming back; says how often it came back.
async fn read(engine: Engine, task: TaskId, reader: u64, gate: watch::Sender<u64>) -> u64 {
    let mut numbers = Numbers(reader);
    // One half knows the task's beginning; the other joins with a snapshot.
    let mut at = reader.is_multiple_of(2).then_some(Seq::START);
    let (mut chunks, mut returns) = (0, 0);
    loop {
        let mut stream = subscribe(&engine, &task, at).await;
        if at.is_none() {
            let (seq, first) = next(&mut stream).await.expect("a snapshot");
            let Event::Task(whole) = first else { panic!("reader {reader} began with something else") };
            chunks = whole.artifacts.iter().map(|artifact| artifact.parts.len() as u64).sum();
            // What is in the snapshot is what was committed by then: the task, its status, the chunks.
            assert_eq!(seq.get().saturating_sub(2), chunks, "reader {reader} joined at {seq}");
            at = Some(seq);
        }
        let stay = 1 + numbers.below(100);
        for _ in 0..stay {
            let Some((seq, event)) = next(&mut stream).await else {
                assert_eq!((at, chunks), (Some(Seq::new(EVENTS)), EVENTS - 3), "reader {reader} has missed something");
                return returns;
            };
            assert_eq!(Some(seq), at.map(Seq::next), "reader {reader} has a gap or hears something twice");
            at = Some(seq);
            if reader == 0 {
                // The agent is as far ahead of this reader as an agent is that waits for its model.
                gate.send_replace(seq.get() + AHEAD);
            }
            if let Some(number) = number(&event) {
                assert_eq!(number, chunks, "reader {reader}");
                chunks += 1;
            }
        }
        drop(stream);
        // Away for a while, in which anything may happen.
        for _ in 0..numbers.below(8) {
            tokio::task::yield_now().await;
        }
        returns += 1;
    }
}

async fn fan_out(name: &str, store: Arc<dyn Store>) {
    let (gate, opened) = watch::channel(0);
    let store = Arc::new(Counting::new(store));
    let engine = engine(store.clone(), opened);
    let task = begin(&engine).await;
    // One reader has joined, and never reads anything.
    let mut idle = subscribe(&engine, &task, Some(Seq::START)).await;
    let before = resident();
    let begun = Instant::now();
    let mut readers = JoinSet::new();
    for reader in 0..READERS {
        readers.spawn(read(engine.clone(), task.clone(), reader, gate.clone()));
    }
    gate.send_replace(AHEAD);
    let returns: u64 = tokio::time::timeout(DEADLINE, readers.join_all()).await.expect("the readers are held up").into_iter().sum();
    let (grown, took) = (resident().saturating_sub(before), begun.elapsed());
    let commits = store.commits();
    println!("{name}: {READERS} readers, {returns} returns, {commits} commits, {took:?}, {} KB more memory", grown / 1_024);
    assert!(grown < MEMORY, "{grown} bytes more memory");
    // The one that did not read has lost nothing: what the ring has dropped comes from the store.
    for expected in 1..=EVENTS {
        let (seq, _) = tokio::time::timeout(DEADLINE, next(&mut idle)).await.expect("the idle reader is held up").expect("an event");
        assert_eq!(seq, Seq::new(expected));
    }
    assert!(next(&mut idle).await.is_none());
    assert!(store.row_reads() > 0, "a cursor older than the ring is served from the store");
}

/// Guarantees G3 and G9, in memory.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thousand_readers_that_come_and_go_see_each_event_once_in_order() {
    fan_out("memory", Arc::new(Memory::new())).await;
}

/// Guarantees G3 and G9, on a file.
#[cfg(feature = "sqlite")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thousand_readers_of_a_file_see_each_event_once_in_order() {
    let folder = Folder::new();
    let store = chancery_engine::store::Sqlite::open(folder.file("tasks.db")).await.unwrap();
    fan_out("SQLite", Arc::new(store)).await;
}

/// Guarantee G3: the ring holds the newest events only; an older place is no gap.
#[tokio::test]
async fn a_cursor_older_than_the_ring_is_served_from_the_store() {
    let (gate, opened) = watch::channel(0);
    let store = Arc::new(Counting::new(Arc::new(Memory::new())));
    let engine = engine(store.clone(), opened);
    let task = begin(&engine).await;
    // Never read to its end, so that the task stays in memory with its ring.
    let _keeping = subscribe(&engine, &task, Some(Seq::START)).await;
    let mut watching = subscribe(&engine, &task, Some(Seq::START)).await;
    gate.send_replace(EVENTS);
    let mut last = None;
    while let Some((seq, event)) = tokio::time::timeout(DEADLINE, next(&mut watching)).await.expect("the stream is held up") {
        last = Some((seq, event.state()));
    }
    assert_eq!(last, Some((Seq::new(EVENTS), Some(TaskState::Completed))));
    // Who has heard everything is not kept waiting.
    let mut done = subscribe(&engine, &task, Some(Seq::new(EVENTS))).await;
    assert!(tokio::time::timeout(DEADLINE, next(&mut done)).await.expect("the stream does not end").is_none());
    for (after, from_store) in [(EVENTS - 10, false), (10, true)] {
        let reads = store.row_reads();
        let mut late = subscribe(&engine, &task, Some(Seq::new(after))).await;
        for expected in after + 1..=EVENTS {
            assert_eq!(next(&mut late).await.map(|(seq, _)| seq), Some(Seq::new(expected)));
        }
        assert!(next(&mut late).await.is_none());
        assert_eq!(store.row_reads() > reads, from_store, "after {after}");
    }
}
