//! Live tasks of this process: a map by id, in shards with a lock each, of the tasks that somebody works on or watches here.

use std::{
    hash::BuildHasher as _,
    sync::{Arc, MutexGuard, Weak, atomic::Ordering},
};

use chancery_core::{TaskId, sync::Mutex};
use foldhash::fast::RandomState;
use hashbrown::{HashTable, hash_table::Entry};

use crate::live::Live;

/// How many shards there are: threads that work on different tasks seldom want the same one.
const SHARDS: usize = 16;

/// Nothing is dropped or set going under a lock: the last holder of a task needs it to let go of the task.
#[derive(Default)]
pub(crate) struct LiveTasks {
    hasher: RandomState,
    shards: [Shard; SHARDS],
}

/// A shard with a line of the processor's cache for itself.
#[derive(Default)]
#[repr(align(128))]
struct Shard(Mutex<HashTable<Known>>);

struct Known {
    /// The hash of the id, which is made once for each look.
    hash: u64,
    id: TaskId,
    live: Weak<Live>,
}

impl LiveTasks {
    pub(crate) fn get(&self, id: &TaskId) -> Option<Arc<Live>> {
        let (hash, shard) = self.shard(id);
        shard.find(hash, |known| known.id == *id).and_then(|known| known.live.upgrade())
    }

    pub(crate) fn all(&self) -> Vec<Arc<Live>> {
        self.shards.iter().flat_map(|shard| shard.lock().iter().filter_map(|known| known.live.upgrade()).collect::<Vec<_>>()).collect()
    }

    /// Makes a task one of these, and says which one it is: there may have been one of that id already.
    pub(crate) fn keep(&self, live: Arc<Live>) -> Arc<Live> {
        let (hash, mut shard) = self.shard(&live.id);
        let kept = Arc::downgrade(&live);
        match shard.entry(hash, |known| known.id == live.id, |known| known.hash) {
            Entry::Occupied(mut known) => {
                if let Some(existing) = known.get().live.upgrade() {
                    drop(shard);
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
        let (hash, mut shard) = self.shard(id);
        if let Ok(known) = shard.find_entry(hash, |known| known.id == *id && known.live.strong_count() == 0) {
            known.remove();
        }
    }

    /// Takes a task out, so that the next look comes from the store.
    pub(crate) fn remove(&self, live: &Arc<Live>) {
        let (hash, mut shard) = self.shard(&live.id);
        if let Ok(known) = shard.find_entry(hash, |known| std::ptr::eq(known.live.as_ptr(), Arc::as_ptr(live))) {
            known.remove();
            live.kept.store(false, Ordering::Relaxed);
        }
    }

    fn shard(&self, id: &TaskId) -> (u64, MutexGuard<'_, HashTable<Known>>) {
        let hash = self.hasher.hash_one(id.as_str());
        // By other bits than those by which a table finds its places.
        (hash, self.shards[usize::try_from((hash >> 32) % SHARDS as u64).unwrap_or_default()].lock())
    }
}

impl Shard {
    fn lock(&self) -> MutexGuard<'_, HashTable<Known>> {
        // The map holds no invariant that a panic could break.
        self.0.lock()
    }
}
