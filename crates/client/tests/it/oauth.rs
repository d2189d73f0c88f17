//! Tokens by OAuth 2.0 and OpenID Connect: against issuers that do as they are told here, and in `provider` against a real
//! identity provider.

mod exchange;
mod provider;
mod token;

use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
};

use axum::response::Response;
use chancery_client::{
    Client, Trouble, TroubleKind,
    oauth::{Exchange, Flow, OAuth, SignIn, Tokens},
};
use chancery_core::{
    Binding, Card, SecurityRequirement, SecurityScheme, Version,
    security::{ClientCredentialsFlow, DeviceCodeFlow, HttpAuthScheme, OAuth2Scheme, OAuthFlow, OpenIdConnectScheme},
};
use serde_json::{Value, json};

use crate::peer::{Asked, Peer, hello, json_response};

fn fields(asked: &Asked) -> BTreeMap<String, String> {
    url::form_urlencoded::parse(&asked.body).into_owned().collect()
}

fn answer(value: &Value) -> Response {
    json_response(200, value.to_string().as_bytes())
}

fn client_flow(token_url: String) -> SecurityScheme {
    let mut flow = ClientCredentialsFlow::default();
    flow.token_url = token_url;
    SecurityScheme::OAuth2(OAuth2Scheme::new(OAuthFlow::ClientCredentials(flow)))
}

/// An agent and its issuer on one port: `/token` answers as it is told, and the agent takes what `good` takes.
async fn both(
    scheme: impl Fn(&str) -> SecurityScheme,
    token: impl Fn(&Asked) -> Response + Send + Sync + 'static,
    good: impl Fn(&str) -> bool + Send + Sync + 'static,
) -> Peer {
    let card = Arc::new(Mutex::new(Vec::new()));
    let shown = card.clone();
    let peer = Peer::start(move |asked| match asked.uri.path() {
        "/" if asked.method == "POST" => match asked.header("authorization").and_then(|value| value.strip_prefix("Bearer ")) {
            Some(token) if good(token) => json_response(200, &hello(asked)),
            _ => json_response(401, b"{}"),
        },
        path if path.starts_with("/.well-known/agent") => json_response(200, &shown.lock().unwrap()),
        _ => token(asked),
    })
    .await;
    let made = Card::new("Told", "Says what it is told").interface(format!("{}/", peer.url), Binding::JsonRpc, Version::V1_0);
    let made = made.security_scheme("oauth", scheme(&peer.url)).require(SecurityRequirement::new().and("oauth", ["call"]));
    *card.lock().unwrap() = serde_json::to_vec(&made).unwrap();
    peer
}

/// Requests for tokens among what a peer was asked.
fn token_requests(peer: &Peer) -> Vec<Asked> {
    peer.asked().into_iter().filter(|asked| asked.uri.path() == "/token").collect()
}

/// V10-AUTH-003: one token for all calls, got once however many ask for it at the same time, with the secret in the header.
#[tokio::test]
async fn many_calls_share_one_token() {
    let count = Arc::new(AtomicUsize::new(0));
    let given = count.clone();
    let token = move |_: &Asked| {
        let number = given.fetch_add(1, Ordering::SeqCst);
        answer(&json!({"access_token": format!("t-{number}"), "token_type": "bearer", "expires_in": 3_600}))
    };
    let peer = both(|url| client_flow(format!("{url}/token")), token, |token| token == "t-0").await;
    let oauth = OAuth::new("a client").secret("a&S3CRET:").scope("more");
    let agent = Client::builder().credentials(oauth.clone()).connect(&peer.url).await.unwrap();
    let mut calls = tokio::task::JoinSet::new();
    for _ in 0..20 {
        let agent = agent.clone();
        calls.spawn(async move { agent.send("hi").await.unwrap().text().to_string() });
    }
    while let Some(text) = calls.join_next().await {
        assert_eq!(text.unwrap(), "hello");
    }
    let asked = token_requests(&peer);
    assert_eq!((asked.len(), count.load(Ordering::SeqCst)), (1, 1));
    // Both are written as in a form before they are put together (RFC 6749 section 2.3.1).
    use base64::{Engine as _, prelude::BASE64_STANDARD};
    let expected = format!("Basic {}", BASE64_STANDARD.encode("a+client:a%26S3CRET%3A"));
    assert_eq!(asked[0].header("authorization"), Some(expected.as_str()));
    let form = fields(&asked[0]);
    assert_eq!((form["grant_type"].as_str(), form["scope"].as_str()), ("client_credentials", "call more"));
    assert!(!form.contains_key("client_secret"));
    assert!(!format!("{oauth:?}").contains("S3CRET") && !format!("{oauth:?}").contains("t-0"));
}

