//! `a2a task …`.

use std::{
    io::{BufRead as _, BufReader, Read as _, Write as _},
    process::Stdio,
    time::{Duration, Instant},
};

use super::{Sandbox, ended, field, terminal::Terminal};

/// A2ACLI_TASK_GET_001
#[test]
fn a_task_is_shown_with_its_artifacts_and_history() {
    let sandbox = Sandbox::new();
    let task = sandbox.json(&["send", "hi"])["task"]["id"].as_str().unwrap().to_owned();
    let out = sandbox.ok(&["task", "get", &task, "--history", "5"]);
    assert_eq!(field(&out, "State"), "COMPLETED");
    assert!(out.contains("Artifact: echo\nText:\n  hi\n\nHistory: 1 of 1\n"), "{out}");
    assert!(!sandbox.ok(&["task", "get", &task, "--history", "0"]).contains("History"));
}

/// A2ACLI_TASK_CANCEL_001
#[test]
fn a_task_can_be_canceled_twice_and_a_finished_one_cannot() {
    let sandbox = Sandbox::new();
    let task = sandbox.task("slow 60s");
    for _ in 0..2 {
        assert_eq!(field(&sandbox.ok(&["task", "cancel", &task]), "State"), "CANCELED");
    }
    let done = sandbox.json(&["send", "hi"])["task"]["id"].as_str().unwrap().to_owned();
    let ran = sandbox.run(&["task", "cancel", &done]);
    assert_eq!(ran.code, 1);
    assert!(ran.err.contains("Error: TaskNotCancelableError") && ran.err.contains("it is COMPLETED"), "{ran:?}");
}

/// A2ACLI_TASK_POLL_001
#[test]
fn a_task_is_read_once_or_until_it_ends() {
    let sandbox = Sandbox::new();
    let task = sandbox.task("slow 1500ms");
    assert_eq!(field(&sandbox.ok(&["task", "get", &task]), "State"), "WORKING");
    assert_eq!(field(&sandbox.ok(&["task", "get", "--wait", "--poll-interval", "200ms", &task]), "State"), "COMPLETED");
}

/// A2ACLI_TASK_POLL_002
#[test]
fn polling_obeys_its_interval_and_its_time() {
    let sandbox = Sandbox::new();
    let agent = sandbox.at("/nostream");
    let task = sandbox.json(&["send", "-a", &agent, "--async", "slow 60s"])["task"]["id"].as_str().unwrap().to_owned();
    let before = sandbox.calls("GetTask");
    let begun = Instant::now();
    let ran = sandbox.run(&["task", "get", "-a", &agent, "--wait", "--poll-interval", "500ms", "--timeout", "2s", &task]);
    let took = begun.elapsed();
    assert_eq!(ran.code, 5, "{ran:?}");
    assert!(took >= Duration::from_secs(2) && took < Duration::from_secs(10), "{took:?}");
    let calls = sandbox.calls("GetTask") - before;
    assert!((2..=5).contains(&calls), "{calls}");
    assert!(ran.err.contains(&format!("Hint: a2a task get -a {agent} --wait {task}")), "{ran:?}");
}

/// A2ACLI_TASK_POLL_001: where there are streams, nobody has to ask again and again.
#[test]
fn a_wait_for_a_task_is_a_subscription_where_there_are_any() {
    let sandbox = Sandbox::new();
    let task = sandbox.task("slow 1500ms");
    let (gets, subscriptions) = (sandbox.calls("GetTask"), sandbox.calls("SubscribeToTask"));
    let out = sandbox.ok(&["task", "get", "--wait", "--poll-interval", "100ms", "--history", "5", &task]);
    assert_eq!(field(&out, "State"), "COMPLETED");
    assert!(out.contains("Done after 1500ms.") && out.contains("History: 1 of 2"), "{out}");
    assert_eq!(sandbox.calls("SubscribeToTask") - subscriptions, 1);
    assert_eq!(sandbox.calls("GetTask") - gets, 2, "once before, and once at the end for the whole task");
}

