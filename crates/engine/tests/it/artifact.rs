//! Artifacts that are written in pieces, as whoever listens gets them.

use std::{sync::Arc, time::Duration};

use chancery_core::{ArtifactUpdate, Caller, Event, EventStream, Operations, Part, SendMessage, TaskState};
use chancery_engine::{Engine, Failure, Outcome, Turn};
use tokio::sync::Notify;

use crate::operations::{all, card, states};

async fn next(stream: &mut EventStream) -> Option<Event> {
    let event = tokio::time::timeout(Duration::from_secs(10), stream.try_next()).await.expect("nothing comes");
    event.unwrap().map(|(_, event)| event.into_event())
}

fn chunks(events: impl IntoIterator<Item = Event>) -> Vec<ArtifactUpdate> {
    let chunk = |event| match event {
        Event::Artifact(update) => Some(*update),
        _ => None,
    };
    events.into_iter().filter_map(chunk).collect()
}

async fn stream(agent: impl chancery_engine::Agent) -> Vec<Event> {
    let engine = Engine::new(card(), agent).start();
    let stream = engine.stream_message(&Caller::anonymous(), SendMessage::new("go")).await.unwrap();
    all(stream).await.into_iter().map(|(_, event)| event).collect()
}

/// Some clients show the last chunk as the result.
#[tokio::test]
async fn the_last_chunk_is_the_last_piece_and_no_chunk_is_empty() {
    async fn agent(turn: Turn) -> Result<Outcome, Failure> {
        let (mut text, mut picture) = (turn.artifact("text"), turn.artifact("picture"));
        for number in 0..3_u8 {
            text.push(number.to_string()).await?;
            text.push("").await?;
            picture.push(Part::raw(vec![number])).await?;
        }
        text.finish().await?;
        picture.finish_with([Part::raw(vec![3]), Part::text("")]).await?;
        turn.artifact("nothing").finish().await?;
        Ok(Outcome::Completed)
    }
    let chunks = chunks(stream(agent).await);
    assert!(chunks.iter().all(|chunk| chunk.artifact.parts.len() == 1 && chunk.artifact.parts[0] != Part::text("")), "{chunks:?}");
    let last: Vec<_> = chunks.iter().map(|chunk| chunk.last_chunk).collect();
    // By turns, and one more of the picture.
    assert_eq!(last, [false, false, false, false, true, false, true]);
}

/// A piece does not wait for the next one to be seen, and what has gone out is not sent again to say that it was the last.
#[tokio::test]
async fn a_piece_is_seen_before_there_is_another() {
    let seen = Arc::new(Notify::new());
    let told = seen.clone();
    let agent = move |turn: Turn| {
        let seen = told.clone();
        async move {
            let mut poem = turn.artifact("poem");
            for line in ["one", "two"] {
                poem.push(line).await?;
                seen.notified().await;
            }
            poem.finish().await?;
            Ok::<_, Failure>(Outcome::Completed)
        }
    };
    let engine = Engine::new(card(), agent).start();
    let mut stream = engine.stream_message(&Caller::anonymous(), SendMessage::new("go")).await.unwrap();
    let mut texts = Vec::new();
    while let Some(event) = next(&mut stream).await {
        for chunk in chunks([event]) {
            texts.push(chunk.artifact.parts[0].as_text().unwrap_or_default().to_owned());
            seen.notify_one();
        }
    }
    assert_eq!(texts, ["one", "two"]);
}

#[tokio::test]
async fn whoever_shows_something_works() {
    async fn pieces(turn: Turn) -> Result<Outcome, Failure> {
        turn.artifact("poem").finish_with(["a line"]).await?;
        Ok(Outcome::Completed)
    }
    async fn whole(turn: Turn) -> Result<Outcome, Failure> {
        turn.publish(chancery_core::Artifact::new("a line")).await?;
        Ok(Outcome::reply("There it is."))
    }
    for events in [stream(pieces).await, stream(whole).await] {
        let numbered: Vec<_> = events.iter().map(|event| (chancery_core::Seq::START, event.clone())).collect();
        assert_eq!(states(&numbered), [TaskState::Submitted, TaskState::Working, TaskState::Completed]);
        assert!(matches!(&events[2], Event::Artifact(_)), "{events:?}");
    }
}

#[tokio::test]
async fn an_agent_says_that_it_works_and_no_more() {
    async fn agent(turn: Turn) -> Result<Outcome, Failure> {
        turn.working().await?;
        Ok(Outcome::Completed)
    }
    let events = stream(agent).await;
    let Event::Status(update) = &events[1] else { panic!("{events:?}") };
    assert_eq!((update.status.state, &update.status.message), (TaskState::Working, &None));
}
