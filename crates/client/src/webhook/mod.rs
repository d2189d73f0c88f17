//! Receives the notifications of agents.
//!
//! A [`Receiver`] checks who sent a notification and for which registration, and passes each on once, whatever
//! version it is in:
//!
//! ```text
//!  POST --> token --> signature over {webhook-id}.{webhook-timestamp}.{body} --> seen before? --> Notification
//!           401       401                                                        200, dropped
//! ```
//!
//! On its own:
//!
//! ```no_run
//! use chancery_client::webhook::Receiver;
//!
//! # async fn run(agent: chancery_client::Client) -> chancery_core::Result<()> {
//! let receiver = Receiver::new().token("a secret of this registration").signed_by("https://agent.example.com")?;
//! let mut hook = receiver.listen("127.0.0.1:9000").await?;
//! // … register hook.url(), or the address that leads to it, with the same token …
//! while let Some(notification) = hook.next().await {
//!     println!("{}: {:?}", notification.task_id(), notification.event.state());
//! }
//! # Ok(()) }
//! ```
//!
//! With the feature `axum`, a [`Notification`] is an extractor of axum, and the receiver its state. In any other
//! framework, hand headers and body to [`Receiver::receive`].

#[cfg(feature = "axum")]
mod axum;
mod keys;
mod listen;

use std::{
    collections::{HashSet, VecDeque},
    fmt,
    sync::Arc,
    time::{Duration, UNIX_EPOCH},
};

use aws_lc_rs::constant_time::verify_slices_are_equal;
use chancery_core::{Error, ErrorKind, Event, Result, Secret, TaskId, Version, sync::Mutex};
use http::{HeaderMap, StatusCode, header::AUTHORIZATION};

pub use listen::Listening;

use crate::{Builder, builder::Settings, http::Http};
use keys::{Keys, Signed};

/// The two spellings of the token's header.
const TOKENS: [&str; 2] = ["x-a2a-notification-token", "a2a-notification-token"];

/// Checks notifications and passes each on once. Clones share what they have seen.
#[derive(Debug, Clone)]
pub struct Receiver(Arc<Inner>);

#[derive(Debug, Clone)]
struct Inner {
    settings: Settings,
    tokens: Vec<Secret>,
    authorization: Option<Secret>,
    keys: Keys,
    /// Whether what nobody signed, or somebody else, is refused.
    strict: bool,
    tolerance: Duration,
    limit: usize,
    seen: Arc<Mutex<Seen>>,
    /// The tasks that notifications may be about; any when there is none.
    tasks: Arc<Mutex<HashSet<TaskId>>>,
}

/// One notification.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Notification {
    /// The `webhook-id`, the same at every attempt; `None` when the sender gives none. Then a repetition
    /// cannot be told from news.
    pub id: Option<String>,
    /// The version of its body. v0.2 counts as v0.3.
    pub version: Version,
    /// What happened. Versions before v1.0 tell the whole task.
    pub event: Event,
    /// Which key signed it; `None` when the signature was not checked, or is not right.
    pub signed_by: Option<String>,
    /// Whether it was here before.
    pub duplicate: bool,
}

/// Why a notification is refused.
#[derive(Debug)]
#[non_exhaustive]
pub enum Rejection {
    /// The token or the `Authorization` header is not that of the registration.
    Token,
    /// The signature is missing, wrong, or too old; in words.
    Signature(String),
    /// It is about a task that nobody expects to hear of.
    Task,
    /// The body is no notification.
    Invalid(Error),
    /// The body is larger than allowed.
    TooLarge,
    /// The keys to check the signature with cannot be had now.
    Keys(Error),
    /// It was here before. The sender is told that all is well.
    Duplicate,
    /// Nobody takes notifications now.
    Closed,
    /// It is no `POST`.
    Method,
}

#[derive(Debug)]
struct Seen {
    ids: HashSet<String>,
    order: VecDeque<String>,
    most: usize,
}

impl Receiver {
    /// A receiver that takes what anyone sends.
    #[must_use]
    pub fn new() -> Self {
        Self(Arc::new(Inner {
            settings: Settings::default(),
            tokens: Vec::new(),
            authorization: None,
            keys: Keys::default(),
            strict: true,
            tolerance: Duration::from_secs(300),
            limit: 32 * 1_024 * 1_024,
            seen: Arc::new(Mutex::new(Seen { ids: HashSet::new(), order: VecDeque::new(), most: 10_000 })),
            tasks: Arc::default(),
        }))
    }

    /// Takes only notifications with this token; with several, those with any of them.
    #[must_use]
    pub fn token(self, token: impl Into<Secret>) -> Self {
        self.with(|inner| inner.tokens.push(token.into()))
    }

