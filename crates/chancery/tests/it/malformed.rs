//! What is wrong, and the error for it, over JSON-RPC and HTTP+JSON: tables of requests, each sent over one
//! connection that must go on answering good requests in between.

mod framing;
mod jsonrpc;
mod rest;
mod rule;

use std::time::Duration;

use chancery::{Limits, Running, Server};
use chancery_core::Card;
use chancery_engine::{Failure, Outcome, Turn, store::Memory};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader},
    net::TcpStream,
};

/// Bytes of a body here.
const BODY: usize = 64 * 1_024;
/// Calls in a batch here.
const BATCH: usize = 4;

/// Waits when it is told to, and otherwise says what it heard.
async fn agent(turn: Turn) -> Result<Outcome, Failure> {
    match turn.text() {
        "wait" => std::future::pending().await,
        text => Ok(Outcome::reply(text)),
    }
}

async fn start() -> Running {
    let mut limits = Limits::default();
    (limits.body, limits.batch) = (BODY, BATCH);
    let card = Card::new("Patient", "Hears everybody out").skill("hear", "Hears everybody out").push_notifications(true);
    let server = Server::new(card, agent).store(Memory::default()).limits(limits).grace(Duration::from_millis(100));
    server.bind("127.0.0.1:0").await.unwrap()
}

/// A request as it goes over the wire.
#[derive(Debug, Clone)]
struct Request {
    method: &'static str,
    target: String,
    headers: Vec<(&'static str, Vec<u8>)>,
    body: Vec<u8>,
}

fn request(method: &'static str, target: impl Into<String>) -> Request {
    Request { method, target: target.into(), headers: Vec::new(), body: Vec::new() }
}

/// A request with a JSON body, or what pretends to be one.
fn post(target: impl Into<String>, body: impl Into<Vec<u8>>) -> Request {
    Request { body: body.into(), ..request("POST", target) }.header("content-type", "application/json")
}

impl Request {
    fn header(mut self, name: &'static str, value: impl Into<Vec<u8>>) -> Self {
        self.headers.push((name, value.into()));
        self
    }

    fn without(mut self, name: &str) -> Self {
        self.headers.retain(|(header, _)| *header != name);
        self
    }

    /// With this header and no other of its name.
    fn set(self, name: &'static str, value: impl Into<Vec<u8>>) -> Self {
        self.without(name).header(name, value)
    }

    fn version(self, version: &str) -> Self {
        self.set("a2a-version", version)
    }

    fn bytes(&self) -> Vec<u8> {
        let mut bytes = format!("{} {} HTTP/1.1\r\nhost: localhost\r\n", self.method, self.target).into_bytes();
        for (name, value) in &self.headers {
            bytes.extend([name.as_bytes(), b": ", value, b"\r\n"].concat());
        }
        if !self.headers.iter().any(|(name, _)| *name == "transfer-encoding") {
            bytes.extend(format!("content-length: {}\r\n", self.body.len()).into_bytes());
        }
        [bytes.as_slice(), b"\r\n", &self.body].concat()
    }
}

/// An answer as it came.
#[derive(Debug)]
struct Answer {
    status: u16,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
}

impl Answer {
    fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(header, _)| header == name).map(|(_, value)| value.as_str())
    }

    fn json(&self) -> Result<Value, String> {
        serde_json::from_slice(&self.body).map_err(|error| format!("{error} in {}", String::from_utf8_lossy(&self.body)))
    }
}

/// One connection that is kept.
struct Wire {
    stream: BufReader<TcpStream>,
}

impl Wire {
    async fn open(running: &Running) -> Self {
        let stream = TcpStream::connect(running.local_addr()).await.unwrap();
        stream.set_nodelay(true).unwrap();
        Self { stream: BufReader::new(stream) }
    }

    /// The answer to a request, or why there is none.
    async fn ask(&mut self, request: &Request) -> Result<Answer, String> {
        let asking = async {
            self.write(&request.bytes()).await?;
            self.answer(request.method == "HEAD").await
        };
        tokio::time::timeout(Duration::from_secs(20), asking).await.map_err(|_| "no answer in time".to_owned())?
    }

    async fn write(&mut self, bytes: &[u8]) -> Result<(), String> {
        self.stream.get_mut().write_all(bytes).await.map_err(|error| format!("the connection was closed: {error}"))
    }

    async fn line(&mut self) -> Result<String, String> {
        let mut line = String::new();
        let read = self.stream.read_line(&mut line).await.map_err(|error| format!("the connection broke: {error}"))?;
        if read == 0 { Err("the connection was closed".to_owned()) } else { Ok(line.trim_end().to_owned()) }
    }

