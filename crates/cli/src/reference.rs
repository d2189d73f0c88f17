//! Naming the agent: what a reference stands for.

use std::path::{Path, PathBuf};

use url::Url;

use crate::trouble::Trouble;

/// What `--agent-card` names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Reference {
    /// A card on stdin.
    Stdin,
    /// A card in a file.
    File(PathBuf),
    /// An entry of a registry.
    Urn(String),
    /// An entry of a catalog.
    Entry { catalog: String, entry: String },
    /// A host: the card is at the well-known path.
    Host(Url),
    /// The address of a card.
    Card(Url),
}

impl Reference {
    /// Reads a reference.
    pub(crate) fn read(text: &str, home: Option<&Path>) -> Result<Self, Trouble> {
        let text = text.trim();
        if text == "-" {
            return Ok(Self::Stdin);
        }
        if let Some(path) = file(text, home) {
            return Ok(match filed(text, home).filter(|_| !path.is_file()) {
                Some((catalog, entry)) => Self::Entry { catalog: catalog.to_owned(), entry: entry.to_owned() },
                None => Self::File(path),
            });
        }
        if text.starts_with("urn:") {
            return Ok(Self::Urn(text.to_owned()));
        }
        if let Some((catalog, entry)) = entry(text) {
            return Ok(Self::Entry { catalog: catalog.to_owned(), entry: entry.to_owned() });
        }
        let url = address(text)?;
        Ok(if url.path() == "/" && url.query().is_none() { Self::Host(url) } else { Self::Card(url) })
    }
}

/// The host of a reference, with its port if it has one: `localhost:8080`.
pub(crate) fn host(text: &str) -> Option<String> {
    match Reference::read(text, None).ok()? {
        Reference::Host(url) | Reference::Card(url) => {
            let host = url.host_str()?;
            Some(url.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}")))
        }
        _ => None,
    }
}

/// A path with `~` for the home folder.
pub(crate) fn expanded(text: &str, home: Option<&Path>) -> PathBuf {
    match (text.strip_prefix('~'), home) {
        (Some(rest), Some(home)) if rest.is_empty() || rest.starts_with('/') => home.join(rest.trim_start_matches('/')),
        _ => PathBuf::from(text),
    }
}

fn file(text: &str, home: Option<&Path>) -> Option<PathBuf> {
    if let Some(path) = text.strip_prefix("file://") {
        let url = Url::parse(text).ok().and_then(|url| url.to_file_path().ok());
        return Some(url.unwrap_or_else(|| PathBuf::from(path)));
    }
    let is_path = text.starts_with(['.', '/', '~']) || Path::new(text).is_file();
    is_path.then(|| expanded(text, home))
}

/// `CATALOG@ENTRY` of a catalog that is a file.
fn filed<'a>(text: &'a str, home: Option<&Path>) -> Option<(&'a str, &'a str)> {
    let (catalog, entry) = text.split_once('@')?;
    (file(catalog, home)?.is_file() && !entry.is_empty()).then_some((catalog, entry))
}

/// `CATALOG@ENTRY`, unless the `@` ends a user name: those stand before any path of a URL.
fn entry(text: &str) -> Option<(&str, &str)> {
    let (catalog, entry) = text.split_once('@')?;
    let bare = catalog.split_once("://").map_or(catalog, |(_, rest)| rest);
    let is_entry = !entry.is_empty() && !bare.is_empty() && (bare.contains(['.', '/']) || is_host(bare)) && !is_user(text);
    is_entry.then_some((catalog, entry))
}

/// Whether what stands before the `@` is a user name: then a host follows.
fn is_user(text: &str) -> bool {
    let Some((_, rest)) = text.split_once("://") else { return false };
    let authority = rest.split('/').next().unwrap_or_default();
    authority.split_once('@').is_some_and(|(_, host)| is_host(host) || host.contains('.'))
}

fn is_host(text: &str) -> bool {
    let (host, port) = text.split_once(':').unwrap_or((text, "1"));
    (host == "localhost" || host.contains('.')) && port.parse::<u16>().is_ok()
}

/// A URL, with the scheme that its host deserves if it has none.
fn address(text: &str) -> Result<Url, Trouble> {
    let with_scheme =
        if text.contains("://") { text.to_owned() } else { format!("{}://{text}", if is_loopback(text) { "http" } else { "https" }) };
    let wrong = |what: &str| Trouble::usage(format!("{text:?} names no agent: {what}")).hint("a2a help references");
    let url = Url::parse(&with_scheme).map_err(|error| wrong(&error.to_string()))?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(wrong("only http and https are fetched"));
    }
    if !url.username().is_empty() || url.password().is_some() {
        let hint = "pass credentials in A2ACLI_BEARER, A2ACLI_API_KEY or A2ACLI_BASIC";
        return Err(Trouble::usage("user names and passwords do not belong into a URL").hint(hint));
    }
    Ok(url)
}

/// Whether a host, with or without its port, is this machine.
pub(crate) fn is_loopback(text: &str) -> bool {
    let authority = text.split(['/', '?']).next().unwrap_or_default();
    let host = match authority.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or_default(),
        None => authority.split(':').next().unwrap_or_default(),
    };
    let address = host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback());
    address || host.eq_ignore_ascii_case("localhost") || host.to_ascii_lowercase().ends_with(".localhost")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn url(text: &str) -> Url {
        Url::parse(text).unwrap()
    }

    #[test]
    fn references_are_tried_in_their_order() {
        let read = |text: &str| Reference::read(text, Some(Path::new("/home/me"))).unwrap();
        for (text, expected) in [
            ("-", Reference::Stdin),
            ("file:///tmp/c.json", Reference::File("/tmp/c.json".into())),
            ("./c.json", Reference::File("./c.json".into())),
            ("~/c.json", Reference::File("/home/me/c.json".into())),
            ("urn:air:example.com:a", Reference::Urn("urn:air:example.com:a".into())),
            ("localhost:8080@urn:air:x", Reference::Entry { catalog: "localhost:8080".into(), entry: "urn:air:x".into() }),
            ("localhost:8080", Reference::Host(url("http://localhost:8080"))),
            ("127.0.0.1:8080", Reference::Host(url("http://127.0.0.1:8080"))),
            ("[::1]:8080", Reference::Host(url("http://[::1]:8080"))),
            ("agent.example.com", Reference::Host(url("https://agent.example.com"))),
            ("http://agent.example.com", Reference::Host(url("http://agent.example.com"))),
            ("localhost:8080/secure", Reference::Card(url("http://localhost:8080/secure"))),
        ] {
            assert_eq!(read(text), expected, "{text}");
        }
    }

    #[test]
    fn passwords_in_urls_are_refused() {
        for text in ["http://me:secret@agent.example.com", "http://me@localhost:8080/x", "ftp://agent.example.com"] {
            assert_eq!(Reference::read(text, None).unwrap_err().exit, 2, "{text}");
        }
    }

    #[test]
    fn hosts_are_named_with_their_port() {
        assert_eq!(host("localhost:8080/secure").as_deref(), Some("localhost:8080"));
        assert_eq!(host("https://agent.example.com").as_deref(), Some("agent.example.com"));
        assert_eq!(host("./card.json"), None);
    }
}
