//! Timeouts of a connection: for the header of a request, and for an answer to be read.

use std::{
    io,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::{Duration, Instant},
};

use chancery_core::sync::Mutex;
use hyper::rt::Timer;
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::TcpStream,
    time::{self, Sleep},
};

/// Write timeout: a connection whose peer must read in time.
pub(crate) struct WriteTimeout {
    stream: TcpStream,
    limit: Duration,
    /// Runs while the peer takes nothing.
    sleep: Option<Pin<Box<Sleep>>>,
}

impl WriteTimeout {
    pub(crate) fn new(stream: TcpStream, limit: Duration) -> Self {
        Self { stream, limit, sleep: None }
    }

    fn watch<T>(&mut self, cx: &mut Context<'_>, written: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        if written.is_ready() {
            self.sleep = None;
            return written;
        }
        let sleep = self.sleep.get_or_insert_with(|| Box::pin(tokio::time::sleep(self.limit)));
        match sleep.as_mut().poll(cx) {
            Poll::Ready(()) => Poll::Ready(Err(io::Error::new(io::ErrorKind::TimedOut, "the peer does not read"))),
            Poll::Pending => Poll::Pending,
        }
    }
}

impl AsyncRead for WriteTimeout {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buffer)
    }
}

impl AsyncWrite for WriteTimeout {
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

/// Header timeout: runs while a connection waits for the header of a request.
///
/// Every request is waited for, and nearly every one comes in time. So the alarm of one wait is left to ring during a later one,
/// which then sets it anew: a busy connection sets it once in as long as a wait may last, not with every request.
#[derive(Clone, Default)]
pub(crate) struct HeaderTimer(Arc<Mutex<Option<Pin<Box<Sleep>>>>>);

/// One wait.
struct Wait {
    timer: HeaderTimer,
    deadline: time::Instant,
}

impl Timer for HeaderTimer {
    fn sleep(&self, duration: Duration) -> Pin<Box<dyn hyper::rt::Sleep>> {
        self.sleep_until(self.now() + duration)
    }

    fn sleep_until(&self, deadline: Instant) -> Pin<Box<dyn hyper::rt::Sleep>> {
        Box::pin(Wait { timer: self.clone(), deadline: deadline.into() })
    }

    fn now(&self) -> Instant {
        time::Instant::now().into()
    }
}

impl hyper::rt::Sleep for Wait {}

impl Future for Wait {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let mut alarm = self.timer.0.lock();
        match &mut *alarm {
            // It rings for the same connection, and early enough to look again.
            Some(alarm) if !alarm.is_elapsed() && alarm.deadline() <= self.deadline => Poll::Pending,
            Some(alarm) => {
                alarm.as_mut().reset(self.deadline);
                alarm.as_mut().poll(cx)
            }
            None => alarm.insert(Box::pin(time::sleep_until(self.deadline))).as_mut().poll(cx),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WAIT: Duration = Duration::from_secs(10);

    /// A request that comes after so many seconds.
    async fn in_time(timer: &HeaderTimer, seconds: u64) {
        assert!(time::timeout(Duration::from_secs(seconds), timer.sleep(WAIT)).await.is_err());
    }

    #[tokio::test(start_paused = true)]
    async fn a_wait_ends_at_its_own_time_whatever_came_before_it() {
        let (timer, begun) = (HeaderTimer::default(), time::Instant::now());
        for seconds in [1, 9, 5] {
            in_time(&timer, seconds).await;
        }
        timer.sleep(WAIT).await;
        assert_eq!(begun.elapsed().as_secs(), 1 + 9 + 5 + 10);
    }

    #[tokio::test(start_paused = true)]
    async fn waits_that_end_in_time_leave_one_alarm() {
        let timer = HeaderTimer::default();
        for _ in 0..3 {
            in_time(&timer, 1).await;
        }
        let alarm = timer.0.lock();
        let left = alarm.as_ref().unwrap().deadline() - time::Instant::now();
        // The first wait began three seconds ago.
        assert_eq!(left.as_secs(), 7);
    }
}
