//! A process is killed, and another opens its file at once: what the dead one held is taken up without waiting for
//! leases of many seconds, unless somebody else may hold it (guarantee G5).

use std::{
    io::{BufRead, BufReader, Write},
    path::Path,
    process::{Child, Command, Stdio},
    sync::{Arc, Mutex},
    time::Duration,
};

use async_trait::async_trait;
use chancery_core::{Caller, GetTask, Operations, PushConfig, SendMessage, Task, TaskId, TaskState};
use chancery_engine::{
    Builder, Engine, Failure, Outcome, Turn,
    push::{Notification, Sender, Sent},
    store::Sqlite,
};

use crate::{folder::Folder, operations::card};

const FILE: &str = "CHANCERY_REOPEN_FILE";
/// Shorter than both leases, 15 and 60 seconds, and long enough for a busy machine.
const SOON: Duration = Duration::from_secs(10);

async fn waits(turn: Turn) -> Result<Outcome, Failure> {
    turn.status("Waiting").await?;
    std::future::pending().await
}

/// Hears of a notification and never answers.
struct Silent;

#[async_trait]
impl Sender for Silent {
    async fn send(&self, notification: &Notification) -> Sent {
        say(&format!("sending {}\n", notification.id));
        std::future::pending().await
    }
}

/// Accepts every notification, and notes its id.
#[derive(Clone, Default)]
struct Noting(Arc<Mutex<Vec<String>>>);

#[async_trait]
impl Sender for Noting {
    async fn send(&self, notification: &Notification) -> Sent {
        self.0.lock().unwrap().push(notification.id.clone());
        Sent::Accepted
    }
}

fn ada() -> Caller {
    Caller::new("ada")
}

/// With the leases that everybody has.
async fn engine(file: &Path, sender: impl Sender) -> Builder {
    Engine::new(card(), waits).store(Sqlite::open(file).await.unwrap()).sender(sender)
}

fn say(line: &str) {
    let mut stdout = std::io::stdout().lock();
    if stdout.write_all(line.as_bytes()).and_then(|()| stdout.flush()).is_err() {
        std::process::exit(1);
    }
}

/// The child: a task that is worked on, whose notification is on its way. Does nothing as a test.
#[test]
fn child() {
    let Some(file) = std::env::var_os(FILE) else { return };
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(async {
        let engine = engine(Path::new(&file), Silent).await.start();
        let mut request = SendMessage::new("wait");
        request.configuration.return_immediately = true;
        request.configuration.push_config = Some(Box::new(PushConfig::new("https://hook.example").id("hook")));
        let reply = engine.send_message(&ada(), request).await.unwrap();
        say(&format!("\ntask {}\n", reply.task().unwrap().id));
        std::future::pending::<()>().await;
    });
}

/// A child with its task, once it is worked on and its notification is on its way.
fn start(file: &Path) -> (Child, TaskId, String) {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["reopen::child", "--exact", "--nocapture", "--test-threads", "1"])
        .env(FILE, file)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let (mut task, mut sending) = (None, None);
    for line in BufReader::new(child.stdout.take().unwrap()).lines() {
        let line = line.unwrap();
        task = task.or_else(|| line.strip_prefix("task ").map(TaskId::from));
        sending = sending.or_else(|| line.strip_prefix("sending ").map(str::to_owned));
        if task.is_some() && sending.is_some() {
            break;
        }
    }
    (child, task.unwrap(), sending.unwrap())
}

async fn task(engine: &Engine, id: &TaskId) -> Task {
    engine.get_task(&ada(), GetTask::new(id.clone())).await.unwrap().into_task().unwrap()
}

/// Waits until this holds, but not as long as a lease.
async fn soon(what: &str, mut holds: impl AsyncFnMut() -> bool) -> Duration {
    let began = tokio::time::Instant::now();
    while !holds().await {
        assert!(began.elapsed() < SOON, "{what}: not within {SOON:?}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    began.elapsed()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_dead_process_held_is_taken_up_at_once() {
    let folder = Folder::new();
    let file = folder.file("tasks.db");
    let (mut child, id, sending) = tokio::task::block_in_place(|| start(&file));
    child.kill().unwrap();
    child.wait().unwrap();
    let noted = Noting::default();
    let engine = engine(&file, noted.clone()).await.start();
    let failed = soon("the task", async || task(&engine, &id).await.status.state == TaskState::Failed).await;
    let sent = soon("the notification", async || noted.0.lock().unwrap().contains(&sending)).await;
    println!("after the start: the task failed in {failed:?}, its notification went out {sent:?} later");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_living_process_holds_is_left_alone() {
    let folder = Folder::new();
    let file = folder.file("tasks.db");
    let (mut child, id, sending) = tokio::task::block_in_place(|| start(&file));
    let noted = Noting::default();
    let second = engine(&file, noted.clone()).await.by_hand().start();
    for _ in 0..2 {
        second.look_after().await.unwrap();
        second.deliver_due().await.unwrap();
    }
    assert_eq!(task(&second, &id).await.status.state, TaskState::Working);
    assert!(!noted.0.lock().unwrap().contains(&sending));
    // A third cannot know whose leases these are: the second may have some.
    child.kill().unwrap();
    child.wait().unwrap();
    let third = engine(&file, Noting::default()).await.by_hand().start();
    third.look_after().await.unwrap();
    assert_eq!(task(&third, &id).await.status.state, TaskState::Working);
    drop((second, third));
}
