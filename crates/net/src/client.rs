//! HTTP client behind the SSRF guard, and answers of a bounded size.

use std::{error::Error, time::Duration};

use http::Method;
use reqwest::{RequestBuilder, Response, redirect};

use crate::{Blocked, Guard};

/// How long a request may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timeouts {
    /// To resolve the name and to connect.
    pub connect: Duration,
    /// In all, the body of the answer included.
    pub whole: Duration,
}

impl Default for Timeouts {
    /// 5 s to connect, 20 s in all.
    fn default() -> Self {
        Self { connect: Duration::from_secs(5), whole: Duration::from_secs(20) }
    }
}

/// An HTTP client that cannot be used past its guard: no proxy, no redirects, no cookies, no second try.
///
/// The connector asks the resolver for names only, so literal addresses are checked before a request is made;
/// that is why this is a type of its own.
#[derive(Debug, Clone)]
pub struct Client {
    guard: Guard,
    inner: reqwest::Client,
}

impl Client {
    /// A client behind this guard.
    ///
    /// # Errors
    /// When TLS cannot be set up, for example because the system has no root certificates.
    pub fn new(guard: Guard, timeouts: Timeouts) -> Result<Self, reqwest::Error> {
        let inner = reqwest::Client::builder()
            .user_agent(concat!("chancery/", env!("CARGO_PKG_VERSION")))
            .no_proxy()
            .redirect(redirect::Policy::none())
            .referer(false)
            .retry(reqwest::retry::never())
            .connect_timeout(timeouts.connect)
            .timeout(timeouts.whole)
            .dns_resolver(guard.clone())
            .build()?;
        Ok(Self { guard, inner })
    }

    /// A request to this URL.
    ///
    /// # Errors
    /// When the URL may not be called. A name that resolves to a forbidden address fails when the request
    /// is sent; [`blocked`] finds the reason in that error.
    pub fn request(&self, method: Method, url: &str) -> Result<RequestBuilder, Blocked> {
        Ok(self.inner.request(method, self.guard.check(url)?))
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
pub async fn read_body(mut response: Response, most: usize) -> Result<Vec<u8>, BodyError> {
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(|error| BodyError::Broken(error.without_url()))? {
        if body.len() + chunk.len() > most {
            return Err(BodyError::TooLong);
        }
        body.extend_from_slice(&chunk);
    }
    Ok(body)
}
