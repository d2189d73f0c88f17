//! The agents that the tests call, and the ways to call them.

use std::{sync::Arc, time::Duration};

use chancery::{Running, Server};
use chancery_client::{Builder, Client};
use chancery_core::{Artifact, Binding, Caller, Card, Event, EventStream, Result, Seq, Task, Version};
use chancery_engine::{Failure, Outcome, Turn, store::Memory};
use tokio::sync::Semaphore;

/// Nothing in these tests takes this long, unless it hangs.
pub const LONG: Duration = Duration::from_secs(30);

/// One way to call an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Way(pub Binding, pub Version);

/// Every way that is made of JSON.
pub const JSON_WAYS: [Way; 8] = [
    Way(Binding::JsonRpc, Version::V1_0),
    Way(Binding::HttpJson, Version::V1_0),
    Way(Binding::JsonRpc, Version::V0_3),
    Way(Binding::HttpJson, Version::V0_3),
    Way(Binding::JsonRpc, Version::V0_2),
    Way(Binding::JsonRpc, Version::V0_1),
    Way(Binding::JsonRpc, Version::Compact),
    Way(Binding::HttpJson, Version::Compact),
];

/// Every way that is not.
pub const GRPC_WAYS: [Way; 2] = [Way(Binding::Grpc, Version::V1_0), Way(Binding::Grpc, Version::V0_3)];

impl Way {
    /// A client that goes this way to the agent at a base URL.
    pub fn to(self, base: &str) -> Client {
        self.with(&Client::builder(), base)
    }

    /// A client that goes this way, made by this builder.
    pub fn with(self, builder: &Builder, base: &str) -> Client {
        let below = if self == Self(Binding::HttpJson, Version::Compact) { "/compact" } else { "" };
        builder.over(self.0, self.1, format!("{base}{below}")).unwrap()
    }
}

pub fn card() -> Card {
    Card::new("Obedient", "Does what it is told").skill("obey", "Does what the first word says").streaming(true).push_notifications(true)
}

/// Does what the first word of the message says.
pub async fn obedient(turn: Turn) -> Result<Outcome, Failure> {
    let (verb, rest) = turn.text().split_once(' ').unwrap_or((turn.text(), ""));
    match verb {
        "reply" => Ok(Outcome::message(rest)),
        "work" => {
            turn.status("Working on it").await?;
            Ok(Outcome::complete_with(Artifact::new(rest).id("result").named("result")))
        }
        "chunks" => {
            turn.status("Writing").await?;
            let mut artifact = turn.artifact("numbers");
            for number in 0..rest.parse::<u32>()? {
                artifact.push(format!("{number};")).await?;
            }
            artifact.finish().await?;
            Ok(Outcome::Completed)
        }
        "ask" => Ok(Outcome::ask(rest)),
        "fail" => Err(Failure::from("a secret detail").tell(rest)),
        "wait" => {
            turn.status("Waiting").await?;
            std::future::pending().await
        }
        _ => Ok(Outcome::complete_with(Artifact::new(format!("heard {}", turn.text())))),
    }
}

/// A server with the obedient agent.
pub async fn serve() -> Running {
    Server::new(card(), obedient).store(Memory::new()).bind("127.0.0.1:0").await.unwrap()
}

/// An agent that says a number for each permit it gets, up to the number in the message, and is done.
pub fn paced(gate: &Arc<Semaphore>) -> impl chancery_engine::Agent {
    let gate = gate.clone();
    move |turn: Turn| {
        let gate = gate.clone();
        async move {
            turn.status("Writing").await?;
            let mut artifact = turn.artifact("numbers");
            for number in 0..turn.text().parse::<u32>()? {
                gate.acquire().await?.forget();
                artifact.push(format!("{number};")).await?;
            }
            artifact.finish().await?;
            Ok::<_, Failure>(Outcome::Completed)
        }
    }
}

/// The next event of a stream.
pub async fn next(events: &mut EventStream) -> Option<Result<(Seq, Event)>> {
    let item = tokio::time::timeout(LONG, std::future::poll_fn(|cx| events.as_mut().poll_next(cx))).await.expect("the stream hangs");
    item.map(|item| item.map(|(seq, event)| (seq, event.into_event())))
}

/// All events of a stream.
pub async fn all(mut events: EventStream) -> Result<Vec<(Seq, Event)>> {
    let mut seen = Vec::new();
    while let Some(item) = next(&mut events).await {
        seen.push(item?);
    }
    Ok(seen)
}

/// The text that artifact events add up to.
pub fn written<'a>(events: impl IntoIterator<Item = &'a (Seq, Event)>) -> String {
    let mut text = String::new();
    for (_, event) in events {
        if let Event::Artifact(update) = event {
            if !update.append {
                text.clear();
            }
            text.extend(update.artifact.parts.iter().filter_map(chancery_core::Part::as_text));
        }
    }
    text
}

/// The text of a task's artifacts.
pub fn text_of(task: &Task) -> String {
    task.artifacts.iter().flat_map(|artifact| &artifact.parts).filter_map(chancery_core::Part::as_text).collect()
}

/// A caller that waits as long as anything in these tests may take.
pub fn caller() -> Caller {
    Caller::anonymous().deadline(std::time::Instant::now() + LONG)
}
