//! OAuth 2.0 authorization server of the demo: signs people and clients in for `/secure`, by the book, without asking for a password.
//!
//! ```text
//!  /issuer/.well-known/openid-configuration, /issuer/jwks     who it is
//!  /issuer/token                                              client credentials, device code, code with PKCE, refresh
//!  /issuer/device                                             POST with a client: a code; in a browser: its confirmation
//!  /issuer/authorize                                          a browser comes, and is sent back with a code
//! ```

use std::{
    collections::BTreeMap,
    sync::{Arc, MutexGuard, OnceLock},
    time::Duration,
};

use aws_lc_rs::{
    digest::{SHA256, digest},
    signature::{Ed25519KeyPair, KeyPair as _},
};
use base64::{
    Engine as _,
    prelude::{BASE64_STANDARD, BASE64_URL_SAFE_NO_PAD},
};
use bytes::Bytes;
use chancery::auth::{Auth, Jwt, Scheme};
use chancery_core::{
    SecurityScheme,
    security::{ClientCredentialsFlow, DeviceCodeFlow, OAuth2Scheme, OAuthFlow, OpenIdConnectScheme, Scopes},
    sync::Mutex,
};
use chancery_engine::clock::{Clock as _, SystemClock};
use http::{HeaderValue, Method, Request, Response, StatusCode, header};
use serde_json::{Value, json};
use tokio::time::Instant;
use url::{Url, form_urlencoded};

use crate::{Error, Result};

/// Where it is.
pub(crate) const PATH: &str = "/issuer";
/// For whom its tokens are.
const AUDIENCE: &str = "demo";
/// The client that has a secret, and the secret: everybody who reads the manual knows both.
const CLIENT: (&str, &str) = ("ci", "demo");
/// Who signs in with a browser.
const PERSON: &str = "demo";
/// The scope that it gives.
const SCOPE: &str = "demo";
/// How long its tokens last.
const TOKEN: Duration = Duration::from_secs(3_600);
/// How long its codes last.
const CODE: Duration = Duration::from_secs(600);
/// How many seconds a client waits before it asks again whether a code is confirmed.
const INTERVAL: u64 = 1;
/// How many codes of a kind are kept.
const KEPT: usize = 1_000;

/// The issuer. Clones are the same one.
#[derive(Clone)]
pub(crate) struct Issuer(Arc<Inner>);

struct Inner {
    key: Ed25519KeyPair,
    /// What it is called, which is known when the server has its port.
    name: OnceLock<String>,
    pending: Mutex<Pending>,
}

/// What is under way.
#[derive(Default)]
struct Pending {
    /// Codes that a device waits for, by the code that a person confirms.
    devices: Shelf<Device>,
    /// Codes that a browser was sent back with.
    codes: Shelf<Code>,
    /// Tokens that renew, and whom.
    renewals: Shelf<Holder>,
}

struct Device {
    code: String,
    client: String,
    allowed: Option<bool>,
}

struct Code {
    client: String,
    redirect: String,
    challenge: String,
}

#[derive(Clone)]
struct Holder {
    subject: String,
    client: String,
}

/// Things that are gone after a while, the oldest first when there are too many.
pub(super) struct Shelf<T>(BTreeMap<String, (Instant, T)>);

impl<T> Default for Shelf<T> {
    fn default() -> Self {
        Self(BTreeMap::new())
    }
}

impl<T> Shelf<T> {
    pub(super) fn put(&mut self, name: String, thing: T, lasts: Duration) {
        let now = Instant::now();
        self.0.retain(|_, (end, _)| *end > now);
        if self.0.len() >= KEPT {
            let oldest = self.0.iter().min_by_key(|(_, (end, _))| *end).map(|(name, _)| name.clone());
            oldest.and_then(|name| self.0.remove(&name));
        }
        self.0.insert(name, (now + lasts, thing));
    }

    pub(super) fn look(&mut self, name: &str) -> Option<&mut T> {
        self.0.get_mut(name).filter(|(end, _)| *end > Instant::now()).map(|(_, thing)| thing)
    }

    fn take(&mut self, name: &str) -> Option<T> {
        self.0.remove(name).filter(|(end, _)| *end > Instant::now()).map(|(_, thing)| thing)
    }
}

