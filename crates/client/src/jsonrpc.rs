//! JSON-RPC: every method of every version is a POST to one URL.

use std::sync::atomic::{AtomicI64, Ordering};

use bytes::Bytes;
use chancery_core::{Error, ErrorKind, Operation, Reply, Request, Version};
use chancery_wire::{Dialect, StreamMemory, facts, jsonrpc, jsonrpc::Id, methods};
use http::{
    HeaderValue, Method,
    header::{ACCEPT, CONTENT_TYPE},
};

use crate::{
    failure::Failed,
    http::{Exchange, Http, RequestHead, bare_status, with_status},
    rest::Rest,
    source::{Arrived, Frames, Source, enveloped_events},
};

const JSON: HeaderValue = HeaderValue::from_static("application/json");

/// An agent at a URL.
#[derive(Debug)]
pub(crate) struct JsonRpc {
    http: Http,
    url: String,
    dialect: Dialect,
    calls: AtomicI64,
}

impl JsonRpc {
    pub(crate) fn new(http: Http, url: &str, version: Version) -> Result<Self, Error> {
        let dialect = Dialect::of(version, chancery_core::Binding::JsonRpc);
        let dialect = dialect.ok_or_else(|| Error::new(ErrorKind::UnsupportedOperation, format!("A2A {version} has no JSON-RPC")))?;
        Ok(Self { http, url: url.to_owned(), dialect, calls: AtomicI64::new(1) })
    }

    pub(crate) async fn reply(&self, request: &Request, head: RequestHead) -> Result<Reply, Failed> {
        let operation = request.operation();
        if operation == Operation::GetExtendedCard && facts(self.dialect.version()).gets_extended_card {
            return Rest::beside(self.http.clone(), &self.url, self.dialect).reply(request, head).await;
        }
        let exchange = self.exchange(request, head, JSON).await?;
        let told = Told::of(&exchange);
        let body = exchange.read(self.http.limit).await?;
        let result = self.result(&told, &body)?;
        self.dialect.decode_reply(operation, result).map_err(Failed::unread)
    }

    pub(crate) async fn events(&self, request: &Request, head: RequestHead, mut memory: StreamMemory) -> Result<Source, Failed> {
        let exchange = self.exchange(request, head, HeaderValue::from_static("text/event-stream, application/json")).await?;
        if exchange.is_event_stream() {
            return Ok(Source::Sse(Box::new(Frames::new(exchange, &self.http, self.dialect, memory, true))));
        }
        let told = Told::of(&exchange);
        let body = exchange.read(self.http.limit).await?;
        self.result(&told, &body)?;
        let events = enveloped_events(self.dialect, &body, &mut memory)?;
        Ok(Source::Once(Some(Arrived { seq: None, events })))
    }

    async fn exchange(&self, request: &Request, mut head: RequestHead, accept: HeaderValue) -> Result<Exchange, Failed> {
        let (version, operation) = (self.dialect.version(), request.operation());
        let method = methods::rpc_name(version, operation);
        let method = method.ok_or_else(|| Error::new(ErrorKind::UnsupportedOperation, format!("A2A {version} has no {operation}")))?;
        let id = Id::number(self.calls.fetch_add(1, Ordering::Relaxed));
        let body = jsonrpc::call(&id, method, &self.dialect.encode_request(request)?);
        head.headers.insert(CONTENT_TYPE, JSON);
        head.headers.insert(ACCEPT, accept);
        self.http.exchange(Method::POST, &self.url, head, Some(Bytes::from(body))).await
    }

    /// The result in a body, or the error: the peer's own, that of its HTTP status, or that it makes no
    /// sense.
    fn result<'a>(&self, told: &Told, body: &'a [u8]) -> Result<&'a [u8], Failed> {
        match jsonrpc::Response::parse(body) {
            Ok(jsonrpc::Response { outcome: Err(error), .. }) => {
                Err(with_status(told.status, self.dialect.decode_rpc_error(error), told.retry_after))
            }
            Ok(jsonrpc::Response { outcome: Ok(result), .. }) if told.success => Ok(result),
            Err(_) if told.success => Err(Failed::garbage(format!("the agent's answer ({}) is not a JSON-RPC response", told.media_type))),
            _ => Err(bare_status(told.status, self.dialect.decode_http_error(told.status, body), told.retry_after)),
        }
    }
}

/// What the head of an answer says.
pub(crate) struct Told {
    pub(crate) status: u16,
    pub(crate) success: bool,
    pub(crate) media_type: String,
    pub(crate) retry_after: Option<std::time::Duration>,
}

impl Told {
    pub(crate) fn of(exchange: &Exchange) -> Self {
        let media_type = exchange.media_type();
        let media_type = if media_type.is_empty() { "of no type".to_owned() } else { media_type };
        Self { status: exchange.status(), success: exchange.is_success(), media_type, retry_after: exchange.retry_after() }
    }
}
