//! How far an agent may reach when it passes work on.
//!
//! A [`Scope`] is an element of a lattice with an exact meet: what two scopes both allow is again a scope, and
//! a task that is passed on can only lose. [`Capabilities`] are what an agent can do by its card, and
//! [`Required::within`] is the question before every call: is all that is needed allowed? A [`Workflow`] is the
//! same question over a whole file of agents and edges, answered before anything runs; a [`Gate`] reads the same
//! file and asks it again, before each call.
//!
//! ```
//! use chancery_core::{Card, Timestamp};
//! use chancery_lattice::{Capabilities, Required, Scope, Why};
//!
//! let billing = Card::new("Billing", "Pays back").skill("refund", "Pays back").skill("close", "Closes an account");
//! let held = Scope::of_skills(["triage", "refund"]);
//!
//! let needed = Required::skills(["refund", "close"]);
//! let refused = needed.within(&Capabilities::of(&billing), &held, "https://billing.example.com", Timestamp::EPOCH).unwrap_err();
//! assert_eq!(refused.missing[0].skill.as_deref(), Some("close"));
//! assert_eq!(refused.missing[0].why, Why::SkillOutOfScope);
//! ```
//!
//! Nothing in here reads a file or asks a network: cards come from the caller.

mod caps;
mod check;
mod gate;
mod pattern;
mod picture;
mod read;
mod scope;
#[cfg(feature = "biscuit")]
mod token;
mod workflow;

pub use caps::{Capabilities, Capability, Kind, Missing, Refused, Required, Violation, Why};
pub use check::{AgentReport, Code, EdgeReport, Finding, Known, Level, Report, Trust};
pub use gate::{Arrival, Denied, Gate, Passage, Passed, Strictness};
pub use pattern::{Audience, Mode, Name, Origin, Pattern, PatternError, Patterns};
pub use read::WorkflowError;
pub use scope::Scope;
#[cfg(feature = "biscuit")]
pub use token::{Grant, Hop, Issuer, Needs, Roots, Seen, TokenError, Vocabulary};
pub use workflow::{Agent, Edge, OnViolation, Workflow};
