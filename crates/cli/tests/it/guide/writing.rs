//! `docs/guide/writing-an-agent.md`: its last agent, and the commands that call it.

use chancery::{Agent, Card, Failure, Memory, Outcome, Server, Turn};

use super::{Guide, has};
use crate::process::untested;

// From here on as it stands in the guide.
struct Harbor {
    name: &'static str,
}

impl Agent for Harbor {
    async fn run(&self, turn: Turn) -> Result<Outcome, Failure> {
        if turn.text().is_empty() {
            return Ok(Outcome::ask("Which ship?"));
        }
        turn.status("Looking for the pilot").await?;
        let mut orders = turn.artifact("orders.txt");
        for order in ["slow ahead", "hard to port", "let go anchor"] {
            orders.push(format!("{}, {order}!\n", turn.text())).await?;
        }
        orders.push(format!("Welcome to {}.\n", self.name)).await?;
        orders.finish().await?;
        Ok(Outcome::Completed)
    }
}
// Until here.

// And from here on as it stands in the guide.
#[cfg(test)]
mod tests {
    use chancery::testing::Client;

    #[tokio::test]
    async fn a_ship_without_a_name_is_asked_for_it() -> chancery::Result<()> {
        Client::new(super::Harbor { name: "Port 7" }).send("").await?.expect_input_required("Which ship?");
        Ok(())
    }
}
// Until here.

#[tokio::test(flavor = "multi_thread")]
async fn the_agent_of_the_guide_answers_its_commands() {
    if !has(&["bash"]) {
        return untested("bash is needed to run the guide to agents");
    }
    let page = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/guide/writing-an-agent.md")).unwrap();
    let pieces: Vec<_> =
        include_str!("writing.rs").split("stands in the guide.\n").skip(1).map(|rest| rest.split("// Until").next().unwrap()).collect();
    assert!(
        pieces.len() > 1 && pieces[..2].iter().all(|piece| page.contains(piece)),
        "the agent of the test is another one than that of the guide"
    );
    let card = Card::new("Harbor", "Brings ships in").skill("pilot", "Gives orders to a ship");
    let running = Server::new(card, Harbor { name: "Port 7" }).store(Memory::new()).bind("127.0.0.1:0").await.unwrap();
    let address = running.local_addr().to_string();
    let ran = tokio::task::spawn_blocking(move || Guide::new("writing-an-agent.md").replace("localhost:7420", address).run_all());
    assert_eq!(ran.await.unwrap(), 3, "the guide has other commands now");
    running.shutdown().await;
}
