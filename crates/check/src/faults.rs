//! Mutation test of the checks themselves: agents with known faults, which the checks must find.
//!
//! Each fault is a proxy in front of a sound agent that breaks one rule and leaves everything else alone.

use std::{convert::Infallible, sync::Arc};

use http::{Request, Response};
use http_body_util::{BodyExt as _, Full};
use hyper::body::{Bytes, Incoming};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::net::TcpListener;

use crate::{
    Error, FailOn, Options, Progress, Result, Suite, Target,
    finding::{Finding, Level, Report, Status},
    selection::Selection,
};

/// What goes through the proxy.
struct Traffic {
    method: String,
    path: String,
    /// The JSON-RPC method, or nothing.
    rpc: String,
    version: String,
    asked: Value,
    status: u16,
    media: String,
    etag: bool,
    /// A JSON answer.
    answer: Value,
    /// The data of the events of a stream.
    events: Vec<Value>,
}

/// A fault: what is broken, the rule that must be seen to be broken, and how.
struct Fault {
    name: &'static str,
    rule: &'static str,
    /// Changes the request before it is passed on.
    before: fn(&mut Traffic),
    /// Changes the answer.
    after: fn(&mut Traffic),
}

const fn answers(name: &'static str, rule: &'static str, after: fn(&mut Traffic)) -> Fault {
    Fault { name, rule, before: |_| {}, after }
}

const fn asks(name: &'static str, rule: &'static str, before: fn(&mut Traffic)) -> Fault {
    Fault { name, rule, before, after: |_| {} }
}

/// The faults.
const FAULTS: &[Fault] = &[
    answers("the card has no version", "V10-CARD-007", |traffic| drop(members(&mut traffic.answer).map(|card| card.remove("version")))),
    answers("the card has no ETag", "V10-CACHE-003", |traffic| traffic.etag = false),
    answers("a card with snake_case", "V10-JSON-001", |traffic| {
        if traffic.path.ends_with("agent-card.json") {
            traffic.answer["made_up_member"] = json!(true);
        }
    }),
    answers("an unknown task is an invalid parameter", "V10-GET-002", |traffic| {
        if traffic.rpc == "GetTask" && traffic.answer["error"]["code"] == -32001 {
            traffic.answer["error"] = json!({"code": -32602, "message": "no"});
        }
    }),
    answers("errors without details", "V10-RPC-009", |traffic| {
        drop(members(&mut traffic.answer["error"]).map(|error| error.remove("data")))
    }),
    answers("details without @type", "V10-RPC-008", |traffic| {
        for detail in traffic.answer["error"]["data"].as_array_mut().into_iter().flatten() {
            drop(members(detail).map(|detail| detail.remove("@type")));
        }
    }),
    answers("another id in the answer", "V10-RPC-001", |traffic| {
        if traffic.answer["jsonrpc"].is_string() {
            traffic.answer["id"] = json!(99);
        }
    }),
    answers("answers as text/plain", "V10-RPC-002", |traffic| traffic.media = "text/plain".to_owned()),
    answers("neither task nor message", "V10-SEND-001", |traffic| {
        if traffic.rpc == "SendMessage" {
            traffic.answer["result"] = json!({"done": true});
        }
    }),
    answers("the client's context is replaced", "V10-CTX-005", |traffic| {
        if traffic.rpc == "SendMessage" && traffic.answer["result"]["task"].is_object() {
            traffic.answer["result"]["task"]["contextId"] = json!("another");
        }
    }),
    asks("a blocking send does not wait", "V10-MODE-001", |traffic| {
        if traffic.rpc == "SendMessage" {
            traffic.asked["params"]["configuration"]["returnImmediately"] = json!(true);
        }
    }),
    asks("historyLength is ignored", "V10-HIST-001", |traffic| {
        drop(members(&mut traffic.asked["params"]).map(|params| params.remove("historyLength")))
    }),
    answers("lists show artifacts", "V10-LIST-005", |traffic| {
        for task in traffic.answer["result"]["tasks"].as_array_mut().into_iter().flatten() {
            task["artifacts"] = json!([]);
        }
    }),
    answers("no nextPageToken", "V10-LIST-004", |traffic| {
        drop(members(&mut traffic.answer["result"]).map(|page| page.remove("nextPageToken")))
    }),
    answers("the oldest task first", "V10-LIST-003", |traffic| {
        if let Some(tasks) = traffic.answer["result"]["tasks"].as_array_mut() {
            tasks.reverse();
        }
    }),
    asks("page sizes are not checked", "V10-LIST-007", |traffic| {
        if traffic.rpc == "ListTasks" {
            traffic.asked["params"]["pageSize"] = json!(10);
        }
    }),
    answers("a task that has ended is canceled", "V10-CANCEL-002", |traffic| {
        if traffic.rpc == "CancelTask" && traffic.answer["error"].is_object() {
            traffic.answer =
                json!({"jsonrpc": "2.0", "id": traffic.answer["id"], "result": {"id": "t", "status": {"state": "TASK_STATE_CANCELED"}}});
        }
    }),
    asks("every version is taken for 1.0", "V10-VER-007", |traffic| traffic.version = "1.0".to_owned()),
    answers("a stream without the task", "V10-STREAM-003", |traffic| drop((!traffic.events.is_empty()).then(|| traffic.events.remove(0)))),
    answers("a stream without its end", "V10-STREAM-004", |traffic| drop(traffic.events.pop())),
    answers("chunks in the wrong order", "V10-EVT-001", |traffic| {
        let last = traffic.events.len().saturating_sub(1);
        if last > 3 {
            traffic.events[2..last].reverse();
        }
    }),
    answers("events with two members", "V10-DM-015", |traffic| {
        for event in &mut traffic.events {
            event["result"]["message"] = json!({"messageId": "m", "role": "ROLE_AGENT", "parts": [{"text": "x"}]});
        }
    }),
    asks("a webhook is not deleted", "V10-PUSH-008", |traffic| {
        if traffic.rpc == "DeleteTaskPushNotificationConfig" {
            traffic.asked["params"]["id"] = json!("another");
        }
    }),
];

