//! The tokens of a real identity provider: every way to get one, and every way in which one is not good enough.

use std::sync::{Arc, Mutex};

use chancery::{
    Server,
    auth::{Auth, Jwt, Scheme},
};
use chancery_client::{
    Client, Trouble,
    oauth::{Exchange, Flow, OAuth, Prompt, SignIn, Tokens},
};
use chancery_core::{Binding, ErrorKind, Version};
use chancery_engine::{Failure, Outcome, Turn, store::Memory};
use serde_json::json;

use super::provider::{AUDIENCE, Browser, Provider, call, card_of};
use crate::agent::card;

/// Says who has called.
async fn who(turn: Turn) -> Result<Outcome, Failure> {
    let caller = turn.caller();
    let scopes: Vec<_> = caller.identity().scopes.iter().map(String::as_str).collect();
    Ok(Outcome::reply(format!("{} {}", caller.identity().subject.as_deref().unwrap_or("nobody"), scopes.join(" "))))
}

/// V10-AUTH-001, V10-AUTH-003: client credentials in every binding; the issuer is found from the card.
#[tokio::test]
async fn a_client_gets_tokens_for_itself() {
    let Some(provider) = Provider::start().await else { return };
    let auth = Auth::new().scheme("oidc", Scheme::jwt(Jwt::issuer(&provider.issuer, [AUDIENCE])));
    let server = Server::new(card(), who).auth(auth).store(Memory::new()).bind("127.0.0.1:0").await.unwrap();
    for binding in [Binding::JsonRpc, Binding::HttpJson, Binding::Grpc] {
        let builder = Client::builder().bindings([binding]).versions([Version::V1_0]).credentials(provider.service());
        let agent = builder.connect(server.url()).await.unwrap();
        assert_eq!(agent.send("hi").await.unwrap().text(), format!("{}#service agents.call", provider.issuer));
    }
    // With the secret in the form; and tokens that last less than a minute are not used again.
    provider.counts().await;
    let poster = OAuth::new("poster").secret("posted").secret_in_form().issuer(&provider.issuer);
    let agent = Client::builder().credentials(poster).connect(server.url()).await.unwrap();
    agent.send("hi").await.unwrap();
    agent.send("hi").await.unwrap();
    assert_eq!(provider.counts().await.get("/token"), Some(&2));
    let wrong = OAuth::new("service").secret("guessed").issuer(&provider.issuer);
    let error = Client::builder().credentials(wrong).connect(server.url()).await.unwrap().send("hi").await.unwrap_err();
    assert!(error.kind() == ErrorKind::Unauthenticated && !format!("{error:?}").contains("guessed"), "{error:?}");
    server.shutdown().await;
}

/// A person confirms a code, with a browser that fills in the provider's pages.
#[tokio::test]
async fn a_person_confirms_a_device() {
    let Some(provider) = Provider::start().await else { return };
    let server = provider.serve(|jwt| jwt).await;
    let (sender, mut links) = tokio::sync::mpsc::unbounded_channel();
    let show = move |prompt: &Prompt<'_>| {
        if let Prompt::Confirm { complete: Some(url), .. } = prompt {
            sender.send((*url).to_owned()).unwrap();
        }
    };
    let oauth = OAuth::new("desk").issuer(&provider.issuer).scope("openid").scope("offline_access").scope("agents.call");
    let card = card_of(&server).await;
    let how = SignIn::new().flow(Flow::DeviceCode);
    let confirming = async {
        let page = Browser::new().walk(&links.recv().await.unwrap()).await;
        assert!(page.contains("Sign-in Success"), "{page}");
    };
    let (signed, ()) = tokio::join!(oauth.sign_in(&card, Some(server.url()), &how, &show), confirming);
    let signed = signed.unwrap();
    assert!(signed.is_renewable() && signed.scopes.contains("agents.call"), "{signed:?}");
    let agent = Client::builder().credentials(oauth).connect(server.url()).await.unwrap();
    assert_eq!(agent.send("reply yes").await.unwrap().text(), "yes");
    server.shutdown().await;
}

/// A browser goes there and comes back with a code, which PKCE binds to us; later the token is renewed with the provider's
/// rotating refresh tokens.
#[tokio::test]
async fn a_person_signs_in_with_a_browser_and_stays_so() {
    let Some(provider) = Provider::start().await else { return };
    let server = provider.serve(|jwt| jwt.pause(std::time::Duration::ZERO)).await;
    let folder = std::env::temp_dir().join(format!("chancery-oidc-{}", uuid::Uuid::now_v7()));
    let tokens = || Tokens::in_file(folder.join("tokens.json"));
    let (sender, mut links) = tokio::sync::mpsc::unbounded_channel();
    let show = move |prompt: &Prompt<'_>| {
        if let Prompt::Open { url } = prompt {
            sender.send((*url).to_owned()).unwrap();
        }
    };
    let oauth = OAuth::new("desk").issuer(&provider.issuer).scope("openid").scope("offline_access").scope("agents.call").tokens(tokens());
    let card = card_of(&server).await;
    let how = SignIn::new().flow(Flow::AuthorizationCode);
    let signing = async {
        let page = Browser::new().walk(&links.recv().await.unwrap()).await;
        assert!(page.contains("You are signed in"), "{page}");
    };
    let (signed, ()) = tokio::join!(oauth.sign_in(&card, Some(server.url()), &how, &show), signing);
    assert!(signed.unwrap().is_renewable());

    // Another process: it knows what is in the file, and nothing else.
    let agent = Client::builder().credentials(OAuth::signed_in(tokens())).connect(server.url()).await.unwrap();
    agent.send("hi").await.unwrap();
    provider.counts().await;
    // The key is changed, a new token has the server notice it, and the old token is not good any more: it is renewed.
    provider.rotate().await;
    let other = Client::builder().credentials(provider.service()).connect(server.url()).await.unwrap();
    other.send("hi").await.unwrap();
    provider.counts().await;
    agent.send("hi").await.unwrap();
    assert_eq!(provider.counts().await.get("/token"), Some(&1), "a refused token is renewed once");
    agent.send("hi").await.unwrap();
    assert_eq!(provider.counts().await.get("/token"), None);
    std::fs::remove_dir_all(folder).unwrap();
    server.shutdown().await;
}

