//! The agent's card: found by its reference, kept as it was received.

mod cache;
mod fetch;

use std::{io::Read as _, path::Path};

use chancery_core::{Bytes, Card};
use chancery_wire::card::FoundAt;

use self::fetch::Place;
use crate::{context::Context, reference::Reference, trouble::Trouble};

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
    pub(crate) url: Option<url::Url>,
    /// The agent's base, if the card was at a well-known path; the flag says that it was the older one.
    pub(crate) base: Option<(String, bool)>,
}

impl Found {
    /// Where it was, for those who read cards.
    pub(crate) fn found_at(&self) -> FoundAt<'_> {
        match &self.base {
            Some((base, true)) => FoundAt::AgentJson(base),
            Some((base, false)) => FoundAt::AgentCardJson(base),
            None => FoundAt::Elsewhere,
        }
    }

    fn read(body: Bytes, place: Place, origin: String) -> Result<Self, Trouble> {
        let mut found = Self { card: Card::default(), body, origin, url: place.url, base: place.base };
        let read = chancery_wire::card::read_from(&found.body, found.found_at());
        let invalid = |what: String| Trouble::card_invalid(format!("{} is no agent card: {what}", found.origin));
        let card = read.map_err(|error| invalid(crate::trouble::with_cause(&error)))?;
        if card.name.is_empty() && card.supported_interfaces.is_empty() {
            return Err(invalid("it has neither a name nor an interface".to_owned()));
        }
        found.card = card;
        Ok(found)
    }
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
        Reference::Host(url) => fetch::host(context, &url).await?,
        Reference::Card(url) => fetch::card(context, &url).await?,
        Reference::Urn(urn) => {
            let what = if context.settings.registry.is_some() { "registries are not built yet" } else { "no --registry is named" };
            return Err(Trouble::card_not_found(format!("{urn} cannot be looked up: {what}")).hint("a2a help references"));
        }
        Reference::Entry { catalog, entry } => {
            return Err(Trouble::card_not_found(format!("{entry} cannot be looked up at {catalog}: catalogs are not built yet"))
                .hint("a2a help references"));
        }
    };
    context.notes.debug(&format!("card {:?} from {}", found.card.name, found.origin));
    Ok(found)
}

fn stdin() -> Result<Found, Trouble> {
    let mut body = Vec::new();
    let read = std::io::stdin().lock().take(LIMIT).read_to_end(&mut body);
    read.map_err(|error| Trouble::card_not_found(format!("stdin cannot be read: {error}")))?;
    Found::read(body.into(), Place::default(), "stdin".to_owned())
}

fn file(path: &Path) -> Result<Found, Trouble> {
    let name = path.display();
    let body = std::fs::read(path).map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => Trouble::card_not_found(format!("there is no file {name}")),
        _ => Trouble::card_not_found(format!("{name} cannot be read: {error}")),
    })?;
    Found::read(body.into(), Place::default(), format!("file {name}"))
}
