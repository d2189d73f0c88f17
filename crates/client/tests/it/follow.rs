//! Tasks that are handed over from agent to agent.

use std::sync::{Arc, Mutex};

use axum::{http::Method, response::Response};
use chancery::Server;
use chancery_client::{Client, Follow, Keyring, Secrets, Trouble, TroubleKind, Update};
use chancery_core::{
    Binding, Card, ErrorKind, Event, Extension, Operations, SecurityRequirement, SecurityScheme, SendMessage, TaskId, TaskState, Version,
    extension, security::HttpAuthScheme,
};
use chancery_engine::store::Memory;
use serde_json::{Value, json};
use tokio::sync::Semaphore;

use crate::{
    agent::{Way, caller, card, paced, serve},
    peer::{Asked, Peer, json_response},
};

fn aware(card: Card) -> Card {
    card.extension(Extension::new(extension::HANDOFF))
}

/// An agent that hands every task over to where its message says: the base URL, a space, the task.
async fn triage() -> Peer {
    let url = Arc::new(std::sync::OnceLock::<String>::new());
    let (here, tasks) = (url.clone(), Mutex::new(Vec::<Value>::new()));
    let peer = Peer::start(move |asked| {
        if asked.method == Method::GET {
            let card = Card::new("Triage", "Hands over").streaming(true).interface(here.get().unwrap(), Binding::JsonRpc, Version::V1_0);
            return shown(&aware(card));
        }
        let (call, mut tasks) = (asked.json(), tasks.lock().unwrap());
        if let Some(text) = call["params"]["message"]["parts"][0]["text"].as_str() {
            let (agent, task) = text.split_once(' ').unwrap();
            let transfer = json!({"agentEndpoint": agent, "taskId": task, "reason": "not mine", "handoffId": "h-1", "hop": 1});
            let id = format!("t-{}", tasks.len());
            tasks.push(handed(&id, transfer));
            return answered(asked, tasks.last().unwrap().clone());
        }
        let known = tasks.iter().find(|task| task["id"] == call["params"]["id"]);
        answered(asked, known.cloned().unwrap_or_default())
    })
    .await;
    url.set(peer.url.clone()).unwrap();
    peer
}

async fn connect(follow: Follow, url: &str) -> Client {
    Client::builder().follow_handoffs(follow).connect(url).await.unwrap()
}

async fn updates(agent: &Client, text: &str) -> (Vec<Update>, Option<chancery_core::Error>, Option<chancery_client::Head>) {
    let mut events = agent.stream(text).await.unwrap();
    let mut seen = Vec::new();
    let work = async {
        loop {
            match events.try_next().await {
                Ok(Some(update)) => seen.push(update),
                Ok(None) => return None,
                Err(error) => return Some(error),
            }
        }
    };
    let error = tokio::time::timeout(crate::agent::LONG, work).await.expect("the stream hangs");
    (seen, error, events.head())
}

fn text_of(updates: &[Update]) -> String {
    updates
        .iter()
        .filter_map(|update| if let Event::Artifact(update) = &*update.event { update.artifact.parts[0].as_text() } else { None })
        .collect()
}

