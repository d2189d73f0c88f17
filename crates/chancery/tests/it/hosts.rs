//! The URLs of cards: those of the host that a card was asked for by, if it is one of the server's.

use std::sync::Arc;

use chancery::{Client, Follow, Handoff, Passing, Running, Server, Signing, TaskState};
use chancery_core::{Binding, Card};
use chancery_engine::{Engine, Failure, Outcome, Turn, store::Memory};
use chancery_signing::{Algorithm, SigningKey};
use serde_json::{Value, json};

async fn echo(turn: Turn) -> Result<Outcome, Failure> {
    Ok(Outcome::reply(turn.text()))
}

fn server() -> Server {
    let card = Card::new("Echo", "Repeats what it hears").skill("echo", "Says your words back");
    let mut card = card;
    card.capabilities.extended_agent_card = Some(true);
    Server::new(card.clone(), echo).extended_card(card.skill("more", "For friends")).store(Memory::new())
}

/// The card under a `Host`, and its tag.
async fn card(running: &Running, host: &str) -> (Value, String) {
    let url = format!("http://{}/.well-known/agent-card.json", running.local_addr());
    let response = reqwest::Client::new().get(url).header("host", host).send().await.unwrap();
    assert_eq!(response.status(), 200, "{host}");
    let tag = response.headers()["etag"].to_str().unwrap().to_owned();
    (serde_json::from_str(&response.text().await.unwrap()).unwrap(), tag)
}

/// Every place that a card names, in its members for v1.0 and those for v0.3.
fn places(card: &Value) -> Vec<String> {
    let urls = |list: &str| card[list].as_array().unwrap().iter().map(|interface| interface["url"].clone()).collect::<Vec<_>>();
    let all = [vec![card["url"].clone()], urls("supportedInterfaces"), urls("additionalInterfaces")].concat();
    all.iter().map(|url| url.as_str().unwrap().trim_start_matches("http://").to_owned()).collect()
}

/// Google's ADK refuses a card with a URL on another origin than its own, and calls `localhost` another one than `127.0.0.1`.
#[tokio::test]
async fn a_card_on_loopback_names_the_host_that_it_was_asked_for_by() {
    let running = server().bind("127.0.0.1:0").await.unwrap();
    let port = running.local_addr().port();
    let mut tags = Vec::new();
    for host in ["localhost", "127.0.0.1", "[::1]"] {
        let host = format!("{host}:{port}");
        let (card, tag) = card(&running, &host).await;
        let places = places(&card);
        assert!(places.len() > 5 && places.iter().all(|place| *place == host), "{host}: {places:?}");
        assert!(!tags.contains(&tag), "{host} has the tag of another card");
        assert_eq!(self::card(&running, &host).await.1, tag);
        tags.push(tag);
    }
    running.shutdown().await;
}

/// What a stranger writes into a request is not written into a card.
#[tokio::test]
async fn a_card_for_another_host_names_the_server_as_ever() {
    let running = server().bind("127.0.0.1:0").await.unwrap();
    let port = running.local_addr().port();
    let (usual, tag) = card(&running, &running.local_addr().to_string()).await;
    for host in ["evil.example", "localhost", &format!("evil.example:{port}"), &format!("localhost.evil.example:{port}"), "localhost:1"] {
        assert_eq!(card(&running, host).await, (usual.clone(), tag.clone()), "{host}");
    }
    running.shutdown().await;
}

