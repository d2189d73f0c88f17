//! The error of a run that could not be made.

use std::io;

type Cause = Box<dyn std::error::Error + Send + Sync>;

/// Why checks could not be run. What an agent does wrong is no error, but a finding.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The card is no JSON.
    #[error("the card is no JSON: {0}")]
    CardNotJson(serde_json::Error),
    /// The agent does not answer.
    #[error(transparent)]
    Unreachable(Cause),
    /// The options do not make an HTTP client.
    #[error("no HTTP client can be made")]
    Http(#[source] Cause),
    /// A header that is none.
    #[error("a credential cannot be a header")]
    Header,
    /// No port can be opened for a proxy.
    #[error("no port can be opened: {0}")]
    Port(io::Error),
    /// The client has no way to the agent.
    #[error(transparent)]
    Client(#[from] chancery_core::Error),
}

/// An error with the causes that its sentence does not repeat.
pub(crate) fn with_cause(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        let words = cause.to_string();
        if !text.contains(&words) {
            text = format!("{text}: {words}");
        }
        next = cause.source();
    }
    text
}
