//! The integration tests of the canonical model.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking and says why")]

mod model;
mod validity;
