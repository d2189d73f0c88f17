// The public API of crates/engine. Written by a test (tests/repository); do not edit.

// agent.rs
pub trait Agent: Send + Sync + 'static {
    fn run(&self, turn: Turn) -> impl Future<Output = Result<Outcome, Failure>> + Send;
}
impl<F, R> Agent for F
where
    F: Fn(Turn) -> R + Send + Sync + 'static,
    R: Future<Output = Result<Outcome, Failure>> + Send,
{}
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Outcome {
    Reply(Message),
    Message(Message),
    Completed,
    CompletedWith(Box<Artifact>),
    InputRequired(Message),
    AuthRequired(Message),
    Rejected(Message),
    Failed(Message),
    Transferred(Box<Handoff>),
}
impl Outcome {
    pub fn reply(part: impl Into<Part>) -> Self {}
    pub fn message(part: impl Into<Part>) -> Self {}
    pub fn complete_with(artifact: Artifact) -> Self {}
    pub fn ask(question: impl Into<Part>) -> Self {}
    pub fn require_auth(what: impl Into<Part>) -> Self {}
    pub fn reject(why: impl Into<Part>) -> Self {}
    pub fn transfer(to: impl Into<Handoff>) -> Self {}
    pub fn failed(why: impl Into<Part>) -> Self {}
}
pub struct Failure {}

// clock.rs
pub use chancery_core::clock::{Clock, ManualClock, SystemClock, Timer};

// delegation/access.rs
pub trait Tokens: Send + Sync {
    fn issue(&self) -> Option<Secret>;
    fn digest(&self, token: &Secret) -> String;
}
impl GrantLookup for Engine {}

// delegation/delegate.rs
impl Turn {
    pub fn delegate(
        &self,
        agent: impl Into<String>,
        message: impl Into<Message>,
    ) -> Delegation {}
}
#[must_use = "nothing is delegated until it is awaited"]
pub struct Delegation {}
impl Delegation {
    pub fn skill(mut self, id: impl Into<String>) -> Self {}
    pub fn workflow(mut self, name: impl Into<String>) -> Self {}
    pub async fn stream(self) -> Result<Delegating, DelegationError> {}
}
impl IntoFuture for Delegation {
    type Output = Result<Delegated, DelegationError>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send>>;
}
pub struct Delegating {}
impl Delegating {
    pub fn call(&self) -> &str {}
    pub async fn next(&mut self) -> Result<Option<Event>, DelegationError> {}
    pub async fn finish(mut self) -> Result<Delegated, DelegationError> {}
}
impl fmt::Debug for Delegating {}

// delegation/delegated.rs
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Delegated {
    pub agent: String,
    pub call: String,
    pub reply: SendReply,
}
impl Delegated {
    pub fn text(&self) -> String {}
    pub fn artifacts(&self) -> &[Artifact] {}
}
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DelegationError {
    Undone { agent: String, state: TaskState, task: Box<Task> },
    Unreachable { agent: String, source: Error },
    Refused {
        agent: String,
        code: &'static str,
        reason: &'static str,
        violation: Object,
    },
    Over,
}

// delegation/handoff.rs
#[derive(Clone)]
#[non_exhaustive]
pub struct Handoff {
    pub target: String,
    pub reason: String,
    pub parts: Vec<Part>,
    pub state: Object,
    pub output_keys: Object,
    pub requires: Vec<String>,
    pub workflow: String,
    pub deadline: Option<Timestamp>,
    pub escalate: bool,
}
impl Handoff {
    pub fn to(agent: impl Into<String>) -> Self {}
    pub fn reason(mut self, reason: impl Into<String>) -> Self {}
    pub fn part(mut self, part: impl Into<Part>) -> Self {}
    pub fn state(mut self, key: impl Into<String>, value: impl Into<Value>) -> Self {}
    pub fn output(mut self, name: impl Into<String>, value: impl Into<Value>) -> Self {}
    pub fn requires(mut self, skill: impl Into<String>) -> Self {}
    pub fn workflow(mut self, workflow: impl Into<String>) -> Self {}
    pub fn deadline(mut self, deadline: Timestamp) -> Self {}
    pub fn escalate(mut self) -> Self {}
    pub fn otherwise(
        mut self,
        next: impl Fn(&Refusal) -> Outcome + Send + Sync + 'static,
    ) -> Self {}
}
impl From<&str> for Handoff {}
impl From<String> for Handoff {}
impl PartialEq for Handoff {}
impl fmt::Debug for Handoff {}

