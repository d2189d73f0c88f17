//! Outbound requests, through real sockets.

#![allow(clippy::unwrap_used, unreachable_pub, reason = "a test fails by panicking and says why")]

mod guard;
mod key_cache;
mod receiver;
