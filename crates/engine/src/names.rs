//! Aliases: tasks under the names that their callers gave them, as clients of v0.1 do (CONV-TASK-005, CONV-TASK-006).
//!
//! ```text
//! name ── free ──────────────> a task with exactly this id
//!      ── somebody else's ───> a task with an id of its own: alias(owner, name)
//!
//! a message to a finished task ──> a task that follows it: successor(owner, finished)
//! ```
//!
//! Both ids follow from what is known, so most names need no note in the store: it is asked the same, and
//! as much is written, whether a name is somebody else's or nobody's. Only which task
//! was followed by another is noted, the last of them for each name.

use std::sync::Arc;

use async_trait::async_trait;
use chancery_core::{
    Caller, CancelTask, Card, DeletePushConfig, Error, ErrorKind, Event, EventStream, GetExtendedCard, GetPushConfig, GetTask, LazyTask,
    ListPushConfigs, ListTasks, Message, Operations, PushConfig, PushConfigId, PushConfigPage, Result, SendMessage, SendReply, Seq,
    SharedEvent, Subscribe, Task, TaskId, TaskPage,
};
use futures_util::TryStreamExt as _;

use crate::{
    delegation::{access, view},
    driver::Wait,
    engine::{Inner, unavailable},
    feed::trimmed,
    live::Live,
    send::Sent,
    service::{Answering, TaskService},
    store::Owner,
};

/// How the ids begin that this module makes. No caller can choose such an id.
const PREFIX: &str = "alias-";
/// How many earlier tasks are asked for their history at the most.
const PAST: usize = 100;

/// The id of the task that goes by a name of this owner which is somebody else's id.
pub(crate) fn alias(owner: &Owner, name: &TaskId) -> TaskId {
    derived(owner, "name", name)
}

/// The id of the task that follows a finished one under the same name.
fn successor(owner: &Owner, finished: &TaskId) -> TaskId {
    derived(owner, "after", finished)
}

/// The same id for the same words, in every release: it is stored (FNV-1a, 128 bits). Nobody gains by a
/// collision, for whose a task is, the store asks beside its id.
fn derived(owner: &Owner, relation: &str, id: &TaskId) -> TaskId {
    let words = [owner.tenant(), owner.agent(), owner.subject(), relation, id.as_str()];
    // No text holds 0xff.
    let bytes = words.iter().flat_map(|word| word.bytes().chain([0xff]));
    let digest = bytes.fold(0x6c62_272e_07bb_0142_62b8_2175_6295_c58d_u128, |digest, byte| {
        (digest ^ u128::from(byte)).wrapping_mul(0x0000_0000_0100_0000_0000_0000_0000_013b)
    });
    format!("{PREFIX}{digest:032x}").into()
}

/// Operations under the names that callers give their tasks: a decorator of the [`TaskService`], which knows ids. Callers who do not name
/// their tasks pass by.
#[derive(Clone)]
pub(crate) struct NamedTasks {
    tasks: TaskService,
}

impl NamedTasks {
    pub(crate) fn new(engine: Arc<Inner>) -> Self {
        Self { tasks: TaskService::new(engine) }
    }

    pub(crate) fn inner(&self) -> &Arc<Inner> {
        &self.tasks.inner
    }

    /// Whether a caller asks for a task by a name of its own. A grant is for one task, whatever names its owner has given to others.
    async fn is_name(&self, caller: &Caller, name: &TaskId) -> Result<bool> {
        Ok(caller.call().names_tasks && access::owner(self.inner(), caller, name).await? == self.inner().owner(caller))
    }

    /// The id of the task that a caller means. A name that stands for no task is its own id: that nobody has such a task, the operation says.
    async fn resolve(&self, caller: &Caller, name: &TaskId) -> Result<TaskId> {
        if !self.is_name(caller, name).await? {
            return Ok(name.clone());
        }
        let live = self.tasks.named(&self.inner().owner(caller), name, |_| true).await?;
        Ok(live.map_or_else(|| name.clone(), |live| live.id.clone()))
    }

