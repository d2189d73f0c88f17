//! Rows and snapshots in few bytes: the JSON of the model, written without its text.
//!
//! Whatever serializes can be written, and is read as it was: nulls, booleans, numbers, texts, bytes, lists and maps,
//! each behind one byte that says what follows. Members and values that the protocol itself names are one byte, and so
//! are the ids of the task and its conversation, which a row repeats in every event. A UUID is its sixteen bytes. Times and
//! inline bytes are written as they are, not as text.
//!
//! ```text
//! 00 null   01 false   02 true    03 end of a list or map   04 list   05 map
//! 06 number of 64 bits, unsigned  07 the same, negative     08 float  09 number of 128 bits
//! 0a the task    0b the conversation    0c a UUID   0d bytes    0e text
//! 10..=7f  word 0, 1, 2 …         80..=ff  text of 0 to 127 bytes
//! ```
//!
//! Words are numbered for ever: new ones go to the end.

use std::fmt;

use chancery_core::uuid;
use serde::{
    Deserialize, Serialize,
    de::{self, DeserializeSeed, IntoDeserializer as _, Visitor},
    ser,
};

const NULL: u8 = 0x00;
const FALSE: u8 = 0x01;
const TRUE: u8 = 0x02;
const END: u8 = 0x03;
const LIST: u8 = 0x04;
const MAP: u8 = 0x05;
const NUMBER: u8 = 0x06;
const NEGATIVE: u8 = 0x07;
const FLOAT: u8 = 0x08;
const LARGE: u8 = 0x09;
const TASK: u8 = 0x0a;
const CONTEXT: u8 = 0x0b;
const UUID: u8 = 0x0c;
const BYTES: u8 = 0x0d;
const TEXT: u8 = 0x0e;
const WORD: u8 = 0x10;
const SHORT: u8 = 0x80;

/// Lists and maps within each other, as deep as JSON is read.
const DEPTH: u8 = 128;

const WORDS: [&str; 60] = [
    "event",
    "message",
    "record",
    "task",
    "statusUpdate",
    "artifactUpdate",
    "id",
    "contextId",
    "taskId",
    "status",
    "state",
    "timestamp",
    "artifacts",
    "artifact",
    "artifactId",
    "history",
    "metadata",
    "messageId",
    "role",
    "parts",
    "text",
    "raw",
    "url",
    "data",
    "filename",
    "mediaType",
    "name",
    "description",
    "extensions",
    "referenceTaskIds",
    "append",
    "lastChunk",
    "origin",
    "version",
    "binding",
    "fileBytes",
    "created",
    "updated",
    "ROLE_USER",
    "ROLE_AGENT",
    "TASK_STATE_SUBMITTED",
    "TASK_STATE_WORKING",
    "TASK_STATE_COMPLETED",
    "TASK_STATE_FAILED",
    "TASK_STATE_CANCELED",
    "TASK_STATE_INPUT_REQUIRED",
    "TASK_STATE_REJECTED",
    "TASK_STATE_AUTH_REQUIRED",
    "1.0",
    "0.3",
    "0.2",
    "0.1",
    "compact",
    "JSONRPC",
    "HTTP+JSON",
    "GRPC",
    "double",
    "single",
    "text/plain",
    "notes",
];

const LONGEST: usize = 25;

/// Where each word is: its number plus one, or 0.
const PLACES: [u8; 512] = {
    let mut places = [0; 512];
    let mut number = 0;
    while number < WORDS.len() {
        let place = place(WORDS[number].as_bytes());
        assert!(places[place] == 0, "two words have one place: search for another factor");
        #[allow(clippy::cast_possible_truncation, reason = "there are fewer than 112 words")]
        {
            places[place] = number as u8 + 1;
        }
        number += 1;
    }
    places
};

/// The place of a text that is not empty: nine bits of a product. The factor was searched for one that gives every
/// word a place of its own.
#[inline(always)]
const fn place(text: &[u8]) -> usize {
    let last = text.len() - 1;
    #[allow(clippy::cast_possible_truncation, reason = "a word is short")]
    let mark = u32::from_le_bytes([text[0], text[last], text[text.len() * 2 / 3], text.len() as u8]);
    (mark.wrapping_mul(0xdcf4_bb99) >> 23) as usize
}

