//! Events as they come: as JSON lines, or as text whose last block stays open while its artifact grows.

use chancery_core::{ArtifactId, ArtifactUpdate, ContextId, Event, StatusUpdate, Task, TaskId};

use super::{
    Printer, Text,
    task::{self, Detail, is_plain, state},
    text::clean,
};
use crate::trouble::Trouble;

/// Whoever wants to see events.
pub(crate) trait Screen {
    /// Shows an event.
    fn event(&mut self, event: &Event) -> Result<(), Trouble>;

    /// Whether the task as it stood before a message is shown when an agent begins its answer with it.
    fn wants_replays(&self) -> bool {
        false
    }

    /// Ends what is open.
    fn close(&mut self) -> Result<(), Trouble> {
        Ok(())
    }
}

/// Shows nothing.
#[derive(Debug)]
pub(crate) struct Blank;

impl Screen for Blank {
    fn event(&mut self, _: &Event) -> Result<(), Trouble> {
        Ok(())
    }
}

/// Shows events in the form that is wanted.
#[derive(Debug)]
pub(crate) struct Live<'a> {
    printer: &'a Printer,
    open: Option<Open>,
}

/// A block of text that may go on.
#[derive(Debug)]
struct Open {
    artifact: ArtifactId,
    /// A line has ended, and is written as ended when another one follows.
    held: bool,
}

impl<'a> Live<'a> {
    pub(crate) fn new(printer: &'a Printer) -> Self {
        Self { printer, open: None }
    }

    fn task(&mut self, task: &Task) -> Result<(), Trouble> {
        self.close()?;
        let mut text = Text::default();
        task::task(&mut text, task, Detail::default());
        self.printer.text(&text)
    }

    fn status(&mut self, update: &StatusUpdate) -> Result<(), Trouble> {
        self.close()?;
        let now = update.status.state;
        let mut text = Text::default();
        if now.is_terminal() || now.is_interrupted() {
            ids(&mut text, &update.task_id, &update.context_id);
        }
        text.field("State", state(now));
        if let Some(message) = &update.status.message {
            task::status_message(&mut text, message);
        }
        self.printer.text(&text)
    }

    fn artifact(&mut self, update: &ArtifactUpdate) -> Result<(), Trouble> {
        let artifact = &update.artifact;
        let goes_on = update.append && self.open.as_ref().is_some_and(|open| open.artifact == artifact.artifact_id);
        if !goes_on {
            self.close()?;
            self.printer.write(&format!("Artifact: {}\n", clean(task::name(artifact)).replace('\n', " ")))?;
        }
        for part in &artifact.parts {
            if !is_plain(part) {
                self.close()?;
                let mut text = Text::default();
                task::part(&mut text, part);
                self.printer.text(&text)?;
                continue;
            }
            if self.open.is_none() {
                self.printer.write("Text:\n  ")?;
                self.open = Some(Open { artifact: artifact.artifact_id.clone(), held: false });
            }
            self.extend(part.as_text().unwrap_or_default())?;
        }
        if update.last_chunk { self.close() } else { Ok(()) }
    }

    /// Writes more of the open block.
    fn extend(&mut self, words: &str) -> Result<(), Trouble> {
        let Some(open) = &mut self.open else { return Ok(()) };
        let mut text = String::new();
        for c in words.chars() {
            if std::mem::take(&mut open.held) {
                text.push_str("\n  ");
            }
            if c == '\n' {
                open.held = true;
            } else {
                text.push(c);
            }
        }
        self.printer.write(&clean(&text))
    }
}

impl Screen for Live<'_> {
    fn event(&mut self, event: &Event) -> Result<(), Trouble> {
        if self.printer.is_json() {
            return self.printer.line(event);
        }
        match event {
            Event::Task(task) => self.task(task),
            Event::Status(update) => self.status(update),
            Event::Artifact(update) => self.artifact(update),
            Event::Message(message) => {
                self.close()?;
                let mut text = Text::default();
                task::message(&mut text, message);
                self.printer.text(&text)
            }
            _ => Ok(()),
        }
    }

    fn wants_replays(&self) -> bool {
        self.printer.is_json()
    }

    fn close(&mut self) -> Result<(), Trouble> {
        match self.open.take() {
            Some(_) => self.printer.write("\n\n"),
            None => Ok(()),
        }
    }
}

/// Writes the names of a task.
pub(crate) fn ids(text: &mut Text, task: &TaskId, context: &ContextId) {
    text.field("Task ID", task.as_str());
    text.field("Context ID", context.as_str());
}
