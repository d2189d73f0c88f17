//! v0.1.
pub(crate) static JSON_RPC: crate::pending::Pending = crate::pending::Pending;
