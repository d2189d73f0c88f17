// The public API of crates/net. Written by a test (tests/repository); do not edit.

// address.rs
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Blocked {
    Unreadable,
    Scheme,
    UserInfo,
    Name(String),
    Address(IpAddr),
}

// client.rs
#[derive(Debug, Clone)]
pub enum Reach {
    Guarded(Guard),
    Trusted,
}
#[derive(Debug, Clone)]
pub struct Options {}
impl Options {
    pub fn new() -> Self {}
    pub fn connect_timeout(mut self, limit: Duration) -> Self {}
    pub fn timeout(mut self, limit: Duration) -> Self {}
    pub fn no_timeout(mut self) -> Self {}
    pub fn tls(mut self, tls: &Tls) -> Self {}
    pub fn direct(mut self) -> Self {}
    pub fn certificates(mut self) -> Self {}
}
impl Default for Options {}
#[derive(Debug, Clone)]
pub struct Client {}
impl Client {
    pub fn new(reach: Reach, options: &Options) -> Result<Self> {}
    pub fn trusted(options: &Options) -> Result<reqwest::Client> {}
    pub fn request(&self, method: Method, url: &str) -> Result<RequestBuilder, Blocked> {}
    pub fn request_url(
        &self,
        method: Method,
        url: Url,
    ) -> Result<RequestBuilder, Blocked> {}
}
#[must_use]
pub fn blocked(error: &reqwest::Error) -> Option<&Blocked> {}
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FetchError {
    Blocked(Blocked),
    Unreachable(reqwest::Error),
    Status(http::StatusCode),
    Body(BodyError),
}
impl FetchError {
    pub fn without_url(self) -> Self {}
}
impl Client {
    pub async fn fetch(&self, url: &str, most: usize) -> Result<Vec<u8>, FetchError> {}
}
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BodyError {
    TooLong,
    Broken(reqwest::Error),
}
pub async fn read_body(
    response: &mut reqwest::Response,
    most: usize,
) -> Result<Vec<u8>, BodyError> {}

// connect.rs
#[derive(Clone)]
pub struct Connector {}
impl Connector {
    pub fn new(reach: Reach) -> Self {}
}
impl fmt::Debug for Connector {}
impl Service<Uri> for Connector {
    type Response = TokioIo<TcpStream>;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, BoxError>> + Send>>;
}

// guard.rs
#[derive(Clone)]
pub struct Guard {}
impl Default for Guard {}
impl Guard {
    pub fn new() -> Self {}
    pub fn allow(mut self, network: IpNet) -> Self {}
    pub fn loopback(mut self, open: bool) -> Self {}
    pub fn resolver(mut self, resolver: impl Resolver + 'static) -> Self {}
    pub fn check(&self, url: &str) -> Result<Url, Blocked> {}
    pub fn check_url(&self, url: &Url) -> Result<(), Blocked> {}
    pub async fn resolve(&self, url: &Url) -> Result<Vec<SocketAddr>, BoxError> {}
}
impl fmt::Debug for Guard {}
impl Resolve for Guard {}
pub trait Resolver: Send + Sync {
    async fn resolve(&self, name: &str) -> Result<Vec<IpAddr>, BoxError>;
}

// key_cache.rs
pub trait KeySource: fmt::Debug + Send + Sync + 'static {
    type Keys: Send + Sync + 'static;
    async fn fetch(&self) -> Result<(Self::Keys, Option<String>), BoxError>;
}
#[derive(Debug, Clone, Copy)]
pub struct CachePolicy {
    pub timeout: Duration,
    pub min_age: Duration,
    pub max_age: Duration,
    pub pause: Duration,
    pub first_pause: Duration,
    pub stale: Stale,
}
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stale {
    Serve,
    Drop,
}
#[derive(Debug)]
pub struct KeyCache<S: KeySource>(_);
#[derive(Debug, Clone)]
pub struct KeysUnavailable(_);
impl<S: KeySource> Clone for KeyCache<S> {}
impl<S: KeySource> KeyCache<S> {
    pub fn new(source: S, policy: CachePolicy) -> Self {}
    pub fn source(&self) -> &S {}
    pub fn adjust(&self, change: impl FnOnce(&mut CachePolicy)) {}
    pub async fn find<R>(
        &self,
        look: impl Fn(&S::Keys) -> Option<R>,
    ) -> Result<Option<R>, KeysUnavailable> {}
}
impl KeysUnavailable {
    pub fn reason<E: Error + 'static>(&self) -> Option<&E> {}
}
impl fmt::Display for KeysUnavailable {}
impl Error for KeysUnavailable {}

// lib.rs
pub use address::Blocked;
pub use client::{BodyError, Client, FetchError, Options, Reach, blocked, read_body};
pub use connect::Connector;
pub use guard::{Guard, Resolver};
pub use ipnet::IpNet;
pub use key_cache::{CachePolicy, KeyCache, KeySource, KeysUnavailable, Stale};
pub use tls::Tls;

// tls.rs
#[derive(Clone, Default)]
pub struct Tls {}
impl Tls {
    pub fn trust(&mut self, pem: &[u8]) -> Result<()> {}
    pub fn identify(&mut self, chain: &[u8], key: &[u8]) -> Result<()> {}
    pub fn hide(&mut self) {}
    pub fn accept_anyone(&mut self, yes: bool) {}
    pub fn roots(&self) -> impl Iterator<Item = &[u8]> {}
    pub fn identity(&self) -> Option<(&[u8], &[u8])> {}
    pub fn accepts_anyone(&self) -> bool {}
}
impl fmt::Debug for Tls {}
