//! The engine: agents, a store, and the operations over both.

use std::{
    sync::{Arc, Weak},
    time::Duration,
};

use arc_swap::{ArcSwap, Guard as Borrowed};
use chancery_core::{BoxError, Caller, Card, Error, ErrorKind, Operations, Peers, Result, TaskId, Timestamp, sync::Mutex};
use tokio::sync::Notify;
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use uuid::Uuid;

use crate::{
    agent::{Agent, AnyAgent},
    clock::{self, Clock, SystemClock, Timer},
    delegation::{Passing, Tokens},
    driver::{self, Begin, Command},
    keys::Keys,
    live::Live,
    live_tasks::LiveTasks,
    names::NamedTasks,
    options::{OnRestart, Options, Settings},
    push::{self, Outbox, Post, Schedule, Sender},
    store::{self, Due, Owner, Store, memory::Memory},
};

/// How long a stopping engine waits for commits that are under way.
const STOP_TIME: Duration = Duration::from_secs(5);

/// Runs an agent and keeps its tasks.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> chancery_core::Result<()> {
/// use chancery_core::{Caller, Card, Operations, SendMessage};
/// use chancery_engine::{Engine, Failure, Outcome, Turn};
///
/// async fn echo(turn: Turn) -> Result<Outcome, Failure> {
///     Ok(Outcome::reply(turn.text()))
/// }
///
/// let card = Card::new("Echo", "Repeats what it hears").skill("echo", "Says your words back");
/// let engine = Engine::new(card, echo).start();
/// let reply = engine.send_message(&Caller::anonymous(), SendMessage::new("hello")).await?;
/// let words = reply.task().and_then(|task| task.status.message.as_ref()).map(|message| message.text());
/// assert_eq!(words.as_deref(), Some("hello"));
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Engine {
    pub(crate) operations: NamedTasks,
    /// Held by users only; when the last of them is gone, the engine stops.
    _guard: Option<Arc<Guard>>,
}

/// Stops an engine that nobody holds any more.
struct Guard(CancellationToken);

impl Drop for Guard {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

/// What is left to decide before an engine starts.
pub struct Builder {
    card: Card,
    extended: Option<Card>,
    agent: Arc<dyn AnyAgent>,
    name: Option<String>,
    options: Options,
}

/// What may change while the engine runs.
pub(crate) struct Setup {
    pub(crate) card: Arc<Card>,
    pub(crate) extended: Option<Card>,
    pub(crate) agent: Arc<dyn AnyAgent>,
    pub(crate) options: Settings,
}

pub(crate) struct Inner {
    setup: ArcSwap<Setup>,
    pub(crate) name: Arc<str>,
    /// The owner of callers without a name and a tenant.
    nobody: Owner,
    pub(crate) store: Arc<dyn Store>,
    pub(crate) clock: Arc<dyn Clock>,
    /// This process, in leases.
    pub(crate) holder: Arc<str>,
    /// Everything the engine spawned.
    pub(crate) drivers: TaskTracker,
    /// Set when the engine stops.
    pub(crate) stopping: CancellationToken,
    /// Rung when a delivery was written.
    pub(crate) outbox: Notify,
    post: Option<Arc<Post>>,
    pub(crate) keys: Keys,
    live_tasks: LiveTasks,
    /// Tasks of ours whose driver had to give up.
    orphans: Mutex<Vec<(Owner, TaskId)>>,
    this: Weak<Inner>,
}

impl Engine {
    /// An engine for an agent, to be started. Tasks are kept in memory unless a store is given.
    #[allow(clippy::new_ret_no_self, reason = "an engine runs from the moment it exists")]
    pub fn new(card: Card, agent: impl Agent) -> Builder {
        Builder { card, extended: None, agent: Arc::new(agent), name: None, options: Options::new() }
    }

    pub(crate) fn inner(&self) -> &Arc<Inner> {
        self.operations.inner()
    }

    /// The agent's card.
    #[must_use]
    pub fn card(&self) -> Arc<Card> {
        self.inner().setup().card.clone()
    }

