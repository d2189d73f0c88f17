//! What the engine costs: per chunk of a long task, per short task against the bare writing of the
//! same rows, and in memory. Every bound is a ratio or a size; the table says whether it holds.
//!
//! `cargo bench -p chancery-engine --bench engine`

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a benchmark prints, and fails by panicking")]
#![allow(clippy::cast_precision_loss, reason = "counts of a few seconds")]

use std::{
    path::{Path, PathBuf},
    process::Command,
    sync::Arc,
    time::{Duration, Instant},
};

use chancery_core::{Artifact, Caller, Card, ListTasks, Operations, SendMessage, SendReply, Seq, Task, TaskId, TaskState};
use chancery_engine::{
    Engine, Failure, Outcome, Turn,
    store::{Memory, Owner, Sqlite, Store},
};
use tokio::{
    sync::{mpsc, oneshot},
    task::JoinSet,
};

// The allocator of the binary `a2a`.
use mimalloc as _;

const CALLERS: u64 = 64;
/// How long each throughput is measured, and how often.
const SPAN: Duration = Duration::from_millis(1_500);
const ROUNDS: usize = 11;
const FINISHED: u64 = 100_000;
const WAITING: u64 = 10_000;

fn main() {
    // Memory and short tasks are measured in processes of their own: what a process once had, it does not give back, and
    // what one store leaves to be done is not the work of the next.
    let arguments: Vec<String> = std::env::args().collect();
    let part = arguments.iter().position(|argument| argument == "--part").map(|place| arguments[place + 1].as_str());
    let folder = std::env::temp_dir().join(format!("chancery-bench-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_time().build().unwrap();
    match part {
        Some("finished") => runtime.block_on(finished(&folder)),
        Some("waiting") => runtime.block_on(waiting(&folder, "ask")),
        Some("in-turn") => runtime.block_on(waiting(&folder, "converse")),
        Some("short-memory") => print(runtime.block_on(async { measure(Arc::new(engine(Arc::new(Memory::new())))).await })),
        Some("short-sqlite") => runtime.block_on(async {
            let store = Sqlite::open(folder.join("short.db")).await.unwrap();
            print(measure(Arc::new(engine(Arc::new(store)))).await);
        }),
        Some("short-bare") => runtime.block_on(async { print(measure(Arc::new(bare(&folder).await)).await) }),
        _ => {
            println!("| | measured | bound | |\n|---|---|---|---|");
            runtime.block_on(chunks(&folder));
            throughput();
            memory();
        }
    }
    drop(runtime);
    std::fs::remove_dir_all(&folder).unwrap();
}

/// One line of the table.
fn line(what: &str, measured: &str, bound: &str, holds: bool) {
    println!("| {what} | {measured} | {bound} | {} |", if holds { "holds" } else { "MISSED" });
}

/// The agent of every part; the first word says what it does.
async fn agent(turn: Turn) -> Result<Outcome, Failure> {
    let (verb, rest) = turn.text().split_once(' ').unwrap_or((turn.text(), ""));
    match verb {
        "chunks" => {
            let mut artifact = turn.artifact("numbers");
            for _ in 0..rest.parse::<u32>()? {
                artifact.push("One line of a longer text, about as long as lines are.").await?;
                // Lets the driver commit: an agent that never waits has many chunks in one commit.
                tokio::task::yield_now().await;
            }
            artifact.finish().await?;
            Ok(Outcome::Completed)
        }
        "ask" => {
            turn.status("Looking at the plan of the harbour").await?;
            Ok(Outcome::ask("Which quay?"))
        }
        "converse" => {
            turn.status("Looking at the plan of the harbour").await?;
            let answer = turn.require_input("Which quay?").await?;
            Ok(Outcome::complete_with(Artifact::new(answer.text())))
        }
        _ => {
            turn.status("Working on it").await?;
            Ok(Outcome::complete_with(Artifact::new(rest).named("result")))
        }
    }
}

fn engine(store: Arc<dyn Store>) -> Engine {
    let card = Card::new("Clerk", "Does what the first word says").skill("obey", "Does what it is told").streaming(true);
    Engine::new(card, agent).shared_store(store).start()
}

async fn send(engine: &Engine, text: &str) -> Task {
    match engine.send_message(&Caller::new("ada"), SendMessage::new(text)).await.unwrap() {
        SendReply::Task(task) => *task,
        SendReply::Message(message) => panic!("a message: {}", message.text()),
    }
}

/// The processor time that this process has used.
fn processor() -> Duration {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let after = stat.rsplit(") ").next().unwrap_or_default().to_owned();
    let ticks: u64 = after.split(' ').skip(11).take(2).filter_map(|ticks| ticks.parse::<u64>().ok()).sum();
    Duration::from_millis(ticks * 10)
}

/// The memory that this process has in use, in bytes.
fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap_or_default();
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap_or_default() * 1_024
}

// --- Chunks -------------------------------------------------------------------------------------

/// Long tasks must not become slower as they grow.
async fn chunks(folder: &Path) {
    let stores: [(&str, Arc<dyn Store>); 2] =
        [("memory", Arc::new(Memory::new())), ("SQLite", Arc::new(Sqlite::open(folder.join("chunks.db")).await.unwrap()))];
    for (name, store) in stores {
        let engine = engine(store);
        let cost = async |tasks: u32, chunks: u32| {
            let begun = processor();
            for _ in 0..tasks {
                assert_eq!(send(&engine, &format!("chunks {chunks}")).await.status.state, TaskState::Completed);
            }
            (processor() - begun).as_secs_f64() * 1e6 / f64::from(tasks * chunks)
        };
        cost(10, 100).await;
        let (short, long) = (cost(300, 100).await, cost(3, 10_000).await);
        let ratio = long / short;
        let measured = format!("{long:.1} / {short:.1} µs = {ratio:.2}");
        line(&format!("CPU per chunk, 10,000 against 100 chunks in a task, {name}"), &measured, "1.3", ratio <= 1.3);
    }
}

// --- Short tasks --------------------------------------------------------------------------------

/// What makes a task, and answers when it is durable.
trait Worker: Send + Sync + 'static {
    fn work(&self) -> impl Future<Output = ()> + Send;
}

