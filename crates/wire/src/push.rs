//! Webhook bodies: which version one is in, and what it says.

use chancery_core::{Error, ErrorKind, Event, Operation, Reply, Result, Version};
use serde_json::Value;

use crate::{Dialect, StreamMemory, json};

/// Reads the body of a webhook call of any version.
///
/// v1.0 sends events, each in the member that names it, and the compact dialect does the same with
/// its own objects. Older versions send the whole task. v0.2 and v0.3 cannot be told apart and count
/// as v0.3.
///
/// ```
/// use chancery_core::{TaskState, Version};
/// let body = br#"{"kind":"task","id":"t-1","contextId":"c-1","status":{"state":"completed"}}"#;
/// let (version, event) = chancery_wire::decode_push(body)?;
/// assert_eq!((version, event.state()), (Version::V0_3, Some(TaskState::Completed)));
/// # Ok::<(), chancery_core::Error>(())
/// ```
///
/// # Errors
/// [`ErrorKind::Parse`] when the body is not JSON, [`ErrorKind::InvalidParams`] when it is no
/// notification of any version.
pub fn decode_push(json: &[u8]) -> Result<(Version, Event)> {
    let body: Value = json::read(json)?;
    let dialect = dialect_of(&body).ok_or_else(|| Error::invalid_param("body", "is neither a task nor an event"))?;
    let event = match dialect {
        // A v0.1 task is no event of a v0.1 stream.
        Dialect::V0_1 => match dialect.decode_reply(Operation::GetTask, json)? {
            Reply::Task(task) => Some(task.into_task()?.into()),
            _ => None,
        },
        _ => dialect.decode_event(json, &mut StreamMemory::default())?.into_iter().next(),
    };
    let event = event.ok_or_else(|| Error::new(ErrorKind::InvalidParams, "the notification says nothing"))?;
    Ok((dialect.version(), event))
}

fn dialect_of(body: &Value) -> Option<Dialect> {
    const EVENTS: [&str; 6] = ["task", "message", "statusUpdate", "status_update", "artifactUpdate", "artifact_update"];
    if has(body, &["/kind"]) {
        return Some(Dialect::V0_3);
    }
    if let Some(event) = EVENTS.iter().find_map(|name| body.get(name).filter(|event| event.is_object())) {
        return Some(match event {
            event if has(event, &["/kind"]) => Dialect::V0_3RestKind,
            _ if has(body, &["/task/taskId"]) && !has(body, &["/task/id"]) => Dialect::Compact,
            event if is_compact(event) => Dialect::Compact,
            _ => Dialect::V1_0,
        });
    }
    if !has(body, &["/id", "/taskId"]) || !has(body, &["/status"]) {
        return None;
    }
    // What v0.1 has no member for.
    let newer = ["/contextId", "/context_id", "/artifacts/0/artifactId", "/history/0/messageId", "/status/message/messageId"];
    Some(if has(body, &newer) { Dialect::V0_3 } else { Dialect::V0_1 })
}

/// Whether the object inside an event is one of the compact dialect: v1.0 puts a prefix before the
/// names of states and roles, and knows no MIME type of a whole artifact.
fn is_compact(event: &Value) -> bool {
    let text = |pointer: &str| event.pointer(pointer).and_then(Value::as_str);
    text("/status/state").is_some_and(|state| !state.starts_with("TASK_STATE_"))
        || text("/role").is_some_and(|role| !role.starts_with("ROLE_"))
        || has(event, &["/artifact/mimeType"])
}

/// Whether any of these members is there and not null.
fn has(value: &Value, pointers: &[&str]) -> bool {
    pointers.iter().any(|pointer| value.pointer(pointer).is_some_and(|member| !member.is_null()))
}
