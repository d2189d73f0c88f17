//! Credentials: where the card wants them, and nowhere else.

use std::sync::{
    Arc, Mutex,
    atomic::{AtomicUsize, Ordering},
};

use chancery_client::{
    Builder, Client, Credential, CredentialKind, CredentialRequest, Credentials, Keyring, Notice, Observer, Secrets, Trouble, TroubleKind,
    Wire,
};
use chancery_core::{
    Binding, Card, ErrorKind, Result, SecurityRequirement, SecurityScheme, Version,
    security::{ApiKeyLocation, ApiKeyScheme, HttpAuthScheme, MutualTlsScheme, OpenIdConnectScheme},
};

use crate::{
    agent::{card as obedient_card, obedient},
    peer::{Peer, json_response},
};

fn key(location: ApiKeyLocation, name: &str) -> SecurityScheme {
    SecurityScheme::ApiKey(ApiKeyScheme::new(location, name))
}

fn http(scheme: &str) -> SecurityScheme {
    SecurityScheme::HttpAuth(HttpAuthScheme::new(scheme, ""))
}

/// A card with these schemes, one of which is enough, in this order.
fn demanding(card: Card, schemes: &[(&str, SecurityScheme)]) -> Card {
    schemes.iter().fold(card, |card, (name, scheme)| {
        card.security_scheme(*name, scheme.clone()).require(SecurityRequirement::new().and(*name, [""; 0]))
    })
}

fn all_secrets() -> Secrets {
    Secrets::new().bearer("token-1").api_key("key 1&").basic("ada", "pass:word")
}

/// Keeps the notices, and all that was shown, as text.
#[derive(Default)]
pub struct Witness {
    pub notices: Mutex<Vec<Notice>>,
    pub shown: Mutex<String>,
}

impl Observer for Witness {
    fn see(&self, wire: &Wire<'_>) {
        if let Wire::Notice(notice) = wire {
            self.notices.lock().unwrap().push(notice.clone());
        }
        self.shown.lock().unwrap().push_str(&format!("{wire:?}\n"));
    }
}

impl Witness {
    pub fn notices(&self) -> Vec<Notice> {
        self.notices.lock().unwrap().clone()
    }
}

/// V10-AUTH-003: each scheme with the header or the place where its credential must be. The card itself is asked for
/// without any.
#[tokio::test]
async fn every_scheme_puts_its_credential_where_it_says() {
    let oidc = SecurityScheme::OpenIdConnect(OpenIdConnectScheme::new("https://id.example/.well-known/openid-configuration"));
    for (scheme, header, query) in [
        (key(ApiKeyLocation::Header, "X-Key"), Some(("x-key", "key 1&")), None),
        (key(ApiKeyLocation::Query, "key"), None, Some("key=key+1%26")),
        (key(ApiKeyLocation::Cookie, "session"), Some(("cookie", "session=key 1&")), None),
        (http("bearer"), Some(("authorization", "Bearer token-1")), None),
        (http("Basic"), Some(("authorization", "Basic YWRhOnBhc3M6d29yZA==")), None),
        (oidc, Some(("authorization", "Bearer token-1")), None),
    ] {
        let peer = Peer::agent(|card| demanding(card, &[("only", scheme.clone())])).await;
        let witness = Arc::new(Witness::default());
        let builder = Client::builder().credentials(all_secrets()).observer(witness.clone());
        assert_eq!(builder.connect(&peer.url).await.unwrap().send("hi").await.unwrap().text(), "hello");
        let asked = peer.asked();
        let (card, call) = (&asked[0], asked.last().unwrap());
        for name in ["authorization", "cookie", "x-key"] {
            assert_eq!(card.header(name), None, "{scheme:?}");
            let expected = header.filter(|(at, _)| *at == name).map(|(_, value)| value);
            assert_eq!(call.header(name), expected, "{scheme:?}");
        }
        assert_eq!((card.uri.query(), call.uri.query()), (None, query), "{scheme:?}");
        let shown = witness.shown.lock().unwrap().clone();
        for secret in ["token-1", "key 1&", "key+1%26", "YWRhOnBhc3M6d29yZA", "pass:word"] {
            assert!(!shown.contains(secret), "{secret} is shown: {shown}");
            assert!(!format!("{builder:?}").contains(secret), "{secret} is shown");
        }
    }
}

