//! Webhooks: their configs as they are stored, and the outbox that sends what they are owed.

mod outbox;
mod retry;

use async_trait::async_trait;
use chancery_core::{BoxError, Bytes, Event, PushConfig, PushConfigId, PushRecord, Task, TaskId};
use serde::{Deserialize, Serialize};

pub use outbox::Outbox;
pub(crate) use outbox::Post;
pub use retry::Schedule;

use crate::store;

/// A notification on its way.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Notification {
    /// Names this notification; the same over all attempts, so that receivers can drop repeats.
    pub id: String,
    /// Where it goes, and what the webhook is to be shown.
    pub config: PushConfig,
    /// What happened.
    pub event: Event,
    /// The task as it stood then: what older versions send instead of the event.
    pub task: Task,
    /// 1 for the first attempt.
    pub attempt: u32,
}

/// How a receiver answered.
#[derive(Debug)]
#[non_exhaustive]
pub enum Sent {
    /// It has it.
    Accepted,
    /// It never wants to hear of this again.
    Gone,
    /// It failed; `after` is when it asked to be tried again.
    Failed {
        /// What went wrong, for our logs.
        error: BoxError,
        /// How long the receiver asked us to wait.
        after: Option<std::time::Duration>,
    },
}

/// Sends notifications. The doors implement it over HTTP.
#[async_trait]
pub trait Sender: Send + Sync + 'static {
    /// Sends one notification, once.
    async fn send(&self, notification: &Notification) -> Sent;
}

#[derive(Serialize, Deserialize)]
struct StoredConfig {
    config: PushConfig,
    record: PushRecord,
}

/// A config with the ids that the server fills in.
pub(crate) fn filled(mut config: PushConfig, task: &TaskId) -> PushConfig {
    if config.id.is_empty() {
        config.id = PushConfigId::generate();
    }
    config.task_id = task.clone();
    config
}

/// A config as bytes, with its record.
pub(crate) fn write(config: &PushConfig) -> Bytes {
    let stored = StoredConfig { record: config.record.clone(), config: config.clone() };
    // Writing to memory does not fail, and all keys of the model are strings.
    serde_json::to_vec(&stored).unwrap_or_default().into()
}

/// A config from the bytes that a store has of it.
///
/// # Errors
/// [`store::Error::Corrupt`] when they are no config.
pub fn read(bytes: &[u8]) -> store::Result<PushConfig> {
    let stored: StoredConfig = serde_json::from_slice(bytes).map_err(|error| store::Error::Corrupt(error.into()))?;
    let mut config = stored.config;
    config.record = stored.record;
    Ok(config)
}
