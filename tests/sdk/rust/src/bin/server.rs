//! The server of the official Rust SDK, unchanged, with an agent that does what the first word says.
//!
//! The first line of output is `{"url", "sdk"}`: the address of the card, which names every binding. The server
//! ends when its standard input does.

use std::{io::Read as _, sync::Arc, time::Duration};

use a2a::{A2AError, AgentCard, StreamResponse};
use a2a_grpc::GrpcHandler;
use a2a_pb::proto::a2a_service_server::A2aServiceServer;
use a2a_server::{
    AgentExecutor, DefaultRequestHandler, ExecutorContext, HttpPushSender, HttpPushSenderConfig, InMemoryPushConfigStore, InMemoryTaskStore,
    StaticAgentCard, agent_card::agent_card_router, jsonrpc::jsonrpc_router, rest::rest_router,
};
use futures::{StreamExt as _, stream, stream::BoxStream};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio_stream::wrappers::TcpListenerStream;

type Events = BoxStream<'static, Result<StreamResponse, A2AError>>;

/// Does what the first word says.
struct Clerk;

fn event(value: Value) -> Result<StreamResponse, A2AError> {
    serde_json::from_value(value).map_err(|error| A2AError::internal(error.to_string()))
}

fn words(text: &str) -> Value {
    json!({"messageId": a2a::new_message_id(), "role": "ROLE_AGENT", "parts": [{"text": text}]})
}

/// Events of one task.
struct Scribe {
    task: String,
    context: String,
}

impl Scribe {
    fn state(&self, state: &str, said: Option<&str>) -> Value {
        let mut status = json!({"state": format!("TASK_STATE_{state}")});
        if let Some(said) = said {
            status["message"] = words(said);
        }
        json!({"statusUpdate": {"taskId": self.task, "contextId": self.context, "status": status}})
    }

    fn chunk(&self, name: &str, text: &str, append: bool, last: bool) -> Value {
        let artifact = json!({"artifactId": name, "name": name, "parts": [{"text": text}]});
        json!({"artifactUpdate": {
            "taskId": self.task, "contextId": self.context, "artifact": artifact, "append": append, "lastChunk": last,
        }})
    }
}

impl AgentExecutor for Clerk {
    fn execute(&self, call: ExecutorContext) -> Events {
        let text = call.message.as_ref().and_then(|message| message.text()).unwrap_or_default().to_owned();
        let scribe = Scribe { task: call.task_id.to_string(), context: call.context_id.clone() };
        let (verb, rest) = text.split_once(' ').unwrap_or((&text, ""));
        if verb == "say" {
            return stream::iter([event(json!({"message": words(rest)}))]).boxed();
        }
        let mut events = Vec::new();
        if call.stored_task.is_none() {
            let history = [serde_json::to_value(&call.message).unwrap_or_default()];
            let status = json!({"state": "TASK_STATE_SUBMITTED"});
            events.push(json!({"task": {"id": scribe.task, "contextId": scribe.context, "status": status, "history": history}}));
        }
        if verb == "ask" {
            events.push(scribe.state("INPUT_REQUIRED", Some("Which quay?")));
            return stream::iter(events.into_iter().map(event)).boxed();
        }
        events.push(scribe.state("WORKING", Some("Working")));
        let first = stream::iter(events.into_iter().map(event));
        let last = match verb {
            "wait" => return first.chain(stream::pending()).boxed(),
            "fail" => vec![scribe.state("FAILED", Some("The crane is broken."))],
            "stream" => {
                let count = rest.parse().unwrap_or(0);
                let chunks = (1..=count).map(|number| scribe.chunk("numbers", &format!("{number};"), number > 1, number == count));
                chunks.chain([scribe.state("COMPLETED", None)]).collect()
            }
            _ => vec![scribe.chunk("echo", &text, false, true), scribe.state("COMPLETED", None)],
        };
        let pause = if verb == "later" { Duration::from_secs(3) } else { Duration::ZERO };
        let wait = stream::once(tokio::time::sleep(pause)).flat_map(move |()| stream::iter(last.clone().into_iter().map(event)));
        first.chain(wait).boxed()
    }

    fn cancel(&self, call: ExecutorContext) -> Events {
        let scribe = Scribe { task: call.task_id.to_string(), context: call.context_id };
        stream::iter([event(scribe.state("CANCELED", None))]).boxed()
    }
}

fn card(base: &str, grpc: &str) -> AgentCard {
    let interface = |url: String, binding: &str| json!({"url": url, "protocolBinding": binding, "protocolVersion": "1.0"});
    let card = json!({
        "name": "Clerk", "description": "Does what the first word says", "version": "1.0.0",
        "supportedInterfaces": [
            interface(format!("{base}/rpc"), "JSONRPC"), interface(format!("{base}/rest"), "HTTP+JSON"), interface(grpc.to_owned(), "GRPC"),
        ],
        "capabilities": {"streaming": true, "pushNotifications": true},
        "defaultInputModes": ["text/plain"], "defaultOutputModes": ["text/plain"],
        "skills": [{"id": "obey", "name": "Obey", "description": "Does what it is told", "tags": ["test"]}],
    });
    serde_json::from_value(card).expect("the card is one")
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (web, rpc) = (TcpListener::bind("127.0.0.1:0").await?, TcpListener::bind("127.0.0.1:0").await?);
    let base = format!("http://{}", web.local_addr()?);
    let card = card(&base, &rpc.local_addr()?.to_string());
    // The hooks of tests are on this machine.
    let sender = HttpPushSender::new(Some(HttpPushSenderConfig { validate_urls: false, ..Default::default() }));
    let handler = DefaultRequestHandler::new(Clerk, InMemoryTaskStore::new())
        .with_push_notifications(InMemoryPushConfigStore::new(), sender)
        .with_capabilities(card.capabilities.clone());
    let handler = Arc::new(handler);
    let app = agent_card_router(Arc::new(StaticAgentCard::new(card)))
        .nest("/rpc", jsonrpc_router(handler.clone()))
        .nest("/rest", rest_router(handler.clone()));
    let grpc = tonic::transport::Server::builder().add_service(A2aServiceServer::new(GrpcHandler::new(handler)));
    tokio::spawn(async move { grpc.serve_with_incoming(TcpListenerStream::new(rpc)).await });
    tokio::spawn(async move { axum::serve(web, app).await });
    println!("{}", json!({"url": base, "sdk": "a2a-server-lf 0.5.3"}));
    tokio::task::spawn_blocking(|| std::io::stdin().read_to_end(&mut Vec::new())).await??;
    std::process::exit(0);
}
