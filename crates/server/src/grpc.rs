//! gRPC: both services of A2A, reflection and health, on the port of everything else.

use std::net::IpAddr;

use chancery_core::{BoxError, Bytes};
use http::{HeaderMap, Request, Response, header::CONTENT_TYPE};

use crate::{body::Body, doors::Inner};

/// What answers gRPC beside the agents.
pub(crate) struct Services {}

impl Services {
    pub(crate) fn new() -> Self {
        Self {}
    }
}

/// Whether a request is gRPC, by its content type.
pub(crate) fn is_grpc(headers: &HeaderMap) -> bool {
    headers.get(CONTENT_TYPE).is_some_and(|value| value.as_bytes().starts_with(b"application/grpc"))
}

/// Answers a gRPC request.
pub(crate) async fn answer<B>(doors: &Inner, request: Request<B>, peer: Option<IpAddr>) -> Response<Body>
where
    B: http_body::Body<Data = Bytes> + Send + 'static,
    B::Error: Into<BoxError> + Send,
{
    let _ = (doors, request, peer);
    tonic::Status::unimplemented("unknown service").into_http().map(Body::grpc)
}
