//! Assertions on an answer.

use chancery_core::{Artifact, Message, Part, SendReply, Task, TaskId, TaskState};

use super::events::{artifact_text, status_text};

/// What an agent answered to a message, with assertions. They give the answer back, so that one follows the other.
#[derive(Debug, Clone)]
pub struct Reply(SendReply);

impl Reply {
    pub(super) fn new(answer: SendReply) -> Self {
        Self(answer)
    }

    /// The answer in words: of the message; else of the artifacts, one after the other; else of the task's status.
    #[must_use]
    pub fn text(&self) -> String {
        match &self.0 {
            SendReply::Message(message) => message.text(),
            SendReply::Task(task) if task.artifacts.is_empty() => status_text(&task.status),
            SendReply::Task(task) => task.artifacts.iter().map(artifact_text).collect(),
        }
    }

    /// The task; `None` for an answer that needed none.
    #[must_use]
    pub fn task(&self) -> Option<&Task> {
        match &self.0 {
            SendReply::Task(task) => Some(task),
            SendReply::Message(_) => None,
        }
    }

    /// The id of the task.
    ///
    /// # Panics
    /// When the answer is a message.
    #[track_caller]
    #[must_use]
    pub fn task_id(&self) -> TaskId {
        match self.task() {
            Some(task) => task.id.clone(),
            None => panic!("expected a task, but {}", self.shown()),
        }
    }

    /// A message to the same task.
    ///
    /// # Panics
    /// When the answer is a message.
    #[track_caller]
    pub fn follow_up(&self, part: impl Into<Part>) -> Message {
        Message::user(part).to_task(self.task_id())
    }

    /// The answer as it is.
    #[must_use]
    pub fn into_inner(self) -> SendReply {
        self.0
    }

    /// The agent answered with this direct message, without a task.
    ///
    /// # Panics
    /// When it did not.
    #[track_caller]
    pub fn expect_message(&self, text: &str) -> &Self {
        self.check(self.task().is_none() && self.text() == text, &format!("the message {text:?}"))
    }

    /// The task is done.
    ///
    /// # Panics
    /// When it is not.
    #[track_caller]
    pub fn expect_completed(&self) -> &Self {
        self.expect_status(TaskState::Completed, None)
    }

    /// The task is done, and these are the words of the reply.
    ///
    /// # Panics
    /// When it is not.
    #[track_caller]
    pub fn expect_reply(&self, words: &str) -> &Self {
        self.expect_status(TaskState::Completed, Some(words))
    }

    /// The agent asks this question.
    ///
    /// # Panics
    /// When it does not.
    #[track_caller]
    pub fn expect_input_required(&self, question: &str) -> &Self {
        self.expect_status(TaskState::InputRequired, Some(question))
    }

    /// The agent demands an authorization in these words.
    ///
    /// # Panics
    /// When it does not.
    #[track_caller]
    pub fn expect_auth_required(&self, words: &str) -> &Self {
        self.expect_status(TaskState::AuthRequired, Some(words))
    }

    /// The task failed, with these words.
    ///
    /// # Panics
    /// When it did not.
    #[track_caller]
    pub fn expect_failed(&self, words: &str) -> &Self {
        self.expect_status(TaskState::Failed, Some(words))
    }

    /// The agent declined, with these words.
    ///
    /// # Panics
    /// When it did not.
    #[track_caller]
    pub fn expect_rejected(&self, words: &str) -> &Self {
        self.expect_status(TaskState::Rejected, Some(words))
    }

    /// The task has an artifact with this text: all of its text parts, one after the other.
    ///
    /// # Panics
    /// When it has not.
    #[track_caller]
    pub fn expect_artifact(&self, text: &str) -> &Self {
        let has = |task: &Task| task.artifacts.iter().any(|artifact| artifact_text(artifact) == text);
        self.check(self.task().is_some_and(has), &format!("an artifact with the text {text:?}"))
    }

    #[track_caller]
    fn expect_status(&self, state: TaskState, words: Option<&str>) -> &Self {
        let is_it = |task: &Task| task.status.state == state && words.is_none_or(|words| status_text(&task.status) == words);
        let expected = words.map_or_else(|| format!("the status {state}"), |words| format!("the status {state} {words:?}"));
        self.check(self.task().is_some_and(is_it), &expected)
    }

    #[track_caller]
    fn check(&self, holds: bool, expected: &str) -> &Self {
        assert!(holds, "expected {expected}, but {}", self.shown());
        self
    }

    fn shown(&self) -> String {
        match &self.0 {
            SendReply::Message(message) => format!("the answer is the message {:?}", message.text()),
            SendReply::Task(task) => {
                let show = |artifact: &Artifact| format!(", the artifact {:?}: {:?}", artifact.name, artifact_text(artifact));
                let artifacts: String = task.artifacts.iter().map(show).collect();
                format!("the answer is a task: {} {:?}{artifacts}", task.status.state, status_text(&task.status))
            }
        }
    }
}
