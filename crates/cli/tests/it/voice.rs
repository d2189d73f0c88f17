//! Clients as plain as can be: each reads a stream event by event, and goes away when it likes.

use std::net::SocketAddr;

use bytes::BytesMut;
use chancery_core::extension;
use chancery_wire::{
    methods::GRPC_V1_0,
    proto::lf_a2a_v1::{self as pb, part::Content, stream_response::Payload},
};
use prost_types::value::Kind;
use serde_json::{Value, json};
use tonic::{
    Request, Streaming,
    client::Grpc,
    codegen::http::uri::PathAndQuery,
    transport::{Channel, Endpoint},
};
use tonic_prost::ProstCodec;

use crate::process::{http, soon};

/// What a client speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Voice {
    /// v1.0 over JSON-RPC.
    JsonRpc,
    /// v0.3 over JSON-RPC.
    OldJsonRpc,
    /// v1.0 over HTTP+JSON.
    Rest,
    /// v1.0 over gRPC.
    Grpc,
}

/// An event: its place in the log, and what was sent.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Heard {
    pub(crate) seq: u64,
    /// JSON in the words of the version; gRPC is shown as its messages are.
    pub(crate) event: Value,
}

/// A stream that is being read. Dropping it closes its connection.
pub(crate) enum Reading {
    Sse(Sse),
    Grpc(Box<Streaming<pb::StreamResponse>>),
}

/// Server-sent events out of an answer.
pub(crate) struct Sse {
    answer: reqwest::Response,
    buffer: BytesMut,
}

impl Voice {
    /// Sends a message and reads its stream.
    pub(crate) async fn send(self, address: SocketAddr, words: &str) -> Reading {
        let part = json!({"text": words});
        let message = json!({"messageId": "m-1", "role": "ROLE_USER", "parts": [part]});
        match self {
            Self::JsonRpc => self.rpc(address, "SendStreamingMessage", json!({"message": message}), None).await,
            Self::OldJsonRpc => {
                let part = json!({"kind": "text", "text": words});
                let message = json!({"kind": "message", "messageId": "m-1", "role": "user", "parts": [part]});
                self.rpc(address, "message/stream", json!({"message": message}), None).await
            }
            Self::Rest => {
                let request = http().post(format!("http://{address}/message:stream")).header("content-type", "application/a2a+json");
                self.open(request.body(json!({"message": message}).to_string()), None).await
            }
            Self::Grpc => {
                let part = pb::Part { content: Some(Content::Text(words.to_owned())), ..Default::default() };
                let (message_id, role) = ("m-1".to_owned(), pb::Role::User.into());
                let message = pb::Message { message_id, role, parts: vec![part], ..Default::default() };
                let request = pb::SendMessageRequest { message: Some(message), ..Default::default() };
                grpc(address, "SendStreamingMessage", request, None).await
            }
        }
    }

    /// Reads on after an event that was seen.
    pub(crate) async fn resume(self, address: SocketAddr, task: &str, after: u64) -> Reading {
        match self {
            Self::JsonRpc => self.rpc(address, "SubscribeToTask", json!({"id": task}), Some(after)).await,
            Self::OldJsonRpc => self.rpc(address, "tasks/resubscribe", json!({"id": task}), Some(after)).await,
            Self::Rest => self.open(http().get(format!("http://{address}/tasks/{task}:subscribe")), Some(after)).await,
            Self::Grpc => {
                let request = pb::SubscribeToTaskRequest { id: task.to_owned(), ..Default::default() };
                grpc(address, "SubscribeToTask", request, Some(after)).await
            }
        }
    }

    /// The whole log of a task, read at one go; the task has ended.
    pub(crate) async fn log(self, address: SocketAddr, task: &str) -> Vec<Heard> {
        let mut reading = self.resume(address, task, 0).await;
        let mut log = Vec::new();
        while let Some(heard) = reading.next().await {
            log.push(heard);
        }
        log
    }

    /// The id of the task that an event is about.
    pub(crate) fn task(self, event: &Value) -> String {
        let id = match self {
            Self::OldJsonRpc if event["kind"] == "task" => &event["id"],
            Self::OldJsonRpc => &event["taskId"],
            _ if event["task"].is_object() => &event["task"]["id"],
            _ => event.as_object().and_then(|event| event.values().next()).map_or(&Value::Null, |update| &update["taskId"]),
        };
        id.as_str().unwrap_or_else(|| panic!("no task in {event}")).to_owned()
    }

    /// Whether an event says that the task has ended well.
    pub(crate) fn completed(self, event: &Value) -> bool {
        match self {
            Self::OldJsonRpc => event["status"]["state"] == "completed",
            _ => event["statusUpdate"]["status"]["state"] == "TASK_STATE_COMPLETED",
        }
    }

