//! A client: one agent, and how it is called.

use std::sync::Arc;

use chancery_core::{
    Binding, Caller, Card, ContextId, Error, ErrorKind, Grant, Operation, Reply, Request, Result, SendMessage, TaskId, Version, extension,
    sync::Mutex,
};
use chancery_signing::Report;
use chancery_wire::{StreamMemory, facts, headers, pick::Choice};
use http::{HeaderMap, HeaderName, HeaderValue};
use tokio::time::Instant;
use url::Url;
use uuid::Uuid;

use crate::{
    builder::{Builder, Settings},
    credentials::{Attached, Gate},
    discover::{self, Cards, Found},
    failure::{Failed, Reached},
    grpc::Grpc,
    http::{Head, Http},
    jsonrpc::JsonRpc,
    observer::{Chosen, Notice, Wire},
    rest::Rest,
    retry,
    source::Source,
    trouble::{Trouble, TroubleKind},
};

/// How far a task may reach, signed by somebody; sent for a caller that carries it.
const SCOPE_TOKEN: &str = "a2a-scope-token";

/// Calls an agent.
///
/// It implements [`Operations`](chancery_core::Operations), the protocol in full; the methods here are
/// the short way for the most common of them. Clones share connections.
///
/// ```no_run
/// use chancery_client::Client;
///
/// # async fn run() -> chancery_core::Result<()> {
/// let agent = Client::connect("https://agent.example.com").await?;
/// let reply = agent.send("What is 6 times 7?").await?;
/// println!("{}", reply.text());
/// # Ok(()) }
/// ```
#[derive(Debug, Clone)]
pub struct Client(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    settings: Settings,
    http: Http,
    state: Mutex<State>,
    home: Option<Home>,
}

/// Where the card came from.
#[derive(Debug)]
struct Home {
    url: String,
    cards: Arc<Cards>,
}

#[derive(Debug)]
struct State {
    peer: Arc<Peer>,
    /// What else the card offers, worst first.
    others: Vec<Route>,
    /// The agent has accepted a call: what is used now is what is used.
    settled: bool,
    card: Option<Arc<Card>>,
    report: Option<Arc<Report>>,
}

/// One way to call the agent.
#[derive(Debug, Clone)]
pub(crate) struct Route {
    pub(crate) version: Version,
    pub(crate) binding: Binding,
    pub(crate) url: String,
    pub(crate) tenant: String,
    /// What the card says about it, unless there is no card or nothing else may be tried.
    pub(crate) choice: Option<Choice>,
    /// Its place among the interfaces of the card, counted from 1; 0 without a card.
    pub(crate) place: usize,
    /// Whether a card says all this.
    pub(crate) declared: bool,
}

/// The way that is used.
#[derive(Debug)]
pub(crate) struct Peer {
    pub(crate) route: Route,
    /// Whether a repeated send with the same key is the same send.
    pub(crate) keyed: bool,
    transport: Transport,
    /// The card, for what it says about credentials, and where it came from.
    card: Option<Arc<Card>>,
    card_url: Option<String>,
    /// Where credentials go.
    origin: String,
}

#[derive(Debug)]
enum Transport {
    JsonRpc(JsonRpc),
    Rest(Rest),
    Grpc(Box<Grpc>),
}

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

impl Client {
    /// Reads the card of an agent and gives a client that speaks the best version and binding of both.
    ///
    /// # Errors
    /// As [`Builder::connect`].
    pub async fn connect(url: &str) -> Result<Self> {
        Self::builder().connect(url).await
    }

    /// A client for an agent whose interface is known.
    ///
    /// # Errors
    /// As [`Builder::over`].
    pub fn over(binding: Binding, version: Version, url: impl Into<String>) -> Result<Self> {
        Self::builder().over(binding, version, url)
    }

    /// The long way to a client: with preferences, limits, headers.
    pub fn builder() -> Builder {
        Builder::default()
    }

    /// The version that is spoken.
    #[must_use]
    pub fn version(&self) -> Version {
        self.peer().route.version
    }

    /// The binding that is used.
    #[must_use]
    pub fn binding(&self) -> Binding {
        self.peer().route.binding
    }

    /// The address that is called.
    #[must_use]
    pub fn url(&self) -> String {
        self.peer().route.url.clone()
    }

    /// What the card wants in every request; empty when it wants nothing.
    #[must_use]
    pub fn tenant(&self) -> String {
        self.peer().route.tenant.clone()
    }

