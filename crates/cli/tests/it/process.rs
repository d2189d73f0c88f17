//! The binary as a process, and a folder for it.

use std::{
    ffi::OsString,
    io::Write as _,
    net::SocketAddr,
    path::{Path, PathBuf},
    process::Stdio,
    sync::{
        OnceLock,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use serde_json::Value;
use tokio::{
    io::{AsyncBufReadExt, BufReader},
    process::{Child, Command},
};

/// Names the binary to try.
const BINARY: &str = "A2A_TRIAL_BINARY";

/// How long anything may take that is waited for.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// Waits for something, and fails the test when it takes too long.
pub(crate) async fn soon<T>(what: &str, waited: impl Future<Output = T>) -> T {
    within(PATIENCE, what, waited).await
}

/// Waits this long for something.
pub(crate) async fn within<T>(time: Duration, what: &str, waited: impl Future<Output = T>) -> T {
    tokio::time::timeout(time, waited).await.unwrap_or_else(|_| panic!("{what}: not within {time:?}"))
}

/// Looks again and again until there is something to see.
pub(crate) async fn until<T>(time: Duration, what: &str, mut look: impl AsyncFnMut() -> Option<T>) -> T {
    let looking = async {
        loop {
            if let Some(seen) = look().await {
                return seen;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    within(time, what, looking).await
}

/// The binary that is tried: the one that `A2A_TRIAL_BINARY` names, which is taken for an optimized one, or
/// the one that was built with the tests.
fn binary() -> OsString {
    std::env::var_os(BINARY).unwrap_or_else(|| env!("CARGO_BIN_EXE_a2a").into())
}

/// Whether the binary is as fast and small as its users know it.
pub(crate) fn is_optimized() -> bool {
    std::env::var_os(BINARY).is_some() || !cfg!(debug_assertions)
}

/// The HTTP client of all tests. It keeps no connections: the end of an answer is the end of its connection.
pub(crate) fn http() -> reqwest::Client {
    static CLIENT: OnceLock<reqwest::Client> = OnceLock::new();
    CLIENT.get_or_init(|| reqwest::Client::builder().no_proxy().pool_max_idle_per_host(0).build().unwrap()).clone()
}

/// A folder of a test, gone when the test is.
pub(crate) struct Folder(PathBuf);

impl Folder {
    pub(crate) fn new() -> Self {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let name = format!("trial-{}-{}", std::process::id(), NUMBER.fetch_add(1, Ordering::Relaxed));
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    pub(crate) fn root(&self) -> &Path {
        &self.0
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    pub(crate) fn write(&self, name: &str, text: &str) -> PathBuf {
        std::fs::write(self.path(name), text).unwrap();
        self.path(name)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // A folder that stays is no reason to fail.
        drop(std::fs::remove_dir_all(&self.0));
    }
}

/// A server that can be killed and started again at the same place; it is killed when it is dropped.
pub(crate) struct Process {
    arguments: Vec<String>,
    child: Child,
    address: SocketAddr,
}

impl Process {
    /// The demo agents, with their tasks in the folder.
    pub(crate) async fn demo(folder: &Folder) -> Self {
        Self::serve(folder, &["--demo"], "127.0.0.1").await
    }

    /// The agents of a file, which is written into the folder.
    pub(crate) async fn file(folder: &Folder, text: &str) -> Self {
        Self::file_on(folder, text, "127.0.0.1").await
    }

    /// As [`file`](Self::file), on another address.
    pub(crate) async fn file_on(folder: &Folder, text: &str, host: &str) -> Self {
        let file = folder.write("a2a.toml", text);
        Self::serve(folder, &[file.to_str().unwrap()], host).await
    }

    async fn serve(folder: &Folder, what: &[&str], host: &str) -> Self {
        let data = folder.path("data");
        let mut arguments = vec!["serve", "-o", "json", "--log-level", "error", "--host", host, "--data", data.to_str().unwrap()];
        arguments.extend(what);
        let arguments: Vec<_> = arguments.into_iter().map(str::to_owned).collect();
        let (child, address) = start(&arguments, 0).await;
        Self { arguments, child, address }
    }

    /// Where it listens, as seen from this machine.
    pub(crate) fn address(&self) -> SocketAddr {
        let ip = if self.address.ip().is_unspecified() { [127, 0, 0, 1].into() } else { self.address.ip() };
        SocketAddr::new(ip, self.address.port())
    }

    /// A URL of it.
    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address())
    }

    /// Ends it as a power cut would: nothing of it runs after this.
    pub(crate) async fn kill(&mut self) {
        self.child.start_kill().unwrap();
        let status = soon("the end of a killed process", self.child.wait()).await.unwrap();
        assert_eq!(std::os::unix::process::ExitStatusExt::signal(&status), Some(9), "{status}");
    }

    /// Starts it again, on the same port and with the same data.
    pub(crate) async fn restart(&mut self) {
        let (child, address) = start(&self.arguments, self.address.port()).await;
        assert_eq!(address, self.address);
        self.child = child;
    }

    /// Kills it and starts it again.
    pub(crate) async fn strike(&mut self) {
        self.kill().await;
        self.restart().await;
    }

    /// Kibibytes of memory that it has from the system.
    pub(crate) fn memory(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id().unwrap())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
        line.trim().trim_end_matches("kB").trim().parse().unwrap()
    }

    /// One of the figures that it tells a scraper.
    pub(crate) async fn figure(&self, name: &str) -> u64 {
        let text = http().get(self.url("/metrics")).send().await.unwrap().text().await.unwrap();
        let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        line.unwrap_or_else(|| panic!("{name} is not in {text}")).parse().unwrap()
    }
}

async fn start(arguments: &[String], port: u16) -> (Child, SocketAddr) {
    let mut command = Command::new(binary());
    command.args(arguments).args(["--port", &port.to_string()]).stdin(Stdio::null()).stdout(Stdio::piped()).kill_on_drop(true);
    let mut child = command.spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let line = soon("the line of a ready server", lines.next_line()).await.unwrap().expect("the server ended before it was ready");
    let ready: Value = serde_json::from_str(&line).unwrap();
    assert_eq!(ready["ready"], true);
    (child, ready["listen"].as_str().unwrap().parse().unwrap())
}

/// Says something to whoever runs the tests, also when the test passes: the harness keeps what is printed to itself.
pub(crate) fn say(words: &str) {
    std::io::stderr().write_all(format!("{words}\n").as_bytes()).unwrap();
}

/// Says that a test could not be made here. Where everything is to be tested, that is a failure.
pub(crate) fn untested(why: &str) {
    assert!(std::env::var_os("CHANCERY_SDKS").is_none(), "{why}");
    say(&format!("notice: {why}: nothing was tested"));
}
