//! Yours stays yours: what one caller can learn of another's tasks, by every operation in every binding and version.
//!
//! Each cell does the same to a task of somebody else and to one that does not exist. The answers must be the same in every
//! word, the owner must be able to do it, and the task must be as it was.

use std::time::{Duration, Instant};

use chancery::{
    Caller, Error, ErrorKind, Message, Operations, Running, Server, Sqlite, TaskState,
    server::auth::{Auth, Digest, Holder, Scheme},
};
use chancery_client::{Client, Secrets};
use chancery_core::{
    Binding, CancelTask, DeletePushConfig, EventStream, GetPushConfig, GetTask, ListPushConfigs, ListTasks, PushConfig, SendMessage,
    SendReply, Seq, Subscribe, Task, TaskId, Version,
};
use chancery_wire::rest::COMPACT_BASE;

use crate::{agent, say, scenarios::WAYS};

/// What one may try with a task.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Try {
    Get,
    List,
    ListByContext,
    Continue,
    ContinueAsStream,
    Subscribe,
    Resume,
    CreatePush,
    GetPush,
    ListPush,
    DeletePush,
    RepeatKey,
    JoinContext,
    Cancel,
}

const TRIES: [Try; 14] = [
    Try::Get,
    Try::List,
    Try::ListByContext,
    Try::Continue,
    Try::ContinueAsStream,
    Try::Subscribe,
    Try::Resume,
    Try::CreatePush,
    Try::GetPush,
    Try::ListPush,
    Try::DeletePush,
    Try::RepeatKey,
    Try::JoinContext,
    Try::Cancel,
];

/// A task that is waiting for its owner, with a webhook.
struct Target {
    id: TaskId,
    context: String,
    /// The key of the request that made it.
    key: String,
}

const CONFIG: &str = "harbor-hook";

fn target(number: usize) -> Target {
    Target {
        id: format!("0192f3c4-0000-7000-8000-{number:012}").into(),
        context: format!("context-{number}"),
        key: format!("key-{number}"),
    }
}

impl Target {
    /// A text without anything by which this target differs from another.
    fn erase(&self, text: &str) -> String {
        text.replace(self.id.as_str(), "ID").replace(&self.context, "CONTEXT").replace(&self.key, "KEY")
    }
}

async fn first(mut stream: EventStream) -> Result<String, Error> {
    match std::future::poll_fn(|cx| stream.as_mut().poll_next(cx)).await {
        Some(Ok((_, event))) => Ok(format!("a stream of a task that is {:?}", event.state())),
        Some(Err(error)) => Err(error),
        None => Ok("an empty stream".to_owned()),
    }
}

fn shown(reply: &SendReply, target: &Target) -> String {
    match reply {
        // New ids differ; whether they are the target's does not.
        SendReply::Task(task) => format!("a task that is {:?}, the target: {}", task.status.state, task.id == target.id),
        SendReply::Message(message) => message.text(),
    }
}

/// Tries something, and gives what came of it in words.
async fn attempt(client: &Client, what: Try, target: &Target) -> Result<String, Error> {
    let caller = Caller::anonymous();
    let id = target.id.clone();
    let found = |tasks: &[Task]| format!("in the list: {}", tasks.iter().any(|task| task.id == target.id));
    match what {
        Try::Get => client.get_task(&caller, GetTask::new(id)).await.map(|task| format!("{:?}", task.status.state)),
        Try::List => client.list_tasks(&caller, ListTasks::default()).await.map(|page| found(&page.tasks)),
        Try::ListByContext => {
            let mut list = ListTasks::default();
            list.context_id = Some(target.context.as_str().into());
            client.list_tasks(&caller, list).await.map(|page| format!("{} {}", page.tasks.len(), found(&page.tasks)))
        }
        Try::Continue => {
            let request = SendMessage::new(Message::user("Quay 7").to_task(id));
            client.send_message(&caller, request).await.map(|reply| shown(&reply, target))
        }
        Try::ContinueAsStream => {
            let request = SendMessage::new(Message::user("Quay 7").to_task(id));
            first(client.stream_message(&caller, request).await?).await
        }
        Try::Subscribe => first(client.subscribe(&caller, Subscribe::new(id)).await?).await,
        Try::Resume => first(client.subscribe(&caller.resume_after(Seq::new(1)), Subscribe::new(id)).await?).await,
        Try::CreatePush => {
            let config = PushConfig::new("https://client.example/other").id("other").for_task(id);
            client.create_push_config(&caller, config).await.map(|config| config.url)
        }
        Try::GetPush => client.get_push_config(&caller, GetPushConfig::new(id, CONFIG)).await.map(|config| config.url),
        Try::ListPush => client.list_push_configs(&caller, ListPushConfigs::new(id)).await.map(|page| page.configs.len().to_string()),
        Try::DeletePush => client.delete_push_config(&caller, DeletePushConfig::new(id, CONFIG)).await.map(|()| "deleted".to_owned()),
        Try::RepeatKey => {
            let request = SendMessage::new("ask");
            client.send_message(&caller.idempotency_key(&target.key), request).await.map(|reply| shown(&reply, target))
        }
        Try::JoinContext => {
            let request = SendMessage::new(Message::user("hello").in_context(target.context.as_str()));
            client.send_message(&caller, request).await.map(|reply| shown(&reply, target))
        }
        Try::Cancel => client.cancel_task(&caller, CancelTask::new(id)).await.map(|task| format!("{:?}", task.status.state)),
    }
}

