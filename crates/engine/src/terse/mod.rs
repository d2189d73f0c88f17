//! Rows and snapshots in few bytes: the JSON of the model, written without its text.
//!
//! Whatever serializes can be written, and is read as it was: nulls, booleans, numbers, texts, bytes, lists and maps,
//! each behind one byte that says what follows. Members and values that the protocol itself names are one byte, and so
//! are the ids of the task and its conversation, which a row repeats in every event. A UUID is its sixteen bytes. Times and
//! inline bytes are written as they are, not as text.
//!
//! ```text
//! 00 null   01 false   02 true    03 end of a list or map   04 list   05 map
//! 06 number of 64 bits, unsigned  07 the same, negative     08 float  09 number of 128 bits
//! 0a the task    0b the conversation    0c a UUID   0d bytes    0e text
//! 10..=7f  word 0, 1, 2 …         80..=ff  text of 0 to 127 bytes
//! ```
//!
//! Words are numbered for ever: new ones go to the end.

mod json;
mod read;
mod write;

use std::fmt;

use serde::{de, ser};

pub(crate) use self::{
    json::{Artifacts, append_task},
    read::read,
    write::write,
};

const NULL: u8 = 0x00;
const FALSE: u8 = 0x01;
const TRUE: u8 = 0x02;
const END: u8 = 0x03;
const LIST: u8 = 0x04;
const MAP: u8 = 0x05;
const NUMBER: u8 = 0x06;
const NEGATIVE: u8 = 0x07;
const FLOAT: u8 = 0x08;
const LARGE: u8 = 0x09;
const TASK: u8 = 0x0a;
const CONTEXT: u8 = 0x0b;
const UUID: u8 = 0x0c;
/// How many bytes a UUID has.
const UUID_BYTES: usize = 16;
const BYTES: u8 = 0x0d;
const TEXT: u8 = 0x0e;
const WORD: u8 = 0x10;
const SHORT: u8 = 0x80;

/// Lists and maps within each other, as deep as JSON is read.
const DEPTH: u8 = 128;

const WORDS: [&str; 60] = [
    "event",
    "message",
    "record",
    "task",
    "statusUpdate",
    "artifactUpdate",
    "id",
    "contextId",
    "taskId",
    "status",
    "state",
    "timestamp",
    "artifacts",
    "artifact",
    "artifactId",
    "history",
    "metadata",
    "messageId",
    "role",
    "parts",
    "text",
    "raw",
    "url",
    "data",
    "filename",
    "mediaType",
    "name",
    "description",
    "extensions",
    "referenceTaskIds",
    "append",
    "lastChunk",
    "origin",
    "version",
    "binding",
    "fileBytes",
    "created",
    "updated",
    "ROLE_USER",
    "ROLE_AGENT",
    "TASK_STATE_SUBMITTED",
    "TASK_STATE_WORKING",
    "TASK_STATE_COMPLETED",
    "TASK_STATE_FAILED",
    "TASK_STATE_CANCELED",
    "TASK_STATE_INPUT_REQUIRED",
    "TASK_STATE_REJECTED",
    "TASK_STATE_AUTH_REQUIRED",
    "1.0",
    "0.3",
    "0.2",
    "0.1",
    "compact",
    "JSONRPC",
    "HTTP+JSON",
    "GRPC",
    "double",
    "single",
    "text/plain",
    "notes",
];

const LONGEST: usize = 25;

/// Where each word is: its number plus one, or 0.
const PLACES: [u8; 512] = {
    let mut places = [0; 512];
    let mut number = 0;
    while number < WORDS.len() {
        let place = place(WORDS[number].as_bytes());
        assert!(places[place] == 0, "two words have one place: search for another factor");
        #[allow(clippy::cast_possible_truncation, reason = "there are fewer than 112 words")]
        {
            places[place] = number as u8 + 1;
        }
        number += 1;
    }
    places
};

/// The place of a text that is not empty: nine bits of a product. The factor was searched for one that gives every
/// word a place of its own.
#[inline(always)]
const fn place(text: &[u8]) -> usize {
    let last = text.len() - 1;
    #[allow(clippy::cast_possible_truncation, reason = "a word is short")]
    let mark = u32::from_le_bytes([text[0], text[last], text[text.len() * 2 / 3], text.len() as u8]);
    (mark.wrapping_mul(0xdcf4_bb99) >> 23) as usize
}

