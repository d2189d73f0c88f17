//! The client through real sockets: against our own server in every binding and version, through
//! connections that break, and against peers that make no sense.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::disallowed_methods,
    unreachable_pub,
    reason = "a test fails by panicking and says why"
)]

mod agent;
mod authorize;
mod capability;
mod credentials;
mod cuts;
mod discovery;
mod extended;
mod follow;
mod garbage;
mod grpc;
mod oauth;
mod operations;
mod peer;
mod peers;
mod proxy;
mod request;
mod scope;
mod signed;
mod tls;
mod wait;
mod webhook;
mod wire;
