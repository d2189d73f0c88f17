//! Settings: their order, and `a2a config show`.

use super::{Sandbox, finish};

/// A2ACLI_CONFIG_002
#[test]
fn each_value_shows_its_source() {
    let sandbox = Sandbox::new();
    let folder = sandbox.home.path(".config/a2a-cli");
    std::fs::create_dir_all(folder.join("agents")).unwrap();
    let agent = folder.join(format!("agents/localhost_{}.env", sandbox.port));
    std::fs::write(folder.join(".env"), "A2ACLI_TIMEOUT=5s\n").unwrap();
    std::fs::write(&agent, "A2ACLI_TIMEOUT=4s\n").unwrap();
    std::fs::write(sandbox.work(".env"), "OTHER=x\nA2ACLI_TIMEOUT=3s\n").unwrap();
    let shown = |flags: &[&str], variable: Option<&str>| {
        let mut command = sandbox.command(&[&["config", "show"], flags].concat());
        if let Some(value) = variable {
            command.env("A2ACLI_TIMEOUT", value);
        }
        let ran = finish(command.stdin(std::process::Stdio::null()));
        ran.out.lines().find(|line| line.starts_with("timeout: ")).unwrap_or_else(|| panic!("{ran:?}")).to_owned()
    };
    assert_eq!(shown(&["--timeout", "1s"], Some("2s")), "timeout: 1s (flag)");
    assert_eq!(shown(&[], Some("2s")), "timeout: 2s (environment A2ACLI_TIMEOUT)");
    assert_eq!(shown(&[], None), "timeout: 3s (local file ~/work/.env)");
    std::fs::remove_file(sandbox.work(".env")).unwrap();
    assert_eq!(shown(&[], None), format!("timeout: 4s (file ~/.config/a2a-cli/agents/localhost_{}.env)", sandbox.port));
    std::fs::remove_file(agent).unwrap();
    assert_eq!(shown(&[], None), "timeout: 5s (file ~/.config/a2a-cli/.env)");
    std::fs::remove_file(folder.join(".env")).unwrap();
    assert_eq!(shown(&[], None), "timeout: 10m (built-in)");
}

/// A2ACLI_CONFIG_002: a flag goes before what is said elsewhere to the contrary, and that is what is shown.
#[test]
fn what_is_shown_is_what_is_in_force() {
    let sandbox = Sandbox::new();
    let shown = |flags: &[&str], variables: &[(&str, &str)]| {
        let mut command = sandbox.command(&[&["config", "show"], flags].concat());
        finish(command.envs(variables.iter().copied()).stdin(std::process::Stdio::null())).out
    };
    let out = shown(&["--stream"], &[("A2ACLI_ASYNC", "1")]);
    assert!(out.contains("\nasync: false (flag --stream)\n") && out.contains("\nstream: true (flag)\n"), "{out}");
    let out = shown(&["-e", "http://localhost:1", "--transport", "rest"], &[]);
    assert!(out.contains("endpoint: http://localhost:1 (flag)\n") && !out.contains("agent-card: "), "{out}");
    let out = shown(&["--jq", ".settings[] | select(.name == \"output\") | .value, .origin"], &[]);
    assert_eq!(out, "json\n--jq\n");
}

/// A2ACLI_DEFAULT_001
#[test]
fn six_defaults_are_shown_and_changed_by_flags() {
    let sandbox = Sandbox::new();
    let help = sandbox.ok(&["send", "--help"]).split_whitespace().collect::<Vec<_>>().join(" ");
    for default in [
        "[default: the card's order]",
        "[default: off, send waits]",
        "[default: text]",
        "[default: off, concise]",
        "[default: highest common, not below 1.0]",
        "[default: off, certificates are checked]",
    ] {
        assert!(help.contains(default), "{default}\n{help}");
    }
    let settings = |flags: &[&str]| sandbox.json(&[&["config", "show"], flags].concat())["settings"].as_array().unwrap().clone();
    let flags = ["--transport", "grpc", "--async", "--verbose", "--a2a-version", "0.3", "--insecure"];
    let changed = settings(&flags).into_iter().filter(|one| one["source"] == "flag").map(|one| one["name"].as_str().unwrap().to_owned());
    let changed: Vec<_> = changed.collect();
    for name in ["transport", "async", "output", "verbose", "a2a-version", "insecure"] {
        assert!(changed.contains(&name.to_owned()), "{name} {changed:?}");
    }
    assert_eq!(settings(&[]).iter().filter(|one| one["source"] == "flag").count(), 1);
}

/// A2ACLI_AUTH_002
#[test]
fn credentials_have_variables_are_hidden_and_a_flag_wins() {
    let sandbox = Sandbox::new();
    let help = sandbox.ok(&["send", "--help"]).split_whitespace().collect::<Vec<_>>().join(" ");
    assert_eq!(help.matches("process list").count(), 3, "{help}");
    let mut command = sandbox.command(&["config", "show", "--bearer", "fr0mflag", "-o", "json"]);
    let ran = finish(command.env("A2ACLI_BEARER", "fr0menv").env("A2ACLI_API_KEY", "k3yvalue"));
    assert!(!ran.out.contains("fr0m") && !ran.out.contains("k3yvalue"), "{ran:?}");
    let shown: serde_json::Value = serde_json::from_str(&ran.out).unwrap();
    let find = |name: &str| shown["settings"].as_array().unwrap().iter().find(|one| one["name"] == name).unwrap().clone();
    let (bearer, key) = (find("bearer"), find("api-key"));
    assert_eq!((bearer["source"].as_str(), bearer["value"].is_null(), bearer["set"].as_bool()), (Some("flag"), true, Some(true)));
    assert_eq!(key["origin"], "A2ACLI_API_KEY");
}

#[test]
fn an_agent_from_a_file_nearby_is_named_and_its_file_read_by_others_warned_of() {
    let sandbox = Sandbox::new();
    std::fs::write(sandbox.work(".env"), format!("A2ACLI_AGENT_CARD={}\nA2ACLI_BEARER=s3cret\nA2ACLI_INSECURE=1\n", sandbox.at("")))
        .unwrap();
    let mut command = sandbox.command(&["card", "get"]);
    let ran = finish(command.env_remove("A2ACLI_AGENT_CARD").stdin(std::process::Stdio::null()));
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(ran.err.contains(&format!("note: agent {} from ~/work/.env", sandbox.at(""))), "{ran:?}");
    assert!(ran.err.contains("warning: ~/work/.env holds a credential") && !ran.err.contains("WARNING"), "{ran:?}");
}

#[test]
fn without_an_agent_there_is_a_hint() {
    let sandbox = Sandbox::new();
    let ran = finish(sandbox.command(&["send", "hi"]).env_remove("A2ACLI_AGENT_CARD").stdin(std::process::Stdio::null()));
    assert!(ran.code == 2 && ran.err.contains("Hint: add -a REF or set A2ACLI_AGENT_CARD"), "{ran:?}");
}
