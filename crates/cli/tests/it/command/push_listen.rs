//! `a2a push listen|dead-letters|redeliver`.

use std::{
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::TcpStream,
    process::{Child, ChildStdout, Stdio},
};

use aws_lc_rs::hmac;
use base64::{Engine as _, prelude::BASE64_STANDARD};
use chancery_engine::clock::{Clock as _, SystemClock};
use serde_json::{Value, json};

use super::{Sandbox, ended, field};
use crate::process::{Folder, PATIENCE, Process, http, until};

/// A listener at work.
struct Listener {
    child: Child,
    lines: BufReader<ChildStdout>,
    port: String,
}

impl Listener {
    fn new(sandbox: &Sandbox, arguments: &[&str], variables: &[(&str, &str)]) -> Self {
        let mut command = sandbox.command(&[&["push", "listen", "--timeout", "40s"], arguments].concat());
        let mut child = command.envs(variables.iter().copied()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap());
        let mut first = String::new();
        lines.read_line(&mut first).unwrap();
        let url = first.strip_prefix("Listening: http://127.0.0.1:").unwrap_or_else(|| panic!("{first}"));
        Self { child, lines, port: url.split('/').next().unwrap().to_owned() }
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.lines.read_line(&mut line).unwrap();
        line.trim_end().to_owned()
    }

    /// Sends a notification, and gives the status of the answer.
    fn post(&self, path: &str, headers: &[(&str, &str)], body: &str) -> u16 {
        let mut stream = TcpStream::connect(format!("127.0.0.1:{}", self.port)).unwrap();
        let headers: String = headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
        let length = body.len();
        write!(stream, "POST {path} HTTP/1.1\r\nhost: hook\r\nconnection: close\r\ncontent-length: {length}\r\n{headers}\r\n{body}")
            .unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer.split(' ').nth(1).unwrap_or_else(|| panic!("{answer:?}")).parse().unwrap()
    }

    fn end(mut self) -> (i32, String) {
        let mut rest = String::new();
        self.lines.read_to_string(&mut rest).unwrap();
        (self.child.wait().unwrap().code().unwrap(), rest)
    }
}

fn body(state: &str) -> String {
    json!({"statusUpdate": {"taskId": "t-1", "contextId": "c-1", "status": {"state": state}}}).to_string()
}

/// A2ACLI_PUSH_002
#[test]
fn a_webhook_is_registered_and_verified_and_removed() {
    let sandbox = Sandbox::new();
    let task = sandbox.task("slow 1500ms");
    let mut listener = Listener::new(&sandbox, &["--register", &task, "--count", "2"], &[]);
    let registered = listener.line();
    assert!(registered.starts_with("Registered: config ") && registered.ends_with(&format!(" on task {task}")), "{registered}");
    let (code, rest) = listener.end();
    assert_eq!(code, 0, "{rest}");
    let events: Vec<_> = rest.lines().filter(|line| line.starts_with("Event: ")).collect();
    assert_eq!(events.len(), 2, "{rest}");
    assert!(events.iter().all(|line| line.contains("(token ok, signature verified kid=")), "{rest}");
    assert!(events[1].starts_with("Event: 2 statusUpdate COMPLETED (") && events[1].contains(" ms after the change)"), "{rest}");
    assert!(rest.lines().last().unwrap().starts_with("Removed: config "), "{rest}");
    assert_eq!(sandbox.json(&["task", "push-config", "list", &task])["configs"], json!([]));
    let ran = sandbox.run(&["push", "listen", "-a", &sandbox.at("/nopush"), "--register", &task]);
    assert!(ran.code == 1 && ran.err.contains("PushNotificationNotSupportedError"), "{ran:?}");
    let ran = sandbox.run(&["push", "listen", "--register", &task, "--listen", "0.0.0.0:0"]);
    assert!(ran.code == 2 && ran.err.contains("--public-url"), "{ran:?}");
    let ran = sandbox.run(&["push", "listen", "--listen", &format!("127.0.0.1:{}", sandbox.port)]);
    assert!(ran.code == 1 && ran.err.contains("A2AX_ERR_PORT"), "{ran:?}");
}

