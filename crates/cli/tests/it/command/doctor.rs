//! `a2a doctor`.

use std::{
    io::{Read as _, Write as _},
    net::{TcpListener, TcpStream},
    os::unix::fs::PermissionsExt as _,
    process::Stdio,
};

use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};
use serde_json::{Value, json};

use super::{Ran, Sandbox, finish};

/// What is found, as its level and its message.
#[track_caller]
fn found<'a>(ran: &'a Ran, level: &str, part: &str) -> &'a str {
    let line = ran.out.lines().find(|line| line.starts_with(&format!("{level}: ")) && line.contains(part));
    line.unwrap_or_else(|| panic!("no {level} with {part:?}: {ran:?}"))
}

/// What stands below a finding.
#[track_caller]
fn next<'a>(ran: &'a Ran, part: &str) -> &'a str {
    let mut lines = ran.out.lines().skip_while(|line| !line.contains(part)).skip(1);
    lines.next().and_then(|line| line.strip_prefix("Next: ")).unwrap_or_else(|| panic!("nothing to do about {part:?}: {ran:?}"))
}

fn verdict(ran: &Ran) -> &str {
    ran.out.lines().last().unwrap_or_default()
}

#[test]
fn a_healthy_agent_is_told_so() {
    let sandbox = Sandbox::new();
    let ran = sandbox.run(&["doctor", "--message", "slow 1s"]);
    assert_eq!((ran.code, verdict(&ran)), (0, "Verdict: all is well"), "{ran:?}");
    for part in ["no proxy is used", "localhost is reached at 127.0.0.1:", "the clocks agree", "the card of \"Demo\" is found and valid"] {
        found(&ran, "Ok", part);
    }
    for number in 1..=5 {
        found(&ran, "Ok", &format!("interface {number}, "));
    }
    found(&ran, "Ok", "the card is read by a2a-sdk 1.3 (Python), ");
    found(&ran, "Note", " of GRPC is no http URL");
    assert!(next(&ran, " of GRPC is no http URL").contains("--bindings jsonrpc,rest"));
    found(&ran, "Ok", "the version header is honored");
    found(&ran, "Ok", "the stream is flushed event by event");
    let document: Value = sandbox.json(&["doctor", "--read-only"]);
    assert_eq!((document["problems"].as_i64(), document["warnings"].as_i64()), (Some(0), Some(0)), "{document}");
    assert!(
        document["findings"].as_array().unwrap().iter().all(|finding| finding["level"] == "ok" || finding["level"] == "note"),
        "{document}"
    );
    assert_eq!(sandbox.calls("SendStreamingMessage"), 1, "--read-only sends nothing");
    let ran = sandbox.run(&["doctor", "-a", &sandbox.at("/nostream")]);
    found(&ran, "Ok", "the card declares no streams");
}

#[test]
fn whoever_cannot_be_reached_is_told_apart() {
    let sandbox = Sandbox::new();
    let ran = sandbox.run(&["doctor", "-a", "localhost:1"]);
    assert_eq!((ran.code, verdict(&ran)), (3, "Verdict: 1 problem, 0 warnings"), "{ran:?}");
    found(&ran, "Problem", "nobody answers at localhost:1");
    assert!(next(&ran, "nobody answers").contains("a2a serve --port 1"));
    assert_eq!(ran.err.trim(), "error: A2ACLI_ERR_UNREACHABLE: 1 problem, 0 warnings");
    let ran = sandbox.run(&["doctor", "-a", "http://nowhere.invalid"]);
    assert_eq!(ran.code, 3, "{ran:?}");
    found(&ran, "Problem", "the name nowhere.invalid leads nowhere");
    let ran = sandbox.run(&["doctor", "-a", &sandbox.at("/nobody")]);
    assert!(ran.code == 3 && next(&ran, "no agent card").contains("-a URL"), "{ran:?}");
    let ran = sandbox.run(&["doctor", "-a", "localhost:1", "-o", "json"]);
    let document: Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!((ran.code, document["problems"].as_i64()), (3, Some(1)), "{ran:?}");
}

