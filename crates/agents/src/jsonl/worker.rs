//! Demultiplexer of a process that speaks `a2a-jsonl/1`: its lines are handed to the tasks they speak of.

use std::{
    collections::HashMap,
    process::ExitStatus,
    sync::{
        Arc, MutexGuard,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use chancery_config::backend::command::Lifetime;
use chancery_core::sync::Mutex;
use serde_json::json;
use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader},
    process::{ChildStdin, ChildStdout, Command},
    sync::{Notify, OwnedSemaphorePermit, mpsc},
};

use super::line::{self, LONGEST, Line, PROTOCOL, Said};
use crate::{
    process::{Children, Exit, Process},
    text,
};

/// How many lines a task may be behind its process.
const BEHIND: usize = 256;
/// How many lines a process may be behind us.
const AHEAD: usize = 16;

/// A process and the tasks it works on. It is ended when nobody holds this any more.
pub(crate) struct Worker {
    input: mpsc::Sender<String>,
    tasks: Arc<Tasks>,
    exit: Exit,
    /// Taken to end it.
    process: Mutex<Option<Process>>,
}

/// What a task hears of its process.
#[derive(Debug)]
pub(crate) enum Heard {
    Said(Said),
    /// A line that is no JSON, where that is allowed.
    Text(String),
    /// The process broke the protocol.
    Broken(String),
    /// The process is gone.
    Exit(Option<ExitStatus>),
}

/// The tasks of a process, by id.
#[derive(Default)]
pub(crate) struct Tasks {
    open: Mutex<HashMap<String, mpsc::Sender<Heard>>>,
    closed: Notify,
    /// Set when the process broke the protocol; what it says is not heard any more.
    broken: AtomicBool,
}

/// How a process is read.
#[derive(Clone)]
pub(crate) struct Manner {
    pub(crate) agent: String,
    pub(crate) lifetime: Lifetime,
    pub(crate) lenient: bool,
}

impl Worker {
    /// Starts a process and says hello.
    pub(crate) fn start(
        children: &Children,
        command: Command,
        kill_after: Duration,
        permit: Option<OwnedSemaphorePermit>,
        manner: &Manner,
    ) -> std::io::Result<Arc<Self>> {
        let mut process = children.start(command, kill_after, permit)?;
        let (stdin, stdout, stderr) = (process.stdin.take(), process.stdout.take(), process.stderr.take());
        let (input, lines) = mpsc::channel(AHEAD);
        let tasks = Arc::new(Tasks::default());
        let exit = process.exit_of();
        children.spawn(write(stdin, lines, exit.clone()));
        children.spawn(read(stdout, tasks.clone(), exit.clone(), manner.clone()));
        let (agent, stderr) = (manner.agent.clone(), children.pump(stderr));
        children.spawn(async move { text::log(stderr, &agent).await });
        let lifetime = if manner.lifetime == Lifetime::Task { "task" } else { "pool" };
        let hello =
            json!({"type": "hello", "protocol": PROTOCOL, "agent": {"id": manner.agent, "name": manner.agent}, "lifetime": lifetime});
        // The channel is empty, so that there is room.
        drop(input.try_send(hello.to_string()));
        Ok(Arc::new(Self { input, tasks, exit, process: Mutex::new(Some(process)) }))
    }

    /// Hands a task to the process and hears what it says of it.
    pub(crate) fn open(&self, task: &str) -> mpsc::Receiver<Heard> {
        let (sender, receiver) = mpsc::channel(BEHIND);
        self.tasks.lock().insert(task.to_owned(), sender.clone());
        if self.is_over() {
            // The reader may have told everybody before this task was there; hearing it twice does no harm.
            drop(sender.try_send(Heard::Exit(None)));
        }
        receiver
    }

    /// Takes a task back.
    pub(crate) fn close(&self, task: &str) {
        self.tasks.close(task);
    }

    /// Writes a line; false when the process does not read any more.
    pub(crate) async fn send(&self, line: serde_json::Value) -> bool {
        self.input.send(line.to_string()).await.is_ok()
    }

    /// Waits until the process says that a task is over, or is gone itself.
    pub(crate) async fn closed(&self, task: &str) {
        loop {
            let noticed = self.tasks.closed.notified();
            if !self.tasks.lock().contains_key(task) || self.is_over() {
                return;
            }
            tokio::select! {
                () = noticed => {}
                _ = self.exit.wait() => return,
            }
        }
    }

    /// Waits until the process has ended.
    pub(crate) async fn ended(&self) {
        // How it ended does not matter here.
        let _ = self.exit.wait().await;
    }

    /// Ends the process: by a signal to its group, and by another when that does not help.
    pub(crate) fn stop(&self) {
        drop(self.process.lock().take());
    }

    /// Whether nothing more is heard of the process.
    pub(crate) fn is_over(&self) -> bool {
        self.exit.is_over() || self.tasks.broken.load(Ordering::Acquire)
    }

    /// How many tasks it has.
    pub(crate) fn load(&self) -> usize {
        self.tasks.lock().len()
    }
}

