//! The turns of a task: begun, heard, ended.

use std::sync::OnceLock;

use chancery_core::{ArtifactUpdate, Caller, Message, Object, Result, SendMessage, Task, TaskState};
use tokio::sync::mpsc;

use super::{Answer, Driver, Unborn};
use crate::{
    agent::{Ending, Failure, Outcome, Running},
    clock::Timer,
    delegation::{
        self, Handoff,
        active::{ActiveHandoff, Canceling},
        calls,
    },
    direct,
    journal::Journal,
    keys::Keyed,
    mailbox::Mailbox,
    state::Entry,
    store::KeyAnswer,
    turn::{Emitted, Shared, Turn},
};

/// What a turn begins with.
pub(super) struct Opening {
    message: Message,
    caller: Caller,
    metadata: Object,
    accepted_output_modes: Vec<String>,
}

/// The turn that is running.
pub(super) struct Run {
    pub(super) agent: Running,
    pub(super) turn: Turn,
    /// When it takes too long.
    pub(super) limit: Option<Timer>,
    /// Where to tell a handoff that the task is to be canceled.
    pub(super) cancels: Option<mpsc::UnboundedSender<Canceling>>,
}

impl Driver {
    pub(super) fn next_turn(&mut self) {
        if self.run.is_some() || self.journal.state().is_terminal() {
            return;
        }
        if let Some(opening) = self.queue.pop_front() {
            self.attempt = 1;
            self.start_turn(opening);
        }
    }

    /// Takes up the turn of a process that died: the client's last message once more.
    pub(super) fn rerun(&mut self) {
        let live = &self.journal.live;
        let last = |task: &Task| task.history.iter().rev().find(|message| message.role == chancery_core::Role::User).cloned();
        let last = live.read(|task| calls::began(task).or_else(|| last(task)));
        let Some(message) = last else {
            self.journal.put_status(TaskState::Failed, Some(Message::agent("The task has no message to start again from.")));
            return;
        };
        let caller = self.journal.engine.caller_of(&live.owner);
        // The event also fences off the former holder, should it still be alive.
        self.journal.put_status(TaskState::Working, None);
        self.start_turn(Opening::again(message, caller));
    }

    pub(super) fn start_turn(&mut self, opening: Opening) {
        let turn = self.turn_of(opening);
        let setup = self.journal.engine.setup();
        let refused = delegation::receive::refused(setup.options.passing.as_deref(), &turn);
        let agent = refused.unwrap_or_else(|| setup.agent.clone().start(turn.clone()));
        let limit = setup.options.turn_timeout.map(|limit| self.journal.engine.timer(limit));
        self.run = Some(Run { agent, turn, limit, cancels: None });
    }

    /// Goes on with a turn that hands its task over.
    fn hand_over(&mut self, handoff: Handoff) {
        self.be_born();
        let live = self.journal.live.clone();
        let Some(run) = &mut self.run else { return };
        let Some(passing) = run.turn.passing() else { return self.ended(Err(delegation::perform::impossible())) };
        let (cancels, asked) = mpsc::unbounded_channel();
        let active =
            ActiveHandoff { turn: run.turn.clone(), live, passing, cancels: asked, canceling: Vec::new(), token: None, scope: None };
        (run.agent, run.limit, run.cancels) = (delegation::perform::start(active, handoff), None, Some(cancels));
    }

    /// Takes up the handoff of a process that died.
    pub(super) fn resume_handoff(&mut self) {
        let live = self.journal.live.clone();
        let last = live.read(|task| task.history.iter().rev().find(|message| message.role == chancery_core::Role::User).cloned());
        let turn = self.turn_of(Opening::again(last.unwrap_or_default(), self.journal.engine.caller_of(&live.owner)));
        let record = delegation::record::Record::read(turn.notes());
        let (Some(record), Some(passing)) = (record, turn.passing()) else {
            let words = Message::agent("The server was restarted, and can hand tasks over no more; the task was not finished.");
            return self.journal.put_status(TaskState::Failed, Some(words));
        };
        let (cancels, asked) = mpsc::unbounded_channel();
        let active = ActiveHandoff { turn: turn.clone(), live, passing, cancels: asked, canceling: Vec::new(), token: None, scope: None };
        self.run = Some(Run { agent: delegation::perform::resume(active, record), turn, limit: None, cancels: Some(cancels) });
    }

    fn turn_of(&self, opening: Opening) -> Turn {
        let Opening { message, caller, metadata, accepted_output_modes } = opening;
        let Journal { engine, live, context, .. } = &self.journal;
        let (mut history, artifacts, notes) = live.read(|task| {
            // The agent's question becomes history with the next event; this turn is after it.
            let asked = task.status.message.iter().filter(|_| task.status.state.is_interrupted());
            let history = task.history.iter().chain(asked).cloned().collect::<Vec<_>>();
            (history, task.artifacts.clone(), task.notes.clone())
        });
        // A message that is committed already, for the turn waited or is run again, is still this turn's own.
        // Its id alone does not tell: there are clients that use one id for everything.
        if let Some(own) = history.iter().rposition(|known| *known == message) {
            history.remove(own);
        }
        Turn::new(Shared {
            message,
            task: live.id.clone(),
            context: context.clone(),
            history,
            artifacts,
            notes,
            caller,
            metadata,
            accepted_output_modes,
            attempt: self.attempt,
            engine: engine.clone(),
            mailbox: Mailbox::default(),
            text: OnceLock::new(),
            calls: OnceLock::new(),
        })
    }

