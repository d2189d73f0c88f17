//! Writes a value in few bytes.

use serde::{Serialize, ser};
use uuid::{Uuid, fmt::Hyphenated};

use super::{
    BYTES, CONTEXT, END, FALSE, FLOAT, Failed, Ids, LARGE, LIST, MAP, NEGATIVE, NULL, NUMBER, SHORT, TASK, TEXT, TRUE, UUID, WORD, word,
};

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
        if let Ok(name) = <&[u8; Hyphenated::LENGTH]>::try_from(bytes) {
            // Copies of an id share one text, so a look at where it is tells most of them.
            let is = |id: &str| std::ptr::eq(id, text) || id.as_bytes().try_into().is_ok_and(|id: &[u8; Hyphenated::LENGTH]| id == name);
            if is(self.ids.task) {
                return self.out.push(TASK);
            }
            if is(self.ids.context) {
                return self.out.push(CONTEXT);
            }
            if let Some(id) = lower_case_uuid(name) {
                self.out.push(UUID);
                return self.out.extend_from_slice(id.as_bytes());
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

/// The UUID that is written exactly so: in lower case, with hyphens. Any other spelling must be read as it was written.
fn lower_case_uuid(text: &[u8; Hyphenated::LENGTH]) -> Option<Uuid> {
    let id = Uuid::try_parse_ascii(text).ok()?;
    (id.hyphenated().encode_lower(&mut Uuid::encode_buffer()).as_bytes() == text).then_some(id)
}
