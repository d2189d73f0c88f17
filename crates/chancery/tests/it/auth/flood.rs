//! Strangers take no place from those who are known.

use chancery::{Limits, Server};
use chancery_engine::store::Memory;

use super::{HI, auth, card, greeter, send};

/// P7: two requests may be under way, a thousand strangers ask at once, and everybody who is known is served.
#[tokio::test(flavor = "multi_thread")]
async fn a_flood_of_strangers_leaves_callers_served() {
    let mut limits = Limits::default();
    (limits.requests, limits.streams_per_caller) = (2, 2);
    let server = Server::new(card(), greeter).auth(auth()).limits(limits).store(Memory::new());
    let running = std::sync::Arc::new(server.bind("127.0.0.1:0").await.unwrap());
    let client = reqwest::Client::new();
    let url = format!("{}/message:send", running.url());
    let mut strangers = tokio::task::JoinSet::new();
    for number in 0..1_000 {
        let key = format!("wrong-{number}");
        let path = if number % 2 == 0 { url.clone() } else { url.replace(":send", ":stream") };
        let request = client.post(path).header("a2a-version", "1.0").header("x-api-key", key).body(HI);
        strangers.spawn(async move { request.send().await.unwrap().status().as_u16() });
    }
    let mut served = 0;
    while !strangers.is_empty() {
        let request = client.post(&url).header("a2a-version", "1.0").header("x-api-key", "key-of-ada").body(HI);
        assert_eq!(request.send().await.unwrap().status(), 200);
        served += 1;
        while let Some(status) = strangers.try_join_next() {
            assert_eq!(status.unwrap(), 401);
        }
    }
    println!("1000 strangers sent away; {served} requests of a caller served meanwhile");
}

/// V10-SEC-009: where there is a pace to keep, strangers keep it too, by their address; those who are known have one of
/// their own.
#[tokio::test]
async fn whoever_guesses_too_fast_waits() {
    let mut limits = Limits::default();
    limits.requests_per_second = Some(5);
    let server = Server::new(card(), greeter).auth(auth()).limits(limits).store(Memory::new());
    let running = server.bind("127.0.0.1:0").await.unwrap();
    let mut statuses = Vec::new();
    for _ in 0..20 {
        let answer = send(&running, "POST", "/message:send", &[("a2a-version", "1.0"), ("x-api-key", "guess")], HI).await;
        statuses.push(answer.status);
    }
    assert_eq!(statuses[0], 401);
    assert!(statuses.contains(&429), "{statuses:?}");
    let answer = send(&running, "POST", "/message:send", &[("a2a-version", "1.0"), ("x-api-key", "key-of-ada")], HI).await;
    assert_eq!(answer.status, 200);
}
