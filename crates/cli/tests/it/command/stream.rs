//! Events as text, as they come: one block per artifact, notes on their own lines, names once.

use std::process::Stdio;

use serde_json::{Value, json};

use super::{Sandbox, finish, scripted::scripted, terminal::Terminal};

fn task(state: &str, artifacts: &Value) -> Value {
    json!({"task": {"id": "t", "contextId": "c", "status": {"state": state}, "artifacts": artifacts}})
}

fn chunk(text: &str) -> Value {
    let artifact = json!({"artifactId": "a-1", "parts": [{"text": text}]});
    json!({"artifactUpdate": {"taskId": "t", "contextId": "c", "append": true, "artifact": artifact}})
}

fn state(state: &str) -> Value {
    json!({"statusUpdate": {"taskId": "t", "contextId": "c", "status": {"state": state}}})
}

/// A2ACLI_SEND_003: chunks that follow a snapshot belong to the artifact that it shows.
#[test]
fn chunks_after_a_snapshot_go_on_with_its_block() {
    let sandbox = Sandbox::new();
    let begun = json!([{"artifactId": "a-1", "name": "answer", "parts": [{"text": "one "}]}]);
    let agent = scripted(&[task("TASK_STATE_WORKING", &begun), chunk("two "), chunk("three"), state("TASK_STATE_COMPLETED")]);
    let out = sandbox.ok(&["send", "-a", &agent, "--stream", "count"]);
    let expected = "Task ID: t\nContext ID: c\nState: WORKING\nArtifact: answer\nText:\n  one two three\n\n\
                    Task ID: t\nContext ID: c\nState: COMPLETED\n";
    assert!(out.starts_with(expected), "{out}");
}

#[test]
fn a_chunk_after_something_else_is_titled_by_the_name_of_its_artifact() {
    let sandbox = Sandbox::new();
    let begun = json!([{"artifactId": "a-1", "name": "answer", "parts": [{"text": "one "}]}]);
    let said = json!({"statusUpdate": {"taskId": "t", "contextId": "c", "status": {"state": "TASK_STATE_WORKING",
        "message": {"messageId": "m", "role": "ROLE_AGENT", "parts": [{"text": "still here"}]}}}});
    let agent = scripted(&[task("TASK_STATE_WORKING", &begun), said, chunk("two"), state("TASK_STATE_COMPLETED")]);
    let out = sandbox.ok(&["send", "-a", &agent, "--stream", "count"]);
    assert!(out.contains("Status message:\n  still here\n\nArtifact: answer\nText:\n  two\n\n"), "{out}");
}

#[test]
fn a_task_that_is_sent_again_shows_what_is_new_of_it() {
    let sandbox = Sandbox::new();
    let artifacts = |text: &str| json!([{"artifactId": "a-1", "name": "answer", "parts": [{"text": text}]}]);
    let agent = scripted(&[
        task("TASK_STATE_WORKING", &artifacts("one ")),
        task("TASK_STATE_WORKING", &artifacts("one two ")),
        task("TASK_STATE_COMPLETED", &artifacts("one two three")),
    ]);
    let out = sandbox.ok(&["send", "-a", &agent, "--stream", "count"]);
    let expected = "Task ID: t\nContext ID: c\nState: WORKING\nArtifact: answer\nText:\n  one two three\n\n\
                    Task ID: t\nContext ID: c\nState: COMPLETED\n";
    assert!(out.starts_with(expected), "{out}");
    // Polling gives nothing but whole tasks.
    let agent = sandbox.at("/nostream");
    let out = sandbox.ok(&["send", "-a", &agent, "--stream", "--poll-interval", "100ms", "slow 300ms"]);
    assert_eq!(out.matches("Working for 300ms").count(), 1, "{out}");
    assert_eq!(out.matches("Done after 300ms.").count(), 1, "{out}");
}

/// A2ACLI_OUT_005: where stdout and stderr are one place, a note begins on its own line, and the block goes on after it.
#[test]
fn a_note_begins_on_a_line_of_its_own() {
    let sandbox = Sandbox::new();
    let mut both = std::process::Command::new("sh");
    both.args(["-c", &format!("exec '{}' send --stream --debug 'cut 3' 2>&1", env!("CARGO_BIN_EXE_a2a"))]);
    both.env("HOME", sandbox.home.root()).env("A2ACLI_AGENT_CARD", sandbox.at("")).current_dir(sandbox.home.path("work"));
    let ran = finish(both.stdin(Stdio::null()));
    assert_eq!(ran.code, 0, "{ran:?}");
    let notes = ["debug: ", "note: "];
    assert!(ran.out.contains("\nnote: the stream was cut"), "{}", ran.out);
    assert!(ran.out.lines().all(|line| line.find("debug: ").is_none_or(|at| at == 0)), "{}", ran.out);
    let text: Vec<_> = ran.out.lines().filter(|line| !notes.iter().any(|note| line.starts_with(note))).collect();
    let at = text.iter().position(|line| *line == "Text:").unwrap();
    assert_eq!(text[at + 1..at + 10], ["  1", "  2", "  3", "  4", "  5", "  6", "  7", "  8", ""], "{}", ran.out);
}

#[test]
fn a_terminal_shows_the_name_of_a_task_once() {
    let sandbox = Sandbox::new();
    let terminal = Terminal::new(&sandbox, "a2a send 'slow 700ms'", &[("CI", "")]);
    let (code, seen) = terminal.end();
    assert_eq!(code, 0, "{seen}");
    // What stood on a line before it was erased is gone.
    let shown: Vec<_> = seen.lines().map(|line| line.rsplit("\u{1b}[K").next().unwrap_or_default()).collect();
    assert_eq!(shown.iter().filter(|line| line.starts_with("Task ID: ")).count(), 1, "{seen:?}");
    assert!(seen.starts_with("\r\u{1b}[KTask ID: "), "it is there as soon as it is known: {seen:?}");
    assert!(seen.contains("WORKING 0 s (Ctrl-C leaves the task running)"), "{seen:?}");
}
