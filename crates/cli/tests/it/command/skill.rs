//! `a2a skill …`.

use super::Sandbox;

/// A2ACLI_SKILL_001: there is one skill, it is short, and help says the rest.
#[test]
fn the_skill_is_short_and_points_to_help() {
    let sandbox = Sandbox::new();
    let skill = sandbox.ok(&["skill", "print"]);
    assert!(skill.split_whitespace().count() < 600, "{} words", skill.split_whitespace().count());
    let head = skill.strip_prefix("---\n").and_then(|rest| rest.split_once("\n---\n")).unwrap().0;
    for label in ["name: a2a", "description: ", "compatibility: "] {
        assert!(head.lines().any(|line| line.starts_with(label)), "{label}\n{head}");
    }
    assert!(skill.contains("`a2a help`"));
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    assert_eq!(skill, std::fs::read_to_string(root.join("skill/SKILL.md")).unwrap());
}

/// A2ACLI_SKILL_002: it says how, not what must be.
#[test]
fn the_skill_repeats_no_specification() {
    let skill = Sandbox::new().ok(&["skill", "print"]);
    let normative = |word: &str| {
        ["MUST", "SHALL", "SHOULD"].contains(&word) || word.starts_with("A2ACLI_") && word.ends_with(|c: char| c.is_ascii_digit())
    };
    let found: Vec<_> = skill.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').filter(|word| normative(word)).collect();
    assert!(found.is_empty(), "{found:?}");
}

/// A2ACLI_SKILL_001: every command of the skill and of its examples does what it is shown for.
#[test]
fn what_the_skill_shows_works() {
    let sandbox = Sandbox::new();
    std::fs::write(sandbox.work("report.pdf"), "%PDF-").unwrap();
    std::fs::write(sandbox.work("notes.txt"), "high tide").unwrap();
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut ran = 0;
    for file in ["skill/SKILL.md", "skill/EXAMPLES.md"] {
        let text = std::fs::read_to_string(root.join(file)).unwrap();
        for block in text.split("```sh\n").skip(1) {
            let commands = block.split("```").next().unwrap().replace("slow 30s", "slow 300ms");
            // What ends before it can be canceled is no fault of the example.
            let commands: String =
                commands.lines().filter(|line| !line.contains("a2a task cancel")).map(|line| format!("{line}\n")).collect();
            let script = format!("set -e; a2a() {{ '{}' \"$@\"; }};\n{}", env!("CARGO_BIN_EXE_a2a"), with_own_jq(&commands));
            let like = sandbox.command(&[]);
            let mut shell = std::process::Command::new("bash");
            shell.args(["-c", &script]).current_dir(sandbox.home.path("work"));
            for (name, value) in like.get_envs() {
                match value {
                    Some(value) => shell.env(name, value),
                    None => shell.env_remove(name),
                };
            }
            let done = shell.output().unwrap();
            assert!(done.status.success(), "{script}\n{}", String::from_utf8_lossy(&done.stderr));
            ran += 1;
        }
    }
    assert!(ran >= 7, "{ran} blocks");
}

/// `… -o json | jq -r EXPR` with the filter of the binary, so that the test needs no other.
fn with_own_jq(commands: &str) -> String {
    commands.replace("-o json | jq -r ", "--jq ").replace("-o json | jq -c ", "--jq ")
}

#[test]
fn the_skill_is_put_where_agents_look() {
    let sandbox = Sandbox::new();
    std::fs::create_dir_all(sandbox.work("project")).unwrap();
    let out = sandbox.ok(&["skill", "install", "--scope", "project"]);
    assert!(out.starts_with("Installed: project/.agents/skills/a2a/SKILL.md\n"), "{out}");
    let installed = std::fs::read_to_string(sandbox.work("project/.agents/skills/a2a/SKILL.md")).unwrap();
    assert_eq!(installed, sandbox.ok(&["skill", "print"]));
    let skills = std::fs::read_dir(sandbox.work("project/.agents/skills")).unwrap().count();
    assert_eq!(skills, 1);
    sandbox.ok(&["skill", "install"]);
    assert!(sandbox.home.path(".agents/skills/a2a/SKILL.md").is_file());
    assert_eq!(sandbox.run(&["skill", "install", "--scope", "nowhere"]).code, 2);
    assert!(!sandbox.work("nowhere").exists());
}
