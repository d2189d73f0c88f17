//! The short way: a message in, words out.

use std::{
    fmt,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Instant,
};

use chancery_core::{
    Caller, CancelTask, Event, EventStream, GetTask, ListTasks, Message, Operations, Part, Result, SendMessage, SendReply, Seq,
    SharedEvent, Subscribe, Task, TaskId, TaskPage, TaskState, TaskStatus, Transfer, sync::Mutex,
};
use futures_core::Stream;
use futures_util::{StreamExt as _, stream};

use crate::{
    capability::Capability,
    client::Client,
    follow::{Handoff, Head, Journey, transfer_of},
    wait::TaskWait,
    watch::Watch,
};

impl Client {
    /// Sends a message, and waits until the agent has done what it says or wants something. If the agent hands the task
    /// over to another one, it is [followed](crate::Follow).
    ///
    /// ```no_run
    /// # async fn run(agent: chancery_client::Client) -> chancery_core::Result<()> {
    /// let reply = agent.send("What is 6 times 7?").await?;
    /// println!("{}", reply.text());
    /// # Ok(()) }
    /// ```
    ///
    /// [`request`](Self::request) says more about it: how much history, which media types, a webhook, a task to go on with.
    ///
    /// # Errors
    /// Whatever the agent gives, or that it cannot be reached.
    pub async fn send(&self, message: impl Into<Message>) -> Result<Reply> {
        self.request(message).send().await
    }

    /// Sends a message, and watches what happens. If the agent hands the task over to another one, it is
    /// [followed](crate::Follow). Where the card offers no streams, the task is read again and again instead, and what is new in it
    /// comes as events.
    ///
    /// ```no_run
    /// # async fn run(agent: chancery_client::Client) -> chancery_core::Result<()> {
    /// let mut events = agent.stream("Write a haiku").await?;
    /// while let Some(event) = events.try_next().await? {
    ///     println!("{event}");
    /// }
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// As [`send`](Self::send).
    pub async fn stream(&self, message: impl Into<Message>) -> Result<Events> {
        self.request(message).stream().await
    }

    /// Reads a task.
    ///
    /// # Errors
    /// As [`send`](Self::send).
    pub async fn task(&self, id: impl Into<TaskId>) -> Result<Task> {
        self.get_task(&self.traveler(), GetTask::new(id)).await
    }

    /// Cancels a task.
    ///
    /// # Errors
    /// As [`send`](Self::send).
    pub async fn cancel(&self, id: impl Into<TaskId>) -> Result<Task> {
        self.cancel_task(&self.traveler(), CancelTask::new(id)).await
    }

    /// Watches a task that is under way: first the task as it stands, then what happens to it; by reading it again and again where
    /// the card offers no streams.
    ///
    /// # Errors
    /// As [`send`](Self::send).
    pub async fn watch(&self, id: impl Into<TaskId>) -> Result<Events> {
        let caller = self.traveler();
        let id = id.into();
        let events = if self.offers(Capability::Streaming) {
            self.subscribe(&caller, Subscribe::new(id)).await?
        } else {
            let task = self.get_task(&caller, GetTask::new(id)).await?;
            Watch::take_up(self.clone(), &caller, task, false).await
        };
        Ok(Events::new(self.clone(), caller, events, false))
    }

    /// Lists the newest tasks; [`Operations::list_tasks`] knows filters and further pages.
    ///
    /// # Errors
    /// As [`send`](Self::send).
    pub async fn list(&self) -> Result<TaskPage> {
        self.list_tasks(&self.traveler(), ListTasks::default()).await
    }

    /// What happens to a message: its stream, or where the card offers none, what reading its task tells.
    pub(crate) async fn events_of(&self, caller: &Caller, mut request: SendMessage) -> Result<EventStream> {
        if self.offers(Capability::Streaming) {
            return self.stream_message(caller, request).await;
        }
        request.configuration.return_immediately = true;
        match self.send_message(caller, request).await? {
            SendReply::Task(task) => Ok(Watch::take_up(self.clone(), caller, *task, true).await),
            SendReply::Message(message) => Ok(EventStream::new(stream::iter([Ok((Seq::START.next(), Event::Message(message).into()))]))),
        }
    }
}

/// What an agent answered to a message.
#[derive(Debug, Clone)]
pub struct Reply {
    answer: SendReply,
    head: Option<Head>,
    handoff: Option<Handoff>,
}

