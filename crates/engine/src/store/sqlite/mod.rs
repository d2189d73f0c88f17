//! Keeps tasks in one SQLite file: the default, nothing to set up.
//!
//! ```text
//!  commit, put_…, due, settle ──> writer: one thread, one connection, group commit
//!  task, rows, list, …        ──> readers: a few connections, each sees whole commits only
//! ```
//!
//! The file is in WAL mode. By default a write is answered when it would survive a loss of power.

mod change;
mod lock;
mod queue;
mod reader;
mod schema;
mod tally;
mod value;
mod writer;

use std::{fs::TryLockError, path::Path, sync::Arc};

use async_trait::async_trait;
use chancery_core::{BoxError, Bytes, PushConfigId, Seq, TaskId, Timestamp};
use rusqlite::ErrorCode;

use self::{
    lock::Lock,
    reader::{Page, Readers, Total, View},
    tally::{Tallies, Tally},
    writer::Writer,
};
use super::{Commit, Due, Error, Filter, Grantee, KeyRecord, Lease, Listing, Owner, Result, Row, Settled, Store, Stored};

/// A store in a file.
///
/// ```
/// # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
/// use chancery_engine::store::Sqlite;
/// let folder = std::env::temp_dir().join(format!("chancery-doc-{}", std::process::id()));
/// std::fs::create_dir_all(&folder)?;
/// let store = Sqlite::open(folder.join("tasks.db")).await?;
/// store.close().await;
/// # std::fs::remove_dir_all(&folder)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Sqlite {
    // Dropped first, so that closing the writer's connection folds the log into the file.
    readers: Arc<Readers>,
    writer: Arc<Writer>,
    tallies: Arc<Tallies>,
    /// Dropped last: while there is anything to close, the file is ours.
    _lock: Lock,
}

/// What an answered write survives.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Durability {
    /// The loss of power.
    #[default]
    Power,
    /// The end of the process, however sudden. After a loss of power the last moments may be missing.
    Process,
}

/// How a file is opened.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Options {
    /// What an answered write survives.
    pub durability: Durability,
    /// How many reads happen at a time.
    pub readers: usize,
    /// The size that the file does not grow beyond; writes are refused before.
    pub max_bytes: Option<u64>,
}

impl Default for Options {
    fn default() -> Self {
        Self { durability: Durability::Power, readers: 4, max_bytes: None }
    }
}

impl Options {
    /// The defaults: safe from a loss of power, four readers, no limit of size.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets what an answered write survives.
    #[must_use]
    pub fn durability(mut self, durability: Durability) -> Self {
        self.durability = durability;
        self
    }

    /// Sets how many reads happen at a time.
    #[must_use]
    pub fn readers(mut self, readers: usize) -> Self {
        self.readers = readers;
        self
    }

    /// Sets the size that the file does not grow beyond.
    #[must_use]
    pub fn max_bytes(mut self, bytes: u64) -> Self {
        self.max_bytes = Some(bytes);
        self
    }
}

impl Sqlite {
    /// Opens a file, and makes it when it is missing.
    ///
    /// Several processes of one machine may have it open. The first of them ends all leases in it: whoever had them
    /// did not live to give them back.
    ///
    /// # Errors
    /// [`Error::Unavailable`] when the file cannot be opened; [`Error::Corrupt`] when it is damaged, of
    /// another program, or of a newer version of this one.
    pub async fn open(path: impl AsRef<Path>) -> Result<Self> {
        Self::open_with(path, Options::default()).await
    }