/// HO-61, HO-62: one item tells of the handover, then come the events of the other agent, each with its agent and hop.
#[tokio::test]
async fn a_stream_goes_on_with_the_agent_that_has_the_task() {
    let gate = Arc::new(Semaphore::new(0));
    let billing = Server::new(card(), paced(&gate)).store(Memory::new()).bind("127.0.0.1:0").await.unwrap();
    let triage = triage().await;
    let mut request = SendMessage::new("3");
    request.configuration.return_immediately = true;
    let reply = Client::connect(billing.url()).await.unwrap().send_message(&caller(), request).await.unwrap();
    let task = reply.task().unwrap().id.clone();

    let agent = connect(Follow::same_origin().host("127.0.0.1"), &triage.url).await;
    let mut events = agent.stream(format!("{} {task}", billing.url())).await.unwrap();
    let mut seen = Vec::new();
    while let Some(update) = events.try_next().await.unwrap() {
        if update.hop == 1 && gate.available_permits() == 0 && text_of(&seen).len() < 4 {
            gate.add_permits(1);
        }
        seen.push(update);
    }
    let handed: Vec<_> = seen.iter().filter_map(|update| update.handoff.as_ref()).collect();
    let [handoff] = handed.as_slice() else { panic!("{handed:?}") };
    assert_eq!((handoff.from.as_str(), handoff.to.as_str(), &handoff.task), (triage.url.as_str(), billing.url(), &task));
    assert_eq!((handoff.hop, handoff.reason.as_str(), handoff.followed), (1, "not mine", true));
    let at = seen.iter().position(|update| update.handoff.is_some()).unwrap();
    assert!(seen[..=at].iter().all(|update| update.hop == 0 && *update.agent == *triage.url), "{seen:?}");
    assert!(seen[at + 1..].iter().all(|update| update.hop == 1 && *update.agent == *billing.url()), "{seen:?}");
    assert!(seen[at + 1..].iter().all(|update| update.event.task_id() == Some(&task)), "{seen:?}");
    assert_eq!(seen.last().unwrap().event.state(), Some(TaskState::Completed));
    let head = events.head().unwrap();
    assert_eq!((head.agent(), head.task_id(), head.hop()), (billing.url(), &task, 1));
    assert_eq!(crate::agent::text_of(&head.task().await.unwrap()), "0;1;2;");
    billing.shutdown().await;
}

/// HO-62: what is sent, read and canceled at the head reaches the agent that has the task.
#[tokio::test]
async fn the_head_is_who_has_the_task_now() {
    let (triage, billing) = (triage().await, serve().await);
    let there = Client::connect(billing.url()).await.unwrap();
    let asked = there.send("ask Which invoice?").await.unwrap().task().unwrap().id.clone();
    let agent = connect(Follow::any(), &triage.url).await;
    let reply = agent.send(format!("{} {asked}", billing.url())).await.unwrap();
    assert_eq!((reply.text().as_str(), reply.state()), ("Which invoice?", TaskState::InputRequired));
    assert!(reply.handoff().unwrap().followed);
    let head = reply.head().unwrap();
    assert_eq!((head.agent(), head.task_id()), (billing.url(), &asked));
    let reply = head.send("the second").await.unwrap();
    assert_eq!((reply.text().as_str(), reply.task().map(|task| &task.id)), ("heard the second", Some(&asked)));

    let asked = there.send("ask Which one?").await.unwrap().task().unwrap().id.clone();
    let reply = agent.send(format!("{} {asked}", billing.url())).await.unwrap();
    let head = reply.head().unwrap();
    assert_eq!(head.cancel().await.unwrap().state(), TaskState::Canceled);
    assert_eq!(head.task().await.unwrap().state(), TaskState::Canceled);
    billing.shutdown().await;
}

/// HO-60: the same origin is followed when nothing is said, and others are not.
#[tokio::test]
async fn only_the_same_origin_is_followed_when_nothing_is_said() {
    let gate = Arc::new(Semaphore::new(0));
    let slow = Server::new(card(), paced(&gate)).store(Memory::new()).bind("127.0.0.1:0").await.unwrap();
    let agent = Client::connect(slow.url()).await.unwrap();
    drop(agent);
    let triage = triage().await;
    let agent = Client::connect(&triage.url).await.unwrap();
    let (seen, error, head) = updates(&agent, &format!("{} t-1", slow.url())).await;
    assert!(error.is_none(), "{error:?}");
    let last = seen.last().unwrap();
    assert!(!last.handoff.as_ref().unwrap().followed);
    assert_eq!(head.unwrap().agent(), triage.url);
    let reply = agent.send(format!("{} t-1", slow.url())).await.unwrap();
    assert!(!reply.handoff().unwrap().followed);

    // A first task that was handed over elsewhere is where a second one is handed over to.
    let first = reply.task().unwrap().id.clone();
    let reply = agent.send(format!("{} {first}", &triage.url)).await.unwrap();
    assert_eq!(reply.task().map(|task| &task.id), Some(&first));
    assert_eq!(reply.handoff().unwrap().hop, 2);

    let deaf = connect(Follow::never(), &triage.url).await;
    let (seen, error, _) = updates(&deaf, &format!("{} {first}", &triage.url)).await;
    assert!(error.is_none() && seen.iter().all(|update| update.hop == 0), "{error:?} {seen:?}");
    slow.shutdown().await;
}

