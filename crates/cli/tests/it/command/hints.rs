//! Hints lead somewhere: what they say can be pasted, and helps.

use std::{
    io::{Read as _, Write as _},
    net::TcpListener,
    sync::Arc,
};

use serde_json::{Value, json};

use super::{Ran, Sandbox, field};
use crate::process::{Folder, Process};

const SEVERAL: &str = r#"
[[agent]]
name = "words"
command = ["wc", "-w"]
[[agent]]
name = "upper"
command = ["tr", "a-z", "A-Z"]
"#;

fn served(file: &str) -> (tokio::runtime::Runtime, Folder, Process) {
    served_on(file, "127.0.0.1")
}

fn served_on(file: &str, host: &str) -> (tokio::runtime::Runtime, Folder, Process) {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let folder = Folder::new();
    let process = runtime.block_on(Process::file_on(&folder, file, host));
    (runtime, folder, process)
}

/// A host whose root has no card says which agents it has, and how each of them is named.
#[test]
fn a_host_with_several_agents_says_how_each_is_named() {
    let (sandbox, (_runtime, _folder, process)) = (Sandbox::new(), served(SEVERAL));
    let host = format!("localhost:{}", process.address().port());
    for arguments in [&["send", "-a", &host, "hi"][..], &["card", "get", &host], &["card", "get", "-a", &host]] {
        let ran = sandbox.run(arguments);
        assert_eq!(ran.code, 3, "{arguments:?} {ran:?}");
        assert!(field(&ran.err, "Message").starts_with(&format!("{host} has no card of its own, but 2 agents: ")), "{ran:?}");
        for name in ["words", "upper"] {
            assert!(field(&ran.err, "Message").contains(&format!("{name} (-a {host}/{name})")), "{ran:?}");
            sandbox.ok(&["send", "-a", &format!("{host}/{name}"), "one two"]);
        }
        assert!(paste(&sandbox, &ran).out.starts_with("Name: "), "{ran:?}");
    }
    let elsewhere = sandbox.run(&["card", "get", "-o", "json", &format!("http://127.0.0.1:{}/", process.address().port())]);
    let error: Value = serde_json::from_str(&elsewhere.out).unwrap();
    let expected = format!("(-a http://127.0.0.1:{}/words)", process.address().port());
    assert!(error["error"]["message"].as_str().unwrap().contains(&expected), "{error}");
}

/// Runs the command of a hint as it stands.
fn paste(sandbox: &Sandbox, ran: &Ran) -> Ran {
    let line = field(&ran.err, "Hint").strip_prefix("a2a ").unwrap_or_else(|| panic!("the hint is no command: {ran:?}"));
    let again = sandbox.run(&line.split(' ').collect::<Vec<_>>());
    assert_eq!(again.code, 0, "{line} {again:?}");
    again
}

/// Files have no wire: `--debug` shows nothing of them.
#[test]
fn an_error_of_a_file_does_not_point_at_debug() {
    let sandbox = Sandbox::new();
    std::fs::write(sandbox.work("card.json"), "{").unwrap();
    std::fs::write(sandbox.work("flow.toml"), "[agent]").unwrap();
    std::fs::write(sandbox.work("a2a.toml"), "[[agent]]\nname = \"words\"\ncommand = \"wc -w\"\n").unwrap();
    std::fs::write(sandbox.work("pem"), "no certificate").unwrap();
    for (arguments, hint) in [
        (&["card", "get", "-a", "./crad.json"][..], "did you mean ./card.json?"),
        (&["card", "get", "-a", "./elsewhere.json"], "ls ."),
        (&["card", "get", "-a", "."], "ls -ld ."),
        (&["card", "get", "-a", "./card.json"], "a2a help references"),
        (&["send", "--file", "crad.json"], "did you mean card.json?"),
        (&["send", "--ca-cert", "missing.pem", "hi"], "ls ."),
        (&["card", "sign", "missing.json"], "ls ."),
        (&["graph", "check", "floww.toml"], "did you mean flow.toml?"),
        (&["graph", "show", "flow.toml", "--out", "no/where.svg"], ""),
        (&["conformance", "--only", "V10-CARD-001", "--report", "no/where.json"], "mkdir -p no"),
        (&["serve", "--check", "a2a.toml"], "write command = [\"wc\", \"-w\"]"),
        (&["serve", "--check", "missing.toml"], ""),
        (&["send", "--ca-cert", "pem", "hi"], ""),
        (&["send", "--config", "missing.env", "hi"], ""),
    ] {
        let ran = sandbox.run(arguments);
        assert_ne!(ran.code, 0, "{arguments:?} {ran:?}");
        assert!(!ran.err.contains("--debug"), "{arguments:?} {ran:?}");
        let said = field(&ran.err, "Hint");
        assert!(said != "none" && said.contains(hint), "{arguments:?} {ran:?}");
    }
}

