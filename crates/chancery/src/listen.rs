//! Listener: accepts connections, serves HTTP on them, and closes them on shutdown.

use std::{io, net::SocketAddr, sync::Arc, time::Duration};

use chancery_server::{Router, auth::PeerCertificate};
use hyper::{
    server::conn::{http1, http2},
    service::service_fn,
};
use hyper_util::{
    rt::{TokioExecutor, TokioIo, TokioTimer},
    server::{conn::auto, graceful::GracefulShutdown},
};
use tokio::{
    net::{TcpListener, TcpSocket, TcpStream},
    sync::Semaphore,
};
use tokio_util::sync::CancellationToken;

use crate::{
    future_pool::FuturePool,
    timeouts::{HeaderTimer, WriteTimeout},
    tls::Tls,
};

/// How many connections may wait to be accepted: a burst of clients is not sent away.
const BACKLOG: u32 = 4_096;
/// How long to wait when no connection can be accepted, for want of file descriptors for instance.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);
/// The size of all headers together, and of one piece of a body.
const BUFFER: usize = 16 * 1_024;
const HEADERS: usize = 100;
const HTTP2_STREAMS: u32 = 200;
/// How long a client may take to agree on TLS.
const HANDSHAKE_TIME: Duration = Duration::from_secs(10);

/// Listens on an address.
pub(crate) fn bind(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
    // A server that was killed starts again at once, although old connections linger.
    #[cfg(unix)]
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}

/// Accepts connections until `stop`, then lets answers finish for `grace`.
pub(crate) async fn serve(listener: TcpListener, tls: Option<Tls>, router: Router, stop: CancellationToken, grace: Duration) {
    let protocols = Arc::new(Protocols::new(&router));
    let graceful = GracefulShutdown::new();
    let slots = Arc::new(Semaphore::new(router.limits().connections));
    let pool = FuturePool::new();
    let tracker = tokio_util::task::TaskTracker::new();
    loop {
        // The semaphore is never closed.
        let Ok(slot) = slots.clone().acquire_owned().await else { break };
        let accepted = tokio::select! {
            accepted = accept(&listener) => accepted,
            () = stop.cancelled() => break,
        };
        let Some((stream, peer)) = accepted else { continue };
        router.count_connection();
        let (protocols, router, pool, watcher, stop) = (protocols.clone(), router.clone(), pool.clone(), graceful.watcher(), stop.clone());
        let tls = tls.as_ref().map(Tls::acceptor);
        let (write_time, header_time) = (router.limits().stall_time, router.limits().header_time);
        tracker.spawn(Box::pin(async move {
            let _slot = slot;
            let service = |certificate: Option<PeerCertificate>| {
                service_fn(move |mut request: http::Request<hyper::body::Incoming>| {
                    if let Some(certificate) = &certificate {
                        request.extensions_mut().insert(certificate.clone());
                    }
                    pool.put(router.handle(request, Some(peer.ip())))
                })
            };
            let served = match tls {
                None => {
                    let spoken = tokio::select! {
                        spoken = tokio::time::timeout(header_time, speaks_http2(&stream)) => spoken,
                        () = stop.cancelled() => return,
                    };
                    let io = TokioIo::new(WriteTimeout::new(stream, write_time));
                    match spoken {
                        Ok(Ok(false)) => {
                            let mut http1 = protocols.http1.clone();
                            watcher.watch(http1.timer(HeaderTimer::default()).serve_connection(io, service(None))).await.map_err(Into::into)
                        }
                        Ok(Ok(true)) => {
                            let connection = protocols.http2.serve_connection(io, service(None));
                            Box::pin(watcher.watch(connection)).await.map_err(Into::into)
                        }
                        Ok(Err(error)) => return tracing::debug!(%error, "a connection was gone at once"),
                        Err(_) => return tracing::debug!("a connection said nothing in time"),
                    }
                }
                // In a box, so that connections without TLS have no room for it.
                Some(tls) => {
                    let secured = Box::pin(async move {
                        match tokio::time::timeout(HANDSHAKE_TIME, tls.accept(WriteTimeout::new(stream, write_time))).await {
                            Ok(Ok(stream)) => {
                                // The first one is the client's own.
                                let shown = stream.get_ref().1.peer_certificates().and_then(<[_]>::first);
                                let service = service(shown.map(|shown| PeerCertificate::new(shown.to_vec())));
                                watcher.watch(protocols.either.serve_connection(TokioIo::new(stream), service)).await
                            }
                            Ok(Err(error)) => Err(error.into()),
                            Err(late) => Err(late.into()),
                        }
                    });
                    secured.await
                }
            };
            if let Err(error) = served {
                tracing::debug!(error, "a connection broke");
            }
        }));
    }
    drop(listener);
    tracker.close();
    if tokio::time::timeout(grace, graceful.shutdown()).await.is_err() {
        tracing::warn!("some answers did not finish in time");
    }
}

/// The next connection; `None` when there was none to be had, or it was gone at once.
async fn accept(listener: &TcpListener) -> Option<(TcpStream, SocketAddr)> {
    match listener.accept().await {
        // Without this the first event of a stream waits for an acknowledgement.
        Ok((stream, peer)) => match stream.set_nodelay(true) {
            Ok(()) => Some((stream, peer)),
            Err(error) => {
                tracing::debug!(%error, "a connection was gone at once");
                None
            }
        },
        Err(error) => {
            tracing::warn!(%error, "no connection can be accepted");
            tokio::time::sleep(ACCEPT_PAUSE).await;
            None
        }
    }
}

/// What a connection may speak. Who knows it beforehand need not read the first bytes twice, which costs a
/// connection half of its memory.
struct Protocols {
    http1: http1::Builder,
    http2: http2::Builder<TokioExecutor>,
    either: auto::Builder<TokioExecutor>,
}

impl Protocols {
    fn new(router: &Router) -> Self {
        let limits = router.limits();
        let headers = u32::try_from(BUFFER).unwrap_or(u32::MAX);
        // The builders are of different types that can be told the same.
        macro_rules! tell {
            ($http1:expr, $http2:expr) => {
                $http1.timer(TokioTimer::new()).header_read_timeout(limits.header_time).max_headers(HEADERS).max_buf_size(BUFFER);
                $http2
                    .timer(TokioTimer::new())
                    .max_concurrent_streams(HTTP2_STREAMS)
                    .max_header_list_size(headers)
                    .keep_alive_interval(Some(Duration::from_secs(30)))
                    .keep_alive_timeout(limits.stall_time);
            };
        }
        let (mut http1, mut http2) = (http1::Builder::new(), http2::Builder::new(TokioExecutor::new()));
        tell!(http1, http2);
        let mut either = auto::Builder::new(TokioExecutor::new());
        tell!(either.http1(), either.http2());
        Self { http1, http2, either }
    }
}

/// Whether a connection begins as one of HTTP/2 does. Nothing is taken from it.
async fn speaks_http2(stream: &TcpStream) -> io::Result<bool> {
    /// No method of HTTP/1 begins like this.
    const PREFACE: &[u8] = b"PRI ";
    /// How long to wait for the rest of a beginning that means nothing yet: it wakes nobody.
    const PAUSE: Duration = Duration::from_millis(5);
    let mut seen = [0; PREFACE.len()];
    loop {
        let count = stream.peek(&mut seen).await?;
        if count == PREFACE.len() || count == 0 || seen[..count] != PREFACE[..count] {
            return Ok(seen == *PREFACE);
        }
        tokio::time::sleep(PAUSE).await;
    }
}
