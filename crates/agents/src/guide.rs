//! The examples of docs/guide/security.md, served and called as they stand.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, OnceLock},
};

use aws_lc_rs::signature::{Ed25519KeyPair, KeyPair as _};
use base64::{
    Engine as _,
    prelude::{BASE64_STANDARD, BASE64_URL_SAFE_NO_PAD},
};
use chancery::{
    Failure, Memory, Outcome, Server, Turn,
    auth::{Jwt, Scheme},
};
use chancery_client::{Client, Secrets};
use chancery_core::{Bytes, Caller, Card, Operations as _, SendMessage};
use serde_json::{Value, json};

use chancery_config::Config;

use crate::{Served, folder::Folder, tests::bind};

const HI: &str = r#"{"message":{"messageId":"1","role":"ROLE_USER","parts":[{"text":"hi"}]}}"#;

/// The issuer whose tokens the examples take.
struct Issuer(Ed25519KeyPair);

impl Issuer {
    /// Its public keys are in the folder, where the examples look for them.
    fn new(folder: &Folder) -> Self {
        let pair = Ed25519KeyPair::generate().unwrap();
        let jwk = json!({"kty": "OKP", "crv": "Ed25519", "kid": "k", "x": BASE64_URL_SAFE_NO_PAD.encode(pair.public_key())});
        folder.write("keys.json", &json!({"keys": [jwk]}).to_string());
        Self(pair)
    }

    /// A token for somebody, with these claims besides.
    fn token(&self, audience: &str, more: Value) -> String {
        let mut claims = json!({"iss": "https://id.example.com", "aud": audience, "sub": "eve", "exp": 4_000_000_000_u64});
        claims.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let parts = [r#"{"alg":"EdDSA","kid":"k"}"#.to_owned(), claims.to_string()].map(|part| BASE64_URL_SAFE_NO_PAD.encode(part));
        let message = parts.join(".");
        format!("{message}.{}", BASE64_URL_SAFE_NO_PAD.encode(self.0.sign(message.as_bytes())))
    }

    fn bearer(&self, more: Value) -> String {
        format!("Bearer {}", self.token("agents", more))
    }
}

fn examples() -> Vec<&'static str> {
    let guide = include_str!("../../../docs/guide/security.md");
    guide.split("```toml\n").skip(1).map(|rest| rest.split("```").next().unwrap()).collect()
}

/// The example with these words.
fn example(words: &str) -> &'static str {
    examples().into_iter().find(|text| text.contains(words)).unwrap()
}

fn read(folder: &Folder, text: &str) -> Config {
    let variables = [("ADA_KEY", "key of ada"), ("CI_TOKEN", "token of ci"), ("TRIAGE_SECRET", "the secret")];
    let variables = variables.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
    let config = Config::parse(&folder.path("a2a.toml"), text, &variables).unwrap_or_else(|problem| panic!("{problem}"));
    config.check().unwrap();
    config
}

async fn post(client: &reqwest::Client, running: &Served, path: &str, headers: &[(&str, String)]) -> reqwest::Result<u16> {
    let url = format!("{}{}/message:send", running.url(), path.trim_end_matches('/'));
    let request = client.post(url).header("a2a-version", "1.0").header("content-type", "application/json").body(HI);
    let request = headers.iter().fold(request, |request, (name, value)| request.header(*name, value));
    request.send().await.map(|answer| answer.status().as_u16())
}

