//! How many tasks each scope has in each state, so that the total of a list needs no counting.
//!
//! A scope is counted when its first list is asked for; from then on its numbers follow the commits.

use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

use chancery_core::TaskState;

/// Scopes that are kept at a time. Beyond it all are forgotten, and counted again when needed.
const SCOPES: usize = 16 * 1024;

/// The tasks of one scope by state.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Tally([usize; TaskState::ALL.len()]);

/// What a transaction does to the tallies once it is committed, in order.
#[derive(Debug)]
pub(super) enum Change {
    /// A task was made (no `from`), changed its state, or went (no `to`).
    Moved { scope: i64, from: Option<TaskState>, to: Option<TaskState> },
    /// A scope was counted within the transaction.
    Counted { scope: i64, tally: Tally },
}

/// The tallies of the scopes that were asked for.
#[derive(Debug, Default)]
pub(super) struct Tallies(Mutex<HashMap<i64, Tally>>);

impl Tally {
    pub(super) fn set(&mut self, state: TaskState, count: usize) {
        self.0[state as usize] = count;
    }

    /// The tasks in a state, or all.
    pub(super) fn total(&self, state: Option<TaskState>) -> usize {
        state.map_or_else(|| self.0.iter().sum(), |state| self.0[state as usize])
    }
}

impl Tallies {
    /// The tasks of a scope in a state, or all; `None` when they were not counted yet.
    pub(super) fn total(&self, scope: i64, state: Option<TaskState>) -> Option<usize> {
        self.lock().get(&scope).map(|tally| tally.total(state))
    }

    pub(super) fn forget(&self) {
        self.lock().clear();
    }

    pub(super) fn apply(&self, changes: impl Iterator<Item = Change>) {
        let mut tallies = self.lock();
        for change in changes {
            match change {
                Change::Counted { scope, tally } => {
                    if tallies.len() >= SCOPES {
                        tallies.clear();
                    }
                    tallies.insert(scope, tally);
                }
                Change::Moved { scope, from, to } => {
                    let Some(Tally(counts)) = tallies.get_mut(&scope) else { continue };
                    if let Some(from) = from {
                        counts[from as usize] = counts[from as usize].saturating_sub(1);
                    }
                    if let Some(to) = to {
                        counts[to as usize] += 1;
                    }
                }
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<i64, Tally>> {
        // Nothing in here panics half way through a change.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
