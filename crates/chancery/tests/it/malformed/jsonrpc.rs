//! JSON-RPC in every version.

use serde_json::{Value, json};

use super::{
    Answer, BATCH, BODY, Case, Form, Request, Want, Wire, at_the_door, case, details, enough, long, members, named, names_field, nested,
    nested_text, old_fields, post, refused,
    rule::{
        Kind::{Flag, List, Millis, Object, Text, Time, Whole, Word},
        Member, break_each, may, must, must_as, put,
    },
    run, same, start, wrong,
};

/// The methods whose failures are events (V03-STREAM-007, V02-STREAM-004, V01-STREAM-005).
const STREAMS: [&str; 3] = ["\"message/stream\"", "\"tasks/resubscribe\"", "\"tasks/sendSubscribe\""];

/// Whether an answer is the error that the case must give.
fn judge(case: &Case, answer: &Answer) -> Result<(), String> {
    let asked = String::from_utf8_lossy(&case.request.body);
    let body = if STREAMS.iter().any(|method| asked.contains(method)) {
        only_event(answer)?
    } else {
        same("the content type", answer.header("content-type"), Some("application/json"))?;
        answer.json()?
    };
    same("jsonrpc", &body["jsonrpc"], &json!("2.0"))?;
    same("the id", &body["id"], &case.id)?;
    let Want::Refused { reason, field, http } = &case.want else {
        return same("the members", (answer.status, members(&body).contains(&"result".to_owned())), (200, true));
    };
    same("the status", answer.status, http.unwrap_or(200))?;
    error(case.form, &body, reason, field.as_deref())
}

/// The data of the one event of a stream.
fn only_event(answer: &Answer) -> Result<Value, String> {
    same("the content type", answer.header("content-type"), Some("text/event-stream"))?;
    let text = String::from_utf8_lossy(&answer.body);
    let data = text.strip_prefix("data: ").and_then(|rest| rest.strip_suffix("\n\n"));
    let data = data.filter(|data| !data.contains('\n')).ok_or_else(|| format!("not one event: {text:?}"))?;
    serde_json::from_str(data).map_err(|error| format!("{error} in {data}"))
}

/// Whether the error of a response is the one with this reason, about this field.
fn error(form: Form, body: &Value, reason: &'static str, field: Option<&str>) -> Result<(), String> {
    same("the result", body.get("result"), None)?;
    let (name, error) = (named(reason), &body["error"]);
    same("the code", error["code"].as_i64(), Some(if form == Form::Old { name.old_rpc } else { name.rpc }))?;
    super::text(&error["message"])?;
    let fields = match form {
        Form::New => details(&error["data"], reason)?,
        Form::Old => old_fields(&error["data"])?,
        Form::Compact => members(&error["data"]),
    };
    names_field(&fields, field)
}

fn body(method: &str, params: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
}

/// A call in v1.0.
fn call(method: &str, params: &Value) -> Request {
    new(body(method, params).to_string())
}

/// A body in v1.0, whatever it is.
fn new(body: impl Into<Vec<u8>>) -> Request {
    post("/", body).version("1.0")
}

/// A call in a version that names itself by its methods.
fn old(method: &str, params: &Value) -> Request {
    post("/", body(method, params).to_string())
}

