//! A folder of private keys.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Write},
    path::{Path, PathBuf},
};

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::{Algorithm, Document, JwkError, JwkSet, KeyError, SigningKey};

/// The ending of a key's file.
const ENDING: &str = "jwk";

/// A folder of private keys, one file `<kid>.jwk` each. On Unix the folder is its owner's alone, and a key that others can read is refused.
///
/// ```
/// use chancery_signing::{Algorithm, KeyStore};
/// use jiff::Timestamp;
/// # let folder = std::env::temp_dir().join(format!("chancery-signing-doc-{}", std::process::id()));
/// let store = KeyStore::new(&folder);
/// store.generate(Algorithm::Es256, "2026-11", Timestamp::now())?;
/// assert!(store.generate(Algorithm::Es256, "2026-11", Timestamp::now()).is_err());
/// assert_eq!(store.list()?[0].kid, "2026-11");
/// let published = store.jwks()?.to_value();
/// # std::fs::remove_dir_all(&folder)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct KeyStore {
    folder: PathBuf,
}

/// A key in a [`KeyStore`], as far as everybody may know it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct StoredKey {
    /// Its name.
    pub kid: String,
    /// Its algorithm.
    pub algorithm: Algorithm,
    /// Its RFC 7638 thumbprint.
    pub thumbprint: String,
    /// When it came into the store.
    pub created: Timestamp,
    /// Its file.
    pub path: PathBuf,
}

/// Why a store did not do what it was asked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// The folder or a file cannot be used.
    #[error("{} cannot be used", .0.display())]
    File(PathBuf, #[source] io::Error),
    /// The file of a key can be read by others.
    #[error("{} can be read by others; make it yours alone (chmod 600)", .0.display())]
    Exposed(PathBuf),
    /// The file holds something else.
    #[error("{} holds no key", .0.display())]
    Key(PathBuf, #[source] KeyError),
    /// What was to be imported is no key.
    #[error("that is no private key")]
    Import(#[source] KeyError),
    /// No key can be made.
    #[error(transparent)]
    Generate(KeyError),
    /// There is one of this name, and keys are never overwritten.
    #[error("there is a key {0} already")]
    Exists(String),
    /// There is none of this name.
    #[error("there is no key {0}")]
    Missing(String),
    /// The name cannot be that of a file.
    #[error("{0:?} cannot be the name of a key: use letters, digits, '.', '_' and '-'")]
    Name(String),
}

impl KeyStore {
    /// The keys in this folder, which is made when the first one comes.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self { folder: folder.into() }
    }

    /// Makes a key.
    ///
    /// # Errors
    /// When there is one of this name.
    pub fn generate(&self, algorithm: Algorithm, kid: &str, now: Timestamp) -> Result<SigningKey, StoreError> {
        let path = self.path(kid)?;
        if path.exists() {
            // Before an RSA key is looked for in vain; the last word is had when the file gets its name.
            return Err(StoreError::Exists(kid.to_owned()));
        }
        let key = SigningKey::generate(algorithm, kid).map_err(StoreError::Generate)?;
        self.write(&key, now)?;
        Ok(key)
    }

    /// Takes in a key from a private JWK or a PEM file. A name must be given when the key has none, and replaces the one it has.
    ///
    /// # Errors
    /// When it is no key, has no name, or there is one of this name.
    pub fn import(&self, text: &[u8], kid: Option<&str>, now: Timestamp) -> Result<SigningKey, StoreError> {
        let key = match kid {
            _ if text.trim_ascii_start().starts_with(b"{") => named(text, kid).and_then(|text| SigningKey::from_jwk(&text)),
            Some(kid) => SigningKey::from_pem(text, kid),
            // A key that is not PEM at all should hear that first.
            None => Err(SigningKey::from_pem(text, "").err().unwrap_or(KeyError::NoKid)),
        };
        let key = key.map_err(StoreError::Import)?;
        self.write(&key, now)?;
        Ok(key)
    }

    /// All keys, the newest first.
    ///
    /// # Errors
    /// When the folder cannot be read, or a file in it is no key or can be read by others.
    pub fn list(&self) -> Result<Vec<StoredKey>, StoreError> {
        let entries = match fs::read_dir(&self.folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries.map_err(self.at_folder())?,
        };
        let mut keys = Vec::new();
        for entry in entries {
            let path = entry.map_err(self.at_folder())?.path();
            if path.extension().is_some_and(|ending| ending == ENDING) {
                let (key, created) = read(&path)?;
                let thumbprint = key.public().thumbprint();
                keys.push(StoredKey { kid: key.kid().to_owned(), algorithm: key.algorithm(), thumbprint, created, path });
            }
        }
        keys.sort_by(|one, other| other.created.cmp(&one.created).then_with(|| other.kid.cmp(&one.kid)));
        Ok(keys)
    }

    /// The key of this name.
    ///
    /// # Errors
    /// When there is none, or its file is no key or can be read by others.
    pub fn key(&self, kid: &str) -> Result<SigningKey, StoreError> {
        let path = self.path(kid)?;
        if !path.exists() {
            return Err(StoreError::Missing(kid.to_owned()));
        }
        Ok(read(&path)?.0)
    }

    /// The newest key, which is the one to sign with.
    ///
    /// # Errors
    /// As for [`KeyStore::list`].
    pub fn newest(&self) -> Result<Option<SigningKey>, StoreError> {
        self.list()?.first().map(|key| self.key(&key.kid)).transpose()
    }

    /// The public halves of all keys, the newest first.
    ///
    /// # Errors
    /// As for [`KeyStore::list`].
    pub fn jwks(&self) -> Result<JwkSet, StoreError> {
        self.list()?.iter().map(|key| Ok(self.key(&key.kid)?.public())).collect()
    }

    /// Makes a key and removes the oldest ones, so that `keep` are left, the new one among them. Gives the new one and the names of those that
    /// are gone.
    ///
    /// # Errors
    /// When there is one of this name. Nothing is removed then.
    pub fn rotate(&self, algorithm: Algorithm, kid: &str, keep: usize, now: Timestamp) -> Result<(SigningKey, Vec<String>), StoreError> {
        let key = self.generate(algorithm, kid, now)?;
        let old = self.list()?.into_iter().map(|key| key.kid).filter(|old| old != kid).skip(keep.saturating_sub(1));
        let old: Vec<String> = old.collect();
        old.iter().try_for_each(|kid| self.remove(kid))?;
        Ok((key, old))
    }

    /// Removes a key for good.
    ///
    /// # Errors
    /// When there is none of this name.
    pub fn remove(&self, kid: &str) -> Result<(), StoreError> {
        let path = self.path(kid)?;
        fs::remove_file(&path).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => StoreError::Missing(kid.to_owned()),
            _ => StoreError::File(path, error),
        })
    }

    /// The file of a key.
    ///
    /// # Errors
    /// When the name cannot be that of a file.
    pub fn path(&self, kid: &str) -> Result<PathBuf, StoreError> {
        let harmless = |letter: u8| letter.is_ascii_alphanumeric() || matches!(letter, b'.' | b'_' | b'-');
        if kid.is_empty() || kid.len() > 128 || kid.starts_with('.') || !kid.bytes().all(harmless) {
            return Err(StoreError::Name(kid.to_owned()));
        }
        Ok(self.folder.join(format!("{kid}.{ENDING}")))
    }

    /// The file gets its name when it is complete, and only if there is none of that name.
    fn write(&self, key: &SigningKey, now: Timestamp) -> Result<(), StoreError> {
        let path = self.path(key.kid())?;
        let text = stamped(key, now).map_err(StoreError::Generate)?;
        create_folder(&self.folder).map_err(self.at_folder())?;
        let new = path.with_extension("jwk.new");
        let at = |error| StoreError::File(new.clone(), error);
        // What is there was left by somebody who was interrupted.
        fs::remove_file(&new).or_else(|error| if error.kind() == io::ErrorKind::NotFound { Ok(()) } else { Err(error) }).map_err(at)?;
        let mut file = create_file(&new).map_err(at)?;
        file.write_all(text.as_bytes()).and_then(|()| file.sync_all()).map_err(at)?;
        let linked = fs::hard_link(&new, &path);
        fs::remove_file(&new).map_err(at)?;
        linked.map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => StoreError::Exists(key.kid().to_owned()),
            _ => StoreError::File(path, error),
        })
    }

    fn at_folder(&self) -> impl Fn(io::Error) -> StoreError {
        |error| StoreError::File(self.folder.clone(), error)
    }
}