impl Worker for Engine {
    async fn work(&self) {
        let task = send(self, "work The tide turns, the boats stay.").await;
        assert_eq!(task.status.state, TaskState::Completed);
    }
}

/// The least that could keep the same rows: one thread, group commit, nothing else.
struct Bare(mpsc::Sender<(TaskId, oneshot::Sender<()>)>);

impl Bare {
    fn new(file: PathBuf, payload: Arc<[u8]>) -> Self {
        let (jobs, mut queue) = mpsc::channel::<(TaskId, oneshot::Sender<()>)>(4_096);
        std::thread::spawn(move || {
            let connection = rusqlite::Connection::open(file).unwrap();
            connection.pragma_update(None, "synchronous", "full").unwrap();
            connection.pragma_update(None, "cache_size", -65_536).unwrap();
            let mut task =
                connection.prepare("INSERT INTO task (id, owner, context, state, updated, seq) VALUES (?, 1, ?, 3, ?, 4)").unwrap();
            let mut log = connection.prepare("INSERT INTO log (key, first, payload) VALUES (?, 1, ?)").unwrap();
            let (mut jobs, mut updated) = (Vec::new(), 1_772_442_907_000_000_000_i64);
            while queue.blocking_recv_many(&mut jobs, 256) > 0 {
                connection.execute_batch("BEGIN IMMEDIATE").unwrap();
                for (id, _) in &jobs {
                    updated += 100_000;
                    task.execute(rusqlite::params![id.as_str(), TaskId::generate().as_str(), updated]).unwrap();
                    log.execute(rusqlite::params![connection.last_insert_rowid() << 24 | 4, &*payload]).unwrap();
                }
                connection.execute_batch("COMMIT").unwrap();
                jobs.drain(..).for_each(|(_, reply)| reply.send(()).unwrap());
            }
        });
        Self(jobs)
    }
}

impl Worker for Bare {
    async fn work(&self) {
        let (reply, answer) = oneshot::channel();
        self.0.send((TaskId::generate(), reply)).await.unwrap();
        answer.await.unwrap();
    }
}

/// Works for a while, and gives tasks per second and processor time per task in µs.
async fn measure(worker: Arc<impl Worker>) -> (f64, f64) {
    let (begun, before) = (Instant::now(), processor());
    let mut callers = JoinSet::new();
    for _ in 0..CALLERS {
        let worker = worker.clone();
        callers.spawn(async move {
            let mut done = 0;
            while begun.elapsed() < SPAN {
                worker.work().await;
                done += 1;
            }
            done
        });
    }
    let done = callers.join_all().await.into_iter().sum::<u64>() as f64;
    (done / begun.elapsed().as_secs_f64(), (processor() - before).as_secs_f64() * 1e6 / done)
}

/// The figure in the middle.
fn middle(figures: impl Iterator<Item = f64>) -> f64 {
    let mut figures: Vec<_> = figures.collect();
    figures.sort_by(f64::total_cmp);
    figures[figures.len() / 2]
}

/// The bare loop that writes what the engine writes.
async fn bare(folder: &Path) -> Bare {
    let file = folder.join("bare.db");
    let store = Arc::new(Sqlite::open(&file).await.unwrap());
    let task = send(&engine(store.clone()), "work The tide turns, the boats stay.").await;
    let rows = store.rows(&Owner::new("agent", "ada"), &task.id, Seq::START, 100).await.unwrap();
    assert_eq!(rows.len(), 1, "a short task is one row");
    store.close().await;
    Bare::new(file, rows[0].payload.as_ref().into())
}

