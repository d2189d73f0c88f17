//! Connections that break.

use std::{
    net::SocketAddr,
    sync::Arc,
    time::{Duration, Instant},
};

use chancery::{Running, Server};
use chancery_client::{Builder, Client, Notice, Trouble, TroubleKind};
use chancery_core::{Binding, Caller, ErrorKind, Event, Operations, SendMessage, Seq, TaskState, Version};
use chancery_engine::{
    Agent, Engine, OnRestart,
    store::{Memory, Store},
};
use tokio::sync::Semaphore;

use crate::{
    agent::{GRPC_WAYS, JSON_WAYS, Way, caller, card, next, paced, text_of, written},
    credentials::Witness,
    peer::{Peer, json_response},
    proxy,
};

fn quick() -> Builder {
    Client::builder().poll_interval(Duration::from_millis(100))
}

/// Each connection carries one event, and the agent says the next number when the last was heard.
async fn every_event_is_seen_once(ways: &[Way], hide: bool) {
    let gate = Arc::new(Semaphore::new(1));
    let server = Server::new(card(), paced(&gate)).store(Memory::new()).bind("127.0.0.1:0").await.unwrap();
    for way in ways {
        let url = proxy::cutting(server.local_addr(), 1, hide).await;
        let mut stream = way.with(&quick(), &url).stream_message(&caller(), SendMessage::new("17")).await.unwrap();
        let mut events = Vec::new();
        while let Some(item) = next(&mut stream).await {
            events.push(item.unwrap_or_else(|error| panic!("{way:?}: {error:?}")));
            gate.add_permits(1);
        }
        each_once(&events, 17, way);
        if !hide && way.1 != Version::V0_1 {
            // The task, a status, seventeen numbers, the end of the task.
            assert_eq!(events.len(), 20, "{way:?}");
        }
    }
    server.shutdown().await;
}

/// All numbers, in order, numbered without a gap, and the end.
fn each_once(events: &[(Seq, Event)], numbers: u32, way: &Way) {
    let expected: String = (0..numbers).map(|number| format!("{number};")).collect();
    assert_eq!(written(events), expected, "{way:?}");
    assert_eq!(events.last().unwrap().1.state(), Some(TaskState::Completed), "{way:?}");
    let places: Vec<u64> = events.iter().map(|(seq, _)| seq.get()).collect();
    assert_eq!(places, (1..=places.len() as u64).collect::<Vec<_>>(), "{way:?}");
}

/// CONV-EVENT-007.
#[tokio::test]
async fn a_stream_that_is_cut_at_every_event_shows_each_once_and_in_order() {
    every_event_is_seen_once(&JSON_WAYS, false).await;
}

/// CONV-EVENT-007 over gRPC, where the places are in metadata.
#[tokio::test]
async fn a_stream_over_grpc_that_is_cut_at_every_event_shows_each_once_and_in_order() {
    every_event_is_seen_once(&GRPC_WAYS, false).await;
}

#[tokio::test]
async fn events_without_numbers_are_made_whole_from_the_task() {
    every_event_is_seen_once(&JSON_WAYS, true).await;
}

#[tokio::test]
async fn a_server_that_is_gone_is_one_error_in_time() {
    for way in JSON_WAYS.into_iter().chain(GRPC_WAYS) {
        let gate = Arc::new(Semaphore::new(1));
        let server = Server::new(card(), paced(&gate)).store(Memory::new()).grace(Duration::ZERO).bind("127.0.0.1:0").await.unwrap();
        let agent = way.with(&Client::builder().patience(Duration::from_secs(1)), server.url());
        let mut stream = agent.stream_message(&caller(), SendMessage::new("5")).await.unwrap();
        next(&mut stream).await.unwrap().unwrap();
        server.shutdown().await;
        let since = Instant::now();
        let error = loop {
            match next(&mut stream).await.expect("a cut stream does not end as if it were whole") {
                Ok(_) => {}
                Err(error) => break error,
            }
        };
        assert_eq!(error.kind(), ErrorKind::Unavailable, "{way:?}: {error:?}");
        // The patience may end while the last attempt is under way.
        let kind = Trouble::of(&error).map(Trouble::kind);
        assert!(matches!(kind, Some(TroubleKind::Unreachable | TroubleKind::Timeout)), "{way:?}: {error:?}");
        assert!(since.elapsed() < Duration::from_secs(10), "{way:?}");
        assert!(next(&mut stream).await.is_none(), "{way:?}");
        assert_eq!(agent.send("hello").await.unwrap_err().kind(), ErrorKind::Unavailable, "{way:?}");
    }
}

