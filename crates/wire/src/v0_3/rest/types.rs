//! The objects of the JSON as the specification's tables list them (V03-REST-001), for reading.
//!
//! Every member may be missing or `null`. A member of several words is read in both of its
//! spellings, and one that protobuf calls differently than JSON by both names; the spelling that
//! JSON prefers wins when both are there (V03-SHAPE-006, V03-REST-007).

use std::{borrow::Cow, fmt};

use chancery_core::{ArtifactId, ContextId, MessageId, Object, PushConfigId, Role, Secret, TaskId, TaskState, Timestamp, json};
use serde::{Deserialize, Deserializer, de};

use super::{
    decode::ReadConfiguration,
    read::{ReadArtifact, ReadArtifactUpdate, ReadMessage, ReadPart, ReadStatus, ReadStatusUpdate, ReadTask},
};
use crate::{json::LenientTime, states};

/// Declares an object and the names of its members, the preferred one first. Other members are
/// ignored.
macro_rules! members {
    ($(#[$doc:meta])* $object:ident { $($field:ident: $type:ty = $name:literal $(| $other:literal)*;)+ }) => {
        $(#[$doc])*
        #[derive(Default)]
        pub(super) struct $object {
            $(pub(super) $field: Option<$type>,)+
        }

        impl<'de> Deserialize<'de> for $object {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                struct Visitor;
                impl<'de> de::Visitor<'de> for Visitor {
                    type Value = $object;
                    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                        f.write_str("an object")
                    }
                    fn visit_map<A: de::MapAccess<'de>>(self, mut map: A) -> Result<$object, A::Error> {
                        $(let mut $field: (Option<$type>, Option<$type>) = (None, None);)+
                        while let Some(Name(name)) = map.next_key()? {
                            match name.as_ref() {
                                $($name => $field.0 = map.next_value()?,
                                $($other => $field.1 = map.next_value()?,)*)+
                                _ => drop(map.next_value::<de::IgnoredAny>()?),
                            }
                        }
                        Ok($object { $($field: $field.0.or($field.1),)+ })
                    }
                }
                deserializer.deserialize_map(Visitor)
            }
        }
    };
}

/// The name of a member, borrowed where the text allows it.
struct Name<'a>(Cow<'a, str>);

impl<'de> Deserialize<'de> for Name<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl<'de> de::Visitor<'de> for Visitor {
            type Value = Name<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("the name of a member")
            }
            fn visit_borrowed_str<E: de::Error>(self, name: &'de str) -> Result<Name<'de>, E> {
                Ok(Name(Cow::Borrowed(name)))
            }
            fn visit_str<E: de::Error>(self, name: &str) -> Result<Name<'de>, E> {
                Ok(Name(Cow::Owned(name.to_owned())))
            }
        }
        deserializer.deserialize_str(Visitor)
    }
}

members! {
    /// SendMessageRequest; the tenant is that of the hosted variant (V03-CARD-012).
    SendMembers {
        tenant: String = "tenant";
        message: ReadMessage = "message" | "request";
        configuration: ReadConfiguration = "configuration";
        metadata: Object = "metadata";
    }
}

members! {
    /// SendMessageConfiguration.
    ConfigurationMembers {
        accepted_output_modes: Vec<String> = "acceptedOutputModes" | "accepted_output_modes";
        push_notification: PushMembers = "pushNotification" | "push_notification";
        history_length: Int = "historyLength" | "history_length";
        blocking: bool = "blocking";
    }
}

members! {
    /// SendMessageResponse and StreamResponse: exactly one member.
    PayloadMembers {
        task: Box<ReadTask> = "task";
        message: Box<ReadMessage> = "message" | "msg";
        status_update: Box<ReadStatusUpdate> = "statusUpdate" | "status_update";
        artifact_update: Box<ReadArtifactUpdate> = "artifactUpdate" | "artifact_update";
    }
}

members! {
    TaskMembers {
        id: TaskId = "id";
        context_id: ContextId = "contextId" | "context_id";
        status: ReadStatus = "status";
        artifacts: Vec<ReadArtifact> = "artifacts";
        history: Vec<ReadMessage> = "history";
        metadata: Object = "metadata";
    }
}

