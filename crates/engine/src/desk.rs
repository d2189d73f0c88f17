//! The desk between a turn and its driver: what the agent says on one side, what its client says
//! meanwhile on the other.
//!
//! Many turns wait at once, most of them with an empty desk, so an empty desk is small.

use std::{collections::VecDeque, sync::MutexGuard, task::Waker};

use chancery_core::{Message, sync::Mutex};
use tokio::sync::Notify;

use crate::turn::Emitted;

/// How many events an agent may be ahead of the driver.
const AHEAD: usize = 64;

#[derive(Default)]
pub(crate) struct Desk {
    papers: Mutex<Papers>,
    /// Rung for the agent: there is room again, a message came, or the turn is over.
    bell: Notify,
}

#[derive(Default)]
struct Papers {
    said: Vec<Emitted>,
    inbox: VecDeque<Message>,
    over: bool,
    /// The driver, while it waits for something to be said.
    driver: Option<Waker>,
}

impl Desk {
    // --- The agent's side -----------------------------------------------------------------------

    /// Says something, as soon as the driver is not too far behind; `false` when the turn is over.
    pub(crate) async fn say(&self, emitted: Emitted) -> bool {
        // An agent that never waits must not keep the thread.
        tokio::task::coop::consume_budget().await;
        let mut emitted = Some(emitted);
        loop {
            // Made before the look: what happens in between is heard.
            let rung = self.bell.notified();
            {
                let mut papers = self.lock();
                if papers.over {
                    return false;
                }
                if papers.said.len() < AHEAD {
                    papers.said.extend(emitted.take());
                    let driver = papers.driver.take();
                    drop(papers);
                    if let Some(driver) = driver {
                        driver.wake();
                    }
                    return true;
                }
            }
            rung.await;
        }
    }

    /// The next message of the client that is for somebody; `None` when the turn is over.
    pub(crate) async fn message_for(&self, is_mine: impl Fn(&Message) -> bool) -> Option<Message> {
        loop {
            let rung = self.bell.notified();
            {
                let mut papers = self.lock();
                if let Some(message) = papers.inbox.iter().position(&is_mine).and_then(|at| papers.inbox.remove(at)) {
                    return Some(message);
                }
                if papers.over {
                    return None;
                }
            }
            rung.await;
        }
    }

    /// Lets everybody look again who waits for a message.
    pub(crate) fn ring(&self) {
        self.bell.notify_waiters();
    }

    /// Waits until the turn is over.
    pub(crate) async fn over(&self) {
        loop {
            let rung = self.bell.notified();
            if self.lock().over {
                return;
            }
            rung.await;
        }
    }

    // --- The driver's side ----------------------------------------------------------------------

    /// Takes what was said, if anything was. With a waker, and nothing said, the driver is woken later.
    pub(crate) fn hear(&self, heard: &mut Vec<Emitted>, waker: Option<&Waker>) -> bool {
        let mut papers = self.lock();
        if papers.said.is_empty() {
            papers.driver = waker.cloned();
            return false;
        }
        papers.driver = None;
        let full = papers.said.len() >= AHEAD;
        std::mem::swap(&mut papers.said, heard);
        drop(papers);
        if full {
            self.bell.notify_waiters();
        }
        true
    }

    /// Lays a message before the agent.
    pub(crate) fn lay(&self, message: Message) {
        self.lock().inbox.push_back(message);
        self.bell.notify_waiters();
    }

    /// Ends the turn: nobody says or hears anything more. Gives the messages that nobody took.
    pub(crate) fn close(&self) -> VecDeque<Message> {
        let mut papers = self.lock();
        papers.over = true;
        let unread = std::mem::take(&mut papers.inbox);
        drop(papers);
        self.bell.notify_waiters();
        unread
    }

    fn lock(&self) -> MutexGuard<'_, Papers> {
        // Nothing in here panics half way through a change.
        self.papers.lock()
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
        let desk = Arc::new(Desk::default());
        let agent = desk.clone();
        let talk = tokio::spawn(async move {
            for n in 0..AHEAD * 3 {
                assert!(agent.say(word(n)).await);
            }
        });
        let mut all = Vec::new();
        while all.len() < AHEAD * 3 {
            let mut heard = Vec::new();
            std::future::poll_fn(|cx| if desk.hear(&mut heard, Some(cx.waker())) { Poll::Ready(()) } else { Poll::Pending }).await;
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
        let desk = Arc::new(Desk::default());
        desk.lay(Message::user("first").id("m-1"));
        assert_eq!(desk.message_for(|_| true).await.unwrap().message_id, "m-1");
        let (listening, watching, talking) = (desk.clone(), desk.clone(), desk.clone());
        let listening = tokio::spawn(async move { listening.message_for(|_| true).await });
        let watching = tokio::spawn(async move { watching.over().await });
        let talking = tokio::spawn(async move { while talking.say(word(0)).await {} });
        tokio::task::yield_now().await;
        assert!(!listening.is_finished() && !watching.is_finished() && !talking.is_finished());
        assert!(desk.close().is_empty());
        assert_eq!(listening.await.unwrap(), None);
        watching.await.unwrap();
        talking.await.unwrap();
        assert!(!desk.say(word(1)).await);
    }
}
