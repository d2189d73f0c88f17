//! Bounded job queue of the threads of the store. Backpressure: who finds it full is refused at once, not kept waiting.
//!
//! At most one thread is on its way to the jobs at any time; when it has taken its share and some are left, it
//! calls the next. A burst of small jobs then wakes one thread, and a burst of large ones all of them.

use std::{
    collections::VecDeque,
    fmt,
    sync::{Arc, Condvar, MutexGuard},
    thread::JoinHandle,
};

use crate::store::{Error, Result};
use chancery_core::sync::{Mutex, unpoisoned};

const LENGTH: usize = 4_096;

/// Jobs for threads, and the threads.
pub(super) struct Queue<J> {
    jobs: Arc<Jobs<J>>,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

/// Where threads find their jobs.
pub(super) struct Jobs<J> {
    state: Mutex<State<J>>,
    bell: Condvar,
}

struct State<J> {
    waiting: VecDeque<J>,
    /// Threads that wait for the bell.
    idle: usize,
    /// Whether the bell was rung for a thread that did not come yet.
    called: bool,
    /// Threads that did not end.
    threads: usize,
    closed: bool,
}

impl<J: Send + 'static> Queue<J> {
    pub(super) fn new() -> Self {
        let state = State { waiting: VecDeque::new(), idle: 0, called: false, threads: 0, closed: false };
        Self { jobs: Arc::new(Jobs { state: Mutex::new(state), bell: Condvar::new() }), threads: Mutex::default() }
    }

    /// Starts a thread, which is to end when there are no more jobs to take.
    pub(super) fn spawn(&self, name: &str, work: impl FnOnce(&Jobs<J>) + Send + 'static) -> Result<()> {
        self.jobs.lock().threads += 1;
        let leaving = Leaving(self.jobs.clone());
        let run = move || work(&leaving.0);
        let thread = std::thread::Builder::new().name(name.to_owned()).spawn(run).map_err(|error| Error::Unavailable(error.into()))?;
        self.threads.lock().push(thread);
        Ok(())
    }

    pub(super) fn push(&self, job: J) -> Result<()> {
        let mut state = self.jobs.lock();
        if state.closed {
            return Err(closed());
        }
        if state.waiting.len() >= LENGTH {
            return Err(Error::Unavailable(format!("{LENGTH} calls are waiting").into()));
        }
        state.waiting.push_back(job);
        self.jobs.call(state);
        Ok(())
    }
}

impl<J> Queue<J> {
    /// Takes no more jobs, and waits until those that were queued are done.
    pub(super) fn close(&self) {
        self.jobs.lock().closed = true;
        self.jobs.bell.notify_all();
        for thread in self.threads.lock().drain(..) {
            if thread.join().is_err() {
                tracing::error!("a thread of the store panicked");
            }
        }
    }
}

impl<J> Jobs<J> {
    /// Waits for jobs and takes some, but not more than `most`. `false` when there will be no more.
    pub(super) fn take(&self, jobs: &mut Vec<J>, most: usize) -> bool {
        let mut state = self.lock();
        while state.waiting.is_empty() {
            if state.closed {
                return false;
            }
            state.idle += 1;
            state = unpoisoned(self.bell.wait(state));
            state.idle -= 1;
            state.called = false;
        }
        let count = state.waiting.len().min(most);
        jobs.extend(state.waiting.drain(..count));
        self.call(state);
        true
    }

    /// Calls a thread, if there is something to do, one that has nothing to do, and none on its way.
    fn call(&self, mut state: MutexGuard<'_, State<J>>) {
        if state.waiting.is_empty() || state.idle == 0 || state.called {
            return;
        }
        state.called = true;
        drop(state);
        self.bell.notify_one();
    }

    fn lock(&self) -> MutexGuard<'_, State<J>> {
        // Nothing in here panics half way through a change.
        self.state.lock()
    }
}

/// A thread that ends, in whatever way. Without the last one nobody would ever answer what waits.
struct Leaving<J>(Arc<Jobs<J>>);

