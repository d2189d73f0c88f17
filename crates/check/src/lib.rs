//! Conformance checks of A2A agents, for [Chancery](https://docs.rs/chancery) and for everybody else: every rule of the protocol that can be
//! seen from outside, in every binding of v1.0.
//!
//! ```
//! use chancery_check::{Options, Target};
//! use chancery_client::Client;
//!
//! # async fn check() -> Result<(), chancery_check::Error> {
//! let target = Target::read(Client::builder(), "https://agent.example.com").await?;
//! let report = chancery_check::run(&target, &Options::default(), &|_| {}).await?;
//! assert!(report.verdict.1, "{}", report.result());
//! # Ok(()) }
//! ```
//!
//! [`self_test`] tries the checks themselves, against agents with known faults. Each check names the rule, its clause in the specification and
//! what the official test kit calls it.

mod agent;
mod card;
mod checks;
mod error;
mod faults;
mod finding;
mod interface;
mod report;
mod run;
mod selection;

use std::time::Duration;

pub use self::{
    agent::{Target, explained, listed},
    card::{CardFinding, CardReport, card},
    error::Error,
    faults::self_test,
    finding::{Finding, Level, Report, Status},
    run::{Run, run},
    selection::Selection,
};

/// What a run comes to.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Which checks are run, and what they count for.
#[derive(Debug, Clone)]
pub struct Options {
    /// Which suite.
    pub suite: Suite,
    /// The least weight of the rules that are checked.
    pub level: Level,
    /// Which of the checks, by id.
    pub selection: Selection,
    /// Whether only checks are run that make no task.
    pub read_only: bool,
    /// The versions of interfaces that are checked, by the beginning of their names; all when there are none.
    pub versions: Vec<String>,
    /// What makes the verdict bad.
    pub fail_on: FailOn,
    /// How long one answer, or one event of a stream, may take.
    pub timeout: Duration,
    /// What a check is that something did not come in time for.
    pub on_timeout: OnTimeout,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            suite: Suite::default(),
            level: Level::default(),
            selection: Selection::default(),
            read_only: false,
            versions: Vec::new(),
            fail_on: FailOn::default(),
            timeout: Duration::from_secs(30),
            on_timeout: OnTimeout::default(),
        }
    }
}

/// A suite of checks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Suite {
    /// Every check of the protocol.
    #[default]
    Core,
    /// Those that the official test kit has too.
    Tck,
    /// Every suite there is.
    All,
}

impl Suite {
    /// Its name.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Core => "core",
            Self::Tck => "tck",
            Self::All => "all",
        }
    }
}

/// What makes the verdict bad.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum FailOn {
    /// A broken rule that is required.
    #[default]
    Must,
    /// Any broken rule.
    Should,
    /// Nothing.
    Never,
}

/// What a check is that something did not come in time for: no rule of the protocol says how fast an agent must be.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum OnTimeout {
    /// Not tested.
    #[default]
    Skip,
    /// Failed.
    Fail,
}

/// How far a run is.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub enum Progress<'a> {
    /// A check has begun.
    Begun {
        /// Which.
        id: &'a str,
        /// On which interface; empty for none.
        place: &'a str,
        /// The rule in a sentence.
        title: &'a str,
        /// Its number in this run, from 1.
        number: usize,
        /// How many there are.
        total: usize,
    },
    /// A check is done.
    Done {
        /// Which.
        id: &'a str,
        /// On which interface; empty for none.
        place: &'a str,
        /// What came of it.
        status: Status,
        /// How long it took.
        took: Duration,
    },
}
