// The public API of crates/config. Written by a test (tests/repository); do not edit.

// agent.rs
#[derive(Debug, Clone, PartialEq)]
pub struct Agent {
    pub name: String,
    pub path: String,
    pub card: Card,
    pub card_file: Option<PathBuf>,
    pub tenant: String,
    pub bindings: Option<Vec<Binding>>,
    pub versions: Option<Vec<Version>>,
    pub timeout: Duration,
    pub concurrency: Option<usize>,
    pub auth: Option<super::auth::Alternatives>,
    pub skill_scopes: Vec<(String, Vec<String>)>,
    pub on_restart: OnRestart,
    pub backend: Backend,
}
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum OnRestart {
    Fail,
    Rerun,
}
impl Agent {
    pub fn new(name: impl Into<String>, card: Card, backend: Backend) -> Self {}
}

// auth.rs
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Auth {
    pub schemes: Vec<Scheme>,
    pub require: Alternatives,
    pub anonymous: bool,
    pub read_scopes: Vec<String>,
    pub write_scopes: Vec<String>,
    pub end_streams: bool,
    pub exchange: Option<Exchange>,
}
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exchange {
    pub token_url: String,
    pub client_id: String,
    pub client_secret: Secret,
    pub actor_token: Option<Secret>,
    pub audience: Option<String>,
    pub scopes: Vec<String>,
}
pub type Alternatives = Vec<Vec<String>>;
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scheme {
    pub name: String,
    pub kind: SchemeKind,
    pub holders: Vec<Holder>,
    pub scopes: Vec<String>,
}
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SchemeKind {
    ApiKey(ApiKeyLocation, String),
    Bearer,
    Basic,
    Jwt(Jwt),
    MutualTls(CertificateName),
}
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Jwt {
    pub issuer: String,
    pub audience: Vec<String>,
    pub jwks: Option<Jwks>,
    pub algorithms: Option<Vec<&'static str>>,
    pub leeway: Option<Duration>,
    pub prefix: Option<String>,
    pub actors: Option<Vec<String>>,
}
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Jwks {
    Url(String),
    File(PathBuf),
}
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum CertificateName {
    CommonName,
    Uri,
    Dns,
    Fingerprint,
}
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Holder {
    pub subject: String,
    pub proof: Proof,
    pub scopes: Vec<String>,
}
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Proof {
    Secret(SecretDigest),
    Certificate(String),
}
#[derive(Clone, PartialEq, Eq)]
pub struct SecretDigest(_);
impl SecretDigest {
    pub fn parse(text: &str) -> Option<Self> {}
    pub fn as_str(&self) -> &str {}
}
impl fmt::Debug for SecretDigest {}
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tls {
    pub cert: PathBuf,
    pub key: PathBuf,
    pub client_ca: Option<PathBuf>,
}
pub const ALGORITHMS: [&str; 9] = ..;
impl Auth {
    pub fn requirements(
        &self,
        alternatives: &[Vec<String>],
    ) -> Vec<SecurityRequirement> {}
}

// backend/command.rs
pub const KIND: Kind = ..;
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Command {
    pub program: PathBuf,
    pub arguments: Vec<String>,
    pub mode: Mode,
    pub env: Vec<String>,
    pub cwd: PathBuf,
    pub kill_after: Duration,
    pub max_processes: usize,
}
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Mode {
    Text { chunk: Option<String>, expose_stderr: bool },
    Jsonl { lifetime: Lifetime, lenient: bool },
}
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lifetime {
    Task,
    Pool,
}

// backend/echo.rs
pub const KIND: Kind = ..;

