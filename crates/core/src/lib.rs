//! The words of the A2A protocol: its v1.0 data model as Rust types, its errors, and the
//! [`Operations`] that everything else implements or calls.
//!
//! No I/O and no version logic live here. Every type serializes as v1.0 JSON (the ProtoJSON
//! mapping that the specification makes normative) and reads it leniently: unknown members are
//! ignored, `null` is absent, snake_case names and enum numbers are accepted. What is *valid* is a
//! second question, answered by [`Validate`] with the name of every field that is wrong.
//!
//! ```
//! use chancery_core::{Message, SendMessage, Validate};
//!
//! let request: SendMessage = serde_json::from_str(
//!     r#"{"message":{"messageId":"m-1","role":"ROLE_USER","parts":[{"text":"hi"}]}}"#,
//! )?;
//! assert_eq!(request.message, Message::user("hi").id("m-1"));
//! assert!(request.validate().is_ok());
//! # Ok::<(), serde_json::Error>(())
//! ```

mod artifact;
mod caller;
mod card;
pub mod clock;
mod error;
mod event;
pub mod extension;
mod grant;
pub mod handoff;
mod id;
pub mod json;
mod lazy;
mod message;
mod note;
mod oneof;
mod operations;
mod origin;
mod part;
mod peer;
mod proto_enum;
mod push;
mod reply;
mod request;
mod secret;
pub mod security;
mod stream;
pub mod sync;
mod task;
mod time;
mod validate;

pub use artifact::Artifact;
pub use bytes::Bytes;
pub use caller::{CallContext, Caller, Carried, Identity, Presented, ScopeTokens, TraceContext};
pub use card::{Capabilities, Card, Extension, Interface, Provider, Signature, Skill};
pub use error::{BoxError, Error, ErrorKind, FieldViolation, Result};
pub use event::{ArtifactUpdate, Event, Seq, SharedEvent, StatusUpdate};
pub use grant::{GrantLookup, GrantedTask};
pub use handoff::{ChainEntry, Grant, OnBehalfOf, Passage, Trail, Transfer, TransferContext};
pub use id::{ArtifactId, ContextId, MessageId, PushConfigId, TaskId};
pub use json::Object;
pub use lazy::{EncodedTask, LazyTask};
pub use message::{Message, Role};
pub use note::{Notes, Remarks};
pub use operations::{Answer, Operations, call};
pub use origin::{Binding, FileBytes, Origin, Version};
pub use part::{Content, Part};
pub use peer::{Peer, Peers};
pub use push::{Authentication, PushConfig, PushRecord};
pub use reply::{PushConfigPage, Reply, SendReply, TaskPage};
pub use request::{
    CancelTask, DeletePushConfig, GetExtendedCard, GetPushConfig, GetTask, ListPushConfigs, ListTasks, Operation, Request,
    SendConfiguration, SendMessage, Subscribe,
};
pub use secret::Secret;
pub use security::{SecurityRequirement, SecurityScheme};
pub use stream::EventStream;
pub use task::{Record, Task, TaskState, TaskStatus};
pub use time::{Timestamp, TimestampError};
pub use validate::{Check, Limits, Validate};