/// A2ACLI_TASK_POLL_002: whoever stops a wait keeps the id and the command to go on.
#[test]
fn a_wait_that_is_stopped_leaves_the_id_and_the_task() {
    let sandbox = Sandbox::new();
    for (signal, code) in [("-INT", 130), ("-TERM", 143)] {
        let mut child = sandbox.command(&["send", "slow 60s"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut err = BufReader::new(child.stderr.take().unwrap());
        let mut said = String::new();
        while !said.contains("WORKING") {
            assert!(err.read_line(&mut said).unwrap() > 0, "{said}");
        }
        let kill = std::process::Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap();
        assert!(kill.success());
        child.stderr = None;
        let status = child.wait().unwrap();
        let mut rest = String::new();
        std::io::Read::read_to_string(&mut err, &mut rest).unwrap();
        assert_eq!(status.code(), Some(code), "{rest}");
        let task = field(&rest, "Task ID");
        assert_eq!(field(&rest, "Resume with"), format!("a2a task get -a {} --wait {task}", sandbox.at("")));
        assert_eq!(field(&sandbox.ok(&["task", "get", task]), "State"), "WORKING");
    }
}

/// A2ACLI_TASK_POLL_003
#[test]
fn interrupted_states_end_a_wait_and_no_state_does_not() {
    let sandbox = Sandbox::new();
    for agent in ["", "/nostream"] {
        for (text, state) in [("ask", "INPUT_REQUIRED"), ("login", "AUTH_REQUIRED"), ("unspecified 500ms", "COMPLETED")] {
            let out = sandbox.ok(&["send", "-a", &sandbox.at(agent), "--poll-interval", "200ms", "--timeout", "30s", text]);
            assert_eq!(field(&out, "State"), state, "{agent} {text}");
        }
    }
}

/// A2ACLI_TASK_POLL_004
#[test]
fn a_wait_whose_stream_is_lost_goes_on_by_polling() {
    let ran = Sandbox::new().run(&["send", "cut 2"]);
    assert_eq!((ran.code, field(&ran.out, "State")), (0, "COMPLETED"), "{ran:?}");
    assert!(ran.err.contains("polling"), "{ran:?}");
    assert!(ran.out.contains("\n  6\n  7\n\n"), "{ran:?}");
}

/// A2ACLI_TASK_LIST_001
#[test]
fn tasks_are_listed_in_pages_and_filtered() {
    let sandbox = Sandbox::new();
    let context = sandbox.json(&["send", "one"])["task"]["contextId"].as_str().unwrap().to_owned();
    for text in ["two", "three"] {
        sandbox.json(&["send", "--context-id", &context, text]);
    }
    sandbox.json(&["send", "elsewhere"]);
    sandbox.json(&["send", "ask", "--context-id", &context]);
    let page = |more: &[&str]| {
        sandbox.json(&[&["task", "list", "--page-size", "2", "--status", "completed", "--context-id", &context], more].concat())
    };
    let first = page(&[]);
    assert_eq!((first["tasks"].as_array().unwrap().len(), first["totalSize"].as_i64()), (2, Some(3)), "{first}");
    let second = page(&["--page-token", first["nextPageToken"].as_str().unwrap()]);
    assert_eq!((second["tasks"].as_array().unwrap().len(), second["nextPageToken"].as_str()), (1, Some("")), "{second}");
    assert_eq!(sandbox.json(&["task", "list", "--all"])["tasks"].as_array().unwrap().len(), 5);
    let table = sandbox.ok(&["task", "list", "-o", "table"]);
    assert!(table.starts_with("TASK ID ") && table.lines().count() == 6, "{table}");
    let lines = sandbox.ok(&["task", "list", "-o", "json", "--stream"]);
    assert!(lines.lines().count() == 5 && lines.lines().all(|line| line.starts_with("{\"id\":")), "{lines}");
    let out = sandbox.ok(&["task", "list", "--page-size", "1", "--since", "2020-01-01T00:00:00Z"]);
    assert!(out.starts_with("Task: 1 of 1\nTask ID: ") && out.contains("\nTotal: 5\nNext page token: "), "{out}");
}

/// A2ACLI_TASK_SUBSCRIBE_001
#[test]
fn a_subscription_shows_events_or_the_end() {
    let sandbox = Sandbox::new();
    let task = sandbox.task("slow 1500ms");
    let out = sandbox.ok(&["task", "subscribe", "--stream", &task, "-o", "json"]);
    let lines: Vec<serde_json::Value> = out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines[0]["task"]["id"], task.as_str());
    assert_eq!(lines.last().unwrap()["statusUpdate"]["status"]["state"], "TASK_STATE_COMPLETED");
    let task = sandbox.task("slow 1s");
    assert_eq!(sandbox.json(&["task", "subscribe", &task])["status"]["state"], "TASK_STATE_COMPLETED");
    let ran = sandbox.run(&["task", "subscribe", &task]);
    assert!(ran.code == 1 && ran.err.contains("UnsupportedOperationError") && ran.err.contains("Hint: a2a task get"), "{ran:?}");
}

/// A2ACLI_TASK_SUBSCRIBE_002
#[test]
fn a_lost_subscription_is_taken_up_again_without_reading_the_task() {
    let sandbox = Sandbox::new();
    let ran = sandbox.run(&["send", "--stream", "--debug", "cut 3", "-o", "json"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(ran.err.contains("subscribing again") && !ran.err.contains("\"GetTask\""), "{}", ran.err);
    let numbers: Vec<_> =
        ran.out.lines().filter(|line| line.contains("artifactUpdate")).filter_map(|line| line.split("\"text\":\"").nth(1)).collect();
    let numbers: Vec<_> = numbers.iter().filter_map(|text| text.split("\\n").next()).filter_map(|text| text.parse::<u32>().ok()).collect();
    assert_eq!(numbers, (1..=8).collect::<Vec<_>>(), "{}", ran.out);
}

/// A2ACLI_DOWNLOAD_001
#[test]
fn artifacts_are_saved_and_files_are_not_replaced() {
    let sandbox = Sandbox::new();
    let task = sandbox.json(&["send", "files"])["task"]["id"].as_str().unwrap().to_owned();
    let saved = sandbox.json(&["task", "download", &task, "--output-dir", "out"]);
    let paths: Vec<_> = saved["files"].as_array().unwrap().iter().map(|file| file["path"].as_str().unwrap()).collect();
    assert_eq!(paths, ["out/files.txt", "out/files-2.json", "out/tides.csv", "out/harbor.png.url"]);
    assert_eq!(std::fs::read_to_string(sandbox.work("out/tides.csv")).unwrap(), "time,meters\n06:12,4.2\n");
    let ran = sandbox.run(&["task", "download", &task, "--output-dir", "out"]);
    assert!(ran.code == 2 && ran.err.contains("--force"), "{ran:?}");
    sandbox.ok(&["task", "download", &task, "--output-dir", "out", "--force"]);
}

/// A2ACLI_PUSH_001
#[test]
fn webhooks_are_made_read_listed_and_removed() {
    let sandbox = Sandbox::new();
    let task = sandbox.task("slow 60s");
    let made = sandbox.json(&["task", "push-config", "create", &task, "https://hook.example/a2a", "--id", "c1", "--token", "t0ken"]);
    assert_eq!((made["id"].as_str(), made["taskId"].as_str()), (Some("c1"), Some(task.as_str())));
    assert_eq!(sandbox.json(&["task", "push-config", "get", &task, "c1"])["url"], "https://hook.example/a2a");
    assert_eq!(sandbox.json(&["task", "push-config", "list", &task])["configs"].as_array().unwrap().len(), 1);
    assert!(!sandbox.ok(&["task", "push-config", "list", &task]).contains("t0ken"));
    assert_eq!(sandbox.json(&["task", "push-config", "delete", &task, "c1"]), serde_json::json!({}));
    assert_eq!(sandbox.json(&["task", "push-config", "list", &task])["configs"].as_array().map_or(0, Vec::len), 0);
}

/// A2ACLI_AUTH_011: whoever opens the link that is printed lets the task go on, whether somebody waits for that or not.
#[test]
fn the_link_of_a_task_that_wants_an_authorization_lets_it_go_on() {
    let sandbox = Sandbox::new();
    for agent in ["", "/nostream"] {
        let agent = sandbox.at(agent);
        let asked = sandbox.ok(&["send", "-a", &agent, "login"]);
        let link = asked.lines().find_map(|line| line.strip_prefix("  http://")).unwrap_or_else(|| panic!("{asked}"));
        let task = field(&asked, "Task ID");
        assert_eq!(field(&asked, "Resume with"), format!("a2a task authorize -a {agent} {task}"));
        assert!(open(link).contains("the task goes on"));
        let out = sandbox.ok(&["task", "authorize", "-a", &agent, task]);
        assert!(field(&out, "State") == "COMPLETED" && out.contains("Signed in."), "{out}");
        assert!(!open(link).contains("the task goes on"), "a link is good once");
    }
}

/// Opens a page, given without its scheme.
pub(super) fn open(link: &str) -> String {
    let (host, path) = link.split_once('/').unwrap();
    let mut stream = std::net::TcpStream::connect(host).unwrap();
    write!(stream, "GET /{path} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n\r\n").unwrap();
    let mut page = String::new();
    stream.read_to_string(&mut page).unwrap();
    page
}

/// A2ACLI_AUTH_011: on a terminal the command that is printed opens the link, and shows the end.
#[test]
fn task_authorize_opens_the_link_and_waits() {
    use std::os::unix::fs::PermissionsExt as _;
    if std::process::Command::new("curl").arg("--version").stdout(Stdio::null()).status().is_err() {
        return crate::process::untested("curl is needed to be a browser");
    }
    let sandbox = Sandbox::new();
    let asked = sandbox.ok(&["send", "login"]);
    let browser = sandbox.work("xdg-open");
    std::fs::write(&browser, "#!/bin/sh\nexec curl -s \"$1\"\n").unwrap();
    std::fs::set_permissions(&browser, std::fs::Permissions::from_mode(0o755)).unwrap();
    let path = format!("{}:{}", sandbox.home.path("work").display(), std::env::var("PATH").unwrap());
    let line = field(&asked, "Resume with");
    let (code, seen) = Terminal::new(&sandbox, line, &[("PATH", &path), ("CI", "1")]).end();
    assert_eq!(code, 0, "{seen}");
    assert!(seen.contains("Link: http://") && seen.contains("State: COMPLETED\r\n") && seen.contains("Signed in."), "{seen}");
}

/// A2ACLI_AUTH_011: the part that waits.
#[test]
fn an_authorization_is_waited_for() {
    let sandbox = Sandbox::new();
    let task = sandbox.json(&["send", "login"])["task"]["id"].as_str().unwrap().to_owned();
    let mut command = sandbox.command(&["task", "authorize", &task]);
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut err = BufReader::new(child.stderr.take().unwrap());
    let mut said = String::new();
    while !said.contains("AUTH_REQUIRED") {
        assert!(err.read_line(&mut said).unwrap() > 0, "{said}");
    }
    assert!(said.contains("Please sign in"), "{said}");
    sandbox.ok(&["send", "--task-id", &task, "done"]);
    let mut rest = String::new();
    std::io::Read::read_to_string(&mut err, &mut rest).unwrap();
    child.stderr = Some(std::process::Command::new("true").stderr(Stdio::piped()).spawn().unwrap().stderr.unwrap());
    let ran = ended(child);
    assert_eq!((ran.code, field(&ran.out, "State")), (0, "COMPLETED"), "{ran:?}");
}
