//! Tasks under the names that their callers gave them (CONV-TASK-005, CONV-TASK-006).
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

use std::{
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use chancery_core::{
    Caller, Error, ErrorKind, Event, EventStream, Message, PushConfigId, Result, SendMessage, Seq, SharedEvent, Task, TaskId,
};
use futures_core::Stream;

use crate::{
    engine::{Engine, unavailable},
    feed::trimmed,
    live::Live,
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

impl Engine {
    /// The task that a caller means.
    pub(crate) async fn meant(&self, caller: &Caller, owner: &Owner, id: &TaskId) -> Result<Arc<Live>> {
        // A grant is for one task, whatever names its owner has given to others.
        if !caller.call().names_tasks || *owner != self.inner.owner(caller) {
            return self.inner.find(owner, id).await;
        }
        self.named(owner, id, |_| true).await?.ok_or_else(|| Error::task_not_found(id.as_str()))
    }

    /// The id of the task that a caller means. Only of those who name their tasks is it known to exist.
    pub(crate) async fn meant_id(&self, caller: &Caller, owner: &Owner, id: &TaskId) -> Result<TaskId> {
        if caller.call().names_tasks { Ok(self.meant(caller, owner, id).await?.id.clone()) } else { Ok(id.clone()) }
    }

    /// A task for a caller who names its tasks.
    pub(crate) async fn look_by_name(&self, owner: &Owner, name: &TaskId, history: Option<i32>) -> Result<Task> {
        let plain = match self.look(owner, name).await {
            Err(error) if error.kind() == ErrorKind::TaskNotFound => None,
            found => Some(found?),
        };
        // Most tasks go by their ids, and those that are not finished go by nothing else.
        if let Some(task) = plain
            && (!task.status.state.is_terminal() || self.noted(owner, name).await?.is_none())
        {
            return self.presented(owner, task, name, history).await;
        }
        // A task that is about to follow another cannot be shown yet; the other can.
        let live = self.named(owner, name, |live| live.seq() > Seq::START).await?;
        let live = live.ok_or_else(|| Error::task_not_found(name.as_str()))?;
        self.presented(owner, self.look(owner, &live.id).await?, name, history).await
    }

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

    /// A task under its name, with the history of those that it follows in front.
    pub(crate) async fn presented(&self, owner: &Owner, mut task: Task, name: &TaskId, history: Option<i32>) -> Result<Task> {
        let wanted = history.map_or(usize::MAX, |length| usize::try_from(length).unwrap_or(0));
        let mut id = std::mem::replace(&mut task.id, name.clone());
        for _ in 0..PAST {
            let Some(before) = followed(owner, &id, task.history.first()).filter(|_| task.history.len() < wanted) else { break };
            let earlier = match self.look(owner, &before).await {
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
    Box::pin(Named { events, name })
}

struct Named {
    events: EventStream,
    name: TaskId,
}

impl Stream for Named {
    type Item = Result<(Seq, SharedEvent)>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let Named { events, name } = &mut *self;
        events.as_mut().poll_next(cx).map(|next| next.map(|event| event.map(|(seq, event)| (seq, shown(event, name)))))
    }
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
