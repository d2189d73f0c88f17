//! Takes tasks that other agents hand over: the same handoff makes one task, and loops are refused.

use std::time::Duration;

use chancery_core::{Message, Passage, Result, SendMessage, Trail, TransferContext, extension};
use serde_json::Value;

use super::{Passing, Refusal, RefusalCode};
use crate::{
    agent::{Ending, Outcome, Running},
    turn::Turn,
};

/// How long a handoff is remembered: as long as a task is kept, and so for more than a day after nearly all of them ended (HO-28).
pub(crate) const HANDOFF_LIFE: Duration = Duration::from_secs(30 * 24 * 3_600);

/// The handoff that a request for a new task is part of: its context, and the idempotency key that it is.
///
/// # Errors
/// When what it says of the handoff cannot be read (GX-10).
pub(crate) fn handoff_key(passing: Option<&Passing>, message: &Message) -> Result<Option<String>> {
    // Who knows nothing of handoffs does not look at what is said of them.
    if passing.is_none() {
        return Ok(None);
    }
    let context = TransferContext::of(message)?.filter(|context| message.task_id.is_none() && !context.handoff_id.is_empty());
    Ok(context.map(|context| format!("handoff:{}", context.handoff_id)))
}

/// What is said in a handoff, whatever way it came: members are in one order, so that a repetition over another binding is the same.
pub(crate) fn canonical(request: &SendMessage) -> Vec<u8> {
    fn sorted(value: &mut Value) {
        match value {
            Value::Object(members) => {
                members.sort_keys();
                members.values_mut().for_each(sorted);
            }
            Value::Array(items) => items.iter_mut().for_each(sorted),
            _ => {}
        }
    }
    let mut value = serde_json::to_value(&request.message).unwrap_or_default();
    sorted(&mut value);
    serde_json::to_vec(&value).unwrap_or_default()
}

/// HO-33: a turn that declines work which was passed on too often, or came back.
pub(crate) fn refused(passing: Option<&Passing>, turn: &Turn) -> Option<Running> {
    if turn.message().metadata.is_empty() {
        return None;
    }
    let passing = passing?;
    let kind = if turn.message().metadata.contains_key(extension::HANDOFF) { Passage::Handoff } else { Passage::Delegation };
    // One that cannot be read was refused when it came.
    let trail = Trail::of(turn.message()).ok().filter(|trail| !trail.chain.is_empty() || trail.hop > 0)?;
    let refuse = |code, words: String| {
        let refusal = Refusal::new(code, passing.base_url(), words);
        let message = refusal.to_message();
        Some(Box::pin(async move { Ok(Ending::Outcome(Outcome::Rejected(message))) }) as Running)
    };
    if trail.is_exhausted(passing.max_hops) {
        return refuse(RefusalCode::HopLimit, format!("the task was passed on {} times", trail.hop));
    }
    let own = passing.base_urls.iter().map(String::as_str);
    if kind == Passage::Handoff && trail.visits(own, Passage::Handoff) >= passing.max_visits {
        return refuse(RefusalCode::LoopDetected, "this agent had the task already".to_owned());
    }
    None
}

/// Whether a message is part of a handoff, by its extension data alone.
pub(crate) fn is_handoff(message: &Message) -> bool {
    message.metadata.get(extension::HANDOFF).is_some_and(|handoff| handoff.get("transferContext").is_some())
}
