//! Who is let in, who is sent away, and what both are told: in every binding and version, through real sockets.

mod actor;
mod flood;
mod issuer;
mod jwt;
mod scope;
mod siege;
mod silence;
mod skill;
mod stream;

use bytes::Bytes;
use chancery::{
    Auth, Mount, Running, Server,
    auth::{Digest, Holder, Scheme},
};
use chancery_core::{Card, SecurityRequirement, security::ApiKeyLocation};
use chancery_engine::{Engine, Failure, Outcome, Turn, store::Memory};
use http::HeaderMap;
use http_body_util::{BodyExt, Full};
use hyper_util::rt::{TokioExecutor, TokioIo};
use serde_json::{Value, json};

/// Says who called.
async fn greeter(turn: Turn) -> Result<Outcome, Failure> {
    let caller = turn.caller();
    let scopes = caller.identity().scopes.iter().map(String::as_str).collect::<Vec<_>>().join(",");
    let (subject, scheme) =
        (caller.identity().subject.as_deref().unwrap_or("nobody"), caller.identity().scheme.as_deref().unwrap_or("nothing"));
    Ok(Outcome::message(format!("{subject} by {scheme} with [{scopes}]")))
}

fn card() -> Card {
    Card::new("Greeter", "Says who called").skill("greet", "Says who called").push_notifications(true)
}

/// Two keys, of which one may do more.
fn keys() -> Scheme {
    Scheme::api_key(ApiKeyLocation::Header, "X-API-Key")
        .holder(Holder::new("ada", Digest::of("key-of-ada")).scope("tasks.read").scope("tasks.write"))
        .holder(Holder::new("bob", Digest::of("key-of-bob")).scope("tasks.read"))
}

fn tokens() -> Scheme {
    Scheme::bearer().holder(Holder::new("carol", Digest::of("token-of-carol")).scope("tasks.read").scope("tasks.write"))
}

fn auth() -> Auth {
    Auth::new().scheme("key", keys()).scheme("bearer", tokens())
}

async fn start(auth: Auth) -> Running {
    Server::new(card(), greeter).auth(auth).store(Memory::new()).bind("127.0.0.1:0").await.unwrap()
}

/// An answer over HTTP.
pub(crate) struct Answer {
    pub(crate) status: u16,
    headers: HeaderMap,
    pub(crate) body: String,
}

impl Answer {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error} in {:?}", self.body))
    }

    fn challenges(&self) -> Vec<&str> {
        self.headers.get_all("www-authenticate").iter().map(|value| value.to_str().unwrap()).collect()
    }
}

/// Sends a request over a connection of its own: over HTTP/2 when it is gRPC.
pub(crate) async fn send(running: &Running, method: &str, target: &str, headers: &[(&str, &str)], body: impl Into<Bytes>) -> Answer {
    let grpc = headers.contains(&("content-type", "application/grpc"));
    let target = if grpc { format!("http://{}{target}", running.local_addr()) } else { target.to_owned() };
    let mut request = http::Request::builder().method(method).uri(target);
    if !grpc {
        request = request.header("host", "localhost");
    }
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let request = request.body(Full::new(body.into())).unwrap();
    let stream = TokioIo::new(tokio::net::TcpStream::connect(running.local_addr()).await.unwrap());
    let response = if grpc {
        let (mut sender, connection) = hyper::client::conn::http2::handshake(TokioExecutor::new(), stream).await.unwrap();
        tokio::spawn(connection);
        sender.send_request(request).await.unwrap()
    } else {
        let (mut sender, connection) = hyper::client::conn::http1::handshake(stream).await.unwrap();
        tokio::spawn(connection);
        sender.send_request(request).await.unwrap()
    };
    let (head, body) = response.into_parts();
    let body = body.collect().await.unwrap();
    let mut headers = head.headers;
    headers.extend(body.trailers().cloned().unwrap_or_default());
    Answer { status: head.status.as_u16(), headers, body: String::from_utf8_lossy(&body.to_bytes()).into_owned() }
}

