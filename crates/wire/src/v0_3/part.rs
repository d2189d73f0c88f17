//! Parts: `{"kind":"text","text"}`, `{"kind":"file","file":{…}}`, `{"kind":"data","data"}`.

use std::{borrow::Cow, fmt};

use chancery_core::{Bytes, Content, Object, Part, Result, json as proto_json};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use serde_json::{Map, Value};

use crate::legacy;

#[derive(Deserialize, Clone, Copy)]
#[serde(rename_all = "lowercase")]
enum Kind {
    Text,
    File,
    Data,
}

pub(super) struct ReadPart(pub(super) Part);

impl<'de> Deserialize<'de> for ReadPart {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        struct Members {
            kind: Option<Kind>,
            // What the prose of the first v0.2 writes instead of `kind`; anything beside it.
            r#type: Option<Value>,
            text: Option<String>,
            file: Option<ReadFile>,
            data: Option<Value>,
            metadata: Option<Object>,
        }
        let members = Members::deserialize(deserializer)?;
        let kind = members.kind.or_else(|| members.r#type.and_then(|word| serde_json::from_value(word).ok()));
        let mut part = match (kind, members.text, members.file, members.data) {
            (Some(Kind::Text), Some(text), ..) => Part::text(text),
            (Some(Kind::File), _, Some(file), _) => file.0,
            (Some(Kind::Data), .., Some(data)) => Part::data(data),
            (None, Some(text), ..) => Part::text(text),
            (None, None, Some(file), _) => file.0,
            (None, None, None, Some(data)) => Part::data(data),
            _ => return Err(de::Error::custom("a part holds text, file or data, as its kind says")),
        };
        part.metadata = members.metadata.unwrap_or_default();
        legacy::restore_part(&mut part);
        Ok(Self(part))
    }
}

struct ReadFile(Part);

impl<'de> Deserialize<'de> for ReadFile {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Members {
            bytes: Option<Base64>,
            uri: Option<String>,
            // What the prose of the first v0.2 writes instead of `bytes`; anything beside it.
            data: Option<Value>,
            #[serde(alias = "mime_type")]
            mime_type: Option<String>,
            name: Option<String>,
        }
        let members = Members::deserialize(deserializer)?;
        let content = match (members.bytes, members.uri, members.data) {
            // With both, the bytes are what is meant (V03-PART-004).
            (Some(bytes), ..) => Content::Raw(bytes.0),
            (None, Some(uri), _) => Content::Url(uri),
            (None, None, Some(Value::String(text))) => Content::Raw(Base64::decode(&text)?.0),
            _ => return Err(de::Error::custom("a file has bytes or a uri")),
        };
        let part = Part::new(content).media_type(members.mime_type.unwrap_or_default());
        Ok(Self(part.filename(members.name.unwrap_or_default())))
    }
}

/// Bytes as base64 text, in any of its spellings.
struct Base64(Bytes);

impl Base64 {
    fn decode<E: de::Error>(text: &str) -> Result<Self, E> {
        proto_json::from_base64(text).map(Self).ok_or_else(|| E::custom("not base64"))
    }
}

impl<'de> Deserialize<'de> for Base64 {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Text;
        impl de::Visitor<'_> for Text {
            type Value = Base64;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a base64 string")
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<Base64, E> {
                Base64::decode(text)
            }
        }
        deserializer.deserialize_str(Text)
    }
}

#[derive(Serialize)]
pub(super) struct WritePart<'a> {
    kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<WriteFile<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    data: Option<Cow<'a, Map<String, Value>>>,
    #[serde(skip_serializing_if = "Object::is_empty")]
    metadata: Cow<'a, Object>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct WriteFile<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    bytes: Option<AsBase64<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    uri: Option<&'a str>,
    #[serde(skip_serializing_if = "str::is_empty")]
    mime_type: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    name: &'a str,
}

struct AsBase64<'a>(&'a [u8]);

impl Serialize for AsBase64<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&proto_json::to_base64(self.0))
    }
}

impl<'a> WritePart<'a> {
    pub(super) fn of(part: &'a Part) -> Self {
        let file = |bytes, uri| Some(WriteFile { bytes, uri, mime_type: &part.media_type, name: &part.filename });
        let (kind, text, file, data) = match &part.content {
            Content::Text(text) => ("text", Some(text.as_str()), None, None),
            Content::Raw(bytes) => ("file", None, file(Some(AsBase64(bytes)), None), None),
            Content::Url(url) => ("file", None, file(None, Some(url)), None),
            Content::Data(value) => ("data", None, None, Some(legacy::data_object(value))),
        };
        Self { kind, text, file, data, metadata: legacy::part_metadata(part) }
    }
}
