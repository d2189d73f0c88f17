//! gRPC: the services of v1.0 and v0.3.

use std::{error::Error as _, future::Future, pin::Pin, sync::OnceLock, time::Duration};

use ::http::{HeaderMap, uri::PathAndQuery};
use chancery_core::{Binding, Error, ErrorKind, Event, Object, Operation, Reply, Request, Seq, Version, extension};
use chancery_net::Guard;
use chancery_wire::{
    Dialect, errors,
    grpc::{v0_3, v1_0},
    methods,
    proto::{a2a_v1, google_rpc, lf_a2a_v1},
};
use prost::Message;
use serde_json::json;
use tokio::time::Instant;
use tonic::{
    Code, ConnectError, Status, Streaming, TimeoutExpired,
    client::Grpc as Caller,
    metadata::MetadataMap,
    transport::{Channel, Endpoint},
};
use tonic_prost::ProstCodec;

use crate::{
    builder::Settings,
    clock,
    failure::{Failed, Reached},
    http::{self, Head, dry_run},
    observer::{Eye, Wire, WireEvent, WireRequest, WireResponse},
    source::{Arrived, Source},
    tunnel::Connector,
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
    version: Version,
    limit: usize,
    silence: Duration,
    eye: Eye,
    url: String,
    guard: Option<Guard>,
}

impl Grpc {
    pub(crate) fn new(settings: &Settings, url: &str, version: Version) -> Result<Self, Error> {
        if !matches!(version, Version::V1_0 | Version::V0_3) {
            return Err(Error::new(ErrorKind::UnsupportedOperation, format!("A2A {version} has no gRPC")));
        }
        let unusable = |error| Error::new(ErrorKind::InvalidParams, "the agent's gRPC address cannot be used").caused_by(error);
        let url = address(url);
        let mut endpoint = Endpoint::from_shared(url.clone())
            .map_err(|error| unusable(chancery_core::BoxError::from(error)))?
            .connect_timeout(settings.connect_timeout)
            .tcp_nodelay(true)
            .http2_keep_alive_interval(PULSE)
            .keep_alive_timeout(PULSE);
        if url.starts_with("https:") {
            endpoint = settings.tls.grpc(endpoint)?;
        }
        let (limit, silence, eye) = (settings.limit, settings.silence, settings.eye.clone());
        let guard = settings.guard.clone();
        Ok(Self { endpoint, channel: OnceLock::new(), version, limit, silence, eye, url, guard })
    }

    /// The origin that is called.
    pub(crate) fn origin(&self) -> String {
        url::Url::parse(&self.url).map(|url| url.origin().ascii_serialization()).unwrap_or_else(|_| self.url.clone())
    }

    pub(crate) async fn reply(&self, request: &Request, head: Head, deadline: Instant) -> Result<Reply, Failed> {
        self.show(request, &head)?;
        let reply = match self.version {
            Version::V1_0 => self.reply_v1_0(request, head.headers, deadline).await,
            _ => self.reply_v0_3(request, head.headers, deadline).await,
        };
        self.show_reply(&reply);
        reply
    }

    async fn reply_v1_0(&self, request: &Request, headers: HeaderMap, deadline: Instant) -> Result<Reply, Failed> {
        use lf_a2a_v1 as pb;
        let call = Unary { grpc: self, operation: request.operation(), headers, deadline };
        Ok(match request {
            Request::SendMessage(send) => {
                Reply::Sent(read(v1_0::send_reply_from_proto(call.ask(v1_0::send_message_to_proto(send)).await?))?)
            }
            Request::GetTask(get) => task(v1_0::task_from_proto(call.ask(v1_0::get_task_to_proto(get)).await?))?,
            Request::ListTasks(list) => Reply::Tasks(read(v1_0::task_page_from_proto(call.ask(v1_0::list_tasks_to_proto(list)).await?))?),
            Request::CancelTask(cancel) => task(v1_0::task_from_proto(call.ask(v1_0::cancel_task_to_proto(cancel)).await?))?,
            Request::CreatePushConfig(config) => {
                config_reply(v1_0::push_config_from_proto(call.ask(v1_0::push_config_to_proto(config)).await?))?
            }
            Request::GetPushConfig(get) => {
                config_reply(v1_0::push_config_from_proto(call.ask(v1_0::get_push_config_to_proto(get)).await?))?
            }
            Request::ListPushConfigs(list) => {
                let page: pb::ListTaskPushNotificationConfigsResponse = call.ask(v1_0::list_push_configs_to_proto(list)).await?;
                Reply::PushConfigs(read(v1_0::push_config_page_from_proto(page))?)
            }
            Request::DeletePushConfig(delete) => {
                call.ask::<_, ()>(v1_0::delete_push_config_to_proto(delete)).await?;
                Reply::Deleted
            }
            Request::GetExtendedCard(get) => {
                Reply::Card(Box::new(read(v1_0::card_from_proto(call.ask(v1_0::get_extended_card_to_proto(get)).await?))?))
            }
            Request::StreamMessage(_) | Request::Subscribe(_) => return Err(answers_with_a_stream(request.operation())),
        })
    }