#[tokio::test]
async fn the_operator_says_which_other_hosts_there_are() {
    let server = server().bindings([Binding::JsonRpc]).public_url("https://agents.example.com/a2a");
    let running = server.hosts(["agents.internal", "10.0.0.7:9000", "http://[fd00::1]:8080"]).bind("127.0.0.1:0").await.unwrap();
    let port = running.local_addr().port();
    for (host, url) in [
        ("agents.example.com", "https://agents.example.com/a2a".to_owned()),
        ("agents.internal", "https://agents.internal/a2a".to_owned()),
        (&format!("agents.internal:{port}"), format!("https://agents.internal:{port}/a2a")),
        ("10.0.0.7:9000", "https://10.0.0.7:9000/a2a".to_owned()),
        ("[fd00::1]:8080", "http://[fd00::1]:8080".to_owned()),
        // With a public URL, those of this machine are not the server's.
        (&format!("localhost:{port}"), "https://agents.example.com/a2a".to_owned()),
        ("10.0.0.7", "https://agents.example.com/a2a".to_owned()),
    ] {
        assert_eq!(card(&running, host).await.0["supportedInterfaces"][0]["url"], url, "{host}");
    }
    running.shutdown().await;
    let error = self::server().hosts(["a b"]).bind("127.0.0.1:0").await.err().unwrap();
    assert!(error.to_string().contains("\"a b\" is no host; write it like"), "{error}");
}

/// SC-30: a card under another host is signed as it is read there, with keys that are there too.
#[tokio::test]
async fn a_card_under_another_host_is_signed_for_it() {
    let signing = Signing::new(SigningKey::generate(Algorithm::EdDsa, "k").unwrap());
    let running = server().signing(signing).bind("127.0.0.1:0").await.unwrap();
    for name in ["localhost", "127.0.0.1"] {
        let url = format!("http://{name}:{}", running.local_addr().port());
        let request = reqwest::Client::new().get(format!("{url}/.well-known/agent-card.json")).header("a2a-version", "1.0");
        let card = request.send().await.unwrap().text().await.unwrap();
        let verified = chancery_client::Client::builder().verify_card(card.as_bytes(), Some(&url)).await.unwrap();
        assert_eq!(verified.report.result, chancery_signing::Verdict::Accept, "{name}: {:?}", verified.report);
    }
    running.shutdown().await;
}

#[tokio::test]
async fn an_extended_card_names_the_same_host() {
    let running = server().bind("127.0.0.1:0").await.unwrap();
    let host = format!("localhost:{}", running.local_addr().port());
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "GetExtendedAgentCard"}).to_string();
    let request = reqwest::Client::new().post(running.url()).header("host", &host).header("a2a-version", "1.0");
    let answer = request.header("content-type", "application/json").body(call).send().await.unwrap().text().await.unwrap();
    let answer: Value = serde_json::from_str(&answer).unwrap();
    assert_eq!(answer["result"]["supportedInterfaces"][0]["url"], format!("http://{host}"), "{answer}");
    running.shutdown().await;
}

/// Passes work on to where it is told.
async fn pass(turn: Turn) -> Result<Outcome, Failure> {
    Ok(Outcome::transfer(Handoff::to(turn.text()).part("work")))
}

async fn work(turn: Turn) -> Result<Outcome, Failure> {
    turn.status("working").await?;
    Ok(Outcome::Completed)
}

/// An agent knows the others of its server by the server's first name; a client that came by another name goes on there.
#[tokio::test]
async fn a_client_follows_a_task_on_the_same_port_by_whatever_name() {
    let card = |name: &str| Card::new(name, "Does a part").skill("part", "Does a part");
    let passing = || Passing::new(Arc::new(Client::builder().peers()));
    let (a, b) = (Engine::new(card("A"), pass).passing(passing()), Engine::new(card("B"), work).passing(passing()));
    let server = Server::several().agent("/a", a).agent("/b", b);
    let running = server.store(Memory::new()).bind("127.0.0.1:0").await.unwrap();
    let here = format!("http://localhost:{}/a", running.local_addr().port());
    let client = Client::builder().follow_handoffs(Follow::same_origin()).connect(&here).await.unwrap();
    let mut events = client.stream(format!("{}/b", running.url())).await.unwrap();
    let (mut followed, mut last) = (Vec::new(), None);
    while let Some(update) = events.try_next().await.unwrap() {
        followed.extend(update.handoff.as_ref().map(|handoff| handoff.followed));
        last = update.event.state().or(last);
    }
    assert_eq!((followed, last), (vec![true], Some(TaskState::Completed)));
    running.shutdown().await;
}
