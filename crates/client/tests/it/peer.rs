//! A peer that answers as it is told, and remembers what it was asked.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex},
};

use axum::{
    Router,
    body::{Body, Bytes},
    http::{HeaderMap, Method, Uri},
    response::Response,
};
use chancery_core::{Binding, Card, Version};
use serde_json::{Value, json};

/// What the peer was asked.
#[derive(Debug, Clone)]
pub struct Asked {
    pub method: Method,
    pub uri: Uri,
    pub headers: HeaderMap,
    pub body: Bytes,
}

impl Asked {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(|value| value.to_str().unwrap())
    }

    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap()
    }
}

type Answers = dyn Fn(&Asked) -> Response + Send + Sync;

/// A peer at work.
pub struct Peer {
    pub url: String,
    asked: Arc<Mutex<VecDeque<Asked>>>,
}

impl Peer {
    /// A peer that answers with what the function gives.
    pub async fn start(answer: impl Fn(&Asked) -> Response + Send + Sync + 'static) -> Self {
        let asked: Arc<Mutex<VecDeque<Asked>>> = Arc::default();
        let (answer, seen): (Arc<Answers>, _) = (Arc::new(answer), asked.clone());
        let handler = move |method: Method, uri: Uri, headers: HeaderMap, body: Bytes| {
            let asked = Asked { method, uri, headers, body };
            let response = answer(&asked);
            seen.lock().unwrap().push_back(asked);
            async move { response }
        };
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        tokio::spawn(async move { axum::serve(listener, Router::new().fallback(handler)).await });
        Self { url, asked }
    }

    /// An agent with a card, that answers every call with a message. `change` has the last word on the card.
    pub async fn agent(change: impl FnOnce(Card) -> Card) -> Self {
        let card = Arc::new(Mutex::new(Vec::new()));
        let shown = card.clone();
        let peer = Self::start(move |asked| match asked.method {
            Method::GET if asked.uri.path().starts_with("/.well-known/") => json_response(200, &shown.lock().unwrap()),
            _ => json_response(200, &hello(asked)),
        })
        .await;
        let made =
            Card::new("Told", "Says what it is told").skill("hello", "Says hello").interface(&peer.url, Binding::JsonRpc, Version::V1_0);
        *card.lock().unwrap() = serde_json::to_vec(&change(made)).unwrap();
        peer
    }

    /// Everything it was asked since the last time.
    pub fn asked(&self) -> Vec<Asked> {
        self.asked.lock().unwrap().drain(..).collect()
    }

    /// What it was asked to do since the last time, cards left out.
    pub fn calls(&self) -> Vec<Asked> {
        self.asked().into_iter().filter(|asked| asked.method == Method::POST).collect()
    }
}

/// A JSON answer.
pub fn json_response(status: u16, body: &[u8]) -> Response {
    Response::builder().status(status).header("content-type", "application/json").body(Body::from(body.to_vec())).unwrap()
}

/// The answer to any JSON-RPC call of v1.0: a message.
pub fn hello(asked: &Asked) -> Vec<u8> {
    let message = json!({"messageId": "m-1", "role": "ROLE_AGENT", "parts": [{"text": "hello"}]});
    json!({"jsonrpc": "2.0", "id": asked.json()["id"], "result": {"message": message}}).to_string().into_bytes()
}
