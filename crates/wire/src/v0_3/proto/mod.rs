//! v0.3 as protobuf, the package `a2a.v1`: what gRPC carries.
pub(in crate::v0_3) mod file_bytes;
pub(in crate::v0_3) mod name;
