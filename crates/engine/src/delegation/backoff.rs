//! Backoff: which errors of another agent are tried again, and when; exponential, with jitter, or as that agent asks for.

use std::{
    hash::{BuildHasher as _, RandomState},
    time::Duration,
};

use chancery_core::{Error, ErrorKind};

/// The first pause before something is tried again; each later one is twice as long.
const PAUSE: Duration = Duration::from_millis(500);
/// The longest pause.
const LONGEST_PAUSE: Duration = Duration::from_secs(30);
/// The longest pause that another agent may ask for.
const LONGEST_RETRY_AFTER: Duration = Duration::from_secs(300);

/// Whether an error is transient, so that trying again may help: nobody was reached, or was too busy (HO-16).
pub(super) fn is_transient(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::Unavailable | ErrorKind::RateLimited | ErrorKind::Timeout | ErrorKind::Internal)
}

/// How long to wait before the next try: what the other agent asks for (`retryAfter`, in seconds), or longer every time, and never the
/// same for everybody.
pub(super) fn pause_after(error: Option<&Error>, tries: u32) -> Duration {
    let asked = error.and_then(|error| error.metadata().get("retryAfter")).and_then(|seconds| seconds.parse::<f64>().ok());
    if let Some(asked) = asked.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok()) {
        return asked.min(LONGEST_RETRY_AFTER);
    }
    let pause = PAUSE.saturating_mul(1 << tries.min(16)).min(LONGEST_PAUSE);
    let share = u32::try_from(RandomState::new().hash_one(tries) % 1_000).unwrap_or_default();
    pause / 2 + pause / 2 * share / 1_000
}