    /// Opens a file in another than the default way.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub async fn open_with(path: impl AsRef<Path>, options: Options) -> Result<Self> {
        let path = path.as_ref().to_owned();
        let open = tokio::task::spawn_blocking(move || {
            let tallies = Arc::<Tallies>::default();
            let connection = schema::writer(&path, &options)?;
            let (lock, alone) = Lock::take(&path)?;
            if alone {
                schema::release(&connection)?;
            }
            let lock = lock.share()?;
            let writer = Writer::start(connection, tallies.clone())?;
            let readers = Readers::start(&path, options.readers)?;
            Ok(Self { writer: Arc::new(writer), readers: Arc::new(readers), tallies, _lock: lock })
        });
        open.await.map_err(|error| Error::Unavailable(error.into()))?
    }

    /// Finishes what was asked for and closes the file. Later calls are refused.
    ///
    /// Dropping the store does the same, and blocks meanwhile.
    pub async fn close(&self) {
        let (writer, readers) = (self.writer.clone(), self.readers.clone());
        let close = tokio::task::spawn_blocking(move || {
            readers.close();
            // Last, so that closing its connection folds the log into the file.
            writer.close();
        });
        // Only fails when the runtime is going down, and then the drop closes.
        drop(close.await);
    }

    /// Everybody who has tasks in this file: for whoever looks after the whole of it.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub async fn owners(&self) -> Result<Vec<Owner>> {
        self.readers.read(|view| view.owners()).await
    }

    async fn total(&self, total: Total) -> Result<usize> {
        Ok(match total {
            Total::Counted(total) => total,
            Total::Tallied { owner, among } => match self.tallies.total(owner, &among) {
                Some(total) => total,
                None => self.count(owner).await?.total(&among),
            },
        })
    }

    /// Counts the tasks of an owner, and lets the tallies go on from there.
    async fn count(&self, owner: i64) -> Result<Tally> {
        let tallies = self.tallies.clone();
        let count = move |view: &View<'_>| {
            let between = tallies.between_commits();
            view.renew()?;
            let pending = tallies.begin(owner);
            drop(between);
            let found = view.tally(owner);
            if let Some(pending) = pending {
                tallies.counted(owner, pending, found.as_ref().ok());
            }
            found
        };
        self.readers.read(count).await
    }
}

/// Whether somebody else has the file for itself.
pub(super) fn is_in_use(error: &BoxError) -> bool {
    let locked = matches!(error.downcast_ref(), Some(TryLockError::WouldBlock));
    let busy = error.downcast_ref().and_then(rusqlite::Error::sqlite_error_code);
    locked || matches!(busy, Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked))
}

#[async_trait]
impl Store for Sqlite {
    async fn commit(&self, owner: &Owner, commit: &Commit) -> Result<()> {
        let (owner, commit) = (owner.clone(), commit.clone());
        self.writer.write(move |changes| changes.commit(&owner, &commit)).await
    }

    async fn task(&self, owner: &Owner, id: &TaskId) -> Result<Option<Stored>> {
        let (owner, id) = (owner.clone(), id.clone());
        self.readers.read(move |view| view.task(&owner, &id)).await
    }

    async fn rows(&self, owner: &Owner, id: &TaskId, after: Seq, limit: usize) -> Result<Vec<Row>> {
        let (owner, id) = (owner.clone(), id.clone());
        self.readers.read(move |view| view.rows(&owner, &id, after, limit)).await
    }

    async fn list(&self, owner: &Owner, filter: Filter) -> Result<Listing> {
        let owner = owner.clone();
        let Page { tasks, total } = self.readers.read(move |view| view.list(&owner, &filter)).await?;
        Ok(Listing::new(tasks, self.total(total).await?))
    }

    async fn key(&self, owner: &Owner, key: &str, now: Timestamp) -> Result<Option<KeyRecord>> {
        let (owner, key) = (owner.clone(), key.to_owned());
        self.readers.read(move |view| view.key(&owner, &key, now)).await
    }

    async fn put_key(&self, owner: &Owner, record: KeyRecord, now: Timestamp) -> Result<()> {
        let owner = owner.clone();
        self.writer.write(move |changes| changes.put_key(&owner, &record, now)).await
    }

    async fn put_config(&self, owner: &Owner, task: &TaskId, id: &PushConfigId, config: Bytes) -> Result<bool> {
        let (owner, task, id) = (owner.clone(), task.clone(), id.clone());
        self.writer.write(move |changes| changes.put_config(&owner, &task, &id, &config)).await
    }

