//! A task from its events.

use chancery_core::{Event, Task};

/// Makes a task what it is after an event.
pub(crate) fn fold(task: &mut Task, event: &Event) {
    match event {
        Event::Task(now) => *task = (**now).clone(),
        Event::Status(update) => {
            task.id = update.task_id.clone();
            task.context_id = update.context_id.clone();
            task.status = update.status.clone();
            task.metadata.extend(update.metadata.clone());
        }
        Event::Artifact(update) => {
            task.id = update.task_id.clone();
            task.context_id = update.context_id.clone();
            let known = task.artifacts.iter_mut().find(|known| known.artifact_id == update.artifact.artifact_id);
            match known {
                Some(known) if update.append => {
                    known.parts.extend(update.artifact.parts.iter().cloned());
                    known.metadata.extend(update.artifact.metadata.clone());
                }
                Some(known) => *known = update.artifact.clone(),
                None => task.artifacts.push(update.artifact.clone()),
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use chancery_core::{Artifact, ArtifactUpdate, StatusUpdate, TaskState};

    use super::*;

    #[test]
    fn chunks_are_added_and_whole_artifacts_replace() {
        let mut task = Task::default();
        let chunk = |text: &str| ArtifactUpdate::new("t", "c", Artifact::new(text).id("a"));
        for event in [
            Event::from(Task::new("t", "c", TaskState::Submitted)),
            chunk("one").into(),
            chunk("two").appended().into(),
            StatusUpdate::new("t", "c", TaskState::Completed).into(),
        ] {
            fold(&mut task, &event);
        }
        assert_eq!((task.artifacts.len(), task.artifacts[0].parts.len()), (1, 2));
        assert_eq!(task.status.state, TaskState::Completed);
        fold(&mut task, &chunk("three").into());
        assert_eq!(task.artifacts[0].parts.len(), 1);
    }
}
