//! Many streams at once, and readers that do not read.

use std::{
    io::Write,
    net::SocketAddr,
    sync::Arc,
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpSocket, TcpStream},
    sync::{Semaphore, mpsc},
    task::JoinSet,
};

use crate::{
    process::{Folder, Process, http, is_optimized, say, soon, until, within},
    voice::Voice,
};

/// Streams that are open and silent.
const STREAMS: usize = 10_000;
/// Descriptors that a process needs beside its streams.
const OTHERS: usize = 500;

/// Begins a task of the only agent; its id.
pub(crate) async fn begin(server: &Process) -> String {
    let message = json!({"messageId": "m-1", "role": "ROLE_USER", "parts": [{"text": "go"}]});
    let body = json!({"message": message, "configuration": {"returnImmediately": true}});
    let request = http().post(server.url("/message:send")).header("a2a-version", "1.0");
    let answer = request.header("content-type", "application/a2a+json").body(body.to_string()).send().await.unwrap();
    let answer: Value = serde_json::from_str(&answer.text().await.unwrap()).unwrap();
    answer["task"]["id"].as_str().unwrap_or_else(|| panic!("{answer}")).to_owned()
}

/// Subscribes to a task over a connection with a buffer as small as can be, and reads nothing.
async fn subscribe(address: SocketAddr, task: &str) -> TcpStream {
    let socket = TcpSocket::new_v4().unwrap();
    socket.set_recv_buffer_size(4_096).unwrap();
    let mut stream = soon("a connection", socket.connect(address)).await.unwrap();
    let request =
        format!("GET /tasks/{task}:subscribe HTTP/1.1\r\nhost: {address}\r\na2a-version: 1.0\r\naccept: text/event-stream\r\n\r\n");
    soon("a request", stream.write_all(request.as_bytes())).await.unwrap();
    stream
}

/// Reads until these words have come.
async fn read_until(stream: &mut TcpStream, words: &[u8]) {
    let mut text = Vec::new();
    let mut piece = [0; 1_024];
    while !text.windows(words.len()).any(|window| window == words) {
        let count = stream.read(&mut piece).await.unwrap();
        assert!(count > 0, "the stream ended: {}", String::from_utf8_lossy(&text));
        text.extend_from_slice(&piece[..count]);
    }
}

/// How many streams this process and a child of it can have.
fn possible() -> usize {
    let limits = std::fs::read_to_string("/proc/self/limits").unwrap();
    let line = limits.lines().find_map(|line| line.strip_prefix("Max open files")).unwrap();
    let files = line.split_whitespace().next().unwrap().parse().unwrap_or(usize::MAX);
    let possible = files.saturating_sub(OTHERS).min(STREAMS);
    if possible < STREAMS {
        say(&format!("notice: {files} open files allow {possible} streams only, not {STREAMS}"));
    }
    possible
}

#[tokio::test(flavor = "multi_thread")]
async fn ten_thousand_silent_streams_are_cheap_and_hear_an_event_at_once() {
    const EVENTS: usize = 5;
    let folder = Folder::new();
    assert!(std::process::Command::new("mkfifo").arg(folder.path("bell")).status().unwrap().success());
    // Open for both directions, so that nobody waits for the other side and there is no end.
    let mut bell = std::fs::OpenOptions::new().read(true).write(true).open(folder.path("bell")).unwrap();
    let config =
        "[limits]\nstreams = 20000\n[[agent]]\nname = \"bell\"\ndescription = \"Says what a pipe says\"\ncommand = [\"cat\", \"bell\"]\n";
    let server = Process::file(&folder, config).await;
    let task = begin(&server).await;
    // What everybody needs once is there before anything is measured.
    drop(subscribe(server.address(), &task).await);
    let (count, before) = (possible(), server.memory());

    let (told, mut tellings) = mpsc::unbounded_channel();
    let (opened, mut openings) = mpsc::unbounded_channel();
    let (seats, task) = (Arc::new(Semaphore::new(128)), Arc::<str>::from(task));
    let began = Instant::now();
    let mut readers = JoinSet::new();
    for _ in 0..count {
        let (told, opened, seats, task, address) = (told.clone(), opened.clone(), seats.clone(), task.clone(), server.address());
        readers.spawn(async move {
            let seat = seats.acquire_owned().await.unwrap();
            let mut stream = subscribe(address, &task).await;
            read_until(&mut stream, b"\"task\"").await;
            drop(seat);
            opened.send(()).unwrap();
            for number in 0..EVENTS {
                read_until(&mut stream, format!("rings {number}").as_bytes()).await;
                told.send(Instant::now()).unwrap();
            }
        });
    }
    let opening = async {
        for _ in 0..count {
            openings.recv().await.expect("a reader failed");
        }
    };
    within(Duration::from_secs(60), "all streams", opening).await;
    until(Duration::from_secs(10), "as many streams", async || (server.figure("a2a_streams_open").await >= count as u64).then_some(()))
        .await;
    let (opening, after) = (began.elapsed(), server.memory());
    let each = after.saturating_sub(before) as f64 / count as f64;
    say(&format!("{count} streams in {opening:?}: {before} KiB before, {after} KiB after, {each:.1} KiB each"));

    let mut slowest = Vec::new();
    for number in 0..EVENTS {
        let rung = Instant::now();
        writeln!(bell, "rings {number}").unwrap();
        let mut last = rung;
        for _ in 0..count {
            last = last.max(soon("an event for everybody", tellings.recv()).await.expect("a reader failed"));
        }
        slowest.push(last - rung);
    }
    say(&format!("an event to all {count}: {slowest:?}"));
    while let Some(reader) = soon("the readers", readers.join_next()).await {
        reader.unwrap();
    }
    let (most_memory, most_time) = if is_optimized() { (25.0, 500) } else { (60.0, 5_000) };
    assert!(each <= most_memory, "{each:.1} KiB each");
    // The machine may have other things to do now and then; the server must not.
    assert!(*slowest.iter().min().unwrap() < Duration::from_millis(most_time), "{slowest:?}");
}

