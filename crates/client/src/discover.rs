//! Finding an agent: its card, and which of its interfaces to use.

use std::{
    collections::{BTreeSet, HashMap},
    net::{IpAddr, Ipv4Addr, Ipv6Addr},
    sync::Arc,
    time::Duration,
};

use bytes::Bytes;
use chancery_core::{Card, Error, ErrorKind, Result, sync::Mutex};
use chancery_signing::Report;
use chancery_wire::{
    card::{self, FoundAt},
    pick::{self, Choice},
};
use http::{HeaderMap, HeaderValue, Method, header};
use tokio::time::Instant;
use url::{Host, Url};

use crate::{
    builder::Settings,
    failure::{Failed, Reached},
    http::{Exchange, Http, RequestHead},
    retry, selection,
    trouble::{Trouble, TroubleKind},
};

pub(crate) const AGENT_CARD: &str = "/.well-known/agent-card.json";
const AGENT_JSON: &str = "/.well-known/agent.json";
/// Bytes of a card.
const CARD_BYTES: usize = 4 * 1_024 * 1_024;
/// How many cards are remembered.
const REMEMBERED: usize = 256;
/// How often a card may be said to be elsewhere.
const HOPS: usize = 3;

/// A card as it was received, with what HTTP says about keeping it.
///
/// Whoever keeps cards stores the fields, makes it [anew](Self::new) from them, and asks with
/// [`Builder::read_card_again`](crate::Builder::read_card_again) whether it has changed.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct CardText {
    /// The text.
    pub body: Bytes,
    /// Where it was in the end.
    pub url: String,
    /// The `ETag` header.
    pub etag: Option<String>,
    /// The `Last-Modified` header.
    pub last_modified: Option<String>,
    /// The `Cache-Control` header.
    pub cache_control: Option<String>,
    /// What the text says.
    pub card: Card,
    /// Whether the agent said that nothing has changed, so that this is the text that was known.
    pub unchanged: bool,
}

impl CardText {
    /// A card that came from this address.
    ///
    /// # Errors
    /// When the text is no card.
    pub fn new(url: &str, body: impl Into<Bytes>) -> Result<Self> {
        let body = body.into();
        let card = Place::of(&parse(url)?).card(&body).map_err(invalid)?;
        Ok(Self { body, url: url.to_owned(), etag: None, last_modified: None, cache_control: None, card, unchanged: false })
    }

    /// For how long it may be used without asking again, by its `Cache-Control`; a day at most.
    #[must_use]
    pub fn fresh_for(&self) -> Duration {
        freshness(self.cache_control.as_deref().unwrap_or_default())
    }
}

/// Cards that were read before.
#[derive(Debug, Default)]
pub(crate) struct Cards {
    known: Mutex<HashMap<String, Kept>>,
}

#[derive(Debug, Clone)]
struct Kept {
    body: Bytes,
    /// Where it was in the end.
    url: String,
    tag: Option<HeaderValue>,
    modified: Option<HeaderValue>,
    control: Option<HeaderValue>,
    fresh_until: Instant,
    /// Whether the agent said that it is the same as before.
    unchanged: bool,
}

/// A card, and how the agent can be talked to.
#[derive(Debug)]
pub(crate) struct Found {
    pub(crate) card: Card,
    /// Best first.
    pub(crate) choices: Vec<Choice>,
    /// Whether it was fetched with TLS: then so is everything that names no scheme.
    pub(crate) secure: bool,
    /// The origins that credentials for its agent are for; `None` when nobody knows where it came from, so that it is its user's word.
    pub(crate) home: Option<BTreeSet<String>>,
    /// What its signatures say, if they were looked at.
    pub(crate) report: Option<Arc<Report>>,
}

