//! The command line against the demo agents: the requirements of the official CLI specification, row by row.
//!
//! Each test has a server and a home of its own, so that nothing that one stores is seen by another.

mod auth;
mod bench;
mod card;
mod chat;
mod conformance;
mod coverage;
mod doctor;
mod errors;
mod graph;
mod handoff;
mod help;
mod hints;
mod output;
mod push_listen;
mod replay;
mod scripted;
mod seal;
mod send;
mod settings;
mod skill;
mod slow;
mod stream;
mod task;
mod terminal;
mod wire;

use std::{
    io::{BufRead as _, BufReader, Read as _, Write as _},
    path::PathBuf,
    process::{Child, Command, Stdio},
    time::Duration,
};

use serde_json::Value;

use crate::process::Folder;

/// How long a command may take.
const PATIENCE: Duration = Duration::from_secs(60);

/// A demo server, and a home for the commands that call it.
pub(crate) struct Sandbox {
    server: Child,
    pub(crate) port: u16,
    pub(crate) home: Folder,
}

/// What a command did.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Sandbox {
    pub(crate) fn new() -> Self {
        Self::with(|_| Vec::new())
    }

    /// A server with more flags, which may name files in its home.
    pub(crate) fn with(flags: impl FnOnce(&Folder) -> Vec<String>) -> Self {
        let home = Folder::new();
        std::fs::create_dir_all(home.path("work")).unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_a2a"));
        command.args(["demo-server", "--ephemeral", "--port", "0", "-o", "json", "--log-level", "info"]).args(flags(&home));
        command.env("HOME", home.root());
        let log = std::fs::File::create(home.path("server.log")).unwrap();
        let mut server = command.current_dir(home.root()).stdout(Stdio::piped()).stderr(log).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(server.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let ready: Value = serde_json::from_str(&line).unwrap();
        let port = ready["listen"].as_str().unwrap().rsplit_once(':').unwrap().1.parse().unwrap();
        Self { server, port, home }
    }

    /// The address of one of the demo's cards: `""`, `"/nostream"`, ….
    pub(crate) fn at(&self, variant: &str) -> String {
        format!("localhost:{}{variant}", self.port)
    }

    /// The folder that commands run in.
    pub(crate) fn work(&self, name: &str) -> PathBuf {
        self.home.path("work").join(name)
    }

    /// A command that is ready to be run.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_a2a"));
        for (name, _) in std::env::vars_os() {
            let name = name.to_string_lossy().into_owned();
            if name.starts_with("A2ACLI_")
                || name.starts_with("XDG_")
                || name == "NO_COLOR"
                || name.to_ascii_uppercase().ends_with("_PROXY")
            {
                command.env_remove(name);
            }
        }
        command.args(arguments).env("HOME", self.home.root()).env("A2ACLI_AGENT_CARD", self.at("")).current_dir(self.home.path("work"));
        command
    }

    /// Runs a command to its end.
    pub(crate) fn run(&self, arguments: &[&str]) -> Ran {
        finish(self.command(arguments).stdin(Stdio::null()))
    }

    /// Runs a command that is told nothing of the demo.
    pub(crate) fn run_without(&self, arguments: &[&str]) -> Ran {
        finish(self.command(arguments).env_remove("A2ACLI_AGENT_CARD").stdin(Stdio::null()))
    }

    /// Runs a command with something on stdin.
    pub(crate) fn run_with(&self, stdin: &str, arguments: &[&str]) -> Ran {
        let mut child = self.command(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        child.stdin.take().unwrap().write_all(stdin.as_bytes()).unwrap();
        ended(child)
    }

    /// What a command that succeeds prints.
    #[track_caller]
    pub(crate) fn ok(&self, arguments: &[&str]) -> String {
        let ran = self.run(arguments);
        assert_eq!(ran.code, 0, "{arguments:?}\n{ran:?}");
        ran.out
    }

    /// The document that a command that succeeds prints.
    #[track_caller]
    pub(crate) fn json(&self, arguments: &[&str]) -> Value {
        let out = self.ok(&[arguments, &["-o", "json"]].concat());
        serde_json::from_str(&out).unwrap_or_else(|error| panic!("{arguments:?}: {error}\n{out}"))
    }

    /// The id of a new task.
    #[track_caller]
    pub(crate) fn task(&self, text: &str) -> String {
        self.json(&["send", "--async", text])["task"]["id"].as_str().unwrap().to_owned()
    }

    /// How many lines of the server's log name an operation.
    pub(crate) fn calls(&self, operation: &str) -> usize {
        let log = std::fs::read_to_string(self.home.path("server.log")).unwrap();
        log.lines().filter(|line| line.contains(operation)).count()
    }
}

impl Drop for Sandbox {
    fn drop(&mut self) {
        drop(self.server.kill());
        drop(self.server.wait());
    }
}

fn finish(command: &mut Command) -> Ran {
    ended(command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap())
}

/// Waits for the end of a command, which must come.
pub(crate) fn ended(mut child: Child) -> Ran {
    let (mut out, mut err) = (child.stdout.take().unwrap(), child.stderr.take().unwrap());
    let out = std::thread::spawn(move || {
        let mut text = Vec::new();
        out.read_to_end(&mut text).map(|_| String::from_utf8_lossy(&text).into_owned())
    });
    let err = std::thread::spawn(move || {
        let mut text = Vec::new();
        err.read_to_end(&mut text).map(|_| String::from_utf8_lossy(&text).into_owned())
    });
    let pid = child.id().to_string();
    let (tell, told) = std::sync::mpsc::channel();
    std::thread::spawn(move || tell.send(child.wait()));
    let status = told.recv_timeout(PATIENCE).unwrap_or_else(|_| {
        drop(Command::new("kill").args(["-9", &pid]).status());
        panic!("a command does not end")
    });
    let status = status.unwrap();
    Ran { code: status.code().unwrap_or(-1), out: out.join().unwrap().unwrap(), err: err.join().unwrap().unwrap() }
}

/// The value of a field in a text.
#[track_caller]
pub(crate) fn field<'a>(text: &'a str, label: &str) -> &'a str {
    let found = text.lines().rev().find_map(|line| line.strip_prefix(label)?.strip_prefix(": "));
    found.unwrap_or_else(|| panic!("no {label} in {text}"))
}

/// Ends a command as Ctrl-C does.
pub(crate) fn interrupt(child: &Child) {
    let kill = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(kill.success());
}
