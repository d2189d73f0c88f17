//! Tokens of an issuer: the good ones, every bad one, and keys that change.

use std::time::Duration;

use chancery::{
    Auth, Running, Server,
    auth::{Algorithm, Jwt, Scheme},
};
use serde_json::{Value, json};

use super::{
    HI, card, greeter, heard,
    issuer::{Issuer, Key, now, unsigned},
    send,
};
use chancery_engine::store::Memory;

async fn serve(jwt: Jwt) -> Running {
    let auth = Auth::new().scheme("oidc", Scheme::jwt(jwt));
    Server::new(card(), greeter).auth(auth).store(Memory::new()).bind("127.0.0.1:0").await.unwrap()
}

async fn shown(running: &Running, token: &str) -> String {
    heard(running, "/message:send", &[("authorization", &format!("Bearer {token}"))]).await
}

fn changed(claims: &Value, change: impl FnOnce(&mut serde_json::Map<String, Value>)) -> Value {
    let mut claims = claims.clone();
    change(claims.as_object_mut().unwrap());
    claims
}

#[tokio::test]
async fn tokens_of_every_kind_of_key_are_taken_by_discovery() {
    let keys = [Key::rsa("r1"), Key::ec("e1"), Key::ed("d1")];
    let issuer = Issuer::start(&keys.each_ref()).await;
    let running = serve(Jwt::issuer(&issuer.url, ["other", "agents"])).await;
    for key in &keys {
        let expected = format!("{}#ada by oidc with [a,b]", issuer.url);
        assert_eq!(shown(&running, &key.token(&issuer.claims())).await, expected, "{}", key.algorithm());
    }
    // An array for an audience or for scopes is the same, and a token need not name its key.
    let claims = changed(&issuer.claims(), |claims| {
        claims.insert("aud".to_owned(), json!(["x", "agents"]));
        claims.remove("scope");
        claims.insert("scp".to_owned(), json!(["c"]));
    });
    let token = keys[1].token_with(&json!({"alg": "ES256"}), &claims);
    assert_eq!(shown(&running, &token).await, format!("{}#ada by oidc with [c]", issuer.url));
    assert_eq!(issuer.fetches(), 1);
    let card = send(&running, "GET", "/.well-known/agent-card.json", &[("a2a-version", "1.0")], "").await.json();
    let url = format!("{}/.well-known/openid-configuration", issuer.url);
    assert_eq!(card["securitySchemes"], json!({"oidc": {"openIdConnectSecurityScheme": {"openIdConnectUrl": url}}}));
}

