//! The integration tests of the dialects.

mod cards;
mod pick;
mod proto;
mod v1_0;
mod vector;