#[test]
fn an_advertised_url_that_nobody_listens_on_is_a_problem() {
    let sandbox = Sandbox::new();
    let mut card = sandbox.json(&["card", "get"]);
    card["supportedInterfaces"][1]["url"] = json!("http://localhost:1");
    card["supportedInterfaces"].as_array_mut().unwrap().truncate(2);
    std::fs::write(sandbox.work("card.json"), card.to_string()).unwrap();
    let ran = sandbox.run(&["doctor", "-a", "./card.json"]);
    assert_eq!((ran.code, verdict(&ran)), (1, "Verdict: 1 problem, 0 warnings"), "{ran:?}");
    found(&ran, "Ok", "interface 1, ");
    found(&ran, "Problem", "interface 2, HTTP+JSON 1.0 http://localhost:1, is not reachable from here");
    assert_eq!(next(&ran, "interface 2"), "start it, or take it out of the card");
    assert_eq!(ran.err.trim(), "error: A2AX_ERR_CHECKS_FAILED: 1 problem, 0 warnings");
    card["name"] = json!("");
    std::fs::write(sandbox.work("card.json"), card.to_string()).unwrap();
    let ran = sandbox.run(&["doctor", "-a", "./card.json"]);
    assert!(ran.code == 1 && next(&ran, "not valid").starts_with("a2a card get --validate -a ./card.json"), "{ran:?}");
}

#[test]
fn settings_are_looked_at() {
    let sandbox = Sandbox::new();
    let token = |ends: i64| format!("x.{}.y", BASE64_URL_SAFE_NO_PAD.encode(json!({"exp": ends}).to_string()));
    let file = sandbox.work(".env");
    std::fs::write(&file, format!("A2ACLI_BEARER={}\n", token(1_700_000_000))).unwrap();
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o644)).unwrap();
    let run = |variables: &[(&str, &str)]| {
        let mut command = sandbox.command(&["doctor", "--read-only"]);
        finish(command.stdin(Stdio::null()).envs(variables.iter().copied()))
    };
    let ran = run(&[("A2ACLI_AGENTCARD", "x"), ("HTTP_PROXY", "http://ada:s3cret@proxy.example:1"), ("NO_PROXY", "localhost,127.0.0.1")]);
    assert_eq!(ran.code, 1, "{ran:?}");
    found(&ran, "Warning", "holds a credential, and others can read it");
    assert!(next(&ran, "holds a credential").starts_with("chmod 600 "));
    found(&ran, "Problem", "the bearer token ended ");
    assert!(next(&ran, "the bearer token").starts_with("a2a auth login"));
    found(&ran, "Warning", "the variable A2ACLI_AGENTCARD means nothing");
    assert_eq!(next(&ran, "A2ACLI_AGENTCARD"), "did you mean A2ACLI_AGENT_CARD?");
    found(&ran, "Ok", "NO_PROXY names localhost");
    std::fs::write(&file, format!("A2ACLI_BEARER={}\n", token(4_000_000_000))).unwrap();
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).unwrap();
    let ran = run(&[]);
    assert_eq!(ran.code, 0, "{ran:?}");
    found(&ran, "Ok", "settings are read from");
    found(&ran, "Ok", "the bearer token is good for ");
    let ran = run(&[("HTTP_PROXY", "http://ada:s3cret@127.0.0.1:1")]);
    assert_eq!(ran.code, 3, "{ran:?}");
    found(&ran, "Warning", "HTTP_PROXY sends calls for localhost, which is this machine, through http://(hidden)@127.0.0.1:1/");
    assert_eq!(next(&ran, "HTTP_PROXY sends"), "export NO_PROXY=localhost");
    assert!(!ran.out.contains("s3cret") && !ran.err.contains("s3cret"), "{ran:?}");
}

