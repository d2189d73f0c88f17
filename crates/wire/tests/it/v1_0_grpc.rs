//! v1.0 as protobuf: bytes of other peers, the same content as in JSON, and what is refused.

use std::fmt::Debug;

use chancery_core::{
    Binding, Error, ErrorKind, Event, FileBytes, Limits, Operation, Origin, Reply, Request, Result, SendMessage, Seq, SharedEvent,
    StatusUpdate, Task, TaskState,
};
use chancery_wire::{
    Dialect, StreamMemory,
    grpc::v1_0 as grpc,
    methods,
    proto::{google_rpc, lf_a2a_v1 as pb},
};
use prost::Message;
use prost_types::Any;
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;

use crate::{
    generate::Generator,
    vector::{Vector, assert_exact, bytes, folder, one, read_request},
};

fn hex(text: &str) -> Vec<u8> {
    (0..text.len()).step_by(2).map(|at| u8::from_str_radix(&text[at..at + 2], 16).unwrap()).collect()
}

/// Reads the bytes of a vector and compares with its JSON; writes the JSON and compares with the
/// bytes, as messages: other encoders write an empty map value, prost leaves it out.
fn both_ways<M, T>(vector: &Vector, from: impl Fn(M) -> Result<T>, to: impl Fn(&T) -> M)
where
    M: Message + Default + PartialEq,
    T: Serialize + DeserializeOwned + PartialEq + Debug,
{
    let name = &vector.name;
    let golden = vector.at("/json").unwrap();
    let received = M::decode(hex(vector.text("/hex")).as_slice()).unwrap();
    let model: T = serde_json::from_value(golden.clone()).unwrap();
    assert!(to(&model) == received, "{name}: {model:?}");
    let read = from(received).unwrap_or_else(|error| panic!("{name}: {error:?}"));
    assert_exact(name, &serde_json::to_value(&read).unwrap(), golden);
}

/// V10-GRPC-002, V10-DM-001, V10-DM-002: the bytes are those of the official descriptor.
#[test]
fn bytes_of_other_peers_mean_the_same_as_their_json() {
    let vectors: Vec<_> = folder("v1.0").into_iter().filter(|vector| vector.binding() == "GRPC").collect();
    assert!(vectors.len() >= 36, "only {} vectors", vectors.len());
    for vector in &vectors {
        match vector.text("/message") {
            "google.rpc.Status" => status_both_ways(vector),
            "lf.a2a.v1.AgentCard" => both_ways(vector, grpc::card_from_proto, grpc::card_to_proto),
            "lf.a2a.v1.CancelTaskRequest" => both_ways(vector, grpc::cancel_task_from_proto, grpc::cancel_task_to_proto),
            "lf.a2a.v1.DeleteTaskPushNotificationConfigRequest" => {
                both_ways(vector, grpc::delete_push_config_from_proto, grpc::delete_push_config_to_proto);
            }
            "lf.a2a.v1.GetExtendedAgentCardRequest" => {
                both_ways(vector, grpc::get_extended_card_from_proto, grpc::get_extended_card_to_proto);
            }
            "lf.a2a.v1.GetTaskPushNotificationConfigRequest" => {
                both_ways(vector, grpc::get_push_config_from_proto, grpc::get_push_config_to_proto);
            }
            "lf.a2a.v1.GetTaskRequest" => both_ways(vector, grpc::get_task_from_proto, grpc::get_task_to_proto),
            "lf.a2a.v1.ListTaskPushNotificationConfigsRequest" => {
                both_ways(vector, grpc::list_push_configs_from_proto, grpc::list_push_configs_to_proto);
            }
            "lf.a2a.v1.ListTaskPushNotificationConfigsResponse" => {
                both_ways(vector, grpc::push_config_page_from_proto, grpc::push_config_page_to_proto);
            }
            "lf.a2a.v1.ListTasksRequest" => both_ways(vector, grpc::list_tasks_from_proto, grpc::list_tasks_to_proto),
            "lf.a2a.v1.ListTasksResponse" => both_ways(vector, grpc::task_page_from_proto, grpc::task_page_to_proto),
            "lf.a2a.v1.Message" => both_ways(vector, grpc::message_from_proto, grpc::message_to_proto),
            "lf.a2a.v1.Part" => both_ways(vector, grpc::part_from_proto, grpc::part_to_proto),
            "lf.a2a.v1.SendMessageRequest" => both_ways(vector, grpc::send_message_from_proto, grpc::send_message_to_proto),
            "lf.a2a.v1.SendMessageResponse" => both_ways(vector, grpc::send_reply_from_proto, grpc::send_reply_to_proto),
            "lf.a2a.v1.StreamResponse" => both_ways(vector, grpc::event_from_proto, grpc::event_to_proto),
            "lf.a2a.v1.SubscribeToTaskRequest" => both_ways(vector, grpc::subscribe_from_proto, grpc::subscribe_to_proto),
            "lf.a2a.v1.Task" => both_ways(vector, grpc::task_from_proto, grpc::task_to_proto),
            "lf.a2a.v1.TaskPushNotificationConfig" => both_ways(vector, grpc::push_config_from_proto, grpc::push_config_to_proto),
            other => panic!("{}: nobody reads {other}", vector.name),
        }
        if let Some(rpc) = vector.at("/rpc").and_then(Value::as_str) {
            assert!(methods::grpc_method(rpc).is_some(), "{rpc}");
        }
    }
}

