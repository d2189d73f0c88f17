//! The doors of an agent: JSON-RPC, HTTP+JSON and gRPC in every version of A2A, side by side on one
//! port, and the webhooks that go out.
//!
//! [`Server`] is the way in. The bindings are written against
//! [`Operations`](chancery_core::Operations) alone, so that whatever implements it can be served:
//! an engine that runs an agent, a client that calls another, a gateway that chooses among many.

mod about;
pub mod auth;
mod body;
mod call;
mod card;
mod closing;
mod cors;
mod doors;
mod grant;
mod grpc;
pub mod guard;
mod jsonrpc;
mod limit;
mod listen;
mod metrics;
mod patience;
mod place;
mod rest;
mod rooms;
mod route;
mod running;
mod server;
mod signing;
mod sse;
mod tls;
mod visit;
pub mod webhook;
mod works;

pub use auth::Auth;
pub use body::Body;
pub use doors::Doors;
pub use limit::Limits;
pub use place::Place;
pub use running::Running;
pub use server::{Server, stop_signal};
pub use signing::Signing;
pub use tls::Tls;