    async fn reply_v0_3(&self, request: &Request, headers: HeaderMap, deadline: Instant) -> Result<Reply, Failed> {
        use a2a_v1 as pb;
        let call = Unary { grpc: self, operation: request.operation(), headers, deadline };
        Ok(match request {
            Request::SendMessage(send) => {
                Reply::Sent(read(v0_3::send_reply_from_proto(call.ask(v0_3::send_message_to_proto(send)).await?))?)
            }
            Request::GetTask(get) => task(v0_3::task_from_proto(call.ask(v0_3::get_task_to_proto(get)).await?))?,
            Request::ListTasks(list) => Reply::Tasks(read(v0_3::task_page_from_proto(call.ask(v0_3::list_tasks_to_proto(list)).await?))?),
            Request::CancelTask(cancel) => task(v0_3::task_from_proto(call.ask(v0_3::cancel_task_to_proto(cancel)).await?))?,
            Request::CreatePushConfig(config) => {
                config_reply(v0_3::push_config_from_proto(call.ask(v0_3::create_push_config_to_proto(config)).await?))?
            }
            Request::GetPushConfig(get) => {
                config_reply(v0_3::push_config_from_proto(call.ask(v0_3::get_push_config_to_proto(get)).await?))?
            }
            Request::ListPushConfigs(list) => {
                let page: pb::ListTaskPushNotificationConfigResponse = call.ask(v0_3::list_push_configs_to_proto(list)).await?;
                Reply::PushConfigs(read(v0_3::push_config_page_from_proto(page))?)
            }
            Request::DeletePushConfig(delete) => {
                call.ask::<_, ()>(v0_3::delete_push_config_to_proto(delete)).await?;
                Reply::Deleted
            }
            Request::GetExtendedCard(get) => {
                Reply::Card(Box::new(read(v0_3::card_from_proto(call.ask(v0_3::get_extended_card_to_proto(get)).await?))?))
            }
            Request::StreamMessage(_) | Request::Subscribe(_) => return Err(answers_with_a_stream(request.operation())),
        })
    }

    pub(crate) async fn events(&self, request: &Request, head: Head) -> Result<Source, Failed> {
        self.show(request, &head)?;
        let elements = self.elements(request, head.headers).await.inspect_err(|failed| self.show_failure(failed))?;
        self.show_response(200, &[]);
        Ok(Source::Grpc(Box::new(GrpcEvents { elements, version: self.version, silence: self.silence, eye: self.eye.clone() })))
    }

    async fn elements(&self, request: &Request, headers: HeaderMap) -> Result<Elements, Failed> {
        let operation = request.operation();
        Ok(match (self.version, request) {
            (Version::V1_0, Request::StreamMessage(send)) => {
                Elements::V1_0(self.stream(operation, v1_0::send_message_to_proto(send), headers).await?)
            }
            (Version::V1_0, Request::Subscribe(subscribe)) => {
                Elements::V1_0(self.stream(operation, v1_0::subscribe_to_proto(subscribe), headers).await?)
            }
            (_, Request::StreamMessage(send)) => Elements::V0_3(self.stream(operation, v0_3::send_message_to_proto(send), headers).await?),
            (_, Request::Subscribe(subscribe)) => {
                Elements::V0_3(self.stream(operation, v0_3::subscribe_to_proto(subscribe), headers).await?)
            }
            _ => return Err(Error::internal(format!("{operation} answers with no stream")).into()),
        })
    }

