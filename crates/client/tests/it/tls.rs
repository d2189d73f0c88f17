//! TLS: own authorities, client certificates, no check at all; in HTTP and gRPC alike.

use std::{net::SocketAddr, sync::Arc};

use chancery_client::{Builder, Client, Trouble, TroubleKind};
use chancery_core::{Binding, Version};
use rcgen::{BasicConstraints, CertificateParams, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::{
    TlsAcceptor,
    rustls::{
        RootCertStore, ServerConfig,
        crypto::aws_lc_rs,
        pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject},
        server::WebPkiClientVerifier,
    },
};

use crate::agent::serve;

/// An authority, and a server and a client that it knows.
pub struct Authority {
    root: String,
    server: (String, String),
    client: (String, String),
}

impl Authority {
    pub fn new() -> Self {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new(Vec::<String>::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let root = params.self_signed(&key).unwrap().pem();
        let issuer = Issuer::new(params, key);
        let signed = |name: &str, purpose| {
            let key = KeyPair::generate().unwrap();
            let mut params = CertificateParams::new([name.to_owned()]).unwrap();
            params.extended_key_usages = vec![purpose];
            (params.signed_by(&key, &issuer).unwrap().pem(), key.serialize_pem())
        };
        let (server, client) =
            (signed("localhost", ExtendedKeyUsagePurpose::ServerAuth), signed("ada", ExtendedKeyUsagePurpose::ClientAuth));
        Self { root, server, client }
    }

    /// A port that speaks TLS, asks for a client's certificate if it is told to, and passes on to another port.
    pub async fn front(&self, behind: SocketAddr, certificate: bool) -> String {
        let provider = Arc::new(aws_lc_rs::default_provider());
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from_pem_slice(self.root.as_bytes()).unwrap()).unwrap();
        let builder = ServerConfig::builder_with_provider(provider.clone()).with_safe_default_protocol_versions().unwrap();
        let builder = if certificate {
            builder.with_client_cert_verifier(WebPkiClientVerifier::builder_with_provider(roots.into(), provider).build().unwrap())
        } else {
            builder.with_no_client_auth()
        };
        let chain = vec![CertificateDer::from_pem_slice(self.server.0.as_bytes()).unwrap()];
        let key = PrivateKeyDer::from_pem_slice(self.server.1.as_bytes()).unwrap();
        let mut config = builder.with_single_cert(chain, key).unwrap();
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        let acceptor = TlsAcceptor::from(Arc::new(config));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        tokio::spawn(async move {
            while let Ok((peer, _)) = listener.accept().await {
                let acceptor = acceptor.clone();
                tokio::spawn(async move {
                    // A handshake that fails is what some of the tests are about.
                    let Ok(mut peer) = acceptor.accept(peer).await else { return };
                    let mut server = TcpStream::connect(behind).await.unwrap();
                    // Either side may end it in its own way.
                    drop(tokio::io::copy_bidirectional(&mut peer, &mut server).await);
                });
            }
        });
        format!("https://localhost:{port}")
    }

    pub fn trusted(&self) -> Builder {
        Client::builder().root_certificates(self.root.as_bytes()).unwrap()
    }
}

const WAYS: [(Binding, Version); 4] =
    [(Binding::JsonRpc, Version::V1_0), (Binding::HttpJson, Version::V1_0), (Binding::Grpc, Version::V1_0), (Binding::Grpc, Version::V0_3)];

async fn works(builder: &Builder, url: &str) {
    for (binding, version) in WAYS {
        let agent = builder.over(binding, version, url).unwrap();
        let reply = agent.send("reply yes").await.unwrap_or_else(|error| panic!("{binding} {version}: {error:?}"));
        assert_eq!(reply.text(), "yes", "{binding} {version}");
    }
}

async fn fails(builder: Builder, url: &str) {
    let builder = builder.retries(0);
    for (binding, version) in WAYS {
        let error = builder.over(binding, version, url).unwrap().send("reply yes").await.unwrap_err();
        let kind = Trouble::of(&error).map(Trouble::kind);
        assert_eq!(kind, Some(TroubleKind::Unreachable), "{binding} {version}: {error:?}");
    }
}

/// V10-AUTH-005: the agent's certificate is checked, against own authorities too, unless the user does not want it.
#[tokio::test]
async fn own_authorities_are_trusted_and_strangers_are_not() {
    let (server, authority) = (serve().await, Authority::new());
    let url = authority.front(server.local_addr(), false).await;
    works(&authority.trusted(), &url).await;
    works(&Client::builder().insecure(true), &url).await;
    fails(Client::builder(), &url).await;
    fails(Authority::new().trusted(), &url).await;
    server.shutdown().await;
}

#[tokio::test]
async fn a_client_certificate_is_shown_to_who_asks_for_it() {
    let (server, authority) = (serve().await, Authority::new());
    let url = authority.front(server.local_addr(), true).await;
    let (chain, key) = (authority.client.0.as_bytes(), authority.client.1.as_bytes());
    works(&authority.trusted().identity(chain, key).unwrap(), &url).await;
    works(&Client::builder().insecure(true).identity(chain, key).unwrap(), &url).await;
    fails(authority.trusted(), &url).await;
    let stranger = Authority::new();
    fails(authority.trusted().identity(stranger.client.0.as_bytes(), stranger.client.1.as_bytes()).unwrap(), &url).await;
    server.shutdown().await;
}

#[tokio::test]
async fn certificates_that_are_none_are_refused_at_once() {
    let authority = Authority::new();
    assert!(Client::builder().root_certificates(b"no certificate").is_err());
    assert!(Client::builder().identity(authority.client.0.as_bytes(), b"no key").is_err());
    assert!(!format!("{:?}", authority.trusted()).contains("BEGIN"));
}