/// What came of it, so that two can be compared: all that a caller is told.
fn outcome(result: &Result<String, Error>, target: &Target) -> String {
    let text = match result {
        Ok(text) => format!("ok: {text}"),
        Err(error) => format!("{:?}: {error} {:?} {:?}", error.kind(), error.metadata(), error.violations()),
    };
    target.erase(&text)
}

fn url(running: &Running, binding: Binding, version: Version) -> String {
    match (binding, version) {
        (Binding::Grpc, _) => running.local_addr().to_string(),
        (Binding::HttpJson, Version::Compact) => format!("{}{COMPACT_BASE}", running.url()),
        _ => running.url().to_owned(),
    }
}

fn client(running: &Running, token: &str, binding: Binding, version: Version) -> Client {
    let builder = Client::builder().retries(0).credentials(Secrets::new().bearer(token));
    builder.over(binding, version, url(running, binding, version)).unwrap()
}

async fn serve(folder: &std::path::Path) -> Running {
    std::fs::create_dir_all(folder).unwrap();
    let tokens = ["ada", "bob"]
        .into_iter()
        .fold(Scheme::bearer(), |scheme, name| scheme.holder(Holder::new(name, Digest::of(format!("token-of-{name}")))));
    let store = Sqlite::open(folder.join("tasks.db")).await.unwrap();
    let server = Server::new(agent::card(), agent::clerk).store(store).auth(Auth::new().scheme("bearer", tokens));
    server.bind("127.0.0.1:0").await.unwrap()
}

/// A task of this client, that waits for an answer.
async fn make(owner: &Client, number: usize) -> Target {
    let mut target = target(number);
    let caller = Caller::anonymous().idempotency_key(&target.key);
    let mut request = SendMessage::new(Message::user("ask").in_context(target.context.as_str()));
    request.configuration.push_config = Some(Box::new(PushConfig::new("https://client.example/hook").id(CONFIG)));
    match owner.send_message(&caller, request).await.unwrap() {
        SendReply::Task(task) => target.id = task.id,
        SendReply::Message(message) => panic!("a message: {}", message.text()),
    }
    target
}

