//! The log of a task as bytes: what is stored, and how it is read again for ever.
//!
//! Each payload begins with its format number. Format 1 is JSON: a row is an array of entries
//! `{"event": …, "message": …, "record": …, "notes": …}`, a snapshot is `{"task": …, "record": …, "notes": …}`, both
//! with the v1.0 forms inside; `notes` is there only when something is noted, in a row as what changes. Format 2 is format 1 without what it repeats ([`pack`](crate::pack)).

use std::{borrow::Cow, cell::Cell};

use chancery_core::{Bytes, ContextId, Event, Message, Notes, Record, Remarks, Seq, Task, TaskId};
use serde::{Deserialize, Serialize, de::DeserializeOwned};

use crate::{
    pack::{pack, unpack},
    state::{self, Entry},
    store::{Error, Result, Row, Stored},
};

const PLAIN: u8 = b'1';
const PACKED: u8 = b'2';

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
fn draft(write: impl FnOnce(&mut Vec<u8>) -> Bytes) -> Bytes {
    /// What a thread keeps at the most for its next payload.
    const KEPT: usize = 64 * 1024;
    thread_local!(static DRAFT: Cell<Vec<u8>> = const { Cell::new(Vec::new()) });
    let mut draft = DRAFT.take();
    draft.clear();
    draft.push(PLAIN);
    let bytes = write(&mut draft);
    if draft.capacity() <= KEPT {
        DRAFT.set(draft);
    }
    bytes
}

fn put<T: Serialize>(draft: &mut Vec<u8>, value: &T) {
    // Writing to memory does not fail, and all keys of the model are strings.
    drop(serde_json::to_writer(draft, value));
}

fn read<T: DeserializeOwned>(payload: &[u8]) -> Result<T> {
    let json = match payload.split_first() {
        Some((&PLAIN, json)) => Cow::Borrowed(json),
        Some((&PACKED, packed)) => unpack(packed).ok_or_else(|| Error::Corrupt("a packed payload that cannot be unpacked".into()))?.into(),
        Some((format, _)) => return Err(Error::Corrupt(format!("format {format} is newer than this program").into())),
        None => return Err(Error::Corrupt("an empty payload".into())),
    };
    serde_json::from_slice(&json).map_err(|error| Error::Corrupt(error.into()))
}

/// The bytes of entries of a task that are committed together, and the text of each event when it is `read`.
pub(crate) fn write_entries(entries: &[Entry], task: &TaskId, context: &ContextId, read: bool) -> (Bytes, Vec<Bytes>) {
    let mut events = Vec::with_capacity(if read { entries.len() } else { 0 });
    let mut texts = Vec::new();
    let payload = draft(|draft| {
        let mut before = b'[';
        for entry in entries {
            draft.push(before);
            before = b',';
            draft.extend_from_slice(b"{\"event\":");
            let begin = draft.len();
            put(draft, &entry.event);
            events.extend(read.then_some(begin..draft.len()));
            if let Some(message) = &entry.message {
                draft.extend_from_slice(b",\"message\":");
                put(draft, message);
            }
            if let Event::Task(task) = &entry.event {
                draft.extend_from_slice(b",\"record\":");
                put(draft, &task.record);
            }
            if let Some(remarks) = &entry.remarks {
                draft.extend_from_slice(b",\"notes\":");
                put(draft, remarks);
            }
            draft.push(b'}');
        }
        draft.extend_from_slice(if entries.is_empty() { b"[]" } else { b"]" });
        if read {
            let whole = Bytes::copy_from_slice(draft);
            texts = events.into_iter().map(|event| whole.slice(event)).collect();
        }
        pack(PACKED, &draft[1..], task.as_str(), context.as_str()).unwrap_or_else(|| Bytes::copy_from_slice(draft))
    });
    (payload, texts)
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
    draft(|draft| {
        put(draft, &Snapshot { task: Cow::Borrowed(task), record: task.record, notes: task.notes.clone() });
        Bytes::copy_from_slice(draft)
    })
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
    fn a_row_is_written_packed_and_read_for_ever() {
        let row = Row::new(Seq::new(1), Seq::new(6), payload("row-2"));
        assert_eq!(fold(&stored(None, vec![row.clone()])).unwrap(), task());
        let entries: Vec<_> = read_entries(&row).unwrap().into_iter().map(|(_, entry)| entry).collect();
        let task = task();
        let (written, texts) = write_entries(&entries, &task.id, &task.context_id, true);
        assert_eq!(written, row.payload);
        assert_eq!(texts, entries.iter().map(|entry| serde_json::to_vec(&entry.event).unwrap()).collect::<Vec<_>>());
        // Ids that cannot be packed leave the row as it is.
        let (written, texts) = write_entries(&entries, &"t".into(), &task.context_id, false);
        assert_eq!((written, texts), (payload("row-1"), Vec::new()));
        assert_eq!(write_entries(&[], &"t".into(), &"c".into(), false).0, "1[]");
    }

    #[test]
    fn a_snapshot_of_format_1_is_read_for_ever() {
        assert_eq!(fold(&stored(Some(payload("snapshot-1")), Vec::new())).unwrap(), task());
        assert_eq!(write_snapshot(&task()), payload("snapshot-1"));
    }

    #[test]
    fn what_cannot_be_read_is_corrupt() {
        for payload in ["", "3[]", "2[]", "2t\0c\0[\u{1f}]", "1", "1[", "1{}", "1[{\"event\":{}}]"] {
            let row = Row::new(Seq::new(1), Seq::new(1), payload.into());
            assert!(matches!(fold(&stored(None, vec![row])), Err(Error::Corrupt(_))), "{payload}");
        }
    }
}
