//! The bindings of an agent: JSON-RPC, HTTP+JSON and gRPC in every version of A2A, side by side on one
//! port, and the webhooks that go out.
//!
//! [`Server`] is the way in. The bindings are written against
//! [`Operations`](chancery_core::Operations) alone, so that whatever implements it can be served:
//! an engine that runs an agent, a client that calls another, a gateway that chooses among many.

pub mod auth;
mod body;
mod call;
mod card;
mod cors;
mod exchange;
mod future_pool;
mod grant;
mod grpc;
mod host;
mod jsonrpc;
mod limit;
mod listen;
mod metrics;
mod mount;
mod rest;
mod route;
mod router;
mod running;
mod server;
mod shutdown;
mod signing;
mod sse;
mod timeouts;
mod tls;
pub mod webhook;
mod well_known;

pub use auth::Auth;
pub use body::Body;
pub use limit::Limits;
pub use mount::Mount;
pub use router::Router;
pub use running::Running;
pub use server::{Server, stop_signal};
pub use signing::Signing;
pub use tls::Tls;
