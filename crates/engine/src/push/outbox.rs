//! Sends what webhooks are owed: at least once, in order per task and webhook, for hours if need be.

use std::{sync::Arc, time::Duration};

use chancery_core::{Seq, Task};

use super::{Notification, Schedule, Sender, Sent};
use crate::{
    clock,
    engine::Inner,
    log, state,
    store::{self, Due, Settled},
};

/// How many deliveries are taken at once.
const BATCH: usize = 32;
/// How long a delivery is ours while we send it; a process that dies gives it back by then.
const LEASE: Duration = Duration::from_secs(60);
/// How long to wait at the most before looking again, should a wake-up be missed.
const LOOK: Duration = Duration::from_secs(1);

/// The worker behind the webhooks.
pub struct Outbox {
    engine: Arc<Inner>,
    sender: Arc<dyn Sender>,
    schedule: Schedule,
}

impl Outbox {
    pub(crate) fn new(engine: Arc<Inner>, sender: Arc<dyn Sender>, schedule: Schedule) -> Self {
        Self { engine, sender, schedule }
    }

    /// Sends until the engine stops.
    pub(crate) async fn work(self) {
        let stopping = self.engine.stopping.clone();
        while !stopping.is_cancelled() {
            match self.round().await {
                Ok(0) => {
                    tokio::select! {
                        () = stopping.cancelled() => {}
                        () = self.engine.outbox.notified() => {}
                        () = tokio::time::sleep(LOOK) => {}
                    }
                }
                Ok(_) => {}
                Err(error) => {
                    tracing::warn!(%error, "the outbox cannot be read");
                    tokio::time::sleep(LOOK).await;
                }
            }
        }
    }

    /// Sends what is due now, and says how many that were.
    ///
    /// # Errors
    /// When the store cannot be read or written.
    pub async fn round(&self) -> store::Result<usize> {
        let now = self.engine.now();
        let due = self.engine.store.due(now, clock::after(now, LEASE), BATCH).await?;
        let sending: Vec<_> = due.iter().map(|due| self.deliver(due)).collect();
        for sent in sending {
            sent.await?;
        }
        Ok(due.len())
    }

    async fn deliver(&self, due: &Due) -> store::Result<()> {
        let Some(notification) = self.notification(due).await? else {
            // The task or the webhook is gone; nobody is owed anything.
            return self.engine.store.settle(due.id, Settled::Delivered).await;
        };
        let settled = match self.sender.send(&notification).await {
            Sent::Accepted => Settled::Delivered,
            Sent::Gone => {
                tracing::info!(task = %due.task, config = %due.delivery.config, "the webhook is gone");
                self.engine.store.delete_config(&due.scope, &due.task, &due.delivery.config).await?;
                return Ok(());
            }
            Sent::Failed { error, after } => {
                let pause = self.schedule.pause(due.attempts + 1, due.id).map(|pause| after.map_or(pause, |asked| asked.max(pause)));
                tracing::debug!(task = %due.task, attempt = due.attempts + 1, %error, "a notification was not delivered");
                pause.map_or(Settled::Dead, |pause| Settled::Retry(clock::after(self.engine.now(), pause)))
            }
        };
        self.engine.store.settle(due.id, settled).await
    }

    /// The event, and the task as it stood then: the log folded up to that place.
    async fn notification(&self, due: &Due) -> store::Result<Option<Notification>> {
        let Some(configs) = self.engine.store.configs(&due.scope, &due.task).await? else { return Ok(None) };
        let Some((_, config)) = configs.iter().find(|(id, _)| *id == due.delivery.config) else { return Ok(None) };
        let config = super::read(config)?;
        let mut task = Task::default();
        let mut event = None;
        let mut after = Seq::START;
        while event.is_none() {
            let rows = self.engine.store.rows(&due.scope, &due.task, after, 256).await?;
            if rows.is_empty() {
                return Ok(None);
            }
            for (seq, entry) in rows.iter().map(log::read_entries).collect::<store::Result<Vec<_>>>()?.into_iter().flatten() {
                if seq <= after || seq > due.delivery.seq {
                    continue;
                }
                state::apply(&mut task, &entry).map_err(|error| store::Error::Corrupt(error.into()))?;
                after = seq;
                if seq == due.delivery.seq {
                    event = Some(entry.event);
                }
            }
        }
        let id = format!("{}.{}.{}", due.task, due.delivery.seq, due.delivery.config);
        Ok(event.map(|event| Notification { id, config, event, task, attempt: due.attempts + 1 }))
    }
}
