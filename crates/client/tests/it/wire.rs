//! What an observer sees, and what is asked for again.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use axum::{body::Body, response::Response};
use chancery_client::{Client, Notice, Trouble, TroubleKind};
use chancery_core::{Binding, ErrorKind, GetTask, Operations, SendMessage, Version};
use serde_json::json;

use crate::{
    agent::{GRPC_WAYS, JSON_WAYS, Way, caller, serve},
    credentials::Witness,
    peer::{Peer, json_response},
};

#[tokio::test]
async fn an_observer_sees_requests_answers_and_events_in_every_way() {
    let server = serve().await;
    for way in JSON_WAYS.into_iter().chain(GRPC_WAYS) {
        let witness = Arc::new(Witness::default());
        let agent = way.with(&Client::builder().observer(witness.clone()), server.url());
        let mut events = agent.stream("work observed").await.unwrap();
        while events.try_next().await.unwrap().is_some() {}
        let shown = std::mem::take(&mut *witness.shown.lock().unwrap());
        let count = |what: &str| shown.matches(what).count();
        assert_eq!((count("Chosen("), count("Request("), count("Response(")), (1, 1, 1), "{way:?}: {shown}");
        assert!(count("Event(") >= 3, "{way:?}: {shown}");
        agent.send("work observed").await.unwrap();
        let shown = witness.shown.lock().unwrap().clone();
        assert!(shown.contains("status: 200") && !shown.contains("Event("), "{way:?}: {shown}");
        if way.0 == Binding::Grpc {
            let service = if way.1 == Version::V1_0 { "lf.a2a.v1.A2AService/SendMessage" } else { "a2a.v1.A2AService/SendMessage" };
            assert!(shown.contains(service), "{way:?}: {shown}");
        }
    }
    server.shutdown().await;
}

#[tokio::test]
async fn a_dry_run_shows_and_does_not_send() {
    let peer = Peer::start(|asked| panic!("{asked:?}")).await;
    for way in [Way(Binding::JsonRpc, Version::V1_0), Way(Binding::HttpJson, Version::V0_3), GRPC_WAYS[0], GRPC_WAYS[1]] {
        let witness = Arc::new(Witness::default());
        let agent = way.with(&Client::builder().observer(witness.clone()).dry_run(true), &peer.url);
        for error in [agent.send("hi").await.unwrap_err(), agent.stream("hi").await.unwrap_err(), agent.task("t").await.unwrap_err()] {
            assert_eq!(Trouble::of(&error).map(Trouble::kind), Some(TroubleKind::DryRun), "{way:?}: {error:?}");
        }
        assert_eq!(witness.shown.lock().unwrap().matches("Request(").count(), 3, "{way:?}");
        assert!(peer.asked().is_empty());
    }
}

/// What is busy is asked again when it wants to be.
#[tokio::test]
async fn retry_after_is_obeyed() {
    for status in [429, 503] {
        let calls = Arc::new(AtomicUsize::new(0));
        let counted = calls.clone();
        let peer = Peer::start(move |asked| {
            if counted.fetch_add(1, Ordering::SeqCst) == 0 {
                return Response::builder().status(status).header("retry-after", "1").body(Body::from("later")).unwrap();
            }
            let task = json!({"id": "t", "contextId": "c", "status": {"state": "TASK_STATE_WORKING"}});
            json_response(200, json!({"jsonrpc": "2.0", "id": asked.json()["id"], "result": task}).to_string().as_bytes())
        })
        .await;
        let witness = Arc::new(Witness::default());
        let builder = Client::builder().observer(witness.clone());
        let agent = builder.over(Binding::JsonRpc, Version::V1_0, &peer.url).unwrap();
        let since = Instant::now();
        agent.task("t").await.unwrap();
        assert!(since.elapsed() >= Duration::from_secs(1));
        assert!(matches!(&witness.notices()[..], [Notice::Retry { attempt: 1, pause, .. }] if *pause == Duration::from_secs(1)));
        // Who may not ask again is told what was said.
        calls.store(0, Ordering::SeqCst);
        let agent = Client::builder().retries(0).over(Binding::JsonRpc, Version::V1_0, &peer.url).unwrap();
        let error = agent.task("t").await.unwrap_err();
        let trouble = Trouble::of(&error).unwrap();
        assert_eq!((trouble.status(), trouble.retry_after()), (Some(status), Some(Duration::from_secs(1))), "{error:?}");
    }
}

#[tokio::test]
async fn what_went_wrong_is_told_apart_in_every_way() {
    let server = serve().await;
    let gone = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    let silent = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let silent = format!("http://{}", silent.local_addr().map(|address| (address, std::mem::forget(silent))).unwrap().0);
    for way in JSON_WAYS.into_iter().chain(GRPC_WAYS) {
        let kind = |error: &chancery_core::Error| Trouble::of(error).map(Trouble::kind);
        let said = way.to(server.url()).task("no-such-task").await.unwrap_err();
        assert_eq!((said.kind(), kind(&said)), (ErrorKind::TaskNotFound, None), "{way:?}: {said:?}");
        let nobody = way.with(&Client::builder().retries(0), &format!("http://{gone}")).task("t").await.unwrap_err();
        assert_eq!(kind(&nobody), Some(TroubleKind::Unreachable), "{way:?}: {nobody:?}");
        let soon = caller().deadline(Instant::now() + Duration::from_millis(200));
        let late = way.to(&silent).get_task(&soon, GetTask::new("t")).await.unwrap_err();
        assert_eq!((late.kind(), kind(&late)), (ErrorKind::Timeout, Some(TroubleKind::Timeout)), "{way:?}: {late:?}");
    }
    server.shutdown().await;
}

/// An agent that takes too long, wherever the time is noticed.
#[tokio::test]
async fn a_call_ends_at_its_deadline_in_every_way() {
    let server = serve().await;
    for way in JSON_WAYS.into_iter().chain(GRPC_WAYS) {
        let since = Instant::now();
        let soon = caller().deadline(since + Duration::from_millis(300));
        let late = way.to(server.url()).send_message(&soon, SendMessage::new("wait")).await.unwrap_err();
        assert_eq!(
            (late.kind(), Trouble::of(&late).map(Trouble::kind)),
            (ErrorKind::Timeout, Some(TroubleKind::Timeout)),
            "{way:?}: {late:?}"
        );
        assert!(since.elapsed() < Duration::from_secs(5), "{way:?}");
    }
    server.shutdown().await;
}

#[tokio::test]
async fn a_caller_that_is_refused_is_told_the_status() {
    for (status, kind) in [(401, ErrorKind::Unauthenticated), (403, ErrorKind::PermissionDenied)] {
        let peer = Peer::start(move |_| json_response(status, b"<html>no</html>")).await;
        for way in JSON_WAYS {
            let error = way.to(&peer.url).task("t").await.unwrap_err();
            let trouble = Trouble::of(&error).unwrap();
            assert_eq!((error.kind(), trouble.kind(), trouble.status()), (kind, TroubleKind::Refused, Some(status)), "{way:?}: {error:?}");
        }
    }
}