    /// Sends a message to the task of a name.
    async fn send_named(&self, caller: &Caller, request: Box<SendMessage>, name: TaskId) -> Result<SendReply> {
        let (wait, history) = (Wait::of(&request.configuration), request.configuration.history_length);
        match self.tasks.send(caller, request, wait).await.map_err(|failed| error(failed, &name))? {
            Sent::Message(mut message) => {
                message.task_id = Some(name);
                Ok(SendReply::Message(message))
            }
            Sent::Task { live, .. } => {
                let task = view::task(*live.into_task(), view::is_aware(caller));
                self.presented(&self.inner().owner(caller), task, &name, history).await.map(SendReply::from)
            }
        }
    }

    /// A task for a caller who names its tasks.
    async fn look(&self, owner: &Owner, name: &TaskId, history: Option<i32>) -> Result<Task> {
        let plain = match self.tasks.look(owner, name).await {
            Err(error) if error.kind() == ErrorKind::TaskNotFound => None,
            found => Some(found?),
        };
        // Most tasks go by their ids, and those that are not finished go by nothing else.
        if let Some(task) = plain
            && (!task.status.state.is_terminal() || self.tasks.noted(owner, name).await?.is_none())
        {
            return self.presented(owner, task, name, history).await;
        }
        // A task that is about to follow another cannot be shown yet; the other can.
        let live = self.tasks.named(owner, name, |live| live.seq() > Seq::START).await?;
        let live = live.ok_or_else(|| Error::task_not_found(name.as_str()))?;
        self.presented(owner, self.tasks.look(owner, &live.id).await?, name, history).await
    }

    /// A task under its name, with the history of those that it follows in front.
    async fn presented(&self, owner: &Owner, mut task: Task, name: &TaskId, history: Option<i32>) -> Result<Task> {
        let wanted = history.map_or(usize::MAX, |length| usize::try_from(length).unwrap_or(0));
        let mut id = std::mem::replace(&mut task.id, name.clone());
        for _ in 0..PAST {
            let Some(before) = followed(owner, &id, task.history.first()).filter(|_| task.history.len() < wanted) else { break };
            let earlier = match self.tasks.look(owner, &before).await {
                Ok(earlier) => earlier,
                // It was forgotten, as old tasks are.
                Err(error) if error.kind() == ErrorKind::TaskNotFound => break,
                Err(error) => return Err(error),
            };
            task.history.splice(0..0, earlier.history.into_iter().chain(earlier.status.message));
            id = before;
        }
        Ok(trimmed(task, history))
    }
}

/// The name of the task, if it is the caller who gives it one.
fn given_name(request: &SendMessage) -> Option<TaskId> {
    if request.create_missing { request.message.task_id.clone() } else { None }
}

