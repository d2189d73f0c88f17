//! Where the events of one connection come from.

use std::time::Duration;

use chancery_core::{Error, Event, Seq};
use chancery_wire::{Dialect, StreamMemory, jsonrpc};
use serde::{Deserialize, de::IgnoredAny};

use crate::{
    failure::Failed,
    http::{Exchange, Http},
    observer::{ObserverSlot, Wire, WireEvent},
    sse::{Frame, Parser},
};

/// What one element of a stream held.
#[derive(Debug)]
pub(crate) struct Arrived {
    /// Its place in the task's log, if the peer said it.
    pub(crate) seq: Option<Seq>,
    pub(crate) events: Vec<Event>,
}

/// The events of one connection.
pub(crate) enum Source {
    Sse(Box<Frames>),
    #[cfg(feature = "grpc")]
    Grpc(Box<crate::grpc::GrpcEvents>),
    /// A peer that answered with one element instead of a stream.
    Once(Option<Arrived>),
}

impl Source {
    /// The next element; `None` when the peer has ended the stream.
    pub(crate) async fn next(&mut self) -> Result<Option<Arrived>, Failed> {
        match self {
            Self::Sse(frames) => frames.next().await,
            #[cfg(feature = "grpc")]
            Self::Grpc(events) => events.next().await,
            Self::Once(arrived) => Ok(arrived.take()),
        }
    }

    /// Whether an element said that it is the last; only v0.1 does.
    pub(crate) fn said_last(&self) -> bool {
        matches!(self, Self::Sse(frames) if frames.memory.closed)
    }

    /// After how long the peer wants its reader back, if it said so.
    pub(crate) fn retry(&self) -> Option<Duration> {
        match self {
            Self::Sse(frames) => frames.parser.retry(),
            _ => None,
        }
    }
}

/// A stream of server-sent events.
pub(crate) struct Frames {
    response: reqwest::Response,
    parser: Parser,
    ready: std::collections::VecDeque<Frame>,
    dialect: Dialect,
    memory: StreamMemory,
    /// Whether each element is a JSON-RPC response.
    in_envelope: bool,
    limit: usize,
    silence: Duration,
    observer: ObserverSlot,
}

impl Frames {
    pub(crate) fn new(exchange: Exchange, http: &Http, dialect: Dialect, memory: StreamMemory, in_envelope: bool) -> Self {
        exchange.show(&[]);
        Self {
            response: exchange.response,
            parser: Parser::new(http.limit),
            ready: std::collections::VecDeque::new(),
            dialect,
            memory,
            in_envelope,
            limit: http.limit,
            silence: http.silence,
            observer: http.observer.clone(),
        }
    }

    async fn next(&mut self) -> Result<Option<Arrived>, Failed> {
        loop {
            if let Some(frame) = self.ready.pop_front() {
                if frame.data.iter().all(u8::is_ascii_whitespace) {
                    continue;
                }
                return self.read(&frame).map(Some);
            }
            let piece = match tokio::time::timeout(self.silence, self.response.chunk()).await {
                Ok(piece) => piece.map_err(|error| Failed::cut(error.without_url()))?,
                Err(_) => return Err(Failed::cut(format!("nothing came for {:?}", self.silence))),
            };
            let Some(piece) = piece else { return Ok(None) };
            let ready = &mut self.ready;
            if self.parser.feed(&piece, |frame| ready.push_back(frame)).is_err() {
                return Err(Failed::garbage(format!("an event of the agent's stream is larger than {} bytes", self.limit)));
            }
        }
    }

    fn read(&mut self, frame: &Frame) -> Result<Arrived, Failed> {
        self.observer.see(|| Wire::Event(WireEvent { id: frame.id.as_deref(), data: &frame.data }));
        let events = if self.in_envelope {
            enveloped_events(self.dialect, &frame.data, &mut self.memory)?
        } else {
            bare_events(self.dialect, frame, &mut self.memory)?
        };
        let seq = frame.id.as_ref().and_then(|id| id.parse().ok()).map(Seq::new).filter(|seq| *seq != Seq::START);
        Ok(Arrived { seq, events })
    }
}

/// The events of a JSON-RPC response.
pub(crate) fn enveloped_events(dialect: Dialect, data: &[u8], memory: &mut StreamMemory) -> Result<Vec<Event>, Failed> {
    match jsonrpc::Response::parse(data)?.outcome {
        Ok(result) => dialect.decode_event(result, memory).map_err(Failed::unread),
        Err(error) => Err(dialect.decode_rpc_error(error).into()),
    }
}

/// The events of an element of HTTP+JSON, or the error that it holds.
pub(crate) fn bare_events(dialect: Dialect, frame: &Frame, memory: &mut StreamMemory) -> Result<Vec<Event>, Failed> {
    let shape: Shape = serde_json::from_slice(&frame.data).unwrap_or_default();
    if frame.event == "error" || shape.error.is_some() {
        return Err(shape.error(dialect, &frame.data).into());
    }
    dialect.decode_event(&frame.data, memory).map_err(|error| match shape.code {
        Some(_) => shape.error(dialect, &frame.data).into(),
        None => Failed::unread(error),
    })
}

/// What tells an error from an event.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Shape {
    error: Option<Inner>,
    code: Option<IgnoredAny>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Inner {
    code: Option<serde_json::Value>,
}

impl Shape {
    fn error(&self, dialect: Dialect, body: &[u8]) -> Error {
        let inner = self.error.as_ref().and_then(|error| error.code.as_ref()).and_then(serde_json::Value::as_u64);
        let status = inner.and_then(|code| u16::try_from(code).ok()).unwrap_or(500);
        dialect.decode_http_error(status, body)
    }
}
