// The public API of crates/chancery. Written by a test (tests/repository); do not edit.

// address.rs
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Address(_);
impl fmt::Display for Address {}
impl From<SocketAddr> for Address {}
impl From<&str> for Address {}
impl From<String> for Address {}
impl From<&String> for Address {}
impl From<(&str, u16)> for Address {}
impl From<(IpAddr, u16)> for Address {}
impl From<(Ipv4Addr, u16)> for Address {}
impl From<(Ipv6Addr, u16)> for Address {}

// guide.rs
pub mod agents_from_a_file {}
pub mod backup {}
#[cfg(feature = "client")]
pub mod client {}
pub mod install {}
pub mod metrics {}
#[cfg(feature = "client")]
pub mod passing_work_on {}
pub mod proxy {}
pub mod push {}
pub mod scope {}
#[cfg(feature = "client")]
pub mod security {}
#[cfg(feature = "client")]
pub mod signed_cards {}
pub mod systemd {}
pub mod testing {}
pub mod tls {}
pub mod writing_an_agent {}

// lib.rs
pub mod guide;
pub mod testing;
pub mod webhook;
#[cfg(feature = "client")]
pub use chancery_client as client;
pub use chancery_core as core;
pub use chancery_engine as engine;
pub use chancery_server as server;
#[cfg(feature = "client")]
pub use chancery_client::{Client, Follow, Keyring, Peers, Secrets};
pub use chancery_core::{
    Artifact, Caller, Card, Content, Error, ErrorKind, Event, EventStream, Message,
    Operations, Part, Result, Role, Skill, Task, TaskState,
};
#[cfg(feature = "sqlite")]
pub use chancery_engine::store::Sqlite;
pub use chancery_engine::{
    Agent, Engine, Failure, OnRestart, Outcome, Turn,
    delegation::{self, Delegated, DelegationError, Handoff, Passing},
    store::{self, Memory},
};
pub use chancery_server::{Auth, Limits, Router, auth};
pub use address::Address;
pub use mount::Mount;
pub use running::Running;
pub use serve::{Server, stop_signal};
pub use signing::Signing;
pub use tls::Tls;
#[cfg(feature = "client")]
pub async fn connect(url: &str) -> Result<Client> {}

// mount.rs
#[must_use = "a mount is nothing until a server has it"]
pub struct Mount {}
impl Mount {
    pub fn agent(path: impl Into<String>, agent: Builder) -> Self {}
    pub fn operations(
        path: impl Into<String>,
        card: Card,
        operations: Arc<dyn Operations>,
    ) -> Self {}
    pub fn through(
        mut self,
        wrap: impl FnOnce(Engine) -> Arc<dyn Operations> + Send + 'static,
    ) -> Self {}
    pub fn key(mut self, key: impl Into<String>) -> Self {}
    pub fn listed(self, name: impl Into<String>) -> Self {}
    pub fn tenant(self, tenant: impl Into<String>) -> Self {}
    pub fn auth(self, auth: Auth) -> Self {}
    pub fn open(self) -> Self {}
    pub fn signing(mut self, signing: Signing) -> Self {}
    pub fn unsigned(mut self) -> Self {}
    pub fn versions(self, versions: impl IntoIterator<Item = Version>) -> Self {}
    pub fn bindings(self, bindings: impl IntoIterator<Item = Binding>) -> Self {}
}

// options.rs
impl Server {
    pub fn on_restart(self, policy: OnRestart) -> Self {}
    pub fn store(self, store: impl Store) -> Self {}
    pub fn shared_store(self, store: Arc<dyn Store>) -> Self {}
    pub fn schedule(self, schedule: Schedule) -> Self {}
    pub fn turn_timeout(self, limit: Duration) -> Self {}
    pub fn task_after(self, patience: impl Into<Option<Duration>>) -> Self {}
    pub fn retention(self, age: Option<Duration>) -> Self {}
    pub fn lease(self, lease: Duration) -> Self {}
    pub fn reopen(self, reopen: bool) -> Self {}
    pub fn passing(self, passing: Passing) -> Self {}
    pub fn extended_card(mut self, card: Card) -> Self {}
    pub fn clock(mut self, clock: impl Clock) -> Self {}
    pub fn by_hand(self) -> Self {}
}

