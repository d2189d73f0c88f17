//! Where tasks are kept. A store knows rows, not rules: what an event means is the engine's business.
//!
//! A task is one row of indexed facts ([`TaskFacts`]), a log of rows with events, and now and then a
//! snapshot that saves reading the log from its beginning. All of a commit happens, or nothing.

pub mod memory;
#[cfg(feature = "sqlite")]
pub mod sqlite;
pub mod suite;

use std::{fmt, ops::ControlFlow, sync::Arc};

use async_trait::async_trait;
use chancery_core::{BoxError, Bytes, ContextId, PushConfigId, Seq, TaskId, TaskState, Timestamp};

pub use memory::Memory;
#[cfg(feature = "sqlite")]
pub use sqlite::Sqlite;

/// Whose data it is, a subject with an agent within a tenant: part of every call, so that nobody can forget to ask.
///
/// Copies share one text.
#[derive(Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Owner {
    /// The tenant, the agent and the subject, one after the other: a copy is then one more count in one place, and in
    /// no place that other owners count in too.
    text: Arc<str>,
    agent_at: usize,
    subject_at: usize,
}

impl Owner {
    /// The owner of what a subject has with an agent, without a tenant.
    pub fn new(agent: impl AsRef<str>, subject: impl AsRef<str>) -> Self {
        Self::of("", agent.as_ref(), subject.as_ref())
    }

    /// The owner of what a subject has with an agent, within a tenant.
    #[must_use]
    pub fn of(tenant: &str, agent: &str, subject: &str) -> Self {
        Self { text: [tenant, agent, subject].concat().into(), agent_at: tenant.len(), subject_at: tenant.len() + agent.len() }
    }

    /// The tenant; empty when the server has none.
    #[must_use]
    pub fn tenant(&self) -> &str {
        &self.text[..self.agent_at]
    }

    /// The agent's key on its server.
    #[must_use]
    pub fn agent(&self) -> &str {
        &self.text[self.agent_at..self.subject_at]
    }

    /// The caller; empty for callers without a name.
    #[must_use]
    pub fn subject(&self) -> &str {
        &self.text[self.subject_at..]
    }
}

impl fmt::Debug for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (tenant, agent, subject) = (self.tenant(), self.agent(), self.subject());
        f.debug_struct("Owner").field("tenant", &tenant).field("agent", &agent).field("subject", &subject).finish()
    }
}

/// Why a store could not do what it was asked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Somebody else wrote first; read again and decide anew.
    #[error("task {0} changed since it was read")]
    Conflict(TaskId),
    /// The idempotency key is in use.
    #[error("the idempotency key is in use")]
    KeyTaken,
    /// The store cannot be reached, is full, or is too busy.
    #[error("the store is unavailable")]
    Unavailable(#[source] BoxError),
    /// What is stored cannot be read.
    #[error("the stored data is unreadable")]
    Corrupt(#[source] BoxError),
}

impl Error {
    /// Whether another program has the store for itself, and did not let go of it in time.
    #[must_use]
    pub fn is_in_use(&self) -> bool {
        match self {
            #[cfg(feature = "sqlite")]
            Self::Unavailable(source) => sqlite::is_in_use(source),
            _ => false,
        }
    }
}

/// What a store gives back.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What lists must know of a task that was handed over to another agent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Passed {
    /// It was not.
    #[default]
    No,
    /// It ended here with that.
    Away,
    /// It goes on here as if it had not been.
    Relayed,
}

/// How a task stands in lists: its state, and whether it was handed over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub struct Standing {
    /// The state.
    pub state: TaskState,
    /// Whether it was handed over.
    pub passed: Passed,
}

impl Standing {
    /// How many there are.
    pub const COUNT: usize = 3 * TaskState::ALL.len();
    /// What lies between the numbers of those that were handed over and of those that were not.
    const STEP: i64 = 16;

    /// A state, and whether the task was handed over.
    #[must_use]
    pub fn new(state: TaskState, passed: Passed) -> Self {
        Self { state, passed }
    }

    /// All of them.
    pub fn all() -> impl Iterator<Item = Self> {
        let passed = [Passed::No, Passed::Away, Passed::Relayed];
        passed.into_iter().flat_map(|passed| TaskState::ALL.iter().map(move |state| Self { state: *state, passed }))
    }

