//! Runs agents and keeps their tasks.
#[allow(dead_code, reason = "the runner that needs the rest is on its way")]
pub mod clock;
#[allow(dead_code, reason = "the runner that writes the log is on its way")]
mod log;
pub mod state;
pub mod store;
