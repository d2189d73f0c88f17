//! Cards that are signed by the server that serves them.
//!
//! ```text
//!  Signing   keys in their order, where they are published        what an operator says
//!     |
//!  CardKeys  with an address of the server:  card -> signatures   when a card or a key changes, not for each request
//!     |
//!  CardFiles, the answer to a request for the extended card, /.well-known/jwks.json
//! ```

use std::{collections::HashMap, fmt, sync::Arc};

use chancery_core::{Card, Error, Result, Signature, sync::Mutex};
use chancery_server::{CardSigner, KEYS_PATH};
use chancery_signing::{Document, Form, Jwk, Signer, SigningKey, lint};
use serde_json::Value;
use url::Url;

/// Extended cards whose signatures are remembered.
const REMEMBERED: usize = 256;

/// What the cards of a server are signed with.
///
/// The public halves of all keys are served at `/.well-known/jwks.json`, beside those of webhooks, and the signatures point there. To change
/// keys, publish the new one first, then let it sign, and go on publishing the old one for as long as old cards are kept somewhere.
///
/// ```
/// use chancery_signing::{Algorithm, SigningKey};
/// use chancery::Signing;
///
/// let signing = Signing::new(SigningKey::generate(Algorithm::Es256, "2026-11")?)
///     .published(SigningKey::generate(Algorithm::Es256, "2026-12")?.public());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Signing {
    signers: Vec<KeyWithChain>,
    published: Vec<Jwk>,
    keys_at: Option<String>,
}

/// A key that signs, with its certificates.
#[derive(Clone)]
struct KeyWithChain {
    key: Arc<SigningKey>,
    chain: Vec<Vec<u8>>,
}

impl Signing {
    /// Signs with this key.
    pub fn new(key: impl Into<Arc<SigningKey>>) -> Self {
        Self { signers: Vec::new(), published: Vec::new(), keys_at: None }.also(key)
    }

    /// Signs with this key too: every card has signatures of all of them, those of the first key first.
    #[must_use]
    pub fn also(mut self, key: impl Into<Arc<SigningKey>>) -> Self {
        let key = key.into();
        self.published.push(key.public());
        self.signers.push(KeyWithChain { key, chain: Vec::new() });
        self
    }

    /// Publishes a key that does not sign: the next one, or the one before.
    #[must_use]
    pub fn published(mut self, key: Jwk) -> Self {
        self.published.push(key);
        self
    }

    /// Shows these certificates (DER, the key's own first) with the signatures of the key that was named last.
    #[must_use]
    pub fn chain(mut self, certificates: impl IntoIterator<Item = Vec<u8>>) -> Self {
        if let Some(last) = self.signers.last_mut() {
            last.chain = certificates.into_iter().collect();
        }
        self
    }

    /// Says that the public keys are at this address, instead of on the server itself.
    #[must_use]
    pub fn keys_at(mut self, url: impl Into<String>) -> Self {
        self.keys_at = Some(url.into());
        self
    }
}

impl fmt::Debug for Signing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = self.signers.iter().map(|sealing| sealing.key.kid()).collect();
        f.debug_struct("Signing").field("keys", &names).field("keys_at", &self.keys_at).finish_non_exhaustive()
    }
}

/// Signs the cards of a server. Where its keys are, and who issues its cards, follows from the URL that a card is read by.
pub(crate) struct CardKeys {
    signing: Signing,
    /// Signatures of extended cards, by the card. Every caller may get another one.
    extended: Mutex<HashMap<Vec<u8>, Vec<Signature>>>,
}

impl CardKeys {
    pub(crate) fn new(signing: Signing) -> Self {
        Self { signing, extended: Mutex::default() }
    }

    fn signatures(&self, mut document: Document, base: &str) -> Result<Vec<Signature>> {
        for sealing in &self.signing.signers {
            self.signer(sealing, base).replace().sign(&mut document).map_err(Error::internal)?;
        }
        let signatures = document.member("signatures").cloned().unwrap_or_default();
        serde_json::from_value(signatures).map_err(Error::internal)
    }

    fn signer<'a>(&self, sealing: &'a KeyWithChain, base: &str) -> Signer<'a> {
        let keys_at = self.signing.keys_at.clone().unwrap_or_else(|| format!("{base}{KEYS_PATH}"));
        let signer = Signer::new(&sealing.key).jku(keys_at);
        if sealing.chain.is_empty() { signer } else { signer.chain(sealing.chain.iter().map(Vec::as_slice)) }
    }

    fn remembered(&self) -> std::sync::MutexGuard<'_, HashMap<Vec<u8>, Vec<Signature>>> {
        // Nothing in here panics half-way.
        self.extended.lock()
    }
}

impl CardSigner for CardKeys {
    /// Signs a public card, and says what is weak about it.
    fn sign(&self, card: &mut Card, base: &str) -> Result<()> {
        let document = Document::of(card).map_err(Error::internal)?;
        for weak in lint(&document) {
            tracing::warn!(card = card.name, path = weak.path, "{}", weak.message);
        }
        card.signatures = self.signatures(document, base)?;
        Ok(())
    }

    /// Signs an extended card; the same card has the same signatures next time.
    fn sign_extended(&self, card: &mut Card, base: &str) -> Result<()> {
        let text = serde_json::to_vec(card).map_err(Error::internal)?;
        let digest = aws_lc_rs::digest::digest(&aws_lc_rs::digest::SHA256, &[text.as_slice(), base.as_bytes()].concat()).as_ref().to_vec();
        if let Some(known) = self.remembered().get(&digest) {
            card.signatures.clone_from(known);
            return Ok(());
        }
        card.signatures = self.signatures(Document::parse(&text).map_err(Error::internal)?, base)?;
        let mut remembered = self.remembered();
        if remembered.len() >= REMEMBERED {
            remembered.clear();
        }
        remembered.insert(digest, card.signatures.clone());
        Ok(())
    }

    fn sign_snake(&self, card: Value, base: &str) -> Result<Value> {
        let mut document = Document::of(&card).map_err(Error::internal)?;
        // Who issues the cards, in the dialect that asks for it.
        let issuer = Url::parse(base).ok().and_then(|url| url.host_str().map(str::to_owned));
        for sealing in &self.signing.signers {
            let mut signer = self.signer(sealing, base).forms([Form::Raw]);
            if let Some(issuer) = &issuer {
                signer = signer.issuer(issuer);
            }
            signer.sign(&mut document).map_err(Error::internal)?;
        }
        Ok(document.into_value())
    }

    fn keys(&self) -> Vec<Value> {
        self.signing.published.iter().map(Jwk::to_value).collect()
    }
}
