//! Connections and schema migrations: a database file is opened with its settings, and its schema brought up to date.

use std::{path::Path, time::Duration};

use rusqlite::{Connection, OpenFlags, config::DbConfig};

use super::{
    Durability, Options,
    value::{nanos, unreadable},
};
use crate::{
    clock::{self, Clock, SystemClock},
    store::{Error, Result},
};

/// What each version of the schema adds to the one before. Only ever grows at its end.
const MIGRATIONS: &[&str] = &[include_str!("migrations/1.sql")];

/// "CHNC" in the header of the file, so that `file` and we can tell whose it is.
const APPLICATION: i64 = 0x4348_4e43;

const BUSY: Duration = Duration::from_secs(10);
const WRITER_CACHE_KIB: i64 = 8 * 1024;
const READER_CACHE_KIB: i64 = 8 * 1024;
const STATEMENTS: usize = 64;
/// What is left of the write-ahead log after a long reader made it grow.
const WAL_BYTES: i64 = 64 * 1024 * 1024;

/// The connection that writes, with the schema up to date.
pub(super) fn writer(path: &Path, options: &Options) -> Result<Connection> {
    create(path)?;
    let mut connection = connect(path)?;
    // Before anything is written into a file that may not be ours.
    let version = version(&connection)?;
    connection.pragma_update(None, "journal_mode", "wal")?;
    connection.pragma_update(None, "synchronous", if options.durability == Durability::Power { "full" } else { "normal" })?;
    connection.pragma_update(None, "cache_size", -WRITER_CACHE_KIB)?;
    connection.pragma_update(None, "journal_size_limit", WAL_BYTES)?;
    if let Some(bytes) = options.max_bytes {
        let page: u32 = connection.query_row("PRAGMA page_size", [], |row| row.get(0))?;
        let pages = bytes / u64::from(page);
        connection.query_row(&format!("PRAGMA max_page_count = {pages}"), [], |_| Ok(()))?;
    }
    migrate(&mut connection, version)?;
    Ok(connection)
}

/// Ends all leases. Only for who knows that nobody has one.
pub(super) fn release(connection: &Connection) -> Result<()> {
    // Just before now, because engines count in milliseconds; and no lease gets longer.
    let past = nanos(clock::before(SystemClock.now(), Duration::from_millis(1)));
    connection.execute("UPDATE lease SET until = ?1 WHERE until > ?1", [past])?;
    connection.execute("UPDATE outbox SET at = min(at, taken), taken = NULL WHERE taken IS NOT NULL", [])?;
    Ok(())
}

/// A connection that only reads.
pub(super) fn reader(path: &Path) -> Result<Connection> {
    let connection = connect(path)?;
    connection.pragma_update(None, "query_only", true)?;
    connection.pragma_update(None, "cache_size", -READER_CACHE_KIB)?;
    Ok(connection)
}

fn connect(path: &Path) -> Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(BUSY)?;
    connection.set_prepared_statement_cache_capacity(STATEMENTS);
    // Without this, binding an argument that is compared with the condition of a partial index makes
    // SQLite prepare the statement anew: a third of the time of a read.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    connection.pragma_update(None, "foreign_keys", true)?;
    connection.pragma_update(None, "mmap_size", 0)?;
    Ok(connection)
}

/// Makes the file when it is missing, readable by its owner only: it holds conversations. The
/// files that SQLite puts beside it get the same rights.
fn create(path: &Path) -> Result<()> {
    if path.as_os_str().is_empty() || path.as_os_str() == ":memory:" {
        return Err(Error::Unavailable("a database without a file is store::Memory".into()));
    }
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create(true).truncate(false);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path).map(drop).map_err(|error| Error::Unavailable(error.into()))
}

/// The version of the schema in the file; 0 when it is empty.
fn version(connection: &Connection) -> Result<usize> {
    let number = |pragma: &str| connection.query_row(pragma, [], |row| row.get::<_, i64>(0));
    let tables = number("SELECT count(*) FROM sqlite_schema")?;
    if tables > 0 && number("PRAGMA application_id")? != APPLICATION {
        return Err(unreadable("the file is a database of another program"));
    }
    let version = usize::try_from(number("PRAGMA user_version")?).map_err(unreadable)?;
    if version > MIGRATIONS.len() {
        let known = MIGRATIONS.len();
        return Err(unreadable(format!("the schema has version {version}, this program knows versions up to {known}")));
    }
    Ok(version)
}

fn migrate(connection: &mut Connection, from: usize) -> Result<()> {
    if from == MIGRATIONS.len() {
        return Ok(());
    }
    let tx = connection.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
    // Another process may have been faster.
    for migration in &MIGRATIONS[version(&tx)?..] {
        tx.execute_batch(migration)?;
    }
    tx.pragma_update(None, "application_id", APPLICATION)?;
    tx.pragma_update(None, "user_version", i64::try_from(MIGRATIONS.len()).map_err(unreadable)?)?;
    tx.commit()?;
    Ok(())
}
