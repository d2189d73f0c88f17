//! A webhook, with what it got.

use std::{
    convert::Infallible,
    net::{IpAddr, SocketAddr},
    sync::{Arc, Mutex},
};

use aws_lc_rs::signature::{ED25519, UnparsedPublicKey};
use base64::{
    Engine as _,
    prelude::{BASE64_STANDARD, BASE64_URL_SAFE_NO_PAD},
};
use bytes::Bytes;
use http::{HeaderMap, Response};
use http_body_util::{BodyExt, Empty};
use hyper::{server::conn::http1, service::service_fn};
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::{
    net::{TcpListener, TcpSocket},
    task::{JoinHandle, JoinSet},
};

/// A notification as it arrived, and how it was answered.
#[derive(Debug, Clone)]
pub(crate) struct Received {
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
    /// `None` when it got no answer.
    pub(crate) status: Option<u16>,
}

impl Received {
    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap())
    }

    pub(crate) fn id(&self) -> &str {
        self.header("webhook-id")
    }

    /// The place of the event in its task's log, which the id tells.
    pub(crate) fn place(&self) -> u64 {
        self.id().rsplit('.').nth(1).unwrap().parse().unwrap()
    }

    pub(crate) fn event(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap()
    }

    pub(crate) fn accepted(&self) -> bool {
        self.status == Some(200)
    }

    /// Checks the signature as `docs/guide/push.md` says.
    pub(crate) fn is_signed(&self, jwks: &Value) -> bool {
        let x = BASE64_URL_SAFE_NO_PAD.decode(jwks["keys"][0]["x"].as_str().unwrap()).unwrap();
        let mut content = format!("{}.{}.", self.id(), self.header("webhook-timestamp")).into_bytes();
        content.extend_from_slice(&self.body);
        let signature = self.header("webhook-signature").strip_prefix("v1a,").unwrap();
        UnparsedPublicKey::new(&ED25519, x).verify(&content, &BASE64_STANDARD.decode(signature).unwrap()).is_ok()
    }
}

/// What to answer to the notification with this number, counted from 0; `None` for nothing at all.
pub(crate) type Script = fn(usize) -> Option<u16>;

/// What arrived at all receivers that share it.
#[derive(Clone, Default)]
pub(crate) struct Mailbox {
    received: Arc<Mutex<Vec<Received>>>,
    called: Arc<Mutex<Vec<IpAddr>>>,
}

impl Mailbox {
    pub(crate) fn received(&self) -> Vec<Received> {
        self.received.lock().unwrap().clone()
    }

    /// Which of our addresses each connection was made to.
    pub(crate) fn called(&self) -> Vec<IpAddr> {
        self.called.lock().unwrap().clone()
    }
}

/// An HTTP server.
pub(crate) struct Receiver {
    pub(crate) address: SocketAddr,
    accepting: JoinHandle<()>,
}

impl Receiver {
    pub(crate) fn open(address: SocketAddr, mailbox: &Mailbox, script: Script) -> Self {
        let socket = if address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }.unwrap();
        socket.set_reuseaddr(true).unwrap();
        socket.bind(address).unwrap();
        let listener = socket.listen(64).unwrap();
        let address = listener.local_addr().unwrap();
        let accepting = tokio::spawn(accept(listener, mailbox.clone(), script));
        Self { address, accepting }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}/hook", self.address)
    }

    /// Closes its port and all connections.
    pub(crate) async fn close(mut self) {
        self.accepting.abort();
        assert!((&mut self.accepting).await.unwrap_err().is_cancelled());
    }
}

impl Drop for Receiver {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

async fn accept(listener: TcpListener, mailbox: Mailbox, script: Script) {
    let mut connections = JoinSet::new();
    loop {
        let (stream, _) = listener.accept().await.unwrap();
        mailbox.called.lock().unwrap().push(stream.local_addr().unwrap().ip().to_canonical());
        let mailbox = mailbox.clone();
        connections.spawn(async move {
            let service = service_fn(move |request| answer(request, mailbox.clone(), script));
            // A server that is killed while it calls is what the trial is about.
            drop(http1::Builder::new().serve_connection(TokioIo::new(stream), service).await);
        });
    }
}

async fn answer(
    request: http::Request<hyper::body::Incoming>,
    mailbox: Mailbox,
    script: Script,
) -> Result<Response<Empty<Bytes>>, Infallible> {
    let (head, body) = request.into_parts();
    // A request whose sender died half way was never made.
    let Ok(body) = body.collect().await else { return std::future::pending().await };
    let status = {
        let mut received = mailbox.received.lock().unwrap();
        let status = script(received.len());
        received.push(Received { headers: head.headers, body: body.to_bytes(), status });
        status
    };
    match status {
        Some(status) => Ok(Response::builder().status(status).body(Empty::new()).unwrap()),
        None => std::future::pending().await,
    }
}
