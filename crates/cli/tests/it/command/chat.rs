//! `a2a chat`.

use serde_json::Value;

use super::{Sandbox, field, terminal::Terminal};

/// Without colors, and without a line that moves.
const PLAIN: [(&str, &str); 2] = [("NO_COLOR", "1"), ("CI", "1")];

/// A2ACLI_CHAT_001: the task that asks is answered, and the conversation is carried on.
#[test]
fn a_pipe_is_a_turn_per_line() {
    let sandbox = Sandbox::new();
    let ran = sandbox.run_with("ask\nParis\nhi\n", &["chat"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    let all = |label: &str| ran.out.lines().filter_map(|line| line.strip_prefix(label)).collect::<Vec<_>>();
    let (tasks, contexts) = (all("Task ID: "), all("Context ID: "));
    let asked = ran.out.find("INPUT_REQUIRED").unwrap();
    assert!(ran.out[asked..].contains("Booked for Paris."), "{ran:?}");
    let mut different = tasks.clone();
    different.dedup();
    assert_eq!(different.len(), 2, "the answer goes to the task that asked, the third line to a new one: {tasks:?}");
    assert!(contexts.iter().all(|context| *context == contexts[0]), "{contexts:?}");
    assert_eq!(field(&ran.out, "Resume with"), format!("a2a chat -a {} --context-id {}", sandbox.at(""), contexts[0]));
    assert!(ran.err.contains("warning: the task waits for input"), "{ran:?}");
}

/// A2ACLI_OUT_005: off a terminal chat does not wait for anybody, and prints plain text.
#[test]
fn an_empty_pipe_ends_at_once() {
    let sandbox = Sandbox::new();
    let ran = sandbox.run(&["chat", "--color", "always"]);
    assert_eq!((ran.code, ran.out.as_str()), (0, ""), "{ran:?}");
    let ran = sandbox.run_with("files\n", &["chat", "--color", "always"]);
    assert!(ran.out.contains("File: tides.csv (text/csv, 22 bytes)") && !ran.out.contains('\u{1b}'), "{ran:?}");
}

/// A2ACLI_CHAT_001: a conversation is taken up where it ended.
#[test]
fn the_line_at_the_end_goes_on() {
    let sandbox = Sandbox::new();
    for agent in ["", "/nostream"] {
        let ran = sandbox.run_with("ask\n", &["chat", "-a", &sandbox.at(agent)]);
        let line = field(&ran.out, "Resume with").to_owned();
        let words: Vec<_> = line.split(' ').skip(1).collect();
        assert!(words.contains(&"--task-id"), "{line}");
        let ran = sandbox.run_with("Oslo\n", &words);
        assert!(ran.code == 0 && ran.out.contains("Booked for Oslo."), "{agent}: {ran:?}");
        assert!(!field(&ran.out, "Resume with").contains("--task-id"), "{ran:?}");
    }
    let ran = sandbox.run_with("x\n", &["chat", "--task-id", "nope"]);
    assert!(ran.code == 1 && ran.err.contains("TaskNotFoundError"), "{ran:?}");
}

#[test]
fn json_is_a_line_per_turn_or_per_event() {
    let sandbox = Sandbox::new();
    let lines = |arguments: &[&str]| -> Vec<Value> {
        let ran = sandbox.run_with("stream 2\nmessage hi\n", arguments);
        assert_eq!(ran.code, 0, "{ran:?}");
        assert!(ran.err.contains("Resume with: a2a chat"), "{ran:?}");
        ran.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    };
    let turns = lines(&["chat", "-o", "json"]);
    assert_eq!(turns.len(), 2, "{turns:?}");
    assert_eq!(turns[0]["task"]["status"]["state"], "TASK_STATE_COMPLETED");
    assert_eq!(turns[1]["message"]["parts"][0]["text"], "hi");
    let events = lines(&["chat", "-o", "json", "--stream"]);
    assert!(events.len() > 4 && events.iter().any(|event| event["artifactUpdate"].is_object()), "{events:?}");
}

#[test]
fn a_script_ends_at_the_first_trouble() {
    let sandbox = Sandbox::new();
    let ran = sandbox.run_with("hi\n/taks\nnever\n", &["chat"]);
    assert_eq!(ran.code, 2, "{ran:?}");
    assert!(ran.err.contains("did you mean /task?") && !ran.out.contains("never"), "{ran:?}");
    assert!(ran.out.contains("Resume with: a2a chat"), "{ran:?}");
    let ran = sandbox.run_with("slow 60s\nnever\n", &["chat", "--timeout", "1s"]);
    assert!(ran.code == 5 && ran.err.contains("A2ACLI_ERR_TIMEOUT"), "{ran:?}");
}

#[test]
fn parts_are_collected_for_the_next_message() {
    let sandbox = Sandbox::new();
    std::fs::write(sandbox.work("x.pdf"), "%PDF-").unwrap();
    let ran = sandbox.run_with("/file x.pdf\n/data {\"a\": 1}\nparts\n//new parts\n/save talk.txt\n/save talk.json\n", &["chat"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(ran.out.contains("  2 file application/pdf x.pdf 5 bytes\n  3 data {\"a\":1}\n"), "{ran:?}");
    assert!(ran.out.contains("\n  /new parts\n"), "what begins with two slashes is said: {ran:?}");
    assert!(std::fs::read_to_string(sandbox.work("talk.txt")).unwrap().starts_with("You:\n  parts\n"));
    let saved: Value = serde_json::from_str(&std::fs::read_to_string(sandbox.work("talk.json")).unwrap()).unwrap();
    assert_eq!(saved.as_array().unwrap().len(), 2);
    assert_eq!(saved[0]["sent"]["parts"][1]["filename"], "x.pdf");
    let ran = sandbox.run_with("/save talk.txt\n", &["chat"]);
    assert!(ran.code == 2 && ran.err.contains("talk.txt cannot be written"), "{ran:?}");
    let ran = sandbox.run_with("/card\nhi\n/raw\n/new\nask\n/cancel\n/quit\nnever\n", &["chat"]);
    assert!(ran.code == 0 && ran.out.starts_with("Name: Demo\n") && ran.out.contains("\n  \"task\": {"), "{ran:?}");
    assert!(ran.out.contains("State: CANCELED") && !ran.out.contains("never"), "{ran:?}");
}

/// A2ACLI_CHAT_001: every state at a terminal.
#[test]
fn a_terminal_shows_both_sides_and_every_state() {
    let sandbox = Sandbox::new();
    let mut terminal = Terminal::new(&sandbox, "a2a chat", &PLAIN);
    terminal.until("Demo 0.1.0 over JSONRPC 1.0. /help for commands.\r\n");
    terminal.until("you> ");
    for (said, answer, state) in [
        ("hi", "demo> hi   ", "[COMPLETED "),
        ("ask", "demo> Which city?", "[INPUT_REQUIRED task "),
        ("Paris", "demo> Booked for Paris. ", "[COMPLETED "),
        ("login", "demo> Please sign in, and the task goes on:\r\n  http://", "[AUTH_REQUIRED task "),
        ("done", "demo> Signed in. ", "[COMPLETED "),
        ("fail", "demo> It failed, as you asked. ", "[FAILED "),
        ("reject", "demo> I would rather not. ", "[REJECTED "),
        ("message hallo", "demo> hallo ", "[message "),
        ("unspecified 10ms", "demo> Done after 10ms.", "[COMPLETED "),
        ("cut 2", "demo> 1\r\n  2\r\n  3", "[COMPLETED "),
        ("files", "demo> File: tides.csv (text/csv, 22 bytes)\r\n", "[COMPLETED "),
        ("/raw", "{\r\n  \"task\": {", "}"),
        (
            "港口的潮水早上六点涨，中午退；每个引水员都知道这一点，因为他们每天都在港口工作。",
            "demo> 港口的潮水早上六点涨，中午退；每个引水员都知道这一点，因为他们每天都在港口\r\n  工作。 ",
            "[COMPLETED ",
        ),
    ] {
        terminal.say(said);
        let shown = terminal.until(state);
        assert!(shown.contains(answer), "{said}:\n{shown}");
        terminal.until("you> ");
    }
    terminal.press("\u{4}");
    terminal.until("Resume with: a2a chat");
    let (code, seen) = terminal.end();
    assert_eq!(code, 0);
    let codes = seen.split("\u{1b}[").skip(1).filter_map(|rest| rest.chars().find(char::is_ascii_alphabetic));
    assert!(!codes.into_iter().any(|code| code == 'm'), "no colors: {seen:?}");
}

#[test]
fn ctrl_c_stops_waiting_and_not_the_task() {
    let sandbox = Sandbox::new();
    let mut terminal = Terminal::new(&sandbox, "a2a chat", &PLAIN);
    terminal.until("you> ");
    terminal.say("slow 60s");
    terminal.until("Working for 60s");
    terminal.press("\u{3}");
    let shown = terminal.until(" goes on");
    let task = shown.rsplit_once("task ").unwrap().1.split_whitespace().next().unwrap().to_owned();
    assert_eq!(field(&sandbox.ok(&["task", "get", &task]), "State"), "WORKING");
    terminal.until("you> ");
    terminal.say("hi");
    terminal.until("demo> hi");
    terminal.until("you> ");
    terminal.say("slow 60s");
    terminal.until("Working for 60s");
    terminal.press("\u{3}");
    terminal.until("you> ");
    terminal.say("/task");
    terminal.until("State: WORKING");
    terminal.until("you> ");
    terminal.say("/cancel");
    terminal.until("[CANCELED]");
    terminal.until("you> ");
    terminal.press("half a line\u{3}");
    terminal.until("Ctrl-C again");
    terminal.until("you> ");
    terminal.press("\u{3}");
    terminal.until("Resume with: a2a chat");
    assert_eq!(terminal.end().0, 130);
}

#[test]
fn a_terminal_that_cannot_be_written_to_is_no_chat() {
    let sandbox = Sandbox::new();
    let mut terminal = Terminal::new(&sandbox, "a2a chat >out", &[]);
    terminal.until("Hint: a2a send");
    let (code, seen) = terminal.end();
    assert_eq!(code, 2, "{seen}");
    assert_eq!(std::fs::read_to_string(sandbox.work("out")).unwrap(), "");
}

#[test]
fn only_a_terminal_gets_colors_and_trouble_does_not_end_it() {
    let sandbox = Sandbox::new();
    let mut terminal = Terminal::new(&sandbox, "a2a chat", &[]);
    terminal.until("\u{1b}[1;36myou>\u{1b}[0m ");
    terminal.say("fail \u{16}\u{1b}[2J");
    let shown = terminal.until("\u{1b}[31m[FAILED");
    assert!(shown.contains("\\x1b[2J") && !shown.contains("\u{1b}[2J"), "{shown:?}");
    terminal.until("you>");
    terminal.say("/taks");
    terminal.until("did you mean /task?");
    terminal.until("you>");
    terminal.say("/quit");
    assert_eq!(terminal.end().0, 0);
}

#[test]
fn streams_are_used_unless_they_are_not_wanted() {
    let sandbox = Sandbox::new();
    let ran = sandbox.run_with("slow 300ms\n/card\n", &["chat", "--no-stream"]);
    assert!(ran.code == 0 && ran.out.contains("Done after 300ms.") && ran.out.contains("\nStreaming: yes\n"), "{ran:?}");
    assert_eq!(sandbox.calls("SendStreamingMessage"), 0);
    sandbox.run_with("hi\n", &["chat"]);
    assert_eq!(sandbox.calls("SendStreamingMessage"), 1);
}

#[test]
fn lines_are_edited_and_come_back_in_the_next_conversation() {
    use std::os::unix::fs::PermissionsExt as _;
    let sandbox = Sandbox::new();
    let mut terminal = Terminal::new(&sandbox, "a2a chat", &PLAIN);
    terminal.until("you> ");
    // Two to the left, and one character instead of another; then to the end and the rest of it.
    terminal.press("fire hall\u{1b}[D\u{1b}[D\u{7f}i\u{5}s\r");
    terminal.until("demo> fire hills ");
    terminal.until("you> ");
    terminal.say(" secret");
    terminal.until("demo> ");
    terminal.until("you> ");
    terminal.say("/quit");
    assert_eq!(terminal.end().0, 0);
    let file = sandbox.home.path(".local/state/a2a-cli/chat-history");
    let kept = std::fs::read_to_string(&file).unwrap();
    assert!(kept.contains("fire hills\n") && !kept.contains("secret"), "{kept}");
    let mode = |path: &std::path::Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&file), mode(file.parent().unwrap())), (0o600, 0o700));
    let mut terminal = Terminal::new(&sandbox, "a2a chat", &PLAIN);
    terminal.until("you> ");
    // Up: /quit, and up again.
    terminal.press("\u{1b}[A\u{1b}[A\r");
    terminal.until("demo> fire hills ");
    terminal.until("you> ");
    terminal.press("\u{4}");
    assert_eq!(terminal.end().0, 0);
}

/// The editor changes how the terminal works; whoever ends the chat from outside gets it back as it was.
#[test]
fn a_chat_that_is_terminated_leaves_the_terminal_as_it_was() {
    let sandbox = Sandbox::new();
    let mut terminal =
        Terminal::new(&sandbox, "sh -c 'echo pid $$; exec \"$0\" chat' \"$A2A\"; stty -a", &[("A2A", env!("CARGO_BIN_EXE_a2a"))]);
    terminal.until("pid ");
    let pid = terminal.until("\r\n").trim().to_owned();
    terminal.until("you>");
    assert!(std::process::Command::new("kill").args(["-TERM", &pid]).status().unwrap().success());
    let (_, seen) = terminal.end();
    let modes: Vec<_> = seen.split_whitespace().collect();
    assert!(["icanon", "echo", "isig"].iter().all(|mode| modes.contains(mode)), "{seen}");
}

#[test]
fn a_terminal_without_a_cursor_has_plain_lines() {
    let sandbox = Sandbox::new();
    let mut terminal = Terminal::new(&sandbox, "a2a chat", &[("TERM", "dumb")]);
    terminal.until("you> ");
    terminal.say("hi");
    terminal.until("demo> hi");
    terminal.until("you> ");
    terminal.press("\u{4}");
    let (code, seen) = terminal.end();
    assert!(code == 0 && !seen.contains('\u{1b}'), "{seen:?}");
}

/// A2ACLI_AUTH_011: a task that was authorized elsewhere goes on without a message, and Enter shows what came of it.
#[test]
fn an_authorization_is_given_elsewhere_and_the_conversation_goes_on() {
    let sandbox = Sandbox::new();
    let mut terminal = Terminal::new(&sandbox, "a2a chat", &PLAIN);
    terminal.until("you> ");
    for said in ["", "done"] {
        terminal.say("login");
        terminal.until("  http://");
        let link = terminal.until("\r\n").trim().to_owned();
        terminal.until("you> ");
        terminal.say("");
        terminal.until("still waits for the authorization");
        terminal.until("you> ");
        assert!(super::task::open(&link).contains("the task goes on"));
        terminal.say(said);
        let shown = terminal.until("[COMPLETED]");
        assert!(shown.contains("demo> Signed in. ") && shown.contains("was not sent") != said.is_empty(), "{shown}");
        terminal.until("you> ");
    }
    terminal.press("\u{4}");
    assert_eq!(terminal.end().0, 0);
}
