//! Notifications of our own server, received.

use std::time::Duration;

use axum::{Router, http::StatusCode, routing::post};
use base64::{Engine as _, prelude::BASE64_STANDARD};
use chancery_client::{
    Client,
    webhook::{Notification, Receiver, Rejection},
};
use chancery_core::{Event, Operations, PushConfig, SendMessage, TaskState, Version};
use http::HeaderMap;
use tokio::sync::mpsc;

use crate::{
    agent::{GRPC_WAYS, JSON_WAYS, LONG, caller, serve, written},
    peer::{Peer, json_response},
};

fn with_webhook(text: &str, url: &str, token: &str) -> SendMessage {
    let mut send = SendMessage::new(text);
    send.configuration.push_config = Some(Box::new(PushConfig::new(url).token(token)));
    send
}

async fn next(hook: &mut chancery_client::webhook::Listening) -> Notification {
    tokio::time::timeout(LONG, hook.next()).await.expect("no notification came").unwrap()
}

/// V10-HOOK-007, V10-HOOK-010, V10-HOOK-011: what our server sends is taken, in the version in which it was asked for.
#[tokio::test]
async fn notifications_of_every_version_arrive_once_and_verified() {
    let server = serve().await;
    for way in JSON_WAYS.into_iter().chain(GRPC_WAYS) {
        let receiver = Receiver::new().token("the token").signed_by(server.url()).unwrap();
        let mut hook = receiver.listen("127.0.0.1:0").await.unwrap();
        way.to(server.url()).send_message(&caller(), with_webhook("work delivered", &hook.url(), "the token")).await.unwrap();
        let mut events = Vec::new();
        while events.last().and_then(|(_, event): &(_, Event)| event.state()) != Some(TaskState::Completed) {
            let notification = next(&mut hook).await;
            assert!(notification.signed_by.is_some() && notification.id.is_some(), "{way:?}: {notification:?}");
            let expected = if way.1 == Version::V0_2 { Version::V0_3 } else { way.1 };
            assert_eq!(notification.version, expected, "{way:?}");
            events.push((chancery_core::Seq::START, notification.event));
        }
        if matches!(way.1, Version::V1_0 | Version::Compact) {
            assert_eq!(written(&events), "delivered", "{way:?}");
        }
    }
    server.shutdown().await;
}

/// RFC 9110, section 11.1: the name of a scheme has no case, and what follows it has.
#[tokio::test]
async fn schemes_are_compared_without_case() {
    let receiver = Receiver::new().authorization("Bearer s3cret");
    let body = br#"{"statusUpdate":{"taskId":"t","contextId":"c","status":{"state":"TASK_STATE_WORKING"}}}"#;
    for (said, taken) in [
        ("Bearer s3cret", true),
        ("bearer s3cret", true),
        ("BEARER  s3cret", true),
        ("bearer S3CRET", false),
        ("Basic s3cret", false),
        ("Bearer", false),
        ("s3cret", false),
    ] {
        let mut headers = HeaderMap::new();
        headers.insert("authorization", said.parse().unwrap());
        assert_eq!(receiver.receive(&headers, body).await.is_ok(), taken, "{said}");
    }
}

