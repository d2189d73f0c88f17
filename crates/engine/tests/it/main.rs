//! The engine from outside: its operations, and its stores against their contract, against each other
//! and against crashes.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stdout,
    unreachable_pub,
    reason = "a test fails by panicking and says why"
)]

#[cfg(feature = "sqlite")]
mod crash;
#[cfg(feature = "sqlite")]
mod folder;
#[cfg(feature = "sqlite")]
mod kill;
#[cfg(feature = "sqlite")]
mod model;
mod operations;
mod recovery;
#[cfg(feature = "sqlite")]
mod sqlite;
mod store;
