//! The protobuf messages of gRPC, to and from the canonical model. See [`proto`](crate::proto) for
//! the messages themselves.

pub use crate::v0_3::proto as v0_3;
pub use crate::v1_0::proto as v1_0;
