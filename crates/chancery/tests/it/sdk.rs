//! The clients of the released SDKs, unchanged, against our server.
//!
//! `tests/sdk/client.py` and `tests/sdk/client.mjs` do the same steps with each SDK and each binding that
//! its client has, the way its users do; `adk.py`, `fasta.py` and `a2acli.py` with the clients that are no SDK's. `CHANCERY_SDKS` names the folder that `tests/sdk/install` fills;
//! without it nothing is tested.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    process::Stdio,
    time::Duration,
};

use chancery::{Memory, Server};
use chancery_core::Binding;
use serde::Deserialize;
use tokio::{
    io::{AsyncBufReadExt, BufReader},
    process::Command,
    task::JoinSet,
    time::timeout,
};

use crate::{
    agent,
    interop::{self, Cell, Defect},
    say,
};

/// The longest time one client may take on a busy machine.
const PATIENCE: Duration = Duration::from_secs(300);

/// How many clients work at the same time; starting them is most of the work.
const AT_ONCE: usize = 3;

/// An SDK, the bindings of its client, and the name that it calls this machine by.
const CLIENTS: [(&str, &[&str], &str); 9] = [
    ("py-1.3.0", &["JSONRPC", "HTTP+JSON", "GRPC"], "127.0.0.1"),
    ("py-0.3.26", &["JSONRPC", "HTTP+JSON", "GRPC"], "127.0.0.1"),
    ("py-0.2.16", &["JSONRPC"], "127.0.0.1"),
    ("js-1.3.0", &["JSONRPC", "HTTP+JSON", "GRPC"], "127.0.0.1"),
    ("js-0.3.14", &["JSONRPC", "HTTP+JSON", "GRPC"], "127.0.0.1"),
    (ADK, &["JSONRPC", "HTTP+JSON"], "127.0.0.1"),
    (ADK, &["JSONRPC"], "localhost"),
    (FASTA, &["JSONRPC"], "127.0.0.1"),
    ("rust-0.4.5", &["JSONRPC", "HTTP+JSON"], "127.0.0.1"),
];

/// Google's Agent Development Kit, which takes no card that names a bare `host:port`, as v1.0 has it for gRPC.
const ADK: &str = "py-adk-2.13.0";

/// The client of Pydantic.
const FASTA: &str = "py-fasta2a-2.1.1";

/// What every client does, in the order of the table.
const STEPS: [&str; 23] = [
    "card",
    "message",
    "send",
    "send at once",
    "stream",
    "stream message",
    "get",
    "list",
    "cancel",
    "cancel again",
    "unknown task",
    "continue",
    "files and data",
    "set push",
    "get push",
    "list push",
    "receive push",
    "send with push",
    "delete push",
    "resubscribe",
    "handover",
    "handover polled",
    "handover stream",
];

/// The calls that the client of an SDK does not have. The scripts look whether the method is there.
const ABSENT: [(&str, &[&str]); 6] = [
    ("py-0.3.26", &["list", "list push", "delete push"]),
    ("py-0.2.16", &["list", "list push", "delete push", "resubscribe"]),
    ("js-0.3.14", &["list"]),
    // An agent that is run by others: it sends and hears.
    (
        ADK,
        &[
            "send at once",
            "get",
            "list",
            "cancel",
            "cancel again",
            "unknown task",
            "set push",
            "get push",
            "list push",
            "receive push",
            "send with push",
            "delete push",
            "resubscribe",
            "handover polled",
        ],
    ),
    // `send_message`, `stream_message` and `get_task` are all that it has.
    (
        FASTA,
        &[
            "send at once",
            "list",
            "cancel",
            "cancel again",
            "set push",
            "get push",
            "list push",
            "receive push",
            "send with push",
            "delete push",
            "resubscribe",
            "handover polled",
        ],
    ),
    ("rust-0.4.5", &["send with push"]),
];