/// The number of a word. Of a text that the compiler knows, it knows the number too.
#[inline(always)]
fn word(text: &str) -> Option<u8> {
    if text.is_empty() || text.len() > LONGEST {
        return None;
    }
    let number = PLACES[place(text.as_bytes())].checked_sub(1)?;
    (WORDS[usize::from(number)] == text).then_some(number)
}

/// What the rows of a task repeat.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ids<'a> {
    /// The id of the task.
    pub(crate) task: &'a str,
    /// The id of its conversation.
    pub(crate) context: &'a str,
}

/// Writes a value behind what is there already, the ids in front of it.
///
/// # Errors
/// The value has no such form; what was written of it is worth nothing.
pub(crate) fn write<T: Serialize>(out: &mut Vec<u8>, ids: Ids<'_>, value: &T) -> Result<(), Failed> {
    let mut writer = Writer { out, ids: Ids { task: "", context: "" } };
    writer.text(ids.task);
    writer.text(ids.context);
    writer.ids = ids;
    value.serialize(&mut writer)
}

/// Reads what [`write`] wrote.
///
/// # Errors
/// It did not write this.
pub(crate) fn read<'de, T: Deserialize<'de>>(bytes: &'de [u8]) -> Result<T, Failed> {
    let mut reader = Reader { rest: bytes, task: Name::None, context: Name::None, depth: 0 };
    reader.task = reader.name()?;
    reader.context = reader.name()?;
    let value = T::deserialize(&mut reader)?;
    if reader.rest.is_empty() { Ok(value) } else { Err(Failed::new("there is more than one value")) }
}

/// Why a value cannot be written or read.
#[derive(Debug)]
pub(crate) struct Failed(String);

impl Failed {
    fn new(why: &str) -> Self {
        Self(why.to_owned())
    }
}

impl fmt::Display for Failed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Failed {}

impl ser::Error for Failed {
    fn custom<T: fmt::Display>(why: T) -> Self {
        Self(why.to_string())
    }
}

impl de::Error for Failed {
    fn custom<T: fmt::Display>(why: T) -> Self {
        Self(why.to_string())
    }
}

// --- Writing ------------------------------------------------------------------------------------

struct Writer<'a> {
    out: &'a mut Vec<u8>,
    ids: Ids<'a>,
}

impl Writer<'_> {
    /// Seven bits in each byte, the lowest first.
    #[allow(clippy::cast_possible_truncation, reason = "it is no larger any more")]
    fn count(&mut self, mut number: u128) {
        /// As many as the largest number needs.
        const MOST: usize = 19;
        let (mut bytes, mut length) = ([0; MOST], 0);
        // Nearly all are small, and half as wide is less work.
        while number > u128::from(u64::MAX) {
            bytes[length] = low_bits(number) | 0x80;
            (number, length) = (number >> 7, length + 1);
        }
        let mut number = number as u64;
        while number >= 0x80 {
            bytes[length] = low_bits(number.into()) | 0x80;
            (number, length) = (number >> 7, length + 1);
        }
        bytes[length] = low_bits(number.into());
        self.out.extend_from_slice(&bytes[..=length]);
    }

    /// The name of a member.
    #[inline(always)]
    fn member(&mut self, name: &'static str) {
        match word(name) {
            Some(number) => self.out.push(WORD + number),
            None => self.text(name),
        }
    }

    fn text(&mut self, text: &str) {
        let bytes = text.as_bytes();
        // Most ids are as long as a UUID, and no word is.
        if let Ok(name) = <&[u8; uuid::LENGTH]>::try_from(bytes) {
            // Copies of an id share one text, so a look at where it is tells most of them.
            let is = |id: &str| std::ptr::eq(id, text) || id.as_bytes().try_into().is_ok_and(|id: &[u8; uuid::LENGTH]| id == name);
            if is(self.ids.task) {
                return self.out.push(TASK);
            }
            if is(self.ids.context) {
                return self.out.push(CONTEXT);
            }
            if let Some(bytes) = uuid::bytes(name) {
                self.out.push(UUID);
                return self.out.extend_from_slice(&bytes);
            }
        } else if let Some(number) = word(text) {
            return self.out.push(WORD + number);
        } else if !bytes.is_empty() && text == self.ids.task {
            return self.out.push(TASK);
        } else if !bytes.is_empty() && text == self.ids.context {
            return self.out.push(CONTEXT);
        }
        match u8::try_from(bytes.len()) {
            Ok(length) if length < 0x80 => self.out.push(SHORT | length),
            _ => {
                self.out.push(TEXT);
                self.count(bytes.len() as u128);
            }
        }
        self.out.extend_from_slice(bytes);
    }
}

