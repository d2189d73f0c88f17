//! Durations and sizes as people write them.

use std::time::Duration;

/// Reads `500ms`, `2s`, `5m`, `1h30m`, `30d`.
pub fn duration(text: &str) -> Option<Duration> {
    let mut rest = text;
    let mut total = Duration::ZERO;
    // Units only get smaller, so that `30m1h` is not taken for a typing error of something else.
    let mut largest = u64::MAX;
    while !rest.is_empty() {
        let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let number: u64 = rest[..digits].parse().ok()?;
        rest = &rest[digits..];
        let letters = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_alphabetic()).len();
        let millis: u64 = match &rest[..letters] {
            "ms" => 1,
            "s" => 1_000,
            "m" => 60_000,
            "h" => 3_600_000,
            "d" => 86_400_000,
            _ => return None,
        };
        if millis >= largest {
            return None;
        }
        (largest, rest) = (millis, &rest[letters..]);
        total = total.checked_add(Duration::from_millis(number.checked_mul(millis)?))?;
    }
    (!text.is_empty()).then_some(total)
}

/// Reads `512`, `64k`, `16MiB`, `1G`; `k`, `M` and `G` are powers of 1024 whatever follows them.
pub fn size(text: &str) -> Option<u64> {
    let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let number: u64 = text[..digits].parse().ok()?;
    let factor: u64 = match text[digits..].trim_start().to_ascii_lowercase().as_str() {
        "" | "b" => 1,
        "k" | "kb" | "kib" => 1 << 10,
        "m" | "mb" | "mib" => 1 << 20,
        "g" | "gb" | "gib" => 1 << 30,
        _ => return None,
    };
    number.checked_mul(factor)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_read_as_people_write_them() {
        for (text, millis) in [("500ms", 500), ("2s", 2_000), ("5m", 300_000), ("1h30m", 5_400_000), ("30d", 2_592_000_000), ("0s", 0)] {
            assert_eq!(duration(text), Some(Duration::from_millis(millis)), "{text}");
        }
        for text in ["", "5", "s", "1.5s", "5 m", "-1s", "1h1h", "30m1h", "99999999999999999999s", "18446744073709551615d"] {
            assert_eq!(duration(text), None, "{text}");
        }
    }

    #[test]
    fn sizes_are_read_as_people_write_them() {
        for (text, bytes) in [("512", 512), ("64k", 65_536), ("16MiB", 16_777_216), ("16 MB", 16_777_216), ("1G", 1 << 30)] {
            assert_eq!(size(text), Some(bytes), "{text}");
        }
        for text in ["", "k", "1.5M", "-1", "5x", "99999999999G"] {
            assert_eq!(size(text), None, "{text}");
        }
    }
}
