//! The ProtoJSON rules that serde's defaults do not know.

use std::{
    fmt,
    ops::{Deref, DerefMut},
    sync::LazyLock,
};

use base64::{
    Engine as _,
    alphabet::{STANDARD, URL_SAFE},
    engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig},
};
use bytes::Bytes;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use serde_json::{Map, Value};

/// A JSON object: metadata, extension parameters, unprotected signature headers.
///
/// Nearly everything has room for one and hardly anything has one, so an empty one is as small as a pointer. For the rest it is the
/// [`Map`] that it holds:
///
/// ```
/// use chancery_core::Object;
///
/// let mut metadata = Object::new();
/// metadata.insert("urgent".into(), true.into());
/// assert_eq!(metadata["urgent"], true);
/// ```
#[derive(Clone, Default)]
pub struct Object(Option<Box<Map<String, Value>>>);

impl Object {
    /// An empty object.
    #[must_use]
    pub const fn new() -> Self {
        Self(None)
    }

    /// Whether it has no members.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.as_ref().is_none_or(|members| members.is_empty())
    }

    /// Takes a member out.
    pub fn remove(&mut self, name: &str) -> Option<Value> {
        self.0.as_mut()?.remove(name)
    }
}

impl Deref for Object {
    type Target = Map<String, Value>;

    fn deref(&self) -> &Self::Target {
        static EMPTY: LazyLock<Map<String, Value>> = LazyLock::new(Map::new);
        self.0.as_deref().unwrap_or_else(|| &EMPTY)
    }
}

impl DerefMut for Object {
    fn deref_mut(&mut self) -> &mut Self::Target {
        self.0.get_or_insert_default()
    }
}

impl fmt::Debug for Object {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl PartialEq for Object {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl Eq for Object {}

impl Serialize for Object {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        (**self).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Object {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Map::deserialize(deserializer).map(Self::from)
    }
}

impl From<Map<String, Value>> for Object {
    fn from(members: Map<String, Value>) -> Self {
        Self(Some(members).filter(|members| !members.is_empty()).map(Box::new))
    }
}

impl From<Object> for Map<String, Value> {
    fn from(object: Object) -> Self {
        object.0.map(|members| *members).unwrap_or_default()
    }
}

impl From<Object> for Value {
    fn from(object: Object) -> Self {
        Self::Object(object.into())
    }
}

impl FromIterator<(String, Value)> for Object {
    fn from_iter<I: IntoIterator<Item = (String, Value)>>(members: I) -> Self {
        Map::from_iter(members).into()
    }
}

impl<const N: usize> From<[(String, Value); N]> for Object {
    fn from(members: [(String, Value); N]) -> Self {
        members.into_iter().collect()
    }
}

impl Extend<(String, Value)> for Object {
    fn extend<I: IntoIterator<Item = (String, Value)>>(&mut self, members: I) {
        for (name, value) in members {
            self.insert(name, value);
        }
    }
}

impl IntoIterator for Object {
    type Item = (String, Value);
    type IntoIter = serde_json::map::IntoIter;

    fn into_iter(self) -> Self::IntoIter {
        Map::from(self).into_iter()
    }
}

impl<'a> IntoIterator for &'a Object {
    type Item = (&'a String, &'a Value);
    type IntoIter = serde_json::map::Iter<'a>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

const INDIFFERENT: GeneralPurposeConfig =
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent).with_decode_allow_trailing_bits(true);
const STANDARD_ENGINE: GeneralPurpose = GeneralPurpose::new(&STANDARD, INDIFFERENT);
const URL_SAFE_ENGINE: GeneralPurpose = GeneralPurpose::new(&URL_SAFE, INDIFFERENT);

/// Writes a value as compact JSON behind what is there already.
///
/// # Errors
/// A map has a key that is no text, or the value fails by itself.
pub fn append<T: Serialize + ?Sized>(value: &T, out: &mut Vec<u8>) -> serde_json::Result<()> {
    serde_json::to_writer(out, value)
}

/// Base64 as ProtoJSON writes it: the standard alphabet with padding.
#[must_use]
pub fn to_base64(bytes: &[u8]) -> String {
    STANDARD_ENGINE.encode(bytes)
}

/// Reads base64 in the standard or the URL-safe alphabet, with or without padding.
#[must_use]
pub fn from_base64(text: &str) -> Option<Bytes> {
    let url_safe = text.bytes().any(|byte| byte == b'-' || byte == b'_');
    let engine = if url_safe { &URL_SAFE_ENGINE } else { &STANDARD_ENGINE };
    engine.decode(text).ok().map(Bytes::from)
}

/// How many arrays and objects are nested in `value`; 0 for a scalar.
#[must_use]
pub fn depth(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(depth).max().unwrap_or(0),
        Value::Object(members) => 1 + members.values().map(depth).max().unwrap_or(0),
        _ => 0,
    }
}

/// Reads a member whose `null` means absent.
///
/// # Errors
/// Whatever reading `T` gives.
pub fn or_default<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de> + Default,
{
    Option::deserialize(deserializer).map(Option::unwrap_or_default)
}

/// Reads a member whose `null` and whose empty string mean absent.
///
/// # Errors
/// When the member is not a string.
pub fn non_empty<'de, D, T>(deserializer: D) -> Result<Option<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de> + AsRef<str>,
{
    Option::<T>::deserialize(deserializer).map(|text| text.filter(|text| !text.as_ref().is_empty()))
}

/// Reads a member that counts as present even when it is `null`, as `Part.data` does.
///
/// # Errors
/// Never by itself; malformed JSON is reported by the parser.
pub fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(deserializer).map(Some)
}

