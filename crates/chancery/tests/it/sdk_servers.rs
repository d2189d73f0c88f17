//! Our client against the servers of the released SDKs, unchanged.
//!
//! `tests/sdk/server.py` and `tests/sdk/server.mjs` serve an agent with each SDK, in every binding that it has.
//! `CHANCERY_SDKS` names the folder that `tests/sdk/install` fills; without it nothing is tested.

use std::{
    collections::BTreeMap,
    future::Future,
    path::{Path, PathBuf},
    process::Stdio,
    time::Duration,
};

use chancery_client::{Client, Events, webhook::Receiver};
use chancery_core::{
    Binding, Caller, DeletePushConfig, ErrorKind, Event, GetPushConfig, ListPushConfigs, ListTasks, Message, Operations, Part, PushConfig,
    SendMessage, Task, TaskId, TaskState, Version,
};
use serde::Deserialize;
use tokio::{
    io::{AsyncBufReadExt, BufReader, Lines},
    process::{Child, ChildStdout, Command},
    time::timeout,
};

use crate::{
    interop::{self, Cell, Defect},
    say,
    sdk::root,
};

/// The longest time a server may take to start, and a step to be done, on a busy machine.
const PATIENCE: Duration = Duration::from_secs(30);

/// An SDK, the version that its server speaks, and its bindings.
const SERVERS: [(&str, Version, &[Binding]); 8] = [
    ("py-1.3.0", Version::V1_0, &[Binding::JsonRpc, Binding::HttpJson, Binding::Grpc]),
    ("py-0.3.26", Version::V0_3, &[Binding::JsonRpc, Binding::HttpJson, Binding::Grpc]),
    ("py-0.2.16", Version::V0_2, &[Binding::JsonRpc]),
    ("js-1.3.0", Version::V1_0, &[Binding::JsonRpc, Binding::HttpJson, Binding::Grpc]),
    ("js-0.3.14", Version::V0_3, &[Binding::JsonRpc, Binding::HttpJson, Binding::Grpc]),
    ("py-adk-2.13.0", Version::V1_0, &[Binding::JsonRpc]),
    ("py-fasta2a-2.1.1", Version::V1_0, &[Binding::JsonRpc]),
    ("rust-0.4.5", Version::V1_0, &[Binding::JsonRpc, Binding::HttpJson, Binding::Grpc]),
];

/// What is done with every server, in the order of the table.
const STEPS: [&str; 18] = [
    "card",
    "message",
    "send",
    "failure",
    "stream",
    "get",
    "list",
    "cancel",
    "cancel again",
    "unknown task",
    "continue",
    "watch",
    "set push",
    "get push",
    "list push",
    "delete push",
    "receive push",
    "deadline",
];

/// What a server has nothing for, and does not say that it had.
const ABSENT: [(&str, &[&str]); 2] = [
    // `to_a2a` gives every answer a task and has no webhooks; an agent asks by a tool that takes long, which a model calls.
    ("py-adk-2.13.0", &["message", "continue", "set push", "get push", "list push", "delete push", "receive push"]),
    // Every answer is a task, and there are no webhooks.
    (FASTA, &["message", "set push", "get push", "list push", "delete push", "receive push"]),
];

/// The server of Pydantic.
const FASTA: &str = "py-fasta2a-2.1.1";

