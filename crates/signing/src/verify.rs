//! Checks the signatures of a card.

use std::{fmt, sync::Arc};

use async_trait::async_trait;
use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};
use jiff::Timestamp;
use serde_json::{Map, Value};
use url::Url;

use crate::{
    Algorithm, Attempt, Document, DocumentError, Fetch, Form, Jwk, JwkSet, KeyOrigin, KeyRequest, Outcome, Report, Roots, Verdict,
    form::{Canonical, is_v0_3},
    pointer,
};

/// More signatures are not looked at.
const MAX_SIGNATURES: usize = 8;

/// Which keys and which forms count. The default trusts no key beyond those on the card's own host.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Policy {
    /// Keys that are known to be the origin's. They are asked first.
    pub keys: JwkSet,
    /// Where certificate chains may end. Without any, chains are not looked at.
    pub roots: Roots,
    /// Hosts beside the card's own whose keys count, when a header points there.
    pub allow_key_hosts: Vec<String>,
    /// Whether `/.well-known/jwks.json` on the card's host is asked.
    pub well_known: bool,
    /// Names of keys that no longer count.
    pub revoked_kids: Vec<String>,
    /// SHA-256 fingerprints of certificates that no longer count, in hexadecimal.
    pub revoked_certificates: Vec<String>,
    /// Forms that are accepted beside the usual ones: [`Form::Raw`] and [`Form::JsMemory`].
    pub forms: Vec<Form>,
    /// Members of the card that a signature must cover, such as `securitySchemes`.
    pub require_covered: Vec<String>,
    /// The card was fetched in the dialect with snake_case members, `jwks_uri` and `iss`.
    pub dialect: bool,
    /// In that dialect, a header without `iss` is refused.
    pub require_issuer: bool,
    /// In that dialect, `iss` may also be a parent domain of the host, of two labels or more.
    pub issuer_suffix: bool,
    /// Thumbprints of keys seen before, as [`Report::thumbprint`] has them. When there are any, no other key that is not among
    /// [`keys`](Self::keys) counts.
    pub thumbprints: Vec<String>,
}

/// Another place that knows keys, asked last: the registry.
#[async_trait]
pub trait KeySource: Send + Sync {
    /// The key of this name, if this source vouches for it in cards from this address.
    async fn key(&self, kid: &str, card: Option<&Url>) -> Option<Jwk>;
}

/// Checks the signatures of cards.
///
/// ```
/// use chancery_signing::{Document, JwkSet, Policy, Signer, SigningKey, Verdict, Verifier};
/// use jiff::Timestamp;
///
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
/// let key = SigningKey::generate(chancery_signing::Algorithm::Es256, "2026-11")?;
/// let mut card = Document::parse(br#"{"name": "Echo", "version": "1", "supportedInterfaces": []}"#)?;
/// Signer::new(&key).sign(&mut card)?;
///
/// let mut policy = Policy::default();
/// policy.keys = JwkSet::from(key.public());
/// let verified = Verifier::new(policy).verify(&card, None, Timestamp::now()).await;
/// assert_eq!(verified.report.result, Verdict::Accept);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # }).unwrap();
/// ```
#[derive(Clone)]
pub struct Verifier {
    policy: Policy,
    fetch: Option<Arc<dyn Fetch>>,
    registry: Option<Arc<dyn KeySource>>,
}

/// A card whose signatures were looked at.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Verified {
    /// What was found.
    pub report: Report,
    /// The card with what a good signature covers and nothing else; `None` when there is no good signature.
    pub covered: Option<Value>,
}

impl Verifier {
    /// A verifier with this policy, which reads no keys from the network.
    pub fn new(policy: Policy) -> Self {
        Self { policy, fetch: None, registry: None }
    }

    /// Lets it read keys from the network.
    #[must_use]
    pub fn fetching(mut self, fetch: Arc<dyn Fetch>) -> Self {
        self.fetch = Some(fetch);
        self
    }

    /// Lets it ask a registry when nobody else has a key.
    #[must_use]
    pub fn registry(mut self, source: Arc<dyn KeySource>) -> Self {
        self.registry = Some(source);
        self
    }

    /// Checks a card as it was received. A text that is no document is rejected, whatever it says.
    pub async fn verify_bytes(&self, text: &[u8], origin: Option<&Url>, now: Timestamp) -> Verified {
        match Document::parse(text) {
            Ok(document) => self.verify(&document, origin, now).await,
            Err(error) => rejected(&error),
        }
    }

