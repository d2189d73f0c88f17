//! HTTP benchmark: what a request costs, beside a bare axum server that parses the same body and answers a constant of
//! the same size. One command makes the table:
//!
//! `cargo bench -p chancery-benches --bench http`
//!
//! Servers are processes of their own on one core, the load is on another; what counts is the processor
//! time of the server per request, as the median of interleaved rounds. Reads ask as users do: random tasks and random
//! conversations of all, nothing twice in a row.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stdout, reason = "a benchmark prints, and fails by panicking")]
#![allow(clippy::cast_precision_loss, reason = "counts of a few seconds")]
#![allow(missing_docs, reason = "nobody uses it but cargo")]

mod bare;
mod load;
#[path = "../process/mod.rs"]
mod process;

use std::{
    collections::HashMap,
    net::SocketAddr,
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, Instant},
};

use bare::Answers;
use chancery::{Artifact, Card, Failure, Limits, Memory, Outcome, Server, Turn};
use load::{Line, Questions, request};
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
            let folder = std::env::temp_dir().join(format!("chancery-http-{}", std::process::id()));
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
            Ok(Outcome::complete_with(Artifact::new(rest).named("result")))
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
    println!("| | measured | bound | |\n|---|---|---|---|");
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

/// What is asked of a server.
struct Asked {
    send: Arc<Questions>,
    get: Arc<Questions>,
    list: Arc<Questions>,
    stream: Arc<Questions>,
}