/// The token of a caller is exchanged for one of another agent, which sees for whom the call is.
#[tokio::test]
async fn a_token_is_exchanged_on_behalf_of_its_subject() {
    let Some(provider) = Provider::start().await else { return };
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let origin = format!("http://{address}");
    // The other agent takes tokens that are for its own origin only.
    let auth = Auth::new().scheme("oidc", Scheme::jwt(Jwt::issuer(&provider.issuer, [origin.as_str()])));
    let server = Server::new(card(), who).auth(auth).store(Memory::new()).bind(address).await.unwrap();
    let received = provider.sign(json!({"sub": "ada"}), json!({})).await;
    assert!(call(&server, &received).await.is_err(), "a token for somebody else is not taken");
    let exchange = Exchange::at(format!("{}/token", provider.issuer), "service", "s3rv!ce:secret").unwrap();
    let agent = Client::builder().credentials(exchange.on_behalf_of(received.as_str())).connect(server.url()).await.unwrap();
    provider.counts().await;
    for _ in 0..3 {
        assert_eq!(agent.send("hi").await.unwrap().text().trim(), format!("{}#ada", provider.issuer));
    }
    assert_eq!(provider.counts().await.get("/token"), Some(&1));
    let forged = Client::builder().credentials(exchange.on_behalf_of("forged")).connect(server.url()).await.unwrap();
    assert!(forged.send("hi").await.unwrap_err().to_string().contains("invalid_grant"));
    server.shutdown().await;
}

/// V10-AUTH-001: tokens that are not good enough, each in its way, against the keys of a real provider.
#[tokio::test]
async fn bad_tokens_are_refused() {
    let Some(provider) = Provider::start().await else { return };
    let server = provider.serve(|jwt| jwt).await;
    let now = std::time::UNIX_EPOCH.elapsed().unwrap().as_secs();
    let good = [
        ("as usual", json!({}), json!({})),
        ("several audiences", json!({"aud": ["urn:other", AUDIENCE]}), json!({})),
        ("expired within the leeway", json!({"exp": now - 10}), json!({})),
        ("valid soon, within the leeway", json!({"nbf": now + 10}), json!({})),
    ];
    let bad = [
        ("expired", json!({"exp": now - 90}), json!({})),
        ("no expiry", json!({"exp": null}), json!({})),
        ("not valid yet", json!({"nbf": now + 90}), json!({})),
        ("for somebody else", json!({"aud": "urn:other"}), json!({})),
        ("for nobody", json!({"aud": null}), json!({})),
        ("of another issuer", json!({"iss": "https://evil.example"}), json!({})),
        ("without a subject", json!({"sub": null}), json!({})),
        ("not signed", json!({}), json!({"alg": "none"})),
        ("signed with the public key as a secret", json!({}), json!({"alg": "HS256"})),
        ("of an unknown key", json!({}), json!({"kid": "unknown"})),
    ];
    for (what, claims, how) in good {
        call(&server, &provider.sign(claims, how).await).await.unwrap_or_else(|error| panic!("{what}: {error:?}"));
    }
    for (what, claims, how) in bad {
        let error = call(&server, &provider.sign(claims, how).await).await.expect_err(what);
        assert_eq!(Trouble::of(&error).and_then(Trouble::status), Some(401), "{what}: {error:?}");
    }
    let token = provider.sign(json!({}), json!({})).await;
    let (content, signature) = token.rsplit_once('.').unwrap();
    let forged = format!("{content}.{}", signature.chars().rev().collect::<String>());
    assert!(call(&server, &forged).await.is_err());
    server.shutdown().await;
}

/// A flood of tokens with keys that nobody knows has the keys fetched once more, and no token of the provider is refused for it.
#[tokio::test]
async fn a_flood_of_unknown_keys_asks_the_provider_once() {
    let Some(provider) = Provider::start().await else { return };
    let server = Arc::new(provider.serve(|jwt| jwt).await);
    call(&server, &provider.sign(json!({}), json!({})).await).await.unwrap();
    provider.counts().await;
    let mut tokens = Vec::new();
    for number in 0..50 {
        tokens.push(provider.sign(json!({}), json!({"kid": format!("made-up-{number}")})).await);
    }
    let refused = Arc::new(Mutex::new(0));
    let mut calls = tokio::task::JoinSet::new();
    for token in tokens {
        let (server, refused) = (server.clone(), refused.clone());
        calls.spawn(async move {
            let error = call(&server, &token).await.unwrap_err();
            assert_eq!(Trouble::of(&error).and_then(Trouble::status), Some(401), "{error:?}");
            *refused.lock().unwrap() += 1;
        });
    }
    while let Some(done) = calls.join_next().await {
        done.unwrap();
    }
    assert_eq!(*refused.lock().unwrap(), 50);
    let fetched = provider.counts().await.get("/jwks").copied().unwrap_or_default();
    assert!(fetched <= 1, "{fetched} fetches");
    call(&server, &provider.sign(json!({}), json!({})).await).await.unwrap();
}