/// The fields of a form or a query, each once.
struct Form(BTreeMap<String, String>);

impl Form {
    fn read(text: &[u8]) -> Self {
        Self(form_urlencoded::parse(text).into_owned().collect())
    }

    fn field(&self, name: &str) -> &str {
        self.0.get(name).map_or("", String::as_str)
    }
}

/// Why there is no token, in a word of RFC 6749.
struct Refusal(StatusCode, &'static str);

const INVALID_CLIENT: Refusal = Refusal(StatusCode::UNAUTHORIZED, "invalid_client");

const fn refusal(word: &'static str) -> Refusal {
    Refusal(StatusCode::BAD_REQUEST, word)
}

impl Issuer {
    /// An issuer with a key of its own.
    pub(crate) fn new() -> Result<Self> {
        let mut seed = [0; 32];
        getrandom::fill(&mut seed).map_err(|error| Error::Demo(format!("no random numbers: {error}")))?;
        let key = Ed25519KeyPair::from_seed_unchecked(&seed).map_err(|_| Error::Demo("no key can be made".to_owned()))?;
        Ok(Self(Arc::new(Inner { key, name: OnceLock::new(), pending: Mutex::default() })))
    }

    /// Says where it is. The first one stays.
    pub(crate) fn settle(&self, server: &str) {
        drop(self.0.name.set(format!("{server}{PATH}")));
    }

    /// Who may call, beside those who know a secret: whoever shows a token of this issuer.
    pub(crate) fn rules(&self, others: Auth) -> Result<Auth> {
        let name = self.name().ok_or_else(|| Error::Demo("the issuer has no place yet".to_owned()))?;
        let jwt = Jwt::issuer(name, [AUDIENCE]).keys(&self.jwks().to_string()).map_err(|error| Error::Demo(error.to_string()))?.prefix("");
        let scopes = || Scopes::from([(SCOPE.to_owned(), "Everything that the demo does".to_owned())]);
        let token_url = format!("{name}/token");
        let mut device = DeviceCodeFlow::default();
        (device.device_authorization_url, device.token_url, device.scopes) = (format!("{name}/device"), token_url.clone(), scopes());
        let mut client = ClientCredentialsFlow::default();
        (client.token_url, client.scopes) = (token_url, scopes());
        let flow = |flow| Scheme::jwt(jwt.clone()).declared(SecurityScheme::OAuth2(OAuth2Scheme::new(flow)));
        let oidc = OpenIdConnectScheme::new(format!("{name}/.well-known/openid-configuration"));
        Ok(others
            .scheme("device", flow(OAuthFlow::DeviceCode(device)))
            .scheme("client", flow(OAuthFlow::ClientCredentials(client)))
            .scheme("oidc", Scheme::jwt(jwt).declared(SecurityScheme::OpenIdConnect(oidc))))
    }

    /// Answers a request at its path.
    pub(crate) fn answer(&self, request: &Request<Bytes>) -> Response<Bytes> {
        let Some(name) = self.name() else { return status(StatusCode::SERVICE_UNAVAILABLE) };
        let (method, path) = (request.method(), request.uri().path().strip_prefix(PATH).unwrap_or_default());
        let query = || Form::read(request.uri().query().unwrap_or_default().as_bytes());
        let form = || Form::read(request.body());
        match (method, path) {
            (&Method::GET, "/.well-known/openid-configuration") => document(StatusCode::OK, &described(name)),
            (&Method::GET, "/jwks") => document(StatusCode::OK, &self.jwks()),
            (&Method::POST, "/token") => match self.token(request, &form()) {
                Ok(given) => document(StatusCode::OK, &given),
                Err(refusal) => refused(&refusal),
            },
            (&Method::GET, "/device") => confirmation(query().field("user_code")),
            // A person sends the form of the page, a client its own.
            (&Method::POST, "/device") => match form() {
                form if form.0.contains_key("decision") => self.confirm(&form),
                form => match self.begin(request, &form) {
                    Ok(begun) => document(StatusCode::OK, &begun),
                    Err(refusal) => refused(&refusal),
                },
            },
            (&Method::GET, "/authorize") => Self::visited(&query()),
            (&Method::POST, "/authorize") => self.decided(&form()),
            _ => status(StatusCode::NOT_FOUND),
        }
    }

    fn name(&self) -> Option<&str> {
        self.0.name.get().map(String::as_str)
    }

    fn pending(&self) -> MutexGuard<'_, Pending> {
        // Nothing in here panics half-way.
        self.0.pending.lock()
    }

    fn jwks(&self) -> Value {
        let x = BASE64_URL_SAFE_NO_PAD.encode(self.0.key.public_key());
        json!({"keys": [{"kty": "OKP", "crv": "Ed25519", "x": x, "kid": self.kid(), "use": "sig", "alg": "EdDSA"}]})
    }

    fn kid(&self) -> String {
        BASE64_URL_SAFE_NO_PAD.encode(&digest(&SHA256, self.0.key.public_key().as_ref()).as_ref()[..9])
    }

    /// Gives a token, or says why not.
    fn token(&self, request: &Request<Bytes>, form: &Form) -> Result<Value, Refusal> {
        let client = client(request, form)?;
        let holder = |subject: &str, client: String| Holder { subject: subject.to_owned(), client };
        match form.field("grant_type") {
            "client_credentials" if client.known => self.give(&holder(CLIENT.0, client.id), false),
            "client_credentials" => Err(INVALID_CLIENT),
            "urn:ietf:params:oauth:grant-type:device_code" => {
                let mut pending = self.pending();
                let waiting = pending.devices.0.iter().find(|(_, (_, device))| device.code == form.field("device_code"));
                let code = waiting.map(|(code, _)| code.clone()).ok_or(refusal("expired_token"))?;
                let device = pending.devices.look(&code).filter(|device| device.client == client.id).ok_or(refusal("expired_token"))?;
                let allowed = device.allowed.ok_or(refusal("authorization_pending"))?;
                pending.devices.take(&code);
                drop(pending);
                if allowed { self.give(&holder(PERSON, client.id), true) } else { Err(refusal("access_denied")) }
            }
            "authorization_code" => {
                let code = self.pending().codes.take(form.field("code")).ok_or(refusal("invalid_grant"))?;
                let shown = BASE64_URL_SAFE_NO_PAD.encode(digest(&SHA256, form.field("code_verifier").as_bytes()));
                let good = code.client == client.id && code.redirect == form.field("redirect_uri") && code.challenge == shown;
                if good { self.give(&holder(PERSON, client.id), true) } else { Err(refusal("invalid_grant")) }
            }
            "refresh_token" => {
                let renewed = self.pending().renewals.take(form.field("refresh_token"));
                let holder = renewed.filter(|holder| holder.client == client.id).ok_or(refusal("invalid_grant"))?;
                self.give(&holder, true)
            }
            _ => Err(refusal("unsupported_grant_type")),
        }
    }

    fn give(&self, holder: &Holder, renewable: bool) -> Result<Value, Refusal> {
        let broken = || Refusal(StatusCode::INTERNAL_SERVER_ERROR, "server_error");
        let now = SystemClock.now().unix().0;
        let end = now + i64::try_from(TOKEN.as_secs()).unwrap_or_default();
        let claims = json!({
            "iss": self.name(), "aud": AUDIENCE, "sub": holder.subject, "client_id": holder.client, "scope": SCOPE, "iat": now, "exp": end,
            "jti": random().ok_or_else(broken)?,
        });
        let head = json!({"alg": "EdDSA", "typ": "at+jwt", "kid": self.kid()});
        let encoded = |value: &Value| BASE64_URL_SAFE_NO_PAD.encode(value.to_string());
        let content = format!("{}.{}", encoded(&head), encoded(&claims));
        let signature = self.0.key.try_sign(content.as_bytes()).map_err(|_| broken())?;
        let token = format!("{content}.{}", BASE64_URL_SAFE_NO_PAD.encode(signature));
        let mut given = json!({"access_token": token, "token_type": "Bearer", "expires_in": TOKEN.as_secs(), "scope": SCOPE});
        if renewable {
            let renewal = random().ok_or_else(broken)?;
            self.pending().renewals.put(renewal.clone(), holder.clone(), 24 * TOKEN);
            given["refresh_token"] = json!(renewal);
        }
        Ok(given)
    }

    /// Begins to wait for a person.
    fn begin(&self, request: &Request<Bytes>, form: &Form) -> Result<Value, Refusal> {
        let client = client(request, form)?;
        let broken = || Refusal(StatusCode::INTERNAL_SERVER_ERROR, "server_error");
        let (code, spoken) = (random().ok_or_else(broken)?, spoken().ok_or_else(broken)?);
        let page = format!("{}/device", self.name().unwrap_or_default());
        let begun = json!({
            "device_code": code, "user_code": spoken, "verification_uri": page,
            "verification_uri_complete": format!("{page}?user_code={spoken}"), "expires_in": CODE.as_secs(), "interval": INTERVAL,
        });
        self.pending().devices.put(spoken, Device { code, client: client.id, allowed: None }, CODE);
        Ok(begun)
    }

    /// A person has confirmed a code, or not.
    fn confirm(&self, form: &Form) -> Response<Bytes> {
        let code = form.field("user_code").trim().to_ascii_uppercase();
        let allowed = form.field("decision") == "allow";
        match self.pending().devices.look(&code) {
            Some(device) => {
                device.allowed = Some(allowed);
                page(if allowed { "<p>You are signed in. You can close this page." } else { "<p>Nobody is signed in." })
            }
            None => page("<p>There is no such code, or it has run out."),
        }
    }

    /// A browser was sent here.
    fn visited(query: &Form) -> Response<Bytes> {
        if let Err(words) = returning(query) {
            return complaint(words);
        }
        let fields = ["client_id", "redirect_uri", "state", "code_challenge", "code_challenge_method", "response_type"];
        let hidden = fields.map(|name| format!("<input type=hidden name={name} value=\"{}\">", escaped(query.field(name)))).concat();
        page(&format!("<p>Sign in as {PERSON} for {}?{}", escaped(query.field("client_id")), asked("authorize", &hidden)))
    }

    /// A person has decided, and the browser goes back.
    fn decided(&self, form: &Form) -> Response<Bytes> {
        let mut back = match returning(form) {
            Ok(back) => back,
            Err(words) => return complaint(words),
        };
        let outcome = match form.field("decision") {
            "allow" => {
                let Some(code) = random() else { return status(StatusCode::INTERNAL_SERVER_ERROR) };
                let kept = Code {
                    client: form.field("client_id").to_owned(),
                    redirect: form.field("redirect_uri").to_owned(),
                    challenge: form.field("code_challenge").to_owned(),
                };
                self.pending().codes.put(code.clone(), kept, CODE);
                ("code", code)
            }
            _ => ("error", "access_denied".to_owned()),
        };
        let name = self.name().unwrap_or_default();
        back.query_pairs_mut().append_pair(outcome.0, &outcome.1).append_pair("state", form.field("state")).append_pair("iss", name);
        let mut response = status(StatusCode::FOUND);
        if let Ok(place) = HeaderValue::from_str(back.as_str()) {
            response.headers_mut().insert(header::LOCATION, place);
        }
        response
    }
}

