//! Cards that we sign, checked by the released SDKs, and theirs by us.
//!
//! [`Sdk`] runs `tests/sdk/sign.py` or `tests/sdk/sign.mjs` with an SDK that `tests/sdk/install` has put into the folder named by
//! `CHANCERY_SDKS`. Without the variable these tests pass without doing anything.

use std::{
    io::{BufRead, BufReader, Write},
    path::{Path, PathBuf},
    process::{Child, ChildStdin, Command, Stdio},
    sync::mpsc::{self, Receiver},
    thread,
    time::Duration,
};

use chancery_signing::{Algorithm, Document, Form, Outcome, Policy, Signer, SigningKey, Verdict, Verifier};
use serde_json::{Value, json};

use crate::vectors::{now, read};

/// The longest time an SDK may take to start or to answer on a busy machine.
const PATIENCE: Duration = Duration::from_secs(120);

/// A running SDK.
struct Sdk {
    name: &'static str,
    child: Child,
    input: ChildStdin,
    output: Receiver<String>,
}

impl Sdk {
    /// Both SDKs that can sign; none when no folder of SDKs is given.
    fn all() -> Vec<Self> {
        ["py-1.3.0", "js-1.3.0"].into_iter().filter_map(Self::start).collect()
    }

    fn start(name: &'static str) -> Option<Self> {
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
        let input = child.stdin.take().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let (sender, output) = mpsc::channel();
        thread::spawn(move || lines.map_while(Result::ok).try_for_each(|line| sender.send(line)));
        let sdk = Self { name, child, input, output };
        assert_eq!(sdk.read()["version"], name.rsplit('-').next().unwrap(), "{name} is another version");
        Some(sdk)
    }

    fn sign(&mut self, card: &Value, key: &Value, protected: Value) -> Value {
        let mut answer = self.ask(&json!({"card": card, "key": key, "protected": protected}));
        assert_eq!(answer["ok"], true);
        answer["card"].take()
    }

    fn accepts(&mut self, card: &Value, keys: &Value) -> bool {
        self.ask(&json!({"card": card, "keys": keys}))["ok"] == true
    }

    fn ask(&mut self, question: &Value) -> Value {
        writeln!(self.input, "{question}").unwrap_or_else(|e| panic!("{}: {e}", self.name));
        self.read()
    }

    fn read(&self) -> Value {
        let line = self.output.recv_timeout(PATIENCE).unwrap_or_else(|e| panic!("{} does not answer: {e}", self.name));
        serde_json::from_str(&line).unwrap()
    }
}

impl Drop for Sdk {
    fn drop(&mut self) {
        // It may be gone already, which is as good.
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

/// Cards without signatures: a plain one, one beyond ASCII, one with all that the forms disagree about.
fn cards() -> Vec<(&'static str, Value)> {
    ["py-es256-1", "py-unicode", "py-empty-params", "py-apikey-noscope", "spec-empty-required"]
        .into_iter()
        .map(|name| {
            let mut card: Value = serde_json::from_slice(&read(&format!("cards/{name}.json"))).unwrap();
            card.as_object_mut().unwrap().remove("signatures");
            (name, card)
        })
        .collect()
}

/// Changes that everybody must notice.
fn tampered(card: &Value) -> Vec<Value> {
    let changes: [fn(&mut Value); 3] = [
        |card| card["name"] = json!("Evil"),
        |card| card["supportedInterfaces"][0]["url"] = json!("https://evil.example.com/a2a"),
        |card| card["defaultInputModes"] = json!(["text/html"]),
    ];
    let change = |change: fn(&mut Value)| {
        let mut card = card.clone();
        change(&mut card);
        card
    };
    changes.into_iter().map(change).collect()
}

const ALGORITHMS: [Algorithm; 3] = [Algorithm::Es256, Algorithm::EdDsa, Algorithm::Rs256];

/// SC-14, V10-SIGN-001, V10-SIGN-002: what we sign, the released SDKs accept, and what was changed afterwards they refuse.
#[test]
fn the_sdks_accept_what_we_sign() {
    let mut sdks = Sdk::all();
    for algorithm in ALGORITHMS {
        let key = SigningKey::generate(algorithm, "ours").unwrap();
        let keys = json!({"keys": [key.public().to_value()]});
        for (name, card) in cards() {
            let mut document = Document::of(&card).unwrap();
            Signer::new(&key).jku("https://agent.example.com/.well-known/jwks.json").sign(&mut document).unwrap();
            let signed = document.into_value();
            for sdk in &mut sdks {
                assert!(sdk.accepts(&signed, &keys), "{} refuses {name} with {algorithm}", sdk.name);
                for tampered in tampered(&signed) {
                    assert!(!sdk.accepts(&tampered, &keys), "{} accepts a changed {name} with {algorithm}", sdk.name);
                }
            }
        }
    }
}

/// SC-14: without the second signature they would refuse a card with empty members, which is why we make it.
#[test]
fn the_sdks_need_the_second_signature() {
    let key = SigningKey::generate(Algorithm::Es256, "ours").unwrap();
    let keys = json!({"keys": [key.public().to_value()]});
    let (_, card) = cards().pop().unwrap();
    let mut document = Document::of(&card).unwrap();
    Signer::new(&key).forms([Form::Spec]).sign(&mut document).unwrap();
    let signed = document.into_value();
    for sdk in &mut Sdk::all() {
        assert!(!sdk.accepts(&signed, &keys), "{}", sdk.name);
    }
}

/// SC-10b, SC-11: what the released SDKs sign, we accept, and what was changed afterwards we refuse.
#[tokio::test]
async fn we_accept_what_the_sdks_sign() {
    for sdk in &mut Sdk::all() {
        for algorithm in ALGORITHMS {
            let key = SigningKey::generate(algorithm, "theirs").unwrap();
            let private: Value = serde_json::from_str(&key.to_private_jwk().unwrap()).unwrap();
            let mut policy = Policy::default();
            policy.keys = key.public().into();
            let verifier = Verifier::new(policy);
            for (name, card) in cards() {
                let signed = sdk.sign(&card, &private, json!({"alg": algorithm, "kid": "theirs", "typ": "JOSE"}));
                let report = verifier.verify(&Document::of(&signed).unwrap(), None, now()).await.report;
                assert!(report.result.is_good(), "{} {name} {algorithm}: {report:?}", sdk.name);
                for tampered in tampered(&signed) {
                    let report = verifier.verify(&Document::of(&tampered).unwrap(), None, now()).await.report;
                    assert_eq!((report.result, report.attempts[0].outcome), (Verdict::Reject, Outcome::BadSignature));
                }
            }
        }
    }
}
