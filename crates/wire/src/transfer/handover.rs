//! A handover as a type: what a client follows and what an agent declares.

use std::fmt;

use chancery_core::{ContextId, Error, ErrorKind, Object, Result, Task, TaskId, json as proto_json};
use serde::{Deserialize, Deserializer, Serialize, de};
use serde_json::Value;

use super::{ReadTransfer, camel, of};
use crate::object::Objects;

/// To whom a task was handed over.
#[derive(Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Transfer {
    /// The base URL of the agent that has the task now.
    pub agent_endpoint: String,
    /// The task there; it existed before this one ended.
    pub task_id: TaskId,
    /// Why, for people; empty when not given.
    #[serde(default, deserialize_with = "proto_json::or_default", skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// The name of this handover, the same on both sides; empty when not given.
    #[serde(default, deserialize_with = "proto_json::or_default", skip_serializing_if = "String::is_empty")]
    pub handoff_id: String,
    /// The number of this handover in the chain, from 1.
    #[serde(default, deserialize_with = "hop", skip_serializing_if = "Option::is_none")]
    pub hop: Option<u32>,
    /// The conversation there.
    #[serde(default, deserialize_with = "proto_json::non_empty", skip_serializing_if = "Option::is_none")]
    pub context_id: Option<ContextId>,
    /// Where the card is, when it is not below the endpoint; empty when it is.
    #[serde(default, deserialize_with = "proto_json::or_default", skip_serializing_if = "String::is_empty")]
    pub card_url: String,
    /// Everything else: `interface`, `grant`, and members that only the agents know.
    #[serde(flatten)]
    pub other: Object,
}

impl Transfer {
    /// A handover to a task of another agent.
    pub fn new(agent_endpoint: impl Into<String>, task: impl Into<TaskId>) -> Self {
        Self { agent_endpoint: agent_endpoint.into(), task_id: task.into(), ..Self::default() }
    }

    /// Says why.
    #[must_use]
    pub fn reason(mut self, reason: impl Into<String>) -> Self {
        self.reason = reason.into();
        self
    }

    /// Names the handover and its number in the chain.
    #[must_use]
    pub fn handoff(mut self, id: impl Into<String>, hop: u32) -> Self {
        (self.handoff_id, self.hop) = (id.into(), Some(hop));
        self
    }

    /// The handover that the metadata of a task or of a status update speaks of; `None` when it
    /// speaks of none. Look here before taking a completed task for finished work.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidAgentResponse`] when it speaks of one without saying to whom.
    pub fn of(metadata: &Object) -> Result<Option<Self>> {
        let Some(transfer) = of(metadata) else { return Ok(None) };
        let read = Self::deserialize(Objects(Value::Object(camel(transfer.clone())))).map_err(unusable)?;
        if read.agent_endpoint.is_empty() || read.task_id.is_empty() {
            return Err(unusable("agentEndpoint and taskId are required"));
        }
        Ok(Some(read))
    }

    /// Gives a task the canonical form of one that was handed over.
    pub fn apply(&self, task: &mut Task) {
        let (id, context) = (task.id.clone(), task.context_id.clone());
        ReadTransfer(self.to_object()).apply(&mut task.status, &mut task.metadata, &id, &context);
    }

    fn to_object(&self) -> Object {
        match serde_json::to_value(self) {
            Ok(Value::Object(members)) => members,
            // Strings, numbers and JSON always make an object.
            _ => Object::new(),
        }
    }
}

fn unusable(source: impl Into<chancery_core::BoxError>) -> Error {
    Error::new(ErrorKind::InvalidAgentResponse, "the agent handed the task over without saying to whom").caused_by(source)
}

fn hop<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u32>, D::Error> {
    let number = proto_json::int32(deserializer)?;
    number.map(|number| u32::try_from(number).map_err(|_| de::Error::custom("hop is 1 or more"))).transpose()
}

/// Shows only the names of the other members: a grant holds a token.
impl fmt::Debug for Transfer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Transfer")
            .field("agent_endpoint", &self.agent_endpoint)
            .field("task_id", &self.task_id)
            .field("reason", &self.reason)
            .field("handoff_id", &self.handoff_id)
            .field("hop", &self.hop)
            .field("context_id", &self.context_id)
            .field("card_url", &self.card_url)
            .field("other", &self.other.keys())
            .finish()
    }
}
