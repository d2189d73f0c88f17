//! The service of v1.0.

use std::time::Duration;

use chancery::{Limits, Mount, Running, Server};
use chancery_core::{Binding, ErrorKind, Version, extension};
use chancery_engine::store::Memory;
use chancery_wire::{
    methods::GRPC_V1_0,
    proto::lf_a2a_v1::{self as pb, part::Content, send_message_response, stream_response::Payload},
};
use prost_types::value::Kind;
use tonic::Code;

use super::{Client, card, code, engine, error, next, obedient, open_card, server, start, text};

pub(super) fn send(words: &str) -> pb::SendMessageRequest {
    let part = pb::Part { content: Some(Content::Text(words.to_owned())), ..Default::default() };
    let message = pb::Message { message_id: format!("m-{words}"), role: pb::Role::User.into(), parts: vec![part], ..Default::default() };
    pb::SendMessageRequest { message: Some(message), ..Default::default() }
}

fn begin(words: &str) -> pb::SendMessageRequest {
    let configuration = pb::SendMessageConfiguration { return_immediately: true, ..Default::default() };
    pb::SendMessageRequest { configuration: Some(configuration), ..send(words) }
}

async fn client(running: &Running) -> Client {
    Client::new(running, GRPC_V1_0).await
}

pub(super) async fn task(client: &mut Client, request: pb::SendMessageRequest) -> pb::Task {
    let reply: pb::SendMessageResponse = client.call("SendMessage", request).await.unwrap();
    match reply.payload {
        Some(send_message_response::Payload::Task(task)) => task,
        other => panic!("{other:?}"),
    }
}

pub(super) async fn waiting(client: &mut Client) -> pb::Task {
    task(client, begin("wait here")).await
}

fn get(id: &str) -> pb::GetTaskRequest {
    pb::GetTaskRequest { id: id.to_owned(), ..Default::default() }
}

fn subscribe(id: &str) -> pb::SubscribeToTaskRequest {
    pb::SubscribeToTaskRequest { id: id.to_owned(), ..Default::default() }
}

pub(super) fn cancel(id: &str) -> pb::CancelTaskRequest {
    pb::CancelTaskRequest { id: id.to_owned(), ..Default::default() }
}

fn words(message: &pb::Message) -> &str {
    match &message.parts[0].content {
        Some(Content::Text(text)) => text,
        other => panic!("{other:?}"),
    }
}

fn state(task: &pb::Task) -> pb::TaskState {
    task.status.as_ref().unwrap().state()
}

fn is_final(element: &pb::StreamResponse) -> bool {
    matches!(&element.payload, Some(Payload::StatusUpdate(update)) if update.status.as_ref().unwrap().state() == pb::TaskState::Completed)
}

/// The place that an element tells.
fn mount(element: &pb::StreamResponse) -> Option<u64> {
    let metadata = match element.payload.as_ref().unwrap() {
        Payload::Task(task) => &task.metadata,
        Payload::Message(message) => &message.metadata,
        Payload::StatusUpdate(update) => &update.metadata,
        Payload::ArtifactUpdate(update) => &update.metadata,
    };
    match metadata.as_ref()?.fields.get(extension::SEQUENCE)?.kind {
        Some(Kind::NumberValue(number)) => Some(number as u64),
        _ => None,
    }
}

