//! The log of a task as bytes: what is stored, and how it is read again for ever.
//!
//! Each payload begins with its format number. Format 1 is JSON: a row is an array of entries
//! `{"event": …, "message": …, "record": …, "notes": …}`, a snapshot is `{"task": …, "record": …, "notes": …}`, both
//! with the v1.0 forms inside; `notes` is there only when something is noted, in a row as what changes. Format 3 is the
//! same in few bytes ([`terse`]), and what is written. Format 2 was JSON without what it repeats ([`pack`](crate::pack)).

use std::{borrow::Cow, cell::Cell};

use chancery_core::{Bytes, ContextId, Event, Message, Notes, Record, Remarks, Seq, Task, TaskId};
use serde::{Deserialize, Serialize, de::DeserializeOwned, ser::SerializeStruct as _};

use crate::{
    pack::unpack,
    state::{self, Entry},
    store::{Error, Result, Row, Stored},
    terse::{self, Ids},
};

const PLAIN: u8 = b'1';
const PACKED: u8 = b'2';
const TERSE: u8 = b'3';

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
fn draft<T: Serialize>(ids: Ids<'_>, value: &T) -> Bytes {
    /// What a thread keeps at the most for its next payload.
    const KEPT: usize = 64 * 1024;
    thread_local!(static DRAFT: Cell<Vec<u8>> = const { Cell::new(Vec::new()) });
    let mut draft = DRAFT.take();
    draft.clear();
    draft.push(TERSE);
    if terse::write(&mut draft, ids, value).is_err() {
        // Whatever has no terse form has this one.
        draft.clear();
        draft.push(PLAIN);
        // Writing to memory does not fail, and all keys of the model are strings.
        drop(serde_json::to_writer(&mut draft, value));
    }
    let bytes = Bytes::copy_from_slice(&draft);
    if draft.capacity() <= KEPT {
        DRAFT.set(draft);
    }
    bytes
}

fn read<T: DeserializeOwned>(payload: &[u8]) -> Result<T> {
    let json = match payload.split_first() {
        Some((&PLAIN, json)) => Cow::Borrowed(json),
        Some((&PACKED, packed)) => unpack(packed).ok_or_else(|| Error::Corrupt("a packed payload that cannot be unpacked".into()))?.into(),
        Some((&TERSE, bytes)) => return terse::read(bytes).map_err(|error| Error::Corrupt(error.into())),
        Some((format, _)) => return Err(Error::Corrupt(format!("format {format} is newer than this program").into())),
        None => return Err(Error::Corrupt("an empty payload".into())),
    };
    serde_json::from_slice(&json).map_err(|error| Error::Corrupt(error.into()))
}

/// The bytes of entries of a task that are committed together.
pub(crate) fn write_entries(entries: &[Entry], task: &TaskId, context: &ContextId) -> Bytes {
    struct All<'a>(&'a [Entry]);
    impl Serialize for All<'_> {
        fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            serializer.collect_seq(self.0.iter().map(Written))
        }
    }
    draft(Ids { task: task.as_str(), context: context.as_str() }, &All(entries))
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
    let stored: Vec<StoredEntry> = read(&row.payload)?;
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
pub(crate) fn write_snapshot(task: &Task) -> Bytes {
    let ids = Ids { task: task.id.as_str(), context: task.context_id.as_str() };
    draft(ids, &Snapshot { task: Cow::Borrowed(task), record: task.record, notes: task.notes.clone() })
}

/// A stored task, with the rest of its log folded on top of its snapshot.
pub(crate) fn fold(stored: &Stored) -> Result<Task> {
    let mut task = match &stored.snapshot {
        Some((_, payload)) => {
            let snapshot: Snapshot<'static> = read(payload)?;
            let mut task = snapshot.task.into_owned();
            (task.record, task.notes) = (snapshot.record, snapshot.notes);
            task
        }
        None => Task::default(),
    };
    for row in &stored.rows {
        for (_, entry) in read_entries(row)? {
            state::apply(&mut task, &entry).map_err(|error| Error::Corrupt(error.into()))?;
        }
    }
    Ok(task)
}

