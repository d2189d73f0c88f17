//! The eleven operations over an agent: who may, what is legal, who waits for what.

use std::{
    pin::Pin,
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use async_trait::async_trait;
use chancery_core::{
    Caller, CancelTask, Card, Content, ContextId, DeletePushConfig, Error, ErrorKind, Event, EventStream, GetExtendedCard, GetPushConfig,
    GetTask, ListPushConfigs, ListTasks, Message, Operations, PushConfig, PushConfigPage, Request, Result, SendMessage, SendReply, Seq,
    Subscribe, Task, TaskId, TaskPage, TaskState, Timestamp, Validate, aside,
};
use tokio::sync::oneshot;

use crate::{
    clock,
    driver::{self, Answer, Ask, Begin, Command, Wait, Working},
    engine::{Engine, shown, unavailable},
    feed::{self, trimmed},
    finished::Text,
    keys::Keyed,
    live::{Live, Reader, Woken},
    log, names,
    pass::{access, receive, view},
    push,
    store::{self, Filter, KeyAnswer, KeyRecord, Passed, Places, Scope, Standing},
};

/// How long the answer to an idempotency key is kept.
const KEY_LIFE: Duration = Duration::from_secs(24 * 3_600);
/// How long a repeated request waits at the most before it looks whether the task is still worked on.
const DRIVER_LOOK: Duration = Duration::from_secs(1);
/// How many webhooks a task may have.
const CONFIGS_PER_TASK: usize = 10;

#[async_trait]
impl Operations for Engine {
    // An async function would keep the message itself, twice.
    fn send_message<'life0, 'life1, 'async_trait>(
        &'life0 self,
        caller: &'life1 Caller,
        request: SendMessage,
    ) -> Pin<Box<dyn Future<Output = Result<SendReply>> + Send + 'async_trait>>
    where
        'life0: 'async_trait,
        'life1: 'async_trait,
    {
        Box::pin(self.answer(caller, Box::new(request)))
    }

    async fn stream_message(&self, caller: &Caller, request: SendMessage) -> Result<EventStream> {
        self.demand(self.inner.setup().card.capabilities.streaming, ErrorKind::UnsupportedOperation, "This agent does not stream")?;
        let history = request.configuration.history_length;
        let name = given_name(&request);
        // A stream begins when the task exists; whether it comes to exist, the agent decides.
        let sent = self.send(caller, Box::new(request), Wait::Begun).await;
        let events = match sent.map_err(|error| name.iter().fold(error, names::error))? {
            Sent::Message(message) => once(Event::Message(message)),
            Sent::Task { live, seq, .. } => {
                let events = match caller.resume_after {
                    Some(after) => feed::from(&live, after, history),
                    None => feed::since(&live, seq, history),
                };
                self.viewed(caller, &live, events)
            }
        };
        Ok(name.into_iter().fold(events, names::stream))
    }

    async fn get_task(&self, caller: &Caller, request: GetTask) -> Result<Task> {
        self.demand_extensions(caller)?;
        let scope = receive::scope(&self.inner, caller, &request.id).await?;
        if caller.names_tasks && scope == self.inner.scope(caller) {
            let task = self.look_by_name(&scope, &request.id, request.history_length).await?;
            return Ok(view::task(task, view::is_aware(caller)));
        }
        let task = self.look(&scope, &request.id).await?;
        Ok(trimmed(view::task(task, view::is_aware(caller)), request.history_length))
    }

    async fn list_tasks(&self, caller: &Caller, request: ListTasks) -> Result<TaskPage> {
        self.demand_extensions(caller)?;
        request.validate()?;
        let (filter, size) = self.page_filter(&request, view::is_aware(caller))?;
        let listing = self.inner.store.list(&self.inner.scope(caller), filter).await.map_err(unavailable)?;
        let mut page =
            TaskPage::new(Vec::with_capacity(size), request.applied_page_size(), i32::try_from(listing.total).unwrap_or(i32::MAX));
        for stored in listing.tasks.iter().take(size) {
            let task = view::task(log::fold(stored).map_err(unavailable)?, view::is_aware(caller));
            if is_unwanted(&task, &request) {
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

    async fn at_hand(&self, caller: &Caller, request: &Request, out: &mut Vec<u8>) -> Result<bool> {
        match request {
            Request::GetTask(request) if request.history_length.is_none() => {
                self.demand_extensions(caller)?;
                let scope = receive::scope(&self.inner, caller, &request.id).await?;
                self.write_task(&scope, &request.id, view::is_aware(caller), out).await?;
                Ok(true)
            }
            Request::ListTasks(request) if request.history_length.is_none() => {
                self.demand_extensions(caller)?;
                request.validate()?;
                self.write_page(&self.inner.scope(caller), request, view::is_aware(caller), out).await?;
                Ok(true)
            }
            _ => Ok(false),
        }
    }

    async fn cancel_task(&self, caller: &Caller, request: CancelTask) -> Result<Task> {
        self.demand_extensions(caller)?;
        let live = self.meant(caller, &receive::scope(&self.inner, caller, &request.id).await?, &request.id).await?;
        view::demand_here(caller, &live)?;
        if live.read(|task| task.status.state.is_terminal()) {
            return Err(Error::from(ErrorKind::TaskNotCancelable).with("taskId", request.id.as_str()));
        }
        let (answer, done) = oneshot::channel();
        self.inner.command(&live, Command::Cancel(answer))?;
        done.await.map_err(|_| gone())?.map_err(|error| names::error(error, &request.id))?;
        let mut task = view::task(live.snapshot().1, view::is_aware(caller));
        task.id = request.id;
        Ok(task)
    }

    async fn subscribe(&self, caller: &Caller, request: Subscribe) -> Result<EventStream> {
        self.demand(self.inner.setup().card.capabilities.streaming, ErrorKind::UnsupportedOperation, "This agent does not stream")?;
        self.demand_extensions(caller)?;
        let live = self.meant(caller, &receive::scope(&self.inner, caller, &request.id).await?, &request.id).await?;
        let shown = |events| {
            let events = self.viewed(caller, &live, events);
            if caller.names_tasks { names::stream(events, request.id.clone()) } else { events }
        };
        // A cursor gets the rest of the log, finished or not: that is what makes a cut stream whole.
        if let Some(after) = caller.resume_after {
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
        let said = config.task_id.clone();
        let scope = access::scope(&self.inner, caller, &said).await?;
        config.record.task_name = caller.names_tasks.then(|| said.clone());
        config.record.trace.clone_from(&caller.trace);
        config.record.aware = view::is_aware(caller);
        let task = self.meant_id(caller, &scope, &said).await?;
        let mut config = self.put_config(&scope, push::filled(config, &task)).await?;
        config.task_id = said;
        Ok(config)
    }

    async fn get_push_config(&self, caller: &Caller, request: GetPushConfig) -> Result<PushConfig> {
        self.demand_push(caller)?;
        let scope = access::scope(&self.inner, caller, &request.task_id).await?;
        let task = self.meant_id(caller, &scope, &request.task_id).await?;
        let configs = self.configs(&scope, &task).await?;
        let wanted = request.id.as_ref().map_or_else(|| request.task_id.as_str(), |id| id.as_str());
        let found = configs.iter().find(|config| config.id == wanted);
        let any = request.id.is_none().then(|| configs.first()).flatten();
        let mut config = found.or(any).cloned().ok_or_else(|| Error::task_not_found(request.task_id.as_str()))?;
        config.task_id = request.task_id;
        Ok(config)
    }

    async fn list_push_configs(&self, caller: &Caller, request: ListPushConfigs) -> Result<PushConfigPage> {
        self.demand_push(caller)?;
        let scope = access::scope(&self.inner, caller, &request.task_id).await?;
        Ok(PushConfigPage::new(self.configs(&scope, &request.task_id).await?))
    }

    async fn delete_push_config(&self, caller: &Caller, request: DeletePushConfig) -> Result<()> {
        self.demand_push(caller)?;
        let scope = access::scope(&self.inner, caller, &request.task_id).await?;
        let task = self.meant_id(caller, &scope, &request.task_id).await?;
        if let Some(live) = self.inner.live(&scope, &task) {
            // Without a driver there is nobody to tell.
            drop(live.command(Command::Unwatch(request.id.clone())));
        }
        let known = self.inner.store.delete_config(&scope, &task, &request.id).await.map_err(unavailable)?;
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

/// What became of a message.
enum Sent {
    Message(Box<Message>),
    /// A task, and the place of the event that took the message.
    Task {
        live: Arc<Live>,
        seq: Seq,
        /// Keeps events at hand for a stream that is about to begin.
        _reader: Option<Reader>,
    },
}

impl Sent {
    fn new(answer: Answer, live: Arc<Live>, reader: Option<Reader>) -> Self {
        match answer {
            Answer::Message(message) => Self::Message(message),
            Answer::Task(seq) => Self::Task { live, seq, _reader: reader },
        }
    }
}

/// The name of the task, if it is the caller who gives it one.
fn given_name(request: &SendMessage) -> Option<TaskId> {
    if request.create_missing { request.message.task_id.clone() } else { None }
}

impl Engine {
    /// Registers a webhook of a task, and tells whoever works on the task.
    async fn put_config(&self, scope: &Scope, config: PushConfig) -> Result<PushConfig> {
        let configs = self.configs(scope, &config.task_id).await?;
        if configs.len() >= CONFIGS_PER_TASK && !configs.iter().any(|known| known.id == config.id) {
            return Err(Error::invalid_param("taskId", format!("the task has {CONFIGS_PER_TASK} push configs already; delete one first")));
        }
        let stored = self.inner.store.put_config(scope, &config.task_id, &config.id, push::write(&config)).await.map_err(unavailable)?;
        if !stored {
            return Err(Error::task_not_found(config.task_id.as_str()));
        }
        if let Some(live) = self.inner.live(scope, &config.task_id) {
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
    pub(crate) async fn look(&self, scope: &Scope, id: &TaskId) -> Result<Task> {
        // A task that is only watched here may be worked on elsewhere; the store knows.
        // So does it when the first commit of a task is about to be heard of.
        let live = self.inner.live(scope, id).filter(|live| live.has_driver());
        match live.map(|live| live.snapshot()).filter(|(seq, _)| *seq > Seq::START) {
            Some((_, task)) => Ok(task),
            None => {
                let stored = self.inner.store.task(scope, id).await.map_err(unavailable)?;
                let stored = stored.ok_or_else(|| Error::task_not_found(id.as_str()))?;
                log::fold(&stored).map_err(unavailable)
            }
        }
    }

    /// The events of a task as a caller sees them.
    fn viewed(&self, caller: &Caller, live: &Arc<Live>, events: EventStream) -> EventStream {
        match &self.inner.setup().options.passing {
            Some(passing) => view::events(caller, live, passing.relay, events),
            None => events,
        }
    }

    /// The answer for an agent that handed a task over: it gets the means to let others see it.
    async fn handed_over(&self, live: Arc<Live>, history: Option<i32>) -> Result<SendReply> {
        let setup = self.inner.setup();
        let grant = match &setup.options.passing {
            Some(passing) => receive::grant(&self.inner, passing, &live.scope, &live.id).await?,
            None => None,
        };
        // Whoever hands tasks over knows of handoffs.
        let mut task = trimmed(view::task(*live.into_task(), true), history);
        grant.iter().for_each(|grant| grant.put(&mut task.metadata));
        Ok(SendReply::from(task))
    }

    /// Writes a task as text.
    async fn write_task(&self, scope: &Scope, id: &TaskId, aware: bool, out: &mut Vec<u8>) -> Result<()> {
        let text = match self.inner.finished.recent(scope, id, self.inner.oldest()) {
            Some(text) => text,
            None => self.text(scope, self.look(scope, id).await?, aware)?,
        };
        out.extend_from_slice(text.whole());
        Ok(())
    }

    /// Writes a page of a list as text.
    async fn write_page(&self, scope: &Scope, request: &ListTasks, aware: bool, page: &mut Vec<u8>) -> Result<()> {
        const OPEN: &[u8] = b"{\"tasks\":[";
        let (filter, size) = self.page_filter(request, aware)?;
        let with_artifacts = request.with_artifacts();
        let Places { tasks: mut places, mut total } = self.inner.store.places(scope, filter.clone()).await.map_err(unavailable)?;
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
        if !self.inner.finished.all(scope, places.iter().take(size), |text| put(text, page)) {
            let listing = self.inner.store.list(scope, filter).await.map_err(unavailable)?;
            page.truncate(first);
            for stored in listing.tasks.iter().take(size) {
                let task = log::fold(stored).map_err(unavailable)?;
                if view::is_plain(&task) || !is_unwanted(&view::task(task.clone(), aware), request) {
                    put(&self.text(scope, task, aware)?, page);
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
    fn text(&self, scope: &Scope, task: Task, aware: bool) -> Result<Text> {
        let plain = view::is_plain(&task);
        let task = &view::task(task, aware);
        let text = Text::of(task).map_err(Error::internal)?;
        if plain && let Some(updated) = task.status.timestamp.filter(|_| task.status.state.is_terminal()) {
            self.inner.finished.keep(scope, &task.id, updated, &text);
        }
        Ok(text)
    }

    async fn answer(&self, caller: &Caller, request: Box<SendMessage>) -> Result<SendReply> {
        let history = request.configuration.history_length;
        let wait = if request.configuration.return_immediately { Wait::Taken } else { Wait::Done };
        let handoff = request.message.task_id.is_none() && receive::is_handoff(&request.message);
        let aware = view::is_aware(caller);
        let Some(name) = given_name(&request) else {
            return match self.send(caller, request, wait).await? {
                Sent::Message(message) => Ok(SendReply::Message(message)),
                Sent::Task { live, .. } if handoff => Box::pin(self.handed_over(live, history)).await,
                Sent::Task { live, .. } => {
                    let mut task = live.into_task();
                    view::show(&mut task, aware);
                    feed::trim(&mut task, history);
                    Ok(SendReply::Task(task))
                }
            };
        };
        match Box::pin(self.send(caller, request, wait)).await.map_err(|error| names::error(error, &name))? {
            Sent::Message(mut message) => {
                message.task_id = Some(name);
                Ok(SendReply::Message(message))
            }
            Sent::Task { live, .. } => {
                let task = view::task(*live.into_task(), aware);
                Box::pin(self.presented(&self.inner.scope(caller), task, &name, history)).await.map(SendReply::from)
            }
        }
    }

    async fn send(&self, caller: &Caller, request: Box<SendMessage>, wait: Wait) -> Result<Sent> {
        if request.message.metadata.is_empty() || request.message.task_id.is_some() {
            return self.send_plain(caller, request, wait).await;
        }
        let user = access::spoken_for(self.inner.setup().options.passing.as_deref(), caller, &request.message);
        let sent = self.send_plain(caller, request, wait).await?;
        if let (Some(user), Sent::Task { live, .. }) = (user, &sent) {
            Box::pin(access::admit(&self.inner, &user, live)).await?;
        }
        Ok(sent)
    }

    async fn send_plain(&self, caller: &Caller, request: Box<SendMessage>, wait: Wait) -> Result<Sent> {
        self.demand_extensions(caller)?;
        request.validate()?;
        self.demand_media_types(&request.message)?;
        let SendMessage { message, configuration, .. } = &*request;
        let begins = message.task_id.is_none() && message.metadata.is_empty();
        if begins && configuration.push_config.is_none() && caller.idempotency_key.is_none() {
            let scope = self.inner.scope(caller);
            return self.begin(caller, scope, None, request, None, wait).await;
        }
        aside(|| self.send_special(caller, request, wait)).await
    }

    /// Sends a message with which there is more to do than to begin a task.
    // What is waited for here is in boxes of its own, so that all of it is short to move and to keep.
    async fn send_special(&self, caller: &Caller, mut request: Box<SendMessage>, wait: Wait) -> Result<Sent> {
        if let Some(config) = &mut request.configuration.push_config {
            self.demand_push(caller)?;
            config.record.trace.clone_from(&caller.trace);
            config.record.aware = view::is_aware(caller);
        }
        let own = self.inner.scope(caller);
        let scope = match &request.message.task_id {
            Some(id) => Box::pin(receive::scope(&self.inner, caller, id)).await?,
            None => own.clone(),
        };
        if let Some(id) = &request.message.task_id
            && scope != own
        {
            // What is opened is a task that is there, and no other, whatever names the caller gives to tasks.
            request.create_missing = false;
            if request.configuration.push_config.is_some() && Box::pin(access::scope(&self.inner, caller, id)).await? != scope {
                return Err(Error::new(ErrorKind::PermissionDenied, "A grant for a task does not allow webhooks of it"));
            }
        }
        // The name of a handoff says more than that of a request: who hands over again after a crash makes another request.
        let handoff = match request.message.metadata.is_empty() {
            true => None,
            false => receive::handoff_key(self.inner.setup().options.passing.as_deref(), &request.message)?,
        };
        let name = handoff.as_ref().or(caller.idempotency_key.as_ref());
        let key = match name {
            Some(key) => {
                let held = Box::pin(self.inner.keys.hold(&scope, key)).await;
                match Box::pin(self.replay(&scope, key, handoff.is_some(), &request)).await? {
                    Replay::Answer(sent) => {
                        drop(held);
                        return Ok(Box::pin(awaited(sent, wait)).await);
                    }
                    Replay::Fresh(record) => Some(Box::new(Keyed { record, held })),
                }
            }
            None => None,
        };
        let digest = key.as_ref().map(|key| key.record.digest);
        let mut reserved = None;
        let existing = match &request.message.task_id {
            Some(_) if request.create_missing => {
                let (existing, new) = Box::pin(self.place(&scope, &mut request)).await?;
                reserved = new;
                existing
            }
            Some(id) => Some(Box::pin(self.inner.find(&scope, id)).await?),
            None => None,
        };
        let sent = match existing {
            Some(live) => {
                if !live.has_driver() {
                    self.inner.demand_open()?;
                }
                view::demand_here(caller, &live)?;
                self.same_context(&live, request.create_missing, &mut request.message)?;
                if let Some(config) = request.configuration.push_config.take() {
                    // Found by its name at the moment it is made, it may not be stored yet.
                    Box::pin(stored(&live)).await;
                    Box::pin(self.put_config(&scope, push::filled(*config, &live.id))).await?;
                }
                let reader = (wait == Wait::Begun).then(|| live.reader());
                let (answer, answered) = oneshot::channel();
                let ask = Ask { send: request, caller: caller.clone(), key, wait, answer };
                self.inner.command(&live, Command::Message(Box::new(ask)))?;
                answered.await.map_err(|_| gone())?.map(|answer| Sent::new(answer, live, reader))
            }
            None => self.begin(caller, scope.clone(), reserved, request, key, wait).await,
        };
        match sent {
            Ok(sent) => Ok(sent),
            Err(error) => {
                let sent = Box::pin(self.lost_race(&scope, name, digest, error)).await?;
                Ok(Box::pin(awaited(sent, wait)).await)
            }
        }
    }

    /// Begins a task, which is `reserved` if its name was given.
    async fn begin(
        &self,
        caller: &Caller,
        scope: Scope,
        reserved: Option<Arc<Live>>,
        mut request: Box<SendMessage>,
        mut key: Option<Box<Keyed>>,
        wait: Wait,
    ) -> Result<Sent> {
        self.inner.demand_open()?;
        let id = request.message.task_id.take().unwrap_or_else(TaskId::generate);
        request.message.context_id.get_or_insert_with(ContextId::generate);
        let live = reserved.unwrap_or_else(|| self.inner.keep(Live::new(&self.inner, scope, id)));
        if let Some(key) = &mut key {
            key.record.answer = KeyAnswer::Task(live.id.clone());
        }
        let reader = (wait == Wait::Begun).then(|| live.reader());
        let (answer, answered) = oneshot::channel();
        let ask = Box::new(Ask { send: request, caller: caller.clone(), key, wait, answer });
        let answer = if live.claim() {
            begun(&live, driver::work(&self.inner, live.clone(), Begin::New(ask)), answered).await?
        } else {
            // Another request made the task of this name at the same moment.
            self.inner.command(&live, Command::Message(ask))?;
            aside(|| answered).await.map_err(|_| gone())??
        };
        Ok(Sent::new(answer, live, reader))
    }

    /// Two requests with one key at the same moment: the store let one through; the other answers alike.
    async fn lost_race(&self, scope: &Scope, name: Option<&String>, digest: Option<u64>, error: Error) -> Result<Sent> {
        let taken = std::error::Error::source(&error).and_then(|source| source.downcast_ref::<store::Error>());
        match (name, taken) {
            (Some(key), Some(store::Error::KeyTaken)) => {
                let record = self.inner.store.key(scope, key, self.inner.now()).await.map_err(unavailable)?;
                let record = record.ok_or(error)?;
                if Some(record.digest) != digest {
                    return Err(key_reused());
                }
                self.answer_of(scope, record).await
            }
            _ => Err(error),
        }
    }

    async fn replay(&self, scope: &Scope, key: &str, handoff: bool, request: &SendMessage) -> Result<Replay> {
        let digest = if handoff { fnv(&receive::canonical(request)) } else { digest(request) };
        let now = self.inner.now();
        match self.inner.store.key(scope, key, now).await.map_err(unavailable)? {
            Some(record) if record.digest != digest => Err(key_reused()),
            Some(record) => self.answer_of(scope, record).await.map(Replay::Answer),
            None => {
                let until = clock::after(now, if handoff { receive::HANDOFF_LIFE } else { KEY_LIFE });
                Ok(Replay::Fresh(KeyRecord::new(key, digest, KeyAnswer::Task(request.message.task_id.clone().unwrap_or_default()), until)))
            }
        }
    }

    async fn answer_of(&self, scope: &Scope, record: KeyRecord) -> Result<Sent> {
        match record.answer {
            KeyAnswer::Task(id) => Ok(Sent::Task { live: self.inner.find(scope, &id).await?, seq: Seq::START, _reader: None }),
            KeyAnswer::Message(json) => serde_json::from_slice(&json).map(Sent::Message).map_err(Error::internal),
        }
    }

    /// V10-TURN-002, V10-TURN-003: the context comes from the task; another one is refused. CONV-TASK-007:
    /// from those who name their tasks themselves, another one is ignored.
    fn same_context(&self, live: &Live, lenient: bool, message: &mut Message) -> Result<()> {
        let context = live.read(|task| task.context_id.clone());
        match &message.context_id {
            Some(said) if *said != context && !lenient => Err(Error::invalid_param("message.contextId", "is not the context of the task")),
            _ => {
                message.context_id = Some(context);
                Ok(())
            }
        }
    }

    pub(crate) async fn configs(&self, scope: &Scope, task: &TaskId) -> Result<Vec<PushConfig>> {
        let configs = self.inner.store.configs(scope, task).await.map_err(unavailable)?;
        configs.ok_or_else(|| Error::task_not_found(task.as_str()))?.iter().map(|(_, bytes)| shown(bytes)).collect()
    }

    fn demand(&self, capability: Option<bool>, kind: ErrorKind, words: &str) -> Result<()> {
        if capability == Some(true) { Ok(()) } else { Err(Error::new(kind, words)) }
    }

    fn demand_push(&self, caller: &Caller) -> Result<()> {
        self.demand_extensions(caller)?;
        let kind = ErrorKind::PushNotificationNotSupported;
        self.demand(self.inner.setup().card.capabilities.push_notifications, kind, kind.default_message())
    }

    fn demand_extensions(&self, caller: &Caller) -> Result<()> {
        let setup = self.inner.setup();
        let missing =
            setup.card.capabilities.extensions.iter().find(|extension| extension.required && !caller.has_extension(&extension.uri));
        missing.map_or(Ok(()), |extension| {
            let words = format!("This agent demands the extension {}", extension.uri);
            Err(Error::new(ErrorKind::ExtensionSupportRequired, words).with("extension", extension.uri.clone()))
        })
    }

    /// A part with a media type that neither the card nor a skill names is refused; one without passes.
    fn demand_media_types(&self, message: &Message) -> Result<()> {
        let setup = self.inner.setup();
        let card = &setup.card;
        let taken = |wanted: &str| {
            let modes = card.default_input_modes.iter().chain(card.skills.iter().flat_map(|skill| &skill.input_modes));
            modes.into_iter().any(|mode| matches(mode, wanted))
        };
        let refused = message.parts.iter().filter(|part| !matches!(part.content, Content::Text(_) if part.media_type.starts_with("text/")));
        let refused = refused.map(|part| part.media_type.as_str()).find(|media_type| !media_type.is_empty() && !taken(media_type));
        refused.map_or(Ok(()), |media_type| {
            Err(Error::new(ErrorKind::ContentTypeNotSupported, format!("This agent does not take {media_type}"))
                .with("mediaType", media_type))
        })
    }
}

enum Replay {
    Answer(Sent),
    Fresh(KeyRecord),
}

/// Whether a declared mode such as `text/*` covers a media type.
fn matches(mode: &str, media_type: &str) -> bool {
    let media_type = media_type.split(';').next().unwrap_or(media_type).trim();
    match mode.strip_suffix("/*") {
        Some("*") => true,
        Some(family) => media_type.split('/').next().is_some_and(|own| own.eq_ignore_ascii_case(family)),
        None => mode.eq_ignore_ascii_case(media_type),
    }
}

/// What a request led to that was made before: one that waits for the end does so again.
async fn awaited(sent: Sent, wait: Wait) -> Sent {
    if let (Sent::Task { live, .. }, Wait::Done) = (&sent, wait) {
        let reader = live.reader();
        loop {
            let (seq, waits) = (live.seq(), live.read(|task| task.status.state.is_terminal() || task.status.state.is_interrupted()));
            if waits || !live.has_driver() {
                break;
            }
            // A driver that gives up may do so between the two looks, so it is looked for now and then.
            if let Ok(Woken::Left) = tokio::time::timeout(DRIVER_LOOK, reader.woken(seq)).await {
                break;
            }
        }
    }
    sent
}

/// Waits until a task is in the store, or whoever makes it has given up.
async fn stored(live: &Arc<Live>) {
    if live.seq() > Seq::START {
        return;
    }
    let reader = live.reader();
    while live.seq() == Seq::START {
        match tokio::time::timeout(DRIVER_LOOK, reader.woken(Seq::START)).await {
            Ok(Woken::Left) => break,
            // Whoever makes it may be about to begin, but not for so long.
            Err(_) if !live.has_driver() => break,
            _ => {}
        }
    }
}

/// Waits for the answer of a driver, which is begun right here: that saves the runtime a task when the
/// turn is short. As soon as there is something to wait for but the last commit, and when the caller goes
/// away or another looks for the task, the rest is left to the runtime: neither a caller that leaves nor
/// one that dawdles changes anything about a task.
async fn begun(live: &Live, work: Working, mut answered: oneshot::Receiver<Result<Answer>>) -> Result<Answer> {
    struct Leaving<'a>(&'a Live);
    impl Drop for Leaving<'_> {
        fn drop(&mut self) {
            self.0.set_going();
        }
    }
    live.park(work);
    let leaving = Leaving(live);
    std::future::poll_fn(|cx| {
        if let Some(mut work) = leaving.0.unpark()
            && work.as_mut().poll(cx).is_pending()
        {
            leaving.0.park(work);
            if !leaving.0.ending.load(Ordering::Relaxed) {
                leaving.0.set_going();
            }
        }
        Pin::new(&mut answered).poll(cx)
    })
    .await
    .map_err(|_| gone())?
}

/// The same request gives the same digest, in every release: it outlives the process (FNV-1a).
fn digest(request: &SendMessage) -> u64 {
    let bytes = if request.create_missing {
        // Clients that name their tasks do not name their messages: that id is new with every request.
        let mut unnamed = request.clone();
        unnamed.message.message_id = Default::default();
        serde_json::to_vec(&unnamed)
    } else {
        serde_json::to_vec(request)
    };
    fnv(&bytes.unwrap_or_default())
}

fn fnv(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |digest, byte| (digest ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}

fn key_reused() -> Error {
    Error::new(ErrorKind::InvalidParams, "The idempotency key was used for another request").violation("Idempotency-Key", "must be new")
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

fn gone() -> Error {
    Error::new(ErrorKind::Unavailable, "The server is stopping")
}

fn once(event: Event) -> EventStream {
    feed::of(vec![(Seq::START, event.into())])
}

/// Stands in for an engine that is gone.
pub(crate) struct Closed;

macro_rules! closed {
    ($($name:ident($request:ty) -> $reply:ty;)+) => {
        #[async_trait]
        impl Operations for Closed {
            $(async fn $name(&self, _: &Caller, _: $request) -> Result<$reply> { Err(gone()) })+
        }
    };
}

closed! {
    send_message(SendMessage) -> SendReply;
    stream_message(SendMessage) -> EventStream;
    get_task(GetTask) -> Task;
    list_tasks(ListTasks) -> TaskPage;
    cancel_task(CancelTask) -> Task;
    subscribe(Subscribe) -> EventStream;
    create_push_config(PushConfig) -> PushConfig;
    get_push_config(GetPushConfig) -> PushConfig;
    list_push_configs(ListPushConfigs) -> PushConfigPage;
    delete_push_config(DeletePushConfig) -> ();
    get_extended_card(GetExtendedCard) -> Card;
}