    /// Takes only notifications whose `Authorization` header has this value, such as `Bearer …`. The name of the scheme is compared
    /// without case.
    #[must_use]
    pub fn authorization(self, value: impl Into<Secret>) -> Self {
        self.with(|inner| inner.authorization = Some(value.into()))
    }

    /// Takes only notifications that the server at this address has signed. Its keys are read from
    /// `/.well-known/jwks.json` there, kept for an hour, and read again when a signature is of none of them.
    ///
    /// # Errors
    /// When it is no http or https URL.
    pub fn signed_by(self, server: &str) -> Result<Self> {
        let keys = Keys::at(server)?;
        Ok(self.with(|inner| inner.keys = keys))
    }

    /// Takes only notifications that are signed with a key of this set.
    ///
    /// # Errors
    /// When the text is no key set with an Ed25519 key.
    pub fn keys(self, jwks: &[u8]) -> Result<Self> {
        let keys = Keys::fixed(jwks)?;
        Ok(self.with(|inner| inner.keys = keys))
    }

    /// Takes only notifications that are signed with this shared secret (HMAC-SHA256, `v1,` of Standard
    /// Webhooks). A secret that begins with `whsec_` is base64 after that.
    ///
    /// # Errors
    /// When what follows `whsec_` is no base64.
    pub fn shared_secret(self, secret: &str) -> Result<Self> {
        let keys = Keys::shared(secret)?;
        Ok(self.with(|inner| inner.keys = keys))
    }

    /// Takes also what is not signed rightly; [`Notification::signed_by`] tells.
    #[must_use]
    pub fn unsigned_too(self) -> Self {
        self.with(|inner| inner.strict = false)
    }

    /// How far the sender's clock may be from ours; five minutes when not said.
    #[must_use]
    pub fn tolerance(self, tolerance: Duration) -> Self {
        self.with(|inner| inner.tolerance = tolerance)
    }

    /// How many bytes a notification may have; 32 MiB when not said.
    #[must_use]
    pub fn limit(self, bytes: usize) -> Self {
        self.with(|inner| inner.limit = bytes)
    }

    /// How many notifications are remembered, so that none is passed on twice; 10,000 when not said.
    #[must_use]
    pub fn remember(self, most: usize) -> Self {
        self.with(|inner| inner.seen.lock().most = most)
    }

    /// Reads keys with the settings of this builder: its certificates, its timeouts.
    #[must_use]
    pub fn using(self, builder: &Builder) -> Self {
        self.with(|inner| {
            inner.settings = builder.settings().clone();
            inner.keys.forget();
        })
    }

    fn with(mut self, change: impl FnOnce(&mut Inner)) -> Self {
        change(Arc::make_mut(&mut self.0));
        self
    }

    /// Checks a notification, whoever received it, and takes note of it. Answer with `204` to what this gives,
    /// and with [`Rejection::status`] to the rest.
    ///
    /// # Errors
    /// When it is refused, or was here before.
    pub async fn receive(&self, headers: &HeaderMap, body: &[u8]) -> Result<Notification, Rejection> {
        let notification = self.check(headers, body).await?;
        if notification.duplicate || !self.note(&notification) {
            return Err(Rejection::Duplicate);
        }
        Ok(notification)
    }

    /// Takes only notifications about this task, and about others that were named so. Of a task that is named too
    /// late, the sender tells again.
    pub fn expect(&self, task: impl Into<TaskId>) {
        self.0.tasks.lock().insert(task.into());
    }

    /// Forgets a notification that could not be handled, so that its repetition is news again.
    pub fn forget(&self, notification: &Notification) {
        if let Some(key) = notification.key() {
            let mut seen = self.seen();
            seen.ids.remove(&key);
            seen.order.retain(|id| *id != key);
        }
    }

    /// Checks a notification without taking note of it.
    async fn check(&self, headers: &HeaderMap, body: &[u8]) -> Result<Notification, Rejection> {
        let Inner { keys, strict, limit, .. } = &*self.0;
        if body.len() > *limit {
            return Err(Rejection::TooLarge);
        }
        if !self.is_ours(headers) {
            return Err(Rejection::Token);
        }
        let signed = Signed::new(headers, body, now(), self.0.tolerance);
        let signed_by = match keys.check(&self.0.settings, signed).await {
            Err(rejection) if *strict => return Err(rejection),
            checked => checked.ok().flatten(),
        };
        let (version, event) = chancery_wire::decode_push(body).map_err(Rejection::Invalid)?;
        let id = text(headers, "webhook-id").map(str::to_owned);
        let mut notification = Notification { id, version, event, signed_by, duplicate: false };
        let tasks = self.0.tasks.lock();
        if !tasks.is_empty() && !notification.event.task_id().is_some_and(|task| tasks.contains(task)) {
            return Err(Rejection::Task);
        }
        drop(tasks);
        notification.duplicate = notification.key().is_some_and(|key| self.seen().ids.contains(&key));
        Ok(notification)
    }

