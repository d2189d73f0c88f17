//! Errors and exit codes.

use serde_json::Value;

use super::Sandbox;

/// A2ACLI_OUT_004
#[test]
fn an_error_is_the_same_on_every_transport() {
    let sandbox = Sandbox::new();
    for transport in ["jsonrpc", "rest", "grpc"] {
        let ran = sandbox.run(&["task", "get", "--transport", transport, "nope", "-o", "json"]);
        let error: Value = serde_json::from_str(&ran.out).unwrap();
        let error = &error["error"];
        assert_eq!((error["code"].as_str(), error["a2aCode"].as_i64()), (Some("TaskNotFoundError"), Some(-32001)), "{transport} {ran:?}");
        assert!(error["hint"].is_string() && error["message"].is_string() && error.as_object().unwrap().len() == 4, "{error}");
        assert!(ran.err.starts_with("error: TaskNotFoundError: "), "{ran:?}");
    }
}

/// A2ACLI_EXIT_001: all but 4, which needs an agent that wants credentials; see `a_card_that_wants_credentials`.
#[test]
fn each_exit_code_has_its_meaning() {
    let sandbox = Sandbox::new();
    for (arguments, code, error) in [
        (&["send", "hi"][..], 0, ""),
        (&["task", "get", "nope"], 1, "TaskNotFoundError"),
        (&["send", "--bogus"], 2, "A2ACLI_ERR_USAGE"),
        (&["card", "get", "-a", "localhost:1"], 3, "A2ACLI_ERR_UNREACHABLE"),
        (&["card", "get", "-a", "./missing.json"], 3, "A2ACLI_ERR_CARD_NOT_FOUND"),
        (&["send", "--timeout", "1s", "slow 60s"], 5, "A2ACLI_ERR_TIMEOUT"),
    ] {
        let ran = sandbox.run(arguments);
        assert_eq!(ran.code, code, "{arguments:?} {ran:?}");
        if !error.is_empty() {
            assert_eq!((ran.out.as_str(), ran.err.contains(&format!("Error: {error}\nMessage: "))), ("", true), "{arguments:?} {ran:?}");
        }
    }
}

/// A2ACLI_EXIT_001 A2ACLI_AUTH_001: nothing is sent to an agent whose card wants what is not there.
#[test]
fn a_card_that_wants_credentials_gets_no_call_without_them() {
    let sandbox = Sandbox::new();
    let mut card = sandbox.json(&["card", "get"]);
    card["securitySchemes"] = serde_json::json!({"key": {"apiKeySecurityScheme": {"location": "header", "name": "X-Demo"}}});
    card["securityRequirements"] = serde_json::json!([{"schemes": {"key": {"list": []}}}]);
    std::fs::write(sandbox.work("secure.json"), card.to_string()).unwrap();
    let ran = sandbox.run(&["send", "-a", "./secure.json", "hi", "-o", "json"]);
    let error: Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!((ran.code, error["error"]["code"].as_str()), (4, Some("A2ACLI_ERR_CREDENTIALS_MISSING")), "{ran:?}");
    assert_eq!(error["error"]["hint"], "export A2ACLI_API_KEY=KEY", "{error}");
    assert_eq!(sandbox.calls("SendStreamingMessage"), 0);
    let ran = sandbox.run(&["send", "-a", "./secure.json", "--api-key", "demo-key", "--debug", "hi"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(ran.err.contains("-H \"X-Demo: $A2ACLI_API_KEY\"") && !ran.err.contains("demo-key"), "{}", ran.err);
}

#[test]
fn usage_errors_are_json_even_if_nothing_could_be_parsed() {
    let sandbox = Sandbox::new();
    let ran = sandbox.run(&["send", "--agentcard", "x", "-o", "json"]);
    let error: Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!((ran.code, error["error"]["code"].as_str()), (2, Some("A2ACLI_ERR_USAGE")));
    assert_eq!(error["error"]["hint"], "did you mean --agent-card? See: a2a send --help");
    let ran = sandbox.run(&["task", "lst"]);
    assert_eq!(ran.err, "Error: A2ACLI_ERR_USAGE\nMessage: unknown command \"lst\"\nHint: did you mean \"task list\"?\nCode: none\n");
}

/// A2ACLI_DEMO_SERVER_001: the server of every test here is it; a taken port is told.
#[test]
fn the_demo_runs_on_any_port_and_says_when_one_is_taken() {
    let sandbox = Sandbox::new();
    assert!(sandbox.port > 0);
    let ran = sandbox.run(&["demo-server", "--ephemeral", "--port", &sandbox.port.to_string()]);
    assert!(ran.code == 1 && ran.err.contains("Error: A2AX_ERR_PORT") && ran.err.contains("Hint: --port 0"), "{ran:?}");
}

#[test]
fn old_spellings_work_with_a_note() {
    let sandbox = Sandbox::new();
    let url = format!("http://{}", sandbox.at(""));
    let ran = sandbox.run(&["discover", &url]);
    assert!(ran.code == 0 && ran.out.starts_with("Name: Demo\n"), "{ran:?}");
    assert_eq!(ran.err, "note: \"discover\" is now \"card get\"\n");
    let mut command = sandbox.command(&["send", &url, "hello", "there", "-q"]);
    let ran = super::finish(command.env_remove("A2ACLI_AGENT_CARD").stdin(std::process::Stdio::null()));
    assert!(ran.out.contains("\n  hello there\n\n") && ran.err.is_empty(), "{ran:?}");
}
