//! The whole product: agents, doors and callers.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stdout, reason = "tests fail by panicking, and show their tables")]

mod agent;
mod examples;
mod grant;
mod handoff;
mod isolation;
mod receiver;
mod scenario;
mod scenarios;
mod sdk;
mod sdk_servers;
mod signed;