#[test]
fn the_file_of_a_server_is_looked_at() {
    let sandbox = Sandbox::new();
    let agent = "[[agent]]\nname = \"echo\"\ndescription = \"Says it again\"\necho = true\n";
    let look = |text: &str| {
        std::fs::write(sandbox.work("a2a.toml"), text).unwrap();
        let mut command = sandbox.command(&["doctor", "--file", "a2a.toml"]);
        finish(command.env_remove("A2ACLI_AGENT_CARD").stdin(Stdio::null()))
    };
    let ran = look(agent);
    assert_eq!((ran.code, verdict(&ran)), (0, "Verdict: all is well"), "{ran:?}");
    found(&ran, "Ok", "a2a.toml is good: 1 agent");
    found(&ran, "Ok", "which can be written");
    let ran = look(&format!("[server]\nlisten = \"0.0.0.0:8080\"\n{agent}"));
    assert!(ran.code == 0 && next(&ran, "0.0.0.0:8080") == "set public_url in [server]", "{ran:?}");
    let ran = look(&format!("[server]\ndata = \"/proc/nowhere\"\n{agent}"));
    assert_eq!(ran.code, 1, "{ran:?}");
    found(&ran, "Problem", "/proc/nowhere, which cannot be written");
    let ran = look("[server]\nlissten = \"x\"\n");
    assert_eq!(ran.code, 1, "{ran:?}");
    found(&ran, "Problem", "lissten");
    assert_eq!(next(&ran, "lissten"), "a2a serve --check a2a.toml");
}

/// An agent that answers every call with the same, and its card with a date of long ago.
fn stubborn(status: &'static str, body: &'static str) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let url = format!("http://127.0.0.1:{port}/");
    let card = json!({
        "name": "Stubborn", "description": "Always says the same", "version": "1", "capabilities": {},
        "supportedInterfaces": [{"url": url, "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}],
        "defaultInputModes": ["text/plain"], "defaultOutputModes": ["text/plain"],
        "skills": [{"id": "s", "name": "s", "description": "s", "tags": ["s"]}],
    });
    std::thread::spawn(move || {
        for mut stream in listener.incoming().map_while(Result::ok) {
            let mut buffer = vec![0; 65_536];
            let count = stream.read(&mut buffer).unwrap_or(0);
            let is_card = buffer[..count].starts_with(b"GET");
            let (status, body) = if is_card { ("200 OK", card.to_string()) } else { (status, body.to_owned()) };
            let length = body.len();
            // Whoever only connects to see whether somebody is there hears nothing.
            drop(write!(
                stream,
                "HTTP/1.1 {status}\r\ndate: Mon, 16 Nov 2020 04:00:00 GMT\r\ncontent-type: application/json\r\n\
                 connection: close\r\ncontent-length: {length}\r\n\r\n{body}"
            ));
        }
    });
    port
}

#[test]
fn wrong_clocks_and_ignored_versions_are_found() {
    let sandbox = Sandbox::new();
    let port = stubborn("200 OK", r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32001,"message":"no such task"}}"#);
    let ran = sandbox.run(&["doctor", "-a", &format!("localhost:{port}")]);
    assert_eq!((ran.code, verdict(&ran)), (1, "Verdict: 1 problem, 1 warning"), "{ran:?}");
    found(&ran, "Problem", "ahead of the agent's");
    assert!(next(&ran, "ahead of").starts_with("timedatectl"));
    found(&ran, "Warning", "the version header is not honored");
    assert!(next(&ran, "version header").starts_with("a2a conformance -a localhost:"));
}