/// A card with an interface elsewhere, which wants a token or would take one.
fn leading_to(elsewhere: &Peer, demands: bool) -> impl FnOnce(Card) -> Card {
    let url = elsewhere.url.clone();
    move |mut card| {
        card.supported_interfaces.clear();
        let card = card.interface(url, Binding::JsonRpc, Version::V1_0);
        if demands { demanding(card, &[("token", http("bearer"))]) } else { card.security_scheme("token", http("bearer")) }
    }
}

/// An interface on another origin than the card's is shown credentials only if their owner has named it.
#[tokio::test]
async fn credentials_go_to_the_origin_of_the_card_and_to_those_that_are_named() {
    let elsewhere = Peer::agent(|card| card).await;
    let peer = Peer::agent(leading_to(&elsewhere, true)).await;
    let secrets = || Secrets::new().bearer("token-1");
    let other = Keyring::new().at(&peer.url, secrets()).unwrap();
    for builder in [
        Client::builder().credentials(secrets()),
        Client::builder().credentials(other.clone()),
        Client::builder().header("authorization", "Bearer token-1").unwrap(),
        Client::builder().header("cookie", "session=1").unwrap().credentials(secrets()),
    ] {
        let error = builder.connect(&peer.url).await.unwrap().send("hi").await.unwrap_err();
        let kind = Trouble::of(&error).map(Trouble::kind);
        assert_eq!((error.kind(), kind), (ErrorKind::Unauthenticated, Some(TroubleKind::CredentialsWithheld)), "{error:?}");
        for words in [peer.url.as_str(), elsewhere.url.as_str(), "Keyring::at"] {
            assert!(error.to_string().contains(words), "{words}: {error}");
        }
    }
    assert!(elsewhere.calls().is_empty());
    let named = other.at(&elsewhere.url, secrets()).unwrap();
    Client::builder().credentials(named).connect(&peer.url).await.unwrap().send("hi").await.unwrap();
    assert_eq!(elsewhere.calls().remove(0).header("authorization"), Some("Bearer token-1"));
}

/// What is not demanded is left out.
#[tokio::test]
async fn credentials_that_nobody_demands_are_not_shown_elsewhere() {
    let elsewhere = Peer::agent(|card| card).await;
    let peer = Peer::agent(leading_to(&elsewhere, false)).await;
    let witness = Arc::new(Witness::default());
    let builder = Client::builder().credentials(Secrets::new().bearer("token-1")).observer(witness.clone());
    builder.connect(&peer.url).await.unwrap().send("hi").await.unwrap();
    assert_eq!(elsewhere.calls().remove(0).header("authorization"), None);
    assert_eq!(witness.notices(), [Notice::Withheld { origin: elsewhere.url.clone() }]);
}

/// Neither a card that came over TLS, nor an interface that cannot be reached, leads credentials away.
#[tokio::test]
async fn credentials_do_not_go_down_to_http_or_over_to_another_interface() {
    let peer = Peer::agent(|card| card).await;
    let text = |card: &Card| serde_json::to_vec(&demanding(card.clone(), &[("token", http("bearer"))])).unwrap();
    let builder = Client::builder().credentials(Secrets::new().bearer("token-1"));
    let card = Card::new("Told", "Says hello").interface(&peer.url, Binding::JsonRpc, Version::V1_0);
    let secure = peer.url.replace("http://", "https://");
    let mut errors = vec![builder.connect_card(&text(&card), Some(&secure)).unwrap().send("hi").await.unwrap_err()];
    let gone = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    let gone = format!("http://{gone}");
    let two = Card::new("Two", "Has two ways").interface(&gone, Binding::JsonRpc, Version::V1_0);
    let two = two.interface(&peer.url, Binding::JsonRpc, Version::V1_0);
    errors.push(builder.connect_card(&text(&two), Some(&gone)).unwrap().send("hi").await.unwrap_err());
    for error in errors {
        assert_eq!(Trouble::of(&error).map(Trouble::kind), Some(TroubleKind::CredentialsWithheld), "{error:?}");
    }
    assert!(peer.calls().is_empty());
    // A card of which nobody says where it came from is its user's own word.
    builder.connect_card(&text(&card), None).unwrap().send("hi").await.unwrap();
    assert_eq!(peer.calls().remove(0).header("authorization"), Some("Bearer token-1"));
}

