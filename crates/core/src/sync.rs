//! Locks without poisoning: a lock whose holder panicked is taken as it is.
//!
//! What they guard in this workspace holds no invariant that a panic could break half-way, and one panicking request must not take the
//! others with it. `parking_lot` would do the same with four more crates.

use std::sync::{LockResult, MutexGuard, PoisonError, RwLockReadGuard, RwLockWriteGuard};

/// What a lock gives, whether or not somebody panicked while holding it.
pub fn unpoisoned<G>(locked: LockResult<G>) -> G {
    locked.unwrap_or_else(PoisonError::into_inner)
}

/// As [`std::sync::Mutex`], without poisoning.
#[derive(Debug, Default)]
pub struct Mutex<T>(std::sync::Mutex<T>);

impl<T> Mutex<T> {
    /// A lock around a value.
    pub const fn new(value: T) -> Self {
        Self(std::sync::Mutex::new(value))
    }

    /// Waits for the value.
    pub fn lock(&self) -> MutexGuard<'_, T> {
        unpoisoned(self.0.lock())
    }

    /// The value, which nobody else can have now.
    pub fn get_mut(&mut self) -> &mut T {
        unpoisoned(self.0.get_mut())
    }

    /// The value without its lock.
    pub fn into_inner(self) -> T {
        unpoisoned(self.0.into_inner())
    }
}

/// As [`std::sync::RwLock`], without poisoning.
#[derive(Debug, Default)]
pub struct RwLock<T>(std::sync::RwLock<T>);

impl<T> RwLock<T> {
    /// A lock around a value.
    pub const fn new(value: T) -> Self {
        Self(std::sync::RwLock::new(value))
    }

    /// Waits until nobody changes the value.
    pub fn read(&self) -> RwLockReadGuard<'_, T> {
        unpoisoned(self.0.read())
    }

    /// Waits until nobody else has the value.
    pub fn write(&self) -> RwLockWriteGuard<'_, T> {
        unpoisoned(self.0.write())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_whose_holder_panicked_is_taken_as_it_is() {
        let lock = Mutex::new(1);
        let panicked = std::thread::scope(|scope| {
            scope
                .spawn(|| {
                    let _held = lock.lock();
                    panic!("while holding")
                })
                .join()
        });
        assert!(panicked.is_err());
        *lock.lock() += 1;
        assert_eq!(lock.into_inner(), 2);
    }
}
