//! The pages of `docs/guide`, run as they stand there.
//!
//! A block of a page is run when a mark stands before it:
//!
//! - `<!-- tested: WORDS -->`: the shell runs it, and it prints these words,
//! - `<!-- tested: file NAME -->`: it is written into a file of that name,
//! - `<!-- tested: serve -->`: it is a server, which is left running,
//! - `<!-- tested: stop -->`: the shell runs it, and it ends the server that runs.
//!
//! All blocks of a page run in one folder, and later ones know the variables of earlier ones, as in a terminal. Addresses and
//! ports are replaced by those of the test, and nothing else.

mod backup;
mod install;
mod metrics;
mod proxy;
mod recording;
mod systemd;
mod tls;
mod writing;

use std::{
    os::unix::process::CommandExt as _,
    path::{Path, PathBuf},
    process::{Child, Command, ExitStatus, Stdio},
    time::{Duration, Instant},
};

use crate::process::{Folder, PATIENCE};

/// The variables of the blocks that were run, as the shell writes them.
const VARIABLES: &str = ".variables";

/// A block that has a mark.
pub(crate) struct Block {
    /// What stands behind `tested: `.
    pub(crate) mark: String,
    pub(crate) text: String,
}

/// The blocks of a page that have a mark.
pub(crate) fn blocks(page: &str) -> Vec<Block> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(page);
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{page}: {error}"));
    let block = |rest: &str| {
        let (mark, rest) = rest.split_once(" -->\n```").unwrap_or_else(|| panic!("{page}: no block follows a mark"));
        let (_language, rest) = rest.split_once('\n').unwrap();
        let (text, _) = rest.split_once("\n```").unwrap_or_else(|| panic!("{page}: a block does not end"));
        Block { mark: mark.to_owned(), text: text.to_owned() }
    };
    text.split("<!-- tested: ").skip(1).map(block).collect()
}

/// Whether all of these programs are there.
pub(crate) fn has(tools: &[&str]) -> bool {
    let found = |tool: &&str| {
        let path = std::env::var_os("PATH").unwrap_or_default();
        std::env::split_paths(&path).chain(["/usr/sbin".into()]).any(|folder| folder.join(tool).is_file())
    };
    tools.iter().all(found)
}