/// The lowest seven bits of a number.
#[allow(clippy::cast_possible_truncation, reason = "seven bits are no more than eight")]
fn low_bits(number: u128) -> u8 {
    (number & 0x7f) as u8
}

/// Positive and negative numbers in turn, so that small ones are short.
fn zigzag(number: i128) -> u128 {
    (number << 1 ^ number >> 127).cast_unsigned()
}

fn unzigzag(number: u128) -> i128 {
    (number >> 1).cast_signed() ^ -(number & 1).cast_signed()
}

impl ser::Serializer for &mut Writer<'_> {
    type Ok = ();
    type Error = Failed;
    type SerializeSeq = Self;
    type SerializeTuple = Self;
    type SerializeTupleStruct = Self;
    type SerializeTupleVariant = ser::Impossible<(), Failed>;
    type SerializeMap = Self;
    type SerializeStruct = Self;
    type SerializeStructVariant = ser::Impossible<(), Failed>;

    fn is_human_readable(&self) -> bool {
        false
    }

    fn serialize_bool(self, value: bool) -> Result<(), Failed> {
        self.out.push(if value { TRUE } else { FALSE });
        Ok(())
    }

    fn serialize_i8(self, value: i8) -> Result<(), Failed> {
        self.serialize_i64(value.into())
    }

    fn serialize_i16(self, value: i16) -> Result<(), Failed> {
        self.serialize_i64(value.into())
    }

    fn serialize_i32(self, value: i32) -> Result<(), Failed> {
        self.serialize_i64(value.into())
    }

    fn serialize_i64(self, value: i64) -> Result<(), Failed> {
        match u64::try_from(value) {
            Ok(value) => self.serialize_u64(value),
            Err(_) => {
                self.out.push(NEGATIVE);
                self.count(value.unsigned_abs().into());
                Ok(())
            }
        }
    }

    fn serialize_i128(self, value: i128) -> Result<(), Failed> {
        self.out.push(LARGE);
        self.count(zigzag(value));
        Ok(())
    }

    fn serialize_u8(self, value: u8) -> Result<(), Failed> {
        self.serialize_u64(value.into())
    }

    fn serialize_u16(self, value: u16) -> Result<(), Failed> {
        self.serialize_u64(value.into())
    }

    fn serialize_u32(self, value: u32) -> Result<(), Failed> {
        self.serialize_u64(value.into())
    }

    fn serialize_u64(self, value: u64) -> Result<(), Failed> {
        self.out.push(NUMBER);
        self.count(value.into());
        Ok(())
    }

    fn serialize_f32(self, value: f32) -> Result<(), Failed> {
        self.serialize_f64(value.into())
    }

    fn serialize_f64(self, value: f64) -> Result<(), Failed> {
        self.out.push(FLOAT);
        self.out.extend_from_slice(&value.to_le_bytes());
        Ok(())
    }

    fn serialize_char(self, value: char) -> Result<(), Failed> {
        self.serialize_str(value.encode_utf8(&mut [0; 4]))
    }

    fn serialize_str(self, value: &str) -> Result<(), Failed> {
        self.text(value);
        Ok(())
    }

    fn serialize_bytes(self, value: &[u8]) -> Result<(), Failed> {
        self.out.push(BYTES);
        self.count(value.len() as u128);
        self.out.extend_from_slice(value);
        Ok(())
    }

    fn serialize_none(self) -> Result<(), Failed> {
        self.serialize_unit()
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<(), Failed> {
        value.serialize(self)
    }

    fn serialize_unit(self) -> Result<(), Failed> {
        self.out.push(NULL);
        Ok(())
    }

    fn serialize_unit_struct(self, _: &'static str) -> Result<(), Failed> {
        self.serialize_unit()
    }

    fn serialize_unit_variant(self, _: &'static str, _: u32, variant: &'static str) -> Result<(), Failed> {
        self.serialize_str(variant)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(self, _: &'static str, value: &T) -> Result<(), Failed> {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(self, name: &'static str, _: u32, _: &'static str, _: &T) -> Result<(), Failed> {
        Err(Failed::new(name))
    }

    fn serialize_seq(self, _: Option<usize>) -> Result<Self, Failed> {
        self.out.push(LIST);
        Ok(self)
    }

    fn serialize_tuple(self, _: usize) -> Result<Self, Failed> {
        self.serialize_seq(None)
    }

    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<Self, Failed> {
        self.serialize_seq(None)
    }

    fn serialize_tuple_variant(self, name: &'static str, _: u32, _: &'static str, _: usize) -> Result<Self::SerializeTupleVariant, Failed> {
        Err(Failed::new(name))
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Self, Failed> {
        self.out.push(MAP);
        Ok(self)
    }

    fn serialize_struct(self, _: &'static str, _: usize) -> Result<Self, Failed> {
        self.serialize_map(None)
    }

    fn serialize_struct_variant(
        self,
        name: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Self::SerializeStructVariant, Failed> {
        Err(Failed::new(name))
    }
}

impl ser::SerializeSeq for &mut Writer<'_> {
    type Ok = ();
    type Error = Failed;

    fn serialize_element<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Failed> {
        value.serialize(&mut **self)
    }

    fn end(self) -> Result<(), Failed> {
        self.out.push(END);
        Ok(())
    }
}

impl ser::SerializeTuple for &mut Writer<'_> {
    type Ok = ();
    type Error = Failed;

    fn serialize_element<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Failed> {
        value.serialize(&mut **self)
    }

    fn end(self) -> Result<(), Failed> {
        ser::SerializeSeq::end(self)
    }
}

impl ser::SerializeTupleStruct for &mut Writer<'_> {
    type Ok = ();
    type Error = Failed;

    fn serialize_field<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Failed> {
        value.serialize(&mut **self)
    }

    fn end(self) -> Result<(), Failed> {
        ser::SerializeSeq::end(self)
    }
}

