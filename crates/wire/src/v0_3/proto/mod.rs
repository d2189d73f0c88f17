//! v0.3 as protobuf, the package `a2a.v1`: what gRPC carries.
//!
//! Each message has two functions, `…_to_proto` and `…_from_proto`, named for the type of the
//! canonical model. Writing cannot fail; what holds inline bytes is told how the peer wants them.
//! Reading refuses what can never be right; whether a request is complete is checked afterwards, as
//! for JSON, by [`Dialect::check`](crate::Dialect::check).
//!
//! ```
//! use chancery_core::{FileBytes, Limits, Request, Task, TaskState};
//! use chancery_wire::{Dialect, grpc::v0_3, proto::a2a_v1};
//!
//! let wire = a2a_v1::GetTaskRequest { name: "tasks/t-1".to_owned(), history_length: 0 };
//! let request = Request::GetTask(v0_3::get_task_from_proto(wire)?);
//! Dialect::V0_3Rest.check(&request, &Limits::default())?;
//!
//! let task = v0_3::task_to_proto(&Task::new("t-1", "c-1", TaskState::Canceled), FileBytes::Double);
//! assert_eq!(task.status.map(|status| status.state()), Some(a2a_v1::TaskState::Cancelled));
//! # Ok::<(), chancery_core::Error>(())
//! ```
//!
//! What these messages have no field for is lost, as the specification says: the tenant, the
//! metadata of a cancel request, the page size of a list of tasks.

mod card;
mod codec;
mod decode;
mod encode;
mod status;

pub(crate) use codec::Grpc;

pub use card::{card_from_proto, card_to_proto};
pub use decode::{
    artifact_from_proto, cancel_task_from_proto, create_push_config_from_proto, delete_push_config_from_proto, event_from_proto,
    get_extended_card_from_proto, get_push_config_from_proto, get_task_from_proto, list_push_configs_from_proto, list_tasks_from_proto,
    message_from_proto, part_from_proto, push_config_from_proto, push_config_page_from_proto, send_message_from_proto,
    send_reply_from_proto, subscribe_from_proto, task_from_proto, task_page_from_proto,
};
pub use encode::{
    artifact_to_proto, cancel_task_to_proto, create_push_config_to_proto, delete_push_config_to_proto, event_to_proto,
    get_extended_card_to_proto, get_push_config_to_proto, get_task_to_proto, list_push_configs_to_proto, list_tasks_to_proto,
    message_to_proto, part_to_proto, push_config_page_to_proto, push_config_to_proto, send_message_to_proto, send_reply_to_proto,
    subscribe_to_proto, task_page_to_proto, task_to_proto,
};
pub use status::{error_from_status, status_from_error};
