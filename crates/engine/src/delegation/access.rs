//! Access control: who may see a task that was handed over beside its owner. Whoever shows a bearer token for it (HO-54), and the user that
//! it was handed over for (HO-53).

use std::time::Duration;

use async_trait::async_trait;
use chancery_core::{
    Caller, Error, Grant, GrantLookup, GrantedTask, Message, OnBehalfOf, Result, Secret, TaskId, Timestamp, TransferContext,
};

use super::{Passing, receive};
use crate::{
    clock,
    engine::{Engine, Inner, unavailable},
    live::Live,
    store::{Grantee, Owner},
};

/// How long a user sees a task that was handed over for it: longer than nearly all tasks are kept.
const SUBJECT_LIFE: Duration = Duration::from_secs(366 * 24 * 3_600);

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

/// HO-53: lets a user see a task that was handed over for it.
pub(crate) async fn admit(engine: &Inner, user: &OnBehalfOf, live: &Live) -> Result<()> {
    let Some(subject) = subject(user) else { return Ok(()) };
    put(engine, &live.owner, &live.id, &Grantee::Subject(subject), clock::after(engine.now(), SUBJECT_LIFE)).await
}

/// Makes and recognizes grants. Their form is not the engine's business, nor how they are hashed.
pub trait Tokens: Send + Sync {
    /// A new grant: random, and too long to be guessed. `None` when there is no randomness to be had.
    fn issue(&self) -> Option<Secret>;

    /// What is stored of a grant, from which nobody finds it.
    fn digest(&self, token: &Secret) -> String;
}

/// HO-54: a bearer token for one task, for whoever the agent that handed it over gives it to.
pub(crate) async fn grant(engine: &Inner, passing: &Passing, owner: &Owner, task: &TaskId) -> Result<Option<Grant>> {
    let (Some(life), Some(tokens)) = (passing.grant_life, &passing.tokens) else { return Ok(None) };
    let Some(token) = tokens.issue() else { return Ok(None) };
    let until = clock::after(engine.now(), life);
    put(engine, owner, task, &Grantee::Bearer(tokens.digest(&token)), until).await?;
    Ok(Some(Grant::bearer(token, until)))
}

async fn put(engine: &Inner, owner: &Owner, task: &TaskId, grantee: &Grantee, until: Timestamp) -> Result<()> {
    let known = engine.store.put_grant(owner, task, grantee, until).await.map_err(unavailable)?;
    if known { Ok(()) } else { Err(Error::task_not_found(task.as_str())) }
}

/// Which task a bearer token opens, if it opens any.
async fn opened(engine: &Inner, token: &Secret) -> Result<Option<(Owner, TaskId)>> {
    let setup = engine.setup();
    let Some(tokens) = setup.options.passing.as_ref().and_then(|passing| passing.tokens.as_ref()) else { return Ok(None) };
    engine.store.bearer_grant(&engine.name, &tokens.digest(token), engine.now()).await.map_err(unavailable)
}

/// Whose task it is that a caller asks for: the caller's own, one that it was granted by name, or the one that its token opens.
pub(crate) async fn owner(engine: &Inner, caller: &Caller, task: &TaskId) -> Result<Owner> {
    let own = owner_by_name(engine, caller, task).await?;
    let Some(token) = &caller.call().grant else { return Ok(own) };
    let opened = opened(engine, token).await?.filter(|(owner, opened)| opened == task && owner.tenant() == own.tenant());
    Ok(opened.map_or(own, |(owner, _)| owner))
}

/// Whose task it is that a caller asks for, whatever token it shows: the caller's own, or one that it was granted by name.
pub(crate) async fn owner_by_name(engine: &Inner, caller: &Caller, task: &TaskId) -> Result<Owner> {
    let own = engine.owner(caller);
    // Who trusts nobody has granted nothing by name.
    let trusts = engine.setup().options.passing.as_ref().is_some_and(|passing| !passing.trusted_delegators.is_empty());
    if !trusts || caller.identity().subject.is_none() {
        return Ok(own);
    }
    let granted = engine.store.subject_grant(&own, task, engine.now()).await.map_err(unavailable)?;
    Ok(granted.unwrap_or(own))
}

#[async_trait]
impl GrantLookup for Engine {
    async fn granted(&self, grant: &Secret) -> Result<Option<GrantedTask>> {
        let opened = opened(self.inner(), grant).await?;
        Ok(opened.map(|(owner, task)| GrantedTask::new(owner.tenant(), task)))
    }
}
