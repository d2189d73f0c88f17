//! Help, versions, completion, and the examples of every command.

use std::process::Stdio;

use super::{Sandbox, finish};

/// A2ACLI_CLI_001
#[test]
fn help_and_version_are_printed_and_end() {
    let sandbox = Sandbox::new();
    for arguments in [&["help"][..], &["help", "send"], &["send", "--help"], &["send", "-h"], &["help", "task", "push-config", "create"]] {
        let out = sandbox.ok(arguments);
        assert!(out.contains("Usage: a2a") && out.contains("Example:\n  a2a "), "{arguments:?} {out}");
    }
    for arguments in [&["-v"][..], &["--version"], &["send", "--version"]] {
        assert!(sandbox.ok(arguments).trim_end().ends_with(env!("CARGO_PKG_VERSION")), "{arguments:?}");
    }
    for topic in ["references", "environment", "exit-codes"] {
        assert!(sandbox.ok(&["help", topic]).lines().count() > 8, "{topic}");
    }
    std::fs::write(sandbox.work(".env"), "A2ACLI_TIMEOUT=30s\n").unwrap();
    let help = sandbox.ok(&["send", "--help"]).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(help.contains("[30s from ~/work/.env]"), "{help}");
    assert_eq!(sandbox.json(&["version"])["version"], env!("CARGO_PKG_VERSION"));
}

/// A2ACLI_CLI_001: -h is what one needs at once, --help everything.
#[test]
fn short_help_is_short_and_names_only_what_the_command_uses() {
    let sandbox = Sandbox::new();
    for words in [&["send"][..], &["task", "get"], &["card", "get"], &["chat"], &["doctor"]] {
        let (short, long) = (sandbox.ok(&[words, &["-h"]].concat()), sandbox.ok(&[words, &["--help"]].concat()));
        assert!(short.lines().count() <= 45 && short.lines().count() * 2 < long.lines().count(), "{words:?}\n{short}");
        assert!(short.contains("--agent-card") && !short.contains("--bearer") && long.contains("--bearer"), "{words:?}\n{short}");
        assert!(!short.contains("Exit codes") && long.contains("Exit codes"), "{words:?}");
    }
    for (words, absent) in [
        (&["keys", "list"][..], &["--agent-card", "--timeout", "--bearer", "--task-id", "--dry-run"][..]),
        (&["completion"], &["--agent-card", "--output", "--stream", "--jq"]),
        (&["task", "get"], &["--task-id", "--context-id", "--async", "--metadata"]),
        (&["send"], &[]),
        (&["serve"], &["--agent-card", "--transport", "--timeout"]),
        (&["task"], &["--agent-card"]),
        (&[], &["--agent-card", "--bearer"]),
    ] {
        let help = sandbox.ok(&[words, &["--help"]].concat());
        assert!(absent.iter().all(|flag| !help.contains(flag)), "{words:?}\n{help}");
    }
    // What means nothing is taken, and said.
    let ran = sandbox.run(&["keys", "list", "--task-id", "x"]);
    assert!(ran.code == 0 && ran.err.contains("note: --task-id means nothing to \"a2a keys list\""), "{ran:?}");
    assert_eq!(sandbox.run(&["keys", "list", "--task-id", "x", "-q"]).err, "");
}

/// Without a command, help says which there are, and the error is what it is for other wrong command lines.
#[test]
fn without_a_command_there_is_help() {
    let sandbox = Sandbox::new();
    for (words, shown) in [(&[][..], "Usage: a2a <COMMAND>"), (&["task"], "Usage: a2a task <COMMAND>")] {
        let ran = sandbox.run(words);
        assert_eq!((ran.code, ran.out.as_str()), (2, ""), "{ran:?}");
        assert!(ran.err.contains(shown) && ran.err.contains("\nCommands:\n"), "{ran:?}");
        assert!(ran.err.contains("\nError: A2ACLI_ERR_USAGE\nMessage: "), "{ran:?}");
    }
    let ran = sandbox.run(&["-o", "json"]);
    assert!(ran.code == 2 && ran.out.contains("A2ACLI_ERR_USAGE") && !ran.err.contains("Usage"), "{ran:?}");
}

