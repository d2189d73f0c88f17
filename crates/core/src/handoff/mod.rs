//! Handing a task over to another agent: what is written about it in tasks, updates and messages.
//!
//! v1.0 has no state and no member for it, so it rides in metadata under [`extension::HANDOFF`]. The
//! originating task is completed, and its metadata says `{"state":"transferred","transfer":{…}}`; its status
//! message says the same in words and carries the same object. A message that starts the receiving task has
//! `{"transferContext":{…}}` under the same key. Members are camelCase; both spellings are read.

mod address;
mod context;
mod transfer;

use std::borrow::Cow;

use serde::{Deserializer, Serialize, de};
use serde_json::{Map, Value};

pub use address::same_agent;
pub use context::{ChainEntry, OnBehalfOf, Passage, Trail, TransferContext};
pub use transfer::{Grant, Transfer};

use crate::{
    event::{Event, StatusUpdate},
    extension,
    id::{ContextId, TaskId},
    json::{self, Object},
    message::Message,
    part::Part,
    task::{Task, TaskState, TaskStatus},
};

/// The most bytes that an object of an extension may have as JSON.
pub const MAX_BYTES: usize = 64 * 1024;
/// How deep an object of an extension may be nested.
pub const MAX_DEPTH: usize = 32;

/// The handover that metadata speaks of, as it was written; `None` when it speaks of none.
#[must_use]
pub fn transferred(metadata: &Object) -> Option<&Map<String, Value>> {
    let handoff = metadata.get(extension::HANDOFF)?;
    let state = handoff.get("state").and_then(Value::as_str)?;
    handoff.get("transfer").and_then(Value::as_object).filter(|_| state.eq_ignore_ascii_case("transferred"))
}

/// Gives a status and the metadata beside it the canonical form of a handover; `transfer` has camelCase members.
pub fn mark(status: &mut TaskStatus, metadata: &mut Object, transfer: Object, task: &TaskId, context: &ContextId) {
    status.state = TaskState::Completed;
    let words = words(&transfer);
    let message = status.message.get_or_insert_with(|| said_of(words, task, context));
    for metadata in [&mut message.metadata, metadata] {
        set(metadata, "state", "transferred".into());
        set(metadata, "transfer", transfer.clone().into());
    }
    announce(message);
}

/// A task as a client sees it that did not activate the extension, when nothing is relayed: the agent
/// declined, and says who has the task now. Other tasks are left as they are.
pub fn unaware(task: &mut Task) {
    let (id, context) = (task.id.clone(), task.context_id.clone());
    strip(&mut task.status, &mut task.metadata, &id, &context);
}

/// As [`unaware`], for the status update that announces the handover.
pub fn unaware_update(update: &mut StatusUpdate) {
    let (id, context) = (update.task_id.clone(), update.context_id.clone());
    strip(&mut update.status, &mut update.metadata, &id, &context);
}

/// As [`unaware`], for those who hold the task.
#[must_use]
pub fn for_unaware(task: &Task) -> Cow<'_, Task> {
    let mut task = Cow::Borrowed(task);
    if transferred(&task.metadata).is_some() {
        unaware(task.to_mut());
    }
    task
}

/// As [`unaware`], for any event.
#[must_use]
pub fn event_for_unaware(event: &Event) -> Cow<'_, Event> {
    let metadata = match event {
        Event::Task(task) => &task.metadata,
        Event::Status(update) => &update.metadata,
        _ => return Cow::Borrowed(event),
    };
    if transferred(metadata).is_none() {
        return Cow::Borrowed(event);
    }
    let mut event = event.clone();
    match &mut event {
        Event::Task(task) => unaware(task),
        Event::Status(update) => unaware_update(update),
        _ => {}
    }
    Cow::Owned(event)
}

fn strip(status: &mut TaskStatus, metadata: &mut Object, task: &TaskId, context: &ContextId) {
    let Some(transfer) = transferred(metadata) else { return };
    let (words, target) = (words(transfer), text(transfer, "agentEndpoint", "agent_endpoint").to_owned());
    metadata.remove(extension::HANDOFF);
    status.state = TaskState::Rejected;
    let message = status.message.get_or_insert_with(|| said_of(words.clone(), task, context));
    // The agent may have chosen its own words; the reader must find the way nevertheless.
    if !message.text().contains(&target) {
        message.parts.push(Part::text(words));
    }
    message.metadata.remove(extension::HANDOFF);
    message.extensions.retain(|uri| uri != extension::HANDOFF);
}

/// The words for people who read a handover without knowing the extension.
#[must_use]
pub fn words(transfer: &Map<String, Value>) -> String {
    let (agent, task) = (text(transfer, "agentEndpoint", "agent_endpoint"), text(transfer, "taskId", "task_id"));
    format!("Handed over to {agent}, task {task}.")
}

fn said_of(words: String, task: &TaskId, context: &ContextId) -> Message {
    let mut message = Message::agent(words);
    (message.task_id, message.context_id) = (task.clone().present(), context.clone().present());
    message
}

/// A member of a transfer, in either spelling.
fn text<'a>(transfer: &'a Map<String, Value>, name: &str, native: &str) -> &'a str {
    transfer.get(name).or_else(|| transfer.get(native)).and_then(Value::as_str).unwrap_or("?")
}

/// Names the extension in a message that carries its data.
pub fn announce(message: &mut Message) {
    if !message.extensions.iter().any(|uri| uri == extension::HANDOFF) {
        message.extensions.push(extension::HANDOFF.to_owned());
    }
}

/// Sets one member of the extension's data and leaves the others.
pub fn set(metadata: &mut Object, member: &str, value: Value) {
    match metadata.get_mut(extension::HANDOFF) {
        Some(Value::Object(handoff)) => {
            handoff.insert(member.to_owned(), value);
        }
        _ => {
            let handoff = Object::from_iter([(member.to_owned(), value)]);
            metadata.insert(extension::HANDOFF.to_owned(), handoff.into());
        }
    }
}

/// The members of a value that is written as an object.
fn members(value: &impl Serialize) -> Object {
    match serde_json::to_value(value) {
        Ok(Value::Object(members)) => members.into(),
        // Strings, numbers and JSON always make an object.
        _ => Object::new(),
    }
}

/// The number of a hop, in any spelling of numbers.
fn hop<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u32>, D::Error> {
    let number = json::int32(deserializer)?;
    number.map(|number| u32::try_from(number).map_err(|_| de::Error::custom("a hop is 0 or more"))).transpose()
}
