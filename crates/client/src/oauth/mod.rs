//! Tokens by OAuth 2.0 and OpenID Connect, driven by the card.
//!
//! ```text
//!  card: oauth2SecurityScheme, openIdConnectSecurityScheme
//!    |
//!  issuer.rs     endpoints, and whether the issuer is who it says       form.rs     forms there, JSON back
//!    |
//!    +-- client credentials    silently, when a secret is given
//!    +-- device.rs             a person confirms a code elsewhere          } sign_in
//!    +-- code.rs               a browser goes there and comes back (PKCE)   }
//!    +-- refresh               a minute before the end, or after a 401
//!    |
//!  tokens.rs     kept in memory, or in a file of mode 0600; one renewal at a time, in all processes
//!
//!  exchange.rs   the token of a caller for one of another agent (RFC 8693)
//! ```
//!
//! A service that calls agents for itself gives a secret, and the rest happens by itself:
//!
//! ```no_run
//! use chancery_client::{Client, oauth::OAuth};
//!
//! # async fn run() -> chancery_core::Result<()> {
//! let oauth = OAuth::new("nightly-report").secret(std::env::var("SECRET").unwrap_or_default()).issuer("https://id.example");
//! let agent = Client::builder().credentials(oauth).connect("https://agent.example").await?;
//! # Ok(()) }
//! ```
//!
//! A program that people use has them sign in once, and keeps what they get:
//!
//! ```no_run
//! use chancery_client::{Client, oauth::{OAuth, Prompt, SignIn, Tokens}};
//!
//! # async fn run() -> chancery_core::Result<()> {
//! let oauth = OAuth::new("my-program").tokens(Tokens::in_file("/home/ada/.config/my-program/tokens.json"));
//! let agent = Client::builder().credentials(oauth.clone()).connect("https://agent.example").await?;
//! let card = agent.card().expect("it was read");
//! let show = |prompt: &Prompt<'_>| println!("{prompt}");
//! oauth.sign_in(&card, Some("https://agent.example"), &SignIn::new(), &show).await?;
//! agent.send("hi").await?;
//! # Ok(()) }
//! ```
//!
//! What is not done with the answers: ID tokens are not asked for by themselves and not read, because agents take access tokens.

mod code;
mod device;
mod exchange;
mod form;
mod issuer;
mod tokens;

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    sync::Arc,
    time::Duration,
};

use async_trait::async_trait;
use chancery_core::{Card, Error, ErrorKind, Result, Secret, SecurityScheme, sync::Mutex};
use serde::{Deserialize, Serialize};

pub use self::{
    exchange::{Exchange, OnBehalf},
    tokens::{StoredToken, Tokens},
};
use self::{
    form::{Answer, Applicant, Given, IssuerClient},
    issuer::{Issuer, origin, refused},
    tokens::Key,
};
use crate::{
    Builder,
    builder::Settings,
    credentials::{Credential, CredentialRequest, Credentials},
    trouble::{Trouble, TroubleKind},
};

/// How a token is got.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Flow {
    /// By a client for itself, with its secret.
    ClientCredentials,
    /// By a person who confirms a code on any device.
    #[serde(rename = "device")]
    DeviceCode,
    /// By a person in a browser on this machine, with PKCE.
    #[serde(rename = "code")]
    AuthorizationCode,
}

impl Flow {
    /// All of them, by name.
    pub const ALL: [(&'static str, Self); 3] =
        [("device", Self::DeviceCode), ("code", Self::AuthorizationCode), ("client-credentials", Self::ClientCredentials)];
}

impl fmt::Display for Flow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::ClientCredentials => "client-credentials",
            Self::DeviceCode => "device",
            Self::AuthorizationCode => "code",
        })
    }
}

/// What a person is told while it signs in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Prompt<'a> {
    /// Who will be asked for a token: what the person shows or types goes there.
    Issuer {
        /// The token endpoint.
        url: &'a str,
    },
    /// A page is to be opened in a browser on this machine.
    Open {
        /// The page.
        url: &'a str,
    },
    /// A code is to be confirmed on a page, on any device.
    Confirm {
        /// The page.
        url: &'a str,
        /// The code.
        code: &'a str,
        /// The page with the code in it, if the issuer has one.
        complete: Option<&'a str>,
        /// For how long the code is good.
        lasts: Duration,
    },
}

impl fmt::Display for Prompt<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Issuer { url } => write!(f, "Asking for a token at {url}"),
            Self::Open { url } => write!(f, "Open {url}"),
            Self::Confirm { url, code, complete, .. } => {
                let url = complete.unwrap_or(url);
                write!(f, "Open {url} and confirm the code {code}")
            }
        }
    }
}

