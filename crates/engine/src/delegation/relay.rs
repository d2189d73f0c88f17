//! A task that was handed over, for callers that do not know of handoffs: what happens to it there becomes events of the
//! task here, so that streams, polling, webhooks and recovery are those of every other task (HO-20 to HO-25).
//!
//! There is one subscription per task, however many watch it. It begins with the task as it stands, which is compared with what was
//! told of it here, so that nothing is told twice and nothing is missed.

use std::collections::BTreeSet;

use chancery_core::{
    ArtifactId, ArtifactUpdate, Caller, Error, ErrorKind, Event, EventStream, GetTask, Message, MessageId, Peer, Role, SendMessage,
    Subscribe, Task, TaskId, TaskState, TaskStatus, Transfer, handoff,
};
use serde_json::Value;

use super::{
    Refusal, RefusalCode as Code,
    active::{ActiveHandoff, Canceling, cancel, plain, status},
    backoff::{is_transient, pause_after},
    record::{Record, Whereabouts},
};
use crate::{
    agent::{Ending, Failure},
    feed,
    state::{self, Entry},
    turn::Emitted,
};

/// How often a message is passed on.
const TRIES: u32 = 5;

/// Relays a task to its end.
pub(crate) async fn run(mut active: ActiveHandoff, record: Record, again: bool) -> Result<Ending, Failure> {
    watch(&mut active, record, again).await?;
    Ok(Ending::Said)
}

/// What comes next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Next {
    /// The next event.
    On,
    /// A new subscription, at once.
    Anew,
    /// Nothing: the task is over.
    Over,
}

struct Relay {
    record: Record,
    /// What was told here of the task there, under its own ids.
    mirror: Task,
    /// Artifacts of agents before.
    taken: BTreeSet<ArtifactId>,
    /// Where the task has been.
    seen: BTreeSet<(String, TaskId)>,
    /// What the agents said that is told here.
    heard: BTreeSet<MessageId>,
    /// Whether it was said that the other agent cannot be reached.
    stale: bool,
    /// Whether anything was told since the last subscription.
    moved: bool,
    /// Whether messages may have been left by a process that died.
    behind: bool,
}

/// Relays a task to its end. `again` says that another process did so before.
pub(crate) async fn watch(active: &mut ActiveHandoff, record: Record, again: bool) -> Result<(), Failure> {
    let Some(mut relay) = Relay::new(active, record, again) else { return Ok(()) };
    if again {
        // Whoever had the task before can say nothing more from here on.
        if !active.note(status(relay.mirror.status.state, relay.mirror.status.message.clone()), &relay.record).await? {
            return Ok(());
        }
    }
    let mut tries = 0;
    loop {
        let mut next = Next::On;
        match relay.connect(active).await {
            Ok((peer, mut events)) => {
                relay.moved = false;
                while next == Next::On {
                    next = tokio::select! {
                        biased;
                        canceling = active.cancels.recv() => relay.cancel(active, &peer, canceling).await,
                        message = active.turn.next_message() => match message {
                            Some(message) => relay.forward(active, &peer, message).await?,
                            None => Next::Over,
                        },
                        event = std::future::poll_fn(|cx| events.as_mut().poll_next(cx)) => match event {
                            Some(Ok((_, event))) => relay.take(active, event.into_event()).await?,
                            Some(Err(error)) => {
                                tracing::debug!(%error, "the stream of the other agent broke");
                                break;
                            }
                            None => break,
                        },
                    };
                }
                if relay.moved {
                    tries = 0;
                }
            }
            Err(error) if error.kind() == ErrorKind::TaskNotFound => {
                relay.fail(active, Code::TargetRejected, "the other agent does not have the task any more").await?;
                next = Next::Over;
            }
            Err(error) => {
                tracing::debug!(%error, agent = relay.head().agent, "the other agent cannot be reached");
                relay.say_stale(active).await?;
            }
        }
        match next {
            Next::Over => {
                active.told().await;
                return Ok(());
            }
            Next::Anew => {}
            Next::On => {
                let pause = pause_after(None, tries);
                tries += 1;
                relay.wait(active, pause).await?;
            }
        }
    }
}

