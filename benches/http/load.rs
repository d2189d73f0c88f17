//! The other side: many connections that ask and read, and as little else as possible.

use std::{
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    task::JoinSet,
};

/// A request as it goes over the wire.
pub(crate) fn request(method: &str, path: &str, body: &str) -> Vec<u8> {
    format!(
        "{method} {path} HTTP/1.1\r\nhost: localhost\r\na2a-version: 1.0\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    )
    .into_bytes()
}

/// A connection.
pub(crate) struct Line {
    stream: TcpStream,
    buffer: Vec<u8>,
}

impl Line {
    pub(crate) async fn open(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).await.unwrap();
        stream.set_nodelay(true).unwrap();
        Self { stream, buffer: Vec::with_capacity(4_096) }
    }

    pub(crate) async fn send(&mut self, request: &[u8]) {
        self.stream.write_all(request).await.unwrap();
    }

    /// Asks, and gives the body of the answer, which must be 200.
    pub(crate) async fn ask(&mut self, request: &[u8]) -> String {
        self.send(request).await;
        let length = self.head().await.expect("a length");
        while self.buffer.len() < length {
            self.more().await;
        }
        let body = String::from_utf8(self.buffer[..length].to_vec()).unwrap();
        self.buffer.drain(..length);
        body
    }

    /// As `ask`, without a look at the body.
    async fn ask_blindly(&mut self, request: &[u8]) {
        self.send(request).await;
        let length = self.head().await.expect("a length");
        while self.buffer.len() < length {
            self.more().await;
        }
        self.buffer.drain(..length);
    }

    /// Reads the head of an answer, and gives the length of its body unless it comes in chunks.
    pub(crate) async fn head(&mut self) -> Option<usize> {
        loop {
            if let Some(end) = find(&self.buffer, b"\r\n\r\n") {
                let head = std::str::from_utf8(&self.buffer[..end]).unwrap();
                assert!(head.starts_with("HTTP/1.1 200"), "{}", String::from_utf8_lossy(&self.buffer));
                let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")).map(|length| length.parse().unwrap());
                self.buffer.drain(..end + 4);
                return length;
            }
            self.more().await;
        }
    }

    /// Reads chunks to the last one, and gives how many events came.
    pub(crate) async fn drain(&mut self) -> usize {
        let mut events = 0;
        loop {
            let whole = self.buffer.ends_with(b"\r\n0\r\n\r\n") || self.buffer == b"0\r\n\r\n";
            events += count(&self.buffer, b"data: ");
            // A mark that is cut in two is counted with what follows.
            let keep = if whole { 0 } else { self.buffer.len().min(5) };
            self.buffer.drain(..self.buffer.len() - keep);
            if whole {
                return events;
            }
            self.more().await;
        }
    }

    /// Reads until so many events have come.
    pub(crate) async fn events(&mut self, wanted: usize) {
        let mut events = 0;
        loop {
            events += count(&self.buffer, b"data: ");
            let keep = self.buffer.len().min(5);
            self.buffer.drain(..self.buffer.len() - keep);
            if events >= wanted {
                return;
            }
            self.more().await;
        }
    }

    async fn more(&mut self) {
        assert_ne!(self.stream.read_buf(&mut self.buffer).await.unwrap(), 0, "the server hung up");
    }
}

fn find(bytes: &[u8], mark: &[u8]) -> Option<usize> {
    bytes.windows(mark.len()).position(|window| window == mark)
}

fn count(bytes: &[u8], mark: &[u8]) -> usize {
    bytes.windows(mark.len()).filter(|window| *window == mark).count()
}

/// What connections ask: each asks something else every time, in an order that looks random.
pub(crate) struct Questions {
    requests: Vec<Vec<u8>>,
    /// How many were asked.
    asked: AtomicUsize,
}

impl Questions {
    /// Asks these, one after the other, in an order that looks random.
    pub(crate) fn new(mut requests: Vec<Vec<u8>>) -> Arc<Self> {
        // A fixed seed: runs are alike. A plain linear congruential generator: nothing depends on its quality.
        let mut state = 0x2545_f491_4f6c_dd1d_u64;
        for last in (1..requests.len()).rev() {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let other = usize::try_from(state >> 33).unwrap() % (last + 1);
            requests.swap(last, other);
        }
        Arc::new(Self { requests, asked: AtomicUsize::new(0) })
    }

    fn next(&self) -> &[u8] {
        &self.requests[self.asked.fetch_add(1, Ordering::Relaxed) % self.requests.len()]
    }
}

/// Asks on so many connections; gives how many answers came.
pub(crate) async fn unary(address: SocketAddr, questions: &Arc<Questions>, connections: usize, span: Duration) -> u64 {
    each(address, connections, span, questions, false).await
}

/// The same with streams, which are read to their end.
pub(crate) async fn streams(address: SocketAddr, questions: &Arc<Questions>, connections: usize, span: Duration) -> u64 {
    each(address, connections, span, questions, true).await
}

/// Asks on one connection, one after the other; gives how long each answer took, in microseconds.
pub(crate) async fn latencies(address: SocketAddr, questions: &Arc<Questions>, span: Duration) -> Vec<f64> {
    let mut line = Line::open(address).await;
    let (begun, mut times) = (Instant::now(), Vec::new());
    while begun.elapsed() < span {
        let asked = Instant::now();
        line.ask_blindly(questions.next()).await;
        times.push(asked.elapsed().as_secs_f64() * 1e6);
    }
    times
}

async fn each(address: SocketAddr, connections: usize, span: Duration, questions: &Arc<Questions>, streaming: bool) -> u64 {
    let mut lines = JoinSet::new();
    let begun = Instant::now();
    for _ in 0..connections {
        let questions = questions.clone();
        lines.spawn(async move {
            let mut line = Line::open(address).await;
            let mut done = 0;
            while begun.elapsed() < span {
                if streaming {
                    line.send(questions.next()).await;
                    line.head().await;
                    done += line.drain().await as u64;
                } else {
                    line.ask_blindly(questions.next()).await;
                    done += 1;
                }
            }
            done
        });
    }
    lines.join_all().await.into_iter().sum()
}
