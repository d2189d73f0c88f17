//! HTTP+JSON: each operation has its own path below the agent's URL.

use bytes::Bytes;
use chancery_core::{Error, ErrorKind, Reply, Request, Version};
use chancery_wire::{Dialect, StreamMemory, facts, rest::HttpRequest};
use http::{
    HeaderValue, Method,
    header::{ACCEPT, CONTENT_TYPE},
};

use crate::{
    failure::Failed,
    http::{Exchange, Http, RequestHead, bare_status, with_status},
    jsonrpc::Told,
    source::{Arrived, Frames, Source, bare_events},
    sse::Frame,
};

/// An agent below a URL.
#[derive(Debug)]
pub(crate) struct Rest {
    http: Http,
    /// Without a slash at its end.
    base: String,
    dialect: Dialect,
}

impl Rest {
    pub(crate) fn new(http: Http, url: &str, version: Version) -> Result<Self, Error> {
        let dialect = Dialect::of(version, chancery_core::Binding::HttpJson);
        let dialect = dialect.ok_or_else(|| Error::new(ErrorKind::UnsupportedOperation, format!("A2A {version} has no HTTP+JSON")))?;
        Ok(Self::beside(http, url, dialect))
    }

    /// The paths of a version that has a few of them beside its JSON-RPC.
    pub(crate) fn beside(http: Http, url: &str, dialect: Dialect) -> Self {
        let base = url.trim_end_matches('/');
        // Some cards have what all paths begin with in the URL already.
        let base = base.strip_suffix(facts(dialect.version()).path_prefix).unwrap_or(base);
        Self { http, base: base.to_owned(), dialect }
    }

    pub(crate) async fn reply(&self, request: &Request, head: RequestHead) -> Result<Reply, Failed> {
        let exchange = self.exchange(request, head, "application/a2a+json, application/json").await?;
        let told = Told::of(&exchange);
        let body = self.body(&told, exchange).await?;
        let body: &[u8] = if body.iter().all(u8::is_ascii_whitespace) { b"{}" } else { &body };
        self.dialect.decode_reply(request.operation(), body).map_err(|error| self.unread(&told, body, error))
    }

    pub(crate) async fn events(&self, request: &Request, head: RequestHead, mut memory: StreamMemory) -> Result<Source, Failed> {
        let exchange = self.exchange(request, head, "text/event-stream").await?;
        if exchange.is_event_stream() {
            return Ok(Source::Sse(Box::new(Frames::new(exchange, &self.http, self.dialect, memory, false))));
        }
        let told = Told::of(&exchange);
        let frame = Frame { data: self.body(&told, exchange).await?.to_vec(), ..Frame::default() };
        if serde_json::from_slice::<serde::de::IgnoredAny>(&frame.data).is_err() {
            return Err(Failed::garbage(format!("the agent's answer ({}) is neither an event stream nor JSON", told.media_type)));
        }
        let events = bare_events(self.dialect, &frame, &mut memory)?;
        Ok(Source::Once(Some(Arrived { seq: None, events })))
    }

    async fn exchange(&self, request: &Request, mut head: RequestHead, accept: &'static str) -> Result<Exchange, Failed> {
        let call = HttpRequest::new(self.dialect, request)?;
        let method = Method::from_bytes(call.method.as_bytes()).map_err(Error::internal)?;
        head.headers.insert(ACCEPT, HeaderValue::from_static(accept));
        if call.body.is_some() {
            head.headers.insert(CONTENT_TYPE, HeaderValue::from_static(facts(self.dialect.version()).media_type));
        }
        let url = format!("{}{}", self.base, call.target);
        self.http.exchange(method, &url, head, call.body.map(Bytes::from)).await
    }

    /// The body of an answer, or the error that its status says.
    async fn body(&self, told: &Told, exchange: Exchange) -> Result<Bytes, Failed> {
        let body = exchange.read(self.http.limit).await?;
        if told.success {
            return Ok(body);
        }
        let error = self.dialect.decode_http_error(told.status, &body);
        match serde_json::from_slice::<serde::de::IgnoredAny>(&body) {
            Ok(_) => Err(with_status(told.status, error, told.retry_after)),
            Err(_) => Err(bare_status(told.status, error, told.retry_after)),
        }
    }

    fn unread(&self, told: &Told, body: &[u8], error: Error) -> Failed {
        match serde_json::from_slice::<serde::de::IgnoredAny>(body) {
            Ok(_) => Failed::unread(error),
            Err(_) => Failed::garbage(format!("the agent's answer ({}) is not JSON", told.media_type)),
        }
    }
}
