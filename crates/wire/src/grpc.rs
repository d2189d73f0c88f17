//! gRPC: the services, the dialect of a path, errors as `google.rpc.Status`, and the protobuf of both versions.
//!
//! A message of gRPC is read and written by [`Dialect`], as those of the other bindings are; whoever serves or
//! calls moves bytes. See [`proto`](crate::proto) for the messages themselves.

use chancery_core::{Bytes, Error, ErrorKind, Event, Object, Operation, Reply, Request, Result, Seq, TaskId, Version, extension};
use prost::Message;
use prost_types::{Value, value::Kind};
use serde_json::json;

use crate::{
    Dialect,
    errors::GrpcCode,
    methods,
    proto::{a2a_v1, google_rpc, lf_a2a_v1},
};

pub use crate::v0_3::proto as v0_3;
pub use crate::v1_0::proto as v1_0;

/// The names of all services, the newest first.
pub const SERVICES: [&str; 2] = [methods::GRPC_V1_0, methods::GRPC_V0_3];

/// The descriptors of all services, for server reflection.
pub const DESCRIPTORS: [&[u8]; 2] = [lf_a2a_v1::FILE_DESCRIPTOR_SET, a2a_v1::FILE_DESCRIPTOR_SET];

/// Bytes of the words and of the details of an error. Clients take 8 KiB of all headers together, many no more.
const WORDS: usize = 1_024;
const DETAILS: usize = 3_072;

/// What a path such as `/lf.a2a.v1.A2AService/GetTask` means.
#[must_use]
pub fn method(path: &str) -> Option<(Dialect, Operation)> {
    let (version, operation) = methods::grpc_method(path)?;
    Some((Dialect::of(version, chancery_core::Binding::Grpc)?, operation))
}

/// The dialect in which errors at a path are told, whether there is such a method or not.
#[must_use]
pub fn dialect_of_errors(path: &str) -> Dialect {
    if path.starts_with("/a2a.v1.") { Dialect::V0_3Grpc } else { Dialect::V1_0Grpc }
}

/// The path of an operation; `None` when the version has no gRPC or no such operation.
#[must_use]
pub fn path(version: Version, operation: Operation) -> Option<String> {
    Some(format!("/{}/{}", methods::grpc_service(version)?, methods::grpc_name(version, operation)?))
}

/// How a call ends that failed.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Status {
    /// The number of `grpc-status`.
    pub code: i32,
    /// The words of `grpc-message`, not encoded.
    pub message: String,
    /// The content of `grpc-status-details-bin`: a `google.rpc.Status`.
    pub details: Bytes,
}

impl Dialect {
    /// Writes an error as the end of a gRPC call, small enough for the headers of any client.
    #[must_use]
    pub fn encode_grpc_error(self, error: &Error) -> Status {
        end(self.status(error))
    }

    /// Writes an error with another code than it has by itself, because the call was refused before it was looked at.
    #[must_use]
    pub fn encode_grpc_error_as(self, error: &Error, code: GrpcCode) -> Status {
        end(google_rpc::Status { code: code.number(), ..self.status(error) })
    }

    /// Reads the end of a call that failed: `grpc-status`, `grpc-message` and `grpc-status-details-bin`, which may be empty
    /// or anything else.
    #[must_use]
    pub fn decode_grpc_error(self, code: i32, message: &str, details: &[u8]) -> Error {
        let bare = || google_rpc::Status { code, message: message.to_owned(), details: Vec::new() };
        let told = match google_rpc::Status::decode(details) {
            Ok(told) if !details.is_empty() => told,
            _ => bare(),
        };
        match self.version() {
            Version::V1_0 => v1_0::error_from_status(&told),
            _ => v0_3::error_from_status(&told),
        }
    }

    fn status(self, error: &Error) -> google_rpc::Status {
        match self.version() {
            Version::V1_0 => v1_0::status_from_error(error),
            _ => v0_3::status_from_error(error),
        }
    }
}