// delegation/lattice.rs
#[derive(Debug, Clone)]
pub struct Lattice(_);
impl Lattice {
    pub fn new(gate: chancery_lattice::Gate) -> Self {}
}
impl ReachPolicy for Lattice {}
#[derive(Debug, Clone)]
pub struct Guarded<A> {}
impl<A> Guarded<A> {
    pub fn new(agent: A, lattice: Lattice) -> Self {}
}
impl<A: Agent> Agent for Guarded<A> {}

// delegation/mod.rs
pub use access::Tokens;
pub use delegate::{Delegating, Delegation};
pub use delegated::{Delegated, DelegationError};
pub use handoff::Handoff;
#[cfg(feature = "scope")]
pub use lattice::{Guarded, Lattice};
pub use refusal::{Refusal, RefusalCode};
#[derive(Clone)]
#[non_exhaustive]
pub struct Passing {
    pub peers: Arc<dyn Peers>,
    pub base_urls: Vec<String>,
    pub max_hops: u32,
    pub max_visits: usize,
    pub relay: bool,
    pub on_ambiguous: OnAmbiguous,
    pub on_message_reply: OnMessageReply,
    pub grant_life: Option<Duration>,
    pub tokens: Option<Arc<dyn Tokens>>,
    pub trusted_delegators: BTreeSet<String>,
    pub policy: Option<Arc<dyn ReachPolicy>>,
}
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum OnAmbiguous {
    Fail,
    Retry,
}
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum OnMessageReply {
    Complete,
    Fail,
}
pub trait ReachPolicy: Send + Sync {
    fn check(&self, step: &Step<'_>) -> Result<Option<Object>, Object>;
    fn warning(&self, _step: &Step<'_>) -> Option<Object> {}
    fn escalates(&self, _violation: &Object) -> bool {}
    fn token(&self, _step: &Step<'_>) -> Option<Secret> {}
}
#[non_exhaustive]
pub struct Step<'a> {
    pub kind: Passage,
    pub from: &'a str,
    pub to: &'a str,
    pub card: &'a Card,
    pub requires: &'a [String],
    pub workflow: &'a str,
    pub caller: &'a Caller,
    pub received: Option<&'a TransferContext>,
    pub trail: &'a Trail,
    pub now: Timestamp,
}
impl Passing {
    pub fn new(peers: Arc<dyn Peers>) -> Self {}
    pub fn at(mut self, url: impl Into<String>) -> Self {}
    pub fn max_hops(mut self, hops: u32) -> Self {}
    pub fn max_visits(mut self, visits: usize) -> Self {}
    pub fn relay(mut self, relay: bool) -> Self {}
    pub fn on_ambiguous(mut self, policy: OnAmbiguous) -> Self {}
    pub fn on_message_reply(mut self, policy: OnMessageReply) -> Self {}
    pub fn grant_life(mut self, life: Option<Duration>) -> Self {}
    pub fn tokens(mut self, tokens: impl Tokens + 'static) -> Self {}
    pub fn trusted_delegator(mut self, caller: impl Into<String>) -> Self {}
    pub fn policy(mut self, policy: impl ReachPolicy + 'static) -> Self {}
    pub fn base_url(&self) -> &str {}
    pub fn is_own(&self, url: &str) -> bool {}
}
impl fmt::Debug for Passing {}

// delegation/refusal.rs
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Refusal {
    pub code: RefusalCode,
    pub message: String,
    pub target: String,
    pub retryable: bool,
    pub violation: Option<Object>,
    pub said: Option<Message>,
}
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[non_exhaustive]
pub enum RefusalCode {
    ScopeViolation,
    LoopDetected,
    HopLimit,
    TargetUnreachable,
    TargetUntrusted,
    TargetRejected,
    TargetNoTask,
    Ambiguous,
    Canceled,
    TooLarge,
}

// engine.rs
#[derive(Clone)]
pub struct Engine {}
pub struct Builder {}
impl Engine {
    pub fn new(card: Card, agent: impl Agent) -> Builder {}
    pub fn card(&self) -> Arc<Card> {}
    pub fn name(&self) -> &str {}
    pub fn change(&self, to: Builder) {}
    pub async fn shutdown(&self, grace: Duration) {}
    pub async fn deliver_due(&self) -> Result<usize> {}
    pub async fn look_after(&self) -> Result<()> {}
    pub async fn dead_letters(&self, caller: &Caller, limit: usize) -> Result<Vec<Due>> {}
    pub async fn redeliver(&self, caller: &Caller, task: &TaskId) -> Result<usize> {}
}
impl Builder {
    pub fn card(&self) -> &Card {}
    pub fn key(&self) -> Option<&str> {}
    pub fn options(&self) -> &Options {}
    pub fn with_cards(mut self, mut change: impl FnMut(&mut Card)) -> Self {}
    pub fn store(self, store: impl Store) -> Self {}
    pub fn shared_store(self, store: Arc<dyn Store>) -> Self {}
    pub fn name(mut self, name: impl Into<String>) -> Self {}
    pub fn extended_card(mut self, card: Card) -> Self {}
    pub fn has_extended_card(&self) -> bool {}
    pub fn sender(self, sender: impl Sender) -> Self {}
    pub fn schedule(self, schedule: Schedule) -> Self {}
    pub fn on_restart(self, policy: OnRestart) -> Self {}
    pub fn lease(self, lease: Duration) -> Self {}
    pub fn task_after(self, patience: impl Into<Option<Duration>>) -> Self {}
    pub fn turn_timeout(self, limit: Duration) -> Self {}
    pub fn retention(self, age: Option<Duration>) -> Self {}
    pub fn reopen(self, reopen: bool) -> Self {}
    pub fn passing(self, passing: Passing) -> Self {}
    pub fn defaults(self, options: &Options) -> Self {}
    pub fn reach(mut self, peers: Arc<dyn Peers>, base_url: impl Into<String>) -> Self {}
    pub fn base_url(self, url: impl Into<String>) -> Self {}
    pub fn tokens(self, tokens: impl Tokens + 'static) -> Self {}
    pub fn clock(self, clock: impl Clock) -> Self {}
    pub fn by_hand(self) -> Self {}
    pub fn start(self) -> Engine {}
}

// lib.rs
pub mod clock;
pub mod delegation;
pub mod push;
pub mod state;
pub mod store;
pub use agent::{Agent, Failure, Outcome};
pub use engine::{Builder, Engine};
pub use options::{OnRestart, Options};
pub use turn::{ArtifactWriter, Turn};

// options.rs
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum OnRestart {
    Fail,
    Rerun,
}
#[derive(Clone, Default)]
#[must_use = "options are nothing until an engine has them"]
pub struct Options {}
impl Options {
    pub fn new() -> Self {}
    pub fn on_restart(mut self, policy: OnRestart) -> Self {}
    pub fn lease(mut self, lease: Duration) -> Self {}
    pub fn task_after(mut self, patience: impl Into<Option<Duration>>) -> Self {}
    pub fn turn_timeout(mut self, limit: Duration) -> Self {}
    pub fn retention(mut self, age: Option<Duration>) -> Self {}
    pub fn reopen(mut self, reopen: bool) -> Self {}
    pub fn passing(mut self, passing: Passing) -> Self {}
    pub fn reach(mut self, peers: Arc<dyn Peers>) -> Self {}
    pub fn base_url(mut self, url: impl Into<String>) -> Self {}
    pub fn tokens(mut self, tokens: impl Tokens + 'static) -> Self {}
    pub fn shared_store(mut self, store: Arc<dyn Store>) -> Self {}
    pub fn sender(mut self, sender: impl Sender) -> Self {}
    pub fn schedule(mut self, schedule: Schedule) -> Self {}
    pub fn clock(mut self, clock: impl Clock) -> Self {}
    pub fn by_hand(mut self) -> Self {}
    pub fn or(self, others: &Self) -> Self {}
    pub fn has_store(&self) -> bool {}
    pub fn said(&self) -> Vec<&'static str> {}
}
impl fmt::Debug for Options {}

// push/mod.rs
pub use outbox::Outbox;
pub use retry::Schedule;
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Notification {
    pub id: String,
    pub config: PushConfig,
    pub event: Event,
    pub task: Task,
    pub attempt: u32,
}
#[derive(Debug)]
#[non_exhaustive]
pub enum Sent {
    Accepted,
    Gone,
    Failed { error: BoxError, after: Option<std::time::Duration> },
}
pub trait Sender: Send + Sync + 'static {
    async fn send(&self, notification: &Notification) -> Sent;
}
pub fn read(bytes: &[u8]) -> store::Result<PushConfig> {}

// push/outbox.rs
#[derive(Clone)]
pub struct Outbox {}
impl Outbox {
    pub async fn round(&self) -> store::Result<usize> {}
}

// push/retry.rs
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Schedule {}
impl Default for Schedule {}
impl Schedule {
    pub fn new(pauses: impl IntoIterator<Item = Duration>) -> Self {}
    pub fn pause(&self, attempts: u32, salt: u64) -> Option<Duration> {}
}

// service.rs
operations! {
    send_message(SendMessage) -> SendReply; stream_message(SendMessage) -> EventStream;
    get_task(GetTask) -> LazyTask; list_tasks(ListTasks) -> TaskPage < LazyTask >;
    cancel_task(CancelTask) -> Task; subscribe(Subscribe) -> EventStream;
    create_push_config(PushConfig) -> PushConfig; get_push_config(GetPushConfig) ->
    PushConfig; list_push_configs(ListPushConfigs) -> PushConfigPage;
    delete_push_config(DeletePushConfig) -> (); get_extended_card(GetExtendedCard) ->
    Card;
}

// state.rs
#[must_use]
pub fn next(state: TaskState, event: &Event) -> Option<TaskState> {}
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    pub event: Event,
    pub message: Option<Box<Message>>,
    pub remarks: Option<Box<Remarks>>,
}
pub fn apply(task: &mut Task, entry: &Entry) -> Result<()> {}
pub fn absorb(task: &mut Task, entry: Entry) -> Result<()> {}

// store/memory.rs
#[derive(Debug, Default)]
pub struct Memory {}
impl Memory {
    pub fn new() -> Self {}
}
impl Store for Memory {}

// store/mod.rs
pub mod memory;
#[cfg(feature = "sqlite")]
pub mod sqlite;
pub mod suite;
pub use memory::Memory;
#[cfg(feature = "sqlite")]
pub use sqlite::Sqlite;
#[derive(Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Owner {}
impl Owner {
    pub fn new(agent: impl AsRef<str>, subject: impl AsRef<str>) -> Self {}
    pub fn of(tenant: &str, agent: &str, subject: &str) -> Self {}
    pub fn tenant(&self) -> &str {}
    pub fn agent(&self) -> &str {}
    pub fn subject(&self) -> &str {}
}
impl fmt::Debug for Owner {}
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    Conflict(TaskId),
    KeyTaken,
    Unavailable(BoxError),
    Corrupt(BoxError),
}
impl Error {
    pub fn is_in_use(&self) -> bool {}
}
pub type Result<T, E = Error> = std::result::Result<T, E>;
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Passed {
    No,
    Away,
    Relayed,
}
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub struct Standing {
    pub state: TaskState,
    pub passed: Passed,
}
impl Standing {
    pub const COUNT: usize = ..;
    pub fn new(state: TaskState, passed: Passed) -> Self {}
    pub fn all() -> impl Iterator<Item = Self> {}
    pub fn index(self) -> usize {}
    pub fn number(self) -> i64 {}
    pub fn from_number(number: i64) -> Option<Self> {}
}
impl From<TaskState> for Standing {}
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct TaskFacts {
    pub id: TaskId,
    pub context: ContextId,
    pub state: TaskState,
    pub updated: Timestamp,
    pub seq: Seq,
    pub passed: Passed,
}
impl TaskFacts {
    pub fn new(
        id: impl Into<TaskId>,
        context: impl Into<ContextId>,
        state: TaskState,
        updated: Timestamp,
        seq: Seq,
    ) -> Self {}
    pub fn standing(&self) -> Standing {}
}
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Row {
    pub first: Seq,
    pub last: Seq,
    pub payload: Bytes,
}
impl Row {
    pub fn new(first: Seq, last: Seq, payload: Bytes) -> Self {}
}
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Lease {
    pub holder: Arc<str>,
    pub until: Timestamp,
    pub attempt: u32,
}
impl Lease {
    pub fn new(holder: impl Into<Arc<str>>, until: Timestamp, attempt: u32) -> Self {}
}
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub struct Delivery {
    pub config: PushConfigId,
    pub seq: Seq,
}
impl Delivery {
    pub fn new(config: PushConfigId, seq: Seq) -> Self {}
}
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct KeyRecord {
    pub key: String,
    pub digest: u64,
    pub answer: KeyAnswer,
    pub until: Timestamp,
}
impl KeyRecord {
    pub fn new(
        key: impl Into<String>,
        digest: u64,
        answer: KeyAnswer,
        until: Timestamp,
    ) -> Self {}
}
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeyAnswer {
    Task(TaskId),
    Message(Bytes),
}
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Grantee {
    Bearer(String),
    Subject(String),
}
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Commit {
    pub head: TaskFacts,
    pub expected: Seq,
    pub row: Row,
    pub snapshot: Option<Bytes>,
    pub lease: Option<Lease>,
    pub deliveries: Vec<Delivery>,
    pub configs: Vec<(PushConfigId, Bytes)>,
    pub key: Option<KeyRecord>,
}
impl Commit {
    pub fn new(head: TaskFacts, expected: Seq, row: Row) -> Self {}
}
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Stored {
    pub head: TaskFacts,
    pub snapshot: Option<(Seq, Bytes)>,
    pub rows: Vec<Row>,
    pub lease: Option<Lease>,
}
impl Stored {
    pub fn new(
        head: TaskFacts,
        snapshot: Option<(Seq, Bytes)>,
        rows: Vec<Row>,
        lease: Option<Lease>,
    ) -> Self {}
}
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Filter {
    pub context: Option<ContextId>,
    pub state: Option<TaskState>,
    pub among: Vec<Standing>,
    pub updated_from: Option<Timestamp>,
    pub after: Option<(Timestamp, TaskId)>,
    pub limit: usize,
}
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Listing {
    pub tasks: Vec<Stored>,
    pub total: usize,
}
impl Listing {
    pub fn new(tasks: Vec<Stored>, total: usize) -> Self {}
}
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Due {
    pub id: u64,
    pub owner: Owner,
    pub task: TaskId,
    pub delivery: Delivery,
    pub attempts: u32,
}
impl Due {
    pub fn new(
        id: u64,
        owner: Owner,
        task: TaskId,
        delivery: Delivery,
        attempts: u32,
    ) -> Self {}
}
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Settled {
    Delivered,
    Retry(Timestamp),
    Dead,
}
pub trait Store: Send + Sync + 'static {
    async fn commit(&self, owner: &Owner, commit: &Commit) -> Result<()>;
    fn commit_now(
        &self,
        owner: &Owner,
        commit: Commit,
    ) -> ControlFlow<Result<()>, Commit> {}
    async fn task(&self, owner: &Owner, id: &TaskId) -> Result<Option<Stored>>;
    async fn rows(
        &self,
        owner: &Owner,
        id: &TaskId,
        after: Seq,
        limit: usize,
    ) -> Result<Vec<Row>>;
    async fn list(&self, owner: &Owner, filter: Filter) -> Result<Listing>;
    async fn key(
        &self,
        owner: &Owner,
        key: &str,
        now: Timestamp,
    ) -> Result<Option<KeyRecord>>;
    async fn put_key(
        &self,
        owner: &Owner,
        record: KeyRecord,
        now: Timestamp,
    ) -> Result<()>;
    async fn put_config(
        &self,
        owner: &Owner,
        task: &TaskId,
        id: &PushConfigId,
        config: Bytes,
    ) -> Result<bool>;
    async fn configs(
        &self,
        owner: &Owner,
        task: &TaskId,
    ) -> Result<Option<Vec<(PushConfigId, Bytes)>>>;
    async fn delete_config(
        &self,
        owner: &Owner,
        task: &TaskId,
        id: &PushConfigId,
    ) -> Result<bool>;
    async fn taken(&self, id: &TaskId) -> Result<bool>;
    async fn alias(&self, owner: &Owner, name: &TaskId) -> Result<Option<TaskId>>;
    async fn put_alias(
        &self,
        owner: &Owner,
        name: &TaskId,
        task: &TaskId,
        now: Timestamp,
    ) -> Result<()>;
    async fn put_grant(
        &self,
        owner: &Owner,
        task: &TaskId,
        grantee: &Grantee,
        until: Timestamp,
    ) -> Result<bool>;
    async fn bearer_grant(
        &self,
        agent: &str,
        digest: &str,
        now: Timestamp,
    ) -> Result<Option<(Owner, TaskId)>>;
    async fn subject_grant(
        &self,
        caller: &Owner,
        task: &TaskId,
        now: Timestamp,
    ) -> Result<Option<Owner>>;
    async fn renew(&self, holder: &str, until: Timestamp) -> Result<()>;
    async fn lease(&self, owner: &Owner, id: &TaskId) -> Result<Option<Lease>>;
    async fn expired(
        &self,
        agent: &str,
        now: Timestamp,
        limit: usize,
    ) -> Result<Vec<(Owner, TaskId)>>;
    async fn due(
        &self,
        agent: &str,
        now: Timestamp,
        lease: Timestamp,
        limit: usize,
    ) -> Result<Vec<Due>>;
    async fn next_due(&self, agent: &str) -> Result<Option<Timestamp>>;
    async fn settle(&self, id: u64, settled: Settled) -> Result<()>;
    async fn dead(&self, owner: &Owner, limit: usize) -> Result<Vec<Due>>;
    async fn revive(
        &self,
        owner: &Owner,
        task: &TaskId,
        now: Timestamp,
    ) -> Result<usize>;
    async fn purge(
        &self,
        agent: &str,
        before: Timestamp,
        now: Timestamp,
        limit: usize,
    ) -> Result<usize>;
}

// store/sqlite/mod.rs
#[derive(Debug)]
pub struct Sqlite {}
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Durability {
    Power,
    Process,
}
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Options {
    pub durability: Durability,
    pub readers: usize,
    pub max_bytes: Option<u64>,
}
impl Default for Options {}
impl Options {
    pub fn new() -> Self {}
    pub fn durability(mut self, durability: Durability) -> Self {}
    pub fn readers(mut self, readers: usize) -> Self {}
    pub fn max_bytes(mut self, bytes: u64) -> Self {}
}
impl Sqlite {
    pub async fn open(path: impl AsRef<Path>) -> Result<Self> {}
    pub async fn open_with(path: impl AsRef<Path>, options: Options) -> Result<Self> {}
    pub async fn close(&self) {}
    pub async fn owners(&self) -> Result<Vec<Owner>> {}
}
impl Store for Sqlite {}

// store/sqlite/value.rs
impl From<rusqlite::Error> for Error {}

// store/suite/grant.rs
rules!(
    a_bearer_grant_opens_its_task_until_it_runs_out,
    a_subject_grant_is_for_one_task_one_tenant_and_one_agent,
    only_a_task_of_the_scope_can_be_granted, a_new_grant_takes_the_place_of_the_old_one,
    a_digest_is_no_subject, purging_forgets_grants_that_ran_out,
    a_task_that_is_deleted_takes_its_grants_with_it,
);

// store/suite/key.rs
rules!(
    a_key_is_kept_until_it_runs_out, a_key_belongs_to_its_scope,
    a_taken_key_stops_the_commit, of_64_requests_with_one_key_one_makes_the_task,
    purging_forgets_keys_that_ran_out,
);

// store/suite/lease.rs
rules!(
    the_lease_of_a_task_is_that_of_its_last_commit_and_its_owners_to_see,
    leases_run_out_unless_their_holder_renews_them,
    expired_tasks_come_in_order_and_no_more_than_asked_for,
    each_agent_looks_after_its_own,
);

// store/suite/list.rs
rules!(
    the_newest_status_comes_first_and_ties_are_broken_by_id,
    every_nanosecond_counts_in_the_order, pages_join_without_gap_or_repeat,
    pages_go_on_while_tasks_arrive_and_move, filters_agree_with_a_plain_search,
    totals_follow_every_change, totals_are_right_when_they_are_asked_for_among_commits,
);

// store/suite/mod.rs
pub async fn run(make: impl AsyncFn() -> Arc<dyn Store>) {}

// store/suite/name.rs
rules!(
    an_id_is_taken_whoever_has_it, a_name_belongs_to_its_scope,
    the_last_note_of_a_name_counts, purging_forgets_names_of_tasks_that_are_gone
);

// store/suite/push.rs
rules!(
    configs_are_kept_replaced_and_deleted, strangers_cannot_touch_configs,
    a_later_event_waits_for_an_earlier_one,
    a_taken_delivery_comes_back_when_its_lease_ends,
    of_takers_at_once_each_delivery_goes_to_one, a_retry_waits_for_its_time_and_counts,
    a_dead_delivery_blocks_nobody_and_can_be_revived,
    the_next_due_time_is_that_of_a_delivery_that_can_go,
    a_deleted_config_gets_nothing_more, a_purged_task_sends_nothing_more,
    ids_of_deliveries_are_never_used_again,
);

// store/suite/task.rs
rules!(
    a_commit_is_read_as_it_was_written, a_snapshot_hides_the_rows_before_it,
    a_commit_needs_the_newest_sequence, of_commits_at_once_exactly_one_wins,
    commits_to_many_tasks_at_once_all_happen, rows_are_read_after_a_cursor,
    an_id_is_unique_over_all_scopes, strangers_see_nothing,
    any_bytes_and_any_text_are_kept, purging_takes_old_finished_tasks_only,
);

// terse/read.rs
impl<'de> de::Deserializer<'de> for &mut Reader<'de> {
    type Error = Failed;
}
impl<'de> de::SeqAccess<'de> for &mut Reader<'de> {
    type Error = Failed;
}
impl<'de> de::MapAccess<'de> for &mut Reader<'de> {
    type Error = Failed;
}

