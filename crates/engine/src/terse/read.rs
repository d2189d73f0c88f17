//! Reads what was written in few bytes.

use serde::{
    Deserialize,
    de::{self, DeserializeSeed, IntoDeserializer as _, Visitor},
};
use uuid::{Uuid, fmt::Hyphenated};

use super::{
    BYTES, CONTEXT, DEPTH, END, FALSE, FLOAT, Failed, LARGE, LIST, MAP, NEGATIVE, NULL, NUMBER, SHORT, TASK, TEXT, TRUE, UUID, UUID_BYTES,
    WORD, WORDS,
};

/// Reads what [`write`](super::write) wrote.
///
/// # Errors
/// It did not write this.
pub(crate) fn read<'de, T: Deserialize<'de>>(bytes: &'de [u8]) -> Result<T, Failed> {
    let mut reader = Reader::new(bytes)?;
    let value = T::deserialize(&mut reader)?;
    if reader.rest.is_empty() { Ok(value) } else { Err(Failed::new("there is more than one value")) }
}

pub(super) struct Reader<'de> {
    rest: &'de [u8],
    pub(super) task: Name<'de>,
    pub(super) context: Name<'de>,
    depth: u8,
}

/// A text that stands in the bytes, or is made of them.
#[derive(Clone, Copy)]
pub(super) enum Name<'de> {
    None,
    Text(&'de str),
    Uuid([u8; Hyphenated::LENGTH]),
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
    /// A reader of what stands behind the ids.
    pub(super) fn new(bytes: &'de [u8]) -> Result<Self, Failed> {
        let mut reader = Self { rest: bytes, task: Name::None, context: Name::None, depth: 0 };
        reader.task = reader.name()?;
        reader.context = reader.name()?;
        Ok(reader)
    }

    pub(super) fn byte(&mut self) -> Result<u8, Failed> {
        let (byte, rest) = self.rest.split_first().ok_or_else(|| Failed::new("it ends too early"))?;
        self.rest = rest;
        Ok(*byte)
    }

    pub(super) fn bytes(&mut self, length: usize) -> Result<&'de [u8], Failed> {
        let (bytes, rest) = self.rest.split_at_checked(length).ok_or_else(|| Failed::new("it ends too early"))?;
        self.rest = rest;
        Ok(bytes)
    }

    pub(super) fn count(&mut self) -> Result<u128, Failed> {
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

    pub(super) fn length(&mut self) -> Result<usize, Failed> {
        usize::try_from(self.count()?).map_err(|_| Failed::new("a length is too large"))
    }

    pub(super) fn small(&mut self) -> Result<u64, Failed> {
        u64::try_from(self.count()?).map_err(|_| Failed::new("a number is too large"))
    }

    pub(super) fn text(&mut self, length: usize) -> Result<&'de str, Failed> {
        std::str::from_utf8(self.bytes(length)?).map_err(|_| Failed::new("a text is not UTF-8"))
    }

    pub(super) fn uuid(&mut self) -> Result<[u8; Hyphenated::LENGTH], Failed> {
        let id = Uuid::from_slice(self.bytes(UUID_BYTES)?).map_err(|_| Failed::new("a UUID has sixteen bytes"))?;
        let mut text = [0; Hyphenated::LENGTH];
        id.hyphenated().encode_lower(&mut text);
        Ok(text)
    }

    pub(super) fn negative(&mut self) -> Result<i64, Failed> {
        0_i64.checked_sub_unsigned(self.small()?).ok_or_else(|| Failed::new("a number is too large"))
    }

    pub(super) fn float(&mut self) -> Result<f64, Failed> {
        self.bytes(8)?.try_into().map(f64::from_le_bytes).map_err(|_| Failed::new("a float has eight bytes"))
    }

    /// The name of a member that is a word.
    pub(super) fn member(&mut self) -> Result<&'static str, Failed> {
        self.byte().and_then(known)
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
            NEGATIVE => visitor.visit_i64(self.negative()?),
            FLOAT => visitor.visit_f64(self.float()?),
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

    pub(super) fn is_end(&self) -> bool {
        self.rest.first() == Some(&END)
    }
}

pub(super) fn known(tag: u8) -> Result<&'static str, Failed> {
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

pub(super) fn unzigzag(number: u128) -> i128 {
    (number >> 1).cast_signed() ^ -(number & 1).cast_signed()
}
