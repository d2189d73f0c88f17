//! Tokens that are kept: in memory, and if wanted in a file that nobody else can read.
//!
//! ```text
//!  fresh in memory ------------------------------------> use it, nothing is read
//!  otherwise: one at a time, in this process and others
//!     fresh in the file (another process was faster) ---> use it
//!     otherwise ----------------------------------------> renew, write beside, move into place
//! ```

use std::{
    collections::BTreeSet,
    fs::{self, File, OpenOptions},
    io::{self, Write as _},
    path::{Path, PathBuf},
    sync::{Arc, MutexGuard},
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use chancery_core::{Error, ErrorKind, Result, Secret, sync::Mutex};
use serde::{Deserialize, Serialize};

use super::Flow;
use crate::clock;

/// How long before its end a token is taken for one that has run out: calls take time, and clocks differ.
const MARGIN: Duration = Duration::from_secs(60);
/// The form of the file.
const FORM: u32 = 1;
/// Bytes of the file.
const MOST: u64 = 4 * 1_024 * 1_024;

/// For whom a token is: the agent by the origin of its card, the scheme of the card, and the client.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Key {
    pub(super) agent: String,
    pub(super) scheme: String,
    /// `None` for whichever client has got a token last.
    pub(super) client: Option<String>,
}

impl Key {
    fn is_of(&self, token: &StoredToken) -> bool {
        let same = self.agent == token.agent && self.scheme == token.scheme;
        same && self.client.as_ref().is_none_or(|client| *client == token.client)
    }

    /// The token that is meant: of several, the last one.
    fn among<'a>(&self, tokens: &'a [StoredToken]) -> Option<&'a StoredToken> {
        tokens.iter().rev().find(|token| self.is_of(token))
    }
}

/// A token that is kept, and what is known of it. The token itself is not shown.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct StoredToken {
    /// The origin of the agent's card.
    pub agent: String,
    /// The scheme of the card.
    pub scheme: String,
    /// The client that it was given to.
    pub client: String,
    /// How it was got.
    pub flow: Flow,
    /// Where it was got.
    pub token_url: String,
    /// The origins that it may go to: those of the card's interfaces when it was got.
    pub origins: BTreeSet<String>,
    /// The scopes that were asked for.
    pub asked: BTreeSet<String>,
    /// The scopes that it has, as far as the issuer has told.
    pub scopes: BTreeSet<String>,
    /// When it runs out, if the issuer has told.
    #[serde(default, with = "seconds", skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<SystemTime>,
    pub(super) refresh_url: String,
    /// Whether the client has a secret, which it shows to get and to renew tokens.
    #[serde(default)]
    pub(super) confidential: bool,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) secret_in_form: bool,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) parameters: Vec<(String, String)>,
    pub(super) access: Secret,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) refresh: Option<Secret>,
}

impl StoredToken {
    pub(super) fn key(&self) -> Key {
        Key { agent: self.agent.clone(), scheme: self.scheme.clone(), client: Some(self.client.clone()) }
    }

    /// Whether it has some time left.
    pub(super) fn is_fresh(&self) -> bool {
        is_time_left(self.expires_at)
    }

    /// Whether it is for the agent whose card came from there; of a card from nowhere nothing is known, and any is.
    #[must_use]
    pub fn is_of(&self, card_url: Option<&str>) -> bool {
        card_url.is_none_or(|url| super::issuer::origin(url).as_deref() == Some(self.agent.as_str()))
    }

    /// Whether it can be renewed without a person and without the client's secret.
    #[must_use]
    pub fn is_renewable(&self) -> bool {
        self.refresh.is_some()
    }
}

/// Whether a token that ends then has some time left.
pub(super) fn is_time_left(end: Option<SystemTime>) -> bool {
    end.is_none_or(|end| end > clock::now() + MARGIN)
}

/// When a token that lasts this long from now runs out.
pub(super) fn end(seconds: Option<u64>) -> Option<SystemTime> {
    // A century is as good as for ever, and can be added to a clock.
    seconds.map(|seconds| clock::now() + Duration::from_secs(seconds.min(100 * 365 * 24 * 3_600)))
}