impl Found {
    /// What a card that is at hand says; `origin` is where it came from, if that is known.
    pub(crate) fn at_hand(settings: &Settings, card: &[u8], origin: Option<&str>) -> Result<Self> {
        let url = origin.map(parse).transpose()?;
        let place = url.as_ref().map_or_else(Place::unknown, Place::of);
        let (card, choices) = place.read(card, settings).map_err(invalid)?;
        let home = url.as_ref().map(|url| origins(url, url));
        Ok(Self { card, choices, secure: url.is_none_or(|url| url.scheme() == "https"), home, report: None })
    }

    /// As [`at_hand`](Self::at_hand), with its signatures checked.
    pub(crate) async fn checked(settings: &Settings, card: &[u8], origin: Option<&str>) -> Result<Self> {
        let url = origin.map(parse).transpose()?;
        let checked = settings.trust.check(settings, &Bytes::copy_from_slice(card), url.as_ref()).await?;
        Ok(Self { report: checked.report, ..Self::at_hand(settings, &checked.body, origin)? })
    }
}

/// Where a card may be.
struct Place {
    url: String,
    /// What the agent's base is if the card is here.
    base: String,
    kind: Kind,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    AgentCard,
    AgentJson,
    /// The address that the user gave.
    Given,
}

impl Cards {
    /// Reads the card of an agent. `anew` asks the agent even when the card it gave is still fresh.
    pub(crate) async fn find(&self, http: &Http, settings: &Settings, url: &str, anew: bool) -> Result<Found> {
        let url = parse(url)?;
        let deadline = Instant::now() + settings.timeout;
        for place in places(&url) {
            let Some(kept) = self.kept(http, settings, &place.url, deadline, anew).await? else { continue };
            match place.read(&kept.body, settings) {
                Ok(_) => return place.checked(&kept, settings, &url).await,
                // A page that is no card does not mean that there is none below it.
                Err(_) if place.kind == Kind::Given && !place.url.ends_with(".json") => {}
                Err(error) => return Err(invalid(error)),
            }
        }
        Err(not_found(&url))
    }

    /// Reads the card at an address, exactly: with a path it is there, without one at a well-known place.
    pub(crate) async fn text(http: &Http, settings: &Settings, reference: &str) -> Result<CardText> {
        let url = parse(reference)?;
        let deadline = Instant::now() + settings.timeout;
        let mut places = places(&url);
        if places[0].kind == Kind::Given {
            places.truncate(1);
        }
        for place in places {
            if let Some(kept) = persistently(http, settings, &place.url, deadline, None).await? {
                return kept.text(&place);
            }
        }
        Err(not_found(&url))
    }

    /// Reads a card again, if it has changed.
    pub(crate) async fn text_again(http: &Http, settings: &Settings, known: &CardText) -> Result<CardText> {
        let url = parse(&known.url)?;
        let header = |text: &Option<String>| text.as_deref().and_then(|text| HeaderValue::try_from(text).ok());
        let kept = Kept {
            body: known.body.clone(),
            url: known.url.clone(),
            tag: header(&known.etag),
            modified: header(&known.last_modified),
            control: header(&known.cache_control),
            fresh_until: Instant::now(),
            unchanged: true,
        };
        let kept = persistently(http, settings, url.as_str(), Instant::now() + settings.timeout, Some(&kept)).await?;
        kept.ok_or_else(|| not_found(&url))?.text(&Place::of(&url))
    }

    /// The document at a URL; `None` when there is none.
    async fn kept(&self, http: &Http, settings: &Settings, url: &str, deadline: Instant, anew: bool) -> Result<Option<Kept>> {
        let known = self.known(url);
        if let Some(known) = known.as_ref().filter(|known| !anew && Instant::now() < known.fresh_until) {
            return Ok(Some(known.clone()));
        }
        let kept = persistently(http, settings, url, deadline, known.as_ref()).await?;
        if let Some(kept) = &kept {
            self.keep(url, kept.clone());
        }
        Ok(kept)
    }

    fn known(&self, url: &str) -> Option<Kept> {
        self.known.lock().get(url).cloned()
    }

