//! `a2a send`.

use std::time::{Duration, Instant};

use serde_json::Value;

use super::{Sandbox, field};

/// A2ACLI_SEND_001
#[test]
fn a_message_starts_an_interaction() {
    let out = Sandbox::new().ok(&["send", "hi"]);
    assert_eq!(field(&out, "State"), "COMPLETED");
    assert!(out.contains("Text:\n  hi\n\n"), "{out}");
}

/// A2ACLI_SEND_002 A2ACLI_OUT_006
#[test]
fn send_waits_unless_it_is_told_not_to() {
    let sandbox = Sandbox::new();
    let begun = Instant::now();
    sandbox.ok(&["send", "slow 1500ms"]);
    assert!(begun.elapsed() >= Duration::from_millis(1_500));
    for flag in ["--async", "--no-wait", "--return-immediately"] {
        let begun = Instant::now();
        let reply = sandbox.json(&["send", flag, "slow 60s"]);
        assert!(begun.elapsed() < Duration::from_secs(20), "{flag}");
        assert!(reply["task"]["id"].is_string() && reply["task"]["contextId"].is_string(), "{reply}");
        assert_ne!(reply["task"]["status"]["state"], "TASK_STATE_COMPLETED");
    }
}

/// A2ACLI_SEND_003
#[test]
fn a_stream_is_read_where_there_is_one_and_nothing_hangs_where_there_is_none() {
    let sandbox = Sandbox::new();
    let out = sandbox.ok(&["send", "--stream", "stream 5"]);
    assert!(out.contains("Artifact: numbers\nText:\n  1\n  2\n  3\n  4\n  5\n\nTask ID: "), "{out}");
    let ran = sandbox.run(&["send", "-a", &sandbox.at("/nostream"), "--stream", "hi"]);
    assert_eq!((ran.code, field(&ran.out, "State")), (0, "COMPLETED"), "{ran:?}");
    assert!(ran.err.contains("note: the agent offers no streams"), "{ran:?}");
    let out = sandbox.ok(&["send", "--stream", "message hi"]);
    assert!(out.contains("Role: AGENT\nText:\n  hi\n\n"), "{out}");
}

/// A2ACLI_SEND_004
#[test]
fn no_part_is_dropped() {
    let out = Sandbox::new().ok(&["send", "files"]);
    let count = |label: &str| out.lines().filter(|line| line.starts_with(label)).count();
    assert_eq!((count("Text:"), count("Data:"), count("File: ")), (1, 1, 2), "{out}");
}

/// A2ACLI_SEND_005
#[test]
fn a_media_type_belongs_to_the_part_before_it() {
    let sandbox = Sandbox::new();
    std::fs::write(sandbox.work("x.bin"), [0, 1, 2]).unwrap();
    std::fs::write(sandbox.work("y.csv"), "a,b").unwrap();
    let out = sandbox.ok(&["send", "parts", "--file", "x.bin", "--media-type", "application/pdf", "--file", "y.csv", "--file", "x.bin"]);
    assert!(
        out.contains("  2 file application/pdf x.bin 3 bytes\n  3 file text/csv y.csv 3 bytes\n  4 file application/octet-stream x.bin"),
        "{out}"
    );
    assert_eq!(sandbox.run(&["send", "--media-type", "a/b"]).code, 2);
    assert_eq!(sandbox.run(&["send", "hi", "--media-type", "a/b"]).code, 2);
}

