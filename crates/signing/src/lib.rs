//! Signatures of agent cards, for [Chancery](https://docs.rs/chancery): signs cards (JWS, RFC 8785) and verifies them.
//!
//! A card carries detached JWS signatures (RFC 7515) over its canonical form. The specification names one such form; the released SDKs sign
//! another, and older ones a third. This crate knows them all ([`Form`]), signs so that everybody can check ([`Signer`]), and says of a card
//! that it checked exactly which parts a signature covers ([`Verifier`], [`Report`]).
//!
//! ```text
//!  bytes --> Document          no member twice, every number exact
//!               |
//!             Form::of         the bytes that are signed, what they cover, what they leave out
//!               |
//!   SigningKey, Signer         adds signatures            KeyStore   a folder of keys
//!   Policy, Verifier           checks them, by keys from: the policy, a chain (Roots), the network (Fetch), a registry
//!               |
//!             Report           the verdict, and what became of each signature
//!
//!   diff                       what changed between two cards, by meaning
//! ```
//!
//! It does no I/O but for [`KeyStore`]: whoever has an HTTP client and a cache of key sets implements [`Fetch`].

mod canonical;
mod chain;
mod der;
mod diff;
mod document;
mod fetch;
mod form;
mod jwk;
mod key;
mod number;
mod pointer;
mod report;
mod schema;
mod sign;
mod store;
mod verify;

pub use chain::{RootError, Roots, certificates};
pub use diff::{Change, diff};
pub use document::{Document, DocumentError};
pub use fetch::{Fetch, FetchError, KeyRequest};
pub use form::{Canonical, Form};
pub use jwk::{Algorithm, Jwk, JwkError, JwkSet};
pub use key::{KeyError, SigningKey};
pub use report::{Attempt, KeyOrigin, Outcome, Report, Verdict};
pub use sign::{Lint, SignError, Signed, Signer, lint};
pub use store::{KeyStore, StoreError, StoredKey};
pub use verify::{KeySource, Policy, Verified, Verifier};
