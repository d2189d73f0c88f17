//! An active handoff: the task that is being handed over with its turn, its events, and those who cancel it.

use std::{sync::Arc, time::Duration};

use chancery_core::{
    Caller, CancelTask, Error, ErrorKind, Message, Object, Peer, Result, Secret, StatusUpdate, Task, TaskId, TaskState, extension,
};
use tokio::sync::{mpsc, oneshot};

use super::{Passing, record::Record};
use crate::{
    agent::Failure,
    live::{Live, Woken},
    turn::{Emitted, Turn},
};

/// How long the other agent may take to cancel.
const CANCEL_TIME: Duration = Duration::from_secs(10);
/// Somebody who wants the task canceled, and waits for the answer.
pub(crate) type Canceling = oneshot::Sender<Result<()>>;

/// A task that is being handed over, or was.
pub(crate) struct ActiveHandoff {
    pub(crate) turn: Turn,
    pub(crate) live: Arc<Live>,
    pub(crate) passing: Arc<Passing>,
    pub(crate) cancels: mpsc::UnboundedReceiver<Canceling>,
    /// Those whose wish is being fulfilled.
    pub(crate) canceling: Vec<Canceling>,
    /// The scope token that goes along. It is kept nowhere else: after a crash the scope in the message is what is left.
    pub(crate) token: Option<Secret>,
    /// How far the other agent may reach, once that is known.
    pub(crate) scope: Option<Object>,
}

impl ActiveHandoff {
    /// Says a status of the task and notes how far the handoff is, and waits until both are stored; `false` when somebody else has the task.
    pub(crate) async fn note(&self, update: StatusUpdate, record: &Record) -> Result<bool, Failure> {
        self.turn.note(update, record.remarks()).await?;
        let record = record.clone();
        Ok(self.stored(move |task| Record::of(task).is_some_and(|known| known == record)).await)
    }

    /// Says that the task is handed over, and waits until that is stored.
    pub(crate) async fn pass(&self, record: Record) -> Result<bool, Failure> {
        let id = record.handoff_id.clone();
        self.turn.emit(Emitted::Passed(Box::new(record))).await?;
        Ok(self.stored(move |task| Record::of(task).is_some_and(|known| known.handoff_id == id && known.passed.is_some())).await)
    }

    /// Waits until something is true of the stored task; `false` when that will not happen here.
    pub(crate) async fn stored(&self, is: impl Fn(&Task) -> bool) -> bool {
        let reader = self.live.reader();
        loop {
            let seq = self.live.seq();
            if self.live.read(&is) {
                return true;
            }
            match reader.woken(seq).await {
                Woken::News => {}
                Woken::Over | Woken::Left => return false,
            }
        }
    }

    /// Whether somebody wants the task canceled.
    pub(crate) fn is_canceled(&mut self) -> bool {
        while let Ok(canceling) = self.cancels.try_recv() {
            self.canceling.push(canceling);
        }
        !self.canceling.is_empty()
    }

    /// Waits for a while, or until somebody wants the task canceled.
    pub(crate) async fn pause(&mut self, pause: Duration) {
        tokio::select! {
            () = tokio::time::sleep(pause) => {}
            canceling = self.cancels.recv() => self.canceling.extend(canceling),
        }
    }

    /// Waits until the task is over, and tells those who wanted it canceled what became of that.
    pub(crate) async fn told(&mut self) {
        if !self.is_canceled() {
            return;
        }
        self.stored(|task| task.status.state.is_terminal()).await;
        let canceled = self.live.read(|task| task.status.state == TaskState::Canceled);
        for answer in self.canceling.drain(..) {
            let error = || Error::from(ErrorKind::TaskNotCancelable).with("taskId", self.live.id.as_str());
            // Whoever asked may have gone away.
            drop(answer.send(if canceled { Ok(()) } else { Err(error()) }));
        }
    }

    /// The caller that this agent is for another one.
    pub(crate) fn caller(&self, grant: Option<&Secret>) -> Caller {
        let mut caller = Caller::anonymous().extension(extension::HANDOFF);
        caller.call_mut().grant = grant.cloned();
        caller.call_mut().trace = self.turn.caller().call().trace.clone();
        caller.identity_mut().presented =
            self.turn.caller().identity().presented.as_ref().map(|presented| Box::new(presented.within(self.scope.as_ref())));
        caller
    }
}

impl Drop for ActiveHandoff {
    fn drop(&mut self) {
        self.is_canceled();
        for answer in self.canceling.drain(..) {
            // Whoever asked may have gone away.
            drop(answer.send(Err(Error::new(ErrorKind::Unavailable, "The task changed meanwhile; try again"))));
        }
    }
}

/// Asks another agent to cancel a task.
pub(crate) async fn cancel(peer: &Peer, caller: &Caller, task: &TaskId) -> Result<Task> {
    let asked = peer.operations.cancel_task(caller, CancelTask::new(task.clone()));
    tokio::time::timeout(CANCEL_TIME, asked).await.unwrap_or_else(|_| Err(ErrorKind::Timeout.into()))
}

/// A status of the task, in a state and with words.
pub(crate) fn status(state: TaskState, message: Option<Message>) -> StatusUpdate {
    let mut update = StatusUpdate::new("", "", state);
    update.status.message = message;
    update
}

/// Metadata without what other agents say of handoffs.
pub(crate) fn plain(mut metadata: Object) -> Object {
    metadata.remove(extension::HANDOFF);
    metadata
}
