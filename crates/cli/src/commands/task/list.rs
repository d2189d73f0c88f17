//! `a2a task list`: a page of tasks, or all of them.

use chancery_core::{Card, Error, ErrorKind, ListTasks, Operation, TaskPage, TaskState, Timestamp, Version};
use chancery_wire::methods::rpc_name;

use crate::{
    args::List,
    connect::{self, Agent},
    context::Context,
    print::{
        Table, Text,
        task::{self, Detail, state},
    },
    resume,
    settings::word,
    trouble::Trouble,
    wait::Wait,
};

pub(crate) async fn run(context: &Context, args: &List) -> Result<(), Trouble> {
    let mut request = request(context, args)?;
    let agent = connect::agent(context).await?;
    let version = agent.client.version();
    if rpc_name(version, Operation::ListTasks).is_none() {
        return Err(no_lists(context, &agent));
    }
    let mut wait = Wait::new(context, &agent)?;
    let mut all: Option<TaskPage> = None;
    loop {
        let caller = agent.caller(context);
        let asked = wait.call(agent.client.list_tasks(&caller, request.clone())).await;
        let page = asked.map_err(|halt| wait.halted(halt))?.map_err(|error| match is_refusal(&error) && version != Version::LATEST {
            true => no_lists(context, &agent),
            false => agent.trouble(context, error),
        })?;
        if context.settings.stream && context.printer.is_json() {
            page.tasks.iter().try_for_each(|task| context.printer.line(task))?;
        }
        let next = page.next_page_token.clone();
        let whole = match all.take() {
            Some(mut before) => {
                before.tasks.extend(page.tasks);
                before.next_page_token = page.next_page_token;
                before
            }
            None => page,
        };
        if !args.all || next.is_empty() || next == request.page_token {
            return print(context, args, whole);
        }
        all = Some(whole);
        request.page_token = next;
    }
}

/// Whether an agent says that it does not know the call. Lists are no part of the versions before the current one: some agents have them
/// all the same, and the others refuse them each in its own way.
fn is_refusal(error: &Error) -> bool {
    let status = chancery_client::Trouble::of(error).and_then(chancery_client::Trouble::status);
    let unknown = matches!(error.kind(), ErrorKind::MethodNotFound | ErrorKind::UnsupportedOperation | ErrorKind::InvalidRequest);
    unknown || matches!(status, Some(404 | 405 | 501))
}

/// What is said of an agent whose version has no lists, and what works instead.
fn no_lists(context: &Context, agent: &Agent) -> Trouble {
    let (version, same) = (agent.client.version(), resume::same(&context.settings));
    let message = format!("A2A {version} has no list of tasks, and this agent offers none");
    let current = |card: &Card| card.supported_interfaces.iter().any(|one| one.protocol_version.starts_with(Version::LATEST.as_str()));
    let hint = match (agent.card.as_ref().is_some_and(current), &context.settings.agent) {
        (true, Some(reference)) => format!("a2a task list -a {}", resume::quoted(reference)),
        _ => format!("a task is read by its id, which send prints: a2a task get{same} TASK_ID"),
    };
    Trouble::protocol(ErrorKind::UnsupportedOperation, message).hint(hint)
}

fn request(context: &Context, args: &List) -> Result<ListTasks, Trouble> {
    let mut request = ListTasks::default();
    request.context_id = context.settings.context_id.as_deref().map(Into::into);
    request.status = args.status.as_deref().map(read_state).transpose()?.unwrap_or_default();
    request.page_size = if args.all { Some(ListTasks::MAX_PAGE_SIZE) } else { args.page_size };
    request.page_token = args.page_token.clone().unwrap_or_default();
    request.history_length = args.history.or(Some(0));
    request.include_artifacts = args.include_artifacts.then_some(true);
    request.status_timestamp_after = match &args.since {
        Some(text) => Some(Timestamp::parse(text).map_err(|error| Trouble::usage(format!("--since: {text:?} is {error}")))?),
        None => None,
    };
    Ok(request)
}

/// `completed`, `INPUT_REQUIRED`, `input-required`, `TASK_STATE_COMPLETED`.
fn read_state(text: &str) -> Result<TaskState, Trouble> {
    let bare = text.replace('-', "_").to_ascii_uppercase();
    let bare = bare.strip_prefix("TASK_STATE_").unwrap_or(&bare);
    let names: Vec<_> = TaskState::ALL.iter().filter(|one| **one != TaskState::Unspecified).map(|one| (state(*one), *one)).collect();
    word(bare, &names).map_err(|trouble| Trouble { message: format!("--status: {}", trouble.message), ..trouble })
}

fn print(context: &Context, args: &List, mut page: TaskPage) -> Result<(), Trouble> {
    if context.settings.stream && context.printer.is_json() {
        return Ok(());
    }
    page.with_artifacts = args.include_artifacts;
    let detail = Detail { history: args.history.is_some(), updated: true, verbose: context.settings.verbose };
    context.printer.list(&page, |text| write(text, &page, detail), || table(&page))
}

fn write(text: &mut Text, page: &TaskPage, detail: Detail) {
    let count = page.tasks.len();
    for (at, one) in page.tasks.iter().enumerate() {
        text.field("Task", &format!("{} of {count}", at + 1));
        task::task(text, one, detail);
    }
    text.field("Total", &page.total_size.to_string());
    text.known("Next page token", &page.next_page_token);
}

fn table(page: &TaskPage) -> Table {
    let mut table = Table::new(&["Task ID", "Context ID", "State", "Updated"]);
    for task in &page.tasks {
        let updated = task.status.timestamp.map(|at| at.to_string()).unwrap_or_default();
        table.row([task.id.as_str(), task.context_id.as_str(), state(task.state()), &updated]);
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_is_read_in_every_spelling() {
        for text in ["input-required", "INPUT_REQUIRED", "TASK_STATE_INPUT_REQUIRED", "Input_Required"] {
            assert_eq!(read_state(text).unwrap(), TaskState::InputRequired, "{text}");
        }
        let trouble = read_state("complete").unwrap_err();
        assert_eq!((trouble.exit, trouble.hint.as_deref()), (2, Some("did you mean COMPLETED?")));
    }
}
