//! Write and serve A2A agents: every version and every binding of the protocol on one port, tasks that
//! survive the process, streams that can be resumed, webhooks that arrive.
//!
//! An agent is an async function from a [`Turn`] to an [`Outcome`]:
//!
//! ```no_run
//! use chancery::{Card, Failure, Outcome, Server, Turn};
//!
//! async fn echo(turn: Turn) -> Result<Outcome, Failure> {
//!     Ok(Outcome::reply(turn.text()))
//! }
//!
//! #[tokio::main]
//! async fn main() -> chancery::Result<()> {
//!     let card = Card::new("Echo", "Repeats what it hears").skill("echo", "Says your words back");
//!     Server::new(card, echo).serve("127.0.0.1:7420").await
//! }
//! ```
//!
//! Every step up is one more word: `.store(…)`, `.data(…)`, `.public_url(…)`, `.auth(…)`, `.limits(…)`; several
//! agents on one port are [`Server::several`]. [`testing`] tries an agent without a port, and the [guides](guide) show the rest. The parts are in [`engine`], [`server`] and [`core`].
//!
//! Features, all on unless they are turned off: `sqlite` keeps tasks in a file unless something else is said, `grpc` serves and calls over
//! gRPC beside the other bindings, and with `client` agents call others: [`connect`] for programs, and
//! [`Turn::delegate`] for an agent that lets another one do a part of its work.
//!
//! ```no_run
//! # #[cfg(feature = "client")]
//! # async fn run() -> chancery::Result<()> {
//! let agent = chancery::connect("https://agent.example.com").await?;
//! println!("{}", agent.send("What is 6 times 7?").await?.text());
//! # Ok(()) }
//! ```

mod address;
mod announce;
mod future_pool;
mod grant;
pub mod guide;
mod host;
mod listen;
mod mount;
mod options;
mod running;
mod serve;
mod signing;
mod startup;
pub mod testing;
mod timeouts;
mod tls;
pub mod webhook;

#[cfg(feature = "client")]
pub use chancery_client as client;
pub use chancery_core as core;
pub use chancery_engine as engine;
pub use chancery_server as server;

#[cfg(feature = "client")]
pub use chancery_client::{Client, Follow, Keyring, Peers, Secrets};
pub use chancery_core::{
    Artifact, Caller, Card, Content, Error, ErrorKind, Event, EventStream, Message, Operations, Part, Result, Role, Skill, Task, TaskState,
};
#[cfg(feature = "sqlite")]
pub use chancery_engine::store::Sqlite;
pub use chancery_engine::{
    Agent, Engine, Failure, OnRestart, Outcome, Turn,
    delegation::{self, Delegated, DelegationError, Handoff, Passing},
    store::{self, Memory},
};
pub use chancery_server::{Auth, Limits, Router, auth};

pub use address::Address;
pub use mount::Mount;
pub use running::Running;
pub use serve::{Server, stop_signal};
pub use signing::Signing;
pub use tls::Tls;

/// Reads the card of an agent and gives a client that speaks the best version and binding of both.
///
/// # Errors
/// As [`client::Builder::connect`].
#[cfg(feature = "client")]
pub async fn connect(url: &str) -> Result<Client> {
    Client::connect(url).await
}

#[doc = include_str!("../../../README.md")]
#[cfg(doctest)]
struct Readme;
