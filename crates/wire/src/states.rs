//! One table: how each dialect spells the states of a task.

use chancery_core::TaskState;

use crate::Dialect;

/// State, in v1.0, in objects with `kind` (v0.2, v0.3), in the JSON of v0.3 protobuf, in v0.1, in
/// the compact dialect.
type Row = (TaskState, &'static str, &'static str, &'static str, &'static str, &'static str);

#[rustfmt::skip]
const TABLE: [Row; 9] = {
    use TaskState as S;
    [
        (S::Unspecified, "TASK_STATE_UNSPECIFIED", "unknown", "TASK_STATE_UNSPECIFIED", "unknown", "WORKING"),
        (S::Submitted, "TASK_STATE_SUBMITTED", "submitted", "TASK_STATE_SUBMITTED", "submitted", "WORKING"),
        (S::Working, "TASK_STATE_WORKING", "working", "TASK_STATE_WORKING", "working", "WORKING"),
        (S::Completed, "TASK_STATE_COMPLETED", "completed", "TASK_STATE_COMPLETED", "completed", "COMPLETED"),
        (S::Failed, "TASK_STATE_FAILED", "failed", "TASK_STATE_FAILED", "failed", "FAILED"),
        (S::Canceled, "TASK_STATE_CANCELED", "canceled", "TASK_STATE_CANCELLED", "canceled", "CANCELED"),
        (S::InputRequired, "TASK_STATE_INPUT_REQUIRED", "input-required", "TASK_STATE_INPUT_REQUIRED", "input-required", "INPUT_REQUIRED"),
        // v0.1 has no word for the last two; a status message says what is meant (CONV-STATE-003).
        (S::Rejected, "TASK_STATE_REJECTED", "rejected", "TASK_STATE_REJECTED", "failed", "REJECTED"),
        (S::AuthRequired, "TASK_STATE_AUTH_REQUIRED", "auth-required", "TASK_STATE_AUTH_REQUIRED", "input-required", "AUTH_REQUIRED"),
    ]
};

/// How a dialect writes a state.
pub(crate) fn write(dialect: Dialect, state: TaskState) -> &'static str {
    // The table holds every state (a test says so), in the order of their numbers.
    let row = &TABLE[usize::try_from(state.number()).unwrap_or(0)];
    match dialect {
        Dialect::V1_0 | Dialect::V1_0Strict => row.1,
        #[cfg(feature = "grpc")]
        Dialect::V1_0Grpc => row.1,
        Dialect::V0_3 | Dialect::V0_3RestKind | Dialect::V0_2 => row.2,
        Dialect::V0_3Rest => row.3,
        #[cfg(feature = "grpc")]
        Dialect::V0_3Grpc => row.3,
        Dialect::V0_1 => row.4,
        Dialect::Compact => row.5,
    }
}

/// Reads a state in any spelling that any dialect uses; `None` for words that nobody uses.
pub(crate) fn read(word: &str) -> Option<TaskState> {
    if let Some(state) = TaskState::from_name(word) {
        return Some(state);
    }
    if word == "TASK_STATE_CANCELLED" {
        return Some(TaskState::Canceled);
    }
    if let Some(row) = TABLE.iter().find(|row| row.2 == word) {
        return Some(row.0);
    }
    // The compact dialect drops the prefix and keeps the rest.
    TABLE.iter().find(|row| row.1.strip_prefix("TASK_STATE_") == Some(word)).map(|row| row.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_holds_every_state_in_order() {
        assert!(TABLE.iter().map(|row| &row.0).eq(TaskState::ALL));
    }

    #[test]
    fn a_state_is_read_in_every_spelling() {
        for word in ["TASK_STATE_CANCELED", "TASK_STATE_CANCELLED", "canceled", "CANCELED"] {
            assert_eq!(read(word), Some(TaskState::Canceled), "{word}");
        }
        assert_eq!(read("paused"), None);
    }
}
