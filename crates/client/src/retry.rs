//! When a failed attempt is made again: what may be repeated, and after how long.

use std::time::Duration;

use chancery_core::Operation;
use uuid::Uuid;

use crate::failure::{Failed, Reached};

const FIRST: Duration = Duration::from_millis(100);
const LONGEST: Duration = Duration::from_secs(2);
const LONGEST_POLL: Duration = Duration::from_secs(30);

/// Whether an operation that failed in this way may be asked for again. `keyed` says that the peer takes
/// a repeated send with the same idempotency key for the same.
pub(crate) fn is_safe(operation: Operation, failed: &Failed, keyed: bool) -> bool {
    use Operation as O;
    match (failed.reached, operation) {
        (Reached::Answer | Reached::Here, _) => false,
        (Reached::Nobody, _) => true,
        (_, O::GetTask | O::ListTasks | O::Subscribe | O::GetPushConfig | O::ListPushConfigs | O::GetExtendedCard) => true,
        (_, O::SendMessage | O::StreamMessage) => keyed,
        // Done twice, these give an error or a second config: only who was surely not heard asks again.
        (reached, O::CancelTask | O::CreatePushConfig | O::DeletePushConfig) => reached == Reached::Busy,
    }
}

/// How long to wait before a task is read again: a time that grows by half with every reading that brought no
/// news, up to half a minute, a tenth more or less.
pub(crate) fn poll_pause(first: Duration, fruitless: u32) -> Duration {
    let pause = first.mul_f64(1.5_f64.powi(i32::try_from(fruitless.min(32)).unwrap_or(32))).min(LONGEST_POLL);
    pause.mul_f64(0.9 + 0.2 * random()).max(FIRST)
}

/// How long to wait before the attempt with this number, the first repetition being 1: between half and
/// all of a time that doubles, so that many clients do not come back at once.
pub(crate) fn pause(attempt: u32) -> Duration {
    let longest = FIRST.saturating_mul(1 << attempt.saturating_sub(1).min(10)).min(LONGEST);
    longest / 2 + longest.mul_f64(random()) / 2
}

/// A number from 0 to 1. The last bits of a v7 id are random.
fn random() -> f64 {
    f64::from(u32::try_from(Uuid::now_v7().as_u128() & 0xffff).unwrap_or_default()) / f64::from(0x1_0000)
}

#[cfg(test)]
mod tests {
    use chancery_core::{Error, ErrorKind};

    use super::*;

    /// Every operation with every way to fail.
    #[test]
    fn only_what_cannot_happen_twice_is_repeated() {
        let failed = |reached| Failed { error: Error::from(ErrorKind::Unavailable), reached, retry_after: None };
        let reads = [
            Operation::GetTask,
            Operation::ListTasks,
            Operation::Subscribe,
            Operation::GetPushConfig,
            Operation::ListPushConfigs,
            Operation::GetExtendedCard,
        ];
        let sends = [Operation::SendMessage, Operation::StreamMessage];
        for operation in Operation::ALL {
            for keyed in [false, true] {
                let (read, send) = (reads.contains(&operation), sends.contains(&operation) && keyed);
                let other = !reads.contains(&operation) && !sends.contains(&operation);
                let safe = |reached| is_safe(operation, &failed(reached), keyed);
                assert!(safe(Reached::Nobody), "{operation}");
                assert!(!safe(Reached::Answer) && !safe(Reached::Here), "{operation}");
                assert_eq!(safe(Reached::Silence), read || send, "{operation} {keyed}");
                assert_eq!(safe(Reached::Busy), read || send || other, "{operation} {keyed}");
            }
        }
    }

    #[test]
    fn pauses_between_readings_grow_by_half_up_to_half_a_minute() {
        let second = Duration::from_secs(1);
        for (fruitless, expected) in [(0, 1.0), (1, 1.5), (2, 2.25), (8, 25.6), (9, 30.0), (1_000, 30.0)] {
            let pause = poll_pause(second, fruitless).as_secs_f64();
            assert!((pause / expected - 1.0).abs() < 0.11, "{fruitless}: {pause}");
        }
        assert!(poll_pause(Duration::ZERO, 0) >= Duration::from_millis(100));
    }

    #[test]
    fn pauses_grow_and_stay_within_two_seconds() {
        for attempt in 1..100 {
            let longest = Duration::from_millis(100 * (1 << (attempt - 1).min(10))).min(LONGEST);
            let pause = pause(attempt);
            assert!(pause >= longest / 2 && pause <= longest, "{attempt}: {pause:?}");
        }
    }
}