/// A server at an address, with a store that outlives it; turns that it does not finish are run again.
async fn serve_at(address: SocketAddr, agent: impl Agent, store: &Arc<dyn Store>) -> Running {
    let engine = Engine::new(card(), agent).on_restart(OnRestart::Rerun).lease(Duration::from_secs(2));
    let server = Server::several().agent("/", engine).shared_store(store.clone()).grace(Duration::ZERO);
    server.bind(address).await.unwrap()
}

/// A server that is stopped in the middle of a stream, stays away for a while, and comes back at the same address. The
/// turn is run again; its second run says what is left, and the stream goes on.
async fn a_restart_is_survived(ways: &[Way], builder: &Builder, away: Duration) {
    let mut running = Vec::new();
    for way in ways.iter().copied() {
        let builder = builder.clone();
        running.push(tokio::spawn(async move {
            let store: Arc<dyn Store> = Arc::new(Memory::new());
            let agent = |turn: chancery_engine::Turn| async move {
                let again = turn.attempt() > 1;
                turn.status(if again { "Going on" } else { "Beginning" }).await?;
                if !again {
                    std::future::pending::<()>().await;
                }
                Ok::<_, chancery_engine::Failure>(chancery_engine::Outcome::complete_with(
                    chancery_core::Artifact::new("done").id("result"),
                ))
            };
            let first = serve_at("127.0.0.1:0".parse().unwrap(), agent, &store).await;
            let address = first.local_addr();
            let client = way.with(&builder, first.url());
            let mut stream = client.stream_message(&Caller::anonymous(), SendMessage::new("go")).await.unwrap();
            let mut events = vec![next(&mut stream).await.unwrap().unwrap(), next(&mut stream).await.unwrap().unwrap()];
            first.shutdown().await;
            let back = tokio::spawn(async move {
                tokio::time::sleep(away).await;
                serve_at(address, agent, &store).await
            });
            let rest = async {
                while let Some(item) = poll(&mut stream).await {
                    events.push(item.unwrap_or_else(|error| panic!("{way:?}: {error:?}")));
                }
            };
            tokio::time::timeout(away + Duration::from_secs(30), rest).await.expect("the stream hangs");
            assert_eq!(written(&events), "done", "{way:?}: {events:#?}");
            assert_eq!(events.last().unwrap().1.state(), Some(TaskState::Completed), "{way:?}");
            let places: Vec<u64> = events.iter().map(|(seq, _)| seq.get()).collect();
            assert!(places.is_sorted_by(|a, b| a < b), "{way:?}: {places:?}");
            let id = events.iter().find_map(|(_, event)| event.task_id().cloned()).unwrap();
            assert_eq!(text_of(&client.task(id).await.unwrap()), "done", "{way:?}");
            back.await.unwrap().shutdown().await;
        }));
    }
    for run in running {
        run.await.unwrap();
    }
}

async fn poll(stream: &mut chancery_core::EventStream) -> Option<chancery_core::Result<(Seq, Event)>> {
    let item = std::future::poll_fn(|cx| stream.as_mut().poll_next(cx)).await;
    item.map(|item| item.map(|(seq, event)| (seq, event.into_event())))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_is_restarted_at_once_loses_no_stream() {
    let ways: Vec<Way> = JSON_WAYS.into_iter().chain(GRPC_WAYS).collect();
    a_restart_is_survived(&ways, &quick(), Duration::ZERO).await;
}

/// For real: away as long as a stream waits when nothing is said, by those who wait a little longer.
#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_is_away_for_half_a_minute_loses_no_stream_that_waits_for_it() {
    let ways: Vec<Way> = JSON_WAYS.into_iter().chain(GRPC_WAYS).collect();
    a_restart_is_survived(&ways, &quick().patience(Duration::from_secs(60)), Duration::from_secs(30)).await;
}

