//! A live task: what is committed of one that somebody works on or watches here, and a notification for those who wait.
//!
//! ```text
//! driver --commit--> store
//!    `---publish---> Live { task, seq, ring } --bell--> feeds, each with its own cursor
//! ```
//!
//! Readers never get copies pushed to them. Each holds a sequence number, is woken, and takes what it
//! has not seen: from the ring while it lasts, from the store otherwise. A reader that does not read
//! costs its cursor and nothing else, and a task without readers has no ring.

use std::{
    collections::VecDeque,
    sync::{
        Arc, LazyLock, MutexGuard, Weak,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    task::{Context, Poll, Waker},
};

use chancery_core::{Bytes, Event, Result, Seq, SharedEvent, Task, TaskId, sync::Mutex};
use tokio::sync::Notify;

use crate::{
    driver::{Command, Working},
    engine::Inner,
    log,
    state::{self, Entry},
    store::{self, Owner, Row, Stored},
};

/// How many events of a live task are kept in memory for its readers.
const RING_EVENTS: usize = 256;
/// How many events a reader takes from the store at once.
const BATCH: usize = 64;

pub(crate) struct Live {
    pub(crate) owner: Owner,
    pub(crate) id: TaskId,
    engine: Weak<Inner>,
    committed: Mutex<Committed>,
    /// How many want to hear of events.
    readers: AtomicUsize,
    /// Rung when there are new events, or none will come from here any more.
    bell: Notify,
    /// Set when this process has nothing more to say about the task.
    left: AtomicBool,
    /// Whether the engine has it among its live tasks.
    pub(crate) kept: AtomicBool,
    /// Set when all that the driver waits for is the commit of a turn that ended.
    pub(crate) ending: AtomicBool,
    driver: Mutex<Slot>,
}

/// What everybody may know.
struct Committed {
    /// Nothing before the first event.
    task: Option<Box<Task>>,
    /// The place of the newest event.
    seq: Seq,
    ring: VecDeque<(Seq, SharedEvent)>,
}

/// The way to the driver.
#[derive(Default)]
struct Slot {
    /// Whether there is one.
    taken: bool,
    commands: VecDeque<Command>,
    /// The driver, while it waits for commands.
    waker: Option<Waker>,
    /// The driver itself, while only its caller waits for it.
    parked: Option<Working>,
    /// Whether others look for the task, so that it must not be laid aside.
    wanted: bool,
}

/// A task before its first event.
static UNBORN: LazyLock<Task> = LazyLock::new(Task::default);

impl Committed {
    fn task(&self) -> &Task {
        self.task.as_deref().unwrap_or_else(|| &UNBORN)
    }

    /// Keeps the events after a place for readers.
    fn keep(&mut self, after: Seq, events: impl Iterator<Item = Event>, texts: Vec<Bytes>) {
        let (mut seq, mut texts) = (after, texts.into_iter());
        for event in events {
            seq = seq.next();
            // What is not ASCII may hold characters that end a line for some readers.
            let event = match texts.next().filter(|text| text.is_ascii()) {
                // A copy: a piece of the row would hold all of it for a reader that is slow.
                Some(text) => SharedEvent::with_json(event, Bytes::copy_from_slice(&text)),
                None => SharedEvent::from(event),
            };
            self.ring.push_back((seq, event));
        }
        let surplus = self.ring.len().saturating_sub(RING_EVENTS);
        self.ring.drain(..surplus);
    }

    /// Applies an entry that nobody else needs. The first one is the task itself, and need not be moved.
    fn absorb(&mut self, entry: Entry) -> Result<()> {
        if self.task.is_none()
            && entry.remarks.is_none()
            && state::next(UNBORN.status.state, &entry.event).is_some()
            && let Event::Task(created) = entry.event
        {
            self.task = Some(created);
            return Ok(());
        }
        state::absorb(self.task.get_or_insert_default(), entry)
    }
}

impl Live {
    /// A task that is not stored yet.
    pub(crate) fn new(engine: &Arc<Inner>, owner: Owner, id: TaskId) -> Arc<Self> {
        Self::with(engine, owner, id, None, Seq::START)
    }

    /// A stored task.
    pub(crate) fn load(engine: &Arc<Inner>, owner: Owner, stored: &Stored) -> store::Result<Arc<Self>> {
        let task = log::fold(stored)?;
        Ok(Self::with(engine, owner, stored.head.id.clone(), Some(Box::new(task)), stored.head.seq))
    }

    fn with(engine: &Arc<Inner>, owner: Owner, id: TaskId, task: Option<Box<Task>>, seq: Seq) -> Arc<Self> {
        Arc::new(Self {
            owner,
            id,
            engine: Arc::downgrade(engine),
            committed: Mutex::new(Committed { task, seq, ring: VecDeque::new() }),
            readers: AtomicUsize::new(0),
            bell: Notify::new(),
            left: AtomicBool::new(false),
            kept: AtomicBool::new(false),
            ending: AtomicBool::new(false),
            driver: Mutex::default(),
        })
    }

    /// The task after these entries, which are taken unless somebody wants to hear of them.
    pub(crate) fn project(&self, entries: &mut Vec<Entry>) -> Result<Box<Task>> {
        let mut after = Committed { task: self.lock().task.clone(), seq: Seq::START, ring: VecDeque::new() };
        let entries = if self.is_read() { entries.clone() } else { std::mem::take(entries) };
        entries.into_iter().try_for_each(|entry| after.absorb(entry))?;
        Ok(after.task.unwrap_or_default())
    }

    /// Makes committed entries visible and wakes whoever waits. `texts` are the events as v1.0 JSON, or
    /// nothing.
    pub(crate) fn publish(&self, entries: Vec<Entry>, texts: Vec<Bytes>) -> Result<()> {
        let mut committed = self.lock();
        // Readers announce themselves before they look. Who comes later finds these events in the store.
        let heard = self.is_read();
        let mut seq = committed.seq;
        if heard {
            committed.keep(seq, entries.iter().map(|entry| entry.event.clone()), texts);
        } else {
            committed.ring = VecDeque::new();
        }
        for entry in entries {
            committed.absorb(entry)?;
            seq = seq.next();
            committed.seq = seq;
        }
        drop(committed);
        if heard {
            self.bell.notify_waiters();
        }
        Ok(())
    }

    /// The same, when the task [after them](Self::project) is known and the last of them has the place `seq`.
    pub(crate) fn publish_task(&self, task: Box<Task>, seq: Seq, entries: Vec<Entry>, texts: Vec<Bytes>) {
        let mut committed = self.lock();
        let heard = self.is_read();
        if heard && !entries.is_empty() {
            let before = committed.seq;
            committed.keep(before, entries.into_iter().map(|entry| entry.event), texts);
        } else {
            // Who came when the entries were gone finds them in the store.
            committed.ring = VecDeque::new();
        }
        (committed.task, committed.seq) = (Some(task), seq);
        drop(committed);
        if heard {
            self.bell.notify_waiters();
        }
    }

    /// Makes visible what another process committed, unless we work on the task ourselves.
    pub(crate) fn catch_up(&self, rows: &[Row]) -> store::Result<()> {
        let slot = self.slot();
        if slot.taken {
            return Ok(());
        }
        let known = self.seq();
        let mut missed = Vec::new();
        for row in rows {
            missed.extend(log::read_entries(row)?.into_iter().filter(|(seq, _)| *seq > known).map(|(_, entry)| entry));
        }
        self.publish(missed, Vec::new()).map_err(|error| store::Error::Corrupt(error.into()))
    }

    /// Says that nothing more comes from here.
    pub(crate) fn leave(&self) {
        self.left.store(true, Ordering::SeqCst);
        self.bell.notify_waiters();
    }

    // --- The driver -----------------------------------------------------------------------------

    /// Makes the caller the driver, if there is none.
    pub(crate) fn claim(&self) -> bool {
        !std::mem::replace(&mut self.slot().taken, true)
    }

    pub(crate) fn has_driver(&self) -> bool {
        self.slot().taken
    }

    /// Hands a command to the driver, or back when there is none.
    pub(crate) fn command(&self, command: Command) -> Option<Command> {
        let mut slot = self.slot();
        if !slot.taken {
            return Some(command);
        }
        slot.commands.push_back(command);
        let driver = slot.waker.take();
        drop(slot);
        if let Some(driver) = driver {
            driver.wake();
        }
        None
    }

    /// The next command, if one is there.
    pub(crate) fn next_command(&self) -> Option<Command> {
        self.slot().commands.pop_front()
    }

    /// The next command, as soon as one is there.
    pub(crate) fn poll_command(&self, cx: &mut Context<'_>) -> Poll<Command> {
        let mut slot = self.slot();
        if let Some(command) = slot.commands.pop_front() {
            return Poll::Ready(command);
        }
        slot.waker = Some(cx.waker().clone());
        Poll::Pending
    }

    /// Lays a driver aside for its caller, who takes it up again with [`unpark`](Self::unpark).
    pub(crate) fn park(&self, work: Working) {
        let mut slot = self.slot();
        slot.parked = Some(work);
        let wanted = slot.wanted;
        drop(slot);
        if wanted {
            self.set_going();
        }
    }

    /// The driver that was laid aside.
    pub(crate) fn unpark(&self) -> Option<Working> {
        self.slot().parked.take()
    }

    /// Leaves a driver that was or will be laid aside to the runtime.
    pub(crate) fn set_going(&self) {
        let mut slot = self.slot();
        slot.wanted = slot.taken;
        let work = slot.parked.take();
        drop(slot);
        if let Some(work) = work
            // Without a runtime there is nobody left to work, or to hear of it.
            && let Ok(runtime) = tokio::runtime::Handle::try_current()
        {
            runtime.spawn(work);
        }
    }

    /// Ends the driver, unless somebody asks for something at the same moment.
    pub(crate) fn retire(&self) -> Option<Command> {
        let mut slot = self.slot();
        let command = slot.commands.pop_front();
        if command.is_none() {
            *slot = Slot::default();
        }
        command
    }

    /// Ends the driver; whoever asked for something is not answered.
    pub(crate) fn abandon(&self) {
        let asked = std::mem::take(&mut *self.slot());
        // Not under the lock: what is dropped here may look at this task.
        drop(asked);
    }

    fn slot(&self) -> MutexGuard<'_, Slot> {
        // Nothing in here panics half way through a change.
        self.driver.lock()
    }

    // --- Readers --------------------------------------------------------------------------------

    /// Announces somebody who wants to hear of events.
    pub(crate) fn reader(self: &Arc<Self>) -> Reader {
        self.readers.fetch_add(1, Ordering::SeqCst);
        Reader(self.clone())
    }

    /// Whether somebody wants to hear of events.
    pub(crate) fn is_read(&self) -> bool {
        self.readers.load(Ordering::SeqCst) > 0
    }

    /// The place of the newest committed event.
    pub(crate) fn seq(&self) -> Seq {
        self.lock().seq
    }

    /// Looks at the committed task.
    pub(crate) fn read<T>(&self, look: impl FnOnce(&Task) -> T) -> T {
        look(self.lock().task())
    }

    /// The committed task and its place, at one moment.
    pub(crate) fn snapshot(&self) -> (Seq, Task) {
        let committed = self.lock();
        (committed.seq, committed.task().clone())
    }

    /// The committed task, which is not copied when nobody else has it.
    pub(crate) fn into_task(mut self: Arc<Self>) -> Box<Task> {
        match Arc::get_mut(&mut self) {
            Some(own) => own.committed.get_mut().task.take().unwrap_or_default(),
            None => Box::new(self.snapshot().1),
        }
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
        let newest = self.seq();
        if newest <= after {
            return Ok(Vec::new());
        }
        if let Some(events) = self.recent(after) {
            return Ok(events);
        }
        let engine = self.engine.upgrade().ok_or_else(crate::engine::closed)?;
        let rows = engine.store.rows(&self.owner, &self.id, after, BATCH).await.map_err(crate::engine::unavailable)?;
        let mut events = Vec::new();
        for row in &rows {
            let entries = log::read_entries(row).map_err(crate::engine::unavailable)?;
            // The store may know more than is published; whoever reads that here would find an older task elsewhere.
            let unread = entries.into_iter().filter(|(seq, _)| *seq > after && *seq <= newest);
            events.extend(unread.map(|(seq, entry)| (seq, SharedEvent::from(entry.event))));
            // A row may hold more than a reader should have in its hands; it is read again for the rest.
            if events.len() >= BATCH {
                events.truncate(BATCH);
                break;
            }
        }
        Ok(events)
    }

    fn lock(&self) -> MutexGuard<'_, Committed> {
        // A panic while folding leaves a task that the store can give again; nothing is lost.
        self.committed.lock()
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        if *self.kept.get_mut()
            && let Some(engine) = self.engine.upgrade()
        {
            engine.forget(&self.id);
        }
    }
}

