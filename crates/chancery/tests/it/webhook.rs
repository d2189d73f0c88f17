//! Notifications as a receiver sees them, through real sockets and a real engine.

use std::{
    collections::{HashSet, VecDeque},
    convert::Infallible,
    net::{IpAddr, SocketAddr},
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use aws_lc_rs::signature::{ED25519, UnparsedPublicKey};
use base64::{
    Engine as _,
    prelude::{BASE64_STANDARD, BASE64_URL_SAFE_NO_PAD},
};
use bytes::Bytes;
use chancery::{
    Server,
    webhook::{Key, KeyError, Webhooks},
};
use chancery_core::{
    Artifact, Binding, BoxError, Caller, Card, ListPushConfigs, Operations, Origin, PushConfig, SendMessage, SendReply, Task, Version,
};
use chancery_engine::{
    Engine, Failure, Outcome, Turn,
    clock::ManualClock,
    push::{Notification, Schedule, Sender, Sent},
    store::{Memory, Sqlite, Store},
};
use chancery_net::{Client, Guard, Options, Reach, Resolver};
use http::{HeaderMap, Response};
use http_body_util::{BodyExt, Full};
use hyper::{server::conn::http1, service::service_fn};
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpListener,
    task::{AbortHandle, JoinSet},
};

/// A request as it arrived.
#[derive(Debug, Clone)]
pub(crate) struct Received {
    pub(crate) method: http::Method,
    pub(crate) path: String,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

impl Received {
    fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap()
    }

    fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap())
    }

    /// The place of the event in its task's log, which the id tells.
    fn place(&self) -> u64 {
        self.header("webhook-id").rsplit('.').nth(1).unwrap().parse().unwrap()
    }
}

/// Answers a request by its number, counted from 0, or never.
type Script = dyn Fn(usize, &Received) -> Option<Response<Full<Bytes>>> + Send + Sync;

/// An HTTP server that notes what comes; it ends, with its connections, when it is dropped.
pub(crate) struct Receiver {
    pub(crate) address: SocketAddr,
    seen: Arc<Mutex<Vec<Received>>>,
    accepting: AbortHandle,
}

impl Receiver {
    pub(crate) async fn start(script: impl Fn(usize, &Received) -> Option<Response<Full<Bytes>>> + Send + Sync + 'static) -> Self {
        Self::at("127.0.0.1:0".parse().unwrap(), script).await
    }

    async fn at(address: SocketAddr, script: impl Fn(usize, &Received) -> Option<Response<Full<Bytes>>> + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind(address).await.unwrap();
        let (address, seen) = (listener.local_addr().unwrap(), Arc::<Mutex<Vec<Received>>>::default());
        let accepting = tokio::spawn(accept(listener, seen.clone(), Arc::new(script))).abort_handle();
        Self { address, seen, accepting }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}/hook", self.address)
    }

    pub(crate) fn seen(&self) -> Vec<Received> {
        self.seen.lock().unwrap().clone()
    }
}

impl Drop for Receiver {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

async fn accept(listener: TcpListener, seen: Arc<Mutex<Vec<Received>>>, script: Arc<Script>) {
    let mut connections = JoinSet::new();
    loop {
        let (stream, _) = listener.accept().await.unwrap();
        let (seen, script) = (seen.clone(), script.clone());
        connections.spawn(async move {
            let service = service_fn(move |request| serve(request, seen.clone(), script.clone()));
            // A client that goes away is no failure of the test.
            drop(http1::Builder::new().serve_connection(TokioIo::new(stream), service).await);
        });
    }
}

async fn serve(
    request: http::Request<hyper::body::Incoming>,
    seen: Arc<Mutex<Vec<Received>>>,
    script: Arc<Script>,
) -> Result<Response<Full<Bytes>>, Infallible> {
    let (parts, body) = request.into_parts();
    let body = body.collect().await.unwrap().to_bytes();
    let received = Received { method: parts.method, path: parts.uri.to_string(), headers: parts.headers, body };
    let answer = {
        let mut seen = seen.lock().unwrap();
        seen.push(received.clone());
        script(seen.len() - 1, &received)
    };
    match answer {
        Some(answer) => Ok(answer),
        None => std::future::pending().await,
    }
}

pub(crate) fn answer(status: u16, headers: &[(&str, &str)]) -> Response<Full<Bytes>> {
    let mut response = Response::builder().status(status);
    for (name, value) in headers {
        response = response.header(*name, *value);
    }
    response.body(Full::new(Bytes::from_static(b"{}"))).unwrap()
}

async fn accepting() -> Receiver {
    Receiver::start(|_, _| Some(answer(200, &[]))).await
}

/// A folder of a test, gone when the test is.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let name = format!("webhook-{}-{}", std::process::id(), NUMBER.fetch_add(1, Ordering::Relaxed));
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // A folder that stays is no reason to fail.
        drop(std::fs::remove_dir_all(&self.0));
    }
}

