//! What went wrong with one attempt, and how far it had come: that decides whether it may be repeated.

use std::{error::Error as StdError, time::Duration};

use chancery_core::{BoxError, Error, ErrorKind};

use crate::trouble::{Trouble, TroubleKind};

/// How far an attempt came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reached {
    /// No connection could be made: the peer has heard nothing.
    Nobody,
    /// The request went out, and the connection ended before there was an answer.
    Silence,
    /// The peer refused for now: 429, 503, UNAVAILABLE.
    Busy,
    /// The peer answered; asking again gives the same.
    Answer,
    /// Nothing was sent: we said it ourselves.
    Here,
}

/// An attempt that failed.
#[derive(Debug)]
pub(crate) struct Failed {
    pub(crate) error: Error,
    pub(crate) reached: Reached,
    /// When the peer wants to be asked again.
    pub(crate) retry_after: Option<Duration>,
}

impl Failed {
    /// No connection could be made.
    pub(crate) fn unreachable(source: impl Into<BoxError>) -> Self {
        let trouble = Trouble::new(TroubleKind::Unreachable).because(source);
        let error = Error::new(ErrorKind::Unavailable, "the agent could not be reached").caused_by(trouble);
        Self { error, reached: Reached::Nobody, retry_after: None }
    }

    /// The connection ended too early.
    pub(crate) fn cut(source: impl Into<BoxError>) -> Self {
        let source = source.into();
        if is_tls(&*source) {
            // A peer that does not like our certificate says so when the connection seems to stand.
            let trouble = Trouble::new(TroubleKind::Unreachable).because(source);
            return Error::new(ErrorKind::Unavailable, "the agent could not be reached").caused_by(trouble).into();
        }
        let trouble = Trouble::new(TroubleKind::Cut).because(source);
        let error = Error::new(ErrorKind::Unavailable, "the connection to the agent broke").caused_by(trouble);
        Self { error, reached: Reached::Silence, retry_after: None }
    }

    /// The peer refused for now.
    pub(crate) fn busy(error: Error, status: u16, retry_after: Option<Duration>) -> Self {
        let trouble = Trouble::new(TroubleKind::Status).with_status(status).again_after(retry_after);
        Self { error: error.caused_by(trouble), reached: Reached::Busy, retry_after }
    }

    /// The peer does not take the caller for someone who may.
    pub(crate) fn refused(error: Error, status: u16) -> Self {
        error.caused_by(Trouble::new(TroubleKind::Refused).with_status(status)).into()
    }

    /// Time is up. Whether the peer will still do what it was asked is not known.
    pub(crate) fn too_late() -> Self {
        Self { error: too_late(), reached: Reached::Silence, retry_after: None }
    }

    /// Nothing was sent, for a reason of our own.
    pub(crate) fn here(error: Error) -> Self {
        Self { error, reached: Reached::Here, retry_after: None }
    }

    /// The answer is not what the protocol prescribes.
    pub(crate) fn garbage(what: impl Into<String>) -> Self {
        Error::new(ErrorKind::InvalidAgentResponse, what).into()
    }

    /// The answer could not be read, and this is what is wrong with it.
    pub(crate) fn unread(error: Error) -> Self {
        Error::new(ErrorKind::InvalidAgentResponse, format!("the agent's answer breaks the protocol: {error}")).caused_by(error).into()
    }
}

/// An error of the peer, or one that no repetition cures.
impl From<Error> for Failed {
    fn from(error: Error) -> Self {
        Self { error, reached: Reached::Answer, retry_after: None }
    }
}

/// Time is up.
pub(crate) fn too_late() -> Error {
    Error::new(ErrorKind::Timeout, "the agent did not answer in time").caused_by(Trouble::new(TroubleKind::Timeout))
}

/// Whether TLS is behind an error.
fn is_tls(error: &(dyn StdError + 'static)) -> bool {
    let mut cause = Some(error);
    while let Some(error) = cause {
        // An I/O error hides what it wraps from the chain of sources, and HTTP/2 keeps no more of it than its words.
        let wrapped = error.downcast_ref::<std::io::Error>().and_then(std::io::Error::get_ref);
        let is_alert = |error: &(dyn StdError + Send + Sync)| error.to_string().starts_with("received fatal alert");
        if error.is::<rustls::Error>() || wrapped.is_some_and(|error| error.is::<rustls::Error>() || is_alert(error)) {
            return true;
        }
        cause = error.source();
    }
    false
}

/// Whether an error passes by itself.
pub(crate) fn is_transient(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::Unavailable | ErrorKind::RateLimited | ErrorKind::Timeout)
}

/// An error and its causes in one line.
pub(crate) fn chain(error: &Error) -> String {
    let mut words = error.to_string();
    let mut cause = std::error::Error::source(error);
    while let Some(error) = cause {
        words = format!("{words}: {error}");
        cause = error.source();
    }
    words
}
