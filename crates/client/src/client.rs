//! A client: one agent, and how it is called.

use std::{collections::BTreeSet, sync::Arc};

use chancery_core::{Binding, Caller, Card, Error, ErrorKind, Request, Result, Version, extension, sync::Mutex};
use chancery_signing::Report;
use chancery_wire::{facts, pick::Choice};
use tokio::time::Instant;
use url::Url;

use crate::{
    builder::{Builder, Settings},
    call::{Answered, Call},
    discover::{self, Cards, Found},
    failure::{Failed, Reached, chain},
    http::Http,
    observer::Notice,
    retry,
    route::{Peer, Route, Transport},
    selection,
};

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
    /// Whether the card came over TLS: then so goes everything that names no scheme.
    secure: bool,
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
    /// The card in use: the public one, or the extended one since it was read.
    card: Option<Arc<Card>>,
    /// The public card, as it was read last.
    public: Option<Arc<Card>>,
    report: Option<Arc<Report>>,
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

    /// The agent's card, if the client has read one: the public one, and once
    /// [`get_extended_card`](chancery_core::Operations::get_extended_card) has been called the extended one (V10-XCARD-005), for all clones.
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

    /// Asks for the agent's public card again, and says whether it has changed. If so it is the card in use, also after an extended one.
    /// What is spoken stays the same.
    ///
    /// # Errors
    /// When the card cannot be read, or the client was made without one.
    pub async fn refresh(&self) -> Result<bool> {
        let Inner { settings, http, home, .. } = &*self.0;
        let home = home.as_ref().ok_or_else(|| Error::new(ErrorKind::UnsupportedOperation, "this client was made without a card"))?;
        let found = home.cards.find(http, settings, &home.url, true).await?;
        let card = Arc::new(found.card);
        let mut state = self.state();
        let changed = state.public.as_ref() != Some(&card);
        if changed {
            state.peer = Arc::new(state.peer.after_card(&card));
            state.public = Some(card.clone());
            state.card = Some(card);
        }
        state.report = found.report;
        Ok(changed)
    }

    /// Goes on with the extended card in the place of the public one: with its capabilities and security, and with the best of its
    /// interfaces if they are others. A client that was made without a card goes on without one.
    pub(crate) fn adopt(&self, card: &Card) {
        let Inner { settings, http, secure, .. } = &*self.0;
        let mut state = self.state();
        let Some(known) = state.card.clone() else { return };
        let card = Arc::new(card.clone());
        let routes = |card: &Card| usable(http, settings, selection::choices_of(card, settings), *secure, card);
        // A way that a card at hand does not lead to, such as an older version that was fallen back to, was not the card's choice.
        let chosen = routes(&known).iter().any(|route| route.is(&state.peer.route));
        let mut peer = state.peer.after_card(&card);
        if chosen && card.supported_interfaces != known.supported_interfaces {
            let mut others = routes(&card);
            if let Some(route) = others.pop() {
                if !route.is(&peer.route) {
                    let keyed = peer.keyed;
                    if let Ok(other) = Peer::new(http, settings, route, keyed) {
                        peer = other.of_card(&card, peer.card_url, peer.home);
                        peer.show(settings);
                        state.settled = false;
                    }
                }
                state.others = others;
            }
        }
        state.peer = Arc::new(peer);
        state.card = Some(card);
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
        let Found { card, choices, secure, home: origins, report } = found;
        let card = Arc::new(card);
        let mut routes = usable(&http, &settings, choices, secure, &card);
        let route = routes.pop().ok_or_else(|| selection::nothing_spoken(&card, &settings))?;
        let keyed = card.capabilities.extensions.iter().any(|extension| extension.uri == extension::SEQUENCE);
        let peer =
            Peer::new(&http, &settings, route, keyed)?.of_card(&card, home.as_ref().map(|home| home.url.clone()), origins.map(Arc::new));
        peer.show(&settings);
        if let Some(credentials) = &settings.credentials.0 {
            for kind in credentials.given().into_iter().filter(|kind| !card.security_schemes.values().any(|scheme| kind.suits(scheme))) {
                settings.observer.notice(|| Notice::UnusedCredential(kind));
            }
        }
        let public = Some(card.clone());
        let state = Mutex::new(State { peer: Arc::new(peer), others: routes, settled: false, card: Some(card), public, report });
        Ok(Self(Arc::new(Inner { settings, http, state, home, secure })))
    }

    pub(crate) fn with_route(settings: Settings, route: Route) -> Result<Self> {
        let http = Http::new(&settings)?;
        let peer = Peer::new(&http, &settings, route, false)?;
        peer.show(&settings);
        let state = State { peer: Arc::new(peer), others: Vec::new(), settled: true, card: None, public: None, report: None };
        Ok(Self(Arc::new(Inner { settings, http, state: Mutex::new(state), home: None, secure: true })))
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
        settings.credentials = settings.follow.credentials.clone();
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
            // What this client shows at that origin it shows there, whosever card leads to it.
            found.home = Some(self.peer().home.as_deref().cloned().unwrap_or_else(|| BTreeSet::from([origin])));
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
        Call::new(caller, request, self.settings())
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
                self.settings().observer.notice(|| Notice::Renewed);
                continue;
            }
            attempt += 1;
            let pause = failed.retry_after.unwrap_or_else(|| retry::pause(attempt));
            let safe = retry::is_safe(operation, &failed, peer.keyed);
            if !safe || attempt > call.retries || Instant::now() + pause >= call.deadline {
                return Err(failed.error);
            }
            self.settings().observer.notice(|| Notice::Retry { operation, attempt, pause, reason: chain(&failed.error) });
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
        other.home.clone_from(&peer.home);
        let Route { version, binding, .. } = other.route;
        tracing::debug!(%version, %binding, "trying another way");
        self.settings().observer.notice(|| Notice::Fallback { version, binding, reason: chain(&failed.error) });
        other.show(self.settings());
        state.peer = Arc::new(other);
        true
    }
}

/// The ways that can be used, worst first. One that cannot be used at all, such as an address that is none, is as good as not there.
fn usable(http: &Http, settings: &Settings, choices: Vec<Choice>, secure: bool, card: &Card) -> Vec<Route> {
    let routes = choices.into_iter().map(|choice| Route::new(choice, secure, card));
    let mut routes: Vec<_> = routes.filter(|route| Transport::new(http, settings, route).is_ok()).collect();
    routes.reverse();
    routes
}
