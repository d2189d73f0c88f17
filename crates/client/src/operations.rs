//! The protocol in full: every operation as a call.

use async_trait::async_trait;
use chancery_core::{
    Caller, CancelTask, Card, DeletePushConfig, Error, ErrorKind, EventStream, GetExtendedCard, GetPushConfig, GetTask, LazyTask,
    ListPushConfigs, ListTasks, Operations, PushConfig, PushConfigPage, Reply, Request, Result, SendMessage, SendReply, Subscribe, Task,
    TaskPage, Version,
};
use chancery_wire::facts;

use crate::{call::Answered, client::Client, watch::Watch};

#[async_trait]
impl Operations for Client {
    async fn send_message(&self, caller: &Caller, request: SendMessage) -> Result<SendReply> {
        match self.ask(caller, Request::SendMessage(Box::new(named(request)))).await? {
            Reply::Sent(reply) => Ok(reply),
            other => Err(unexpected(&other)),
        }
    }

    async fn stream_message(&self, caller: &Caller, request: SendMessage) -> Result<EventStream> {
        self.open(caller, Request::StreamMessage(Box::new(named(request)))).await
    }

    async fn get_task(&self, caller: &Caller, request: GetTask) -> Result<LazyTask> {
        self.get_task(caller, request).await.map(LazyTask::from)
    }

    async fn list_tasks(&self, caller: &Caller, request: ListTasks) -> Result<TaskPage<LazyTask>> {
        self.list_tasks(caller, request).await.map(TaskPage::from)
    }

    async fn cancel_task(&self, caller: &Caller, request: CancelTask) -> Result<Task> {
        self.ask_for_task(caller, Request::CancelTask(request)).await
    }

    async fn subscribe(&self, caller: &Caller, request: Subscribe) -> Result<EventStream> {
        self.open(caller, Request::Subscribe(request)).await
    }

    async fn create_push_config(&self, caller: &Caller, config: PushConfig) -> Result<PushConfig> {
        self.ask_for_config(caller, Request::CreatePushConfig(Box::new(config))).await
    }

    async fn get_push_config(&self, caller: &Caller, request: GetPushConfig) -> Result<PushConfig> {
        self.ask_for_config(caller, Request::GetPushConfig(request)).await
    }

    async fn list_push_configs(&self, caller: &Caller, request: ListPushConfigs) -> Result<PushConfigPage> {
        let task = GetTask::new(request.task_id.clone());
        match self.ask(caller, Request::ListPushConfigs(request)).await {
            Ok(Reply::PushConfigs(page)) => Ok(page),
            Ok(other) => Err(unexpected(&other)),
            // v0.1 can only read the one config, and says in its own way that there is none. A task that
            // is not there has none either, but that is another answer.
            Err(error) if !facts(self.version()).lists_push_configs && says_none(&error) => {
                self.get_task(caller, task).await.map(|_| PushConfigPage::default())
            }
            Err(error) => Err(error),
        }
    }

    async fn delete_push_config(&self, caller: &Caller, request: DeletePushConfig) -> Result<()> {
        match self.ask(caller, Request::DeletePushConfig(request)).await? {
            Reply::Deleted => Ok(()),
            other => Err(unexpected(&other)),
        }
    }

    async fn get_extended_card(&self, caller: &Caller, request: GetExtendedCard) -> Result<Card> {
        match self.ask(caller, Request::GetExtendedCard(request)).await? {
            Reply::Card(card) => {
                let card = self.trusted(*card).await?;
                self.adopt(&card);
                Ok(card)
            }
            other => Err(unexpected(&other)),
        }
    }
}

impl Client {
    /// Reads one task: as [`Operations::get_task`], decoded.
    ///
    /// # Errors
    /// As [`send`](Self::send).
    pub async fn get_task(&self, caller: &Caller, request: GetTask) -> Result<Task> {
        self.ask_for_task(caller, Request::GetTask(request)).await
    }

    /// Lists tasks: as [`Operations::list_tasks`], decoded.
    ///
    /// # Errors
    /// As [`send`](Self::send).
    pub async fn list_tasks(&self, caller: &Caller, request: ListTasks) -> Result<TaskPage> {
        match self.ask(caller, Request::ListTasks(request)).await? {
            Reply::Tasks(page) => page.decode(),
            other => Err(unexpected(&other)),
        }
    }

