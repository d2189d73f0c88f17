//! From a request in some version to the operation, whatever the binding: who calls, and what a cursor
//! on a repeated message means.

use chancery_core::clock::{Clock as _, SystemClock};
use chancery_core::{
    Answer, Caller, Carried, Error, ErrorKind, GetTask, Grant, Operations, Request, Result, ScopeTokens, Secret, SendMessage, Seq,
    Subscribe, TraceContext, Version, extension,
};
use chancery_wire::facts;
use http::{HeaderMap, HeaderName, HeaderValue};

use crate::auth::Denial;

/// Names a request, so that its repetition does not happen twice.
const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");
/// The last event that the caller has seen.
const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");
/// Opens one task that is somebody else's.
const TASK_GRANT: HeaderName = HeaderName::from_static(Grant::HEADER);
/// How far the task may reach, signed by somebody. It travels beside the message, for messages are stored and shown.
const SCOPE_TOKEN: HeaderName = HeaderName::from_static("a2a-scope-token");
pub(crate) const TRACE_PARENT: HeaderName = HeaderName::from_static("traceparent");
pub(crate) const TRACE_STATE: HeaderName = HeaderName::from_static("tracestate");
/// Bytes of an idempotency key.
const KEY_BYTES: usize = 256;

/// A caller in the circumstances that the headers tell; gRPC metadata are headers too. Of the extensions that are asked
/// for, those are active that the agent knows.
pub(crate) fn caller(who: &Caller, headers: &HeaderMap, version: Version, known: &[String]) -> Result<Caller> {
    let mut caller = who.clone();
    if facts(version).callers_name_tasks {
        caller.call_mut().names_tasks = true;
    }
    if !known.is_empty() {
        activate(&mut caller, headers, version, known);
    }
    // All of these are rare, and most requests pass by with one look.
    if headers.keys().any(|name| [TASK_GRANT, LAST_EVENT_ID, TRACE_PARENT, IDEMPOTENCY_KEY].contains(name)) {
        tell(&mut caller, headers)?;
    }
    Ok(caller)
}

/// Makes those extensions active that are asked for and known.
#[inline(never)]
fn activate(caller: &mut Caller, headers: &HeaderMap, version: Version, known: &[String]) {
    let mut asked = chancery_wire::headers::requested_extensions(version, texts(headers));
    asked.retain(|uri| known.contains(uri));
    if !asked.is_empty() {
        caller.call_mut().extensions = asked;
    }
    if facts(version).has_handoffs && known.iter().any(|uri| uri == extension::HANDOFF) {
        // The dialect has members of its own for handoffs.
        caller.call_mut().extensions.insert(extension::HANDOFF.to_owned());
    }
}

/// Tells of a caller what the rare headers say. Of several, the first one counts.
#[cold]
fn tell(caller: &mut Caller, headers: &HeaderMap) -> Result<()> {
    let (mut grant, mut last_event, mut parent, mut key) = (None, None, None, None);
    for (name, value) in headers {
        let found = match name {
            name if *name == TASK_GRANT => &mut grant,
            name if *name == LAST_EVENT_ID => &mut last_event,
            name if *name == TRACE_PARENT => &mut parent,
            name if *name == IDEMPOTENCY_KEY => &mut key,
            _ => continue,
        };
        found.get_or_insert(value);
    }
    if let Some(grant) = grant {
        caller.call_mut().grant = opener(grant);
    }
    if let Some(id) = last_event {
        caller.call_mut().resume_after = id.to_str().ok().and_then(|id| id.trim().parse().ok()).map(Seq::new);
    }
    if let Some(parent) = parent.and_then(|parent| parent.to_str().ok()) {
        caller.call_mut().trace = Some(TraceContext::new(parent, text(headers, &TRACE_STATE).unwrap_or_default()));
    }
    if let Some(key) = key {
        let key = key.to_str().ok().filter(|key| !key.is_empty() && key.len() <= KEY_BYTES && !key.contains('\t'));
        let words = "must be 1 to 256 visible characters";
        caller.call_mut().idempotency_key = Some(key.ok_or_else(|| Error::invalid_param("Idempotency-Key", words))?.to_owned());
    }
    Ok(())
}

/// The grant that a request shows, if it shows one.
pub(crate) fn grant(headers: &HeaderMap) -> Option<Secret> {
    headers.get(TASK_GRANT).and_then(opener)
}

fn opener(grant: &HeaderValue) -> Option<Secret> {
    grant.to_str().ok().filter(|token| token.len() <= KEY_BYTES).map(Secret::from)
}

/// What the scope token of a request says, if it has one.
///
/// # Errors
/// It does not verify.
pub(crate) fn carried(tokens: &dyn ScopeTokens, headers: &HeaderMap, at: &str) -> Result<Option<Carried>, Denial> {
    let mut values = headers.get_all(&SCOPE_TOKEN).iter();
    let token = match (values.next(), values.next()) {
        (None, _) => return Ok(None),
        (Some(token), None) => token.to_str().unwrap_or_default().trim(),
        (Some(_), Some(_)) => "",
    };
    tokens.verify(&Secret::new(token), at, SystemClock.now()).map(Some).map_err(|error| {
        tracing::debug!(cause = std::error::Error::source(&error), "a scope token was refused");
        Denial { why: "the scope token does not verify", ..error.into() }
    })
}

/// The text of a header.
pub(crate) fn text<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
    headers.get(name).and_then(|value| value.to_str().ok())
}

fn texts(headers: &HeaderMap) -> impl Iterator<Item = (&str, &str)> {
    headers.iter().filter_map(|(name, value)| Some((name.as_str(), value.to_str().ok()?)))
}

/// The tenant of a request is that of its caller. Most have none.
fn set_tenant(caller: &mut Caller, request: &Request) {
    if caller.identity().tenant != request.tenant() {
        caller.identity_mut().tenant = request.tenant().to_owned();
    }
}

/// Calls the operation. A message that comes with a cursor is a repetition: its stream goes on, and it
/// is not sent twice.
pub(crate) async fn answer(operations: &dyn Operations, caller: &mut Caller, request: Box<Request>) -> Result<Answer> {
    set_tenant(caller, &request);
    match *request {
        Request::StreamMessage(send) if caller.call().resume_after.is_some() && caller.call().idempotency_key.is_none() => {
            Box::pin(resume(operations, caller, *send)).await
        }
        request => chancery_core::call(operations, caller, request).await,
    }
}

/// Goes on with the stream of a message that names no idempotency key: by its task, which must have it.
async fn resume(operations: &dyn Operations, caller: &Caller, send: SendMessage) -> Result<Answer> {
    let Some(id) = send.message.task_id.clone() else {
        let words = "needs the Idempotency-Key of the first request; or subscribe to the task";
        return Err(Error::invalid_param("Last-Event-ID", words));
    };
    let known = match operations.get_task(caller, GetTask::new(id.clone())).await {
        Ok(task) => task.task()?.history.iter().any(|message| message.message_id == send.message.message_id),
        // v0.1 names its tasks itself: this one is new.
        Err(error) if error.kind() == ErrorKind::TaskNotFound && send.create_missing => false,
        Err(error) => return Err(error),
    };
    let stream = if known { operations.subscribe(caller, Subscribe::new(id)).await } else { operations.stream_message(caller, send).await };
    stream.map(Answer::Stream)
}
