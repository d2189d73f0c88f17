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

use chancery_client::{Client, webhook::Receiver};
use chancery_core::{
    Binding, Caller, DeletePushConfig, ErrorKind, Event, GetPushConfig, ListPushConfigs, ListTasks, Message, Operations, Part, PushConfig,
    SendMessage, SendReply, Task, TaskState, Version,
};
use serde::Deserialize;
use tokio::{
    io::{AsyncBufReadExt, BufReader},
    process::{Child, Command},
    time::timeout,
};

use crate::sdk::{root, say};

/// The longest time a server may take to start, and a step to be done, on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// An SDK, the version that its server speaks, and its bindings.
const SERVERS: [(&str, Version, &[Binding]); 5] = [
    ("py-1.3.0", Version::V1_0, &[Binding::JsonRpc, Binding::HttpJson, Binding::Grpc]),
    ("py-0.3.26", Version::V0_3, &[Binding::JsonRpc, Binding::HttpJson, Binding::Grpc]),
    ("py-0.2.16", Version::V0_2, &[Binding::JsonRpc]),
    ("js-1.3.0", Version::V1_0, &[Binding::JsonRpc, Binding::HttpJson, Binding::Grpc]),
    ("js-0.3.14", Version::V0_3, &[Binding::JsonRpc, Binding::HttpJson, Binding::Grpc]),
];

/// What is done with every server, in the order of the table.
const STEPS: [&str; 16] = [
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
    "push configs",
    "delete push",
    "receive push",
    "deadline",
];

/// What a server cannot do, and what it answers instead.
const ABSENT: [(&str, Binding, &str, ErrorKind); 0] = [];

/// A server of an SDK at work; it ends when this is dropped.
struct Peer {
    _child: Child,
    url: String,
}

#[derive(Deserialize)]
struct Ready {
    url: String,
}

type Steps = BTreeMap<&'static str, Result<(), String>>;

/// P2, V10-SEL-001: our client does everything with every released server.
#[tokio::test(flavor = "multi_thread")]
async fn our_client_works_with_the_server_of_every_sdk() {
    let Some(folder) = std::env::var_os("CHANCERY_SDKS").filter(|folder| !folder.is_empty()) else { return };
    // Cargo runs tests in the crate's folder, a relative path means the root.
    let folder = root().join(PathBuf::from(folder));
    let mut runs = Vec::new();
    for (sdk, version, bindings) in SERVERS {
        let peer = Peer::start(&folder, sdk).await;
        for binding in bindings {
            runs.push((sdk, *binding, steps(&peer, version, *binding).await));
        }
    }
    say(&table(&runs));
    let flaws: Vec<String> = runs
        .iter()
        .flat_map(|(sdk, binding, steps)| {
            steps.iter().filter_map(move |(name, done)| done.as_ref().err().map(|flaw| format!("{sdk} {binding}, {name}: {flaw}")))
        })
        .collect();
    assert!(flaws.is_empty(), "\n{}", flaws.join("\n"));
}

impl Peer {
    async fn start(folder: &Path, sdk: &str) -> Self {
        let (home, scripts) = (folder.join(sdk), root().join("tests/sdk"));
        let mut command = if sdk.starts_with("py-") {
            let mut command = Command::new(home.join("bin/python"));
            command.arg("-I").arg(scripts.join("server.py"));
            command
        } else {
            let mut command = Command::new("node");
            command.arg(scripts.join("server.mjs")).arg(&home);
            command
        };
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).kill_on_drop(true);
        let mut child = command.spawn().unwrap_or_else(|e| panic!("{sdk} does not start ({e}); run tests/sdk/install"));
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let line = timeout(PATIENCE, lines.next_line()).await.expect("the server does not start").unwrap();
        let line = line.unwrap_or_else(|| panic!("{sdk} ended before it was ready; run tests/sdk/install"));
        Self { _child: child, url: serde_json::from_str::<Ready>(&line).unwrap().url }
    }
}

/// Does all steps, each whatever became of the others.
async fn steps(peer: &Peer, version: Version, binding: Binding) -> Steps {
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
    let mut step = async |name: &'static str, work: std::pin::Pin<Box<dyn Future<Output = Result<(), String>> + Send>>| {
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
    play!("push configs", push_configs);
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

/// A task that waits until it is canceled.
async fn waiting(agent: &Client) -> Result<Task, String> {
    let mut send = SendMessage::new("wait");
    send.configuration.return_immediately = true;
    match words(agent.send_message(&caller(), send).await)? {
        SendReply::Task(task) => Ok(*task),
        other => Err(format!("{other:?}")),
    }
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
    let task = waiting(&agent).await?;
    let canceled = words(agent.cancel(task.id).await)?;
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

async fn watch(agent: Client) -> Result<(), String> {
    let task = waiting(&agent).await?;
    let mut events = words(agent.watch(task.id.clone()).await)?;
    let watching = async {
        let mut last = None;
        while let Some(update) = words(events.try_next().await)? {
            last = update.event.state().or(last);
        }
        Ok::<_, String>(last)
    };
    // Canceling must not be faster than watching: then there would be nothing to watch.
    let canceling = async {
        tokio::time::sleep(Duration::from_millis(300)).await;
        words(agent.cancel(task.id.clone()).await)
    };
    let (last, canceled) = tokio::join!(watching, canceling);
    canceled?;
    let last = last?;
    ensure!(last == Some(TaskState::Canceled), "{last:?}");
    Ok(())
}

async fn push_configs(agent: Client) -> Result<(), String> {
    let task = waiting(&agent).await?;
    let config = PushConfig::new("http://127.0.0.1:9/hook").id("c-1").task(task.id.clone()).token("t-1");
    let made = words(agent.create_push_config(&caller(), config).await)?;
    let read = words(agent.get_push_config(&caller(), GetPushConfig::new(task.id.clone(), made.id.clone())).await)?;
    let listed = words(agent.list_push_configs(&caller(), ListPushConfigs::new(task.id.clone())).await)?;
    ensure!(read.url == "http://127.0.0.1:9/hook" && read.token == made.token, "{read:?}");
    ensure!(listed.configs.iter().any(|config| config.id == made.id), "{listed:?}");
    words(agent.cancel(task.id).await).map(drop)
}

async fn delete_push(agent: Client) -> Result<(), String> {
    let task = waiting(&agent).await?;
    let config = PushConfig::new("http://127.0.0.1:9/hook").id("c-1").task(task.id.clone());
    let made = words(agent.create_push_config(&caller(), config).await)?;
    words(agent.delete_push_config(&caller(), DeletePushConfig::new(task.id.clone(), made.id)).await)?;
    let listed = words(agent.list_push_configs(&caller(), ListPushConfigs::new(task.id.clone())).await)?;
    ensure!(listed.configs.is_empty(), "{listed:?}");
    words(agent.cancel(task.id).await).map(drop)
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
        other => Err(format!("{other:?}")),
    }
}

/// A row for every step, a column for every server.
fn table(runs: &[(&str, Binding, Steps)]) -> String {
    let mut table = format!("\n{:16}", "");
    for (sdk, ..) in runs {
        table += &format!("{sdk:>11}");
    }
    table += &format!("\n{:16}", "");
    for (_, binding, _) in runs {
        table += &format!("{:>11}", binding.to_string());
    }
    for name in STEPS {
        table += &format!("\n{name:16}");
        for (.., steps) in runs {
            let cell = match steps.get(name) {
                Some(Ok(())) => "ok",
                Some(Err(_)) => "WRONG",
                None => "-",
            };
            table += &format!("{cell:>11}");
        }
    }
    table + "\n"
}
