//! HTTP router: which agent and which binding a request is for.
//!
//! ```text
//! request --> Router -+-- content type application/grpc ----------> grpc.rs
//!                     +-- /healthz /readyz /metrics /…/jwks.json …  here
//!                     +-- what else is served there                 route.rs
//!                     +-- no agent's path                            a list of the agents, or where they are: well_known.rs
//!                     +-- the agent whose path it is
//!                           +-- GET  …/.well-known/agent-card.json  card.rs
//!                           +-- POST …                              jsonrpc.rs
//!                           `-- …/message:send, …/v1/…, …           rest.rs
//! ```

mod builder;

use std::{
    convert::Infallible,
    net::IpAddr,
    panic::AssertUnwindSafe,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::{Duration, SystemTime},
};

use chancery_core::{
    BoxError, Bytes, Card, Error, GrantLookup, Operations, Result,
    clock::{Clock as _, SystemClock},
    sync::{Mutex, RwLock},
};
use chancery_wire::version::{CardForm, card_form};
use http::{
    HeaderValue, Method, Request, Response, StatusCode,
    header::{ALLOW, CONTENT_TYPE, VARY},
    request::Parts,
};
use tokio_util::sync::CancellationToken;
use tower_service::Service;

pub use self::builder::Builder;
use crate::{
    auth::Denial,
    body::Body,
    card::CardSigner,
    cors::Cors,
    endpoint::{Defaults, Endpoint, EndpointOptions, Site},
    exchange::{self, Exchange},
    grpc,
    hosted::Hosted,
    hosts::{Hosts, names_its_host},
    jsonrpc,
    limit::{Limiter, Limits},
    metrics::Meter,
    rest,
    route::Route,
    well_known::{self, Documents, WellKnown},
};

/// The bindings of one or several agents: a [`tower::Service`](https://docs.rs/tower/latest/tower/trait.Service.html) of HTTP requests.
///
/// It listens on nothing. Mount it into an application of axum, wrap it in layers of tower, hand it to hyper, or call it in a test:
///
/// ```
/// use std::sync::Arc;
///
/// use chancery_core::{Card, Operations};
/// use chancery_server::{Endpoint, Router};
///
/// fn application(card: Card, operations: Arc<dyn Operations>) -> chancery_core::Result<axum::Router> {
///     let agents = Router::builder().base_url("https://agents.example").endpoint(Endpoint::shared("/", card, operations)).build()?;
///     Ok(axum::Router::new().route("/hello", axum::routing::get(async || "Hello")).fallback_service(agents))
/// }
/// ```
///
/// Who calls is known by the extensions [`PeerAddress`] and [`auth::PeerCertificate`](crate::auth::PeerCertificate) of a request, if
/// whoever accepts connections puts them there.
#[derive(Clone)]
pub struct Router {
    inner: Arc<Inner>,
}

/// The address that a request came from: an extension of it, by which anonymous callers are told apart when they are counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PeerAddress(pub IpAddr);

pub(crate) struct Inner {
    /// The longest path first.
    agents: RwLock<Arc<[Arc<Hosted>]>>,
    defaults: Defaults,
    /// The base URLs that it is reached by.
    pub(crate) hosts: Arc<Hosts>,
    /// Whether requests of HTTP/1.1 must name their host.
    demands_host: bool,
    #[cfg(feature = "grpc")]
    /// The path of the agent that requests are for which cannot name one: empty, or `/` and a name.
    pub(crate) unnamed: String,
    /// Held while agents or their signer change.
    changing: Mutex<()>,
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
    #[cfg(feature = "grpc")]
    pub(crate) grpc: grpc::Services,
}

impl Router {
    /// A router without agents, to be filled.
    pub fn builder() -> Builder {
        Builder::new()
    }

    /// The base of every URL in the cards.
    #[must_use]
    pub fn base_url(&self) -> &str {
        self.inner.hosts.url(0)
    }

    /// How much of everything is allowed.
    #[must_use]
    pub fn limits(&self) -> &Limits {
        &self.inner.limits
    }

    /// Adds an endpoint, or puts it in the place of the one with the same key. Requests that are under way stay with the one that they
    /// came for.
    ///
    /// # Errors
    /// When the options mean nothing, or the card cannot be written or signed.
    pub fn mount(&self, endpoint: Endpoint) -> Result<()> {
        let Endpoint { path, mut card, operations, grants, options } = endpoint;
        let site = self.site(&path, options)?;
        site.complete(&mut card);
        self.mount_at(site, card, operations, grants)
    }