    /// The text of the chunk that an event brings.
    pub(crate) fn chunk(self, event: &Value) -> Option<String> {
        let artifact = if self == Self::OldJsonRpc { &event["artifact"] } else { &event["artifactUpdate"]["artifact"] };
        let parts = artifact["parts"].as_array()?;
        Some(parts.iter().filter_map(|part| part["text"].as_str()).collect())
    }

    async fn rpc(self, address: SocketAddr, method: &str, params: Value, after: Option<u64>) -> Reading {
        let call = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        let request = http().post(format!("http://{address}/")).header("content-type", "application/json");
        self.open(request.body(call.to_string()), after).await
    }

    async fn open(self, request: reqwest::RequestBuilder, after: Option<u64>) -> Reading {
        let version = if self == Self::OldJsonRpc { "0.3" } else { "1.0" };
        let mut request = request.header("a2a-version", version).header("accept", "text/event-stream");
        if let Some(after) = after {
            request = request.header("last-event-id", after);
        }
        let answer = soon("the beginning of a stream", request.send()).await.unwrap();
        let kind = answer.headers().get("content-type").and_then(|kind| kind.to_str().ok()).unwrap_or_default().to_owned();
        if !kind.starts_with("text/event-stream") {
            panic!("{self:?} got no stream: {} {}", answer.status(), answer.text().await.unwrap());
        }
        Reading::Sse(Sse { answer, buffer: BytesMut::new() })
    }
}

impl Reading {
    /// The next event; `None` when the stream ended. A stream that breaks off has ended too: which of
    /// both it was is told by what it said last.
    pub(crate) async fn next(&mut self) -> Option<Heard> {
        match self {
            Self::Sse(sse) => soon("an event", sse.next()).await,
            Self::Grpc(stream) => soon("an event", stream.message()).await.ok().flatten().map(heard),
        }
    }
}

impl Sse {
    async fn next(&mut self) -> Option<Heard> {
        loop {
            while let Some(end) = self.buffer.windows(2).position(|pair| pair == b"\n\n") {
                let frame = self.buffer.split_to(end + 2);
                if let Some(heard) = read_frame(std::str::from_utf8(&frame).unwrap()) {
                    return Some(heard);
                }
            }
            self.buffer.extend_from_slice(&self.answer.chunk().await.ok().flatten()?);
        }
    }
}

/// One frame; `None` for comments and hints.
fn read_frame(frame: &str) -> Option<Heard> {
    let field = |name: &str| frame.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
    let data: Value = serde_json::from_str(field("data")?).unwrap();
    let event = if data["jsonrpc"].is_string() { data["result"].clone() } else { data.clone() };
    assert!(event.is_object(), "an error in a stream: {data}");
    Some(Heard { seq: field("id").unwrap_or_else(|| panic!("no id in {frame}")).parse().unwrap(), event })
}

async fn grpc<Q: prost::Message + 'static>(address: SocketAddr, method: &str, request: Q, after: Option<u64>) -> Reading {
    let endpoint = Endpoint::from_shared(format!("http://{address}")).unwrap();
    let channel: Channel = soon("a connection", endpoint.connect()).await.unwrap();
    let mut grpc = Grpc::new(channel);
    soon("a ready channel", grpc.ready()).await.unwrap();
    let mut request = Request::new(request);
    request.metadata_mut().insert("a2a-extensions", extension::SEQUENCE.parse().unwrap());
    if let Some(after) = after {
        request.metadata_mut().insert("last-event-id", after.into());
    }
    let path = PathAndQuery::try_from(format!("/{GRPC_V1_0}/{method}")).unwrap();
    let calling = grpc.server_streaming(request, path, ProstCodec::<Q, pb::StreamResponse>::default());
    let stream = soon("the beginning of a stream", calling).await.unwrap().into_inner();
    Reading::Grpc(Box::new(stream))
}

/// A message of gRPC in the JSON of its version, with its place.
fn heard(element: pb::StreamResponse) -> Heard {
    let metadata = match element.payload.as_ref().unwrap() {
        Payload::Task(task) => &task.metadata,
        Payload::Message(message) => &message.metadata,
        Payload::StatusUpdate(update) => &update.metadata,
        Payload::ArtifactUpdate(update) => &update.metadata,
    };
    let place = metadata.as_ref().and_then(|metadata| metadata.fields.get(extension::SEQUENCE)).and_then(|place| place.kind.as_ref());
    let Some(Kind::NumberValue(seq)) = place else { panic!("no place in {element:?}") };
    let seq = *seq as u64;
    let event = chancery_wire::grpc::v1_0::event_from_proto(element).unwrap();
    Heard { seq, event: serde_json::to_value(event).unwrap() }
}
