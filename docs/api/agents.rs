// The public API of crates/agents. Written by a test (tests/repository); do not edit.

// agent.rs
#[derive(Clone)]
pub struct Agent {}
impl Agent {
    pub fn config(&self) -> &config::Agent {}
    pub fn versions(&self) -> &[Version] {}
    pub fn engine(&self) -> Builder {}
    pub fn mount(&self, retention: Option<Duration>) -> Mount {}
}

// demo/certificates.rs
#[derive(Debug, Clone)]
pub struct Certificates {}
impl Certificates {
    pub fn authority(&self) -> PathBuf {}
    pub fn server(&self) -> (PathBuf, PathBuf) {}
    pub fn client(&self) -> (PathBuf, PathBuf) {}
}

// demo/listeners.rs
pub struct TlsListener {
    pub name: &'static str,
    pub mutual: bool,
    pub running: Running,
    pub certificates: Certificates,
}

// demo/mod.rs
pub use self::{certificates::Certificates, listeners::TlsListener};
pub fn config(data: PathBuf) -> Result<Config, chancery_config::Error> {}

// error.rs
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    Config(chancery_config::Error),
    Folder { folder: PathBuf, source: io::Error },
    Store { file: PathBuf, source: chancery::store::Error },
    Network { network: String, source: Box<dyn std::error::Error + Send + Sync> },
    Bind { listen: String, error: chancery::Error },
    Server(chancery::Error),
    Certificates { folder: PathBuf, source: Box<dyn std::error::Error + Send + Sync> },
    KeyStore(chancery_signing::StoreError),
    Key(chancery_signing::KeyError),
    Demo(String),
}

// lib.rs
pub mod demo;
pub mod settings;
pub use chancery_config::Config;
pub use self::{agent::Agent, error::Error, site::{Served, Site, TASKS}};
pub type Result<T, E = Error> = std::result::Result<T, E>;

// reload.rs
impl Served {
    pub fn reload(&mut self, changed: Config) {}
}

// settings.rs
#[must_use]
pub fn auth(said: &config::Auth) -> chancery::Auth {}
pub fn exchange(said: &config::Auth) -> chancery::Result<Option<oauth::Exchange>> {}
#[must_use]
pub fn signing(said: &config::Signing) -> Option<Signing> {}
#[must_use]
pub fn lattice(said: &config::Lattice, agent: &str) -> Option<Lattice> {}
#[must_use]
pub fn token_roots(said: &config::Lattice) -> Option<Arc<Roots>> {}

// site.rs
pub const TASKS: &str = ..;
pub struct Site {}
pub struct Served {}
impl Site {
    pub fn new(config: Config) -> Self {}
    pub fn config(&self) -> &Config {}
    pub fn agents(&self) -> &[Agent] {}
    pub fn is_demo(&self) -> bool {}
    pub fn mounts(&self) -> impl Iterator<Item = Mount> {}
    pub fn served_at(&self, url: &str) {}
    pub async fn bind(self) -> Result<Served> {}
    pub fn data(&self) -> Option<&PathBuf> {}
}
impl Served {
    pub fn running(&self) -> &Running {}
    pub fn url(&self) -> &str {}
    pub fn site(&self) -> &Site {}
    pub fn tls_listeners(&self) -> &[TlsListener] {}
    pub async fn shutdown(self) {}
}
