//! HTTP router: which agent and which binding a request is for.
//!
//! ```text
//! request --> Router -+-- content type application/grpc ----------> grpc.rs
//!                     +-- /healthz /readyz /metrics /…/jwks.json …  here
//!                     +-- what else is served there                 route.rs
//!                     +-- the agent whose path it is
//!                           +-- GET  …/.well-known/agent-card.json  card.rs
//!                           +-- POST …                              jsonrpc.rs
//!                           `-- …/message:send, …/v1/…, …           rest.rs
//! ```

use std::{
    convert::Infallible,
    net::IpAddr,
    panic::AssertUnwindSafe,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use chancery_core::{Binding, BoxError, Bytes, Card, Error, Operations, Result, ScopeTokens, Version, sync::RwLock};
use chancery_engine::Engine;
use chancery_wire::version::{CardForm, card_form};
use http::{
    HeaderValue, Method, Request, Response, StatusCode,
    header::{ALLOW, CACHE_CONTROL, CONTENT_TYPE},
    request::Parts,
};
use tokio_util::sync::CancellationToken;

use crate::{
    auth::{Auth, Denial},
    body::Body,
    card::CardFiles,
    cors::Cors,
    exchange::{self, Exchange},
    grpc, jsonrpc,
    limit::{Limiter, Limits},
    metrics::Meter,
    rest,
    route::Route,
    signing::{self, Seal},
    well_known::{self, Documents, WellKnown},
};

/// The bindings of one or several agents, for whatever HTTP server stands in front of them.
///
/// [`Server`](crate::Server) does that by itself; this is for those who have one already.
#[derive(Clone)]
pub struct Router {
    inner: Arc<Inner>,
}

pub(crate) struct Inner {
    /// The longest path first.
    agents: RwLock<Arc<[Arc<Hosted>]>>,
    pub(crate) limits: Limits,
    pub(crate) limiter: Arc<Limiter>,
    pub(crate) meter: Meter,
    pub(crate) lenient_version: bool,
    pub(crate) cors: Cors,
    /// Paths that are no agent's.
    routes: Vec<Route>,
    well_known: WellKnown,
    documents: RwLock<Documents>,
    /// Set when the server stops.
    pub(crate) shutdown: CancellationToken,
    pub(crate) grpc: grpc::Services,
}

/// An agent that is served.
pub(crate) struct Hosted {
    /// Its key on the server; also the tenant by which gRPC finds it.
    pub(crate) key: String,
    /// Where it is: empty, or `/` and a name.
    pub(crate) path: String,
    /// The tenant that its card declares; empty for none. Over gRPC the key stands for it.
    pub(crate) tenant: String,
    /// Its name in the catalog.
    pub(crate) listed: String,
    pub(crate) operations: Arc<dyn Operations>,
    /// The engine behind the operations, if it is ours: it knows what grants open.
    pub(crate) engine: Option<Engine>,
    pub(crate) card: Card,
    pub(crate) cards: CardFiles,
    /// The extensions that it knows.
    pub(crate) extensions: Vec<String>,
    pub(crate) versions: Vec<Version>,
    pub(crate) bindings: Vec<Binding>,
    /// Who may call it; everybody when nothing is said.
    pub(crate) auth: Option<Arc<Auth>>,
    /// Who verifies the scope tokens that come with calls; without, they say nothing.
    pub(crate) scope_tokens: Option<Arc<dyn ScopeTokens>>,
    /// What its cards are signed with, if they are.
    pub(crate) seal: Option<Arc<Seal>>,
    /// Whether that was said of this agent alone.
    pub(crate) own_seal: bool,
}

impl Hosted {
    /// Where the agent is, as its card says.
    pub(crate) fn url(&self) -> &str {
        self.card.supported_interfaces.first().map_or("", |interface| interface.url.as_str())
    }

    /// An agent with its card, which says where it is and what it knows.
    pub(crate) fn new(
        key: &str,
        path: &str,
        card: &Card,
        operations: Arc<dyn Operations>,
        seal: Option<Arc<Seal>>,
        since: HeaderValue,
    ) -> Result<Self> {
        let extensions = card.capabilities.extensions.iter().map(|extension| extension.uri.clone()).collect();
        Ok(Self {
            key: key.to_owned(),
            path: path.to_owned(),
            tenant: String::new(),
            listed: key.to_owned(),
            operations,
            engine: None,
            card: card.clone(),
            cards: CardFiles::new(card, key, seal.as_deref(), since)?,
            extensions,
            versions: crate::server::VERSIONS.to_vec(),
            bindings: crate::server::BINDINGS.to_vec(),
            auth: None,
            scope_tokens: None,
            seal,
            own_seal: false,
        })
    }

    /// The same agent, its cards signed by something else.
    pub(crate) fn sealed(&self, seal: Option<Arc<Seal>>, since: HeaderValue) -> Result<Self> {
        let mut agent = Self::new(&self.key, &self.path, &self.card, self.operations.clone(), seal, since)?;
        (agent.versions, agent.bindings, agent.auth) = (self.versions.clone(), self.bindings.clone(), self.auth.clone());
        agent.tenant.clone_from(&self.tenant);
        agent.listed.clone_from(&self.listed);
        agent.scope_tokens.clone_from(&self.scope_tokens);
        agent.engine.clone_from(&self.engine);
        Ok(agent)
    }
}

impl Router {
    pub(crate) fn new(
        agents: Vec<Arc<Hosted>>,
        limits: Limits,
        lenient_version: bool,
        cors: Cors,
        routes: Vec<Route>,
        well_known: WellKnown,
        shutdown: CancellationToken,
    ) -> Self {
        let agents = sorted(agents);
        let documents = RwLock::new(well_known.documents(&agents));
        let agents = RwLock::new(agents);
        let limiter = Limiter::new(limits.clone());
        let grpc = grpc::Services::new(shutdown.clone());
        let inner = Inner {
            agents,
            limits,
            limiter,
            meter: Meter::default(),
            lenient_version,
            cors,
            routes,
            well_known,
            documents,
            shutdown,
            grpc,
        };
        Self { inner: Arc::new(inner) }
    }

    pub(crate) fn inner(&self) -> &Arc<Inner> {
        &self.inner
    }

    /// Answers a request; `peer` is where it came from, if that is known. Never fails: what goes wrong is
    /// an answer too.
    pub async fn handle<B>(&self, request: Request<B>, peer: Option<IpAddr>) -> Response<Body>
    where
        B: http_body::Body<Data = Bytes> + Send + 'static,
        B::Error: Into<BoxError> + Send,
    {
        let Ok(response) = self.answer(request, peer).await;
        response
    }

    /// The same, in as little room as can be: every connection has that room, and each request is moved there.
    pub(crate) fn answer<B>(
        &self,
        request: Request<B>,
        peer: Option<IpAddr>,
    ) -> CatchPanic<impl Future<Output = Response<Body>> + Send + use<B>>
    where
        B: http_body::Body<Data = Bytes> + Send + 'static,
        B::Error: Into<BoxError> + Send,
    {
        let is_grpc = grpc::is_grpc(request.headers());
        let (head, body) = request.into_parts();
        CatchPanic { handling: self.inner.clone().handle(head, body, peer, is_grpc), is_grpc }
    }
}

pin_project_lite::pin_project! {
    /// An answer that is made even if making it panics.
    pub(crate) struct CatchPanic<F> {
        #[pin]
        handling: F,
        is_grpc: bool,
    }
}

impl<F: Future<Output = Response<Body>>> Future for CatchPanic<F> {
    type Output = Result<Response<Body>, Infallible>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        // Nothing that a panic may have left half done outlives this request.
        let Ok(poll) = std::panic::catch_unwind(AssertUnwindSafe(|| this.handling.poll(cx))) else {
            tracing::error!("a request made the server panic");
            return Poll::Ready(Ok(match this.is_grpc {
                true => grpc::panicked(),
                false => rest::refusal(&Error::internal("panic"), StatusCode::INTERNAL_SERVER_ERROR),
            }));
        };
        poll.map(Ok)
    }
}

