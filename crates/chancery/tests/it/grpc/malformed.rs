//! What is wrong, and the code for it; whatever is sent, the connection stays.

use std::time::Duration;

use chancery::Limits;
use chancery_core::Bytes;
use chancery_wire::{
    methods::GRPC_V1_0,
    proto::{a2a_v1, google_rpc, lf_a2a_v1 as pb},
};
use http_body_util::{BodyExt, Full};
use prost::Message;
use prost_types::{ListValue, Struct, Value, value::Kind};
use tonic::{Code, transport::Channel};
use tower_service::Service;

use super::{Client, channel, next, server, start, v0_3, v1_0};

const LIMIT: usize = 256 * 1_024;

/// A message as it travels.
pub(super) fn frame(message: &impl Message) -> Bytes {
    raw(0, message.encode_to_vec())
}

fn raw(flag: u8, message: impl AsRef<[u8]>) -> Bytes {
    let message = message.as_ref();
    [&[flag], u32::try_from(message.len()).unwrap().to_be_bytes().as_slice(), message].concat().into()
}

type Header = (&'static str, String);

/// Sends a body as it is, and gives how the call ended.
async fn post(channel: &mut Channel, method: &str, path: &str, headers: &[Header], body: Bytes) -> tonic::Status {
    let mut request = http::Request::builder().method(method).uri(path).header("te", "trailers");
    if !headers.iter().any(|(name, _)| *name == "content-type") {
        request = request.header("content-type", "application/grpc");
    }
    for (name, value) in headers {
        request = request.header(*name, value);
    }
    let request = request.body(tonic::body::Body::new(Full::new(body))).unwrap();
    let answering = async {
        std::future::poll_fn(|cx| channel.poll_ready(cx)).await.unwrap();
        let response = channel.call(request).await.unwrap_or_else(|error| panic!("{path}: {error:?}"));
        assert_eq!(response.status(), 200, "{path}");
        let mut ends = response.headers().clone();
        let body = response.into_body().collect().await.unwrap();
        ends.extend(body.trailers().cloned().unwrap_or_default());
        tonic::Status::from_header_map(&ends).unwrap_or_else(|| panic!("{path}: no status in {ends:?}"))
    };
    tokio::time::timeout(Duration::from_secs(20), answering).await.unwrap_or_else(|_| panic!("{path}: no answer"))
}

struct Case {
    what: String,
    method: &'static str,
    path: String,
    headers: Vec<Header>,
    body: Bytes,
    code: Code,
    /// What the details of the error must name.
    field: Option<&'static str>,
}

fn case(what: impl Into<String>, path: &str, body: impl Into<Bytes>, code: Code) -> Case {
    // Names of v0.3 begin with a slash.
    let path = match path.strip_prefix('/') {
        Some(old) => format!("/a2a.v1.A2AService/{old}"),
        None => format!("/lf.a2a.v1.A2AService/{path}"),
    };
    Case { what: what.into(), method: "POST", path, headers: Vec::new(), body: body.into(), code, field: None }
}

impl Case {
    fn header(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }

    fn at(mut self, path: &str) -> Self {
        self.path = path.to_owned();
        self
    }

    fn names(mut self, field: &'static str) -> Self {
        self.field = Some(field);
        self
    }

    fn by(mut self, method: &'static str) -> Self {
        self.method = method;
        self
    }
}

fn get(id: &str) -> Bytes {
    frame(&pb::GetTaskRequest { id: id.to_owned(), ..Default::default() })
}

fn changed(change: impl FnOnce(&mut pb::Message)) -> Bytes {
    let mut request = v1_0::send("hello");
    change(request.message.as_mut().unwrap());
    frame(&request)
}

fn nested(depth: usize) -> Struct {
    let leaf = Value { kind: Some(Kind::BoolValue(true)) };
    let value = (0..depth).fold(leaf, |value, _| Value { kind: Some(Kind::ListValue(ListValue { values: vec![value] })) });
    Struct { fields: [("deep".to_owned(), value)].into() }
}

/// A request whose metadata is a list in a list in a list, written without walking down into it.
fn endless(depth: usize) -> Vec<u8> {
    let field = |tag: u8, inside: &[u8]| {
        let mut bytes = vec![tag];
        prost::encoding::encode_varint(inside.len() as u64, &mut bytes);
        bytes.extend_from_slice(inside);
        bytes
    };
    // Value.list_value is field 6, ListValue.values is field 1.
    let value = (0..depth).fold(vec![0x20, 1], |value, _| field(0x32, &field(0x0a, &value)));
    let entry = [field(0x0a, b"deep"), field(0x12, &value)].concat();
    field(0x22, &field(0x0a, &entry))
}

/// How gRPC itself can be broken.
fn frames() -> Vec<Case> {
    use Code::{Internal, InvalidArgument, ResourceExhausted, Unimplemented};
    let twice = [get("t"), get("t")].concat();
    let large = vec![b'x'; LIMIT + 1];
    vec![
        case("no message", "GetTask", "", Unimplemented),
        case("no message to v0.3", "/GetTask", "", Unimplemented),
        case("one byte", "GetTask", vec![0], InvalidArgument),
        case("four bytes", "GetTask", vec![0; 4], InvalidArgument),
        case("a message that ends too soon", "GetTask", vec![0, 0, 0, 0, 9, 0x12], InvalidArgument),
        case("the greatest length", "GetTask", vec![0, 255, 255, 255, 255], ResourceExhausted),
        case("one byte more than the limit", "SendMessage", raw(0, &large), ResourceExhausted),
        case("far more than the limit", "SendStreamingMessage", raw(0, large.repeat(8)), ResourceExhausted),
        case("far more than the limit to v0.3", "/SendMessage", raw(0, large.repeat(8)), ResourceExhausted),
        case("two messages", "GetTask", twice.clone(), Unimplemented),
        case("two messages for a stream", "SubscribeToTask", twice, Unimplemented),
        case("a byte after the message", "GetTask", [get("t").as_ref(), &[0]].concat(), Unimplemented),
        case("compressed in no way", "GetTask", raw(1, [0x12, 1, b't']), Internal),
        case("compressed as identity", "GetTask", raw(1, [0x12, 1, b't']), Internal).header("grpc-encoding", "identity"),
        case("compressed with gzip", "GetTask", raw(1, [0x12, 1, b't']), Unimplemented).header("grpc-encoding", "gzip"),
        case("flag 2", "GetTask", raw(2, [0x12, 1, b't']), InvalidArgument),
        case("flag 255", "GetTask", raw(255, [0x12, 1, b't']), InvalidArgument),
    ]
}

/// How protobuf can be broken.
fn bytes() -> Vec<Case> {
    let overlong = [[0x18_u8].as_slice(), &[0xff; 10], &[1]].concat();
    let bodies: Vec<(&'static str, Vec<u8>)> = vec![
        ("a tag alone", vec![0x12]),
        ("a length beyond the end", vec![0x12, 5, b't']),
        ("a length of 2^63", vec![0x12, 255, 255, 255, 255, 255, 255, 255, 255, 127]),
        ("an id that is a number", vec![0x10, 1]),
        ("an id of four bytes", vec![0x15, 1, 2, 3, 4]),
        ("an id of eight bytes", vec![0x11, 1, 2, 3, 4, 5, 6, 7, 8]),
        ("a group that does not end", vec![0x13, 0x08, 1]),
        ("a group that did not begin", vec![0x14]),
        ("wire type 6", vec![0x16]),
        ("wire type 7", vec![0x17]),
        ("field 0", vec![0x02, 0]),
        ("a number of eleven bytes", overlong),
        ("an id that is not UTF-8", vec![0x12, 1, 0xff]),
        ("a history length that is text", vec![0x12, 1, b't', 0x1a, 1, b'1']),
        ("only 0xff", vec![0xff; 64]),
    ];
    let mut cases: Vec<_> = bodies.into_iter().map(|(what, body)| case(what, "GetTask", raw(0, body), Code::InvalidArgument)).collect();
    cases.push(case("a name that is a number to v0.3", "/GetTask", raw(0, [0x08, 1]), Code::InvalidArgument));
    cases.push(case("a message that is text", "SendMessage", raw(0, [0x12, 2, 0xff, 0xff]), Code::InvalidArgument));
    let role = [0x12, 8, 0x0a, 1, b'm', 0x22, 3, b'u', b's', b'e'];
    cases.push(case("a role that is text", "SendMessage", raw(0, role), Code::InvalidArgument));
    cases.push(case("nesting without end", "SendMessage", raw(0, endless(5_000)), Code::InvalidArgument));
    cases
}

/// How a field is written.
#[derive(Clone, Copy)]
enum Wire {
    Text,
    Number,
    Message,
}

impl Wire {
    /// The field in every way but its own, and in its own way broken.
    fn broken(self, number: u8) -> Vec<(&'static str, Vec<u8>)> {
        let tag = |wire: u8| number << 3 | wire;
        let number = || vec![tag(0), 1];
        let mut all = vec![
            ("in four bytes", vec![tag(5), 1, 2, 3, 4]),
            ("in eight bytes", vec![tag(1), 1, 2, 3, 4, 5, 6, 7, 8]),
            ("as a group", vec![tag(3), tag(4)]),
        ];
        all.extend(match self {
            Self::Text => vec![
                ("as a number", number()),
                ("that is not UTF-8", vec![tag(2), 2, 0xc3, 0x28]),
                ("that ends too soon", vec![tag(2), 9, b'x']),
                ("without its length", vec![tag(2)]),
            ],
            Self::Number => vec![
                ("as text", vec![tag(2), 1, b'1']),
                ("that ends too soon", vec![tag(0), 0xff]),
                ("without its value", vec![tag(0)]),
                ("of eleven bytes", [[tag(0)].as_slice(), &[0xff; 10], &[1]].concat()),
            ],
            Self::Message => vec![
                ("as a number", number()),
                ("that ends too soon", vec![tag(2), 9, 0x0a]),
                ("of nonsense", vec![tag(2), 3, 0xff, 0xff, 0xff]),
                ("of half a tag", vec![tag(2), 1, 0x80]),
            ],
        });
        all
    }
}

/// V10-GRPC-002, V03-GRPC-003: every field of every request of both services, written as it must not be.
fn fields() -> Vec<Case> {
    use Wire::{Message, Number, Text};
    type Fields = &'static [(&'static str, u8, Wire)];
    let methods: &[(&str, Fields)] = &[
        ("SendMessage", &[("tenant", 1, Text), ("message", 2, Message), ("configuration", 3, Message), ("metadata", 4, Message)]),
        ("SendStreamingMessage", &[("tenant", 1, Text), ("message", 2, Message), ("configuration", 3, Message), ("metadata", 4, Message)]),
        ("GetTask", &[("tenant", 1, Text), ("id", 2, Text), ("history_length", 3, Number)]),
        (
            "ListTasks",
            &[
                ("tenant", 1, Text),
                ("context_id", 2, Text),
                ("status", 3, Number),
                ("page_size", 4, Number),
                ("page_token", 5, Text),
                ("history_length", 6, Number),
                ("status_timestamp_after", 7, Message),
                ("include_artifacts", 8, Number),
            ],
        ),
        ("CancelTask", &[("tenant", 1, Text), ("id", 2, Text), ("metadata", 3, Message)]),
        ("SubscribeToTask", &[("tenant", 1, Text), ("id", 2, Text)]),
        (
            "CreateTaskPushNotificationConfig",
            &[
                ("tenant", 1, Text),
                ("id", 2, Text),
                ("task_id", 3, Text),
                ("url", 4, Text),
                ("token", 5, Text),
                ("authentication", 6, Message),
            ],
        ),
        ("GetTaskPushNotificationConfig", &[("tenant", 1, Text), ("task_id", 2, Text), ("id", 3, Text)]),
        (
            "ListTaskPushNotificationConfigs",
            &[("task_id", 1, Text), ("page_size", 2, Number), ("page_token", 3, Text), ("tenant", 4, Text)],
        ),
        ("DeleteTaskPushNotificationConfig", &[("tenant", 1, Text), ("task_id", 2, Text), ("id", 3, Text)]),
        ("GetExtendedAgentCard", &[("tenant", 1, Text)]),
        ("/SendMessage", &[("request", 1, Message), ("configuration", 2, Message), ("metadata", 3, Message)]),
        ("/SendStreamingMessage", &[("request", 1, Message), ("configuration", 2, Message), ("metadata", 3, Message)]),
        ("/GetTask", &[("name", 1, Text), ("history_length", 2, Number)]),
        ("/CancelTask", &[("name", 1, Text)]),
        ("/TaskSubscription", &[("name", 1, Text)]),
        ("/CreateTaskPushNotificationConfig", &[("parent", 1, Text), ("config_id", 2, Text), ("config", 3, Message)]),
        ("/GetTaskPushNotificationConfig", &[("name", 1, Text)]),
        ("/ListTaskPushNotificationConfig", &[("parent", 1, Text), ("page_size", 2, Number), ("page_token", 3, Text)]),
        ("/DeleteTaskPushNotificationConfig", &[("name", 1, Text)]),
    ];
    let mut cases = Vec::new();
    for (method, fields) in methods {
        for (name, number, wire) in *fields {
            for (how, body) in wire.broken(*number) {
                cases.push(case(format!("{method}: {name} {how}"), method, raw(0, body), Code::InvalidArgument));
            }
        }
    }
    cases
}

