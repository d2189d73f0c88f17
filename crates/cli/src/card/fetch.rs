//! Cards over HTTP: without credentials, and without leaving the host.

use chancery_core::Bytes;
use http::header;
use reqwest::Response;
use url::Url;

use super::{
    Found, LIMIT,
    cache::{Kept, fresh_until},
};
use crate::{
    context::Context,
    trouble::{Trouble, with_cause},
};

const AGENT_CARD: &str = "/.well-known/agent-card.json";
const AGENT_JSON: &str = "/.well-known/agent.json";
/// How often a card may be said to be elsewhere.
const HOPS: usize = 5;

/// Where a card was.
#[derive(Debug, Clone, Default)]
pub(super) struct Place {
    pub(super) url: Option<Url>,
    pub(super) base: Option<(String, bool)>,
}

/// The card of a host: at the well-known path, else at the older one.
pub(super) async fn host(context: &Context, url: &Url) -> Result<Found, Trouble> {
    let base = url.as_str().trim_end_matches('/').to_owned();
    for (path, older) in [(AGENT_CARD, false), (AGENT_JSON, true)] {
        let mut at = url.clone();
        at.set_path(path);
        let place = Place { url: Some(at.clone()), base: Some((base.clone(), older)) };
        if let Some((body, origin)) = body(context, &at).await? {
            return Found::read(body, place, origin);
        }
    }
    Err(Trouble::card_not_found(format!("{base} has no card at {AGENT_CARD}")).hint("name the card itself: -a URL/of/card.json"))
}

/// The card at an address.
pub(super) async fn card(context: &Context, url: &Url) -> Result<Found, Trouble> {
    let base = |path: &str, older: bool| url.as_str().strip_suffix(path).map(|base| (base.to_owned(), older));
    let place = Place { url: Some(url.clone()), base: base(AGENT_CARD, false).or_else(|| base(AGENT_JSON, true)) };
    match body(context, url).await? {
        Some((body, origin)) => Found::read(body, place, origin),
        None => Err(Trouble::card_not_found(format!("there is no card at {url}")).status(404)),
    }
}

/// The document at a URL and where it is from; `None` when there is none.
async fn body(context: &Context, url: &Url) -> Result<Option<(Bytes, String)>, Trouble> {
    let kept = Kept::load(context, url.as_str());
    if let Some(kept) = kept.as_ref().filter(|kept| kept.is_fresh()) {
        return Ok(Some((Bytes::from(kept.body.clone()), format!("the cache of {url}"))));
    }
    let response = follow(context, url, kept.as_ref()).await?;
    let status = response.status().as_u16();
    context.notes.debug(&format!("< {status} card of {url}"));
    let text = |name| response.headers().get(name).and_then(|value| value.to_str().ok()).map(str::to_owned);
    let until = fresh_until(&text(header::CACHE_CONTROL).unwrap_or_default());
    match (status, kept) {
        (304, Some(kept)) => {
            Kept { fresh_until: until.unwrap_or(0), ..kept.clone() }.save(context);
            Ok(Some((Bytes::from(kept.body), format!("the cache of {url}, still valid"))))
        }
        (404 | 405 | 410, _) => Ok(None),
        (401 | 403, _) => Err(Trouble::credentials_missing(format!("the card at {url} itself wants credentials"))
            .status(status)
            .hint("save the card, and pass the file: -a ./card.json")),
        (200..=299, _) => {
            let (tag, modified) = (text(header::ETAG), text(header::LAST_MODIFIED));
            let body = whole(response).await?;
            if let (Some(fresh_until), Ok(text)) = (until, std::str::from_utf8(&body)) {
                Kept { url: url.to_string(), body: text.to_owned(), tag, modified, fresh_until }.save(context);
            }
            Ok(Some((body, url.to_string())))
        }
        _ => Err(Trouble::card_not_found(format!("the card at {url} was answered with status {status}")).status(status)),
    }
}

/// Asks for a document, wherever on its host it has moved to.
async fn follow(context: &Context, url: &Url, kept: Option<&Kept>) -> Result<Response, Trouble> {
    let mut at = url.clone();
    for _ in 0..=HOPS {
        let response = get(context, &at, kept).await?;
        if !response.status().is_redirection() || response.status().as_u16() == 304 {
            return Ok(response);
        }
        let to = response.headers().get(header::LOCATION).and_then(|to| at.join(to.to_str().ok()?).ok());
        let to = to.ok_or_else(|| Trouble::card_not_found(format!("{at} says the card is elsewhere, and not where")))?;
        if to.host_str() != at.host_str() || at.scheme() == "https" && to.scheme() != "https" {
            return Err(Trouble::card_not_found(format!("{at} says the card is at {to}, on another host"))
                .hint(format!("if you trust it: -a {to}")));
        }
        at = to;
    }
    Err(Trouble::card_not_found(format!("{url} says more than {HOPS} times that the card is elsewhere")))
}

async fn get(context: &Context, url: &Url, kept: Option<&Kept>) -> Result<Response, Trouble> {
    let mut request =
        context.http()?.get(url.clone()).header(header::ACCEPT, "application/json").header(chancery_wire::headers::VERSION, "1.0");
    if let Some(tag) = kept.and_then(|kept| kept.tag.as_ref()) {
        request = request.header(header::IF_NONE_MATCH, tag);
    }
    if let Some(modified) = kept.and_then(|kept| kept.modified.as_ref()) {
        request = request.header(header::IF_MODIFIED_SINCE, modified);
    }
    context.notes.debug(&format!("curl -sS {url} -H 'Accept: application/json' -H 'A2A-Version: 1.0'"));
    let sent = tokio::time::timeout(context.call_limit(), request.send()).await;
    let sent = sent.map_err(|_| Trouble::timeout(format!("{url} did not answer in time")))?;
    sent.map_err(|error| Trouble::unreachable(format!("{url} cannot be reached: {}", reason(&error))))
}

/// The last cause of a failed request: what the user can do something about.
fn reason(error: &reqwest::Error) -> String {
    let mut cause: &dyn std::error::Error = error;
    while let Some(next) = cause.source() {
        cause = next;
    }
    cause.to_string()
}

async fn whole(mut response: Response) -> Result<Bytes, Trouble> {
    let mut body = Vec::new();
    loop {
        match response.chunk().await {
            Ok(Some(piece)) if (body.len() + piece.len()) as u64 > LIMIT => {
                return Err(Trouble::card_invalid(format!("the card is larger than {LIMIT} bytes")));
            }
            Ok(Some(piece)) => body.extend_from_slice(&piece),
            Ok(None) => return Ok(body.into()),
            Err(error) => return Err(Trouble::unreachable(format!("the card broke off: {}", with_cause(&error)))),
        }
    }
}
