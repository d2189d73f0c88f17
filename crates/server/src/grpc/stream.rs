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
use chancery_wire::{Dialect, StreamMemory};
use http::HeaderMap;
use http_body::Frame;
use tokio::time::{Instant, Sleep};

use super::{
    frame,
    status::{self, CallError},
};
use crate::{
    limit::StreamPermit,
    shutdown::{EndReason, StreamEnd},
};

/// About how many bytes go out in one piece. A larger event is a piece of its own, and not copied.
const PIECE: usize = 64 * 1_024;

/// The body of a call that goes on.
pub(crate) struct EventFrames {
    events: Option<EventStream>,
    dialect: Dialect,
    memory: StreamMemory,
    /// Whether each event tells its place in the log.
    numbered: bool,
    /// An event that is too large to be copied; what goes before it is out already.
    large: Option<Bytes>,
    /// What is said at the end; how it ended is added then.
    trailers: Option<HeaderMap>,
    deadline: Option<Pin<Box<Sleep>>>,
    stream_end: StreamEnd,
    _permit: StreamPermit,
}

impl EventFrames {
    pub(crate) fn new(
        events: EventStream,
        (dialect, memory, numbered): (Dialect, StreamMemory, bool),
        trailers: HeaderMap,
        deadline: Option<Instant>,
        stream_end: StreamEnd,
        permit: StreamPermit,
    ) -> Self {
        let deadline = deadline.map(|deadline| Box::pin(tokio::time::sleep_until(deadline)));
        let (events, trailers) = (Some(events), Some(trailers));
        Self { events, dialect, memory, numbered, large: None, trailers, deadline, stream_end, _permit: permit }
    }

    fn write(&mut self, piece: &mut Vec<u8>, seq: Seq, event: &SharedEvent) -> Result<()> {
        // A direct message has no place in a log.
        self.memory.seq = Some(seq).filter(|seq| self.numbered && *seq != Seq::START);
        let (mut framed, large) = (Ok(()), &mut self.large);
        self.dialect.show_event(event, &mut self.memory, |message| match frame::prefix(message.len()) {
            Ok(prefix) => {
                piece.extend_from_slice(&prefix);
                if message.len() < PIECE {
                    piece.extend_from_slice(message);
                } else {
                    *large = Some(message.clone());
                }
            }
            Err(error) => framed = Err(error),
        })?;
        framed
    }

    fn end(&mut self) {
        self.events = None;
        if let Some(trailers) = &mut self.trailers {
            status::ok(trailers);
        }
    }

    fn expire(&mut self) {
        self.fail(Error::new(ErrorKind::Unauthenticated, "The token that the stream was begun with has ended; subscribe with a new one"));
    }

    fn fail(&mut self, error: Error) {
        if !matches!(error.kind(), ErrorKind::Unavailable | ErrorKind::Timeout | ErrorKind::Unauthenticated) {
            tracing::warn!(error = %error, "a stream broke off");
        }
        self.events = None;
        if let Some(trailers) = &mut self.trailers {
            CallError::from(error).write(self.dialect, trailers);
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
        if this.events.is_some() && this.stream_end.has_expired() {
            this.expire();
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
            match this.stream_end.poll(cx) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(EndReason::Expired) => this.expire(),
                Poll::Ready(EndReason::Shutdown) => {
                    this.fail(Error::new(ErrorKind::Unavailable, "The server is stopping; subscribe to the task again"));
                }
            }
        }
        Poll::Ready(this.trailers.take().map(|trailers| Ok(Frame::trailers(trailers))))
    }
}

#[cfg(test)]
mod tests {
    use chancery_core::{Artifact, ArtifactUpdate};
    use http_body_util::BodyExt;
    use tokio_util::sync::CancellationToken;

    use super::*;
    use crate::limit::{Limiter, Limits};

    struct Script(std::vec::IntoIter<Result<(Seq, SharedEvent)>>);

    impl futures_core::Stream for Script {
        type Item = Result<(Seq, SharedEvent)>;

        fn poll_next(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Self::Item>> {
            Poll::Ready(self.0.next())
        }
    }

    fn body(script: Vec<Result<(Seq, SharedEvent)>>) -> EventFrames {
        let permit = Limiter::new(Limits::default()).open(String::new()).unwrap();
        let form = (Dialect::V1_0Grpc, StreamMemory::default(), false);
        let stream_end = StreamEnd::new(&CancellationToken::new(), None);
        EventFrames::new(EventStream::new(Script(script.into_iter())), form, HeaderMap::new(), None, stream_end, permit)
    }

    fn chunk(seq: u64, size: usize) -> Result<(Seq, SharedEvent)> {
        let artifact = Artifact::new("x".repeat(size)).id("a");
        Ok((Seq::new(seq), ArtifactUpdate::new("t", "c", artifact).into()))
    }

    /// The events of a body, and how it ended.
    async fn read(body: EventFrames) -> (Vec<SharedEvent>, tonic::Status) {
        let body = body.collect().await.unwrap();
        let trailers = body.trailers().cloned().unwrap();
        let (mut bytes, mut events) = (body.to_bytes(), Vec::new());
        while !bytes.is_empty() {
            let prefix = bytes.split_to(frame::PREFIX);
            let length = u32::from_be_bytes([prefix[1], prefix[2], prefix[3], prefix[4]]) as usize;
            assert_eq!(prefix[0], 0);
            let read = Dialect::V1_0Grpc.decode_event(&bytes.split_to(length), &mut StreamMemory::default()).unwrap();
            events.extend(read.into_iter().map(SharedEvent::from));
        }
        (events, tonic::Status::from_header_map(&trailers).unwrap())
    }

    #[tokio::test]
    async fn events_of_every_size_come_whole_and_in_order() {
        let sizes = [0, 1, 40_000, 40_000, PIECE - 1, PIECE, PIECE + 1, 1, 300_000, 300_000, 2];
        let script = || sizes.iter().zip(1..).map(|(size, seq)| chunk(seq, *size)).collect::<Vec<_>>();
        let (events, status) = read(body(script())).await;
        assert_eq!(events, script().into_iter().map(|event| event.unwrap().1).collect::<Vec<_>>());
        assert_eq!(status.code(), tonic::Code::Ok);
    }

    #[tokio::test]
    async fn an_error_in_a_stream_is_its_end_after_all_events_before_it() {
        let broken = || Error::new(ErrorKind::InvalidAgentResponse, "The agent said something strange");
        for size in [1, PIECE] {
            let (events, status) = read(body(vec![chunk(1, size), chunk(2, size), Err(broken()), chunk(3, size)])).await;
            assert_eq!((events.len(), status.code()), (2, tonic::Code::Internal));
            let error = Dialect::V1_0Grpc.decode_grpc_error(status.code().into(), status.message(), status.details());
            assert_eq!((error.kind(), error.message()), (broken().kind(), broken().message()));
        }
    }
}
