//! v0.3 over gRPC: its protobuf messages.

use chancery_core::{
    Artifact, Binding, Card, Error, ErrorKind, Event, FileBytes, Limits, Message, Object, Operation, Origin, Part, PushConfig, Reply,
    Request, Result, SecurityScheme, StatusUpdate, Task, TaskState, TaskStatus, Version,
    security::{DeviceCodeFlow, OAuth2Scheme, OAuthFlow},
};
use chancery_wire::{
    Dialect, StreamMemory, errors,
    grpc::v0_3,
    methods,
    proto::{a2a_v1 as pb, google_rpc},
};
use prost::Message as _;
use serde_json::{Value, json};

use crate::{
    generate::Generator,
    vector::{Vector, assert_exact, folder, one, parse},
};

/// What a call carries one way, by the name of its message.
pub fn write_request(request: &Request) -> (&'static str, Vec<u8>) {
    let message = match request {
        Request::SendMessage(_) | Request::StreamMessage(_) => "SendMessageRequest",
        Request::GetTask(_) => "GetTaskRequest",
        Request::ListTasks(_) => "ListTasksRequest",
        Request::CancelTask(_) => "CancelTaskRequest",
        Request::Subscribe(_) => "TaskSubscriptionRequest",
        Request::CreatePushConfig(_) => "CreateTaskPushNotificationConfigRequest",
        Request::GetPushConfig(_) => "GetTaskPushNotificationConfigRequest",
        Request::ListPushConfigs(_) => "ListTaskPushNotificationConfigRequest",
        Request::DeletePushConfig(_) => "DeleteTaskPushNotificationConfigRequest",
        Request::GetExtendedCard(_) => "GetAgentCardRequest",
    };
    (message, Dialect::V0_3Grpc.encode_request(request).unwrap())
}

pub fn read_request(operation: Operation, bytes: &[u8]) -> Result<Request> {
    Dialect::V0_3Grpc.decode_request(operation, bytes)
}

/// What a call carries back, by the name of its message.
pub fn write_reply(reply: &Reply) -> (&'static str, Vec<u8>) {
    let message = match reply {
        Reply::Sent(_) => "SendMessageResponse",
        Reply::Task(_) => "Task",
        Reply::Tasks(_) => "ListTasksResponse",
        Reply::PushConfig(_) => "TaskPushNotificationConfig",
        Reply::PushConfigs(_) => "ListTaskPushNotificationConfigResponse",
        Reply::Deleted => "Empty",
        Reply::Card(_) => "AgentCard",
    };
    (message, Dialect::V0_3Grpc.encode_reply(reply).unwrap())
}

pub fn read_reply(operation: Operation, bytes: &[u8]) -> Result<Reply> {
    Dialect::V0_3Grpc.decode_reply(operation, bytes)
}

pub fn write_event(event: &Event) -> Vec<u8> {
    Dialect::V0_3Grpc.encode_event(event, &mut StreamMemory::default()).unwrap().remove(0)
}

pub fn read_event(bytes: &[u8]) -> Result<Event> {
    Dialect::V0_3Grpc.decode_event(bytes, &mut StreamMemory::default()).map(|mut events| events.remove(0))
}

fn decode<M: prost::Message + Default>(bytes: &[u8]) -> M {
    M::decode(bytes).unwrap()
}