/// What goes wrong because of the server. A step that is here and goes well is a flaw too.
const DEFECTS: [Defect; 11] = [
    Defect {
        peer: "py-0.3.26",
        bindings: &["HTTP+JSON"],
        steps: &["list push"],
        shows: "unknown exception",
        why: "Its REST handler raises `NotImplementedError`.",
    },
    Defect {
        peer: "py-0.3.26",
        bindings: &["HTTP+JSON"],
        steps: &["delete push"],
        shows: "INVALID_REQUEST",
        why: "Its REST application has no such path.",
    },
    Defect {
        peer: "py-0.3.26",
        bindings: &["GRPC"],
        steps: &["list push", "delete push"],
        shows: "not implemented",
        why: "Its gRPC handler does not have the methods.",
    },
    Defect {
        peer: "py-0.2.16",
        bindings: &["JSONRPC"],
        steps: &["cancel again"],
        shows: "state: Canceled",
        why: "A finished task is canceled all the same.",
    },
    Defect {
        peer: "js-0.3.14",
        bindings: &["GRPC"],
        steps: &["cancel again"],
        shows: "UNSUPPORTED_OPERATION",
        why: "The status is that of an unsupported operation, and nothing tells it from one.",
    },
    Defect {
        peer: "py-adk-2.13.0",
        bindings: &["JSONRPC"],
        steps: &["stream"],
        shows: "20; Some(Completed)",
        why: "What its agent says on the way goes out as messages of a status; the artifact is its last word alone.",
    },
    Defect {
        peer: FASTA,
        bindings: &["JSONRPC"],
        steps: &["send", "failure", "continue"],
        shows: "state: Submitted",
        why: "It answers every send at once, and drops what the call says of waiting (`jsonrpc_v1.from_v1_request`), where waiting is the rule.",
    },
    Defect {
        peer: FASTA,
        bindings: &["JSONRPC"],
        steps: &["deadline"],
        shows: "state: Submitted",
        why: "The same: there is nothing to wait for.",
    },
    Defect {
        peer: FASTA,
        bindings: &["JSONRPC"],
        steps: &["list"],
        shows: "UNSUPPORTED_OPERATION",
        why: "It speaks v1.0, where every agent lists its tasks, and cannot.",
    },
    Defect {
        peer: FASTA,
        bindings: &["JSONRPC"],
        steps: &["cancel"],
        shows: "state: Working",
        why: "It answers with the task as it was before its worker has heard of the cancellation.",
    },
    Defect {
        peer: FASTA,
        bindings: &["JSONRPC"],
        steps: &["cancel again"],
        shows: "state: Completed",
        why: "Canceling a finished task is answered with the task, where it is an error.",
    },
];

/// A server of an SDK at work; it ends when this is dropped.
pub(crate) struct Peer {
    _child: Child,
    /// Read no further, and kept open: some write to it later.
    _output: Lines<BufReader<ChildStdout>>,
    pub(crate) url: String,
}

#[derive(Deserialize)]
struct Ready {
    url: String,
}

type Steps = BTreeMap<&'static str, Result<(), String>>;

/// V10-SEL-001, V10-SEL-003: our client does everything with every released server.
#[tokio::test(flavor = "multi_thread")]
async fn our_client_works_with_the_server_of_every_sdk() {
    let Some(folder) = folder() else { return };
    let mut runs = Vec::new();
    for (sdk, version, bindings) in SERVERS {
        let peer = Peer::start(&folder, sdk).await;
        for binding in bindings {
            runs.push((sdk, *binding, steps(sdk, &peer, version, *binding).await));
        }
    }
    let mut flaws = Vec::new();
    let peers: Vec<_> = runs.iter().map(|(sdk, binding, _)| format!("{sdk} {binding}")).collect();
    let rows: Vec<_> = STEPS
        .iter()
        .map(|step| {
            let cells = runs.iter().map(|(sdk, binding, steps)| {
                let Some(done) = steps.get(step) else { return Cell::NoCall };
                let (cell, flaw) = Cell::of(&DEFECTS, (sdk, &binding.to_string(), step), done.as_ref().copied().map_err(String::as_str));
                flaws.extend(flaw);
                cell
            });
            (*step, cells.collect())
        })
        .collect();
    let page = interop::page(&peers, &rows, &DEFECTS);
    assert!(flaws.is_empty(), "\n{page}\n{}", flaws.join("\n"));
    interop::keep("servers", &page);
}

/// Where the SDKs are, if they are to be tested.
pub(crate) fn folder() -> Option<PathBuf> {
    let folder = std::env::var_os("CHANCERY_SDKS").filter(|folder| !folder.is_empty());
    if folder.is_none() {
        say("CHANCERY_SDKS is not set: no server of a released SDK is tested\n");
    }
    // Cargo runs tests in the crate's folder, a relative path means the root.
    folder.map(|folder| root().join(PathBuf::from(folder)))
}

