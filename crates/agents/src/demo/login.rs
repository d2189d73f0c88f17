//! Authorization of a task out of band: the link of `login`, which lets its task go on when somebody opens it.
//!
//! The link is made when the message comes in, since only then it is known for whom; the agent shows it, and whoever opens it answers
//! the task in the name of that caller. Links are kept in memory: after a restart a message still lets the task go on.

use std::{
    sync::{Arc, OnceLock},
    time::Duration,
};

use bytes::Bytes;
use chancery_core::{CallContext, Caller, GetTask, Message, Operations, Result, SendMessage, TaskId, TaskState, sync::Mutex};
use http::{Method, Request, Response, StatusCode};

use super::issuer::{Shelf, escaped, page, random, status};

/// Where the links lead.
pub(crate) const PATH: &str = "/login";
/// How long a link can be opened.
const LASTS: Duration = Duration::from_secs(24 * 3_600);
/// How many characters of a link nobody guesses.
const CODE: usize = 16;

/// The links that were given. Clones are the same ones.
#[derive(Clone, Default)]
pub(crate) struct Logins(Arc<Inner>);

#[derive(Default)]
struct Inner {
    /// Where the server is, which is known when it has its port.
    server: OnceLock<String>,
    links: Mutex<Shelf<Link>>,
}

/// Whom a link is for.
#[derive(Clone)]
struct Link {
    agent: Arc<dyn Operations>,
    caller: Caller,
    /// The task, once it has a name.
    task: Option<TaskId>,
}

impl Logins {
    /// Says where the server is. The first one stays.
    pub(crate) fn settle(&self, server: &str) {
        drop(self.0.server.set(format!("{server}{PATH}")));
    }

    /// A new link for a caller of an agent; `None` while nobody could open it.
    pub(crate) fn link(&self, agent: Arc<dyn Operations>, caller: &Caller) -> Option<String> {
        let server = self.0.server.get()?;
        let code: String = random()?.chars().take(CODE).collect();
        let mut caller = caller.clone();
        let names_tasks = caller.call().names_tasks;
        *caller.call_mut() = CallContext::default();
        caller.call_mut().names_tasks = names_tasks;
        self.0.links.lock().put(code.clone(), Link { agent, caller, task: None }, LASTS);
        Some(format!("{server}/{code}"))
    }

    /// Says which task a link is for.
    pub(crate) fn about(&self, link: &str, task: &TaskId) {
        if let Some(known) = self.0.links.lock().look(code(link)) {
            known.task = Some(task.clone());
        }
    }

    /// Somebody has opened a link.
    pub(crate) async fn answer(self, request: Request<Bytes>) -> Response<Bytes> {
        if request.method() != Method::GET {
            return status(StatusCode::METHOD_NOT_ALLOWED);
        }
        let code = code(request.uri().path());
        let link = self.0.links.lock().look(code).cloned();
        let opened = match link {
            Some(link) => link.open(code).await,
            None => Ok(false),
        };
        let mut response = match opened {
            Ok(true) => return page("<p>You are signed in, and the task goes on. You can close this page."),
            Ok(false) => page("<p>No task waits for this link any more. A message lets one go on, too."),
            Err(error) => page(&format!("<p>The task cannot go on: {}", escaped(&error.to_string()))),
        };
        *response.status_mut() = StatusCode::NOT_FOUND;
        response
    }
}

impl Link {
    /// Answers the task, if it still waits for this link.
    async fn open(&self, code: &str) -> Result<bool> {
        let Some(id) = &self.task else { return Ok(false) };
        let task = self.agent.get_task(&self.caller, GetTask::new(id.clone())).await?.into_task()?;
        let waits = |message: &Message| task.state() == TaskState::AuthRequired && message.text().contains(code);
        if !task.status.message.as_ref().is_some_and(waits) {
            return Ok(false);
        }
        let mut request = SendMessage::new(Message::user("I have signed in.").to_task(id.clone()));
        request.configuration.return_immediately = true;
        self.agent.send_message(&self.caller, request).await?;
        Ok(true)
    }
}

fn code(link: &str) -> &str {
    link.rsplit('/').next().unwrap_or_default()
}
