//! gRPC: calls over one HTTP/2 channel. What is in a message is `chancery-wire`'s business; here it is bytes.

use std::{error::Error as _, future::Future, pin::Pin, sync::OnceLock, time::Duration};

use ::http::{HeaderMap, uri::PathAndQuery};
use bytes::{Buf, BufMut};
use chancery_core::{Binding, Bytes, Error, ErrorKind, Operation, Reply, Request, Version};
use chancery_net::{Connector, Reach};
use chancery_wire::{Dialect, StreamMemory, errors, grpc};
use tokio::time::Instant;
use tonic::{
    Code, ConnectError, Status, Streaming, TimeoutExpired,
    client::Grpc as Caller,
    codec::{Codec, DecodeBuf, Decoder, EncodeBuf, Encoder},
    metadata::MetadataMap,
    transport::{Channel, Endpoint},
};

use crate::{
    builder::Settings,
    clock,
    failure::{Failed, Reached},
    http::{self, RequestHead, dry_run},
    observer::{ObserverSlot, Wire, WireEvent, WireRequest, WireResponse},
    source::{Arrived, Source},
};

/// The media type of gRPC.
const GRPC: &str = "application/grpc";

/// How long a stream may take to begin, before it counts as one whose first event is still to come: some agents
/// say nothing at all before it.
const BEGINNING: Duration = Duration::from_secs(5);

/// How often a connection with streams on it is asked whether it is still there.
const PULSE: Duration = Duration::from_secs(30);

/// An agent at an authority.
#[derive(Debug)]
pub(crate) struct Grpc {
    endpoint: Endpoint,
    /// Made by the first call, because it needs a runtime.
    channel: OnceLock<Channel>,
    dialect: Dialect,
    limit: usize,
    silence: Duration,
    observer: ObserverSlot,
    url: String,
    reach: Reach,
}

impl Grpc {
    pub(crate) fn new(settings: &Settings, url: &str, version: Version) -> Result<Self, Error> {
        let dialect = Dialect::of(version, Binding::Grpc);
        let dialect = dialect.ok_or_else(|| Error::new(ErrorKind::UnsupportedOperation, format!("A2A {version} has no gRPC")))?;
        let unusable = |error| Error::new(ErrorKind::InvalidParams, "the agent's gRPC address cannot be used").caused_by(error);
        let url = address(url);
        let mut endpoint = Endpoint::from_shared(url.clone())
            .map_err(|error| unusable(chancery_core::BoxError::from(error)))?
            .connect_timeout(settings.connect_timeout)
            .tcp_nodelay(true)
            .http2_keep_alive_interval(PULSE)
            .keep_alive_timeout(PULSE);
        if url.starts_with("https:") {
            endpoint = crate::tls::grpc(&settings.tls, endpoint)?;
        }
        let (limit, silence, observer) = (settings.limit, settings.silence, settings.observer.clone());
        let reach = settings.reach();
        Ok(Self { endpoint, channel: OnceLock::new(), dialect, limit, silence, observer, url, reach })
    }

    /// The origin that is called.
    pub(crate) fn origin(&self) -> String {
        url::Url::parse(&self.url).map(|url| url.origin().ascii_serialization()).unwrap_or_else(|_| self.url.clone())
    }

    pub(crate) async fn reply(&self, request: &Request, head: RequestHead, deadline: Instant) -> Result<Reply, Failed> {
        self.show(request, &head)?;
        let reply = self.call(request, head.headers, deadline).await;
        self.show_reply(&reply);
        reply
    }

    async fn call(&self, request: &Request, headers: HeaderMap, deadline: Instant) -> Result<Reply, Failed> {
        let operation = request.operation();
        let (mut caller, path) = (self.caller().await?, self.path(operation)?);
        let mut call = call(self.dialect.encode_request(request)?, headers);
        call.set_timeout(deadline.saturating_duration_since(Instant::now()));
        let answer = caller.unary(call, path, RawCodec).await.map_err(|status| failed(self.dialect, &status))?;
        self.dialect.decode_reply(operation, answer.get_ref()).map_err(Failed::unread)
    }

    pub(crate) async fn events(&self, request: &Request, head: RequestHead, memory: StreamMemory) -> Result<Source, Failed> {
        self.show(request, &head)?;
        let elements = self.stream(request, head.headers).await.inspect_err(|failed| self.show_failure(failed))?;
        self.show_response(200, &[]);
        let (dialect, silence, observer) = (self.dialect, self.silence, self.observer.clone());
        Ok(Source::Grpc(Box::new(GrpcEvents { elements, dialect, memory, silence, observer })))
    }

