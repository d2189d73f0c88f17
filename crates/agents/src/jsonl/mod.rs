//! Programs that speak `a2a-jsonl/1`: a JSON object per line, in both directions.
//!
//! ```text
//! turn --open--> worker --stdin--> process
//!   ^               |                 |
//!   `--- Heard ---- reader <--stdout--'     one queue per task; a full one stops the reader
//! ```

mod line;
mod passing;
mod pool;
mod worker;

use std::{collections::HashMap, pin::Pin, sync::Arc, time::Duration};

use chancery_core::{Artifact, Message, Object, Part, TaskId, Timestamp, extension::SKILL_SCHEMA};
use chancery_engine::{
    ArtifactWriter, Failure, Outcome, Turn,
    clock::{Clock, SystemClock},
};
use serde_json::{Value, json};
use tokio::{
    sync::{Semaphore, mpsc},
    time::Instant,
};

use self::{
    line::{Said, State, Words},
    passing::Calls,
    pool::Pool,
    worker::{Heard, Manner, Worker},
};
use super::{
    peers::Directory,
    process::{Children, ending},
    text::{prepared, too_long, unstarted},
};
use chancery_config::{
    self as config,
    backend::command::{Command, Lifetime},
};

/// A program that speaks `a2a-jsonl/1`.
pub(crate) struct Jsonl {
    command: Command,
    timeout: Duration,
    manner: Manner,
    places: Arc<Semaphore>,
    pool: Pool,
    children: Children,
    /// Who work may be passed on to, if that is said.
    directory: Option<Arc<Directory>>,
}

impl Jsonl {
    pub(crate) fn new(
        agent: &config::Agent,
        command: Command,
        lifetime: Lifetime,
        lenient: bool,
        children: Children,
        directory: Option<Arc<Directory>>,
    ) -> Self {
        let manner = Manner { agent: agent.name.clone(), lifetime, lenient };
        let places = Arc::new(Semaphore::new(command.max_processes));
        Self { command, timeout: agent.timeout, manner, places, pool: Pool::default(), children, directory }
    }

    pub(crate) async fn run(&self, turn: Turn) -> Result<Outcome, Failure> {
        let mut talk = Talk::new(self, &turn);
        let mut message = turn.message().clone();
        loop {
            // The process may have ended after a question; the answer then begins a new one.
            match talk.with_a_process(message).await? {
                Next::Over(outcome) => {
                    self.pool.done();
                    return Ok(outcome);
                }
                Next::Again(answer) => message = answer,
            }
        }
    }

    async fn worker(&self) -> Result<Arc<Worker>, Failure> {
        let start = |permit| {
            Worker::start(&self.children, prepared(&self.command, &self.manner.agent), self.command.kill_after, permit, &self.manner)
        };
        let started = match self.manner.lifetime {
            Lifetime::Task => start(Some(self.places.clone().acquire_owned().await?)),
            Lifetime::Pool => self.pool.worker(self.command.max_processes, || start(None)).await,
        };
        started.map_err(|error| unstarted(&error))
    }
}

/// How it goes on after a process had its say.
enum Next {
    Over(Outcome),
    /// With this message and a new process.
    Again(Message),
}

/// One turn's talk with its process.
struct Talk<'a> {
    agent: &'a Jsonl,
    turn: &'a Turn,
    /// What was said before the message at hand.
    history: Vec<Message>,
    artifacts: HashMap<String, ArtifactWriter>,
    /// The artifact of lines that are no JSON.
    text: Option<ArtifactWriter>,
}

/// The task at its process. When it is dropped before the task is over, the task was canceled.
struct Open<'a> {
    agent: &'a Jsonl,
    worker: Option<Arc<Worker>>,
    task: TaskId,
    over: bool,
}

/// The client's next message.
type Answer<'a> = Pin<Box<dyn Future<Output = Result<Message, Failure>> + Send + 'a>>;

impl<'a> Talk<'a> {
    fn new(agent: &'a Jsonl, turn: &'a Turn) -> Self {
        Self { agent, turn, history: turn.history().to_vec(), artifacts: HashMap::new(), text: None }
    }

