//! A job that outlives its callers: it reports progress, can be canceled, and tells webhooks.
//!
//! `cargo run --example long_job`, send with `"configuration": {"returnImmediately": true,
//! "taskPushNotificationConfig": {"url": "http://127.0.0.1:9000/hook"}}`, and go away. The server
//! listens on loopback, so webhooks there are allowed; see docs/guide/push.md.

use std::time::Duration;

use chancery::{Card, Failure, OnRestart, Outcome, Server, Turn};

async fn dredge(turn: Turn) -> Result<Outcome, Failure> {
    // A process that died is no reason to give up: this turn may be a second try.
    if turn.attempt() > 1 {
        turn.status("Starting again").await?;
    }
    let mut log = turn.artifact("log.txt");
    for meter in 1..=20_u32 {
        tokio::time::sleep(Duration::from_millis(100)).await;
        log.push(format!("{meter} m\n")).await?;
        turn.progress(f64::from(meter) / 20.0).await?;
    }
    log.finish().await?;
    Ok(Outcome::Completed)
}

#[tokio::main]
async fn main() -> chancery::Result<()> {
    let card = Card::new("Dredger", "Deepens the channel").skill("dredge", "Deepens the channel by twenty meters");
    Server::new(card, dredge).on_restart(OnRestart::Rerun).turn_timeout(Duration::from_secs(60)).serve("127.0.0.1:7420").await
}

#[cfg(test)]
mod tests {
    use chancery::{Engine, testing::Client};

    use super::*;

    /// The agent sleeps by the clock of the runtime, which does not wait for anybody here.
    #[tokio::test(start_paused = true)]
    async fn the_channel_gets_deeper_by_the_meter() -> chancery::Result<()> {
        let mut events = Client::new(dredge).stream("go").await?;
        events.expect_artifact("1 m\n2 m\n").await;
        events.expect_completed().await;
        Ok(())
    }

    #[tokio::test]
    async fn a_job_that_takes_too_long_fails() -> chancery::Result<()> {
        let limit = Duration::from_secs(60);
        let agent = Client::of(Engine::new(Card::new("Dredger", "Deepens the channel"), dredge).turn_timeout(limit));
        let mut events = agent.stream("go").await?;
        events.expect_artifact("1 m\n").await;
        agent.advance(limit).await;
        events.expect_failed("The agent took too long.").await;
        Ok(())
    }

    #[tokio::test]
    async fn a_job_can_be_canceled() -> chancery::Result<()> {
        let agent = Client::new(dredge);
        let mut events = agent.stream("go").await?;
        events.expect_artifact("1 m\n").await;
        agent.cancel(events.task_id()).await?;
        events.expect_canceled().await;
        Ok(())
    }
}