/// The number of a word. Of a text that the compiler knows, it knows the number too.
#[inline(always)]
fn word(text: &str) -> Option<u8> {
    if text.is_empty() || text.len() > LONGEST {
        return None;
    }
    let number = PLACES[place(text.as_bytes())].checked_sub(1)?;
    (WORDS[usize::from(number)] == text).then_some(number)
}

/// What the rows of a task repeat.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ids<'a> {
    /// The id of the task.
    pub(crate) task: &'a str,
    /// The id of its conversation.
    pub(crate) context: &'a str,
}

/// Why a value cannot be written or read.
#[derive(Debug)]
pub(crate) struct Failed(String);

impl Failed {
    fn new(why: &str) -> Self {
        Self(why.to_owned())
    }
}

impl fmt::Display for Failed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Failed {}

impl ser::Error for Failed {
    fn custom<T: fmt::Display>(why: T) -> Self {
        Self(why.to_string())
    }
}

impl de::Error for Failed {
    fn custom<T: fmt::Display>(why: T) -> Self {
        Self(why.to_string())
    }
}

#[cfg(test)]
mod tests {
    use chancery_core::{Artifact, Message, Part, Task, TaskState, TaskStatus, Timestamp};
    use serde::Serialize;
    use serde_json::{Value, json};

    use super::*;

    const TASK_ID: &str = "019537c0-7a3e-7c11-9e0a-6a1d5f3f8b01";

    fn written<T: Serialize>(task: &str, context: &str, value: &T) -> Vec<u8> {
        let mut out = Vec::new();
        write(&mut out, Ids { task, context }, value).unwrap();
        out
    }

    #[test]
    fn every_word_is_found_and_no_other() {
        for (number, text) in WORDS.iter().enumerate() {
            assert!(text.len() <= LONGEST, "{text}");
            assert_eq!(word(text).map(usize::from), Some(number), "{text}");
            assert_eq!(serde_json::to_string(text).unwrap(), format!("\"{text}\""), "a word is written without escapes");
        }
        for text in ["", "events", "Event", "ROLE_", "x", "TASK_STATE_INPUT_REQUIRED_", TASK_ID] {
            assert_eq!(word(text), None, "{text}");
        }
    }

    #[test]
    fn a_uuid_in_lower_case_is_sixteen_bytes_and_nothing_else_is() {
        for (text, length) in [(TASK_ID, 16), ("019537C0-7a3e-7c11-9e0a-6a1d5f3f8b01", 36), ("019537c0-7a3e-7c11-9e0a-6a1d5f3f8b0g", 36)] {
            let out = written("", "", &text);
            assert_eq!((read::<String>(&out).unwrap().as_str(), out.len()), (text, 2 + 1 + length));
        }
    }

    #[test]
    fn any_json_is_read_as_it_was_written() {
        let long = "ä".repeat(200);
        for value in [
            json!(null),
            json!([true, false, 0, 1, 127, 128, u64::MAX, -1, i64::MIN, 0.0, -0.5, 1e300]),
            json!({"": "", "text": "text", "x": TASK_ID, TASK_ID: "019537C0-7A3E-7C11-9E0A-6A1D5F3F8B02", "long": long}),
            json!({"nested": [[[{"a": {}}]], []], "uuid": "6fa459ea-ee8a-3ca4-894e-db77e160355e", "near": "6fa459ea-ee8a-3ca4-894e-db77e160355g"}),
        ] {
            for (task, context) in [(TASK_ID, "c"), ("", ""), ("text", "x"), (&*long, "status")] {
                let bytes = written(task, context, &value);
                assert_eq!(read::<Value>(&bytes).unwrap(), value);
            }
        }
    }

    #[test]
    fn a_task_keeps_its_times_and_bytes_and_takes_little_room() {
        let time = Timestamp::from_unix(1_772_442_907, 412_345_678).unwrap();
        for time in [time, time.to_millis(), Timestamp::MIN, Timestamp::EPOCH] {
            let mut task = Task::new(TASK_ID, "c-1", TaskStatus::new(TaskState::Working).at(time));
            task.history.push(Message::user(Part::raw(vec![0, 255, 7])));
            let bytes = written(TASK_ID, "c-1", &task);
            assert_eq!(read::<Task>(&bytes).unwrap(), task);
            assert!(bytes.len() < 90, "{}", bytes.len());
        }
    }

