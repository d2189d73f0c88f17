//! Credentials: where they come from, and where in a request they go.
//!
//! ```text
//!  card: securityRequirements -> the first that can be met -> each of its schemes -> Credentials::credential
//!        securitySchemes      -> header, query, cookie, Authorization
//! ```

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    sync::Arc,
};

use async_trait::async_trait;
use chancery_core::{
    Binding, Card, Error, ErrorKind, Presented, Result, Secret, SecurityRequirement, SecurityScheme,
    security::{ApiKeyLocation, ApiKeyScheme, HttpAuthScheme},
};
use http::{HeaderMap, HeaderName, HeaderValue, header};

use crate::{
    discover,
    observer::Placement,
    trouble::{Trouble, TroubleKind},
};

/// Gives credentials for the schemes of a card. [`Secrets`] holds fixed ones.
///
/// It is asked before every call, so that it can renew what expires; it should keep what it has.
#[async_trait]
pub trait Credentials: Send + Sync {
    /// The credential for a scheme; `None` when there is none.
    ///
    /// # Errors
    /// When there ought to be one and it cannot be had. The call fails with this error.
    async fn credential(&self, asked: &CredentialRequest<'_>) -> Result<Option<Credential>>;

    /// The agent refused what was given for this scheme. Says whether it was renewed, so that another try
    /// makes sense.
    ///
    /// # Errors
    /// When it cannot be renewed for a reason worth telling. The call fails with this error.
    async fn renew(&self, _asked: &CredentialRequest<'_>) -> Result<bool> {
        Ok(false)
    }

    /// Whether a person has named this origin for these credentials, as in a [`Keyring`](crate::Keyring). To other origins than that of
    /// the agent's card they are shown only then: a card that names an interface elsewhere does not get them there.
    fn names(&self, _origin: &str) -> bool {
        false
    }

    /// What kinds of credentials a person has given: for each that the card has no scheme for, there is a
    /// [notice](crate::Notice::UnusedCredential).
    fn given(&self) -> Vec<CredentialKind> {
        Vec::new()
    }
}

/// For what a credential is asked.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct CredentialRequest<'a> {
    /// The name of the scheme in the card.
    pub name: &'a str,
    /// The scheme.
    pub scheme: &'a SecurityScheme,
    /// The scopes that the card demands.
    pub scopes: &'a [String],
    /// The origin that the credential goes to, such as `https://agent.example.com`.
    pub origin: &'a str,
    /// Where the card came from, if that is known.
    pub card_url: Option<&'a str>,
    /// The token of whoever the call is made for, if an agent makes it for its caller. It is for the issuer alone, which gives another
    /// one for it.
    pub on_behalf_of: Option<&'a Presented>,
    /// Whether there is a card. Without one, the schemes are the usual ones, and none is demanded.
    pub declared: bool,
}

/// A credential. `Debug` does not show it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Credential {
    /// A token for HTTP `Bearer`, OAuth 2.0 or OpenID Connect.
    Bearer(Secret),
    /// An API key.
    ApiKey(Secret),
    /// A name and a password for HTTP `Basic`.
    Basic(String, Secret),
    /// The whole value of an `Authorization` header, for any scheme that uses one.
    Authorization(Secret),
}

/// What kind of credential it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum CredentialKind {
    /// A token.
    Bearer,
    /// An API key.
    ApiKey,
    /// A name and a password.
    Basic,
    /// The whole value of an `Authorization` header.
    Authorization,
}

impl Credential {
    /// What kind it is.
    #[must_use]
    pub fn kind(&self) -> CredentialKind {
        match self {
            Self::Bearer(_) => CredentialKind::Bearer,
            Self::ApiKey(_) => CredentialKind::ApiKey,
            Self::Basic(..) => CredentialKind::Basic,
            Self::Authorization(_) => CredentialKind::Authorization,
        }
    }
}

