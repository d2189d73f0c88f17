//! gRPC: both services of A2A, reflection and health, on the port of everything else.
//!
//! ```text
//! request --> answer --+-- /grpc.health…, /grpc.reflection… -----> health.rs, reflection.rs
//!                      `-- frame.rs: one message out of the body
//!                          chancery_wire::Dialect: protobuf of either service <-> core
//!                          the agent that the tenant names, and its answer
//!                          stream.rs: events that go on
//! ```

mod frame;
mod health;
mod reflection;
mod service;
mod status;
mod stream;

use std::{convert::Infallible, net::IpAddr, sync::Arc, time::Duration};

use chancery_core::{
    Answer, Binding, BoxError, Bytes, Error, ErrorKind, Operation, Origin, Reply, Request as OperationRequest, Result, Version, extension,
};
use chancery_wire::{Dialect, StreamMemory, errors::GrpcCode, facts, grpc, headers, version};
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Response, header::CONTENT_TYPE, request::Parts};
use http_body_util::{BodyExt, Full};
use tokio::time::Instant;

pub(crate) use self::service::Services;
use self::{status::CallError, stream::EventFrames};
use crate::{
    auth::Denial,
    body::Body,
    call,
    exchange::{self, Exchange},
    grant,
    hosted::Hosted,
    router::Inner,
};

const VERSION: HeaderName = HeaderName::from_static(headers::VERSION);
const TIMEOUT: HeaderName = HeaderName::from_static("grpc-timeout");
const GRPC: HeaderValue = HeaderValue::from_static("application/grpc");

/// Whether a request is gRPC, by its content type.
pub(crate) fn is_grpc(headers: &HeaderMap) -> bool {
    headers.get(CONTENT_TYPE).is_some_and(|value| value.as_bytes().starts_with(b"application/grpc"))
}

/// Answers a gRPC request.
pub(crate) async fn answer<B>(router: &Inner, head: Parts, body: B, peer: Option<IpAddr>) -> Response<Body>
where
    B: http_body::Body<Data = Bytes> + Send + 'static,
    B::Error: Into<BoxError> + Send,
{
    let path = head.uri.path();
    let dialect = grpc::dialect_of_errors(path);
    let refused = |refused: &CallError| {
        router.meter.refused();
        refused.response(dialect)
    };
    if let Err(error) = demand_protobuf(&head) {
        return refused(&error.into());
    }
    if let Some(service) = router.grpc.find(path) {
        let request = Request::from_parts(head, tonic::body::Body::new(body));
        return match service::answer(router, service, request, peer).await {
            Ok(response) => response,
            Err(error) => refused(&error.into()),
        };
    }
    let Some((dialect, operation)) = grpc::method(path) else {
        return refused(&Error::new(ErrorKind::MethodNotFound, "There is no such service or method here").into());
    };
    let call = match GrpcCall::new(router, &head, dialect, operation) {
        Ok(call) => call,
        Err(error) => return refused(&error.into()),
    };
    // Agents are told apart by what is in the body. Where all of them have the same rules, nobody's body is read for nothing.
    let early = match call.alike() {
        // A grant is known to the agent that gave it, which the head does not name.
        Some(agent) => {
            match Exchange::begin(router, grant::issuer(&call.agents, &head.headers).await.unwrap_or(agent), &head, peer).await {
                Ok(exchange) => Some(exchange),
                Err(denial) => return call.denied(denial),
            }
        }
        None => None,
    };
    let (agent, request) = match call.read(body).await {
        Ok(read) => read,
        Err(refusal) => return refused(&refusal),
    };
    let exchange = match early {
        Some(Exchange { grant_holder: Some(grant_holder), agent: issuer, .. }) if !std::ptr::eq(issuer, agent) => {
            Err(router.denied(agent, peer, grant_holder.denial.again()))
        }
        Some(early) => Ok(Exchange { agent, ..early }),
        None => Exchange::begin(router, agent, &head, peer).await,
    };
    match exchange {
        Ok(exchange) => call.run(exchange, request).await,
        Err(denial) => call.denied(denial),
    }
}

/// What a client is told when its request made the server panic.
pub(crate) fn panicked() -> Response<Body> {
    CallError::from(Error::internal("panic")).response(grpc::dialect_of_errors(""))
}

/// One call of an A2A method.
struct GrpcCall<'a> {
    router: &'a Inner,
    head: &'a Parts,
    dialect: Dialect,
    operation: Operation,
    deadline: Option<Instant>,
    agents: Arc<[Arc<Hosted>]>,
}

impl<'a> GrpcCall<'a> {
    fn new(router: &'a Inner, head: &'a Parts, dialect: Dialect, operation: Operation) -> Result<Self> {
        demand_version(&head.headers, dialect.version())?;
        // A time that no clock reaches is no limit.
        let deadline = timeout(&head.headers)?.and_then(|time| Instant::now().checked_add(time));
        Ok(Self { router, head, dialect, operation, deadline, agents: router.agents() })
    }

