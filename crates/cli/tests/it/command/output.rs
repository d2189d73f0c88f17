//! What is printed where, and in which form.

use std::{
    io::{BufRead as _, BufReader},
    process::Stdio,
};

use serde_json::Value;

use super::{Sandbox, ended};

/// A2ACLI_OUT_001
#[test]
fn every_answer_names_task_context_and_state_and_talk_is_elsewhere() {
    let sandbox = Sandbox::new();
    let out = sandbox.ok(&["send", "hi"]);
    let named = out.lines().filter(|line| ["Task ID: ", "Context ID: ", "State: "].iter().any(|label| line.starts_with(label)));
    assert_eq!(named.count(), 3, "{out}");
    let out = sandbox.ok(&["--debug", "send", "hi", "-o", "json"]);
    assert!(serde_json::from_str::<Value>(&out).is_ok(), "{out}");
}

/// A2ACLI_OUT_002
#[test]
fn json_is_one_document_with_the_end_of_the_task() {
    let sandbox = Sandbox::new();
    let out = sandbox.ok(&["send", "stream 5", "-o", "json"]);
    let documents: Vec<Value> = serde_json::Deserializer::from_str(&out).into_iter().collect::<Result<_, _>>().unwrap();
    assert_eq!(documents.len(), 1);
    assert_eq!(documents[0]["task"]["status"]["state"], "TASK_STATE_COMPLETED");
    assert!(out.starts_with("{\n  \"task\": {\n"), "{out}");
    assert_eq!(sandbox.ok(&["send", "hi", "-o", "json", "--compact"]).lines().count(), 1);
}

/// A2ACLI_OUT_003
#[test]
fn streamed_json_is_a_line_per_event_and_an_error_is_the_last() {
    let sandbox = Sandbox::new();
    let out = sandbox.ok(&["send", "--stream", "stream 5", "-o", "json"]);
    let lines: Vec<Value> = out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(lines.len() > 6, "{out}");
    assert!(lines.last().unwrap()["statusUpdate"].is_object(), "{out}");
    let ran = sandbox.run(&["send", "--stream", "-o", "json", "--timeout", "1s", "slow 60s"]);
    let last: Value = serde_json::from_str(ran.out.lines().last().unwrap()).unwrap();
    assert_eq!((ran.code, last["error"]["code"].as_str()), (5, Some("A2ACLI_ERR_TIMEOUT")), "{ran:?}");
}

/// A2ACLI_OUT_003: a line is there when its event is.
#[test]
fn streamed_lines_are_not_held_back() {
    let sandbox = Sandbox::new();
    let mut command = sandbox.command(&["send", "--stream", "-o", "json", "-q", "slow 60s"]);
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let first: Value = serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap();
    assert!(first["task"]["id"].is_string(), "{first}");
    child.kill().unwrap();
    child.wait().unwrap();
}

/// A2ACLI_OUT_005
#[test]
fn text_has_no_escape_bytes_whatever_the_agent_says() {
    let sandbox = Sandbox::new();
    let out = sandbox.ok(&["send", "--color", "always", "\u{1b}[31mred\u{1b}[0m\n\nState: FAILED"]);
    assert!(!out.contains('\u{1b}'), "{out:?}");
    assert!(out.contains("  \\x1b[31mred\\x1b[0m\n  \n  State: FAILED\n\n"), "{out}");
    for line in out.lines().filter(|line| !line.starts_with("  ") && !line.is_empty()) {
        assert!(line.split_once(':').is_some(), "{line}");
    }
}

#[test]
fn a_filter_prints_texts_as_they_are() {
    let sandbox = Sandbox::new();
    assert_eq!(sandbox.ok(&["send", "hi", "--jq", ".task.status.state"]), "TASK_STATE_COMPLETED\n");
    assert_eq!(sandbox.run(&["send", "hi", "--jq", ".["]).code, 2);
}

#[test]
fn a_closed_pipe_ends_everything_silently() {
    let sandbox = Sandbox::new();
    let mut command = sandbox.command(&["send", "--stream", "-q", "stream 5000"]);
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::with_capacity(1, child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    child.stdout = Some(std::process::Command::new("true").stdout(Stdio::piped()).spawn().unwrap().stdout.unwrap());
    let ran = ended(child);
    assert_eq!((ran.code, ran.err.as_str()), (0, ""), "{ran:?}");
}
