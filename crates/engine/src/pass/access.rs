//! Who else may see a task that was handed over: whoever holds its grant (HO-54), and the user that it was handed over for (HO-53).

use std::time::Duration;

use chancery_core::{Caller, Message, OnBehalfOf, Request, Result, Secret, TaskId, TransferContext};

use super::{Passing, receive};
use crate::{
    clock,
    engine::{Engine, Inner, unavailable},
    live::Live,
    store::{self, KeyAnswer, KeyRecord, Scope},
};

/// Whose keys are the access lists: nobody's who can call.
const ACCESS: &str = "\u{1}access";
/// How long a user is on the list of a task: longer than nearly all tasks are kept.
const ACCESS_LIFE: Duration = Duration::from_secs(366 * 24 * 3_600);

/// How a caller is called whom an issuer vouches for. Users without an issuer are known at one server only, so nobody elsewhere can speak
/// for them.
fn subject(user: &OnBehalfOf) -> Option<String> {
    (!user.iss.is_empty() && !user.sub.is_empty()).then(|| format!("{}#{}", user.iss, user.sub))
}

/// The user that a caller is, if an issuer vouches for it.
pub(super) fn user(caller: &Caller) -> Option<OnBehalfOf> {
    let (iss, sub) = caller.identity().subject.as_deref()?.split_once('#')?;
    iss.contains("://").then(|| OnBehalfOf::new(iss, sub))
}

/// The user that a message which hands a task over speaks for, if its sender is trusted to say so.
pub(crate) fn spoken_for(passing: Option<&Passing>, caller: &Caller, message: &Message) -> Option<OnBehalfOf> {
    let passing = passing.filter(|_| receive::is_handoff(message))?;
    // A context that cannot be read is refused elsewhere.
    let user = TransferContext::of(message).ok().flatten()?.on_behalf_of?;
    let trusted = caller.identity().subject.as_ref().is_some_and(|caller| passing.trusted_delegators.contains(caller));
    if trusted {
        return Some(user);
    }
    tracing::warn!(
        caller = caller.identity().subject,
        iss = user.iss,
        "a caller that is not trusted to speaks for a user; that is ignored"
    );
    None
}

fn list(engine: &Inner, tenant: &str) -> Scope {
    Scope::of(tenant, &engine.name, ACCESS)
}

/// Puts a user on the access list of a task.
pub(crate) async fn admit(engine: &Inner, user: &OnBehalfOf, live: &Live) -> Result<()> {
    let Some(subject) = subject(user) else { return Ok(()) };
    let (now, owner) = (engine.now(), serde_json::Value::from(live.scope.owner()).to_string());
    let record = KeyRecord::new(entry(&subject, &live.id), 0, KeyAnswer::Message(owner.into()), clock::after(now, ACCESS_LIFE));
    match engine.store.put_key(&list(engine, live.scope.tenant()), record, now).await {
        // The same handoff once more.
        Err(store::Error::KeyTaken) => Ok(()),
        put => put.map_err(unavailable),
    }
}

fn entry(subject: &str, task: &TaskId) -> String {
    format!("{task} {subject}")
}

/// Whose task it is that a caller asks for: the caller's own, or one that lists it.
pub(crate) async fn scope(engine: &Inner, caller: &Caller, task: &TaskId) -> Result<Scope> {
    let own = engine.scope(caller);
    let setup = engine.setup();
    // Who trusts nobody has no lists.
    let lists = setup.options.passing.as_ref().is_some_and(|passing| !passing.trusted_delegators.is_empty());
    let Some(subject) = caller.identity().subject.as_ref().filter(|_| lists) else { return Ok(own) };
    let record = engine.store.key(&list(engine, own.tenant()), &entry(subject, task), engine.now()).await.map_err(unavailable)?;
    let owner: Option<String> = record.and_then(|record| match record.answer {
        KeyAnswer::Message(json) => serde_json::from_slice(&json).ok(),
        KeyAnswer::Task(_) => None,
    });
    Ok(owner.map_or(own.clone(), |owner| Scope::of(own.tenant(), &engine.name, &owner)))
}

/// The one task that a grant opens.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Opening {
    /// The tenant that it is of; empty for none.
    pub tenant: String,
    /// The task.
    pub task: TaskId,
}

impl Opening {
    /// Whether a grant is enough for a request: it reads the task, watches it, sends it a message, or cancels it. A webhook that comes
    /// with the message is more than that.
    #[must_use]
    pub fn covers(&self, request: &Request) -> bool {
        let task = match request {
            Request::GetTask(request) => Some(&request.id),
            Request::Subscribe(request) => Some(&request.id),
            Request::CancelTask(request) => Some(&request.id),
            Request::SendMessage(request) | Request::StreamMessage(request) if request.configuration.push_config.is_none() => {
                request.message.task_id.as_ref()
            }
            _ => None,
        };
        task == Some(&self.task) && request.tenant() == self.tenant
    }
}

impl Engine {
    /// What a grant opens; `None` for one that this agent did not give, or that has run out.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub async fn opened_by(&self, grant: &Secret) -> Result<Option<Opening>> {
        let opens = receive::opens(&self.inner, grant).await?;
        Ok(opens.map(|opens| Opening { tenant: opens.tenant, task: opens.task }))
    }
}
