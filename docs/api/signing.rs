// The public API of crates/signing. Written by a test (tests/repository); do not edit.

// chain.rs
#[derive(Debug, Clone, Default)]
pub struct Roots {}
#[derive(Debug, thiserror::Error)]
pub struct RootError;
pub fn certificates(pem: &[u8]) -> Option<Vec<Vec<u8>>> {}
impl Roots {
    pub fn from_pem(text: &[u8]) -> Result<Self, RootError> {}
    pub fn from_der<'a>(
        certificates: impl IntoIterator<Item = &'a [u8]>,
    ) -> Result<Self, RootError> {}
    pub fn is_empty(&self) -> bool {}
}

// diff.rs
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Change {
    pub path: String,
    pub before: Option<Value>,
    pub after: Option<Value>,
    pub breaking: bool,
}
pub fn diff(before: &Document, after: &Document) -> Option<Vec<Change>> {}
impl fmt::Display for Change {}

// document.rs
#[derive(Debug, Clone, PartialEq)]
pub struct Document {}
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DocumentError {
    Syntax(serde_json::Error),
    NoObject,
    Duplicate(String),
    Number(String),
    TooDeep,
    TooLong,
}
impl Document {
    pub fn parse(text: &[u8]) -> Result<Self, DocumentError> {}
    pub fn of(value: &impl Serialize) -> Result<Self, DocumentError> {}
    pub fn members(&self) -> &Map<String, Value> {}
    pub fn member(&self, name: &str) -> Option<&Value> {}
    pub fn into_value(self) -> Value {}
}

// fetch.rs
pub trait Fetch: Send + Sync {
    async fn key(&self, request: &KeyRequest) -> Result<Option<Jwk>, FetchError>;
}
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct KeyRequest {
    pub url: Url,
    pub kid: String,
    pub guarded: bool,
}
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct FetchError(_);
impl FetchError {
    pub fn new(reason: impl Into<String>) -> Self {}
}
impl KeyRequest {
    pub fn new(
        url: &Url,
        kid: &str,
        card: Option<&Url>,
        allowed_hosts: &[String],
    ) -> Result<Self, FetchError> {}
}

// form.rs
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Form {
    Spec,
    Sdk,
    SdkAscii,
    Sdk03,
    Raw,
    JsMemory,
}
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Canonical {
    pub bytes: Vec<u8>,
    pub covered: Map<String, Value>,
    pub uncovered: Vec<String>,
    pub ignored: Vec<String>,
}
impl Form {
    pub const ALL: [Self; 6] = ..;
    pub fn as_str(self) -> &'static str {}
    pub fn parse(name: &str) -> Option<Self> {}
    pub fn of(self, document: &Document) -> Option<Canonical> {}
}
impl fmt::Display for Form {}