/// An agent that ends every stream without news: five times is enough, then its task is read, less and less often.
#[tokio::test]
async fn a_stream_without_news_is_asked_for_five_times_and_then_its_task_is_read() {
    let task = r#"{"id":"t","contextId":"c","status":{"state":"TASK_STATE_WORKING"}}"#;
    let reads = Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let peer = Peer::start(move |asked| match asked.json()["method"].as_str() {
        Some("GetTask") => {
            let state = if reads.fetch_add(1, std::sync::atomic::Ordering::SeqCst) < 3 { "WORKING" } else { "COMPLETED" };
            json_response(200, format!(r#"{{"jsonrpc":"2.0","id":1,"result":{}}}"#, task.replace("WORKING", state)).as_bytes())
        }
        Some("SendStreamingMessage") => {
            let frame = format!("data: {{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{{\"task\":{task}}}}}\n\n");
            axum::response::Response::builder().header("content-type", "text/event-stream").body(frame.into()).unwrap()
        }
        _ => axum::response::Response::builder().header("content-type", "text/event-stream").body("".into()).unwrap(),
    })
    .await;
    let witness = Arc::new(Witness::default());
    let agent = quick().observer(witness.clone()).over(Binding::JsonRpc, Version::V1_0, &peer.url).unwrap();
    let mut events = agent.stream("hi").await.unwrap();
    let mut states = Vec::new();
    while let Some(update) = events.try_next().await.unwrap() {
        states.push(update.event.state());
    }
    assert_eq!(states, [Some(TaskState::Working), Some(TaskState::Completed)]);
    let methods: Vec<_> = peer.calls().iter().map(|call| call.json()["method"].as_str().unwrap().to_owned()).collect();
    assert_eq!(methods[0], "SendStreamingMessage");
    assert!(methods[1..6].iter().all(|method| method == "SubscribeToTask"), "{methods:?}");
    assert!(methods[6..].iter().all(|method| method == "GetTask") && methods.len() == 10, "{methods:?}");
    let notices = witness.notices();
    assert!(matches!(&notices[..5], [Notice::Resubscribe { attempt: 1, .. }, .., Notice::Resubscribe { attempt: 5, .. }]), "{notices:?}");
    assert!(matches!(notices[5], Notice::Polling { .. }), "{notices:?}");
}

/// Five failures in a row end the reading of a task, for those who want it so.
#[tokio::test]
async fn a_task_that_cannot_be_read_five_times_in_a_row_is_given_up() {
    let peer = Peer::start(|asked| match asked.json()["method"].as_str() {
        Some("SendStreamingMessage") => {
            let frame =
                r#"data: {"jsonrpc":"2.0","id":1,"result":{"task":{"id":"t","contextId":"c","status":{"state":"TASK_STATE_WORKING"}}}}"#;
            axum::response::Response::builder().header("content-type", "text/event-stream").body(format!("{frame}\n\n").into()).unwrap()
        }
        Some("SubscribeToTask") => json_response(200, br#"{"jsonrpc":"2.0","id":1,"error":{"code":-32004,"message":"no"}}"#),
        _ => json_response(503, b""),
    })
    .await;
    let agent = quick().poll_failures(5).over(Binding::JsonRpc, Version::V1_0, &peer.url).unwrap();
    let mut events = agent.stream("hi").await.unwrap();
    events.try_next().await.unwrap().unwrap();
    let error = events.try_next().await.unwrap_err();
    assert_eq!(Trouble::of(&error).and_then(Trouble::status), Some(503), "{error:?}");
    let reads = peer.calls().iter().filter(|call| call.json()["method"] == "GetTask").count();
    assert_eq!(reads, 5);
}

/// Some say only on the stream itself that a task which is over cannot be subscribed to.
#[tokio::test]
async fn a_task_that_ended_during_the_cut_is_read_when_the_stream_says_so() {
    let peer = Peer::start(|asked| {
        let task = |state: &str| format!(r#"{{"id":"t","contextId":"c","status":{{"state":"TASK_STATE_{state}"}}}}"#);
        let frame = |content: &str| {
            let frame = format!("data: {{\"jsonrpc\":\"2.0\",\"id\":1,{content}}}\n\n");
            axum::response::Response::builder().header("content-type", "text/event-stream").body(frame.into()).unwrap()
        };
        match asked.json()["method"].as_str() {
            Some("SendStreamingMessage") => frame(&format!(r#""result":{{"task":{}}}"#, task("WORKING"))),
            Some("SubscribeToTask") => frame(r#""error":{"code":-32602,"message":"the task is in a terminal state"}"#),
            _ => json_response(200, format!(r#"{{"jsonrpc":"2.0","id":1,"result":{}}}"#, task("COMPLETED")).as_bytes()),
        }
    })
    .await;
    let mut events = quick().over(Binding::JsonRpc, Version::V1_0, &peer.url).unwrap().stream("hi").await.unwrap();
    let mut states = Vec::new();
    while let Some(update) = events.try_next().await.unwrap() {
        states.push(update.event.state());
    }
    assert_eq!(states, [Some(TaskState::Working), Some(TaskState::Completed)]);
}
