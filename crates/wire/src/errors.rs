//! One table: what each kind of error is called in each version and binding.

use chancery_core::{ErrorKind, Version};

/// A gRPC status code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "the names are gRPC's own")]
#[non_exhaustive]
pub enum GrpcCode {
    Unknown = 2,
    InvalidArgument = 3,
    DeadlineExceeded = 4,
    NotFound = 5,
    PermissionDenied = 7,
    ResourceExhausted = 8,
    FailedPrecondition = 9,
    Unimplemented = 12,
    Internal = 13,
    Unavailable = 14,
    Unauthenticated = 16,
}

impl GrpcCode {
    const ALL: [Self; 11] = [
        Self::Unknown,
        Self::InvalidArgument,
        Self::DeadlineExceeded,
        Self::NotFound,
        Self::PermissionDenied,
        Self::ResourceExhausted,
        Self::FailedPrecondition,
        Self::Unimplemented,
        Self::Internal,
        Self::Unavailable,
        Self::Unauthenticated,
    ];

    /// The number on the wire.
    #[must_use]
    pub const fn number(self) -> i32 {
        self as i32
    }

    /// The code with this number; codes that A2A never uses are `Unknown`.
    #[must_use]
    pub fn from_number(number: i32) -> Self {
        Self::ALL.into_iter().find(|code| code.number() == number).unwrap_or(Self::Unknown)
    }

    /// The name, as `google.rpc.Status` in JSON writes it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Unknown => "UNKNOWN",
            Self::InvalidArgument => "INVALID_ARGUMENT",
            Self::DeadlineExceeded => "DEADLINE_EXCEEDED",
            Self::NotFound => "NOT_FOUND",
            Self::PermissionDenied => "PERMISSION_DENIED",
            Self::ResourceExhausted => "RESOURCE_EXHAUSTED",
            Self::FailedPrecondition => "FAILED_PRECONDITION",
            Self::Unimplemented => "UNIMPLEMENTED",
            Self::Internal => "INTERNAL",
            Self::Unavailable => "UNAVAILABLE",
            Self::Unauthenticated => "UNAUTHENTICATED",
        }
    }
}

/// One line of the table.
struct Row {
    kind: ErrorKind,
    /// The name that v0.3 SDKs put before the message in gRPC.
    name: &'static str,
    v1: Codes,
    v0_3: Codes,
    /// The JSON-RPC code in v0.1; v0.2 has the one of v0.3.
    v0_1: i32,
}

struct Codes {
    rpc: i32,
    http: u16,
    grpc: GrpcCode,
}

const fn codes(rpc: i32, http: u16, grpc: GrpcCode) -> Codes {
    Codes { rpc, http, grpc }
}

const fn row(kind: ErrorKind, name: &'static str, v1: Codes, v0_3: Codes, v0_1: i32) -> Row {
    Row { kind, name, v1, v0_3, v0_1 }
}