    async fn with_a_process(&mut self, message: Message) -> Result<Next, Failure> {
        // Waiting for a place is not working: the time begins after it.
        let worker = self.agent.worker().await?;
        let limit = Instant::now() + self.agent.timeout;
        let task = self.turn.task_id().clone();
        let mut heard = worker.open(task.as_str());
        let mut open = Open { agent: self.agent, worker: Some(worker.clone()), task, over: false };
        self.send(&worker, self.task_line(&message, limit), limit).await?;
        self.history.push(message);
        let next = self.converse(&worker, &mut heard, limit).await;
        // After a failure of ours the process is stopped as after a cancel.
        open.over = next.is_ok();
        next
    }

    async fn converse(&mut self, worker: &Worker, heard: &mut mpsc::Receiver<Heard>, limit: Instant) -> Result<Next, Failure> {
        let turn = self.turn;
        let mut limit = limit;
        let mut answer: Option<Answer<'_>> = None;
        // An answer to a question, until the process says something after it.
        let mut unheard: Option<Message> = None;
        let mut calls = Calls::default();
        loop {
            let waiting = answer.is_some();
            let next = async {
                match &mut answer {
                    Some(answer) => answer.await.map(Some),
                    None => Ok(turn.next_message().await),
                }
            };
            tokio::select! {
                biased;
                heard = heard.recv() => {
                    let heard = heard.unwrap_or(Heard::Exit(None));
                    if !matches!(heard, Heard::Exit(_)) {
                        unheard = None;
                    }
                    match heard {
                        Heard::Exit(status) if waiting && status.is_none_or(|status| status.success()) => {
                            let Some(answer) = answer.take() else { continue };
                            return Ok(Next::Again(answer.await?));
                        }
                        // It asked and went, and the answer crossed its way: the next process gets it.
                        Heard::Exit(status) if unheard.is_some() && status.is_none_or(|status| status.success()) => {
                            let Some(message) = unheard.take() else { continue };
                            self.history.pop();
                            return Ok(Next::Again(message));
                        }
                        Heard::Exit(status) => return self.exited(status).await.map(Next::Over),
                        Heard::Broken(why) => {
                            worker.stop();
                            return Err(Failure::from(why).tell("The agent's process broke its protocol."));
                        }
                        Heard::Text(text) => self.append(text).await?,
                        Heard::Said(Said::Status { state: state @ (State::InputRequired | State::AuthRequired), words, metadata }) => {
                            answer = Some(self.ask(state, words, metadata).await?);
                        }
                        Heard::Said(Said::Delegate(delegate)) => calls.begin(turn, self.agent.directory.as_ref(), delegate),
                        Heard::Said(said) => {
                            if let Some(outcome) = self.hear(said).await? {
                                return Ok(Next::Over(outcome));
                            }
                        }
                    }
                }
                message = next => {
                    answer = None;
                    match message? {
                        Some(message) => {
                            limit = Instant::now() + self.agent.timeout;
                            unheard = waiting.then(|| message.clone());
                            self.send(worker, json!({"type": "message", "taskId": turn.task_id(), "message": message}), limit).await?;
                            self.history.push(message);
                        }
                        // The engine lets go of the turn.
                        None => std::future::pending().await,
                    }
                }
                line = calls.next() => {
                    limit = Instant::now() + self.agent.timeout;
                    self.send(worker, line, limit).await?;
                }
                // The time that a client takes for its answer is not the agent's, nor is that of other agents.
                () = tokio::time::sleep_until(limit), if !waiting && calls.is_empty() => return Err(too_long()),
            }
        }
    }

    /// Writes a line, as long as there is time: a process that reads nothing must not hold the turn.
    async fn send(&self, worker: &Worker, line: Value, limit: Instant) -> Result<(), Failure> {
        // One that has closed its end is noticed by its own.
        tokio::time::timeout_at(limit, worker.send(line)).await.map(|_| ()).map_err(|_| too_long())
    }

