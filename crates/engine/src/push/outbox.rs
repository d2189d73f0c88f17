//! Outbox: deliveries that were written with the events of a task are sent to its webhooks, at least once, in order per task and webhook,
//! for hours if need be.

use std::{
    collections::HashMap,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
    task::Poll,
    time::Duration,
};

use chancery_core::{Event, Seq, Task, TaskId, sync::Mutex};
use tokio::task::{JoinError, JoinSet};

use super::{Notification, Schedule, Sender, Sent};
use crate::{
    clock,
    delegation::view,
    driver::Command,
    engine::Inner,
    log, names, state,
    store::{self, Due, Settled},
};

/// How many deliveries are under way at once.
const AT_ONCE: usize = 64;
/// How long a delivery is ours while we send it; a process that dies gives it back by then.
const LEASE: Duration = Duration::from_secs(60);
/// How long one attempt may take. Shorter than the lease: nobody else sends the same meanwhile.
const ATTEMPT: Duration = Duration::from_secs(30);
/// The longest pause that a receiver may ask for.
const LONGEST_PAUSE: Duration = Duration::from_secs(24 * 3_600);
/// How long to wait at the most before looking again, should a wake-up be missed.
const LOOK: Duration = Duration::from_secs(1);
/// How many events of a log are read at once.
const ROWS: usize = 256;
/// How many folded tasks are remembered.
const FOLDED: usize = 64;

/// The worker behind the webhooks.
#[derive(Clone)]
pub struct Outbox {
    engine: Arc<Inner>,
    post: Arc<Post>,
}

/// Who sends, when again, and what was folded last.
pub(crate) struct Post {
    sender: Arc<dyn Sender>,
    schedule: Schedule,
    /// Tasks as they stood at the last notification, so that the next goes on from there and a long log
    /// is not read from its beginning for each of its events.
    folded: Mutex<HashMap<TaskId, (Seq, Task)>>,
}

impl Post {
    pub(crate) fn new(sender: Arc<dyn Sender>, schedule: Schedule) -> Arc<Self> {
        Arc::new(Self { sender, schedule, folded: Mutex::new(HashMap::new()) })
    }

    fn folded(&self, task: &TaskId, up_to: Seq) -> (Seq, Task) {
        let folded = self.folded.lock();
        folded.get(task).filter(|(seq, _)| *seq < up_to).cloned().unwrap_or_else(|| (Seq::START, Task::default()))
    }

    fn remember(&self, id: &TaskId, seq: Seq, task: &Task) {
        let mut folded = self.folded.lock();
        if task.status.state.is_terminal() {
            folded.remove(id);
            return;
        }
        if folded.len() >= FOLDED && !folded.contains_key(id) {
            folded.clear();
        }
        folded.insert(id.clone(), (seq, task.clone()));
    }
}

impl Outbox {
    pub(crate) fn new(engine: Arc<Inner>, post: Arc<Post>) -> Self {
        Self { engine, post }
    }

    /// Sends until the engine stops; what is under way then is brought to its end.
    pub(crate) async fn work(self) {
        let stopping = self.engine.stopping.clone();
        let mut sending = JoinSet::new();
        while !stopping.is_cancelled() {
            let pause = self.take(&mut sending).await.unwrap_or_else(|error| {
                tracing::warn!(%error, "the outbox cannot be read");
                LOOK
            });
            tokio::select! {
                () = stopping.cancelled() => {}
                // What ended may have made the next in its line due.
                Some(ended) = sending.join_next() => note(flat(ended)),
                () = self.engine.outbox.notified(), if sending.len() < AT_ONCE => {}
                () = tokio::time::sleep(pause), if sending.len() < AT_ONCE => {}
            }
        }
        while let Some(ended) = sending.join_next().await {
            note(flat(ended));
        }
    }

    /// Begins to send what is due, as far as there is room, and says how long to wait for more.
    async fn take(&self, sending: &mut JoinSet<store::Result<()>>) -> store::Result<Duration> {
        let now = self.engine.now();
        let next = self.engine.store.next_due(&self.engine.name).await?;
        // Looking costs a read, taking a write.
        if next.is_some_and(|next| next <= now) && sending.len() < AT_ONCE {
            for due in self.engine.store.due(&self.engine.name, now, clock::after(now, LEASE), AT_ONCE - sending.len()).await? {
                sending.spawn(self.clone().deliver(due));
            }
        }
        let wait = next.map(|next| next.unix_millis().saturating_sub(now.unix_millis()));
        let wait = wait.and_then(|millis| u64::try_from(millis).ok()).filter(|millis| *millis > 0);
        Ok(wait.map_or(LOOK, Duration::from_millis).min(LOOK))
    }

    /// Sends what is due now, all at the same time, and says how many that were: of each task and
    /// webhook at most one, and no more than fit at once.
    ///
    /// # Errors
    /// When the store cannot be read or written.
    pub async fn round(&self) -> store::Result<usize> {
        let now = self.engine.now();
        let due = self.engine.store.due(&self.engine.name, now, clock::after(now, LEASE), AT_ONCE).await?;
        let count = due.len();
        let mut sending: JoinSet<_> = due.into_iter().map(|due| self.clone().deliver(due)).collect();
        let mut result = Ok(count);
        while let Some(ended) = sending.join_next().await {
            if let Err(error) = flat(ended) {
                result = Err(error);
            }
        }
        result
    }