/// V10-GRPC-001, V10-GRPC-002, V10-GRPC-009: every method answers.
#[tokio::test]
async fn every_method_of_v1_0_answers() {
    let running = start(server()).await;
    let mut client = client(&running).await;
    let reply: pb::SendMessageResponse = client.call("SendMessage", send("hello")).await.unwrap();
    assert!(matches!(&reply.payload, Some(send_message_response::Payload::Message(message)) if words(message) == "hello"));
    let done = task(&mut client, send("work well")).await;
    assert_eq!((state(&done), done.artifacts.len()), (pb::TaskState::Completed, 1));
    let read: pb::Task = client.call("GetTask", get(&done.id)).await.unwrap();
    assert_eq!(read, done);

    let elements: Vec<pb::StreamResponse> = client.all("SendStreamingMessage", send("chunks 3"), &[]).await.unwrap();
    assert!(matches!(&elements[0].payload, Some(Payload::Task(_))));
    assert_eq!(elements.iter().filter(|element| matches!(element.payload, Some(Payload::ArtifactUpdate(_)))).count(), 3);
    assert!(is_final(elements.last().unwrap()), "{elements:?}");

    let page: pb::ListTasksResponse = client.call("ListTasks", pb::ListTasksRequest::default()).await.unwrap();
    assert_eq!((page.tasks.len(), page.total_size), (2, 2));

    let waiting = waiting(&mut client).await;
    let mut watched = client.open("SubscribeToTask", subscribe(&waiting.id), &[]).await.unwrap().into_inner();
    let first: pb::StreamResponse = next(&mut watched).await.unwrap().unwrap();
    assert!(matches!(&first.payload, Some(Payload::Task(task)) if task.id == waiting.id));

    let config = pb::TaskPushNotificationConfig {
        task_id: waiting.id.clone(),
        id: "p-1".to_owned(),
        url: "https://hooks.example.com/a2a".to_owned(),
        ..Default::default()
    };
    let made: pb::TaskPushNotificationConfig = client.call("CreateTaskPushNotificationConfig", config.clone()).await.unwrap();
    assert_eq!((&made.id, &made.url, &made.task_id), (&config.id, &config.url, &config.task_id));
    let one = pb::GetTaskPushNotificationConfigRequest { task_id: waiting.id.clone(), id: "p-1".to_owned(), ..Default::default() };
    let read: pb::TaskPushNotificationConfig = client.call("GetTaskPushNotificationConfig", one).await.unwrap();
    assert_eq!(read, made);
    let all = pb::ListTaskPushNotificationConfigsRequest { task_id: waiting.id.clone(), ..Default::default() };
    let page: pb::ListTaskPushNotificationConfigsResponse = client.call("ListTaskPushNotificationConfigs", all).await.unwrap();
    assert_eq!(page.configs, [made]);
    let one = pb::DeleteTaskPushNotificationConfigRequest { task_id: waiting.id.clone(), id: "p-1".to_owned(), ..Default::default() };
    let () = client.call("DeleteTaskPushNotificationConfig", one).await.unwrap();

    let canceled: pb::Task = client.call("CancelTask", cancel(&waiting.id)).await.unwrap();
    assert_eq!(state(&canceled), pb::TaskState::Canceled);
    let mut last = first;
    while let Some(element) = next(&mut watched).await.unwrap() {
        last = element;
    }
    assert!(
        matches!(last.payload, Some(Payload::StatusUpdate(update)) if update.status.as_ref().unwrap().state() == pb::TaskState::Canceled)
    );

    let request = pb::GetExtendedAgentCardRequest::default();
    let refused = client.call::<_, pb::AgentCard>("GetExtendedAgentCard", request.clone()).await.unwrap_err();
    assert_eq!(error(&refused).kind(), ErrorKind::UnsupportedOperation);
    let engine = chancery_engine::Engine::new(open_card(), obedient).extended_card(card().skill("secret", "For friends"));
    let known = start(Server::several().agent("/", engine).store(Memory::default())).await;
    let card: pb::AgentCard = self::client(&known).await.call("GetExtendedAgentCard", request).await.unwrap();
    assert!(card.skills.iter().any(|skill| skill.id == "secret"));
}

