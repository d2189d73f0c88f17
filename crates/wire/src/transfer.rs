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
mod native;

use std::borrow::Cow;

use chancery_core::{ContextId, Message, Object, TaskId, TaskStatus, extension, handoff};
use serde::{Deserialize, Deserializer, de};
use serde_json::{Map, Value};

pub use chancery_core::handoff::{Transfer, unaware, unaware_update};
pub(crate) use chancery_core::handoff::{event_for_unaware, for_unaware, transferred as of, words};
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
    handoff::set(&mut message.metadata, "transferContext", camel(context).into());
    handoff::announce(message);
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
        handoff::mark(status, metadata, self.0, task, context);
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
fn snake(object: &Map<String, Value>) -> Object {
    let name = |key: &String| NAMES.iter().find(|(camel, _)| camel == key).map_or(key.as_str(), |(_, snake)| snake).to_owned();
    object.iter().map(|(key, value)| (name(key), value.clone())).collect()
}
