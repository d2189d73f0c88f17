//! How often which time was measured.

/// Counts of microseconds, exact to a thousandth whatever their size, in a few kilobytes.
#[derive(Debug, Clone, Default)]
pub(super) struct Histogram {
    counts: Vec<u64>,
    total: u64,
    max: u64,
}

/// Values below this are counted one by one; above it, so many share a power of two.
const EXACT: u64 = 1_024;

impl Histogram {
    pub(super) fn record(&mut self, micros: u64) {
        let index = index(micros);
        if self.counts.len() <= index {
            self.counts.resize(index + 1, 0);
        }
        self.counts[index] += 1;
        self.total += 1;
        self.max = self.max.max(micros);
    }

    pub(super) fn merge(&mut self, other: &Self) {
        if self.counts.len() < other.counts.len() {
            self.counts.resize(other.counts.len(), 0);
        }
        self.counts.iter_mut().zip(&other.counts).for_each(|(sum, count)| *sum += count);
        self.total += other.total;
        self.max = self.max.max(other.max);
    }

    pub(super) fn total(&self) -> u64 {
        self.total
    }

    pub(super) fn max(&self) -> u64 {
        self.max
    }

    /// The time that this share of all measurements took at most; 0 if there are none.
    pub(super) fn percentile(&self, percent: f64) -> u64 {
        let wanted = ((self.total as f64) * percent / 100.0).ceil().max(1.0) as u64;
        let mut seen = 0;
        for (index, count) in self.counts.iter().enumerate() {
            seen += count;
            if seen >= wanted {
                return highest(index).min(self.max);
            }
        }
        self.max
    }
}

fn index(value: u64) -> usize {
    let bits = 64 - u64::from(value.leading_zeros());
    let shift = bits.saturating_sub(11);
    (shift * EXACT + (value >> shift)) as usize
}

/// The largest value that is counted there.
fn highest(index: usize) -> u64 {
    let index = index as u64;
    let shift = (index / EXACT).saturating_sub(1);
    ((index - shift * EXACT + 1) << shift) - 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_exact_to_a_thousandth() {
        for value in (0..5_000).chain([10_000, 123_456, 1_000_000, 86_400_000_000]) {
            let counted = highest(index(value));
            assert!(counted >= value && (counted - value) as f64 <= value as f64 / 1_000.0, "{value} {counted}");
        }
    }

    #[test]
    fn percentiles_are_those_of_all_measurements() {
        let (mut all, mut other) = (Histogram::default(), Histogram::default());
        (1..=50).for_each(|value| all.record(value));
        (51..=100).for_each(|value| other.record(value));
        all.merge(&other);
        assert_eq!([50.0, 90.0, 99.0, 100.0].map(|percent| all.percentile(percent)), [50, 90, 99, 100]);
        assert_eq!((all.max(), all.total(), Histogram::default().percentile(99.0)), (100, 100, 0));
    }
}
