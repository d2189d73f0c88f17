//! The forms in which a card is signed.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{
    Document, canonical,
    pointer::Path,
    schema::{CARD, Field, Kind, Presence},
};

/// Which bytes of a card a signature is made over.
///
/// The specification names one form. The released SDKs sign others, so all of them occur.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Form {
    /// Specification 8.4.1 to the letter: what the v1.0 schema knows, required members also when empty.
    #[serde(rename = "spec-1.0")]
    Spec,
    /// What the SDKs of 1.1 and later sign: nothing that is empty, required or not.
    #[serde(rename = "sdk-1.0")]
    Sdk,
    /// The same as older Python wrote it: everything beyond ASCII escaped.
    #[serde(rename = "sdk-1.0-ascii")]
    SdkAscii,
    /// What the Python SDK of v0.3 signs.
    #[serde(rename = "sdk-0.3")]
    Sdk03,
    /// The document as it came.
    #[serde(rename = "raw")]
    Raw,
    /// What the JavaScript SDK signs when it is given its own object: without the security schemes.
    #[serde(rename = "js-memory")]
    JsMemory,
}

/// A card in one form.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Canonical {
    /// The bytes that are signed.
    pub bytes: Vec<u8>,
    /// What is in them, as a card: everything that a signature over them covers.
    pub covered: Map<String, Value>,
    /// Pointers to what the specification's form has and this one lacks.
    pub uncovered: Vec<String>,
    /// Pointers to members of the document that are in neither, for the schema does not know them.
    pub ignored: Vec<String>,
}

impl Form {
    /// All forms.
    pub const ALL: [Self; 6] = [Self::Spec, Self::Sdk, Self::SdkAscii, Self::Sdk03, Self::Raw, Self::JsMemory];

    /// Its name in reports and settings.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Spec => "spec-1.0",
            Self::Sdk => "sdk-1.0",
            Self::SdkAscii => "sdk-1.0-ascii",
            Self::Sdk03 => "sdk-0.3",
            Self::Raw => "raw",
            Self::JsMemory => "js-memory",
        }
    }

    /// The form by its name; `spec` and `pruned` are short for the two that are signed.
    pub fn parse(name: &str) -> Option<Self> {
        match name {
            "spec" => Some(Self::Spec),
            "pruned" => Some(Self::Sdk),
            _ => Self::ALL.into_iter().find(|form| form.as_str() == name),
        }
    }

    /// A card in this form; `None` when the card has one member under both of its names, so that nobody can say which counts.
    ///
    /// ```
    /// use chancery_signing::{Document, Form};
    /// let card = Document::parse(br#"{"version": "1", "name": "Echo", "description": "", "x": 1}"#)?;
    /// let spec = Form::Spec.of(&card).unwrap();
    /// assert_eq!(spec.bytes, br#"{"description":"","name":"Echo","version":"1"}"#);
    /// assert_eq!(spec.ignored, ["/x"]);
    /// let sdk = Form::Sdk.of(&card).unwrap();
    /// assert_eq!(sdk.uncovered, ["/description"]);
    /// # Ok::<(), chancery_signing::DocumentError>(())
    /// ```
    pub fn of(self, document: &Document) -> Option<Canonical> {
        if matches!(self, Self::Raw | Self::Sdk03) {
            return Some(if self == Self::Raw { raw(document) } else { sdk03(document) });
        }
        let mut projection = Projection::default();
        let spec = projection.message(document.members(), CARD)?;
        let ignored = projection.ignored;
        if self == Self::Spec {
            return Some(Canonical { bytes: canonical::rfc8785(&spec), covered: spec, uncovered: Vec::new(), ignored });
        }
        let mut pruning = Pruning::default();
        let mut pruned = pruning.members(spec);
        let mut uncovered = pruning.dropped;
        if self == Self::JsMemory && pruned.shift_remove("securitySchemes").is_some() {
            uncovered.retain(|path| !path.starts_with("/securitySchemes"));
            uncovered.push("/securitySchemes".to_owned());
        }
        let bytes = if self == Self::SdkAscii { canonical::python(&pruned, true) } else { canonical::rfc8785(&pruned) };
        Some(Canonical { bytes, covered: pruned, uncovered, ignored })
    }
}

