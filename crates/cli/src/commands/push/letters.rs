//! `a2a push dead-letters` and `redeliver`: what could not be delivered, in the data of a server that is stopped.

use std::{collections::BTreeSet, path::Path};

use chancery_core::{TaskId, Timestamp};
use chancery_engine::{
    clock::{Clock as _, SystemClock},
    push,
    store::{Due, Settled, Sqlite, Store as _},
};
use serde_json::{Value, json};

use crate::{
    args::{DeadLetters, Redeliver},
    context::Context,
    print::{Table, Text},
    trouble::Trouble,
};

/// More than anybody reads.
const MOST: usize = 100_000;

/// A notification that nobody tries to deliver any more.
struct Letter {
    due: Due,
    url: String,
    /// When the task changed last; when the attempts ended is not kept.
    updated: Option<Timestamp>,
}

impl Letter {
    fn id(&self) -> String {
        format!("d-{}", self.due.id)
    }

    fn document(&self) -> Value {
        let Due { task, delivery, attempts, owner, .. } = &self.due;
        json!({
            "id": self.id(),
            "agent": owner.agent(),
            "taskId": task,
            "configId": delivery.config,
            "event": delivery.seq,
            "url": self.url,
            "attempts": attempts,
            "taskUpdated": self.updated.map(|at| at.to_string()),
        })
    }
}

pub(crate) async fn show(context: &Context, args: &DeadLetters) -> Result<(), Trouble> {
    let store = open(args.server.as_deref(), args.data.as_deref()).await?;
    let shown = shown(context, args, &store).await;
    store.close().await;
    shown
}

async fn shown(context: &Context, args: &DeadLetters, store: &Sqlite) -> Result<(), Trouble> {
    let since = args.since.as_deref().map(Timestamp::parse).transpose();
    let since = since.map_err(|error| Trouble::usage(format!("--since: {error}")).hint("--since 2026-11-16T08:00:00Z"))?;
    let mut letters = letters(store).await?;
    if let Some(id) = &args.purge {
        let letter = letters.iter().find(|letter| letter.id() == *id).ok_or_else(|| unknown(id))?;
        store.settle(letter.due.id, Settled::Delivered).await.map_err(broken)?;
        return context.printer.result(&json!({"purged": id}), |text| text.field("Purged", id));
    }
    letters.retain(|letter| args.task.as_ref().is_none_or(|task| letter.due.task.as_str() == task));
    letters.retain(|letter| since.is_none_or(|since| letter.updated.is_some_and(|at| at >= since)));
    let total = letters.len();
    letters.truncate(args.page_size.map_or(usize::MAX, |size| size as usize));
    let documents: Vec<_> = letters.iter().map(Letter::document).collect();
    if context.settings.stream && context.printer.is_json() {
        return documents.iter().try_for_each(|document| context.printer.line(document));
    }
    let document = json!({"deadLetters": documents, "totalSize": total});
    context.printer.list(&document, |text| write(text, &letters, total), || table(&letters))
}

fn write(text: &mut Text, letters: &[Letter], total: usize) {
    for (at, letter) in letters.iter().enumerate() {
        text.field("Dead letter", &format!("{} of {total}", at + 1));
        text.field("Letter ID", &letter.id());
        text.field("Agent", letter.due.owner.agent());
        text.field("Task ID", letter.due.task.as_str());
        text.field("Config", letter.due.delivery.config.as_str());
        text.field("Event", &letter.due.delivery.seq.to_string());
        text.field("URL", &letter.url);
        text.field("Attempts", &letter.due.attempts.to_string());
        if let Some(at) = letter.updated {
            text.field("Task updated", &at.to_string());
        }
    }
    text.field("Total", &total.to_string());
}

fn table(letters: &[Letter]) -> Table {
    let mut table = Table::new(&["Id", "Task", "Url", "Tries", "Task updated"]);
    for letter in letters {
        let updated = letter.updated.map(|at| at.to_string()).unwrap_or_default();
        table.row([letter.id(), letter.due.task.to_string(), letter.url.clone(), letter.due.attempts.to_string(), updated]);
    }
    table
}

