//! Artifacts: what a task produces.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    id::ArtifactId,
    json::{self, Object},
    part::Part,
};

/// A result of a task.
///
/// ```
/// use chancery_core::Artifact;
/// let report = Artifact::new("Line 3 should read 40.00.").named("check");
/// assert_eq!(report.parts.len(), 1);
/// ```
///
/// One of several parts is made of all of them, or a part at a time:
///
/// ```
/// use chancery_core::{Artifact, Part};
/// let pages = ["one.png", "two.png"].map(|name| Part::url(format!("https://files.example/{name}")).filename(name));
/// let scan = Artifact::of(pages).part("Two pages.").named("scan");
/// assert_eq!(scan.parts.len(), 3);
/// ```
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[non_exhaustive]
pub struct Artifact {
    /// Unique within its task.
    #[serde(alias = "artifact_id", deserialize_with = "json::or_default")]
    pub artifact_id: ArtifactId,
    /// A name for people; refined versions of one artifact share it. Empty when not given.
    #[serde(deserialize_with = "json::or_default", skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// A description for people; empty when not given.
    #[serde(deserialize_with = "json::or_default", skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// The content; at least one part.
    #[serde(deserialize_with = "json::or_default")]
    pub parts: Vec<Part>,
    /// Extension values, keyed by extension URI, and other facts.
    #[serde(deserialize_with = "json::or_default", skip_serializing_if = "Object::is_empty")]
    pub metadata: Object,
    /// URIs of the extensions that contributed to this artifact.
    #[serde(deserialize_with = "json::or_default", skip_serializing_if = "Vec::is_empty")]
    pub extensions: Vec<String>,
}

impl Artifact {
    /// An artifact with a fresh id and one part.
    pub fn new(part: impl Into<Part>) -> Self {
        Self { artifact_id: ArtifactId::generate(), parts: vec![part.into()], ..Self::default() }
    }

    /// An artifact with a fresh id and these parts. The protocol wants at least one.
    pub fn of<P: Into<Part>>(parts: impl IntoIterator<Item = P>) -> Self {
        Self { artifact_id: ArtifactId::generate(), parts: parts.into_iter().map(Into::into).collect(), ..Self::default() }
    }

    /// Sets the id.
    #[must_use]
    pub fn id(mut self, id: impl Into<ArtifactId>) -> Self {
        self.artifact_id = id.into();
        self
    }

    /// Sets the name for people.
    #[must_use]
    pub fn named(mut self, name: impl Into<String>) -> Self {
        self.name = name.into();
        self
    }

    /// Sets the description for people.
    #[must_use]
    pub fn described(mut self, description: impl Into<String>) -> Self {
        self.description = description.into();
        self
    }

    /// Adds a part.
    #[must_use]
    pub fn part(mut self, part: impl Into<Part>) -> Self {
        self.parts.push(part.into());
        self
    }

    /// Adds one metadata entry.
    #[must_use]
    pub fn metadata(mut self, key: impl Into<String>, value: impl Into<Value>) -> Self {
        self.metadata.insert(key.into(), value.into());
        self
    }
}
