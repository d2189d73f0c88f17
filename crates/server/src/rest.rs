//! HTTP+JSON: the paths of v1.0, v0.3, v0.2 and the compact dialect.

use std::net::IpAddr;

use chancery_core::{Answer, Binding, BoxError, Bytes, Error, ErrorKind, Origin, Version};
use chancery_wire::{Dialect, StreamMemory, errors, facts, rest, rest::Route};
use http::{HeaderValue, Method, Response, StatusCode, header::CONTENT_TYPE, request::Parts};

use crate::{
    body::Body,
    exchange::{Exchange, error_headers, version_of},
    hosted::Hosted,
    jsonrpc,
    router::Inner,
    sse::EventBody,
};

/// Answers a request to a path below the agent's own.
pub(crate) async fn answer<B>(router: &Inner, agent: &Hosted, head: &Parts, peer: Option<IpAddr>, below: &str, body: B) -> Response<Body>
where
    B: http_body::Body<Data = Bytes>,
    B::Error: Into<BoxError>,
{
    let method = if head.method == Method::HEAD { "GET" } else { head.method.as_str() };
    let v1_base = agent.path.ends_with("/v1");
    let said = version_of(head);
    let mut found = Route::find(method, below, said.as_deref(), v1_base);
    if said.is_none() && found.is_err() && router.lenient_version {
        found = Route::find(method, below, Some(Version::LATEST.as_str()), v1_base);
    }
    let route = match found {
        Ok(Some(route)) => route,
        Ok(None) => {
            router.meter.refused();
            let error = Error::new(ErrorKind::MethodNotFound, "There is nothing at this path for this method");
            return failure(rest::dialect_of_path(below), &error);
        }
        Err(error) => {
            router.meter.refused();
            return failure(rest::dialect_of_path(below), &error);
        }
    };
    let usual = rest::dialect(route.version);
    let exchange = match Exchange::begin(router, agent, head, peer).await {
        Ok(exchange) => exchange,
        Err(denial) => {
            let mut response = failure(usual, &denial.error);
            denial.headers(response.headers_mut());
            return response;
        }
    };
    let body = match exchange.read(body).await {
        Ok(body) => body,
        Err(refusal) => {
            exchange.router.meter.refused();
            return failure_as(usual, &refusal.error, refusal.status);
        }
    };
    let dialect = rest::dialect_of_body(route.version, &body);
    let read = || {
        exchange.demand_served(route.version, Binding::HttpJson)?;
        if !body.is_empty() {
            exchange.demand_json()?;
        }
        route.request(dialect, exchange.head.uri.query().unwrap_or_default(), &body, &exchange.router.limits.message)
    };
    let request = match read() {
        Ok(request) => request,
        Err(error) => {
            exchange.router.meter.refused();
            return failure(dialect, &error);
        }
    };
    let origin = request.origin().unwrap_or_else(|| Origin::new(route.version, Binding::HttpJson));
    let done = exchange.run(route.version, Binding::HttpJson, Box::new(request)).await;
    let mut response = match done.answer {
        Ok(Answer::Reply(reply)) => match dialect.encode_reply(&reply) {
            Ok(body) => json(dialect, body),
            Err(error) => failure(dialect, &error),
        },
        Ok(Answer::Stream(events)) => {
            let stream_end = exchange.stream_end();
            let Some(permit) = done.permit else { return failure(dialect, &Error::internal("a stream without a permit")) };
            let memory = StreamMemory::new(origin);
            jsonrpc::stream(EventBody::new(events, dialect, memory, None, exchange.router.limits.keep_alive, stream_end, permit))
        }
        Err(error) => failure(dialect, &error),
    };
    exchange.answer_headers(&done.caller, done.challenges, response.headers_mut());
    response
}

/// An error before any version is known, in the form of v1.0.
pub(crate) fn refusal(error: &Error, status: StatusCode) -> Response<Body> {
    failure_as(rest::dialect(Version::LATEST), error, status)
}

fn failure(dialect: Dialect, error: &Error) -> Response<Body> {
    let status = errors::http_status(error.kind(), dialect.version());
    failure_as(dialect, error, StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR))
}

fn failure_as(dialect: Dialect, error: &Error, status: StatusCode) -> Response<Body> {
    // Errors can always be written.
    let body = dialect.encode_http_error_as(error, status.as_u16()).unwrap_or_default();
    let mut response = Response::new(Body::bytes(body));
    *response.status_mut() = status;
    // Some clients read errors of this type only.
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    error_headers(error.kind(), response.headers_mut());
    response
}

fn json(dialect: Dialect, body: impl Into<Bytes>) -> Response<Body> {
    let mut response = Response::new(Body::bytes(body));
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(facts(dialect.version()).media_type));
    response
}
