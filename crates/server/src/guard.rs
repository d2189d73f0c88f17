//! The address guard: every outbound request made on a stranger's word goes through it.
//!
//! A webhook's URL, a card's address or the place of a key set comes from somebody else. Without a guard
//! that somebody makes us call our own neighbors: the database, the router, the metadata service of the
//! cloud. So the guard lets through public addresses only, and what its owner has opened by name.
//!
//! ```text
//!  text --parse--> Url --check_url--> scheme, user info, name, literal address
//!                                         |
//!                       name of a host    |    literal address
//!                   +---------------------+---------+
//!                   v                               v
//!            resolve once, check every answer   already checked
//!                   |                               |
//!                   `--> connect to that very address, no proxy, no redirect <--'
//! ```
//!
//! The text of a host is never compared with addresses: `http://2130706433/` is 127.0.0.1, and only the parser
//! knows that. The answers of the resolver are checked where the connection is made, so that a name which
//! answers differently the second time gains nothing.
//!
//! ```
//! use chancery_server::guard::{Guard, Refused};
//!
//! let guard = Guard::new();
//! assert!(guard.check("https://client.example/hook").is_ok());
//! assert_eq!(guard.check("http://0x7f.1/"), Err(Refused::Address([127, 0, 0, 1].into())));
//!
//! let guard = Guard::new().allow("10.20.0.0/16".parse()?);
//! assert!(guard.check("http://10.20.3.4/hook").is_ok());
//! assert!(guard.check("http://10.21.3.4/hook").is_err());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::{error::Error, fmt, net::SocketAddr, sync::Arc, time::Duration};

pub use chancery_signing::{Addresses, Refused};
use http::Method;
use ipnet::IpNet;
use reqwest::{
    RequestBuilder, Response,
    dns::{Addrs, Name, Resolve, Resolving},
    redirect,
};
use url::Url;

/// Decides where requests made on a stranger's word may go: which addresses, and who resolves names.
#[derive(Clone)]
pub struct Guard {
    addresses: Addresses,
    resolver: Arc<dyn Resolve>,
}

impl Default for Guard {
    fn default() -> Self {
        Self::new()
    }
}

impl From<Addresses> for Guard {
    fn from(addresses: Addresses) -> Self {
        Self { addresses, ..Self::new() }
    }
}

impl Guard {
    /// A guard that lets through public addresses only.
    #[must_use]
    pub fn new() -> Self {
        Self { addresses: Addresses::new(), resolver: Arc::new(System) }
    }

    /// Lets through this network too. The metadata services of clouds stay closed.
    #[must_use]
    pub fn allow(mut self, network: IpNet) -> Self {
        self.addresses = self.addresses.allow(network);
        self
    }

    /// Whether this machine's own loopback addresses are let through.
    #[must_use]
    pub fn loopback(mut self, open: bool) -> Self {
        self.addresses = self.addresses.loopback(open);
        self
    }

    /// Who resolves names; the system's resolver when not said. Its answers are checked all the same.
    #[must_use]
    pub fn resolver(mut self, resolver: impl Resolve + 'static) -> Self {
        self.resolver = Arc::new(resolver);
        self
    }

    /// Reads a URL and checks what can be checked without resolving its name.
    ///
    /// # Errors
    /// When the URL may not be called.
    pub fn check(&self, url: &str) -> Result<Url, Refused> {
        self.addresses.check(url)
    }
}

impl fmt::Debug for Guard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Guard").field("addresses", &self.addresses).finish_non_exhaustive()
    }
}

impl Resolve for Guard {
    /// Resolves a name once and hands on exactly the addresses that were checked. One bad address among
    /// them refuses all: an honest name has no such neighbors.
    fn resolve(&self, name: Name) -> Resolving {
        let guard = self.clone();
        Box::pin(async move {
            guard.addresses.check_name(name.as_str())?;
            let answers: Vec<SocketAddr> = guard.resolver.resolve(name).await?.collect();
            for answer in &answers {
                guard.addresses.check_address(answer.ip())?;
            }
            Ok(Box::new(answers.into_iter()) as Addrs)
        })
    }
}

/// The system's resolver.
struct System;

impl Resolve for System {
    fn resolve(&self, name: Name) -> Resolving {
        Box::pin(async move {
            // The connector puts in the port of the URL.
            let answers: Vec<_> = tokio::net::lookup_host((name.as_str(), 0)).await?.collect();
            Ok(Box::new(answers.into_iter()) as Addrs)
        })
    }
}

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
    /// is sent; [`refusal`] finds the reason in that error.
    pub fn request(&self, method: Method, url: &str) -> Result<RequestBuilder, Refused> {
        Ok(self.inner.request(method, self.guard.check(url)?))
    }
}

/// The guard's reason inside the error of a request, if it was the guard.
#[must_use]
pub fn refusal(error: &reqwest::Error) -> Option<&Refused> {
    let mut cause = error.source();
    while let Some(error) = cause {
        if let Some(refused) = error.downcast_ref() {
            return Some(refused);
        }
        cause = error.source();
    }
    None
}

/// EndReason the body of an answer is not there.
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
pub async fn body(mut response: Response, most: usize) -> Result<Vec<u8>, BodyError> {
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(|error| BodyError::Broken(error.without_url()))? {
        if body.len() + chunk.len() > most {
            return Err(BodyError::TooLong);
        }
        body.extend_from_slice(&chunk);
    }
    Ok(body)
}
