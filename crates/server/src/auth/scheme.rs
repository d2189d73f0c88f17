//! One way to prove who one is, and those who can.

use std::{collections::BTreeSet, fmt, sync::Arc};

use chancery_core::clock::{Clock as _, SystemClock};
use chancery_core::{
    Carried, ScopeTokens, Secret, SecurityScheme,
    security::{ApiKeyLocation, ApiKeyScheme, HttpAuthScheme, MutualTlsScheme, OpenIdConnectScheme},
};
use http::{
    HeaderMap, HeaderName,
    header::{AUTHORIZATION, COOKIE},
    request::Parts,
};

use super::{
    certificate::{CertificateName, PeerCertificate},
    jwt::Jwt,
};

/// One way to prove who one is.
///
/// ```
/// use chancery_core::security::ApiKeyLocation;
/// use chancery_server::auth::{Holder, Scheme, Digest};
///
/// let keys = Scheme::api_key(ApiKeyLocation::Header, "X-API-Key").holder(Holder::new("ada", Digest::of("a long random text")));
/// assert!(!format!("{keys:?}").contains("random"));
/// ```
#[derive(Debug, Clone)]
pub struct Scheme {
    pub(super) kind: Kind,
    pub(super) holders: Vec<Holder>,
    /// What the card says, when that is not what the kind says by itself.
    declared: Option<SecurityScheme>,
}

#[derive(Debug, Clone)]
pub(super) enum Kind {
    ApiKey(ApiKeyLocation, String),
    Bearer,
    Basic,
    Jwt(Jwt),
    MutualTls(CertificateName),
    ScopeToken(Verifier),
}

/// Who verifies scope tokens.
#[derive(Clone)]
pub(super) struct Verifier(Arc<dyn ScopeTokens>);

impl fmt::Debug for Verifier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Verifier")
    }
}

/// Somebody who can prove who it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Holder {
    subject: String,
    proof: Proof,
    scopes: BTreeSet<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Proof {
    Secret(Digest),
    Certificate(String),
}

/// What is kept of a secret: its SHA-256 digest. Secrets are to be generated, not thought of: a fast digest does not hide
/// what can be guessed.
#[derive(Clone, PartialEq, Eq)]
pub struct Digest([u8; 32]);

/// Who somebody has proved to be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Identity {
    pub(super) subject: String,
    pub(super) scopes: BTreeSet<String>,
    /// Who acts for the subject, the one who calls first.
    pub(super) actors: Vec<String>,
    /// The scope token that was the proof.
    pub(super) carried: Option<Box<Carried>>,
    /// When the proof ends, if it does.
    pub(super) until: Option<tokio::time::Instant>,
    /// The token of an issuer that was the proof.
    pub(super) token: Option<Secret>,
}

/// What came of looking for a proof.
#[derive(Debug, Clone)]
pub(super) enum Proven {
    /// None was shown.
    Absent,
    /// One was shown that proves nothing; why, for our log.
    Wrong(&'static str),
    /// One was shown that proves who it is, and whoever it is may not come in; why, for our log.
    Barred(&'static str),
    Known(Identity),
}

impl Identity {
    /// Somebody with a name and nothing else.
    pub(super) fn new(subject: String) -> Self {
        Self { subject, scopes: BTreeSet::new(), actors: Vec::new(), carried: None, until: None, token: None }
    }
}

impl Digest {
    /// The digest of a secret.
    pub fn of(secret: impl AsRef<[u8]>) -> Self {
        let mut bytes = [0; 32];
        bytes.copy_from_slice(aws_lc_rs::digest::digest(&aws_lc_rs::digest::SHA256, secret.as_ref()).as_ref());
        Self(bytes)
    }

    /// A secret as files write it: `sha256:` and 64 hexadecimal digits, or the secret itself. `None` when it is empty, or a
    /// digest that is none.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let Some(digits) = text.strip_prefix("sha256:") else { return (!text.is_empty()).then(|| Self::of(text)) };
        if digits.len() != 64 || !digits.is_ascii() {
            return None;
        }
        let mut bytes = [0; 32];
        for (at, byte) in bytes.iter_mut().enumerate() {
            *byte = u8::from_str_radix(&digits[2 * at..2 * at + 2], 16).ok()?;
        }
        Some(Self(bytes))
    }

    /// Whether both are the same, in a time that does not tell how much of them is.
    fn is(&self, other: &Self) -> bool {
        aws_lc_rs::constant_time::verify_slices_are_equal(&self.0, &other.0).is_ok()
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Digest")
    }
}

impl Holder {
    /// Somebody who knows a secret. With HTTP basic the subject is the user name too.
    pub fn new(subject: impl Into<String>, secret: Digest) -> Self {
        Self { subject: subject.into(), proof: Proof::Secret(secret), scopes: BTreeSet::new() }
    }

