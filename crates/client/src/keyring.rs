//! Credentials by the origin that they are for.

use std::{collections::BTreeMap, fmt, sync::Arc};

use async_trait::async_trait;
use chancery_core::{Error, Result};

use crate::{
    credentials::{Credential, CredentialRequest, Credentials},
    discover,
};

/// Credentials of several agents, each shown to its own origin and to nobody else.
///
/// Whoever calls more than one agent needs it: [`Secrets`](crate::Secrets) are shown at the origin of any card. So does whoever trusts an
/// agent whose interface is on another origin than its card.
///
/// ```
/// use chancery_client::{Client, Keyring, Secrets};
///
/// # fn run() -> chancery_core::Result<()> {
/// let keyring = Keyring::new()
///     .at("https://billing.example.com", Secrets::new().bearer("eyJhbGciOi…"))?
///     .at("https://ledger.example.com", Secrets::new().api_key("k-31"))?;
/// let peers = Client::builder().credentials(keyring).peers();
/// # Ok(()) }
/// ```
#[derive(Clone, Default)]
pub struct Keyring(BTreeMap<String, Arc<dyn Credentials>>);

impl Keyring {
    /// No credentials at all.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// These credentials are for the origin of this URL.
    ///
    /// # Errors
    /// When it is no URL.
    pub fn at(mut self, url: &str, credentials: impl Credentials + 'static) -> Result<Self> {
        self.0.insert(origin(url)?, Arc::new(credentials));
        Ok(self)
    }

    fn of(&self, asked: &CredentialRequest<'_>) -> Option<&Arc<dyn Credentials>> {
        self.0.get(asked.origin)
    }
}

fn origin(url: &str) -> Result<String, Error> {
    Ok(discover::parse(url)?.origin().ascii_serialization())
}

#[async_trait]
impl Credentials for Keyring {
    async fn credential(&self, asked: &CredentialRequest<'_>) -> Result<Option<Credential>> {
        match self.of(asked) {
            Some(credentials) => credentials.credential(asked).await,
            None => Ok(None),
        }
    }

    async fn renew(&self, asked: &CredentialRequest<'_>) -> Result<bool> {
        match self.of(asked) {
            Some(credentials) => credentials.renew(asked).await,
            None => Ok(false),
        }
    }

    fn names(&self, origin: &str) -> bool {
        self.0.contains_key(origin)
    }
}

/// Shows the origins only.
impl fmt::Debug for Keyring {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Keyring").field(&self.0.keys()).finish()
    }
}