members! {
    StatusMembers {
        state: State = "state";
        message: ReadMessage = "message" | "update";
        timestamp: LenientTime = "timestamp";
    }
}

members! {
    MessageMembers {
        message_id: MessageId = "messageId" | "message_id";
        context_id: ContextId = "contextId" | "context_id";
        task_id: TaskId = "taskId" | "task_id";
        role: Role = "role";
        content: Vec<ReadPart> = "content";
        metadata: Object = "metadata";
        extensions: Vec<String> = "extensions";
        reference_task_ids: Vec<TaskId> = "referenceTaskIds" | "reference_task_ids";
    }
}

members! {
    PartMembers {
        text: String = "text";
        file: FileMembers = "file";
        data: DataMembers = "data";
        metadata: Object = "metadata";
    }
}

members! {
    /// FilePart.
    FileMembers {
        uri: String = "fileWithUri" | "file_with_uri";
        bytes: Base64 = "fileWithBytes" | "file_with_bytes";
        mime_type: String = "mimeType" | "mime_type";
        name: String = "name";
    }
}

members! {
    /// DataPart.
    DataMembers {
        data: Object = "data";
    }
}

members! {
    ArtifactMembers {
        artifact_id: ArtifactId = "artifactId" | "artifact_id";
        name: String = "name";
        description: String = "description";
        parts: Vec<ReadPart> = "parts";
        metadata: Object = "metadata";
        extensions: Vec<String> = "extensions";
    }
}

members! {
    /// TaskStatusUpdateEvent.
    StatusUpdateMembers {
        task_id: TaskId = "taskId" | "task_id";
        context_id: ContextId = "contextId" | "context_id";
        status: ReadStatus = "status";
        last: bool = "final";
        metadata: Object = "metadata";
    }
}

members! {
    /// TaskArtifactUpdateEvent.
    ArtifactUpdateMembers {
        task_id: TaskId = "taskId" | "task_id";
        context_id: ContextId = "contextId" | "context_id";
        artifact: ReadArtifact = "artifact";
        append: bool = "append";
        last_chunk: bool = "lastChunk" | "last_chunk";
        metadata: Object = "metadata";
    }
}

members! {
    /// CreateTaskPushNotificationConfigRequest, TaskPushNotificationConfig and
    /// PushNotificationConfig: peers send any of them, one inside the other (V03-REST-014).
    PushMembers {
        tenant: String = "tenant";
        parent: String = "parent";
        config_id: PushConfigId = "configId" | "config_id";
        config: Box<PushMembers> = "config";
        name: String = "name";
        task_id: TaskId = "taskId" | "task_id";
        push_notification_config: Box<PushMembers> = "pushNotificationConfig" | "push_notification_config";
        id: PushConfigId = "id";
        url: String = "url";
        token: Secret = "token";
        authentication: AuthenticationMembers = "authentication";
    }
}

members! {
    /// AuthenticationInfo.
    AuthenticationMembers {
        schemes: Vec<String> = "schemes";
        credentials: Secret = "credentials";
    }
}

members! {
    /// Every request that names a task or a push config and says little else.
    CallMembers {
        tenant: String = "tenant";
        name: String = "name";
        parent: String = "parent";
        id: TaskId = "id";
        history_length: Int = "historyLength" | "history_length";
        page_size: Int = "pageSize" | "page_size";
        page_token: String = "pageToken" | "page_token";
        metadata: Object = "metadata";
    }
}

members! {
    /// ListTasksRequest. The time has one name in the prose and another in Go's protobuf.
    ListTasksMembers {
        tenant: String = "tenant";
        context_id: ContextId = "contextId" | "context_id";
        status: KnownState = "status";
        page_size: Int = "pageSize" | "page_size";
        page_token: String = "pageToken" | "page_token";
        history_length: Int = "historyLength" | "history_length";
        last_updated_after: Instant = "lastUpdatedAfter" | "last_updated_after" | "lastUpdatedTime" | "last_updated_time";
        include_artifacts: bool = "includeArtifacts" | "include_artifacts";
    }
}

