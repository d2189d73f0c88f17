//! Finding an agent: its card, and which of its interfaces to use.

use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use bytes::Bytes;
use chancery_core::{Card, Error, ErrorKind, Result, Version};
use chancery_wire::{
    card::{self, FoundAt},
    pick::{self, Choice, Speaks},
};
use http::{HeaderMap, HeaderValue, Method, header};
use tokio::time::Instant;
use url::Url;

use crate::{
    builder::Settings,
    failure::{Failed, Reached},
    http::{Exchange, Http},
    retry,
};

const AGENT_CARD: &str = "/.well-known/agent-card.json";
const AGENT_JSON: &str = "/.well-known/agent.json";
/// Bytes of a card.
const CARD_BYTES: usize = 4 * 1_024 * 1_024;
/// How many cards are remembered.
const REMEMBERED: usize = 256;
/// How often a card may be said to be elsewhere.
const HOPS: usize = 3;

/// Cards that were read before.
#[derive(Debug, Default)]
pub(crate) struct Cards {
    known: Mutex<HashMap<String, Kept>>,
}

#[derive(Debug, Clone)]
struct Kept {
    body: Bytes,
    tag: Option<HeaderValue>,
    modified: Option<HeaderValue>,
    fresh_until: Instant,
}

/// A card, and how the agent can be talked to.
#[derive(Debug)]
pub(crate) struct Found {
    pub(crate) card: Card,
    /// Best first.
    pub(crate) choices: Vec<Choice>,
    /// Whether it was fetched with TLS: then so is everything that names no scheme.
    pub(crate) secure: bool,
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
        let url = Url::parse(url).ok().filter(|url| matches!(url.scheme(), "http" | "https") && url.has_host());
        let url = url.ok_or_else(|| Error::invalid_param("url", "must be an http or https URL"))?;
        let deadline = Instant::now() + settings.timeout;
        for place in places(&url) {
            let body = match self.body(http, settings, &place.url, deadline, anew).await? {
                Some(body) => body,
                None => continue,
            };
            match place.read(&body, settings) {
                Ok((card, choices)) => return Ok(Found { card, choices, secure: url.scheme() == "https" }),
                // A page that is no card does not mean that there is none below it.
                Err(_) if place.kind == Kind::Given && !place.url.ends_with(".json") => {}
                Err(error) => {
                    return Err(Error::new(ErrorKind::InvalidAgentResponse, "the agent's card cannot be read").caused_by(error));
                }
            }
        }
        Err(Error::new(ErrorKind::MethodNotFound, "there is no agent card at this address").with("url", url.as_str()))
    }

    /// The document at a URL; `None` when there is none.
    async fn body(&self, http: &Http, settings: &Settings, url: &str, deadline: Instant, anew: bool) -> Result<Option<Bytes>> {
        let known = self.known(url);
        if let Some(known) = known.as_ref().filter(|known| !anew && Instant::now() < known.fresh_until) {
            return Ok(Some(known.body.clone()));
        }
        let mut attempt = 0;
        loop {
            let fetching = fetch(http, settings, url, known.as_ref());
            let failed = match tokio::time::timeout_at(deadline, fetching).await {
                Ok(Ok(Fetched::Nothing)) => return Ok(None),
                Ok(Ok(Fetched::Kept(kept))) => {
                    let body = kept.body.clone();
                    self.keep(url, kept);
                    return Ok(Some(body));
                }
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

    fn known(&self, url: &str) -> Option<Kept> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner).get(url).cloned()
    }

    fn keep(&self, url: &str, kept: Kept) {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= REMEMBERED && !known.contains_key(url) {
            let oldest = known.iter().min_by_key(|(_, kept)| kept.fresh_until).map(|(url, _)| url.clone());
            oldest.map(|url| known.remove(&url));
        }
        known.insert(url.to_owned(), kept);
    }
}

impl Place {
    fn found_at(&self) -> FoundAt<'_> {
        match self.kind {
            Kind::AgentCard => FoundAt::AgentCardJson(&self.base),
            Kind::AgentJson => FoundAt::AgentJson(&self.base),
            Kind::Given => FoundAt::Elsewhere,
        }
    }

    fn read(&self, body: &[u8], settings: &Settings) -> Result<(Card, Vec<Choice>)> {
        let card = card::read_from(body, self.found_at())?;
        if self.kind == Kind::Given && card.name.is_empty() && card.supported_interfaces.is_empty() {
            return Err(Error::new(ErrorKind::InvalidAgentResponse, "the document is no agent card"));
        }
        let choices = |speaks: Speaks| pick::candidates(body, self.found_at(), &speaks);
        let speaks = Speaks::new(settings.bindings.iter().copied());
        let speaks = if settings.own_order { speaks.in_own_order() } else { speaks };
        let choices = match settings.versions.as_slice() {
            [] => choices(speaks)?,
            wanted => {
                let each: Result<Vec<_>> = wanted.iter().map(|version: &Version| choices(speaks.clone().only(*version))).collect();
                each?.concat()
            }
        };
        Ok((card, choices))
    }
}

