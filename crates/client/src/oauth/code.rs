//! The code flow with PKCE (RFC 7636): a browser goes to the issuer and comes back to a port of this machine (RFC 8252).

use std::{convert::Infallible, time::Duration};

use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};
use bytes::Bytes;
use chancery_core::{Error, Result, Secret};
use http::{HeaderValue, Method, Request, Response, StatusCode, header};
use http_body_util::Full;
use hyper::{body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::{net::TcpListener, sync::mpsc, task::JoinSet};
use url::form_urlencoded;

use super::{
    Prompt, Show,
    form::{Answer, Applicant, Given, IssuerClient, printable},
    issuer::{Issuer, refused, secure},
};
use crate::trouble::{Trouble, TroubleKind};

/// Where the browser comes back to.
const PATH: &str = "/callback";
/// How long a browser may take for a request.
const PATIENCE: Duration = Duration::from_secs(15);
/// How long a person may take.
const LONGEST: Duration = Duration::from_secs(900);

/// Sends a browser to the issuer, and waits until it comes back with a code.
pub(super) async fn run(
    issuer_client: &IssuerClient,
    issuer: &Issuer,
    applicant: &Applicant,
    scope: &str,
    show: Show<'_>,
) -> Result<Given> {
    let page = issuer.authorization.as_deref().ok_or_else(|| refused("the issuer has no code flow"))?;
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.map_err(Error::internal)?;
    let port = listener.local_addr().map_err(Error::internal)?.port();
    let back = format!("http://127.0.0.1:{port}{PATH}");
    let (state, verifier) = (random()?, random()?);
    let mut url = secure(page)?;
    url.query_pairs_mut()
        .append_pair("response_type", "code")
        .append_pair("client_id", &applicant.id)
        .append_pair("redirect_uri", &back)
        .append_pair("state", state.expose())
        .append_pair("code_challenge", &challenge(&verifier))
        .append_pair("code_challenge_method", "S256")
        .extend_pairs(Some(("scope", scope)).filter(|(_, scope)| !scope.is_empty()))
        .extend_pairs(&applicant.parameters);

    let expected = Expected { state, issuer: issuer.name.clone(), named: issuer.names_itself };
    let (sender, mut came) = mpsc::channel(1);
    let mut listening = JoinSet::new();
    listening.spawn(listen(listener, expected, sender));
    show(&Prompt::Open { url: url.as_str() });
    let came = tokio::time::timeout(LONGEST, came.recv()).await;
    let code = came.ok().flatten().ok_or_else(|| denied("nobody signed in in time"))??;

    let form = [
        ("grant_type", "authorization_code"),
        ("code", code.expose()),
        ("redirect_uri", back.as_str()),
        ("code_verifier", verifier.expose()),
    ];
    match issuer_client.token(&issuer.token, issuer, applicant, &form).await? {
        Answer::Given(given) => Ok(given),
        Answer::Refused(refusal) => Err(refusal.error()),
    }
}

/// What a browser that comes back must show.
#[derive(Clone)]
struct Expected {
    state: Secret,
    issuer: Option<String>,
    /// Whether the issuer has promised to name itself.
    named: bool,
}

/// What a browser came back with.
#[derive(Debug, PartialEq, Eq)]
enum Back {
    /// The code, for us.
    Code(Secret),
    /// The issuer says no, or is not who it should be.
    Denied(String),
    /// It is not the browser that was sent, and changes nothing.
    Stranger,
}

impl Expected {
    fn read(&self, query: &str) -> Back {
        let pairs: Vec<_> = form_urlencoded::parse(query.as_bytes()).collect();
        let one = |name: &str| {
            let mut found = pairs.iter().filter(|(key, _)| key == name).map(|(_, value)| value.as_ref());
            found.next().filter(|_| found.next().is_none())
        };
        if one("state") != Some(self.state.expose()) {
            return Back::Stranger;
        }
        // An answer of another issuer would have us show its code to ours, or ours to it (RFC 9207).
        match (&self.issuer, one("iss")) {
            (Some(issuer), Some(named)) if issuer != named => return Back::Denied("another issuer has answered".to_owned()),
            (Some(_), None) if self.named => return Back::Denied("the issuer does not name itself".to_owned()),
            _ => {}
        }
        match (one("code"), one("error")) {
            (Some(code), None) if !code.is_empty() => Back::Code(code.into()),
            (_, Some(error)) => {
                let more = one("error_description").map(|words| format!(" ({})", printable(words))).unwrap_or_default();
                Back::Denied(format!("the issuer gives no token: {}{more}", printable(error)))
            }
            _ => Back::Denied("the issuer sends no code".to_owned()),
        }
    }
}

/// Waits for the browser, and for whoever else comes.
async fn listen(listener: TcpListener, expected: Expected, sender: mpsc::Sender<Result<Secret>>) {
    let mut connections = JoinSet::new();
    loop {
        let stream = tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => stream,
                Err(error) => {
                    tracing::warn!(%error, "a connection could not be accepted");
                    tokio::time::sleep(Duration::from_millis(100)).await;
                    continue;
                }
            },
            Some(_) = connections.join_next() => continue,
        };
        let (expected, sender) = (expected.clone(), sender.clone());
        connections.spawn(async move {
            let service = service_fn(move |request: Request<Incoming>| {
                let (answer, came) = answer(&expected, &request);
                if let Some(came) = came {
                    // The first one counts.
                    drop(sender.try_send(came));
                }
                async move { Ok::<_, Infallible>(answer) }
            });
            let mut server = http1::Builder::new();
            server.timer(TokioTimer::new()).header_read_timeout(PATIENCE).keep_alive(false);
            if let Err(error) = server.serve_connection(TokioIo::new(stream), service).await {
                tracing::debug!(%error, "a connection of a browser broke");
            }
        });
    }
}

