//! Token exchange (RFC 8693): the token of a caller is exchanged for one with which an agent calls another on its behalf.

use std::{collections::BTreeMap, sync::Arc, time::SystemTime};

use async_trait::async_trait;
use chancery_core::{Error, ErrorKind, Presented, Result, Secret, sync::Mutex};

use super::{
    form::{Answer, Applicant, IssuerClient},
    issuer::{Issuer, secure},
    tokens,
};
use crate::{
    Builder,
    builder::Settings,
    clock,
    credentials::{Credential, CredentialKind, CredentialRequest, Credentials, SharedCredentials},
};

const GRANT: &str = "urn:ietf:params:oauth:grant-type:token-exchange";
const ACCESS_TOKEN: &str = "urn:ietf:params:oauth:token-type:access_token";
/// How many tokens are kept.
const KEPT: usize = 10_000;
/// How many tokens may be asked for at a time.
const TURNS: usize = 64;

/// Exchanges the tokens of callers for tokens with which other agents are called on their behalf. What a caller shows is
/// never passed on.
///
/// Clones share what they have got. A token is kept until a minute before its end, for its subject, its target and its
/// scopes.
///
/// ```no_run
/// use chancery_client::{Client, oauth::Exchange};
///
/// # async fn run(received: chancery_core::Secret) -> chancery_core::Result<()> {
/// let exchange = Exchange::at("https://id.example/token", "triage", "the secret of triage")?;
/// let billing = Client::builder().credentials(exchange.on_behalf_of(received)).connect("https://billing.example").await?;
/// # Ok(()) }
/// ```
///
/// As credentials it serves an agent with many callers: what is delegated or handed over is done with the token of the caller whose
/// turn it is, if the server keeps it (`Auth::keep_tokens`). Where there is none, [`otherwise`](Self::otherwise) is asked.
///
/// ```
/// use chancery_client::{Client, Keyring, Secrets, oauth::Exchange};
///
/// # fn run() -> chancery_core::Result<()> {
/// let own = Keyring::new().at("https://billing.example", Secrets::new().api_key("k-31"))?;
/// let exchange = Exchange::at("https://id.example/token", "triage", "the secret of triage")?.otherwise(own);
/// let peers = Client::builder().credentials(exchange).peers();
/// // Server::new(card, triage).auth(auth.keep_tokens(true)).peers(peers)
/// # Ok(()) }
/// ```
#[derive(Debug, Clone)]
pub struct Exchange {
    issuer: Issuer,
    applicant: Applicant,
    actor: Option<Secret>,
    /// Scopes that are always asked for.
    scopes: Vec<String>,
    /// Who is asked when there is nothing to be exchanged.
    otherwise: SharedCredentials,
    settings: Settings,
    kept: Arc<Kept>,
}

/// Calls on behalf of one caller.
#[derive(Debug, Clone)]
pub struct OnBehalf {
    exchange: Exchange,
    subject: Presented,
}

/// Who it is for, where it goes, and what for. Of the subject's token there is only the digest.
type Key = (Vec<u8>, String, String);

#[derive(Debug)]
struct Kept {
    tokens: Mutex<BTreeMap<Key, (Secret, Option<SystemTime>)>>,
    /// Who asks for the same token waits for the first who does; few others wait with it.
    turns: [tokio::sync::Mutex<()>; TURNS],
}

impl Default for Kept {
    fn default() -> Self {
        Self { tokens: Mutex::default(), turns: std::array::from_fn(|_| tokio::sync::Mutex::default()) }
    }
}

impl Exchange {
    /// Exchanges tokens at this endpoint, as this client.
    ///
    /// # Errors
    /// When the endpoint is no URL, or others can listen on the way.
    pub fn at(token_url: impl Into<String>, client: impl Into<String>, secret: impl Into<Secret>) -> Result<Self> {
        let token = token_url.into();
        secure(&token)?;
        let applicant = Applicant { id: client.into(), secret: Some(secret.into()), in_form: false, parameters: Vec::new() };
        let issuer = Issuer { token, ..Issuer::default() };
        let (scopes, otherwise) = (Vec::new(), SharedCredentials::default());
        Ok(Self { issuer, applicant, actor: None, scopes, otherwise, settings: Settings::default(), kept: Arc::default() })
    }

    /// Tells the issuer who acts: the token of this agent itself.
    #[must_use]
    pub fn actor(mut self, token: impl Into<Secret>) -> Self {
        self.actor = Some(token.into());
        self
    }

    /// Asks for a scope that cards do not name. Scopes that cards demand are asked for in any case.
    #[must_use]
    pub fn scope(mut self, scope: impl Into<String>) -> Self {
        self.scopes.push(scope.into());
        self
    }

    /// Who gives credentials when there is no token to be exchanged, or the scheme takes none: the caller proved who it is in another
    /// way, or the process that knew its token is gone. When the issuer refuses an exchange, nobody else is asked.
    #[must_use]
    pub fn otherwise(mut self, credentials: impl Credentials + 'static) -> Self {
        self.otherwise = SharedCredentials(Some(Arc::new(credentials)));
        self
    }

    /// Adds a parameter to every request, for issuers that want more.
    #[must_use]
    pub fn parameter(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.applicant.parameters.push((name.into(), value.into()));
        self
    }

    /// Speaks to the issuer with the certificates and times of this builder.
    #[must_use]
    pub fn connections(mut self, builder: &Builder) -> Self {
        self.settings = builder.settings().clone();
        self
    }

