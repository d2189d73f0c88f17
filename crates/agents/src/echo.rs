//! The echo agent: gives back what it gets.

use chancery_core::Artifact;
use chancery_engine::{Failure, Outcome, Turn};

/// Gives back every part of the message as the result.
pub(crate) async fn echo(turn: Turn) -> Result<Outcome, Failure> {
    let mut artifact = Artifact::new("").named("echo");
    artifact.parts.clone_from(&turn.message().parts);
    Ok(Outcome::complete_with(artifact))
}
