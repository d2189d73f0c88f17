//! The router is a tower service: called in a test without a port, mounted into an axum application, wrapped in layers.

use std::time::Duration;

use chancery_core::Binding;
use chancery_server::{
    Auth, Endpoint, EndpointOptions, PeerAddress, Router,
    auth::{Digest, Holder, Scheme},
};
use http::{Request, Response, StatusCode, header::HeaderValue};
use http_body_util::{BodyExt, Full};
use serde_json::{Value, json};
use tower::{ServiceBuilder, ServiceExt};

use crate::echo::{Echo, card};

type Body = Full<bytes::Bytes>;

fn router() -> Router {
    Router::builder().base_url("https://agents.example/a2a/").endpoint(Endpoint::new("/", card(), Echo::default())).build().unwrap()
}

fn get(path: &str) -> Request<Body> {
    Request::get(path).body(Body::default()).unwrap()
}

fn send(path: &str) -> Request<Body> {
    let message = json!({"messageId": "m1", "role": "ROLE_USER", "parts": [{"text": "hello"}]});
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": {"message": message}});
    let request = Request::post(path).header("content-type", "application/json").header("a2a-version", "1.0");
    request.body(Body::from(call.to_string())).unwrap()
}

async fn json<B>(response: Response<B>) -> Value
where
    B: http_body::Body,
    B::Error: std::fmt::Debug,
{
    serde_json::from_slice(&response.into_body().collect().await.unwrap().to_bytes()).unwrap()
}

/// The words of the message that answers a call.
async fn words<B>(response: Response<B>) -> Value
where
    B: http_body::Body,
    B::Error: std::fmt::Debug,
{
    json(response).await["result"]["message"]["parts"][0]["text"].take()
}

#[tokio::test]
async fn requests_are_answered_without_a_port() {
    let router = router();
    let response = router.clone().oneshot(send("/")).await.unwrap();
    assert_eq!(response.status(), StatusCode::OK);
    assert_eq!(words(response).await, "nobody: hello");
    let card = json(router.oneshot(get("/.well-known/agent-card.json")).await.unwrap()).await;
    assert_eq!(card["supportedInterfaces"][0]["url"], "https://agents.example/a2a");
}

#[tokio::test]
async fn an_axum_application_serves_it_beside_routes_of_its_own() {
    let application = axum::Router::new()
        .route("/hello", axum::routing::get(async || "Hello"))
        .nest_service("/a2a", router())
        .fallback_service(Router::builder().endpoint(Endpoint::new("/", card(), Echo::default())).build().unwrap());
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, application).await });
    let client = reqwest::Client::new();
    assert_eq!(client.get(format!("{base}/hello")).send().await.unwrap().text().await.unwrap(), "Hello");
    for path in ["/a2a", "/a2a/", "/"] {
        let request = send(path);
        let (head, body) = request.into_parts();
        let body = body.collect().await.unwrap().to_bytes();
        let request = client.post(format!("{base}{path}")).headers(head.headers).body(body);
        let answer: Value = serde_json::from_slice(&request.send().await.unwrap().bytes().await.unwrap()).unwrap();
        assert_eq!(answer["result"]["message"]["parts"][0]["text"], "nobody: hello", "{path}: {answer}");
    }
}

#[tokio::test]
async fn layers_of_tower_go_around_it() {
    let service = ServiceBuilder::new()
        .map_response(|mut response: Response<_>| {
            response.headers_mut().insert("x-layer", HeaderValue::from_static("outer"));
            response
        })
        .timeout(Duration::from_secs(10))
        .service(router());
    let response = service.oneshot(send("/")).await.unwrap();
    assert_eq!(response.headers()["x-layer"], "outer");
    assert_eq!(words(response).await, "nobody: hello");
}

#[tokio::test]
async fn each_endpoint_has_its_own_path_callers_and_bindings() {
    let keys = Scheme::bearer().holder(Holder::new("ada", Digest::of("a secret of ada's")));
    let options = EndpointOptions::new().auth(Auth::new().scheme("bearer", keys)).bindings([Binding::JsonRpc]);
    let router = Router::builder()
        .endpoint(Endpoint::new("/", card(), Echo::default()))
        .endpoint(Endpoint::new("/private", card(), Echo::default()).options(options))
        .build()
        .unwrap();
    assert_eq!(words(router.clone().oneshot(send("/")).await.unwrap()).await, "nobody: hello");
    let denied = router.clone().oneshot(send("/private")).await.unwrap();
    assert_eq!(denied.status(), StatusCode::UNAUTHORIZED);
    let mut request = send("/private");
    request.headers_mut().insert("authorization", HeaderValue::from_static("Bearer a secret of ada's"));
    assert_eq!(words(router.clone().oneshot(request).await.unwrap()).await, "ada: hello");
    router.unmount("private");
    assert_ne!(json(router.oneshot(send("/private")).await.unwrap()).await["error"], Value::Null);
}

#[tokio::test]
async fn anonymous_callers_are_counted_by_the_address_in_the_request() {
    let mut limits = chancery_server::Limits::default();
    limits.requests_per_second = Some(1);
    let router = Router::builder().limits(limits).endpoint(Endpoint::new("/", card(), Echo::default())).build().unwrap();
    let from = |last: u8| {
        let mut request = send("/");
        request.extensions_mut().insert(PeerAddress([192, 0, 2, last].into()));
        request
    };
    for _ in 0..4 {
        router.clone().oneshot(from(1)).await.unwrap();
    }
    assert_eq!(json(router.clone().oneshot(from(1)).await.unwrap()).await["result"], Value::Null);
    assert_eq!(words(router.oneshot(from(2)).await.unwrap()).await, "nobody: hello");
}

#[tokio::test]
async fn a_closed_router_is_not_ready_and_still_answers() {
    let router = router();
    assert_eq!(router.clone().oneshot(get("/readyz")).await.unwrap().status(), StatusCode::OK);
    router.close();
    assert_eq!(router.clone().oneshot(get("/readyz")).await.unwrap().status(), StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(words(router.oneshot(send("/")).await.unwrap()).await, "nobody: hello");
}

#[tokio::test]
async fn nothing_is_read_for_a_caller_who_is_not_let_in_or_over_its_limits() {
    let echo = Echo::default();
    let mut limits = chancery_server::Limits::default();
    limits.streams_per_caller = 0;
    let keys = Scheme::bearer().holder(Holder::new("ada", Digest::of("a secret of ada's")));
    let auth = Auth::new().scheme("bearer", keys).scopes_to_read(["tasks.read"]);
    let router = Router::builder()
        .limits(limits)
        .endpoint(Endpoint::new("/", card(), echo.clone()))
        .endpoint(Endpoint::new("/private", card(), echo.clone()).options(EndpointOptions::new().auth(auth)))
        .build()
        .unwrap();
    // A method of v0.1 and v0.3: which of them is meant is known by the task only.
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tasks/resubscribe", "params": {"id": "t1"}});
    for (path, status) in [("/private", StatusCode::FORBIDDEN), ("/", StatusCode::TOO_MANY_REQUESTS)] {
        let request = Request::post(path).header("authorization", "Bearer a secret of ada's");
        let answer = router.clone().oneshot(request.body(Body::from(call.to_string())).unwrap()).await.unwrap();
        assert_eq!(answer.status(), status, "{path}");
    }
    assert_eq!(echo.reads.load(std::sync::atomic::Ordering::SeqCst), 0);
}
