//! A bounded way to threads of the store: who finds it full is refused at once, not kept waiting.

use std::{
    fmt,
    sync::{Mutex, PoisonError},
    thread::JoinHandle,
};

use tokio::sync::mpsc::{self, error::TrySendError};

use crate::store::{Error, Result};

const LENGTH: usize = 4_096;

/// Jobs for threads, and the threads.
pub(super) struct Queue<J> {
    jobs: Mutex<Option<mpsc::Sender<J>>>,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

impl<J> Queue<J> {
    pub(super) fn new() -> (Self, mpsc::Receiver<J>) {
        let (jobs, queue) = mpsc::channel(LENGTH);
        (Self { jobs: Mutex::new(Some(jobs)), threads: Mutex::default() }, queue)
    }

    /// Starts a thread that ends when the queue is closed and empty.
    pub(super) fn spawn(&self, name: &str, work: impl FnOnce() + Send + 'static) -> Result<()> {
        let thread = std::thread::Builder::new().name(name.to_owned()).spawn(work).map_err(|error| Error::Unavailable(error.into()))?;
        self.threads.lock().unwrap_or_else(PoisonError::into_inner).push(thread);
        Ok(())
    }

    pub(super) fn push(&self, job: J) -> Result<()> {
        let jobs = self.jobs.lock().unwrap_or_else(PoisonError::into_inner);
        jobs.as_ref().ok_or_else(closed)?.try_send(job).map_err(|refused| match refused {
            TrySendError::Full(_) => Error::Unavailable(format!("{LENGTH} calls are waiting").into()),
            TrySendError::Closed(_) => closed(),
        })
    }

    /// Takes no more jobs, and waits until those that were queued are done.
    pub(super) fn close(&self) {
        drop(self.jobs.lock().unwrap_or_else(PoisonError::into_inner).take());
        for thread in self.threads.lock().unwrap_or_else(PoisonError::into_inner).drain(..) {
            if thread.join().is_err() {
                tracing::error!("a thread of the store panicked");
            }
        }
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
