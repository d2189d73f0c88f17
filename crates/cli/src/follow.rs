//! Going on with a task where it was handed over to.

use std::io::{BufRead as _, IsTerminal as _, Write as _};

use chancery_client::{Follow, Handoff, Journey};
use chancery_core::{SendReply, Task};

use crate::{
    connect::Agent,
    context::Context,
    print::{live::Screen, text::clean},
    report,
    trouble::Trouble,
    wait::{Mode, Wait},
};

/// Where a task is in the end: the agent as the user would name it, and what it answered.
pub(crate) struct Followed {
    pub(crate) context: Context,
    pub(crate) reply: SendReply,
}

/// How far tasks are followed: anywhere when the user says so, on a terminal where the user agrees, else on the same origin.
pub(crate) fn policy(anywhere: bool) -> Follow {
    match anywhere {
        true => Follow::any(),
        false if std::io::stdin().is_terminal() && std::io::stderr().is_terminal() => Follow::ask(asked),
        false => Follow::same_origin(),
    }
}

async fn asked(handoff: Handoff) -> bool {
    let question = move || {
        let mut words = std::io::stderr();
        let line = format!("The task was {}. Go on there? [y/N] ", clean(&handoff.to_string()).replace('\n', " "));
        if words.write_all(line.as_bytes()).and_then(|()| words.flush()).is_err() {
            return false;
        }
        let mut answer = String::new();
        let read = std::io::stdin().lock().read_line(&mut answer);
        read.is_ok() && matches!(answer.trim(), "y" | "Y" | "yes")
    };
    tokio::task::spawn_blocking(question).await.unwrap_or(false)
}

/// Follows a task that was handed over, from agent to agent, until it is done or wants something. `None` when it is still where it was.
pub(crate) async fn follow(
    given: &Context,
    agent: &Agent,
    task: Task,
    mode: Mode,
    screen: &mut dyn Screen,
) -> Result<Option<Followed>, Trouble> {
    let mut journey = Journey::new(&agent.client, agent.caller(given), task.id.clone());
    let mut followed: Option<Followed> = None;
    let mut task = task;
    while let Some(transfer) = report::transfer(&task) {
        let mut wait = Wait::new(given, agent)?;
        let handoff = wait.call(journey.handoff(&transfer)).await.map_err(|halt| wait.halted(halt))?;
        if !handoff.followed {
            break;
        }
        given.notes.note(&clean(&handoff.to_string()));
        let reached = wait.call(journey.follow(&transfer)).await.map_err(|halt| wait.halted(halt))?;
        let reached = reached.map_err(|error| agent.trouble(given, error).or_hint(|| report::there(&transfer)))?;
        let there = agent.moved(journey.head().client(), transfer.grant.as_ref());
        let context = given.with_agent(&report::card_url(&transfer))?;
        let mut wait = Wait::new(&context, &there)?;
        let reply = wait.resume(reached, mode, None, screen).await.map_err(|halt| wait.halted(halt))?;
        followed = match reply {
            SendReply::Task(reached) => {
                task = (*reached).clone();
                Some(Followed { context, reply: SendReply::Task(reached) })
            }
            reply => return Ok(Some(Followed { context, reply })),
        };
    }
    Ok(followed)
}