    pub(super) fn said(&mut self) {
        self.be_born();
        let mut heard = std::mem::take(&mut self.heard);
        let now = self.journal.now();
        for emitted in heard.drain(..) {
            self.unshown &= !matches!(emitted, Emitted::Artifact(_) | Emitted::Passed(_));
            if let Err(error) = emitted.put(&mut self.journal, now) {
                tracing::warn!(%error, "the agent said something that the protocol forbids");
                self.run = None;
                self.journal.put_status(TaskState::Failed, Some(Message::agent("The agent broke the protocol.")));
                break;
            }
        }
        heard.clear();
        self.heard = heard;
    }

    pub(super) fn ended(&mut self, ending: Result<Ending, Failure>) {
        // What was said before the end comes first.
        if self.run.as_ref().is_some_and(|run| run.turn.mailbox().drain(&mut self.heard, None)) {
            self.said();
        }
        let outcome = match ending {
            Ok(Ending::Outcome(Outcome::Transferred(handoff))) => return self.hand_over(*handoff),
            Ok(Ending::Outcome(outcome)) => Ok(Some(outcome)),
            Ok(Ending::Said) => Ok(None),
            Err(failure) => Err(failure),
        };
        let Some(run) = self.run.take() else { return };
        let unread = run.turn.mailbox().close();
        match outcome {
            Ok(Some(Outcome::Message(message))) if self.unborn.is_some() => return self.answer_directly(message),
            Ok(None) => {}
            Ok(Some(outcome)) => {
                self.be_born();
                self.put_outcome(outcome);
            }
            Err(failure) => {
                tracing::warn!(cause = ?failure.cause(), "the agent failed");
                self.be_born();
                self.journal.put_status(TaskState::Failed, Some(Message::agent(failure.told())));
            }
        }
        self.queue.extend(unread.into_iter().map(|message| Opening::again(message, run.turn.caller().clone())));
        self.next_turn();
    }

    /// Answers with a message; there is no task, and nothing is stored but the idempotency record.
    fn answer_directly(&mut self, mut message: Message) {
        let Some(unborn) = self.unborn.take() else { return };
        let Journal { engine, live, context, .. } = &self.journal;
        message.context_id = Some(context.clone());
        // v0.1 names its tasks itself and finds the answer under that name.
        message.task_id = unborn.send.create_missing.then(|| live.id.clone());
        let Unborn { key, answer: waiting, .. } = *unborn;
        match key.map(|key| *key) {
            None => drop(waiting.send(Ok(Answer::Message(Box::new(message))))),
            Some(Keyed { mut record, held }) => {
                let (engine, owner) = (engine.clone(), live.owner.clone());
                record.answer = KeyAnswer::Message(serde_json::to_vec(&message).unwrap_or_default().into());
                let drivers = engine.drivers.clone();
                let store = async move {
                    let stored = engine.store.put_key(&owner, record, engine.now()).await;
                    let answer = stored.map(|()| Answer::Message(Box::new(message))).map_err(crate::engine::unavailable);
                    drop(waiting.send(answer));
                    drop(held);
                };
                drivers.spawn(store);
            }
        }
    }

    fn put_outcome(&mut self, outcome: Outcome) {
        let journal = &mut self.journal;
        match outcome {
            Outcome::Completed => journal.put_status(TaskState::Completed, None),
            Outcome::Reply(message) => journal.put_status(TaskState::Completed, Some(message)),
            Outcome::Message(message) => {
                let mut status = journal.status(TaskState::Completed, Some(message));
                if self.unshown {
                    status = status.noted(direct::remarks());
                }
                journal.put(status);
            }
            Outcome::CompletedWith(artifact) => {
                let update = ArtifactUpdate::new(journal.live.id.clone(), journal.context.clone(), *artifact).last();
                journal.put(Entry::new(update));
                journal.put_status(TaskState::Completed, None);
            }
            Outcome::InputRequired(message) => journal.put_status(TaskState::InputRequired, Some(message)),
            Outcome::AuthRequired(message) => journal.put_status(TaskState::AuthRequired, Some(message)),
            Outcome::Rejected(message) => journal.put_status(TaskState::Rejected, Some(message)),
            Outcome::Failed(message) => journal.put_status(TaskState::Failed, Some(message)),
            // Such a turn goes on; it does not come here.
            Outcome::Transferred(_) => {}
        }
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        // What the agent left running elsewhere hears that the turn is over.
        drop(self.turn.mailbox().close());
    }
}

impl Opening {
    pub(super) fn new(message: Message, caller: Caller, send: &mut SendMessage) -> Self {
        let metadata = std::mem::take(&mut send.metadata);
        let accepted_output_modes = std::mem::take(&mut send.configuration.accepted_output_modes);
        Self { message, caller, metadata, accepted_output_modes }
    }

    /// A message of which no more is known.
    pub(super) fn again(message: Message, caller: Caller) -> Self {
        Self { message, caller, metadata: Object::new(), accepted_output_modes: Vec::new() }
    }
}
