//! Tasks and messages as text.

use chancery_core::{Artifact, Content, Message, Part, Role, Task, TaskState};

use super::Text;

/// How much of a task is shown.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Detail {
    /// The messages that were kept.
    pub(crate) history: bool,
    /// When it changed.
    pub(crate) updated: bool,
    /// Everything else that is known.
    pub(crate) verbose: bool,
}

/// The short name of a state: `COMPLETED`.
pub(crate) fn state(state: TaskState) -> &'static str {
    state.as_str().trim_start_matches("TASK_STATE_")
}

/// Writes a task.
pub(crate) fn task(text: &mut Text, task: &Task, detail: Detail) {
    text.field("Task ID", task.id.as_str());
    text.field("Context ID", task.context_id.as_str());
    text.field("State", state(task.status.state));
    if let Some(at) = task.status.timestamp.filter(|_| detail.updated || detail.verbose) {
        text.field("Updated", &at.to_string());
    }
    if let Some(message) = &task.status.message {
        status_message(text, message);
    }
    task.artifacts.iter().for_each(|one| artifact(text, one, detail));
    if detail.verbose && !task.metadata.is_empty() {
        text.block("Metadata", &pretty(&task.metadata));
    }
    if detail.history || detail.verbose {
        let count = task.history.len();
        for (at, one) in task.history.iter().enumerate() {
            text.field("History", &format!("{} of {count}", at + 1));
            turn(text, one);
        }
    }
}

/// Writes what the agent says about a state.
pub(crate) fn status_message(text: &mut Text, message: &Message) {
    let (words, others): (Vec<_>, Vec<_>) = message.parts.iter().partition(|part| part.as_text().is_some());
    if !words.is_empty() {
        text.block("Status message", &message.text());
    }
    others.into_iter().for_each(|one| part(text, one));
}

/// Writes an artifact. Pieces of one text, which come as parts, are one text again.
pub(crate) fn artifact(text: &mut Text, artifact: &Artifact, detail: Detail) {
    text.field("Artifact", name(artifact));
    if detail.verbose {
        text.known("Description", &artifact.description);
    }
    let mut rest = artifact.parts.as_slice();
    while let Some((first, others)) = rest.split_first() {
        let pieces = rest.iter().take_while(|part| is_plain(part)).count();
        if pieces > 1 {
            let joined: String = rest[..pieces].iter().filter_map(Part::as_text).collect();
            text.block("Text", &joined);
            rest = &rest[pieces..];
        } else {
            part(text, first);
            rest = others;
        }
    }
}

/// The name of an artifact, or else its id.
pub(crate) fn name(artifact: &Artifact) -> &str {
    if artifact.name.is_empty() { artifact.artifact_id.as_str() } else { &artifact.name }
}

/// Whether a part is nothing but text.
pub(crate) fn is_plain(part: &Part) -> bool {
    part.as_text().is_some() && part.media_type.is_empty() && part.filename.is_empty() && part.metadata.is_empty()
}

/// Writes a message that stands for itself.
pub(crate) fn message(text: &mut Text, message: &Message) {
    if let Some(task) = &message.task_id {
        text.field("Task ID", task.as_str());
    }
    if let Some(context) = &message.context_id {
        text.field("Context ID", context.as_str());
    }
    turn(text, message);
}

/// Writes a message of a task, whose ids are known.
fn turn(text: &mut Text, message: &Message) {
    text.known("Message ID", message.message_id.as_str());
    text.field("Role", role(message.role));
    message.parts.iter().for_each(|one| part(text, one));
}

fn role(role: Role) -> &'static str {
    role.as_str().trim_start_matches("ROLE_")
}

/// Writes a part.
pub(crate) fn part(text: &mut Text, part: &Part) {
    match &part.content {
        Content::Text(words) => text.block("Text", words),
        Content::Data(value) => text.block("Data", &pretty(value)),
        Content::Raw(bytes) => {
            let name = if part.filename.is_empty() { "unnamed" } else { &part.filename };
            let media_type = if part.media_type.is_empty() { "application/octet-stream" } else { &part.media_type };
            text.field("File", &format!("{name} ({media_type}, {} bytes)", bytes.len()));
        }
        Content::Url(url) => {
            let media_type = if part.media_type.is_empty() { String::new() } else { format!(" ({})", part.media_type) };
            text.field("File", &format!("{url}{media_type}"));
        }
    }
}

fn pretty(value: &impl serde::Serialize) -> String {
    // What was read as JSON can be written as JSON.
    serde_json::to_string_pretty(value).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use chancery_core::TaskStatus;
    use serde_json::json;

    use super::*;

    /// A2ACLI_SEND_004: no part is dropped.
    #[test]
    fn every_part_has_its_label() {
        let results = Artifact::new("one")
            .named("all")
            .part(Part::data(json!({"a": 1})))
            .part(Part::raw(&b"xyz"[..]).filename("x.bin"))
            .part(Part::url("https://x.example/y.png").media_type("image/png"));
        let mut done = Task::new("t", "c", TaskStatus::new(TaskState::Completed));
        done.artifacts.push(results);
        let mut text = Text::default();
        task(&mut text, &done, Detail::default());
        let expected = "Task ID: t\nContext ID: c\nState: COMPLETED\nArtifact: all\nText:\n  one\n\nData:\n  {\n    \"a\": 1\n  }\n\n\
                        File: x.bin (application/octet-stream, 3 bytes)\nFile: https://x.example/y.png (image/png)\n";
        assert_eq!(text.as_str(), expected);
    }

    #[test]
    fn pieces_of_a_text_are_one_text() {
        let mut text = Text::default();
        artifact(&mut text, &Artifact::new("1\n").named("n").part("2\n").part(Part::text("3").media_type("text/csv")), Detail::default());
        assert_eq!(text.as_str(), "Artifact: n\nText:\n  1\n  2\n\nText:\n  3\n\n");
    }
}
