//! The credentials of a run: those that were given, else those that somebody has signed in for.

use std::path::PathBuf;

use async_trait::async_trait;
use chancery_client::{
    Credential, CredentialKind, CredentialRequest, Credentials, Secrets,
    oauth::{OAuth, StoredToken, Tokens},
};
use chancery_core::{Result, Secret};

use crate::{context::Context, settings::Settings, trouble::Trouble};

/// The file of tokens in the folder of settings.
const FILE: &str = "credentials.json";
/// The variable that holds the secret of a client.
const CLIENT_SECRET: &str = "A2ACLI_CLIENT_SECRET";

/// What was given for this run wins over what is stored: a stored token is not even looked for then.
#[derive(Debug)]
pub(crate) struct Wallet {
    given: Secrets,
    stored: Option<OAuth>,
}

impl Wallet {
    /// What was given, and if that is nothing, what is stored.
    pub(crate) fn new(context: &Context, given: Secrets, builder: &chancery_client::Builder) -> Self {
        let stored = file(&context.settings).filter(|_| given.given().is_empty()).map(|file| {
            let oauth = OAuth::signed_in(Tokens::in_file(file)).connections(builder);
            match client_secret(&context.settings) {
                Some(secret) => oauth.secret(secret),
                None => oauth,
            }
        });
        Self { given, stored }
    }
}

#[async_trait]
impl Credentials for Wallet {
    async fn credential(&self, asked: &CredentialRequest<'_>) -> Result<Option<Credential>> {
        match &self.stored {
            Some(stored) => stored.credential(asked).await,
            None => self.given.credential(asked).await,
        }
    }

    async fn renew(&self, asked: &CredentialRequest<'_>) -> Result<bool> {
        match &self.stored {
            Some(stored) => stored.renew(asked).await,
            None => Ok(false),
        }
    }

    fn given(&self) -> Vec<CredentialKind> {
        self.given.given()
    }
}

/// Where tokens are kept; without a home there is no such place.
pub(crate) fn file(settings: &Settings) -> Option<PathBuf> {
    settings.layers.around.settings.as_ref().map(|folder| folder.join(FILE))
}

/// All tokens that are kept.
pub(crate) fn stored(settings: &Settings) -> Result<Vec<StoredToken>, Trouble> {
    let Some(file) = file(settings) else { return Ok(Vec::new()) };
    let shown = settings.layers.around.shown(&file);
    let listed = Tokens::in_file(&file).list();
    listed.map_err(|error| Trouble::own("CONFIG", error.to_string()).hint(format!("chmod 600 {shown}, or remove it and sign in again")))
}

/// The secret of the client, if there is one.
pub(crate) fn client_secret(settings: &Settings) -> Option<Secret> {
    settings.layers.variable(CLIENT_SECRET).map(Secret::from)
}
