//! Reading and writing JSON text, with the name of the member that is wrong.

use std::fmt;

use chancery_core::{Error, ErrorKind, Object, Result, Timestamp};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de, ser::SerializeMap};
use serde_json::Value;

use crate::{error_path, object::Objects};

/// Reads JSON text into a type.
///
/// Only when the parser fails does a second run find out where.
///
/// # Errors
/// [`ErrorKind::InvalidParams`] naming the member when the text is JSON of the wrong shape,
/// [`ErrorKind::Parse`] when it is not JSON.
pub(crate) fn read<'a, T: Deserialize<'a>>(json: &'a [u8]) -> Result<T> {
    parse(json).map_err(|error| explain::<T>(json, error))
}

/// Reads JSON text into a type, with the parser's own error. Arrays are not taken for objects.
pub(crate) fn parse<'a, T: Deserialize<'a>>(json: &'a [u8]) -> serde_json::Result<T> {
    // Once for all of it: the parser would look at every string, but not at what it skips.
    let Ok(text) = std::str::from_utf8(json) else { return Err(not_unicode()) };
    let mut parser = serde_json::Deserializer::from_str(text);
    let value = T::deserialize(Objects(&mut parser))?;
    parser.end()?;
    Ok(value)
}

/// What the parser says of bytes that are no text.
#[cold]
fn not_unicode() -> serde_json::Error {
    match serde_json::from_slice::<String>(b"\"\xff\"") {
        Err(error) => error,
        Ok(text) => de::Error::custom(text),
    }
}

#[cold]
fn explain<'a, T: Deserialize<'a>>(json: &'a [u8], error: serde_json::Error) -> Error {
    // A number where a word of an enum belongs counts as bad syntax too, so the error's own category does not tell.
    if std::str::from_utf8(json).is_err() || serde_json::from_slice::<de::IgnoredAny>(json).is_err() {
        return Error::from(ErrorKind::Parse).caused_by(error);
    }
    error_path::clear();
    match parse::<T>(json) {
        Err(error) => {
            let path = error_path::take(json);
            Error::invalid_param(if path.is_empty() { "params".to_owned() } else { path }, reason(&error))
        }
        // The text is right up to where the value ends, and followed by something else.
        Ok(_) => Error::from(ErrorKind::Parse).caused_by(error),
    }
}

/// The parser's words without its line and column, which mean nothing to the peer.
fn reason(error: &serde_json::Error) -> String {
    let text = error.to_string();
    text.rsplit_once(" at line ").map_or(text.clone(), |(reason, _)| reason.to_owned())
}

/// Writes a value as compact JSON.
///
/// # Errors
/// [`ErrorKind::Internal`], which does not happen for the types of this crate: all their keys are
/// strings.
pub(crate) fn write<T: Serialize + ?Sized>(value: &T) -> Result<Vec<u8>> {
    let mut json = room();
    append(value, &mut json)?;
    Ok(json)
}

/// A buffer that most messages fit into; growing from less costs more than the room.
pub(crate) fn room() -> Vec<u8> {
    Vec::with_capacity(1024)
}

/// Writes a value as compact JSON behind what is there already.
///
/// # Errors
/// As [`write`].
pub(crate) fn append<T: Serialize + ?Sized>(value: &T, json: &mut Vec<u8>) -> Result<()> {
    chancery_core::json::append(value, json).map_err(Error::internal)
}

/// `context_id` as `contextId`.
pub(crate) fn camel_case(name: &str) -> String {
    let mut words = name.split('_');
    let first = words.next().unwrap_or_default().to_owned();
    words.fold(first, |mut name, word| {
        let mut letters = word.chars();
        name.extend(letters.next().map(|letter| letter.to_ascii_uppercase()));
        name.push_str(letters.as_str());
        name
    })
}

/// Escapes the characters at which some stream readers break lines although JSON allows them in
/// strings: U+0085, U+2028 and U+2029. Whatever else could break a line JSON escapes anyway.
pub(crate) fn one_line(json: &mut Vec<u8>) {
    if json.is_ascii() {
        return;
    }
    // Outside of strings our JSON is ASCII, so a match is inside one.
    let breaks: [(&[u8], &[u8]); 3] = [(b"\xc2\x85", b"\\u0085"), (b"\xe2\x80\xa8", b"\\u2028"), (b"\xe2\x80\xa9", b"\\u2029")];
    let mut at = 0;
    while at < json.len() {
        match breaks.iter().find(|(character, _)| json[at..].starts_with(character)) {
            Some((character, escape)) => {
                json.splice(at..at + character.len(), escape.iter().copied());
                at += escape.len();
            }
            None => at += 1,
        }
    }
}

/// A timestamp as older peers write it: without a zone it is UTC.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LenientTime(pub(crate) Timestamp);

impl<'de> Deserialize<'de> for LenientTime {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Text;
        impl de::Visitor<'_> for Text {
            type Value = LenientTime;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a timestamp such as 2026-03-02T09:15:07.412Z")
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<LenientTime, E> {
                Timestamp::parse_lenient(text).map(LenientTime).map_err(E::custom)
            }
        }
        deserializer.deserialize_str(Text)
    }
}

/// A list of which every item is written through a wrapper, without a list of wrappers in between.
pub(crate) struct Each<'a, T, F>(pub(crate) &'a [T], pub(crate) F);

impl<'a, T, F, W> Serialize for Each<'a, T, F>
where
    F: Fn(&'a T) -> W,
    W: Serialize,
{
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.iter().map(&self.1))
    }
}

/// Members that are left out when there is nothing in them.
pub(crate) trait Filled: SerializeMap {
    fn text(&mut self, name: &'static str, text: &str) -> Result<(), Self::Error> {
        if text.is_empty() { Ok(()) } else { self.serialize_entry(name, text) }
    }

    fn list<T: Serialize>(&mut self, name: &'static str, list: &[T]) -> Result<(), Self::Error> {
        if list.is_empty() { Ok(()) } else { self.serialize_entry(name, list) }
    }

    fn object(&mut self, name: &'static str, object: &Object) -> Result<(), Self::Error> {
        if object.is_empty() { Ok(()) } else { self.serialize_entry(name, object) }
    }

    fn some<T: Serialize>(&mut self, name: &'static str, value: Option<T>) -> Result<(), Self::Error> {
        value.map_or(Ok(()), |value| self.serialize_entry(name, &value))
    }
}

impl<M: SerializeMap> Filled for M {}

/// Puts an entry into an object and gives the object back.
pub(crate) fn with(mut object: Object, key: &str, value: impl Into<Value>) -> Object {
    object.insert(key.to_owned(), value.into());
    object
}

#[cfg(test)]
mod tests {
    use super::*;

    /// V03-STREAM-002.
    #[test]
    fn a_stream_element_is_one_line_for_every_reader() {
        let text = "a\u{2028}b\u{2029}\u{85}é港\n";
        let mut json = write(text).unwrap();
        one_line(&mut json);
        assert_eq!(json, "\"a\\u2028b\\u2029\\u0085é港\\n\"".as_bytes());
        assert_eq!(read::<String>(&json).unwrap(), text);
    }
}
