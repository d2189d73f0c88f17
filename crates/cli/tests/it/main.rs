//! The binary, as its users run it.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stdout, reason = "a test fails by panicking and says why")]

mod readme;
mod serve;
