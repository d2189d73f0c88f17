//! Request context: one request to one agent, and what all bindings do with it.

use std::{
    borrow::Cow,
    net::IpAddr,
    pin::Pin,
    sync::Arc,
    task::Poll,
    time::{Duration, Instant},
};

use chancery_core::{Answer, Binding, BoxError, Bytes, Caller, Error, ErrorKind, Operation, Reply, Request, Result, Version};
use chancery_wire::{facts, headers};
use http::{
    HeaderMap, HeaderName, HeaderValue, StatusCode,
    header::{CONTENT_TYPE, EXPECT, RETRY_AFTER},
    request::Parts,
};
use http_body_util::BodyExt;
use tracing::{Instrument as _, Span, level_filters::LevelFilter};

use crate::{
    auth::{self, Auth, Denial},
    call,
    grant::{self, GrantHolder},
    hosted::Hosted,
    limit::{Limits, StreamPermit},
    router::Inner,
    shutdown::StreamEnd,
};

const VERSION: HeaderName = HeaderName::from_static(headers::VERSION);
/// How long a caller that was sent away should wait.
const COME_BACK: HeaderValue = HeaderValue::from_static("1");

/// One request to one agent.
pub(crate) struct Exchange<'a> {
    pub(crate) router: &'a Inner,
    pub(crate) agent: &'a Hosted,
    pub(crate) head: &'a Parts,
    pub(crate) peer: Option<IpAddr>,
    /// Who calls.
    pub(crate) who: Caller,
    /// Why the caller would not be here but for the grant that it shows.
    pub(crate) grant_holder: Option<Arc<GrantHolder>>,
    /// When the caller stops waiting.
    pub(crate) deadline: Option<tokio::time::Instant>,
    /// When a stream is to end, because what the caller proved ends then.
    pub(crate) until: Option<tokio::time::Instant>,
}

/// A body that could not be read: too large, too slow, or cut off.
#[derive(Debug)]
pub(crate) struct BodyError {
    pub(crate) status: StatusCode,
    pub(crate) error: Error,
}

/// What became of a request.
pub(crate) struct Done {
    pub(crate) answer: Result<Answer>,
    pub(crate) caller: Caller,
    /// What would let a caller in that was not.
    pub(crate) challenges: Option<Box<HeaderMap>>,
    /// For an answer that is a stream.
    pub(crate) permit: Option<StreamPermit>,
}

impl Done {
    /// Whether the operation was called: the caller was let in, and within its limits.
    pub(crate) fn was_answered(&self) -> bool {
        let limited = |error: &Error| matches!(error.kind(), ErrorKind::RateLimited | ErrorKind::Unavailable);
        self.challenges.is_none() && !self.answer.as_ref().is_err_and(limited)
    }
}

impl<'a> Exchange<'a> {
    /// Lets a caller in, by the head of its request alone. Until then it takes no place from anybody.
    pub(crate) async fn begin(router: &'a Inner, agent: &'a Hosted, head: &'a Parts, peer: Option<IpAddr>) -> Result<Self, Denial> {
        let denied = |denial| router.denied(agent, peer, denial);
        let admitted = match &agent.auth {
            None => Ok((Caller::anonymous(), None)),
            Some(auth) => Box::pin(auth.admit(&agent.key, agent.url(), head)).await,
        };
        let (mut who, until, grant_holder) = match admitted {
            Ok((who, until)) => (who, until, None),
            Err(denial) => match Box::pin(grant::granted(agent, &head.headers)).await {
                Some(granted) => (Caller::anonymous(), None, Some(Arc::new(GrantHolder { granted, denial }))),
                None => return Err(denied(denial)),
            },
        };
        if let Some(tokens) = &agent.scope_tokens
            && let Some(carried) = call::carried(&**tokens, &head.headers, agent.url()).map_err(denied)?
        {
            who.call_mut().carried = Some(Box::new(carried));
        }
        Ok(Self { router, agent, head, peer, who, grant_holder, deadline: None, until })
    }

    /// The same request, of a caller who may have named the task itself: only the task knows in which version it was made.
    pub(crate) fn naming_tasks(&self) -> Self {
        let Self { router, agent, head, peer, who, grant_holder, deadline, until } = self;
        let (who, grant_holder) = (who.clone().naming_tasks(), grant_holder.clone());
        Self { router, agent, head, peer: *peer, who, grant_holder, deadline: *deadline, until: *until }
    }

    /// When a stream that answers is to end although its task goes on.
    pub(crate) fn stream_end(&self) -> StreamEnd {
        StreamEnd::new(&self.router.shutdown, self.until)
    }