/// Where tokens are kept. Clones share them.
///
/// ```no_run
/// use chancery_client::oauth::Tokens;
///
/// for token in Tokens::in_file("/home/ada/.config/a2a-cli/credentials.json").list()? {
///     println!("{} {} until {:?}", token.agent, token.scheme, token.expires_at);
/// }
/// # Ok::<(), chancery_core::Error>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct Tokens(Arc<Shelf>);

#[derive(Debug, Default)]
struct Shelf {
    /// In the order in which they were got.
    known: Mutex<Vec<StoredToken>>,
    file: Option<PathBuf>,
}

#[derive(Serialize, Deserialize)]
struct Written {
    form: u32,
    tokens: Vec<StoredToken>,
}

/// Keeps other processes away from the file until it is dropped.
pub(super) struct Hold {
    _lock: Option<File>,
}

impl Tokens {
    /// Tokens that are gone with the process.
    #[must_use]
    pub fn in_memory() -> Self {
        Self::default()
    }

    /// Tokens in a file that only its owner can read (mode 0600); its folder is made if it is not there (mode 0700). A file
    /// that others can read, or a folder that others can write to, is refused.
    pub fn in_file(path: impl Into<PathBuf>) -> Self {
        Self(Arc::new(Shelf { known: Mutex::default(), file: Some(path.into()) }))
    }

    /// All tokens that are kept.
    ///
    /// # Errors
    /// When the file cannot be read, or others can read it too.
    pub fn list(&self) -> Result<Vec<StoredToken>> {
        match &self.0.file {
            Some(file) => read(file),
            None => Ok(self.known().clone()),
        }
    }

    /// Forgets tokens, and says how many.
    ///
    /// # Errors
    /// When the file cannot be read or written.
    pub fn forget(&self, which: impl Fn(&StoredToken) -> bool) -> Result<usize> {
        let _hold = self.hold_now()?;
        let (kept, gone): (Vec<_>, Vec<_>) = self.list()?.into_iter().partition(|token| !which(token));
        self.known().retain(|token| !which(token));
        if let Some(file) = self.0.file.as_ref().filter(|_| !gone.is_empty()) {
            write(file, kept)?;
        }
        Ok(gone.len())
    }

    /// The token for somebody that is at hand, without looking into the file.
    pub(super) fn at_hand(&self, key: &Key) -> Option<StoredToken> {
        key.among(&self.known()).cloned()
    }

    /// Waits until no other process is busy with the file.
    pub(super) async fn hold(&self) -> Result<Hold> {
        let tokens = self.clone();
        aside(move || tokens.hold_now()).await
    }

    /// The token for somebody, as the file has it now.
    pub(super) async fn find(&self, key: &Key) -> Result<Option<StoredToken>> {
        let Some(file) = self.0.file.clone() else { return Ok(self.at_hand(key)) };
        let tokens = aside(move || read(&file)).await?;
        let found = key.among(&tokens).cloned();
        *self.known() = tokens;
        Ok(found)
    }

    /// Keeps a token in the place of the one before. The file must be held.
    pub(super) async fn put(&self, token: StoredToken) -> Result<()> {
        self.change(move |tokens| {
            tokens.retain(|known| known.key() != token.key());
            tokens.push(token.clone());
        })
        .await
    }

    async fn change(&self, change: impl Fn(&mut Vec<StoredToken>) + Send + 'static) -> Result<()> {
        change(&mut self.known());
        let Some(file) = self.0.file.clone() else { return Ok(()) };
        aside(move || {
            let mut tokens = read(&file)?;
            change(&mut tokens);
            write(&file, tokens)
        })
        .await
    }

    fn hold_now(&self) -> Result<Hold> {
        let Some(file) = &self.0.file else { return Ok(Hold { _lock: None }) };
        let taken = prepare(file).and_then(|()| {
            let lock = private(OpenOptions::new().create(true).truncate(false).write(true)).open(beside(file, "lock"))?;
            lock.lock()?;
            Ok(lock)
        });
        let lock = taken.map_err(|error| useless(file, error))?;
        Ok(Hold { _lock: Some(lock) })
    }

    fn known(&self) -> MutexGuard<'_, Vec<StoredToken>> {
        // A list holds no invariant that a panic could break.
        self.0.known.lock()
    }
}

