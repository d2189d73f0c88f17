//! `a2a serve` with a file: what it says when the file is wrong, and what it does when the file changes.

use std::{
    io::{BufRead, BufReader, Read},
    path::Path,
    process::{Child, Command, Output, Stdio},
    time::{Duration, Instant},
};

use serde_json::Value;

use crate::process::Folder;

fn a2a(folder: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_a2a")).args(arguments).current_dir(folder).output().unwrap()
}

/// A server at work, and its base URL.
struct Server {
    child: Child,
    url: String,
}

impl Server {
    fn start(folder: &Path, arguments: &[&str]) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_a2a"));
        command.args(["serve", "--port", "0", "-o", "json"]).args(arguments).current_dir(folder);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let ready: Value = serde_json::from_str(&line).unwrap();
        assert_eq!(ready["ready"], true);
        Self { child, url: ready["url"].as_str().unwrap().to_owned() }
    }

    /// One exchange over a connection of its own: the status and the body.
    fn ask(&self, method: &str, path: &str, body: &str) -> (u16, String) {
        use std::io::Write as _;
        let host = self.url.trim_start_matches("http://");
        let mut stream = std::net::TcpStream::connect(host).unwrap();
        let length = body.len();
        write!(
            stream,
            "{method} {path} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\na2a-version: 1.0\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}"
        )
        .unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        (head[9..12].parse().unwrap(), body.to_owned())
    }

    fn send(&self, path: &str, text: &str) -> (u16, String) {
        let body = format!(r#"{{"message":{{"messageId":"1","role":"ROLE_USER","parts":[{{"text":"{text}"}}]}}}}"#);
        self.ask("POST", &format!("{path}/message:send"), &body)
    }

    /// Waits until an answer is as it should be.
    fn until(&self, what: &str, good: impl Fn(&Self) -> bool) {
        let begun = Instant::now();
        while !good(self) {
            assert!(begun.elapsed() < Duration::from_secs(30), "{what}");
            std::thread::yield_now();
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

#[test]
fn a_wrong_file_is_refused_with_its_line_and_a_suggestion() {
    let folder = Folder::new();
    folder.write("a2a.toml", "[[agent]]\nname = \"words\"\ncomand = [\"wc\", \"-w\"]\n");
    let output = a2a(folder.root(), &["serve"]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    for expected in ["a2a.toml", ":3:1", "comand", "command"] {
        assert!(said.contains(expected), "{said}");
    }
}

#[test]
fn a_file_can_be_checked_and_the_default_file_is_good() {
    let folder = Folder::new();
    let printed = a2a(folder.root(), &["serve", "--print-config"]);
    folder.write("agents.toml", &String::from_utf8(printed.stdout).unwrap());
    let output = a2a(folder.root(), &["serve", "--check", "agents.toml"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(String::from_utf8_lossy(&output.stdout), "Config: agents.toml is good: echo at /\n");
}

#[test]
fn bad_usage_ends_with_2_and_a_busy_port_with_a_hint() {
    let folder = Folder::new();
    assert_eq!(a2a(folder.root(), &["serve", "--bogus"]).status.code(), Some(2));
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let output = a2a(folder.root(), &["serve", "--demo", "--ephemeral", "--port", &port]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("Error: A2AX_ERR_PORT\n") && said.contains("\nHint: --port 0 takes a free port\n"), "{said}");
}

#[test]
fn a_command_is_an_agent_without_a_file() {
    let folder = Folder::new();
    let server = Server::start(folder.root(), &["--exec", "tr a-z A-Z", "--name", "shout"]);
    let (status, answer) = server.send("", "hello");
    assert_eq!(status, 200, "{answer}");
    assert!(answer.contains("HELLO") && answer.contains("TASK_STATE_COMPLETED"), "{answer}");
}

#[test]
fn a_changed_file_changes_the_agents_and_no_task_is_lost() {
    let folder = Folder::new();
    let agent = |name: &str, command: &str| format!("[[agent]]\nname = \"{name}\"\ncommand = [\"sh\", \"-c\", \"{command}\"]\n");
    folder.write("a2a.toml", &format!("{}{}", agent("one", "echo first"), agent("two", "cat")));
    let server = Server::start(folder.root(), &[]);
    let (_, before) = server.send("/one", "x");
    assert!(before.contains("first"), "{before}");
    let id = serde_json::from_str::<Value>(&before).unwrap()["task"]["id"].as_str().unwrap().to_owned();

    folder.write("a2a.toml", &format!("{}{}", agent("one", "echo second"), agent("three", "echo third")));
    server.until("the first agent does not change", |server| server.send("/one", "x").1.contains("second"));
    server.until("the new agent does not come", |server| server.send("/three", "x").1.contains("third"));
    server.until("the old agent does not go", |server| server.send("/two", "x").0 == 404);
    let (status, task) = server.ask("GET", &format!("/one/tasks/{id}"), "");
    assert_eq!(status, 200, "{task}");
    assert!(task.contains("first"), "{task}");

    // A file that is wrong changes nothing.
    folder.write("a2a.toml", "[[agent]]\nname = 7\n");
    let (status, answer) = server.send("/three", "x");
    assert_eq!(status, 200, "{answer}");
}

/// SC-30, SC-31, SC-32: cards are signed with the keys of the file, and anew when a key or the file changes.
#[test]
fn changed_keys_sign_the_cards_of_a_server_at_work() {
    let folder = Folder::new();
    let generate = |kid: &str| {
        let made = Command::new(env!("CARGO_BIN_EXE_a2a"))
            .args(["keys", "--dir", "keys", "generate", "--kid", kid])
            .current_dir(folder.root())
            .output();
        assert!(made.as_ref().unwrap().status.success(), "{made:?}");
    };
    generate("one");
    let key = |kid: &str| format!("[[signing.keys]]\nkid = \"{kid}\"\n");
    let write =
        |keys: &str| drop(folder.write("a2a.toml", &format!("[signing]\ndir = \"keys\"\n{keys}[[agent]]\nname = \"echo\"\necho = true\n")));
    write(&key("one"));
    let server = Server::start(folder.root(), &["--ephemeral"]);
    let verified = |kid: &str| {
        let output = a2a(folder.root(), &["card", "verify", "--no-cache", "-a", &server.url, "-o", "json"]);
        let report: Value = serde_json::from_slice(&output.stdout).unwrap();
        output.status.success() && report["kid"] == kid
    };
    assert!(verified("one"));
    generate("two");
    write(&(key("two") + &key("one")));
    server.until("the new key does not sign", |server| server.ask("GET", "/.well-known/jwks.json", "").1.contains("two"));
    assert!(verified("two"));
    // The same name, another key.
    std::fs::remove_file(folder.path("keys/two.jwk")).unwrap();
    let (_, before) = server.ask("GET", "/.well-known/jwks.json", "");
    generate("two");
    server.until("the changed key does not sign", |server| server.ask("GET", "/.well-known/jwks.json", "").1 != before);
    assert!(verified("two"));
}
