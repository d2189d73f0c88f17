//! TLS for the port.

use std::{fmt, path::Path, sync::Arc};

use chancery_core::{Error, Result};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject};

/// A certificate and its key.
#[derive(Clone)]
pub struct Tls {
    config: Arc<rustls::ServerConfig>,
}

impl Tls {
    /// Reads a certificate chain and its key from PEM files.
    ///
    /// # Errors
    /// When a file cannot be read, or the key does not belong to the certificate.
    pub fn open(chain: impl AsRef<Path>, key: impl AsRef<Path>) -> Result<Self> {
        let chain: Vec<_> = CertificateDer::pem_file_iter(chain.as_ref())
            .and_then(Iterator::collect)
            .map_err(|error| Error::internal(format!("{}: {error}", chain.as_ref().display())))?;
        let key =
            PrivateKeyDer::from_pem_file(key.as_ref()).map_err(|error| Error::internal(format!("{}: {error}", key.as_ref().display())))?;
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let mut config = rustls::ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(Error::internal)?
            .with_no_client_auth()
            .with_single_cert(chain, key)
            .map_err(Error::internal)?;
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        Ok(Self { config: Arc::new(config) })
    }

    pub(crate) fn acceptor(self) -> tokio_rustls::TlsAcceptor {
        self.config.into()
    }
}

impl fmt::Debug for Tls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Tls")
    }
}
