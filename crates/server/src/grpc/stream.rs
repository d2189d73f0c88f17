//! A stream of a task's events as the messages of a call.
//!
//! The body holds a cursor, not a queue. It is asked for more only when the connection has room, takes
//! everything that is ready then, and hands it over as one piece.

use std::{
    convert::Infallible,
    pin::Pin,
    task::{Context, Poll},
};

use chancery_core::{Bytes, Error, ErrorKind, EventStream, Result, Seq, SharedEvent};
use http::HeaderMap;
use http_body::Frame;
use tokio::time::{Instant, Sleep};
use tokio_util::sync::WaitForCancellationFutureOwned;

use super::{
    codec::EventEncoder,
    frame,
    status::{self, Refused},
};
use crate::limit::StreamPass;

/// About how many bytes go out in one piece. A larger event is a piece of its own, and not copied.
const PIECE: usize = 64 * 1_024;

/// The body of a call that goes on.
pub(crate) struct EventFrames {
    events: Option<EventStream>,
    encoder: EventEncoder,
    /// An event that is too large to be copied; what goes before it is out already.
    large: Option<Bytes>,
    /// What is said at the end; how it ended is added then.
    trailers: Option<HeaderMap>,
    deadline: Option<Pin<Box<Sleep>>>,
    closing: Pin<Box<WaitForCancellationFutureOwned>>,
    _pass: StreamPass,
}

impl EventFrames {
    pub(crate) fn new(
        events: EventStream,
        encoder: EventEncoder,
        trailers: HeaderMap,
        deadline: Option<Instant>,
        closing: WaitForCancellationFutureOwned,
        pass: StreamPass,
    ) -> Self {
        let deadline = deadline.map(|deadline| Box::pin(tokio::time::sleep_until(deadline)));
        let (events, trailers, closing) = (Some(events), Some(trailers), Box::pin(closing));
        Self { events, encoder, large: None, trailers, deadline, closing, _pass: pass }
    }

    fn write(&mut self, piece: &mut Vec<u8>, seq: Seq, event: &SharedEvent) -> Result<()> {
        let message = self.encoder.encode(seq, event)?;
        piece.extend_from_slice(&frame::prefix(message.len())?);
        if message.len() < PIECE {
            piece.extend_from_slice(&message);
        } else {
            self.large = Some(message);
        }
        Ok(())
    }

    fn end(&mut self) {
        self.events = None;
        if let Some(trailers) = &mut self.trailers {
            status::ok(trailers);
        }
    }

    fn fail(&mut self, error: Error) {
        if error.kind() != ErrorKind::Unavailable && error.kind() != ErrorKind::Timeout {
            tracing::warn!(error = %error, "a stream broke off");
        }
        self.events = None;
        if let Some(trailers) = &mut self.trailers {
            Refused::from(error).write(self.encoder.version(), trailers);
        }
    }
}

impl http_body::Body for EventFrames {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let this = &mut *self;
        if let Some(rest) = this.large.take() {
            return Poll::Ready(Some(Ok(Frame::data(rest))));
        }
        if this.events.is_some() && this.deadline.as_mut().is_some_and(|deadline| deadline.as_mut().poll(cx).is_ready()) {
            this.fail(Error::new(ErrorKind::Timeout, "The deadline passed; the task goes on"));
        }
        let mut piece = Vec::new();
        while piece.len() < PIECE
            && this.large.is_none()
            && let Some(events) = &mut this.events
        {
            let Poll::Ready(next) = events.as_mut().poll_next(cx) else { break };
            match next {
                Some(Ok((seq, event))) => {
                    if let Err(error) = this.write(&mut piece, seq, &event) {
                        this.fail(error);
                    }
                }
                Some(Err(error)) => this.fail(error),
                None => this.end(),
            }
        }
        if !piece.is_empty() {
            return Poll::Ready(Some(Ok(Frame::data(piece.into()))));
        }
        if this.events.is_some() {
            if this.closing.as_mut().poll(cx).is_pending() {
                return Poll::Pending;
            }
            this.fail(Error::new(ErrorKind::Unavailable, "The server is stopping; subscribe to the task again"));
        }
        Poll::Ready(this.trailers.take().map(|trailers| Ok(Frame::trailers(trailers))))
    }
}
