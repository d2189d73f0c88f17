//! Runs agents and keeps their tasks.

mod agent;
pub mod clock;
pub mod delegation;
mod direct;
mod driver;
mod engine;
mod feed;
mod journal;
mod keys;
mod live;
mod live_tasks;
mod log;
mod mailbox;
mod names;
mod options;
mod page;
pub mod push;
mod recover;
mod send;
mod service;
pub mod state;
pub mod store;
mod terse;
mod turn;

pub use agent::{Agent, Failure, Outcome};
pub use engine::{Builder, Engine};
pub use options::{OnRestart, Options};
pub use turn::{ArtifactWriter, Turn};
