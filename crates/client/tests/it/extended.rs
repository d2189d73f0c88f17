//! The extended card: once it was read, it is the one in use.

use std::sync::{Arc, OnceLock};

use chancery_client::{Client, Secrets};
use chancery_core::{
    Binding, Card, ErrorKind, GetExtendedCard, Operations as _, SecurityRequirement, SecurityScheme, SendMessage, Version,
    security::HttpAuthScheme,
};
use serde_json::json;

use crate::{
    agent::caller,
    peer::{Peer, hello, json_response},
};

/// An agent that shows one card to everybody and another one to those who ask for it.
async fn two_faced(public: impl Fn(&str) -> Card, extended: impl Fn(&str) -> Card) -> Peer {
    let cards: Arc<OnceLock<(Card, Card)>> = Arc::default();
    let shown = cards.clone();
    let peer = Peer::start(move |asked| {
        let (public, extended) = shown.get().unwrap();
        if asked.uri.path().starts_with("/.well-known/") {
            return json_response(200, &serde_json::to_vec(public).unwrap());
        }
        let call = asked.json();
        if call["method"] == "GetExtendedAgentCard" {
            let answer = json!({"jsonrpc": "2.0", "id": call["id"], "result": extended});
            return json_response(200, answer.to_string().as_bytes());
        }
        json_response(200, &hello(asked))
    })
    .await;
    cards.set((public(&peer.url), extended(&peer.url))).unwrap();
    peer
}

fn card(url: &str) -> Card {
    let mut card = Card::new("Clerk", "Says hello").skill("hello", "Says hello").interface(url, Binding::JsonRpc, Version::V1_0);
    card.capabilities.extended_agent_card = Some(true);
    card
}

/// V10-XCARD-005: capabilities, skills, security and interfaces are those of the extended card, for the client and its clones.
#[tokio::test]
async fn an_extended_card_is_the_one_in_use() {
    let extended = |url: &str| {
        let mut card = card(url).skill("refund", "Pays back").streaming(true);
        card.supported_interfaces.clear();
        card.interface(format!("{url}/inner"), Binding::JsonRpc, Version::V1_0)
            .security_scheme("token", SecurityScheme::HttpAuth(HttpAuthScheme::new("Bearer", "")))
            .require(SecurityRequirement::new().and("token", [""; 0]))
    };
    let peer = two_faced(card, extended).await;
    let agent = Client::builder().credentials(Secrets::new().bearer("t-1")).connect(&peer.url).await.unwrap();
    let clone = agent.clone();
    let refused = clone.stream_message(&caller(), SendMessage::new("hi")).await.map(drop).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::UnsupportedOperation);
    agent.get_extended_card(&caller(), GetExtendedCard::default()).await.unwrap();
    assert_eq!(clone.card().unwrap().skills.len(), 2);
    assert_eq!(clone.url(), format!("{}/inner", peer.url));
    peer.asked();
    assert!(clone.stream_message(&caller(), SendMessage::new("hi")).await.is_ok());
    let call = peer.calls().remove(0);
    assert_eq!((call.uri.path(), call.header("authorization")), ("/inner", Some("Bearer t-1")));
    // The public card is the same as ever, and changes nothing.
    assert!(!clone.refresh().await.unwrap());
    assert_eq!(agent.card().unwrap().skills.len(), 2);
}

#[tokio::test]
async fn an_extended_card_with_nothing_that_is_spoken_leaves_the_interface() {
    let peer = two_faced(card, |_| {
        let mut card = card("");
        card.supported_interfaces.clear();
        card
    })
    .await;
    let agent = Client::connect(&peer.url).await.unwrap();
    agent.get_extended_card(&caller(), GetExtendedCard::default()).await.unwrap();
    assert_eq!((agent.url().as_str(), agent.send("hi").await.unwrap().text().as_str()), (peer.url.as_str(), "hello"));
}