    /// Its place among all of them.
    #[must_use]
    pub fn index(self) -> usize {
        self.passed as usize * TaskState::ALL.len() + self.state as usize
    }

    /// Its number: that of the state for a task that was not handed over.
    #[must_use]
    pub fn number(self) -> i64 {
        i64::from(self.state.number()) + Self::STEP * self.passed as i64
    }

    /// The standing with this number.
    #[must_use]
    pub fn from_number(number: i64) -> Option<Self> {
        let passed = match number / Self::STEP {
            0 => Passed::No,
            1 => Passed::Away,
            2 => Passed::Relayed,
            _ => return None,
        };
        Some(Self { state: TaskState::from_number(number % Self::STEP)?, passed })
    }
}

impl From<TaskState> for Standing {
    fn from(state: TaskState) -> Self {
        Self { state, passed: Passed::No }
    }
}

/// The indexed facts of a task.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct TaskFacts {
    /// The task.
    pub id: TaskId,
    /// Its conversation.
    pub context: ContextId,
    /// Its state.
    pub state: TaskState,
    /// The time of its status: what lists are ordered and filtered by.
    pub updated: Timestamp,
    /// The place of its newest event.
    pub seq: Seq,
    /// Whether it was handed over to another agent.
    pub passed: Passed,
}

impl TaskFacts {
    /// The facts of a task after its newest event.
    pub fn new(id: impl Into<TaskId>, context: impl Into<ContextId>, state: TaskState, updated: Timestamp, seq: Seq) -> Self {
        Self { id: id.into(), context: context.into(), state, updated, seq, passed: Passed::No }
    }

    /// How it stands in lists.
    #[must_use]
    pub fn standing(&self) -> Standing {
        Standing { state: self.state, passed: self.passed }
    }
}

/// Events of one task that were committed together, as bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Row {
    /// The place of the first event.
    pub first: Seq,
    /// The place of the last event.
    pub last: Seq,
    /// The events.
    pub payload: Bytes,
}

impl Row {
    /// Events from `first` to `last`.
    #[must_use]
    pub fn new(first: Seq, last: Seq, payload: Bytes) -> Self {
        Self { first, last, payload }
    }
}

/// Who runs a task, and until when that is believed.
///
/// A lease only says that somebody is alive. Correctness comes from the sequence: whoever takes a
/// task over commits an event, and with that every later commit of the former holder conflicts.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Lease {
    /// The process.
    pub holder: Arc<str>,
    /// When it counts as dead unless it says otherwise.
    pub until: Timestamp,
    /// How many times the current turn was started.
    pub attempt: u32,
}

impl Lease {
    /// A lease of the first attempt.
    pub fn new(holder: impl Into<Arc<str>>, until: Timestamp, attempt: u32) -> Self {
        Self { holder: holder.into(), until, attempt }
    }
}

/// A notification to be sent: which event, to which webhook.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub struct Delivery {
    /// The webhook's config.
    pub config: PushConfigId,
    /// The event.
    pub seq: Seq,
}

impl Delivery {
    /// A notification of an event to a webhook.
    #[must_use]
    pub fn new(config: PushConfigId, seq: Seq) -> Self {
        Self { config, seq }
    }
}

/// What a request with an idempotency key led to.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct KeyRecord {
    /// The key.
    pub key: String,
    /// A digest of the request's body: the same key with another body is refused.
    pub digest: u64,
    /// The answer: the id of a task, or a message as bytes.
    pub answer: KeyAnswer,
    /// When it may be forgotten.
    pub until: Timestamp,
}

impl KeyRecord {
    /// A record of a request's answer.
    pub fn new(key: impl Into<String>, digest: u64, answer: KeyAnswer, until: Timestamp) -> Self {
        Self { key: key.into(), digest, answer, until }
    }
}

/// The answer that is kept under an idempotency key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeyAnswer {
    /// The task that was made or continued.
    Task(TaskId),
    /// A direct answer, as bytes.
    Message(Bytes),
}

/// Who may see a task beside its owner.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Grantee {
    /// Whoever shows the bearer token with this digest.
    Bearer(String),
    /// The caller with this subject, at the same agent and within the same tenant.
    Subject(String),
}