impl Inner {
    // What is rare or large anyway is in a box here and below, so that the room is for the JSON-RPC answer only.
    #[allow(clippy::manual_async_fn, reason = "an async function would keep the head twice")]
    fn handle<B>(self: Arc<Self>, head: Parts, body: B, peer: Option<IpAddr>, is_grpc: bool) -> impl Future<Output = Response<Body>> + Send
    where
        B: http_body::Body<Data = Bytes> + Send + 'static,
        B::Error: Into<BoxError> + Send,
    {
        async move {
            if is_grpc {
                return Box::pin(grpc::answer(&self, head, body, peer)).await;
            }
            let mut body = std::pin::pin!(body);
            let response = self.exchange(&head, body.as_mut(), peer).await;
            // Who was too slow has waited long enough.
            if !body.is_end_stream() && response.status() != StatusCode::REQUEST_TIMEOUT {
                Box::pin(exchange::discard(&self.limits, &head.headers, body)).await;
            }
            response
        }
    }

    /// Answers a request that is not gRPC; it may leave the body unread.
    async fn exchange<B>(&self, head: &Parts, body: B, peer: Option<IpAddr>) -> Response<Body>
    where
        B: http_body::Body<Data = Bytes>,
        B::Error: Into<BoxError>,
    {
        let path = head.uri.path();
        if let Some(response) = self.own(&head.method, path) {
            return response;
        }
        if let Some(route) = self.routes.iter().find(|route| route.holds(path)) {
            return Box::pin(self.answer_at(route, head, body)).await;
        }
        let agents = self.agents();
        let Some(agent) = find(&agents, path) else {
            self.meter.refused();
            return nothing_here();
        };
        let below = &head.uri.path()[agent.path.len()..];
        let form = if below.is_empty() || below == "/" { Some(CardForm::Merged) } else { card_form(below) };
        let mut response = match (&head.method, form) {
            (&Method::OPTIONS, form) => return self.cors.preflight(&head.headers, form.is_some()),
            (&Method::GET | &Method::HEAD, Some(form)) => return agent.cards.answer(form, head.uri.query(), &head.headers),
            (&Method::POST, Some(CardForm::Merged)) if below.len() <= 1 => match Exchange::begin(self, agent, head, peer).await {
                Ok(exchange) => match exchange.read(body).await {
                    Ok(body) => jsonrpc::answer(&exchange, &body).await,
                    Err(refusal) => jsonrpc::refused(&exchange, &refusal),
                },
                Err(denial) => jsonrpc::denied(head, &denial),
            },
            (_, Some(_)) => {
                self.meter.refused();
                not_allowed(if below.len() <= 1 { "GET, HEAD, POST, OPTIONS" } else { "GET, HEAD, OPTIONS" })
            }
            (_, None) => Box::pin(rest::answer(self, agent, head, peer, below, body)).await,
        };
        self.cors.allow(&head.headers, response.headers_mut());
        response
    }

