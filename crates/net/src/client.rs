//! HTTP clients: the only place where they are made, each with a decision about SSRF.

use std::{error::Error as _, time::Duration};

use chancery_core::Result;
use http::Method;
use reqwest::{RequestBuilder, redirect};
use url::Url;

use crate::{Blocked, Guard, Tls, tls::unusable};

/// On whose word a client connects.
#[derive(Debug, Clone)]
pub enum Reach {
    /// On a stranger's: what a peer, a card or an answer names. Every URL and every resolved address is checked, and no proxy is used, for
    /// it would resolve names again, behind the guard.
    Guarded(Guard),
    /// On the operator's or the user's, who named the destination and may send us anywhere. The proxies of the environment are used.
    Trusted,
}

/// Timeouts, TLS and proxies of a client.
///
/// ```
/// use std::time::Duration;
/// use chancery_net::{Client, Guard, Options, Reach};
///
/// let options = Options::new().timeout(Duration::from_secs(60));
/// let client = Client::new(Reach::Guarded(Guard::new()), &options)?;
/// # Ok::<(), chancery_core::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Options {
    connect_timeout: Duration,
    timeout: Option<Duration>,
    tls: Tls,
    direct: bool,
    certificates: bool,
}

impl Options {
    /// 5 s to connect, 20 s in all; the certificates of the system.
    #[must_use]
    pub fn new() -> Self {
        let (connect_timeout, timeout) = (Duration::from_secs(5), Some(Duration::from_secs(20)));
        Self { connect_timeout, timeout, tls: Tls::default(), direct: false, certificates: false }
    }

    /// How long resolving the name and connecting may take.
    #[must_use]
    pub fn connect_timeout(mut self, limit: Duration) -> Self {
        self.connect_timeout = limit;
        self
    }

    /// How long a request may take in all, the body of the answer included.
    #[must_use]
    pub fn timeout(mut self, limit: Duration) -> Self {
        self.timeout = Some(limit);
        self
    }

    /// A request may take as long as it takes: for streams, and for callers that watch the time themselves.
    #[must_use]
    pub fn no_timeout(mut self) -> Self {
        self.timeout = None;
        self
    }

    /// Whom to trust, and how to show who we are.
    #[must_use]
    pub fn tls(mut self, tls: &Tls) -> Self {
        self.tls = tls.clone();
        self
    }

    /// Uses no proxy, whatever the environment says.
    #[must_use]
    pub fn direct(mut self) -> Self {
        self.direct = true;
        self
    }

    /// Answers tell the certificate of the server (`reqwest::tls::TlsInfo`).
    #[must_use]
    pub fn certificates(mut self) -> Self {
        self.certificates = true;
        self
    }
}

impl Default for Options {
    fn default() -> Self {
        Self::new()
    }
}

/// An HTTP client that cannot be used past its guard: no redirects, no cookies, no second try.
///
/// The connector asks the resolver for names only, so literal addresses are checked before a request is made;
/// that is why this is a type of its own.
#[derive(Debug, Clone)]
pub struct Client {
    guard: Option<Guard>,
    inner: reqwest::Client,
}

impl Client {
    /// A client that connects on this word.
    ///
    /// # Errors
    /// When TLS cannot be set up, for example because the system has no root certificates.
    pub fn new(reach: Reach, options: &Options) -> Result<Self> {
        let (guard, options) = match reach {
            Reach::Guarded(guard) => (Some(guard), &options.clone().direct()),
            Reach::Trusted => (None, options),
        };
        let inner = options.tls.client(|| builder(options, guard.as_ref())).map_err(|error| unusable("TLS settings", error))?;
        Ok(Self { guard, inner })
    }

    /// A client for what the operator or the user named ([`Reach::Trusted`]), as its library has it: there is nothing to check.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn trusted(options: &Options) -> Result<reqwest::Client> {
        Ok(Self::new(Reach::Trusted, options)?.inner)
    }

    /// A request to this URL.
    ///
    /// # Errors
    /// When the URL may not be called. A name that resolves to a forbidden address fails when the request
    /// is sent; [`blocked`] finds the reason in that error.
    pub fn request(&self, method: Method, url: &str) -> Result<RequestBuilder, Blocked> {
        let url = Url::parse(url).map_err(|_| Blocked::Unreadable)?;
        self.request_url(method, url)
    }

    /// As [`request`](Self::request), to a URL that was read already.
    ///
    /// # Errors
    /// When the URL may not be called.
    pub fn request_url(&self, method: Method, url: Url) -> Result<RequestBuilder, Blocked> {
        if let Some(guard) = &self.guard {
            guard.check_url(&url)?;
        }
        Ok(self.inner.request(method, url))
    }
}

