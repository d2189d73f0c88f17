//! A task in an answer that is decoded lazily: whoever stored it encoded can hand it on without making types of it.

use std::{borrow::Cow, fmt, sync::Arc};

use serde::{Deserialize, Deserializer, Serialize, Serializer, ser};

use crate::{
    error::{Error, Result},
    task::Task,
};

/// A task that is kept encoded, and goes out as v1.0 JSON with little work.
pub trait EncodedTask: Send + Sync {
    /// Decodes the task.
    ///
    /// # Errors
    /// What is kept cannot be read.
    fn decode(&self) -> Result<Task>;

    /// Appends the v1.0 JSON of the task: byte for byte what the decoded task serializes to. With `empty_artifacts` the member
    /// `artifacts` is there even when it is empty.
    ///
    /// # Errors
    /// What is kept cannot be read. What was appended before is of no use then.
    fn append_json(&self, empty_artifacts: bool, out: &mut Vec<u8>) -> Result<()>;
}

/// A task, decoded or still [encoded](EncodedTask). Cheap to clone while it is encoded.
///
/// ```
/// use chancery_core::{LazyTask, Task, TaskState};
///
/// let task = LazyTask::from(Task::new("t-1", "c-1", TaskState::Working));
/// assert_eq!(task.task()?.id, "t-1");
/// assert_eq!(task.into_task()?.state(), TaskState::Working);
/// # Ok::<(), chancery_core::Error>(())
/// ```
#[derive(Clone)]
pub struct LazyTask(Form);

#[derive(Clone)]
enum Form {
    Decoded(Box<Task>),
    Encoded(Arc<dyn EncodedTask>),
}

impl LazyTask {
    /// A task that is kept encoded.
    pub fn encoded(task: impl EncodedTask + 'static) -> Self {
        Self(Form::Encoded(Arc::new(task)))
    }

    /// The task, decoded now if it was not before.
    ///
    /// # Errors
    /// It cannot be decoded.
    pub fn task(&self) -> Result<Cow<'_, Task>> {
        match &self.0 {
            Form::Decoded(task) => Ok(Cow::Borrowed(task)),
            Form::Encoded(task) => task.decode().map(Cow::Owned),
        }
    }

    /// The task if it is decoded: for whoever looks at it only if that costs nothing.
    #[must_use]
    pub fn decoded(&self) -> Option<&Task> {
        match &self.0 {
            Form::Decoded(task) => Some(task),
            Form::Encoded(_) => None,
        }
    }

    /// The task to change, decoded now if it was not before.
    ///
    /// # Errors
    /// It cannot be decoded.
    pub fn to_mut(&mut self) -> Result<&mut Task> {
        if let Form::Encoded(task) = &self.0 {
            self.0 = Form::Decoded(Box::new(task.decode()?));
        }
        match &mut self.0 {
            Form::Decoded(task) => Ok(task),
            Form::Encoded(_) => Err(Error::internal("the task was decoded on the lines above")),
        }
    }

    /// The task itself.
    ///
    /// # Errors
    /// It cannot be decoded.
    pub fn into_task(self) -> Result<Task> {
        match self.0 {
            Form::Decoded(task) => Ok(*task),
            Form::Encoded(task) => task.decode(),
        }
    }

    /// Appends its v1.0 JSON; see [`EncodedTask::append_json`].
    ///
    /// # Errors
    /// It is encoded, and cannot be read.
    pub fn append_json(&self, empty_artifacts: bool, out: &mut Vec<u8>) -> Result<()> {
        match &self.0 {
            Form::Decoded(task) => task.append_json(empty_artifacts, out),
            Form::Encoded(task) => task.append_json(empty_artifacts, out),
        }
    }
}

impl From<Task> for LazyTask {
    fn from(task: Task) -> Self {
        Self(Form::Decoded(Box::new(task)))
    }
}

/// Two tasks are equal when they are once decoded; what cannot be decoded equals nothing.
impl PartialEq for LazyTask {
    fn eq(&self, other: &Self) -> bool {
        matches!((self.task(), other.task()), (Ok(own), Ok(other)) if own == other)
    }
}

impl fmt::Debug for LazyTask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.task() {
            Ok(task) => task.fmt(f),
            Err(error) => error.fmt(f),
        }
    }
}

impl Serialize for LazyTask {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.task().map_err(ser::Error::custom)?.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for LazyTask {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Task::deserialize(deserializer).map(Self::from)
    }
}