    /// Takes one line; says how the turn ended, if it did.
    async fn hear(&mut self, said: Said) -> Result<Option<Outcome>, Failure> {
        match said {
            Said::Status { state, words, metadata } => return self.status(state, words, metadata).await,
            Said::Artifact { id, name, words, append, last } => self.artifact(id, name, words, append, last).await?,
            Said::Reply { words } => {
                self.finish().await?;
                return Ok(Some(Outcome::Message(words.message("Done.", Object::new()))));
            }
            Said::Handoff(wanted) => {
                self.finish().await?;
                return Ok(Some(passing::hand_over(self.agent.directory.as_ref(), *wanted).await));
            }
            // Handled where they are read: they belong to no task, or to more than this line.
            Said::Delegate(_) | Said::Ready { .. } | Said::Log { .. } | Said::Unknown => {}
        }
        Ok(None)
    }

    async fn status(&mut self, state: State, words: Words, metadata: Object) -> Result<Option<Outcome>, Failure> {
        if state.is_terminal() {
            self.finish().await?;
        }
        Ok(Some(match state {
            State::Completed if words.is_empty() && metadata.is_empty() => Outcome::Completed,
            State::Completed => Outcome::Reply(words.message("Done.", metadata)),
            State::Failed => Outcome::Failed(words.message("The agent failed.", metadata)),
            State::Rejected => Outcome::Rejected(words.message("The agent declined.", metadata)),
            State::Canceled => Outcome::Failed(words.message("The agent gave up the task.", metadata)),
            State::Working | State::InputRequired | State::AuthRequired => {
                self.working(words, metadata).await?;
                return Ok(None);
            }
        }))
    }

    /// Says what is going on, a status for each part.
    async fn working(&mut self, words: Words, metadata: Object) -> Result<(), Failure> {
        if words.is_empty() && metadata.is_empty() {
            return self.turn.working().await;
        }
        if words.is_empty()
            && metadata.len() == 1
            && let Some(done) = metadata.get("progress").and_then(Value::as_f64)
        {
            return self.turn.progress(done).await;
        }
        for part in described(words.message("Working", Object::new()).parts, metadata) {
            self.turn.status(part).await?;
        }
        Ok(())
    }

    /// Puts a question to the client. The engine takes one part with it; what comes before that is said first.
    async fn ask(&mut self, state: State, words: Words, metadata: Object) -> Result<Answer<'a>, Failure> {
        let otherwise = if state == State::InputRequired { "The agent needs an answer." } else { "The agent needs an authorization." };
        let message = words.message(otherwise, metadata.clone());
        self.history.push(message.clone());
        let mut parts = described(message.parts, metadata);
        let last = parts.pop().unwrap_or_else(|| Part::text(otherwise));
        for part in parts {
            self.turn.status(part).await?;
        }
        let turn = self.turn;
        let mut asking: Answer<'a> = match state {
            State::InputRequired => Box::pin(turn.require_input(last)),
            _ => Box::pin(turn.require_auth(last)),
        };
        // Asked now, before anything else the process says: the first poll puts the question, unless the
        // engine is behind, and then a later one does.
        let early = std::future::poll_fn(|cx| std::task::Poll::Ready(asking.as_mut().poll(cx))).await;
        Ok(match early {
            std::task::Poll::Ready(answer) => Box::pin(std::future::ready(answer)),
            std::task::Poll::Pending => asking,
        })
    }

    /// Passes on a piece of an artifact. The engine names artifacts itself, so that what the process calls
    /// one is its name unless it has another.
    async fn artifact(&mut self, id: Option<String>, name: Option<String>, words: Words, append: bool, last: bool) -> Result<(), Failure> {
        let key = id.unwrap_or_default();
        let shown = name.unwrap_or_else(|| if key.is_empty() { "output".to_owned() } else { key.clone() });
        let parts = words.parts();
        if last && !append && !parts.is_empty() {
            self.artifacts.remove(&key);
            let mut artifact = Artifact::new("").named(shown);
            artifact.parts = parts;
            return self.turn.publish(if key.is_empty() { artifact } else { artifact.id(key) }).await;
        }
        if !append {
            self.artifacts.remove(&key);
        }
        let mut writer = self.artifacts.remove(&key).unwrap_or_else(|| self.turn.artifact(shown));
        if last {
            return writer.finish_with(parts).await;
        }
        writer.push_all(parts).await?;
        self.artifacts.insert(key, writer);
        Ok(())
    }

    async fn append(&mut self, text: String) -> Result<(), Failure> {
        self.text.get_or_insert_with(|| self.turn.artifact("output")).push(text).await
    }

    /// The process is gone: exit status 0 is a good end.
    async fn exited(&mut self, status: Option<std::process::ExitStatus>) -> Result<Outcome, Failure> {
        self.finish().await?;
        Ok(match status {
            Some(status) if status.success() => Outcome::Completed,
            Some(status) => Outcome::failed(format!("The agent's process ended with {}.", ending(status))),
            None => Outcome::failed("The agent's process ended."),
        })
    }

    /// Ends what was begun and never ended.
    async fn finish(&mut self) -> Result<(), Failure> {
        let text = self.text.take();
        for writer in self.artifacts.drain().map(|(_, writer)| writer).chain(text) {
            writer.finish().await?;
        }
        Ok(())
    }

    fn task_line(&self, message: &Message, limit: Instant) -> Value {
        let (turn, caller) = (self.turn, self.turn.caller());
        let skill = turn.metadata().get(SKILL_SCHEMA).and_then(|schema| schema.get("skill")).cloned().unwrap_or(Value::Null);
        json!({
            "type": "task",
            "taskId": turn.task_id(),
            "contextId": turn.context_id(),
            "message": message,
            "history": self.history,
            "skill": skill,
            "principal": caller.identity().subject.as_deref().map(principal),
            "metadata": turn.metadata(),
            "acceptedOutputModes": turn.accepted_output_modes(),
            "deadline": moment(caller.call().deadline.map_or(limit, |at| limit.min(at.into()))),
            "handoff": turn.handoff(),
            "extensions": caller.call().extensions,
        })
    }
}

