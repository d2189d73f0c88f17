//! Tasks in answers: what a caller sees of one, lists of them, and the page tokens that callers come back with.

use chancery_core::{Bytes, EncodedTask, Error, LazyTask, ListTasks, Result, Task, TaskId, TaskPage, TaskState, Timestamp};

use crate::{
    delegation::view,
    engine::unavailable,
    feed::trimmed,
    log,
    service::TaskService,
    store::{Filter, Owner, Passed, Standing, Stored},
    terse::Artifacts,
};

/// What a caller sees of a task.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Seen {
    /// Whether the caller knows of handoffs.
    pub(crate) aware: bool,
    /// How many messages of the history it wants; all when not said.
    pub(crate) history: Option<i32>,
    /// Whether it sees artifacts.
    pub(crate) artifacts: bool,
}

impl Seen {
    /// What it sees of this task.
    pub(crate) fn of(self, task: Task) -> Task {
        let mut task = trimmed(view::task(task, self.aware), self.history);
        if !self.artifacts {
            task.artifacts = Vec::new();
        }
        task
    }

    /// What it sees of a stored task. The document of a finished one is not decoded before somebody wants it.
    pub(crate) fn of_stored(self, stored: Stored) -> Result<LazyTask> {
        match stored.snapshot {
            Some((seq, document)) if seq == stored.head.seq && stored.head.state.is_terminal() => {
                Ok(LazyTask::encoded(Document { bytes: document, seen: self }))
            }
            _ => Ok(self.of(log::fold(&stored).map_err(unavailable)?).into()),
        }
    }
}

/// A finished task as it is stored, for a caller.
struct Document {
    bytes: Bytes,
    seen: Seen,
}

impl EncodedTask for Document {
    fn decode(&self) -> Result<Task> {
        Ok(self.seen.of(log::read_snapshot(&self.bytes).map_err(unavailable)?))
    }

    fn append_json(&self, empty_artifacts: bool, out: &mut Vec<u8>) -> Result<()> {
        if self.seen.history.is_some() || !log::is_seen_alike(&self.bytes) {
            return self.decode()?.append_json(empty_artifacts, out);
        }
        let artifacts = match (self.seen.artifacts, empty_artifacts) {
            (true, false) => Artifacts::AsStored,
            (true, true) => Artifacts::Always,
            (false, _) => Artifacts::Omitted,
        };
        log::append_json(&self.bytes, artifacts, out).map_err(unavailable)
    }
}

impl TaskService {
    /// A page of a list.
    pub(crate) async fn page(&self, owner: &Owner, request: &ListTasks, aware: bool) -> Result<TaskPage<LazyTask>> {
        let (filter, size) = self.page_filter(request, aware)?;
        let seen = Seen { aware, history: request.history_length, artifacts: request.with_artifacts() };
        let listing = self.inner.store.list(owner, filter).await.map_err(unavailable)?;
        let mut page =
            TaskPage::new(Vec::with_capacity(size), request.applied_page_size(), i32::try_from(listing.total).unwrap_or(i32::MAX));
        page.next_page_token = next_page(listing.tasks.iter().map(|stored| (stored.head.updated, &stored.head.id)), size);
        page.with_artifacts = seen.artifacts;
        for stored in listing.tasks.into_iter().take(size) {
            let alike = stored.snapshot.as_ref().is_some_and(|(seq, bytes)| *seq == stored.head.seq && log::is_seen_alike(bytes));
            let task = seen.of_stored(stored)?;
            if alike || !is_unwanted(&*task.task()?, request) {
                page.tasks.push(task);
            }
        }
        Ok(page)
    }

    /// What a request lists, and how many of it; one more shows whether there is another page.
    fn page_filter(&self, request: &ListTasks, aware: bool) -> Result<(Filter, usize)> {
        let mut filter = Filter { context: request.context_id.clone(), ..Filter::default() };
        if self.inner.setup().options.passing.is_some() || request.handed_over.is_some() {
            filter.among = view::standings(request, aware);
        }
        match *filter.among {
            [] => filter.state = Some(request.status).filter(|state| *state != TaskState::Unspecified),
            // An index knows where those are.
            [Standing { state, passed: Passed::No, .. }] => (filter.state, filter.among) = (Some(state), Vec::new()),
            _ => {}
        }
        filter.updated_from = request.status_timestamp_after;
        filter.after = (!request.page_token.is_empty()).then(|| page_place(&request.page_token)).transpose()?;
        let size = usize::try_from(request.applied_page_size()).unwrap_or(1);
        filter.limit = size + 1;
        Ok((filter, size))
    }
}

/// Whether a task that is stored in the state that is asked for is seen in another.
fn is_unwanted(task: &Task, request: &ListTasks) -> bool {
    request.status != TaskState::Unspecified && request.status != task.status.state
}

/// The token of the page after this one; empty when there is none.
fn next_page<'a>(mut places: impl ExactSizeIterator<Item = (Timestamp, &'a TaskId)>, size: usize) -> String {
    if places.len() <= size {
        return String::new();
    }
    places.nth(size.saturating_sub(1)).map(|(updated, id)| page_token(updated, id)).unwrap_or_default()
}

/// A place in the list, opaque to callers: the status time and id of the last task they saw.
fn page_token(updated: Timestamp, id: &TaskId) -> String {
    let (seconds, nanos) = updated.unix();
    chancery_core::json::to_base64(format!("{seconds}.{nanos}.{id}").as_bytes())
}

fn page_place(token: &str) -> Result<(Timestamp, TaskId)> {
    let place = || {
        let bytes = chancery_core::json::from_base64(token)?;
        let mut fields = std::str::from_utf8(&bytes).ok()?.splitn(3, '.');
        let updated = Timestamp::from_unix(fields.next()?.parse().ok()?, fields.next()?.parse().ok()?)?;
        Some((updated, TaskId::from(fields.next()?)))
    };
    place().ok_or_else(|| Error::invalid_param("pageToken", "is not a token of this server; begin with the first page"))
}
