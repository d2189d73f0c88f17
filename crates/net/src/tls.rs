//! TLS of clients: root certificates, and the client certificate of mutual TLS.

use std::fmt;

use chancery_core::{BoxError, Error, ErrorKind, Result};

/// Whom to trust, and how to show who we are.
#[derive(Clone, Default)]
pub struct Tls {
    /// Certificates in PEM, beside those of the system.
    roots: Vec<Vec<u8>>,
    /// A chain and its key in PEM.
    identity: Option<(Vec<u8>, Vec<u8>)>,
    insecure: bool,
}

impl Tls {
    /// Trusts these certificates too.
    ///
    /// # Errors
    /// When there is no certificate in the text.
    pub fn trust(&mut self, pem: &[u8]) -> Result<()> {
        let certificates = reqwest::Certificate::from_pem_bundle(pem).map_err(|error| unusable("certificates", error))?;
        if certificates.is_empty() {
            return Err(unusable("certificates", "there is none in the text"));
        }
        self.roots.push(pem.to_vec());
        Ok(())
    }

    /// Shows this certificate to whoever asks for one.
    ///
    /// # Errors
    /// When chain and key are not those of a certificate.
    pub fn identify(&mut self, chain: &[u8], key: &[u8]) -> Result<()> {
        reqwest::Identity::from_pem(&[chain, b"\n", key].concat()).map_err(|error| unusable("client certificate", error))?;
        self.identity = Some((chain.to_vec(), key.to_vec()));
        Ok(())
    }

    /// Shows no certificate to anybody.
    pub fn hide(&mut self) {
        self.identity = None;
    }

    /// Takes anyone for the server, as long as the handshake itself is right.
    pub fn accept_anyone(&mut self, yes: bool) {
        self.insecure = yes;
    }

    /// The certificates in PEM that are trusted beside those of the system.
    pub fn roots(&self) -> impl Iterator<Item = &[u8]> {
        self.roots.iter().map(Vec::as_slice)
    }

    /// The chain and the key in PEM of the certificate that is shown.
    #[must_use]
    pub fn identity(&self) -> Option<(&[u8], &[u8])> {
        self.identity.as_ref().map(|(chain, key)| (chain.as_slice(), key.as_slice()))
    }

    /// Whether anyone is taken for the server.
    #[must_use]
    pub fn accepts_anyone(&self) -> bool {
        self.insecure
    }

    /// An HTTP client with these settings. Where the system has no certificates, those given must do.
    pub(crate) fn client(&self, builder: impl Fn() -> reqwest::ClientBuilder) -> reqwest::Result<reqwest::Client> {
        let build = |only: bool| {
            let mut builder = builder();
            let mut roots = Vec::new();
            for pem in &self.roots {
                roots.extend(reqwest::Certificate::from_pem_bundle(pem)?);
            }
            if let Some((chain, key)) = self.identity() {
                builder = builder.identity(reqwest::Identity::from_pem(&[chain, b"\n", key].concat())?);
            }
            builder = if only { builder.tls_certs_only(roots) } else { builder.tls_certs_merge(roots) };
            builder.tls_danger_accept_invalid_certs(self.insecure).build()
        };
        match build(false) {
            Err(_) if !self.roots.is_empty() => build(true),
            built => built,
        }
    }
}

impl fmt::Debug for Tls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tls")
            .field("roots", &self.roots.len())
            .field("identity", &self.identity.is_some())
            .field("insecure", &self.insecure)
            .finish()
    }
}

pub(crate) fn unusable(what: &str, source: impl Into<BoxError>) -> Error {
    Error::new(ErrorKind::InvalidParams, format!("the {what} cannot be used")).caused_by(source)
}
