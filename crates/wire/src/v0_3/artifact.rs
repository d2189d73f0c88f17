//! Artifacts.

use chancery_core::{Artifact, ArtifactId, Object, Part, Result};
use serde::{Deserialize, Deserializer, Serialize};

use super::{
    each::Each,
    part::{ReadPart, WritePart},
};

pub(super) struct ReadArtifact(pub(super) Artifact);

impl<'de> Deserialize<'de> for ReadArtifact {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Members {
            #[serde(alias = "artifact_id")]
            artifact_id: Option<ArtifactId>,
            name: Option<String>,
            description: Option<String>,
            parts: Option<Vec<ReadPart>>,
            metadata: Option<Object>,
            extensions: Option<Vec<String>>,
        }
        let members = Members::deserialize(deserializer)?;
        let mut artifact = Artifact::default();
        artifact.artifact_id = members.artifact_id.unwrap_or_default();
        artifact.name = members.name.unwrap_or_default();
        artifact.description = members.description.unwrap_or_default();
        artifact.parts = members.parts.unwrap_or_default().into_iter().map(|part| part.0).collect();
        artifact.metadata = members.metadata.unwrap_or_default();
        artifact.extensions = members.extensions.unwrap_or_default();
        Ok(Self(artifact))
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct WriteArtifact<'a> {
    artifact_id: &'a ArtifactId,
    #[serde(skip_serializing_if = "str::is_empty")]
    name: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    description: &'a str,
    parts: Each<'a, Part, WritePart<'a>>,
    #[serde(skip_serializing_if = "Object::is_empty")]
    metadata: &'a Object,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    extensions: &'a [String],
}

impl<'a> WriteArtifact<'a> {
    pub(super) fn of(artifact: &'a Artifact) -> Self {
        Self {
            artifact_id: &artifact.artifact_id,
            name: &artifact.name,
            description: &artifact.description,
            parts: Each(&artifact.parts, WritePart::of),
            metadata: &artifact.metadata,
            extensions: &artifact.extensions,
        }
    }
}
