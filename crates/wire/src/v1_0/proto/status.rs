//! Errors as `google.rpc.Status`, the content of the trailer `grpc-status-details-bin`.

use chancery_core::{Error, ErrorKind, FieldViolation, Version};
use prost::{Message, Name};
use prost_types::Any;

use crate::{
    errors::{self, GrpcCode},
    proto::google_rpc::{BadRequest, ErrorInfo, Status, bad_request},
};

/// Writes an error: its code, its words, `ErrorInfo` first, and `BadRequest` when fields are wrong.
///
/// The code and the message are those of the call's own status: clients compare them.
#[must_use]
pub fn status_from_error(error: &Error) -> Status {
    write(error, errors::grpc_code(error.kind(), Version::V1_0), error.message().to_owned())
}

/// Writes an error with the code and the words of a version.
pub(crate) fn write(error: &Error, code: GrpcCode, message: String) -> Status {
    let info = ErrorInfo { reason: error.kind().reason().to_owned(), domain: Error::DOMAIN.to_owned(), metadata: error.metadata().clone() };
    let mut details = vec![any(&info)];
    if !error.violations().is_empty() {
        details.push(any(&BadRequest { field_violations: error.violations().iter().map(violation).collect() }));
    }
    Status { code: code.number(), message, details }
}

fn violation(violation: &FieldViolation) -> bad_request::FieldViolation {
    bad_request::FieldViolation {
        field: violation.field.clone(),
        description: violation.description.clone(),
        ..bad_request::FieldViolation::default()
    }
}

fn any<M: Message + Name>(message: &M) -> Any {
    Any { type_url: M::type_url(), value: message.encode_to_vec() }
}

/// Reads an error: by the reason when it is one of A2A's, else by the code. Details are found by
/// their type, because peers order them differently; what cannot be read is passed over.
#[must_use]
pub fn error_from_status(status: &Status) -> Error {
    read(status, errors::kind_of_grpc_code(GrpcCode::from_number(status.code)), &status.message)
}

/// Reads an error that is of this kind unless its details know better.
pub(crate) fn read(status: &Status, otherwise: ErrorKind, message: &str) -> Error {
    let infos: Vec<ErrorInfo> = found(status);
    // Another domain's reason may be spelled like ours and mean something else.
    let reason = infos.iter().filter(|info| info.domain == Error::DOMAIN).find_map(|info| ErrorKind::from_reason(&info.reason));
    let kind = reason.unwrap_or(otherwise);
    let message = if message.is_empty() { kind.default_message() } else { message };
    let violations = found::<BadRequest>(status).into_iter().flat_map(|bad| bad.field_violations);
    let error =
        Error::new(kind, message).violations_from(violations.map(|violation| FieldViolation::new(violation.field, violation.description)));
    infos.into_iter().flat_map(|info| info.metadata).fold(error, |error, (key, value)| error.with(key, value))
}

/// All details of one type.
fn found<M: Message + Name + Default>(status: &Status) -> Vec<M> {
    let name = M::full_name();
    let of_type = |detail: &&Any| detail.type_url.rsplit('/').next() == Some(name.as_str());
    status.details.iter().filter(of_type).filter_map(|detail| M::decode(detail.value.as_slice()).ok()).collect()
}