/// All of it, or nothing.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Commit {
    /// The task's facts after the commit.
    pub head: TaskFacts,
    /// The newest event that the committer knows; [`Seq::START`] makes the task.
    pub expected: Seq,
    /// The events that are added, `expected + 1` to `head.seq`.
    pub row: Row,
    /// The whole task as of `head.seq`, when that is worth keeping.
    pub snapshot: Option<Bytes>,
    /// Who runs the task from now on; `None` when nobody does.
    pub lease: Option<Lease>,
    /// Notifications of these events.
    pub deliveries: Vec<Delivery>,
    /// Webhooks that are registered with this commit, as id and bytes.
    pub configs: Vec<(PushConfigId, Bytes)>,
    /// The idempotency key that led to this commit.
    pub key: Option<KeyRecord>,
}

impl Commit {
    /// A commit of one row and nothing else.
    #[must_use]
    pub fn new(head: TaskFacts, expected: Seq, row: Row) -> Self {
        Self { head, expected, row, snapshot: None, lease: None, deliveries: Vec::new(), configs: Vec::new(), key: None }
    }
}

/// A task as it is stored: the newest snapshot and the rows after it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Stored {
    /// Its facts.
    pub head: TaskFacts,
    /// The newest snapshot with the place of the last event in it.
    pub snapshot: Option<(Seq, Bytes)>,
    /// The rows after the snapshot, in order.
    pub rows: Vec<Row>,
    /// Who runs it.
    pub lease: Option<Lease>,
}

impl Stored {
    /// A task from its parts.
    #[must_use]
    pub fn new(head: TaskFacts, snapshot: Option<(Seq, Bytes)>, rows: Vec<Row>, lease: Option<Lease>) -> Self {
        Self { head, snapshot, rows, lease }
    }
}

/// Which tasks to list.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Filter {
    /// Only of this conversation.
    pub context: Option<ContextId>,
    /// Only in this state, and not handed over.
    pub state: Option<TaskState>,
    /// Only those that stand in one of these ways; all when there is none.
    pub among: Vec<Standing>,
    /// Only with a status at least this new.
    pub updated_from: Option<Timestamp>,
    /// Only after this one, in the order of the list.
    pub after: Option<(Timestamp, TaskId)>,
    /// At most this many.
    pub limit: usize,
}

/// One page of tasks, newest status first, ties by id, descending.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Listing {
    /// The tasks.
    pub tasks: Vec<Stored>,
    /// How many match, whatever the page.
    pub total: usize,
}

impl Listing {
    /// A page of a list.
    #[must_use]
    pub fn new(tasks: Vec<Stored>, total: usize) -> Self {
        Self { tasks, total }
    }
}

/// A notification that is due, leased to whoever asked.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Due {
    /// Names the delivery; stays the same over all attempts.
    pub id: u64,
    /// Whose task it is.
    pub owner: Owner,
    /// The task.
    pub task: TaskId,
    /// Which event, to which webhook.
    pub delivery: Delivery,
    /// How often it was tried before.
    pub attempts: u32,
}

impl Due {
    /// A due notification from its parts.
    #[must_use]
    pub fn new(id: u64, owner: Owner, task: TaskId, delivery: Delivery, attempts: u32) -> Self {
        Self { id, owner, task, delivery, attempts }
    }
}

/// How an attempt to deliver ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Settled {
    /// It arrived; the row is gone.
    Delivered,
    /// Try again at this time.
    Retry(Timestamp),
    /// Nobody will try again by itself; the row is kept.
    Dead,
}

