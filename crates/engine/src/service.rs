//! The eleven operations over an agent: who may, what is legal, who waits for what.

use std::{pin::Pin, sync::Arc};

use async_trait::async_trait;
use chancery_core::{
    Caller, CancelTask, Card, DeletePushConfig, Error, ErrorKind, Event, EventStream, GetExtendedCard, GetPushConfig, GetTask, LazyTask,
    ListPushConfigs, ListTasks, Operations, PushConfig, PushConfigPage, Result, SendMessage, SendReply, Seq, Subscribe, Task, TaskId,
    TaskPage, Validate,
};
use tokio::sync::oneshot;

use crate::{
    delegation::{access, view},
    driver::{Command, Wait},
    engine::{Engine, Inner, shown, unavailable},
    feed,
    live::Live,
    log,
    page::Seen,
    push,
    send::Sent,
    store::{Owner, Stored},
};

/// How many webhooks a task may have.
const CONFIGS_PER_TASK: usize = 10;

/// The operations on tasks by their ids. [`NamedTasks`](crate::names::NamedTasks) stands in front of it.
#[derive(Clone)]
pub(crate) struct TaskService {
    pub(crate) inner: Arc<Inner>,
}

#[async_trait]
impl Operations for TaskService {
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
        Box::pin(self.answer(caller, Box::new(request)))
    }

    async fn stream_message(&self, caller: &Caller, request: SendMessage) -> Result<EventStream> {
        self.demand(self.inner.setup().card.capabilities.streaming, ErrorKind::UnsupportedOperation, "This agent does not stream")?;
        let history = request.configuration.history_length;
        // A stream begins when the task exists; whether it comes to exist, the agent decides.
        Ok(match self.send(caller, Box::new(request), Wait::Begun).await? {
            Sent::Message(message) => once(Event::Message(message)),
            Sent::Task { live, seq, .. } => {
                let events = match caller.call().resume_after {
                    Some(after) => feed::from(&live, after, history),
                    None => feed::since(&live, seq, history),
                };
                self.viewed(caller, &live, events)
            }
        })
    }

    async fn get_task(&self, caller: &Caller, request: GetTask) -> Result<LazyTask> {
        self.demand_extensions(caller)?;
        let owner = access::owner(&self.inner, caller, &request.id).await?;
        let seen = Seen { aware: view::is_aware(caller), history: request.history_length, artifacts: true };
        match self.live_task(&owner, &request.id) {
            Some(task) => Ok(seen.of(task).into()),
            None => seen.of_stored(self.stored(&owner, &request.id).await?),
        }
    }

    async fn list_tasks(&self, caller: &Caller, request: ListTasks) -> Result<TaskPage<LazyTask>> {
        self.demand_extensions(caller)?;
        request.validate()?;
        self.page(&self.inner.owner(caller), &request, view::is_aware(caller)).await
    }

    async fn cancel_task(&self, caller: &Caller, request: CancelTask) -> Result<Task> {
        self.demand_extensions(caller)?;
        let live = self.inner.find(&access::owner(&self.inner, caller, &request.id).await?, &request.id).await?;
        view::demand_here(caller, &live)?;
        if live.read(|task| task.status.state.is_terminal()) {
            return Err(Error::from(ErrorKind::TaskNotCancelable).with("taskId", request.id.as_str()));
        }
        let (answer, done) = oneshot::channel();
        self.inner.command(&live, Command::Cancel(answer))?;
        done.await.map_err(|_| gone())??;
        Ok(view::task(live.snapshot().1, view::is_aware(caller)))
    }

    async fn subscribe(&self, caller: &Caller, request: Subscribe) -> Result<EventStream> {
        self.demand(self.inner.setup().card.capabilities.streaming, ErrorKind::UnsupportedOperation, "This agent does not stream")?;
        self.demand_extensions(caller)?;
        let live = self.inner.find(&access::owner(&self.inner, caller, &request.id).await?, &request.id).await?;
        let shown = |events| self.viewed(caller, &live, events);
        // A cursor gets the rest of the log, finished or not: that is what makes a cut stream whole.
        if let Some(after) = caller.call().resume_after {
            return Ok(shown(feed::from(&live, after, None)));
        }
        view::demand_here(caller, &live)?;
        if live.read(|task| task.status.state.is_terminal()) {
            let error = Error::new(ErrorKind::UnsupportedOperation, "The task is finished and has no more events");
            return Err(error.with("taskId", request.id.as_str()));
        }
        Ok(shown(feed::with_snapshot(&live)))
    }

    async fn create_push_config(&self, caller: &Caller, mut config: PushConfig) -> Result<PushConfig> {
        self.demand_push(caller)?;
        let owner = access::owner_by_name(&self.inner, caller, &config.task_id).await?;
        config.record.trace.clone_from(&caller.call().trace);
        config.record.aware = view::is_aware(caller);
        let task = config.task_id.clone();
        self.put_config(&owner, push::filled(config, &task)).await
    }

    async fn get_push_config(&self, caller: &Caller, request: GetPushConfig) -> Result<PushConfig> {
        self.demand_push(caller)?;
        let owner = access::owner_by_name(&self.inner, caller, &request.task_id).await?;
        let configs = self.configs(&owner, &request.task_id).await?;
        let wanted = request.id.as_ref().map_or_else(|| request.task_id.as_str(), |id| id.as_str());
        let found = configs.iter().find(|config| config.id == wanted);
        let any = request.id.is_none().then(|| configs.first()).flatten();
        found.or(any).cloned().ok_or_else(|| Error::push_config_not_found(request.task_id.as_str(), wanted))
    }

    async fn list_push_configs(&self, caller: &Caller, request: ListPushConfigs) -> Result<PushConfigPage> {
        self.demand_push(caller)?;
        let owner = access::owner_by_name(&self.inner, caller, &request.task_id).await?;
        Ok(PushConfigPage::new(self.configs(&owner, &request.task_id).await?))
    }

    async fn delete_push_config(&self, caller: &Caller, request: DeletePushConfig) -> Result<()> {
        self.demand_push(caller)?;
        let owner = access::owner_by_name(&self.inner, caller, &request.task_id).await?;
        if let Some(live) = self.inner.live(&owner, &request.task_id) {
            // Without a driver there is nobody to tell.
            drop(live.command(Command::Unwatch(request.id.clone())));
        }
        let known = self.inner.store.delete_config(&owner, &request.task_id, &request.id).await.map_err(unavailable)?;
        known.then_some(()).ok_or_else(|| Error::task_not_found(request.task_id.as_str()))
    }

    async fn get_extended_card(&self, caller: &Caller, _: GetExtendedCard) -> Result<Card> {
        self.demand_extensions(caller)?;
        self.demand(
            self.inner.setup().card.capabilities.extended_agent_card,
            ErrorKind::UnsupportedOperation,
            "This agent has no extended card",
        )?;
        self.inner.setup().extended.clone().ok_or_else(|| ErrorKind::ExtendedAgentCardNotConfigured.into())
    }
}

