//! How a client is made: every choice has a default, and each is one word.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use chancery_core::{Binding, Error, ErrorKind, Result, Version};
use chancery_net::{Guard, Options, Reach, Tls};
use chancery_signing::{Policy, Verified};
use http::{HeaderMap, HeaderName, HeaderValue};

use crate::{
    client::Client,
    credentials::{Credentials, SharedCredentials},
    discover::{self, CardText, Cards, Found},
    follow::Follow,
    http::Http,
    observer::{Observer, ObserverSlot},
    peers::Peers,
    route::Route,
    trust::{SignedCards, Trust},
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
    pub(crate) card_headers: HeaderMap,
    pub(crate) idempotent: Option<bool>,
    pub(crate) resubscribes: u32,
    pub(crate) poll_interval: Duration,
    /// `None` when only `patience` counts.
    pub(crate) poll_failures: Option<u32>,
    pub(crate) tls: Tls,
    pub(crate) credentials: SharedCredentials,
    pub(crate) observer: ObserverSlot,
    pub(crate) dry_run: bool,
    pub(crate) trust: Trust,
    /// Where a client may go, if not everywhere.
    pub(crate) guard: Option<Guard>,
    pub(crate) follow: Follow,
}

impl Settings {
    /// On whose word this client goes where it goes: with a guard a stranger's, else its user's.
    pub(crate) fn reach(&self) -> Reach {
        self.guard.clone().map_or(Reach::Trusted, Reach::Guarded)
    }

    /// What HTTP clients are made with. Calls have deadlines of their own, and streams none.
    pub(crate) fn http(&self) -> Options {
        Options::new().connect_timeout(self.connect_timeout).no_timeout().tls(&self.tls)
    }

    /// Whether a version may be spoken.
    pub(crate) fn allows(&self, version: Version) -> bool {
        self.versions.is_empty() || self.versions.contains(&version)
    }
}

/// The bindings that are spoken unless something else is said, the preferred one first.
const BINDINGS: &[Binding] =
    if cfg!(feature = "grpc") { &[Binding::JsonRpc, Binding::HttpJson, Binding::Grpc] } else { &[Binding::JsonRpc, Binding::HttpJson] };

impl Default for Settings {
    fn default() -> Self {
        Self {
            bindings: BINDINGS.to_vec(),
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
            card_headers: HeaderMap::new(),
            idempotent: None,
            resubscribes: 5,
            poll_interval: Duration::from_secs(1),
            poll_failures: None,
            tls: Tls::default(),
            credentials: SharedCredentials::default(),
            observer: ObserverSlot::default(),
            dry_run: false,
            trust: Trust::default(),
            guard: None,
            follow: Follow::default(),
        }
    }
}

