//! For every dialect: what it can carry comes back as it was, and so it does through any two.
//!
//! `fit` says what a dialect can carry, in the terms of the table of losses in `docs/architecture.md`.

use chancery_core::{
    Binding, Content, Event, Limits, Message, MessageId, Operation, Origin, Part, PushConfig, PushRecord, Reply, Request, SendReply, Task,
    TaskState, Version,
};
use chancery_wire::{
    Dialect, StreamMemory,
    rest::{HttpRequest, Route},
};

use crate::generate::Generator;

const CASES: u64 = 10_000;

/// The dialects that are written; the strict reader of v1.0 and the prose form of v0.3 only read.
const WRITTEN: [Dialect; 6] = [Dialect::V1_0, Dialect::V0_3, Dialect::V0_3Rest, Dialect::V0_2, Dialect::V0_1, Dialect::Compact];

fn has(dialect: Dialect, operation: Operation) -> bool {
    match dialect.version() {
        Version::V0_1 => !matches!(
            operation,
            Operation::ListTasks | Operation::GetExtendedCard | Operation::ListPushConfigs | Operation::DeletePushConfig
        ),
        Version::V0_2 => operation != Operation::GetExtendedCard,
        _ => true,
    }
}

// --- What a dialect can carry ---------------------------------------------------------------------

fn fit_part(dialect: Dialect, part: &mut Part) {
    match dialect {
        Dialect::Compact => {
            part.metadata.clear();
            if matches!(part.content, Content::Text(_) | Content::Data(_)) {
                part.filename.clear();
            }
            if let Content::Data(value) = &mut part.content
                && !value.is_object()
            {
                *value = serde_json::json!({"wrapped": value.take()});
            }
        }
        // Raw bytes that are themselves base64 text look like the double form (V03-REST-005).
        Dialect::V0_3Rest => {
            if let Content::Raw(bytes) = &mut part.content
                && bytes.len() >= 4
                && chancery_core::json::from_base64(std::str::from_utf8(bytes).unwrap_or("*")).is_some()
            {
                *bytes = chancery_core::Bytes::from_static(b"not base64");
            }
        }
        _ => {}
    }
}

fn fit_message(dialect: Dialect, message: &mut Message) {
    message.parts.iter_mut().for_each(|part| fit_part(dialect, part));
    match dialect {
        Dialect::V0_3Rest => message.reference_task_ids.clear(),
        Dialect::V0_1 => {
            message.message_id = MessageId::default();
            message.extensions.clear();
            message.reference_task_ids.clear();
        }
        _ => {}
    }
}

fn fit_status(dialect: Dialect, status: &mut chancery_core::TaskStatus, task: &str, context: &str) {
    match (dialect, status.state) {
        (Dialect::V0_1, TaskState::Rejected) => status.state = TaskState::Failed,
        (Dialect::V0_1, TaskState::AuthRequired) => status.state = TaskState::InputRequired,
        (Dialect::Compact, TaskState::Submitted) => status.state = TaskState::Working,
        _ => {}
    }
    if let Some(message) = &mut status.message {
        if dialect == Dialect::Compact {
            // A status message is one text.
            *message = Message::agent(message.text()).id("").in_context(context).to_task(task);
        }
        fit_agent_message(dialect, message, task, context);
    }
    if dialect == Dialect::Compact {
        status.message = status.message.take().filter(|message| !message.text().is_empty());
    }
}

/// v0.1 and compact messages inside a task name neither it nor its conversation.
fn fit_agent_message(dialect: Dialect, message: &mut Message, task: &str, context: &str) {
    fit_message(dialect, message);
    if matches!(dialect, Dialect::V0_1 | Dialect::Compact) {
        message.task_id = Some(task.into());
        message.context_id = Some(context.into());
    }
}

fn fit_artifact(dialect: Dialect, artifact: &mut chancery_core::Artifact) {
    artifact.parts.iter_mut().for_each(|part| fit_part(dialect, part));
    if dialect == Dialect::V0_1 {
        artifact.extensions.clear();
    }
}