/// A token that is about to run out is renewed before a call, and one that is refused after it, once.
#[tokio::test]
async fn a_token_is_renewed_before_its_end_and_after_a_refusal() {
    let count = Arc::new(AtomicUsize::new(0));
    let (given, newest) = (count.clone(), count.clone());
    let token = move |asked: &Asked| {
        let number = given.fetch_add(1, Ordering::SeqCst) + 1;
        let form = fields(asked);
        if number > 1 {
            assert_eq!((form["grant_type"].as_str(), &form["refresh_token"]), ("refresh_token", &format!("r-{}", number - 1)));
        }
        // A minute before its end a token counts as one that has run out.
        let lasts = if number == 1 { 50 } else { 3_600 };
        answer(
            &json!({"access_token": format!("t-{number}"), "token_type": "Bearer", "expires_in": lasts, "refresh_token": format!("r-{number}")}),
        )
    };
    let good = move |token: &str| token == format!("t-{}", newest.load(Ordering::SeqCst)) && token != "t-2";
    let peer = both(|url| client_flow(format!("{url}/token")), token, good).await;
    let agent = Client::builder().credentials(OAuth::new("c").secret("s")).connect(&peer.url).await.unwrap();
    // t-1 is too old when the second call is made; t-2 is refused; t-3 is good.
    agent.send("hi").await.unwrap();
    agent.send("hi").await.unwrap();
    assert_eq!(count.load(Ordering::SeqCst), 3);
    agent.send("hi").await.unwrap();
    assert_eq!(count.load(Ordering::SeqCst), 3);
}

/// An agent that takes nothing has its caller renew once per call, and no more.
#[tokio::test]
async fn a_call_renews_once_and_then_gives_up() {
    let token = |_: &Asked| answer(&json!({"access_token": uuid::Uuid::now_v7().to_string(), "token_type": "Bearer", "expires_in": 3_600}));
    let peer = both(|url| client_flow(format!("{url}/token")), token, |_| false).await;
    let agent = Client::builder().credentials(OAuth::new("c").secret("s")).connect(&peer.url).await.unwrap();
    let error = agent.send("hi").await.unwrap_err();
    assert_eq!(Trouble::of(&error).and_then(Trouble::status), Some(401), "{error:?}");
    assert_eq!(token_requests(&peer).len(), 2);
}

/// V10-SEC-007, V10-SEC-008: a card cannot have the secret sent to whom it likes, and tokens go to their agent alone.
#[tokio::test]
async fn a_secret_goes_to_issuers_that_are_trusted() {
    let token = |_: &Asked| answer(&json!({"access_token": "t", "token_type": "Bearer"}));
    let elsewhere = Peer::start(token).await;
    let url = elsewhere.url.clone();
    let peer = both(move |_| client_flow(format!("{url}/token")), |_| json_response(404, b""), |token| token == "t").await;
    let connect = async |oauth: OAuth| Client::builder().credentials(oauth).connect(&peer.url).await.unwrap();
    let error = connect(OAuth::new("c").secret("S3CRET")).await.send("hi").await.unwrap_err();
    assert!(error.to_string().contains(&elsewhere.url) && elsewhere.asked().is_empty(), "{error}");
    connect(OAuth::new("c").secret("S3CRET").issuer(&elsewhere.url)).await.send("hi").await.unwrap();
    assert_eq!(elsewhere.asked().len(), 1);

    let open = both(|_| client_flow("http://id.example/token".to_owned()), |_| json_response(404, b""), |_| true).await;
    let oauth = OAuth::new("c").secret("S3CRET").issuer("http://id.example");
    let error = Client::builder().credentials(oauth).connect(&open.url).await.unwrap().send("hi").await.unwrap_err();
    assert!(error.to_string().contains("https only"), "{error}");
}

