//! Operations without an engine: they answer every message with its words.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use async_trait::async_trait;
use chancery_core::{
    Caller, CancelTask, Card, DeletePushConfig, Error, ErrorKind, EventStream, GetExtendedCard, GetPushConfig, GetTask, LazyTask,
    ListPushConfigs, ListTasks, Message, Operations, PushConfig, PushConfigPage, Result, SendMessage, SendReply, Subscribe, Task, TaskPage,
};

#[derive(Clone, Default)]
pub(crate) struct Echo {
    /// How often a task was asked for.
    pub(crate) reads: Arc<AtomicUsize>,
}

/// The card of the operations, which does not know where they are.
pub(crate) fn card() -> Card {
    Card::new("Echo", "Repeats what it hears").skill("echo", "Says your words back")
}

fn missing() -> Error {
    Error::from(ErrorKind::TaskNotFound)
}

#[async_trait]
impl Operations for Echo {
    async fn send_message(&self, caller: &Caller, request: SendMessage) -> Result<SendReply> {
        let who = caller.identity().subject.as_deref().unwrap_or("nobody");
        Ok(SendReply::Message(Box::new(Message::agent(format!("{who}: {}", request.message.text())))))
    }

    async fn stream_message(&self, _: &Caller, _: SendMessage) -> Result<EventStream> {
        Err(Error::from(ErrorKind::UnsupportedOperation))
    }

    async fn get_task(&self, _: &Caller, _: GetTask) -> Result<LazyTask> {
        self.reads.fetch_add(1, Ordering::SeqCst);
        Err(missing())
    }

    async fn list_tasks(&self, _: &Caller, _: ListTasks) -> Result<TaskPage<LazyTask>> {
        Ok(TaskPage::default())
    }

    async fn cancel_task(&self, _: &Caller, _: CancelTask) -> Result<Task> {
        Err(missing())
    }

    async fn subscribe(&self, _: &Caller, _: Subscribe) -> Result<EventStream> {
        Err(missing())
    }

    async fn create_push_config(&self, _: &Caller, _: PushConfig) -> Result<PushConfig> {
        Err(missing())
    }

    async fn get_push_config(&self, _: &Caller, _: GetPushConfig) -> Result<PushConfig> {
        Err(missing())
    }

    async fn list_push_configs(&self, _: &Caller, _: ListPushConfigs) -> Result<PushConfigPage> {
        Err(missing())
    }

    async fn delete_push_config(&self, _: &Caller, _: DeletePushConfig) -> Result<()> {
        Err(missing())
    }

    async fn get_extended_card(&self, _: &Caller, _: GetExtendedCard) -> Result<Card> {
        Err(Error::from(ErrorKind::ExtendedAgentCardNotConfigured))
    }
}
