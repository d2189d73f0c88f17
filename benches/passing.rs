//! What it costs to pass work on, beside the call itself. One command makes the table:
//!
//! `cargo bench -p chancery-benches --bench passing`
//!
//! Agent B is a server in a process of its own on one core. This process is agent A, on the other core: it calls B as any
//! client does, it runs turns that delegate the same words to B, and it runs turns that delegate nothing. What counts is the
//! processor time of both processes, and the time on the clock, per call; medians of interleaved rounds.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stdout, reason = "a benchmark prints, and fails by panicking")]
#![allow(clippy::cast_precision_loss, reason = "counts of a few seconds")]
#![allow(missing_docs, reason = "nobody uses it but cargo")]

#[path = "process/mod.rs"]
mod process;

use std::{
    path::Path,
    sync::Arc,
    time::{Duration, Instant},
};

use chancery::{
    Artifact, Caller, Card, Client, Engine, Failure, Limits, Memory, Operations, Outcome, Passing, Server, Sqlite, Turn,
    core::{Message, Peers as _, SendMessage, SendReply, TaskId, extension},
};
use process::{Process, pin_to_one_core, processor};
use serde_json::json;
use tokio::task::JoinSet;

// The allocator of the binary `a2a`.
use mimalloc as _;

const ROUNDS: usize = 5;
const SPAN: Duration = Duration::from_millis(800);
/// How many calls are under way at a time, where it is not one.
const CROWD: usize = 16;
/// At most so many are done in a round, for finished tasks stay in memory.
const MOST: usize = 6_000;
/// Where A says that it is.
const BASE: &str = "http://127.0.0.1:9";
const WORDS: &str = "The tide turns, the boats stay.";

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let value = |name: &str| arguments.iter().position(|argument| argument == name).map(|place| arguments[place + 1].clone());
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    match value("--serve") {
        Some(kind) => runtime.block_on(serve(&kind, Path::new(&value("--folder").unwrap()))),
        None if value("--pinned").is_none() => pin_to_one_core(&arguments),
        None => {
            let folder = std::env::temp_dir().join(format!("chancery-passing-{}", std::process::id()));
            std::fs::create_dir_all(&folder).unwrap();
            match value("--row") {
                Some(row) => runtime.block_on(row_alone(&folder, &row)),
                None => runtime.block_on(table(&folder)),
            }
            std::fs::remove_dir_all(&folder).unwrap();
        }
    }
}

// --- Agent B --------------------------------------------------------------------------------------

async fn clerk(turn: Turn) -> Result<Outcome, Failure> {
    turn.status("Working on it").await?;
    Ok(Outcome::complete_with(Artifact::new(turn.text()).named("result")))
}

async fn serve(kind: &str, folder: &Path) {
    let card = Card::new("Clerk", "Says it again").skill("say", "Says it again");
    let server = Server::new(card, clerk).limits(Limits::default());
    let server = if kind == "memory" { server.store(Memory::new()) } else { server.data(folder.join("b")) };
    let running = server.bind("127.0.0.1:0").await.unwrap();
    println!("{}", running.url());
    std::future::pending::<()>().await;
}

// --- Agent A --------------------------------------------------------------------------------------

/// Delegates to the agent whose URL it is told, or says the same by itself.
async fn caller(turn: Turn) -> Result<Outcome, Failure> {
    let words = match turn.text().strip_prefix("delegate ") {
        Some(agent) => turn.delegate(agent, WORDS).await?.text(),
        None => WORDS.to_owned(),
    };
    Ok(Outcome::complete_with(Artifact::new(words).named("result")))
}

