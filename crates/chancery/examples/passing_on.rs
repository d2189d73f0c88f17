//! Three agents in three processes, started by one command. Triage lets the ledger do a part of its work, and hands
//! refunds over to billing; closing accounts is out of its reach.
//!
//! `cargo run --example passing_on`, then `a2a send -a localhost:7420 balance`, and `refund 17`, and `close account 31`.

use std::{
    io::Read as _,
    process::{Command, Stdio},
};

use chancery::{
    Card, Client, Engine, Failure, Handoff, Outcome, Passing, Server, Turn,
    core::{Object, Peers},
    delegation::{ReachPolicy, Step},
};

const LEDGER: &str = "http://127.0.0.1:7421";
const BILLING: &str = "http://127.0.0.1:7422";

async fn triage(turn: Turn) -> Result<Outcome, Failure> {
    match turn.text().split(' ').next() {
        Some("refund") => Ok(Outcome::transfer(Handoff::to(BILLING).reason("refunds are for billing"))),
        Some("close") => match turn.delegate(LEDGER, turn.text()).skill("close").await {
            Ok(done) => Ok(Outcome::reply(done.text())),
            Err(refused) => Ok(Outcome::reply(format!("That is not mine to do: {refused}"))),
        },
        _ => {
            let balance = turn.delegate(LEDGER, "What is left?").skill("balance").await?;
            Ok(Outcome::reply(format!("You have {}.", balance.text())))
        }
    }
}

/// Only balances may be asked for.
struct ReadOnly;

impl ReachPolicy for ReadOnly {
    fn check(&self, step: &Step<'_>) -> Result<Option<Object>, Object> {
        let beyond: Vec<_> = step.requires.iter().filter(|skill| *skill != "balance").cloned().collect();
        if beyond.is_empty() { Ok(None) } else { Err(Object::from_iter([("missing".to_owned(), beyond.into())])) }
    }
}

async fn ledger(turn: Turn) -> Result<Outcome, Failure> {
    turn.status("Adding up").await?;
    Ok(Outcome::complete_with(chancery::Artifact::new("31 crowns")))
}

async fn billing(turn: Turn) -> Result<Outcome, Failure> {
    turn.status("Looking for the invoice").await?;
    let from = turn.handoff().map(|context| context.originating_agent).unwrap_or_default();
    Ok(Outcome::complete_with(chancery::Artifact::new(format!("Paid back, as {from} wished."))))
}

#[tokio::main]
async fn main() -> chancery::Result<()> {
    match std::env::args().nth(1).as_deref() {
        Some("ledger") => {
            end_with_parent();
            let card = Card::new("Ledger", "Knows what is left").skill("balance", "Says it").skill("close", "Closes an account");
            Server::new(card, ledger).data("ledger").serve("127.0.0.1:7421").await
        }
        Some("billing") => {
            end_with_parent();
            let card = Card::new("Billing", "Pays back").skill("refund", "Pays back what was paid");
            Server::new(card, billing).data("billing").serve("127.0.0.1:7422").await
        }
        _ => {
            let _others = [start("ledger")?, start("billing")?];
            let card = Card::new("Triage", "Knows who knows").skill("triage", "Finds the right agent");
            let peers: std::sync::Arc<dyn Peers> = std::sync::Arc::new(Client::builder().peers());
            let agent = Engine::new(card, triage).passing(Passing::new(peers).policy(ReadOnly));
            Server::several().agent("/", agent).data("triage").serve("127.0.0.1:7420").await
        }
    }
}

fn start(name: &str) -> chancery::Result<std::process::Child> {
    let program = std::env::current_exe().map_err(chancery::Error::internal)?;
    Command::new(program).arg(name).stdin(Stdio::piped()).spawn().map_err(chancery::Error::internal)
}

/// Whoever started this process holds the other end of its input.
fn end_with_parent() {
    std::thread::spawn(|| {
        let ended = std::io::stdin().read_to_end(&mut Vec::new());
        std::process::exit(i32::from(ended.is_err()));
    });
}
