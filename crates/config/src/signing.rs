//! `[signing]`: the keys with which agent cards are signed (JWS).

use std::{
    fmt,
    path::{Path, PathBuf},
    sync::Arc,
};

use chancery_signing::{KeyStore, SigningKey};

use super::{
    auth::{Nested, tables},
    or,
    section::{Document, Keys, Result, Section, Value},
};

pub(crate) const SIGNING: Keys = Keys::new(&["dir", "jku"], &[]);
pub(crate) const KEY: Keys = Keys::new(&["kid", "file", "also_sign", "chain"], &[]);

/// What cards are signed with.
#[derive(Debug, Clone, PartialEq)]
pub struct Signing {
    /// Where the public keys are, when that is not the server itself.
    pub jku: Option<String>,
    /// In the order of the file: the first one signs, all are published.
    pub keys: Vec<Key>,
}

/// A key that was read.
#[derive(Clone)]
pub struct Key {
    /// Where it was read from.
    pub file: PathBuf,
    /// The key itself.
    pub key: Arc<SigningKey>,
    /// Whether it signs too, though it is not the first.
    pub also_sign: bool,
    /// Where the chain was read from.
    pub chain_file: Option<PathBuf>,
    /// The chain of certificates, in DER.
    pub chain: Vec<Vec<u8>>,
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
    /// The files that it was made from.
    pub fn sources(&self) -> impl Iterator<Item = PathBuf> {
        self.keys.iter().flat_map(|key| std::iter::once(key.file.clone()).chain(key.chain_file.clone()))
    }
}

/// Reads `[signing]`; without a key nothing is signed.
pub(crate) fn signing(
    document: &Document<'_>,
    mut section: Section<'_, '_>,
    keys: Option<Nested<'_>>,
    folder: &Path,
) -> Result<Option<Signing>> {
    let said = SIGNING.known.iter().find_map(|key| section.key_span(key));
    let dir = folder.join(or(section.text("dir")?, || ".a2a/keys".to_owned()));
    let jku = section.text("jku")?;
    if let Some(url) = jku.as_ref().filter(|url| !url.value.starts_with("https://")) {
        let what = format!("jku must begin with https://, not {:?}", url.value);
        return Err(section.error(url, what).with_hint("leave it out: the server publishes its keys at /.well-known/jwks.json"));
    }
    let mut read: Vec<Key> = Vec::new();
    for (span, table) in tables(document, keys, "[[signing.keys]]")? {
        let mut section = Section::open(document, "[[signing.keys]]", table, span.clone(), &KEY, false)?;
        let key = key(&mut section, &dir, folder)?;
        if read.iter().any(|known| known.key.kid() == key.key.kid()) {
            return Err(document.error_at(&span, format!("there is a key {:?} already", key.key.kid())));
        }
        read.push(key);
    }
    match (read.is_empty(), said) {
        (false, _) => Ok(Some(Signing { jku: jku.map(|url| url.value), keys: read })),
        (true, None) => Ok(None),
        (true, Some(span)) => Err(document.error_at(&span, "[signing] has no key").with_hint("add [[signing.keys]] with kid or file")),
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
            let key = opened(&path, name.as_deref()).map_err(|what| section.error(&file, format!("file: {what}")))?;
            (path, key)
        }
        (None, None) => return Err(section.table_error("the key has neither kid nor file").with_hint("a2a keys generate --dir .a2a/keys")),
    };
    let chain_file = section.text("chain")?;
    let chain = match &chain_file {
        None => Vec::new(),
        Some(said) => certificates(&folder.join(&said.value)).map_err(|what| section.error(said, format!("chain: {what}")))?,
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
fn missing(section: &Section<'_, '_>, kid: &Value<String>, what: &str, store: &KeyStore) -> super::error::Error {
    let known: Vec<_> = store.list().unwrap_or_default().into_iter().map(|key| key.kid).collect();
    let error = section.error(kid, what.to_owned());
    match super::nearest(&kid.value, known.iter().map(String::as_str)) {
        Some(near) => error.with_hint(format!("did you mean {near:?}?")),
        None => error.with_hint(format!("a2a keys generate --kid {}", kid.value)),
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
    chancery_signing::certificates(&text).ok_or_else(|| format!("{} holds no certificates in PEM", path.display()))
}

/// An error with the causes that its sentence does not repeat.
fn with_cause(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        let words = cause.to_string();
        if !text.contains(&words) {
            text = format!("{text}: {words}");
        }
        next = cause.source();
    }
    text
}