// terse/write.rs
impl ser::Serializer for &mut Writer<'_> {
    type Ok = ();
    type Error = Failed;
    type SerializeSeq = Self;
    type SerializeTuple = Self;
    type SerializeTupleStruct = Self;
    type SerializeTupleVariant = ser::Impossible<(), Failed>;
    type SerializeMap = Self;
    type SerializeStruct = Self;
    type SerializeStructVariant = ser::Impossible<(), Failed>;
}
impl ser::SerializeSeq for &mut Writer<'_> {
    type Ok = ();
    type Error = Failed;
}
impl ser::SerializeTuple for &mut Writer<'_> {
    type Ok = ();
    type Error = Failed;
}
impl ser::SerializeTupleStruct for &mut Writer<'_> {
    type Ok = ();
    type Error = Failed;
}
impl ser::SerializeMap for &mut Writer<'_> {
    type Ok = ();
    type Error = Failed;
}
impl ser::SerializeStruct for &mut Writer<'_> {
    type Ok = ();
    type Error = Failed;
}

// turn.rs
#[derive(Clone)]
pub struct Turn {}
impl Turn {
    pub fn message(&self) -> &Message {}
    pub fn text(&self) -> &str {}
    pub fn task_id(&self) -> &TaskId {}
    pub fn context_id(&self) -> &ContextId {}
    pub fn history(&self) -> &[Message] {}
    pub fn artifacts(&self) -> &[Artifact] {}
    pub fn caller(&self) -> &Caller {}
    pub fn may(&self, skill: &str) -> bool {}
    pub fn metadata(&self) -> &Object {}
    pub fn accepted_output_modes(&self) -> &[String] {}
    pub fn handoff(&self) -> Option<TransferContext> {}
    pub fn has_extension(&self, uri: &str) -> bool {}
    pub fn attempt(&self) -> u32 {}
    pub async fn canceled(&self) {}
    pub async fn referenced_tasks(&self) -> Vec<Task> {}
    pub fn status(
        &self,
        words: impl Into<Part>,
    ) -> impl Future<Output = Result<(), Failure>> {}
    pub fn working(&self) -> impl Future<Output = Result<(), Failure>> {}
    pub fn progress(&self, done: f64) -> impl Future<Output = Result<(), Failure>> {}
    pub fn artifact(&self, name: impl Into<String>) -> ArtifactWriter {}
    pub fn publish(
        &self,
        artifact: Artifact,
    ) -> impl Future<Output = Result<(), Failure>> {}
    pub async fn next_message(&self) -> Option<Message> {}
    pub fn require_input(
        &self,
        question: impl Into<Part>,
    ) -> impl Future<Output = Result<Message, Failure>> {}
    pub fn require_auth(
        &self,
        what: impl Into<Part>,
    ) -> impl Future<Output = Result<Message, Failure>> {}
}
pub struct ArtifactWriter {}
impl ArtifactWriter {
    pub fn id(&self) -> &ArtifactId {}
    pub async fn push(&mut self, part: impl Into<Part>) -> Result<(), Failure> {}
    pub async fn push_all<P: Into<Part>>(
        &mut self,
        parts: impl IntoIterator<Item = P>,
    ) -> Result<(), Failure> {}
    pub async fn finish(self) -> Result<(), Failure> {}
    pub async fn finish_with<P: Into<Part>>(
        mut self,
        parts: impl IntoIterator<Item = P>,
    ) -> Result<(), Failure> {}
}
