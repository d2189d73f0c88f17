//! What a command about a task prints at its end: the result, what became of it, and how to go on.

use chancery_core::{SendReply, Task, TaskState};
use chancery_wire::transfer::Transfer;

use crate::{
    context::Context,
    print::{
        Text,
        task::{self, Detail},
    },
    resume::{self, Known, quoted},
    trouble::Trouble,
};

/// Prints the answer to a message.
pub(crate) fn reply(context: &Context, reply: &SendReply, detail: Detail) -> Result<(), Trouble> {
    let known = known(reply);
    context.printer.result(reply, |text| {
        match reply {
            SendReply::Task(done) => task::task(text, done, detail),
            SendReply::Message(message) => task::message(text, message),
        }
        go_on(context, text, &known, reply.task());
    })?;
    outcome(context, &known, reply.task());
    Ok(())
}

/// Prints a task.
pub(crate) fn task(context: &Context, done: &Task, detail: Detail) -> Result<(), Trouble> {
    let known = of(done);
    context.printer.result(done, |text| {
        task::task(text, done, detail);
        go_on(context, text, &known, Some(done));
    })?;
    outcome(context, &known, Some(done));
    Ok(())
}

/// Ends what was shown event by event.
pub(crate) fn end(context: &Context, reply: &SendReply) -> Result<(), Trouble> {
    let known = known(reply);
    if !context.printer.is_json() {
        let mut text = Text::default();
        go_on(context, &mut text, &known, reply.task());
        context.printer.text(&text)?;
    }
    outcome(context, &known, reply.task());
    Ok(())
}

/// What is known of a task.
pub(crate) fn of(task: &Task) -> Known {
    Known { task: Some(task.id.clone()), context: Some(task.context_id.clone()), state: task.status.state }
}

/// What is known from an answer.
pub(crate) fn known(reply: &SendReply) -> Known {
    match reply {
        SendReply::Task(task) => of(task),
        SendReply::Message(message) => Known { task: None, context: message.context_id.clone(), state: TaskState::Completed },
    }
}

fn go_on(context: &Context, text: &mut Text, known: &Known, task: Option<&Task>) {
    let command = match task.and_then(transfer) {
        Some(transfer) => {
            text.field("Transferred to", &format!("{} task {}", transfer.agent_endpoint, transfer.task_id));
            Some(there(&transfer))
        }
        None => resume::command(&context.settings, known),
    };
    if let Some(command) = command {
        text.field("Resume with", &command);
    }
}

/// To whom a task was handed over, if it was.
pub(crate) fn transfer(task: &Task) -> Option<Transfer> {
    Transfer::of(&task.metadata).ok().flatten()
}

/// The command that goes on with a task at the agent that has it now.
pub(crate) fn there(transfer: &Transfer) -> String {
    format!("a2a task get -a {} --wait {}", quoted(&card_url(transfer)), quoted(transfer.task_id.as_str()))
}

/// Where the card of the agent is that has the task now.
pub(crate) fn card_url(transfer: &Transfer) -> String {
    let below = || format!("{}/.well-known/agent-card.json", transfer.agent_endpoint.trim_end_matches('/'));
    if transfer.card_url.is_empty() { below() } else { transfer.card_url.clone() }
}

/// Names an outcome that is bad or not the last; with JSON also how to go on, which the document cannot say.
pub(crate) fn outcome(context: &Context, known: &Known, task: Option<&Task>) {
    let transfer = task.and_then(transfer);
    let words = match known.state {
        _ if transfer.is_some() => "the task was handed over to another agent",
        TaskState::Failed => "the task failed",
        TaskState::Rejected => "the agent rejected the task",
        TaskState::Canceled => "the task was canceled",
        TaskState::InputRequired => "the task waits for input",
        TaskState::AuthRequired => "the task waits for an authorization",
        _ => return,
    };
    context.notes.warning(words);
    if !context.printer.is_json() {
        return;
    }
    let waiting = || resume::command(&context.settings, known).filter(|_| known.state.is_interrupted());
    if let Some(command) = transfer.as_ref().map(there).or_else(waiting) {
        context.notes.say(&format!("Resume with: {command}"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_task_that_was_handed_over_goes_on_elsewhere() {
        let mut task = Task::new("t", "c", TaskState::Working);
        assert_eq!(transfer(&task), None);
        Transfer::new("https://pilots.example/", "p 31").apply(&mut task);
        let found = transfer(&task).unwrap();
        assert_eq!(there(&found), "a2a task get -a https://pilots.example/.well-known/agent-card.json --wait 'p 31'");
    }
}
