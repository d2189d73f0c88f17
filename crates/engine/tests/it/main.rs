//! The engine from outside: its operations, and its stores against their contract, against each other
//! and against crashes.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stdout,
    unreachable_pub,
    reason = "a test fails by panicking and says why"
)]

mod artifact;
mod counting;
#[cfg(feature = "sqlite")]
mod crash;
mod delegate;
mod direct;
mod fanout;
#[cfg(feature = "sqlite")]
mod folder;
mod handoff;
mod idempotency;
#[cfg(feature = "sqlite")]
mod kill;
mod lazy;
#[cfg(feature = "sqlite")]
mod model;
mod operations;
mod push;
mod recovery;
mod reopen;
mod retention;
#[cfg(feature = "sqlite")]
mod sqlite;
mod store;