impl Relay {
    fn new(active: &ActiveHandoff, record: Record, again: bool) -> Option<Self> {
        let head = &record.passed.as_ref()?.head;
        let prefix = format!("{}/", head.handoff_id);
        let (mut mirror, taken, heard) = active.live.read(|task| {
            let (before, after) = task.artifacts.split_at(head.artifacts.min(task.artifacts.len()));
            let mut mirror = Task::new(head.task.clone(), "", TaskStatus::new(task.status.state));
            mirror.status.message.clone_from(&task.status.message);
            mirror.artifacts = after.to_vec();
            let heard = task.history.iter().chain(&task.status.message).map(|message| message.message_id.clone()).collect();
            (mirror, before.iter().map(|artifact| artifact.artifact_id.clone()).collect(), heard)
        });
        for artifact in &mut mirror.artifacts {
            if let Some(id) = artifact.artifact_id.as_str().strip_prefix(&prefix) {
                artifact.artifact_id = id.into();
            }
        }
        let seen = BTreeSet::from([
            (active.passing.base_url().trim_end_matches('/').to_owned(), active.live.id.clone()),
            (head.agent.clone(), head.task.clone()),
        ]);
        // Who finished a handoff of another process has not heard what clients said to that one.
        let behind = again || record.attempts > 1;
        Some(Self { record, mirror, taken, seen, heard, stale: false, moved: false, behind })
    }

    fn head(&self) -> Whereabouts {
        // A relay is made for records that have one.
        self.record.passed.as_ref().map_or_else(|| Whereabouts::of(&Transfer::default(), 0, 0), |passed| passed.head.clone())
    }

    fn caller(&self, active: &ActiveHandoff) -> Caller {
        active.caller(self.head().grant.as_ref())
    }

    /// Subscribes to the task, or reads it where that is not possible or there is nothing more to hear.
    async fn connect(&mut self, active: &ActiveHandoff) -> Result<(Peer, EventStream), Error> {
        let (head, caller) = (self.head(), self.caller(active));
        let peer = active.passing.peers.peer(&head.agent).await?;
        if std::mem::take(&mut self.behind) {
            self.catch_up(active, &peer).await?;
        }
        let events = match peer.operations.subscribe(&caller, Subscribe::new(head.task.clone())).await {
            Ok(events) => events,
            Err(error) if is_transient(&error) || error.kind() == ErrorKind::TaskNotFound => return Err(error),
            Err(_) => {
                let task = peer.operations.get_task(&caller, GetTask::new(head.task)).await?.into_task()?;
                feed::of(vec![(chancery_core::Seq::START, Event::from(task).into())])
            }
        };
        Ok((peer, events))
    }

    /// Passes on what clients said while nobody was there to do so.
    async fn catch_up(&self, active: &ActiveHandoff, peer: &Peer) -> Result<(), Error> {
        let since = self.record.passed.as_ref().map_or(0, |passed| passed.history);
        let said = active.live.read(|task| {
            let told = self.record.after.as_ref().and_then(|last| task.history.iter().position(|message| message.message_id == *last));
            let later = task.history.iter().skip(told.map_or(since, |last| last + 1));
            later.filter(|message| message.role == Role::User).cloned().collect::<Vec<_>>()
        });
        if said.is_empty() {
            return Ok(());
        }
        let known = peer.operations.get_task(&self.caller(active), GetTask::new(self.head().task)).await?.into_task()?;
        let is_known = |message: &Message| known.history.iter().any(|heard| heard.message_id == message.message_id);
        // An agent that shows no history cannot tell; it is not told twice.
        for message in said.into_iter().filter(|message| !known.history.is_empty() && !is_known(message)) {
            self.tell(active, peer, message).await?;
        }
        Ok(())
    }

    async fn tell(&self, active: &ActiveHandoff, peer: &Peer, mut message: Message) -> Result<(), Error> {
        let caller = self.caller(active).idempotency_key(format!("relay:{}", message.message_id));
        (message.task_id, message.context_id) = (Some(self.head().task), None);
        let mut request = SendMessage::new(message);
        request.configuration.return_immediately = true;
        peer.operations.send_message(&caller, request).await.map(drop)
    }

