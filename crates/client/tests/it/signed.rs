//! Signed cards: who is believed, and what is used of a card that is.

use std::sync::{Arc, Mutex};

use axum::response::Response;
use chancery_client::{
    Builder, Client, SignedCards, Trouble, TroubleKind,
    seal::{Algorithm, Document, JwkSet, KeyOrigin, Policy, Signer, SigningKey, Verdict},
};
use chancery_core::{Binding, Card, Error, Version};
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
        let card: Arc<Mutex<Value>> = Arc::default();
        let key = SigningKey::generate(Algorithm::EdDsa, "2026-11").unwrap();
        let (shown, keys) = (card.clone(), JwkSet::from(key.public()).to_value().to_string());
        let answer = move |asked: &Asked| -> Response {
            match asked.uri.path() {
                "/.well-known/agent-card.json" => json_response(200, shown.lock().unwrap().to_string().as_bytes()),
                "/keys.json" => json_response(200, keys.as_bytes()),
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
