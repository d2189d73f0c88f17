//! Messages: one turn of the conversation between a client and an agent.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    id::{ContextId, MessageId, TaskId},
    json::{self, Object},
    part::Part,
    proto_enum::proto_enum,
};

proto_enum! {
    /// Who wrote a message.
    Role, "role" {
        /// Not said; never sent, refused by validation.
        #[default]
        Unspecified = 0, "ROLE_UNSPECIFIED";
        /// The client.
        User = 1, "ROLE_USER";
        /// The agent.
        Agent = 2, "ROLE_AGENT";
    }
}

/// One turn of the conversation.
///
/// ```
/// use chancery_core::{Message, Part};
/// let message = Message::user("Check this invoice.")
///     .part(Part::raw("Total 120,00").filename("invoice.txt"))
///     .in_context("c-1");
/// assert_eq!(message.text(), "Check this invoice.");
/// ```
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[non_exhaustive]
pub struct Message {
    /// Made by the sender, unique for it.
    #[serde(alias = "message_id", deserialize_with = "json::or_default")]
    pub message_id: MessageId,
    /// The conversation it belongs to.
    #[serde(alias = "context_id", deserialize_with = "json::non_empty", skip_serializing_if = "Option::is_none")]
    pub context_id: Option<ContextId>,
    /// The task it belongs to.
    #[serde(alias = "task_id", deserialize_with = "json::non_empty", skip_serializing_if = "Option::is_none")]
    pub task_id: Option<TaskId>,
    /// Who wrote it.
    pub role: Role,
    /// The content; at least one part.
    #[serde(deserialize_with = "json::or_default")]
    pub parts: Vec<Part>,
    /// Extension values, keyed by extension URI, and other facts.
    #[serde(deserialize_with = "json::or_default", skip_serializing_if = "Object::is_empty")]
    pub metadata: Object,
    /// URIs of the extensions that contributed to this message.
    #[serde(deserialize_with = "json::or_default", skip_serializing_if = "Vec::is_empty")]
    pub extensions: Vec<String>,
    /// Other tasks the agent should consult.
    #[serde(alias = "reference_task_ids", deserialize_with = "json::or_default", skip_serializing_if = "Vec::is_empty")]
    pub reference_task_ids: Vec<TaskId>,
}

impl Message {
    /// A message with a fresh id.
    #[must_use]
    pub fn new(role: Role, parts: Vec<Part>) -> Self {
        Self { message_id: MessageId::generate(), role, parts, ..Self::default() }
    }

    /// A message from the client, with one part.
    pub fn user(part: impl Into<Part>) -> Self {
        Self::new(Role::User, vec![part.into()])
    }

    /// A message from the agent, with one part.
    pub fn agent(part: impl Into<Part>) -> Self {
        Self::new(Role::Agent, vec![part.into()])
    }

    /// Sets the id.
    #[must_use]
    pub fn id(mut self, id: impl Into<MessageId>) -> Self {
        self.message_id = id.into();
        self
    }

    /// Adds a part.
    #[must_use]
    pub fn part(mut self, part: impl Into<Part>) -> Self {
        self.parts.push(part.into());
        self
    }

    /// Puts the message into a conversation.
    #[must_use]
    pub fn in_context(mut self, context: impl Into<ContextId>) -> Self {
        self.context_id = Some(context.into());
        self
    }

    /// Addresses the message to an existing task.
    #[must_use]
    pub fn to_task(mut self, task: impl Into<TaskId>) -> Self {
        self.task_id = Some(task.into());
        self
    }

    /// Adds one metadata entry.
    #[must_use]
    pub fn metadata(mut self, key: impl Into<String>, value: impl Into<Value>) -> Self {
        self.metadata.insert(key.into(), value.into());
        self
    }

    /// Names an extension that contributed to this message.
    #[must_use]
    pub fn extension(mut self, uri: impl Into<String>) -> Self {
        self.extensions.push(uri.into());
        self
    }

    /// Names another task the agent should consult.
    #[must_use]
    pub fn referring_to(mut self, task: impl Into<TaskId>) -> Self {
        self.reference_task_ids.push(task.into());
        self
    }

    /// All text parts, joined by line breaks.
    #[must_use]
    pub fn text(&self) -> String {
        let texts: Vec<_> = self.parts.iter().filter_map(Part::as_text).collect();
        texts.join("\n")
    }
}

impl From<&str> for Message {
    fn from(text: &str) -> Self {
        Self::user(text)
    }
}

impl From<String> for Message {
    fn from(text: String) -> Self {
        Self::user(text)
    }
}
