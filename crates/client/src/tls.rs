//! TLS of gRPC channels; that of HTTP clients is `chancery_net`'s.

use std::sync::Arc;

use chancery_core::{Error, ErrorKind, Result};
use chancery_net::Tls;
use rustls::{
    DigitallySignedStruct, SignatureScheme,
    client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier},
    crypto::{CryptoProvider, aws_lc_rs, verify_tls12_signature, verify_tls13_signature},
    pki_types::{CertificateDer, ServerName, UnixTime},
};
use tonic::transport::{Certificate, ClientTlsConfig, Endpoint, Identity};

/// A gRPC endpoint with these settings.
pub(crate) fn grpc(tls: &Tls, endpoint: Endpoint) -> Result<Endpoint> {
    let mut config = ClientTlsConfig::new();
    if let Some((chain, key)) = tls.identity() {
        config = config.identity(Identity::from_pem(chain, key));
    }
    let endpoint = if tls.accepts_anyone() {
        endpoint.tls_config_with_verifier(config, Arc::new(Anyone::new()))
    } else {
        config = config.ca_certificates(tls.roots().map(Certificate::from_pem));
        match endpoint.clone().tls_config(config.clone().with_native_roots()) {
            Err(_) if tls.roots().next().is_some() => endpoint.tls_config(config),
            configured => configured,
        }
    };
    endpoint.map_err(|error| Error::new(ErrorKind::InvalidParams, "the TLS settings cannot be used").caused_by(error))
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
