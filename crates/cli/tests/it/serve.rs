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
fn what_a_server_says_to_try_works_and_its_process_is_named() {
    let folder = Folder::new();
    folder.write("a2a.toml", "[[agent]]\nname = \"one\"\necho = true\n[[agent]]\nname = \"two\"\necho = true\n");
    for arguments in [&["--demo"][..], &["a2a.toml"]] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_a2a"));
        command.args(["serve", "--port", "0", "--ephemeral"]).args(arguments).current_dir(folder.root()).env("HOME", folder.root());
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
        let lines: Vec<_> = lines.take_while(|line| !line.is_empty()).collect();
        // The process is ended before anything is found wrong with it.
        let tried: Vec<_> = lines.iter().filter_map(|line| line.strip_prefix("  a2a ")).collect();
        let ran: Vec<_> = tried.iter().map(|words| sh(folder.root(), &format!("'{}' {words}", env!("CARGO_BIN_EXE_a2a")))).collect();
        let pid = child.id();
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(lines.contains(&format!("Process: {pid}")), "{lines:?}");
        assert!(tried.len() == 2 && tried[1].contains("--stream"), "{lines:?}");
        for output in ran {
            assert!(String::from_utf8_lossy(&output.stdout).contains("State: COMPLETED"), "{lines:?} {output:?}");
        }
    }
}

fn sh(folder: &Path, script: &str) -> Output {
    Command::new("sh").args(["-c", script]).env("HOME", folder).current_dir(folder).output().unwrap()
}

#[test]
fn a_command_is_an_agent_without_a_file() {
    let folder = Folder::new();
    let server = Server::start(folder.root(), &["--exec", "tr a-z A-Z", "--name", "shout"]);
    let (status, answer) = server.send("", "hello");
    assert_eq!(status, 200, "{answer}");
    assert!(answer.contains("HELLO") && answer.contains("TASK_STATE_COMPLETED"), "{answer}");
}

/// The bindings that the card at a path names, each once.
fn bindings(server: &Server, path: &str) -> Vec<String> {
    let (status, card) = server.ask("GET", &format!("{path}/.well-known/agent-card.json"), "");
    assert_eq!(status, 200, "{card}");
    let card: Value = serde_json::from_str(&card).unwrap();
    let interfaces = card["supportedInterfaces"].as_array().unwrap().iter();
    let mut named: Vec<_> = interfaces.map(|one| one["protocolBinding"].as_str().unwrap().to_owned()).collect();
    named.dedup();
    named.truncate(named.iter().skip(1).position(|name| *name == named[0]).map_or(named.len(), |at| at + 1));
    named
}

#[test]
fn the_bindings_of_the_command_line_hold_for_the_file_and_its_changes() {
    let folder = Folder::new();
    let own = "[[agent]]\nname = \"own\"\necho = true\nbindings = [\"grpc\", \"jsonrpc\"]\n";
    folder.write("a2a.toml", &format!("[[agent]]\nname = \"all\"\necho = true\n{own}"));
    let server = Server::start(folder.root(), &["--bindings", "http+json,JSONRPC"]);
    assert_eq!(
        (bindings(&server, "/all"), bindings(&server, "/own")),
        (vec!["HTTP+JSON".to_owned(), "JSONRPC".to_owned()], vec!["JSONRPC".to_owned()])
    );
    folder.write("a2a.toml", &format!("[[agent]]\nname = \"all\"\necho = true\n{own}[[agent]]\nname = \"new\"\necho = true\n"));
    server.until("the new agent does not come", |server| server.send("/new", "x").0 == 200);
    assert_eq!(bindings(&server, "/new"), ["HTTP+JSON", "JSONRPC"]);
    drop(server);
    folder.write("a2a.toml", &format!("[server]\nbindings = [\"jsonrpc\"]\n{own}"));
    let server = Server::start(folder.root(), &[]);
    assert_eq!(bindings(&server, ""), ["GRPC", "JSONRPC"]);
    drop(server);
    for (flags, expected) in [("carrier-pigeon", "none of jsonrpc, rest, grpc"), ("rest", "leave nothing of the agent \"own\"")] {
        let output = a2a(folder.root(), &["serve", "--bindings", flags]);
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && said.contains(expected), "{said}");
    }
}

#[test]
fn a_server_for_other_machines_is_told_to_say_how_they_reach_it() {
    let folder = Folder::new();
    for (flags, warned) in
        [(&["--host", "0.0.0.0"][..], true), (&["--host", "0.0.0.0", "--public-url", "http://a.example"], false), (&[], false)]
    {
        let mut command = Command::new(env!("CARGO_BIN_EXE_a2a"));
        command.args(["serve", "--echo", "--ephemeral", "--port", "0", "-o", "json"]).args(flags).current_dir(folder.root());
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        drop(child.kill());
        let said = String::from_utf8(child.wait_with_output().unwrap().stderr).unwrap();
        assert_eq!(said.contains("--public-url"), warned, "{flags:?}: {said}");
    }
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
