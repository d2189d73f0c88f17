//! Waiting for a task: its events until it has ended or wants something, by its stream or by polling, applied to the task as they come.

use std::{fmt, time::Instant};

use chancery_core::{
    Caller, Event, EventStream, Message, Operations as _, Result, SendMessage, SendReply, Seq, Subscribe, Task, TaskState,
};
use futures_util::{StreamExt as _, stream};

use crate::{
    capability::Capability,
    client::Client,
    watch::{Polled, Watch},
};

/// A wait for one task at one agent, until it has ended or wants something of whoever waits.
///
/// ```no_run
/// use chancery_client::{Client, TaskWait};
/// use chancery_core::{Caller, SendMessage};
///
/// # async fn run(client: Client) -> chancery_core::Result<()> {
/// let mut wait = TaskWait::send(&client, Caller::anonymous(), SendMessage::new("Write a haiku")).await?;
/// while let Some(event) = wait.next().await? {
///     println!("{event:?}");
/// }
/// println!("{:?}", wait.into_reply());
/// # Ok(()) }
/// ```
///
/// [`next`](Self::next) may be dropped and called again: nothing is lost. Whoever gives up has [`task`](Self::task) to go on with.
/// A task that was handed over has ended here; [`Client::stream`] follows it.
pub struct TaskWait {
    client: Client,
    caller: Caller,
    /// `None` while the task is at hand and nobody was asked about it.
    events: Option<EventStream>,
    /// Whether the task is to be subscribed to.
    subscribes: bool,
    polling: bool,
    /// Whether the wait goes on while the task wants an authorization.
    beyond_authorization: bool,
    history_length: Option<i32>,
    /// What the events so far make of it.
    task: Task,
    message: Option<Message>,
    progress: Progress,
}

/// How far a wait has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Progress {
    /// Nothing was heard yet.
    Fresh {
        /// Whether a message to a task that was there before began the stream.
        continues: bool,
    },
    /// The one event so far is the task as it stood before the message.
    Replayed,
    /// Something was heard, and more may come.
    UnderWay,
    /// Nothing more is waited for.
    Over,
}

impl TaskWait {
    /// Sends a message, and waits by the stream that it begins.
    ///
    /// # Errors
    /// As [`Operations::stream_message`](chancery_core::Operations::stream_message).
    pub async fn send(client: &Client, caller: Caller, request: SendMessage) -> Result<Self> {
        let (continues, history) = (request.message.task_id.is_some(), request.configuration.history_length);
        let events = client.stream_message(&caller, request).await?;
        let mut wait = Self::new(client, caller, Some(events), Task::default()).history_length(history);
        wait.progress = Progress::Fresh { continues };
        Ok(wait)
    }

    /// Sends a message without a stream, and waits by polling.
    ///
    /// # Errors
    /// As [`Operations::send_message`](chancery_core::Operations::send_message).
    pub async fn send_and_poll(client: &Client, caller: Caller, mut request: SendMessage) -> Result<Self> {
        request.configuration.return_immediately = true;
        let history = request.configuration.history_length;
        // The caller waits as long as the wait may last; this call may take as long as any.
        let limit = Instant::now() + client.settings().timeout;
        let limit = caller.call().deadline.map_or(limit, |deadline| deadline.min(limit));
        match client.send_message(&caller.clone().deadline(limit), request).await? {
            SendReply::Task(task) => Ok(Self::poll(client, caller, *task).history_length(history)),
            SendReply::Message(message) => {
                let answer = stream::iter([Ok((Seq::START.next(), Event::Message(message).into()))]);
                Ok(Self::new(client, caller, Some(EventStream::new(answer)), Task::default()))
            }
        }
    }

    /// Waits by a subscription to a task.
    ///
    /// # Errors
    /// As [`Operations::subscribe`](chancery_core::Operations::subscribe).
    pub async fn subscribe(client: &Client, caller: Caller, request: Subscribe) -> Result<Self> {
        let events = client.subscribe(&caller, request).await?;
        Ok(Self::new(client, caller, Some(events), Task::default()))
    }

    /// Waits for a task that was just read: by a subscription where there are any, else by polling. The task comes as the first event.
    #[must_use]
    pub fn resume(client: &Client, caller: Caller, task: Task) -> Self {
        let subscribes = client.offers(Capability::Streaming);
        Self { subscribes, ..Self::new(client, caller, None, task) }
    }

    /// Waits for a task that was just read by polling, with pauses that grow. The task comes as the first event, and whole again
    /// whenever it has changed.
    #[must_use]
    pub fn poll(client: &Client, caller: Caller, task: Task) -> Self {
        Self::new(client, caller, None, task)
    }

    fn new(client: &Client, caller: Caller, events: Option<EventStream>, task: Task) -> Self {
        Self {
            client: client.clone(),
            caller,
            events,
            subscribes: false,
            polling: false,
            beyond_authorization: false,
            history_length: None,
            task,
            message: None,
            progress: Progress::Fresh { continues: false },
        }
    }

    /// Waits on while the task wants an authorization: somebody is giving it another way.
    #[must_use]
    pub fn beyond_authorization(mut self, beyond: bool) -> Self {
        self.beyond_authorization = beyond;
        self
    }

