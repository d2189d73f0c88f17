//! A real identity provider (npm `oidc-provider`, `tests/sdk/oidc.mjs`), a real server that believes it, and our client.
//!
//! `CHANCERY_SDKS` names the folder that `tests/sdk/install` fills; without it nothing is tested here.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    process::Stdio,
    time::Duration,
};

use chancery::{
    Running, Server,
    auth::{Auth, Jwt, Scheme},
};
use chancery_client::{Client, oauth::OAuth};
use chancery_core::Card;
use chancery_engine::store::Memory;
use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines},
    process::{Child, ChildStdin, ChildStdout, Command},
    sync::Mutex,
};
use url::Url;

use crate::agent::{LONG, card, obedient};

/// For whom the provider's tokens are.
pub const AUDIENCE: &str = "urn:chancery:test";

/// A provider at work; it ends with this.
pub struct Provider {
    pub issuer: String,
    _child: Child,
    line: Mutex<(ChildStdin, Lines<BufReader<ChildStdout>>)>,
}

impl Provider {
    /// The provider, if the packages are there.
    pub async fn start() -> Option<Self> {
        let folder = PathBuf::from(std::env::var_os("CHANCERY_SDKS").filter(|folder| !folder.is_empty())?);
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/sdk/oidc.mjs");
        let mut command = Command::new("node");
        command.arg(script).arg(folder.join("oidc-9.13.3")).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.kill_on_drop(true).spawn().expect("node is there");
        let (to, from) = (child.stdin.take().unwrap(), BufReader::new(child.stdout.take().unwrap()).lines());
        let mut provider = Self { issuer: String::new(), _child: child, line: Mutex::new((to, from)) };
        let first = provider.hear().await;
        provider.issuer = first["issuer"].as_str().unwrap().to_owned();
        Some(provider)
    }

    async fn hear(&self) -> Value {
        let mut line = self.line.lock().await;
        let heard = tokio::time::timeout(LONG, line.1.next_line()).await.expect("the provider is silent").unwrap();
        serde_json::from_str(&heard.expect("the provider has ended")).unwrap()
    }

    async fn ask(&self, what: Value) -> Value {
        let text = format!("{what}\n");
        self.line.lock().await.0.write_all(text.as_bytes()).await.unwrap();
        self.hear().await
    }

    /// Signs with another key from now on.
    pub async fn rotate(&self) {
        self.ask(json!({"do": "rotate"})).await;
    }

    /// A token with these claims over the usual ones.
    pub async fn sign(&self, claims: Value, how: Value) -> String {
        let mut asked = json!({"do": "sign", "claims": claims});
        asked.as_object_mut().unwrap().extend(how.as_object().unwrap().clone());
        self.ask(asked).await["token"].as_str().unwrap().to_owned()
    }

    /// How often each path was asked for since the last time.
    pub async fn counts(&self) -> BTreeMap<String, u64> {
        serde_json::from_value(self.ask(json!({"do": "log"})).await["counts"].clone()).unwrap()
    }

    /// A server that believes this provider.
    pub async fn serve(&self, change: impl FnOnce(Jwt) -> Jwt) -> Running {
        let jwt = change(Jwt::issuer(&self.issuer, [AUDIENCE]));
        let auth = Auth::new().scheme("oidc", Scheme::jwt(jwt));
        let server = Server::new(card(), obedient).auth(auth).store(Memory::new());
        server.bind("127.0.0.1:0").await.unwrap()
    }

    /// A client that gets tokens for itself.
    pub fn service(&self) -> OAuth {
        OAuth::new("service").secret("s3rv!ce:secret").issuer(&self.issuer).scope("agents.call")
    }
}

/// A browser without a screen: it keeps cookies, follows redirects, fills in the first form of every page and sends it.
pub struct Browser {
    http: reqwest::Client,
    cookies: BTreeMap<String, String>,
}

impl Browser {
    pub fn new() -> Self {
        let http = reqwest::Client::builder().redirect(reqwest::redirect::Policy::none()).no_proxy().build().unwrap();
        Self { http, cookies: BTreeMap::new() }
    }

    /// Goes to a page and does what it wants until there is nothing more to fill in; gives the last page.
    pub async fn walk(&mut self, url: &str) -> String {
        let (mut url, mut form) = (Url::parse(url).unwrap(), None);
        for _ in 0..30 {
            let mut request = match &form {
                None => self.http.get(url.clone()),
                Some(form) => {
                    self.http.post(url.clone()).header("content-type", "application/x-www-form-urlencoded").body(String::clone(form))
                }
            };
            if !self.cookies.is_empty() {
                let cookies: Vec<_> = self.cookies.iter().map(|(name, value)| format!("{name}={value}")).collect();
                request = request.header("cookie", cookies.join("; "));
            }
            let response = request.send().await.unwrap();
            for cookie in response.headers().get_all("set-cookie") {
                let pair = cookie.to_str().unwrap().split(';').next().unwrap();
                let (name, value) = pair.split_once('=').unwrap();
                self.cookies.insert(name.to_owned(), value.to_owned());
            }
            if let Some(place) = response.headers().get("location") {
                (url, form) = (url.join(place.to_str().unwrap()).unwrap(), None);
                continue;
            }
            let status = response.status();
            let page = response.text().await.unwrap();
            assert!(status.is_success(), "{url} {status} {page}");
            let Some(begin) = page.find("<form") else { return page };
            let found = &page[begin..begin + page[begin..].find("</form>").unwrap()];
            let attribute = |text: &str, name: &str| {
                text.split_once(&format!("{name}=\"")).and_then(|(_, rest)| rest.split('"').next()).map(str::to_owned)
            };
            let mut filled = url::form_urlencoded::Serializer::new(String::new());
            for input in found.split("<input").skip(1) {
                let input = input.split('>').next().unwrap();
                if let Some(name) = attribute(input, "name") {
                    filled.append_pair(&name, &attribute(input, "value").unwrap_or_else(|| "ada".to_owned()));
                }
            }
            (url, form) = (url.join(&attribute(found, "action").unwrap()).unwrap(), Some(filled.finish()));
        }
        panic!("the pages do not end")
    }
}

/// A call with a token that is at hand.
pub async fn call(server: &Running, token: &str) -> chancery_core::Result<()> {
    let secrets = chancery_client::Secrets::new().bearer(token);
    let agent = Client::builder().credentials(secrets).retries(0).timeout(Duration::from_secs(20)).connect(server.url()).await?;
    agent.send("reply yes").await.map(|reply| assert_eq!(reply.text(), "yes"))
}

/// The card of a server.
pub async fn card_of(server: &Running) -> Card {
    (*Client::connect(server.url()).await.unwrap().card().unwrap()).clone()
}
