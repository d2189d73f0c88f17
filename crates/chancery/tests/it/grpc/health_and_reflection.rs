//! Health and reflection.

use std::{
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use chancery_wire::methods::{GRPC_V0_3, GRPC_V1_0};
use tonic::Code;
use tonic_health::pb::{HealthCheckRequest, HealthCheckResponse, health_check_response::ServingStatus};
use tonic_reflection::pb::{v1, v1alpha};

use super::{Client, code, malformed::frame, next, server, start};

fn check(service: &str) -> HealthCheckRequest {
    HealthCheckRequest { service: service.to_owned() }
}

#[tokio::test]
async fn services_are_healthy_until_the_server_stops() {
    let running = start(server()).await;
    let mut client = Client::new(&running, "grpc.health.v1.Health").await;
    for service in ["", GRPC_V1_0, GRPC_V0_3] {
        let health: HealthCheckResponse = client.call("Check", check(service)).await.unwrap();
        assert_eq!(health.status(), ServingStatus::Serving, "{service}");
    }
    assert_eq!(code(client.call::<_, HealthCheckResponse>("Check", check("other")).await), Code::NotFound);
    let mut known = client.open::<_, HealthCheckResponse>("Watch", check(GRPC_V1_0), &[]).await.unwrap().into_inner();
    let mut unknown = client.open::<_, HealthCheckResponse>("Watch", check("other"), &[]).await.unwrap().into_inner();
    assert_eq!(next(&mut known).await.unwrap().unwrap().status(), ServingStatus::Serving);
    assert_eq!(next(&mut unknown).await.unwrap().unwrap().status(), ServingStatus::ServiceUnknown);
    let router = running.router().clone();
    let stopping = tokio::spawn(running.shutdown());
    assert_eq!(next(&mut known).await.unwrap().unwrap().status(), ServingStatus::NotServing);
    assert!(next(&mut known).await.unwrap().is_none());
    assert!(next(&mut unknown).await.unwrap().is_none());
    let request = http::Request::post("/grpc.health.v1.Health/Check").header("content-type", "application/grpc");
    let request = request.body(http_body_util::Full::new(frame(&check(GRPC_V0_3)))).unwrap();
    let answer = http_body_util::BodyExt::collect(router.handle(request, None).await.unwrap().into_body()).await.unwrap().to_bytes();
    let health: HealthCheckResponse = prost::Message::decode(answer.slice(5..)).unwrap();
    assert_eq!(health.status(), ServingStatus::NotServing);
    tokio::time::timeout(Duration::from_secs(20), stopping).await.unwrap().unwrap();
}

/// A client that keeps its question open does not keep the server from stopping.
#[tokio::test]
async fn reflection_ends_when_the_server_stops() {
    let running = start(server()).await;
    let router = running.router().clone();
    let request =
        http::Request::post("/grpc.reflection.v1.ServerReflection/ServerReflectionInfo").header("content-type", "application/grpc");
    let response = router.handle(request.body(Endless).unwrap(), None).await.unwrap();
    let stopping = tokio::spawn(running.shutdown());
    let reading = http_body_util::BodyExt::collect(response.into_body());
    let body = tokio::time::timeout(Duration::from_secs(20), reading).await.unwrap().unwrap();
    assert_eq!(body.trailers().unwrap()["grpc-status"], "0");
    tokio::time::timeout(Duration::from_secs(20), stopping).await.unwrap().unwrap();
}

/// A body of which nothing comes.
struct Endless;

impl http_body::Body for Endless {
    type Data = chancery_core::Bytes;
    type Error = std::convert::Infallible;

    fn poll_frame(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Result<http_body::Frame<Self::Data>, Self::Error>>> {
        Poll::Pending
    }
}

/// V10-GRPC-001, V03-GRPC-001: both services are described, in both versions of reflection.
#[tokio::test]
async fn reflection_tells_both_services_and_their_files() {
    let running = start(server()).await;
    let mut client = Client::new(&running, "grpc.reflection.v1.ServerReflection").await;
    let mut ask = async |question| {
        let request = v1::ServerReflectionRequest { host: String::new(), message_request: Some(question) };
        let mut answers: Vec<v1::ServerReflectionResponse> = client.all("ServerReflectionInfo", request, &[]).await.unwrap();
        answers.remove(0).message_response.unwrap()
    };
    use v1::{server_reflection_request::MessageRequest as Ask, server_reflection_response::MessageResponse as Told};
    let Told::ListServicesResponse(list) = ask(Ask::ListServices(String::new())).await else { panic!() };
    let names: Vec<_> = list.service.iter().map(|service| service.name.as_str()).collect();
    for service in [GRPC_V1_0, GRPC_V0_3, "grpc.health.v1.Health", "grpc.reflection.v1.ServerReflection"] {
        assert!(names.contains(&service), "{names:?}");
        let Told::FileDescriptorResponse(file) = ask(Ask::FileContainingSymbol(service.to_owned())).await else { panic!("{service}") };
        let file: prost_types::FileDescriptorProto = prost::Message::decode(file.file_descriptor_proto[0].as_slice()).unwrap();
        assert!(service.starts_with(file.package()), "{service}");
        for needed in &file.dependency {
            assert!(matches!(ask(Ask::FileByFilename(needed.clone())).await, Told::FileDescriptorResponse(_)), "{needed}");
        }
    }
    let mut old = Client::new(&running, "grpc.reflection.v1alpha.ServerReflection").await;
    let question = v1alpha::server_reflection_request::MessageRequest::ListServices(String::new());
    let request = v1alpha::ServerReflectionRequest { host: String::new(), message_request: Some(question) };
    let answers: Vec<v1alpha::ServerReflectionResponse> = old.all("ServerReflectionInfo", request, &[]).await.unwrap();
    let Some(v1alpha::server_reflection_response::MessageResponse::ListServicesResponse(list)) = &answers[0].message_response else {
        panic!()
    };
    for service in [GRPC_V1_0, GRPC_V0_3] {
        assert!(list.service.iter().any(|known| known.name == service));
    }
}