/// Says that it works, and makes one artifact: four events with the task itself.
async fn worker(turn: Turn) -> Result<Outcome, Failure> {
    turn.status("Working on it").await?;
    Ok(Outcome::complete_with(Artifact::new(turn.text()).id("result").named("result")))
}

/// The sender under test, with a note of how each attempt went.
#[derive(Clone)]
struct Noted {
    webhooks: Webhooks,
    outcomes: Arc<Mutex<Vec<String>>>,
}

#[async_trait]
impl Sender for Noted {
    async fn send(&self, notification: &Notification) -> Sent {
        let sent = self.webhooks.send(notification).await;
        self.outcomes.lock().unwrap().push(match &sent {
            Sent::Accepted => "accepted".to_owned(),
            Sent::Gone => "gone".to_owned(),
            Sent::Failed { error, .. } => error.to_string(),
            other => format!("{other:?}"),
        });
        sent
    }
}

/// An engine with webhooks, and nothing that happens by itself.
struct Bench {
    engine: Engine,
    clock: ManualClock,
    key: Key,
    outcomes: Arc<Mutex<Vec<String>>>,
}

const NOW: i64 = 1_772_442_907;

impl Bench {
    fn new(guard: Guard) -> Self {
        Self::with(guard, Options::new(), Arc::new(Memory::new()), Schedule::default())
    }

    fn with(guard: Guard, options: Options, store: Arc<dyn Store>, schedule: Schedule) -> Self {
        let (clock, key, outcomes) = (ManualClock::new(NOW * 1_000 + 500), Key::ephemeral().unwrap(), Arc::default());
        let webhooks = Webhooks::new(Client::new(Reach::Guarded(guard), &options).unwrap(), key.clone()).clock(clock.clone());
        let noted = Noted { webhooks, outcomes: Arc::clone(&outcomes) };
        let card = Card::new("Worker", "Works").skill("work", "Works").push_notifications(true);
        let engine = Engine::new(card, worker).shared_store(store).clock(clock.clone()).sender(noted).schedule(schedule).by_hand().start();
        Self { engine, clock, key, outcomes }
    }

    /// Runs a task with this webhook to its end; nothing is sent yet.
    async fn run(&self, mut config: PushConfig) -> Task {
        if config.id.is_empty() {
            config.id = "hook".into();
        }
        let mut request = SendMessage::new("a chart");
        request.configuration.push_config = Some(Box::new(config));
        match self.engine.send_message(&Caller::anonymous(), request).await.unwrap() {
            SendReply::Task(task) => *task,
            SendReply::Message(message) => panic!("a message: {}", message.text()),
        }
    }

    /// Sends until nothing is due at this moment.
    async fn settle(&self) {
        while self.engine.deliver_due().await.unwrap() > 0 {}
    }

    fn outcomes(&self) -> Vec<String> {
        self.outcomes.lock().unwrap().clone()
    }
}

fn open() -> Guard {
    Guard::new().loopback(true)
}

/// What a receiver does: the steps of `docs/guide/push.md`.
fn verify(received: &Received, jwks: &str) -> bool {
    let keys: Value = serde_json::from_str(jwks).unwrap();
    let x = BASE64_URL_SAFE_NO_PAD.decode(keys["keys"][0]["x"].as_str().unwrap()).unwrap();
    let mut content = format!("{}.{}.", received.header("webhook-id"), received.header("webhook-timestamp")).into_bytes();
    content.extend_from_slice(&received.body);
    let signature = received.header("webhook-signature").strip_prefix("v1a,").unwrap();
    UnparsedPublicKey::new(&ED25519, x).verify(&content, &BASE64_STANDARD.decode(signature).unwrap()).is_ok()
}

