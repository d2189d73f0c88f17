//! What went wrong on this side of the agent, for those who tell such things apart.

use std::{error::Error as StdError, fmt, time::Duration};

use chancery_core::{BoxError, Error};

/// What stood between the client and an answer of the agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum TroubleKind {
    /// No connection came about: the name does not resolve, nobody listens, TLS fails.
    Unreachable,
    /// The connection ended before the answer.
    Cut,
    /// The caller's time was up.
    Timeout,
    /// There is no card at the address.
    CardNotFound,
    /// What is at the address is no card, or a broken one.
    CardInvalid,
    /// The card is not shown without credentials.
    CardRefused,
    /// The card has no good signature, and one is required.
    CardUntrusted,
    /// The card names no interface that this client speaks, or that it was told to speak.
    NoInterface,
    /// The card does not offer what was asked for, such as streams or webhooks; nothing was sent.
    NotOffered,
    /// The card demands credentials that are not there; nothing was sent.
    CredentialsMissing,
    /// The card wants credentials at an origin that they are not for: another one than the card's, or without TLS. Nothing was sent.
    CredentialsWithheld,
    /// The agent refused the caller: 401 or 403, or their like in gRPC.
    Refused,
    /// An HTTP status that says it all: too many requests, not now, or an answer that is not A2A's.
    Status,
    /// The client was told to send nothing.
    DryRun,
    /// The agent that a task was handed over to wants credentials that are not there, or other ones. The error's
    /// metadata names it under `target`.
    AuthRequired,
    /// A task was handed over to where it had been before.
    HandoffLoop,
    /// A task was handed over more often than it may be followed.
    HandoffLimit,
}

/// Why an [`Error`] came about without the agent saying so in the protocol's words.
///
/// It is in the chain of sources of errors that this crate gives. An error without one is the agent's own.
///
/// ```no_run
/// use chancery_client::{Client, Trouble, TroubleKind};
///
/// # async fn run() {
/// let error = Client::connect("https://agent.example.com").await.unwrap_err();
/// match Trouble::of(&error) {
///     Some(trouble) if trouble.kind() == TroubleKind::Unreachable => println!("{error}: {}", trouble.reason()),
///     Some(trouble) => println!("{trouble}"),
///     None => println!("the agent says: {error}"),
/// }
/// # }
/// ```
#[derive(Debug)]
pub struct Trouble {
    kind: TroubleKind,
    status: Option<u16>,
    retry_after: Option<Duration>,
    source: Option<BoxError>,
}

impl Trouble {
    pub(crate) fn new(kind: TroubleKind) -> Self {
        Self { kind, status: None, retry_after: None, source: None }
    }

    pub(crate) fn with_status(mut self, status: u16) -> Self {
        self.status = Some(status);
        self
    }

    pub(crate) fn again_after(mut self, pause: Option<Duration>) -> Self {
        self.retry_after = pause;
        self
    }

    pub(crate) fn because(mut self, source: impl Into<BoxError>) -> Self {
        self.source = Some(source.into());
        self
    }

    /// The trouble behind an error; `None` when the agent itself said it.
    #[must_use]
    pub fn of(error: &Error) -> Option<&Self> {
        let mut cause = error.source();
        while let Some(error) = cause {
            if let Some(trouble) = error.downcast_ref::<Self>() {
                return Some(trouble);
            }
            cause = error.source();
        }
        None
    }

    /// What it was.
    #[must_use]
    pub fn kind(&self) -> TroubleKind {
        self.kind
    }

    /// The HTTP status that came, or the one that means the same as the status that came in gRPC.
    #[must_use]
    pub fn status(&self) -> Option<u16> {
        self.status
    }

    /// After how long the agent wants to be asked again, if it said so.
    #[must_use]
    pub fn retry_after(&self) -> Option<Duration> {
        self.retry_after
    }

    /// The first cause in words, such as `Connection refused (os error 111)`.
    #[must_use]
    pub fn reason(&self) -> String {
        let mut last: &dyn StdError = self;
        while let Some(cause) = last.source() {
            last = cause;
        }
        last.to_string()
    }
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.kind {
            TroubleKind::Unreachable => "no connection came about",
            TroubleKind::Cut => "the connection broke",
            TroubleKind::Timeout => "time was up",
            TroubleKind::CardNotFound => "there is no card",
            TroubleKind::CardInvalid => "the card cannot be used",
            TroubleKind::CardRefused => "the card is not public",
            TroubleKind::CardUntrusted => "the card is not trusted",
            TroubleKind::NoInterface => "the card offers nothing that is spoken here",
            TroubleKind::NotOffered => "the card does not offer it",
            TroubleKind::CredentialsMissing => "credentials are missing",
            TroubleKind::CredentialsWithheld => "credentials are not for that origin",
            TroubleKind::Refused => "the agent refused the caller",
            TroubleKind::Status => "the agent answered with a status",
            TroubleKind::DryRun => "nothing was sent",
            TroubleKind::AuthRequired => "the next agent wants credentials",
            TroubleKind::HandoffLoop => "the task was handed over in a circle",
            TroubleKind::HandoffLimit => "the task was handed over too often",
        })?;
        self.status.map_or(Ok(()), |status| write!(f, " ({status})"))
    }
}

impl StdError for Trouble {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.source.as_deref().map(|source| source as _)
    }
}
