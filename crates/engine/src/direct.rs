//! Direct answers of tasks: the note that whoever began a task, and waited for its end, is answered with a message and not with the task.
//!
//! Such a task was made because the agent took its time. The note is stored with its end, so that a repeated request is answered alike.

use chancery_core::{Message, Remarks, Seq, Task};

/// The name of the note.
const NOTE: &str = "direct";

/// What is noted with the end of such a task.
pub(crate) fn remarks() -> Remarks {
    Remarks::default().put(NOTE, &true)
}

/// The answer to a message that a task took at this place, if it is no task. A repeated request does not know the place.
pub(crate) fn answer(task: &mut Task, seq: Seq) -> Option<Box<Message>> {
    if task.notes.is_empty() || seq > Seq::new(1) || !task.notes.read(NOTE).unwrap_or(false) {
        return None;
    }
    let mut message = task.status.message.take()?;
    message.task_id = None;
    Some(Box::new(message))
}