/// A2ACLI_SEND_006
#[test]
fn parts_keep_their_order_and_one_may_come_from_stdin() {
    let sandbox = Sandbox::new();
    std::fs::write(sandbox.work("x.bin"), [0, 1, 2]).unwrap();
    let ran = sandbox.run_with(r#"{"a":1}"#, &["send", "--text", "parts", "--data", "-", "--text", "end", "--file", "x.bin"]);
    let expected = "  1 text \"parts\"\n  2 data {\"a\":1}\n  3 text \"end\"\n  4 file application/octet-stream x.bin 3 bytes\n";
    assert!(ran.out.contains(expected), "{ran:?}");
    let out = sandbox.ok(&["send", "--text-part", "parts", "--file-part", "https://x.example/a/b.png", "--data-part", "[1]"]);
    assert!(out.contains("  2 file image/png b.png https://x.example/a/b.png\n  3 data [1]\n"), "{out}");
    for (stdin, arguments) in [("{", &["send", "--data", "-"][..]), ("{}", &["send", "-", "--data", "-"]), ("", &["send"])] {
        let ran = sandbox.run_with(stdin, arguments);
        assert_eq!(ran.code, 2, "{arguments:?} {ran:?}");
    }
    assert!(sandbox.run_with("from stdin\n", &["send", "-"]).out.contains("\n  from stdin\n\n"));
}

#[test]
fn a_file_that_is_too_large_or_missing_is_a_usage_error() {
    let sandbox = Sandbox::new();
    std::fs::write(sandbox.work("big"), vec![b'x'; 2_000]).unwrap();
    let ran = sandbox.run(&["send", "--file", "big", "--max-inline", "1k"]);
    assert!(ran.code == 2 && ran.err.contains("give a URL instead"), "{ran:?}");
    assert_eq!(sandbox.run(&["send", "--file", "missing"]).code, 2);
}

#[test]
fn a_whole_payload_can_be_sent() {
    let sandbox = Sandbox::new();
    let reply = sandbox.json(&[
        "send",
        "--request-payload",
        r#"{"message":{"messageId":"m-7","parts":[{"text":"hi"}]},"configuration":{"historyLength":1}}"#,
    ]);
    assert_eq!(reply["task"]["history"][0]["messageId"], "m-7");
    assert_eq!(sandbox.run(&["send", "--request-payload", "{}", "hi"]).code, 2);
    assert_eq!(sandbox.run(&["send", "--request-payload", "{}"]).code, 2);
}

/// A2ACLI_INTERACT_001
#[test]
fn a_context_is_continued_with_a_new_task() {
    let sandbox = Sandbox::new();
    let first = sandbox.json(&["send", "hi"]);
    let second = sandbox.json(&["send", "--context-id", first["task"]["contextId"].as_str().unwrap(), "hi"]);
    assert_eq!(first["task"]["contextId"], second["task"]["contextId"]);
    assert_ne!(first["task"]["id"], second["task"]["id"]);
}

/// A2ACLI_INTERACT_002
#[test]
fn a_task_is_continued_and_a_refused_id_makes_none() {
    let sandbox = Sandbox::new();
    let asked = sandbox.json(&["send", "ask"]);
    let (task, context) = (asked["task"]["id"].as_str().unwrap(), asked["task"]["contextId"].as_str().unwrap());
    assert_ne!(sandbox.run(&["send", "--task-id", task, "--context-id", "another", "Paris"]).code, 0);
    let out = sandbox.ok(&["send", "--task-id", task, "--context-id", context, "Paris"]);
    assert_eq!(field(&out, "State"), "COMPLETED");
    let before = sandbox.json(&["task", "list"])["totalSize"].clone();
    let ran = sandbox.run(&["send", "--task-id", "nope", "x", "-o", "json"]);
    let error: Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!((ran.code, error["error"]["code"].as_str()), (1, Some("TaskNotFoundError")), "{ran:?}");
    assert!(error["error"]["hint"].as_str().unwrap().contains("--debug"), "{error}");
    assert_eq!(sandbox.json(&["task", "list"])["totalSize"], before);
}

/// A2ACLI_INTERACT_003
#[test]
fn ids_of_the_server_are_never_made_up() {
    let ran = Sandbox::new().run(&["send", "--debug", "hi"]);
    let sent: Vec<_> = ran.err.lines().filter(|line| line.contains("> {")).collect();
    assert!(!sent.is_empty(), "{ran:?}");
    assert!(sent.iter().all(|line| !line.contains("taskId") && !line.contains("contextId")), "{sent:?}");
}

/// A2ACLI_INTERACT_004
#[test]
fn the_resume_line_can_be_run() {
    let sandbox = Sandbox::new();
    let out = sandbox.ok(&["send", "ask"]);
    let (task, line) = (field(&out, "Task ID"), field(&out, "Resume with"));
    assert_eq!(field(&out, "State"), "INPUT_REQUIRED");
    let script = line.replacen("a2a", env!("CARGO_BIN_EXE_a2a"), 1).replace("<reply>", "Paris");
    let resumed = std::process::Command::new("sh").args(["-c", &script]).env("HOME", sandbox.home.root()).output().unwrap();
    let resumed = String::from_utf8(resumed.stdout).unwrap();
    assert_eq!((field(&resumed, "Task ID"), field(&resumed, "State")), (task, "COMPLETED"));
    assert!(resumed.contains("Booked for Paris."), "{resumed}");
}

/// A2ACLI_INTERACT_005
#[test]
fn no_id_is_stored_and_there_is_no_continue() {
    let sandbox = Sandbox::new();
    assert_eq!(sandbox.run(&["send", "--continue", "x"]).code, 2);
    let task = sandbox.json(&["send", "ask"])["task"]["id"].as_str().unwrap().to_owned();
    let found = std::process::Command::new("grep").args(["-rl", &task, "--exclude=server.log"]).arg(sandbox.home.root()).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&found.stdout), "");
}

/// A2ACLI_EXIT_002
#[test]
fn whatever_the_agent_decides_is_a_success_with_a_warning() {
    let sandbox = Sandbox::new();
    for (text, warning) in [
        ("fail", "the task failed"),
        ("reject", "the agent rejected the task"),
        ("ask", "the task waits for input"),
        ("login", "the task waits for an authorization"),
    ] {
        let ran = sandbox.run(&["send", text]);
        assert_eq!(ran.code, 0, "{ran:?}");
        assert!(ran.err.contains(&format!("warning: {warning}")), "{ran:?}");
        assert_eq!(sandbox.run(&["send", "-q", text]).err, "");
    }
}

#[test]
fn a_dry_run_sends_nothing_and_shows_what_it_would() {
    let sandbox = Sandbox::new();
    let ran = sandbox.run(&["send", "--dry-run", "hi"]);
    assert_eq!((ran.code, ran.out.as_str()), (0, ""), "{ran:?}");
    assert!(ran.err.starts_with("curl -sS http://") && ran.err.contains("SendStreamingMessage"), "{ran:?}");
    assert_eq!(sandbox.json(&["task", "list"])["totalSize"], 0);
}

#[test]
fn verbose_shows_what_was_sent_too() {
    let out = Sandbox::new().ok(&["send", "--verbose", "--message-id", "m-1", "hi"]);
    assert!(out.starts_with("Interface: JSONRPC 1.0 http://"), "{out}");
    assert!(out.contains("Message ID: m-1\nRole: USER\nText:\n  hi\n\nTask ID: ") && out.contains("History: 1 of 1"), "{out}");
}
