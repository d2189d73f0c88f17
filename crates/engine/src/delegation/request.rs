//! The request of a delegation: what is checked before it is sent, what it says about itself, and the idempotency key that it goes under.

use chancery_core::{ChainEntry, Message, MessageId, Object, Passage, Role, Trail, extension, handoff::same_agent};
use serde_json::{Value, json};

use super::{DelegationError, Passing, ReachPolicy, Step, delegated::refused};
use crate::turn::Turn;

/// Who passed this work on before, this agent not included.
pub(super) fn trail(turn: &Turn) -> Trail {
    let messages = std::iter::once(turn.message()).chain(turn.history());
    // One that cannot be read says nothing.
    let trails = messages.filter(|message| !message.metadata.is_empty()).filter_map(|message| Trail::of(message).ok());
    trails.max_by_key(|trail| trail.chain.len()).unwrap_or_default()
}

pub(super) fn entry(own: &str, turn: &Turn) -> ChainEntry {
    let mut entry = ChainEntry::new(own, turn.task_id().clone(), turn.now(), Passage::Delegation);
    // Without a time: a repetition of the call must be the same request.
    entry.at = None;
    entry
}

/// HO-31, HO-32: not too far, and back to an agent that has been asked before only once in a chain.
pub(super) fn check(passing: &Passing, own: &str, trail: &Trail, agent: &str) -> Result<(), DelegationError> {
    if trail.is_exhausted(passing.max_hops) {
        return Err(refused("hop_limit", "it has made as many hops as it may", agent));
    }
    let mut before: Vec<&str> = trail.chain.iter().map(|entry| entry.agent.as_str()).collect();
    before.push(own);
    let met = |list: &[&str], one: &str| list.iter().any(|known| same_agent(known, one));
    let turned = (1..before.len()).any(|at| met(&before[..at], before[at]));
    if turned && met(&before, agent) {
        return Err(refused("loop_detected", "it would go round in a circle", agent));
    }
    Ok(())
}

/// What the agent may reach (DE-9).
pub(super) fn allowed(policy: &dyn ReachPolicy, step: &Step<'_>) -> Result<Option<Object>, DelegationError> {
    policy.check(step).map_err(|violation| DelegationError::Refused {
        agent: step.to.to_owned(),
        code: "scope_violation",
        reason: "it is out of reach",
        violation,
    })
}

/// What the agent is told about the call (DE-2).
pub(super) fn about(id: &str, own: &str, turn: &Turn, trail: &Trail, skill: &str, workflow: &str, scope: Option<Object>) -> Value {
    let mut about = serde_json::to_value(trail).unwrap_or_else(|_| json!({}));
    about["call"] = id.into();
    about["originatingTaskId"] = turn.task_id().as_str().into();
    about["originatingAgent"] = own.into();
    for (name, value) in [("skill", skill), ("workflow", workflow)] {
        if !value.is_empty() {
            about[name] = value.into();
        }
    }
    if let Some(scope) = scope {
        about["scope"] = scope.into();
    }
    about
}

pub(super) fn addressed(mut message: Message, id: &str, about: Value) -> Message {
    message.role = Role::User;
    message.message_id = MessageId::from(id);
    (message.task_id, message.context_id) = (None, None);
    message.metadata.insert(extension::DELEGATION.to_owned(), about);
    if !message.extensions.iter().any(|uri| uri == extension::DELEGATION) {
        message.extensions.push(extension::DELEGATION.to_owned());
    }
    message
}

/// The name of a call: the same for the same call of the same turn, in every release, because it outlives the process. The message has no
/// name yet.
pub(super) fn call_id(turn: &Turn, agent: &str, message: &Message) -> String {
    let mut what = Vec::with_capacity(512);
    // Writing to memory does not fail, and all keys of a message are strings.
    drop(chancery_core::json::append(&(turn.task_id(), &turn.message().message_id, agent, message), &mut what));
    let what = digest(&what, DIGEST);
    let again = turn.calls().again(what);
    let id = digest(&again.to_be_bytes(), what);
    uuid::Builder::from_custom_bytes(id.to_be_bytes()).into_uuid().to_string()
}

/// Where FNV-1a of 128 bits begins.
const DIGEST: u128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d;

fn digest(bytes: &[u8], begin: u128) -> u128 {
    bytes.iter().fold(begin, |digest, byte| (digest ^ u128::from(*byte)).wrapping_mul(0x0100_0000_0000_0000_0000_013b))
}
