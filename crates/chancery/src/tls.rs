//! TLS for the port: 1.2 and 1.3, HTTP/2 by ALPN, client certificates, and files that may change while it runs.

use std::{
    fmt, io,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use chancery_core::{Error, ErrorKind, Result, sync::RwLock};
use rustls::{
    RootCertStore, ServerConfig,
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject},
    server::WebPkiClientVerifier,
};
use tokio_util::sync::CancellationToken;

/// How often the files are looked at.
const INTERVAL: Duration = Duration::from_secs(10);

/// A certificate and its key, in files that are read again when they change.
#[derive(Clone)]
pub struct Tls {
    files: Files,
    interval: Duration,
    current: Arc<RwLock<Current>>,
}

#[derive(Clone)]
struct Files {
    chain: PathBuf,
    key: PathBuf,
    client_ca: Option<PathBuf>,
}

struct Current {
    config: Arc<ServerConfig>,
    /// What the files held.
    texts: Vec<Vec<u8>>,
}

impl Tls {
    /// Reads a certificate chain and its key from PEM files.
    ///
    /// # Errors
    /// When a file cannot be read, or the key does not belong to the certificate.
    pub fn open(chain: impl AsRef<Path>, key: impl AsRef<Path>) -> Result<Self> {
        let files = Files { chain: chain.as_ref().to_owned(), key: key.as_ref().to_owned(), client_ca: None };
        let current = Arc::new(RwLock::new(files.load()?));
        Ok(Self { files, interval: INTERVAL, current })
    }

    /// Takes client certificates that an authority in this PEM file has issued. Those of others are refused when the
    /// connection is made. Who shows none may still read cards; whether it may call is said by
    /// [`Server::auth`](crate::Server::auth), and without a word about it, it may not.
    ///
    /// # Errors
    /// When the file cannot be read, or holds no authority.
    pub fn client_ca(mut self, file: impl AsRef<Path>) -> Result<Self> {
        self.files.client_ca = Some(file.as_ref().to_owned());
        self.current = Arc::new(RwLock::new(self.files.load()?));
        Ok(self)
    }

    /// How often the files are looked at; every 10 s when not said. New connections get what they hold then; those that are
    /// there already go on. Files that do not fit together are left alone until they do.
    #[must_use]
    pub fn interval(mut self, interval: Duration) -> Self {
        self.interval = interval;
        self
    }

    /// Whether client certificates are asked for.
    pub(crate) fn asks_for_certificates(&self) -> bool {
        self.files.client_ca.is_some()
    }

    /// What a new connection gets.
    pub(crate) fn acceptor(&self) -> tokio_rustls::TlsAcceptor {
        let current = self.current.read();
        current.config.clone().into()
    }

    /// Looks for changes of the files until `stop`.
    pub(crate) async fn watch(self, stop: CancellationToken) {
        while tokio::time::timeout(self.interval, stop.cancelled()).await.is_err() {
            let (files, current) = (self.files.clone(), self.current.clone());
            let looked = tokio::task::spawn_blocking(move || renew(&files, &current)).await;
            match looked {
                Ok(Ok(true)) => tracing::info!("the certificate was changed; new connections get the new one"),
                Ok(Ok(false)) => {}
                Ok(Err(error)) => tracing::warn!(%error, "the certificate was changed, and cannot be used; the old one stays"),
                Err(error) => tracing::error!(%error, "the certificate could not be looked at"),
            }
        }
    }
}

/// Reads the files again if they have changed.
fn renew(files: &Files, current: &RwLock<Current>) -> Result<bool> {
    let texts = files.texts()?;
    if current.read().texts == texts {
        return Ok(false);
    }
    let new = files.make(texts)?;
    *current.write() = new;
    Ok(true)
}

impl Files {
    fn load(&self) -> Result<Current> {
        self.make(self.texts()?)
    }

    /// What the files hold: the chain, the key, the authorities.
    fn texts(&self) -> Result<Vec<Vec<u8>>> {
        let files = [(&self.chain, "certificate"), (&self.key, "key")].into_iter();
        let files = files.chain(self.client_ca.iter().map(|file| (file, "certificate of the authority")));
        files.map(|(file, what)| std::fs::read(file).map_err(|error| unread(file, what, error))).collect()
    }

    fn make(&self, texts: Vec<Vec<u8>>) -> Result<Current> {
        let chain = certificates(&self.chain, &texts[0])?;
        let key = PrivateKeyDer::from_pem_slice(&texts[1]).map_err(|error| {
            let words =
                "holds no private key in PEM form, which begins with -----BEGIN PRIVATE KEY-----; a key with a password is not read";
            unusable(&self.key, words, error)
        })?;
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let versions = [&rustls::version::TLS13, &rustls::version::TLS12];
        let builder = ServerConfig::builder_with_provider(provider.clone()).with_protocol_versions(&versions).map_err(Error::internal)?;
        let builder = match (&self.client_ca, texts.get(2)) {
            (Some(file), Some(text)) => {
                let none = "holds no certificate of an authority that can be used";
                let mut roots = RootCertStore::empty();
                for certificate in certificates(file, text)? {
                    roots.add(certificate).map_err(|error| unusable(file, none, error))?;
                }
                let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider);
                // Cards are for everybody, so that a connection without a certificate has its uses.
                let verifier = verifier.allow_unauthenticated().build();
                builder.with_client_cert_verifier(verifier.map_err(|error| unusable(file, none, error))?)
            }
            _ => builder.with_no_client_auth(),
        };
        let mut config = builder.with_single_cert(chain, key).map_err(|error| self.unfit(error))?;
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        Ok(Current { config: Arc::new(config), texts })
    }

    /// The certificate and the key cannot be used together.
    fn unfit(&self, cause: rustls::Error) -> Error {
        let (chain, key) = (self.chain.display(), self.key.display());
        let words = match &cause {
            rustls::Error::InconsistentKeys(_) => {
                format!("the key {key} does not belong to the certificate {chain}; use the key that the certificate was made for")
            }
            _ => format!(
                "the certificate {chain} cannot be used with the key {key}; use a certificate in X.509 form, the server's own first"
            ),
        };
        Error::new(ErrorKind::Internal, words).caused_by(cause)
    }
}

fn certificates(file: &Path, pem: &[u8]) -> Result<Vec<CertificateDer<'static>>> {
    let words = "holds no certificate in PEM form, which begins with -----BEGIN CERTIFICATE-----; convert it, or name another file";
    let read = CertificateDer::pem_slice_iter(pem).collect::<Result<Vec<_>, _>>();
    let certificates = read.map_err(|error| unusable(file, words, error))?;
    if certificates.is_empty() { Err(unusable(file, words, "there is no certificate in the file")) } else { Ok(certificates) }
}

/// A file that cannot be read.
fn unread(file: &Path, what: &str, cause: io::Error) -> Error {
    let words = match cause.kind() {
        io::ErrorKind::NotFound => "there is no such file; look for a mistake in the path",
        io::ErrorKind::PermissionDenied => "this user may not read it; give it the right",
        _ => "it cannot be read",
    };
    let words = format!("cannot use the {what} {}: {words}", file.display());
    Error::new(ErrorKind::Internal, words).caused_by(format!("{}: {cause}", file.display()))
}

/// A file that holds something else.
fn unusable(file: &Path, words: &str, cause: impl fmt::Display) -> Error {
    Error::new(ErrorKind::Internal, format!("{} {words}", file.display())).caused_by(format!("{}: {cause}", file.display()))
}

impl fmt::Debug for Tls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Tls")
    }
}
