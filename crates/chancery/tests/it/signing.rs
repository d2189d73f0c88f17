//! Cards that are signed by the server that serves them.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use async_trait::async_trait;
use chancery::{Mount, Running, Server, Signing};
use chancery_core::{
    Caller, CancelTask, Card, DeletePushConfig, Error, ErrorKind, EventStream, GetExtendedCard, GetPushConfig, GetTask, LazyTask,
    ListPushConfigs, ListTasks, Operations, PushConfig, PushConfigPage, Result, SendMessage, SendReply, Subscribe, Task, TaskPage, Version,
};
use chancery_engine::{Engine, Failure, Outcome, Turn, store::Memory};
use chancery_signing::{Algorithm, Document, Form, JwkSet, Policy, Report, SigningKey, Verdict, Verifier};
use jiff::Timestamp;
use serde_json::{Value, json};
use url::Url;

async fn echo(turn: Turn) -> Result<Outcome, Failure> {
    Ok(Outcome::reply(turn.text()))
}

fn key(name: &str) -> SigningKey {
    SigningKey::generate(Algorithm::EdDsa, name).unwrap()
}

fn card() -> Card {
    Card::new("Echo", "Repeats what it hears").skill("echo", "Says your words back")
}

async fn serve(signing: Signing) -> Running {
    Server::new(card(), echo).store(Memory::new()).signing(signing).bind("127.0.0.1:0").await.unwrap()
}

/// A document, and its tag.
async fn get(running: &Running, path: &str, version: Option<&str>) -> (Value, String) {
    let mut request = reqwest::Client::new().get(format!("{}{path}", running.url()));
    if let Some(version) = version {
        request = request.header("a2a-version", version);
    }
    let response = request.send().await.unwrap();
    assert_eq!(response.status(), 200, "{path}");
    let tag = response.headers().get("etag").map(|tag| tag.to_str().unwrap().to_owned()).unwrap_or_default();
    (serde_json::from_str(&response.text().await.unwrap()).unwrap(), tag)
}

const CARD: &str = "/.well-known/agent-card.json";
const KEYS: &str = "/.well-known/jwks.json";

async fn keys(running: &Running) -> Value {
    get(running, KEYS, None).await.0
}

/// Checks a card with the keys that the server publishes.
async fn check(running: &Running, card: &Value, change: impl FnOnce(&mut Policy)) -> Report {
    let mut policy = Policy::default();
    policy.keys = JwkSet::parse(keys(running).await.to_string().as_bytes()).unwrap();
    change(&mut policy);
    let origin = Url::parse(running.url()).unwrap();
    Verifier::new(policy).verify(&Document::of(card).unwrap(), Some(&origin), Timestamp::now()).await.report
}

async fn verdict(running: &Running, card: &Value) -> Verdict {
    check(running, card, |_| {}).await.result
}

/// The protected header of a signature.
fn header(signature: &Value) -> Value {
    use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};
    serde_json::from_slice(&BASE64_URL_SAFE_NO_PAD.decode(signature["protected"].as_str().unwrap()).unwrap()).unwrap()
}

/// SC-30, SC-31: every form of the card is signed when the server starts and the same for each request; its tag covers the signatures; the
/// keys are where the signature says, beside that of webhooks.
#[tokio::test]
async fn a_served_card_is_signed_once_and_says_where_the_key_is() {
    let running = serve(Signing::new(key("2026-11"))).await;
    for version in [None, Some("1.0")] {
        let (card, tag) = get(&running, CARD, version).await;
        assert!(verdict(&running, &card).await.is_good(), "{version:?} {card}");
        assert_eq!(header(&card["signatures"][0])["jku"], format!("{}{KEYS}", running.url()));
        assert_eq!(get(&running, CARD, version).await, (card, tag));
    }
    let (plain, tag) = get(&running, CARD, Some("1.0")).await;
    assert_eq!(verdict(&running, &plain).await, Verdict::Accept);
    let published = keys(&running).await;
    let names: Vec<_> = published["keys"].as_array().unwrap().iter().map(|key| key["kid"].as_str().unwrap().to_owned()).collect();
    assert_eq!(names.len(), 2);
    assert_eq!(names[1], "2026-11");
    assert!(published.to_string().find("\"d\"").is_none(), "a private part is published");

    // Another key is another document.
    running.sign(Some(Signing::new(key("2026-12")))).unwrap();
    let (card, changed) = get(&running, CARD, Some("1.0")).await;
    assert_ne!(tag, changed);
    assert_eq!(header(&card["signatures"][0])["kid"], "2026-12");
    assert_eq!((verdict(&running, &card).await, verdict(&running, &plain).await), (Verdict::Accept, Verdict::NoKey));

    // A changed agent is signed anew.
    let other = Card::new("Parrot", "Repeats what it hears").skill("echo", "Says your words back");
    running.replace(Mount::agent("/", Engine::new(other, echo)).key("agent")).unwrap();
    let (card, _) = get(&running, CARD, Some("1.0")).await;
    assert_eq!((card["name"].as_str(), verdict(&running, &card).await), (Some("Parrot"), Verdict::Accept));

    running.sign(None).unwrap();
    let (card, _) = get(&running, CARD, None).await;
    assert_eq!(card.get("signatures"), None);
    assert_eq!(keys(&running).await["keys"].as_array().unwrap().len(), 1);
    running.shutdown().await;
}

