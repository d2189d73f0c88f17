//! A task that somebody works on or watches: what is committed of it, and a bell for those who wait.
//!
//! ```text
//! driver --commit--> store
//!    `---publish---> Live { task, seq, ring } --wake--> feeds, each with its own cursor
//! ```
//!
//! Readers never get copies pushed to them. Each holds a sequence number, is woken, and takes what it
//! has not seen: from the ring while it lasts, from the store otherwise. A reader that does not read
//! costs its cursor and nothing else.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
};

use chancery_core::{Result, Seq, SharedEvent, Task, TaskId};
use tokio::sync::{mpsc, watch};
use tokio_util::sync::CancellationToken;

use crate::{
    driver::Command,
    engine::Inner,
    log,
    state::{self, Entry},
    store::{self, Row, Scope, Stored},
};

/// How many events of a live task are kept in memory for its readers.
const RING_EVENTS: usize = 256;
/// How many events a reader takes from the store at once.
const BATCH: usize = 128;

pub(crate) struct Live {
    pub(crate) scope: Scope,
    pub(crate) id: TaskId,
    engine: Weak<Inner>,
    committed: Mutex<Committed>,
    seq: watch::Sender<Seq>,
    /// Set when this process has nothing more to say about the task: it lost it, or it stops.
    left: CancellationToken,
    /// The way to the driver while there is one.
    pub(crate) driver: Mutex<Option<mpsc::UnboundedSender<Command>>>,
}

/// What everybody may know.
struct Committed {
    task: Task,
    ring: VecDeque<(Seq, SharedEvent)>,
}

impl Live {
    /// A task that is not stored yet.
    pub(crate) fn new(engine: &Arc<Inner>, scope: Scope, id: TaskId) -> Arc<Self> {
        Self::with(engine, scope, id, Task::default(), Seq::START)
    }

    /// A stored task.
    pub(crate) fn load(engine: &Arc<Inner>, scope: Scope, stored: &Stored) -> store::Result<Arc<Self>> {
        let task = log::fold(stored)?;
        Ok(Self::with(engine, scope, stored.head.id.clone(), task, stored.head.seq))
    }

    fn with(engine: &Arc<Inner>, scope: Scope, id: TaskId, task: Task, seq: Seq) -> Arc<Self> {
        let committed = Mutex::new(Committed { task, ring: VecDeque::new() });
        let left = engine.stopping.child_token();
        Arc::new(Self {
            scope,
            id,
            engine: Arc::downgrade(engine),
            committed,
            seq: watch::Sender::new(seq),
            left,
            driver: Mutex::new(None),
        })
    }

    /// Makes committed entries visible and wakes whoever waits.
    pub(crate) fn publish(&self, entries: Vec<Entry>) -> Result<()> {
        let mut committed = self.lock();
        let mut seq = *self.seq.borrow();
        for entry in entries {
            state::apply(&mut committed.task, &entry)?;
            seq = seq.next();
            committed.ring.push_back((seq, SharedEvent::from(entry.event)));
        }
        let surplus = committed.ring.len().saturating_sub(RING_EVENTS);
        committed.ring.drain(..surplus);
        // Still under the lock: a task and its place are one moment, or a reader hears an event twice.
        self.seq.send_replace(seq);
        Ok(())
    }

    /// Makes visible what another process committed, unless we work on the task ourselves.
    pub(crate) fn catch_up(&self, rows: &[Row]) -> store::Result<()> {
        let slot = self.driver.lock().unwrap_or_else(PoisonError::into_inner);
        if slot.is_some() {
            return Ok(());
        }
        let known = self.seq();
        let mut missed = Vec::new();
        for row in rows {
            missed.extend(log::read_entries(row)?.into_iter().filter(|(seq, _)| *seq > known).map(|(_, entry)| entry));
        }
        self.publish(missed).map_err(|error| store::Error::Corrupt(error.into()))
    }

    /// Says that nothing more comes from here.
    pub(crate) fn leave(&self) {
        self.left.cancel();
    }

    /// Waits until nothing more comes from here.
    pub(crate) async fn left(&self) {
        self.left.cancelled().await;
    }

    /// Hands a command to the driver, or back when there is none.
    pub(crate) fn command(&self, command: Command) -> Option<Command> {
        let slot = self.driver.lock().unwrap_or_else(PoisonError::into_inner);
        match &*slot {
            Some(driver) => driver.send(command).err().map(|error| error.0),
            None => Some(command),
        }
    }

    pub(crate) fn has_driver(&self) -> bool {
        self.driver.lock().unwrap_or_else(PoisonError::into_inner).is_some()
    }

    /// The place of the newest committed event.
    pub(crate) fn seq(&self) -> Seq {
        *self.seq.borrow()
    }

    pub(crate) fn wake(&self) -> watch::Receiver<Seq> {
        self.seq.subscribe()
    }

    /// Looks at the committed task.
    pub(crate) fn read<T>(&self, look: impl FnOnce(&Task) -> T) -> T {
        look(&self.lock().task)
    }

    /// The committed task and its place, at one moment.
    pub(crate) fn snapshot(&self) -> (Seq, Task) {
        let committed = self.lock();
        (*self.seq.borrow(), committed.task.clone())
    }

    /// Whether the task is finished, and a cursor is behind its last event.
    pub(crate) fn is_over(&self, after: Seq) -> bool {
        let committed = self.lock();
        *self.seq.borrow() <= after && committed.task.status.state.is_terminal()
    }

    /// Events after a cursor, from the ring; `None` when the ring does not reach back that far.
    fn recent(&self, after: Seq) -> Option<Vec<(Seq, SharedEvent)>> {
        let committed = self.lock();
        let first = committed.ring.front()?.0;
        if first > after.next() {
            return None;
        }
        let from = committed.ring.partition_point(|(seq, _)| *seq <= after);
        Some(committed.ring.range(from..).take(BATCH).cloned().collect())
    }

    /// Events after a cursor, from wherever they are.
    pub(crate) async fn after(&self, after: Seq) -> Result<Vec<(Seq, SharedEvent)>> {
        if self.seq() <= after {
            return Ok(Vec::new());
        }
        if let Some(events) = self.recent(after) {
            return Ok(events);
        }
        let Some(engine) = self.engine.upgrade() else { return Ok(Vec::new()) };
        let rows = engine.store.rows(&self.scope, &self.id, after, BATCH).await.map_err(crate::engine::unavailable)?;
        let mut events = Vec::new();
        for row in &rows {
            let entries = log::read_entries(row).map_err(crate::engine::unavailable)?;
            events.extend(entries.into_iter().filter(|(seq, _)| *seq > after).map(|(seq, entry)| (seq, SharedEvent::from(entry.event))));
        }
        Ok(events)
    }

    fn lock(&self) -> MutexGuard<'_, Committed> {
        // A panic while folding leaves a task that the store can give again; nothing is lost.
        self.committed.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        if let Some(engine) = self.engine.upgrade() {
            engine.forget(&self.id);
        }
    }
}