fn send() -> Value {
    json!({"message": {"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "hi"}]}})
}

fn with(mut request: Value, at: &str, value: Value) -> Value {
    put(&mut request, at, Some(value));
    request
}

/// The members of the requests of v1.0.
pub(super) fn send_rules() -> Vec<Member> {
    vec![
        must("message", Object),
        must("message.messageId", Text),
        must("message.role", Word),
        must("message.parts", List),
        may("message.parts[0]", Object),
        may("message.parts[0].text", Text),
        may("message.parts[0].metadata", Object),
        may("message.parts[0].filename", Text),
        may("message.parts[0].mediaType", Text),
        may("message.contextId", Text),
        may("message.taskId", Text),
        may("message.metadata", Object),
        may("message.extensions", List),
        may("message.extensions[0]", Text),
        may("message.referenceTaskIds", List),
        may("message.referenceTaskIds[0]", Text),
        may("tenant", Text),
        may("metadata", Object),
        may("configuration", Object),
        may("configuration.acceptedOutputModes", List),
        may("configuration.acceptedOutputModes[0]", Text),
        may("configuration.historyLength", Whole),
        may("configuration.returnImmediately", Flag),
        may("configuration.taskPushNotificationConfig", Object),
        must("configuration.taskPushNotificationConfig.url", Text),
        may("configuration.taskPushNotificationConfig.token", Text),
        may("configuration.taskPushNotificationConfig.authentication", Object),
        must("configuration.taskPushNotificationConfig.authentication.scheme", Text),
    ]
}

pub(super) fn config_rules() -> Vec<Member> {
    vec![
        must("url", Text),
        may("id", Text),
        may("token", Text),
        may("authentication", Object),
        must("authentication.scheme", Text),
        may("authentication.credentials", Text),
    ]
}

fn rules() -> Vec<(&'static str, Value, Vec<Member>)> {
    let task = || vec![must("id", Text), may("tenant", Text)];
    let named = || vec![must("taskId", Text), must("id", Text), may("tenant", Text)];
    let mut get = task();
    get.push(may("historyLength", Whole));
    let mut cancel = task();
    cancel.push(may("metadata", Object));
    let list = vec![
        may("contextId", Text),
        may("status", Word),
        may("pageSize", Whole),
        may("pageToken", Text),
        may("historyLength", Whole),
        may("statusTimestampAfter", Time),
        may("includeArtifacts", Flag),
        may("tenant", Text),
    ];
    let mut create = config_rules();
    create.push(must("taskId", Text));
    let config = json!({"taskId": "t", "id": "p"});
    vec![
        ("SendMessage", send(), send_rules()),
        ("SendStreamingMessage", send(), send_rules()),
        ("GetTask", json!({"id": "t"}), get),
        ("ListTasks", json!({}), list),
        ("CancelTask", json!({"id": "t"}), cancel),
        ("SubscribeToTask", json!({"id": "t"}), task()),
        ("CreateTaskPushNotificationConfig", json!({"taskId": "t", "url": "https://hook.example"}), create),
        ("GetTaskPushNotificationConfig", config.clone(), named()),
        (
            "ListTaskPushNotificationConfigs",
            json!({"taskId": "t"}),
            vec![must("taskId", Text), may("pageSize", Whole), may("pageToken", Text), may("tenant", Text)],
        ),
        ("DeleteTaskPushNotificationConfig", config, named()),
        ("GetExtendedAgentCard", json!({}), vec![may("tenant", Text)]),
    ]
}

/// Every rule about a member, broken in every way.
fn broken() -> Vec<Case> {
    let each = |(method, good, rules): (&'static str, Value, Vec<Member>)| {
        let broken = break_each(&good, &rules).into_iter();
        broken.map(move |broken| case(format!("{method}: {}", broken.what), Form::New, call(method, &broken.request), wrong(broken.field)))
    };
    rules().into_iter().flat_map(each).collect()
}

/// Bodies that are no JSON-RPC call.
fn envelopes() -> Vec<Case> {
    let good = body("GetTask", &json!({"id": "nowhere"}));
    let text = good.to_string();
    let mut cases = Vec::new();
    let unreadable: Vec<(&str, Vec<u8>)> = vec![
        ("an empty body", Vec::new()),
        ("a body of spaces", b" \r\n\t ".to_vec()),
        ("half a body", text.as_bytes()[..text.len() / 2].to_vec()),
        ("a body with a brace too many", format!("{text}}}").into_bytes()),
        ("two bodies", text.repeat(2).into_bytes()),
        ("a byte order mark", [b"\xef\xbb\xbf", text.as_bytes()].concat()),
        (
            "bytes that are not UTF-8 in the method",
            text.replace("GetTask", "Get\u{1}").into_bytes().iter().map(|byte| if *byte == 1 { 0xff } else { *byte }).collect(),
        ),
        ("UTF-16", text.encode_utf16().flat_map(u16::to_le_bytes).collect()),
        ("a NUL", [text.as_bytes(), b"\0"].concat()),
        ("text", b"hello".to_vec()),
        ("single quotes", text.replace('"', "'").into_bytes()),
        ("a comma at the end", text.replace("}}", "},}").into_bytes()),
        ("a comment", format!("/* call */ {text}").into_bytes()),
        ("NaN", text.replace("\"nowhere\"", "NaN").into_bytes()),
        ("a number with a leading zero", text.replace("\"id\":1,", "\"id\":01,").into_bytes()),
        ("an escape that is none", text.replace("nowhere", "\\x").into_bytes()),
        ("a line break in a string", text.replace("nowhere", "no\nwhere").into_bytes()),
        ("half a batch", b"[{\"jsonrpc\":\"2.0\",".to_vec()),
        ("a batch without a comma", format!("[{text} {text}]").into_bytes()),
        ("XML", b"<call/>".to_vec()),
        ("a form", b"method=GetTask&id=nowhere".to_vec()),
    ];
    cases.extend(unreadable.into_iter().map(|(what, body)| case(what, Form::New, new(body), refused("PARSE_ERROR")).id(Value::Null)));
    for (what, body) in [("null", "null"), ("a number", "7"), ("a string", "\"GetTask\""), ("true", "true"), ("an empty batch", "[]")] {
        cases.push(case(what, Form::New, new(body), refused("INVALID_REQUEST")).id(Value::Null));
    }
    cases.push(case("an empty object", Form::New, new("{}"), refused("INVALID_REQUEST")).id(Value::Null));
    let changes: &[(&str, &str, Value)] = &[
        ("jsonrpc", "1.0", json!("1.0")),
        ("jsonrpc", "2", json!("2")),
        ("jsonrpc", "the number 2", json!(2.0)),
        ("jsonrpc", "null", Value::Null),
        ("jsonrpc", "a list", json!(["2.0"])),
        ("jsonrpc", "empty", json!("")),
        ("method", "null", Value::Null),
        ("method", "a number", json!(5)),
        ("method", "true", json!(true)),
        ("method", "a list", json!(["GetTask"])),
        ("method", "an object", json!({"name": "GetTask"})),
    ];
    for (member, what, value) in changes {
        let request = new(with(good.clone(), member, value.clone()).to_string());
        cases.push(case(format!("{member} is {what}"), Form::New, request, refused("INVALID_REQUEST")));
    }
    for member in ["jsonrpc", "method"] {
        let mut request = good.clone();
        put(&mut request, member, None);
        cases.push(case(format!("{member} is missing"), Form::New, new(request.to_string()), refused("INVALID_REQUEST")));
    }
    for id in [json!(true), json!(false), json!(1.5), json!([1]), json!([]), json!({}), json!({"id": 1}), json!(1e20)] {
        let request = new(with(good.clone(), "id", id.clone()).to_string());
        cases.push(case(format!("the id is {id}"), Form::New, request, refused("INVALID_REQUEST")).id(Value::Null));
    }
    for params in [json!([]), json!(["nowhere"]), json!("nowhere"), json!(7), json!(true)] {
        let request = new(with(good.clone(), "params", params.clone()).to_string());
        cases.push(case(format!("params is {params}"), Form::New, request, wrong("params")));
    }
    // A member that is there twice (data model, 5.2).
    for member in ["\"jsonrpc\":\"2.0\"", "\"id\":1", "\"method\":\"GetTask\"", "\"params\":{}"] {
        let twice = text.replacen('{', &format!("{{{member},"), 1);
        cases.push(case(format!("{member} twice"), Form::New, new(twice), refused("INVALID_REQUEST")).id(Value::Null));
    }
    let twice = text.replace("\"id\":\"nowhere\"", "\"id\":\"nowhere\",\"id\":\"nowhere\"");
    cases.push(case("the task twice", Form::New, new(twice), wrong("params")));
    let half = text.replace("GetTask", "\\ud800");
    cases.push(case("a method of half a letter", Form::New, new(half), refused("INVALID_REQUEST")));
    let half = text.replace("nowhere", "\\ud800");
    cases.push(case("a task of half a letter", Form::New, new(half), wrong("id")));
    for (what, id) in [("a string", json!("x")), ("the empty string", json!("")), ("a negative number", json!(-1)), ("null", Value::Null)] {
        let request = new(with(good.clone(), "id", id.clone()).to_string());
        cases.push(case(format!("an id that is {what} comes back"), Form::New, request, refused("TASK_NOT_FOUND")).id(id));
    }
    let request = new(with(good, "extra", json!([1])).to_string());
    cases.push(case("an unknown member of the envelope is ignored", Form::New, request, refused("TASK_NOT_FOUND")));
    cases
}

/// Methods that are not there, and versions that do not fit.
fn names() -> Vec<Case> {
    let mut cases = Vec::new();
    let id = json!({"id": "nowhere"});
    for method in [
        "",
        "Nothing",
        "getTask",
        "gettask",
        "GetTask ",
        "GetTasks",
        "tasks/nothing",
        "message",
        "A2A.Nothing",
        "a2a.GetTask",
        "rpc.discover",
        "Get\u{0}Task",
    ] {
        cases.push(case(format!("the method {method:?}"), Form::New, call(method, &id), refused("METHOD_NOT_FOUND")));
        cases.push(case(format!("the method {method:?} without a version"), Form::Old, old(method, &id), refused("METHOD_NOT_FOUND")));
    }
    let long = "x".repeat(10_000);
    cases.push(case("a method of 10000 letters", Form::New, call(&long, &id), refused("METHOD_NOT_FOUND")));
    for version in ["1.1", "2.0", "0.4", "1", "one", "v1.0", "1.0.", "1.0.0.0", "1.0-rc", "1,0", "-1.0", "01.0", "1.0, 0.3", "*", "\u{e9}"]
    {
        let request = call("GetTask", &id).version(version);
        cases.push(case(format!("version {version} of GetTask"), Form::New, request, refused("VERSION_NOT_SUPPORTED")));
    }
    for version in ["1.1", "2.0", "0.4", "one", "*"] {
        let request = old("message/send", &id).version(version);
        cases.push(case(format!("version {version} of message/send"), Form::Old, request, refused("VERSION_NOT_SUPPORTED")));
        let request = old("A2A.GetTask", &json!({"taskId": "nowhere"})).version(version);
        cases.push(case(format!("version {version} of A2A.GetTask"), Form::Compact, request, refused("VERSION_NOT_SUPPORTED")));
    }
    for version in ["0.1", "0.2", "0.3", "0.3.0"] {
        let request = call("GetTask", &id).version(version);
        cases.push(case(format!("version {version} of GetTask"), Form::New, request, refused("VERSION_NOT_SUPPORTED")));
        let request = old("A2A.GetTask", &json!({"taskId": "nowhere"})).version(version);
        cases.push(case(format!("version {version} of A2A.GetTask"), Form::Compact, request, refused("VERSION_NOT_SUPPORTED")));
    }
    cases.push(case("GetTask without a version", Form::New, old("GetTask", &id), refused("VERSION_NOT_SUPPORTED")));
    cases.push(case("GetTask of an empty version", Form::New, old("GetTask", &id).version(""), refused("VERSION_NOT_SUPPORTED")));
    let request = old("GetTask", &id).set("a2a-version", b"\xff\xfe".to_vec());
    cases.push(case("GetTask of a version that is no text", Form::New, request, refused("VERSION_NOT_SUPPORTED")));
    let request = call("GetTask", &id).version(&"9".repeat(4_000));
    cases.push(case("GetTask of a version of 4000 digits", Form::New, request, refused("VERSION_NOT_SUPPORTED")));
    for method in ["message/send", "message/stream", "tasks/list", "tasks/get", "tasks/send", "tasks/pushNotification/get"] {
        cases.push(case(format!("{method} in version 1.0"), Form::Old, call(method, &id), refused("INVALID_REQUEST")));
    }
    let mut request = old("GetTask", &id);
    request.target = "/?A2A-Version=2.0".to_owned();
    cases.push(case("version 2.0 in the query", Form::New, request.clone(), refused("VERSION_NOT_SUPPORTED")));
    cases.push(case("the header wins over the query", Form::New, request.clone().version("1.0"), refused("TASK_NOT_FOUND")));
    request.target = "/?A2A-Version=1.0".to_owned();
    cases.push(case("version 1.0 in the query", Form::New, request, refused("TASK_NOT_FOUND")));
    cases.push(case("the patch is ignored", Form::New, call("GetTask", &id).version("1.0.7"), refused("TASK_NOT_FOUND")));
    cases
}

/// Values that have the right type and are wrong.
fn values() -> Vec<Case> {
    let part = |part: Value| with(send(), "message.parts[0]", part);
    let mut cases = Vec::new();
    let mut bad =
        |what: &str, method: &str, params: Value, field: &str| cases.push(case(what, Form::New, call(method, &params), wrong(field)));
    bad("a part of nothing", "SendMessage", part(json!({})), "message.parts[0]");
    bad("a part that is null", "SendMessage", part(Value::Null), "message.parts[0]");
    bad("a part of unknown content", "SendMessage", part(json!({"video": "x"})), "message.parts[0]");
    bad("a part of metadata only", "SendMessage", part(json!({"metadata": {}})), "message.parts[0]");
    let contents = [("text", json!("hi")), ("raw", json!("aGk=")), ("url", json!("https://a.example")), ("data", json!(1))];
    for (at, (first, value)) in contents.iter().enumerate() {
        for (second, other) in &contents[at + 1..] {
            let both = part(json!({*first: value, *second: other}));
            bad(&format!("a part of {first} and {second}"), "SendMessage", both, "message.parts[0]");
        }
    }
    bad("a part of text and null data", "SendMessage", part(json!({"text": "hi", "data": null})), "message.parts[0]");
    bad("a part whose text is null", "SendMessage", part(json!({"text": null})), "message.parts[0]");
    bad("a part with an empty URL", "SendMessage", part(json!({"url": ""})), "message.parts[0].url");
    for kind in ["file", "data", "video", ""] {
        bad(&format!("text that calls itself {kind:?}"), "SendMessage", part(json!({"text": "hi", "kind": kind})), "message.parts[0]");
    }
    for raw in ["*", "aGk=*", "a", "aGk==", "aG=k", "=", "a Gk", "aGk\n", "+_", "\u{e4}", "aGk=aGk="] {
        bad(&format!("base64 {raw:?}"), "SendMessage", part(json!({"raw": raw})), "message.parts[0]");
    }
    bad("a URL part of two values", "SendMessage", part(json!({"url": "a", "file": {"uri": "b"}})), "message.parts[0]");
    bad(
        "a media type of two values",
        "SendMessage",
        part(json!({"text": "hi", "mediaType": "text/a", "mimeType": "text/b"})),
        "message.parts[0]",
    );
    let deep = |at: &str, depth: usize| with(send(), at, json!({"deep": nested(depth - 1)}));
    bad("metadata 65 deep", "SendMessage", deep("metadata", 65), "metadata");
    bad("metadata of the message 65 deep", "SendMessage", deep("message.metadata", 65), "message.metadata");
    bad("metadata of a part 65 deep", "SendMessage", deep("message.parts[0].metadata", 65), "message.parts[0].metadata");
    bad("data 65 deep", "SendMessage", part(json!({"data": nested(65)})), "message.parts[0].data");
    bad("metadata of a cancel 65 deep", "CancelTask", json!({"id": "t", "metadata": {"deep": nested(64)}}), "metadata");
    for (at, field) in
        [("message.messageId", "message.messageId"), ("message.contextId", "message.contextId"), ("message.taskId", "message.taskId")]
    {
        bad(&format!("{at} of 257 bytes"), "SendMessage", with(send(), at, json!(long(257))), field);
    }
    bad("an id of 129 letters of two bytes", "GetTask", json!({"id": "\u{e4}".repeat(129)}), "id");
    for method in ["GetTask", "CancelTask", "SubscribeToTask"] {
        bad(&format!("{method} of 257 bytes"), method, json!({"id": long(257)}), "id");
        bad(&format!("{method} under two names"), method, json!({"id": "a", "taskId": "b"}), "params");
    }
    for method in ["GetTaskPushNotificationConfig", "DeleteTaskPushNotificationConfig"] {
        bad(&format!("{method} of a task of 257 bytes"), method, json!({"taskId": long(257), "id": "p"}), "taskId");
        bad(&format!("{method} of 257 bytes"), method, json!({"taskId": "t", "id": long(257)}), "id");
        bad(&format!("{method} under two names"), method, json!({"taskId": "t", "id": "a", "configId": "b"}), "params");
    }
    bad("parts 257 times", "SendMessage", with(send(), "message.parts", json!(vec![json!({"text": ""}); 257])), "message.parts");
    bad("no role by its number", "SendMessage", with(send(), "message.role", json!(0)), "message.role");
    for role in ["ROLE_UNSPECIFIED", "role_user", "ROLE_SYSTEM", "USER", ""] {
        bad(&format!("the role {role:?}"), "SendMessage", with(send(), "message.role", json!(role)), "message.role");
    }
    for role in [3, -1] {
        bad(&format!("the role {role}"), "SendMessage", with(send(), "message.role", json!(role)), "message.role");
    }
    for length in [-1, -100, i32::MIN] {
        let field = "configuration.historyLength";
        bad(&format!("a history of {length} messages to send"), "SendMessage", with(send(), field, json!(length)), field);
        bad(&format!("a history of {length} messages"), "GetTask", json!({"id": "t", "historyLength": length}), "historyLength");
        bad(&format!("a history of {length} messages in a list"), "ListTasks", json!({"historyLength": length}), "historyLength");
    }
    for size in [0, -1, 101, 1_000, i32::MAX, i32::MIN] {
        bad(&format!("a page of {size}"), "ListTasks", json!({"pageSize": size}), "pageSize");
    }
    bad("a page of -1 configs", "ListTaskPushNotificationConfigs", json!({"taskId": "t", "pageSize": -1}), "pageSize");
    // Read as base64, these are nothing, letters, a time without a task and a time that is none.
    for token in ["?", "%%%", "aGVsbG8", "MS4y", "eC55Lno", "\u{1f600}", "null", "0", "e30="] {
        bad(&format!("the page token {token:?}"), "ListTasks", json!({"pageToken": token}), "pageToken");
    }
    bad("a page token of 20000 letters", "ListTasks", json!({"pageToken": "A".repeat(20_000)}), "pageToken");
    bad("a context of 257 bytes in a list", "ListTasks", json!({"contextId": long(257)}), "contextId");
    for state in ["TASK_STATE_RUNNING", "TASK_STATE_", "running", "completed "] {
        bad(&format!("the state {state:?}"), "ListTasks", json!({"status": state}), "status");
    }
    for state in [9, 10, -1] {
        bad(&format!("the state {state}"), "ListTasks", json!({"status": state}), "status");
    }
    for time in [
        "",
        "now",
        "2026-11-09T25:30:00Z",
        "2026-11-09T10:60:00Z",
        "2026-02-30T10:30:00Z",
        "2026-11-09 10:30:00Z",
        "2026-11-09T10:30Z",
        "2026-11-09T10:30:00.Z",
        "2026-11-09T10:30:00.1234567890Z",
        "10000-01-01T00:00:00Z",
        "0000-01-01T00:00:00Z",
        "2026-11-09T10:30:00+25:00",
        "1762684200",
    ] {
        bad(&format!("the time {time:?}"), "ListTasks", json!({"statusTimestampAfter": time}), "statusTimestampAfter");
    }
    let blocking = with(with(send(), "configuration.blocking", json!(true)), "configuration.returnImmediately", json!(true));
    bad("to wait and not to wait", "SendMessage", blocking, "configuration");
    cases
}

/// What a request may be although it looks wrong, and what is wrong beside its parameters.
fn beside() -> Vec<Case> {
    let nowhere = || call("GetTask", &json!({"id": "nowhere"}));
    let part = |part: Value| call("SendMessage", &with(send(), "message.parts[0]", part));
    let mut cases = Vec::new();
    for method in ["GetTask", "CancelTask", "SubscribeToTask"] {
        cases.push(case(
            format!("{method} of a task that is not there"),
            Form::New,
            call(method, &json!({"id": "nowhere"})),
            refused("TASK_NOT_FOUND"),
        ));
        let request = call(method, &json!({"id": long(256)}));
        cases.push(case(format!("{method} of an id of 256 bytes"), Form::New, request, refused("TASK_NOT_FOUND")));
    }
    for method in ["GetTaskPushNotificationConfig", "ListTaskPushNotificationConfigs", "DeleteTaskPushNotificationConfig"] {
        let request = call(method, &json!({"taskId": "nowhere", "id": "p"}));
        cases.push(case(format!("{method} of a task that is not there"), Form::New, request, refused("TASK_NOT_FOUND")));
    }
    let request = call("SendMessage", &with(send(), "message.taskId", json!("nowhere")));
    cases.push(case("a message to a task that is not there", Form::New, request, refused("TASK_NOT_FOUND")));
    let video = part(json!({"url": "https://a.example/v", "mediaType": "video/mp4"}));
    cases.push(case("a part of a type that is not taken", Form::New, video, refused("CONTENT_TYPE_NOT_SUPPORTED")));
    cases.push(case(
        "an extended card that is not there",
        Form::New,
        call("GetExtendedAgentCard", &json!({})),
        refused("UNSUPPORTED_OPERATION"),
    ));
    for content in [
        "text/plain",
        "application/xml",
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=x",
        "json",
        "application/jsonx",
        "*/*",
        "text/json",
    ] {
        let request = nowhere().set("content-type", content);
        cases.push(case(format!("content type {content}"), Form::New, request, refused("CONTENT_TYPE_NOT_SUPPORTED")));
    }
    for content in ["application/json; charset=utf-8", "APPLICATION/JSON", "application/json;", "application/a2a+json"] {
        let request = nowhere().set("content-type", content);
        cases.push(case(format!("content type {content} is JSON"), Form::New, request, refused("TASK_NOT_FOUND")));
    }
    cases.push(case("no content type", Form::New, nowhere().without("content-type"), refused("TASK_NOT_FOUND")));
    for accept in ["text/html", "image/png", "nonsense", "*/*;q=0"] {
        cases.push(case(format!("accept {accept} is ignored"), Form::New, nowhere().header("accept", accept), refused("TASK_NOT_FOUND")));
    }
    for (what, key) in [
        ("empty", Vec::new()),
        ("of 257 letters", vec![b'k'; 257]),
        ("that is no text", vec![0xff, 0xfe]),
        ("with a tab", b"a\tb".to_vec()),
    ] {
        let request = call("SendMessage", &send()).header("idempotency-key", key);
        cases.push(case(format!("a key {what}"), Form::New, request, wrong("Idempotency-Key")));
    }
    let cursor = call("SendStreamingMessage", &send()).header("last-event-id", "1");
    cases.push(case("a cursor on a new message", Form::New, cursor, wrong("Last-Event-ID")));
    for depth in [200, 1_000, 20_000] {
        let params = format!(
            r#"{{"message":{{"messageId":"m","role":"ROLE_USER","parts":[{{"text":"hi"}}],"metadata":{{"deep":{}}}}}}}"#,
            nested_text(depth)
        );
        let request = new(format!(r#"{{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{params}}}"#));
        cases.push(case(format!("metadata {depth} deep"), Form::New, request, wrong("message.metadata")));
        let request = new(format!(r#"{{"jsonrpc":"2.0","id":1,"method":"GetTask","params":{{"id":{}}}}}"#, nested_text(depth)));
        cases.push(case(format!("an id {depth} deep"), Form::New, request, wrong("id")));
    }
    let filled = |length: usize| {
        let text = body("GetTask", &json!({"id": "nowhere"})).to_string();
        format!("{text}{}", " ".repeat(length - text.len()))
    };
    cases.push(case("a body at the limit", Form::New, new(filled(BODY)), refused("TASK_NOT_FOUND")));
    cases.push(case("a body over the limit", Form::New, new(filled(BODY + 1)), at_the_door("INVALID_REQUEST", 413)).id(Value::Null));
    let chunk = |text: String| format!("{:x}\r\n{text}\r\n0\r\n\r\n", text.len());
    let request = new(chunk(filled(BODY + 1))).header("transfer-encoding", "chunked");
    cases.push(case("chunks over the limit", Form::New, request, at_the_door("INVALID_REQUEST", 413)).id(Value::Null));
    let request = new(chunk(filled(BODY))).header("transfer-encoding", "chunked");
    cases.push(case("chunks at the limit", Form::New, request, refused("TASK_NOT_FOUND")));
    let fine = [
        ("metadata 64 deep", with(send(), "message.metadata", json!({"deep": nested(63)}))),
        ("data 64 deep", with(send(), "message.parts[0]", json!({"data": nested(64)}))),
        ("data that is null", with(send(), "message.parts[0]", json!({"data": null}))),
        ("a message id of 256 bytes", with(send(), "message.messageId", json!(long(256)))),
        ("256 parts", with(send(), "message.parts", json!(vec![json!({"text": ""}); 256]))),
        ("base64 for URLs", with(send(), "message.parts[0]", json!({"raw": "-_-_"}))),
        ("base64 without padding", with(send(), "message.parts[0]", json!({"raw": "aGk"}))),
        ("base64 of nothing", with(send(), "message.parts[0]", json!({"raw": ""}))),
        ("a role by its number", with(send(), "message.role", json!(1))),
        ("a length as text", with(send(), "configuration.historyLength", json!("5"))),
        ("a length as a fraction of 1", with(send(), "configuration.historyLength", json!(5.0))),
        ("an unknown member", with(send(), "message.colour", json!("red"))),
        ("a context that is null", with(send(), "message.contextId", Value::Null)),
        ("a tenant", with(send(), "tenant", json!("acme"))),
    ];
    cases.extend(
        fine.into_iter().map(|(what, params)| case(format!("{what} is fine"), Form::New, call("SendMessage", &params), Want::Fine)),
    );
    let lists = [
        ("a time with an offset", json!({"statusTimestampAfter": "2026-11-09T10:30:00+01:00"})),
        ("a time with nine digits", json!({"statusTimestampAfter": "2026-11-09T10:30:00.123456789Z"})),
        ("a page of 100", json!({"pageSize": 100})),
        ("names with underscores", json!({"page_size": 1, "context_id": "c"})),
    ];
    cases
        .extend(lists.into_iter().map(|(what, params)| case(format!("{what} is fine"), Form::New, call("ListTasks", &params), Want::Fine)));
    cases
}

/// V10-RPC-001, V10-RPC-002, V10-RPC-003, V10-RPC-007, V10-RPC-008, V10-RPC-009, V10-RPC-010, V10-RPC-011, V10-ERR-014,
/// V10-ERR-015, V10-ERR-016, V10-VER-007, CONV-DET-005, DIA-ALIAS-001: everything that can be wrong with a v1.0 call over
/// JSON-RPC has its error.
#[tokio::test]
async fn every_mistake_in_a_call_of_v1_0_has_its_error() {
    let running = start().await;
    let good = call("ListTasks", &json!({}));
    let cases: Vec<_> = [broken(), envelopes(), names(), values(), beside()].into_iter().flatten().collect();
    run(&running, &good, &cases, judge).await;
    enough("JSON-RPC v1.0", &cases, 200);
}

fn old_send() -> Value {
    json!({"message": {"kind": "message", "messageId": "m", "role": "user", "parts": [{"kind": "text", "text": "hi"}]}})
}

fn old_rules() -> Vec<(&'static str, Value, Vec<Member>)> {
    let url = "configuration.taskPushNotificationConfig.url";
    let send = || {
        vec![
            must("message", Object),
            must("message.messageId", Text),
            must("message.role", Word),
            must("message.parts", List),
            may("message.parts[0]", Object),
            may("message.parts[0].text", Text),
            may("message.parts[0].metadata", Object),
            may("message.contextId", Text),
            may("message.taskId", Text),
            may("message.metadata", Object),
            may("message.kind", Word),
            may("configuration", Object),
            may("configuration.acceptedOutputModes", List),
            may("configuration.historyLength", Whole),
            may("configuration.blocking", Flag),
            may("configuration.pushNotificationConfig", Object),
            must_as("configuration.pushNotificationConfig.url", Text, url),
            may("configuration.pushNotificationConfig.authentication", Object),
            may("configuration.pushNotificationConfig.authentication.schemes", List),
            may("metadata", Object),
        ]
    };
    let task = || vec![must("id", Text), may("metadata", Object)];
    let mut get = task();
    get.push(may("historyLength", Whole));
    let list = vec![
        may("contextId", Text),
        may("status", Word),
        may("pageSize", Whole),
        may("pageToken", Text),
        may("historyLength", Whole),
        may("lastUpdatedAfter", Millis),
        may("includeArtifacts", Flag),
    ];
    let set = vec![
        must("taskId", Text),
        may("pushNotificationConfig", Object),
        must_as("pushNotificationConfig.url", Text, "url"),
        may("pushNotificationConfig.id", Text),
        may("pushNotificationConfig.token", Text),
    ];
    let config = json!({"id": "t", "pushNotificationConfigId": "p"});
    vec![
        ("message/send", old_send(), send()),
        ("message/stream", old_send(), send()),
        ("tasks/get", json!({"id": "t"}), get),
        ("tasks/cancel", json!({"id": "t"}), task()),
        ("tasks/resubscribe", json!({"id": "t"}), task()),
        ("tasks/list", json!({}), list),
        ("tasks/pushNotificationConfig/set", json!({"taskId": "t", "pushNotificationConfig": {"url": "https://hook.example"}}), set),
        ("tasks/pushNotificationConfig/get", config.clone(), vec![must_as("id", Text, "taskId"), may("pushNotificationConfigId", Text)]),
        ("tasks/pushNotificationConfig/list", json!({"id": "t"}), vec![must_as("id", Text, "taskId")]),
        (
            "tasks/pushNotificationConfig/delete",
            config,
            vec![must_as("id", Text, "taskId"), must_as("pushNotificationConfigId", Text, "id")],
        ),
    ]
}

fn old_cases(version: Option<&'static str>) -> Vec<Case> {
    let of = |request: Request| match version {
        Some(version) => request.version(version),
        None => request,
    };
    let named = |what: String| match version {
        Some(version) => format!("{version} {what}"),
        None => what,
    };
    let each = |(method, good, rules): (&'static str, Value, Vec<Member>)| {
        let broken = break_each(&good, &rules).into_iter();
        broken.map(move |broken| {
            case(named(format!("{method}: {}", broken.what)), Form::Old, of(old(method, &broken.request)), wrong(broken.field))
        })
    };
    let mut cases: Vec<_> = old_rules().into_iter().flat_map(each).collect();
    let mut add = |what: &str, request: Request, want: Want| cases.push(case(named(what.to_owned()), Form::Old, of(request), want));
    let part = |part: Value| old("message/send", &with(old_send(), "message.parts[0]", part));
    for (what, broken) in [
        ("a part of nothing", json!({})),
        ("text without text", json!({"kind": "text"})),
        ("a file without a file", json!({"kind": "file"})),
        ("data without data", json!({"kind": "data"})),
        ("text that is a file", json!({"kind": "file", "text": "hi"})),
        ("a file of nothing", json!({"kind": "file", "file": {}})),
        ("a file of bad base64", json!({"kind": "file", "file": {"bytes": "a*"}})),
        ("a part of no known kind", json!({"kind": "video", "text": "hi"})),
    ] {
        add(what, part(broken), wrong("message.parts[0]"));
    }
    for role in ["ROLE_USER", "USER", "system", ""] {
        add(&format!("the role {role:?}"), old("message/send", &with(old_send(), "message.role", json!(role))), wrong("message.role"));
    }
    for length in [-1, i32::MIN] {
        add(&format!("a history of {length}"), old("tasks/get", &json!({"id": "t", "historyLength": length})), wrong("historyLength"));
    }
    for size in [0, -1, 101] {
        add(&format!("a page of {size}"), old("tasks/list", &json!({"pageSize": size})), wrong("pageSize"));
    }
    add("a page token of somebody else", old("tasks/list", &json!({"pageToken": "?"})), wrong("pageToken"));
    add("a state that is none", old("tasks/list", &json!({"status": "running"})), wrong("status"));
    add("a task id of 257 bytes", old("tasks/get", &json!({"id": long(257)})), wrong("id"));
    add(
        "a message id of 257 bytes",
        old("message/send", &with(old_send(), "message.messageId", json!(long(257)))),
        wrong("message.messageId"),
    );
    add(
        "257 parts",
        old("message/send", &with(old_send(), "message.parts", json!(vec![json!({"kind": "text", "text": ""}); 257]))),
        wrong("message.parts"),
    );
    add(
        "metadata 65 deep",
        old("message/send", &with(old_send(), "message.metadata", json!({"deep": nested(64)}))),
        wrong("message.metadata"),
    );
    for method in ["tasks/get", "tasks/cancel", "tasks/resubscribe"] {
        add(&format!("{method} of a task that is not there"), old(method, &json!({"id": "nowhere"})), refused("TASK_NOT_FOUND"));
    }
    add(
        "a message to a task that is not there",
        old("message/send", &with(old_send(), "message.taskId", json!("nowhere"))),
        refused("TASK_NOT_FOUND"),
    );
    add(
        "a stream for a task that is not there",
        old("message/stream", &with(old_send(), "message.taskId", json!("nowhere"))),
        refused("TASK_NOT_FOUND"),
    );
    add(
        "a stream with text as the content type",
        old("message/stream", &old_send()).set("content-type", "text/plain"),
        refused("CONTENT_TYPE_NOT_SUPPORTED"),
    );
    add(
        "text as the content type",
        old("tasks/get", &json!({"id": "t"})).set("content-type", "text/plain"),
        refused("CONTENT_TYPE_NOT_SUPPORTED"),
    );
    add("an unknown method", old("tasks/nothing", &json!({})), refused("METHOD_NOT_FOUND"));
    add("params that are a list", post("/", r#"{"jsonrpc":"2.0","id":1,"method":"tasks/get","params":["t"]}"#), wrong("params"));
    add("no jsonrpc", post("/", r#"{"id":1,"method":"tasks/get","params":{"id":"t"}}"#), refused("INVALID_REQUEST"));
    let mut alone = |what: &str, body: &str, reason: &'static str| {
        cases.push(case(named(what.to_owned()), Form::Old, of(post("/", body)), refused(reason)).id(Value::Null));
    };
    alone("half a body", r#"{"jsonrpc":"2.0","id":1,"#, "PARSE_ERROR");
    alone("nothing", "", "PARSE_ERROR");
    alone("an id that is a list", r#"{"jsonrpc":"2.0","id":[1],"method":"tasks/get","params":{"id":"t"}}"#, "INVALID_REQUEST");
    alone("an empty batch", "[]", "INVALID_REQUEST");
    alone("no id", r#"{"jsonrpc":"2.0","method":"tasks/get","params":{"id":"t"}}"#, "INVALID_REQUEST");
    alone("an id that is null", r#"{"jsonrpc":"2.0","id":null,"method":"tasks/get","params":{"id":"t"}}"#, "INVALID_REQUEST");
    alone("neither an id nor a message", r#"{"jsonrpc":"2.0","method":"message/send","params":{}}"#, "INVALID_PARAMS");
    alone("a null id and no message", r#"{"jsonrpc":"2.0","id":null,"method":"message/stream","params":{}}"#, "INVALID_PARAMS");
    cases
}

/// V03-ERR-010, V03-ERR-011, V03-ERR-012, V03-ERR-013, V03-ERR-001, V03-ERR-005, V03-ERR-020, V03-ERR-021, V03-RPC-001,
/// V03-RPC-002, V03-RPC-006, V03-RPC-007, V03-SEND-001, V03-STREAM-007, CONV-ERR-006, CONV-ERR-007: everything that can be wrong with a
/// v0.3 call has its error.
#[tokio::test]
async fn every_mistake_in_a_call_of_v0_3_has_its_error() {
    let running = start().await;
    let cases = old_cases(None);
    run(&running, &old("tasks/list", &json!({})), &cases, judge).await;
    enough("JSON-RPC v0.3", &cases, 40);
}

/// V02-SEND-001, V02-STREAM-004: v0.2 over JSON-RPC has the errors of v0.3.
#[tokio::test]
async fn every_mistake_in_a_call_of_v0_2_has_the_error_of_v0_3() {
    let running = start().await;
    let cases = old_cases(Some("0.2"));
    run(&running, &old("tasks/list", &json!({})).version("0.2"), &cases, judge).await;
    enough("JSON-RPC v0.2", &cases, 40);
}

/// V01-ERR-000, V01-STREAM-005, V01-ERR-001, V01-ERR-005, V01-ERR-006, CONV-DET-002: everything that can be wrong with a v0.1 call has its error.
#[tokio::test]
async fn every_mistake_in_a_call_of_v0_1_has_its_error() {
    let running = start().await;
    let send = || json!({"id": "t-1", "message": {"role": "user", "parts": [{"type": "text", "text": "hi"}]}});
    let rules = || {
        vec![
            may("id", Text),
            may("sessionId", Text),
            must("message", Object),
            must("message.role", Word),
            must("message.parts", List),
            may("message.parts[0]", Object),
            may("message.parts[0].text", Text),
            may("message.metadata", Object),
            may("acceptedOutputModes", List),
            may("historyLength", Whole),
            may("metadata", Object),
            may("pushNotification", Object),
            must_as("pushNotification.url", Text, "configuration.taskPushNotificationConfig.url"),
        ]
    };
    let all = [
        ("tasks/send", send(), rules()),
        ("tasks/sendSubscribe", send(), rules()),
        ("tasks/pushNotification/get", json!({"id": "t"}), vec![must_as("id", Text, "taskId")]),
        (
            "tasks/pushNotification/set",
            json!({"id": "t", "pushNotificationConfig": {"url": "https://hook.example"}}),
            vec![must_as("id", Text, "taskId"), must_as("pushNotificationConfig.url", Text, "url")],
        ),
    ];
    let each = |(method, good, rules): (&'static str, Value, Vec<Member>)| {
        let broken = break_each(&good, &rules).into_iter();
        broken.map(move |broken| case(format!("{method}: {}", broken.what), Form::Old, old(method, &broken.request), wrong(broken.field)))
    };
    let mut cases: Vec<_> = all.into_iter().flat_map(each).collect();
    let part = |part: Value| old("tasks/send", &with(send(), "message.parts[0]", part));
    for (what, broken) in [
        ("a part of nothing", json!({})),
        ("a part of two things", json!({"text": "hi", "data": {}})),
        ("a file of bytes and a URI", json!({"type": "file", "file": {"bytes": "aGk=", "uri": "https://a.example"}})),
        ("a file of bad base64", json!({"type": "file", "file": {"bytes": "a*"}})),
        ("a file of nothing", json!({"type": "file", "file": {}})),
        ("a part of no known type", json!({"type": "video", "text": "hi"})),
        ("text without text", json!({"type": "text"})),
    ] {
        cases.push(case(what, Form::Old, part(broken), wrong("message.parts[0]")));
    }
    for method in ["tasks/get", "tasks/cancel", "tasks/resubscribe", "tasks/pushNotification/get"] {
        let request = old(method, &json!({"id": "nowhere"})).version("0.1");
        cases.push(case(format!("{method} of a task that is not there"), Form::Old, request, refused("TASK_NOT_FOUND")));
    }
    let request = old("tasks/get", &json!({})).version("0.1");
    cases.push(case("no task", Form::Old, request, wrong("id")));
    let request = old("tasks/send", &with(send(), "id", json!(long(257))));
    cases.push(case("a task id of 257 bytes", Form::Old, request, wrong("message.taskId")));
    let request = old("tasks/send", &with(send(), "message.metadata", json!({"deep": nested(64)})));
    cases.push(case("metadata 65 deep", Form::Old, request, wrong("message.metadata")));
    let request = old("tasks/send", &send()).set("content-type", "text/plain");
    cases.push(case("text as the content type", Form::Old, request, refused("CONTENT_TYPE_NOT_SUPPORTED")));
    cases.push(case("a v0.1 method in v1.0", Form::Old, call("tasks/send", &send()), refused("INVALID_REQUEST")));
    run(&running, &old("tasks/list", &json!({})), &cases, judge).await;
    enough("JSON-RPC v0.1", &cases, 40);
}

/// DIA-003-RPC-001, DIA-003-RPC-002, DIA-003-RPC-003, DIA-003-ERR-002: everything that can be wrong with a compact call
/// has its error.
#[tokio::test]
async fn every_mistake_in_a_compact_call_has_its_error() {
    let running = start().await;
    let send = || {
        vec![
            must("message", Object),
            may("message.messageId", Text),
            must("message.role", Word),
            must("message.parts", List),
            may("message.parts[0]", Object),
            may("message.contextId", Text),
            may("configuration", Object),
            may("configuration.historyLength", Whole),
            may("configuration.blocking", Flag),
            may("configuration.pushNotificationConfig", Object),
        ]
    };
    let task = || vec![must_as("taskId", Text, "id")];
    let named = || vec![must("taskId", Text), must_as("configId", Text, "id")];
    let config = || json!({"taskId": "t", "configId": "p"});
    let list = vec![
        may("contextId", Text),
        may("status", Word),
        may("pageSize", Whole),
        may("statusTimestampAfter", Time),
        may("includeArtifacts", Flag),
    ];
    let all = [
        ("A2A.SendMessage", self::send(), send()),
        ("A2A.SendStreamingMessage", self::send(), send()),
        ("A2A.GetTask", json!({"taskId": "t"}), task()),
        ("A2A.CancelTask", json!({"taskId": "t"}), task()),
        ("A2A.SubscribeToTask", json!({"taskId": "t"}), task()),
        ("A2A.ListTasks", json!({}), list),
        ("A2A.GetTaskPushNotificationConfig", config(), vec![must("taskId", Text), must("configId", Text)]),
        ("A2A.DeleteTaskPushNotificationConfig", config(), named()),
        ("A2A.ListTaskPushNotificationConfig", json!({"taskId": "t"}), vec![must("taskId", Text)]),
        (
            "A2A.CreateTaskPushNotificationConfig",
            json!({"taskId": "t", "pushNotificationConfig": {"url": "https://hook.example"}}),
            vec![must("taskId", Text), must_as("pushNotificationConfig.url", Text, "url")],
        ),
    ];
    let each = |(method, good, rules): (&'static str, Value, Vec<Member>)| {
        let broken = break_each(&good, &rules).into_iter();
        broken
            .map(move |broken| case(format!("{method}: {}", broken.what), Form::Compact, old(method, &broken.request), wrong(broken.field)))
    };
    let mut cases: Vec<_> = all.into_iter().flat_map(each).collect();
    for method in ["A2A.GetTask", "A2A.CancelTask", "A2A.SubscribeToTask"] {
        let request = old(method, &json!({"taskId": "nowhere"}));
        cases.push(case(format!("{method} of a task that is not there"), Form::Compact, request, refused("TASK_NOT_FOUND")));
    }
    let header = json!({"taskId": "t", "url": "https://hook.example", "authentication": {"scheme": "api_key", "headerName": "host"}});
    let request = old("A2A.CreateTaskPushNotificationConfig", &header);
    cases.push(case("a header that is not free", Form::Compact, request, wrong("authentication.headerName")));
    cases.push(case("a page of 0", Form::Compact, old("A2A.ListTasks", &json!({"pageSize": 0})), wrong("pageSize")));
    cases.push(case("a page token of somebody else", Form::Compact, old("A2A.ListTasks", &json!({"pageToken": "?"})), wrong("pageToken")));
    let request = old("A2A.GetTask", &json!({"taskId": "t"})).set("content-type", "text/plain");
    cases.push(case("text as the content type", Form::Compact, request, refused("CONTENT_TYPE_NOT_SUPPORTED")));
    run(&running, &old("A2A.ListTasks", &json!({})), &cases, judge).await;
    enough("JSON-RPC, compact", &cases, 40);
}

/// Each call of a batch is answered as JSON-RPC 2.0 says, and none of them spoils the others.
#[tokio::test]
async fn a_batch_answers_each_of_its_calls() {
    let running = start().await;
    let mut wire = Wire::open(&running).await;
    let call = |id: i64, method: &str, params: Value| json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
    let get = |id| call(id, "GetTask", json!({"id": "nowhere"}));
    let notification = || json!({"jsonrpc": "2.0", "method": "GetTask", "params": {"id": "nowhere"}});
    let null = Value::Null;
    // The calls, and the id and the reason of each answer.
    let batches: Vec<(Value, Vec<(Value, &'static str)>)> = vec![
        (json!([get(1)]), vec![(json!(1), "TASK_NOT_FOUND")]),
        (json!([get(1), notification(), get(2)]), vec![(json!(1), "TASK_NOT_FOUND"), (json!(2), "TASK_NOT_FOUND")]),
        (json!([1, "x", null]), vec![(null.clone(), "INVALID_REQUEST"); 3]),
        (json!([[get(1)]]), vec![(null.clone(), "INVALID_REQUEST")]),
        (json!([{}, get(1)]), vec![(null.clone(), "INVALID_REQUEST"), (json!(1), "TASK_NOT_FOUND")]),
        (json!([call(1, "Nothing", json!({})), get(2)]), vec![(json!(1), "METHOD_NOT_FOUND"), (json!(2), "TASK_NOT_FOUND")]),
        (json!([call(1, "SendStreamingMessage", send())]), vec![(json!(1), "INVALID_REQUEST")]),
        (
            json!([call(1, "SubscribeToTask", json!({"id": "t"})), get(2)]),
            vec![(json!(1), "INVALID_REQUEST"), (json!(2), "TASK_NOT_FOUND")],
        ),
        (nested(50), vec![(null.clone(), "INVALID_REQUEST")]),
        (json!([get(1), get(1)]), vec![(json!(1), "TASK_NOT_FOUND"); 2]),
        (json!([call(1, "GetTask", json!([])), get(2)]), vec![(json!(1), "INVALID_PARAMS"), (json!(2), "TASK_NOT_FOUND")]),
        (json!([get(1), get(2), get(3), get(4)]), (1..=4).map(|id| (json!(id), "TASK_NOT_FOUND")).collect()),
        (json!([notification(), {"jsonrpc": "1.0", "method": "GetTask"}]), vec![(null.clone(), "INVALID_REQUEST")]),
    ];
    for (batch, expected) in &batches {
        let answer = wire.ask(&new(batch.to_string())).await.unwrap();
        assert_eq!((answer.status, answer.header("content-type")), (200, Some("application/json")), "{batch}");
        let answers = answer.json().unwrap();
        let answers = answers.as_array().unwrap();
        assert_eq!(answers.len(), expected.len(), "{batch}: {answers:?}");
        for (answer, (id, reason)) in answers.iter().zip(expected) {
            assert_eq!(&answer["id"], id, "{batch}");
            error(Form::New, answer, reason, None).unwrap_or_else(|fault| panic!("{batch}: {fault}: {answer}"));
        }
    }
    for depth in [200, 1_000, 20_000] {
        let answer = wire.ask(&new(nested_text(depth))).await.unwrap().json().unwrap();
        assert_eq!(answer.as_array().map(Vec::len), Some(1), "{depth} deep");
        error(Form::New, &answer[0], "INVALID_REQUEST", None).unwrap();
    }
    for count in 1..=BATCH {
        let silent = json!(vec![notification(); count]).to_string();
        let answer = wire.ask(&new(silent)).await.unwrap();
        assert_eq!((answer.status, answer.body.len()), (204, 0), "{count} notifications");
    }
    let many = json!(vec![get(1); BATCH + 1]);
    let answer = wire.ask(&new(many.to_string())).await.unwrap();
    assert_eq!((answer.status, answer.json().unwrap()["id"].clone()), (200, null));
    error(Form::New, &answer.json().unwrap(), "INVALID_REQUEST", None).unwrap();
    println!("JSON-RPC: {} batches", batches.len() + BATCH + 1);
}