/// Files are slow, and locks may be slower.
async fn aside<T: Send + 'static>(work: impl FnOnce() -> Result<T> + Send + 'static) -> Result<T> {
    tokio::task::spawn_blocking(work).await.map_err(Error::internal)?
}

fn read(file: &Path) -> Result<Vec<StoredToken>> {
    let text = match checked(file) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(useless(file, error)),
    };
    // What is wrong with it is not said: the error could show a part of a token.
    let written: Option<Written> = serde_json::from_slice(&text).ok();
    let written = written.filter(|written| written.form == FORM);
    Ok(written.ok_or_else(|| useless(file, io::Error::other("it holds no tokens that can be read here")))?.tokens)
}

/// The text of the file, if it is nobody else's business.
fn checked(file: &Path) -> io::Result<Vec<u8>> {
    use std::io::Read as _;
    let opened = File::open(file)?;
    is_private(&opened.metadata()?)?;
    if let Some(folder) = file.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        is_own(&fs::metadata(folder)?)?;
    }
    let mut text = Vec::new();
    opened.take(MOST).read_to_end(&mut text)?;
    Ok(text)
}

/// Writes the tokens beside their place and moves them there: whoever looks sees all of them.
fn write(file: &Path, tokens: Vec<StoredToken>) -> Result<()> {
    let written = || -> io::Result<()> {
        let new = beside(file, "new");
        // What is left of a process that died while it held the lock.
        match fs::remove_file(&new) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let text = serde_json::to_vec_pretty(&Written { form: FORM, tokens })?;
        let mut target = private(OpenOptions::new().create_new(true).write(true)).open(&new)?;
        target.write_all(&text)?;
        target.sync_all()?;
        fs::rename(&new, file)
    };
    written().map_err(|error| useless(file, error))
}

/// Makes the folder.
fn prepare(file: &Path) -> io::Result<()> {
    let Some(folder) = file.parent().filter(|folder| !folder.as_os_str().is_empty() && !folder.exists()) else { return Ok(()) };
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

/// A file that only its owner can read.
fn private(options: &mut OpenOptions) -> &mut OpenOptions {
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(options, 0o600);
    options
}

fn beside(file: &Path, ending: &str) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push(".");
    name.push(ending);
    name.into()
}

#[cfg(unix)]
fn is_private(data: &fs::Metadata) -> io::Result<()> {
    match std::os::unix::fs::MetadataExt::mode(data) & 0o077 {
        0 => Ok(()),
        _ => Err(io::Error::new(io::ErrorKind::PermissionDenied, "others can read it; its mode must be 0600")),
    }
}

#[cfg(unix)]
fn is_own(folder: &fs::Metadata) -> io::Result<()> {
    let mode = std::os::unix::fs::MetadataExt::mode(folder);
    // In a folder such as /tmp nobody can replace the file of somebody else.
    match mode & 0o022 == 0 || mode & 0o1000 != 0 {
        true => Ok(()),
        false => Err(io::Error::new(io::ErrorKind::PermissionDenied, "others can write to its folder; its mode must be 0700")),
    }
}

#[cfg(not(unix))]
fn is_private(_: &fs::Metadata) -> io::Result<()> {
    Ok(())
}

#[cfg(not(unix))]
fn is_own(_: &fs::Metadata) -> io::Result<()> {
    Ok(())
}

fn useless(file: &Path, error: io::Error) -> Error {
    Error::new(ErrorKind::InvalidParams, format!("the file of tokens {} cannot be used: {error}", file.display())).caused_by(error)
}

/// A time as seconds since 1970.
mod seconds {
    use serde::{Deserialize as _, Deserializer, Serializer};

    use super::{Duration, SystemTime, UNIX_EPOCH};