fn status_both_ways(vector: &Vector) {
    let received = google_rpc::Status::decode(hex(vector.text("/hex")).as_slice()).unwrap();
    let error = grpc::error_from_status(&received);
    assert_eq!(grpc::status_from_error(&error).encode_to_vec(), hex(vector.text("/hex")), "{}", vector.name);
    let details = vector.at("/json/details").and_then(Value::as_array).unwrap();
    assert_eq!(details[0]["reason"], error.kind().reason(), "{}", vector.name);
    assert_eq!(vector.text("/json/message"), error.message());
    let violations = details.iter().find_map(|detail| detail["fieldViolations"].as_array()).map_or(0, Vec::len);
    assert_eq!(violations, error.violations().len(), "{}", vector.name);
}

/// Sends what JSON says through protobuf and back.
fn through_proto(request: &Request) -> Result<Request> {
    let message = Dialect::V1_0Grpc.encode_request(request)?;
    let mut read = Dialect::V1_0Grpc.decode_request(request.operation(), &message)?;
    if let Some(origin) = request.origin() {
        assert_eq!(read.origin().unwrap().binding, Binding::Grpc);
        read.set_origin(origin);
    }
    Ok(read)
}

fn event_through_proto(event: &Event) -> Result<Event> {
    let mut messages = Dialect::V1_0Grpc.encode_event(event, &mut StreamMemory::default())?;
    Dialect::V1_0Grpc.decode_event(&messages.remove(0), &mut StreamMemory::default()).map(|mut events| events.remove(0))
}

/// V10-DM-001: every message of the JSON vectors says the same after a way through protobuf.
#[test]
fn what_json_says_survives_protobuf() {
    let (mut operations, mut events, mut replies) = (std::collections::BTreeSet::new(), 0, 0);
    for vector in folder("v1.0").iter().filter(|vector| vector.at("/refused").is_none()) {
        let rpc = match vector.binding() {
            "JSONRPC" => true,
            "HTTP+JSON" => false,
            _ => continue,
        };
        let (_, operation, mut request) = read_request(vector);
        request.set_origin(chancery_core::Origin::default());
        assert_eq!(through_proto(&request).unwrap(), request, "{}", vector.name);
        operations.insert(operation);
        for element in vector.at("/response/events").and_then(Value::as_array).into_iter().flatten() {
            if element.get("error").is_some() {
                continue; // Errors end a call of gRPC; they are no elements there.
            }
            let element = if rpc { &element["result"] } else { element };
            let event: Event = serde_json::from_value(element.clone()).unwrap();
            assert_eq!(event_through_proto(&event).unwrap(), event, "{}", vector.name);
            events += 1;
        }
        if let Some(body) =
            vector.at(if rpc { "/response/body/result" } else { "/response/body" }).filter(|body| body.get("error").is_none())
        {
            reply_survives(&vector.name, operation, &Dialect::V1_0.decode_reply(operation, &bytes(body)).unwrap());
            replies += 1;
        }
    }
    assert!(operations.len() == Operation::ALL.len() && events >= 40 && replies >= 30, "{events} events, {replies} replies");
}

#[track_caller]
fn reply_survives(name: &str, operation: Operation, reply: &Reply) {
    let message = Dialect::V1_0Grpc.encode_reply(reply).unwrap();
    assert_eq!(&Dialect::V1_0Grpc.decode_reply(operation, &message).unwrap(), reply, "{name}");
}

