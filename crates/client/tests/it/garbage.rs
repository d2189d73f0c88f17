//! Peers that make no sense.

use std::time::Duration;

use chancery_client::Client;
use chancery_core::{Binding, ErrorKind, Operations, SendMessage, Version};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpListener,
};

use crate::agent::{Way, all, caller};

/// A server that answers everything with this, the last part again and again.
async fn answering(head: &'static str, body: &'static str, endless: bool) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move {
        while let Ok((mut peer, _)) = listener.accept().await {
            tokio::spawn(async move {
                let mut request = [0; 4_096];
                // Whatever it was, this is the answer; whoever hangs up has heard enough.
                let _ = peer.read(&mut request).await;
                let _ = peer.write_all(format!("HTTP/1.1 {head}\r\nconnection: close\r\n\r\n{body}").as_bytes()).await;
                while endless && peer.write_all(&[b'x'; 4_096]).await.is_ok() {}
            });
        }
    });
    url
}

#[tokio::test]
async fn nonsense_is_a_clear_error() {
    use ErrorKind::{Internal, InvalidAgentResponse};
    let cases = [
        ("200 OK\r\ncontent-type: text/html", "<html>Hello</html>", false, InvalidAgentResponse),
        ("200 OK\r\ncontent-type: application/json", "{\"jsonrpc\":", false, InvalidAgentResponse),
        ("200 OK\r\ncontent-type: application/json", "", true, InvalidAgentResponse),
        ("200 OK\r\ncontent-type: text/event-stream", "data: ", true, InvalidAgentResponse),
        ("500 Internal Server Error\r\ncontent-type: text/html", "<html>Oops</html>", false, Internal),
    ];
    let builder = Client::builder().limit(64 * 1_024).timeout(Duration::from_secs(10));
    for (head, body, endless, kind) in cases {
        let url = answering(head, body, endless).await;
        for way in [Way(Binding::JsonRpc, Version::V1_0), Way(Binding::HttpJson, Version::V1_0), Way(Binding::JsonRpc, Version::V0_1)] {
            let agent = way.with(&builder, &url);
            let error = agent.send("hello").await.unwrap_err();
            assert_eq!(error.kind(), kind, "{way:?} {head}: {error:?}");
            let error = match agent.stream_message(&caller(), SendMessage::new("hello")).await {
                Ok(events) => all(events).await.unwrap_err(),
                Err(error) => error,
            };
            assert_eq!(error.kind(), kind, "{way:?} {head}: {error:?}");
        }
    }
}