    /// The agent's card, if the client has read one.
    #[must_use]
    pub fn card(&self) -> Option<Arc<Card>> {
        self.state().card.clone()
    }

    /// What the check of the card's signatures found; `None` when there is no card or nobody looked
    /// ([`Builder::signed_cards`]). It is about the public card; the extended one is checked when it is read.
    #[must_use]
    pub fn card_report(&self) -> Option<Arc<Report>> {
        self.state().report.clone()
    }

    /// Asks for the agent's card again, and says whether it has changed. What is spoken stays the same.
    ///
    /// # Errors
    /// When the card cannot be read, or the client was made without one.
    pub async fn refresh(&self) -> Result<bool> {
        let Inner { settings, http, home, .. } = &*self.0;
        let home = home.as_ref().ok_or_else(|| Error::new(ErrorKind::UnsupportedOperation, "this client was made without a card"))?;
        let found = home.cards.find(http, settings, &home.url, true).await?;
        let card = Some(Arc::new(found.card));
        let mut state = self.state();
        let changed = state.card != card;
        state.card = card;
        state.report = found.report;
        Ok(changed)
    }

    pub(crate) async fn discover(settings: Settings, cards: Arc<Cards>, url: &str) -> Result<Self> {
        let http = Http::new(&settings)?;
        let found = cards.find(&http, &settings, url, false).await?;
        Self::with_card(settings, http, found, Some(Home { url: url.to_owned(), cards }))
    }

    pub(crate) fn found(settings: Settings, found: Found, home: Option<(String, Arc<Cards>)>) -> Result<Self> {
        let http = Http::new(&settings)?;
        Self::with_card(settings, http, found, home.map(|(url, cards)| Home { url, cards }))
    }

    fn with_card(settings: Settings, http: Http, found: Found, home: Option<Home>) -> Result<Self> {
        let Found { card, choices, secure, report } = found;
        let card = Arc::new(card);
        let routes = choices.into_iter().map(|choice| Route::new(choice, secure, &card));
        // One that cannot be used at all, such as an address that is none, is as good as not there.
        let mut routes: Vec<_> = routes.filter(|route| Transport::new(&http, &settings, route).is_ok()).collect();
        routes.reverse();
        let route = routes.pop().ok_or_else(|| nothing_spoken(&card))?;
        let keyed = card.capabilities.extensions.iter().any(|extension| extension.uri == extension::SEQUENCE);
        let peer = Peer::new(&http, &settings, route, keyed)?.of_card(&card, home.as_ref().map(|home| home.url.as_str()));
        peer.show(&settings);
        if let Some(purse) = &settings.purse.0 {
            for kind in purse.given().into_iter().filter(|kind| !card.security_schemes.values().any(|scheme| kind.suits(scheme))) {
                settings.eye.notice(|| Notice::UnusedCredential(kind));
            }
        }
        let state = Mutex::new(State { peer: Arc::new(peer), others: routes, settled: false, card: Some(card), report });
        Ok(Self(Arc::new(Inner { settings, http, state, home })))
    }

    pub(crate) fn with_route(settings: Settings, route: Route) -> Result<Self> {
        let http = Http::new(&settings)?;
        let peer = Peer::new(&http, &settings, route, false)?;
        peer.show(&settings);
        let state = Mutex::new(State { peer: Arc::new(peer), others: Vec::new(), settled: true, card: None, report: None });
        Ok(Self(Arc::new(Inner { settings, http, state, home: None })))
    }

    /// What may be used of an extended card: it has signatures of its own, which count as those of the public one do. Versions before 1.0
    /// have no form of it that anybody signs, so that nothing can be demanded of it there.
    pub(crate) async fn trusted(&self, card: Card) -> Result<Card> {
        let Inner { settings, home, .. } = &*self.0;
        if !facts(self.version()).signs_extended_cards {
            return Ok(card);
        }
        let origin = home.as_ref().map(|home| crate::discover::parse(&home.url)).transpose()?;
        let body = serde_json::to_vec(&card).map_err(Error::internal)?;
        let checked = settings.trust.check(settings, &body.into(), origin.as_ref()).await?;
        serde_json::from_slice(&checked.body).map_err(Error::internal)
    }