#[test]
fn an_agent_that_wants_credentials_is_no_problem() {
    let sandbox = Sandbox::new();
    let port = stubborn("401 Unauthorized", "{}");
    let ran = sandbox.run(&["doctor", "-a", &format!("localhost:{port}")]);
    found(&ran, "Warning", "wants other credentials");
    assert!(next(&ran, "wants other credentials").contains("A2ACLI_BEARER"), "{ran:?}");
    found(&ran, "Ok", "the version header is not looked at: that wants credentials");
}

/// A proxy that lets an answer through when it is complete.
fn holding(listener: TcpListener, port: u16) {
    std::thread::spawn(move || {
        for mut from in listener.incoming().map_while(Result::ok) {
            let mut to = TcpStream::connect(("127.0.0.1", port)).unwrap();
            let (mut there, mut back) = (from.try_clone().unwrap(), to.try_clone().unwrap());
            std::thread::spawn(move || std::io::copy(&mut there, &mut back));
            std::thread::spawn(move || {
                let (mut held, mut buffer) = (Vec::new(), [0; 4_096]);
                while let Ok(count @ 1..) = to.read(&mut buffer) {
                    held.extend_from_slice(&buffer[..count]);
                    let is_stream = held.windows(17).any(|window| window == b"text/event-stream");
                    if !is_stream || held.ends_with(b"0\r\n\r\n") {
                        from.write_all(&held).unwrap();
                        held.clear();
                    }
                }
            });
        }
    });
}

#[test]
fn a_proxy_that_holds_events_back_is_found() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let sandbox = Sandbox::with(|_| ["--public-url", &url].map(str::to_owned).to_vec());
    holding(listener, sandbox.port);
    let ran = sandbox.run(&["doctor", "-a", &url, "--message", "slow 1s"]);
    found(&ran, "Warning", "stream events arrive in one lump after 1.");
    assert!(next(&ran, "one lump").contains("proxy_buffering off"), "{ran:?}");
}

/// A server with a certificate of its own, valid until then.
fn sealed(year: i32) -> Sandbox {
    Sandbox::with(|home| {
        let mut params = rcgen::CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
        params.not_after = rcgen::date_time_ymd(year, 1, 1);
        params.not_before = rcgen::date_time_ymd(2020, 1, 1);
        let key = rcgen::KeyPair::generate().unwrap();
        let cert = home.write("cert.pem", &params.self_signed(&key).unwrap().pem());
        let key = home.write("key.pem", &key.serialize_pem());
        ["--tls-cert", cert.to_str().unwrap(), "--tls-key", key.to_str().unwrap(), "--public-url", "https://localhost:1"]
            .map(str::to_owned)
            .to_vec()
    })
}

#[test]
fn certificates_are_looked_at() {
    let sandbox = sealed(2100);
    let agent = format!("https://localhost:{}", sandbox.port);
    let ca = sandbox.home.path("cert.pem");
    let ran = sandbox.run(&["doctor", "-a", &agent]);
    assert_eq!(ran.code, 3, "{ran:?}");
    found(&ran, "Problem", "nobody here knows who made the certificate of localhost");
    assert!(next(&ran, "nobody here knows").contains("--ca-cert FILE"));
    let ran = sandbox.run(&["doctor", "-a", &agent, "--ca-cert", ca.to_str().unwrap()]);
    found(&ran, "Ok", "TLS with localhost works, the certificate is good for 2");
    let ran = sandbox.run(&["doctor", "-a", &format!("https://127.0.0.1:{}", sandbox.port), "--ca-cert", ca.to_str().unwrap()]);
    found(&ran, "Problem", "the certificate is not one of 127.0.0.1");
    let sandbox = sealed(2021);
    let ca = sandbox.home.path("cert.pem");
    let ran = sandbox.run(&["doctor", "-a", &format!("https://localhost:{}", sandbox.port), "--ca-cert", ca.to_str().unwrap()]);
    assert_eq!(ran.code, 3, "{ran:?}");
    found(&ran, "Problem", "the certificate of localhost ended ");
    assert_eq!(next(&ran, "ended"), "whoever runs it must renew it");
}