impl CredentialKind {
    /// Whether a credential of this kind does for a scheme.
    #[must_use]
    pub fn suits(self, scheme: &SecurityScheme) -> bool {
        match (scheme, self) {
            (SecurityScheme::ApiKey(_), kind) => kind == Self::ApiKey,
            (SecurityScheme::HttpAuth(http), Self::Bearer) => http.scheme.eq_ignore_ascii_case("bearer"),
            (SecurityScheme::HttpAuth(http), Self::Basic) => http.scheme.eq_ignore_ascii_case("basic"),
            (SecurityScheme::OAuth2(_) | SecurityScheme::OpenIdConnect(_), Self::Bearer) => true,
            (SecurityScheme::HttpAuth(_) | SecurityScheme::OAuth2(_) | SecurityScheme::OpenIdConnect(_), kind) => {
                kind == Self::Authorization
            }
            _ => false,
        }
    }
}

impl fmt::Display for CredentialKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Bearer => "bearer token",
            Self::ApiKey => "API key",
            Self::Basic => "name and password",
            Self::Authorization => "authorization",
        })
    }
}

/// Fixed credentials, each for whatever scheme it suits. They are for the origin that the agent's card comes from; an interface that
/// the card names elsewhere is not shown them, unless a [`Keyring`](crate::Keyring) names its origin.
///
/// ```
/// use chancery_client::{Client, Secrets};
///
/// let builder = Client::builder().credentials(Secrets::new().bearer("eyJhbGciOi…"));
/// ```
#[derive(Debug, Clone, Default)]
pub struct Secrets {
    /// In the order in which they were given.
    any: Vec<Credential>,
    named: BTreeMap<String, Credential>,
}

impl Secrets {
    /// No credentials at all: calls that need some fail before anything is sent.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// A token, for HTTP `Bearer`, OAuth 2.0 and OpenID Connect.
    #[must_use]
    pub fn bearer(self, token: impl Into<Secret>) -> Self {
        self.with(Credential::Bearer(token.into()))
    }

    /// An API key.
    #[must_use]
    pub fn api_key(self, key: impl Into<Secret>) -> Self {
        self.with(Credential::ApiKey(key.into()))
    }

    /// A name and a password for HTTP `Basic`.
    #[must_use]
    pub fn basic(self, name: impl Into<String>, password: impl Into<Secret>) -> Self {
        self.with(Credential::Basic(name.into(), password.into()))
    }

    /// Any credential, for whatever scheme it suits.
    #[must_use]
    pub fn with(mut self, credential: Credential) -> Self {
        self.any.push(credential);
        self
    }

    /// A credential for the scheme of this name only.
    #[must_use]
    pub fn for_scheme(mut self, name: impl Into<String>, credential: Credential) -> Self {
        self.named.insert(name.into(), credential);
        self
    }
}

#[async_trait]
impl Credentials for Secrets {
    async fn credential(&self, asked: &CredentialRequest<'_>) -> Result<Option<Credential>> {
        let named = self.named.get(asked.name);
        Ok(named.into_iter().chain(&self.any).find(|credential| credential.kind().suits(asked.scheme)).cloned())
    }

    fn given(&self) -> Vec<CredentialKind> {
        self.any.iter().map(Credential::kind).collect()
    }
}

#[async_trait]
impl<C: Credentials + ?Sized> Credentials for Arc<C> {
    async fn credential(&self, asked: &CredentialRequest<'_>) -> Result<Option<Credential>> {
        (**self).credential(asked).await
    }

    async fn renew(&self, asked: &CredentialRequest<'_>) -> Result<bool> {
        (**self).renew(asked).await
    }

    fn names(&self, origin: &str) -> bool {
        (**self).names(origin)
    }

    fn given(&self) -> Vec<CredentialKind> {
        (**self).given()
    }
}

/// What goes into a request.
#[derive(Clone, Default)]
pub(crate) struct Attached {
    pub(crate) headers: HeaderMap,
    pub(crate) query: Vec<(String, Secret)>,
    pub(crate) placed: Vec<Placement>,
}

/// Credentials, if there are any to ask for.
#[derive(Clone, Default)]
pub(crate) struct SharedCredentials(pub(crate) Option<Arc<dyn Credentials>>);

impl fmt::Debug for SharedCredentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "***" } else { "none" })
    }
}

