//! One task for readers of v0.1, v0.2 and v0.3 alike.

use std::borrow::Cow;

use chancery_core::{Error, Message, Result, Task, TaskState};
use serde_json::Value;

use super::task::WriteTask;
use crate::json;

/// Writes a task so that clients of v0.1, v0.2 and v0.3 can all read it.
///
/// `tasks/get` and `tasks/cancel` have the same name in these versions and different answers; this
/// is the answer of a server that cannot know who asks. Parts have `kind` and `type`, the
/// conversation is `contextId` and `sessionId`, artifacts have `artifactId`, `id` and `index`. The
/// state is one that v0.1 knows too.
///
/// ```
/// use chancery_core::{Task, TaskState};
/// let json = chancery_wire::hybrid_task(&Task::new("t-1", "c-1", TaskState::Working))?;
/// let task: serde_json::Value = serde_json::from_slice(&json).unwrap();
/// assert_eq!(task["contextId"], task["sessionId"]);
/// # Ok::<(), chancery_core::Error>(())
/// ```
///
/// # Errors
/// Does not happen for tasks that the protocol allows.
pub fn hybrid_task(task: &Task) -> Result<Vec<u8>> {
    // Rarely asked for, so it may take the way over a tree.
    let mut hybrid = serde_json::to_value(WriteTask::of(&in_common_words(task))).map_err(Error::internal)?;
    for (index, artifact) in hybrid.get_mut("artifacts").and_then(Value::as_array_mut).into_iter().flatten().enumerate() {
        add_types(artifact);
        artifact["id"] = artifact["artifactId"].clone();
        artifact["index"] = index.into();
    }
    hybrid.get_mut("history").and_then(Value::as_array_mut).into_iter().flatten().for_each(add_types);
    hybrid.pointer_mut("/status/message").into_iter().for_each(add_types);
    hybrid["sessionId"] = hybrid["contextId"].clone();
    json::write(&hybrid)
}

/// Gives every part of a message or artifact a `type` beside its `kind`.
fn add_types(holder: &mut Value) {
    for part in holder.get_mut("parts").and_then(Value::as_array_mut).into_iter().flatten() {
        part["type"] = part["kind"].clone();
    }
}

/// The task in a state that v0.1 knows, with words for what the state no longer says
/// (CONV-STATE-001, CONV-STATE-003).
fn in_common_words(task: &Task) -> Cow<'_, Task> {
    let (state, words) = match task.status.state {
        TaskState::Rejected => (TaskState::Failed, "Rejected by the agent."),
        TaskState::AuthRequired => (TaskState::InputRequired, "Authentication required."),
        _ => return Cow::Borrowed(task),
    };
    let mut common = task.clone();
    common.status.state = state;
    common.status.message.get_or_insert_with(|| {
        // The same task must be the same text each time, so the id is not a fresh one.
        Message::agent(words).id(format!("{}-status", task.id)).in_context(task.context_id.clone()).to_task(task.id.clone())
    });
    Cow::Owned(common)
}
