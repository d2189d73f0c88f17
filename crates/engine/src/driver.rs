//! Drives one task: runs its turns, puts what happens into commits, and lets nobody hear of an event
//! before it is committed.
//!
//! There is at most one driver per task and process. It owns everything that may change the task, so
//! nothing here is locked. Events that arrive while a commit is under way share the next one; a turn
//! that is done before the first commit is one commit altogether.

use std::{
    collections::{HashSet, VecDeque},
    future::Future,
    panic::{AssertUnwindSafe, catch_unwind},
    pin::Pin,
    sync::Arc,
    task::Poll,
    time::Duration,
};

use chancery_core::{
    ArtifactId, ArtifactUpdate, Bytes, Caller, ContextId, Error, ErrorKind, Event, Message, PushConfigId, Record, Result, SendMessage, Seq,
    StatusUpdate, Task, TaskState, TaskStatus, Timestamp,
};
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;

use crate::{
    agent::{Failure, Outcome, Running},
    clock,
    engine::Inner,
    keys::{Held, Keyed},
    live::Live,
    log,
    state::{self, Entry},
    store::{self, Commit, Delivery, Head, KeyAnswer, Lease, Row},
    turn::{self, Emitted, Shared, Turn},
};

/// How many events an agent may be ahead of the driver.
const EMIT_AHEAD: usize = 64;
/// How many events one commit may hold.
const COMMIT_EVENTS: usize = 256;
/// A snapshot is written when this many events came since the last one.
const SNAPSHOT_EVENTS: u64 = 64;
/// How often a commit is tried again while the store is unavailable.
const COMMIT_TRIES: u32 = 5;

/// What others ask of a driver.
pub(crate) enum Command {
    /// A message for the task.
    Message(Box<Ask>),
    /// Cancel the task.
    Cancel(oneshot::Sender<Result<()>>),
    /// Notify this webhook of everything that happens after the answer, and perhaps of a little more.
    Watch(PushConfigId, oneshot::Sender<()>),
    /// Stop notifying this webhook.
    Unwatch(PushConfigId),
}

/// A message with everything around it, and whoever waits for the answer.
pub(crate) struct Ask {
    pub(crate) send: SendMessage,
    pub(crate) caller: Caller,
    pub(crate) key: Option<Keyed>,
    pub(crate) wait: Wait,
    pub(crate) answer: oneshot::Sender<Result<Answer>>,
}

/// What the caller waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wait {
    /// The task is finished or waits for its client.
    Done,
    /// The task exists and has the message; a new task is made for it at once.
    Taken,
    /// The same, if the agent needs a task; it may also answer without one.
    Begun,
}

/// What a driver answers.
pub(crate) enum Answer {
    /// A direct message; no task was needed.
    Message(Box<Message>),
    /// The task is there, and this is the place of the event that took the message.
    Task(Seq),
}

/// How a driver begins.
pub(crate) enum Begin {
    /// With the first message of a new task.
    New(Box<Ask>),
    /// With a command for a stored task.
    Stored,
    /// With a turn that a dead process had begun.
    Rerun { attempt: u32 },
    /// With the news that a dead process had begun a turn.
    Fail,
}

/// The turn that is running.
struct Run {
    agent: Running,
    emitted: mpsc::Receiver<Emitted>,
    inbox: mpsc::UnboundedSender<Box<Message>>,
    cancel: CancellationToken,
    turn: Turn,
}

type CommitResult = (store::Result<()>, Commit, Vec<Entry>, Option<Held>);

