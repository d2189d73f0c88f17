//! The released SDKs as parsing peers.
//!
//! [`Peer`] runs `tests/sdk/peer.py` or `tests/sdk/peer.mjs` with one of the SDKs
//! that `tests/sdk/install` has put into the folder named by `CHANCERY_SDKS`. What
//! we have encoded goes in; what the SDK understood, written by the SDK, comes out.
//! Without the variable the tests that need an SDK pass without doing anything.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

/// The longest time an SDK may take to start or to answer on a busy machine.
const PATIENCE: Duration = Duration::from_secs(120);

/// A running SDK.
pub(crate) struct Peer {
    sdk: String,
    child: Child,
    input: ChildStdin,
    output: Receiver<String>,
    types: Vec<String>,
}

impl Peer {
    /// Starts an SDK by its folder name: `py-1.3.0`, `py-0.3.26`, `py-0.2.16`,
    /// `js-1.3.0` or `js-0.3.14`. `None` when no folder of SDKs is given.
    ///
    /// # Panics
    ///
    /// When the folder is given and the SDK does not start.
    pub(crate) fn start(sdk: &str) -> Option<Self> {
        let Some(folder) = std::env::var_os("CHANCERY_SDKS").filter(|folder| !folder.is_empty()) else {
            eprintln!("CHANCERY_SDKS is not set: nothing is tested against {sdk}");
            return None;
        };
        // Tests run in the folder of their crate; a relative path means the root.
        let home = root().join(PathBuf::from(folder)).join(sdk);
        let scripts = root().join("tests/sdk");
        let mut command = if sdk.starts_with("py-") {
            let mut command = Command::new(home.join("bin/python"));
            command.arg("-I").arg(scripts.join("peer.py"));
            command
        } else {
            let mut command = Command::new("node");
            command.arg(scripts.join("peer.mjs")).arg(&home);
            command
        };
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap_or_else(|e| panic!("{sdk} does not start ({e}); run tests/sdk/install"));
        let input = child.stdin.take().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let (sender, output) = mpsc::channel();
        thread::spawn(move || {
            for line in lines {
                let Ok(line) = line else { break };
                if sender.send(line).is_err() {
                    break;
                }
            }
        });
        let mut peer = Self { sdk: sdk.to_owned(), child, input, output, types: Vec::new() };
        let hello = peer.read();
        let version = sdk.rsplit('-').next().unwrap();
        assert_eq!(hello["version"], version, "{sdk} is another version");
        peer.types = serde_json::from_value(hello["types"].clone()).unwrap();
        Some(peer)
    }

    /// Whether the SDK has objects of this name.
    pub(crate) fn knows(&self, kind: &str) -> bool {
        self.types.iter().any(|known| known == kind)
    }

    /// What the SDK makes of a JSON value, or why it refuses it.
    ///
    /// # Panics
    ///
    /// When the SDK does not know the kind of object, or has died.
    pub(crate) fn pass(&mut self, kind: &str, json: Value) -> Result<Value, String> {
        self.ask(kind, json!({ "type": kind, "json": json })).map(|mut answer| answer["json"].take())
    }

    /// What the SDK makes of a protobuf message, or why it refuses it.
    ///
    /// # Panics
    ///
    /// When the SDK does not know the kind of message, or has died.
    pub(crate) fn pass_bytes(&mut self, kind: &str, bytes: &[u8]) -> Result<Vec<u8>, String> {
        let base64 = STANDARD.encode(bytes);
        self.ask(kind, json!({ "type": kind, "base64": base64 })).map(|answer| STANDARD.decode(answer["base64"].as_str().unwrap()).unwrap())
    }

    fn ask(&mut self, kind: &str, question: Value) -> Result<Value, String> {
        assert!(self.knows(kind), "{} has no {kind}", self.sdk);
        writeln!(self.input, "{question}").unwrap_or_else(|e| panic!("{}: {e}", self.sdk));
        let answer = self.read();
        if answer["ok"] == true { Ok(answer) } else { Err(answer["error"].as_str().unwrap().to_owned()) }
    }

    fn read(&mut self) -> Value {
        let line = self.output.recv_timeout(PATIENCE).unwrap_or_else(|e| {
            let state = self.child.try_wait();
            panic!("{} does not answer: {e}, {state:?}", self.sdk)
        });
        serde_json::from_str(&line).unwrap()
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        // It may be gone already, which is as good.
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

/// A golden vector by its path below `vectors`, without `.json`.
fn vector(name: &str) -> Value {
    let path = root().join("vectors").join(format!("{name}.json"));
    let text = std::fs::read(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    serde_json::from_slice(&text).unwrap()
}

/// The SDK understands the task completely, and refuses a message that is none.
fn reads_a_task(sdk: &str, task: &Value) {
    let Some(mut peer) = Peer::start(sdk) else {
        return;
    };
    assert_eq!(peer.pass("Task", task.clone()).unwrap(), *task);
    // The parsers of JavaScript accept almost anything; this none of them does.
    peer.pass("SendMessageRequest", json!({ "message": {} })).unwrap_err();
}

/// The SDK understands the message completely, and refuses what is none.
fn reads_protobuf(sdk: &str, kind: &str, hex: &str) {
    let Some(mut peer) = Peer::start(sdk) else {
        return;
    };
    let bytes: Vec<u8> = hex.as_bytes().chunks(2).map(|digits| u8::from_str_radix(str::from_utf8(digits).unwrap(), 16).unwrap()).collect();
    assert_eq!(peer.pass_bytes(kind, &bytes).unwrap(), bytes);
    // A length beyond the end.
    peer.pass_bytes(kind, b"\x0a\x7f").unwrap_err();
}

#[test]
fn python_1_3_0_reads_a_task() {
    reads_a_task("py-1.3.0", &vector("conversion/task")["v1.0"]);
}

#[test]
fn javascript_1_3_0_reads_a_task() {
    reads_a_task("js-1.3.0", &vector("conversion/task")["v1.0"]);
}

#[test]
fn python_0_3_26_reads_a_task() {
    reads_a_task("py-0.3.26", &vector("conversion/task")["v0.3"]);
}

#[test]
fn javascript_0_3_14_reads_a_task() {
    reads_a_task("js-0.3.14", &vector("conversion/task")["v0.3"]);
}

#[test]
fn python_0_2_16_reads_a_task() {
    reads_a_task("py-0.2.16", &vector("conversion/task")["v0.2"]);
}

/// Task t-1 in context c-1, completed at 2026-03-02T09:15:07.412Z.
const TASK_1_0: &str = "0a03742d311203632d311a1008031a0c089baa95cd061080bebac401";

#[test]
fn python_1_3_0_reads_protobuf() {
    reads_protobuf("py-1.3.0", "pb/Task", TASK_1_0);
}

#[test]
fn javascript_1_3_0_reads_protobuf() {
    reads_protobuf("js-1.3.0", "pb/Task", TASK_1_0);
}

#[test]
fn python_0_3_26_reads_protobuf() {
    let vector = vector("v0.3/grpc-get-task-request");
    let hex = vector["hex"].as_str().unwrap();
    reads_protobuf("py-0.3.26", "pb/GetTaskRequest", hex);
}

#[test]
fn javascript_0_3_14_reads_protobuf() {
    let vector = vector("v0.3/grpc-get-task-request");
    let hex = vector["hex"].as_str().unwrap();
    reads_protobuf("js-0.3.14", "pb/GetTaskRequest", hex);
}
