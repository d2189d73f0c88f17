//! Signed cards: who is believed, and what is used of a card that is.

use std::sync::{Arc, Mutex};

use axum::response::Response;
use chancery_client::{
    Builder, Client, SignedCards, Trouble, TroubleKind,
    seal::{Algorithm, Document, JwkSet, KeyOrigin, Policy, Signer, SigningKey, Verdict},
};
use chancery_core::{Binding, Caller, Card, Error, GetExtendedCard, Operations as _, Version};
use serde_json::{Value, json};

use crate::{
    peer::{Asked, Peer, hello, json_response},
    tls::Authority,
};

/// An agent whose card can be changed while it works, and that publishes a key.
struct Agent {
    peer: Peer,
    card: Arc<Mutex<Value>>,
    key: SigningKey,
}

impl Agent {
    async fn start() -> Self {
        Self::publishing(|keys, _| json_response(200, keys.to_string().as_bytes())).await
    }

    /// An agent that answers those who ask for its key set, which it is given, in its own way.
    async fn publishing(publish: impl Fn(&Value, &Asked) -> Response + Send + Sync + 'static) -> Self {
        let card: Arc<Mutex<Value>> = Arc::default();
        let key = SigningKey::generate(Algorithm::EdDsa, "2026-11").unwrap();
        let (shown, keys) = (card.clone(), JwkSet::from(key.public()).to_value());
        let answer = move |asked: &Asked| -> Response {
            match asked.uri.path() {
                "/.well-known/agent-card.json" => json_response(200, shown.lock().unwrap().to_string().as_bytes()),
                "/keys.json" | "/moved.json" => publish(&keys, asked),
                _ => json_response(200, &hello(asked)),
            }
        };
        let peer = Peer::start(answer).await;
        let made = Card::new("Told", "Says what it is told").skill("hello", "Says hello").streaming(false);
        *card.lock().unwrap() = serde_json::to_value(made.interface(&peer.url, Binding::JsonRpc, Version::V1_0)).unwrap();
        Self { peer, card, key }
    }

    /// Signs the card, and says in it that the key is on this host.
    fn sign(&self, at: &str) -> &Self {
        let mut card = self.card.lock().unwrap();
        let mut document = Document::of(&*card).unwrap();
        Signer::new(&self.key).jku(format!("{at}/keys.json")).sign(&mut document).unwrap();
        *card = document.into_value();
        drop(card);
        self
    }

    fn change(&self, change: impl FnOnce(&mut Value)) {
        change(&mut self.card.lock().unwrap());
    }

    /// Trusts the key of this agent.
    fn trusted(&self, mode: SignedCards) -> Builder {
        let mut policy = Policy::default();
        policy.keys = self.key.public().into();
        Client::builder().trust(policy).signed_cards(mode)
    }

    fn text(&self) -> Vec<u8> {
        self.card.lock().unwrap().to_string().into_bytes()
    }
}

fn trouble(error: &Error) -> Option<TroubleKind> {
    Trouble::of(error).map(Trouble::kind)
}

fn verdict(agent: &Client) -> Option<Verdict> {
    agent.card_report().map(|report| report.result)
}

/// V10-SIGN-011, V10-SIGN-013, DIA-002-SIGN-005: a card is used as the policy says.
#[tokio::test]
async fn a_card_is_checked_as_far_as_the_user_wants_it() {
    let agent = Agent::start().await;
    // off, report, require
    let check = async |expected: [Option<Verdict>; 2], accepted: bool| {
        for (mode, expected) in [SignedCards::Off, SignedCards::Report].into_iter().zip(expected) {
            let client = agent.trusted(mode).connect(&agent.peer.url).await.unwrap();
            assert_eq!(verdict(&client), expected);
            assert_eq!(client.send("hello").await.unwrap().text(), "hello");
        }
        match agent.trusted(SignedCards::Require).connect(&agent.peer.url).await {
            Ok(client) => assert!(accepted && verdict(&client) == expected[1]),
            Err(error) => assert!(!accepted && trouble(&error) == Some(TroubleKind::CardUntrusted), "{error:?}"),
        }
    };
    check([None, Some(Verdict::Unsigned)], false).await;
    agent.sign(&agent.peer.url);
    check([None, Some(Verdict::Accept)], true).await;
    agent.change(|card| card["description"] = json!("Says what it pleases"));
    check([None, Some(Verdict::Reject)], false).await;
}