fn vectors() -> Vec<Vector> {
    let mut vectors = folder("v0.3");
    vectors.retain(|vector| vector.name.starts_with("v0.3/grpc-"));
    assert_eq!(vectors.len(), 15);
    vectors
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn bytes_of(vector: &Vector) -> Vec<u8> {
    let digits = vector.text("/hex").as_bytes();
    digits.chunks(2).map(|pair| u8::from_str_radix(str::from_utf8(pair).unwrap(), 16).unwrap()).collect()
}

/// V03-GRPC-001, V03-GRPC-002, V03-GRPC-003, V03-GRPC-004, CONV-DET-016.
#[test]
fn every_golden_message_is_read_and_written_and_is_the_json_of_the_other_binding() {
    for vector in vectors().iter().filter(|vector| vector.name != "v0.3/grpc-agent-card") {
        let name = &vector.name;
        let (version, operation) = methods::grpc_method(vector.text("/rpc")).unwrap();
        assert_eq!(version, Version::V0_3, "{name}");
        let bytes = bytes_of(vector);
        let (message, again, json) = match vector.text("/direction") {
            "request" => {
                let request = read_request(operation, &bytes).unwrap();
                Dialect::V0_3Grpc.check(&request, &Limits::default()).unwrap();
                let (message, again) = write_request(&request);
                (message, again, Dialect::V0_3Rest.encode_request(&request).unwrap())
            }
            _ if operation.is_streaming() => {
                let event = read_event(&bytes).unwrap();
                let json = Dialect::V0_3Rest.encode_event(&event, &mut StreamMemory::default()).unwrap().remove(0);
                ("StreamResponse", write_event(&event), json)
            }
            _ => {
                let reply = read_reply(operation, &bytes).unwrap();
                let (message, again) = write_reply(&reply);
                (message, again, Dialect::V0_3Rest.encode_reply(&reply).unwrap())
            }
        };
        assert_eq!(vector.text("/message"), format!("a2a.v1.{message}"), "{name}");
        assert_eq!(hex(&again), vector.text("/hex"), "{name}");
        assert_exact(name, &parse(&json), vector.at("/json").unwrap());
    }
}

/// The card of `conversion/card`, as a v0.3 reader can know it.
fn tide_desk() -> Card {
    let mut card: Card = serde_json::from_value(one("conversion/card").json["v1.0"].clone()).unwrap();
    card.supported_interfaces.retain(|interface| interface.protocol_version == "0.3");
    card
}

/// V03-SEC-002, V03-GRPC-002, CONV-CARD-002, CONV-CARD-004, CONV-CARD-006.
#[test]
fn the_golden_card_is_read_and_written() {
    let vector = one("v0.3/grpc-agent-card");
    let golden: pb::AgentCard = decode(&bytes_of(&vector));
    let card = v0_3::card_from_proto(golden.clone()).unwrap();
    assert_exact("card", &serde_json::to_value(&card).unwrap(), &serde_json::to_value(tide_desk()).unwrap());
    assert_eq!(hex(&write_reply(&Reply::Card(Box::new(card))).1), vector.text("/hex"));
    let merged = serde_json::from_value(one("conversion/card").json["v1.0"].clone()).unwrap();
    assert_eq!(v0_3::card_to_proto(&merged), golden, "interfaces of other versions are left out");
}

/// V03-CARD-002, V03-CARD-013, V03-CARD-014, V03-SEC-005, CONV-CARD-007, CONV-CARD-008.
#[test]
fn a_card_keeps_its_signatures_and_loses_only_what_v0_3_has_not() {
    let mut card = tide_desk();
    let mut signature = chancery_core::Signature::new("eyJhbGciOiJFUzI1NiJ9", "AAAA");
    signature.header = Some(Object::from_iter([("kid".to_owned(), json!("k1"))]));
    card.signatures.push(signature);
    card.icon_url = None;
    card.supported_interfaces.rotate_left(1);
    let wire = v0_3::card_to_proto(&card);
    assert_eq!((wire.url.as_str(), wire.preferred_transport.as_str()), ("https://tide.example/a2a", "JSONRPC"));
    assert_eq!(wire.protocol_version, "0.3.0");
    let mut read = v0_3::card_from_proto(wire).unwrap();
    read.supported_interfaces.rotate_left(1);
    assert_eq!(read, card);

    let mut flow = DeviceCodeFlow::default();
    flow.token_url = "https://login.example/token".to_owned();
    card.security_schemes.insert("oauth".to_owned(), SecurityScheme::OAuth2(OAuth2Scheme::new(OAuthFlow::DeviceCode(flow))));
    let wire = v0_3::card_to_proto(&card);
    match &wire.security_schemes["oauth"].scheme {
        Some(pb::security_scheme::Scheme::Oauth2SecurityScheme(scheme)) => {
            assert_eq!(scheme.flows, Some(pb::OAuthFlows { flow: None }));
        }
        other => panic!("{other:?}"),
    }
    let read = v0_3::card_from_proto(wire).unwrap();
    let nobody_knows = OAuth2Scheme::new(OAuthFlow::DeviceCode(DeviceCodeFlow::default()));
    assert_eq!(read.security_schemes["oauth"], SecurityScheme::OAuth2(nobody_knows));
}

/// V03-CARD-002, V03-CARD-014.
#[test]
fn the_interfaces_of_a_card_are_read_once_each_with_the_usual_defaults() {
    let interface = |url: &str, transport: &str| pb::AgentInterface { url: url.to_owned(), transport: transport.to_owned() };
    let card = pb::AgentCard {
        url: "https://a.example".to_owned(),
        additional_interfaces: vec![interface("https://a.example", "JSONRPC"), interface("a.example:443", "GRPC")],
        ..pb::AgentCard::default()
    };
    let interfaces = |card| {
        let card = v0_3::card_from_proto(card).unwrap();
        card.supported_interfaces.iter().map(|it| format!("{} {} {}", it.url, it.protocol_binding, it.protocol_version)).collect::<Vec<_>>()
    };
    assert_eq!(interfaces(card.clone()), ["https://a.example JSONRPC 0.3", "a.example:443 GRPC 0.3"]);
    let newer = pb::AgentCard { protocol_version: "0.3.1".to_owned(), preferred_transport: "HTTP+JSON".to_owned(), ..card };
    assert_eq!(interfaces(newer)[0], "https://a.example HTTP+JSON 0.3");
    let scheme =
        |scheme| pb::AgentCard { security_schemes: [("k".to_owned(), pb::SecurityScheme { scheme })].into(), ..Default::default() };
    let field = |card| v0_3::card_from_proto(card).unwrap_err().violations()[0].field.clone();
    assert_eq!(field(scheme(None)), "securitySchemes.k");
    let key = pb::ApiKeySecurityScheme { location: "pocket".to_owned(), ..Default::default() };
    assert_eq!(
        field(scheme(Some(pb::security_scheme::Scheme::ApiKeySecurityScheme(key)))),
        "securitySchemes.k.apiKeySecurityScheme.location"
    );
}

/// V03-GRPC-003.
#[test]
fn a_name_that_is_none_is_refused() {
    for name in ["", "t", "tasks/", "tasks/a/b", "tasks/a/pushNotificationConfigs/b/c"] {
        let name = name.to_owned();
        let parent = name.clone();
        let refused = [
            read_request(Operation::GetTask, &pb::GetTaskRequest { name: name.clone(), history_length: 0 }.encode_to_vec()),
            read_request(Operation::CancelTask, &pb::CancelTaskRequest { name: name.clone() }.encode_to_vec()),
            read_request(Operation::Subscribe, &pb::TaskSubscriptionRequest { name: name.clone() }.encode_to_vec()),
            read_request(Operation::GetPushConfig, &pb::GetTaskPushNotificationConfigRequest { name: name.clone() }.encode_to_vec()),
            read_request(Operation::DeletePushConfig, &pb::DeleteTaskPushNotificationConfigRequest { name }.encode_to_vec()),
            read_request(
                Operation::ListPushConfigs,
                &pb::ListTaskPushNotificationConfigRequest { parent: parent.clone(), ..Default::default() }.encode_to_vec(),
            ),
            read_request(
                Operation::CreatePushConfig,
                &pb::CreateTaskPushNotificationConfigRequest { parent: parent.clone(), ..Default::default() }.encode_to_vec(),
            ),
        ];
        for refused in refused {
            let error = refused.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidParams, "{parent}");
            assert!(["name", "parent"].contains(&error.violations()[0].field.as_str()));
            assert_eq!(v0_3::status_from_error(&error).code, 3);
        }
    }
}

