//! gRPC server reflection, v1 and v1alpha.

use std::{
    pin::Pin,
    task::{Context, Poll},
};

use chancery_core::{Bytes, Result};
use chancery_wire::grpc;
use http_body::Frame;
use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};
use tonic::Status;

use super::service::{BoxService, boxed};

pub(super) fn v1(shutdown: &CancellationToken) -> Option<BoxService> {
    described(|builder| builder.build_v1().map(boxed)).map(|service| until(service, shutdown.clone()))
}

pub(super) fn v1alpha(shutdown: &CancellationToken) -> Option<BoxService> {
    described(|builder| builder.build_v1alpha().map(boxed)).map(|service| until(service, shutdown.clone()))
}

/// A service whose calls go on as long as their requests do: until the server stops.
fn until(service: BoxService, shutdown: CancellationToken) -> BoxService {
    Box::new(move |request| {
        let shutdown = Box::pin(shutdown.clone().cancelled_owned());
        service(request.map(|body| tonic::body::Body::new(Until { body, shutdown })))
    })
}

/// Reflection of all services.
fn described<T>(build: impl FnOnce(tonic_reflection::server::Builder<'_>) -> Result<T, tonic_reflection::server::Error>) -> Option<T> {
    let sets = grpc::DESCRIPTORS.into_iter().chain([tonic_health::pb::FILE_DESCRIPTOR_SET]);
    let builder =
        sets.fold(tonic_reflection::server::Builder::configure(), |builder, set| builder.register_encoded_file_descriptor_set(set));
    // The descriptors are compiled in, and tests read them.
    build(builder).inspect_err(|error| tracing::error!(%error, "there is no reflection")).ok()
}

/// A request body that ends when the server stops, and with it what answers it.
struct Until {
    body: tonic::body::Body,
    shutdown: Pin<Box<WaitForCancellationFutureOwned>>,
}

impl http_body::Body for Until {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        match Pin::new(&mut self.body).poll_frame(cx) {
            Poll::Pending if self.shutdown.as_mut().poll(cx).is_ready() => Poll::Ready(None),
            polled => polled,
        }
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }
}