/// V10-DM-001, V10-GRPC-008: the same for whatever a generator makes, and for errors.
#[test]
fn everything_survives_protobuf() {
    for case in 0..10_000 {
        let mut make = Generator::new(case);
        for operation in Operation::ALL {
            let request = make.request(operation);
            assert_eq!(through_proto(&request).unwrap(), request, "case {case}");
            if !operation.is_streaming() {
                reply_survives(&format!("case {case}"), operation, &make.reply(operation));
            }
        }
        for event in make.stream() {
            assert_eq!(event_through_proto(&event).unwrap(), event, "case {case}");
        }
        let error = make.error();
        let again = grpc::error_from_status(&grpc::status_from_error(&error));
        let facts = |error: &Error| (error.kind(), error.message().to_owned(), error.metadata().clone(), error.violations().to_vec());
        assert_eq!(facts(&again), facts(&error), "case {case}");
    }
}

fn sent() -> pb::SendMessageRequest {
    grpc::send_message_to_proto(&SendMessage::new(chancery_core::Message::user("hi").id("m-1")))
}

#[track_caller]
fn refused<T: Debug>(read: Result<T>, field: &str) {
    let error = read.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidParams);
    assert_eq!(error.violations()[0].field, field, "{error}");
}

/// V10-DM-009, V10-DM-010, V10-DM-011, V10-DM-015, V10-ERR-009: what can never be right names its
/// field.
#[test]
fn unknown_numbers_and_empty_oneofs_are_refused_where_they_stand() {
    let mut request = sent();
    request.message.as_mut().unwrap().role = 3;
    refused(grpc::send_message_from_proto(request), "message.role");

    let mut request = sent();
    request.message.as_mut().unwrap().parts.push(pb::Part { filename: "empty.txt".to_owned(), ..pb::Part::default() });
    refused(grpc::send_message_from_proto(request), "message.parts[1]");
    refused(grpc::part_from_proto(pb::Part::default()), "part");

    refused(grpc::list_tasks_from_proto(pb::ListTasksRequest { status: 9, ..pb::ListTasksRequest::default() }), "status");
    let late = prost_types::Timestamp { seconds: 253_402_300_800, nanos: 0 };
    let list = pb::ListTasksRequest { status_timestamp_after: Some(late), ..pb::ListTasksRequest::default() };
    refused(grpc::list_tasks_from_proto(list), "statusTimestampAfter");

    refused(grpc::event_from_proto(pb::StreamResponse::default()), "payload");
    refused(grpc::send_reply_from_proto(pb::SendMessageResponse::default()), "payload");

    let status = |state, timestamp| Some(pb::TaskStatus { state, message: sent().message, timestamp });
    let task = |status| pb::Task { id: "t".to_owned(), status, ..pb::Task::default() };
    refused(grpc::task_from_proto(task(status(-1, None))), "status.state");
    refused(grpc::task_from_proto(task(status(1, Some(late)))), "status.timestamp");
    let mut told = status(1, None);
    told.as_mut().unwrap().message.as_mut().unwrap().parts = vec![pb::Part::default()];
    let update = pb::TaskStatusUpdateEvent { status: told.clone(), ..pb::TaskStatusUpdateEvent::default() };
    let element = pb::StreamResponse { payload: Some(pb::stream_response::Payload::StatusUpdate(update)) };
    refused(grpc::event_from_proto(element), "statusUpdate.status.message.parts[0]");
    let page = pb::ListTasksResponse { tasks: vec![task(status(1, None)), task(told)], ..pb::ListTasksResponse::default() };
    refused(grpc::task_page_from_proto(page), "tasks[1].status.message.parts[0]");

    let artifact = pb::Artifact { parts: vec![pb::Part::default()], ..pb::Artifact::default() };
    let element = pb::TaskArtifactUpdateEvent { artifact: Some(artifact.clone()), ..pb::TaskArtifactUpdateEvent::default() };
    let element = pb::StreamResponse { payload: Some(pb::stream_response::Payload::ArtifactUpdate(element)) };
    refused(grpc::event_from_proto(element), "artifactUpdate.artifact.parts[0]");
    let made = pb::Task { artifacts: vec![artifact], ..pb::Task::default() };
    refused(
        grpc::send_reply_from_proto(pb::SendMessageResponse { payload: Some(pb::send_message_response::Payload::Task(made)) }),
        "task.artifacts[0].parts[0]",
    );
}