#[expect(clippy::disallowed_methods, reason = "the one place where HTTP clients are made")]
fn builder(options: &Options, guard: Option<&Guard>) -> reqwest::ClientBuilder {
    let mut builder = reqwest::Client::builder()
        .user_agent(concat!("chancery/", env!("CARGO_PKG_VERSION")))
        // A redirected request may arrive as another one, or elsewhere; whoever follows does it knowingly.
        .redirect(redirect::Policy::none())
        .referer(false)
        // Retries are decided where it is known what may be repeated.
        .retry(reqwest::retry::never())
        .tcp_nodelay(true)
        .tcp_keepalive(Duration::from_secs(30))
        .tls_info(options.certificates)
        .connect_timeout(options.connect_timeout);
    if let Some(limit) = options.timeout {
        builder = builder.timeout(limit);
    }
    if options.direct {
        builder = builder.no_proxy();
    }
    match guard {
        Some(guard) => builder.dns_resolver(guard.clone()),
        None => builder,
    }
}

/// The guard's reason inside the error of a request, if it was the guard.
#[must_use]
pub fn blocked(error: &reqwest::Error) -> Option<&Blocked> {
    let mut cause = error.source();
    while let Some(error) = cause {
        if let Some(blocked) = error.downcast_ref() {
            return Some(blocked);
        }
        cause = error.source();
    }
    None
}

/// Why a document was not fetched.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FetchError {
    /// The guard does not let the request through.
    #[error("{0}")]
    Blocked(#[source] Blocked),
    /// There is no answer.
    #[error("the host cannot be reached")]
    Unreachable(#[source] reqwest::Error),
    /// The answer is not 2xx.
    #[error("the answer is {0}")]
    Status(http::StatusCode),
    /// There is no body that can be used.
    #[error("{0}")]
    Body(#[source] BodyError),
}

impl FetchError {
    /// The error without the URL that it names: a query may hold a secret.
    #[must_use]
    pub fn without_url(self) -> Self {
        match self {
            Self::Unreachable(error) => Self::Unreachable(error.without_url()),
            other => other,
        }
    }
}

impl Client {
    /// Gets a document of at most so many bytes, without credentials.
    ///
    /// # Errors
    /// When it is not there, too long, or where nothing may be asked.
    pub async fn fetch(&self, url: &str, most: usize) -> Result<Vec<u8>, FetchError> {
        let request = self.request(Method::GET, url).map_err(FetchError::Blocked)?;
        let mut response = request.send().await.map_err(|error| match blocked(&error) {
            Some(blocked) => FetchError::Blocked(blocked.clone()),
            None => FetchError::Unreachable(error),
        })?;
        if !response.status().is_success() {
            return Err(FetchError::Status(response.status()));
        }
        read_body(&mut response, most).await.map_err(FetchError::Body)
    }
}

/// Why the body of an answer is not there.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BodyError {
    /// It is longer than we read.
    #[error("the answer is too long")]
    TooLong,
    /// It broke off.
    #[error("the answer broke off")]
    Broken(#[source] reqwest::Error),
}

/// The body of an answer of at most so many bytes. A longer one is not read to its end.
///
/// # Errors
/// When the body is longer, or breaks off.
pub async fn read_body(response: &mut reqwest::Response, most: usize) -> Result<Vec<u8>, BodyError> {
    if response.content_length().is_some_and(|length| length > most as u64) {
        return Err(BodyError::TooLong);
    }
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(|error| BodyError::Broken(error.without_url()))? {
        if body.len() + chunk.len() > most {
            return Err(BodyError::TooLong);
        }
        body.extend_from_slice(&chunk);
    }
    Ok(body)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// V10-HOOK-004: whoever does not answer within 10 to 30 seconds has failed.
    #[test]
    fn a_request_ends_in_time_when_nothing_is_said() {
        assert!((Duration::from_secs(10)..=Duration::from_secs(30)).contains(&Options::new().timeout.unwrap()));
    }
}