/// V10-AUTH-001, V10-AUTH-004, HO-52: every example of the guide is served, and does what the guide says. Those with certificates and
/// with another agent have tests of their own.
#[tokio::test]
async fn the_examples_of_the_security_guide_work() {
    let folder = Folder::new();
    let issuer = Issuer::new(&folder);
    let basic = |text: &str| ("authorization", format!("Basic {}", BASE64_STANDARD.encode(text)));
    let (key, secret) = (("x-api-key", "key of ada".to_owned()), ("x-api-key", "secret".to_owned()));
    let bearer = |token: &str| ("authorization", format!("Bearer {token}"));
    let signed = |more: Value| ("authorization", issuer.bearer(more));
    let forged = ("authorization", issuer.bearer(json!({"scope": "agents.call"})) + "x");
    type Call<'a> = (&'a str, Vec<(&'a str, String)>, u16);
    // What each of them is called with, at which path, and the status.
    let calls: BTreeMap<usize, Vec<Call<'_>>> = [
        (0, vec![("/", vec![key.clone()], 200), ("/", vec![secret], 200), ("/", vec![("x-api-key", "else".to_owned())], 401)]),
        (1, vec![("/", vec![bearer("token of ci")], 200), ("/", vec![], 401)]),
        (
            2,
            vec![
                ("/", vec![signed(json!({"scope": "agents.call"}))], 200),
                ("/", vec![signed(json!({"scope": "other"}))], 403),
                ("/", vec![forged], 401),
            ],
        ),
        (3, vec![("/", vec![basic("ada:key of ada")], 200), ("/", vec![basic("ada:else")], 401)]),
        (
            5,
            vec![
                ("/private", vec![bearer("token of ci")], 200),
                ("/private", vec![key.clone()], 401),
                // A key and a password together, which may read and not write.
                ("/private", vec![key.clone(), basic("team:token of ci")], 403),
                ("/public", vec![], 200),
                ("/keys", vec![key], 403),
                ("/keys", vec![bearer("token of ci")], 401),
            ],
        ),
        (
            6,
            vec![
                ("/clerk", vec![bearer("token of ci")], 200),
                ("/clerk", vec![bearer("key of ada")], 200),
                ("/clerk", vec![bearer("secret")], 403),
                ("/clerk", vec![], 401),
                ("/desk", vec![bearer("secret")], 200),
            ],
        ),
        (
            7,
            vec![
                ("/", vec![signed(json!({}))], 200),
                ("/", vec![signed(json!({"act": {"sub": "triage"}}))], 200),
                ("/", vec![signed(json!({"act": {"sub": "evil"}}))], 403),
                ("/", vec![signed(json!({"act": {}}))], 401),
            ],
        ),
    ]
    .into();
    let examples = examples();
    assert_eq!(examples.len(), calls.len() + 2);
    assert!(examples[4].contains("client_ca") && examples[8].contains("[auth.exchange]"));
    for (at, calls) in calls {
        let running = bind(read(&folder, examples[at])).await;
        for (path, headers, status) in calls {
            let answered = post(&reqwest::Client::new(), &running, path, &headers).await.unwrap();
            assert_eq!(answered, status, "{path} {headers:?} of\n{}", examples[at]);
        }
        running.shutdown().await;
    }
}

/// V10-AUTH-004: the cards of the example say what its skills need, and show each caller its own.
#[tokio::test]
async fn the_cards_of_the_guide_say_what_skills_need() {
    let folder = Folder::new();
    let running = bind(read(&folder, example("name = \"clerk\""))).await;
    let card = async |path: &str, token: &str| -> Value {
        let request = reqwest::Client::new().get(format!("{}{path}", running.url())).header("a2a-version", "1.0").bearer_auth(token);
        serde_json::from_str(&request.send().await.unwrap().text().await.unwrap()).unwrap()
    };
    let public = card("/clerk/.well-known/agent-card.json", "").await;
    assert_eq!(public["skills"][0]["securityRequirements"], json!([{"schemes": {"bearer": {"list": ["refund.write"]}}}]));
    assert_eq!((public["skills"].as_array().unwrap().len(), &public["capabilities"]["extendedAgentCard"]), (2, &json!(true)));
    for (token, path, expected) in [
        ("token of ci", "/clerk", &["refund"][..]),
        ("key of ada", "/clerk", &["report"]),
        ("token of ci", "/desk", &["hello", "refund"]),
        ("secret", "/desk", &["hello"]),
    ] {
        let own = card(&format!("{path}/extendedAgentCard"), token).await;
        let skills: Vec<_> = own["skills"].as_array().unwrap().iter().map(|skill| skill["id"].as_str().unwrap()).collect();
        assert_eq!(skills, expected, "{path} {token}");
    }
    running.shutdown().await;
}

