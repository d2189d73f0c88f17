//! How an issuer is spoken to: forms there, JSON back.

use std::{fmt, time::Duration};

use base64::{Engine as _, prelude::BASE64_STANDARD};
use bytes::Bytes;
use chancery_core::{Error, ErrorKind, Result, Secret};
use http::{
    HeaderValue, Method,
    header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE},
};
use serde::{Deserialize, de::DeserializeOwned};
use url::form_urlencoded;

use super::issuer::{Issuer, refused};
use crate::{
    builder::Settings,
    failure::Failed,
    http::{Exchange, Http, RequestHead},
    observer::ObserverSlot,
    trouble::{Trouble, TroubleKind},
};

/// Bytes of an issuer's answer.
const MOST: usize = 256 * 1_024;
/// How long an issuer may take for an answer.
const PATIENCE: Duration = Duration::from_secs(30);

/// Who asks: a client that the issuer knows.
#[derive(Debug, Clone)]
pub(super) struct Applicant {
    pub(super) id: String,
    pub(super) secret: Option<Secret>,
    /// Whether the secret goes into the form, whatever the issuer takes otherwise.
    pub(super) in_form: bool,
    /// More parameters of requests for tokens, such as an audience.
    pub(super) parameters: Vec<(String, String)>,
}

/// Where issuers are spoken to.
#[derive(Debug, Clone)]
pub(super) struct IssuerClient(Http);

/// What an issuer gives.
#[derive(Debug, Deserialize)]
pub(super) struct Given {
    pub(super) access_token: Secret,
    #[serde(default)]
    token_type: String,
    pub(super) expires_in: Option<u64>,
    pub(super) refresh_token: Option<Secret>,
    pub(super) scope: Option<String>,
}

/// Why an issuer gives nothing, in the words of RFC 6749.
#[derive(Debug, Deserialize)]
pub(super) struct Refusal {
    error: String,
    #[serde(default)]
    error_description: String,
}

/// What came of asking for a token.
pub(super) enum Answer {
    Given(Given),
    Refused(Refusal),
}

impl Refusal {
    /// The word that says why.
    pub(super) fn word(&self) -> &str {
        &self.error
    }

    /// The refusal as it goes to the caller. What was said to the issuer is not in it, even if the issuer repeats it.
    pub(super) fn error(&self) -> Error {
        let description = printable(&self.error_description);
        let words = match description.is_empty() {
            true => format!("the issuer gives no token: {}", printable(&self.error)),
            false => format!("the issuer gives no token: {} ({description})", printable(&self.error)),
        };
        refused(words).caused_by(Trouble::new(TroubleKind::Refused))
    }
}

impl IssuerClient {
    /// A issuer_client with the connections of these settings. What is said there is shown to no observer.
    pub(super) fn new(settings: &Settings) -> Result<Self> {
        let mut settings = settings.clone();
        settings.observer = ObserverSlot::default();
        Http::new(&settings).map(Self)
    }

    /// Reads a document that is for everybody.
    pub(super) async fn document<T: DeserializeOwned>(&self, url: &str) -> Result<T> {
        let head = RequestHead {
            headers: [(ACCEPT, HeaderValue::from_static("application/json"))].into_iter().collect(),
            ..RequestHead::default()
        };
        let (status, body) = self.ask(Method::GET, url, head, None).await?;
        if status != 200 {
            return Err(unusable(format!("the issuer answers {status} at {url}")));
        }
        serde_json::from_slice(&body).map_err(|_| unusable(format!("the issuer does not describe itself at {url}")))
    }

    /// Asks for a token.
    pub(super) async fn token(&self, url: &str, issuer: &Issuer, applicant: &Applicant, form: &[(&str, &str)]) -> Result<Answer> {
        let (status, body) = self.post(url, issuer, applicant, form).await?;
        if status != 200 {
            return refusal(status, &body, applicant).map(Answer::Refused);
        }
        // What is wrong with it is not said: the error could show a part of the token.
        let given: Given = serde_json::from_slice(&body).map_err(|_| unusable("the issuer's answer holds no token"))?;
        if given.access_token.is_empty() || !given.token_type.eq_ignore_ascii_case("bearer") {
            return Err(unusable("the issuer gives a token of a kind that is not known here"));
        }
        Ok(Answer::Given(given))
    }