// backend/mod.rs
pub mod command;
pub mod echo;
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Backend {
    Echo,
    Command(Command),
    Demo,
}
#[derive(Debug)]
pub struct Kind {
    pub key: &'static str,
    pub keys: &'static [&'static str],
    pub noun: &'static str,
    pub example: &'static str,
    pub docs: &'static str,
}
pub const KINDS: &[&Kind] = ..;
impl Backend {
    pub fn output_modes(&self) -> [&'static str; 2] {}
}

// error.rs
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error {}
impl Error {
    pub fn file(&self) -> Option<&str> {}
    pub fn line(&self) -> Option<usize> {}
    pub fn message(&self) -> &str {}
    pub fn hint(&self) -> Option<&str> {}
}
impl fmt::Display for Error {}
impl std::error::Error for Error {}
pub fn nearest<'a>(
    word: &str,
    right: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {}

// handoff.rs
#[derive(Debug, Clone, PartialEq)]
pub struct Handoff {
    pub allow: Patterns<Audience>,
    pub peers: Vec<Peer>,
    pub relay: bool,
    pub max_hops: Option<u32>,
    pub max_visits: Option<usize>,
    pub grants: Option<Duration>,
    pub trusted_delegators: Vec<String>,
    pub on_ambiguous: OnAmbiguous,
    pub on_message_reply: OnMessageReply,
}
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum OnAmbiguous {
    Fail,
    Retry,
}
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum OnMessageReply {
    Complete,
    Fail,
}
#[derive(Debug, Clone, PartialEq)]
pub struct Peer {
    pub name: String,
    pub url: String,
    pub bearer: Option<Secret>,
    pub api_key: Option<Secret>,
}

// lattice.rs
#[derive(Debug, Clone, PartialEq)]
pub struct Lattice {
    pub workflows: Vec<(PathBuf, Workflow)>,
    pub mode: Option<Strictness>,
    pub least_privilege: bool,
    pub on_violation: OnViolation,
    pub approvers: Vec<String>,
    pub roots: Vec<(u32, String)>,
}
pub fn workflow(file: &Path) -> Result<Workflow> {}

// lib.rs
pub mod auth;
pub mod backend;
pub use self::{
    agent::{Agent, OnRestart},
    auth::{Auth, Tls},
    backend::Backend, error::{Error, nearest},
    handoff::{Handoff, OnAmbiguous, OnMessageReply, Peer},
    lattice::{Lattice, workflow},
    quantity::{duration, size},
    signing::{Key, Signing},
    watch::Watch,
};
#[must_use]
pub fn default_file() -> String {}
pub const VERSIONS: [(&str, Version); 4] = ..;
pub const BINDINGS: [(&str, Binding); 3] = ..;
#[derive(Debug, Clone, PartialEq)]
pub struct Config {
    pub file: PathBuf,
    pub server: Server,
    pub store: Store,
    pub push: Push,
    pub auth: Option<Auth>,
    pub guard: Guard,
    pub signing: Option<Signing>,
    pub tls: Option<Tls>,
    pub lattice: Lattice,
    pub handoff: Option<Handoff>,
    pub limits: Limits,
    pub retention: Retention,
    pub log: Log,
    pub agents: Vec<Agent>,
}
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Server {
    pub listen: String,
    pub public_url: Option<String>,
    pub hosts: Vec<String>,
    pub data: PathBuf,
    pub versions: Vec<Version>,
    pub bindings: Vec<Binding>,
    pub lenient_version: bool,
    pub drain: Duration,
    pub reload: bool,
}
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Store {
    pub ephemeral: bool,
    pub durability: Durability,
}
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Durability {
    Power,
    Process,
}
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Push {
    pub allow: Vec<String>,
    pub schedule: Option<Vec<Duration>>,
}
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Guard {
    pub allow: Vec<String>,
    pub loopback: bool,
}
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Limits {
    pub body: Option<u64>,
    pub parts: Option<usize>,
    pub json_depth: Option<usize>,
    pub requests: Option<usize>,
    pub streams: Option<usize>,
}
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retention {
    pub tasks: Option<Duration>,
}
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Log {
    pub json: bool,
    pub level: LogLevel,
}
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum LogLevel {
    Error,
    Warn,
    Info,
    Debug,
    Trace,
}
impl LogLevel {
    pub fn as_str(self) -> &'static str {}
}
impl Config {
    pub fn load(file: impl AsRef<Path>) -> Result<Self> {}
    pub fn parse(
        file: &Path,
        text: &str,
        variables: &BTreeMap<String, String>,
    ) -> Result<Self> {}
    pub fn check(&self) -> Result<()> {}
    pub fn sources(&self) -> Vec<PathBuf> {}
}

// quantity.rs
pub fn duration(text: &str) -> Option<Duration> {}
pub fn size(text: &str) -> Option<u64> {}

// signing.rs
#[derive(Debug, Clone, PartialEq)]
pub struct Signing {
    pub jku: Option<String>,
    pub keys: Vec<Key>,
}
#[derive(Clone)]
pub struct Key {
    pub file: PathBuf,
    pub key: Arc<SigningKey>,
    pub also_sign: bool,
    pub chain_file: Option<PathBuf>,
    pub chain: Vec<Vec<u8>>,
}
impl PartialEq for Key {}
impl fmt::Debug for Key {}
impl Signing {
    pub fn sources(&self) -> impl Iterator<Item = PathBuf> {}
}

// watch.rs
#[derive(Debug)]
pub struct Watch {}
impl Watch {
    pub async fn new(paths: impl IntoIterator<Item = PathBuf>) -> Self {}
    pub async fn changed(&mut self) -> PathBuf {}
}
