//! Parts: the pieces of content in messages and artifacts.

use bytes::Bytes;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de, ser::SerializeStruct};
use serde_json::Value;

use crate::json::{self, Object, base64_bytes};

/// One piece of content.
///
/// ```
/// use chancery_core::Part;
/// let part = Part::text("# Tides").media_type("text/markdown").filename("tides.md");
/// assert_eq!(
///     serde_json::to_string(&part).unwrap(),
///     r##"{"text":"# Tides","filename":"tides.md","mediaType":"text/markdown"}"##
/// );
/// ```
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Part {
    /// What the part holds.
    pub content: Content,
    /// Extra facts about the part.
    pub metadata: Object,
    /// Suggested file name; empty when not given.
    pub filename: String,
    /// MIME type of the content; empty when not given.
    pub media_type: String,
}

/// What a part holds: exactly one of four kinds.
#[derive(Debug, Clone, PartialEq)]
pub enum Content {
    /// Plain text; may be empty.
    Text(String),
    /// Inline bytes.
    Raw(Bytes),
    /// The absolute URL of the content.
    Url(String),
    /// Any JSON value, `null` included.
    Data(Value),
}

impl Part {
    /// A part with this content and nothing else.
    #[must_use]
    pub fn new(content: Content) -> Self {
        Self { content, metadata: Object::new(), filename: String::new(), media_type: String::new() }
    }

    /// A text part.
    pub fn text(text: impl Into<String>) -> Self {
        Self::new(Content::Text(text.into()))
    }

    /// A part of inline bytes.
    pub fn raw(bytes: impl Into<Bytes>) -> Self {
        Self::new(Content::Raw(bytes.into()))
    }

    /// A part that points to its content.
    pub fn url(url: impl Into<String>) -> Self {
        Self::new(Content::Url(url.into()))
    }

    /// A part of structured data.
    pub fn data(value: impl Into<Value>) -> Self {
        Self::new(Content::Data(value.into()))
    }

    /// Names the file.
    #[must_use]
    pub fn filename(mut self, name: impl Into<String>) -> Self {
        self.filename = name.into();
        self
    }

    /// Names the MIME type.
    #[must_use]
    pub fn media_type(mut self, media_type: impl Into<String>) -> Self {
        self.media_type = media_type.into();
        self
    }

    /// Adds one metadata entry.
    #[must_use]
    pub fn metadata(mut self, key: impl Into<String>, value: impl Into<Value>) -> Self {
        self.metadata.insert(key.into(), value.into());
        self
    }

    /// The text, if this is a text part.
    #[must_use]
    pub fn as_text(&self) -> Option<&str> {
        match &self.content {
            Content::Text(text) => Some(text),
            _ => None,
        }
    }
}

impl From<&str> for Part {
    fn from(text: &str) -> Self {
        Self::text(text)
    }
}

impl From<String> for Part {
    fn from(text: String) -> Self {
        Self::text(text)
    }
}

impl Serialize for Part {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let extras = [!self.metadata.is_empty(), !self.filename.is_empty(), !self.media_type.is_empty()];
        let mut part = serializer.serialize_struct("Part", 1 + extras.iter().filter(|set| **set).count())?;
        match &self.content {
            Content::Text(text) => part.serialize_field("text", text)?,
            Content::Raw(bytes) => part.serialize_field("raw", &base64_bytes::AsBase64(bytes))?,
            Content::Url(url) => part.serialize_field("url", url)?,
            Content::Data(value) => part.serialize_field("data", value)?,
        }
        if extras[0] {
            part.serialize_field("metadata", &self.metadata)?;
        }
        if extras[1] {
            part.serialize_field("filename", &self.filename)?;
        }
        if extras[2] {
            part.serialize_field("mediaType", &self.media_type)?;
        }
        part.end()
    }
}

impl<'de> Deserialize<'de> for Part {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(rename = "Part")]
        struct Members {
            text: Option<String>,
            raw: Option<base64_bytes::Base64>,
            url: Option<String>,
            #[serde(default, deserialize_with = "json::present")]
            data: Option<Value>,
            #[serde(default, deserialize_with = "json::or_default")]
            metadata: Object,
            #[serde(default, deserialize_with = "json::or_default")]
            filename: String,
            #[serde(default, alias = "media_type", rename = "mediaType", deserialize_with = "json::or_default")]
            media_type: String,
        }
        let members = Members::deserialize(deserializer)?;
        let content = match (members.text, members.raw, members.url, members.data) {
            (Some(text), None, None, None) => Content::Text(text),
            (None, Some(raw), None, None) => Content::Raw(raw.0),
            (None, None, Some(url), None) => Content::Url(url),
            (None, None, None, Some(data)) => Content::Data(data),
            _ => return Err(de::Error::custom("a part holds exactly one of text, raw, url, data")),
        };
        Ok(Self { content, metadata: members.metadata, filename: members.filename, media_type: members.media_type })
    }
}