    /// What is asked, and of whom.
    async fn read<B>(&self, body: B) -> Result<(&Hosted, OperationRequest), CallError>
    where
        B: http_body::Body<Data = Bytes>,
        B::Error: Into<BoxError>,
    {
        let limits = &self.router.limits;
        let reading = exchange::read(limits, limits.body + frame::PREFIX, body);
        let body = exchange::in_time(self.deadline, std::pin::pin!(async { Ok(reading.await) })).await?.map_err(CallError::from)?;
        let message = frame::message(&self.head.headers, body, limits.body)?;
        let mut request = self.dialect.decode_request(self.operation, &message)?;
        let agent = self.agent(&request)?;
        if self.agents.len() > 1 {
            // It has said which agent is meant. To that one it means what other bindings would have said.
            request.set_tenant(&agent.tenant);
        }
        self.dialect.check(&request, &limits.message)?;
        Ok((agent, request))
    }

    /// The agent that a request is for: the only one, or the one that its tenant names; in a version without tenants, the one that is
    /// found without a name.
    fn agent(&self, request: &OperationRequest) -> Result<&Hosted> {
        if let [agent] = &*self.agents {
            return Ok(agent);
        }
        let (tenant, version) = (request.tenant(), self.dialect.version());
        let can_name = facts(version).names_tenants;
        let named = |agent: &&Arc<Hosted>| match tenant {
            "" if can_name => agent.path.is_empty(),
            "" => agent.path == self.router.unnamed,
            tenant => agent.key == tenant,
        };
        self.agents.iter().find(named).map(|agent| &**agent).ok_or_else(|| {
            if can_name {
                return Error::invalid_param("tenant", "must name an agent of this server; the agent's card tells its tenant");
            }
            let words = format!(
                "This server has several agents, and A2A {version} over gRPC cannot name one; use version {} or another binding",
                Version::LATEST
            );
            Error::new(ErrorKind::InvalidRequest, words)
        })
    }

    /// Any agent, if the same callers may call all of them.
    fn alike(&self) -> Option<&Hosted> {
        let (first, others) = self.agents.split_first()?;
        let same = |other: &Arc<Hosted>| match (&first.auth, &other.auth) {
            (Some(one), Some(other)) => Arc::ptr_eq(one, other),
            (one, other) => one.is_none() && other.is_none(),
        };
        others.iter().all(same).then_some(&**first)
    }

    /// Answers a caller that is not let in.
    fn denied(&self, denial: Denial) -> Response<Body> {
        let mut challenges = HeaderMap::new();
        denial.headers(&mut challenges);
        let answer = match &*self.agents {
            [agent] => self.public_card(agent, denial.error),
            _ => Err(denial.error),
        };
        match answer.and_then(|card| frame::reply(self.dialect, Origin::default(), &card)) {
            Ok(message) => success(HeaderMap::new(), single(message, HeaderMap::new())),
            Err(error) => {
                let mut response = CallError::from(error).response(self.dialect);
                response.headers_mut().extend(challenges);
                response
            }
        }
    }

    async fn run(&self, mut exchange: Exchange<'_>, request: OperationRequest) -> Response<Body> {
        let agent = exchange.agent;
        exchange.deadline = self.deadline;
        if let Err(error) = exchange.demand_served(self.dialect.version(), Binding::Grpc) {
            self.router.meter.refused();
            return CallError::from(error).response(self.dialect);
        }
        let origin = request.origin().unwrap_or_default();
        let done = exchange.run(self.dialect.version(), Binding::Grpc, Box::new(request)).await;
        let mut told = HeaderMap::new();
        exchange.answer_headers(&done.caller, done.challenges, &mut told);
        let answer = match done.answer {
            Ok(Answer::Stream(events)) => match done.permit {
                Some(permit) => {
                    let numbered = done.caller.has_extension(extension::SEQUENCE);
                    let stream_end = exchange.stream_end();
                    let events = EventFrames::new(
                        events,
                        (self.dialect, StreamMemory::new(origin), numbered),
                        told.clone(),
                        self.deadline,
                        stream_end,
                        permit,
                    );
                    return success(told, tonic::body::Body::new(events));
                }
                None => Err(Error::internal("a stream without a permit")),
            },
            Ok(Answer::Reply(reply)) => Ok(reply),
            Err(error) => self.public_card(agent, error),
        };
        match answer.and_then(|reply| frame::reply(self.dialect, origin, &self.addressed(agent, reply))) {
            Ok(message) => success(told.clone(), single(message, told)),
            Err(error) => {
                let mut response = CallError::from(error).response(self.dialect);
                response.headers_mut().extend(told);
                response
            }
        }
    }

