//! The whole product in one process: agents, doors and callers.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stdout, reason = "tests fail by panicking, and show their tables")]

#[allow(dead_code, reason = "each theme uses a part of it")]
mod agent;
mod sdk;
