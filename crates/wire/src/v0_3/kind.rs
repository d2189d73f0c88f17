//! `kind`: what an object says it is, or can be seen to be.

use chancery_core::Result;
use serde::{
    Deserialize, Deserializer,
    de::{self, IgnoredAny},
};

/// What an object is.
#[derive(Deserialize, Clone, Copy, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Kind {
    Task,
    Message,
    StatusUpdate,
    ArtifactUpdate,
}

impl Kind {
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::Task => "task",
            Self::Message => "message",
            Self::StatusUpdate => "status-update",
            Self::ArtifactUpdate => "artifact-update",
        }
    }

    /// Refuses an object that says it is something else.
    pub(super) fn expect<E: de::Error>(self, said: Option<Self>) -> Result<(), E> {
        match said {
            Some(other) if other != self => Err(E::custom(format_args!("kind is {} where {} is expected", other.as_str(), self.as_str()))),
            _ => Ok(()),
        }
    }
}

/// The kind of an object, said or seen (V03-OBJ-002).
pub(super) struct Shape(pub(super) Kind);

impl<'de> Deserialize<'de> for Shape {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Members {
            kind: Option<Kind>,
            id: Option<IgnoredAny>,
            #[serde(alias = "message_id")]
            message_id: Option<IgnoredAny>,
            role: Option<IgnoredAny>,
            artifact: Option<IgnoredAny>,
            #[serde(alias = "task_id")]
            task_id: Option<IgnoredAny>,
            r#final: Option<IgnoredAny>,
            status: Option<IgnoredAny>,
        }
        let members = Members::deserialize(deserializer)?;
        let status = members.status.is_some();
        let kind = match members.kind {
            Some(kind) => kind,
            None if members.message_id.is_some() && members.role.is_some() => Kind::Message,
            None if members.artifact.is_some() => Kind::ArtifactUpdate,
            None if status && (members.r#final.is_some() || members.task_id.is_some()) => Kind::StatusUpdate,
            None if status && members.id.is_some() => Kind::Task,
            None => return Err(de::Error::custom("neither a task nor a message nor an update of one")),
        };
        Ok(Self(kind))
    }
}
