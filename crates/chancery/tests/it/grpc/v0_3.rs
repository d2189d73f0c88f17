//! The service of v0.3.

use chancery::{Running, Server};
use chancery_core::{ErrorKind, extension};
use chancery_engine::store::Memory;
use chancery_wire::{
    methods::GRPC_V0_3,
    proto::a2a_v1::{self as pb, file_part::File, part, send_message_response, stream_response::Payload},
};
use tonic::Code;

use super::{Client, card, engine, next, obedient, old_error, open_card, server, start, text};

pub(super) fn send(words: &str) -> pb::SendMessageRequest {
    let part = pb::Part { part: Some(part::Part::Text(words.to_owned())), ..Default::default() };
    let message = pb::Message { message_id: "m-1".to_owned(), role: pb::Role::User.into(), content: vec![part], ..Default::default() };
    pb::SendMessageRequest { request: Some(message), ..Default::default() }
}

async fn client(running: &Running) -> Client {
    Client::new(running, GRPC_V0_3).await
}

async fn task(client: &mut Client, request: pb::SendMessageRequest) -> pb::Task {
    let reply: pb::SendMessageResponse = client.call("SendMessage", request).await.unwrap();
    match reply.payload {
        Some(send_message_response::Payload::Task(task)) => task,
        other => panic!("{other:?}"),
    }
}

fn state(task: &pb::Task) -> pb::TaskState {
    task.status.as_ref().unwrap().state()
}

