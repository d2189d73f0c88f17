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

mod aliases;
mod arrays;
mod cards;
mod compact;
mod coverage;
mod detection;
mod feed;
mod generate;
mod hostile;
mod interop;
mod pick;
mod properties;
mod proto;
mod push;
mod sdk;
mod spoiled;
mod transfer;
mod v0_1;
mod v0_2;
mod v0_3;
mod v0_3_grpc;
mod v0_3_rest;
mod v0_3_sdk;
mod v1_0;
mod v1_0_errors;
mod v1_0_grpc;
mod v1_0_json;
mod vector;
mod versions;
