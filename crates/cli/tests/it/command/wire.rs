//! Transports, versions, tenants, extensions, credentials, and what `--debug` shows of them.

use serde_json::{Value, json};

use super::{Sandbox, card::serve, field, finish};
use crate::process::untested;

fn fact(out: &str, label: &str) -> String {
    let line = out.lines().find_map(|line| line.trim_start().strip_prefix(label)?.strip_prefix(": "));
    line.unwrap_or_else(|| panic!("no {label} in {out}")).to_owned()
}

/// A2ACLI_TX_001 A2ACLI_TX_002 A2ACLI_TX_004 A2ACLI_TX_005
#[test]
fn the_card_decides_the_transport_unless_the_user_does() {
    let sandbox = Sandbox::new();
    let binding = |arguments: &[&str]| fact(&sandbox.ok(&[&["send", "request"], arguments].concat()), "Binding");
    assert_eq!(binding(&[]), "JSONRPC");
    assert_eq!(binding(&["-a", &sandbox.at("/rest-first")]), "HTTP+JSON");
    assert_eq!(binding(&["--transport", "grpc", "--transport", "rest"]), "GRPC");
    assert_eq!(binding(&["--transport", "rest"]), "HTTP+JSON");
    assert_eq!(binding(&["--transport", "jsonrpc"]), "JSONRPC");
}

/// A2ACLI_TX_003
#[test]
fn the_tenant_of_the_interface_is_sent_and_none_where_there_is_none() {
    let sandbox = Sandbox::new();
    let tenant = sandbox.at("/tenant");
    assert_eq!(fact(&sandbox.ok(&["send", "-a", &tenant, "request"]), "Tenant"), "harbor");
    assert_eq!(fact(&sandbox.ok(&["send", "request"]), "Tenant"), "none");
    sandbox.ok(&["send", "-a", &tenant, "--tenant", "harbor", "request"]);
    assert_eq!(sandbox.run(&["send", "-a", &tenant, "--tenant", "other", "request"]).code, 2);
}

/// A2ACLI_VER_001
#[test]
fn an_older_version_is_spoken_only_when_asked_for() {
    let sandbox = Sandbox::new();
    assert_eq!(fact(&sandbox.ok(&["send", "request"]), "Version"), "1.0");
    let legacy = sandbox.at("/legacy");
    let ran = sandbox.run(&["send", "-a", &legacy, "hi"]);
    assert!(
        ran.code == 1 && ran.err.contains("Error: VersionNotSupportedError") && ran.err.contains("Hint: add --a2a-version 0.3"),
        "{ran:?}"
    );
    assert_eq!(sandbox.calls("legacy"), 0);
    for version in ["0.3", "any"] {
        assert_eq!(fact(&sandbox.ok(&["send", "-a", &legacy, "--a2a-version", version, "request"]), "Version"), "0.3");
    }
    let ran = sandbox.run(&["send", "--debug", "--no-cache", "hi"]);
    assert!(ran.err.lines().filter(|line| line.contains(" curl ")).all(|line| line.contains("A2A-Version: 1.0")), "{}", ran.err);
}

/// A2ACLI_VER_002
#[test]
fn required_extensions_are_declared_and_unknown_ones_refused() {
    let sandbox = Sandbox::new();
    assert_eq!(fact(&sandbox.ok(&["send", "-a", &sandbox.at("/ext"), "request"]), "Extensions"), "urn:chancery:demo/ext/v1");
    let mut card = sandbox.json(&["card", "get"]);
    card["capabilities"]["extensions"] = serde_json::json!([{"uri": "urn:x:unknown", "required": true}]);
    std::fs::write(sandbox.work("ext.json"), card.to_string()).unwrap();
    let before = sandbox.calls("Message");
    let ran = sandbox.run(&["send", "-a", "./ext.json", "hi"]);
    assert!(ran.code == 1 && ran.err.contains("Error: ExtensionSupportRequiredError"), "{ran:?}");
    assert_eq!(sandbox.calls("Message"), before);
}

