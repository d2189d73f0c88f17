//! An agent that asks back: a booking takes several turns, and the task remembers them.
//!
//! `cargo run --example booking`, send "book", then send a number with the `taskId` of the answer.

use chancery::{Artifact, Card, Failure, Outcome, Role, Server, Turn};

async fn book(turn: Turn) -> Result<Outcome, Failure> {
    // What the client said so far, this turn included.
    let said: Vec<String> = turn.history().iter().filter(|message| message.role == Role::User).map(|message| message.text()).collect();
    match said.len() {
        0 => Ok(Outcome::ask("For how many nights?")),
        1 if turn.text().trim().parse::<u32>().is_err() => Ok(Outcome::ask("A number, please: for how many nights?")),
        _ => {
            let nights: u32 = turn.text().trim().parse().map_err(|_| Failure::new("That is no number of nights."))?;
            Ok(Outcome::complete_with(Artifact::new(format!("Booked for {nights} nights.")).named("booking.txt")))
        }
    }
}

#[tokio::main]
async fn main() -> chancery::Result<()> {
    let card = Card::new("Booking", "Books a berth").skill("book", "Books a berth for some nights");
    Server::new(card, book).serve("127.0.0.1:7420").await
}

#[cfg(test)]
mod tests {
    use chancery::testing::Client;

    use super::*;

    #[tokio::test]
    async fn a_booking_takes_a_number_of_nights() -> chancery::Result<()> {
        let agent = Client::new(book);
        let asked = agent.send("book").await?;
        asked.expect_input_required("For how many nights?");
        let again = agent.send(asked.follow_up("a few")).await?;
        again.expect_input_required("A number, please: for how many nights?");
        agent.send(again.follow_up("3")).await?.expect_completed().expect_artifact("Booked for 3 nights.");
        Ok(())
    }
}
