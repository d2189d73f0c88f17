//! Clock: the time of day, as something that tests can set.

use std::{
    collections::BTreeMap,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering},
    },
    task::{Context, Poll, Waker},
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use crate::{Timestamp, sync::Mutex};

/// Tells the time of day.
pub trait Clock: Send + Sync + 'static {
    /// Now.
    fn now(&self) -> Timestamp;

    /// A timer of this clock, for one that does not go with real time. `None`, as long as nothing else is said, leaves it to the timers of
    /// the runtime.
    fn timer(&self, _after: Duration) -> Option<Timer> {
        None
    }
}

/// A wait that ends by itself.
pub type Timer = Pin<Box<dyn Future<Output = ()> + Send>>;

impl<C: Clock + ?Sized> Clock for Arc<C> {
    fn now(&self) -> Timestamp {
        (**self).now()
    }

    fn timer(&self, after: Duration) -> Option<Timer> {
        (**self).timer(after)
    }
}

/// The machine's clock.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    #[allow(clippy::disallowed_methods, reason = "the one place where the time comes from")]
    fn now(&self) -> Timestamp {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let seconds = i64::try_from(since.as_secs()).unwrap_or(i64::MAX);
        Timestamp::from_unix(seconds, since.subsec_nanos().cast_signed()).unwrap_or(Timestamp::EPOCH)
    }
}

/// A clock that stands still until it is told to move. Its timers ring when it does.
///
/// ```
/// use std::time::Duration;
/// use chancery_core::clock::{Clock, ManualClock};
/// let clock = ManualClock::new(1_772_442_907_000);
/// clock.advance(Duration::from_secs(60));
/// assert_eq!(clock.now().to_string(), "2026-03-02T09:16:07.000Z");
/// ```
#[derive(Debug, Clone)]
pub struct ManualClock(Arc<Manual>);

#[derive(Debug)]
struct Manual {
    millis: AtomicI64,
    waiting: Mutex<Waiting>,
}

/// Whoever waits for the clock, under a number of their own.
#[derive(Debug, Default)]
struct Waiting {
    numbers: u64,
    wakers: BTreeMap<u64, Waker>,
}

impl ManualClock {
    /// A clock that shows this many milliseconds since 1970.
    #[must_use]
    pub fn new(millis: i64) -> Self {
        Self(Arc::new(Manual { millis: AtomicI64::new(millis), waiting: Mutex::default() }))
    }

    /// Moves the clock forward.
    pub fn advance(&self, by: Duration) {
        self.0.millis.fetch_add(millis(by), Ordering::SeqCst);
        let woken = std::mem::take(&mut self.0.waiting.lock().wakers);
        woken.into_values().for_each(Waker::wake);
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_unix_millis(self.0.millis.load(Ordering::SeqCst)).unwrap_or(Timestamp::EPOCH)
    }

    fn timer(&self, after: Duration) -> Option<Timer> {
        let at = self.0.millis.load(Ordering::SeqCst).saturating_add(millis(after));
        let mut waiting = self.0.waiting.lock();
        waiting.numbers += 1;
        Some(Box::pin(ManualTimer { clock: self.0.clone(), at, number: waiting.numbers }))
    }
}

fn millis(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}

struct ManualTimer {
    clock: Arc<Manual>,
    at: i64,
    number: u64,
}

impl Future for ManualTimer {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        // The clock is moved before the wakers are taken: whoever does not see the new time is woken for it.
        let mut waiting = self.clock.waiting.lock();
        if self.clock.millis.load(Ordering::SeqCst) >= self.at {
            return Poll::Ready(());
        }
        waiting.wakers.insert(self.number, cx.waker().clone());
        Poll::Pending
    }
}

impl Drop for ManualTimer {
    fn drop(&mut self) {
        self.clock.waiting.lock().wakers.remove(&self.number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_timer_rings_when_its_clock_was_moved_far_enough() {
        let clock = ManualClock::new(0);
        let mut timer = clock.timer(Duration::from_secs(2)).unwrap();
        let cx = &mut Context::from_waker(Waker::noop());
        assert!(timer.as_mut().poll(cx).is_pending());
        clock.advance(Duration::from_millis(1_999));
        assert!(timer.as_mut().poll(cx).is_pending());
        clock.advance(Duration::from_millis(1));
        assert!(timer.as_mut().poll(cx).is_ready());
    }

    #[test]
    fn a_timer_that_is_dropped_leaves_nothing_behind() {
        let clock = ManualClock::new(0);
        let mut timer = clock.timer(Duration::from_secs(2)).unwrap();
        assert!(timer.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
        drop(timer);
        assert!(clock.0.waiting.lock().wakers.is_empty());
    }
}