/// Requests whose fields are well written, and wrong or missing: the details name the field.
fn named() -> Vec<Case> {
    let long = || "t".repeat(257);
    let bad = |what: &str, method: &str, body: Bytes, field| case(what, method, body, Code::InvalidArgument).names(field);
    let list = |change: fn(&mut pb::ListTasksRequest)| {
        let mut request = pb::ListTasksRequest::default();
        change(&mut request);
        frame(&request)
    };
    let config = |task_id: &str, id: String, url: &str| {
        frame(&pb::TaskPushNotificationConfig { task_id: task_id.to_owned(), id, url: url.to_owned(), ..Default::default() })
    };
    let one = |task_id: String, id: String| frame(&pb::GetTaskPushNotificationConfigRequest { task_id, id, ..Default::default() });
    let configured = |change: fn(&mut pb::SendMessageConfiguration)| {
        let mut request = v1_0::send("hello");
        change(request.configuration.get_or_insert_default());
        frame(&request)
    };
    let t = || "t".to_owned();
    let mut cases = vec![
        bad("SendMessage of nothing", "SendMessage", raw(0, []), "message.parts"),
        bad("no message id, named", "SendMessage", changed(|message| message.message_id.clear()), "message.messageId"),
        bad("a message id of 257 bytes", "SendMessage", changed(|message| message.message_id = "m".repeat(257)), "message.messageId"),
        bad("a context of 257 bytes", "SendMessage", changed(|message| message.context_id = "c".repeat(257)), "message.contextId"),
        bad("a task of 257 bytes", "SendMessage", changed(|message| message.task_id = "t".repeat(257)), "message.taskId"),
        bad("no role, named", "SendMessage", changed(|message| message.role = 0), "message.role"),
        bad("the role -1", "SendMessage", changed(|message| message.role = -1), "message.role"),
        bad("no parts, named", "SendMessage", changed(|message| message.parts.clear()), "message.parts"),
        bad("257 parts, named", "SendMessage", changed(|message| message.parts = vec![message.parts[0].clone(); 257]), "message.parts"),
        bad("a history of -1 to send", "SendMessage", configured(|to| to.history_length = Some(-1)), "configuration.historyLength"),
        bad(
            "a config without a URL to send",
            "SendMessage",
            configured(|to| to.task_push_notification_config = Some(pb::TaskPushNotificationConfig::default())),
            "configuration.taskPushNotificationConfig.url",
        ),
        bad("a history of -1 in a list", "ListTasks", list(|request| request.history_length = Some(-1)), "historyLength"),
        bad("a page of 101", "ListTasks", list(|request| request.page_size = Some(101)), "pageSize"),
        bad("a page of 0, named", "ListTasks", list(|request| request.page_size = Some(0)), "pageSize"),
        bad("a page token that is text", "ListTasks", list(|request| request.page_token = "hello".to_owned()), "pageToken"),
        bad("a context of 257 bytes in a list", "ListTasks", list(|request| request.context_id = "c".repeat(257)), "contextId"),
        bad("the state 99", "ListTasks", list(|request| request.status = 99), "status"),
        bad("the state -1", "ListTasks", list(|request| request.status = -1), "status"),
        bad("a config without a task", "CreateTaskPushNotificationConfig", config("", t(), "https://hook.example"), "taskId"),
        bad("a config without a URL, named", "CreateTaskPushNotificationConfig", config("t", t(), ""), "url"),
        bad("a config of 257 bytes", "CreateTaskPushNotificationConfig", config("t", long(), "https://hook.example"), "id"),
        bad("the config of no task", "GetTaskPushNotificationConfig", one(String::new(), t()), "taskId"),
        bad("no config of a task", "GetTaskPushNotificationConfig", one(t(), String::new()), "id"),
        bad("the config of a task of 257 bytes", "GetTaskPushNotificationConfig", one(long(), t()), "taskId"),
        bad("no config to delete", "DeleteTaskPushNotificationConfig", one(t(), String::new()), "id"),
        bad("the configs of no task", "ListTaskPushNotificationConfigs", raw(0, []), "taskId"),
        bad("an empty key, named", "SendMessage", frame(&v1_0::send("hello")), "Idempotency-Key").header("idempotency-key", ""),
    ];
    for method in ["GetTask", "CancelTask", "SubscribeToTask"] {
        cases.push(bad(&format!("{method} without an id"), method, raw(0, []), "id"));
        cases.push(bad(&format!("{method} of 257 bytes"), method, get(&long()), "id"));
    }
    cases
}

