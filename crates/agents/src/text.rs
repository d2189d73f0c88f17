//! Command executor, text mode: a process for each message, text on stdin, an artifact from stdout.

use std::{
    process::ExitStatus,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use chancery_engine::{ArtifactWriter, Failure, Outcome, Turn};
use tokio::{
    io::AsyncWriteExt,
    process::{ChildStdin, Command},
    sync::{OwnedSemaphorePermit, Semaphore, mpsc},
};

use super::{
    files::Folders,
    process::{Children, Process, ending},
};
use chancery_config as config;

/// The longest piece of a line that is waited for.
const LINE: usize = 4 << 10;
/// The longest piece between two delimiters that is waited for.
const CHUNK: usize = 1 << 20;
/// How much of stderr a caller may be shown.
const TAIL: usize = 2 << 10;

/// A program that gets the text of a message on stdin; what it writes to stdout is the result.
pub(crate) struct Text {
    name: String,
    command: config::backend::command::Command,
    timeout: Duration,
    chunk: Option<String>,
    expose_stderr: bool,
    places: Arc<Semaphore>,
    children: Children,
}

impl Text {
    pub(crate) fn new(
        agent: &config::Agent,
        command: config::backend::command::Command,
        chunk: Option<String>,
        expose_stderr: bool,
        children: Children,
    ) -> Self {
        let places = Arc::new(Semaphore::new(command.max_processes));
        Self { name: agent.name.clone(), timeout: agent.timeout, command, chunk, expose_stderr, places, children }
    }

    pub(crate) async fn run(&self, turn: Turn) -> Result<Outcome, Failure> {
        // Waiting for a place is not working: the time begins after it.
        let permit = self.places.clone().acquire_owned().await?;
        match tokio::time::timeout(self.timeout, Box::pin(self.work(&turn, permit))).await {
            Ok(outcome) => outcome,
            Err(_) => Err(too_long()),
        }
    }

    async fn work(&self, turn: &Turn, permit: OwnedSemaphorePermit) -> Result<Outcome, Failure> {
        let folders = Folders::new(&turn.message().parts).await?;
        let mut command = prepared(&self.command, &self.name);
        command.env("A2A_TASK_ID", turn.task_id().as_str()).env("A2A_CONTEXT_ID", turn.context_id().as_str());
        command.env("A2A_FILES", folders.given()).env("A2A_OUT", folders.left());
        if let Some(trace) = &turn.caller().call().trace {
            command.env("TRACEPARENT", &trace.parent);
        }
        let mut process = self.children.start(command, self.command.kill_after, Some(permit)).map_err(|error| unstarted(&error))?;
        turn.working().await?;
        let (stdin, stdout, stderr) =
            (process.stdin.take(), self.children.pump(process.stdout.take()), self.children.pump(process.stderr.take()));
        let flow = Flow::default();
        let mut output = Output::new(turn, self.chunk.as_deref(), &flow);
        let mut tail = Tail::default();
        let status = {
            // All three at once: a program that writes before it has read everything must not stand still.
            let talk = async {
                let logged = async {
                    tail.copy(stderr, &self.name).await;
                    Ok(())
                };
                tokio::try_join!(feed(stdin, turn.text()), output.copy(stdout), logged).map(|_| ())
            };
            end(&process, self.command.kill_after, &flow, talk).await?
        };
        output.finish().await?;
        for artifact in folders.results().await? {
            turn.publish(artifact).await?;
        }
        if status.success() {
            return Ok(Outcome::Completed);
        }
        let mut words = format!("The command ended with {}.", ending(status));
        if self.expose_stderr && !tail.text().is_empty() {
            words = format!("{words}\n{}", tail.text());
        }
        Ok(Outcome::failed(words))
    }
}

/// How the output moves: whether a piece is being passed on, and how many were.
#[derive(Default)]
struct Flow {
    busy: AtomicBool,
    pieces: AtomicU64,
}

/// Waits for the process and its pipes. What it left running may hold the pipes a little longer than it
/// lived, but not for ever: when nothing came for so long, nothing more is waited for. What did come is
/// passed on to the last piece, however slow that is.
async fn end(
    process: &Process,
    patience: Duration,
    flow: &Flow,
    talk: impl Future<Output = Result<(), Failure>>,
) -> Result<ExitStatus, Failure> {
    let mut talk = std::pin::pin!(talk);
    let status = tokio::select! {
        told = &mut talk => {
            told?;
            return Ok(process.exit().await?);
        }
        status = process.exit() => status?,
    };
    loop {
        let pieces = flow.pieces.load(Ordering::Relaxed);
        match tokio::time::timeout(patience, &mut talk).await {
            Ok(told) => {
                told?;
                return Ok(status);
            }
            Err(_) if flow.busy.load(Ordering::Relaxed) || flow.pieces.load(Ordering::Relaxed) != pieces => {}
            Err(_) => {
                tracing::warn!("something that the command started keeps its output open");
                return Ok(status);
            }
        }
    }
}

/// The program with its arguments, and with nothing of our environment but what is named.
pub(crate) fn prepared(command: &config::backend::command::Command, agent: &str) -> Command {
    let mut prepared = Command::new(&command.program);
    prepared.args(&command.arguments).current_dir(&command.cwd).env_clear();
    for name in &command.env {
        if let Some(value) = std::env::var_os(name) {
            prepared.env(name, value);
        }
    }
    prepared.env("A2A_AGENT", agent);
    prepared
}

pub(crate) fn unstarted(error: &std::io::Error) -> Failure {
    Failure::from(format!("the command cannot be started: {error}")).tell("The agent's command cannot be started.")
}

pub(crate) fn too_long() -> Failure {
    Failure::new("The agent took too long.")
}

async fn feed(stdin: Option<ChildStdin>, text: &str) -> Result<(), Failure> {
    let Some(mut stdin) = stdin else { return Ok(()) };
    match stdin.write_all(text.as_bytes()).await {
        // A program need not read what it does not want.
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => Err(error.into()),
        _ => Ok(()),
    }
}

/// Takes lines from stderr into our log, as a task of its own would.
pub(crate) async fn log(stderr: mpsc::Receiver<Vec<u8>>, agent: &str) {
    Tail::default().copy(stderr, agent).await;
}

/// The end of stderr.
#[derive(Default)]
struct Tail {
    kept: Vec<u8>,
    line: Vec<u8>,
}

impl Tail {
    async fn copy(&mut self, mut from: mpsc::Receiver<Vec<u8>>, agent: &str) {
        while let Some(piece) = from.recv().await {
            for byte in &piece {
                if *byte != b'\n' {
                    self.line.push(*byte);
                }
                if *byte == b'\n' || self.line.len() >= LINE {
                    self.log(agent);
                }
            }
            self.kept.extend_from_slice(&piece);
            let surplus = self.kept.len().saturating_sub(TAIL);
            self.kept.drain(..surplus);
        }
        self.log(agent);
    }

    fn log(&mut self, agent: &str) {
        if !self.line.is_empty() {
            tracing::info!(agent, line = %String::from_utf8_lossy(&self.line), "stderr");
            self.line.clear();
        }
    }

    fn text(&self) -> String {
        // The first character may have been cut.
        let begin = self.kept.iter().position(|byte| byte & 0xC0 != 0x80).unwrap_or(0);
        String::from_utf8_lossy(&self.kept[begin..]).trim().to_owned()
    }
}

/// The artifact that stdout becomes.
struct Output<'a> {
    turn: &'a Turn,
    delimiter: Option<&'a str>,
    writer: Option<ArtifactWriter>,
    /// What is read and not yet a chunk.
    rest: Vec<u8>,
    flow: &'a Flow,
}

