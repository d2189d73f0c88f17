//! The transfer additions: a task that was handed over, as its own state and members
//! (`TRANSFERRED`, `transfer`, `transfer_context`) and as extension data.
//!
//! The canonical form is the extension's. The task is completed; its metadata under
//! [`extension::HANDOFF`] says `{"state":"transferred","transfer":{…}}` with camelCase members; its
//! status message says the same in words and carries the same object. A message that starts the
//! receiving task has `{"transferContext":{…}}` under the same key.
//!
//! ```text
//! native      state TRANSFERRED, status.transfer       message.transfer_context     snake_case
//! canonical   state COMPLETED, metadata[HANDOFF]       message.metadata[HANDOFF]    camelCase
//! unaware     state REJECTED, words that name who has the task now
//! ```
//!
//! The compact dialect writes the native form. A client of any version finds a handover with
//! [`Transfer::of`].
//!
//! ```
//! use chancery_core::{Task, TaskState};
//! use chancery_wire::transfer::{self, Transfer};
//!
//! let mut task = Task::new("t-1", "c-1", TaskState::Working);
//! Transfer::new("https://pilots.example", "p-31").apply(&mut task);
//! let native = transfer::encode_native(&task)?;
//! assert_eq!(
//!     String::from_utf8_lossy(&native),
//!     r#"{"id":"t-1","context_id":"c-1","status":{"state":"TRANSFERRED","transfer":{"agent_endpoint":"https://pilots.example","task_id":"p-31"}}}"#
//! );
//! let found = Transfer::of(&transfer::decode_native(&native)?.metadata)?;
//! assert_eq!(found.map(|transfer| transfer.task_id), Some("p-31".into()));
//! # Ok::<(), chancery_core::Error>(())
//! ```

pub(crate) mod answer;
mod handover;
mod native;

use std::borrow::Cow;

use chancery_core::{ContextId, Event, Message, Object, Part, StatusUpdate, Task, TaskId, TaskState, TaskStatus, extension};
use serde::{Deserialize, Deserializer, de};
use serde_json::Value;

pub use handover::Transfer;
pub use native::{decode_native, decode_native_message, encode_native, encode_native_message};

/// How the members of `transfer` and `transfer_context` are spelled in the canonical and in the
/// native form. Members of one word, and members that we do not know, have one spelling.
const NAMES: [(&str, &str); 11] = [
    ("agentEndpoint", "agent_endpoint"),
    ("taskId", "task_id"),
    ("contextId", "context_id"),
    ("cardUrl", "card_url"),
    ("handoffId", "handoff_id"),
    ("originatingTaskId", "originating_task_id"),
    ("originatingAgent", "originating_agent"),
    ("originatingContextId", "originating_context_id"),
    ("outputKeys", "output_keys"),
    ("maxHops", "max_hops"),
    ("onBehalfOf", "on_behalf_of"),
];

/// The state that the native form adds.
pub(crate) const STATE: &str = "TRANSFERRED";

/// The handover of a task, if its metadata says that it was handed over.
pub(crate) fn of(metadata: &Object) -> Option<&Object> {
    let handoff = metadata.get(extension::HANDOFF)?;
    let transferred = handoff.get("state").and_then(Value::as_str).is_some_and(is_transferred);
    handoff.get("transfer").and_then(Value::as_object).filter(|_| transferred)
}

/// Whether a state word is the one for tasks that were handed over.
pub(crate) fn is_transferred(word: &str) -> bool {
    word.eq_ignore_ascii_case(STATE)
}

/// What the native form shows of the metadata of a task or update.
pub(crate) struct NativeMetadata<'a> {
    pub(crate) transfer: Option<Object>,
    pub(crate) metadata: Cow<'a, Object>,
}

/// Takes the handover out of the metadata, where the native form has a member for it.
pub(crate) fn native_metadata(metadata: &Object) -> NativeMetadata<'_> {
    match of(metadata) {
        Some(transfer) => {
            let rest = without(metadata, &["state", "transfer"]);
            NativeMetadata { transfer: Some(snake(transfer)), metadata: Cow::Owned(rest) }
        }
        None => NativeMetadata { transfer: None, metadata: Cow::Borrowed(metadata) },
    }
}

/// What the native form shows of the extension data of a message.
pub(crate) struct NativeMessage<'a> {
    pub(crate) transfer_context: Option<Object>,
    pub(crate) metadata: Cow<'a, Object>,
    pub(crate) extensions: Cow<'a, [String]>,
}

/// Takes the transfer context out of the extension data, where the native form has a member for it.
pub(crate) fn native_message(message: &Message) -> NativeMessage<'_> {
    let context = message.metadata.get(extension::HANDOFF).and_then(|handoff| handoff.get("transferContext")).and_then(Value::as_object);
    match context {
        Some(context) => NativeMessage {
            transfer_context: Some(snake(context)),
            metadata: Cow::Owned(without(&message.metadata, &["transferContext"])),
            extensions: message.extensions.iter().filter(|uri| *uri != extension::HANDOFF).cloned().collect(),
        },
        None => NativeMessage {
            transfer_context: None,
            metadata: Cow::Borrowed(&message.metadata),
            extensions: Cow::Borrowed(&message.extensions),
        },
    }
}