#[tokio::test]
async fn the_first_requirement_that_can_be_met_is_met() {
    let schemes = [("oauth", http("bearer")), ("key", key(ApiKeyLocation::Header, "X-Key"))];
    let peer = Peer::agent(|card| demanding(card, &schemes)).await;
    let send = async |secrets: Secrets| {
        Client::builder().credentials(secrets).connect(&peer.url).await.unwrap().send("hi").await.map(|_| peer.calls().remove(0))
    };
    let both = send(Secrets::new().api_key("k").bearer("t")).await.unwrap();
    assert_eq!((both.header("authorization"), both.header("x-key")), (Some("Bearer t"), None));
    let second = send(Secrets::new().api_key("k").basic("a", "b")).await.unwrap();
    assert_eq!((second.header("authorization"), second.header("x-key")), (None, Some("k")));
    let named = send(Secrets::new().bearer("t").for_scheme("oauth", Credential::Bearer("mine".into()))).await.unwrap();
    assert_eq!(named.header("authorization"), Some("Bearer mine"));
}

#[tokio::test]
async fn all_schemes_of_a_requirement_are_needed() {
    let together = SecurityRequirement::new().and("key", [""; 0]).and("token", [""; 0]);
    let change = |card: Card| {
        let card = card.security_scheme("key", key(ApiKeyLocation::Header, "X-Key")).security_scheme("token", http("bearer"));
        card.require(together.clone())
    };
    let peer = Peer::agent(change).await;
    let builder = |secrets| Client::builder().credentials(secrets);
    builder(Secrets::new().bearer("t").api_key("k")).connect(&peer.url).await.unwrap().send("hi").await.unwrap();
    let call = peer.calls().remove(0);
    assert_eq!((call.header("authorization"), call.header("x-key")), (Some("Bearer t"), Some("k")));
    let error = builder(Secrets::new().bearer("t")).connect(&peer.url).await.unwrap().send("hi").await.unwrap_err();
    assert_eq!(Trouble::of(&error).map(Trouble::kind), Some(TroubleKind::CredentialsMissing), "{error:?}");
}

#[tokio::test]
async fn missing_credentials_are_an_error_before_anything_is_sent() {
    let certificate = SecurityScheme::MutualTls(MutualTlsScheme::default());
    let peer = Peer::agent(|card| demanding(card, &[("oauth", http("bearer")), ("cert", certificate)])).await;
    let agent = Client::builder().credentials(Secrets::new().basic("a", "b")).connect(&peer.url).await.unwrap();
    let error = agent.send("hi").await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unauthenticated);
    assert_eq!(Trouble::of(&error).map(Trouble::kind), Some(TroubleKind::CredentialsMissing), "{error:?}");
    assert!(error.to_string().contains("oauth, or cert"), "{error}");
    assert!(peer.calls().is_empty());
}

#[tokio::test]
async fn a_credential_that_the_card_has_no_scheme_for_is_not_sent() {
    let witness = Arc::new(Witness::default());
    let builder = Client::builder().credentials(all_secrets()).observer(witness.clone());
    let peer = Peer::agent(|card| card).await;
    builder.connect(&peer.url).await.unwrap().send("hi").await.unwrap();
    assert_eq!(peer.calls().remove(0).header("authorization"), None);
    let kinds = [CredentialKind::Bearer, CredentialKind::ApiKey, CredentialKind::Basic];
    assert_eq!(witness.notices(), kinds.map(Notice::UnusedCredential));
}

/// A card that demands nothing of everybody may still have a scheme, for its extended card.
#[tokio::test]
async fn a_scheme_that_is_not_demanded_is_used_if_it_can_be() {
    let peer = Peer::agent(|card| card.security_scheme("token", http("bearer"))).await;
    let send = async |builder: Builder| {
        builder.connect(&peer.url).await.unwrap().send("hi").await.unwrap();
        peer.calls().remove(0).header("authorization").map(str::to_owned)
    };
    assert_eq!(send(Client::builder().credentials(Secrets::new().bearer("t"))).await.as_deref(), Some("Bearer t"));
    assert_eq!(send(Client::builder().credentials(Secrets::new())).await, None);
}