    fn is_ours(&self, headers: &HeaderMap) -> bool {
        let Inner { tokens, authorization, .. } = &*self.0;
        let same = |secret: &Secret, said: &[u8]| verify_slices_are_equal(secret.expose().as_bytes(), said).is_ok();
        let named = TOKENS.iter().filter_map(|name| headers.get(*name)).any(|said| tokens.iter().any(|token| same(token, said.as_bytes())));
        let authorized =
            |secret: &Secret| headers.get(AUTHORIZATION).is_some_and(|said| is_authorized(secret.expose().as_bytes(), said.as_bytes()));
        (tokens.is_empty() || named) && authorization.as_ref().is_none_or(authorized)
    }

    /// Takes note of a notification, and says whether it is news.
    fn note(&self, notification: &Notification) -> bool {
        let Some(key) = notification.key() else { return true };
        let mut seen = self.seen();
        if !seen.ids.insert(key.clone()) {
            return false;
        }
        seen.order.push_back(key);
        while seen.order.len() > seen.most {
            if let Some(oldest) = seen.order.pop_front() {
                seen.ids.remove(&oldest);
            }
        }
        true
    }

    fn seen(&self) -> std::sync::MutexGuard<'_, Seen> {
        // Nothing in here panics half-way.
        self.0.seen.lock()
    }
}

impl Default for Receiver {
    fn default() -> Self {
        Self::new()
    }
}

impl Notification {
    /// The task that it is about; empty when it is about none.
    #[must_use]
    pub fn task_id(&self) -> &str {
        self.event.task_id().map_or("", TaskId::as_str)
    }

    /// What it is remembered by. Two servers may give the same id to different things.
    fn key(&self) -> Option<String> {
        self.id.as_ref().map(|id| format!("{id} {}", self.task_id()))
    }
}

impl Rejection {
    /// The HTTP status to answer with.
    #[must_use]
    pub fn status(&self) -> StatusCode {
        match self {
            Self::Token | Self::Signature(_) => StatusCode::UNAUTHORIZED,
            Self::Task => StatusCode::NOT_FOUND,
            Self::Invalid(_) => StatusCode::BAD_REQUEST,
            Self::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
            Self::Keys(_) | Self::Closed => StatusCode::SERVICE_UNAVAILABLE,
            Self::Duplicate => StatusCode::NO_CONTENT,
            Self::Method => StatusCode::METHOD_NOT_ALLOWED,
        }
    }
}

impl fmt::Display for Rejection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Token => f.write_str("the token is not that of the registration"),
            Self::Signature(words) => write!(f, "the signature {words}"),
            Self::Task => f.write_str("the task is not one that is waited for"),
            Self::Invalid(error) => write!(f, "the body is no notification: {error}"),
            Self::TooLarge => f.write_str("the body is larger than allowed"),
            Self::Keys(_) => f.write_str("the keys of the sender cannot be had"),
            Self::Duplicate => f.write_str("it was here before"),
            Self::Closed => f.write_str("nobody takes notifications now"),
            Self::Method => f.write_str("it is no POST"),
        }
    }
}

impl std::error::Error for Rejection {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Keys(error) => Some(error),
            _ => None,
        }
    }
}

/// Whether two values of `Authorization` are the same. The scheme is a name, and names have no case (RFC 9110, section 11.1).
fn is_authorized(known: &[u8], said: &[u8]) -> bool {
    let split = |value: &[u8]| {
        let end = value.iter().position(|byte| *byte == b' ').unwrap_or(value.len());
        (value[..end].to_ascii_lowercase(), value[end..].trim_ascii().to_vec())
    };
    let ((scheme, secret), (said_scheme, said_secret)) = (split(known), split(said));
    scheme == said_scheme && verify_slices_are_equal(&secret, &said_secret).is_ok()
}

fn text<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name).and_then(|value| value.to_str().ok())
}

/// Seconds since 1970.
fn now() -> u64 {
    crate::clock::now().duration_since(UNIX_EPOCH).map(|since| since.as_secs()).unwrap_or_default()
}

/// Reads a document with the settings of a client.
async fn fetch(settings: &Settings, url: &str) -> Result<bytes::Bytes> {
    let exchange = Http::new(settings)?.exchange(http::Method::GET, url, crate::http::RequestHead::default(), None).await;
    let exchange = exchange.map_err(|failed| failed.error)?;
    if !exchange.is_success() {
        let words = format!("the keys were answered with status {}", exchange.status());
        return Err(Error::new(ErrorKind::Unavailable, words));
    }
    exchange.read(64 * 1_024).await.map_err(|failed| failed.error)
}
