//! The agent of all scenarios. Its first word says what it does.

use std::sync::OnceLock;

use chancery::{Artifact, Card, Failure, Handoff, Outcome, Part, Turn};
use serde_json::json;

/// Where two other agents of this kind are, to whom tasks can be handed over.
pub(crate) static OTHERS: OnceLock<[String; 2]> = OnceLock::new();

/// The agent's card.
pub(crate) fn card() -> Card {
    Card::new("Clerk", "Does what the first word says").skill("obey", "Does what it is told").takes(["*/*"]).gives(["*/*"])
}

/// Does what the first word says; anything else is answered with an artifact.
pub(crate) async fn clerk(turn: Turn) -> Result<Outcome, Failure> {
    let (verb, rest) = turn.text().split_once(' ').unwrap_or((turn.text(), ""));
    match verb {
        // A direct message, without a task.
        "say" => Ok(Outcome::message(rest)),
        // A status, then chunks of one artifact.
        "stream" => {
            turn.status("Counting").await?;
            let mut numbers = turn.artifact("numbers");
            for number in 1..=rest.trim().parse::<u32>()? {
                numbers.push(format!("{number};")).await?;
                tokio::task::yield_now().await;
            }
            numbers.finish().await?;
            Ok(Outcome::Completed)
        }
        // A question that ends the turn; the next message completes the task.
        "ask" => Ok(Outcome::ask("Which quay?")),
        // Waits until it is canceled.
        "wait" => {
            turn.status("Waiting").await?;
            turn.canceled().await;
            Ok(Outcome::Completed)
        }
        "fail" => Err(Failure::new("The crane is broken.")),
        "reject" => Ok(Outcome::reject("Not on Sundays.")),
        "login" => Ok(Outcome::require_auth("Show your papers.")),
        // Hands the rest over, twice.
        "pass" => Ok(Outcome::transfer(Handoff::to(other(0)?).part(format!("again {rest}")))),
        "again" => Ok(Outcome::transfer(Handoff::to(other(1)?).part(rest))),
        // Text, data and a file.
        "parts" => {
            let mut artifact = Artifact::new("text").named("mixed");
            artifact.parts.push(Part::data(json!({"berth": 7})));
            artifact.parts.push(Part::raw(vec![0_u8, 159, 146, 150]).media_type("application/octet-stream").filename("seal.bin"));
            Ok(Outcome::complete_with(artifact))
        }
        // What came with the verb, as it came.
        "back" => {
            let mut artifact = Artifact::new("").named("back");
            artifact.parts = turn.message().parts[1..].to_vec();
            Ok(Outcome::complete_with(artifact))
        }
        _ => Ok(Outcome::complete_with(Artifact::new(turn.text()).named("echo"))),
    }
}

fn other(place: usize) -> Result<String, Failure> {
    OTHERS.get().map(|others| others[place].clone()).ok_or_else(|| Failure::new("There is nobody else."))
}