fn answer(expected: &Expected, request: &Request<Incoming>) -> (Response<Full<Bytes>>, Option<Result<Secret>>) {
    if request.uri().path() != PATH || request.method() != Method::GET {
        return (page(StatusCode::NOT_FOUND, "There is nothing here."), None);
    }
    match expected.read(request.uri().query().unwrap_or_default()) {
        Back::Code(code) => (page(StatusCode::OK, "You are signed in. You can close this page."), Some(Ok(code))),
        Back::Denied(why) => (page(StatusCode::OK, "You are not signed in. You can close this page."), Some(Err(denied(why)))),
        Back::Stranger => (page(StatusCode::BAD_REQUEST, "Nobody was sent here with this."), None),
    }
}

/// A page of fixed words: what came with the request is not in it.
fn page(status: StatusCode, words: &'static str) -> Response<Full<Bytes>> {
    let text = format!("<!doctype html><meta charset=utf-8><title>a2a</title><p>{words}\n");
    let mut response = Response::new(Full::new(text.into()));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8"));
    headers.insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static("default-src 'none'"));
    headers.insert(header::REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

fn denied(words: impl Into<String>) -> Error {
    refused(words).caused_by(Trouble::new(TroubleKind::Refused))
}

/// 256 random bits, as text that needs no escapes.
fn random() -> Result<Secret> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes).map_err(|error| Error::internal(error.to_string()))?;
    Ok(BASE64_URL_SAFE_NO_PAD.encode(bytes).into())
}

/// What the issuer is told of the verifier: its digest (S256).
fn challenge(verifier: &Secret) -> String {
    BASE64_URL_SAFE_NO_PAD.encode(aws_lc_rs::digest::digest(&aws_lc_rs::digest::SHA256, verifier.expose().as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of RFC 7636, appendix B.
    #[test]
    fn a_challenge_is_the_digest_of_its_verifier() {
        let verifier = Secret::from("dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk");
        assert_eq!(challenge(&verifier), "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM");
    }

    #[test]
    fn only_the_browser_that_was_sent_brings_a_code() {
        let expected = |named| Expected { state: "st".into(), issuer: Some("https://id.example".to_owned()), named };
        let denied = |back: Back| matches!(back, Back::Denied(_));
        for named in [false, true] {
            let read = |query: &str| expected(named).read(query);
            assert_eq!(read("code=c&state=st&iss=https%3A%2F%2Fid.example"), Back::Code("c".into()));
            assert_eq!(read("code=c&state=other"), Back::Stranger);
            assert_eq!(read("code=c"), Back::Stranger);
            assert_eq!(read("code=c&state=st&state=st"), Back::Stranger);
            assert_eq!(read(""), Back::Stranger);
            assert!(denied(read("code=c&state=st&iss=https%3A%2F%2Fevil.example")));
            assert!(denied(read("error=access_denied&state=st&iss=https%3A%2F%2Fid.example")));
            assert!(denied(read("state=st&iss=https%3A%2F%2Fid.example")));
            assert!(denied(read("code=a&code=b&state=st&iss=https%3A%2F%2Fid.example")));
            assert_eq!(denied(read("code=c&state=st")), named, "an issuer that promises to name itself must");
        }
    }
}
