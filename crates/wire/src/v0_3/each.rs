//! Lists that are written item by item, without a second list in between.

use chancery_core::Result;
use serde::{Serialize, Serializer};

/// The items of a list, each in its written form.
pub(super) struct Each<'a, T, W>(pub(super) &'a [T], pub(super) fn(&'a T) -> W);

impl<T, W> Each<'_, T, W> {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl<T, W: Serialize> Serialize for Each<'_, T, W> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.iter().map(self.1))
    }
}