    /// HO-22: a message for the task here is one for the task there.
    async fn forward(&mut self, active: &mut ActiveHandoff, peer: &Peer, message: Message) -> Result<Next, Failure> {
        // The task here goes on with the message, as every task does.
        self.mirror.status = TaskStatus::new(TaskState::Working);
        for tries in 0.. {
            match self.tell(active, peer, message.clone()).await {
                Ok(()) => return Ok(Next::Anew),
                Err(error) if is_transient(&error) && tries + 1 < TRIES => tokio::time::sleep(pause_after(Some(&error), tries)).await,
                Err(error) => {
                    let words = format!("The message could not be passed on: {error}");
                    self.tell_status(active, TaskStatus::new(TaskState::Working).message(Message::agent(words))).await?;
                    break;
                }
            }
        }
        Ok(Next::Anew)
    }

    /// HO-22: who cancels the task here cancels it there.
    async fn cancel(&mut self, active: &mut ActiveHandoff, peer: &Peer, canceling: Option<Canceling>) -> Next {
        let Some(canceling) = canceling else { return Next::Over };
        match cancel(peer, &self.caller(active), &self.head().task).await {
            Ok(_) => active.canceling.push(canceling),
            // Whoever asked may have gone away.
            Err(error) => drop(canceling.send(Err(Error::new(error.kind(), error.message().to_owned())))),
        }
        Next::Anew
    }

    /// Waits before the next try; messages and cancellations end the wait.
    async fn wait(&mut self, active: &mut ActiveHandoff, pause: std::time::Duration) -> Result<(), Failure> {
        tokio::select! {
            biased;
            canceling = active.cancels.recv() => match active.passing.peers.clone().peer(&self.head().agent).await {
                Ok(peer) => drop(self.cancel(active, &peer, canceling).await),
                // Whoever asked may have gone away.
                Err(error) => drop(canceling.map(|canceling| canceling.send(Err(Error::new(ErrorKind::Unavailable, error.message().to_owned()))))),
            },
            message = active.turn.next_message() => {
                let Some(message) = message else { return Err(Failure::from("the task is over")) };
                match active.passing.peers.clone().peer(&self.head().agent).await {
                    Ok(peer) => drop(self.forward(active, &peer, message).await?),
                    // It is in the history, and passed on with the next subscription.
                    Err(_) => self.behind = true,
                }
            }
            () = tokio::time::sleep(pause) => {}
        }
        Ok(())
    }

    // --- What happens there ----------------------------------------------------------------------

    async fn take(&mut self, active: &mut ActiveHandoff, event: Event) -> Result<Next, Failure> {
        match event {
            Event::Task(task) => self.take_task(active, *task).await,
            Event::Status(update) => self.take_status(active, update.status, update.metadata).await,
            Event::Artifact(update) => self.take_artifact(active, *update).await,
            _ => Ok(Next::On),
        }
    }

    /// The task as it stands: what is new of it is told.
    async fn take_task(&mut self, active: &mut ActiveHandoff, task: Task) -> Result<Next, Failure> {
        // HO-21: what was said there before anybody listened is part of the history here.
        let missed: Vec<_> =
            task.history.into_iter().filter(|message| message.role == Role::Agent && !self.heard.contains(&message.message_id)).collect();
        for message in missed {
            self.tell_status(active, TaskStatus::new(TaskState::Working).message(message)).await?;
        }
        for artifact in task.artifacts {
            let known = self.mirror.artifacts.iter().find(|known| known.artifact_id == artifact.artifact_id);
            let update = match known {
                Some(known) if *known == artifact => continue,
                Some(known) if artifact.parts.len() > known.parts.len() && artifact.parts.starts_with(&known.parts) => {
                    let mut rest = artifact.clone();
                    rest.parts.drain(..known.parts.len());
                    ArtifactUpdate::new("", "", rest).appended()
                }
                _ => ArtifactUpdate::new("", "", artifact),
            };
            self.take_artifact(active, update).await?;
        }
        self.take_status(active, task.status, task.metadata).await
    }

    async fn take_artifact(&mut self, active: &ActiveHandoff, mut update: ArtifactUpdate) -> Result<Next, Failure> {
        if state::absorb(&mut self.mirror, Entry::new(update.clone())).is_err() {
            // Something was missed.
            return Ok(Next::Anew);
        }
        update.artifact.artifact_id = self.mapped(&update.artifact.artifact_id);
        (update.task_id, update.context_id) = (TaskId::default(), Default::default());
        self.moved = true;
        active.turn.emit(Emitted::Artifact(Box::new(update))).await?;
        Ok(Next::On)
    }