    /// Has a request answered that is for no agent.
    async fn answer_at<B>(&self, route: &Route, head: &Parts, body: B) -> Response<Body>
    where
        B: http_body::Body<Data = Bytes>,
        B::Error: Into<BoxError>,
    {
        match exchange::read(&self.limits, self.limits.body, body).await {
            Ok(body) => route.answer(Request::from_parts(head.clone(), body)).await.map(Body::bytes),
            Err(refusal) => rest::refusal(&refusal.error, refusal.status),
        }
    }

    /// All agents, the longest path first.
    pub(crate) fn agents(&self) -> Arc<[Arc<Hosted>]> {
        self.agents.read().clone()
    }

    /// Changes the agents; requests that are under way stay with those they came for.
    pub(crate) fn change(&self, change: impl FnOnce(&mut Vec<Arc<Hosted>>)) {
        let mut agents = self.agents.write();
        let mut changed = agents.to_vec();
        change(&mut changed);
        *agents = sorted(changed);
        *self.documents.write() = self.well_known.documents(&agents);
    }

    /// Counts and tells of a caller that is not let in. Who tries too often is told to wait, if there is a pace to keep.
    pub(crate) fn denied(&self, agent: &Hosted, peer: Option<IpAddr>, mut denial: Denial) -> Denial {
        self.meter.denied(denial.error.kind());
        let error = denial.error.kind().reason();
        tracing::info!(agent = agent.key, peer = peer.map(tracing::field::display), error, why = denial.why, "denied");
        if let Err(error) = self.limiter.pace(|| format!("denied/{}", peer.map(|peer| peer.to_string()).unwrap_or_default())) {
            denial = error.into();
        }
        denial
    }

    /// What the server says about itself.
    fn own(&self, method: &Method, path: &str) -> Option<Response<Body>> {
        let text = |text: String, content_type| {
            let mut response = Response::new(Body::bytes(text));
            response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
            response
        };
        let plain = "text/plain; charset=utf-8";
        let response = match path {
            "/healthz" => text("ok\n".to_owned(), plain),
            "/readyz" if self.shutdown.is_cancelled() => {
                let mut response = text("stopping\n".to_owned(), plain);
                *response.status_mut() = StatusCode::SERVICE_UNAVAILABLE;
                response
            }
            "/readyz" => text("ready\n".to_owned(), plain),
            "/metrics" => text(self.meter.text(self.limiter.requests(), self.limiter.streams()), "text/plain; version=0.0.4"),
            signing::KEYS | well_known::CATALOG => {
                let documents = self.documents.read().clone();
                let (document, content_type) = match path {
                    signing::KEYS => (documents.keys?, "application/jwk-set+json"),
                    _ => (documents.catalog?, "application/json"),
                };
                let mut response = Response::new(Body::bytes(document));
                response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
                response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("public, max-age=300"));
                response
            }
            _ => return None,
        };
        Some(if matches!(*method, Method::GET | Method::HEAD) { response } else { not_allowed("GET, HEAD") })
    }
}

fn sorted(mut agents: Vec<Arc<Hosted>>) -> Arc<[Arc<Hosted>]> {
    agents.sort_by_key(|agent| std::cmp::Reverse(agent.path.len()));
    agents.into()
}

/// The agent that a path begins with.
fn find<'a>(agents: &'a [Arc<Hosted>], path: &str) -> Option<&'a Hosted> {
    let at = |agent: &&Arc<Hosted>| path.strip_prefix(agent.path.as_str()).is_some_and(|below| below.is_empty() || below.starts_with('/'));
    agents.iter().find(at).map(|agent| &**agent)
}

fn nothing_here() -> Response<Body> {
    let error = Error::new(chancery_core::ErrorKind::MethodNotFound, "There is no agent at this path");
    rest::refusal(&error, StatusCode::NOT_FOUND)
}

fn not_allowed(allowed: &'static str) -> Response<Body> {
    let error = Error::new(chancery_core::ErrorKind::MethodNotFound, format!("This path takes {allowed} only"));
    let mut response = rest::refusal(&error, StatusCode::METHOD_NOT_ALLOWED);
    response.headers_mut().insert(ALLOW, HeaderValue::from_static(allowed));
    response
}
