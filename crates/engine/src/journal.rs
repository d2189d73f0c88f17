//! The journal of a driver: events that are legal wait here for the next commit, and nobody hears of one
//! before it is committed.
//!
//! Events that arrive while a commit is under way share the next one; a turn that is done before the
//! first commit is one commit altogether.

use std::{
    future::Future,
    ops::ControlFlow,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use chancery_core::{
    ArtifactId, Bytes, ContextId, Error, ErrorKind, Event, Message, PushConfig, PushConfigId, Result, Seq, StatusUpdate, Task, TaskState,
    TaskStatus, Timestamp,
};

use crate::{
    clock,
    delegation::view,
    engine::Inner,
    keys::{Held, Keyed},
    live::Live,
    log,
    state::{self, Entry},
    store::{self, Commit, Delivery, Lease, Passed, Row, TaskFacts},
    turn,
};

/// How many events one commit may hold, but for those that were said at once.
const COMMIT_EVENTS: usize = 256;
/// A snapshot is written when this many events came since the last one.
const SNAPSHOT_EVENTS: u64 = 64;
/// How often a commit is tried again while the store is unavailable.
const COMMIT_TRIES: u32 = 5;

pub(crate) struct Journal {
    pub(crate) engine: Arc<Inner>,
    pub(crate) live: Arc<Live>,
    pub(crate) context: ContextId,
    /// The state and artifacts after everything that is pending.
    state: TaskState,
    /// In order.
    artifacts: Vec<ArtifactId>,
    /// Whether the task was handed over, after everything that is pending.
    pub(crate) passed: Passed,
    /// The time of the newest status, pending ones included.
    updated: Timestamp,
    /// When that happened which the driver is busy with, once somebody has asked.
    now: Option<Timestamp>,
    /// The place of the newest event, pending ones included.
    seq: Seq,
    /// The place of the newest event that is committed.
    committed: Seq,
    snapshot_seq: Seq,
    pending: Vec<Entry>,
    /// The webhooks that hear of events.
    pub(crate) configs: Vec<PushConfigId>,
    new_configs: Vec<(PushConfigId, Bytes)>,
    /// The key of the next commit, which has room for one.
    key: Option<Box<Keyed>>,
    commit: Option<Box<Writing>>,
}

/// A commit that is under way.
struct Writing {
    store: Stage,
    /// What is committed; nothing when it is in `task` already, and nobody reads it.
    entries: Vec<Entry>,
    /// The task after the commit, if it had to be known before.
    task: Option<Box<Task>>,
    /// The v1.0 JSON of each event, if anybody is about to read it.
    texts: Vec<Bytes>,
    state: TaskState,
    seq: Seq,
    deliveries: bool,
    held: Option<Held>,
}

/// A commit as bytes.
struct Encoded {
    payload: Bytes,
    /// The task after the commit, and its bytes, if it is stored whole.
    task: Option<Box<Task>>,
    snapshot: Option<Bytes>,
}

/// How far the store is with a commit.
enum Stage {
    Writing(Pin<Box<dyn Future<Output = store::Result<()>> + Send>>),
    Written(store::Result<()>),
}

/// Where the task stands after a commit.
pub(crate) struct Committed {
    pub(crate) state: TaskState,
    pub(crate) seq: Seq,
}

impl Journal {
    pub(crate) fn new(engine: Arc<Inner>, live: Arc<Live>) -> Self {
        let seq = live.seq();
        let (context, state, passed, updated, artifacts) = live.read(|task| {
            let mut artifacts: Vec<_> = task.artifacts.iter().map(|artifact| artifact.artifact_id.clone()).collect();
            artifacts.sort_unstable();
            let passed = view::passed(task);
            (task.context_id.clone(), task.status.state, passed, task.status.timestamp.unwrap_or(Timestamp::EPOCH), artifacts)
        });
        Self {
            engine,
            live,
            context,
            state,
            artifacts,
            passed,
            updated,
            now: None,
            seq,
            committed: seq,
            snapshot_seq: seq,
            pending: Vec::new(),
            configs: Vec::new(),
            new_configs: Vec::new(),
            key: None,
            commit: None,
        }
    }

    /// The state after everything that is pending.
    pub(crate) fn state(&self) -> TaskState {
        self.state
    }

    /// The place of the newest event, pending ones included.
    pub(crate) fn seq(&self) -> Seq {
        self.seq
    }

    /// When that happened which the driver is busy with: all that comes of it happened at once.
    pub(crate) fn now(&mut self) -> Timestamp {
        *self.now.get_or_insert_with(|| self.engine.now())
    }

    /// Says that the driver turns to something new.
    pub(crate) fn turn_over(&mut self) {
        self.now = None;
    }

    /// Whether the next commit has no room for another key.
    pub(crate) fn has_key(&self) -> bool {
        self.key.is_some()
    }

    /// Stores this key with the next commit.
    pub(crate) fn set_key(&mut self, key: Box<Keyed>) {
        self.key = Some(key);
    }

    /// Registers a webhook with the next commit.
    pub(crate) fn add_config(&mut self, config: PushConfig) {
        let config = crate::push::filled(config, &self.live.id);
        self.configs.push(config.id.clone());
        self.new_configs.push((config.id.clone(), crate::push::write(&config)));
    }

    /// Whether the next commit may take more.
    pub(crate) fn has_room(&self) -> bool {
        self.pending.len() < COMMIT_EVENTS
    }

    /// Whether everything is committed.
    pub(crate) fn is_clean(&self) -> bool {
        self.commit.is_none() && self.pending.is_empty()
    }

    /// Whether there is something to commit, and no commit under way.
    pub(crate) fn is_ready(&self) -> bool {
        self.commit.is_none() && !self.pending.is_empty()
    }

    pub(crate) fn put_status(&mut self, state: TaskState, message: Option<Message>) {
        let entry = self.status(state, message);
        self.put(entry);
    }

    /// The entry of a status that the task has now.
    pub(crate) fn status(&mut self, state: TaskState, message: Option<Message>) -> Entry {
        let mut status = TaskStatus::new(state).at(self.now());
        status.message = message.map(|message| turn::addressed(message, &self.live.id, &self.context));
        Entry::new(StatusUpdate::new(self.live.id.clone(), self.context.clone(), status))
    }

    /// Adds an event of our own making, which is legal unless the task is over already.
    pub(crate) fn put(&mut self, entry: Entry) {
        if let Err(error) = self.try_put(entry) {
            tracing::debug!(%error, "the event came too late");
        }
    }

    /// Adds an event, if it is legal.
    pub(crate) fn try_put(&mut self, entry: Entry) -> Result<()> {
        let illegal = || Error::from(ErrorKind::InvalidAgentResponse);
        let next = state::next(self.state, &entry.event).ok_or_else(illegal)?;
        if let Event::Artifact(update) = &entry.event {
            match self.artifacts.binary_search(&update.artifact.artifact_id) {
                Ok(_) => {}
                Err(_) if update.append => return Err(illegal()),
                Err(place) => self.artifacts.insert(place, update.artifact.artifact_id.clone()),
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

    /// Marks the last chunk of an artifact as such, if it is pending. One that was committed has gone out as it is.
    pub(crate) fn mark_last(&mut self, id: &ArtifactId) {
        let last = self.pending.iter_mut().rev().find_map(|entry| match &mut entry.event {
            Event::Artifact(update) if update.artifact.artifact_id == *id => Some(update),
            _ => None,
        });
        if let Some(update) = last {
            update.last_chunk = true;
        }
    }

    /// The task after everything that is pending.
    pub(crate) fn projected(&self) -> Option<Task> {
        let (mut task, under_way) = match &self.commit {
            Some(commit) => match &commit.task {
                Some(task) => (Task::clone(task), &[][..]),
                None => (self.live.snapshot().1, &*commit.entries),
            },
            None => (self.live.snapshot().1, &[][..]),
        };
        under_way.iter().chain(&self.pending).try_for_each(|entry| state::apply(&mut task, entry)).ok()?;
        Some(task)
    }

    /// Forgets what is not committed and not being committed.
    pub(crate) fn clear(&mut self) {
        self.pending.clear();
    }

    /// Begins to commit what is pending. `attempt` says how often the turn was begun that is running.
    pub(crate) fn write(&mut self, attempt: Option<u32>) {
        if !self.is_ready() {
            return;
        }
        let lease = attempt.map(|attempt| {
            let until = clock::after(self.now(), self.engine.setup().options.lease);
            Lease::new(self.engine.holder.clone(), until, attempt)
        });
        let mut entries = std::mem::take(&mut self.pending);
        let texts = if self.live.is_read() { log::texts(&entries) } else { Vec::new() };
        let deliveries = self.deliveries(entries.len());
        let notifies = !deliveries.is_empty();
        let (state, seq) = (self.state, self.seq);
        let (store, task, held) = match self.encode(&mut entries) {
            Ok(Encoded { payload, task, snapshot }) => {
                let mut head = TaskFacts::new(self.live.id.clone(), self.context.clone(), state, self.updated, seq);
                head.passed = self.passed;
                let mut commit = Commit::new(head, self.committed, Row::new(self.committed.next(), seq, payload));
                (commit.lease, commit.snapshot, commit.deliveries) = (lease, snapshot, deliveries);
                commit.configs = std::mem::take(&mut self.new_configs);
                let (key, held) = self.key.take().map(|key| (key.record, key.held)).unzip();
                commit.key = key;
                let store = match self.engine.store.commit_now(&self.live.owner, commit) {
                    ControlFlow::Break(result) => Stage::Written(result),
                    ControlFlow::Continue(commit) => Stage::Writing(Box::pin(write(self.engine.clone(), self.live.clone(), commit))),
                };
                (store, task, held)
            }
            Err(error) => (Stage::Written(Err(error)), None, None),
        };
        self.commit = Some(Box::new(Writing { store, entries, task, texts, state, seq, deliveries: notifies, held }));
    }

    /// Notifications of so many events after those that are committed.
    fn deliveries(&self, events: usize) -> Vec<Delivery> {
        let mut deliveries = Vec::new();
        if !self.configs.is_empty() {
            let mut seq = self.committed;
            for _ in 0..events {
                seq = seq.next();
                deliveries.extend(self.configs.iter().map(|config| Delivery::new(config.clone(), seq)));
            }
        }
        deliveries
    }

    /// What is stored of entries. Those that nobody reads are moved into the task, if that must be known.
    fn encode(&mut self, entries: &mut Vec<Entry>) -> store::Result<Encoded> {
        let payload = log::write_entries(entries, &self.live.id, &self.context)?;
        // The whole task when it ends, or when enough happened since it was last written whole.
        let many = self.seq.get() - self.snapshot_seq.get() >= SNAPSHOT_EVENTS;
        if !(self.state.is_terminal() || many && self.state.ends_stream()) {
            return Ok(Encoded { payload, task: None, snapshot: None });
        }
        let task = self.live.project(entries).map_err(|error| store::Error::Corrupt(error.into()))?;
        self.snapshot_seq = self.seq;
        let snapshot = Some(log::write_snapshot(&task)?);
        Ok(Encoded { payload, task: Some(task), snapshot })
    }

    /// What whoever asks for something hears while another process has the task.
    pub(crate) fn worked_on_elsewhere(&self) -> Error {
        Error::new(ErrorKind::Unavailable, "Another process works on this task").with("taskId", self.live.id.as_str())
    }

    /// The end of the commit that is under way: its events are published, or the task cannot go on here.
    /// `None` when there is no commit.
    pub(crate) fn poll_commit(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Committed>>> {
        let Some(commit) = &mut self.commit else { return Poll::Ready(None) };
        if let Stage::Writing(writing) = &mut commit.store {
            commit.store = Stage::Written(std::task::ready!(writing.as_mut().poll(cx)));
        }
        let Some(Writing { store: Stage::Written(result), entries, task, texts, state, seq, deliveries, held }) =
            self.commit.take().map(|commit| *commit)
        else {
            return Poll::Ready(None);
        };
        let published = match result {
            Ok(()) => match task {
                Some(task) => {
                    self.live.publish_task(task, seq, entries, texts);
                    Ok(())
                }
                None => self.live.publish(entries, texts),
            },
            Err(store::Error::Conflict(_)) => Err(self.worked_on_elsewhere()),
            Err(error @ store::Error::KeyTaken) => Err(Error::from(ErrorKind::Unavailable).caused_by(error)),
            Err(error) => Err(crate::engine::unavailable(error)),
        };
        // Whoever waits for the key sees what was published.
        drop(held);
        if published.is_ok() {
            self.committed = seq;
            if deliveries {
                self.engine.outbox.notify_one();
            }
        }
        Poll::Ready(Some(published.map(|()| Committed { state, seq })))
    }
}

/// Writes a commit, again and again while the store is unavailable for a moment.
async fn write(engine: Arc<Inner>, live: Arc<Live>, commit: Commit) -> store::Result<()> {
    let mut pause = Duration::from_millis(20);
    for _ in 1..COMMIT_TRIES {
        match engine.store.commit(&live.owner, &commit).await {
            Err(store::Error::Unavailable(error)) => {
                tracing::warn!(%error, "the store is unavailable");
                // Rare, so it takes its room only then.
                Box::pin(tokio::time::sleep(pause)).await;
                pause *= 3;
            }
            other => return other,
        }
    }
    engine.store.commit(&live.owner, &commit).await
}
