//! Streams that are cut at every event, from servers that are killed meanwhile.

use std::time::Duration;

use crate::{
    process::{Folder, Process, until},
    voice::{Heard, Voice},
};

/// How many events there are at least.
const EVENTS: usize = 50;

/// An agent that says 1 to 20 and then waits for a file; its turns are run again when their server died.
const PATIENT: &str = r#"
[[agent]]
name = "patient"
description = "Counts, and waits in between"
command = ["sh", "-c", "seq 1 20; until [ -e go ]; do sleep 0.05; done; seq 21 50"]
chunk = "\n"
on_restart = "rerun"
"#;

/// Reads one event of a task, or of a new one, and goes away.
async fn one(voice: Voice, server: &Process, so_far: &[Heard]) -> Option<Heard> {
    let mut reading = match so_far.last() {
        None => voice.send(server.address(), "stream 50").await,
        Some(last) => voice.resume(server.address(), &voice.task(&last.event), last.seq).await,
    };
    reading.next().await
}

/// Places 1, 2, 3 … without a gap or a repetition, and the content of the log.
#[track_caller]
fn assert_is_log(voice: Voice, seen: &[Heard], log: &[Heard]) {
    let places: Vec<_> = seen.iter().map(|heard| heard.seq).collect();
    assert_eq!(places, (1..=seen.len() as u64).collect::<Vec<_>>(), "{voice:?}");
    assert_eq!(seen, log, "{voice:?}");
}

/// A client that loses its connection after each event, of a server that dies every ten events.
async fn cut_everywhere(voice: Voice) {
    let folder = Folder::new();
    let mut server = Process::demo(&folder).await;
    let (mut seen, mut deaths) = (Vec::new(), 0);
    while let Some(heard) = one(voice, &server, &seen).await {
        let completed = voice.completed(&heard.event);
        seen.push(heard);
        if seen.len() == 1 {
            // A turn that runs when its server dies fails by default; this one shall have its end.
            let task = voice.task(&seen[0].event);
            until(Duration::from_secs(20), "the end of the task", async || {
                let mut reading = voice.resume(server.address(), &task, 1).await;
                let mut completed = false;
                while let Some(heard) = reading.next().await {
                    completed = voice.completed(&heard.event);
                }
                completed.then_some(())
            })
            .await;
        }
        if seen.len() % 10 == 5 {
            server.strike().await;
            deaths += 1;
        }
        if completed {
            break;
        }
    }
    let task = voice.task(&seen[0].event);
    assert_is_log(voice, &seen, &voice.log(server.address(), &task).await);
    let chunks: String = seen.iter().filter_map(|heard| voice.chunk(&heard.event)).collect();
    assert_eq!(chunks, (1..=50).map(|number| format!("{number}\n")).collect::<String>());
    assert!(seen.len() > EVENTS && deaths >= 5, "{} events, {deaths} deaths", seen.len());
}

#[tokio::test]
async fn a_json_rpc_stream_cut_at_every_event_is_whole() {
    Box::pin(cut_everywhere(Voice::JsonRpc)).await;
}

#[tokio::test]
async fn a_v0_3_stream_cut_at_every_event_is_whole() {
    Box::pin(cut_everywhere(Voice::OldJsonRpc)).await;
}

#[tokio::test]
async fn an_http_json_stream_cut_at_every_event_is_whole() {
    Box::pin(cut_everywhere(Voice::Rest)).await;
}

#[tokio::test]
async fn a_grpc_stream_cut_at_every_event_is_whole() {
    Box::pin(cut_everywhere(Voice::Grpc)).await;
}

/// The server dies while the task is running. A stream that was cut at every event goes on where it was,
/// through what the next process makes of the task.
async fn cut_while_running(voice: Voice) {
    let folder = Folder::new();
    let mut server = Process::file(&folder, PATIENT).await;
    let mut seen = Vec::new();
    while seen.len() < 12 {
        seen.push(one(voice, &server, &seen).await.expect("the task is running"));
    }
    server.strike().await;
    while seen.len() < 16 {
        seen.push(one(voice, &server, &seen).await.expect("the events before the end are kept"));
    }
    server.strike().await;
    folder.write("go", "");
    while !seen.last().is_some_and(|heard| voice.completed(&heard.event)) {
        seen.push(one(voice, &server, &seen).await.expect("the turn is run again"));
    }
    server.strike().await;
    let task = voice.task(&seen[0].event);
    assert_is_log(voice, &seen, &voice.log(server.address(), &task).await);
    let chunks: String = seen.iter().filter_map(|heard| voice.chunk(&heard.event)).collect();
    let counted = |to: u32| (1..=to).map(|number| number.to_string()).collect::<String>();
    assert!(chunks.ends_with(&counted(50)), "{chunks}");
    assert!(chunks.starts_with(&counted(20)) && chunks.len() > counted(50).len(), "the turn was not run twice: {chunks}");
}

#[tokio::test]
async fn a_json_rpc_stream_goes_on_when_its_turn_is_run_again() {
    cut_while_running(Voice::JsonRpc).await;
}

#[tokio::test]
async fn a_v0_3_stream_goes_on_when_its_turn_is_run_again() {
    cut_while_running(Voice::OldJsonRpc).await;
}

#[tokio::test]
async fn an_http_json_stream_goes_on_when_its_turn_is_run_again() {
    cut_while_running(Voice::Rest).await;
}

#[tokio::test]
async fn a_grpc_stream_goes_on_when_its_turn_is_run_again() {
    cut_while_running(Voice::Grpc).await;
}