impl Reply {
    /// The answer in the end: that of the last agent, if the task was handed over and followed.
    pub(crate) async fn followed(client: &Client, caller: Caller, answer: SendReply) -> Result<Self> {
        let SendReply::Task(mut task) = answer else { return Ok(Self { answer, head: None, handoff: None }) };
        let mut journey = Journey::new(client, caller, task.id.clone());
        let mut handoff = None;
        while let Some(transfer) = Transfer::of(&task.metadata)? {
            let step = journey.handoff(&transfer).await;
            let followed = step.followed;
            handoff = Some(step);
            if !followed {
                break;
            }
            *task = journey.follow(&transfer).await?;
            if !task.state().is_terminal() && !task.state().is_interrupted() {
                *task = wait(journey.head(), *task).await?;
            }
        }
        Ok(Self { answer: SendReply::Task(task), head: Some(journey.head().clone()), handoff })
    }

    /// Who has the task now; `None` for an answer that needed none.
    #[must_use]
    pub fn head(&self) -> Option<&Head> {
        self.head.as_ref()
    }

    /// The last handover of the task, if it was handed over. One that was not followed leaves the answer to be that of
    /// the agent that did it: its task is no finished work.
    #[must_use]
    pub fn handoff(&self) -> Option<&Handoff> {
        self.handoff.as_ref()
    }

    /// The answer in words: of the message, or of the task's results, or else of its status.
    #[must_use]
    pub fn text(&self) -> String {
        match &self.answer {
            SendReply::Message(message) => message.text(),
            SendReply::Task(task) => {
                let results: Vec<_> =
                    task.artifacts.iter().map(|artifact| text_of(&artifact.parts)).filter(|text| !text.is_empty()).collect();
                let said = || task.status.message.as_ref().map(Message::text).unwrap_or_default();
                if results.is_empty() { said() } else { results.join("\n") }
            }
        }
    }

    /// The task, if one was made or continued.
    #[must_use]
    pub fn task(&self) -> Option<&Task> {
        self.answer.task()
    }

    /// The state of the task; completed for an answer that needed none.
    #[must_use]
    pub fn state(&self) -> TaskState {
        self.task().map_or(TaskState::Completed, Task::state)
    }

    /// The answer itself.
    #[must_use]
    pub fn into_inner(self) -> SendReply {
        self.answer
    }
}

impl fmt::Display for Reply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text())
    }
}

/// The text parts, put together: chunks of one text come as parts.
fn text_of(parts: &[Part]) -> String {
    parts.iter().filter_map(Part::as_text).collect()
}

/// Waits until a task that was handed over is done or wants something. Each agent on the way may take as long as any call.
async fn wait(head: &Head, task: Task) -> Result<Task> {
    let client = head.client();
    let caller = head.caller().clone().deadline(Instant::now() + client.settings().timeout);
    let id = task.id.clone();
    let mut wait = TaskWait::resume(client, caller.clone(), task);
    while wait.next().await?.is_some() {}
    client.get_task(&caller, GetTask::new(id)).await
}

/// What happens to a task, as it happens. Takes itself up again when its connection is cut, and goes on with the agent
/// that the task is handed over to, as far as [`Follow`](crate::Follow) allows.
pub struct Events {
    updates: Pin<Box<dyn Stream<Item = Result<Update>> + Send>>,
    head: Arc<Mutex<Option<Head>>>,
}

/// A stream, whoever it comes from.
struct Followed {
    client: Client,
    caller: Caller,
    /// Whether the stream of a task that waits for its client ends: whoever has sent a message has heard everything.
    sent: bool,
    events: Option<EventStream>,
    /// Known as soon as a task is.
    journey: Option<Journey>,
    /// Where it goes on.
    next: Option<Transfer>,
    agent: Arc<str>,
    head: Arc<Mutex<Option<Head>>>,
}

impl Followed {
    async fn next(&mut self) -> Option<Result<Update>> {
        let item = match self.go_on().await {
            Ok(()) => {
                let events = self.events.as_mut()?;
                match events.next().await? {
                    Ok((seq, event)) => self.update(seq, event).await,
                    Err(error) => Err(error),
                }
            }
            Err(error) => Err(error),
        };
        if item.is_err() {
            self.events = None;
        }
        Some(item)
    }

