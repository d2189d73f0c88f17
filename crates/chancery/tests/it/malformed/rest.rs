//! HTTP+JSON in every version that has it.

use serde_json::{Value, json};

use super::{
    Answer, BODY, Case, Form, Request, Want, at_the_door, case, details, enough, jsonrpc, long, members, named, names_field, nested,
    nested_text, old_fields, post, refused, request,
    rule::{
        Kind::{Flag, List, Object, Text, Whole, Word},
        Member, break_each, may, must, must_as, put,
    },
    run, same, start, wrong,
};

/// Whether an answer is the error that the case must give.
fn judge(case: &Case, answer: &Answer) -> Result<(), String> {
    let Want::Refused { reason, field, http } = &case.want else { return same("the status", answer.status, 200) };
    let name = named(reason);
    let status = http.unwrap_or(if case.form == Form::Old { name.old_http } else { name.http });
    same("the status", answer.status, status)?;
    // Go clients read errors of this type only.
    same("the content type", answer.header("content-type"), Some("application/json"))?;
    if case.request.method == "HEAD" {
        return Ok(());
    }
    let body = answer.json()?;
    let fields = match case.form {
        Form::New => status_object(&body, name.status, status, reason)?,
        Form::Old => {
            same("the code", body["code"].as_i64(), Some(name.old_rpc))?;
            super::text(&body["message"])?;
            status_object(&body, name.status, status, reason)?;
            old_fields(&body["data"])?
        }
        Form::Compact => {
            same("the code", &body["code"], &json!(reason))?;
            super::text(&body["message"])?;
            same("details as an object", body["details"].is_object(), true)?;
            members(&body["details"])
        }
    };
    names_field(&fields, field.as_deref())
}

/// The `google.rpc.Status` of an error; gives the fields that are wrong.
fn status_object(body: &Value, name: &str, status: u16, reason: &str) -> Result<Vec<String>, String> {
    let error = &body["error"];
    same("error.code", error["code"].as_u64(), Some(u64::from(status)))?;
    same("error.status", &error["status"], &json!(name))?;
    super::text(&error["message"])?;
    details(&error["details"], reason)
}

