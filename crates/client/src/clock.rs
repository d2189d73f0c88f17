//! The time of day, where the protocol speaks of it.

use std::time::SystemTime;

/// What the machine's clock says.
#[expect(clippy::disallowed_methods, reason = "the one place where the time comes from; what uses it takes it as an argument")]
pub(crate) fn now() -> SystemTime {
    SystemTime::now()
}