/// How a request can be incomplete or senseless.
fn requests() -> Vec<Case> {
    use Code::{InvalidArgument, NotFound};
    let part = || pb::Part::default();
    let list = |change: fn(&mut pb::ListTasksRequest)| {
        let mut request = pb::ListTasksRequest::default();
        change(&mut request);
        frame(&request)
    };
    let old = |name: &str| frame(&a2a_v1::GetTaskRequest { name: name.to_owned(), history_length: 0 });
    vec![
        case("no id", "GetTask", get(""), InvalidArgument),
        case("an id that is too long", "GetTask", get(&"t".repeat(300)), InvalidArgument),
        case("a task that is not there", "GetTask", get("nowhere"), NotFound),
        case("a task that is not there, watched", "SubscribeToTask", get("nowhere"), NotFound),
        case("an unknown field is no mistake", "GetTask", raw(0, [0x12, 1, b't', 0xba, 0x3e, 1, 0]), NotFound),
        case("nothing to send", "SendMessage", raw(0, []), InvalidArgument),
        case("nothing to send and watch", "SendStreamingMessage", raw(0, []), InvalidArgument),
        case("nothing to send to v0.3", "/SendMessage", raw(0, []), InvalidArgument),
        case("no parts", "SendMessage", changed(|message| message.parts.clear()), InvalidArgument),
        case("no role", "SendMessage", changed(|message| message.role = 0), InvalidArgument),
        case("a role that nobody knows", "SendMessage", changed(|message| message.role = 99), InvalidArgument),
        case("no message id", "SendMessage", changed(|message| message.message_id.clear()), InvalidArgument),
        case("a part without content", "SendMessage", changed(|message| message.parts = vec![part()]), InvalidArgument),
        case("too many parts", "SendMessage", changed(|message| message.parts = vec![message.parts[0].clone(); 257]), InvalidArgument),
        case("metadata too deep", "SendMessage", changed(|message| message.metadata = Some(nested(66))), InvalidArgument),
        case("a task that is not there, continued", "SendMessage", changed(|message| message.task_id = "nowhere".to_owned()), NotFound),
        case("a page of no tasks", "ListTasks", list(|request| request.page_size = Some(0)), InvalidArgument),
        case("a page of -1 tasks", "ListTasks", list(|request| request.page_size = Some(-1)), InvalidArgument),
        case("a page token of somebody else", "ListTasks", list(|request| request.page_token = "?".to_owned()), InvalidArgument),
        case("a push config without a URL", "CreateTaskPushNotificationConfig", raw(0, [0x1a, 1, b't']), InvalidArgument),
        case("a push config that is not named", "GetTaskPushNotificationConfig", raw(0, []), InvalidArgument),
        case("a name that is none in v0.3", "/GetTask", old("t-1"), InvalidArgument),
        case("a name without an id in v0.3", "/GetTask", old("tasks/"), InvalidArgument),
        case("a name of something else in v0.3", "/GetTask", old("tasks/t/pushNotificationConfigs/p"), InvalidArgument),
        case("no config name in v0.3", "/DeleteTaskPushNotificationConfig", raw(0, []), InvalidArgument),
    ]
}