impl ser::SerializeMap for &mut Writer<'_> {
    type Ok = ();
    type Error = Failed;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), Failed> {
        key.serialize(&mut **self)
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Failed> {
        value.serialize(&mut **self)
    }

    fn end(self) -> Result<(), Failed> {
        ser::SerializeSeq::end(self)
    }
}

impl ser::SerializeStruct for &mut Writer<'_> {
    type Ok = ();
    type Error = Failed;

    #[inline(always)]
    fn serialize_field<T: Serialize + ?Sized>(&mut self, key: &'static str, value: &T) -> Result<(), Failed> {
        self.member(key);
        value.serialize(&mut **self)
    }

    fn end(self) -> Result<(), Failed> {
        ser::SerializeSeq::end(self)
    }
}

// --- Reading ------------------------------------------------------------------------------------

struct Reader<'de> {
    rest: &'de [u8],
    task: Name<'de>,
    context: Name<'de>,
    depth: u8,
}

/// A text that stands in the bytes, or is made of them.
#[derive(Clone, Copy)]
enum Name<'de> {
    None,
    Text(&'de str),
    Uuid([u8; uuid::LENGTH]),
}

impl Name<'_> {
    fn visit<'de, V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Failed>
    where
        Self: 'de,
    {
        match self {
            Name::None => Err(Failed::new("a name stands for itself")),
            Name::Text(text) => visitor.visit_str(text),
            Name::Uuid(text) => visitor.visit_str(std::str::from_utf8(&text).unwrap_or_default()),
        }
    }
}

impl<'de> Reader<'de> {
    fn byte(&mut self) -> Result<u8, Failed> {
        let (byte, rest) = self.rest.split_first().ok_or_else(|| Failed::new("it ends too early"))?;
        self.rest = rest;
        Ok(*byte)
    }

