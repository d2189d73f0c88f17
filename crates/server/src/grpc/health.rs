//! gRPC health checking: `grpc.health.v1.Health`.

use std::{
    pin::Pin,
    task::{Context, Poll},
};

use chancery_core::Result;
use chancery_wire::grpc;
use futures_core::Stream;
use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};
use tonic::Status;
use tonic_health::pb::{HealthCheckRequest, HealthCheckResponse, health_check_response::ServingStatus, health_server};

/// Whether the services serve: until the server stops.
pub(super) struct Health {
    pub(super) shutdown: CancellationToken,
}

#[async_trait::async_trait]
impl health_server::Health for Health {
    type WatchStream = Watch;

    async fn check(&self, request: tonic::Request<HealthCheckRequest>) -> Result<tonic::Response<HealthCheckResponse>, Status> {
        if !is_known(&request.get_ref().service) {
            return Err(Status::not_found("There is no such service here"));
        }
        Ok(tonic::Response::new(response(if self.shutdown.is_cancelled() { ServingStatus::NotServing } else { ServingStatus::Serving })))
    }

    async fn watch(&self, request: tonic::Request<HealthCheckRequest>) -> Result<tonic::Response<Watch>, Status> {
        let known = is_known(&request.get_ref().service);
        let first = if known { ServingStatus::Serving } else { ServingStatus::ServiceUnknown };
        let shutdown = Some(Box::pin(self.shutdown.clone().cancelled_owned()));
        Ok(tonic::Response::new(Watch { known, first: Some(first), shutdown }))
    }
}

fn is_known(service: &str) -> bool {
    service.is_empty() || grpc::SERVICES.contains(&service)
}

fn response(status: ServingStatus) -> HealthCheckResponse {
    HealthCheckResponse { status: status.into() }
}

/// The health of a service as it changes: once, when the server stops.
pub(super) struct Watch {
    known: bool,
    first: Option<ServingStatus>,
    shutdown: Option<Pin<Box<WaitForCancellationFutureOwned>>>,
}

impl Stream for Watch {
    type Item = Result<HealthCheckResponse, Status>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if let Some(first) = self.first.take() {
            return Poll::Ready(Some(Ok(response(first))));
        }
        let Some(shutdown) = &mut self.shutdown else { return Poll::Ready(None) };
        if shutdown.as_mut().poll(cx).is_pending() {
            return Poll::Pending;
        }
        self.shutdown = None;
        Poll::Ready(self.known.then(|| Ok(response(ServingStatus::NotServing))))
    }
}