impl<'a> Output<'a> {
    fn new(turn: &'a Turn, delimiter: Option<&'a str>, flow: &'a Flow) -> Self {
        Self { turn, delimiter, writer: None, rest: Vec::new(), flow }
    }

    async fn copy(&mut self, mut from: mpsc::Receiver<Vec<u8>>) -> Result<(), Failure> {
        while let Some(piece) = from.recv().await {
            self.flow.busy.store(true, Ordering::Relaxed);
            self.flow.pieces.fetch_add(1, Ordering::Relaxed);
            self.rest.extend_from_slice(&piece);
            match self.delimiter {
                Some(delimiter) => self.split(delimiter.as_bytes()).await?,
                None => self.lines().await?,
            }
            self.flow.busy.store(false, Ordering::Relaxed);
        }
        Ok(())
    }

    /// Passes on whole lines; of a long one, what there is of it.
    async fn lines(&mut self) -> Result<(), Failure> {
        let whole = self.rest.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        let take = if self.rest.len() - whole >= LINE { boundary(&self.rest) } else { whole };
        let chunk: Vec<u8> = self.rest.drain(..take).collect();
        self.push(&chunk).await
    }

    /// Passes on what stands between delimiters.
    async fn split(&mut self, delimiter: &[u8]) -> Result<(), Failure> {
        while let Some(at) = self.rest.windows(delimiter.len()).position(|window| window == delimiter) {
            let chunk: Vec<u8> = self.rest.drain(..at + delimiter.len()).collect();
            self.push(&chunk[..at]).await?;
        }
        if self.rest.len() >= CHUNK {
            // The beginning of a delimiter stays.
            let take = boundary(&self.rest[..self.rest.len() - delimiter.len()]);
            let chunk: Vec<u8> = self.rest.drain(..take).collect();
            self.push(&chunk).await?;
        }
        Ok(())
    }

    async fn push(&mut self, chunk: &[u8]) -> Result<(), Failure> {
        if chunk.is_empty() {
            return Ok(());
        }
        let writer = self.writer.get_or_insert_with(|| self.turn.artifact("output"));
        writer.push(String::from_utf8_lossy(chunk).into_owned()).await
    }

    async fn finish(mut self) -> Result<(), Failure> {
        let rest = String::from_utf8_lossy(&self.rest).into_owned();
        let writer = self.writer.take().unwrap_or_else(|| self.turn.artifact("output"));
        writer.finish_with([rest]).await
    }
}

/// The end of the last whole character.
fn boundary(bytes: &[u8]) -> usize {
    match std::str::from_utf8(bytes) {
        Err(error) if error.error_len().is_none() => error.valid_up_to().max(1),
        // What is not text at all is not made better by waiting.
        _ => bytes.len(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_character_is_not_cut() {
        assert_eq!(boundary("aü".as_bytes()), 3);
        assert_eq!(boundary(&"aü".as_bytes()[..2]), 1);
        assert_eq!(boundary(&[0xff, 0xff]), 2);
        assert_eq!(boundary(&[b'a', 0xff, 0xc3]), 3);
    }
}
