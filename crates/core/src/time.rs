//! Points in time, written as v1.0 writes them: UTC, three fraction digits, `Z`.

use std::fmt;

use jiff::{
    SignedDuration,
    civil::{Date, DateTime, Time},
};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// A point in time with nanosecond precision, from year 1 to year 9999.
///
/// Printed as `2026-03-02T09:15:07.412Z`: finer digits are cut, not rounded, so that printing
/// never moves an instant into the future. Comparison uses the full precision.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp {
    /// Since 1970-01-01T00:00:00Z.
    seconds: i64,
    /// After the second, 0 to 999,999,999.
    nanos: u32,
}

const EPOCH: DateTime = DateTime::constant(1970, 1, 1, 0, 0, 0, 0);
/// 0001-01-01T00:00:00Z, and the end of 9999.
const YEARS: std::ops::Range<i64> = -62_135_596_800..253_402_300_800;

/// Why a text is not a timestamp.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum TimestampError {
    /// The text is not of the form `YYYY-MM-DDTHH:MM:SS[.fraction](Z|±HH:MM)`.
    Form,
    /// The form is right, but there is no such day, hour or offset, or the year is out of range.
    Range,
}

impl Timestamp {
    /// 1970-01-01T00:00:00Z.
    pub const EPOCH: Self = Self { seconds: 0, nanos: 0 };

    /// 0001-01-01T00:00:00Z.
    pub const MIN: Self = Self { seconds: YEARS.start, nanos: 0 };

    /// The instant `seconds` and `nanos` after 1970-01-01T00:00:00Z, as protobuf writes it.
    ///
    /// `None` when the instant lies outside the years 1 to 9999 or `nanos` is not in 0..1e9.
    #[must_use]
    pub fn from_unix(seconds: i64, nanos: i32) -> Option<Self> {
        let nanos = u32::try_from(nanos).ok().filter(|nanos| *nanos < 1_000_000_000)?;
        YEARS.contains(&seconds).then_some(Self { seconds, nanos })
    }

    /// The instant of a [`number`](Self::number); `None` when there is no such instant.
    #[must_use]
    pub fn from_number(number: i128) -> Option<Self> {
        Self::from_unix(i64::try_from(number >> 30).ok()?, i32::try_from(number & 0x3fff_ffff).ok()?)
    }

    /// One number for programs: the seconds since 1970, and the nanoseconds in its last thirty bits. What is not readable by people
    /// has a time in this form.
    #[must_use]
    pub fn number(self) -> i128 {
        i128::from(self.seconds) << 30 | i128::from(self.nanos)
    }

    /// The instant `millis` milliseconds after 1970-01-01T00:00:00Z.
    #[must_use]
    pub fn from_unix_millis(millis: i64) -> Option<Self> {
        let nanos = i32::try_from(millis.rem_euclid(1_000) * 1_000_000).ok()?;
        Self::from_unix(millis.div_euclid(1_000), nanos)
    }

    /// Seconds since 1970, and the nanoseconds (0 to 999,999,999) after them.
    #[must_use]
    pub fn unix(self) -> (i64, i32) {
        (self.seconds, self.nanos.cast_signed())
    }

    /// Whole milliseconds since 1970.
    #[must_use]
    pub fn unix_millis(self) -> i64 {
        self.seconds * 1_000 + i64::from(self.nanos / 1_000_000)
    }

    /// The same instant without what is finer than a millisecond.
    #[must_use]
    pub fn to_millis(self) -> Self {
        Self { seconds: self.seconds, nanos: self.nanos / 1_000_000 * 1_000_000 }
    }

    /// Reads RFC 3339 as v1.0 demands it: upper-case `T` and `Z`, a zone, one to nine fraction
    /// digits. A numeric offset is converted to UTC.
    ///
    /// # Errors
    /// When the text has another form or names no real instant.
    ///
    /// ```
    /// use chancery_core::Timestamp;
    /// let noon = Timestamp::parse("2026-03-02T14:00:00+02:00").unwrap();
    /// assert_eq!(noon.to_string(), "2026-03-02T12:00:00.000Z");
    /// assert!(Timestamp::parse("2026-03-02T12:00:00").is_err());
    /// ```
    pub fn parse(text: &str) -> Result<Self, TimestampError> {
        let scanned = Scanned::new(text.as_bytes()).ok_or(TimestampError::Form)?;
        let offset = scanned.offset.ok_or(TimestampError::Form)?;
        scanned.instant(offset).ok_or(TimestampError::Range)
    }

