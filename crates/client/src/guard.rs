//! Addresses that a client may be sent to by what it reads: a card, the place of a key set.

use std::net::SocketAddr;

use chancery_core::BoxError;
use chancery_signing::Addresses;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use url::{Host, Url};

/// Resolves names to addresses that may be called. One bad address among them refuses all: an honest name has no such neighbors.
#[derive(Debug, Clone)]
pub(crate) struct Guarded(pub(crate) Addresses);

impl Guarded {
    /// The checked addresses of a host. They are what is connected to, so that a name which answers differently the second time gains
    /// nothing.
    async fn addresses(&self, name: &str, port: u16) -> Result<Vec<SocketAddr>, BoxError> {
        self.0.check_name(name)?;
        let found: Vec<_> = tokio::net::lookup_host((name, port)).await?.collect();
        found.iter().try_for_each(|found| self.0.check_address(found.ip()))?;
        Ok(found)
    }

    /// The checked addresses that a URL leads to.
    pub(crate) async fn reach(&self, url: &Url) -> Result<Vec<SocketAddr>, BoxError> {
        self.0.check_url(url)?;
        let port = url.port_or_known_default().unwrap_or(80);
        match url.host() {
            Some(Host::Domain(name)) => self.addresses(name, port).await,
            Some(Host::Ipv4(address)) => Ok(vec![(address, port).into()]),
            Some(Host::Ipv6(address)) => Ok(vec![(address, port).into()]),
            None => Err("the address has no host".into()),
        }
    }
}

impl Resolve for Guarded {
    fn resolve(&self, name: Name) -> Resolving {
        let guard = self.clone();
        // The connector puts in the port of the URL.
        Box::pin(async move { Ok(Box::new(guard.addresses(name.as_str(), 0).await?.into_iter()) as Addrs) })
    }
}

#[cfg(test)]
mod tests {
    use chancery_signing::Refused;

    use super::*;

    /// SC-22
    #[tokio::test]
    async fn names_of_private_hosts_are_not_resolved() {
        let error = Guarded(Addresses::new()).resolve("localhost".parse().unwrap()).await.err().unwrap();
        assert!(matches!(error.downcast_ref(), Some(Refused::Name(_))), "{error}");
        let open = Guarded(Addresses::new().loopback(true));
        assert!(open.resolve("localhost".parse().unwrap()).await.unwrap().all(|found| found.ip().is_loopback()));
    }

    #[tokio::test]
    async fn literal_addresses_are_checked_too() {
        let guard = Guarded(Addresses::new());
        for url in ["http://127.0.0.1:1/", "http://[::ffff:10.0.0.1]/", "https://169.254.169.254/", "http://2130706433/"] {
            assert!(guard.reach(&Url::parse(url).unwrap()).await.is_err(), "{url}");
        }
        assert_eq!(guard.reach(&Url::parse("https://8.8.8.8/").unwrap()).await.unwrap(), ["8.8.8.8:443".parse().unwrap()]);
    }
}
