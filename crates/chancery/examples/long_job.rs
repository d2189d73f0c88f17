//! A job that outlives its callers: it reports progress, can be canceled, and tells webhooks.
//!
//! `cargo run --example long_job`, send with `"configuration": {"returnImmediately": true,
//! "taskPushNotificationConfig": {"url": "http://127.0.0.1:9000/hook"}}`, and go away. The server
//! listens on loopback, so webhooks there are allowed; see docs/guide/push.md.

use std::time::Duration;

use chancery::{Card, Engine, Failure, OnRestart, Outcome, Server, Turn};

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
    let agent = Engine::new(card, dredge).on_restart(OnRestart::Rerun).turn_timeout(Duration::from_secs(60));
    Server::several().agent("/", agent).serve("127.0.0.1:7420").await
}