/// The very message of a delegation, made by hand: it says who passes the work on, and has a key under which it can be sent again. Both
/// are parts of the call itself (DE-1, DE-2).
fn delegated() -> (Caller, SendMessage) {
    let (call, task) = (TaskId::generate(), TaskId::generate());
    let mut message = Message::user(WORDS);
    message.message_id = call.as_str().into();
    let about = json!({
        "hop": 1, "maxHops": 8, "chain": [{"agent": BASE, "taskId": task, "kind": "delegation"}],
        "call": call, "originatingTaskId": task, "originatingAgent": BASE,
    });
    message.metadata.insert(extension::DELEGATION.to_owned(), about);
    message.extensions.push(extension::DELEGATION.to_owned());
    let caller = Caller::anonymous().extension(extension::HANDOFF).extension(extension::DELEGATION);
    (caller.idempotency_key(call.as_str()), SendMessage::new(message))
}

/// What is done over and over.
#[derive(Clone)]
enum Work {
    /// A call, as a program makes it that sends the same message.
    Call(Box<chancery::Peers>, String),
    /// A turn of A.
    Turn(Engine, String),
}

impl Work {
    async fn run(&self) {
        let reply = match self {
            Self::Call(peers, agent) => {
                let peer = peers.peer(agent).await.unwrap();
                let (caller, request) = delegated();
                peer.operations.send_message(&caller, request).await.unwrap()
            }
            Self::Turn(engine, words) => engine.send_message(&Caller::anonymous(), SendMessage::new(words.as_str())).await.unwrap(),
        };
        let SendReply::Task(task) = reply else { panic!("{reply:?}") };
        assert_eq!(task.artifacts[0].parts[0].as_text(), Some(WORDS), "{task:?}");
    }

    /// So many at a time, for a while. Gives how many were done.
    async fn repeat(&self, at_once: usize, span: Duration) -> usize {
        let end = Instant::now() + span;
        let mut all = JoinSet::new();
        for _ in 0..at_once {
            let work = self.clone();
            all.spawn(async move {
                let mut done = 0;
                while Instant::now() < end && done < MOST / at_once {
                    work.run().await;
                    done += 1;
                }
                done
            });
        }
        all.join_all().await.into_iter().sum()
    }
}

/// What one costs, in microseconds: processor time of both, and time on the clock.
#[derive(Clone, Copy)]
struct Cost {
    processor: f64,
    clock: f64,
}

async fn measure(work: &Work, at_once: usize, other: Option<&Process>) -> Cost {
    let both = || processor(std::process::id()) + other.map_or(0.0, |other| other.processor());
    let (before, begun) = (both(), Instant::now());
    let done = work.repeat(at_once, SPAN).await as f64;
    Cost { processor: (both() - before) * 1e6 / done, clock: begun.elapsed().as_secs_f64() * 1e6 / done }
}

fn median(mut figures: Vec<f64>) -> f64 {
    figures.sort_by(f64::total_cmp);
    figures[figures.len() / 2]
}

/// The median costs of several kinds of work, in turns.
async fn in_turns<const N: usize>(works: [&Work; N], rounds: usize, at_once: usize, other: Option<&Process>) -> [Cost; N] {
    let mut costs: [Vec<Cost>; N] = std::array::from_fn(|_| Vec::new());
    for _ in 0..rounds {
        for (work, costs) in works.iter().zip(&mut costs) {
            costs.push(measure(work, at_once, other).await);
        }
    }
    costs.map(|costs| Cost {
        processor: median(costs.iter().map(|cost| cost.processor).collect()),
        clock: median(costs.iter().map(|cost| cost.clock).collect()),
    })
}

// --- The table ------------------------------------------------------------------------------------

struct Agents {
    b: Process,
    call: Work,
    delegating: Work,
    plain: Work,
    unable: Work,
}