members! {
    /// ListTasksResponse.
    TaskPageMembers {
        tasks: Vec<ReadTask> = "tasks";
        next_page_token: String = "nextPageToken" | "next_page_token";
        total_size: Int = "totalSize" | "total_size";
        page_size: Int = "pageSize" | "page_size";
    }
}

members! {
    /// ListTaskPushNotificationConfigResponse.
    ConfigPageMembers {
        configs: Vec<PushMembers> = "configs";
        next_page_token: String = "nextPageToken" | "next_page_token";
    }
}

/// An `int32` in any spelling of JSON or of a query.
#[derive(Clone, Copy)]
pub(super) struct Int(pub(super) i32);

impl<'de> Deserialize<'de> for Int {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        json::int32_or_zero(deserializer).map(Self)
    }
}

/// The value of a bytes field.
pub(super) struct Base64(pub(super) chancery_core::Bytes);

impl<'de> Deserialize<'de> for Base64 {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl de::Visitor<'_> for Visitor {
            type Value = Base64;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a base64 string")
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<Base64, E> {
                json::from_base64(text).map(Base64).ok_or_else(|| E::custom("not base64"))
            }
        }
        deserializer.deserialize_str(Visitor)
    }
}

/// A state, or the word or number that no version knows.
pub(super) enum State {
    Known(TaskState),
    Unknown(String),
}

impl<'de> Deserialize<'de> for State {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl de::Visitor<'_> for Visitor {
            type Value = State;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a task state such as TASK_STATE_WORKING")
            }
            fn visit_str<E: de::Error>(self, word: &str) -> Result<State, E> {
                Ok(states::read(word).map_or_else(|| State::Unknown(word.to_owned()), State::Known))
            }
            fn visit_i64<E: de::Error>(self, number: i64) -> Result<State, E> {
                Ok(TaskState::from_number(number).map_or_else(|| State::Unknown(number.to_string()), State::Known))
            }
            fn visit_u64<E: de::Error>(self, number: u64) -> Result<State, E> {
                self.visit_i64(i64::try_from(number).unwrap_or(i64::MAX))
            }
        }
        deserializer.deserialize_any(Visitor)
    }
}

/// A state to filter by: one that nobody knows would match nothing, so it is an error.
pub(super) struct KnownState(pub(super) TaskState);

impl<'de> Deserialize<'de> for KnownState {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match State::deserialize(deserializer)? {
            State::Known(state) => Ok(Self(state)),
            State::Unknown(word) => Err(de::Error::custom(format_args!("unknown task state {word}"))),
        }
    }
}

/// A point in time as milliseconds since 1970, as a number or as text, or as a timestamp.
pub(super) struct Instant(pub(super) Timestamp);

impl<'de> Deserialize<'de> for Instant {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl de::Visitor<'_> for Visitor {
            type Value = Instant;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("milliseconds since 1970")
            }
            fn visit_i64<E: de::Error>(self, millis: i64) -> Result<Instant, E> {
                let at = Timestamp::from_unix_millis(millis).map(Instant);
                at.ok_or_else(|| E::invalid_value(de::Unexpected::Signed(millis), &self))
            }
            fn visit_u64<E: de::Error>(self, millis: u64) -> Result<Instant, E> {
                self.visit_i64(i64::try_from(millis).unwrap_or(i64::MAX))
            }
            fn visit_f64<E: de::Error>(self, millis: f64) -> Result<Instant, E> {
                #[allow(clippy::cast_possible_truncation, reason = "what is out of range is no instant either")]
                self.visit_i64(millis as i64)
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<Instant, E> {
                match text.parse() {
                    Ok(millis) => self.visit_i64(millis),
                    Err(_) => Timestamp::parse_lenient(text).map(Instant).map_err(|_| E::invalid_value(de::Unexpected::Str(text), &self)),
                }
            }
        }
        deserializer.deserialize_any(Visitor)
    }
}
