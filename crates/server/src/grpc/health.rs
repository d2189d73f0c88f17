//! gRPC health checking: `grpc.health.v1.Health`.

use std::pin::Pin;

use chancery_core::Result;
use chancery_wire::grpc;
use futures_core::Stream;
use futures_util::{StreamExt as _, stream};
use tokio_util::sync::CancellationToken;
use tonic::Status;
use tonic_health::pb::{HealthCheckRequest, HealthCheckResponse, health_check_response::ServingStatus, health_server};

/// Whether the services serve: until the server stops.
pub(super) struct Health {
    pub(super) shutdown: CancellationToken,
}

#[async_trait::async_trait]
impl health_server::Health for Health {
    /// The health of a service as it changes: once, when the server stops.
    type WatchStream = Pin<Box<dyn Stream<Item = Result<HealthCheckResponse, Status>> + Send>>;

    async fn check(&self, request: tonic::Request<HealthCheckRequest>) -> Result<tonic::Response<HealthCheckResponse>, Status> {
        if !is_known(&request.get_ref().service) {
            return Err(Status::not_found("There is no such service here"));
        }
        Ok(tonic::Response::new(response(if self.shutdown.is_cancelled() { ServingStatus::NotServing } else { ServingStatus::Serving })))
    }

    async fn watch(&self, request: tonic::Request<HealthCheckRequest>) -> Result<tonic::Response<Self::WatchStream>, Status> {
        let known = is_known(&request.get_ref().service);
        let first = if known { ServingStatus::Serving } else { ServingStatus::ServiceUnknown };
        let stopped = self.shutdown.clone().cancelled_owned();
        let last = stream::once(async move {
            stopped.await;
            known.then_some(ServingStatus::NotServing)
        });
        let states = stream::iter([first]).chain(last.filter_map(std::future::ready));
        Ok(tonic::Response::new(Box::pin(states.map(|status| Ok(response(status))))))
    }
}

fn is_known(service: &str) -> bool {
    service.is_empty() || grpc::SERVICES.contains(&service)
}

fn response(status: ServingStatus) -> HealthCheckResponse {
    HealthCheckResponse { status: status.into() }
}