#[tokio::test]
async fn whoever_is_asked_decides_about_other_origins() {
    let (triage, billing) = (triage().await, serve().await);
    let done = Client::connect(billing.url()).await.unwrap().send("work hard").await.unwrap().task().unwrap().id.clone();
    for yes in [true, false] {
        let expected = billing.url().to_owned();
        let follow = Follow::ask(move |handoff| {
            assert_eq!((handoff.to, handoff.hop), (expected.clone(), 1));
            async move { yes }
        });
        let reply = connect(follow, &triage.url).await.send(format!("{} {done}", billing.url())).await.unwrap();
        assert_eq!(reply.handoff().unwrap().followed, yes);
        assert_eq!(reply.text() == "hard", yes, "{reply}");
    }
    billing.shutdown().await;
}

/// HO-64
#[tokio::test]
async fn a_circle_and_a_long_way_end_the_stream_with_an_error() {
    let triage = triage().await;
    let agent = Client::connect(&triage.url).await.unwrap();
    let mut last = agent.send(format!("{} nobody", "https://elsewhere.example")).await.unwrap().task().unwrap().id.clone();
    for _ in 0..3 {
        let never = connect(Follow::never(), &triage.url).await;
        last = never.send(format!("{} {last}", &triage.url)).await.unwrap().task().unwrap().id.clone();
    }
    let short = connect(Follow::same_origin().max_hops(2), &triage.url).await;
    let (seen, error, head) = updates(&short, &format!("{} {last}", &triage.url)).await;
    assert_eq!(Trouble::of(&error.unwrap()).unwrap().kind(), TroubleKind::HandoffLimit);
    assert_eq!(seen.iter().filter(|update| update.handoff.is_some()).count(), 3, "{seen:?}");
    assert_eq!(head.unwrap().hop(), 2);

    let peer = circle().await;
    let (_, error, _) = updates(&connect(Follow::same_origin(), &peer.url).await, "hello").await;
    let error = error.unwrap();
    assert_eq!((error.kind(), Trouble::of(&error).unwrap().kind()), (ErrorKind::InvalidAgentResponse, TroubleKind::HandoffLoop));
}

/// A peer whose task t-1 was handed over to its own t-2, and that back to t-1.
async fn circle() -> Peer {
    let url = Arc::new(std::sync::OnceLock::<String>::new());
    let here = url.clone();
    let peer = Peer::start(move |asked| {
        let url = here.get().unwrap();
        if asked.method == Method::GET {
            return shown(&aware(Card::new("Circle", "Goes round").interface(url, Binding::JsonRpc, Version::V1_0)));
        }
        let id = asked.json()["params"]["id"].as_str().unwrap_or("t-1").to_owned();
        let next = if id == "t-1" { "t-2" } else { "t-1" };
        answered(asked, handed(&id, json!({"agentEndpoint": url, "taskId": next})))
    })
    .await;
    url.set(peer.url.clone()).unwrap();
    peer
}

fn shown(card: &Card) -> Response {
    json_response(200, &serde_json::to_vec(card).unwrap())
}

fn handed(id: &str, transfer: Value) -> Value {
    let handoff = json!({extension::HANDOFF: {"state": "transferred", "transfer": transfer}});
    json!({"id": id, "contextId": "c-1", "status": {"state": "TASK_STATE_COMPLETED"}, "metadata": handoff})
}