/// V03-PUSHCFG-002, V03-GRPC-003, CONV-PUSH-001, CONV-REC-001.
#[test]
fn a_push_config_takes_its_task_from_the_parent_and_its_id_from_the_nearest_place() {
    let config = |id: &str, name: &str, config_id: &str| {
        let wire = pb::CreateTaskPushNotificationConfigRequest {
            parent: "tasks/t".to_owned(),
            config_id: config_id.to_owned(),
            config: Some(pb::TaskPushNotificationConfig {
                name: name.to_owned(),
                push_notification_config: Some(pb::PushNotificationConfig {
                    id: id.to_owned(),
                    url: "https://c.example".to_owned(),
                    ..Default::default()
                }),
            }),
        };
        let config = v0_3::create_push_config_from_proto(wire).unwrap();
        assert_eq!(config.task_id, "t");
        assert_eq!(config.record.origin, Origin::new(Version::V0_3, Binding::Grpc));
        config.id.into_string()
    };
    assert_eq!(config("a", "tasks/t/pushNotificationConfigs/b", "c"), "a");
    assert_eq!(config("", "tasks/t/pushNotificationConfigs/b", "c"), "b");
    assert_eq!(config("", "tasks/t/pushNotificationConfigs/", "c"), "c");
    assert_eq!(config("", "", ""), "t");
    let without_parent = pb::CreateTaskPushNotificationConfigRequest {
        config: Some(v0_3::push_config_to_proto(&PushConfig::new("https://c.example").for_task("t").id("k"))),
        ..Default::default()
    };
    assert_eq!(v0_3::create_push_config_from_proto(without_parent).unwrap().task_id, "t");
}

