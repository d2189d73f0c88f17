//! The port behind TLS: HTTP/1.1 and HTTP/2, agreed on by ALPN.

use std::{path::PathBuf, sync::Arc};

use bytes::Bytes;
use chancery_core::Card;
use chancery_engine::{Failure, Outcome, Turn, store::Memory};
use chancery_server::{Running, Server, Tls};
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
        let echo = |turn: Turn| async move { Ok::<_, Failure>(Outcome::reply(turn.text())) };
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