    /// Shows a request to whoever looks, and goes no further if that is all that is wanted.
    fn show(&self, request: &Request, head: &RequestHead) -> Result<(), Failed> {
        if self.observer.is_open() {
            let version = self.dialect.version();
            let (path, body) = (self.path(request.operation())?, grpc::request_json(version, request).unwrap_or_default());
            self.observer.see(|| {
                Wire::Request(WireRequest {
                    operation: Some(request.operation()),
                    version: Some(version),
                    binding: Binding::Grpc,
                    method: path.as_str().trim_start_matches('/'),
                    url: &self.url,
                    headers: &head.headers,
                    credentials: &head.placed,
                    body: &body,
                })
            });
        }
        if head.dry { Err(dry_run()) } else { Ok(()) }
    }

    fn show_reply(&self, reply: &Result<Reply, Failed>) {
        match reply {
            Ok(reply) if self.observer.is_open() => self.show_response(200, &grpc::reply_json(reply).unwrap_or_default()),
            Ok(_) => {}
            Err(failed) => self.show_failure(failed),
        }
    }

    /// Shows what the agent refused with, if it was the agent.
    fn show_failure(&self, failed: &Failed) {
        if self.observer.is_open() && matches!(failed.reached, Reached::Answer | Reached::Busy) {
            let status = errors::http_status(failed.error.kind(), Version::LATEST);
            self.show_response(status, failed.error.to_string().as_bytes());
        }
    }

    fn show_response(&self, status: u16, body: &[u8]) {
        let headers = &HeaderMap::new();
        self.observer.see(|| Wire::Response(WireResponse { status, content_type: GRPC, headers, body }));
    }

    async fn stream(&self, request: &Request, headers: HeaderMap) -> Result<Incoming, Failed> {
        let (mut caller, path) = (self.caller().await?, self.path(request.operation())?);
        let call = call(self.dialect.encode_request(request)?, headers);
        let mut opening: Opening =
            Box::pin(async move { caller.server_streaming(call, path, RawCodec).await.map(tonic::Response::into_inner) });
        match tokio::time::timeout(BEGINNING, &mut opening).await {
            Ok(Ok(stream)) => Ok(Incoming::Open(Box::new(stream))),
            Ok(Err(status)) => Err(failed(self.dialect, &status)),
            Err(_) => Ok(Incoming::Opening(opening)),
        }
    }

    async fn caller(&self) -> Result<Caller<Channel>, Failed> {
        let channel = self.channel.get_or_init(|| self.endpoint.connect_with_connector_lazy(Connector::new(self.reach.clone()))).clone();
        let mut caller = Caller::new(channel).max_decoding_message_size(self.limit);
        caller.ready().await.map_err(Failed::unreachable)?;
        Ok(caller)
    }

    fn path(&self, operation: Operation) -> Result<PathAndQuery, Error> {
        let version = self.dialect.version();
        let path = grpc::path(version, operation);
        let path = path.ok_or_else(|| Error::new(ErrorKind::UnsupportedOperation, format!("A2A {version} has no {operation}")))?;
        PathAndQuery::try_from(path).map_err(Error::internal)
    }
}

fn call(message: Vec<u8>, headers: HeaderMap) -> tonic::Request<Bytes> {
    let mut call = tonic::Request::new(message.into());
    *call.metadata_mut() = MetadataMap::from_headers(headers);
    call
}

/// A URL for an address that may be a bare `host:port`. Those are spoken to with TLS, unless they are on
/// this machine.
fn address(url: &str) -> String {
    if url.contains("://") {
        return url.to_owned();
    }
    let host = url.rsplit_once(':').map_or(url, |(host, _)| host);
    let local = host == "localhost" || host == "[::1]" || host.starts_with("127.");
    format!("{}://{url}", if local { "http" } else { "https" })
}