fn end(mut status: google_rpc::Status) -> Status {
    fit(&mut status);
    Status { code: status.code, details: status.encode_to_vec().into(), message: status.message }
}

/// Makes a status small enough for any client: errors tell what was wrong in a request, which may be
/// large, and a client that gets too large a header closes the connection with all its calls.
fn fit(status: &mut google_rpc::Status) {
    if status.message.len() > WORDS {
        let end = (0..=WORDS).rev().find(|end| status.message.is_char_boundary(*end)).unwrap_or_default();
        status.message.truncate(end);
        status.message.push('…');
    }
    // The first detail tells the kind of the error, which must stay; the next which fields are wrong.
    while status.details.len() > 1 && status.encoded_len() > DETAILS {
        status.details.pop();
    }
    if status.encoded_len() > DETAILS
        && let Some(detail) = status.details.first_mut()
        && let Ok(mut info) = google_rpc::ErrorInfo::decode(detail.value.as_slice())
    {
        info.metadata.clear();
        detail.value = info.encode_to_vec();
    }
}

/// A request as the JSON that tools for calling gRPC take. Names are written out in v0.3.
///
/// # Errors
/// As [`Dialect::encode_request`].
pub fn request_json(version: Version, request: &Request) -> Result<Vec<u8>> {
    let name = |task: &TaskId| format!("tasks/{task}");
    let config = |task: &TaskId, id: &str| format!("tasks/{task}/pushNotificationConfigs/{id}");
    let value = match (version, request) {
        (Version::V1_0, _) => return Dialect::V1_0.encode_request(request),
        (_, Request::GetTask(get)) => match get.history_length {
            Some(length) => json!({"name": name(&get.id), "historyLength": length}),
            None => json!({"name": name(&get.id)}),
        },
        (_, Request::CancelTask(cancel)) => json!({"name": name(&cancel.id)}),
        (_, Request::Subscribe(subscribe)) => json!({"name": name(&subscribe.id)}),
        (_, Request::GetPushConfig(get)) => {
            json!({"name": config(&get.task_id, get.id.as_ref().map_or("", chancery_core::PushConfigId::as_str))})
        }
        (_, Request::DeletePushConfig(delete)) => json!({"name": config(&delete.task_id, delete.id.as_str())}),
        (_, Request::ListPushConfigs(list)) => json!({"parent": name(&list.task_id)}),
        _ => return Dialect::V0_3Rest.encode_request(request),
    };
    Ok(value.to_string().into_bytes())
}

/// An answer as JSON: that of the current version, whatever the agent speaks.
///
/// # Errors
/// As [`Dialect::encode_reply`].
pub fn reply_json(reply: &Reply) -> Result<Vec<u8>> {
    Dialect::V1_0.encode_reply(reply)
}

/// Reads a message.
pub(crate) fn read<M: Message + Default>(message: &[u8]) -> Result<M> {
    M::decode(message).map_err(|error| {
        let words = format!("The message is not what this method takes: {error}");
        Error::new(ErrorKind::InvalidRequest, words).caused_by(error)
    })
}

/// Writes a message behind what is there already.
pub(crate) fn append(message: &impl Message, out: &mut Vec<u8>) -> Result<()> {
    out.reserve(message.encoded_len());
    message.encode(out).map_err(Error::internal)
}

/// The entry of an event's metadata that tells its place in the log.
pub(crate) fn sequence_value(seq: Seq) -> (String, Value) {
    // Exact up to 2^53, which no log reaches.
    (extension::SEQUENCE.to_owned(), Value { kind: Some(Kind::NumberValue(seq.get() as f64)) })
}

