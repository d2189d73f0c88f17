//! A JSON document as a signature sees it: no member twice, every number exact.

use std::{borrow::Cow, collections::HashSet, fmt};

use serde::{
    Deserialize, Deserializer, Serialize,
    de::{Error as _, MapAccess, Visitor},
};
use serde_json::{Map, Number, Value, value::RawValue};

use crate::{number, pointer::Path};

/// A card document of this size is refused; real ones are a hundred times smaller.
const MAX_BYTES: usize = 1 << 20;
/// As deep as the canonicalizers of the released SDKs go.
const MAX_DEPTH: usize = 128;

/// A JSON object in which no member occurs twice and no number was rounded by the parser.
///
/// JSON parsers differ in which of two members of the same name they keep, so a signature over such a document means something else to
/// everybody; it is refused. Numbers are read by the exact parser of the standard library: the usual JSON parser may miss the nearest
/// double by one bit, and a signature does not forgive that.
///
/// ```
/// use chancery_signing::Document;
/// assert!(Document::parse(br#"{"name": "Echo"}"#).is_ok());
/// assert!(Document::parse(br#"{"name": "Echo", "name": "Evil"}"#).is_err());
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Document {
    members: Map<String, Value>,
    inexact: Vec<String>,
    depth: usize,
}

/// Why a text is no document that can be signed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DocumentError {
    /// It is not JSON.
    #[error("it is not JSON: {0}")]
    Syntax(#[from] serde_json::Error),
    /// It is JSON, but no object.
    #[error("it is no JSON object")]
    NoObject,
    /// A member occurs twice.
    #[error("the member {0} occurs twice")]
    Duplicate(String),
    /// A number is beyond every double.
    #[error("the number at {0} is too large")]
    Number(String),
    /// It is nested too deeply.
    #[error("it is nested deeper than {MAX_DEPTH} levels")]
    TooDeep,
    /// It is too long.
    #[error("it is longer than {MAX_BYTES} bytes")]
    TooLong,
}

impl Document {
    /// Reads a document.
    ///
    /// # Errors
    /// When it is not a JSON object, has a member twice, or is beyond the limits: 1 MiB, 128 levels.
    pub fn parse(text: &[u8]) -> Result<Self, DocumentError> {
        if text.len() > MAX_BYTES {
            return Err(DocumentError::TooLong);
        }
        let raw: &RawValue = serde_json::from_slice(text)?;
        let mut reader = Reader { path: Path::default(), inexact: Vec::new(), depth: 0 };
        match reader.value(raw)? {
            Value::Object(members) => Ok(Self { members, inexact: reader.inexact, depth: reader.depth }),
            _ => Err(DocumentError::NoObject),
        }
    }

    /// The document that a value is written as.
    ///
    /// # Errors
    /// As for [`Document::parse`].
    pub fn of(value: &impl Serialize) -> Result<Self, DocumentError> {
        Self::parse(&serde_json::to_vec(value)?)
    }

    /// Its members.
    pub fn members(&self) -> &Map<String, Value> {
        &self.members
    }

    /// One of its members.
    pub fn member(&self, name: &str) -> Option<&Value> {
        self.members.get(name)
    }

    /// The document as a JSON value.
    pub fn into_value(self) -> Value {
        Value::Object(self.members)
    }

    /// Where numbers stand that other programs will read as different ones.
    pub(crate) fn inexact(&self) -> &[String] {
        &self.inexact
    }

    /// How many levels it has.
    pub(crate) fn depth(&self) -> usize {
        self.depth
    }

    pub(crate) fn set(&mut self, name: &str, value: Value) {
        self.members.insert(name.to_owned(), value);
    }
}

/// One walk through a document. Each level is scanned once more for each level above it, which the limits keep short; in return strings
/// and syntax are the business of the one JSON parser.
struct Reader {
    path: Path,
    inexact: Vec<String>,
    depth: usize,
}

impl Reader {
    fn value(&mut self, raw: &RawValue) -> Result<Value, DocumentError> {
        let text = raw.get();
        match text.as_bytes().first() {
            Some(b'{') => self.object(text),
            Some(b'[') => self.array(text),
            Some(b'-' | b'0'..=b'9') => self.number(text),
            _ => Ok(serde_json::from_str(text)?),
        }
    }

    fn object(&mut self, text: &str) -> Result<Value, DocumentError> {
        self.enter()?;
        let Members(members) = serde_json::from_str(text)?;
        let mut object = Map::with_capacity(members.len());
        let mut seen = HashSet::with_capacity(members.len());
        for (name, raw) in members {
            self.path.push(&name);
            if !seen.insert(name.clone()) {
                return Err(DocumentError::Duplicate(self.path.to_string()));
            }
            let value = self.value(raw)?;
            object.insert(name.into_owned(), value);
            self.path.pop();
        }
        self.path.leave();
        Ok(Value::Object(object))
    }

    fn array(&mut self, text: &str) -> Result<Value, DocumentError> {
        self.enter()?;
        let items: Vec<&RawValue> = serde_json::from_str(text)?;
        let mut array = Vec::with_capacity(items.len());
        for (index, raw) in items.into_iter().enumerate() {
            self.path.push(&index.to_string());
            array.push(self.value(raw)?);
            self.path.pop();
        }
        self.path.leave();
        Ok(Value::Array(array))
    }

    fn number(&mut self, text: &str) -> Result<Value, DocumentError> {
        let beyond = || DocumentError::Number(self.path.to_string());
        // The standard library parses exactly; serde_json does so only with a feature that all crates would pay for.
        let double: f64 = text.parse().map_err(|_| beyond())?;
        if !double.is_finite() {
            return Err(beyond());
        }
        if !number::survives(text, double) {
            self.inexact.push(self.path.to_string());
        }
        if let Ok(integer) = text.parse::<i64>() {
            return Ok(Value::Number(integer.into()));
        }
        Number::from_f64(double).map(Value::Number).ok_or_else(beyond)
    }

    fn enter(&mut self) -> Result<(), DocumentError> {
        self.depth = self.depth.max(self.path.enter());
        if self.depth > MAX_DEPTH { Err(DocumentError::TooDeep) } else { Ok(()) }
    }
}

/// The members of an object in their order, with those that occur twice.
struct Members<'a>(Vec<(Cow<'a, str>, &'a RawValue)>);

impl<'de: 'a, 'a> Deserialize<'de> for Members<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Collect;

        impl<'de> Visitor<'de> for Collect {
            type Value = Members<'de>;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members = Vec::new();
                while let Some(name) = map.next_key::<String>()? {
                    let raw = map.next_value().map_err(A::Error::custom)?;
                    members.push((Cow::Owned(name), raw));
                }
                Ok(Members(members))
            }
        }

        deserializer.deserialize_map(Collect)
    }
}
