//! The port behind TLS: HTTP/1.1 and HTTP/2, agreed on by ALPN.

use std::{path::PathBuf, sync::Arc, time::Duration};

use bytes::Bytes;
use chancery::{
    Auth, Running, Server, Tls,
    auth::{CertificateName, Digest, Holder, Scheme},
};
use chancery_core::{Card, SecurityRequirement, security::ApiKeyLocation};
use chancery_engine::{Failure, Outcome, Turn, store::Memory};
use http_body_util::{BodyExt, Full};
use hyper_util::rt::{TokioExecutor, TokioIo};
use rustls::pki_types::{CertificateDer, ServerName};

/// A server with a certificate that its own folder vouches for.
struct Sealed {
    running: Running,
    root: CertificateDer<'static>,
    folder: PathBuf,
}

impl Sealed {
    async fn start(name: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("chancery-tls-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
        std::fs::write(folder.join("cert.pem"), made.cert.pem()).unwrap();
        std::fs::write(folder.join("key.pem"), made.signing_key.serialize_pem()).unwrap();
        let tls = Tls::open(folder.join("cert.pem"), folder.join("key.pem")).unwrap();
        let card = Card::new("Echo", "Repeats what it hears").skill("echo", "Says your words back");
        let echo = |turn: Turn| async move { Ok::<_, Failure>(Outcome::message(turn.text())) };
        let running = Server::new(card, echo).store(Memory::new()).tls(tls).bind("127.0.0.1:0").await.unwrap();
        Self { running, root: made.cert.der().clone(), folder }
    }

    /// A connection that offers these protocols.
    async fn connect(&self, offered: &[&[u8]]) -> tokio_rustls::client::TlsStream<tokio::net::TcpStream> {
        let mut roots = rustls::RootCertStore::empty();
        roots.add(self.root.clone()).unwrap();
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let builder = rustls::ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
        let mut config = builder.with_root_certificates(roots).with_no_client_auth();
        config.alpn_protocols = offered.iter().map(|protocol| protocol.to_vec()).collect();
        let stream = tokio::net::TcpStream::connect(self.running.local_addr()).await.unwrap();
        let connector = tokio_rustls::TlsConnector::from(Arc::new(config));
        connector.connect(ServerName::try_from("localhost").unwrap(), stream).await.unwrap()
    }
}

impl Drop for Sealed {
    fn drop(&mut self) {
        drop(std::fs::remove_dir_all(&self.folder));
    }
}

fn request(uri: &str, content_type: &str, body: &'static [u8]) -> http::Request<Full<Bytes>> {
    let builder = http::Request::post(uri).header("host", "localhost").header("a2a-version", "1.0").header("te", "trailers");
    builder.header("content-type", content_type).body(Full::new(Bytes::from_static(body))).unwrap()
}

const SEND: &[u8] = br#"{"message":{"messageId":"1","role":"ROLE_USER","parts":[{"text":"hi"}]}}"#;

#[tokio::test]
async fn http_1_is_served_over_tls() {
    let server = Sealed::start("h1").await;
    assert!(server.running.url().starts_with("https://"));
    let stream = server.connect(&[b"http/1.1"]).await;
    let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await.unwrap();
    tokio::spawn(connection);
    let response = sender.send_request(request("/message:send", "application/a2a+json", SEND)).await.unwrap();
    assert_eq!(response.status(), 200);
    let body = response.into_body().collect().await.unwrap().to_bytes();
    assert!(String::from_utf8_lossy(&body).contains("\"hi\""), "{body:?}");
}

/// V10-GRPC-003: gRPC over HTTP/2 with TLS, beside everything else.
#[tokio::test]
async fn http_2_and_grpc_are_served_over_tls() {
    let server = Sealed::start("h2").await;
    let stream = server.connect(&[b"h2", b"http/1.1"]).await;
    assert_eq!(stream.get_ref().1.alpn_protocol(), Some(&b"h2"[..]));
    let (mut sender, connection) = hyper::client::conn::http2::handshake(TokioExecutor::new(), TokioIo::new(stream)).await.unwrap();
    tokio::spawn(connection);
    let url = |path: &str| format!("https://localhost{path}");
    let response = sender.send_request(request(&url("/message:send"), "application/a2a+json", SEND)).await.unwrap();
    assert_eq!(response.status(), 200);
    let frame = b"\0\0\0\0\x0f\x12\x0d\x0a\x03m-1\x20\x01\x2a\x04\x0a\x02hi";
    let response = sender.send_request(request(&url("/lf.a2a.v1.A2AService/SendMessage"), "application/grpc", frame)).await.unwrap();
    assert_eq!(response.headers()["content-type"], "application/grpc");
    let body = response.into_body().collect().await.unwrap();
    assert_eq!(body.trailers().unwrap()["grpc-status"], "0");
}

#[tokio::test]
async fn whoever_speaks_no_tls_is_sent_away_and_others_are_served() {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    let server = Sealed::start("plain").await;
    let mut plain = tokio::net::TcpStream::connect(server.running.local_addr()).await.unwrap();
    plain.write_all(b"GET / HTTP/1.1\r\nhost: localhost\r\n\r\n").await.unwrap();
    let mut answer = Vec::new();
    // The server hangs up, with or without an alert.
    drop(plain.read_to_end(&mut answer).await);
    assert!(!answer.starts_with(b"HTTP/"), "{answer:?}");
    server.connect(&[b"http/1.1"]).await;
}

#[test]
fn a_certificate_that_cannot_be_read_is_named() {
    let error = Tls::open("no-such-file.pem", "no-such-key.pem").unwrap_err();
    let cause = std::error::Error::source(&error).unwrap().to_string();
    assert!(cause.starts_with("no-such-file.pem: "), "{cause}");
}

/// An authority that issues certificates for clients.
struct Authority {
    issuer: rcgen::CertifiedIssuer<'static, rcgen::KeyPair>,
}

/// A client's certificate and its key.
type Papers = (Vec<CertificateDer<'static>>, rustls::pki_types::PrivateKeyDer<'static>);

impl Authority {
    fn new(name: &str) -> Self {
        let mut params = rcgen::CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
        params.distinguished_name.push(rcgen::DnType::CommonName, name);
        Self { issuer: rcgen::CertifiedIssuer::self_signed(params, rcgen::KeyPair::generate().unwrap()).unwrap() }
    }

