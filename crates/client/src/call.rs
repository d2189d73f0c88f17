//! One call: what goes to whichever interface it is made to.

use chancery_core::{Binding, Caller, ContextId, Error, Grant, Operation, Reply, Request, Result, SendMessage, TaskId, extension};
use chancery_wire::{facts, headers};
use http::{HeaderMap, HeaderName, HeaderValue};
use tokio::time::Instant;
use uuid::Uuid;

use crate::{builder::Settings, route::Route, source::Source};

/// How far a task may reach, signed by somebody; sent for a caller that carries it.
const SCOPE_TOKEN: &str = "a2a-scope-token";

/// What an attempt gave.
pub(crate) enum Answered {
    Reply(Reply),
    Source(Source),
}

/// One call, whoever it goes to in the end and how often it is tried.
#[derive(Debug, Clone)]
pub(crate) struct Call {
    pub(crate) request: Request,
    pub(crate) caller: Caller,
    pub(crate) deadline: Instant,
    /// How often it may be repeated.
    pub(crate) retries: u32,
    /// Names for a new task and its conversation, for a version in which clients choose them.
    spare: (TaskId, ContextId),
}

impl Call {
    /// A call for an operation, as the caller and the settings want it.
    pub(crate) fn new(caller: &Caller, request: Request, settings: &Settings) -> Self {
        let mut caller = caller.clone();
        let sends = matches!(request, Request::SendMessage(_) | Request::StreamMessage(_));
        if sends && caller.call().idempotency_key.is_none() {
            caller.call_mut().idempotency_key = Some(Uuid::now_v7().to_string());
        }
        let deadline = caller.call().deadline.map_or_else(|| Instant::now() + settings.timeout, Instant::from_std);
        let spare = (TaskId::generate(), ContextId::generate());
        Self { request, caller, deadline, retries: settings.retries, spare }
    }

    /// The request as it goes to this interface.
    pub(crate) fn request_for(&self, route: &Route) -> Request {
        let mut request = self.request.clone();
        // V10-SEL-004: exactly what the card says, also when it says nothing. Without a card it is the caller's to say.
        let tenants = [route.tenant.as_str(), request.tenant(), self.caller.identity().tenant.as_str()];
        let known = if route.declared { &tenants[..1] } else { &tenants };
        let tenant = known.iter().find(|tenant| !tenant.is_empty()).copied().unwrap_or_default().to_owned();
        request.set_tenant(tenant);
        if let (true, Request::SendMessage(send) | Request::StreamMessage(send)) = (facts(route.version).callers_name_tasks, &mut request) {
            self.name_task(send);
        }
        request
    }

    /// Clients of v0.1 choose the ids of new tasks and conversations (CONV-SEND-004). They are chosen
    /// once for the call: a repetition must ask for the same.
    fn name_task(&self, send: &mut SendMessage) {
        if send.message.task_id.is_none() {
            send.message.task_id = Some(self.spare.0.clone());
            send.message.context_id.get_or_insert_with(|| self.spare.1.clone());
        }
    }

    pub(crate) fn headers_for(&self, route: &Route, settings: &Settings) -> Result<HeaderMap> {
        let mut map = settings.headers.clone();
        let mut add = |name: &'static str, value: &str| {
            let mut value = HeaderValue::from_str(value).map_err(|_| Error::invalid_param(name, "holds what no header can"))?;
            value.set_sensitive(name == SCOPE_TOKEN);
            map.insert(HeaderName::from_static(name), value);
            Ok::<_, Error>(())
        };
        let caller = &self.caller;
        let mut extensions: Vec<String> = settings.extensions.iter().chain(&caller.call().extensions).cloned().collect();
        if route.binding == Binding::Grpc && self.request.operation().is_streaming() {
            extensions.push(extension::SEQUENCE.to_owned());
        }
        extensions.sort();
        extensions.dedup();
        for (name, value) in headers::client_headers(route.version, &extensions) {
            add(name, &value)?;
            // Peers of that time may know either name.
            if name == headers::OLD_EXTENSIONS && facts(route.version).has_two_extension_headers {
                add(headers::EXTENSIONS, &value)?;
            }
        }
        if let Some(key) = &caller.call().idempotency_key {
            add("idempotency-key", key)?;
        }
        if let Some(seq) = caller.call().resume_after.filter(|_| self.request.operation() != Operation::SendMessage) {
            add("last-event-id", &seq.to_string())?;
        }
        if let Some(carried) = &caller.call().carried {
            add(SCOPE_TOKEN, carried.token.expose())?;
        }
        if let Some(trace) = &caller.call().trace {
            add("traceparent", &trace.parent)?;
            if !trace.state.is_empty() {
                add("tracestate", &trace.state)?;
            }
        }
        if let Some(grant) = &caller.call().grant {
            let mut value =
                HeaderValue::from_str(grant.expose()).map_err(|_| Error::invalid_param(Grant::HEADER, "holds what no header can"))?;
            value.set_sensitive(true);
            map.insert(HeaderName::from_static(Grant::HEADER), value);
        }
        Ok(map)
    }
}