pub(crate) struct Driver {
    engine: Arc<Inner>,
    live: Arc<Live>,
    commands: mpsc::UnboundedReceiver<Command>,
    context: ContextId,
    /// The state and artifacts after everything that is pending.
    state: TaskState,
    artifacts: HashSet<ArtifactId>,
    /// The time of the newest status, pending ones included.
    updated: Timestamp,
    /// The place of the newest event, pending ones included.
    seq: Seq,
    snapshot_seq: Seq,
    pending: Vec<Entry>,
    configs: Vec<PushConfigId>,
    new_configs: Vec<(PushConfigId, Bytes)>,
    /// The key of the next commit, which has room for one.
    key: Option<Keyed>,
    /// Messages that wait for a commit that has room for their key.
    deferred: VecDeque<Ask>,
    /// The message of a task that was not needed so far.
    unborn: Option<Box<Unborn>>,
    run: Option<Run>,
    attempt: u32,
    queue: VecDeque<(Message, Caller, SendMessage)>,
    commit: Option<Pin<Box<dyn Future<Output = CommitResult> + Send>>>,
    waiting: Vec<Waiting>,
    canceling: Vec<oneshot::Sender<Result<()>>>,
    failed: bool,
}

/// A new task before its first event: it comes to be when the agent says something, or takes its time.
struct Unborn {
    send: SendMessage,
    key: Option<Keyed>,
    wait: Wait,
    answer: oneshot::Sender<Result<Answer>>,
}

struct Waiting {
    /// The event that took the message.
    seq: Seq,
    wait: Wait,
    answer: oneshot::Sender<Result<Answer>>,
}

/// What happened next.
enum Happened {
    Committed(Box<CommitResult>),
    Ended(Box<Result<Outcome, Failure>>),
    Panicked,
    Said(Emitted),
    /// Nobody has anything more to say for now: what was said can be committed.
    Paused,
    Asked(Option<Command>),
    TookTime,
    Overran,
    Stopped,
}

impl Driver {
    /// Starts the driver of a task that has none.
    pub(crate) fn spawn(engine: &Arc<Inner>, live: &Arc<Live>, begin: Begin, commands: mpsc::UnboundedReceiver<Command>) {
        let (context, state, updated, artifacts) = live.read(|task| {
            let artifacts = task.artifacts.iter().map(|artifact| artifact.artifact_id.clone()).collect();
            (task.context_id.clone(), task.status.state, task.status.timestamp.unwrap_or(Timestamp::EPOCH), artifacts)
        });
        let seq = live.seq();
        let mut driver = Self {
            engine: engine.clone(),
            live: live.clone(),
            commands,
            context,
            state,
            artifacts,
            updated,
            seq,
            snapshot_seq: seq,
            pending: Vec::new(),
            configs: Vec::new(),
            new_configs: Vec::new(),
            key: None,
            deferred: VecDeque::new(),
            unborn: None,
            run: None,
            attempt: 1,
            queue: VecDeque::new(),
            commit: None,
            waiting: Vec::new(),
            canceling: Vec::new(),
            failed: false,
        };
        let span = tracing::info_span!("task", task = %live.id);
        let tracker = engine.drivers.clone();
        tracker.spawn(tracing::Instrument::instrument(
            Box::pin(async move {
                // Read when commands have their way to the driver already: a webhook made meanwhile is seen here
                // or comes as a command.
                if !matches!(begin, Begin::New(_)) {
                    match driver.engine.config_ids(&driver.live.scope, &driver.live.id).await {
                        Ok(configs) => driver.configs = configs,
                        Err(error) => return driver.give_up(crate::engine::unavailable(error)),
                    }
                }
                driver.begin(begin);
                driver.drive().await;
            }),
            span,
        ));
    }

    fn begin(&mut self, begin: Begin) {
        match begin {
            Begin::New(ask) => self.new_task(*ask),
            Begin::Stored => {}
            Begin::Rerun { attempt } => {
                self.attempt = attempt;
                self.rerun();
            }
            Begin::Fail => {
                let words = Message::agent("The server was restarted while the agent was working; the task was not finished.");
                self.put_status(TaskState::Failed, Some(words));
            }
        }
    }

