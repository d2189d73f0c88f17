//! Tasks that an agent hands over to another one.

use chancery::{Running, Server};
use chancery_core::{Artifact, Card};
use chancery_engine::{
    Engine, Failure, Outcome, Turn,
    delegation::{Handoff, Passing},
    store::Memory,
};

use super::{Sandbox, field, terminal::Terminal};

async fn billing() -> Running {
    let agent = |turn: Turn| async move {
        turn.status("Looking").await?;
        Ok::<_, Failure>(Outcome::complete_with(Artifact::new(format!("paid back {}", turn.text()))))
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
    let sandbox = Sandbox::new();
    for flags in [&["--follow-transfer"][..], &["--follow-transfer", "--stream"], &[], &["--stream"]] {
        let asked = sandbox.ok(&["send", "-a", triage.url(), "refund"]);
        let arguments = [&["send", "-a", triage.url(), "--task-id", field(&asked, "Task ID"), "17"], flags].concat();
        let ran = sandbox.run(&arguments);
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

/// An agent that asks before it pays back.
async fn asking() -> Running {
    let agent = |turn: Turn| async move {
        turn.status("Looking").await?;
        let account = turn.require_input("Which account?").await?;
        Ok::<_, Failure>(Outcome::complete_with(Artifact::new(format!("paid {} to {}", turn.text(), account.text()))))
    };
    let card = Card::new("Billing", "Pays back").skill("refund", "Pays back").streaming(true);
    Server::new(card, agent).store(Memory::new()).bind("127.0.0.1:0").await.unwrap()
}

/// HO-60, HO-62: a conversation goes on with whoever has the task, says so in one line, and comes back with a new conversation. Without a
/// word about it, it goes nowhere else.
#[test]
fn a_chat_goes_on_where_the_task_was_handed_over_to() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let billing = runtime.block_on(asking());
    let triage = runtime.block_on(triage(billing.url().to_owned()));
    let sandbox = Sandbox::new();
    for flags in [&["--follow-transfer"][..], &["--follow-transfer", "--no-stream"]] {
        let arguments = [&["chat", "-a", triage.url()], flags].concat();
        let ran = sandbox.run_with("refund\n17\nDE31\n/card\n/new\nhello\n/card\n", &arguments);
        assert_eq!(ran.code, 0, "{arguments:?} {ran:?}");
        assert!(ran.out.contains("Which invoice?") && ran.out.contains("Which account?"), "{ran:?}");
        assert!(ran.out.contains("paid 17 to DE31"), "{ran:?}");
        assert_eq!(ran.err.matches(&format!("handed over to {}", billing.url())).count(), 1, "{ran:?}");
        // The card of the one who has the task, and of the first one again after that.
        let (there, home) = (ran.out.find("Name: Billing").unwrap(), ran.out.rfind("Name: Triage").unwrap());
        assert!(there < home, "{ran:?}");
        assert!(field(&ran.out, "Resume with").contains(triage.url()), "{ran:?}");
    }
    let ran = sandbox.run_with("refund\n17\n", &["chat", "-a", triage.url(), "--follow-transfer"]);
    let line = field(&ran.out, "Resume with").to_owned();
    assert!(line.contains(billing.url()) && line.contains("--task-id"), "{ran:?}");
    let words: Vec<_> = line.split(' ').skip(1).collect();
    let ran = sandbox.run_with("DE32\n", &words);
    assert!(ran.code == 0 && ran.out.contains("paid 17 to DE32"), "{ran:?}");

    let ran = sandbox.run_with("refund\n17\n", &["chat", "-a", triage.url()]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(!ran.out.contains("Which account?") && ran.err.contains("handed over to another agent"), "{ran:?}");
    runtime.block_on(async { tokio::join!(triage.shutdown(), billing.shutdown()) });
}

/// HO-60: somebody at a terminal is asked before the conversation goes to another origin.
#[test]
fn a_chat_at_a_terminal_asks_before_it_goes_elsewhere() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let billing = runtime.block_on(asking());
    let triage = runtime.block_on(triage(billing.url().to_owned()));
    let sandbox = Sandbox::new();
    let mut terminal = Terminal::new(&sandbox, &format!("a2a chat -a {}", triage.url()), &[("NO_COLOR", "1"), ("CI", "1")]);
    for (answer, goes) in [("n", false), ("y", true)] {
        terminal.until("you> ");
        terminal.say("refund");
        terminal.until("triage> Which invoice?");
        terminal.until("you> ");
        terminal.say("17");
        terminal.until("Go on there? [y/N] ");
        terminal.say(answer);
        if goes {
            terminal.until("billing> Which account?");
            terminal.until("you> ");
            terminal.say("DE31");
            terminal.until("billing> paid 17 to DE31");
        } else {
            terminal.until("[handed over to ");
        }
    }
    terminal.until("you> ");
    terminal.press("\u{4}");
    terminal.until("Resume with: a2a chat");
    assert_eq!(terminal.end().0, 0);
    runtime.block_on(async { tokio::join!(triage.shutdown(), billing.shutdown()) });
}
