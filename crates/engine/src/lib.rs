//! Runs agents and keeps their tasks.
pub mod clock;
mod log;
pub mod state;
pub mod store;
