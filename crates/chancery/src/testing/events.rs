//! Assertions on a stream of events.

use std::{
    collections::VecDeque,
    fmt::{self, Write as _},
    future::poll_fn,
    panic::Location,
};

use chancery_core::{Artifact, ArtifactUpdate, Event, EventStream, Message, Part, TaskId, TaskState, TaskStatus};
use chancery_engine::Engine;

use super::{PATIENCE, STANDING_STILL};

/// What happens to a task, with assertions.
///
/// Each `expect_…` reads on until what it wants has come, and leaves out what else comes before it: order counts, gaps do not. If the stream
/// ends without it, breaks, or says nothing for ten seconds, the test fails, and what did come is shown.
pub struct Events {
    stream: EventStream,
    /// What is told by events that were read, and was not asked for yet.
    pending: VecDeque<Fact>,
    /// The artifacts as far as they have come.
    artifacts: Vec<Artifact>,
    task: Option<TaskId>,
    /// What has come, for whoever reads that the test failed.
    seen: Vec<String>,
    /// An engine that nobody holds stops.
    _engine: Engine,
}

/// What an event tells.
enum Fact {
    Status(TaskStatus),
    /// An artifact, as far as it has come.
    Artifact(Artifact),
    Message(Message),
}

impl Events {
    pub(super) fn new(stream: EventStream, engine: &Engine) -> Self {
        Self { stream, pending: VecDeque::new(), artifacts: Vec::new(), task: None, seen: Vec::new(), _engine: engine.clone() }
    }

    /// The next event as it is; `None` at the end of the stream.
    ///
    /// # Panics
    /// When the stream breaks, or nothing comes for ten seconds.
    #[track_caller]
    pub fn next_event(&mut self) -> impl Future<Output = Option<Event>> {
        let at = Location::caller();
        async move {
            let event = self.read("another event, or the end", at).await;
            self.pending.clear();
            event
        }
    }

    /// The id of the task that the events are about.
    ///
    /// # Panics
    /// When no event of a task has come so far.
    #[track_caller]
    #[must_use]
    pub fn task_id(&self) -> TaskId {
        match &self.task {
            Some(task) => task.clone(),
            None => panic!("no event of a task has come so far{}", self.shown()),
        }
    }

    /// The agent works, and says this about it.
    ///
    /// # Panics
    /// When it does not.
    #[track_caller]
    pub fn expect_working(&mut self, words: &str) -> impl Future<Output = ()> {
        self.expect_status(TaskState::Working, Some(words))
    }

    /// The agent asks this question.
    ///
    /// # Panics
    /// When it does not.
    #[track_caller]
    pub fn expect_input_required(&mut self, question: &str) -> impl Future<Output = ()> {
        self.expect_status(TaskState::InputRequired, Some(question))
    }

    /// The agent demands an authorization in these words.
    ///
    /// # Panics
    /// When it does not.
    #[track_caller]
    pub fn expect_auth_required(&mut self, words: &str) -> impl Future<Output = ()> {
        self.expect_status(TaskState::AuthRequired, Some(words))
    }

    /// The task is done.
    ///
    /// # Panics
    /// When it is not.
    #[track_caller]
    pub fn expect_completed(&mut self) -> impl Future<Output = ()> {
        self.expect_status(TaskState::Completed, None)
    }

    /// The task fails, with these words.
    ///
    /// # Panics
    /// When it does not.
    #[track_caller]
    pub fn expect_failed(&mut self, words: &str) -> impl Future<Output = ()> {
        self.expect_status(TaskState::Failed, Some(words))
    }

    /// The agent declines, with these words.
    ///
    /// # Panics
    /// When it does not.
    #[track_caller]
    pub fn expect_rejected(&mut self, words: &str) -> impl Future<Output = ()> {
        self.expect_status(TaskState::Rejected, Some(words))
    }

    /// The task is canceled.
    ///
    /// # Panics
    /// When it is not.
    #[track_caller]
    pub fn expect_canceled(&mut self) -> impl Future<Output = ()> {
        self.expect_status(TaskState::Canceled, None)
    }

    /// An artifact has this text: all of its text parts, one after the other, from all chunks that have come. Gives it as it is then.
    ///
    /// # Panics
    /// When there is none.
    #[track_caller]
    pub fn expect_artifact(&mut self, text: &str) -> impl Future<Output = Artifact> {
        let (at, text) = (Location::caller(), text.to_owned());
        async move {
            let expected = format!("an artifact with the text {text:?}");
            let is_it = |fact| match fact {
                Fact::Artifact(artifact) if artifact_text(&artifact) == text => Some(artifact),
                _ => None,
            };
            self.until(&expected, at, is_it).await
        }
    }

    /// The agent answers with this message, without a task.
    ///
    /// # Panics
    /// When it does not.
    #[track_caller]
    pub fn expect_message(&mut self, text: &str) -> impl Future<Output = Message> {
        let (at, text) = (Location::caller(), text.to_owned());
        async move {
            let is_it = |fact| match fact {
                Fact::Message(message) if message.text() == text => Some(message),
                _ => None,
            };
            self.until(&format!("the message {text:?}"), at, is_it).await
        }
    }

