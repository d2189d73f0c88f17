//! The tasks that somebody works on or watches here, by their ids.

use std::{
    hash::BuildHasher as _,
    sync::{Arc, MutexGuard, Weak, atomic::Ordering},
};

use chancery_core::{TaskId, sync::Mutex};
use foldhash::fast::RandomState;
use hashbrown::{HashTable, hash_table::Entry};

use crate::live::Live;

/// In how many parts the tasks are kept: threads that work on different tasks seldom want the same one.
const PARTS: usize = 16;

/// Nothing is dropped or set going under a lock: the last holder of a task needs it to let go of the task.
#[derive(Default)]
pub(crate) struct Lives {
    hasher: RandomState,
    parts: [Part; PARTS],
}

/// A part with a line of the processor's cache for itself.
#[derive(Default)]
#[repr(align(128))]
struct Part(Mutex<HashTable<Known>>);

struct Known {
    /// The hash of the id, which is made once for each look.
    hash: u64,
    id: TaskId,
    live: Weak<Live>,
}

impl Lives {
    pub(crate) fn get(&self, id: &TaskId) -> Option<Arc<Live>> {
        let (hash, part) = self.part(id);
        part.find(hash, |known| known.id == *id).and_then(|known| known.live.upgrade())
    }

    pub(crate) fn all(&self) -> Vec<Arc<Live>> {
        self.parts.iter().flat_map(|part| part.lock().iter().filter_map(|known| known.live.upgrade()).collect::<Vec<_>>()).collect()
    }

    /// Makes a task one of these, and says which one it is: there may have been one of that id already.
    pub(crate) fn keep(&self, live: Arc<Live>) -> Arc<Live> {
        let (hash, mut part) = self.part(&live.id);
        let kept = Arc::downgrade(&live);
        match part.entry(hash, |known| known.id == live.id, |known| known.hash) {
            Entry::Occupied(mut known) => {
                if let Some(existing) = known.get().live.upgrade() {
                    drop(part);
                    return existing;
                }
                known.get_mut().live = kept;
            }
            Entry::Vacant(place) => drop(place.insert(Known { hash, id: live.id.clone(), live: kept })),
        }
        live.kept.store(true, Ordering::Relaxed);
        live
    }

    /// Takes a task out that nobody holds any more.
    pub(crate) fn forget(&self, id: &TaskId) {
        let (hash, mut part) = self.part(id);
        if let Ok(known) = part.find_entry(hash, |known| known.id == *id && known.live.strong_count() == 0) {
            known.remove();
        }
    }

    /// Takes a task out, so that the next look comes from the store.
    pub(crate) fn remove(&self, live: &Arc<Live>) {
        let (hash, mut part) = self.part(&live.id);
        if let Ok(known) = part.find_entry(hash, |known| std::ptr::eq(known.live.as_ptr(), Arc::as_ptr(live))) {
            known.remove();
            live.kept.store(false, Ordering::Relaxed);
        }
    }

    fn part(&self, id: &TaskId) -> (u64, MutexGuard<'_, HashTable<Known>>) {
        let hash = self.hasher.hash_one(id.as_str());
        // By other bits than those by which a table finds its places.
        (hash, self.parts[usize::try_from((hash >> 32) % PARTS as u64).unwrap_or_default()].lock())
    }
}

impl Part {
    fn lock(&self) -> MutexGuard<'_, HashTable<Known>> {
        // The map holds no invariant that a panic could break.
        self.0.lock()
    }
}
