//! What the doors cost, beside a bare axum server that parses the same body and answers a constant of
//! the same size. One command makes the table:
//!
//! `cargo bench -p chancery-benches --bench doors`
//!
//! Servers are processes of their own on one core, the load is on another; what counts is the processor
//! time of the server per request, as the median of interleaved rounds.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stdout, reason = "a benchmark prints, and fails by panicking")]
#![allow(clippy::cast_precision_loss, reason = "counts of a few seconds")]
#![allow(missing_docs, reason = "nobody uses it but cargo")]

mod bare;
mod load;
#[path = "../process/mod.rs"]
mod process;

use std::{
    net::SocketAddr,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use bare::Answers;
use chancery::{Artifact, Card, Failure, Limits, Memory, Outcome, Server, Turn};
use load::{Line, request};
use process::{Process, pin_to_one_core};
use serde_json::Value;
use tokio::task::JoinSet;

// The allocator of the binary `a2a`, for all servers.
use mimalloc as _;

const ROUNDS: usize = 5;
const SPAN: Duration = Duration::from_millis(1_500);
const CONNECTIONS: usize = 64;
const STREAMS: usize = 16;
const CHUNKS: usize = 100;
const TASKS: usize = 100_000;
const CONTEXTS: usize = 1_000;
const IDLE: usize = 10_000;

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let value = |name: &str| arguments.iter().position(|argument| argument == name).map(|place| arguments[place + 1].clone());
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    match value("--serve") {
        Some(kind) => runtime.block_on(serve(&kind, Path::new(&value("--folder").unwrap()))),
        None if value("--pinned").is_none() => pin_to_one_core(&arguments),
        None => {
            let folder = std::env::temp_dir().join(format!("chancery-doors-{}", std::process::id()));
            std::fs::create_dir_all(&folder).unwrap();
            // The load never sleeps: what it costs to wake it would be counted as the server's, and more of it
            // the longer an answer takes.
            runtime.spawn(async {
                loop {
                    tokio::task::yield_now().await;
                }
            });
            let tasks = value("--tasks").map_or(TASKS, |tasks| tasks.parse().unwrap());
            match value("--row") {
                Some(row) => runtime.block_on(row_alone(&folder, &row, tasks)),
                None => runtime.block_on(table(&folder, value("--only").as_deref())),
            }
            std::fs::remove_dir_all(&folder).unwrap();
        }
    }
}

// --- The servers --------------------------------------------------------------------------------

/// The agent of all rows; the first word says what it does.
async fn clerk(turn: Turn) -> Result<Outcome, Failure> {
    let (verb, rest) = turn.text().split_once(' ').unwrap_or((turn.text(), ""));
    match verb {
        "stream" => {
            let mut lines = turn.artifact("lines");
            for _ in 0..rest.parse::<usize>()? {
                lines.push("One line of a longer text, about as long as lines are.").await?;
            }
            Ok(Outcome::Completed)
        }
        // Waits for a word, then tells the crowd.
        "crowd" => {
            turn.status("Waiting").await?;
            turn.next_message().await;
            let mut lines = turn.artifact("lines");
            for _ in 0..rest.parse::<usize>()? {
                lines.push("One line of a longer text, about as long as lines are.").await?;
                tokio::task::yield_now().await;
            }
            turn.next_message().await;
            Ok(Outcome::Completed)
        }
        _ => {
            turn.status("Working on it").await?;
            Ok(Outcome::artifact(Artifact::new(rest).named("result")))
        }
    }
}

async fn serve(kind: &str, folder: &Path) {
    match kind {
        "memory" | "sqlite" => {
            let card = Card::new("Clerk", "Does what the first word says").skill("obey", "Does what it is told");
            let mut limits = Limits::default();
            limits.streams_per_caller = 20_000;
            let server = Server::new(card, clerk).limits(limits);
            let server = if kind == "memory" { server.store(Memory::new()) } else { server.data(folder.join("data")) };
            let running = server.bind("127.0.0.1:0").await.unwrap();
            println!("{}", running.local_addr());
            std::future::pending::<()>().await;
        }
        _ => {
            let read = |name: &str| std::fs::read_to_string(folder.join(name)).unwrap_or_default();
            let answers = Answers { send: read("send"), event: read("event"), task: read("task"), list: read("list") };
            let file = folder.join("bare.db");
            let router = bare::router(answers, (kind == "bare-sqlite").then_some(file.as_path()));
            let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
            println!("{}", listener.local_addr().unwrap());
            use axum::serve::ListenerExt as _;
            // Without this the first event of a stream waits for an acknowledgement.
            let listener = listener.tap_io(|stream| stream.set_nodelay(true).unwrap());
            axum::serve(listener, router).await.unwrap();
        }
    }
}

