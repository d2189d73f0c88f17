//! Options: how tasks are run, as far as something is said about it, and what holds when nothing is.

use std::{fmt, sync::Arc, time::Duration};

use crate::{clock::Clock, delegation::Passing};

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
            clock: self.clock.or(others.clock),
            by_hand: self.by_hand || others.by_hand,
        }
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
            (self.clock.is_some(), "clock"),
            (self.by_hand, "by_hand"),
        ];
        all.into_iter().filter(|(said, _)| *said).map(|(_, name)| name).collect()
    }

    /// What holds in the end.
    pub(crate) fn settle(self) -> Settings {
        let lease = self.lease.unwrap_or(Duration::from_secs(15));
        Settings {
            on_restart: self.on_restart.unwrap_or_default(),
            lease,
            heartbeat: lease / 3,
            task_after: self.task_after.unwrap_or(Some(Duration::from_millis(500))),
            turn_timeout: self.turn_timeout,
            retention: self.retention.unwrap_or(Some(Duration::from_secs(30 * 24 * 3_600))),
            reopen: self.reopen.unwrap_or(true),
            passing: self.passing,
            reach: self.reach,
        }
    }
}

impl fmt::Debug for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.said()).finish()
    }
}
