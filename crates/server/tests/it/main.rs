//! The bindings without an engine.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::disallowed_methods,
    unreachable_pub,
    reason = "a test fails by panicking and says why"
)]

mod echo;
mod service;
