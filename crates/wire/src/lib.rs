//! The dialects.

pub mod proto;