    async fn drive(&mut self) {
        let overrun = self.engine.options.turn_timeout;
        let mut stopping = std::pin::pin!(self.engine.stopping.clone().cancelled_owned());
        let mut patience = std::pin::pin!(tokio::time::sleep(self.engine.options.task_after));
        let mut limit = std::pin::pin!(tokio::time::sleep(overrun.unwrap_or(Duration::MAX / 4)));
        loop {
            if self.key.is_none()
                && let Some(ask) = self.deferred.pop_front()
            {
                self.take_message(ask);
                continue;
            }
            if self.is_idle() {
                if self.retire() {
                    return;
                }
                continue;
            }
            let happened = {
                let commit = &mut self.commit;
                let run = &mut self.run;
                let commands = &mut self.commands;
                let roomy = self.pending.len() < COMMIT_EVENTS;
                let unborn = self.unborn.is_some();
                let uncommitted = commit.is_none() && !self.pending.is_empty();
                std::future::poll_fn(|cx| {
                    // What the agent has said comes before that it is done, and both before new asks: a turn
                    // that never waits is then one commit.
                    if let Some(run) = run {
                        if stopping.as_mut().poll(cx).is_ready() {
                            return Poll::Ready(Happened::Stopped);
                        }
                        if roomy && let Poll::Ready(Some(emitted)) = run.emitted.poll_recv(cx) {
                            return Poll::Ready(Happened::Said(emitted));
                        }
                        if roomy {
                            match catch_unwind(AssertUnwindSafe(|| run.agent.as_mut().poll(cx))) {
                                Ok(Poll::Ready(outcome)) => return Poll::Ready(Happened::Ended(Box::new(outcome))),
                                Err(_) => return Poll::Ready(Happened::Panicked),
                                Ok(Poll::Pending) => {
                                    if let Poll::Ready(Some(emitted)) = run.emitted.poll_recv(cx) {
                                        return Poll::Ready(Happened::Said(emitted));
                                    }
                                }
                            }
                        }
                        if overrun.is_some() && limit.as_mut().poll(cx).is_ready() {
                            return Poll::Ready(Happened::Overran);
                        }
                    }
                    if uncommitted {
                        return Poll::Ready(Happened::Paused);
                    }
                    if let Some(future) = commit
                        && let Poll::Ready(result) = future.as_mut().poll(cx)
                    {
                        *commit = None;
                        return Poll::Ready(Happened::Committed(Box::new(result)));
                    }
                    if unborn && patience.as_mut().poll(cx).is_ready() {
                        return Poll::Ready(Happened::TookTime);
                    }
                    commands.poll_recv(cx).map(Happened::Asked)
                })
                .await
            };
            match happened {
                Happened::Committed(result) => {
                    self.committed(*result);
                    self.listen();
                }
                Happened::Stopped => self.stop().await,
                Happened::Said(emitted) => self.said(emitted),
                Happened::Paused => self.start_commit(),
                Happened::Ended(outcome) => self.ended(*outcome),
                Happened::Panicked => {
                    tracing::error!("the agent panicked");
                    self.ended(Err(Failure::from("the agent panicked")));
                }
                Happened::Overran => {
                    tracing::warn!("the turn took too long");
                    self.ended(Err(Failure::new("The agent took too long.")));
                }
                Happened::Asked(Some(command)) => self.asked(command),
                // All senders are gone only when the engine is; what is under way is finished first.
                Happened::Asked(None) => {}
                Happened::TookTime => self.be_born(),
            }
            if self.failed {
                return;
            }
        }
    }

    /// Hears what is asked, however much the agent has to say: one that never waits is canceled too.
    fn listen(&mut self) {
        while !self.failed
            && let Ok(command) = self.commands.try_recv()
        {
            self.asked(command);
        }
    }

    /// Leaves a turn to whoever takes it over. What is not committed did not happen; the lease stays in
    /// the store, and the engine ends it when all drivers are gone.
    async fn stop(&mut self) {
        self.stop_run();
        self.pending.clear();
        if let Some(commit) = self.commit.take() {
            let result = commit.await;
            self.committed(result);
        }
        self.unborn = None;
        self.give_up(crate::engine::closed());
    }

    fn is_idle(&self) -> bool {
        self.run.is_none() && self.commit.is_none() && self.pending.is_empty() && self.unborn.is_none()
    }

    /// Ends the driver unless somebody asks for something at the same moment.
    fn retire(&mut self) -> bool {
        let mut slot = self.live.driver.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        match self.commands.try_recv() {
            Ok(command) => {
                drop(slot);
                self.asked(command);
                false
            }
            Err(_) => {
                *slot = None;
                true
            }
        }
    }

