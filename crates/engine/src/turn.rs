//! One turn of an agent: what it was asked, and its ways to speak before it is done.

use std::sync::{Arc, OnceLock};

use chancery_core::{
    Artifact, ArtifactId, ArtifactUpdate, Caller, Content, ContextId, Event, GetTask, LazyTask, Message, Notes, Object, Part, Remarks,
    StatusUpdate, Task, TaskId, TaskState, TaskStatus, Timestamp, TransferContext,
};

use crate::{
    agent::Failure,
    delegation::{Passing, calls::Calls, perform, record::Record},
    engine::Inner,
    journal::Journal,
    mailbox::Mailbox,
    state::Entry,
};

/// One turn: a message, and everything around it. Cheap to clone; clones may be used from tasks that
/// the agent spawns.
#[derive(Clone)]
pub struct Turn {
    shared: Arc<Shared>,
}

pub(crate) struct Shared {
    pub(crate) message: Message,
    pub(crate) task: TaskId,
    pub(crate) context: ContextId,
    pub(crate) history: Vec<Message>,
    pub(crate) artifacts: Vec<Artifact>,
    /// What was noted about the task before this turn. The turn knows what it notes itself.
    pub(crate) notes: Notes,
    pub(crate) caller: Caller,
    pub(crate) metadata: Object,
    pub(crate) accepted_output_modes: Vec<String>,
    pub(crate) attempt: u32,
    pub(crate) engine: Arc<Inner>,
    pub(crate) mailbox: Mailbox,
    /// The text of a message that is not one text.
    pub(crate) text: OnceLock<String>,
    /// What other agents do for this turn; most turns ask nobody.
    pub(crate) calls: OnceLock<Box<Calls>>,
}

/// What an agent says before its turn is done.
pub(crate) enum Emitted {
    /// A status, with the words for it.
    Status(Box<StatusUpdate>),
    /// An artifact or a chunk of one.
    Artifact(Box<ArtifactUpdate>),
    /// Nothing more comes for this artifact.
    Finished(Box<ArtifactId>),
    /// A status, and what is noted together with it.
    Noted(Box<(StatusUpdate, Remarks)>),
    /// The task is handed over, as is to be noted.
    Passed(Box<Record>),
}

impl Emitted {
    fn status(status: TaskStatus) -> Self {
        Self::Status(Box::new(StatusUpdate::new("", "", status)))
    }

    /// Puts it into the journal, if it is legal.
    pub(crate) fn put(self, journal: &mut Journal, now: Timestamp) -> chancery_core::Result<()> {
        match self {
            Self::Status(update) => journal.try_put(status_entry(*update, journal, now)),
            Self::Noted(noted) => {
                let (update, remarks) = *noted;
                journal.try_put(status_entry(update, journal, now).noted(remarks))
            }
            Self::Artifact(mut update) => {
                if journal.state() == TaskState::Submitted {
                    // Whoever has something to show has begun to work.
                    journal.put_status(TaskState::Working, None);
                }
                (update.task_id, update.context_id) = (journal.live.id.clone(), journal.context.clone());
                journal.try_put(Entry::new(Event::Artifact(update)))
            }
            Self::Finished(id) => {
                journal.mark_last(&id);
                Ok(())
            }
            Self::Passed(record) => {
                perform::commit(journal, *record);
                Ok(())
            }
        }
    }
}

/// The entry of a status, once the task and the time are known.
fn status_entry(mut update: StatusUpdate, journal: &Journal, now: Timestamp) -> Entry {
    let (task, context) = (&journal.live.id, &journal.context);
    (update.task_id, update.context_id) = (task.clone(), context.clone());
    update.status.timestamp = Some(now);
    update.status.message = update.status.message.map(|message| addressed(message, task, context));
    Entry::new(update)
}

/// A message of the agent, with the task and the conversation it belongs to.
pub(crate) fn addressed(mut message: Message, task: &TaskId, context: &ContextId) -> Message {
    message.task_id = Some(task.clone());
    message.context_id = Some(context.clone());
    message
}

impl Turn {
    pub(crate) fn new(shared: Shared) -> Self {
        Self { shared: Arc::new(shared) }
    }

    /// The message of this turn.
    #[must_use]
    pub fn message(&self) -> &Message {
        &self.shared.message
    }

