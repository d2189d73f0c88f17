//! Token exchange (RFC 8693): the token of a caller is exchanged for one with which an agent calls another on its behalf.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
    time::SystemTime,
};

use async_trait::async_trait;
use chancery_core::{Result, Secret};

use super::{
    form::{Answer, Applicant, Desk},
    issuer::{Issuer, secure},
    tokens,
};
use crate::{
    Builder,
    builder::Settings,
    clock,
    credentials::{Asked, Credential, CredentialKind, Credentials},
};

const GRANT: &str = "urn:ietf:params:oauth:grant-type:token-exchange";
const ACCESS_TOKEN: &str = "urn:ietf:params:oauth:token-type:access_token";
/// How many tokens are kept.
const KEPT: usize = 10_000;

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
#[derive(Debug, Clone)]
pub struct Exchange {
    issuer: Issuer,
    applicant: Applicant,
    actor: Option<Secret>,
    settings: Settings,
    kept: Arc<Kept>,
}

/// Calls on behalf of one caller.
#[derive(Debug, Clone)]
pub struct OnBehalf {
    exchange: Exchange,
    subject: Secret,
}

/// Who it is for, where it goes, and what for. Of the subject's token there is only the digest.
type Key = (Vec<u8>, String, String);

#[derive(Debug, Default)]
struct Kept {
    tokens: Mutex<BTreeMap<Key, (Secret, Option<SystemTime>)>>,
    turn: tokio::sync::Mutex<()>,
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
        Ok(Self { issuer, applicant, actor: None, settings: Settings::default(), kept: Arc::default() })
    }

    /// Tells the issuer who acts: the token of this agent itself.
    #[must_use]
    pub fn actor(mut self, token: impl Into<Secret>) -> Self {
        self.actor = Some(token.into());
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
        OnBehalf { exchange: self.clone(), subject: token.into() }
    }
}

impl OnBehalf {
    fn key(&self, asked: &Asked<'_>) -> Key {
        let digest = aws_lc_rs::digest::digest(&aws_lc_rs::digest::SHA256, self.subject.expose().as_bytes());
        (digest.as_ref().to_vec(), asked.origin.to_owned(), asked.scopes.join(" "))
    }

    async fn token(&self, asked: &Asked<'_>, refused: Option<&Secret>) -> Result<Secret> {
        let kept = &self.exchange.kept;
        let key = self.key(asked);
        if let Some(token) = kept.fresh(&key, refused) {
            return Ok(token);
        }
        let _turn = kept.turn.lock().await;
        if let Some(token) = kept.fresh(&key, refused) {
            return Ok(token);
        }
        let Exchange { issuer, applicant, actor, settings, .. } = &self.exchange;
        let actor_type = if actor.is_some() { ACCESS_TOKEN } else { "" };
        let form = [
            ("grant_type", GRANT),
            ("subject_token", self.subject.expose()),
            ("subject_token_type", ACCESS_TOKEN),
            ("actor_token", actor.as_ref().map(Secret::expose).unwrap_or_default()),
            ("actor_token_type", actor_type),
            ("resource", asked.origin),
            ("scope", key.2.as_str()),
        ];
        match Desk::new(settings)?.token(&issuer.token, issuer, applicant, &form).await? {
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
    async fn credential(&self, asked: &Asked<'_>) -> Result<Option<Credential>> {
        if !CredentialKind::Bearer.suits(asked.scheme) {
            return Ok(None);
        }
        Ok(Some(Credential::Bearer(self.token(asked, None).await?)))
    }

    async fn renew(&self, asked: &Asked<'_>) -> Result<bool> {
        let Some(refused) = self.exchange.kept.fresh(&self.key(asked), None) else { return Ok(false) };
        self.token(asked, Some(&refused)).await.map(|token| token != refused)
    }
}

impl Kept {
    fn fresh(&self, key: &Key, refused: Option<&Secret>) -> Option<Secret> {
        let tokens = self.tokens.lock().unwrap_or_else(PoisonError::into_inner);
        let (token, end) = tokens.get(key)?;
        (tokens::is_time_left(*end) && refused != Some(token)).then(|| token.clone())
    }

    fn keep(&self, key: Key, token: Secret, end: Option<SystemTime>) {
        let mut tokens = self.tokens.lock().unwrap_or_else(PoisonError::into_inner);
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
