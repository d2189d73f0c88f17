//! An agent that streams: it says what it is doing, and writes its result line by line.
//!
//! `cargo run --example writer`, then
//! `curl -N localhost:7420/message:stream -H 'A2A-Version: 1.0' -H 'Content-Type: application/a2a+json'
//!  -d '{"message":{"messageId":"1","role":"ROLE_USER","parts":[{"text":"the tide"}]}}'`

use chancery::{Agent, Card, Failure, Outcome, Server, Turn};

struct Writer {
    lines: usize,
}

impl Agent for Writer {
    async fn run(&self, turn: Turn) -> Result<Outcome, Failure> {
        if turn.text().is_empty() {
            return Ok(Outcome::ask("What shall I write about?"));
        }
        turn.status("Writing").await?;
        let mut poem = turn.artifact("poem.txt");
        for line in 1..=self.lines {
            poem.push(format!("{} {}\n", turn.text(), "comes and goes, ".repeat(line))).await?;
            turn.progress(line as f64 / self.lines as f64).await?;
        }
        poem.finish().await?;
        Ok(Outcome::Completed)
    }
}

#[tokio::main]
async fn main() -> chancery::Result<()> {
    let card = Card::new("Writer", "Writes a few lines about anything").skill("write", "Writes lines");
    Server::new(card, Writer { lines: 4 }).serve("127.0.0.1:7420").await
}

#[cfg(test)]
mod tests {
    use chancery::testing::Client;

    use super::*;

    #[tokio::test]
    async fn lines_are_written_one_by_one() -> chancery::Result<()> {
        let agent = Client::new(Writer { lines: 2 });
        agent.send("").await?.expect_input_required("What shall I write about?");
        let mut events = agent.stream("The tide").await?;
        events.expect_working("Writing").await;
        events.expect_artifact("The tide comes and goes, \n").await;
        events.expect_artifact("The tide comes and goes, \nThe tide comes and goes, comes and goes, \n").await;
        events.expect_completed().await;
        Ok(())
    }
}