/// SC-13: what stands beside the signed members is not used, also when it says where the agent is.
#[tokio::test]
async fn what_stands_beside_the_signed_members_is_ignored() {
    let (agent, evil) = (Agent::start().await, Peer::start(|asked| json_response(200, &hello(asked))).await);
    agent.sign(&agent.peer.url).change(|card| {
        card["url"] = json!(evil.url);
        card["preferredTransport"] = json!("JSONRPC");
        card["protocolVersion"] = json!("0.3.0");
    });
    let builder = agent.trusted(SignedCards::Report);
    let error = builder.clone().versions([Version::V0_3]).connect(&agent.peer.url).await.unwrap_err();
    assert_eq!(trouble(&error), Some(TroubleKind::NoInterface));
    let client = builder.connect(&agent.peer.url).await.unwrap();
    let report = client.card_report().unwrap();
    assert_eq!(report.result, Verdict::AcceptCovered);
    assert_eq!(report.ignored, ["/url", "/preferredTransport", "/protocolVersion"]);
    assert_eq!(client.card().unwrap().signatures.len(), 1);
    client.send("hello").await.unwrap();
    assert!(evil.asked().is_empty());
}

/// SC-12, SC-13: what the signature of an SDK does not cover is not used, because anybody can have added it.
#[tokio::test]
async fn only_what_is_covered_is_used() {
    let agent = Agent::start().await;
    agent.change(|card| card["securitySchemes"] = json!({"key": {"apiKeySecurityScheme": {"location": "header", "name": "X-Key"}}}));
    agent.sign(&agent.peer.url).change(|card| card["securityRequirements"] = json!([{"schemes": {"key": {"list": []}}}]));
    let wanted = async |mode| {
        let client = agent.trusted(mode).connect(&agent.peer.url).await.unwrap();
        (client.card().unwrap().security_requirements.len(), client.card_report().map(|report| report.uncovered.clone()))
    };
    assert_eq!(wanted(SignedCards::Off).await, (1, None));
    assert_eq!(wanted(SignedCards::Report).await, (0, Some(vec!["/securityRequirements".to_owned()])));
}

/// SC-20, SC-22, V10-SIGN-012: without any setting, keys on the card's own host count, and are read once.
#[tokio::test]
async fn keys_are_read_from_the_host_of_the_card() {
    let (agent, authority) = (Agent::start().await, Authority::new());
    let front = authority.front(agent.peer.url.trim_start_matches("http://").parse().unwrap(), false).await;
    agent.sign(&front);
    let builder = authority.trusted().signed_cards(SignedCards::Require);
    for _ in 0..3 {
        let report = builder.connect(&front).await.unwrap().card_report().unwrap();
        assert_eq!((report.result, report.key_source), (Verdict::Accept, Some(KeyOrigin::Jku)));
    }
    let asked = agent.peer.asked();
    let keys: Vec<_> = asked.iter().filter(|asked| asked.uri.path() == "/keys.json").collect();
    assert_eq!(keys.len(), 1);
    assert_eq!(keys[0].header("authorization"), None);

    // Over plain HTTP nobody can say whose keys these are.
    agent.change(|card| card["signatures"] = json!([]));
    agent.sign(&agent.peer.url);
    let error = builder.connect(&front).await.unwrap_err();
    assert_eq!(trouble(&error), Some(TroubleKind::CardUntrusted), "{error:?}");
}

#[tokio::test]
async fn a_card_that_is_asked_for_again_is_checked_again() {
    let agent = Agent::start().await;
    agent.sign(&agent.peer.url);
    let client = agent.trusted(SignedCards::Require).connect(&agent.peer.url).await.unwrap();
    assert!(!client.refresh().await.unwrap());
    agent.change(|card| card["name"] = json!("Evil"));
    assert_eq!(trouble(&client.refresh().await.unwrap_err()), Some(TroubleKind::CardUntrusted));
    assert_eq!((client.card().unwrap().name.as_str(), verdict(&client)), ("Told", Some(Verdict::Accept)));
}

