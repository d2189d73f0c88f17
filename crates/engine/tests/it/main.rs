//! The engine from outside: its stores against their contract, against each other and against
//! crashes.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stdout,
    unreachable_pub,
    reason = "a test fails by panicking and says why"
)]

mod folder;
mod store;
