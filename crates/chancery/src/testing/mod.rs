//! Tests of agents without a port: a client wired to an engine in memory, a clock that is moved by hand, and assertions on what happens.
//!
//! ```
//! use std::time::Duration;
//! use chancery::{Engine, Failure, Outcome, Turn, testing::Client};
//! # use chancery::Card;
//!
//! async fn writer(turn: Turn) -> Result<Outcome, Failure> {
//!     if turn.text().is_empty() {
//!         return Ok(Outcome::ask("What about?"));
//!     }
//!     turn.status("Writing").await?;
//!     let mut poem = turn.artifact("poem.txt");
//!     poem.push("The tide ").await?;
//!     poem.push("comes and goes.").await?;
//!     poem.finish().await?;
//!     Ok(Outcome::Completed)
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> chancery::Result<()> {
//! let agent = Client::new(writer);
//!
//! let mut events = agent.stream("the tide").await?;
//! events.expect_working("Writing").await;
//! events.expect_artifact("The tide comes and goes.").await;
//! events.expect_completed().await;
//!
//! let asked = agent.send("").await?;
//! asked.expect_input_required("What about?");
//! agent.send(asked.follow_up("the moon")).await?.expect_completed();
//! # Ok(()) }
//! ```
//!
//! The client calls the engine as the bindings of a server do, through [`Operations`], so that an agent is tried with everything around it:
//! turns, states, the log, cancellation, time limits. [The guide](crate::guide::testing) shows more.

mod events;
mod reply;

use std::time::Duration;

use chancery_core::{
    Caller, CancelTask, Card, Error, ErrorKind, GetTask, LazyTask, Message, Operations, Result, SendMessage, Subscribe, Task, TaskId,
};
use chancery_engine::{Agent, Builder, Engine};

pub use chancery_core::clock::ManualClock;
pub use events::Events;
pub use reply::Reply;

/// The first of January 2026, when every test begins.
const START: i64 = 1_767_225_600_000;
/// How long a test waits for something that does not happen, by the clock on the wall.
const PATIENCE: Duration = Duration::from_secs(10);

/// Calls an agent that an engine in memory runs, as the bindings of a server would.
#[derive(Clone)]
pub struct Client {
    engine: Engine,
    clock: ManualClock,
    caller: Caller,
}

impl Client {
    /// A client of an agent that takes and gives everything.
    pub fn new(agent: impl Agent) -> Self {
        let card = Card::new("Agent", "An agent under test").takes(["*/*"]).gives(["*/*"]);
        Self::of(Engine::new(card, agent))
    }

    /// A client of an agent with a card, options and a store of its own. Its clock is [that of the client](Self::clock).
    pub fn of(agent: Builder) -> Self {
        let clock = ManualClock::new(START);
        // As a server does, which streams whatever an agent says.
        let agent = agent.with_cards(|card| _ = card.capabilities.streaming.get_or_insert(true));
        Self { engine: agent.clock(clock.clone()).by_hand().start(), clock, caller: Caller::anonymous() }
    }

    /// The same agent, called by somebody else.
    #[must_use]
    pub fn called_by(&self, caller: Caller) -> Self {
        Self { caller, ..self.clone() }
    }

    /// The engine, which implements [`Operations`]: all that the short methods here leave out.
    #[must_use]
    pub fn engine(&self) -> &Engine {
        &self.engine
    }

    /// The clock of the engine: it stands still, and says when something happened to a task.
    #[must_use]
    pub fn clock(&self) -> &ManualClock {
        &self.clock
    }

    /// Moves the clock forward, and does what the engine has to do then: a turn that takes too long ends, and tasks that are too old are
    /// forgotten.
    ///
    /// # Panics
    /// When the store cannot be read or written.
    pub async fn advance(&self, by: Duration) {
        self.clock.advance(by);
        if let Err(error) = self.engine.look_after().await {
            panic!("the store cannot be looked after: {error:?}");
        }
    }

    /// Sends a message, and waits until the agent has done what it says or wants something.
    ///
    /// # Errors
    /// What the caller of the agent would get; [`ErrorKind::Timeout`] when there is no answer within ten seconds.
    pub async fn send(&self, message: impl Into<Message>) -> Result<Reply> {
        in_time(self.engine.send_message(&self.caller, SendMessage::new(message))).await.map(Reply::new)
    }

    /// Sends a message, and watches what happens.
    ///
    /// # Errors
    /// As [`send`](Self::send).
    pub async fn stream(&self, message: impl Into<Message>) -> Result<Events> {
        let stream = in_time(self.engine.stream_message(&self.caller, SendMessage::new(message))).await?;
        Ok(Events::new(stream, &self.engine))
    }

    /// Watches a task that is under way: first the task as it stands, then what happens to it.
    ///
    /// # Errors
    /// As [`send`](Self::send).
    pub async fn watch(&self, id: impl Into<TaskId>) -> Result<Events> {
        let stream = in_time(self.engine.subscribe(&self.caller, Subscribe::new(id))).await?;
        Ok(Events::new(stream, &self.engine))
    }

    /// Reads a task.
    ///
    /// # Errors
    /// As [`send`](Self::send).
    pub async fn task(&self, id: impl Into<TaskId>) -> Result<Task> {
        in_time(self.engine.get_task(&self.caller, GetTask::new(id))).await.and_then(LazyTask::into_task)
    }

    /// Cancels a task.
    ///
    /// # Errors
    /// As [`send`](Self::send).
    pub async fn cancel(&self, id: impl Into<TaskId>) -> Result<Task> {
        in_time(self.engine.cancel_task(&self.caller, CancelTask::new(id))).await
    }
}

/// What an operation gives, unless it takes too long.
async fn in_time<T>(operation: impl Future<Output = Result<T>>) -> Result<T> {
    let late = || Error::new(ErrorKind::Timeout, format!("nothing came within {PATIENCE:?}; {STANDING_STILL}"));
    tokio::time::timeout(PATIENCE, operation).await.unwrap_or_else(|_| Err(late()))
}

/// What whoever waits in vain may have forgotten.
const STANDING_STILL: &str = "the clock of the engine stands still until Client::advance moves it";
