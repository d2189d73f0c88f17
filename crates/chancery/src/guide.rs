//! Guides: one thing to do on each page, from the first line to what goes wrong.
//!
//! - [Testing agents](testing), without a port.
//! - [Calling agents](client).
//! - [Passing work on](passing_work_on): handoffs and delegation, and [how far](scope) they may reach.
//! - [Agents from a file](agents_from_a_file), without Rust.
//! - [Security](security): who may call, and how to sign in. [Signed cards](signed_cards).
//! - [Push notifications](push).

#[doc = include_str!("../guide/agents-from-a-file.md")]
pub mod agents_from_a_file {}

#[cfg(feature = "client")]
#[doc = include_str!("../guide/client.md")]
pub mod client {}

#[cfg(feature = "client")]
#[doc = include_str!("../guide/passing-work-on.md")]
pub mod passing_work_on {}

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

#[doc = include_str!("../guide/testing.md")]
pub mod testing {}
