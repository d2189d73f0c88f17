//! JSON-RPC: one path for all methods of all versions.

use chancery_core::{Answer, Binding, Caller, Error, ErrorKind, GetTask, Origin, Reply, Request, Result, TaskId, Version};
use chancery_wire::{
    Dialect, StreamMemory, errors, facts, jsonrpc,
    jsonrpc::{Call, Id, InvalidCall},
    methods,
    version::{self, Spoken},
};
use http::{
    HeaderValue, Response, StatusCode,
    header::{CACHE_CONTROL, CONTENT_TYPE},
    request::Parts,
};
use serde_json::value::RawValue;

use crate::{
    auth::Denial,
    body::Body,
    exchange::{BodyError, Exchange, error_headers, version_of},
    sse::EventBody,
};

const JSON: HeaderValue = HeaderValue::from_static("application/json");

/// Answers a body: one call, or a batch.
pub(crate) async fn answer(exchange: &Exchange<'_>, body: &[u8]) -> Response<Body> {
    if body.iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&b'[') {
        return Box::pin(batch(exchange, body)).await;
    }
    match Call::parse(body) {
        Ok(call) => single(exchange, &call, false).await,
        Err(refused) => unread(exchange, refused),
    }
}

/// Answers a body that could not be read.
pub(crate) fn refused(exchange: &Exchange<'_>, refusal: &BodyError) -> Response<Body> {
    let mut response = failure(dialect_of_error(exchange, None), &Id::null(), &refusal.error);
    *response.status_mut() = refusal.status;
    exchange.router.meter.refused();
    response
}

/// Answers a caller that is not let in. Nothing of the call is known yet but the version that its head names.
pub(crate) fn denied(head: &Parts, denial: &Denial) -> Response<Body> {
    let said = version_of(head);
    let mut response = failure(jsonrpc::dialect(version::of_rpc_error(None, said.as_deref())), &Id::null(), &denial.error);
    denial.headers(response.headers_mut());
    response
}

#[cold]
fn unread(exchange: &Exchange<'_>, InvalidCall { id, error }: InvalidCall) -> Response<Body> {
    exchange.router.meter.refused();
    failure(dialect_of_error(exchange, None), &id, &error)
}

/// Answers a batch as JSON-RPC 2.0 says: calls without an id get no answer, and if none has an id there
/// is nothing to say.
async fn batch(exchange: &Exchange<'_>, body: &[u8]) -> Response<Body> {
    let calls: Vec<&RawValue> = match serde_json::from_slice(body) {
        Ok(calls) => calls,
        Err(error) => return unread(exchange, InvalidCall { id: Id::null(), error: Error::from(ErrorKind::Parse).caused_by(error) }),
    };
    let limit = exchange.router.limits.batch;
    if calls.is_empty() || calls.len() > limit {
        let words = format!("A batch holds 1 to {limit} calls");
        return unread(exchange, InvalidCall { id: Id::null(), error: Error::new(ErrorKind::InvalidRequest, words) });
    }
    let mut answers = Vec::with_capacity(calls.len());
    for call in calls {
        let (notification, answer) = match Call::parse(call.get().as_bytes()) {
            Ok(call) => (call.id.is_none(), single(exchange, &call, true).await),
            Err(refused) => (false, unread(exchange, refused)),
        };
        if !notification {
            answers.push(answer.into_body().into_bytes());
        }
    }
    if answers.is_empty() {
        let mut response = Response::new(Body::bytes(""));
        *response.status_mut() = StatusCode::NO_CONTENT;
        return response;
    }
    json(StatusCode::OK, [b"[".as_slice(), &answers.join(b",".as_slice()), b"]"].concat())
}

async fn single(exchange: &Exchange<'_>, call: &Call<'_>, in_batch: bool) -> Response<Body> {
    match read(exchange, call, in_batch) {
        Ok(request) => run(exchange, call.answer_id(), request).await,
        Err(error) => {
            exchange.router.meter.refused();
            let version = version::of_rpc_error(Some(&call.method), exchange.version().as_deref());
            let streams = methods::rpc_method(&call.method).is_some_and(|(_, operation)| operation.is_streaming());
            let answer = if streams && !in_batch { stream_failure } else { failure };
            answer(jsonrpc::dialect(version), &call.answer_id(), &error)
        }
    }
}

/// What a call asks, and in which version.
struct RpcRequest {
    /// The one it is read in. The one to answer in may be known by its task only.
    version: Version,
    spoken: Spoken,
    request: Box<Request>,
}