/// A card of the demo that demands a credential of a kind.
fn demanding(sandbox: &Sandbox, file: &str, scheme: Value) {
    let mut card = sandbox.json(&["card", "get"]);
    card["securitySchemes"] = json!({"one": scheme});
    card["securityRequirements"] = json!([{"schemes": {"one": {"list": []}}}]);
    std::fs::write(sandbox.work(file), card.to_string()).unwrap();
}

/// Only where one can sign in is that suggested.
#[test]
fn a_missing_credential_is_asked_for_by_its_kind() {
    let sandbox = Sandbox::new();
    for (file, scheme, hint) in [
        ("bearer.json", json!({"httpAuthSecurityScheme": {"scheme": "Bearer"}}), "export A2ACLI_BEARER=TOKEN"),
        ("basic.json", json!({"httpAuthSecurityScheme": {"scheme": "Basic"}}), "export A2ACLI_BASIC=USER:PASSWORD"),
        ("key.json", json!({"apiKeySecurityScheme": {"location": "header", "name": "X-Key"}}), "export A2ACLI_API_KEY=KEY"),
        ("mtls.json", json!({"mtlsSecurityScheme": {}}), "add --client-cert FILE --client-key FILE"),
        (
            "oidc.json",
            json!({"openIdConnectSecurityScheme": {"openIdConnectUrl": "https://id.example.com/.well-known/openid-configuration"}}),
            "a2a auth login -a ./oidc.json, or export A2ACLI_BEARER=TOKEN",
        ),
    ] {
        demanding(&sandbox, file, scheme);
        let ran = sandbox.run(&["send", "-a", &format!("./{file}"), "hi"]);
        assert_eq!((ran.code, field(&ran.err, "Hint")), (4, hint), "{file} {ran:?}");
    }
    let ran = sandbox.run(&["doctor", "-a", "./bearer.json"]);
    assert!(ran.out.contains("Next: export A2ACLI_BEARER=TOKEN\n") && !ran.out.contains("auth login"), "{ran:?}");
}

/// What is suggested instead of what a card does not offer works as it stands.
#[test]
fn what_works_instead_can_be_pasted() {
    let sandbox = Sandbox::new();
    let (plain, quiet) = (sandbox.at("/nostream"), sandbox.at("/nopush"));
    let task = sandbox.json(&["send", "-a", &plain, "hi"])["task"]["id"].as_str().unwrap().to_owned();
    let there = sandbox.json(&["send", "-a", &quiet, "hi"])["task"]["id"].as_str().unwrap().to_owned();
    let pasted = paste(&sandbox, &sandbox.run(&["task", "subscribe", "-a", &plain, &task]));
    assert_eq!(field(&pasted.out, "Task ID"), task);
    let pasted = paste(&sandbox, &sandbox.run(&["task", "push-config", "list", "-a", &quiet, &there]));
    assert_eq!(field(&pasted.out, "Task ID"), there);
    let pasted = paste(&sandbox, &sandbox.run(&["card", "get", "--extended", "-a", &plain]));
    assert!(pasted.out.starts_with("Name: "), "{pasted:?}");
    let ran = sandbox.run(&["send", "-a", &sandbox.at("/signed-bad"), "--require-signature", "hi"]);
    assert_eq!(field(&ran.err, "Hint"), format!("a2a card verify -a {}", sandbox.at("/signed-bad")), "{ran:?}");
}

