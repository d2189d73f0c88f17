//! The binary, as its users run it: real processes, which are really killed.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::disallowed_methods, reason = "a test fails by panicking, and tells its figures")]

mod command;
mod guide;
mod load;
mod overload;
mod process;
mod push;
mod readme;
mod receiver;
mod refused;
mod resume;
mod scope_guide;
mod serve;
mod voice;
