//! The agent's card: found by its reference, kept as it was received.

mod cache;
mod catalog;

use std::{io::Read as _, path::Path};

use chancery_core::{Bytes, Card};
use url::Url;

use self::cache::Kept;
use crate::{
    connect,
    context::Context,
    files,
    reference::Reference,
    resume::quoted,
    trouble::{Trouble, with_cause},
};

/// Bytes of a card.
const LIMIT: u64 = 4 * 1_024 * 1_024;
/// Where the card of a host is.
const AGENT_CARD: &str = "/.well-known/agent-card.json";
const AGENT_JSON: &str = "/.well-known/agent.json";
/// How many agents of a host are named at once.
const SHOWN: usize = 20;
const NOT_FOUND: &str = "A2ACLI_ERR_CARD_NOT_FOUND";
const INVALID: &str = "A2ACLI_ERR_CARD_INVALID";

/// A card, and the bytes it was read from.
#[derive(Debug, Clone)]
pub(crate) struct Found {
    pub(crate) card: Card,
    pub(crate) body: Bytes,
    /// Where it was, in words.
    pub(crate) origin: String,
    /// The address it was fetched from; a file has none.
    pub(crate) url: Option<String>,
}

/// Why there is no card, or none that can be used as it is; and then what is left of it, for those who look for more.
#[derive(Debug)]
pub(crate) struct Broken {
    pub(crate) trouble: Trouble,
    pub(crate) rest: Option<Box<Found>>,
}

impl From<Trouble> for Broken {
    fn from(trouble: Trouble) -> Self {
        Self { trouble, rest: None }
    }
}

/// Finds the card that the settings name.
pub(crate) async fn find(context: &Context) -> Result<Found, Trouble> {
    examine(context).await.map_err(|broken| broken.trouble)
}

/// Finds the card that the settings name, also if it cannot be used.
pub(crate) async fn examine(context: &Context) -> Result<Found, Broken> {
    let Some(agent) = &context.settings.agent else {
        let what = if context.settings.endpoint.is_some() { "--endpoint has no card" } else { "no agent is named" };
        return Err(Trouble::usage(what).hint("add -a REF or set A2ACLI_AGENT_CARD; see: a2a help references").into());
    };
    let home = context.settings.layers.around.home.as_deref();
    let found = match Reference::read(agent, home)? {
        Reference::Stdin => stdin()?,
        Reference::File(path) => file(&path)?,
        Reference::Host(url) => match fetched(context, &url).await {
            Err(broken) if broken.trouble.code == NOT_FOUND => return Err(among_others(context, &url, broken.trouble).await.into()),
            found => found?,
        },
        Reference::Card(url) => fetched(context, &url).await?,
        Reference::Urn(urn) => {
            let what = if context.settings.registry.is_some() { "registries are not built yet" } else { "no --registry is named" };
            return Err(Trouble::card_not_found(format!("{urn} cannot be looked up: {what}")).hint("a2a help references").into());
        }
        Reference::Entry { catalog, entry } => catalog::find(context, &catalog, &entry).await?,
    };
    context.notes.debug(&format!("card {:?} from {}", found.card.name, found.origin));
    Ok(found)
}

/// What is said of a host without a card of its own, whose catalog may name agents.
async fn among_others(context: &Context, url: &Url, trouble: Trouble) -> Trouble {
    let host = context.settings.agent.as_deref().unwrap_or(url.as_str()).trim().trim_end_matches('/');
    let agents = catalog::agents(context, url, host).await;
    let Some((_, first)) = agents.first() else { return trouble };
    let shown: Vec<_> = agents.iter().take(SHOWN).map(|(name, reference)| format!("{name} (-a {reference})")).collect();
    let more = agents.len().checked_sub(SHOWN + 1).map_or_else(String::new, |more| format!(" and {} more", more + 1));
    let count = if agents.len() == 1 { "1 agent".to_owned() } else { format!("{} agents", agents.len()) };
    let message = format!("{host} has no card of its own, but {count}: {}{more}", shown.join(", "));
    Trouble { message, ..trouble }.hint(format!("a2a card get -a {first}"))
}