// jwk.rs
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Algorithm {
    Es256,
    Es384,
    Rs256,
    EdDsa,
}
impl Algorithm {
    pub fn as_str(self) -> &'static str {}
    pub fn parse(name: &str) -> Option<Self> {}
}
impl fmt::Display for Algorithm {}
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Jwk {}
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum JwkError {
    Document(DocumentError),
    Member(&'static str),
    Kind,
    NoSet,
    TooMany,
}
impl Jwk {
    pub fn parse(text: &[u8]) -> Result<Self, JwkError> {}
    pub fn read(members: &Map<String, Value>) -> Result<Self, JwkError> {}
    pub fn kid(&self) -> Option<&str> {}
    pub fn algorithm(&self) -> Algorithm {}
    pub fn verifies(&self) -> bool {}
    pub fn is_valid_at(&self, now: Timestamp) -> bool {}
    pub fn thumbprint(&self) -> String {}
    pub fn to_value(&self) -> Value {}
    pub fn verify(&self, message: &[u8], signature: &[u8]) -> bool {}
}
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct JwkSet {}
impl JwkSet {
    pub fn parse(text: &[u8]) -> Result<Self, JwkError> {}
    pub fn keys(&self) -> &[Jwk] {}
    pub fn key(&self, kid: &str) -> Option<&Jwk> {}
    pub fn to_value(&self) -> Value {}
}
impl FromIterator<Jwk> for JwkSet {}
impl From<Jwk> for JwkSet {}

// key.rs
pub struct SigningKey {}
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum KeyError {
    Jwk(JwkError),
    Invalid,
    NoKid,
    Pem,
    Unsupported(Algorithm),
    Failed,
}
impl SigningKey {
    pub fn generate(
        algorithm: Algorithm,
        kid: impl Into<String>,
    ) -> Result<Self, KeyError> {}
    pub fn from_jwk(text: &[u8]) -> Result<Self, KeyError> {}
    pub fn from_pem(text: &[u8], kid: impl Into<String>) -> Result<Self, KeyError> {}
    pub fn kid(&self) -> &str {}
    pub fn algorithm(&self) -> Algorithm {}
    pub fn public(&self) -> Jwk {}
    pub fn to_private_jwk(&self) -> Result<String, KeyError> {}
}
impl fmt::Debug for SigningKey {}

// lib.rs
pub use chain::{RootError, Roots, certificates};
pub use diff::{Change, diff};
pub use document::{Document, DocumentError};
pub use fetch::{Fetch, FetchError, KeyRequest};
pub use form::{Canonical, Form};
pub use jwk::{Algorithm, Jwk, JwkError, JwkSet};
pub use key::{KeyError, SigningKey};
pub use report::{Attempt, KeyOrigin, Outcome, Report, Verdict};
pub use sign::{Lint, SignError, Signed, Signer, lint};
pub use store::{KeyStore, StoreError, StoredKey};
pub use verify::{KeySource, Policy, Verified, Verifier};

// report.rs
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Report {
    pub result: Verdict,
    pub reason: Option<String>,
    pub form: Option<Form>,
    pub kid: Option<String>,
    pub alg: Option<Algorithm>,
    pub key_source: Option<KeyOrigin>,
    pub thumbprint: Option<String>,
    pub uncovered: Vec<String>,
    pub ignored: Vec<String>,
    pub attempts: Vec<Attempt>,
}
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Verdict {
    Accept,
    AcceptReduced,
    AcceptCovered,
    Unsigned,
    NoKey,
    Reject,
}
impl Verdict {
    pub fn is_good(self) -> bool {}
    pub fn as_str(self) -> &'static str {}
}
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[non_exhaustive]
pub enum KeyOrigin {
    Pinned,
    X5c,
    Jku,
    JwksUri,
    WellKnown,
    Registry,
}
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Attempt {
    pub index: usize,
    pub outcome: Outcome,
    pub reason: Option<String>,
}
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Outcome {
    Valid,
    BadSignature,
    BadEncoding,
    BadHeader,
    BadAlg,
    Crit,
    NoKey,
    KeyExpired,
    ChainUntrusted,
    ChainExpired,
    NameMismatch,
    IssMismatch,
    KeyChanged,
}

// sign.rs
#[derive(Debug)]
pub struct Signer<'a> {}
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Signed {
    pub forms: Vec<Form>,
    pub uncovered: Vec<String>,
}
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SignError {
    Key(KeyError),
    Ambiguous,
    Signatures,
}
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Lint {
    pub path: String,
    pub message: String,
}
impl<'a> Signer<'a> {
    pub fn new(key: &'a SigningKey) -> Self {}
    pub fn jku(mut self, url: impl Into<String>) -> Self {}
    pub fn chain<'c>(
        mut self,
        certificates: impl IntoIterator<Item = &'c [u8]>,
    ) -> Self {}
    pub fn issuer(mut self, issuer: impl Into<String>) -> Self {}
    pub fn forms(mut self, forms: impl IntoIterator<Item = Form>) -> Self {}
    pub fn replace(mut self) -> Self {}
    pub fn sign(&self, card: &mut Document) -> Result<Signed, SignError> {}
}
pub fn lint(card: &Document) -> Vec<Lint> {}

// store.rs
#[derive(Debug, Clone)]
pub struct KeyStore {}
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct StoredKey {
    pub kid: String,
    pub algorithm: Algorithm,
    pub thumbprint: String,
    pub created: Timestamp,
    pub path: PathBuf,
}
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    File(PathBuf, io::Error),
    Exposed(PathBuf),
    Key(PathBuf, KeyError),
    Import(KeyError),
    Generate(KeyError),
    Exists(String),
    Missing(String),
    Name(String),
}
impl KeyStore {
    pub fn new(folder: impl Into<PathBuf>) -> Self {}
    pub fn generate(
        &self,
        algorithm: Algorithm,
        kid: &str,
        now: Timestamp,
    ) -> Result<SigningKey, StoreError> {}
    pub fn import(
        &self,
        text: &[u8],
        kid: Option<&str>,
        now: Timestamp,
    ) -> Result<SigningKey, StoreError> {}
    pub fn list(&self) -> Result<Vec<StoredKey>, StoreError> {}
    pub fn key(&self, kid: &str) -> Result<SigningKey, StoreError> {}
    pub fn newest(&self) -> Result<Option<SigningKey>, StoreError> {}
    pub fn jwks(&self) -> Result<JwkSet, StoreError> {}
    pub fn rotate(
        &self,
        algorithm: Algorithm,
        kid: &str,
        keep: usize,
        now: Timestamp,
    ) -> Result<(SigningKey, Vec<String>), StoreError> {}
    pub fn remove(&self, kid: &str) -> Result<(), StoreError> {}
    pub fn path(&self, kid: &str) -> Result<PathBuf, StoreError> {}
}

// verify.rs
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Policy {
    pub keys: JwkSet,
    pub roots: Roots,
    pub allow_key_hosts: Vec<String>,
    pub well_known: bool,
    pub revoked_kids: Vec<String>,
    pub revoked_certificates: Vec<String>,
    pub forms: Vec<Form>,
    pub require_covered: Vec<String>,
    pub dialect: bool,
    pub require_issuer: bool,
    pub issuer_suffix: bool,
    pub thumbprints: Vec<String>,
}
pub trait KeySource: Send + Sync {
    async fn key(&self, kid: &str, card: Option<&Url>) -> Option<Jwk>;
}
#[derive(Clone)]
pub struct Verifier {}
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Verified {
    pub report: Report,
    pub covered: Option<Value>,
}
impl Verifier {
    pub fn new(policy: Policy) -> Self {}
    pub fn fetching(mut self, fetch: Arc<dyn Fetch>) -> Self {}
    pub fn registry(mut self, source: Arc<dyn KeySource>) -> Self {}
    pub async fn verify_bytes(
        &self,
        text: &[u8],
        origin: Option<&Url>,
        now: Timestamp,
    ) -> Verified {}
    pub async fn verify(
        &self,
        document: &Document,
        origin: Option<&Url>,
        now: Timestamp,
    ) -> Verified {}
}
impl fmt::Debug for Verifier {}