/// V10-DM-015, v1.0 data model 4: oneofs of the card, and its one closed word.
#[test]
fn a_card_with_an_empty_scheme_is_refused() {
    use pb::security_scheme::Scheme;
    let card =
        |scheme| pb::AgentCard { security_schemes: [("key".to_owned(), pb::SecurityScheme { scheme })].into(), ..pb::AgentCard::default() };
    refused(grpc::card_from_proto(card(None)), "securitySchemes.key");
    let oauth = |flows| Some(Scheme::Oauth2SecurityScheme(pb::OAuth2SecurityScheme { flows, ..pb::OAuth2SecurityScheme::default() }));
    refused(grpc::card_from_proto(card(oauth(None))), "securitySchemes.key.oauth2SecurityScheme.flows");
    refused(grpc::card_from_proto(card(oauth(Some(pb::OAuthFlows::default())))), "securitySchemes.key.oauth2SecurityScheme.flows");
    let key = |location: &str| {
        Some(Scheme::ApiKeySecurityScheme(pb::ApiKeySecurityScheme {
            location: location.to_owned(),
            ..pb::ApiKeySecurityScheme::default()
        }))
    };
    refused(grpc::card_from_proto(card(key("body"))), "securitySchemes.key.apiKeySecurityScheme.location");
    assert!(grpc::card_from_proto(card(key("cookie"))).is_ok());
}

/// V10-DM-003, V10-DM-005, V10-DM-006: reading leaves gaps, the check finds them, as in JSON.
#[test]
fn an_empty_request_is_read_and_then_found_incomplete() {
    let wanting = [
        (Request::SendMessage(Box::new(grpc::send_message_from_proto(Default::default()).unwrap())), 3),
        (Request::GetTask(grpc::get_task_from_proto(Default::default()).unwrap()), 1),
        (Request::CancelTask(grpc::cancel_task_from_proto(Default::default()).unwrap()), 1),
        (Request::Subscribe(grpc::subscribe_from_proto(Default::default()).unwrap()), 1),
        (Request::CreatePushConfig(Box::new(grpc::push_config_from_proto(Default::default()).unwrap())), 2),
        (Request::GetPushConfig(grpc::get_push_config_from_proto(Default::default()).unwrap()), 1),
        (Request::ListPushConfigs(grpc::list_push_configs_from_proto(Default::default()).unwrap()), 1),
        (Request::DeletePushConfig(grpc::delete_push_config_from_proto(Default::default()).unwrap()), 2),
    ];
    for (request, violations) in wanting {
        let error = Dialect::V1_0.check(&request, &Limits::default()).unwrap_err();
        assert_eq!(error.violations().len(), violations, "{request:?}");
    }
    let list = grpc::list_tasks_from_proto(Default::default()).unwrap();
    assert_eq!((list.page_size, list.applied_page_size(), list.with_artifacts()), (None, 50, false));
    Dialect::V1_0.check(&Request::ListTasks(list), &Limits::default()).unwrap();
}

/// V10-GRPC-008: the trailer of the specification's example, byte for byte.
#[test]
fn the_trailer_of_a_missing_task_is_that_of_the_specification() {
    let vector = one("v1.0/grpc-error-not-found");
    let status = grpc::status_from_error(&Error::from(ErrorKind::TaskNotFound));
    let bytes = status.encode_to_vec();
    assert_eq!(bytes, hex(vector.text("/hex")));
    let trailer = chancery_core::json::to_base64(&bytes);
    assert_eq!(trailer.trim_end_matches('='), vector.text("/trailers/grpc-status-details-bin"));
    assert_eq!(
        (status.code.to_string().as_str(), status.message.as_str()),
        (vector.text("/trailers/grpc-status"), vector.text("/trailers/grpc-message"))
    );
}

fn any(type_url: &str, message: &impl Message) -> Any {
    Any { type_url: type_url.to_owned(), value: message.encode_to_vec() }
}