/// V03-GRPC-001, V03-GRPC-002, V03-GRPC-007, V03-GRPC-008, V03-GRPC-009, CONV-DET-016, V02-GRPC-001.
#[tokio::test]
async fn every_method_of_v0_3_answers() {
    let running = start(server()).await;
    let mut client = client(&running).await;
    let reply: pb::SendMessageResponse = client.call("SendMessage", send("hello")).await.unwrap();
    assert!(matches!(reply.payload, Some(send_message_response::Payload::Msg(_))));
    let done = task(&mut client, send("work well")).await;
    assert_eq!((state(&done), done.artifacts.len()), (pb::TaskState::Completed, 1));
    let name = format!("tasks/{}", done.id);
    let read: pb::Task = client.call("GetTask", pb::GetTaskRequest { name, history_length: 0 }).await.unwrap();
    assert_eq!(read, done);

    let elements: Vec<pb::StreamResponse> = client.all("SendStreamingMessage", send("chunks 3"), &[("a2a-version", "0.3")]).await.unwrap();
    assert!(matches!(&elements[0].payload, Some(Payload::Task(_))));
    let finals: Vec<_> =
        elements.iter().map(|element| matches!(&element.payload, Some(Payload::StatusUpdate(update)) if update.r#final)).collect();
    assert_eq!(finals.iter().position(|last| *last), Some(elements.len() - 1));

    let page: pb::ListTasksResponse = client.call("ListTasks", pb::ListTasksRequest::default()).await.unwrap();
    assert_eq!(page.tasks.len(), 2);

    // A configuration that does not say "blocking" means not to wait.
    let begin = pb::SendMessageRequest { configuration: Some(pb::SendMessageConfiguration::default()), ..send("wait") };
    let waiting = task(&mut client, begin).await;
    let name = format!("tasks/{}", waiting.id);
    let request = pb::TaskSubscriptionRequest { name: name.clone() };
    let mut watched = client.open("TaskSubscription", request, &[("a2a-version", "0.2.6")]).await.unwrap().into_inner();
    let first: pb::StreamResponse = next(&mut watched).await.unwrap().unwrap();
    assert!(matches!(&first.payload, Some(Payload::Task(task)) if task.id == waiting.id));

    let hook = pb::PushNotificationConfig { id: "p-1".to_owned(), url: "https://hooks.example.com/a2a".to_owned(), ..Default::default() };
    let request = pb::CreateTaskPushNotificationConfigRequest {
        parent: name.clone(),
        config_id: "p-1".to_owned(),
        config: Some(pb::TaskPushNotificationConfig { name: String::new(), push_notification_config: Some(hook.clone()) }),
    };
    let made: pb::TaskPushNotificationConfig = client.call("CreateTaskPushNotificationConfig", request).await.unwrap();
    assert_eq!(
        (made.name.as_str(), made.push_notification_config.as_ref()),
        (format!("{name}/pushNotificationConfigs/p-1").as_str(), Some(&hook))
    );
    let request = pb::GetTaskPushNotificationConfigRequest { name: made.name.clone() };
    let read: pb::TaskPushNotificationConfig = client.call("GetTaskPushNotificationConfig", request).await.unwrap();
    assert_eq!(read, made);
    let request = pb::ListTaskPushNotificationConfigRequest { parent: name.clone(), ..Default::default() };
    let page: pb::ListTaskPushNotificationConfigResponse = client.call("ListTaskPushNotificationConfig", request).await.unwrap();
    assert_eq!(page.configs, std::slice::from_ref(&made));
    let request = pb::DeleteTaskPushNotificationConfigRequest { name: made.name };
    let () = client.call("DeleteTaskPushNotificationConfig", request).await.unwrap();

    let canceled: pb::Task = client.call("CancelTask", pb::CancelTaskRequest { name }).await.unwrap();
    assert_eq!(state(&canceled), pb::TaskState::Cancelled);
    while next(&mut watched).await.unwrap().is_some() {}

    let public: pb::AgentCard = client.call("GetAgentCard", pb::GetAgentCardRequest {}).await.unwrap();
    assert_eq!((public.name.as_str(), public.skills.len()), ("Obedient", 1));
    let engine = chancery_engine::Engine::new(open_card(), obedient).extended_card(card().skill("secret", "For friends"));
    let known = start(Server::several().agent("/", engine).store(Memory::default())).await;
    let extended: pb::AgentCard = self::client(&known).await.call("GetAgentCard", pb::GetAgentCardRequest {}).await.unwrap();
    assert!(extended.skills.iter().any(|skill| skill.id == "secret"));
}

/// V03-GRPC-006, V03-GRPC-003, CONV-ERR-008.
#[tokio::test]
async fn errors_of_v0_3_begin_with_their_class() {
    let running = start(server()).await;
    let mut client = client(&running).await;
    let request = pb::GetTaskRequest { name: "tasks/nowhere".to_owned(), history_length: 0 };
    let status = client.call::<_, pb::Task>("GetTask", request).await.unwrap_err();
    assert_eq!((status.code(), old_error(&status).kind()), (Code::NotFound, ErrorKind::TaskNotFound));
    assert!(status.message().starts_with("TaskNotFoundError: "), "{}", status.message());
    let request = pb::GetTaskRequest { name: "nowhere".to_owned(), history_length: 0 };
    let status = client.call::<_, pb::Task>("GetTask", request).await.unwrap_err();
    assert_eq!((status.code(), old_error(&status).kind()), (Code::InvalidArgument, ErrorKind::InvalidParams));
    let done = task(&mut client, send("work")).await;
    let name = format!("tasks/{}", done.id);
    let status = client.call::<_, pb::Task>("CancelTask", pb::CancelTaskRequest { name: name.clone() }).await.unwrap_err();
    assert_eq!((status.code(), old_error(&status).kind()), (Code::FailedPrecondition, ErrorKind::TaskNotCancelable));
    let request = pb::TaskSubscriptionRequest { name };
    let status = client.open::<_, pb::StreamResponse>("TaskSubscription", request, &[]).await.unwrap_err();
    assert_eq!((status.code(), old_error(&status).kind()), (Code::Unimplemented, ErrorKind::UnsupportedOperation));
    let status = client.ask::<_, pb::AgentCard>("GetAgentCard", pb::GetAgentCardRequest {}, &[("a2a-version", "1.0")]).await.unwrap_err();
    assert_eq!((status.code(), old_error(&status).kind()), (Code::InvalidArgument, ErrorKind::VersionNotSupported));
}

/// V03-GRPC-004: files come back in the form in which the client writes them.
#[tokio::test]
async fn files_go_back_as_the_client_writes_them() {
    let running = start(server()).await;
    let mut client = client(&running).await;
    for field in [b"aGk=".as_slice(), b"\xff\x00 not base64"] {
        let file =
            pb::FilePart { mime_type: "application/x".to_owned(), file: Some(File::FileWithBytes(field.into())), ..Default::default() };
        let mut request = send("back");
        let part = pb::Part { part: Some(part::Part::File(file)), ..Default::default() };
        request.request.as_mut().unwrap().content.push(part);
        let is_field =
            |part: &pb::Part| matches!(&part.part, Some(part::Part::File(file)) if file.file == Some(File::FileWithBytes(field.into())));
        let done = task(&mut client, request.clone()).await;
        assert!(is_field(&done.artifacts[0].parts[0]), "{done:?}");
        let elements: Vec<pb::StreamResponse> = client.all("SendStreamingMessage", request, &[]).await.unwrap();
        let artifact = elements.iter().find_map(|element| match &element.payload {
            Some(Payload::ArtifactUpdate(update)) => update.artifact.as_ref(),
            _ => None,
        });
        assert!(is_field(&artifact.unwrap().parts[0]), "{artifact:?}");
    }
}

/// V03-GRPC-005: extensions by the old name, told by both; and a stream that goes on after a cursor.
#[tokio::test]
async fn a_v0_3_stream_tells_places_and_is_resumed() {
    let running = start(server()).await;
    let mut client = client(&running).await;
    let numbered = ("x-a2a-extensions", extension::SEQUENCE);
    let opened = client.open::<_, pb::StreamResponse>("SendStreamingMessage", send("chunks 1"), &[numbered]).await.unwrap();
    assert_eq!(text(opened.metadata(), "x-a2a-extensions"), Some(extension::SEQUENCE));
    let mut stream = opened.into_inner();
    let mut all = Vec::new();
    while let Some(element) = next(&mut stream).await.unwrap() {
        all.push(element);
    }
    let trailers = stream.trailers().await.unwrap().unwrap();
    assert_eq!(text(&trailers, "x-a2a-extensions"), Some(extension::SEQUENCE));
    let Some(Payload::Task(task)) = &all[0].payload else { panic!("{:?}", all[0]) };
    assert!(task.metadata.as_ref().unwrap().fields.contains_key(extension::SEQUENCE));
    let request = pb::TaskSubscriptionRequest { name: format!("tasks/{}", task.id) };
    let rest: Vec<pb::StreamResponse> = client.all("TaskSubscription", request, &[("last-event-id", "2"), numbered]).await.unwrap();
    assert_eq!(rest, all[2..]);
}

/// v0.3 over gRPC cannot name an agent, so one of several has it: the one at the root, or else the first. Its card says so, and no other.
#[tokio::test]
async fn v0_3_reaches_one_of_several_agents() {
    let several = || Server::several().store(Memory::default()).agent("/writer", engine("writer"));
    let first = start(several().agent("/reader", engine("reader"))).await;
    let rooted = start(several().agent("/", engine("root"))).await;
    for (running, path, heard, others) in
        [(&first, "/writer", "writer heard hello", "/reader"), (&rooted, "", "root heard hello", "/writer")]
    {
        let reply: pb::SendMessageResponse = client(running).await.call("SendMessage", send("hello")).await.unwrap();
        let Some(send_message_response::Payload::Msg(message)) = reply.payload else { panic!("{reply:?}") };
        assert_eq!(message.content[0].part, Some(part::Part::Text(heard.to_owned())));
        let claims = async |path: &str| {
            let card = reqwest::get(format!("{}{path}/.well-known/agent-card.json", running.url())).await.unwrap().text().await.unwrap();
            let card: serde_json::Value = serde_json::from_str(&card).unwrap();
            let places = card["additionalInterfaces"].as_array().unwrap();
            places.iter().filter(|place| place["transport"] == "GRPC").map(|place| place["url"].clone()).collect::<Vec<_>>()
        };
        assert_eq!((claims(path).await, claims(others).await), (vec![running.local_addr().to_string().into()], vec![]), "{path:?}");
    }
}
