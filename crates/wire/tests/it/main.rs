//! The integration tests of the dialects.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    unreachable_pub,
    reason = "helpers of tests panic like tests do, and `pub` in them means for the other files"
)]

mod compact;
mod proto;
mod sample;
mod transfer;
mod v0_1;
mod v1_0;
mod vector;
