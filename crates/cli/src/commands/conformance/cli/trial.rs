//! A demo server, and the program as its users run it.

use std::{
    cell::RefCell,
    collections::BTreeSet,
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::TcpListener,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread::JoinHandle,
    time::{Duration, Instant},
};

use serde_json::Value;

use crate::trouble::Trouble;

/// How long a command may take before it counts as one that hangs.
const PATIENCE: Duration = Duration::from_secs(30);

/// Why a requirement is not met, or not seen to be.
#[derive(Debug)]
pub(super) enum Miss {
    Fail(String),
    Partial(String),
    NotMeasured(String),
}

/// What a check comes to.
pub(super) type Checked = Result<(), Miss>;

/// Fails a check unless something holds.
macro_rules! demand {
    ($holds:expr, $($words:tt)+) => {
        if !$holds {
            return Err(Miss::Fail(format!($($words)+)));
        }
    };
}
pub(super) use demand;

/// Changes a card.
type Change = fn(&mut Value);

/// How the card of an agent is changed to be a variant of it.
const CHANGES: [(&str, Change); 3] = [
    ("nostream", |card| card["capabilities"]["streaming"] = Value::Bool(false)),
    ("nopush", |card| card["capabilities"]["pushNotifications"] = Value::Bool(false)),
    ("rest-first", |card| {
        if let Some(interfaces) = card["supportedInterfaces"].as_array_mut() {
            interfaces.sort_by_key(|one| one["protocolBinding"] != "HTTP+JSON");
        }
    }),
];

/// The server and the folder of a run; both are gone with it.
pub(in super::super) struct Sandbox {
    server: Child,
    port: u16,
    /// The demo behind mutual TLS, and the folder of its certificates.
    mutual: (String, PathBuf),
    root: PathBuf,
    program: PathBuf,
    /// An agent that takes the place of the demo's first, by its reference.
    instead: Option<String>,
    /// Whether the user wants it to end.
    stop: Arc<AtomicBool>,
}

impl Sandbox {
    /// Starts a demo server on a free port, with its data in a folder of its own.
    pub(in super::super) fn open(stop: &Arc<AtomicBool>) -> Result<Self, Trouble> {
        let failed = |what: &str, error: &dyn std::fmt::Display| Trouble::internal(format!("{what}: {error}"));
        let program = std::env::current_exe().map_err(|error| failed("this program cannot be found", &error))?;
        let root = std::env::temp_dir().join(format!("a2a-conformance-{}", uuid::Uuid::now_v7()));
        std::fs::create_dir_all(root.join("server")).map_err(|error| failed("no folder can be made", &error))?;
        let mut command = quiet(&program, &root.join("server"));
        command.args(["demo-server", "--port", "0", "-o", "json", "--log-level", "error", "--data"]).arg(root.join("server/data"));
        let server = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn();
        let mut sandbox = Self {
            server: server.map_err(|error| failed("the demo server cannot be started", &error))?,
            port: 0,
            mutual: (String::new(), PathBuf::new()),
            root,
            program,
            instead: None,
            stop: stop.clone(),
        };
        let mut line = String::new();
        if let Some(out) = sandbox.server.stdout.take() {
            BufReader::new(out).read_line(&mut line).map_err(|error| failed("the demo server says nothing", &error))?;
        }
        let ready: Value = serde_json::from_str(&line).map_err(|error| failed("the demo server is not ready", &error))?;
        let port = ready["listen"].as_str().and_then(|listen| listen.rsplit_once(':')).and_then(|(_, port)| port.parse().ok());
        sandbox.port = port.ok_or_else(|| Trouble::internal(format!("the demo server names no port: {line}")))?;
        let text = |name: &str| ready[name].as_str().unwrap_or_default().to_owned();
        sandbox.mutual = (text("mtls"), text("certificates").into());
        Ok(sandbox)
    }