#[tokio::test]
async fn a_card_at_hand_is_checked_too() {
    let agent = Agent::start().await;
    agent.sign(&agent.peer.url);
    let require = agent.trusted(SignedCards::Require);
    assert!(require.connect_card(&agent.text(), None).is_err());
    let client = require.connect_signed_card(&agent.text(), None).await.unwrap();
    assert_eq!(verdict(&client), Some(Verdict::Accept));
    agent.change(|card| card["name"] = json!("Evil"));
    let error = require.connect_signed_card(&agent.text(), None).await.unwrap_err();
    assert_eq!(trouble(&error), Some(TroubleKind::CardUntrusted));
    let verified = agent.trusted(SignedCards::Off).verify_card(&agent.text(), Some(&agent.peer.url)).await.unwrap();
    assert_eq!((verified.report.result, verified.covered), (Verdict::Reject, None));
}

async fn echo(turn: chancery_engine::Turn) -> Result<chancery_engine::Outcome, chancery_engine::Failure> {
    Ok(chancery_engine::Outcome::reply(turn.text()))
}

/// A server that signs its cards, with an extended card for everybody.
async fn sealed(key: SigningKey) -> chancery::Running {
    let mut card = Card::new("Echo", "Repeats what it hears").skill("echo", "Says your words back");
    card.capabilities.extended_agent_card = Some(true);
    let extended = card.clone().skill("more", "Is for those who ask");
    let engine = chancery_engine::Engine::new(card, echo).extended_card(extended);
    let server = chancery::Server::several().agent("/", engine).store(chancery_engine::store::Memory::new());
    server.signing(chancery::Signing::new(key)).bind("127.0.0.1:0").await.unwrap()
}

/// SC-22, SC-30, SC-31: a server that signs its cards is believed without any setting, over every binding; so is its extended card. On this
/// machine, keys at the very place of the card need no TLS.
#[tokio::test]
async fn a_server_that_signs_its_cards_is_believed() {
    for algorithm in [Algorithm::Es256, Algorithm::EdDsa] {
        let running = sealed(SigningKey::generate(algorithm, "2026-11").unwrap()).await;
        for binding in [Binding::JsonRpc, Binding::HttpJson, Binding::Grpc] {
            let builder = Client::builder().bindings([binding]).signed_cards(SignedCards::Require);
            let client = builder.connect(running.url()).await.unwrap();
            let report = client.card_report().unwrap();
            assert_eq!((report.key_source, report.kid.as_deref()), (Some(KeyOrigin::Jku), Some("2026-11")));
            assert_eq!(client.send("hello").await.unwrap().text(), "hello");
            let extended = client.get_extended_card(&Caller::anonymous(), GetExtendedCard::default()).await.unwrap();
            assert_eq!((extended.skills.len(), extended.signatures.len()), (2, 1), "{binding}");
        }
        running.shutdown().await;
    }
}

/// An extended card is refused or reduced by its own signatures, not by those of the public one.
#[tokio::test]
async fn an_extended_card_is_checked_by_itself() {
    let agent = Agent::start().await;
    agent.change(|card| card["capabilities"] = json!({"extendedAgentCard": true}));
    agent.sign(&agent.peer.url);
    let card: Value = serde_json::from_slice(&agent.text()).unwrap();
    let (mut forged, mut bare) = (card.clone(), card.clone());
    forged["name"] = json!("Evil");
    bare.as_object_mut().unwrap().remove("signatures");
    for (extended, accepted) in [(&card, true), (&forged, false), (&bare, false)] {
        let result = json!({"jsonrpc": "2.0", "id": 1, "result": extended}).to_string();
        let front = Peer::start(move |_| json_response(200, result.as_bytes())).await;
        let mut public = card.clone();
        public["supportedInterfaces"][0]["url"] = json!(front.url);
        let mut document = Document::of(&public).unwrap();
        Signer::new(&agent.key).replace().sign(&mut document).unwrap();
        let text = document.into_value().to_string();
        let ask = async |mode| {
            let client = agent.trusted(mode).connect_signed_card(text.as_bytes(), None).await.unwrap();
            client.get_extended_card(&Caller::anonymous(), GetExtendedCard::default()).await
        };
        match ask(SignedCards::Require).await {
            Ok(_) => assert!(accepted),
            Err(error) => assert!(!accepted && trouble(&error) == Some(TroubleKind::CardUntrusted), "{error:?}"),
        }
        assert_eq!(serde_json::to_value(ask(SignedCards::Report).await.unwrap()).unwrap()["name"], extended["name"]);
    }
}

