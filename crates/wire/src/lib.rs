//! The dialects of the A2A protocol: the JSON and protobuf of every version, to and from the
//! canonical model of `chancery-core`.
pub mod card;
mod compact;
mod dialect;
mod error_body;
pub mod errors;
pub mod grpc;
mod json;
pub mod jsonrpc;
mod legacy;
pub mod methods;
mod pb_json;
pub mod pick;
pub mod proto;
mod push;
mod push_headers;
pub mod rest;
mod states;
pub mod transfer;
mod v0_1;
mod v0_2;
mod v0_3;
mod v1_0;
pub mod version;

pub use dialect::{Dialect, StreamMemory};
pub use push::decode_push;
pub use push_headers::push_headers;
pub use v0_3::hybrid_task;
