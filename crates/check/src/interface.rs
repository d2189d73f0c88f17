//! A raw protocol client of one interface: nothing is put right on the way.

use std::time::{Duration, Instant};

use chancery_client::Client;
use chancery_core::{Binding, Caller, ErrorKind, EventStream, Operation, Operations as _, Request, SendReply, Version};
use chancery_wire::{Dialect, errors, headers};
use http::{HeaderMap, Method};
use serde_json::{Value, json};
use tokio::sync::OnceCell;

use crate::{agent::Miss, checks::is_terminal, error::with_cause};

/// Bytes of an answer.
const LIMIT: usize = 16 * 1_024 * 1_024;

/// An interface.
pub(crate) struct Interface {
    pub(crate) binding: Binding,
    pub(crate) url: String,
    pub(crate) tenant: String,
    /// What the card demands of every request.
    pub(crate) extensions: Vec<String>,
    pub(crate) http: reqwest::Client,
    /// Headers with credentials and parameters of the user.
    pub(crate) headers: HeaderMap,
    /// For gRPC.
    pub(crate) client: Client,
    /// How long an answer or an event may take.
    pub(crate) patience: Duration,
    /// A task that has ended, made once.
    pub(crate) done: OnceCell<Result<Value, Miss>>,
}

/// What an agent answered.
#[derive(Debug, Clone)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) media: String,
    pub(crate) headers: HeaderMap,
    /// The whole body.
    pub(crate) body: Value,
    /// The result, or the error.
    pub(crate) outcome: Result<Value, Fault>,
}

/// An error that an agent answered.
#[derive(Debug, Clone)]
pub(crate) struct Fault {
    /// The number of the binding: JSON-RPC, HTTP or gRPC.
    pub(crate) code: i64,
    /// What it means, as far as that is told.
    pub(crate) kind: Option<ErrorKind>,
    pub(crate) message: String,
    pub(crate) details: Vec<Value>,
}

impl Fault {
    /// Whether it is the error of that kind, as the binding writes it.
    pub(crate) fn is(&self, kind: ErrorKind, binding: Binding) -> bool {
        let version = Version::V1_0;
        let code = match binding {
            Binding::JsonRpc => i64::from(errors::rpc_code(kind, version)),
            Binding::HttpJson => i64::from(errors::http_status(kind, version)),
            _ => i64::from(errors::grpc_code(kind, version).number()),
        };
        // Errors that are not A2A's own have no reason that the specification knows.
        let plain = matches!(kind, ErrorKind::InvalidParams | ErrorKind::InvalidRequest | ErrorKind::Parse | ErrorKind::MethodNotFound);
        self.code == code && (plain || self.kind.is_none_or(|own| own == kind))
    }

    /// The error in a few words.
    pub(crate) fn words(&self) -> String {
        let reason = self.kind.map(|kind| format!(" {}", kind.reason())).unwrap_or_default();
        format!("{}{reason} ({})", self.code, self.message)
    }

    /// A detail of that type.
    pub(crate) fn detail(&self, name: &str) -> Option<&Value> {
        self.details.iter().find(|detail| detail["@type"].as_str().is_some_and(|kind| kind.ends_with(name)))
    }
}

impl Answer {
    /// The result, which must be one.
    pub(crate) fn result(self, what: &str) -> Result<Value, Miss> {
        self.outcome.map_err(|fault| Miss::Fail(format!("{what} is refused: {}", fault.words())))
    }

    /// The error, which must be one.
    pub(crate) fn fault(self, what: &str) -> Result<Fault, Miss> {
        match self.outcome {
            Ok(_) => Err(Miss::Fail(format!("{what} is accepted"))),
            Err(fault) => Ok(fault),
        }
    }
}

