//! The doors, through real sockets.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stdout,
    unreachable_pub,
    reason = "a test fails by panicking and says why"
)]

mod address;
mod auth;
mod grpc;
mod malformed;
mod names;
mod signing;
mod tls;
mod webhook;
