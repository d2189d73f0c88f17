//! Base URLs of agents, as far as they name one.

/// Whether two base URLs name the same agent: scheme, host, port, and path without a slash at its end.
#[must_use]
pub fn same_agent(one: &str, other: &str) -> bool {
    one == other || normalized(one) == normalized(other)
}

/// A base URL in one spelling: what is not told apart by a reader of URLs is not told apart here.
fn normalized(url: &str) -> String {
    let url = url.trim();
    let Some((scheme, rest)) = url.split_once("://") else { return url.trim_end_matches('/').to_owned() };
    let scheme = scheme.to_ascii_lowercase();
    let rest = rest.split(['?', '#']).next().unwrap_or(rest);
    let (authority, path) = rest.find('/').map_or((rest, ""), |at| rest.split_at(at));
    // Who is told in a URL is not which agent it is.
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host).to_ascii_lowercase();
    let port = if scheme == "https" { ":443" } else { ":80" };
    let host = host.strip_suffix(port).unwrap_or(&host);
    format!("{scheme}://{host}{}", path.trim_end_matches('/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// HO-32: agents are compared by their normalized base URL.
    #[test]
    fn one_agent_has_many_spellings() {
        let same = [
            ("https://a.example", "https://a.example/"),
            ("https://a.example", "HTTPS://A.Example:443/"),
            ("http://a.example:80/x/", "http://a.example/x"),
            ("https://me@a.example/x?y#z", "https://a.example/x"),
            ("http://[::1]:7420", "http://[::1]:7420/"),
        ];
        for (one, other) in same {
            assert!(same_agent(one, other), "{one} {other}");
        }
        let different = [
            ("https://a.example", "http://a.example"),
            ("https://a.example", "https://b.example"),
            ("https://a.example:8443", "https://a.example"),
            ("https://a.example/x", "https://a.example/y"),
            ("https://a.example/x", "https://a.example/X"),
            ("https://a.example", "https://a.example.evil.example"),
        ];
        for (one, other) in different {
            assert!(!same_agent(one, other), "{one} {other}");
        }
    }
}