/// What a status means, and whether it came from the agent at all.
fn failed(dialect: Dialect, status: &Status) -> Failed {
    let local = status.source().is_some();
    if local && chain_has::<ConnectError>(status) {
        return Failed::unreachable(status.clone());
    }
    if local && chain_has::<TimeoutExpired>(status) {
        return Failed::too_late();
    }
    if local && matches!(status.code(), Code::Unavailable | Code::Unknown | Code::Internal | Code::Cancelled) {
        return Failed::cut(status.clone());
    }
    if local && status.code() == Code::OutOfRange || status.message().contains("decoded message length too large") {
        return Failed::garbage("the agent's answer is larger than allowed");
    }
    let error = dialect.decode_grpc_error(status.code().into(), status.message(), status.details());
    match status.code() {
        Code::Unavailable => Failed::busy(error, 503, retry_after(status)),
        Code::ResourceExhausted => Failed::busy(error, 429, retry_after(status)),
        Code::Unauthenticated => Failed::refused(error, 401),
        Code::PermissionDenied => Failed::refused(error, 403),
        _ => error.into(),
    }
}

/// After how long the peer wants to be asked again, if it said so.
fn retry_after(status: &Status) -> Option<Duration> {
    http::retry_after(status.metadata().get("retry-after")?.to_str().ok()?, clock::now())
}

fn chain_has<E: std::error::Error + 'static>(status: &Status) -> bool {
    let mut cause = status.source();
    while let Some(error) = cause {
        if error.is::<E>() {
            return true;
        }
        cause = error.source();
    }
    false
}

/// A stream of events.
pub(crate) struct GrpcEvents {
    elements: Incoming,
    dialect: Dialect,
    memory: StreamMemory,
    silence: Duration,
    observer: ObserverSlot,
}

type Opening = Pin<Box<dyn Future<Output = Result<Streaming<Bytes>, Status>> + Send>>;

/// The messages of a stream that may not have begun.
enum Incoming {
    Opening(Opening),
    Open(Box<Streaming<Bytes>>),
}

impl Incoming {
    async fn message(&mut self) -> Result<Option<Bytes>, Status> {
        loop {
            match self {
                Self::Opening(opening) => *self = Self::Open(Box::new(opening.await?)),
                Self::Open(stream) => return stream.message().await,
            }
        }
    }
}

impl GrpcEvents {
    pub(crate) async fn next(&mut self) -> Result<Option<Arrived>, Failed> {
        let silence = self.silence;
        let element = match tokio::time::timeout(silence, self.elements.message()).await {
            Ok(element) => element.map_err(|status| failed(self.dialect, &status))?,
            Err(_) => return Err(Failed::cut(format!("nothing came for {silence:?}"))),
        };
        let Some(element) = element else { return Ok(None) };
        let events = self.dialect.decode_event(&element, &mut self.memory).map_err(Failed::unread)?;
        let seq = self.memory.seq;
        if self.observer.is_open() {
            let id = seq.map(|seq| seq.to_string());
            for event in &events {
                let data = serde_json::to_vec(event).unwrap_or_default();
                self.observer.see(|| Wire::Event(WireEvent { id: id.as_deref(), data: &data }));
            }
        }
        Ok(Some(Arrived { seq, events }))
    }
}

/// Messages as they are: bytes, with neither copy nor meaning.
#[derive(Debug, Clone, Copy)]
struct RawCodec;

impl Codec for RawCodec {
    type Encode = Bytes;
    type Decode = Bytes;
    type Encoder = Self;
    type Decoder = Self;

    fn encoder(&mut self) -> Self {
        *self
    }

    fn decoder(&mut self) -> Self {
        *self
    }
}

impl Encoder for RawCodec {
    type Item = Bytes;
    type Error = Status;

    fn encode(&mut self, message: Bytes, frame: &mut EncodeBuf<'_>) -> Result<(), Status> {
        frame.put(message);
        Ok(())
    }
}

impl Decoder for RawCodec {
    type Item = Bytes;
    type Error = Status;

    fn decode(&mut self, frame: &mut DecodeBuf<'_>) -> Result<Option<Bytes>, Status> {
        Ok(Some(frame.copy_to_bytes(frame.remaining())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_without_a_scheme_is_spoken_to_with_tls_unless_it_is_here() {
        for (url, expected) in [
            ("127.0.0.1:80", "http://127.0.0.1:80"),
            ("localhost:80", "http://localhost:80"),
            ("[::1]:80", "http://[::1]:80"),
            ("agent.example:443", "https://agent.example:443"),
            ("http://agent.example", "http://agent.example"),
        ] {
            assert_eq!(address(url), expected);
        }
    }
}
