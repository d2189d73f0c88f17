//! Files in, files out: it answers every file with its size, and sends the bytes back in upper case.
//!
//! `cargo run --example files`, then
//! `curl localhost:7420/message:send -H 'A2A-Version: 1.0' -H 'Content-Type: application/a2a+json'
//!  -d '{"message":{"messageId":"1","role":"ROLE_USER","parts":[{"raw":"aGVsbG8=","filename":"hello.txt","mediaType":"text/plain"}]}}'`

use chancery::{Artifact, Card, Content, Failure, Outcome, Part, Server, Turn};

async fn louder(turn: Turn) -> Result<Outcome, Failure> {
    let mut answer = Artifact::new("").named("louder");
    answer.parts.clear();
    for part in &turn.message().parts {
        if let Content::Raw(bytes) = &part.content {
            answer.parts.push(Part::text(format!("{}: {} bytes", part.filename, bytes.len())));
            answer.parts.push(Part::raw(bytes.to_ascii_uppercase()).filename(part.filename.clone()).media_type(part.media_type.clone()));
        }
    }
    if answer.parts.is_empty() {
        return Ok(Outcome::ask("Send me a file."));
    }
    Ok(Outcome::artifact(answer))
}

#[tokio::main]
async fn main() -> chancery::Result<()> {
    let card = Card::new("Louder", "Says files louder").skill("louder", "Gives files back in upper case").takes(["*/*"]).gives(["*/*"]);
    Server::new(card, louder).serve("127.0.0.1:7420").await
}