    /// The base URL of the agent: where its card came from, else what is called.
    pub(crate) fn base(&self) -> String {
        let url = self.0.home.as_ref().map_or_else(|| self.url(), |home| home.url.clone());
        url.trim_end_matches(discover::AGENT_CARD).trim_end_matches('/').to_owned()
    }

    /// Whether a URL is where this client's agent is: where its card came from, or where it is called.
    pub(crate) fn shares_origin(&self, url: &Url) -> bool {
        let home = self.0.home.as_ref().and_then(|home| discover::parse(&home.url).ok());
        home.is_some_and(|home| home.origin() == url.origin() || discover::same_port_here(&home, url))
            || self.peer().origin == url.origin().ascii_serialization()
    }

    /// A client for another agent, to which a task went. To an interface on this client's own origin it is as this one; elsewhere it
    /// shows nothing that was meant for this agent.
    pub(crate) async fn elsewhere(&self, base: &str, card: &str) -> Result<Self> {
        let mut settings = self.settings().clone();
        settings.headers.clear();
        settings.card_headers.clear();
        settings.tls.hide();
        settings.purse = settings.follow.purse.clone();
        let cards = self.0.home.as_ref().map(|home| home.cards.clone()).unwrap_or_default();
        let mut found = cards.find(&Http::new(&settings)?, &settings, card, false).await?;
        let origin = self.peer().origin.clone();
        let near = |choice: &Choice| {
            let route = Route::new(choice.clone(), found.secure, &found.card);
            Peer::new(&self.0.http, &settings, route, false).is_ok_and(|peer| peer.origin == origin)
        };
        let choices: Vec<_> = found.choices.iter().filter(|choice| near(choice)).cloned().collect();
        if !choices.is_empty() {
            (settings, found.choices) = (self.settings().clone(), choices);
        }
        Self::found(settings, found, Some((base.to_owned(), cards)))
    }

    pub(crate) fn settings(&self) -> &Settings {
        &self.0.settings
    }

    pub(crate) fn peer(&self) -> Arc<Peer> {
        self.state().peer.clone()
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        // Nothing in here panics half-way.
        self.0.state.lock()
    }

    /// A call for an operation, as the caller and the settings want it.
    pub(crate) fn call(&self, caller: &Caller, request: Request) -> Call {
        let mut caller = caller.clone();
        let sends = matches!(request, Request::SendMessage(_) | Request::StreamMessage(_));
        if sends && caller.call().idempotency_key.is_none() {
            caller.call_mut().idempotency_key = Some(Uuid::now_v7().to_string());
        }
        let deadline = caller.call().deadline.map_or_else(|| Instant::now() + self.settings().timeout, Instant::from_std);
        let spare = (TaskId::generate(), ContextId::generate());
        Call { request, caller, deadline, retries: self.settings().retries, spare }
    }

    /// Makes a call, again and again as far as that is safe, and says who answered.
    pub(crate) async fn perform(&self, call: &Call) -> Result<(Arc<Peer>, Answered)> {
        let operation = call.request.operation();
        let mut attempt = 0;
        let mut renewed = false;
        loop {
            let peer = self.peer();
            let attempted = tokio::time::timeout_at(call.deadline, Box::pin(peer.attempt(call, self.settings()))).await;
            let failed = match attempted.unwrap_or_else(|_| Err(Failed::too_late())) {
                Ok(answer) => {
                    self.state().settled = true;
                    return Ok((peer, answer));
                }
                Err(failed) => failed,
            };
            tracing::debug!(op = operation.name(), error = %failed.error, reached = ?failed.reached, attempt, "attempt failed");
            if self.turn_to_another(&peer, &failed) {
                continue;
            }
            if !renewed && Box::pin(peer.renewed(call, self.settings(), &failed)).await? {
                renewed = true;
                self.settings().eye.notice(|| Notice::Renewed);
                continue;
            }
            attempt += 1;
            let pause = failed.retry_after.unwrap_or_else(|| retry::pause(attempt));
            let safe = retry::is_safe(operation, &failed, peer.keyed);
            if !safe || attempt > call.retries || Instant::now() + pause >= call.deadline {
                return Err(failed.error);
            }
            self.settings().eye.notice(|| Notice::Retry { operation, attempt, pause, reason: chain(&failed.error) });
            tokio::time::sleep(pause).await;
        }
    }

