//! What callers see of a task that was handed over: a function of what is stored and of whether the caller knows of handoffs (GX-9).
//!
//! | stored | aware | unaware |
//! |---|---|---|
//! | relayed: goes on here, the handoff is a note | the task as it was handed over, and nothing after | what is stored |
//! | not relayed: completed, the handoff is in the metadata | what is stored | declined, with words that name who has it |

use std::sync::Arc;

use chancery_core::{
    Caller, Error, ErrorKind, Event, EventStream, ListTasks, Message, Notes, Result, Seq, SharedEvent, StatusUpdate, Task, TaskState,
    TaskStatus, Transfer, extension, handoff,
};
use futures_util::{StreamExt as _, TryStreamExt as _, stream};

use super::record::{Passed, Record};
use crate::{
    live::Live,
    store::{self, Standing},
};

/// Whether a caller knows of handoffs.
pub(crate) fn is_aware(caller: &Caller) -> bool {
    caller.has_extension(extension::HANDOFF)
}

/// A task as a caller sees it.
pub(crate) fn task(mut task: Task, aware: bool) -> Task {
    show(&mut task, aware);
    task
}

/// Makes of a task what a caller sees of it.
pub(crate) fn show(task: &mut Task, aware: bool) {
    // Most tasks are handed over to nobody.
    if !task.notes.is_empty() || !task.metadata.is_empty() {
        *task = shown(std::mem::take(task), aware);
    }
}

fn shown(mut task: Task, aware: bool) -> Task {
    let passed = relayed(&task);
    task.notes = Notes::default();
    match passed {
        Some(passed) if aware => as_passed(task, &passed),
        None if !aware => {
            handoff::unaware(&mut task);
            task
        }
        _ => task,
    }
}

/// Whether everybody sees the same of a task.
pub(crate) fn is_plain(task: &Task) -> bool {
    task.notes.is_empty() && handoff::transferred(&task.metadata).is_none()
}

/// Whether a task was handed over, for lists.
pub(crate) fn passed(task: &Task) -> store::Passed {
    match Record::of(task).filter(|record| record.passed.is_some()) {
        Some(record) if record.relayed => store::Passed::Relayed,
        Some(_) => store::Passed::Away,
        None => store::Passed::No,
    }
}

/// HO-5: how tasks stand that a caller sees in the state that it asks for; none for all of them.
pub(crate) fn standings(request: &ListTasks, aware: bool) -> Vec<Standing> {
    let seen = |standing: &Standing| match (standing.passed, aware) {
        (store::Passed::No, _) | (store::Passed::Relayed, false) => standing.state,
        (store::Passed::Away, false) => TaskState::Rejected,
        (store::Passed::Away | store::Passed::Relayed, true) => TaskState::Completed,
    };
    if request.status == TaskState::Unspecified && request.handed_over.is_none() {
        return Vec::new();
    }
    let wanted = |standing: &Standing| {
        (request.status == TaskState::Unspecified || seen(standing) == request.status)
            && request.handed_over.is_none_or(|handed_over| handed_over == (standing.passed != store::Passed::No))
    };
    let standings: Vec<_> = Standing::all().filter(wanted).collect();
    // What nobody can see is asked for as what nothing is.
    if standings.is_empty() { vec![Standing::new(TaskState::Unspecified, store::Passed::Away)] } else { standings }
}

/// The task as it was when it was handed over.
fn as_passed(mut task: Task, passed: &Passed) -> Task {
    task.history.truncate(passed.history);
    task.artifacts.truncate(passed.artifacts);
    task.status = TaskStatus::new(TaskState::Completed).at(passed.at);
    task.status.message = Some(words(passed, &task));
    passed.transfer.apply(&mut task);
    task
}

/// The words that tell of a handoff; the same every time.
fn words(passed: &Passed, task: &Task) -> Message {
    let words = Message::agent(handoff::words(&passed.transfer.to_object())).id(passed.transfer.handoff_id.as_str());
    crate::turn::addressed(words, &task.id, &task.context_id)
}

fn relayed(task: &Task) -> Option<Box<Passed>> {
    Record::of(task).filter(|record| record.relayed).and_then(|record| record.passed)
}

