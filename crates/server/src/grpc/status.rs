//! How a call ended: `grpc-status`, `grpc-message` and `grpc-status-details-bin`.

use chancery_core::{Error, ErrorKind};
use chancery_wire::{Dialect, errors::GrpcCode};
use http::{HeaderMap, HeaderName, HeaderValue, Response, header::CONTENT_TYPE};
use tonic::Code;

use crate::{body::Body, exchange::error_headers};

/// How long to wait before a call is made again, in the way gRPC clients with a retry policy look for it.
const PUSHBACK: HeaderName = HeaderName::from_static("grpc-retry-pushback-ms");
const PUSHBACK_TIME: HeaderValue = HeaderValue::from_static("500");
/// Compressions that are read: none.
const ACCEPT_ENCODING: HeaderName = HeaderName::from_static("grpc-accept-encoding");

/// A call that fails, and the code if it is not that of the error's kind.
#[derive(Debug)]
pub(crate) struct CallError {
    error: Error,
    code: Option<GrpcCode>,
}

impl CallError {
    /// A failure that gRPC itself has a code for.
    pub(crate) fn coded(code: GrpcCode, error: Error) -> Self {
        Self { error, code: Some(code) }
    }

    /// The whole answer: a header that is the trailer too.
    pub(crate) fn response(&self, dialect: Dialect) -> Response<Body> {
        let mut response = Response::new(Body::grpc(tonic::body::Body::empty()));
        response.headers_mut().insert(CONTENT_TYPE, super::GRPC);
        if self.code == Some(GrpcCode::Unimplemented) {
            response.headers_mut().insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
        }
        self.write(dialect, response.headers_mut());
        response
    }

    /// Writes the end of a call.
    pub(crate) fn write(&self, dialect: Dialect, trailers: &mut HeaderMap) {
        let status = match self.code {
            Some(code) => dialect.encode_grpc_error_as(&self.error, code),
            None => dialect.encode_grpc_error(&self.error),
        };
        let status = tonic::Status::with_details(Code::from_i32(status.code), status.message, status.details);
        write(&status, trailers);
        let kind = self.error.kind();
        error_headers(kind, trailers);
        if matches!(kind, ErrorKind::RateLimited | ErrorKind::Unavailable) {
            trailers.insert(PUSHBACK, PUSHBACK_TIME);
        }
    }
}

impl From<Error> for CallError {
    fn from(error: Error) -> Self {
        Self { error, code: None }
    }
}

/// Writes the end of a call in which nothing went wrong.
pub(crate) fn ok(trailers: &mut HeaderMap) {
    write(&tonic::Status::ok(""), trailers);
}

fn write(status: &tonic::Status, trailers: &mut HeaderMap) {
    // What is percent-encoded is always a header value; the code alone is one in any case.
    if status.add_header(trailers).is_err() {
        trailers.insert(tonic::Status::GRPC_STATUS, HeaderValue::from(i32::from(status.code())));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_headers_of_an_error_about_something_large_are_small() {
        let long = "ä".repeat(100_000);
        for dialect in Dialect::PROTOBUF {
            let mut trailers = HeaderMap::new();
            let error = Error::new(ErrorKind::ContentTypeNotSupported, &long).with("mediaType", &long).violation("parts", &long);
            CallError::from(error).write(dialect, &mut trailers);
            let size: usize = trailers.iter().map(|(name, value)| name.as_str().len() + value.len() + 32).sum();
            assert!(size < 8_192, "{size}");
            let status = tonic::Status::from_header_map(&trailers).unwrap();
            let read = dialect.decode_grpc_error(status.code().into(), status.message(), status.details());
            assert_eq!((status.code(), read.kind()), (Code::InvalidArgument, ErrorKind::ContentTypeNotSupported));
        }
    }
}