    /// What would be refused anyway is not sent: what the card does not offer, and webhooks without an address.
    fn check(&self, request: &Request) -> Result<()> {
        match request {
            Request::CreatePushConfig(config) => addressed(config)?,
            Request::SendMessage(send) | Request::StreamMessage(send) => {
                send.configuration.push_config.as_deref().map_or(Ok(()), addressed)?
            }
            _ => {}
        }
        self.demand_offered(request)
    }

    /// A stream, if the card offers any.
    async fn open(&self, caller: &Caller, request: Request) -> Result<EventStream> {
        self.check(&request)?;
        Watch::open(self.clone(), caller, request).await
    }

    async fn ask(&self, caller: &Caller, request: Request) -> Result<Reply> {
        self.check(&request)?;
        let call = self.call(caller, request);
        let (peer, answered) = self.perform(&call).await?;
        let Answered::Reply(mut reply) = answered else { return Err(Error::internal("one answer was asked for")) };
        match &mut reply {
            Reply::Sent(SendReply::Task(task)) => trim(task, &call.request, peer.route.version),
            Reply::Task(task) => trim(task.to_mut()?, &call.request, peer.route.version),
            Reply::PushConfig(config) => name(config, &call.request),
            Reply::PushConfigs(page) => page.configs.iter_mut().for_each(|config| name(config, &call.request)),
            Reply::Tasks(page) => {
                for task in &mut page.tasks {
                    trim(task.to_mut()?, &call.request, peer.route.version);
                }
            }
            _ => {}
        }
        Ok(reply)
    }

    async fn ask_for_task(&self, caller: &Caller, request: Request) -> Result<Task> {
        match self.ask(caller, request).await? {
            Reply::Task(task) => task.into_task(),
            other => Err(unexpected(&other)),
        }
    }

    async fn ask_for_config(&self, caller: &Caller, request: Request) -> Result<PushConfig> {
        match self.ask(caller, request).await? {
            Reply::PushConfig(config) => Ok(*config),
            other => Err(unexpected(&other)),
        }
    }
}

/// A webhook needs an address.
fn addressed(config: &PushConfig) -> Result<()> {
    if !config.url.trim().is_empty() {
        return Ok(());
    }
    let words = "the push config has no url, so nothing was sent; PushConfig::new takes the address that notifications go to";
    Err(Error::new(ErrorKind::InvalidParams, words).violation("url", "is required"))
}

/// Says whose config it is, where the answer leaves it to the question.
fn name(config: &mut PushConfig, request: &Request) {
    let task = match request {
        Request::CreatePushConfig(config) => &config.task_id,
        Request::GetPushConfig(get) => &get.task_id,
        Request::ListPushConfigs(list) => &list.task_id,
        _ => return,
    };
    if config.task_id.is_empty() {
        config.task_id = task.clone();
    }
}

/// A message needs an id.
fn named(mut request: SendMessage) -> SendMessage {
    if request.message.message_id.is_empty() {
        request.message.message_id = chancery_core::MessageId::generate();
    }
    request
}

/// Takes the history out of an answer if the request wanted none: before v1.0 that cannot be said
/// (CONV-SEND-003).
pub(crate) fn trim(task: &mut Task, request: &Request, version: Version) {
    let wanted = match request {
        Request::SendMessage(send) | Request::StreamMessage(send) => send.configuration.history_length,
        Request::GetTask(get) => get.history_length,
        Request::ListTasks(list) => list.history_length,
        _ => None,
    };
    if wanted == Some(0) && !facts(version).has_empty_history {
        task.trim_history(0);
    }
}

fn says_none(error: &Error) -> bool {
    use ErrorKind::{Internal, InvalidAgentResponse, InvalidParams, InvalidRequest, TaskNotFound, UnsupportedOperation};
    matches!(error.kind(), TaskNotFound | InvalidParams | InvalidRequest | Internal | UnsupportedOperation | InvalidAgentResponse)
}

fn unexpected(reply: &Reply) -> Error {
    Error::internal(format!("another answer was asked for than {reply:?}"))
}
