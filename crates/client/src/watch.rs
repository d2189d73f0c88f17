//! A stream that survives its connection: it reconnects with backoff, resumes at its cursor, and falls back to polling.
//!
//! ```text
//!            cut, or ended without a closing event
//!   Live ------------------------------------------>  healing
//!    ^                                                  |  subscribe with the last number seen: goes on there
//!    |                                                  |  subscribe: first the task, of which the rest is shown
//!    +--------------------------------------------------+  no task yet: the same message with the same key
//!                                                       |
//!   Polling  <------------------------------------------+  cannot be subscribed to, or five times without news:
//!                                                          read the task until it ends
//! ```
//!
//! When it was the agent that could not be reached, and it can be again, the stream goes back from Polling to Live.
//!
//! The stream ends after an event that closes it, or with an error; never silently.

use std::{collections::VecDeque, sync::Arc, time::Duration};

use chancery_core::{
    Caller, Error, ErrorKind, Event, EventStream, GetTask, Reply, Request, Result, Seq, SharedEvent, Subscribe, Task, TaskId, TaskState,
};
use chancery_wire::facts;
use futures_util::{StreamExt as _, stream};
use tokio::time::Instant;

use crate::{
    call::{Answered, Call},
    capability::Capability,
    client::Client,
    failure::{self, Failed, Reached, chain},
    observer::Notice,
    retry,
    route::Peer,
    seen::Seen,
    source::{Arrived, Source},
    trouble::Trouble,
};

/// A stream, whatever connection it is on.
pub(crate) struct Watch {
    client: Client,
    /// The call that began it.
    call: Call,
    peer: Arc<Peer>,
    stage: Stage,
    ready: VecDeque<(Seq, SharedEvent)>,
    task: Option<TaskId>,
    /// The number of the last event, if the agent numbers them.
    cursor: Option<Seq>,
    /// The number of the last event that was shown.
    last: Seq,
    seen: Seen,
    /// Whether whoever watches has sent a message, and has heard everything when the agent waits for the next one.
    sent: bool,
    end: End,
    /// Reconnections since the last news.
    fruitless: u32,
    /// Readings of the task since the last news.
    idle: u32,
    /// When the task is to be read again.
    read_at: Option<Instant>,
    /// Whether the first event is the task that a message was sent to, maybe as it stood before.
    continues: bool,
    /// For a task that is only read, never subscribed to.
    polled: Option<Polled>,
}

/// How a task is read again and again that was not streamed to begin with.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Polled {
    /// Whether it is read on while it wants an authorization.
    pub(crate) beyond_authorization: bool,
    /// How many messages of its history are read.
    pub(crate) history_length: Option<i32>,
}

enum Stage {
    Live(Source, Joint),
    Polling {
        /// Whether it was only that the agent could not be reached.
        hopeful: bool,
    },
    Over,
}

/// How the events of a connection follow on those before.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Joint {
    /// By themselves.
    Smooth,
    /// The first has the number after this one, if the agent knows what a cursor is.
    After(Seq),
    /// The first is the task as it stands.
    Snapshot,
}

/// Whether the last event closes the stream.
#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    /// No.
    Open,
    /// The task wanted something before the message that began the stream, and this may be what it tells: no, unless the agent ends it.
    Replayed,
    /// The agent waits for something that may come another way: it ends the stream, or not.
    Maybe,
    /// The agent waits for the next message: who sent the last one has heard everything.
    Waiting,
    /// Nothing more can come.
    Over,
}

impl Watch {
    /// Begins a stream.
    pub(crate) async fn open(client: Client, caller: &Caller, request: Request) -> Result<EventStream> {
        let call = client.call(caller, request);
        let (peer, answered) = client.perform(&call).await?;
        let Answered::Source(source) = answered else { return Err(Error::internal("a stream was asked for")) };
        let task = match &call.request {
            Request::Subscribe(subscribe) => Some(subscribe.id.clone()),
            _ => None,
        };
        let sent = matches!(call.request, Request::StreamMessage(_));
        let stage = Stage::Live(source, Joint::Smooth);
        Ok(Self::new(client, call, peer, stage, task, sent).into_stream())
    }

