//! Guides: one thing to do on each page, from the first line to what goes wrong.
//!
//! - [Installing](install) the program and the library, completion, upgrades.
//! - [Writing an agent](writing_an_agent), from one function to streams, questions, files and callers.
//! - [Testing agents](testing), without a port.
//! - [Calling agents and answering questions](client).
//! - [Passing work on](passing_work_on): handoffs and delegation, and [how far](scope) they may reach.
//! - [Agents from a file](agents_from_a_file), without Rust.
//! - [Security](security): who may call, and how to sign in. [Signed cards](signed_cards).
//! - [Push notifications](push).
//! - Operation: [TLS](tls), [behind nginx or Caddy](proxy), as a [service of systemd](systemd), [backup and restore](backup),
//!   [metrics and health](metrics).

#[doc = include_str!("../guide/agents-from-a-file.md")]
pub mod agents_from_a_file {}

#[doc = include_str!("../guide/backup.md")]
pub mod backup {}

#[cfg(feature = "client")]
#[doc = include_str!("../guide/client.md")]
pub mod client {}

#[doc = include_str!("../guide/install.md")]
pub mod install {}

#[doc = include_str!("../guide/metrics.md")]
pub mod metrics {}

#[cfg(feature = "client")]
#[doc = include_str!("../guide/passing-work-on.md")]
pub mod passing_work_on {}

#[doc = include_str!("../guide/proxy.md")]
pub mod proxy {}

#[doc = include_str!("../guide/push.md")]
pub mod push {}

#[doc = include_str!("../guide/scope.md")]
pub mod scope {}

#[cfg(feature = "client")]
#[doc = include_str!("../guide/security.md")]
pub mod security {}

#[cfg(feature = "client")]
#[doc = include_str!("../guide/signed-cards.md")]
pub mod signed_cards {}

#[doc = include_str!("../guide/systemd.md")]
pub mod systemd {}

#[doc = include_str!("../guide/testing.md")]
pub mod testing {}

#[doc = include_str!("../guide/tls.md")]
pub mod tls {}

#[doc = include_str!("../guide/writing-an-agent.md")]
pub mod writing_an_agent {}