    /// Shows a request to whoever looks, and goes no further if that is all that is wanted.
    fn show(&self, request: &Request, head: &Head) -> Result<(), Failed> {
        if self.eye.is_open() {
            let (path, body) = (self.path(request.operation())?, json_of(self.version, request));
            self.eye.see(|| {
                Wire::Request(WireRequest {
                    operation: Some(request.operation()),
                    version: Some(self.version),
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
            Ok(reply) if self.eye.is_open() => self.show_response(200, &Dialect::V1_0.encode_reply(reply).unwrap_or_default()),
            Ok(_) => {}
            Err(failed) => self.show_failure(failed),
        }
    }

    /// Shows what the agent refused with, if it was the agent.
    fn show_failure(&self, failed: &Failed) {
        if self.eye.is_open() && matches!(failed.reached, Reached::Answer | Reached::Busy) {
            let status = errors::http_status(failed.error.kind(), Version::V1_0);
            self.show_response(status, failed.error.to_string().as_bytes());
        }
    }

    fn show_response(&self, status: u16, body: &[u8]) {
        let headers = &HeaderMap::new();
        self.eye.see(|| Wire::Response(WireResponse { status, content_type: GRPC, headers, body }));
    }

    async fn stream<Q, A>(&self, operation: Operation, message: Q, headers: HeaderMap) -> Result<Incoming<A>, Failed>
    where
        Q: Message + Send + Sync + 'static,
        A: Message + Default + Send + Sync + 'static,
    {
        let (mut caller, path) = (self.caller().await?, self.path(operation)?);
        let mut opening: Opening<A> = Box::pin(async move {
            let answer = caller.server_streaming(request(message, headers), path, ProstCodec::<Q, A>::default()).await;
            answer.map(tonic::Response::into_inner)
        });
        match tokio::time::timeout(BEGINNING, &mut opening).await {
            Ok(Ok(stream)) => Ok(Incoming::Open(Box::new(stream))),
            Ok(Err(status)) => Err(failed(self.version, &status)),
            Err(_) => Ok(Incoming::Opening(opening)),
        }
    }

    async fn caller(&self) -> Result<Caller<Channel>, Failed> {
        let channel = self.channel.get_or_init(|| self.endpoint.connect_with_connector_lazy(Connector::new(self.guard.clone()))).clone();
        let mut caller = Caller::new(channel).max_decoding_message_size(self.limit);
        caller.ready().await.map_err(Failed::unreachable)?;
        Ok(caller)
    }

    fn path(&self, operation: Operation) -> Result<PathAndQuery, Error> {
        let service = if self.version == Version::V1_0 { methods::GRPC_V1_0 } else { methods::GRPC_V0_3 };
        let call = methods::grpc_name(self.version, operation);
        let call = call.ok_or_else(|| Error::new(ErrorKind::UnsupportedOperation, format!("A2A {} has no {operation}", self.version)))?;
        PathAndQuery::try_from(format!("/{service}/{call}")).map_err(Error::internal)
    }
}

/// One call with one answer.
struct Unary<'a> {
    grpc: &'a Grpc,
    operation: Operation,
    headers: HeaderMap,
    deadline: Instant,
}

impl Unary<'_> {
    async fn ask<Q, A>(self, message: Q) -> Result<A, Failed>
    where
        Q: Message + Send + Sync + 'static,
        A: Message + Default + Send + Sync + 'static,
    {
        let (mut caller, path) = (self.grpc.caller().await?, self.grpc.path(self.operation)?);
        let mut request = request(message, self.headers);
        request.set_timeout(self.deadline.saturating_duration_since(Instant::now()));
        let answer = caller.unary(request, path, ProstCodec::<Q, A>::default()).await;
        answer.map(tonic::Response::into_inner).map_err(|status| failed(self.grpc.version, &status))
    }
}

fn request<Q>(message: Q, headers: HeaderMap) -> tonic::Request<Q> {
    let mut request = tonic::Request::new(message);
    *request.metadata_mut() = MetadataMap::from_headers(headers);
    request
}

fn read<T>(converted: chancery_core::Result<T>) -> Result<T, Failed> {
    converted.map_err(Failed::unread)
}

fn task(converted: chancery_core::Result<chancery_core::Task>) -> Result<Reply, Failed> {
    read(converted).map(|task| Reply::Task(Box::new(task)))
}

fn config_reply(converted: chancery_core::Result<chancery_core::PushConfig>) -> Result<Reply, Failed> {
    read(converted).map(|config| Reply::PushConfig(Box::new(config)))
}

fn answers_with_a_stream(operation: Operation) -> Failed {
    Error::internal(format!("{operation} answers with a stream")).into()
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
fn failed(version: Version, status: &Status) -> Failed {
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
    let bare = || google_rpc::Status { code: status.code().into(), message: status.message().to_owned(), details: Vec::new() };
    let told = match google_rpc::Status::decode(status.details()) {
        Ok(told) if !status.details().is_empty() => told,
        _ => bare(),
    };
    let error = if version == Version::V1_0 { v1_0::error_from_status(&told) } else { v0_3::error_from_status(&told) };
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

/// A request as JSON, as tools that call gRPC take it. Names are written out in v0.3.
fn json_of(version: Version, request: &Request) -> Vec<u8> {
    let name = |task: &chancery_core::TaskId| format!("tasks/{task}");
    let config = |task: &chancery_core::TaskId, id: &str| format!("tasks/{task}/pushNotificationConfigs/{id}");
    let value = match (version, request) {
        (Version::V1_0, _) => return Dialect::V1_0.encode_request(request).unwrap_or_default(),
        (_, Request::GetTask(get)) => match get.history_length {
            Some(length) => json!({"name": name(&get.id), "historyLength": length}),
            None => json!({"name": name(&get.id)}),
        },
        (_, Request::CancelTask(cancel)) => json!({"name": name(&cancel.id)}),
        (_, Request::Subscribe(subscribe)) => json!({"name": name(&subscribe.id)}),
        (_, Request::GetPushConfig(get)) => {
            json!({"name": config(&get.task_id, get.id.as_ref().map_or("", chancery_core::PushConfigId::as_str))})
        }
        (_, Request::DeletePushConfig(delete)) => json!({"name": config(&delete.task_id, delete.id.as_str())}),
        (_, Request::ListPushConfigs(list)) => json!({"parent": name(&list.task_id)}),
        _ => return Dialect::V0_3Rest.encode_request(request).unwrap_or_default(),
    };
    value.to_string().into_bytes()
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
    elements: Elements,
    version: Version,
    silence: Duration,
    eye: Eye,
}

enum Elements {
    V1_0(Incoming<lf_a2a_v1::StreamResponse>),
    V0_3(Incoming<a2a_v1::StreamResponse>),
}

type Opening<A> = Pin<Box<dyn Future<Output = Result<Streaming<A>, Status>> + Send>>;

/// The messages of a stream that may not have begun.
enum Incoming<A> {
    Opening(Opening<A>),
    Open(Box<Streaming<A>>),
}

impl<A> Incoming<A> {
    async fn message(&mut self) -> Result<Option<A>, Status> {
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
        let element = async {
            match &mut self.elements {
                Elements::V1_0(stream) => stream.message().await.map(|element| element.map(v1_0::event_from_proto)),
                Elements::V0_3(stream) => stream.message().await.map(|element| element.map(v0_3::event_from_proto)),
            }
        };
        let element = match tokio::time::timeout(silence, element).await {
            Ok(element) => element.map_err(|status| failed(self.version, &status))?,
            Err(_) => return Err(Failed::cut(format!("nothing came for {silence:?}"))),
        };
        let Some(event) = element else { return Ok(None) };
        let mut event = read(event)?;
        let seq = take_seq(&mut event);
        if self.eye.is_open() {
            let data = serde_json::to_vec(&event).unwrap_or_default();
            let id = seq.map(|seq| seq.to_string());
            self.eye.see(|| Wire::Event(WireEvent { id: id.as_deref(), data: &data }));
        }
        Ok(Some(Arrived { seq, events: vec![event] }))
    }
}

/// Takes the place in the log out of an event's metadata, where gRPC carries it.
fn take_seq(event: &mut Event) -> Option<Seq> {
    let metadata: &mut Object = match event {
        Event::Task(task) => &mut task.metadata,
        Event::Message(message) => &mut message.metadata,
        Event::Status(update) => &mut update.metadata,
        Event::Artifact(update) => &mut update.metadata,
        _ => return None,
    };
    let number = match metadata.get(extension::SEQUENCE)? {
        serde_json::Value::String(text) => text.parse().ok(),
        // Protobuf has no integers in free JSON.
        value => value.as_u64().or_else(|| value.to_string().trim_end_matches(".0").parse().ok()),
    };
    let seq = Seq::new(number.filter(|number| *number > 0)?);
    metadata.remove(extension::SEQUENCE);
    Some(seq)
}

#[cfg(test)]
mod tests {
    use chancery_core::{Task, TaskState};

    use super::*;

    #[test]
    fn the_place_of_an_event_is_taken_out_of_its_metadata() {
        for value in [json!(7), json!(7.0), json!("7")] {
            let mut task = Task::new("t", "c", TaskState::Working);
            task.metadata.insert(extension::SEQUENCE.to_owned(), value);
            let mut event = Event::from(task);
            assert_eq!(take_seq(&mut event), Some(Seq::new(7)));
            assert_eq!(event, Task::new("t", "c", TaskState::Working).into());
        }
        let mut event = Event::from(Task::new("t", "c", TaskState::Working));
        assert_eq!(take_seq(&mut event), None);
    }

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