/// A server that talks to nobody without a certificate.
fn strict(sandbox: &Sandbox) -> u16 {
    let key = rcgen::KeyPair::generate().unwrap();
    let own = rcgen::CertificateParams::new(["localhost".to_owned()]).unwrap().self_signed(&key).unwrap();
    std::fs::write(sandbox.work("ca.pem"), own.pem()).unwrap();
    let mut roots = rustls::RootCertStore::empty();
    roots.add(own.der().clone()).unwrap();
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let verifier = rustls::server::WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider.clone()).build().unwrap();
    let config = rustls::ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
    let key = rustls::pki_types::PrivateKeyDer::try_from(key.serialize_der()).unwrap();
    let config = Arc::new(config.with_client_cert_verifier(verifier).with_single_cert(vec![own.der().clone()], key).unwrap());
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().map_while(Result::ok) {
            let mut session = rustls::ServerConnection::new(config.clone()).unwrap();
            // What is refused is told by an alert, which is all that these tests want.
            while session.complete_io(&mut stream).is_ok() && session.is_handshaking() {}
            drop(session.complete_io(&mut stream));
            drop(stream.flush());
            drop(stream.shutdown(std::net::Shutdown::Write));
            drop(stream.read_to_end(&mut Vec::new()));
        }
    });
    port
}

/// TLS that ends for want of a certificate says which flags give one.
#[test]
fn a_missing_client_certificate_is_told_from_other_troubles() {
    let sandbox = Sandbox::new();
    let agent = format!("https://localhost:{}", strict(&sandbox));
    let arguments = ["-a", &agent, "--ca-cert", "ca.pem"];
    let ran = sandbox.run(&[&["send", "hi"], &arguments[..]].concat());
    assert_eq!(ran.code, 3, "{ran:?}");
    assert!(field(&ran.err, "Hint").contains("--client-cert FILE --client-key FILE"), "{ran:?}");
    let ran = sandbox.run(&[&["doctor"], &arguments[..]].concat());
    assert_eq!(ran.code, 3, "{ran:?}");
    assert!(
        ran.out.contains("wants a certificate of the client") && ran.out.contains("Next: show a certificate: --client-cert"),
        "{ran:?}"
    );
}

/// An agent of one card, which knows no other call.
fn single(card: Value, answer: &'static str) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let card = card.to_string().replace("PORT", &port.to_string());
    std::thread::spawn(move || {
        for mut stream in listener.incoming().map_while(Result::ok) {
            let mut buffer = vec![0; 65_536];
            let count = stream.read(&mut buffer).unwrap_or(0);
            let body = if buffer[..count].starts_with(b"GET") { card.as_str() } else { answer };
            let length = body.len();
            drop(write!(
                stream,
                "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n{body}"
            ));
        }
    });
    port
}

fn card(url: &str) -> Value {
    json!({
        "name": "Single", "description": "One of many", "version": "1", "capabilities": {},
        "supportedInterfaces": [{"url": url, "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}],
        "defaultInputModes": ["text/plain"], "defaultOutputModes": ["text/plain"],
        "skills": [{"id": "s", "name": "s", "description": "s", "tags": ["s"]}],
    })
}

/// A server that listens on all addresses, and does not know what others call it by.
#[test]
fn a_card_with_addresses_that_others_cannot_call_is_a_problem() {
    const NEXT: &str = "Next: set public_url in [server] to what others call the server by, or start it with --public-url URL\n";
    let sandbox = Sandbox::new();
    let missing = r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32001,"message":"no such task"}}"#;
    let port = single(card("http://0.0.0.0:PORT/"), missing);
    let ran = sandbox.run(&["doctor", "-a", &format!("localhost:{port}"), "--read-only"]);
    assert_eq!(ran.code, 1, "{ran:?}");
    assert!(
        ran.out.contains("the interfaces of the card are at 0.0.0.0, which is where a server listens") && ran.out.contains(NEXT),
        "{ran:?}"
    );
    let Some(own) = crate::refused::own().first().copied() else {
        return crate::process::untested("this machine has no address but loopback");
    };
    let (_runtime, _folder, process) = served_on(SEVERAL, "0.0.0.0");
    let agent = format!("http://{}:{}/words", crate::refused::host(own), process.address().port());
    let ran = sandbox.run(&["doctor", "-a", &agent]);
    assert_eq!(ran.code, 1, "{ran:?}");
    assert!(ran.out.contains("and its interfaces are at localhost, which is another machine for everybody else\n"), "{ran:?}");
    assert_eq!(ran.out.matches(NEXT).count(), 1, "{ran:?}");
}

