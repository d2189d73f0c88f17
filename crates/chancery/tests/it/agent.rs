//! The agent of all scenarios. Its first word says what it does.

use chancery::{Artifact, Card, Failure, Outcome, Part, Turn};
use serde_json::json;

/// The agent's card.
pub(crate) fn card() -> Card {
    Card::new("Clerk", "Does what the first word says").skill("obey", "Does what it is told").takes(["*/*"]).gives(["*/*"])
}

/// Does what the first word says; anything else is answered with an artifact.
pub(crate) async fn clerk(turn: Turn) -> Result<Outcome, Failure> {
    let (verb, rest) = turn.text().split_once(' ').unwrap_or((turn.text(), ""));
    match verb {
        // A direct message, without a task.
        "say" => Ok(Outcome::reply(rest)),
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
        // Text, data and a file.
        "parts" => {
            let mut artifact = Artifact::new("text").named("mixed");
            artifact.parts.push(Part::data(json!({"berth": 7})));
            artifact.parts.push(Part::raw(vec![0_u8, 159, 146, 150]).media_type("application/octet-stream").filename("seal.bin"));
            Ok(Outcome::artifact(artifact))
        }
        // What came with the verb, as it came.
        "back" => {
            let mut artifact = Artifact::new("").named("back");
            artifact.parts = turn.message().parts[1..].to_vec();
            Ok(Outcome::artifact(artifact))
        }
        _ => Ok(Outcome::artifact(Artifact::new(turn.text()).named("echo"))),
    }
}
