//! Delegation: another agent does a part of the work, and the turn goes on with the result.
//!
//! ```text
//!  turn.delegate(agent, message)
//!     |  hops, loops, the policy                        what may not be is not sent
//!     |  an id that a repetition of the turn gives again
//!     v
//!  noted? -- yes --> GetTask, LazyTask, Subscribe
//!     | no
//!  SendMessage, if only the result counts: most work is done at once
//!     | not done so soon
//!  StreamMessage under the same key, or SendMessage and GetTask again and again
//!     |  a new state   ->  WORKING here, noted in the same commit
//!     |  a question    ->  INPUT_REQUIRED here; the client's answer goes on to the agent
//!     |  handed over   ->  the same with the next agent
//!     v
//!  Delegated, or a DelegationError
//! ```

use std::{fmt, future::IntoFuture, pin::Pin, sync::Arc, time::Duration};

use chancery_core::{
    Caller, ContextId, Error, ErrorKind, Event, EventStream, GetTask, LazyTask, Message, MessageId, Operations, Part, Passage, Peer,
    Remarks, Role, SendMessage, SendReply, StatusUpdate, Subscribe, Task, TaskId, TaskState, TaskStatus, Transfer, extension,
    handoff::same_agent,
};
use serde_json::{Value, json};

use super::{
    Delegated, DelegationError, Passing, Step,
    calls::{NOTE, Noted, Open},
    delegated::{refused, unreachable},
    request::{about, addressed, allowed, call_id, check, entry, trail},
};
use crate::{
    state::{self, Entry},
    turn::Turn,
};

/// The first pause before a task of an agent without streams is read again, and the longest.
const PAUSE: Duration = Duration::from_millis(250);
const LONGEST: Duration = Duration::from_secs(10);
/// How long an agent may take for its result before it is asked to tell how it goes.
const SOON: Duration = Duration::from_millis(25);

impl Turn {
    /// Lets another agent do a part of the work. Awaited, it gives the agent's result:
    ///
    /// ```
    /// use chancery_engine::{Failure, Outcome, Turn};
    ///
    /// async fn accountant(turn: Turn) -> Result<Outcome, Failure> {
    ///     let balance = turn.delegate("https://ledger.example.com", "What is the balance of account 31?").await?;
    ///     Ok(Outcome::reply(format!("You have {}.", balance.text())))
    /// }
    /// ```
    ///
    /// Meanwhile this task is working; what the agent asks, its client is asked, and the answers go on to the agent. Canceling this task
    /// cancels the agent's. A turn that is run again after a crash finds the calls that it made: the n-th call with the same words to the
    /// same agent is the same call.
    pub fn delegate(&self, agent: impl Into<String>, message: impl Into<Message>) -> Delegation {
        let (agent, message) = (agent.into().trim_end_matches('/').to_owned(), message.into());
        Delegation { turn: self.clone(), agent, message, skill: String::new(), workflow: String::new() }
    }
}

/// Work for another agent that has not begun. It begins when it is awaited, or with [`stream`](Self::stream).
#[must_use = "nothing is delegated until it is awaited"]
pub struct Delegation {
    turn: Turn,
    agent: String,
    message: Message,
    skill: String,
    workflow: String,
}

impl Delegation {
    /// Says which skill of the agent is meant.
    pub fn skill(mut self, id: impl Into<String>) -> Self {
        self.skill = id.into();
        self
    }

    /// Says of which workflow this is a step.
    pub fn workflow(mut self, name: impl Into<String>) -> Self {
        self.workflow = name.into();
        self
    }

    /// Begins, and shows what happens on the way to the result.
    ///
    /// ```
    /// use chancery_core::Event;
    /// use chancery_engine::{Failure, Outcome, Turn};
    ///
    /// async fn editor(turn: Turn) -> Result<Outcome, Failure> {
    ///     let mut writer = turn.delegate("https://writer.example.com", turn.text()).stream().await?;
    ///     while let Some(event) = writer.next().await? {
    ///         if let Event::Artifact(update) = event {
    ///             turn.progress(update.artifact.parts.len() as f64 / 10.0).await?;
    ///         }
    ///     }
    ///     Ok(Outcome::reply(writer.finish().await?.text()))
    /// }
    /// ```
    ///
    /// # Errors
    /// When the work may not be passed on, or the agent cannot be found.
    pub async fn stream(self) -> Result<Delegating, DelegationError> {
        self.begin(false).await
    }