    /// What a snapshot is, as far as a transcoder cares.
    #[derive(Serialize)]
    struct Whole<'a> {
        task: &'a Task,
        record: chancery_core::Record,
    }

    fn transcoded(task: &Task, artifacts: Artifacts) -> String {
        let bytes = written(task.id.as_str(), task.context_id.as_str(), &Whole { task, record: task.record });
        let mut out = b"before ".to_vec();
        append_task(&bytes, artifacts, &mut out).unwrap();
        String::from_utf8(out).unwrap().strip_prefix("before ").unwrap().to_owned()
    }

    /// Tasks with every member there or not, and with values of every kind.
    fn tasks() -> impl Iterator<Item = Task> {
        let words = "é \"artifacts\":[] \u{2028} \\ \u{1}";
        let ids = [(TASK_ID, "019537c0-7a3e-7c11-9e0a-6a1d5f3f8b02"), ("t\"\n", words), ("text", "status"), ("", "")];
        (0..64).map(move |n| {
            let has = |bit: usize| n >> bit & 1 > 0;
            let (id, context) = ids[n % 4];
            let mut task = Task::new(id, context, TaskStatus::new(TaskState::Completed));
            task.status.timestamp = has(2).then(|| Timestamp::from_unix(1_772_442_907, 412_345_678).unwrap());
            task.status.message = has(3).then(|| Message::agent(words));
            let mut raw = Artifact::new(Part::raw(vec![0, 255, 7]));
            raw.parts.push(Part::data(json!([u64::MAX, i64::MIN, -0.5, 1e300, true, null, {"": [], "id": {}, TASK_ID: id}])));
            task.artifacts.extend(has(4).then_some(raw));
            task.history.extend(has(5).then(|| Message::user("x".repeat(300))));
            task.metadata.extend(has(3).then(|| ("artifacts".to_owned(), json!([words, context]))));
            task
        })
    }

    /// V10-LIST-001: in a list, artifacts are there when they were asked for, and only then.
    #[test]
    fn the_json_of_a_task_is_what_the_task_serializes_to() {
        for task in tasks() {
            assert_eq!(transcoded(&task, Artifacts::AsStored), serde_json::to_string(&task).unwrap());
            let mut listed = Vec::new();
            task.append_json(true, &mut listed).unwrap();
            assert_eq!(transcoded(&task, Artifacts::Always).as_bytes(), listed);
            let mut without = task.clone();
            without.artifacts.clear();
            assert_eq!(transcoded(&task, Artifacts::Omitted), serde_json::to_string(&without).unwrap());
        }
    }

    #[test]
    fn what_is_transcoded_after_a_cut_or_a_change_is_refused_or_is_json() {
        let task = tasks().last().unwrap();
        let whole = written(task.id.as_str(), task.context_id.as_str(), &Whole { task: &task, record: task.record });
        for place in 0..whole.len() {
            for byte in [0x00, 0x03, 0x04, 0x05, 0x09, 0x0d, 0x0e, 0x10, 0x7f, 0x80, 0xff] {
                let mut changed = whole.clone();
                changed[place] = byte;
                for artifacts in [Artifacts::AsStored, Artifacts::Omitted] {
                    let mut out = Vec::new();
                    if append_task(&changed, artifacts, &mut out).is_ok() {
                        serde_json::from_slice::<Value>(&out).unwrap();
                    }
                }
            }
            assert!(read::<Value>(&whole[..place]).is_err());
        }
        let deep = [&[SHORT, SHORT, MAP, WORD + 3, MAP, WORD + 16][..], &[LIST; 1_000]].concat();
        assert_eq!(append_task(&deep, Artifacts::AsStored, &mut Vec::new()).unwrap_err().to_string(), "it is too deep");
    }

    #[test]
    fn what_was_cut_or_changed_is_refused_and_never_panics() {
        let mut task = Task::new(TASK_ID, "c-1", TaskStatus::new(TaskState::Working).at(Timestamp::EPOCH));
        task.metadata.insert("k".to_owned(), json!({"a": [1, "b", null, 2.5, -3]}));
        let whole = written(TASK_ID, "c-1", &task);
        for length in 0..whole.len() {
            assert!(read::<Task>(&whole[..length]).is_err(), "{length}");
        }
        for place in 0..whole.len() {
            for byte in 0..=255 {
                let mut changed = whole.clone();
                changed[place] = byte;
                // It may still mean something; it must not do harm.
                drop(read::<Task>(&changed));
            }
        }
        assert!(read::<Task>(&[&whole[..], &[NULL]].concat()).is_err());
        let deep = [&[SHORT, SHORT][..], &[LIST; 1_000]].concat();
        assert_eq!(read::<Value>(&deep).unwrap_err().to_string(), "it is too deep");
    }
}
