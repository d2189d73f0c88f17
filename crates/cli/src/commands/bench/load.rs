//! What users do, one call after the other.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use chancery_client::Client;
use chancery_core::{
    Caller, Error, ErrorKind, EventStream, GetTask, ListTasks, Message, Operations as _, SendMessage, SendReply, Subscribe, TaskId,
};

/// How old a task may be that others subscribe to.
const YOUNG: Duration = Duration::from_millis(1_000);

/// What is done.
pub(super) struct Load {
    pub(super) scenario: String,
    pub(super) client: Client,
    pub(super) caller: Caller,
    /// For cards.
    pub(super) http: reqwest::Client,
    pub(super) card: String,
    pub(super) payload: String,
    pub(super) chunks: u32,
    /// How long a call may take.
    pub(super) limit: Duration,
    /// How long an idle stream is held.
    pub(super) hold: Duration,
    /// The task that is read.
    pub(super) task: Option<TaskId>,
    /// The task that all subscribe to, and since when.
    pub(super) shared: tokio::sync::Mutex<Option<(TaskId, Instant)>>,
}

/// What one call came to.
pub(super) struct Done {
    /// When the first event came, of a stream.
    pub(super) first: Option<Duration>,
}

impl Load {
    fn caller(&self) -> Caller {
        let held = if self.scenario == "idle" { self.hold } else { Duration::ZERO };
        match Instant::now().checked_add(self.limit.saturating_add(held)) {
            Some(deadline) => self.caller.clone().deadline(deadline),
            None => self.caller.clone(),
        }
    }

    /// Does it once; `turn` is the number of the call.
    pub(super) async fn one(self: &Arc<Self>, turn: u64) -> Result<Done, Error> {
        match self.scenario.as_str() {
            "stream" => self.stream(format!("stream {}", self.chunks)).await,
            "get" => self.get().await,
            "list" => self.list().await,
            "card" => self.card().await,
            "idle" => self.stream(format!("slow {}ms", self.hold.as_millis())).await,
            "fanout" => self.fanout().await,
            // Mostly reading, as agents are used.
            "mixed" => match turn % 10 {
                0..=6 => self.get().await,
                7 => self.list().await,
                _ => self.send().await,
            },
            _ => self.send().await,
        }
    }

    async fn send(&self) -> Result<Done, Error> {
        self.client.send_message(&self.caller(), SendMessage::new(Message::from(self.payload.clone()))).await.map(|_| Done { first: None })
    }

    async fn get(&self) -> Result<Done, Error> {
        let Some(task) = &self.task else { return Err(Error::new(ErrorKind::Internal, "there is no task to read")) };
        self.client.get_task(&self.caller(), GetTask::new(task.clone())).await.map(|_| Done { first: None })
    }

    async fn list(&self) -> Result<Done, Error> {
        let mut list = ListTasks::default();
        list.page_size = Some(10);
        self.client.list_tasks(&self.caller(), list).await.map(|_| Done { first: None })
    }

    async fn card(&self) -> Result<Done, Error> {
        let answer = self.http.get(&self.card).timeout(self.limit).send().await.and_then(reqwest::Response::error_for_status);
        let answer = answer.map_err(Error::internal)?;
        answer.bytes().await.map(|_| Done { first: None }).map_err(Error::internal)
    }

    async fn stream(&self, words: String) -> Result<Done, Error> {
        let begun = Instant::now();
        let stream = self.client.stream_message(&self.caller(), SendMessage::new(Message::from(words))).await?;
        read(stream, begun).await
    }

    async fn fanout(&self) -> Result<Done, Error> {
        let task = self.young().await?;
        let begun = Instant::now();
        read(self.client.subscribe(&self.caller(), Subscribe::new(task)).await?, begun).await
    }

    /// A task that has not run long, made by whoever comes first.
    async fn young(&self) -> Result<TaskId, Error> {
        let mut shared = self.shared.lock().await;
        if let Some((task, since)) = &*shared
            && since.elapsed() < YOUNG
        {
            return Ok(task.clone());
        }
        let mut request = SendMessage::new(Message::from("slow 2s"));
        request.configuration.return_immediately = true;
        match self.client.send_message(&self.caller(), request).await? {
            SendReply::Task(task) => {
                *shared = Some((task.id.clone(), Instant::now()));
                Ok(task.id)
            }
            SendReply::Message(_) => Err(Error::new(ErrorKind::Internal, "the agent makes no tasks")),
        }
    }
}

/// Reads a stream to its end.
async fn read(mut stream: EventStream, begun: Instant) -> Result<Done, Error> {
    let mut first = None;
    while let Some(event) = std::future::poll_fn(|cx| stream.as_mut().poll_next(cx)).await {
        event?;
        first.get_or_insert_with(|| begun.elapsed());
    }
    match first {
        Some(_) => Ok(Done { first }),
        None => Err(Error::new(ErrorKind::InvalidAgentResponse, "the stream ended without an event")),
    }
}