    fn keep(&self, url: &str, kept: Kept) {
        let mut known = self.known.lock();
        if known.len() >= REMEMBERED && !known.contains_key(url) {
            let oldest = known.iter().min_by_key(|(_, kept)| kept.fresh_until).map(|(url, _)| url.clone());
            oldest.map(|url| known.remove(&url));
        }
        known.insert(url.to_owned(), kept);
    }
}

impl Kept {
    fn text(self, place: &Place) -> Result<CardText> {
        let text = |value: Option<HeaderValue>| value.and_then(|value| value.to_str().ok().map(str::to_owned));
        let card = place.card(&self.body).map_err(invalid)?;
        Ok(CardText {
            body: self.body,
            url: self.url,
            etag: text(self.tag),
            last_modified: text(self.modified),
            cache_control: text(self.control),
            card,
            unchanged: self.unchanged,
        })
    }
}

impl Place {
    /// The place of a card that is at this very address.
    fn of(url: &Url) -> Self {
        let mut base = url.clone();
        base.set_query(None);
        base.set_fragment(None);
        let base = base.as_str().trim_end_matches('/');
        let (base, kind) = match (base.strip_suffix(AGENT_CARD), base.strip_suffix(AGENT_JSON)) {
            (Some(base), _) => (base, Kind::AgentCard),
            (_, Some(base)) => (base, Kind::AgentJson),
            _ => (base, Kind::Given),
        };
        Self { url: url.to_string(), base: base.to_owned(), kind }
    }

    fn unknown() -> Self {
        Self { url: String::new(), base: String::new(), kind: Kind::Given }
    }

    fn found_at(&self) -> FoundAt<'_> {
        match self.kind {
            Kind::AgentCard => FoundAt::AgentCardJson(&self.base),
            Kind::AgentJson => FoundAt::AgentJson(&self.base),
            Kind::Given => FoundAt::Elsewhere,
        }
    }

    fn card(&self, body: &[u8]) -> Result<Card> {
        let card = card::read_from(body, self.found_at())?;
        if self.kind == Kind::Given && card.name.is_empty() && card.supported_interfaces.is_empty() {
            return Err(Error::new(ErrorKind::InvalidAgentResponse, "the document is no agent card"));
        }
        Ok(card)
    }

    /// What may be used of a card that was here.
    async fn checked(&self, kept: &Kept, settings: &Settings, given: &Url) -> Result<Found> {
        let at = parse(&kept.url)?;
        let checked = settings.trust.check(settings, &kept.body, Some(&at)).await?;
        let (card, choices) = self.read(&checked.body, settings).map_err(invalid)?;
        let home = Some(origins(given, &at));
        Ok(Found { card, choices, secure: given.scheme() == "https", home, report: checked.report })
    }

    fn read(&self, body: &[u8], settings: &Settings) -> Result<(Card, Vec<Choice>)> {
        let card = self.card(body)?;
        let choices = selection::choices(settings, |speaks| pick::candidates(body, self.found_at(), speaks))?;
        Ok((card, choices))
    }
}

/// The URL of a reference, which may leave out its scheme: then it is `http` on this machine, else `https`.
pub(crate) fn parse(reference: &str) -> Result<Url> {
    let wrong = |what| Error::invalid_param("url", what);
    let full = if reference.contains("://") { reference.to_owned() } else { format!("https://{reference}") };
    let mut url = Url::parse(&full).map_err(|_| wrong("must be an http or https URL"))?;
    if !matches!(url.scheme(), "http" | "https") || !url.has_host() {
        return Err(wrong("must be an http or https URL"));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(wrong("must not hold a name or a password"));
    }
    if !reference.contains("://") && is_local(&url) {
        url = Url::parse(&format!("http://{reference}")).map_err(|_| wrong("must be an http or https URL"))?;
    }
    Ok(url)
}

