//! Several agents on one port, each at a path and with a card of its own, all on one database.
//!
//! `cargo run --example several`, then `curl localhost:7420/echo/.well-known/agent-card.json`

use chancery::{Card, Engine, Failure, Outcome, Server, Turn};

async fn echo(turn: Turn) -> Result<Outcome, Failure> {
    Ok(Outcome::reply(turn.text()))
}

async fn shout(turn: Turn) -> Result<Outcome, Failure> {
    Ok(Outcome::reply(turn.text().to_uppercase()))
}

#[tokio::main]
async fn main() -> chancery::Result<()> {
    Server::several()
        .agent("/echo", Engine::new(Card::new("Echo", "Repeats what it hears").skill("echo", "Says your words back"), echo))
        .agent("/shout", Engine::new(Card::new("Shout", "Repeats it louder").skill("shout", "Says your words in capitals"), shout))
        .serve("127.0.0.1:7420")
        .await
}

#[cfg(test)]
mod tests {
    use chancery::testing::Client;

    use super::*;

    #[tokio::test]
    async fn each_agent_answers_in_its_own_way() -> chancery::Result<()> {
        Client::new(echo).send("hi").await?.expect_reply("hi");
        Client::new(shout).send("hi").await?.expect_reply("HI");
        Ok(())
    }
}