#[rustfmt::skip]
const TABLE: &[Row] = {
    use ErrorKind as K;
    use GrpcCode::{DeadlineExceeded, FailedPrecondition, Internal, InvalidArgument, NotFound, PermissionDenied, ResourceExhausted, Unauthenticated, Unavailable, Unimplemented};
    &[
        row(K::TaskNotFound, "TaskNotFoundError", codes(-32001, 404, NotFound), codes(-32001, 404, NotFound), -32001),
        row(K::TaskNotCancelable, "TaskNotCancelableError", codes(-32002, 400, FailedPrecondition), codes(-32002, 409, FailedPrecondition), -32002),
        row(K::PushNotificationNotSupported, "PushNotificationNotSupportedError", codes(-32003, 400, FailedPrecondition), codes(-32003, 501, Unimplemented), -32003),
        row(K::UnsupportedOperation, "UnsupportedOperationError", codes(-32004, 400, FailedPrecondition), codes(-32004, 501, Unimplemented), -32004),
        row(K::ContentTypeNotSupported, "ContentTypeNotSupportedError", codes(-32005, 400, InvalidArgument), codes(-32005, 415, InvalidArgument), -32005),
        row(K::InvalidAgentResponse, "InvalidAgentResponseError", codes(-32006, 500, Internal), codes(-32006, 502, Internal), -32603),
        row(K::ExtendedAgentCardNotConfigured, "AuthenticatedExtendedCardNotConfiguredError", codes(-32007, 400, FailedPrecondition), codes(-32007, 404, FailedPrecondition), -32004),
        row(K::ExtensionSupportRequired, "InvalidParamsError", codes(-32008, 400, FailedPrecondition), codes(-32602, 400, InvalidArgument), -32602),
        row(K::VersionNotSupported, "InvalidRequestError", codes(-32009, 400, FailedPrecondition), codes(-32600, 400, InvalidArgument), -32600),
        row(K::Parse, "JSONParseError", codes(-32700, 400, InvalidArgument), codes(-32700, 400, InvalidArgument), -32700),
        row(K::InvalidRequest, "InvalidRequestError", codes(-32600, 400, InvalidArgument), codes(-32600, 400, InvalidArgument), -32600),
        row(K::MethodNotFound, "MethodNotFoundError", codes(-32601, 404, Unimplemented), codes(-32601, 404, Unimplemented), -32601),
        row(K::InvalidParams, "InvalidParamsError", codes(-32602, 400, InvalidArgument), codes(-32602, 400, InvalidArgument), -32602),
        row(K::Internal, "InternalError", codes(-32603, 500, Internal), codes(-32603, 500, Internal), -32603),
        row(K::Unauthenticated, "UnauthenticatedError", codes(-31401, 401, Unauthenticated), codes(-31401, 401, Unauthenticated), -31401),
        row(K::PermissionDenied, "PermissionDeniedError", codes(-31403, 403, PermissionDenied), codes(-31403, 403, PermissionDenied), -31403),
        row(K::RateLimited, "InternalError", codes(-32603, 429, ResourceExhausted), codes(-32603, 429, ResourceExhausted), -32603),
        row(K::Unavailable, "InternalError", codes(-32603, 503, Unavailable), codes(-32603, 503, Unavailable), -32603),
        row(K::Timeout, "InternalError", codes(-32603, 504, DeadlineExceeded), codes(-32603, 504, DeadlineExceeded), -32603),
    ]
};

fn find(kind: ErrorKind) -> &'static Row {
    // Every kind has its line (a test says so); a new one is our fault until it has.
    TABLE.iter().find(|row| row.kind == kind).unwrap_or(&TABLE[13])
}

fn codes_of(kind: ErrorKind, version: Version) -> &'static Codes {
    let row = find(kind);
    match version {
        Version::V1_0 | Version::Compact => &row.v1,
        _ => &row.v0_3,
    }
}

/// The JSON-RPC code.
#[must_use]
pub fn rpc_code(kind: ErrorKind, version: Version) -> i32 {
    match version {
        Version::V0_1 => find(kind).v0_1,
        _ => codes_of(kind, version).rpc,
    }
}

/// The HTTP status of HTTP+JSON.
#[must_use]
pub fn http_status(kind: ErrorKind, version: Version) -> u16 {
    codes_of(kind, version).http
}

/// The HTTP status around a JSON-RPC error: 200, unless the call was refused before it was looked at.
#[must_use]
pub fn rpc_http_status(kind: ErrorKind) -> u16 {
    match kind {
        ErrorKind::Unauthenticated | ErrorKind::PermissionDenied | ErrorKind::RateLimited | ErrorKind::Unavailable => find(kind).v1.http,
        _ => 200,
    }
}

/// The gRPC status code.
#[must_use]
pub fn grpc_code(kind: ErrorKind, version: Version) -> GrpcCode {
    codes_of(kind, version).grpc
}