    async fn answer(&mut self, headers_only: bool) -> Result<Answer, String> {
        let first = self.line().await?;
        let status = first.split(' ').nth(1).and_then(|status| status.parse().ok()).ok_or_else(|| format!("no status: {first}"))?;
        let mut headers = Vec::new();
        loop {
            let line = self.line().await?;
            let Some((name, value)) = line.split_once(':') else { break };
            headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
        }
        let mut answer = Answer { status, headers, body: Vec::new() };
        if headers_only || status == 204 {
            return Ok(answer);
        }
        if let Some(length) = answer.header("content-length").map(|length| length.parse().unwrap()) {
            answer.body = self.take(length).await?;
        } else {
            loop {
                let length = usize::from_str_radix(&self.line().await?, 16).map_err(|error| format!("no chunk: {error}"))?;
                answer.body.extend(self.take(length).await?);
                self.line().await?;
                if length == 0 {
                    break;
                }
            }
        }
        Ok(answer)
    }

    async fn take(&mut self, length: usize) -> Result<Vec<u8>, String> {
        let mut bytes = vec![0; length];
        self.stream.read_exact(&mut bytes).await.map_err(|error| format!("the body broke off: {error}"))?;
        Ok(bytes)
    }
}

/// In whose terms an error is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    /// v1.0.
    New,
    /// v0.3, v0.2 and v0.1.
    Old,
    Compact,
}

/// What an error is called: in the bindings of v1.0, and then in those before it where they differ.
struct Name {
    reason: &'static str,
    rpc: i64,
    http: u16,
    status: &'static str,
    old_rpc: i64,
    old_http: u16,
}

const fn name(reason: &'static str, rpc: i64, http: u16, status: &'static str) -> Name {
    Name { reason, rpc, http, status, old_rpc: rpc, old_http: http }
}

/// The errors of the specification that a malformed request can give.
const NAMES: &[Name] = &[
    name("TASK_NOT_FOUND", -32001, 404, "NOT_FOUND"),
    Name { old_http: 409, ..name("TASK_NOT_CANCELABLE", -32002, 400, "FAILED_PRECONDITION") },
    Name { old_http: 501, ..name("UNSUPPORTED_OPERATION", -32004, 400, "FAILED_PRECONDITION") },
    Name { old_http: 415, ..name("CONTENT_TYPE_NOT_SUPPORTED", -32005, 400, "INVALID_ARGUMENT") },
    Name { old_rpc: -32600, ..name("VERSION_NOT_SUPPORTED", -32009, 400, "FAILED_PRECONDITION") },
    name("PARSE_ERROR", -32700, 400, "INVALID_ARGUMENT"),
    name("INVALID_REQUEST", -32600, 400, "INVALID_ARGUMENT"),
    name("METHOD_NOT_FOUND", -32601, 404, "UNIMPLEMENTED"),
    name("INVALID_PARAMS", -32602, 400, "INVALID_ARGUMENT"),
];

fn named(reason: &str) -> &'static Name {
    NAMES.iter().find(|name| name.reason == reason).unwrap_or_else(|| panic!("{reason} is no error of the table"))
}

/// What must come of a request.
#[derive(Debug, Clone)]
enum Want {
    /// It looks wrong and is not.
    Fine,
    Refused {
        reason: &'static str,
        field: Option<String>,
        http: Option<u16>,
    },
}

fn refused(reason: &'static str) -> Want {
    Want::Refused { reason, field: None, http: None }
}

/// Refused for what it says in this field, or somewhere below it.
fn wrong(field: impl Into<String>) -> Want {
    Want::Refused { reason: "INVALID_PARAMS", field: Some(field.into()), http: None }
}

/// Refused with another HTTP status than the error has by itself.
fn at_the_door(reason: &'static str, http: u16) -> Want {
    Want::Refused { reason, field: None, http: Some(http) }
}

/// A request and what must come of it.
struct Case {
    what: String,
    form: Form,
    request: Request,
    want: Want,
    /// The id of the answer, over JSON-RPC.
    id: Value,
}

fn case(what: impl Into<String>, form: Form, request: Request, want: Want) -> Case {
    Case { what: what.into(), form, request, want, id: json!(1) }
}

impl Case {
    fn id(mut self, id: Value) -> Self {
        self.id = id;
        self
    }

    /// Whether the request itself is wrong: not if it asks well for a task that is not there.
    fn is_wrong(&self) -> bool {
        !matches!(self.want, Want::Fine | Want::Refused { reason: "TASK_NOT_FOUND", .. })
    }
}