    /// Where and how an endpoint would be served, for those who must know it before there are operations; then
    /// [`mount_at`](Self::mount_at).
    ///
    /// # Errors
    /// When the options mean nothing.
    pub fn site(&self, path: &str, options: EndpointOptions) -> Result<Site> {
        self.inner.defaults.site(path, options)
    }

    /// As [`mount`](Self::mount), with a card that the site has completed.
    ///
    /// # Errors
    /// When the card cannot be written or signed, or asks for what `auth` does not know.
    pub fn mount_at(&self, site: Site, card: Card, operations: Arc<dyn Operations>, grants: Option<Arc<dyn GrantLookup>>) -> Result<()> {
        let defaults = &self.inner.defaults;
        if let Some(auth) = &site.auth {
            auth.check_skills(&card)?;
            if !defaults.auth.as_ref().is_some_and(|shared| Arc::ptr_eq(shared, auth)) {
                auth.find_skills(std::iter::once(&card))?;
            }
        }
        let _changing = self.inner.changing.lock();
        let signer = defaults.signer.read().clone();
        let agent = Hosted::new(site, card, (operations, grants), defaults.scope_tokens.clone(), signer, now()?)?;
        self.inner.change(|agents| {
            agents.retain(|known| known.key != agent.key);
            agents.push(Arc::new(agent));
        });
        Ok(())
    }

    /// Takes the endpoint with this key out. Requests that are under way are answered.
    pub fn unmount(&self, key: &str) {
        let _changing = self.inner.changing.lock();
        self.inner.change(|agents| agents.retain(|agent| agent.key != key));
    }

    /// Signs the cards with something else from now on, or not at all. Endpoints with a signer of their own keep it.
    ///
    /// # Errors
    /// When a card cannot be signed. Nothing is changed then.
    pub fn sign(&self, signer: Option<Arc<dyn CardSigner>>) -> Result<()> {
        let _changing = self.inner.changing.lock();
        let since = now()?;
        let signed = |agent: &Arc<Hosted>| match agent.own_signer {
            true => Ok(agent.clone()),
            false => agent.signed(signer.clone(), since.clone()).map(Arc::new),
        };
        let signed: Vec<_> = self.inner.agents().iter().map(signed).collect::<Result<_>>()?;
        *self.inner.defaults.signer.write() = signer;
        self.inner.change(|agents| *agents = signed);
        Ok(())
    }

    /// Checks that every skill that `auth` demands scopes for is on the card of some endpoint: a skill that is misspelled would be open.
    ///
    /// # Errors
    /// The first that is not.
    pub fn check_skills(&self) -> Result<()> {
        let Some(auth) = &self.inner.defaults.auth else { return Ok(()) };
        let agents = self.inner.agents();
        let shared = agents.iter().filter(|agent| agent.auth.as_ref().is_some_and(|own| Arc::ptr_eq(own, auth)));
        auth.find_skills(shared.map(|agent| &agent.card))
    }

    /// Begins to shut down: the server is no longer ready, and streams end so that their readers come back elsewhere. Requests are still
    /// answered.
    pub fn close(&self) {
        self.inner.shutdown.cancel();
    }

    /// Counts a connection that was accepted, for `/metrics`.
    pub fn count_connection(&self) {
        self.inner.meter.connected();
    }

    /// Answers a request; `peer` is where it came from, if that is known. Never fails: what goes wrong is an answer too.
    ///
    /// This is [`Service::call`] without a box for the future.
    pub fn handle<B>(
        &self,
        request: Request<B>,
        peer: Option<IpAddr>,
    ) -> impl Future<Output = Result<Response<Body>, Infallible>> + Send + use<B>
    where
        B: http_body::Body<Data = Bytes> + Send + 'static,
        B::Error: Into<BoxError> + Send,
    {
        let is_grpc = grpc::is_grpc(request.headers());
        let (head, body) = request.into_parts();
        CatchPanic { handling: self.inner.clone().handle(head, body, peer, is_grpc), is_grpc }
    }
}