/// Guarantee G7: signed, so that the receiver can know who sent it.
#[tokio::test]
async fn every_notification_is_signed_with_the_key_of_the_key_set() {
    let (receiver, bench) = (accepting().await, Bench::new(open()));
    bench.run(PushConfig::new(receiver.url())).await;
    bench.settle().await;
    let seen = receiver.seen();
    assert_eq!(seen.iter().map(Received::place).collect::<Vec<_>>(), [1, 2, 3, 4]);
    let stranger = Key::ephemeral().unwrap().jwks();
    for received in &seen {
        assert!(verify(received, &bench.key.jwks()));
        assert!(!verify(received, &stranger));
        assert_eq!(received.header("webhook-timestamp"), NOW.to_string());
        let mut forged = received.clone();
        forged.body = Bytes::from(String::from_utf8(received.body.to_vec()).unwrap().replace("chart", "chort"));
        assert!(forged.body == received.body || !verify(&forged, &bench.key.jwks()));
        let mut moved = received.clone();
        moved.headers.insert("webhook-timestamp", (NOW + 1).to_string().parse().unwrap());
        assert!(!verify(&moved, &bench.key.jwks()));
    }
    assert!(String::from_utf8_lossy(&seen[2].body).contains("chart"), "no body was forged");
}

/// V10-HOOK-002.
#[tokio::test]
async fn the_token_goes_out_in_both_spellings_and_the_credential_by_its_scheme() {
    for (scheme, credentials, expected) in [
        ("Bearer", "s3cr3t", "Bearer s3cr3t"),
        ("bearer", "s3cr3t", "Bearer s3cr3t"),
        ("Basic", "dXNlcjpwYXNz", "Basic dXNlcjpwYXNz"),
        ("Digest", "abc", "Digest abc"),
    ] {
        let (receiver, bench) = (accepting().await, Bench::new(open()));
        bench.run(PushConfig::new(receiver.url()).token("tok-1").authentication(scheme, credentials)).await;
        bench.engine.deliver_due().await.unwrap();
        let received = &receiver.seen()[0];
        assert_eq!((received.method.as_str(), received.path.as_str()), ("POST", "/hook"));
        assert_eq!((received.header("x-a2a-notification-token"), received.header("a2a-notification-token")), ("tok-1", "tok-1"));
        assert_eq!(received.header("authorization"), expected);
        assert!(received.header("user-agent").starts_with("chancery/"));
    }
    let (receiver, bench) = (accepting().await, Bench::new(open()));
    bench.run(PushConfig::new(receiver.url())).await;
    bench.engine.deliver_due().await.unwrap();
    for name in ["authorization", "x-a2a-notification-token", "a2a-notification-token", "traceparent", "cookie", "referer"] {
        assert!(!receiver.seen()[0].headers.contains_key(name), "{name}");
    }
}

