//! The seam: the eleven operations, once, for everyone who implements or calls them.

use async_trait::async_trait;

use crate::{
    caller::Caller,
    card::Card,
    error::Result,
    lazy::LazyTask,
    push::PushConfig,
    reply::{PushConfigPage, Reply, SendReply, TaskPage},
    request::{
        CancelTask, DeletePushConfig, GetExtendedCard, GetPushConfig, GetTask, ListPushConfigs, ListTasks, Request, SendMessage, Subscribe,
    },
    stream::EventStream,
    task::Task,
};

/// The operations of an agent. The engine runs them, a client sends them elsewhere, a gateway
/// chooses who does; the bindings are written against this trait alone.
#[async_trait]
pub trait Operations: Send + Sync {
    /// Sends a message and waits for the answer, as the request's configuration says.
    async fn send_message(&self, caller: &Caller, request: SendMessage) -> Result<SendReply>;

    /// Sends a message and watches what happens: first the task, then every later event.
    async fn stream_message(&self, caller: &Caller, request: SendMessage) -> Result<EventStream>;

    /// Reads one task.
    async fn get_task(&self, caller: &Caller, request: GetTask) -> Result<LazyTask>;

    /// Lists tasks, newest status first.
    async fn list_tasks(&self, caller: &Caller, request: ListTasks) -> Result<TaskPage<LazyTask>>;

    /// Cancels a task.
    async fn cancel_task(&self, caller: &Caller, request: CancelTask) -> Result<Task>;

    /// Watches a task: first the task as it stands, then every later event.
    async fn subscribe(&self, caller: &Caller, request: Subscribe) -> Result<EventStream>;

    /// Registers a webhook for a task.
    async fn create_push_config(&self, caller: &Caller, config: PushConfig) -> Result<PushConfig>;

    /// Reads one webhook config.
    async fn get_push_config(&self, caller: &Caller, request: GetPushConfig) -> Result<PushConfig>;

    /// Lists a task's webhook configs.
    async fn list_push_configs(&self, caller: &Caller, request: ListPushConfigs) -> Result<PushConfigPage>;

    /// Removes a webhook config; one that is gone already is no error.
    async fn delete_push_config(&self, caller: &Caller, request: DeletePushConfig) -> Result<()>;

    /// Reads the card for authenticated callers.
    async fn get_extended_card(&self, caller: &Caller, request: GetExtendedCard) -> Result<Card>;
}

/// The answer to a [`Request`]: one reply, or a stream of events.
pub enum Answer {
    /// The operation is done.
    Reply(Reply),
    /// The operation goes on.
    Stream(EventStream),
}

/// Calls the operation that a request asks for.
///
/// # Errors
/// Whatever the operation gives.
pub async fn call(operations: &dyn Operations, caller: &Caller, request: Request) -> Result<Answer> {
    Ok(Answer::Reply(match request {
        Request::SendMessage(request) => Reply::Sent(operations.send_message(caller, *request).await?),
        Request::StreamMessage(request) => return operations.stream_message(caller, *request).await.map(Answer::Stream),
        Request::GetTask(request) => Reply::Task(operations.get_task(caller, request).await?),
        Request::ListTasks(request) => Reply::Tasks(operations.list_tasks(caller, request).await?),
        Request::CancelTask(request) => Reply::Task(operations.cancel_task(caller, request).await?.into()),
        Request::Subscribe(request) => return operations.subscribe(caller, request).await.map(Answer::Stream),
        Request::CreatePushConfig(config) => Reply::PushConfig(Box::new(operations.create_push_config(caller, *config).await?)),
        Request::GetPushConfig(request) => Reply::PushConfig(Box::new(operations.get_push_config(caller, request).await?)),
        Request::ListPushConfigs(request) => Reply::PushConfigs(operations.list_push_configs(caller, request).await?),
        Request::DeletePushConfig(request) => {
            operations.delete_push_config(caller, request).await?;
            Reply::Deleted
        }
        Request::GetExtendedCard(request) => Reply::Card(Box::new(operations.get_extended_card(caller, request).await?)),
    }))
}
