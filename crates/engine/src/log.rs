//! The log of a task as bytes: what is stored, and how it is read again for ever.
//!
//! Each payload begins with its format number. Format 1 is JSON: a row is an array of entries
//! `{"event": …, "message": …, "record": …}`, a snapshot is `{"task": …, "record": …}`, both with the v1.0
//! forms inside.

use std::borrow::Cow;

use chancery_core::{Bytes, Event, Message, Record, Seq, Task};
use serde::{Deserialize, Serialize};

use crate::{
    state::{self, Entry},
    store::{Error, Result, Row, Stored},
};

const FORMAT: u8 = b'1';

#[derive(Serialize, Deserialize)]
struct StoredEntry<'a> {
    event: Cow<'a, Event>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    message: Option<Cow<'a, Message>>,
    /// Beside a new task only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    record: Option<Record>,
}

#[derive(Serialize, Deserialize)]
struct Snapshot<'a> {
    task: Cow<'a, Task>,
    record: Record,
}

fn write<T: Serialize>(value: &T) -> Bytes {
    let mut bytes = vec![FORMAT];
    // Writing to memory does not fail, and all keys of the model are strings.
    drop(serde_json::to_writer(&mut bytes, value));
    bytes.into()
}

fn read<'a, T: Deserialize<'a>>(payload: &'a [u8]) -> Result<T> {
    match payload.split_first() {
        Some((&FORMAT, json)) => serde_json::from_slice(json).map_err(|error| Error::Corrupt(error.into())),
        Some((format, _)) => Err(Error::Corrupt(format!("format {format} is newer than this program").into())),
        None => Err(Error::Corrupt("an empty payload".into())),
    }
}

/// The bytes of entries that are committed together.
pub(crate) fn write_entries(entries: &[Entry]) -> Bytes {
    let stored: Vec<_> = entries
        .iter()
        .map(|entry| StoredEntry {
            event: Cow::Borrowed(&entry.event),
            message: entry.message.as_deref().map(Cow::Borrowed),
            record: match &entry.event {
                Event::Task(task) => Some(task.record),
                _ => None,
            },
        })
        .collect();
    write(&stored)
}

/// The entries of a row, each with its place.
pub(crate) fn read_entries(row: &Row) -> Result<Vec<(Seq, Entry)>> {
    let stored: Vec<StoredEntry<'static>> = read(&row.payload)?;
    let mut seq = row.first;
    let entries = stored.into_iter().map(|stored| {
        let mut event = stored.event.into_owned();
        if let (Event::Task(task), Some(record)) = (&mut event, stored.record) {
            task.record = record;
        }
        let entry = (seq, Entry { event, message: stored.message.map(|message| Box::new(message.into_owned())) });
        seq = seq.next();
        entry
    });
    Ok(entries.collect())
}

/// The bytes of a whole task.
pub(crate) fn write_snapshot(task: &Task) -> Bytes {
    write(&Snapshot { task: Cow::Borrowed(task), record: task.record })
}

/// A stored task, with the rest of its log folded on top of its snapshot.
pub(crate) fn fold(stored: &Stored) -> Result<Task> {
    let mut task = match &stored.snapshot {
        Some((_, payload)) => {
            let snapshot: Snapshot<'static> = read(payload)?;
            let mut task = snapshot.task.into_owned();
            task.record = snapshot.record;
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