    /// Somebody who has a certificate with this name.
    pub fn certificate(subject: impl Into<String>, name: impl Into<String>) -> Self {
        Self { subject: subject.into(), proof: Proof::Certificate(name.into()), scopes: BTreeSet::new() }
    }

    /// Grants a scope.
    #[must_use]
    pub fn scope(mut self, scope: impl Into<String>) -> Self {
        self.scopes.insert(scope.into());
        self
    }

    fn identity(&self) -> Identity {
        Identity { scopes: self.scopes.clone(), ..Identity::new(self.subject.clone()) }
    }
}

impl Scheme {
    fn new(kind: Kind) -> Self {
        Self { kind, holders: Vec::new(), declared: None }
    }

    /// A key in a header, a query parameter or a cookie. Keys in queries are written to logs by many a proxy.
    pub fn api_key(location: ApiKeyLocation, name: impl Into<String>) -> Self {
        Self::new(Kind::ApiKey(location, name.into()))
    }

    /// `Authorization: Bearer` with tokens that are known beforehand.
    #[must_use]
    pub fn bearer() -> Self {
        Self::new(Kind::Bearer)
    }

    /// `Authorization: Basic` with user names and passwords.
    #[must_use]
    pub fn basic() -> Self {
        Self::new(Kind::Basic)
    }

    /// `Authorization: Bearer` with tokens that somebody else signs.
    #[must_use]
    pub fn jwt(jwt: Jwt) -> Self {
        Self::new(Kind::Jwt(jwt))
    }

    /// A client certificate, issued by the authority that `Tls::client_ca` of the server names. This name in it
    /// says who the caller is. With holders, only they are let in; without, everybody with a certificate is.
    #[must_use]
    pub fn mutual_tls(name: CertificateName) -> Self {
        Self::new(Kind::MutualTls(name))
    }

    /// `Authorization: Bearer` with tokens that say how far a task may reach, and whom they were made for.
    #[must_use]
    pub fn scope_token(tokens: Arc<dyn ScopeTokens>) -> Self {
        Self::new(Kind::ScopeToken(Verifier(tokens)))
    }

    /// Adds somebody who can prove who it is in this way.
    #[must_use]
    pub fn holder(mut self, holder: Holder) -> Self {
        self.holders.push(holder);
        self
    }

    /// What the card says of this scheme, when clients should know more than its kind: an OAuth flow by which they get
    /// tokens, for instance.
    #[must_use]
    pub fn declared(mut self, scheme: SecurityScheme) -> Self {
        self.declared = Some(scheme);
        self
    }

    /// What the card says of this scheme.
    pub(super) fn description(&self) -> SecurityScheme {
        if let Some(declared) = &self.declared {
            return declared.clone();
        }
        match &self.kind {
            Kind::ApiKey(location, name) => SecurityScheme::ApiKey(ApiKeyScheme::new(*location, name)),
            Kind::Bearer => SecurityScheme::HttpAuth(HttpAuthScheme::new("Bearer", "")),
            Kind::Basic => SecurityScheme::HttpAuth(HttpAuthScheme::new("Basic", "")),
            Kind::ScopeToken(_) => SecurityScheme::HttpAuth(HttpAuthScheme::new("Bearer", "Biscuit")),
            Kind::Jwt(jwt) => match jwt.discovery() {
                Some(url) => SecurityScheme::OpenIdConnect(OpenIdConnectScheme::new(url)),
                None => SecurityScheme::HttpAuth(HttpAuthScheme::new("Bearer", "JWT")),
            },
            Kind::MutualTls(_) => {
                let mut scheme = MutualTlsScheme::default();
                // Without words the whole scheme would vanish from the form that some clients verify signatures over.
                scheme.description = "A client certificate".to_owned();
                SecurityScheme::MutualTls(scheme)
            }
        }
    }

