//! The tests of chancery-wire, one file per theme.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod proto;