    /// Lets another agent take the place of the demo's first. It is one that does what the demo does: what only the card says of a
    /// variant is changed in its card, and variants that nobody else has stay the demo's.
    pub(super) fn replace(mut self, agent: &str) -> Result<Self, Trouble> {
        let wrong = |what: &str| Trouble::internal(format!("the card of {agent} {what}"));
        let ran = quiet(&self.program, &self.root.join("server")).args(["card", "get", "-a", agent, "-o", "json"]).output();
        let out = ran.map_err(|error| wrong(&format!("cannot be asked for: {error}")))?.stdout;
        let card: Value = serde_json::from_slice(&out).map_err(|error| wrong(&format!("cannot be read: {error}")))?;
        for (name, change) in CHANGES {
            let mut changed = card.clone();
            change(&mut changed);
            let path = self.root.join(format!("{name}.json"));
            std::fs::write(path, changed.to_string()).map_err(|error| wrong(&format!("cannot be written: {error}")))?;
        }
        self.instead = Some(agent.to_owned());
        Ok(self)
    }

    /// Where the server listens.
    pub(in super::super) fn port(&self) -> u16 {
        self.port
    }

    /// The place of one check: a home that nobody else writes to.
    pub(super) fn trial(&self, name: &str) -> Result<Trial<'_>, Trouble> {
        let home = self.root.join(name);
        std::fs::create_dir_all(home.join("work")).map_err(|error| Trouble::internal(format!("no folder can be made: {error}")))?;
        Ok(Trial { sandbox: self, home, ran: RefCell::default(), codes: RefCell::default() })
    }
}

impl Drop for Sandbox {
    fn drop(&mut self) {
        // Whatever cannot be ended or removed any more is gone already.
        drop(self.server.kill());
        drop(self.server.wait());
        drop(std::fs::remove_dir_all(&self.root));
    }
}

/// The program in surroundings where nothing of the user's shows.
fn quiet(program: &Path, home: &Path) -> Command {
    let mut command = Command::new(program);
    command.env_clear().env("HOME", home).current_dir(home);
    if let Some(path) = std::env::var_os("PATH") {
        command.env("PATH", path);
    }
    command
}

/// What a command did.
#[derive(Debug)]
pub(super) struct Ran {
    pub(super) code: i32,
    pub(super) out: String,
    pub(super) err: String,
    pub(super) took: Duration,
}

impl Ran {
    /// The document on stdout.
    pub(super) fn json(&self) -> Result<Value, Miss> {
        serde_json::from_str(&self.out).map_err(|error| Miss::Fail(format!("stdout is no JSON document: {error}")))
    }

    /// The lines on stdout, each a document.
    pub(super) fn lines(&self) -> Result<Vec<Value>, Miss> {
        let lines = self.out.lines().map(serde_json::from_str).collect::<Result<_, _>>();
        lines.map_err(|error| Miss::Fail(format!("a line on stdout is no JSON: {error}")))
    }

    /// The value of the last field of that name on stdout.
    pub(super) fn field(&self, label: &str) -> &str {
        self.out.lines().rev().find_map(|line| line.strip_prefix(label)?.strip_prefix(": ")).unwrap_or_default()
    }

    /// A line of an artifact of the demo that lists facts.
    pub(super) fn fact(&self, label: &str) -> &str {
        self.out.lines().find_map(|line| line.trim_start().strip_prefix(label)?.strip_prefix(": ")).unwrap_or_default()
    }

    /// Whether this build says that it cannot do it yet.
    pub(super) fn is_not_built(&self) -> bool {
        self.err.contains("not built yet") || self.out.contains("not built yet")
    }
}

/// One check under way.
pub(super) struct Trial<'a> {
    sandbox: &'a Sandbox,
    home: PathBuf,
    ran: RefCell<Vec<String>>,
    codes: RefCell<BTreeSet<(String, i32)>>,
}

