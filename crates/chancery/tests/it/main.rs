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

use std::io::Write as _;

/// Says something to whoever runs the tests, also when the test passes: the harness keeps what is printed to itself.
pub(crate) fn say(words: &str) {
    std::io::stderr().write_all(words.as_bytes()).unwrap();
}