/// Puts a native `transfer_context` into a message as extension data (DIA-002-CTX-002).
pub(crate) fn set_context(message: &mut Message, context: Object) {
    merge(&mut message.metadata, "transferContext", Value::Object(camel(context)));
    announce(message);
}

/// A native `transfer` object: read in either spelling, held in the canonical one. Whom to turn to
/// is all that must be there (DIA-002-XFER-010).
pub(crate) struct ReadTransfer(Object);

impl<'de> Deserialize<'de> for ReadTransfer {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let transfer = camel(Object::deserialize(deserializer)?);
        for (name, native) in &NAMES[..2] {
            if transfer.get(*name).and_then(Value::as_str).is_none_or(str::is_empty) {
                return Err(de::Error::custom(format_args!("{native} is required")));
            }
        }
        Ok(Self(transfer))
    }
}

impl ReadTransfer {
    /// Gives a status and the metadata beside it the canonical form of a handover.
    pub(crate) fn apply(self, status: &mut TaskStatus, metadata: &mut Object, task: &TaskId, context: &ContextId) {
        status.state = TaskState::Completed;
        let words = words(&self.0);
        let message = status.message.get_or_insert_with(|| said_of(words, task, context));
        for metadata in [&mut message.metadata, metadata] {
            merge(metadata, "state", "transferred".into());
            merge(metadata, "transfer", Value::Object(self.0.clone()));
        }
        announce(message);
    }
}

/// A task as a client sees it that did not activate the extension, when nothing is relayed: the
/// agent declined, and says who has the task now (DIA-002-XFER-009). Other tasks are left as they
/// are.
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
pub(crate) fn for_unaware(task: &Task) -> Cow<'_, Task> {
    let mut task = Cow::Borrowed(task);
    if of(&task.metadata).is_some() {
        unaware(task.to_mut());
    }
    task
}

/// As [`unaware`], for any event.
pub(crate) fn event_for_unaware(event: &Event) -> Cow<'_, Event> {
    let metadata = match event {
        Event::Task(task) => &task.metadata,
        Event::Status(update) => &update.metadata,
        _ => return Cow::Borrowed(event),
    };
    if of(metadata).is_none() {
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
    let Some(transfer) = of(metadata) else { return };
    let (words, target) = (words(transfer), text(transfer, "agentEndpoint").to_owned());
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
pub(crate) fn words(transfer: &Object) -> String {
    format!("Handed over to {}, task {}.", text(transfer, "agentEndpoint"), text(transfer, "taskId"))
}

fn said_of(words: String, task: &TaskId, context: &ContextId) -> Message {
    let mut message = Message::agent(words);
    (message.task_id, message.context_id) = (task.clone().present(), context.clone().present());
    message
}

/// A member of a transfer, in either spelling.
fn text<'a>(transfer: &'a Object, name: &str) -> &'a str {
    let native = NAMES.iter().find(|(camel, _)| *camel == name).map_or(name, |(_, snake)| snake);
    transfer.get(name).or_else(|| transfer.get(native)).and_then(Value::as_str).unwrap_or("?")
}

/// Names the extension in a message that carries its data.
fn announce(message: &mut Message) {
    if !message.extensions.iter().any(|uri| uri == extension::HANDOFF) {
        message.extensions.push(extension::HANDOFF.to_owned());
    }
}

/// Sets one member of the extension's data and leaves the others.
fn merge(metadata: &mut Object, member: &str, value: Value) {
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

/// The metadata without these members of the extension's data, and without that data when nothing
/// else is in it.
fn without(metadata: &Object, members: &[&str]) -> Object {
    let mut metadata = metadata.clone();
    if let Some(Value::Object(handoff)) = metadata.get_mut(extension::HANDOFF) {
        handoff.retain(|member, _| !members.contains(&member.as_str()));
        if handoff.is_empty() {
            metadata.remove(extension::HANDOFF);
        }
    }
    metadata
}

/// Members in the canonical spelling, one level deep: what is below belongs to the agents.
fn camel(object: Object) -> Object {
    let name = |key: String| NAMES.iter().find(|(_, snake)| *snake == key).map_or(key, |(camel, _)| (*camel).to_owned());
    object.into_iter().map(|(key, value)| (name(key), value)).collect()
}

/// Members in the native spelling, one level deep.
fn snake(object: &Object) -> Object {
    let name = |key: &String| NAMES.iter().find(|(camel, _)| camel == key).map_or(key.as_str(), |(_, snake)| snake).to_owned();
    object.iter().map(|(key, value)| (name(key), value.clone())).collect()
}
