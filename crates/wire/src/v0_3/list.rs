//! `tasks/list`: not in v0.3.0, but in the drafts after it and in peers that followed them.

use std::fmt;

use chancery_core::{ContextId, ListTasks, Result, Task, TaskPage, TaskState, Timestamp, json as proto_json};
use serde::{Deserialize, Deserializer, Serialize, de};

use super::{
    each::Each,
    spelling::read,
    task::{ReadTask, WriteTask},
};
use crate::{Dialect, json, states};

/// Reads the params.
pub(super) fn decode(json: &[u8]) -> Result<ListTasks> {
    #[derive(Deserialize, Default)]
    #[serde(rename_all = "camelCase", default)]
    struct Members {
        tenant: Option<String>,
        #[serde(alias = "context_id", deserialize_with = "proto_json::non_empty")]
        context_id: Option<ContextId>,
        status: Option<ReadState>,
        #[serde(alias = "page_size", deserialize_with = "proto_json::int32")]
        page_size: Option<i32>,
        #[serde(alias = "page_token")]
        page_token: Option<String>,
        #[serde(alias = "history_length", deserialize_with = "proto_json::int32")]
        history_length: Option<i32>,
        #[serde(alias = "last_updated_after")]
        last_updated_after: Option<Millis>,
        #[serde(alias = "include_artifacts")]
        include_artifacts: Option<bool>,
    }
    let members: Members = read(json)?;
    let mut list = ListTasks::default();
    list.tenant = members.tenant.unwrap_or_default();
    list.context_id = members.context_id;
    list.status = members.status.map(|state| state.0).unwrap_or_default();
    list.page_size = members.page_size;
    list.page_token = members.page_token.unwrap_or_default();
    // Unlike anywhere else in v0.3, nothing said means no history.
    list.history_length = Some(members.history_length.unwrap_or(0));
    list.status_timestamp_after = members.last_updated_after.map(|at| at.0);
    list.include_artifacts = members.include_artifacts;
    Ok(list)
}

/// Writes the params.
pub(super) fn encode(list: &ListTasks) -> Result<Vec<u8>> {
    #[derive(Serialize)]
    #[serde(rename_all = "camelCase")]
    struct Members<'a> {
        #[serde(skip_serializing_if = "str::is_empty")]
        tenant: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        context_id: Option<&'a ContextId>,
        #[serde(skip_serializing_if = "Option::is_none")]
        status: Option<&'static str>,
        #[serde(skip_serializing_if = "Option::is_none")]
        page_size: Option<i32>,
        #[serde(skip_serializing_if = "str::is_empty")]
        page_token: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        history_length: Option<i32>,
        #[serde(skip_serializing_if = "Option::is_none")]
        last_updated_after: Option<i64>,
        #[serde(skip_serializing_if = "Option::is_none")]
        include_artifacts: Option<bool>,
    }
    json::write(&Members {
        tenant: &list.tenant,
        context_id: list.context_id.as_ref(),
        status: (list.status != TaskState::Unspecified).then(|| states::write(Dialect::V0_3, list.status)),
        page_size: list.page_size,
        page_token: &list.page_token,
        history_length: list.history_length,
        last_updated_after: list.status_timestamp_after.map(Timestamp::unix_millis),
        include_artifacts: list.include_artifacts,
    })
}

/// Reads a page.
pub(super) fn decode_page(json: &[u8]) -> Result<TaskPage> {
    #[derive(Deserialize, Default)]
    #[serde(rename_all = "camelCase", default)]
    struct Members {
        tasks: Option<Vec<ReadTask>>,
        #[serde(alias = "total_size", deserialize_with = "proto_json::int32_or_zero")]
        total_size: i32,
        #[serde(alias = "page_size", deserialize_with = "proto_json::int32_or_zero")]
        page_size: i32,
        #[serde(alias = "next_page_token")]
        next_page_token: Option<String>,
    }
    let members: Members = read(json)?;
    let tasks = members.tasks.unwrap_or_default().into_iter().map(|task| task.0).collect();
    let mut page = TaskPage::new(tasks, members.page_size, members.total_size).next(members.next_page_token.unwrap_or_default());
    page.with_artifacts = page.tasks.iter().any(|task| !task.artifacts.is_empty());
    Ok(page)
}

/// Writes a page.
pub(super) fn encode_page(page: &TaskPage) -> Result<Vec<u8>> {
    #[derive(Serialize)]
    #[serde(rename_all = "camelCase")]
    struct Members<'a> {
        tasks: Each<'a, Task, WriteTask<'a>>,
        total_size: i32,
        page_size: i32,
        next_page_token: &'a str,
    }
    json::write(&Members {
        tasks: Each(&page.tasks, WriteTask::of),
        total_size: page.total_size,
        page_size: page.page_size,
        next_page_token: &page.next_page_token,
    })
}

/// A state to filter by: unlike in an answer, one that nobody knows is an error.
struct ReadState(TaskState);

impl<'de> Deserialize<'de> for ReadState {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let word = String::deserialize(deserializer)?;
        states::read(&word).map(Self).ok_or_else(|| de::Error::custom(format_args!("unknown task state {word}")))
    }
}

/// Milliseconds since 1970, or a timestamp.
struct Millis(Timestamp);

impl<'de> Deserialize<'de> for Millis {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Instant;
        impl de::Visitor<'_> for Instant {
            type Value = Millis;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("milliseconds since 1970")
            }
            fn visit_i64<E: de::Error>(self, millis: i64) -> Result<Millis, E> {
                Timestamp::from_unix_millis(millis).map(Millis).ok_or_else(|| E::invalid_value(de::Unexpected::Signed(millis), &self))
            }
            fn visit_u64<E: de::Error>(self, millis: u64) -> Result<Millis, E> {
                self.visit_i64(i64::try_from(millis).unwrap_or(i64::MAX))
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<Millis, E> {
                // A query has only text.
                match text.parse() {
                    Ok(millis) => self.visit_i64(millis),
                    Err(_) => Timestamp::parse_lenient(text).map(Millis).map_err(E::custom),
                }
            }
        }
        deserializer.deserialize_any(Instant)
    }
}