/// What is different about a request (mutation testing).
#[derive(Debug, Clone, Default)]
pub(crate) struct Mutation<'a> {
    /// The version; empty for none.
    pub(crate) version: Option<&'a str>,
    pub(crate) extensions: Option<&'a str>,
    pub(crate) media: Option<&'a str>,
    pub(crate) id: Option<Value>,
    /// Appended to the URL.
    pub(crate) query: &'a str,
}

/// The name of an operation in JSON-RPC and gRPC.
pub(crate) fn name(operation: Operation) -> &'static str {
    match operation {
        Operation::SendMessage => "SendMessage",
        Operation::StreamMessage => "SendStreamingMessage",
        Operation::GetTask => "GetTask",
        Operation::ListTasks => "ListTasks",
        Operation::CancelTask => "CancelTask",
        Operation::Subscribe => "SubscribeToTask",
        Operation::CreatePushConfig => "CreateTaskPushNotificationConfig",
        Operation::GetPushConfig => "GetTaskPushNotificationConfig",
        Operation::ListPushConfigs => "ListTaskPushNotificationConfigs",
        Operation::DeletePushConfig => "DeleteTaskPushNotificationConfig",
        _ => "GetExtendedAgentCard",
    }
}

/// The verb and the path of an operation, with the members of the request that the path holds.
fn path(operation: Operation, params: &Value) -> (Method, String, &'static [&'static str]) {
    let part = |name: &str| escaped(params[name].as_str().unwrap_or_default());
    let task = || format!("/tasks/{}", part("id"));
    let configs = || format!("/tasks/{}/pushNotificationConfigs", part("taskId"));
    match operation {
        Operation::SendMessage => (Method::POST, "/message:send".to_owned(), &[]),
        Operation::StreamMessage => (Method::POST, "/message:stream".to_owned(), &[]),
        Operation::GetTask => (Method::GET, task(), &["id"]),
        Operation::ListTasks => (Method::GET, "/tasks".to_owned(), &[]),
        Operation::CancelTask => (Method::POST, format!("{}:cancel", task()), &["id"]),
        Operation::Subscribe => (Method::GET, format!("{}:subscribe", task()), &["id"]),
        Operation::CreatePushConfig => (Method::POST, configs(), &["taskId"]),
        Operation::GetPushConfig => (Method::GET, format!("{}/{}", configs(), part("id")), &["taskId", "id"]),
        Operation::ListPushConfigs => (Method::GET, configs(), &["taskId"]),
        Operation::DeletePushConfig => (Method::DELETE, format!("{}/{}", configs(), part("id")), &["taskId", "id"]),
        _ => (Method::GET, "/extendedAgentCard".to_owned(), &[]),
    }
}

/// Text as it stands in a URL.
pub(crate) fn escaped(text: &str) -> String {
    url::form_urlencoded::byte_serialize(text.as_bytes()).collect::<String>().replace('+', "%20")
}

impl Interface {
    /// Makes a call.
    pub(crate) async fn call(&self, operation: Operation, params: Value) -> Result<Answer, Miss> {
        self.call_with(operation, params, &Mutation::default()).await
    }

    /// Makes a call with something different about it.
    pub(crate) async fn call_with(&self, operation: Operation, params: Value, mutation: &Mutation<'_>) -> Result<Answer, Miss> {
        match self.binding {
            Binding::Grpc => self.grpc(operation, params, mutation).await,
            _ => self.answer(self.request(operation, params, mutation)?).await,
        }
    }

    /// Opens a stream; an answer that is none is given back as it is.
    pub(crate) async fn open(&self, operation: Operation, params: Value) -> Result<Result<Events, Answer>, Miss> {
        if self.binding == Binding::Grpc {
            return self.grpc_stream(operation, params).await;
        }
        let request = self.request(operation, params, &Mutation::default())?.header("accept", "text/event-stream");
        let response = sent(request, self.patience).await?;
        let media = media(response.headers());
        if !media.starts_with("text/event-stream") {
            return Ok(Err(self.read(response).await?));
        }
        let status = response.status().as_u16();
        Ok(Ok(self.events(status, media, Inner::Http { response, buffer: Vec::new() })))
    }