    /// The text of the message: its text parts, joined by line breaks.
    #[must_use]
    pub fn text(&self) -> &str {
        let message = &self.shared.message;
        match message.parts.as_slice() {
            [Part { content: Content::Text(text), .. }] => text,
            _ => self.shared.text.get_or_init(|| message.text()),
        }
    }

    /// The task that this turn belongs to, or would belong to if it needed one.
    #[must_use]
    pub fn task_id(&self) -> &TaskId {
        &self.shared.task
    }

    /// The conversation.
    #[must_use]
    pub fn context_id(&self) -> &ContextId {
        &self.shared.context
    }

    /// The messages of the task before this turn, oldest first.
    #[must_use]
    pub fn history(&self) -> &[Message] {
        &self.shared.history
    }

    /// What the task produced before this turn.
    #[must_use]
    pub fn artifacts(&self) -> &[Artifact] {
        &self.shared.artifacts
    }

    /// Who is calling.
    #[must_use]
    pub fn caller(&self) -> &Caller {
        &self.shared.caller
    }

    /// Whether the caller may use the skill of this id: it is on a card of this agent, and the caller has what the card demands for
    /// it. For agents that find out themselves which skill a message is about. A turn that is run again after a crash knows the name
    /// of its caller and no more, and may use only what is demanded of nobody.
    #[must_use]
    pub fn may(&self, skill: &str) -> bool {
        let setup = self.shared.engine.setup();
        let mut skills = setup.card.skills.iter().chain(setup.extended.iter().flat_map(|card| &card.skills));
        skills.find(|known| known.id == skill).is_some_and(|known| self.caller().may_use(known))
    }

    /// Facts about the request.
    #[must_use]
    pub fn metadata(&self) -> &Object {
        &self.shared.metadata
    }

    /// MIME types that the client can take; empty means anything.
    #[must_use]
    pub fn accepted_output_modes(&self) -> &[String] {
        &self.shared.accepted_output_modes
    }

    /// What came with the task when another agent handed it over to this one; `None` when none did. Another agent wrote it: data,
    /// and never more.
    #[must_use]
    pub fn handoff(&self) -> Option<TransferContext> {
        let messages = std::iter::once(&self.shared.message).chain(&self.shared.history);
        // One that cannot be read was refused when it came.
        messages.filter(|message| !message.metadata.is_empty()).find_map(|message| TransferContext::of(message).ok().flatten())
    }

    /// Whether an extension is active for this turn.
    #[must_use]
    pub fn has_extension(&self, uri: &str) -> bool {
        self.shared.caller.has_extension(uri)
    }

    /// 1 for the first try of this turn; more when a process died and the turn is run again.
    #[must_use]
    pub fn attempt(&self) -> u32 {
        self.shared.attempt
    }

    /// Waits until the task is canceled or the server stops. The future of the turn is dropped soon
    /// after; this is for work that was handed to other tasks.
    pub async fn canceled(&self) {
        self.shared.mailbox.over().await;
    }

    /// The tasks that the message refers to, as far as the caller may see them.
    pub async fn referenced_tasks(&self) -> Vec<Task> {
        let mut tasks = Vec::new();
        let operations = self.shared.engine.operations();
        for id in &self.shared.message.reference_task_ids {
            // Hints only: a task that is gone or somebody else's is as good as not named.
            let found = operations.get_task(&self.shared.caller, GetTask::new(id.clone())).await;
            if let Ok(task) = found.and_then(LazyTask::into_task) {
                tasks.push(task);
            }
        }
        tasks
    }

    /// Says what is going on: the task is working, and these are the words.
    ///
    /// # Errors
    /// When the task is over: canceled, or taken over by another process.
    pub fn status(&self, words: impl Into<Part>) -> impl Future<Output = Result<(), Failure>> {
        self.say(Message::agent(words))
    }

    /// Says that the work has begun: the task is working, and there is nothing more to say about it.
    ///
    /// # Errors
    /// As [`status`](Self::status).
    pub fn working(&self) -> impl Future<Output = Result<(), Failure>> {
        self.emit(Emitted::status(TaskStatus::new(TaskState::Working)))
    }

    /// As [`status`](Self::status), with a message.
    pub(crate) fn say(&self, message: Message) -> impl Future<Output = Result<(), Failure>> {
        self.emit(Emitted::status(TaskStatus::new(TaskState::Working).message(message)))
    }