    // --- Asks -----------------------------------------------------------------------------------

    fn asked(&mut self, command: Command) {
        match command {
            Command::Message(ask) => self.message(*ask),
            Command::Cancel(answer) => self.cancel(answer),
            Command::Watch(config, taken) => {
                if !self.configs.contains(&config) {
                    self.configs.push(config);
                }
                // Whoever asked may have gone away; the webhook stays.
                let _ = taken.send(());
            }
            Command::Unwatch(config) => self.configs.retain(|known| *known != config),
        }
    }

    fn new_task(&mut self, ask: Ask) {
        let Ask { send, caller, key, wait, answer } = ask;
        self.context = send.message.context_id.clone().unwrap_or_default();
        self.start_turn(send.message.clone(), caller, &send);
        self.unborn = Some(Box::new(Unborn { send, key, wait, answer }));
        if wait == Wait::Taken || self.unborn.as_ref().is_some_and(|unborn| unborn.send.configuration.push_config.is_some()) {
            self.be_born();
        }
    }

    /// Makes the new task's first event.
    fn be_born(&mut self) {
        let Some(unborn) = self.unborn.take() else { return };
        let Unborn { mut send, key, wait, answer } = *unborn;
        let now = self.engine.now();
        let mut task = Task::new(self.live.id.clone(), self.context.clone(), TaskStatus::new(TaskState::Submitted).at(now));
        task.record = Record::new(send.origin).times(now, now);
        task.history = vec![turn::addressed(send.message, &self.live.id, &self.context)];
        if let Some(config) = send.configuration.push_config.take() {
            let config = crate::push::filled(*config, &self.live.id);
            self.configs.push(config.id.clone());
            self.new_configs.push((config.id.clone(), crate::push::write(&config)));
        }
        self.key = key;
        self.put(Entry::new(task));
        self.waiting.push(Waiting { seq: self.seq, wait, answer });
    }

    /// A message for a task that exists.
    fn message(&mut self, ask: Ask) {
        self.be_born();
        if !self.deferred.is_empty() || (ask.key.is_some() && self.key.is_some()) {
            self.deferred.push_back(ask);
        } else {
            self.take_message(ask);
        }
    }

    fn take_message(&mut self, ask: Ask) {
        let Ask { send, caller, key, wait, answer } = ask;
        if self.state.is_terminal() {
            let error = Error::new(ErrorKind::UnsupportedOperation, "Task is in a terminal state and takes no further messages")
                .with("taskId", self.live.id.as_str())
                .with("state", self.state.as_str());
            drop(answer.send(Err(error)));
            return;
        }
        let message = turn::addressed(send.message.clone(), &self.live.id, &self.context);
        let now = self.engine.now();
        // A running task keeps its state; a waiting one goes on.
        let state = if self.run.is_some() && !self.state.is_interrupted() { self.state } else { TaskState::Working };
        let update = StatusUpdate::new(self.live.id.clone(), self.context.clone(), TaskStatus::new(state).at(now));
        // A message without a key leaves that of another alone; two with keys do not meet here.
        if key.is_some() {
            self.key = key;
        }
        self.put(Entry::with_message(update, message.clone()));
        self.waiting.push(Waiting { seq: self.seq, wait, answer });
        match &self.run {
            Some(run) if run.inbox.send(Box::new(message.clone())).is_ok() => {}
            _ => self.queue.push_back((message, caller, send)),
        }
        self.next_turn();
    }

    fn cancel(&mut self, answer: oneshot::Sender<Result<()>>) {
        self.be_born();
        if self.state.is_terminal() {
            let error = Error::from(ErrorKind::TaskNotCancelable).with("taskId", self.live.id.as_str());
            drop(answer.send(Err(error)));
            return;
        }
        self.stop_run();
        self.put_status(TaskState::Canceled, None);
        self.canceling.push(answer);
    }

    // --- Turns ----------------------------------------------------------------------------------

    fn next_turn(&mut self) {
        if self.run.is_some() || self.state.is_terminal() {
            return;
        }
        if let Some((message, caller, send)) = self.queue.pop_front() {
            self.attempt = 1;
            self.start_turn(message, caller, &send);
        }
    }

