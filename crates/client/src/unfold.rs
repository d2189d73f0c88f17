//! A stream from an async function.

use std::{
    future::Future,
    pin::Pin,
    task::{Context, Poll},
};

use chancery_core::{EventStream, Result, Seq, SharedEvent};
use futures_core::Stream;

type Item = Result<(Seq, SharedEvent)>;
type Step<S> = Pin<Box<dyn Future<Output = (Option<Item>, S)> + Send>>;

/// The items that a function gives one after the other, until it gives none.
pub(crate) fn unfold<S, F, R>(state: S, next: F) -> EventStream
where
    S: Send + Unpin + 'static,
    F: Fn(S) -> R + Send + Unpin + 'static,
    R: Future<Output = (Option<Item>, S)> + Send + 'static,
{
    Box::pin(Unfold { step: Some(Box::pin(next(state))), next })
}

struct Unfold<S, F> {
    /// `None` after the end.
    step: Option<Step<S>>,
    next: F,
}

impl<S, F, R> Stream for Unfold<S, F>
where
    S: Send + Unpin + 'static,
    F: Fn(S) -> R + Unpin,
    R: Future<Output = (Option<Item>, S)> + Send + 'static,
{
    type Item = Item;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Item>> {
        let this = &mut *self;
        let Some(step) = &mut this.step else { return Poll::Ready(None) };
        let Poll::Ready((item, state)) = step.as_mut().poll(cx) else { return Poll::Pending };
        this.step = item.is_some().then(|| Box::pin((this.next)(state)) as Step<S>);
        Poll::Ready(item)
    }
}
