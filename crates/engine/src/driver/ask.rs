//! What is asked of a task: a message, its cancelation, a webhook.

use chancery_core::{Error, ErrorKind, Record, Result, StatusUpdate, Task, TaskState, TaskStatus, extension};
use tokio::sync::oneshot;

use super::{Ask, Command, Driver, Unborn, Wait, Waiting, run::Opening};
use crate::{
    delegation::{calls, record},
    state::Entry,
    turn,
};

impl Driver {
    pub(super) fn asked(&mut self, command: Command) {
        match command {
            Command::Message(ask) => self.message(ask),
            Command::Cancel(answer) => self.cancel(answer),
            Command::Watch(config, taken) => {
                if !self.journal.configs.contains(&config) {
                    self.journal.configs.push(config);
                }
                // Whoever asked may have gone away; the webhook stays.
                let _ = taken.send(());
            }
            Command::Unwatch(config) => self.journal.configs.retain(|known| *known != config),
        }
    }

    pub(super) fn new_task(&mut self, ask: Ask) {
        let Ask { mut send, caller, key, wait, answer } = ask;
        self.journal.context = send.message.context_id.clone().unwrap_or_default();
        let aware = caller.has_extension(extension::HANDOFF);
        let opening = Opening::new(send.message.clone(), caller, &mut send);
        self.start_turn(opening);
        let now = wait == Wait::Taken || send.configuration.push_config.is_some();
        self.unshown = wait == Wait::Done && !now;
        self.unborn = Some(Box::new(Unborn { send, key, wait, answer, aware, patience: None }));
        if now {
            self.be_born();
        }
    }

    /// Makes the new task's first event.
    pub(super) fn be_born(&mut self) {
        let Some(unborn) = self.unborn.take() else { return };
        let Unborn { mut send, key, wait, answer, aware, .. } = *unborn;
        let now = self.journal.now();
        let (id, context) = (&self.journal.live.id, &self.journal.context);
        let mut task = Task::new(id.clone(), context.clone(), TaskStatus::new(TaskState::Submitted).at(now));
        task.record = Record::new(send.origin).times(now, now);
        task.record.aware = aware;
        task.history = vec![turn::addressed(send.message, id, context)];
        if let Some(config) = send.configuration.push_config.take() {
            self.journal.add_config(*config);
        }
        if let Some(key) = key {
            self.journal.set_key(key);
        }
        self.journal.put(Entry::new(task));
        self.waiting.push(Waiting { seq: self.journal.seq(), wait, answer });
    }

    /// A message for a task that exists.
    fn message(&mut self, ask: Box<Ask>) {
        self.be_born();
        if !self.deferred.is_empty() || (ask.key.is_some() && self.journal.has_key()) {
            self.deferred.push_back(ask);
        } else {
            self.take_message(*ask);
        }
    }

    pub(super) fn take_message(&mut self, ask: Ask) {
        let Ask { mut send, caller, key, wait, answer } = ask;
        let now = self.journal.now();
        let (id, context, state) = (&self.journal.live.id, &self.journal.context, self.journal.state());
        if self.elsewhere {
            // It would end the turn that runs there, or hand over what is on its way already.
            drop(answer.send(Err(self.journal.worked_on_elsewhere())));
            return;
        }
        if state.is_terminal() {
            let error = Error::new(ErrorKind::UnsupportedOperation, "Task is in a terminal state and takes no further messages")
                .with("taskId", id.as_str())
                .with("state", state.as_str());
            drop(answer.send(Err(error)));
            return;
        }
        self.unshown = false;
        let message = turn::addressed(std::mem::take(&mut send.message), id, context);
        // A running task keeps its state; a waiting one goes on.
        let state = if self.run.is_some() && !state.is_interrupted() { state } else { TaskState::Working };
        let update = StatusUpdate::new(id.clone(), context.clone(), TaskStatus::new(state).at(now));
        // A message without a key leaves that of another alone; two with keys do not meet here.
        if let Some(key) = key {
            self.journal.set_key(key);
        }
        self.journal.put(Entry::with_message(update, message.clone()));
        self.waiting.push(Waiting { seq: self.journal.seq(), wait, answer });
        match &self.run {
            Some(run) => run.turn.mailbox().deliver(message),
            None => {
                // The answer to what another agent asked goes to the turn that asked it, which is run again.
                let began = self.journal.live.read(calls::began);
                let (message, answer) = match began {
                    Some(began) => (began, Some(message)),
                    None => (message, None),
                };
                self.queue.push_back(Opening::new(message, caller, &mut send));
                self.next_turn();
                if let (Some(run), Some(answer)) = (&self.run, answer) {
                    run.turn.mailbox().deliver(answer);
                }
            }
        }
        self.next_turn();
    }

    fn cancel(&mut self, answer: oneshot::Sender<Result<()>>) {
        self.be_born();
        if self.journal.state().is_terminal() {
            let error = Error::from(ErrorKind::TaskNotCancelable).with("taskId", self.journal.live.id.as_str());
            drop(answer.send(Err(error)));
            return;
        }
        if self.elsewhere && self.journal.live.read(record::Record::is_open) {
            // The other agent may have it already, and only that process can tell it.
            drop(answer.send(Err(self.journal.worked_on_elsewhere())));
            return;
        }
        if let Some(cancels) = self.run.as_ref().and_then(|run| run.cancels.as_ref()) {
            // Another agent may have the task, and is asked first. If nobody hears this, the answer says so.
            drop(cancels.send(answer));
            return;
        }
        // Who works for the task hears of it first, and has a while to stop (DE-6).
        if let Some(closing) = self.run.as_ref().and_then(|run| run.turn.close_calls()) {
            let (engine, live) = (self.journal.engine.clone(), self.journal.live.clone());
            self.journal.engine.drivers.spawn(async move {
                closing.await;
                // Nobody to ask any more means nobody who waits for the answer.
                drop(engine.command(&live, Command::Cancel(answer)));
            });
            return;
        }
        if self.run.is_none() {
            self.abandon_calls();
        }
        self.run = None;
        self.journal.put_status(TaskState::Canceled, None);
        self.canceling.push(answer);
    }

    /// Cancels what other agents do for a turn that nobody goes on with.
    pub(super) fn abandon_calls(&self) {
        let notes = self.journal.live.read(|task| task.notes.clone());
        let options = &self.journal.engine.setup().options;
        if let (false, Some(passing)) = (notes.is_empty(), options.passing.as_ref().or(options.reach.as_ref())) {
            self.journal.engine.drivers.spawn(calls::abandon(passing.clone(), notes));
        }
    }
}