    /// Goes on with a task that was just read: first the task, then what happens to it, by its stream or by reading it again.
    pub(crate) async fn take_up(client: Client, caller: &Caller, task: Task, sent: bool) -> EventStream {
        let id = task.id.clone();
        let call = client.call(caller, Request::Subscribe(Subscribe::new(id.clone())));
        let mut watch = Self::new(client.clone(), call, client.peer(), Stage::Over, Some(id), sent);
        watch.show(Seq::START.next(), task.into());
        if watch.has_heard_everything() {
            return watch.into_stream();
        }
        if !watch.can_subscribe() {
            if !client.offers(Capability::Streaming) {
                client.settings().observer.notice(|| Notice::Polling { reason: "the card offers no streams".to_owned() });
            }
            watch.stage = Stage::Polling { hopeful: false };
            return watch.into_stream();
        }
        match client.perform(&watch.call).await {
            Ok((peer, Answered::Source(source))) => (watch.peer, watch.stage) = (peer, Stage::Live(source, Joint::Snapshot)),
            Ok(_) => watch.turn_to_polling(false, || "a stream was asked for".to_owned()),
            // Who may not read the task either is told so then.
            Err(error) => watch.turn_to_polling(failure::is_transient(&error), || chain(&error)),
        }
        watch.into_stream()
    }

    /// Reads a task that is at hand again and again: first that task if it is new to whoever asks, then the whole task whenever it has
    /// changed.
    pub(crate) fn poll_task(client: Client, caller: &Caller, task: Task, polled: Polled, is_new: bool) -> EventStream {
        let id = task.id.clone();
        let call = client.call(caller, Request::Subscribe(Subscribe::new(id.clone())));
        let (peer, first) = (client.peer(), client.settings().poll_interval);
        let mut watch = Self::new(client, call, peer, Stage::Polling { hopeful: false }, Some(id), true);
        watch.polled = Some(polled);
        watch.read_at = Some(Instant::now() + retry::poll_pause(first, 0));
        if is_new {
            watch.show(Seq::START.next(), task.into());
        } else {
            watch.note_state(Some(task.state()));
            watch.seen.note(&task.into());
        }
        watch.into_stream()
    }

    fn new(client: Client, call: Call, peer: Arc<Peer>, stage: Stage, task: Option<TaskId>, sent: bool) -> Self {
        let continues = matches!(&call.request, Request::StreamMessage(send) if send.message.task_id.is_some());
        Self {
            client,
            call,
            peer,
            stage,
            ready: VecDeque::new(),
            task,
            cursor: None,
            last: Seq::START,
            seen: Seen::default(),
            sent,
            end: End::Open,
            fruitless: 0,
            idle: 0,
            read_at: None,
            continues,
            polled: None,
        }
    }

    fn into_stream(self) -> EventStream {
        let events = stream::unfold(self, |mut watch| async move { watch.next().await.map(|item| (item, watch)) });
        EventStream::new(events.fuse())
    }

    async fn next(&mut self) -> Option<Result<(Seq, SharedEvent)>> {
        loop {
            if let Some(item) = self.ready.pop_front() {
                return Some(Ok(item));
            }
            let deadline = self.deadline();
            let step = async {
                match &self.stage {
                    Stage::Live(..) => self.read().await,
                    Stage::Polling { hopeful } => self.poll(*hopeful).await,
                    Stage::Over => Ok(()),
                }
            };
            let step = match deadline {
                Some(deadline) => tokio::time::timeout_at(deadline, Box::pin(step)).await.unwrap_or_else(|_| Err(failure::too_late())),
                None => step.await,
            };
            if let Err(error) = step {
                self.stage = Stage::Over;
                return Some(Err(error));
            }
            if self.ready.is_empty() && matches!(self.stage, Stage::Over) {
                return None;
            }
        }
    }