    /// Checks a card. `origin` is the address that it came from; without it, nothing counts that is bound to a host.
    ///
    /// All signatures are looked at, at most eight. The first that leaves nothing uncovered decides, else the first good one.
    pub async fn verify(&self, document: &Document, origin: Option<&Url>, now: Timestamp) -> Verified {
        let signatures = match document.member("signatures") {
            None | Some(Value::Null) => &[],
            Some(Value::Array(signatures)) => signatures.as_slice(),
            Some(_) => return none(Verdict::Reject, Some("signatures is no list".to_owned()), Vec::new()),
        };
        if signatures.is_empty() {
            return none(Verdict::Unsigned, None, Vec::new());
        }
        let Some(forms) = self.forms(document) else {
            return none(Verdict::Reject, Some("a member has two values, under both of its names".to_owned()), Vec::new());
        };
        let check = Check { verifier: self, document, origin, now, forms };
        let (mut attempts, mut good) = (Vec::new(), Vec::new());
        for (index, signature) in signatures.iter().take(MAX_SIGNATURES).enumerate() {
            let (outcome, reason) = match check.signature(signature).await {
                Ok(found) => {
                    good.push(found);
                    (Outcome::Valid, None)
                }
                Err((outcome, reason)) => (outcome, Some(reason)),
            };
            attempts.push(Attempt { index, outcome, reason });
        }
        self.conclude(attempts, good)
    }

    /// The forms to try, in their order.
    fn forms(&self, document: &Document) -> Option<Vec<(Form, Canonical)>> {
        let extra = |form: Form| self.policy.forms.contains(&form);
        let mut forms = if is_v0_3(document) { vec![Form::Sdk03] } else { vec![Form::Spec, Form::Sdk, Form::SdkAscii] };
        if self.policy.dialect || extra(Form::Raw) {
            forms.push(Form::Raw);
        }
        if extra(Form::JsMemory) {
            forms.push(Form::JsMemory);
        }
        forms.into_iter().map(|form| Some((form, form.of(document)?))).collect()
    }

    fn conclude(&self, attempts: Vec<Attempt>, good: Vec<Good>) -> Verified {
        if good.is_empty() {
            let keyless = attempts.iter().all(|attempt| attempt.outcome == Outcome::NoKey);
            return none(if keyless { Verdict::NoKey } else { Verdict::Reject }, None, attempts);
        }
        let (mut best, mut missing) = (None, None);
        for good in good {
            if let Some(path) = self.missing(&good.canonical.uncovered) {
                missing = Some(path);
            } else if best.as_ref().is_none_or(|best: &Good| !best.canonical.uncovered.is_empty() && good.canonical.uncovered.is_empty()) {
                best = Some(good);
            }
        }
        let Some(Good { form, canonical, key, source }) = best else {
            let reason = format!("no signature covers {}, which the policy demands", missing.unwrap_or_default());
            return none(Verdict::Reject, Some(reason), attempts);
        };
        let result = match (canonical.uncovered.is_empty(), canonical.ignored.is_empty()) {
            (false, _) => Verdict::AcceptReduced,
            (true, false) => Verdict::AcceptCovered,
            (true, true) => Verdict::Accept,
        };
        let report = Report {
            result,
            reason: None,
            form: Some(form),
            kid: key.kid().map(str::to_owned),
            alg: Some(key.algorithm()),
            key_source: Some(source),
            thumbprint: Some(thumbprint(&key)),
            uncovered: canonical.uncovered,
            ignored: canonical.ignored,
            attempts,
        };
        Verified { report, covered: Some(Value::Object(canonical.covered)) }
    }

    /// What the policy wants covered and is not.
    fn missing(&self, uncovered: &[String]) -> Option<String> {
        let wanted = |path: &String| if path.starts_with('/') { path.clone() } else { format!("/{path}") };
        self.policy.require_covered.iter().map(wanted).find(|wanted| uncovered.iter().any(|path| pointer::touches(path, wanted)))
    }
}

impl fmt::Debug for Verifier {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Verifier").field("policy", &self.policy).finish_non_exhaustive()
    }
}

fn rejected(error: &DocumentError) -> Verified {
    none(Verdict::Reject, Some(error.to_string()), Vec::new())
}

fn none(result: Verdict, reason: Option<String>, attempts: Vec<Attempt>) -> Verified {
    let report = Report {
        result,
        reason,
        form: None,
        kid: None,
        alg: None,
        key_source: None,
        thumbprint: None,
        uncovered: Vec::new(),
        ignored: Vec::new(),
        attempts,
    };
    Verified { report, covered: None }
}

fn thumbprint(key: &Jwk) -> String {
    format!("sha-256:{}", key.thumbprint())
}

/// A good signature.
struct Good {
    form: Form,
    canonical: Canonical,
    key: Jwk,
    source: KeyOrigin,
}

