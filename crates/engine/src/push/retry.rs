//! Backoff: when a delivery that failed is tried again.

use std::time::Duration;

/// The pauses between attempts, each made a little longer or shorter so that not all come at once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Schedule {
    pauses: Vec<Duration>,
}

impl Default for Schedule {
    /// At once, then after 5 s, 5 min, 30 min, 2 h, 5 h, 10 h, 14 h, 20 h and 24 h.
    fn default() -> Self {
        Self::new([5, 300, 1_800, 7_200, 18_000, 36_000, 50_400, 72_000, 86_400].map(Duration::from_secs))
    }
}

impl Schedule {
    /// A schedule with these pauses after the first, second … attempt.
    pub fn new(pauses: impl IntoIterator<Item = Duration>) -> Self {
        Self { pauses: pauses.into_iter().collect() }
    }

    /// How long to wait after so many failed attempts; `None` when it was the last.
    ///
    /// `salt` decides within 20 % above or below; the same salt gives the same pause.
    #[must_use]
    pub fn pause(&self, attempts: u32, salt: u64) -> Option<Duration> {
        let pause = self.pauses.get(usize::try_from(attempts).ok()?.checked_sub(1)?)?;
        let mixed = salt.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(attempts % 64);
        let percent = 80 + u32::try_from(mixed % 41).unwrap_or(20);
        Some(*pause * percent / 100)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_stay_within_a_fifth_of_the_schedule_and_end() {
        let schedule = Schedule::default();
        for salt in 0..1_000 {
            let second = schedule.pause(1, salt).unwrap();
            assert!((Duration::from_secs(4)..=Duration::from_secs(6)).contains(&second), "{second:?}");
            assert!(schedule.pause(9, salt).is_some());
            assert_eq!(schedule.pause(10, salt), None);
        }
        assert_ne!(schedule.pause(2, 1), schedule.pause(2, 2));
    }
}