    /// Says how far the work is, from 0 to 1, under the metadata key `progress`.
    ///
    /// # Errors
    /// As [`status`](Self::status).
    pub fn progress(&self, done: f64) -> impl Future<Output = Result<(), Failure>> {
        let mut update = StatusUpdate::new("", "", TaskState::Working);
        update.metadata.insert("progress".to_owned(), done.clamp(0.0, 1.0).into());
        self.emit(Emitted::Status(Box::new(update)))
    }

    /// Begins an artifact that is written in pieces.
    pub fn artifact(&self, name: impl Into<String>) -> ArtifactWriter {
        let name = name.into();
        ArtifactWriter { turn: self.clone(), id: ArtifactId::generate(), name: Some(name), begun: false }
    }

    /// Publishes a whole artifact.
    ///
    /// # Errors
    /// As [`status`](Self::status).
    pub fn publish(&self, artifact: Artifact) -> impl Future<Output = Result<(), Failure>> {
        let update = ArtifactUpdate::new("", "", artifact).last();
        self.emit(Emitted::Artifact(Box::new(update)))
    }

    /// The next message that the client sends to this task while the turn is running. Answers to questions of other agents, which work
    /// for this turn, go to those.
    pub async fn next_message(&self) -> Option<Message> {
        let asked = || self.shared.calls.get().is_some_and(|calls| calls.is_waiting());
        self.shared.mailbox.message_for(|_| !asked()).await
    }

    /// Asks a question and waits for the answer, within the turn.
    ///
    /// # Errors
    /// When the task is over before an answer comes.
    pub fn require_input(&self, question: impl Into<Part>) -> impl Future<Output = Result<Message, Failure>> {
        self.interrupt(TaskState::InputRequired, Message::agent(question))
    }

    /// Demands an authorization and waits for the client's next message, within the turn.
    ///
    /// # Errors
    /// When the task is over before an answer comes.
    pub fn require_auth(&self, what: impl Into<Part>) -> impl Future<Output = Result<Message, Failure>> {
        self.interrupt(TaskState::AuthRequired, Message::agent(what))
    }

    /// The question is in its box before anybody waits: many wait, and each with what is in its future.
    fn interrupt(&self, state: TaskState, message: Message) -> impl Future<Output = Result<Message, Failure>> {
        let question = Emitted::status(TaskStatus::new(state).message(message));
        async move {
            self.emit(question).await?;
            self.next_message().await.ok_or_else(gone)
        }
    }

    pub(crate) fn mailbox(&self) -> &Mailbox {
        &self.shared.mailbox
    }

    /// Says a status and notes something about the task for ourselves, in one commit.
    pub(crate) fn note(&self, update: StatusUpdate, remarks: Remarks) -> impl Future<Output = Result<(), Failure>> {
        self.emit(Emitted::Noted(Box::new((update, remarks))))
    }

    /// What was noted about the task before this turn.
    pub(crate) fn notes(&self) -> &Notes {
        &self.shared.notes
    }

    /// The card of the agent.
    #[cfg(feature = "scope")]
    pub(crate) fn card(&self) -> Arc<chancery_core::Card> {
        self.shared.engine.setup().card.clone()
    }

    /// What other agents do for this turn.
    pub(crate) fn calls(&self) -> &Calls {
        self.shared.calls.get_or_init(Box::default)
    }

    /// Cancels what other agents do for this turn; `None` when there is nothing to wait for.
    pub(crate) fn close_calls(&self) -> Option<impl Future<Output = ()> + Send + use<>> {
        self.shared.calls.get().and_then(|calls| calls.close())
    }

    /// Now, as the engine sees it.
    pub(crate) fn now(&self) -> Timestamp {
        self.shared.engine.now()
    }

    /// How other agents know this one.
    pub(crate) fn base_url(&self, passing: &Passing) -> String {
        match passing.base_url() {
            "" => format!("urn:chancery:agent/{}", self.shared.engine.name),
            url => url.trim_end_matches('/').to_owned(),
        }
    }

    /// How the engine passes work on, if it does.
    pub(crate) fn passing(&self) -> Option<Arc<Passing>> {
        let options = &self.shared.engine.setup().options;
        options.passing.as_ref().or(options.reach.as_ref()).cloned()
    }