    /// Turns to the agent that the task was handed over to, if it was.
    async fn go_on(&mut self) -> Result<()> {
        let (Some(transfer), Some(journey)) = (self.next.take(), &mut self.journey) else { return Ok(()) };
        let task = journey.follow(&transfer).await?;
        let head = journey.head().clone();
        self.agent = head.agent().into();
        self.events = Some(Watch::take_up(head.client().clone(), head.caller(), task, self.sent).await);
        self.note(head);
        Ok(())
    }

    async fn update(&mut self, seq: Seq, event: SharedEvent) -> Result<Update> {
        if let (None, Some(task)) = (&self.journey, event.task_id().filter(|task| !task.is_empty())) {
            let journey = Journey::new(&self.client, self.caller.clone(), task.clone());
            self.note(journey.head().clone());
            self.journey = Some(journey);
        }
        let transfer = transfer_of(&event)?;
        let hop = self.journey.as_ref().map_or(0, |journey| journey.head().hop());
        let mut update = Update { seq, event, agent: self.agent.clone(), hop, handoff: None };
        if let (Some(transfer), Some(journey)) = (transfer, &self.journey) {
            let handoff = journey.handoff(&transfer).await;
            self.next = handoff.followed.then_some(transfer);
            update.handoff = Some(handoff);
        }
        Ok(update)
    }

    fn note(&self, head: Head) {
        // Nothing in here panics half-way.
        *self.head.lock() = Some(head);
    }
}

impl Events {
    pub(crate) fn new(client: Client, caller: Caller, events: EventStream, sent: bool) -> Self {
        let (head, agent) = (Arc::default(), client.base().into());
        let followed = Followed { client, caller, sent, events: Some(events), journey: None, next: None, agent, head: Arc::clone(&head) };
        let updates = stream::unfold(followed, |mut followed| async move { followed.next().await.map(|item| (item, followed)) });
        Self { updates: Box::pin(updates.fuse()), head }
    }

    /// The next event; `None` when the task is over or waits for the client.
    ///
    /// # Errors
    /// Whatever the agent gives, or that the stream was cut and could not be taken up again in time, or that a task that
    /// was handed over could not be followed: then [`head`](Self::head) is still the agent before.
    pub async fn try_next(&mut self) -> Result<Option<Update>> {
        self.updates.next().await.transpose()
    }

    /// Who has the task now; `None` before the first event of a task.
    #[must_use]
    pub fn head(&self) -> Option<Head> {
        self.head.lock().clone()
    }
}

impl Stream for Events {
    type Item = Result<Update>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.updates.as_mut().poll_next(cx)
    }
}

impl fmt::Debug for Events {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Events").field("head", &self.head()).finish_non_exhaustive()
    }
}

/// One event and its place in the stream. Shown, it is what a person wants to read of it.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Update {
    /// The place in the task's log if the agent tells it, else in its part of this stream.
    pub seq: Seq,
    /// The event.
    pub event: SharedEvent,
    /// The base URL of the agent that it comes from.
    pub agent: Arc<str>,
    /// How often the task was handed over before this event.
    pub hop: u32,
    /// The handover that this event tells of. The task of this agent ends with it, but it is no finished work; what
    /// comes next is from the other agent, if the handover is followed.
    pub handoff: Option<Handoff>,
}

impl Update {
    /// The event itself.
    #[must_use]
    pub fn into_event(self) -> Event {
        self.event.into_event()
    }
}

impl fmt::Display for Update {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(handoff) = &self.handoff {
            return handoff.fmt(f);
        }
        let state = |state: TaskState| state.as_str().trim_start_matches("TASK_STATE_").to_ascii_lowercase().replace('_', "-");
        match &*self.event {
            Event::Task(task) => {
                write!(f, "task {}: {}", task.id, state(task.state()))?;
                said(f, &task.status)?;
                let mut results = task.artifacts.iter().map(|artifact| text_of(&artifact.parts)).filter(|text| !text.is_empty());
                results.try_for_each(|text| write!(f, "\n{text}"))
            }
            Event::Message(message) => f.write_str(&message.text()),
            Event::Status(update) => {
                f.write_str(&state(update.status.state))?;
                said(f, &update.status)
            }
            Event::Artifact(update) => f.write_str(&text_of(&update.artifact.parts)),
            _ => Ok(()),
        }
    }
}

/// What the agent says with a status.
fn said(f: &mut fmt::Formatter<'_>, status: &TaskStatus) -> fmt::Result {
    let words = status.message.as_ref().map(Message::text).unwrap_or_default();
    if words.is_empty() { Ok(()) } else { write!(f, ": {words}") }
}