/// Where a browser goes back to: to this machine, and only for a client that does it by the book.
fn returning(form: &Form) -> Result<Url, &'static str> {
    let back = Url::parse(form.field("redirect_uri")).ok();
    let local = |url: &Url| url.scheme() == "http" && matches!(url.host_str(), Some("127.0.0.1" | "[::1]" | "localhost"));
    let back = back.filter(local).ok_or("The demo sends browsers back to this machine only.")?;
    let proper = form.field("response_type") == "code" && form.field("code_challenge_method") == "S256";
    if !proper || form.field("client_id").is_empty() || form.field("code_challenge").is_empty() {
        return Err("A client must ask for a code, and with PKCE (S256).");
    }
    Ok(back)
}

fn complaint(words: &str) -> Response<Bytes> {
    let mut response = page(&format!("<p>{words}"));
    *response.status_mut() = StatusCode::BAD_REQUEST;
    response
}

/// A client, and whether it has proved who it is.
struct Client {
    id: String,
    known: bool,
}

/// Who asks: by a header or in the form. Clients without a secret may be called as they like.
fn client(request: &Request<Bytes>, form: &Form) -> Result<Client, Refusal> {
    let (id, secret) = match request.headers().get(header::AUTHORIZATION) {
        Some(value) => {
            let pair =
                value.to_str().ok().and_then(|value| value.strip_prefix("Basic ")).and_then(|pair| BASE64_STANDARD.decode(pair).ok());
            let pair = pair.and_then(|pair| String::from_utf8(pair).ok()).ok_or(INVALID_CLIENT)?;
            let (id, secret) = pair.split_once(':').ok_or(INVALID_CLIENT)?;
            let read = |text: &str| form_urlencoded::parse(text.as_bytes()).next().map(|(key, _)| key.into_owned()).unwrap_or_default();
            (read(id), read(secret))
        }
        None => (form.field("client_id").to_owned(), form.field("client_secret").to_owned()),
    };
    match (id.as_str(), secret.as_str()) {
        ("", _) => Err(INVALID_CLIENT),
        (id, secret) if (id, secret) == CLIENT => Ok(Client { id: id.to_owned(), known: true }),
        (id, "") if id != CLIENT.0 => Ok(Client { id: id.to_owned(), known: false }),
        _ => Err(INVALID_CLIENT),
    }
}