/// Where to look for a card, in this order.
fn places(url: &Url) -> Vec<Place> {
    let mut base = url.clone();
    base.set_query(None);
    base.set_fragment(None);
    let base = base.as_str().trim_end_matches('/').to_owned();
    if let Some(agent) = base.strip_suffix(AGENT_CARD) {
        return vec![Place { url: url.to_string(), base: agent.to_owned(), kind: Kind::AgentCard }];
    }
    if let Some(agent) = base.strip_suffix(AGENT_JSON) {
        return vec![Place { url: url.to_string(), base: agent.to_owned(), kind: Kind::AgentJson }];
    }
    let mut places = Vec::new();
    if url.path() != "/" || url.query().is_some() {
        places.push(Place { url: url.to_string(), base: base.clone(), kind: Kind::Given });
    }
    places.push(Place { url: format!("{base}{AGENT_CARD}"), base: base.clone(), kind: Kind::AgentCard });
    places.push(Place { url: format!("{base}{AGENT_JSON}"), base, kind: Kind::AgentJson });
    places
}

enum Fetched {
    Nothing,
    Kept(Kept),
}

async fn fetch(http: &Http, settings: &Settings, url: &str, known: Option<&Kept>) -> Result<Fetched, Failed> {
    let mut headers = settings.headers.clone();
    headers.insert(header::ACCEPT, HeaderValue::from_static("application/json"));
    if let Some(known) = known {
        known.tag.clone().map(|tag| headers.insert(header::IF_NONE_MATCH, tag));
        known.modified.clone().map(|modified| headers.insert(header::IF_MODIFIED_SINCE, modified));
    }
    let exchange = follow(http, url, headers).await?;
    let fresh_until = Instant::now() + freshness(exchange.header(header::CACHE_CONTROL.as_str()).unwrap_or_default());
    match (exchange.status(), known) {
        (304, Some(known)) => Ok(Fetched::Kept(Kept { fresh_until, ..known.clone() })),
        (404 | 405 | 410, _) => Ok(Fetched::Nothing),
        (status @ (429 | 503), _) => {
            let error =
                Error::new(chancery_wire::errors::kind_of_http_status(status), format!("the card was answered with status {status}"));
            Err(Failed::busy(error, exchange.retry_after()))
        }
        _ if exchange.is_success() => {
            let kept = |name| exchange.response.headers().get(name).cloned();
            let (tag, modified) = (kept(header::ETAG), kept(header::LAST_MODIFIED));
            Ok(Fetched::Kept(Kept { body: exchange.read(CARD_BYTES).await?, tag, modified, fresh_until }))
        }
        (status, _) => {
            Err(Error::new(chancery_wire::errors::kind_of_http_status(status), format!("the card was answered with status {status}"))
                .into())
        }
    }
}

/// Fetches a document, wherever it has moved to. Headers of the user stay with the host they are for.
async fn follow(http: &Http, url: &str, mut headers: HeaderMap) -> Result<Exchange, Failed> {
    let mut at = Url::parse(url).map_err(Error::internal)?;
    for _ in 0..HOPS {
        let exchange = http.exchange(Method::GET, at.as_str(), headers.clone(), None).await?;
        if !matches!(exchange.status(), 301 | 302 | 303 | 307 | 308) {
            return Ok(exchange);
        }
        let to = exchange.header(header::LOCATION.as_str()).and_then(|to| at.join(to).ok());
        let to = to.filter(|to| to.scheme() == "https" || to.scheme() == at.scheme());
        let to = to.ok_or_else(|| Failed::garbage("the card is said to be elsewhere, at an address that cannot be followed"))?;
        if to.origin() != at.origin() {
            headers = HeaderMap::from_iter([(header::ACCEPT, HeaderValue::from_static("application/json"))]);
        }
        at = to;
    }
    Err(Failed::garbage(format!("the card is said to be elsewhere more than {HOPS} times")))
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