/// Takes the place in the log out of an event's metadata.
pub(crate) fn read_sequence(event: &mut Event) -> Option<Seq> {
    let metadata: &mut Object = match event {
        Event::Task(task) => &mut task.metadata,
        Event::Message(message) => &mut message.metadata,
        Event::Status(update) => &mut update.metadata,
        Event::Artifact(update) => &mut update.metadata,
        _ => return None,
    };
    let number = match metadata.get(extension::SEQUENCE)? {
        serde_json::Value::String(text) => text.parse().ok(),
        // Protobuf has no integers in free JSON.
        value => value.as_u64().or_else(|| value.to_string().trim_end_matches(".0").parse().ok()),
    };
    let seq = Seq::new(number.filter(|number| *number > 0)?);
    metadata.remove(extension::SEQUENCE);
    Some(seq)
}

#[cfg(test)]
mod tests {
    use chancery_core::{Task, TaskState};

    use super::*;

    #[test]
    fn an_error_about_something_large_is_small() {
        let long = "ä".repeat(100_000);
        let error = Error::new(ErrorKind::ContentTypeNotSupported, &long).with("mediaType", &long).violation("parts", &long);
        let status = Dialect::V0_3Grpc.encode_grpc_error(&error);
        // In headers, words are percent-encoded and details are base64.
        let size = status.message.len() * 3 + status.details.len() * 4 / 3;
        assert!(size < 8_000, "{size}");
        let details = google_rpc::Status::decode(&*status.details).unwrap();
        assert_eq!((details.code, &details.message), (3, &status.message));
        assert!(status.message.starts_with("ContentTypeNotSupportedError: ää"), "{}", status.message);
        let read = Dialect::V0_3Grpc.decode_grpc_error(status.code, &status.message, &status.details);
        assert_eq!(read.kind(), ErrorKind::ContentTypeNotSupported);
    }

    #[test]
    fn an_error_keeps_its_kind_when_its_violations_are_too_many() {
        let error = (0..1_000).fold(Error::from(ErrorKind::InvalidParams), |error, n| error.violation(format!("parts[{n}]"), "is empty"));
        let status = Dialect::V1_0Grpc.encode_grpc_error(&error);
        let read = Dialect::V1_0Grpc.decode_grpc_error(status.code, &status.message, &status.details);
        assert_eq!((read.kind(), read.violations().len()), (ErrorKind::InvalidParams, 0));
    }

    #[test]
    fn an_error_without_details_is_read_by_its_code_and_words() {
        for details in [&b""[..], b"\xff\xff"] {
            let read = Dialect::V1_0Grpc.decode_grpc_error(5, "no such task", details);
            assert_eq!((read.kind(), read.message()), (ErrorKind::TaskNotFound, "no such task"));
            let read = Dialect::V0_3Grpc.decode_grpc_error(13, "TaskNotCancelableError: done", details);
            assert_eq!((read.kind(), read.message()), (ErrorKind::TaskNotCancelable, "done"));
        }
    }

    #[test]
    fn the_place_of_an_event_is_taken_out_of_its_metadata() {
        for value in [json!(7), json!(7.0), json!("7")] {
            let mut task = Task::new("t", "c", TaskState::Working);
            task.metadata.insert(extension::SEQUENCE.to_owned(), value);
            let mut event = Event::from(task);
            assert_eq!(read_sequence(&mut event), Some(Seq::new(7)));
            assert_eq!(event, Task::new("t", "c", TaskState::Working).into());
        }
        let mut event = Event::from(Task::new("t", "c", TaskState::Working));
        assert_eq!(read_sequence(&mut event), None);
    }

    #[test]
    fn every_operation_has_a_path_that_is_read_as_that_operation() {
        for (version, dialect) in [(Version::V1_0, Dialect::V1_0Grpc), (Version::V0_3, Dialect::V0_3Grpc)] {
            for operation in Operation::ALL {
                let path = path(version, operation).unwrap();
                assert_eq!((method(&path), dialect_of_errors(&path)), (Some((dialect, operation)), dialect), "{path}");
            }
        }
        assert_eq!(path(Version::V0_1, Operation::GetTask), None);
    }
}