/// A card over HTTP: from the cache while it is fresh, else asked for without credentials.
async fn fetched(context: &Context, url: &Url) -> Result<Found, Broken> {
    let kept = Kept::load(context, url.as_str());
    if let Some(text) = kept.as_ref().filter(|kept| kept.is_fresh()).and_then(Kept::text) {
        let origin = format!("the cache of {}", text.url);
        return Ok(Found { card: text.card, body: text.body, origin, url: Some(text.url) });
    }
    let builder = connect::builder(context)?;
    let text = match kept.as_ref().and_then(Kept::text) {
        Some(known) => builder.read_card_again(&known).await,
        None => builder.read_card(url.as_str()).await,
    };
    let reference = context.settings.agent.as_deref().unwrap_or(url.as_str());
    let text = match text.map_err(Trouble::from) {
        Ok(text) => text,
        Err(trouble) if trouble.code == INVALID => return Err(looked_at(context, url, trouble).await),
        Err(trouble) => return Err(trouble.or_hint(|| format!("a2a doctor -a {}", quoted(reference))).into()),
    };
    Kept::of(url.as_str(), &text).save(context);
    let origin = if text.unchanged { format!("the cache of {}, still valid", text.url) } else { text.url.clone() };
    Ok(Found { card: text.card, body: text.body, origin, url: Some(text.url) })
}

/// Reads a card that cannot be used once more, for all that is wrong with it.
async fn looked_at(context: &Context, url: &Url, trouble: Trouble) -> Broken {
    let limit = usize::try_from(LIMIT).unwrap_or(usize::MAX);
    let places = if url.path() == "/" && url.query().is_none() { &[AGENT_CARD, AGENT_JSON][..] } else { &[""] };
    for place in places.iter().filter_map(|place| url.join(place).ok()) {
        let Ok(builder) = connect::builder(context) else { break };
        if let Ok((body, at)) = builder.read_document(place.as_str(), limit).await {
            return broken(body, format!("the card at {at}"), Some(at), trouble);
        }
    }
    trouble.into()
}

/// All that is wrong with a card that cannot be used.
fn broken(body: Bytes, origin: String, url: Option<String>, trouble: Trouble) -> Broken {
    let report = chancery_check::card(&body);
    match report.card {
        Some(card) if !report.findings.is_empty() => {
            let trouble = Trouble::card_findings(&origin, &report.findings);
            Broken { trouble, rest: Some(Box::new(Found { card, body, origin, url })) }
        }
        _ => trouble.or_hint(|| "this is no agent card; name one: a2a help references".to_owned()).into(),
    }
}

fn stdin() -> Result<Found, Broken> {
    let mut body = Vec::new();
    let read = std::io::stdin().lock().take(LIMIT).read_to_end(&mut body);
    read.map_err(|error| Trouble::card_not_found(format!("stdin cannot be read: {error}")))?;
    made(body, "stdin".to_owned())
}

fn file(path: &Path) -> Result<Found, Broken> {
    let body =
        std::fs::read(path).map_err(|error| Trouble::card_not_found(files::unreadable(path, &error)).hint(files::hint(path, &error)))?;
    made(body, format!("file {}", path.display()))
}

/// A card that came from nowhere in particular.
fn made(body: Vec<u8>, origin: String) -> Result<Found, Broken> {
    let body = Bytes::from(body);
    let invalid = |what: String| Trouble::card_invalid(format!("{origin} is no agent card: {what}"));
    let card = match chancery_wire::card::read(&body) {
        Ok(card) => card,
        Err(error) => {
            let trouble = invalid(with_cause(&error));
            return Err(broken(body, origin, None, trouble));
        }
    };
    if card.name.is_empty() && card.supported_interfaces.is_empty() {
        let hint = format!(
            "a2a card init --name NAME --url URL -O {}",
            origin.strip_prefix("file ").map_or_else(|| "card.json".to_owned(), quoted)
        );
        return Err(invalid("it has neither a name nor an interface".to_owned()).hint(hint).into());
    }
    Ok(Found { card, body, origin, url: None })
}