type Failure = (Outcome, String);

fn failure(outcome: Outcome, reason: impl Into<String>) -> Failure {
    (outcome, reason.into())
}

/// The check of one card.
struct Check<'a> {
    verifier: &'a Verifier,
    document: &'a Document,
    origin: Option<&'a Url>,
    now: Timestamp,
    forms: Vec<(Form, Canonical)>,
}

impl Check<'_> {
    async fn signature(&self, entry: &Value) -> Result<Good, Failure> {
        let Entry { protected, signature, header } = Entry::read(entry)?;
        let algorithm = algorithm(&header)?;
        let kid = text(&header, "kid").ok_or_else(|| failure(Outcome::BadHeader, "the protected header names no key"))?;
        self.issuer(&header)?;
        let (key, source) = self.key(kid, &header).await?;
        self.usable(&key, source)?;
        if key.algorithm() != algorithm {
            return Err(failure(Outcome::BadAlg, format!("the header says {algorithm}, the key is for {}", key.algorithm())));
        }
        for (form, canonical) in &self.forms {
            let input = format!("{protected}.{}", BASE64_URL_SAFE_NO_PAD.encode(&canonical.bytes));
            if key.verify(input.as_bytes(), &signature) {
                return Ok(Good { form: *form, canonical: canonical.clone(), key, source });
            }
        }
        Err(failure(Outcome::BadSignature, "the signature is not of this card and this key"))
    }

    /// The first source that has the key decides.
    async fn key(&self, kid: &str, header: &Map<String, Value>) -> Result<(Jwk, KeyOrigin), Failure> {
        let policy = &self.verifier.policy;
        if let Some(key) = policy.keys.key(kid) {
            return Ok((key.clone(), KeyOrigin::Pinned));
        }
        if let Some(chain) = header.get("x5c").filter(|_| !policy.roots.is_empty()) {
            let key = policy.roots.leaf(chain, kid, self.origin, &policy.revoked_certificates, self.now)?;
            return Ok((key, KeyOrigin::X5c));
        }
        let mut reasons = Vec::new();
        for (url, source) in self.addresses(header) {
            match self.fetched(&url, kid).await {
                Ok(Some(key)) => return Ok((key, source)),
                Ok(None) => reasons.push(format!("{url} has no such key")),
                Err(reason) => reasons.push(format!("{url}: {reason}")),
            }
        }
        if let Some(registry) = &self.verifier.registry
            && let Some(key) = registry.key(kid, self.origin).await.filter(|key| key.kid() == Some(kid) && key.verifies())
        {
            return Ok((key, KeyOrigin::Registry));
        }
        Err(failure(Outcome::NoKey, if reasons.is_empty() { "no source has the key".to_owned() } else { reasons.join("; ") }))
    }

    /// Where keys may be on the network, in their order.
    fn addresses(&self, header: &Map<String, Value>) -> Vec<(String, KeyOrigin)> {
        let policy = &self.verifier.policy;
        let mut addresses = Vec::new();
        addresses.extend(text(header, "jku").map(|url| (url.to_owned(), KeyOrigin::Jku)));
        if policy.dialect {
            addresses.extend(text(self.document.members(), "jwks_uri").map(|url| (url.to_owned(), KeyOrigin::JwksUri)));
        }
        if policy.well_known
            && let Some(host) = self.origin.map(authority)
        {
            addresses.push((format!("{host}/.well-known/jwks.json"), KeyOrigin::WellKnown));
        }
        addresses
    }

    async fn fetched(&self, url: &str, kid: &str) -> Result<Option<Jwk>, String> {
        let Some(fetch) = &self.verifier.fetch else { return Err("keys are not read from the network".to_owned()) };
        let url = Url::parse(url).map_err(|error| error.to_string())?;
        let request = KeyRequest::new(&url, kid, self.origin, &self.verifier.policy.allow_key_hosts).map_err(|error| error.to_string())?;
        fetch.key(&request).await.map_err(|error| error.to_string())
    }

    fn usable(&self, key: &Jwk, source: KeyOrigin) -> Result<(), Failure> {
        let policy = &self.verifier.policy;
        if policy.revoked_kids.iter().any(|kid| Some(kid.as_str()) == key.kid()) {
            return Err(failure(Outcome::KeyExpired, "the key is revoked"));
        }
        if !key.is_valid_at(self.now) {
            return Err(failure(Outcome::KeyExpired, "the key is not valid now"));
        }
        let known = policy.thumbprints.is_empty() || policy.thumbprints.contains(&thumbprint(key));
        if source != KeyOrigin::Pinned && !known {
            return Err(failure(Outcome::KeyChanged, "the key is another one than before"));
        }
        Ok(())
    }

    fn issuer(&self, header: &Map<String, Value>) -> Result<(), Failure> {
        let policy = &self.verifier.policy;
        if !policy.dialect {
            return Ok(());
        }
        let wrong = |reason: &str| Err(failure(Outcome::IssMismatch, reason));
        let Some(issuer) = header.get("iss") else {
            return if policy.require_issuer { wrong("the header does not say who issued it") } else { Ok(()) };
        };
        let Some(issuer) = issuer.as_str().and_then(issuer_host) else { return wrong("iss is no https address and no host name") };
        let matches = |host: &str| {
            host == issuer
                || (policy.issuer_suffix && issuer.contains('.') && host.strip_suffix(&issuer).is_some_and(|rest| rest.ends_with('.')))
        };
        if !self.origin.and_then(Url::host_str).is_some_and(matches) {
            return wrong("iss is not the host that the card came from");
        }
        if !first_interface(self.document).is_some_and(|host| matches(&host)) {
            return wrong("iss is not the host of the first interface");
        }
        Ok(())
    }
}

