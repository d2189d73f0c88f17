//! A stream from an async function.

use std::{
    future::Future,
    pin::Pin,
    task::{Context, Poll},
};

use futures_core::Stream;

type Step<T, S> = Pin<Box<dyn Future<Output = (Option<T>, S)> + Send>>;

/// The items that a function gives one after the other, until it gives none.
pub(crate) fn unfold<T, S, F, R>(state: S, next: F) -> Pin<Box<dyn Stream<Item = T> + Send>>
where
    T: Send + 'static,
    S: Send + Unpin + 'static,
    F: Fn(S) -> R + Send + Unpin + 'static,
    R: Future<Output = (Option<T>, S)> + Send + 'static,
{
    Box::pin(Unfold { step: Some(Box::pin(next(state))), next })
}

struct Unfold<T, S, F> {
    /// `None` after the end.
    step: Option<Step<T, S>>,
    next: F,
}

impl<T, S, F, R> Stream for Unfold<T, S, F>
where
    S: Send + Unpin + 'static,
    F: Fn(S) -> R + Unpin,
    R: Future<Output = (Option<T>, S)> + Send + 'static,
{
    type Item = T;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<T>> {
        let this = &mut *self;
        let Some(step) = &mut this.step else { return Poll::Ready(None) };
        let Poll::Ready((item, state)) = step.as_mut().poll(cx) else { return Poll::Pending };
        this.step = item.is_some().then(|| Box::pin((this.next)(state)) as Step<T, S>);
        Poll::Ready(item)
    }
}