/// What goes wrong because of the client.
const DEFECTS: [Defect; 6] = [
    Defect {
        peer: FASTA,
        bindings: &["JSONRPC"],
        steps: &["card"],
        shows: "Field required",
        why: "It demands `inputModes` and `outputModes` of every skill, which are optional in every version; it refuses the cards of \
              all SDKs alike. Called without the card it goes on.",
    },
    Defect {
        peer: FASTA,
        bindings: &["JSONRPC"],
        steps: &["message", "stream message"],
        shows: "KeyError: 'message'",
        why: "It calls `message/send`, which is v0.3's name, without a version, and reads v1.0's wrapped result: whoever answers in the \
              version that was asked for is not understood, the servers of all SDKs among them.",
    },
    Defect { peer: FASTA, bindings: &["JSONRPC"], steps: &["send", "continue", "handover"], shows: "KeyError: 'task'", why: "The same." },
    Defect {
        peer: FASTA,
        bindings: &["JSONRPC"],
        steps: &["stream", "handover stream"],
        shows: "not enough values to unpack (expected 1, got 0)",
        why: "The same, for events, of which it understands nothing.",
    },
    Defect {
        peer: FASTA,
        bindings: &["JSONRPC"],
        steps: &["files and data"],
        shows: "as its kind says",
        why: "The parts that it sends in the call of v0.3 are v1.0's, without the `kind` that v0.3 demands.",
    },
    Defect {
        peer: FASTA,
        bindings: &["JSONRPC"],
        steps: &["get", "unknown task"],
        shows: "'A call needs an id'",
        why: "It sends `\"id\": null`, and JSON-RPC has no answer to a call without an id.",
    },
];

/// One line of a script: how a step went.
#[derive(Deserialize)]
struct Step {
    name: String,
    /// Nothing when the client has no such call.
    ok: Option<bool>,
    detail: String,
}

/// How the steps of one client went, by name.
struct Run {
    sdk: &'static str,
    binding: &'static str,
    host: &'static str,
    steps: BTreeMap<String, Step>,
    /// What is wrong with the run as a whole.
    flaw: Option<String>,
}

/// HO-T5: to clients that know nothing of it, a task that is handed over twice is one task.
#[tokio::test(flavor = "multi_thread")]
async fn released_clients_work_unchanged() {
    let Some(folder) = std::env::var_os("CHANCERY_SDKS").filter(|folder| !folder.is_empty()) else {
        say("CHANCERY_SDKS is not set: no client of a released SDK is tested\n");
        return;
    };
    // Tests run in the folder of their crate; a relative path means the root.
    let folder = root().join(PathBuf::from(folder));
    let serve = async || agent().bind("127.0.0.1:0").await.unwrap();
    let (server, others) = (serve().await, [serve().await, serve().await]);
    let without_grpc = agent().bindings([Binding::JsonRpc, Binding::HttpJson]).bind("127.0.0.1:0").await.unwrap();
    agent::OTHERS.set(others.each_ref().map(|other| other.url().to_owned())).unwrap();
    let all: Vec<_> =
        CLIENTS.iter().flat_map(|(sdk, bindings, host)| bindings.iter().map(move |binding| (*sdk, *binding, *host))).collect();
    let (mut runs, mut running, mut waiting) = (Vec::new(), JoinSet::new(), all.iter());
    loop {
        while running.len() < AT_ONCE
            && let Some(client) = waiting.next()
        {
            let server = if client.0 == ADK { &without_grpc } else { &server };
            running.spawn(run(folder.clone(), *client, server.url().replace("127.0.0.1", client.2)));
        }
        let Some(done) = running.join_next().await else { break };
        runs.push(done.unwrap());
    }
    server.shutdown().await;
    without_grpc.shutdown().await;
    runs.sort_by_key(|run: &Run| all.iter().position(|client| *client == (run.sdk, run.binding, run.host)));
    let mut flaws: Vec<String> =
        runs.iter().filter_map(|run| run.flaw.as_ref().map(|flaw| format!("{} {}: {flaw}", run.sdk, run.binding))).collect();
    let peers: Vec<_> = runs.iter().map(Run::name).collect();
    let rows: Vec<_> = STEPS
        .iter()
        .map(|step| {
            let cells = runs.iter().map(|run| {
                let (cell, flaw) = run.cell(step);
                flaws.extend(flaw);
                cell
            });
            (*step, cells.collect())
        })
        .collect();
    let page = interop::page(&peers, &rows, &DEFECTS);
    assert!(flaws.is_empty(), "\n{page}\n{}", flaws.join("\n"));
    interop::keep("clients", &page);
}