    /// The version that the request names, in its header or else in its query.
    pub(crate) fn version(&self) -> Option<Cow<'_, str>> {
        version_of(self.head)
    }

    /// Reads the body, within its limits.
    pub(crate) async fn read<B>(&self, body: B) -> Result<Bytes, BodyError>
    where
        B: http_body::Body<Data = Bytes>,
        B::Error: Into<BoxError>,
    {
        let limits = &self.router.limits;
        read(limits, limits.body, body).await
    }

    /// Whether the body is JSON by its content type. Clients that do not say are believed.
    pub(crate) fn demand_json(&self) -> Result<()> {
        let Some(content_type) = self.head.headers.get(CONTENT_TYPE).filter(|content_type| *content_type != "application/json") else {
            return Ok(());
        };
        let media_type = content_type.to_str().unwrap_or_default().split(';').next().unwrap_or_default().trim();
        let json = media_type.eq_ignore_ascii_case("application/json")
            || media_type.eq_ignore_ascii_case("application/a2a+json")
            || media_type.eq_ignore_ascii_case("application/json-rpc");
        if json || media_type.is_empty() {
            return Ok(());
        }
        let error = Error::new(ErrorKind::ContentTypeNotSupported, "Requests are application/json or application/a2a+json");
        Err(error.with("mediaType", media_type))
    }

    /// Whether this agent is served in a version, over a binding.
    pub(crate) fn demand_served(&self, version: Version, binding: Binding) -> Result<()> {
        let agent = self.agent;
        let known = agent.versions.contains(&version) || agent.versions.contains(&facts(version).served_with);
        if !known {
            let supported: Vec<_> = agent.versions.iter().map(|version| version.as_str()).collect();
            let supported = supported.join(", ");
            let words = format!("A2A version {version} is not supported here; supported: {supported}");
            let error = Error::new(ErrorKind::VersionNotSupported, words);
            return Err(error.with("requestedVersion", version.as_str()).with("supportedVersions", supported));
        }
        if agent.bindings.contains(&binding) {
            Ok(())
        } else {
            Err(Error::new(ErrorKind::MethodNotFound, format!("This agent is not served over {binding}")))
        }
    }

    /// Has a request answered, and counts it.
    ///
    /// The request is in a box because an async function keeps what it is given, and there are several on its way.
    pub(crate) async fn run(&self, version: Version, binding: Binding, request: Box<Request>) -> Done {
        let (began, operation) = (Instant::now(), request.operation());
        let entered = self.enter(version, operation, request);
        let done = entered.instrument(if_logging(|| self.span(version, binding, operation)).unwrap_or_else(Span::none)).await;
        let error = done.answer.as_ref().err();
        let took = began.elapsed();
        self.router.meter.answered(version, binding, operation, error.map(Error::kind), took);
        if_logging(|| self.report(version, binding, operation, &done.answer, took));
        done
    }

    fn span(&self, version: Version, binding: Binding, operation: Operation) -> Span {
        let agent = self.agent.key.as_str();
        tracing::info_span!("request", agent, op = operation.name(), %version, %binding)
    }

    /// Whether the caller may do this at all, with this agent.
    fn allowed(&self, auth: &Auth, operation: Operation, request: &Request) -> Result<(), Denial> {
        auth.allow(&self.agent.key, &self.who, operation)?;
        auth.allow_skills(&self.agent.key, &self.who, &self.agent.card, request)
    }

    async fn enter(&self, version: Version, operation: Operation, request: Box<Request>) -> Done {
        let refused = |denial: Denial| {
            let mut challenges = Box::<HeaderMap>::default();
            denial.headers(&mut challenges);
            Done { answer: Err(denial.error), caller: Caller::anonymous(), challenges: Some(challenges), permit: None }
        };
        if let Err(denial) = self.allow(operation, &request).await {
            return refused(self.router.denied(self.agent, self.peer, denial));
        }
        let mut caller = match call::caller(&self.who, &self.head.headers, version, &self.agent.extensions) {
            Ok(caller) => caller,
            Err(error) => return refused(error.into()),
        };
        let limiter = &self.router.limiter;
        let admitted = limiter.enter(|| self.who(&caller)).and_then(|request| {
            let stream = operation.is_streaming().then(|| limiter.open(self.who(&caller))).transpose()?;
            Ok((request, stream))
        });
        let (answer, permit) = match admitted {
            Ok((_request, permit)) => {
                if let Some(deadline) = self.deadline {
                    caller.call_mut().deadline = Some(deadline.into_std());
                }
                let (operations, caller) = (&*self.agent.operations, &mut caller);
                let guarded = self.agent.auth.is_some();
                // Other versions write a card in a form that nobody has signed.
                let signer = self.agent.signer.as_ref().filter(|_| facts(version).signs_extended_cards);
                let (agent, hosts, head) = (self.agent, &*self.router.hosts, self.head);
                let answer = std::pin::pin!(async move {
                    let mut answer = call::answer(operations, caller, request).await?;
                    if let Answer::Reply(Reply::Card(card)) = &mut answer {
                        let at = hosts.of(head);
                        agent.move_to(card, at);
                        if guarded {
                            auth::shown_to(caller, card);
                        }
                        signer.map(|signer| signer.sign_extended(card, hosts.url(at))).transpose()?;
                    }
                    Ok(answer)
                });
                (in_time(self.deadline, answer).await, permit)
            }
            Err(error) => (Err(error), None),
        };
        Done { answer, caller, challenges: None, permit }
    }

    /// Whether the caller may ask this: by what it has proved, or by a grant for the task that it is about.
    async fn allow(&self, operation: Operation, request: &Request) -> Result<(), Denial> {
        if let Some(grant_holder) = &self.grant_holder {
            return if grant_holder.granted.covers(request) { Ok(()) } else { Err(grant_holder.denial.again()) };
        }
        let Some(auth) = &self.agent.auth else { return Ok(()) };
        let Err(denial) = self.allowed(auth, operation, request) else { return Ok(()) };
        let granted = Box::pin(grant::granted(self.agent, &self.head.headers)).await;
        if granted.is_some_and(|granted| granted.covers(request)) { Ok(()) } else { Err(denial) }
    }

    /// Whose streams and requests are counted together.
    fn who(&self, caller: &Caller) -> String {
        match (&caller.identity().subject, self.peer) {
            (Some(subject), _) => format!("{}/{subject}", caller.identity().tenant),
            (None, Some(peer)) => peer.to_string(),
            (None, None) => String::new(),
        }
    }

    fn report(&self, version: Version, binding: Binding, operation: Operation, answer: &Result<Answer>, took: Duration) {
        let agent = self.agent.key.as_str();
        let op = operation.name();
        match answer {
            Ok(answer) => {
                let task = match answer {
                    Answer::Reply(reply) => reply.decoded_task(),
                    Answer::Stream(_) => None,
                };
                let id = task.map(|task| task.id.as_str());
                let state = task.map(|task| task.status.state.as_str());
                tracing::info!(agent, op, %binding, %version, task = id, state, ?took, "answered");
            }
            Err(error) if matches!(error.kind(), ErrorKind::Internal | ErrorKind::InvalidAgentResponse) => {
                let cause = std::error::Error::source(error);
                tracing::error!(agent, op, %binding, %version, error = %error, cause, ?took, "failed");
            }
            Err(error) => tracing::info!(agent, op, %binding, %version, error = %error, ?took, "refused"),
        }
    }

    /// The headers that go with an answer, whatever it is.
    pub(crate) fn answer_headers(&self, caller: &Caller, challenges: Option<Box<HeaderMap>>, answer: &mut HeaderMap) {
        if let Some(challenges) = challenges {
            answer.extend(*challenges);
        }
        if caller.call().extensions.is_empty() {
            return;
        }
        let names = self.head.headers.keys().map(HeaderName::as_str);
        for (name, value) in headers::activated_extensions(names, caller.call().extensions.iter().map(String::as_str)) {
            // The names come from the card, which may hold anything; what is no header value is not told.
            if let Ok(value) = HeaderValue::from_str(&value) {
                answer.insert(name, value);
            }
        }
    }
}

