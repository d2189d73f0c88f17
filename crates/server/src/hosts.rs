//! Virtual hosts: the base URLs that a router is reached by, and which of them a request used.
//!
//! Cards and catalogs name the URL that they were asked by, for clients that want all of an agent on one origin. Nothing is copied
//! from a `Host` header: it chooses among the URLs that were said, and what is not among them gets the first.

use chancery_core::{Error, ErrorKind, Result};
use http::{Version, header::HOST, request::Parts, uri::Authority};
use url::Url;

/// The base URLs of a router; the first is the one that counts when nothing else is said.
#[derive(Debug)]
pub(crate) struct Hosts {
    bases: Vec<Base>,
}

#[derive(Debug)]
struct Base {
    /// Without a slash at its end.
    url: String,
    /// The host in lower case, IPv6 in brackets, and the port; `None` when the URL is none.
    place: Option<(String, Option<u16>)>,
    /// The port that need not be written.
    usual_port: Option<u16>,
}

impl Hosts {
    /// The base, and others: each a URL, or a host with or without a port, which has the scheme and the path of the base then.
    pub(crate) fn new(base: &str, others: &[String]) -> Result<Self> {
        let base = Base::new(base);
        let mut hosts = Self { bases: vec![base] };
        for other in others {
            let found = hosts.read(other).ok_or_else(|| {
                let words = format!("{other:?} is no host; write it like agents.example.com, 10.0.0.7:8080 or https://agents.example.com");
                Error::new(ErrorKind::Internal, words)
            })?;
            if !hosts.bases.iter().any(|known| known.place == found.place) {
                hosts.bases.push(found);
            }
        }
        Ok(hosts)
    }

    fn read(&self, host: &str) -> Option<Base> {
        if host.contains("://") {
            let url = Url::parse(host).ok()?;
            return matches!(url.scheme(), "http" | "https").then(|| Base::new(host)).filter(|base| base.place.is_some());
        }
        let first = &self.bases[0].url;
        let (scheme, rest) = first.split_once("://").unwrap_or(("http", first));
        let path = rest.find('/').map_or("", |at| &rest[at..]);
        let authority: Authority = host.parse().ok().filter(|_| !host.contains('@'))?;
        Some(Base::new(&format!("{scheme}://{authority}{path}"))).filter(|base| base.place.is_some())
    }

    /// How many there are.
    pub(crate) fn count(&self) -> usize {
        self.bases.len()
    }

    /// The base URL at a place of the list.
    pub(crate) fn url(&self, at: usize) -> &str {
        &self.bases.get(at).unwrap_or(&self.bases[0]).url
    }

    /// All of them.
    pub(crate) fn urls(&self) -> impl Iterator<Item = &str> {
        self.bases.iter().map(|base| base.url.as_str())
    }

    /// The place in the list of the one that a request used; the first when it used another.
    pub(crate) fn of(&self, head: &Parts) -> usize {
        if self.bases.len() == 1 {
            return 0;
        }
        let header = || head.headers.get(HOST).and_then(|host| Authority::try_from(host.as_bytes()).ok());
        let Some(authority) = head.uri.authority().cloned().or_else(header) else { return 0 };
        self.bases.iter().position(|base| base.is(&authority)).unwrap_or(0)
    }
}

impl Base {
    fn new(url: &str) -> Self {
        let parsed = Url::parse(url).ok();
        let place = parsed.as_ref().and_then(|url| Some((url.host_str()?.to_ascii_lowercase(), url.port_or_known_default())));
        let usual_port = parsed.and_then(|url| match url.scheme() {
            "https" => Some(443),
            "http" => Some(80),
            _ => None,
        });
        Self { url: url.trim_end_matches('/').to_owned(), place, usual_port }
    }

    fn is(&self, authority: &Authority) -> bool {
        let port = authority.port_u16().or(self.usual_port);
        self.place.as_ref().is_some_and(|(host, own)| host.eq_ignore_ascii_case(authority.host()) && *own == port)
    }
}

/// RFC 9112, section 3.2: a request of HTTP/1.1 has one `Host` header, or is refused.
pub(crate) fn names_its_host(head: &Parts) -> bool {
    head.version != Version::HTTP_11 || head.headers.get_all(HOST).iter().count() == 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(hosts: &Hosts, asked: &str, answered: &str) {
        let (head, ()) = http::Request::get("/").header(HOST, asked).body(()).unwrap().into_parts();
        assert_eq!(hosts.url(hosts.of(&head)), answered, "{asked}");
    }

    #[test]
    fn a_request_chooses_among_the_urls_that_were_said() {
        let others = ["localhost:8080", "[::1]:8080", "https://agents.example.com/a/", "10.0.0.7"].map(str::to_owned);
        let hosts = Hosts::new("http://127.0.0.1:8080", &others).unwrap();
        for (asked, answered) in [
            ("127.0.0.1:8080", "http://127.0.0.1:8080"),
            ("localhost:8080", "http://localhost:8080"),
            ("LocalHost:8080", "http://localhost:8080"),
            ("[::1]:8080", "http://[::1]:8080"),
            ("agents.example.com", "https://agents.example.com/a"),
            ("agents.example.com:443", "https://agents.example.com/a"),
            ("10.0.0.7", "http://10.0.0.7"),
            ("10.0.0.7:80", "http://10.0.0.7"),
        ] {
            check(&hosts, asked, answered);
        }
    }

    #[test]
    fn another_host_gets_the_first_url() {
        let hosts = Hosts::new("http://127.0.0.1:8080", &["localhost:8080".to_owned()]).unwrap();
        for asked in ["evil.example", "localhost", "localhost:8081", "localhost:8080.evil.example", "", "a b", "localhost:8080/x"] {
            check(&hosts, asked, "http://127.0.0.1:8080");
        }
    }

    #[test]
    fn what_is_no_host_is_refused() {
        for other in ["", "ftp://a.example", "a b", "user@a.example", "https://"] {
            assert!(Hosts::new("http://localhost", &[other.to_owned()]).is_err(), "{other:?}");
        }
    }
}
