//! A receiver on a port of its own.

use std::{convert::Infallible, net::SocketAddr, time::Duration};

use chancery_core::{Error, Result};
use http::{Method, Request, Response, StatusCode};
use http_body_util::{BodyExt, Empty, Limited};
use hyper::{body::Incoming, service::service_fn};
use hyper_util::{
    rt::{TokioExecutor, TokioIo, TokioTimer},
    server::conn::auto,
};
use tokio::{
    net::{TcpListener, ToSocketAddrs},
    sync::mpsc,
    task::JoinSet,
};

use super::{Notification, Receiver, Rejection};

/// How many notifications wait to be taken; then their senders wait.
const WAITING: usize = 64;
/// How long a sender may take for its request, and its request for a place in the queue. Senders wait
/// 20 seconds or more.
const PATIENCE: Duration = Duration::from_secs(15);

/// A receiver at work. It stops when this is dropped.
#[derive(Debug)]
pub struct Listening {
    address: SocketAddr,
    arrivals: mpsc::Receiver<Result<Notification, Rejection>>,
    /// The task that accepts connections, and owns theirs.
    _work: JoinSet<()>,
}

impl Receiver {
    /// Listens on a port, without TLS: put a proxy in front of it where others may listen too. Every path is
    /// taken for the webhook's.
    ///
    /// # Errors
    /// When the address cannot be listened on.
    pub async fn listen(&self, address: impl ToSocketAddrs) -> Result<Listening> {
        let listener = TcpListener::bind(address).await.map_err(Error::internal)?;
        let address = listener.local_addr().map_err(Error::internal)?;
        let (sender, arrivals) = mpsc::channel(WAITING);
        let mut work = JoinSet::new();
        work.spawn(accept(listener, self.clone(), sender));
        Ok(Listening { address, arrivals, _work: work })
    }
}

impl Listening {
    /// The port that is listened on.
    #[must_use]
    pub fn local_addr(&self) -> SocketAddr {
        self.address
    }

    /// The address to register, as seen from this machine.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}/", self.address)
    }

    /// The next notification, each once.
    pub async fn next(&mut self) -> Option<Notification> {
        loop {
            match self.arrival().await? {
                Ok(notification) if !notification.duplicate => return Some(notification),
                _ => {}
            }
        }
    }

    /// The next thing that comes: also what was here before, and what is refused.
    pub async fn arrival(&mut self) -> Option<Result<Notification, Rejection>> {
        self.arrivals.recv().await
    }
}

async fn accept(listener: TcpListener, receiver: Receiver, sender: mpsc::Sender<Result<Notification, Rejection>>) {
    let mut connections = JoinSet::new();
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            Some(_) = connections.join_next() => continue,
        };
        let stream = match accepted {
            Ok((stream, _)) => stream,
            Err(error) => {
                // Too many open files, most likely: it passes.
                tracing::warn!(%error, "a connection could not be accepted");
                tokio::time::sleep(Duration::from_millis(100)).await;
                continue;
            }
        };
        let (receiver, sender) = (receiver.clone(), sender.clone());
        connections.spawn(async move {
            let service = service_fn(move |request| {
                let (receiver, sender) = (receiver.clone(), sender.clone());
                async move { Ok::<_, Infallible>(answer(&receiver, &sender, request).await) }
            });
            let mut server = auto::Builder::new(TokioExecutor::new());
            server.http1().timer(TokioTimer::new()).header_read_timeout(PATIENCE);
            server.http2().timer(TokioTimer::new());
            if let Err(error) = server.serve_connection(TokioIo::new(stream), service).await {
                tracing::debug!(error, "a connection of a sender broke");
            }
        });
    }
}

async fn answer(
    receiver: &Receiver,
    sender: &mpsc::Sender<Result<Notification, Rejection>>,
    request: Request<Incoming>,
) -> Response<Empty<bytes::Bytes>> {
    let taking = Box::pin(take(receiver, sender, request));
    let status = tokio::time::timeout(PATIENCE, taking).await.unwrap_or(StatusCode::SERVICE_UNAVAILABLE);
    let mut response = Response::new(Empty::new());
    *response.status_mut() = status;
    response
}

async fn take(receiver: &Receiver, sender: &mpsc::Sender<Result<Notification, Rejection>>, request: Request<Incoming>) -> StatusCode {
    let checked = match read(receiver, request).await {
        Ok((headers, body)) => receiver.check(&headers, &body).await,
        Err(rejection) => Err(rejection),
    };
    let mut notification = match checked {
        Ok(notification) => notification,
        Err(rejection) => {
            let status = rejection.status();
            // What strangers send must not keep others waiting: where there is no place for it, it is not shown.
            drop(sender.try_send(Err(rejection)));
            return status;
        }
    };
    // Nothing is noted before there is a place for it: whoever gives up here comes again.
    let Ok(place) = sender.reserve().await else { return Rejection::Closed.status() };
    notification.duplicate |= !receiver.note(&notification);
    place.send(Ok(notification));
    StatusCode::NO_CONTENT
}

async fn read(receiver: &Receiver, request: Request<Incoming>) -> Result<(http::HeaderMap, bytes::Bytes), Rejection> {
    if request.method() != Method::POST {
        return Err(Rejection::Method);
    }
    let (head, body) = request.into_parts();
    let body = Limited::new(body, receiver.0.limit).collect().await.map_err(|_| Rejection::TooLarge)?;
    Ok((head.headers, body.to_bytes()))
}