#[async_trait]
impl Operations for NamedTasks {
    // An async function would keep the message itself, twice.
    fn send_message<'life0, 'life1, 'async_trait>(
        &'life0 self,
        caller: &'life1 Caller,
        request: SendMessage,
    ) -> Answering<'async_trait, SendReply>
    where
        'life0: 'async_trait,
        'life1: 'async_trait,
    {
        match given_name(&request) {
            None => self.tasks.send_message(caller, request),
            Some(name) => Box::pin(self.send_named(caller, Box::new(request), name)),
        }
    }

    async fn stream_message(&self, caller: &Caller, request: SendMessage) -> Result<EventStream> {
        let Some(name) = given_name(&request) else { return self.tasks.stream_message(caller, request).await };
        let events = self.tasks.stream_message(caller, request).await.map_err(|failed| error(failed, &name))?;
        Ok(stream(events, name))
    }

    async fn get_task(&self, caller: &Caller, request: GetTask) -> Result<LazyTask> {
        if !self.is_name(caller, &request.id).await? {
            return self.tasks.get_task(caller, request).await;
        }
        self.tasks.demand_extensions(caller)?;
        let task = self.look(&self.inner().owner(caller), &request.id, request.history_length).await?;
        Ok(view::task(task, view::is_aware(caller)).into())
    }

    async fn list_tasks(&self, caller: &Caller, request: ListTasks) -> Result<TaskPage<LazyTask>> {
        self.tasks.list_tasks(caller, request).await
    }

    async fn cancel_task(&self, caller: &Caller, mut request: CancelTask) -> Result<Task> {
        let id = self.resolve(caller, &request.id).await?;
        let name = std::mem::replace(&mut request.id, id);
        let mut task = self.tasks.cancel_task(caller, request).await.map_err(|failed| error(failed, &name))?;
        task.id = name;
        Ok(task)
    }

    async fn subscribe(&self, caller: &Caller, mut request: Subscribe) -> Result<EventStream> {
        let id = self.resolve(caller, &request.id).await?;
        let name = std::mem::replace(&mut request.id, id);
        let events = self.tasks.subscribe(caller, request).await.map_err(|failed| error(failed, &name))?;
        Ok(if caller.call().names_tasks { stream(events, name) } else { events })
    }

    async fn create_push_config(&self, caller: &Caller, mut config: PushConfig) -> Result<PushConfig> {
        let id = self.resolve(caller, &config.task_id).await?;
        let name = std::mem::replace(&mut config.task_id, id);
        config.record.task_name = caller.call().names_tasks.then(|| name.clone());
        let mut config = self.tasks.create_push_config(caller, config).await.map_err(|failed| error(failed, &name))?;
        config.task_id = name;
        Ok(config)
    }

    async fn get_push_config(&self, caller: &Caller, mut request: GetPushConfig) -> Result<PushConfig> {
        if !self.is_name(caller, &request.task_id).await? {
            return self.tasks.get_push_config(caller, request).await;
        }
        let id = self.resolve(caller, &request.task_id).await?;
        let name = std::mem::replace(&mut request.task_id, id);
        // Whoever names its tasks names their webhooks alike, unless it says otherwise.
        let mut own = request.clone();
        own.id.get_or_insert_with(|| PushConfigId::from(name.as_str()));
        let found = match self.tasks.get_push_config(caller, own).await {
            Err(failed) if failed.kind() == ErrorKind::TaskNotFound && request.id.is_none() => {
                self.tasks.get_push_config(caller, request).await
            }
            found => found,
        };
        let mut config = found.map_err(|failed| error(failed, &name))?;
        config.task_id = name;
        Ok(config)
    }

    async fn list_push_configs(&self, caller: &Caller, request: ListPushConfigs) -> Result<PushConfigPage> {
        self.tasks.list_push_configs(caller, request).await
    }

    async fn delete_push_config(&self, caller: &Caller, mut request: DeletePushConfig) -> Result<()> {
        let id = self.resolve(caller, &request.task_id).await?;
        let name = std::mem::replace(&mut request.task_id, id);
        self.tasks.delete_push_config(caller, request).await.map_err(|failed| error(failed, &name))
    }

    async fn get_extended_card(&self, caller: &Caller, request: GetExtendedCard) -> Result<Card> {
        self.tasks.get_extended_card(caller, request).await
    }
}

/// Which task a message goes to whose sender names its tasks. This is part of sending, not of the decorator: it comes after the look at the
/// idempotency key, for a repetition means the task that the first request meant.
impl TaskService {
    /// The task for a message whose sender names its tasks, or the new one that it shall be, which nobody else can make any more.
    pub(crate) async fn place(&self, owner: &Owner, request: &mut SendMessage) -> Result<(Option<Arc<Live>>, Option<Arc<Live>>)> {
        let Some(name) = request.message.task_id.clone() else { return Ok((None, None)) };
        if let Some(config) = &mut request.configuration.push_config {
            config.record.task_name = Some(name.clone());
        }
        let (context, references) = (request.message.context_id.clone(), request.message.reference_task_ids.len());
        loop {
            match self.named(owner, &name, |_| true).await? {
                Some(live) if live.read(|task| task.status.state.is_terminal()) => self.follow(owner, &name, &live, request).await?,
                Some(live) => return Ok((Some(live), None)),
                None => {
                    if self.inner.store.taken(&name).await.map_err(unavailable)? || name.as_str().starts_with(PREFIX) {
                        request.message.task_id = Some(alias(owner, &name));
                    }
                }
            }
            let id = request.message.task_id.clone().unwrap_or_else(|| name.clone());
            let new = Live::new(&self.inner, owner.clone(), id);
            let mut live = self.inner.keep(new.clone());
            if live.owner != *owner {
                // Somebody else gives a task the same name at this very moment.
                live = self.inner.keep(Live::new(&self.inner, owner.clone(), alias(owner, &live.id)));
            }
            // From now on nobody makes a task of this id; somebody may have made one since the look at the store.
            if live.has_driver() || !self.inner.store.taken(&live.id).await.map_err(unavailable)? {
                return Ok((None, Some(live)));
            }
            if Arc::ptr_eq(&live, &new) {
                self.inner.drop_live(&live);
            }
            request.message.task_id = Some(name.clone());
            request.message.context_id.clone_from(&context);
            request.message.reference_task_ids.truncate(references);
        }
    }