/// Reads an `int32`: a number, an integral float, or either as a string; `null` is absent.
///
/// # Errors
/// When the value is fractional, out of range or no number.
pub fn int32<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<i32>, D::Error> {
    struct Int;
    impl<'de> de::Visitor<'de> for Int {
        type Value = Option<i32>;
        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a whole number of 32 bits")
        }
        fn visit_unit<E: de::Error>(self) -> Result<Self::Value, E> {
            Ok(None)
        }
        fn visit_u64<E: de::Error>(self, n: u64) -> Result<Self::Value, E> {
            i32::try_from(n).map(Some).map_err(|_| E::invalid_value(de::Unexpected::Unsigned(n), &self))
        }
        fn visit_i64<E: de::Error>(self, n: i64) -> Result<Self::Value, E> {
            i32::try_from(n).map(Some).map_err(|_| E::invalid_value(de::Unexpected::Signed(n), &self))
        }
        fn visit_f64<E: de::Error>(self, n: f64) -> Result<Self::Value, E> {
            let whole = n.fract() == 0.0 && (f64::from(i32::MIN)..=f64::from(i32::MAX)).contains(&n);
            #[allow(clippy::cast_possible_truncation, reason = "the value was just checked to be a whole i32")]
            whole.then_some(Some(n as i32)).ok_or_else(|| E::invalid_value(de::Unexpected::Float(n), &self))
        }
        fn visit_str<E: de::Error>(self, text: &str) -> Result<Self::Value, E> {
            match text.parse::<i32>() {
                Ok(n) => Ok(Some(n)),
                Err(_) => match text.parse::<f64>() {
                    Ok(n) => self.visit_f64(n),
                    Err(_) => Err(E::invalid_value(de::Unexpected::Str(text), &self)),
                },
            }
        }
    }
    deserializer.deserialize_any(Int)
}

/// Reads an `int32` with implicit presence: absent is 0.
///
/// # Errors
/// As [`int32`].
pub fn int32_or_zero<'de, D: Deserializer<'de>>(deserializer: D) -> Result<i32, D::Error> {
    int32(deserializer).map(Option::unwrap_or_default)
}

/// Bytes as a base64 string, or as they are where the form is not for people.
pub(crate) mod base64_bytes {
    use super::{Bytes, Deserializer, Serializer, de, fmt, from_base64, to_base64};

    pub(crate) struct Base64(pub(crate) Bytes);

    impl<'de> de::Deserialize<'de> for Base64 {
        fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            struct Text;
            impl de::Visitor<'_> for Text {
                type Value = Base64;
                fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                    f.write_str("a base64 string")
                }
                fn visit_str<E: de::Error>(self, text: &str) -> Result<Base64, E> {
                    from_base64(text).map(Base64).ok_or_else(|| E::custom("not base64"))
                }
                fn visit_bytes<E: de::Error>(self, bytes: &[u8]) -> Result<Base64, E> {
                    Ok(Base64(Bytes::copy_from_slice(bytes)))
                }
            }
            if deserializer.is_human_readable() { deserializer.deserialize_str(Text) } else { deserializer.deserialize_bytes(Text) }
        }
    }

    pub(crate) struct AsBase64<'a>(pub(crate) &'a [u8]);

    impl serde::Serialize for AsBase64<'_> {
        fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            if serializer.is_human_readable() { serializer.serialize_str(&to_base64(self.0)) } else { serializer.serialize_bytes(self.0) }
        }
    }
}

pub(crate) fn is_false(flag: &bool) -> bool {
    !flag
}

pub(crate) fn is_zero(n: &i32) -> bool {
    *n == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_four_spellings_of_base64_are_read() {
        for text in ["+/+/aGk=", "-_-_aGk=", "+/+/aGk", "-_-_aGk"] {
            assert_eq!(from_base64(text).as_deref(), Some(&[0xfb, 0xff, 0xbf, b'h', b'i'][..]), "{text}");
        }
        assert_eq!(from_base64("a*"), None);
        assert_eq!(from_base64("").as_deref(), Some(&[][..]));
        assert_eq!(to_base64(&[0xfb, 0xff, 0xbf, b'h', b'i']), "+/+/aGk=");
    }

    #[track_caller]
    fn int(json: &str) -> Option<i32> {
        int32(&mut serde_json::Deserializer::from_str(json)).ok().flatten()
    }

    #[test]
    fn whole_numbers_come_in_three_spellings_and_no_other() {
        for json in ["5", "5.0", "\"5\"", "\"5.0\"", "5e0"] {
            assert_eq!(int(json), Some(5), "{json}");
        }
        for json in ["5.5", "2147483648", "-2147483649", "\"five\"", "true", "[5]", "1e99"] {
            assert_eq!(int(json), None, "{json}");
        }
    }

    #[test]
    fn depth_counts_containers() {
        assert_eq!(depth(&serde_json::json!("x")), 0);
        assert_eq!(depth(&serde_json::json!({"a": [1, {"b": []}]})), 4);
    }
}