/// V10-GRPC-008, V10-GRPC-007, V10-ERR-001.
#[tokio::test]
async fn errors_of_v1_0_tell_their_reason() {
    let running = start(server()).await;
    let mut client = client(&running).await;
    let status = client.call::<_, pb::Task>("GetTask", get("nowhere")).await.unwrap_err();
    assert_eq!((status.code(), error(&status).kind()), (Code::NotFound, ErrorKind::TaskNotFound));
    let done = task(&mut client, send("work")).await;
    let status = client.call::<_, pb::Task>("CancelTask", cancel(&done.id)).await.unwrap_err();
    assert_eq!((status.code(), error(&status).kind()), (Code::FailedPrecondition, ErrorKind::TaskNotCancelable));
    let status = client.open::<_, pb::StreamResponse>("SubscribeToTask", subscribe(&done.id), &[]).await.unwrap_err();
    assert_eq!((status.code(), error(&status).kind()), (Code::FailedPrecondition, ErrorKind::UnsupportedOperation));
    let status = client.call::<_, pb::SendMessageResponse>("SendMessage", pb::SendMessageRequest::default()).await.unwrap_err();
    assert_eq!((status.code(), error(&status).kind()), (Code::InvalidArgument, ErrorKind::InvalidParams));
    assert!(error(&status).violations().iter().any(|violation| violation.field == "message.parts"), "{status:?}");
    let status = client.ask::<_, pb::Task>("GetTask", get("t"), &[("a2a-version", "0.3")]).await.unwrap_err();
    assert_eq!((status.code(), error(&status).kind()), (Code::FailedPrecondition, ErrorKind::VersionNotSupported));
    assert_eq!(error(&status).metadata()["supportedVersions"], "1.0");
    assert_eq!(code(client.ask::<_, pb::Task>("GetTask", get("t"), &[("a2a-version", "1.0.1")]).await), Code::NotFound);
}

/// V10-GRPC-006, V10-SVC-002, CONV-HDR-001: both names are read, those that are active are told.
#[tokio::test]
async fn active_extensions_are_told_in_the_metadata() {
    let running = start(server()).await;
    let mut client = client(&running).await;
    let asked = [("a2a-version", "1.0"), ("a2a-extensions", "urn:test:unknown"), ("x-a2a-extensions", "urn:test:known, urn:b")];
    let answer = client.ask::<_, pb::SendMessageResponse>("SendMessage", send("hello"), &asked).await.unwrap();
    assert_eq!(text(answer.metadata(), "a2a-extensions"), Some("urn:test:known"));
    assert_eq!(text(answer.metadata(), "x-a2a-extensions"), Some("urn:test:known"));
    let status = client.ask::<_, pb::Task>("GetTask", get("t"), &asked[1..]).await.unwrap_err();
    assert_eq!(text(status.metadata(), "a2a-extensions"), Some("urn:test:known"));
    let answer = client.ask::<_, pb::SendMessageResponse>("SendMessage", send("hi"), &[]).await.unwrap();
    assert_eq!(text(answer.metadata(), "a2a-extensions"), None);
}

/// V10-GRPC-006: the cursor and the extension travel as metadata.
#[tokio::test]
async fn a_cut_stream_is_resumed_after_any_event_and_gives_exactly_the_rest() {
    let running = start(server()).await;
    let mut client = client(&running).await;
    let numbered = ("a2a-extensions", extension::SEQUENCE);
    let all: Vec<pb::StreamResponse> = client.all("SendStreamingMessage", send("chunks 5"), &[numbered]).await.unwrap();
    let places: Vec<_> = all.iter().map(|element| mount(element).unwrap()).collect();
    assert!(places.len() >= 8 && places.windows(2).all(|pair| pair[0] + 1 == pair[1]), "{places:?}");
    let Some(Payload::Task(task)) = &all[0].payload else { panic!("{:?}", all[0]) };
    for (index, last) in places.iter().enumerate() {
        let after = last.to_string();
        let cursor = [("last-event-id", after.as_str()), numbered];
        let rest: Vec<pb::StreamResponse> = client.all("SubscribeToTask", subscribe(&task.id), &cursor).await.unwrap();
        assert_eq!(rest, all[index + 1..], "after {last}");
    }
    let plain: Vec<pb::StreamResponse> = client.all("SubscribeToTask", subscribe(&task.id), &[("last-event-id", "1")]).await.unwrap();
    assert!(!plain.is_empty() && plain.iter().all(|element| mount(element).is_none()));

    let keyed = [("idempotency-key", "k-1"), numbered];
    let once: Vec<pb::StreamResponse> = client.all("SendStreamingMessage", send("chunks 2"), &keyed).await.unwrap();
    let after = mount(&once[2]).unwrap().to_string();
    let again = [("idempotency-key", "k-1"), ("last-event-id", after.as_str()), numbered];
    let rest: Vec<pb::StreamResponse> = client.all("SendStreamingMessage", send("chunks 2"), &again).await.unwrap();
    assert_eq!(rest, once[3..]);
}