/// A type error hides nothing: neither what else is wrong with the card, nor what is wrong with its interfaces.
#[test]
fn a_type_error_in_a_card_hides_no_other_finding() {
    let sandbox = Sandbox::new();
    let mut bad = card("http://127.0.0.1:1/");
    bad["name"] = json!(5);
    bad["capabilities"]["streaming"] = json!("yes");
    bad["version"] = json!("");
    bad["skills"][0]["id"] = json!("");
    std::fs::write(sandbox.work("bad.json"), bad.to_string()).unwrap();
    let fetched = format!("localhost:{}", single(bad, "{}"));
    let findings = [
        "/name must be a string, not a number",
        "/capabilities/streaming must be true or false, not a string",
        "/version is required",
        "/skills/0/id is required",
    ];
    for reference in ["./bad.json", &fetched] {
        for arguments in
            [&["card", "get", "--validate", "-a", reference][..], &["card", "get", "-a", reference], &["send", "hi", "-a", reference]]
        {
            let ran = sandbox.run(arguments);
            assert_eq!(ran.code, 1, "{arguments:?} {ran:?}");
            assert!(field(&ran.err, "Message").ends_with("(4 in all)"), "{arguments:?} {ran:?}");
            assert!(findings.iter().all(|finding| ran.err.contains(&format!("Finding: {finding}\n"))), "{arguments:?} {ran:?}");
        }
        let ran = sandbox.run(&["doctor", "-a", reference]);
        assert!(findings.iter().all(|finding| ran.out.contains(&format!("Problem: the card is not valid: {finding}\n"))), "{ran:?}");
        assert!(ran.out.contains("Problem: interface 1, JSONRPC 1.0 http://127.0.0.1:1/, is not reachable from here"), "{ran:?}");
    }
    let ran = sandbox.run(&["conformance", "-a", "./bad.json", "--only", "V10-CARD-007"]);
    assert!(ran.code == 1 && ran.err.contains("Finding: /version is required"), "{ran:?}");
}

/// Versions before 1.0 have no lists. An agent that has one all the same is asked, and one that has none is not blamed.
#[test]
fn a_version_without_lists_of_tasks_says_so() {
    let sandbox = Sandbox::new();
    assert_eq!(sandbox.ok(&["task", "list", "-a", &sandbox.at("/legacy"), "--a2a-version", "0.3"]), "Total: 0\n");
    let invalid = r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32600,"message":"Request payload validation error"}}"#;
    let unknown = r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"Method not found"}}"#;
    for (version, answer) in [("0.3", invalid), ("0.3", unknown), ("0.2", invalid), ("0.1", "this is not asked")] {
        let agent = format!("http://localhost:{}/", single(card(""), answer));
        let ran = sandbox.run_without(&["task", "list", "-e", &agent, "--transport", "jsonrpc", "--a2a-version", version]);
        assert_eq!(ran.code, 1, "{version} {ran:?}");
        assert!(ran.err.starts_with("Error: UnsupportedOperationError\n"), "{version} {ran:?}");
        assert_eq!(field(&ran.err, "Message"), format!("A2A {version} has no list of tasks, and this agent offers none"));
        let instead = format!("a2a task get -e {agent} --transport jsonrpc --a2a-version {version} TASK_ID");
        assert!(field(&ran.err, "Hint").ends_with(&instead), "{version} {ran:?}");
    }
}