    /// Reads what older peers write: as [`parse`](Self::parse), but a missing zone means UTC.
    ///
    /// # Errors
    /// When the text has another form or names no real instant.
    pub fn parse_lenient(text: &str) -> Result<Self, TimestampError> {
        let scanned = Scanned::new(text.as_bytes()).ok_or(TimestampError::Form)?;
        scanned.instant(scanned.offset.unwrap_or(0)).ok_or(TimestampError::Range)
    }
}

/// The fields of a text that has the outer form of a timestamp.
struct Scanned {
    /// Year, month, day, hour, minute, second.
    fields: [u32; 6],
    nanos: u32,
    /// Seconds east of UTC; `None` when the text names no zone.
    offset: Option<i64>,
}

impl Scanned {
    fn new(text: &[u8]) -> Option<Self> {
        let (date, mut rest) = text.split_at_checked(19)?;
        let marks = [(4, b'-'), (7, b'-'), (10, b'T'), (13, b':'), (16, b':')];
        if marks.iter().any(|(at, mark)| date[*at] != *mark) {
            return None;
        }
        let mut fields = [0; 6];
        for (field, range) in fields.iter_mut().zip([0..4, 5..7, 8..10, 11..13, 14..16, 17..19]) {
            *field = digits(&date[range])?;
        }
        let mut nanos = 0;
        if let Some(fraction) = rest.strip_prefix(b".") {
            let count = fraction.iter().take_while(|byte| byte.is_ascii_digit()).count();
            if !(1..=9).contains(&count) {
                return None;
            }
            nanos = digits(&fraction[..count])? * 10_u32.pow(9 - u32::try_from(count).ok()?);
            rest = &fraction[count..];
        }
        let offset = match rest {
            b"" => None,
            b"Z" => Some(0),
            [sign @ (b'+' | b'-'), hours @ .., b':', _, _] if hours.len() == 2 => {
                let minutes = digits(&rest[4..])?;
                let east = i64::from(digits(hours)? * 3_600 + minutes * 60);
                if minutes > 59 || east > 86_399 {
                    return None;
                }
                Some(if *sign == b'-' { -east } else { east })
            }
            _ => return None,
        };
        Some(Self { fields, nanos, offset })
    }

    fn instant(&self, offset: i64) -> Option<Timestamp> {
        let [year, month, day, hour, minute, second] = self.fields;
        let date = Date::new(i16::try_from(year).ok()?, i8::try_from(month).ok()?, i8::try_from(day).ok()?).ok()?;
        let time = Time::new(i8::try_from(hour).ok()?, i8::try_from(minute).ok()?, i8::try_from(second).ok()?, 0).ok()?;
        let seconds = date.to_datetime(time).duration_since(EPOCH).as_secs() - offset;
        Timestamp::from_unix(seconds, self.nanos.cast_signed())
    }
}

fn digits(text: &[u8]) -> Option<u32> {
    text.iter().try_fold(0_u32, |number, byte| byte.is_ascii_digit().then(|| number * 10 + u32::from(byte - b'0')))
}

impl Timestamp {
    /// The printed form, made without the formatting machinery: every event carries one.
    fn text(self) -> [u8; 24] {
        // Within the years 1 to 9999 the sum cannot overflow.
        let at = EPOCH.checked_add(SignedDuration::from_secs(self.seconds)).unwrap_or(EPOCH);
        let mut text = *b"0000-00-00T00:00:00.000Z";
        let mut put = |range: std::ops::Range<usize>, mut number: u32| {
            for digit in text[range].iter_mut().rev() {
                *digit = b'0' + u8::try_from(number % 10).unwrap_or(0);
                number /= 10;
            }
        };
        put(0..4, u32::from(at.year().unsigned_abs()));
        put(5..7, u32::from(at.month().unsigned_abs()));
        put(8..10, u32::from(at.day().unsigned_abs()));
        put(11..13, u32::from(at.hour().unsigned_abs()));
        put(14..16, u32::from(at.minute().unsigned_abs()));
        put(17..19, u32::from(at.second().unsigned_abs()));
        put(20..23, self.nanos / 1_000_000);
        text
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(ascii(&self.text()))
    }
}