/// An event that is larger than a piece comes whole, and so do those around it.
#[tokio::test]
async fn a_large_event_is_whole() {
    let running = start(server()).await;
    let mut client = client(&running).await;
    let elements: Vec<pb::StreamResponse> = client.all("SendStreamingMessage", send("large 3000000"), &[]).await.unwrap();
    let artifact = elements.iter().find_map(|element| match &element.payload {
        Some(Payload::ArtifactUpdate(update)) => update.artifact.as_ref(),
        _ => None,
    });
    assert!(matches!(&artifact.unwrap().parts[0].content, Some(Content::Text(text)) if text.len() == 3_000_000));
    assert!(is_final(elements.last().unwrap()));
}

/// The call ends when its time is over; the task goes on.
#[tokio::test]
async fn a_deadline_ends_the_call_and_not_the_task() {
    let running = start(server()).await;
    let mut client = client(&running).await;
    for method in ["SendMessage", "SendStreamingMessage"] {
        // Handed to the router themselves: the client would stop by its own clock.
        let request = http::Request::post(format!("/{GRPC_V1_0}/{method}"))
            .header("content-type", "application/grpc")
            .header("grpc-timeout", "250m")
            .body(http_body_util::Full::new(super::malformed::frame(&send("wait long"))))
            .unwrap();
        let answering = running.router().handle(request, None);
        let response = tokio::time::timeout(Duration::from_secs(20), answering).await.unwrap().unwrap();
        let mut headers = response.headers().clone();
        let body = tokio::time::timeout(Duration::from_secs(20), http_body_util::BodyExt::collect(response.into_body())).await.unwrap();
        headers.extend(body.unwrap().trailers().cloned().unwrap_or_default());
        let status = tonic::Status::from_header_map(&headers).unwrap();
        assert_eq!((status.code(), error(&status).kind()), (Code::DeadlineExceeded, ErrorKind::Timeout), "{method}");
    }
    let page: pb::ListTasksResponse = client.call("ListTasks", pb::ListTasksRequest::default()).await.unwrap();
    assert_eq!(page.tasks.iter().map(state).collect::<Vec<_>>(), [pb::TaskState::Working; 2]);
}

/// V10-TEN-002: one port, several agents.
#[tokio::test]
async fn the_tenant_names_one_of_several_agents() {
    let several = || Server::several().store(Memory::default()).agent("/writer", engine("writer"));
    let running = start(several().agent("/reader", engine("reader"))).await;
    let mut client = client(&running).await;
    for tenant in ["writer", "reader"] {
        let request = pb::SendMessageRequest { tenant: tenant.to_owned(), ..send("hello") };
        let reply: pb::SendMessageResponse = client.call("SendMessage", request).await.unwrap();
        let expected = format!("{tenant} heard hello");
        assert!(
            matches!(&reply.payload, Some(send_message_response::Payload::Message(message)) if words(message) == expected),
            "{reply:?}"
        );
    }
    for tenant in ["", "nobody", "writer/x"] {
        let request = pb::SendMessageRequest { tenant: tenant.to_owned(), ..send("hello") };
        let status = client.call::<_, pb::SendMessageResponse>("SendMessage", request).await.unwrap_err();
        assert_eq!(status.code(), Code::InvalidArgument);
        assert_eq!(error(&status).violations()[0].field, "tenant");
    }
    let rooted = start(several().agent("/", engine("root"))).await;
    let mut client = self::client(&rooted).await;
    let reply: pb::SendMessageResponse = client.call("SendMessage", send("hello")).await.unwrap();
    assert!(matches!(&reply.payload, Some(send_message_response::Payload::Message(message)) if words(message) == "root heard hello"));
}

