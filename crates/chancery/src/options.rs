//! What a server tells the engines of its agents.

use std::{sync::Arc, time::Duration};

use chancery_core::{Card, Error, ErrorKind, Result, clock::Clock};
use chancery_engine::{OnRestart, Options, delegation::Passing, push::Schedule, store::Store};

use crate::{
    Server,
    mount::{Mount, Target},
};

/// How the agents are run. What an agent says itself, in [`Engine::new`](crate::Engine::new), comes first.
impl Server {
    /// What happens to the turns of a process that died; their tasks fail when not said.
    ///
    /// ```no_run
    /// # use chancery::{Card, Failure, Outcome, Turn};
    /// # async fn dredge(_: Turn) -> Result<Outcome, Failure> { Ok(Outcome::Completed) }
    /// # async fn run(card: Card) -> chancery::Result<()> {
    /// use std::time::Duration;
    /// use chancery::{OnRestart, Server};
    ///
    /// let server = Server::new(card, dredge).on_restart(OnRestart::Rerun).turn_timeout(Duration::from_secs(60));
    /// server.serve("127.0.0.1:7420").await
    /// # }
    /// ```
    pub fn on_restart(self, policy: OnRestart) -> Self {
        self.tell(|options| options.on_restart(policy))
    }

    /// Where tasks are kept, instead of a file in the data folder. An agent that has a store of its own keeps its tasks there.
    pub fn store(self, store: impl Store) -> Self {
        self.shared_store(Arc::new(store))
    }

    /// Where tasks are kept, shared with others.
    pub fn shared_store(self, store: Arc<dyn Store>) -> Self {
        self.tell(|options| options.shared_store(store))
    }

    /// When failed notifications are tried again.
    pub fn schedule(self, schedule: Schedule) -> Self {
        self.tell(|options| options.schedule(schedule))
    }

    /// How long a turn may take; without a limit when not said.
    pub fn turn_timeout(self, limit: Duration) -> Self {
        self.tell(|options| options.turn_timeout(limit))
    }

    /// How long an agent may be silent before its turn is shown as a task; half a second when not said. `None` shows none before the agent
    /// says something, so that an agent of [direct messages](crate::Outcome::message) makes no task at all.
    pub fn task_after(self, patience: impl Into<Option<Duration>>) -> Self {
        self.tell(|options| options.task_after(patience))
    }

    /// How long finished tasks are kept; 30 days when not said, `None` for ever.
    ///
    /// What webhooks are still owed of a task goes with it, so less than four days cuts their schedule short.
    pub fn retention(self, age: Option<Duration>) -> Self {
        self.tell(|options| options.retention(age))
    }

    /// How long this process counts as alive without a word from it, for others with the same store; 15 s when not said. It speaks three
    /// times as often.
    pub fn lease(self, lease: Duration) -> Self {
        self.tell(|options| options.lease(lease))
    }

    /// Whether callers who name their tasks themselves, as those of v0.1 do, may send a message to a finished task: a
    /// new task then follows it under the same name. They may when not said; everybody else may not.
    pub fn reopen(self, reopen: bool) -> Self {
        self.tell(|options| options.reopen(reopen))
    }

    /// Lets the agents pass work on to other agents, and take work from them. Their cards say so.
    pub fn passing(self, passing: Passing) -> Self {
        self.tell(|options| options.passing(passing))
    }

    /// The card for authenticated callers, of a server with one agent.
    pub fn extended_card(mut self, card: Card) -> Self {
        self.extended = Some(card);
        self
    }

    /// Where the time comes from, for tasks and for the signatures of webhooks. Connections and callers are timed by the machine.
    pub fn clock(mut self, clock: impl Clock) -> Self {
        let clock: Arc<dyn Clock> = Arc::new(clock);
        self.clock = Some(clock.clone());
        self.tell(|options| options.clock(clock))
    }

    /// Leaves it to the caller when notifications are sent and the store is looked after: only in
    /// [`Engine::deliver_due`](crate::Engine::deliver_due) and [`Engine::look_after`](crate::Engine::look_after) of
    /// [`Running::engines`](crate::Running::engines).
    pub fn by_hand(self) -> Self {
        self.tell(Options::by_hand)
    }

    fn tell(mut self, change: impl FnOnce(Options) -> Options) -> Self {
        self.options = change(self.options);
        self
    }

    /// Whether a store has to be made: agents need one, or may come later, and none was said.
    pub(crate) fn needs_store(&self) -> bool {
        !self.options.has_store() && (self.agents.is_empty() || self.agents.iter().any(Mount::needs_store))
    }

    /// Gives the one agent its extended card. What was said for agents and means nothing is an error.
    pub(crate) fn settle(&mut self) -> Result<()> {
        let mut said = self.options.said();
        said.extend(self.extended.as_ref().map(|_| "extended_card"));
        let mounted = !self.agents.is_empty();
        let mut agents: Vec<_> = self.agents.iter_mut().filter(|mount| matches!(mount.target, Target::Agent(..))).collect();
        match (&mut agents[..], self.extended.take()) {
            ([one], extended) => one.extended = extended,
            ([], _) if mounted && !said.is_empty() => {
                let words = "it runs no agent, only operations that are run elsewhere; say it where their engine is built";
                return Err(refused(&said.join(", "), words));
            }
            (_, Some(_)) => {
                return Err(refused("extended_card", "it has not one agent; give each its own, by Engine::new(…).extended_card(…)"));
            }
            (_, None) => {}
        }
        Ok(())
    }
}

/// What cannot be: what was said, why not, and what to say instead.
pub(crate) fn refused(said: &str, words: &str) -> Error {
    Error::new(ErrorKind::Internal, format!("{said} cannot be set for this server: {words}"))
}