    fn events(&self, status: u16, media: String, inner: Inner) -> Events {
        Events { status, media, rpc: self.binding == Binding::JsonRpc, patience: self.patience, over: false, inner }
    }

    /// A request that is well-formed but for the mutation.
    fn request(&self, operation: Operation, mut params: Value, mutation: &Mutation<'_>) -> Result<reqwest::RequestBuilder, Miss> {
        if self.binding == Binding::JsonRpc {
            if !self.tenant.is_empty() && params["tenant"].is_null() {
                params["tenant"] = json!(self.tenant);
            }
            let id = mutation.id.clone().unwrap_or(json!(1));
            let body = json!({"jsonrpc": "2.0", "id": id, "method": name(operation), "params": params});
            return Ok(self.raw(Method::POST, "", "application/json", Some(body.to_string()), mutation));
        }
        let (method, mut target, held) = path(operation, &params);
        if let Some(members) = params.as_object_mut() {
            held.iter().for_each(|name| drop(members.remove(*name)));
        }
        if method == Method::POST {
            return Ok(self.raw(method, &target, "application/a2a+json", Some(params.to_string()), mutation));
        }
        let plain = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        let query: Vec<_> =
            params.as_object().into_iter().flatten().map(|(name, value)| format!("{name}={}", escaped(&plain(value)))).collect();
        if !query.is_empty() {
            target = format!("{target}?{}", query.join("&"));
        }
        Ok(self.raw(method, &target, "", None, mutation))
    }

    /// A request of any shape.
    pub(crate) fn raw(
        &self,
        method: Method,
        target: &str,
        media: &str,
        body: Option<String>,
        mutation: &Mutation<'_>,
    ) -> reqwest::RequestBuilder {
        let tenant = match (self.binding, self.tenant.as_str()) {
            (Binding::HttpJson, tenant) if !tenant.is_empty() && !target.is_empty() => format!("/{}", escaped(tenant)),
            _ => String::new(),
        };
        let base = if target.is_empty() { self.url.as_str() } else { self.url.trim_end_matches('/') };
        let mut request = self.http.request(method, format!("{base}{tenant}{target}{}", mutation.query)).headers(self.headers.clone());
        match mutation.version {
            Some("") => {}
            version => request = request.header(headers::VERSION, version.unwrap_or("1.0")),
        }
        let extensions = mutation.extensions.map_or_else(|| self.extensions.join(","), str::to_owned);
        if !extensions.is_empty() {
            request = request.header("a2a-extensions", extensions);
        }
        let media = mutation.media.unwrap_or(media);
        if !media.is_empty() {
            request = request.header("content-type", media);
        }
        match body {
            Some(body) => request.body(body),
            None => request,
        }
    }

    /// Sends a request and reads its answer.
    pub(crate) async fn answer(&self, request: reqwest::RequestBuilder) -> Result<Answer, Miss> {
        self.read(sent(request, self.patience).await?).await
    }

    async fn read(&self, mut response: reqwest::Response) -> Result<Answer, Miss> {
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        let mut bytes = Vec::new();
        let (begun, most) = (Instant::now(), self.patience.saturating_mul(2));
        loop {
            match tokio::time::timeout(self.patience, response.chunk()).await {
                Ok(Ok(Some(chunk))) => bytes.extend_from_slice(&chunk),
                Ok(Ok(None)) => break,
                Ok(Err(error)) => return Err(Miss::Fail(format!("the answer breaks off: {error}"))),
                Err(_) => return Err(Miss::Late(format!("the rest of the answer does not come within {}", words(self.patience)))),
            }
            if bytes.len() > LIMIT {
                return Err(Miss::Fail(format!("the answer has more than {LIMIT} bytes")));
            }
            if begun.elapsed() >= most {
                return Err(Miss::Late(format!("the answer has not ended after {}", words(most))));
            }
        }
        let body: Value = serde_json::from_slice(&bytes).unwrap_or(Value::Null);
        let outcome = match self.binding {
            Binding::JsonRpc => rpc_outcome(status, &body),
            _ => rest_outcome(status, &body),
        };
        Ok(Answer { status, media: media(&headers), headers, body, outcome })
    }

