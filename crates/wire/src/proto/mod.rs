//! The protobuf messages of gRPC, generated from the files in `proto/` and checked in.
//!
//! ```text
//! proto/lf/a2a/v1/a2a.proto       ->  lf_a2a_v1   A2A v1.0
//! proto/a2a/v1/a2a.proto          ->  a2a_v1      A2A v0.3
//! proto/google/rpc/status.proto   ->  google_rpc  errors of both
//! ```
//!
//! Building needs no protobuf compiler. After a change to a `.proto` file, run
//! `CHANCERY_BLESS=1 cargo test -p chancery-wire --test it proto`, which writes the files of this
//! folder anew; without the variable the same test fails when they are out of date.
//!
//! Bytes are [`bytes::Bytes`] and maps are ordered, so that encoding a message twice gives the same
//! bytes. The types of `google.protobuf` are those of [`prost_types`].
//!
//! ```
//! use chancery_wire::proto::lf_a2a_v1::{Part, part::Content};
//! use prost::Message;
//!
//! let part = Part {
//!     content: Some(Content::Text("hi".to_owned())),
//!     ..Part::default()
//! };
//! assert_eq!(part.encode_to_vec(), b"\x0a\x02hi");
//! ```

/// The package `lf.a2a.v1`: A2A v1.0.
pub mod lf_a2a_v1 {
    #![allow(missing_docs, reason = "generated; the .proto file describes the fields")]
    #![allow(clippy::all, reason = "generated")]

    /// The descriptor of the service and of all it refers to, for server reflection.
    pub const FILE_DESCRIPTOR_SET: &[u8] = include_bytes!("lf_a2a_v1.bin");

    include!("lf_a2a_v1.rs");
}

/// The package `a2a.v1`: A2A v0.3.
pub mod a2a_v1 {
    #![allow(missing_docs, reason = "generated; the .proto file describes the fields")]
    #![allow(clippy::all, reason = "generated")]

    /// The descriptor of the service and of all it refers to, for server reflection.
    pub const FILE_DESCRIPTOR_SET: &[u8] = include_bytes!("a2a_v1.bin");

    include!("a2a_v1.rs");
}

/// The package `google.rpc`: how gRPC carries errors.
pub mod google_rpc {
    #![allow(missing_docs, reason = "generated; the .proto file describes the fields")]
    #![allow(clippy::all, reason = "generated")]

    include!("google_rpc.rs");
}

mod requirement;

pub use requirement::{SchemeScopes, Scopes, SecurityRequirement};
