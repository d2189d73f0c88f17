//! From an address to a client.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use axum::{body::Body, response::Response};
use chancery_client::{CardText, Client, Notice, Trouble, TroubleKind};
use chancery_core::{Binding, Card, Error, ErrorKind, ListTasks, Version};

use crate::{
    agent::{caller, serve},
    credentials::Witness,
    peer::{Peer, json_response},
};

fn trouble(error: &Error) -> Option<TroubleKind> {
    Trouble::of(error).map(Trouble::kind)
}

fn text(card: &Card) -> Vec<u8> {
    serde_json::to_vec(card).unwrap()
}

/// CONV-PICK-001, V10-SEL-001, V10-SEL-002, V10-SEL-003.
#[tokio::test]
async fn the_first_interface_of_the_newest_version_is_used() {
    let server = serve().await;
    let card = format!("{}/.well-known/agent-card.json", server.url());
    let bare = server.url().trim_start_matches("http://");
    for url in [server.url(), card.as_str(), bare] {
        let agent = Client::connect(url).await.unwrap();
        assert_eq!((agent.binding(), agent.version(), agent.url().as_str()), (Binding::JsonRpc, Version::V1_0, server.url()));
        assert_eq!(agent.send("reply yes").await.unwrap().text(), "yes");
        assert!(!agent.refresh().await.unwrap(), "nothing has changed");
    }
    let agent = Client::builder().versions([Version::V0_3]).bindings([Binding::HttpJson]).connect(server.url()).await.unwrap();
    assert_eq!((agent.binding(), agent.version()), (Binding::HttpJson, Version::V0_3));
    assert_eq!(agent.send("reply yes").await.unwrap().text(), "yes");
    let nowhere = Client::connect(&format!("{}/nowhere", server.url())).await.unwrap_err();
    assert_eq!((nowhere.kind(), trouble(&nowhere)), (ErrorKind::MethodNotFound, Some(TroubleKind::CardNotFound)), "{nowhere:?}");
    server.shutdown().await;
}

#[tokio::test]
async fn a_card_at_hand_is_as_good_as_one_that_was_read() {
    let server = serve().await;
    let read = Client::builder().read_card(server.url()).await.unwrap();
    assert_eq!(read.card.name, "Obedient");
    assert_eq!(read.url, format!("{}/.well-known/agent-card.json", server.url()));
    for origin in [None, Some(read.url.as_str())] {
        let agent = Client::builder().connect_card(&read.body, origin).unwrap();
        assert_eq!(agent.send("reply yes").await.unwrap().text(), "yes");
        assert_eq!(agent.refresh().await.is_ok(), origin.is_some());
    }
    let error = Client::builder().connect_card(b"<html>", None).unwrap_err();
    assert_eq!(trouble(&error), Some(TroubleKind::CardInvalid), "{error:?}");
    server.shutdown().await;
}

/// V10-CACHE-001, V10-CACHE-005, V10-CACHE-006: on the wire.
#[tokio::test]
async fn a_card_that_has_not_changed_is_not_sent_again() {
    let server = serve().await;
    let builder = Client::builder();
    let first = builder.read_card(server.url()).await.unwrap();
    assert!(first.etag.is_some() && first.cache_control.is_some() && !first.unchanged, "{first:?}");
    let witness = Arc::new(Witness::default());
    let mut stored = CardText::new(&first.url, first.body.clone()).unwrap();
    stored.etag.clone_from(&first.etag);
    let second = Client::builder().observer(witness.clone()).read_card_again(&stored).await.unwrap();
    assert!(second.unchanged && second.body == first.body && second.etag == first.etag);
    assert!(witness.shown.lock().unwrap().contains("status: 304"), "{:?}", witness.shown);
    stored.etag = Some("\"another\"".to_owned());
    assert!(!builder.read_card_again(&stored).await.unwrap().unchanged);
    server.shutdown().await;
}

/// V10-CACHE-005: within its lifetime a card is not asked for again.
#[tokio::test]
async fn a_fresh_card_is_read_once() {
    let card = Card::new("Told", "Says hello").interface("http://127.0.0.1:9", Binding::JsonRpc, Version::V1_0);
    let peer = Peer::start(move |_| {
        Response::builder().header("cache-control", "max-age=60").header("etag", "\"1\"").body(Body::from(text(&card))).unwrap()
    })
    .await;
    let builder = Client::builder();
    for _ in 0..3 {
        builder.connect(&peer.url).await.unwrap();
    }
    assert_eq!(peer.asked().len(), 1);
    builder.connect(&peer.url).await.unwrap().refresh().await.unwrap();
    assert_eq!(peer.asked().pop().unwrap().header("if-none-match"), Some("\"1\""));
}

