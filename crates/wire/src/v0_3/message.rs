//! Messages.

use std::fmt;

use chancery_core::{ContextId, Message, MessageId, Object, Part, Result, Role, TaskId, json as proto_json};
use serde::{Deserialize, Deserializer, Serialize, de};

use super::{
    each::Each,
    kind::Kind,
    part::{ReadPart, WritePart},
};

pub(super) struct ReadMessage(pub(super) Message);

impl<'de> Deserialize<'de> for ReadMessage {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Members {
            kind: Option<Kind>,
            #[serde(alias = "message_id")]
            message_id: Option<MessageId>,
            role: Option<ReadRole>,
            parts: Option<Vec<ReadPart>>,
            #[serde(default, alias = "context_id", deserialize_with = "proto_json::non_empty")]
            context_id: Option<ContextId>,
            #[serde(default, alias = "task_id", deserialize_with = "proto_json::non_empty")]
            task_id: Option<TaskId>,
            #[serde(alias = "reference_task_ids")]
            reference_task_ids: Option<Vec<TaskId>>,
            extensions: Option<Vec<String>>,
            metadata: Option<Object>,
        }
        let members = Members::deserialize(deserializer)?;
        Kind::Message.expect(members.kind)?;
        let mut message = Message::default();
        message.message_id = members.message_id.unwrap_or_default();
        message.role = members.role.map(|role| role.0).unwrap_or_default();
        message.parts = members.parts.unwrap_or_default().into_iter().map(|part| part.0).collect();
        message.context_id = members.context_id;
        message.task_id = members.task_id;
        message.reference_task_ids = members.reference_task_ids.unwrap_or_default();
        message.extensions = members.extensions.unwrap_or_default();
        message.metadata = members.metadata.unwrap_or_default();
        Ok(Self(message))
    }
}

struct ReadRole(Role);

impl<'de> Deserialize<'de> for ReadRole {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Word;
        impl de::Visitor<'_> for Word {
            type Value = ReadRole;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("user or agent")
            }
            fn visit_str<E: de::Error>(self, word: &str) -> Result<ReadRole, E> {
                match word {
                    "user" => Ok(ReadRole(Role::User)),
                    "agent" => Ok(ReadRole(Role::Agent)),
                    word => Err(E::custom(format_args!("unknown role {word}, expected user or agent"))),
                }
            }
        }
        deserializer.deserialize_str(Word)
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct WriteMessage<'a> {
    kind: &'static str,
    message_id: &'a MessageId,
    role: &'static str,
    parts: Each<'a, Part, WritePart<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    context_id: Option<&'a ContextId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    task_id: Option<&'a TaskId>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    reference_task_ids: &'a [TaskId],
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    extensions: &'a [String],
    #[serde(skip_serializing_if = "Object::is_empty")]
    metadata: &'a Object,
}

impl<'a> WriteMessage<'a> {
    pub(super) fn of(message: &'a Message) -> Self {
        Self {
            kind: Kind::Message.as_str(),
            message_id: &message.message_id,
            role: match message.role {
                Role::User => "user",
                Role::Agent | Role::Unspecified => "agent",
            },
            parts: Each(&message.parts, WritePart::of),
            context_id: message.context_id.as_ref(),
            task_id: message.task_id.as_ref(),
            reference_task_ids: &message.reference_task_ids,
            extensions: &message.extensions,
            metadata: &message.metadata,
        }
    }
}