/// V10-GRPC-008, bindings 2.4 and 6: details are found by type, the reason decides, then the code.
#[test]
fn statuses_of_other_servers_are_understood() {
    const INFO: &str = "type.googleapis.com/google.rpc.ErrorInfo";
    let info = |reason: &str, domain: &str| google_rpc::ErrorInfo {
        reason: reason.to_owned(),
        domain: domain.to_owned(),
        metadata: [("taskId".to_owned(), "t".to_owned())].into(),
    };
    let ours = any(INFO, &info("PUSH_NOTIFICATION_NOT_SUPPORTED", "a2a-protocol.org"));
    let other = any("type.googleapis.com/google.rpc.LocalizedMessage", &google_rpc::LocalizedMessage::default());
    let broken = Any { type_url: INFO.to_owned(), value: vec![0xff] };
    for (code, details, kind) in [
        // v1.0.0 said UNIMPLEMENTED here; Go puts the reason last.
        (12, vec![ours.clone()], ErrorKind::PushNotificationNotSupported),
        (9, vec![other.clone(), ours.clone()], ErrorKind::PushNotificationNotSupported),
        (9, vec![any("google.rpc.ErrorInfo", &info("TASK_NOT_CANCELABLE", "a2a-protocol.org"))], ErrorKind::TaskNotCancelable),
        (5, vec![any(INFO, &info("TASK_NOT_CANCELABLE", "bank.example"))], ErrorKind::TaskNotFound),
        (5, vec![any(INFO, &info("NEW_REASON", "a2a-protocol.org"))], ErrorKind::TaskNotFound),
        (5, vec![broken, other], ErrorKind::TaskNotFound),
        (3, vec![], ErrorKind::InvalidParams),
        (4, vec![], ErrorKind::Timeout),
        (7, vec![], ErrorKind::PermissionDenied),
        (8, vec![], ErrorKind::RateLimited),
        (9, vec![], ErrorKind::UnsupportedOperation),
        (12, vec![], ErrorKind::MethodNotFound),
        (13, vec![], ErrorKind::Internal),
        (14, vec![], ErrorKind::Unavailable),
        (16, vec![], ErrorKind::Unauthenticated),
        (2, vec![], ErrorKind::Internal),
        (77, vec![], ErrorKind::Internal),
    ] {
        let error = grpc::error_from_status(&google_rpc::Status { code, message: "no".to_owned(), details });
        assert_eq!((error.kind(), error.message()), (kind, "no"), "code {code}");
    }
    let silent = grpc::error_from_status(&google_rpc::Status { code: 9, message: String::new(), details: vec![ours] });
    assert_eq!(silent.message(), ErrorKind::PushNotificationNotSupported.default_message());
    assert_eq!(silent.metadata()["taskId"], "t");
}

/// v1.0 data model 5.4: protobuf keeps what JSON cuts.
#[test]
fn times_keep_their_nanoseconds() {
    let at = prost_types::Timestamp { seconds: 1_775_633_412, nanos: 640_123_456 };
    let status = pb::TaskStatus { state: 3, timestamp: Some(at), message: None };
    let task = grpc::task_from_proto(pb::Task { id: "t".to_owned(), status: Some(status), ..pb::Task::default() }).unwrap();
    assert_eq!(serde_json::to_value(&task).unwrap()["status"]["timestamp"], "2026-04-08T07:30:12.640Z");
    assert_eq!(grpc::task_to_proto(&task).status.unwrap().timestamp, Some(at));
}

/// What watchers of a stream get is made once for all of them, unless it tells its place in the log.
#[test]
fn an_event_is_encoded_once_for_all_streams_of_a_form() {
    let event = SharedEvent::from(StatusUpdate::new("t-1", "c-1", TaskState::Canceled));
    let shown = |dialect: Dialect, form, seq| {
        let mut memory = StreamMemory::new(Origin::new(dialect.version(), Binding::Grpc).file_bytes(form));
        memory.seq = seq;
        let mut shown = Vec::new();
        dialect.show_event(&event, &mut memory, |bytes| shown.push(bytes.clone())).unwrap();
        shown.remove(0)
    };
    let forms = [(Dialect::V1_0Grpc, FileBytes::Double), (Dialect::V0_3Grpc, FileBytes::Double), (Dialect::V0_3Grpc, FileBytes::Single)];
    for (dialect, form) in forms {
        assert_eq!(shown(dialect, form, None).as_ptr(), shown(dialect, form, None).as_ptr(), "{dialect:?} {form:?}");
        let mut memory = StreamMemory::default();
        let read = dialect.decode_event(&shown(dialect, form, Some(Seq::new(7))), &mut memory).unwrap();
        assert_eq!((memory.seq, &read[0]), (Some(Seq::new(7)), &*event), "a numbered event differs by its number only");
        dialect.decode_event(&shown(dialect, form, None), &mut memory).unwrap();
        assert_eq!(memory.seq, None);
    }
    assert_ne!(shown(Dialect::V1_0Grpc, FileBytes::Double, None), shown(Dialect::V0_3Grpc, FileBytes::Double, None));
}

/// Webhooks get JSON, whatever their config was registered through.
#[test]
fn a_webhook_gets_json() {
    let task = Task::new("t-1", "c-1", TaskState::Completed);
    let event = Event::from(StatusUpdate::new("t-1", "c-1", TaskState::Completed));
    for (grpc, json) in [(Dialect::V1_0Grpc, Dialect::V1_0), (Dialect::V0_3Grpc, Dialect::V0_3)] {
        assert_eq!(grpc.encode_push(&event, &task).unwrap(), json.encode_push(&event, &task).unwrap());
    }
}