fn send() -> Value {
    json!({"message": {"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "hi"}]}})
}

fn with(mut request: Value, at: &str, value: Value) -> Value {
    put(&mut request, at, Some(value));
    request
}

/// A request of v1.0 with a body.
fn body(target: &str, body: impl ToString) -> Request {
    post(target, body.to_string()).version("1.0")
}

/// A request of v1.0 without one.
fn bare(method: &'static str, target: impl Into<String>) -> Request {
    request(method, target).version("1.0")
}

/// Every rule about a member of a body, broken in every way.
fn broken(form: Form, all: Vec<(&'static str, Value, Vec<Member>)>, of: impl Fn(&str, &Value) -> Request) -> Vec<Case> {
    let mut cases = Vec::new();
    for (target, good, rules) in all {
        for broken in break_each(&good, &rules) {
            cases.push(case(format!("{target}: {}", broken.what), form, of(target, &broken.request), wrong(broken.field)));
        }
    }
    cases
}

/// Bodies that are no request; `good` is one, whose text is found at `at`.
fn bodies(form: Form, good: &Value, at: &str, of: impl Fn(&[u8]) -> Request) -> Vec<Case> {
    let text = good.to_string();
    let (before, after) = text.split_once("hi").unwrap();
    let unreadable: Vec<(&str, Vec<u8>)> = vec![
        ("half a body", text.as_bytes()[..text.len() / 2].to_vec()),
        ("a brace too many", format!("{text}}}").into_bytes()),
        ("two bodies", text.repeat(2).into_bytes()),
        ("a byte order mark", [b"\xef\xbb\xbf", text.as_bytes()].concat()),
        ("UTF-16", text.encode_utf16().flat_map(u16::to_le_bytes).collect()),
        ("a NUL at the end", [text.as_bytes(), b"\0"].concat()),
        ("words", b"hello".to_vec()),
        ("a form", b"message=hi".to_vec()),
        ("single quotes", text.replace('"', "'").into_bytes()),
        ("a comma at the end", text.replace("}}", "},}").into_bytes()),
        ("NaN", text.replace("\"hi\"", "NaN").into_bytes()),
        ("a line break in a string", text.replace("hi", "h\ni").into_bytes()),
        ("an escape that is none", text.replace("hi", "\\x").into_bytes()),
        ("bytes that are not UTF-8", [before.as_bytes(), b"\xff\xfe", after.as_bytes()].concat()),
    ];
    let mut cases: Vec<_> = unreadable.into_iter().map(|(what, body)| case(what, form, of(&body), refused("PARSE_ERROR"))).collect();
    cases.push(case("half a letter", form, of(text.replace("hi", "\\ud800").as_bytes()), wrong(at)));
    for text in ["[]", "[{}]", "7", "\"hi\"", "true"] {
        cases.push(case(format!("the body {text}"), form, of(text.as_bytes()), wrong("params")));
    }
    for (what, text) in [("nothing", ""), ("spaces", " \r\n "), ("an empty object", "{}")] {
        cases.push(case(format!("a body of {what}"), form, of(text.as_bytes()), wrong("message")));
    }
    cases
}

fn v1_bodies() -> Vec<Case> {
    let config = "/tasks/t/pushNotificationConfigs";
    let all = vec![
        ("/message:send", send(), jsonrpc::send_rules()),
        ("/message:stream", send(), jsonrpc::send_rules()),
        ("/acme/message:send", send(), vec![must("message.parts", List), must("message.role", Word)]),
        (config, json!({"url": "https://hook.example"}), jsonrpc::config_rules()),
        ("/tasks/t:cancel", json!({}), vec![may("metadata", Object), may("tenant", Text)]),
    ];
    let mut cases = broken(Form::New, all, |target, request| body(target, request));
    cases.extend(bodies(Form::New, &send(), "message.parts[0].text", |bytes| post("/message:send", bytes).version("1.0")));
    let mut bad = |what: &str, params: Value, field: &str| cases.push(case(what, Form::New, body("/message:send", params), wrong(field)));
    for (what, part) in [
        ("a part of nothing", json!({})),
        ("a part that is null", Value::Null),
        ("a part of two things", json!({"text": "hi", "url": "https://a.example"})),
        ("bad base64", json!({"raw": "a*"})),
        ("base64 of one letter", json!({"raw": "a"})),
        ("a kind that is another", json!({"text": "hi", "kind": "file"})),
    ] {
        bad(what, with(send(), "message.parts[0]", part), "message.parts[0]");
    }
    bad("257 parts", with(send(), "message.parts", json!(vec![json!({"text": ""}); 257])), "message.parts");
    bad("metadata 65 deep", with(send(), "message.metadata", json!({"deep": nested(64)})), "message.metadata");
    bad("a message id of 257 bytes", with(send(), "message.messageId", json!(long(257))), "message.messageId");
    bad("a history of -1", with(send(), "configuration.historyLength", json!(-1)), "configuration.historyLength");
    for depth in [200, 20_000] {
        let text = format!(
            r#"{{"message":{{"messageId":"m","role":"ROLE_USER","parts":[{{"text":"hi"}}],"metadata":{{"deep":{}}}}}}}"#,
            nested_text(depth)
        );
        cases.push(case(format!("metadata {depth} deep"), Form::New, body("/message:send", text), wrong("message.metadata")));
    }
    let twice = send().to_string().replace("\"messageId\":\"m\"", "\"messageId\":\"m\",\"messageId\":\"m\"");
    cases.push(case("a message id twice", Form::New, body("/message:send", twice), wrong("message")));
    let request = body("/message:send", with(send(), "message.taskId", json!("nowhere")));
    cases.push(case("a message to a task that is not there", Form::New, request, refused("TASK_NOT_FOUND")));
    let request = body("/message:send", with(send(), "message.parts[0].mediaType", json!("video/mp4")));
    cases.push(case("a part of a type that is not taken", Form::New, request, refused("CONTENT_TYPE_NOT_SUPPORTED")));
    cases
}

/// Queries that are wrong.
fn v1_queries() -> Vec<Case> {
    let mut cases = Vec::new();
    let mut bad = |target: &str, field: &str| cases.push(case(target, Form::New, bare("GET", target), wrong(field)));
    for size in ["0", "-1", "101", "1000", "2147483648", "five", "5.5", "1e9", "0x10", "%20", "5%205", "true", "[5]"] {
        bad(&format!("/tasks?pageSize={size}"), "pageSize");
    }
    for length in ["-1", "five", "1.5", "2147483648", "-2147483649", "null"] {
        bad(&format!("/tasks?historyLength={length}"), "historyLength");
        bad(&format!("/tasks/nowhere?historyLength={length}"), "historyLength");
        bad(&format!("/acme/tasks/nowhere?historyLength={length}"), "historyLength");
    }
    for token in ["?", "%25", "aGVsbG8", "MS4y", "eC55Lno", "%F0%9F%98%80", "%FF"] {
        bad(&format!("/tasks?pageToken={token}"), "pageToken");
    }
    for state in ["TASK_STATE_RUNNING", "running", "TASK_STATE_WORKING,TASK_STATE_FAILED", "99", "%00"] {
        bad(&format!("/tasks?status={state}"), "status");
    }
    for time in [
        "yesterday",
        "2026-11-09",
        "2026-11-09T10:30:00",
        "2026-11-09t10:30:00z",
        "2026-13-09T10:30:00Z",
        "0",
        "2026-11-09T10:30:00%2B25:00",
    ] {
        bad(&format!("/tasks?statusTimestampAfter={time}"), "statusTimestampAfter");
    }
    for flag in ["yes", "2", "on", "truee", "null"] {
        bad(&format!("/tasks?includeArtifacts={flag}"), "includeArtifacts");
    }
    bad(&format!("/tasks?contextId={}", long(257)), "contextId");
    bad("/tasks?pageSize=5&pageSize=0", "pageSize");
    bad("/tasks?page_size=0", "pageSize");
    bad("/tasks/t/pushNotificationConfigs?pageSize=-1", "pageSize");
    bad("/tasks/t/pushNotificationConfigs?pageSize=five", "pageSize");
    bad(&format!("/tasks/{}", long(257)), "id");
    bad(&format!("/tasks/{}:subscribe", long(257)), "id");
    bad(&format!("/tasks/{}/pushNotificationConfigs", long(257)), "taskId");
    bad(&format!("/tasks/{}/pushNotificationConfigs/p", long(257)), "taskId");
    bad(&format!("/tasks/t/pushNotificationConfigs/{}", long(257)), "id");
    cases.push(case("a cancel of 257 bytes", Form::New, bare("POST", format!("/tasks/{}:cancel", long(257))), wrong("id")));
    let request = bare("DELETE", format!("/tasks/t/pushNotificationConfigs/{}", long(257)));
    cases.push(case("a deletion of 257 bytes", Form::New, request, wrong("id")));
    for target in [
        "/tasks?colour=red",
        "/tasks?pageSize=0&pageSize=5",
        "/tasks?pageSize=",
        "/tasks?",
        "/tasks?&&=&",
        "/tasks?includeArtifacts=TRUE",
        "/tasks/?pageSize=1",
        "/tasks?%FF=%FF",
        "/tasks?status=TASK_STATE_WORKING",
        "/tasks?lastUpdatedAfter=2026-11-09T10:30:00Z",
    ] {
        cases.push(case(format!("{target} is fine"), Form::New, bare("GET", target), Want::Fine));
    }
    cases
}

/// Paths and verbs that are not there.
fn v1_paths() -> Vec<Case> {
    let mut cases = Vec::new();
    let mut none = |method: &'static str, target: &str, form: Form| {
        cases.push(case(format!("{method} {target}"), form, bare(method, target), refused("METHOD_NOT_FOUND")));
    };
    for target in [
        "/nothing",
        "/task",
        "/tasks/t/nothing",
        "/tasks/t/pushNotificationConfigs/p/q",
        "/message",
        "/message:",
        "/message:nothing",
        "/Tasks",
        "/tasks%FF",
        "/tasks/%FF",
        "/tasks/%C3%28",
        "/%FF/tasks",
        "//tasks/t/u",
        "/tasks//",
        "/a/b/tasks",
        "/acme/nothing",
        "/tasks/t/pushNotificationConfigs//",
        "/.well-known/nothing",
        "/index.html",
        "/extendedAgentCard/x",
        "/tasks/%2e%2e/%2e%2e/etc/passwd",
        "/%00",
        "/acme/tasks/t/nothing",
    ] {
        none("GET", target, Form::New);
    }
    for target in [
        "/tasks",
        "/tasks/t",
        "/extendedAgentCard",
        "/tasks/t:nothing",
        "/tasks/:cancel",
        "/tasks/t:CANCEL",
        "/message:Send",
        "/tasks/t/pushNotificationConfigs/p",
        "/acme/tasks",
    ] {
        none("POST", target, Form::New);
    }
    for target in ["/message:send", "/message:stream", "/acme/message:send"] {
        none("GET", target, Form::New);
        none("HEAD", target, Form::New);
        none("DELETE", target, Form::New);
    }
    for method in ["PUT", "PATCH", "DELETE", "TRACE", "BREW"] {
        for target in ["/tasks", "/message:stream", "/tasks/t/pushNotificationConfigs", "/extendedAgentCard"] {
            if (method, target) != ("DELETE", "/message:stream") {
                none(method, target, Form::New);
            }
        }
    }
    for method in ["PUT", "PATCH"] {
        none(method, "/tasks/t", Form::New);
        none(method, "/tasks/t:cancel", Form::New);
        none(method, "/tasks/t/pushNotificationConfigs/p", Form::New);
    }
    none("GET", "/tasks/:subscribe/x", Form::New);
    for (method, target) in [
        ("PUT", "/"),
        ("DELETE", "/"),
        ("PATCH", "/"),
        ("POST", "/.well-known/agent-card.json"),
        ("DELETE", "/.well-known/agent.json"),
        ("POST", "/healthz"),
        ("DELETE", "/metrics"),
        ("PUT", "/readyz"),
    ] {
        cases.push(case(format!("{method} {target}"), Form::New, bare(method, target), at_the_door("METHOD_NOT_FOUND", 405)));
    }
    for target in [
        "/tasks/nowhere",
        "/tasks/nowhere:subscribe",
        "/tasks/nowhere/pushNotificationConfigs",
        "/tasks/nowhere/pushNotificationConfigs/p",
        "/acme/tasks/nowhere",
        "/tasks/no%2Fwhere",
        "/tasks/%20",
        "/tasks/a%00b",
        "/tasks/:",
        "/tasks/a:b",
        "/tasks/t:cancel",
        "/tasks/nowhere/",
        "/%20/tasks/nowhere",
        "/tasks/nowhere%3Asubscribe",
    ] {
        cases.push(case(format!("GET {target}"), Form::New, bare("GET", target), refused("TASK_NOT_FOUND")));
    }
    cases.push(case("HEAD /tasks/nowhere", Form::New, bare("HEAD", "/tasks/nowhere"), refused("TASK_NOT_FOUND")));
    for target in ["/tasks/nowhere:cancel", "/tasks/nowhere%3Acancel", "/acme/tasks/nowhere:cancel", "/tasks/nowhere:subscribe"] {
        cases.push(case(format!("POST {target}"), Form::New, bare("POST", target), refused("TASK_NOT_FOUND")));
        cases.push(case(format!("POST {target} with a body"), Form::New, body(target, json!({"id": "other"})), refused("TASK_NOT_FOUND")));
    }
    let request = bare("DELETE", "/tasks/nowhere/pushNotificationConfigs/p");
    cases.push(case("a deletion at a task that is not there", Form::New, request, refused("TASK_NOT_FOUND")));
    cases.push(case("an extended card that is not there", Form::New, bare("GET", "/extendedAgentCard"), refused("UNSUPPORTED_OPERATION")));
    cases
}

/// Headers and sizes.
fn v1_heads() -> Vec<Case> {
    let sent = || body("/message:send", send());
    let mut cases = Vec::new();
    for version in ["1.1", "2.0", "0.4", "0.3", "0.2", "0.1", "1", "one", "v1.0", "1.0.", "1.0.0.0", "1.0-rc", "*", "1.0, 0.3", "\u{e9}"] {
        let request = bare("GET", "/tasks/nowhere").version(version);
        cases.push(case(format!("version {version} of a task"), Form::New, request, refused("VERSION_NOT_SUPPORTED")));
        cases.push(case(format!("version {version} of a message"), Form::New, sent().version(version), refused("VERSION_NOT_SUPPORTED")));
    }
    for (what, request) in [
        ("a task", request("GET", "/tasks/nowhere")),
        ("a list", request("GET", "/tasks")),
        ("a message", sent().without("a2a-version")),
        ("an empty version", bare("GET", "/tasks/nowhere").version("")),
        ("a version that is no text", request("GET", "/tasks/nowhere").header("a2a-version", b"\xff".to_vec())),
        ("a version in the query", request("GET", "/tasks/nowhere?A2A-Version=2.0")),
    ] {
        cases.push(case(format!("no version that fits: {what}"), Form::New, request, refused("VERSION_NOT_SUPPORTED")));
    }
    let request = request("GET", "/tasks/nowhere?A2A-Version=1.0");
    cases.push(case("the version in the query", Form::New, request, refused("TASK_NOT_FOUND")));
    for content in [
        "text/plain",
        "application/xml",
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=x",
        "json",
        "application/jsonx",
        "*/*",
    ] {
        cases.push(case(
            format!("content type {content}"),
            Form::New,
            sent().set("content-type", content),
            refused("CONTENT_TYPE_NOT_SUPPORTED"),
        ));
    }
    for content in ["application/a2a+json", "application/json; charset=utf-8", "Application/JSON"] {
        cases.push(case(format!("content type {content} is fine"), Form::New, sent().set("content-type", content), Want::Fine));
    }
    cases.push(case("no content type is fine", Form::New, sent().without("content-type"), Want::Fine));
    let request = bare("GET", "/tasks/nowhere").header("content-type", "text/plain");
    cases.push(case("a content type without content is ignored", Form::New, request, refused("TASK_NOT_FOUND")));
    for accept in ["text/html", "nonsense", "*/*;q=0"] {
        cases.push(case(format!("accept {accept} is ignored"), Form::New, sent().header("accept", accept), Want::Fine));
    }
    for (what, key) in [("empty", Vec::new()), ("of 257 letters", vec![b'k'; 257]), ("that is no text", vec![0xff, 0xfe])] {
        cases.push(case(format!("a key {what}"), Form::New, sent().header("idempotency-key", key), wrong("Idempotency-Key")));
    }
    let request = body("/message:stream", send()).header("last-event-id", "1");
    cases.push(case("a cursor on a new message", Form::New, request, wrong("Last-Event-ID")));
    let filled = |length: usize| format!("{}{}", send(), " ".repeat(length - send().to_string().len()));
    cases.push(case("a body at the limit is fine", Form::New, body("/message:send", filled(BODY)), Want::Fine));
    let over = || filled(BODY + 1);
    cases.push(case("a body over the limit", Form::New, body("/message:send", over()), at_the_door("INVALID_REQUEST", 413)));
    cases.push(case("a body over the limit to nowhere", Form::New, body("/nothing", over()), refused("METHOD_NOT_FOUND")));
    let request = body("/.well-known/agent-card.json", over());
    cases.push(case("a body over the limit to a card", Form::New, request, at_the_door("METHOD_NOT_FOUND", 405)));
    let request = body("/message:send", over()).version("9.9");
    cases.push(case("a body over the limit in no version", Form::New, request, refused("VERSION_NOT_SUPPORTED")));
    let text = filled(BODY + 1);
    let request = body("/message:send", format!("{:x}\r\n{text}\r\n0\r\n\r\n", text.len())).header("transfer-encoding", "chunked");
    cases.push(case("chunks over the limit", Form::New, request, at_the_door("INVALID_REQUEST", 413)));
    cases
}

/// V10-REST-001, V10-REST-002, V10-REST-005, V10-REST-006, V10-REST-009, V10-REST-010, V10-REST-011, V10-REST-012,
/// V10-REST-013, V10-ERR-014, V10-ERR-015, V10-ERR-016, V10-VER-007: everything that can be wrong with a v1.0 request over
/// HTTP+JSON has its error.
#[tokio::test]
async fn every_mistake_in_a_request_of_v1_0_has_its_error() {
    let running = start().await;
    let cases: Vec<_> = [v1_bodies(), v1_queries(), v1_paths(), v1_heads()].into_iter().flatten().collect();
    run(&running, &bare("GET", "/tasks?pageSize=1"), &cases, judge).await;
    enough("HTTP+JSON v1.0", &cases, 200);
}

fn old_send() -> Value {
    json!({"message": {"messageId": "m", "role": "ROLE_USER", "content": [{"text": "hi"}]}, "configuration": {"blocking": true}})
}

/// A request of v0.3 with a body.
fn old(target: &str, body: impl ToString) -> Request {
    post(target, body.to_string())
}

fn v0_3_cases() -> Vec<Case> {
    let url = "configuration.taskPushNotificationConfig.url";
    let rules = || {
        vec![
            must("message", Object),
            must("message.messageId", Text),
            must("message.role", Word),
            must_as("message.content", List, "message.parts"),
            may("message.content[0]", Object),
            may("message.content[0].text", Text),
            may("message.contextId", Text),
            may("message.taskId", Text),
            may("message.metadata", Object),
            may("configuration", Object),
            may("configuration.acceptedOutputModes", List),
            may("configuration.historyLength", Whole),
            may("configuration.blocking", Flag),
            may("configuration.pushNotification", Object),
            must_as("configuration.pushNotification.url", Text, url),
            may("metadata", Object),
        ]
    };
    let kind = json!({"message": {"kind": "message", "messageId": "m", "role": "user", "parts": [{"kind": "text", "text": "hi"}]}});
    let kind_rules = vec![must("message.messageId", Text), must("message.role", Word), may("message.parts[0]", Object)];
    let all = vec![("/v1/message:send", old_send(), rules()), ("/v1/message:stream", old_send(), rules())];
    let mut cases = broken(Form::Old, all, |target, request| old(target, request));
    let mut kinds = broken(Form::Old, vec![("/v1/message:send", kind, kind_rules)], |target, request| old(target, request));
    kinds.iter_mut().for_each(|case| case.what.insert_str(0, "with kind: "));
    cases.extend(kinds);
    let config = "/v1/tasks/t/pushNotificationConfigs";
    let rules = vec![
        must_as("config.pushNotificationConfig.url", Text, "url"),
        may("config.pushNotificationConfig", Object),
        may("config", Object),
    ];
    let good = json!({"parent": "tasks/t", "configId": "p", "config": {"pushNotificationConfig": {"url": "https://hook.example"}}});
    cases.extend(broken(Form::Old, vec![(config, good, rules)], |target, request| old(target, request)));
    cases.extend(bodies(Form::Old, &old_send(), "message.content[0].text", |bytes| post("/v1/message:send", bytes)));
    for (what, part) in [
        ("a part of nothing", json!({})),
        ("a part that is null", Value::Null),
        ("a part of two things", json!({"text": "hi", "data": {"data": {}}})),
        ("a file of nothing", json!({"file": {}})),
        ("a file of bad base64", json!({"file": {"fileWithBytes": "a*"}})),
    ] {
        let request = old("/v1/message:send", with(old_send(), "message.content[0]", part));
        cases.push(case(what, Form::Old, request, wrong("message.content[0]")));
    }
    for target in ["/v1/tasks?pageSize=0", "/v1/tasks?pageSize=-1", "/v1/tasks?pageSize=five", "/v1/tasks?page_size=101"] {
        cases.push(case(target, Form::Old, request("GET", target), wrong("pageSize")));
    }
    for (target, field) in [
        ("/v1/tasks?pageToken=?", "pageToken"),
        ("/v1/tasks?status=running", "status"),
        ("/v1/tasks?historyLength=-1", "historyLength"),
        ("/v1/tasks?lastUpdatedAfter=yesterday", "lastUpdatedAfter"),
        ("/v1/tasks?includeArtifacts=yes", "includeArtifacts"),
        ("/v1/tasks/nowhere?historyLength=-1", "historyLength"),
        ("/v1/tasks/nowhere?historyLength=five", "historyLength"),
        ("/v1/tasks/nowhere?history_length=1.5", "history_length"),
    ] {
        cases.push(case(target, Form::Old, request("GET", target), wrong(field)));
    }
    cases.push(case("a task id of 257 bytes", Form::Old, request("GET", format!("/v1/tasks/{}", long(257))), wrong("id")));
    for target in [
        "/v1/tasks/nowhere",
        "/v1/tasks/nowhere:subscribe",
        "/v1/tasks/nowhere/pushNotificationConfigs",
        "/v1/tasks/nowhere/pushNotificationConfigs/p",
    ] {
        cases.push(case(target, Form::Old, request("GET", target), refused("TASK_NOT_FOUND")));
    }
    for target in ["/v1/tasks/nowhere:cancel", "/v1/tasks/nowhere:subscribe"] {
        cases.push(case(format!("POST {target}"), Form::Old, request("POST", target), refused("TASK_NOT_FOUND")));
    }
    for (method, target) in [
        ("GET", "/v1"),
        ("GET", "/v1/"),
        ("GET", "/v1/nothing"),
        ("GET", "/v1/message:send"),
        ("POST", "/v1/tasks"),
        ("POST", "/v1/card"),
        ("DELETE", "/v1/tasks/t"),
        ("GET", "/v1/extendedAgentCard"),
        ("PUT", "/v1/tasks/t"),
        ("POST", "/v1/tasks/t:nothing"),
        ("GET", "/v1/tasks/%FF"),
        ("GET", "/v1/acme/tasks"),
        ("POST", "/v1/message/send"),
    ] {
        cases.push(case(format!("{method} {target}"), Form::Old, request(method, target), refused("METHOD_NOT_FOUND")));
    }
    for version in ["1.0", "1.1", "0.4", "one", "*"] {
        let request = request("GET", "/v1/tasks/nowhere").version(version);
        cases.push(case(format!("version {version}"), Form::Old, request, refused("VERSION_NOT_SUPPORTED")));
    }
    for content in ["text/plain", "application/xml", "application/x-www-form-urlencoded"] {
        let request = old("/v1/message:send", old_send()).set("content-type", content);
        cases.push(case(format!("content type {content}"), Form::Old, request, refused("CONTENT_TYPE_NOT_SUPPORTED")));
    }
    let text = " ".repeat(BODY + 1);
    cases.push(case("a body over the limit", Form::Old, old("/v1/message:send", text), at_the_door("INVALID_REQUEST", 413)));
    let request = old("/v1/message:send", old_send()).header("idempotency-key", "");
    cases.push(case("an empty key", Form::Old, request, wrong("Idempotency-Key")));
    cases.push(case("a card that is not there", Form::Old, request_card(), refused("UNSUPPORTED_OPERATION")));
    cases
}

fn request_card() -> Request {
    request("GET", "/v1/card")
}

/// V03-REST-001, V03-REST-011, V03-REST-020, V03-REST-021, CONV-DET-010, CONV-DET-011: everything that can be wrong with
/// a v0.3 request over HTTP+JSON has its error.
#[tokio::test]
async fn every_mistake_in_a_request_of_v0_3_has_its_error() {
    let running = start().await;
    let cases = v0_3_cases();
    run(&running, &request("GET", "/v1/tasks"), &cases, judge).await;
    enough("HTTP+JSON v0.3", &cases, 50);
}

/// DIA-003-REST-001, DIA-003-REST-002, DIA-003-REST-009, DIA-003-REST-010, DIA-003-ERR-001: everything that can be wrong
/// with a compact request over HTTP+JSON has its error.
#[tokio::test]
async fn every_mistake_in_a_compact_request_has_its_error() {
    let running = start().await;
    let rules = || {
        vec![
            must("message", Object),
            must("message.role", Word),
            must("message.parts", List),
            may("message.parts[0]", Object),
            may("message.contextId", Text),
            may("configuration", Object),
            may("configuration.historyLength", Whole),
            may("configuration.blocking", Flag),
        ]
    };
    let all = vec![
        ("/messages", send(), rules()),
        ("/messages/stream", send(), rules()),
        ("/compact/messages", send(), vec![must("message", Object)]),
        ("/tasks/t/notifications", json!({"url": "https://hook.example"}), vec![must("url", Text), may("authentication", Object)]),
    ];
    let mut cases = broken(Form::Compact, all, |target, request| old(target, request));
    cases.extend(bodies(Form::Compact, &send(), "message.parts[0].text", |bytes| post("/messages", bytes)));
    for (target, field) in [
        ("/compact/tasks?page_size=0", "pageSize"),
        ("/compact/tasks?pageSize=five", "pageSize"),
        ("/compact/tasks?page_token=?", "pageToken"),
        ("/compact/tasks?status=running", "status"),
        ("/compact/tasks?history_length=-1", "historyLength"),
        ("/compact/tasks?status_timestamp_after=yesterday", "status_timestamp_after"),
        ("/compact/tasks?include_artifacts=yes", "include_artifacts"),
        ("/compact/tasks/nowhere?history_length=-1", "historyLength"),
    ] {
        cases.push(case(target, Form::Compact, request("GET", target), wrong(field)));
    }
    for target in [
        "/compact/tasks/nowhere",
        "/compact/tasks/nowhere/stream",
        "/tasks/nowhere/stream",
        "/tasks/nowhere/notifications",
        "/tasks/nowhere/notifications/p",
    ] {
        cases.push(case(target, Form::Compact, request("GET", target), refused("TASK_NOT_FOUND")));
    }
    for target in ["/tasks/nowhere", "/tasks/nowhere/notifications/p", "/compact/tasks/nowhere"] {
        cases.push(case(format!("DELETE {target}"), Form::Compact, request("DELETE", target), refused("TASK_NOT_FOUND")));
    }
    for (method, target) in [
        ("GET", "/messages"),
        ("GET", "/messages/stream"),
        ("PUT", "/messages"),
        ("GET", "/compact"),
        ("GET", "/compact/nothing"),
        ("POST", "/compact/tasks"),
        ("POST", "/agent-card"),
        ("POST", "/messages/t"),
        ("GET", "/compact/tasks/%FF"),
    ] {
        cases.push(case(format!("{method} {target}"), Form::Compact, request(method, target), refused("METHOD_NOT_FOUND")));
    }
    for version in ["0.3", "1.1", "one"] {
        let request = old("/messages", send()).version(version);
        cases.push(case(format!("version {version}"), Form::Compact, request, refused("VERSION_NOT_SUPPORTED")));
    }
    let request = old("/messages", send()).set("content-type", "text/plain");
    cases.push(case("text as the content type", Form::Compact, request, refused("CONTENT_TYPE_NOT_SUPPORTED")));
    let request = old("/messages", " ".repeat(BODY + 1));
    cases.push(case("a body over the limit", Form::Compact, request, at_the_door("INVALID_REQUEST", 413)));
    run(&running, &request_list(), &cases, judge).await;
    enough("HTTP+JSON, compact", &cases, 30);
}

fn request_list() -> Request {
    request("GET", "/compact/tasks")
}