/// A2ACLI_VER_003
#[test]
fn a_capability_is_looked_up_before_the_call() {
    let sandbox = Sandbox::new();
    let ran = sandbox.run(&["task", "push-config", "list", "-a", &sandbox.at("/nopush"), "t", "--debug"]);
    assert!(ran.code == 1 && ran.err.contains("Error: PushNotificationNotSupportedError"), "{ran:?}");
    assert!(!ran.err.contains("ListTaskPushNotificationConfigs"), "{}", ran.err);
    let ran = sandbox.run(&["task", "subscribe", "-a", &sandbox.at("/nostream"), "t"]);
    assert!(ran.code == 1 && ran.err.contains("Error: UnsupportedOperationError"), "{ran:?}");
    assert_eq!(sandbox.run(&["card", "get", "--extended"]).code, 1);
}

/// A2ACLI_OUT_007
#[test]
fn debug_shows_the_messages_and_a_command_that_runs() {
    let sandbox = Sandbox::new();
    let ran = sandbox.run(&["--debug", "send", "hi"]);
    let marked = |mark: &str| ran.err.lines().any(|line| line.starts_with("debug: ") && line.contains(mark));
    assert!(marked(" > {") && marked(" < 200 ") && marked(" < event "), "{}", ran.err);
    let curl = ran.err.lines().filter_map(|line| line.split_once(" curl ")).map(|(_, rest)| rest).find(|rest| rest.contains("\"GetTask\""));
    let Some(curl) = curl else { panic!("no curl in {}", ran.err) };
    if std::process::Command::new("curl").arg("--version").output().is_err() {
        return untested("curl is needed to run the command");
    }
    let answer = std::process::Command::new("sh").args(["-c", &format!("curl {curl}")]).output().unwrap();
    let answer: serde_json::Value = serde_json::from_slice(&answer.stdout).unwrap();
    assert_eq!(answer["result"]["status"]["state"], "TASK_STATE_COMPLETED", "{answer}");
}

/// A2ACLI_AUTH_004
#[test]
fn no_diagnostic_shows_a_credential() {
    let sandbox = Sandbox::new();
    let flags = ["--debug", "--verbose", "--bearer", "S3CRET", "--svc-param", "x-k:S3CRET", "--basic", "me:S3CRET", "--api-key", "S3CRET"];
    for transport in ["jsonrpc", "rest", "grpc"] {
        let ran = sandbox.run(&[&["send", "--transport", transport, "hi"], &flags[..]].concat());
        assert_eq!(ran.code, 0, "{ran:?}");
        assert!(!ran.err.contains("S3CRET") && !ran.out.contains("S3CRET"), "{ran:?}");
        assert!(ran.err.contains("X-K: (hidden)"), "{}", ran.err);
    }
}

