//! Which events are legal in which state, and what they make of a task. Pure: no clock, no store.

use chancery_core::{ArtifactUpdate, Error, ErrorKind, Event, Message, Part, Remarks, Result, Task, TaskState};

/// The state after `event`, or `None` if the event is illegal in `state`.
///
/// The specification gives no table of transitions. Ours is the widest that keeps its promises: a
/// finished task never changes, a new task is announced once, and nothing goes back to
/// "submitted" except a task that waited for its client.
#[must_use]
pub fn next(state: TaskState, event: &Event) -> Option<TaskState> {
    use TaskState as S;
    match (state, event) {
        (S::Unspecified, Event::Task(task)) if task.status.state != S::Unspecified => Some(task.status.state),
        (S::Unspecified, _) | (_, Event::Task(_) | Event::Message(_)) => None,
        (state, _) if state.is_terminal() => None,
        (_, Event::Status(update)) => match (state, update.status.state) {
            (_, S::Unspecified) => None,
            (S::Working, S::Submitted) => None,
            (_, to) => Some(to),
        },
        (state, Event::Artifact(_)) => Some(state),
        _ => None,
    }
}

/// One event of a task's log, with the message of the client that came with it, if one did.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// What everybody sees.
    pub event: Event,
    /// A message that goes into the history before the event takes effect.
    pub message: Option<Box<Message>>,
    /// What is noted about the task together with the event, for ourselves.
    pub remarks: Option<Box<Remarks>>,
}

impl Entry {
    /// An event without a message.
    pub fn new(event: impl Into<Event>) -> Self {
        Self { event: event.into(), message: None, remarks: None }
    }

    /// An event that a client's message brought about.
    pub fn with_message(event: impl Into<Event>, message: Message) -> Self {
        Self { event: event.into(), message: Some(Box::new(message)), remarks: None }
    }

    /// Adds what is noted together with the event.
    #[must_use]
    pub fn noted(mut self, remarks: Remarks) -> Self {
        self.remarks = Some(Box::new(remarks));
        self
    }
}

/// Applies an entry to a task. A fresh task is `Task::default()`.
///
/// # Errors
/// [`ErrorKind::InvalidAgentResponse`] when the entry is illegal; the task is then unchanged.
pub fn apply(task: &mut Task, entry: &Entry) -> Result<()> {
    absorb(task, entry.clone())
}

/// Applies an entry that nobody else needs, without copying it.
///
/// # Errors
/// As [`apply`].
pub fn absorb(task: &mut Task, entry: Entry) -> Result<()> {
    if next(task.status.state, &entry.event).is_none() {
        return Err(illegal(format!("an event is illegal in state {}", task.status.state)));
    }
    match entry.event {
        Event::Task(created) => *task = *created,
        Event::Status(update) => {
            // The words of the old status become history; the new ones are only in the status.
            // A status that is told once more has the same ones, which are said once.
            let again = |old: &Message| update.status.message.as_ref().is_some_and(|new| new.message_id == old.message_id);
            if let Some(message) = task.status.message.take().filter(|old| !again(old)) {
                remember(&mut task.history, message);
            }
            if let Some(message) = entry.message {
                remember(&mut task.history, *message);
            }
            task.status = update.status;
            if !update.metadata.is_empty() {
                task.metadata.extend(update.metadata);
            }
        }
        Event::Artifact(update) => {
            let ArtifactUpdate { artifact, append, last_chunk, .. } = *update;
            let known = task.artifacts.iter_mut().find(|known| known.artifact_id == artifact.artifact_id);
            match (known, append) {
                (Some(known), true) => {
                    // The chunk that only says "that was all" adds nothing.
                    let closing = |part: &Part| !last_chunk || part.as_text() != Some("");
                    known.parts.extend(artifact.parts.into_iter().filter(closing));
                    known.metadata.extend(artifact.metadata);
                }
                (Some(known), false) => *known = artifact,
                (None, false) => {
                    if task.artifacts.len() < SHORT {
                        task.artifacts.reserve_exact(1);
                    }
                    task.artifacts.push(artifact);
                }
                (None, true) => return Err(illegal("a chunk was added to an artifact that does not exist".to_owned())),
            }
        }
        _ => return Err(illegal("a message is no event of a task".to_owned())),
    }
    if let Some(remarks) = entry.remarks {
        task.notes.apply(&remarks);
    }
    Ok(())
}

fn remember(history: &mut Vec<Message>, message: Message) {
    if history.len() < SHORT {
        // Most tasks wait or end with a few messages; room for more of them would be most of their memory.
        history.reserve_exact(1);
    }
    history.push(message);
}