/// An origin by one name: a port of this machine has three (`localhost`, `127.0.0.1` and `[::1]`).
pub(crate) fn one_name(origin: &str) -> String {
    let Ok(mut url) = Url::parse(origin) else { return origin.to_owned() };
    let is_here = match url.host() {
        Some(Host::Ipv4(address)) => address == Ipv4Addr::LOCALHOST,
        Some(Host::Ipv6(address)) => address == Ipv6Addr::LOCALHOST,
        _ => false,
    };
    if is_here && url.set_host(Some("localhost")).is_err() {
        return origin.to_owned();
    }
    url.origin().ascii_serialization()
}

/// Whether a URL names this machine.
pub(crate) fn is_local(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => name == "localhost" || name.ends_with(".localhost"),
        Some(Host::Ipv4(address)) => IpAddr::from(address).is_loopback(),
        Some(Host::Ipv6(address)) => IpAddr::from(address).is_loopback(),
        None => false,
    }
}

/// Whether two URLs are the same port of this machine, whatever each calls it: a card names the host that it was asked for by, an agent that
/// passes a task on knows the server's first name.
pub(crate) fn same_port_here(one: &Url, other: &Url) -> bool {
    is_local(one) && is_local(other) && (one.scheme(), one.port_or_known_default()) == (other.scheme(), other.port_or_known_default())
}

/// The origins that credentials are for when a user has named one address and the card was at another in the end, on the same host: both,
/// unless that would be a step back from TLS.
fn origins(given: &Url, at: &Url) -> BTreeSet<String> {
    let safe = |url: &&Url| url.scheme() == "https" || at.scheme() != "https";
    [given, at].into_iter().filter(safe).map(|url| url.origin().ascii_serialization()).collect()
}

/// Where to look for a card, in this order; there is at least one place.
fn places(url: &Url) -> Vec<Place> {
    let here = Place::of(url);
    if here.kind != Kind::Given {
        return vec![here];
    }
    let base = here.base.clone();
    let mut places = Vec::new();
    if url.path() != "/" || url.query().is_some() {
        places.push(here);
    }
    places.push(Place { url: format!("{base}{AGENT_CARD}"), base: base.clone(), kind: Kind::AgentCard });
    places.push(Place { url: format!("{base}{AGENT_JSON}"), base, kind: Kind::AgentJson });
    places
}

fn not_found(url: &Url) -> Error {
    Error::new(ErrorKind::MethodNotFound, "there is no agent card at this address")
        .with("url", url.as_str())
        .caused_by(Trouble::new(TroubleKind::CardNotFound))
}

fn invalid(error: Error) -> Error {
    let words = format!("the agent's card cannot be read: {error}");
    Error::new(ErrorKind::InvalidAgentResponse, words).caused_by(Trouble::new(TroubleKind::CardInvalid).because(error))
}

/// Fetches a document, again and again if it fails in passing; `None` when there is none.
async fn persistently(http: &Http, settings: &Settings, url: &str, deadline: Instant, known: Option<&Kept>) -> Result<Option<Kept>> {
    let mut attempt = 0;
    loop {
        let fetching = Box::pin(fetch(http, settings, url, known));
        let failed = match tokio::time::timeout_at(deadline, fetching).await {
            Ok(Ok(fetched)) => return Ok(fetched),
            Ok(Err(failed)) => failed,
            Err(_) => Failed::too_late(),
        };
        attempt += 1;
        let pause = failed.retry_after.unwrap_or_else(|| retry::pause(attempt));
        if failed.reached == Reached::Answer || attempt > settings.retries || Instant::now() + pause >= deadline {
            return Err(failed.error);
        }
        tokio::time::sleep(pause).await;
    }
}