    /// Goes over to what else the card offers, if the agent has never answered and it may help: another
    /// interface when this one cannot be reached, an older version when this one is not understood.
    fn turn_to_another(&self, peer: &Arc<Peer>, failed: &Failed) -> bool {
        let mut state = self.state();
        if !Arc::ptr_eq(&state.peer, peer) {
            // Somebody else has gone over meanwhile.
            return !state.settled;
        }
        if state.settled {
            return false;
        }
        let route = match failed.reached {
            Reached::Nobody => state.others.pop(),
            Reached::Answer => {
                // Once is enough: after this, what the agent says is what it means.
                state.settled = true;
                let older = peer.route.choice.as_ref().and_then(|choice| choice.after(failed.error.kind()));
                older.filter(|choice| self.settings().allows(choice.version)).map(|choice| Route {
                    version: choice.version,
                    choice: None,
                    ..peer.route.clone()
                })
            }
            Reached::Silence | Reached::Busy | Reached::Here => None,
        };
        let other = route.and_then(|route| Peer::new(&self.0.http, self.settings(), route, peer.keyed).ok());
        let Some(mut other) = other else { return false };
        other.card.clone_from(&peer.card);
        other.card_url.clone_from(&peer.card_url);
        let Route { version, binding, .. } = other.route;
        tracing::debug!(%version, %binding, "trying another way");
        self.settings().eye.notice(|| Notice::Fallback { version, binding, reason: chain(&failed.error) });
        other.show(self.settings());
        state.peer = Arc::new(other);
        true
    }
}

fn nothing_spoken(card: &Card) -> Error {
    let offered: Vec<_> =
        card.supported_interfaces.iter().map(|one| format!("{} {}", one.protocol_binding, one.protocol_version)).collect();
    let words = format!("the agent offers nothing that this client speaks: {}", offered.join(", "));
    Error::new(ErrorKind::VersionNotSupported, words).caused_by(Trouble::new(TroubleKind::NoInterface))
}

/// An error and its causes in one line.
pub(crate) fn chain(error: &Error) -> String {
    let mut words = error.to_string();
    let mut cause = std::error::Error::source(error);
    while let Some(error) = cause {
        words = format!("{words}: {error}");
        cause = error.source();
    }
    words
}

impl Route {
    fn new(choice: Choice, secure: bool, card: &Card) -> Self {
        let scheme = if secure { "https" } else { "http" };
        let url = if choice.url.contains("://") { choice.url.clone() } else { format!("{scheme}://{}", choice.url) };
        let is_it = |one: &chancery_core::Interface| {
            one.url == choice.url && one.tenant == choice.tenant && Binding::from_name(&one.protocol_binding) == Some(choice.binding)
        };
        let version = |one: &chancery_core::Interface| one.protocol_version.starts_with(choice.version.as_str());
        let interfaces = &card.supported_interfaces;
        let place = interfaces.iter().position(|one| is_it(one) && version(one)).or_else(|| interfaces.iter().position(is_it));
        let tenant = choice.tenant.clone();
        let place = place.map_or(0, |place| place + 1);
        Self { version: choice.version, binding: choice.binding, url, tenant, choice: Some(choice), place, declared: true }
    }
}

impl Transport {
    fn new(http: &Http, settings: &Settings, route: &Route) -> Result<Self> {
        let parsed = Url::parse(&route.url);
        if route.binding != Binding::Grpc && parsed.is_err() {
            return Err(Error::invalid_param("url", "must be an http or https URL"));
        }
        if parsed.is_ok_and(|url| !url.username().is_empty() || url.password().is_some()) {
            return Err(Error::invalid_param("url", "must not hold a name or a password"));
        }
        Ok(match route.binding {
            Binding::JsonRpc => Self::JsonRpc(JsonRpc::new(http.clone(), &route.url, route.version)?),
            Binding::HttpJson => Self::Rest(Rest::new(http.clone(), &route.url, route.version)?),
            Binding::Grpc => Self::Grpc(Box::new(Grpc::new(settings, &route.url, route.version)?)),
            other => return Err(Error::new(ErrorKind::UnsupportedOperation, format!("{other} is not spoken here"))),
        })
    }
}

impl Peer {
    fn new(http: &Http, settings: &Settings, route: Route, keyed: bool) -> Result<Self> {
        let transport = Transport::new(http, settings, &route)?;
        // A repeated message without an id does not look the same to whoever gives it one.
        let keyed = settings.idempotent.unwrap_or(keyed) && facts(route.version).messages_have_ids;
        let origin = match &transport {
            Transport::Grpc(grpc) => grpc.origin(),
            _ => Url::parse(&route.url).map(|url| url.origin().ascii_serialization()).unwrap_or_default(),
        };
        Ok(Self { route, keyed, transport, card: None, card_url: None, origin })
    }