#[tokio::test]
async fn without_a_card_credentials_are_where_they_usually_are() {
    let peer = Peer::agent(|card| card).await;
    let agent = Client::builder().credentials(all_secrets()).over(Binding::JsonRpc, Version::V1_0, &peer.url).unwrap();
    agent.send("hi").await.unwrap();
    let call = peer.calls().remove(0);
    assert_eq!((call.header("authorization"), call.header("x-api-key")), (Some("Bearer token-1"), Some("key 1&")));
}

/// V10-AUTH-003 over gRPC, where every key is metadata.
#[tokio::test]
async fn over_grpc_keys_are_metadata() {
    let server =
        chancery::Server::new(obedient_card(), obedient).store(chancery_engine::store::Memory::new()).bind("127.0.0.1:0").await.unwrap();
    for location in [ApiKeyLocation::Header, ApiKeyLocation::Query, ApiKeyLocation::Cookie] {
        let mut card = obedient_card().interface(server.local_addr().to_string(), Binding::Grpc, Version::V1_0);
        card = demanding(card, &[("key", key(location, "X-Key"))]);
        let witness = Arc::new(Witness::default());
        let builder = Client::builder().credentials(Secrets::new().api_key("k-1")).observer(witness.clone());
        let card = serde_json::to_vec(&card).unwrap();
        let agent = builder.connect_card(&card, Some(server.url())).unwrap();
        assert_eq!(agent.binding(), Binding::Grpc);
        assert_eq!(agent.send("reply yes").await.unwrap().text(), "yes");
        let shown = witness.shown.lock().unwrap().clone();
        assert!(shown.contains(r#""x-key": Sensitive"#) && shown.contains("lf.a2a.v1.A2AService/SendMessage"), "{shown}");
    }
    server.shutdown().await;
}

/// A token that has run out once.
struct Renewing {
    renewed: AtomicUsize,
}

#[async_trait::async_trait]
impl Credentials for Renewing {
    async fn credential(&self, asked: &CredentialRequest<'_>) -> Result<Option<Credential>> {
        assert!(asked.declared && asked.origin.starts_with("http://127.0.0.1"), "{asked:?}");
        Ok(Some(Credential::Bearer(format!("t-{}", self.renewed.load(Ordering::SeqCst)).into())))
    }

    async fn renew(&self, _: &CredentialRequest<'_>) -> Result<bool> {
        Ok(self.renewed.fetch_add(1, Ordering::SeqCst) < 1)
    }
}

#[tokio::test]
async fn a_token_that_has_run_out_is_renewed_once() {
    let cards = Arc::new(Mutex::new(Vec::new()));
    let card = cards.clone();
    let peer = Peer::start(move |asked| match asked.header("authorization") {
        _ if asked.method == "GET" => json_response(200, &card.lock().unwrap()),
        Some("Bearer t-1") => json_response(200, &crate::peer::hello(asked)),
        _ => json_response(401, br#"{"error":"expired"}"#),
    })
    .await;
    let told = Card::new("Told", "Says hello").interface(&peer.url, Binding::JsonRpc, Version::V1_0);
    *cards.lock().unwrap() = serde_json::to_vec(&demanding(told, &[("token", http("bearer"))])).unwrap();
    let purse = Arc::new(Renewing { renewed: AtomicUsize::new(0) });
    let agent = Client::builder().credentials(purse.clone()).connect(&peer.url).await.unwrap();
    assert_eq!(agent.send("hi").await.unwrap().text(), "hello");
    assert_eq!(peer.calls().len(), 2);
    purse.renewed.store(5, Ordering::SeqCst);
    let error = agent.send("hi").await.unwrap_err();
    let trouble = Trouble::of(&error).unwrap();
    assert_eq!((trouble.kind(), trouble.status()), (TroubleKind::Refused, Some(401)), "{error:?}");
    assert_eq!(peer.calls().len(), 1);
}