/// What an issuer may say instead of giving a token. Nothing of it, and nothing that it was told, is in the error.
#[tokio::test]
async fn issuers_that_make_no_sense_are_errors() {
    let redirect = || Response::builder().status(302).header("location", "/elsewhere").body(axum::body::Body::empty()).unwrap();
    type Says = fn() -> (u16, Value);
    let cases: [(Says, &str); 8] = [
        (|| (200, json!({"access_token": "T0KEN", "token_type": "mac"})), "of a kind"),
        (|| (200, json!({"access_token": "", "token_type": "Bearer"})), "of a kind"),
        (|| (200, json!({"token_type": "Bearer"})), "no token"),
        (|| (200, json!({"access_token": {"T0KEN": 1}, "token_type": "Bearer"})), "no token"),
        (|| (400, json!({"error": "invalid_scope", "error_description": "not for\u{1b}[31m you"})), "invalid_scope (not for[31m you)"),
        (|| (401, json!({"error": "invalid_client", "error_description": "S3CRET is wrong"})), "invalid_client"),
        (|| (500, json!({"error": "server_error"})), "500"),
        (|| (200, json!("x".repeat(300_000))), "could not be asked"),
    ];
    for (says, words) in cases {
        let peer = both(
            |url| client_flow(format!("{url}/token")),
            move |_| {
                let (status, body) = says();
                json_response(status, body.to_string().as_bytes())
            },
            |_| true,
        );
        let peer = peer.await;
        let agent = Client::builder().credentials(OAuth::new("c").secret("S3CRET")).retries(0).connect(&peer.url).await.unwrap();
        let error = agent.send("hi").await.unwrap_err();
        let shown = format!("{error} {error:?}");
        assert!(error.to_string().contains(words), "{words}: {error}");
        assert!(!shown.contains("S3CRET") && !shown.contains("T0KEN") && !shown.contains('\u{1b}'), "{shown}");
    }
    let peer = both(|url| client_flow(format!("{url}/token")), move |_| redirect(), |_| true).await;
    let agent = Client::builder().credentials(OAuth::new("c").secret("s")).retries(0).connect(&peer.url).await.unwrap();
    assert!(agent.send("hi").await.unwrap_err().to_string().contains("302"));
    assert!(!peer.asked().iter().any(|asked| asked.uri.path() == "/elsewhere"), "a redirect was followed with a secret");
}

/// An issuer is who the card says, or nobody.
#[tokio::test]
async fn an_issuer_that_calls_itself_otherwise_is_refused() {
    for (name, good) in [("", true), ("http://127.0.0.1:1", false)] {
        let token = move |asked: &Asked| match asked.uri.path() {
            "/.well-known/openid-configuration" => {
                let own = format!("http://{}", asked.header("host").unwrap());
                let name = if name.is_empty() { own.as_str() } else { name };
                answer(&json!({"issuer": name, "token_endpoint": format!("{own}/token")}))
            }
            _ => answer(&json!({"access_token": "t", "token_type": "Bearer"})),
        };
        let scheme = |url: &str| SecurityScheme::OpenIdConnect(OpenIdConnectScheme::new(format!("{url}/.well-known/openid-configuration")));
        let peer = both(scheme, token, |token| token == "t").await;
        let agent = Client::builder().credentials(OAuth::new("c").secret("s")).connect(&peer.url).await.unwrap();
        assert_eq!(agent.send("hi").await.is_ok(), good, "{name}");
        assert_eq!(token_requests(&peer).is_empty(), !good);
    }
}