/// A2ACLI_CLI_002: a shell is offered the values that an option has, and files only where a file is meant.
#[test]
fn completion_offers_values_and_no_files_in_their_place() {
    let sandbox = Sandbox::new();
    std::fs::write(sandbox.work("a2a.bash"), sandbox.ok(&["completion", "bash"])).unwrap();
    std::fs::write(sandbox.work("jar.txt"), "").unwrap();
    let offered = |line: &str| {
        let words: Vec<_> = line.split(' ').collect();
        let (count, last) = (words.len() - 1, words[words.len() - 1]);
        let script = format!(
            "source ./a2a.bash; COMP_WORDS=({}); COMP_CWORD={count}; _a2a a2a '{last}' '{}' 2>/dev/null; echo \"${{COMPREPLY[@]}}\"",
            words.iter().map(|word| format!("'{word}'")).collect::<Vec<_>>().join(" "),
            words[count - 1],
        );
        let ran = finish(std::process::Command::new("bash").args(["-c", &script]).current_dir(sandbox.home.path("work")));
        ran.out.trim_end().to_owned()
    };
    assert_eq!(offered("a2a send --transport "), "jsonrpc rest grpc");
    assert_eq!(offered("a2a send --transport j"), "jsonrpc");
    assert_eq!(offered("a2a send --output "), "text json table");
    assert_eq!(offered("a2a task get --a2a-version 0"), "0.3 0.2 0.1");
    assert_eq!(offered("a2a send --timeout j"), "j", "no file");
    assert_eq!(offered("a2a send --file j"), "jar.txt");
    assert_eq!(offered("a2a auth login --flow d"), "device");
    assert!(!offered("a2a keys list --").contains("--bearer") && offered("a2a send --b").contains("--bearer"));
}

/// A2ACLI_CLI_002
#[test]
fn completion_is_a_script() {
    let sandbox = Sandbox::new();
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        assert!(sandbox.ok(&["completion", shell]).contains("push-config"), "{shell}");
    }
    let script = sandbox.ok(&["completion", "bash"]);
    std::fs::write(sandbox.work("a2a.bash"), script).unwrap();
    let checked = std::process::Command::new("bash").args(["-n", "a2a.bash"]).current_dir(sandbox.home.path("work")).status().unwrap();
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
fn commands(sandbox: &Sandbox, path: &[&str], found: &mut Vec<Vec<String>>) {
    let help = sandbox.ok(&[path, &["--help"]].concat());
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
        commands(sandbox, &[path, &[name.as_str()]].concat(), found);
    }
}

#[test]
fn the_example_of_every_command_runs() {
    let sandbox = Sandbox::new();
    let mut all = Vec::new();
    commands(&sandbox, &[], &mut all);
    assert!(all.len() > 25, "{all:?}");
    let task = sandbox.task("slow 1s");
    sandbox.ok(&["task", "push-config", "create", &task, "https://hook.example/a2a", "--id", "CONFIG_ID"]);
    let waiting = sandbox.json(&["send", "login"])["task"]["id"].as_str().unwrap().to_owned();
    let flow = format!("[agent.demo]\ncard = \"{}\"\n", sandbox.at(""));
    std::fs::write(sandbox.home.path("work/flow.toml"), flow).unwrap();
    let mut ran = 0;
    for path in all {
        let words: Vec<_> = path.iter().map(String::as_str).collect();
        let help = sandbox.ok(&[&words[..], &["--help"]].concat());
        let example = help.split_once("Example:\n  ").unwrap().1.lines().next().unwrap();
        if NOT_RUN.iter().any(|command| example.starts_with(command)) {
            continue;
        }
        // What needs a task gets one: one that waits, one that is under way, or one that is done.
        let id = match example {
            _ if example.contains("authorize") => {
                sandbox.ok(&["send", "-q", "--task-id", &waiting, "done"]);
                waiting.clone()
            }
            _ if example.contains("subscribe") || example.contains("cancel") => sandbox.task("slow 1s"),
            _ => task.clone(),
        };
        let line = example.replacen("a2a", env!("CARGO_BIN_EXE_a2a"), 1).replace("localhost:8080", &sandbox.at("")).replace("TASK_ID", &id);
        let mut shell = std::process::Command::new("sh");
        shell.args(["-c", &line]).env("HOME", sandbox.home.root()).current_dir(sandbox.home.path("work")).stdin(Stdio::null());
        let result = finish(&mut shell);
        let not_built = result.err.contains("is not built yet");
        assert!(result.code == 0 || not_built, "{example}\n{result:?}");
        ran += usize::from(!not_built);
    }
    assert!(ran >= 16, "{ran}");
}