    /// A call over gRPC, where the library makes the messages.
    async fn grpc(&self, operation: Operation, params: Value, mutation: &Mutation<'_>) -> Result<Answer, Miss> {
        if mutation.media.is_some() || mutation.id.is_some() || !mutation.query.is_empty() || mutation.version.is_some() {
            return Err(Miss::NotTested("gRPC has no such thing".to_owned()));
        }
        let request = self.decoded(operation, &params)?;
        let (caller, client) = (self.caller(mutation).deadline(Instant::now() + self.patience), &self.client);
        let value = |result: chancery_core::Result<Value>| answered(result);
        fn show<T: serde::Serialize>(reply: T) -> Value {
            serde_json::to_value(reply).unwrap_or_default()
        }
        match request {
            Request::SendMessage(send) => value(client.send_message(&caller, *send).await.map(|reply| match reply {
                SendReply::Task(task) => json!({"task": show(task)}),
                SendReply::Message(message) => json!({"message": show(message)}),
            })),
            Request::GetTask(get) => value(client.get_task(&caller, get).await.map(show)),
            Request::ListTasks(list) => value(client.list_tasks(&caller, list).await.map(show)),
            Request::CancelTask(cancel) => value(client.cancel_task(&caller, cancel).await.map(show)),
            Request::CreatePushConfig(config) => value(client.create_push_config(&caller, *config).await.map(show)),
            Request::GetPushConfig(get) => value(client.get_push_config(&caller, get).await.map(show)),
            Request::ListPushConfigs(list) => value(client.list_push_configs(&caller, list).await.map(show)),
            Request::DeletePushConfig(delete) => value(client.delete_push_config(&caller, delete).await.map(|()| json!({}))),
            Request::GetExtendedCard(get) => value(client.get_extended_card(&caller, get).await.map(show)),
            _ => Err(Miss::NotTested("a stream is opened otherwise".to_owned())),
        }
    }

    async fn grpc_stream(&self, operation: Operation, params: Value) -> Result<Result<Events, Answer>, Miss> {
        // A stream may last: it is each event of it that has to come in time.
        let (caller, client) = (self.caller(&Mutation::default()), &self.client);
        let opening = match self.decoded(operation, &params)? {
            Request::StreamMessage(send) => client.stream_message(&caller, *send),
            Request::Subscribe(subscribe) => client.subscribe(&caller, subscribe),
            _ => return Err(Miss::NotTested("this is no stream".to_owned())),
        };
        match tokio::time::timeout(self.patience, opening).await.map_err(|_| Miss::Late(no_answer(self.patience)))? {
            Ok(stream) => Ok(Ok(self.events(200, "application/grpc".to_owned(), Inner::Grpc(stream)))),
            Err(error) => answered(Err(error)).map(Err),
        }
    }

    fn caller(&self, mutation: &Mutation<'_>) -> Caller {
        let extensions: Vec<_> = match mutation.extensions {
            Some(list) => list.split(',').filter(|uri| !uri.is_empty()).map(str::to_owned).collect(),
            None => self.extensions.clone(),
        };
        let caller = Caller::anonymous().tenant(self.tenant.clone());
        extensions.into_iter().fold(caller, Caller::extension)
    }

    fn decoded(&self, operation: Operation, params: &Value) -> Result<Request, Miss> {
        let dialect = Dialect::of(Version::V1_0, Binding::JsonRpc).ok_or_else(|| Miss::NotTested("no dialect".to_owned()))?;
        let request = dialect.decode_request(operation, params.to_string().as_bytes());
        request.map_err(|error| Miss::NotTested(format!("gRPC cannot carry such a request: {error}")))
    }
}

