//! The headers of a webhook delivery.

use chancery_core::{PushConfig, Version};

/// The headers of a delivery, names in lower case: the content type of the version that registered
/// the config, its token, and its credential.
///
/// ```
/// use chancery_core::PushConfig;
/// let config = PushConfig::new("https://client.example/hook").authentication("Bearer", "s3cr3t");
/// let headers = chancery_wire::push_headers(&config);
/// assert!(headers.contains(&("authorization".to_owned(), "Bearer s3cr3t".to_owned())));
/// ```
#[must_use]
pub fn push_headers(config: &PushConfig) -> Vec<(String, String)> {
    let content_type = match config.record.origin.version {
        Version::V1_0 => "application/a2a+json",
        _ => "application/json",
    };
    let mut headers = vec![("content-type".to_owned(), content_type.to_owned())];
    if !config.token.is_empty() {
        // Receivers look for either spelling: the specifications name both.
        for name in ["x-a2a-notification-token", "a2a-notification-token"] {
            headers.push((name.to_owned(), config.token.expose().to_owned()));
        }
    }
    headers.extend(credential(config));
    headers
}

/// The header that authenticates the server. A config registered through the compact dialect may
/// name the header; then, and for keys, the value goes alone (DIA-003-PUSH-003).
fn credential(config: &PushConfig) -> Option<(String, String)> {
    let authentication = config.authentication.as_ref().filter(|found| !found.credentials.is_empty())?;
    let value = authentication.credentials.expose();
    let compact = config.record.origin.version == Version::Compact;
    let named = Some(config.record.header_name.to_ascii_lowercase()).filter(|name| compact && !name.is_empty());
    let (scheme, usual_header) = match authentication.scheme.to_ascii_lowercase().as_str() {
        "bearer" => ("Bearer", "authorization"),
        "basic" => ("Basic", "authorization"),
        "apikey" | "api_key" if compact => ("", "x-api-key"),
        _ => (authentication.scheme.as_str(), "authorization"),
    };
    let header = named.unwrap_or_else(|| usual_header.to_owned());
    let alone = scheme.is_empty() || (scheme == "Bearer" && header != "authorization");
    let value = if alone { value.to_owned() } else { format!("{scheme} {value}") };
    Some((header, value))
}