/// The trace of the request that asked for notifications goes on with them, each attempt a span of its own; what is no
/// trace context does not.
#[tokio::test]
async fn notifications_belong_to_the_trace_of_the_request_that_asked_for_them() {
    const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
    let receiver = Receiver::start(|number, _| Some(answer(if number == 0 { 500 } else { 200 }, &[]))).await;
    let card = Card::new("Worker", "Works").skill("work", "Works").push_notifications(true);
    let pause = Schedule::new([Duration::from_millis(1)]);
    let server = Server::new(card, worker).store(Memory::new()).guard(open()).schedule(pause);
    let running = server.bind("127.0.0.1:0").await.unwrap();
    let ask = async |parent: &str| {
        let headers = [("content-type", "application/json"), ("a2a-version", "1.0"), ("traceparent", parent), ("tracestate", "a=1")];
        let body = serde_json::json!({
            "message": {"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "a chart"}]},
            "configuration": {"taskPushNotificationConfig": {"id": "hook", "url": receiver.url()}},
        });
        let seen = receiver.seen().len();
        assert_eq!(crate::auth::send(&running, "POST", "/message:send", &headers, body.to_string()).await.status, 200);
        let deadline = tokio::time::Instant::now() + Duration::from_secs(20);
        // Four events, and in the first round one that is sent twice.
        let expected = if seen == 0 { 5 } else { 4 };
        while receiver.seen().len() < seen + expected {
            assert!(tokio::time::Instant::now() < deadline, "{:?}", receiver.seen());
            tokio::task::yield_now().await;
        }
        receiver.seen().split_off(seen)
    };
    let mut spans = HashSet::from(["00f067aa0ba902b7".to_owned()]);
    for received in ask(&format!("00-{TRACE}-00f067aa0ba902b7-01")).await {
        let fields: Vec<_> = received.header("traceparent").split('-').collect();
        assert_eq!((fields[0], fields[1], fields[3], received.header("tracestate")), ("00", TRACE, "01", "a=1"));
        assert!(spans.insert(fields[2].to_owned()), "{fields:?}");
    }
    for received in ask("not a trace context").await {
        assert!(!received.headers.contains_key("traceparent") && !received.headers.contains_key("tracestate"));
    }
    running.shutdown().await;
}

/// DIA-003-PUSH-003: a config of the compact dialect may name its header.
#[tokio::test]
async fn a_key_goes_into_the_header_that_the_compact_config_names() {
    let (receiver, bench) = (accepting().await, Bench::new(open()));
    let mut config = PushConfig::new(receiver.url()).authentication("api_key", "k-1");
    config.record.origin = Origin::new(Version::Compact, Binding::HttpJson);
    config.record.header_name = "X-Hook-Key".to_owned();
    bench.run(config).await;
    bench.engine.deliver_due().await.unwrap();
    assert_eq!(receiver.seen()[0].header("x-hook-key"), "k-1");
}

/// The bodies that a webhook gets when it is registered in this way.
async fn bodies(version: Version, binding: Binding) -> (Task, Vec<Received>) {
    let (receiver, bench) = (accepting().await, Bench::new(open()));
    let mut config = PushConfig::new(receiver.url()).token("tok-1");
    config.record.origin = Origin::new(version, binding);
    let task = bench.run(config).await;
    bench.settle().await;
    assert!(receiver.seen().iter().all(|received| received.header("x-a2a-notification-token") == "tok-1"));
    assert_eq!(bench.outcomes(), ["accepted"; 4]);
    (task, receiver.seen())
}

/// V10-HOOK-001: a stream response for every event, whatever binding the client used.
#[tokio::test]
async fn v1_0_webhooks_get_each_event() {
    for binding in [Binding::JsonRpc, Binding::HttpJson, Binding::Grpc] {
        let (task, seen) = bodies(Version::V1_0, binding).await;
        let members: Vec<_> = seen.iter().map(|received| received.json().as_object().unwrap().keys().next().unwrap().clone()).collect();
        assert_eq!(members, ["task", "statusUpdate", "artifactUpdate", "statusUpdate"]);
        assert!(seen.iter().all(|received| received.header("content-type") == "application/a2a+json"));
        let last = seen[3].json();
        assert_eq!(last["statusUpdate"]["taskId"], task.id.as_str());
        assert_eq!(last["statusUpdate"]["status"]["state"], "TASK_STATE_COMPLETED");
        assert!(last.get("jsonrpc").is_none());
    }
}

/// V03-PUSH-001, V03-PUSH-002, V03-PUSH-004, V02-PUSH-001, CONV-PUSH-003, CONV-PUSH-004: the whole task, once per change of the status.
#[tokio::test]
async fn v0_3_and_v0_2_webhooks_get_the_task_at_each_change_of_its_status() {
    let ways = [
        (Version::V0_3, Binding::JsonRpc),
        (Version::V0_3, Binding::HttpJson),
        (Version::V0_3, Binding::Grpc),
        (Version::V0_2, Binding::JsonRpc),
    ];
    for (version, binding) in ways {
        let (task, seen) = bodies(version, binding).await;
        let states: Vec<_> = seen.iter().map(|received| received.json()["status"]["state"].clone()).collect();
        assert_eq!(states, ["submitted", "working", "completed"], "{version} over {binding:?}");
        assert_eq!(seen.iter().map(Received::place).collect::<Vec<_>>(), [1, 2, 4]);
        for received in &seen {
            let body = received.json();
            assert_eq!((body["kind"].as_str(), body["id"].as_str()), (Some("task"), Some(task.id.as_str())));
            assert_eq!(received.header("content-type"), "application/json");
        }
        assert_eq!(seen[2].json()["artifacts"][0]["parts"][0]["text"], "a chart");
    }
}

/// V01-PUSH-001, V01-PUSH-002: the whole task in the shape of v0.1, and the token.
#[tokio::test]
async fn v0_1_webhooks_get_the_task_of_their_time() {
    let (task, seen) = bodies(Version::V0_1, Binding::JsonRpc).await;
    assert_eq!(seen.len(), 3);
    let body = seen[2].json();
    assert_eq!((body["id"].as_str(), body["sessionId"].as_str()), (Some(task.id.as_str()), Some(task.context_id.as_str())));
    assert_eq!((body["status"]["state"].as_str(), body.get("kind")), (Some("completed"), None));
    assert_eq!(body["artifacts"][0]["parts"][0]["type"], "text");
    assert_eq!(seen[2].header("content-type"), "application/json");
}

/// DIA-003-PUSH-003: the members of v1.0 with compact objects inside.
#[tokio::test]
async fn compact_webhooks_get_each_event_in_compact_objects() {
    let (task, seen) = bodies(Version::Compact, Binding::HttpJson).await;
    assert_eq!(seen.len(), 4);
    let expected = chancery_wire::Dialect::Compact;
    let first = seen[0].json();
    assert_eq!(first["task"]["taskId"], task.id.as_str());
    assert!(seen.iter().all(|received| received.header("content-type") == "application/json"));
    for received in &seen {
        let mut memory = chancery_wire::StreamMemory::default();
        assert_eq!(expected.decode_event(&received.body, &mut memory).unwrap().len(), 1);
    }
}

/// Guarantee G7: "gone" ends the webhook.
#[tokio::test]
async fn a_receiver_that_is_gone_hears_nothing_more() {
    let receiver = Receiver::start(|_, _| Some(answer(410, &[]))).await;
    let bench = Bench::new(open());
    let task = bench.run(PushConfig::new(receiver.url())).await;
    bench.settle().await;
    assert_eq!((bench.outcomes(), receiver.seen().len()), (vec!["gone".to_owned()], 1));
    let left = bench.engine.list_push_configs(&Caller::anonymous(), ListPushConfigs::new(task.id)).await.unwrap();
    assert!(left.configs.is_empty());
}

/// Guarantee G7: `Retry-After` as seconds and as a date is honored when it is longer than the schedule's pause.
#[tokio::test]
async fn a_receiver_may_ask_for_a_pause() {
    for asked in ["3600", "Mon, 02 Mar 2026 10:15:07 GMT"] {
        let receiver =
            Receiver::start(move |number, _| Some(if number == 0 { answer(503, &[("retry-after", asked)]) } else { answer(204, &[]) }))
                .await;
        let bench = Bench::new(open());
        bench.run(PushConfig::new(receiver.url())).await;
        assert_eq!(bench.engine.deliver_due().await.unwrap(), 1);
        bench.clock.advance(Duration::from_secs(3_590));
        assert_eq!(bench.engine.deliver_due().await.unwrap(), 0, "{asked}");
        bench.clock.advance(Duration::from_secs(10));
        assert_eq!(bench.engine.deliver_due().await.unwrap(), 1, "{asked}");
        assert_eq!(bench.outcomes(), ["the receiver answered 503 Service Unavailable", "accepted"]);
        let seen = receiver.seen();
        assert_eq!(seen[0].header("webhook-id"), seen[1].header("webhook-id"));
        assert_eq!(seen[1].header("webhook-timestamp"), (NOW + 3_600).to_string());
        assert!(verify(&seen[1], &bench.key.jwks()));
    }
}

#[tokio::test]
async fn every_answer_but_2xx_and_410_is_a_failure() {
    for (status, accepted) in
        [(200, true), (202, true), (204, true), (299, true), (400, false), (401, false), (404, false), (429, false), (500, false)]
    {
        let receiver = Receiver::start(move |_, _| Some(answer(status, &[]))).await;
        let bench = Bench::new(open());
        bench.run(PushConfig::new(receiver.url())).await;
        bench.engine.deliver_due().await.unwrap();
        assert_eq!(bench.outcomes() == ["accepted"], accepted, "{status}");
        assert_eq!(receiver.seen().len(), 1);
    }
}

/// Guarantee G12: a redirect leads past the URL that was registered and checked.
#[tokio::test]
async fn a_redirect_is_a_failure_and_is_not_followed() {
    let aim = accepting().await;
    for status in [301, 302, 303, 307, 308] {
        let location = aim.url();
        let receiver = Receiver::start(move |_, _| Some(answer(status, &[("location", &location)]))).await;
        let bench = Bench::new(open());
        bench.run(PushConfig::new(receiver.url()).token("tok-1")).await;
        bench.engine.deliver_due().await.unwrap();
        assert!(bench.outcomes()[0].starts_with(&format!("the receiver answered {status}")), "{:?}", bench.outcomes());
    }
    assert!(aim.seen().is_empty());
}

/// V10-HOOK-004.
#[tokio::test]
async fn a_receiver_that_does_not_answer_in_time_has_failed() {
    let receiver = Receiver::start(|number, _| (number > 0).then(|| answer(200, &[]))).await;
    let options = Options::new().timeout(Duration::from_millis(200));
    let bench = Bench::with(open(), options, Arc::new(Memory::new()), Schedule::default());
    bench.run(PushConfig::new(receiver.url())).await;
    bench.engine.deliver_due().await.unwrap();
    assert_eq!(bench.outcomes(), ["the receiver took too long"]);
    bench.clock.advance(Duration::from_secs(6));
    bench.settle().await;
    assert_eq!(receiver.seen().iter().map(Received::place).collect::<Vec<_>>(), [1, 1, 2, 3, 4]);
}

/// An answer counts when its status is there, however long its body goes on.
#[tokio::test]
async fn an_endless_answer_is_not_read_to_its_end() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let serving = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut request = vec![0; 64 * 1024];
        assert!(stream.read(&mut request).await.unwrap() > 0);
        stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n").await.unwrap();
        let mut written = 0_u64;
        // Ends when the other side has had enough.
        while stream.write_all(&[b'x'; 4_096]).await.is_ok() {
            written += 4_096;
        }
        written
    });
    let bench = Bench::new(open());
    bench.run(PushConfig::new(format!("http://{address}/"))).await;
    bench.engine.deliver_due().await.unwrap();
    assert_eq!(bench.outcomes(), ["accepted"]);
    let written = tokio::time::timeout(Duration::from_secs(10), serving).await.expect("the connection is kept open").unwrap();
    // What the system's buffers take in, not what we read.
    assert!(written < 64 * 1024 * 1024, "{written}");
}

