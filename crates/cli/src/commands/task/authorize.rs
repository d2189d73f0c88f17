//! `a2a task authorize`: shows what a task wants to be authorized, and waits until it goes on.
//!
//! Credentials never go into a message: whoever authorizes does it elsewhere, by the agent's links.

use std::io::IsTerminal as _;

use chancery_core::{GetTask, Message, Task, TaskState};

use crate::{
    args::Authorize,
    connect,
    context::Context,
    print::{Text, live::Blank, task as show},
    report,
    trouble::Trouble,
    wait::{Mode, Wait},
};

pub(crate) async fn run(context: &Context, args: &Authorize) -> Result<(), Trouble> {
    let agent = connect::agent(context).await?;
    let mut wait = Wait::new(context, &agent)?;
    let caller = agent.caller(context);
    let asked = wait.call(agent.client.get_task(&caller, GetTask::new(args.id.as_str()))).await;
    let task = asked.map_err(|halt| wait.halted(halt))?.map_err(|error| agent.trouble(context, error))?;
    if task.state() == TaskState::AuthRequired {
        ask(context, &task, args.no_browser);
    } else {
        context.notes.note(&format!("the task wants no authorization, it is {}", show::state(task.state())));
    }
    wait.beyond_authorization();
    let reply = wait.resume(task.clone(), Mode::Whole, None, &mut Blank).await.map_err(|halt| wait.halted(halt))?;
    let task = reply.task().unwrap_or(&task);
    report::task(context, task, show::Detail { verbose: context.settings.verbose, ..show::Detail::default() })
}

/// Shows the agent's words and links, and opens the first link where somebody sees it.
fn ask(context: &Context, task: &Task, no_browser: bool) {
    let Some(message) = &task.status.message else {
        context.notes.insist("the agent does not say how to authorize the task");
        return;
    };
    let mut text = Text::default();
    show::status_message(&mut text, message);
    context.notes.insist(text.as_str().trim_end());
    let links = links(message);
    links.iter().for_each(|link| context.notes.insist(&format!("Link: {link}")));
    let seen = std::io::stdin().is_terminal() && std::io::stderr().is_terminal();
    if let (Some(link), true, false) = (links.first(), seen, no_browser) {
        open(context, link);
    }
}

/// The links in a message: of its parts, in its words and in its data.
fn links(message: &Message) -> Vec<String> {
    let text = message.parts.iter().map(|part| serde_json::to_string(part).unwrap_or_default()).collect::<Vec<_>>().join(" ");
    let begins = |text: &str| text.find("https://").into_iter().chain(text.find("http://")).min();
    let mut links = Vec::new();
    let mut rest = text.as_str();
    while let Some(at) = begins(rest) {
        let link = &rest[at..];
        let end = link.find(|c: char| c.is_whitespace() || c.is_control() || "\"'<>\\".contains(c)).unwrap_or(link.len());
        let found = link[..end].trim_end_matches(['.', ',', ')', ';', ':', '!', '?']).to_owned();
        if !links.contains(&found) {
            links.push(found);
        }
        rest = &link[end..];
    }
    links
}

/// Opens a page in the user's browser.
pub(in crate::commands) fn open(context: &Context, link: &str) {
    let program = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };
    let null = std::process::Stdio::null;
    let opened = std::process::Command::new(program).arg(link).stdin(null()).stdout(null()).stderr(null()).spawn();
    if let Err(error) = opened {
        context.notes.note(&format!("no browser could be opened ({program}: {error})"));
    }
}

#[cfg(test)]
mod tests {
    use chancery_core::Part;
    use serde_json::json;

    use super::*;

    #[test]
    fn links_are_found_wherever_they_stand() {
        let message = Message::agent("Go to https://a.example/x?y=1, then come back.")
            .part(Part::url("https://b.example/z"))
            .part(Part::data(json!({"link": "http://c.example/"})));
        assert_eq!(links(&message), ["https://a.example/x?y=1", "https://b.example/z", "http://c.example/"]);
        assert_eq!(links(&Message::agent("nothing")), Vec::<String>::new());
    }
}