    /// Credentials for calls on behalf of whoever has shown this token.
    #[must_use]
    pub fn on_behalf_of(&self, token: impl Into<Secret>) -> OnBehalf {
        self.of(Presented::new(token))
    }

    fn of(&self, subject: Presented) -> OnBehalf {
        OnBehalf { exchange: self.clone(), subject }
    }
}

impl OnBehalf {
    fn key(&self, asked: &CredentialRequest<'_>) -> Result<Key> {
        let digest = aws_lc_rs::digest::digest(&aws_lc_rs::digest::SHA256, self.subject.token.expose().as_bytes());
        Ok((digest.as_ref().to_vec(), asked.origin.to_owned(), self.scope(asked)?))
    }

    /// What is asked for: what the card demands and what is always asked for, but no more than the task may reach; and what it may
    /// reach by name (HO-51).
    fn scope(&self, asked: &CredentialRequest<'_>) -> Result<String> {
        let wanted = asked.scopes.iter().chain(&self.exchange.scopes).filter(|scope| self.subject.allows(scope));
        let named = self.subject.scopes.iter().flatten().filter(|scope| !scope.ends_with('*'));
        let mut scopes: Vec<&str> = Vec::new();
        for scope in wanted.chain(named) {
            if !scopes.contains(&scope.as_str()) {
                scopes.push(scope);
            }
        }
        let limited = self.subject.scopes.as_ref().is_some_and(|limit| !limit.iter().any(|scope| scope == "*"));
        if scopes.is_empty() && limited {
            // An issuer that is asked for no scope chooses some itself.
            return Err(Error::new(ErrorKind::PermissionDenied, "the task may not reach the other agent with any scope of its caller"));
        }
        Ok(scopes.join(" "))
    }

    async fn token(&self, asked: &CredentialRequest<'_>, refused: Option<&Secret>) -> Result<Secret> {
        let kept = &self.exchange.kept;
        let key = self.key(asked)?;
        if let Some(token) = kept.fresh(&key, refused) {
            return Ok(token);
        }
        let _turn = kept.turns[usize::from(key.0[0]) % TURNS].lock().await;
        if let Some(token) = kept.fresh(&key, refused) {
            return Ok(token);
        }
        let Exchange { issuer, applicant, actor, settings, .. } = &self.exchange;
        let actor_type = if actor.is_some() { ACCESS_TOKEN } else { "" };
        let form = [
            ("grant_type", GRANT),
            ("subject_token", self.subject.token.expose()),
            ("subject_token_type", ACCESS_TOKEN),
            ("actor_token", actor.as_ref().map(Secret::expose).unwrap_or_default()),
            ("actor_token_type", actor_type),
            ("resource", asked.origin),
            ("scope", key.2.as_str()),
        ];
        match IssuerClient::new(settings)?.token(&issuer.token, issuer, applicant, &form).await? {
            Answer::Given(given) => {
                kept.keep(key, given.access_token.clone(), tokens::end(given.expires_in));
                Ok(given.access_token)
            }
            Answer::Refused(refusal) => Err(refusal.error()),
        }
    }
}

#[async_trait]
impl Credentials for OnBehalf {
    async fn credential(&self, asked: &CredentialRequest<'_>) -> Result<Option<Credential>> {
        if !CredentialKind::Bearer.suits(asked.scheme) {
            return Ok(None);
        }
        Ok(Some(Credential::Bearer(self.token(asked, None).await?)))
    }

    async fn renew(&self, asked: &CredentialRequest<'_>) -> Result<bool> {
        let Some(refused) = self.exchange.kept.fresh(&self.key(asked)?, None) else { return Ok(false) };
        self.token(asked, Some(&refused)).await.map(|token| token != refused)
    }
}

#[async_trait]
impl Credentials for Exchange {
    async fn credential(&self, asked: &CredentialRequest<'_>) -> Result<Option<Credential>> {
        match (asked.on_behalf_of, &self.otherwise.0) {
            (Some(subject), _) if CredentialKind::Bearer.suits(asked.scheme) => self.of(subject.clone()).credential(asked).await,
            (_, Some(otherwise)) => otherwise.credential(asked).await,
            (_, None) => Ok(None),
        }
    }

    async fn renew(&self, asked: &CredentialRequest<'_>) -> Result<bool> {
        match (asked.on_behalf_of, &self.otherwise.0) {
            (Some(subject), _) if CredentialKind::Bearer.suits(asked.scheme) => self.of(subject.clone()).renew(asked).await,
            (_, Some(otherwise)) => otherwise.renew(asked).await,
            (_, None) => Ok(false),
        }
    }
}

impl Kept {
    fn fresh(&self, key: &Key, refused: Option<&Secret>) -> Option<Secret> {
        let tokens = self.tokens.lock();
        let (token, end) = tokens.get(key)?;
        (tokens::is_time_left(*end) && refused != Some(token)).then(|| token.clone())
    }

    fn keep(&self, key: Key, token: Secret, end: Option<SystemTime>) {
        let mut tokens = self.tokens.lock();
        if tokens.len() >= KEPT {
            let now = clock::now();
            tokens.retain(|_, (_, end)| end.is_some_and(|end| end > now));
        }
        if tokens.len() >= KEPT {
            tokens.pop_first();
        }
        tokens.insert(key, (token, end));
    }
}