/// SC-32: the first key signs, those that are to sign too do, and all are published.
#[tokio::test]
async fn keys_are_changed_without_a_gap() {
    let (old, new) = (Arc::new(key("old")), Arc::new(key("new")));
    let kids = async |running: &Running| {
        let (card, _) = get(running, CARD, Some("1.0")).await;
        assert_eq!(verdict(running, &card).await, Verdict::Accept);
        card["signatures"].as_array().unwrap().iter().map(|one| header(one)["kid"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let running = serve(Signing::new(old.clone()).published(new.public())).await;
    assert_eq!((kids(&running).await, keys(&running).await["keys"].as_array().unwrap().len()), (vec!["old".to_owned()], 3));
    running.sign(Some(Signing::new(new.clone()).also(old.clone()))).unwrap();
    assert_eq!(kids(&running).await, ["new", "old"]);
    running.sign(Some(Signing::new(new).published(old.public()))).unwrap();
    assert_eq!((kids(&running).await, keys(&running).await["keys"].as_array().unwrap().len()), (vec!["new".to_owned()], 3));
    running.shutdown().await;
}

/// SC-33: what is for readers of v0.3 says what the signed members say, whatever the order in which versions are served.
#[tokio::test]
async fn members_for_older_readers_do_not_contradict_the_signed_ones() {
    let server = Server::new(card(), echo).store(Memory::new()).signing(Signing::new(key("k")));
    let running = server.versions([Version::V0_3, Version::V1_0]).bind("127.0.0.1:0").await.unwrap();
    let (card, _) = get(&running, CARD, None).await;
    let report = check(&running, &card, |_| {}).await;
    assert_eq!(report.result, Verdict::AcceptCovered);
    assert!(report.ignored.contains(&"/url".to_owned()), "{:?}", report.ignored);
    let interfaces = card["supportedInterfaces"].as_array().unwrap();
    assert_eq!(interfaces[0]["protocolVersion"], "1.0");
    let older: Vec<_> = interfaces.iter().filter(|one| one["protocolVersion"] == "0.3").map(|one| one["url"].clone()).collect();
    assert!(older.contains(&card["url"]), "{card}");
    for place in card["additionalInterfaces"].as_array().unwrap() {
        assert!(older.contains(&place["url"]), "{place}");
    }
    running.shutdown().await;
}

/// SC-34, DIA-002-CARD-003, DIA-002-CARD-004: with snake_case names, for those who ask, the document is signed as it is and says who issued it.
#[tokio::test]
async fn the_card_with_snake_case_names_has_a_signature_of_its_own() {
    let running = serve(Signing::new(key("k"))).await;
    let (snake, tag) = get(&running, &format!("{CARD}?names=snake"), None).await;
    let (usual, other) = get(&running, CARD, None).await;
    assert_ne!(tag, other);
    assert!(snake["supported_interfaces"].is_array() && usual.get("supported_interfaces").is_none());
    assert_eq!(snake["jwks_uri"], format!("{}{KEYS}", running.url()));
    let dialect = |policy: &mut Policy| (policy.dialect, policy.require_issuer) = (true, true);
    let report = check(&running, &snake, dialect).await;
    assert_eq!((report.result, report.form), (Verdict::Accept, Some(Form::Raw)));
    assert_eq!(header(&snake["signatures"][0])["iss"], "127.0.0.1");
    assert_eq!(header(&usual["signatures"][0]).get("iss"), None);
    let mut forged = snake.clone();
    forged["jwks_uri"] = json!("https://evil.example/keys");
    assert_eq!(check(&running, &forged, dialect).await.result, Verdict::Reject);
    running.shutdown().await;

    let running = Server::new(card(), echo).store(Memory::new()).bind("127.0.0.1:0").await.unwrap();
    let (snake, _) = get(&running, &format!("{CARD}?names=snake"), None).await;
    assert_eq!((snake.get("signatures"), snake.get("jwks_uri")), (None, None));
    running.shutdown().await;
}

/// Has another extended card for each caller's tenant, and counts.
#[derive(Default)]
struct Members {
    asked: AtomicUsize,
}

fn no<T>() -> Result<T> {
    Err(Error::new(ErrorKind::UnsupportedOperation, "not here"))
}

#[async_trait]
impl Operations for Members {
    async fn send_message(&self, _: &Caller, _: SendMessage) -> Result<SendReply> {
        no()
    }

    async fn stream_message(&self, _: &Caller, _: SendMessage) -> Result<EventStream> {
        no()
    }

    async fn get_task(&self, _: &Caller, _: GetTask) -> Result<LazyTask> {
        no()
    }

    async fn list_tasks(&self, _: &Caller, _: ListTasks) -> Result<TaskPage<LazyTask>> {
        no()
    }

    async fn cancel_task(&self, _: &Caller, _: CancelTask) -> Result<Task> {
        no()
    }

    async fn subscribe(&self, _: &Caller, _: Subscribe) -> Result<EventStream> {
        no()
    }

    async fn create_push_config(&self, _: &Caller, _: PushConfig) -> Result<PushConfig> {
        no()
    }

    async fn get_push_config(&self, _: &Caller, _: GetPushConfig) -> Result<PushConfig> {
        no()
    }

    async fn list_push_configs(&self, _: &Caller, _: ListPushConfigs) -> Result<PushConfigPage> {
        no()
    }

    async fn delete_push_config(&self, _: &Caller, _: DeletePushConfig) -> Result<()> {
        no()
    }

    async fn get_extended_card(&self, caller: &Caller, _: GetExtendedCard) -> Result<Card> {
        self.asked.fetch_add(1, Ordering::Relaxed);
        Ok(card().skill("members", format!("Is there for {}", caller.identity().tenant)))
    }
}

/// SC-30: an extended card has signatures of its own, each caller's variant the same ones every time.
#[tokio::test]
async fn extended_cards_are_signed_separately() {
    let mut public = card();
    public.capabilities.extended_agent_card = Some(true);
    let members = Arc::new(Members::default());
    let server = Server::several().mount(Mount::operations("/", public, members.clone()));
    let running = server.signing(Signing::new(SigningKey::generate(Algorithm::Es256, "k").unwrap())).bind("127.0.0.1:0").await.unwrap();
    let ask = async |tenant: &str, version: &str, method: &str| {
        let params = if tenant.is_empty() { json!({}) } else { json!({"tenant": tenant}) };
        let call = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        let request = reqwest::Client::new().post(running.url()).header("a2a-version", version).header("content-type", "application/json");
        let answer = request.body(call.to_string()).send().await.unwrap().text().await.unwrap();
        serde_json::from_str::<Value>(&answer).unwrap()["result"].clone()
    };
    let (ada, bob) = (ask("ada", "1.0", "GetExtendedAgentCard").await, ask("bob", "1.0", "GetExtendedAgentCard").await);
    assert_eq!((verdict(&running, &ada).await, verdict(&running, &bob).await), (Verdict::Accept, Verdict::Accept));
    assert_ne!(ada["signatures"], bob["signatures"]);
    // This algorithm gives another signature each time, so that the same one was not made twice.
    assert_eq!(ask("ada", "1.0", "GetExtendedAgentCard").await["signatures"], ada["signatures"]);
    assert_eq!(members.asked.load(Ordering::Relaxed), 3);
    // Nobody has signed what readers of v0.3 get.
    let older = ask("", "0.3", "agent/getAuthenticatedExtendedCard").await;
    assert_eq!((older["name"].as_str(), older.get("signatures")), (Some("Echo"), None));
    running.shutdown().await;
}

/// Places may have keys of their own, or none; a catalog lists them all.
#[tokio::test]
async fn each_place_may_be_sealed_differently() {
    let mount = |path: &str| Mount::agent(path, Engine::new(card(), echo));
    let server = Server::several().store(Memory::new()).signing(Signing::new(key("all"))).catalog("urn:air:example.com:agents");
    let server = server.mount(mount("/")).mount(mount("/own").signing(Signing::new(key("own")))).mount(mount("/none").unsigned());
    let running = server
        .mount(mount("/far").signing(Signing::new(key("far")).keys_at("https://keys.example/set")))
        .bind("127.0.0.1:0")
        .await
        .unwrap();
    let names = async |path: &str| {
        let (card, _) = get(&running, &format!("{path}{CARD}"), Some("1.0")).await;
        let signatures = card["signatures"].as_array().cloned().unwrap_or_default();
        signatures.iter().map(|one| (header(one)["kid"].clone(), header(one)["jku"].clone())).collect::<Vec<_>>()
    };
    let here = json!(format!("{}{KEYS}", running.url()));
    running.sign(Some(Signing::new(key("later")))).unwrap();
    assert_eq!(names("").await, [(json!("later"), here.clone())]);
    assert_eq!(names("/own").await, [(json!("own"), here)]);
    assert_eq!(names("/none").await, []);
    assert_eq!(names("/far").await, [(json!("far"), json!("https://keys.example/set"))]);
    let (catalog, _) = get(&running, "/.well-known/ai-catalog.json", None).await;
    let entries = catalog["entries"].as_array().unwrap();
    assert_eq!(entries.len(), 4);
    assert_eq!(entries[0]["identifier"], "urn:air:example.com:agents:agent");
    for entry in entries {
        assert_eq!(entry["mediaType"], "application/a2a-agent-card+json");
        let card = reqwest::get(entry["url"].as_str().unwrap()).await.unwrap();
        assert_eq!(card.status(), 200, "{entry}");
    }
    running.shutdown().await;
}
