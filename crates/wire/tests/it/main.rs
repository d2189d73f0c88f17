//! The integration tests of the dialects.

mod proto;
mod v1_0;
mod vector;
