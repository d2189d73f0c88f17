//! Signs cards.

use base64::{
    Engine as _,
    prelude::{BASE64_STANDARD, BASE64_URL_SAFE_NO_PAD},
};
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::{
    Document, Form, KeyError, SigningKey, canonical,
    pointer::Path,
    schema::{CARD, Field, Kind, Presence},
};

/// Deeper cards are warned of.
const MAX_DEPTH: usize = 64;

/// Signs cards with one key.
///
/// ```
/// use chancery_signing::{Algorithm, Document, Form, Signer, SigningKey};
/// let key = SigningKey::generate(Algorithm::EdDsa, "2026-11")?;
/// let mut card = Document::parse(br#"{"name": "Echo", "description": "", "version": "1", "supportedInterfaces": []}"#)?;
/// let signed = Signer::new(&key).jku("https://echo.example/.well-known/jwks.json").sign(&mut card)?;
/// // The released SDKs leave out what is empty, so they get a signature of their own.
/// assert_eq!(signed.forms, [Form::Spec, Form::Sdk]);
/// assert_eq!(signed.uncovered, ["/description", "/supportedInterfaces"]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Signer<'a> {
    key: &'a SigningKey,
    header: Map<String, Value>,
    forms: Option<Vec<Form>>,
    replace: bool,
}

/// What was signed.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Signed {
    /// One signature for each of these forms was added.
    pub forms: Vec<Form>,
    /// What the signature for the SDKs leaves uncovered.
    pub uncovered: Vec<String>,
}

/// Why a card was not signed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SignError {
    /// The key cannot be used.
    #[error(transparent)]
    Key(#[from] KeyError),
    /// A member has two values, under both of its names.
    #[error("a member of the card has two values, under both of its names")]
    Ambiguous,
    /// What should be the list of signatures is none.
    #[error("signatures is no list")]
    Signatures,
}

/// Something in a card that makes its signature weaker than it looks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Lint {
    /// A pointer to it.
    pub path: String,
    /// What is wrong, in words.
    pub message: String,
}

impl<'a> Signer<'a> {
    /// A signer that adds a signature in the specification's form and, where that differs, one in the form of the SDKs.
    pub fn new(key: &'a SigningKey) -> Self {
        let mut header = Map::new();
        header.insert("alg".to_owned(), json!(key.algorithm()));
        header.insert("kid".to_owned(), json!(key.kid()));
        header.insert("typ".to_owned(), json!("JOSE"));
        Self { key, header, forms: None, replace: false }
    }

    /// Says where the public key is published.
    #[must_use]
    pub fn jku(mut self, url: impl Into<String>) -> Self {
        self.header.insert("jku".to_owned(), Value::String(url.into()));
        self
    }

    /// Adds the key's certificates in DER, the key's own first.
    #[must_use]
    pub fn chain<'c>(mut self, certificates: impl IntoIterator<Item = &'c [u8]>) -> Self {
        let chain: Vec<String> = certificates.into_iter().map(|der| BASE64_STANDARD.encode(der)).collect();
        self.header.insert("x5c".to_owned(), json!(chain));
        self
    }

    /// Says who issued the card, for the dialect that asks for it.
    #[must_use]
    pub fn issuer(mut self, issuer: impl Into<String>) -> Self {
        self.header.insert("iss".to_owned(), Value::String(issuer.into()));
        self
    }

    /// Makes signatures in these forms and no other.
    #[must_use]
    pub fn forms(mut self, forms: impl IntoIterator<Item = Form>) -> Self {
        self.forms = Some(forms.into_iter().collect());
        self
    }

    /// Removes signatures that name the same key. Those of other keys always stay.
    #[must_use]
    pub fn replace(mut self) -> Self {
        self.replace = true;
        self
    }

    /// Adds the signatures to a card.
    ///
    /// # Errors
    /// When the card is ambiguous or the key cannot be used. The card is unchanged then.
    pub fn sign(&self, card: &mut Document) -> Result<Signed, SignError> {
        let mut signatures = match card.member("signatures") {
            None | Some(Value::Null) => Vec::new(),
            Some(Value::Array(signatures)) => signatures.clone(),
            Some(_) => return Err(SignError::Signatures),
        };
        if self.replace {
            signatures.retain(|signature| kid(signature).as_deref() != Some(self.key.kid()));
        }
        let protected = BASE64_URL_SAFE_NO_PAD.encode(canonical::rfc8785(&self.header));
        let (mut forms, mut uncovered, mut seen) = (Vec::new(), Vec::new(), Vec::new());
        for form in self.forms.as_deref().unwrap_or(&[Form::Spec, Form::Sdk]) {
            let canonical = form.of(card).ok_or(SignError::Ambiguous)?;
            if seen.contains(&canonical.bytes) {
                continue;
            }
            let input = format!("{protected}.{}", BASE64_URL_SAFE_NO_PAD.encode(&canonical.bytes));
            let signature = BASE64_URL_SAFE_NO_PAD.encode(self.key.sign(input.as_bytes())?);
            signatures.push(json!({"protected": protected, "signature": signature}));
            uncovered.extend(canonical.uncovered);
            forms.push(*form);
            seen.push(canonical.bytes);
        }
        card.set("signatures", Value::Array(signatures));
        Ok(Signed { forms, uncovered })
    }
}