    async fn configs(&self, owner: &Owner, task: &TaskId) -> Result<Option<Vec<(PushConfigId, Bytes)>>> {
        let (owner, task) = (owner.clone(), task.clone());
        self.readers.read(move |view| view.configs(&owner, &task)).await
    }

    async fn delete_config(&self, owner: &Owner, task: &TaskId, id: &PushConfigId) -> Result<bool> {
        let (owner, task, id) = (owner.clone(), task.clone(), id.clone());
        self.writer.write(move |changes| changes.delete_config(&owner, &task, &id)).await
    }

    async fn taken(&self, id: &TaskId) -> Result<bool> {
        let id = id.clone();
        self.readers.read(move |view| view.taken(&id)).await
    }

    async fn alias(&self, owner: &Owner, name: &TaskId) -> Result<Option<TaskId>> {
        let (owner, name) = (owner.clone(), name.clone());
        self.readers.read(move |view| view.alias(&owner, &name)).await
    }

    async fn put_alias(&self, owner: &Owner, name: &TaskId, task: &TaskId, now: Timestamp) -> Result<()> {
        let (owner, name, task) = (owner.clone(), name.clone(), task.clone());
        self.writer.write(move |changes| changes.put_alias(&owner, &name, &task, now)).await
    }

    async fn put_grant(&self, owner: &Owner, task: &TaskId, grantee: &Grantee, until: Timestamp) -> Result<bool> {
        let (owner, task, grantee) = (owner.clone(), task.clone(), grantee.clone());
        self.writer.write(move |changes| changes.put_grant(&owner, &task, &grantee, until)).await
    }

    async fn bearer_grant(&self, agent: &str, digest: &str, now: Timestamp) -> Result<Option<(Owner, TaskId)>> {
        let (agent, digest) = (agent.to_owned(), digest.to_owned());
        self.readers.read(move |view| view.bearer_grant(&agent, &digest, now)).await
    }

    async fn subject_grant(&self, caller: &Owner, task: &TaskId, now: Timestamp) -> Result<Option<Owner>> {
        let (caller, task) = (caller.clone(), task.clone());
        self.readers.read(move |view| view.subject_grant(&caller, &task, now)).await
    }

    async fn renew(&self, holder: &str, until: Timestamp) -> Result<()> {
        let holder = holder.to_owned();
        self.writer.write(move |changes| changes.renew(&holder, until)).await
    }

    async fn lease(&self, owner: &Owner, id: &TaskId) -> Result<Option<Lease>> {
        let (owner, id) = (owner.clone(), id.clone());
        self.readers.read(move |view| view.lease(&owner, &id)).await
    }

    async fn expired(&self, agent: &str, now: Timestamp, limit: usize) -> Result<Vec<(Owner, TaskId)>> {
        let agent = agent.to_owned();
        self.readers.read(move |view| view.expired(&agent, now, limit)).await
    }

    async fn due(&self, agent: &str, now: Timestamp, lease: Timestamp, limit: usize) -> Result<Vec<Due>> {
        let agent = agent.to_owned();
        self.writer.write(move |changes| changes.due(&agent, now, lease, limit)).await
    }

    async fn next_due(&self, agent: &str) -> Result<Option<Timestamp>> {
        let agent = agent.to_owned();
        self.readers.read(move |view| view.next_due(&agent)).await
    }

    async fn settle(&self, id: u64, settled: Settled) -> Result<()> {
        self.writer.write(move |changes| changes.settle(id, settled)).await
    }

    async fn dead(&self, owner: &Owner, limit: usize) -> Result<Vec<Due>> {
        let owner = owner.clone();
        self.readers.read(move |view| view.dead(&owner, limit)).await
    }

    async fn revive(&self, owner: &Owner, task: &TaskId, now: Timestamp) -> Result<usize> {
        let (owner, task) = (owner.clone(), task.clone());
        self.writer.write(move |changes| changes.revive(&owner, &task, now)).await
    }

    async fn purge(&self, agent: &str, before: Timestamp, now: Timestamp, limit: usize) -> Result<usize> {
        let agent = agent.to_owned();
        self.writer.write(move |changes| changes.purge(&agent, before, now, limit)).await
    }
}
