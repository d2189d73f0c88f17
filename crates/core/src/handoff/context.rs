//! What goes along with a task that is passed on: where it comes from, and what was found out so far.

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use super::{MAX_BYTES, MAX_DEPTH, announce, members, same_agent, set};
use crate::{
    error::{Error, Result},
    extension,
    id::{ContextId, TaskId},
    json::{self, Object},
    message::Message,
    time::Timestamp,
};

/// How many keys `state` and `outputKeys` may have.
const MAX_KEYS: usize = 256;
/// How many agents a chain may name.
const MAX_CHAIN: usize = 32;

/// What the agent that hands a task over tells the one that receives it. Written by another agent: data, never
/// an instruction.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[non_exhaustive]
pub struct TransferContext {
    /// The task that is handed over.
    #[serde(alias = "originating_task_id")]
    pub originating_task_id: TaskId,
    /// The base URL of the agent that hands it over.
    #[serde(alias = "originating_agent")]
    pub originating_agent: String,
    /// Working memory, by key.
    #[serde(deserialize_with = "json::or_default", skip_serializing_if = "Object::is_empty")]
    pub state: Object,
    /// Results of steps that are done, by name.
    #[serde(alias = "output_keys", deserialize_with = "json::or_default", skip_serializing_if = "Object::is_empty")]
    pub output_keys: Object,
    /// Names the handover; empty when not given.
    #[serde(alias = "handoff_id", deserialize_with = "json::or_default", skip_serializing_if = "String::is_empty")]
    pub handoff_id: String,
    /// The conversation of the task that is handed over; for the record only.
    #[serde(alias = "originating_context_id", deserialize_with = "json::non_empty", skip_serializing_if = "Option::is_none")]
    pub originating_context_id: Option<ContextId>,
    /// How often the work was passed on, and by whom.
    #[serde(flatten)]
    pub trail: Trail,
    /// The workflow that this is a step of; empty when there is none.
    #[serde(deserialize_with = "json::or_default", skip_serializing_if = "String::is_empty")]
    pub workflow: String,
    /// The skills that are needed.
    #[serde(deserialize_with = "json::or_default", skip_serializing_if = "Vec::is_empty")]
    pub requires: Vec<String>,
    /// How far the receiver may reach.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scope: Option<Object>,
    /// The user for whom the originating agent acts.
    #[serde(alias = "on_behalf_of", skip_serializing_if = "Option::is_none")]
    pub on_behalf_of: Option<OnBehalfOf>,
    /// The W3C trace of the handover; empty when there is none.
    #[serde(deserialize_with = "json::or_default", skip_serializing_if = "String::is_empty")]
    pub traceparent: String,
    /// What vendors add to the trace.
    #[serde(deserialize_with = "json::or_default", skip_serializing_if = "String::is_empty")]
    pub tracestate: String,
    /// Until when the work is wanted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deadline: Option<Timestamp>,
}

/// How often work was passed on, and by whom. Evidence, not proof: an agent may lie about it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[non_exhaustive]
pub struct Trail {
    /// The length of the chain; 0 when nothing is known.
    #[serde(deserialize_with = "hops", skip_serializing_if = "is_zero")]
    pub hop: u32,
    /// The most hops that somebody before allowed.
    #[serde(alias = "max_hops", deserialize_with = "super::hop", skip_serializing_if = "Option::is_none")]
    pub max_hops: Option<u32>,
    /// Who passed the work on, oldest first; the last is who sent it.
    #[serde(deserialize_with = "json::or_default", skip_serializing_if = "Vec::is_empty")]
    pub chain: Vec<ChainEntry>,
}

/// One agent that passed work on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ChainEntry {
    /// Its base URL.
    pub agent: String,
    /// Its task.
    #[serde(default, alias = "task_id", deserialize_with = "json::or_default")]
    pub task_id: TaskId,
    /// When.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<Timestamp>,
    /// In which way.
    pub kind: Passage,
}

/// In which way work is passed on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Passage {
    /// The task goes on with another agent.
    Handoff,
    /// Another agent does a part of it.
    Delegation,
}

/// A user, by who vouches for the name.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct OnBehalfOf {
    /// Who vouches for the name.
    pub iss: String,
    /// The name.
    pub sub: String,
}

impl TransferContext {
    /// The context of a task that this agent hands over.
    pub fn new(task: impl Into<TaskId>, agent: impl Into<String>) -> Self {
        Self { originating_task_id: task.into(), originating_agent: agent.into(), ..Self::default() }
    }

