//! The log of a task as bytes: what is stored, and how it is read again for ever.
//!
//! A payload begins with its format number, which is 1. What follows is a [compact binary encoding](terse) of v1.0 JSON:
//!
//! - a row: the entries `{"event": …, "message": …, "record": …, "notes": …}` that were committed together. `notes` is there
//!   only when something is noted, as what changes.
//! - a snapshot: a byte that says who sees what ([`Audience`]), then `{"task": …, "record": …, "notes": …}`. The snapshot of a
//!   finished task is its document: answers are made from it without decoding it.

use std::{borrow::Cow, cell::Cell};

use chancery_core::{Bytes, ContextId, Event, Message, Notes, Record, Remarks, Seq, Task, TaskId};
use serde::{Deserialize, Serialize, de::DeserializeOwned, ser::SerializeStruct as _};

use crate::{
    delegation::view,
    state::{self, Entry},
    store::{Error, Result, Row, Stored},
    terse::{self, Artifacts, Ids},
};

const FORMAT: u8 = 1;

/// Who sees what of a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Audience {
    /// Everybody sees what is stored.
    Alike = 0,
    /// The task was handed over or has notes: what a caller sees is a [view] of what is stored.
    Differs = 1,
}

/// An entry as it is stored.
struct Written<'a>(&'a Entry);

impl Serialize for Written<'_> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Entry { event, message, remarks } = self.0;
        let mut entry = serializer.serialize_struct("Entry", 4)?;
        entry.serialize_field("event", event)?;
        if let Some(message) = message {
            entry.serialize_field("message", message)?;
        }
        if let Event::Task(task) = event {
            entry.serialize_field("record", &task.record)?;
        }
        if let Some(remarks) = remarks {
            entry.serialize_field("notes", remarks)?;
        }
        entry.end()
    }
}

#[derive(Deserialize)]
struct StoredEntry {
    event: Event,
    #[serde(default)]
    message: Option<Box<Message>>,
    /// Beside a new task only.
    #[serde(default)]
    record: Option<Record>,
    #[serde(default)]
    notes: Option<Box<Remarks>>,
}

#[derive(Serialize, Deserialize)]
struct Snapshot<'a> {
    task: Cow<'a, Task>,
    record: Record,
    #[serde(default, skip_serializing_if = "Notes::is_empty")]
    notes: Notes,
}

/// Makes a payload where there is room already, so that the payload itself is exactly as large as it must be.
fn draft<T: Serialize>(front: &[u8], ids: Ids<'_>, value: &T) -> Result<Bytes> {
    /// What a thread keeps at the most for its next payload.
    const KEPT: usize = 64 * 1024;
    thread_local!(static DRAFT: Cell<Vec<u8>> = const { Cell::new(Vec::new()) });
    let mut draft = DRAFT.take();
    draft.clear();
    draft.extend_from_slice(front);
    let written = terse::write(&mut draft, ids, value).map_err(corrupt);
    let bytes = written.map(|()| Bytes::copy_from_slice(&draft));
    if draft.capacity() <= KEPT {
        DRAFT.set(draft);
    }
    bytes
}

fn corrupt(error: impl Into<chancery_core::BoxError>) -> Error {
    Error::Corrupt(error.into())
}

/// What stands behind the number of the format.
fn body(payload: &[u8]) -> Result<&[u8]> {
    match payload.split_first() {
        Some((&FORMAT, body)) => Ok(body),
        Some((format, _)) => Err(corrupt(format!("format {format} is newer than this program"))),
        None => Err(corrupt("an empty payload")),
    }
}

fn read<T: DeserializeOwned>(body: &[u8]) -> Result<T> {
    terse::read(body).map_err(corrupt)
}

/// The bytes of entries of a task that are committed together.
///
/// # Errors
/// Does not happen for events that are legal.
pub(crate) fn write_entries(entries: &[Entry], task: &TaskId, context: &ContextId) -> Result<Bytes> {
    struct All<'a>(&'a [Entry]);
    impl Serialize for All<'_> {
        fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            serializer.collect_seq(self.0.iter().map(Written))
        }
    }
    draft(&[FORMAT], Ids { task: task.as_str(), context: context.as_str() }, &All(entries))
}

/// The v1.0 JSON of every event, in one piece of memory.
pub(crate) fn texts(entries: &[Entry]) -> Vec<Bytes> {
    let mut whole = Vec::with_capacity(entries.len() * 384);
    let ends: Vec<_> = entries
        .iter()
        .map(|entry| {
            // As in a payload: it does not fail.
            drop(chancery_core::json::append(&entry.event, &mut whole));
            whole.len()
        })
        .collect();
    let (whole, mut begin) = (Bytes::from(whole), 0);
    ends.into_iter().map(|end| whole.slice(std::mem::replace(&mut begin, end)..end)).collect()
}

/// The entries of a row, each with its place.
pub(crate) fn read_entries(row: &Row) -> Result<Vec<(Seq, Entry)>> {
    let stored: Vec<StoredEntry> = read(body(&row.payload)?)?;
    let mut seq = row.first;
    let entries = stored.into_iter().map(|stored| {
        let mut event = stored.event;
        if let (Event::Task(task), Some(record)) = (&mut event, stored.record) {
            task.record = record;
        }
        let entry = (seq, Entry { event, message: stored.message, remarks: stored.notes });
        seq = seq.next();
        entry
    });
    Ok(entries.collect())
}