#[cfg(test)]
mod tests {
    use chancery_core::{Binding, FileBytes, Origin, TaskState, Timestamp, Version};

    use super::*;
    use crate::store::Head;

    /// A payload as it stands in stores out there. New formats add files; these never change.
    fn payload(name: &str) -> Bytes {
        let path = format!("{}/../../vectors/stored/{name}", env!("CARGO_MANIFEST_DIR"));
        std::fs::read_to_string(path).unwrap().trim_end().to_owned().into()
    }

    /// The same, of a format that is not text.
    fn from_hex(name: &str) -> Bytes {
        let digits = payload(name);
        let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap();
        digits.chunks(2).map(byte).collect::<Vec<_>>().into()
    }

    fn hex(bytes: &[u8]) -> String {
        bytes.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    fn stored(snapshot: Option<Bytes>, rows: Vec<Row>) -> Stored {
        let head = Head::new("t", "c", TaskState::Completed, Timestamp::EPOCH, Seq::new(6));
        Stored::new(head, snapshot.map(|snapshot| (Seq::new(6), snapshot)), rows, None)
    }

    /// The task that every stored form means.
    fn task() -> Task {
        let mut task: Task = serde_json::from_slice(&payload("task.json")).unwrap();
        let created = Timestamp::parse("2026-03-02T09:15:07.412Z").unwrap();
        let origin = Origin::new(Version::V0_3, Binding::HttpJson).file_bytes(FileBytes::Single);
        task.record = Record::new(origin).times(created, created);
        task
    }

    #[test]
    fn a_row_of_format_1_is_read_for_ever() {
        let row = Row::new(Seq::new(1), Seq::new(6), payload("row-1"));
        assert_eq!(fold(&stored(None, vec![row.clone()])).unwrap(), task());
        let entries = read_entries(&row).unwrap();
        assert_eq!(entries.iter().map(|(seq, _)| seq.get()).collect::<Vec<_>>(), [1, 2, 3, 4, 5, 6]);
    }

    #[test]
    fn a_row_of_format_2_is_read_for_ever() {
        let row = Row::new(Seq::new(1), Seq::new(6), payload("row-2"));
        assert_eq!(fold(&stored(None, vec![row])).unwrap(), task());
    }

    #[test]
    fn a_row_is_written_in_format_3_and_read_for_ever() {
        let row = Row::new(Seq::new(1), Seq::new(6), from_hex("row-3.hex"));
        assert_eq!(fold(&stored(None, vec![row.clone()])).unwrap(), task());
        let entries: Vec<_> = read_entries(&row).unwrap().into_iter().map(|(_, entry)| entry).collect();
        let task = task();
        assert_eq!(hex(&write_entries(&entries, &task.id, &task.context_id)), hex(&row.payload));
        assert_eq!(texts(&entries), entries.iter().map(|entry| serde_json::to_vec(&entry.event).unwrap()).collect::<Vec<_>>());
        let old = read_entries(&Row::new(Seq::new(1), Seq::new(6), payload("row-1"))).unwrap();
        assert_eq!(old.into_iter().map(|(_, entry)| entry).collect::<Vec<_>>(), entries, "the formats say the same");
    }

    #[test]
    fn a_snapshot_is_read_for_ever() {
        assert_eq!(fold(&stored(Some(payload("snapshot-1")), Vec::new())).unwrap(), task());
        assert_eq!(fold(&stored(Some(from_hex("snapshot-3.hex")), Vec::new())).unwrap(), task());
        assert_eq!(hex(&write_snapshot(&task())), hex(&from_hex("snapshot-3.hex")));
    }

    #[test]
    fn what_cannot_be_read_is_corrupt() {
        for payload in ["", "4[]", "3[]", "3", "2[]", "2t\0c\0[\u{1f}]", "1", "1[", "1{}", "1[{\"event\":{}}]"] {
            let row = Row::new(Seq::new(1), Seq::new(1), payload.into());
            assert!(matches!(fold(&stored(None, vec![row])), Err(Error::Corrupt(_))), "{payload}");
        }
    }
}
