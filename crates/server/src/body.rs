//! What goes out as the body of an answer.

use std::{
    pin::Pin,
    task::{Context, Poll},
};

use chancery_core::{BoxError, Bytes};
use http_body::{Frame, SizeHint};

use crate::sse::EventBody;

/// The body of an answer: bytes, a stream of events, or what gRPC makes.
pub struct Body(Kind);

enum Kind {
    Bytes(Bytes),
    Events(Box<EventBody>),
    #[cfg(feature = "grpc")]
    Grpc(tonic::body::Body),
}

impl Body {
    pub(crate) fn bytes(bytes: impl Into<Bytes>) -> Self {
        Self(Kind::Bytes(bytes.into()))
    }

    pub(crate) fn events(events: EventBody) -> Self {
        Self(Kind::Events(Box::new(events)))
    }

    /// The bytes of a body that is nothing else.
    pub(crate) fn into_bytes(self) -> Bytes {
        match self.0 {
            Kind::Bytes(bytes) => bytes,
            _ => Bytes::new(),
        }
    }

    #[cfg(feature = "grpc")]
    pub(crate) fn grpc(body: tonic::body::Body) -> Self {
        Self(Kind::Grpc(body))
    }
}

impl http_body::Body for Body {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        match &mut self.0 {
            Kind::Bytes(bytes) if bytes.is_empty() => Poll::Ready(None),
            Kind::Bytes(bytes) => Poll::Ready(Some(Ok(Frame::data(std::mem::take(bytes))))),
            Kind::Events(events) => events.poll_frame(cx).map(|frame| frame.map(|bytes| Ok(Frame::data(bytes)))),
            #[cfg(feature = "grpc")]
            Kind::Grpc(body) => Pin::new(body).poll_frame(cx).map(|frame| frame.map(|frame| frame.map_err(Into::into))),
        }
    }

    fn is_end_stream(&self) -> bool {
        match &self.0 {
            Kind::Bytes(bytes) => bytes.is_empty(),
            Kind::Events(_) => false,
            #[cfg(feature = "grpc")]
            Kind::Grpc(body) => body.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.0 {
            Kind::Bytes(bytes) => SizeHint::with_exact(bytes.len() as u64),
            Kind::Events(_) => SizeHint::default(),
            #[cfg(feature = "grpc")]
            Kind::Grpc(body) => body.size_hint(),
        }
    }
}
