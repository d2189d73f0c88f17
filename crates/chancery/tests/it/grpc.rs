//! gRPC, with a real client over HTTP/2 in clear text.

mod health_and_reflection;
mod malformed;
mod v0_3;
mod v1_0;

use std::time::Duration;

use chancery::{Running, Server};
use chancery_core::{Artifact, Card, Error, Extension, Part};
use chancery_engine::{Engine, Failure, Outcome, Turn, store::Memory};
use chancery_wire::proto::google_rpc;
use prost::Message;
use tonic::{
    Code, Request, Response, Status, Streaming,
    client::Grpc,
    codegen::http::uri::PathAndQuery,
    metadata::{Ascii, MetadataKey, MetadataMap},
    transport::{Channel, Endpoint},
};
use tonic_prost::ProstCodec;

/// Does what the first word of the message says.
async fn obedient(turn: Turn) -> Result<Outcome, Failure> {
    let (verb, rest) = turn.text().split_once(' ').unwrap_or((turn.text(), ""));
    match verb {
        "chunks" => {
            turn.status("Writing").await?;
            let mut artifact = turn.artifact("numbers");
            for number in 0..rest.parse::<u32>()? {
                artifact.push(number.to_string()).await?;
            }
            artifact.finish().await?;
            Ok(Outcome::Completed)
        }
        "large" => Ok(Outcome::complete_with(Artifact::new("x".repeat(rest.parse()?)))),
        "work" => Ok(Outcome::complete_with(Artifact::new(rest).id("result"))),
        "back" => {
            let file = turn.message().parts.last().cloned().unwrap_or_else(|| Part::from("no file"));
            Ok(Outcome::complete_with(Artifact::new(file)))
        }
        "wait" => {
            turn.status("Waiting").await?;
            std::future::pending().await
        }
        _ => Ok(Outcome::message(turn.text())),
    }
}

fn card() -> Card {
    Card::new("Obedient", "Does what it is told").skill("obey", "Does what it is told").push_notifications(true).takes(["*/*"])
}

/// The card of an agent that has another one for those it knows.
fn open_card() -> Card {
    let mut card = card();
    card.capabilities.extended_agent_card = Some(true);
    card
}

fn server() -> Server {
    Server::new(card().extension(Extension::new("urn:test:known")), obedient).store(Memory::default()).grace(Duration::from_millis(100))
}

async fn start(server: Server) -> Running {
    server.bind("127.0.0.1:0").await.unwrap()
}

async fn channel(running: &Running) -> Channel {
    Endpoint::from_shared(format!("http://{}", running.local_addr())).unwrap().connect().await.unwrap()
}

/// A client of one service.
struct Client {
    grpc: Grpc<Channel>,
    service: &'static str,
}

impl Client {
    async fn new(running: &Running, service: &'static str) -> Self {
        Self { grpc: Grpc::new(channel(running).await).max_decoding_message_size(64 << 20), service }
    }

    fn path(&self, method: &str) -> PathAndQuery {
        PathAndQuery::try_from(format!("/{}/{method}", self.service)).unwrap()
    }

    /// Calls a method, and gives the answer with its metadata.
    async fn ask<Q, A>(&mut self, method: &str, request: Q, metadata: &[(&str, &str)]) -> Result<Response<A>, Status>
    where
        Q: Message + Default + 'static,
        A: Message + Default + 'static,
    {
        self.grpc.ready().await.unwrap();
        let path = self.path(method);
        let calling = self.grpc.unary(with(request, metadata), path, ProstCodec::<Q, A>::default());
        tokio::time::timeout(Duration::from_secs(20), calling).await.expect("an answer in time")
    }

    async fn call<Q, A>(&mut self, method: &str, request: Q) -> Result<A, Status>
    where
        Q: Message + Default + 'static,
        A: Message + Default + 'static,
    {
        self.ask(method, request, &[]).await.map(Response::into_inner)
    }

    async fn open<Q, A>(&mut self, method: &str, request: Q, metadata: &[(&str, &str)]) -> Result<Response<Streaming<A>>, Status>
    where
        Q: Message + Default + 'static,
        A: Message + Default + 'static,
    {
        self.grpc.ready().await.unwrap();
        let path = self.path(method);
        self.grpc.server_streaming(with(request, metadata), path, ProstCodec::<Q, A>::default()).await
    }

    /// All elements of a stream that ends.
    async fn all<Q, A>(&mut self, method: &str, request: Q, metadata: &[(&str, &str)]) -> Result<Vec<A>, Status>
    where
        Q: Message + Default + 'static,
        A: Message + Default + 'static,
    {
        let mut stream = self.open(method, request, metadata).await?.into_inner();
        let mut elements = Vec::new();
        while let Some(element) = next(&mut stream).await? {
            elements.push(element);
        }
        Ok(elements)
    }
}

async fn next<A>(stream: &mut Streaming<A>) -> Result<Option<A>, Status> {
    tokio::time::timeout(Duration::from_secs(20), stream.message()).await.expect("an element in time")
}

fn with<Q>(request: Q, metadata: &[(&str, &str)]) -> Request<Q> {
    let mut request = Request::new(request);
    for (name, value) in metadata {
        request.metadata_mut().append(name.parse::<MetadataKey<Ascii>>().unwrap(), value.parse().unwrap());
    }
    request
}

fn text<'a>(metadata: &'a MetadataMap, name: &str) -> Option<&'a str> {
    metadata.get(name).map(|value| value.to_str().unwrap())
}

/// The details of a status, which say the same as the status.
#[track_caller]
fn details(status: &Status) -> google_rpc::Status {
    let details = google_rpc::Status::decode(status.details()).unwrap();
    assert_eq!((details.code, details.message.as_str()), (i32::from(status.code()), status.message()));
    details
}

/// The error of a v1.0 status.
#[track_caller]
fn error(status: &Status) -> Error {
    chancery_wire::grpc::v1_0::error_from_status(&details(status))
}

/// The error of a v0.3 status.
#[track_caller]
fn old_error(status: &Status) -> Error {
    chancery_wire::grpc::v0_3::error_from_status(&details(status))
}

fn engine(name: &'static str) -> chancery_engine::Builder {
    let agent = move |turn: Turn| async move { Ok::<_, Failure>(Outcome::message(format!("{name} heard {}", turn.text()))) };
    Engine::new(Card::new(name, "Says who it is").skill("name", "Says its name").push_notifications(true), agent)
}

/// The code of a failed call.
#[track_caller]
fn code<T>(result: Result<T, Status>) -> Code {
    result.err().expect("a failure").code()
}
