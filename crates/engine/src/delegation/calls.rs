//! The calls that a turn has made to other agents: which are open, and which wait for an answer of the client.

use std::{
    collections::HashMap,
    sync::{Arc, MutexGuard},
    time::Duration,
};

use chancery_core::{
    Caller, CancelTask, Message, MessageId, Notes, Operations, Secret, StatusUpdate, Task, TaskId, TaskState, extension, sync::Mutex,
};
use serde::{Deserialize, Serialize};

use super::Passing;

/// How long other agents have to cancel what they do for a task that is canceled.
const PATIENCE: Duration = Duration::from_secs(10);
/// What the names of notes about calls begin with.
pub(crate) const NOTE: &str = "call/";

/// What is noted about a call, so that it is found again after a crash.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Noted {
    /// The base URL of the agent that has it now.
    pub(crate) agent: String,
    pub(crate) task: TaskId,
    pub(crate) state: TaskState,
    /// The message of the turn that made the call.
    pub(crate) turn: MessageId,
    /// What opens the task there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) grant: Option<Secret>,
}

/// A call that another agent works on.
#[derive(Clone)]
pub(crate) struct Open {
    pub(crate) agent: Arc<dyn Operations>,
    pub(crate) caller: Caller,
    pub(crate) task: TaskId,
}

/// The calls of one turn.
#[derive(Default)]
pub(crate) struct Calls(Mutex<Papers>);

#[derive(Default)]
struct Papers {
    /// How often the turn asked the same of the same agent.
    asked: HashMap<u128, u32>,
    open: HashMap<String, Open>,
    /// The calls that wait for the client, and what they ask; longest first.
    waiting: Vec<(String, StatusUpdate)>,
    /// The task is being canceled.
    closing: bool,
}

impl Calls {
    /// How often this was asked before.
    pub(crate) fn again(&self, what: u128) -> u32 {
        let mut papers = self.lock();
        let asked = papers.asked.entry(what).or_default();
        *asked += 1;
        *asked - 1
    }

    pub(crate) fn open(&self, id: &str, open: Open) {
        self.lock().open.insert(id.to_owned(), open);
    }

    pub(crate) fn shut(&self, id: &str) {
        self.lock().open.remove(id);
    }

    pub(crate) fn is_closing(&self) -> bool {
        self.lock().closing
    }

    /// A call waits for the client from now on.
    pub(crate) fn wait(&self, id: &str, question: StatusUpdate) {
        self.lock().waiting.push((id.to_owned(), question));
    }

    /// A call waits no longer; gives what the one asks that has waited longest, if there is one.
    pub(crate) fn waited(&self, id: &str) -> Option<StatusUpdate> {
        let mut papers = self.lock();
        papers.waiting.retain(|(waiting, _)| waiting != id);
        drop(papers);
        self.question()
    }

    /// Whether a call waits for the client: the next message is its answer then.
    pub(crate) fn is_waiting(&self) -> bool {
        !self.lock().waiting.is_empty()
    }

    /// What the call asks that has waited longest.
    pub(crate) fn question(&self) -> Option<StatusUpdate> {
        self.lock().waiting.first().map(|(_, question)| question.clone())
    }

    /// Whether a message of the client is the answer that this call waits for: it names the call, or it names none that waits and this
    /// one has waited longest (DE-4).
    pub(crate) fn is_for(&self, id: &str, message: &Message) -> bool {
        let named = message.metadata.get(extension::DELEGATION).and_then(|about| about.get("call")).and_then(serde_json::Value::as_str);
        let papers = self.lock();
        let named = named.filter(|named| papers.waiting.iter().any(|(waiting, _)| waiting == named));
        named.or_else(|| papers.waiting.first().map(|(oldest, _)| oldest.as_str())) == Some(id)
    }

    /// Cancels what is open, because the task is canceled; `None` when there is nothing to wait for.
    pub(crate) fn close(&self) -> Option<impl Future<Output = ()> + Send + use<>> {
        let mut papers = self.lock();
        if std::mem::replace(&mut papers.closing, true) || papers.open.is_empty() {
            return None;
        }
        Some(cancel(papers.open.drain().map(|(_, open)| open).collect()))
    }

    fn lock(&self) -> MutexGuard<'_, Papers> {
        // Nothing in here panics half way through a change.
        self.0.lock()
    }
}

/// The message that began the turn whose calls are still open: a turn that is taken up again is that one.
pub(crate) fn began(task: &Task) -> Option<Message> {
    let open = task.notes.under::<Noted>(NOTE).find(|(_, noted)| !noted.state.is_terminal())?.1;
    task.history.iter().find(|message| message.message_id == open.turn).cloned()
}

/// Cancels what other agents still do for a task that nobody works on any more (DE-7).
pub(crate) async fn abandon(passing: Arc<Passing>, notes: Notes) {
    let mut open = Vec::new();
    for (_, noted) in notes.under::<Noted>(NOTE).filter(|(_, noted)| !noted.state.is_terminal()) {
        match passing.peers.peer(&noted.agent).await {
            Ok(peer) => {
                let caller = noted.grant.map_or_else(Caller::anonymous, |grant| Caller::anonymous().grant(grant));
                open.push(Open { agent: peer.operations, caller, task: noted.task });
            }
            Err(error) => tracing::warn!(agent = noted.agent, %error, "a call of a task that is over cannot be canceled"),
        }
    }
    cancel(open).await;
}

/// Cancels tasks of other agents, all at once, as far as they do it in time.
async fn cancel(open: Vec<Open>) {
    let mut all = tokio::task::JoinSet::new();
    for Open { agent, caller, task } in open {
        all.spawn(async move {
            if let Err(error) = agent.cancel_task(&caller, CancelTask::new(task.clone())).await {
                tracing::debug!(%task, %error, "a call could not be canceled");
            }
        });
    }
    let everybody = async { while all.join_next().await.is_some() {} };
    if tokio::time::timeout(PATIENCE, everybody).await.is_err() {
        tracing::warn!("not everybody has canceled in time");
    }
}