impl Trial<'_> {
    /// The address of one of the demo's cards: `""`, `"/nostream"`, ….
    pub(super) fn at(&self, variant: &str) -> String {
        let name = variant.trim_start_matches('/');
        match &self.sandbox.instead {
            Some(agent) if name.is_empty() => agent.clone(),
            Some(_) if CHANGES.iter().any(|change| change.0 == name) => {
                self.sandbox.root.join(format!("{name}.json")).display().to_string()
            }
            _ => format!("{}{variant}", self.demo()),
        }
    }

    /// The address of the demo itself, which has a catalog.
    pub(super) fn demo(&self) -> String {
        format!("localhost:{}", self.sandbox.port)
    }

    /// The address of the demo behind mutual TLS, and the folder of the certificates for it.
    pub(super) fn mutual(&self) -> (&str, &Path) {
        (&self.sandbox.mutual.0, &self.sandbox.mutual.1)
    }

    /// A file in the folder that commands run in.
    pub(super) fn work(&self, name: &str) -> PathBuf {
        self.home.join("work").join(name)
    }

    /// The home directory of the commands.
    pub(super) fn home(&self) -> &Path {
        &self.home
    }

    /// Writes a file for a command.
    pub(super) fn write(&self, path: &Path, text: impl AsRef<[u8]>) -> Checked {
        let folder = path.parent().map_or(Ok(()), std::fs::create_dir_all);
        folder
            .and_then(|()| std::fs::write(path, text))
            .map_err(|error| Miss::NotMeasured(format!("{} cannot be written: {error}", path.display())))
    }

    /// The commands that were run, each with its exit code.
    pub(super) fn evidence(&self) -> Vec<String> {
        self.ran.borrow().clone()
    }

    /// The codes of errors that were seen, each with its exit code.
    pub(super) fn codes(&self) -> BTreeSet<(String, i32)> {
        self.codes.borrow().clone()
    }

    /// A command that is ready to be run.
    pub(super) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = quiet(&self.sandbox.program, &self.home);
        command.args(arguments).env("A2ACLI_AGENT_CARD", self.at("")).current_dir(self.home.join("work"));
        command
    }

    /// Runs a command to its end.
    pub(super) fn run(&self, arguments: &[&str]) -> Result<Ran, Miss> {
        self.finish(self.command(arguments), arguments, None)
    }

    /// Runs a command that must succeed.
    pub(super) fn ok(&self, arguments: &[&str]) -> Result<Ran, Miss> {
        let ran = self.run(arguments)?;
        demand!(ran.code == 0, "{} ends with {}: {}", line(arguments), ran.code, first(&ran.err));
        Ok(ran)
    }

    /// Runs a command with something on stdin.
    pub(super) fn run_with(&self, stdin: &str, arguments: &[&str]) -> Result<Ran, Miss> {
        self.finish(self.command(arguments), arguments, Some(stdin))
    }

    /// Runs a command with variables.
    pub(super) fn run_where(&self, variables: &[(&str, &str)], arguments: &[&str]) -> Result<Ran, Miss> {
        let mut command = self.command(arguments);
        command.envs(variables.iter().copied());
        self.finish(command, arguments, None)
    }

    /// The document of a command that must succeed.
    pub(super) fn json(&self, arguments: &[&str]) -> Result<Value, Miss> {
        self.ok(&[arguments, &["-o", "json"]].concat())?.json()
    }

    /// The id of a new task that is not waited for.
    pub(super) fn task(&self, text: &str) -> Result<String, Miss> {
        let reply = self.json(&["send", "--async", text])?;
        reply["task"]["id"].as_str().map(str::to_owned).ok_or_else(|| Miss::Fail("send --async names no task".to_owned()))
    }

    /// Starts a command whose stderr is read as it comes.
    pub(super) fn start(&self, arguments: &[&str]) -> Result<Started, Miss> {
        let mut command = self.command(arguments);
        let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
        let mut child = child.map_err(|error| Miss::NotMeasured(format!("{} cannot be started: {error}", line(arguments))))?;
        let err = child.stderr.take().map(BufReader::new);
        self.ran.borrow_mut().push(line(arguments));
        Ok(Started { child, err, said: String::new() })
    }

    fn finish(&self, mut command: Command, arguments: &[&str], stdin: Option<&str>) -> Result<Ran, Miss> {
        let begun = Instant::now();
        let input = if stdin.is_some() { Stdio::piped() } else { Stdio::null() };
        let child = command.stdin(input).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
        let mut child = child.map_err(|error| Miss::NotMeasured(format!("{} cannot be started: {error}", line(arguments))))?;
        if let (Some(text), Some(mut pipe)) = (stdin, child.stdin.take()) {
            // A command that does not read its input ends before it is written; what it says counts.
            drop(pipe.write_all(text.as_bytes()));
        }
        let (out, err) = (drained(child.stdout.take()), drained(child.stderr.take()));
        let status = loop {
            match child.try_wait() {
                Ok(Some(status)) => break status,
                Ok(None) if begun.elapsed() < PATIENCE && !self.sandbox.stop.load(Ordering::Relaxed) => {
                    std::thread::sleep(Duration::from_millis(2))
                }
                _ => {
                    drop(child.kill());
                    drop(child.wait());
                    return Err(Miss::Fail(format!("{} does not end within {} s", line(arguments), PATIENCE.as_secs())));
                }
            }
        };
        let text =
            |thread: JoinHandle<Vec<u8>>| thread.join().map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default();
        let ran = Ran { code: status.code().unwrap_or(-1), out: text(out), err: text(err), took: begun.elapsed() };
        self.ran.borrow_mut().push(format!("{} -> exit {}", line(arguments), ran.code));
        let code =
            serde_json::from_str::<Value>(ran.out.lines().last().unwrap_or_default()).ok().or_else(|| serde_json::from_str(&ran.out).ok());
        let code = code.and_then(|document| document["error"]["code"].as_str().map(str::to_owned));
        let code = code.or_else(|| ran.err.lines().find_map(|line| line.strip_prefix("Error: ")).map(str::to_owned));
        self.codes.borrow_mut().extend(code.map(|code| (code, ran.code)));
        Ok(ran)
    }
}