/// The bytes of a whole task.
///
/// # Errors
/// Does not happen for tasks that came to be by legal events.
pub(crate) fn write_snapshot(task: &Task) -> Result<Bytes> {
    let ids = Ids { task: task.id.as_str(), context: task.context_id.as_str() };
    let audience = if view::is_plain(task) { Audience::Alike } else { Audience::Differs };
    draft(&[FORMAT, audience as u8], ids, &Snapshot { task: Cow::Borrowed(task), record: task.record, notes: task.notes.clone() })
}

/// The task of a snapshot.
pub(crate) fn read_snapshot(payload: &[u8]) -> Result<Task> {
    let snapshot: Snapshot<'static> = read(body(payload)?.get(1..).unwrap_or_default())?;
    let mut task = snapshot.task.into_owned();
    (task.record, task.notes) = (snapshot.record, snapshot.notes);
    Ok(task)
}

/// Whether everybody sees what is in a snapshot, so that [`append_json`] may be asked for it.
pub(crate) fn is_seen_alike(payload: &[u8]) -> bool {
    body(payload).is_ok_and(|body| body.first() == Some(&(Audience::Alike as u8)))
}

/// Appends the v1.0 JSON of the task of a snapshot, without decoding it.
pub(crate) fn append_json(payload: &[u8], artifacts: Artifacts, out: &mut Vec<u8>) -> Result<()> {
    terse::append_task(body(payload)?.get(1..).unwrap_or_default(), artifacts, out).map_err(corrupt)
}

/// A stored task, with the rest of its log folded on top of its snapshot.
pub(crate) fn fold(stored: &Stored) -> Result<Task> {
    let mut task = match &stored.snapshot {
        Some((_, payload)) => read_snapshot(payload)?,
        None => Task::default(),
    };
    for row in &stored.rows {
        for (_, entry) in read_entries(row)? {
            state::apply(&mut task, &entry).map_err(corrupt)?;
        }
    }
    Ok(task)
}

#[cfg(test)]
mod tests {
    use chancery_core::{Binding, FileBytes, Origin, TaskState, Timestamp, Version};

    use super::*;
    use crate::store::TaskFacts;

    /// A payload as it stands in stores out there. New formats add files; these never change.
    fn payload(name: &str) -> Bytes {
        let digits = std::fs::read(path(name)).unwrap();
        let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap();
        digits.trim_ascii_end().chunks(2).map(byte).collect::<Vec<_>>().into()
    }

    fn path(name: &str) -> String {
        format!("{}/../../vectors/stored/{name}", env!("CARGO_MANIFEST_DIR"))
    }

    fn hex(bytes: &[u8]) -> String {
        bytes.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    fn stored(snapshot: Option<Bytes>, rows: Vec<Row>) -> Stored {
        let head = TaskFacts::new("t", "c", TaskState::Completed, Timestamp::EPOCH, Seq::new(6));
        Stored::new(head, snapshot.map(|snapshot| (Seq::new(6), snapshot)), rows, None)
    }

    /// The task that every stored form means.
    fn task() -> Task {
        let mut task: Task = serde_json::from_slice(&std::fs::read(path("task.json")).unwrap()).unwrap();
        let created = Timestamp::parse("2026-03-02T09:15:07.412Z").unwrap();
        let origin = Origin::new(Version::V0_3, Binding::HttpJson).file_bytes(FileBytes::Single);
        task.record = Record::new(origin).times(created, created);
        task
    }

    #[test]
    fn a_row_is_read_for_ever_and_written_as_it_was() {
        let row = Row::new(Seq::new(1), Seq::new(6), payload("row-1.hex"));
        assert_eq!(fold(&stored(None, vec![row.clone()])).unwrap(), task());
        let entries = read_entries(&row).unwrap();
        assert_eq!(entries.iter().map(|(seq, _)| seq.get()).collect::<Vec<_>>(), [1, 2, 3, 4, 5, 6]);
        let entries: Vec<_> = entries.into_iter().map(|(_, entry)| entry).collect();
        let task = task();
        assert_eq!(hex(&write_entries(&entries, &task.id, &task.context_id).unwrap()), hex(&row.payload));
        assert_eq!(texts(&entries), entries.iter().map(|entry| serde_json::to_vec(&entry.event).unwrap()).collect::<Vec<_>>());
    }

    #[test]
    fn a_snapshot_is_read_for_ever_and_written_as_it_was() {
        let snapshot = payload("snapshot-1.hex");
        assert_eq!(fold(&stored(Some(snapshot.clone()), Vec::new())).unwrap(), task());
        assert_eq!(hex(&write_snapshot(&task()).unwrap()), hex(&snapshot));
        assert!(is_seen_alike(&snapshot));
    }

    #[test]
    fn a_snapshot_says_whether_all_see_the_same() {
        let mut noted = task();
        noted.notes.apply(&Remarks::default().put("calls/1", &"open"));
        let snapshot = write_snapshot(&noted).unwrap();
        assert!(!is_seen_alike(&snapshot));
        assert_eq!(read_snapshot(&snapshot).unwrap(), noted);
    }

    #[test]
    fn what_cannot_be_read_is_corrupt() {
        for payload in [&b""[..], b"1[]", b"\x02", b"\x01", b"\x01\x80\x80", b"\x01\x80\x80\x04", b"\x01\x80\x80\x05\x03"] {
            let row = Row::new(Seq::new(1), Seq::new(1), Bytes::from_static(payload));
            assert!(matches!(fold(&stored(None, vec![row])), Err(Error::Corrupt(_))), "{payload:?}");
            assert!(matches!(append_json(payload, Artifacts::AsStored, &mut Vec::new()), Err(Error::Corrupt(_))), "{payload:?}");
        }
    }
}