/// Issuer, audience, expiry and subject must be there and right; the algorithm is that of the key; the clocks may be apart
/// by the leeway and no more.
#[tokio::test]
async fn every_bad_token_is_refused() {
    let (rsa, ec, stranger) = (Key::rsa("r1"), Key::ec("e1"), Key::rsa("r1"));
    let issuer = Issuer::start(&[&rsa, &ec]).await;
    let running = serve(Jwt::issuer(&issuer.url, ["agents"]).leeway(Duration::from_secs(30))).await;
    let good = issuer.claims();
    let with = |name: &str, value: Value| changed(&good, |claims| drop(claims.insert(name.to_owned(), value)));
    let without = |name: &str| changed(&good, |claims| drop(claims.remove(name)));
    let header = json!({"alg": "RS256", "kid": "r1"});
    let modulus = rsa.public()["n"].as_str().unwrap().to_owned();
    let ok = format!("{}#ada by oidc with [a,b]", issuer.url);
    let tokens = [
        ("good", rsa.token(&good), true),
        ("expired within the leeway", rsa.token(&with("exp", json!(now() - 20))), true),
        ("not valid yet within the leeway", rsa.token(&with("nbf", json!(now() + 20))), true),
        ("without nbf", rsa.token(&without("nbf")), true),
        ("expired", rsa.token(&with("exp", json!(now() - 61))), false),
        ("not valid yet", rsa.token(&with("nbf", json!(now() + 61))), false),
        ("exp is text", rsa.token(&with("exp", json!((now() + 300).to_string()))), false),
        ("nbf is text", rsa.token(&with("nbf", json!("0"))), false),
        ("no exp", rsa.token(&without("exp")), false),
        ("no aud", rsa.token(&without("aud")), false),
        ("no iss", rsa.token(&without("iss")), false),
        ("no sub", rsa.token(&without("sub")), false),
        ("empty sub", rsa.token(&with("sub", json!(""))), false),
        ("wrong aud", rsa.token(&with("aud", json!("others"))), false),
        ("wrong iss", rsa.token(&with("iss", json!("https://evil.example"))), false),
        ("a list of issuers", rsa.token(&with("iss", json!(["https://evil.example", issuer.url]))), false),
        ("alg none", unsigned(&json!({"alg": "none"}), &good), false),
        ("alg None with a key", unsigned(&json!({"alg": "None", "kid": "r1"}), &good), false),
        ("no signature", unsigned(&header, &good), false),
        ("HS256 with the public key", rsa.confused(&json!({"alg": "HS256", "kid": "r1"}), &good, modulus.as_bytes()), false),
        ("HS256 with a secret of the set", rsa.confused(&json!({"alg": "HS256", "kid": "secret"}), &good, b"secret"), false),
        ("HS256 without a key id", rsa.confused(&json!({"alg": "HS256"}), &good, modulus.as_bytes()), false),
        ("the key of somebody else", stranger.token(&good), false),
        ("the algorithm of another key", rsa.token_with(&json!({"alg": "ES256", "kid": "r1"}), &good), false),
        ("the id of another key", rsa.token_with(&json!({"alg": "RS256", "kid": "e1"}), &good), false),
        ("a demand that is not known", rsa.token_with(&json!({"alg": "RS256", "kid": "r1", "crit": ["exp"]}), &good), false),
        ("a key of its own", stranger.token_with(&json!({"alg": "RS256", "jwk": stranger.public()}), &good), false),
        ("keys of its own", stranger.token_with(&json!({"alg": "RS256", "kid": "r9", "jku": "http://127.0.0.1:1/"}), &good), false),
        ("claims that are no object", rsa.token(&json!([1])), false),
        ("no token", "x.y.z".to_owned(), false),
        ("no JWT", "opaque".to_owned(), false),
    ];
    for (name, token, good) in &tokens {
        assert_eq!(shown(&running, token).await, if *good { ok.as_str() } else { "401" }, "{name}");
    }
    println!(
        "{} tokens: {} taken, {} refused",
        tokens.len(),
        tokens.iter().filter(|t| t.2).count(),
        tokens.iter().filter(|t| !t.2).count()
    );
    let only = serve(Jwt::issuer(&issuer.url, ["agents"]).algorithms([Algorithm::ES256]).prefix("")).await;
    assert_eq!(shown(&only, &rsa.token(&good)).await, "401");
    assert_eq!(shown(&only, &ec.token(&good)).await, "ada by oidc with [a,b]");
}

/// V10-SEC-008: a new key works as soon as it is used, and one that was taken out does not once the set was fetched again.
#[tokio::test]
async fn keys_change_while_the_server_runs() {
    let (old, new) = (Key::rsa("old"), Key::ec("new"));
    let issuer = Issuer::start(&[&old]).await;
    let jwt = Jwt::issuer(&issuer.url, ["agents"]).pause(Duration::ZERO);
    let running = serve(jwt).await;
    let ok = format!("{}#ada by oidc with [a,b]", issuer.url);
    assert_eq!(shown(&running, &old.token(&issuer.claims())).await, ok);
    issuer.publish(&[&old, &new]);
    assert_eq!(shown(&running, &new.token(&issuer.claims())).await, ok);
    assert_eq!(shown(&running, &old.token(&issuer.claims())).await, ok);
    assert_eq!(issuer.fetches(), 2);
    issuer.publish(&[&new]);
    // A key that is not there makes the set be fetched; from then on the old one is gone.
    assert_eq!(shown(&running, &Key::ed("never").token(&issuer.claims())).await, "401");
    assert_eq!(shown(&running, &old.token(&issuer.claims())).await, "401");
    assert_eq!(shown(&running, &new.token(&issuer.claims())).await, ok);
}

