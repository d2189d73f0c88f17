//! What must hold: `p99<50ms`, `rate>1000`, `errors<1%`.

use super::Figures;
use crate::{settings::time, trouble::Trouble};

/// A condition.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Threshold {
    pub(super) text: String,
    name: &'static str,
    below: bool,
    value: Value,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Value {
    Micros(u64),
    Number(f64),
    Percent(f64),
}

const NAMES: [&str; 7] = ["p50", "p90", "p99", "max", "rate", "errors", "first-event"];

impl Threshold {
    /// Reads a condition.
    pub(super) fn parse(text: &str) -> Result<Self, Trouble> {
        let wrong =
            |what: &str| Trouble::usage(format!("--threshold {text:?}: {what}")).hint("write p99<50ms, rate>100, errors<1 or errors<1%");
        let at = text.find(['<', '>']).ok_or_else(|| wrong("it compares nothing"))?;
        let (name, value) = (text[..at].trim(), text[at + 1..].trim());
        let name = NAMES.into_iter().find(|known| *known == name).ok_or_else(|| wrong(&format!("{name:?} is not measured")))?;
        let number = |text: &str| text.trim().parse::<f64>().ok().filter(|number| number.is_finite());
        let value = match (name, value.strip_suffix('%')) {
            ("errors", Some(share)) => number(share).map(Value::Percent),
            ("rate" | "errors", _) => number(value).map(Value::Number),
            _ => time(value).ok().map(|time| Value::Micros(u64::try_from(time.as_micros()).unwrap_or(u64::MAX))),
        };
        let value = value.ok_or_else(|| wrong("its value cannot be read"))?;
        Ok(Self { text: text.to_owned(), name, below: text.as_bytes()[at] == b'<', value })
    }

    /// Whether it holds.
    pub(super) fn holds(&self, figures: &Figures) -> bool {
        let measured = match self.name {
            "p50" => figures.latency.percentile(50.0) as f64,
            "p90" => figures.latency.percentile(90.0) as f64,
            "p99" => figures.latency.percentile(99.0) as f64,
            "max" => figures.latency.max() as f64,
            "first-event" => figures.first.percentile(99.0) as f64,
            "rate" => figures.rate(),
            _ if matches!(self.value, Value::Percent(_)) => figures.errors as f64 * 100.0 / (figures.requests().max(1) as f64),
            _ => figures.errors as f64,
        };
        let wanted = match self.value {
            Value::Micros(micros) => micros as f64,
            Value::Number(number) | Value::Percent(number) => number,
        };
        if self.below { measured < wanted } else { measured > wanted }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions_are_read_and_judged() {
        let mut figures = Figures { seconds: 2.0, errors: 1, ..Figures::default() };
        (1..=99).for_each(|value| figures.latency.record(value * 1_000));
        for (text, holds) in
            [("p99<100ms", true), ("p50 < 40ms", false), ("rate>40", true), ("errors<1", false), ("errors<2%", true), ("max>1s", false)]
        {
            assert_eq!(Threshold::parse(text).unwrap().holds(&figures), holds, "{text}");
        }
        for text in ["p99", "p98<1s", "p99<x", "rate<fast", ""] {
            assert_eq!(Threshold::parse(text).unwrap_err().exit, 2, "{text}");
        }
    }
}
