//! The HTTP side of a webhook: takes requests one after the other, and answers as it is told.

use std::{convert::Infallible, net::SocketAddr, time::Duration};

use bytes::Bytes;
use http::{HeaderMap, Method, Request, Response, StatusCode};
use http_body_util::{BodyExt as _, Empty, Limited};
use hyper::{body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::{
    net::TcpListener,
    sync::{mpsc, oneshot},
    task::JoinSet,
};

use crate::trouble::Trouble;

/// The largest notification.
const LIMIT: usize = 32 * 1_024 * 1_024;
/// How long a sender may take for its head.
const PATIENCE: Duration = Duration::from_secs(15);

/// A request that waits for its answer.
#[derive(Debug)]
pub(super) struct Arrival {
    pub(super) path: String,
    pub(super) headers: HeaderMap,
    pub(super) body: Bytes,
    answer: oneshot::Sender<StatusCode>,
}

impl Arrival {
    /// Answers; a sender that has gone comes again.
    pub(super) fn answer(self, status: StatusCode) {
        if self.answer.send(status).is_err() {
            tracing::debug!("a sender did not wait for its answer");
        }
    }
}

/// A port that is listened on, until this is dropped.
#[derive(Debug)]
pub(super) struct Hook {
    pub(super) address: SocketAddr,
    arrivals: mpsc::Receiver<Arrival>,
    work: JoinSet<()>,
}

impl Hook {
    pub(super) async fn open(address: &str) -> Result<Self, Trouble> {
        let wrong = |error: std::io::Error| Trouble::own("PORT", format!("{address} cannot be listened on: {error}"));
        let listener = TcpListener::bind(address).await.map_err(|error| wrong(error).hint("--listen 127.0.0.1:0 takes a free port"))?;
        let address = listener.local_addr().map_err(wrong)?;
        let (sender, arrivals) = mpsc::channel(1);
        let mut work = JoinSet::new();
        work.spawn(accept(listener, sender));
        Ok(Self { address, arrivals, work })
    }

    /// The next request.
    pub(super) async fn next(&mut self) -> Option<Arrival> {
        self.arrivals.recv().await
    }

    /// Takes no more requests, and lets those that were answered hear their answer.
    pub(super) async fn close(mut self) {
        self.arrivals.close();
        // The answer of the last request is on its way.
        drop(tokio::time::timeout(Duration::from_millis(200), async { while self.work.join_next().await.is_some() {} }).await);
    }
}

async fn accept(listener: TcpListener, sender: mpsc::Sender<Arrival>) {
    let mut connections = JoinSet::new();
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            Some(_) = connections.join_next() => continue,
            () = sender.closed() => break,
        };
        // Too many open files, most likely: it passes, and the sender comes again.
        let Ok((stream, _)) = accepted else {
            tokio::time::sleep(Duration::from_millis(100)).await;
            continue;
        };
        let sender = sender.clone();
        connections.spawn(async move {
            let service = service_fn(move |request| {
                let sender = sender.clone();
                async move { Ok::<_, Infallible>(answer(&sender, request).await) }
            });
            let mut server = http1::Builder::new();
            server.timer(TokioTimer::new()).header_read_timeout(PATIENCE);
            // A sender that hangs up comes again.
            drop(server.serve_connection(TokioIo::new(stream), service).await);
        });
    }
    while connections.join_next().await.is_some() {}
}

async fn answer(sender: &mpsc::Sender<Arrival>, request: Request<Incoming>) -> Response<Empty<Bytes>> {
    let status = take(sender, request).await.unwrap_or_else(|status| status);
    let mut response = Response::new(Empty::new());
    *response.status_mut() = status;
    response
}

async fn take(sender: &mpsc::Sender<Arrival>, request: Request<Incoming>) -> Result<StatusCode, StatusCode> {
    if request.method() != Method::POST {
        return Err(StatusCode::METHOD_NOT_ALLOWED);
    }
    let (head, body) = request.into_parts();
    let body = Limited::new(body, LIMIT).collect().await.map_err(|_| StatusCode::PAYLOAD_TOO_LARGE)?.to_bytes();
    let (answer, answered) = oneshot::channel();
    let arrival = Arrival { path: head.uri.path().to_owned(), headers: head.headers, body, answer };
    // Nobody listens any more: the sender keeps it.
    sender.send(arrival).await.map_err(|_| StatusCode::SERVICE_UNAVAILABLE)?;
    answered.await.map_err(|_| StatusCode::SERVICE_UNAVAILABLE)
}
