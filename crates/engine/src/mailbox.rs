//! Mailbox: two queues between a turn and its driver. What the agent emits goes one way, bounded, so that a slow driver is backpressure;
//! what its client says meanwhile goes the other.
//!
//! Many turns wait at once, most of them with an empty mailbox, so an empty mailbox is small.

use std::{collections::VecDeque, sync::MutexGuard, task::Waker};

use chancery_core::{Message, sync::Mutex};
use tokio::sync::Notify;

use crate::turn::Emitted;

/// How many events an agent may be ahead of the driver.
const AHEAD: usize = 64;

#[derive(Default)]
pub(crate) struct Mailbox {
    queues: Mutex<Queues>,
    /// Notifies the agent: there is room again, a message came, or the turn is over.
    changed: Notify,
}

#[derive(Default)]
struct Queues {
    emitted: Vec<Emitted>,
    inbox: VecDeque<Message>,
    over: bool,
    /// The driver, while it waits for something to be emitted.
    driver: Option<Waker>,
}

impl Mailbox {
    // --- The agent's side -----------------------------------------------------------------------

    /// Emits something, as soon as the driver is not too far behind; `false` when the turn is over.
    pub(crate) async fn emit(&self, emitted: Emitted) -> bool {
        // An agent that never waits must not keep the thread.
        tokio::task::coop::consume_budget().await;
        let mut emitted = Some(emitted);
        loop {
            // Made before the look: what happens in between is heard.
            let notified = self.changed.notified();
            {
                let mut queues = self.lock();
                if queues.over {
                    return false;
                }
                if queues.emitted.len() < AHEAD {
                    queues.emitted.extend(emitted.take());
                    let driver = queues.driver.take();
                    drop(queues);
                    if let Some(driver) = driver {
                        driver.wake();
                    }
                    return true;
                }
            }
            notified.await;
        }
    }

    /// The next message of the client that is for somebody; `None` when the turn is over.
    pub(crate) async fn message_for(&self, is_mine: impl Fn(&Message) -> bool) -> Option<Message> {
        loop {
            let notified = self.changed.notified();
            {
                let mut queues = self.lock();
                if let Some(message) = queues.inbox.iter().position(&is_mine).and_then(|at| queues.inbox.remove(at)) {
                    return Some(message);
                }
                if queues.over {
                    return None;
                }
            }
            notified.await;
        }
    }

    /// Lets everybody look again who waits for a message.
    pub(crate) fn notify(&self) {
        self.changed.notify_waiters();
    }

    /// Waits until the turn is over.
    pub(crate) async fn over(&self) {
        loop {
            let notified = self.changed.notified();
            if self.lock().over {
                return;
            }
            notified.await;
        }
    }

    // --- The driver's side ----------------------------------------------------------------------

    /// Takes what was emitted, if anything was. With a waker, and nothing emitted, the driver is woken later.
    pub(crate) fn drain(&self, heard: &mut Vec<Emitted>, waker: Option<&Waker>) -> bool {
        let mut queues = self.lock();
        if queues.emitted.is_empty() {
            queues.driver = waker.cloned();
            return false;
        }
        queues.driver = None;
        let full = queues.emitted.len() >= AHEAD;
        std::mem::swap(&mut queues.emitted, heard);
        drop(queues);
        if full {
            self.changed.notify_waiters();
        }
        true
    }

    /// Puts a message into the inbox of the agent.
    pub(crate) fn deliver(&self, message: Message) {
        self.lock().inbox.push_back(message);
        self.changed.notify_waiters();
    }

    /// Ends the turn: nobody says or hears anything more. Gives the messages that nobody took.
    pub(crate) fn close(&self) -> VecDeque<Message> {
        let mut queues = self.lock();
        queues.over = true;
        let unread = std::mem::take(&mut queues.inbox);
        drop(queues);
        self.changed.notify_waiters();
        unread
    }

    fn lock(&self) -> MutexGuard<'_, Queues> {
        // Nothing in here panics half way through a change.
        self.queues.lock()
    }
}

#[cfg(test)]
mod tests {
    use std::{sync::Arc, task::Poll};

    use chancery_core::{Artifact, ArtifactUpdate};

    use super::*;

    fn word(n: usize) -> Emitted {
        Emitted::Artifact(Box::new(ArtifactUpdate::new("", "", Artifact::new(n.to_string()).id(n.to_string()))))
    }

    #[tokio::test]
    async fn an_agent_waits_when_it_is_too_far_ahead_and_loses_nothing() {
        let mailbox = Arc::new(Mailbox::default());
        let agent = mailbox.clone();
        let talk = tokio::spawn(async move {
            for n in 0..AHEAD * 3 {
                assert!(agent.emit(word(n)).await);
            }
        });
        let mut all = Vec::new();
        while all.len() < AHEAD * 3 {
            let mut heard = Vec::new();
            std::future::poll_fn(|cx| if mailbox.drain(&mut heard, Some(cx.waker())) { Poll::Ready(()) } else { Poll::Pending }).await;
            assert!(heard.len() <= AHEAD, "{}", heard.len());
            all.append(&mut heard);
        }
        talk.await.unwrap();
        let ids = all.iter().map(|emitted| match emitted {
            Emitted::Artifact(update) => update.artifact.artifact_id.as_str().parse::<usize>().unwrap(),
            _ => panic!("no artifact"),
        });
        assert!(ids.eq(0..AHEAD * 3));
    }

    #[tokio::test]
    async fn a_closed_desk_lets_everybody_go() {
        let mailbox = Arc::new(Mailbox::default());
        mailbox.deliver(Message::user("first").id("m-1"));
        assert_eq!(mailbox.message_for(|_| true).await.unwrap().message_id, "m-1");
        let (listening, watching, talking) = (mailbox.clone(), mailbox.clone(), mailbox.clone());
        let listening = tokio::spawn(async move { listening.message_for(|_| true).await });
        let watching = tokio::spawn(async move { watching.over().await });
        let talking = tokio::spawn(async move { while talking.emit(word(0)).await {} });
        tokio::task::yield_now().await;
        assert!(!listening.is_finished() && !watching.is_finished() && !talking.is_finished());
        assert!(mailbox.close().is_empty());
        assert_eq!(listening.await.unwrap(), None);
        watching.await.unwrap();
        talking.await.unwrap();
        assert!(!mailbox.emit(word(1)).await);
    }
}