/// What the library makes of an answer over gRPC.
fn answered(result: chancery_core::Result<Value>) -> Result<Answer, Miss> {
    let answer =
        |outcome| Answer { status: 200, media: "application/grpc".to_owned(), headers: HeaderMap::new(), body: Value::Null, outcome };
    match result {
        Ok(value) => Ok(answer(Ok(value))),
        Err(error) => {
            let kind = error.kind();
            match kind {
                ErrorKind::Timeout => return Err(Miss::Late(format!("no answer: {error}"))),
                ErrorKind::Unavailable => return Err(Miss::Fail(format!("no answer: {error}"))),
                _ => {}
            }
            let code = i64::from(errors::grpc_code(kind, Version::V1_0).number());
            Ok(answer(Err(Fault { code, kind: Some(kind), message: error.to_string(), details: Vec::new() })))
        }
    }
}

/// What an interface says in JSON-RPC.
fn rpc_outcome(status: u16, body: &Value) -> Result<Value, Fault> {
    let error = &body["error"];
    if error.is_object() {
        let code = error["code"].as_i64().unwrap_or_default();
        let details = error["data"].as_array().cloned().unwrap_or_default();
        let known = i32::try_from(code).ok().map(|code| errors::kind_of_rpc_code(code, Version::V1_0));
        let known = known.filter(|kind| i64::from(errors::rpc_code(*kind, Version::V1_0)) == code);
        return Err(Fault { code, kind: reason(&details).or(known), message: said(error), details });
    }
    match body.get("result") {
        Some(result) => Ok(result.clone()),
        None => Err(Fault { code: i64::from(status), kind: None, message: "neither result nor error".to_owned(), details: Vec::new() }),
    }
}

/// What an interface says in HTTP+JSON.
fn rest_outcome(status: u16, body: &Value) -> Result<Value, Fault> {
    if (200..300).contains(&status) && !body["error"].is_object() {
        return Ok(body.clone());
    }
    let error = &body["error"];
    let details = error["details"].as_array().cloned().unwrap_or_default();
    Err(Fault { code: i64::from(status), kind: reason(&details), message: said(error), details })
}

fn said(error: &Value) -> String {
    error["message"].as_str().unwrap_or("no message").to_owned()
}

fn reason(details: &[Value]) -> Option<ErrorKind> {
    details.iter().find_map(|detail| detail["reason"].as_str()).and_then(ErrorKind::from_reason)
}

/// Sends a request, and waits for the head of its answer.
pub(crate) async fn sent(request: reqwest::RequestBuilder, patience: Duration) -> Result<reqwest::Response, Miss> {
    match tokio::time::timeout(patience, request.send()).await {
        Ok(Ok(response)) => Ok(response),
        Ok(Err(error)) if error.is_timeout() => Err(Miss::Late(format!("no answer: {}", with_cause(&error)))),
        Ok(Err(error)) => Err(Miss::Fail(format!("no answer: {}", with_cause(&error)))),
        Err(_) => Err(Miss::Late(no_answer(patience))),
    }
}

/// What is said of an answer that does not come.
pub(crate) fn no_answer(patience: Duration) -> String {
    format!("no answer within {}", words(patience))
}

/// A time in words.
pub(crate) fn words(time: Duration) -> String {
    if time.subsec_millis() == 0 { format!("{} s", time.as_secs()) } else { format!("{} ms", time.as_millis()) }
}

fn media(headers: &HeaderMap) -> String {
    headers.get("content-type").and_then(|value| value.to_str().ok()).unwrap_or_default().to_ascii_lowercase()
}

/// A stream of events.
pub(crate) struct Events {
    pub(crate) status: u16,
    pub(crate) media: String,
    rpc: bool,
    patience: Duration,
    /// Whether an event has told the end of the task, after which the stream has to end.
    over: bool,
    inner: Inner,
}

