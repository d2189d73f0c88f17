//! Options: how tasks are run, as far as something is said about it, and what holds when nothing is.

use std::{fmt, sync::Arc, time::Duration};

use chancery_core::Peers;

use crate::{
    clock::Clock,
    delegation::{Passing, Tokens},
    push::{Schedule, Sender},
    store::Store,
};

/// What happens to the turns of a process that died.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum OnRestart {
    /// The task fails, with a text that says so.
    #[default]
    Fail,
    /// The turn is run again; [`Turn::attempt`](crate::Turn::attempt) says how often it was begun.
    Rerun,
}

/// How tasks are run, as far as something is said about it: what a [`Builder`](crate::Builder) is told, and what a server tells all of its
/// agents ([`Builder::defaults`](crate::Builder::defaults)). The methods of the builder say what each of them means.
#[derive(Clone, Default)]
#[must_use = "options are nothing until an engine has them"]
pub struct Options {
    on_restart: Option<OnRestart>,
    lease: Option<Duration>,
    task_after: Option<Option<Duration>>,
    turn_timeout: Option<Duration>,
    retention: Option<Option<Duration>>,
    reopen: Option<bool>,
    pub(crate) passing: Option<Arc<Passing>>,
    /// How work is passed on when nothing was said about it.
    pub(crate) reach: Option<Arc<Passing>>,
    base_url: Option<String>,
    tokens: Option<Arc<dyn Tokens>>,
    pub(crate) store: Option<Arc<dyn Store>>,
    pub(crate) sender: Option<Arc<dyn Sender>>,
    pub(crate) schedule: Option<Schedule>,
    pub(crate) clock: Option<Arc<dyn Clock>>,
    pub(crate) by_hand: bool,
}

/// What an engine does: the options, with an answer to each.
#[derive(Debug, Clone)]
pub(crate) struct Settings {
    pub(crate) on_restart: OnRestart,
    pub(crate) lease: Duration,
    pub(crate) heartbeat: Duration,
    pub(crate) task_after: Option<Duration>,
    pub(crate) turn_timeout: Option<Duration>,
    pub(crate) retention: Option<Duration>,
    pub(crate) reopen: bool,
    pub(crate) passing: Option<Arc<Passing>>,
    pub(crate) reach: Option<Arc<Passing>>,
}

impl Options {
    /// Nothing is said.
    pub fn new() -> Self {
        Self::default()
    }

    /// As [`Builder::on_restart`](crate::Builder::on_restart).
    pub fn on_restart(mut self, policy: OnRestart) -> Self {
        self.on_restart = Some(policy);
        self
    }

    /// As [`Builder::lease`](crate::Builder::lease).
    pub fn lease(mut self, lease: Duration) -> Self {
        self.lease = Some(lease);
        self
    }

    /// As [`Builder::task_after`](crate::Builder::task_after).
    pub fn task_after(mut self, patience: impl Into<Option<Duration>>) -> Self {
        self.task_after = Some(patience.into());
        self
    }

    /// As [`Builder::turn_timeout`](crate::Builder::turn_timeout).
    pub fn turn_timeout(mut self, limit: Duration) -> Self {
        self.turn_timeout = Some(limit);
        self
    }

    /// As [`Builder::retention`](crate::Builder::retention).
    pub fn retention(mut self, age: Option<Duration>) -> Self {
        self.retention = Some(age);
        self
    }

    /// As [`Builder::reopen`](crate::Builder::reopen).
    pub fn reopen(mut self, reopen: bool) -> Self {
        self.reopen = Some(reopen);
        self
    }

    /// As [`Builder::passing`](crate::Builder::passing).
    pub fn passing(mut self, passing: Passing) -> Self {
        self.passing = Some(Arc::new(passing));
        self
    }

    /// As [`Builder::reach`](crate::Builder::reach), from where [`base_url`](Self::base_url) says.
    pub fn reach(mut self, peers: Arc<dyn Peers>) -> Self {
        self.reach = Some(Arc::new(Passing::new(peers)));
        self
    }

    /// As [`Builder::base_url`](crate::Builder::base_url).
    pub fn base_url(mut self, url: impl Into<String>) -> Self {
        self.base_url = Some(url.into());
        self
    }

    /// As [`Builder::tokens`](crate::Builder::tokens).
    pub fn tokens(mut self, tokens: impl Tokens + 'static) -> Self {
        self.tokens = Some(Arc::new(tokens));
        self
    }

    /// As [`Builder::shared_store`](crate::Builder::shared_store).
    pub fn shared_store(mut self, store: Arc<dyn Store>) -> Self {
        self.store = Some(store);
        self
    }

    /// As [`Builder::sender`](crate::Builder::sender).
    pub fn sender(mut self, sender: impl Sender) -> Self {
        self.sender = Some(Arc::new(sender));
        self
    }

    /// As [`Builder::schedule`](crate::Builder::schedule).
    pub fn schedule(mut self, schedule: Schedule) -> Self {
        self.schedule = Some(schedule);
        self
    }

