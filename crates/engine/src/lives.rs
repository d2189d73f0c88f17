//! The tasks that somebody works on or watches here, by their ids.

use std::{
    hash::BuildHasher as _,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak, atomic::Ordering},
};

use chancery_core::TaskId;
use foldhash::{HashMap, fast::RandomState};

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
struct Part(Mutex<HashMap<TaskId, Weak<Live>>>);

impl Lives {
    pub(crate) fn get(&self, id: &TaskId) -> Option<Arc<Live>> {
        self.part(id).get(id).and_then(Weak::upgrade)
    }

    pub(crate) fn all(&self) -> Vec<Arc<Live>> {
        self.parts.iter().flat_map(|part| part.lock().values().filter_map(Weak::upgrade).collect::<Vec<_>>()).collect()
    }

    /// Makes a task one of these, and says which one it is: there may have been one of that id already.
    pub(crate) fn keep(&self, live: Arc<Live>) -> Arc<Live> {
        let mut part = self.part(&live.id);
        if let Some(existing) = part.get(&live.id).and_then(Weak::upgrade) {
            drop(part);
            return existing;
        }
        part.insert(live.id.clone(), Arc::downgrade(&live));
        live.kept.store(true, Ordering::Relaxed);
        live
    }

    /// Takes a task out that nobody holds any more.
    pub(crate) fn forget(&self, id: &TaskId) {
        let mut part = self.part(id);
        if part.get(id).is_some_and(|live| live.strong_count() == 0) {
            part.remove(id);
        }
    }

    /// Takes a task out, so that the next look comes from the store.
    pub(crate) fn remove(&self, live: &Arc<Live>) {
        let mut part = self.part(&live.id);
        if part.get(&live.id).is_some_and(|known| std::ptr::eq(known.as_ptr(), Arc::as_ptr(live))) {
            part.remove(&live.id);
            live.kept.store(false, Ordering::Relaxed);
        }
    }

    fn part(&self, id: &TaskId) -> MutexGuard<'_, HashMap<TaskId, Weak<Live>>> {
        let hash = self.hasher.hash_one(id.as_str());
        self.parts[usize::try_from(hash % PARTS as u64).unwrap_or_default()].lock()
    }
}

impl Part {
    fn lock(&self) -> MutexGuard<'_, HashMap<TaskId, Weak<Live>>> {
        // The map holds no invariant that a panic could break.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