/// How a call can be wrong beside its message.
fn heads() -> Vec<Case> {
    use Code::{FailedPrecondition, InvalidArgument, NotFound, Unimplemented};
    let get = || get("nowhere");
    let mut cases = vec![
        case("an unknown method", "Nothing", get(), Unimplemented),
        case("an unknown method of v0.3", "/Nothing", get(), Unimplemented),
        case("a method of v0.3 at v1.0", "TaskSubscription", get(), Unimplemented),
        case("a method of v1.0 at v0.3", "/SubscribeToTask", get(), Unimplemented),
        case("a method in other letters", "gettask", get(), Unimplemented),
        case("an unknown service", "", get(), Unimplemented).at("/nobody.Service/GetTask"),
        case("a service alone", "", get(), Unimplemented).at("/lf.a2a.v1.A2AService"),
        case("no service", "", get(), Unimplemented).at("/"),
        case("health that is not there", "", get(), Unimplemented).at("/grpc.health.v1.Health/Nothing"),
        case("a call with PUT", "GetTask", get(), Unimplemented).by("PUT"),
        case("JSON", "GetTask", get(), InvalidArgument).header("content-type", "application/grpc+json"),
        case("gRPC of the web", "GetTask", get(), InvalidArgument).header("content-type", "application/grpc-web"),
        case("protobuf by its name", "GetTask", get(), NotFound).header("content-type", "application/grpc+proto"),
        case("a version that is none", "GetTask", get(), FailedPrecondition).header("a2a-version", "one"),
        case("a version to come", "GetTask", get(), FailedPrecondition).header("a2a-version", "1.1"),
        case("v1.0 of the service of v0.3", "/GetTask", get(), InvalidArgument).header("a2a-version", "1.0"),
        case("an empty version", "GetTask", get(), NotFound).header("a2a-version", ""),
        case("a version without end", "GetTask", get(), FailedPrecondition).header("a2a-version", "9".repeat(6_000)),
        case("an empty key", "SendMessage", frame(&v1_0::send("hello")), InvalidArgument).header("idempotency-key", ""),
        case("too long a key", "SendMessage", frame(&v1_0::send("hello")), InvalidArgument).header("idempotency-key", "k".repeat(257)),
        case("a cursor on a new message", "SendStreamingMessage", frame(&v1_0::send("hello")), InvalidArgument)
            .header("last-event-id", "1"),
        case("a cursor on a new message of v0.3", "/SendStreamingMessage", frame(&v0_3::send("hello")), InvalidArgument)
            .header("last-event-id", "1"),
    ];
    for time in ["5", "S", "123456789S", "5x", "-1S", "1.5S", "5 S"] {
        cases.push(case("a time that is none", "GetTask", get(), InvalidArgument).header("grpc-timeout", time));
    }
    cases
}

