//! gRPC in a build without the feature `grpc`: whoever asks is told that it is not implemented here.

use std::net::IpAddr;

use http::{HeaderMap, HeaderValue, Response, header::CONTENT_TYPE, request::Parts};

use crate::{body::Body, router::Inner};

/// The code `UNIMPLEMENTED`, and the code `INTERNAL`.
const UNIMPLEMENTED: HeaderValue = HeaderValue::from_static("12");
const INTERNAL: HeaderValue = HeaderValue::from_static("13");

/// Whether a request is gRPC, by its content type.
pub(crate) fn is_grpc(headers: &HeaderMap) -> bool {
    headers.get(CONTENT_TYPE).is_some_and(|value| value.as_bytes().starts_with(b"application/grpc"))
}

/// Refuses a gRPC request.
pub(crate) async fn answer<B>(router: &Inner, _: Parts, _: B, _: Option<IpAddr>) -> Response<Body> {
    router.meter.refused();
    ended(UNIMPLEMENTED, HeaderValue::from_static("This server has no gRPC; its card says which bindings it has"))
}

/// What a client is told when its request made the server panic.
pub(crate) fn panicked() -> Response<Body> {
    ended(INTERNAL, HeaderValue::from_static("internal error"))
}

/// An answer of nothing but its end, as gRPC writes it.
fn ended(code: HeaderValue, words: HeaderValue) -> Response<Body> {
    let mut response = Response::new(Body::bytes(""));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/grpc"));
    headers.insert("grpc-status", code);
    headers.insert("grpc-message", words);
    response
}