    /// HO-21: an id that an agent before used already is told apart.
    fn mapped(&self, id: &ArtifactId) -> ArtifactId {
        if self.taken.contains(id) { format!("{}/{id}", self.head().handoff_id).into() } else { id.clone() }
    }

    async fn take_status(
        &mut self,
        active: &mut ActiveHandoff,
        mut status: TaskStatus,
        metadata: chancery_core::Object,
    ) -> Result<Next, Failure> {
        match Transfer::of(&metadata) {
            Ok(Some(transfer)) => return self.follow(active, transfer).await,
            Ok(None) => {}
            Err(error) => tracing::warn!(%error, "the other agent handed the task on to nobody"),
        }
        if matches!(status.state, TaskState::Submitted | TaskState::Unspecified) {
            status.state = TaskState::Working;
        }
        if let Some(message) = &mut status.message {
            message.role = Role::Agent;
        }
        let over = status.state.is_terminal();
        let known = &self.mirror.status;
        let words = |status: &TaskStatus| {
            status.message.as_ref().map(|message| (message.message_id.clone(), message.parts.clone(), message.metadata.clone()))
        };
        let told = known.state == status.state && words(known) == words(&status);
        let metadata = plain(metadata);
        if !told || (!metadata.is_empty() && metadata != self.mirror.metadata) {
            self.mirror.metadata.clone_from(&metadata);
            self.tell_status_with(active, status, metadata).await?;
        }
        Ok(if over { Next::Over } else { Next::On })
    }

    async fn tell_status(&mut self, active: &ActiveHandoff, status: TaskStatus) -> Result<(), Failure> {
        self.tell_status_with(active, status, chancery_core::Object::new()).await
    }

    async fn tell_status_with(&mut self, active: &ActiveHandoff, told: TaskStatus, metadata: chancery_core::Object) -> Result<(), Failure> {
        let mut update = status(told.state, told.message.clone());
        update.metadata = metadata;
        self.heard.extend(told.message.as_ref().map(|message| message.message_id.clone()));
        (self.mirror.status, self.moved, self.stale) = (told, true, false);
        active.turn.emit(Emitted::Status(Box::new(update))).await
    }

    /// HO-23: what is known of the task may be old.
    async fn say_stale(&mut self, active: &ActiveHandoff) -> Result<(), Failure> {
        if self.stale {
            return Ok(());
        }
        let mut told = self.mirror.status.clone();
        let message = told.message.get_or_insert_with(|| Message::agent("The agent that has the task cannot be reached at the moment."));
        handoff::set(&mut message.metadata, "stale", Value::Bool(true));
        handoff::announce(message);
        self.tell_status(active, told).await?;
        self.stale = true;
        Ok(())
    }

    /// HO-24: the task went on to another agent once more.
    async fn follow(&mut self, active: &mut ActiveHandoff, transfer: Transfer) -> Result<Next, Failure> {
        let head = self.head();
        let followed = head.followed + 1;
        if followed + self.record.hop > active.passing.max_hops {
            self.fail(active, Code::HopLimit, "the task was passed on too often").await?;
            return Ok(Next::Over);
        }
        if !self.seen.insert((transfer.agent_endpoint.trim_end_matches('/').to_owned(), transfer.task_id.clone())) {
            self.fail(active, Code::LoopDetected, "the task came back to where it was").await?;
            return Ok(Next::Over);
        }
        let mapped: Vec<_> = self.mirror.artifacts.iter().map(|artifact| self.mapped(&artifact.artifact_id)).collect();
        self.taken.extend(mapped);
        if let Some(passed) = &mut self.record.passed {
            passed.head = Whereabouts::of(&transfer, self.taken.len(), followed);
        }
        self.mirror = Task::new(transfer.task_id, "", TaskState::Working);
        self.moved = true;
        let stored = active.note(status(TaskState::Working, None), &self.record).await?;
        Ok(if stored { Next::Anew } else { Next::Over })
    }

    async fn fail(&mut self, active: &ActiveHandoff, code: Code, words: &str) -> Result<(), Failure> {
        let refusal = Refusal::new(code, self.head().agent, words);
        self.tell_status(active, TaskStatus::new(TaskState::Failed).message(refusal.to_message())).await
    }
}
