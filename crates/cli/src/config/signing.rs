//! `[signing]`: the keys that sign the cards.

use std::{
    fmt,
    path::{Path, PathBuf},
    sync::Arc,
};

use chancery::server::Signing as Seals;
use chancery_client::seal::{KeyStore, SigningKey};

use super::{
    auth::{Listed, tables},
    or,
    section::{Document, Keys, Result, Section, Value},
};
use crate::trouble::with_cause;

pub(super) const SIGNING: Keys = Keys { known: &["dir", "jku"], later: &[] };
pub(super) const KEY: Keys = Keys { known: &["kid", "file", "also_sign", "chain"], later: &[] };

/// What cards are signed with.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Signing {
    /// Where the public keys are, when that is not the server itself.
    pub(crate) jku: Option<String>,
    /// In the order of the file: the first one signs, all are published.
    pub(crate) keys: Vec<Key>,
}

/// A key that was read.
#[derive(Clone)]
pub(crate) struct Key {
    file: PathBuf,
    key: Arc<SigningKey>,
    also_sign: bool,
    chain_file: Option<PathBuf>,
    /// Certificates in DER.
    chain: Vec<Vec<u8>>,
}

impl PartialEq for Key {
    /// Another key in the same file is another key.
    fn eq(&self, other: &Self) -> bool {
        let known = |key: &Self| (key.file.clone(), key.key.kid().to_owned(), key.key.public().thumbprint(), key.also_sign);
        known(self) == known(other) && self.chain_file == other.chain_file && self.chain == other.chain
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Key").field("file", &self.file).field("also_sign", &self.also_sign).finish_non_exhaustive()
    }
}

impl Signing {
    /// For the server.
    pub(crate) fn seals(&self) -> Option<Seals> {
        let (first, others) = self.keys.split_first()?;
        let mut seals = Seals::new(first.key.clone()).chain(first.chain.iter().cloned());
        for other in others {
            seals = match other.also_sign {
                true => seals.also(other.key.clone()).chain(other.chain.iter().cloned()),
                false => seals.published(other.key.public()),
            };
        }
        Some(match &self.jku {
            Some(url) => seals.keys_at(url),
            None => seals,
        })
    }

    /// The files that it was made from.
    pub(crate) fn sources(&self) -> impl Iterator<Item = PathBuf> {
        self.keys.iter().flat_map(|key| std::iter::once(key.file.clone()).chain(key.chain_file.clone()))
    }
}

/// Reads `[signing]`; without a key nothing is signed.
pub(super) fn signing(
    document: &Document<'_>,
    mut section: Section<'_, '_>,
    keys: Option<Listed<'_>>,
    folder: &Path,
) -> Result<Option<Signing>> {
    let said = SIGNING.known.iter().find_map(|key| section.key_span(key));
    let dir = folder.join(or(section.text("dir")?, || ".a2a/keys".to_owned()));
    let jku = section.text("jku")?;
    if let Some(url) = jku.as_ref().filter(|url| !url.value.starts_with("https://")) {
        let what = format!("jku must begin with https://, not {:?}", url.value);
        return Err(section.wrong(url, what).hint("leave it out: the server publishes its keys at /.well-known/jwks.json"));
    }
    let mut read: Vec<Key> = Vec::new();
    for (span, table) in tables(document, keys, "[[signing.keys]]")? {
        let mut section = Section::open(document, "[[signing.keys]]", table, span.clone(), &KEY, false)?;
        let key = key(&mut section, &dir, folder)?;
        if read.iter().any(|known| known.key.kid() == key.key.kid()) {
            return Err(document.problem(&span, format!("there is a key {:?} already", key.key.kid())));
        }
        read.push(key);
    }
    match (read.is_empty(), said) {
        (false, _) => Ok(Some(Signing { jku: jku.map(|url| url.value), keys: read })),
        (true, None) => Ok(None),
        (true, Some(span)) => Err(document.problem(&span, "[signing] has no key").hint("add [[signing.keys]] with kid or file")),
    }
}

fn key(section: &mut Section<'_, '_>, dir: &Path, folder: &Path) -> Result<Key> {
    let (kid, file) = (section.text("kid")?, section.text("file")?);
    let (path, key) = match (kid, file) {
        (Some(kid), None) => {
            let store = KeyStore::new(dir);
            let made = store.path(&kid.value).and_then(|path| Ok((path, store.key(&kid.value)?)));
            made.map_err(|error| missing(section, &kid, &with_cause(&error), &store))?
        }
        (kid, Some(file)) => {
            let path = folder.join(&file.value);
            let name = kid.map(|kid| kid.value);
            let key = opened(&path, name.as_deref()).map_err(|what| section.wrong(&file, format!("file: {what}")))?;
            (path, key)
        }
        (None, None) => return Err(section.wrong_at_all("the key has neither kid nor file").hint("a2a keys generate --dir .a2a/keys")),
    };
    let chain_file = section.text("chain")?;
    let chain = match &chain_file {
        None => Vec::new(),
        Some(said) => certificates(&folder.join(&said.value)).map_err(|what| section.wrong(said, format!("chain: {what}")))?,
    };
    Ok(Key {
        file: path,
        key: Arc::new(key),
        also_sign: or(section.flag("also_sign")?, || false),
        chain_file: chain_file.map(|said| folder.join(said.value)),
        chain,
    })
}

/// No such key, and the one that may have been meant.
fn missing(section: &Section<'_, '_>, kid: &Value<String>, what: &str, store: &KeyStore) -> super::Problem {
    let known: Vec<_> = store.list().unwrap_or_default().into_iter().map(|key| key.kid).collect();
    let problem = section.wrong(kid, what.to_owned());
    match super::nearest(&kid.value, known.iter().map(String::as_str)) {
        Some(near) => problem.hint(format!("did you mean {near:?}?")),
        None => problem.hint(format!("a2a keys generate --kid {}", kid.value)),
    }
}

/// A key in a file of its own: a private JWK, or PEM.
fn opened(path: &Path, kid: Option<&str>) -> Result<SigningKey, String> {
    let text = std::fs::read(path).map_err(|error| format!("{}: {}", path.display(), super::reason(&error)))?;
    let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let key = match text.trim_ascii_start().starts_with(b"{") {
        true => SigningKey::from_jwk(&text),
        false => SigningKey::from_pem(&text, kid.unwrap_or(&stem)),
    };
    let key = key.map_err(|error| format!("{}: {}", path.display(), with_cause(&error)))?;
    match kid {
        Some(kid) if kid != key.kid() => Err(format!("{} holds the key {:?}, not {kid:?}", path.display(), key.kid())),
        _ => Ok(key),
    }
}

/// The certificates of a PEM file, in DER.
fn certificates(path: &Path) -> Result<Vec<Vec<u8>>, String> {
    let text = std::fs::read(path).map_err(|error| format!("{}: {}", path.display(), super::reason(&error)))?;
    chancery_client::seal::certificates(&text).ok_or_else(|| format!("{} holds no certificates in PEM", path.display()))
}