/// Many events for readers that read, and for some that never do.
struct Flood<'a> {
    folder: &'a Folder,
    server: &'a Process,
    tasks: usize,
}

impl Flood<'_> {
    const CHUNKS: usize = 5_000;
    const STALLED: usize = 100;

    /// Runs the tasks, each with a reader and so many that stall; the most memory that the server had.
    async fn run(&self, stalled: usize) -> u64 {
        drop(std::fs::remove_file(self.folder.path("go")));
        let (mut readers, mut silent) = (JoinSet::new(), Vec::new());
        for _ in 0..self.tasks {
            let task = begin(self.server).await;
            for _ in 0..stalled {
                silent.push(subscribe(self.server.address(), &task).await);
            }
            let mut reading = Voice::Rest.resume(self.server.address(), &task, 0).await;
            readers.spawn(async move {
                let mut chunks = 0;
                while let Some(heard) = reading.next().await {
                    chunks += usize::from(Voice::Rest.chunk(&heard.event).is_some_and(|text| text.contains("wave")));
                }
                chunks
            });
        }
        let streams = (self.tasks * (stalled + 1)) as u64;
        let open = async || self.server.figure("a2a_streams_open").await;
        until(Duration::from_secs(20), "all streams", async || (open().await == streams).then_some(())).await;
        self.folder.write("go", "");
        let mut most = self.server.memory();
        until(Duration::from_secs(55), "all that is read", async || {
            most = most.max(self.server.memory());
            while let Some(reader) = readers.try_join_next() {
                assert_eq!(reader.unwrap(), Self::CHUNKS);
            }
            readers.is_empty().then_some(())
        })
        .await;
        assert_eq!(open().await, silent.len() as u64, "those that do not read should have been left behind");
        most
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn readers_that_stall_cost_nothing_and_hold_up_nobody() {
    let folder = Folder::new();
    // Without optimization half of it is work enough.
    let tasks = if is_optimized() { 20 } else { 10 };
    // More than the system keeps on the way to a reader: 4 MiB at the most.
    let wave = format!("wave {}", "~".repeat(1_000));
    let config = format!(
        r#"
[[agent]]
name = "sea"
description = "Says the same again and again"
command = ["sh", "-c", "until [ -e go ]; do sleep 0.05; done; yes '{wave}' | head -n {}"]
chunk = "\n"
max_processes = {}
"#,
        Flood::CHUNKS,
        tasks
    );
    let server = Process::file(&folder, &config).await;
    let flood = Flood { folder: &folder, server: &server, tasks };
    // What the tasks themselves need is measured without anybody who stalls, and more than once: what the
    // allocator keeps between runs swings by half of it.
    let mut alone = 0;
    for _ in 0..3 {
        alone = alone.max(flood.run(0).await);
    }
    let stalled = flood.run(Flood::STALLED / tasks).await;
    say(&format!(
        "{} tasks of {} chunks: at most {alone} KiB alone, {stalled} KiB with {} who stall",
        tasks,
        Flood::CHUNKS,
        Flood::STALLED
    ));
    // Unoptimized code has the same buffers, but is slower to give back what the allocator holds.
    let limit = if is_optimized() { 64 } else { 128 };
    assert!(stalled.saturating_sub(alone) < limit * 1_024, "{alone} KiB alone, {stalled} KiB with readers that stall");
}
