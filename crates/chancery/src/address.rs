//! The address that a server listens on.

use std::{
    fmt,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
};

use chancery_core::Result;

use crate::startup;

/// Where a server listens: `"127.0.0.1:7420"`, `"localhost:7420"`, `("127.0.0.1", 7420)`, or a [`SocketAddr`]. Port 0 is one that is free.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Address(Form);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Form {
    Socket(SocketAddr),
    Text(String),
}

impl Address {
    /// The sockets that it names.
    pub(crate) async fn resolve(&self) -> Result<Vec<SocketAddr>> {
        let text = match &self.0 {
            Form::Socket(socket) => return Ok(vec![*socket]),
            Form::Text(text) => text,
        };
        let found = tokio::net::lookup_host(text).await.map_err(|error| startup::bad_address(text, error))?;
        Ok(found.collect())
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Form::Socket(socket) => socket.fmt(f),
            Form::Text(text) => text.fmt(f),
        }
    }
}

impl From<SocketAddr> for Address {
    fn from(socket: SocketAddr) -> Self {
        Self(Form::Socket(socket))
    }
}

impl From<&str> for Address {
    fn from(text: &str) -> Self {
        Self(Form::Text(text.to_owned()))
    }
}

impl From<String> for Address {
    fn from(text: String) -> Self {
        Self(Form::Text(text))
    }
}

impl From<&String> for Address {
    fn from(text: &String) -> Self {
        text.as_str().into()
    }
}

impl From<(&str, u16)> for Address {
    fn from((host, port): (&str, u16)) -> Self {
        match host.parse::<IpAddr>() {
            Ok(ip) => (ip, port).into(),
            Err(_) => Self(Form::Text(format!("{host}:{port}"))),
        }
    }
}

impl From<(IpAddr, u16)> for Address {
    fn from(address: (IpAddr, u16)) -> Self {
        SocketAddr::from(address).into()
    }
}

impl From<(Ipv4Addr, u16)> for Address {
    fn from(address: (Ipv4Addr, u16)) -> Self {
        SocketAddr::from(address).into()
    }
}

impl From<(Ipv6Addr, u16)> for Address {
    fn from(address: (Ipv6Addr, u16)) -> Self {
        SocketAddr::from(address).into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_written_in_many_ways() {
        let socket = Address::from(SocketAddr::from(([127, 0, 0, 1], 7420)));
        assert_eq!(Address::from(("127.0.0.1", 7420)), socket);
        assert_eq!(Address::from((Ipv4Addr::LOCALHOST, 7420)), socket);
        assert_eq!(Address::from(("::1", 80)).to_string(), "[::1]:80");
        assert_eq!(Address::from(("localhost", 80)), Address::from("localhost:80"));
    }
}
