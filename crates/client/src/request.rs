//! A message and how it is sent: one word for each wish.

use std::time::{Duration, Instant};

use chancery_core::{Caller, ContextId, Message, PushConfig, Result, SendMessage, TaskId};
use serde_json::Value;

use crate::{
    client::Client,
    follow::Head,
    reply::{Events, Reply},
};

/// A message that is not sent yet, made by [`Client::request`] or [`Head::request`].
///
/// ```no_run
/// use chancery_client::Client;
/// use chancery_core::PushConfig;
///
/// # async fn run(agent: Client) -> chancery_core::Result<()> {
/// let reply = agent
///     .request("Count the ships in the harbor")
///     .history_length(0)
///     .accepted_output_modes(["text/plain", "application/json"])
///     .push(PushConfig::new("https://me.example.com/hook").token("a random secret"))
///     .return_immediately()
///     .send()
///     .await?;
/// println!("{}", reply.state());
/// # Ok(()) }
/// ```
#[derive(Debug, Clone)]
#[must_use = "nothing is sent before `send` or `stream`"]
pub struct RequestBuilder {
    client: Client,
    caller: Caller,
    request: SendMessage,
}

impl Client {
    /// A message with more to say about it than [`send`](Self::send) and [`stream`](Self::stream) can take.
    pub fn request(&self, message: impl Into<Message>) -> RequestBuilder {
        RequestBuilder { client: self.clone(), caller: self.traveler(), request: SendMessage::new(message) }
    }
}

impl Head {
    /// A message to the task, with more to say about it than [`send`](Self::send) and [`stream`](Self::stream) can take.
    pub fn request(&self, message: impl Into<Message>) -> RequestBuilder {
        let request = SendMessage::new(message.into().to_task(self.task_id().clone()));
        RequestBuilder { client: self.client().clone(), caller: self.caller().clone(), request }
    }
}

impl RequestBuilder {
    /// Goes on with a task: an answer to its question, or more of the same work.
    pub fn to_task(mut self, task: impl Into<TaskId>) -> Self {
        self.request.message.task_id = Some(task.into());
        self
    }

    /// Goes on with a conversation, in a task of its own.
    pub fn in_context(mut self, context: impl Into<ContextId>) -> Self {
        self.request.message.context_id = Some(context.into());
        self
    }

    /// Names another task that the agent should consult.
    pub fn referring_to(mut self, task: impl Into<TaskId>) -> Self {
        self.request.message.reference_task_ids.push(task.into());
        self
    }

    /// How many messages of its history come with the task; what the agent likes when not said.
    pub fn history_length(mut self, messages: u32) -> Self {
        self.request.configuration.history_length = Some(i32::try_from(messages).unwrap_or(i32::MAX));
        self
    }

    /// The media types that the answer may have; any when not said.
    pub fn accepted_output_modes(mut self, modes: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.request.configuration.accepted_output_modes = modes.into_iter().map(Into::into).collect();
        self
    }

    /// Tells this webhook what happens to the task, from its first event on. An agent whose card has no push notifications is not
    /// asked: the call fails.
    pub fn push(mut self, config: PushConfig) -> Self {
        self.request.configuration.push_config = Some(Box::new(config));
        self
    }

    /// Has the agent answer as soon as there is a task, instead of when it is done or wants something. [`Client::task`] and
    /// [`Client::watch`] tell how it goes on.
    pub fn return_immediately(mut self) -> Self {
        self.request.configuration.return_immediately = true;
        self
    }

    /// Adds an entry to the metadata of the request; that of the message is the [message's](Message::metadata).
    pub fn metadata(mut self, key: impl Into<String>, value: impl Into<Value>) -> Self {
        self.request.metadata.insert(key.into(), value.into());
        self
    }

    /// Asks for an extension in this call; [`Builder::extension`](crate::Builder::extension) does in all of them.
    pub fn extension(mut self, uri: impl Into<String>) -> Self {
        self.caller = self.caller.extension(uri);
        self
    }

    /// How long the call may take, or the stream until its end; [`Builder::timeout`](crate::Builder::timeout) when not said, and for
    /// ever once a stream has begun.
    pub fn timeout(mut self, limit: Duration) -> Self {
        self.caller = self.caller.deadline(Instant::now() + limit);
        self
    }

    /// Makes it the same request as any other with this key, if the agent knows what that is: it is done once. A new key when not said.
    pub fn idempotency_key(mut self, key: impl Into<String>) -> Self {
        self.caller = self.caller.idempotency_key(key);
        self
    }

    /// Sends it, as [`Client::send`] does.
    ///
    /// # Errors
    /// As [`Client::send`].
    pub async fn send(self) -> Result<Reply> {
        self.client.send_and_follow(self.caller, self.request).await
    }

    /// Sends it and watches what happens, as [`Client::stream`] does.
    ///
    /// # Errors
    /// As [`Client::send`].
    pub async fn stream(self) -> Result<Events> {
        let events = self.client.events_of(&self.caller, self.request).await?;
        Ok(Events::new(self.client, self.caller, events, true))
    }
}
