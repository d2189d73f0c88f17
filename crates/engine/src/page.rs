//! Tasks and lists of them as the text of an answer, and the places in lists that callers come back with.

use chancery_core::{Error, ListTasks, Result, Task, TaskId, TaskPage, TaskState, Timestamp};

use crate::{
    delegation::view,
    engine::unavailable,
    feed::trimmed,
    finished::Text,
    log,
    service::TaskService,
    store::{Filter, Owner, Passed, Places, Standing},
};

impl TaskService {
    /// A page of a list.
    pub(crate) async fn page(&self, owner: &Owner, request: &ListTasks, aware: bool) -> Result<TaskPage> {
        let (filter, size) = self.page_filter(request, aware)?;
        let listing = self.inner.store.list(owner, filter).await.map_err(unavailable)?;
        let mut page =
            TaskPage::new(Vec::with_capacity(size), request.applied_page_size(), i32::try_from(listing.total).unwrap_or(i32::MAX));
        for stored in listing.tasks.iter().take(size) {
            let task = view::task(log::fold(stored).map_err(unavailable)?, aware);
            if is_unwanted(&task, request) {
                continue;
            }
            let mut task = trimmed(task, request.history_length);
            if !request.with_artifacts() {
                task.artifacts = Vec::new();
            }
            page.tasks.push(task);
        }
        page.next_page_token = next_page(listing.tasks.iter().map(|stored| (stored.head.updated, &stored.head.id)), size);
        page.with_artifacts = request.with_artifacts();
        Ok(page)
    }

    /// Writes a task as text.
    pub(crate) async fn write_task(&self, owner: &Owner, id: &TaskId, aware: bool, out: &mut Vec<u8>) -> Result<()> {
        let text = match self.inner.finished.recent(owner, id, self.inner.oldest()) {
            Some(text) => text,
            None => self.text(owner, self.look(owner, id).await?, aware)?,
        };
        out.extend_from_slice(text.whole());
        Ok(())
    }

    /// Writes a page of a list as text.
    pub(crate) async fn write_page(&self, owner: &Owner, request: &ListTasks, aware: bool, page: &mut Vec<u8>) -> Result<()> {
        const OPEN: &[u8] = b"{\"tasks\":[";
        let (filter, size) = self.page_filter(request, aware)?;
        let with_artifacts = request.with_artifacts();
        let Places { tasks: mut places, mut total } = self.inner.store.places(owner, filter.clone()).await.map_err(unavailable)?;
        page.reserve(256 + 768 * places.len());
        page.extend_from_slice(OPEN);
        let first = page.len();
        let put = |text: &Text, page: &mut Vec<u8>| {
            if page.len() > first {
                page.push(b',');
            }
            text.list(with_artifacts, page);
        };
        // What is in tasks is read only if one of them is not finished, or not known.
        if !self.inner.finished.all(owner, places.iter().take(size), |text| put(text, page)) {
            let listing = self.inner.store.list(owner, filter).await.map_err(unavailable)?;
            page.truncate(first);
            for stored in listing.tasks.iter().take(size) {
                let task = log::fold(stored).map_err(unavailable)?;
                if view::is_plain(&task) || !is_unwanted(&view::task(task.clone(), aware), request) {
                    put(&self.text(owner, task, aware)?, page);
                }
            }
            places = listing.tasks.into_iter().map(|stored| (stored.head.updated, stored.head.id)).collect();
            total = listing.total;
        }
        let (token, applied) = (next_page(places.iter().map(|(updated, id)| (*updated, id)), size), request.applied_page_size());
        let total = i32::try_from(total).unwrap_or(i32::MAX);
        // A token is base64, which needs no escaping.
        page.extend_from_slice(format!("],\"nextPageToken\":\"{token}\",\"pageSize\":{applied},\"totalSize\":{total}}}").as_bytes());
        Ok(())
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

    /// Writes a task, and keeps the text of one that will not change any more.
    fn text(&self, owner: &Owner, task: Task, aware: bool) -> Result<Text> {
        let plain = view::is_plain(&task);
        let task = &view::task(task, aware);
        let text = Text::of(task).map_err(Error::internal)?;
        if plain && let Some(updated) = task.status.timestamp.filter(|_| task.status.state.is_terminal()) {
            self.inner.finished.keep(owner, &task.id, updated, &text);
        }
        Ok(text)
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