/// Guarantee G12: nothing that a client chose can begin a header of its own.
#[tokio::test]
async fn what_is_no_legal_header_is_not_sent() {
    let receiver = accepting().await;
    let compact = |name: &str| {
        let mut config = PushConfig::new(receiver.url()).authentication("api_key", "k-1");
        config.record.origin = Origin::new(Version::Compact, Binding::HttpJson);
        config.record.header_name = name.to_owned();
        config
    };
    let plain = || PushConfig::new(receiver.url());
    let mut configs = vec![
        plain().token("a\r\nx-evil: 1"),
        plain().token("a\nb"),
        plain().token("a\rb"),
        plain().token("a\0b"),
        plain().authentication("Bearer", "a\r\nx-evil: 1"),
        plain().authentication("Bearer\r\nx-evil: 1", "a"),
        plain().authentication("Ba\u{7f}d", "a"),
    ];
    configs.extend(["x evil", "x-evil: 1\r\nx", "host", "Content-Length", "transfer-encoding", "connection", "content-type"].map(compact));
    configs.extend(["webhook-signature", "webhook-id", "proxy-authorization", "ü"].map(compact));
    for config in configs {
        let bench = Bench::new(open());
        bench.run(config.clone()).await;
        bench.engine.deliver_due().await.unwrap();
        let outcome = bench.outcomes().remove(0);
        assert!(outcome.starts_with("the header ") && outcome.ends_with(" cannot be sent"), "{config:?}: {outcome}");
        assert!(!outcome.contains("k-1") && !outcome.contains('\n'), "{outcome}");
    }
    assert!(receiver.seen().is_empty());
}

