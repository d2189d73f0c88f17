//! Work that an agent passes on for its caller: with a token that is exchanged for the caller's, which reaches nobody but the issuer.

use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex, OnceLock},
    time::UNIX_EPOCH,
};

use aws_lc_rs::signature::{Ed25519KeyPair, KeyPair as _};
use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};
use chancery::{
    Running, Server,
    auth::{Auth, Digest, Holder, Jwt, Scheme},
};
use chancery_client::{Client, Keyring, Secrets, oauth::Exchange};
use chancery_core::{Caller, Object, Peers as _, Presented, SendMessage, security::ApiKeyLocation};
use chancery_engine::{Failure, Outcome, Turn, store::Memory};
use serde_json::{Value, json};

use super::{answer, fields};
use crate::{
    agent::card,
    peer::{Asked, Peer, json_response},
};

/// An issuer that exchanges tokens, and remembers which it has given.
struct Issuer {
    peer: Peer,
    key: Arc<Ed25519KeyPair>,
    given: Arc<Mutex<BTreeSet<String>>>,
}

impl Issuer {
    /// Its tokens last so many seconds.
    async fn start(life: u64) -> Self {
        let key = Arc::new(Ed25519KeyPair::generate().unwrap());
        let (given, url) = (Arc::new(Mutex::new(BTreeSet::new())), Arc::new(OnceLock::<String>::new()));
        let (pair, noted, own) = (key.clone(), given.clone(), url.clone());
        let peer = Peer::start(move |asked| {
            let url = own.get().unwrap();
            match asked.uri.path() {
                "/.well-known/openid-configuration" => answer(&json!({"issuer": url, "jwks_uri": format!("{url}/keys")})),
                "/keys" => {
                    let x = BASE64_URL_SAFE_NO_PAD.encode(pair.public_key());
                    answer(&json!({"keys": [{"kty": "OKP", "crv": "Ed25519", "kid": "k", "x": x}]}))
                }
                _ => match exchanged(url, &pair, asked) {
                    Some(token) => {
                        noted.lock().unwrap().insert(token.clone());
                        let kind = "urn:ietf:params:oauth:token-type:access_token";
                        answer(&json!({"access_token": token, "issued_token_type": kind, "token_type": "Bearer", "expires_in": life}))
                    }
                    None => json_response(400, br#"{"error":"invalid_grant"}"#),
                },
            }
        })
        .await;
        url.set(peer.url.clone()).unwrap();
        Self { peer, key, given }
    }

    /// A token for the first agent.
    fn token(&self, subject: &str) -> String {
        signed(&self.key, &json!({"iss": self.peer.url, "aud": "triage", "sub": subject, "exp": now() + 600, "scope": "call"}))
    }

    /// What was asked of its token endpoint since the last time.
    fn exchanges(&self) -> Vec<Asked> {
        self.peer.calls()
    }
}

/// RFC 8693 as the issuer sees it: a client it knows, a token of its own, and the agent that it is for. Nobody exchanges that of mallory.
fn exchanged(url: &str, key: &Ed25519KeyPair, asked: &Asked) -> Option<String> {
    let form = fields(asked);
    let right = asked.header("authorization") == Some("Basic dHJpYWdlOnMzY3JldA==")
        && form["grant_type"] == "urn:ietf:params:oauth:grant-type:token-exchange"
        && form["subject_token_type"] == "urn:ietf:params:oauth:token-type:access_token";
    let claims = form["subject_token"].split('.').nth(1)?;
    let claims: Value = serde_json::from_slice(&BASE64_URL_SAFE_NO_PAD.decode(claims).ok()?).ok()?;
    let known = signed(key, &claims) == form["subject_token"] && claims["sub"] != "mallory";
    let scope = form.get("scope").cloned().unwrap_or_default();
    let token = json!({
        "iss": url, "aud": form["resource"], "sub": claims["sub"], "act": {"sub": "triage"}, "exp": now() + 600, "scope": scope,
    });
    (right && known).then(|| signed(key, &token))
}

fn signed(key: &Ed25519KeyPair, claims: &Value) -> String {
    let [header, claims] = [r#"{"alg":"EdDSA","kid":"k"}"#.to_owned(), claims.to_string()].map(|part| BASE64_URL_SAFE_NO_PAD.encode(part));
    let message = format!("{header}.{claims}");
    format!("{message}.{}", BASE64_URL_SAFE_NO_PAD.encode(key.sign(message.as_bytes())))
}

fn now() -> u64 {
    UNIX_EPOCH.elapsed().unwrap().as_secs()
}

/// The other agent: says who called and who acts, and remembers the tokens that reached it.
struct Billing {
    running: Running,
    reached: Arc<Mutex<Vec<Option<String>>>>,
}

impl Billing {
    async fn start(issuer: &Issuer) -> Self {
        // Tokens are for its own origin, which is to be known before it is there.
        let address = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let jwt = Jwt::issuer(&issuer.peer.url, [format!("http://{address}")]).actors(["triage"]).prefix("");
        let own = Scheme::api_key(ApiKeyLocation::Header, "X-API-Key").holder(Holder::new("triage itself", Digest::of("k-31")));
        let auth = Auth::new().scheme("oidc", Scheme::jwt(jwt)).scheme("key", own).keep_tokens(true);
        let reached: Arc<Mutex<Vec<Option<String>>>> = Arc::default();
        let seen = reached.clone();
        let agent = move |turn: Turn| {
            let seen = seen.clone();
            async move {
                let caller = turn.caller();
                seen.lock().unwrap().push(caller.identity().presented.as_ref().map(|presented| presented.token.expose().to_owned()));
                let names = caller.identity().subject.iter().chain(&caller.identity().actors).cloned().collect::<Vec<_>>();
                turn.status("Working on it").await?;
                Ok::<_, Failure>(Outcome::reply(names.join(" < ")))
            }
        };
        let running = Server::new(card(), agent).auth(auth).store(Memory::new()).bind(address).await.unwrap();
        Self { running, reached }
    }

    fn reached(&self) -> Vec<Option<String>> {
        std::mem::take(&mut self.reached.lock().unwrap())
    }
}

/// The first agent, with its tasks in this folder.
async fn triage(issuer: &Issuer, billing: &str, exchange: Exchange, folder: &std::path::Path) -> Running {
    let own = Scheme::api_key(ApiKeyLocation::Header, "X-API-Key").holder(Holder::new("eve", Digest::of("key of eve")));
    let jwt = Jwt::issuer(&issuer.peer.url, ["triage"]).actors([""; 0]).prefix("");
    let auth = Auth::new().scheme("oidc", Scheme::jwt(jwt)).scheme("key", own).keep_tokens(true);
    let billing = billing.to_owned();
    let agent = move |turn: Turn| {
        let billing = billing.clone();
        async move {
            if turn.text() == "hand over" {
                return Ok(Outcome::transfer(billing.as_str()));
            }
            match turn.delegate(billing.as_str(), turn.text()).await {
                Ok(done) => Ok::<_, Failure>(Outcome::reply(done.text())),
                Err(error) => Ok(Outcome::failed(format!("{error:?}"))),
            }
        }
    };
    let peers = Client::builder().credentials(exchange).peers();
    Server::new(card(), agent).auth(auth).peers(peers).data(folder).bind("127.0.0.1:0").await.unwrap()
}

fn folder(name: &str) -> std::path::PathBuf {
    let folder = std::env::temp_dir().join(format!("chancery-exchange-{name}-{}", std::process::id()));
    drop(std::fs::remove_dir_all(&folder));
    folder
}

fn exchange(issuer: &Issuer) -> Exchange {
    Exchange::at(format!("{}/token", issuer.peer.url), "triage", "s3cret").unwrap()
}

async fn ask(triage: &Running, secrets: Secrets, words: &str) -> String {
    let agent = Client::builder().credentials(secrets).connect(triage.url()).await.unwrap();
    agent.send(words).await.unwrap().text().trim().to_owned()
}

/// HO-50, HO-51, HO-52: what is delegated or handed over for a caller is done with a token of its own for that agent; the one that was
/// received reaches the issuer alone, and lies in no file. One exchange serves for all calls of a caller.
#[tokio::test]
async fn work_is_passed_on_with_a_token_that_is_exchanged() {
    let issuer = Issuer::start(3_600).await;
    let billing = Billing::start(&issuer).await;
    let folder = folder("passed");
    let own = Keyring::new().at(billing.running.url(), Secrets::new().api_key("k-31")).unwrap();
    let triage = triage(&issuer, billing.running.url(), exchange(&issuer).otherwise(own), &folder).await;
    let (ada, bob) = (issuer.token("ada"), issuer.token("bob"));
    for (token, name, words, exchanges) in [
        (&ada, "ada < triage", "delegate", 1),
        (&ada, "ada < triage", "delegate once more", 0),
        (&bob, "bob < triage", "delegate", 1),
        (&ada, "ada < triage", "hand over", 0),
    ] {
        assert_eq!(ask(&triage, Secrets::new().bearer(token.as_str()), words).await, name, "{words}");
        let asked = issuer.exchanges();
        // A call that takes its time is made again as a stream, and so may be the exchange that was under way.
        assert!(asked.len() == exchanges || exchanges == 1 && asked.len() == 2, "{words}: {}", asked.len());
        for asked in asked {
            let form = fields(&asked);
            assert_eq!((&form["subject_token"], form["resource"].as_str()), (token, billing.running.url()));
        }
        let given = issuer.given.lock().unwrap().clone();
        for reached in billing.reached() {
            assert!(given.contains(&reached.unwrap()), "{words}");
        }
    }
    // Who has no token to be exchanged: the agent calls with what is its own.
    assert_eq!(ask(&triage, Secrets::new().api_key("key of eve"), "delegate").await, "triage itself");
    let reached = billing.reached();
    assert!(issuer.exchanges().is_empty() && !reached.is_empty() && reached.iter().all(Option::is_none), "{reached:?}");
    // Who may not be acted for is not helped by the agent's own credentials.
    let refused = ask(&triage, Secrets::new().bearer(issuer.token("mallory")), "delegate").await;
    assert!(refused.contains("invalid_grant"), "{refused}");
    assert!(issuer.exchanges().len() == 1 && billing.reached().is_empty());
    triage.shutdown().await;
    let secrets: Vec<String> = [ada, bob].into_iter().chain(issuer.given.lock().unwrap().clone()).collect();
    let mut files = 0;
    for file in std::fs::read_dir(&folder).unwrap() {
        let bytes = std::fs::read(file.unwrap().path()).unwrap();
        let kept = secrets.iter().any(|secret| bytes.windows(secret.len()).any(|window| window == secret.as_bytes()));
        assert!(!kept, "a token was stored");
        files += 1;
    }
    assert!(files > 0);
    std::fs::remove_dir_all(&folder).unwrap();
}

/// HO-51: a token is kept until a minute before its end.
#[tokio::test]
async fn a_token_that_is_about_to_end_is_not_used_again() {
    for (life, expected) in [(59, 3), (90, 1)] {
        let issuer = Issuer::start(life).await;
        let billing = Billing::start(&issuer).await;
        let peers = Client::builder().credentials(exchange(&issuer)).peers();
        let peer = peers.peer(billing.running.url()).await.unwrap();
        // One token: the next would say another second.
        let token = issuer.token("ada");
        for _ in 0..3 {
            let caller = Caller::anonymous().presented(token.as_str());
            peer.operations.send_message(&caller, SendMessage::new("hi")).await.unwrap();
        }
        assert_eq!(issuer.exchanges().len(), expected, "tokens of {life} s");
    }
}

/// HO-51, LA-20: no more is asked for than the task may reach, and nothing at all when that is nothing.
#[tokio::test]
async fn an_exchange_asks_for_no_more_than_the_task_may_reach() {
    let issuer = Issuer::start(3_600).await;
    let billing = Billing::start(&issuer).await;
    let peers = Client::builder().credentials(exchange(&issuer).scope("order.read").scope("refund.write")).peers();
    let peer = peers.peer(billing.running.url()).await.unwrap();
    let token = issuer.token("ada");
    for (scope, expected) in [
        (None, Some("order.read refund.write")),
        (Some(json!({})), Some("order.read refund.write")),
        (Some(json!({"scopes": ["*"]})), Some("order.read refund.write")),
        (Some(json!({"scopes": ["order.*"]})), Some("order.read")),
        (Some(json!({"scopes": ["order.*", "invoice.read"]})), Some("order.read invoice.read")),
        (Some(json!({"scopes": ["invoice.*"]})), None),
        (Some(json!({"scopes": []})), None),
        (Some(json!({"scopes": 7})), None),
    ] {
        let mut caller = Caller::anonymous();
        let within = scope.as_ref().map(|scope| Object::from(scope.as_object().unwrap().clone()));
        caller.identity_mut().presented = Some(Presented::new(token.clone()).within(within.as_ref()).into());
        let sent = peer.operations.send_message(&caller, SendMessage::new("hi")).await;
        assert_eq!(sent.is_ok(), expected.is_some(), "{scope:?} {sent:?}");
        // What was asked for before is at hand.
        if let Some(asked) = issuer.exchanges().first() {
            assert_eq!(fields(asked).get("scope").map(String::as_str), expected, "{scope:?}");
        }
    }
    assert_eq!(issuer.given.lock().unwrap().len(), 3);
}
