//! Fault injection around the demo's engine: streams that are cut, tasks in no state, requests that say how they came in.

use std::{collections::HashSet, sync::Arc};

use async_trait::async_trait;
use chancery_core::{
    Caller, CancelTask, Card, DeletePushConfig, Event, EventStream, GetExtendedCard, GetPushConfig, GetTask, LazyTask, ListPushConfigs,
    ListTasks, Operations, PushConfig, PushConfigPage, Result, SendMessage, SendReply, Seq, SharedEvent, Subscribe, Task, TaskId, TaskPage,
    TaskState, TaskStatus, sync::Mutex,
};
use futures_util::{StreamExt as _, stream};
use serde_json::{Value, json};

use super::{CUT, REQUEST, UNSPECIFIED, login::Logins};

/// How many lost streams are remembered.
const REMEMBERED: usize = 10_000;

/// Operations that lose a stream once when the demo asks for it (`cut N`), show a task in no state
/// (`unspecified 2s`), and tell the agent how a request came in (`request`).
pub(crate) struct FaultInjector<O> {
    inner: Arc<O>,
    /// Who makes links that let tasks go on.
    logins: Logins,
    /// Tasks whose stream was lost already.
    cut: Arc<Mutex<HashSet<TaskId>>>,
}

impl<O: Operations + 'static> FaultInjector<O> {
    /// Around an engine.
    pub(crate) fn new(inner: O) -> Self {
        Self { inner: Arc::new(inner), logins: Logins::default(), cut: Arc::default() }
    }

    /// With links that somebody can open.
    pub(crate) fn logins(mut self, logins: Logins) -> Self {
        self.logins = logins;
        self
    }

    /// The link that a message asks for, if it does.
    fn link(&self, caller: &Caller, request: &SendMessage) -> Option<String> {
        let asks = request.message.task_id.is_none() && request.message.text().split_whitespace().next() == Some("login");
        asks.then(|| self.logins.link(self.inner.clone(), caller)).flatten()
    }

    fn faulty(&self, inner: EventStream, link: Option<String>) -> EventStream {
        let link = link.map(|link| (self.logins.clone(), link));
        let faulty = FaultyStream { inner, cut: self.cut.clone(), seen: 0, left: None, link };
        EventStream::new(stream::unfold(faulty, |mut faulty| async move { faulty.next().await.map(|item| (item, faulty)) }).fuse())
    }
}

#[async_trait]
impl<O: Operations + 'static> Operations for FaultInjector<O> {
    async fn send_message(&self, caller: &Caller, request: SendMessage) -> Result<SendReply> {
        let link = self.link(caller, &request);
        Ok(match self.inner.send_message(caller, labeled(request, link.as_deref())).await? {
            SendReply::Task(task) => {
                if let Some(link) = &link {
                    self.logins.about(link, &task.id);
                }
                SendReply::Task(Box::new(shown(*task)))
            }
            reply => reply,
        })
    }

    async fn stream_message(&self, caller: &Caller, request: SendMessage) -> Result<EventStream> {
        let link = self.link(caller, &request);
        self.inner.stream_message(caller, labeled(request, link.as_deref())).await.map(|stream| self.faulty(stream, link))
    }

    async fn get_task(&self, caller: &Caller, request: GetTask) -> Result<LazyTask> {
        Ok(shown(self.inner.get_task(caller, request).await?.into_task()?).into())
    }

    async fn list_tasks(&self, caller: &Caller, request: ListTasks) -> Result<TaskPage<LazyTask>> {
        let mut page = self.inner.list_tasks(caller, request).await?.decode()?;
        page.tasks = page.tasks.into_iter().map(shown).collect();
        Ok(page.into())
    }

    async fn cancel_task(&self, caller: &Caller, request: CancelTask) -> Result<Task> {
        self.inner.cancel_task(caller, request).await
    }

    async fn subscribe(&self, caller: &Caller, request: Subscribe) -> Result<EventStream> {
        self.inner.subscribe(caller, request).await.map(|stream| self.faulty(stream, None))
    }

    async fn create_push_config(&self, caller: &Caller, config: PushConfig) -> Result<PushConfig> {
        self.inner.create_push_config(caller, config).await
    }

    async fn get_push_config(&self, caller: &Caller, request: GetPushConfig) -> Result<PushConfig> {
        self.inner.get_push_config(caller, request).await
    }

    async fn list_push_configs(&self, caller: &Caller, request: ListPushConfigs) -> Result<PushConfigPage> {
        self.inner.list_push_configs(caller, request).await
    }

    async fn delete_push_config(&self, caller: &Caller, request: DeletePushConfig) -> Result<()> {
        self.inner.delete_push_config(caller, request).await
    }

    async fn get_extended_card(&self, caller: &Caller, request: GetExtendedCard) -> Result<Card> {
        self.inner.get_extended_card(caller, request).await
    }
}

