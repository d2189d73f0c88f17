//! v0.3.
pub(crate) static JSON_RPC: crate::pending::Pending = crate::pending::Pending;
pub(crate) static REST: crate::pending::Pending = crate::pending::Pending;
pub(crate) static REST_KIND: crate::pending::Pending = crate::pending::Pending;
