//! Writes JSON: byte for byte what `serde_json` writes, with less work. Most of an answer is texts that need no escapes, and
//! here those are looked through sixteen bytes at a time.

use serde::{
    Serialize, Serializer,
    ser::{
        Error as _, SerializeMap, SerializeSeq, SerializeStruct, SerializeStructVariant, SerializeTuple, SerializeTupleStruct,
        SerializeTupleVariant,
    },
};
use serde_json::{Error, Result};

/// Writes a value as compact JSON behind what is there already.
///
/// # Errors
/// A map has a key that is neither a text nor a number nor a boolean, or the value fails by itself.
pub fn append<T: Serialize + ?Sized>(value: &T, out: &mut Vec<u8>) -> Result<()> {
    value.serialize(Writer(out))
}

struct Writer<'a>(&'a mut Vec<u8>);

/// A list or an object that is being written.
struct Items<'a> {
    out: &'a mut Vec<u8>,
    first: bool,
    /// What ends it.
    end: &'static [u8],
    /// Whether it stands for JSON that it holds as a text.
    verbatim: bool,
}

/// How `serde_json` names what it writes as it is.
const VERBATIM: [&str; 2] = ["$serde_json::private::RawValue", "$serde_json::private::Number"];

/// A text with its quotes.
#[inline(never)]
fn quote(text: &str, out: &mut Vec<u8>) {
    let bytes = text.as_bytes();
    out.reserve(bytes.len() + 2);
    out.push(b'"');
    if is_plain(bytes) {
        out.extend_from_slice(bytes);
    } else {
        quote_special(bytes, out);
    }
    out.push(b'"');
}

#[inline(never)]
fn quote_special(bytes: &[u8], out: &mut Vec<u8>) {
    for part in bytes.chunks(16) {
        if is_plain(part) {
            out.extend_from_slice(part);
            continue;
        }
        for byte in part {
            if is_special(*byte) { escape(*byte, out) } else { out.push(*byte) }
        }
    }
}

/// Whether a byte has to be escaped.
const fn is_special(byte: u8) -> bool {
    byte < b' ' || byte == b'"' || byte == b'\\'
}

/// Whether no byte has to be escaped. The last sixteen are looked at together, whatever was seen of them before.
#[inline(always)]
fn is_plain(bytes: &[u8]) -> bool {
    /// Without a branch, so that the compiler takes all of them in one go.
    fn all<const N: usize>(bytes: &[u8; N]) -> bool {
        !bytes.iter().fold(false, |special, byte| special | is_special(*byte))
    }
    if let Some(last) = bytes.last_chunk::<16>() {
        return bytes.as_chunks::<16>().0.iter().all(all) && all(last);
    }
    match (bytes.first_chunk::<8>(), bytes.last_chunk::<8>(), bytes.first_chunk::<4>(), bytes.last_chunk::<4>()) {
        (Some(first), Some(last), ..) => all(first) && all(last),
        (_, _, Some([a, b, c, d]), Some([e, f, g, h])) => all(&[*a, *b, *c, *d, *e, *f, *g, *h]),
        _ => !bytes.iter().any(|byte| is_special(*byte)),
    }
}

#[cold]
fn escape(byte: u8, out: &mut Vec<u8>) {
    const DIGITS: [u8; 16] = *b"0123456789abcdef";
    let letter = match byte {
        b'"' | b'\\' => byte,
        0x08 => b'b',
        b'\t' => b't',
        b'\n' => b'n',
        0x0c => b'f',
        b'\r' => b'r',
        _ => {
            out.extend_from_slice(b"\\u00");
            out.extend_from_slice(&[DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 0xf)]]);
            return;
        }
    };
    out.extend_from_slice(&[b'\\', letter]);
}

impl<'a> Writer<'a> {
    /// What is rare is written by `serde_json` itself.
    fn otherwise<T: Serialize + ?Sized>(self, value: &T) -> Result<()> {
        serde_json::to_writer(self.0, value)
    }

    fn items(self, begin: &[u8], end: &'static [u8]) -> Items<'a> {
        self.0.extend_from_slice(begin);
        Items { out: self.0, first: true, end, verbatim: false }
    }

    /// Writes the name of a variant, and what follows belongs to it.
    fn variant(self, name: &str) -> Self {
        self.0.push(b'{');
        quote(name, self.0);
        self.0.push(b':');
        self
    }
}

impl<'a> Serializer for Writer<'a> {
    type Ok = ();
    type Error = Error;
    type SerializeSeq = Items<'a>;
    type SerializeTuple = Items<'a>;
    type SerializeTupleStruct = Items<'a>;
    type SerializeTupleVariant = Items<'a>;
    type SerializeMap = Items<'a>;
    type SerializeStruct = Items<'a>;
    type SerializeStructVariant = Items<'a>;

    fn serialize_bool(self, value: bool) -> Result<()> {
        self.0.extend_from_slice(if value { b"true" } else { b"false" });
        Ok(())
    }

    fn serialize_i8(self, value: i8) -> Result<()> {
        self.otherwise(&value)
    }

    fn serialize_i16(self, value: i16) -> Result<()> {
        self.otherwise(&value)
    }