    /// Asks for something else than a token, which must be given.
    pub(super) async fn other<T: DeserializeOwned>(
        &self,
        url: &str,
        issuer: &Issuer,
        applicant: &Applicant,
        form: &[(&str, &str)],
    ) -> Result<T> {
        let (status, body) = self.post(url, issuer, applicant, form).await?;
        if status != 200 {
            return Err(refusal(status, &body, applicant)?.error());
        }
        serde_json::from_slice(&body).map_err(|_| unusable("the issuer's answer cannot be read"))
    }

    async fn post(&self, url: &str, issuer: &Issuer, applicant: &Applicant, form: &[(&str, &str)]) -> Result<(u16, Bytes)> {
        let mut head = RequestHead::default();
        head.headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/x-www-form-urlencoded"));
        head.headers.insert(ACCEPT, HeaderValue::from_static("application/json"));
        if let Some(secret) = applicant.secret.as_ref().filter(|_| !is_in_form(issuer, applicant)) {
            head.headers.insert(AUTHORIZATION, basic(&applicant.id, secret)?);
        }
        let body = written(issuer, applicant, form);
        self.ask(Method::POST, url, head, Some(body.into())).await
    }

    async fn ask(&self, method: Method, url: &str, head: RequestHead, body: Option<Bytes>) -> Result<(u16, Bytes)> {
        let asking = async {
            let exchange = self.0.exchange(method, url, head, body).await?;
            let status = Exchange::status(&exchange);
            Ok::<_, Failed>((status, exchange.read(MOST).await?))
        };
        let asked = tokio::time::timeout(PATIENCE, asking).await.unwrap_or_else(|_| Err(Failed::too_late()));
        asked.map_err(|failed| {
            let kind = Trouble::of(&failed.error).map_or(TroubleKind::Unreachable, Trouble::kind);
            let trouble = Trouble::new(kind).because(failed.error);
            Error::new(ErrorKind::Unavailable, "the issuer of tokens could not be asked").caused_by(trouble)
        })
    }
}

/// The form as it is sent. A client names itself in it, unless it does so in the header.
fn written(issuer: &Issuer, applicant: &Applicant, form: &[(&str, &str)]) -> String {
    let mut body = form_urlencoded::Serializer::new(String::new());
    body.extend_pairs(form.iter().filter(|(_, value)| !value.is_empty()));
    body.extend_pairs(&applicant.parameters);
    if applicant.secret.is_none() || is_in_form(issuer, applicant) {
        body.append_pair("client_id", &applicant.id);
    }
    if let Some(secret) = applicant.secret.as_ref().filter(|_| is_in_form(issuer, applicant)) {
        body.append_pair("client_secret", secret.expose());
    }
    body.finish()
}

fn is_in_form(issuer: &Issuer, applicant: &Applicant) -> bool {
    issuer.secret_in_form || applicant.in_form
}

/// Reads a refusal. One that is not in the words of RFC 6749 is a status and nothing more.
fn refusal(status: u16, body: &[u8], applicant: &Applicant) -> Result<Refusal> {
    let read = serde_json::from_slice::<Refusal>(body).ok().filter(|_| status < 500);
    let mut refusal = read.ok_or_else(|| unusable(format!("the issuer answers {status}")))?;
    if applicant.secret.as_ref().is_some_and(|secret| refusal.error_description.contains(secret.expose())) {
        refusal.error_description.clear();
    }
    Ok(refusal)
}

/// The name and the secret of a client, each written as a form would (RFC 6749 section 2.3.1).
fn basic(id: &str, secret: &Secret) -> Result<HeaderValue> {
    let written = |text: &str| form_urlencoded::byte_serialize(text.as_bytes()).collect::<String>();
    let pair = BASE64_STANDARD.encode(format!("{}:{}", written(id), written(secret.expose())));
    let mut value = HeaderValue::try_from(format!("Basic {pair}")).map_err(Error::internal)?;
    value.set_sensitive(true);
    Ok(value)
}

/// The issuer's answer is of no use.
pub(super) fn unusable(words: impl Into<String>) -> Error {
    Error::new(ErrorKind::Unavailable, words).caused_by(Trouble::new(TroubleKind::Status))
}

/// The beginning of a stranger's words, without anything that a terminal would obey.
pub(super) fn printable(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).take(200).collect()
}

impl fmt::Debug for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Given(_) => "Given",
            Self::Refused(_) => "Refused",
        })
    }
}