    fn pem(&self) -> String {
        self.issuer.pem()
    }

    fn issue(&self, name: &str, valid: bool) -> Papers {
        let mut params = rcgen::CertificateParams::new(vec![format!("{name}.example")]).unwrap();
        params.distinguished_name = rcgen::DistinguishedName::new();
        params.distinguished_name.push(rcgen::DnType::CommonName, name);
        params.extended_key_usages = vec![rcgen::ExtendedKeyUsagePurpose::ClientAuth];
        if !valid {
            params.not_after = rcgen::date_time_ymd(2020, 1, 1);
        }
        let key = rcgen::KeyPair::generate().unwrap();
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        (vec![certificate.der().clone()], key.serialize_der().try_into().unwrap())
    }
}

/// A folder for the files of one test.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("chancery-tls-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        Self(folder)
    }

    /// Writes a new certificate and its key, and gives the certificate.
    fn renew(&self) -> CertificateDer<'static> {
        let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
        std::fs::write(self.0.join("cert.pem"), made.cert.pem()).unwrap();
        std::fs::write(self.0.join("key.pem"), made.signing_key.serialize_pem()).unwrap();
        made.cert.der().clone()
    }

    fn tls(&self) -> Tls {
        Tls::open(self.0.join("cert.pem"), self.0.join("key.pem")).unwrap()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        drop(std::fs::remove_dir_all(&self.0));
    }
}

async fn serve(tls: Tls, auth: Option<Auth>) -> Running {
    let card = Card::new("Greeter", "Says who called").skill("greet", "Says who called");
    let greet = |turn: Turn| async move {
        let caller = turn.caller();
        let said = format!(
            "{} by {}",
            caller.identity().subject.as_deref().unwrap_or("nobody"),
            caller.identity().scheme.as_deref().unwrap_or("nothing")
        );
        Ok::<_, Failure>(Outcome::message(said))
    };
    let server = Server::new(card, greet).store(Memory::new()).tls(tls);
    let server = if let Some(auth) = auth { server.auth(auth) } else { server };
    server.bind("127.0.0.1:0").await.unwrap()
}

