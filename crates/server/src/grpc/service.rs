//! gRPC services beside the agents', health and reflection, called by their path.

use std::{
    convert::Infallible,
    net::IpAddr,
    pin::Pin,
    task::{Context, Poll},
};

use chancery_core::{Bytes, Result};
use http_body::Frame;
use tokio_util::sync::CancellationToken;
use tonic::Status;
use tonic_health::pb::health_server::HealthServer;
use tower_service::Service;

use super::{health::Health, reflection};
use crate::{body::Body, limit::StreamPermit, router::Inner};

pub(super) type Request = http::Request<tonic::body::Body>;
type Response = http::Response<tonic::body::Body>;
type Answering = Pin<Box<dyn Future<Output = Response> + Send>>;
/// A service of tonic, whatever its type.
pub(super) type BoxService = Box<dyn Fn(Request) -> Answering + Send + Sync>;

/// The services beside the agents'.
pub(crate) struct Services {
    health: BoxService,
    reflection: Option<BoxService>,
    old_reflection: Option<BoxService>,
}

impl Services {
    /// The services; `shutdown` is set when the server stops.
    pub(crate) fn new(shutdown: CancellationToken) -> Self {
        Self {
            reflection: reflection::v1(&shutdown),
            old_reflection: reflection::v1alpha(&shutdown),
            health: boxed(HealthServer::new(Health { shutdown })),
        }
    }

    /// The service of a path.
    pub(crate) fn find(&self, path: &str) -> Option<&BoxService> {
        match path.strip_prefix('/')?.split_once('/')?.0 {
            "grpc.health.v1.Health" => Some(&self.health),
            "grpc.reflection.v1.ServerReflection" => self.reflection.as_ref(),
            "grpc.reflection.v1alpha.ServerReflection" => self.old_reflection.as_ref(),
            _ => None,
        }
    }
}

/// Has a service answer. Its calls may be streams, and are counted like those of agents.
pub(crate) async fn answer(router: &Inner, service: &BoxService, request: Request, peer: Option<IpAddr>) -> Result<http::Response<Body>> {
    let permit = router.limiter.open(peer.map(|peer| peer.to_string()).unwrap_or_default())?;
    let response = service(request).await;
    Ok(response.map(|body| Body::grpc(tonic::body::Body::new(Held { body, _permit: permit }))))
}

pub(super) fn boxed<S>(service: S) -> BoxService
where
    S: Service<Request, Response = Response, Error = Infallible> + Clone + Send + Sync + 'static,
    S::Future: Send + 'static,
{
    Box::new(move |request| {
        let answering = service.clone().call(request);
        Box::pin(async move { answering.await.unwrap_or_else(|never| match never {}) })
    })
}

/// A body that counts as a stream while it lasts.
struct Held {
    body: tonic::body::Body,
    _permit: StreamPermit,
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
