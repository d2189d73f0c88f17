//! Headers that every version reads and writes a little differently.

use std::collections::BTreeSet;

use chancery_core::Version;

/// The version asked for.
pub const VERSION: &str = "a2a-version";
/// Extensions, in v1.0.
pub const EXTENSIONS: &str = "a2a-extensions";
/// Extensions, before v1.0.
pub const OLD_EXTENSIONS: &str = "x-a2a-extensions";

/// The extensions that a request asks for: those of both header names, whatever the version, split at
/// commas. Names are compared without case. v0.1 has no extensions.
pub fn requested_extensions<'a>(version: Version, headers: impl IntoIterator<Item = (&'a str, &'a str)>) -> BTreeSet<String> {
    if version == Version::V0_1 {
        return BTreeSet::new();
    }
    let named = |name: &str| name.eq_ignore_ascii_case(EXTENSIONS) || name.eq_ignore_ascii_case(OLD_EXTENSIONS);
    let values = headers.into_iter().filter(|(name, _)| named(name)).flat_map(|(_, value)| value.split(','));
    values.map(str::trim).filter(|uri| !uri.is_empty()).map(str::to_owned).collect()
}

/// The headers that tell which extensions are active: the new name always, the old one when the request
/// used it.
pub fn activated_extensions<'a>(
    request: impl IntoIterator<Item = &'a str>,
    active: impl IntoIterator<Item = &'a str>,
) -> Vec<(&'static str, String)> {
    let list: Vec<_> = active.into_iter().collect();
    if list.is_empty() {
        return Vec::new();
    }
    let list = list.join(", ");
    let old = request.into_iter().any(|name| name.eq_ignore_ascii_case(OLD_EXTENSIONS));
    let mut headers = vec![(EXTENSIONS, list.clone())];
    headers.extend(old.then_some((OLD_EXTENSIONS, list)));
    headers
}

/// The headers by which a client names the version and its extensions to a peer.
#[must_use]
pub fn client_headers(version: Version, extensions: &[String]) -> Vec<(&'static str, String)> {
    let mut headers = Vec::new();
    if version != Version::V0_1 {
        let asked = if version == Version::Compact { Version::V1_0 } else { version };
        headers.push((VERSION, asked.as_str().to_owned()));
    }
    if !extensions.is_empty() {
        let name = match version {
            Version::V1_0 | Version::Compact => Some(EXTENSIONS),
            Version::V0_3 | Version::V0_2 => Some(OLD_EXTENSIONS),
            _ => None,
        };
        headers.extend(name.map(|name| (name, extensions.join(", "))));
    }
    headers
}

#[cfg(test)]
mod tests {
    use super::*;

    /// CONV-HDR-001, CONV-HDR-002, V03-HDR-001, V03-HDR-002, V03-HDR-003, V10-SVC-002.
    #[test]
    fn extensions_are_read_under_both_names_and_answered_under_those_used() {
        let headers = [("A2A-Extensions", "urn:a, urn:b"), ("x-a2a-extensions", "urn:b,urn:c,"), ("accept", "urn:d")];
        let requested = requested_extensions(Version::V0_3, headers);
        assert_eq!(requested.iter().map(String::as_str).collect::<Vec<_>>(), ["urn:a", "urn:b", "urn:c"]);
        assert!(requested_extensions(Version::V0_1, headers).is_empty());
        assert_eq!(activated_extensions(["A2A-Extensions"], ["urn:a"]), [(EXTENSIONS, "urn:a".to_owned())]);
        let both = activated_extensions(["X-A2A-Extensions"], ["urn:a", "urn:b"]);
        assert_eq!(both, [(EXTENSIONS, "urn:a, urn:b".to_owned()), (OLD_EXTENSIONS, "urn:a, urn:b".to_owned())]);
        assert!(activated_extensions(["A2A-Extensions"], []).is_empty());
    }

    /// V10-VER-001, V10-VER-003, V10-VER-004, V10-RPC-004, V10-RPC-005, V10-REST-003, V10-REST-004, V10-GRPC-004, V10-GRPC-005.
    #[test]
    fn a_client_names_the_version_to_all_but_the_first_peers() {
        let extensions = ["urn:a".to_owned(), "urn:b".to_owned()];
        assert_eq!(client_headers(Version::V1_0, &extensions), [(VERSION, "1.0".to_owned()), (EXTENSIONS, "urn:a, urn:b".to_owned())]);
        assert_eq!(client_headers(Version::V0_3, &extensions), [(VERSION, "0.3".to_owned()), (OLD_EXTENSIONS, "urn:a, urn:b".to_owned())]);
        assert_eq!(client_headers(Version::Compact, &[]), [(VERSION, "1.0".to_owned())]);
        assert!(client_headers(Version::V0_1, &extensions).is_empty());
    }
}