/// A port that nobody has.
pub(crate) fn free_port() -> u16 {
    std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

/// A page at work.
pub(crate) struct Guide {
    page: &'static str,
    pub(crate) folder: Folder,
    /// What is written on the page, and what takes its place.
    replaced: Vec<(String, String)>,
    variables: Vec<(String, String)>,
    servers: Vec<Child>,
    /// How many blocks the shell ran.
    pub(crate) ran: usize,
}

impl Guide {
    /// A page of `docs/guide`.
    pub(crate) fn new(page: &'static str) -> Self {
        Self { page, folder: Folder::new(), replaced: Vec::new(), variables: Vec::new(), servers: Vec::new(), ran: 0 }
    }

    /// Something else than what is on the page; earlier ones come first.
    pub(crate) fn replace(mut self, written: &str, meant: impl Into<String>) -> Self {
        self.replaced.push((written.to_owned(), meant.into()));
        self
    }

    /// A variable of the environment.
    pub(crate) fn set(mut self, name: &str, value: impl Into<String>) -> Self {
        self.variables.push((name.to_owned(), value.into()));
        self
    }

    /// Runs all blocks of the page, and says how many the shell ran.
    pub(crate) fn run_all(&mut self) -> usize {
        for block in blocks(&format!("docs/guide/{}", self.page)) {
            self.run(&block);
        }
        self.ran
    }

    /// Does with a block what its mark says.
    pub(crate) fn run(&mut self, block: &Block) {
        let text = self.meant(&block.text);
        match block.mark.as_str() {
            "serve" => self.serve(&text),
            "stop" => {
                self.shell(&text);
                self.stopped();
                self.ran += 1;
            }
            mark => match mark.strip_prefix("file ") {
                Some(name) => drop(self.folder.write(name, &format!("{text}\n"))),
                None => {
                    let output = self.shell(&text);
                    let expected = self.meant(mark);
                    assert!(output.contains(&expected), "{}: {text}\nprints no {expected}, but\n{output}\n{}", self.page, self.log());
                    self.ran += 1;
                }
            },
        }
    }

    /// A text of the page, with the addresses of the test.
    pub(crate) fn meant(&self, text: &str) -> String {
        self.replaced.iter().fold(text.to_owned(), |text, (written, meant)| text.replace(written, meant))
    }

    /// Runs a script to its end, and gives what it printed.
    pub(crate) fn shell(&self, script: &str) -> String {
        // Whatever is assigned is a variable of the next block too.
        let script = format!("set -a\n[ -e {VARIABLES} ] && . ./{VARIABLES}\ntrap 'export -p > {VARIABLES}' EXIT\n{script}\n");
        let output = self.command(&script).output().unwrap();
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{}: {script}\nends with {}: {errors}\n{}", self.page, output.status, self.log());
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// Starts a server of the page, and waits until it listens.
    pub(crate) fn serve(&mut self, script: &str) {
        let out = self.folder.path("server.out");
        let mut command = self.command(&format!("exec {}", script.trim()));
        // A group of its own, so that all of it can be ended.
        command.process_group(0).stdout(create(&out)).stderr(self.new_log());
        self.servers.push(command.spawn().unwrap());
        let listens = || std::fs::read_to_string(&out).is_ok_and(|text| text.contains("Listening: "));
        self.wait_for(script, listens);
    }

    /// Starts a program that answers on a port as soon as it is ready.
    pub(crate) fn background(&mut self, script: &str, port: u16) {
        let mut command = self.command(&format!("exec {script}"));
        command.process_group(0).stdout(Stdio::null()).stderr(self.new_log());
        self.servers.push(command.spawn().unwrap());
        self.wait_for(script, || std::net::TcpStream::connect(("127.0.0.1", port)).is_ok());
    }

    /// Waits for the end of the last server, which was told to stop.
    pub(crate) fn stopped(&mut self) -> ExitStatus {
        let mut server = self.servers.pop().expect("a server runs");
        let begun = Instant::now();
        loop {
            if let Some(status) = server.try_wait().unwrap() {
                return status;
            }
            assert!(begun.elapsed() < PATIENCE, "{}: the server does not stop\n{}", self.page, self.log());
            pause();
        }
    }

    /// The process of the last server.
    pub(crate) fn server(&self) -> u32 {
        self.servers.last().expect("a server runs").id()
    }

    /// Kills the last server as a power cut would.
    pub(crate) fn kill(&mut self) {
        end(&mut self.servers.pop().expect("a server runs"));
    }

    fn command(&self, script: &str) -> Command {
        let binary = PathBuf::from(env!("CARGO_BIN_EXE_a2a"));
        let path = std::env::var_os("PATH").unwrap_or_default();
        let folders = std::iter::once(binary.parent().unwrap().to_owned()).chain(std::env::split_paths(&path)).chain(["/usr/sbin".into()]);
        let mut command = Command::new("bash");
        for (name, _) in std::env::vars_os() {
            let shown = name.to_string_lossy().to_ascii_uppercase();
            if shown.starts_with("A2A") || shown.starts_with("XDG_") || shown.ends_with("_PROXY") {
                command.env_remove(name);
            }
        }
        command.args(["-c", script]).current_dir(self.folder.root()).env("HOME", self.folder.root()).stdin(Stdio::null());
        command.env("PATH", std::env::join_paths(folders).unwrap());
        command.envs(self.variables.iter().map(|(name, value)| (name, value)));
        command
    }

    fn wait_for(&self, what: &str, is_ready: impl Fn() -> bool) {
        let begun = Instant::now();
        while !is_ready() {
            assert!(begun.elapsed() < PATIENCE, "{}: {what} does not listen\n{}", self.page, self.log());
            pause();
        }
    }

    /// A file for what the next server says.
    fn new_log(&self) -> std::fs::File {
        create(&self.folder.path(&format!("server-{}.log", self.servers.len())))
    }

    /// What the servers said.
    fn log(&self) -> String {
        let log = |number: usize| std::fs::read_to_string(self.folder.path(&format!("server-{number}.log"))).unwrap_or_default();
        (0..self.servers.len()).map(log).collect()
    }
}

impl Drop for Guide {
    fn drop(&mut self) {
        self.servers.iter_mut().rev().for_each(end);
    }
}

/// Ends a process with all that it started. One that is gone already is as good.
fn end(server: &mut Child) {
    drop(Command::new("kill").args(["-9", "--", &format!("-{}", server.id())]).stderr(Stdio::null()).status());
    drop(server.wait());
}

fn create(path: &Path) -> std::fs::File {
    std::fs::File::create(path).unwrap()
}

/// Between two looks at something that is awaited.
fn pause() {
    std::thread::sleep(Duration::from_millis(10));
}

/// A page whose commands nobody runs would not stay true.
#[test]
fn every_shell_block_of_a_guide_is_run_or_says_why_not() {
    let guides = ["README.md", "docs/guide/install.md", "docs/guide/tls.md", "docs/guide/proxy.md", "docs/guide/systemd.md"];
    for page in guides.into_iter().chain(["docs/guide/backup.md", "docs/guide/metrics.md", "docs/guide/writing-an-agent.md"]) {
        let text = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(page)).unwrap();
        let mut before = "";
        for line in text.lines() {
            let is_marked = before.starts_with("<!-- tested: ") || before.starts_with("<!-- not tested: ");
            assert!(line != "```sh" || is_marked, "{page}: a block of shell without a mark follows {before:?}");
            before = line;
        }
    }
}