impl Drop for Open<'_> {
    fn drop(&mut self) {
        let Some(worker) = self.worker.take() else { return };
        let (lifetime, patience) = (self.agent.manner.lifetime, self.agent.command.kill_after);
        let (task, over) = (self.task.clone(), self.over);
        let work = async move {
            if !over {
                let asked = async {
                    worker.send(json!({"type": "cancel", "taskId": task})).await;
                    worker.closed(task.as_str()).await;
                };
                // A process that is late is dealt with below.
                let late = tokio::time::timeout(patience, asked).await.is_err();
                worker.close(task.as_str());
                if late && lifetime == Lifetime::Pool && worker.load() > 0 {
                    tracing::warn!(%task, "a process goes on with a canceled task; it is left alone for its other tasks");
                } else if late && lifetime == Lifetime::Pool {
                    worker.stop();
                }
            }
            worker.close(task.as_str());
            if lifetime == Lifetime::Task && !worker.is_over() {
                if over {
                    let asked = async {
                        worker.send(json!({"type": "shutdown"})).await;
                        worker.ended().await;
                    };
                    // After that it is asked by a signal.
                    let _ = tokio::time::timeout(patience, asked).await;
                }
                worker.stop();
            }
        };
        self.agent.children.spawn(work);
    }
}

/// Gives facts about a status to its last part, where the engine keeps them.
fn described(mut parts: Vec<Part>, metadata: Object) -> Vec<Part> {
    if let Some(last) = parts.last_mut() {
        last.metadata.extend(metadata);
    }
    parts
}

/// Who calls: the issuer and the subject, where an issuer vouches for it.
fn principal(subject: &str) -> Value {
    match subject.split_once('#').filter(|(iss, _)| iss.contains("://")) {
        Some((iss, sub)) => json!({"iss": iss, "sub": sub}),
        None => json!({"iss": null, "sub": subject}),
    }
}

/// A moment of the runtime's clock as a date.
fn moment(at: Instant) -> Option<Timestamp> {
    let left = at.saturating_duration_since(Instant::now());
    let (seconds, nanos) = SystemClock.now().unix();
    let date = Timestamp::from_unix(seconds.saturating_add_unsigned(left.as_secs()), nanos)?;
    Some(date)
}