    pub(super) fn serialize<S: Serializer>(time: &Option<SystemTime>, to: S) -> Result<S::Ok, S::Error> {
        let since = time.and_then(|time| time.duration_since(UNIX_EPOCH).ok()).unwrap_or_default();
        to.serialize_u64(since.as_secs())
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Option<SystemTime>, D::Error> {
        let seconds = u64::deserialize(from)?;
        Ok(UNIX_EPOCH.checked_add(Duration::from_secs(seconds)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Self {
            let path = std::env::temp_dir().join(format!("chancery-tokens-{}-{name}", std::process::id()));
            drop(fs::remove_dir_all(&path));
            Self(path)
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            drop(fs::remove_dir_all(&self.0));
        }
    }

    fn token(scheme: &str) -> StoredToken {
        StoredToken {
            agent: "https://agent.example".to_owned(),
            scheme: scheme.to_owned(),
            client: "ci".to_owned(),
            flow: Flow::ClientCredentials,
            token_url: "https://id.example/token".to_owned(),
            origins: BTreeSet::from(["https://agent.example".to_owned()]),
            asked: BTreeSet::new(),
            scopes: BTreeSet::new(),
            expires_at: end(Some(3_600)),
            refresh_url: String::new(),
            confidential: true,
            secret_in_form: false,
            parameters: Vec::new(),
            access: "S3CRET".into(),
            refresh: Some("S3CRET-2".into()),
        }
    }

    /// V10-SEC-007: tokens are kept where only their owner can read them.
    #[cfg(unix)]
    #[tokio::test]
    async fn a_file_of_tokens_is_its_owners_alone() {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = Folder::new("mode");
        let file = folder.0.join("deep/credentials.json");
        let tokens = Tokens::in_file(&file);
        assert_eq!(tokens.list().unwrap(), []);
        let hold = tokens.hold().await.unwrap();
        tokens.put(token("a")).await.unwrap();
        tokens.put(token("b")).await.unwrap();
        drop(hold);
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&file), mode(file.parent().unwrap())), (0o600, 0o700));
        let kept = Tokens::in_file(&file).list().unwrap();
        assert_eq!(kept.iter().map(|token| token.scheme.as_str()).collect::<Vec<_>>(), ["a", "b"]);
        assert_eq!(kept[0].access.expose(), "S3CRET");
        assert!(!format!("{kept:?}").contains("S3CRET"));
        let names: Vec<_> = fs::read_dir(file.parent().unwrap()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert!(!names.iter().any(|name| name.to_string_lossy().ends_with(".new")), "{names:?}");

        fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).unwrap();
        let error = Tokens::in_file(&file).list().unwrap_err().to_string();
        assert!(error.contains("0600") && !error.contains("S3CRET"), "{error}");
        fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
        fs::set_permissions(file.parent().unwrap(), fs::Permissions::from_mode(0o777)).unwrap();
        assert!(Tokens::in_file(&file).list().unwrap_err().to_string().contains("0700"));
    }

    #[tokio::test]
    async fn tokens_are_forgotten() {
        let folder = Folder::new("forget");
        let tokens = Tokens::in_file(folder.0.join("t.json"));
        let hold = tokens.hold().await.unwrap();
        tokens.put(token("a")).await.unwrap();
        tokens.put(token("b")).await.unwrap();
        drop(hold);
        assert_eq!(tokens.forget(|token| token.scheme == "a").unwrap(), 1);
        assert_eq!(tokens.forget(|token| token.scheme == "a").unwrap(), 0);
        assert!(tokens.at_hand(&token("a").key()).is_none() && tokens.at_hand(&token("b").key()).is_some());
        assert_eq!(tokens.list().unwrap().len(), 1);
    }

    #[test]
    fn a_broken_file_is_an_error_that_shows_nothing_of_it() {
        let folder = Folder::new("broken");
        fs::create_dir_all(&folder.0).unwrap();
        let file = folder.0.join("t.json");
        private(OpenOptions::new().create_new(true).write(true)).open(&file).unwrap().write_all(b"{\"form\":1,\"S3CRET").unwrap();
        let error = Tokens::in_file(&file).list().unwrap_err();
        assert!(!format!("{error} {error:?}").contains("S3CRET"), "{error:?}");
    }

    #[test]
    fn a_token_runs_out_a_minute_early() {
        let ends = |seconds| StoredToken { expires_at: end(Some(seconds)), ..token("a") };
        assert!(ends(120).is_fresh() && !ends(59).is_fresh() && !ends(0).is_fresh());
        assert!(StoredToken { expires_at: None, ..token("a") }.is_fresh());
        assert!(ends(u64::MAX).is_fresh());
    }
}
