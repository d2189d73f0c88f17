//! A server in a process of its own, besieged: strangers who ask all the time, others who never finish asking, and
//! callers who want to be served meanwhile.
//!
//! The sizes are small unless `CHANCERY_SIEGE=full` is set; `docs/performance.md` has the figures of both.

use std::{
    io::{BufRead, BufReader as Lines, Write},
    net::SocketAddr,
    process::{Child, Command, Stdio},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use chancery::Server;
use chancery_engine::store::Memory;
use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader},
    net::TcpStream,
    task::JoinSet,
    time::Instant,
};

use super::{HI, auth, card, greeter};

const CHILD: &str = "CHANCERY_SIEGE_CHILD";
const FULL: &str = "CHANCERY_SIEGE";

/// How many of everything.
struct Size {
    /// Connections of strangers, each with a request in flight.
    strangers: usize,
    /// Connections that send one byte now and then, and never a whole head.
    dawdlers: usize,
    /// Callers at the same time, and requests of each.
    callers: usize,
    calls: usize,
    /// The most that the server may ever have in memory.
    bytes: usize,
}

fn size() -> Size {
    if std::env::var(FULL).is_ok_and(|value| value == "full") {
        Size { strangers: 10_000, dawdlers: 1_000, callers: 8, calls: 100, bytes: 1_024 << 20 }
    } else {
        Size { strangers: 300, dawdlers: 100, callers: 4, calls: 50, bytes: 256 << 20 }
    }
}

/// The besieged server, in a process of its own. Does nothing as a test.
#[test]
fn child() {
    if std::env::var_os(CHILD).is_none() {
        return;
    }
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let running = Server::new(card(), greeter).auth(auth()).store(Memory::new()).bind("127.0.0.1:0").await.unwrap();
        let mut stdout = std::io::stdout().lock();
        writeln!(stdout, "\naddress {}", running.local_addr()).and_then(|()| stdout.flush()).unwrap();
        drop(stdout);
        // Ends with whoever started it, however that ends.
        let parent = std::thread::spawn(|| std::io::stdin().lines().count());
        drop(tokio::task::block_in_place(|| parent.join()));
    });
}

/// A process that ends with this.
struct Besieged(Child, SocketAddr);

impl Besieged {
    fn start() -> Self {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["auth::siege::child", "--exact", "--nocapture", "--test-threads", "1"])
            .env(CHILD, "1")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = Lines::new(child.stdout.take().unwrap()).lines();
        let address = lines.find_map(|line| line.unwrap().strip_prefix("address ").map(|address| address.parse().unwrap()));
        Self(child, address.expect("the server says where it is"))
    }

    /// The most that it ever had in memory.
    #[cfg(target_os = "linux")]
    fn peak(&self) -> Option<usize> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.0.id())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
        Some(line.trim().trim_end_matches(" kB").parse::<usize>().unwrap() << 10)
    }

    #[cfg(not(target_os = "linux"))]
    fn peak(&self) -> Option<usize> {
        None
    }
}