/// Keeps tasks. Every implementation passes [`suite`] in the same way.
///
/// Times keep their order and, between the years 1678 and 2261, their nanoseconds.
#[async_trait]
pub trait Store: Send + Sync + 'static {
    /// Writes a commit. When this returns, it is durable; when the future is dropped before, it may
    /// still happen. A task id is unique over all owners: making a task with the id of another is a
    /// conflict. The conversation of a task never changes.
    async fn commit(&self, owner: &Owner, commit: &Commit) -> Result<()>;

    /// Writes a commit at once, if that needs no waiting; gives it back otherwise.
    fn commit_now(&self, owner: &Owner, commit: Commit) -> ControlFlow<Result<()>, Commit> {
        let _ = owner;
        ControlFlow::Continue(commit)
    }

    /// Reads a task; `None` when the owner has none of that id.
    async fn task(&self, owner: &Owner, id: &TaskId) -> Result<Option<Stored>>;

    /// Reads the rows that hold events after `after`, at most about `limit` events.
    async fn rows(&self, owner: &Owner, id: &TaskId, after: Seq, limit: usize) -> Result<Vec<Row>>;

    /// Lists tasks.
    async fn list(&self, owner: &Owner, filter: Filter) -> Result<Listing>;

    /// What a request with this key led to.
    async fn key(&self, owner: &Owner, key: &str, now: Timestamp) -> Result<Option<KeyRecord>>;

    /// Keeps the answer of a request that made no task.
    async fn put_key(&self, owner: &Owner, record: KeyRecord, now: Timestamp) -> Result<()>;

    /// Registers or replaces a webhook of a task. `false` when there is no such task.
    async fn put_config(&self, owner: &Owner, task: &TaskId, id: &PushConfigId, config: Bytes) -> Result<bool>;

    /// The webhooks of a task, ordered by id; `None` when there is no such task.
    async fn configs(&self, owner: &Owner, task: &TaskId) -> Result<Option<Vec<(PushConfigId, Bytes)>>>;

    /// Forgets a webhook and what is still to be sent to it. `false` when there is no such task.
    async fn delete_config(&self, owner: &Owner, task: &TaskId, id: &PushConfigId) -> Result<bool>;

    /// Whether anybody at all has a task of this id.
    async fn taken(&self, id: &TaskId) -> Result<bool>;

    /// The task that a name of this owner stands for, if that was noted.
    async fn alias(&self, owner: &Owner, name: &TaskId) -> Result<Option<TaskId>>;

    /// Notes which task a name of this owner stands for, in place of what was noted before. It may be forgotten when
    /// there is no such task and `now` is older than what is purged.
    async fn put_alias(&self, owner: &Owner, name: &TaskId, task: &TaskId, now: Timestamp) -> Result<()>;

    /// Lets somebody see a task until then, in place of what was granted to the same one before. `false` when there is no such task;
    /// a task that is deleted takes its grants with it.
    async fn put_grant(&self, owner: &Owner, task: &TaskId, grantee: &Grantee, until: Timestamp) -> Result<bool>;

    /// The task of an agent that the bearer token with this digest opens.
    async fn bearer_grant(&self, agent: &str, digest: &str, now: Timestamp) -> Result<Option<(Owner, TaskId)>>;

    /// Whose task it is, if this caller was granted to see it by its subject.
    async fn subject_grant(&self, caller: &Owner, task: &TaskId, now: Timestamp) -> Result<Option<Owner>>;

    /// Says that a process is alive: all its leases hold until then.
    async fn renew(&self, holder: &str, until: Timestamp) -> Result<()>;

    /// Who works on a task.
    async fn lease(&self, owner: &Owner, id: &TaskId) -> Result<Option<Lease>>;

    /// Tasks of an agent whose lease ran out before `now`.
    async fn expired(&self, agent: &str, now: Timestamp, limit: usize) -> Result<Vec<(Owner, TaskId)>>;

    /// Takes deliveries of an agent's tasks that are due, longest due first, and keeps others from taking them until
    /// `lease`. Of one task and webhook only the oldest is ever due: a later event waits for an earlier
    /// one, but not for a dead one.
    async fn due(&self, agent: &str, now: Timestamp, lease: Timestamp, limit: usize) -> Result<Vec<Due>>;

    /// When the next delivery of an agent's tasks will be due; `None` when nothing waits. One that waits for an earlier
    /// one does not count.
    async fn next_due(&self, agent: &str) -> Result<Option<Timestamp>>;

    /// Says how an attempt ended.
    async fn settle(&self, id: u64, settled: Settled) -> Result<()>;

    /// Deliveries that nobody will try again by itself, oldest first.
    async fn dead(&self, owner: &Owner, limit: usize) -> Result<Vec<Due>>;

    /// Makes dead deliveries of a task due again, and says how many there were.
    async fn revive(&self, owner: &Owner, task: &TaskId, now: Timestamp) -> Result<usize>;

    /// Deletes finished tasks of an agent with a status older than `before`, keys and grants of it that ran out, and names noted
    /// before `before` of tasks that are gone; at most `limit` tasks, whichever. Says how many tasks went.
    async fn purge(&self, agent: &str, before: Timestamp, now: Timestamp, limit: usize) -> Result<usize>;
}
