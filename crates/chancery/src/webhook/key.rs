//! The key that signs notifications.

use std::{
    fmt,
    fs::{self, File, OpenOptions},
    io::{self, Write},
    path::Path,
    sync::Arc,
};

use aws_lc_rs::{
    digest::{SHA256, digest},
    error::{KeyRejected, Unspecified},
    signature::{Ed25519KeyPair, KeyPair},
};
use base64::{
    Engine as _,
    prelude::{BASE64_STANDARD, BASE64_URL_SAFE_NO_PAD},
};
use serde_json::Value;

/// The key's file in the data folder.
const FILE: &str = "webhook-key.pem";
/// Where the key is written before it gets its name.
const NEW: &str = "webhook-key.pem.new";
/// Held by the process that makes the key.
const LOCK: &str = "webhook-key.lock";

const BEGIN: &str = "-----BEGIN PRIVATE KEY-----";
const END: &str = "-----END PRIVATE KEY-----";

/// An Ed25519 key that signs notifications. Clones share it.
#[derive(Clone)]
pub struct Key {
    pair: Arc<Ed25519KeyPair>,
}

/// Why there is no key.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum KeyError {
    /// Its file cannot be read or written.
    #[error("the file of the signing key cannot be used")]
    File(#[from] io::Error),
    /// Its file holds something else.
    #[error("the file of the signing key holds no Ed25519 key in PKCS#8 and PEM")]
    Invalid,
    /// The system gives no random numbers.
    #[error("no signing key can be made")]
    Unmade,
}

impl Key {
    /// The key in this data folder; it is made when there is none yet. Processes that open the same folder
    /// at the same time get the same key.
    ///
    /// The file is `webhook-key.pem`, PKCS#8 as `openssl genpkey -algorithm ed25519` writes it.
    ///
    /// # Errors
    /// When the file cannot be read or written, or holds something else.
    pub fn open(folder: impl AsRef<Path>) -> Result<Self, KeyError> {
        let folder = folder.as_ref();
        if let Some(key) = Self::read(&folder.join(FILE))? {
            return Ok(key);
        }
        fs::create_dir_all(folder)?;
        let lock = OpenOptions::new().create(true).truncate(false).write(true).open(folder.join(LOCK))?;
        lock.lock()?;
        // Somebody else may have made it while we waited.
        if let Some(key) = Self::read(&folder.join(FILE))? {
            return Ok(key);
        }
        let key = Self::ephemeral()?;
        key.write(folder)?;
        tracing::info!(kid = key.id(), "made a signing key for webhooks");
        Ok(key)
    }

    /// A new key that is kept nowhere.
    ///
    /// # Errors
    /// When the system gives no random numbers.
    pub fn ephemeral() -> Result<Self, KeyError> {
        // From the system itself: the generator of the crypto library measures jitter for 40 ms before its first number.
        let mut seed = [0; 32];
        getrandom::fill(&mut seed).map_err(|_| KeyError::Unmade)?;
        let pair = Ed25519KeyPair::from_seed_unchecked(&seed).map_err(|_: KeyRejected| KeyError::Unmade)?;
        Ok(Self { pair: Arc::new(pair) })
    }

    /// The key's id: its thumbprint after RFC 7638.
    #[must_use]
    pub fn id(&self) -> String {
        let members = format!(r#"{{"crv":"Ed25519","kty":"OKP","x":"{}"}}"#, self.x());
        BASE64_URL_SAFE_NO_PAD.encode(digest(&SHA256, members.as_bytes()))
    }

    /// The key set that belongs at `/.well-known/jwks.json`: the public half, as JSON.
    #[must_use]
    pub fn jwks(&self) -> String {
        serde_json::json!({"keys": [self.jwk()]}).to_string()
    }

    /// The public half as a JWK.
    pub(crate) fn jwk(&self) -> Value {
        serde_json::json!({"kty": "OKP", "crv": "Ed25519", "x": self.x(), "kid": self.id(), "use": "sig", "alg": "EdDSA"})
    }

    /// Signs, and writes the signature as base64.
    pub(super) fn sign(&self, content: &[u8]) -> Result<String, Unspecified> {
        Ok(BASE64_STANDARD.encode(self.pair.try_sign(content)?))
    }

    fn x(&self) -> String {
        BASE64_URL_SAFE_NO_PAD.encode(self.pair.public_key())
    }

    fn read(path: &Path) -> Result<Option<Self>, KeyError> {
        let text = match fs::read_to_string(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            text => text?,
        };
        let base64 = text.trim().strip_prefix(BEGIN).and_then(|rest| rest.strip_suffix(END)).ok_or(KeyError::Invalid)?;
        let base64: String = base64.split_whitespace().collect();
        let der = BASE64_STANDARD.decode(base64).map_err(|_| KeyError::Invalid)?;
        let pair = Ed25519KeyPair::from_pkcs8(&der).map_err(|_: KeyRejected| KeyError::Invalid)?;
        warn_if_open(path)?;
        Ok(Some(Self { pair: Arc::new(pair) }))
    }

    /// Writes the key beside its place and moves it there: whoever looks sees the whole key or none.
    fn write(&self, folder: &Path) -> Result<(), KeyError> {
        let der = self.pair.to_pkcs8v1().map_err(|Unspecified| KeyError::Unmade)?;
        let new = folder.join(NEW);
        // What is left of a process that died while it held the lock.
        match fs::remove_file(&new) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error.into()),
            _ => {}
        }
        let mut file = secret_file(&new)?;
        writeln!(file, "{BEGIN}\n{}\n{END}", BASE64_STANDARD.encode(&der))?;
        file.sync_all()?;
        fs::rename(&new, folder.join(FILE))?;
        sync_folder(folder)?;
        Ok(())
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Key").field("id", &self.id()).finish_non_exhaustive()
    }
}

/// A new file that only its owner can read.
fn secret_file(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

/// A name is on the disk when its folder is.
#[cfg(unix)]
fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

#[cfg(not(unix))]
fn sync_folder(_: &Path) -> io::Result<()> {
    Ok(())
}

#[cfg(unix)]
fn warn_if_open(path: &Path) -> io::Result<()> {
    if std::os::unix::fs::MetadataExt::mode(&fs::metadata(path)?) & 0o077 != 0 {
        tracing::warn!(path = %path.display(), "others can read the signing key for webhooks");
    }
    Ok(())
}

#[cfg(not(unix))]
fn warn_if_open(_: &Path) -> io::Result<()> {
    Ok(())
}
