//! Server-sent events: a stream of a task's events as the body of an answer.
//!
//! The body holds a cursor, not a queue. It is asked for more only when the connection has room, takes
//! everything that is ready then, and hands it over as one piece.

use std::{
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use chancery_core::{Bytes, Error, ErrorKind, EventStream, Seq};
use chancery_wire::{Dialect, SSE_KEEP_ALIVE, StreamMemory, jsonrpc};
use tokio::time::{Instant, Sleep};

use crate::{limit::StreamPermit, shutdown::StreamEnd};

/// WellKnown how many bytes go out in one piece.
const PIECE: usize = 64 * 1_024;
/// What a stream says last when the server stops or the caller's token ends: come back soon, with the last event seen.
const COME_BACK: &[u8] = b"retry: 500\n\n";

/// A stream of events in one dialect.
pub(crate) struct EventBody {
    events: Option<EventStream>,
    dialect: Dialect,
    memory: StreamMemory,
    /// Before and after each element: the envelope of JSON-RPC, or nothing.
    envelope: (String, &'static str),
    /// The id of the JSON-RPC call, for errors.
    call: Option<jsonrpc::Id>,
    silence: Duration,
    pulse: Pin<Box<Sleep>>,
    stream_end: StreamEnd,
    _permit: StreamPermit,
}

impl EventBody {
    pub(crate) fn new(
        events: EventStream,
        dialect: Dialect,
        memory: StreamMemory,
        call: Option<jsonrpc::Id>,
        silence: Duration,
        stream_end: StreamEnd,
        permit: StreamPermit,
    ) -> Self {
        let envelope = match &call {
            Some(id) => (format!("{{\"jsonrpc\":\"2.0\",\"id\":{},\"result\":", id.as_json()), "}"),
            None => (String::new(), ""),
        };
        let pulse = Box::pin(tokio::time::sleep(silence));
        Self { events: Some(events), dialect, memory, envelope, call, silence, pulse, stream_end, _permit: permit }
    }

    /// Everything that is ready, as one piece; `None` at the end.
    pub(crate) fn poll_frame(&mut self, cx: &mut Context<'_>) -> Poll<Option<Bytes>> {
        if self.events.is_some() && self.stream_end.has_expired() {
            self.events = None;
            return Poll::Ready(Some(Bytes::from_static(COME_BACK)));
        }
        let mut piece = Vec::new();
        while let Some(events) = &mut self.events {
            let Poll::Ready(next) = events.as_mut().poll_next(cx) else { break };
            match next {
                Some(Ok((seq, event))) => {
                    if let Err(error) = self.write(&mut piece, seq, &event) {
                        self.fail(&mut piece, &error);
                    }
                }
                Some(Err(error)) => self.fail(&mut piece, &error),
                None => self.end(&mut piece),
            }
            if piece.len() >= PIECE {
                break;
            }
        }
        if !piece.is_empty() {
            self.pulse.as_mut().reset(Instant::now() + self.silence);
            return Poll::Ready(Some(piece.into()));
        }
        if self.events.is_none() {
            return Poll::Ready(None);
        }
        if self.stream_end.poll(cx).is_ready() {
            self.events = None;
            return Poll::Ready(Some(Bytes::from_static(COME_BACK)));
        }
        if self.pulse.as_mut().poll(cx).is_ready() {
            self.pulse.as_mut().reset(Instant::now() + self.silence);
            return Poll::Ready(Some(Bytes::from_static(SSE_KEEP_ALIVE)));
        }
        Poll::Pending
    }

    fn write(&mut self, piece: &mut Vec<u8>, seq: Seq, event: &chancery_core::SharedEvent) -> Result<(), Error> {
        // A direct message has no place in a log.
        let seq = Some(seq).filter(|seq| *seq != Seq::START);
        let (before, after) = (self.envelope.0.as_bytes(), self.envelope.1.as_bytes());
        let dialect = self.dialect;
        dialect.show_event(event, &mut self.memory, |element| dialect.write_sse_frame(piece, seq, [before, element, after]))
    }

    /// Says what went wrong, unless the rest of the stream is to be had by coming back.
    fn fail(&mut self, piece: &mut Vec<u8>, error: &Error) {
        self.events = None;
        if error.kind() == ErrorKind::Unavailable {
            piece.extend_from_slice(COME_BACK);
            return;
        }
        tracing::warn!(error = %error, "a stream broke off");
        let body = match &self.call {
            Some(id) => self.dialect.encode_rpc_error(error).map(|body| jsonrpc::error(id, &body)),
            None => self.dialect.encode_http_error(error).map(|(_, body)| body),
        };
        // Errors can always be written.
        if let Ok(body) = body {
            piece.extend_from_slice(&self.dialect.sse_error_frame(&body));
        }
    }

    fn end(&mut self, piece: &mut Vec<u8>) {
        self.events = None;
        // Only v0.1 closes a stream with an element of its own, and that is always written.
        if let Ok(Some(element)) = self.dialect.encode_end(&self.memory) {
            let (before, after) = (self.envelope.0.as_bytes(), self.envelope.1.as_bytes());
            self.dialect.write_sse_frame(piece, None, [before, &element, after]);
        }
    }
}
