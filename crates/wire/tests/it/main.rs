//! The dialects against the golden vectors, against each other, against hostile input and against
//! the released SDKs.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stderr,
    clippy::print_stdout,
    unreachable_pub,
    reason = "a test fails by panicking and says why; `pub` in a helper means for the other files"
)]

mod compact;
mod coverage;
mod feed;
mod generate;
mod hostile;
mod interop;
mod proto;
mod push;
mod sample;
mod sdk;
mod transfer;
mod v0_1;
mod v0_2;
mod v0_3;
mod v1_0;
mod vector;