/// A client's own ids may hold anything; what goes out is legal and stays the same.
#[tokio::test]
async fn an_odd_config_id_makes_no_odd_header() {
    let receiver = Receiver::start(|number, _| Some(answer(if number == 0 { 500 } else { 200 }, &[]))).await;
    let bench = Bench::new(open());
    bench.run(PushConfig::new(receiver.url()).id("1772442907.{\"ä\":\"\r\nx-evil: 1")).await;
    bench.engine.deliver_due().await.unwrap();
    bench.clock.advance(Duration::from_secs(6));
    bench.settle().await;
    let ids: Vec<_> = receiver.seen().iter().map(|received| received.header("webhook-id").to_owned()).collect();
    assert_eq!(ids.len(), 5);
    assert_eq!((&ids[0], ids.iter().collect::<HashSet<_>>().len()), (&ids[1], 4));
    assert!(ids.iter().all(|id| id.starts_with("sha256-")));
    assert!(receiver.seen().iter().all(|received| !received.headers.contains_key("x-evil") && verify(received, &bench.key.jwks())));
}

/// A resolver with prepared answers; it notes the names it was asked for.
#[derive(Clone, Default)]
struct Answers {
    prepared: Arc<Mutex<VecDeque<Vec<IpAddr>>>>,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Answers {
    fn new(prepared: &[&[&str]]) -> Self {
        let read = |answer: &&[&str]| answer.iter().map(|address| address.parse().unwrap()).collect();
        Self { prepared: Arc::new(Mutex::new(prepared.iter().map(read).collect())), asked: Arc::default() }
    }

    fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }
}