/// Asks over a connection of its own; what the agent says, or the status, or that there is no connection.
async fn ask(
    running: &Running,
    root: &CertificateDer<'static>,
    papers: Option<Papers>,
    headers: &[(&str, &str)],
) -> Result<String, String> {
    let versions = [&rustls::version::TLS13, &rustls::version::TLS12];
    ask_with(running, root, papers, headers, &versions).await
}

async fn ask_with(
    running: &Running,
    root: &CertificateDer<'static>,
    papers: Option<Papers>,
    headers: &[(&str, &str)],
    versions: &[&'static rustls::SupportedProtocolVersion],
) -> Result<String, String> {
    let mut roots = rustls::RootCertStore::empty();
    roots.add(root.clone()).unwrap();
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let builder = rustls::ClientConfig::builder_with_provider(provider).with_protocol_versions(versions).unwrap();
    let builder = builder.with_root_certificates(roots);
    let config = match papers {
        Some((chain, key)) => builder.with_client_auth_cert(chain, key).unwrap(),
        None => builder.with_no_client_auth(),
    };
    let stream = tokio::net::TcpStream::connect(running.local_addr()).await.unwrap();
    let connector = tokio_rustls::TlsConnector::from(Arc::new(config));
    let name = ServerName::try_from("localhost").unwrap();
    let stream = connector.connect(name, stream).await.map_err(|error| error.to_string())?;
    let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await.map_err(|error| error.to_string())?;
    tokio::spawn(connection);
    let mut request = request("/message:send", "application/a2a+json", SEND);
    for (name, value) in headers {
        request.headers_mut().insert(http::HeaderName::try_from(*name).unwrap(), value.parse().unwrap());
    }
    // Under TLS 1.3 a certificate is refused after the client thinks that it is connected.
    let response = sender.send_request(request).await.map_err(|error| error.to_string())?;
    if response.status() != 200 {
        return Ok(response.status().as_u16().to_string());
    }
    let body = response.into_body().collect().await.unwrap().to_bytes();
    let reply: serde_json::Value = serde_json::from_slice(&body).unwrap();
    Ok(reply["message"]["parts"][0]["text"].as_str().unwrap().to_owned())
}

/// A certificate of the authority says who the caller is; one of somebody else, or one that has expired, is refused when
/// the connection is made; who has none may not call.
#[tokio::test]
async fn a_client_certificate_says_who_calls() {
    let folder = Folder::new("mtls");
    let root = folder.renew();
    let (authority, stranger) = (Authority::new("Harbor"), Authority::new("Harbor"));
    std::fs::write(folder.0.join("ca.pem"), authority.pem()).unwrap();
    let tls = folder.tls().client_ca(folder.0.join("ca.pem")).unwrap();
    // Who says nothing more means that certificates are needed.
    let running = serve(tls.clone(), None).await;
    assert_eq!(ask(&running, &root, Some(authority.issue("ada", true)), &[]).await.unwrap(), "ada by mtls");
    for versions in [&[&rustls::version::TLS12], &[&rustls::version::TLS13]] {
        let said = ask_with(&running, &root, Some(authority.issue("bob", true)), &[], versions).await;
        assert_eq!(said.unwrap(), "bob by mtls");
    }
    assert_eq!(ask(&running, &root, None, &[]).await.unwrap(), "401");
    ask(&running, &root, Some(stranger.issue("ada", true)), &[]).await.unwrap_err();
    ask(&running, &root, Some(authority.issue("ada", false)), &[]).await.unwrap_err();
    let card = &running.engines()[0].card();
    assert_eq!(card.security_requirements, [SecurityRequirement::new().and("mtls", [""; 0])]);
    // With a list, only those are let in who are on it; and a certificate may be one of two things that are needed.
    let certificates = Scheme::mutual_tls(CertificateName::Dns).holder(Holder::certificate("Ada L.", "ada.example"));
    let keys = Scheme::api_key(ApiKeyLocation::Header, "X-API-Key").holder(Holder::new("key", Digest::of("secret")));
    let auth = Auth::new().scheme("mtls", certificates).scheme("key", keys);
    let running = serve(tls, Some(auth.require(SecurityRequirement::new().and("mtls", [""; 0]).and("key", [""; 0])))).await;
    let key = [("x-api-key", "secret")];
    assert_eq!(ask(&running, &root, Some(authority.issue("ada", true)), &key).await.unwrap(), "Ada L. by mtls+key");
    assert_eq!(ask(&running, &root, Some(authority.issue("ada", true)), &[]).await.unwrap(), "401");
    assert_eq!(ask(&running, &root, Some(authority.issue("bob", true)), &key).await.unwrap(), "401");
    assert_eq!(ask(&running, &root, None, &key).await.unwrap(), "401");
}

/// New connections get the certificate that the files hold, the others go on; what does not fit together changes nothing.
/// The same with the authority of clients.
#[tokio::test]
async fn files_are_read_again_without_a_restart() {
    let folder = Folder::new("reload");
    let first = folder.renew();
    let authority = Authority::new("Harbor");
    std::fs::write(folder.0.join("ca.pem"), authority.pem()).unwrap();
    let tls = folder.tls().client_ca(folder.0.join("ca.pem")).unwrap().interval(Duration::from_millis(5));
    let running = serve(tls, None).await;
    let papers = || Some(authority.issue("ada", true));
    assert_eq!(ask(&running, &first, papers(), &[]).await.unwrap(), "ada by mtls");
    // Half a change: a certificate whose key is not there yet.
    let key = std::fs::read(folder.0.join("key.pem")).unwrap();
    let second = folder.renew();
    let new_key = std::fs::read(folder.0.join("key.pem")).unwrap();
    std::fs::write(folder.0.join("key.pem"), &key).unwrap();
    for _ in 0..20 {
        // Either the old one is still there, or, for a moment, both new files were.
        let (old, new) = (ask(&running, &first, papers(), &[]).await, ask(&running, &second, papers(), &[]).await);
        assert!(old.is_ok() || new.is_ok(), "{old:?} {new:?}");
    }
    std::fs::write(folder.0.join("key.pem"), &new_key).unwrap();
    let changed = async {
        while ask(&running, &second, papers(), &[]).await.is_err() {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), changed).await.expect("the new certificate");
    ask(&running, &first, papers(), &[]).await.unwrap_err();
    // Another authority.
    let other = Authority::new("Other harbor");
    std::fs::write(folder.0.join("ca.pem"), other.pem()).unwrap();
    let changed = async {
        while ask(&running, &second, Some(other.issue("bob", true)), &[]).await != Ok("bob by mtls".to_owned()) {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), changed).await.expect("the new authority");
    ask(&running, &second, papers(), &[]).await.unwrap_err();
}

/// V10-SEC-002: whoever offers nothing newer than TLS 1.1 gets an alert, and no connection.
#[tokio::test]
async fn old_versions_of_tls_are_refused() {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    let server = Sealed::start("old").await;
    for version in [1_u8, 2] {
        // A hello of TLS 1.0 or 1.1 with one cipher suite, no compression and no extensions.
        let hello = [&[3, version][..], &[7; 32], &[0, 0, 2, 0xc0, 0x14, 1, 0]].concat();
        let length = u8::try_from(hello.len()).unwrap();
        let record = [&[22, 3, 1, 0, length + 4, 1, 0, 0, length][..], &hello].concat();
        let mut stream = tokio::net::TcpStream::connect(server.running.local_addr()).await.unwrap();
        stream.write_all(&record).await.unwrap();
        let mut answer = Vec::new();
        drop(stream.read_to_end(&mut answer).await);
        // An alert that is fatal.
        assert_eq!((answer.first(), answer.get(5)), (Some(&21), Some(&2)), "{answer:?}");
    }
}