/// V10-AUTH-001: the example with client certificates, with certificates of its authority and of another one.
#[tokio::test]
async fn the_example_with_certificates_works() {
    use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa, KeyPair};
    let folder = Folder::new();
    let authority = || {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap()
    };
    let issue = |authority: &CertifiedIssuer<'static, KeyPair>, name: &str| {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.distinguished_name = DistinguishedName::new();
        params.distinguished_name.push(DnType::CommonName, name);
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        let key = KeyPair::generate().unwrap();
        let certificate = params.signed_by(&key, authority).unwrap();
        format!("{}\n{}", certificate.pem(), key.serialize_pem())
    };
    let own = rcgen::generate_simple_self_signed(vec!["localhost".to_owned(), "127.0.0.1".to_owned()]).unwrap();
    let (harbor, stranger) = (authority(), authority());
    folder.write("cert.pem", &own.cert.pem());
    folder.write("key.pem", &own.signing_key.serialize_pem());
    folder.write("ca.pem", &harbor.pem());
    let running = bind(read(&folder, example("client_ca"))).await;
    assert!(running.url().starts_with("https://"), "{}", running.url());
    for (papers, expected) in [
        (Some(issue(&harbor, "ada.harbor.example")), Some(200)),
        (Some(issue(&harbor, "bob.harbor.example")), Some(401)),
        (None, Some(401)),
        // The connection is not even made.
        (Some(issue(&stranger, "ada.harbor.example")), None),
    ] {
        let root = reqwest::Certificate::from_pem(own.cert.pem().as_bytes()).unwrap();
        let mut client = reqwest::Client::builder().tls_certs_only([root]);
        if let Some(papers) = papers {
            client = client.identity(reqwest::Identity::from_pem(papers.as_bytes()).unwrap());
        }
        let answered = post(&client.build().unwrap(), &running, "/", &[]).await;
        assert_eq!(answered.as_ref().ok(), expected.as_ref(), "{answered:?}");
    }
    running.shutdown().await;
}

/// HO-50, HO-51, HO-52: the example that exchanges tokens serves with them, and calls another agent with what it gets for one.
#[tokio::test]
async fn the_example_that_exchanges_tokens_works() {
    let folder = Folder::new();
    let issuer = Arc::new(Issuer::new(&folder));
    // The other agent says who called and who acted; the issuer's token endpoint is on the same port.
    let asked: Arc<Mutex<Vec<BTreeMap<String, String>>>> = Arc::default();
    let (exchanging, noted, url) = (issuer.clone(), asked.clone(), Arc::new(OnceLock::<String>::new()));
    let own = url.clone();
    let token = move |request: http::Request<Bytes>| {
        let form: BTreeMap<String, String> = url::form_urlencoded::parse(request.body()).into_owned().collect();
        let token = exchanging.token(own.get().unwrap(), json!({"act": {"sub": "triage"}, "scope": form["scope"]}));
        noted.lock().unwrap().push(form);
        let body = json!({"access_token": token, "token_type": "Bearer", "expires_in": 3_600}).to_string();
        std::future::ready(http::Response::builder().header("content-type", "application/json").body(body.into()).unwrap())
    };
    let witness = |turn: Turn| async move {
        let caller = turn.caller();
        let scopes = caller.identity().scopes.iter().cloned();
        let names = caller.identity().subject.iter().chain(&caller.identity().actors).cloned().chain(scopes);
        Ok::<_, Failure>(Outcome::reply(names.collect::<Vec<_>>().join(" ")))
    };
    let address = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    url.set(format!("http://{address}")).unwrap();
    let jwt = Jwt::issuer("https://id.example.com", [url.get().unwrap()]).keys_in(folder.path("keys.json")).prefix("");
    let card = Card::new("Billing", "Knows what is owed").skill("bill", "Bills");
    let billing = Server::new(card, witness).auth(chancery::Auth::new().scheme("oidc", Scheme::jwt(jwt))).route("/token", token);
    let billing = billing.store(Memory::new()).bind(address).await.unwrap();

    let text = example("[auth.exchange]").replace("https://id.example.com/token", &format!("{}/token", billing.url()));
    // The program asks the other agent, and answers with the line that it is told the result in.
    folder.script(
        "triage.sh",
        r#"while read -r line; do
  case "$line" in
    *'"type":"task"'*) echo '{"type":"delegate","call":1,"agent":"billing","text":"hi"}';;
    *'"type":"delegated"'*'eve triage invoice.read'*) echo '{"type":"status","state":"completed","text":"billing knows who asks"}';;
    *'"type":"delegated"'*) echo '{"type":"status","state":"failed","text":"billing does not"}';;
    *'"type":"shutdown"'*) exit 0;;
  esac
done
"#,
    );
    let config = read(&folder, &text.replace("https://billing.example.com", billing.url()));
    let received = issuer.token("triage", json!({}));
    let running = bind(config).await;
    let client = Client::builder().credentials(Secrets::new().bearer(received.as_str())).connect(running.url()).await.unwrap();
    let reply = client.send_message(&Caller::anonymous(), SendMessage::new("hi")).await.unwrap();
    let said = reply.task().and_then(|task| task.status.message.as_ref()).map(|message| message.text());
    assert_eq!(said.as_deref(), Some("billing knows who asks"), "{reply:?}");
    let asked = asked.lock().unwrap().clone();
    assert_eq!((asked.len(), &asked[0]["subject_token"], asked[0]["resource"].as_str()), (1, &received, billing.url()));
    running.shutdown().await;
    billing.shutdown().await;
}