/// Our server for the clients.
fn agent() -> Server {
    Server::new(agent::card(), agent::clerk).store(Memory::new())
}

/// Runs the script of one SDK with one binding.
async fn run(folder: PathBuf, (sdk, binding, host): (&'static str, &'static str, &'static str), url: String) -> Run {
    let mut command = script(&folder, sdk);
    command.args([binding, &url]).stdin(Stdio::null()).stdout(Stdio::piped()).kill_on_drop(true);
    let mut child = command.spawn().unwrap_or_else(|e| panic!("{sdk} does not start ({e}); run tests/sdk/install"));
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut steps = BTreeMap::new();
    let read = timeout(PATIENCE, async {
        while let Some(line) = lines.next_line().await.unwrap() {
            let step: Step = serde_json::from_str(&line).unwrap_or_else(|e| panic!("{sdk} {binding}: {e}: {line}"));
            steps.insert(step.name.clone(), step);
        }
        child.wait().await.unwrap()
    });
    let flaw = match read.await {
        Ok(status) if status.success() => None,
        Ok(status) => Some(format!("the script ended with {status}")),
        Err(_) => Some(format!("the script did not end within {PATIENCE:?}")),
    };
    Run { sdk, binding, host, steps, flaw }
}

/// The script that does the steps with a client.
fn script(folder: &Path, sdk: &str) -> Command {
    let (home, scripts) = (folder.join(sdk), root().join("tests/sdk"));
    let (program, arguments) = match sdk {
        ADK => (home.join("bin/python"), vec!["-I".into(), scripts.join("adk.py")]),
        FASTA => (home.join("bin/python"), vec!["-I".into(), scripts.join("fasta.py"), "client".into()]),
        _ if sdk.starts_with("py-") => (home.join("bin/python"), vec!["-I".into(), scripts.join("client.py")]),
        _ if sdk.starts_with("rust-") => ("python3".into(), vec!["-I".into(), scripts.join("a2acli.py"), home.join("bin/a2acli")]),
        _ => ("node".into(), vec![scripts.join("client.mjs"), home]),
    };
    let mut command = Command::new(program);
    command.args(arguments);
    command
}

impl Run {
    /// The heading of its column.
    fn name(&self) -> String {
        let host = if self.host == "127.0.0.1" { String::new() } else { format!(" at {}", self.host) };
        format!("{} {}{host}", self.sdk, self.binding)
    }

    /// How a step went, and what is wrong with it.
    fn cell(&self, step: &str) -> (Cell, Option<String>) {
        let told = |flaw: &str| (Cell::Wrong, Some(format!("{}, {step}: {flaw}", self.name())));
        let absent = ABSENT.iter().any(|(sdk, steps)| *sdk == self.sdk && steps.contains(&step));
        match self.steps.get(step) {
            None => told("was not done"),
            Some(Step { ok: None, .. }) if absent => (Cell::NoCall, None),
            Some(Step { ok: None, .. }) => told("the client has no such call"),
            Some(_) if absent => told("is possible, against what the table of absent calls says"),
            Some(Step { ok: Some(true), .. }) => Cell::of(&DEFECTS, (self.sdk, self.binding, step), Ok(())),
            Some(Step { detail, .. }) => Cell::of(&DEFECTS, (self.sdk, self.binding, step), Err(detail)),
        }
    }
}

pub(crate) fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}