/// One delivery of our server, to be tampered with.
async fn delivery(server: &chancery::Running) -> (HeaderMap, Vec<u8>) {
    let peer = Peer::start(|_| json_response(200, b"{}")).await;
    Client::connect(server.url()).await.unwrap().send_message(&caller(), with_webhook("work once", &peer.url, "right")).await.unwrap();
    let until = tokio::time::Instant::now() + LONG;
    loop {
        if let Some(asked) = peer.asked().into_iter().next() {
            return (asked.headers, asked.body.to_vec());
        }
        assert!(tokio::time::Instant::now() < until, "no notification came");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// V10-HOOK-008, V10-HOOK-009, V10-HOOK-010, V10-HOOK-011, V10-HOOK-012.
#[tokio::test]
async fn whatever_is_not_right_is_refused() {
    let server = serve().await;
    let (headers, body) = delivery(&server).await;
    let receiver = || Receiver::new().token("right").signed_by(server.url()).unwrap();
    let right = receiver();
    let taken = right.receive(&headers, &body).await.unwrap();
    assert!(matches!(right.receive(&headers, &body).await, Err(Rejection::Duplicate)), "the second time");
    right.forget(&taken);
    right.receive(&headers, &body).await.unwrap();

    let refused = async |receiver: Receiver, change: fn(&mut HeaderMap, &mut Vec<u8>)| {
        let (mut headers, mut body) = (headers.clone(), body.clone());
        change(&mut headers, &mut body);
        receiver.receive(&headers, &body).await.unwrap_err()
    };
    assert!(matches!(refused(Receiver::new().token("wrong"), |_, _| {}).await, Rejection::Token));
    assert!(matches!(refused(Receiver::new().authorization("Bearer x"), |_, _| {}).await, Rejection::Token));
    for change in [
        (|_, body| body.push(b' ')) as fn(&mut HeaderMap, &mut Vec<u8>),
        |headers, _| drop(headers.insert("webhook-id", "another".parse().unwrap())),
        |headers, _| drop(headers.insert("webhook-timestamp", "1700000000".parse().unwrap())),
        |headers, _| drop(headers.remove("webhook-signature")),
        |headers, _| drop(headers.insert("webhook-signature", "v1a,AAAA v1,AAAA".parse().unwrap())),
    ] {
        let rejection = refused(receiver(), change).await;
        assert!(matches!(rejection, Rejection::Signature(_)), "{rejection:?}");
        assert_eq!(rejection.status(), StatusCode::UNAUTHORIZED);
    }
    let unsigned = HeaderMap::from_iter([("x-a2a-notification-token".parse().unwrap(), "right".parse().unwrap())]);
    assert_eq!(receiver().unsigned_too().receive(&unsigned, &body).await.unwrap().signed_by, None);
    let other = receiver();
    other.expect("another task");
    assert!(matches!(refused(other.clone(), |_, _| {}).await, Rejection::Task));
    other.expect(taken.task_id());
    other.receive(&headers, &body).await.unwrap();
    assert!(matches!(refused(receiver().limit(10), |_, _| {}).await, Rejection::TooLarge));
    let nonsense = Receiver::new().receive(&HeaderMap::new(), b"{}").await.unwrap_err();
    assert!(matches!(nonsense, Rejection::Invalid(_)), "{nonsense:?}");
    server.shutdown().await;
}

#[tokio::test]
async fn a_sender_whose_keys_cannot_be_read_is_asked_to_come_again() {
    let server = serve().await;
    let (headers, body) = delivery(&server).await;
    server.shutdown().await;
    let gone = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    let rejection = Receiver::new().signed_by(&format!("http://{gone}")).unwrap().receive(&headers, &body).await.unwrap_err();
    assert_eq!(rejection.status(), StatusCode::SERVICE_UNAVAILABLE, "{rejection:?}");
}

/// A key set that is at hand, and one with other keys.
#[tokio::test]
async fn keys_may_be_at_hand() {
    let server = serve().await;
    let (headers, body) = delivery(&server).await;
    let jwks = format!("{}/.well-known/jwks.json", server.url());
    let text = reqwest::get(&jwks).await.unwrap().bytes().await.unwrap();
    let taken = Receiver::new().keys(&text).unwrap().receive(&headers, &body).await.unwrap();
    assert!(String::from_utf8_lossy(&text).contains(taken.signed_by.as_deref().unwrap()));
    let stranger = chancery::webhook::Key::ephemeral().unwrap().jwks();
    let rejection = Receiver::new().keys(stranger.as_bytes()).unwrap().receive(&headers, &body).await.unwrap_err();
    assert!(matches!(rejection, Rejection::Signature(_)), "{rejection:?}");
    assert!(Receiver::new().keys(b"{\"keys\":[]}").is_err());
    let secret = Receiver::new().shared_secret(&format!("whsec_{}", BASE64_STANDARD.encode("secret"))).unwrap();
    assert!(matches!(secret.receive(&headers, &body).await, Err(Rejection::Signature(_))));
    server.shutdown().await;
}

/// V10-HOOK-007, V10-HOOK-008: over real connections, what comes twice is answered well and passed on once.
#[tokio::test]
async fn a_listener_answers_and_shows_what_it_refuses() {
    let server = serve().await;
    let (headers, body) = delivery(&server).await;
    let mut hook = Receiver::new().token("right").listen("127.0.0.1:0").await.unwrap();
    let client = reqwest::Client::new();
    let send =
        async |headers: HeaderMap| client.post(hook.url()).headers(headers).body(body.clone()).send().await.unwrap().status().as_u16();
    let mut answers = vec![send(headers.clone()).await, send(headers.clone()).await, send(HeaderMap::new()).await];
    answers.push(client.get(hook.url()).send().await.unwrap().status().as_u16());
    assert_eq!(answers, [204, 204, 401, 405]);
    let mut arrivals = Vec::new();
    for _ in 0..4 {
        arrivals.push(hook.arrival().await.unwrap());
    }
    assert!(matches!(&arrivals[0], Ok(notification) if !notification.duplicate));
    assert!(matches!(&arrivals[1], Ok(notification) if notification.duplicate));
    assert!(matches!(&arrivals[2..], [Err(Rejection::Token), Err(Rejection::Method)]), "{arrivals:?}");
    let url = hook.url();
    drop(hook);
    assert!(client.post(url).send().await.is_err(), "it stops when it is dropped");
    server.shutdown().await;
}

#[tokio::test]
async fn a_notification_is_an_extractor_of_axum() {
    let server = serve().await;
    let (sender, mut taken) = mpsc::unbounded_channel();
    let hook = move |notification: Notification| {
        sender.send(notification).unwrap();
        async { StatusCode::ACCEPTED }
    };
    let receiver = Receiver::new().token("right").signed_by(server.url()).unwrap();
    let router = Router::new().route("/hook", post(hook)).with_state(receiver);
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/hook", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, router).await });
    Client::connect(server.url()).await.unwrap().send_message(&caller(), with_webhook("work once", &url, "right")).await.unwrap();
    let first = tokio::time::timeout(LONG, taken.recv()).await.unwrap().unwrap();
    assert!(first.signed_by.is_some());
    let refused = reqwest::Client::new().post(&url).body("{}").send().await.unwrap();
    assert_eq!(refused.status().as_u16(), 401);
    server.shutdown().await;
}