    async fn begin(self, result_only: bool) -> Result<Delegating, DelegationError> {
        let Self { turn, agent, mut message, skill, workflow } = self;
        let passing = turn.passing().ok_or_else(|| refused("not_configured", "this agent has nobody to pass work on to", &agent))?;
        let received = trail(&turn);
        let own = turn.base_url(&passing);
        check(&passing, &own, &received, &agent)?;
        // It is named after the call.
        message.message_id = MessageId::default();
        let id = call_id(&turn, &agent, &message);
        let trail = received.extended(entry(&own, &turn), passing.max_hops);
        let noted: Option<Noted> = turn.notes().read(&format!("{NOTE}{id}"));
        // Who has it now may be another agent than the one it was given to.
        let with = noted.as_ref().map_or(&agent, |noted| &noted.agent).clone();
        let peer = passing.peers.peer(&with).await.map_err(|source| unreachable(&with, source))?;
        let requires: Vec<_> = Some(&skill).filter(|skill| !skill.is_empty()).into_iter().cloned().collect();
        let (scope, warning) = match &passing.policy {
            None => (None, None),
            Some(policy) => {
                let context = turn.handoff();
                let step = Step {
                    kind: Passage::Delegation,
                    from: &own,
                    to: &with,
                    card: &peer.card,
                    requires: &requires,
                    workflow: &workflow,
                    caller: turn.caller(),
                    received: context.as_ref(),
                    trail: &trail,
                    now: turn.now(),
                };
                (allowed(&**policy, &step)?, policy.warning(&step).filter(|_| noted.is_none()))
            }
        };
        if let Some(violation) = warning {
            super::warn(&turn, &with, violation).await;
        }
        let mut caller = Caller::anonymous().extension(extension::HANDOFF).extension(extension::DELEGATION);
        caller.call_mut().trace.clone_from(&turn.caller().call().trace);
        caller.identity_mut().presented =
            turn.caller().identity().presented.as_ref().map(|presented| Box::new(presented.within(scope.as_ref())));
        caller.call_mut().grant = noted.as_ref().and_then(|noted| noted.grant.clone());
        let stage = match &noted {
            Some(_) => Stage::Attach,
            None => {
                let about = about(&id, &own, &turn, &trail, &skill, &workflow, scope);
                Stage::Send(Box::new(SendMessage::new(addressed(message, &id, about))), id.clone())
            }
        };
        let mut task = Task::default();
        task.id = noted.as_ref().map(|noted| noted.task.clone()).unwrap_or_default();
        let mut call = Delegating {
            turn,
            passing,
            id,
            agent: with,
            name: String::new(),
            peer: peer.operations.clone(),
            streams: false,
            result_only,
            caller,
            task,
            answer: None,
            mirrored: noted.map_or(TaskState::Unspecified, |noted| noted.state),
            stage,
            seen: Vec::new(),
            torn: false,
        };
        call.meet(&peer);
        Ok(call)
    }
}

impl IntoFuture for Delegation {
    type Output = Result<Delegated, DelegationError>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move { self.begin(true).await?.finish().await })
    }
}

/// Work that another agent does.
pub struct Delegating {
    turn: Turn,
    passing: Arc<Passing>,
    /// The name of the call.
    id: String,
    /// The base URL of the agent that has it now, and what it is called.
    agent: String,
    name: String,
    peer: Arc<dyn Operations>,
    streams: bool,
    /// Whether nobody looks at what happens on the way, and the agent takes the same message under the same key for one.
    result_only: bool,
    caller: Caller,
    /// What has become of it so far.
    task: Task,
    /// The answer of an agent that needed no task.
    answer: Option<Message>,
    /// The state that was shown last.
    mirrored: TaskState,
    stage: Stage,
    /// Agents and their tasks that have handed it over.
    seen: Vec<(String, TaskId)>,
    /// Whether something came that does not fit what came before, so that the task is read once more at the end.
    torn: bool,
}

enum Stage {
    /// A message is to be sent, under this key.
    Send(Box<SendMessage>, String),
    /// The task exists: it is read, for it may be over, and then watched.
    Attach,
    Watch,
    Live(EventStream),
    /// There are no streams; so often it was read without news.
    Polling(u32),
    Over,
}

