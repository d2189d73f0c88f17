//! Connections that break.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use chancery_client::Client;
use chancery_core::{ErrorKind, Operations, SendMessage, TaskState, Version};
use chancery_engine::store::Memory;
use chancery_server::Server;
use tokio::sync::Semaphore;

use crate::{
    agent::{JSON_WAYS, caller, card, next, paced, written},
    proxy,
};

/// Each connection carries one event, and the agent says the next number when the last was heard.
async fn every_event_is_seen_once(hide: bool) {
    let gate = Arc::new(Semaphore::new(1));
    let server = Server::new(card(), paced(&gate)).store(Memory::new()).bind("127.0.0.1:0").await.unwrap();
    for way in JSON_WAYS {
        let url = proxy::cutting(server.local_addr(), 1, hide).await;
        let mut stream = way
            .with(&Client::builder().poll_interval(Duration::from_millis(100)), &url)
            .stream_message(&caller(), SendMessage::new("17"))
            .await
            .unwrap();
        let mut events = Vec::new();
        while let Some(item) = next(&mut stream).await {
            events.push(item.unwrap_or_else(|error| panic!("{way:?}: {error:?}")));
            gate.add_permits(1);
        }
        let expected: String = (0..17).map(|number| format!("{number};")).collect();
        assert_eq!(written(&events), expected, "{way:?}");
        assert_eq!(events.last().unwrap().1.state(), Some(TaskState::Completed), "{way:?}");
        let numbers: Vec<u64> = events.iter().map(|(seq, _)| seq.get()).collect();
        assert_eq!(numbers, (1..=numbers.len() as u64).collect::<Vec<_>>(), "{way:?}");
        if !hide && way.1 != Version::V0_1 {
            // The task, a status, seventeen numbers, the end of the artifact, the end of the task.
            assert_eq!(events.len(), 21, "{way:?}");
        }
    }
    server.shutdown().await;
}

/// CONV-EVENT-007.
#[tokio::test]
async fn a_stream_that_is_cut_at_every_event_shows_each_once_and_in_order() {
    every_event_is_seen_once(false).await;
}

#[tokio::test]
async fn events_without_numbers_are_made_whole_from_the_task() {
    every_event_is_seen_once(true).await;
}

#[tokio::test]
async fn a_server_that_is_gone_is_one_error_in_time() {
    for way in JSON_WAYS {
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
        assert!(since.elapsed() < Duration::from_secs(10), "{way:?}");
        assert!(next(&mut stream).await.is_none(), "{way:?}");
        assert_eq!(agent.send("hello").await.unwrap_err().kind(), ErrorKind::Unavailable, "{way:?}");
    }
}