/// A2ACLI_PUSH_002: as JSON, the event as it came, also after a failure on purpose.
#[test]
fn json_is_the_event_as_received() {
    let sandbox = Sandbox::new();
    let task = sandbox.task("slow 1s");
    let ran = sandbox.run(&["push", "listen", "--register", &task, "--once", "--fail-first", "1", "-o", "json", "--timeout", "50s"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    let event: Value = serde_json::from_str(&ran.out).unwrap();
    assert!(event["artifactUpdate"]["taskId"] == task.as_str() || event["statusUpdate"]["taskId"] == task.as_str(), "{ran:?}");
    assert!(ran.err.contains("Failed: on purpose") && ran.err.contains("Removed: config"), "{ran:?}");
    let ran = sandbox.run(&["push", "listen", "-o", "json"]);
    assert!(ran.code == 2 && ran.err.contains("needs --stream or --once"), "{ran:?}");
}

#[test]
fn tokens_paths_and_repetitions_are_told_apart() {
    let sandbox = Sandbox::new();
    let flags = ["--token", "t0ken", "--path", "/hook", "--status", "202", "--fail-first", "1", "--count", "2"];
    let mut listener = Listener::new(&sandbox, &flags, &[]);
    let steps = [
        ("/hook", "x-a2a-notification-token", "t0ken", "1", 503, "Failed: on purpose, 0 more will"),
        ("/hook", "x-a2a-notification-token", "t0ken", "1", 202, "Event: 1 statusUpdate WORKING (token ok, signature not checked)"),
        ("/hook", "x-a2a-notification-token", "t0ken", "1", 202, "Event: 1 duplicate, already seen"),
        ("/hook", "x-other", "t0ken", "2", 401, "Refused: the token is not that of the registration"),
        ("/hook", "a2a-notification-token", "t0ke", "2", 401, "Refused: the token is not that of the registration"),
        ("/", "x-a2a-notification-token", "t0ken", "2", 404, "Refused: a delivery to /, which is not the webhook"),
        ("/hook", "a2a-notification-token", "t0ken", "2", 202, "Event: 2 statusUpdate WORKING (token ok, signature not checked)"),
    ];
    for (path, name, token, id, status, line) in steps {
        assert_eq!(listener.post(path, &[(name, token), ("webhook-id", id)], &body("TASK_STATE_WORKING")), status, "{line}");
        assert_eq!(listener.line(), line);
    }
    assert_eq!(listener.end(), (0, String::new()));
}

/// What is not JSON of the protocol is refused, and said in one line.
#[test]
fn strangers_are_refused() {
    let sandbox = Sandbox::new();
    let mut listener = Listener::new(&sandbox, &["--once"], &[]);
    assert_eq!(listener.post("/", &[], "\u{1b}[2J"), 400);
    assert!(listener.line().starts_with("Refused: the body is no notification"));
    assert_eq!(listener.post("/", &[], &body("TASK_STATE_FAILED")), 200);
    assert_eq!(listener.line(), "Event: 1 statusUpdate FAILED (token not checked, signature not checked)");
    assert_eq!(listener.end().0, 0);
}

#[test]
fn a_shared_secret_verifies_or_refuses() {
    let sandbox = Sandbox::new();
    let secret = hmac::Key::new(hmac::HMAC_SHA256, b"harbor");
    let now = SystemClock.now().unix().0.to_string();
    let text = body("TASK_STATE_COMPLETED");
    let signed = |id: &str| format!("v1,{}", BASE64_STANDARD.encode(hmac::sign(&secret, format!("{id}.{now}.{text}").as_bytes())));
    let variables = [("HOOK_SECRET", "harbor")];
    for (strict, status, line) in [
        (true, 401, "Refused: the signature is not of the shared secret"),
        (false, 200, "Event: 1 statusUpdate COMPLETED (token not checked, the signature is not of the shared secret)"),
    ] {
        let mut flags = vec!["--hmac-secret-env", "HOOK_SECRET", "--count", if strict { "1" } else { "2" }];
        flags.extend(strict.then_some("--only-verified"));
        let mut listener = Listener::new(&sandbox, &flags, &variables);
        let headers = |id, signature| [("webhook-id", id), ("webhook-timestamp", now.as_str()), ("webhook-signature", signature)];
        assert_eq!(listener.post("/", &headers("1", "v1,AAAA"), &text), status);
        assert_eq!(listener.line(), line);
        let right = signed("2");
        assert_eq!(listener.post("/", &headers("2", right.as_str()), &text), 200);
        assert!(listener.line().contains("signature verified kid=shared secret"));
        assert_eq!(listener.end().0, 0);
    }
    for flags in
        [&["--only-verified"][..], &["--hmac-secret-env", "NOT_SET"], &["--jwks", "nowhere.json"], &["--path", "x"], &["--status", "9"]]
    {
        assert_eq!(sandbox.run(&[&["push", "listen"], flags].concat()).code, 2, "{flags:?}");
    }
}

#[test]
fn what_is_passed_on_is_answered_as_the_other_answers() {
    let sandbox = Sandbox::new();
    let mut behind = Listener::new(&sandbox, &["--token", "x", "--fail-first", "1", "--once", "--status", "204"], &[]);
    let url = format!("http://127.0.0.1:{}/", behind.port);
    let mut front = Listener::new(&sandbox, &["--forward", &url, "--once"], &[]);
    let headers = [("a2a-notification-token", "x"), ("webhook-id", "7")];
    assert_eq!(front.post("/", &headers, &body("TASK_STATE_WORKING")), 503);
    assert!(front.line().starts_with("Forwarded: 503 in "));
    assert_eq!(front.post("/", &headers, &body("TASK_STATE_WORKING")), 204);
    assert!(front.line().starts_with("Forwarded: 204 in "));
    assert!(front.line().starts_with("Event: 1 statusUpdate WORKING"));
    assert_eq!(front.end().0, 0);
    assert_eq!(behind.line(), "Failed: on purpose, 0 more will");
    assert_eq!(behind.end().0, 0);
}

#[test]
fn a_listener_stops_when_it_is_asked_to_and_when_its_time_is_over() {
    let sandbox = Sandbox::new();
    let task = sandbox.task("slow 60s");
    let mut listener = Listener::new(&sandbox, &["--register", &task], &[]);
    listener.line();
    let kill = std::process::Command::new("kill").args(["-INT", &listener.child.id().to_string()]).status().unwrap();
    assert!(kill.success());
    let (code, rest) = listener.end();
    assert_eq!(code, 0, "{rest}");
    assert!(rest.starts_with("Removed: config "), "{rest}");
    let ran = sandbox.run(&["push", "listen", "--once", "--timeout", "200ms"]);
    assert!(ran.code == 5 && ran.err.contains("A2ACLI_ERR_TIMEOUT"), "{ran:?}");
}

const AGENT: &str = r#"
[push]
schedule = ["1ms"]
[[agent]]
name = "talker"
description = "Says something"
command = ["echo", "hi"]
"#;

/// A delivery that nobody took is kept, shown, thrown away, and sent again by the next server.
#[tokio::test(flavor = "multi_thread")]
async fn dead_letters_are_shown_and_sent_again() {
    let sandbox = Sandbox::new();
    let folder = Folder::new();
    let mut server = Process::file(&folder, AGENT).await;
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let hook = format!("http://127.0.0.1:{port}/");
    let message = json!({"messageId": "m-1", "role": "ROLE_USER", "parts": [{"text": "talk"}]});
    let sent = json!({"message": message, "configuration": {"taskPushNotificationConfig": {"id": "hook", "url": hook}}});
    let request = http().post(server.url("/message:send")).header("a2a-version", "1.0").header("content-type", "application/a2a+json");
    let answer: Value = serde_json::from_str(&request.body(sent.to_string()).send().await.unwrap().text().await.unwrap()).unwrap();
    let task = answer["task"]["id"].as_str().unwrap_or_else(|| panic!("{answer}")).to_owned();
    let data = folder.path("data");
    let data = data.to_str().unwrap();
    let letters = || sandbox.json(&["push", "dead-letters", "--data", data])["deadLetters"].as_array().unwrap().clone();
    let dead = until(PATIENCE, "two dead letters", async || Some(letters()).filter(|letters| letters.len() >= 2)).await;
    server.kill().await;
    let total = letters().len();
    assert_eq!((dead[0]["taskId"].as_str(), dead[0]["url"].as_str()), (Some(task.as_str()), Some(hook.as_str())), "{dead:?}");
    let (first, second) = (dead[0]["id"].as_str().unwrap(), dead[1]["id"].as_str().unwrap());
    let table = sandbox.ok(&["push", "dead-letters", "--data", data, "-o", "table"]);
    assert!(table.starts_with("ID ") && table.lines().count() == total + 1 && table.contains(&hook), "{table}");
    let none = |flags: &[&str]| field(&sandbox.ok(&[&["push", "dead-letters", "--data", data], flags].concat()), "Total") == "0";
    assert!(none(&["--task", "nope"]) && none(&["--since", "2100-01-01T00:00:00Z"]));
    assert_eq!(sandbox.ok(&["push", "dead-letters", "--data", data, "--purge", first]), format!("Purged: {first}\n"));
    let ran = sandbox.run(&["push", "redeliver", "--data", data, first]);
    assert!(ran.code == 2 && ran.err.contains(&format!("there is no dead letter {first}")), "{ran:?}");
    let out = sandbox.ok(&["push", "redeliver", "--data", data, "--all", "--dry-run"]);
    assert!(out.contains(&format!("Would redeliver: {second} of task {task} to {hook}\n")), "{out}");
    assert_eq!(letters().len(), total - 1);
    assert_eq!(field(&sandbox.ok(&["push", "redeliver", "--data", data, second]), "Total"), "1");
    assert_eq!(letters().len(), total - 2);
    assert_eq!(field(&sandbox.ok(&["push", "redeliver", "--data", data, "--task", &task]), "Total"), (total - 2).to_string());
    let listener = Listener::new(&sandbox, &["--listen", &format!("127.0.0.1:{port}"), "--count", &(total - 1).to_string()], &[]);
    server.restart().await;
    let (code, rest) = listener.end();
    assert_eq!((code, rest.lines().filter(|line| line.starts_with("Event: ")).count()), (0, total - 1), "{rest}");
}

#[test]
fn dead_letters_need_the_data_of_a_server() {
    let sandbox = Sandbox::new();
    let server = format!("http://{}", sandbox.at(""));
    for (flags, code, says) in [
        (vec!["push", "dead-letters"], 2, "--data DIR"),
        (vec!["push", "dead-letters", "--data", "nowhere"], 2, "there is no nowhere/tasks.db"),
        (vec!["push", "dead-letters", "--server", &server], 1, "has no admin calls"),
        (vec!["push", "redeliver", "--data", "nowhere"], 2, "which letters?"),
        (vec!["push", "redeliver", "--server", &server, "--all"], 1, "has no admin calls"),
    ] {
        let child = sandbox.command(&flags).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let ran = ended(child);
        assert!(ran.code == code && ran.err.contains(says), "{flags:?} {ran:?}");
    }
    assert!(!sandbox.work("nowhere").exists(), "nothing is made by looking");
}