/// What is logged of every request, if anybody listens; cold code otherwise.
#[inline]
fn if_logging<T>(tell: impl FnOnce() -> T) -> Option<T> {
    #[cold]
    fn cold<T>(tell: impl FnOnce() -> T) -> T {
        tell()
    }
    (LevelFilter::current() > LevelFilter::OFF).then(|| cold(tell))
}

/// The version that a request names, in its header or else in its query.
pub(crate) fn version_of(head: &Parts) -> Option<Cow<'_, str>> {
    if let Some(version) = call::text(&head.headers, &VERSION).filter(|version| !version.is_empty()) {
        return Some(version.into());
    }
    let query = head.uri.query()?;
    let mut pairs = url::form_urlencoded::parse(query.as_bytes());
    pairs.find(|(name, _)| name.eq_ignore_ascii_case(headers::VERSION)).map(|(_, version)| version.into_owned().into())
}

/// The headers that go with an error.
pub(crate) fn error_headers(kind: ErrorKind, answer: &mut HeaderMap) {
    if matches!(kind, ErrorKind::RateLimited | ErrorKind::Unavailable) {
        answer.insert(RETRY_AFTER, COME_BACK);
    }
}

/// Reads a body of at most `limit` bytes.
pub(crate) async fn read<B>(limits: &Limits, limit: usize, body: B) -> Result<Bytes, BodyError>
where
    B: http_body::Body<Data = Bytes>,
    B::Error: Into<BoxError>,
{
    if body.size_hint().lower() > limit as u64 {
        return Err(too_large(limit));
    }
    match within(limits.body_time, std::pin::pin!(collect(body, limit))).await {
        Ok(Ok(Some(body))) => Ok(body),
        Ok(Ok(None)) => Err(too_large(limit)),
        Ok(Err(error)) => Err(BodyError {
            status: StatusCode::BAD_REQUEST,
            error: Error::new(ErrorKind::InvalidRequest, "The body could not be read").caused_by(error),
        }),
        Err(_) => {
            let error = Error::new(ErrorKind::InvalidRequest, "The body took too long to come");
            Err(BodyError { status: StatusCode::REQUEST_TIMEOUT, error })
        }
    }
}