#[async_trait]
impl Resolver for Answers {
    async fn resolve(&self, name: &str) -> Result<Vec<IpAddr>, BoxError> {
        self.asked.lock().unwrap().push(name.to_owned());
        let answer = self.prepared.lock().unwrap().pop_front();
        answer.ok_or_else(|| "asked too often".into())
    }
}

/// Guarantee G12, V10-HOOKSEC-001, V03-PUSH-005: the outbox goes through the guard, for literals and for names.
#[tokio::test]
async fn a_webhook_at_a_forbidden_address_is_never_called() {
    let receiver = accepting().await;
    let port = receiver.address.port();
    let answers = Answers::new(&[&["127.0.0.1"], &["8.8.8.8", "127.0.0.1"]]);
    for url in [
        receiver.url(),
        format!("http://2130706433:{port}/"),
        format!("http://[::ffff:127.0.0.1]:{port}/"),
        format!("http://localhost:{port}/"),
        format!("http://inside.example:{port}/"),
        format!("http://mixed.example:{port}/"),
        "ftp://client.example/".to_owned(),
        "http://169.254.169.254/".to_owned(),
    ] {
        let bench = Bench::new(Guard::new().resolver(answers.clone()));
        bench.run(PushConfig::new(&url)).await;
        assert_eq!(bench.engine.deliver_due().await.unwrap(), 1);
        assert_eq!(bench.outcomes(), ["the URL of the webhook is refused"], "{url}");
    }
    assert!(receiver.seen().is_empty());
    assert_eq!(answers.asked(), ["inside.example", "mixed.example"]);
}

/// A receiver that takes one event, fails, is down, and comes back.
async fn comes_back(store: Arc<dyn Store>) {
    let failing = Receiver::start(|number, _| Some(answer(if number == 0 { 200 } else { 500 }, &[]))).await;
    let (address, url) = (failing.address, failing.url());
    let bench = Bench::with(open(), Options::new(), store, Schedule::default());
    bench.run(PushConfig::new(&url)).await;
    bench.settle().await;
    for _ in 0..2 {
        bench.clock.advance(Duration::from_secs(360));
        bench.settle().await;
    }
    assert_eq!(failing.seen().iter().map(Received::place).collect::<Vec<_>>(), [1, 2, 2, 2]);
    let first = failing.seen()[0].clone();
    drop(failing);
    bench.clock.advance(Duration::from_secs(2_200));
    bench.settle().await;
    assert_eq!(bench.outcomes().last().unwrap(), "the receiver cannot be reached");
    let back = Receiver::at(address, |_, _| Some(answer(200, &[]))).await;
    bench.settle().await;
    assert!(back.seen().is_empty(), "too early");
    bench.clock.advance(Duration::from_secs(9_000));
    bench.settle().await;
    assert_eq!(back.seen().iter().map(Received::place).collect::<Vec<_>>(), [2, 3, 4]);
    let ids: HashSet<_> = back.seen().iter().chain([&first]).map(|received| received.header("webhook-id").to_owned()).collect();
    assert_eq!(ids.len(), 4);
    assert!(back.seen().iter().all(|received| verify(received, &bench.key.jwks())));
    assert!(bench.engine.dead_letters(&Caller::anonymous(), 10).await.unwrap().is_empty());
}

/// Guarantee G7, V10-HOOK-003, V10-HOOK-005.
#[tokio::test]
async fn a_receiver_that_fails_and_is_down_gets_every_event_in_order() {
    comes_back(Arc::new(Memory::new())).await;
}