/// SC-22
#[tokio::test]
async fn key_sets_beyond_the_limits_are_refused() {
    let verdict = async |publish: fn(&Value, &Asked) -> Response| {
        let agent = Agent::publishing(publish).await;
        agent.sign(&agent.peer.url);
        Client::builder().connect(&agent.peer.url).await.unwrap().card_report().unwrap().result
    };
    fn repeated(keys: &Value, times: usize) -> Response {
        json_response(200, json!({ "keys": vec![keys["keys"][0].clone(); times] }).to_string().as_bytes())
    }
    fn padded(keys: &Value, length: usize) -> Response {
        let mut body = keys.to_string().into_bytes();
        body.resize(length, b' ');
        json_response(200, &body)
    }
    fn moved(keys: &Value, asked: &Asked, host: &str) -> Response {
        if asked.uri.path() == "/moved.json" {
            return json_response(200, keys.to_string().as_bytes());
        }
        let port = asked.header("host").unwrap().rsplit(':').next().unwrap();
        let location = format!("http://{host}:{port}/moved.json");
        Response::builder().status(302).header("location", location).body(Default::default()).unwrap()
    }
    assert_eq!(verdict(|keys, _| repeated(keys, 100)).await, Verdict::Accept);
    assert_eq!(verdict(|keys, _| repeated(keys, 101)).await, Verdict::NoKey);
    assert_eq!(verdict(|keys, _| padded(keys, 65_536)).await, Verdict::Accept);
    assert_eq!(verdict(|keys, _| padded(keys, 65_537)).await, Verdict::NoKey);
    assert_eq!(verdict(|keys, asked| moved(keys, asked, "127.0.0.1")).await, Verdict::Accept);
    assert_eq!(verdict(|keys, asked| moved(keys, asked, "localhost")).await, Verdict::NoKey);
}

/// Guarantee G12: with a guard, no word of a stranger leads inward: not the address of a card, not a redirect, not an interface of a card, not
/// the place of a key set, over no binding.
#[tokio::test]
async fn a_guarded_client_is_not_led_inward() {
    use chancery_net::{Blocked, Guard};
    let inside = Peer::start(|asked| json_response(200, &hello(asked))).await;
    let port = inside.url.rsplit(':').next().unwrap().to_owned();
    let refused = |error: &Error| {
        let mut cause: Option<&dyn std::error::Error> = Some(error);
        while let Some(one) = cause {
            if one.downcast_ref::<Blocked>().is_some() {
                return true;
            }
            cause = one.source();
        }
        false
    };
    let guarded = Client::builder().guard(Guard::new()).retries(0);
    for host in ["127.0.0.1", "localhost", "[::ffff:127.0.0.1]", "2130706433", "0x7f.1", "169.254.169.254", "metadata.google.internal"] {
        let error = guarded.connect(&format!("http://{host}:{port}")).await.unwrap_err();
        assert!(refused(&error), "{host}: {error:?}");
    }
    // A card at hand, whose interfaces lead inward.
    for (binding, url) in
        [(Binding::JsonRpc, inside.url.clone()), (Binding::HttpJson, inside.url.clone()), (Binding::Grpc, format!("localhost:{port}"))]
    {
        let card = Card::new("Told", "Is elsewhere").skill("hello", "Says hello").interface(url, binding, Version::V1_0);
        let client = guarded.connect_card(&serde_json::to_vec(&card).unwrap(), None).unwrap();
        assert!(client.send("hello").await.is_err(), "{binding}");
    }
    // A key set inward, on a host that the policy names.
    let agent = Agent::start().await;
    agent.sign(&format!("https://localhost:{port}"));
    let mut policy = Policy::default();
    policy.allow_key_hosts = vec!["localhost".to_owned(), "127.0.0.1".to_owned()];
    let builder = Client::builder().trust(policy).signed_cards(SignedCards::Require);
    let error = builder.connect_signed_card(&agent.text(), Some("https://agent.example/")).await.unwrap_err();
    assert_eq!(trouble(&error), Some(TroubleKind::CardUntrusted));
    assert!(error.to_string().contains("localhost is not asked"), "{error}");
    assert!(inside.asked().is_empty());
    // What is opened is open.
    let open = Client::builder().guard(Guard::new().loopback(true));
    let card =
        Card::new("Told", "Is here").skill("hello", "Says hello").streaming(false).interface(&inside.url, Binding::JsonRpc, Version::V1_0);
    let client = open.connect_card(&serde_json::to_vec(&card).unwrap(), None).unwrap();
    assert_eq!(client.send("hello").await.unwrap().text(), "hello");
}