    fn serialize_i32(self, value: i32) -> Result<()> {
        self.otherwise(&value)
    }

    fn serialize_i64(self, value: i64) -> Result<()> {
        self.otherwise(&value)
    }

    fn serialize_i128(self, value: i128) -> Result<()> {
        self.otherwise(&value)
    }

    fn serialize_u8(self, value: u8) -> Result<()> {
        self.otherwise(&value)
    }

    fn serialize_u16(self, value: u16) -> Result<()> {
        self.otherwise(&value)
    }

    fn serialize_u32(self, value: u32) -> Result<()> {
        self.otherwise(&value)
    }

    fn serialize_u64(self, value: u64) -> Result<()> {
        self.otherwise(&value)
    }

    fn serialize_u128(self, value: u128) -> Result<()> {
        self.otherwise(&value)
    }

    fn serialize_f32(self, value: f32) -> Result<()> {
        self.otherwise(&value)
    }

    fn serialize_f64(self, value: f64) -> Result<()> {
        self.otherwise(&value)
    }

    fn serialize_char(self, value: char) -> Result<()> {
        self.serialize_str(value.encode_utf8(&mut [0; 4]))
    }

    fn serialize_str(self, value: &str) -> Result<()> {
        quote(value, self.0);
        Ok(())
    }

    fn serialize_bytes(self, value: &[u8]) -> Result<()> {
        self.otherwise(value)
    }

    fn serialize_none(self) -> Result<()> {
        self.serialize_unit()
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<()> {
        value.serialize(self)
    }

    fn serialize_unit(self) -> Result<()> {
        self.0.extend_from_slice(b"null");
        Ok(())
    }

    fn serialize_unit_struct(self, _: &'static str) -> Result<()> {
        self.serialize_unit()
    }

    fn serialize_unit_variant(self, _: &'static str, _: u32, variant: &'static str) -> Result<()> {
        self.serialize_str(variant)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(self, _: &'static str, value: &T) -> Result<()> {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(self, _: &'static str, _: u32, variant: &'static str, value: &T) -> Result<()> {
        let Self(out) = self.variant(variant);
        value.serialize(Writer(out))?;
        out.push(b'}');
        Ok(())
    }

    fn serialize_seq(self, _: Option<usize>) -> Result<Items<'a>> {
        Ok(self.items(b"[", b"]"))
    }

    fn serialize_tuple(self, _: usize) -> Result<Items<'a>> {
        self.serialize_seq(None)
    }

    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<Items<'a>> {
        self.serialize_seq(None)
    }

    fn serialize_tuple_variant(self, _: &'static str, _: u32, variant: &'static str, _: usize) -> Result<Items<'a>> {
        Ok(self.variant(variant).items(b"[", b"]}"))
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Items<'a>> {
        Ok(self.items(b"{", b"}"))
    }

    fn serialize_struct(self, name: &'static str, _: usize) -> Result<Items<'a>> {
        match VERBATIM.contains(&name) {
            true => Ok(Items { verbatim: true, ..self.items(b"", b"") }),
            false => self.serialize_map(None),
        }
    }

    fn serialize_struct_variant(self, _: &'static str, _: u32, variant: &'static str, _: usize) -> Result<Items<'a>> {
        Ok(self.variant(variant).items(b"{", b"}}"))
    }
}

impl Items<'_> {
    fn next(&mut self) {
        if !std::mem::take(&mut self.first) {
            self.out.push(b',');
        }
    }

    fn item<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<()> {
        self.next();
        value.serialize(Writer(self.out))
    }

    // Here and below: the compiler knows the name where a member is written, and is to write it as it knows it.
    #[inline(always)]
    fn member<T: Serialize + ?Sized>(&mut self, name: &'static str, value: &T) -> Result<()> {
        if self.verbatim {
            return self.text_of(value);
        }
        self.next();
        self.name(name);
        value.serialize(Writer(self.out))
    }

    #[inline(always)]
    fn name(&mut self, name: &'static str) {
        const ROOM: usize = 32;
        let (bytes, length) = (name.as_bytes(), name.len());
        if length > ROOM - 3 || !is_plain(bytes) {
            return self.unusual(name);
        }
        let mut text = [b'"'; ROOM];
        text[1..=length].copy_from_slice(bytes);
        text[length + 2] = b':';
        self.out.extend_from_slice(&text[..length + 3]);
    }

    #[cold]
    fn unusual(&mut self, name: &str) {
        quote(name, self.out);
        self.out.push(b':');
    }

    /// Writes a text that is JSON already.
    #[cold]
    fn text_of<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<()> {
        let mut quoted = Vec::new();
        append(value, &mut quoted)?;
        self.out.extend_from_slice(serde_json::from_slice::<String>(&quoted)?.as_bytes());
        Ok(())
    }

    fn finish(self) -> Result<()> {
        self.out.extend_from_slice(self.end);
        Ok(())
    }
}

