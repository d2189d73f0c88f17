//! Tests of the seal through its front door.

#![allow(clippy::unwrap_used, reason = "a test that fails here has found something")]

mod chain;
mod diff;
mod fetch;
mod hostile;
mod keys;
mod sdk;
mod store;
mod vectors;