    pub(crate) async fn emit(&self, emitted: Emitted) -> Result<(), Failure> {
        if self.shared.mailbox.emit(emitted).await { Ok(()) } else { Err(gone()) }
    }
}

fn gone() -> Failure {
    Failure::from("the task is over")
}

/// An artifact that is written in pieces.
pub struct ArtifactWriter {
    turn: Turn,
    id: ArtifactId,
    name: Option<String>,
    begun: bool,
}

impl ArtifactWriter {
    /// The artifact's id.
    #[must_use]
    pub fn id(&self) -> &ArtifactId {
        &self.id
    }

    /// Adds a piece, which whoever listens gets at once. An empty text adds nothing.
    ///
    /// # Errors
    /// When the task is over.
    pub async fn push(&mut self, part: impl Into<Part>) -> Result<(), Failure> {
        self.push_all([part]).await
    }

    /// Adds several pieces at once: they are stored together, and whoever listens gets them in one event. Empty texts are left out, and without
    /// any pieces nothing happens.
    ///
    /// ```
    /// use chancery_engine::{Failure, Outcome, Turn};
    /// # use chancery_core::Part;
    ///
    /// async fn survey(turn: Turn) -> Result<Outcome, Failure> {
    ///     let mut depths = turn.artifact("depths");
    ///     for meter in [4, 7] {
    ///         let picture = Part::raw(vec![meter]).media_type("image/png").filename(format!("{meter}.png"));
    ///         depths.push_all([Part::text(format!("{meter} m")), picture]).await?;
    ///     }
    ///     depths.finish().await?;
    ///     Ok(Outcome::Completed)
    /// }
    /// ```
    ///
    /// # Errors
    /// When the task is over.
    pub async fn push_all<P: Into<Part>>(&mut self, parts: impl IntoIterator<Item = P>) -> Result<(), Failure> {
        match self.chunk(parts) {
            Some(update) => self.turn.emit(Emitted::Artifact(Box::new(update))).await,
            None => Ok(()),
        }
    }

    /// Says that nothing more is coming. The last piece is marked as such unless it has gone out already: no piece waits for the next one,
    /// and none is sent that is empty. Whoever knows which piece is the last says so with [`finish_with`](Self::finish_with).
    ///
    /// # Errors
    /// When the task is over.
    pub async fn finish(self) -> Result<(), Failure> {
        match self.begun {
            true => self.turn.emit(Emitted::Finished(Box::new(self.id))).await,
            false => Ok(()),
        }
    }

    /// Adds the last pieces, and says that they are.
    ///
    /// ```
    /// use chancery_engine::{Failure, Outcome, Turn};
    ///
    /// async fn count(turn: Turn) -> Result<Outcome, Failure> {
    ///     let mut numbers = turn.artifact("numbers.txt");
    ///     numbers.push("1\n").await?;
    ///     numbers.finish_with(["2\n"]).await?;
    ///     Ok(Outcome::Completed)
    /// }
    /// ```
    ///
    /// # Errors
    /// When the task is over.
    pub async fn finish_with<P: Into<Part>>(mut self, parts: impl IntoIterator<Item = P>) -> Result<(), Failure> {
        match self.chunk(parts) {
            Some(update) => self.turn.emit(Emitted::Artifact(Box::new(update.last()))).await,
            None => self.finish().await,
        }
    }

    /// The next chunk, if there is anything in it: the protocol wants a part in every chunk, and an empty one would be the last thing that some clients show.
    fn chunk<P: Into<Part>>(&mut self, parts: impl IntoIterator<Item = P>) -> Option<ArtifactUpdate> {
        let parts: Vec<Part> = parts.into_iter().map(Into::into).filter(|part| !is_empty(part)).collect();
        if parts.is_empty() {
            return None;
        }
        let mut artifact = Artifact::default();
        artifact.artifact_id = self.id.clone();
        artifact.parts = parts;
        artifact.name = self.name.take().unwrap_or_default();
        let update = ArtifactUpdate::new("", "", artifact);
        Some(if std::mem::replace(&mut self.begun, true) { update.appended() } else { update })
    }
}

/// Whether a part says nothing at all. A file may be empty.
fn is_empty(part: &Part) -> bool {
    part.as_text() == Some("") && part.metadata.is_empty() && part.filename.is_empty()
}
