//! A proxy between two processes: it shows what was asked, and holds messages back, or their answers, until the test has done
//! what it wants to do meanwhile.

use std::{
    io,
    net::SocketAddr,
    sync::{Arc, Mutex},
};

use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{
        TcpListener, TcpStream,
        tcp::{OwnedReadHalf, OwnedWriteHalf},
    },
    sync::watch,
    time::timeout,
};

use super::process::PATIENCE;

/// What becomes of messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Order {
    /// They go through.
    Pass,
    /// They wait here.
    HoldMessages,
    /// They go through, and their answers wait here.
    HoldAnswers,
    /// What waits is lost, and its connection with it; everything else goes through.
    Lose,
    /// Nobody gets a connection.
    Refuse,
}

/// A request as it arrived.
#[derive(Debug, Clone)]
pub(crate) struct Asked {
    pub(crate) head: String,
    pub(crate) body: String,
}

impl Asked {
    fn is_message(&self) -> bool {
        ["SendMessage", "SendStreamingMessage", "message/send"].iter().any(|name| self.body.contains(&format!(r#""method":"{name}""#)))
    }
}

/// A proxy for HTTP/1.1.
///
/// A server that says in its card where it is would be called there: its address is replaced by the proxy's in what it says.
pub(crate) struct Proxy {
    pub(crate) url: String,
    state: Arc<State>,
}

struct State {
    at: SocketAddr,
    to: Mutex<Option<SocketAddr>>,
    order: watch::Sender<Order>,
    /// How many messages or answers were held so far, and how many answers to messages went through.
    held: watch::Sender<usize>,
    answered: watch::Sender<usize>,
    asked: Mutex<Vec<Asked>>,
}

impl Proxy {
    /// Listens at once; where it leads to is said later.
    pub(crate) async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let at = listener.local_addr().unwrap();
        let state = Arc::new(State {
            at,
            to: Mutex::default(),
            order: watch::Sender::new(Order::Pass),
            held: watch::Sender::new(0),
            answered: watch::Sender::new(0),
            asked: Mutex::default(),
        });
        let shared = state.clone();
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let state = shared.clone();
                // A connection that breaks is what tests are about.
                tokio::spawn(async move { drop(pass(state, client).await) });
            }
        });
        Self { url: format!("http://{at}"), state }
    }

    pub(crate) fn lead_to(&self, address: SocketAddr) {
        *self.state.to.lock().unwrap() = Some(address);
    }

    pub(crate) fn order(&self, order: Order) {
        self.state.order.send_replace(order);
    }

    /// Waits until so many messages or answers were held.
    pub(crate) async fn held(&self, count: usize) {
        let mut held = self.state.held.subscribe();
        timeout(PATIENCE, held.wait_for(|held| *held >= count)).await.expect("nothing comes").unwrap();
    }

    /// How many answers to messages went through.
    pub(crate) fn answers(&self) -> watch::Receiver<usize> {
        self.state.answered.subscribe()
    }

    /// How many messages arrived here.
    pub(crate) fn messages(&self) -> usize {
        self.state.asked.lock().unwrap().iter().filter(|asked| asked.is_message()).count()
    }

    /// Everything that was asked.
    pub(crate) fn asked(&self) -> Vec<Asked> {
        self.state.asked.lock().unwrap().clone()
    }
}

/// One connection, until it ends.
async fn pass(state: Arc<State>, client: TcpStream) -> io::Result<()> {
    if *state.order.borrow() == Order::Refuse {
        return Ok(());
    }
    let to = state.to.lock().unwrap().ok_or(io::ErrorKind::NotConnected)?;
    let server = TcpStream::connect(to).await?;
    client.set_nodelay(true)?;
    server.set_nodelay(true)?;
    let (mut from_client, to_client) = client.into_split();
    let (from_server, mut to_server) = server.into_split();
    let (messages, awaited) = watch::channel(false);
    tokio::spawn(answers(state.clone(), from_server, to_client, awaited, to.to_string()));
    let mut buffer = Vec::new();
    while let Some((asked, raw)) = request(&mut from_client, &mut buffer).await? {
        let is_message = asked.is_message();
        state.asked.lock().unwrap().push(asked);
        if is_message && !let_through(&state, Order::HoldMessages).await {
            return Ok(());
        }
        messages.send_replace(is_message);
        to_server.write_all(&raw).await?;
    }
    Ok(())
}

/// Waits as long as the order is this one; `false` when what waited is lost.
async fn let_through(state: &State, order: Order) -> bool {
    if *state.order.borrow() != order {
        return true;
    }
    let mut now = state.order.subscribe();
    state.held.send_modify(|held| *held += 1);
    let next = now.wait_for(|now| *now != order).await.map(|next| *next);
    next.is_ok_and(|next| next != Order::Lose)
}

async fn answers(
    state: Arc<State>,
    mut from: OwnedReadHalf,
    mut to: OwnedWriteHalf,
    awaited: watch::Receiver<bool>,
    server: String,
) -> io::Result<()> {
    let mut buffer = vec![0; 16 * 1024];
    let proxy = state.at.to_string();
    loop {
        let count = from.read(&mut buffer).await?;
        if count == 0 {
            return Ok(());
        }
        let is_answer = *awaited.borrow();
        if is_answer && !let_through(&state, Order::HoldAnswers).await {
            return Ok(());
        }
        // Both addresses have the same length, because ports that the system chooses have five digits.
        while let Some(place) = buffer[..count].windows(server.len()).position(|bytes| bytes == server.as_bytes()) {
            buffer[place..place + server.len()].copy_from_slice(proxy.as_bytes());
        }
        to.write_all(&buffer[..count]).await?;
        if is_answer {
            state.answered.send_modify(|answered| *answered += 1);
        }
    }
}

/// The next request, as it is and as it reads; nothing when there is none.
async fn request(from: &mut OwnedReadHalf, buffer: &mut Vec<u8>) -> io::Result<Option<(Asked, Vec<u8>)>> {
    loop {
        if let Some(end) = buffer.windows(4).position(|bytes| bytes == b"\r\n\r\n").map(|at| at + 4) {
            let head = String::from_utf8_lossy(&buffer[..end]).into_owned();
            let length = head.lines().filter_map(|line| line.split_once(':')).find(|(name, _)| name.eq_ignore_ascii_case("content-length"));
            let length: usize = length.map_or(0, |(_, value)| value.trim().parse().unwrap());
            if buffer.len() >= end + length {
                let raw: Vec<u8> = buffer.drain(..end + length).collect();
                let body = String::from_utf8_lossy(&raw[end..]).into_owned();
                return Ok(Some((Asked { head, body }, raw)));
            }
        }
        if from.read_buf(buffer).await? == 0 {
            return Ok(None);
        }
    }
}