impl TaskService {
    pub(crate) fn new(inner: Arc<Inner>) -> Self {
        Self { inner }
    }

    /// Registers a webhook of a task, and tells whoever works on the task.
    pub(crate) async fn put_config(&self, owner: &Owner, config: PushConfig) -> Result<PushConfig> {
        let configs = self.configs(owner, &config.task_id).await?;
        if configs.len() >= CONFIGS_PER_TASK && !configs.iter().any(|known| known.id == config.id) {
            return Err(Error::invalid_param("taskId", format!("the task has {CONFIGS_PER_TASK} push configs already; delete one first")));
        }
        let stored = self.inner.store.put_config(owner, &config.task_id, &config.id, push::write(&config)).await.map_err(unavailable)?;
        if !stored {
            return Err(Error::task_not_found(config.task_id.as_str()));
        }
        if let Some(live) = self.inner.live(owner, &config.task_id) {
            // Without a driver nothing happens to the task; the next driver reads the configs itself.
            let (taken, watched) = oneshot::channel();
            if live.command(Command::Watch(config.id.clone(), taken)).is_none() {
                // A driver that ends before it answers has nothing more to tell anybody.
                drop(watched.await);
            }
        }
        Ok(config)
    }

    /// A task as it stands.
    pub(crate) async fn look(&self, owner: &Owner, id: &TaskId) -> Result<Task> {
        match self.live_task(owner, id) {
            Some(task) => Ok(task),
            None => log::fold(&self.stored(owner, id).await?).map_err(unavailable),
        }
    }