impl Peer {
    pub(crate) async fn start(folder: &Path, sdk: &str) -> Self {
        let (home, scripts) = (folder.join(sdk), root().join("tests/sdk"));
        let (program, arguments) = match sdk {
            _ if sdk.starts_with("py-adk") => (home.join("bin/python"), vec!["-I".into(), scripts.join("adk_server.py")]),
            _ if sdk.starts_with("py-fasta2a") => (home.join("bin/python"), vec!["-I".into(), scripts.join("fasta.py"), "server".into()]),
            _ if sdk.starts_with("py-") => (home.join("bin/python"), vec!["-I".into(), scripts.join("server.py")]),
            _ if sdk.starts_with("rust-") => (home.join("bin/server"), Vec::new()),
            _ => ("node".into(), vec![scripts.join("server.mjs"), home]),
        };
        let mut command = Command::new(program);
        command.args(arguments);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).kill_on_drop(true);
        let mut child = command.spawn().unwrap_or_else(|e| panic!("{sdk} does not start ({e}); run tests/sdk/install"));
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let line = timeout(PATIENCE, lines.next_line()).await.expect("the server does not start").unwrap();
        let line = line.unwrap_or_else(|| panic!("{sdk} ended before it was ready; run tests/sdk/install"));
        Self { _child: child, _output: lines, url: serde_json::from_str::<Ready>(&line).unwrap().url }
    }
}

/// Does all steps, each whatever became of the others.
async fn steps(sdk: &str, peer: &Peer, version: Version, binding: Binding) -> Steps {
    let mut steps = Steps::new();
    let connected = Client::builder().bindings([binding]).connect(&peer.url).await;
    let agent = match connected {
        Ok(agent) => agent,
        Err(error) => {
            steps.insert("card", Err(format!("{error:?}")));
            return steps;
        }
    };
    // The Python SDK of 0.2 does not say its version in the card.
    let spoken = (agent.version() == version, agent.binding() == binding);
    steps.insert("card", if spoken == (true, true) { Ok(()) } else { Err(format!("{} {}", agent.version(), agent.binding())) });
    let absent: &[&str] = ABSENT.iter().find(|one| one.0 == sdk).map_or(&[], |one| one.1);
    let mut step = async |name: &'static str, work: std::pin::Pin<Box<dyn Future<Output = Result<(), String>> + Send>>| {
        if absent.contains(&name) {
            return;
        }
        let done = timeout(PATIENCE, work).await.unwrap_or_else(|_| Err("takes too long".to_owned()));
        steps.insert(name, done);
    };
    macro_rules! play {
        ($name:literal, $play:ident) => {
            step($name, Box::pin($play(agent.clone()))).await;
        };
    }
    play!("message", message);
    play!("send", send);
    play!("failure", failure);
    play!("stream", stream);
    play!("get", get);
    if version == Version::V1_0 {
        play!("list", list);
    }
    play!("cancel", cancel);
    play!("cancel again", cancel_again);
    play!("unknown task", unknown_task);
    play!("continue", go_on);
    play!("watch", watch);
    play!("set push", set_push);
    play!("get push", get_push);
    play!("list push", list_push);
    play!("delete push", delete_push);
    play!("receive push", receive_push);
    play!("deadline", deadline);
    steps
}

macro_rules! ensure {
    ($holds:expr, $($words:tt)+) => {
        if !$holds {
            return Err(format!($($words)+));
        }
    };
}

fn words<T, E: std::fmt::Debug>(result: Result<T, E>) -> Result<T, String> {
    result.map_err(|error| format!("{error:?}"))
}

fn caller() -> Caller {
    Caller::anonymous()
}

fn text(task: &Task) -> String {
    task.artifacts.iter().flat_map(|artifact| &artifact.parts).filter_map(Part::as_text).collect()
}

/// A task that waits until it is canceled, and its stream: not every server goes on without one.
async fn waiting(agent: &Client) -> Result<(TaskId, Events), String> {
    underway(agent, "wait").await
}

