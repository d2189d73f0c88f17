//! The integration tests of the dialects.

mod aliases;
mod detection;
mod proto;
mod v1_0;
mod v1_0_errors;
mod v1_0_grpc;
mod v1_0_json;
mod vector;