impl SerializeMap for Items<'_> {
    type Ok = ();
    type Error = Error;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<()> {
        self.next();
        let begin = self.out.len();
        key.serialize(Writer(self.out))?;
        match self.out.get(begin) {
            Some(b'"') => Ok(()),
            // Numbers and booleans are names too, in quotes.
            Some(b't' | b'f' | b'-' | b'0'..=b'9') => {
                self.out.insert(begin, b'"');
                self.out.push(b'"');
                Ok(())
            }
            _ => Err(Error::custom("key must be a string")),
        }
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<()> {
        self.out.push(b':');
        value.serialize(Writer(self.out))
    }

    fn end(self) -> Result<()> {
        self.finish()
    }
}

/// A trait for each of the ways in which a list or an object can be written, which are all the same here.
macro_rules! items {
    ($($kind:ident $name:ident ($($key:ident)?) $write:ident;)+) => {$(
        impl $kind for Items<'_> {
            type Ok = ();
            type Error = Error;

            #[inline(always)]
            fn $name<T: Serialize + ?Sized>(&mut self, $($key: &'static str,)? value: &T) -> Result<()> {
                self.$write($($key,)? value)
            }

            fn end(self) -> Result<()> {
                self.finish()
            }
        }
    )+};
}

items! {
    SerializeSeq serialize_element () item;
    SerializeTuple serialize_element () item;
    SerializeTupleStruct serialize_field () item;
    SerializeTupleVariant serialize_field () item;
    SerializeStruct serialize_field (key) member;
    SerializeStructVariant serialize_field (key) member;
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde_json::{Value, json, value::RawValue};

    use super::*;

    #[track_caller]
    fn alike<T: Serialize + ?Sized>(value: &T) {
        let mut out = b"before ".to_vec();
        append(value, &mut out).unwrap();
        let expected = format!("before {}", serde_json::to_string(value).unwrap());
        assert_eq!(String::from_utf8(out).unwrap(), expected);
    }

    #[test]
    fn every_character_is_written_as_serde_json_writes_it_wherever_it_stands() {
        let characters = (0..0x100).chain([0x7ff, 0x2028, 0xffff, 0x1_f600, 0x10_ffff]).filter_map(char::from_u32);
        for (character, before) in characters.flat_map(|character| (0..20).map(move |before| (character, before))) {
            for after in [0, 1, 7, 9] {
                alike(&format!("{}{character}{}{character}", "a".repeat(before), "é".repeat(after)));
            }
        }
        alike("");
        alike(&'"');
    }

    #[derive(Serialize)]
    enum Kinds<'a> {
        Unit,
        Newtype(&'a str),
        Tuple(u8, f32),
        Struct { a: Option<i64>, b: () },
    }

    #[derive(Serialize)]
    struct Pair(i8, u16);

    #[derive(Serialize)]
    struct Nothing;

    #[derive(Serialize)]
    struct All<'a> {
        kinds: Vec<Kinds<'a>>,
        pair: Pair,
        nothing: Nothing,
        #[serde(rename = "a \"name\"\n")]
        name: (),
        #[serde(rename = "aNameOfTwentyNineCharacters!!")]
        twenty_nine: (),
        #[serde(rename = "aNameOfThirtyCharacters!!!!!!!")]
        thirty: (),
        numbers: BTreeMap<i32, [f64; 3]>,
        truths: BTreeMap<bool, char>,
        large: (u128, i128, u64, i64),
        value: Value,
        raw: Box<RawValue>,
        #[serde(flatten)]
        more: BTreeMap<String, Value>,
    }

    #[test]
    fn everything_is_written_as_serde_json_writes_it() {
        alike(&All {
            kinds: vec![
                Kinds::Unit,
                Kinds::Newtype("x\ty"),
                Kinds::Tuple(7, 0.1),
                Kinds::Struct { a: Some(-3), b: () },
                Kinds::Struct { a: None, b: () },
            ],
            pair: Pair(-128, 65_535),
            nothing: Nothing,
            name: (),
            twenty_nine: (),
            thirty: (),
            numbers: BTreeMap::from([(-1, [0.5, f64::NAN, 1e300]), (20, [0.0, -0.0, 3.0])]),
            truths: BTreeMap::from([(true, 'é'), (false, '\u{1}')]),
            large: (u128::MAX, i128::MIN, u64::MAX, i64::MIN),
            value: json!({"a": [1, 2.5, null, true, {"b": {}, "c": []}], "": "\u{2028}", "long": "x".repeat(1_000)}),
            raw: RawValue::from_string(r#"{"as": [ "it", "\u0069s" ]}"#.to_owned()).unwrap(),
            more: BTreeMap::from([("more".to_owned(), json!([]))]),
        });
        alike(&[0_u8; 0][..]);
        alike(&json!(null));
        alike(&(1, "two", [3.0]));
    }

    #[test]
    fn a_key_that_is_no_text_is_refused_as_serde_json_refuses_it() {
        let map = BTreeMap::from([(Some(vec![1]), 1)]);
        assert!(serde_json::to_string(&map).is_err());
        assert_eq!(append(&map, &mut Vec::new()).unwrap_err().to_string(), "key must be a string");
        assert!(append(&BTreeMap::from([((), 1)]), &mut Vec::new()).is_err());
    }
}