/// V10-BIND-002: the task of an agent with a tenant is the same over every binding, although gRPC names the agent in its place.
#[tokio::test]
async fn a_declared_tenant_has_the_same_tasks_over_grpc() {
    let writer = Mount::agent("/writer", engine("writer")).tenant("harbor");
    let running = start(Server::several().store(Memory::default()).mount(writer).agent("/reader", engine("reader"))).await;
    let mut client = client(&running).await;
    let task = task(&mut client, pb::SendMessageRequest { tenant: "writer".to_owned(), ..begin("wait") }).await;
    for (tenant, found) in [("harbor", true), ("writer", false), ("", false)] {
        let call = serde_json::json!({"jsonrpc": "2.0", "id": 1, "method": "GetTask", "params": {"id": task.id, "tenant": tenant}});
        let request = reqwest::Client::new().post(format!("{}/writer", running.url())).header("a2a-version", "1.0");
        let answer = request.header("content-type", "application/json").body(call.to_string()).send().await.unwrap().text().await.unwrap();
        assert_eq!(answer.contains("\"result\""), found, "{tenant:?} {answer}");
    }
}

/// Streams end so that their readers come back; health says so.
#[tokio::test]
async fn a_server_that_stops_tells_its_streams_to_come_back() {
    let running = start(server()).await;
    let mut client = client(&running).await;
    let mut stream = client.open::<_, pb::StreamResponse>("SendStreamingMessage", send("wait"), &[]).await.unwrap().into_inner();
    next(&mut stream).await.unwrap().unwrap();
    let stopping = tokio::spawn(running.shutdown());
    let status = loop {
        match next(&mut stream).await {
            Ok(element) => assert!(element.is_some(), "the stream ended as if it were whole"),
            Err(status) => break status,
        }
    };
    assert_eq!((status.code(), error(&status).kind()), (Code::Unavailable, ErrorKind::Unavailable));
    assert_eq!(text(status.metadata(), "grpc-retry-pushback-ms"), Some("500"));
    assert_eq!(text(status.metadata(), "retry-after"), Some("1"));
    tokio::time::timeout(Duration::from_secs(20), stopping).await.unwrap().unwrap();
}

#[tokio::test]
async fn who_holds_too_many_streams_gets_no_more_until_one_is_closed() {
    let mut limits = Limits::default();
    limits.streams_per_caller = 1;
    let running = start(server().limits(limits)).await;
    let mut client = client(&running).await;
    let held = client.open::<_, pb::StreamResponse>("SendStreamingMessage", send("wait"), &[]).await.unwrap();
    let status = client.open::<_, pb::StreamResponse>("SendStreamingMessage", send("chunks 1"), &[]).await.unwrap_err();
    assert_eq!((status.code(), error(&status).kind()), (Code::ResourceExhausted, ErrorKind::RateLimited));
    assert_eq!(text(status.metadata(), "retry-after"), Some("1"));
    drop(held);
    let freed = async { while client.all::<_, pb::StreamResponse>("SendStreamingMessage", send("chunks 1"), &[]).await.is_err() {} };
    tokio::time::timeout(Duration::from_secs(20), freed).await.expect("the stream counts for ever");

    let mut limits = Limits::default();
    limits.requests = 0;
    let busy = start(server().limits(limits)).await;
    let status = self::client(&busy).await.call::<_, pb::Task>("GetTask", get("t")).await.unwrap_err();
    assert_eq!((status.code(), text(status.metadata(), "retry-after")), (Code::Unavailable, Some("1")));
}

/// What the card does not name is not served.
#[tokio::test]
async fn versions_and_bindings_that_are_not_served_are_refused() {
    let old = start(server().versions([Version::V0_3])).await;
    let status = client(&old).await.call::<_, pb::Task>("GetTask", get("t")).await.unwrap_err();
    assert_eq!((status.code(), error(&status).kind()), (Code::FailedPrecondition, ErrorKind::VersionNotSupported));
    assert_eq!(error(&status).metadata()["supportedVersions"], "0.3");
    let other = start(server().bindings([Binding::JsonRpc])).await;
    let status = client(&other).await.call::<_, pb::Task>("GetTask", get("t")).await.unwrap_err();
    assert_eq!((status.code(), error(&status).kind()), (Code::Unimplemented, ErrorKind::MethodNotFound));
}