/// CONV-PUSH-002.
#[test]
fn several_schemes_of_a_push_config_are_kept() {
    let wire = pb::PushNotificationConfig {
        url: "https://c.example".to_owned(),
        authentication: Some(pb::AuthenticationInfo {
            schemes: vec!["Negotiate".to_owned(), "Bearer".to_owned()],
            credentials: "s".to_owned(),
        }),
        ..Default::default()
    };
    let wire = pb::TaskPushNotificationConfig {
        name: "tasks/t/pushNotificationConfigs/k".to_owned(),
        push_notification_config: Some(pb::PushNotificationConfig { id: "k".to_owned(), ..wire }),
    };
    let config = v0_3::push_config_from_proto(wire.clone()).unwrap();
    assert_eq!(config.authentication.as_ref().unwrap().scheme, "Bearer");
    assert_eq!(v0_3::push_config_to_proto(&config), wire);
}

/// V03-GRPC-004, V03-REST-005.
#[test]
fn the_form_of_inline_bytes_is_detected_and_used_again() {
    for (field, form) in [(&b"aGk="[..], FileBytes::Double), (b"hi", FileBytes::Single)] {
        let file = pb::FilePart { file: Some(pb::file_part::File::FileWithBytes(field.to_vec().into())), ..Default::default() };
        let part = pb::Part { part: Some(pb::part::Part::File(file)), metadata: None };
        let message = pb::Message { message_id: "m".to_owned(), role: 1, content: vec![part.clone()], ..Default::default() };
        let send = v0_3::send_message_from_proto(pb::SendMessageRequest { request: Some(message.clone()), ..Default::default() }).unwrap();
        assert_eq!(send.message, Message::user(Part::raw("hi")).id("m"));
        assert_eq!(send.origin, Origin::new(Version::V0_3, Binding::Grpc).file_bytes(form));
        assert_eq!(v0_3::send_message_to_proto(&send).request, Some(message));
        assert_eq!(v0_3::part_from_proto(part.clone()).unwrap(), (Part::raw("hi"), Some(form)));
        let artifact = Artifact::new(Part::raw("hi")).id("a");
        assert_eq!(v0_3::artifact_to_proto(&artifact, form).parts, [part]);
    }
}

/// V03-GRPC-008, V03-REST-009, CONV-SEND-002, CONV-SEND-003.
#[test]
fn waiting_and_history_follow_the_rules_of_the_other_binding() {
    let send = |configuration| {
        v0_3::send_message_from_proto(pb::SendMessageRequest { configuration, ..Default::default() }).unwrap().configuration
    };
    assert!(!send(None).return_immediately);
    assert!(send(Some(pb::SendMessageConfiguration::default())).return_immediately);
    assert!(!send(Some(pb::SendMessageConfiguration { blocking: true, ..Default::default() })).return_immediately);
    assert_eq!(send(Some(pb::SendMessageConfiguration::default())).history_length, None);
    assert_eq!(send(Some(pb::SendMessageConfiguration { history_length: 2, ..Default::default() })).history_length, Some(2));
    let ours = v0_3::send_message_to_proto(&chancery_core::SendMessage::new("hi"));
    assert_eq!(ours.configuration, Some(pb::SendMessageConfiguration { blocking: true, ..Default::default() }));
    let get = v0_3::get_task_from_proto(pb::GetTaskRequest { name: "tasks/t".to_owned(), history_length: 0 }).unwrap();
    assert_eq!(get.history_length, None);
    let list = v0_3::list_tasks_from_proto(pb::ListTasksRequest::default()).unwrap();
    assert_eq!((list.history_length, list.page_size, list.with_artifacts()), (Some(0), None, false));
}

