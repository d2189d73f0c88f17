//! Future pool: allocations for the futures of requests, used again, the last one freed first.
//!
//! A connection that embeds the future of its requests holds that memory while it is idle too, and each of many
//! connections holds another piece: what is in the processor's cache for one is of no use for the next. A slot
//! from here is the one that was freed last.

use std::{
    cell::RefCell,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use thread_local::ThreadLocal;

/// How many free slots a thread keeps.
const KEPT: usize = 16;

type Slot<F> = Pin<Box<Option<F>>>;

/// The free slots, by thread.
pub(crate) struct FuturePool<F: Send>(Arc<ThreadLocal<RefCell<Vec<Slot<F>>>>>);

impl<F: Future + Send> FuturePool<F> {
    pub(crate) fn new() -> Self {
        Self(Arc::default())
    }

    /// Puts a future into a slot.
    pub(crate) fn put(&self, future: F) -> Pooled<F> {
        let free = self.0.get_or_default().borrow_mut().pop();
        let slot = match free {
            Some(mut slot) => {
                slot.set(Some(future));
                slot
            }
            None => Box::pin(Some(future)),
        };
        Pooled { slot: Some(slot), pool: self.clone() }
    }
}

impl<F: Send> Clone for FuturePool<F> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

/// A future in a slot, which is free again when this is dropped.
pub(crate) struct Pooled<F: Send> {
    /// Taken only by `drop`.
    slot: Option<Slot<F>>,
    pool: FuturePool<F>,
}

impl<F: Future + Send> Future for Pooled<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        match self.slot.as_mut().and_then(|slot| slot.as_mut().as_pin_mut()) {
            Some(future) => future.poll(cx),
            None => Poll::Pending,
        }
    }
}

impl<F: Send> Drop for Pooled<F> {
    fn drop(&mut self) {
        let Some(mut slot) = self.slot.take() else { return };
        slot.set(None);
        let mut free = self.pool.0.get_or_default().borrow_mut();
        if free.len() < KEPT {
            free.push(slot);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{future, ptr};

    use super::*;

    fn place<F: Future + Send>(pooled: &Pooled<F>) -> *const Option<F> {
        pooled.slot.as_deref().map_or(ptr::null(), ptr::from_ref)
    }

    #[tokio::test]
    async fn the_slot_that_was_freed_last_is_used_next() {
        let pool = FuturePool::new();
        let (first, second) = (pool.put(future::ready(1)), pool.put(future::ready(2)));
        let (place_of_first, place_of_second) = (place(&first), place(&second));
        assert_ne!(place_of_first, place_of_second);
        assert_eq!((first.await, second.await), (1, 2));
        let next = pool.put(future::ready(3));
        assert_eq!(place(&next), place_of_second);
        assert_eq!(next.await, 3);
    }

    #[test]
    fn a_dropped_future_leaves_nothing_in_its_slot() {
        let (pool, held) = (FuturePool::new(), Arc::new(()));
        let owned = held.clone();
        let pooled = pool.put(async move { drop(owned) });
        assert_eq!(Arc::strong_count(&held), 2);
        // It was never asked for anything: a caller went away.
        drop(pooled);
        assert_eq!(Arc::strong_count(&held), 1);
    }

    #[test]
    fn a_thread_keeps_a_bounded_number_of_free_slots() {
        let pool = FuturePool::new();
        let pooled: Vec<_> = (0..KEPT * 2).map(|number| pool.put(future::ready(number))).collect();
        drop(pooled);
        assert_eq!(pool.0.get_or_default().borrow().len(), KEPT);
    }
}
