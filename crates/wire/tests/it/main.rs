//! The dialects against the golden vectors, against each other, against hostile input and against
//! the released SDKs.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stderr,
    clippy::print_stdout,
    unreachable_pub,
    reason = "a test fails by panicking and says why"
)]

mod cards;
mod coverage;
mod feed;
mod generate;
mod hostile;
mod interop;
mod pick;
mod proto;
mod sdk;
mod v1_0;
mod vector;
