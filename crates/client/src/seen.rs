//! What the reader of a stream has seen, so that after a cut it is shown the rest and nothing twice.
//!
//! Contents are remembered as hashes: eight bytes for a part, whatever its size.

use std::{
    collections::HashMap,
    hash::{DefaultHasher, Hash, Hasher},
};

use chancery_core::{Artifact, ArtifactId, ArtifactUpdate, Content, Event, Part, StatusUpdate, Task, TaskStatus};

/// What has been seen of a task.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    artifacts: HashMap<ArtifactId, Vec<u64>>,
    status: Option<u64>,
}

impl Seen {
    /// Takes note of an event that is shown.
    pub(crate) fn note(&mut self, event: &Event) {
        match event {
            Event::Task(task) => {
                self.artifacts = task.artifacts.iter().map(|artifact| (artifact.artifact_id.clone(), hashes(artifact).collect())).collect();
                self.status = Some(hash_of_status(&task.status));
            }
            Event::Status(update) => self.status = Some(hash_of_status(&update.status)),
            Event::Artifact(update) => {
                let parts = self.artifacts.entry(update.artifact.artifact_id.clone()).or_default();
                if !update.append {
                    parts.clear();
                }
                parts.extend(hashes(&update.artifact));
            }
            _ => {}
        }
    }

    /// What has happened to a task since: the new parts of its artifacts, then its status if that is
    /// another. What happened in several steps comes as one.
    pub(crate) fn since(&self, task: &Task) -> Vec<Event> {
        let mut events: Vec<Event> = task.artifacts.iter().filter_map(|artifact| self.rest(task, artifact)).map(Event::from).collect();
        if self.status != Some(hash_of_status(&task.status)) {
            events.push(StatusUpdate::new(task.id.clone(), task.context_id.clone(), task.status.clone()).into());
        }
        events
    }

    /// The part of an artifact that has not been seen; all of it, to replace what was seen, when it is
    /// not a continuation of that.
    fn rest(&self, task: &Task, artifact: &Artifact) -> Option<ArtifactUpdate> {
        let update = |artifact| ArtifactUpdate::new(task.id.clone(), task.context_id.clone(), artifact);
        let Some(seen) = self.artifacts.get(&artifact.artifact_id) else { return Some(update(artifact.clone())) };
        let parts: Vec<&Part> = artifact.parts.iter().filter(|part| !is_nothing(part)).collect();
        let same = parts.len() >= seen.len() && seen.iter().zip(&parts).all(|(seen, part)| *seen == hash_of_part(part));
        if !same {
            return Some(update(artifact.clone()));
        }
        if parts.len() == seen.len() {
            return None;
        }
        let mut rest = artifact.clone();
        rest.parts = parts[seen.len()..].iter().map(|part| (*part).clone()).collect();
        Some(update(rest).appended())
    }
}

fn hashes(artifact: &Artifact) -> impl Iterator<Item = u64> {
    artifact.parts.iter().filter(|part| !is_nothing(part)).map(hash_of_part)
}

/// An empty text adds nothing: some send it to say that an artifact is finished, and do not keep it.
fn is_nothing(part: &Part) -> bool {
    matches!(&part.content, Content::Text(text) if text.is_empty())
}

fn hash_of_part(part: &Part) -> u64 {
    let mut hasher = DefaultHasher::new();
    // Parts can always be written.
    serde_json::to_vec(part).unwrap_or_default().hash(&mut hasher);
    hasher.finish()
}

/// Ids of messages do not count: not every version has them.
fn hash_of_status(status: &TaskStatus) -> u64 {
    let mut hasher = DefaultHasher::new();
    status.state.hash(&mut hasher);
    status.timestamp.map(|at| at.to_string()).hash(&mut hasher);
    for part in status.message.iter().flat_map(|message| &message.parts) {
        hash_of_part(part).hash(&mut hasher);
    }
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use chancery_core::TaskState;

    use super::*;

    fn task(state: TaskState, artifacts: &[(&str, &[&str])]) -> Task {
        let mut task = Task::new("t", "c", state);
        for (id, texts) in artifacts {
            let mut artifact = Artifact::new("").id(*id);
            artifact.parts = texts.iter().map(|text| Part::text(*text)).collect();
            task.artifacts.push(artifact);
        }
        task
    }

    fn chunk(id: &str, text: &str) -> Event {
        ArtifactUpdate::new("t", "c", Artifact::new(text).id(id)).appended().into()
    }

    /// Shows each event as a short text.
    fn since(seen: &Seen, task: &Task) -> Vec<String> {
        let short = |event: Event| match event {
            Event::Artifact(update) => {
                let texts: Vec<_> = update.artifact.parts.iter().filter_map(Part::as_text).collect();
                format!("{}{}{}", update.artifact.artifact_id, if update.append { "+" } else { "=" }, texts.join("|"))
            }
            Event::Status(update) => update.status.state.as_str().to_owned(),
            other => panic!("{other:?}"),
        };
        seen.since(task).into_iter().map(short).collect()
    }

    #[test]
    fn only_what_is_new_is_shown_after_a_cut() {
        let mut seen = Seen::default();
        seen.note(&task(TaskState::Working, &[("a", &["1"])]).into());
        seen.note(&chunk("a", "2"));
        seen.note(&chunk("a", ""));
        assert_eq!(since(&seen, &task(TaskState::Working, &[("a", &["1", "2"])])), [""; 0]);
        assert_eq!(since(&seen, &task(TaskState::Working, &[("a", &["1", "2", "3", "4"])])), ["a+3|4"]);
        assert_eq!(since(&seen, &task(TaskState::Working, &[("a", &["1", "2"]), ("b", &["x"])])), ["b=x"]);
        assert_eq!(since(&seen, &task(TaskState::Completed, &[("a", &["1", "2"])])), ["TASK_STATE_COMPLETED"]);
    }

    #[test]
    fn an_artifact_that_was_replaced_is_shown_whole() {
        let mut seen = Seen::default();
        seen.note(&task(TaskState::Working, &[("a", &["1", "2"])]).into());
        assert_eq!(since(&seen, &task(TaskState::Working, &[("a", &["9"])])), ["a=9"]);
        assert_eq!(since(&seen, &task(TaskState::Working, &[("a", &["1", "9", "3"])])), ["a=1|9|3"]);
    }
}