    /// Takes the next element from the connection, or does something about there being none.
    async fn read(&mut self) -> Result<()> {
        let Stage::Live(source, joint) = &mut self.stage else { return Ok(()) };
        let joint = *joint;
        match source.next().await {
            Ok(Some(arrived)) => {
                let said_last = source.said_last();
                if let Stage::Live(_, joint) = &mut self.stage {
                    *joint = Joint::Smooth;
                }
                self.take(arrived, joint);
                self.end_if(said_last);
                Ok(())
            }
            // Whoever waits for the client may hang up.
            Ok(None) if self.end != End::Open => {
                self.stage = Stage::Over;
                Ok(())
            }
            Ok(None) => self.heal(Failed::cut("the stream ended before its task")).await,
            // The stream was at its end anyway.
            Err(failed) if failed.reached != Reached::Answer && self.has_heard_everything() => {
                self.stage = Stage::Over;
                Ok(())
            }
            // Some say only on the stream that there is nothing to subscribe to.
            Err(failed) if joint != Joint::Smooth && self.task.is_some() && cannot_subscribe(&failed.error) => {
                self.turn_to_polling(false, || chain(&failed.error));
                Ok(())
            }
            Err(failed) if failed.reached == Reached::Answer && !failure::is_transient(&failed.error) => Err(failed.error),
            Err(failed) => self.heal(failed).await,
        }
    }

    fn take(&mut self, arrived: Arrived, joint: Joint) {
        self.fruitless = 0;
        let continues = match joint {
            Joint::Smooth => true,
            Joint::After(last) => arrived.seq == Some(last.next()),
            Joint::Snapshot => false,
        };
        if continues {
            self.cursor = arrived.seq;
            for event in arrived.events {
                let seq = arrived.seq.unwrap_or_else(|| self.last.next());
                self.show(seq, event);
            }
            return;
        }
        match arrived.events.into_iter().next() {
            Some(Event::Task(task)) => {
                self.catch_up(&task);
                self.cursor = arrived.seq;
            }
            // Neither a continuation nor a snapshot: what happened in between can only be read.
            _ => self.turn_to_polling(false, || "the agent does not say what happened in between".to_owned()),
        }
    }

    /// Shows what is new in a task.
    fn catch_up(&mut self, task: &Task) {
        let news = self.seen.since(task);
        if self.polled.is_some() && !news.is_empty() {
            self.show(self.last.next(), task.clone().into());
        } else {
            news.into_iter().for_each(|event| self.show(self.last.next(), event));
        }
        self.note_state(Some(task.status.state));
    }

    fn show(&mut self, seq: Seq, mut event: Event) {
        self.seen.note(&event);
        if let Some(task) = event.task_id().filter(|id| !id.is_empty()) {
            self.task.get_or_insert_with(|| task.clone());
        }
        if matches!(event, Event::Message(_)) {
            self.end = End::Over;
        }
        self.note_state(event.state());
        let replayed = std::mem::take(&mut self.continues) && matches!(event, Event::Task(_));
        if replayed && matches!(self.end, End::Maybe | End::Waiting) {
            self.end = End::Replayed;
        }
        if let Event::Task(task) = &mut event {
            crate::operations::trim(task, &self.call.request, self.peer.route.version);
        }
        self.last = seq;
        self.ready.push_back((seq, event.into()));
    }

    fn note_state(&mut self, state: Option<TaskState>) {
        self.end = match state {
            Some(state) if state.is_terminal() => End::Over,
            Some(state) if state.ends_stream() => End::Waiting,
            Some(state) if state.is_interrupted() => End::Maybe,
            Some(_) => End::Open,
            None => self.end,
        };
    }

    fn has_heard_everything(&self) -> bool {
        self.end == End::Over || self.end == End::Waiting && self.sent
    }

    /// Ends the stream when nothing more can come, even if the agent leaves the connection open.
    fn end_if(&mut self, said_last: bool) {
        // Where a finished task is shown in pieces, the agent says which is the last.
        let in_pieces = facts(self.peer.route.version).streams_in_pieces;
        // A subscription goes on when the agent waits; whoever has sent a message wants to answer.
        let subscribed = matches!(self.call.request, Request::Subscribe(_));
        let over = self.end == End::Over || subscribed && self.has_heard_everything();
        if said_last || over && !in_pieces && matches!(self.stage, Stage::Live(..)) {
            self.stage = Stage::Over;
        }
    }

