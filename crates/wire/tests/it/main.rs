//! The dialects against the golden vectors, against each other, against hostile input and against
//! the released SDKs.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stderr, reason = "a test fails by panicking and says why")]

mod generate;
mod proto;
mod sdk;
mod v1_0;
mod vector;
