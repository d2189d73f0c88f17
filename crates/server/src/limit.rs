//! Limits and rate limiter: what one request may bring, what one caller may hold open, and what all of
//! them may have under way.

use std::{
    collections::HashMap,
    sync::{
        Arc, MutexGuard,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use chancery_core::{Error, ErrorKind, Result, sync::Mutex};

/// The limits of a server. Whatever is over a limit gets a clear error; nothing is cut off or queued
/// without bound.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// Bytes of a request body. Files travel inside, so this is also how large they can be.
    pub body: usize,
    /// What a message may hold.
    pub message: chancery_core::Limits,
    /// Requests under way, streams not counted; one more is told to come back.
    pub requests: usize,
    /// Connections; one more waits until another has gone.
    pub connections: usize,
    /// Streams that one caller may hold open.
    pub streams_per_caller: usize,
    /// Requests that one caller may make in a second, over a short time; without a limit when `None`.
    pub requests_per_second: Option<u32>,
    /// Calls in one JSON-RPC batch.
    pub batch: usize,
    /// How long a client may take to send its headers.
    pub header_time: Duration,
    /// How long a client may take to send its body.
    pub body_time: Duration,
    /// How long a client may read nothing of an answer before its connection is closed. Its stream can be
    /// resumed.
    pub stall_time: Duration,
    /// How long a stream may be silent before a comment shows that it is alive.
    pub keep_alive: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            body: 16 * 1_024 * 1_024,
            message: chancery_core::Limits::default(),
            requests: 8_192,
            connections: 32_768,
            streams_per_caller: 1_024,
            requests_per_second: None,
            batch: 64,
            header_time: Duration::from_secs(10),
            body_time: Duration::from_secs(60),
            stall_time: Duration::from_secs(60),
            keep_alive: Duration::from_secs(15),
        }
    }
}

/// Counts what is under way, and refuses what would be too much.
#[derive(Debug)]
pub(crate) struct Limiter {
    limits: Limits,
    requests: AtomicUsize,
    streams: Mutex<HashMap<String, usize>>,
    /// When each caller's account is empty again: the generic cell rate algorithm.
    pace: Mutex<HashMap<String, Instant>>,
}

/// A request that is under way.
#[derive(Debug)]
pub(crate) struct RequestPermit(Arc<Limiter>);

/// A stream that is open.
#[derive(Debug)]
pub(crate) struct StreamPermit {
    limiter: Arc<Limiter>,
    caller: String,
}

impl Limiter {
    pub(crate) fn new(limits: Limits) -> Arc<Self> {
        Arc::new(Self { limits, requests: AtomicUsize::new(0), streams: Mutex::default(), pace: Mutex::default() })
    }

    /// Lets a request in.
    pub(crate) fn enter(self: &Arc<Self>, caller: impl FnOnce() -> String) -> Result<RequestPermit> {
        self.pace(caller)?;
        // Counted before it is compared, so that two at the same moment see each other.
        let permit = RequestPermit(self.clone());
        if self.requests.fetch_add(1, Ordering::Relaxed) >= self.limits.requests {
            return Err(Error::new(ErrorKind::Unavailable, "The server has too much to do; try again"));
        }
        Ok(permit)
    }

    /// Counts a request of somebody, who must keep the pace if there is one.
    pub(crate) fn pace(&self, caller: impl FnOnce() -> String) -> Result<()> {
        self.limits.requests_per_second.map_or(Ok(()), |rate| self.keep_pace(caller(), rate))
    }

    /// How many requests are under way.
    pub(crate) fn requests(&self) -> usize {
        self.requests.load(Ordering::Relaxed)
    }

    /// How many streams are open.
    pub(crate) fn streams(&self) -> usize {
        lock(&self.streams).values().sum()
    }

    /// Opens a stream.
    pub(crate) fn open(self: &Arc<Self>, caller: String) -> Result<StreamPermit> {
        let mut streams = lock(&self.streams);
        let open = streams.entry(caller.clone()).or_default();
        if *open >= self.limits.streams_per_caller {
            let words = format!("You have {open} streams open; close one first");
            return Err(Error::new(ErrorKind::RateLimited, words));
        }
        *open += 1;
        drop(streams);
        Ok(StreamPermit { limiter: self.clone(), caller })
    }

    fn keep_pace(&self, caller: String, rate: u32) -> Result<()> {
        /// A caller may save up this much time.
        const BURST: Duration = Duration::from_secs(1);
        /// Accounts are cleared when there are this many, and only those that are full again.
        const ACCOUNTS: usize = 16_384;
        let cost = Duration::from_secs(1) / rate.max(1);
        let now = Instant::now();
        let mut pace = lock(&self.pace);
        if pace.len() >= ACCOUNTS {
            pace.retain(|_, empty| *empty > now);
        }
        let empty = pace.entry(caller).or_insert(now);
        let next = (*empty).max(now) + cost;
        if next > now + BURST + cost {
            return Err(Error::new(ErrorKind::RateLimited, format!("At most {rate} requests in a second; try again")));
        }
        *empty = next;
        Ok(())
    }
}

impl Drop for RequestPermit {
    fn drop(&mut self) {
        self.0.requests.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Drop for StreamPermit {
    fn drop(&mut self) {
        let mut streams = lock(&self.limiter.streams);
        if let Some(open) = streams.get_mut(&self.caller) {
            *open -= 1;
            if *open == 0 {
                streams.remove(&self.caller);
            }
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Nothing in here panics half way through a change.
    mutex.lock()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limiter(change: impl FnOnce(&mut Limits)) -> Arc<Limiter> {
        let mut limits = Limits::default();
        change(&mut limits);
        Limiter::new(limits)
    }

    #[test]
    fn a_request_too_many_is_told_to_come_back_and_counts_for_nothing() {
        let limiter = limiter(|limits| limits.requests = 2);
        let (first, _second) = (limiter.enter(String::new).unwrap(), limiter.enter(String::new).unwrap());
        assert_eq!(limiter.enter(String::new).unwrap_err().kind(), ErrorKind::Unavailable);
        assert_eq!(limiter.requests(), 2);
        drop(first);
        limiter.enter(String::new).unwrap();
    }

    #[test]
    fn streams_are_counted_by_caller() {
        let limiter = limiter(|limits| limits.streams_per_caller = 1);
        let ada = limiter.open("ada".to_owned()).unwrap();
        assert_eq!(limiter.open("ada".to_owned()).unwrap_err().kind(), ErrorKind::RateLimited);
        let _bob = limiter.open("bob".to_owned()).unwrap();
        assert_eq!(limiter.streams(), 2);
        drop(ada);
        limiter.open("ada".to_owned()).unwrap();
    }

    #[test]
    fn who_asks_too_fast_waits_and_nobody_else_does() {
        let limiter = limiter(|limits| limits.requests_per_second = Some(10));
        let ask = |caller: &'static str| limiter.enter(|| caller.to_owned()).map(drop);
        let answered = (0..100).filter(|_| ask("ada").is_ok()).count();
        assert!((10..=12).contains(&answered), "{answered}");
        assert_eq!(ask("ada").unwrap_err().kind(), ErrorKind::RateLimited);
        ask("bob").unwrap();
    }
}