/// One operation in one binding and version, as it is asked for.
struct Case {
    name: &'static str,
    method: &'static str,
    target: &'static str,
    version: &'static str,
    body: &'static [u8],
    /// Whether it changes something.
    changes: bool,
}

const fn case(
    name: &'static str,
    method: &'static str,
    target: &'static str,
    version: &'static str,
    body: &'static [u8],
    changes: bool,
) -> Case {
    Case { name, method, target, version, body, changes }
}

const HI: &[u8] = br#"{"message":{"messageId":"1","role":"ROLE_USER","parts":[{"text":"hi"}]}}"#;
const OLD_HI: &[u8] = br#"{"message":{"messageId":"1","role":"ROLE_USER","content":[{"text":"hi"}]}}"#;
const HOOK: &[u8] = br#"{"id":"c","url":"https://client.example/hook"}"#;
/// A frame of gRPC with a message of v1.0, and an empty one.
const GRPC_HI: &[u8] = b"\0\0\0\0\x0f\x12\x0d\x0a\x03m-1\x20\x01\x2a\x04\x0a\x02hi";
const GRPC_EMPTY: &[u8] = b"\0\0\0\0\0";

const CASES: &[Case] = &[
    case("JSONRPC 1.0 send", "POST", "/", "1.0", br#"{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{"message":{"messageId":"1","role":"ROLE_USER","parts":[{"text":"hi"}]}}}"#, true),
    case("JSONRPC 1.0 stream", "POST", "/", "1.0", br#"{"jsonrpc":"2.0","id":1,"method":"SendStreamingMessage","params":{"message":{"messageId":"1","role":"ROLE_USER","parts":[{"text":"hi"}]}}}"#, true),
    case("JSONRPC 1.0 get", "POST", "/", "1.0", br#"{"jsonrpc":"2.0","id":1,"method":"GetTask","params":{"id":"t"}}"#, false),
    case("JSONRPC 1.0 subscribe", "POST", "/", "1.0", br#"{"jsonrpc":"2.0","id":1,"method":"SubscribeToTask","params":{"id":"t"}}"#, false),
    case("JSONRPC 1.0 push config", "POST", "/", "1.0", br#"{"jsonrpc":"2.0","id":1,"method":"CreateTaskPushNotificationConfig","params":{"taskId":"t","url":"https://client.example/hook"}}"#, true),
    case("JSONRPC 1.0 no JSON", "POST", "/", "1.0", b"{{{", true),
    case("JSONRPC 0.3 send", "POST", "/", "", br#"{"jsonrpc":"2.0","id":1,"method":"message/send","params":{"message":{"kind":"message","messageId":"1","role":"user","parts":[{"kind":"text","text":"hi"}]}}}"#, true),
    case("JSONRPC 0.3 stream", "POST", "/", "", br#"{"jsonrpc":"2.0","id":1,"method":"message/stream","params":{"message":{"kind":"message","messageId":"1","role":"user","parts":[{"kind":"text","text":"hi"}]}}}"#, true),
    case("JSONRPC 0.3 get", "POST", "/", "", br#"{"jsonrpc":"2.0","id":1,"method":"tasks/get","params":{"id":"t"}}"#, false),
    case("JSONRPC 0.3 resubscribe", "POST", "/", "", br#"{"jsonrpc":"2.0","id":1,"method":"tasks/resubscribe","params":{"id":"t"}}"#, false),
    case("JSONRPC 0.2 cancel", "POST", "/", "0.2", br#"{"jsonrpc":"2.0","id":1,"method":"tasks/cancel","params":{"id":"t"}}"#, true),
    case("JSONRPC 0.1 send", "POST", "/", "", br#"{"jsonrpc":"2.0","id":1,"method":"tasks/send","params":{"id":"t","message":{"role":"user","parts":[{"type":"text","text":"hi"}]}}}"#, true),
    case("JSONRPC batch", "POST", "/", "1.0", br#"[{"jsonrpc":"2.0","id":1,"method":"GetTask","params":{"id":"t"}}]"#, false),
    case("HTTP+JSON 1.0 send", "POST", "/message:send", "1.0", HI, true),
    case("HTTP+JSON 1.0 stream", "POST", "/message:stream", "1.0", HI, true),
    case("HTTP+JSON 1.0 get", "GET", "/tasks/t", "1.0", b"", false),
    case("HTTP+JSON 1.0 list", "GET", "/tasks", "1.0", b"", false),
    case("HTTP+JSON 1.0 subscribe", "GET", "/tasks/t:subscribe", "1.0", b"", false),
    case("HTTP+JSON 1.0 push config", "POST", "/tasks/t/pushNotificationConfigs", "1.0", HOOK, true),
    case("HTTP+JSON 1.0 extended card", "GET", "/extendedAgentCard", "1.0", b"", false),
    case("HTTP+JSON 0.3 send", "POST", "/v1/message:send", "", OLD_HI, true),
    case("HTTP+JSON 0.3 get", "GET", "/v1/tasks/t", "", b"", false),
    case("HTTP+JSON 0.3 extended card", "GET", "/v1/card", "", b"", false),
    case("HTTP+JSON compact get", "GET", "/compact/tasks/t", "", b"", false),
    case("GRPC 1.0 send", "POST", "/lf.a2a.v1.A2AService/SendMessage", "", GRPC_HI, true),
    case("GRPC 1.0 stream", "POST", "/lf.a2a.v1.A2AService/SendStreamingMessage", "", GRPC_HI, true),
    case("GRPC 1.0 list", "POST", "/lf.a2a.v1.A2AService/ListTasks", "", GRPC_EMPTY, false),
    case("GRPC 1.0 no message", "POST", "/lf.a2a.v1.A2AService/GetTask", "", b"\xff", false),
    case("GRPC 0.3 get", "POST", "/a2a.v1.A2AService/GetTask", "", GRPC_EMPTY, false),
    case("GRPC 0.3 subscribe", "POST", "/a2a.v1.A2AService/TaskSubscription", "", GRPC_EMPTY, false),
];

impl Case {
    async fn send(&self, running: &Running, credentials: &[(&str, &str)]) -> Answer {
        let content_type = if self.is_grpc() { "application/grpc" } else { "application/json" };
        let mut headers = vec![("content-type", content_type), ("a2a-version", self.version)];
        headers.retain(|(_, value)| !value.is_empty());
        headers.extend(credentials);
        send(running, self.method, self.target, &headers, self.body).await
    }

    fn is_grpc(&self) -> bool {
        self.name.starts_with("GRPC")
    }

    /// The HTTP status and what the body or the trailers say.
    fn outcome(&self, answer: &Answer) -> (u16, String) {
        if self.is_grpc() {
            return (answer.status, format!("grpc {}", answer.headers["grpc-status"].to_str().unwrap()));
        }
        let body = answer.json();
        let code = match self.name.split(' ').next() {
            Some("JSONRPC") => format!("{} id {}", body["error"]["code"], body["id"]),
            _ if body["error"].is_object() => body["error"]["status"].to_string(),
            _ => "a word".to_owned(),
        };
        (answer.status, code)
    }
}

/// V10-AUTH-001, V10-AUTH-002, V10-AUTH-007, V10-EXT-012: whoever shows nothing, or something wrong, is told the same
/// whatever it asks, before its body is looked at, and is told what would be right.
#[tokio::test]
async fn strangers_are_sent_away_in_every_binding_and_version() {
    let running = start(auth()).await;
    let mut sent_away = 0;
    for (credentials, error) in [
        (&[][..], ""),
        (&[("x-api-key", "key-of-ad")][..], ", error=\"invalid_token\""),
        (&[("authorization", "Bearer token")][..], ", error=\"invalid_token\""),
    ] {
        for case in CASES {
            let answer = case.send(&running, credentials).await;
            let expected = if case.is_grpc() { (200, "grpc 16".to_owned()) } else { (401, case.unauthenticated()) };
            assert_eq!(case.outcome(&answer), expected, "{} {credentials:?} {}", case.name, answer.body);
            let bearer = format!("Bearer realm=\"agent\"{error}");
            assert_eq!(
                answer.challenges(),
                ["ApiKey realm=\"agent\", in=\"header\", name=\"X-API-Key\"", bearer.as_str()],
                "{}",
                case.name
            );
            sent_away += 1;
        }
    }
    println!("{sent_away} requests of strangers sent away in {} ways", CASES.len());
    let metrics = send(&running, "GET", "/metrics", &[], "").await.body;
    assert!(metrics.contains(&format!("a2a_denied_total{{reason=\"unknown\"}} {sent_away}\n")), "{metrics}");
    assert!(metrics.contains("a2a_requests_under_way 0\n"), "{metrics}");
}

impl Case {
    fn unauthenticated(&self) -> String {
        match self.name {
            name if name.starts_with("JSONRPC") => "-31401 id null".to_owned(),
            "HTTP+JSON compact get" => "a word".to_owned(),
            _ => "\"UNAUTHENTICATED\"".to_owned(),
        }
    }
}

/// V10-AUTH-004, V10-AUTH-006, V10-AUTH-007, V10-SCOPE-002, V10-SCOPE-005: who may only read is refused whatever changes
/// something, in the same words for tasks that are there and tasks that are not.
#[tokio::test]
async fn whoever_lacks_a_scope_is_refused_in_every_binding_and_version() {
    let running = start(auth().scopes_to_read(["tasks.read"]).scopes_to_write(["tasks.write"])).await;
    let (mut refused, mut passed) = (0, 0);
    for case in CASES.iter().filter(|case| !case.name.contains("no ")) {
        for (key, may_write) in [("key-of-ada", true), ("key-of-bob", false)] {
            let answer = case.send(&running, &[("x-api-key", key)]).await;
            let denied = match case.is_grpc() {
                true => answer.headers["grpc-status"] == "7",
                false => answer.status == 403,
            };
            assert_eq!(denied, case.changes && !may_write, "{} {key} {} {}", case.name, answer.status, answer.body);
            if denied {
                let challenge = "Bearer realm=\"agent\", error=\"insufficient_scope\", scope=\"tasks.write\"";
                assert_eq!(answer.challenges(), [challenge], "{}", case.name);
                refused += 1;
            } else {
                assert!(answer.challenges().is_empty(), "{}", case.name);
                passed += 1;
            }
        }
    }
    println!("{refused} requests refused for want of a scope, {passed} let through");
    assert!(refused >= 10 && passed >= 30, "{refused} {passed}");
}

/// P10, V10-CARD-008: the card says what is enforced, in the form of every version, and no secret. It stays open, and so
/// do health, metrics and the keys of webhooks.
#[tokio::test]
async fn the_card_tells_what_is_needed_and_stays_open() {
    let both = SecurityRequirement::new().and("key", [""; 0]).and("basic", [""; 0]);
    let basic = Scheme::basic().holder(Holder::new("ada", Digest::of("password-of-ada")));
    let auth = auth().scheme("basic", basic).require(SecurityRequirement::new().and("bearer", ["tasks.read"])).require(both);
    let running = start(auth).await;
    let card = send(&running, "GET", "/.well-known/agent-card.json", &[("a2a-version", "1.0")], "").await.json();
    assert_eq!(
        card["securitySchemes"],
        json!({
            "basic": {"httpAuthSecurityScheme": {"scheme": "Basic"}},
            "bearer": {"httpAuthSecurityScheme": {"scheme": "Bearer"}},
            "key": {"apiKeySecurityScheme": {"location": "header", "name": "X-API-Key"}},
        })
    );
    assert_eq!(
        card["securityRequirements"],
        json!([{"schemes": {"bearer": {"list": ["tasks.read"]}}}, {"schemes": {"basic": {}, "key": {}}}])
    );
    let merged = send(&running, "GET", "/.well-known/agent-card.json", &[], "").await.json();
    assert_eq!(merged["security"], json!([{"bearer": ["tasks.read"]}, {"basic": [], "key": []}]));
    assert_eq!(merged["securitySchemes"]["key"]["type"], "apiKey");
    for path in ["/", "/.well-known/agent.json", "/.well-known/jwks.json", "/healthz", "/readyz", "/metrics"] {
        let answer = send(&running, "GET", path, &[], "").await;
        assert_eq!(answer.status, 200, "{path}");
        for secret in ["key-of-ada", "token-of-carol", "password-of-ada"] {
            assert!(!answer.body.contains(secret), "{path}");
        }
    }
    let health = send(&running, "POST", "/grpc.health.v1.Health/Check", &[("content-type", "application/grpc")], GRPC_EMPTY).await;
    assert_eq!(health.headers["grpc-status"], "0");
    // V03-GRPC-007: who is not known gets the public card where v0.3 asks for it over gRPC.
    let asked = send(&running, "POST", "/a2a.v1.A2AService/GetAgentCard", &[("content-type", "application/grpc")], GRPC_EMPTY).await;
    assert_eq!(asked.headers["grpc-status"], "0");
    assert!(asked.body.contains("Greeter"), "{}", asked.body);
}

/// What the agent hears of a caller, or the status of the refusal.
async fn heard(running: &Running, target: &str, headers: &[(&str, &str)]) -> String {
    let all = [&[("content-type", "application/json"), ("a2a-version", "1.0")], headers].concat();
    let answer = send(running, "POST", target, &all, HI).await;
    match answer.status {
        200 => answer.json()["message"]["parts"][0]["text"].as_str().unwrap().to_owned(),
        status => status.to_string(),
    }
}

/// V10-AUTH-003: any one of the alternatives is enough, and all schemes of one are needed. The first scheme that was added
/// says who the caller is.
#[tokio::test]
async fn schemes_are_needed_together_or_one_of_them_is_enough() {
    let basic = Scheme::basic().holder(Holder::new("dora", Digest::of("password")).scope("more"));
    let together = SecurityRequirement::new().and("key", [""; 0]).and("basic", ["more"]);
    let alone = SecurityRequirement::new().and("bearer", ["tasks.write"]);
    let running = start(auth().scheme("basic", basic).require(together).require(alone)).await;
    let (key, token, password) =
        (("x-api-key", "key-of-bob"), ("authorization", "Bearer token-of-carol"), ("authorization", "Basic ZG9yYTpwYXNzd29yZA=="));
    assert_eq!(heard(&running, "/message:send", &[token]).await, "carol by bearer with [tasks.read,tasks.write]");
    assert_eq!(heard(&running, "/message:send", &[key, password]).await, "bob by key+basic with [more,tasks.read]");
    assert_eq!(heard(&running, "/message:send", &[key, token]).await, "carol by bearer with [tasks.read,tasks.write]");
    for incomplete in [&[key][..], &[password], &[]] {
        assert_eq!(heard(&running, "/message:send", incomplete).await, "401", "{incomplete:?}");
    }
}

/// Nobody is anonymous unless it is said; and who shows something wrong is not taken for somebody who shows nothing. The
/// extended card is for those who are known.
#[tokio::test]
async fn anonymous_callers_are_let_in_only_when_it_is_said() {
    let mut open_card = card();
    open_card.capabilities.extended_agent_card = Some(true);
    let engine = Engine::new(open_card, greeter).extended_card(Card::new("Greeter", "Greets friends by name"));
    let server = Server::several().agent("/", engine).auth(auth().anonymous(true)).store(Memory::new());
    let running = server.bind("127.0.0.1:0").await.unwrap();
    assert_eq!(heard(&running, "/message:send", &[]).await, "nobody by nothing with []");
    assert_eq!(heard(&running, "/message:send", &[("x-api-key", "key-of-ada")]).await, "ada by key with [tasks.read,tasks.write]");
    assert_eq!(heard(&running, "/message:send", &[("x-api-key", "wrong")]).await, "401");
    let extended = async |headers: &[(&str, &str)]| {
        let answer = send(&running, "GET", "/extendedAgentCard", &[&[("a2a-version", "1.0")], headers].concat(), "").await;
        (answer.status, answer.challenges().len())
    };
    assert_eq!(extended(&[]).await, (401, 2));
    assert_eq!(extended(&[("x-api-key", "key-of-bob")]).await, (200, 0));
}

/// Each agent may have rules of its own, also where gRPC tells agents apart by what is in the body.
#[tokio::test]
async fn agents_of_one_server_have_rules_of_their_own() {
    let mount = |path: &str| Mount::agent(path, Engine::new(card(), greeter));
    let server = Server::several().mount(mount("/")).mount(mount("/open").open());
    let server = server.mount(mount("/tokens").auth(Auth::new().scheme("bearer", tokens())));
    let running = server.auth(Auth::new().scheme("key", keys())).store(Memory::new()).bind("127.0.0.1:0").await.unwrap();
    let (key, token) = (("x-api-key", "key-of-ada"), ("authorization", "Bearer token-of-carol"));
    let everything = "with [tasks.read,tasks.write]";
    for (target, credentials, expected) in [
        ("/message:send", &[key][..], format!("ada by key {everything}")),
        ("/message:send", &[token], "401".to_owned()),
        ("/open/message:send", &[], "nobody by nothing with []".to_owned()),
        ("/open/message:send", &[token], "nobody by nothing with []".to_owned()),
        ("/tokens/message:send", &[token], format!("carol by bearer {everything}")),
        ("/tokens/message:send", &[key], "401".to_owned()),
    ] {
        assert_eq!(heard(&running, target, credentials).await, expected, "{target} {credentials:?}");
    }
    // The tenant is the first field of every message.
    let named = |tenant: &str| {
        let message = [&[0x0a, u8::try_from(tenant.len()).unwrap()], tenant.as_bytes(), &GRPC_HI[5..]].concat();
        [&[0, 0, 0, 0, u8::try_from(message.len()).unwrap()], message.as_slice()].concat()
    };
    for (tenant, credentials, expected) in
        [("", &[key][..], "0"), ("", &[], "16"), ("open", &[], "0"), ("tokens", &[key], "16"), ("tokens", &[token], "0")]
    {
        let body = if tenant.is_empty() { GRPC_HI.to_vec() } else { named(tenant) };
        let headers = [&[("content-type", "application/grpc")], credentials].concat();
        let answer = send(&running, "POST", "/lf.a2a.v1.A2AService/SendMessage", &headers, body).await;
        assert_eq!(answer.headers["grpc-status"], expected, "{tenant:?} {credentials:?}");
    }
}

/// What makes no sense is said when the server is bound, not when somebody calls.
#[tokio::test]
async fn what_makes_no_sense_is_not_served() {
    use chancery::auth::{CertificateName, Jwt};
    for (auth, words) in [
        (Auth::new(), "auth has no scheme; leave it out to let everybody in"),
        (auth().scheme("key", tokens()), "auth: the name \"key\" is empty or there twice"),
        (auth().require(SecurityRequirement::new().and("keys", [""; 0])), "auth: there is no scheme \"keys\""),
        (auth().scheme("key+bearer", tokens()), "auth: the name \"key+bearer\" looks like several schemes together"),
        (auth().scopes_for_skill("great", ["a"]), "auth: no card has a skill \"great\""),
        (
            auth().require(SecurityRequirement::new()),
            "auth: an alternative without schemes lets everybody in; say that anonymous callers may",
        ),
        (
            Auth::new().scheme("mtls", Scheme::mutual_tls(CertificateName::Dns)),
            "auth: mtls asks for client certificates, and there is no authority to check them with",
        ),
        (
            Auth::new().scheme("oidc", Scheme::jwt(Jwt::issuer("http://id.example", ["agents"]))),
            "the tokens of \"http://id.example\": keys are fetched over https only",
        ),
        (
            Auth::new().scheme("oidc", Scheme::jwt(Jwt::issuer("https://id.example", [""; 0]))),
            "the tokens of \"https://id.example\": an issuer and an audience must be named",
        ),
        (
            Auth::new().scheme("key", Scheme::api_key(ApiKeyLocation::Header, "X API Key")),
            "auth: \"X API Key\" cannot be the name of a header, a parameter or a cookie",
        ),
    ] {
        let bound = Server::new(card(), greeter).auth(auth).store(Memory::new()).bind("127.0.0.1:0").await;
        let error = bound.err().expect(words);
        assert_eq!(std::error::Error::source(&error).unwrap().to_string(), words);
    }
}
