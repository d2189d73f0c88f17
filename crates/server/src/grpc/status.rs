//! How a call ended: `grpc-status`, `grpc-message` and `grpc-status-details-bin`.

use chancery_core::{Error, ErrorKind, Version};
use chancery_wire::{
    grpc::{v0_3, v1_0},
    proto::google_rpc,
};
use http::{HeaderMap, HeaderName, HeaderValue, Response, header::CONTENT_TYPE};
use prost::Message as _;
use tonic::Code;

use crate::{body::Body, exchange::error_headers};

/// How long to wait before a call is made again, in the way gRPC clients with a retry policy look for it.
const PUSHBACK: HeaderName = HeaderName::from_static("grpc-retry-pushback-ms");
const PUSHBACK_TIME: HeaderValue = HeaderValue::from_static("500");
/// Compressions that are read: none.
const ACCEPT_ENCODING: HeaderName = HeaderName::from_static("grpc-accept-encoding");
/// Bytes of the words and of the details. Clients take 8 KiB of all headers together, many no more.
const WORDS: usize = 1_024;
const DETAILS: usize = 3_072;

/// A call that fails, and the code if it is not that of the error's kind.
#[derive(Debug)]
pub(crate) struct CallError {
    error: Error,
    code: Option<Code>,
}

impl CallError {
    /// A failure that gRPC itself has a code for.
    pub(crate) fn coded(code: Code, error: Error) -> Self {
        Self { error, code: Some(code) }
    }

    /// The whole answer: a header that is the trailer too.
    pub(crate) fn response(&self, version: Version) -> Response<Body> {
        let mut response = Response::new(Body::grpc(tonic::body::Body::empty()));
        response.headers_mut().insert(CONTENT_TYPE, super::GRPC);
        if self.code == Some(Code::Unimplemented) {
            response.headers_mut().insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
        }
        self.write(version, response.headers_mut());
        response
    }

    /// Writes the end of a call.
    pub(crate) fn write(&self, version: Version, trailers: &mut HeaderMap) {
        let mut status = match version {
            Version::V1_0 => v1_0::status_from_error(&self.error),
            _ => v0_3::status_from_error(&self.error),
        };
        if let Some(code) = self.code {
            status.code = code.into();
        }
        fit(&mut status);
        let details = status.encode_to_vec();
        let status = tonic::Status::with_details(Code::from_i32(status.code), status.message, details.into());
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_about_something_large_is_small() {
        let long = "ä".repeat(100_000);
        let error = Error::new(ErrorKind::ContentTypeNotSupported, &long).with("mediaType", &long).violation("parts", &long);
        let mut trailers = HeaderMap::new();
        CallError::from(error).write(Version::V0_3, &mut trailers);
        let size: usize = trailers.iter().map(|(name, value)| name.as_str().len() + value.len() + 32).sum();
        assert!(size < 8_192, "{size}");
        let status = tonic::Status::from_header_map(&trailers).unwrap();
        let details = google_rpc::Status::decode(status.details()).unwrap();
        assert_eq!((details.code, details.message.as_str()), (3, status.message()));
        assert!(status.message().starts_with("ContentTypeNotSupportedError: ää"), "{}", status.message());
        assert_eq!(v0_3::error_from_status(&details).kind(), ErrorKind::ContentTypeNotSupported);
    }

    #[test]
    fn an_error_keeps_its_kind_when_its_violations_are_too_many() {
        let error = (0..1_000).fold(Error::from(ErrorKind::InvalidParams), |error, n| error.violation(format!("parts[{n}]"), "is empty"));
        let mut trailers = HeaderMap::new();
        CallError::from(error).write(Version::V1_0, &mut trailers);
        let status = tonic::Status::from_header_map(&trailers).unwrap();
        let read = v1_0::error_from_status(&google_rpc::Status::decode(status.details()).unwrap());
        assert_eq!((read.kind(), read.violations().len()), (ErrorKind::InvalidParams, 0));
    }
}