    /// Takes the stream up again on a new connection.
    async fn heal(&mut self, cut: Failed) -> Result<()> {
        let until = self.until();
        let mut pause = match &self.stage {
            Stage::Live(source, _) => source.retry(),
            _ => None,
        };
        tracing::debug!(error = %cut.error, task = self.task.as_ref().map(TaskId::as_str), last = %self.last, "stream cut");
        let mut reason = cut.error;
        // Whether anybody was there to hear us since the last news.
        let mut reached = self.fruitless > 0;
        loop {
            let known = self.task.is_some();
            if known && (self.fruitless >= self.client.settings().resubscribes || !self.can_subscribe()) {
                self.turn_to_polling(!reached && self.can_subscribe(), || chain(&reason));
                return Ok(());
            }
            let Some((call, joint)) = self.resumption(until) else { return Err(lost(reason)) };
            let wait = pause.take().unwrap_or_else(|| if self.fruitless == 0 { Duration::ZERO } else { retry::pause(self.fruitless) });
            self.fruitless += 1;
            if Instant::now() + wait >= until || !known && self.fruitless > self.client.settings().resubscribes && reached {
                return Err(broken(reason));
            }
            self.client.settings().observer.notice(|| Notice::Resubscribe { attempt: self.fruitless, reason: chain(&reason) });
            tokio::time::sleep(wait).await;
            match self.client.perform(&call).await {
                Ok((peer, Answered::Source(source))) => {
                    self.peer = peer;
                    self.stage = Stage::Live(source, joint);
                    return Ok(());
                }
                Ok(_) => return Err(Error::internal("a stream was asked for")),
                Err(error) if failure::is_transient(&error) => {
                    pause = Trouble::of(&error).and_then(Trouble::retry_after);
                    reached |= pause.is_some();
                    reason = error;
                }
                Err(error) if known && cannot_subscribe(&error) => {
                    self.turn_to_polling(false, || chain(&error));
                    return Ok(());
                }
                Err(error) => return Err(error),
            }
        }
    }

    fn turn_to_polling(&mut self, hopeful: bool, reason: impl FnOnce() -> String) {
        self.client.settings().observer.notice(|| Notice::Polling { reason: reason() });
        self.stage = Stage::Polling { hopeful };
    }

    /// Some agents have no streams, and some versions show who subscribes again only what happens from then on.
    fn can_subscribe(&self) -> bool {
        self.client.offers(Capability::Streaming) && facts(self.peer.route.version).resumes_streams
    }

    /// The call that goes on with the stream; `None` when there is none.
    fn resumption(&self, until: Instant) -> Option<(Call, Joint)> {
        let (request, after, joint) = match (&self.task, self.cursor) {
            (Some(task), Some(cursor)) => (Request::Subscribe(Subscribe::new(task.clone())), Some(cursor), Joint::After(cursor)),
            (Some(task), None) => (Request::Subscribe(Subscribe::new(task.clone())), None, Joint::Snapshot),
            (None, _) if self.peer.keyed => (self.call.request.clone(), self.call.caller.call().resume_after, Joint::Smooth),
            (None, _) => return None,
        };
        Some((self.later(request, after, until), joint))
    }

    /// A call on behalf of the same caller.
    fn later(&self, mut request: Request, after: Option<Seq>, until: Instant) -> Call {
        request.set_tenant(self.call.request.tenant());
        let mut call = self.call.clone();
        if !matches!(request, Request::StreamMessage(_)) {
            call.caller.call_mut().idempotency_key = None;
        }
        call.caller.call_mut().resume_after = after;
        // Each try may take as long as any call, and is repeated here.
        call.deadline = until.min(Instant::now() + self.client.settings().timeout);
        call.retries = 0;
        call.request = request;
        call
    }