/// RFC 8628: pending is asked for again, `slow_down` more slowly, and a refusal ends it.
#[tokio::test]
async fn a_device_waits_as_it_is_told() {
    for (last, good) in [("", true), ("access_denied", false), ("expired_token", false)] {
        let count = Arc::new(AtomicUsize::new(0));
        let polls = count.clone();
        let token = move |asked: &Asked| match asked.uri.path() {
            "/device" => answer(&json!({
                "device_code": "d-1", "user_code": "ABCD", "verification_uri": "https://id.example/device", "expires_in": 600, "interval": 1,
            })),
            _ => {
                let form = fields(asked);
                assert_eq!((form["device_code"].as_str(), form["client_id"].as_str()), ("d-1", "desk"));
                match polls.fetch_add(1, Ordering::SeqCst) {
                    0 => json_response(400, br#"{"error":"authorization_pending"}"#),
                    _ if last.is_empty() => answer(&json!({"access_token": "t", "token_type": "Bearer"})),
                    _ => json_response(400, json!({"error": last}).to_string().as_bytes()),
                }
            }
        };
        let scheme = |url: &str| {
            let mut flow = DeviceCodeFlow::default();
            (flow.device_authorization_url, flow.token_url) = (format!("{url}/device"), format!("{url}/token"));
            SecurityScheme::OAuth2(OAuth2Scheme::new(OAuthFlow::DeviceCode(flow)))
        };
        let peer = both(scheme, token, |token| token == "t").await;
        let oauth = OAuth::new("desk").tokens(Tokens::in_memory());
        let agent = Client::builder().credentials(oauth.clone()).connect(&peer.url).await.unwrap();
        let error = agent.send("hi").await.unwrap_err();
        assert_eq!(Trouble::of(&error).map(Trouble::kind), Some(TroubleKind::CredentialsMissing), "nobody has signed in");
        let shown = Mutex::new(Vec::new());
        let show = |prompt: &chancery_client::oauth::Prompt<'_>| shown.lock().unwrap().push(prompt.to_string());
        let card = agent.card().unwrap();
        let signed = oauth.sign_in(&card, Some(&peer.url), &SignIn::new(), &show).await;
        assert_eq!(signed.as_ref().map(|token| token.flow).ok(), good.then_some(Flow::DeviceCode), "{signed:?}");
        assert_eq!(count.load(Ordering::SeqCst), 2);
        assert!(shown.lock().unwrap().iter().any(|text| text.contains("ABCD")));
        assert_eq!(agent.send("hi").await.is_ok(), good);
    }
}

/// Two processes with one file: the second finds what the first has got, and neither has the other's renewal fail.
#[tokio::test]
async fn clients_with_one_file_share_their_tokens() {
    let count = Arc::new(AtomicUsize::new(0));
    let given = count.clone();
    let token = move |_: &Asked| {
        let number = given.fetch_add(1, Ordering::SeqCst);
        answer(&json!({"access_token": format!("t-{number}"), "token_type": "Bearer", "expires_in": 3_600}))
    };
    let peer = both(|url| client_flow(format!("{url}/token")), token, |token| token == "t-0").await;
    let folder = std::env::temp_dir().join(format!("chancery-oauth-{}", uuid::Uuid::now_v7()));
    let file = folder.join("tokens.json");
    let mut calls = tokio::task::JoinSet::new();
    for _ in 0..5 {
        // Each with its own memory, as processes are.
        let oauth = OAuth::new("c").secret("s").tokens(Tokens::in_file(&file));
        let agent = Client::builder().credentials(oauth).connect(&peer.url).await.unwrap();
        calls.spawn(async move { agent.send("hi").await.map(|_| ()) });
    }
    while let Some(sent) = calls.join_next().await {
        sent.unwrap().unwrap();
    }
    assert_eq!(count.load(Ordering::SeqCst), 1);
    let kept = Tokens::in_file(&file).list().unwrap();
    assert_eq!((kept.len(), kept[0].agent.as_str()), (1, peer.url.as_str()));
    std::fs::remove_dir_all(folder).unwrap();
}

/// RFC 8693 as an agent uses it for another: what it received is shown to the issuer alone.
#[tokio::test]
async fn a_received_token_is_exchanged_and_never_passed_on() {
    let count = Arc::new(AtomicUsize::new(0));
    let given = count.clone();
    let issuer = Peer::start(move |_| {
        let number = given.fetch_add(1, Ordering::SeqCst);
        answer(&json!({
            "access_token": format!("x-{number}"), "issued_token_type": "urn:ietf:params:oauth:token-type:access_token",
            "token_type": "Bearer", "expires_in": 3_600,
        }))
    })
    .await;
    let http = |_: &str| SecurityScheme::HttpAuth(HttpAuthScheme::new("Bearer", "JWT"));
    let peer = both(http, |_| json_response(404, b""), |token| token.starts_with("x-")).await;
    let exchange = Exchange::at(format!("{}/token", issuer.url), "triage", "s").unwrap().actor("own");
    let call = async |received: &str| {
        let agent = Client::builder().credentials(exchange.on_behalf_of(received)).connect(&peer.url).await.unwrap();
        agent.send("hi").await.unwrap();
        peer.calls().last().unwrap().header("authorization").unwrap().to_owned()
    };
    assert_eq!(call("received-1").await, "Bearer x-0");
    assert_eq!(call("received-1").await, "Bearer x-0");
    assert_eq!(call("received-2").await, "Bearer x-1");
    let asked = issuer.asked();
    assert_eq!(asked.len(), 2);
    let expected = [
        ("actor_token", "own"),
        ("actor_token_type", "urn:ietf:params:oauth:token-type:access_token"),
        ("grant_type", "urn:ietf:params:oauth:grant-type:token-exchange"),
        ("resource", peer.url.as_str()),
        ("scope", "call"),
        ("subject_token", "received-1"),
        ("subject_token_type", "urn:ietf:params:oauth:token-type:access_token"),
    ];
    let expected: BTreeMap<_, _> = expected.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
    assert_eq!(fields(&asked[0]), expected);
    assert!(!format!("{exchange:?} {:?}", exchange.on_behalf_of("received-1")).contains("received"));
}