/// The answer of an agent to any call: a task.
fn answered(asked: &Asked, task: Value) -> Response {
    let call = asked.json();
    let result = if call["method"] == "GetTask" { task } else { json!({"task": task}) };
    json_response(200, &serde_json::to_vec(&json!({"jsonrpc": "2.0", "id": call["id"], "result": result})).unwrap())
}

/// An agent with a card that demands a token, and answers with a task.
async fn guarded(refuse: bool) -> Peer {
    let url = Arc::new(std::sync::OnceLock::<String>::new());
    let here = url.clone();
    let peer = Peer::start(move |asked| {
        if asked.method == Method::GET {
            let bearer = SecurityScheme::HttpAuth(HttpAuthScheme::new("Bearer", ""));
            let card = Card::new("Guarded", "Wants a token").interface(here.get().unwrap(), Binding::JsonRpc, Version::V1_0);
            return shown(&card.security_scheme("token", bearer).require(SecurityRequirement::new().and("token", [""; 0])));
        }
        if refuse {
            return json_response(401, b"{}");
        }
        answered(asked, json!({"id": "g-1", "contextId": "c-2", "status": {"state": "TASK_STATE_COMPLETED"}}))
    })
    .await;
    url.set(peer.url.clone()).unwrap();
    peer
}

/// An agent that hands its task over to the task g-1 elsewhere, with a grant and a trace.
async fn generous(to: &str) -> Peer {
    let url = Arc::new(std::sync::OnceLock::<String>::new());
    let (here, to) = (url.clone(), to.to_owned());
    let peer = Peer::start(move |asked| {
        if asked.method == Method::GET {
            let bearer = SecurityScheme::HttpAuth(HttpAuthScheme::new("Bearer", ""));
            let card = aware(Card::new("Generous", "Gives").interface(here.get().unwrap(), Binding::JsonRpc, Version::V1_0));
            return shown(&card.security_scheme("token", bearer).require(SecurityRequirement::new().and("token", [""; 0])));
        }
        let transfer = json!({
            "agentEndpoint": to, "taskId": "g-1", "hop": 1,
            "grant": {"type": "bearer", "token": "gr-31", "expiresAt": "2126-01-01T00:00:00Z"},
            "traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
        });
        answered(asked, handed("t-1", transfer))
    })
    .await;
    url.set(peer.url.clone()).unwrap();
    peer
}

/// HO-63, HO-65, HO-T6: nothing that was meant for the first agent reaches the second; what is for the second does.
#[tokio::test]
async fn the_next_agent_sees_only_what_is_meant_for_it() {
    let next = guarded(false).await;
    let first = generous(&next.url).await;
    let ring = Keyring::new().at(&next.url, Secrets::new().bearer("for the second")).unwrap();
    let builder = Client::builder()
        .credentials(Secrets::new().bearer("for the first"))
        .header("x-mine", "for the first")
        .unwrap()
        .follow_handoffs(Follow::any().credentials(ring));
    let reply = builder.connect(&first.url).await.unwrap().send("hello").await.unwrap();
    assert_eq!(reply.head().unwrap().task_id(), &TaskId::from("g-1"));

    let sent = first.calls();
    assert!(sent.iter().all(|asked| asked.header("authorization") == Some("Bearer for the first")), "{sent:?}");
    assert!(sent.iter().all(|asked| asked.header("a2a-extensions").unwrap().contains(extension::HANDOFF)), "{sent:?}");
    assert!(sent.iter().all(|asked| asked.header("traceparent").is_some()), "{sent:?}");
    let seen = next.asked();
    assert!(seen.iter().any(|asked| asked.method == Method::POST));
    for asked in &seen {
        assert!(!format!("{:?}", asked.headers).contains("for the first"), "{asked:?}");
        assert!(asked.header("x-mine").is_none() && !asked.headers.values().any(|value| value == "Bearer for the first"), "{asked:?}");
    }
    let calls: Vec<_> = seen.iter().filter(|asked| asked.method == Method::POST).collect();
    assert!(calls.iter().all(|asked| asked.header("authorization") == Some("Bearer for the second")), "{calls:?}");
    assert!(calls.iter().all(|asked| asked.header("a2a-task-grant") == Some("gr-31")), "{calls:?}");
    assert_eq!(calls[0].header("traceparent"), Some("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"));
    assert!(seen.iter().filter(|asked| asked.method == Method::GET).all(|asked| asked.header("a2a-task-grant").is_none()));
}

