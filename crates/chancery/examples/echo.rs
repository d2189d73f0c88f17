//! The smallest agent: it says your words back.
//!
//! `cargo run --example echo`, then
//! `curl localhost:7420/message:send -H 'A2A-Version: 1.0' -H 'Content-Type: application/a2a+json'
//!  -d '{"message":{"messageId":"1","role":"ROLE_USER","parts":[{"text":"hi"}]}}'`

use chancery::{Card, Failure, Outcome, Server, Turn};

async fn echo(turn: Turn) -> Result<Outcome, Failure> {
    Ok(Outcome::reply(turn.text()))
}

#[tokio::main]
async fn main() -> chancery::Result<()> {
    let card = Card::new("Echo", "Repeats what it hears").skill("echo", "Says your words back");
    Server::new(card, echo).serve("127.0.0.1:7420").await
}

#[cfg(test)]
mod tests {
    use chancery::testing::Client;

    use super::*;

    #[tokio::test]
    async fn words_come_back() -> chancery::Result<()> {
        Client::new(echo).send("hi").await?.expect_reply("hi");
        Ok(())
    }
}
