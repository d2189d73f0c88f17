//! Other agents, for whoever passes work on.

use chancery_client::{Client, Keyring, Secrets, SignedCards, Trouble, TroubleKind};
use chancery_core::{Card, Peers as _, SecurityRequirement, SecurityScheme, SendMessage, security::HttpAuthScheme};

use crate::{agent::caller, peer::Peer};

fn guarded(card: Card) -> Card {
    let bearer = SecurityScheme::HttpAuth(HttpAuthScheme::new("Bearer", ""));
    card.security_scheme("token", bearer).require(SecurityRequirement::new().and("token", [""; 0]))
}

/// HO-10: a card that was read is not read again for a while.
#[tokio::test]
async fn a_card_is_read_once_for_many_calls() {
    let agent = Peer::agent(|card| card).await;
    let peers = Client::builder().peers();
    for url in [agent.url.clone(), format!("{}/", agent.url)] {
        let peer = peers.peer(&url).await.unwrap();
        assert_eq!(peer.card.name, "Told");
        peer.operations.send_message(&caller(), SendMessage::new("hello")).await.unwrap();
    }
    let asked = agent.asked();
    assert_eq!(asked.iter().filter(|asked| asked.uri.path().starts_with("/.well-known/")).count(), 1, "{asked:?}");
    assert_eq!(asked.iter().filter(|asked| asked.method == axum::http::Method::POST).count(), 2, "{asked:?}");
}

/// HO-50: every agent sees the credentials for its own origin.
#[tokio::test]
async fn each_agent_sees_its_own_credentials() {
    let (billing, ledger) = (Peer::agent(guarded).await, Peer::agent(guarded).await);
    let stranger = Peer::agent(guarded).await;
    let ring = Keyring::new().at(&billing.url, Secrets::new().bearer("b-1")).unwrap();
    let ring = ring.at(&ledger.url, Secrets::new().bearer("l-1")).unwrap();
    let peers = Client::builder().credentials(ring).peers();
    for (agent, token) in [(&billing, "Bearer b-1"), (&ledger, "Bearer l-1")] {
        let peer = peers.peer(&agent.url).await.unwrap();
        peer.operations.send_message(&caller(), SendMessage::new("hello")).await.unwrap();
        assert_eq!(agent.calls()[0].header("authorization"), Some(token));
    }
    let peer = peers.peer(&stranger.url).await.unwrap();
    let error = peer.operations.send_message(&caller(), SendMessage::new("hello")).await.unwrap_err();
    assert_eq!(Trouble::of(&error).unwrap().kind(), TroubleKind::CredentialsMissing);
    assert!(stranger.calls().is_empty());
}

#[tokio::test]
async fn an_agent_that_is_not_there_or_not_trusted_is_no_peer() {
    let error = Client::builder().retries(0).peers().peer("http://127.0.0.1:1").await.err().unwrap();
    assert_eq!(Trouble::of(&error).unwrap().kind(), TroubleKind::Unreachable);
    let unsigned = Peer::agent(|card| card).await;
    let error = Client::builder().signed_cards(SignedCards::Require).peers().peer(&unsigned.url).await.err().unwrap();
    assert_eq!(Trouble::of(&error).unwrap().kind(), TroubleKind::CardUntrusted);
}