/// The members of an object.
fn members(value: &mut Value) -> Option<&mut serde_json::Map<String, Value>> {
    value.as_object_mut()
}

/// Runs the checks against every fault; one that is not found is a failure. Behind the faults is a sound agent on this machine, at this port.
///
/// # Errors
/// A proxy cannot be opened, or the agent not reached.
pub async fn self_test(port: u16, selection: &Selection, progress: &dyn Fn(Progress<'_>)) -> Result<Report> {
    let begun = std::time::Instant::now();
    let mut findings = Vec::new();
    let faults: Vec<_> = FAULTS.iter().filter(|fault| selection.takes(fault.rule)).collect();
    let total = faults.len();
    for (at, fault) in faults.into_iter().enumerate() {
        progress(Progress::Begun { id: fault.rule, place: "", title: fault.name, number: at + 1, total });
        let started = std::time::Instant::now();
        // The rule must be kept without the fault, or finding it broken says nothing.
        let sound = found(port, fault, false).await?;
        let broken = found(port, fault, true).await?;
        let (status, note) = match (sound, broken) {
            (Status::Passed, Status::Failed) => (Status::Passed, String::new()),
            (Status::Passed, _) => (Status::Failed, format!("{} is not found", fault.name)),
            (other, _) => (Status::Failed, format!("without the fault the check is {other:?}")),
        };
        progress(Progress::Done { id: fault.rule, place: "", status, took: started.elapsed() });
        findings.push(Finding {
            id: fault.rule.to_owned(),
            tck: Vec::new(),
            level: Level::Must,
            clause: String::new(),
            title: fault.name.to_owned(),
            place: String::new(),
            status,
            note,
            evidence: Vec::new(),
        });
    }
    let missed = findings.iter().filter(|finding| finding.status == Status::Failed).count();
    let verdict = match missed {
        0 => ("every fault was found".to_owned(), true),
        missed => (format!("{missed} of {} faults were not found", findings.len()), false),
    };
    Ok(Report {
        subject: "built-in faulty servers".to_owned(),
        interfaces: Vec::new(),
        suite: "self-test".to_owned(),
        findings,
        took: begun.elapsed(),
        verdict,
        ..Report::default()
    })
}

/// What the check of a fault says about the agent behind the proxy, with or without the fault.
async fn found(behind: u16, fault: &'static Fault, broken: bool) -> Result<Status> {
    let listener = TcpListener::bind("127.0.0.1:0").await.map_err(Error::Port)?;
    let port = listener.local_addr().map_err(Error::Port)?.port();
    let http =
        chancery_net::Client::trusted(&chancery_net::Options::new().direct().no_timeout()).map_err(|error| Error::Http(error.into()))?;
    let proxy = Arc::new(Proxy { http, behind, own: port, fault: broken.then_some(fault) });
    let serving = tokio::spawn(serve(listener, proxy));
    let card = format!("http://127.0.0.1:{port}/.well-known/agent-card.json");
    let options = Options {
        suite: Suite::Core,
        level: Level::May,
        selection: Selection { only: vec![fault.rule.to_owned()], skip: Vec::new() },
        versions: vec!["1.0".to_owned()],
        fail_on: FailOn::Never,
        ..Options::default()
    };
    let report = async {
        let target = Target::read(chancery_client::Client::builder(), &card).await?.bindings([chancery_core::Binding::JsonRpc]);
        crate::run(&target, &options, &|_| {}).await
    };
    let report = report.await;
    serving.abort();
    Ok(report?.findings.iter().find(|finding| finding.id == fault.rule).map_or(Status::NotTested, |finding| finding.status))
}

/// A proxy that breaks one rule.
struct Proxy {
    http: reqwest::Client,
    behind: u16,
    own: u16,
    fault: Option<&'static Fault>,
}

async fn serve(listener: TcpListener, proxy: Arc<Proxy>) {
    while let Ok((stream, _)) = listener.accept().await {
        let proxy = proxy.clone();
        tokio::spawn(async move {
            let service = hyper::service::service_fn(move |request| {
                let proxy = proxy.clone();
                async move { Ok::<_, Infallible>(proxy.pass(request).await.unwrap_or_else(|error| bad_gateway(&error))) }
            });
            // A client that goes away is none of the proxy's business.
            drop(hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(stream), service).await);
        });
    }
}

