//! What a command about a task prints at its end: the result, what became of it, and how to go on.

use chancery_core::{SendReply, Task, TaskState};

use crate::{
    context::Context,
    print::{
        Text,
        task::{self, Detail},
    },
    resume::{self, Known},
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
        go_on(context, text, &known);
    })?;
    outcome(context, &known);
    Ok(())
}

/// Prints a task.
pub(crate) fn task(context: &Context, done: &Task, detail: Detail) -> Result<(), Trouble> {
    let known = of(done);
    context.printer.result(done, |text| {
        task::task(text, done, detail);
        go_on(context, text, &known);
    })?;
    outcome(context, &known);
    Ok(())
}

/// Ends what was shown event by event.
pub(crate) fn end(context: &Context, reply: &SendReply) -> Result<(), Trouble> {
    let known = known(reply);
    if !context.printer.is_json() {
        let mut text = Text::default();
        go_on(context, &mut text, &known);
        context.printer.text(&text)?;
    }
    outcome(context, &known);
    Ok(())
}

/// What is known of a task.
pub(crate) fn of(task: &Task) -> Known {
    Known { task: Some(task.id.clone()), context: Some(task.context_id.clone()), state: task.status.state }
}

fn known(reply: &SendReply) -> Known {
    match reply {
        SendReply::Task(task) => of(task),
        SendReply::Message(message) => Known { task: None, context: message.context_id.clone(), state: TaskState::Completed },
    }
}

fn go_on(context: &Context, text: &mut Text, known: &Known) {
    if let Some(command) = resume::command(&context.settings, known) {
        text.field("Resume with", &command);
    }
}

/// Names an outcome that is bad or not the last; with JSON also how to go on, which the document cannot say.
fn outcome(context: &Context, known: &Known) {
    let words = match known.state {
        TaskState::Failed => "the task failed",
        TaskState::Rejected => "the agent rejected the task",
        TaskState::Canceled => "the task was canceled",
        TaskState::InputRequired => "the task waits for input",
        TaskState::AuthRequired => "the task waits for an authorization",
        _ => return,
    };
    context.notes.warning(words);
    if context.printer.is_json()
        && known.state.is_interrupted()
        && let Some(command) = resume::command(&context.settings, known)
    {
        context.notes.say(&format!("Resume with: {command}"));
    }
}