fn fit_task(dialect: Dialect, task: &mut Task) {
    let (id, context) = (task.id.to_string(), task.context_id.to_string());
    fit_status(dialect, &mut task.status, &id, &context);
    task.history.iter_mut().for_each(|message| fit_agent_message(dialect, message, &id, &context));
    task.artifacts.iter_mut().for_each(|artifact| fit_artifact(dialect, artifact));
}

fn fit_config(dialect: Dialect, config: &mut PushConfig) {
    if dialect.version() != Version::V1_0 {
        config.tenant.clear();
    }
    if dialect == Dialect::V0_1 {
        config.id = config.task_id.as_str().into();
    }
    if dialect == Dialect::Compact
        && let Some(authentication) = &mut config.authentication
        && authentication.scheme == "Digest"
    {
        authentication.scheme = "ApiKey".to_owned();
    }
}

fn fit_request(dialect: Dialect, request: &mut Request) {
    if dialect.version() != Version::V1_0 {
        request.set_tenant("");
    }
    let older = matches!(dialect.version(), Version::V0_3 | Version::V0_2 | Version::V0_1);
    let history = |length: &mut Option<i32>| {
        if older {
            *length = length.filter(|length| *length > 0);
        }
        if dialect == Dialect::V0_1 {
            length.get_or_insert(0);
        }
    };
    if let (Request::StreamMessage(send), Dialect::Compact) = (&mut *request, dialect) {
        // Whether to wait means nothing for a stream.
        send.configuration.return_immediately = false;
    }
    match request {
        Request::SendMessage(send) | Request::StreamMessage(send) => {
            fit_message(dialect, &mut send.message);
            history(&mut send.configuration.history_length);
            if dialect == Dialect::V0_1 {
                send.message.task_id.get_or_insert_with(|| "t-1".into());
                send.message.context_id.get_or_insert_with(|| "c-1".into());
                send.configuration.return_immediately = false;
            }
            if let Some(config) = &mut send.configuration.push_config {
                fit_config(dialect, config);
                if dialect == Dialect::V0_1 {
                    let task = send.message.task_id.clone().unwrap();
                    config.id = task.as_str().into();
                }
            }
        }
        Request::GetTask(get) => history(&mut get.history_length),
        Request::ListTasks(list) => {
            if dialect.version() == Version::V0_3 || dialect == Dialect::V0_2 {
                // The draft's default is no history, and it knows no "as the server likes".
                list.history_length = Some(list.history_length.unwrap_or(0));
            }
            if dialect == Dialect::Compact && list.status == TaskState::Submitted {
                list.status = TaskState::Working;
            }
            if dialect == Dialect::Compact && list.status == TaskState::Completed {
                // It has another word for those that were handed over.
                list.handed_over = Some(false);
            }
        }
        Request::CancelTask(cancel) if dialect == Dialect::V0_3Rest || dialect == Dialect::Compact => cancel.metadata.clear(),
        Request::CreatePushConfig(config) => fit_config(dialect, config),
        Request::GetPushConfig(get) if dialect == Dialect::V0_1 => get.id = None,
        Request::ListPushConfigs(list) if matches!(dialect, Dialect::V0_3 | Dialect::V0_3RestKind | Dialect::V0_2) => {
            (list.page_size, list.page_token) = (0, String::new())
        }
        _ => {}
    }
}

fn fit_reply(dialect: Dialect, reply: &mut Reply) {
    match reply {
        Reply::Sent(SendReply::Task(task)) => fit_task(dialect, task),
        Reply::Task(task) => fit_task(dialect, task.to_mut().unwrap()),
        Reply::Sent(SendReply::Message(message)) => {
            fit_message(dialect, message);
            if dialect == Dialect::V0_1 {
                // A direct answer is wrapped into a task; that has tests of its own.
                *reply = Reply::Task(Task::new("t", "c", TaskState::Completed).into());
            }
        }
        Reply::Tasks(page) => page.tasks.iter_mut().for_each(|task| fit_task(dialect, task.to_mut().unwrap())),
        Reply::PushConfig(config) => {
            fit_config(dialect, config);
            if dialect == Dialect::Compact {
                config.task_id = String::new().into();
            }
        }
        Reply::PushConfigs(page) => page.configs.iter_mut().for_each(|config| {
            fit_config(dialect, config);
            if dialect == Dialect::Compact {
                config.task_id = String::new().into();
            }
        }),
        Reply::Card(_) | Reply::Deleted => {}
    }
}

