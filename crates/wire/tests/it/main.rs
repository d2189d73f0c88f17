//! Tests of the wire formats against the golden vectors and the released SDKs.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stderr,
    reason = "a test fails by panicking and says why"
)]

mod sdk;