    /// A task that is worked on here, as it stands.
    fn live_task(&self, owner: &Owner, id: &TaskId) -> Option<Task> {
        // A task that is only watched here may be worked on elsewhere; the store knows.
        // So does it when the first commit of a task is about to be heard of.
        let live = self.inner.live(owner, id).filter(|live| live.has_driver())?;
        let (seq, task) = live.snapshot();
        (seq > Seq::START).then_some(task)
    }

    async fn stored(&self, owner: &Owner, id: &TaskId) -> Result<Stored> {
        let stored = self.inner.store.task(owner, id).await.map_err(unavailable)?;
        stored.ok_or_else(|| Error::task_not_found(id.as_str()))
    }

    /// The events of a task as a caller sees them.
    fn viewed(&self, caller: &Caller, live: &Arc<Live>, events: EventStream) -> EventStream {
        match &self.inner.setup().options.passing {
            Some(passing) => view::events(caller, live, passing.relay, events),
            None => events,
        }
    }

    pub(crate) async fn configs(&self, owner: &Owner, task: &TaskId) -> Result<Vec<PushConfig>> {
        let configs = self.inner.store.configs(owner, task).await.map_err(unavailable)?;
        configs.ok_or_else(|| Error::task_not_found(task.as_str()))?.iter().map(|(_, bytes)| shown(bytes)).collect()
    }

    fn demand(&self, capability: Option<bool>, kind: ErrorKind, words: &str) -> Result<()> {
        if capability == Some(true) { Ok(()) } else { Err(Error::new(kind, words)) }
    }

    pub(crate) fn demand_push(&self, caller: &Caller) -> Result<()> {
        self.demand_extensions(caller)?;
        let kind = ErrorKind::PushNotificationNotSupported;
        self.demand(self.inner.setup().card.capabilities.push_notifications, kind, kind.default_message())
    }

    pub(crate) fn demand_extensions(&self, caller: &Caller) -> Result<()> {
        let setup = self.inner.setup();
        let missing =
            setup.card.capabilities.extensions.iter().find(|extension| extension.required && !caller.has_extension(&extension.uri));
        missing.map_or(Ok(()), |extension| {
            let words = format!("This agent demands the extension {}", extension.uri);
            Err(Error::new(ErrorKind::ExtensionSupportRequired, words).with("extension", extension.uri.clone()))
        })
    }
}

pub(crate) fn gone() -> Error {
    Error::new(ErrorKind::Unavailable, "The server is stopping")
}

fn once(event: Event) -> EventStream {
    feed::of(vec![(Seq::START, event.into())])
}

/// Stands in for an engine that is gone.
pub(crate) struct Closed;

/// A future of an operation, in the form that `async_trait` gives it.
pub(crate) type Answering<'a, T> = Pin<Box<dyn Future<Output = Result<T>> + Send + 'a>>;

/// What an engine does, its outermost decorator does.
macro_rules! operations {
    ($($name:ident($request:ty) -> $reply:ty;)+) => {
        impl Operations for Engine {
            $(fn $name<'life0, 'life1, 'async_trait>(
                &'life0 self,
                caller: &'life1 Caller,
                request: $request,
            ) -> Answering<'async_trait, $reply>
            where
                'life0: 'async_trait,
                'life1: 'async_trait,
            {
                self.operations.$name(caller, request)
            })+
        }

        #[async_trait]
        impl Operations for Closed {
            $(async fn $name(&self, _: &Caller, _: $request) -> Result<$reply> { Err(gone()) })+
        }
    };
}

operations! {
    send_message(SendMessage) -> SendReply;
    stream_message(SendMessage) -> EventStream;
    get_task(GetTask) -> LazyTask;
    list_tasks(ListTasks) -> TaskPage<LazyTask>;
    cancel_task(CancelTask) -> Task;
    subscribe(Subscribe) -> EventStream;
    create_push_config(PushConfig) -> PushConfig;
    get_push_config(GetPushConfig) -> PushConfig;
    list_push_configs(ListPushConfigs) -> PushConfigPage;
    delete_push_config(DeletePushConfig) -> ();
    get_extended_card(GetExtendedCard) -> Card;
}
