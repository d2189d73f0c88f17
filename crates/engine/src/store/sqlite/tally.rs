//! Counters: how many tasks each owner has in each state, so that the total of a list needs no counting.
//!
//! An owner is counted when its first list is asked for; from then on its numbers follow the commits.
//! Counting does not hold up the writer: it happens in a snapshot of the file that was taken between
//! two commits, and what is committed meanwhile is added to it.

use std::{collections::HashMap, sync::MutexGuard};

use crate::store::Standing;
use chancery_core::sync::Mutex;

/// Owners that are kept at a time. Beyond it all are forgotten, and counted again when needed.
const OWNERS: usize = 16 * 1024;

/// The tasks of one owner by state; while they are being counted, the changes since.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Tally([i64; Standing::COUNT]);

/// A task was made (no `from`), changed its state, or went (no `to`).
#[derive(Debug)]
pub(super) struct Moved {
    pub(super) owner: i64,
    pub(super) from: Option<Standing>,
    pub(super) to: Option<Standing>,
}

/// The tallies of the owners that were asked for.
#[derive(Debug, Default)]
pub(super) struct Tallies {
    inner: Mutex<Inner>,
    /// Held over a commit and its tallying, and while a snapshot is taken.
    between: Mutex<()>,
}

#[derive(Debug, Default)]
struct Inner {
    owners: HashMap<i64, Entry>,
    counts: u64,
}

#[derive(Debug)]
struct Entry {
    tally: Tally,
    /// The count that is under way.
    pending: Option<Pending>,
}

/// A count that is under way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Pending(u64);

impl Tally {
    pub(super) fn set(&mut self, standing: Standing, count: i64) {
        self.0[standing.index()] = count;
    }

    /// The tasks that stand in one of these ways; all of them when there is none.
    pub(super) fn total(&self, among: &[Standing]) -> usize {
        let total = match among {
            [] => self.0.iter().sum::<i64>(),
            among => among.iter().map(|standing| self.0[standing.index()]).sum(),
        };
        usize::try_from(total).unwrap_or(0)
    }

    fn apply(&mut self, moved: &Moved) {
        if let Some(from) = moved.from {
            self.0[from.index()] -= 1;
        }
        if let Some(to) = moved.to {
            self.0[to.index()] += 1;
        }
    }
}

impl Tallies {
    /// No commit happens while this is held.
    pub(super) fn between_commits(&self) -> MutexGuard<'_, ()> {
        self.between.lock()
    }

    /// The tasks of an owner that stand in one of these ways, or all; `None` when they were not counted yet.
    pub(super) fn total(&self, owner: i64, among: &[Standing]) -> Option<usize> {
        let inner = self.lock();
        inner.owners.get(&owner).filter(|entry| entry.pending.is_none()).map(|entry| entry.tally.total(among))
    }

    /// From now on the changes of an owner are noted, until it is [`counted`](Self::counted). `None`
    /// when somebody else is about to count it.
    pub(super) fn begin(&self, owner: i64) -> Option<Pending> {
        let mut inner = self.lock();
        if inner.owners.contains_key(&owner) {
            return None;
        }
        if inner.owners.len() >= OWNERS {
            inner.owners.clear();
        }
        inner.counts += 1;
        let pending = Pending(inner.counts);
        inner.owners.insert(owner, Entry { tally: Tally::default(), pending: Some(pending) });
        Some(pending)
    }

    /// Ends a count: with what was found in the snapshot, or with nothing.
    pub(super) fn counted(&self, owner: i64, pending: Pending, found: Option<&Tally>) {
        let mut inner = self.lock();
        let Some(entry) = inner.owners.get_mut(&owner).filter(|entry| entry.pending == Some(pending)) else { return };
        match found {
            Some(found) => {
                entry.pending = None;
                for (count, found) in entry.tally.0.iter_mut().zip(found.0) {
                    *count += found;
                }
            }
            None => drop(inner.owners.remove(&owner)),
        }
    }

    pub(super) fn apply(&self, moves: &[Moved]) {
        let mut inner = self.lock();
        for moved in moves {
            if let Some(entry) = inner.owners.get_mut(&moved.owner) {
                entry.tally.apply(moved);
            }
        }
    }

    pub(super) fn forget(&self) {
        self.lock().owners.clear();
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        // Nothing in here panics half way through a change.
        self.inner.lock()
    }
}
