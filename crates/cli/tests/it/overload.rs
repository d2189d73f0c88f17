//! More than the server wants to do at once.

use std::{collections::BTreeMap, time::Duration};

use serde_json::json;
use tokio::task::JoinSet;

use crate::process::{Folder, Process, http, soon, until};

const REQUESTS: u64 = 8;
const STREAMS: u64 = 4;

/// Requests last until there is a file.
const CONFIG: &str = r#"
[limits]
requests = 8
streams = 4
[[agent]]
name = "patient"
description = "Waits for a file"
command = ["sh", "-c", "until [ -e go ]; do sleep 0.05; done; echo done"]
max_processes = 300
"#;

#[derive(Clone, Copy)]
enum Ask {
    Rest,
    JsonRpc,
    Stream,
}

async fn ask(server: String, ask: Ask) -> reqwest::Response {
    let message = json!({"messageId": "m-1", "role": "ROLE_USER", "parts": [{"text": "wait"}]});
    let (path, body) = match ask {
        Ask::Rest => ("/message:send", json!({"message": message})),
        Ask::Stream => ("/message:stream", json!({"message": message})),
        Ask::JsonRpc => ("/", json!({"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": {"message": message}})),
    };
    let request = http().post(server + path).header("a2a-version", "1.0").header("content-type", "application/json");
    request.body(body.to_string()).send().await.unwrap()
}

/// Asks two hundred times at once. Those that are sent away are counted by their status, and all of them
/// are told when to come back; the others are still waiting.
async fn flood(server: &Process, what: Ask, held: u64) -> JoinSet<reqwest::Response> {
    let mut asking = JoinSet::new();
    for _ in 0..200 {
        asking.spawn(ask(server.url(""), what));
    }
    let (mut refused, mut open) = (BTreeMap::new(), Vec::new());
    while refused.values().sum::<u64>() + held < 200 {
        let answer = soon("a refusal", asking.join_next()).await.unwrap().unwrap();
        if answer.status() == 200 && matches!(what, Ask::Stream) {
            open.push(answer);
            continue;
        }
        assert_eq!(answer.headers().get("retry-after").map(|after| after.to_str().unwrap()), Some("1"), "{answer:?}");
        *refused.entry(answer.status().as_u16()).or_default() += 1;
    }
    let expected = if matches!(what, Ask::Stream) { 429 } else { 503 };
    assert_eq!(refused.into_iter().collect::<Vec<_>>(), [(expected, 200 - held)]);
    for answer in open {
        asking.spawn(async move { answer });
    }
    asking
}

#[tokio::test]
async fn a_flood_of_requests_is_sent_away_and_does_no_harm() {
    for what in [Ask::Rest, Ask::JsonRpc] {
        let folder = Folder::new();
        let server = Process::file(&folder, CONFIG).await;
        let mut held = flood(&server, what, REQUESTS).await;
        assert_eq!(server.figure("a2a_requests_under_way").await, REQUESTS);
        assert_eq!(http().get(server.url("/readyz")).send().await.unwrap().status(), 200);
        folder.write("go", "");
        while let Some(answer) = soon("an answer", held.join_next()).await {
            let answer = answer.unwrap();
            assert_eq!(answer.status(), 200);
            assert!(answer.text().await.unwrap().contains("TASK_STATE_COMPLETED"));
        }
        until(Duration::from_secs(10), "quiet", async || (server.figure("a2a_requests_under_way").await == 0).then_some(())).await;
        let answer = soon("a normal answer", ask(server.url(""), what)).await;
        assert_eq!(answer.status(), 200);
        assert!(answer.text().await.unwrap().contains("TASK_STATE_COMPLETED"));
    }
}

#[tokio::test]
async fn a_flood_of_streams_is_sent_away_and_does_no_harm() {
    let folder = Folder::new();
    let server = Process::file(&folder, CONFIG.replace("requests = 8", "").as_str()).await;
    let mut held = flood(&server, Ask::Stream, STREAMS).await;
    assert_eq!(server.figure("a2a_streams_open").await, STREAMS);
    folder.write("go", "");
    while let Some(answer) = soon("a stream", held.join_next()).await {
        assert!(soon("the end of a stream", answer.unwrap().text()).await.unwrap().contains("TASK_STATE_COMPLETED"));
    }
    until(Duration::from_secs(10), "quiet", async || (server.figure("a2a_streams_open").await == 0).then_some(())).await;
    let answer = soon("a normal stream", ask(server.url(""), Ask::Stream)).await;
    assert!(soon("its end", answer.text()).await.unwrap().contains("TASK_STATE_COMPLETED"));
}