/// The class name that v0.3 SDKs write before the message of a gRPC status.
#[must_use]
pub fn class_name(kind: ErrorKind) -> &'static str {
    find(kind).name
}

/// The kind that a v0.3 class name stands for.
#[must_use]
pub fn kind_of_class(name: &str) -> Option<ErrorKind> {
    // The standard kinds come after the A2A kinds that borrow their class, so look from the end.
    TABLE.iter().rev().filter(|row| row.kind < ErrorKind::RateLimited).find(|row| row.name == name).map(|row| row.kind)
}

/// The kind that a peer of this version means by a JSON-RPC code.
///
/// The first specification gave -32006 to -32011 other meanings than all later ones.
#[must_use]
pub fn kind_of_rpc_code(code: i32, version: Version) -> ErrorKind {
    if version == Version::V0_1 {
        match code {
            -32006 | -32009 => return ErrorKind::UnsupportedOperation,
            -32007 => return ErrorKind::Unauthenticated,
            -32008 => return ErrorKind::PermissionDenied,
            -32010 => return ErrorKind::RateLimited,
            -32011 => return ErrorKind::Unavailable,
            _ => {}
        }
    }
    TABLE.iter().find(|row| row.v1.rpc == code).map_or(ErrorKind::Internal, |row| row.kind)
}

/// The kind that an HTTP status alone stands for.
#[must_use]
pub fn kind_of_http_status(status: u16) -> ErrorKind {
    match status {
        401 => ErrorKind::Unauthenticated,
        403 => ErrorKind::PermissionDenied,
        404 => ErrorKind::MethodNotFound,
        408 | 504 => ErrorKind::Timeout,
        409 => ErrorKind::TaskNotCancelable,
        415 => ErrorKind::ContentTypeNotSupported,
        429 => ErrorKind::RateLimited,
        501 => ErrorKind::UnsupportedOperation,
        502 => ErrorKind::InvalidAgentResponse,
        503 => ErrorKind::Unavailable,
        400..=499 => ErrorKind::InvalidRequest,
        _ => ErrorKind::Internal,
    }
}

/// The kind that a gRPC code alone stands for.
#[must_use]
pub fn kind_of_grpc_code(code: GrpcCode) -> ErrorKind {
    match code {
        GrpcCode::InvalidArgument => ErrorKind::InvalidParams,
        GrpcCode::DeadlineExceeded => ErrorKind::Timeout,
        GrpcCode::NotFound => ErrorKind::TaskNotFound,
        GrpcCode::PermissionDenied => ErrorKind::PermissionDenied,
        GrpcCode::ResourceExhausted => ErrorKind::RateLimited,
        GrpcCode::FailedPrecondition => ErrorKind::UnsupportedOperation,
        GrpcCode::Unimplemented => ErrorKind::MethodNotFound,
        GrpcCode::Unavailable => ErrorKind::Unavailable,
        GrpcCode::Unauthenticated => ErrorKind::Unauthenticated,
        GrpcCode::Unknown | GrpcCode::Internal => ErrorKind::Internal,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_has_its_line() {
        for kind in ErrorKind::ALL {
            assert_eq!(find(*kind).kind, *kind);
        }
    }

    /// CONV-ERR-007, V03-RPC-002, V03-ERR-024, V01-ERR-000.
    #[test]
    fn json_rpc_errors_travel_with_status_200_unless_the_door_refused() {
        let refused: Vec<_> = ErrorKind::ALL.iter().map(|kind| rpc_http_status(*kind)).filter(|status| *status != 200).collect();
        assert_eq!(refused, [401, 403, 429, 503]);
        assert_eq!(rpc_http_status(ErrorKind::TaskNotFound), 200);
    }

    #[test]
    fn a_v1_code_names_its_kind() {
        for row in TABLE.iter().filter(|row| row.v1.rpc != -32603 || row.kind == ErrorKind::Internal) {
            assert_eq!(kind_of_rpc_code(row.v1.rpc, Version::V1_0), row.kind);
        }
    }
}
