//! Task grants: bearer tokens that open one task of somebody else (HO-54).

use async_trait::async_trait;

use crate::{Request, Result, Secret, TaskId};

/// Looks up what a grant opens. Whoever issues grants implements it, and bindings ask it for callers without credentials.
#[async_trait]
pub trait GrantLookup: Send + Sync {
    /// The task that a grant opens; `None` for one that was not issued here, or that has expired.
    ///
    /// # Errors
    /// When the grants cannot be read.
    async fn granted(&self, grant: &Secret) -> Result<Option<GrantedTask>>;
}

/// The one task that a grant opens.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct GrantedTask {
    /// The tenant that it is of; empty for none.
    pub tenant: String,
    /// The task.
    pub task: TaskId,
}

impl GrantedTask {
    /// A task of a tenant, which is empty for none.
    pub fn new(tenant: impl Into<String>, task: impl Into<TaskId>) -> Self {
        Self { tenant: tenant.into(), task: task.into() }
    }

    /// Whether a grant is enough for a request: it reads the task, watches it, sends it a message, or cancels it. A webhook that comes
    /// with the message is more than that.
    #[must_use]
    pub fn covers(&self, request: &Request) -> bool {
        let task = match request {
            Request::GetTask(request) => Some(&request.id),
            Request::Subscribe(request) => Some(&request.id),
            Request::CancelTask(request) => Some(&request.id),
            Request::SendMessage(request) | Request::StreamMessage(request) if request.configuration.push_config.is_none() => {
                request.message.task_id.as_ref()
            }
            _ => None,
        };
        task == Some(&self.task) && request.tenant() == self.tenant
    }
}
