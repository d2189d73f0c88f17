// The public API of crates/chancery. Written by a test (tests/repository); do not edit.

// lib.rs
pub mod webhook;
#[cfg(feature = "client")]
pub use chancery_client as client;
pub use chancery_core as core;
pub use chancery_engine as engine;
pub use chancery_server as server;
#[cfg(feature = "client")]
pub use chancery_client::{Client, Follow, Keyring, Peers, Secrets};
pub use chancery_core::{
    Artifact, Caller, Card, Content, Error, ErrorKind, Event, Message, Operations, Part,
    Result, Role, Skill, Task, TaskState,
};
pub use chancery_engine::{
    Agent, Engine, Failure, OnRestart, Outcome, Turn,
    delegation::{self, Delegated, DelegationError, Handoff, Passing},
    store::{self, Memory, Sqlite},
};
pub use chancery_server::{Auth, Limits, Router, auth};
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
    pub fn store(self, store: impl Store) -> Self {}
    pub fn shared_store(mut self, store: Arc<dyn Store>) -> Self {}
    pub fn data(mut self, folder: impl Into<PathBuf>) -> Self {}
    pub fn public_url(mut self, url: impl Into<String>) -> Self {}
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
    pub fn schedule(mut self, schedule: Schedule) -> Self {}
    pub fn tls(mut self, tls: Tls) -> Self {}
    pub fn auth(mut self, auth: Auth) -> Self {}
    pub fn scope_tokens(mut self, tokens: Arc<dyn ScopeTokens>) -> Self {}
    pub fn signing(mut self, signing: Signing) -> Self {}
    pub fn catalog(mut self, prefix: impl Into<String>) -> Self {}
    pub fn peers(mut self, peers: impl Peers + 'static) -> Self {}
    pub fn grace(mut self, grace: Duration) -> Self {}
    pub async fn serve(self, address: impl tokio::net::ToSocketAddrs) -> Result<()> {}
    pub async fn bind(
        mut self,
        address: impl tokio::net::ToSocketAddrs,
    ) -> Result<Running> {}
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