fn fit_event(dialect: Dialect, event: &mut Event) {
    match event {
        Event::Task(task) => fit_task(dialect, task),
        Event::Message(message) => fit_message(dialect, message),
        Event::Status(update) => {
            let (id, context) = (update.task_id.to_string(), update.context_id.to_string());
            fit_status(dialect, &mut update.status, &id, &context);
        }
        Event::Artifact(update) => fit_artifact(dialect, &mut update.artifact),
        _ => {}
    }
}

// --- What generated ids and records do not matter for ------------------------------------------------

/// Forgets what reading adds: the origin, and ids that a version has none of.
fn plain_request(dialect: Dialect, mut request: Request) -> Request {
    request.set_origin(Origin::default());
    match &mut request {
        Request::SendMessage(send) | Request::StreamMessage(send) => {
            send.create_missing = false;
            if let Some(config) = &mut send.configuration.push_config {
                config.record = PushRecord::default();
            }
            if dialect == Dialect::V0_1 {
                send.message.message_id = MessageId::default();
            }
        }
        Request::CreatePushConfig(config) => config.record = PushRecord::default(),
        _ => {}
    }
    request
}

fn plain_task(dialect: Dialect, task: &mut Task) {
    if matches!(dialect, Dialect::V0_1 | Dialect::Compact) {
        task.status.message.iter_mut().for_each(|message| message.message_id = MessageId::default());
    }
    if dialect == Dialect::V0_1 {
        task.history.iter_mut().for_each(|message| message.message_id = MessageId::default());
    }
    task.record = chancery_core::Record::default();
}

fn plain_reply(dialect: Dialect, mut reply: Reply) -> Reply {
    match &mut reply {
        Reply::Sent(SendReply::Task(task)) => plain_task(dialect, task),
        Reply::Task(task) => plain_task(dialect, task.to_mut().unwrap()),
        Reply::Tasks(page) => page.tasks.iter_mut().for_each(|task| plain_task(dialect, task.to_mut().unwrap())),
        Reply::PushConfig(config) => config.record = PushRecord::default(),
        Reply::PushConfigs(page) => page.configs.iter_mut().for_each(|config| config.record = PushRecord::default()),
        _ => {}
    }
    reply
}

fn plain_event(dialect: Dialect, mut event: Event) -> Event {
    match &mut event {
        Event::Task(task) => plain_task(dialect, task),
        Event::Status(update) if matches!(dialect, Dialect::V0_1 | Dialect::Compact) => {
            update.status.message.iter_mut().for_each(|message| message.message_id = MessageId::default());
        }
        _ => {}
    }
    event
}

// --- There and back ---------------------------------------------------------------------------------

fn request_through(dialect: Dialect, request: &Request) -> Request {
    let json = dialect.encode_request(request).unwrap();
    let read = dialect.request(request.operation(), &json, &Limits::default());
    plain_request(dialect, read.unwrap_or_else(|error| panic!("{dialect:?} {error:?}\n  {}", String::from_utf8_lossy(&json))))
}

fn reply_through(dialect: Dialect, operation: Operation, reply: &Reply) -> Reply {
    let json = dialect.encode_reply(reply).unwrap();
    let read = dialect.decode_reply(operation, &json);
    plain_reply(dialect, read.unwrap_or_else(|error| panic!("{dialect:?} {error:?}\n  {}", String::from_utf8_lossy(&json))))
}

/// The operation whose answers have this form; direct answers of v0.1 are tasks.
fn answered(operation: Operation, reply: &Reply) -> Operation {
    match reply {
        Reply::Task(_) if operation == Operation::SendMessage => Operation::GetTask,
        _ => operation,
    }
}

