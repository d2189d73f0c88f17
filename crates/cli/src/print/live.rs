//! Events as they come: as JSON lines, or as text whose last block stays open while its artifact grows.

use std::collections::HashMap;

use chancery_core::{Artifact, ArtifactId, ArtifactUpdate, ContextId, Event, Part, Task, TaskId, TaskStatus};

use super::{
    Printer, Text,
    task::{self, is_plain, state},
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
    /// The task, and the last of its states that was shown.
    status: Option<(TaskId, TaskStatus)>,
    /// What was shown of its artifacts.
    shown: HashMap<ArtifactId, Shown>,
}

/// A block of text that may go on.
#[derive(Debug)]
struct Open {
    artifact: ArtifactId,
    /// A line has ended, and is written as ended when another one follows.
    held: bool,
}

/// An artifact as far as it was shown.
#[derive(Debug, Default)]
struct Shown {
    name: String,
    pieces: Vec<Piece>,
}

/// What has a label of its own in an artifact: parts that are nothing but text are one text.
#[derive(Debug, Clone, PartialEq)]
enum Piece {
    Text(String),
    Other(Part),
}

impl<'a> Live<'a> {
    pub(crate) fn new(printer: &'a Printer) -> Self {
        Self { printer, open: None, status: None, shown: HashMap::new() }
    }

    /// The first time everything, later what is new: agents send the task again, and polling gives nothing else.
    fn task(&mut self, task: &Task) -> Result<(), Trouble> {
        if self.status.as_ref().is_none_or(|(known, _)| *known != task.id) {
            self.close()?;
            self.shown.clear();
            let mut text = Text::default();
            ids(&mut text, &task.id, &task.context_id);
            self.state(text, &task.id, &task.status)?;
            return task.artifacts.iter().try_for_each(|artifact| self.whole(artifact));
        }
        task.artifacts.iter().try_for_each(|artifact| self.whole(artifact))?;
        self.status(&task.id, &task.context_id, &task.status)
    }

    /// A state, unless it is the one that was shown.
    fn status(&mut self, task: &TaskId, context: &ContextId, status: &TaskStatus) -> Result<(), Trouble> {
        let same = |known: &TaskStatus| known.state == status.state && known.message == status.message;
        if self.status.as_ref().is_some_and(|(known, last)| known == task && same(last)) {
            return Ok(());
        }
        self.close()?;
        let mut text = Text::default();
        if status.state.is_terminal() || status.state.is_interrupted() {
            ids(&mut text, task, context);
        }
        self.state(text, task, status)
    }

    fn state(&mut self, mut text: Text, task: &TaskId, status: &TaskStatus) -> Result<(), Trouble> {
        text.field("State", state(status.state));
        if let Some(message) = &status.message {
            task::status_message(&mut text, message);
        }
        self.status = Some((task.clone(), status.clone()));
        self.printer.text(&text)
    }

    /// An artifact as it is now: what is new of it.
    fn whole(&mut self, artifact: &Artifact) -> Result<(), Trouble> {
        let now = pieces(&artifact.parts);
        let known = self.shown.get(&artifact.artifact_id);
        let news = known.and_then(|shown| news(&shown.pieces, &now));
        if known.is_some() && news.as_ref().is_some_and(Vec::is_empty) {
            return Ok(());
        }
        // What was shown before is not how this one begins.
        if known.is_some() && news.is_none() {
            self.close()?;
        }
        self.note(artifact, now.clone());
        self.show(&artifact.artifact_id, &news.unwrap_or(now))
    }

    fn artifact(&mut self, update: &ArtifactUpdate) -> Result<(), Trouble> {
        let artifact = &update.artifact;
        let more = pieces(&artifact.parts);
        let mut all = match update.append {
            true => self.shown.get(&artifact.artifact_id).map(|shown| shown.pieces.clone()).unwrap_or_default(),
            false => {
                self.close()?;
                Vec::new()
            }
        };
        more.iter().cloned().for_each(|piece| add(&mut all, piece));
        self.note(artifact, all);
        self.show(&artifact.artifact_id, &more)?;
        if update.last_chunk { self.close() } else { Ok(()) }
    }

    /// Remembers an artifact. Its name comes with its first chunk.
    fn note(&mut self, artifact: &Artifact, pieces: Vec<Piece>) {
        let shown = self.shown.entry(artifact.artifact_id.clone()).or_default();
        if shown.name.is_empty() || !artifact.name.is_empty() {
            shown.name = task::name(artifact).to_owned();
        }
        shown.pieces = pieces;
    }