impl Drop for Besieged {
    fn drop(&mut self) {
        // It may have ended by itself, which the test has noticed by then.
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

/// Sends a request and reads its answer.
async fn ask(stream: &mut BufReader<TcpStream>, key: &str) -> std::io::Result<u16> {
    let length = HI.len();
    let head = format!(
        "POST /message:send HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\na2a-version: 1.0\r\nx-api-key: {key}\r\ncontent-length: {length}\r\n\r\n"
    );
    stream.write_all(&[head.as_bytes(), HI].concat()).await?;
    let (mut line, mut status, mut body) = (String::new(), 0, 0);
    loop {
        line.clear();
        if stream.read_line(&mut line).await? == 0 {
            return Err(std::io::ErrorKind::UnexpectedEof.into());
        }
        let line = line.trim_end().to_ascii_lowercase();
        if let Some(rest) = line.strip_prefix("http/1.1 ") {
            status = rest[..3].parse().unwrap();
        } else if let Some(length) = line.strip_prefix("content-length: ") {
            body = length.parse().unwrap();
        } else if line.is_empty() {
            break;
        }
    }
    stream.read_exact(&mut vec![0; body]).await?;
    Ok(status)
}

async fn connect(address: SocketAddr) -> std::io::Result<BufReader<TcpStream>> {
    let stream = TcpStream::connect(address).await?;
    stream.set_nodelay(true)?;
    Ok(BufReader::new(stream))
}

/// Asks again and again with a wrong key. Whoever is cut off comes back.
async fn stranger(address: SocketAddr, number: usize, asking: Arc<AtomicUsize>, denied: Arc<AtomicUsize>) {
    let key = format!("wrong-{number}");
    let mut counted = false;
    loop {
        let Ok(mut stream) = connect(address).await else { continue };
        if !std::mem::replace(&mut counted, true) {
            asking.fetch_add(1, Ordering::Relaxed);
        }
        while let Ok(status) = ask(&mut stream, &key).await {
            assert_eq!(status, 401);
            denied.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// Sends the head of a request a byte at a time, with long pauses, until it is cut off, and comes back.
async fn dawdler(address: SocketAddr, asking: Arc<AtomicUsize>) {
    let mut counted = false;
    loop {
        let Ok(mut stream) = TcpStream::connect(address).await else { continue };
        if !std::mem::replace(&mut counted, true) {
            asking.fetch_add(1, Ordering::Relaxed);
        }
        for byte in b"GET / HTTP/1.1\r\nhost: localhost\r\nx-patience: ".iter().chain(std::iter::repeat(&b'a')) {
            if stream.write_all(&[*byte]).await.is_err() {
                break;
            }
            tokio::time::sleep(Duration::from_millis(500)).await;
        }
    }
}

/// P7, V10-SEC-009: strangers and dawdlers cost little memory, and everybody who is known is served.
#[tokio::test(flavor = "multi_thread")]
async fn callers_are_served_during_a_siege() {
    let Size { strangers, dawdlers, callers, calls, bytes } = size();
    let besieged = tokio::task::block_in_place(Besieged::start);
    let (address, asking, denied) = (besieged.1, Arc::<AtomicUsize>::default(), Arc::<AtomicUsize>::default());
    let mut siege = JoinSet::new();
    for number in 0..strangers {
        siege.spawn(stranger(address, number, asking.clone(), denied.clone()));
    }
    for _ in 0..dawdlers {
        siege.spawn(dawdler(address, asking.clone()));
    }
    let deadline = Instant::now() + Duration::from_secs(120);
    while asking.load(Ordering::Relaxed) < strangers + dawdlers {
        assert!(Instant::now() < deadline, "{asking:?} of {strangers} and {dawdlers} came");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let (began, before) = (Instant::now(), denied.load(Ordering::Relaxed));
    let mut serving = JoinSet::new();
    for _ in 0..callers {
        serving.spawn(async move {
            let mut stream = connect(address).await.unwrap();
            let mut times = Vec::with_capacity(calls);
            for _ in 0..calls {
                let began = Instant::now();
                assert_eq!(ask(&mut stream, "key-of-ada").await.unwrap(), 200);
                times.push(began.elapsed());
            }
            times
        });
    }
    let mut times: Vec<_> = serving.join_all().await.concat();
    let (took, sent_away) = (began.elapsed(), denied.load(Ordering::Relaxed) - before);
    times.sort_unstable();
    assert_eq!(times.len(), callers * calls);
    assert!(sent_away > 0, "nobody besieged the server");
    siege.abort_all();
    let peak = besieged.peak();
    println!(
        "{strangers} requests of strangers in flight ({:.0} a second sent away), {dawdlers} dawdlers; {} calls of {callers} callers, \
         all answered: p50 {:?}, p99 {:?}, longest {:?}; the server's memory at its peak: {} MB",
        sent_away as f64 / took.as_secs_f64(),
        times.len(),
        times[times.len() / 2],
        times[times.len() * 99 / 100],
        times[times.len() - 1],
        peak.unwrap_or_default() >> 20,
    );
    assert!(peak.is_none_or(|peak| peak < bytes), "{peak:?} bytes");
}