/// A command under way.
pub(super) struct Started {
    child: Child,
    err: Option<BufReader<std::process::ChildStderr>>,
    said: String,
}

impl Started {
    /// Reads stderr until it says something.
    pub(super) fn hear(&mut self, words: &str) -> Checked {
        while !self.said.contains(words) {
            let read = self.err.as_mut().map_or(Ok(0), |err| err.read_line(&mut self.said));
            demand!(read.is_ok_and(|count| count > 0), "stderr ends without {words:?}: {}", self.said);
        }
        Ok(())
    }

    /// Reads stderr until there is a line that begins so, and gives the rest of it.
    pub(super) fn after(&mut self, words: &str) -> Result<String, Miss> {
        self.hear(words)?;
        let found = self.said.lines().find_map(|line| line.strip_prefix(words)).map(|rest| rest.trim().to_owned());
        found.ok_or_else(|| Miss::Fail(format!("no line of stderr begins with {words:?}")))
    }

    /// Presses Ctrl-C.
    pub(super) fn interrupt(&self) -> Checked {
        let sent = rustix::process::kill_process(rustix::process::Pid::from_child(&self.child), rustix::process::Signal::INT);
        sent.map_err(|error| Miss::NotMeasured(format!("no signal can be sent: {error}")))
    }

    /// Waits for the end.
    pub(super) fn end(mut self) -> Result<Ran, Miss> {
        let begun = Instant::now();
        let out = drained(self.child.stdout.take());
        if let Some(mut err) = self.err.take() {
            drop(err.read_to_string(&mut self.said));
        }
        let status = self.child.wait().map_err(|error| Miss::NotMeasured(format!("the end cannot be waited for: {error}")))?;
        let out = out.join().map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default();
        Ok(Ran { code: status.code().unwrap_or(-1), out, err: std::mem::take(&mut self.said), took: begun.elapsed() })
    }
}