impl Delegating {
    /// The name of the call, as the agent sees it.
    #[must_use]
    pub fn call(&self) -> &str {
        &self.id
    }

    /// The next event of the agent; `None` when it has done what it was asked.
    ///
    /// # Errors
    /// When it has not, or cannot be reached any more.
    pub async fn next(&mut self) -> Result<Option<Event>, DelegationError> {
        let event = self.news().await?;
        if let Some(event) = &event {
            self.take(event.clone()).await?;
        }
        Ok(event)
    }

    /// Waits for the result.
    ///
    /// # Errors
    /// As [`next`](Self::next).
    pub async fn finish(mut self) -> Result<Delegated, DelegationError> {
        while let Some(event) = self.news().await? {
            self.take(event).await?;
        }
        let reply = match self.answer {
            Some(message) => SendReply::Message(Box::new(message)),
            None => SendReply::Task(Box::new(self.task)),
        };
        Ok(Delegated { agent: self.agent, call: self.id, reply })
    }

    /// Takes note of whom it talks to.
    fn meet(&mut self, peer: &Peer) {
        self.peer = peer.operations.clone();
        self.streams = peer.card.capabilities.streaming.unwrap_or(false);
        self.result_only &= peer.card.capabilities.extensions.iter().any(|known| known.uri == extension::SEQUENCE);
        self.name = if peer.card.name.is_empty() { self.agent.clone() } else { peer.card.name.clone() };
    }

    /// What the agent says next, which is still to be [taken up](Self::take); `None` at the end.
    async fn news(&mut self) -> Result<Option<Event>, DelegationError> {
        loop {
            if let Stage::Over = self.stage {
                return self.end().await.map(|()| None);
            }
            let event = if self.task.state().is_interrupted() && !matches!(self.stage, Stage::Send(..) | Stage::Attach) {
                self.ask().await?
            } else {
                self.step().await?
            };
            if event.is_some() {
                return Ok(event);
            }
        }
    }

    /// One step on the way; nothing when there is no news.
    async fn step(&mut self) -> Result<Option<Event>, DelegationError> {
        match std::mem::replace(&mut self.stage, Stage::Polling(0)) {
            Stage::Send(request, key) => self.send(*request, key).await,
            Stage::Attach => {
                let task = self.read().await?;
                self.stage = if task.state().is_terminal() || !self.streams { Stage::Polling(0) } else { Stage::Watch };
                Ok(Some(task.into()))
            }
            Stage::Watch => {
                match self.peer.subscribe(&self.caller, Subscribe::new(self.task.id.clone())).await {
                    Ok(events) => self.stage = Stage::Live(events),
                    // What cannot be watched can be read: because it is over by now, or because it was said that there are streams.
                    Err(error) if matches!(error.kind(), ErrorKind::UnsupportedOperation | ErrorKind::MethodNotFound) => {}
                    Err(error) => return Err(self.lost(error)),
                }
                Ok(None)
            }
            Stage::Live(mut events) => match std::future::poll_fn(|cx| events.as_mut().poll_next(cx)).await {
                Some(Ok((_, event))) => {
                    self.stage = Stage::Live(events);
                    Ok(Some(event.into_event()))
                }
                Some(Err(error)) => Err(self.lost(error)),
                // The agent hung up; what it did not say can be read.
                None if self.task.id.is_empty() => Err(self.lost(Error::from(ErrorKind::InvalidAgentResponse))),
                None => Ok(None),
            },
            Stage::Polling(idle) => {
                tokio::time::sleep(PAUSE.saturating_mul(1 << idle.min(6)).min(LONGEST)).await;
                let task = self.read().await?;
                let news = task.status != self.task.status || task.artifacts != self.task.artifacts;
                self.stage = Stage::Polling(if news { 0 } else { idle + 1 });
                Ok(news.then(|| task.into()))
            }
            Stage::Over => Ok(None),
        }
    }

