//! The bindings of A2A: JSON-RPC, HTTP+JSON and gRPC in every version, side by side, as one HTTP service.
//!
//! [`Router`] is the way in: a service of tower over any [`Operations`](chancery_core::Operations): an engine that runs an agent, a
//! client that calls another, a gateway that chooses among many. It does what belongs to HTTP: versions and bindings, cards and other
//! well-known documents, authentication, limits, CORS, health, metrics. It knows no engine, no store and no sockets; the crate
//! `chancery` puts those around it.

pub mod auth;
mod body;
mod call;
mod card;
mod cors;
mod endpoint;
mod exchange;
mod grant;
#[cfg(feature = "grpc")]
mod grpc;
#[cfg(not(feature = "grpc"))]
#[path = "no_grpc.rs"]
mod grpc;
mod hosted;
mod hosts;
mod jsonrpc;
mod limit;
mod metrics;
mod rest;
mod route;
mod router;
mod shutdown;
mod sse;
mod well_known;

pub use auth::Auth;
pub use body::Body;
pub use card::CardSigner;
pub use endpoint::{Endpoint, EndpointOptions, Site};
pub use limit::Limits;
pub use router::{Builder, PeerAddress, Router};
pub use well_known::KEYS_PATH;
