//! Streams that outlive the token that they were begun with, and streams that do not.

use std::time::Duration;

use chancery::{
    Auth, Running, Server,
    auth::{Jwt, Scheme},
};
use chancery_engine::{Failure, Outcome, Turn, store::Memory};
use serde_json::json;

use super::{
    Answer, GRPC_HI, HI, card,
    issuer::{Issuer, Key, now},
    send,
};

/// Says that it has begun, and never ends.
async fn endless(turn: Turn) -> Result<Outcome, Failure> {
    turn.status("Begun").await?;
    std::future::pending().await
}

async fn serve(issuer: &Issuer, end: bool) -> Running {
    let jwt = Jwt::issuer(&issuer.url, ["agents"]).leeway(Duration::ZERO);
    let auth = Auth::new().scheme("oidc", Scheme::jwt(jwt)).end_streams(end);
    let server = Server::new(card(), endless).auth(auth).store(Memory::new()).grace(Duration::ZERO);
    server.bind("127.0.0.1:0").await.unwrap()
}

/// What a stream said until it ended; it has to.
async fn whole(running: &Running, target: &str, content_type: &str, token: &str, body: &'static [u8]) -> Answer {
    let headers = [("content-type", content_type), ("a2a-version", "1.0"), ("authorization", token)];
    tokio::time::timeout(Duration::from_secs(60), send(running, "POST", target, &headers, body)).await.unwrap()
}

/// P9, V10-AUTH-001: where it is said, a stream ends with the token that it was begun with, in every binding; the task goes on, and a
/// new token finds it. Where it is not said, streams go on.
#[tokio::test]
async fn a_stream_ends_with_its_token_where_that_is_said() {
    let key = Key::ec("e1");
    let issuer = Issuer::start(&[&key]).await;
    let (ending, lasting) = (serve(&issuer, true).await, serve(&issuer, false).await);
    let token = |life: i64| {
        let mut claims = issuer.claims();
        claims["exp"] = json!(now() + life);
        format!("Bearer {}", key.token(&claims))
    };
    // So short that the test need not wait, and so long that the requests are in before.
    let brief = token(6);
    let rpc = br#"{"jsonrpc":"2.0","id":1,"method":"SendStreamingMessage","params":{"message":{"messageId":"1","role":"ROLE_USER","parts":[{"text":"hi"}]}}}"#;
    let grpc = "/lf.a2a.v1.A2AService/SendStreamingMessage";
    let goes_on = whole(&lasting, "/message:stream", "application/json", &brief, HI);
    let ended = async {
        tokio::join!(
            whole(&ending, "/message:stream", "application/json", &brief, HI),
            whole(&ending, "/", "application/json", &brief, rpc),
            whole(&ending, grpc, "application/grpc", &brief, GRPC_HI),
        )
    };
    let (over_http, over_rpc, over_grpc) = tokio::select! {
        biased;
        _ = goes_on => panic!("the stream ended"),
        ended = ended => ended,
    };
    for (name, answer) in [("HTTP+JSON", over_http), ("JSONRPC", over_rpc)] {
        assert_eq!(answer.status, 200, "{name} {}", answer.body);
        assert!(answer.body.contains("Begun") && answer.body.ends_with("retry: 500\n\n"), "{name} {}", answer.body);
    }
    assert_eq!(over_grpc.headers["grpc-status"], "16", "{:?}", over_grpc.headers);
    let headers = [("a2a-version", "1.0"), ("authorization", &token(300))];
    let tasks = send(&ending, "GET", "/tasks", &headers, "").await.json();
    let states: Vec<_> = tasks["tasks"].as_array().unwrap().iter().map(|task| task["status"]["state"].as_str().unwrap()).collect();
    assert_eq!(states, ["TASK_STATE_WORKING"; 3]);
}
