//! A handover as a type: what a client follows and what an agent declares.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{mark, members, transferred};
use crate::{
    card::Interface,
    error::{BoxError, Error, ErrorKind, Result},
    extension,
    id::{ContextId, TaskId},
    json::{self, Object},
    secret::Secret,
    task::Task,
    time::Timestamp,
};

/// To whom a task was handed over.
#[derive(Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Transfer {
    /// The base URL of the agent that has the task now.
    #[serde(alias = "agent_endpoint")]
    pub agent_endpoint: String,
    /// The task there; it existed before this one ended.
    #[serde(alias = "task_id")]
    pub task_id: TaskId,
    /// Why, for people; empty when not given.
    #[serde(default, deserialize_with = "json::or_default", skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// The name of this handover, the same on both sides; empty when not given.
    #[serde(default, alias = "handoff_id", deserialize_with = "json::or_default", skip_serializing_if = "String::is_empty")]
    pub handoff_id: String,
    /// The number of this handover in the chain, from 1.
    #[serde(default, deserialize_with = "super::hop", skip_serializing_if = "Option::is_none")]
    pub hop: Option<u32>,
    /// The conversation there.
    #[serde(default, alias = "context_id", deserialize_with = "json::non_empty", skip_serializing_if = "Option::is_none")]
    pub context_id: Option<ContextId>,
    /// Where the card is, when it is not below the endpoint; empty when it is.
    #[serde(default, alias = "card_url", deserialize_with = "json::or_default", skip_serializing_if = "String::is_empty")]
    pub card_url: String,
    /// The interface that was used; a hint.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interface: Option<Box<Interface>>,
    /// Opens the task there for whoever shows it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grant: Option<Grant>,
    /// Members that only the agents know.
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

    /// Adds the key to the task there.
    #[must_use]
    pub fn grant(mut self, grant: Grant) -> Self {
        self.grant = Some(grant);
        self
    }

    /// The handover that the metadata of a task or of a status update speaks of; `None` when it
    /// speaks of none. Look here before taking a completed task for finished work.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidAgentResponse`] when it speaks of one without saying to whom.
    pub fn of(metadata: &Object) -> Result<Option<Self>> {
        let Some(transfer) = transferred(metadata) else { return Ok(None) };
        let read: Self = serde_json::from_value(Value::Object(transfer.clone())).map_err(unusable)?;
        if read.agent_endpoint.is_empty() || read.task_id.is_empty() {
            return Err(unusable("agentEndpoint and taskId are required"));
        }
        Ok(Some(read))
    }

    /// Gives a task the canonical form of one that was handed over.
    pub fn apply(&self, task: &mut Task) {
        let (id, context) = (task.id.clone(), task.context_id.clone());
        mark(&mut task.status, &mut task.metadata, self.to_object(), &id, &context);
    }

    /// Its members, in the canonical spelling.
    #[must_use]
    pub fn to_object(&self) -> Object {
        members(self)
    }
}

/// Opens one task for whoever shows it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[non_exhaustive]
pub struct Grant {
    /// How it is shown; `bearer` is the only kind there is.
    #[serde(rename = "type", deserialize_with = "json::or_default", skip_serializing_if = "String::is_empty")]
    pub kind: String,
    /// The key itself.
    pub token: Secret,
    /// Until when it opens the task.
    #[serde(alias = "expires_at", skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Timestamp>,
}

impl Grant {
    /// The header that shows a grant.
    pub const HEADER: &'static str = "a2a-task-grant";

    /// A key that whoever has it may use until then.
    pub fn bearer(token: impl Into<Secret>, expires_at: Timestamp) -> Self {
        Self { kind: "bearer".to_owned(), token: token.into(), expires_at: Some(expires_at) }
    }

    /// The grant that comes with a task of an agent that was just handed it; one that cannot be read is as good as none.
    #[must_use]
    pub fn of(metadata: &Object) -> Option<Self> {
        let grant = metadata.get(extension::HANDOFF)?.get("grant")?;
        serde_json::from_value(grant.clone()).ok().filter(|grant: &Self| !grant.token.is_empty())
    }

    /// Puts the grant into the metadata of a task.
    pub fn put(&self, metadata: &mut Object) {
        super::set(metadata, "grant", members(self).into());
    }
}

fn unusable(source: impl Into<BoxError>) -> Error {
    Error::new(ErrorKind::InvalidAgentResponse, "the agent handed the task over without saying to whom").caused_by(source)
}

/// Shows only the names of the other members, which only the agents know.
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
            .field("interface", &self.interface)
            .field("grant", &self.grant)
            .field("other", &self.other.keys())
            .finish()
    }
}