    /// Takes up the turn of a process that died: the client's last message once more.
    fn rerun(&mut self) {
        let last = self.live.read(|task| task.history.iter().rev().find(|message| message.role == chancery_core::Role::User).cloned());
        let Some(message) = last else {
            self.put_status(TaskState::Failed, Some(Message::agent("The task has no message to start again from.")));
            return;
        };
        let caller = self.engine.caller_of(&self.live.scope);
        // The event also fences off the former holder, should it still be alive.
        self.put_status(TaskState::Working, None);
        let send = SendMessage::new(message.clone());
        self.start_turn(message, caller, &send);
    }

    fn start_turn(&mut self, message: Message, caller: Caller, send: &SendMessage) {
        let (emit, emitted) = mpsc::channel(EMIT_AHEAD);
        let (inbox, messages) = mpsc::unbounded_channel();
        let cancel = self.engine.stopping.child_token();
        let (mut history, artifacts) = self.live.read(|task| (task.history.clone(), task.artifacts.clone()));
        // A message that is committed already, for the turn waited or is run again, is still this turn's own.
        history.retain(|known| known.message_id != message.message_id);
        let turn = Turn::new(Shared {
            text: message.text(),
            message,
            task: self.live.id.clone(),
            context: self.context.clone(),
            history,
            artifacts,
            caller,
            metadata: send.metadata.clone(),
            accepted_output_modes: send.configuration.accepted_output_modes.clone(),
            attempt: self.attempt,
            emit,
            inbox: tokio::sync::Mutex::new(messages),
            cancel: cancel.clone(),
            operations: self.engine.operations(),
        });
        let agent = self.engine.agent.clone().start(turn.clone());
        self.run = Some(Run { agent, emitted, inbox, cancel, turn });
    }

    fn stop_run(&mut self) {
        if let Some(run) = self.run.take() {
            run.cancel.cancel();
        }
    }

    fn said(&mut self, emitted: Emitted) {
        self.be_born();
        let event = emitted.into_event(&self.live.id, &self.context, self.engine.now());
        if let Err(error) = self.try_put(Entry::new(event)) {
            tracing::warn!(%error, "the agent said something that the protocol forbids");
            self.stop_run();
            self.put_status(TaskState::Failed, Some(Message::agent("The agent broke the protocol.")));
        }
    }

    fn ended(&mut self, outcome: Result<Outcome, Failure>) {
        // What was said before the end comes first.
        while let Some(emitted) = self.run.as_mut().and_then(|run| run.emitted.try_recv().ok()) {
            self.said(emitted);
        }
        let Some(run) = self.run.take() else { return };
        let unread = run.turn.unread();
        match outcome {
            Ok(Outcome::Reply(message)) if self.unborn.is_some() => return self.reply(message),
            Ok(outcome) => {
                self.be_born();
                self.put_outcome(outcome);
            }
            Err(failure) => {
                tracing::warn!(cause = ?failure.cause(), "the agent failed");
                self.be_born();
                self.put_status(TaskState::Failed, Some(Message::agent(failure.told())));
            }
        }
        run.cancel.cancel();
        let caller = run.turn.caller().clone();
        self.queue.extend(unread.into_iter().map(|message| (message.clone(), caller.clone(), SendMessage::new(message))));
        self.next_turn();
    }

    /// Answers with a message; there is no task, and nothing is stored but the idempotency record.
    fn reply(&mut self, mut message: Message) {
        let Some(unborn) = self.unborn.take() else { return };
        message.context_id = Some(self.context.clone());
        // v0.1 names its tasks itself and finds the answer under that name.
        message.task_id = unborn.send.create_missing.then(|| self.live.id.clone());
        let Unborn { key, answer: waiting, .. } = *unborn;
        match key {
            None => drop(waiting.send(Ok(Answer::Message(Box::new(message))))),
            Some(Keyed { mut record, held }) => {
                let (engine, scope) = (self.engine.clone(), self.live.scope.clone());
                record.answer = KeyAnswer::Message(serde_json::to_vec(&message).unwrap_or_default().into());
                let store = async move {
                    let stored = engine.store.put_key(&scope, record, engine.now()).await;
                    let answer = stored.map(|()| Answer::Message(Box::new(message))).map_err(crate::engine::unavailable);
                    drop(waiting.send(answer));
                    drop(held);
                };
                self.engine.drivers.spawn(store);
            }
        }
    }