    /// Nothing more comes.
    ///
    /// # Panics
    /// When something does.
    #[track_caller]
    pub fn expect_end(&mut self) -> impl Future<Output = ()> {
        let at = Location::caller();
        async move {
            if self.read("the end of the stream", at).await.is_some() {
                self.fail("the end of the stream", "something else came", at);
            }
        }
    }

    #[track_caller]
    fn expect_status(&mut self, state: TaskState, words: Option<&str>) -> impl Future<Output = ()> {
        let (at, words) = (Location::caller(), words.map(str::to_owned));
        async move {
            let expected = match &words {
                Some(words) => format!("the status {state} {words:?}"),
                None => format!("the status {state}"),
            };
            let is_it = |fact| match fact {
                Fact::Status(status) => (status.state == state && words.iter().all(|words| status_text(&status) == *words)).then_some(()),
                _ => None,
            };
            self.until(&expected, at, is_it).await;
        }
    }

    /// Reads on until a fact is the one.
    async fn until<T>(&mut self, expected: &str, at: &Location<'_>, is_it: impl Fn(Fact) -> Option<T>) -> T {
        loop {
            while let Some(fact) = self.pending.pop_front() {
                if let Some(found) = is_it(fact) {
                    return found;
                }
            }
            if self.read(expected, at).await.is_none() {
                self.fail(expected, "the stream ended", at);
            }
        }
    }

    async fn read(&mut self, expected: &str, at: &Location<'_>) -> Option<Event> {
        let next = poll_fn(|cx| self.stream.as_mut().poll_next(cx));
        match tokio::time::timeout(PATIENCE, next).await {
            Ok(None) => None,
            Ok(Some(Ok((_, event)))) => {
                let event = event.into_event();
                self.note(&event);
                Some(event)
            }
            Ok(Some(Err(error))) => self.fail(expected, &format!("the stream broke: {error:?}"), at),
            Err(_) => self.fail(expected, &format!("nothing came within {PATIENCE:?}; {STANDING_STILL}"), at),
        }
    }

    /// Takes in what an event tells.
    fn note(&mut self, event: &Event) {
        self.seen.push(shown(event, &self.artifacts));
        self.task = event.task_id().cloned().or(self.task.take());
        match event {
            Event::Task(task) => {
                self.artifacts.clone_from(&task.artifacts);
                let status = Fact::Status(task.status.clone());
                let artifacts = task.artifacts.iter().cloned().map(Fact::Artifact);
                // What an agent has made comes before it says that it is done.
                if task.status.state.ends_stream() {
                    self.pending.extend(artifacts.chain([status]));
                } else {
                    self.pending.extend(std::iter::once(status).chain(artifacts));
                }
            }
            Event::Message(message) => self.pending.push_back(Fact::Message((**message).clone())),
            Event::Status(update) => self.pending.push_back(Fact::Status(update.status.clone())),
            Event::Artifact(update) => {
                let artifact = self.grown(update);
                self.pending.push_back(Fact::Artifact(artifact));
            }
            _ => {}
        }
    }

    /// The artifact with its new chunk.
    fn grown(&mut self, update: &ArtifactUpdate) -> Artifact {
        let known = self.artifacts.iter_mut().find(|known| known.artifact_id == update.artifact.artifact_id);
        match known {
            Some(known) if update.append => {
                known.parts.extend(update.artifact.parts.iter().cloned());
                known.clone()
            }
            Some(known) => {
                known.clone_from(&update.artifact);
                known.clone()
            }
            None => {
                self.artifacts.push(update.artifact.clone());
                update.artifact.clone()
            }
        }
    }

    /// What has come so far, a line each.
    fn shown(&self) -> String {
        let mut text = if self.seen.is_empty() { "\nnothing came".to_owned() } else { "\nwhat came:".to_owned() };
        for (place, seen) in self.seen.iter().enumerate() {
            // Writing to a string does not fail.
            let _ = write!(text, "\n  {} {seen}", place + 1);
        }
        text
    }

    fn fail(&self, expected: &str, found: &str, at: &Location<'_>) -> ! {
        panic!("{at}: expected {expected}, but {found}{}", self.shown())
    }
}

impl fmt::Debug for Events {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(&self.seen).finish()
    }
}

/// An event in one line.
fn shown(event: &Event, artifacts: &[Artifact]) -> String {
    match event {
        Event::Task(task) => format!("task {}: {} {:?}", task.id, task.status.state, status_text(&task.status)),
        Event::Message(message) => format!("message {:?}", message.text()),
        Event::Status(update) => format!("status {} {:?}", update.status.state, status_text(&update.status)),
        Event::Artifact(update) => {
            // Only the first chunk says the name.
            let artifact = artifacts.iter().find(|known| known.artifact_id == update.artifact.artifact_id).unwrap_or(&update.artifact);
            let more = if update.append { ", more of it" } else { "" };
            let last = if update.last_chunk { ", its end" } else { "" };
            format!("artifact {:?}{more}{last}: {:?}", artifact.name, artifact_text(&update.artifact))
        }
        other => format!("{other:?}"),
    }
}

/// The words of a status.
pub(super) fn status_text(status: &TaskStatus) -> String {
    status.message.as_ref().map(Message::text).unwrap_or_default()
}

/// The text parts of an artifact, one after the other.
pub(super) fn artifact_text(artifact: &Artifact) -> String {
    artifact.parts.iter().filter_map(Part::as_text).collect()
}
