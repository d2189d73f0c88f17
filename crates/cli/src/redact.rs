//! Takes out of a line what must not be read in it.

use chancery_core::json::to_base64;
use serde_json::Value;

use crate::settings::Settings;

/// Members of a body that are secrets, whoever sent it.
const SECRET_MEMBERS: [&str; 5] = ["token", "credentials", "client_secret", "access_token", "refresh_token"];
/// Characters of inline bytes that are shown.
const INLINE: usize = 256;
/// A secret that is shorter may be part of any word.
const SHORTEST: usize = 4;

/// Knows the secrets of a run.
#[derive(Clone)]
pub(crate) struct Redactor {
    /// Each with what is shown instead.
    secrets: Vec<(String, String)>,
}

/// A body without its secrets.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Redacted {
    pub(crate) text: String,
    /// Whether inline bytes were left out.
    pub(crate) shortened: bool,
}

impl Redactor {
    /// Knows the credentials and the parameters of the settings.
    pub(crate) fn new(settings: &Settings) -> Self {
        let given = &settings.given;
        let mut secrets = Vec::new();
        let mut add = |secret: &str, shown: &str| secrets.push((secret.to_owned(), shown.to_owned()));
        given.bearer.iter().for_each(|token| add(token.expose(), "$A2ACLI_BEARER"));
        given.api_key.iter().for_each(|key| add(key.expose(), "$A2ACLI_API_KEY"));
        if let Some((user, password)) = &given.basic {
            add(&to_base64(format!("{user}:{}", password.expose()).as_bytes()), "$A2ACLI_BASIC");
            add(password.expose(), "$A2ACLI_BASIC");
        }
        crate::wallet::client_secret(settings).iter().for_each(|secret| add(secret.expose(), "$A2ACLI_CLIENT_SECRET"));
        settings.svc_params.iter().for_each(|(_, value)| add(value.expose(), "(hidden)"));
        secrets.retain(|(secret, _)| secret.len() >= SHORTEST);
        // The longest first, in case one is part of another.
        secrets.sort_by_key(|(secret, _)| std::cmp::Reverse(secret.len()));
        Self { secrets }
    }

    /// The text without the secrets of the settings, wherever they stand.
    pub(crate) fn scrub(&self, text: &str) -> String {
        self.secrets.iter().fold(text.to_owned(), |text, (secret, shown)| text.replace(secret.as_str(), shown))
    }

    /// A body without secret members and long inline bytes; one that is no JSON is shown as it is.
    pub(crate) fn body(&self, body: &[u8]) -> Redacted {
        let text = String::from_utf8_lossy(body);
        let Ok(mut value) = serde_json::from_slice::<Value>(body) else {
            return Redacted { text: self.scrub(&text), shortened: false };
        };
        let mut shortened = false;
        if redact(&mut value, &mut shortened) {
            return Redacted { text: self.scrub(&value.to_string()), shortened };
        }
        Redacted { text: self.scrub(text.trim_end()), shortened }
    }
}

/// Says whether anything was changed.
fn redact(value: &mut Value, shortened: &mut bool) -> bool {
    match value {
        Value::Array(items) => items.iter_mut().fold(false, |changed, item| redact(item, shortened) | changed),
        Value::Object(members) => {
            let mut changed = false;
            for (name, member) in members.iter_mut() {
                match member {
                    Value::String(text) if SECRET_MEMBERS.contains(&name.as_str()) => {
                        *text = "(hidden)".to_owned();
                        changed = true;
                    }
                    Value::String(text) if matches!(name.as_str(), "raw" | "bytes") && text.len() > INLINE => {
                        let end = (0..=INLINE).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
                        text.truncate(end);
                        text.push('…');
                        (*shortened, changed) = (true, true);
                    }
                    other => changed |= redact(other, shortened),
                }
            }
            changed
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn redactor() -> Redactor {
        Redactor { secrets: vec![("S3CRET".to_owned(), "$A2ACLI_BEARER".to_owned())] }
    }

    /// A2ACLI_AUTH_004: secrets are taken out of bodies, by name and by value.
    #[test]
    fn secrets_are_taken_out_by_name_and_by_value() {
        let body = redactor().body(br#"{"config":{"token":"x","authentication":{"credentials":"y"}},"text":"said S3CRET"}"#);
        assert_eq!(
            body.text,
            r#"{"config":{"token":"(hidden)","authentication":{"credentials":"(hidden)"}},"text":"said $A2ACLI_BEARER"}"#
        );
        assert_eq!(redactor().body(b"no JSON S3CRET").text, "no JSON $A2ACLI_BEARER");
    }

    #[test]
    fn long_inline_bytes_are_shortened() {
        let body = redactor().body(format!(r#"{{"raw":"{}"}}"#, "A".repeat(300)).as_bytes());
        assert!(body.shortened && body.text.len() < 280, "{}", body.text);
        assert!(!redactor().body(br#"{"raw":"AAAA"}"#).shortened);
    }
}
