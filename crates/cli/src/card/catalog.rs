//! Catalogs of agents: `CATALOG@ENTRY`.
//!
//! An AI Catalog is a JSON document at `/.well-known/ai-catalog.json` of a host, or wherever its owner puts it. An entry has a card in it,
//! says where its card is, or is a catalog itself.

use chancery_core::Bytes;
use serde::Deserialize;
use serde_json::Value;
use url::Url;

use super::{AGENT_CARD, Broken, Found, LIMIT, fetched, file, made};
use crate::{connect, context::Context, files, reference::Reference, resume::quoted, trouble::Trouble};

/// Where the catalog of a host is.
const WELL_KNOWN: &str = "/.well-known/ai-catalog.json";
/// What the entries of agents and of other catalogs are.
const CARD: &str = "application/a2a-agent-card+json";
const NESTED: [&str; 2] = ["application/ai-catalog+json", "application/ai-registry+json"];
/// How deep catalogs are looked into.
const DEPTH: usize = 4;
/// How many catalogs are read for one entry.
const CATALOGS: usize = 16;

#[derive(Debug, Deserialize)]
struct Catalog {
    #[serde(default)]
    entries: Vec<Entry>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Entry {
    #[serde(default)]
    identifier: String,
    #[serde(default)]
    display_name: String,
    #[serde(default)]
    media_type: String,
    /// What the other specification calls it. An entry may have both.
    #[serde(default, rename = "type")]
    kind: String,
    #[serde(default)]
    url: Option<String>,
    #[serde(default)]
    data: Option<Value>,
}

impl Entry {
    fn is(&self, name: &str) -> bool {
        self.identifier == name || self.display_name == name
    }

    fn is_catalog(&self) -> bool {
        NESTED.contains(&self.kind())
    }

    fn is_card(&self) -> bool {
        self.kind().is_empty() || self.kind() == CARD
    }