    async fn send(&mut self, mut request: SendMessage, key: String) -> Result<Option<Event>, DelegationError> {
        let caller = self.caller.clone().idempotency_key(key);
        if self.streams && self.result_only && request.message.task_id.is_none() {
            let asked = self.peer.send_message(&caller, request.clone());
            if let Ok(reply) = tokio::time::timeout(SOON, asked).await {
                self.stage = Stage::Watch;
                return Ok(Some(event_of(reply.map_err(|error| self.lost(error))?)));
            }
            // It takes longer. The same message under the same key is the same work, and its stream tells how it goes.
        }
        if self.streams {
            let events = self.peer.stream_message(&caller, request).await.map_err(|error| self.lost(error))?;
            self.stage = Stage::Live(events);
            return Ok(None);
        }
        request.configuration.return_immediately = true;
        let reply = self.peer.send_message(&caller, request).await.map_err(|error| self.lost(error))?;
        Ok(Some(event_of(reply)))
    }

    async fn read(&mut self) -> Result<Task, DelegationError> {
        let read = self.peer.get_task(&self.caller, GetTask::new(self.task.id.clone())).await;
        read.and_then(LazyTask::into_task).map_err(|error| self.lost(error))
    }

    /// Takes an event up, and shows it here if it is a new state.
    async fn take(&mut self, event: Event) -> Result<(), DelegationError> {
        match event {
            Event::Task(task) => self.task = *task,
            Event::Message(message) => {
                self.answer = Some(*message);
                self.stage = Stage::Over;
                return Ok(());
            }
            Event::Status(update) => {
                if self.task.id.is_empty() {
                    (self.task.id, self.task.context_id) = (update.task_id, update.context_id);
                }
                self.task.status = update.status;
                self.task.metadata.extend(update.metadata);
            }
            event => self.torn |= state::absorb(&mut self.task, Entry::new(event)).is_err(),
        }
        if let Some(transfer) = Transfer::of(&self.task.metadata).map_err(|error| self.lost(error))? {
            return self.go_on(transfer).await;
        }
        let state = self.task.state();
        if state.is_terminal() {
            self.stage = Stage::Over;
            self.turn.calls().shut(&self.id);
        } else {
            self.turn.calls().open(&self.id, Open { agent: self.peer.clone(), caller: self.caller.clone(), task: self.task.id.clone() });
        }
        // A question is shown when it is asked.
        if state != self.mirrored && !state.is_interrupted() {
            self.mirror().await?;
        }
        Ok(())
    }

    /// The agent handed the task over: goes on with the one that has it now (DE-8).
    async fn go_on(&mut self, transfer: Transfer) -> Result<(), DelegationError> {
        let agent = transfer.agent_endpoint.trim_end_matches('/').to_owned();
        self.seen.push((std::mem::replace(&mut self.agent, agent.clone()), self.task.id.clone()));
        if self.seen.len() > usize::try_from(self.passing.max_hops).unwrap_or(usize::MAX) {
            return Err(refused("hop_limit", "the work was handed over too often", &agent));
        }
        if self.seen.iter().any(|(seen, task)| same_agent(seen, &agent) && *task == transfer.task_id) {
            return Err(refused("loop_detected", "the work was handed over in a circle", &agent));
        }
        let peer = self.passing.peers.peer(&agent).await.map_err(|source| unreachable(&agent, source))?;
        self.meet(&peer);
        self.caller.call_mut().grant = transfer.grant.map(|grant| grant.token);
        self.task = Task::default();
        self.task.id = transfer.task_id;
        self.stage = Stage::Attach;
        Ok(())
    }

    /// Asks the client of this task what the agent asks, and takes the answer to the agent (DE-4). Gives an event when the agent went on by
    /// itself.
    async fn ask(&mut self) -> Result<Option<Event>, DelegationError> {
        let (turn, state) = (self.turn.clone(), self.task.state());
        let question = self.task.status.message.as_ref().map(|message| message.parts.clone()).filter(|parts| !parts.is_empty());
        let words = Message::new(Role::Agent, question.unwrap_or_else(|| vec![Part::text(format!("{} {}", self.name, verb(state)))]));
        let update = self.update(state, words);
        turn.calls().wait(&self.id, update.clone());
        self.mirrored = state;
        self.say(update).await?;
        let id = self.id.clone();
        let answer = tokio::select! {
            answer = turn.mailbox().message_for(|message| turn.calls().is_for(&id, message)) => answer,
            // An authorization may be given elsewhere.
            moved = self.step(), if state == TaskState::AuthRequired => {
                turn.calls().waited(&id);
                turn.mailbox().notify();
                return moved;
            }
        };
        let next = turn.calls().waited(&id);
        let Some(answer) = answer else { return Err(self.over().await) };
        if let Some(question) = next {
            // Somebody else still waits, and the client's message has put the task to work.
            self.say(question).await?;
        }
        turn.mailbox().notify();
        // The agent works on from here, as far as is known.
        self.task.status = TaskStatus::new(TaskState::Working);
        let key = format!("{}/{}", self.id, answer.message_id);
        let mut message = Message::new(Role::User, answer.parts).to_task(self.task.id.clone());
        message.context_id = Some(self.task.context_id.clone()).filter(|context| !ContextId::is_empty(context));
        self.stage = Stage::Send(Box::new(SendMessage::new(message)), key);
        Ok(None)
    }

