//! The bare server: the least that could answer: axum, a typed parse, a constant of the same size. Beside it the same
//! with one row in SQLite per request, committed together with whatever else waits.

use std::{collections::HashMap, convert::Infallible, path::Path, sync::Arc};

use axum::{
    Json, Router,
    extract::State,
    http::header::CONTENT_TYPE,
    response::{IntoResponse, Sse, sse::Event},
    routing::{get, post},
};
use serde::Deserialize;
use tokio::sync::{broadcast, mpsc, oneshot};

/// What the constants are: the answers that our own server gave to the same requests.
#[derive(Clone, Default)]
pub(crate) struct Answers {
    pub(crate) send: String,
    pub(crate) event: String,
    pub(crate) task: String,
    pub(crate) list: String,
}

#[derive(Clone)]
struct Shared {
    answers: Arc<Answers>,
    rows: Option<mpsc::Sender<(String, oneshot::Sender<()>)>>,
    crowd: broadcast::Sender<Arc<str>>,
}

/// The shape of every call, nothing checked.
#[derive(Deserialize)]
#[allow(dead_code, reason = "a bare server parses and forgets")]
struct Call {
    jsonrpc: String,
    id: u64,
    method: String,
    params: Params,
}

#[derive(Deserialize)]
#[allow(dead_code, reason = "a bare server parses and forgets")]
struct Params {
    id: Option<String>,
    #[serde(rename = "contextId")]
    context_id: Option<String>,
    message: Option<Message>,
}

#[derive(Deserialize)]
#[allow(dead_code, reason = "a bare server parses and forgets")]
struct Message {
    #[serde(rename = "messageId")]
    message_id: String,
    role: String,
    parts: Vec<HashMap<String, serde_json::Value>>,
}

/// A server with its routes; `file` is where rows go, if anywhere.
pub(crate) fn router(answers: Answers, file: Option<&Path>) -> Router {
    let rows = file.map(writer);
    let shared = Shared { answers: Arc::new(answers), rows, crowd: broadcast::Sender::new(256) };
    Router::new()
        .route("/", post(answer))
        .route("/stream", post(stream))
        .route("/crowd", get(join))
        .route("/go", post(go))
        .route("/.well-known/agent-card.json", get(|| async { "{}" }))
        .with_state(shared)
}

async fn answer(State(shared): State<Shared>, Json(call): Json<Call>) -> impl IntoResponse {
    if let Some(rows) = &shared.rows {
        let (done, wait) = oneshot::channel();
        rows.send((shared.answers.send.clone(), done)).await.unwrap();
        wait.await.unwrap();
    }
    let answers = &shared.answers;
    let body = match call.method.as_str() {
        "GetTask" => answers.task.clone(),
        "ListTasks" => answers.list.clone(),
        _ => answers.send.clone(),
    };
    ([(CONTENT_TYPE, "application/json")], body)
}

/// As many events as the message says, as fast as they can be written.
async fn stream(State(shared): State<Shared>, Json(call): Json<Call>) -> impl IntoResponse {
    let text = call.params.message.and_then(|message| message.parts[0]["text"].as_str().map(str::to_owned)).unwrap();
    let count: usize = text.rsplit(' ').next().unwrap().parse().unwrap();
    let (sender, receiver) = mpsc::channel(64);
    tokio::spawn(async move {
        for _ in 0..count {
            if sender.send(Event::default().data(&shared.answers.event)).await.is_err() {
                break;
            }
        }
    });
    Sse::new(Channel(receiver))
}

async fn join(State(shared): State<Shared>) -> impl IntoResponse {
    let mut crowd = shared.crowd.subscribe();
    let (sender, receiver) = mpsc::channel(1);
    tokio::spawn(async move {
        while let Ok(text) = crowd.recv().await {
            if text.is_empty() || sender.send(Event::default().data(&text)).await.is_err() {
                break;
            }
        }
    });
    Sse::new(Channel(receiver))
}

async fn go(State(shared): State<Shared>) {
    for _ in 0..100 {
        // A crowd that has gone is the load's business.
        drop(shared.crowd.send(shared.answers.event.as_str().into()));
        tokio::task::yield_now().await;
    }
    drop(shared.crowd.send("".into()));
}

struct Channel(mpsc::Receiver<Event>);

impl futures_core::Stream for Channel {
    type Item = Result<Event, Infallible>;

    fn poll_next(mut self: std::pin::Pin<&mut Self>, cx: &mut std::task::Context<'_>) -> std::task::Poll<Option<Self::Item>> {
        self.0.poll_recv(cx).map(|event| event.map(Ok))
    }
}

/// One thread that commits whatever waits, durable before it answers.
fn writer(file: &Path) -> mpsc::Sender<(String, oneshot::Sender<()>)> {
    let (sender, mut queue) = mpsc::channel::<(String, oneshot::Sender<()>)>(4_096);
    let connection = rusqlite::Connection::open(file).unwrap();
    connection.pragma_update(None, "journal_mode", "wal").unwrap();
    connection.pragma_update(None, "synchronous", "full").unwrap();
    connection.execute_batch("CREATE TABLE row (id INTEGER PRIMARY KEY, payload TEXT NOT NULL)").unwrap();
    std::thread::spawn(move || {
        let mut insert = connection.prepare("INSERT INTO row (payload) VALUES (?)").unwrap();
        let mut jobs = Vec::new();
        while queue.blocking_recv_many(&mut jobs, 256) > 0 {
            connection.execute_batch("BEGIN IMMEDIATE").unwrap();
            for (payload, _) in &jobs {
                insert.execute([payload]).unwrap();
            }
            connection.execute_batch("COMMIT").unwrap();
            jobs.drain(..).for_each(|(_, done)| done.send(()).unwrap_or_default());
        }
    });
    sender
}