async fn run(exchange: &Exchange<'_>, id: Id, request: RpcRequest) -> Response<Body> {
    let RpcRequest { version, spoken, request } = request;
    let streams = request.operation().is_streaming();
    let naming = (spoken == Spoken::OfTask).then(|| Box::new(exchange.naming_tasks()));
    let subscribed = match &*request {
        Request::Subscribe(subscribe) if spoken == Spoken::OfTask => Some(subscribe.id.clone()),
        _ => None,
    };
    let done = naming.as_deref().unwrap_or(exchange).run(version, Binding::JsonRpc, request).await;
    // The events of a stream do not say which version made their task, other answers do.
    let version = match subscribed {
        Some(task) if done.was_answered() => spoken.resolve(Box::pin(made_in(exchange, &done.caller, task)).await),
        _ => version,
    };
    let mut response = match done.answer {
        Ok(Answer::Reply(reply)) => success(version, spoken, &id, &reply),
        Ok(Answer::Stream(events)) => {
            let memory = StreamMemory::new(Origin::new(version, Binding::JsonRpc));
            let stream_end = exchange.stream_end();
            let Some(permit) = done.permit else {
                return failure(jsonrpc::dialect(version), &id, &Error::internal("a stream without a permit"));
            };
            stream(EventBody::new(
                events,
                jsonrpc::dialect(version),
                memory,
                Some(id),
                exchange.router.limits.keep_alive,
                stream_end,
                permit,
            ))
        }
        Err(error) if streams => stream_failure(jsonrpc::dialect(version), &id, &error),
        Err(error) => failure(jsonrpc::dialect(version), &id, &error),
    };
    exchange.answer_headers(&done.caller, done.challenges, response.headers_mut());
    response
}

fn read(exchange: &Exchange<'_>, call: &Call<'_>, in_batch: bool) -> Result<RpcRequest> {
    exchange.demand_json()?;
    let said = exchange.version();
    let said = said.as_deref();
    let mut found = version::of_rpc(&call.method, said);
    if said.is_none() && found.is_err() && exchange.router.lenient_version {
        found = version::of_rpc(&call.method, Some(Version::LATEST.as_str()));
    }
    let (spoken, operation) = found?;
    if in_batch && operation.is_streaming() {
        return Err(Error::new(ErrorKind::InvalidRequest, "A stream cannot be part of a batch; call it alone"));
    }
    let version = spoken.resolve(None);
    exchange.demand_served(version, Binding::JsonRpc)?;
    let request = jsonrpc::dialect(version).request(operation, call.params(), &exchange.router.limits.message)?;
    // V03-RPC-007, after the parameters as released servers do. In a batch a call without an id is one that wants no answer.
    if !in_batch && facts(version).needs_rpc_id && call.answer_id().is_null() {
        return Err(Error::new(ErrorKind::InvalidRequest, "A call needs an id").violation("request", "id must be a string or an integer"));
    }
    Ok(RpcRequest { version, spoken, request: Box::new(request) })
}

/// The version that made a task, for a caller who has been let in.
async fn made_in(exchange: &Exchange<'_>, caller: &Caller, task: TaskId) -> Option<Version> {
    let mut get = GetTask::new(task);
    get.history_length = Some(0);
    let task = exchange.agent.operations.get_task(caller, get).await.ok()?;
    Some(task.task().ok()?.record.origin.version)
}

fn success(version: Version, spoken: Spoken, id: &Id, reply: &Reply) -> Response<Body> {
    let version = match spoken {
        // A task may be shown in the version it was made in, which only the task itself knows.
        Spoken::OfTask => match reply.task() {
            Ok(Some(task)) => spoken.resolve(Some(task.record.origin.version)),
            _ => version,
        },
        _ => version,
    };
    match jsonrpc::result_with(id, |out| jsonrpc::dialect(version).write_reply(reply, out)) {
        Ok(body) => json(StatusCode::OK, body),
        Err(error) => failure(jsonrpc::dialect(version), id, &error),
    }
}

fn failure(dialect: Dialect, id: &Id, error: &Error) -> Response<Body> {
    // Errors can always be written.
    let body = dialect.encode_rpc_error(error).unwrap_or_default();
    let status = StatusCode::from_u16(errors::rpc_http_status(error.kind())).unwrap_or(StatusCode::OK);
    let mut response = json(status, jsonrpc::error(id, &body));
    error_headers(error.kind(), response.headers_mut());
    response
}

/// The failure of a call whose answer would have been a stream.
fn stream_failure(dialect: Dialect, id: &Id, error: &Error) -> Response<Body> {
    let plain = failure(dialect, id, error);
    // Another status says enough, and to HTTP clients that look no further.
    if !facts(dialect.version()).errors_of_streams_are_events || plain.status() != StatusCode::OK {
        return plain;
    }
    event_stream(Body::bytes(dialect.sse_error_frame(&plain.into_body().into_bytes())))
}

fn dialect_of_error(exchange: &Exchange<'_>, method: Option<&str>) -> Dialect {
    jsonrpc::dialect(version::of_rpc_error(method, exchange.version().as_deref()))
}

fn json(status: StatusCode, body: Vec<u8>) -> Response<Body> {
    let mut response = Response::new(Body::bytes(body));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, JSON);
    response
}

/// An answer that goes on.
pub(crate) fn stream(events: EventBody) -> Response<Body> {
    event_stream(Body::events(events))
}

fn event_stream(body: Body) -> Response<Body> {
    let mut response = Response::new(body);
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
    response
}