fn requests_come_back(dialect: Dialect) {
    if dialect == Dialect::V0_3Rest {
        // Half of its requests are in the path and the query, not in a body.
        return requests_come_back_over_http(dialect);
    }
    let cases = (0..).map(|case| (case, Generator::new(case)));
    let carried =
        cases.map(|(case, mut make)| (case, Operation::ALL[make.below(11)], make)).filter(|(_, operation, _)| has(dialect, *operation));
    for (case, operation, mut make) in carried.take(usize::try_from(CASES).unwrap()) {
        let mut request = make.request(operation);
        fit_request(dialect, &mut request);
        assert_eq!(request_through(dialect, &request), request, "{dialect:?} case {case}");
    }
}

fn requests_come_back_over_http(dialect: Dialect) {
    for case in 0..CASES {
        let mut make = Generator::new(case);
        let operation = Operation::ALL[make.below(11)];
        let mut request = make.request(operation);
        fit_request(dialect, &mut request);
        if let (Request::CancelTask(cancel), Dialect::Compact) = (&mut request, dialect) {
            cancel.metadata.clear();
        }
        let call = HttpRequest::new(dialect, &request).unwrap();
        let (path, query) = call.target.split_once('?').unwrap_or((&call.target, ""));
        let header = (dialect == Dialect::V1_0).then_some("1.0");
        let path = if dialect == Dialect::Compact { format!("/compact{path}") } else { path.to_owned() };
        let route = Route::find(call.method, &path, header, false).unwrap().unwrap_or_else(|| panic!("case {case}: no route {path}"));
        let read = route.request(dialect, query, call.body.as_deref().unwrap_or_default(), &Limits::default());
        let read = read.unwrap_or_else(|error| panic!("{dialect:?} case {case} {error:?}\n  {call:?}"));
        assert_eq!(read.origin().map(|origin| origin.binding).unwrap_or(Binding::HttpJson), Binding::HttpJson);
        assert_eq!(plain_request(dialect, read), request, "{dialect:?} case {case}\n  {call:?}");
    }
}

fn replies_come_back(dialect: Dialect) {
    let cases = (0..).map(|case| (case, Generator::new(case)));
    // Cards have a file of their own.
    let answers = |operation: Operation| !operation.is_streaming() && operation != Operation::GetExtendedCard && has(dialect, operation);
    let carried =
        cases.map(|(case, mut make)| (case, Operation::ALL[make.below(11)], make)).filter(|(_, operation, _)| answers(*operation));
    for (case, operation, mut make) in carried.take(usize::try_from(CASES).unwrap()) {
        let mut reply = make.reply(operation);
        fit_reply(dialect, &mut reply);
        let operation = answered(operation, &reply);
        let expected = plain_reply(dialect, reply.clone());
        assert_eq!(reply_through(dialect, operation, &reply), expected, "{dialect:?} case {case}");
    }
}

fn streams_come_back(dialect: Dialect) {
    for case in 0..CASES {
        let mut stream = Generator::new(case).stream();
        stream.iter_mut().for_each(|event| fit_event(dialect, event));
        if dialect == Dialect::V0_1 {
            // A stream shows neither a direct message nor the history, metadata and artifacts of the task:
            // they come as events of their own, which has tests of its own.
            let Event::Task(task) = &mut stream[0] else { continue };
            (task.history, task.artifacts, task.metadata) = (Vec::new(), Vec::new(), chancery_core::Object::new());
            if stream.iter().any(|event| matches!(event, Event::Artifact(update) if update.append)) {
                continue;
            }
        }
        let (mut writing, mut reading) = (StreamMemory::default(), StreamMemory::default());
        if let Event::Task(task) = &stream[0] {
            reading.context = Some(task.context_id.clone());
        }
        let mut read = Vec::new();
        for event in &stream {
            for element in dialect.encode_event(event, &mut writing).unwrap() {
                assert!(!element.contains(&b'\n'));
                read.extend(dialect.decode_event(&element, &mut reading).unwrap());
            }
        }
        let read: Vec<_> = read.into_iter().map(|event| plain_event(dialect, event)).collect();
        let expected: Vec<_> = stream.into_iter().map(|event| plain_event(dialect, event)).collect();
        assert_eq!(read, expected, "{dialect:?} case {case}");
    }
}