impl<J> Drop for Leaving<J> {
    fn drop(&mut self) {
        let mut state = self.0.lock();
        state.threads -= 1;
        if state.threads > 0 {
            return;
        }
        state.closed = true;
        let unanswered = std::mem::take(&mut state.waiting);
        // Not under the lock: who hears of it may ask again.
        drop(state);
        drop(unanswered);
    }
}

impl<J> fmt::Debug for Queue<J> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Queue").finish_non_exhaustive()
    }
}

impl<J> Drop for Queue<J> {
    fn drop(&mut self) {
        self.close();
    }
}

pub(super) fn closed() -> Error {
    Error::Unavailable("the store is closed".into())
}

#[cfg(test)]
mod tests {
    use std::{sync::mpsc, time::Duration};

    use super::*;

    type Job = Box<dyn FnOnce() + Send>;

    fn work(jobs: &Jobs<Job>) {
        let mut taken = Vec::new();
        while jobs.take(&mut taken, 2) {
            taken.drain(..).for_each(|job| job());
        }
    }

    #[test]
    fn every_job_is_done_once_and_the_rest_before_the_end() {
        let queue = Queue::<Job>::new();
        for _ in 0..3 {
            queue.spawn("worker", work).unwrap();
        }
        let (done, all) = mpsc::channel();
        for number in 0..1_000 {
            let done = done.clone();
            queue.push(Box::new(move || done.send(number).unwrap())).unwrap();
        }
        queue.close();
        drop(done);
        let mut all: Vec<_> = all.iter().collect();
        all.sort_unstable();
        assert_eq!(all, (0..1_000).collect::<Vec<_>>());
        assert!(queue.push(Box::new(|| {})).is_err(), "it is closed");
    }

    /// Jobs that wait for each other go on only if each has a thread of its own.
    #[test]
    fn jobs_that_take_long_have_all_threads() {
        const THREADS: usize = 3;
        let queue = Queue::<Job>::new();
        for _ in 0..THREADS {
            let work = |jobs: &Jobs<Job>| {
                let mut taken = Vec::new();
                while jobs.take(&mut taken, 1) {
                    taken.drain(..).for_each(|job| job());
                }
            };
            queue.spawn("worker", work).unwrap();
        }
        for round in 0..100 {
            let (begun, all) = mpsc::channel();
            let rest: Vec<_> = (0..THREADS)
                .map(|_| {
                    let (begun, (go, wait)) = (begun.clone(), mpsc::channel::<()>());
                    let job = move || {
                        begun.send(()).unwrap();
                        // Ends when everybody has begun, or the test has given up.
                        let _ = wait.recv();
                    };
                    queue.push(Box::new(job)).unwrap();
                    go
                })
                .collect();
            for number in 0..THREADS {
                assert!(all.recv_timeout(Duration::from_secs(20)).is_ok(), "{number} of {THREADS} began in round {round}");
            }
            drop(rest);
        }
        queue.close();
    }

    #[test]
    fn who_finds_it_full_is_refused() {
        let queue = Queue::<Job>::new();
        let (go, wait) = mpsc::channel::<()>();
        queue
            .spawn("worker", move |jobs| {
                wait.recv().unwrap();
                work(jobs);
            })
            .unwrap();
        for _ in 0..LENGTH {
            queue.push(Box::new(|| {})).unwrap();
        }
        let refused = queue.push(Box::new(|| {}));
        assert!(matches!(refused, Err(Error::Unavailable(_))), "{refused:?}");
        go.send(()).unwrap();
        queue.close();
    }

    #[test]
    fn nobody_waits_for_threads_that_are_gone() {
        let queue = Queue::<Job>::new();
        let (go, wait) = mpsc::channel::<()>();
        queue.spawn("worker", move |_| wait.recv().unwrap()).unwrap();
        let (answer, answered) = mpsc::channel::<()>();
        queue.push(Box::new(move || answer.send(()).unwrap())).unwrap();
        // The thread ends without a look at its jobs, as one does that panics.
        go.send(()).unwrap();
        assert!(answered.recv().is_err(), "what waited is dropped");
        assert!(queue.push(Box::new(|| {})).is_err(), "and nothing more is taken");
    }
}