pub(crate) async fn redeliver(context: &Context, args: &Redeliver) -> Result<(), Trouble> {
    if args.ids.is_empty() && args.task.is_none() && !args.all {
        return Err(Trouble::usage("which letters?").hint("a2a push redeliver --data DIR ID..., --task ID, or --all"));
    }
    let store = open(args.server.as_deref(), args.data.as_deref()).await?;
    let done = revived(context, args, &store).await;
    store.close().await;
    done
}

async fn revived(context: &Context, args: &Redeliver, store: &Sqlite) -> Result<(), Trouble> {
    let letters = letters(store).await?;
    if let Some(id) = args.ids.iter().find(|id| !letters.iter().any(|letter| letter.id() == **id)) {
        return Err(unknown(id));
    }
    let meant = |letter: &&Letter| {
        args.all || args.ids.contains(&letter.id()) || args.task.as_ref().is_some_and(|task| letter.due.task.as_str() == task)
    };
    let chosen: Vec<_> = letters.iter().filter(meant).collect();
    if !context.settings.dry_run {
        revive(store, &chosen, args.ids.is_empty()).await?;
    }
    let label = if context.settings.dry_run { "Would redeliver" } else { "Queued" };
    let documents: Vec<_> = chosen.iter().map(|letter| letter.document()).collect();
    context.printer.result(&json!({"queued": documents, "dryRun": context.settings.dry_run}), |text| {
        for letter in &chosen {
            text.field(label, &format!("{} of task {} to {}", letter.id(), letter.due.task, letter.url));
        }
        text.field("Total", &chosen.len().to_string());
    })?;
    if !context.settings.dry_run && !chosen.is_empty() {
        context.notes.note("they go out when the server is started");
    }
    Ok(())
}

/// Makes letters due: those of whole tasks from the beginning of the schedule, single ones for one more attempt.
async fn revive(store: &Sqlite, chosen: &[&Letter], whole: bool) -> Result<(), Trouble> {
    let now = SystemClock.now();
    if whole {
        let tasks: BTreeSet<_> = chosen.iter().map(|letter| (&letter.due.owner, letter.due.task.as_str())).collect();
        for (owner, task) in tasks {
            store.revive(owner, &TaskId::from(task), now).await.map_err(broken)?;
        }
        return Ok(());
    }
    for letter in chosen {
        store.settle(letter.due.id, Settled::Retry(now)).await.map_err(broken)?;
    }
    Ok(())
}

/// All dead letters of a store, oldest first.
async fn letters(store: &Sqlite) -> Result<Vec<Letter>, Trouble> {
    let mut letters = Vec::new();
    for owner in store.owners().await.map_err(broken)? {
        for due in store.dead(&owner, MOST).await.map_err(broken)? {
            let configs = store.configs(&owner, &due.task).await.map_err(broken)?.unwrap_or_default();
            let config = configs.iter().find(|(id, _)| *id == due.delivery.config);
            let url = config.map(|(_, bytes)| push::read(bytes)).transpose().map_err(broken)?.map(|config| config.url);
            let task = store.task(&owner, &due.task).await.map_err(broken)?;
            letters.push(Letter { due, url: url.unwrap_or_default(), updated: task.map(|task| task.head.updated) });
        }
    }
    letters.sort_by_key(|letter| letter.due.id);
    Ok(letters)
}

/// Opens the data of a server.
async fn open(server: Option<&str>, data: Option<&Path>) -> Result<Sqlite, Trouble> {
    if let Some(server) = server {
        let message = format!("{server} has no admin calls: this version of the server offers none over the network");
        return Err(Trouble::internal(message).hint("stop the server, and use --data DIR"));
    }
    let Some(data) = data else { return Err(Trouble::usage("where is the data of the server?").hint("--data DIR, such as --data .a2a")) };
    let file = data.join(chancery_agents::TASKS);
    // Opening would make a new one.
    if !file.is_file() {
        return Err(Trouble::usage(format!("--data: there is no {}", file.display())).hint("the folder that `a2a serve` says after Data:"));
    }
    Sqlite::open(&file).await.map_err(broken)
}

fn unknown(id: &str) -> Trouble {
    Trouble::usage(format!("there is no dead letter {id}")).hint("a2a push dead-letters --data DIR")
}

fn broken(error: chancery_engine::store::Error) -> Trouble {
    Trouble::internal(crate::trouble::with_cause(&error))
}
