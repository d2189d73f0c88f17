//! Group commit: the one connection that writes, on a thread of its own, puts the writes that wait into one transaction.
//!
//! ```text
//!  commit ─┐                ┌─ BEGIN, job, job, job, COMMIT ─┐
//!  commit ─┼─> queue ─> whatever waits, at most 256          ├─> answers
//!  settle ─┘                └─ durable before anybody hears ─┘
//! ```
//!
//! There is no timer: while one transaction is written, the next one gathers.

use std::sync::Arc;

use rusqlite::{Connection, ErrorCode};
use tokio::sync::oneshot;

use super::{
    change::{Changes, OwnerKeys},
    queue::{Jobs, Queue, closed},
    tally::Tallies,
};
use crate::store::{Error, Result};

const BATCH: usize = 256;

/// The way to the writing thread.
#[derive(Debug)]
pub(super) struct Writer(Queue<Box<dyn Job>>);

impl Writer {
    pub(super) fn start(connection: Connection, tallies: Arc<Tallies>) -> Result<Self> {
        let queue = Queue::new();
        let worker = Worker { connection, tallies, owners: OwnerKeys::default(), data_version: None };
        queue.spawn("chancery-write", move |jobs| worker.run(jobs))?;
        Ok(Self(queue))
    }

    /// Does some work in a transaction, and answers when that is durable. The work happens also
    /// when nobody waits for the answer. It may be done again from the start, after a rollback.
    ///
    /// Work that ends with [`Error::Conflict`] or [`Error::KeyTaken`] must not have written
    /// anything: the transaction goes on without it.
    pub(super) async fn write<T, F>(&self, work: F) -> Result<T>
    where
        T: Send + 'static,
        F: Fn(&mut Changes<'_>) -> Result<T> + Send + 'static,
    {
        let (reply, answer) = oneshot::channel();
        self.0.push(Box::new(Task { work, done: None, reply }))?;
        answer.await.unwrap_or_else(|_| Err(closed()))
    }

    /// Takes no more work, and waits until what was queued is done.
    pub(super) fn close(&self) {
        self.0.close();
    }
}

/// Work whose answer goes to whoever waits for it.
trait Job: Send {
    fn run(&mut self, changes: &mut Changes<'_>) -> Result<(), Failure>;

    /// Gives the answer: of the work, or that the transaction failed.
    fn answer(self: Box<Self>, failed: Option<&Failure>);
}

struct Task<T, F> {
    work: F,
    done: Option<Result<T>>,
    reply: oneshot::Sender<Result<T>>,
}

impl<T, F> Job for Task<T, F>
where
    T: Send,
    F: Fn(&mut Changes<'_>) -> Result<T> + Send,
{
    fn run(&mut self, changes: &mut Changes<'_>) -> Result<(), Failure> {
        self.done = Some(match (self.work)(changes) {
            Err(error) if !matches!(error, Error::Conflict(_) | Error::KeyTaken) => return Err(Failure::from(error)),
            done => done,
        });
        Ok(())
    }

    fn answer(self: Box<Self>, failed: Option<&Failure>) {
        let answer = match (failed, self.done) {
            (None, Some(done)) => done,
            (Some(failure), _) => Err(failure.error()),
            (None, None) => Err(closed()),
        };
        // Whoever asked may have gone; the work is done all the same.
        drop(self.reply.send(answer));
    }
}

/// Why a transaction was rolled back, for everybody who was in it.
#[derive(Debug)]
struct Failure {
    source: Arc<dyn std::error::Error + Send + Sync>,
    corrupt: bool,
    /// The store as a whole is in trouble: trying the jobs one by one would not help.
    general: bool,
}

impl Failure {
    fn error(&self) -> Error {
        let source = Box::new(self.source.clone());
        if self.corrupt { Error::Corrupt(source) } else { Error::Unavailable(source) }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let corrupt = matches!(error, Error::Corrupt(_));
        let source = match error {
            Error::Unavailable(source) | Error::Corrupt(source) => source,
            other => other.into(),
        };
        let code = source.downcast_ref::<rusqlite::Error>().and_then(rusqlite::Error::sqlite_error_code);
        let general = code.is_some_and(|code| {
            use ErrorCode as C;
            let trouble =
                [C::DiskFull, C::SystemIoFailure, C::ReadOnly, C::OutOfMemory, C::DatabaseBusy, C::DatabaseCorrupt, C::CannotOpen];
            trouble.contains(&code)
        });
        Self { source: source.into(), corrupt, general }
    }
}

impl From<rusqlite::Error> for Failure {
    fn from(error: rusqlite::Error) -> Self {
        Self::from(Error::from(error))
    }
}

struct Worker {
    connection: Connection,
    tallies: Arc<Tallies>,
    owners: OwnerKeys,
    data_version: Option<i64>,
}

impl Worker {
    fn run(mut self, queue: &Jobs<Box<dyn Job>>) {
        let mut jobs = Vec::with_capacity(BATCH);
        while queue.take(&mut jobs, BATCH) {
            match self.transact(&mut jobs) {
                Err(failure) if !failure.general && jobs.len() > 1 => jobs.drain(..).for_each(|job| self.alone(job)),
                result => answer(&mut jobs, result),
            }
        }
    }

    /// One job of a transaction was at fault; its neighbors shall not suffer from it.
    fn alone(&mut self, job: Box<dyn Job>) {
        let mut jobs = vec![job];
        let result = self.transact(&mut jobs);
        answer(&mut jobs, result);
    }

    fn transact(&mut self, jobs: &mut [Box<dyn Job>]) -> Result<(), Failure> {
        let result = self.attempt(jobs);
        if let Err(failure) = &result {
            tracing::warn!(error = %failure.source, jobs = jobs.len(), "transaction failed");
            // Some failures have rolled back already.
            if !self.connection.is_autocommit()
                && let Err(error) = self.connection.execute_batch("ROLLBACK")
            {
                tracing::error!(%error, "rollback failed");
            }
            // They may hold what was rolled back.
            self.owners.forget();
        }
        result
    }

    fn attempt(&mut self, jobs: &mut [Box<dyn Job>]) -> Result<(), Failure> {
        self.connection.prepare_cached("BEGIN IMMEDIATE")?.execute([])?;
        self.notice_others()?;
        let mut changes = Changes::new(&self.connection, &mut self.owners);
        for job in jobs {
            job.run(&mut changes)?;
        }
        let moved = changes.into_moved();
        let _between = self.tallies.between_commits();
        if let Err(error) = self.connection.prepare_cached("COMMIT").and_then(|mut commit| commit.execute([])) {
            return Err(Failure { general: true, ..Failure::from(error) });
        }
        // Before the answers: who has heard of a commit finds it in the totals.
        self.tallies.apply(&moved);
        Ok(())
    }

    /// Forgets what was remembered when another process has written into the file.
    fn notice_others(&mut self) -> Result<(), Failure> {
        let now = self.connection.prepare_cached("PRAGMA data_version")?.query_row([], |row| row.get(0))?;
        if self.data_version.replace(now).is_some_and(|before| before != now) {
            self.tallies.forget();
            self.owners.forget();
        }
        Ok(())
    }
}

fn answer(jobs: &mut Vec<Box<dyn Job>>, result: Result<(), Failure>) {
    let failed = result.err();
    jobs.drain(..).for_each(|job| job.answer(failed.as_ref()));
}