/// Where a task was handed over to, for callers that know of handoffs.
pub(crate) fn transfer(task: &Task) -> Option<Transfer> {
    match relayed(task) {
        Some(passed) => Some(passed.transfer),
        None => Transfer::of(&task.metadata).ok().flatten(),
    }
}

/// HO-4: a task that was handed over takes nothing any more from those who can turn to where it is.
pub(crate) fn demand_here(caller: &Caller, live: &Live) -> Result<()> {
    if !is_aware(caller) {
        return Ok(());
    }
    let Some(transfer) = live.read(transfer) else { return Ok(()) };
    let error = Error::new(ErrorKind::UnsupportedOperation, "The task was handed over to another agent").with("taskId", live.id.as_str());
    Err(error.with("transfer", serde_json::to_string(&transfer).unwrap_or_default()))
}

/// The events of a task as a caller sees them.
pub(crate) fn events(caller: &Caller, live: &Arc<Live>, relay: bool, events: EventStream) -> EventStream {
    let aware = is_aware(caller);
    // A task that is relayed is stored as the unaware see it, and one that is not as the aware do.
    if aware == live.read(|task| task.record.aware || !relay) {
        return events;
    }
    if !aware {
        return EventStream::new(events.map_ok(|(seq, event)| (seq, unaware(event))));
    }
    let live = live.clone();
    EventStream::new(stream::unfold(Some(events), move |events| native(live.clone(), events)).fuse())
}

/// The next event for one who knows of handoffs, and what comes after it: nothing after the handoff.
async fn native(live: Arc<Live>, events: Option<EventStream>) -> Option<(Result<(Seq, SharedEvent)>, Option<EventStream>)> {
    let mut events = events?;
    let (seq, event) = match events.next().await? {
        Ok(item) => item,
        Err(error) => return Some((Err(error), Some(events))),
    };
    // An event is heard of after it is part of the task, so the note is there when its event is.
    let Some(passed) = live.read(relayed).filter(|passed| seq >= passed.seq) else {
        return Some((Ok((seq, stripped(event))), Some(events)));
    };
    let last = match &*event {
        Event::Task(task) => (passed.seq, as_passed((**task).clone(), &passed).into()),
        _ if seq == passed.seq => {
            let task = live.read(|task| Task::new(task.id.clone(), task.context_id.clone(), TaskState::Working));
            (seq, told(&passed, &task).into())
        }
        _ => return None,
    };
    Some((Ok(last), None))
}

/// The event that tells of a handoff.
fn told(passed: &Passed, task: &Task) -> Event {
    let mut update = StatusUpdate::new(task.id.clone(), task.context_id.clone(), TaskStatus::default().at(passed.at));
    update.status.message = Some(words(passed, task));
    handoff::mark(&mut update.status, &mut update.metadata, passed.transfer.to_object(), &task.id, &task.context_id);
    update.into()
}

/// An event and the task as it stood then, as whoever registered a webhook sees both. `None` for what that one does not see: who knows
/// of handoffs is told of the handoff, and turns to the other agent.
pub(crate) fn notified(seq: Seq, event: Event, task: Task, aware: bool) -> Option<(Event, Task)> {
    let event = match relayed(&task).filter(|_| aware) {
        Some(passed) if seq > passed.seq => return None,
        Some(passed) if seq == passed.seq => told(&passed, &task),
        _ if aware => stripped(event.into()).into_event(),
        _ => unaware(event.into()).into_event(),
    };
    Some((event, shown(task, aware)))
}

/// An event without what we noted for ourselves.
fn stripped(event: SharedEvent) -> SharedEvent {
    match &*event {
        Event::Task(task) if !task.notes.is_empty() => {
            let mut task = task.clone();
            task.notes = Notes::default();
            Event::Task(task).into()
        }
        _ => event,
    }
}

fn unaware(event: SharedEvent) -> SharedEvent {
    match handoff::event_for_unaware(&event) {
        std::borrow::Cow::Owned(event) => event.into(),
        std::borrow::Cow::Borrowed(_) => stripped(event),
    }
}