    /// Shows a new state of the agent. While another call waits for the client, its question stays what the task says.
    async fn mirror(&mut self) -> Result<(), DelegationError> {
        self.mirrored = self.task.state();
        let update = match self.turn.calls().question() {
            Some(mut question) => {
                question.metadata.insert(extension::DELEGATION.to_owned(), self.about());
                question
            }
            None => self.update(TaskState::Working, Message::agent(format!("{} {}", self.name, verb(self.mirrored)))),
        };
        self.say(update).await
    }

    /// Where the call is.
    fn about(&self) -> Value {
        json!({"call": self.id, "agent": self.agent, "taskId": self.task.id, "state": self.task.state()})
    }

    /// A status of this task that tells of the agent's (DE-3).
    fn update(&self, state: TaskState, mut words: Message) -> StatusUpdate {
        words.metadata.insert(extension::DELEGATION.to_owned(), self.about());
        words.extensions.push(extension::DELEGATION.to_owned());
        StatusUpdate::new("", "", TaskStatus::new(state).message(words))
    }

    /// Says a status, and notes where the call is.
    async fn say(&mut self, update: StatusUpdate) -> Result<(), DelegationError> {
        let noted = Noted {
            agent: self.agent.clone(),
            task: self.task.id.clone(),
            state: self.task.state(),
            turn: self.turn.message().message_id.clone(),
            grant: self.caller.call().grant.clone(),
        };
        let remarks = Remarks::default().put(format!("{NOTE}{}", self.id), &noted);
        match self.turn.note(update, remarks).await {
            Ok(()) => Ok(()),
            Err(_) => Err(self.over().await),
        }
    }

    /// What has become of it in the end.
    async fn end(&mut self) -> Result<(), DelegationError> {
        self.rest_if_closing().await;
        if self.answer.is_none() && std::mem::take(&mut self.torn) {
            self.task = self.read().await?;
        }
        let state = self.task.state();
        match state {
            _ if self.answer.is_some() => Ok(()),
            TaskState::Completed => Ok(()),
            _ => Err(DelegationError::Undone { agent: self.agent.clone(), state, task: Box::new(self.task.clone()) }),
        }
    }

    async fn over(&mut self) -> DelegationError {
        self.rest_if_closing().await;
        DelegationError::Over
    }

    /// The turn of a task that is being canceled ends here: what its calls come to must not be its end.
    async fn rest_if_closing(&mut self) {
        if self.turn.calls().is_closing() {
            std::future::pending::<()>().await;
        }
    }

    fn lost(&self, source: Error) -> DelegationError {
        unreachable(&self.agent, source)
    }
}

impl fmt::Debug for Delegating {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Delegating")
            .field("call", &self.id)
            .field("agent", &self.agent)
            .field("task", &self.task.id)
            .finish_non_exhaustive()
    }
}

fn event_of(reply: SendReply) -> Event {
    match reply {
        SendReply::Task(task) => Event::Task(task),
        SendReply::Message(message) => Event::Message(message),
    }
}

fn verb(state: TaskState) -> &'static str {
    match state {
        TaskState::Submitted => "has the work",
        TaskState::Working => "is working",
        TaskState::Completed => "is done",
        TaskState::Failed => "failed",
        TaskState::Canceled => "was canceled",
        TaskState::Rejected => "declined",
        TaskState::InputRequired => "asks for an answer",
        TaskState::AuthRequired => "asks for an authorization",
        _ => "has news",
    }
}