impl<B> Service<Request<B>> for Router
where
    B: http_body::Body<Data = Bytes> + Send + 'static,
    B::Error: Into<BoxError> + Send,
{
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Response<Body>, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let peer = request.extensions().get().map(|PeerAddress(peer)| *peer);
        Box::pin(self.handle(request, peer))
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
            let response = self.answer(&head, body.as_mut(), peer).await;
            // Who was too slow has waited long enough.
            if !body.is_end_stream() && response.status() != StatusCode::REQUEST_TIMEOUT {
                Box::pin(exchange::discard(&self.limits, &head.headers, body)).await;
            }
            response
        }
    }

    /// Answers a request that is not gRPC; it may leave the body unread.
    async fn answer<B>(&self, head: &Parts, body: B, peer: Option<IpAddr>) -> Response<Body>
    where
        B: http_body::Body<Data = Bytes>,
        B::Error: Into<BoxError>,
    {
        if self.demands_host && !names_its_host(head) {
            self.meter.refused();
            return no_host();
        }
        let path = head.uri.path();
        if let Some(response) = self.own(head) {
            return response;
        }
        if let Some(route) = self.routes.iter().find(|route| route.holds(path)) {
            return Box::pin(self.answer_at(route, head, body)).await;
        }
        let agents = self.agents();
        let Some(agent) = find(&agents, path) else {
            return self.nowhere(&agents, head);
        };
        let below = &head.uri.path()[agent.path.len()..];
        let form = if below.is_empty() || below == "/" { Some(CardForm::Merged) } else { card_form(below) };
        let mut response = match (&head.method, form) {
            (&Method::OPTIONS, form) => return self.cors.preflight(&head.headers, form.is_some()),
            (&Method::GET | &Method::HEAD, Some(form)) => {
                return agent.cards(self.hosts.of(head)).answer(form, head.uri.query(), &head.headers);
            }
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

    /// Answers a request to a path where no agent is. At the root there is a list of those that are elsewhere.
    fn nowhere(&self, agents: &[Arc<Hosted>], head: &Parts) -> Response<Body> {
        let at = self.hosts.of(head);
        if head.uri.path() == "/" && matches!(head.method, Method::GET | Method::HEAD) {
            let list = || self.documents.read().catalog(at).map(|catalog| well_known::document(catalog, "application/json"));
            let page = well_known::wants_page(&head.headers).then(|| well_known::page(self.hosts.url(at), agents));
            if let Some(mut response) = page.or_else(list) {
                response.headers_mut().insert(VARY, HeaderValue::from_static("Accept"));
                return response;
            }
        }
        self.meter.refused();
        let error = well_known::no_agent(self.hosts.url(at), agents);
        let mut response = rest::refusal(&error, StatusCode::NOT_FOUND);
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
    fn change(&self, change: impl FnOnce(&mut Vec<Arc<Hosted>>)) {
        let mut agents = self.agents.write();
        let mut changed = agents.to_vec();
        change(&mut changed);
        *agents = sorted(changed);
        *self.documents.write() = self.well_known.documents(&self.hosts, &agents);
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
    fn own(&self, head: &Parts) -> Option<Response<Body>> {
        let text = |text: String, content_type| {
            let mut response = Response::new(Body::bytes(text));
            response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
            response
        };
        let plain = "text/plain; charset=utf-8";
        let path = head.uri.path();
        let response = match path {
            "/healthz" => text("ok\n".to_owned(), plain),
            "/readyz" if self.shutdown.is_cancelled() => {
                let mut response = text("stopping\n".to_owned(), plain);
                *response.status_mut() = StatusCode::SERVICE_UNAVAILABLE;
                response
            }
            "/readyz" => text("ready\n".to_owned(), plain),
            "/metrics" => text(self.meter.text(self.limiter.requests(), self.limiter.streams()), "text/plain; version=0.0.4"),
            well_known::KEYS_PATH | well_known::CATALOG => {
                let documents = self.documents.read().clone();
                let (document, content_type) = match path {
                    well_known::KEYS_PATH => (documents.keys?, "application/jwk-set+json"),
                    _ => (documents.catalog(self.hosts.of(head))?, "application/json"),
                };
                well_known::document(document, content_type)
            }
            _ => return None,
        };
        Some(if matches!(head.method, Method::GET | Method::HEAD) { response } else { not_allowed("GET, HEAD") })
    }
}

/// Now, as an HTTP date.
fn now() -> Result<HeaderValue> {
    let seconds = u64::try_from(SystemClock.now().unix().0).unwrap_or_default();
    let now = httpdate::fmt_http_date(SystemTime::UNIX_EPOCH + Duration::from_secs(seconds));
    HeaderValue::from_str(&now).map_err(Error::internal)
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

fn no_host() -> Response<Body> {
    let error = Error::new(chancery_core::ErrorKind::InvalidRequest, "A request has one Host header (RFC 9112, section 3.2)");
    rest::refusal(&error, StatusCode::BAD_REQUEST)
}

fn not_allowed(allowed: &'static str) -> Response<Body> {
    let error = Error::new(chancery_core::ErrorKind::MethodNotFound, format!("This path takes {allowed} only"));
    let mut response = rest::refusal(&error, StatusCode::METHOD_NOT_ALLOWED);
    response.headers_mut().insert(ALLOW, HeaderValue::from_static(allowed));
    response
}
