//! A client: it calls an agent, watches it work, answers its question, and cancels a task.
//!
//! `cargo run --example writer` in one terminal, `cargo run --example client` in another; the URL of another agent can be given.

#![allow(clippy::print_stdout, reason = "it shows what it hears")]

use chancery::TaskState;

#[tokio::main]
async fn main() -> chancery::Result<()> {
    let url = std::env::args().nth(1).unwrap_or_else(|| "http://127.0.0.1:7420".to_owned());
    let agent = chancery::connect(&url).await?;
    println!("{} speaks {} over {}", agent.url(), agent.version(), agent.binding());

    // One message, and the answer when it is ready.
    let reply = agent.send("the tide").await?;
    println!("{}", reply.text());

    // The same, as it happens. A cut connection goes on where it was cut.
    let mut events = agent.stream("the moon").await?;
    while let Some(event) = events.try_next().await? {
        println!("{event}");
    }

    // A question of the agent, and the answer to the same task.
    let asked = agent.send("").await?;
    if let (TaskState::InputRequired, Some(task)) = (asked.state(), asked.task()) {
        println!("{}", asked.text());
        let answer = agent.request("the harbor").to_task(task.id.clone()).history_length(0);
        println!("{}", answer.send().await?.text());
    }

    // A task that is not wanted any more.
    let asked = agent.send("").await?;
    if let Some(task) = asked.task() {
        println!("{}", agent.cancel(task.id.clone()).await?.status.state);
    }
    Ok(())
}
