//! What answers gRPC beside the agents: health and reflection.

use std::{
    convert::Infallible,
    net::IpAddr,
    pin::Pin,
    task::{Context, Poll},
};

use chancery_core::{Bytes, Result};
use chancery_wire::{
    methods::{GRPC_V0_3, GRPC_V1_0},
    proto::{a2a_v1, lf_a2a_v1},
};
use futures_core::Stream;
use http_body::Frame;
use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};
use tonic::Status;
use tonic_health::pb::{
    HealthCheckRequest, HealthCheckResponse,
    health_check_response::ServingStatus,
    health_server::{self, HealthServer},
};
use tower_service::Service;

use crate::{body::Body, doors::Inner, limit::StreamPass};

type Request = http::Request<tonic::body::Body>;
type Response = http::Response<tonic::body::Body>;
type Answering = Pin<Box<dyn Future<Output = Response> + Send>>;
/// A service of tonic, whatever its type.
type Beside = Box<dyn Fn(Request) -> Answering + Send + Sync>;

/// What answers gRPC beside the agents.
pub(crate) struct Services {
    health: Beside,
    reflection: Option<Beside>,
    old_reflection: Option<Beside>,
}

impl Services {
    /// The services; `closing` is set when the server stops.
    pub(crate) fn new(closing: CancellationToken) -> Self {
        Self {
            health: beside(HealthServer::new(Health { closing })),
            reflection: described(|builder| builder.build_v1().map(beside)),
            old_reflection: described(|builder| builder.build_v1alpha().map(beside)),
        }
    }

    /// The service of a path.
    pub(crate) fn find(&self, path: &str) -> Option<&Beside> {
        match path.strip_prefix('/')?.split_once('/')?.0 {
            "grpc.health.v1.Health" => Some(&self.health),
            "grpc.reflection.v1.ServerReflection" => self.reflection.as_ref(),
            "grpc.reflection.v1alpha.ServerReflection" => self.old_reflection.as_ref(),
            _ => None,
        }
    }
}

/// Has a service answer. Its calls are streams like others: counted, and over when the server stops.
pub(crate) async fn answer(doors: &Inner, service: &Beside, request: Request, peer: Option<IpAddr>) -> Result<http::Response<Body>> {
    let pass = doors.gate.open(peer.map(|peer| peer.to_string()).unwrap_or_default())?;
    let closing = Box::pin(doors.closing.clone().cancelled_owned());
    let request = request.map(|body| tonic::body::Body::new(Until { body, closing }));
    let response = service(request).await;
    Ok(response.map(|body| Body::grpc(tonic::body::Body::new(Held { body, _pass: pass }))))
}

fn beside<S>(service: S) -> Beside
where
    S: Service<Request, Response = Response, Error = Infallible> + Clone + Send + Sync + 'static,
    S::Future: Send + 'static,
{
    Box::new(move |request| {
        let answering = service.clone().call(request);
        Box::pin(async move { answering.await.unwrap_or_else(|never| match never {}) })
    })
}

/// Reflection of all services.
fn described<T>(build: impl FnOnce(tonic_reflection::server::Builder<'_>) -> Result<T, tonic_reflection::server::Error>) -> Option<T> {
    let builder = tonic_reflection::server::Builder::configure()
        .register_encoded_file_descriptor_set(lf_a2a_v1::FILE_DESCRIPTOR_SET)
        .register_encoded_file_descriptor_set(a2a_v1::FILE_DESCRIPTOR_SET)
        .register_encoded_file_descriptor_set(tonic_health::pb::FILE_DESCRIPTOR_SET);
    // The descriptors are compiled in, and tests read them.
    build(builder).inspect_err(|error| tracing::error!(%error, "there is no reflection")).ok()
}

/// Whether the services serve: until the server stops.
struct Health {
    closing: CancellationToken,
}

#[async_trait::async_trait]
impl health_server::Health for Health {
    type WatchStream = Watch;

    async fn check(&self, request: tonic::Request<HealthCheckRequest>) -> Result<tonic::Response<HealthCheckResponse>, Status> {
        if !is_known(&request.get_ref().service) {
            return Err(Status::not_found("There is no such service here"));
        }
        Ok(tonic::Response::new(response(if self.closing.is_cancelled() { ServingStatus::NotServing } else { ServingStatus::Serving })))
    }

    async fn watch(&self, request: tonic::Request<HealthCheckRequest>) -> Result<tonic::Response<Watch>, Status> {
        let known = is_known(&request.get_ref().service);
        let first = if known { ServingStatus::Serving } else { ServingStatus::ServiceUnknown };
        let closing = Some(Box::pin(self.closing.clone().cancelled_owned()));
        Ok(tonic::Response::new(Watch { known, first: Some(first), closing }))
    }
}

fn is_known(service: &str) -> bool {
    ["", GRPC_V1_0, GRPC_V0_3].contains(&service)
}

fn response(status: ServingStatus) -> HealthCheckResponse {
    HealthCheckResponse { status: status.into() }
}

/// The health of a service as it changes: once, when the server stops.
struct Watch {
    known: bool,
    first: Option<ServingStatus>,
    closing: Option<Pin<Box<WaitForCancellationFutureOwned>>>,
}

impl Stream for Watch {
    type Item = Result<HealthCheckResponse, Status>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if let Some(first) = self.first.take() {
            return Poll::Ready(Some(Ok(response(first))));
        }
        let Some(closing) = &mut self.closing else { return Poll::Ready(None) };
        if closing.as_mut().poll(cx).is_pending() {
            return Poll::Pending;
        }
        self.closing = None;
        Poll::Ready(self.known.then(|| Ok(response(ServingStatus::NotServing))))
    }
}

/// A request body that ends when the server stops, and with it what answers it.
struct Until {
    body: tonic::body::Body,
    closing: Pin<Box<WaitForCancellationFutureOwned>>,
}

impl http_body::Body for Until {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        match Pin::new(&mut self.body).poll_frame(cx) {
            Poll::Pending if self.closing.as_mut().poll(cx).is_ready() => Poll::Ready(None),
            polled => polled,
        }
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }
}

/// A body that counts as a stream while it lasts.
struct Held {
    body: tonic::body::Body,
    _pass: StreamPass,
}

impl http_body::Body for Held {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        Pin::new(&mut self.body).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }
}
