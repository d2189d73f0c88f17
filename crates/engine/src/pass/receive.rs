//! Takes tasks that other agents hand over: the same handoff makes one task, loops are refused, and a grant opens the task for others.

use std::time::Duration;

use chancery_core::{Caller, Error, Grant, Message, Passage, Result, Secret, SendMessage, TaskId, Trail, TransferContext, extension};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Passing, Refusal, RefusalCode, access};
use crate::{
    agent::{Ending, Outcome, Running},
    clock,
    engine::{Inner, unavailable},
    store::{KeyAnswer, KeyRecord, Scope},
    turn::Turn,
};

/// How long a handoff is remembered: as long as a task is kept, and so for more than a day after nearly all of them ended (HO-28).
pub(crate) const HANDOFF_LIFE: Duration = Duration::from_secs(30 * 24 * 3_600);
/// Whose keys are the grants: nobody's who can call.
const GRANTS: &str = "\u{1}grants";

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

/// Makes and recognizes grants. Their form is not the engine's business, nor how they are hashed.
pub trait Tokens: Send + Sync {
    /// A new grant: random, and too long to be guessed. `None` when there is no randomness to be had.
    fn issue(&self) -> Option<Secret>;

    /// What is stored of a grant, from which nobody finds it.
    fn digest(&self, token: &Secret) -> String;
}

/// Which task a grant opens.
#[derive(Serialize, Deserialize)]
pub(super) struct Opens {
    pub(super) tenant: String,
    pub(super) owner: String,
    pub(super) task: TaskId,
}

fn grants(engine: &Inner) -> Scope {
    Scope::new(&engine.name, GRANTS)
}

/// HO-54: a key to one task, for whoever the agent that handed it over gives it to.
pub(crate) async fn grant(engine: &Inner, passing: &Passing, scope: &Scope, task: &TaskId) -> Result<Option<Grant>> {
    let (Some(life), Some(tokens)) = (passing.grant_life, &passing.tokens) else { return Ok(None) };
    let Some(token) = tokens.issue() else { return Ok(None) };
    let now = engine.now();
    let until = clock::after(now, life);
    let opens = Opens { tenant: scope.tenant().to_owned(), owner: scope.owner().to_owned(), task: task.clone() };
    let answer = KeyAnswer::Message(serde_json::to_vec(&opens).map_err(Error::internal)?.into());
    engine.store.put_key(&grants(engine), KeyRecord::new(tokens.digest(&token), 0, answer, until), now).await.map_err(unavailable)?;
    Ok(Some(Grant::bearer(token, until)))
}

/// Which task a grant opens, if it opens any.
pub(super) async fn opens(engine: &Inner, token: &Secret) -> Result<Option<Opens>> {
    let setup = engine.setup();
    let Some(tokens) = setup.options.passing.as_ref().and_then(|passing| passing.tokens.as_ref()) else { return Ok(None) };
    let record = engine.store.key(&grants(engine), &tokens.digest(token), engine.now()).await.map_err(unavailable)?;
    Ok(record.and_then(|record| match record.answer {
        KeyAnswer::Message(json) => serde_json::from_slice(&json).ok(),
        KeyAnswer::Task(_) => None,
    }))
}

/// Whose task it is that a caller asks for: the caller's own, one that lists it, or the one that its grant opens.
pub(crate) async fn scope(engine: &Inner, caller: &Caller, task: &TaskId) -> Result<Scope> {
    let own = access::scope(engine, caller, task).await?;
    let Some(token) = &caller.call().grant else { return Ok(own) };
    Ok(match opens(engine, token).await?.filter(|opens| opens.task == *task && opens.tenant == own.tenant()) {
        Some(opens) => Scope::of(&opens.tenant, &engine.name, &opens.owner),
        None => own,
    })
}

/// Whether a message is part of a handoff, by its extension data alone.
pub(crate) fn is_handoff(message: &Message) -> bool {
    message.metadata.get(extension::HANDOFF).is_some_and(|handoff| handoff.get("transferContext").is_some())
}