fn same<T: PartialEq + std::fmt::Debug>(what: &str, found: T, expected: T) -> Result<(), String> {
    if found == expected { Ok(()) } else { Err(format!("{what} is {found:?} instead of {expected:?}")) }
}

/// The details of a v1.0 error, which must be typed and name the reason; gives the fields that are wrong.
fn details(details: &Value, reason: &str) -> Result<Vec<String>, String> {
    let details = details.as_array().ok_or_else(|| format!("the details are no list: {details}"))?;
    let of = |kind: &str| details.iter().find(|detail| detail["@type"] == format!("type.googleapis.com/google.rpc.{kind}"));
    let info = of("ErrorInfo").ok_or("there is no ErrorInfo")?;
    same("the reason", &info["reason"], &json!(reason))?;
    same("the domain", &info["domain"], &json!("a2a-protocol.org"))?;
    same("every detail typed", details.iter().all(|detail| detail["@type"].is_string()), true)?;
    let violations = of("BadRequest").and_then(|bad| bad["fieldViolations"].as_array()).into_iter().flatten();
    violations.map(|violation| text(&violation["field"]).and_then(|field| text(&violation["description"]).map(|_| field))).collect()
}

/// The fields that an error before v1.0 names.
fn old_fields(data: &Value) -> Result<Vec<String>, String> {
    let errors = data["errors"].as_array().into_iter().flatten();
    errors.map(|error| text(&error["field"]).and_then(|field| text(&error["message"]).map(|_| field))).collect()
}

fn text(value: &Value) -> Result<String, String> {
    value.as_str().filter(|text| !text.is_empty()).map(str::to_owned).ok_or_else(|| format!("no text: {value}"))
}

fn members(value: &Value) -> Vec<String> {
    value.as_object().into_iter().flatten().map(|(name, _)| name.clone()).collect()
}

fn names_field(fields: &[String], wanted: Option<&str>) -> Result<(), String> {
    let Some(wanted) = wanted else { return Ok(()) };
    let below = |field: &String| field.strip_prefix(wanted).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']));
    if fields.iter().any(below) { Ok(()) } else { Err(format!("{wanted} is not among the fields {fields:?}")) }
}

/// Sends each case, with a good request after each, over one connection. What is wrong with the answers, `judge`
/// says.
async fn run(running: &Running, good: &Request, cases: &[Case], judge: impl Fn(&Case, &Answer) -> Result<(), String>) {
    let mut wire = Wire::open(running).await;
    let mut faults = Vec::new();
    for case in cases {
        let verdict = async {
            let answer = wire.ask(&case.request).await?;
            judge(case, &answer)
                .map_err(|fault| format!("{fault}; answer {} {:.400}", answer.status, String::from_utf8_lossy(&answer.body)))?;
            let answer = wire.ask(good).await.map_err(|fault| format!("then {fault}"))?;
            same("the next answer", (answer.status, answer.json()?.get("error")), (200, None))
        };
        if let Err(fault) = verdict.await {
            let sent = String::from_utf8_lossy(&case.request.bytes()).into_owned();
            faults.push(format!("{}: {fault}\n    {:.300}", case.what, sent.replace("\r\n", " | ")));
            wire = Wire::open(running).await;
        }
    }
    assert!(faults.is_empty(), "{} of {} cases:\n{}", faults.len(), cases.len(), faults.join("\n"));
}

/// Says how many cases there were, and that there were enough.
#[track_caller]
fn enough(what: &str, cases: &[Case], least: usize) {
    let wrong = cases.iter().filter(|case| case.is_wrong()).count();
    println!("{what}: {wrong} malformed requests, {} that only look so", cases.len() - wrong);
    assert!(wrong >= least, "{what}: only {wrong} of {least} cases");
    let mut names: Vec<_> = cases.iter().map(|case| &case.what).collect();
    names.sort();
    let twice: Vec<_> = names.windows(2).filter(|pair| pair[0] == pair[1]).map(|pair| pair[0]).collect();
    assert!(twice.is_empty(), "these are there twice: {twice:?}");
}

/// A message id of this many bytes.
fn long(bytes: usize) -> String {
    "i".repeat(bytes)
}

/// Lists in lists, as deep as this.
fn nested(depth: usize) -> Value {
    (1..depth).fold(json!([]), |inside, _| json!([inside]))
}

/// The text of lists in lists that are too deep to be built.
fn nested_text(depth: usize) -> String {
    format!("{}{}", "[".repeat(depth), "]".repeat(depth))
}
