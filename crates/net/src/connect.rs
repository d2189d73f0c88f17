//! TCP connector for gRPC: behind the SSRF guard, or by way of the HTTP proxy that the environment names.
//!
//! HTTP has this from its client library. Here a proxy is asked for a tunnel (`CONNECT`) in either case:
//! for `https` the one of `HTTPS_PROXY`, for `http` the one of `HTTP_PROXY`, else that of `ALL_PROXY`,
//! unless `NO_PROXY` names the host. The proxy itself is spoken to without TLS.

use std::{
    fmt,
    future::Future,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use chancery_core::BoxError;
use http::Uri;
use hyper_util::{
    client::{
        legacy::connect::{HttpConnector, proxy::Tunnel},
        proxy::matcher::Matcher,
    },
    rt::TokioIo,
};
use tokio::net::TcpStream;
use tower_service::Service;
use url::Url;

use crate::{Guard, Reach};

/// Makes TCP connections, as a `tower` service of URIs.
#[derive(Clone)]
pub struct Connector {
    tcp: HttpConnector,
    proxies: Arc<Matcher>,
    guard: Option<Guard>,
}

impl Connector {
    /// Through the proxies that the environment names; with a guard, straight to the addresses that it lets through.
    #[must_use]
    pub fn new(reach: Reach) -> Self {
        let guard = match reach {
            Reach::Guarded(guard) => Some(guard),
            Reach::Trusted => None,
        };
        Self { guard, ..Self::through(Matcher::from_env()) }
    }

    fn through(proxies: Matcher) -> Self {
        let mut tcp = HttpConnector::new();
        tcp.enforce_http(false);
        tcp.set_nodelay(true);
        Self { tcp, proxies: Arc::new(proxies), guard: None }
    }
}

impl fmt::Debug for Connector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connector").field("guard", &self.guard).finish_non_exhaustive()
    }
}

impl Service<Uri> for Connector {
    type Response = TokioIo<TcpStream>;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, BoxError>> + Send>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.tcp.poll_ready(cx).map_err(Into::into)
    }

    fn call(&mut self, target: Uri) -> Self::Future {
        if let Some(guard) = self.guard.clone() {
            return Box::pin(async move {
                let addresses = guard.resolve(&Url::parse(&target.to_string())?).await?;
                let connection = TcpStream::connect(addresses.as_slice()).await?;
                connection.set_nodelay(true)?;
                Ok(TokioIo::new(connection))
            });
        }
        let Some(proxy) = self.proxies.intercept(&target) else {
            let connecting = self.tcp.call(target);
            return Box::pin(async move { connecting.await.map_err(Into::into) });
        };
        if proxy.uri().scheme_str() != Some("http") {
            return Box::pin(std::future::ready(Err("gRPC goes through HTTP proxies only".into())));
        }
        let mut tunnel = Tunnel::new(proxy.uri().clone(), self.tcp.clone());
        if let Some(auth) = proxy.basic_auth() {
            tunnel = tunnel.with_auth(auth.clone());
        }
        // Without a port, a tunnel leads to 443, whatever the scheme.
        let target = with_port(target);
        Box::pin(async move {
            std::future::poll_fn(|cx| tunnel.poll_ready(cx)).await?;
            tunnel.call(target?).await.map_err(Into::into)
        })
    }
}

fn with_port(target: Uri) -> Result<Uri, BoxError> {
    if target.port().is_some() || target.scheme_str() != Some("http") {
        return Ok(target);
    }
    let host = target.host().unwrap_or_default();
    Ok(Uri::try_from(format!("http://{host}:80"))?)
}

#[cfg(test)]
mod tests {
    use tokio::{
        io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader},
        net::TcpListener,
    };

    use super::*;

    /// A proxy that answers one request for a tunnel, says what it was asked, and repeats what comes through the tunnel.
    async fn proxy(answer: &'static str) -> (String, tokio::task::JoinHandle<Vec<String>>) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let at = listener.local_addr().unwrap().to_string();
        let asked = tokio::spawn(async move {
            let (peer, _) = listener.accept().await.unwrap();
            let mut peer = BufReader::new(peer);
            let mut lines = Vec::new();
            loop {
                let mut line = String::new();
                peer.read_line(&mut line).await.unwrap();
                if line.trim().is_empty() {
                    break;
                }
                lines.push(line.trim().to_owned());
            }
            peer.write_all(answer.as_bytes()).await.unwrap();
            let mut words = [0; 5];
            if peer.read_exact(&mut words).await.is_ok() {
                peer.write_all(&words).await.unwrap();
            }
            lines
        });
        (at, asked)
    }

    #[tokio::test]
    async fn a_proxy_is_asked_for_a_tunnel() {
        for (target, expected) in [("https://agent.example", "agent.example:443"), ("http://agent.example", "agent.example:80")] {
            let (at, asked) = proxy("HTTP/1.1 200 OK\r\n\r\n").await;
            let mut connector = Connector::through(Matcher::builder().all(format!("http://ada:secret@{at}")).no("other.example").build());
            let mut there = connector.call(target.parse().unwrap()).await.unwrap().into_inner();
            there.write_all(b"hello").await.unwrap();
            let mut words = String::new();
            there.read_to_string(&mut words).await.unwrap();
            let asked = asked.await.unwrap();
            assert_eq!((asked[0].as_str(), words.as_str()), (format!("CONNECT {expected} HTTP/1.1").as_str(), "hello"));
            assert!(asked.contains(&"Proxy-Authorization: Basic YWRhOnNlY3JldA==".to_owned()), "{asked:?}");
        }
    }

    #[tokio::test]
    async fn a_proxy_that_refuses_is_an_error_and_an_exempt_host_is_reached_directly() {
        let (at, _asked) = proxy("HTTP/1.1 403 Forbidden\r\n\r\n").await;
        let mut connector = Connector::through(Matcher::builder().all(format!("http://{at}")).no("127.0.0.1").build());
        assert!(connector.call("https://agent.example".parse().unwrap()).await.is_err());
        let direct = TcpListener::bind("127.0.0.1:0").await.unwrap();
        connector.call(format!("http://{}", direct.local_addr().unwrap()).parse().unwrap()).await.unwrap();
        let mut socks = Connector::through(Matcher::builder().all("socks5://127.0.0.1:9").build());
        assert!(socks.call("https://agent.example".parse().unwrap()).await.is_err());
    }
}