/// Shows a prompt to a person.
type Show<'a> = &'a (dyn Fn(&Prompt<'_>) + Send + Sync);

/// How somebody signs in.
#[derive(Debug, Clone, Default)]
#[must_use = "it says how, and does nothing"]
pub struct SignIn {
    scheme: Option<String>,
    flow: Option<Flow>,
    issuer_of_card: bool,
}

impl SignIn {
    /// By the first scheme of the card that has a device flow, else a code flow, else client credentials.
    pub fn new() -> Self {
        Self::default()
    }

    /// By the scheme of this name in the card.
    pub fn scheme(mut self, name: impl Into<String>) -> Self {
        self.scheme = Some(name.into());
        self
    }

    /// In this way.
    pub fn flow(mut self, flow: Flow) -> Self {
        self.flow = Some(flow);
        self
    }

    /// Takes the card's word for who issues tokens, whoever that is. For programs that show a person
    /// [who it is](Prompt::Issuer): a card can name an issuer that only wants to see secrets.
    pub fn issuer_of_card(mut self) -> Self {
        self.issuer_of_card = true;
        self
    }
}

/// Credentials by OAuth 2.0 and OpenID Connect. Clones share what they know.
///
/// Tokens are got from the issuer that the card names, if it is one of those that [`issuer`](Self::issuer) has named, or the
/// agent's own origin; they go to the agent of that card and to nobody else. They are renewed a minute before they run out,
/// and once more when the agent refuses them.
#[derive(Debug, Clone)]
pub struct OAuth {
    applicant: Applicant,
    scopes: BTreeSet<String>,
    issuers: BTreeSet<String>,
    tokens: Tokens,
    settings: Settings,
    turns: Arc<Turns>,
}

/// Who renews which token at the moment.
#[derive(Debug, Default)]
struct Turns(Mutex<BTreeMap<Key, Arc<tokio::sync::Mutex<()>>>>);

impl OAuth {
    /// As this client, by the id that the issuer knows it by.
    #[must_use]
    pub fn new(client: impl Into<String>) -> Self {
        Self {
            applicant: Applicant { id: client.into(), secret: None, in_form: false, parameters: Vec::new() },
            scopes: BTreeSet::new(),
            issuers: BTreeSet::new(),
            tokens: Tokens::in_memory(),
            settings: Settings::default(),
            turns: Arc::default(),
        }
    }

    /// As whichever client has signed in before: tokens are taken from these and renewed, and no others are got.
    #[must_use]
    pub fn signed_in(tokens: Tokens) -> Self {
        Self::new("").tokens(tokens)
    }

    /// The client's secret. With it, tokens are got without a person where the issuer gives them to clients.
    #[must_use]
    pub fn secret(mut self, secret: impl Into<Secret>) -> Self {
        self.applicant.secret = Some(secret.into());
        self
    }

    /// Shows the secret in the form instead of a header, for issuers that know the client so (`client_secret_post`). Issuers that
    /// say of themselves that they take it nowhere else need not be told of.
    #[must_use]
    pub fn secret_in_form(mut self) -> Self {
        self.applicant.in_form = true;
        self
    }

    /// Asks for this scope, beside those that the card demands.
    #[must_use]
    pub fn scope(mut self, scope: impl Into<String>) -> Self {
        self.scopes.insert(scope.into());
        self
    }

    /// Trusts the issuer at this address, by its origin: the client's secret may go there when a card says so.
    #[must_use]
    pub fn issuer(mut self, url: &str) -> Self {
        self.issuers.extend(origin(url));
        self
    }

    /// Adds a parameter to every request for a token, for issuers that want more: `audience`, `resource`.
    #[must_use]
    pub fn parameter(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.applicant.parameters.push((name.into(), value.into()));
        self
    }

    /// Keeps tokens there; in memory when not said.
    #[must_use]
    pub fn tokens(mut self, tokens: Tokens) -> Self {
        self.tokens = tokens;
        self
    }

    /// Speaks to issuers with the certificates and times of this builder. Its observer is not shown what is said to them.
    #[must_use]
    pub fn connections(mut self, builder: &Builder) -> Self {
        self.settings = builder.settings().clone();
        self
    }

    /// Gets a token for the agent of a card that came from `card_url`, and keeps it. A person may have to do something, which
    /// `show` tells it; it ends when that is done, or cannot be done any more.
    ///
    /// # Errors
    /// When the card has no such scheme, the issuer is not trusted or cannot be asked, or says no.
    pub async fn sign_in(
        &self,
        card: &Card,
        card_url: Option<&str>,
        how: &SignIn,
        show: &(dyn Fn(&Prompt<'_>) + Send + Sync),
    ) -> Result<StoredToken> {
        let issuer_client = IssuerClient::new(&self.settings)?;
        let (name, issuer, flow) = choose(&issuer_client, card, how).await?;
        let origins = origins(card, card_url);
        let agent = card_url.and_then(origin).or_else(|| origins.first().cloned()).unwrap_or_default();
        if !how.issuer_of_card {
            self.trusted(&issuer, &agent)?;
        }
        show(&Prompt::Issuer { url: &issuer.token });
        let demanded = card.security_requirements.iter().find_map(|requirement| requirement.schemes.get(&name));
        let asked: BTreeSet<_> = self.scopes.iter().chain(demanded.into_iter().flatten()).cloned().collect();
        let scope = words(&asked);
        let given = match flow {
            Flow::ClientCredentials => self.to_client(&issuer_client, &issuer, &self.applicant, &scope).await?,
            Flow::DeviceCode => Box::pin(device::run(&issuer_client, &issuer, &self.applicant, &scope, show)).await?,
            Flow::AuthorizationCode => Box::pin(code::run(&issuer_client, &issuer, &self.applicant, &scope, show)).await?,
        };
        let key = Key { agent, scheme: name, client: Some(self.applicant.id.clone()) };
        let token = stored(key, &issuer, flow, &self.applicant, Reach { origins, asked }, given);
        let _hold = self.tokens.hold().await?;
        self.tokens.put(token.clone()).await?;
        Ok(token)
    }

    /// A token for a scheme that has time left and is not the refused one; `None` when there is none to be had.
    async fn token(&self, asked: &CredentialRequest<'_>, refused: Option<&Secret>) -> Result<Option<StoredToken>> {
        let key = self.key(asked);
        let usable = |token: &StoredToken| {
            let lasts = token.is_fresh() && refused != Some(&token.access);
            lasts && token.origins.contains(asked.origin) && (token.flow != Flow::ClientCredentials || self.covers(token, asked))
        };
        if let Some(token) = self.tokens.at_hand(&key).filter(usable) {
            return Ok(Some(token));
        }
        let turn = self.turns.of(&key);
        let _turn = turn.lock().await;
        match self.tokens.find(&key).await? {
            Some(token) if usable(&token) => return Ok(Some(token)),
            None if !self.is_silent() => return Ok(None),
            _ => {}
        }
        let _hold = self.tokens.hold().await?;
        // Another process may have been faster.
        let known = self.tokens.find(&key).await?;
        if let Some(token) = known.as_ref().filter(|token| usable(token)) {
            return Ok(Some(token.clone()));
        }
        let renewed = match &known {
            Some(token) if token.origins.contains(asked.origin) => self.renewed(token).await?,
            _ => None,
        };
        let token = match renewed {
            Some(token) if usable(&token) => Some(token),
            _ => self.got(asked, known.as_ref()).await?,
        };
        if let Some(token) = &token {
            self.tokens.put(token.clone()).await?;
        }
        Ok(token)
    }

    /// A token in the place of one that has run out; `None` when it cannot be renewed.
    async fn renewed(&self, token: &StoredToken) -> Result<Option<StoredToken>> {
        let (Some(refresh), Some(applicant)) = (&token.refresh, self.applicant_of(token)) else { return Ok(None) };
        let issuer = Issuer { secret_in_form: token.secret_in_form, ..Issuer::default() };
        let form = [("grant_type", "refresh_token"), ("refresh_token", refresh.expose())];
        match IssuerClient::new(&self.settings)?.token(&token.refresh_url, &issuer, &applicant, &form).await? {
            Answer::Given(given) => {
                let mut renewed = token.clone();
                if let Some(scope) = &given.scope {
                    renewed.scopes = split(scope);
                }
                renewed.expires_at = tokens::end(given.expires_in);
                renewed.access = given.access_token;
                renewed.refresh = given.refresh_token.or(renewed.refresh);
                Ok(Some(renewed))
            }
            Answer::Refused(refusal) if refusal.word() == "invalid_grant" => {
                // It was taken back, or has run out too: nothing but signing in helps. What is left says who it was.
                self.tokens.put(StoredToken { refresh: None, ..token.clone() }).await?;
                Ok(None)
            }
            Answer::Refused(refusal) => Err(refusal.error()),
        }
    }

    /// A new token without a person: as a client, if the issuer gives tokens to clients.
    async fn got(&self, asked: &CredentialRequest<'_>, known: Option<&StoredToken>) -> Result<Option<StoredToken>> {
        // Who was a person yesterday does not become a client by itself.
        if known.is_some_and(|token| token.flow != Flow::ClientCredentials) {
            return Ok(None);
        }
        let own = Some(self.applicant.clone()).filter(|applicant| !applicant.id.is_empty());
        // What somebody has signed in for goes on, and goes nowhere else.
        let signed_in = || known.filter(|token| token.origins.contains(asked.origin)).and_then(|token| self.applicant_of(token));
        let Some(applicant) = own.or_else(signed_in).filter(|applicant| applicant.secret.is_some()) else { return Ok(None) };
        let issuer_client = IssuerClient::new(&self.settings)?;
        let Some(issuer) = Issuer::of(&issuer_client, asked.scheme).await?.filter(|issuer| issuer.offers(Flow::ClientCredentials)) else {
            return Ok(None);
        };
        let agent = self.key(asked).agent;
        if known.is_none_or(|token| token.token_url != issuer.token) {
            self.trusted(&issuer, &agent)?;
        }
        let mut scopes: BTreeSet<_> = self.scopes.iter().chain(asked.scopes).cloned().collect();
        let mut origins = BTreeSet::from([asked.origin.to_owned()]);
        if let Some(token) = known {
            scopes.extend(token.asked.iter().cloned());
            origins.extend(token.origins.iter().cloned());
        }
        let given = self.to_client(&issuer_client, &issuer, &applicant, &words(&scopes)).await?;
        let key = Key { agent, scheme: asked.name.to_owned(), client: Some(applicant.id.clone()) };
        let reach = Reach { origins, asked: scopes };
        Ok(Some(stored(key, &issuer, Flow::ClientCredentials, &applicant, reach, given)))
    }

    async fn to_client(&self, issuer_client: &IssuerClient, issuer: &Issuer, applicant: &Applicant, scope: &str) -> Result<Given> {
        if applicant.secret.is_none() {
            return Err(refused("client credentials need the client's secret").caused_by(Trouble::new(TroubleKind::CredentialsMissing)));
        }
        let form = [("grant_type", "client_credentials"), ("scope", scope)];
        match issuer_client.token(&issuer.token, issuer, applicant, &form).await? {
            Answer::Given(given) => Ok(given),
            Answer::Refused(refusal) => Err(refusal.error()),
        }
    }

    /// The client that a token was given to, if it can be played here.
    fn applicant_of(&self, token: &StoredToken) -> Option<Applicant> {
        if !self.applicant.id.is_empty() {
            return Some(self.applicant.clone());
        }
        let secret = self.applicant.secret.clone().filter(|_| token.confidential);
        let (id, in_form, parameters) = (token.client.clone(), token.secret_in_form, token.parameters.clone());
        (secret.is_some() == token.confidential).then_some(Applicant { id, secret, in_form, parameters })
    }

    /// Whether the scopes that a token was asked for are all that is wanted.
    fn covers(&self, token: &StoredToken, asked: &CredentialRequest<'_>) -> bool {
        self.applicant.id.is_empty() || self.scopes.iter().chain(asked.scopes).all(|scope| token.asked.contains(scope))
    }

    /// Whether tokens may be got without a person.
    fn is_silent(&self) -> bool {
        !self.applicant.id.is_empty() && self.applicant.secret.is_some()
    }

    fn trusted(&self, issuer: &Issuer, agent: &str) -> Result<()> {
        let origin = issuer.origin();
        if origin == agent || self.issuers.contains(&origin) {
            return Ok(());
        }
        let words = format!("the card wants tokens of {origin}, which is not an issuer that is trusted here");
        Err(refused(words).caused_by(Trouble::new(TroubleKind::CredentialsMissing)))
    }

    fn key(&self, asked: &CredentialRequest<'_>) -> Key {
        let agent = asked.card_url.and_then(origin).unwrap_or_else(|| asked.origin.to_owned());
        let client = Some(self.applicant.id.clone()).filter(|id| !id.is_empty());
        Key { agent, scheme: asked.name.to_owned(), client }
    }
}

/// Where a token may go, and what for.
struct Reach {
    origins: BTreeSet<String>,
    asked: BTreeSet<String>,
}

fn stored(key: Key, issuer: &Issuer, flow: Flow, applicant: &Applicant, reach: Reach, given: Given) -> StoredToken {
    StoredToken {
        agent: key.agent,
        scheme: key.scheme,
        client: key.client.unwrap_or_default(),
        flow,
        token_url: issuer.token.clone(),
        origins: reach.origins,
        // An issuer that says nothing has given what was asked for.
        scopes: given.scope.as_deref().map_or_else(|| reach.asked.clone(), split),
        asked: reach.asked,
        expires_at: tokens::end(given.expires_in),
        refresh_url: issuer.refresh.clone(),
        confidential: applicant.secret.is_some(),
        secret_in_form: issuer.secret_in_form || applicant.in_form,
        parameters: applicant.parameters.clone(),
        access: given.access_token,
        refresh: given.refresh_token,
    }
}

#[async_trait]
impl Credentials for OAuth {
    async fn credential(&self, asked: &CredentialRequest<'_>) -> Result<Option<Credential>> {
        if !is_of_tokens(asked.scheme) {
            return Ok(None);
        }
        // In a box, so that calls without tokens have no room for it.
        Ok(Box::pin(self.token(asked, None)).await?.map(|token| Credential::Bearer(token.access)))
    }

    async fn renew(&self, asked: &CredentialRequest<'_>) -> Result<bool> {
        let Some(refused) = self.tokens.at_hand(&self.key(asked)).filter(|_| is_of_tokens(asked.scheme)) else { return Ok(false) };
        Ok(Box::pin(self.token(asked, Some(&refused.access))).await?.is_some())
    }
}

impl Turns {
    fn of(&self, key: &Key) -> Arc<tokio::sync::Mutex<()>> {
        // A map of locks holds no invariant that a panic could break.
        self.0.lock().entry(key.clone()).or_default().clone()
    }
}

fn is_of_tokens(scheme: &SecurityScheme) -> bool {
    matches!(scheme, SecurityScheme::OAuth2(_) | SecurityScheme::OpenIdConnect(_))
}

/// The scheme by which somebody signs in: those that are demanded come first, in the card's order.
async fn choose(issuer_client: &IssuerClient, card: &Card, how: &SignIn) -> Result<(String, Issuer, Flow)> {
    let demanded = card.security_requirements.iter().flat_map(|requirement| requirement.schemes.keys());
    let mut names: Vec<_> = demanded.chain(card.security_schemes.keys()).collect();
    let mut seen = BTreeSet::new();
    names.retain(|name| seen.insert(*name) && how.scheme.as_ref().is_none_or(|wanted| wanted == *name));
    let flows: Vec<_> = match how.flow {
        Some(flow) => vec![flow],
        None => Flow::ALL.map(|(_, flow)| flow).to_vec(),
    };
    let (mut issuers, mut trouble) = (Vec::new(), None);
    for name in names {
        let Some(scheme) = card.security_schemes.get(name) else { continue };
        match Issuer::of(issuer_client, scheme).await {
            Ok(issuer) => issuers.extend(issuer.map(|issuer| (name, issuer))),
            // Another scheme may do.
            Err(error) => trouble = Some(error),
        }
    }
    for flow in flows {
        if let Some((name, issuer)) = issuers.iter().find(|(_, issuer)| issuer.offers(flow)) {
            return Ok(((*name).clone(), issuer.clone(), flow));
        }
    }
    Err(trouble.unwrap_or_else(|| nothing_to_sign_in_with(card, how)))
}

fn nothing_to_sign_in_with(card: &Card, how: &SignIn) -> Error {
    let known: Vec<_> = card.security_schemes.iter().filter(|(_, scheme)| is_of_tokens(scheme)).map(|(name, _)| name.as_str()).collect();
    let words = match (known.is_empty(), &how.scheme, how.flow) {
        (true, ..) => "the card has no scheme by which one signs in".to_owned(),
        (_, Some(name), None) => format!("the card has no scheme {name:?} by which one signs in; it has {}", known.join(", ")),
        (_, _, Some(flow)) => format!("no scheme of the card offers {flow}; it has {}", known.join(", ")),
        (_, None, None) => format!("no scheme of the card can be used: {}", known.join(", ")),
    };
    Error::new(ErrorKind::InvalidParams, words)
}

/// The origins of a card's interfaces: where a token for its agent goes.
fn origins(card: &Card, card_url: Option<&str>) -> BTreeSet<String> {
    let open = card_url.is_some_and(|url| url.starts_with("http://"));
    let whole = |url: &str| match url.contains("://") {
        true => url.to_owned(),
        // As gRPC writes it.
        false => format!("{}://{url}", if open { "http" } else { "https" }),
    };
    let urls = card.supported_interfaces.iter().map(|interface| whole(&interface.url));
    urls.filter_map(|url| origin(&url)).collect()
}

fn words(scopes: &BTreeSet<String>) -> String {
    scopes.iter().map(String::as_str).collect::<Vec<_>>().join(" ")
}

fn split(scope: &str) -> BTreeSet<String> {
    scope.split(' ').filter(|word| !word.is_empty()).map(str::to_owned).collect()
}