fn print((rate, cost): (f64, f64)) {
    println!("{rate} {cost}");
}

fn throughput() {
    /// Tasks in a second, and what one costs.
    type Figures = (f64, f64);
    type Of = fn(&Figures) -> f64;
    let (mut sqlite, mut bare, mut memory) = (Vec::new(), Vec::new(), Vec::new());
    let measured = |name: &str| {
        let figures = part(name);
        let (rate, cost) = figures.split_once(' ').unwrap();
        (rate.parse().unwrap(), cost.parse().unwrap())
    };
    for _ in 0..ROUNDS {
        sqlite.push(measured("short-sqlite"));
        bare.push(measured("short-bare"));
        memory.push(measured("short-memory"));
    }
    // What is measured one after the other is compared: a machine that is slow for a while is slow for both.
    let ratio = |ours: &[Figures], theirs: &[Figures], of: Of| middle(ours.iter().zip(theirs).map(|(ours, theirs)| of(ours) / of(theirs)));
    let (rate, cost): (Of, Of) = (|figures| figures.0, |figures| figures.1);
    let middle_of = |figures: &[Figures], of: Of| middle(figures.iter().map(of));
    let found = ratio(&sqlite, &bare, rate);
    let measured = format!("{:.0} / {:.0} = {:.0} %", middle_of(&sqlite, rate), middle_of(&bare, rate), found * 100.0);
    line("short tasks/s on SQLite against the bare loop", &measured, "60 %", found >= 0.6);
    let found = ratio(&sqlite, &bare, cost);
    let measured = format!("{:.1} / {:.1} µs = {found:.2}", middle_of(&sqlite, cost), middle_of(&bare, cost));
    line("CPU per short task on SQLite against the bare loop", &measured, "1.7", found <= 1.7);
    let found = ratio(&memory, &sqlite, cost);
    let (own, other) = (middle_of(&memory, cost), middle_of(&sqlite, cost));
    let measured = format!("{own:.1} / {other:.1} µs = {found:.2}, {:.0} tasks/s", middle_of(&memory, rate));
    line("CPU per short task in memory against SQLite", &measured, "0.33", found <= 1.0 / 3.0);
}

// --- Memory -------------------------------------------------------------------------------------

/// What a part of the table prints in a process of its own.
fn part(name: &str) -> String {
    let output = Command::new(std::env::current_exe().unwrap()).args(["--part", name]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

fn memory() {
    let part = |name: &str| part(name).parse::<u64>().unwrap();
    let grown = part("finished") as f64 / 1_048_576.0;
    line("memory after 100,000 finished tasks on SQLite", &format!("{grown:.1} MB"), "64 MB", grown < 64.0);
    for (name, what) in [("waiting", "after its turn"), ("in-turn", "within its turn")] {
        let each = part(name) as f64 / WAITING as f64 / 1_024.0;
        line(&format!("memory of a task that waits for input {what}, of 10,000"), &format!("{each:.2} KB"), "6 KB", each < 6.0);
    }
}

/// Prints how much memory finished tasks leave behind.
async fn finished(folder: &Path) {
    let engine = Arc::new(engine(Arc::new(Sqlite::open(folder.join("finished.db")).await.unwrap())));
    engine.work().await;
    let before = resident();
    let mut callers = JoinSet::new();
    for _ in 0..CALLERS * 4 {
        let engine = engine.clone();
        callers.spawn(async move {
            for _ in 0..FINISHED.div_ceil(CALLERS * 4) {
                engine.work().await;
            }
        });
    }
    callers.join_all().await;
    println!("{}", resident() - before);
}

/// Prints how much memory all the waiting tasks take.
async fn waiting(folder: &Path, verb: &'static str) {
    let engine = engine(Arc::new(Sqlite::open(folder.join("waiting.db")).await.unwrap()));
    send(&engine, verb).await;
    let before = resident();
    let mut callers = JoinSet::new();
    for _ in 0..100 {
        let engine = engine.clone();
        callers.spawn(async move {
            for _ in 0..WAITING / 100 {
                assert_eq!(send(&engine, verb).await.status.state, TaskState::InputRequired);
            }
        });
    }
    callers.join_all().await;
    let grown = resident().saturating_sub(before);
    let mut request = ListTasks::default();
    request.status = TaskState::InputRequired;
    let page = engine.list_tasks(&Caller::new("ada"), request).await.unwrap().decode().unwrap();
    assert_eq!(page.total_size, i32::try_from(WAITING + 1).unwrap());
    println!("{grown}");
}
