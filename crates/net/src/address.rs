//! SSRF address policy: which addresses may be called on a stranger's word.
//!
//! Only public addresses are called, and what the operator has opened by network. This is the rule; [`Guard`](crate::Guard) asks it about
//! every URL, and again about every address that a name has been resolved to.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::IpNet;
use url::{Host, Url};

/// Names under which clouds serve the secrets of a machine to whoever asks from it.
const METADATA_NAMES: [&str; 9] = [
    "instance-data",
    "instance-data.ec2.internal",
    "metadata",
    "metadata.azure.com",
    "metadata.azure.internal",
    "metadata.goog",
    "metadata.google.internal",
    "metadata.platformequinix.com",
    "metadata.tencentyun.com",
];

/// The addresses behind those names. One of them is public, and the others may lie in a network that was opened.
const METADATA: [IpAddr; 6] = [
    IpAddr::V4(Ipv4Addr::new(169, 254, 169, 254)),
    IpAddr::V4(Ipv4Addr::new(169, 254, 170, 2)),
    IpAddr::V4(Ipv4Addr::new(100, 100, 100, 200)),
    IpAddr::V4(Ipv4Addr::new(168, 63, 129, 16)),
    IpAddr::V6(Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254)),
    IpAddr::V6(Ipv6Addr::new(0xfd20, 0xce, 0, 0, 0, 0, 0, 0x254)),
];

/// Which addresses may be called on a stranger's word: public ones, and those that were opened.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct AddressPolicy {
    allowed: Vec<IpNet>,
    loopback: bool,
}

/// Why a URL is not called. What is displayed may be shown to a peer; the address is for our logs.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Blocked {
    /// It is not a URL, or it has no host.
    #[error("the URL cannot be read")]
    Unreadable,
    /// It is neither http nor https.
    #[error("only http and https are called")]
    Scheme,
    /// It has a user name or a password.
    #[error("a URL with a user name or password is not called")]
    UserInfo,
    /// Its host has a name that is never called.
    #[error("the host is not allowed")]
    Name(String),
    /// Its host is, or resolves to, an address that is neither public nor allowed.
    #[error("the host is not at a public address")]
    Address(IpAddr),
}

impl AddressPolicy {
    /// Lets through this network too. The metadata services of clouds stay closed.
    pub(crate) fn allow(mut self, network: IpNet) -> Self {
        self.allowed.push(network);
        self
    }

    /// Whether this machine's own loopback addresses are let through.
    pub(crate) fn loopback(mut self, open: bool) -> Self {
        self.loopback = open;
        self
    }

    /// Reads a URL and checks what can be checked without resolving its name.
    pub(crate) fn check(&self, url: &str) -> Result<Url, Blocked> {
        let url = Url::parse(url).map_err(|_| Blocked::Unreadable)?;
        self.check_url(&url)?;
        Ok(url)
    }

    /// Checks what can be checked without resolving the name: the scheme, the name itself, and the address
    /// when the host is one. The addresses of a name are checked when it is resolved for a connection.
    pub(crate) fn check_url(&self, url: &Url) -> Result<(), Blocked> {
        if !matches!(url.scheme(), "http" | "https") {
            return Err(Blocked::Scheme);
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(Blocked::UserInfo);
        }
        match url.host() {
            None => Err(Blocked::Unreadable),
            Some(Host::Domain(name)) => self.check_name(name),
            Some(Host::Ipv4(address)) => self.check_address(address.into()),
            Some(Host::Ipv6(address)) => self.check_address(address.into()),
        }
    }

    /// Checks an address.
    pub(crate) fn check_address(&self, address: IpAddr) -> Result<(), Blocked> {
        let inner = match address {
            IpAddr::V4(_) => vec![address],
            IpAddr::V6(outer) => reached(outer),
        };
        if inner.iter().all(|inner| self.lets_through(*inner)) { Ok(()) } else { Err(Blocked::Address(address)) }
    }

    /// Checks the name of a host, before it is resolved.
    pub(crate) fn check_name(&self, name: &str) -> Result<(), Blocked> {
        // A name with a dot at its end is the same name.
        let plain = name.trim_end_matches('.').to_ascii_lowercase();
        let local = plain == "localhost" || plain.ends_with(".localhost");
        if plain.is_empty() || METADATA_NAMES.contains(&plain.as_str()) || (local && !self.loopback) {
            return Err(Blocked::Name(plain));
        }
        Ok(())
    }

    fn lets_through(&self, address: IpAddr) -> bool {
        if METADATA.contains(&address) {
            return false;
        }
        self.allowed.iter().any(|network| network.contains(&address))
            || (self.loopback && address.is_loopback())
            || match address {
                IpAddr::V4(address) => is_public_v4(address),
                IpAddr::V6(address) => is_public_v6(address),
            }
    }
}

/// The addresses that an IPv6 address leads to: the IPv4 addresses wrapped in it, else itself.
fn reached(address: Ipv6Addr) -> Vec<IpAddr> {
    let segments = address.segments();
    let v4 = |high: u16, low: u16| IpAddr::V4(Ipv4Addr::from((u32::from(high) << 16) | u32::from(low)));
    match segments {
        // The unspecified address and loopback look like compatible addresses, and are none.
        [0, 0, 0, 0, 0, 0, 0, 0 | 1] => vec![address.into()],
        // Compatible, mapped, translated, NAT64.
        [0, 0, 0, 0, 0, 0, high, low]
        | [0, 0, 0, 0, 0, 0xffff, high, low]
        | [0, 0, 0, 0, 0xffff, 0, high, low]
        | [0x64, 0xff9b, 0, 0, 0, 0, high, low] => vec![v4(high, low)],
        // 6to4.
        [0x2002, high, low, ..] => vec![v4(high, low)],
        // Teredo: its server, and its client with every bit turned over.
        [0x2001, 0, high, low, _, _, client_high, client_low] => vec![v4(high, low), v4(!client_high, !client_low)],
        // ISATAP, below any prefix.
        [_, _, _, _, 0 | 0x200, 0x5efe, high, low] => vec![address.into(), v4(high, low)],
        _ => vec![address.into()],
    }
}

/// Whether an address is reachable from everywhere, after the registry of special-purpose addresses.
fn is_public_v4(address: Ipv4Addr) -> bool {
    !matches!(
        address.octets(),
        [0 | 10 | 127, ..]                  // this network, private, loopback
            | [100, 64..=127, ..]           // shared by carriers
            | [169, 254, ..]                // link-local
            | [172, 16..=31, ..]            // private
            | [192, 0, 0 | 2, _]            // protocol assignments, documentation
            | [192, 88, 99, _]              // relays of 6to4
            | [192, 168, ..]                // private
            | [198, 18 | 19, ..]            // benchmarks
            | [198, 51, 100, _]             // documentation
            | [203, 0, 113, _]              // documentation
            | [224..=255, ..] // multicast, reserved, broadcast
    )
}

/// Whether an address is reachable from everywhere. Only 2000::/3 is, without what is set aside in it.
fn is_public_v6(address: Ipv6Addr) -> bool {
    matches!(address.segments()[0], 0x2000..=0x3fff)
        && !matches!(
            address.segments(),
            [0x2001, 0..=0x1ff, ..]         // protocol assignments
                | [0x2001, 0xdb8, ..]       // documentation
                | [0x3fff, 0..=0xfff, ..] // documentation
        )
}