async fn fetch(http: &Http, settings: &Settings, url: &str, known: Option<&Kept>) -> Result<Option<Kept>, Failed> {
    let mut headers = settings.card_headers.clone();
    headers.insert(header::ACCEPT, HeaderValue::from_static("application/json"));
    if let Some(known) = known {
        known.tag.clone().map(|tag| headers.insert(header::IF_NONE_MATCH, tag));
        known.modified.clone().map(|modified| headers.insert(header::IF_MODIFIED_SINCE, modified));
    }
    let (url, exchange) = follow(http, url, headers).await?;
    let kept = |name| exchange.response.headers().get(name).cloned();
    let control = kept(header::CACHE_CONTROL);
    let fresh_until = Instant::now() + freshness(control.as_ref().and_then(|value| value.to_str().ok()).unwrap_or_default());
    let (tag, modified) = (kept(header::ETAG), kept(header::LAST_MODIFIED));
    let status = exchange.status();
    let error = || Error::new(chancery_wire::errors::kind_of_http_status(status), format!("the card was answered with status {status}"));
    match (status, known) {
        (304, Some(known)) => {
            exchange.show(&[]);
            let (tag, modified) = (tag.or_else(|| known.tag.clone()), modified.or_else(|| known.modified.clone()));
            let control = control.or_else(|| known.control.clone());
            Ok(Some(Kept { url, tag, modified, control, fresh_until, unchanged: true, ..known.clone() }))
        }
        (404 | 405 | 410, _) => {
            exchange.show(&[]);
            Ok(None)
        }
        (429 | 503, _) => Err(Failed::busy(error(), status, exchange.retry_after())),
        (401 | 403, _) => Err(error().caused_by(Trouble::new(TroubleKind::CardRefused).with_status(status)).into()),
        _ if exchange.is_success() => {
            Ok(Some(Kept { body: exchange.read(CARD_BYTES).await?, url, tag, modified, control, fresh_until, unchanged: false }))
        }
        _ => Err(error().caused_by(Trouble::new(TroubleKind::Status).with_status(status)).into()),
    }
}

/// Fetches a document that is no card.
pub(crate) async fn document(http: &Http, settings: &Settings, url: &str, limit: usize) -> Result<(Bytes, String)> {
    let url = parse(url)?;
    let mut headers = HeaderMap::new();
    headers.insert(header::ACCEPT, HeaderValue::from_static("application/json"));
    let fetching = Box::pin(async {
        let (url, exchange) = follow(http, url.as_str(), headers).await?;
        if !exchange.is_success() {
            exchange.show(&[]);
            return Err(not_found(&parse(&url)?).into());
        }
        Ok((exchange.read(limit).await?, url))
    });
    match tokio::time::timeout(settings.timeout, fetching).await {
        Ok(fetched) => fetched.map_err(|failed: Failed| failed.error),
        Err(_) => Err(Failed::too_late().error),
    }
}

/// Fetches a document, wherever on its host it has moved to, and says where that is.
pub(crate) async fn follow(http: &Http, url: &str, headers: HeaderMap) -> Result<(String, Exchange), Failed> {
    let mut at = Url::parse(url).map_err(Error::internal)?;
    for _ in 0..HOPS {
        let head = RequestHead { headers: headers.clone(), ..RequestHead::default() };
        let exchange = http.exchange(Method::GET, at.as_str(), head, None).await?;
        if !matches!(exchange.status(), 301 | 302 | 303 | 307 | 308) {
            return Ok((at.to_string(), exchange));
        }
        exchange.show(&[]);
        let to = exchange.header(header::LOCATION.as_str()).and_then(|to| at.join(to).ok());
        let to = to.filter(|to| to.host() == at.host() && (to.scheme() == "https" || to.scheme() == at.scheme()));
        at = to.ok_or_else(|| elsewhere("the card is said to be elsewhere, at an address that is not followed"))?;
    }
    Err(elsewhere("the card is said to be elsewhere again and again"))
}

fn elsewhere(words: &str) -> Failed {
    Error::new(ErrorKind::InvalidAgentResponse, words).caused_by(Trouble::new(TroubleKind::CardInvalid)).into()
}

