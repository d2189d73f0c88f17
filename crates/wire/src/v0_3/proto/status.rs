//! Errors as `google.rpc.Status`, the content of the trailer `grpc-status-details-bin`
//! (V03-GRPC-006).

use chancery_core::{Error, ErrorKind, Version};

use crate::{
    errors::{self, GrpcCode},
    proto::google_rpc::Status,
    v1_0::proto::status,
};

/// Writes an error: the words begin with the name that v0.3 SDKs give to its class, the details are
/// those of v1.0.
#[must_use]
pub fn status_from_error(error: &Error) -> Status {
    let message = format!("{}: {}", errors::class_name(error.kind()), error.message());
    status::write(error, errors::grpc_code(error.kind(), Version::V0_3), message)
}

/// Reads an error: by the reason in its details, else by the class before its words, else by the
/// code.
#[must_use]
pub fn error_from_status(status: &Status) -> Error {
    let (class, words) = class_and_words(&status.message);
    let kind = class.unwrap_or_else(|| errors::kind_of_grpc_code(GrpcCode::from_number(status.code)));
    status::read(status, kind, words)
}

fn class_and_words(message: &str) -> (Option<ErrorKind>, &str) {
    let (name, words) = message.split_once(':').unwrap_or((message, ""));
    match errors::kind_of_class(name) {
        Some(kind) => (Some(kind), words.trim_start()),
        None => (None, message),
    }
}