    /// The agent's key on its server.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.inner().name
    }

    /// Goes on with another agent, its cards and its policies. Turns that are running end as they began.
    /// The store, the name, the clock and the sender stay what they were.
    pub fn change(&self, to: Builder) {
        let setup = Setup { card: Arc::new(to.card), extended: to.extended, agent: to.agent, options: to.options.settle() };
        self.inner().setup.store(Arc::new(setup));
    }

    /// Stops: takes nothing new, gives running turns this long to end, and hands back what is left, so
    /// that another process takes it over at once.
    pub async fn shutdown(&self, grace: Duration) {
        self.inner().drivers.close();
        let ended = tokio::time::timeout(grace, self.idle()).await.is_ok();
        self.inner().stopping.cancel();
        // A commit that is under way renews its lease, so leases are ended when nobody can commit any more.
        let gone = tokio::time::timeout(STOP_TIME, self.inner().drivers.wait()).await.is_ok();
        tracing::info!(ended, gone, "the engine stopped");
        let past = clock::before(self.inner().now(), Duration::from_millis(1));
        if let Err(error) = self.inner().store.renew(&self.inner().holder, past).await {
            tracing::warn!(%error, "the leases could not be handed back");
        }
    }

    /// Sends the notifications that are due now, of each task and webhook at most one, and says how many
    /// were tried. The engine does this by itself unless it was told not to.
    ///
    /// # Errors
    /// When the store cannot be read or written.
    pub async fn deliver_due(&self) -> Result<usize> {
        match self.inner().deliverer() {
            Some(outbox) => outbox.round().await.map_err(unavailable),
            None => Ok(0),
        }
    }

    /// Looks after the store once: says that this process is alive, takes over the tasks of those that
    /// died, and forgets what is old. The engine does this by itself unless it was told not to.
    ///
    /// # Errors
    /// When the store cannot be read or written.
    pub async fn look_after(&self) -> Result<()> {
        crate::recover::round(self.inner()).await.map_err(unavailable)
    }