/// A task that has begun to work.
async fn underway(agent: &Client, verb: &str) -> Result<(TaskId, Events), String> {
    let mut events = words(agent.stream(verb).await)?;
    while let Some(update) = words(events.try_next().await)? {
        if let (Some(task), Some(TaskState::Working)) = (update.event.task_id(), update.event.state()) {
            return Ok((task.clone(), events));
        }
    }
    Err("the stream ended".to_owned())
}

async fn message(agent: Client) -> Result<(), String> {
    let reply = words(agent.send("say hello there").await)?;
    ensure!(reply.task().is_none() && reply.text() == "hello there", "{reply:?}");
    Ok(())
}

async fn send(agent: Client) -> Result<(), String> {
    let reply = words(agent.send("echo this").await)?;
    ensure!(reply.state() == TaskState::Completed && reply.text() == "echo this", "{reply:?}");
    Ok(())
}

async fn failure(agent: Client) -> Result<(), String> {
    let reply = words(agent.send("fail").await)?;
    ensure!(reply.state() == TaskState::Failed && reply.text() == "The crane is broken.", "{reply:?}");
    Ok(())
}

async fn stream(agent: Client) -> Result<(), String> {
    let mut events = words(agent.stream("stream 20").await)?;
    let (mut said, mut last) = (String::new(), None);
    while let Some(update) = words(events.try_next().await)? {
        last = update.event.state().or(last);
        if let Event::Artifact(update) = &*update.event {
            said.extend(update.artifact.parts.iter().filter_map(Part::as_text));
        }
    }
    let expected: String = (1..=20).map(|number| format!("{number};")).collect();
    ensure!(said == expected && last == Some(TaskState::Completed), "{said} {last:?}");
    Ok(())
}

async fn get(agent: Client) -> Result<(), String> {
    let reply = words(agent.send("echo that").await)?;
    let Some(made) = reply.task() else { return Err(format!("{reply:?}")) };
    let task = words(agent.task(made.id.clone()).await)?;
    ensure!(task.id == made.id && text(&task) == "echo that" && task.state() == TaskState::Completed, "{task:?}");
    Ok(())
}

async fn list(agent: Client) -> Result<(), String> {
    let reply = words(agent.send("echo listed").await)?;
    let Some(made) = reply.task() else { return Err(format!("{reply:?}")) };
    let mut wanted = ListTasks::default();
    wanted.context_id = Some(made.context_id.clone());
    let page = words(agent.list_tasks(&caller(), wanted).await)?;
    ensure!(page.tasks.iter().any(|task| task.id == made.id), "{page:?}");
    Ok(())
}

async fn cancel(agent: Client) -> Result<(), String> {
    let (task, _events) = waiting(&agent).await?;
    let canceled = words(agent.cancel(task).await)?;
    ensure!(canceled.state() == TaskState::Canceled, "{canceled:?}");
    Ok(())
}

async fn cancel_again(agent: Client) -> Result<(), String> {
    let reply = words(agent.send("echo done").await)?;
    let Some(made) = reply.task() else { return Err(format!("{reply:?}")) };
    match agent.cancel(made.id.clone()).await {
        Err(error) if error.kind() == ErrorKind::TaskNotCancelable => Ok(()),
        other => Err(format!("{other:?}")),
    }
}

async fn unknown_task(agent: Client) -> Result<(), String> {
    match agent.task("no-such-task").await {
        Err(error) if error.kind() == ErrorKind::TaskNotFound => Ok(()),
        other => Err(format!("{other:?}")),
    }
}

async fn go_on(agent: Client) -> Result<(), String> {
    let question = words(agent.send("ask").await)?;
    ensure!(question.state() == TaskState::InputRequired && question.text() == "Which quay?", "{question:?}");
    let Some(asked) = question.task() else { return Err(format!("{question:?}")) };
    let mut answer = Message::from("The north quay");
    answer.task_id = Some(asked.id.clone());
    answer.context_id = Some(asked.context_id.clone());
    let reply = words(agent.send(answer).await)?;
    let same = reply.task().is_some_and(|task| task.id == asked.id);
    ensure!(same && reply.state() == TaskState::Completed && reply.text() == "The north quay", "{reply:?}");
    Ok(())
}