    /// Makes a message to a finished task one to a new task, which has the conversation, the name and the
    /// webhook of the finished one.
    async fn follow(&self, owner: &Owner, name: &TaskId, finished: &Live, request: &mut SendMessage) -> Result<()> {
        if !self.inner.setup().options.reopen {
            return Err(Error::new(ErrorKind::InvalidParams, "Task is in a terminal state").with("taskId", name.as_str()));
        }
        self.inner.store.put_alias(owner, name, &finished.id, self.inner.now()).await.map_err(unavailable)?;
        if request.configuration.push_config.is_none() {
            let own = PushConfigId::from(name.as_str());
            let configs = self.configs(owner, &finished.id).await?;
            request.configuration.push_config = configs.into_iter().find(|config| config.id == own).map(Box::new);
        }
        request.message.reference_task_ids.push(finished.id.clone());
        request.message.context_id = Some(finished.read(|task| task.context_id.clone()));
        request.message.task_id = Some(successor(owner, &finished.id));
        Ok(())
    }

    /// The newest task that a name of this owner stands for, of those that will do.
    async fn named(&self, owner: &Owner, name: &TaskId, will_do: impl Fn(&Live) -> bool) -> Result<Option<Arc<Live>>> {
        let own = async |id: &TaskId| match self.inner.find(owner, id).await {
            Err(error) if error.kind() == ErrorKind::TaskNotFound => Ok(None),
            found => found.map(|live| Some(live).filter(|live| will_do(live))),
        };
        let first = own(name).await?;
        if let Some(live) = first.as_ref().filter(|live| live.read(|task| !task.status.state.is_terminal())) {
            return Ok(Some(live.clone()));
        }
        if let Some(noted) = self.noted(owner, name).await? {
            for id in [successor(owner, &noted), noted] {
                if let Some(live) = own(&id).await? {
                    return Ok(Some(live));
                }
            }
        }
        match first {
            None => own(&alias(owner, name)).await,
            first => Ok(first),
        }
    }

    /// The last finished task of a name that was followed by another.
    async fn noted(&self, owner: &Owner, name: &TaskId) -> Result<Option<TaskId>> {
        self.inner.store.alias(owner, name).await.map_err(unavailable)
    }
}

/// The task that another one follows, by its first message.
fn followed(owner: &Owner, id: &TaskId, first: Option<&Message>) -> Option<TaskId> {
    first?.reference_task_ids.iter().find(|before| successor(owner, before) == *id).cloned()
}

/// An error about a task, under the task's name.
pub(crate) fn error(error: Error, name: &TaskId) -> Error {
    if error.metadata().contains_key("taskId") { error.with("taskId", name.as_str()) } else { error }
}

/// A stream about a task, under the task's name.
pub(crate) fn stream(events: EventStream, name: TaskId) -> EventStream {
    EventStream::new(events.map_ok(move |(seq, event)| (seq, shown(event, &name))))
}

fn shown(event: SharedEvent, name: &TaskId) -> SharedEvent {
    if event.task_id().is_none_or(|id| id == name) {
        return event;
    }
    let mut event = event.into_event();
    rename(&mut event, name);
    event.into()
}

/// Puts an event under the name of its task.
pub(crate) fn rename(event: &mut Event, name: &TaskId) {
    match event {
        Event::Task(task) => task.id = name.clone(),
        Event::Status(update) => update.task_id = name.clone(),
        Event::Artifact(update) => update.task_id = name.clone(),
        Event::Message(message) => message.task_id = Some(name.clone()),
        _ => {}
    }
}
