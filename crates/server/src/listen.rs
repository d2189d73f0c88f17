//! Connections: accepted, watched, closed.

use std::{
    io,
    net::SocketAddr,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use hyper::service::service_fn;
use hyper_util::{
    rt::{TokioExecutor, TokioIo, TokioTimer},
    server::{conn::auto, graceful::GracefulShutdown},
};
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::{TcpListener, TcpSocket, TcpStream},
    sync::Semaphore,
    time::Sleep,
};
use tokio_util::sync::CancellationToken;

use crate::doors::Doors;

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
pub(crate) async fn serve(
    listener: TcpListener,
    tls: Option<tokio_rustls::TlsAcceptor>,
    doors: Doors,
    stop: CancellationToken,
    grace: Duration,
) {
    let builder = Arc::new(builder(&doors));
    let graceful = GracefulShutdown::new();
    let seats = Arc::new(Semaphore::new(doors.inner().limits.connections));
    let tracker = tokio_util::task::TaskTracker::new();
    loop {
        // The semaphore is never closed.
        let Ok(seat) = seats.clone().acquire_owned().await else { break };
        let (stream, peer) = tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok(accepted) => accepted,
                Err(error) => {
                    tracing::warn!(%error, "no connection can be accepted");
                    tokio::time::sleep(ACCEPT_PAUSE).await;
                    continue;
                }
            },
            () = stop.cancelled() => break,
        };
        doors.inner().meter.connected();
        // Without this the first event of a stream waits for an acknowledgement.
        if let Err(error) = stream.set_nodelay(true) {
            tracing::debug!(%error, "a connection was gone at once");
            continue;
        }
        let (builder, doors, watcher, tls) = (builder.clone(), doors.clone(), graceful.watcher(), tls.clone());
        let stall = doors.inner().limits.stall_time;
        tracker.spawn(Box::pin(async move {
            let _seat = seat;
            let stream = Stalling::new(stream, stall);
            let service = service_fn(move |request| {
                let doors = doors.clone();
                async move { Ok::<_, std::convert::Infallible>(doors.handle(request, Some(peer.ip())).await) }
            });
            let served = match tls {
                None => watcher.watch(builder.serve_connection(TokioIo::new(stream), service)).await,
                Some(tls) => match tokio::time::timeout(HANDSHAKE_TIME, tls.accept(stream)).await {
                    Ok(Ok(stream)) => watcher.watch(builder.serve_connection(TokioIo::new(stream), service)).await,
                    Ok(Err(error)) => return tracing::debug!(%error, "no agreement on TLS"),
                    Err(_) => return tracing::debug!("no agreement on TLS in time"),
                },
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

fn builder(doors: &Doors) -> auto::Builder<TokioExecutor> {
    let limits = &doors.inner().limits;
    let mut builder = auto::Builder::new(TokioExecutor::new());
    builder.http1().timer(TokioTimer::new()).header_read_timeout(limits.header_time).max_headers(HEADERS).max_buf_size(BUFFER);
    builder
        .http2()
        .timer(TokioTimer::new())
        .max_concurrent_streams(HTTP2_STREAMS)
        .max_header_list_size(u32::try_from(BUFFER).unwrap_or(u32::MAX))
        .keep_alive_interval(Some(Duration::from_secs(30)))
        .keep_alive_timeout(limits.stall_time);
    builder
}

/// A connection whose peer must read in time.
struct Stalling {
    stream: TcpStream,
    limit: Duration,
    /// Runs while the peer takes nothing.
    patience: Option<Pin<Box<Sleep>>>,
}

impl Stalling {
    fn new(stream: TcpStream, limit: Duration) -> Self {
        Self { stream, limit, patience: None }
    }

    fn watch<T>(&mut self, cx: &mut Context<'_>, written: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        if written.is_ready() {
            self.patience = None;
            return written;
        }
        let patience = self.patience.get_or_insert_with(|| Box::pin(tokio::time::sleep(self.limit)));
        match patience.as_mut().poll(cx) {
            Poll::Ready(()) => Poll::Ready(Err(io::Error::new(io::ErrorKind::TimedOut, "the peer does not read"))),
            Poll::Pending => Poll::Pending,
        }
    }
}

impl AsyncRead for Stalling {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buffer)
    }
}

impl AsyncWrite for Stalling {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(cx, bytes);
        self.watch(cx, written)
    }

    fn poll_write_vectored(mut self: Pin<&mut Self>, cx: &mut Context<'_>, slices: &[io::IoSlice<'_>]) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(cx, slices);
        self.watch(cx, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
