//! Sending a message: to a new task or to one that is there, idempotent by key.

use std::{
    pin::Pin,
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use chancery_core::{Caller, Content, ContextId, Error, ErrorKind, Message, Result, SendMessage, SendReply, Seq, TaskId, Validate};
use tokio::sync::oneshot;

use crate::{
    clock,
    delegation::{access, receive, view},
    direct,
    driver::{self, Answer, Ask, Begin, Command, Wait, Working},
    engine::unavailable,
    feed::{self, trimmed},
    keys::Keyed,
    live::{Live, Reader, Woken},
    push,
    service::{TaskService, gone},
    store::{self, KeyAnswer, KeyRecord, Owner},
};

/// How long the answer to an idempotency key is kept.
const KEY_LIFE: Duration = Duration::from_secs(24 * 3_600);
/// How long a repeated request waits at the most before it looks whether the task is still worked on.
const DRIVER_LOOK: Duration = Duration::from_secs(1);

/// What became of a message.
pub(crate) enum Sent {
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

impl TaskService {
    /// Sends a message, and gives the answer as the caller is to see it.
    pub(crate) async fn answer(&self, caller: &Caller, request: Box<SendMessage>) -> Result<SendReply> {
        let history = request.configuration.history_length;
        let wait = Wait::of(&request.configuration);
        let handoff = request.message.task_id.is_none() && receive::is_handoff(&request.message);
        let aware = view::is_aware(caller);
        match self.send(caller, request, wait).await? {
            Sent::Message(message) => Ok(SendReply::Message(message)),
            Sent::Task { live, .. } if handoff => Box::pin(self.handed_over(live, history)).await,
            Sent::Task { live, seq, .. } => {
                let mut task = live.into_task();
                if wait == Wait::Done
                    && let Some(message) = direct::answer(&mut task, seq)
                {
                    return Ok(SendReply::Message(message));
                }
                view::show(&mut task, aware);
                feed::trim(&mut task, history);
                Ok(SendReply::Task(task))
            }
        }
    }

    pub(crate) async fn send(&self, caller: &Caller, request: Box<SendMessage>, wait: Wait) -> Result<Sent> {
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
        if begins && configuration.push_config.is_none() && caller.call().idempotency_key.is_none() {
            let owner = self.inner.owner(caller);
            return self.begin(caller, owner, None, request, None, wait).await;
        }
        Box::pin(self.send_special(caller, request, wait)).await
    }

    /// Sends a message with which there is more to do than to begin a task.
    // What is waited for here is in boxes of its own, so that all of it is short to move and to keep.
    async fn send_special(&self, caller: &Caller, mut request: Box<SendMessage>, wait: Wait) -> Result<Sent> {
        if let Some(config) = &mut request.configuration.push_config {
            self.demand_push(caller)?;
            config.record.trace.clone_from(&caller.call().trace);
            config.record.aware = view::is_aware(caller);
        }
        let own = self.inner.owner(caller);
        let owner = match &request.message.task_id {
            Some(id) => Box::pin(access::owner(&self.inner, caller, id)).await?,
            None => own.clone(),
        };
        if let Some(id) = &request.message.task_id
            && owner != own
        {
            // What is opened is a task that is there, and no other, whatever names the caller gives to tasks.
            request.create_missing = false;
            if request.configuration.push_config.is_some() && Box::pin(access::owner_by_name(&self.inner, caller, id)).await? != owner {
                return Err(Error::new(ErrorKind::PermissionDenied, "A grant for a task does not allow webhooks of it"));
            }
        }
        // The name of a handoff says more than that of a request: who hands over again after a crash makes another request.
        let handoff = match request.message.metadata.is_empty() {
            true => None,
            false => receive::handoff_key(self.inner.setup().options.passing.as_deref(), &request.message)?,
        };
        let name = handoff.as_ref().or(caller.call().idempotency_key.as_ref());
        let key = match name {
            Some(key) => {
                let held = Box::pin(self.inner.keys.hold(&owner, key)).await;
                match Box::pin(self.replay(&owner, key, handoff.is_some(), &request)).await? {
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
                let (existing, new) = Box::pin(self.place(&owner, &mut request)).await?;
                reserved = new;
                existing
            }
            Some(id) => Some(Box::pin(self.inner.find(&owner, id)).await?),
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
                    Box::pin(self.put_config(&owner, push::filled(*config, &live.id))).await?;
                }
                let reader = (wait == Wait::Begun).then(|| live.reader());
                let (answer, answered) = oneshot::channel();
                let ask = Ask { send: request, caller: caller.clone(), key, wait, answer };
                self.inner.command(&live, Command::Message(Box::new(ask)))?;
                answered.await.map_err(|_| gone())?.map(|answer| Sent::new(answer, live, reader))
            }
            None => self.begin(caller, owner.clone(), reserved, request, key, wait).await,
        };
        match sent {
            Ok(sent) => Ok(sent),
            Err(error) => {
                let sent = Box::pin(self.lost_race(&owner, name, digest, error)).await?;
                Ok(Box::pin(awaited(sent, wait)).await)
            }
        }
    }

    /// Begins a task, which is `reserved` if its name was given.
    async fn begin(
        &self,
        caller: &Caller,
        owner: Owner,
        reserved: Option<Arc<Live>>,
        mut request: Box<SendMessage>,
        mut key: Option<Box<Keyed>>,
        wait: Wait,
    ) -> Result<Sent> {
        self.inner.demand_open()?;
        let id = request.message.task_id.take().unwrap_or_else(TaskId::generate);
        request.message.context_id.get_or_insert_with(ContextId::generate);
        let live = reserved.unwrap_or_else(|| self.inner.keep(Live::new(&self.inner, owner, id)));
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
            answered.await.map_err(|_| gone())??
        };
        Ok(Sent::new(answer, live, reader))
    }

    /// Two requests with one key at the same moment: the store let one through; the other answers alike.
    async fn lost_race(&self, owner: &Owner, name: Option<&String>, digest: Option<u64>, error: Error) -> Result<Sent> {
        let taken = std::error::Error::source(&error).and_then(|source| source.downcast_ref::<store::Error>());
        match (name, taken) {
            (Some(key), Some(store::Error::KeyTaken)) => {
                let record = self.inner.store.key(owner, key, self.inner.now()).await.map_err(unavailable)?;
                let record = record.ok_or(error)?;
                if Some(record.digest) != digest {
                    return Err(key_reused());
                }
                self.answer_of(owner, record).await
            }
            _ => Err(error),
        }
    }

    async fn replay(&self, owner: &Owner, key: &str, handoff: bool, request: &SendMessage) -> Result<Replay> {
        let digest = if handoff { fnv(&receive::canonical(request)) } else { digest(request) };
        let now = self.inner.now();
        match self.inner.store.key(owner, key, now).await.map_err(unavailable)? {
            Some(record) if record.digest != digest => Err(key_reused()),
            Some(record) => self.answer_of(owner, record).await.map(Replay::Answer),
            None => {
                let until = clock::after(now, if handoff { receive::HANDOFF_LIFE } else { KEY_LIFE });
                Ok(Replay::Fresh(KeyRecord::new(key, digest, KeyAnswer::Task(request.message.task_id.clone().unwrap_or_default()), until)))
            }
        }
    }

    async fn answer_of(&self, owner: &Owner, record: KeyRecord) -> Result<Sent> {
        match record.answer {
            KeyAnswer::Task(id) => Ok(Sent::Task { live: self.inner.find(owner, &id).await?, seq: Seq::START, _reader: None }),
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

    /// The answer for an agent that handed a task over: it gets the means to let others see it.
    async fn handed_over(&self, live: Arc<Live>, history: Option<i32>) -> Result<SendReply> {
        let setup = self.inner.setup();
        let grant = match &setup.options.passing {
            Some(passing) => access::grant(&self.inner, passing, &live.owner, &live.id).await?,
            None => None,
        };
        // Whoever hands tasks over knows of handoffs.
        let mut task = trimmed(view::task(*live.into_task(), true), history);
        grant.iter().for_each(|grant| grant.put(&mut task.metadata));
        Ok(SendReply::from(task))
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

/// Whether a declared mode such as `text/*` covers a media type.
fn matches(mode: &str, media_type: &str) -> bool {
    let media_type = media_type.split(';').next().unwrap_or(media_type).trim();
    match mode.strip_suffix("/*") {
        Some("*") => true,
        Some(family) => media_type.split('/').next().is_some_and(|own| own.eq_ignore_ascii_case(family)),
        None => mode.eq_ignore_ascii_case(media_type),
    }
}