/// Lists up to this length have room for what is in them, and no more.
const SHORT: usize = 4;

fn illegal(what: String) -> Error {
    Error::from(ErrorKind::InvalidAgentResponse).caused_by(what)
}

#[cfg(test)]
mod tests {
    use chancery_core::{Artifact, StatusUpdate};

    use super::*;

    const STATES: &[TaskState] = TaskState::ALL;

    /// Every pair of state and event, in one table: `.` is illegal, the rest names the next state.
    ///
    /// V10-SEND-004: a finished task takes nothing.
    #[test]
    fn every_pair_of_state_and_event_has_its_answer() {
        // Columns: task in each of the nine states, status to each of them, artifact, message.
        let table = [
            (TaskState::Unspecified, ". S W C F X I R A . . . . . . . . . . ."),
            (TaskState::Submitted, "  . . . . . . . . . . S W C F X I R A S ."),
            (TaskState::Working, "    . . . . . . . . . . . W C F X I R A W ."),
            (TaskState::Completed, "  . . . . . . . . . . . . . . . . . . . ."),
            (TaskState::Failed, "     . . . . . . . . . . . . . . . . . . . ."),
            (TaskState::Canceled, "   . . . . . . . . . . . . . . . . . . . ."),
            (TaskState::InputRequired, ". . . . . . . . . . S W C F X I R A I ."),
            (TaskState::Rejected, "   . . . . . . . . . . . . . . . . . . . ."),
            (TaskState::AuthRequired, ". . . . . . . . . . S W C F X I R A A ."),
        ];
        let letter = |state: TaskState| match state {
            TaskState::Unspecified => "U",
            TaskState::Submitted => "S",
            TaskState::Working => "W",
            TaskState::Completed => "C",
            TaskState::Failed => "F",
            TaskState::Canceled => "X",
            TaskState::InputRequired => "I",
            TaskState::Rejected => "R",
            TaskState::AuthRequired => "A",
        };
        assert_eq!(table.len(), STATES.len());
        for (state, row) in table {
            let mut events: Vec<Event> = STATES.iter().map(|to| Task::new("t", "c", *to).into()).collect();
            events.extend(STATES.iter().map(|to| Event::from(StatusUpdate::new("t", "c", *to))));
            events.push(ArtifactUpdate::new("t", "c", Artifact::new("x")).into());
            events.push(Message::agent("x").into());
            let answers: Vec<_> = events.iter().map(|event| next(state, event).map_or(".", letter)).collect();
            assert_eq!(answers, row.split_whitespace().collect::<Vec<_>>(), "{state}");
        }
    }

    #[test]
    fn a_status_that_is_told_once_more_says_its_words_once() {
        let mut task = Task::new("t", "c", TaskState::Working);
        for _ in 0..2 {
            let status = chancery_core::TaskStatus::new(TaskState::Working).message(Message::agent("Looking").id("a-1"));
            apply(&mut task, &Entry::new(StatusUpdate::new("t", "c", status))).unwrap();
        }
        assert!(task.history.is_empty());
        assert_eq!(task.status.message.unwrap().message_id.as_str(), "a-1");
    }

    #[test]
    fn a_new_status_moves_the_old_words_into_the_history() {
        let mut task = Task::default();
        let asked = chancery_core::TaskStatus::new(TaskState::InputRequired).message(Message::agent("Which quay?").id("a-1"));
        apply(&mut task, &Entry::new(Task::new("t", "c", asked))).unwrap();
        let answer = Entry::with_message(StatusUpdate::new("t", "c", TaskState::Working), Message::user("North.").id("u-2"));
        apply(&mut task, &answer).unwrap();
        let history: Vec<_> = task.history.iter().map(|message| message.message_id.as_str()).collect();
        assert_eq!((history, task.status.message), (vec!["a-1", "u-2"], None));
    }

    #[test]
    fn chunks_are_added_and_whole_artifacts_replace() {
        let mut task = Task::default();
        apply(&mut task, &Entry::new(Task::new("t", "c", TaskState::Working))).unwrap();
        let chunk = |text: &str| ArtifactUpdate::new("t", "c", Artifact::new(text).id("a"));
        assert!(apply(&mut task, &Entry::new(chunk("early").appended())).is_err());
        for update in [chunk("one"), chunk("two").appended(), chunk("three").appended().last()] {
            apply(&mut task, &Entry::new(update)).unwrap();
        }
        assert_eq!(task.artifacts[0].parts.len(), 3);
        apply(&mut task, &Entry::new(chunk("again"))).unwrap();
        assert_eq!((task.artifacts.len(), task.artifacts[0].parts.len()), (1, 1));
    }
}
