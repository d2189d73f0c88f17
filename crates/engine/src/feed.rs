//! A subscriber: a cursor over a task's log.

use std::{collections::VecDeque, sync::Arc};

use chancery_core::{Error, ErrorKind, Event, EventStream, Result, Seq, SharedEvent, Task, TaskState};
use futures_util::{StreamExt as _, stream};

use crate::live::{Live, Reader, Woken};

/// Every event after `after`, each once and in order, until one ends the stream. `history` says how many
/// messages a task may show in it.
pub(crate) fn from(live: &Arc<Live>, after: Seq, history: Option<i32>) -> EventStream {
    read(Cursor { reader: live.reader(), after, history, ready: VecDeque::new(), closed: false })
}

/// What a client sees that has just sent a message: a new task from its first event on, another one as it
/// stands with the message, and then every later event.
pub(crate) fn since(live: &Arc<Live>, taken: Seq, history: Option<i32>) -> EventStream {
    if taken == Seq::new(1) {
        // The first event is the new task itself.
        return from(live, Seq::START, history);
    }
    // The message is in it, so a task that waits for its client again has done with the message.
    snapshot_then_rest(live, history, TaskState::ends_stream)
}

/// These events and no more.
pub(crate) fn of(events: Vec<(Seq, SharedEvent)>) -> EventStream {
    EventStream::new(stream::iter(events).map(Ok))
}

/// The task as it stands, and then every later event.
pub(crate) fn with_snapshot(live: &Arc<Live>) -> EventStream {
    snapshot_then_rest(live, None, TaskState::is_terminal)
}

fn snapshot_then_rest(live: &Arc<Live>, history: Option<i32>, ends: fn(TaskState) -> bool) -> EventStream {
    // A reader before the snapshot is read: what is committed in between is kept for it.
    let reader = live.reader();
    let (after, task) = live.snapshot();
    let closed = ends(task.status.state);
    let ready = VecDeque::from([(after, trimmed(task, history).into())]);
    read(Cursor { reader, after, history, ready, closed })
}

/// The task with at most this many messages of its history.
pub(crate) fn trimmed(mut task: Task, history: Option<i32>) -> Task {
    trim(&mut task, history);
    task
}

/// Leaves at most this many messages of a task's history (V10-HIST-003, V10-HIST-004).
pub(crate) fn trim(task: &mut Task, history: Option<i32>) {
    if let Some(length) = history {
        task.trim_history(usize::try_from(length).unwrap_or(0));
    }
}

/// An event as a reader with such a wish sees it; the log and other readers have all of it.
fn shown(event: SharedEvent, history: Option<i32>) -> SharedEvent {
    match (&*event, history) {
        (Event::Task(task), Some(_)) => trimmed((**task).clone(), history).into(),
        _ => event,
    }
}

struct Cursor {
    reader: Reader,
    after: Seq,
    history: Option<i32>,
    ready: VecDeque<(Seq, SharedEvent)>,
    closed: bool,
}

impl Cursor {
    async fn next(&mut self) -> Option<Result<(Seq, SharedEvent)>> {
        loop {
            if let Some((seq, event)) = self.ready.pop_front() {
                self.after = seq;
                return Some(Ok((seq, event)));
            }
            if self.closed {
                return None;
            }
            match self.reader.woken(self.after).await {
                Woken::News => {}
                // Who comes back after the last event of a finished task has heard everything.
                Woken::Over => return None,
                // The rest is elsewhere; whoever comes back with the last event seen finds it.
                Woken::Left => {
                    self.closed = true;
                    return Some(Err(ErrorKind::Unavailable.into()));
                }
            }
            match self.reader.live().after(self.after).await {
                Err(error) => {
                    self.closed = true;
                    return Some(Err(error));
                }
                Ok(events) if events.is_empty() => {
                    // The store has forgotten what this reader has not read.
                    self.closed = true;
                    return Some(Err(Error::task_not_found(self.reader.live().id.as_str())));
                }
                Ok(events) => {
                    // What comes after the end of the stream belongs to the next one.
                    let end = events.iter().position(|(_, event)| event.ends_stream());
                    self.closed = end.is_some();
                    let events = events.into_iter().take(end.map_or(usize::MAX, |end| end + 1));
                    self.ready = events.map(|(seq, event)| (seq, shown(event, self.history))).collect();
                }
            }
        }
    }
}

/// The cursor as a stream.
fn read(cursor: Cursor) -> EventStream {
    EventStream::new(stream::unfold(cursor, |mut cursor| async move { cursor.next().await.map(|item| (item, cursor)) }).fuse())
}
