//! v0.3.
pub mod proto;
mod rest;

pub(crate) static JSON_RPC: crate::pending::Pending = crate::pending::Pending;
pub(crate) static REST: rest::Rest = rest::Rest;
pub(crate) static REST_KIND: crate::pending::Pending = crate::pending::Pending;
