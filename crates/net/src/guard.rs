//! SSRF guard: decides which URLs and which resolved addresses are called on a stranger's word.

use std::{
    fmt,
    net::{IpAddr, SocketAddr},
    sync::Arc,
};

use async_trait::async_trait;
use chancery_core::BoxError;
use ipnet::IpNet;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use url::{Host, Url};

use crate::{Blocked, address::AddressPolicy};

/// Decides where requests made on a stranger's word may go: which addresses, and who resolves names.
#[derive(Clone)]
pub struct Guard {
    policy: AddressPolicy,
    resolver: Arc<dyn Resolver>,
}

impl Default for Guard {
    fn default() -> Self {
        Self::new()
    }
}

impl Guard {
    /// A guard that lets through public addresses only.
    #[must_use]
    pub fn new() -> Self {
        Self { policy: AddressPolicy::default(), resolver: Arc::new(SystemResolver) }
    }

    /// Lets through this network too. The metadata services of clouds stay closed.
    #[must_use]
    pub fn allow(mut self, network: IpNet) -> Self {
        self.policy = self.policy.allow(network);
        self
    }

    /// Whether this machine's own loopback addresses are let through.
    #[must_use]
    pub fn loopback(mut self, open: bool) -> Self {
        self.policy = self.policy.loopback(open);
        self
    }

    /// Who resolves names; the system's resolver when not said. Its answers are checked all the same.
    #[must_use]
    pub fn resolver(mut self, resolver: impl Resolver + 'static) -> Self {
        self.resolver = Arc::new(resolver);
        self
    }

    /// Reads a URL and checks what can be checked without resolving its name.
    ///
    /// # Errors
    /// When the URL may not be called.
    pub fn check(&self, url: &str) -> Result<Url, Blocked> {
        self.policy.check(url)
    }

    /// As [`check`](Self::check), for a URL that was read already.
    ///
    /// # Errors
    /// When the URL may not be called.
    pub fn check_url(&self, url: &Url) -> Result<(), Blocked> {
        self.policy.check_url(url)
    }

    /// The checked addresses that a URL leads to. Whoever connects to one of them, and not to the name again, cannot be led elsewhere.
    ///
    /// # Errors
    /// [`Blocked`] when the URL or one of its addresses may not be called, or what the resolver says.
    pub async fn resolve(&self, url: &Url) -> Result<Vec<SocketAddr>, BoxError> {
        self.check_url(url)?;
        let port = url.port_or_known_default().unwrap_or(80);
        let addresses = match url.host() {
            Some(Host::Domain(name)) => self.resolve_name(name).await?,
            Some(Host::Ipv4(address)) => vec![address.into()],
            Some(Host::Ipv6(address)) => vec![address.into()],
            None => return Err(Blocked::Unreadable.into()),
        };
        Ok(addresses.into_iter().map(|address| SocketAddr::new(address, port)).collect())
    }

    /// Resolves a name once and hands on exactly the addresses that were checked. One bad address among them refuses all: an honest name has
    /// no such neighbors.
    async fn resolve_name(&self, name: &str) -> Result<Vec<IpAddr>, BoxError> {
        self.policy.check_name(name)?;
        let addresses = self.resolver.resolve(name).await?;
        addresses.iter().try_for_each(|address| self.policy.check_address(*address))?;
        Ok(addresses)
    }
}

impl fmt::Debug for Guard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Guard").field("policy", &self.policy).finish_non_exhaustive()
    }
}

impl Resolve for Guard {
    fn resolve(&self, name: Name) -> Resolving {
        let guard = self.clone();
        Box::pin(async move {
            let addresses = guard.resolve_name(name.as_str()).await?;
            // The connector puts in the port of the URL.
            Ok(Box::new(addresses.into_iter().map(|address| SocketAddr::new(address, 0))) as Addrs)
        })
    }
}

/// Resolves the names of hosts.
#[async_trait]
pub trait Resolver: Send + Sync {
    /// The addresses of a host, best first.
    async fn resolve(&self, name: &str) -> Result<Vec<IpAddr>, BoxError>;
}

/// The system's resolver.
struct SystemResolver;

#[async_trait]
impl Resolver for SystemResolver {
    async fn resolve(&self, name: &str) -> Result<Vec<IpAddr>, BoxError> {
        Ok(tokio::net::lookup_host((name, 0)).await?.map(|address| address.ip()).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn literal_addresses_are_checked_too() {
        let guard = Guard::new();
        for url in ["http://127.0.0.1:1/", "http://[::ffff:10.0.0.1]/", "https://169.254.169.254/", "http://2130706433/"] {
            assert!(guard.resolve(&Url::parse(url).unwrap()).await.is_err(), "{url}");
        }
        assert_eq!(guard.resolve(&Url::parse("https://8.8.8.8/").unwrap()).await.unwrap(), ["8.8.8.8:443".parse().unwrap()]);
    }
}
