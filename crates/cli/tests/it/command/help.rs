//! Help, versions, completion, and the examples of every command.

use std::process::Stdio;

use super::{Desk, finish};

/// A2ACLI_CLI_001
#[test]
fn help_and_version_are_printed_and_end() {
    let desk = Desk::new();
    for arguments in [&["help"][..], &["help", "send"], &["send", "--help"], &["send", "-h"], &["help", "task", "push-config", "create"]] {
        let out = desk.ok(arguments);
        assert!(out.contains("Usage: a2a") && out.contains("Example:\n  a2a "), "{arguments:?} {out}");
    }
    for arguments in [&["-v"][..], &["--version"], &["send", "--version"]] {
        assert!(desk.ok(arguments).trim_end().ends_with(env!("CARGO_PKG_VERSION")), "{arguments:?}");
    }
    for topic in ["references", "environment", "exit-codes"] {
        assert!(desk.ok(&["help", topic]).lines().count() > 8, "{topic}");
    }
    std::fs::write(desk.work(".env"), "A2ACLI_TIMEOUT=30s\n").unwrap();
    let help = desk.ok(&["send", "--help"]).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(help.contains("[30s from ~/work/.env]"), "{help}");
    assert_eq!(desk.json(&["version"])["version"], env!("CARGO_PKG_VERSION"));
}

/// A2ACLI_CLI_002
#[test]
fn completion_is_a_script() {
    let desk = Desk::new();
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        assert!(desk.ok(&["completion", shell]).contains("push-config"), "{shell}");
    }
    let script = desk.ok(&["completion", "bash"]);
    std::fs::write(desk.work("a2a.bash"), script).unwrap();
    let checked = std::process::Command::new("bash").args(["-n", "a2a.bash"]).current_dir(desk.home.path("work")).status().unwrap();
    assert!(checked.success());
}

/// The commands whose examples are not run here: they stay, or need what an example cannot have. Each has tests of its own.
const NOT_RUN: [&str; 10] = [
    "a2a serve",
    "a2a demo-server",
    "a2a auth",
    "a2a chat",
    "a2a push",
    "a2a card sign",
    "a2a card diff",
    "a2a keys show",
    "a2a keys import",
    "a2a keys remove",
];

/// Every command of the tree: the words that lead to it.
fn commands(desk: &Desk, path: &[&str], found: &mut Vec<Vec<String>>) {
    let help = desk.ok(&[path, &["--help"]].concat());
    let names: Vec<String> = match help.split_once("\nCommands:\n") {
        Some((_, list)) => {
            let lines = list.lines().take_while(|line| !line.is_empty());
            lines
                .filter(|line| line.starts_with("  ") && !line.starts_with("   "))
                .filter_map(|line| line.split_whitespace().next())
                .map(str::to_owned)
                .collect()
        }
        None => {
            found.push(path.iter().map(|word| (*word).to_owned()).collect());
            return;
        }
    };
    for name in &names {
        commands(desk, &[path, &[name.as_str()]].concat(), found);
    }
}

#[test]
fn the_example_of_every_command_runs() {
    let desk = Desk::new();
    let mut all = Vec::new();
    commands(&desk, &[], &mut all);
    assert!(all.len() > 25, "{all:?}");
    let task = desk.task("slow 1s");
    desk.ok(&["task", "push-config", "create", &task, "https://hook.example/a2a", "--id", "CONFIG_ID"]);
    let waiting = desk.json(&["send", "login"])["task"]["id"].as_str().unwrap().to_owned();
    let flow = format!("[agent.demo]\ncard = \"{}\"\n", desk.at(""));
    std::fs::write(desk.home.path("work/flow.toml"), flow).unwrap();
    let mut ran = 0;
    for path in all {
        let words: Vec<_> = path.iter().map(String::as_str).collect();
        let help = desk.ok(&[&words[..], &["--help"]].concat());
        let example = help.split_once("Example:\n  ").unwrap().1.lines().next().unwrap();
        if NOT_RUN.iter().any(|command| example.starts_with(command)) {
            continue;
        }
        // What needs a task gets one: one that waits, one that is under way, or one that is done.
        let id = match example {
            _ if example.contains("authorize") => {
                desk.ok(&["send", "-q", "--task-id", &waiting, "done"]);
                waiting.clone()
            }
            _ if example.contains("subscribe") || example.contains("cancel") => desk.task("slow 1s"),
            _ => task.clone(),
        };
        let line = example.replacen("a2a", env!("CARGO_BIN_EXE_a2a"), 1).replace("localhost:8080", &desk.at("")).replace("TASK_ID", &id);
        let mut shell = std::process::Command::new("sh");
        shell.args(["-c", &line]).env("HOME", desk.home.root()).current_dir(desk.home.path("work")).stdin(Stdio::null());
        let result = finish(&mut shell);
        let not_built = result.err.contains("is not built yet");
        assert!(result.code == 0 || not_built, "{example}\n{result:?}");
        ran += usize::from(!not_built);
    }
    assert!(ran >= 16, "{ran}");
}
