//! The doors of an agent: JSON-RPC, HTTP+JSON and gRPC in every version of A2A, side by side on one
//! port, and the webhooks that go out.

pub mod guard;
pub mod webhook;