    /// How a caller that was sent away is told of this scheme. `error` is a word of RFC 6750.
    pub(super) fn challenge(&self, realm: &str, error: Option<&str>, scopes: &str) -> String {
        let quoted = |text: &str| text.replace(['"', '\\'], "");
        let (realm, scopes) = (quoted(realm), quoted(scopes));
        match &self.kind {
            Kind::Bearer | Kind::Jwt(_) | Kind::ScopeToken(_) => {
                let error = error.map(|error| format!(", error=\"{error}\"")).unwrap_or_default();
                let scopes = if scopes.is_empty() { String::new() } else { format!(", scope=\"{scopes}\"") };
                format!("Bearer realm=\"{realm}\"{error}{scopes}")
            }
            Kind::Basic => format!("Basic realm=\"{realm}\", charset=\"UTF-8\""),
            Kind::ApiKey(location, name) => {
                let place = match location {
                    ApiKeyLocation::Query => "query",
                    ApiKeyLocation::Cookie => "cookie",
                    _ => "header",
                };
                format!("ApiKey realm=\"{realm}\", in=\"{place}\", name=\"{name}\"")
            }
            Kind::MutualTls(_) => format!("ClientCertificate realm=\"{realm}\""),
        }
    }

    /// Looks for a proof in a request to the agent at an address.
    ///
    /// # Errors
    /// When a proof could not be looked at, for want of keys.
    pub(super) async fn prove(&self, at: &str, head: &Parts) -> chancery_core::Result<Proven> {
        let shown = match &self.kind {
            Kind::ApiKey(location, name) => match location {
                ApiKeyLocation::Query => parameter(head, name),
                ApiKeyLocation::Cookie => cookie(&head.headers, name),
                _ => HeaderName::from_bytes(name.as_bytes()).map_or(Shown::Nothing, |name| header(&head.headers, &name)),
            },
            Kind::Bearer | Kind::Jwt(_) | Kind::ScopeToken(_) => authorization(&head.headers, "bearer"),
            Kind::Basic => authorization(&head.headers, "basic"),
            Kind::MutualTls(name) => return Ok(self.certified(head.extensions.get(), *name)),
        };
        let shown = match shown {
            Shown::Nothing => return Ok(Proven::Absent),
            Shown::Unclear => return Ok(Proven::Wrong("the credential is empty, unreadable or there twice")),
            Shown::One(shown) => shown,
        };
        match &self.kind {
            Kind::Jwt(jwt) => Ok(match jwt.prove(&shown).await? {
                Proven::Known(identity) => Proven::Known(Identity { token: Some(shown.into()), ..identity }),
                other => other,
            }),
            Kind::Basic => Ok(self.password(&shown)),
            Kind::ScopeToken(verifier) => Ok(verifier.prove(at, &shown)),
            _ => Ok(self.holding(|_| true, &Digest::of(shown))),
        }
    }

    /// The holder of a secret. All of them are looked at, so that the time tells nothing.
    fn holding(&self, among: impl Fn(&Holder) -> bool, shown: &Digest) -> Proven {
        let mut found = None;
        for holder in &self.holders {
            let same = matches!(&holder.proof, Proof::Secret(secret) if secret.is(shown));
            if same & among(holder) {
                found = Some(holder);
            }
        }
        found.map_or(Proven::Wrong("nobody has this secret"), |holder| Proven::Known(holder.identity()))
    }

