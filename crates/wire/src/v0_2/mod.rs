//! v0.2.
pub(crate) static JSON_RPC: crate::pending::Pending = crate::pending::Pending;
