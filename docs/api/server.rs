// The public API of crates/server. Written by a test (tests/repository); do not edit.

// auth/certificate.rs
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum CertificateName {
    CommonName,
    Uri,
    Dns,
    Fingerprint,
}
#[derive(Debug, Clone)]
pub struct PeerCertificate(_);
impl PeerCertificate {
    pub fn new(der: Vec<u8>) -> Self {}
}

// auth/jwt.rs
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Algorithm {
    RS256,
    RS384,
    RS512,
    PS256,
    PS384,
    PS512,
    ES256,
    ES384,
    EdDSA,
}
impl Algorithm {
    pub const ALL: [(&'static str, Self); 9] = ..;
}
#[derive(Debug, Clone)]
pub struct Jwt {}
impl Jwt {
    pub fn issuer<A: Into<String>>(
        issuer: impl Into<String>,
        audiences: impl IntoIterator<Item = A>,
    ) -> Self {}
    pub fn keys_at(mut self, url: impl Into<String>) -> Self {}
    pub fn keys_in(mut self, file: impl Into<PathBuf>) -> Self {}
    pub fn keys(mut self, jwks: &str) -> Result<Self> {}
    pub fn algorithms(
        mut self,
        algorithms: impl IntoIterator<Item = Algorithm>,
    ) -> Self {}
    pub fn leeway(mut self, leeway: Duration) -> Self {}
    pub fn prefix(mut self, prefix: impl Into<String>) -> Self {}
    pub fn actors<A: Into<String>>(
        mut self,
        actors: impl IntoIterator<Item = A>,
    ) -> Self {}
    pub fn pause(self, pause: Duration) -> Self {}
}

// auth/mod.rs
pub use self::{
    certificate::{CertificateName, PeerCertificate},
    jwt::{Algorithm, Jwt},
    scheme::{Digest, Holder, Scheme},
};
#[derive(Debug, Clone, Default)]
pub struct Auth {}
impl Auth {
    pub fn new() -> Self {}
    pub fn scheme(mut self, name: impl Into<String>, scheme: Scheme) -> Self {}
    pub fn require(mut self, requirement: SecurityRequirement) -> Self {}
    pub fn requiring(
        mut self,
        requirements: impl IntoIterator<Item = SecurityRequirement>,
    ) -> Self {}
    pub fn anonymous(mut self, let_in: bool) -> Self {}
    pub fn scopes_to_read<S: Into<String>>(
        mut self,
        scopes: impl IntoIterator<Item = S>,
    ) -> Self {}
    pub fn scopes_to_write<S: Into<String>>(
        mut self,
        scopes: impl IntoIterator<Item = S>,
    ) -> Self {}
    pub fn scopes_for_skill<S: Into<String>>(
        mut self,
        skill: impl Into<String>,
        scopes: impl IntoIterator<Item = S>,
    ) -> Self {}
    pub fn keep_tokens(mut self, keep: bool) -> Self {}
    pub fn end_streams(mut self, end: bool) -> Self {}
}

// auth/scheme.rs
#[derive(Debug, Clone)]
pub struct Scheme {}
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Holder {}
#[derive(Clone, PartialEq, Eq)]
pub struct Digest(_);
impl Digest {
    pub fn of(secret: impl AsRef<[u8]>) -> Self {}
    pub fn parse(text: &str) -> Option<Self> {}
}
impl fmt::Debug for Digest {}
impl Holder {
    pub fn new(subject: impl Into<String>, secret: Digest) -> Self {}
    pub fn certificate(subject: impl Into<String>, name: impl Into<String>) -> Self {}
    pub fn scope(mut self, scope: impl Into<String>) -> Self {}
}
impl Scheme {
    pub fn api_key(location: ApiKeyLocation, name: impl Into<String>) -> Self {}
    pub fn bearer() -> Self {}
    pub fn basic() -> Self {}
    pub fn jwt(jwt: Jwt) -> Self {}
    pub fn mutual_tls(name: CertificateName) -> Self {}
    pub fn scope_token(tokens: Arc<dyn ScopeTokens>) -> Self {}
    pub fn holder(mut self, holder: Holder) -> Self {}
    pub fn declared(mut self, scheme: SecurityScheme) -> Self {}
}

// body.rs
pub struct Body(_);
impl http_body::Body for Body {
    type Data = Bytes;
    type Error = BoxError;
}

// card.rs
pub trait CardSigner: Send + Sync {
    fn sign(&self, card: &mut Card, base: &str) -> Result<()>;
    fn sign_extended(&self, card: &mut Card, base: &str) -> Result<()>;
    fn sign_snake(&self, card: Value, base: &str) -> Result<Value>;
    fn keys(&self) -> Vec<Value>;
}

// endpoint.rs
#[must_use = "an endpoint is nothing until a router has it"]
pub struct Endpoint {}
impl Endpoint {
    pub fn new(
        path: impl Into<String>,
        card: Card,
        operations: impl Operations + 'static,
    ) -> Self {}
    pub fn shared(
        path: impl Into<String>,
        card: Card,
        operations: Arc<dyn Operations>,
    ) -> Self {}
    pub fn grants(mut self, grants: Arc<dyn GrantLookup>) -> Self {}
    pub fn options(mut self, options: EndpointOptions) -> Self {}
}
#[derive(Clone, Default)]
#[must_use = "options change nothing until an endpoint has them"]
pub struct EndpointOptions {}
impl EndpointOptions {
    pub fn new() -> Self {}
    pub fn key(mut self, key: impl Into<String>) -> Self {}
    pub fn listed(mut self, name: impl Into<String>) -> Self {}
    pub fn tenant(mut self, tenant: impl Into<String>) -> Self {}
    pub fn auth(mut self, auth: Auth) -> Self {}
    pub fn open(mut self) -> Self {}
    pub fn signer(mut self, signer: Arc<dyn CardSigner>) -> Self {}
    pub fn unsigned(mut self) -> Self {}
    pub fn versions(mut self, versions: impl IntoIterator<Item = Version>) -> Self {}
    pub fn bindings(mut self, bindings: impl IntoIterator<Item = Binding>) -> Self {}
}
impl fmt::Debug for EndpointOptions {}
pub struct Site {}
impl Site {
    pub fn key(&self) -> &str {}
    pub fn url(&self) -> &str {}
    pub fn complete(&self, card: &mut Card) {}
}

// lib.rs
pub mod auth;
pub use auth::Auth;
pub use body::Body;
pub use card::CardSigner;
pub use endpoint::{Endpoint, EndpointOptions, Site};
pub use limit::Limits;
pub use router::{Builder, PeerAddress, Router};
pub use well_known::KEYS_PATH;

// limit.rs
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    pub body: usize,
    pub message: chancery_core::Limits,
    pub requests: usize,
    pub connections: usize,
    pub streams_per_caller: usize,
    pub requests_per_second: Option<u32>,
    pub batch: usize,
    pub header_time: Duration,
    pub body_time: Duration,
    pub stall_time: Duration,
    pub keep_alive: Duration,
}
impl Default for Limits {}

// router.rs
pub use self::builder::Builder;
#[derive(Clone)]
pub struct Router {}
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PeerAddress(pub IpAddr);
impl Router {
    pub fn builder() -> Builder {}
    pub fn base_url(&self) -> &str {}
    pub fn limits(&self) -> &Limits {}
    pub fn mount(&self, endpoint: Endpoint) -> Result<()> {}
    pub fn site(&self, path: &str, options: EndpointOptions) -> Result<Site> {}
    pub fn mount_at(
        &self,
        site: Site,
        card: Card,
        operations: Arc<dyn Operations>,
        grants: Option<Arc<dyn GrantLookup>>,
    ) -> Result<()> {}
    pub fn unmount(&self, key: &str) {}
    pub fn sign(&self, signer: Option<Arc<dyn CardSigner>>) -> Result<()> {}
    pub fn check_skills(&self) -> Result<()> {}
    pub fn close(&self) {}
    pub fn count_connection(&self) {}
    pub fn handle<B>(
        &self,
        request: Request<B>,
        peer: Option<IpAddr>,
    ) -> impl Future<Output = Result<Response<Body>, Infallible>> + Send + use<B>
    where
        B: http_body::Body<Data = Bytes> + Send + 'static,
        B::Error: Into<BoxError> + Send,
    {}
}
impl<B> Service<Request<B>> for Router
where
    B: http_body::Body<Data = Bytes> + Send + 'static,
    B::Error: Into<BoxError> + Send,
{
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = Pin<
        Box<dyn Future<Output = Result<Response<Body>, Infallible>> + Send>,
    >;
}
impl<F: Future<Output = Response<Body>>> Future for CatchPanic<F> {
    type Output = Result<Response<Body>, Infallible>;
}

// router/builder.rs
#[must_use = "a builder serves nothing until it is built"]
pub struct Builder {}
impl Builder {
    pub fn endpoint(mut self, endpoint: Endpoint) -> Self {}
    pub fn base_url(mut self, url: impl Into<String>) -> Self {}
    pub fn hosts(mut self, hosts: impl IntoIterator<Item = impl Into<String>>) -> Self {}
    pub fn demand_host(mut self, demand: bool) -> Self {}
    pub fn unnamed(mut self, path: impl Into<String>) -> Self {}
    pub fn several(mut self, several: bool) -> Self {}
    pub fn versions(mut self, versions: impl IntoIterator<Item = Version>) -> Self {}
    pub fn bindings(mut self, bindings: impl IntoIterator<Item = Binding>) -> Self {}
    pub fn lenient_version(mut self, lenient: bool) -> Self {}
    pub fn limits(mut self, limits: Limits) -> Self {}
    pub fn origin(mut self, origin: impl Into<String>) -> Self {}
    pub fn route<F, A>(mut self, path: impl Into<String>, handler: F) -> Self
    where
        F: Fn(http::Request<Bytes>) -> A + Send + Sync + 'static,
        A: Future<Output = http::Response<Bytes>> + Send + 'static,
    {}
    pub fn auth(mut self, auth: Auth) -> Self {}
    pub fn scope_tokens(mut self, tokens: Arc<dyn ScopeTokens>) -> Self {}
    pub fn signer(mut self, signer: Arc<dyn CardSigner>) -> Self {}
    pub fn published_keys(mut self, keys: impl IntoIterator<Item = Value>) -> Self {}
    pub fn catalog(mut self, prefix: impl Into<String>) -> Self {}
    pub fn key_client(mut self, client: Client) -> Self {}
    pub fn client_certificates(mut self, verified: bool) -> Self {}
    pub fn build(self) -> Result<Router> {}
}

// well_known.rs
pub const KEYS_PATH: &str = ..;