    /// How many messages of its history come with a task that is polled.
    #[must_use]
    pub fn history_length(mut self, length: Option<i32>) -> Self {
        self.history_length = length;
        self
    }

    /// The next event; `None` when the task has ended or wants something.
    ///
    /// # Errors
    /// As the stream, or as [`Operations::get_task`](chancery_core::Operations::get_task) once the task is polled. The wait is over then.
    pub async fn next(&mut self) -> Result<Option<Event>> {
        while self.progress != Progress::Over {
            if self.events.is_none() {
                self.events = Some(self.begin().await);
            }
            let Some(events) = &mut self.events else { break };
            match events.next().await {
                Some(Ok((_, event))) => {
                    let event = event.into_event();
                    self.take(&event);
                    return Ok(Some(event));
                }
                Some(Err(error)) => {
                    self.progress = Progress::Over;
                    return Err(error);
                }
                // The agent may hang up while it waits for somebody.
                None if self.polling || self.is_settled(self.task.state()) => self.progress = Progress::Over,
                None => (self.events, self.subscribes) = (None, false),
            }
        }
        Ok(None)
    }

    /// Begins to ask for news of the task that is at hand.
    async fn begin(&mut self) -> EventStream {
        let (client, task) = (self.client.clone(), self.task.clone());
        if self.subscribes && !self.is_settled(task.state()) {
            return Watch::take_up(client, &self.caller, task, true).await;
        }
        self.polling = true;
        let polled = Polled { beyond_authorization: self.beyond_authorization, history_length: self.history_length };
        let is_new = matches!(self.progress, Progress::Fresh { .. });
        Watch::poll_task(client, &self.caller, task, polled, is_new)
    }

    /// Applies an event to what is known, and notes what it means for the wait.
    fn take(&mut self, event: &Event) {
        apply(&mut self.task, event);
        let state = self.task.state();
        self.progress = match (event, self.progress) {
            (Event::Message(message), _) => {
                self.message = Some((**message).clone());
                Progress::Over
            }
            // Some agents begin with the task as it is stored: what it wanted before the message says nothing about what comes of it.
            (Event::Task(_), Progress::Fresh { continues: true }) if state.is_interrupted() => Progress::Replayed,
            _ if self.is_settled(state) => Progress::Over,
            _ => Progress::UnderWay,
        };
    }

    fn is_settled(&self, state: TaskState) -> bool {
        state.ends_stream() || state == TaskState::AuthRequired && !self.beyond_authorization
    }

    /// The task as its events told so far.
    #[must_use]
    pub fn task(&self) -> &Task {
        &self.task
    }

    /// Whether the last event may be older than the message that the wait began with: the task as it stood before, wanting something.
    /// It is the answer after all if no other event comes.
    #[must_use]
    pub fn is_replay(&self) -> bool {
        self.progress == Progress::Replayed
    }

    /// Whether the task is polled by now, so that it is known as the agent has it.
    #[must_use]
    pub fn is_polling(&self) -> bool {
        self.polling
    }

    /// What came of it: the message that the agent answered with, or the task.
    #[must_use]
    pub fn into_reply(self) -> SendReply {
        match self.message {
            Some(message) => message.into(),
            None => self.task.into(),
        }
    }
}

impl fmt::Debug for TaskWait {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { task, progress, polling, .. } = self;
        f.debug_struct("TaskWait")
            .field("task", &task.id)
            .field("state", &task.state())
            .field("progress", progress)
            .field("polling", polling)
            .finish_non_exhaustive()
    }
}

/// Makes a task what it is after an event. Unlike the engine, which decides what is legal, this takes what an agent sends as it comes.
fn apply(task: &mut Task, event: &Event) {
    match event {
        Event::Task(now) => *task = (**now).clone(),
        Event::Status(update) => {
            task.id = update.task_id.clone();
            task.context_id = update.context_id.clone();
            task.status = update.status.clone();
            task.metadata.extend(update.metadata.clone());
        }
        Event::Artifact(update) => {
            task.id = update.task_id.clone();
            task.context_id = update.context_id.clone();
            let known = task.artifacts.iter_mut().find(|known| known.artifact_id == update.artifact.artifact_id);
            match known {
                Some(known) if update.append => {
                    known.parts.extend(update.artifact.parts.iter().cloned());
                    known.metadata.extend(update.artifact.metadata.clone());
                }
                Some(known) => *known = update.artifact.clone(),
                None => task.artifacts.push(update.artifact.clone()),
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use chancery_core::{Artifact, ArtifactUpdate, StatusUpdate};

    use super::*;

    #[test]
    fn chunks_are_added_and_whole_artifacts_replace() {
        let mut task = Task::default();
        let chunk = |text: &str| ArtifactUpdate::new("t", "c", Artifact::new(text).id("a"));
        for event in [
            Event::from(Task::new("t", "c", TaskState::Submitted)),
            chunk("one").into(),
            chunk("two").appended().into(),
            StatusUpdate::new("t", "c", TaskState::Completed).into(),
        ] {
            apply(&mut task, &event);
        }
        assert_eq!((task.artifacts.len(), task.artifacts[0].parts.len()), (1, 2));
        assert_eq!(task.status.state, TaskState::Completed);
        apply(&mut task, &chunk("three").into());
        assert_eq!(task.artifacts[0].parts.len(), 1);
    }
}