/// The key that a signature names.
fn kid(signature: &Value) -> Option<String> {
    let header = BASE64_URL_SAFE_NO_PAD.decode(signature.get("protected")?.as_str()?).ok()?;
    Some(Document::parse(&header).ok()?.member("kid")?.as_str()?.to_owned())
}

/// Looks for what makes a signature over this card weaker than it looks, or hard to check for others.
///
/// ```
/// use chancery_signing::{Document, lint};
/// let card = Document::parse(br#"{"name": ""}"#)?;
/// assert!(lint(&card).iter().any(|lint| lint.path == "/name"));
/// # Ok::<(), chancery_signing::DocumentError>(())
/// ```
pub fn lint(card: &Document) -> Vec<Lint> {
    let mut linter = Linter::default();
    linter.message(card.members(), CARD);
    let free = |path: &&String| path.contains("/params");
    for path in card.inexact().iter().filter(free) {
        linter
            .lints
            .push(Lint { path: path.clone(), message: "this number is another one as a double, which is how others read it".to_owned() });
    }
    if card.depth() > MAX_DEPTH {
        linter.lints.push(Lint { path: String::new(), message: format!("the card is nested deeper than {MAX_DEPTH} levels") });
    }
    linter.lints
}

#[derive(Default)]
struct Linter {
    path: Path,
    lints: Vec<Lint>,
}

impl Linter {
    fn warn(&mut self, message: &str) {
        self.lints.push(Lint { path: self.path.to_string(), message: message.to_owned() });
    }

    fn message(&mut self, members: &Map<String, Value>, fields: &'static [Field]) {
        for field in fields {
            let value = members.get(field.json).or_else(|| members.get(field.proto)).filter(|value| !value.is_null());
            self.path.push(field.json);
            match value {
                None if field.presence == Presence::Required => self.warn("a required member is missing"),
                // An empty map of scopes or an object without members is a value like any other, but for the SDKs.
                Some(value) if field.presence == Presence::Required && is_empty(value) => {
                    self.warn("a required member is empty; signatures of the SDKs do not cover it");
                }
                Some(value) => self.value(value, field),
                None => {}
            }
            self.path.pop();
        }
    }

    fn value(&mut self, value: &Value, field: &'static Field) {
        match (field.json, field.kind, value) {
            ("schemes", _, Value::Object(schemes)) => {
                for (name, scopes) in schemes {
                    let none = scopes.get("list").and_then(Value::as_array).is_none_or(Vec::is_empty);
                    self.path.push(name);
                    if none {
                        self.warn("a requirement without scopes; signatures of the SDKs do not cover it, so that anybody can remove it");
                    }
                    self.path.pop();
                }
            }
            (_, Kind::Free, value) => self.free(value),
            (_, kind, value) => self.inner(value, kind),
        }
    }

    fn inner(&mut self, value: &Value, kind: Kind) {
        match (kind, value) {
            (Kind::Message(fields), Value::Object(members)) => self.message(members, fields),
            (Kind::List(kind), Value::Array(items)) => {
                for (index, item) in items.iter().enumerate() {
                    self.path.push(&index.to_string());
                    self.inner(item, *kind);
                    self.path.pop();
                }
            }
            (Kind::Map(kind), Value::Object(members)) => {
                for (name, member) in members {
                    self.path.push(name);
                    self.inner(member, *kind);
                    self.path.pop();
                }
            }
            _ => {}
        }
    }

    fn free(&mut self, value: &Value) {
        if is_empty(value) {
            self.warn("an empty value among parameters; signatures of the SDKs do not cover it");
        }
        match value {
            Value::Array(items) => {
                for (index, item) in items.iter().enumerate() {
                    self.path.push(&index.to_string());
                    self.free(item);
                    self.path.pop();
                }
            }
            Value::Object(members) => {
                for (name, member) in members {
                    self.path.push(name);
                    self.free(member);
                    self.path.pop();
                }
            }
            _ => {}
        }
    }
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(members) => members.is_empty(),
        _ => false,
    }
}