    /// The context that a message carries; `None` when it carries none.
    ///
    /// # Errors
    /// [`InvalidParams`](crate::ErrorKind::InvalidParams) when it is too large or not what it should be.
    pub fn of(message: &Message) -> Result<Option<Self>> {
        const FIELD: &str = "message.metadata.transferContext";
        let Some(context) = message.metadata.get(extension::HANDOFF).and_then(|handoff| handoff.get("transferContext")) else {
            return Ok(None);
        };
        let read: Self = read(context, FIELD)?;
        if read.originating_task_id.is_empty() || read.originating_agent.is_empty() {
            return Err(Error::invalid_param(FIELD, "must name originatingTaskId and originatingAgent"));
        }
        if read.state.len() > MAX_KEYS || read.output_keys.len() > MAX_KEYS {
            return Err(Error::invalid_param(FIELD, format!("has more than {MAX_KEYS} keys in state or outputKeys")));
        }
        read.trail.check(FIELD)?;
        Ok(Some(read))
    }

    /// Puts the context into a message.
    ///
    /// # Errors
    /// [`InvalidParams`](crate::ErrorKind::InvalidParams) when it is over a limit.
    pub fn put(&self, message: &mut Message) -> Result<()> {
        set(&mut message.metadata, "transferContext", members(self).into());
        announce(message);
        Self::of(message).map(drop)
    }
}

impl Trail {
    /// The trail that a message carries, whichever way it was passed on; an empty one when it carries none.
    ///
    /// # Errors
    /// [`InvalidParams`](crate::ErrorKind::InvalidParams) when it is too large or not what it should be.
    pub fn of(message: &Message) -> Result<Self> {
        const FIELD: &str = "message.metadata";
        if let Some(context) = TransferContext::of(message)? {
            return Ok(context.trail);
        }
        let Some(delegation) = message.metadata.get(extension::DELEGATION) else { return Ok(Self::default()) };
        let read: Self = read(delegation, FIELD)?;
        read.check(FIELD)?;
        Ok(read)
    }

    /// The trail with one more entry: what goes to the next agent. `limit` is this agent's own.
    #[must_use]
    pub fn extended(&self, entry: ChainEntry, limit: u32) -> Self {
        let mut chain = self.chain.clone();
        chain.push(entry);
        let hop = u32::try_from(chain.len()).unwrap_or(u32::MAX);
        Self { hop, max_hops: Some(self.max_hops.map_or(limit, |max| max.min(limit))), chain }
    }

    /// Whether there were as many hops as are allowed; `limit` is this agent's own.
    #[must_use]
    pub fn is_exhausted(&self, limit: u32) -> bool {
        let hop = self.hop.max(u32::try_from(self.chain.len()).unwrap_or(u32::MAX));
        hop >= self.max_hops.map_or(limit, |max| max.min(limit)) && hop > 0
    }

    /// How often an agent, by any of its base URLs, passed the work on in this way.
    #[must_use]
    pub fn visits<'a>(&self, agent: impl IntoIterator<Item = &'a str> + Clone, kind: Passage) -> usize {
        let is_agent = |entry: &&ChainEntry| entry.kind == kind && agent.clone().into_iter().any(|url| same_agent(url, &entry.agent));
        self.chain.iter().filter(is_agent).count()
    }

    fn check(&self, field: &str) -> Result<()> {
        if self.chain.len() > MAX_CHAIN {
            return Err(Error::invalid_param(field, format!("has a chain of more than {MAX_CHAIN} agents")));
        }
        Ok(())
    }
}

impl ChainEntry {
    /// An agent that passed its task on.
    pub fn new(agent: impl Into<String>, task: impl Into<TaskId>, at: Timestamp, kind: Passage) -> Self {
        Self { agent: agent.into(), task_id: task.into(), at: Some(at), kind }
    }
}

impl OnBehalfOf {
    /// A user whom an issuer vouches for.
    pub fn new(iss: impl Into<String>, sub: impl Into<String>) -> Self {
        Self { iss: iss.into(), sub: sub.into() }
    }
}

fn hops<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u32, D::Error> {
    super::hop(deserializer).map(Option::unwrap_or_default)
}

fn is_zero(hop: &u32) -> bool {
    *hop == 0
}

/// Reads an object of an extension within its limits.
fn read<T: for<'de> Deserialize<'de>>(object: &Value, field: &str) -> Result<T> {
    let invalid = |why: String| Error::invalid_param(field, why);
    if json::depth(object) > MAX_DEPTH {
        return Err(invalid(format!("is nested deeper than {MAX_DEPTH} levels")));
    }
    let bytes = serde_json::to_vec(object).map_err(Error::internal)?;
    if bytes.len() > MAX_BYTES {
        return Err(invalid(format!("is larger than {MAX_BYTES} bytes")));
    }
    serde_json::from_slice(&bytes).map_err(|error| invalid(error.to_string()))
}