/// A2ACLI_AUTH_001: each credential goes where the card wants it, and one that is refused is told.
#[test]
fn credentials_go_where_the_card_says() {
    let sandbox = Sandbox::new();
    let key = |location: &str, name: &str| json!({"apiKeySecurityScheme": {"location": location, "name": name}});
    let http = |scheme: &str| json!({"httpAuthSecurityScheme": {"scheme": scheme}});
    for (scheme, flag, secret, expected) in [
        (key("header", "X-Demo"), "--api-key", "k3y-value", "\r\nx-demo: k3y-value\r\n"),
        (key("query", "key"), "--api-key", "k3y-value", "post /?key=k3y-value http/1.1\r\n"),
        (key("cookie", "sid"), "--api-key", "k3y-value", "\r\ncookie: sid=k3y-value\r\n"),
        (http("Bearer"), "--bearer", "t0ken-value", "\r\nauthorization: bearer t0ken-value\r\n"),
        (http("Basic"), "--basic", "me:passw0rd", "\r\nauthorization: basic bwu6cgfzc3cwcmq=\r\n"),
    ] {
        let (port, server) = serve(vec!["HTTP/1.1 401 Unauthorized\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"]);
        let card = json!({
            "name": "Secure", "version": "1", "supportedInterfaces":
            [{"url": format!("http://127.0.0.1:{port}/"), "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}],
            "securitySchemes": {"s": scheme}, "securityRequirements": [{"schemes": {"s": {"list": []}}}],
        });
        std::fs::write(sandbox.work("card.json"), card.to_string()).unwrap();
        let ran = sandbox.run(&["send", "-a", "./card.json", "--debug", "-o", "json", flag, secret, "hi"]);
        let error: Value = serde_json::from_str(&ran.out).unwrap();
        let error = &error["error"];
        assert_eq!(
            (ran.code, error["code"].as_str(), error["a2aCode"].as_i64()),
            (4, Some("A2ACLI_ERR_AUTH_FAILED"), Some(401)),
            "{ran:?}"
        );
        let asked = server.join().unwrap();
        assert!(asked[0].contains(expected), "{expected} {asked:?}");
        let shown = [secret.split(':').next_back().unwrap(), "bWU6cGFzc3cwcmQ"];
        assert!(shown.iter().all(|secret| !ran.err.contains(secret)) && ran.err.contains("$A2ACLI_"), "{}", ran.err);
    }
}

/// A card that leads to another origin, with one interface, served once.
fn leading_to(binding: &str, version: &str, url: &str) -> (String, std::thread::JoinHandle<Vec<String>>) {
    let card = json!({
        "name": "Astray", "version": "1", "capabilities": {},
        "supportedInterfaces": [{"url": url, "protocolBinding": binding, "protocolVersion": version}],
        "securitySchemes": {"t": {"httpAuthSecurityScheme": {"scheme": "Bearer"}}, "k": {"apiKeySecurityScheme": {"location": "header", "name": "X-Key"}}},
        "securityRequirements": [{"schemes": {"t": {"list": []}}}, {"schemes": {"k": {"list": []}}}],
    })
    .to_string();
    let answer = format!("HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{card}", card.len());
    let (port, server) = serve(vec![Box::leak(answer.into_boxed_str())]);
    (format!("http://127.0.0.1:{port}"), server)
}

/// A credential is for the host that the user has named: the card's, not whatever interface the card names.
#[test]
fn credentials_of_the_environment_stay_at_the_origin_of_the_card() {
    let sandbox = Sandbox::new();
    for (variable, secret) in [("A2ACLI_BEARER", "s3cret-token"), ("A2ACLI_API_KEY", "s3cret-key")] {
        let (agent, server) = leading_to("JSONRPC", "1.0", &sandbox.at(""));
        let ran = finish(sandbox.command(&["send", "-a", &agent, "--debug", "hi"]).env(variable, secret));
        server.join().unwrap();
        assert_eq!(ran.code, 4, "{ran:?}");
        assert!(ran.err.contains(&agent) && ran.err.contains("--endpoint URL --transport NAME"), "{ran:?}");
        assert_eq!(sandbox.calls("SendMessage") + sandbox.calls("SendStreamingMessage"), 0, "{variable}");
    }
    // Whoever names the interface has named its origin.
    let endpoint = format!("http://{}", sandbox.at("").trim_start_matches("http://"));
    let ran = finish(sandbox.command(&["send", "--endpoint", &endpoint, "--transport", "jsonrpc", "hi"]).env("A2ACLI_BEARER", "t"));
    assert_eq!(ran.code, 0, "{ran:?}");
}

/// The hint is about what would help: no version that is not spoken here, and no version where the binding is what is foreign.
#[test]
fn a_card_with_nothing_that_is_spoken_gets_a_hint_that_helps() {
    let sandbox = Sandbox::new();
    for (binding, version, code, offered) in
        [("JSONRPC", "2.0", "VersionNotSupportedError", "JSONRPC 2.0"), ("MQTT", "1.0", "UnsupportedOperationError", "MQTT 1.0")]
    {
        let (agent, server) = leading_to(binding, version, "https://a.example");
        let ran = sandbox.run(&["send", "-a", &agent, "hi"]);
        server.join().unwrap();
        assert!(ran.code == 1 && ran.err.contains(code) && ran.err.contains(offered), "{ran:?}");
        assert!(ran.err.contains("Hint: look for a newer a2a") && !ran.err.contains("--a2a-version"), "{ran:?}");
    }
}

/// A2ACLI_AUTH_008: a card is asked for without credentials, and one without schemes gets none.
#[test]
fn a_card_gets_no_credential() {
    let sandbox = Sandbox::new();
    let ran = sandbox.run(&["card", "get", "--no-cache", "--debug", "--bearer", "S3CRET"]);
    assert!(ran.code == 0 && !ran.err.to_lowercase().contains("authorization"), "{ran:?}");
    let ran = sandbox.run(&["send", "--debug", "--bearer", "S3CRET", "hi"]);
    assert!(ran.err.contains("warning: the card has no scheme for the bearer token"), "{}", ran.err);
    assert!(!ran.err.contains("Authorization"), "{}", ran.err);
}

/// A2ACLI_AUTH_003: certificates are checked unless the user says not to, and that is never silent.
#[test]
fn certificates_are_checked_and_no_check_is_warned_of() {
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned(), "127.0.0.1".to_owned()]).unwrap();
    let sandbox = Sandbox::with(|home| {
        let cert = home.write("work/cert.pem", &made.cert.pem());
        let key = home.write("work/key.pem", &made.signing_key.serialize_pem());
        ["--tls-cert", cert.to_str().unwrap(), "--tls-key", key.to_str().unwrap()].map(str::to_owned).to_vec()
    });
    let agent = format!("https://localhost:{}", sandbox.port);
    let ran = sandbox.run(&["send", "-a", &agent, "hi"]);
    assert!(ran.code == 3 && ran.err.contains("Error: A2ACLI_ERR_UNREACHABLE") && ran.err.contains("certificate"), "{ran:?}");
    for transport in ["jsonrpc", "rest", "grpc"] {
        let ran = sandbox.run(&["send", "-a", &agent, "--transport", transport, "--ca-cert", "cert.pem", "hi"]);
        assert!(ran.code == 0 && !ran.err.contains("WARNING"), "{transport} {ran:?}");
        let ran = sandbox.run(&["send", "-a", &agent, "--transport", transport, "--insecure", "-q", "hi"]);
        assert!(ran.code == 0 && ran.err.contains("WARNING: certificates are not checked"), "{transport} {ran:?}");
    }
    let mut card = sandbox.json(&["card", "get", "-a", &agent, "--insecure"]);
    card["securitySchemes"] = json!({"s": {"httpAuthSecurityScheme": {"scheme": "Bearer"}}});
    card["securityRequirements"] = json!([{"schemes": {"s": {"list": []}}}]);
    std::fs::write(sandbox.work("card.json"), card.to_string()).unwrap();
    let ran = sandbox.run(&["send", "-a", "./card.json", "--insecure", "-q", "--bearer", "demo-token", "hi"]);
    assert!(ran.code == 0 && ran.err.contains("WARNING: a credential is sent to a server whose certificate is not checked"), "{ran:?}");
}

#[test]
fn an_endpoint_needs_no_card() {
    let sandbox = Sandbox::new();
    let url = format!("http://localhost:{}", sandbox.port);
    let out = sandbox.ok(&["send", "-e", &url, "--transport", "rest", "request"]);
    assert_eq!((fact(&out, "Binding").as_str(), field(&out, "State")), ("HTTP+JSON", "COMPLETED"));
    assert_eq!(sandbox.run(&["send", "-e", &url, "hi"]).code, 2);
}