/// Makes clients. Those that one builder makes share what it has read of cards.
///
/// ```no_run
/// use std::time::Duration;
/// use chancery_client::{Client, Secrets};
/// use chancery_core::{Binding, Version};
///
/// # async fn run() -> chancery_core::Result<()> {
/// let agent = Client::builder()
///     .bindings([Binding::Grpc, Binding::JsonRpc])
///     .versions([Version::V1_0, Version::V0_3])
///     .timeout(Duration::from_secs(20))
///     .credentials(Secrets::new().bearer("eyJhbGciOi…"))
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
    pub(crate) fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Uses only these bindings, and prefers the earlier ones. When not said, the agent's order counts.
    pub fn bindings(mut self, bindings: impl IntoIterator<Item = Binding>) -> Self {
        self.settings.bindings = bindings.into_iter().collect();
        self.settings.own_order = true;
        self
    }

    /// Speaks only these versions, and prefers the earlier ones. When not said, any: the newest that both
    /// sides know. What is not in the list is never spoken, also when the agent does not understand what is;
    /// then there is an error.
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

    /// Adds a header to every call, or metadata in gRPC; not to requests for cards. Values are not shown in
    /// logs.
    ///
    /// # Errors
    /// When it is no header.
    pub fn header(mut self, name: &str, value: &str) -> Result<Self> {
        let (name, value) = header(name, value)?;
        self.settings.headers.append(name, value);
        Ok(self)
    }

    /// Adds a header to requests for cards, which otherwise carry nothing of the user: a card is public.
    /// Values are not shown in logs.
    ///
    /// # Errors
    /// When it is no header.
    pub fn card_header(mut self, name: &str, value: &str) -> Result<Self> {
        let (name, value) = header(name, value)?;
        self.settings.card_headers.append(name, value);
        Ok(self)
    }

    /// Shows credentials where the card wants them: those of the first of its security requirements that
    /// can be met, each in the header, query parameter or cookie that its scheme names. In gRPC every API
    /// key is metadata under its name, because there are no queries and no cookies. A call whose
    /// requirements cannot be met fails before anything is sent.
    ///
    /// They are for the origin that the card comes from. An interface on another origin, or without TLS after a card with it, is not
    /// shown them: the call fails and says so ([`TroubleKind::CredentialsWithheld`](crate::TroubleKind::CredentialsWithheld)), unless a
    /// [`Keyring`](crate::Keyring) names that origin. A card that is [at hand](Self::connect_card) without its origin is its user's own
    /// word. `Authorization` and `Cookie` of [`header`](Self::header) follow the same rule.
    ///
    /// Without a card, a token goes into `Authorization` and a key into `X-API-Key`. Without this setting
    /// nothing is checked, and what [`header`](Self::header) says is sent.
    pub fn credentials(mut self, credentials: impl Credentials + 'static) -> Self {
        self.settings.credentials = SharedCredentials(Some(Arc::new(credentials)));
        self
    }

    /// Trusts these certificates (PEM, one or more) beside those of the system, in HTTP and gRPC alike.
    ///
    /// # Errors
    /// When there is none in the text.
    pub fn root_certificates(mut self, pem: &[u8]) -> Result<Self> {
        self.settings.tls.trust(pem)?;
        self.settings.trust.forget();
        Ok(self)
    }

    /// Shows this certificate (PEM, the whole chain) with its key (PEM) to agents that ask for one, in HTTP
    /// and gRPC alike.
    ///
    /// # Errors
    /// When either cannot be read.
    pub fn identity(mut self, certificate: &[u8], key: &[u8]) -> Result<Self> {
        self.settings.tls.identify(certificate, key)?;
        self.settings.trust.forget();
        Ok(self)
    }

    /// Takes anyone for the agent: certificates are not checked, in HTTP and gRPC alike. For tests only.
    pub fn insecure(mut self, yes: bool) -> Self {
        self.settings.tls.accept_anyone(yes);
        self.settings.trust.forget();
        self
    }

    /// Takes these settings of TLS in the place of what was said before.
    pub fn tls(mut self, tls: Tls) -> Self {
        self.settings.tls = tls;
        self.settings.trust.forget();
        self
    }

    /// Says what is done about the signatures of cards; [`SignedCards::Report`] when not said.
    ///
    /// ```no_run
    /// use chancery_client::{Client, SignedCards};
    ///
    /// # async fn run() -> chancery_core::Result<()> {
    /// let agent = Client::builder().signed_cards(SignedCards::Require).connect("https://agent.example.com").await?;
    /// let report = agent.card_report().expect("the signatures were checked");
    /// println!("signed with {:?}, not covered: {:?}", report.kid, report.uncovered);
    /// # Ok(()) }
    /// ```
    pub fn signed_cards(mut self, mode: SignedCards) -> Self {
        self.settings.trust.mode = mode;
        self
    }

    /// Says which keys, certificates and forms of signatures count. When not said, the keys that a signature
    /// points to on the card's own host.
    pub fn trust(mut self, policy: Policy) -> Self {
        self.settings.trust.policy = Arc::new(policy);
        self
    }

    /// Goes to these addresses only, whatever a card, a redirect or a name says: for cards, keys and calls alike. Proxies are not used then,
    /// for they would resolve names again. For programs that connect on a stranger's word, such as a registry; when not said, a client
    /// goes where its user sends it, and to keys on other hosts only at public addresses.
    pub fn guard(mut self, guard: Guard) -> Self {
        self.settings.guard = Some(guard);
        self.settings.trust.forget();
        self
    }

    /// Says whether tasks that an agent hands over to another one are followed there; on the same origin when not said.
    pub fn follow_handoffs(mut self, follow: Follow) -> Self {
        self.settings.follow = follow;
        self
    }

    /// Shows everything that is sent, received and decided to an observer.
    pub fn observer(mut self, observer: Arc<dyn Observer>) -> Self {
        self.settings.observer = ObserverSlot(Some(observer));
        self.settings.trust.forget();
        self
    }

    /// Shows calls to the observer instead of sending them; each then fails with
    /// [`TroubleKind::DryRun`](crate::TroubleKind::DryRun). Cards are read all the same.
    pub fn dry_run(mut self, yes: bool) -> Self {
        self.settings.dry_run = yes;
        self
    }

    /// How often in a row a stream is asked for again, without any news, before its task is read instead;
    /// 5 times when not said.
    pub fn resubscribes(mut self, times: u32) -> Self {
        self.settings.resubscribes = times;
        self
    }

    /// How long to wait before a task is read again, for a stream that cannot go on otherwise; a second when
    /// not said. The pause grows by half up to 30 seconds, and begins anew with every change of the task. An
    /// agent that names another pause is obeyed.
    pub fn poll_interval(mut self, first: Duration) -> Self {
        self.settings.poll_interval = first.max(Duration::from_millis(100));
        self
    }

    /// After how many failures in a row a task is no longer read again; when not said, only
    /// [`patience`](Self::patience) counts.
    pub fn poll_failures(mut self, times: u32) -> Self {
        self.settings.poll_failures = Some(times.max(1));
        self
    }

    /// Says whether the agent takes a message that is repeated with the same `Idempotency-Key` for the
    /// same message. When not said, the card tells: agents served by Chancery do.
    pub fn idempotent(mut self, yes: bool) -> Self {
        self.settings.idempotent = Some(yes);
        self
    }

    /// Reads the card of an agent and gives a client that speaks the best version and binding of both.
    ///
    /// The URL is that of the agent's host, whose card is at a well-known path, or of the card itself, or of
    /// a path below which there is a well-known one. It may leave out its scheme. The card is asked for
    /// without credentials, and followed only to addresses on the same host.
    ///
    /// Connections go through the proxies that `HTTPS_PROXY`, `HTTP_PROXY`, `ALL_PROXY` and `NO_PROXY` name;
    /// those of gRPC only through HTTP proxies that are spoken to without TLS.
    ///
    /// # Errors
    /// When the card cannot be read, or names no interface that can be used.
    pub async fn connect(&self, url: &str) -> Result<Client> {
        Client::discover(self.settings.clone(), self.cards.clone(), url).await
    }

    /// Finds agents by their base URLs, each with the settings of this builder. They are for whoever passes work on:
    /// credentials should be a [`Keyring`](crate::Keyring), which tells the agents apart, and headers go to all of them.
    pub fn peers(self) -> Peers {
        Peers::new(self)
    }

    /// A client for the agent of a card that is at hand: from a file, a registry, a cache. `origin` is the
    /// address that it came from, if it is known: it tells where an agent is that does not say so itself,
    /// and where to look for changes.
    ///
    /// ```no_run
    /// # fn run() -> Result<(), Box<dyn std::error::Error>> {
    /// let card = std::fs::read("card.json")?;
    /// let agent = chancery_client::Client::builder().connect_card(&card, None)?;
    /// # Ok(()) }
    /// ```
    ///
    /// Signatures are not looked at, because keys may have to be read for that:
    /// [`connect_signed_card`](Self::connect_signed_card) does it.
    ///
    /// # Errors
    /// When the card cannot be read, or names no interface that can be used, or must be signed.
    pub fn connect_card(&self, card: &[u8], origin: Option<&str>) -> Result<Client> {
        if self.settings.trust.mode == SignedCards::Require {
            let words = "a card that must be signed has to be checked first: connect_signed_card does it";
            return Err(Error::new(ErrorKind::InvalidParams, words));
        }
        let found = Found::at_hand(&self.settings, card, origin)?;
        Client::found(self.settings.clone(), found, origin.map(|url| (url.to_owned(), self.cards.clone())))
    }

    /// As [`connect_card`](Self::connect_card), after a check of the card's signatures. `origin` should be
    /// given: keys on the card's host, and certificates that name it, count only when the host is known.
    ///
    /// # Errors
    /// When the card cannot be read, names no interface that can be used, or has no good signature and must
    /// have one.
    pub async fn connect_signed_card(&self, card: &[u8], origin: Option<&str>) -> Result<Client> {
        let found = Found::checked(&self.settings, card, origin).await?;
        Client::found(self.settings.clone(), found, origin.map(|url| (url.to_owned(), self.cards.clone())))
    }

    /// Checks the signatures of a card that came from `origin`, by the policy of [`trust`](Self::trust), and
    /// gives the report with what the signatures cover. [`signed_cards`](Self::signed_cards) does not count here.
    ///
    /// # Errors
    /// When the origin is no URL. A card without a good signature is no error.
    pub async fn verify_card(&self, card: &[u8], origin: Option<&str>) -> Result<Verified> {
        let origin = origin.map(discover::parse).transpose()?;
        self.settings.trust.verify(&self.settings, card, origin.as_ref()).await
    }

    /// Reads a card and gives it as it came. A reference with a path is the address of the card; without
    /// one, the card is at a well-known path. It may leave out its scheme: then it is `http` on this machine,
    /// else `https`.
    ///
    /// # Errors
    /// When there is no card, it cannot be read, or it is not public.
    pub async fn read_card(&self, reference: &str) -> Result<CardText> {
        Cards::text(&Http::new(&self.settings)?, &self.settings, reference).await
    }

    /// Reads a document that leads to cards, such as a catalog, by the rules for cards: without credentials, and followed only to addresses
    /// on the same host. Gives it with the address that it was at in the end.
    ///
    /// # Errors
    /// When there is none, it is longer than `limit` bytes, or not public.
    pub async fn read_document(&self, url: &str, limit: usize) -> Result<(Bytes, String)> {
        discover::document(&Http::new(&self.settings)?, &self.settings, url, limit).await
    }

    /// Asks whether a card has changed, and gives it as it is now.
    ///
    /// # Errors
    /// As [`read_card`](Self::read_card).
    pub async fn read_card_again(&self, known: &CardText) -> Result<CardText> {
        Cards::text_again(&Http::new(&self.settings)?, &self.settings, known).await
    }

    /// A client for an agent whose interface is known: no card is read, and nothing else is tried.
    ///
    /// # Errors
    /// When the version has no such binding, or the URL cannot be used.
    pub fn over(&self, binding: Binding, version: Version, url: impl Into<String>) -> Result<Client> {
        let route = Route { version, binding, url: url.into(), tenant: String::new(), choice: None, place: 0, declared: false };
        Client::with_route(self.settings.clone(), route)
    }
}

fn header(name: &str, value: &str) -> Result<(HeaderName, HeaderValue)> {
    let wrong = |what| Error::invalid_param("header", what);
    let name = HeaderName::try_from(name).map_err(|_| wrong("has a name that no header can have"))?;
    let mut value = HeaderValue::try_from(value).map_err(|_| wrong("has a value that no header can have"))?;
    value.set_sensitive(true);
    Ok((name, value))
}
