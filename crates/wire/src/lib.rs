//! The dialects of the A2A protocol: the JSON and protobuf of every version, to and from the
//! canonical model of `chancery-core`. Pure functions; no I/O.
//!
//! - [`Dialect`] reads and writes requests, replies, stream events, webhook bodies and errors in one of
//!   the forms, JSON or protobuf.
//! - [`facts()`] tells what else differs between versions, so that nobody else compares them.
//! - [`version`], [`methods`], [`rest`] and, with the feature `grpc`, `grpc` tell what a request means; [`jsonrpc`] is the envelope,
//!   [`headers`] are the rest of it.
//! - [`card`] reads any agent card and writes the form of each version, [`pick`] chooses an interface
//!   from one.
//! - [`errors`] is the table of codes, [`transfer`] the form of tasks that were handed over.
//!
//! ```
//! use chancery_core::{Limits, Operation};
//! use chancery_wire::{Dialect, jsonrpc::Call, version};
//!
//! let body = br#"{"jsonrpc":"2.0","id":1,"method":"message/send","params":{"message":
//!     {"kind":"message","messageId":"m","role":"user","parts":[{"kind":"text","text":"hi"}]}}}"#;
//! let call = Call::parse(body).map_err(|refused| refused.error)?;
//! let (spoken, operation) = version::of_rpc(&call.method, None)?;
//! let dialect = Dialect::of(spoken.resolve(None), chancery_core::Binding::JsonRpc).expect("v0.3 has JSON-RPC");
//! let request = dialect.request(operation, call.params(), &Limits::default())?;
//! assert_eq!(request.operation(), Operation::SendMessage);
//! # Ok::<(), chancery_core::Error>(())
//! ```

pub mod card;
mod compact;
mod dialect;
mod error_body;
mod error_path;
pub mod errors;
mod facts;
#[cfg(feature = "grpc")]
pub mod grpc;
pub mod headers;
mod json;
pub mod jsonrpc;
mod legacy;
pub mod methods;
mod object;
#[cfg(feature = "grpc")]
mod pb_json;
pub mod pick;
#[cfg(feature = "grpc")]
pub mod proto;
mod push;
mod push_headers;
pub mod rest;
mod sse;
mod states;
pub mod transfer;
mod v0_1;
mod v0_2;
mod v0_3;
mod v1_0;
pub mod version;

pub use dialect::{Dialect, StreamMemory};
pub use facts::{Facts, facts};
pub use push::decode_push;
pub use push_headers::push_headers;
pub use sse::SSE_KEEP_ALIVE;
pub use v0_3::hybrid_task;
