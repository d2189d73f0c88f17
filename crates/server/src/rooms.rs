//! Rooms for requests that are being answered.
//!
//! A connection that keeps the room of its requests has it while it is idle too, and each of many connections
//! has another one: what the processor remembers of one is of no use for the next. A room from here is the one
//! that was left last.

use std::{
    cell::RefCell,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use thread_local::ThreadLocal;

/// How many empty rooms a thread keeps.
const KEPT: usize = 16;

type Room<F> = Pin<Box<Option<F>>>;

/// The rooms that are empty, by thread.
pub(crate) struct Rooms<F: Send>(Arc<ThreadLocal<RefCell<Vec<Room<F>>>>>);

impl<F: Future + Send> Rooms<F> {
    pub(crate) fn new() -> Self {
        Self(Arc::default())
    }

    /// Gives a future a room.
    pub(crate) fn house(&self, future: F) -> Housed<F> {
        let empty = self.0.get_or_default().borrow_mut().pop();
        let room = match empty {
            Some(mut room) => {
                room.set(Some(future));
                room
            }
            None => Box::pin(Some(future)),
        };
        Housed { room: Some(room), rooms: self.clone() }
    }
}

impl<F: Send> Clone for Rooms<F> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

/// A future in a room, which it leaves when it is dropped.
pub(crate) struct Housed<F: Send> {
    /// Taken only by `drop`.
    room: Option<Room<F>>,
    rooms: Rooms<F>,
}

impl<F: Future + Send> Future for Housed<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        match self.room.as_mut().and_then(|room| room.as_mut().as_pin_mut()) {
            Some(future) => future.poll(cx),
            None => Poll::Pending,
        }
    }
}

impl<F: Send> Drop for Housed<F> {
    fn drop(&mut self) {
        let Some(mut room) = self.room.take() else { return };
        room.set(None);
        let mut empty = self.rooms.0.get_or_default().borrow_mut();
        if empty.len() < KEPT {
            empty.push(room);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{future, ptr};

    use super::*;

    fn place<F: Future + Send>(housed: &Housed<F>) -> *const Option<F> {
        housed.room.as_deref().map_or(ptr::null(), ptr::from_ref)
    }

    #[tokio::test]
    async fn the_room_that_was_left_last_is_the_next_one() {
        let rooms = Rooms::new();
        let (first, second) = (rooms.house(future::ready(1)), rooms.house(future::ready(2)));
        let (place_of_first, place_of_second) = (place(&first), place(&second));
        assert_ne!(place_of_first, place_of_second);
        assert_eq!((first.await, second.await), (1, 2));
        let next = rooms.house(future::ready(3));
        assert_eq!(place(&next), place_of_second);
        assert_eq!(next.await, 3);
    }

    #[test]
    fn whoever_leaves_takes_everything_along() {
        let (rooms, held) = (Rooms::new(), Arc::new(()));
        let guest = held.clone();
        let housed = rooms.house(async move { drop(guest) });
        assert_eq!(Arc::strong_count(&held), 2);
        // It was never asked for anything: a caller went away.
        drop(housed);
        assert_eq!(Arc::strong_count(&held), 1);
    }

    #[test]
    fn a_thread_keeps_so_many_empty_rooms_and_no_more() {
        let rooms = Rooms::new();
        let housed: Vec<_> = (0..KEPT * 2).map(|number| rooms.house(future::ready(number))).collect();
        drop(housed);
        assert_eq!(rooms.0.get_or_default().borrow().len(), KEPT);
    }
}