/// However many tokens name keys that are not there, the issuer is asked once in a minute.
#[tokio::test(flavor = "multi_thread")]
async fn a_flood_of_unknown_keys_fetches_once() {
    let key = Key::ec("k");
    let issuer = Issuer::start(&[&key]).await;
    let running = serve(Jwt::issuer(&issuer.url, ["agents"])).await;
    assert!(shown(&running, &key.token(&issuer.claims())).await.ends_with("[a,b]"));
    assert_eq!(issuer.fetches(), 1);
    let client = reqwest::Client::new();
    let mut asking = tokio::task::JoinSet::new();
    for number in 0..300 {
        let token = key.token_with(&json!({"alg": "ES256", "kid": format!("k{number}")}), &issuer.claims());
        let request = client.post(format!("{}/message:send", running.url())).header("a2a-version", "1.0").bearer_auth(token).body(HI);
        asking.spawn(async move { request.send().await.unwrap().status().as_u16() });
    }
    let statuses = asking.join_all().await;
    assert!(statuses.iter().all(|status| *status == 401), "{statuses:?}");
    println!("300 tokens with unknown keys: {} fetches", issuer.fetches());
    // The first fetch was less than a minute ago, so that not even one more is made.
    assert_eq!(issuer.fetches(), 1);
    assert!(shown(&running, &key.token(&issuer.claims())).await.ends_with("[a,b]"));
}

/// Without keys nobody can be told from anybody: the caller is asked to come back, and not told that it is wrong.
#[tokio::test]
async fn an_issuer_that_is_away_is_not_the_callers_fault() {
    let key = Key::ec("k");
    let issuer = Issuer::start(&[&key]).await;
    let running = serve(Jwt::issuer("http://127.0.0.1:1", ["agents"])).await;
    assert_eq!(shown(&running, &key.token(&issuer.claims())).await, "503");
    // A document of somebody else is not believed.
    let other = Issuer::start(&[&key]).await;
    let running = serve(Jwt::issuer(format!("{}/tenant", other.url), ["agents"])).await;
    assert_eq!(shown(&running, &key.token(&issuer.claims())).await, "503");
}

/// P9: the keys of an issuer are fetched through the address guard.
#[tokio::test]
async fn keys_are_not_fetched_from_private_addresses() {
    let key = Key::ec("k");
    let issuer = Issuer::start(&[&key]).await;
    // A server for the world does not let its own neighbors be called.
    let auth = Auth::new().scheme("oidc", Scheme::jwt(Jwt::issuer(&issuer.url, ["agents"])));
    let running = Server::new(card(), greeter).auth(auth).store(Memory::new()).bind("0.0.0.0:0").await.unwrap();
    let url = format!("http://127.0.0.1:{}/message:send", running.local_addr().port());
    let request = reqwest::Client::new().post(url).header("a2a-version", "1.0").bearer_auth(key.token(&issuer.claims())).body(HI);
    assert_eq!(request.send().await.unwrap().status(), 503);
    assert_eq!(issuer.fetches(), 0);
}

#[tokio::test]
async fn keys_in_a_file_are_read_again_when_a_token_names_another() {
    let (first, second) = (Key::ed("first"), Key::ed("second"));
    let file = std::env::temp_dir().join(format!("chancery-jwks-{}.json", std::process::id()));
    let write = |keys: &[&Key]| {
        let keys: Vec<_> = keys.iter().map(|key| key.public()).collect();
        std::fs::write(&file, json!({"keys": keys}).to_string()).unwrap();
    };
    write(&[&first]);
    let jwt = Jwt::issuer("https://id.example", ["agents"]).keys_in(&file).pause(Duration::ZERO).prefix("id/");
    let running = serve(jwt).await;
    let claims = json!({"iss": "https://id.example", "aud": "agents", "sub": "ada", "exp": now() + 60});
    assert_eq!(shown(&running, &first.token(&claims)).await, "id/ada by oidc with []");
    assert_eq!(shown(&running, &second.token(&claims)).await, "401");
    write(&[&first, &second]);
    assert_eq!(shown(&running, &second.token(&claims)).await, "id/ada by oidc with []");
    std::fs::remove_file(&file).unwrap();
}
