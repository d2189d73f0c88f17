//! Clock: the time of day, as something that tests can set; and sums of times.

pub use chancery_core::clock::{Clock, ManualClock, SystemClock, Timer};

use chancery_core::Timestamp;

/// The instant `by` after `at`.
pub(crate) fn after(at: Timestamp, by: std::time::Duration) -> Timestamp {
    let millis = at.unix_millis().saturating_add(i64::try_from(by.as_millis()).unwrap_or(i64::MAX));
    Timestamp::from_unix_millis(millis).unwrap_or(at)
}

/// The instant `by` before `at`.
pub(crate) fn before(at: Timestamp, by: std::time::Duration) -> Timestamp {
    let millis = at.unix_millis().saturating_sub(i64::try_from(by.as_millis()).unwrap_or(i64::MAX));
    Timestamp::from_unix_millis(millis).unwrap_or(Timestamp::MIN)
}