// --- The table ----------------------------------------------------------------------------------

fn call(method: &str, params: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{params}}}"#)
}

fn message(text: &str, more: &str) -> String {
    format!(
        r#"{{"message":{{"messageId":"6f1c2d3e-1111-4a5b-8c7d-000000000001","role":"ROLE_USER","parts":[{{"text":"{text}"}}]{more}}},"configuration":{{"acceptedOutputModes":["text/plain"]}}}}"#
    )
}

fn work(more: &str) -> Vec<u8> {
    request("POST", "/", &call("SendMessage", &message("work The tide turns, the boats stay.", more)))
}

/// A call for a stream of events; the bare server has a path of its own for it.
fn streamed(kind: &str) -> Vec<u8> {
    let path = if kind == "bare" { "/stream" } else { "/" };
    request("POST", path, &call("SendStreamingMessage", &message(&format!("stream {CHUNKS}"), "")))
}

fn line(what: &str, measured: &str, target: &str, holds: bool) {
    println!("| {what} | {measured} | {target} | {} |", if holds { "holds" } else { "MISSED" });
}

fn median(mut figures: Vec<f64>) -> f64 {
    figures.sort_by(f64::total_cmp);
    figures[figures.len() / 2]
}

async fn table(folder: &Path, only: Option<&str>) {
    println!("| | measured | target | |\n|---|---|---|---|");
    let wanted = |part: &str| only.is_none_or(|only| only == part);
    if wanted("requests") {
        requests(folder).await;
    }
    if wanted("idle") {
        idle(folder).await;
    }
    if wanted("crowd") {
        crowd(folder).await;
    }
    if wanted("start") {
        start(folder).await;
    }
}

