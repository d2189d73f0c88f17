//! The doors, through real sockets.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking and says why")]

mod grpc;