    /// This way to the agent of a card.
    fn of_card(mut self, card: &Arc<Card>, url: Option<&str>) -> Self {
        self.card = Some(card.clone());
        self.card_url = url.map(str::to_owned);
        self
    }

    fn show(&self, settings: &Settings) {
        settings.eye.see(|| {
            let Route { version, binding, url, tenant, place, .. } = &self.route;
            let of = self.card.as_ref().map_or(0, |card| card.supported_interfaces.len());
            Wire::Chosen(Chosen { version: *version, binding: *binding, url, tenant, place: *place, of })
        });
    }

    fn gate<'a>(&'a self, call: &'a Call, settings: &Settings) -> Gate<'a> {
        Gate {
            card: self.card.as_deref(),
            card_url: self.card_url.as_deref(),
            origin: &self.origin,
            binding: self.route.binding,
            certificate: settings.tls.identity().is_some(),
            on_behalf_of: call.caller.identity().presented.as_deref(),
        }
    }

    /// The credentials that go with every request.
    async fn attached(&self, call: &Call, settings: &Settings) -> Result<Attached> {
        let Some(purse) = &settings.purse.0 else { return Ok(Attached::default()) };
        let attached = self.gate(call, settings).attach(&**purse).await?;
        if !attached.placed.is_empty() && self.is_exposed() {
            settings.eye.notice(|| Notice::Unencrypted { origin: self.origin.clone() });
        }
        Ok(attached)
    }

    /// Whether others may listen on the way.
    fn is_exposed(&self) -> bool {
        Url::parse(&self.origin).is_ok_and(|url| url.scheme() == "http" && !discover::is_local(&url))
    }

    /// Whether credentials that were refused are others now.
    async fn renewed(&self, call: &Call, settings: &Settings, failed: &Failed) -> Result<bool> {
        let refused = Trouble::of(&failed.error).and_then(Trouble::status) == Some(401);
        let Some(purse) = settings.purse.0.as_ref().filter(|_| refused) else { return Ok(false) };
        let gate = self.gate(call, settings);
        let placed = gate.attach(&**purse).await?.placed;
        gate.renew(&**purse, &placed).await
    }

    async fn attempt(&self, call: &Call, settings: &Settings) -> Result<Answered, Failed> {
        let request = call.request_for(&self.route);
        let Attached { headers, query, placed } = self.attached(call, settings).await.map_err(Failed::here)?;
        let mut head = Head {
            call: Some((request.operation(), self.route.version, self.route.binding)),
            headers: call.headers_for(&self.route, settings).map_err(Failed::here)?,
            query,
            placed,
            dry: settings.dry_run,
        };
        head.headers.extend(headers);
        if !request.operation().is_streaming() {
            return Ok(Answered::Reply(match &self.transport {
                Transport::JsonRpc(rpc) => rpc.reply(&request, head).await?,
                Transport::Rest(rest) => rest.reply(&request, head).await?,
                Transport::Grpc(grpc) => grpc.reply(&request, head, call.deadline).await?,
            }));
        }
        let memory = self.memory(&request);
        Ok(Answered::Source(match &self.transport {
            Transport::JsonRpc(rpc) => rpc.events(&request, head, memory).await?,
            Transport::Rest(rest) => rest.events(&request, head, memory).await?,
            Transport::Grpc(grpc) => grpc.events(&request, head, memory).await?,
        }))
    }

    /// What is known of a stream before it begins.
    fn memory(&self, request: &Request) -> StreamMemory {
        let mut memory = StreamMemory::new(chancery_core::Origin::new(self.route.version, self.route.binding));
        match request {
            Request::StreamMessage(send) => {
                memory.task.clone_from(&send.message.task_id);
                memory.context.clone_from(&send.message.context_id);
            }
            Request::Subscribe(subscribe) => memory.task = Some(subscribe.id.clone()),
            _ => {}
        }
        memory
    }
}

impl Call {
    /// The request as it goes to this interface.
    fn request_for(&self, route: &Route) -> Request {
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

    fn headers_for(&self, route: &Route, settings: &Settings) -> Result<HeaderMap> {
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