#[tokio::test]
async fn the_older_path_is_tried_once_for_a_bare_host_only() {
    let card = Card::new("Told", "Says hello").interface("http://127.0.0.1:9", Binding::JsonRpc, Version::V1_0);
    let peer = Peer::start(move |asked| match asked.uri.path() {
        "/.well-known/agent.json" => json_response(200, &text(&card)),
        _ => json_response(404, b"{}"),
    })
    .await;
    let paths = || peer.asked().iter().map(|asked| asked.uri.path().to_owned()).collect::<Vec<_>>();
    Client::builder().read_card(&peer.url).await.unwrap();
    assert_eq!(paths(), ["/.well-known/agent-card.json", "/.well-known/agent.json"]);
    let error = Client::builder().read_card(&format!("{}/card", peer.url)).await.unwrap_err();
    assert_eq!(trouble(&error), Some(TroubleKind::CardNotFound));
    assert_eq!(paths(), ["/card"]);
}

#[tokio::test]
async fn a_card_is_followed_on_its_own_host_only() {
    let card = Card::new("Told", "Says hello").interface("http://127.0.0.1:9", Binding::JsonRpc, Version::V1_0);
    let elsewhere = Peer::start(|_| json_response(200, b"{}")).await;
    let away = elsewhere.url.replace("127.0.0.1", "localhost");
    let peer = Peer::start(move |asked| {
        let to = |to: &str| Response::builder().status(302).header("location", to).body(Body::empty()).unwrap();
        match asked.uri.path() {
            "/moved" => to("/here/card.json"),
            "/here/card.json" => json_response(200, &text(&card)),
            "/away" => to(&away),
            _ => to(asked.uri.path()),
        }
    })
    .await;
    let read = Client::builder().read_card(&format!("{}/moved", peer.url)).await.unwrap();
    assert_eq!(read.url, format!("{}/here/card.json", peer.url));
    for path in ["away", "round"] {
        let error = Client::builder().read_card(&format!("{}/{path}", peer.url)).await.unwrap_err();
        assert_eq!(trouble(&error), Some(TroubleKind::CardInvalid), "{error:?}");
    }
    assert!(elsewhere.asked().is_empty());
}

#[tokio::test]
async fn what_is_wrong_with_a_card_is_told_apart() {
    let peer = Peer::start(|asked| match asked.uri.path() {
        "/private.json" => json_response(401, b""),
        "/broken.json" => json_response(200, b"{\"name\": 7}"),
        "/failing.json" => json_response(500, b"oops"),
        _ => json_response(404, b""),
    })
    .await;
    for (path, expected, status) in [
        ("/private.json", TroubleKind::CardRefused, Some(401)),
        ("/broken.json", TroubleKind::CardInvalid, None),
        ("/failing.json", TroubleKind::Status, Some(500)),
        ("/none.json", TroubleKind::CardNotFound, None),
    ] {
        let error = Client::builder().read_card(&format!("{}{path}", peer.url)).await.unwrap_err();
        let trouble = Trouble::of(&error).unwrap();
        assert_eq!((trouble.kind(), trouble.status()), (expected, status), "{path}: {error:?}");
    }
    let builder = Client::builder().retries(0);
    let gone = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    for url in [format!("http://{gone}"), "http://no-such-host.invalid".to_owned()] {
        let error = builder.connect(&url).await.unwrap_err();
        assert_eq!(trouble(&error), Some(TroubleKind::Unreachable), "{url}: {error:?}");
        assert!(!Trouble::of(&error).unwrap().reason().is_empty());
    }
}

/// What is offered, what is spoken, and what to do about it.
#[test]
fn a_card_with_nothing_that_is_spoken_is_told_in_full() {
    let card = |interfaces: &[(&str, &str)]| {
        let interfaces: Vec<_> = interfaces
            .iter()
            .map(|(binding, version)| serde_json::json!({"url": "https://a.example", "protocolBinding": binding, "protocolVersion": version}))
            .collect();
        serde_json::json!({"name": "Odd", "description": "Speaks oddly", "supportedInterfaces": interfaces}).to_string()
    };
    let ours = "this client speaks 1.0, 0.3, 0.2, 0.1 over JSONRPC, HTTP+JSON, GRPC";
    for (interfaces, kind, words) in [
        (
            &[("JSONRPC", "2.0"), ("GRPC", "7.1")][..],
            ErrorKind::VersionNotSupported,
            ["JSONRPC 2.0, GRPC 7.1", ours, "one of its versions"],
        ),
        (&[("MQTT", "1.0")], ErrorKind::UnsupportedOperation, ["MQTT 1.0", ours, "one of its bindings"]),
    ] {
        let error = Client::builder().connect_card(card(interfaces).as_bytes(), None).unwrap_err();
        assert_eq!((error.kind(), trouble(&error)), (kind, Some(TroubleKind::NoInterface)), "{error:?}");
        for words in words {
            assert!(error.to_string().contains(words), "{words}: {error}");
        }
    }
    for (builder, offered, kind, remedy) in [
        (Client::builder().versions([Version::V1_0]), ("JSONRPC", "0.3"), ErrorKind::VersionNotSupported, "could speak JSONRPC 0.3"),
        (Client::builder().bindings([Binding::Grpc]), ("JSONRPC", "1.0"), ErrorKind::UnsupportedOperation, "could speak JSONRPC 1.0"),
    ] {
        let error = builder.connect_card(card(&[offered]).as_bytes(), None).unwrap_err();
        assert_eq!(error.kind(), kind, "{error:?}");
        assert!(error.to_string().contains(remedy), "{error}");
    }
}