/// Where credentials are to be shown.
pub(crate) struct CredentialTarget<'a> {
    pub(crate) card: Option<&'a Card>,
    pub(crate) card_url: Option<&'a str>,
    pub(crate) origin: &'a str,
    /// The origins that credentials are for by themselves; `None` when the card is the user's own word.
    pub(crate) home: Option<&'a BTreeSet<String>>,
    pub(crate) binding: Binding,
    /// Whether the client has a certificate to show.
    pub(crate) certificate: bool,
    /// The token of whoever the call is made for.
    pub(crate) on_behalf_of: Option<&'a Presented>,
}

impl CredentialTarget<'_> {
    /// Everything that the target wants to see; an error when it is not all there.
    pub(crate) async fn attach(&self, credentials: &dyn Credentials) -> Result<Attached> {
        let Some(card) = self.card else { return self.usual(credentials).await };
        let mut free = card.security_requirements.is_empty();
        for requirement in &card.security_requirements {
            if requirement.schemes.is_empty() {
                free = true;
            } else if let Some(attached) = self.meet(credentials, card, requirement).await? {
                return Ok(attached);
            }
        }
        if !free {
            return Err(if self.allows(credentials) { missing(card) } else { self.withheld() });
        }
        // Nothing is demanded of everybody. What is there for a scheme of the card may be needed still,
        // such as for the extended card.
        for (name, scheme) in &card.security_schemes {
            let mut attached = Attached::default();
            if !matches!(scheme, SecurityScheme::MutualTls(_)) && self.place(credentials, name, scheme, &[], &mut attached).await? {
                return Ok(attached);
            }
        }
        Ok(Attached::default())
    }

    /// Gives the credentials a chance to renew what was refused.
    pub(crate) async fn renew(&self, credentials: &dyn Credentials, refused: &[Placement]) -> Result<bool> {
        let Some(card) = self.card else { return Ok(false) };
        let mut renewed = false;
        for placement in refused {
            let Some(scheme) = card.security_schemes.get(&placement.scheme) else { continue };
            let scopes = card.security_requirements.iter().find_map(|requirement| requirement.schemes.get(&placement.scheme));
            renewed |= credentials.renew(&self.asked(&placement.scheme, scheme, scopes.map_or(&[], Vec::as_slice))).await?;
        }
        Ok(renewed)
    }

    /// Whether credentials may be shown here: where the card came from, or where their owner said.
    pub(crate) fn allows(&self, credentials: &dyn Credentials) -> bool {
        self.is_home() || credentials.names(self.origin)
    }

    fn is_home(&self) -> bool {
        let here = discover::one_name(self.origin);
        self.home.is_none_or(|home| home.iter().any(|origin| discover::one_name(origin) == here))
    }

    /// Whether no header that the user has set is a credential that is not for this origin.
    pub(crate) fn no_stray(&self, headers: &HeaderMap) -> Result<()> {
        let stray = [header::AUTHORIZATION, header::COOKIE].iter().any(|name| headers.contains_key(name));
        if stray && !self.is_home() { Err(self.withheld()) } else { Ok(()) }
    }

    /// The error for credentials that somebody wants to see who has no right to.
    pub(crate) fn withheld(&self) -> Error {
        let home: Vec<_> = self.home.into_iter().flatten().map(String::as_str).collect();
        let words = format!(
            "the agent's card is at {} and wants credentials at {}, so they were not shown; Keyring::at names another origin for them",
            home.join(" and "),
            self.origin
        );
        let error = Error::new(ErrorKind::Unauthenticated, words).with("origin", self.origin);
        error.caused_by(Trouble::new(TroubleKind::CredentialsWithheld))
    }

    /// All schemes of one requirement; `None` when one of them has nothing.
    async fn meet(&self, credentials: &dyn Credentials, card: &Card, requirement: &SecurityRequirement) -> Result<Option<Attached>> {
        let mut attached = Attached::default();
        for (name, scopes) in &requirement.schemes {
            let met = match card.security_schemes.get(name) {
                Some(SecurityScheme::MutualTls(_)) => self.certificate,
                Some(scheme) => self.place(credentials, name, scheme, scopes, &mut attached).await?,
                None => false,
            };
            if !met {
                return Ok(None);
            }
        }
        Ok(Some(attached))
    }

    /// Without a card: a token or a password where they always go, a key in the header that most use.
    async fn usual(&self, credentials: &dyn Credentials) -> Result<Attached> {
        let http = |scheme| SecurityScheme::HttpAuth(HttpAuthScheme::new(scheme, ""));
        let key = SecurityScheme::ApiKey(ApiKeyScheme::new(ApiKeyLocation::Header, "X-API-Key"));
        let mut attached = Attached::default();
        if !self.place(credentials, "bearer", &http("Bearer"), &[], &mut attached).await? {
            self.place(credentials, "basic", &http("Basic"), &[], &mut attached).await?;
        }
        self.place(credentials, "apiKey", &key, &[], &mut attached).await?;
        Ok(attached)
    }

    /// Puts the credential for one scheme where it belongs, and says whether there was one.
    async fn place(
        &self,
        credentials: &dyn Credentials,
        name: &str,
        scheme: &SecurityScheme,
        scopes: &[String],
        attached: &mut Attached,
    ) -> Result<bool> {
        if !self.allows(credentials) {
            return Ok(false);
        }
        let found = credentials.credential(&self.asked(name, scheme, scopes)).await?;
        let Some(credential) = found.filter(|credential| credential.kind().suits(scheme)) else { return Ok(false) };
        let kind = credential.kind();
        let (location, place, value) = match (scheme, credential) {
            (SecurityScheme::ApiKey(key), Credential::ApiKey(secret)) => (self.location(key.location), key.name.clone(), secret),
            (_, credential) => (ApiKeyLocation::Header, header::AUTHORIZATION.to_string(), authorization(&credential)),
        };
        match location {
            ApiKeyLocation::Query => attached.query.push((place.clone(), value)),
            ApiKeyLocation::Cookie => {
                let pair = format!("{place}={}", value.expose());
                let pair = match attached.headers.get(header::COOKIE).and_then(|before| before.to_str().ok()) {
                    Some(before) => format!("{before}; {pair}"),
                    None => pair,
                };
                attached.headers.insert(header::COOKIE, hidden(&pair)?);
            }
            _ => {
                let header = HeaderName::try_from(&place);
                let header = header.map_err(|_| Error::invalid_param(name, "names a header that no header can be called"))?;
                attached.headers.insert(header, hidden(value.expose())?);
            }
        }
        attached.placed.push(Placement { scheme: name.to_owned(), kind, location, name: place });
        Ok(true)
    }

    /// gRPC has neither queries nor cookies: every key is metadata under its own name.
    fn location(&self, declared: ApiKeyLocation) -> ApiKeyLocation {
        if self.binding == Binding::Grpc { ApiKeyLocation::Header } else { declared }
    }

    fn asked<'a>(&'a self, name: &'a str, scheme: &'a SecurityScheme, scopes: &'a [String]) -> CredentialRequest<'a> {
        let Self { card_url, origin, on_behalf_of, .. } = *self;
        CredentialRequest { name, scheme, scopes, origin, card_url, on_behalf_of, declared: self.card.is_some() }
    }
}

fn authorization(credential: &Credential) -> Secret {
    match credential {
        Credential::Bearer(token) => format!("Bearer {}", token.expose()).into(),
        Credential::Basic(name, password) => {
            use base64::{Engine as _, engine::general_purpose::STANDARD};
            format!("Basic {}", STANDARD.encode(format!("{name}:{}", password.expose()))).into()
        }
        Credential::ApiKey(secret) | Credential::Authorization(secret) => secret.clone(),
    }
}

/// A header that does not show itself.
fn hidden(value: &str) -> Result<HeaderValue> {
    let value = HeaderValue::try_from(value);
    let mut value = value.map_err(|_| Error::invalid_param("credential", "holds what no header can"))?;
    value.set_sensitive(true);
    Ok(value)
}

fn missing(card: &Card) -> Error {
    let alternatives: Vec<_> = card
        .security_requirements
        .iter()
        .map(|requirement| requirement.schemes.keys().map(String::as_str).collect::<Vec<_>>().join(" and "))
        .collect();
    let words = format!("the agent wants credentials that are not given: {}", alternatives.join(", or "));
    Error::new(ErrorKind::Unauthenticated, words).caused_by(Trouble::new(TroubleKind::CredentialsMissing))
}