    /// V03-GRPC-007: who gets no extended card gets the public one.
    fn public_card(&self, agent: &Hosted, error: Error) -> Result<Reply> {
        let none = matches!(
            error.kind(),
            ErrorKind::UnsupportedOperation
                | ErrorKind::ExtendedAgentCardNotConfigured
                | ErrorKind::Unauthenticated
                | ErrorKind::PermissionDenied
        );
        let wanted = self.operation == Operation::GetExtendedCard && facts(self.dialect.version()).grpc_card_for_all;
        if !none || !wanted {
            return Err(error);
        }
        let mut card = Box::new(agent.card.clone());
        agent.move_to(&mut card, self.router.hosts.of(self.head));
        Ok(Reply::Card(card))
    }

    /// A webhook's config with the tenant by which its agent is found, as the client knows it.
    fn addressed(&self, agent: &Hosted, mut reply: Reply) -> Reply {
        if self.agents.len() > 1 {
            let tenant = if agent.path.is_empty() { "" } else { &agent.key };
            match &mut reply {
                Reply::PushConfig(config) => tenant.clone_into(&mut config.tenant),
                Reply::PushConfigs(page) => page.configs.iter_mut().for_each(|config| tenant.clone_into(&mut config.tenant)),
                _ => {}
            }
        }
        reply
    }
}

/// Whether the request is what gRPC carries here: protobuf, posted.
fn demand_protobuf(head: &Parts) -> Result<()> {
    if head.method != Method::POST {
        return Err(Error::new(ErrorKind::MethodNotFound, "gRPC calls are made with POST"));
    }
    let said = call::text(&head.headers, &CONTENT_TYPE).unwrap_or_default();
    let media_type = said.split(';').next().unwrap_or_default().trim();
    match media_type {
        "application/grpc" | "application/grpc+proto" => Ok(()),
        _ => {
            let words = "gRPC here is application/grpc or application/grpc+proto";
            Err(Error::new(ErrorKind::ContentTypeNotSupported, words).with("mediaType", media_type))
        }
    }
}

/// Whether the version that a request names, if any, is one of the service's.
fn demand_version(headers: &HeaderMap, version: Version) -> Result<()> {
    // A value that is no text names no version.
    let said = headers.get(&VERSION).map(|value| value.to_str().unwrap_or("?"));
    let spoken = facts(version).grpc_versions;
    match version::RequestedVersion::parse(said) {
        version::RequestedVersion::Nothing => return Ok(()),
        version::RequestedVersion::For(named) if spoken.contains(&named) => return Ok(()),
        _ => {}
    }
    let supported = spoken.iter().map(|version| version.as_str()).collect::<Vec<_>>().join(", ");
    let said = said.unwrap_or_default();
    let words = format!("A2A version {said} is not supported by this service; supported: {supported}");
    Err(Error::new(ErrorKind::VersionNotSupported, words).with("requestedVersion", said).with("supportedVersions", supported))
}

/// How long the client waits, by `grpc-timeout`: up to eight digits and a unit.
fn timeout(headers: &HeaderMap) -> Result<Option<Duration>> {
    let Some(value) = headers.get(&TIMEOUT) else { return Ok(None) };
    let time = || {
        let (digits, unit) = value.to_str().ok()?.split_at_checked(value.len().checked_sub(1)?)?;
        let known = (1..=8).contains(&digits.len()) && digits.bytes().all(|byte| byte.is_ascii_digit());
        let number: u64 = known.then(|| digits.parse().ok())??;
        Some(match unit {
            "H" => Duration::from_secs(number * 3_600),
            "M" => Duration::from_secs(number * 60),
            "S" => Duration::from_secs(number),
            "m" => Duration::from_millis(number),
            "u" => Duration::from_micros(number),
            "n" => Duration::from_nanos(number),
            _ => return None,
        })
    };
    let words = "must be one to eight digits and one of the units H, M, S, m, u, n";
    time().map(Some).ok_or_else(|| Error::invalid_param("grpc-timeout", words))
}

/// An answer of one message; `told` is said again at the end, where some clients look for it.
fn single(message: Bytes, told: HeaderMap) -> tonic::body::Body {
    let mut trailers = told;
    status::ok(&mut trailers);
    tonic::body::Body::new(Full::new(message).with_trailers(std::future::ready(Some(Ok::<_, Infallible>(trailers)))))
}

fn success(told: HeaderMap, body: tonic::body::Body) -> Response<Body> {
    let mut response = Response::new(Body::grpc(body));
    *response.headers_mut() = told;
    response.headers_mut().insert(CONTENT_TYPE, GRPC);
    response
}

impl From<exchange::BodyError> for CallError {
    fn from(refusal: exchange::BodyError) -> Self {
        match refusal.status {
            http::StatusCode::PAYLOAD_TOO_LARGE => Self::coded(GrpcCode::ResourceExhausted, refusal.error),
            http::StatusCode::REQUEST_TIMEOUT => Self::coded(GrpcCode::DeadlineExceeded, refusal.error),
            _ => refusal.error.into(),
        }
    }
}