impl Tasks {
    fn lock(&self) -> MutexGuard<'_, HashMap<String, mpsc::Sender<Heard>>> {
        // The map holds no invariant that a panic could break.
        self.open.lock()
    }

    fn close(&self, task: &str) {
        self.lock().remove(task);
        self.closed.notify_waiters();
    }

    /// The task that a line speaks of; a process with one task need not name it.
    fn addressee(&self, task: Option<&str>) -> Option<(String, mpsc::Sender<Heard>)> {
        let open = self.lock();
        match task {
            Some(task) => open.get_key_value(task),
            None if open.len() == 1 => open.iter().next(),
            None => None,
        }
        .map(|(task, sender)| (task.clone(), sender.clone()))
    }

    async fn tell_all(&self, heard: impl Fn() -> Heard) {
        let all: Vec<_> = self.lock().drain().map(|(_, sender)| sender).collect();
        self.closed.notify_waiters();
        for sender in all {
            // A task that does not listen any more needs no news.
            let _ = sender.send(heard()).await;
        }
    }
}

async fn write(stdin: Option<ChildStdin>, mut lines: mpsc::Receiver<String>, exit: Exit) {
    let Some(mut stdin) = stdin else { return };
    loop {
        let line = tokio::select! {
            line = lines.recv() => line,
            _ = exit.wait() => None,
        };
        let Some(mut line) = line else { return };
        line.push('\n');
        if let Err(error) = stdin.write_all(line.as_bytes()).await {
            tracing::debug!(%error, "the process does not read any more");
            return;
        }
    }
}

async fn read(stdout: Option<ChildStdout>, tasks: Arc<Tasks>, exit: Exit, manner: Manner) {
    if let Some(stdout) = stdout
        && let Err(broken) = listen(BufReader::with_capacity(64 << 10, stdout), &tasks, &manner).await
    {
        tracing::warn!(agent = manner.agent, broken, "the process broke the protocol");
        tasks.broken.store(true, Ordering::Release);
        tasks.tell_all(|| Heard::Broken(broken.clone())).await;
    }
    let status = exit.wait().await.ok();
    tasks.tell_all(|| Heard::Exit(status)).await;
}

/// Reads lines until the end. A task that is behind stops the reading, and so the process.
async fn listen(mut from: BufReader<ChildStdout>, tasks: &Tasks, manner: &Manner) -> Result<(), String> {
    let mut line = Vec::new();
    while next_line(&mut from, &mut line).await? {
        if line.iter().all(u8::is_ascii_whitespace) {
            continue;
        }
        match line::read(&line) {
            Ok(Line { task_id, said }) => hand(tasks, manner, task_id.as_deref(), said).await,
            Err(_) if manner.lenient => {
                let mut text = String::from_utf8_lossy(&line).into_owned();
                text.push('\n');
                match tasks.addressee(None) {
                    // A task that is over has no use for it.
                    Some((_, sender)) => drop(sender.send(Heard::Text(text)).await),
                    None => tracing::warn!(agent = manner.agent, "a line that is no JSON belongs to no task"),
                }
            }
            Err(error) => return Err(format!("a line is not of the protocol: {error}")),
        }
    }
    Ok(())
}

async fn hand(tasks: &Tasks, manner: &Manner, task: Option<&str>, said: Said) {
    match said {
        Said::Log { level, text } => return log(&manner.agent, &level, &text),
        Said::Unknown => return tracing::warn!(agent = manner.agent, "a line of an unknown type was skipped"),
        Said::Ready { skills } => {
            if !skills.is_empty() {
                tracing::info!(
                    agent = manner.agent,
                    skills = skills.len(),
                    "skills of a process are not added to the card in this release"
                );
            }
            return;
        }
        _ => {}
    }
    let Some((task, sender)) = tasks.addressee(task) else {
        return tracing::warn!(agent = manner.agent, task, "a line speaks of no task that is open here");
    };
    let over = matches!(&said, Said::Status { state, .. } if state.is_terminal()) || matches!(&said, Said::Reply { .. } | Said::Handoff(_));
    // A task that was canceled does not listen any more; its end is still noticed below.
    drop(sender.send(Heard::Said(said)).await);
    if over {
        tasks.close(&task);
    }
}

fn log(agent: &str, level: &str, text: &str) {
    match level {
        "error" => tracing::error!(agent, text, "log"),
        "warn" | "warning" => tracing::warn!(agent, text, "log"),
        "debug" => tracing::debug!(agent, text, "log"),
        "trace" => tracing::trace!(agent, text, "log"),
        _ => tracing::info!(agent, text, "log"),
    }
}

/// Reads a line without its end; false at the end of everything.
async fn next_line(from: &mut BufReader<ChildStdout>, line: &mut Vec<u8>) -> Result<bool, String> {
    line.clear();
    loop {
        let ready = from.fill_buf().await.map_err(|error| format!("the output cannot be read: {error}"))?;
        if ready.is_empty() {
            return Ok(!line.is_empty());
        }
        let end = ready.iter().position(|byte| *byte == b'\n');
        let take = end.unwrap_or(ready.len());
        if line.len() + take > LONGEST {
            return Err(format!("a line is longer than {} MiB", LONGEST >> 20));
        }
        line.extend_from_slice(&ready[..take]);
        from.consume(take + usize::from(end.is_some()));
        if end.is_some() {
            return Ok(true);
        }
    }
}