macro_rules! come_back {
    ($($name:ident: $dialect:ident;)+) => {
        $(mod $name {
            use super::Dialect;

            #[test]
            fn requests_come_back() {
                super::requests_come_back(Dialect::$dialect);
            }

            #[test]
            fn replies_come_back() {
                super::replies_come_back(Dialect::$dialect);
            }

            #[test]
            fn streams_come_back() {
                super::streams_come_back(Dialect::$dialect);
            }
        })+
    };
}

come_back! {
    v1_0: V1_0;
    v0_3: V0_3;
    v0_3_rest: V0_3Rest;
    v0_3_rest_kind: V0_3RestKind;
    v0_2: V0_2;
    v0_1: V0_1;
    compact: Compact;
}

/// V10-REST-002, V10-REST-005, V10-REST-006, V10-REST-008, V10-REST-009, V03-REST-011, V03-REST-012, V03-REST-013, DIA-003-REST-001, DIA-003-REST-002,
/// DIA-003-REST-003, DIA-003-REST-004, DIA-003-REST-005, DIA-003-REST-006, DIA-003-REST-007, DIA-003-REST-008, DIA-003-REST-010.
#[test]
fn requests_come_back_as_method_path_query_and_body() {
    for dialect in [Dialect::V1_0, Dialect::V0_3Rest, Dialect::Compact] {
        requests_come_back_over_http(dialect);
    }
}

/// CONV-MSG-001, CONV-TASK-001, CONV-ART-001, CONV-EVENT-005: a gateway may change the dialect on the way.
#[test]
fn what_two_dialects_can_carry_survives_both() {
    for case in 0..CASES {
        let mut make = Generator::new(case);
        let (first, second) = (make.pick(&WRITTEN), make.pick(&WRITTEN));
        let mut task = make.task();
        fit_task(first, &mut task);
        fit_task(second, &mut task);
        fit_task(first, &mut task);
        let sent = Reply::Task(task.into());
        let once = reply_through(first, Operation::GetTask, &sent);
        let twice = reply_through(second, Operation::GetTask, &once);
        let expected = plain_reply(first, plain_reply(second, sent));
        assert_eq!(plain_reply(first, twice), expected, "{first:?} then {second:?} case {case}");
    }
}

#[test]
fn errors_keep_their_kind_words_and_facts_in_every_dialect() {
    for case in 0..CASES {
        let error = Generator::new(case).error();
        for dialect in [Dialect::V1_0, Dialect::Compact, Dialect::V0_3Rest] {
            let (status, body) = dialect.encode_http_error(&error).unwrap();
            let read = dialect.decode_http_error(status, &body);
            assert_eq!((read.kind(), read.message()), (error.kind(), error.message()), "{dialect:?} case {case}");
        }
        let read = Dialect::V1_0.decode_rpc_error(&Dialect::V1_0.encode_rpc_error(&error).unwrap());
        assert_eq!((read.kind(), read.message(), read.metadata()), (error.kind(), error.message(), error.metadata()), "case {case}");
        assert_eq!(read.violations(), error.violations(), "case {case}");
    }
}

/// CONV-DET-018, CONV-REC-001: what is stored knows how it came.
#[test]
fn the_version_and_binding_of_a_request_are_recorded() {
    for dialect in Dialect::JSON {
        let mut make = Generator::new(7);
        let mut request = make.request(Operation::SendMessage);
        fit_request(if dialect == Dialect::V1_0Strict { Dialect::V1_0 } else { dialect }, &mut request);
        let read = dialect.decode_request(Operation::SendMessage, &dialect.encode_request(&request).unwrap()).unwrap();
        assert_eq!(read.origin().unwrap().version, dialect.version());
    }
}

/// CONV-PUSH-004.
#[test]
fn older_webhooks_hear_of_status_changes_only() {
    for event in Generator::new(3).stream().into_iter().chain(Generator::new(5).stream()) {
        let chunk = matches!(event, Event::Artifact(_));
        assert!(Dialect::V1_0.notifies(&event) && Dialect::Compact.notifies(&event));
        assert_eq!(Dialect::V0_3.notifies(&event), !chunk);
        assert_eq!(Dialect::V0_1.notifies(&event), !chunk);
    }
}
