//! Calls A2A agents.
//!
//! [`Client::connect`] reads an agent's card, picks the newest version and the best binding that both
//! sides speak, and gives a [`Client`]:
//!
//! ```no_run
//! use chancery_client::Client;
//!
//! # async fn run() -> chancery_core::Result<()> {
//! let agent = Client::connect("https://agent.example.com").await?;
//!
//! let reply = agent.send("What is 6 times 7?").await?;
//! println!("{}", reply.text());
//!
//! let mut events = agent.stream("Write a haiku").await?;
//! while let Some(event) = events.try_next().await? {
//!     println!("{event}");
//! }
//! # Ok(()) }
//! ```
//!
//! The client implements [`Operations`](chancery_core::Operations): all eleven operations, with a
//! [`Caller`](chancery_core::Caller) that says for whom, until when, and in which trace.
//!
//! ```no_run
//! use std::time::{Duration, Instant};
//! use chancery_client::Client;
//! use chancery_core::{Binding, Caller, ListTasks, Operations, TaskState, Version};
//!
//! # async fn run() -> chancery_core::Result<()> {
//! let agent = Client::over(Binding::Grpc, Version::V1_0, "localhost:7420")?;
//! let caller = Caller::anonymous().deadline(Instant::now() + Duration::from_secs(5));
//! let mut working = ListTasks::default();
//! working.status = TaskState::Working;
//! let page = agent.list_tasks(&caller, working).await?;
//! # Ok(()) }
//! ```
//!
//! What it takes care of:
//!
//! - **The card.** What it does not offer is not asked for; `stream` and `watch` poll where there are no streams.
//! - **Credentials.** Shown where the card comes from, and at origins that their owner names ([`Keyring`]); nowhere else.
//! - **Deadlines.** Every call ends: at the caller's deadline, or after [`Builder::timeout`].
//! - **Repetition.** What failed in passing is asked for again, as far as it cannot happen twice: reads
//!   always, messages when the agent knows `Idempotency-Key` or has not heard of them at all.
//! - **Streams.** A cut stream goes on by itself, at the event after the last one. With agents that number
//!   their events, each is seen once and in order. With others, what happened during the cut is found out
//!   from the task, and several steps may come as one. A stream that cannot go on ends with an error.
//! - **Handovers.** A task that an agent hands over to another one is followed there, as far as
//!   [`Builder::follow_handoffs`] allows, and with the credentials for that origin only.
//! - **Signatures.** A card's signatures are checked, and of a signed card only what is covered is used
//!   ([`Builder::signed_cards`]).
//! - **Tokens.** Got from the issuer that the card names, kept and renewed ([`oauth`]).
//! - **Bounds.** An answer or an event that is too large is an error, not memory.

mod builder;
mod call;
mod capability;
mod client;
mod clock;
mod credentials;
mod discover;
mod failure;
mod follow;
#[cfg(feature = "grpc")]
mod grpc;
#[cfg(not(feature = "grpc"))]
#[path = "no_grpc.rs"]
mod grpc;
mod http;
mod jsonrpc;
mod keyring;
pub mod oauth;
mod observer;
mod operations;
mod peers;
mod reply;
mod request;
mod rest;
mod retry;
mod route;
mod seen;
mod selection;
mod source;
mod sse;
#[cfg(feature = "grpc")]
mod tls;
mod trouble;
mod trust;
mod wait;
mod watch;
pub mod webhook;

pub use chancery_signing as seal;

pub use builder::Builder;
pub use client::Client;
pub use credentials::{Credential, CredentialKind, CredentialRequest, Credentials, Secrets};
pub use discover::CardText;
pub use follow::{Follow, Handoff, Head, Journey};
pub use keyring::Keyring;
pub use observer::{Chosen, Notice, Observer, Placement, Wire, WireEvent, WireRequest, WireResponse};
pub use peers::Peers;
pub use reply::{Events, Reply, Update};
pub use request::RequestBuilder;
pub use trouble::{Trouble, TroubleKind};
pub use trust::SignedCards;
pub use wait::TaskWait;