/// The digits and marks of a printed timestamp are ASCII, so this never falls back.
fn ascii(text: &[u8; 24]) -> &str {
    std::str::from_utf8(text).unwrap_or_default()
}

impl fmt::Debug for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}+{}ns", self.nanos % 1_000_000)
    }
}

impl fmt::Display for TimestampError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Form => "not a timestamp of the form 2026-03-02T09:15:07.412Z",
            Self::Range => "no such instant between the years 1 and 9999",
        })
    }
}

impl std::error::Error for TimestampError {}

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if serializer.is_human_readable() {
            serializer.serialize_str(ascii(&self.text()))
        } else {
            serializer.serialize_i128(self.number())
        }
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Text;
        impl de::Visitor<'_> for Text {
            type Value = Timestamp;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a timestamp such as 2026-03-02T09:15:07.412Z")
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<Timestamp, E> {
                Timestamp::parse(text).map_err(E::custom)
            }
            fn visit_i128<E: de::Error>(self, number: i128) -> Result<Timestamp, E> {
                Timestamp::from_number(number).ok_or_else(|| E::custom(TimestampError::Range))
            }
        }
        if deserializer.is_human_readable() { deserializer.deserialize_str(Text) } else { deserializer.deserialize_i128(Text) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn reads(text: &str, canonical: &str) {
        assert_eq!(Timestamp::parse(text).map(|at| at.to_string()).as_deref(), Ok(canonical));
    }

    /// V10-JSON-003, V10-JSON-004, V10-JSON-005, V10-JSON-006, V10-JSON-007.
    #[test]
    fn timestamps_are_read_in_every_legal_form_and_written_in_one() {
        reads("2026-11-15T18:16:22.280703Z", "2026-11-15T18:16:22.280Z");
        reads("2026-03-02T09:15:07Z", "2026-03-02T09:15:07.000Z");
        reads("2026-03-02T09:15:07.9999999Z", "2026-03-02T09:15:07.999Z");
        reads("2026-03-02T09:15:07.123456789+05:30", "2026-03-02T03:45:07.123Z");
        reads("0001-01-01T00:00:00Z", "0001-01-01T00:00:00.000Z");
        reads("9999-12-31T23:59:59.999Z", "9999-12-31T23:59:59.999Z");
        reads("1969-12-31T23:59:59.5Z", "1969-12-31T23:59:59.500Z");
    }

    #[test]
    fn other_spellings_are_refused() {
        for text in [
            "",
            "2026-03-02",
            "2026-03-02T09:15:07",
            "2026-03-02t09:15:07Z",
            "2026-03-02T09:15:07z",
            "2026-03-02 09:15:07Z",
            "2026-03-02T09:15:07.Z",
            "2026-03-02T09:15:07.1234567890Z",
            "2026-03-02T09:15:07+0200",
            "2026-13-02T09:15:07Z",
            "2026-02-30T09:15:07Z",
            "2026-03-02T25:15:07Z",
            "-026-03-02T09:15:07Z",
            "0000-12-31T23:59:59Z",
            "2026-03-02T09:15:07Z[UTC]",
        ] {
            assert!(Timestamp::parse(text).is_err(), "{text} was read");
        }
    }

    #[test]
    fn a_missing_zone_is_utc_for_older_peers_only() {
        let at = Timestamp::parse_lenient("2026-11-15T18:24:29.808110").map(|at| at.to_string());
        assert_eq!(at.as_deref(), Ok("2026-11-15T18:24:29.808Z"));
    }

    #[test]
    fn unix_parts_come_back_as_they_were() {
        for (seconds, nanos) in [(0, 0), (-1, 500_000_000), (1_772_442_907, 412_000_000), (-62_135_596_800, 0)] {
            assert_eq!(Timestamp::from_unix(seconds, nanos).map(Timestamp::unix), Some((seconds, nanos)));
        }
        assert_eq!(Timestamp::from_unix(253_402_300_800, 0), None);
        assert_eq!(Timestamp::from_unix(0, -1), None);
    }
}
