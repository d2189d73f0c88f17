//! The short way: a message in, words out.

use std::{
    fmt,
    pin::Pin,
    task::{Context, Poll},
};

use chancery_core::{
    Caller, CancelTask, Event, EventStream, GetTask, ListTasks, Message, Operations, Part, Result, SendMessage, SendReply, Seq,
    SharedEvent, Subscribe, Task, TaskId, TaskPage, TaskState,
};
use futures_core::Stream;

use crate::client::Client;

impl Client {
    /// Sends a message, and waits until the agent has done what it says or wants something.
    ///
    /// ```no_run
    /// # async fn run(agent: chancery_client::Client) -> chancery_core::Result<()> {
    /// let reply = agent.send("What is 6 times 7?").await?;
    /// println!("{}", reply.text());
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// Whatever the agent gives, or that it cannot be reached.
    pub async fn send(&self, message: impl Into<Message>) -> Result<Reply> {
        self.send_message(&Caller::anonymous(), SendMessage::new(message)).await.map(Reply)
    }

    /// Sends a message, and watches what happens.
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
        self.stream_message(&Caller::anonymous(), SendMessage::new(message)).await.map(Events)
    }

    /// Reads a task.
    ///
    /// # Errors
    /// As [`send`](Self::send).
    pub async fn task(&self, id: impl Into<TaskId>) -> Result<Task> {
        self.get_task(&Caller::anonymous(), GetTask::new(id)).await
    }

    /// Cancels a task.
    ///
    /// # Errors
    /// As [`send`](Self::send).
    pub async fn cancel(&self, id: impl Into<TaskId>) -> Result<Task> {
        self.cancel_task(&Caller::anonymous(), CancelTask::new(id)).await
    }

    /// Watches a task that is under way: first the task as it stands, then what happens to it.
    ///
    /// # Errors
    /// As [`send`](Self::send).
    pub async fn watch(&self, id: impl Into<TaskId>) -> Result<Events> {
        self.subscribe(&Caller::anonymous(), Subscribe::new(id)).await.map(Events)
    }

    /// Lists the newest tasks; [`Operations::list_tasks`] knows filters and further pages.
    ///
    /// # Errors
    /// As [`send`](Self::send).
    pub async fn list(&self) -> Result<TaskPage> {
        self.list_tasks(&Caller::anonymous(), ListTasks::default()).await
    }
}

/// What an agent answered to a message.
#[derive(Debug, Clone, PartialEq)]
pub struct Reply(SendReply);

impl Reply {
    /// The answer in words: of the message, or of the task's results, or else of its status.
    #[must_use]
    pub fn text(&self) -> String {
        match &self.0 {
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
        self.0.task()
    }

    /// The state of the task; completed for an answer that needed none.
    #[must_use]
    pub fn state(&self) -> TaskState {
        self.task().map_or(TaskState::Completed, Task::state)
    }

    /// The answer itself.
    #[must_use]
    pub fn into_inner(self) -> SendReply {
        self.0
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

/// What happens to a task, as it happens. Takes itself up again when its connection is cut.
pub struct Events(EventStream);

impl Events {
    /// The next event; `None` when the task is over or waits for the client.
    ///
    /// # Errors
    /// Whatever the agent gives, or that the stream was cut and could not be taken up again in time.
    pub async fn try_next(&mut self) -> Result<Option<Update>> {
        std::future::poll_fn(|cx| Pin::new(&mut *self).poll_next(cx)).await.transpose()
    }
}

impl Stream for Events {
    type Item = Result<Update>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.0.as_mut().poll_next(cx).map(|item| item.map(|item| item.map(|(seq, event)| Update { seq, event })))
    }
}

impl fmt::Debug for Events {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Events").finish_non_exhaustive()
    }
}

/// One event and its place in the stream. Shown, it is what a person wants to read of it.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Update {
    /// The place in the task's log if the agent tells it, else in this stream.
    pub seq: Seq,
    /// The event.
    pub event: SharedEvent,
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
        let state = |state: TaskState| state.as_str().trim_start_matches("TASK_STATE_").to_ascii_lowercase().replace('_', "-");
        match &*self.event {
            Event::Task(task) => write!(f, "task {}: {}", task.id, state(task.state())),
            Event::Message(message) => f.write_str(&message.text()),
            Event::Status(update) => {
                f.write_str(&state(update.status.state))?;
                let words = update.status.message.as_ref().map(Message::text).unwrap_or_default();
                if words.is_empty() { Ok(()) } else { write!(f, ": {words}") }
            }
            Event::Artifact(update) => f.write_str(&text_of(&update.artifact.parts)),
            _ => Ok(()),
        }
    }
}
