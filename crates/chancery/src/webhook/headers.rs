//! The headers of a notification: what the client asked for, and our signature.

use aws_lc_rs::digest::{SHA256, digest};
use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};
use chancery_core::Timestamp;
use chancery_engine::push::Notification;
use http::{HeaderMap, HeaderName, HeaderValue};

use super::{Failure, Key};

/// Headers that say how and where a request travels, which no client may set. Ours begin with `webhook-`.
const RESERVED: [&str; 11] = [
    "connection",
    "content-encoding",
    "content-length",
    "expect",
    "host",
    "keep-alive",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "user-agent",
];

/// The longest notification id that is sent as it is.
const LONGEST_ID: usize = 256;

/// The headers of a delivery of this body.
pub(super) fn headers(notification: &Notification, body: &[u8], key: &Key, now: Timestamp) -> Result<HeaderMap, Failure> {
    let mut headers = HeaderMap::new();
    for (name, value) in chancery_wire::push_headers(&notification.config) {
        add(&mut headers, &name, &value)?;
    }
    let (id, timestamp) = (id(&notification.id), now.unix().0);
    let mut content = format!("{id}.{timestamp}.").into_bytes();
    content.extend_from_slice(body);
    let signature = key.sign(&content).map_err(|_| Failure::Signature)?;
    for (name, value) in
        [("webhook-id", id), ("webhook-timestamp", timestamp.to_string()), ("webhook-signature", format!("v1a,{signature}"))]
    {
        headers.insert(name, HeaderValue::from_str(&value).map_err(|_| Failure::Header(name.to_owned()))?);
    }
    trace(notification, &mut headers);
    Ok(headers)
}

/// Adds the trace of the request that asked for notifications: each attempt is a span of it.
fn trace(notification: &Notification, headers: &mut HeaderMap) {
    let attempt = format!("{}.{}", notification.id, notification.attempt);
    let Some(span) = digest(&SHA256, attempt.as_bytes()).as_ref().first_chunk().map(|bytes| u64::from_be_bytes(*bytes)) else { return };
    let Some(trace) = notification.config.record.trace.as_ref().and_then(|trace| trace.continued(span)) else { return };
    for (name, value) in [("traceparent", trace.parent), ("tracestate", trace.state)] {
        // What a client asked for is sent as it asked; a state that is no header was none when it came.
        if let Ok(value) = HeaderValue::from_str(&value)
            && !value.is_empty()
        {
            headers.entry(name).or_insert(value);
        }
    }
}

/// Adds what the client asked for. A line break in a value would begin a header of the client's making, so
/// nothing is sent then.
fn add(headers: &mut HeaderMap, name: &str, value: &str) -> Result<(), Failure> {
    let refused = || Failure::Header(name.to_owned());
    let name = HeaderName::from_bytes(name.as_bytes()).map_err(|_| refused())?;
    let reserved = RESERVED.contains(&name.as_str()) || name.as_str().starts_with("webhook-") || name.as_str().starts_with("proxy-");
    if reserved || headers.contains_key(&name) {
        return Err(refused());
    }
    let mut value = HeaderValue::from_bytes(value.as_bytes()).map_err(|_| refused())?;
    value.set_sensitive(name != http::header::CONTENT_TYPE);
    headers.insert(name, value);
    Ok(())
}

/// The id that receivers see. Clients choose parts of the notification's id, and the signature covers
/// `{id}.{timestamp}.{body}`: an id with a brace in it could pass for the beginning of a body. So an id is
/// sent as it is only when it is plain, and by its hash otherwise.
fn id(id: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_');
    if id.len() <= LONGEST_ID && id.bytes().all(plain) {
        return id.to_owned();
    }
    format!("sha256-{}", BASE64_URL_SAFE_NO_PAD.encode(digest(&SHA256, id.as_bytes())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_that_could_pass_for_a_body_is_hashed() {
        assert_eq!(id("019a-7.12.hook_1"), "019a-7.12.hook_1");
        for odd in ["t.1.{\"id\":1}", "t.1.a b", "t.1.a\r\nx: y", "t.1.ä", &"a".repeat(257)] {
            let hashed = id(odd);
            assert!(hashed.starts_with("sha256-") && !hashed.contains('.') && hashed.len() == 50, "{hashed}");
            assert_eq!(hashed, id(odd));
        }
        assert_ne!(id("{"), id("}"));
    }
}
