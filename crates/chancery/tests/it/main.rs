//! The whole product: agents, bindings and callers, through real sockets.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stdout,
    unreachable_pub,
    clippy::disallowed_methods,
    reason = "tests fail by panicking, and show their tables"
)]

mod address;
mod agent;
mod auth;
mod catalog;
mod examples;
mod grant;
mod grpc;
mod handoff;
mod hosts;
mod interop;
mod isolation;
mod lazy;
mod malformed;
mod names;
mod options;
mod receiver;
mod scenario;
mod scenarios;
mod sdk;
mod sdk_cards;
mod sdk_servers;
mod signed;
mod signing;
mod startup;
mod testing;
mod tls;
mod webhook;

use std::io::Write as _;

/// Says something to whoever runs the tests, also when the test passes: the harness keeps what is printed to itself.
pub(crate) fn say(words: &str) {
    std::io::stderr().write_all(words.as_bytes()).unwrap();
}