impl fmt::Display for Form {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

/// Whether a card has the shape of v0.3: its address is not in `supportedInterfaces`.
pub(crate) fn is_v0_3(document: &Document) -> bool {
    document.member("supportedInterfaces").is_none() && document.member("supported_interfaces").is_none()
}

fn unsigned(document: &Document) -> Map<String, Value> {
    let mut members = document.members().clone();
    members.shift_remove("signatures");
    members
}

fn raw(document: &Document) -> Canonical {
    let covered = unsigned(document);
    Canonical { bytes: canonical::rfc8785(&covered), covered, uncovered: Vec::new(), ignored: Vec::new() }
}

/// Pydantic leaves out what equals the default of its class, and every scheme class has its `type` as a default.
fn sdk03(document: &Document) -> Canonical {
    let defaults = [("preferredTransport", "JSONRPC"), ("protocolVersion", "0.3.0")];
    let mut members = unsigned(document);
    let mut implied = Vec::new();
    for (name, default) in defaults {
        if members.get(name).is_some_and(|value| value == default) {
            implied.extend(members.shift_remove_entry(name));
        }
    }
    let mut uncovered = Vec::new();
    if let Some(Value::Object(schemes)) = members.get_mut("securitySchemes") {
        let mut path = Path::default();
        path.push("securitySchemes");
        for (name, scheme) in schemes {
            if scheme.as_object_mut().is_some_and(|scheme| scheme.shift_remove("type").is_some()) {
                path.push(name);
                path.push("type");
                uncovered.push(path.to_string());
                path.pop();
                path.pop();
            }
        }
    }
    let mut pruning = Pruning::default();
    let mut covered = pruning.members(members);
    uncovered.extend(pruning.dropped);
    let bytes = canonical::python(&covered, false);
    // Their absence means the same, so they are as good as covered.
    covered.extend(implied);
    if let Some(Value::Object(schemes)) = covered.get_mut("securitySchemes") {
        schemes.values_mut().filter_map(Value::as_object_mut).for_each(infer_type);
    }
    Canonical { bytes, covered, uncovered, ignored: Vec::new() }
}

/// Says again of which type a v0.3 scheme is, not by what stood there, which anybody could have changed, but by what is covered.
fn infer_type(scheme: &mut Map<String, Value>) {
    let types = [("in", "apiKey"), ("scheme", "http"), ("flows", "oauth2"), ("openIdConnectUrl", "openIdConnect")];
    if let Some((_, name)) = types.into_iter().find(|(member, _)| scheme.contains_key(*member)) {
        scheme.insert("type".to_owned(), Value::String(name.to_owned()));
    }
}

/// Drops what the schema does not know and what has not been set.
#[derive(Default)]
struct Projection {
    path: Path,
    ignored: Vec<String>,
}

impl Projection {
    fn message(&mut self, members: &Map<String, Value>, fields: &'static [Field]) -> Option<Map<String, Value>> {
        let mut kept = Map::new();
        let top = std::ptr::eq(fields, CARD);
        for (name, value) in members {
            if value.is_null() || (top && name == "signatures") {
                continue;
            }
            self.path.push(name);
            match fields.iter().find(|field| field.json == name || field.proto == name) {
                None => self.ignored.push(self.path.to_string()),
                Some(field) if kept.contains_key(field.json) => return None,
                Some(field) => {
                    let value = self.value(value, field.kind)?;
                    if is_set(&value, field) {
                        kept.insert(field.json.to_owned(), value);
                    } else if members.contains_key(field.json) && members.contains_key(field.proto) && field.json != field.proto {
                        // The default under one name beside a value under the other is no less ambiguous.
                        return None;
                    }
                }
            }
            self.path.pop();
        }
        Some(kept)
    }

    /// A value of the wrong kind stays as it is: whoever signed it so meant it so.
    fn value(&mut self, value: &Value, kind: Kind) -> Option<Value> {
        Some(match (kind, value) {
            (Kind::Message(fields), Value::Object(members)) => Value::Object(self.message(members, fields)?),
            (Kind::List(kind), Value::Array(items)) => {
                let mut kept = Vec::with_capacity(items.len());
                for (index, item) in items.iter().enumerate() {
                    self.path.push(&index.to_string());
                    kept.push(self.value(item, *kind)?);
                    self.path.pop();
                }
                Value::Array(kept)
            }
            (Kind::Map(kind), Value::Object(members)) => {
                let mut kept = Map::with_capacity(members.len());
                for (name, value) in members.iter().filter(|(_, value)| !value.is_null()) {
                    self.path.push(name);
                    kept.insert(name.clone(), self.value(value, *kind)?);
                    self.path.pop();
                }
                Value::Object(kept)
            }
            _ => value.clone(),
        })
    }
}

fn is_set(value: &Value, field: &Field) -> bool {
    if field.presence != Presence::Implicit {
        return true;
    }
    match field.kind {
        Kind::Scalar => value != "" && *value != Value::Bool(false) && value.as_f64() != Some(0.0),
        Kind::List(_) => value.as_array().is_none_or(|items| !items.is_empty()),
        Kind::Map(_) => value.as_object().is_none_or(|members| !members.is_empty()),
        Kind::Message(_) | Kind::Free => true,
    }
}

/// Removes everything that is empty, and what becomes empty by it.
#[derive(Default)]
struct Pruning {
    path: Path,
    dropped: Vec<String>,
}

impl Pruning {
    fn members(&mut self, members: Map<String, Value>) -> Map<String, Value> {
        let mut kept = Map::with_capacity(members.len());
        for (name, value) in members {
            self.path.push(&name);
            if let Some(value) = self.value(value) {
                kept.insert(name, value);
            }
            self.path.pop();
        }
        kept
    }

    fn value(&mut self, value: Value) -> Option<Value> {
        let before = self.dropped.len();
        let kept = match value {
            Value::Null => None,
            Value::String(text) => (!text.is_empty()).then_some(Value::String(text)),
            Value::Array(items) => {
                let mut kept = Vec::with_capacity(items.len());
                for (index, item) in items.into_iter().enumerate() {
                    self.path.push(&index.to_string());
                    kept.extend(self.value(item));
                    self.path.pop();
                }
                (!kept.is_empty()).then_some(Value::Array(kept))
            }
            Value::Object(members) => {
                let kept = self.members(members);
                (!kept.is_empty()).then_some(Value::Object(kept))
            }
            other => Some(other),
        };
        if kept.is_none() {
            // What went with its container is not named again.
            self.dropped.truncate(before);
            self.dropped.push(self.path.to_string());
        }
        kept
    }
}
