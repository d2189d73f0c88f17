//! How a client is made: every choice has a default, and each is one word.

use std::{sync::Arc, time::Duration};

use chancery_core::{Binding, Error, Result, Version};
use http::{HeaderMap, HeaderName, HeaderValue};

use crate::{
    client::{Client, Route},
    discover::Cards,
};

/// What a client does when nothing else is said, and what was said.
#[derive(Debug, Clone)]
pub(crate) struct Settings {
    pub(crate) bindings: Vec<Binding>,
    /// Whether the order of the bindings is the caller's; otherwise the card's counts.
    pub(crate) own_order: bool,
    /// In the order of preference; empty for all, newest first.
    pub(crate) versions: Vec<Version>,
    pub(crate) connect_timeout: Duration,
    pub(crate) timeout: Duration,
    pub(crate) patience: Duration,
    pub(crate) silence: Duration,
    pub(crate) limit: usize,
    pub(crate) retries: u32,
    pub(crate) extensions: Vec<String>,
    pub(crate) headers: HeaderMap,
    pub(crate) idempotent: Option<bool>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            bindings: vec![Binding::JsonRpc, Binding::HttpJson, Binding::Grpc],
            own_order: false,
            versions: Vec::new(),
            connect_timeout: Duration::from_secs(10),
            timeout: Duration::from_secs(60),
            patience: Duration::from_secs(30),
            silence: Duration::from_secs(300),
            limit: 32 * 1_024 * 1_024,
            retries: 3,
            extensions: Vec::new(),
            headers: HeaderMap::new(),
            idempotent: None,
        }
    }
}

/// Makes clients. Those that one builder makes share what it has read of cards.
///
/// ```no_run
/// use std::time::Duration;
/// use chancery_client::Client;
/// use chancery_core::{Binding, Version};
///
/// # async fn run() -> chancery_core::Result<()> {
/// let agent = Client::builder()
///     .bindings([Binding::Grpc, Binding::JsonRpc])
///     .versions([Version::V1_0, Version::V0_3])
///     .timeout(Duration::from_secs(20))
///     .header("authorization", "Bearer …")?
///     .connect("https://agent.example.com")
///     .await?;
/// # Ok(()) }
/// ```
#[derive(Debug, Clone, Default)]
#[must_use = "a builder does nothing until it connects"]
pub struct Builder {
    settings: Settings,
    cards: Arc<Cards>,
}

impl Builder {
    /// Uses only these bindings, and prefers the earlier ones. When not said, the agent's order counts.
    pub fn bindings(mut self, bindings: impl IntoIterator<Item = Binding>) -> Self {
        self.settings.bindings = bindings.into_iter().collect();
        self.settings.own_order = true;
        self
    }

    /// Speaks only these versions, and prefers the earlier ones. When not said, the newest that both
    /// sides know. Who asks for one version gets that one or an error.
    pub fn versions(mut self, versions: impl IntoIterator<Item = Version>) -> Self {
        self.settings.versions = versions.into_iter().collect();
        self
    }

    /// How long a connection may take to come about; 10 seconds when not said.
    pub fn connect_timeout(mut self, limit: Duration) -> Self {
        self.settings.connect_timeout = limit;
        self
    }

    /// How long a call may take that has no deadline of its own, repetitions included, and how long a
    /// stream may take to begin; a minute when not said.
    pub fn timeout(mut self, limit: Duration) -> Self {
        self.settings.timeout = limit;
        self
    }

    /// For how long a stream that was cut is tried to be taken up again; 30 seconds when not said.
    pub fn patience(mut self, limit: Duration) -> Self {
        self.settings.patience = limit;
        self
    }

    /// For how long a stream may be silent before it counts as cut, signs of life included; five minutes
    /// when not said.
    pub fn silence(mut self, limit: Duration) -> Self {
        self.settings.silence = limit;
        self
    }

    /// How many bytes an answer or one event may have; 32 MiB when not said.
    pub fn limit(mut self, bytes: usize) -> Self {
        self.settings.limit = bytes;
        self
    }

    /// How often a call is repeated that failed in passing and may be repeated; 3 times when not said.
    pub fn retries(mut self, times: u32) -> Self {
        self.settings.retries = times;
        self
    }

    /// Asks for an extension in every call.
    pub fn extension(mut self, uri: impl Into<String>) -> Self {
        self.settings.extensions.push(uri.into());
        self
    }

    /// Adds a header to every request, or metadata in gRPC: to the card's address, and to the address
    /// that the card names. Values are not shown in logs.
    ///
    /// # Errors
    /// When it is no header.
    pub fn header(mut self, name: &str, value: &str) -> Result<Self> {
        let wrong = |what| Error::invalid_param("header", what);
        let name = HeaderName::try_from(name).map_err(|_| wrong("has a name that no header can have"))?;
        let mut value = HeaderValue::try_from(value).map_err(|_| wrong("has a value that no header can have"))?;
        value.set_sensitive(true);
        self.settings.headers.append(name, value);
        Ok(self)
    }

    /// Says whether the agent takes a message that is repeated with the same `Idempotency-Key` for the
    /// same message. When not said, the card tells: agents served by Chancery do.
    pub fn idempotent(mut self, yes: bool) -> Self {
        self.settings.idempotent = Some(yes);
        self
    }

    /// Reads the card of an agent and gives a client that speaks the best version and binding of both.
    ///
    /// The URL is that of the agent's host, whose card is at a well-known path, or of the card itself.
    ///
    /// # Errors
    /// When the card cannot be read, or names no interface that can be used.
    pub async fn connect(&self, url: &str) -> Result<Client> {
        Client::discover(self.settings.clone(), self.cards.clone(), url).await
    }

    /// A client for an agent whose interface is known: no card is read, and nothing else is tried.
    ///
    /// # Errors
    /// When the version has no such binding, or the URL cannot be used.
    pub fn over(&self, binding: Binding, version: Version, url: impl Into<String>) -> Result<Client> {
        let route = Route { version, binding, url: url.into(), tenant: String::new(), choice: None };
        Client::with_route(self.settings.clone(), route)
    }
}