enum Inner {
    Http { response: reqwest::Response, buffer: Vec<u8> },
    Grpc(EventStream),
}

impl Events {
    /// The next event with its envelope; `None` at the end.
    pub(crate) async fn raw(&mut self) -> Result<Option<Value>, Miss> {
        let next = async {
            match &mut self.inner {
                Inner::Http { response, buffer } => frame(response, buffer).await,
                Inner::Grpc(stream) => match std::future::poll_fn(|cx| stream.as_mut().poll_next(cx)).await {
                    Some(Ok((_, event))) => serde_json::to_value(&*event).map(Some).map_err(|error| Miss::Fail(error.to_string())),
                    Some(Err(error)) if error.kind() == ErrorKind::Timeout => Err(Miss::Late(format!("the stream breaks off: {error}"))),
                    Some(Err(error)) => Err(Miss::Fail(format!("the stream breaks off: {error}"))),
                    None => Ok(None),
                },
            }
        };
        match (tokio::time::timeout(self.patience, next).await, self.over) {
            (Ok(next), _) => next,
            (Err(_), true) => Err(Miss::Fail(format!("the task has ended, and the stream does not within {}", words(self.patience)))),
            (Err(_), false) => Err(Miss::Late(format!("the stream neither goes on nor ends within {}", words(self.patience)))),
        }
    }

    /// The next event.
    pub(crate) async fn next(&mut self) -> Result<Option<Value>, Miss> {
        let Some(raw) = self.raw().await? else { return Ok(None) };
        if raw["error"].is_object() {
            return Err(Miss::Fail(format!("the stream ends with an error: {}", said(&raw["error"]))));
        }
        let event = if self.rpc { raw["result"].clone() } else { raw };
        self.over |= ends_the_task(&event);
        Ok(Some(event))
    }

    /// All events to the end.
    pub(crate) async fn all(&mut self) -> Result<Vec<Value>, Miss> {
        let mut events = Vec::new();
        while let Some(event) = self.next().await? {
            events.push(event);
            if events.len() > 10_000 {
                return Err(Miss::Fail("the stream does not end".to_owned()));
            }
        }
        Ok(events)
    }
}

/// Whether nothing can come after an event.
fn ends_the_task(event: &Value) -> bool {
    let state = event["statusUpdate"]["status"]["state"].as_str().or_else(|| event["task"]["status"]["state"].as_str());
    event["message"].is_object() || state.is_some_and(is_terminal)
}

/// The data of the next frame of server-sent events.
async fn frame(response: &mut reqwest::Response, buffer: &mut Vec<u8>) -> Result<Option<Value>, Miss> {
    loop {
        while let Some(end) = buffer.windows(2).position(|pair| pair == b"\n\n") {
            let frame: Vec<u8> = buffer.drain(..end + 2).collect();
            let text = String::from_utf8(frame).map_err(|_| Miss::Fail("an event is no UTF-8".to_owned()))?;
            let lines = text.lines().filter_map(|line| line.strip_prefix("data:"));
            let data = lines.map(|line| line.strip_prefix(' ').unwrap_or(line)).collect::<Vec<_>>().join("\n");
            if !data.is_empty() {
                return serde_json::from_str(&data)
                    .map(Some)
                    .map_err(|error| Miss::Fail(format!("the data of an event is no JSON: {error}")));
            }
        }
        match response.chunk().await {
            // A carriage return has no place in the JSON of an event but before the end of a line.
            Ok(Some(chunk)) => buffer.extend(chunk.iter().copied().filter(|byte| *byte != b'\r')),
            Ok(None) => return Ok(None),
            Err(error) => return Err(Miss::Fail(format!("the stream breaks off: {error}"))),
        }
        if buffer.len() > LIMIT {
            return Err(Miss::Fail("an event does not end".to_owned()));
        }
    }
}