/// The same on SQLite.
#[tokio::test]
async fn a_receiver_that_fails_and_is_down_gets_every_event_in_order_from_sqlite() {
    let folder = Folder::new();
    comes_back(Arc::new(Sqlite::open(folder.0.join("tasks.db")).await.unwrap())).await;
}

/// V10-HOOK-006: after the schedule a notification is kept, and can be sent again.
#[tokio::test]
async fn dead_letters_can_be_sent_again() {
    let receiver = Receiver::start(|number, _| Some(answer(if number < 4 { 500 } else { 200 }, &[]))).await;
    let bench = Bench::with(open(), Options::new(), Arc::new(Memory::new()), Schedule::new([]));
    let task = bench.run(PushConfig::new(receiver.url())).await;
    bench.settle().await;
    assert_eq!(bench.engine.dead_letters(&Caller::anonymous(), 10).await.unwrap().len(), 4);
    assert_eq!(bench.engine.redeliver(&Caller::anonymous(), &task.id).await.unwrap(), 4);
    bench.settle().await;
    assert_eq!(receiver.seen().iter().map(Received::place).collect::<Vec<_>>(), [1, 2, 3, 4, 1, 2, 3, 4]);
}

/// The example of RFC 8037, appendix A: its key, and its thumbprint.
#[test]
fn the_key_set_shows_the_public_half_with_its_thumbprint() {
    let folder = Folder::new();
    let secret = BASE64_URL_SAFE_NO_PAD.decode("nWGxne_9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A").unwrap();
    let mut der = b"\x30\x2e\x02\x01\x00\x30\x05\x06\x03\x2b\x65\x70\x04\x22\x04\x20".to_vec();
    der.extend_from_slice(&secret);
    let pem = format!("-----BEGIN PRIVATE KEY-----\n{}\n-----END PRIVATE KEY-----\n", BASE64_STANDARD.encode(der));
    std::fs::write(folder.0.join("webhook-key.pem"), pem).unwrap();
    let key = Key::open(&folder.0).unwrap();
    let expected = serde_json::json!({"keys": [{
        "kty": "OKP", "crv": "Ed25519", "x": "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo",
        "kid": "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k", "use": "sig", "alg": "EdDSA",
    }]});
    assert_eq!(serde_json::from_str::<Value>(&key.jwks()).unwrap(), expected);
    assert_eq!(key.id(), expected["keys"][0]["kid"]);
}

#[test]
fn a_key_is_made_once_and_kept_where_only_its_owner_reads_it() {
    let folder = Folder::new();
    let data = folder.0.join("new").join("data");
    let made = Key::open(&data).unwrap();
    assert_eq!(Key::open(&data).unwrap().jwks(), made.jwks());
    assert_ne!(Key::ephemeral().unwrap().id(), made.id());
    let file = data.join("webhook-key.pem");
    #[cfg(unix)]
    assert_eq!(std::os::unix::fs::MetadataExt::mode(&std::fs::metadata(&file).unwrap()) & 0o777, 0o600);
    assert!(!data.join("webhook-key.pem.new").exists());
    let secret = std::fs::read_to_string(&file).unwrap().lines().nth(1).unwrap()[24..].to_owned();
    let shown = format!("{made:?}");
    assert!(shown.contains(&made.id()) && !shown.contains(&secret), "{shown}");
}

#[test]
fn whoever_opens_the_folder_at_the_same_time_gets_the_same_key() {
    for _ in 0..20 {
        let folder = Folder::new();
        // What a process that died has left behind.
        std::fs::write(folder.0.join("webhook-key.pem.new"), "half a k").unwrap();
        let together = std::sync::Barrier::new(8);
        let ids: HashSet<String> = std::thread::scope(|scope| {
            let open = || {
                together.wait();
                Key::open(&folder.0).unwrap().id()
            };
            let threads: Vec<_> = (0..8).map(|_| scope.spawn(open)).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        assert_eq!(ids.len(), 1);
    }
}

#[test]
fn a_file_that_holds_no_key_is_an_error_and_stays() {
    for text in ["", "hello", "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n"] {
        let folder = Folder::new();
        let file = folder.0.join("webhook-key.pem");
        std::fs::write(&file, text).unwrap();
        assert!(matches!(Key::open(&folder.0), Err(KeyError::Invalid)), "{text:?}");
        assert_eq!(std::fs::read_to_string(&file).unwrap(), text);
    }
}