    /// As [`Builder::clock`](crate::Builder::clock).
    pub fn clock(mut self, clock: impl Clock) -> Self {
        self.clock = Some(Arc::new(clock));
        self
    }

    /// As [`Builder::by_hand`](crate::Builder::by_hand).
    pub fn by_hand(mut self) -> Self {
        self.by_hand = true;
        self
    }

    /// What is said here, and what the others say of the rest.
    pub fn or(self, others: &Self) -> Self {
        let others = others.clone();
        Self {
            on_restart: self.on_restart.or(others.on_restart),
            lease: self.lease.or(others.lease),
            task_after: self.task_after.or(others.task_after),
            turn_timeout: self.turn_timeout.or(others.turn_timeout),
            retention: self.retention.or(others.retention),
            reopen: self.reopen.or(others.reopen),
            passing: self.passing.or(others.passing),
            reach: self.reach.or(others.reach),
            base_url: self.base_url.or(others.base_url),
            tokens: self.tokens.or(others.tokens),
            store: self.store.or(others.store),
            sender: self.sender.or(others.sender),
            schedule: self.schedule.or(others.schedule),
            clock: self.clock.or(others.clock),
            by_hand: self.by_hand || others.by_hand,
        }
    }

    /// Whether it is said where tasks are kept.
    #[must_use]
    pub fn has_store(&self) -> bool {
        self.store.is_some()
    }

    /// The names of the options about which something is said.
    #[must_use]
    pub fn said(&self) -> Vec<&'static str> {
        let all = [
            (self.on_restart.is_some(), "on_restart"),
            (self.lease.is_some(), "lease"),
            (self.task_after.is_some(), "task_after"),
            (self.turn_timeout.is_some(), "turn_timeout"),
            (self.retention.is_some(), "retention"),
            (self.reopen.is_some(), "reopen"),
            (self.passing.is_some(), "passing"),
            (self.reach.is_some(), "reach"),
            (self.base_url.is_some(), "base_url"),
            (self.tokens.is_some(), "tokens"),
            (self.store.is_some(), "store"),
            (self.sender.is_some(), "sender"),
            (self.schedule.is_some(), "schedule"),
            (self.clock.is_some(), "clock"),
            (self.by_hand, "by_hand"),
        ];
        all.into_iter().filter(|(said, _)| *said).map(|(_, name)| name).collect()
    }

    /// What holds in the end.
    pub(crate) fn settle(self) -> Settings {
        let lease = self.lease.unwrap_or(Duration::from_secs(15));
        let (base_url, tokens) = (self.base_url, self.tokens);
        let complete = |mut passing: Arc<Passing>| {
            if passing.base_urls.is_empty() && base_url.is_some() {
                Arc::make_mut(&mut passing).base_urls.extend(base_url.clone());
            }
            if passing.tokens.is_none() && tokens.is_some() {
                Arc::make_mut(&mut passing).tokens.clone_from(&tokens);
            }
            passing
        };
        Settings {
            on_restart: self.on_restart.unwrap_or_default(),
            lease,
            heartbeat: lease / 3,
            task_after: self.task_after.unwrap_or(Some(Duration::from_millis(500))),
            turn_timeout: self.turn_timeout,
            retention: self.retention.unwrap_or(Some(Duration::from_secs(30 * 24 * 3_600))),
            reopen: self.reopen.unwrap_or(true),
            passing: self.passing.map(complete),
            reach: self.reach.map(complete),
        }
    }
}

impl fmt::Debug for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.said()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Nobody;

    #[async_trait::async_trait]
    impl Peers for Nobody {
        async fn peer(&self, _: &str) -> chancery_core::Result<chancery_core::Peer> {
            Err(chancery_core::ErrorKind::Unavailable.into())
        }
    }

    impl Tokens for Nobody {
        fn issue(&self) -> Option<chancery_core::Secret> {
            None
        }

        fn digest(&self, _: &chancery_core::Secret) -> String {
            String::new()
        }
    }

    /// What is said first is not forgotten because what it is about is said later.
    #[test]
    fn where_an_agent_is_holds_in_whatever_order_it_is_said() {
        let passing = || Passing::new(Arc::new(Nobody));
        for options in [
            Options::new().base_url("https://a.example").tokens(Nobody).passing(passing()),
            Options::new().passing(passing()).base_url("https://a.example").tokens(Nobody),
        ] {
            let server = Options::new().base_url("https://server.example").reach(Arc::new(Nobody));
            let settings = options.or(&server).settle();
            let passing = settings.passing.unwrap();
            assert_eq!((passing.base_url(), passing.tokens.is_some()), ("https://a.example", true));
            assert_eq!(settings.reach.unwrap().base_url(), "https://a.example");
        }
        let own = Options::new().passing(passing().at("https://own.example")).base_url("https://a.example").settle();
        assert_eq!(own.passing.unwrap().base_url(), "https://own.example");
    }
}
