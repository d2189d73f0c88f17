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
    reference::Reference,
    resume::quoted,
    trouble::{Trouble, with_cause},
};

/// Bytes of a card.
const LIMIT: u64 = 4 * 1_024 * 1_024;

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

/// Finds the card that the settings name.
pub(crate) async fn find(context: &Context) -> Result<Found, Trouble> {
    let Some(agent) = &context.settings.agent else {
        let what = if context.settings.endpoint.is_some() { "--endpoint has no card" } else { "no agent is named" };
        return Err(Trouble::usage(what).hint("add -a REF or set A2ACLI_AGENT_CARD; see: a2a help references"));
    };
    let home = context.settings.layers.around.home.as_deref();
    let found = match Reference::read(agent, home)? {
        Reference::Stdin => stdin()?,
        Reference::File(path) => file(&path)?,
        Reference::Host(url) | Reference::Card(url) => fetched(context, &url).await?,
        Reference::Urn(urn) => {
            let what = if context.settings.registry.is_some() { "registries are not built yet" } else { "no --registry is named" };
            return Err(Trouble::card_not_found(format!("{urn} cannot be looked up: {what}")).hint("a2a help references"));
        }
        Reference::Entry { catalog, entry } => catalog::find(context, &catalog, &entry).await?,
    };
    context.notes.debug(&format!("card {:?} from {}", found.card.name, found.origin));
    Ok(found)
}

/// A card over HTTP: from the cache while it is fresh, else asked for without credentials.
async fn fetched(context: &Context, url: &Url) -> Result<Found, Trouble> {
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
    let text = text.map_err(|error| Trouble::from(error).or_hint(|| format!("a2a doctor -a {}", quoted(reference))))?;
    Kept::of(url.as_str(), &text).save(context);
    let origin = if text.unchanged { format!("the cache of {}, still valid", text.url) } else { text.url.clone() };
    Ok(Found { card: text.card, body: text.body, origin, url: Some(text.url) })
}

fn stdin() -> Result<Found, Trouble> {
    let mut body = Vec::new();
    let read = std::io::stdin().lock().take(LIMIT).read_to_end(&mut body);
    read.map_err(|error| Trouble::card_not_found(format!("stdin cannot be read: {error}")))?;
    made(body, "stdin".to_owned())
}

fn file(path: &Path) -> Result<Found, Trouble> {
    let name = path.display();
    let body = std::fs::read(path).map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => Trouble::card_not_found(format!("there is no file {name}")),
        _ => Trouble::card_not_found(format!("{name} cannot be read: {error}")),
    })?;
    made(body, format!("file {name}"))
}

/// A card that came from nowhere in particular.
fn made(body: Vec<u8>, origin: String) -> Result<Found, Trouble> {
    let body = Bytes::from(body);
    let invalid = |what: String| Trouble::card_invalid(format!("{origin} is no agent card: {what}"));
    let card = chancery_wire::card::read(&body).map_err(|error| invalid(with_cause(&error)))?;
    if card.name.is_empty() && card.supported_interfaces.is_empty() {
        return Err(invalid("it has neither a name nor an interface".to_owned()));
    }
    Ok(Found { card, body, origin, url: None })
}