    /// The caller's notifications that nobody tries to deliver any more, oldest first.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub async fn dead_letters(&self, caller: &Caller, limit: usize) -> Result<Vec<Due>> {
        self.inner().store.dead(&self.inner().owner(caller), limit).await.map_err(unavailable)
    }

    /// Tries the dead notifications of a task again, from the beginning of the schedule, and says how
    /// many there were.
    ///
    /// # Errors
    /// [`ErrorKind::TaskNotFound`] when the caller has no such task.
    pub async fn redeliver(&self, caller: &Caller, task: &TaskId) -> Result<usize> {
        let owner = self.inner().owner(caller);
        let known = self.inner().store.configs(&owner, task).await.map_err(unavailable)?;
        known.ok_or_else(|| Error::task_not_found(task.as_str()))?;
        let revived = self.inner().store.revive(&owner, task, self.inner().now()).await.map_err(unavailable)?;
        self.inner().outbox.notify_one();
        Ok(revived)
    }

    /// Waits until no task is live.
    async fn idle(&self) {
        loop {
            let all = self.inner().live_tasks.all();
            all.iter().for_each(|live| live.set_going());
            if !all.iter().any(|live| live.has_driver()) {
                return;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
}

impl Builder {
    /// The agent's card as it stands.
    #[must_use]
    pub fn card(&self) -> &Card {
        &self.card
    }

    /// The agent's key on its server, if one was said.
    #[must_use]
    pub fn key(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// What was said about how tasks are run.
    pub fn options(&self) -> &Options {
        &self.options
    }

    /// Changes both cards of the agent: whoever serves it knows where it can be reached.
    #[must_use]
    pub fn with_cards(mut self, mut change: impl FnMut(&mut Card)) -> Self {
        let passing = self.options.passing.clone();
        for card in std::iter::once(&mut self.card).chain(&mut self.extended) {
            change(card);
            passing.iter().for_each(|passing| passing.declare(card));
        }
        self
    }

    /// Where tasks are kept.
    #[must_use]
    pub fn store(self, store: impl Store) -> Self {
        self.shared_store(Arc::new(store))
    }

    /// Where tasks are kept, shared with other engines.
    #[must_use]
    pub fn shared_store(self, store: Arc<dyn Store>) -> Self {
        self.set(|options| options.shared_store(store))
    }

    /// The agent's key on its server, when there are several.
    #[must_use]
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// The card for authenticated callers. Both cards say that there is one.
    #[must_use]
    pub fn extended_card(mut self, card: Card) -> Self {
        self.extended = Some(card);
        self.with_cards(|card| card.capabilities.extended_agent_card = Some(true))
    }

    /// Whether there is a card for authenticated callers.
    #[must_use]
    pub fn has_extended_card(&self) -> bool {
        self.extended.is_some()
    }

    /// Who sends notifications.
    #[must_use]
    pub fn sender(self, sender: impl Sender) -> Self {
        self.set(|options| options.sender(sender))
    }

    /// When to try failed notifications again.
    #[must_use]
    pub fn schedule(self, schedule: Schedule) -> Self {
        self.set(|options| options.schedule(schedule))
    }

    /// What happens to the turns of a process that died.
    #[must_use]
    pub fn on_restart(self, policy: OnRestart) -> Self {
        self.set(|options| options.on_restart(policy))
    }

    /// How long a process counts as alive without a word from it. It speaks three times as often.
    #[must_use]
    pub fn lease(self, lease: Duration) -> Self {
        self.set(|options| options.lease(lease))
    }

    /// How long an agent may be silent before its turn is shown as a task; half a second when not said. `None` shows none before the agent
    /// says something, so that an agent of [direct messages](crate::Outcome::message) makes no task at all.
    #[must_use]
    pub fn task_after(self, patience: impl Into<Option<Duration>>) -> Self {
        self.set(|options| options.task_after(patience))
    }

    /// How long a turn may take; without a limit when not said.
    #[must_use]
    pub fn turn_timeout(self, limit: Duration) -> Self {
        self.set(|options| options.turn_timeout(limit))
    }

    /// How long finished tasks are kept; 30 days when not said, `None` for ever.
    ///
    /// What webhooks are still owed of a task goes with it, so less than four days cuts their schedule short.
    #[must_use]
    pub fn retention(self, age: Option<Duration>) -> Self {
        self.set(|options| options.retention(age))
    }

    /// Whether callers who name their tasks themselves, as those of v0.1 do, may send a message to a finished task: a
    /// new task then follows it under the same name. They may when not said; everybody else may not.
    #[must_use]
    pub fn reopen(self, reopen: bool) -> Self {
        self.set(|options| options.reopen(reopen))
    }

    /// Lets the agent pass work on to other agents, and take work from them. The card says so.
    #[must_use]
    pub fn passing(self, passing: Passing) -> Self {
        self.set(|options| options.passing(passing)).with_cards(|_| {})
    }

    /// What holds for everything that was not said here: the options of a server, which its agents share.
    #[must_use]
    pub fn defaults(self, options: &Options) -> Self {
        self.set(|own| own.or(options)).with_cards(|_| {})
    }

    fn set(mut self, change: impl FnOnce(Options) -> Options) -> Self {
        self.options = change(self.options);
        self
    }

    /// Lets the agent pass work on to agents that are found so, as long as nothing else was said about [that](Self::passing). The card says
    /// nothing of it. `base_url` is where the agent itself can be reached.
    #[must_use]
    pub fn reach(mut self, peers: Arc<dyn Peers>, base_url: impl Into<String>) -> Self {
        self.options.reach = Some(Arc::new(Passing::new(peers).at(base_url)));
        self
    }

    /// Where the agent can be reached, as long as nothing else was said when it was told how to pass work on.
    #[must_use]
    pub fn base_url(self, url: impl Into<String>) -> Self {
        self.set(|options| options.base_url(url))
    }

    /// Who makes and recognizes grants, as long as nothing else was said when the agent was told how to pass work on.
    #[must_use]
    pub fn tokens(self, tokens: impl Tokens + 'static) -> Self {
        self.set(|options| options.tokens(tokens))
    }

    /// Where the time comes from.
    #[must_use]
    pub fn clock(self, clock: impl Clock) -> Self {
        self.set(|options| options.clock(clock))
    }

    /// Leaves it to the caller when notifications are sent and the store is looked after: nothing of
    /// that happens by itself, only in [`Engine::deliver_due`] and [`Engine::look_after`].
    #[must_use]
    pub fn by_hand(self) -> Self {
        self.set(Options::by_hand)
    }

    /// Starts the engine on the current runtime: from here on it takes calls, looks after tasks whose
    /// process died, and sends notifications.
    #[must_use]
    pub fn start(self) -> Engine {
        let Self { card, extended, agent, name, mut options } = self;
        let (by_hand, name) = (options.by_hand, name.unwrap_or_else(|| "agent".to_owned()));
        let clock = options.clock.take().unwrap_or_else(|| Arc::new(SystemClock));
        let store = options.store.take().unwrap_or_else(|| Arc::new(Memory::new()));
        let schedule = options.schedule.take().unwrap_or_default();
        let post = options.sender.take().map(|sender| Post::new(sender, schedule));
        let inner = Arc::new_cyclic(|this| Inner {
            setup: ArcSwap::from_pointee(Setup { card: Arc::new(card), extended, agent, options: options.settle() }),
            nobody: Owner::new(&name, ""),
            name: name.into(),
            store,
            clock,
            holder: Uuid::now_v7().to_string().into(),
            drivers: TaskTracker::new(),
            stopping: CancellationToken::new(),
            outbox: Notify::new(),
            post,
            keys: Keys::default(),
            live_tasks: LiveTasks::default(),
            orphans: Mutex::new(Vec::new()),
            this: this.clone(),
        });
        if !by_hand {
            inner.drivers.spawn(crate::recover::watch(inner.clone()));
            if let Some(outbox) = inner.deliverer() {
                inner.drivers.spawn(outbox.work());
            }
        }
        let guard = Some(Arc::new(Guard(inner.stopping.clone())));
        Engine { operations: NamedTasks::new(inner), _guard: guard }
    }
}

impl Inner {
    /// The agent, its cards and its policies as they are now. A look costs nothing that other threads would feel; it is
    /// not kept for long.
    pub(crate) fn setup(&self) -> Borrowed<Arc<Setup>> {
        self.setup.load()
    }

    pub(crate) fn operations(&self) -> Arc<dyn Operations> {
        match self.this.upgrade() {
            Some(inner) => Arc::new(NamedTasks::new(inner)),
            // Only reached while the engine is being dropped, when nobody calls any more.
            None => Arc::new(crate::service::Closed),
        }
    }

    fn deliverer(&self) -> Option<Outbox> {
        Some(Outbox::new(self.this.upgrade()?, self.post.clone()?))
    }

    /// Notes a task that has a lease of ours and no driver any more.
    pub(crate) fn orphan(&self, owner: Owner, id: TaskId) {
        self.orphans.lock().push((owner, id));
    }

    pub(crate) fn next_orphan(&self) -> Option<(Owner, TaskId)> {
        self.orphans.lock().pop()
    }

    /// Now, as finely as it is written: what is seen is then what is stored.
    pub(crate) fn now(&self) -> Timestamp {
        self.clock.now().to_millis()
    }

    /// A timer: of the runtime, or of a clock that does not go with real time.
    pub(crate) fn timer(&self, after: Duration) -> Timer {
        self.clock.timer(after).unwrap_or_else(|| Box::pin(tokio::time::sleep(after)))
    }

    /// Whose data a caller works with.
    pub(crate) fn owner(&self, caller: &Caller) -> Owner {
        match (caller.identity().tenant.as_str(), &caller.identity().subject) {
            ("", None) => self.nobody.clone(),
            (tenant, subject) => Owner::of(tenant, &self.name, subject.as_deref().unwrap_or_default()),
        }
    }

    /// The caller of a task that is taken up again.
    pub(crate) fn caller_of(&self, owner: &Owner) -> Caller {
        let caller = if owner.subject().is_empty() { Caller::anonymous() } else { Caller::new(owner.subject()) };
        caller.tenant(owner.tenant())
    }

    /// A task that somebody works on or watches here.
    pub(crate) fn live(&self, owner: &Owner, id: &TaskId) -> Option<Arc<Live>> {
        self.live_tasks.get(id).filter(|live| live.owner == *owner).inspect(|live| live.set_going())
    }

    pub(crate) fn forget(&self, id: &TaskId) {
        self.live_tasks.forget(id);
    }

    /// Removes a task that this process lost, so that the next look comes from the store.
    pub(crate) fn drop_live(&self, live: &Arc<Live>) {
        self.live_tasks.remove(live);
    }

    /// Whether a task can still be taken up here.
    pub(crate) fn demand_open(&self) -> Result<()> {
        if self.drivers.is_closed() { Err(closed()) } else { Ok(()) }
    }

    /// Makes a task one of those that are live, unless it is already.
    pub(crate) fn keep(&self, live: Arc<Live>) -> Arc<Live> {
        let own = Arc::as_ptr(&live);
        let live = self.live_tasks.keep(live);
        if !std::ptr::eq(Arc::as_ptr(&live), own) {
            live.set_going();
        }
        live
    }

    /// A task, live already or from the store.
    pub(crate) async fn find(&self, owner: &Owner, id: &TaskId) -> Result<Arc<Live>> {
        if let Some(live) = self.live(owner, id) {
            return Ok(live);
        }
        let stored = self.store.task(owner, id).await.map_err(unavailable)?;
        let stored = stored.ok_or_else(|| Error::task_not_found(id.as_str()))?;
        let this = self.this.upgrade().ok_or_else(closed)?;
        let live = Live::load(&this, owner.clone(), &stored).map_err(unavailable)?;
        let live = self.keep(live);
        // A driver may have come and gone between the look and the keeping. From here on every driver of
        // this process uses what is kept, so that this look is the last that is needed.
        let missed = self.store.rows(owner, id, live.seq(), usize::MAX).await.map_err(unavailable)?;
        live.catch_up(&missed).map_err(unavailable)?;
        Ok(live)
    }

    /// Hands a command to the driver of a task, which is started if there is none.
    pub(crate) fn command(&self, live: &Arc<Live>, mut command: Command) -> Result<()> {
        // A driver may end, or another be started, between the two looks.
        while let Some(refused) = live.command(command) {
            command = refused;
            if live.claim() {
                let this = self.this.upgrade().ok_or_else(closed)?;
                // It is there when the driver looks for it.
                drop(live.command(command));
                tokio::spawn(driver::work(&this, live.clone(), Begin::Stored));
                break;
            }
        }
        Ok(())
    }

    /// Starts the driver of a task, unless another start was faster.
    pub(crate) fn start(self: &Arc<Self>, live: Arc<Live>, begin: Begin) {
        if live.claim() {
            tokio::spawn(driver::work(self, live, begin));
        }
    }

    pub(crate) fn lease_until(&self) -> Timestamp {
        clock::after(self.now(), self.setup().options.lease)
    }

    pub(crate) async fn config_ids(&self, owner: &Owner, id: &TaskId) -> store::Result<Vec<chancery_core::PushConfigId>> {
        Ok(self.store.configs(owner, id).await?.unwrap_or_default().into_iter().map(|(id, _)| id).collect())
    }
}

/// A trouble of the store, as the peer hears of it.
pub(crate) fn unavailable(error: store::Error) -> Error {
    match error {
        store::Error::Unavailable(_) => Error::from(ErrorKind::Unavailable).caused_by(BoxError::from(error)),
        error => Error::internal(error),
    }
}

pub(crate) fn closed() -> Error {
    Error::new(ErrorKind::Unavailable, "The server is stopping")
}

/// A config as the caller sees it again.
pub(crate) fn shown(bytes: &[u8]) -> Result<chancery_core::PushConfig> {
    push::read(bytes).map_err(unavailable)
}
