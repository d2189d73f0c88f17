//! TLS, for HTTP and for gRPC alike.

use std::{fmt, sync::Arc};

use chancery_core::{BoxError, Error, ErrorKind, Result};
use rustls::{
    DigitallySignedStruct, SignatureScheme,
    client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier},
    crypto::{CryptoProvider, aws_lc_rs, verify_tls12_signature, verify_tls13_signature},
    pki_types::{CertificateDer, ServerName, UnixTime},
};
use tonic::transport::{Certificate, ClientTlsConfig, Endpoint, Identity};

/// Whom to trust, and how to show who we are.
#[derive(Clone, Default)]
pub(crate) struct Tls {
    /// Certificates in PEM, beside those of the system.
    roots: Vec<Vec<u8>>,
    /// A chain and its key in PEM.
    identity: Option<(Vec<u8>, Vec<u8>)>,
    pub(crate) insecure: bool,
}

impl Tls {
    /// Trusts these certificates too.
    pub(crate) fn trust(&mut self, pem: &[u8]) -> Result<()> {
        let certificates = reqwest::Certificate::from_pem_bundle(pem).map_err(|error| unusable("certificates", error))?;
        if certificates.is_empty() {
            return Err(unusable("certificates", "there is none in the text"));
        }
        self.roots.push(pem.to_vec());
        Ok(())
    }

    /// Shows this certificate to whoever asks for one.
    pub(crate) fn identify(&mut self, chain: &[u8], key: &[u8]) -> Result<()> {
        reqwest::Identity::from_pem(&[chain, b"\n", key].concat()).map_err(|error| unusable("client certificate", error))?;
        self.identity = Some((chain.to_vec(), key.to_vec()));
        Ok(())
    }

    /// Shows nothing to anybody.
    pub(crate) fn hide(&mut self) {
        self.identity = None;
    }

    pub(crate) fn has_identity(&self) -> bool {
        self.identity.is_some()
    }

    /// An HTTP client with these settings. Where the system has no certificates, those given must do.
    pub(crate) fn http(&self, builder: impl Fn() -> reqwest::ClientBuilder) -> Result<reqwest::Client> {
        let build = |only: bool| -> reqwest::Result<reqwest::Client> {
            let mut builder = builder();
            let mut roots = Vec::new();
            for pem in &self.roots {
                roots.extend(reqwest::Certificate::from_pem_bundle(pem)?);
            }
            if let Some((chain, key)) = &self.identity {
                builder = builder.identity(reqwest::Identity::from_pem(&[chain, b"\n".as_slice(), key].concat())?);
            }
            builder = if only { builder.tls_certs_only(roots) } else { builder.tls_certs_merge(roots) };
            builder.tls_danger_accept_invalid_certs(self.insecure).build()
        };
        let built = match build(false) {
            Err(_) if !self.roots.is_empty() => build(true),
            built => built,
        };
        built.map_err(|error| unusable("TLS settings", error))
    }

    /// A gRPC endpoint with these settings.
    pub(crate) fn grpc(&self, endpoint: Endpoint) -> Result<Endpoint> {
        let mut config = ClientTlsConfig::new();
        if let Some((chain, key)) = &self.identity {
            config = config.identity(Identity::from_pem(chain, key));
        }
        let endpoint = if self.insecure {
            endpoint.tls_config_with_verifier(config, Arc::new(Anyone::new()))
        } else {
            config = config.ca_certificates(self.roots.iter().map(Certificate::from_pem));
            match endpoint.clone().tls_config(config.clone().with_native_roots()) {
                Err(_) if !self.roots.is_empty() => endpoint.tls_config(config),
                configured => configured,
            }
        };
        endpoint.map_err(|error| unusable("TLS settings", error))
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

fn unusable(what: &str, source: impl Into<BoxError>) -> Error {
    Error::new(ErrorKind::InvalidParams, format!("the {what} cannot be used")).caused_by(source)
}

/// Takes anyone for the agent, as long as the handshake itself is right.
#[derive(Debug)]
struct Anyone(Arc<CryptoProvider>);

impl Anyone {
    fn new() -> Self {
        Self(Arc::new(aws_lc_rs::default_provider()))
    }
}

impl ServerCertVerifier for Anyone {
    fn verify_server_cert(
        &self,
        _end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _name: &ServerName<'_>,
        _ocsp: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(message, certificate, signature, &self.0.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, certificate, signature, &self.0.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