impl Asked {
    fn of(kind: &str, ids: &[String]) -> Self {
        let get = ids.iter().map(|id| request("POST", "/", &call("GetTask", &format!(r#"{{"id":"{id}"}}"#))));
        let contexts = (0..CONTEXTS.min(ids.len())).map(|context| format!(r#"{{"contextId":"context-{context}","pageSize":50}}"#));
        let list = contexts.map(|params| request("POST", "/", &call("ListTasks", &params)));
        Self {
            send: Questions::new(vec![work("")]),
            get: Questions::new(get.collect()),
            list: Questions::new(list.collect()),
            stream: Questions::new(vec![streamed(kind)]),
        }
    }

    fn row(&self, what: &str) -> &Arc<Questions> {
        match what {
            "send" => &self.send,
            "get" => &self.get,
            "list" => &self.list,
            _ => &self.stream,
        }
    }
}

/// Learns from our own server what the bare one has to answer.
async fn learn(server: &Process, folder: &Path) {
    let mut line = Line::open(server.address()).await;
    let send = line.ask(&work(r#","contextId":"context-7""#)).await;
    let task = line.ask(&request("POST", "/", &call("GetTask", &format!(r#"{{"id":"{}"}}"#, id_of(&send))))).await;
    let listed = line.ask(&request("POST", "/", &call("ListTasks", r#"{"contextId":"context-7","pageSize":50}"#))).await;
    line.send(&request("POST", "/", &call("SendStreamingMessage", &message("stream 3", "")))).await;
    assert_eq!(line.head().await, None);
    let event = r#"{"jsonrpc":"2.0","id":1,"result":{"artifactUpdate":{"taskId":"01a1e1c3-f268-7397-8737-4abe484a826e","contextId":"01a1e1c3-f268-7397-8737-4abd90a6265f","artifact":{"artifactId":"01a1e1c3-f268-7397-8737-4abe484a8270","parts":[{"text":"One line of a longer text, about as long as lines are."}]},"append":true}}}"#;
    for (name, text) in [("send", send.as_str()), ("task", &task), ("list", &listed), ("event", event)] {
        std::fs::write(folder.join(name), text).unwrap();
    }
}

fn id_of(sent: &str) -> String {
    serde_json::from_str::<Value>(sent).unwrap()["result"]["task"]["id"].as_str().unwrap().to_owned()
}

/// Makes so many tasks, in a thousand conversations, and gives their ids.
async fn fill(server: &Process, tasks: usize) -> Vec<String> {
    let mut lines = JoinSet::new();
    for connection in 0..CONNECTIONS {
        let address = server.address();
        lines.spawn(async move {
            let (mut line, mut ids) = (Line::open(address).await, Vec::new());
            for number in (connection..tasks).step_by(CONNECTIONS) {
                ids.push(id_of(&line.ask(&work(&format!(r#","contextId":"context-{}""#, number % CONTEXTS))).await));
            }
            ids
        });
    }
    lines.join_all().await.concat()
}

/// One row over and over, for a profiler: `--row "memory send" --tasks 1000`.
async fn row_alone(folder: &Path, row: &str, tasks: usize) {
    let (kind, what) = row.split_once(' ').unwrap();
    let ours = Process::start(if kind == "bare" { "memory" } else { kind }, folder);
    let ids = fill(&ours, tasks).await;
    learn(&ours, folder).await;
    let bare = Process::start("bare", folder);
    let asked = Asked::of(kind, &ids);
    let server = if kind == "bare" { &bare } else { &ours };
    println!("process {}", server.id());
    for _ in 0..ROUNDS {
        let before = server.processor();
        let done = if what == "stream" {
            load::streams(server.address(), asked.row(what), STREAMS, SPAN).await
        } else {
            load::unary(server.address(), asked.row(what), CONNECTIONS, SPAN).await
        };
        println!("{:.1} µs, {done} done", (server.processor() - before) * 1e6 / done as f64);
    }
}

async fn requests(folder: &Path) {
    let memory = Process::start("memory", folder);
    let before = memory.resident();
    let of_memory = Asked::of("memory", &fill(&memory, TASKS).await);
    let each = (memory.resident() - before) / TASKS as f64 / 1_024.0;
    let sqlite = Process::start("sqlite", folder);
    let of_sqlite = Asked::of("sqlite", &fill(&sqlite, TASKS).await);
    learn(&memory, folder).await;
    let bare = Process::start("bare", folder);
    let bare_sqlite = Process::start("bare-sqlite", folder);
    let of_bare = Asked::of("bare", &["01a1e1c3-f268-7397-8737-4abe484a826e".to_owned()]);
    let servers = [("bare", &bare, &of_bare), ("memory", &memory, &of_memory), ("sqlite", &sqlite, &of_sqlite)];
    let mut costs = HashMap::<String, Vec<f64>>::new();
    for _ in 0..ROUNDS {
        for what in ["send", "get", "list", "stream"] {
            for (kind, server, asked) in servers {
                let before = server.processor();
                let done = if what == "stream" {
                    load::streams(server.address(), asked.row(what), STREAMS, SPAN).await
                } else {
                    load::unary(server.address(), asked.row(what), CONNECTIONS, SPAN).await
                };
                costs.entry(format!("{kind} {what}")).or_default().push((server.processor() - before) * 1e6 / done as f64);
            }
        }
        let before = bare_sqlite.processor();
        let done = load::unary(bare_sqlite.address(), &of_bare.send, CONNECTIONS, SPAN).await;
        costs.entry("bare-sqlite send".to_owned()).or_default().push((bare_sqlite.processor() - before) * 1e6 / done as f64);
        for (kind, server) in [("bare-sqlite", &bare_sqlite), ("sqlite", &sqlite)] {
            let before = server.processor();
            let times = load::latencies(server.address(), &of_bare.send, SPAN).await;
            costs.entry(format!("{kind} single CPU")).or_default().push((server.processor() - before) * 1e6 / times.len() as f64);
            costs.entry(format!("{kind} single")).or_default().push(median(times));
        }
    }
    let cost = |name: &str| median(costs[name].clone());
    let ratio = |what: &str, ours: &str, bare: &str, bound: f64| {
        let (ours, bare) = (cost(ours), cost(bare));
        let (measured, bound_text) = (format!("{ours:.1} / {bare:.1} µs = {:.2}", ours / bare), bound.to_string());
        line(what, &measured, if bound.is_finite() { &bound_text } else { "–" }, ours / bare <= bound);
    };
    ratio("one insert, group commit, bare (for comparison)", "bare-sqlite send", "bare send", f64::INFINITY);
    ratio("unary send, memory", "memory send", "bare send", 2.0);
    ratio("unary send, SQLite `power`", "sqlite send", "bare send", 4.2);
    ratio("unary send, one at a time, p50, against the bare group commit", "sqlite single", "bare-sqlite single", 2.0);
    ratio("the same, CPU (for comparison)", "sqlite single CPU", "bare-sqlite single CPU", f64::INFINITY);
    ratio("stream event, memory", "memory stream", "bare stream", 1.8);
    ratio("stream event, SQLite `power`", "sqlite stream", "bare stream", 4.0);
    ratio("GetTask, random of 100,000, memory", "memory get", "bare get", 1.3);
    ratio("GetTask, random of 100,000, SQLite", "sqlite get", "bare get", 2.0);
    ratio("ListTasks, random context, 50 of 100,000, memory", "memory list", "bare list", 4.0);
    ratio("ListTasks, random context, 50 of 100,000, SQLite", "sqlite list", "bare list", 8.0);
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
