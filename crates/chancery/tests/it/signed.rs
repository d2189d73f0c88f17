//! Cards that a server signs, as it serves them, checked by the released SDKs.
//!
//! `tests/sdk/sign.py` and `tests/sdk/sign.mjs` run with an SDK that `tests/sdk/install` has put into the folder named by `CHANCERY_SDKS`.
//! Without the variable these tests pass without doing anything.

use std::{
    io::{BufRead, BufReader, Write},
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use chancery::{
    Card, Failure, Memory, Outcome, Server, Signing, Turn,
    auth::{Auth, Digest, Holder, Scheme},
    core::security::ApiKeyLocation,
};
use chancery_client::seal::{Algorithm, SigningKey};
use serde_json::{Value, json};

/// Whether an SDK accepts each card, with these keys; `None` when there is no folder of SDKs.
fn accepts(name: &str, cards: &[Value], keys: &Value) -> Option<Vec<bool>> {
    let folder = std::env::var_os("CHANCERY_SDKS").filter(|folder| !folder.is_empty())?;
    let root = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
    let (home, scripts) = (root.join(PathBuf::from(folder)).join(name), root.join("tests/sdk"));
    let mut command = if name.starts_with("py-") {
        let mut command = Command::new(home.join("bin/python"));
        command.arg("-I").arg(scripts.join("sign.py"));
        command
    } else {
        let mut command = Command::new("node");
        command.arg(scripts.join("sign.mjs")).arg(&home);
        command
    };
    let child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
    let mut child = child.unwrap_or_else(|e| panic!("{name} does not start ({e}); run tests/sdk/install"));
    let mut input = child.stdin.take().unwrap();
    for card in cards {
        writeln!(input, "{}", json!({"card": card, "keys": keys})).unwrap();
    }
    // It ends when its input does.
    drop(input);
    let lines = BufReader::new(child.stdout.take().unwrap()).lines().skip(1);
    let answers: Vec<bool> = lines.map(|line| serde_json::from_str::<Value>(&line.unwrap()).unwrap()["ok"] == true).collect();
    child.wait().unwrap();
    Some(answers)
}

async fn echo(turn: Turn) -> Result<Outcome, Failure> {
    Ok(Outcome::reply(turn.text()))
}

/// SC-14, SC-30, SC-33: the released SDKs verify a card as it is served, also where it has members for v0.3 and a requirement that they do
/// not cover; and refuse one that was changed on its way.
#[tokio::test]
async fn served_cards_are_verified_by_the_sdks() {
    for algorithm in [Algorithm::Es256, Algorithm::Rs256, Algorithm::EdDsa] {
        let card = Card::new("Echo", "Repeats what it hears, even \u{fc}ber \u{1f30d}").skill("echo", "Says your words back");
        let keys = Scheme::api_key(ApiKeyLocation::Header, "X-API-Key").holder(Holder::new("ada", Digest::of("secret")));
        let server = Server::new(card, echo).store(Memory::new()).auth(Auth::new().scheme("key", keys));
        let server = server.signing(Signing::new(SigningKey::generate(algorithm, "2026-11").unwrap()));
        let running = server.bind("127.0.0.1:0").await.unwrap();
        let get = async |path: &str, version: &str| {
            let request = reqwest::Client::new().get(format!("{}{path}", running.url())).header("a2a-version", version);
            serde_json::from_str::<Value>(&request.send().await.unwrap().text().await.unwrap()).unwrap()
        };
        let keys = get("/.well-known/jwks.json", "").await;
        let (merged, pure) = (get("/.well-known/agent-card.json", "").await, get("/.well-known/agent-card.json", "1.0").await);
        assert!(merged["url"].is_string() && pure.get("url").is_none());
        let mut forged = merged.clone();
        forged["supportedInterfaces"][0]["url"] = json!("https://evil.example.com/a2a");
        for sdk in ["py-1.3.0", "js-1.3.0"] {
            if let Some(accepted) = accepts(sdk, &[merged.clone(), pure.clone(), forged.clone()], &keys) {
                assert_eq!(accepted, [true, true, false], "{sdk} {algorithm}");
            }
        }
        running.shutdown().await;
    }
}
