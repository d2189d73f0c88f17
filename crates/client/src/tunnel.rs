//! Connections for gRPC, by way of the proxy that the environment names.
//!
//! HTTP has this from its client library. Here a proxy is asked for a tunnel (`CONNECT`) in either case:
//! for `https` the one of `HTTPS_PROXY`, for `http` the one of `HTTP_PROXY`, else that of `ALL_PROXY`,
//! unless `NO_PROXY` names the host. The proxy itself is spoken to without TLS.

use std::{
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

/// Makes connections.
#[derive(Clone)]
pub(crate) struct Connector {
    tcp: HttpConnector,
    proxies: Arc<Matcher>,
}

impl Connector {
    pub(crate) fn new() -> Self {
        let mut tcp = HttpConnector::new();
        tcp.enforce_http(false);
        tcp.set_nodelay(true);
        Self { tcp, proxies: Arc::new(Matcher::from_env()) }
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