    fn password(&self, shown: &str) -> Proven {
        use base64::{Engine as _, prelude::BASE64_STANDARD};
        let decoded = BASE64_STANDARD.decode(shown.trim()).ok().and_then(|bytes| String::from_utf8(bytes).ok());
        let Some((user, password)) = decoded.as_deref().and_then(|text| text.split_once(':')) else {
            return Proven::Wrong("the user name and password cannot be read");
        };
        let user = Digest::of(user);
        self.holding(|holder| Digest::of(&holder.subject).is(&user), &Digest::of(password))
    }

    fn certified(&self, certificate: Option<&PeerCertificate>, name: CertificateName) -> Proven {
        let Some(certificate) = certificate else { return Proven::Absent };
        let names = certificate.names(name);
        let holder = |name: &String| self.holders.iter().find(|holder| matches!(&holder.proof, Proof::Certificate(own) if own == name));
        if let Some(holder) = names.iter().find_map(holder) {
            return Proven::Known(holder.identity());
        }
        match names.into_iter().next() {
            Some(subject) if self.holders.is_empty() => Proven::Known(Identity::new(subject)),
            Some(_) => Proven::Wrong("nobody has this certificate"),
            None => Proven::Wrong("the certificate has no such name"),
        }
    }
}

impl Verifier {
    fn prove(&self, at: &str, shown: &str) -> Proven {
        let Ok(carried) = self.0.verify(&Secret::new(shown), at, SystemClock.now()) else {
            return Proven::Wrong("the scope token does not verify");
        };
        let Some(subject) = carried.subject.clone() else { return Proven::Wrong("the scope token names nobody") };
        let names = carried.scope.get("scopes").and_then(serde_json::Value::as_array).into_iter().flatten();
        let scopes = names.filter_map(|scope| scope.as_str().map(str::to_owned)).collect();
        Proven::Known(Identity { scopes, carried: Some(Box::new(carried)), ..Identity::new(subject) })
    }
}

/// What a request shows at one place.
enum Shown {
    Nothing,
    /// More than one thing, or none that can be read.
    Unclear,
    One(String),
}

impl Shown {
    fn of(text: Option<&str>) -> Self {
        text.map(str::trim).filter(|text| !text.is_empty()).map_or(Self::Unclear, |text| Self::One(text.to_owned()))
    }
}

fn header(headers: &HeaderMap, name: &HeaderName) -> Shown {
    let mut values = headers.get_all(name).iter();
    match (values.next(), values.next()) {
        (None, _) => Shown::Nothing,
        (Some(value), None) => Shown::of(value.to_str().ok()),
        (Some(_), Some(_)) => Shown::Unclear,
    }
}

fn authorization(headers: &HeaderMap, scheme: &str) -> Shown {
    match header(headers, &AUTHORIZATION) {
        Shown::One(value) => match value.split_once(' ') {
            Some((said, rest)) if said.eq_ignore_ascii_case(scheme) => Shown::of(Some(rest)),
            _ if value.eq_ignore_ascii_case(scheme) => Shown::Unclear,
            // That of another scheme.
            _ => Shown::Nothing,
        },
        shown => shown,
    }
}

fn parameter(head: &Parts, name: &str) -> Shown {
    let query = head.uri.query().unwrap_or_default();
    let mut values = url::form_urlencoded::parse(query.as_bytes()).filter(|(key, _)| key == name).map(|(_, value)| value);
    match (values.next(), values.next()) {
        (None, _) => Shown::Nothing,
        (Some(value), None) => Shown::of(Some(&value)),
        (Some(_), Some(_)) => Shown::Unclear,
    }
}

fn cookie(headers: &HeaderMap, name: &str) -> Shown {
    // A page of somebody else can have a browser send its cookies, but not deny where the request comes from.
    if headers.get("sec-fetch-site").is_some_and(|site| site.as_bytes() == b"cross-site") {
        return Shown::Nothing;
    }
    let texts = headers.get_all(COOKIE).iter().filter_map(|value| value.to_str().ok());
    let mut values = texts.flat_map(|text| text.split(';')).filter_map(|pair| pair.trim().split_once('=')).filter(|(key, _)| *key == name);
    match (values.next(), values.next()) {
        (None, _) => Shown::Nothing,
        (Some((_, value)), None) => Shown::of(Some(value.trim_matches('"'))),
        (Some(_), Some(_)) => Shown::Unclear,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// V10-SEC-007: what is kept of a secret does not tell it.
    #[test]
    fn a_secret_is_read_as_itself_or_as_its_digest_and_is_never_shown() {
        let digest = "sha256:2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b";
        assert_eq!(Digest::parse(digest), Some(Digest::of("secret")));
        assert_eq!(Digest::parse("secret"), Some(Digest::of("secret")));
        for wrong in ["", "sha256:", "sha256:2bb8", &digest.replace("2bb", "2gb"), &format!("{digest}00")] {
            assert_eq!(Digest::parse(wrong), None, "{wrong}");
        }
        assert_eq!(format!("{:?}", Digest::of("secret")), "Digest");
    }

    fn head(build: impl FnOnce(http::request::Builder) -> http::request::Builder) -> Parts {
        build(http::Request::get("/")).body(()).unwrap().into_parts().0
    }

    async fn who(scheme: &Scheme, head: &Parts) -> String {
        match scheme.prove("", head).await.unwrap() {
            Proven::Absent => "absent".to_owned(),
            Proven::Wrong(_) | Proven::Barred(_) => "wrong".to_owned(),
            Proven::Known(identity) => identity.subject,
        }
    }

    fn held(scheme: Scheme) -> Scheme {
        scheme.holder(Holder::new("ada", Digest::of("k-ada"))).holder(Holder::new("bob", Digest::of("k-bob")))
    }

    #[tokio::test]
    async fn keys_are_found_at_their_place_and_nowhere_else() {
        let in_header = held(Scheme::api_key(ApiKeyLocation::Header, "X-API-Key"));
        let in_query = held(Scheme::api_key(ApiKeyLocation::Query, "key"));
        let in_cookie = held(Scheme::api_key(ApiKeyLocation::Cookie, "session"));
        let bearer = held(Scheme::bearer());
        let basic = held(Scheme::basic());
        for (scheme, head, expected) in [
            (&in_header, head(|b| b.header("x-api-key", "k-ada")), "ada"),
            (&in_header, head(|b| b.header("x-api-key", "k-bob")), "bob"),
            (&in_header, head(|b| b.header("x-api-key", "k-ad")), "wrong"),
            (&in_header, head(|b| b.header("x-api-key", "")), "wrong"),
            (&in_header, head(|b| b.header("x-api-key", "k-ada").header("x-api-key", "k-bob")), "wrong"),
            (&in_header, head(|b| b.uri("/?x-api-key=k-ada")), "absent"),
            (&in_query, head(|b| b.uri("/?a=b&key=k%2Dada")), "ada"),
            (&in_query, head(|b| b.uri("/?key=k-ada&key=k-bob")), "wrong"),
            (&in_query, head(|b| b.header("key", "k-ada")), "absent"),
            (&in_cookie, head(|b| b.header("cookie", "a=b; session=\"k-bob\"")), "bob"),
            (&in_cookie, head(|b| b.header("cookie", "session=k-bob; session=k-ada")), "wrong"),
            (&in_cookie, head(|b| b.header("cookie", "session=k-bob").header("sec-fetch-site", "cross-site")), "absent"),
            (&bearer, head(|b| b.header("authorization", "bearer k-ada")), "ada"),
            (&bearer, head(|b| b.header("authorization", "Bearer")), "wrong"),
            (&bearer, head(|b| b.header("authorization", "Basic azphZGE=")), "absent"),
            (&basic, head(|b| b.header("authorization", "Basic YWRhOmstYWRh")), "ada"),
            // The user of one and the password of the other.
            (&basic, head(|b| b.header("authorization", "Basic YWRhOmstYm9i")), "wrong"),
            (&basic, head(|b| b.header("authorization", "Basic %%%")), "wrong"),
        ] {
            assert_eq!(who(scheme, &head).await, expected, "{head:?}");
        }
    }
}
