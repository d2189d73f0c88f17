//! The clients of the released SDKs, unchanged, against our server.
//!
//! `tests/sdk/client.py` and `tests/sdk/client.mjs` do the same steps with each SDK and each binding that
//! its client has, the way its users do. `CHANCERY_SDKS` names the folder that `tests/sdk/install` fills;
//! without it nothing is tested.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
    process::Stdio,
    time::Duration,
};

use chancery::{Memory, Server};
use serde::Deserialize;
use tokio::{
    io::{AsyncBufReadExt, BufReader},
    process::Command,
    task::JoinSet,
    time::timeout,
};

use crate::{agent, say};

/// The longest time one client may take on a busy machine.
const PATIENCE: Duration = Duration::from_secs(300);

/// How many clients work at the same time; starting them is most of the work.
const AT_ONCE: usize = 3;

/// An SDK, and the bindings of its client.
const CLIENTS: [(&str, &[&str]); 5] = [
    ("py-1.3.0", &["JSONRPC", "HTTP+JSON", "GRPC"]),
    ("py-0.3.26", &["JSONRPC", "HTTP+JSON", "GRPC"]),
    ("py-0.2.16", &["JSONRPC"]),
    ("js-1.3.0", &["JSONRPC", "HTTP+JSON", "GRPC"]),
    ("js-0.3.14", &["JSONRPC", "HTTP+JSON", "GRPC"]),
];

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
const ABSENT: [(&str, &[&str]); 3] = [
    ("py-0.3.26", &["list", "list push", "delete push"]),
    ("py-0.2.16", &["list", "list push", "delete push", "resubscribe"]),
    ("js-0.3.14", &["list"]),
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
    let serve = async || Server::new(agent::card(), agent::clerk).store(Memory::new()).bind("127.0.0.1:0").await.unwrap();
    let (server, others) = (serve().await, [serve().await, serve().await]);
    agent::OTHERS.set(others.each_ref().map(|other| other.url().to_owned())).unwrap();
    let all: Vec<_> = CLIENTS.iter().flat_map(|(sdk, bindings)| bindings.iter().map(move |binding| (*sdk, *binding))).collect();
    let (mut runs, mut running, mut waiting) = (Vec::new(), JoinSet::new(), all.iter());
    loop {
        while running.len() < AT_ONCE
            && let Some((sdk, binding)) = waiting.next()
        {
            running.spawn(run(folder.clone(), sdk, binding, server.url().to_owned()));
        }
        let Some(done) = running.join_next().await else { break };
        runs.push(done.unwrap());
    }
    server.shutdown().await;
    runs.sort_by_key(|run: &Run| all.iter().position(|(sdk, binding)| (*sdk, *binding) == (run.sdk, run.binding)));
    say(&table(&runs));
    let flaws: Vec<String> = runs.iter().flat_map(flaws).collect();
    assert!(flaws.is_empty(), "\n{}", flaws.join("\n"));
}

/// Runs the script of one SDK with one binding.
async fn run(folder: PathBuf, sdk: &'static str, binding: &'static str, url: String) -> Run {
    let (home, scripts) = (folder.join(sdk), root().join("tests/sdk"));
    let mut command = if sdk.starts_with("py-") {
        let mut command = Command::new(home.join("bin/python"));
        command.arg("-I").arg(scripts.join("client.py"));
        command
    } else {
        let mut command = Command::new("node");
        command.arg(scripts.join("client.mjs")).arg(&home);
        command
    };
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
    Run { sdk, binding, steps, flaw }
}

/// What did not go as it must, in words.
fn flaws(run: &Run) -> Vec<String> {
    let absent: BTreeSet<&str> = ABSENT.iter().filter(|(sdk, _)| *sdk == run.sdk).flat_map(|(_, steps)| steps.iter().copied()).collect();
    let of_step = |name: &&str| match run.steps.get(*name) {
        None => Some("was not done".to_owned()),
        Some(Step { ok: Some(true), .. }) if !absent.contains(name) => None,
        Some(Step { ok: None, .. }) if absent.contains(name) => None,
        Some(Step { ok: Some(true), .. }) => Some("is possible, against what the table of absent calls says".to_owned()),
        Some(Step { detail, .. }) => Some(detail.clone()),
    };
    let steps = STEPS.iter().filter_map(|name| of_step(name).map(|flaw| format!("{} {}, {name}: {flaw}", run.sdk, run.binding)));
    steps.chain(run.flaw.iter().map(|flaw| format!("{} {}: {flaw}", run.sdk, run.binding))).collect()
}

/// A row for every step, a column for every client.
fn table(runs: &[Run]) -> String {
    let mut table = format!("\n{:16}", "");
    for run in runs {
        table += &format!("{:>11}", run.sdk);
    }
    table += &format!("\n{:16}", "");
    for run in runs {
        table += &format!("{:>11}", run.binding);
    }
    for name in STEPS {
        table += &format!("\n{name:16}");
        for run in runs {
            let cell = match run.steps.get(name).map(|step| step.ok) {
                Some(Some(true)) => "ok",
                Some(Some(false)) => "WRONG",
                Some(None) => "no call",
                None => "MISSING",
            };
            table += &format!("{cell:>11}");
        }
    }
    table + "\n"
}

pub(crate) fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}