fn described(name: &str) -> Value {
    json!({
        "issuer": name,
        "token_endpoint": format!("{name}/token"),
        "authorization_endpoint": format!("{name}/authorize"),
        "device_authorization_endpoint": format!("{name}/device"),
        "jwks_uri": format!("{name}/jwks"),
        "response_types_supported": ["code"],
        "subject_types_supported": ["public"],
        "id_token_signing_alg_values_supported": ["EdDSA"],
        "code_challenge_methods_supported": ["S256"],
        "grant_types_supported": [
            "client_credentials", "authorization_code", "refresh_token", "urn:ietf:params:oauth:grant-type:device_code",
        ],
        "token_endpoint_auth_methods_supported": ["client_secret_basic", "client_secret_post", "none"],
        "scopes_supported": [SCOPE],
        "authorization_response_iss_parameter_supported": true,
    })
}

fn confirmation(code: &str) -> Response<Bytes> {
    let field = format!("<input name=user_code value=\"{}\" autocomplete=off>", escaped(code));
    page(&format!("<p>Sign in as {PERSON} on the device that shows this code?{}", asked("device", &field)))
}

fn asked(action: &str, fields: &str) -> String {
    format!(
        "<form method=post action=\"{PATH}/{action}\">{fields}<button name=decision value=allow>Allow</button> \
         <button name=decision value=deny>Deny</button></form>"
    )
}

