//! The compact dialect.
pub(crate) static CODEC: crate::pending::Pending = crate::pending::Pending;
