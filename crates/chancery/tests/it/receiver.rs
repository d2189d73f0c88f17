//! A webhook receiver: one port, a path per hook, and what arrived there.

use std::{
    collections::HashMap,
    net::SocketAddr,
    sync::{Arc, Mutex},
};

use axum::{
    Router,
    body::Bytes,
    extract::{Path, State},
    http::HeaderMap,
    routing::post,
};
use tokio::sync::mpsc;

/// One notification as it arrived.
pub(crate) struct Delivery {
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

type Hooks = Arc<Mutex<HashMap<u64, mpsc::UnboundedSender<Delivery>>>>;

/// A receiver with any number of hooks.
#[derive(Clone)]
pub(crate) struct Receiver {
    address: SocketAddr,
    hooks: Hooks,
}

/// One hook.
pub(crate) struct Hook {
    url: String,
    deliveries: tokio::sync::Mutex<mpsc::UnboundedReceiver<Delivery>>,
}

impl Receiver {
    pub(crate) async fn start() -> Self {
        let hooks = Hooks::default();
        let router = Router::new().route("/{hook}", post(receive)).with_state(hooks.clone());
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        tokio::spawn(async move { axum::serve(listener, router).await });
        Self { address, hooks }
    }

    pub(crate) fn hook(&self) -> Hook {
        let mut hooks = self.hooks.lock().unwrap();
        let number = hooks.len() as u64;
        let (sender, deliveries) = mpsc::unbounded_channel();
        hooks.insert(number, sender);
        Hook { url: format!("http://{}/{number}", self.address), deliveries: tokio::sync::Mutex::new(deliveries) }
    }
}

async fn receive(State(hooks): State<Hooks>, Path(hook): Path<u64>, headers: HeaderMap, body: Bytes) {
    // A hook that nobody reads any more takes what comes.
    drop(hooks.lock().unwrap()[&hook].send(Delivery { headers, body }));
}

impl Hook {
    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// The next notification.
    pub(crate) async fn next(&self) -> Delivery {
        self.deliveries.lock().await.recv().await.expect("the receiver is gone")
    }
}
