//! File lock: who has the database open, and whether it is the only one.
//!
//! Every process that has the database open holds a shared lock on a file beside it, and the operating system takes
//! the lock away when the process ends, however it ends. So whoever gets the lock for itself alone knows that nobody
//! else has the database open: whatever is leased in it was leased by the dead. The database is in WAL mode, which
//! works for processes of one machine only, so no other machine can be overlooked.

use std::{
    fs::{File, OpenOptions, TryLockError},
    path::Path,
    thread,
    time::{Duration, Instant},
};

use crate::store::{Error, Result};

/// How long another process may take to open the file.
const PATIENCE: Duration = Duration::from_secs(10);
const PAUSE: Duration = Duration::from_millis(5);

/// A lock that is held as long as this lives.
#[derive(Debug)]
pub(super) struct Lock(Option<File>);

impl Lock {
    /// Locks the file, for this process alone if nobody else has it.
    pub(super) fn take(database: &Path) -> Result<(Self, bool)> {
        let mut path = database.as_os_str().to_owned();
        path.push("-lock");
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(false);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        // The lock only saves time, so the lack of it stops nobody.
        let file = match options.open(&path) {
            Ok(file) => file,
            Err(error) => return Ok((without(&error), false)),
        };
        match file.try_lock() {
            Ok(()) => Ok((Self(Some(file)), true)),
            Err(TryLockError::WouldBlock) => Ok((shared(file)?, false)),
            Err(TryLockError::Error(error)) => Ok((without(&error), false)),
        }
    }

    /// Lets others open the file too.
    pub(super) fn share(self) -> Result<Self> {
        let Some(file) = self.0 else { return Ok(self) };
        // Somebody else may be alone with the file between the two. That is right: we have leased nothing yet.
        file.unlock().map_err(|error| Error::Unavailable(error.into()))?;
        shared(file)
    }
}

fn without(error: &std::io::Error) -> Lock {
    tracing::warn!(%error, "the database cannot be locked; what a crash left behind is taken up when its leases run out");
    Lock(None)
}

fn shared(file: File) -> Result<Lock> {
    let begun = Instant::now();
    loop {
        match file.try_lock_shared() {
            Ok(()) => return Ok(Lock(Some(file))),
            Err(TryLockError::WouldBlock) if begun.elapsed() < PATIENCE => thread::sleep(PAUSE),
            Err(error) => return Err(Error::Unavailable(error.into())),
        }
    }
}