/// V10-SEL-004, V10-TEN-001.
#[tokio::test]
async fn the_tenant_is_exactly_that_of_the_interface() {
    for (tenant, expected) in [("acme/eu ü", Some("acme/eu ü")), ("", None)] {
        let peer = Peer::agent(|mut card| {
            tenant.clone_into(&mut card.supported_interfaces[0].tenant);
            card
        })
        .await;
        let agent = Client::connect(&peer.url).await.unwrap();
        assert_eq!(agent.tenant(), tenant);
        agent.send("hi").await.unwrap();
        // The caller does not have a say where the card has.
        let mine = caller().tenant("mine");
        // The answer is a message, which is no list of tasks; what was asked is what counts.
        drop(agent.list_tasks(&mine, ListTasks::default()).await);
        let calls = peer.calls();
        assert_eq!(calls.len(), 2);
        for call in calls {
            assert_eq!(call.json()["params"].get("tenant").and_then(|tenant| tenant.as_str()), expected);
        }
    }
}

/// CONV-PICK-002: another interface is used when the first cannot be reached; a version that was not asked for is not.
#[tokio::test]
async fn an_interface_that_cannot_be_reached_is_passed_over() {
    let server = serve().await;
    let gone = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    let card = Card::new("Two", "Has two ways")
        .interface(format!("http://{gone}"), Binding::JsonRpc, Version::V1_0)
        .interface(server.url(), Binding::HttpJson, Version::V1_0)
        .interface(server.url(), Binding::JsonRpc, Version::V0_3);
    let witness = Arc::new(Witness::default());
    let agent = Client::builder().observer(witness.clone()).connect_card(&text(&card), None).unwrap();
    assert_eq!(agent.send("reply yes").await.unwrap().text(), "yes");
    assert_eq!((agent.binding(), agent.version()), (Binding::HttpJson, Version::V1_0));
    let notices = witness.notices();
    assert!(matches!(&notices[..], [Notice::Fallback { version: Version::V1_0, binding: Binding::HttpJson, .. }]), "{notices:?}");
    let shown = witness.shown.lock().unwrap().clone();
    assert!(shown.contains("place: 1, of: 3") && shown.contains("place: 2, of: 3"), "{shown}");
    server.shutdown().await;
}

#[tokio::test]
async fn a_version_that_was_not_asked_for_is_never_spoken() {
    let old = Arc::new(AtomicUsize::new(0));
    let spoken = old.clone();
    // An agent that says it speaks v1.0 and does not.
    let peer = Peer::start(move |asked| {
        if asked.json()["method"] != "SendMessage" {
            spoken.fetch_add(1, Ordering::SeqCst);
        }
        json_response(200, br#"{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"Method not found"}}"#)
    })
    .await;
    let card = Card::new("Old", "Is older than it says").interface(&peer.url, Binding::JsonRpc, Version::V1_0);
    for versions in [vec![Version::V1_0], vec![Version::V1_0, Version::V0_1]] {
        let agent = Client::builder().versions(versions).connect_card(&text(&card), None).unwrap();
        assert_eq!(agent.send("hi").await.unwrap_err().kind(), ErrorKind::MethodNotFound);
        assert_eq!((agent.version(), old.load(Ordering::SeqCst)), (Version::V1_0, 0));
    }
    let any = Client::builder().connect_card(&text(&card), None).unwrap();
    assert_eq!(any.send("hi").await.unwrap_err().kind(), ErrorKind::MethodNotFound);
    assert_eq!((any.version(), old.load(Ordering::SeqCst)), (Version::V0_3, 1));

    let older = Card::new("Old", "Is old").interface(&peer.url, Binding::JsonRpc, Version::V0_3);
    let error = Client::builder().versions([Version::V1_0]).connect_card(&text(&older), None).unwrap_err();
    assert_eq!((error.kind(), trouble(&error)), (ErrorKind::VersionNotSupported, Some(TroubleKind::NoInterface)));
    assert!(error.to_string().contains("JSONRPC 0.3"), "{error}");
}
