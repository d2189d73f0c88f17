//! Scopes, capabilities and workflows, by the rules of the lattice.

#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs, reason = "tests fail by panicking, and nobody reads their docs")]

mod gate;
mod laws;
#[cfg(feature = "biscuit")]
mod python;
mod required;
#[cfg(feature = "biscuit")]
mod token;
mod workflow;