    fn put_outcome(&mut self, outcome: Outcome) {
        match outcome {
            Outcome::Completed => self.put_status(TaskState::Completed, None),
            Outcome::Reply(message) => self.put_status(TaskState::Completed, Some(message)),
            Outcome::CompletedWith(artifact) => {
                let update = ArtifactUpdate::new(self.live.id.clone(), self.context.clone(), *artifact).last();
                self.put(Entry::new(update));
                self.put_status(TaskState::Completed, None);
            }
            Outcome::InputRequired(message) => self.put_status(TaskState::InputRequired, Some(message)),
            Outcome::AuthRequired(message) => self.put_status(TaskState::AuthRequired, Some(message)),
            Outcome::Rejected(message) => self.put_status(TaskState::Rejected, Some(message)),
            Outcome::Failed(message) => self.put_status(TaskState::Failed, Some(message)),
            Outcome::Transferred(transfer) => {
                let status = TaskStatus::new(TaskState::Completed).at(self.engine.now());
                let mut update = StatusUpdate::new(self.live.id.clone(), self.context.clone(), status);
                let handoff = serde_json::json!({"state": "transferred", "transfer": transfer});
                update.metadata.insert(chancery_core::extension::HANDOFF.to_owned(), handoff);
                self.put(Entry::new(update));
            }
        }
    }

    // --- Events and commits ---------------------------------------------------------------------

    fn put_status(&mut self, state: TaskState, message: Option<Message>) {
        let mut status = TaskStatus::new(state).at(self.engine.now());
        status.message = message.map(|message| turn::addressed(message, &self.live.id, &self.context));
        self.put(Entry::new(StatusUpdate::new(self.live.id.clone(), self.context.clone(), status)));
    }

    /// Adds an event of our own making, which is legal unless the task is over already.
    fn put(&mut self, entry: Entry) {
        if let Err(error) = self.try_put(entry) {
            tracing::debug!(%error, "the event came too late");
        }
    }

    fn try_put(&mut self, entry: Entry) -> Result<()> {
        let illegal = || Error::from(ErrorKind::InvalidAgentResponse);
        let next = state::next(self.state, &entry.event).ok_or_else(illegal)?;
        if let Event::Artifact(update) = &entry.event {
            let known = self.artifacts.contains(&update.artifact.artifact_id);
            if update.append && !known {
                return Err(illegal());
            }
            if !known {
                self.artifacts.insert(update.artifact.artifact_id.clone());
            }
        }
        self.state = next;
        self.updated = match &entry.event {
            Event::Status(update) => update.status.timestamp.unwrap_or(self.updated),
            Event::Task(task) => task.status.timestamp.unwrap_or(self.updated),
            _ => self.updated,
        };
        self.seq = self.seq.next();
        self.pending.push(entry);
        Ok(())
    }

    fn start_commit(&mut self) {
        if self.commit.is_some() || self.pending.is_empty() {
            return;
        }
        let entries = std::mem::take(&mut self.pending);
        let expected = self.live.seq();
        let now = self.engine.now();
        let head = Head::new(self.live.id.clone(), self.context.clone(), self.state, self.updated, self.seq);
        let mut commit = Commit::new(head, expected, Row::new(expected.next(), self.seq, log::write_entries(&entries)));
        commit.lease = self.run.is_some().then(|| {
            let until = clock::after(now, self.engine.options.lease);
            Lease::new(self.engine.holder.clone(), until, self.attempt)
        });
        commit.snapshot = self.snapshot(&entries);
        commit.configs = std::mem::take(&mut self.new_configs);
        let (key, held) = self.key.take().map(|key| (key.record, key.held)).unzip();
        commit.key = key;
        let mut seq = expected;
        for _ in &entries {
            seq = seq.next();
            commit.deliveries.extend(self.configs.iter().map(|config| Delivery::new(config.clone(), seq)));
        }
        let (engine, live) = (self.engine.clone(), self.live.clone());
        self.commit = Some(Box::pin(async move {
            let result = write(&engine, &live, &commit).await;
            (result, commit, entries, held)
        }));
    }