    fn kind(&self) -> &str {
        if self.media_type.is_empty() { &self.kind } else { &self.media_type }
    }
}

/// The card of an entry, by its identifier or its name.
pub(super) async fn find(context: &Context, catalog: &str, name: &str) -> Result<Found, Broken> {
    let home = context.settings.layers.around.home.as_deref();
    let mut places = vec![(Reference::read(catalog, home)?, 0)];
    let (mut read, mut known) = (0, Vec::new());
    // Entries of the first catalog come before those of catalogs in it.
    while !places.is_empty() && read < CATALOGS {
        let (place, depth) = places.remove(0);
        read += 1;
        let (entries, base) = entries(context, &place).await?;
        if let Some(entry) = entries.iter().find(|entry| entry.is(name) && entry.is_card()) {
            return card(context, entry, base.as_ref()).await;
        }
        known.extend(entries.iter().filter(|entry| entry.is_card()).map(|entry| entry.identifier.clone()));
        let nested = entries.iter().filter(|entry| entry.is_catalog() && depth + 1 < DEPTH);
        places.extend(nested.filter_map(|entry| Some((Reference::Card(address(entry.url.as_deref()?, base.as_ref())?), depth + 1))));
    }
    let trouble = Trouble::card_not_found(format!("{catalog} has no entry {name}"));
    let nearest = chancery_config::nearest(name, known.iter().map(String::as_str));
    let hint = match (nearest, known.first()) {
        (Some(near), _) => format!("did you mean {catalog}@{near}?"),
        (None, Some(first)) => format!("a2a card get -a {}", quoted(&format!("{catalog}@{first}"))),
        (None, None) => "a2a help references".to_owned(),
    };
    Err(trouble.hint(hint).into())
}

/// The agents that the catalog of a host names, and what `-a` takes for each; `written` is how the user names the host.
pub(super) async fn agents(context: &Context, host: &Url, written: &str) -> Vec<(String, String)> {
    let (entries, base) = match entries(context, &Reference::Host(host.clone())).await {
        Ok(found) => found,
        Err(trouble) => {
            context.notes.debug(&format!("there is no catalog either: {}", trouble.message));
            return Vec::new();
        }
    };
    let addressed = |entry: Entry| {
        let url = address(entry.url.as_deref()?, base.as_ref())?;
        let name = if entry.display_name.is_empty() { entry.identifier } else { entry.display_name };
        Some((name, url))
    };
    let found: Vec<_> = entries.into_iter().filter(Entry::is_card).filter_map(addressed).collect();
    let is_short = has_short_form(context, &found).await;
    let reference = |url: &Url| {
        let path = url.path();
        let path = if is_short { path.strip_suffix(AGENT_CARD).filter(|path| !path.is_empty()).unwrap_or(path) } else { path };
        match is_same(url, host) && url.query().is_none() {
            true => quoted(&format!("{written}{path}")),
            false => quoted(url.as_str()),
        }
    };
    found.iter().map(|(name, url)| (name.clone(), reference(url))).collect()
}

/// Whether cards are also found at the path of their agents, as with our own server: that is shorter to type.
async fn has_short_form(context: &Context, agents: &[(String, Url)]) -> bool {
    let short = agents.iter().find_map(|(_, url)| {
        let path = url.path().strip_suffix(AGENT_CARD).filter(|path| !path.is_empty())?;
        let mut short = url.clone();
        short.set_path(path);
        Some(short)
    });
    let (Some(short), Ok(builder)) = (short, connect::builder(context)) else { return false };
    builder.read_card(short.as_str()).await.is_ok()
}

/// Whether two addresses are those of one server: this machine has several names.
fn is_same(one: &Url, other: &Url) -> bool {
    let local = |url: &Url| url.host_str().is_some_and(crate::reference::is_loopback);
    one.origin() == other.origin()
        || one.scheme() == other.scheme() && one.port_or_known_default() == other.port_or_known_default() && local(one) && local(other)
}

/// The entries of a catalog, and the address that they are relative to.
async fn entries(context: &Context, place: &Reference) -> Result<(Vec<Entry>, Option<Url>), Trouble> {
    let (body, base) = match place {
        Reference::File(path) => {
            let text = std::fs::read(path).map_err(|error| {
                Trouble::card_not_found(format!("the catalog: {}", files::unreadable(path, &error))).hint(files::hint(path, &error))
            })?;
            (Bytes::from(text), None)
        }
        Reference::Host(url) => fetch(context, &url.join(WELL_KNOWN).unwrap_or_else(|_| url.clone())).await?,
        Reference::Card(url) => fetch(context, url).await?,
        _ => return Err(Trouble::usage("a catalog is named by its host, its address or its file").hint("a2a help references")),
    };
    let catalog: Catalog = serde_json::from_slice(&body).map_err(|error| {
        Trouble::card_not_found(format!("the catalog cannot be read: {error}")).hint("a2a help references says what a catalog is")
    })?;
    Ok((catalog.entries, base))
}

async fn fetch(context: &Context, url: &Url) -> Result<(Bytes, Option<Url>), Trouble> {
    let limit = usize::try_from(LIMIT).unwrap_or(usize::MAX);
    let (body, url) = connect::builder(context)?.read_document(url.as_str(), limit).await?;
    Ok((body, Url::parse(&url).ok()))
}

/// The card of an entry: in it, or where it says.
async fn card(context: &Context, entry: &Entry, base: Option<&Url>) -> Result<Found, Broken> {
    if let Some(data) = &entry.data {
        let origin = format!("the entry {}", entry.identifier);
        // Nobody vouches for where it came from, so that only keys that are known already count for it.
        return made(data.to_string().into_bytes(), origin);
    }
    let said = entry
        .url
        .as_deref()
        .ok_or_else(|| Trouble::card_invalid(format!("the entry {} has neither card nor address", entry.identifier)))?;
    let wrong = || Trouble::card_invalid(format!("the entry {} leads to {said:?}, which is no address", entry.identifier));
    match (address(said, base), base) {
        (Some(url), _) => fetched(context, &url).await,
        // A catalog that is a file may name files beside it.
        (None, None) => file(std::path::Path::new(said)),
        _ => Err(wrong().into()),
    }
    .map_err(|Broken { trouble, rest }| {
        let message = format!("the entry {}: {}", entry.identifier, trouble.message);
        Broken { trouble: Trouble { message, ..trouble }, rest }
    })
}

fn address(said: &str, base: Option<&Url>) -> Option<Url> {
    let url = match base {
        Some(base) => base.join(said).ok()?,
        None => Url::parse(said).ok()?,
    };
    matches!(url.scheme(), "http" | "https").then_some(url)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_of_both_specifications_are_read() {
        let catalog: Catalog = serde_json::from_str(
            r#"{"specVersion":"1.0","host":{"displayName":"x"},"entries":[
                {"identifier":"urn:air:a","displayName":"A","mediaType":"application/a2a-agent-card+json","url":"/a"},
                {"identifier":"urn:air:b","displayName":"B","type":"application/ai-catalog+json","url":"/b"},
                {"identifier":"urn:air:c","displayName":"C","mediaType":"application/mcp-server+json","data":{}}]}"#,
        )
        .unwrap();
        let kinds: Vec<_> = catalog.entries.iter().map(|entry| (entry.is_card(), entry.is_catalog())).collect();
        assert_eq!(kinds, [(true, false), (false, true), (false, false)]);
        assert!(catalog.entries[0].is("urn:air:a") && catalog.entries[0].is("A") && !catalog.entries[0].is("a"));
    }

    #[test]
    fn addresses_are_relative_to_their_catalog_and_nothing_but_http() {
        let base = Url::parse("https://agents.example/.well-known/ai-catalog.json").unwrap();
        assert_eq!(address("/a", Some(&base)).unwrap().as_str(), "https://agents.example/a");
        assert_eq!(address("https://b.example/c", None).unwrap().as_str(), "https://b.example/c");
        assert_eq!(address("file:///etc/passwd", Some(&base)), None);
        assert_eq!(address("card.json", None), None);
    }
}