fn bad_gateway(error: &str) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(Bytes::from(error.to_owned())));
    *response.status_mut() = http::StatusCode::BAD_GATEWAY;
    response
}

impl Proxy {
    /// Passes a request on, and its answer back.
    async fn pass(&self, request: Request<Incoming>) -> Result<Response<Full<Bytes>>, String> {
        let (head, body) = request.into_parts();
        let body = body.collect().await.map_err(|error| error.to_string())?.to_bytes();
        let asked: Value = serde_json::from_slice(&body).unwrap_or_default();
        let header = |name: &str| head.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default().to_owned();
        let mut traffic = Traffic {
            method: head.method.to_string(),
            path: head.uri.path_and_query().map_or_else(String::new, ToString::to_string),
            rpc: asked["method"].as_str().unwrap_or_default().to_owned(),
            version: header("a2a-version"),
            asked,
            status: 0,
            media: String::new(),
            etag: true,
            answer: Value::Null,
            events: Vec::new(),
        };
        let is_json = traffic.asked.is_object();
        if let Some(fault) = self.fault {
            (fault.before)(&mut traffic);
        }
        let method = http::Method::try_from(traffic.method.as_str()).map_err(|error| error.to_string())?;
        let mut passed = self.http.request(method, format!("http://127.0.0.1:{}{}", self.behind, traffic.path));
        for name in ["content-type", "accept", "a2a-extensions", "if-none-match"] {
            let value = header(name);
            if !value.is_empty() {
                passed = passed.header(name, value);
            }
        }
        if !traffic.version.is_empty() {
            passed = passed.header("a2a-version", &traffic.version);
        }
        let body = if is_json { Bytes::from(traffic.asked.to_string()) } else { body };
        let answer = passed.body(body).send().await.map_err(|error| error.to_string())?;
        traffic.status = answer.status().as_u16();
        let held = |name: &str| answer.headers().get(name).cloned();
        let (etag, cache) = (held("etag"), held("cache-control"));
        traffic.media = held("content-type").and_then(|value| value.to_str().map(str::to_owned).ok()).unwrap_or_default();
        let text = answer.text().await.map_err(|error| error.to_string())?;
        let text = text.replace(&format!("127.0.0.1:{}", self.behind), &format!("127.0.0.1:{}", self.own));
        let is_stream = traffic.media.starts_with("text/event-stream");
        if is_stream {
            traffic.events =
                text.lines().filter_map(|line| line.strip_prefix("data:")).filter_map(|data| serde_json::from_str(data).ok()).collect();
        } else {
            traffic.answer = serde_json::from_str(&text).unwrap_or_default();
        }
        if let Some(fault) = self.fault {
            (fault.after)(&mut traffic);
        }
        let body = match (is_stream, traffic.answer.is_null()) {
            (true, _) => traffic.events.iter().map(|event| format!("data: {event}\n\n")).collect(),
            (false, true) => text,
            (false, false) => traffic.answer.to_string(),
        };
        let mut response = Response::builder().status(traffic.status).header("content-type", &traffic.media);
        if let Some(etag) = etag.filter(|_| traffic.etag) {
            response = response.header("etag", etag);
        }
        if let Some(cache) = cache {
            response = response.header("cache-control", cache);
        }
        response.body(Full::new(Bytes::from(body))).map_err(|error| error.to_string())
    }
}