    async fn deliver(self, due: Due) -> store::Result<()> {
        let settled = match self.notification(&due).await {
            Ok(Some(notification)) => self.attempt(&due, &notification).await?,
            // The task or the webhook is gone; nobody is owed anything.
            Ok(None) => Some(Settled::Delivered),
            Err(store::Error::Corrupt(error)) => {
                tracing::error!(task = %due.task, %error, "a notification cannot be made");
                Some(Settled::Dead)
            }
            Err(error) => return Err(error),
        };
        match settled {
            Some(settled) => self.engine.store.settle(due.id, settled).await,
            None => Ok(()),
        }
    }

    /// Sends once. `None` when there is nothing left to settle.
    async fn attempt(&self, due: &Due, notification: &Notification) -> store::Result<Option<Settled>> {
        Ok(Some(match self.send(notification).await {
            Sent::Accepted => Settled::Delivered,
            Sent::Gone => {
                let config = &due.delivery.config;
                tracing::info!(task = %due.task, %config, "the webhook is gone");
                self.engine.store.delete_config(&due.owner, &due.task, config).await?;
                if let Some(live) = self.engine.live(&due.owner, &due.task) {
                    // Without a driver there is nobody to tell.
                    drop(live.command(Command::Unwatch(config.clone())));
                }
                return Ok(None);
            }
            Sent::Failed { error, after } => {
                tracing::debug!(task = %due.task, attempt = notification.attempt, %error, "a notification was not delivered");
                let asked = after.unwrap_or_default().min(LONGEST_PAUSE);
                let pause = self.post.schedule.pause(notification.attempt, due.id).map(|pause| pause.max(asked));
                pause.map_or(Settled::Dead, |pause| Settled::Retry(clock::after(self.engine.now(), pause)))
            }
        }))
    }

    /// The sender's answer; one that takes too long or panics has failed.
    async fn send(&self, notification: &Notification) -> Sent {
        let mut sending = self.post.sender.send(notification);
        let guarded = std::future::poll_fn(move |cx| match catch_unwind(AssertUnwindSafe(|| sending.as_mut().poll(cx))) {
            Ok(Poll::Pending) => Poll::Pending,
            Ok(Poll::Ready(sent)) => Poll::Ready(sent),
            Err(_) => Poll::Ready(Sent::Failed { error: "the sender panicked".into(), after: None }),
        });
        let late = |_| Sent::Failed { error: "the receiver took too long".into(), after: None };
        tokio::time::timeout(ATTEMPT, guarded).await.unwrap_or_else(late)
    }

    /// The event, and the task as it stood then; `None` when either or the webhook is gone.
    async fn notification(&self, due: &Due) -> store::Result<Option<Notification>> {
        let Some(configs) = self.engine.store.configs(&due.owner, &due.task).await? else { return Ok(None) };
        let Some((_, config)) = configs.iter().find(|(id, _)| *id == due.delivery.config) else { return Ok(None) };
        let config = super::read(config)?;
        let Some((event, task)) = self.fold(due).await? else { return Ok(None) };
        // Whoever can turn to where the task is now is owed nothing more.
        let Some((mut event, mut task)) = view::notified(due.delivery.seq, event, task, config.record.aware) else { return Ok(None) };
        if let Some(name) = &config.record.task_name {
            names::rename(&mut event, name);
            task.id = name.clone();
        }
        let id = format!("{}.{}.{}", due.task, due.delivery.seq, due.delivery.config);
        Ok(Some(Notification { id, config, event, task, attempt: due.attempts.saturating_add(1) }))
    }

    /// The log folded up to the event.
    async fn fold(&self, due: &Due) -> store::Result<Option<(Event, Task)>> {
        let wanted = due.delivery.seq;
        let (mut after, mut task) = self.post.folded(&due.task, wanted);
        loop {
            let rows = self.engine.store.rows(&due.owner, &due.task, after, ROWS).await?;
            let begun = after;
            for row in &rows {
                for (seq, entry) in log::read_entries(row)?.into_iter().filter(|(seq, _)| *seq > begun) {
                    state::apply(&mut task, &entry).map_err(|error| store::Error::Corrupt(error.into()))?;
                    after = seq;
                    if seq == wanted {
                        self.post.remember(&due.task, seq, &task);
                        return Ok(Some((entry.event, task)));
                    }
                }
            }
            if after == begun {
                return Ok(None);
            }
        }
    }
}

/// A delivery that was lost on the way is taken up again when its lease ends.
fn flat(ended: Result<store::Result<()>, JoinError>) -> store::Result<()> {
    ended.unwrap_or_else(|error| Err(store::Error::Unavailable(error.into())))
}

fn note(ended: store::Result<()>) {
    if let Err(error) = ended {
        tracing::warn!(%error, "a delivery could not be settled");
    }
}
