//! Locks by idempotency key. Of the requests with one idempotency key, only one is under way at a time: the others wait until its
//! answer is stored and give the same, and the agent is asked once. Between processes the store decides.

use std::{
    collections::HashMap,
    sync::{Arc, MutexGuard, Weak},
};

use chancery_core::sync::Mutex;
use tokio::sync::OwnedMutexGuard;

use crate::store::{KeyRecord, Owner};

type Name = (Owner, String);
type Locks = HashMap<Name, Weak<tokio::sync::Mutex<()>>>;

/// The keys that are under way.
#[derive(Clone, Default)]
pub(crate) struct Keys(Arc<Mutex<Locks>>);

/// A key that nobody else has until this is dropped.
pub(crate) struct Held {
    keys: Keys,
    name: Name,
    guard: Option<OwnedMutexGuard<()>>,
}

/// What is to be stored under a key that is held.
pub(crate) struct Keyed {
    pub(crate) record: KeyRecord,
    pub(crate) held: Held,
}

impl Keys {
    /// Waits until nobody else has the key.
    pub(crate) async fn hold(&self, owner: &Owner, key: &str) -> Held {
        let name = (owner.clone(), key.to_owned());
        let mut held = Held { keys: self.clone(), name: name.clone(), guard: None };
        let lock = {
            let mut locks = self.lock();
            locks.get(&name).and_then(Weak::upgrade).unwrap_or_else(|| {
                let lock = Arc::new(tokio::sync::Mutex::new(()));
                locks.insert(name, Arc::downgrade(&lock));
                lock
            })
        };
        held.guard = Some(lock.lock_owned().await);
        held
    }

    fn lock(&self) -> MutexGuard<'_, Locks> {
        // The map holds no invariant that a panic could break.
        self.0.lock()
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.guard = None;
        let mut locks = self.keys.lock();
        if locks.get(&self.name).is_some_and(|lock| lock.strong_count() == 0) {
            locks.remove(&self.name);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_key_is_held_by_one_and_forgotten_by_all() {
        let keys = Keys::default();
        let owner = Owner::new("agent", "ada");
        let first = keys.hold(&owner, "k").await;
        let other = keys.hold(&Owner::new("agent", "bob"), "k").await;
        let (waiting, again) = (keys.clone(), owner.clone());
        let second = tokio::spawn(async move { drop(waiting.hold(&again, "k").await) });
        let (leaving, again) = (keys.clone(), owner.clone());
        let third = tokio::spawn(async move { drop(leaving.hold(&again, "k").await) });
        tokio::task::yield_now().await;
        assert!(!second.is_finished());
        third.abort();
        drop((first, other));
        second.await.unwrap();
        assert!(third.await.is_err());
        assert!(keys.lock().is_empty());
    }
}