    fn until(&self) -> Instant {
        let patience = Instant::now() + self.client.settings().patience;
        self.deadline().map_or(patience, |deadline| patience.min(deadline))
    }

    fn deadline(&self) -> Option<Instant> {
        self.call.caller.call().deadline.map(Instant::from_std)
    }

    /// Whether reading the task again brings nothing more that is waited for.
    fn is_read_out(&self) -> bool {
        match self.end {
            End::Open | End::Replayed => false,
            End::Maybe => !self.polled.is_some_and(|polled| polled.beyond_authorization),
            End::Waiting | End::Over => true,
        }
    }

    /// Reads the task, trying again while it fails in passing.
    async fn read_task(&mut self, id: &TaskId) -> Result<Task> {
        let (first, most) = (self.client.settings().poll_interval, self.client.settings().poll_failures);
        // Of a task that has no stream which could be lost, only so many failures in a row are too many, if that is said.
        let until = if self.polled.is_some() && most.is_some() { self.deadline() } else { Some(self.until()) };
        let is_late = |at: Instant| until.is_some_and(|until| at >= until);
        let mut get = GetTask::new(id.clone());
        get.history_length = self.polled.and_then(|polled| polled.history_length);
        let mut failures = 0;
        loop {
            let limit = Instant::now() + self.client.settings().timeout;
            let call = self.later(Request::GetTask(get.clone()), None, until.map_or(limit, |until| until.min(limit)));
            let error = match self.client.perform(&call).await {
                Ok((peer, Answered::Reply(Reply::Task(task)))) => {
                    let mut task = task.into_task()?;
                    crate::operations::trim(&mut task, &call.request, peer.route.version);
                    return Ok(task);
                }
                Ok(_) => return Err(Error::internal("a task was asked for")),
                Err(error) if failure::is_transient(&error) || self.polled.is_some() && error.kind() == ErrorKind::Internal => error,
                Err(error) => return Err(error),
            };
            let wait = Trouble::of(&error).and_then(Trouble::retry_after).unwrap_or_else(|| retry::poll_pause(first, failures));
            failures += 1;
            if most.is_some_and(|most| failures >= most) || is_late(Instant::now() + wait) {
                return Err(if self.polled.is_some() { error } else { broken(error) });
            }
            tokio::time::sleep(wait).await;
        }
    }

    /// Reads the task again and again until it ends.
    async fn poll(&mut self, hopeful: bool) -> Result<()> {
        let Some(id) = self.task.clone() else { return Err(Error::internal("a task that is unknown cannot be read")) };
        if self.is_read_out() {
            self.stage = Stage::Over;
            return Ok(());
        }
        if let Some(at) = self.read_at.take() {
            tokio::time::sleep_until(at).await;
        }
        let task = self.read_task(&id).await?;
        self.catch_up(&task);
        if self.is_read_out() {
            return Ok(());
        }
        if hopeful {
            self.fruitless = 0;
            return self.heal(Failed::cut("the agent could not be reached for a while")).await;
        }
        let first = self.client.settings().poll_interval;
        self.idle = if self.ready.is_empty() { self.idle + 1 } else { 0 };
        self.read_at = Some(Instant::now() + retry::poll_pause(first, self.idle));
        Ok(())
    }
}

/// Whether a peer says that there is nothing to subscribe to: because the task is over, or because it
/// has no such call.
fn cannot_subscribe(error: &Error) -> bool {
    use ErrorKind::{InvalidParams, InvalidRequest, MethodNotFound, TaskNotFound, UnsupportedOperation};
    matches!(error.kind(), UnsupportedOperation | TaskNotFound | MethodNotFound | InvalidParams | InvalidRequest)
}

fn broken(reason: Error) -> Error {
    Error::new(ErrorKind::Unavailable, "the stream was cut and could not be taken up again").caused_by(reason)
}

fn lost(reason: Error) -> Error {
    Error::new(ErrorKind::Unavailable, "the stream was cut before the agent named its task").caused_by(reason)
}
