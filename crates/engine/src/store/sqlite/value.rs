//! How our values stand in columns, and what SQLite's errors mean to us.

use chancery_core::{BoxError, Seq, Timestamp};
use rusqlite::{ErrorCode, Row};

use crate::store::{Error, Grantee, Owner, Result, Standing};

const NANOS: i64 = 1_000_000_000;

/// Nanoseconds since 1970. What lies before 1677 or after 2262 becomes the nearest that fits: no
/// two times ever change their order.
pub(super) fn nanos(at: Timestamp) -> i64 {
    let (seconds, nanos) = at.unix();
    let nanos = i128::from(seconds) * i128::from(NANOS) + i128::from(nanos);
    i64::try_from(nanos).unwrap_or(if seconds < 0 { i64::MIN } else { i64::MAX })
}

pub(super) fn timestamp(nanos: i64) -> Result<Timestamp> {
    let rest = i32::try_from(nanos.rem_euclid(NANOS)).map_err(unreadable)?;
    Timestamp::from_unix(nanos.div_euclid(NANOS), rest).ok_or_else(|| unreadable("a time out of range"))
}

/// How many bits of a log row's key are the sequence number.
pub(super) const SEQ_BITS: u32 = 24;

/// The key of the log row of `task` that ends with `seq`.
pub(super) fn log_key(task: i64, seq: Seq) -> Result<i64> {
    match i64::try_from(seq.get()) {
        Ok(seq) if seq >> SEQ_BITS == 0 => Ok((task << SEQ_BITS) | seq),
        _ => Err(Error::Unavailable("a task can have 16,777,215 events".into())),
    }
}

pub(super) fn seq(number: i64) -> Result<Seq> {
    u64::try_from(number).map(Seq::new).map_err(unreadable)
}

pub(super) fn standing(number: i64) -> Result<Standing> {
    Standing::from_number(number).ok_or_else(|| unreadable(format!("state {number} is unknown")))
}

/// The owner in three columns from `at` on.
pub(super) fn owner(row: &Row<'_>, at: usize) -> Result<Owner> {
    let text = |column: usize| Ok::<_, rusqlite::Error>(row.get_ref(column)?.as_str()?);
    Ok(Owner::of(text(at)?, text(at + 1)?, text(at + 2)?))
}

/// The columns `kind` and `grantee` of a grant.
pub(super) fn grantee(grantee: &Grantee) -> (i64, &str) {
    match grantee {
        Grantee::Bearer(digest) => (BEARER, digest),
        Grantee::Subject(subject) => (SUBJECT, subject),
    }
}

/// The kind of a grant to whoever shows a token.
pub(super) const BEARER: i64 = 0;
/// The kind of a grant to a subject.
pub(super) const SUBJECT: i64 = 1;

/// A limit for SQL.
pub(super) fn limit(limit: usize) -> i64 {
    i64::try_from(limit).unwrap_or(i64::MAX)
}

/// A count from SQL.
pub(super) fn count(number: i64) -> Result<usize> {
    usize::try_from(number).map_err(unreadable)
}

pub(super) fn unreadable(error: impl Into<BoxError>) -> Error {
    Error::Corrupt(error.into())
}

impl From<rusqlite::Error> for Error {
    fn from(error: rusqlite::Error) -> Self {
        use rusqlite::Error as E;
        let corrupt = match &error {
            E::SqliteFailure(failure, _) => matches!(failure.code, ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase),
            E::FromSqlConversionFailure(..) | E::InvalidColumnType(..) | E::IntegralValueOutOfRange(..) | E::Utf8Error(..) => true,
            _ => false,
        };
        if corrupt { Self::Corrupt(error.into()) } else { Self::Unavailable(error.into()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_keep_their_order_and_their_nanoseconds() {
        let at = |seconds, nanos| Timestamp::from_unix(seconds, nanos).unwrap();
        let times = [
            at(-62_135_596_800, 0),
            at(-9_223_372_037, 145_224_192),
            at(-9_223_372_036, 999_999_999),
            at(-1, 0),
            at(-1, 999_999_999),
            at(0, 0),
            at(1_772_442_907, 412_000_001),
            at(9_223_372_036, 854_775_807),
        ];
        let stored: Vec<_> = times.iter().map(|at| nanos(*at)).collect();
        assert!(stored.is_sorted(), "{stored:?}");
        for (at, stored) in times.iter().zip(stored).skip(1) {
            assert_eq!(timestamp(stored).unwrap(), *at);
        }
        for far in [at(9_223_372_036, 854_775_808), at(253_402_300_799, 999_999_999)] {
            assert_eq!(nanos(far), i64::MAX);
        }
    }
}