    fn bytes(&mut self, length: usize) -> Result<&'de [u8], Failed> {
        let (bytes, rest) = self.rest.split_at_checked(length).ok_or_else(|| Failed::new("it ends too early"))?;
        self.rest = rest;
        Ok(bytes)
    }

    fn count(&mut self) -> Result<u128, Failed> {
        let mut number = 0;
        for shift in (0..128).step_by(7) {
            let byte = self.byte()?;
            number |= u128::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(number);
            }
        }
        Err(Failed::new("a number is too large"))
    }

    fn length(&mut self) -> Result<usize, Failed> {
        usize::try_from(self.count()?).map_err(|_| Failed::new("a length is too large"))
    }

    fn small(&mut self) -> Result<u64, Failed> {
        u64::try_from(self.count()?).map_err(|_| Failed::new("a number is too large"))
    }

    fn text(&mut self, length: usize) -> Result<&'de str, Failed> {
        std::str::from_utf8(self.bytes(length)?).map_err(|_| Failed::new("a text is not UTF-8"))
    }

    fn uuid(&mut self) -> Result<[u8; uuid::LENGTH], Failed> {
        self.bytes(16)?.try_into().map(uuid::text).map_err(|_| Failed::new("a UUID has sixteen bytes"))
    }

    /// One of the ids in front.
    fn name(&mut self) -> Result<Name<'de>, Failed> {
        match self.byte()? {
            UUID => self.uuid().map(Name::Uuid),
            TEXT => {
                let length = self.length()?;
                self.text(length).map(Name::Text)
            }
            tag @ SHORT.. => self.text(usize::from(tag - SHORT)).map(Name::Text),
            tag => known(tag).map(Name::Text),
        }
    }

    fn value<V: Visitor<'de>>(&mut self, visitor: V) -> Result<V::Value, Failed> {
        match self.byte()? {
            NULL => visitor.visit_unit(),
            FALSE => visitor.visit_bool(false),
            TRUE => visitor.visit_bool(true),
            END => Err(Failed::new("a value is missing")),
            LIST => self.within(|reader| visitor.visit_seq(reader)),
            MAP => self.within(|reader| visitor.visit_map(reader)),
            NUMBER => visitor.visit_u64(self.small()?),
            NEGATIVE => visitor.visit_i64(0_i64.checked_sub_unsigned(self.small()?).ok_or_else(|| Failed::new("a number is too large"))?),
            FLOAT => {
                let bytes = self.bytes(8)?.try_into().map_err(|_| Failed::new("a float has eight bytes"))?;
                visitor.visit_f64(f64::from_le_bytes(bytes))
            }
            LARGE => visitor.visit_i128(unzigzag(self.count()?)),
            TASK => self.task.visit(visitor),
            CONTEXT => self.context.visit(visitor),
            UUID => Name::Uuid(self.uuid()?).visit(visitor),
            BYTES => {
                let length = self.length()?;
                visitor.visit_borrowed_bytes(self.bytes(length)?)
            }
            TEXT => {
                let length = self.length()?;
                visitor.visit_borrowed_str(self.text(length)?)
            }
            tag @ SHORT.. => visitor.visit_borrowed_str(self.text(usize::from(tag - SHORT))?),
            tag => visitor.visit_borrowed_str(known(tag)?),
        }
    }

    /// Reads a list or map, all of it.
    fn within<T>(&mut self, read: impl FnOnce(&mut Self) -> Result<T, Failed>) -> Result<T, Failed> {
        self.depth += 1;
        if self.depth > DEPTH {
            return Err(Failed::new("it is too deep"));
        }
        let value = read(self)?;
        self.depth -= 1;
        if self.byte()? == END { Ok(value) } else { Err(Failed::new("a list or map is too long")) }
    }

    fn is_end(&self) -> bool {
        self.rest.first() == Some(&END)
    }
}

fn known(tag: u8) -> Result<&'static str, Failed> {
    let number = tag.checked_sub(WORD).map(usize::from);
    number.and_then(|number| WORDS.get(number).copied()).ok_or_else(|| Failed::new("a word is newer than this program"))
}

impl<'de> de::Deserializer<'de> for &mut Reader<'de> {
    type Error = Failed;

    fn is_human_readable(&self) -> bool {
        false
    }

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Failed> {
        self.value(visitor)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Failed> {
        if self.rest.first() == Some(&NULL) {
            self.rest = &self.rest[1..];
            visitor.visit_none()
        } else {
            visitor.visit_some(self)
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, _: &'static str, visitor: V) -> Result<V::Value, Failed> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(self, _: &'static str, _: &'static [&'static str], visitor: V) -> Result<V::Value, Failed> {
        let variant = String::deserialize(self)?;
        visitor.visit_enum(variant.into_deserializer())
    }

    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct
        seq tuple tuple_struct map struct identifier ignored_any
    }
}

impl<'de> de::SeqAccess<'de> for &mut Reader<'de> {
    type Error = Failed;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, Failed> {
        if self.is_end() { Ok(None) } else { seed.deserialize(&mut **self).map(Some) }
    }
}

