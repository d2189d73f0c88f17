//! Work that a process passes on: the lines `delegate` and `handoff`, and the answer `delegated`.

use std::sync::Arc;

use chancery_core::{Message, Object, Role, SendReply, Task, TaskState, TaskStatus};
use chancery_engine::{
    Outcome, Turn,
    clock::{Clock, SystemClock},
    delegation::{Delegated, DelegationError, Handoff},
};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::task::JoinSet;

use super::line::Words;
use crate::peers::Directory;

/// A part of the work for another agent.
#[derive(Debug, Deserialize)]
pub(crate) struct Delegate {
    /// How the process calls it.
    #[serde(default)]
    call: Value,
    /// A name of the file, or a URL.
    #[serde(default)]
    agent: String,
    #[serde(flatten)]
    words: Words,
    #[serde(default)]
    skill: Option<String>,
}

/// The whole task for another agent.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct HandOver {
    /// A name of the file, or a URL.
    #[serde(default)]
    agent: String,
    #[serde(default)]
    reason: Option<String>,
    #[serde(default)]
    requires: Vec<String>,
    #[serde(default)]
    state: Object,
    #[serde(default)]
    output_keys: Object,
    #[serde(flatten)]
    words: Words,
}

/// What other agents are doing for a turn. What is under way is dropped with it.
#[derive(Default)]
pub(crate) struct Calls(JoinSet<Value>);

impl Calls {
    /// Begins a call; its answer is the line for the process.
    pub(crate) fn begin(&mut self, turn: &Turn, directory: Option<&Arc<Directory>>, delegate: Delegate) {
        let (turn, directory) = (turn.clone(), directory.cloned());
        self.0.spawn(async move {
            let call = delegate.call.clone();
            let mut line = json!({"type": "delegated", "taskId": turn.task_id(), "call": call});
            match ask(&turn, directory, delegate).await {
                Ok(task) => line["task"] = task,
                Err(error) => line["error"] = error,
            }
            line
        });
    }

    /// Whether nobody does anything.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The line that tells of the next call that has ended; waits for ever when there is none.
    pub(crate) async fn next(&mut self) -> Value {
        loop {
            match self.0.join_next().await {
                Some(Ok(line)) => return line,
                Some(Err(error)) => tracing::error!(%error, "a call to another agent broke"),
                None => std::future::pending().await,
            }
        }
    }
}

async fn ask(turn: &Turn, directory: Option<Arc<Directory>>, delegate: Delegate) -> Result<Value, Value> {
    let Delegate { agent, words, skill, .. } = delegate;
    let error = |code: &str, message: String| json!({"code": code, "message": message, "agent": agent});
    let Some(directory) = directory else { return Err(error("not_configured", unconfigured())) };
    let Some(url) = directory.find(&agent).await else { return Err(error("unknown_agent", unknown(&agent))) };
    let mut message = Message::new(Role::User, words.parts());
    if message.parts.is_empty() {
        message.parts.clone_from(&turn.message().parts);
    }
    let mut delegation = turn.delegate(url, message);
    if let Some(skill) = skill {
        delegation = delegation.skill(skill);
    }
    delegation.await.map(done).map_err(|error| undone(&agent, &error))
}

/// The task of another agent that did what it was asked. One that answered without a task is shown as one that is done.
fn done(delegated: Delegated) -> Value {
    match delegated.reply {
        SendReply::Task(task) => json!(task),
        SendReply::Message(message) => {
            let id = message.task_id.clone().unwrap_or_default();
            let mut task = Task::new(id, message.context_id.clone().unwrap_or_default(), TaskState::Completed);
            task.status = TaskStatus::new(TaskState::Completed).at(SystemClock.now()).message(*message);
            json!(task)
        }
    }
}

fn undone(agent: &str, error: &DelegationError) -> Value {
    let message = match (error, std::error::Error::source(error)) {
        (_, Some(cause)) => format!("{error}: {cause}"),
        (DelegationError::Undone { task, .. }, None) => match task.status.message.as_ref().map(Message::text) {
            Some(said) if !said.is_empty() => format!("{error}: {said}"),
            _ => error.to_string(),
        },
        (error, None) => error.to_string(),
    };
    let mut told = json!({"agent": agent, "message": message});
    match error {
        DelegationError::Undone { state, task, .. } => {
            (told["code"], told["state"], told["task"]) = ("undone".into(), json!(state), json!(task));
        }
        DelegationError::Unreachable { .. } => told["code"] = "unreachable".into(),
        DelegationError::Refused { code, violation, .. } => {
            told["code"] = (*code).into();
            if !violation.is_empty() {
                told["violation"] = violation.clone().into();
            }
        }
        _ => told["code"] = "over".into(),
    }
    told
}

/// How a turn ends whose process hands its task over.
pub(crate) async fn hand_over(directory: Option<&Arc<Directory>>, wanted: HandOver) -> Outcome {
    let Some(directory) = directory else { return Outcome::failed(format!("The task is not handed over: {}.", unconfigured())) };
    let Some(url) = directory.find(&wanted.agent).await else {
        return Outcome::failed(format!("The task is not handed over: {}.", unknown(&wanted.agent)));
    };
    let mut handoff = Handoff::to(url);
    handoff.reason = wanted.reason.unwrap_or_default();
    (handoff.requires, handoff.state, handoff.output_keys) = (wanted.requires, wanted.state, wanted.output_keys);
    handoff.parts = wanted.words.parts();
    Outcome::transfer(handoff)
}

fn unconfigured() -> String {
    "the file of this agent has no section [handoff]".to_owned()
}

fn unknown(agent: &str) -> String {
    format!("{agent:?} is no agent of the file, no peer of [handoff], and no URL that it allows")
}