    /// The whole task, when enough happened since it was last written whole.
    fn snapshot(&mut self, entries: &[Entry]) -> Option<Bytes> {
        if !self.state.ends_stream() || self.seq.get() - self.snapshot_seq.get() < SNAPSHOT_EVENTS {
            return None;
        }
        let (_, mut task) = self.live.snapshot();
        // Every entry was checked when it was put; one that cannot be applied leaves us without a snapshot.
        entries.iter().try_for_each(|entry| state::apply(&mut task, entry)).ok()?;
        self.snapshot_seq = self.seq;
        Some(log::write_snapshot(&task))
    }

    fn committed(&mut self, (result, commit, entries, held): CommitResult) {
        let published = match result {
            Ok(()) => self.live.publish(entries),
            Err(store::Error::Conflict(_)) => Err(self.lost()),
            Err(error @ store::Error::KeyTaken) => Err(Error::from(ErrorKind::Unavailable).caused_by(error)),
            Err(error) => Err(crate::engine::unavailable(error)),
        };
        // Whoever waits for the key sees what was published.
        drop(held);
        if let Err(error) = published {
            tracing::error!(%error, "the task cannot be committed");
            self.give_up(error);
            return;
        }
        if !commit.deliveries.is_empty() {
            self.engine.outbox.notify_one();
        }
        let state = commit.head.state;
        self.waiting = std::mem::take(&mut self.waiting)
            .into_iter()
            .filter_map(|waiting| {
                let done = waiting.seq <= commit.head.seq && (waiting.wait != Wait::Done || state.is_terminal() || state.is_interrupted());
                if !done {
                    return Some(waiting);
                }
                // A caller that went away changes nothing about the task.
                drop(waiting.answer.send(Ok(Answer::Task(waiting.seq))));
                None
            })
            .collect();
        if state.is_terminal() {
            for answer in self.canceling.drain(..) {
                drop(answer.send(Ok(())));
            }
        }
    }

    fn lost(&self) -> Error {
        Error::new(ErrorKind::Unavailable, "Another process works on this task").with("taskId", self.live.id.as_str())
    }

    /// Stops without another word about the task: somebody else has it, or the store is gone.
    fn give_up(&mut self, error: Error) {
        self.stop_run();
        self.failed = true;
        self.engine.drop_live(&self.live);
        self.live.leave();
        *self.live.driver.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = None;
        // The next look at the store finds out whether it is still ours.
        self.engine.orphan(self.live.scope.clone(), self.live.id.clone());
        let (kind, words) = (error.kind(), error.message().to_owned());
        for answer in self.canceling.drain(..) {
            drop(answer.send(Err(Error::new(kind, words.clone()))));
        }
        for ask in self.deferred.drain(..) {
            drop(ask.answer.send(Err(Error::new(kind, words.clone()))));
        }
        // Whoever began the task hears the cause too: a key that was taken is answered by the other request.
        let mut first = Some(error);
        for waiting in self.waiting.drain(..) {
            drop(waiting.answer.send(Err(first.take().unwrap_or_else(|| Error::new(kind, words.clone())))));
        }
    }
}

/// Writes a commit, again and again while the store is unavailable for a moment.
async fn write(engine: &Inner, live: &Live, commit: &Commit) -> store::Result<()> {
    let mut pause = Duration::from_millis(20);
    for _ in 1..COMMIT_TRIES {
        match engine.store.commit(&live.scope, commit.clone()).await {
            Err(store::Error::Unavailable(error)) => {
                tracing::warn!(%error, "the store is unavailable");
                tokio::time::sleep(pause).await;
                pause *= 3;
            }
            other => return other,
        }
    }
    engine.store.commit(&live.scope, commit.clone()).await
}