/// V10-GRPC-002, V10-GRPC-007, V10-GRPC-008, V03-GRPC-003: each mistake has its code, and none of them
/// harms the other calls of its connection.
#[tokio::test]
async fn every_mistake_has_its_code_and_the_connection_stays() {
    let mut limits = Limits::default();
    limits.body = LIMIT;
    let running = start(server().limits(limits)).await;
    let mut channel = channel(&running).await;
    let mut client = Client { grpc: tonic::client::Grpc::new(channel.clone()), service: GRPC_V1_0 };
    let task = v1_0::waiting(&mut client).await;
    let request = pb::SubscribeToTaskRequest { id: task.id.clone(), ..Default::default() };
    let mut watched = client.open::<_, pb::StreamResponse>("SubscribeToTask", request, &[]).await.unwrap().into_inner();
    next(&mut watched).await.unwrap().unwrap();

    let cases: Vec<_> = [frames(), bytes(), fields(), named(), requests(), heads()].into_iter().flatten().collect();
    let old = cases.iter().filter(|case| case.path.starts_with("/a2a.v1.")).count();
    println!("gRPC: {} malformed requests, {old} of them to v0.3", cases.len());
    assert!(cases.len() >= 200 && old >= 50, "only {} cases, {old} of them to v0.3", cases.len());
    let mut wrong = Vec::new();
    for case in &cases {
        let status = post(&mut channel, case.method, &case.path, &case.headers, case.body.clone()).await;
        if status.code() != case.code {
            wrong.push(format!("{}: {:?} instead of {:?}: {}", case.what, status.code(), case.code, status.message()));
        }
        if !case.path.starts_with("/grpc.") {
            let details = google_rpc::Status::decode(status.details()).unwrap();
            assert_eq!((details.code, details.message.as_str()), (i32::from(status.code()), status.message()), "{}", case.what);
            assert_eq!(details.details[0].type_url, "type.googleapis.com/google.rpc.ErrorInfo", "{}", case.what);
            let bad = details.details.iter().find(|detail| detail.type_url.ends_with("BadRequest"));
            let bad = bad.map(|bad| google_rpc::BadRequest::decode(bad.value.as_slice()).unwrap()).unwrap_or_default();
            if let Some(field) = case.field.filter(|field| !bad.field_violations.iter().any(|found| found.field == *field)) {
                wrong.push(format!("{}: {field} is not in {:?}", case.what, bad.field_violations));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");

    // An error about something large is small enough for any client.
    let media_type = "x".repeat(100_000);
    let strict =
        start(chancery::Server::new(super::card().takes(["text/plain"]), super::obedient).store(chancery_engine::store::Memory::default()))
            .await;
    let mut other = super::channel(&strict).await;
    let body = changed(|message| {
        message.parts[0] = pb::Part { media_type, content: Some(pb::part::Content::Raw(Bytes::new())), ..Default::default() }
    });
    let status = post(&mut other, "POST", "/lf.a2a.v1.A2AService/SendMessage", &[], body).await;
    assert_eq!(status.code(), Code::InvalidArgument);

    // The stream that was open all the time gets its end.
    let _: pb::Task = client.call("CancelTask", v1_0::cancel(&task.id)).await.unwrap();
    while next(&mut watched).await.unwrap().is_some() {}
}

/// Bytes by chance, and messages with one byte changed: an answer always, and never that we are at fault.
#[tokio::test]
async fn no_bytes_are_our_fault() {
    let running = start(server()).await;
    let mut channel = channel(&running).await;
    let mut seed = 7_u64;
    let mut chance = move || {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) as usize
    };
    let methods = ["SendMessage", "GetTask", "ListTasks", "CancelTask", "CreateTaskPushNotificationConfig"];
    for round in 0..400 {
        let mut message = match round % 2 {
            0 => (0..chance() % 64).map(|_| chance() as u8).collect(),
            _ => v1_0::send("hello").encode_to_vec(),
        };
        if !message.is_empty() {
            let place = chance() % message.len();
            message[place] = chance() as u8;
        }
        let service = if round % 4 < 2 { "lf.a2a.v1" } else { "a2a.v1" };
        let method = methods[chance() % methods.len()];
        let status = post(&mut channel, "POST", &format!("/{service}.A2AService/{method}"), &[], raw(0, &message)).await;
        let fault = [Code::Internal, Code::Unknown, Code::Unavailable].contains(&status.code());
        assert!(!fault, "{method} {message:02x?}: {status:?}");
    }
}