/// A stream that may be cut.
struct FaultyStream {
    inner: EventStream,
    cut: Arc<Mutex<HashSet<TaskId>>>,
    /// How many events there were.
    seen: u64,
    /// How many may come, once that is known.
    left: Option<u64>,
    /// The link that waits for the name of its task.
    link: Option<(Logins, String)>,
}

impl FaultyStream {
    async fn next(&mut self) -> Option<Result<(Seq, SharedEvent)>> {
        if self.left == Some(0) {
            return None;
        }
        let (seq, event) = match self.inner.next().await? {
            Ok(item) => item,
            Err(error) => return Some(Err(error)),
        };
        self.seen += 1;
        if let Some(task) = event.task_id()
            && let Some((logins, link)) = self.link.take()
        {
            logins.about(&link, task);
        }
        self.left = self.left.map(|left| left - 1);
        if let (Some(after), Some(task)) = (marked(&event, CUT).and_then(Value::as_u64), event.task_id())
            && first(&self.cut, task)
        {
            self.left = Some(after.saturating_sub(self.seen));
        }
        let event = match &*event {
            Event::Status(update) if is_unspecified(&update.status) => {
                let mut update = update.clone();
                update.status.state = TaskState::Unspecified;
                SharedEvent::from(Event::Status(update))
            }
            Event::Task(task) if is_unspecified(&task.status) => SharedEvent::from(Event::Task(Box::new(shown((**task).clone())))),
            _ => event,
        };
        Some(Ok((seq, event)))
    }
}

/// Whether the stream of a task was not lost before.
fn first(cut: &Mutex<HashSet<TaskId>>, task: &TaskId) -> bool {
    let mut cut = cut.lock();
    if cut.len() >= REMEMBERED {
        // Streams of tasks as old as these are not read any more.
        cut.clear();
    }
    cut.insert(task.clone())
}

/// The request with a note of how it came in, and of the link that was made for it.
fn labeled(mut request: SendMessage, link: Option<&str>) -> SendMessage {
    let facts = json!({"binding": request.origin.binding.as_str(), "version": request.origin.version.as_str(), "link": link});
    request.metadata.insert(REQUEST.to_owned(), facts);
    request
}

/// The task as the demo wants it to be seen.
fn shown(mut task: Task) -> Task {
    if is_unspecified(&task.status) {
        task.status.state = TaskState::Unspecified;
    }
    task
}

fn is_unspecified(status: &TaskStatus) -> bool {
    status.state == TaskState::Working && mark(status, UNSPECIFIED).is_some()
}

fn marked<'a>(event: &'a Event, key: &str) -> Option<&'a Value> {
    match event {
        Event::Status(update) => mark(&update.status, key),
        Event::Task(task) => mark(&task.status, key),
        _ => None,
    }
}

fn mark<'a>(status: &'a TaskStatus, key: &str) -> Option<&'a Value> {
    status.message.as_ref()?.parts.iter().find_map(|part| part.metadata.get(key))
}
