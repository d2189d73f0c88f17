//! Tasks that an agent hands over to another one.

use chancery_core::{Artifact, Card};
use chancery_engine::{
    Engine, Failure, Outcome, Turn,
    pass::{Handoff, Passing},
    store::Memory,
};
use chancery_server::{Running, Server};

use super::{Desk, field};

async fn billing() -> Running {
    let agent = |turn: Turn| async move {
        turn.status("Looking").await?;
        Ok::<_, Failure>(Outcome::artifact(Artifact::new(format!("paid back {}", turn.text()))))
    };
    let card = Card::new("Billing", "Pays back").skill("refund", "Pays back").streaming(true);
    Server::new(card, agent).store(Memory::new()).bind("127.0.0.1:0").await.unwrap()
}

/// Asks first, so that the task is there when it is handed over.
async fn triage(to: String) -> Running {
    let agent = move |turn: Turn| {
        let to = to.clone();
        async move {
            match turn.history().is_empty() {
                true => Ok::<_, Failure>(Outcome::ask("Which invoice?")),
                false => Ok(Outcome::transfer(Handoff::to(to).reason("a refund"))),
            }
        }
    };
    let peers = std::sync::Arc::new(chancery_client::Client::builder().peers());
    let card = Card::new("Triage", "Knows who knows").skill("triage", "Finds the agent").streaming(true);
    let agent = Engine::new(card, agent).passing(Passing::new(peers));
    Server::several().agent("/", agent).store(Memory::new()).bind("127.0.0.1:0").await.unwrap()
}

/// HO-60: elsewhere only when the user says so; the last lines say where the task is.
#[test]
fn a_task_that_is_handed_over_is_followed_when_the_user_says_so() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let billing = runtime.block_on(billing());
    let triage = runtime.block_on(triage(billing.url().to_owned()));
    let desk = Desk::new();
    for flags in [&["--follow-transfer"][..], &["--follow-transfer", "--stream"], &[], &["--stream"]] {
        let asked = desk.ok(&["send", "-a", triage.url(), "refund"]);
        let arguments = [&["send", "-a", triage.url(), "--task-id", field(&asked, "Task ID"), "17"], flags].concat();
        let ran = desk.run(&arguments);
        assert_eq!(ran.code, 0, "{arguments:?} {ran:?}");
        if flags.contains(&"--follow-transfer") {
            assert!(ran.out.contains("paid back 17"), "{arguments:?} {ran:?}");
            assert!(ran.err.contains(billing.url()), "{ran:?}");
            assert!(field(&ran.out, "Resume with").contains(billing.url()), "{ran:?}");
        } else {
            assert!(!ran.out.contains("paid back"), "{arguments:?} {ran:?}");
            assert!(field(&ran.out, "Transferred to").starts_with(billing.url()), "{ran:?}");
        }
    }
    runtime.block_on(async { tokio::join!(triage.shutdown(), billing.shutdown()) });
}