/// For how long an answer may be used without asking again, by its `Cache-Control`.
fn freshness(cache_control: &str) -> Duration {
    let mut seconds = 0;
    for directive in cache_control.split(',').map(|directive| directive.trim().to_ascii_lowercase()) {
        match directive.split_once('=').unwrap_or((&directive, "")) {
            ("no-store" | "no-cache", _) => return Duration::ZERO,
            ("max-age", value) => seconds = value.trim_matches('"').parse().unwrap_or(0),
            _ => {}
        }
    }
    // A day at most: a card that was wrong once must not stay for ever.
    Duration::from_secs(seconds).min(Duration::from_secs(24 * 3_600))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn urls(url: &str) -> Vec<String> {
        places(&Url::parse(url).unwrap()).into_iter().map(|place| place.url).collect()
    }

    /// CONV-PICK-001, step 1.
    #[test]
    fn a_card_is_looked_for_at_the_well_known_paths() {
        let both = ["https://a.example/.well-known/agent-card.json", "https://a.example/.well-known/agent.json"];
        assert_eq!(urls("https://a.example"), both);
        assert_eq!(urls("https://a.example/"), both);
        assert_eq!(urls(both[0]), both[..1]);
        assert_eq!(urls(both[1]), both[1..]);
        let below =
            ["https://a.example/w", "https://a.example/w/.well-known/agent-card.json", "https://a.example/w/.well-known/agent.json"];
        assert_eq!(urls("https://a.example/w"), below);
    }

    #[test]
    fn an_address_without_a_scheme_is_https_unless_it_is_here() {
        for (reference, expected) in [
            ("localhost:8080", "http://localhost:8080/"),
            ("127.0.0.1:1/x", "http://127.0.0.1:1/x"),
            ("[::1]:1", "http://[::1]:1/"),
            ("agent.example", "https://agent.example/"),
            ("agent.example:8080/a", "https://agent.example:8080/a"),
            ("http://agent.example", "http://agent.example/"),
        ] {
            assert_eq!(parse(reference).unwrap().as_str(), expected);
        }
        for reference in ["ftp://agent.example", "https://", "", "https://me:secret@agent.example", "me@agent.example"] {
            assert_eq!(parse(reference).unwrap_err().kind(), ErrorKind::InvalidParams, "{reference}");
        }
    }

    /// A redirect on the same host may lead up to TLS; what is without it then gets no credentials.
    #[test]
    fn credentials_are_for_where_the_card_was_asked_for_and_found() {
        for (given, at, expected) in [
            ("https://a.example", "https://a.example/card", &["https://a.example"][..]),
            ("http://a.example", "http://a.example:81/card", &["http://a.example", "http://a.example:81"]),
            ("http://a.example", "https://a.example/card", &["https://a.example"]),
            ("https://a.example", "https://a.example:8443/card", &["https://a.example", "https://a.example:8443"]),
        ] {
            let found = origins(&Url::parse(given).unwrap(), &Url::parse(at).unwrap());
            assert_eq!(found.iter().collect::<Vec<_>>(), expected, "{given} {at}");
        }
    }

    #[test]
    fn a_port_of_this_machine_is_one_origin_by_all_of_its_names() {
        for origin in ["http://127.0.0.1:7420", "http://[::1]:7420", "http://localhost:7420"] {
            assert_eq!(one_name(origin), "http://localhost:7420");
        }
        for other in ["http://127.0.0.2:7420", "https://agent.example", "http://10.0.0.1"] {
            assert_eq!(one_name(other), other);
        }
    }

    #[test]
    fn cache_control_says_how_long_a_card_is_fresh() {
        for (header, seconds) in [
            ("", 0),
            ("max-age=60", 60),
            ("public, Max-Age=\"60\"", 60),
            ("max-age=60, no-cache", 0),
            ("no-store", 0),
            ("max-age=soon", 0),
            ("max-age=99999999", 86_400),
        ] {
            assert_eq!(freshness(header), Duration::from_secs(seconds), "{header}");
        }
    }
}