/// HO-63: an agent that wants credentials that are not there is named, and the head stays at the one before.
#[tokio::test]
async fn an_agent_that_wants_other_credentials_ends_the_way_there() {
    for (refuse, ring) in [(false, Secrets::new()), (true, Secrets::new().bearer("wrong"))] {
        let next = guarded(refuse).await;
        let first = generous(&next.url).await;
        let builder = Client::builder().credentials(Secrets::new().bearer("mine")).follow_handoffs(Follow::any().credentials(ring));
        let (seen, error, head) = updates(&builder.connect(&first.url).await.unwrap(), "hello").await;
        let error = error.unwrap();
        assert_eq!((error.kind(), Trouble::of(&error).unwrap().kind()), (ErrorKind::Unauthenticated, TroubleKind::AuthRequired));
        assert_eq!(error.metadata().get("target"), Some(&next.url));
        assert!(seen.last().unwrap().handoff.as_ref().unwrap().followed);
        let head = head.unwrap();
        assert_eq!((head.agent(), head.task_id().as_str()), (first.url.as_str(), "t-1"));
    }
}

/// GX-5: peers of v0.3 are told of extensions under both names.
#[tokio::test]
async fn a_peer_of_v0_3_hears_of_extensions_under_both_names() {
    let task = json!({"kind": "task", "id": "t-1", "contextId": "c-1", "status": {"state": "completed"}});
    let peer = Peer::start(move |asked| {
        json_response(200, &serde_json::to_vec(&json!({"jsonrpc": "2.0", "id": asked.json()["id"], "result": task})).unwrap())
    })
    .await;
    Way(Binding::JsonRpc, Version::V0_3).to(&peer.url).send("hello").await.unwrap();
    let calls = peer.calls();
    assert_eq!(calls[0].header("x-a2a-extensions"), Some(extension::HANDOFF));
    assert_eq!(calls[0].header("a2a-extensions"), Some(extension::HANDOFF));
}

/// HO-61: who cannot stream is read again and again.
#[tokio::test]
async fn a_task_that_cannot_be_watched_is_read_until_it_ends() {
    let url = Arc::new(std::sync::OnceLock::<String>::new());
    let (here, reads) = (url.clone(), std::sync::atomic::AtomicU32::new(0));
    let peer = Peer::start(move |asked| {
        if asked.method == Method::GET {
            return shown(&Card::new("Plain", "Has no streams").interface(here.get().unwrap(), Binding::JsonRpc, Version::V1_0));
        }
        let call = asked.json();
        if call["method"] != "GetTask" {
            let error = json!({"code": -32004, "message": "This operation is not supported"});
            return json_response(200, &serde_json::to_vec(&json!({"jsonrpc": "2.0", "id": call["id"], "error": error})).unwrap());
        }
        let state =
            if reads.fetch_add(1, std::sync::atomic::Ordering::Relaxed) < 2 { "TASK_STATE_WORKING" } else { "TASK_STATE_COMPLETED" };
        answered(asked, json!({"id": "p-1", "contextId": "c-1", "status": {"state": state}}))
    })
    .await;
    url.set(peer.url.clone()).unwrap();
    let triage = triage().await;
    let builder = Client::builder().follow_handoffs(Follow::any()).poll_interval(std::time::Duration::from_millis(100));
    let (seen, error, head) = updates(&builder.connect(&triage.url).await.unwrap(), &format!("{} p-1", peer.url)).await;
    assert!(error.is_none(), "{error:?}");
    assert_eq!(seen.last().unwrap().event.state(), Some(TaskState::Completed));
    assert_eq!(head.unwrap().task_id().as_str(), "p-1");
}