/// CONV-STATE-001, CONV-STATE-002, CONV-EVENT-002.
#[test]
fn states_have_the_numbers_of_v1_and_unknown_ones_are_kept() {
    let cases = one("conversion/states").json["cases"].as_array().unwrap().clone();
    assert_eq!(cases.len(), TaskState::ALL.len());
    for case in cases {
        let state = TaskState::from_name(case["v1.0"].as_str().unwrap()).unwrap();
        let wire = v0_3::task_to_proto(&Task::new("t", "c", state), FileBytes::Double);
        assert_eq!(wire.status.as_ref().unwrap().state().as_str_name(), case["v0.3-rest"].as_str().unwrap());
        assert_eq!(v0_3::task_from_proto(wire).unwrap().state(), state);
        let update = v0_3::event_to_proto(&StatusUpdate::new("t", "c", state).into(), FileBytes::Double);
        match update.payload {
            Some(pb::stream_response::Payload::StatusUpdate(update)) => assert_eq!(update.r#final, state.ends_stream(), "{state}"),
            other => panic!("{other:?}"),
        }
    }
    let wire = pb::Task { status: Some(pb::TaskStatus { state: 42, ..Default::default() }), ..Default::default() };
    let read = v0_3::task_from_proto(wire).unwrap();
    assert_eq!((read.state(), read.metadata["a2a.compat.state"].as_str()), (TaskState::Unspecified, Some("42")));
}

/// CONV-TASK-001.
#[test]
fn what_is_missing_is_filled_as_in_the_other_binding() {
    let mut task = Task::new("t", "", TaskStatus::new(TaskState::Working).message(Message::default().id("m")));
    let wire = v0_3::task_to_proto(&task, FileBytes::Double);
    assert_eq!(wire.context_id, "t");
    assert_eq!(wire.status.unwrap().update.unwrap().role(), pb::Role::Agent);
    // Python peers write a status message that says nothing.
    task.status.message = Some(Message::default());
    let wire = v0_3::task_to_proto(&task, FileBytes::Double);
    assert_eq!(v0_3::task_from_proto(wire).unwrap().status.message, None);
}

/// CONV-PART-005.
#[test]
fn what_can_never_be_right_is_refused_by_name() {
    let field = |result: Result<Request>| result.unwrap_err().violations()[0].field.clone();
    let send = |message: pb::Message| {
        read_request(Operation::SendMessage, &pb::SendMessageRequest { request: Some(message), ..Default::default() }.encode_to_vec())
    };
    let empty = pb::Part::default();
    assert_eq!(field(send(pb::Message { content: vec![empty], ..Default::default() })), "message.content[0]");
    let file = pb::Part { part: Some(pb::part::Part::File(pb::FilePart::default())), metadata: None };
    assert_eq!(field(send(pb::Message { content: vec![file], ..Default::default() })), "message.content[0].file");
    assert_eq!(field(send(pb::Message { role: 9, ..Default::default() })), "message.role");
    let list = pb::ListTasksRequest { status: 9, ..Default::default() };
    assert_eq!(field(read_request(Operation::ListTasks, &list.encode_to_vec())), "status");
    let late = prost_types::Timestamp { seconds: i64::MAX, nanos: 0 };
    let list = pb::ListTasksRequest { last_updated_time: Some(late), ..Default::default() };
    assert_eq!(field(read_request(Operation::ListTasks, &list.encode_to_vec())), "lastUpdatedTime");
    let task = pb::Task { status: Some(pb::TaskStatus { timestamp: Some(late), ..Default::default() }), ..Default::default() };
    assert_eq!(v0_3::task_from_proto(task).unwrap_err().violations()[0].field, "status.timestamp");
    assert!(v0_3::event_from_proto(pb::StreamResponse::default()).is_err());
    assert!(v0_3::send_reply_from_proto(pb::SendMessageResponse::default()).is_err());
}

/// CONV-ERR-001, CONV-ERR-008, V03-GRPC-006.
#[test]
fn every_error_has_its_code_its_class_and_its_reason() {
    let table = one("conversion/errors");
    let cases = table.at("/cases").and_then(Value::as_array).unwrap();
    assert_eq!(cases.len(), 14);
    for case in cases {
        let code = i32::try_from(case["v1.0-code"].as_i64().unwrap()).unwrap();
        let kind = errors::kind_of_rpc_code(code, Version::V1_0);
        let status = v0_3::status_from_error(&Error::new(kind, "No: not so.").with("taskId", "t-1"));
        assert_eq!(errors::GrpcCode::from_number(status.code).name(), case["v0.3-grpc"].as_str().unwrap(), "{kind:?}");
        assert_eq!(status.message, format!("{}: No: not so.", errors::class_name(kind)));
        let read = v0_3::error_from_status(&status);
        assert_eq!((read.kind(), read.message(), read.metadata()["taskId"].as_str()), (kind, "No: not so.", "t-1"));
    }
    let wrong = Error::invalid_param("message.content", "at least one part is needed");
    let read = v0_3::error_from_status(&v0_3::status_from_error(&wrong));
    assert_eq!((read.kind(), read.violations()), (wrong.kind(), wrong.violations()));
}

/// V03-GRPC-006.
#[test]
fn an_error_of_another_peer_is_known_by_its_reason_then_by_its_class_then_by_its_code() {
    let status = |code: i32, message: &str| google_rpc::Status { code, message: message.to_owned(), details: Vec::new() };
    for (status, kind, words) in [
        (status(12, "TaskNotCancelableError: Task cannot be canceled"), ErrorKind::TaskNotCancelable, "Task cannot be canceled"),
        (status(12, "ContentTypeNotSupportedError: Incompatible"), ErrorKind::ContentTypeNotSupported, "Incompatible"),
        (status(13, "InvalidParamsError:"), ErrorKind::InvalidParams, "Invalid parameters"),
        (status(5, "no such thing: 7"), ErrorKind::TaskNotFound, "no such thing: 7"),
        (status(5, "SomeError: 7"), ErrorKind::TaskNotFound, "SomeError: 7"),
        (status(16, ""), ErrorKind::Unauthenticated, "Authentication required"),
        (status(99, "?"), ErrorKind::Internal, "?"),
    ] {
        let error = v0_3::error_from_status(&status);
        assert_eq!((error.kind(), error.message()), (kind, words), "{status:?}");
    }
    let reason = v0_3::status_from_error(&ErrorKind::VersionNotSupported.into());
    let contradicted = google_rpc::Status { code: 13, message: "TaskNotFoundError: gone".to_owned(), ..reason };
    assert_eq!(v0_3::error_from_status(&contradicted).kind(), ErrorKind::VersionNotSupported);
}

/// What these messages have no field for, taken out of a generated request.
pub fn carried(request: &mut Request) {
    let all = |length: &mut Option<i32>| *length = length.filter(|length| *length != 0);
    let origin = Origin::new(Version::V0_3, Binding::Grpc);
    request.set_tenant("");
    match request {
        Request::SendMessage(send) | Request::StreamMessage(send) => {
            all(&mut send.configuration.history_length);
            send.origin = origin;
            if let Some(config) = &mut send.configuration.push_config {
                (config.tenant, config.record.origin) = (String::new(), origin);
            }
        }
        Request::GetTask(get) => all(&mut get.history_length),
        Request::ListTasks(list) => {
            list.history_length = list.history_length.or(Some(0));
            list.include_artifacts = list.include_artifacts.or(Some(false));
        }
        Request::CancelTask(cancel) => cancel.metadata = Object::new(),
        Request::CreatePushConfig(config) => config.record.origin = origin,
        _ => {}
    }
}

/// CONV-MSG-001, CONV-ART-001, CONV-EVENT-005, CONV-PART-002, CONV-PART-004, CONV-PART-006.
#[test]
fn what_is_written_is_read_as_it_was() {
    for case in 0..10_000 {
        let mut make = Generator::new(case);
        for operation in Operation::ALL {
            let mut request = make.request(operation);
            carried(&mut request);
            assert_eq!(read_request(operation, &write_request(&request).1).unwrap(), request, "case {case}");
            if operation.is_streaming() || operation == Operation::GetExtendedCard {
                continue;
            }
            let mut reply = make.reply(operation);
            if let Reply::Tasks(page) = &mut reply {
                page.page_size = 0;
            }
            assert_eq!(read_reply(operation, &write_reply(&reply).1).unwrap(), reply, "case {case}");
        }
        for event in make.stream() {
            assert_eq!(read_event(&write_event(&event)).unwrap(), event, "case {case}");
        }
    }
}