    /// Writes more of an artifact, in its open block if there is one.
    fn show(&mut self, id: &ArtifactId, more: &[Piece]) -> Result<(), Trouble> {
        if self.open.as_ref().is_none_or(|open| open.artifact != *id) {
            self.close()?;
            let name = self.shown.get(id).map_or(id.as_str(), |shown| shown.name.as_str());
            self.printer.write(&format!("Artifact: {}\n", clean(name).replace('\n', " ")))?;
        }
        for piece in more {
            match piece {
                Piece::Text(words) => {
                    if self.open.is_none() {
                        self.printer.write("Text:\n  ")?;
                        self.open = Some(Open { artifact: id.clone(), held: false });
                    }
                    self.extend(words)?;
                }
                Piece::Other(part) => {
                    self.close()?;
                    let mut text = Text::default();
                    task::part(&mut text, part);
                    self.printer.text(&text)?;
                }
            }
        }
        Ok(())
    }

    /// Writes more of the open block.
    fn extend(&mut self, words: &str) -> Result<(), Trouble> {
        let Some(open) = self.open.as_mut().filter(|_| !words.is_empty()) else { return Ok(()) };
        let mut text = String::new();
        if self.printer.is_interrupted() {
            open.held = false;
            text.push_str("  ");
        }
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
            Event::Status(update) => self.status(&update.task_id, &update.context_id, &update.status),
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
            Some(_) => self.printer.write(if self.printer.is_interrupted() { "\n" } else { "\n\n" }),
            None => Ok(()),
        }
    }
}

fn pieces(parts: &[Part]) -> Vec<Piece> {
    let mut pieces = Vec::new();
    for part in parts {
        add(
            &mut pieces,
            match part.as_text().filter(|_| is_plain(part)) {
                Some(words) => Piece::Text(words.to_owned()),
                None => Piece::Other(part.clone()),
            },
        );
    }
    pieces
}

fn add(pieces: &mut Vec<Piece>, piece: Piece) {
    match (pieces.last_mut(), piece) {
        (Some(Piece::Text(words)), Piece::Text(more)) => words.push_str(&more),
        (_, piece) => pieces.push(piece),
    }
}

/// What an artifact has beyond what was shown of it; `None` when it begins in another way.
fn news(before: &[Piece], now: &[Piece]) -> Option<Vec<Piece>> {
    let Some((last, others)) = before.split_last() else { return Some(now.to_vec()) };
    let rest = now.strip_prefix(others)?;
    let (first, rest) = rest.split_first()?;
    let more = match (last, first) {
        (Piece::Text(shown), Piece::Text(words)) => Some(words.strip_prefix(shown.as_str())?).filter(|more| !more.is_empty()),
        (last, first) if last == first => None,
        _ => return None,
    };
    Some(more.map(|more| Piece::Text(more.to_owned())).into_iter().chain(rest.iter().cloned()).collect())
}

/// Writes the names of a task.
pub(crate) fn ids(text: &mut Text, task: &TaskId, context: &ContextId) {
    text.field("Task ID", task.as_str());
    text.field("Context ID", context.as_str());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_new_of_an_artifact_is_the_rest() {
        let text = |words: &str| Piece::Text(words.to_owned());
        let data = || Piece::Other(Part::data(serde_json::json!({"a": 1})));
        for (before, now, expected) in [
            (vec![], vec![text("a")], Some(vec![text("a")])),
            (vec![text("a")], vec![text("ab")], Some(vec![text("b")])),
            (vec![text("a")], vec![text("a")], Some(vec![])),
            (vec![text("a"), data()], vec![text("a"), data(), text("b")], Some(vec![text("b")])),
            (vec![text("a")], vec![text("ab"), data()], Some(vec![text("b"), data()])),
            (vec![text("a")], vec![text("b")], None),
            (vec![text("a"), data()], vec![text("ab"), data()], None),
            (vec![text("a"), data()], vec![text("a")], None),
        ] {
            assert_eq!(news(&before, &now), expected, "{before:?} {now:?}");
        }
        assert_eq!(pieces(&[Part::text("a"), Part::text("b"), Part::text("c").media_type("text/csv")]).len(), 2);
    }
}