// running.rs
pub struct Running {}
impl Running {
    pub fn local_addr(&self) -> SocketAddr {}
    pub fn url(&self) -> &str {}
    pub fn router(&self) -> &Router {}
    pub fn engines(&self) -> Vec<Engine> {}
    pub fn replace(&self, mount: Mount) -> Result<()> {}
    pub fn sign(&self, signing: Option<Signing>) -> Result<()> {}
    pub fn remove(&self, key: &str) {}
    pub async fn shutdown(self) {}
}

// serve.rs
#[must_use = "a server does nothing until it is bound"]
pub struct Server {}
impl Server {
    pub fn new(card: Card, agent: impl Agent) -> Self {}
    pub fn several() -> Self {}
    pub fn agent(self, path: impl Into<String>, agent: Builder) -> Self {}
    pub fn mount(mut self, mount: Mount) -> Self {}
    pub fn data(mut self, folder: impl Into<PathBuf>) -> Self {}
    pub fn public_url(mut self, url: impl Into<String>) -> Self {}
    pub fn hosts(mut self, hosts: impl IntoIterator<Item = impl Into<String>>) -> Self {}
    pub fn versions(mut self, versions: impl IntoIterator<Item = Version>) -> Self {}
    pub fn bindings(mut self, bindings: impl IntoIterator<Item = Binding>) -> Self {}
    pub fn lenient_version(mut self, lenient: bool) -> Self {}
    pub fn limits(mut self, limits: Limits) -> Self {}
    pub fn origin(mut self, origin: impl Into<String>) -> Self {}
    pub fn route<F, A>(mut self, path: impl Into<String>, answer: F) -> Self
    where
        F: Fn(http::Request<Bytes>) -> A + Send + Sync + 'static,
        A: Future<Output = http::Response<Bytes>> + Send + 'static,
    {}
    pub fn guard(mut self, guard: Guard) -> Self {}
    pub fn tls(mut self, tls: Tls) -> Self {}
    pub fn auth(mut self, auth: Auth) -> Self {}
    pub fn scope_tokens(mut self, tokens: Arc<dyn ScopeTokens>) -> Self {}
    pub fn signing(mut self, signing: Signing) -> Self {}
    pub fn catalog(mut self, prefix: impl Into<String>) -> Self {}
    pub fn peers(mut self, peers: impl Peers + 'static) -> Self {}
    pub fn sequence(mut self, sequence: bool) -> Self {}
    pub fn quiet(mut self) -> Self {}
    pub fn grace(mut self, grace: Duration) -> Self {}
    pub async fn serve(self, address: impl Into<Address>) -> Result<()> {}
    pub async fn bind(self, address: impl Into<Address>) -> Result<Running> {}
}
pub async fn stop_signal() -> io::Result<()> {}

// signing.rs
#[derive(Clone)]
pub struct Signing {}
impl Signing {
    pub fn new(key: impl Into<Arc<SigningKey>>) -> Self {}
    pub fn also(mut self, key: impl Into<Arc<SigningKey>>) -> Self {}
    pub fn published(mut self, key: Jwk) -> Self {}
    pub fn chain(mut self, certificates: impl IntoIterator<Item = Vec<u8>>) -> Self {}
    pub fn keys_at(mut self, url: impl Into<String>) -> Self {}
}
impl fmt::Debug for Signing {}

// testing/events.rs
pub struct Events {}
impl Events {
    pub fn next_event(&mut self) -> impl Future<Output = Option<Event>> {}
    pub fn task_id(&self) -> TaskId {}
    pub fn expect_working(&mut self, words: &str) -> impl Future<Output = ()> {}
    pub fn expect_input_required(&mut self, question: &str) -> impl Future<Output = ()> {}
    pub fn expect_auth_required(&mut self, words: &str) -> impl Future<Output = ()> {}
    pub fn expect_completed(&mut self) -> impl Future<Output = ()> {}
    pub fn expect_failed(&mut self, words: &str) -> impl Future<Output = ()> {}
    pub fn expect_rejected(&mut self, words: &str) -> impl Future<Output = ()> {}
    pub fn expect_canceled(&mut self) -> impl Future<Output = ()> {}
    pub fn expect_artifact(&mut self, text: &str) -> impl Future<Output = Artifact> {}
    pub fn expect_message(&mut self, text: &str) -> impl Future<Output = Message> {}
    pub fn expect_end(&mut self) -> impl Future<Output = ()> {}
}
impl fmt::Debug for Events {}

// testing/mod.rs
pub use chancery_core::clock::ManualClock;
pub use events::Events;
pub use reply::Reply;
#[derive(Clone)]
pub struct Client {}
impl Client {
    pub fn new(agent: impl Agent) -> Self {}
    pub fn of(agent: Builder) -> Self {}
    pub fn called_by(&self, caller: Caller) -> Self {}
    pub fn engine(&self) -> &Engine {}
    pub fn clock(&self) -> &ManualClock {}
    pub async fn advance(&self, by: Duration) {}
    pub async fn send(&self, message: impl Into<Message>) -> Result<Reply> {}
    pub async fn stream(&self, message: impl Into<Message>) -> Result<Events> {}
    pub async fn watch(&self, id: impl Into<TaskId>) -> Result<Events> {}
    pub async fn task(&self, id: impl Into<TaskId>) -> Result<Task> {}
    pub async fn cancel(&self, id: impl Into<TaskId>) -> Result<Task> {}
}

// testing/reply.rs
#[derive(Debug, Clone)]
pub struct Reply(_);
impl Reply {
    pub fn text(&self) -> String {}
    pub fn task(&self) -> Option<&Task> {}
    pub fn task_id(&self) -> TaskId {}
    pub fn follow_up(&self, part: impl Into<Part>) -> Message {}
    pub fn into_inner(self) -> SendReply {}
    pub fn expect_message(&self, text: &str) -> &Self {}
    pub fn expect_completed(&self) -> &Self {}
    pub fn expect_reply(&self, words: &str) -> &Self {}
    pub fn expect_input_required(&self, question: &str) -> &Self {}
    pub fn expect_auth_required(&self, words: &str) -> &Self {}
    pub fn expect_failed(&self, words: &str) -> &Self {}
    pub fn expect_rejected(&self, words: &str) -> &Self {}
    pub fn expect_artifact(&self, text: &str) -> &Self {}
}

// tls.rs
#[derive(Clone)]
pub struct Tls {}
impl Tls {
    pub fn open(chain: impl AsRef<Path>, key: impl AsRef<Path>) -> Result<Self> {}
    pub fn client_ca(mut self, file: impl AsRef<Path>) -> Result<Self> {}
    pub fn interval(mut self, interval: Duration) -> Self {}
}
impl fmt::Debug for Tls {}

// webhook/key.rs
#[derive(Clone)]
pub struct Key {}
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum KeyError {
    File(io::Error),
    Invalid,
    Unmade,
}
impl Key {
    pub fn open(folder: impl AsRef<Path>) -> Result<Self, KeyError> {}
    pub fn ephemeral() -> Result<Self, KeyError> {}
    pub fn id(&self) -> String {}
    pub fn jwks(&self) -> String {}
}
impl fmt::Debug for Key {}

// webhook/mod.rs
pub use key::{Key, KeyError};
#[derive(Clone)]
pub struct Webhooks {}
impl Webhooks {
    pub fn new(client: Client, key: Key) -> Self {}
    pub fn clock(mut self, clock: impl Clock) -> Self {}
}
impl Sender for Webhooks {}