/// One entry of `signatures`, taken apart.
struct Entry<'a> {
    protected: &'a str,
    signature: Vec<u8>,
    header: Map<String, Value>,
}

impl<'a> Entry<'a> {
    fn read(entry: &'a Value) -> Result<Self, Failure> {
        let member = |name: &str| {
            let text = entry.get(name).and_then(Value::as_str);
            text.ok_or_else(|| failure(Outcome::BadHeader, format!("the signature has no member {name}")))
        };
        let decode = |name: &str, text: &str| {
            let decoded = BASE64_URL_SAFE_NO_PAD.decode(text);
            decoded.map_err(|error| failure(Outcome::BadEncoding, format!("{name} is not base64url: {error}")))
        };
        let (protected, signature) = (member("protected")?, member("signature")?);
        let signature = decode("signature", signature)?;
        let header = Document::parse(&decode("protected", protected)?);
        let header = header.map_err(|error| failure(Outcome::BadHeader, format!("the protected header: {error}")))?;
        match entry.get("header") {
            None | Some(Value::Null) => {}
            Some(Value::Object(open)) => {
                if let Some(name) = open.keys().find(|name| header.member(name).is_some()) {
                    return Err(failure(Outcome::BadHeader, format!("{name} is in both headers")));
                }
            }
            Some(_) => return Err(failure(Outcome::BadHeader, "the unprotected header is no object")),
        }
        Ok(Self { protected, signature, header: header.members().clone() })
    }
}

fn algorithm(header: &Map<String, Value>) -> Result<Algorithm, Failure> {
    if header.contains_key("crit") {
        return Err(failure(Outcome::Crit, "the header demands an extension, and there is none"));
    }
    let name = text(header, "alg").ok_or_else(|| failure(Outcome::BadAlg, "the header names no algorithm"))?;
    Algorithm::parse(name).ok_or_else(|| failure(Outcome::BadAlg, format!("the algorithm {name} is not allowed")))
}

fn text<'a>(members: &'a Map<String, Value>, name: &str) -> Option<&'a str> {
    members.get(name).and_then(Value::as_str)
}

/// The place of the keys that belong to a card: over TLS, but where a card without TLS is trusted too.
fn authority(url: &Url) -> String {
    if crate::fetch::is_local(url) {
        return url.origin().ascii_serialization();
    }
    let host = url.host_str().unwrap_or_default();
    let port = url.port().filter(|_| url.scheme() == "https").map_or_else(String::new, |port| format!(":{port}"));
    format!("https://{host}{port}")
}

/// The host that an issuer names, by an https address or by itself.
fn issuer_host(issuer: &str) -> Option<String> {
    let address = if issuer.contains("://") { issuer.to_owned() } else { format!("https://{issuer}/") };
    let url = Url::parse(&address).ok().filter(|url| url.scheme() == "https")?;
    let bare = !issuer.contains("://");
    url.host_str().filter(|host| !bare || host.eq_ignore_ascii_case(issuer)).map(str::to_owned)
}

fn first_interface(document: &Document) -> Option<String> {
    let interfaces = document.member("supportedInterfaces").or_else(|| document.member("supported_interfaces"));
    let url = match interfaces {
        Some(interfaces) => interfaces.get(0)?.get("url")?,
        None => document.member("url")?,
    };
    let url = url.as_str()?;
    // A gRPC interface is a host and a port.
    let url = if url.contains("://") { url.to_owned() } else { format!("https://{url}") };
    Url::parse(&url).ok()?.host_str().map(str::to_owned)
}
