//! Webhooks: the notifications that go out.
//!
//! The engine's outbox decides what is owed to whom and when; [`Webhooks`] sends one notification, once, and
//! says how it went.
//!
//! ```text
//!  outbox --Notification--> dialect of the config's creator --> body
//!                           token, credential               --> headers
//!                           Key                             --> webhook-signature
//!                           chancery_net::Client            --> POST, to a checked address
//!         <--Sent---------- 2xx accepted, 410 gone, everything else failed (Retry-After)
//! ```
//!
//! Signatures follow Standard Webhooks: Ed25519 over `{webhook-id}.{webhook-timestamp}.{body}`. The public key
//! belongs at `/.well-known/jwks.json`; [`Key::jwks`] writes it.
//!
//! ```no_run
//! use chancery_engine::{Engine, Failure, Outcome, Turn};
//! use chancery_net::{Client, Guard, Options, Reach};
//! use chancery::webhook::{Key, Webhooks};
//!
//! # async fn echo(turn: Turn) -> Result<Outcome, Failure> { Ok(Outcome::reply(turn.text())) }
//! # fn start(card: chancery_core::Card) -> Result<(), Box<dyn std::error::Error>> {
//! let key = Key::open("data")?;
//! let webhooks = Webhooks::new(Client::new(Reach::Guarded(Guard::new()), &Options::new())?, key.clone());
//! let engine = Engine::new(card, echo).sender(webhooks).start();
//! # Ok(()) }
//! ```

mod answer;
mod headers;
mod key;

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use chancery_core::{Binding, Origin};
use chancery_engine::{
    clock::{Clock, SystemClock},
    push::{Notification, Sender, Sent},
};
use chancery_net::{Blocked, Client};
use chancery_wire::Dialect;
use http::{Method, StatusCode};

pub use key::{Key, KeyError};

/// How much of an answer is read, so that its connection can be used again.
const ANSWER: usize = 4 * 1024;
/// How long the rest of an answer is waited for; what it means is known by then.
const REST: Duration = Duration::from_secs(1);

/// Sends notifications over HTTP.
#[derive(Clone)]
pub struct Webhooks {
    client: Client,
    key: Key,
    clock: Arc<dyn Clock>,
}

/// Why a notification was not delivered.
#[derive(Debug, thiserror::Error)]
enum Failure {
    #[error("the URL of the webhook is refused")]
    Refused(#[source] Blocked),
    #[error("the header {0:?} cannot be sent")]
    Header(String),
    #[error("the notification has no JSON form in the version of the webhook")]
    Version,
    #[error("the notification cannot be written")]
    Body(#[source] chancery_core::Error),
    #[error("the notification cannot be signed")]
    Signature,
    #[error("the receiver took too long")]
    Late,
    #[error("the receiver cannot be reached")]
    Unreachable(#[source] reqwest::Error),
    #[error("the receiver answered {0}")]
    Status(StatusCode),
}

impl Webhooks {
    /// Sends through this client, signed with this key.
    #[must_use]
    pub fn new(client: Client, key: Key) -> Self {
        Self { client, key, clock: Arc::new(SystemClock) }
    }

    /// Where the time of a notification comes from.
    #[must_use]
    pub fn clock(mut self, clock: impl Clock) -> Self {
        self.clock = Arc::new(clock);
        self
    }

    async fn post(&self, notification: &Notification) -> Result<Sent, Failure> {
        let config = &notification.config;
        let dialect = dialect(config.record.origin).ok_or(Failure::Version)?;
        if !dialect.notifies(&notification.event) {
            // The outbox queues every event; which of them a version hears of is known only here.
            return Ok(Sent::Accepted);
        }
        let request = self.client.request(Method::POST, &config.url).map_err(Failure::Refused)?;
        let body = dialect.encode_push(&notification.event, &notification.task).map_err(Failure::Body)?;
        let headers = headers::headers(notification, &body, &self.key, self.clock.now())?;
        let mut response = request.headers(headers).body(body).send().await.map_err(Failure::from)?;
        let sent = answer::read(response.status(), response.headers(), self.clock.now());
        // Neither a long nor a broken body changes what the status says.
        drop(tokio::time::timeout(REST, chancery_net::read_body(&mut response, ANSWER)).await);
        Ok(sent)
    }
}

#[async_trait]
impl Sender for Webhooks {
    async fn send(&self, notification: &Notification) -> Sent {
        self.post(notification).await.unwrap_or_else(|error| {
            let (task, config) = (&notification.task.id, &notification.config.id);
            match &error {
                Failure::Refused(reason) => tracing::warn!(%task, %config, ?reason, "the URL of a webhook is refused"),
                Failure::Unreachable(cause) => tracing::debug!(%task, %config, ?cause, "a receiver cannot be reached"),
                Failure::Late => tracing::debug!(%task, %config, "a receiver took too long"),
                error => tracing::warn!(%task, %config, %error, "a notification was not sent"),
            }
            Sent::Failed { error: error.into(), after: None }
        })
    }
}

impl From<reqwest::Error> for Failure {
    fn from(error: reqwest::Error) -> Self {
        if let Some(reason) = chancery_net::blocked(&error) {
            return Self::Refused(reason.clone());
        }
        // The query of a webhook's URL may hold a secret.
        if error.is_timeout() { Self::Late } else { Self::Unreachable(error.without_url()) }
    }
}

/// The JSON form of a webhook's bodies. gRPC has none of its own, so its clients get that of the version.
fn dialect(origin: Origin) -> Option<Dialect> {
    Dialect::of(origin.version, origin.binding).or_else(|| Dialect::of(origin.version, Binding::JsonRpc))
}
