//! Streams of events, as operations give them.

use std::{
    fmt,
    pin::Pin,
    task::{Context, Poll},
};

use futures_core::Stream;

use crate::{
    error::Result,
    event::{Seq, SharedEvent},
};

type Events = dyn Stream<Item = Result<(Seq, SharedEvent)>> + Send;

/// A stream of events, each with its place in the task's log. It ends after the event that ends the task, or a turn of it.
///
/// ```
/// use chancery_core::{Caller, Operations, Result, SendMessage};
///
/// async fn watch(agent: &dyn Operations) -> Result<()> {
///     let mut events = agent.stream_message(&Caller::anonymous(), SendMessage::new("Write a haiku")).await?;
///     while let Some((place, event)) = events.try_next().await? {
///         println!("{place}: {event:?}");
///     }
///     Ok(())
/// }
/// ```
#[must_use = "a stream does nothing until it is read"]
pub struct EventStream(Pin<Box<Events>>);

impl EventStream {
    /// The events of any stream.
    pub fn new(events: impl Stream<Item = Result<(Seq, SharedEvent)>> + Send + 'static) -> Self {
        Self(Box::pin(events))
    }

    /// The next event; `None` after the last one. A call that is given up before it is done has taken nothing.
    ///
    /// # Errors
    /// What cut the stream short.
    pub async fn try_next(&mut self) -> Result<Option<(Seq, SharedEvent)>> {
        std::future::poll_fn(|cx| self.as_mut().poll_next(cx)).await.transpose()
    }

    /// The stream itself, to be polled.
    pub fn as_mut(&mut self) -> Pin<&mut (dyn Stream<Item = Result<(Seq, SharedEvent)>> + Send + 'static)> {
        self.0.as_mut()
    }
}

impl Stream for EventStream {
    type Item = Result<(Seq, SharedEvent)>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.0.as_mut().poll_next(cx)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.0.size_hint()
    }
}

impl fmt::Debug for EventStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("EventStream")
    }
}