pub(super) fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

pub(super) fn page(content: &str) -> Response<Bytes> {
    let text = format!("<!doctype html><meta charset=utf-8><title>Demo</title><h1>Demo</h1>{content}\n");
    let mut response = dressed(text, "text/html; charset=utf-8");
    // No frames: a page of somebody else could have people click here.
    let policy = HeaderValue::from_static("default-src 'none'; frame-ancestors 'none'");
    response.headers_mut().insert(header::CONTENT_SECURITY_POLICY, policy);
    response
}

fn document(status: StatusCode, value: &Value) -> Response<Bytes> {
    let mut response = dressed(value.to_string(), "application/json");
    *response.status_mut() = status;
    response
}

fn refused(refusal: &Refusal) -> Response<Bytes> {
    document(refusal.0, &json!({"error": refusal.1}))
}

fn dressed(text: String, content_type: &'static str) -> Response<Bytes> {
    let mut response = Response::new(text.into());
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type));
    response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

pub(super) fn status(status: StatusCode) -> Response<Bytes> {
    let mut response = Response::new(Bytes::new());
    *response.status_mut() = status;
    response
}

/// A code that nobody guesses.
pub(super) fn random() -> Option<String> {
    let mut bytes = [0; 24];
    getrandom::fill(&mut bytes).ok()?;
    Some(BASE64_URL_SAFE_NO_PAD.encode(bytes))
}

/// A code that a person can type: eight letters that are no words and look like nothing else.
fn spoken() -> Option<String> {
    const LETTERS: &[u8; 16] = b"BCDFGHJKLMNPQRST";
    let mut bytes = [0; 8];
    getrandom::fill(&mut bytes).ok()?;
    let letters: Vec<char> = bytes.iter().map(|byte| char::from(LETTERS[usize::from(byte % 16)])).collect();
    Some(letters.chunks(4).map(|half| half.iter().collect::<String>()).collect::<Vec<_>>().join("-"))
}