impl<'de> de::MapAccess<'de> for &mut Reader<'de> {
    type Error = Failed;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, Failed> {
        if self.is_end() { Ok(None) } else { seed.deserialize(&mut **self).map(Some) }
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Failed> {
        seed.deserialize(&mut **self)
    }
}

#[cfg(test)]
mod tests {
    use chancery_core::{Message, Part, Task, TaskState, TaskStatus, Timestamp};
    use serde_json::{Value, json};

    use super::*;

    const TASK_ID: &str = "019537c0-7a3e-7c11-9e0a-6a1d5f3f8b01";

    fn written<T: Serialize>(task: &str, context: &str, value: &T) -> Vec<u8> {
        let mut out = Vec::new();
        write(&mut out, Ids { task, context }, value).unwrap();
        out
    }

    #[test]
    fn every_word_is_found_and_no_other() {
        for (number, text) in WORDS.iter().enumerate() {
            assert!(text.len() <= LONGEST, "{text}");
            assert_eq!(word(text).map(usize::from), Some(number), "{text}");
        }
        for text in ["", "events", "Event", "ROLE_", "x", "TASK_STATE_INPUT_REQUIRED_", TASK_ID] {
            assert_eq!(word(text), None, "{text}");
        }
    }

    #[test]
    fn a_uuid_in_lower_case_is_sixteen_bytes_and_nothing_else_is() {
        for (text, length) in [(TASK_ID, 16), ("019537C0-7a3e-7c11-9e0a-6a1d5f3f8b01", 36), ("019537c0-7a3e-7c11-9e0a-6a1d5f3f8b0g", 36)] {
            let out = written("", "", &text);
            assert_eq!((read::<String>(&out).unwrap().as_str(), out.len()), (text, 2 + 1 + length));
        }
    }

    #[test]
    fn any_json_is_read_as_it_was_written() {
        let long = "ä".repeat(200);
        for value in [
            json!(null),
            json!([true, false, 0, 1, 127, 128, u64::MAX, -1, i64::MIN, 0.0, -0.5, 1e300]),
            json!({"": "", "text": "text", "x": TASK_ID, TASK_ID: "019537C0-7A3E-7C11-9E0A-6A1D5F3F8B02", "long": long}),
            json!({"nested": [[[{"a": {}}]], []], "uuid": "6fa459ea-ee8a-3ca4-894e-db77e160355e", "near": "6fa459ea-ee8a-3ca4-894e-db77e160355g"}),
        ] {
            for (task, context) in [(TASK_ID, "c"), ("", ""), ("text", "x"), (&*long, "status")] {
                let bytes = written(task, context, &value);
                assert_eq!(read::<Value>(&bytes).unwrap(), value);
            }
        }
    }

    #[test]
    fn a_task_keeps_its_times_and_bytes_and_takes_little_room() {
        let time = Timestamp::from_unix(1_772_442_907, 412_345_678).unwrap();
        for time in [time, time.to_millis(), Timestamp::MIN, Timestamp::EPOCH] {
            let mut task = Task::new(TASK_ID, "c-1", TaskStatus::new(TaskState::Working).at(time));
            task.history.push(Message::user(Part::raw(vec![0, 255, 7])));
            let bytes = written(TASK_ID, "c-1", &task);
            assert_eq!(read::<Task>(&bytes).unwrap(), task);
            assert!(bytes.len() < 90, "{}", bytes.len());
        }
    }

    #[test]
    fn what_was_cut_or_changed_is_refused_and_never_panics() {
        let mut task = Task::new(TASK_ID, "c-1", TaskStatus::new(TaskState::Working).at(Timestamp::EPOCH));
        task.metadata.insert("k".to_owned(), json!({"a": [1, "b", null, 2.5, -3]}));
        let whole = written(TASK_ID, "c-1", &task);
        for length in 0..whole.len() {
            assert!(read::<Task>(&whole[..length]).is_err(), "{length}");
        }
        for place in 0..whole.len() {
            for byte in 0..=255 {
                let mut changed = whole.clone();
                changed[place] = byte;
                // It may still mean something; it must not do harm.
                drop(read::<Task>(&changed));
            }
        }
        assert!(read::<Task>(&[&whole[..], &[NULL]].concat()).is_err());
        let deep = [&[SHORT, SHORT][..], &[LIST; 1_000]].concat();
        assert_eq!(read::<Value>(&deep).unwrap_err().to_string(), "it is too deep");
    }
}