impl Drop for Started {
    fn drop(&mut self) {
        // It has ended, unless its check failed in between.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// Reads a pipe to its end, aside.
fn drained(pipe: Option<impl std::io::Read + Send + 'static>) -> JoinHandle<Vec<u8>> {
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(mut pipe) = pipe {
            drop(pipe.read_to_end(&mut bytes));
        }
        bytes
    })
}

/// Does what a person does who is sent to a page of the demo's issuer and agrees: sends its form, and goes where that leads.
pub(super) fn agree(url: &str) -> Checked {
    let (_, page) = visit(url, None)?;
    let mut form = url::form_urlencoded::Serializer::new(String::new());
    for input in page.split("<input").skip(1) {
        let value = |name: &str, end: &[char]| input.split_once(name).map(|(_, rest)| rest.split(end).next().unwrap_or_default());
        if let (Some(name), Some(value)) = (value("name=", &[' ', '>']), value("value=\"", &['"'])) {
            form.append_pair(name, &value.replace("&amp;", "&"));
        }
    }
    let form = form.append_pair("decision", "allow").finish();
    let (head, page) = visit(url.split('?').next().unwrap_or(url), Some(&form))?;
    match head.lines().find_map(|line| line.strip_prefix("location: ")) {
        Some(place) => visit(place, None).map(drop),
        None if page.contains("You are signed in") => Ok(()),
        None => Err(Miss::Fail(format!("the issuer does not let a person in: {page}"))),
    }
}

/// A page of this machine: its head and its text.
fn visit(url: &str, form: Option<&str>) -> Result<(String, String), Miss> {
    let failed = |error: &dyn std::fmt::Display| Miss::Fail(format!("{url} cannot be visited: {error}"));
    let parsed = url::Url::parse(url).map_err(|error| failed(&error))?;
    let addresses = parsed.socket_addrs(|| None).map_err(|error| failed(&error))?;
    let mut stream = std::net::TcpStream::connect(&*addresses).map_err(|error| failed(&error))?;
    let host = parsed.authority();
    let path = parsed.query().map_or_else(|| parsed.path().to_owned(), |query| format!("{}?{query}", parsed.path()));
    let (method, body) = form.map_or(("GET", ""), |form| ("POST", form));
    let request = format!(
        "{method} {path} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\ncontent-type: application/x-www-form-urlencoded\r\n\
         content-length: {}\r\n\r\n{body}",
        body.len()
    );
    let mut text = String::new();
    let told = stream.set_read_timeout(Some(PATIENCE)).and_then(|()| stream.write_all(request.as_bytes()));
    told.and_then(|()| stream.read_to_string(&mut text)).map_err(|error| failed(&error))?;
    let (head, body) = text.split_once("\r\n\r\n").ok_or_else(|| failed(&"the answer has no end"))?;
    Ok((head.to_owned(), body.to_owned()))
}

/// A server that refuses one request, and gives its head back in lower case.
pub(super) fn refusing() -> Result<(u16, JoinHandle<String>), Miss> {
    let bound = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr().map(|address| (listener, address.port())));
    let (listener, port) = bound.map_err(|error| Miss::NotMeasured(format!("no port can be opened: {error}")))?;
    let thread = std::thread::spawn(move || {
        let mut head = Vec::new();
        if let Ok((mut stream, _)) = listener.accept() {
            drop(stream.set_read_timeout(Some(PATIENCE)));
            let mut byte = [0];
            while !head.ends_with(b"\r\n\r\n") && stream.read(&mut byte).is_ok_and(|count| count > 0) {
                head.push(byte[0]);
            }
            drop(stream.write_all(b"HTTP/1.1 401 Unauthorized\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"));
        }
        String::from_utf8_lossy(&head).to_ascii_lowercase()
    });
    Ok((port, thread))
}

/// A command line as it is shown.
fn line(arguments: &[&str]) -> String {
    let words: Vec<_> = arguments.iter().map(|word| crate::resume::quoted(word)).collect();
    format!("a2a {}", words.join(" "))
}

/// The first line of a text.
fn first(text: &str) -> &str {
    text.lines().next().unwrap_or("nothing on stderr")
}
