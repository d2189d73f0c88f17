// The public API of crates/client. Written by a test (tests/repository); do not edit.

// builder.rs
#[derive(Debug, Clone, Default)]
#[must_use = "a builder does nothing until it connects"]
pub struct Builder {}
impl Builder {
    pub fn bindings(mut self, bindings: impl IntoIterator<Item = Binding>) -> Self {}
    pub fn versions(mut self, versions: impl IntoIterator<Item = Version>) -> Self {}
    pub fn connect_timeout(mut self, limit: Duration) -> Self {}
    pub fn timeout(mut self, limit: Duration) -> Self {}
    pub fn patience(mut self, limit: Duration) -> Self {}
    pub fn silence(mut self, limit: Duration) -> Self {}
    pub fn limit(mut self, bytes: usize) -> Self {}
    pub fn retries(mut self, times: u32) -> Self {}
    pub fn extension(mut self, uri: impl Into<String>) -> Self {}
    pub fn header(mut self, name: &str, value: &str) -> Result<Self> {}
    pub fn card_header(mut self, name: &str, value: &str) -> Result<Self> {}
    pub fn credentials(mut self, credentials: impl Credentials + 'static) -> Self {}
    pub fn root_certificates(mut self, pem: &[u8]) -> Result<Self> {}
    pub fn identity(mut self, certificate: &[u8], key: &[u8]) -> Result<Self> {}
    pub fn insecure(mut self, yes: bool) -> Self {}
    pub fn tls(mut self, tls: Tls) -> Self {}
    pub fn signed_cards(mut self, mode: SignedCards) -> Self {}
    pub fn trust(mut self, policy: Policy) -> Self {}
    pub fn guard(mut self, guard: Guard) -> Self {}
    pub fn follow_handoffs(mut self, follow: Follow) -> Self {}
    pub fn observer(mut self, observer: Arc<dyn Observer>) -> Self {}
    pub fn dry_run(mut self, yes: bool) -> Self {}
    pub fn resubscribes(mut self, times: u32) -> Self {}
    pub fn poll_interval(mut self, first: Duration) -> Self {}
    pub fn poll_failures(mut self, times: u32) -> Self {}
    pub fn idempotent(mut self, yes: bool) -> Self {}
    pub async fn connect(&self, url: &str) -> Result<Client> {}
    pub fn peers(self) -> Peers {}
    pub fn connect_card(&self, card: &[u8], origin: Option<&str>) -> Result<Client> {}
    pub async fn connect_signed_card(
        &self,
        card: &[u8],
        origin: Option<&str>,
    ) -> Result<Client> {}
    pub async fn verify_card(
        &self,
        card: &[u8],
        origin: Option<&str>,
    ) -> Result<Verified> {}
    pub async fn read_card(&self, reference: &str) -> Result<CardText> {}
    pub async fn read_document(
        &self,
        url: &str,
        limit: usize,
    ) -> Result<(Bytes, String)> {}
    pub async fn read_card_again(&self, known: &CardText) -> Result<CardText> {}
    pub fn over(
        &self,
        binding: Binding,
        version: Version,
        url: impl Into<String>,
    ) -> Result<Client> {}
}

// client.rs
#[derive(Debug, Clone)]
pub struct Client(_);
impl Client {
    pub async fn connect(url: &str) -> Result<Self> {}
    pub fn over(
        binding: Binding,
        version: Version,
        url: impl Into<String>,
    ) -> Result<Self> {}
    pub fn builder() -> Builder {}
    pub fn version(&self) -> Version {}
    pub fn binding(&self) -> Binding {}
    pub fn url(&self) -> String {}
    pub fn tenant(&self) -> String {}
    pub fn card(&self) -> Option<Arc<Card>> {}
    pub fn card_report(&self) -> Option<Arc<Report>> {}
    pub async fn refresh(&self) -> Result<bool> {}
}

// credentials.rs
pub trait Credentials: Send + Sync {
    async fn credential(
        &self,
        asked: &CredentialRequest<'_>,
    ) -> Result<Option<Credential>>;
    async fn renew(&self, _asked: &CredentialRequest<'_>) -> Result<bool> {}
    fn names(&self, _origin: &str) -> bool {}
    fn given(&self) -> Vec<CredentialKind> {}
}
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct CredentialRequest<'a> {
    pub name: &'a str,
    pub scheme: &'a SecurityScheme,
    pub scopes: &'a [String],
    pub origin: &'a str,
    pub card_url: Option<&'a str>,
    pub on_behalf_of: Option<&'a Presented>,
    pub declared: bool,
}
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Credential {
    Bearer(Secret),
    ApiKey(Secret),
    Basic(String, Secret),
    Authorization(Secret),
}
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum CredentialKind {
    Bearer,
    ApiKey,
    Basic,
    Authorization,
}
impl Credential {
    pub fn kind(&self) -> CredentialKind {}
}
impl CredentialKind {
    pub fn suits(self, scheme: &SecurityScheme) -> bool {}
}
impl fmt::Display for CredentialKind {}
#[derive(Debug, Clone, Default)]
pub struct Secrets {}
impl Secrets {
    pub fn new() -> Self {}
    pub fn bearer(self, token: impl Into<Secret>) -> Self {}
    pub fn api_key(self, key: impl Into<Secret>) -> Self {}
    pub fn basic(self, name: impl Into<String>, password: impl Into<Secret>) -> Self {}
    pub fn with(mut self, credential: Credential) -> Self {}
    pub fn for_scheme(
        mut self,
        name: impl Into<String>,
        credential: Credential,
    ) -> Self {}
}
impl Credentials for Secrets {}
impl<C: Credentials + ?Sized> Credentials for Arc<C> {}

// discover.rs
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct CardText {
    pub body: Bytes,
    pub url: String,
    pub etag: Option<String>,
    pub last_modified: Option<String>,
    pub cache_control: Option<String>,
    pub card: Card,
    pub unchanged: bool,
}
impl CardText {
    pub fn new(url: &str, body: impl Into<Bytes>) -> Result<Self> {}
    pub fn fresh_for(&self) -> Duration {}
}

// follow.rs
#[derive(Debug, Clone)]
pub struct Follow {}
impl Default for Follow {}
impl Follow {
    pub fn same_origin() -> Self {}
    pub fn never() -> Self {}
    pub fn any() -> Self {}
    pub fn ask<F, R>(ask: F) -> Self
    where
        F: Fn(Handoff) -> R + Send + Sync + 'static,
        R: Future<Output = bool> + Send + 'static,
    {}
    pub fn host(mut self, host: impl Into<String>) -> Self {}
    pub fn max_hops(mut self, hops: u32) -> Self {}
    pub fn credentials(mut self, credentials: impl Credentials + 'static) -> Self {}
}
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Handoff {
    pub from: String,
    pub to: String,
    pub task: TaskId,
    pub hop: u32,
    pub reason: String,
    pub followed: bool,
}
impl fmt::Display for Handoff {}
#[derive(Debug, Clone)]
pub struct Head {}
impl Head {
    pub fn agent(&self) -> &str {}
    pub fn task_id(&self) -> &TaskId {}
    pub fn hop(&self) -> u32 {}
    pub fn client(&self) -> &Client {}
    pub async fn send(&self, message: impl Into<Message>) -> Result<Reply> {}
    pub async fn stream(&self, message: impl Into<Message>) -> Result<Events> {}
    pub async fn task(&self) -> Result<Task> {}
    pub async fn cancel(&self) -> Result<Task> {}
}
#[derive(Debug, Clone)]
pub struct Journey {}
impl Journey {
    pub fn new(client: &Client, caller: Caller, task: impl Into<TaskId>) -> Self {}
    pub fn head(&self) -> &Head {}
    pub async fn handoff(&self, transfer: &Transfer) -> Handoff {}
    pub async fn follow(&mut self, transfer: &Transfer) -> Result<Task> {}
}
impl Client {
    pub fn follow(&self, caller: &Caller, events: chancery_core::EventStream) -> Events {}
}

// keyring.rs
#[derive(Clone, Default)]
pub struct Keyring(_);
impl Keyring {
    pub fn new() -> Self {}
    pub fn at(
        mut self,
        url: &str,
        credentials: impl Credentials + 'static,
    ) -> Result<Self> {}
}
impl Credentials for Keyring {}
impl fmt::Debug for Keyring {}

// lib.rs
pub mod oauth;
pub mod webhook;
pub use chancery_signing as seal;
pub use builder::Builder;
pub use client::Client;
pub use credentials::{
    Credential, CredentialKind, CredentialRequest, Credentials, Secrets,
};
pub use discover::CardText;
pub use follow::{Follow, Handoff, Head, Journey};
pub use keyring::Keyring;
pub use observer::{
    Chosen, Notice, Observer, Placement, Wire, WireEvent, WireRequest, WireResponse,
};
pub use peers::Peers;
pub use reply::{Events, Reply, Update};
pub use request::RequestBuilder;
pub use trouble::{Trouble, TroubleKind};
pub use trust::SignedCards;
pub use wait::TaskWait;

// oauth/exchange.rs
#[derive(Debug, Clone)]
pub struct Exchange {}
#[derive(Debug, Clone)]
pub struct OnBehalf {}
impl Credentials for OnBehalf {}

// oauth/mod.rs
pub use self::{
    exchange::{Exchange, OnBehalf},
    tokens::{StoredToken, Tokens},
};
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize
)]
#[non_exhaustive]
pub enum Flow {
    ClientCredentials,
    DeviceCode,
    AuthorizationCode,
}
impl Flow {
    pub const ALL: [(&'static str, Self); 3] = ..;
}
impl fmt::Display for Flow {}
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Prompt<'a> {
    Issuer { url: &'a str },
    Open { url: &'a str },
    Confirm { url: &'a str, code: &'a str, complete: Option<&'a str>, lasts: Duration },
}
impl fmt::Display for Prompt<'_> {}
#[derive(Debug, Clone, Default)]
#[must_use = "it says how, and does nothing"]
pub struct SignIn {}
impl SignIn {
    pub fn new() -> Self {}
    pub fn scheme(mut self, name: impl Into<String>) -> Self {}
    pub fn flow(mut self, flow: Flow) -> Self {}
    pub fn issuer_of_card(mut self) -> Self {}
}
#[derive(Debug, Clone)]
pub struct OAuth {}
impl OAuth {
    pub fn new(client: impl Into<String>) -> Self {}
    pub fn signed_in(tokens: Tokens) -> Self {}
    pub fn secret(mut self, secret: impl Into<Secret>) -> Self {}
    pub fn secret_in_form(mut self) -> Self {}
    pub fn scope(mut self, scope: impl Into<String>) -> Self {}
    pub fn issuer(mut self, url: &str) -> Self {}
    pub fn parameter(
        mut self,
        name: impl Into<String>,
        value: impl Into<String>,
    ) -> Self {}
    pub fn tokens(mut self, tokens: Tokens) -> Self {}
    pub fn connections(mut self, builder: &Builder) -> Self {}
    pub async fn sign_in(
        &self,
        card: &Card,
        card_url: Option<&str>,
        how: &SignIn,
        show: &(dyn Fn(&Prompt<'_>) + Send + Sync),
    ) -> Result<StoredToken> {}
}
impl Credentials for OAuth {}

// oauth/tokens.rs
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct StoredToken {
    pub agent: String,
    pub scheme: String,
    pub client: String,
    pub flow: Flow,
    pub token_url: String,
    pub origins: BTreeSet<String>,
    pub asked: BTreeSet<String>,
    pub scopes: BTreeSet<String>,
    pub expires_at: Option<SystemTime>,
}
impl StoredToken {
    pub fn is_of(&self, card_url: Option<&str>) -> bool {}
    pub fn is_renewable(&self) -> bool {}
}
#[derive(Debug, Clone, Default)]
pub struct Tokens(_);
impl Tokens {
    pub fn in_memory() -> Self {}
    pub fn in_file(path: impl Into<PathBuf>) -> Self {}
    pub fn list(&self) -> Result<Vec<StoredToken>> {}
    pub fn forget(&self, which: impl Fn(&StoredToken) -> bool) -> Result<usize> {}
}

// observer.rs
pub trait Observer: Send + Sync {
    fn see(&self, wire: &Wire<'_>);
}
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Wire<'a> {
    Chosen(Chosen<'a>),
    Request(WireRequest<'a>),
    Response(WireResponse<'a>),
    Event(WireEvent<'a>),
    Notice(Notice),
}
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Chosen<'a> {
    pub version: Version,
    pub binding: Binding,
    pub url: &'a str,
    pub tenant: &'a str,
    pub place: usize,
    pub of: usize,
}
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct WireRequest<'a> {
    pub operation: Option<Operation>,
    pub version: Option<Version>,
    pub binding: Binding,
    pub method: &'a str,
    pub url: &'a str,
    pub headers: &'a HeaderMap,
    pub credentials: &'a [Placement],
    pub body: &'a [u8],
}
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Placement {
    pub scheme: String,
    pub kind: CredentialKind,
    pub location: ApiKeyLocation,
    pub name: String,
}
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct WireResponse<'a> {
    pub status: u16,
    pub content_type: &'a str,
    pub headers: &'a HeaderMap,
    pub body: &'a [u8],
}
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct WireEvent<'a> {
    pub id: Option<&'a str>,
    pub data: &'a [u8],
}
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Notice {
    UnusedCredential(CredentialKind),
    Unencrypted { origin: String },
    Withheld { origin: String },
    Retry { operation: Operation, attempt: u32, pause: Duration, reason: String },
    Fallback { version: Version, binding: Binding, reason: String },
    Resubscribe { attempt: u32, reason: String },
    Polling { reason: String },
    Renewed,
}

// operations.rs
impl Operations for Client {}
impl Client {
    pub async fn get_task(&self, caller: &Caller, request: GetTask) -> Result<Task> {}
    pub async fn list_tasks(
        &self,
        caller: &Caller,
        request: ListTasks,
    ) -> Result<TaskPage> {}
}

// peers.rs
#[derive(Debug, Clone)]
pub struct Peers {}
impl Peers {
    pub async fn client(&self, agent: &str) -> Result<Client> {}
}
impl chancery_core::Peers for Peers {}

// reply.rs
impl Client {
    pub async fn send(&self, message: impl Into<Message>) -> Result<Reply> {}
    pub async fn stream(&self, message: impl Into<Message>) -> Result<Events> {}
    pub async fn task(&self, id: impl Into<TaskId>) -> Result<Task> {}
    pub async fn cancel(&self, id: impl Into<TaskId>) -> Result<Task> {}
    pub async fn watch(&self, id: impl Into<TaskId>) -> Result<Events> {}
    pub async fn list(&self) -> Result<TaskPage> {}
}
#[derive(Debug, Clone)]
pub struct Reply {}
impl Reply {
    pub fn head(&self) -> Option<&Head> {}
    pub fn handoff(&self) -> Option<&Handoff> {}
    pub fn text(&self) -> String {}
    pub fn task(&self) -> Option<&Task> {}
    pub fn state(&self) -> TaskState {}
    pub fn into_inner(self) -> SendReply {}
}
impl fmt::Display for Reply {}
pub struct Events {}
impl Events {
    pub async fn try_next(&mut self) -> Result<Option<Update>> {}
    pub fn head(&self) -> Option<Head> {}
}
impl Stream for Events {
    type Item = Result<Update>;
}
impl fmt::Debug for Events {}
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Update {
    pub seq: Seq,
    pub event: SharedEvent,
    pub agent: Arc<str>,
    pub hop: u32,
    pub handoff: Option<Handoff>,
}
impl Update {
    pub fn into_event(self) -> Event {}
}
impl fmt::Display for Update {}

// request.rs
#[derive(Debug, Clone)]
#[must_use = "nothing is sent before `send` or `stream`"]
pub struct RequestBuilder {}
impl Client {
    pub fn request(&self, message: impl Into<Message>) -> RequestBuilder {}
}
impl Head {
    pub fn request(&self, message: impl Into<Message>) -> RequestBuilder {}
}
impl RequestBuilder {
    pub fn to_task(mut self, task: impl Into<TaskId>) -> Self {}
    pub fn in_context(mut self, context: impl Into<ContextId>) -> Self {}
    pub fn referring_to(mut self, task: impl Into<TaskId>) -> Self {}
    pub fn history_length(mut self, messages: u32) -> Self {}
    pub fn accepted_output_modes(
        mut self,
        modes: impl IntoIterator<Item = impl Into<String>>,
    ) -> Self {}
    pub fn push(mut self, config: PushConfig) -> Self {}
    pub fn return_immediately(mut self) -> Self {}
    pub fn metadata(mut self, key: impl Into<String>, value: impl Into<Value>) -> Self {}
    pub fn extension(mut self, uri: impl Into<String>) -> Self {}
    pub fn timeout(mut self, limit: Duration) -> Self {}
    pub fn idempotency_key(mut self, key: impl Into<String>) -> Self {}
    pub async fn send(self) -> Result<Reply> {}
    pub async fn stream(self) -> Result<Events> {}
}

// trouble.rs
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum TroubleKind {
    Unreachable,
    Cut,
    Timeout,
    CardNotFound,
    CardInvalid,
    CardRefused,
    CardUntrusted,
    NoInterface,
    NotOffered,
    CredentialsMissing,
    CredentialsWithheld,
    Refused,
    Status,
    DryRun,
    AuthRequired,
    HandoffLoop,
    HandoffLimit,
}
#[derive(Debug)]
pub struct Trouble {}
impl Trouble {
    pub fn of(error: &Error) -> Option<&Self> {}
    pub fn kind(&self) -> TroubleKind {}
    pub fn status(&self) -> Option<u16> {}
    pub fn retry_after(&self) -> Option<Duration> {}
    pub fn reason(&self) -> String {}
}
impl fmt::Display for Trouble {}
impl StdError for Trouble {}

// trust.rs
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum SignedCards {
    Off,
    Report,
    Require,
}

// wait.rs
pub struct TaskWait {}
impl TaskWait {
    pub async fn send(
        client: &Client,
        caller: Caller,
        request: SendMessage,
    ) -> Result<Self> {}
    pub async fn send_and_poll(
        client: &Client,
        caller: Caller,
        mut request: SendMessage,
    ) -> Result<Self> {}
    pub async fn subscribe(
        client: &Client,
        caller: Caller,
        request: Subscribe,
    ) -> Result<Self> {}
    pub fn resume(client: &Client, caller: Caller, task: Task) -> Self {}
    pub fn poll(client: &Client, caller: Caller, task: Task) -> Self {}
    pub fn beyond_authorization(mut self, beyond: bool) -> Self {}
    pub fn history_length(mut self, length: Option<i32>) -> Self {}
    pub async fn next(&mut self) -> Result<Option<Event>> {}
    pub fn task(&self) -> &Task {}
    pub fn is_replay(&self) -> bool {}
    pub fn is_polling(&self) -> bool {}
    pub fn into_reply(self) -> SendReply {}
}
impl fmt::Debug for TaskWait {}

// webhook/axum.rs
impl<S> FromRequest<S> for Notification
where
    S: Send + Sync,
    Receiver: FromRef<S>,
{
    type Rejection = Rejection;
}
impl IntoResponse for Rejection {}

// webhook/listen.rs
#[derive(Debug)]
pub struct Listening {}
impl Receiver {
    pub async fn listen(&self, address: impl ToSocketAddrs) -> Result<Listening> {}
}
impl Listening {
    pub fn local_addr(&self) -> SocketAddr {}
    pub fn url(&self) -> String {}
    pub async fn next(&mut self) -> Option<Notification> {}
    pub async fn arrival(&mut self) -> Option<Result<Notification, Rejection>> {}
}

// webhook/mod.rs
pub use listen::Listening;
#[derive(Debug, Clone)]
pub struct Receiver(_);
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Notification {
    pub id: Option<String>,
    pub version: Version,
    pub event: Event,
    pub signed_by: Option<String>,
    pub duplicate: bool,
}
#[derive(Debug)]
#[non_exhaustive]
pub enum Rejection {
    Token,
    Signature(String),
    Task,
    Invalid(Error),
    TooLarge,
    Keys(Error),
    Duplicate,
    Closed,
    Method,
}
impl Receiver {
    pub fn new() -> Self {}
    pub fn token(self, token: impl Into<Secret>) -> Self {}
    pub fn authorization(self, value: impl Into<Secret>) -> Self {}
    pub fn signed_by(self, server: &str) -> Result<Self> {}
    pub fn keys(self, jwks: &[u8]) -> Result<Self> {}
    pub fn shared_secret(self, secret: &str) -> Result<Self> {}
    pub fn unsigned_too(self) -> Self {}
    pub fn tolerance(self, tolerance: Duration) -> Self {}
    pub fn limit(self, bytes: usize) -> Self {}
    pub fn remember(self, most: usize) -> Self {}
    pub fn using(self, builder: &Builder) -> Self {}
    pub async fn receive(
        &self,
        headers: &HeaderMap,
        body: &[u8],
    ) -> Result<Notification, Rejection> {}
    pub fn expect(&self, task: impl Into<TaskId>) {}
    pub fn forget(&self, notification: &Notification) {}
}
impl Default for Receiver {}
impl Notification {
    pub fn task_id(&self) -> &str {}
}
impl Rejection {
    pub fn status(&self) -> StatusCode {}
}
impl fmt::Display for Rejection {}
impl std::error::Error for Rejection {}