/// Another reader of a task sees how it ends.
async fn watch(agent: Client) -> Result<(), String> {
    let (task, _events) = underway(&agent, "later").await?;
    let mut events = words(agent.watch(task).await)?;
    let mut last = None;
    while let Some(update) = words(events.try_next().await)? {
        last = update.event.state().or(last);
    }
    ensure!(last == Some(TaskState::Completed), "{last:?}");
    // Also a task of which nothing is heard can be watched, although some say nothing before its next event.
    let (task, _events) = waiting(&agent).await?;
    let watched = timeout(PATIENCE / 2, agent.watch(task.clone())).await;
    words(words(watched)?)?;
    words(agent.cancel(task).await).map(drop)
}

/// A config for a task that waits, whose stream goes on as long as it is held.
async fn config(agent: &Client) -> Result<(PushConfig, Events), String> {
    let (task, events) = waiting(agent).await?;
    let config = PushConfig::new("http://127.0.0.1:9/hook").id("c-1").for_task(task).token("t-1");
    Ok((words(agent.create_push_config(&caller(), config).await)?, events))
}

async fn set_push(agent: Client) -> Result<(), String> {
    let (made, _events) = config(&agent).await?;
    ensure!(made.url == "http://127.0.0.1:9/hook" && !made.task_id.is_empty(), "{made:?}");
    words(agent.cancel(made.task_id).await).map(drop)
}

async fn get_push(agent: Client) -> Result<(), String> {
    let (made, _events) = config(&agent).await?;
    let read = words(agent.get_push_config(&caller(), GetPushConfig::new(made.task_id.clone(), made.id.clone())).await)?;
    ensure!((&read.url, &read.token, &read.task_id) == (&made.url, &made.token, &made.task_id), "{read:?}");
    words(agent.cancel(made.task_id).await).map(drop)
}

async fn list_push(agent: Client) -> Result<(), String> {
    let (made, _events) = config(&agent).await?;
    let listed = words(agent.list_push_configs(&caller(), ListPushConfigs::new(made.task_id.clone())).await)?;
    ensure!(listed.configs.iter().any(|config| config.id == made.id), "{listed:?}");
    words(agent.cancel(made.task_id).await).map(drop)
}

async fn delete_push(agent: Client) -> Result<(), String> {
    let (made, _events) = config(&agent).await?;
    words(agent.delete_push_config(&caller(), DeletePushConfig::new(made.task_id.clone(), made.id.clone())).await)?;
    let read = agent.get_push_config(&caller(), GetPushConfig::new(made.task_id.clone(), made.id)).await;
    ensure!(read.is_err(), "{read:?}");
    words(agent.cancel(made.task_id).await).map(drop)
}

async fn receive_push(agent: Client) -> Result<(), String> {
    let mut hook = words(Receiver::new().token("the token").listen("127.0.0.1:0").await)?;
    let mut send = SendMessage::new("echo pushed");
    send.configuration.push_config = Some(Box::new(PushConfig::new(hook.url()).id("c-1").token("the token")));
    words(agent.send_message(&caller(), send).await)?;
    loop {
        match hook.arrival().await {
            Some(Ok(notification)) if notification.event.state() == Some(TaskState::Completed) => return Ok(()),
            Some(Ok(_)) => {}
            other => return Err(format!("{other:?}")),
        }
    }
}

/// A call that takes too long ends in time, and the task goes on.
async fn deadline(agent: Client) -> Result<(), String> {
    let soon = caller().deadline(std::time::Instant::now() + Duration::from_millis(500));
    match agent.send_message(&soon, SendMessage::new("wait")).await {
        Err(error) if error.kind() == ErrorKind::Timeout => Ok(()),
        // The gRPC library of the Rust server may notice first, and says CANCELLED where it means DEADLINE_EXCEEDED.
        Err(error) if error.to_string().contains("Timeout expired") => Ok(()),
        other => Err(format!("{other:?}")),
    }
}
