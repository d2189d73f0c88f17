//! Tokens that we make, in the hands of the released biscuit-python, and its tokens in ours.
//!
//! `tests/sdk/install` puts it into the folder named by `CHANCERY_SDKS`. Without the variable nothing is done here.

use std::{
    io::{BufRead, BufReader, Write},
    path::{Path, PathBuf},
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
};

use chancery_core::{Secret, Timestamp};
use chancery_lattice::{Grant, Hop, Issuer, Needs, Roots, Scope};
use serde_json::{Value, json};

const BILLING: &str = "https://billing.example.com";
const LEDGER: &str = "https://ledger.example.com";

/// The package at work, one line for each question.
struct Peer {
    process: Child,
    asked: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl Peer {
    fn start() -> Option<Self> {
        let folder = PathBuf::from(std::env::var_os("CHANCERY_SDKS")?);
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/sdk/scope.py");
        let mut command = Command::new(folder.join("py-biscuit-0.4.0/bin/python"));
        command.arg("-I").arg(script).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut process = command.spawn().expect("run tests/sdk/install");
        let (asked, answers) = (process.stdin.take().unwrap(), BufReader::new(process.stdout.take().unwrap()));
        let mut peer = Self { process, asked, answers };
        assert_eq!(peer.answer()["version"], "0.4.0");
        Some(peer)
    }

    fn answer(&mut self) -> Value {
        let mut line = String::new();
        self.answers.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line:?}"))
    }

    fn ask(&mut self, question: &Value) -> Value {
        writeln!(self.asked, "{question}").unwrap();
        self.answer()
    }

    fn token(&mut self, question: &Value) -> Secret {
        let answer = self.ask(question);
        Secret::new(answer["token"].as_str().unwrap_or_else(|| panic!("{answer}")))
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        drop(self.process.kill());
        drop(self.process.wait());
    }
}

fn now() -> Timestamp {
    Timestamp::parse("2026-11-16T12:00:00Z").unwrap()
}

/// The facts and checks of a receiver, as the profile has them.
fn receiver(audience: &str, hops: u32, skills: &str) -> String {
    format!(
        r#"time(2026-11-16T12:00:00Z); audience("{audience}"); hops({hops});
        need_skills({skills}); need_scopes({{"refund:write"}}); need_modes({{"text/plain"}});
        check if a2a("1");
        check if need_skills($n), skills($g), $g.contains($n);
        check if need_scopes($n), scopes($g), $g.contains($n);
        check if need_modes($n), modes($g), $g.contains($n);
        check if hops($n), max_hops($m), $n <= $m;
        allow if true;"#
    )
}

const BLOCK: &str = r#"
    hop(1, "https://triage.example.com", "https://billing.example.com");
    check if need_skills($s), {"refund"}.contains($s);
    check if need_scopes($s), {"refund:write"}.contains($s);
    check if audience($a), {"https://billing.example.com", "https://ledger.example.com"}.contains($a);
    check if hops($n), $n <= 2;
"#;

/// LA-30, LA-33, LA-38: minted here, narrowed there, read here; and what we have narrowed once more is checked there.
#[test]
fn a_token_of_ours_survives_biscuit_python() {
    let Some(mut python) = Peer::start() else { return };
    let issuer = Issuer::generate(7);
    let modes = json!(["text/plain"]);
    let scope = json!({
        "skills": ["triage", "refund"], "scopes": ["order:read", "refund:write"],
        "inputModes": modes, "outputModes": modes, "hops": 3, "notAfter": "2026-12-31T00:00:00Z",
    });
    let token = issuer.mint(&Grant::new(serde_json::from_value(scope).unwrap())).unwrap();
    let token = python.token(&json!({"narrow": token.expose(), "root": issuer.public_key(), "block": BLOCK}));

    let roots = Roots::new().root(7, &issuer.public_key()).unwrap();
    let seen = roots.verify(&token, BILLING, now(), &Needs::skills(["refund"])).unwrap();
    let expected = json!({
        "skills": ["refund"], "audiences": [BILLING, LEDGER], "scopes": ["refund:write"],
        "inputModes": modes, "outputModes": modes, "hops": 1, "notAfter": "2026-12-31T00:00:00.000Z",
    });
    assert_eq!((serde_json::to_value(&seen.scope).unwrap(), seen.hops), (expected, 1));
    assert!(roots.verify(&token, BILLING, now(), &Needs::skills(["triage"])).is_err());
    assert!(roots.verify(&token, "https://triage.example.com", now(), &Needs::default()).is_err());

    let scope: Scope = serde_json::from_value(json!({"skills": ["refund"], "hops": 0})).unwrap();
    let hop = Hop::new(BILLING, LEDGER, scope);
    let token = hop.audiences(Some([LEDGER.to_owned()].into())).narrow(&token).unwrap();
    let mut check = |audience, hops, skills| {
        let question = json!({"check": token.expose(), "root": issuer.public_key(), "code": receiver(audience, hops, skills)});
        python.ask(&question)
    };
    assert_eq!(check(LEDGER, 2, r#"{"refund"}"#), json!({"ok": true, "blocks": 3}));
    for (audience, hops, skills) in [(BILLING, 2, r#"{"refund"}"#), (LEDGER, 3, r#"{"refund"}"#), (LEDGER, 2, r#"{"refund", "triage"}"#)] {
        assert_eq!(check(audience, hops, skills)["ok"], false, "{audience} {hops} {skills}");
    }
}

/// LA-30, LA-37: minted there, narrowed and read here, and narrowed there again.
#[test]
fn a_token_of_biscuit_python_is_read_and_narrowed_here() {
    let Some(mut python) = Peer::start() else { return };
    let code = r#"
        a2a("1"); subject("user:alice"); workflow("refunds");
        skills({"triage", "refund", "invoice.create"}); scopes({"order:read", "refund:write"});
        modes({"text/plain", "application/json"}); max_hops(3);
        check if time($t), $t < 2026-12-31T00:00:00Z;
    "#;
    let minted = python.ask(&json!({"mint": code, "kid": 7}));
    let (token, key) = (Secret::new(minted["token"].as_str().unwrap()), minted["public_key"].as_str().unwrap().to_owned());
    let roots = Roots::new().root(7, &key).unwrap();
    let seen = roots.verify(&token, BILLING, now(), &Needs::skills(["invoice.create"])).unwrap();
    assert_eq!((seen.subject.as_deref(), seen.workflow.as_deref(), seen.scope.hops), (Some("user:alice"), Some("refunds"), Some(3)));

    let hop = Hop::new("https://triage.example.com", BILLING, Scope::of_skills(["refund"]));
    let token = hop.narrow(&token).unwrap();
    let question = json!({"check": token.expose(), "root": key, "code": receiver(BILLING, 1, r#"{"refund"}"#)});
    assert_eq!(python.ask(&question), json!({"ok": true, "blocks": 2}));
    let token = python.token(&json!({"narrow": token.expose(), "root": key, "block": "check if hops($n), $n <= 2;"}));
    let seen = roots.verify(&token, BILLING, now(), &Needs::skills(["refund"])).unwrap();
    assert_eq!((seen.hops, seen.scope.hops), (2, Some(0)));
    let other = Roots::new().root(7, &Issuer::generate(7).public_key()).unwrap();
    assert!(other.verify(&token, BILLING, now(), &Needs::default()).is_err());
}