/// Learns from our own server what the bare one has to answer.
async fn learn(server: &Process, folder: &Path) -> (Vec<u8>, Vec<u8>) {
    let mut line = Line::open(server.address()).await;
    let send = line.ask(&work(r#","contextId":"context-7""#)).await;
    let id = serde_json::from_str::<Value>(&send).unwrap()["result"]["task"]["id"].as_str().unwrap().to_owned();
    let get = request("POST", "/", &call("GetTask", &format!(r#"{{"id":"{id}"}}"#)));
    let list = request("POST", "/", &call("ListTasks", r#"{"contextId":"context-7","pageSize":50}"#));
    let task = line.ask(&get).await;
    let listed = line.ask(&list).await;
    line.send(&request("POST", "/", &call("SendStreamingMessage", &message("stream 3", "")))).await;
    assert_eq!(line.head().await, None);
    let event = r#"{"jsonrpc":"2.0","id":1,"result":{"artifactUpdate":{"taskId":"01a1e1c3-f268-7397-8737-4abe484a826e","contextId":"01a1e1c3-f268-7397-8737-4abd90a6265f","artifact":{"artifactId":"01a1e1c3-f268-7397-8737-4abe484a8270","parts":[{"text":"One line of a longer text, about as long as lines are."}]},"append":true}}}"#;
    for (name, text) in [("send", send.as_str()), ("task", &task), ("list", &listed), ("event", event)] {
        std::fs::write(folder.join(name), text).unwrap();
    }
    (get, list)
}

async fn fill(server: &Process, tasks: usize) {
    let mut lines = JoinSet::new();
    for connection in 0..CONNECTIONS {
        let address = server.address();
        lines.spawn(async move {
            let mut line = Line::open(address).await;
            for number in (connection..tasks).step_by(CONNECTIONS) {
                line.ask(&work(&format!(r#","contextId":"context-{}""#, number % CONTEXTS))).await;
            }
        });
    }
    lines.join_all().await;
}

/// One row over and over, for a profiler: `--row "memory send" --tasks 1000`.
async fn row_alone(folder: &Path, row: &str, tasks: usize) {
    let (kind, what) = row.split_once(' ').unwrap();
    let ours = Process::start(if kind == "bare" { "memory" } else { kind }, folder);
    fill(&ours, tasks).await;
    let (get, list) = learn(&ours, folder).await;
    let bare = Process::start("bare", folder);
    let request = match what {
        "send" => work(""),
        "get" => get,
        "list" => list,
        _ => streamed(kind),
    };
    let server = if kind == "bare" { &bare } else { &ours };
    println!("process {}", server.id());
    for _ in 0..ROUNDS {
        let before = server.processor();
        let done = if what == "stream" {
            load::streams(server.address(), &request, STREAMS, SPAN).await
        } else {
            load::unary(server.address(), &request, CONNECTIONS, SPAN).await
        };
        println!("{:.1} µs, {done} done", (server.processor() - before) * 1e6 / done as f64);
    }
}

async fn requests(folder: &Path) {
    let memory = Process::start("memory", folder);
    let before = memory.resident();
    fill(&memory, TASKS).await;
    let each = (memory.resident() - before) / TASKS as f64 / 1_024.0;
    let sqlite = Process::start("sqlite", folder);
    fill(&sqlite, TASKS).await;
    let (get, list) = learn(&memory, folder).await;
    let (get_sqlite, _) = learn(&sqlite, folder).await;
    let bare = Process::start("bare", folder);
    let bare_sqlite = Process::start("bare-sqlite", folder);
    let send = work("");
    let (stream, bare_stream) = (streamed("memory"), streamed("bare"));
    let rows: Vec<(&str, &Process, &[u8], bool)> = vec![
        ("bare send", &bare, &send, false),
        ("bare sqlite send", &bare_sqlite, &send, false),
        ("memory send", &memory, &send, false),
        ("sqlite send", &sqlite, &send, false),
        ("bare get", &bare, &get, false),
        ("memory get", &memory, &get, false),
        ("sqlite get", &sqlite, &get_sqlite, false),
        ("bare list", &bare, &list, false),
        ("memory list", &memory, &list, false),
        ("sqlite list", &sqlite, &list, false),
        ("bare stream", &bare, &bare_stream, true),
        ("memory stream", &memory, &stream, true),
        ("sqlite stream", &sqlite, &stream, true),
    ];
    let mut costs: Vec<Vec<f64>> = vec![Vec::new(); rows.len()];
    for _ in 0..ROUNDS {
        for (row, (_, server, request, streaming)) in rows.iter().enumerate() {
            let before = server.processor();
            let done = if *streaming {
                load::streams(server.address(), request, STREAMS, SPAN).await
            } else {
                load::unary(server.address(), request, CONNECTIONS, SPAN).await
            };
            costs[row].push((server.processor() - before) * 1e6 / done as f64);
        }
    }
    let cost = |name: &str| {
        let row = rows.iter().position(|(known, ..)| *known == name).unwrap();
        median(costs[row].clone())
    };
    let ratio = |what: &str, ours: &str, bare: &str, target: f64| {
        let (ours, bare) = (cost(ours), cost(bare));
        let measured = format!("{ours:.1} / {bare:.1} µs = {:.2}", ours / bare);
        line(what, &measured, &target.to_string(), ours / bare <= target);
    };
    ratio("one insert, group commit, bare (for comparison)", "bare sqlite send", "bare send", f64::INFINITY);
    ratio("unary send, memory", "memory send", "bare send", 2.0);
    ratio("unary send, SQLite `power`", "sqlite send", "bare send", 4.2);
    ratio("stream event, memory", "memory stream", "bare stream", 1.6);
    ratio("stream event, SQLite `power`", "sqlite stream", "bare stream", 6.0);
    ratio("GetTask at 100,000 tasks, memory", "memory get", "bare get", 1.3);
    ratio("GetTask at 100,000 tasks, SQLite", "sqlite get", "bare get", 1.3);
    ratio("ListTasks, one context, 50 of 100,000, memory", "memory list", "bare list", 2.0);
    ratio("ListTasks, one context, 50 of 100,000, SQLite", "sqlite list", "bare list", 2.0);
    line("100,000 finished tasks in memory", &format!("{each:.2} KB each"), "1.2 KB", each <= 1.2);
}

/// A task that waits for a word, and so many who watch it.
async fn watched(server: &Process, watchers: usize, events: usize) -> (Line, Vec<u8>, Vec<Line>) {
    let mut teller = Line::open(server.address()).await;
    let configuration =
        message(&format!("crowd {events}"), "").replace(r#""configuration":{"#, r#""configuration":{"returnImmediately":true,"#);
    let told = teller.ask(&request("POST", "/", &call("SendMessage", &configuration))).await;
    let id = serde_json::from_str::<Value>(&told).unwrap()["result"]["task"]["id"].as_str().unwrap().to_owned();
    let go = request("POST", "/", &call("SendMessage", &configuration.replace(r#""role":"#, &format!(r#""taskId":"{id}","role":"#))));
    let subscribe = request("GET", &format!("/tasks/{id}:subscribe"), "");
    (teller, go, gather(server.address(), &subscribe, watchers, 1).await)
}

/// Opens so many streams, and reads the events that each begins with.
async fn gather(address: SocketAddr, subscribe: &[u8], watchers: usize, begin: usize) -> Vec<Line> {
    let mut lines = Vec::new();
    while lines.len() < watchers {
        let mut opening = JoinSet::new();
        for _ in 0..(watchers - lines.len()).min(500) {
            let subscribe = subscribe.to_vec();
            opening.spawn(async move {
                let mut line = Line::open(address).await;
                line.send(&subscribe).await;
                assert_eq!(line.head().await, None);
                line.events(begin).await;
                line
            });
        }
        lines.extend(opening.join_all().await);
    }
    lines
}

async fn idle(folder: &Path) {
    let server = Process::start("memory", folder);
    let (.., first) = watched(&server, 10, 0).await;
    drop(first);
    let before = server.resident();
    let (mut teller, go, lines) = watched(&server, IDLE, 0).await;
    let each = (server.resident() - before) / IDLE as f64 / 1_024.0;
    line(&format!("idle SSE subscription, of {IDLE}"), &format!("{each:.1} KB"), "20 KB", each <= 20.0);
    // The word itself is the event.
    let mut readers = JoinSet::new();
    for mut line in lines {
        readers.spawn(async move { line.events(1).await });
    }
    let (begun, before) = (Instant::now(), server.processor());
    teller.send(&go).await;
    readers.join_all().await;
    let took = begun.elapsed().as_millis();
    let measured = format!("{took} ms ({:.0} ms of the server's processor)", (server.processor() - before) * 1e3);
    line(&format!("one event to {IDLE} subscriptions"), &measured, "500 ms", took <= 500);
}

async fn crowd(folder: &Path) {
    let server = Process::start("memory", folder);
    std::fs::write(folder.join("event"), "x".repeat(330)).unwrap();
    let bare = Process::start("bare", folder);
    let (mut ours, mut bares) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        let (mut teller, go, lines) = watched(&server, 1_000, 100).await;
        ours.push(all_hear(&mut teller, &go, lines, 101).await);
        let lines = gather(bare.address(), &request("GET", "/crowd", ""), 1_000, 0).await;
        let mut teller = Line::open(bare.address()).await;
        bares.push(all_hear(&mut teller, &request("POST", "/go", ""), lines, 100).await);
    }
    let (ours, bare) = (median(ours), median(bares));
    let measured = format!("{ours:.0} ms (bare {bare:.0} ms)");
    line("1,000 subscribers × 100 events, all delivered", &measured, "150 ms", ours <= 150.0);
}

/// How long it takes until everybody has heard everything, in milliseconds.
async fn all_hear(teller: &mut Line, go: &[u8], lines: Vec<Line>, events: usize) -> f64 {
    let mut readers = JoinSet::new();
    for mut line in lines {
        readers.spawn(async move { line.events(events).await });
    }
    let begun = Instant::now();
    teller.send(go).await;
    readers.join_all().await;
    begun.elapsed().as_secs_f64() * 1e3
}

async fn start(folder: &Path) {
    let card = request("GET", "/.well-known/agent-card.json", "");
    let mut times: [Vec<f64>; 3] = Default::default();
    for round in 0..ROUNDS {
        for (kind, times) in ["bare", "memory", "sqlite"].iter().zip(&mut times) {
            let folder: PathBuf = folder.join(format!("start-{round}"));
            std::fs::create_dir_all(&folder).unwrap();
            let begun = Instant::now();
            let server = Process::start(kind, &folder);
            Line::open(server.address()).await.ask(&card).await;
            times.push(begun.elapsed().as_secs_f64() * 1e3);
        }
    }
    let [bare, memory, sqlite] = times.map(median);
    let measured = format!("{sqlite:.0} ms (memory {memory:.0} ms, bare {bare:.0} ms)");
    line("start to first card, SQLite", &measured, "40 ms", sqlite <= 40.0);
}