/// The private key with the time that it came into the store.
fn stamped(key: &SigningKey, now: Timestamp) -> Result<String, KeyError> {
    let mut document = Document::parse(key.to_private_jwk()?.as_bytes()).map_err(JwkError::from)?;
    document.set("iat", json!(now.as_second()));
    Ok(document.into_value().to_string())
}

fn named(text: &[u8], kid: Option<&str>) -> Result<Vec<u8>, KeyError> {
    let mut document = Document::parse(text).map_err(JwkError::from)?;
    if let Some(kid) = kid {
        document.set("kid", json!(kid));
    }
    Ok(document.into_value().to_string().into_bytes())
}

fn read(path: &Path) -> Result<(SigningKey, Timestamp), StoreError> {
    let at = |error| StoreError::File(path.to_owned(), error);
    let invalid = |error| StoreError::Key(path.to_owned(), error);
    if is_exposed(path).map_err(at)? {
        return Err(StoreError::Exposed(path.to_owned()));
    }
    let text = fs::read(path).map_err(at)?;
    let key = SigningKey::from_jwk(&text).map_err(invalid)?;
    // The file's name is how the key is found again, so it has to be right.
    if path.file_stem().is_none_or(|stem| stem != key.kid()) {
        return Err(invalid(KeyError::NoKid));
    }
    let document = Document::parse(&text).map_err(|error| invalid(JwkError::from(error).into()))?;
    let created = document.member("iat").and_then(Value::as_i64).and_then(|second| Timestamp::from_second(second).ok());
    Ok((key, created.unwrap_or_default()))
}

#[cfg(unix)]
fn is_exposed(path: &Path) -> io::Result<bool> {
    use std::os::unix::fs::PermissionsExt;
    Ok(fs::metadata(path)?.permissions().mode() & 0o077 != 0)
}

#[cfg(not(unix))]
fn is_exposed(path: &Path) -> io::Result<bool> {
    fs::metadata(path).map(|_| false)
}

#[cfg(unix)]
fn create_folder(path: &Path) -> io::Result<()> {
    use std::os::unix::fs::DirBuilderExt;
    fs::DirBuilder::new().recursive(true).mode(0o700).create(path)
}

#[cfg(not(unix))]
fn create_folder(path: &Path) -> io::Result<()> {
    fs::create_dir_all(path)
}

#[cfg(unix)]
fn create_file(path: &Path) -> io::Result<File> {
    use std::os::unix::fs::OpenOptionsExt;
    OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)
}

#[cfg(not(unix))]
fn create_file(path: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).create_new(true).open(path)
}