/// Reads what nobody wanted to read of a body, so that the next request of the connection is found behind it. What
/// is twice as long as a body may be is not worth that, nor is what the client holds back until it is asked for: then the
/// connection ends instead.
pub(crate) async fn discard<B>(limits: &Limits, headers: &HeaderMap, mut body: Pin<&mut B>)
where
    B: http_body::Body<Data = Bytes>,
{
    let mut left = limits.body.saturating_mul(2) as u64;
    if headers.contains_key(EXPECT) {
        return;
    }
    let reading = async {
        while body.size_hint().lower() <= left {
            let Some(Ok(frame)) = body.frame().await else { return };
            left = left.saturating_sub(frame.data_ref().map_or(0, |data| data.len() as u64));
        }
    };
    // Who is slow even with what nobody reads loses the connection, and had an answer.
    drop(tokio::time::timeout(limits.body_time, reading).await);
}

/// Waits so long and no longer. Most of what is waited for here is there already, and then no clock is read.
async fn within<F: Future>(limit: Duration, mut awaited: Pin<&mut F>) -> Result<F::Output, tokio::time::error::Elapsed> {
    match std::future::poll_fn(|cx| Poll::Ready(awaited.as_mut().poll(cx))).await {
        Poll::Ready(output) => Ok(output),
        Poll::Pending => tokio::time::timeout(limit, awaited).await,
    }
}

/// Puts a body together; `None` when it is larger than `limit`. Most bodies are one piece, which is not copied.
async fn collect<B>(body: B, limit: usize) -> Result<Option<Bytes>, BoxError>
where
    B: http_body::Body<Data = Bytes>,
    B::Error: Into<BoxError>,
{
    let mut body = std::pin::pin!(body);
    let (mut first, mut whole) = (Bytes::new(), Vec::new());
    while let Some(frame) = body.as_mut().frame().await {
        // What is no data is a trailer, which says nothing here.
        let Ok(piece) = frame.map_err(Into::into)?.into_data() else { continue };
        if first.len().max(whole.len()) + piece.len() > limit {
            return Ok(None);
        }
        if first.is_empty() {
            first = piece;
            continue;
        }
        if whole.is_empty() {
            whole.extend_from_slice(&first);
        }
        whole.extend_from_slice(&piece);
    }
    Ok(Some(if whole.is_empty() { first } else { whole.into() }))
}

/// Waits for an answer until the caller stops waiting. What was begun goes on.
pub(crate) async fn in_time<T>(deadline: Option<tokio::time::Instant>, answer: impl Future<Output = Result<T>>) -> Result<T> {
    match deadline {
        Some(deadline) => tokio::time::timeout_at(deadline, answer)
            .await
            .unwrap_or_else(|_| Err(Error::new(ErrorKind::Timeout, "The deadline passed; what was begun goes on"))),
        None => answer.await,
    }
}

#[cold]
fn too_large(limit: usize) -> BodyError {
    let error = Error::new(ErrorKind::InvalidRequest, format!("The body is larger than {limit} bytes"));
    BodyError { status: StatusCode::PAYLOAD_TOO_LARGE, error }
}
