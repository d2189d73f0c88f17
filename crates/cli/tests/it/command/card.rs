//! `a2a card get`.

use std::io::{Read as _, Write as _};

use super::Sandbox;

/// A2ACLI_CARD_GET_001
#[test]
fn a_card_is_found_by_host_url_or_file() {
    let sandbox = Sandbox::new();
    std::fs::write(sandbox.work("c.json"), sandbox.ok(&["card", "get", "-o", "json"])).unwrap();
    let (host, file) = (sandbox.at(""), format!("file://{}", sandbox.work("c.json").display()));
    let url = format!("http://{host}/.well-known/agent-card.json");
    for reference in [host.as_str(), &url, &file, "./c.json", "c.json"] {
        assert_eq!(sandbox.json(&["card", "get", "-a", reference])["name"], "Demo", "{reference}");
        assert_eq!(sandbox.json(&["card", "get", reference])["name"], "Demo", "{reference}");
    }
    let card = std::fs::read_to_string(sandbox.work("c.json")).unwrap();
    assert!(sandbox.run_with(&card, &["card", "get", "-a", "-"]).out.starts_with("Name: Demo\n"));
    sandbox.ok(&["send", "-a", "./c.json", "hi"]);
}

/// A2ACLI_CARD_GET_002: the rules of the protocol; a JSON schema is not used.
#[test]
fn a_card_is_checked_when_asked() {
    let sandbox = Sandbox::new();
    sandbox.ok(&["card", "get", "--validate"]);
    let mut card = sandbox.json(&["card", "get"]);
    card["skills"][0]["id"] = "".into();
    card["version"] = "".into();
    std::fs::write(sandbox.work("bad.json"), card.to_string()).unwrap();
    let ran = sandbox.run(&["card", "get", "-a", "./bad.json", "--validate"]);
    assert!(ran.code == 1 && ran.err.contains("Error: A2ACLI_ERR_CARD_INVALID"), "{ran:?}");
    assert!(
        ran.err.contains("Finding: /version ") && ran.err.contains("Finding: /skills/0/id ") && ran.err.contains("(2 in all)"),
        "{ran:?}"
    );
    std::fs::write(sandbox.work("none.json"), "{}").unwrap();
    assert_eq!(sandbox.run(&["card", "get", "-a", "./none.json"]).code, 1);
}

/// A2ACLI_CARD_GET_004: absent is no failure, and what was not checked is not called verified.
#[test]
fn a_signature_that_is_not_checked_is_not_verified() {
    let sandbox = Sandbox::new();
    assert!(sandbox.ok(&["card", "get"]).ends_with("Signature: absent\n"));
    let mut card = sandbox.json(&["card", "get"]);
    card["signatures"] = serde_json::json!([{"protected": "e30", "signature": "AA"}]);
    std::fs::write(sandbox.work("signed.json"), card.to_string()).unwrap();
    assert!(sandbox.ok(&["card", "get", "-a", "./signed.json", "--no-verify"]).ends_with("Signature: unverifiable (not checked)\n"));
    let ran = sandbox.run(&["send", "-a", "./signed.json", "--require-signature", "hi"]);
    assert!(ran.code == 1 && ran.err.contains("Error: A2AX_ERR_SIGNATURE"), "{ran:?}");
}

/// Answers requests one after the other, and gives back what was asked, in lower case.
pub(super) fn serve(answers: Vec<&'static str>) -> (u16, std::thread::JoinHandle<Vec<String>>) {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let thread = std::thread::spawn(move || {
        let mut asked = Vec::new();
        for answer in answers {
            let (mut stream, _) = listener.accept().unwrap();
            let mut request = Vec::new();
            let mut byte = [0];
            while !request.ends_with(b"\r\n\r\n") && stream.read(&mut byte).unwrap() > 0 {
                request.push(byte[0]);
            }
            asked.push(String::from_utf8(request).unwrap().to_ascii_lowercase());
            stream.write_all(answer.as_bytes()).unwrap();
        }
        asked
    });
    (port, thread)
}

#[test]
fn a_card_is_kept_as_its_headers_say() {
    const CARD: &str =
        "HTTP/1.1 200 OK\r\nconnection: close\r\netag: \"v1\"\r\ncontent-length: 29\r\n\r\n{\"name\":\"Kept\",\"version\":\"1\"}";
    const SAME: &str = "HTTP/1.1 304 Not Modified\r\nconnection: close\r\netag: \"v1\"\r\ncache-control: max-age=600\r\n\r\n";
    let sandbox = Sandbox::new();
    let (port, server) = serve(vec![CARD, SAME]);
    let reference = format!("localhost:{port}");
    // The first is new, the second is asked about, the third is fresh.
    for _ in 0..3 {
        assert_eq!(sandbox.json(&["card", "get", &reference])["name"], "Kept");
    }
    let asked = server.join().unwrap();
    assert!(!asked[0].contains("if-none-match") && asked[1].contains("if-none-match: \"v1\""), "{asked:?}");
    assert_ne!(sandbox.run(&["card", "get", "--no-cache", &reference]).code, 0, "the server is gone, and the cache was not to be used");
}

#[test]
fn a_card_that_wants_credentials_itself_is_told() {
    let (port, server) = serve(vec!["HTTP/1.1 401 Unauthorized\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"]);
    let ran = Sandbox::new().run(&["card", "get", "-o", "json", &format!("localhost:{port}")]);
    server.join().unwrap();
    let error: serde_json::Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!(
        (ran.code, error["error"]["code"].as_str(), error["error"]["a2aCode"].as_i64()),
        (4, Some("A2ACLI_ERR_CREDENTIALS_MISSING"), Some(401))
    );
}

/// A2ACLI_CARD_GET_003: callers who are known see more, and nobody else does.
#[test]
fn the_extended_card_is_for_callers_who_are_known() {
    let sandbox = Sandbox::new();
    let secure = sandbox.at("/secure");
    assert!(!sandbox.ok(&["card", "get", &secure]).contains("Skill: members"));
    let extended = sandbox.ok(&["card", "get", "--extended", "--bearer", "demo-token", "-a", &secure]);
    assert!(extended.contains("Skill: members"), "{extended}");
    let (missing, wrong) = (["card", "get", "--extended", "-a", &secure], ["card", "get", "--extended", "--bearer", "no", "-a", &secure]);
    assert_eq!((sandbox.run(&missing).code, sandbox.run(&wrong).code), (4, 4));
}
