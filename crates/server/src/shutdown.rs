//! Early end of a stream whose task goes on: the server shuts down, or what its caller proved has expired.

use std::{
    pin::Pin,
    task::{Context, Poll},
};

use tokio::time::{Instant, Sleep};
use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};

/// When a stream is to end.
pub(crate) struct StreamEnd {
    stopping: Pin<Box<WaitForCancellationFutureOwned>>,
    until: Option<Pin<Box<Sleep>>>,
}

/// Why a stream is to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EndReason {
    /// The server stops.
    Shutdown,
    /// What the caller proved has expired.
    Expired,
}

impl StreamEnd {
    /// When the server stops, and no later than this.
    pub(crate) fn new(stopping: &CancellationToken, until: Option<Instant>) -> Self {
        let until = until.map(|until| Box::pin(tokio::time::sleep_until(until)));
        Self { stopping: Box::pin(stopping.clone().cancelled_owned()), until }
    }

    /// Whether it is too late for whatever would still come.
    pub(crate) fn has_expired(&self) -> bool {
        self.until.as_ref().is_some_and(|until| until.deadline() <= Instant::now())
    }

    /// Waits for the end.
    pub(crate) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<EndReason> {
        if self.until.as_mut().is_some_and(|until| until.as_mut().poll(cx).is_ready()) {
            return Poll::Ready(EndReason::Expired);
        }
        self.stopping.as_mut().poll(cx).map(|()| EndReason::Shutdown)
    }
}
