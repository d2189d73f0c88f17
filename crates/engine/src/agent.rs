//! What users write: an agent is an async function from a [`Turn`] to an [`Outcome`].

use std::{fmt, future::Future, pin::Pin, sync::Arc};

use chancery_core::{Artifact, BoxError, Message, Part};

use crate::{delegation::Handoff, turn::Turn};

/// Answers messages.
///
/// A plain async function is an agent, and so is a closure:
///
/// ```
/// use chancery_engine::{Failure, Outcome, Turn};
///
/// async fn echo(turn: Turn) -> Result<Outcome, Failure> {
///     Ok(Outcome::reply(turn.text()))
/// }
/// # fn agent(_: impl chancery_engine::Agent) {}
/// # agent(echo);
/// ```
///
/// A type with state implements the one method:
///
/// ```
/// use chancery_engine::{Agent, Failure, Outcome, Turn};
///
/// struct Writer;
///
/// impl Writer {
///     fn lines(&self, about: &str) -> Vec<String> {
///         vec![format!("The {about} turns,"), "the boats stay.".to_owned()]
///     }
/// }
///
/// impl Agent for Writer {
///     async fn run(&self, turn: Turn) -> Result<Outcome, Failure> {
///         if turn.text().is_empty() {
///             return Ok(Outcome::ask("What shall I write about?"));       // INPUT_REQUIRED
///         }
///         turn.status("Writing").await?;                                  // WORKING, streamed and stored
///         let mut poem = turn.artifact("poem.txt");
///         for line in self.lines(turn.text()) {
///             poem.push(line).await?;                                     // artifact chunk
///         }
///         poem.finish().await?;
///         Ok(Outcome::Completed)
///     }
/// }
/// ```
///
/// An agent never writes a final state: what it returns is how the turn ended. When the task is
/// canceled, the future is dropped.
pub trait Agent: Send + Sync + 'static {
    /// Takes one turn.
    fn run(&self, turn: Turn) -> impl Future<Output = Result<Outcome, Failure>> + Send;
}

impl<F, R> Agent for F
where
    F: Fn(Turn) -> R + Send + Sync + 'static,
    R: Future<Output = Result<Outcome, Failure>> + Send,
{
    fn run(&self, turn: Turn) -> impl Future<Output = Result<Outcome, Failure>> + Send {
        self(turn)
    }
}

/// A turn that is under way.
pub(crate) type Running = Pin<Box<dyn Future<Output = Result<Ending, Failure>> + Send>>;

/// How a turn ended, for its driver.
#[derive(Debug)]
#[allow(clippy::large_enum_variant, reason = "nearly all are the large one")]
pub(crate) enum Ending {
    /// As the agent says.
    Outcome(Outcome),
    /// With what was said already.
    Said,
}

/// An agent of any type.
pub(crate) trait AnyAgent: Send + Sync {
    fn start(self: Arc<Self>, turn: Turn) -> Running;
}

impl<A: Agent> AnyAgent for A {
    fn start(self: Arc<Self>, turn: Turn) -> Running {
        Box::pin(async move { self.run(turn).await.map(Ending::Outcome) })
    }
}

/// How a turn ended.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Outcome {
    /// The task is done, and these are the words that answer it.
    Reply(Message),
    /// A direct message: an answer without a task.
    Message(Message),
    /// The task is done; its artifacts are the result.
    Completed,
    /// The task is done, and this is the result.
    CompletedWith(Box<Artifact>),
    /// The agent needs an answer to go on.
    InputRequired(Message),
    /// The agent needs an authorization to go on.
    AuthRequired(Message),
    /// The agent declines.
    Rejected(Message),
    /// The agent could not do it, and says why.
    Failed(Message),
    /// The task goes on with another agent.
    Transferred(Box<Handoff>),
}

impl Outcome {
    /// An answer in words, or any other single part: the task is completed by it, however long it took.
    pub fn reply(part: impl Into<Part>) -> Self {
        Self::Reply(Message::agent(part))
    }

    /// A direct message: an answer without a task, for what is said at once and need not be found again.
    ///
    /// Whoever waits for the answer gets a message, however long it took, and no task. Only where a task was shown already does the message
    /// complete it: in a stream that began with it (after [`task_after`](crate::Builder::task_after), or because the agent said something), for a
    /// caller that asked for a task at once or for its notifications, for the next message to a task that waits, and when the turn has
    /// published an artifact, which a message alone would lose.
    pub fn message(part: impl Into<Part>) -> Self {
        Self::Message(Message::agent(part))
    }

    /// The task is done, and this is its result.
    #[must_use]
    pub fn complete_with(artifact: Artifact) -> Self {
        Self::CompletedWith(Box::new(artifact))
    }

    /// A question.
    pub fn ask(question: impl Into<Part>) -> Self {
        Self::InputRequired(Message::agent(question))
    }

    /// A demand for authorization.
    pub fn require_auth(what: impl Into<Part>) -> Self {
        Self::AuthRequired(Message::agent(what))
    }

    /// A refusal.
    pub fn reject(why: impl Into<Part>) -> Self {
        Self::Rejected(Message::agent(why))
    }

    /// A handoff: the task goes on with another agent, given by its base URL or with more about it.
    ///
    /// The other agent has a task before anybody hears of it. Whoever does not know of handoffs sees one uninterrupted task here.
    pub fn transfer(to: impl Into<Handoff>) -> Self {
        Self::Transferred(Box::new(to.into()))
    }

    /// An admission.
    pub fn failed(why: impl Into<Part>) -> Self {
        Self::Failed(Message::agent(why))
    }
}

/// Why a turn broke off. Takes every error by `?`; the caller is told only what [`tell`](Self::tell)
/// says.
///
/// ```
/// use chancery_engine::{Failure, Outcome, Turn};
///
/// async fn square(turn: Turn) -> Result<Outcome, Failure> {
///     let n: u64 = turn.text().trim().parse().map_err(|error| Failure::from(error).tell("That is no number."))?;
///     Ok(Outcome::reply((n * n).to_string()))
/// }
/// ```
pub struct Failure {
    told: Option<String>,
    source: Option<BoxError>,
}

impl Failure {
    /// A failure with words for the caller and no cause.
    pub fn new(words: impl Into<String>) -> Self {
        Self { told: Some(words.into()), source: None }
    }

    /// Sets the words for the caller.
    #[must_use]
    pub fn tell(mut self, words: impl Into<String>) -> Self {
        self.told = Some(words.into());
        self
    }

    /// The words for the caller.
    #[must_use]
    pub fn told(&self) -> &str {
        self.told.as_deref().unwrap_or("The agent failed.")
    }

    /// The cause, for our logs only.
    #[must_use]
    pub fn cause(&self) -> Option<&BoxError> {
        self.source.as_ref()
    }
}

impl<E: Into<BoxError>> From<E> for Failure {
    fn from(error: E) -> Self {
        Self { told: None, source: Some(error.into()) }
    }
}

impl fmt::Debug for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Failure").field("told", &self.told).field("source", &self.source).finish()
    }
}
