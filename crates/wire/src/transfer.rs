//! The transfer additions: a task that was handed over, as its own state and members
//! (`TRANSFERRED`, `transfer`, `transfer_context`) and as extension data.
//!
//! The canonical form is the extension's: the task is completed, and its metadata under
//! [`extension::HANDOFF`] says `{"state":"transferred","transfer":{…}}`, with camelCase members. The
//! native form spells the members in snake_case.

use chancery_core::{Message, Object, Task, TaskState, TaskStatus, extension};
use serde_json::Value;

/// The handoff of a task, if its metadata says that it was handed over.
pub(crate) fn of(metadata: &Object) -> Option<&Object> {
    let handoff = metadata.get(extension::HANDOFF)?;
    let transferred = handoff.get("state").and_then(Value::as_str).is_some_and(|state| state.eq_ignore_ascii_case("transferred"));
    handoff.get("transfer").and_then(Value::as_object).filter(|_| transferred)
}

/// The extension data of a handover, from the native `transfer` object in either spelling.
pub(crate) fn to_metadata(transfer: Object) -> Value {
    serde_json::json!({"state": "transferred", "transfer": camel(transfer)})
}

/// The extension data of a message's context, from the native `transfer_context` object.
pub(crate) fn context_to_metadata(context: Object) -> Value {
    serde_json::json!({"transferContext": camel(context)})
}

/// The native `transfer_context` of a message that carries one as extension data.
pub(crate) fn context_of(message: &Message) -> Option<Object> {
    let context = message.metadata.get(extension::HANDOFF)?.get("transferContext")?.as_object()?;
    Some(snake(context))
}

/// Puts a native `transfer_context` into a message as extension data.
pub(crate) fn set_context(message: &mut Message, context: Object) {
    message.metadata.insert(extension::HANDOFF.to_owned(), context_to_metadata(context));
    if !message.extensions.iter().any(|uri| uri == extension::HANDOFF) {
        message.extensions.push(extension::HANDOFF.to_owned());
    }
}

/// The words for people who read a handover without knowing the extension.
pub(crate) fn words(transfer: &Object) -> String {
    let text = |key: &str| transfer.get(key).and_then(Value::as_str).unwrap_or("?");
    format!("Handed over to {}, task {}.", text("agentEndpoint"), text("taskId"))
}

/// A task as a client sees it that did not activate the extension, when nothing is relayed: the
/// agent declined, and says who has the task now. Other tasks are left as they are.
pub fn unaware(task: &mut Task) {
    let Some(words) = of(&task.metadata).map(words) else { return };
    task.metadata.remove(extension::HANDOFF);
    strip(&mut task.status, &words, task.context_id.as_str(), task.id.as_str());
}

/// As [`unaware`], for the status update that announces the handover.
pub fn unaware_update(update: &mut chancery_core::StatusUpdate) {
    let Some(words) = of(&update.metadata).map(words) else { return };
    update.metadata.remove(extension::HANDOFF);
    strip(&mut update.status, &words, update.context_id.as_str(), update.task_id.as_str());
}

fn strip(status: &mut TaskStatus, words: &str, context: &str, task: &str) {
    status.state = TaskState::Rejected;
    let message = status.message.get_or_insert_with(|| Message::agent(words).in_context(context).to_task(task));
    message.metadata.remove(extension::HANDOFF);
    message.extensions.retain(|uri| uri != extension::HANDOFF);
}

/// Members renamed to camelCase, one level deep: what is below belongs to the agents.
pub(crate) fn camel(object: Object) -> Object {
    object.into_iter().map(|(key, value)| (to_camel(&key), value)).collect()
}

/// Members renamed to snake_case, one level deep.
pub(crate) fn snake(object: &Object) -> Object {
    object.iter().map(|(key, value)| (to_snake(key), value.clone())).collect()
}

pub(crate) fn to_camel(name: &str) -> String {
    let mut words = name.split('_');
    let first = words.next().unwrap_or_default().to_owned();
    words.fold(first, |mut name, word| {
        let mut letters = word.chars();
        name.extend(letters.next().map(|letter| letter.to_ascii_uppercase()));
        name.push_str(letters.as_str());
        name
    })
}

fn to_snake(name: &str) -> String {
    name.chars().fold(String::with_capacity(name.len() + 4), |mut snake, letter| {
        if letter.is_ascii_uppercase() {
            snake.push('_');
        }
        snake.push(letter.to_ascii_lowercase());
        snake
    })
}