/// P8, CONV-TASK-005, V10-SCOPE-001, V10-SCOPE-003, V10-SCOPE-004, V10-SCOPE-005: a task of somebody else is a missing task.
#[tokio::test(flavor = "multi_thread")]
async fn a_task_of_somebody_else_is_a_missing_task() {
    let folder = std::env::temp_dir().join(format!("chancery-isolation-{}", std::process::id()));
    let running = serve(&folder).await;
    let maker = client(&running, "token-of-ada", Binding::JsonRpc, Version::V1_0);
    let mut table = format!("| | {} |\n|{}\n", WAYS.map(|(b, v)| format!("{b} {v}")).join(" | "), "---|".repeat(WAYS.len() + 1));
    let (mut same, mut absent, mut broken, mut number) = (0, 0, Vec::new(), 0);
    for what in TRIES {
        table.push_str(&format!("| {what:?} |"));
        for (binding, version) in WAYS {
            let [ada, bob] = ["token-of-ada", "token-of-bob"].map(|token| client(&running, token, binding, version));
            number += 2;
            let (theirs, missing) = (make(&maker, number).await, target(number + 1));
            let foreign = outcome(&attempt(&bob, what, &theirs).await, &theirs);
            let none = outcome(&attempt(&bob, what, &missing).await, &missing);
            let before = maker.get_task(&Caller::anonymous(), GetTask::new(theirs.id.clone())).await.unwrap();
            let hooks = maker.list_push_configs(&Caller::anonymous(), ListPushConfigs::new(theirs.id.clone())).await.unwrap();
            let mut list = ListTasks::default();
            list.context_id = Some(theirs.context.as_str().into());
            let tasks = maker.list_tasks(&Caller::anonymous(), list).await.unwrap().tasks;
            let facts = (before.status.state, before.history.len(), hooks.configs.len(), tasks.len());
            let untouched = facts == (TaskState::InputRequired, 1, 1, 1);
            let own = match attempt(&ada, what, &theirs).await {
                // The owner's key is known as hers.
                Err(error) if what == Try::RepeatKey && error.kind() == ErrorKind::InvalidParams => Ok(error.to_string()),
                own => own,
            };
            // There callers name their tasks: whatever is not one's own is a name for a new task, and only what the owner had
            // shows whether it was continued or begun.
            let chosen = version == Version::V0_1 && matches!(what, Try::Continue | Try::ContinueAsStream);
            let cell = match &own {
                // The version has no such operation.
                Err(error) if matches!(error.kind(), ErrorKind::UnsupportedOperation | ErrorKind::MethodNotFound) => {
                    absent += 1;
                    if foreign == none { "-" } else { "BROKEN" }
                }
                Err(error) => {
                    broken.push(format!("{what:?} {binding} {version}: the owner cannot: {error}"));
                    "BROKEN"
                }
                Ok(own) => {
                    // A context that is not one's own is a new one; only the owner sees the difference.
                    let differs = what == Try::JoinContext || chosen || outcome(&Ok(own.clone()), &theirs) != foreign;
                    if foreign == none && untouched && differs {
                        same += 1;
                        "same"
                    } else {
                        "BROKEN"
                    }
                }
            };
            if cell == "BROKEN" {
                broken
                    .push(format!("{what:?} {binding} {version}:\n  foreign {foreign}\n  missing {none}\n  own {own:?}\n  left {facts:?}"));
            }
            table.push_str(&format!(" {cell} |"));
        }
        table.push('\n');
    }
    say(&format!("\n{table}{same} cells the same, {absent} not in that version, {} broken\n", broken.len()));
    running.shutdown().await;
    std::fs::remove_dir_all(&folder).unwrap();
    assert!(broken.is_empty(), "{}", broken.join("\n"));
    assert!(same >= 90, "{same}");
}

/// G15: the time of an answer does not tell a task of somebody else from a missing one. A loose bound, for the machine may be
/// busy with other things: the medians of interleaved requests are within a factor of two.
#[tokio::test(flavor = "multi_thread")]
async fn the_time_tells_nothing() {
    let folder = std::env::temp_dir().join(format!("chancery-isolation-time-{}", std::process::id()));
    let running = serve(&folder).await;
    for (number, binding, version) in [(1, Binding::HttpJson, Version::V1_0), (3, Binding::JsonRpc, Version::V0_1)] {
        let [ada, bob] = ["token-of-ada", "token-of-bob"].map(|token| client(&running, token, binding, version));
        let (theirs, missing) = (make(&ada, number).await, target(number + 1));
        let (mut foreign, mut none) = (Vec::new(), Vec::new());
        for _ in 0..300 {
            for (times, target) in [(&mut foreign, &theirs), (&mut none, &missing)] {
                let began = Instant::now();
                bob.get_task(&Caller::anonymous(), GetTask::new(target.id.clone())).await.unwrap_err();
                times.push(began.elapsed());
            }
        }
        let median = |times: &mut Vec<Duration>| {
            times.sort_unstable();
            times[times.len() / 2]
        };
        let (foreign, none) = (median(&mut foreign), median(&mut none));
        println!("GetTask over {binding} {version}, median of 300: of somebody else {foreign:?}, missing {none:?}");
        assert!(foreign < none * 2 && none < foreign * 2, "{foreign:?} {none:?}");
    }
    running.shutdown().await;
    std::fs::remove_dir_all(&folder).unwrap();
}