impl Agents {
    async fn start(kind: &str, folder: &Path) -> Self {
        let folder = folder.join(kind);
        std::fs::create_dir_all(&folder).unwrap();
        let b = Process::start(kind, &folder);
        let peers = Client::builder().peers();
        let engine = async |name: &str, passing: Option<Passing>| {
            let engine = Engine::new(Card::new("Caller", "Asks others"), caller);
            let engine =
                if kind == "memory" { engine.store(Memory::new()) } else { engine.store(Sqlite::open(folder.join(name)).await.unwrap()) };
            match passing {
                Some(passing) => engine.passing(passing).start(),
                None => engine.start(),
            }
        };
        let able = engine("able", Some(Passing::new(Arc::new(peers.clone())).at(BASE))).await;
        Self {
            call: Work::Call(Box::new(peers), b.place.clone()),
            delegating: Work::Turn(able.clone(), format!("delegate {}", b.place)),
            plain: Work::Turn(able, "say it yourself".to_owned()),
            unable: Work::Turn(engine("unable", None).await, "say it yourself".to_owned()),
            b,
        }
    }
}

/// One row over and over, for a profiler: `--row "memory delegate"`, or `call`, or `turn`.
async fn row_alone(folder: &Path, row: &str) {
    let (kind, what) = row.split_once(' ').unwrap();
    let agents = Agents::start(kind, folder).await;
    let work = match what {
        "delegate" => &agents.delegating,
        "call" => &agents.call,
        _ => &agents.plain,
    };
    println!("processes {} and {}", std::process::id(), agents.b.id());
    for _ in 0..3 * ROUNDS {
        for at_once in [1, CROWD] {
            let own = processor(std::process::id());
            let cost = measure(work, at_once, Some(&agents.b)).await;
            let own = (processor(std::process::id()) - own) / SPAN.as_secs_f64();
            println!("{at_once} at a time: {:.1} µs of processors ({:.0} % busy here), {:.1} µs", cost.processor, own * 1e2, cost.clock);
        }
    }
}

fn line(what: &str, measured: &str, target: f64, ratio: f64) {
    println!("| {what} | {measured} = {ratio:.2} | {target} | {} |", if ratio <= target { "holds" } else { "MISSED" });
}

async fn table(folder: &Path) {
    println!("| | measured | target | |\n|---|---|---|---|");
    for (kind, store) in [("memory", "memory"), ("sqlite", "SQLite `power`")] {
        let agents = Agents::start(kind, folder).await;
        for work in [&agents.call, &agents.delegating, &agents.plain, &agents.unable] {
            work.repeat(CROWD, SPAN / 4).await;
        }
        let [call, delegating, plain] = in_turns([&agents.call, &agents.delegating, &agents.plain], ROUNDS, 1, Some(&agents.b)).await;
        let added = |of: fn(&Cost) -> f64| {
            let (call, delegating, plain) = (of(&call), of(&delegating), of(&plain));
            (format!("({delegating:.0} − {plain:.0}) / {call:.0} µs"), (delegating - plain) / call)
        };
        let (measured, ratio) = added(|cost| cost.clock);
        line(&format!("delegated call, one after the other, time, {store}"), &measured, 1.25, ratio);
        let (measured, ratio) = added(|cost| cost.processor);
        line(&format!("delegated call, one after the other, CPU of both, {store}"), &measured, 1.25, ratio);
        let [call, delegating, plain] = in_turns([&agents.call, &agents.delegating, &agents.plain], ROUNDS, CROWD, Some(&agents.b)).await;
        let (call, delegating, plain) = (call.processor, delegating.processor, plain.processor);
        let measured = format!("({delegating:.0} − {plain:.0}) / {call:.0} µs");
        // Without a target: turns that delegate nothing share their transactions, and those that wait for others share them less.
        println!("| delegated call, {CROWD} at a time, CPU of both, {store} | {measured} = {:.2} | – | |", (delegating - plain) / call);
        let [able, unable] = in_turns([&agents.plain, &agents.unable], 5 * ROUNDS, CROWD, None).await;
        let measured = format!("{:.2} / {:.2} µs", able.processor, unable.processor);
        line(
            &format!("turn that delegates nothing, with a way to others and without, CPU, {store}"),
            &measured,
            1.05,
            able.processor / unable.processor,
        );
    }
}
