//! Files in, files out: it answers every file with its size, and sends the bytes back in upper case.
//!
//! `cargo run --example files`, then
//! `curl localhost:7420/message:send -H 'A2A-Version: 1.0' -H 'Content-Type: application/a2a+json'
//!  -d '{"message":{"messageId":"1","role":"ROLE_USER","parts":[{"raw":"aGVsbG8=","filename":"hello.txt","mediaType":"text/plain"}]}}'`

use chancery::{Artifact, Card, Content, Failure, Outcome, Part, Server, Turn};

async fn louder(turn: Turn) -> Result<Outcome, Failure> {
    let mut answer = Vec::new();
    for part in &turn.message().parts {
        if let Content::Raw(bytes) = &part.content {
            answer.push(Part::text(format!("{}: {} bytes", part.filename, bytes.len())));
            answer.push(Part::raw(bytes.to_ascii_uppercase()).filename(part.filename.clone()).media_type(part.media_type.clone()));
        }
    }
    if answer.is_empty() {
        return Ok(Outcome::ask("Send me a file."));
    }
    Ok(Outcome::complete_with(Artifact::of(answer).named("louder")))
}

#[tokio::main]
async fn main() -> chancery::Result<()> {
    let card = Card::new("Louder", "Says files louder").skill("louder", "Gives files back in upper case").takes(["*/*"]).gives(["*/*"]);
    Server::new(card, louder).serve("127.0.0.1:7420").await
}

#[cfg(test)]
mod tests {
    use chancery::{Message, testing::Client};

    use super::*;

    #[tokio::test]
    async fn files_come_back_in_upper_case() -> chancery::Result<()> {
        let agent = Client::new(louder);
        agent.send("no file").await?.expect_input_required("Send me a file.");
        let file = Message::user(Part::raw("hello").filename("hello.txt"));
        let reply = agent.send(file).await?;
        reply.expect_completed().expect_artifact("hello.txt: 5 bytes");
        let parts = reply.task().map(|task| task.artifacts[0].parts.clone()).unwrap_or_default();
        assert_eq!(parts[1], Part::raw("HELLO").filename("hello.txt"));
        Ok(())
    }
}