/// Somebody who wants to hear of the events of a task. While there is one, new events are kept at hand.
pub(crate) struct Reader(Arc<Live>);

/// What ended a wait for events.
pub(crate) enum Woken {
    /// There are events.
    News,
    /// The task is finished, and there is nothing more.
    Over,
    /// The rest happens elsewhere: another process has the task, or this one stops.
    Left,
}

impl Reader {
    pub(crate) fn live(&self) -> &Arc<Live> {
        &self.0
    }

    /// Waits until there are events after a cursor, or none will come from here.
    pub(crate) async fn woken(&self, after: Seq) -> Woken {
        let live = &self.0;
        loop {
            // Made before the look: what happens in between is heard.
            let rung = live.bell.notified();
            {
                let committed = live.lock();
                if committed.seq > after {
                    return Woken::News;
                }
                if committed.task().status.state.is_terminal() {
                    return Woken::Over;
                }
            }
            let Some(stopping) = live.engine.upgrade().map(|engine| engine.stopping.clone()) else { return Woken::Left };
            if live.left.load(Ordering::SeqCst) {
                return Woken::Left;
            }
            tokio::select! {
                biased;
                () = rung => {}
                () = stopping.cancelled() => return Woken::Left,
            }
        }
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        if self.0.readers.fetch_sub(1, Ordering::SeqCst) == 1 {
            let mut committed = self.0.lock();
            // Somebody may have come meanwhile; the store has what is thrown away under their feet.
            committed.ring = VecDeque::new();
        }
    }
}
